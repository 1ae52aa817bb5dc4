// SPDX-License-Identifier: Apache-2.0
//
// vta_window -- the operands of a depthwise step: the input tiles of a window column, and for each the rows of the weight entry
// by which it is multiplied, one for each output that it counts in.
//
// Contract: combinational. Factor t of row 0 is weight row low + TAPS − 1 − t, modulo block_out. With `three`, a step takes three
// rows: factor t of row r is weight row 3·r + 2 − t; without, rows 1 and 2 are 0. `group` chooses which block_out lanes of the
// input tiles are used.
`default_nettype none

module vta_window #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer TAPS          = 3,
    parameter integer ROWS          = 3,    // window rows of a step, at most
    parameter integer LANES         = 16
) (
    // The waivers: with one row there are no others; with four groups or more, not all lanes are ever used.
    // verilator lint_off UNUSEDSIGNAL
    input  wire                                               three,
    input  wire [(16 << (LOG_BATCH + LOG_BLOCK_IN)) - 1:0]    x_more,
    input  wire [(8 << (LOG_BATCH + LOG_BLOCK_IN)) - 1:0]     x,
    // verilator lint_on UNUSEDSIGNAL
    input  wire                                               group,
    input  wire [LOG_BLOCK_OUT-1:0]                           low,
    input  wire [(8 << (LOG_BLOCK_IN + LOG_BLOCK_OUT)) - 1:0] w,
    output wire [8*ROWS*LANES*(1 << LOG_BATCH) - 1:0]         dw_x,
    output wire [8*ROWS*TAPS*LANES - 1:0]                     dw_w
);
    localparam integer BATCH = 1 << LOG_BATCH;
    localparam integer IN    = 1 << LOG_BLOCK_IN;
    localparam integer OUT   = 1 << LOG_BLOCK_OUT;
    // First bit of the second group's lanes; with one group it is never asked for.
    localparam integer OTHER = IN > OUT ? 8*OUT : 0;

    genvar b, r, t;
    generate
        for (b = 0; b < BATCH; b = b + 1) begin : batch
            assign dw_x[8*LANES*b +: 8*LANES] = group ? x[8*IN*b + OTHER +: 8*LANES] : x[8*IN*b +: 8*LANES];
            for (r = 1; r < ROWS; r = r + 1) begin : row
                localparam integer AT = 8*IN*(BATCH*(r - 1) + b);
                assign dw_x[8*LANES*(BATCH*r + b) +: 8*LANES] =
                    {8*LANES{three}} & (group ? x_more[AT + OTHER +: 8*LANES] : x_more[AT +: 8*LANES]);
            end
        end

`ifdef SYNTHESIS
        // The factors are rows beside each other: those that a multiple of four is followed by, then of these the right ones.
        wire [8*IN*(TAPS + 3)-1:0] near;
        for (t = 0; t < TAPS + 3; t = t + 1) begin : candidate
            wire [8*IN*(OUT/4)-1:0] far;
            for (r = 0; r < OUT/4; r = r + 1) begin : row
                assign far[8*IN*r +: 8*IN] = w[8*IN*((4*r + t) % OUT) +: 8*IN];
            end
            if (OUT == 4) begin : one
                assign near[8*IN*t +: 8*IN] = far;
            end else begin : more
                assign near[8*IN*t +: 8*IN] = far[{low[LOG_BLOCK_OUT-1:2], {(LOG_BLOCK_IN+3){1'b0}}} +: 8*IN];
            end
        end
`endif

        for (t = 0; t < TAPS; t = t + 1) begin : factor
            // The waiver: as above.
            // verilator lint_off UNUSEDSIGNAL
            wire [8*IN-1:0] row_w;
            // verilator lint_on UNUSEDSIGNAL
`ifdef SYNTHESIS
            wire [8*IN*4-1:0] moved = near[8*IN*(TAPS - 1 - t) +: 8*IN*4] >> {low[1:0], {(LOG_BLOCK_IN+3){1'b0}}};
            wire unused_moved = |moved;     // the others
            assign row_w = moved[8*IN-1:0];
`else
            // The same in one step, which is simulated faster.
            localparam integer UP = TAPS - 1 - t;
            wire [LOG_BLOCK_OUT-1:0] index = low + UP[LOG_BLOCK_OUT-1:0];
            assign row_w = w[{index, {(LOG_BLOCK_IN+3){1'b0}}} +: 8*IN];
`endif
            assign dw_w[8*LANES*t +: 8*LANES] = group ? row_w[OTHER +: 8*LANES] : row_w[8*LANES-1:0];
            for (r = 1; r < ROWS; r = r + 1) begin : row
                localparam integer AT = 8*IN*(3*r + 2 - t);
                assign dw_w[8*LANES*(TAPS*r + t) +: 8*LANES] = group ? w[AT + OTHER +: 8*LANES] : w[AT +: 8*LANES];
            end
        end
    endgenerate
endmodule

`default_nettype wire
