// SPDX-License-Identifier: Apache-2.0
//
// vta_array_dsp -- vta_array as it is built: DSP48s with two products each (vta_mul_pair), or, at twice the clock, four
// (vta_mul_quad: the two halves of the reduction, one after the other), and balanced trees of adders.
//
// Contract: vta_array's. PUMP = 2: clk2x has an edge with each edge of clk, and one in the middle.
`include "vta_assert.vh"
`default_nettype none

module vta_array_dsp #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer TAPS          = 3,    // depthwise taps a cycle
    parameter integer LANES         = 16,   // min(block_in, block_out)
    parameter integer PUMP          = 1     // cycles of the multipliers in one of clk: 1 or 2
) (
    input  wire                                               clk,
    // The waiver: there is one clock with PUMP = 1.
    // verilator lint_off UNUSEDSIGNAL
    input  wire                                               clk2x,
    // verilator lint_on UNUSEDSIGNAL
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
    localparam integer COLUMNS = IN / PUMP;     // multipliers of two weight rows
    localparam integer TERM    = 16 + PUMP;     // bits of what one gives, signed

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

    reg s2_dw_q;
    reg s3_dw_q;
    always @(posedge clk) begin
        s2_dw_q <= s1_dw_q;
        s3_dw_q <= s2_dw_q;
    end

    // With PUMP = 2, the factors of the second half wait for half a cycle: `second` is when their turn is.
    wire                     second;
    wire [8*OUT*COLUMNS-1:0] w_second;

    genvar b, o, i, t;
    generate
        if (PUMP == 1) begin : once
            assign second   = 1'b0;
            assign w_second = {8*OUT*COLUMNS{1'b0}};
        end else begin : twice
            reg toggle_q = 1'b0;        // changes with each edge of clk
            reg seen_q;
            reg second_q;
            reg [8*OUT*COLUMNS-1:0] w_second_q;
            always @(posedge clk) toggle_q <= !toggle_q;
            always @(posedge clk2x) begin
                seen_q   <= toggle_q;
                second_q <= toggle_q == seen_q;
            end
            for (o = 0; o < OUT; o = o + 1) begin : half
                always @(posedge clk) begin
                    if (en) w_second_q[8*COLUMNS*o +: 8*COLUMNS] <= w[8*(o*IN + IN - COLUMNS) +: 8*COLUMNS];
                end
            end
            assign second   = second_q;
            assign w_second = w_second_q;
        end

        for (b = 0; b < BATCH; b = b + 1) begin : row
            // Factors that all weight rows share.
            wire [8*COLUMNS-1:0]  x_second;
            wire [10*COLUMNS-1:0] fix;
            for (i = 0; i < COLUMNS; i = i + 1) begin : factor
                if (PUMP == 1) begin : single
                    assign x_second[8*i +: 8] = 8'd0;
                    assign fix[10*i +: 10]    = 10'd0;
                end else begin : double
                    wire [7:0] near = x[8*(b*IN + i) +: 8];
                    wire [7:0] far  = x[8*(b*IN + IN - COLUMNS + i) +: 8];
                    reg  [7:0] far_q;
                    reg  [9:0] fix_q;
                    always @(posedge clk) begin
                        if (en) far_q <= depthwise ? 8'd0 : far;
                        if (en) fix_q <= depthwise ? 10'd512 : 10'd512 - {{2{near[7]}}, near} - {{2{far[7]}}, far};
                    end
                    assign x_second[8*i +: 8] = far_q;
                    assign fix[10*i +: 10]    = fix_q;
                end
            end

            // Depthwise: tap t of lane l is what the multiplier of weight row 2·(t + TAPS·(l / COLUMNS)), column l % COLUMNS
            // gives. Registers in the place of the first adders.
            wire [16*TAPS*LANES-1:0] taps;
            reg  [16*TAPS*LANES-1:0] taps_q;
            always @(posedge clk) if (s2_en_q && s2_dw_q) taps_q <= taps;

            // Two weight rows at a time.
            for (o = 0; o < OUT; o = o + 2) begin : pair
                wire [TERM*COLUMNS-1:0] even;
                wire [TERM*COLUMNS-1:0] odd;
                for (i = 0; i < COLUMNS; i = i + 1) begin : column
                    localparam integer LANE = i + COLUMNS*(o/2/TAPS);
                    localparam integer TAP  = o/2 % TAPS;
                    wire [7:0]      w0;
                    wire [7:0]      w1 = w[8*((o+1)*IN + i) +: 8];
                    wire [7:0]      x0;
                    wire            alone;
                    wire [TERM-2:0] low;        // never negative
                    wire [TERM-2:0] high;
                    if (LANE < LANES) begin : shared
                        assign w0    = depthwise ? dw_w[8*(TAP*LANES + LANE) +: 8] : w[8*(o*IN + i) +: 8];
                        assign x0    = depthwise ? dw_x[8*((TAP*BATCH + b)*LANES + LANE) +: 8] : x[8*(b*IN + i) +: 8];
                        assign alone = depthwise && !second;
                        assign taps[16*(TAP*LANES + LANE) +: 16] = {low[15] ^ (PUMP == 1), low[14:0]};
                    end else begin : plain
                        assign w0    = w[8*(o*IN + i) +: 8];
                        assign x0    = x[8*(b*IN + i) +: 8];
                        assign alone = 1'b0;
                    end
                    if (PUMP == 1) begin : single
                        vta_mul_pair mul (.clk(clk), .en(en), .w0(w0), .w1(w1), .x(x0), .low(low), .high(high));
                    end else begin : double
                        vta_mul_quad mul (
                            .clk2x(clk2x), .second(second), .alone(alone),
                            .w0(second ? w_second[8*(o*COLUMNS + i) +: 8] : w0),
                            .w1(second ? w_second[8*((o+1)*COLUMNS + i) +: 8] : w1),
                            .x(second ? x_second[8*i +: 8] : x0), .fix(fix[10*i +: 10]), .low(low), .high(high)
                        );
                    end
                    assign even[TERM*i +: TERM] = {1'b0, low};
                    assign odd[TERM*i +: TERM]  = {high[TERM-2], high};
                end

                for (i = 0; i < 2; i = i + 1) begin : lane
                    wire [16*TAPS-1:0] window;
                    if (o + i < LANES) begin : taken
                        localparam integer LANE = o + i;
                        for (t = 0; t < TAPS; t = t + 1) begin : tap
                            assign window[16*t +: 16] = taps_q[16*(t*LANES + LANE) +: 16];
                        end
                    end else begin : silent
                        assign window = {16*TAPS{1'b0}};
                    end
                    vta_array_lane #(
                        .LOG_BLOCK_IN(LOG_BLOCK_IN), .TAPS(TAPS), .PUMP(PUMP), .EVEN(1 - i)
                    ) adders (
                        .clk(clk), .en(s2_en_q), .terms(i == 0 ? even : odd),
                        .out_en(s3_en_q), .depthwise(s3_dw_q), .taps(window), .sum(sum[32*(b*OUT + o + i) +: 32])
                    );
                end
            end
        end
    endgenerate

    `VTA_PARAM_CHECK(PUMP == 1 || (PUMP == 2 && 2*TAPS*((LANES + COLUMNS - 1)/COLUMNS) <= OUT))
endmodule

`default_nettype wire
