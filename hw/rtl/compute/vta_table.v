// SPDX-License-Identifier: Apache-2.0
//
// vta_table -- a copy of the REQUANT tables for two lanes: a RAM of half words, of whose two ports each writes half of a word or
// reads for one of the lanes.
//
// Contract: a word of four entries with wr_en. With rd_en, two entries, by their numbers, one cycle later and until the next
// read. A cycle that writes reads nothing: nobody asks for an entry while a table is loaded. VTA_ONE_WRITE_PORT is for parts
// whose RAM cannot be written at both ports; the halves of a word then stand in RAMs of their own.
`default_nettype none

module vta_table #(
    parameter integer LOG_WORDS = 7
) (
    input  wire                         clk,
    input  wire                         wr_en,
    input  wire [LOG_WORDS-1:0]         wr_addr,
    input  wire [31:0]                  wr_data,
    input  wire                         rd_en,
    input  wire [2*(LOG_WORDS + 2)-1:0] rd_index,
    output wire [15:0]                  rd_data
);
    localparam integer B = LOG_WORDS + 2;   // bits of an entry's number

    wire [B-1:0] first  = rd_index[B-1:0];
    wire [B-1:0] second = rd_index[2*B-1:B];

    reg        a_upper_q;
    reg        b_upper_q;
    always @(posedge clk) begin
        if (rd_en) begin
            a_upper_q <= first[0];
            b_upper_q <= second[0];
        end
    end

`ifdef VTA_ONE_WRITE_PORT
    reg  [15:0] even_q [0:(1 << LOG_WORDS) - 1];
    reg  [15:0] odd_q [0:(1 << LOG_WORDS) - 1];
    reg  [31:0] a_word_q;
    reg  [31:0] b_word_q;
    reg         a_odd_q;
    reg         b_odd_q;
    wire [15:0] a_half = a_odd_q ? a_word_q[31:16] : a_word_q[15:0];
    wire [15:0] b_half = b_odd_q ? b_word_q[31:16] : b_word_q[15:0];
    always @(posedge clk) begin
        if (wr_en) even_q[wr_addr] <= wr_data[15:0];
        if (wr_en) odd_q[wr_addr]  <= wr_data[31:16];
        if (rd_en) begin
            a_word_q <= {odd_q[first[B-1:2]], even_q[first[B-1:2]]};
            b_word_q <= {odd_q[second[B-1:2]], even_q[second[B-1:2]]};
            a_odd_q  <= first[1];
            b_odd_q  <= second[1];
        end
    end
`else
    wire [B-2:0] a_addr = wr_en ? {wr_addr, 1'b0} : first[B-1:1];
    wire [B-2:0] b_addr = wr_en ? {wr_addr, 1'b1} : second[B-1:1];
    reg  [15:0]  mem_q [0:(2 << LOG_WORDS) - 1];
    reg  [15:0]  a_q;
    reg  [15:0]  b_q;
    wire [15:0]  a_half = a_q;
    wire [15:0]  b_half = b_q;
    always @(posedge clk) begin
        if (wr_en) begin
            mem_q[a_addr] <= wr_data[15:0];
            mem_q[b_addr] <= wr_data[31:16];
        end
        if (rd_en && !wr_en) begin
            a_q <= mem_q[a_addr];
            b_q <= mem_q[b_addr];
        end
    end
`endif

    assign rd_data = {b_upper_q ? b_half[15:8] : b_half[7:0], a_upper_q ? a_half[15:8] : a_half[7:0]};
endmodule

`default_nettype wire
