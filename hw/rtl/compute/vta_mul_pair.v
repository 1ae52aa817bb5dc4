// SPDX-License-Identifier: Apache-2.0
//
// vta_mul_pair -- two int8 products with one factor in common, in one DSP48: (w1·2^16 + w0)·x + 2^15.
//
// Contract: in with `en`, out two cycles later: low = w0·x + 2^15, not negative; high = w1·x. The 2^15, which the DSP adds,
// keeps a negative low product from taking 1 from the high one; who adds up low ones takes it off at the end. A shift of
// 16 is enough, for −2^15 < w0·x ≤ 2^14, and the only one that fits: −128·2^17 − 128 would need 26 bits of the 25.
`default_nettype none

module vta_mul_pair (
    input  wire               clk,
    input  wire               en,
    input  wire        [7:0]  w0,
    input  wire        [7:0]  w1,
    input  wire        [7:0]  x,
    output wire        [15:0] low,
    output wire signed [15:0] high
);
    reg signed [24:0] a_q;
    reg signed [7:0]  b_q;
    // The waiver: 33 bits is the width of a product, the top one repeats the sign.
    // verilator lint_off UNUSEDSIGNAL
    reg signed [32:0] p_q;
    // verilator lint_on UNUSEDSIGNAL

    always @(posedge clk) begin
        if (en) begin
            a_q <= {w1[7], w1, 16'd0} + {{17{w0[7]}}, w0};
            b_q <= x;
        end
        p_q <= a_q * b_q + 33'sd32768;
    end

    assign low  = p_q[15:0];
    assign high = p_q[31:16];
endmodule

`default_nettype wire
