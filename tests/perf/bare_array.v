// SPDX-License-Identifier: Apache-2.0
//
// bare_array -- 256 multipliers and nothing else: in each cycle a new row of 16 inputs by a new tile of 16 x 16 weights, both from
// memories, into 16 sums. What tests/perf/tsim_speed.py measures tsim by. Every change of clk is a cycle, so that one
// evaluation of the model makes one, as in tsim.
`default_nettype none

module bare_array (
    input  wire         clk,
    output reg  [511:0] sums
);
    reg [127:0]  inputs  [0:255];
    reg [2047:0] weights [0:255];
    reg [7:0]    at;
    reg [127:0]  x_q;
    reg [2047:0] w_q;
    reg [2:0]    ready_q;

    // As bare_array_main.cc has them.
    integer a, k;
    initial begin
        at = 0;
        sums = 0;
        ready_q = 0;
        for (a = 0; a < 256; a = a + 1) begin
            for (k = 0; k < 16; k = k + 1) inputs[a][8*k +: 8] = a[7:0] * 8'd7 + k[7:0] * 8'd29;
            for (k = 0; k < 256; k = k + 1) weights[a][8*k +: 8] = a[7:0] * 8'd11 + k[7:0] * 8'd17;
        end
    end

    integer o, i;
    reg signed [31:0] total;
    // verilator lint_off BLKSEQ
    always @(clk) begin
        at      <= at + 8'd1;
        x_q     <= inputs[at];
        w_q     <= weights[at];
        ready_q <= 3'd1;
        if (ready_q[0]) begin
            for (o = 0; o < 16; o = o + 1) begin
                total = 32'sd0;
                for (i = 0; i < 16; i = i + 1) begin
                    total = total + $signed(w_q[8*(16*o + i) +: 8]) * $signed(x_q[8*i +: 8]);
                end
                sums[32*o +: 32] <= sums[32*o +: 32] + total;
            end
        end
    end
    // verilator lint_on BLKSEQ
endmodule

`default_nettype wire
