// SPDX-License-Identifier: Apache-2.0
//
// vta_uop_ram -- the micro-op buffer: a true dual-port RAM.
//
// Contract: port A writes (a_wr) or reads (a_rd) one entry a cycle, not both; port B reads. Data come one cycle after
// the read and stay until the next one. What a read of an entry gives in the cycle of its write is not defined.
`default_nettype none

module vta_uop_ram #(
    parameter integer LOG_DEPTH = 13
) (
    input  wire                 clk,

    input  wire                 a_wr,
    input  wire                 a_rd,
    input  wire [LOG_DEPTH-1:0] a_addr,
    input  wire [31:0]          a_wr_data,
    output wire [31:0]          a_rd_data,

    input  wire                 b_rd,
    input  wire [LOG_DEPTH-1:0] b_addr,
    output wire [31:0]          b_rd_data
);
    localparam integer DEPTH = 1 << LOG_DEPTH;

    reg [31:0] mem_q [0:DEPTH-1];
    reg [31:0] a_rd_data_q;
    reg [31:0] b_rd_data_q;

    always @(posedge clk) begin
        if (a_wr) mem_q[a_addr] <= a_wr_data;
        else if (a_rd) a_rd_data_q <= mem_q[a_addr];
    end

    always @(posedge clk) begin
        if (b_rd) b_rd_data_q <= mem_q[b_addr];
    end

    assign a_rd_data = a_rd_data_q;
    assign b_rd_data = b_rd_data_q;
endmodule

`default_nettype wire
