// SPDX-License-Identifier: Apache-2.0
//
// vta_mul_quad_tb -- sums of two products each, sets of factors at their extremes and at random, one after the other without
// a pause; every fourth time one weight alone. The factors come from vta_factor, whose other inputs are anything.
// +seed=N, +count=N.
`default_nettype none

module vta_mul_quad_tb;
`include "bench.vh"
    reg                second = 1'b0;
    reg                alone = 1'b0;
    reg         [7:0]  w0 = 0, w1 = 0, x = 0;
    reg         [9:0]  fix = 0;
    wire        [16:0] low;
    wire signed [16:0] high;

    reg         [7:0]  tap = 0;
    reg         [16:0] later = 0;
    wire        [16:0] factor;
    wire        [16:0] plain;
    vta_factor choice (
        .second(second), .w0(w0), .w1(w1), .alone(alone), .tap(tap), .later(later), .factor(factor)
    );
    vta_factor #(.SHARED(0)) unshared (
        .second(second), .w0(w0), .w1(w1), .alone(alone), .tap(tap), .later(later), .factor(plain)
    );
    vta_mul_quad dut (
        .clk2x(clk), .second(second), .factor(factor), .x(x), .fix(fix), .low(low), .high(high)
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

    // The factor that no depthwise step shares is the same for two weights.
    task check;
        begin
            #1;
            if (!lone && plain !== (second ? later : {w1, 1'b0, w0 + 8'd128})) begin
                $display("factor %h", plain);
                $fatal(1, "FAIL");
            end
        end
    endtask

    // A set of factors takes two cycles; its sums are there while the next but one begins.
    initial begin
        #1;
        if (count == 0) count = 60000;
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
            if (lone && r[2]) next_x = 0;
            {second, alone} = {1'b0, lone};
            later = r[31:15];
            {last0, last1, last_lone} = {due0, due1, due_lone};
            {due0, due1, due_lone} = {want0, want1, lone};
            want0 = int8(w0) * int8(x) + int8(next0) * int8(next_x);
            want1 = int8(w1) * int8(x) + int8(next1) * int8(next_x);
            due_lone = lone;
            due0 = want0;
            due1 = want1;
            tap  = lone ? w0 : r[10:3];
            if (lone) w0 = r[10:3];
            check;
            @(posedge clk);
            // The fix of these factors stands from here on.
            #1 fix = lone ? 10'd512 : 10'd512 - {{2{x[7]}}, x} - {{2{next_x[7]}}, next_x};
            @(negedge clk);
            later = lone ? {{9{next0[7]}}, next0} : {next1, 1'b0, next0 + 8'd128};
            draw(r);
            {second, alone, tap, w1, w0} = {1'b1, r[24:0]};
            x = next_x;
            check;
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
