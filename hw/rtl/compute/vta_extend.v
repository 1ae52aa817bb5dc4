// SPDX-License-Identifier: Apache-2.0
//
// vta_extend -- the upper bits of a lane's result: its own, or the sign of the byte below, with `narrow`.
//
// Contract: combinational. A module of its own, so that it is mapped alone: the sign is chosen once for all bits.
`default_nettype none

(* keep_hierarchy = "yes" *)
module vta_extend #(
    parameter integer BITS = 24
) (
    input  wire            narrow,
    input  wire            sign,
    input  wire [BITS-1:0] own,
    output wire [BITS-1:0] upper
);
    assign upper = narrow ? {BITS{sign}} : own;
endmodule

`default_nettype wire
