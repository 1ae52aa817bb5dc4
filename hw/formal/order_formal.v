// SPDX-License-Identifier: Apache-2.0
//
// order_formal -- vta_order, vta_span and vta_range against a scoreboard: an access that need not wait meets nothing that an older
// instruction of another pipeline may still write. The array's instructions may read INP, the ALU's write there instead of ACC.
// Two pipelines take instructions in order, with steps on any ranges of
// eight entries, gaps, and any delay to retirement; accesses of both, and of a LOAD, come with any snapshot and entry. One
// instruction of each pipeline and one entry, any, are followed: whether it has begun, may still widen its range, touches
// the entry, has retired. The numbers begin anywhere modulo 64.
// prove: 8
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
    output reg        known
);
    reg [3:0] issued_n, begun_n, left_n, over_n;
    reg       touched, complete;
    reg [7:0] range;                // entries of the instruction that runs
    wire      running = begun_n != left_n;
    integer   n;

    assign first = !running || leave;

    // The rules that the array and the ALU keep.
    always @* begin
        assume (!enter || begins <= ends);
        assume (!(enter && first) || begun_n < issued_n);
        assume (!leave || (running && known));
        assume (!retire || left_n != over_n);
        assume (issued_n != 4'd15);
        if (enter && !first && known) for (n = 0; n < 8; n = n + 1) assume (n < begins || n > ends || range[n]);
    end

    reg [7:0] hull;
    reg [7:0] given;
    always @* begin
        for (n = 0; n < 8; n = n + 1) given[n] = begins <= n && n <= ends;
        // Ranges are what is compared: all between the least and the greatest entry.
        hull = first ? given : range | given;
        for (n = 1; n < 8; n = n + 1) hull[n] = hull[n] || (|(hull & ((8'd1 << n) - 8'd1)) && |((first ? given : range | given) >> n));
    end

    always @(posedge clk) begin
        if (rst) begin
            {issued_n, begun_n, left_n, over_n} <= 16'd0;
            {touched, complete, known, inp, inp_now} <= 5'd0;
        end else begin
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
    wire       begun0, begun1, away0, away1, inp0, inp1, now0, now1;

    order_pipe_formal pipe0 (
        .clk(clk), .rst(rst), .issue(issue[0]), .enter(enter[0]), .whole(whole[0]), .begins(begins0), .ends(ends0),
        .leave(leave[0]), .retire(retire[0]), .uses(uses[0]), .which(which0), .at(at), .issued(issued0), .pending(pending0),
        .behind(behind0), .begun(begun0), .away(away0), .inp(inp0), .inp_now(now0), .first(first0), .known(unused0)
    );
    order_pipe_formal pipe1 (
        .clk(clk), .rst(rst), .issue(issue[1]), .enter(enter[1]), .whole(whole[1]), .begins(begins1), .ends(ends1),
        .leave(leave[1]), .retire(retire[1]), .uses(uses[1]), .which(which1), .at(at), .issued(issued1), .pending(pending1),
        .behind(behind1), .begun(begun1), .away(away1), .inp(inp1), .inp_now(now1), .first(first1), .known(unused1)
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

    wire array_wait, alu_wait, load_wait, unused_hits;

    // The ALU's operands: here it reads what it writes, and has no parameters. LOADs in work: none.
    vta_order #(.U(3), .A(3), .I(3), .ENTRIES(1)) dut (
        .array_run_reads(now0), .array_inp_first(inp_first0), .array_inp_last(inp_last0),
        .alu_run_loops(now1), .alu_inp_first(inp_first1), .alu_inp_last(inp_last1), .alu_inp_drain(inp_drain),
        .alu_inp_drain_first(inp_drain_first), .alu_inp_drain_last(inp_drain_last),
        .array_ask_reads(array_reads), .array_ask_first(array_first), .array_ask_last(array_last),
        .alu_ask_loops(alu_loops), .alu_ask_inp(alu_inp),
        .array_started(started0 + origin0), .array_retired(retired0 + origin0), .array_running(running0), .array_known(known0),
        .array_run_first(run_first0), .array_run_last(run_last0), .array_drain(drain0), .array_drain_first(drain_first0),
        .array_drain_last(drain_last0), .array_fetching(1'b0), .array_fetched(6'd0), .array_fetch_first(3'd0),
        .array_fetch_last(3'd0),
        .alu_started(started1 + origin1), .alu_retired(retired1 + origin1), .alu_running(running1), .alu_known(known1),
        .alu_dst_first(run_first1), .alu_dst_last(run_last1), .alu_src_first(run_first1), .alu_src_last(run_last1),
        .alu_pair(1'b0), .alu_pair_first(3'd0), .alu_pair_last(3'd0), .alu_drain(drain1), .alu_drain_first(drain_first1),
        .alu_drain_last(drain_last1), .alu_fetching(1'b0), .alu_fetched(6'd0), .alu_fetch_first(3'd0), .alu_fetch_last(3'd0),
        .table_uop(1'b0), .table_first(13'd0), .table_last(13'd0),
        .array_ask_alu({2'd0, array_snap} + origin1), .array_older(1'b0), .array_ask_dst(array_dst), .array_wait(array_wait),
        .alu_ask_array({2'd0, alu_snap} + origin0), .alu_older(1'b0), .alu_ask_dst(alu_dst), .alu_ask_src(alu_src),
        .alu_wait(alu_wait), .issue_first(3'd0), .issue_last(3'd0), .issue_hits(unused_hits),
        .load_ask_array({2'd0, load_snap0} + origin0), .load_ask_alu({2'd0, load_snap1} + origin1), .load_ask_uop(1'b0),
        .load_ask_first({10'd0, load_first}), .load_ask_last({10'd0, load_last}), .load_wait(load_wait)
    );

    wire in_load = load_first <= at && at <= load_last;
    wire in_read = array_reads && array_first <= at && at <= array_last;

    // One that writes INP has done with ACC when it has left; what has left in the array has read INP. One that has not begun
    // may turn out either way.
    wire in_acc1 = pending1 && !(inp1 && away1);
    wire in_inp1 = pending1 && (inp1 || !begun1);
    wire in_inp0 = pending0 && !away0 && (inp0 || !begun0);

    always @(posedge clk) begin
        if (!rst) begin
            assume (array_snap <= issued1 && alu_snap <= issued0 && load_snap0 <= issued0 && load_snap1 <= issued1);
            assert (array_wait || array_dst != at || which1 >= array_snap || !in_acc1);
            assert (array_wait || !in_read || which1 >= array_snap || !in_inp1);
            assert (alu_wait || !alu_loops || alu_inp != at || which0 >= alu_snap || !in_inp0);
            assert (alu_wait || (alu_dst != at && alu_src != at) || which0 >= alu_snap || !pending0);
            assert (load_wait || !in_load || ((which0 >= load_snap0 || !pending0) && (which1 >= load_snap1 || !in_acc1)));
            // An access waits for what another pipeline still writes, and one goes while older ones are not over.
            cover (alu_wait && alu_dst == at && which0 < alu_snap && behind0 && running0);
            cover (array_wait && array_dst == at && which1 < array_snap && behind1);
            cover (!alu_wait && drain0 && running0 && alu_snap == issued0 && retired0 != 6'd0);
            cover (array_wait && in_read && array_dst != at && which1 < array_snap && behind1 && inp1);
            cover (!array_wait && in_acc1 && behind1 == 1'b0 && inp1);
            cover (alu_wait && alu_loops && alu_inp == at && alu_dst != at && alu_src != at && in_inp0 && running0 && known0);
            cover (load_wait && in_load && which0 < load_snap0 && behind0);
        end
    end
endmodule

`default_nettype wire
