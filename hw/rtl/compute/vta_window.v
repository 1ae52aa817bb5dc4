// SPDX-License-Identifier: Apache-2.0
//
// vta_window -- the operands of a depthwise step: the input tile that was just read and, in registers, the two that were
// read before it in the same window row, each with its row of the weight entry.
//
// Contract: combinational from x and w to the operands; with `en` the history of window row `row` moves on by one tile.
// Operand t is the tile read t reads ago in this row, times weight row tap − t; operands beyond `history` are 0. `group`
// chooses which block_out lanes of the input tile are used. Without `en` the operands mean nothing.
`default_nettype none

module vta_window #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer TAPS          = 3,
    parameter integer LANES         = 16
) (
    input  wire                                               clk,
    input  wire                                               en,
    input  wire                                               group,
    input  wire [3:0]                                         row,
    input  wire [LOG_BLOCK_OUT-1:0]                           tap,
    input  wire [1:0]                                         history,
    input  wire [(8 << (LOG_BATCH + LOG_BLOCK_IN)) - 1:0]     x,
    input  wire [(8 << (LOG_BLOCK_IN + LOG_BLOCK_OUT)) - 1:0] w,
    output wire [8*TAPS*LANES*(1 << LOG_BATCH) - 1:0]         dw_x,
    output wire [8*TAPS*LANES - 1:0]                          dw_w
);
    localparam integer BATCH = 1 << LOG_BATCH;
    localparam integer IN    = 1 << LOG_BLOCK_IN;
    localparam integer OUT   = 1 << LOG_BLOCK_OUT;
    localparam integer TILE  = 8*LANES*BATCH;
    // Where the second group's lanes begin; with one group it is never asked for.
    localparam integer OTHER = IN > OUT ? 8*OUT : 0;

    // The lanes of the group.
    wire [TILE-1:0] now;
    genvar b;
    generate
        for (b = 0; b < BATCH; b = b + 1) begin : batch
            assign now[8*LANES*b +: 8*LANES] = group ? x[8*IN*b + OTHER +: 8*LANES] : x[8*IN*b +: 8*LANES];
        end
    endgenerate

    (* ram_style = "distributed" *)
    reg [TILE*(TAPS-1)-1:0] history_q [0:15];
    wire [TILE*(TAPS-1)-1:0] past = history_q[row];

    wire [TILE*TAPS-1:0] recent = {past, now};
    always @(posedge clk) begin
        if (en) history_q[row] <= recent[TILE*(TAPS-1)-1:0];
    end
    assign dw_x = recent;

    genvar t;
    generate
        for (t = 0; t < TAPS; t = t + 1) begin : weight
            localparam [LOG_BLOCK_OUT-1:0] BACK = t;
            wire [LOG_BLOCK_OUT-1:0] index = tap - BACK;
            // The waiver: with four groups or more, not all lanes are ever used.
            // verilator lint_off UNUSEDSIGNAL
            reg [8*IN-1:0]           row_w;
            // verilator lint_on UNUSEDSIGNAL
            always @* begin
                row_w = {8*IN{1'b0}};
                if (en && (t == 0 || history >= BACK[1:0])) row_w = w[{index, {(LOG_BLOCK_IN+3){1'b0}}} +: 8*IN];
            end
            assign dw_w[8*LANES*t +: 8*LANES] = group ? row_w[OTHER +: 8*LANES] : row_w[8*LANES-1:0];
        end
    endgenerate
endmodule

`default_nettype wire
