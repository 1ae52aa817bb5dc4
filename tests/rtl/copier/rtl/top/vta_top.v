// SPDX-License-Identifier: Apache-2.0
//
// Not the accelerator: a copy engine with the ports of vta_top, small enough that a simulator of it is built in seconds. The tests
// of harness, builder and platform use it.
//
// Registers: 0x00 "VTAC" · 0x10 write: start · 0x14 bit 0 busy, bit 1 done, bit 2 an answer was not OKAY · 0x20 from ·
// 0x24 to · 0x28 beats (1 to 256) · 0x2c misbehave: bit 0 an assertion fails, bit 1 WLAST comes one beat early
`default_nettype none

module vta_top #(
    parameter integer LOG_BATCH       = 0,
    parameter integer LOG_BLOCK_IN    = 4,
    parameter integer LOG_BLOCK_OUT   = 4,
    parameter integer LOG_UOP_DEPTH   = 13,
    parameter integer LOG_INP_DEPTH   = 11,
    parameter integer LOG_WGT_DEPTH   = 10,
    parameter integer LOG_ACC_DEPTH   = 11,
    parameter integer LOG_BUS_BYTES   = 3,
    parameter integer LOG_QUEUE_DEPTH = 9,
    parameter integer ADDR_BITS       = 40,
    parameter integer PUMP            = 1,
    parameter integer TABLE           = 1,
    parameter integer LOOP_BACK       = 1,
    parameter integer DEPTHWISE_TAPS  = 9,
    parameter integer ROWS            = 0,
    parameter integer WGT4            = 0,
    parameter [63:0]  CONFIG_HASH     = 64'd0
) (
    input  wire                          clk,
    input  wire                          rst,
    input  wire                          s_axil_awvalid,
    output wire                          s_axil_awready,
    input  wire [11:0]                   s_axil_awaddr,
    input  wire                          s_axil_wvalid,
    output wire                          s_axil_wready,
    input  wire [31:0]                   s_axil_wdata,
    input  wire [3:0]                    s_axil_wstrb,
    output wire                          s_axil_bvalid,
    input  wire                          s_axil_bready,
    output wire [1:0]                    s_axil_bresp,
    input  wire                          s_axil_arvalid,
    output wire                          s_axil_arready,
    input  wire [11:0]                   s_axil_araddr,
    output wire                          s_axil_rvalid,
    input  wire                          s_axil_rready,
    output wire [31:0]                   s_axil_rdata,
    output wire [1:0]                    s_axil_rresp,
    output wire                          irq,
    output wire                          m_axi_arvalid,
    input  wire                          m_axi_arready,
    output wire [ADDR_BITS-1:0]          m_axi_araddr,
    output wire [7:0]                    m_axi_arlen,
    output wire [2:0]                    m_axi_arsize,
    output wire [1:0]                    m_axi_arburst,
    input  wire                          m_axi_rvalid,
    output wire                          m_axi_rready,
    input  wire [(8<<LOG_BUS_BYTES)-1:0] m_axi_rdata,
    input  wire [1:0]                    m_axi_rresp,
    input  wire                          m_axi_rlast,
    output wire                          m_axi_awvalid,
    input  wire                          m_axi_awready,
    output wire [ADDR_BITS-1:0]          m_axi_awaddr,
    output wire [7:0]                    m_axi_awlen,
    output wire [2:0]                    m_axi_awsize,
    output wire [1:0]                    m_axi_awburst,
    output wire                          m_axi_wvalid,
    input  wire                          m_axi_wready,
    output wire [(8<<LOG_BUS_BYTES)-1:0] m_axi_wdata,
    output wire [(1<<LOG_BUS_BYTES)-1:0] m_axi_wstrb,
    output wire                          m_axi_wlast,
    input  wire                          m_axi_bvalid,
    output wire                          m_axi_bready,
    input  wire [1:0]                    m_axi_bresp,
    output wire [31:0]                   dbg
);
    localparam integer BUS_BITS = 8 << LOG_BUS_BYTES;

    reg [31:0] from_q;
    reg [31:0] to_q;
    reg [31:0] beats_q;
    reg [1:0]  misbehave_q;
    reg        busy_q;
    reg        done_q;
    reg        error_q;

    // Register page.
    reg        aw_q;
    reg        w_q;
    reg        b_q;
    reg        r_q;
    reg [11:0] aw_addr_q;
    reg [31:0] w_data_q;
    reg [31:0] r_data_q;
    wire       act = aw_q && w_q && !b_q;

    assign s_axil_awready = !aw_q;
    assign s_axil_wready  = !w_q;
    assign s_axil_bvalid  = b_q;
    assign s_axil_bresp   = 2'b00;
    assign s_axil_arready = !r_q;
    assign s_axil_rvalid  = r_q;
    assign s_axil_rdata   = r_data_q;
    assign s_axil_rresp   = 2'b00;
    assign irq            = done_q;

    always @(posedge clk) begin
        if (rst) begin
            aw_q <= 1'b0;
            w_q  <= 1'b0;
            b_q  <= 1'b0;
            r_q  <= 1'b0;
        end else begin
            if (s_axil_awvalid && s_axil_awready) aw_q <= 1'b1;
            if (s_axil_wvalid && s_axil_wready) w_q <= 1'b1;
            if (act) b_q <= 1'b1;
            if (b_q && s_axil_bready) begin
                aw_q <= 1'b0;
                w_q  <= 1'b0;
                b_q  <= 1'b0;
            end
            if (s_axil_arvalid && s_axil_arready) r_q <= 1'b1;
            else if (s_axil_rready) r_q <= 1'b0;
        end
    end

    always @(posedge clk) begin
        if (s_axil_awvalid && s_axil_awready) aw_addr_q <= s_axil_awaddr;
        if (s_axil_wvalid && s_axil_wready) w_data_q <= s_axil_wdata;
        if (s_axil_arvalid && s_axil_arready)
            case (s_axil_araddr)
            12'h000: r_data_q <= 32'h56544143;
            12'h008: r_data_q <= CONFIG_HASH[31:0];
            12'h00c: r_data_q <= CONFIG_HASH[63:32];
            12'h014: r_data_q <= {29'd0, error_q, done_q, busy_q};
            default: r_data_q <= beats_q;
            endcase
    end

    always @(posedge clk) begin
        if (rst) misbehave_q <= 2'b00;
        else if (act)
            case (aw_addr_q)
            12'h020: from_q <= w_data_q;
            12'h024: to_q <= w_data_q;
            12'h028: beats_q <= w_data_q;
            12'h02c: misbehave_q <= w_data_q[1:0];
            default: ;
            endcase
    end

    // Copy engine: one burst in, one burst out.
    reg [BUS_BITS-1:0] store_q [0:255];
    reg [7:0]          fill_q;
    reg [7:0]          drain_q;
    reg                ar_q;
    reg                aw_out_q;
    reg                w_out_q;
    wire [7:0]         last = beats_q[7:0] - 8'd1;
    wire               start = act && aw_addr_q == 12'h010 && !busy_q;

    assign m_axi_arvalid = ar_q;
    assign m_axi_araddr  = {{(ADDR_BITS-32){1'b0}}, from_q};
    assign m_axi_arlen   = last;
    assign m_axi_arsize  = LOG_BUS_BYTES[2:0];
    assign m_axi_arburst = 2'b01;
    assign m_axi_rready  = 1'b1;
    assign m_axi_awvalid = aw_out_q;
    assign m_axi_awaddr  = {{(ADDR_BITS-32){1'b0}}, to_q};
    assign m_axi_awlen   = last;
    assign m_axi_awsize  = LOG_BUS_BYTES[2:0];
    assign m_axi_awburst = 2'b01;
    assign m_axi_wvalid  = w_out_q;
    assign m_axi_wdata   = store_q[drain_q];
    assign m_axi_wstrb   = {(1<<LOG_BUS_BYTES){1'b1}};
    assign m_axi_wlast   = drain_q == (misbehave_q[1] ? last - 8'd1 : last);
    assign m_axi_bready  = 1'b1;

    // The strobes of one instruction of the load unit.
    assign dbg = {11'd0, busy_q, 3'd0, ar_q, 7'd0, m_axi_bvalid, 3'd0, ar_q && m_axi_arvalid && fill_q == 8'd0 && !seen_q,
                  3'd0, start};
    reg seen_q;
    always @(posedge clk) seen_q <= ar_q;

    always @(posedge clk) begin
        if (rst) begin
            busy_q   <= 1'b0;
            done_q   <= 1'b0;
            error_q  <= 1'b0;
            ar_q     <= 1'b0;
            aw_out_q <= 1'b0;
            w_out_q  <= 1'b0;
        end else begin
            if (start) begin
                busy_q  <= 1'b1;
                done_q  <= 1'b0;
                error_q <= 1'b0;
                ar_q    <= 1'b1;
                fill_q  <= 8'd0;
                drain_q <= 8'd0;
            end else if (m_axi_arready) ar_q <= 1'b0;
            if (m_axi_rvalid) begin
                fill_q  <= fill_q + 8'd1;
                error_q <= error_q || m_axi_rresp[1];
                if (m_axi_rlast) begin
                    aw_out_q <= 1'b1;
                    w_out_q  <= 1'b1;
                end
            end
            if (aw_out_q && m_axi_awready) aw_out_q <= 1'b0;
            if (w_out_q && m_axi_wready) begin
                drain_q <= drain_q + 8'd1;
                if (drain_q == last) w_out_q <= 1'b0;
            end
            if (m_axi_bvalid) begin
                busy_q  <= 1'b0;
                done_q  <= 1'b1;
                error_q <= error_q || m_axi_bresp[1];
            end
        end
    end

    always @(posedge clk) begin
        if (m_axi_rvalid) store_q[fill_q] <= m_axi_rdata;
        if (!rst && misbehave_q[0]) $fatal(1, "%m: told to fail");
    end

    wire unused = &{1'b0, s_axil_wstrb, m_axi_rresp[0], m_axi_bresp[0], LOG_BATCH[0], LOG_BLOCK_IN[0], LOG_BLOCK_OUT[0],
                    LOG_UOP_DEPTH[0], LOG_INP_DEPTH[0], LOG_WGT_DEPTH[0], LOG_ACC_DEPTH[0], LOG_QUEUE_DEPTH[0],
                    beats_q[31:8]};
endmodule

`default_nettype wire
