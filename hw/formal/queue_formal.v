// SPDX-License-Identifier: Apache-2.0
//
// queue_formal -- vta_queue keeps words, their order and its bounds. Any one word is followed from its entry to its exit.
// prove: 3 induction
`include "../formal/order_check.vh"
`default_nettype none

module queue_formal (
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

    vta_queue #(.WIDTH(3), .LOG_DEPTH(1)) dut (
        .clk(clk), .rst(rst), .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data),
        .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data)
    );

    // The queue's state, joined by name when the hierarchy is flattened: one word at the output, two in RAM.
    (* hierconn *) wire [1:0] \dut.fill_q ;
    (* hierconn *) wire [2:0] \dut.ram.rd_data_q , \dut.ram.mem_q[0] , \dut.ram.mem_q[1] ;
    (* hierconn *) wire       \dut.rd_q , \dut.out_valid_q ;
    wire [5:0] ram = \dut.rd_q ? {\dut.ram.mem_q[0] , \dut.ram.mem_q[1] } : {\dut.ram.mem_q[1] , \dut.ram.mem_q[0] };

    order_formal #(.WIDTH(3), .PLACES(2), .MOST(3)) order (
        .clk(clk), .rst(rst), .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data),
        .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data), .follow(follow),
        .count({3'd0, \dut.fill_q } + {4'd0, \dut.out_valid_q }),
        .words(\dut.out_valid_q ? {ram, \dut.ram.rd_data_q } : {3'd0, ram})
    );
endmodule

`default_nettype wire
