// SPDX-License-Identifier: Apache-2.0
//
// vta_add -- the sum of two signed numbers, one bit wider: combinational. A module of its own, so that it is mapped alone: a tree of
// such sums made into one compressor takes half as many LUTs again as the carry chains.
`default_nettype none

(* keep_hierarchy = "yes" *)
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
