// SPDX-License-Identifier: Apache-2.0
//
// vta_offer -- what two banks of ACC beside each other may write: one of them what a pipeline gives, the other one what a load does.
//
// Contract: combinational; without `en` the outputs mean nothing. A module of its own, so that it is mapped alone: a bit for both banks has five inputs, which is one LUT with two outputs.
`default_nettype none

(* keep_hierarchy = "yes" *)
module vta_offer #(
    parameter integer WIDTH = 32
) (
    input  wire             en,
    input  wire             by_array,   // the pipeline is the array, not the ALU
    input  wire             to_odd,     // the pipeline's bank is the odd one
    input  wire [WIDTH-1:0] array,
    input  wire [WIDTH-1:0] alu,
    input  wire [WIDTH-1:0] load,
    output reg  [WIDTH-1:0] even,
    output reg  [WIDTH-1:0] odd
);
    always @* begin
        even = {WIDTH{1'bx}};
        odd  = {WIDTH{1'bx}};
        if (en) begin
            even = to_odd ? load : by_array ? array : alu;
            odd  = !to_odd ? load : by_array ? array : alu;
        end
    end
endmodule

`default_nettype wire
