// SPDX-License-Identifier: Apache-2.0
//
// vta_mem_front -- the front end of the load and the store unit: decode, checks, tokens.
//
// Contract: instructions come out in order, legal, with their tokens taken in the cycle in which they are accepted
// (out_valid && out_ready). An illegal one raises err_valid and blocks what follows until reset. STORE = 0: the load
// unit (takes from and gives to the next unit); STORE = 1: the store unit (the previous one). head_*: the instruction
// that is next to come out, for reports.
`include "vta_assert.vh"
`default_nettype none

module vta_mem_front #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer LOG_UOP_DEPTH = 13,
    parameter integer LOG_INP_DEPTH = 11,
    parameter integer LOG_WGT_DEPTH = 10,
    parameter integer LOG_ACC_DEPTH = 11,
    parameter integer ADDR_BITS     = 40,
    parameter integer WGT4          = 0,
    parameter integer STORE         = 0
) (
    input  wire                   clk,
    input  wire                   rst,

    input  wire                   insn_valid,
    output wire                   insn_ready,
    input  wire [127:0]           insn_data,
    input  wire [31:0]            insn_index,
    input  wire [8*ADDR_BITS-1:0] bases,

    input  wire                   token_avail,
    output wire                   token_pop,

    output wire                   out_valid,
    input  wire                   out_ready,
    output wire [31:0]            out_index,
    output wire                   out_push,      // gives a token when it retires
    output wire [2:0]             out_mem,
    output wire [12:0]            out_sram,
    output wire [ADDR_BITS:0]     out_addr,
    output wire [15:0]            out_stride,
    output wire [13:0]            out_x,
    output wire [13:0]            out_y,
    output wire [32:0]            out_pads,
    output wire [7:0]             out_pad,
    output wire [13:0]            out_elems,
    output wire [13:0]            out_entries,

    output wire                   err_valid,
    output wire [7:0]             err_code,
    output wire                   head_valid,
    output wire                   stat_token     // the head waits for a token
);
`include "vta_isa.vh"

    wire       pop_prev  = insn_data[VTA_F_HEADER_POP_PREV_LSB];
    wire       pop_next  = insn_data[VTA_F_HEADER_POP_NEXT_LSB];
    wire       push_prev = insn_data[VTA_F_HEADER_PUSH_PREV_LSB];
    wire       push_next = insn_data[VTA_F_HEADER_PUSH_NEXT_LSB];
    wire       in_pop    = STORE != 0 ? pop_prev : pop_next;
    wire       in_push   = STORE != 0 ? push_prev : push_next;
    wire       in_wrong  = STORE != 0 ? pop_next || push_next : pop_prev || push_prev;

    wire       decode_ready;
    wire       decode_valid;
    wire [7:0] decode_error;
    wire       side_ready;
    wire       side_valid;
    wire       pop;
    wire       wrong;
    wire       accept = out_valid && out_ready;

    assign insn_ready = decode_ready && side_ready;

    vta_mem_decode #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .ADDR_BITS(ADDR_BITS), .WGT4(WGT4), .ELASTIC(1)
    ) decode (
        .clk(clk), .rst(rst),
        .in_valid(insn_valid && side_ready), .in_ready(decode_ready), .in_insn(insn_data), .bases(bases),
        .out_valid(decode_valid), .out_ready(accept), .out_error(decode_error),
        .out_mem(out_mem), .out_sram(out_sram), .out_addr(out_addr), .out_stride(out_stride),
        .out_x(out_x), .out_y(out_y), .out_pads(out_pads), .out_pad(out_pad),
        .out_elems(out_elems), .out_entries(out_entries)
    );

    // Words that accompany an instruction through the decoder.
    vta_fifo #(.WIDTH(35), .LOG_DEPTH(2)) side (
        .clk(clk), .rst(rst),
        .in_valid(insn_valid && decode_ready), .in_ready(side_ready),
        .in_data({insn_index, in_wrong, in_pop, in_push}),
        .out_valid(side_valid), .out_ready(accept), .out_data({out_index, wrong, pop, out_push})
    );

    wire illegal = wrong || decode_error != VTA_ERROR_NONE;

    assign out_valid  = decode_valid && !illegal && (!pop || token_avail);
    assign token_pop  = accept && pop;
    assign err_valid  = decode_valid && illegal;
    assign err_code   = wrong ? VTA_ERROR_FIELD : decode_error;
    assign head_valid = decode_valid;
    assign stat_token = decode_valid && !illegal && pop && !token_avail;

    `VTA_FORMAL_RESET
    wire unused_side_valid = side_valid;    // where no assertion is built
    `VTA_ASSERT(together, !decode_valid || side_valid)
endmodule

`default_nettype wire
