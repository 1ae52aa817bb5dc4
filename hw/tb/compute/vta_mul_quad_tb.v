// SPDX-License-Identifier: Apache-2.0
//
// vta_mul_quad_tb -- sums of two products each, sets of factors at their extremes and at random, one after the other without
// a pause; every fourth time one weight alone. +seed=N, +count=N.
`default_nettype none

module vta_mul_quad_tb;
`include "bench.vh"
    reg                second = 1'b0;
    reg                alone = 1'b0;
    reg         [7:0]  w0 = 0, w1 = 0, x = 0;
    reg         [9:0]  fix = 0;
    wire        [16:0] low;
    wire signed [16:0] high;

    vta_mul_quad dut (
        .clk2x(clk), .second(second), .alone(alone), .w0(w0), .w1(w1), .x(x), .fix(fix), .low(low), .high(high)
    );

    reg  [31:0] r;
    reg  [7:0]  next0, next1, next_x;     // the second set
    reg         lone;
    integer     want0, want1, due0, due1, last0, last1, n;
    reg         due_lone, last_lone;

    function integer int8(input [7:0] value);
        int8 = {{24{value[7]}}, value};
    endfunction

    task byte_of(output [7:0] value);
        begin
            draw(r);
            value = r[10:8] == 0 ? 8'h80 : r[10:8] == 1 ? 8'h7f : r[10:8] == 2 ? 8'h00 : r[7:0];
        end
    endtask

    // A set of factors takes two cycles; its sums are there while the next but one begins.
    initial begin
        #1;
        if (count == 0) count = 200000;
        for (n = 0; n < count; n = n + 1) begin
            @(negedge clk);
            byte_of(w0);
            byte_of(w1);
            byte_of(x);
            byte_of(next0);
            byte_of(next1);
            byte_of(next_x);
            draw(r);
            lone = r[1:0] == 0;
            if (lone) next_x = 0;
            {second, alone} = {1'b0, lone};
            {last0, last1, last_lone} = {due0, due1, due_lone};
            {due0, due1, due_lone} = {want0, want1, lone};
            want0 = int8(w0) * int8(x) + int8(next0) * int8(next_x);
            want1 = int8(w1) * int8(x) + int8(next1) * int8(next_x);
            due_lone = lone;
            due0 = want0;
            due1 = want1;
            @(posedge clk);
            // The fix of these factors stands from here on.
            #1 fix = lone ? 10'd512 : 10'd512 - {{2{x[7]}}, x} - {{2{next_x[7]}}, next_x};
            @(negedge clk);
            {w0, w1, x} = {next0, next1, next_x};
            {second, alone} = 2'b10;
            @(posedge clk);
            #1;
            // The sums of the factors before these are complete.
            if (n > 2) begin
                if (last_lone ? low[15:0] !== last0[15:0] : low !== last0 + 32'd65536 || high !== last1) begin
                    $display("factors %0d: %0d and %0d instead of %0d and %0d", n - 1, low, high, last0, last1);
                    $fatal(1, "FAIL");
                end
            end
        end
        $display("%0d sums", count);
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
