// SPDX-License-Identifier: Apache-2.0
//
// vta_array_lane -- the adders of one output lane of vta_array_dsp.
//
// Contract: terms with `en`; a cycle later the sums of each four products are in `part`, and with `out_en` come `depthwise`, `ends`
// and `window`; a cycle later the sum of all parts or, with `depthwise`, the window if it ends and 0 if not, which stays. Terms of EVEN
// lanes are 2^(15 + LOG_BLOCK_IN) in all too much, those of the others exact; four products of int8, or the sums of two of them, are
// exact modulo 2^17 either way.
`default_nettype none

module vta_array_lane #(
    parameter integer LOG_BLOCK_IN = 4,
    parameter integer PUMP         = 1,
    parameter integer EVEN         = 0
) (
    input  wire                                             clk,
    input  wire                                             en,
    input  wire [((16 + PUMP) << LOG_BLOCK_IN)/PUMP - 1:0]  terms,
    output wire [(17 << LOG_BLOCK_IN)/4 - 1:0]              part,
    input  wire                                             out_en,
    input  wire                                             depthwise,
    input  wire                                             ends,
    input  wire [18:0]                                      window,
    output wire [31:0]                                      sum
);
    localparam integer TERM      = 16 + PUMP;
    localparam integer LOG_GROUP = 3 - PUMP;    // they are added by fours, or, half a cycle later, by twos
    localparam integer LOG_PARTS = LOG_BLOCK_IN - 2;
    localparam integer PARTS     = 1 << LOG_PARTS;
    localparam integer SUM_BITS  = 16 + LOG_BLOCK_IN;
    localparam integer KEPT      = SUM_BITS > 19 ? SUM_BITS : 19;

    wire [19*PARTS-1:0] added;
    reg  [19*PARTS-1:0] part_q;

    genvar q;
    generate
        for (q = 0; q < PARTS; q = q + 1) begin : group
            vta_sum_tree #(.LOG_INPUTS(LOG_GROUP), .IN_BITS(TERM), .OUT_BITS(19)) add (
                .in(terms[(TERM << LOG_GROUP)*q +: (TERM << LOG_GROUP)]), .sum(added[19*q +: 19])
            );
            assign part[17*q +: 17] = part_q[19*q +: 17];
        end
    endgenerate

    always @(posedge clk) if (en) part_q <= added;

    // The waiver: sums of that many products do not need the topmost bit.
    // verilator lint_off UNUSEDSIGNAL
    wire [SUM_BITS:0]   wide;
    // verilator lint_on UNUSEDSIGNAL
    wire [SUM_BITS-1:0] total = {wide[SUM_BITS-1] ^ (EVEN != 0), wide[SUM_BITS-2:0]};

    vta_sum_tree #(.LOG_INPUTS(LOG_PARTS), .IN_BITS(19), .OUT_BITS(SUM_BITS + 1)) tree (.in(part_q), .sum(wide));

    wire [31:0] of_window = {{13{window[18]}}, window};
    wire [31:0] of_parts  = {{(32-SUM_BITS){total[SUM_BITS-1]}}, total};

    wire unused_upper = |{of_window, of_parts};     // bits of the sign

    reg [KEPT-1:0] sum_q;
    always @(posedge clk) begin
        if (out_en && depthwise && !ends) sum_q <= {KEPT{1'b0}};       // its registers' reset, so that no bit takes a wider table
        else if (out_en) sum_q <= depthwise ? of_window[KEPT-1:0] : of_parts[KEPT-1:0];
    end

    assign sum = {{(32-KEPT){sum_q[KEPT-1]}}, sum_q};
endmodule

`default_nettype wire
