// SPDX-License-Identifier: Apache-2.0
//
// fifo_formal -- vta_fifo keeps words, their order and its bounds. Any one word is followed from its entry to its exit.
// prove: 10
`include "../formal/order_check.vh"
`default_nettype none

module fifo_formal (
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

    vta_fifo #(.WIDTH(3), .LOG_DEPTH(2)) dut (
        .clk(clk), .rst(rst), .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data),
        .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data)
    );

    order_formal #(.WIDTH(3), .PLACES(4)) order (
        .clk(clk), .rst(rst), .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data),
        .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data), .follow(follow)
    );
endmodule

`default_nettype wire
