// SPDX-License-Identifier: Apache-2.0
//
// vta_ram -- one write port, one synchronous read port; the only RAM with a read register in hw/.
//
// Contract: rd_data is the entry of rd_addr one cycle after rd_en and stays until the next rd_en. A read in the cycle
// of a write to the same entry gives the old contents. An entry is WIDTH bits in slices of SLICE bits, each written
// where its strobe is set. WR_WIDTH = WIDTH: every slice has its own data; WR_WIDTH = SLICE: all are offered the same; twice
// that: the even ones the lower half, the odd ones the upper.
`include "vta_assert.vh"
`default_nettype none

module vta_ram #(
    parameter integer LOG_DEPTH = 4,
    parameter integer WIDTH     = 32,
    parameter integer SLICE     = 32,
    parameter integer WR_WIDTH  = 32
) (
    input  wire                   clk,

    input  wire                   wr_en,
    input  wire [WIDTH/SLICE-1:0] wr_strobe,
    input  wire [LOG_DEPTH-1:0]   wr_addr,
    input  wire [WR_WIDTH-1:0]    wr_data,

    input  wire                   rd_en,
    input  wire [LOG_DEPTH-1:0]   rd_addr,
    output wire [WIDTH-1:0]       rd_data
);
    localparam integer DEPTH  = 1 << LOG_DEPTH;
    localparam integer SLICES = WIDTH / SLICE;

    reg [WIDTH-1:0] mem_q [0:DEPTH-1];
    reg [WIDTH-1:0] rd_data_q;

    assign rd_data = rd_data_q;

`ifdef SYNTHESIS
 `define VTA_RAM_SLICES
`elsif FORMAL
 `define VTA_RAM_SLICES
`endif

`ifdef VTA_RAM_SLICES
    // As it is built: a write enable for each slice.
    genvar s;
    generate
        for (s = 0; s < SLICES; s = s + 1) begin : slice
            always @(posedge clk) begin
                if (wr_en && wr_strobe[s])
                    mem_q[wr_addr][s*SLICE +: SLICE] <= wr_data[(s*SLICE) % WR_WIDTH +: SLICE];
            end
        end
    endgenerate

    always @(posedge clk) begin
        if (rd_en) rd_data_q <= mem_q[rd_addr];
    end
`else
    // The same as one piece, which is simulated faster: in each cycle the read comes first, and a cycle without a write
    // costs one test. The waiver: the memory is written at once, and nothing else looks at it.
    integer s;
    // verilator lint_off BLKSEQ
    always @(posedge clk) begin
        if (rd_en) rd_data_q <= mem_q[rd_addr];
        if (wr_en) begin
            for (s = 0; s < SLICES; s = s + 1) begin
                if (wr_strobe[s]) mem_q[wr_addr][s*SLICE +: SLICE] = wr_data[(s*SLICE) % WR_WIDTH +: SLICE];
            end
        end
    end
    // verilator lint_on BLKSEQ
`endif

    `VTA_PARAM_CHECK(WIDTH % SLICE == 0 && (WR_WIDTH == WIDTH || WR_WIDTH == SLICE || WR_WIDTH == 2*SLICE))
endmodule

`default_nettype wire
