// SPDX-License-Identifier: Apache-2.0
//
// vta_alu_lane -- one lane of ALU and REQUANT: a multiplier with what goes before and after it.
//
//   s2   v = x + bias, or the result of a simple operation, and what it is multiplied by: 1 for a simple one, a power of
//        two for a shift (to the right: x·2^(16−n), or for 16 places and more x·2^(32−n), of which the upper bits are taken)
//   s3   v · factor, 33 × 32 bits in three DSP48 and a few LUTs, or, with DSPS = 2, in two that are 27 bits wide and more LUTs;
//        what rounds twice gets its first half here
//   s4   the product is put together
//   s5   REQUANT: shift to the right by multiples of 4; SHR, by 0, 16 or 32 in the same way
//   s6   by the rest, round, zero point, clip: three sums beside each other, of which two say what is out of range
//
// exp2 is a product of two numbers from tables, 2^(n/64) and 2^(n/4096), and a shift to the right, which is rounded as a REQUANT's.
//
// Contract: en2 … en6 say which stages hold something. x, y with the step in s2; `early` is the result of a simple
// operation (not MUL, SHR, CLIP, exp2) already there; `result` holds after s6, of a REQUANT that is not long in its low 8 bits alone, and
// `index` is these 8 bits in s6, for nothing else. y carries the factor of MUL, scale the shift and the multiplier of REQUANT. exp2 is a
// MOV whose y is 0. s6_long, of a long REQUANT, without zero point and bounds, and of exp2, rounded to even: the result has 18 bits.
`default_nettype none

module vta_alu_lane #(
    parameter integer LOG_BATCH     = 0,    // these for vta_isa.vh
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer LOG_UOP_DEPTH = 13,
    parameter integer LOG_INP_DEPTH = 11,
    parameter integer LOG_WGT_DEPTH = 10,
    parameter integer LOG_ACC_DEPTH = 11,
    parameter integer ROWS          = 0,    // 0: s2_exp2 and s6_long are 0 always
    parameter integer DSPS          = 3     // 2: products of 27 × 18 bits, as a DSP48E2 makes them; the factor's upper bits in LUTs
) (
    input  wire        clk,
    input  wire        en2,
    input  wire        en3,
    input  wire        en4,
    input  wire        en5,
    input  wire        en6,

    input  wire        s2_requant,
    input  wire        s2_exp2,
    input  wire [2:0]  s2_op,
    input  wire [31:0] x,
    input  wire [31:0] y,
    input  wire [31:0] bias,
    input  wire [36:0] scale,          // shift, multiplier
    input  wire        s2_twice,       // REQUANT rounds twice
    output wire [31:0] early,

    input  wire        s6_requant,
    input  wire        s6_long,
    input  wire [1:0]  s6_rounding,
    input  wire [7:0]  s6_zero_point,
    input  wire [7:0]  s6_low,
    input  wire [7:0]  s6_high,
    input  wire [8:0]  s6_to_low,      // the zero point less the lowest value
    input  wire [8:0]  s6_past_high,   // less the highest one and 1
    output wire [7:0]  index,
    output wire [31:0] result
);
`define VTA_ISA_EXP2
`include "vta_isa.vh"
`undef VTA_ISA_EXP2

    // The arithmetic of each stage stands in functions, so that a simulator does none of it for a stage that is empty.

    // s2. A shift moves by −31 … 31 places: does it say more?
    function far_of(input [31:0] by);
        far_of = by[31:5] != {27{by[31]}} || (by[31] && by[4:0] == 5'd0);
    endfunction

    // The power of two that does it: to the left by −y places; to the right, as 16 bits below the product are dropped, by 16 less y's
    // lower four bits. Either way these are negated, written out, since an adder takes longer.
    function [4:0] power_of(input left, input [4:0] by, input far);
        reg [3:0] back;
        begin
            back = {by[3] ^ (by[2:0] != 3'd0), by[2] ^ (by[1:0] != 2'd0), by[1] ^ by[0], by[0]};
            if (left) power_of = far ? 5'd31 : {by[4] ^ (by[3:0] != 4'd0), back};
            else      power_of = far ? 5'd1 : {by[3:0] == 4'd0, back};
        end
    endfunction

    // The sum of x and y has 33 bits: its top bit tells whether x < −y. What −y lacks is added in s3.
    localparam [1:0] TAKE_X = 2'd0, TAKE_Y = 2'd1, TAKE_MINUS = 2'd2, TAKE_SUM = 2'd3;

    function [1:0] choice(input [2:0] op, input less, input y_negative, input sum_negative);
        case (op)
        VTA_ALU_MIN:  choice = less ? TAKE_X : TAKE_Y;
        VTA_ALU_MAX:  choice = less ? TAKE_Y : TAKE_X;
        VTA_ALU_ADD:  choice = TAKE_SUM;
        VTA_ALU_CLIP: choice = y_negative || (less && sum_negative) ? TAKE_MINUS : less ? TAKE_X : TAKE_Y;
        VTA_ALU_MOV:  choice = TAKE_Y;
        default:      choice = TAKE_X;
        endcase
    endfunction

    function [32:0] taken(input [1:0] take, input [32:0] a, input [32:0] b, input [32:0] sum);
        case (take)
        TAKE_X:     taken = a;
        TAKE_Y:     taken = b;
        TAKE_MINUS: taken = ~b;
        default:    taken = sum;
        endcase
    endfunction

    // exp2: of s/4096 = f − i, with f below 1, the shift by 14 + i places, at most 63, and the two numbers whose product is 2^(30 + f). What
    // is not below 0 counts as 0; below, the complement of the whole part is i − 1.
    function [37:0] exp2(input [31:0] s);
        reg [6:0] places;
        begin
            places = {1'b0, ~s[17:12]} + 7'd15;
            if (s[31]) exp2 = {places[6] || s[30:18] != {13{1'b1}} ? 6'd63 : places[5:0], vta_exp2_lo(s[5:0]), vta_exp2_hi(s[11:6])};
            else       exp2 = {6'd14, vta_exp2_lo(6'd0), vta_exp2_hi(6'd0)};
        end
    endfunction

    // Nobody looks at these while the stage is empty.
    reg [32:0] sum;
    reg        far;
    reg [1:0]  take;
    reg [32:0] simple;     // a REQUANT's has 33 bits, others repeat their sign
    reg [5:0]  exp2_shift;
    reg [15:0] exp2_factor;
    reg [15:0] exp2_v;
    reg [4:0]  power;
    reg [3:0]  power_high;
    reg [7:0]  power_low;
    always @* begin
        sum    = {33{1'bx}};
        far    = 1'bx;
        take   = {2{1'bx}};
        simple = {33{1'bx}};
        power  = {5{1'bx}};
        {exp2_shift, exp2_factor, exp2_v} = {38{1'bx}};
        if (en2) begin
            {exp2_shift, exp2_factor, exp2_v} = ROWS != 0 && s2_exp2 ? exp2(x) : 38'd0;
            sum    = {x[31], x} + (s2_requant ? {bias[31], bias} : {y[31], y});
            far    = far_of(y);
            take   = s2_requant ? TAKE_SUM : choice(s2_op, $signed(x) < $signed(y), y[31], sum[32]);
            simple = taken(take, {x[31], x}, {y[31], y | {16'd0, exp2_v}}, {s2_requant ? sum[32] : sum[31], sum[31:0]});
            power  = s2_op != VTA_ALU_SHR ? 5'd0 : power_of(y[31], y[4:0], far);
        end
        power_high = 4'd1 << power[4:3];
        power_low  = 8'd1 << power[2:0];
    end
    assign early = simple[31:0];

    reg [32:0] s3_v_q;
    reg [31:0] s3_factor_q;
    reg        s3_twice_q;
    reg        s3_minus_q;
    reg [5:0]  s3_shift_q;
    wire       right = s2_op == VTA_ALU_SHR && !y[31];
    wire       right_far = far || y[4];
    always @(posedge clk) begin
        if (en2) begin
            s3_v_q     <= simple;
            s3_minus_q <= take == TAKE_MINUS;
            if (s2_requant)                s3_factor_q <= {1'b0, scale[30:0]};
            else if (s2_op == VTA_ALU_MUL) s3_factor_q <= y;
            else if (ROWS != 0 && s2_exp2) s3_factor_q <= {16'd0, exp2_factor};
            else                           s3_factor_q <= {{8{power_high[3]}}, {8{power_high[2]}}, {8{power_high[1]}}, {8{power_high[0]}}}
                                                          & {4{power_low}};
            s3_shift_q <= s2_requant ? scale[36:31] : ROWS != 0 && s2_exp2 ? exp2_shift : {right && right_far, right && !right_far, 4'd0};
            s3_twice_q <= s2_requant && s2_twice && scale[36:31] >= 6'd31;
        end
    end

    // s3. v = high · 2^17 + low; its product with the factor's upper bits comes to it at LOWER places. A half at 31 places
    // or a one may be added to the low product, which has a bit more for it.
    localparam integer LOWER = DSPS == 2 ? 26 : 24;     // bits of the factor that a DSP48 takes
    localparam integer TOP   = 64 - LOWER;
    reg [LOWER+17:0] s4_low_q;
    reg [LOWER+15:0] s4_high_q;
    reg [TOP-1:0]    s4_top_q;
    wire [TOP-19:0]  s4_above;      // what there is above the low product: the rows of the upper nine bits of v
    reg [5:0]        s4_shift_q;
    reg              s4_twice_q;

    function [LOWER+17:0] low_product(input [16:0] low, input [LOWER-1:0] by, input half, input one);
        // The waiver: the top bits repeat the sign, 0.
        // verilator lint_off UNUSEDSIGNAL
        reg signed [LOWER+18:0] product;
        // verilator lint_on UNUSEDSIGNAL
        reg signed [17:0]    a;
        reg signed [LOWER:0] b;
        begin
            a = {1'b0, low};
            b = {1'b0, by};
            product = a * b + $signed({{(LOWER-12){1'b0}}, half, 29'd0, one});
            low_product = product[LOWER+17:0];
        end
    endfunction

    function [LOWER+15:0] high_product(input [15:0] high, input [LOWER-1:0] by);
        // The waiver: the top bit repeats the sign.
        // verilator lint_off UNUSEDSIGNAL
        reg signed [LOWER+16:0] product;
        // verilator lint_on UNUSEDSIGNAL
        reg signed [15:0]    a;
        reg signed [LOWER:0] b;
        begin
            a = high;
            b = {1'b0, by};
            product = a * b;
            high_product = product[LOWER+15:0];
        end
    endfunction

    // 24 bits of v in a DSP48, and the other 9, whose rows are in LUTs since a synthesizer would take another DSP48 for a product. Where
    // bit 7 of the factor is used, in MUL, these rows reach no bit that counts.
    // The waiver: signed operands of unequal widths, which is what keeps a synthesizer from making one compressor of them.
    // verilator lint_off WIDTH
    function signed [10:0] two_rows(input [8:0] b, input [1:0] by);
        two_rows = (by[0] ? $signed({{2{b[8]}}, b}) : 11'sd0) + (by[1] ? $signed({b[8], b, 1'b0}) : 11'sd0);
    endfunction

    function signed [15:0] rows(input [8:0] b, input [6:0] by);
        reg signed [12:0] low;
        reg signed [11:0] high;
        begin
            low  = two_rows(b, by[1:0]) + $signed({two_rows(b, by[3:2]), 2'd0});
            high = two_rows(b, by[5:4]) + (by[6] ? $signed({b[8], b, 2'd0}) : 12'sd0);
            rows = low + $signed({high, 4'd0});
        end
    endfunction
    // verilator lint_on WIDTH

    function [31:0] top_product(input [23:0] v, input [7:0] by);
        // The waiver: the top bits repeat the sign, 0.
        // verilator lint_off UNUSEDSIGNAL
        reg signed [33:0] product;
        // verilator lint_on UNUSEDSIGNAL
        reg signed [24:0] a;
        reg signed [8:0]  c;
        begin
            a = {1'b0, v};
            c = {1'b0, by};
            product = a * c;
            top_product = product[31:0];
        end
    endfunction

    // All of v by the six upper bits. Where the topmost is set, in MUL and shifts to the left, it reaches one bit that counts, the
    // highest, whose carry does not: there it is turned over.
    // The waiver: as above.
    // verilator lint_off WIDTH
    function signed [34:0] two_wide_rows(input [32:0] v, input [1:0] by);
        two_wide_rows = (by[0] ? $signed({{2{v[32]}}, v}) : 35'sd0) + (by[1] ? $signed({v[32], v, 1'b0}) : 35'sd0);
    endfunction

    function [37:0] top_rows(input [32:0] v, input [5:0] by);
        reg signed [36:0] low;
        reg signed [32:0] last;
        begin
            low  = two_wide_rows(v, by[1:0]) + $signed({two_wide_rows(v, by[3:2]), 2'd0});
            last = ({33{by[4]}} & v) ^ {31'd0, v[0] && by[5], 1'b0};
            top_rows = low + $signed({last, 4'd0});
        end
    endfunction
    // verilator lint_on WIDTH

    always @(posedge clk) begin
        if (en3) begin
            s4_low_q   <= low_product(s3_v_q[16:0], s3_factor_q[LOWER-1:0], s3_twice_q, s3_minus_q);
            s4_high_q  <= high_product(s3_v_q[32:17], s3_factor_q[LOWER-1:0]);
            s4_shift_q <= s3_shift_q;
            s4_twice_q <= s3_twice_q;
        end
    end

    generate
        if (DSPS == 2) begin : in_rows
            always @(posedge clk) if (en3) s4_top_q <= top_rows(s3_v_q, s3_factor_q[31:26]);
            assign s4_above = {(TOP-18){1'b0}};
        end else begin : in_dsp
            reg [15:0] s4_rows_q;
            always @(posedge clk) begin
                if (en3) begin
                    s4_top_q  <= {8'd0, top_product(s3_v_q[23:0], s3_factor_q[31:24])};
                    s4_rows_q <= rows(s3_v_q[32:24], s3_factor_q[30:24]);
                end
            end
            assign s4_above = {s4_rows_q, 6'd0};
        end
    endgenerate

    // s4. One sum in LUTs, the other one in the DSP48 that has the high product.
    wire [46:0] s4_rest = {s4_above, s4_low_q[LOWER+17:17]} + {s4_top_q, {(LOWER-17){1'b0}}};
    reg [46:0] s5_upper_q;
    reg [16:0] s5_lower_q;
    reg [5:0]  s5_shift_q;
    reg        s5_twice_q;
    always @(posedge clk) begin
        if (en4) begin
            s5_upper_q <= {{(31-LOWER){s4_high_q[LOWER+15]}}, s4_high_q} + s4_rest;
            s5_lower_q <= s4_low_q[16:0];
            s5_shift_q <= s4_shift_q;
            s5_twice_q <= s4_twice_q;
        end
    end
    wire [63:0] s5_product = {s5_upper_q, s5_lower_q};

    // s5. The product gets one more bit below, so that the bit under the binary point survives. 26 bits of it, then 14, are
    // enough to tell whether 10 bits hold the quotient: `over` says that bits unlike the sign fell off on the left,
    // `sticky` that ones fell off on the right. Of what is rounded a second time, the 31 bits below the first point are gone;
    // its shift is 31 or more, so that of them but the topmost is ever looked at by itself.
    function [27:0] shift_coarse(input [63:0] product, input [1:0] by, input twice);
        reg        sign;
        reg [73:0] full;
        reg [2:0]  unlike;      // of the three lots of bits above those taken by 0
        reg [2:0]  ones;        // of the three lots that are below those taken by 3
        begin
            sign   = product[63];
            full   = {{9{sign}}, product[63:31], product[30] && !twice, product[29:0], 1'b0};
            unlike = {full[64:58] != {7{sign}}, full[57:42] != {16{sign}}, full[41:26] != {16{sign}}};
            ones   = {full[47:32] != 16'd0, full[31] || (full[30:16] != 15'd0 && !twice), full[15:0] != 16'd0 && !twice};
            case (by)
            2'd0:    shift_coarse = {unlike != 3'd0, 1'b0, full[25:0]};
            2'd1:    shift_coarse = {unlike[2:1] != 2'd0, ones[0], full[41:16]};
            2'd2:    shift_coarse = {unlike[2], ones[1:0] != 2'd0, full[57:32]};
            default: shift_coarse = {1'b0, ones != 3'd0, full[73:48]};
            endcase
        end
    endfunction

    function [15:0] shift_fine(input [27:0] in, input sign, input [1:0] by);
        reg       sticky;
        reg       over;
        reg [2:0] unlike;
        reg [2:0] ones;
        begin
            {over, sticky} = in[27:26];
            unlike = {in[25:22] != {4{sign}}, in[21:18] != {4{sign}}, in[17:14] != {4{sign}}};
            ones   = {in[11:8] != 4'd0, in[7:4] != 4'd0, in[3:0] != 4'd0};
            case (by)
            2'd0:    shift_fine = {over || unlike != 3'd0, sticky, in[13:0]};
            2'd1:    shift_fine = {over || unlike[2:1] != 2'd0, sticky || ones[0], in[17:4]};
            2'd2:    shift_fine = {over || unlike[2], sticky || ones[1:0] != 2'd0, in[21:8]};
            default: shift_fine = {over, sticky || ones != 3'd0, in[25:12]};
            endcase
        end
    endfunction

    // Of a long result 8 bits more of the quotient, above those 14, out of 34: of these, `inner` are among the 26. Whether 18 bits hold it.
    function [8:0] shift_more(input [63:25] product, input [11:0] inner, input [3:0] by);
        reg        sign;
        reg        over;
        reg [19:0] window;
        begin
            sign = product[63];
            case (by[3:2])
            2'd0:    {over, window} = {product[63:33] != {31{sign}}, product[32:25], inner};
            2'd1:    {over, window} = {product[63:49] != {15{sign}}, product[48:41], inner};
            2'd2:    {over, window} = {1'b0, sign, product[63:57], inner};
            default: {over, window} = {1'b0, {8{sign}}, inner};
            endcase
            case (by[1:0])
            2'd0:    shift_more = {over || window[19:8] != {12{sign}}, window[7:0]};
            2'd1:    shift_more = {over || window[19:12] != {8{sign}}, window[11:4]};
            2'd2:    shift_more = {over || window[19:16] != {4{sign}}, window[15:8]};
            default: shift_more = {over, window[19:12]};
            endcase
        end
    endfunction

    // Over, sticky, and of the product, with the bit below it, 33 bits: the upper 7 and 12 more shifted by multiples of 16, the low 14
    // by the rest, too, which is 0 but for REQUANT and exp2. On top what only long results need.
    function [43:0] shifted(input [63:0] product, input [3:0] by, input twice);
        reg [27:0] coarse;
        reg [15:0] fine;
        reg [6:0]  upper;
        reg [8:0]  more;
        begin
            coarse  = shift_coarse(product, by[3:2], twice);
            fine    = shift_fine(coarse, product[63], by[1:0]);
            upper   = by[3] ? product[63:57] : by[2] ? product[47:41] : product[31:25];
            more    = ROWS != 0 ? shift_more(product[63:25], coarse[25:14], by) : 9'd0;
            shifted = {more, fine[15:14], upper, coarse[25:14], fine[13:0]};
        end
    endfunction

    // Registers that REQUANT and exp2 alone need: whether this rounding is the second, the sign, the rest of the shift, over, sticky.
    reg [32:0] s6_q;
    reg [5:0]  s6_how_q;
    reg [8:0]  s6_more_q;
    always @(posedge clk) begin
        if (en5) begin
            s6_how_q[5:2] <= {s5_twice_q, s5_product[63], s5_shift_q[1:0]};
            {s6_more_q, s6_how_q[1:0], s6_q} <= shifted(s5_product, s5_shift_q[5:2], s5_twice_q);
        end
    end

    // s6. Quotient and the bit below; round; add the zero point; clip.
    function [12:0] shift_last(input [15:0] in, input sign, input [1:0] by);
        reg sticky;
        reg over;
        begin
            {over, sticky} = in[15:14];
            case (by)
            2'd0:    shift_last = {over || in[13:10] != {4{sign}}, sticky, in[10:0]};
            2'd1:    shift_last = {over || in[13:11] != {3{sign}}, sticky || in[0], in[11:1]};
            2'd2:    shift_last = {over || in[13:12] != {2{sign}}, sticky || in[1:0] != 2'd0, in[12:2]};
            default: shift_last = {over || in[13] != sign, sticky || in[2:0] != 3'd0, in[13:3]};
            endcase
        end
    endfunction

    function rounds_up(input [1:0] last, input sticky, input sign, input second, input [1:0] rounding);
        case (rounding)
        VTA_ROUND_EVEN:      rounds_up = last[0] && (sticky || last[1]);
        VTA_ROUND_TWICE_OUT: rounds_up = last[0] && (sticky || !sign || !second);
        default:             rounds_up = last[0];
        endcase
    endfunction

    function [7:0] narrow(input [19:0] in, input [1:0] rounding, input [7:0] zero_point, input [7:0] low, input [7:0] high,
                          input [8:0] to_low, input [8:0] past_high);
        reg        over;
        reg        sticky;
        reg [10:0] last;
        reg        up;
        // The waiver: the bit below is there to carry the rounding in.
        // verilator lint_off UNUSEDSIGNAL
        reg [8:0]  moved;
        reg [11:0] under;
        reg [11:0] beyond;
        // verilator lint_on UNUSEDSIGNAL
        begin
            {over, sticky, last} = shift_last(in[15:0], in[18], in[17:16]);
            up     = rounds_up(last[1:0], sticky, in[18], in[19], rounding);
            moved  = {last[8:1], 1'b1} + {zero_point, up};
            under  = {last[10], last[10:1], 1'b1} + {{2{to_low[8]}}, to_low, up};
            beyond = {last[10], last[10:1], 1'b1} + {{2{past_high[8]}}, past_high, up};
            if (over) narrow = in[18] ? low : high;
            else      narrow = under[11] ? low : !beyond[11] ? high : moved[8:1];
        end
    endfunction

    // The same of a long result: 18 bits of the quotient, which saturate.
    function [17:0] long_one(input [28:0] in, input [1:0] rounding);
        reg        over;
        reg        sign;
        reg        sticky;
        // The waiver: whether 10 bits hold it means nothing here, and the bit below is there to carry the rounding in.
        // verilator lint_off UNUSEDSIGNAL
        reg        over_10;
        reg [19:0] rounded;
        // verilator lint_on UNUSEDSIGNAL
        reg [10:0] last;
        reg [7:0]  more;
        reg        up;
        begin
            sign = in[18];
            {over_10, sticky, last} = shift_last(in[15:0], sign, in[17:16]);
            over = in[28];
            case (in[17:16])
            2'd0:    {over, more} = {over || in[27:24] != {4{sign}}, in[24:20], in[13:11]};
            2'd1:    {over, more} = {over || in[27:25] != {3{sign}}, in[25:20], in[13:12]};
            2'd2:    {over, more} = {over || in[27:26] != {2{sign}}, in[26:20], in[13]};
            default: {over, more} = {over || in[27] != sign, in[27:20]};
            endcase
            up  = rounds_up(last[1:0], sticky, sign, in[19], rounding);
            rounded = {more[7], more, last[10:1], 1'b1} + {19'd0, up};
            long_one = over || (!sign && rounded[18]) ? {sign, {17{!sign}}} : rounded[18:1];
        end
    endfunction

    reg [7:0]  lowest;
    reg [17:0] longest;
    always @* begin
        lowest  = {8{1'bx}};
        longest = {18{1'bx}};
        if (en6 && s6_requant)
            lowest = narrow({s6_how_q, s6_q[13:0]}, s6_rounding, s6_zero_point, s6_low, s6_high, s6_to_low, s6_past_high);
        if (en6 && ROWS != 0 && s6_long)
            longest = long_one({s6_more_q, s6_how_q, s6_q[13:0]}, s6_rounding);
    end
    assign index = lowest;

    reg [31:0] result_q;
    always @(posedge clk) begin
        if (en6) begin
            result_q[31:8] <= ROWS != 0 && s6_long ? {{14{longest[17]}}, longest[17:8]} : s6_q[32:9];
            result_q[7:0]  <= ROWS != 0 && s6_long ? longest[7:0] : s6_requant ? lowest : s6_q[8:1];
        end
    end

    assign result = result_q;
endmodule

`default_nettype wire
