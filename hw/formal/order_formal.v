// SPDX-License-Identifier: Apache-2.0
//
// order_formal -- vta_order, vta_span and vta_range against a scoreboard: an access that need not wait meets nothing that an older
// instruction of another pipeline may still write, or read before the access writes it. The array's instructions may read INP, the
// ALU's write there instead of ACC; those of the ALU read operands and records of parameters elsewhere in ACC. Two LOADs are in work,
// and the next one may be into ACC or of micro-ops, which both pipelines fetch.
// Two pipelines take instructions in order, with steps on any ranges of
// eight entries, gaps, and any delay to retirement; accesses of both, and of a LOAD, come with any snapshot and entry. One
// instruction of each pipeline and one entry, any, are followed: whether it has been fetched, has begun, may still widen its range,
// touches the entry, has retired. The numbers begin anywhere modulo 64.
// Why 10 cycles are enough: the modules know the instruction that runs, and of all that have left one range; two that have left and one
// that runs, with two steps each and one of them retired, are every kind of state that they have, and a cycle takes an issue, a fetch, a
// step, a leaving and a retirement of each pipeline at once, so that this takes eight cycles from reset.
// prove: 10
`default_nettype none

// One pipeline: what its environment may do, and what is true of instruction `which` and entry `at`.
module order_pipe_formal (
    input  wire       clk,
    input  wire       rst,
    input  wire       issue,
    input  wire       enter,
    input  wire       whole,
    input  wire [2:0] begins,
    input  wire [2:0] ends,
    input  wire       leave,
    input  wire       retire,
    input  wire       uses,         // of INP: what begins does
    input  wire       fetch,        // the next one begins to be fetched
    input  wire       fetch_ends,
    input  wire [2:0] fetch_first,  // its micro-ops
    input  wire [2:0] fetch_last,
    input  wire       record,       // what begins has a record of parameters
    input  wire [2:0] record_first,
    input  wire [2:0] record_last,
    input  wire [2:0] reads,        // operands of a step, elsewhere
    input  wire [2:0] reads_last,
    input  wire [3:0] which,
    input  wire [2:0] at,
    output wire [3:0] issued,       // plain numbers
    output wire       pending,      // instruction `which` may still touch entry `at`
    output wire       behind,       // it has left and not retired
    output wire       begun,        // it has begun
    output wire       away,         // it has left
    output reg        inp,          // it uses INP
    output reg        inp_now,      // the one that runs does
    output wire       first,
    output reg        known,
    output wire [3:0] fetched,      // plain number of those whose fetch has begun
    output reg        fetching,
    output reg  [2:0] now_first,    // micro-ops of the one that is fetched
    output reg  [2:0] now_last,
    output wire       unfetched,    // it may still fetch micro-op `at`
    output reg        pair,         // of the one that runs
    output reg  [2:0] pair_first,
    output reg  [2:0] pair_last,
    output wire       unread        // it may still read entry `at` as an operand or of a record
);
    reg [3:0] issued_n, begun_n, left_n, over_n;
    reg       touched, complete;
    reg [7:0] range;                // entries of the instruction that runs
    reg [3:0] fetched_n;
    reg       fetch_at;             // the one that is fetched uses micro-op `at`
    reg       read_at, record_at;   // instruction `which` reads entry `at`
    reg [7:0] sources;              // what the one that runs reads
    wire      running = begun_n != left_n;
    integer   n;

    assign first = !running || leave;

    // The rules that the array and the ALU keep.
    always @* begin
        assume (!enter || begins <= ends);
        assume (!(enter && first) || begun_n < issued_n);
        assume (!leave || (running && known));
        assume (!retire || left_n != over_n);
        assume (!fetch || (fetched_n < issued_n && (!fetching || fetch_ends) && fetch_first <= fetch_last));
        assume (!(enter && first) || begun_n < fetched_n);
        assume (!record || record_first <= record_last);
        assume (!enter || reads <= reads_last);
        assume (issued_n != 4'd15);
        if (enter && !first && known) for (n = 0; n < 8; n = n + 1) assume (n < reads || n > reads_last || sources[n]);
        if (enter && !first && known) for (n = 0; n < 8; n = n + 1) assume (n < begins || n > ends || range[n]);
    end

    reg [7:0] hull;
    reg [7:0] given;
    reg [7:0] hull_read, given_read;
    always @* begin
        for (n = 0; n < 8; n = n + 1) given_read[n] = reads <= n && n <= reads_last;
        hull_read = first ? given_read : sources | given_read;
        for (n = 1; n < 8; n = n + 1)
            hull_read[n] = hull_read[n] || (|(hull_read & ((8'd1 << n) - 8'd1)) && |((first ? given_read : sources | given_read) >> n));
        for (n = 0; n < 8; n = n + 1) given[n] = begins <= n && n <= ends;
        // Ranges are what is compared: all between the least and the greatest entry.
        hull = first ? given : range | given;
        for (n = 1; n < 8; n = n + 1) hull[n] = hull[n] || (|(hull & ((8'd1 << n) - 8'd1)) && |((first ? given : range | given) >> n));
    end

    always @(posedge clk) begin
        if (rst) begin
            {issued_n, begun_n, left_n, over_n} <= 16'd0;
            {touched, complete, known, inp, inp_now} <= 5'd0;
            {fetched_n, fetching, fetch_at, read_at, record_at, pair} <= 9'd0;
        end else begin
            fetched_n <= fetched_n + {3'd0, fetch};
            fetching  <= fetch || (fetching && !fetch_ends);
            if (fetch) begin
                now_first <= fetch_first;
                now_last  <= fetch_last;
                fetch_at  <= fetch_first <= at && at <= fetch_last;
            end
            if (enter && first) begin
                pair       <= record;
                pair_first <= record_first;
                pair_last  <= record_last;
                if (begun_n == which) record_at <= record && record_first <= at && at <= record_last;
            end
            if (enter) sources <= hull_read;
            if (enter && (first ? begun_n : begun_n - 4'd1) == which) read_at <= (!(first && begun_n == which) && read_at) || given_read[at];
            issued_n <= issued_n + {3'd0, issue};
            begun_n  <= begun_n + {3'd0, enter && first};
            left_n   <= left_n + {3'd0, leave};
            over_n   <= over_n + {3'd0, retire};
            if (enter) begin
                known <= whole || (!first && known);
                range <= hull;
                if (first) inp_now <= uses;
                if (first && begun_n == which) inp <= uses;
                if ((first ? begun_n : begun_n - 4'd1) == which) begin
                    complete <= complete || whole;
                    touched  <= touched || given[at];
                end
            end
        end
    end

    assign fetched   = fetched_n;
    assign unfetched = fetched_n <= which || (fetched_n - 4'd1 == which && fetching && fetch_at);
    assign unread    = left_n <= which && (begun_n <= which || !complete || read_at || record_at);
    assign issued  = issued_n;
    assign pending = over_n <= which && (begun_n <= which || !complete || touched);
    assign begun   = begun_n > which;
    assign away    = left_n > which;
    assign behind  = left_n > which && over_n <= which && touched;
endmodule

module order_formal (
    input wire        clk,
    input wire [1:0]  issue, enter, whole, leave, retire, uses,
    input wire [2:0]  begins0, begins1, ends0, ends1,
    input wire [3:0]  array_snap, alu_snap, load_snap0, load_snap1,
    input wire [1:0]  fetch, fetch_ends,
    input wire [2:0]  fetch_first0, fetch_last0, fetch_first1, fetch_last1, record_first, record_last, reads, reads_last,
    input wire        record, load_uop,
    input wire [1:0]  array_older, alu_older,
    input wire [2:0]  table_first0, table_last0, table_first1, table_last1,
    input wire        array_reads, alu_loops,
    input wire [2:0]  array_dst, array_first, array_last, alu_dst, alu_src, alu_inp, load_first, load_last
);
    reg rst = 1'b1;
    always @(posedge clk) rst <= 1'b0;

    (* anyconst *) reg [3:0] which0, which1;
    (* anyconst *) reg [2:0] at;
    (* anyconst *) reg [5:0] origin0, origin1;

    wire [3:0] issued0, issued1;
    wire       pending0, pending1, behind0, behind1, first0, first1, unused0, unused1;
    wire       begun0, begun1, away0, unused_away1, inp0, inp1, now0, now1;
    wire [3:0] fetched0, fetched1;
    wire       fetching0, fetching1, unfetched0, unfetched1, pair, no_pair, unread0, unread1;
    wire [2:0] now_first0, now_last0, now_first1, now_last1, pair_first, pair_last, no_first, no_last, src_first, src_last;

    order_pipe_formal pipe0 (
        .clk(clk), .rst(rst), .issue(issue[0]), .enter(enter[0]), .whole(whole[0]), .begins(begins0), .ends(ends0),
        .leave(leave[0]), .retire(retire[0]), .uses(uses[0]), .which(which0), .at(at), .issued(issued0), .pending(pending0),
        .behind(behind0), .begun(begun0), .away(away0), .inp(inp0), .inp_now(now0), .first(first0), .known(unused0),
        .fetch(fetch[0]), .fetch_ends(fetch_ends[0]), .fetch_first(fetch_first0), .fetch_last(fetch_last0), .record(1'b0),
        .record_first(3'd0), .record_last(3'd0), .reads(begins0), .reads_last(ends0), .fetched(fetched0), .fetching(fetching0),
        .now_first(now_first0), .now_last(now_last0), .unfetched(unfetched0), .pair(no_pair), .pair_first(no_first), .pair_last(no_last),
        .unread(unread0)
    );
    order_pipe_formal pipe1 (
        .clk(clk), .rst(rst), .issue(issue[1]), .enter(enter[1]), .whole(whole[1]), .begins(begins1), .ends(ends1),
        .leave(leave[1]), .retire(retire[1]), .uses(uses[1]), .which(which1), .at(at), .issued(issued1), .pending(pending1),
        .behind(behind1), .begun(begun1), .away(unused_away1), .inp(inp1), .inp_now(now1), .first(first1), .known(unused1),
        .fetch(fetch[1]), .fetch_ends(fetch_ends[1]), .fetch_first(fetch_first1), .fetch_last(fetch_last1), .record(record),
        .record_first(record_first), .record_last(record_last), .reads(reads), .reads_last(reads_last), .fetched(fetched1),
        .fetching(fetching1), .now_first(now_first1), .now_last(now_last1), .unfetched(unfetched1), .pair(pair), .pair_first(pair_first),
        .pair_last(pair_last), .unread(unread1)
    );

    wire [5:0] started0, started1, retired0, retired1;
    wire       running0, running1, known0, known1, drain0, drain1;
    wire [2:0] run_first0, run_last0, drain_first0, drain_last0, run_first1, run_last1, drain_first1, drain_last1;

    vta_span #(.A(3)) span0 (
        .clk(clk), .rst(rst), .full(1'b1), .able(1'b1), .go(enter[0] || leave[0]), .valid(enter[0]), .first(first0), .whole(whole[0]),
        .spare(1'b0), .begins(begins0), .ends(ends0), .spare_begins(3'd0), .spare_ends(3'd0),
        .last(leave[0]), .writes(1'b1), .retire(retire[0]), .started(started0), .retired(retired0), .running(running0),
        .known(known0), .drained(drained0),
        .run_first(run_first0), .run_last(run_last0), .drain_valid(drain0), .drain_first(drain_first0),
        .drain_last(drain_last0)
    );
    vta_span #(.A(3)) span1 (
        .clk(clk), .rst(rst), .full(1'b1), .able(1'b1), .go(enter[1] || leave[1]), .valid(enter[1]), .first(first1), .whole(whole[1]),
        .spare(1'b0), .begins(begins1), .ends(ends1), .spare_begins(3'd0), .spare_ends(3'd0),
        .last(leave[1]), .writes(!now1), .retire(retire[1]), .started(started1), .retired(retired1), .running(running1),
        .known(known1), .drained(drained1),
        .run_first(run_first1), .run_last(run_last1), .drain_valid(drain1), .drain_first(drain_first1),
        .drain_last(drain_last1)
    );

    // In INP the same ranges as in ACC.
    wire       drained0, drained1, inp_drain;
    wire [2:0] inp_first0, inp_last0, inp_first1, inp_last1, inp_drain_first, inp_drain_last;
    vta_range #(.A(3)) reads0 (
        .clk(clk), .rst(rst), .full(1'b1), .able(1'b1), .go(enter[0] || leave[0]), .valid(enter[0]), .first(first0),
        .spare(1'b0), .begins(begins0), .ends(ends0), .spare_begins(3'd0), .spare_ends(3'd0), .last(1'b0), .drained(1'b1),
        .run_first(inp_first0), .run_last(inp_last0)
    );
    vta_range #(.A(3)) loops1 (
        .clk(clk), .rst(rst), .full(1'b1), .able(1'b1), .go(enter[1] || leave[1]), .valid(enter[1]), .first(first1),
        .spare(1'b0), .begins(begins1), .ends(ends1), .spare_begins(3'd0), .spare_ends(3'd0), .last(leave[1] && now1),
        .drained(drained1), .run_first(inp_first1), .run_last(inp_last1), .drain_valid(inp_drain),
        .drain_first(inp_drain_first), .drain_last(inp_drain_last)
    );

    // Operands of the ALU elsewhere: a range as vta_alu makes it, of the first step and those that follow.
    vta_range #(.A(3)) sources1 (
        .clk(clk), .rst(rst), .full(1'b1), .able(1'b1), .go(enter[1] || leave[1]), .valid(enter[1]), .first(first1),
        .spare(1'b0), .begins(reads), .ends(reads_last), .spare_begins(3'd0), .spare_ends(3'd0), .last(1'b0), .drained(1'b1),
        .run_first(src_first), .run_last(src_last)
    );

    wire array_wait, alu_wait, load_wait;
    wire [1:0] unused_hits;
    wire [25:0] table_first = {10'd0, table_first1, 10'd0, table_first0};
    wire [25:0] table_last  = {10'd0, table_last1, 10'd0, table_last0};

    // Two LOADs are in work.
    vta_order #(.U(3), .A(3), .I(3), .ENTRIES(2)) dut (
        .array_run_reads(now0), .array_inp_first(inp_first0), .array_inp_last(inp_last0),
        .alu_run_loops(now1), .alu_inp_first(inp_first1), .alu_inp_last(inp_last1), .alu_inp_drain(inp_drain),
        .alu_inp_drain_first(inp_drain_first), .alu_inp_drain_last(inp_drain_last),
        .array_ask_reads(array_reads), .array_ask_first(array_first), .array_ask_last(array_last),
        .alu_ask_loops(alu_loops), .alu_ask_inp(alu_inp),
        .array_started(started0 + origin0), .array_retired(retired0 + origin0), .array_running(running0), .array_known(known0),
        .array_run_first(run_first0), .array_run_last(run_last0), .array_drain(drain0), .array_drain_first(drain_first0),
        .array_drain_last(drain_last0), .array_fetching(fetching0), .array_fetched({2'd0, fetched0} + origin0),
        .array_fetch_first(now_first0), .array_fetch_last(now_last0),
        .alu_started(started1 + origin1), .alu_retired(retired1 + origin1), .alu_running(running1), .alu_known(known1),
        .alu_dst_first(run_first1), .alu_dst_last(run_last1), .alu_src_first(src_first), .alu_src_last(src_last),
        .alu_pair(pair), .alu_pair_first(pair_first), .alu_pair_last(pair_last), .alu_drain(drain1), .alu_drain_first(drain_first1),
        .alu_drain_last(drain_last1), .alu_fetching(fetching1), .alu_fetched({2'd0, fetched1} + origin1), .alu_fetch_first(now_first1), .alu_fetch_last(now_last1),
        .table_uop(2'd0), .table_first(table_first), .table_last(table_last),
        .array_ask_alu({2'd0, array_snap} + origin1), .array_older(array_older), .array_ask_dst(array_dst), .array_wait(array_wait),
        .alu_ask_array({2'd0, alu_snap} + origin0), .alu_older(alu_older), .alu_ask_dst(alu_dst), .alu_ask_src(alu_src),
        .alu_wait(alu_wait), .issue_first(3'd0), .issue_last(3'd0), .issue_hits(unused_hits),
        .load_ask_array({2'd0, load_snap0} + origin0), .load_ask_alu({2'd0, load_snap1} + origin1), .load_ask_uop(load_uop), .load_ask_tab(1'b0),
        .load_ask_first({10'd0, load_first}), .load_ask_last({10'd0, load_last}), .load_wait(load_wait)
    );

    // LOADs in work that hold an entry.
    function [1:0] held(input [2:0] entry);
        held = {table_first1 <= entry && entry <= table_last1, table_first0 <= entry && entry <= table_last0};
    endfunction
    wire in_load = load_first <= at && at <= load_last;
    wire in_read = array_reads && array_first <= at && at <= array_last;

    // An instruction that writes INP writes nothing in ACC, and has done with what it reads there when it has left; what has left in the array has
    // read INP. One that has not begun may turn out either way.
    wire in_acc1 = pending1 && !(inp1 && begun1);
    wire in_inp1 = pending1 && (inp1 || !begun1);
    wire in_inp0 = pending0 && !away0 && (inp0 || !begun0);

    always @(posedge clk) begin
        if (!rst) begin
            assume (array_snap <= issued1 && alu_snap <= issued0 && load_snap0 <= issued0 && load_snap1 <= issued1);
            assert (array_wait || array_dst != at || which1 >= array_snap || !in_acc1);
            assert (array_wait || !in_read || which1 >= array_snap || !in_inp1);
            assert (alu_wait || !alu_loops || alu_inp != at || which0 >= alu_snap || !in_inp0);
            assert (alu_wait || (alu_dst != at && alu_src != at) || which0 >= alu_snap || !pending0);
            assert (array_wait || array_dst != at || which1 >= array_snap || !unread1);
            assert (array_wait || (array_older & held(array_dst)) == 2'd0);
            assert (alu_wait || (alu_older & (held(alu_dst) | held(alu_src))) == 2'd0);
            assert (load_wait || load_uop || !in_load || which1 >= load_snap1 || !unread1);
            assert (load_wait || !load_uop || !in_load || ((which0 >= load_snap0 || !unfetched0) && (which1 >= load_snap1 || !unfetched1)));
            assert (load_wait || load_uop || !in_load || ((which0 >= load_snap0 || !pending0) && (which1 >= load_snap1 || !in_acc1)));
            // An access waits for what another pipeline still writes, and one goes while older ones are not over.
            cover (alu_wait && alu_dst == at && which0 < alu_snap && behind0 && running0);
            cover (array_wait && array_dst == at && which1 < array_snap && behind1);
            cover (!alu_wait && drain0 && running0 && alu_snap == issued0 && retired0 != 6'd0);
            cover (array_wait && in_read && array_dst != at && which1 < array_snap && behind1 && inp1);
            cover (!array_wait && array_dst == at && which1 < array_snap && pending1 && begun1 && inp1 && !unread1);
            cover (alu_wait && alu_loops && alu_inp == at && alu_dst != at && alu_src != at && in_inp0 && running0 && known0);
            cover (load_wait && !load_uop && in_load && which0 < load_snap0 && behind0);
            cover (array_wait && array_dst == at && which1 < array_snap && pair && unread1 && begun1 && known1 && array_older == 2'd0
                   && !(run_first1 <= at && at <= run_last1) && !(src_first <= at && at <= src_last));
            cover (load_wait && load_uop && in_load && fetching0 && which0 < load_snap0 && unfetched0 && fetched0 == load_snap0);
            cover (!load_wait && load_uop && fetching1 && load_snap1 == fetched1 && load_snap0 == issued0 && issued0 != 4'd0);
            cover (array_wait && array_snap == 4'd0 && array_older == 2'd2);
        end
    end
endmodule

`default_nettype wire
