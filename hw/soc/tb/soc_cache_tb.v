// SPDX-License-Identifier: Apache-2.0
//
// soc_cache_tb -- soc_cache beside a model of its lines: which reads hit, what each line holds, when a line is asked for, faults of beats,
// forget in any cycle, memory that another master changes. +seed=N; ends with "passed" and what was done.
`default_nettype none
`timescale 1ns / 1ps

module soc_cache_tb #(
    parameter integer LOG_BUS_BYTES = 3,
    parameter integer APART         = 0
);
    localparam integer LOG_LINES = 3, LOG_BEATS = 5 - LOG_BUS_BYTES, BITS = 8 << LOG_BUS_BYTES, BEATS = 1 << LOG_BEATS;
    localparam integer WORDS = BITS / 32, ROUNDS = 2000;

    reg             clk = 1'b0, rst = 1'b1, forget = 1'b0;
    reg             valid = 1'b0, is_write, read_ready = 1'b0, beat_valid = 1'b0, beat_last, beat_fault, write_ready = 1'b0;
    reg  [31:0]     addr, wdata;
    reg  [3:0]      wstrb;
    reg  [BITS-1:0] beat_data;
    wire            ready, done, fault, read_valid, write_valid;
    wire [31:0]     rdata, read_addr, write_addr, write_data;
    wire [3:0]      write_strb;

    always #5 clk = !clk;
    soc_cache #(.LOG_LINES(LOG_LINES), .LOG_BUS_BYTES(LOG_BUS_BYTES), .LOG_BEATS(LOG_BEATS), .APART(APART)) dut (
        .clk(clk), .rst(rst), .forget(forget), .valid(valid), .ready(ready), .is_write(is_write), .addr(addr), .wdata(wdata),
        .wstrb(wstrb), .done(done), .rdata(rdata), .fault(fault), .read_valid(read_valid), .read_ready(read_ready),
        .read_addr(read_addr), .beat_valid(beat_valid), .beat_last(beat_last), .beat_fault(beat_fault), .beat_data(beat_data),
        .write_valid(write_valid), .write_ready(write_ready), .write_addr(write_addr), .write_data(write_data),
        .write_strb(write_strb)
    );

    `include "expect.vh"
    integer hits = 0, misses = 0, writes = 0, forgets = 0, faults = 0;

    // ---- Memory: eight lines of each of four tags, which differ in their highest or lowest bit

    reg  [31:0] memory [0:255];     // tag, line, word
    function [31:0] address(input [7:0] at);
        address = {at[7:6] == 2'd3 ? 24'h00_0000 : at[7:6] == 2'd2 ? 24'hc0_0000 : {23'h40_0000, at[6]}, at[5:0], 2'b00};
    endfunction

    // ---- The model: what the cache holds

    reg  [7:0]  m_present = 8'd0;
    reg  [1:0]  m_tag [0:7];
    reg  [31:0] m_word [0:63];
    reg         on = 1'b0, on_write, fresh, on_hit;
    reg  [7:0]  at, on_at;          // of the request that is offered, and that is on
    reg  [31:0] on_data;
    reg  [3:0]  on_strb;
    reg         filling = 1'b0, f_stale, f_fault = 1'b0, asking = 1'b0;
    integer     f_beat, i, lane, quiet_for = 0;
    wire [7:0]  f_at = {on_at[7:3], 3'd0} + f_beat * WORDS;

    always @(posedge clk) if (!rst) begin
        // An answer
        expect_that(!done || on, "an answer without a request");
        if (on && fresh && !on_write) begin
            on_hit = m_present[on_at[5:3]] && m_tag[on_at[5:3]] == on_at[7:6];
            expect_that(done == on_hit, "a hit takes a cycle, a miss more");
            if (on_hit) hits = hits + 1;
            else misses = misses + 1;
        end
        fresh = 1'b0;
        if (done && on) begin
            expect_that(fault == f_fault, "a fault that is none, or is lost");
            if (!on_write && !f_fault) begin
                expect_that(m_present[on_at[5:3]] && m_tag[on_at[5:3]] == on_at[7:6], "a line that is not here");
                expect_that(rdata == m_word[on_at[5:0]], "other data");
            end
            f_fault = 1'b0;
        end
        // A write goes on to memory
        expect_that(!write_valid || on && on_write, "a write that nobody asked for");
        expect_that(!(on && on_write) || done == write_ready, "a write is answered when it is taken");
        if (write_valid && write_ready && on) begin
            expect_that(write_addr == address(on_at) && write_data == on_data && write_strb == on_strb, "another write");
            for (lane = 0; lane < 4; lane = lane + 1) if (on_strb[lane]) begin
                memory[on_at][8*lane +: 8] = on_data[8*lane +: 8];
                if (m_present[on_at[5:3]] && m_tag[on_at[5:3]] == on_at[7:6]) m_word[on_at[5:0]][8*lane +: 8] = on_data[8*lane +: 8];
            end
            writes = writes + 1;
        end
        // A line is asked for, and comes
        if (read_valid) begin
            expect_that(on && !on_write && !filling, "a line that nobody asked for");
            expect_that(read_addr == address({on_at[7:3], 3'd0}), "the address of another line");
            expect_that(asking || !(m_present[on_at[5:3]] && m_tag[on_at[5:3]] == on_at[7:6]), "a line that is here");
            if (!asking) f_stale = 1'b0;
            m_present[on_at[5:3]] = 1'b0;
            asking = !read_ready;
        end
        if ((read_valid || filling) && forget) f_stale = 1'b1;
        if (filling && beat_valid) begin
            for (i = 0; i < WORDS; i = i + 1) m_word[f_at[5:0] + i] = beat_data[32*i +: 32];
            if (beat_fault) f_fault = 1'b1;
            if (beat_last) begin
                {filling, m_tag[on_at[5:3]]} = {1'b0, on_at[7:6]};
                m_present[on_at[5:3]] = !f_stale && !f_fault;
                if (f_fault) faults = faults + 1;
            end
            f_beat = f_beat + 1;
        end
        if (read_valid && read_ready) {filling, f_beat} = {1'b1, 32'd0};
        if (done) on = 1'b0;
        if (forget) begin
            m_present = 8'd0;
            forgets = forgets + 1;
        end
        // The next request
        expect_that(!ready || !on, "a second request while one is on");
        if (valid && ready) begin
            {on, fresh, on_write, on_at, on_data, on_strb} = {2'b11, is_write, at, wdata, wstrb};
            quiet_for = 0;
        end
        quiet_for = quiet_for + 1;
        if (quiet_for == 2000) expect_that(1'b0, "no end of a request");
    end
    // Without a request there is room; with APART 0 also where a read is answered.
    always @(negedge clk) if (!rst && !on) expect_that(ready, "not ready");
    always @(negedge clk) if (!rst && on && done && !on_write) expect_that(ready == (APART == 0), "ready with an answer");

    // ---- Its surroundings

    integer rounds = 0, mood = 0;
    reg     took;
    always @(posedge clk) if (!rst) begin
        took = valid && ready;
        #1;     // after the model
        if (draw(100) == 0) mood = draw(3);
        if (draw(8) == 0) memory[draw(256)] = $random(seed);    // another master
        forget      <= draw(60) == 0;
        write_ready <= draw(3) != 0;
        read_ready  <= draw(3) == 0;
        if (took) rounds = rounds + 1;
        if (!valid || took) begin
            valid <= mood == 0 || draw(3) == 0;
            at = draw(2) == 0 ? at ^ draw(8) : draw(256);     // often in the line of the one before
            if (mood == 1) at[5:3] = 3'd5;
            {is_write, addr, wdata, wstrb} <= {draw(3) == 0, address(at), $random(seed), 4'd0};
            wstrb <= draw(16);
        end
        {beat_valid, beat_last, beat_fault, beat_data} <= {1'b0, 1'b1, 1'b1, {WORDS{32'hdead_dead}}};
        if (filling && draw(2) == 0) begin
            beat_valid <= 1'b1;
            beat_last  <= f_beat == BEATS - 1;
            beat_fault <= draw(24) == 0;
            for (i = 0; i < WORDS; i = i + 1) beat_data[32*i +: 32] <= memory[f_at + i];
        end
    end

    integer p;
    initial begin
        if (!$value$plusargs("seed=%d", seed)) seed = 1;
        at = 8'd0;
        for (p = 0; p < 256; p = p + 1) memory[p] = $random(seed);
        repeat (3) @(posedge clk);
        #2 rst = 1'b0;
        while (rounds < ROUNDS && wrong < 10 && quiet_for < 2000) @(posedge clk);
        if (wrong == 0 && hits > 100 && misses > 100 && writes > 100 && forgets > 20 && faults > 5)
            $display("passed: %0d hits, %0d misses, %0d writes, %0d times forgotten, %0d faults", hits, misses, writes, forgets, faults);
        else $display("failed: %0d wrong; %0d hits, %0d misses, %0d writes, %0d times forgotten, %0d faults", wrong, hits, misses, writes,
                      forgets, faults);
        $finish;
    end
endmodule

`default_nettype wire
