// SPDX-License-Identifier: Apache-2.0
//
// vta_array_dsp -- vta_array as it is built: DSP48s with two products each (vta_mul_pair), or, at twice the clock, four
// (vta_mul_quad: the two halves of the reduction, one after the other), and balanced trees of adders.
//
// Contract: vta_array's. PUMP = 2: clk2x has an edge with each edge of clk, and one in the middle.
//
// Depthwise with three rows: what a column adds to one output is a sum of three products, and the first adders of a GEMM make
// sums of four, in groups. A lane takes as many groups as it has factors; its fourth product is 0. With two products in a DSP,
// factors 0 and 1 share the groups of two weight rows, for they have the input in common, and factor 2 is alone in the next
// ones. At twice the clock each DSP adds up two rows of the window and the groups are those of the even weight rows.
// With one row: factor t of lane l is what the multiplier of weight row 2·(t + TAPS·(l / COLUMNS)), column l % COLUMNS gives.
`include "vta_assert.vh"
`default_nettype none

module vta_array_dsp #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer TAPS          = 3,    // factors of a depthwise column
    parameter integer ROWS          = 3,    // rows of one
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
    input  wire [8*ROWS*LANES*(1 << LOG_BATCH) - 1:0]         dw_x,
    input  wire [8*ROWS*TAPS*LANES - 1:0]                     dw_w,
    input  wire [3:0]                                         dw_row,
    input  wire                                               dw_ends,
    input  wire                                               dw_add_1,
    input  wire                                               dw_add_2,
    output wire [(32 << (LOG_BATCH + LOG_BLOCK_OUT)) - 1:0]   sum
);
    localparam integer BATCH = 1 << LOG_BATCH;
    localparam integer IN    = 1 << LOG_BLOCK_IN;
    localparam integer OUT   = 1 << LOG_BLOCK_OUT;
    localparam integer COLUMNS = IN / PUMP;     // multipliers of two weight rows
    localparam integer TERM    = 16 + PUMP;     // bits of what one gives, signed
    localparam integer PARTS   = IN / 4;        // groups of a weight row
    localparam integer WIDE    = 4 / PUMP;      // multipliers of a group
    localparam integer TAKEN   = PUMP == 1 ? 2 : 3; // groups of even weight rows that a lane takes

    reg s1_en_q;
    reg s2_en_q;
    reg s3_en_q;
    reg s1_dw_q;
    reg s2_dw_q;
    reg s3_dw_q;
    reg [6:0] s1_how_q;
    reg [6:0] s2_how_q;
    reg [6:0] s3_how_q;
    always @(posedge clk) begin
        s1_en_q <= en;
        s2_en_q <= s1_en_q;
        s3_en_q <= s2_en_q;
        if (en) s1_dw_q <= depthwise;
        if (en) s1_how_q <= {dw_row, dw_ends, dw_add_1, dw_add_2};
        s2_dw_q  <= s1_dw_q;
        s3_dw_q  <= s2_dw_q;
        s2_how_q <= s1_how_q;
        s3_how_q <= s2_how_q;
    end

    // With PUMP = 2, the factors of the second half wait for half a cycle: `second` is when their turn is. Its fan-out is large and it
    // has half a cycle: there is one for four multipliers of two weight rows, and one for the inputs that go to four columns.
    localparam integer NEAR   = (COLUMNS + 3)/4;
    localparam integer COPIES = NEAR*(OUT/2 + 1);
    wire [COPIES-1:0]           second;
    wire [17*COLUMNS*OUT/2-1:0] w_later;    // factors of two weight rows

    genvar b, o, i, t;
    generate
        if (PUMP == 1) begin : once
            assign second  = {COPIES{1'b0}};
            for (o = 0; o < OUT; o = o + 2) begin : half
                assign w_later[17*COLUMNS*(o/2) +: 17*COLUMNS] = {17*COLUMNS{1'b0}};
            end
            wire unused_later = |{second, w_later};
        end else begin : twice
            reg toggle_q = 1'b0;        // changes with each edge of clk
            reg seen_q;
            always @(posedge clk) toggle_q <= !toggle_q;
            always @(posedge clk2x) seen_q <= toggle_q;
            // Each looks at itself, which changes nothing, since it is every other cycle; of registers that are alike in all that they
            // look at, a tool makes one.
            for (i = 0; i < COPIES; i = i + 1) begin : copy
                reg second_q = 1'b0;
                always @(posedge clk2x) second_q <= toggle_q == seen_q && !second_q;
                assign second[i] = second_q;
            end
            for (o = 0; o < OUT; o = o + 2) begin : half
                for (i = 0; i < COLUMNS; i = i + 1) begin : column
                    localparam integer GROUP = o/2*PARTS + i/WIDE;
                    wire [7:0]  w0   = w[8*(o*IN + IN - COLUMNS + i) +: 8];
                    wire [7:0]  w1   = w[8*((o+1)*IN + IN - COLUMNS + i) +: 8];
                    wire [16:0] both = {w1, 1'b0, !w0[7], w0[6:0]};     // as vta_factor does
                    reg  [16:0] w_second_q;
                    if (ROWS == 3 && i%WIDE == 0 && GROUP < TAKEN*LANES) begin : shared
                        wire [7:0] tap = dw_w[8*((TAPS + GROUP%TAKEN)*LANES + GROUP/TAKEN) +: 8];
                        always @(posedge clk) if (en) w_second_q <= depthwise ? {{9{tap[7]}}, tap} : both;
                    end else begin : plain
                        always @(posedge clk) if (en) w_second_q <= both;
                    end
                    assign w_later[17*(o/2*COLUMNS + i) +: 17] = w_second_q;
                end
            end
        end

        for (b = 0; b < BATCH; b = b + 1) begin : row
            // Factors that all weight rows share, and, for depthwise, the second row of the window.
            wire [8*COLUMNS-1:0]  x_second;
            wire [8*LANES-1:0]    dw_second;
            wire [10*COLUMNS-1:0] fix;
            for (i = 0; i < COLUMNS; i = i + 1) begin : factor
                if (PUMP == 1) begin : single
                    assign x_second[8*i +: 8] = 8'd0;
                    assign fix[10*i +: 10]    = 10'd0;
                    wire unused_fix = |fix[10*i +: 10];
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
            if (PUMP == 2 && ROWS == 3) begin : later
                reg [8*LANES-1:0] dw_second_q;
                always @(posedge clk) begin
                    if (en) dw_second_q <= {8*LANES{depthwise}} & dw_x[8*(BATCH + b)*LANES +: 8*LANES];
                end
                assign dw_second = dw_second_q;
            end else begin : never
                assign dw_second = {8*LANES{1'b0}};
                wire unused_second = |dw_second;
            end

            // Sums that each column adds to the outputs.
            wire [17*TAPS*LANES-1:0]  columns;
            wire [17*PARTS*OUT-1:0]   parts;
            wire [19*LANES-1:0]       windows;
            wire [16*TAPS*LANES-1:0]  taps;
            for (i = 0; i < LANES; i = i + 1) begin : gather
                for (t = 0; t < TAPS; t = t + 1) begin : factor
                    if (ROWS == 3) begin : grouped
                        localparam integer GROUP = PUMP == 1 ? 2*i + t/2 : 3*i + t;
                        localparam integer FROM  = GROUP/PARTS*2 + (PUMP == 1 ? t%2 : 0);
                        assign columns[17*(LANES*t + i) +: 17] = parts[17*(PARTS*FROM + GROUP%PARTS) +: 17];
                    end else begin : alone
                        reg [15:0] tap_q;
                        always @(posedge clk) if (s2_en_q && s2_dw_q) tap_q <= taps[16*(t*LANES + i) +: 16];
                        assign columns[17*(LANES*t + i) +: 17] = {tap_q[15], tap_q};
                    end
                end
            end
            if (ROWS == 3) begin : untapped
                assign taps = {16*TAPS*LANES{1'b0}};
                wire unused_taps = |taps;
            end
            wire unused_parts = |parts;     // few of them are columns

            vta_columns #(.LANES(LANES), .TAPS(TAPS)) add (
                .clk(clk), .en(s3_en_q && s3_dw_q), .row(s3_how_q[6:3]), .add_1(s3_how_q[1]), .add_2(s3_how_q[0]),
                .in(columns), .sum(windows)
            );

            // Two weight rows at a time.
            for (o = 0; o < OUT; o = o + 2) begin : pair
                wire [TERM*COLUMNS-1:0] even;
                wire [TERM*COLUMNS-1:0] odd;
                for (i = 0; i < COLUMNS; i = i + 1) begin : column
                    wire [7:0]      x0;
                    wire [7:0]      x1;             // of the second set
                    wire [7:0]      tap;            // the weight in depthwise steps
                    wire [TERM-2:0] low;            // never negative
                    wire [TERM-2:0] high;
                    localparam integer GROUP  = o/2*PARTS + i/WIDE;
                    localparam integer LANE   = ROWS == 3 ? GROUP/TAKEN : i + COLUMNS*(o/2/TAPS);
                    localparam integer FACTOR = ROWS == 1 ? o/2%TAPS : PUMP == 1 ? 2*(GROUP%2) : GROUP%3;
                    localparam integer AT     = NEAR*(o/2) + i/4;
                    // Row of the window; at twice the clock the one in the middle comes second.
                    localparam integer R      = ROWS == 1 ? 0 : i%WIDE*PUMP;
                    localparam integer SHARED = LANE < LANES && R < ROWS ? 1 : 0;
                    if (SHARED != 0) begin : shared
                        assign tap = dw_w[8*((R*TAPS + FACTOR)*LANES + LANE) +: 8];
                        assign x0  = depthwise ? dw_x[8*((R*BATCH + b)*LANES + LANE) +: 8] : x[8*(b*IN + i) +: 8];
                        if (PUMP == 2 && R == 0) begin : middle
                            assign x1 = x_second[8*i +: 8] | dw_second[8*LANE +: 8];
                        end else begin : none
                            assign x1 = x_second[8*i +: 8];
                        end
                        if (ROWS == 1) begin : tapped
                            assign taps[16*(FACTOR*LANES + LANE) +: 16] = {low[15] ^ (PUMP == 1), low[14:0]};
                        end
                    end else begin : plain
                        assign tap = w[8*(o*IN + i) +: 8];
                        assign x0  = x[8*(b*IN + i) +: 8] & {8{!(depthwise && LANE < LANES)}};
                        assign x1  = x_second[8*i +: 8];
                    end
                    if (PUMP == 1) begin : single
                        wire unused_x1 = |x1;
                        wire [7:0] w1;
                        if (SHARED != 0 && ROWS == 3 && FACTOR == 0) begin : both
                            assign w1 = depthwise ? dw_w[8*((R*TAPS + 1)*LANES + LANE) +: 8] : w[8*((o+1)*IN + i) +: 8];
                        end else begin : one
                            assign w1 = w[8*((o+1)*IN + i) +: 8];
                        end
                        vta_mul_pair mul (
                            .clk(clk), .en(en), .w0(depthwise ? tap : w[8*(o*IN + i) +: 8]), .w1(w1), .x(x0), .low(low), .high(high)
                        );
                    end else begin : double
                        wire [16:0] chosen;
                        vta_factor #(.SHARED(SHARED)) choice (
                            .second(second[AT]), .w0(w[8*(o*IN + i) +: 8]), .w1(w[8*((o+1)*IN + i) +: 8]), .alone(depthwise),
                            .tap(tap), .later(w_later[17*(o/2*COLUMNS + i) +: 17]), .factor(chosen)
                        );
                        wire [7:0] chosen_x;
                        vta_factor_x choice_x (.second(second[NEAR*OUT/2 + i/4]), .x0(x0), .x1(x1), .x(chosen_x));
                        vta_mul_quad mul (
                            .clk2x(clk2x), .second(second[AT]), .factor(chosen), .x(chosen_x),
                            .fix(fix[10*i +: 10]), .low(low), .high(high)
                        );
                    end
                    assign even[TERM*i +: TERM] = {1'b0, low};
                    assign odd[TERM*i +: TERM]  = {high[TERM-2], high};
                end

                for (i = 0; i < 2; i = i + 1) begin : lane
                    wire [18:0] window;
                    if (o + i < LANES) begin : taken
                        assign window = windows[19*(o + i) +: 19];
                    end else begin : silent
                        assign window = 19'd0;
                    end
                    vta_array_lane #(.LOG_BLOCK_IN(LOG_BLOCK_IN), .PUMP(PUMP), .EVEN(1 - i)) adders (
                        .clk(clk), .en(s2_en_q), .terms(i == 0 ? even : odd), .part(parts[17*PARTS*(o + i) +: 17*PARTS]),
                        .out_en(s3_en_q), .depthwise(s3_dw_q), .ends(s3_how_q[2]), .window(window), .sum(sum[32*(b*OUT + o + i) +: 32])
                    );
                end
            end
        end
    endgenerate

    `VTA_PARAM_CHECK(ROWS == 3 ? TAPS == 3 && 8*TAKEN*LANES <= IN*OUT
                               : ROWS == 1 && 2*TAPS*((LANES + COLUMNS - 1)/COLUMNS) <= OUT)
endmodule

`default_nettype wire
