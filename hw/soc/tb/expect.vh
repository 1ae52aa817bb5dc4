// SPDX-License-Identifier: Apache-2.0
//
// Random numbers, and a count of what was wrong, for benches of units. Included inside the bench's module.
    integer seed, wrong = 0;

    function integer draw(input integer below);
        draw = $unsigned($random(seed)) % below;
    endfunction

    // The first few faults are told with their time.
    task automatic expect_that(input holds, input [8*40-1:0] what);
        if (holds !== 1'b1) begin
            wrong = wrong + 1;
            if (wrong < 10) $display("%0t: %0s", $realtime, what);
        end
    endtask
