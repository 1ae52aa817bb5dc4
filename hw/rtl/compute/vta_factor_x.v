// SPDX-License-Identifier: Apache-2.0
//
// vta_factor_x -- the input of a multiplier at twice the clock: of the first set or of the second one.
//
// Contract: combinational. A module of its own, so that it is mapped alone: one table a bit between `second`,
// which has half of a cycle, and the multiplier.
`default_nettype none

(* keep_hierarchy = "yes" *)
module vta_factor_x (
    input  wire       second,
    input  wire [7:0] x0,
    input  wire [7:0] x1,
    output wire [7:0] x
);
    assign x = second ? x1 : x0;
endmodule

`default_nettype wire
