// SPDX-License-Identifier: Apache-2.0
//
// queue_formal -- vta_queue keeps words, their order and its bounds. Any one word is followed from its entry to its exit.
// prove: 14
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

    order_formal #(.WIDTH(3), .PLACES(2)) order (
        .clk(clk), .rst(rst), .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data),
        .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data), .follow(follow)
    );
endmodule

`default_nettype wire
