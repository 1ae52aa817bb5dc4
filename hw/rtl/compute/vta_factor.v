// SPDX-License-Identifier: Apache-2.0
//
// vta_factor -- what vta_mul_quad multiplies an input by, in either half of a cycle of clk: combinational.
//
// Contract: with `second` high, `later`. With it low, the factor of the weights w0 and w1: {w1, 0, w0 + 128}; or, where depthwise
// steps take part (SHARED) and with `alone`, that of `tap`: its eight bits under nine times its sign.
// A module of its own, so that it is mapped alone: `second` has half a cycle, and one table for each bit is between it and the
// multiplier.
`default_nettype none

(* keep_hierarchy = "yes" *)
module vta_factor #(
    parameter integer SHARED = 1
) (
    input  wire        second,
    input  wire [7:0]  w0,
    input  wire [7:0]  w1,
    // The waiver: only some of the multipliers take part in depthwise steps.
    // verilator lint_off UNUSEDSIGNAL
    input  wire        alone,
    input  wire [7:0]  tap,
    input  wire [16:0] later,
    // verilator lint_on UNUSEDSIGNAL
    output wire [16:0] factor
);
    wire [16:0] both = {w1, 1'b0, !w0[7], w0[6:0]};

    generate
        if (SHARED != 0) begin : either
            assign factor = second ? later : alone ? {{9{tap[7]}}, tap} : both;
        end else begin : plain
            wire unused_both = both[8];
            assign factor = {second ? later[16:9] : both[16:9], 1'b0, second ? later[7:0] : both[7:0]};
        end
    endgenerate
endmodule

`default_nettype wire
