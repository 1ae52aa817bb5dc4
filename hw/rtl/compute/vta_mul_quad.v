// SPDX-License-Identifier: Apache-2.0
//
// vta_mul_quad -- four int8 products in one DSP48 at twice the clock: (w1·2^17 + w0)·x of a first set of factors and of a
// second one, added up inside.
//
// Contract: a first set comes with `second` low, its second set a cycle of clk2x later with `second` high; `fix`, which goes
// with both, stands from the first set until the next first set. Three cycles of clk2x after the second set: low = the sum of
// both w0·x, high = the sum of both w1·x, for the one cycle before the next first set is added. low is 2^16 too much, modulo
// 2^17, and so never negative.
// A factor is what the DSP sees without the repeated bits in its middle (vta_factor). That of two weights is w1·2^17 + w0 + 128,
// whose low part is never negative, so that a shift of 17 fits the DSP's 25 bits; with `fix` = 512 less both x, the DSP takes the
// 128·x off again and adds 2^16. A factor may be w0 alone: then low is exact modulo 2^16 with a fix of 512, and high means nothing.
`default_nettype none

module vta_mul_quad (
    input  wire               clk2x,
    input  wire               second,
    input  wire        [16:0] factor,
    input  wire        [7:0]  x,
    input  wire        [9:0]  fix,
    output wire        [16:0] low,
    output wire signed [16:0] high
);
    reg signed [24:0] a_q;
    reg signed [7:0]  b_q;
    reg signed [32:0] m_q;
    reg signed [33:0] p_q;

    // The product of a first set is in m_q while the factors of the next first set come.
    always @(posedge clk2x) begin
        a_q <= {factor[16:9], {9{factor[8]}}, factor[7:0]};
        b_q <= x;
        m_q <= a_q * b_q;
        p_q <= (second ? p_q : $signed({17'd0, fix, 7'd0})) + m_q;
    end

    assign low  = p_q[16:0];
    assign high = p_q[33:17];
endmodule

`default_nettype wire
