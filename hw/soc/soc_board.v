// SPDX-License-Identifier: Apache-2.0
//
// soc_board -- the machine on a board that has a 16-bit SDRAM and an SPI flash: soc_boot fills main memory, then the core starts.
//
//     soc_boot ──┐
//     soc_top ───┴─ soc_sdram ─ the chip
//
// Contract: ports are pins, without the cells of a part. The chip's clock is clk inverted. The parameters from LOG_BATCH on
// are the accelerator's, whose bus has 64 bits.
`default_nettype none

module soc_board #(
    parameter [23:0]  FLASH           = 24'h20_0000,
    parameter integer UART_DIVIDER    = 434,    // 115,200 at 50 MHz
    parameter integer LOG_LINES       = 8,
    parameter [15:0]  START           = 16'd11000,
    parameter [15:0]  REFRESH         = 16'd370,
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
    parameter [63:0]  CONFIG_HASH     = 64'd0,
    parameter integer TABLE           = 1,
    parameter integer LOOP_BACK       = 1,
    parameter integer DEPTHWISE_TAPS  = 9,
    parameter integer ROWS            = 0,
    parameter integer WGT4            = 0,
    parameter integer PUMP            = 1,
    parameter integer LANE_DSPS       = 3
) (
    input  wire        clk,
    input  wire        rst,
    output wire        tx,
    input  wire        rx,
    output wire        booted,
    output wire        failed,          // what is in the flash is no image, or a damaged one

    output wire        flash_cs_n,
    output wire        flash_sck,
    output wire        flash_mosi,
    input  wire        flash_miso,

    output wire        sdram_cke,
    output wire [3:0]  sdram_command,         // CS#, RAS#, CAS#, WE#
    output wire [1:0]  sdram_ba,
    output wire [12:0] sdram_a,
    output wire [1:0]  sdram_dqm,
    output wire [15:0] sdram_dq_out,
    output wire        sdram_dq_drive,
    input  wire [15:0] sdram_dq_in
);
    // ---- What fills memory

    wire        settled;
    wire        boot_awvalid, boot_wvalid;
    wire [31:0] boot_awaddr;
    wire [63:0] boot_wdata;
    wire        awready, wready;
    soc_boot #(.FLASH(FLASH)) boot (
        .clk(clk), .rst(rst || !settled), .done(booted), .failed(failed),
        .cs_n(flash_cs_n), .sck(flash_sck), .mosi(flash_mosi), .miso(flash_miso),
        .awvalid(boot_awvalid), .awready(awready), .awaddr(boot_awaddr),
        .wvalid(boot_wvalid), .wready(wready), .wdata(boot_wdata), .bvalid(bvalid)
    );

    // ---- The machine, in reset until then

    reg         soc_rst;
    always @(posedge clk) soc_rst <= rst || !booted;

    wire        arvalid, arready, rvalid, rready, rlast, soc_awvalid, soc_wvalid, bvalid, soc_bready;
    wire [31:0] araddr, soc_awaddr;
    wire [7:0]  arlen, soc_awlen, soc_wstrb;
    wire [63:0] rdata, soc_wdata;
    wire [1:0]  rresp, bresp;
    // The waiver: each write of the machine is counted by its beats.
    // verilator lint_off PINCONNECTEMPTY
    soc_top #(
        .UART_DIVIDER(UART_DIVIDER), .LOG_LINES(LOG_LINES), .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN),
        .LOG_BLOCK_OUT(LOG_BLOCK_OUT), .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH),
        .LOG_WGT_DEPTH(LOG_WGT_DEPTH), .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .LOG_BUS_BYTES(LOG_BUS_BYTES),
        .LOG_QUEUE_DEPTH(LOG_QUEUE_DEPTH), .ADDR_BITS(ADDR_BITS), .CONFIG_HASH(CONFIG_HASH), .TABLE(TABLE),
        .LOOP_BACK(LOOP_BACK), .DEPTHWISE_TAPS(DEPTHWISE_TAPS), .ROWS(ROWS), .WGT4(WGT4), .PUMP(PUMP),
        .LANE_DSPS(LANE_DSPS)
    ) soc (
        .clk(clk), .clk2x(1'b0), .rst(soc_rst), .tx(tx), .rx(rx),
        .m_axi_arvalid(arvalid), .m_axi_arready(arready), .m_axi_araddr(araddr), .m_axi_arlen(arlen),
        .m_axi_rvalid(rvalid), .m_axi_rready(rready), .m_axi_rdata(rdata), .m_axi_rresp(rresp), .m_axi_rlast(rlast),
        .m_axi_awvalid(soc_awvalid), .m_axi_awready(awready && booted), .m_axi_awaddr(soc_awaddr), .m_axi_awlen(soc_awlen),
        .m_axi_wvalid(soc_wvalid), .m_axi_wready(wready && booted), .m_axi_wdata(soc_wdata), .m_axi_wstrb(soc_wstrb),
        .m_axi_wlast(), .m_axi_bvalid(bvalid && booted), .m_axi_bready(soc_bready), .m_axi_bresp(bresp)
    );
    // verilator lint_on PINCONNECTEMPTY

    soc_sdram #(.START(START), .REFRESH(REFRESH)) sdram (
        .clk(clk), .rst(rst), .settled(settled),
        .arvalid(arvalid && booted), .arready(arready), .araddr(araddr), .arlen(arlen),
        .rvalid(rvalid), .rready(rready), .rdata(rdata), .rresp(rresp), .rlast(rlast),
        .awvalid(booted ? soc_awvalid : boot_awvalid), .awready(awready), .awaddr(booted ? soc_awaddr : boot_awaddr),
        .awlen(booted ? soc_awlen : 8'd0), .wvalid(booted ? soc_wvalid : boot_wvalid), .wready(wready),
        .wdata(booted ? soc_wdata : boot_wdata), .wstrb(booted ? soc_wstrb : 8'hff),
        .bvalid(bvalid), .bready(!booted || soc_bready), .bresp(bresp),
        .cke(sdram_cke), .command(sdram_command), .ba(sdram_ba), .a(sdram_a), .dqm(sdram_dqm), .dq_out(sdram_dq_out), .dq_drive(sdram_dq_drive), .dq_in(sdram_dq_in)
    );
endmodule

`default_nettype wire
