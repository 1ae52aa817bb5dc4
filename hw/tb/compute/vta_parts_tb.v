// SPDX-License-Identifier: Apache-2.0
//
// vta_parts_tb -- the small parts of the compute unit: adders, selector, micro-op RAM, tables, what instructions
// write. +seed=N, +runs=N.
// parts: vta_add vta_enter
`default_nettype none

module vta_parts_tb;
`include "random.vh"

    // Trees of one, two and eight terms.
    reg  [143:0] terms;
    wire [17:0]  tree1;
    wire [18:0]  tree2;
    wire [21:0]  tree8;

    vta_sum_tree #(.LOG_INPUTS(0), .IN_BITS(18), .OUT_BITS(18)) total1 (.in(terms[17:0]), .sum(tree1));
    vta_sum_tree #(.LOG_INPUTS(1), .IN_BITS(18), .OUT_BITS(19)) total2 (.in(terms[35:0]), .sum(tree2));
    vta_sum_tree #(.LOG_INPUTS(3), .IN_BITS(18), .OUT_BITS(22)) total8 (.in(terms), .sum(tree8));

    integer want1, want2, want, i;
    task add;
        begin
            for (i = 0; i < 8; i = i + 1) terms[18*i +: 18] = chance(20) ? (chance(50) ? 18'h20000 : 18'h1ffff) : range(0, 262143);
            #1;
            want = 0;
            for (i = 0; i < 8; i = i + 1) begin
                want = want + $signed(terms[18*i +: 18]);
                if (i == 0) want1 = want;
                if (i == 1) want2 = want;
            end
            if ($signed(tree1) !== want1 || $signed(tree2) !== want2 || $signed(tree8) !== want)
                $fatal(1, "%h adds up to %0d, %0d, %0d", terms, $signed(tree1), $signed(tree2), $signed(tree8));
        end
    endtask

    // One of four, two, one.
    reg          en;
    reg  [1:0]   which;
    reg  [47:0]  words;
    wire [11:0]  of4, of2, of1;

    vta_select #(.WIDTH(12), .INPUTS(4)) select4 (.en(en), .in(words), .index(which), .out(of4));
    vta_select #(.WIDTH(12), .INPUTS(2)) select2 (.en(en), .in(words[23:0]), .index({1'b0, which[0]}), .out(of2));
    vta_select #(.WIDTH(12), .INPUTS(1)) select1 (.en(en), .in(words[11:0]), .index(2'd0), .out(of1));

    task choose;
        begin
            words = {range(0, 65535), range(0, 65535), range(0, 65535)};
            which = range(0, 3);
            en    = 1'b1;
            #1;
            if (of4 !== words[12*which +: 12] || of2 !== words[12*which[0] +: 12] || of1 !== words[11:0])
                $fatal(1, "word %0d of %h: %h %h %h", which, words, of4, of2, of1);
        end
    endtask

    // The RAM: what was read last stands until the next read, also while the port writes.
    localparam integer LOG_DEPTH = 4;
    reg                  a_wr = 0, a_rd = 0, b_rd = 0;
    reg  [LOG_DEPTH-1:0] a_addr = 0, b_addr = 0;
    reg  [31:0]          a_wr_data;
    wire [31:0]          a_data, b_data;
    reg  [31:0]          copy [0:(1<<LOG_DEPTH)-1], a_want, b_want;

    vta_uop_ram #(.LOG_DEPTH(LOG_DEPTH)) ram (
        .clk(clk), .a_wr(a_wr), .a_rd(a_rd), .a_addr(a_addr), .a_wr_data(a_wr_data), .a_rd_data(a_data),
        .b_rd(b_rd), .b_addr(b_addr), .b_rd_data(b_data)
    );

    task access;
        begin
            a_wr = n < (1 << LOG_DEPTH) || chance(40);
            a_rd = !a_wr && chance(70);
            b_rd = n >= (1 << LOG_DEPTH) && chance(70);
            a_addr = n < (1 << LOG_DEPTH) ? n : range(0, 15);
            b_addr = range(0, 15);
            a_wr_data = {range(0, 65535), 16'd0} | range(0, 65535);
            if (a_wr && b_addr == a_addr) b_rd = 1'b0;      // not defined
            if (a_rd) a_want = copy[a_addr];
            if (b_rd) b_want = copy[b_addr];
            if (a_wr) copy[a_addr] = a_wr_data;
            @(negedge clk);
            if (a_data !== a_want || b_data !== b_want) $fatal(1, "RAM: %h %h instead of %h %h", a_data, b_data, a_want, b_want);
        end
    endtask

    // A table: words written, pairs of entries read, which stand until the next read.
    localparam integer W = 3;
    reg            t_wr = 0, t_rd = 0;
    reg  [W-1:0]   t_addr = 0;
    reg  [31:0]    t_word = 0;
    reg  [2*W+3:0] t_index = 0;
    wire [15:0]    t_data;
    reg  [7:0]     entries [0:(4<<W)-1];
    reg  [15:0]    t_want;

    vta_table #(.LOG_WORDS(W)) lookup (
        .clk(clk), .wr_en(t_wr), .wr_addr(t_addr), .wr_data(t_word), .rd_en(t_rd), .rd_index(t_index), .rd_data(t_data)
    );

    task look;
        begin
            t_wr    = n < (1 << W) || chance(30);
            t_rd    = !t_wr && chance(70);
            t_addr  = n < (1 << W) ? n : range(0, (1 << W) - 1);
            t_word  = {range(0, 65535), 16'd0} | range(0, 65535);
            t_index = range(0, (1 << (2*W + 4)) - 1);
            if (t_rd) t_want = {entries[t_index[2*W+3 -: W+2]], entries[t_index[W+1:0]]};
            if (t_wr) for (i = 0; i < 4; i = i + 1) entries[4*t_addr + i] = t_word[8*i +: 8];
            @(negedge clk);
            {t_wr, t_rd} = 2'd0;
            if (t_data !== t_want) $fatal(1, "tables: entries %h give %h instead of %h", t_index, t_data, t_want);
        end
    endtask

    // Instructions with plain numbers, and sets of entries instead of ranges. The drain begins anew when it is empty.
    localparam integer A = 4;
    reg          enter = 0, full = 0, go = 0, valid = 0, first = 0, whole = 0, leave = 0, last = 0, writes = 0, retire = 0;
    reg          spare = 0, able = 0;
    reg  [A-1:0] begins = 0, ends = 0, junk_begins = 0, junk_ends = 0;
    wire [5:0]   started, retired;
    wire         running, known, drain_valid;
    wire [A-1:0] run_first, run_last, drain_first, drain_last;
    // A result that does not go there goes elsewhere, which has a range of its own.
    wire         drained, other_valid;
    wire [A-1:0] other_run_first, other_run_last, other_first, other_last;

    vta_range #(.A(A)) other (
        .clk(clk), .rst(rst), .full(full), .able(able), .go(go), .valid(valid), .first(first),
        .spare(spare), .begins(spare ? junk_begins : begins), .ends(spare ? junk_ends : ends),
        .spare_begins(spare ? begins : junk_begins), .spare_ends(spare ? ends : junk_ends),
        .last(last && !writes), .drained(drained), .run_first(other_run_first), .run_last(other_run_last), .drain_valid(other_valid),
        .drain_first(other_first), .drain_last(other_last)
    );

    vta_span #(.A(A)) span (
        .clk(clk), .rst(rst), .full(full), .able(able), .go(go), .valid(valid), .first(first), .whole(whole),
        .spare(spare), .begins(spare ? junk_begins : begins), .ends(spare ? junk_ends : ends),
        .spare_begins(spare ? begins : junk_begins), .spare_ends(spare ? ends : junk_ends),
        .last(last), .writes(writes), .retire(retire), .started(started), .retired(retired), .running(running), .known(known), .drained(drained), .run_first(run_first),
        .run_last(run_last), .drain_valid(drain_valid), .drain_first(drain_first), .drain_last(drain_last)
    );

    integer           begun = 0, left = 0, over = 0;        // instructions
    reg               complete = 0;
    reg  [(1<<A)-1:0] on = 0, behind = 0, elsewhere = 0, given;
    reg               writing = 0, writing_elsewhere = 0, emptied;

    // The ends of a set.
    function [2*A-1:0] hull(input [(1<<A)-1:0] set);
        integer k;
        begin
            hull = {{A{1'b1}}, {A{1'b0}}};
            for (k = 0; k < 1 << A; k = k + 1) if (set[k] && k > hull[A-1:0]) hull[A-1:0] = k;
            for (k = (1 << A) - 1; k >= 0; k = k - 1) if (set[k]) hull[2*A-1:A] = k;
        end
    endfunction

    // An instruction may begin in the cycle in which the one before leaves.
    task pass;
        begin
            leave  = begun > left && chance(40);
            writes = chance(70);
            retire = left > over && chance(30);
            first  = begun - left - leave == 0;
            enter  = chance(70) && begun - over < 30;
            // Of the three, anything that comes to this.
            full   = chance(60);
            go     = leave || chance(50);
            valid  = chance(60);
            if (enter) {valid, go} = {1'b1, go || full};
            else if (leave) valid = 1'b0;
            else if (valid) {full, go} = 2'b10;
            // An instruction stays alike where it is able and does not go, and where it would go and is not able.
            able   = go || chance(50);
            if (!go && !able) go = chance(50);
            last   = leave || (!(able && go) && chance(50));
            whole  = chance(30);
            begins = range(0, 15);
            ends   = range(begins, 15);
            spare  = chance(50);
            junk_begins = range(0, 15);
            junk_ends   = range(0, 15);
            given  = 0;
            for (i = begins; i <= ends; i = i + 1) given[i] = 1'b1;
            @(negedge clk);
            emptied = left - over == retire;
            if (!writing) behind = 0;
            if (!writing_elsewhere) elsewhere = 0;
            if (leave && writes)  behind = behind | on;
            if (leave && !writes) elsewhere = elsewhere | on;
            writing           = (leave && writes) || (writing && !emptied);
            writing_elsewhere = (leave && !writes) || (writing_elsewhere && !emptied);
            left = left + leave;
            over = over + retire;
            if (enter) begin
                on       = first ? given : on | given;
                complete = whole || (!first && complete);
                begun    = begun + first;
            end
            if (started !== begun[5:0] || retired !== over[5:0] || running !== (begun > left) || drain_valid !== writing || other_valid !== writing_elsewhere)
                $fatal(1, "%0d begun, %0d left, %0d retired: %0d, %0d, %b, %b", begun, left, over, started, retired, running, drain_valid);
            if (begun > left && (known !== complete || {run_first, run_last} !== hull(on)))
                $fatal(1, "instruction %0d is on %b: %0d to %0d, %b", begun, on, run_first, run_last, known);
            if (begun > left && {other_run_first, other_run_last} !== hull(on)) $fatal(1, "on %b elsewhere: %0d to %0d", on, other_run_first, other_run_last);
            if (writing_elsewhere && {other_first, other_last} !== hull(elsewhere))
                $fatal(1, "those before %0d are on %b elsewhere: %0d to %0d", left, elsewhere, other_first, other_last);
            if (writing && {drain_first, drain_last} !== hull(behind))
                $fatal(1, "those before %0d are on %b: %0d to %0d", left, behind, drain_first, drain_last);
            {enter, valid, last, leave, retire} = 5'd0;
        end
    endtask

    integer n;
    initial begin
        begin_bench(3000);
        reset;
        {a_want, b_want} = {64{1'bx}};
        t_want = {16{1'bx}};
        @(negedge clk);
        for (n = 0; n < runs; n = n + 1) begin
            add;
            choose;
            access;
            look;
            pass;
        end
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
