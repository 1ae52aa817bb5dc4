// SPDX-License-Identifier: Apache-2.0
//
// vta_array -- the multipliers: for each output lane the sum of its products, one GEMM step or one group of depthwise
// taps a cycle.
//
// Contract: operands with `en`, sums four cycles later; the last sums stay. GEMM: sum[b][o] = Σ_i x[b][i]·w[o][i].
// With `depthwise`: the column sums c_t[b][o] = Σ_r dw_x[r][b][o]·dw_w[r][t][o], one for each factor t, go into vta_columns, with
// dw_row, dw_ends, dw_add_1 and dw_add_2, and sum[b][o] is what comes out of it, for lanes o < LANES, 0 for the others. There are
// two forms, one to build, with multipliers at the clock or at twice the clock, and one that is fast to simulate; vta_array_tb
// compares them.
`default_nettype none

module vta_array #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer TAPS          = 3,    // factors of a depthwise column
    parameter integer ROWS          = 3,    // rows of one
    parameter integer LANES         = 16,   // min(block_in, block_out)
    // The waiver: what is simulated has one clock.
    // verilator lint_off UNUSEDPARAM
    // verilator lint_off UNUSEDSIGNAL
    parameter integer PUMP          = 1     // cycles of the multipliers in one of clk: 1 or 2
) (
    input  wire                                               clk,
    input  wire                                               clk2x,    // an edge with each of clk, and one between
    // verilator lint_on UNUSEDSIGNAL
    // verilator lint_on UNUSEDPARAM
    input  wire                                               en,
    input  wire                                               depthwise,
    input  wire [(8 << (LOG_BATCH + LOG_BLOCK_IN)) - 1:0]     x,
    input  wire [(8 << (LOG_BLOCK_IN + LOG_BLOCK_OUT)) - 1:0] w,
    input  wire [8*ROWS*LANES*(1 << LOG_BATCH) - 1:0]         dw_x,
    input  wire [8*ROWS*TAPS*LANES - 1:0]                     dw_w,
    input  wire [3:0]                                         dw_row,
    input  wire                                               dw_ends,
    input  wire                                               dw_add_1,
    input  wire                                               dw_add_2,
    output wire [(32 << (LOG_BATCH + LOG_BLOCK_OUT)) - 1:0]   sum
);
`ifdef SYNTHESIS
    vta_array_dsp #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT), .TAPS(TAPS), .ROWS(ROWS),
        .LANES(LANES), .PUMP(PUMP)
    ) form (
        .clk(clk), .clk2x(clk2x), .en(en), .depthwise(depthwise), .x(x), .w(w), .dw_x(dw_x), .dw_w(dw_w),
        .dw_row(dw_row), .dw_ends(dw_ends), .dw_add_1(dw_add_1), .dw_add_2(dw_add_2), .sum(sum)
    );
`else
    vta_array_loops #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT), .TAPS(TAPS), .ROWS(ROWS),
        .LANES(LANES)
    ) form (
        .clk(clk), .en(en), .depthwise(depthwise), .x(x), .w(w), .dw_x(dw_x), .dw_w(dw_w),
        .dw_row(dw_row), .dw_ends(dw_ends), .dw_add_1(dw_add_1), .dw_add_2(dw_add_2), .sum(sum)
    );
`endif
endmodule

`default_nettype wire
