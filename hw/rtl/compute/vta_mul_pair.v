// SPDX-License-Identifier: Apache-2.0
//
// vta_mul_pair -- two int8 products with one factor in common, in one DSP48: (w1·2^16 + w0)·x.
//
// Contract: in with `en`, out two cycles later: product0 = w0·x; product1 + carry1 = w1·x. The carry gives back what a
// negative low product took from the high one; the adders below have a carry input to spare. A shift of 16 is enough,
// for −2^15 < w0·x ≤ 2^14, and the only one that fits: −128·2^17 − 128 would need 26 bits of the 25.
`default_nettype none

module vta_mul_pair (
    input  wire               clk,
    input  wire               en,
    input  wire        [7:0]  w0,
    input  wire        [7:0]  w1,
    input  wire        [7:0]  x,
    output wire signed [15:0] product0,
    output wire signed [15:0] product1,
    output wire               carry1
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
        p_q <= a_q * b_q;
    end

    assign product0 = p_q[15:0];
    assign product1 = p_q[31:16];
    assign carry1   = p_q[15];
endmodule

`default_nettype wire
