// SPDX-License-Identifier: Apache-2.0
//
// vta_range -- the scratchpad entries that the instructions of a pipeline use, as ranges.
//
// Contract: steps of an instruction enter one after the other (`full`, `able`, `go` and `valid`: vta_enter), `first` of all, each with a
// range of entries: the one given, or, if the step is `spare`, spare_*; run_* is what they have said so far. The former come late, so
// that both are compared before one is chosen. An instruction that writes here leaves with its `last` step, when that is `able` to and does `go`; drain_* holds
// what has left, until `drained` says that none of it has anything to write any more (then it begins anew: a range may be wider
// than what is still to be written, never smaller).
`default_nettype none

module vta_range #(
    parameter integer A = 11
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         full,
    input  wire         able,
    input  wire         go,
    input  wire         valid,
    input  wire         first,
    input  wire         spare,
    input  wire [A-1:0] begins,
    input  wire [A-1:0] ends,
    input  wire [A-1:0] spare_begins,
    input  wire [A-1:0] spare_ends,
    input  wire         last,
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

    wire leave = able && go && last;

    always @(posedge clk) begin
        if (rst) drain_valid_q <= 1'b0;
        else drain_valid_q <= leave || (drain_valid_q && !drained);
    end

    wire may       = valid && !spare;
    wire sure_down = valid && (first || (spare && spare_begins < run_first_q));
    wire sure_up   = valid && (first || (spare && spare_ends > run_last_q));
    wire down, up;
    vta_enter enter_down (.full(full), .able(able), .go(go), .sure(sure_down), .may(may), .wider(begins < run_first_q), .enters(down));
    vta_enter enter_up   (.full(full), .able(able), .go(go), .sure(sure_up), .may(may), .wider(ends > run_last_q), .enters(up));

    // The range that leaves was known before: nothing has to be free for it.
    wire drain_down, drain_up;
    vta_enter leave_down (.full(1'b1), .able(able), .go(go), .sure(last && (!drain_valid_q || run_first_q < drain_first_q)), .may(1'b0), .wider(1'b0), .enters(drain_down));
    vta_enter leave_up   (.full(1'b1), .able(able), .go(go), .sure(last && (!drain_valid_q || run_last_q > drain_last_q)), .may(1'b0), .wider(1'b0), .enters(drain_up));

    always @(posedge clk) begin
        if (down) run_first_q <= spare ? spare_begins : begins;
        if (up)   run_last_q  <= spare ? spare_ends : ends;
        if (drain_down) drain_first_q <= run_first_q;
        if (drain_up)   drain_last_q  <= run_last_q;
    end

    assign run_first   = run_first_q;
    assign run_last    = run_last_q;
    assign drain_valid = drain_valid_q;
    assign drain_first = drain_first_q;
    assign drain_last  = drain_last_q;
endmodule

`default_nettype wire
