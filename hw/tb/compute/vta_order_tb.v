// SPDX-License-Identifier: Apache-2.0
//
// vta_order_tb -- who waits for whom, against lists: instructions have plain numbers here instead of numbers modulo 64, and
// ranges are gone through entry by entry. vta_guard and vta_load_guard are judged by themselves, then all of vta_order.
// +seed=N, +runs=N.
`default_nettype none

module vta_order_tb;
`include "random.vh"
    localparam integer U = 5, A = 4, I = 3, ENTRIES = 4;
    localparam integer ACC = 1 << A, UOP = 1 << U;

    // Two pipelines, 0 the array, 1 the ALU: the newest instruction that has begun, and what it and those behind it use.
    integer started [0:1], retired [0:1], fetched [0:1];
    reg     running [0:1], known [0:1], draining [0:1], fetching [0:1];
    reg [ACC-1:0] runs_on [0:1], drains [0:1];      // sets of ACC entries
    reg [UOP-1:0] fetches [0:1];

    // Ranges that the pipelines tell. A second range of what the ALU runs on, and one of its parameters, are its own.
    reg [A-1:0] run_first [0:3], run_last [0:3], drain_first [0:1], drain_last [0:1];
    reg [U-1:0] fetch_first [0:1], fetch_last [0:1];
    reg         pair;

    // INP: what the array's instruction reads and the ALU's writes there, and what behind that has still to be written.
    reg         inp_on [0:1], inp_draining;
    reg [I-1:0] inp_first [0:2], inp_last [0:2];
    reg         array_reads, alu_loops;
    reg [I-1:0] array_from, array_to, alu_inp;

    // Loads in work.
    integer              load_number [0:ENTRIES-1];
    reg [ENTRIES-1:0]    valid, uop;
    reg [ENTRIES-1:0]    valid_uop, array_older, alu_older;     // variables: Verilator 5.006 would work them out only once as expressions of a port
    reg [13*ENTRIES-1:0] first, last;

    // Askers: the array, the ALU, the next LOAD; and the nest that is to be issued.
    integer array_snap_alu, array_snap_load, alu_snap_array, alu_snap_load, load_snap_array, load_snap_alu;
    reg [A-1:0]  array_dst, alu_dst, alu_src;
    reg [U-1:0]  issue_first, issue_last;
    reg          load_uop, load_tab;
    reg [12:0]   load_first, load_last;
    wire         array_wait, alu_wait, load_wait;
    wire [ENTRIES-1:0] issue_hits;

    vta_order #(.U(U), .A(A), .I(I), .ENTRIES(ENTRIES)) dut (
        .array_run_reads(inp_on[0]), .array_inp_first(inp_first[0]), .array_inp_last(inp_last[0]),
        .alu_run_loops(inp_on[1]), .alu_inp_first(inp_first[1]), .alu_inp_last(inp_last[1]), .alu_inp_drain(inp_draining),
        .alu_inp_drain_first(inp_first[2]), .alu_inp_drain_last(inp_last[2]),
        .array_ask_reads(array_reads), .array_ask_first(array_from), .array_ask_last(array_to),
        .alu_ask_loops(alu_loops), .alu_ask_inp(alu_inp),
        .array_started(started[0][5:0]), .array_retired(retired[0][5:0]), .array_running(running[0]), .array_known(known[0]),
        .array_run_first(run_first[0]), .array_run_last(run_last[0]), .array_drain(draining[0]),
        .array_drain_first(drain_first[0]), .array_drain_last(drain_last[0]), .array_fetching(fetching[0]),
        .array_fetched(fetched[0][5:0]), .array_fetch_first(fetch_first[0]), .array_fetch_last(fetch_last[0]),
        .alu_started(started[1][5:0]), .alu_retired(retired[1][5:0]), .alu_running(running[1]), .alu_known(known[1]),
        .alu_dst_first(run_first[1]), .alu_dst_last(run_last[1]), .alu_src_first(run_first[2]), .alu_src_last(run_last[2]),
        .alu_pair(pair), .alu_pair_first(run_first[3]), .alu_pair_last(run_last[3]), .alu_drain(draining[1]),
        .alu_drain_first(drain_first[1]), .alu_drain_last(drain_last[1]), .alu_fetching(fetching[1]),
        .alu_fetched(fetched[1][5:0]), .alu_fetch_first(fetch_first[1]), .alu_fetch_last(fetch_last[1]),
        .table_uop(valid_uop), .table_first(first), .table_last(last),
        .issue_first(issue_first), .issue_last(issue_last), .issue_hits(issue_hits),
        .array_ask_alu(array_snap_alu[5:0]), .array_older(array_older), .array_ask_dst(array_dst), .array_wait(array_wait),
        .alu_ask_array(alu_snap_array[5:0]), .alu_older(alu_older), .alu_ask_dst(alu_dst), .alu_ask_src(alu_src),
        .alu_wait(alu_wait),
        .load_ask_array(load_snap_array[5:0]), .load_ask_alu(load_snap_alu[5:0]), .load_ask_uop(load_uop),
        .load_ask_tab(load_tab),
        .load_ask_first(load_first), .load_ask_last(load_last), .load_wait(load_wait)
    );

    wire guard_wait;
    wire [ENTRIES-1:0] load_guard_hits;
    reg  guard_run_hit, guard_drain_hit;
    vta_guard guard (
        .snap(alu_snap_array[5:0]), .started(started[0][5:0]), .retired(retired[0][5:0]), .running(running[0]),
        .known(known[0]), .run_hit(guard_run_hit), .drain_hit(guard_drain_hit), .must_wait(guard_wait)
    );
    vta_load_guard #(.ENTRIES(ENTRIES), .BITS(U)) load_guard (
        .asked(valid), .first(first), .last(last), .ask_first(issue_first), .ask_last(issue_last), .hits(load_guard_hits)
    );

    // The entries of a range.
    function [UOP-1:0] set(input integer from, input integer to);
        integer e;
        begin
            set = 0;
            for (e = from; e <= to; e = e + 1) set[e] = 1'b1;
        end
    endfunction

    // An access with `snap` older instructions in the other pipeline: is one of them in its way?
    function blocked(input integer other, input integer snap, input hits_run, input hits_drain);
        integer k;
        begin
            blocked = 1'b0;
            for (k = retired[other]; k < snap; k = k + 1) begin
                if (k >= started[other]) blocked = 1'b1;                                        // has not begun
                else if (k == started[other] - 1 && running[other] && (!known[other] || hits_run)) blocked = 1'b1;
                if (hits_drain) blocked = 1'b1;
            end
        end
    endfunction

    function meets_load(input integer k, input [UOP-1:0] entries);
        meets_load = valid[k] && (set(first[13*k +: 13], last[13*k +: 13]) & entries) != 0;
    endfunction

    function by_load(input integer snap, input [UOP-1:0] entries);
        integer k;
        begin
            by_load = 1'b0;
            for (k = 0; k < ENTRIES; k = k + 1)
                if (valid[k] && !uop[k] && load_number[k] < snap && (set(first[13*k +: 13], last[13*k +: 13]) & entries) != 0)
                    by_load = 1'b1;
        end
    endfunction

    // Micro-ops that an older nest still reads.
    function unread(input integer other, input integer snap, input [UOP-1:0] entries);
        unread = fetched[other] < snap || (fetched[other] == snap && fetching[other] && (fetches[other] & entries) != 0);
    endfunction

    integer p, k, a, b;
    task invent;
        begin
            for (p = 0; p < 2; p = p + 1) begin
                retired[p]  = range(64, 1000);
                started[p]  = retired[p] + range(0, 5);
                running[p]  = started[p] != retired[p] && chance(70);
                draining[p] = started[p] - running[p] != retired[p] && chance(80);
                known[p]    = chance(70);
                fetched[p]  = started[p] + range(0, 1);
                fetching[p] = chance(60);
                a = range(0, UOP - 1); b = range(a, UOP - 1);
                fetch_first[p] = a; fetch_last[p] = b;
                fetches[p] = set(a, b);
                a = range(0, ACC - 1); b = range(a, a + 4 < ACC ? a + 4 : ACC - 1);
                drain_first[p] = a; drain_last[p] = b;
                drains[p] = draining[p] ? set(a, b) : 0;
            end
            a = range(0, UOP - 1); b = range(a, UOP - 1);
            issue_first = a; issue_last = b;
            inp_on[0] = chance(50); inp_on[1] = chance(50);
            pair = chance(50);
            for (k = 0; k < 4; k = k + 1) begin
                a = range(0, ACC - 1); b = range(a, a + 3 < ACC ? a + 3 : ACC - 1);
                run_first[k] = a; run_last[k] = b;
            end
            runs_on[0] = set(run_first[0], run_last[0]);
            runs_on[1] = (inp_on[1] ? 0 : set(run_first[1], run_last[1])) | set(run_first[2], run_last[2]) | (pair ? set(run_first[3], run_last[3]) : 0);

            a = range(64, 1000);
            array_snap_load = a + range(-3, 6); alu_snap_load = a + range(-3, 6);
            for (k = 0; k < ENTRIES; k = k + 1) begin
                load_number[k] = a + k;
                valid[k] = chance(60);
                uop[k]   = chance(40);
                array_older[k] = valid[k] && !uop[k] && load_number[k] < array_snap_load;
                alu_older[k]   = valid[k] && !uop[k] && load_number[k] < alu_snap_load;
                first[13*k +: 13] = range(0, (uop[k] ? UOP : ACC) - 1);
                last[13*k +: 13]  = range(first[13*k +: 13], (uop[k] ? UOP : ACC) - 1);
            end
            valid_uop = valid & uop;
            array_snap_alu  = retired[1] + range(-4, 9); alu_snap_array = retired[0] + range(-4, 9);
            load_snap_array = retired[0] + range(-4, 9); load_snap_alu  = retired[1] + range(-4, 9);
            array_dst = range(0, ACC - 1); alu_dst = range(0, ACC - 1); alu_src = range(0, ACC - 1);
            load_uop = chance(40);
            load_tab = !load_uop && chance(20);
            load_first = range(0, (load_uop ? UOP : ACC) - 1);
            load_last  = range(load_first, (load_uop ? UOP : ACC) - 1);
            for (k = 0; k < 3; k = k + 1) begin
                a = range(0, (1 << I) - 1); b = range(a, (1 << I) - 1);
                inp_first[k] = a; inp_last[k] = b;
            end
            inp_draining = started[1] - running[1] != retired[1] && chance(50);
            array_reads = chance(50); alu_loops = chance(50);
            array_from = range(0, (1 << I) - 1); array_to = range(array_from, (1 << I) - 1);
            alu_inp = range(0, (1 << I) - 1);
            guard_run_hit = chance(50); guard_drain_hit = draining[0] && chance(50);
        end
    endtask

    integer waits;
    task expect_wait(input [8*16-1:0] who, input is, input should);
        begin
            if (is !== should) $fatal(1, "case %0d: %0s waits: %b instead of %b", n, who, is, should);
            waits = waits + should;
        end
    endtask

    // Do the entries of two ranges in INP meet?
    function inp_meet(input integer k, input integer from, input integer to);
        inp_meet = (set(inp_first[k], inp_last[k]) & set(from, to)) != 0;
    endfunction

    reg [ACC-1:0] touched;
    task judge;
        begin
            expect_wait("guard", guard_wait, blocked(0, alu_snap_array, guard_run_hit, guard_drain_hit));
            for (k = 0; k < ENTRIES; k = k + 1) begin
                expect_wait("load guard", load_guard_hits[k], meets_load(k, set(issue_first, issue_last)));
                expect_wait("nest", issue_hits[k], uop[k] && meets_load(k, set(issue_first, issue_last)));
            end
            touched = set(array_dst, array_dst);
            expect_wait("array", array_wait, blocked(1, array_snap_alu, (touched & runs_on[1]) != 0
                                                     || (array_reads && inp_on[1] && inp_meet(1, array_from, array_to)),
                                                     (touched & drains[1]) != 0
                                                     || (array_reads && inp_draining && inp_meet(2, array_from, array_to)))
                                             || by_load(array_snap_load, touched));
            touched = set(alu_dst, alu_dst) | set(alu_src, alu_src);
            expect_wait("ALU", alu_wait, blocked(0, alu_snap_array, (touched & runs_on[0]) != 0
                                                 || (alu_loops && inp_on[0] && inp_meet(0, alu_inp, alu_inp)), (touched & drains[0]) != 0)
                                         || by_load(alu_snap_load, touched));
            touched = set(load_first, load_last);
            if (load_uop) expect_wait("LOAD of UOP", load_wait, unread(0, load_snap_array, set(load_first, load_last))
                                                                || unread(1, load_snap_alu, set(load_first, load_last)));
            else if (load_tab) expect_wait("LOAD of TAB", load_wait, retired[1] < load_snap_alu);
            else expect_wait("LOAD of ACC", load_wait,
                             blocked(0, load_snap_array, (touched & runs_on[0]) != 0, (touched & drains[0]) != 0)
                             || blocked(1, load_snap_alu, (touched & runs_on[1]) != 0, (touched & drains[1]) != 0));
        end
    endtask

    integer n;
    initial begin
        begin_bench(5000);
        waits = 0;
        for (n = 0; n < runs; n = n + 1) begin
            invent;
            #1 judge;
        end
        $display("%0d waits in %0d", waits, (4 + 2*ENTRIES)*runs);
        if (waits < runs || waits > (3 + 2*ENTRIES)*runs) $fatal(1, "nearly all or nothing waits");
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
