// SPDX-License-Identifier: Apache-2.0
//
// vta_next -- the two counts that may follow one, modulo 2^BITS: combinational. Both are there before it is known which does, so that
// no adder is behind what comes late (vta_add keeps a synthesizer from putting one behind the choice).
`default_nettype none

module vta_next #(
    parameter integer BITS = 8
) (
    input  wire [BITS-1:0] count,
    output wire [BITS-1:0] more,
    output wire [BITS-1:0] fewer
);
    localparam [BITS-1:0] ONE = 1;
    wire unused_more, unused_fewer;

    vta_add #(.BITS(BITS)) up   (.a(count), .b(ONE), .sum({unused_more, more}));
    vta_add #(.BITS(BITS)) down (.a(count), .b({BITS{1'b1}}), .sum({unused_fewer, fewer}));
endmodule

`default_nettype wire
