// SPDX-License-Identifier: Apache-2.0
//
// vta_array_tb -- the forms of the array, those that are built, at the clock and at twice the clock, and the one that is
// simulated, against sums of products: GEMM and depthwise steps in any order, with gaps; every int8 comes up, −128 often.
// Depthwise columns are followed in their rows: what an output gets from which column is counted here, column by column.
// parts: vta_array_lane vta_columns vta_factor_x
`default_nettype none

module vta_array_tb;
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

    reg                          en = 1'b0;
    reg                          depthwise = 1'b0;
    reg  [8*IN*BATCH-1:0]        x;
    reg  [8*IN*OUT-1:0]          w;
    reg  [8*ROWS*LANES*BATCH-1:0] dw_x;
    reg  [8*ROWS*TAPS*LANES-1:0] dw_w;
    reg  [3:0]                   dw_row;
    reg                          dw_ends, dw_add_1, dw_add_2;
    wire [32*OUT*BATCH-1:0]      built;
    wire [32*OUT*BATCH-1:0]      pumped;
    wire [32*OUT*BATCH-1:0]      simulated;

    vta_array_dsp #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT), .TAPS(TAPS), .ROWS(ROWS), .LANES(LANES)
    ) dsp (
        .clk(clk), .clk2x(1'b0), .en(en), .depthwise(depthwise), .x(x), .w(w), .dw_x(dw_x), .dw_w(dw_w), .dw_row(dw_row),
        .dw_ends(dw_ends), .dw_add_1(dw_add_1), .dw_add_2(dw_add_2), .sum(built)
    );

    // Twice the clock; there, shapes must have room for the depthwise lanes of both halves.
    localparam integer COLUMNS = IN / 2;
    reg clk2x = 1'b0;
    initial begin
        #5;
        forever begin
            clk2x = 1'b1;
            #2 clk2x = 1'b0;
            #3;
        end
    end

    generate
        if (ROWS == 3 ? 24*LANES <= IN*OUT : 2*TAPS*((LANES + COLUMNS - 1)/COLUMNS) <= OUT) begin : twice
            vta_array_dsp #(
                .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT), .TAPS(TAPS), .ROWS(ROWS),
                .LANES(LANES), .PUMP(2)
            ) dsp (
                .clk(clk), .clk2x(clk2x), .en(en), .depthwise(depthwise), .x(x), .w(w), .dw_x(dw_x), .dw_w(dw_w), .dw_row(dw_row),
        .dw_ends(dw_ends), .dw_add_1(dw_add_1), .dw_add_2(dw_add_2),
                .sum(pumped)
            );
        end else begin : once
            assign pumped = built;
        end
    endgenerate

    vta_array_loops #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT), .TAPS(TAPS), .ROWS(ROWS), .LANES(LANES)
    ) loops (
        .clk(clk), .en(en), .depthwise(depthwise), .x(x), .w(w), .dw_x(dw_x), .dw_w(dw_w), .dw_row(dw_row),
        .dw_ends(dw_ends), .dw_add_1(dw_add_1), .dw_add_2(dw_add_2), .sum(simulated)
    );

    // Sums that come out four cycles after their inputs went in; the last ones stay.
    reg [32*OUT*BATCH-1:0] expected [0:4];
    reg [4:0]              live = 5'd0;

    integer    n, b, o, i, t, steps = 0;
    reg [31:0] r;
    reg [1:0]  mood;
    integer    sum, at;
    integer    column [0:2];
    integer    to_next [0:16*BATCH*LANES-1];
    integer    to_second [0:16*BATCH*LANES-1];
    integer    known [0:15];        // columns that a row has seen

    task byte_of(output [7:0] value);
        begin
            draw(r);
            value = mood == 0 ? (r[8] ? 8'h80 : 8'h7f) : mood == 1 && r[10:8] == 0 ? 8'h80 : r[7:0];
        end
    endtask

    function integer int8(input [7:0] value);
        int8 = {{24{value[7]}}, value};
    endfunction

    task invent;
        begin
            draw(r);
            mood = r[5:4];
            depthwise = r[7:6] == 0;
            for (i = 0; i < IN*BATCH; i = i + 1) byte_of(x[8*i +: 8]);
            for (i = 0; i < IN*OUT; i = i + 1) byte_of(w[8*i +: 8]);
            for (i = 0; i < ROWS*LANES*BATCH; i = i + 1) byte_of(dw_x[8*i +: 8]);
            for (i = 0; i < ROWS*TAPS*LANES; i = i + 1) byte_of(dw_w[8*i +: 8]);
            if (depthwise) begin
                draw(r);
                dw_row   = r[3:2] == 0 ? r[7:4] : 4'd5;
                dw_ends  = r[9:8] != 0;
                dw_add_1 = r[11:10] != 0 && known[dw_row] > 0;
                dw_add_2 = TAPS > 2 && r[12] && known[dw_row] > 1;
            end
        end
    endtask

    task work;
        for (b = 0; b < BATCH; b = b + 1) begin
            for (o = 0; o < OUT; o = o + 1) begin
                sum = 0;
                if (depthwise && o < LANES) begin
                    for (t = 0; t < TAPS; t = t + 1) begin
                        column[t] = 0;
                        for (i = 0; i < ROWS; i = i + 1)
                            column[t] = column[t] + int8(dw_x[8*((i*BATCH + b)*LANES + o) +: 8])
                                                  * int8(dw_w[8*((i*TAPS + t)*LANES + o) +: 8]);
                    end
                    at = (dw_row*BATCH + b)*LANES + o;
                    if (dw_ends) sum = column[0] + (dw_add_1 ? to_next[at] : 0);
                    to_next[at]  = column[1] + (dw_add_2 ? to_second[at] : 0);
                    to_second[at] = TAPS > 2 ? column[2] : 0;
                end else if (!depthwise) begin
                    for (i = 0; i < IN; i = i + 1) sum = sum + int8(x[8*(b*IN + i) +: 8]) * int8(w[8*(o*IN + i) +: 8]);
                end
                expected[0][32*(b*OUT + o) +: 32] = sum;
            end
        end
    endtask

    task remember;
        if (depthwise) known[dw_row] = known[dw_row] + 1;
    endtask

    initial begin
        #1;
        if (count == 0) count = 40 + 3000/(BATCH*IN*OUT);
        for (i = 0; i < 16; i = i + 1) known[i] = 0;
        @(negedge clk);
        for (n = 0; n < count; n = n + 1) begin
            draw(r);
            en = r[2:0] != 0;
            if (en) begin
                invent;
                work;
                remember;
                steps = steps + 1;
            end
            live = {live[3:0], en};
            @(negedge clk);
            for (i = 4; i > 0; i = i - 1) if (live[i-1] || i == 4) expected[i] = live[i-1] ? expected[i-1] : expected[i];
            #1;
            if (n > 12 && (built !== expected[4] || pumped !== expected[4] || simulated !== expected[4])) begin
                $display("step %0d:\n%h built\n%h at twice the clock\n%h simulated\n%h expected", steps, built, pumped,
                         simulated, expected[4]);
                $fatal(1, "FAIL");
            end
        end
        $display("%0d steps", steps);
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
