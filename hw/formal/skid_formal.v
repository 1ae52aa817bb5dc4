// SPDX-License-Identifier: Apache-2.0
//
// skid_formal -- vta_skid keeps words, their order and its bounds. Any one word is followed from its entry to its exit.
// prove: 3 induction
`include "../formal/order_check.vh"
`default_nettype none

module skid_formal (
    input wire       clk,
    input wire       in_valid,
    input wire [2:0] in_data,
    input wire       out_ready,
    input wire       follow
);
    reg rst = 1'b1;
    always @(posedge clk) rst <= 1'b0;

    wire       in_ready;
    wire       out_valid;
    wire [2:0] out_data;

    vta_skid #(.WIDTH(3)) dut (
        .clk(clk), .rst(rst), .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data),
        .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data)
    );

    // The slice's state, joined by name when the hierarchy is flattened.
    (* hierconn *) wire [2:0] \dut.out_data_q , \dut.spare_data_q ;
    (* hierconn *) wire       \dut.out_valid_q , \dut.spare_valid_q ;
    wire [1:0] count = {1'b0, \dut.out_valid_q } + {1'b0, \dut.spare_valid_q };

    order_formal #(.WIDTH(3), .PLACES(2), .MOST(2)) order (
        .clk(clk), .rst(rst), .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data),
        .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data), .follow(follow),
        .count({3'd0, count}),
        .words({\dut.spare_data_q , \dut.out_data_q })
    );
endmodule

`default_nettype wire
