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
    parameter integer TAPS          = 3,    // factors of a depthwise column
    parameter integer ROWS          = 3,    // rows of one
    parameter integer LANES         = 16    // min(block_in, block_out)
) (
    input  wire                                               clk,
    input  wire                                               en,
    input  wire                                               depthwise,
    input  wire [(8 << (LOG_BATCH + LOG_BLOCK_IN)) - 1:0]     x,
    input  wire [(8 << (LOG_BLOCK_IN + LOG_BLOCK_OUT)) - 1:0] w,
    input  wire [8*ROWS*LANES*(1 << LOG_BATCH) - 1:0]         dw_x,
    input  wire [8*ROWS*TAPS*LANES - 1:0]                     dw_w,
    input  wire [3:0]                                         dw_row,
    input  wire                                               dw_ends,
    input  wire                                               dw_add_1,
    // The waiver: with two factors, nothing is left for two columns.
    // verilator lint_off UNUSEDSIGNAL
    input  wire                                               dw_add_2,
    // verilator lint_on UNUSEDSIGNAL
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
    reg [8*ROWS*LANES*BATCH-1:0] dw_x_q;
    reg [8*ROWS*TAPS*LANES-1:0]  dw_w_q;
    reg [3:0]                    dw_row_q;
    reg                          dw_ends_q;
    reg                          dw_add_1_q;
    reg                          dw_add_2_q;
    always @(posedge clk) begin
        if (en && depthwise) begin
            dw_x_q <= dw_x;
            dw_w_q <= dw_w;
            dw_row_q   <= dw_row;
            dw_ends_q  <= dw_ends;
            dw_add_1_q <= dw_add_1;
            dw_add_2_q <= TAPS > 2 && dw_add_2;
        end
        if (en && !depthwise) begin
            x_q <= x;
            w_q <= w;
        end
    end

    integer b, o, q, r;
    reg signed [31:0]        part   [0:OUT*WORDS-1];
    reg signed [31:0]        total;
    reg signed [31:0]        tile;
    reg signed [31:0]        column [0:2];
    reg signed [31:0]        left_1 [0:16*BATCH*LANES-1];
    reg signed [31:0]        left_2 [0:16*BATCH*LANES-1];
    reg [32*BATCH*OUT-1:0]   s2_sum_q;
    reg [32*BATCH*OUT-1:0]   s3_sum_q;
    reg [32*BATCH*OUT-1:0]   s4_sum_q;

    // The waiver: part and total are scratch of this block; only s2_sum_q leaves it, and what is left by columns, which stays in it.
    // verilator lint_off BLKSEQ
    always @(posedge clk) begin
        if (s1_en_q && s1_dw_q) begin
            for (b = 0; b < BATCH; b = b + 1) begin
                for (o = 0; o < OUT; o = o + 1) begin
                    if (o < LANES) begin
                        column[0] = 32'sd0;
                        column[1] = 32'sd0;
                        column[2] = 32'sd0;
                        for (r = 0; r < ROWS; r = r + 1) begin
                            q    = (r*BATCH + b)*LANES + o%LANES;
                            tile = {{24{dw_x_q[8*q + 7]}}, dw_x_q[8*q +: 8]};
                            column[0] = column[0] + tile * $signed(dw_w_q[8*(r*TAPS*LANES + o%LANES) +: 8]);
                            column[1] = column[1] + tile * $signed(dw_w_q[8*((r*TAPS + 1%TAPS)*LANES + o%LANES) +: 8]);
                            column[2] = column[2] + tile * $signed(dw_w_q[8*((r*TAPS + TAPS - 1)*LANES + o%LANES) +: 8]);
                        end
                        // As vta_columns.
                        q = (dw_row_q*BATCH + b)*LANES + o%LANES;
                        total = dw_add_1_q ? column[0] + left_1[q] : column[0];
                        left_1[q] = dw_add_2_q ? column[1] + left_2[q] : column[1];
                        left_2[q] = column[2];
                        s2_sum_q[32*(b*OUT + o) +: 32] <= dw_ends_q ? total : 32'sd0;
                    end else begin
                        s2_sum_q[32*(b*OUT + o) +: 32] <= 32'sd0;
                    end
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
