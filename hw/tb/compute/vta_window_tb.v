// SPDX-License-Identifier: Apache-2.0
//
// vta_window_tb -- the depthwise window against a record of all tiles that each of its rows has seen.
`default_nettype none

module vta_window_tb;
`include "bench.vh"
    parameter integer LOG_BATCH     = 0;
    parameter integer LOG_BLOCK_IN  = 4;
    parameter integer LOG_BLOCK_OUT = 4;
    localparam integer TAPS  = LOG_BLOCK_OUT < 3 ? 2 : 3;
    localparam integer BATCH = 1 << LOG_BATCH;
    localparam integer IN    = 1 << LOG_BLOCK_IN;
    localparam integer OUT   = 1 << LOG_BLOCK_OUT;
    localparam integer LANES = IN < OUT ? IN : OUT;

    reg                      en = 1'b0;
    reg                      group;
    reg  [3:0]               row;
    reg  [LOG_BLOCK_OUT-1:0] tap;
    reg  [1:0]               history;
    reg  [8*IN*BATCH-1:0]    x;
    reg  [8*IN*OUT-1:0]      w;
    wire [8*TAPS*LANES*BATCH-1:0] dw_x;
    wire [8*TAPS*LANES-1:0]  dw_w;

    vta_window #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT), .TAPS(TAPS), .LANES(LANES)
    ) dut (
        .clk(clk), .en(en), .group(group), .row(row), .tap(tap), .history(history), .x(x), .w(w), .dw_x(dw_x), .dw_w(dw_w)
    );

    // The lanes that each row saw, latest first, and how many.
    reg [8*LANES*BATCH-1:0] seen [0:63];
    integer                 known [0:15];

    integer    n, b, i, t, used = 0;
    reg [31:0] r;
    reg [8*LANES*BATCH-1:0] lanes;
    reg [8*LANES-1:0]       weights;

    task fill;
        begin
            for (i = 0; i < IN*BATCH; i = i + 1) begin draw(r); x[8*i +: 8] = r[15:8]; end
            for (i = 0; i < IN*OUT; i = i + 1) begin draw(r); w[8*i +: 8] = r[15:8]; end
            draw(r);
            group   = IN > OUT && r[0];
            row     = r[7:4];
            draw(r);
            tap     = r[LOG_BLOCK_OUT+3:4];
            pick(TAPS, r);
            history = r;
            if (history > known[row]) history = known[row];
            if (history > tap) history = tap;
        end
    endtask

    task judge;
        for (t = 0; t <= history; t = t + 1) begin
            weights = w[8*((tap - t)*IN + (group ? OUT : 0)) +: 8*LANES];
            lanes   = t == 0 ? lanes : seen[4*row + t - 1];
            if (dw_w[8*LANES*t +: 8*LANES] !== weights || dw_x[8*LANES*BATCH*t +: 8*LANES*BATCH] !== lanes) begin
                $display("case %0d, operand %0d, row %0d, tap %0d: x %h w %h", n, t, row, tap, dw_x, dw_w);
                $fatal(1, "FAIL");
            end
            used = used + 1;
        end
    endtask

    task beyond;
        for (t = history + 1; t < TAPS; t = t + 1) begin
            if (dw_w[8*LANES*t +: 8*LANES] !== {8*LANES{1'b0}}) begin
                $display("case %0d: operand %0d beyond the history is multiplied", n, t);
                $fatal(1, "FAIL");
            end
        end
    endtask

    task take;
        for (b = 0; b < BATCH; b = b + 1) lanes[8*LANES*b +: 8*LANES] = x[8*(IN*b + (group ? OUT : 0)) +: 8*LANES];
    endtask

    initial begin
        #1;
        if (count == 0) count = 1000;
        for (i = 0; i < 16; i = i + 1) known[i] = 0;
        for (n = 0; n < count; n = n + 1) begin
            @(negedge clk);
            draw(r);
            en = r[3:0] != 0;
            fill;
            #1;
            if (en) begin
                take;
                judge;
                beyond;
                take;
                seen[4*row + 2] = seen[4*row + 1];
                seen[4*row + 1] = seen[4*row];
                seen[4*row]     = lanes;
                known[row]      = known[row] + 1;
            end
        end
        $display("%0d operands", used);
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
