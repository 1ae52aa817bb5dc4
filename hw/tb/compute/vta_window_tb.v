// SPDX-License-Identifier: Apache-2.0
//
// vta_window_tb -- the operands of depthwise steps: which tiles, which weight rows, which lanes.
`default_nettype none

module vta_window_tb;
`include "bench.vh"
    parameter integer LOG_BATCH     = 0;
    parameter integer LOG_BLOCK_IN  = 4;
    parameter integer LOG_BLOCK_OUT = 4;
    localparam integer TAPS  = LOG_BLOCK_OUT < 3 ? 2 : 3;
    localparam integer ROWS  = LOG_BLOCK_OUT > 3 ? 3 : 1;
    localparam integer BATCH = 1 << LOG_BATCH;
    localparam integer IN    = 1 << LOG_BLOCK_IN;
    localparam integer OUT   = 1 << LOG_BLOCK_OUT;
    localparam integer LANES = IN < OUT ? IN : OUT;

    reg                      three;
    reg                      group;
    reg  [LOG_BLOCK_OUT-1:0] tap;
    localparam integer BACK = TAPS - 1;
    wire [LOG_BLOCK_OUT-1:0] low = tap - BACK[LOG_BLOCK_OUT-1:0];
    reg  [24*IN*BATCH-1:0]   x;         // three tiles
    reg  [8*IN*OUT-1:0]      w;
    wire [8*ROWS*LANES*BATCH-1:0] dw_x;
    wire [8*ROWS*TAPS*LANES-1:0]  dw_w;

    vta_window #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT), .TAPS(TAPS), .ROWS(ROWS),
        .LANES(LANES)
    ) dut (
        .three(three), .x_more(x[24*IN*BATCH-1 : 8*IN*BATCH]), .group(group), .low(low), .x(x[8*IN*BATCH-1:0]), .w(w),
        .dw_x(dw_x), .dw_w(dw_w)
    );

    integer    n, b, i, l, t, at, used = 0;
    reg [31:0] r;
    reg [7:0]  want;

    task wrong(input integer row, input integer lane);
        begin
            $display("case %0d, row %0d, lane %0d, tap %0d, three %0d: x %h w %h", n, row, lane, tap, three, dw_x, dw_w);
            $fatal(1, "FAIL");
        end
    endtask

    initial begin
        #1;
        if (count == 0) count = 300;
        for (n = 0; n < count; n = n + 1) begin
            @(negedge clk);
            for (i = 0; i < 3*IN*BATCH; i = i + 1) begin draw(r); x[8*i +: 8] = r[15:8]; end
            for (i = 0; i < IN*OUT; i = i + 1) begin draw(r); w[8*i +: 8] = r[15:8]; end
            draw(r);
            three = ROWS == 3 && r[0];
            group = IN > OUT && r[1];
            tap   = three ? 2 : r[LOG_BLOCK_OUT+3:4];
            #1;
            for (i = 0; i < ROWS; i = i + 1) for (l = 0; l < LANES; l = l + 1) begin
                for (b = 0; b < BATCH; b = b + 1) begin
                    want = i == 0 || three ? x[8*(IN*(BATCH*i + b) + l + (group ? OUT : 0)) +: 8] : 8'd0;
                    if (dw_x[8*(LANES*(BATCH*i + b) + l) +: 8] !== want) wrong(i, l);
                end
                // Row i of a window of three by three begins with tap 3·i. Taps before the first are of no use.
                for (t = 0; t < TAPS; t = t + 1) begin
                    at = tap + 3*i - t;
                    if (at >= 0 && (i == 0 || three)) begin
                        if (dw_w[8*(LANES*(TAPS*i + t) + l) +: 8] !== w[8*(IN*at + l + (group ? OUT : 0)) +: 8]) wrong(i, l);
                        used = used + 1;
                    end
                end
            end
        end
        $display("%0d factors", used);
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
