// SPDX-License-Identifier: Apache-2.0
//
// vta_select -- one of up to four words, by constant selects (a wide variable one would be slow to simulate).
// Without `en` the output means nothing.
`default_nettype none

module vta_select #(
    parameter integer WIDTH  = 32,
    parameter integer INPUTS = 4    // 1, 2 or 4
) (
    input  wire                    en,
    input  wire [WIDTH*INPUTS-1:0] in,
    input  wire [1:0]              index,
    output reg  [WIDTH-1:0]        out
);
    always @* begin
        out = {WIDTH{1'bx}};
        if (en) begin
            case (index)
            2'd0:    out = in[WIDTH-1:0];
            2'd1:    out = in[WIDTH*(1 % INPUTS) +: WIDTH];
            2'd2:    out = in[WIDTH*(2 % INPUTS) +: WIDTH];
            default: out = in[WIDTH*(3 % INPUTS) +: WIDTH];
            endcase
        end
    end
endmodule

`default_nettype wire
