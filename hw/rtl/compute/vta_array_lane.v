// SPDX-License-Identifier: Apache-2.0
//
// vta_array_lane -- the adders of one output lane of vta_array_dsp.
//
// Contract: terms with `en`; a cycle later, with `out_en`, `depthwise` and taps; a cycle later the sum of the ones or the
// others, which stays. Terms of EVEN lanes are 2^(15 + LOG_BLOCK_IN) in all too much, those of the others exact.
`default_nettype none

module vta_array_lane #(
    parameter integer LOG_BLOCK_IN = 4,
    parameter integer TAPS         = 3,
    parameter integer PUMP         = 1,
    parameter integer EVEN         = 0
) (
    input  wire                                             clk,
    input  wire                                             en,
    input  wire [((16 + PUMP) << LOG_BLOCK_IN)/PUMP - 1:0]  terms,
    input  wire                                             out_en,
    input  wire                                             depthwise,
    input  wire [16*TAPS-1:0]                               taps,
    output wire [31:0]                                      sum
);
    localparam integer TERM      = 16 + PUMP;
    localparam integer LOG_GROUP = 3 - PUMP;    // they are added by fours, or, half a cycle later, by twos
    localparam integer LOG_PARTS = LOG_BLOCK_IN - 2;
    localparam integer PARTS     = 1 << LOG_PARTS;
    localparam integer SUM_BITS  = 16 + LOG_BLOCK_IN;

    wire [19*PARTS-1:0] part;
    reg  [19*PARTS-1:0] part_q;

    genvar q;
    generate
        for (q = 0; q < PARTS; q = q + 1) begin : group
            vta_sum_tree #(.LOG_INPUTS(LOG_GROUP), .IN_BITS(TERM), .OUT_BITS(19)) add (
                .in(terms[(TERM << LOG_GROUP)*q +: (TERM << LOG_GROUP)]), .sum(part[19*q +: 19])
            );
        end
    endgenerate

    always @(posedge clk) if (en) part_q <= part;

    // The waiver: sums of that many products do not need the topmost bit.
    // verilator lint_off UNUSEDSIGNAL
    wire [SUM_BITS:0]   wide;
    // verilator lint_on UNUSEDSIGNAL
    wire [SUM_BITS-1:0] total = {wide[SUM_BITS-1] ^ (EVEN != 0), wide[SUM_BITS-2:0]};

    vta_sum_tree #(.LOG_INPUTS(LOG_PARTS), .IN_BITS(19), .OUT_BITS(SUM_BITS + 1)) tree (.in(part_q), .sum(wide));

    reg [SUM_BITS-1:0] window;
    integer t;
    always @* begin
        window = {SUM_BITS{1'b0}};
        for (t = 0; t < TAPS; t = t + 1) window = window + {{(SUM_BITS-16){taps[16*t + 15]}}, taps[16*t +: 16]};
    end

    reg [SUM_BITS-1:0] sum_q;
    always @(posedge clk) begin
        if (out_en) sum_q <= depthwise ? window : total;
    end

    assign sum = {{(32-SUM_BITS){sum_q[SUM_BITS-1]}}, sum_q};
endmodule

`default_nettype wire
