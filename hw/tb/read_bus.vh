// SPDX-License-Identifier: Apache-2.0
//
// The bus master and a stalling memory behind a unit that reads, by the names of the unit's ports. Included
// after random.vh where LOG_BUS_BYTES, ADDR_BITS, SIZE and LATENCY (of the memory) are known. The master outlives the
// unit's runs: the bench takes bus_rst and halt away and halts it when a run is given up.
    localparam integer BUS_BYTES = 1 << LOG_BUS_BYTES;

    reg                    halt = 1'b1, bus_rst = 1'b1;
    reg  [31:0]            stall = 0, bad_begin = 0, bad_end = 0;
    wire                   rd_cmd_valid, rd_data_ready, rd_last, rd_err, rd_idle;
    wire [1:0]             rd_cmd_ready, rd_data_valid;     // of the unit and of nobody
    wire [ADDR_BITS-1:0]   rd_cmd_addr, araddr;
    wire [7:0]             rd_cmd_len, arlen;
    wire [8*BUS_BYTES-1:0] rd_data, rdata;
    wire                   arvalid, arready, rvalid, rready, rlast;
    wire [1:0]             rresp;

    vta_axi_read #(.LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS), .CLIENTS(2), .LOG_CLIENTS(1)) read (
        .clk(clk), .rst(bus_rst), .halt(halt), .idle(rd_idle),
        .windows_on(1'b0), .window_bases({4*(ADDR_BITS-12){1'b0}}), .window_limits({4*(ADDR_BITS-12){1'b0}}),
        .failed_addr(), .failed_refused(), .failing(),
        .cmd_valid({1'b0, rd_cmd_valid}), .cmd_ready(rd_cmd_ready), .cmd_addr({{ADDR_BITS{1'b0}}, rd_cmd_addr}),
        .cmd_len({8'd0, rd_cmd_len}), .data_valid(rd_data_valid), .data_ready({1'b1, rd_data_ready}), .data(rd_data),
        .data_last(rd_last), .data_err(rd_err),
        .m_axi_arvalid(arvalid), .m_axi_arready(arready), .m_axi_araddr(araddr), .m_axi_arlen(arlen),
        .m_axi_rvalid(rvalid), .m_axi_rready(rready), .m_axi_rdata(rdata), .m_axi_rresp(rresp), .m_axi_rlast(rlast)
    );

    vta_axi_mem #(.LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS), .SIZE(SIZE), .LATENCY(LATENCY)) mem (
        .clk(clk), .rst(bus_rst), .stall(stall), .seed(seed), .bad_begin(bad_begin), .bad_end(bad_end), .dead(1'b0),
        .arvalid(arvalid), .arready(arready), .araddr(araddr), .arlen(arlen),
        .rvalid(rvalid), .rready(rready), .rdata(rdata), .rresp(rresp), .rlast(rlast),
        .awvalid(1'b0), .awready(), .awaddr({ADDR_BITS{1'b0}}), .awlen(8'd0),
        .wvalid(1'b0), .wready(), .wdata({(8*BUS_BYTES){1'b0}}), .wstrb({BUS_BYTES{1'b0}}), .wlast(1'b0),
        .bvalid(), .bready(1'b0), .bresp()
    );
