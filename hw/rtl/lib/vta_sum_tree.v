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
    localparam integer EXACT = IN_BITS + LOG_INPUTS;

    // Level l has 2^(LOG_INPUTS - l) sums, a bit wider than those below.
    genvar l, n;
    generate
        for (l = 0; l <= LOG_INPUTS; l = l + 1) begin : level
            localparam integer BITS = IN_BITS + l;
            wire [(BITS << (LOG_INPUTS - l)) - 1:0] part;
            if (l == 0) begin : leaves
                assign part = in;
            end else begin : sums
                for (n = 0; n < (1 << (LOG_INPUTS - l)); n = n + 1) begin : pair
                    vta_add #(.BITS(BITS - 1)) add (
                        .a(level[l-1].part[(BITS-1)*2*n +: BITS-1]), .b(level[l-1].part[(BITS-1)*(2*n + 1) +: BITS-1]),
                        .sum(part[BITS*n +: BITS])
                    );
                end
            end
        end

        if (OUT_BITS > EXACT) begin : extended
            assign sum = {{(OUT_BITS-EXACT){level[LOG_INPUTS].part[EXACT-1]}}, level[LOG_INPUTS].part};
        end else begin : exact
            assign sum = level[LOG_INPUTS].part;
        end
    endgenerate
endmodule

`default_nettype wire
