// SPDX-License-Identifier: Apache-2.0
//
// soc_page -- stands in for vta_top where only the machine around it is judged: its first registers, and a master of the
// memory that reads and writes all the time, so that the core is one of two.
//
// Contract: HASH_LO and HASH_HI can be read, all else reads as its own address. Bursts go over the second half of memory.
`default_nettype none

module vta_top #(
    parameter integer LOG_BATCH = 0, LOG_BLOCK_IN = 4, LOG_BLOCK_OUT = 4, LOG_UOP_DEPTH = 13, LOG_INP_DEPTH = 11,
    parameter integer LOG_WGT_DEPTH = 10, LOG_ACC_DEPTH = 11, LOG_BUS_BYTES = 3, LOG_QUEUE_DEPTH = 9, ADDR_BITS = 40,
    parameter [63:0]  CONFIG_HASH = 64'd0,
    parameter integer TABLE = 1, LOOP_BACK = 1, DEPTHWISE_TAPS = 9, ROWS = 0, WGT4 = 0, PUMP = 1, LANE_DSPS = 3
) (
    input  wire                 clk, clk2x, rst,
    input  wire                 s_axil_awvalid,
    output wire                 s_axil_awready,
    input  wire [12:0]          s_axil_awaddr,
    input  wire                 s_axil_wvalid,
    output wire                 s_axil_wready,
    input  wire [31:0]          s_axil_wdata,
    input  wire [3:0]           s_axil_wstrb,
    output reg                  s_axil_bvalid,
    input  wire                 s_axil_bready,
    output wire [1:0]           s_axil_bresp,
    input  wire                 s_axil_arvalid,
    output wire                 s_axil_arready,
    input  wire [12:0]          s_axil_araddr,
    output reg                  s_axil_rvalid,
    input  wire                 s_axil_rready,
    output reg  [31:0]          s_axil_rdata,
    output wire [1:0]           s_axil_rresp,
    output wire                 irq,
    output wire                 m_axi_arvalid,
    input  wire                 m_axi_arready,
    output wire [ADDR_BITS-1:0] m_axi_araddr,
    output wire [7:0]           m_axi_arlen,
    output wire [2:0]           m_axi_arsize,
    output wire [1:0]           m_axi_arburst,
    output wire [3:0]           m_axi_arcache,
    output wire [2:0]           m_axi_arprot,
    output wire [3:0]           m_axi_arqos,
    input  wire                 m_axi_rvalid,
    output wire                 m_axi_rready,
    input  wire [(8<<LOG_BUS_BYTES)-1:0] m_axi_rdata,
    input  wire [1:0]           m_axi_rresp,
    input  wire                 m_axi_rlast,
    output wire                 m_axi_awvalid,
    input  wire                 m_axi_awready,
    output wire [ADDR_BITS-1:0] m_axi_awaddr,
    output wire [7:0]           m_axi_awlen,
    output wire [2:0]           m_axi_awsize,
    output wire [1:0]           m_axi_awburst,
    output wire [3:0]           m_axi_awcache,
    output wire [2:0]           m_axi_awprot,
    output wire [3:0]           m_axi_awqos,
    output wire                 m_axi_wvalid,
    input  wire                 m_axi_wready,
    output wire [(8<<LOG_BUS_BYTES)-1:0] m_axi_wdata,
    output wire [(1<<LOG_BUS_BYTES)-1:0] m_axi_wstrb,
    output wire                 m_axi_wlast,
    input  wire                 m_axi_bvalid,
    output wire                 m_axi_bready,
    input  wire [1:0]           m_axi_bresp,
    output wire [31:0]          dbg
);
    assign s_axil_awready = s_axil_wvalid && !s_axil_bvalid;
    assign s_axil_wready  = s_axil_awvalid && !s_axil_bvalid;
    assign s_axil_bresp   = 2'd0;
    assign s_axil_arready = !s_axil_rvalid;
    assign s_axil_rresp   = 2'd0;
    assign irq            = 1'b0;
    assign dbg            = 32'd0;
    always @(posedge clk) begin
        s_axil_bvalid <= !rst && (s_axil_awvalid && s_axil_awready || s_axil_bvalid && !s_axil_bready);
        s_axil_rvalid <= !rst && (s_axil_arvalid && s_axil_arready || s_axil_rvalid && !s_axil_rready);
        if (s_axil_arvalid && s_axil_arready) begin
            s_axil_rdata <= s_axil_araddr == 13'h8 ? CONFIG_HASH[31:0] : s_axil_araddr == 13'hc ? CONFIG_HASH[63:32] :
                            {19'd0, s_axil_araddr};
        end
    end

    // A write of four beats, then a read of them, then the next four.
    localparam [2:0] WRITE = 3'd0, DATA = 3'd1, WROTE = 3'd2, READ = 3'd3, BEATS = 3'd4;
    reg  [2:0]  state;
    reg  [1:0]  beat;
    reg  [31:0] at;
    wire [31:0] value = at ^ {28'd0, beat, 2'd0} ^ 32'h5a5a_0f0f;
    assign {m_axi_arlen, m_axi_awlen}     = {8'd3, 8'd3};
    assign {m_axi_arsize, m_axi_awsize}   = {2{LOG_BUS_BYTES[2:0]}};
    assign {m_axi_arburst, m_axi_awburst} = {2'd1, 2'd1};
    assign {m_axi_arcache, m_axi_arprot, m_axi_arqos, m_axi_awcache, m_axi_awprot, m_axi_awqos} = 22'd0;
    assign m_axi_araddr  = {{(ADDR_BITS - 32){1'b0}}, at};
    assign m_axi_awaddr  = {{(ADDR_BITS - 32){1'b0}}, at};
    assign m_axi_awvalid = state == WRITE && !rst;
    assign m_axi_wvalid  = state == DATA;
    assign m_axi_wdata   = {(1 << LOG_BUS_BYTES) / 4{value}};
    assign m_axi_wstrb   = {(1 << LOG_BUS_BYTES){1'b1}};
    assign m_axi_wlast   = beat == 2'd3;
    assign m_axi_bready  = state == WROTE;
    assign m_axi_arvalid = state == READ;
    assign m_axi_rready  = state == BEATS;
    always @(posedge clk) begin
        if (rst) begin
            state <= WRITE;
            beat  <= 2'd0;
            at    <= 32'h8040_0000;
        end else case (state)
            WRITE: if (m_axi_awready) state <= DATA;
            DATA: if (m_axi_wready) begin
                beat <= beat + 2'd1;
                if (m_axi_wlast) state <= WROTE;
            end
            WROTE: if (m_axi_bvalid) state <= READ;
            READ: if (m_axi_arready) state <= BEATS;
            default: if (m_axi_rvalid) begin
                beat <= beat + 2'd1;
                if (m_axi_rdata !== m_axi_wdata || m_axi_rlast !== m_axi_wlast) $display("the other master read %h for %h", m_axi_rdata, m_axi_wdata);
                if (m_axi_rlast) begin
                    state <= WRITE;
                    at    <= 32'h8040_0000 | (at + 32'd160 & 32'h000f_ffe0);
                end
            end
        endcase
    end
endmodule

`default_nettype wire
