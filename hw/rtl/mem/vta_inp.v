// SPDX-License-Identifier: Apache-2.0
//
// vta_inp -- the INP scratchpad: as vta_ram, and two more entries in the same cycle for the rows of a depthwise window, and a
// second writer.
//
// Contract: vta_ram's, with one slice offered to all. The second writer's strobes are for grains, each with data of its own; the
// two must not write in one cycle, but with ROWS = 3 at addresses that differ modulo 4. With rd_more, which comes with rd_en, rd_more_data are one cycle later, and for that cycle, the
// entries of rd_addr + rd_pitch and rd_addr + 2·rd_pitch, where rd_pitch is odd; rd_more_addr holds these two sums. As it is
// built there are four RAMs, which take entries in turn: three entries an odd number apart are never in the same one.
// ROWS = 1: rd_more must stay low, and rd_more_data are 0.
`include "vta_assert.vh"
`default_nettype none

module vta_inp #(
    parameter integer LOG_DEPTH = 11,
    parameter integer WIDTH     = 128,
    parameter integer SLICE     = 64,
    parameter integer GRAIN     = 64,   // a slice, or a part of one
    parameter integer ROWS      = 3
) (
    input  wire                   clk,
    input  wire                   rst,

    input  wire                   wr_en,
    input  wire [WIDTH/SLICE-1:0] wr_strobe,
    input  wire [LOG_DEPTH-1:0]   wr_addr,
    input  wire [SLICE-1:0]       wr_data,

    input  wire                   two_en,
    input  wire [WIDTH/GRAIN-1:0] two_strobe,
    input  wire [LOG_DEPTH-1:0]   two_addr,
    input  wire [WIDTH-1:0]       two_data,

    input  wire                   rd_en,
    input  wire [LOG_DEPTH-1:0]   rd_addr,
    output wire [WIDTH-1:0]       rd_data,
    // The waiver: with one row, nobody asks for more.
    // verilator lint_off UNUSEDSIGNAL
    input  wire                   rd_more,
    input  wire [2*LOG_DEPTH-1:0] rd_more_addr,
    // verilator lint_on UNUSEDSIGNAL
    output wire [2*WIDTH-1:0]     rd_more_data
);
    // The first writer's strobes, by grains.
    localparam integer GRAINS = WIDTH / GRAIN;
    localparam integer EACH   = SLICE / GRAIN;
    wire [GRAINS-1:0] wr_grains;
    genvar g;
    generate
        for (g = 0; g < GRAINS; g = g + 1) begin : grain
            assign wr_grains[g] = wr_strobe[g/EACH];
        end
    endgenerate

`ifdef SYNTHESIS
 `define VTA_INP_BANKS
`elsif FORMAL
 `define VTA_INP_BANKS
`endif

`ifdef VTA_INP_BANKS
    localparam integer BANKS = 4;
    localparam integer DEEP  = LOG_DEPTH > 2 ? LOG_DEPTH - 2 : 1;

    generate
        // A scratchpad of two entries has no place for three of them.
        if (ROWS == 1 || LOG_DEPTH < 2) begin : single
            vta_ram #(.LOG_DEPTH(LOG_DEPTH), .WIDTH(WIDTH), .SLICE(GRAIN), .WR_WIDTH(WIDTH)) ram (
                .clk(clk), .wr_en(wr_en || two_en), .wr_strobe(two_en ? two_strobe : wr_grains),
                .wr_addr(two_en ? two_addr : wr_addr), .wr_data(two_en ? two_data : {WIDTH/SLICE{wr_data}}),
                .rd_en(rd_en), .rd_addr(rd_addr), .rd_data(rd_data)
            );
            assign rd_more_data = {2*WIDTH{1'b0}};
        end else begin : banks
            wire [1:0] bank_0 = rd_addr[1:0];
            wire [1:0] bank_1 = rd_more_addr[1:0];
            wire [1:0] bank_2 = rd_more_addr[LOG_DEPTH +: 2];
            reg  [1:0] from_0_q;
            reg  [1:0] from_1_q;
            reg  [1:0] from_2_q;
            always @(posedge clk) begin
                if (rd_en) from_0_q <= bank_0;
                if (rd_en && rd_more) from_1_q <= bank_1;
                if (rd_en && rd_more) from_2_q <= bank_2;
            end

            // The waiver: each shift leaves zeros above.
            // verilator lint_off UNUSEDSIGNAL
            wire [LOG_DEPTH-1:0] at_w = wr_addr >> 2;
            wire [LOG_DEPTH-1:0] at_t = two_addr >> 2;
            wire [LOG_DEPTH-1:0] at_0 = rd_addr >> 2;
            wire [LOG_DEPTH-1:0] at_1 = rd_more_addr[0 +: LOG_DEPTH] >> 2;
            wire [LOG_DEPTH-1:0] at_2 = rd_more_addr[LOG_DEPTH +: LOG_DEPTH] >> 2;
            // verilator lint_on UNUSEDSIGNAL
            wire [WIDTH*BANKS-1:0] out;
            genvar k;
            for (k = 0; k < BANKS; k = k + 1) begin : bank
                localparam [1:0] ME = k;
                wire            first  = bank_0 == ME;
                wire            second = rd_more && bank_1 == ME;
                wire            third  = rd_more && bank_2 == ME;
                wire [DEEP-1:0] addr   = first ? at_0[DEEP-1:0] : second ? at_1[DEEP-1:0] : at_2[DEEP-1:0];
                wire            two    = two_en && two_addr[1:0] == ME;
                vta_ram #(.LOG_DEPTH(DEEP), .WIDTH(WIDTH), .SLICE(GRAIN), .WR_WIDTH(WIDTH)) ram (
                    .clk(clk), .wr_en(two || (wr_en && wr_addr[1:0] == ME)), .wr_strobe(two ? two_strobe : wr_grains),
                    .wr_addr(two ? at_t[DEEP-1:0] : at_w[DEEP-1:0]),
                    .wr_data(two ? two_data : {WIDTH/SLICE{wr_data}}), .rd_en(rd_en && (first || second || third)), .rd_addr(addr),
                    .rd_data(out[WIDTH*k +: WIDTH])
                );
            end

            assign rd_data                      = out[WIDTH*from_0_q +: WIDTH];
            assign rd_more_data[0 +: WIDTH]     = out[WIDTH*from_1_q +: WIDTH];
            assign rd_more_data[WIDTH +: WIDTH] = out[WIDTH*from_2_q +: WIDTH];
        end
    endgenerate
`else
    // The same as one piece, which is simulated faster.
    localparam integer DEPTH  = 1 << LOG_DEPTH;
    localparam integer SLICES = WIDTH / SLICE;
    wire              unused_grains = |wr_grains;
    reg [WIDTH-1:0]   mem_q [0:DEPTH-1];
    reg [WIDTH-1:0]   rd_data_q;
    reg [2*WIDTH-1:0] more_q;

    // The waiver: as in vta_ram.
    integer s;
    // verilator lint_off BLKSEQ
    always @(posedge clk) begin
        if (rd_en) rd_data_q <= mem_q[rd_addr];
        if (rd_en && rd_more) more_q <= {mem_q[rd_more_addr[LOG_DEPTH +: LOG_DEPTH]], mem_q[rd_more_addr[0 +: LOG_DEPTH]]};
        if (wr_en) begin
            for (s = 0; s < SLICES; s = s + 1) begin
                if (wr_strobe[s]) mem_q[wr_addr][s*SLICE +: SLICE] = wr_data;
            end
        end
        if (two_en) begin
            for (s = 0; s < GRAINS; s = s + 1) begin
                if (two_strobe[s]) mem_q[two_addr][s*GRAIN +: GRAIN] = two_data[s*GRAIN +: GRAIN];
            end
        end
    end
    // verilator lint_on BLKSEQ

    assign rd_data      = rd_data_q;
    assign rd_more_data = more_q;
`endif

    wire unused_rst = rst;  // where no assertion is built
    `VTA_PARAM_CHECK(WIDTH % SLICE == 0 && SLICE % GRAIN == 0 && (ROWS == 1 || ROWS == 3))
    `VTA_ASSERT(writers, !wr_en || !two_en || (ROWS == 3 && LOG_DEPTH >= 2 && wr_addr[(LOG_DEPTH >= 2 ? 1 : 0):0] != two_addr[(LOG_DEPTH >= 2 ? 1 : 0):0]))
endmodule

`default_nettype wire
