// SPDX-License-Identifier: Apache-2.0
//
// vta_lib_tb -- queues, the sliced RAM, the counters and vta_awake against plain references, at random rates. +seed=N, +runs=N.
// parts: vta_next
`default_nettype none

module vta_lib_tb;
`include "random.vh"
    parameter integer LOG_DEPTH = 3;
    localparam integer WIDTH = 24;
    localparam integer KINDS = 3;      // fifo, queue, skid

    // Queues: numbers in, the same numbers out.
    reg  [KINDS-1:0]       in_valid = 0, out_ready = 0;
    wire [KINDS-1:0]       in_ready, out_valid;
    reg  [KINDS*WIDTH-1:0] in_data;
    wire [KINDS*WIDTH-1:0] out_data;

    vta_fifo #(.WIDTH(WIDTH), .LOG_DEPTH(LOG_DEPTH)) fifo (
        .clk(clk), .rst(rst), .in_valid(in_valid[0]), .in_ready(in_ready[0]), .in_data(in_data[0 +: WIDTH]),
        .out_valid(out_valid[0]), .out_ready(out_ready[0]), .out_data(out_data[0 +: WIDTH])
    );
    vta_queue #(.WIDTH(WIDTH), .LOG_DEPTH(LOG_DEPTH)) queue (
        .clk(clk), .rst(rst), .in_valid(in_valid[1]), .in_ready(in_ready[1]), .in_data(in_data[WIDTH +: WIDTH]),
        .out_valid(out_valid[1]), .out_ready(out_ready[1]), .out_data(out_data[WIDTH +: WIDTH])
    );
    vta_skid #(.WIDTH(WIDTH)) skid (
        .clk(clk), .rst(rst), .in_valid(in_valid[2]), .in_ready(in_ready[2]), .in_data(in_data[2*WIDTH +: WIDTH]),
        .out_valid(out_valid[2]), .out_ready(out_ready[2]), .out_data(out_data[2*WIDTH +: WIDTH])
    );

    integer sent [0:KINDS-1], taken [0:KINDS-1], most [0:KINDS-1];
    integer k, in_rate, out_rate;
    always @(posedge clk) begin
        for (k = 0; k < KINDS; k = k + 1) begin
            if (rst) begin
                sent[k] = 0; taken[k] = 0; most[k] = 0;
            end else begin
                if (out_valid[k] && out_ready[k]) begin
                    if (out_data[k*WIDTH +: WIDTH] !== taken[k]*7 % 32'h1000000)
                        $fatal(1, "queue %0d: word %0d is %0h", k, taken[k], out_data[k*WIDTH +: WIDTH]);
                    taken[k] = taken[k] + 1;
                end
                if (in_valid[k] && in_ready[k]) sent[k] = sent[k] + 1;
                if (taken[k] > sent[k]) $fatal(1, "queue %0d: a word from nowhere", k);
                if (sent[k] - taken[k] > most[k]) most[k] = sent[k] - taken[k];
            end
            in_valid[k]  <= range(0, 99) < in_rate;
            out_ready[k] <= range(0, 99) < out_rate;
            in_data[k*WIDTH +: WIDTH] <= sent[k]*7 % 32'h1000000;
        end
    end

    // A RAM of 64-bit entries in slices of 16, each slice offered its own data.
    reg         wr_en = 0, rd_en = 0, was_read;
    reg  [3:0]  wr_strobe;
    reg  [LOG_DEPTH-1:0] wr_addr, rd_addr;
    reg  [63:0] wr_data, want;
    wire [63:0] rd_data;
    reg  [63:0] copy [0:(1<<LOG_DEPTH)-1];
    integer     s;

    vta_ram #(.LOG_DEPTH(LOG_DEPTH), .WIDTH(64), .SLICE(16), .WR_WIDTH(64)) ram (
        .clk(clk), .wr_en(wr_en), .wr_strobe(wr_strobe), .wr_addr(wr_addr), .wr_data(wr_data),
        .rd_en(rd_en), .rd_addr(rd_addr), .rd_data(rd_data)
    );

    always @(posedge clk) begin
        if (!rst && was_read && rd_data !== want) $fatal(1, "RAM gives %0h instead of %0h", rd_data, want);
        if (rd_en) begin
            want = copy[rd_addr];
            was_read = 1'b1;
        end
        if (rst) was_read = 1'b0;
        for (s = 0; s < 4; s = s + 1) if (wr_en && wr_strobe[s]) copy[wr_addr][s*16 +: 16] = wr_data[s*16 +: 16];
        wr_en     <= range(0, 2) != 0;
        rd_en     <= range(0, 2) != 0;
        wr_strobe <= range(0, 15);
        wr_addr   <= range(0, (1 << LOG_DEPTH) - 1);
        rd_addr   <= range(0, (1 << LOG_DEPTH) - 1);
        wr_data   <= {range(0, 32'h7fffffff), range(0, 32'h7fffffff)};
    end

    // Counters: five events, the last two with amounts.
    reg         clear = 0, rd_valid = 0;
    reg  [4:0]  events = 0;
    reg  [19:0] amounts = 0;
    reg  [4:0]  rd_index;
    wire        rd_done;
    wire [63:0] rd_count;
    reg  [63:0] tally [0:4];                    // without the events of the cycle before
    reg  [4:0]  recent = 0;
    reg  [19:0] recent_amounts;
    reg  [63:0] before [0:4], earlier [0:4];    // a cycle ago, two cycles ago: what an answer tells
    integer     asked;                          // cycles since the read was asked for
    integer     round;                          // and since it or a clear, which begins the round of the slots anew
    integer     e;

    vta_counters #(.COUNTERS(5), .PLAIN(3), .AMOUNT(10)) counters (
        .clk(clk), .rst(rst), .clear(clear), .events(events), .amounts(amounts),
        .rd_valid(rd_valid), .rd_index(rd_index), .rd_done(rd_done), .rd_data(rd_count)
    );

    always @(posedge clk) begin
        if (rd_done && rd_count !== earlier[rd_index]) $fatal(1, "counter %0d is %0d instead of %0d", rd_index, rd_count, earlier[rd_index]);
        if (rd_done && (asked < 3 || round > 35)) $fatal(1, "an answer after %0d cycles", asked);
        asked = rd_valid && !rd_done ? asked + 1 : 0;
        round = rd_valid && !rd_done && !clear && !rst ? round + 1 : 0;
        for (e = 0; e < 5; e = e + 1) begin
            earlier[e] = before[e];
            before[e]  = tally[e];
            if (rst || clear) tally[e] = 0;
            else if (recent[e]) tally[e] = tally[e] + (e < 3 ? 1 : recent_amounts[(e-3)*10 +: 10]);
        end
        recent         = events & {5{!rst && !clear}};
        recent_amounts = amounts;
        clear   <= range(0, 999) == 0;
        events  <= range(0, 31);
        amounts <= range(0, 9) == 0 ? 20'hfffff : range(0, 20'hfffff);
        if (rd_done || !rd_valid) begin
            rd_valid <= range(0, 3) == 0;
            rd_index <= range(0, 4);
        end
    end

    // Years in a moment: a total that is not on its way jumps to just below a carry into its upper word, or to the end of both.
    integer     jump;
    reg  [63:0] further;
    always @(negedge clk) begin
        jump = range(0, 4);
        if (!rst && range(0, 199) == 0 && counters.used_q[jump] && counters.slot_q != jump && counters.sum_slot_q != jump
            && counters.new_slot_q != jump) begin
            further = {range(0, 3) == 0 ? 32'hffffffff : range(0, 99), 32'd0 - range(0, 2000)} - tally[jump];
            counters.total_q[jump] = counters.total_q[jump] + further;
            tally[jump]   = tally[jump] + further;
            before[jump]  = before[jump] + further;
            earlier[jump] = earlier[jump] + further;
        end
    end

    // A clock is needed with work, and for four cycles after.
    reg     work = 0;
    wire    awake;
    integer since;
    integer slept;

    vta_awake #(.LINGER(4)) awake_for (.clk(clk), .rst(rst), .work(work), .awake(awake));

    always @(posedge clk) begin
        since = rst || work ? 0 : since + 1;
        if (awake !== (since <= 4)) $fatal(1, "awake is %b %0d cycles after work", awake, since);
        if (rst) slept = 0;
        else if (!awake) slept = slept + 1;
        work <= range(0, 9) == 0;
    end

    integer i;
    initial begin
        begin_bench(20);
        in_rate = 50; out_rate = 50;
        repeat (4) @(posedge clk);
        rst <= 1'b0;
        for (i = 0; i < runs; i = i + 1) begin
            in_rate  = i % 4 == 0 ? 100 : range(5, 95);
            out_rate = i % 4 == 1 ? 100 : i % 4 == 0 ? range(0, 30) : range(5, 95);
            repeat (500) @(posedge clk);
        end
        in_rate = 100; out_rate = 100;
        repeat (50) @(posedge clk);
        i = sent[0];
        repeat (100) @(posedge clk);
        if (sent[0] - i != 100) $fatal(1, "less than a word a cycle");
        in_rate = 0;
        repeat (50) @(posedge clk);
        for (i = 0; i < KINDS; i = i + 1)
            if (sent[i] != taken[i] || sent[i] < 100) $fatal(1, "queue %0d: %0d words in, %0d out", i, sent[i], taken[i]);
        if (most[0] != 1 << LOG_DEPTH || most[1] < 1 << LOG_DEPTH || most[2] != 2)
            $fatal(1, "queues hold %0d, %0d, %0d words", most[0], most[1], most[2]);
        if (slept < 100) $fatal(1, "a clock is nearly always needed");
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
