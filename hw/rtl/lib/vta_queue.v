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
    reg [LOG_DEPTH:0] wr_q;
    reg [LOG_DEPTH:0] rd_q;
    reg               out_valid_q;

    wire [LOG_DEPTH:0] fill = wr_q - rd_q;
    wire               push = in_valid && in_ready;
    wire               read = fill != 0 && (!out_valid_q || out_ready);

    assign in_ready  = !fill[LOG_DEPTH];
    assign out_valid = out_valid_q;

    vta_ram #(.WIDTH(WIDTH), .SLICE(WIDTH), .WR_WIDTH(WIDTH), .LOG_DEPTH(LOG_DEPTH)) ram (
        .clk(clk),
        .wr_en(push), .wr_strobe(1'b1), .wr_addr(wr_q[LOG_DEPTH-1:0]), .wr_data(in_data),
        .rd_en(read), .rd_addr(rd_q[LOG_DEPTH-1:0]), .rd_data(out_data)
    );

    always @(posedge clk) begin
        if (rst) begin
            wr_q        <= 0;
            rd_q        <= 0;
            out_valid_q <= 1'b0;
        end else begin
            if (push) wr_q <= wr_q + 1'b1;
            if (read) rd_q <= rd_q + 1'b1;
            if (read) out_valid_q <= 1'b1;
            else if (out_ready) out_valid_q <= 1'b0;
        end
    end

    `VTA_PARAM_CHECK(LOG_DEPTH >= 1)
    `VTA_FORMAL_RESET
    `VTA_ASSERT(overflow, !fill[LOG_DEPTH] || fill[LOG_DEPTH-1:0] == 0)
endmodule

`default_nettype wire
