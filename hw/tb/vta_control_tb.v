// SPDX-License-Identifier: Apache-2.0
//
// vta_control_tb -- runs that end in every way, at any moment: FINISH with and without tokens left, errors of several units at
// once, the watchdog, soft resets; with a bus that comes to rest sooner, later, or not before the watchdog loses patience;
// with starts that come too early, with a reset and after one. Each result must be right, reported once, and not before
// the bus is idle. +seed=N, +runs=N.
`default_nettype none

module vta_control_tb;
`include "random.vh"
    parameter integer LOG_BATCH     = 0;
    parameter integer LOG_BLOCK_IN  = 4;
    parameter integer LOG_BLOCK_OUT = 4;
    parameter integer LOG_UOP_DEPTH = 13;
    parameter integer LOG_INP_DEPTH = 11;
    parameter integer LOG_WGT_DEPTH = 10;
    parameter integer LOG_ACC_DEPTH = 11;
`include "vta_isa.vh"

    reg          start = 0, soft_reset = 0, bus_idle = 1, finish = 0, tokens_left = 0, progress = 0;
    reg  [31:0]  watchdog = 0, count = 0, err_code = 0;
    reg  [3:0]   err_valid = 0, head_valid = 0;
    reg  [127:0] err_index = 0, head_index = 0;
    wire         run, busy, done, error, ended, clear;
    wire [7:0]   code;
    wire [1:0]   unit;
    wire [31:0]  index;

    vta_control #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH)
    ) dut (
        .clk(clk), .rst(rst), .start(start), .soft_reset(soft_reset), .watchdog(watchdog), .insn_count(count),
        .run(run), .bus_idle(bus_idle), .finish(finish), .tokens_left(tokens_left), .err_valid(err_valid),
        .err_code(err_code), .err_index(err_index), .progress(progress), .head_valid(head_valid), .head_index(head_index),
        .status_busy(busy), .status_done(done), .status_error(error), .error_code(code), .error_unit(unit),
        .error_index(index), .ended(ended), .clear(clear)
    );

    integer reports, clears;
    always @(posedge clk) begin
        if (rst) begin
            reports = 0; clears = 0;
        end else begin
            reports = reports + ended;
            clears  = clears + clear;
            if (run && !busy) $fatal(1, "it runs and is not busy");
            if (busy && (done || error)) $fatal(1, "busy with a result");
            if (ended && busy) $fatal(1, "the result is out, and it is busy");
        end
    end

    // One cycle, from falling edge to falling edge; pulses last for one.
    task cycle;
        begin
            progress = watchdog != 0 && chance(50);
            @(negedge clk);
            {start, soft_reset, finish, err_valid} = 0;
        end
    endtask

    task begin_run;
        begin
            start = 1'b1;
            cycle;
            if (!run || !busy || done || error || code !== 0) $fatal(1, "a start begins nothing");
        end
    endtask

    // End of the run, and the words that must be said of it.
    reg         failed;
    reg [7:0]   want_code;
    reg [1:0]   want_unit;
    reg [31:0]  want_index;
    integer     u, i, waited;
    task end_run(input integer how);
        begin
            failed = how != 0;
            case (how)
            0, 1: begin
                finish = 1'b1;
                cycle;
                want_code = VTA_ERROR_TOKENS_LEFT; want_unit = 2; want_index = count - 1;
                tokens_left = how == 1;
                if (!run) $fatal(1, "it stops before the tokens are counted");
                cycle;
                tokens_left = 1'b0;
            end
            2: begin
                err_valid = range(1, 15);
                for (i = 0; i < 16; i = i + 1) begin
                    err_index[8*i +: 8] = range(0, 255);
                    if (i < 4) err_code[8*i +: 8] = range(1, 13);
                end
                u = err_valid[0] ? 0 : err_valid[1] ? 1 : err_valid[2] ? 2 : 3;
                want_code  = err_code >> 8*u;
                want_index = err_index >> 32*u;
                want_unit  = want_code == VTA_ERROR_FIELD ? 0 : u;
                cycle;
            end
            default: begin
                // Nothing moves any more.
                for (i = 0; i < 4; i = i + 1) head_index[32*i +: 32] = range(0, 9);
                head_valid = {range(0, 7), 1'b0};
                want_code = VTA_ERROR_WATCHDOG; want_unit = 0; want_index = head_index[31:0];
                u = 0;
                for (i = 1; i < 4; i = i + 1) begin
                    if (head_valid[i] && (u == 0 || head_index[32*i +: 32] < want_index)) begin
                        want_unit = i; want_index = head_index[32*i +: 32]; u = 1;
                    end
                end
                progress = 1'b1;
                @(negedge clk);
                progress = 1'b0;
                waited = 0;
                while (run) begin
                    @(negedge clk);
                    waited = waited + 1;
                    if (waited > watchdog + 2) $fatal(1, "the watchdog sleeps");
                end
                if (waited < watchdog) $fatal(1, "the watchdog barks after %0d of %0d cycles", waited, watchdog);
            end
            endcase
            if (run) $fatal(1, "it runs on");
        end
    endtask

    task judge(input integer reports_before);
        begin
            if (reports != reports_before + 1) $fatal(1, "%0d reports", reports - reports_before);
            if (busy || done === failed || error !== failed) $fatal(1, "busy %b done %b error %b", busy, done, error);
            if (failed && (code !== want_code || unit !== want_unit || index !== want_index))
                $fatal(1, "error %0d of %0d in %0d instead of %0d of %0d in %0d", code, unit, index, want_code, want_unit, want_index);
            if (!failed && (code !== 0 || unit !== 0 || index !== 0)) $fatal(1, "no error, but %0d of %0d in %0d", code, unit, index);
        end
    endtask

    // The bus comes to rest after `cycles`; no result before.
    task drain(input integer cycles);
        integer before;
        begin
            before = reports;
            for (i = 0; i < cycles; i = i + 1) begin
                if (chance(20)) start = 1'b1;       // too early: ignored
                cycle;
                if (reports != before || !busy || done || error) $fatal(1, "a result before the bus is idle");
            end
            bus_idle = 1'b1;
            cycle;
            cycle;
            judge(before);
        end
    endtask

    // A bus that never comes to rest: the report comes all the same, a start waits for the bus.
    task never_drain;
        integer before;
        begin
            before = reports;
            waited = 0;
            while (reports == before) begin
                @(negedge clk);
                waited = waited + 1;
                if (waited > watchdog + 4) $fatal(1, "no report");
            end
            if (waited + 1 < watchdog) $fatal(1, "a report after %0d of %0d cycles", waited, watchdog);
            judge(before);
            before = clears;
            if (chance(50)) begin
                start = 1'b1;
                cycle;
                if (!busy || done || error) $fatal(1, "a start that waits for the bus is not busy");
                repeat (5) cycle;
                if (clears != before) $fatal(1, "a run begins on a bus that is not idle");
                bus_idle = 1'b1;
                repeat (3) cycle;
                if (!run || clears != before + 1) $fatal(1, "a start that waited begins nothing");
                finish = 1'b1;
                cycle;
                repeat (4) cycle;
                if (busy || !done) $fatal(1, "the run after a dead bus does not end");
            end else begin
                if (chance(50)) begin
                    soft_reset = 1'b1;
                    repeat (range(1, 4)) begin
                        cycle;
                        if (!busy || done || error) $fatal(1, "a soft reset on a bus that is not idle: busy %b", busy);
                    end
                end
                bus_idle = 1'b1;
                repeat (3) cycle;
                if (busy || clears != before) $fatal(1, "a run that nobody asked for");
            end
        end
    endtask

    // A soft reset at any moment, alone or with a start: nothing is reported; what was asked for with it or after it begins,
    // and nothing else.
    task break_off;
        integer before, begun;
        reg     again;
        begin
            before = reports;
            case (range(0, 5))
            0: begin finish = 1'b1; cycle; end                      // between FINISH and draining
            1: begin finish = 1'b1; cycle; cycle; end               // while draining
            2: begin err_valid = 4'd2; cycle; end
            3: begin soft_reset = 1'b1; start = 1'b1; cycle; end    // a remembered start is taken back
            4: begin soft_reset = 1'b1; cycle; end
            default: cycle;
            endcase
            begun      = clears;
            again      = chance(50);
            soft_reset = 1'b1;
            start      = again;
            cycle;
            if (done || error || code !== 0) $fatal(1, "a result after a soft reset");
            for (i = range(0, 6); i > 0; i = i - 1) begin
                if (!again && chance(20)) begin start = 1'b1; again = 1'b1; end
                cycle;
                if (!busy) $fatal(1, "not busy before the bus is idle");
            end
            bus_idle = 1'b1;
            repeat (3) cycle;
            if (reports != before) $fatal(1, "a report after a soft reset");
            if (run !== again || clears != begun + again) $fatal(1, "%0d runs begin after a soft reset instead of %b", clears - begun, again);
            if (!again && (busy || done || error)) $fatal(1, "a soft reset leaves busy %b done %b error %b", busy, done, error);
            if (again) begin
                finish = 1'b1;
                cycle;
                repeat (4) cycle;
                if (busy || !done || error) $fatal(1, "the run after a soft reset is not clean");
            end
        end
    endtask

    integer n, how;
    initial begin
        begin_bench(3000);
        reset;
        for (n = 0; n < runs; n = n + 1) begin
            watchdog = range(10, 40);
            count    = range(1, 1000);
            bus_idle = 1'b1;
            head_valid = 0;
            begin_run;
            bus_idle = 1'b0;
            for (i = range(0, 8); i > 0; i = i - 1) begin
                if (chance(20)) start = 1'b1;       // ignored
                cycle;
                if (!run) $fatal(1, "it stops by itself");
            end
            how = range(0, 5);
            if (how == 4) break_off;
            else begin
                end_run(how == 5 ? range(0, 2) : how);
                if (how == 5) never_drain;
                else drain(range(0, 8));
            end
        end
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
