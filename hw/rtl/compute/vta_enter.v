// SPDX-License-Identifier: Apache-2.0
//
// vta_enter -- whether a step enters a place now, and is one that widens a range.
//
// Contract: combinational. A step enters a place that is not `full`, or whose step is `able` to go and does `go`, if it is `sure` to widen the range, or if
// it `may` and is `wider`. A module of its own, so that it is mapped alone: one table between `go` and `wider`,
// which come late, and the enable of a register.
`default_nettype none

(* keep_hierarchy = "yes" *)
module vta_enter (
    input  wire full,
    input  wire able,
    input  wire go,
    input  wire sure,
    input  wire may,
    input  wire wider,
    output wire enters
);
    assign enters = (!full || (able && go)) && (sure || (may && wider));
endmodule

`default_nettype wire
