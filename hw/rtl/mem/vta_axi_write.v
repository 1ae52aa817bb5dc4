// SPDX-License-Identifier: Apache-2.0
//
// vta_axi_write -- the AXI4 write channels, for one client.
//
// Contract: the client gives bursts on cmd_* and their beats, in the same order, on data_*; it may run ahead with
// either. Up to 2^LOG_FLIGHT bursts are in flight. ack pulses once a burst, in order, when the memory has answered; with
// ack_ready = 0 the answers wait. No path is combinational from an AXI input to an AXI output. With `halt` no new burst
// begins, those begun get beats without strobes, and `idle` says when all have been answered; the client is held in
// reset meanwhile. What the windows refuse goes, without strobes, to a page where it does no harm, and its ack says err;
// failed_* hold the address of the first burst that failed in a run, and whether it was refused, until the next one that fails.
`include "vta_assert.vh"
`default_nettype none

module vta_axi_write #(
    parameter integer LOG_BUS_BYTES = 3,
    parameter integer ADDR_BITS     = 40,
    parameter integer LOG_FLIGHT    = 4
) (
    input  wire                          clk,
    input  wire                          rst,
    input  wire                          halt,
    output wire                          idle,

    input  wire                          windows_on,
    input  wire [4*(ADDR_BITS-12)-1:0]   window_bases,
    input  wire [4*(ADDR_BITS-12)-1:0]   window_limits,
    output wire [ADDR_BITS-1:0]          failed_addr,
    output wire                          failed_refused,
    output wire                          failing,     // its answer comes

    input  wire                          cmd_valid,
    output wire                          cmd_ready,
    input  wire [ADDR_BITS-1:0]          cmd_addr,
    input  wire [7:0]                    cmd_len,     // beats - 1

    input  wire                          data_valid,
    output wire                          data_ready,
    input  wire [(8<<LOG_BUS_BYTES)-1:0] data,
    input  wire [(1<<LOG_BUS_BYTES)-1:0] data_strobe,

    output wire                          ack,
    output wire                          ack_err,
    input  wire                          ack_ready,

    output wire                          m_axi_awvalid,
    input  wire                          m_axi_awready,
    output wire [ADDR_BITS-1:0]          m_axi_awaddr,
    output wire [7:0]                    m_axi_awlen,
    output wire                          m_axi_wvalid,
    input  wire                          m_axi_wready,
    output wire [(8<<LOG_BUS_BYTES)-1:0] m_axi_wdata,
    output wire [(1<<LOG_BUS_BYTES)-1:0] m_axi_wstrb,
    output wire                          m_axi_wlast,
    input  wire                          m_axi_bvalid,
    output wire                          m_axi_bready,
    input  wire [1:0]                    m_axi_bresp
);
    localparam integer BUS_BITS  = 8 << LOG_BUS_BYTES;
    localparam integer BUS_BYTES = 1 << LOG_BUS_BYTES;

    // Addresses.
    reg                 aw_valid_q;
    reg [ADDR_BITS-1:0] aw_addr_q;
    reg [7:0]           aw_len_q;
    reg [LOG_FLIGHT:0]  flight_q;      // bursts begun and not answered

    wire lens_ready;
    wire room  = !flight_q[LOG_FLIGHT];
    wire start = cmd_valid && cmd_ready;
    wire b_valid;

    wire refused;
    vta_windows #(.ADDR_BITS(ADDR_BITS)) windows (
        .on(windows_on), .bases(window_bases), .limits(window_limits), .page(cmd_addr[ADDR_BITS-1:12]), .refused(refused)
    );

    assign cmd_ready = !halt && room && lens_ready && (!aw_valid_q || m_axi_awready);

    always @(posedge clk) begin
        if (rst) aw_valid_q <= 1'b0;
        else if (start) aw_valid_q <= 1'b1;
        else if (m_axi_awready) aw_valid_q <= 1'b0;
    end

    always @(posedge clk) begin
        if (start) begin
            aw_addr_q <= {refused ? window_bases[ADDR_BITS-13:0] : cmd_addr[ADDR_BITS-1:12], cmd_addr[11:0]};
            aw_len_q  <= cmd_len;
        end
    end

    assign m_axi_awvalid = aw_valid_q;
    assign m_axi_awaddr  = aw_addr_q;
    assign m_axi_awlen   = aw_len_q;

    // Data: the lengths of the bursts begun decide which beat is a last one.
    wire       len_valid;
    wire [7:0] len;
    wire       silent;     // a refused burst
    reg  [7:0] beat_q;
    reg        w_valid_q;
    reg        w_last_q;
    reg [BUS_BITS-1:0]  w_data_q;
    reg [BUS_BYTES-1:0] w_strobe_q;

    wire w_move = !w_valid_q || m_axi_wready;
    wire take   = len_valid && w_move && (data_valid || halt);
    wire last   = beat_q == len;

    assign data_ready = len_valid && w_move && !halt;

    vta_fifo #(.WIDTH(9), .LOG_DEPTH(LOG_FLIGHT)) lens (
        .clk(clk), .rst(rst),
        .in_valid(start), .in_ready(lens_ready), .in_data({refused, cmd_len}),
        .out_valid(len_valid), .out_ready(take && last), .out_data({silent, len})
    );

    always @(posedge clk) begin
        if (rst) begin
            beat_q    <= 8'd0;
            w_valid_q <= 1'b0;
        end else begin
            if (take) beat_q <= last ? 8'd0 : beat_q + 8'd1;
            if (w_move) w_valid_q <= take;
        end
    end

    always @(posedge clk) begin
        if (w_move) begin
            w_last_q   <= last;
            w_data_q   <= data;
            w_strobe_q <= halt || silent ? {BUS_BYTES{1'b0}} : data_strobe;
        end
    end

    assign m_axi_wvalid = w_valid_q;
    assign m_axi_wlast  = w_last_q;
    assign m_axi_wdata  = w_data_q;
    assign m_axi_wstrb  = w_strobe_q;

    // Answers.
    wire [1:0] b_resp;
    wire       b_ready = halt || ack_ready;

    vta_skid #(.WIDTH(2)) answers (
        .clk(clk), .rst(rst),
        .in_valid(m_axi_bvalid), .in_ready(m_axi_bready), .in_data(m_axi_bresp),
        .out_valid(b_valid), .out_ready(b_ready), .out_data(b_resp)
    );

    wire answered = b_valid && b_ready;

    // Address of the oldest burst that has not been answered.
    wire [ADDR_BITS-1:0] asked_addr;
    wire                 asked_refused;
    // The waiver: as many places as there are bursts in flight, so that it is never full, and never empty when it is asked.
    // verilator lint_off PINCONNECTEMPTY
    vta_fifo #(.WIDTH(ADDR_BITS + 1), .LOG_DEPTH(LOG_FLIGHT)) asked (
        .clk(clk), .rst(rst), .in_valid(start), .in_ready(), .in_data({refused, cmd_addr}),
        .out_valid(), .out_ready(answered), .out_data({asked_refused, asked_addr})
    );
    // verilator lint_on PINCONNECTEMPTY

    assign ack     = answered && !halt;
    assign ack_err = b_resp[1] || asked_refused;

    reg                 failed_q;
    reg                 refused_q;
    reg [ADDR_BITS-1:0] addr_q;
    always @(posedge clk) begin
        if (rst || halt) failed_q <= 1'b0;
        else if (failing) failed_q <= 1'b1;
        if (failing && !failed_q) begin
            refused_q <= asked_refused;
            addr_q    <= asked_addr;
        end
    end
    assign failing        = ack && ack_err;
    assign failed_addr    = addr_q;
    assign failed_refused = refused_q;

    always @(posedge clk) begin
        if (rst) flight_q <= 0;
        else if (start && !answered) flight_q <= flight_q + 1'b1;
        else if (answered && !start) flight_q <= flight_q - 1'b1;
    end

    assign idle = flight_q == 0 && !aw_valid_q && !w_valid_q;

    wire unused_resp = b_resp[0];

    `VTA_FORMAL_RESET
    `VTA_ASSERT(asked_for, !b_valid || flight_q != 0)
endmodule

`default_nettype wire
