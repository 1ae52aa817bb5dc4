// SPDX-License-Identifier: Apache-2.0
//
// vta_span -- the instructions in a pipeline: how many have begun and retired, and which ACC entries they write.
//
// Contract: steps of an instruction enter one after the other (`full`, `able`, `go` and `valid`: vta_enter), `first` of all, with the range
// of entries that one may write over the nest; `whole` once no later step widens it. The instruction is `running` until it has left
// with its last step; what has left, and `writes` there, writes until it retires, in order. Counts are modulo 64. run_* is the
// range of the one that runs, complete once `known`; drain_* that of those which have left, as long as one of them has not
// retired: `drained` says when they all have (vta_range).
`default_nettype none

module vta_span #(
    parameter integer A = 11
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         full,
    input  wire         able,
    input  wire         go,
    input  wire         valid,
    input  wire         first,
    input  wire         whole,
    input  wire         spare,
    input  wire [A-1:0] begins,
    input  wire [A-1:0] ends,
    input  wire [A-1:0] spare_begins,
    input  wire [A-1:0] spare_ends,
    input  wire         last,
    input  wire         writes,     // what leaves does
    input  wire         retire,
    output wire [5:0]   started,
    output wire [5:0]   retired,
    output wire         running,
    output wire         known,
    output wire         drained,
    output wire [A-1:0] run_first,
    output wire [A-1:0] run_last,
    output wire         drain_valid,
    output wire [A-1:0] drain_first,
    output wire [A-1:0] drain_last
);
    reg [5:0]   started_q;
    reg [5:0]   retired_q;
    reg         running_q;
    reg         known_q;

    wire [5:0] in_drain = started_q - retired_q - {5'd0, running_q};

    wire leave = able && go && last;
    wire enter, begun;
    vta_enter enter_any   (.full(full), .able(able), .go(go), .sure(valid), .may(1'b0), .wider(1'b0), .enters(enter));
    vta_enter enter_first (.full(full), .able(able), .go(go), .sure(valid && first), .may(1'b0), .wider(1'b0), .enters(begun));

    always @(posedge clk) begin
        if (rst) begin
            running_q <= 1'b0;
            known_q   <= 1'b0;
            started_q <= 6'd0;
            retired_q <= 6'd0;
        end else begin
            running_q <= begun || (running_q && !leave);
            if (enter) known_q <= whole || (!first && known_q);
            if (begun)  started_q <= started_q + 6'd1;
            if (retire) retired_q <= retired_q + 6'd1;
        end
    end

    vta_range #(.A(A)) range (
        .clk(clk), .rst(rst), .full(full), .able(able), .go(go), .valid(valid), .first(first), .spare(spare), .begins(begins), .ends(ends),
        .spare_begins(spare_begins), .spare_ends(spare_ends), .last(last && writes), .drained(drained), .run_first(run_first),
        .run_last(run_last), .drain_valid(drain_valid), .drain_first(drain_first), .drain_last(drain_last)
    );

    assign started = started_q;
    assign retired = retired_q;
    assign running = running_q;
    assign known   = known_q;
    assign drained = in_drain == {5'd0, retire};
endmodule

`default_nettype wire
