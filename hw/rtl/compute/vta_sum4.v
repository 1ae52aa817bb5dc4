// SPDX-License-Identifier: Apache-2.0
//
// vta_sum4 -- four signed products of two int8 and four carries, in three adders: combinational.
`default_nettype none

module vta_sum4 (
    input  wire [63:0] in,
    input  wire [3:0]  carry,
    output wire [17:0] sum
);
    // One bit below the sum brings a carry in.
    // The waiver: that bit of the result means nothing.
    // verilator lint_off UNUSEDSIGNAL
    wire [17:0] left  = {in[15], in[15:0], carry[0]} + {in[31], in[31:16], carry[0]};
    wire [17:0] right = {in[47], in[47:32], carry[1]} + {in[63], in[63:48], carry[1]};
    wire [18:0] both  = {left[17], left[17:1], carry[2]} + {right[17], right[17:1], carry[2]};
    // verilator lint_on UNUSEDSIGNAL

    assign sum = both[18:1] + {17'd0, carry[3]};
endmodule

`default_nettype wire
