// SPDX-License-Identifier: Apache-2.0
//
// vta_array_dsp -- vta_array as it is built: two products share a DSP48 (vta_mul_pair), balanced trees of adders.
//
// Contract: vta_array's.
`default_nettype none

module vta_array_dsp #(
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

    localparam integer SUM_BITS = 16 + LOG_BLOCK_IN;

    reg s2_dw_q;
    reg s3_dw_q;
    always @(posedge clk) begin
        s2_dw_q <= s1_dw_q;
        s3_dw_q <= s2_dw_q;
    end

    genvar b, o, i, q;
    generate
        for (b = 0; b < BATCH; b = b + 1) begin : row
            // Products, two weight rows at a time.
            wire [16*OUT*IN-1:0]   product;
            wire [OUT*IN/2-1:0]    carry;
            for (o = 0; o < OUT; o = o + 2) begin : pair
                for (i = 0; i < IN; i = i + 1) begin : column
                    wire [7:0] w0;
                    wire [7:0] x0;
                    if (o < 2*TAPS && i < LANES) begin : shared
                        assign w0 = depthwise ? dw_w[8*(o/2*LANES + i) +: 8] : w[8*(o*IN + i) +: 8];
                        assign x0 = depthwise ? dw_x[8*((o/2*BATCH + b)*LANES + i) +: 8] : x[8*(b*IN + i) +: 8];
                    end else begin : plain
                        assign w0 = w[8*(o*IN + i) +: 8];
                        assign x0 = x[8*(b*IN + i) +: 8];
                    end
                    vta_mul_pair mul (
                        .clk(clk), .en(en), .w0(w0), .w1(w[8*((o+1)*IN + i) +: 8]), .x(x0),
                        .product0(product[16*(o*IN + i) +: 16]), .product1(product[16*((o+1)*IN + i) +: 16]),
                        .carry1(carry[o/2*IN + i])
                    );
                end
            end
            // Sums of four, then of all.
            for (o = 0; o < OUT; o = o + 1) begin : lane
                reg [18*IN/4-1:0] quarter_q;
                for (q = 0; q < IN/4; q = q + 1) begin : quarter
                    wire [17:0] sum4;
                    vta_sum4 add (
                        .in(product[16*(o*IN + 4*q) +: 64]),
                        .carry(o % 2 == 1 ? carry[o/2*IN + 4*q +: 4] : 4'd0), .sum(sum4)
                    );
                    always @(posedge clk) if (s2_en_q) quarter_q[18*q +: 18] <= sum4;
                end
                wire [SUM_BITS-1:0] total;
                vta_sum_tree #(.LOG_INPUTS(LOG_BLOCK_IN - 2), .IN_BITS(18), .OUT_BITS(SUM_BITS)) tree (
                    .in(quarter_q), .sum(total)
                );
                reg signed [17:0] taps_q;
                if (o < LANES) begin : window
                    wire signed [15:0] tap0 = product[16*o +: 16];
                    wire signed [15:0] tap1 = product[16*((TAPS > 1 ? 2 : 0)*IN + o) +: 16];
                    wire signed [15:0] tap2 = product[16*((TAPS > 2 ? 4 : 0)*IN + o) +: 16];
                    wire signed [17:0] taps = {{2{tap0[15]}}, tap0} + (TAPS > 1 ? {{2{tap1[15]}}, tap1} : 18'sd0)
                                            + (TAPS > 2 ? {{2{tap2[15]}}, tap2} : 18'sd0);
                    always @(posedge clk) taps_q <= taps;
                end else begin : silent
                    always @(posedge clk) taps_q <= 18'sd0;
                end
                reg [SUM_BITS-1:0] sum_q;
                always @(posedge clk) begin
                    if (s3_en_q) sum_q <= s3_dw_q ? {{(SUM_BITS-18){taps_q[17]}}, taps_q} : total;
                end
                assign sum[32*(b*OUT + o) +: 32] = {{(32-SUM_BITS){sum_q[SUM_BITS-1]}}, sum_q};
            end
        end
    endgenerate
endmodule

`default_nettype wire
