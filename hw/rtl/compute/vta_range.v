// SPDX-License-Identifier: Apache-2.0
//
// vta_range -- the scratchpad entries that the instructions of a pipeline use, as ranges.
//
// Contract: steps of an instruction `enter` one after the other, `first` of all, each with a range of entries; run_* is what
// they have said so far. An instruction that writes here `leaves` with its last step; drain_* holds what has left, until
// `drained` says that none of it has anything to write any more (then it begins anew: a range may be wider than what is
// still to be written, never smaller).
`default_nettype none

module vta_range #(
    parameter integer A = 11
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         enter,
    input  wire         first,
    input  wire [A-1:0] begins,
    input  wire [A-1:0] ends,
    input  wire         leave,
    input  wire         drained,
    output wire [A-1:0] run_first,
    output wire [A-1:0] run_last,
    output wire         drain_valid,
    output wire [A-1:0] drain_first,
    output wire [A-1:0] drain_last
);
    reg [A-1:0] run_first_q;
    reg [A-1:0] run_last_q;
    reg         drain_valid_q;
    reg [A-1:0] drain_first_q;
    reg [A-1:0] drain_last_q;

    always @(posedge clk) begin
        if (rst) drain_valid_q <= 1'b0;
        else if (leave) drain_valid_q <= 1'b1;
        else if (drained) drain_valid_q <= 1'b0;
    end

    always @(posedge clk) begin
        if (enter) begin
            if (first || begins < run_first_q) run_first_q <= begins;
            if (first || ends > run_last_q)    run_last_q  <= ends;
        end
        if (leave) begin
            if (!drain_valid_q || run_first_q < drain_first_q) drain_first_q <= run_first_q;
            if (!drain_valid_q || run_last_q > drain_last_q)   drain_last_q  <= run_last_q;
        end
    end

    assign run_first   = run_first_q;
    assign run_last    = run_last_q;
    assign drain_valid = drain_valid_q;
    assign drain_first = drain_first_q;
    assign drain_last  = drain_last_q;
endmodule

`default_nettype wire
