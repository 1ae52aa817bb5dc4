// SPDX-License-Identifier: Apache-2.0
//
// vta_order -- who must wait for whom: what the three pipelines of the compute unit tell each other.
//
// Contract: combinational. *_wait: the step in s0 of the array or the ALU, or the LOAD that is next to be handed to the
// engine, may still meet an older instruction of another pipeline in ACC, in UOP, or, as the array reads there what the ALU
// has written, in INP. What the array has let go from s0 reads INP before the ALU can write there. *_older: which LOADs in the table are
// older than that step and write ACC. issue_hits: which LOADs in work write micro-ops of the instruction that is to be issued.
// Snapshots and numbers: see vta_guard.
`default_nettype none

module vta_order #(
    parameter integer U       = 13,
    parameter integer A       = 11,
    parameter integer I       = 11,
    parameter integer ENTRIES = 4
) (
    input  wire [5:0]   array_started,
    input  wire [5:0]   array_retired,
    input  wire         array_running,
    input  wire         array_known,
    input  wire [A-1:0] array_run_first,
    input  wire [A-1:0] array_run_last,
    input  wire         array_drain,
    input  wire [A-1:0] array_drain_first,
    input  wire [A-1:0] array_drain_last,
    input  wire         array_run_reads,    // INP, entries first … last
    input  wire [I-1:0] array_inp_first,
    input  wire [I-1:0] array_inp_last,
    input  wire         array_fetching,
    input  wire [5:0]   array_fetched,
    input  wire [U-1:0] array_fetch_first,
    input  wire [U-1:0] array_fetch_last,

    input  wire [5:0]   alu_started,
    input  wire [5:0]   alu_retired,
    input  wire         alu_running,
    input  wire         alu_known,
    input  wire [A-1:0] alu_dst_first,
    input  wire [A-1:0] alu_dst_last,
    input  wire [A-1:0] alu_src_first,
    input  wire [A-1:0] alu_src_last,
    input  wire         alu_pair,
    input  wire [A-1:0] alu_pair_first,
    input  wire [A-1:0] alu_pair_last,
    input  wire         alu_drain,
    input  wire [A-1:0] alu_drain_first,
    input  wire [A-1:0] alu_drain_last,
    input  wire         alu_run_loops,      // it writes INP, entries first … last, and nothing in ACC
    input  wire [I-1:0] alu_inp_first,
    input  wire [I-1:0] alu_inp_last,
    input  wire         alu_inp_drain,
    input  wire [I-1:0] alu_inp_drain_first,
    input  wire [I-1:0] alu_inp_drain_last,
    input  wire         alu_fetching,
    input  wire [5:0]   alu_fetched,
    input  wire [U-1:0] alu_fetch_first,
    input  wire [U-1:0] alu_fetch_last,

    input  wire [ENTRIES-1:0]    table_uop,     // loads of micro-ops in work
    input  wire [13*ENTRIES-1:0] table_first,
    input  wire [13*ENTRIES-1:0] table_last,

    input  wire [U-1:0]          issue_first,
    input  wire [U-1:0]          issue_last,
    output wire [ENTRIES-1:0]    issue_hits,

    input  wire [5:0]   array_ask_alu,
    input  wire [ENTRIES-1:0] array_older,
    input  wire [A-1:0] array_ask_dst,
    input  wire         array_ask_reads,    // INP, entries first … last
    input  wire [I-1:0] array_ask_first,
    input  wire [I-1:0] array_ask_last,
    output wire         array_wait,

    input  wire [5:0]   alu_ask_array,
    input  wire [ENTRIES-1:0] alu_older,
    input  wire [A-1:0] alu_ask_dst,
    input  wire [A-1:0] alu_ask_src,
    input  wire         alu_ask_loops,      // it writes INP, this entry
    input  wire [I-1:0] alu_ask_inp,
    output wire         alu_wait,

    input  wire [5:0]   load_ask_array,
    input  wire [5:0]   load_ask_alu,
    input  wire         load_ask_uop,
    input  wire         load_ask_tab,
    input  wire [12:0]  load_ask_first,
    input  wire [12:0]  load_ask_last,
    output wire         load_wait
);
    // Do the ranges first … last of a and b meet?
    function meets(input [A-1:0] a_first, input [A-1:0] a_last, input [A-1:0] b_first, input [A-1:0] b_last);
        meets = a_first <= b_last && a_last >= b_first;
    endfunction

    function meets_inp(input [I-1:0] a_first, input [I-1:0] a_last, input [I-1:0] b_first, input [I-1:0] b_last);
        meets_inp = a_first <= b_last && a_last >= b_first;
    endfunction

    function meets_uop(input [12:0] a_first, input [12:0] a_last, input [12:0] b_first, input [12:0] b_last);
        meets_uop = a_first <= b_last && a_last >= b_first;
    endfunction

    vta_load_guard #(.ENTRIES(ENTRIES), .BITS(U)) issue (
        .asked(table_uop), .first(table_first), .last(table_last), .ask_first(issue_first), .ask_last(issue_last),
        .hits(issue_hits)
    );

    // The array's step against the ALU and the loads.
    wire array_hit = (!alu_run_loops && meets(array_ask_dst, array_ask_dst, alu_dst_first, alu_dst_last))
                  || meets(array_ask_dst, array_ask_dst, alu_src_first, alu_src_last)
                  || (alu_pair && meets(array_ask_dst, array_ask_dst, alu_pair_first, alu_pair_last));
    wire array_drain_hit = alu_drain && meets(array_ask_dst, array_ask_dst, alu_drain_first, alu_drain_last);
    wire array_inp_hit = array_ask_reads && alu_run_loops
                      && meets_inp(array_ask_first, array_ask_last, alu_inp_first, alu_inp_last);
    wire array_inp_drain_hit = array_ask_reads && alu_inp_drain
                      && meets_inp(array_ask_first, array_ask_last, alu_inp_drain_first, alu_inp_drain_last);
    wire array_alu_wait;
    wire [ENTRIES-1:0] array_load_hits;

    vta_guard array_alu (
        .snap(array_ask_alu), .started(alu_started), .retired(alu_retired), .running(alu_running), .known(alu_known),
        .run_hit(array_hit || array_inp_hit), .drain_hit(array_drain_hit || array_inp_drain_hit), .must_wait(array_alu_wait)
    );
    vta_load_guard #(.ENTRIES(ENTRIES), .BITS(A)) array_load (
        .asked(array_older), .first(table_first), .last(table_last), .ask_first(array_ask_dst), .ask_last(array_ask_dst),
        .hits(array_load_hits)
    );
    assign array_wait = array_alu_wait || array_load_hits != {ENTRIES{1'b0}};

    // The ALU's step against the array and the loads.
    wire alu_hit = meets(alu_ask_dst, alu_ask_dst, array_run_first, array_run_last)
                || meets(alu_ask_src, alu_ask_src, array_run_first, array_run_last);
    wire alu_drain_hit = array_drain && (meets(alu_ask_dst, alu_ask_dst, array_drain_first, array_drain_last)
                                         || meets(alu_ask_src, alu_ask_src, array_drain_first, array_drain_last));
    wire alu_inp_hit = alu_ask_loops && array_run_reads
                    && meets_inp(alu_ask_inp, alu_ask_inp, array_inp_first, array_inp_last);
    wire alu_array_wait;
    wire [ENTRIES-1:0] alu_dst_hits, alu_src_hits;

    vta_guard alu_array (
        .snap(alu_ask_array), .started(array_started), .retired(array_retired), .running(array_running),
        .known(array_known), .run_hit(alu_hit || alu_inp_hit), .drain_hit(alu_drain_hit), .must_wait(alu_array_wait)
    );
    vta_load_guard #(.ENTRIES(ENTRIES), .BITS(A)) alu_dst (
        .asked(alu_older), .first(table_first), .last(table_last), .ask_first(alu_ask_dst), .ask_last(alu_ask_dst),
        .hits(alu_dst_hits)
    );
    vta_load_guard #(.ENTRIES(ENTRIES), .BITS(A)) alu_src (
        .asked(alu_older), .first(table_first), .last(table_last), .ask_first(alu_ask_src), .ask_last(alu_ask_src),
        .hits(alu_src_hits)
    );
    assign alu_wait = alu_array_wait || (alu_dst_hits | alu_src_hits) != {ENTRIES{1'b0}};

    // The next LOAD into ACC against both.
    wire [A-1:0] load_first = load_ask_first[A-1:0];
    wire [A-1:0] load_last  = load_ask_last[A-1:0];
    wire load_array_hit   = meets(load_first, load_last, array_run_first, array_run_last);
    wire load_array_drain = array_drain && meets(load_first, load_last, array_drain_first, array_drain_last);
    wire load_alu_hit     = (!alu_run_loops && meets(load_first, load_last, alu_dst_first, alu_dst_last))
                         || meets(load_first, load_last, alu_src_first, alu_src_last)
                         || (alu_pair && meets(load_first, load_last, alu_pair_first, alu_pair_last));
    wire load_alu_drain   = alu_drain && meets(load_first, load_last, alu_drain_first, alu_drain_last);
    wire load_array_wait, load_alu_wait;

    vta_guard load_array (
        .snap(load_ask_array), .started(array_started), .retired(array_retired), .running(array_running),
        .known(array_known), .run_hit(load_array_hit), .drain_hit(load_array_drain), .must_wait(load_array_wait)
    );
    vta_guard load_alu (
        .snap(load_ask_alu), .started(alu_started), .retired(alu_retired), .running(alu_running), .known(alu_known),
        .run_hit(load_alu_hit), .drain_hit(load_alu_drain), .must_wait(load_alu_wait)
    );

    // The next LOAD into UOP: older instructions have been fetched, or at least use other micro-ops.
    wire array_uop_hit = meets_uop(load_ask_first, load_ask_last, {{(13-U){1'b0}}, array_fetch_first},
                                   {{(13-U){1'b0}}, array_fetch_last});
    wire alu_uop_hit   = meets_uop(load_ask_first, load_ask_last, {{(13-U){1'b0}}, alu_fetch_first},
                                   {{(13-U){1'b0}}, alu_fetch_last});
    wire [5:0] array_unfetched = load_ask_array - array_fetched;
    wire [5:0] alu_unfetched   = load_ask_alu - alu_fetched;
    wire uop_array_wait = !array_unfetched[5] && (array_unfetched != 6'd0 || (array_fetching && array_uop_hit));
    wire uop_alu_wait   = !alu_unfetched[5] && (alu_unfetched != 6'd0 || (alu_fetching && alu_uop_hit));

    // The next LOAD of tables: all that is older in the ALU has retired.
    wire [5:0] alu_unretired = load_ask_alu - alu_retired;
    wire       tab_wait      = !alu_unretired[5] && alu_unretired != 6'd0;

    assign load_wait = load_ask_uop ? uop_array_wait || uop_alu_wait
                     : load_ask_tab ? tab_wait : load_array_wait || load_alu_wait;
endmodule

`default_nettype wire
