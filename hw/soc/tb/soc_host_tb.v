// SPDX-License-Identifier: Apache-2.0
//
// soc_host_tb -- soc_host between two caches and a bus, all of which do as they like: whose line is asked for, whom its beats reach, where a
// word stands in its beat, how many writes are on their way, and that no line is read before they are done. +seed=N; ends with "passed".
`default_nettype none
`timescale 1ns / 1ps

module soc_host_tb #(
    parameter integer LOG_BUS_BYTES = 3
);
    localparam integer LOG_BEATS = 5 - LOG_BUS_BYTES, BYTES = 1 << LOG_BUS_BYTES, CYCLES = 12000;

    reg                clk = 1'b0, rst = 1'b1;
    reg                i_valid = 1'b0, d_valid = 1'b0, write_valid = 1'b0;
    reg  [31:0]        i_addr, d_addr, write_data;
    reg  [31:2]        write_addr;
    reg  [3:0]         write_strb;
    reg                arready = 1'b0, rvalid = 1'b0, rlast = 1'b0, awready = 1'b0, wready = 1'b0, bvalid = 1'b0;
    wire               i_ready, d_ready, i_beat, d_beat, write_ready, quiet, arvalid, rready, awvalid, wvalid, bready;
    wire [31:0]        araddr, awaddr;
    wire [7:0]         arlen;
    wire [8*BYTES-1:0] wdata;
    wire [BYTES-1:0]   wstrb;

    always #5 clk = !clk;
    soc_host #(.LOG_BUS_BYTES(LOG_BUS_BYTES), .LOG_BEATS(LOG_BEATS)) dut (
        .clk(clk), .rst(rst), .i_valid(i_valid), .i_ready(i_ready), .i_addr(i_addr), .d_valid(d_valid), .d_ready(d_ready),
        .d_addr(d_addr), .i_beat(i_beat), .d_beat(d_beat), .write_valid(write_valid), .write_ready(write_ready),
        .write_addr(write_addr), .write_data(write_data), .write_strb(write_strb), .quiet(quiet), .arvalid(arvalid),
        .arready(arready), .araddr(araddr), .arlen(arlen), .rvalid(rvalid), .rready(rready), .rlast(rlast), .awvalid(awvalid),
        .awready(awready), .awaddr(awaddr), .wvalid(wvalid), .wready(wready), .wdata(wdata), .wstrb(wstrb), .bvalid(bvalid),
        .bready(bready)
    );

    `include "expect.vh"
    integer lines = 0, writes = 0, largest = 0;

    // ---- The model, in the order of the cycle's events

    reg         reading = 1'b0, asked = 1'b0, for_data;     // a line is on its way; its address waits
    reg  [31:0] line_addr;
    reg         aw_on = 1'b0, w_on = 1'b0;      // a write's address and data that wait
    reg  [31:2] on_addr;
    reg  [31:0] on_data;
    reg  [3:0]  on_strb;
    integer     due = 0, answers = 0, beats = 0, lane, now;     // answers: writes that the bus has whole
    integer     idle = 0;
    always @(posedge clk) if (!rst) begin
        expect_that(quiet == (due == 0), "quiet where a write is due, or not");
        expect_that(arvalid == asked && (!asked || araddr == line_addr && arlen == (1 << LOG_BEATS) - 1), "another line");
        expect_that(d_ready == (!asked && !reading && due == 0 && !write_valid), "when a line may be asked for");
        expect_that(i_ready == (d_ready && !d_valid), "data go first");
        expect_that(i_beat == (rvalid && !for_data) && d_beat == (rvalid && for_data), "a beat for the other cache");
        expect_that(write_ready == (!aw_on && !w_on && due < 8), "when a write may come");
        expect_that(awvalid == aw_on && (!aw_on || awaddr == {on_addr, 2'd0} - ({on_addr, 2'd0} % BYTES)), "another address");
        expect_that(wvalid == w_on && rready && bready, "data of a write, places of answers");
        if (w_on) for (lane = 0; lane < BYTES; lane = lane + 1) begin
            now = lane / 4 == {on_addr, 2'd0} % BYTES / 4;
            expect_that(wstrb[lane] == (now[0] && on_strb[lane % 4]), "another byte is written");
            if (wstrb[lane]) expect_that(wdata[8*lane +: 8] == on_data[8*(lane % 4) +: 8], "another value is written");
        end
        if (rvalid && rlast) reading = 1'b0;
        if (asked && arready) {asked, reading, beats} = {2'b01, 32'd0};
        else if (d_valid && d_ready || i_valid && i_ready) begin
            {asked, for_data, line_addr} = {1'b1, d_valid, d_valid ? d_addr : i_addr};
            lines = lines + 1;
        end
        if (bvalid) due = due - 1;
        if (aw_on && (awready || !w_on) || w_on && (wready || !aw_on)) begin
            answers = (!aw_on || awready) && (!w_on || wready) ? answers + 1 : answers;
            {aw_on, w_on} = {aw_on && !awready, w_on && !wready};
        end
        if (write_valid && write_ready) begin
            {aw_on, w_on, on_addr, on_data, on_strb} = {2'b11, write_addr, write_data, write_strb};
            due = due + 1;
            writes = writes + 1;
        end
        if (due > largest) largest = due;
        idle = i_ready || write_ready || d_ready ? 0 : idle + 1;
    end

    // ---- Its surroundings: requests may go again, as those of a cache do not; the bus takes nothing that was not offered

    reg i_took, d_took, write_took;
    integer mood = 0;
    always @(posedge clk) if (!rst) begin
        {i_took, d_took, write_took} = {i_valid && i_ready, d_valid && d_ready, write_valid && write_ready};
        #1;
        if (draw(200) == 0) mood = draw(3);
        if (!i_valid || i_took) {i_valid, i_addr} <= {draw(4) == 0, $random(seed)};
        if (!d_valid || d_took) {d_valid, d_addr} <= {draw(4) == 0, $random(seed)};
        if (!write_valid || write_took) write_valid <= draw(mood == 0 ? 2 : 8) == 0;
        if (!write_valid || write_took) write_addr <= draw(1 << 30);
        if (!write_valid || write_took) {write_data, write_strb} <= {$random(seed), 4'd0} | draw(16);
        {arready, awready, wready} <= draw(8);
        {rvalid, rlast} <= {1'b0, draw(2) == 0};
        if (reading && draw(2) == 0) begin
            beats = beats + 1;
            {rvalid, rlast} <= {1'b1, beats == 1 << LOG_BEATS};
        end
    end
    always @(posedge clk) if (!rst) begin
        #1 bvalid <= 1'b0;
        if (answers > 0 && draw(mood == 0 ? 40 : 3) == 0) begin
            bvalid <= 1'b1;
            answers = answers - 1;
        end
    end

    integer cycle;
    initial begin
        if (!$value$plusargs("seed=%d", seed)) seed = 1;
        repeat (3) @(posedge clk);
        #2 rst = 1'b0;
        for (cycle = 0; cycle < CYCLES && wrong < 10 && idle < 2000; cycle = cycle + 1) @(posedge clk);
        if (wrong == 0 && idle < 2000 && lines > 100 && writes > 100 && largest == 8) $display("passed: %0d lines, %0d writes", lines, writes);
        else $display("failed: %0d wrong; %0d lines, %0d writes, %0d at once", wrong, lines, writes, largest);
        $finish;
    end
endmodule

`default_nettype wire
