// SPDX-License-Identifier: Apache-2.0
//
// vta_queue -- first-word-fall-through queue in block RAM, for deep queues.
//
// Contract: as vta_fifo, but latency 2. Holds 2^LOG_DEPTH words in RAM and one more at the output: never fewer than
// 2^LOG_DEPTH fit. LOG_DEPTH >= 1.
`include "vta_assert.vh"
`default_nettype none

module vta_queue #(
    parameter integer WIDTH     = 8,
    parameter integer LOG_DEPTH = 4
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
    reg [LOG_DEPTH-1:0] wr_q;
    reg [LOG_DEPTH-1:0] rd_q;
    reg [LOG_DEPTH:0]   fill_q;     // words in RAM
    reg                 some_q;     // fill_q != 0
    reg                 room_q;     // fill_q != 2^LOG_DEPTH
    reg                 out_valid_q;

    wire push   = in_valid && room_q;
    wire read   = some_q && (!out_valid_q || out_ready);
    wire many   = fill_q[LOG_DEPTH:1] != 0;
    wire nearly = fill_q[LOG_DEPTH-1:0] == {LOG_DEPTH{1'b1}};   // one place is free

    wire [LOG_DEPTH:0] more, fewer;
    vta_next #(.BITS(LOG_DEPTH + 1)) fills (.count(fill_q), .more(more), .fewer(fewer));

    assign in_ready  = room_q;
    assign out_valid = out_valid_q;

    vta_ram #(.WIDTH(WIDTH), .SLICE(WIDTH), .WR_WIDTH(WIDTH), .LOG_DEPTH(LOG_DEPTH)) ram (
        .clk(clk),
        .wr_en(push), .wr_strobe(1'b1), .wr_addr(wr_q), .wr_data(in_data),
        .rd_en(read), .rd_addr(rd_q), .rd_data(out_data)
    );

    always @(posedge clk) begin
        if (rst) begin
            wr_q        <= 0;
            rd_q        <= 0;
            fill_q      <= 0;
            some_q      <= 1'b0;
            room_q      <= 1'b1;
            out_valid_q <= 1'b0;
        end else begin
            if (push) wr_q <= wr_q + 1'b1;
            if (read) rd_q <= rd_q + 1'b1;
            if (push != read) fill_q <= read ? fewer : more;
            some_q <= push || many || (some_q && !read);
            room_q <= read || (room_q && !(nearly && push));
            if (read) out_valid_q <= 1'b1;
            else if (out_ready) out_valid_q <= 1'b0;
        end
    end

    `VTA_PARAM_CHECK(LOG_DEPTH >= 1)
    `VTA_FORMAL_RESET
    wire [LOG_DEPTH-1:0] apart = wr_q - rd_q;
    wire unused_apart = |apart;     // where no assertion is built
    `VTA_ASSERT(overflow, !fill_q[LOG_DEPTH] || fill_q[LOG_DEPTH-1:0] == 0)
    `VTA_ASSERT(count, fill_q[LOG_DEPTH-1:0] == apart)
    `VTA_ASSERT(some, some_q == (fill_q != 0))
    `VTA_ASSERT(room, room_q == !fill_q[LOG_DEPTH])
endmodule

`default_nettype wire
