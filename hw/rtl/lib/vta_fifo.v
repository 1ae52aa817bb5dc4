// SPDX-License-Identifier: Apache-2.0
//
// vta_fifo -- first-word-fall-through queue in distributed RAM (asynchronous read): for shallow queues.
//
// Contract: a word moves in a cycle where valid && ready. out_valid never depends combinationally on in_ready, nor
// in_ready on out_ready. Latency 1, throughput one word a cycle. Holds 2^LOG_DEPTH words, LOG_DEPTH >= 1.
`include "vta_assert.vh"
`default_nettype none

module vta_fifo #(
    parameter integer WIDTH     = 8,
    parameter integer LOG_DEPTH = 2
) (
    input  wire             clk,
    input  wire             rst,

    input  wire             in_valid,
    output wire             in_ready,
    input  wire [WIDTH-1:0] in_data,

    output wire             out_valid,
    input  wire             out_ready,
    output wire [WIDTH-1:0] out_data
);
    localparam integer DEPTH = 1 << LOG_DEPTH;

    (* ram_style = "distributed" *)
    reg [WIDTH-1:0]   mem_q [0:DEPTH-1];
    reg [LOG_DEPTH:0] wr_q;
    reg [LOG_DEPTH:0] rd_q;

    wire [LOG_DEPTH:0] fill = wr_q - rd_q;
    wire               push = in_valid && in_ready;
    wire               pop  = out_valid && out_ready;

    assign in_ready  = !fill[LOG_DEPTH];
    assign out_valid = fill != 0;
    assign out_data  = mem_q[rd_q[LOG_DEPTH-1:0]];

    always @(posedge clk) begin
        if (rst) begin
            wr_q <= 0;
            rd_q <= 0;
        end else begin
            if (push) wr_q <= wr_q + 1'b1;
            if (pop)  rd_q <= rd_q + 1'b1;
        end
    end

    always @(posedge clk) begin
        if (push) mem_q[wr_q[LOG_DEPTH-1:0]] <= in_data;
    end

    `VTA_PARAM_CHECK(LOG_DEPTH >= 1)
    `VTA_FORMAL_RESET
    `VTA_ASSERT(overflow, fill <= DEPTH[LOG_DEPTH:0])
endmodule

`default_nettype wire
