// SPDX-License-Identifier: Apache-2.0
//
// vta_array_loops -- vta_array as it is simulated: the same sums as plain loops over 32-bit words, four products each,
// which a C++ compiler turns into vector code.
//
// Contract: vta_array's.
`ifndef SYNTHESIS
`default_nettype none

module vta_array_loops #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer TAPS          = 3,    // depthwise taps a cycle
    parameter integer LANES         = 16    // min(block_in, block_out)
) (
    input  wire                                               clk,
    input  wire                                               en,
    input  wire                                               depthwise,
    input  wire [(8 << (LOG_BATCH + LOG_BLOCK_IN)) - 1:0]     x,
    input  wire [(8 << (LOG_BLOCK_IN + LOG_BLOCK_OUT)) - 1:0] w,
    input  wire [8*TAPS*LANES*(1 << LOG_BATCH) - 1:0]         dw_x,
    input  wire [8*TAPS*LANES - 1:0]                          dw_w,
    output wire [(32 << (LOG_BATCH + LOG_BLOCK_OUT)) - 1:0]   sum
);
    localparam integer BATCH = 1 << LOG_BATCH;
    localparam integer IN    = 1 << LOG_BLOCK_IN;
    localparam integer OUT   = 1 << LOG_BLOCK_OUT;

    reg s1_en_q;
    reg s2_en_q;
    reg s3_en_q;
    reg s1_dw_q;
    always @(posedge clk) begin
        s1_en_q <= en;
        s2_en_q <= s1_en_q;
        s3_en_q <= s2_en_q;
        if (en) s1_dw_q <= depthwise;
    end

    // Four products a word, WORDS words a weight row. Sums settle in one stage and wait in two more.
    localparam integer WORDS = IN / 4;

    reg [8*IN*BATCH-1:0]         x_q;
    reg [8*IN*OUT-1:0]           w_q;
    reg [8*TAPS*LANES*BATCH-1:0] dw_x_q;
    reg [8*TAPS*LANES-1:0]       dw_w_q;
    always @(posedge clk) begin
        if (en && depthwise) begin
            dw_x_q <= dw_x;
            dw_w_q <= dw_w;
        end
        if (en && !depthwise) begin
            x_q <= x;
            w_q <= w;
        end
    end

    integer b, o, q, t;
    reg signed [31:0]        part   [0:OUT*WORDS-1];
    reg signed [31:0]        total;
    reg [32*BATCH*OUT-1:0]   s2_sum_q;
    reg [32*BATCH*OUT-1:0]   s3_sum_q;
    reg [32*BATCH*OUT-1:0]   s4_sum_q;

    // The waiver: part and total are scratch of this block; only s2_sum_q leaves it.
    // verilator lint_off BLKSEQ
    always @(posedge clk) begin
        if (s1_en_q && s1_dw_q) begin
            for (b = 0; b < BATCH; b = b + 1) begin
                for (o = 0; o < OUT; o = o + 1) begin
                    total = 32'sd0;
                    for (t = 0; t < TAPS; t = t + 1) begin
                        if (o < LANES) begin
                            total = total + $signed(dw_x_q[8*((t*BATCH + b)*LANES + o%LANES) +: 8])
                                          * $signed(dw_w_q[8*(t*LANES + o%LANES) +: 8]);
                        end
                    end
                    s2_sum_q[32*(b*OUT + o) +: 32] <= total;
                end
            end
        end else if (s1_en_q) begin
            for (b = 0; b < BATCH; b = b + 1) begin
                for (o = 0; o < OUT; o = o + 1) begin
                    for (q = 0; q < WORDS; q = q + 1) begin
                        part[o*WORDS + q] = $signed(w_q[32*(o*WORDS + q) +: 8]) * $signed(x_q[32*(b*WORDS + q) +: 8])
                                          + $signed(w_q[32*(o*WORDS + q) + 8 +: 8]) * $signed(x_q[32*(b*WORDS + q) + 8 +: 8])
                                          + $signed(w_q[32*(o*WORDS + q) + 16 +: 8]) * $signed(x_q[32*(b*WORDS + q) + 16 +: 8])
                                          + $signed(w_q[32*(o*WORDS + q) + 24 +: 8]) * $signed(x_q[32*(b*WORDS + q) + 24 +: 8]);
                    end
                end
                for (o = 0; o < OUT; o = o + 1) begin
                    total = 32'sd0;
                    for (q = 0; q < WORDS; q = q + 1) total = total + part[o*WORDS + q];
                    s2_sum_q[32*(b*OUT + o) +: 32] <= total;
                end
            end
        end
        if (s2_en_q) s3_sum_q <= s2_sum_q;
        if (s3_en_q) s4_sum_q <= s3_sum_q;
    end
    // verilator lint_on BLKSEQ

    assign sum = s4_sum_q;
endmodule

`default_nettype wire
`endif
