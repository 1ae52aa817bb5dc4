// SPDX-License-Identifier: Apache-2.0
//
// fifo_formal -- vta_fifo keeps words, their order and its bounds. Any one word is followed from its entry to its exit.
// prove: 3 induction
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

    // The queue's state, joined by name when the hierarchy is flattened.
    (* hierconn *) wire [1:0] \dut.rd_q ;
    (* hierconn *) wire [2:0] \dut.fill_q , \dut.mem_q[0] , \dut.mem_q[1] , \dut.mem_q[2] , \dut.mem_q[3] ;
    wire [1:0]  first = \dut.rd_q ;
    wire [11:0] ring  = {\dut.mem_q[3] , \dut.mem_q[2] , \dut.mem_q[1] , \dut.mem_q[0] };
    reg  [11:0] words;      // from the oldest on
    always @* begin
        case (first)
        2'd0: words = ring;
        2'd1: words = {ring[2:0], ring[11:3]};
        2'd2: words = {ring[5:0], ring[11:6]};
        2'd3: words = {ring[8:0], ring[11:9]};
        endcase
    end

    order_formal #(.WIDTH(3), .PLACES(4), .MOST(4)) order (
        .clk(clk), .rst(rst), .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data),
        .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data), .follow(follow),
        .count({2'd0, \dut.fill_q }),
        .words(words)
    );
endmodule

`default_nettype wire
