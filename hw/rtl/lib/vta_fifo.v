// SPDX-License-Identifier: Apache-2.0
//
// vta_fifo -- first-word-fall-through queue in distributed RAM (asynchronous read): for shallow queues.
//
// Contract: a word moves in a cycle where valid && ready. out_valid never depends combinationally on in_ready, nor
// in_ready on out_ready: both are registers. Latency 1, throughput one word a cycle. Holds 2^LOG_DEPTH words, LOG_DEPTH >= 1.
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
    reg [WIDTH-1:0]     mem_q [0:DEPTH-1];
    reg [LOG_DEPTH-1:0] wr_q;
    reg [LOG_DEPTH-1:0] rd_q;
    reg [LOG_DEPTH:0]   fill_q;
    reg                 some_q;     // fill_q != 0
    reg                 room_q;     // fill_q != DEPTH

    wire push   = in_valid && room_q;
    wire pop    = some_q && out_ready;
    wire many   = fill_q[LOG_DEPTH:1] != 0;
    wire nearly = fill_q[LOG_DEPTH-1:0] == {LOG_DEPTH{1'b1}};   // one place is free

    wire [LOG_DEPTH:0] more, fewer;
    vta_next #(.BITS(LOG_DEPTH + 1)) fills (.count(fill_q), .more(more), .fewer(fewer));

    assign in_ready  = room_q;
    assign out_valid = some_q;
    assign out_data  = mem_q[rd_q];

    always @(posedge clk) begin
        if (rst) begin
            wr_q   <= 0;
            rd_q   <= 0;
            fill_q <= 0;
            some_q <= 1'b0;
            room_q <= 1'b1;
        end else begin
            if (push) wr_q <= wr_q + 1'b1;
            if (pop)  rd_q <= rd_q + 1'b1;
            if (push != pop) fill_q <= pop ? fewer : more;
            some_q <= push || many || (some_q && !pop);
            room_q <= pop || (room_q && !(nearly && push));
        end
    end

    always @(posedge clk) begin
        if (push) mem_q[wr_q] <= in_data;
    end

    `VTA_PARAM_CHECK(LOG_DEPTH >= 1)
    `VTA_FORMAL_RESET
    wire [LOG_DEPTH-1:0] apart = wr_q - rd_q;
    wire unused_apart = |apart;     // where no assertion is built
    `VTA_ASSERT(overflow, fill_q <= DEPTH[LOG_DEPTH:0])
    `VTA_ASSERT(count, fill_q[LOG_DEPTH-1:0] == apart)
    `VTA_ASSERT(some, some_q == (fill_q != 0))
    `VTA_ASSERT(room, room_q == !fill_q[LOG_DEPTH])
endmodule

`default_nettype wire
