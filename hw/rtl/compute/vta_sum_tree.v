// SPDX-License-Identifier: Apache-2.0
//
// vta_sum_tree -- the sum of 2^LOG_INPUTS signed numbers, a balanced tree of adders: combinational.
`default_nettype none

module vta_sum_tree #(
    parameter integer LOG_INPUTS = 2,
    parameter integer IN_BITS    = 18,
    parameter integer OUT_BITS   = 20   // at least IN_BITS + LOG_INPUTS
) (
    input  wire [(IN_BITS << LOG_INPUTS) - 1:0] in,
    output wire [OUT_BITS-1:0]                  sum
);
    localparam integer INPUTS = 1 << LOG_INPUTS;

    // Node n sums nodes 2n and 2n+1; the leaves begin at node 2^LOG_INPUTS.
    // The waiver: node 0 does not exist.
    // verilator lint_off UNUSEDSIGNAL
    reg [OUT_BITS*2*INPUTS-1:0] node;
    // verilator lint_on UNUSEDSIGNAL
    integer n;
    always @* begin
        node = {OUT_BITS*2*INPUTS{1'b0}};
        for (n = 0; n < INPUTS; n = n + 1) begin
            node[OUT_BITS*(INPUTS + n) +: OUT_BITS] =
                {{(OUT_BITS-IN_BITS){in[IN_BITS*n + IN_BITS-1]}}, in[IN_BITS*n +: IN_BITS]};
        end
        for (n = INPUTS - 1; n > 0; n = n - 1) begin
            node[OUT_BITS*n +: OUT_BITS] = node[OUT_BITS*2*n +: OUT_BITS] + node[OUT_BITS*(2*n + 1) +: OUT_BITS];
        end
    end

    assign sum = node[OUT_BITS +: OUT_BITS];
endmodule

`default_nettype wire
