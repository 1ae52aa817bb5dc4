// SPDX-License-Identifier: Apache-2.0
//
// vta_add -- the sum of two signed numbers, one bit wider: combinational. A module of its own keeps a synthesizer that does
// not look beyond modules from making a tree of such sums into one compressor, which takes half as many LUTs again as the
// carry chains.
`default_nettype none

module vta_add #(
    parameter integer BITS = 16
) (
    input  wire signed [BITS-1:0] a,
    input  wire signed [BITS-1:0] b,
    output wire signed [BITS:0]   sum
);
    assign sum = a + b;
endmodule

`default_nettype wire
