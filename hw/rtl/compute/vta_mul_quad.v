// SPDX-License-Identifier: Apache-2.0
//
// vta_mul_quad -- four int8 products in one DSP48 at twice the clock: (w1·2^17 + w0)·x of a first set of factors and of a
// second one, added up inside.
//
// Contract: a first set comes with `second` low, its second set a cycle of clk2x later with `second` high; `fix`, which goes
// with both, stands from the first set until the next first set. Three cycles of clk2x after the second set: low = the sum of
// both w0·x, high = the sum of both w1·x, for the one cycle before the next first set is added. low is 2^16 too much, modulo
// 2^17, and so never negative.
// The factor that the DSP sees in its low bits is w0 + 128, never negative, so that a shift of 17 fits its 25 bits; with
// `fix` = 512 less both x, the DSP takes the 128·x off again and adds 2^16. With `alone` the low bits are w0 itself, without w1:
// then low is exact modulo 2^16 with a fix of 512, and high means nothing.
`default_nettype none

module vta_mul_quad (
    input  wire               clk2x,
    input  wire               second,
    input  wire               alone,
    input  wire        [7:0]  w0,
    input  wire        [7:0]  w1,
    input  wire        [7:0]  x,
    input  wire        [9:0]  fix,
    output wire        [16:0] low,
    output wire signed [16:0] high
);
    reg signed [24:0] a_q;
    reg signed [7:0]  b_q;
    reg signed [33:0] m_q;
    reg signed [33:0] p_q;

    wire [24:0] upper = alone ? 25'd0 : {w1, 9'd0, 8'h80};

    // The product of a first set is in m_q while the factors of the next first set come.
    always @(posedge clk2x) begin
        a_q <= upper + {{17{w0[7]}}, w0};
        b_q <= x;
        m_q <= a_q * b_q;
        p_q <= (second ? p_q : $signed({17'd0, fix, 7'd0})) + m_q;
    end

    assign low  = p_q[16:0];
    assign high = p_q[33:17];
endmodule

`default_nettype wire
