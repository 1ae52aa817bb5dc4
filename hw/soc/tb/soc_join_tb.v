// SPDX-License-Identifier: Apache-2.0
//
// soc_join_tb -- soc_join beside queues of who asked: who goes first, who stays, whose data move, whose answer is next, how many bursts are on
// their way. +seed=N; ends with "passed".
`default_nettype none
`timescale 1ns / 1ps

module soc_join_tb;
    localparam integer LOG_PLACES = 3, PLACES = 1 << LOG_PLACES, CYCLES = 12000;

    reg        clk = 1'b0, rst = 1'b1, out_ready = 1'b0, data_last = 1'b0, answer_last = 1'b0;
    reg  [1:0] ask_valid = 2'b00;
    wire [1:0] ask_ready;
    wire       out_valid, who, data_busy, data_who, answer_who;
    always #5 clk = !clk;
    soc_join #(.LOG_PLACES(LOG_PLACES)) dut (
        .clk(clk), .rst(rst), .ask_valid(ask_valid), .ask_ready(ask_ready), .out_valid(out_valid), .out_ready(out_ready),
        .who(who), .data_busy(data_busy), .data_who(data_who), .data_last(data_last), .answer_who(answer_who),
        .answer_last(answer_last)
    );

    `include "expect.vh"
    integer bursts = 0, fulls = 0, resets = 0;

    reg     owner [0:63];           // of the burst with that number
    integer asked = 0, moved = 0, answered = 0;
    reg     stays = 1'b0, stayed;   // an address was offered and not taken, and whose it was
    reg     room;
    always @(posedge clk) begin
        room = asked - answered < PLACES;
        if (!rst) begin
            expect_that(out_valid == (room && ask_valid != 2'b00), "an address is offered, or is not");
            if (out_valid) expect_that(who == (stays ? stayed : !ask_valid[0]), "whose turn it is");
            expect_that(ask_ready == (out_ready && room ? who ? 2'b10 : 2'b01 : 2'b00), "whose address is taken");
            expect_that(data_busy == (asked != moved), "data are to move");
            if (asked != moved) expect_that(data_who == owner[moved % 64], "whose data move");
            if (asked != answered) expect_that(answer_who == owner[answered % 64], "whose answer it is");
        end
        {stays, stayed} = {out_valid && !out_ready && !rst, who};
        if (out_valid && out_ready) begin
            owner[asked % 64] = who;
            asked = asked + 1;
            bursts = bursts + 1;
            if (asked - answered == PLACES) fulls = fulls + 1;
        end
        if (data_last) moved = moved + 1;
        if (answer_last) answered = answered + 1;
        if (rst) {asked, moved, answered} = 96'd0;
    end

    reg [1:0] took;
    integer   mood = 0;
    always @(posedge clk) begin
        took = ask_valid & ask_ready;
        #1;
        if (draw(200) == 0) mood = draw(3);
        ask_valid   <= ask_valid & ~took | {draw(3) == 0, draw(3) == 0};
        out_ready   <= draw(2) == 0;
        data_last   <= asked != moved && draw(mood == 0 ? 20 : 2) == 0;
        answer_last <= 1'b0;
        if (moved != answered && draw(mood == 1 ? 20 : 2) == 0) answer_last <= 1'b1;
        rst <= resets > 0 && draw(1000) == 0;
        if (rst) {ask_valid, data_last, answer_last} <= 4'd0;
    end

    integer cycle;
    initial begin
        if (!$value$plusargs("seed=%d", seed)) seed = 1;
        repeat (3) @(posedge clk);
        resets = 1;
        for (cycle = 0; cycle < CYCLES && wrong < 10; cycle = cycle + 1) @(posedge clk);
        if (wrong == 0 && bursts > 1000 && fulls > 10) $display("passed: %0d bursts, %0d times full", bursts, fulls);
        else $display("failed: %0d wrong; %0d bursts, %0d times full", wrong, bursts, fulls);
        $finish;
    end
endmodule

`default_nettype wire
