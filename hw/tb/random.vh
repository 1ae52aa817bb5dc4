// SPDX-License-Identifier: Apache-2.0
//
// A clock, a reset and random numbers for the benches of this folder. Included inside the bench's module.
//   +seed=N  another sequence          +runs=N  how many rounds
    reg clk = 1'b0;
    reg rst = 1'b1;
    always #5 clk = !clk;

    integer    seed, runs;
    reg [31:0] state;

    // a … b; a call may stand in an argument of another
    function automatic integer range(input integer a, input integer b);
        begin
            state = state ^ (state << 13);
            state = state ^ (state >> 17);
            state = state ^ (state << 5);
            range = a + (state >> 1) % (b - a + 1);
        end
    endfunction

    function automatic chance(input integer percent);
        chance = range(0, 99) < percent;
    endfunction

    // A place for a memory of `size` bytes on a bus of `bits` address bits: at the start, around 4 GiB, at the very end.
    function automatic [63:0] draw_origin(input integer bits, input integer size);
        case (range(0, 3))
        0: draw_origin = 64'd0;
        1: draw_origin = (64'd1 << bits) - size;
        default: draw_origin = bits > 32 ? 64'h100000000 - 4096*range(1, size/4096 - 1) : (64'd1 << bits) - size;
        endcase
    endfunction

    task begin_bench(input integer default_runs);
        begin
            if (!$value$plusargs("seed=%d", seed)) seed = 1;
            if (!$value$plusargs("runs=%d", runs)) runs = default_runs;
            $display("seed %0d", seed);
            state = seed * 32'd2654435761 | 32'd1;
        end
    endtask

    task reset;
        begin
            @(negedge clk) rst = 1'b1;
            repeat (4) @(negedge clk);
            rst = 1'b0;
        end
    endtask
