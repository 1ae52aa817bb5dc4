// SPDX-License-Identifier: Apache-2.0
//
// A clock, a seeded generator and a verdict for the benches of this folder. Included inside the bench's module.
//   +seed=N  another sequence          +count=N  how many cases
    reg clk = 1'b0;
    always #5 clk = !clk;

    reg [31:0] seed;
    reg [31:0] state;
    integer    count;

    // xorshift: the same sequence in every simulator.
    function [31:0] shifted(input [31:0] from);
        reg [31:0] s;
        begin
            s = from;
            s = s ^ (s << 13);
            s = s ^ (s >> 17);
            s = s ^ (s << 5);
            shifted = s;
        end
    endfunction

    task draw(output [31:0] value);
        begin
            state = shifted(state);
            value = state;
        end
    endtask

    // 0 … limit − 1
    task pick(input [31:0] limit, output [31:0] value);
        begin
            draw(value);
            value = (value >> 3) % limit;
        end
    endtask

    initial begin
        if (!$value$plusargs("seed=%d", seed)) seed = 32'd1;
        if (!$value$plusargs("count=%d", count)) count = 0;
        state = seed * 32'd2654435761 + 32'd12345;
        if (state == 0) state = 32'd1;
        $display("seed %0d", seed);
    end
