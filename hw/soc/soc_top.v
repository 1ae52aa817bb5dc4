// SPDX-License-Identifier: Apache-2.0
//
// soc_top -- a whole machine: a hart of RV32IM with its caches, a serial line, a timer, and the accelerator, on one memory.
//
//     soc_cpu ─┬─ soc_cache (instructions) ─┐
//              ├─ soc_cache (data) ─────────┴─ soc_host ─┐
//              └─ soc_devices ─ registers of ─ vta_top ──┴─ soc_join ─ AXI4, main memory from 8000_0000
//                                    └─ interrupt
//
// Contract: main memory is an AXI4 slave without IDs that answers in order. The core starts at RESET_PC. The parameters from
// LOG_BATCH on are the accelerator's. FENCE drops the data cache: a program says it before it reads what the
// accelerator wrote; what it wrote itself is in memory before a register of the accelerator is accessed.
`default_nettype none

module soc_top #(
    parameter [31:0]  RESET_PC        = 32'h8000_0000,
    parameter integer UART_DIVIDER    = 16,
    parameter integer LOG_LINES       = 7,      // of each cache
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
    input  wire                          clk,
    input  wire                          clk2x,
    input  wire                          rst,
    output wire                          tx,
    input  wire                          rx,

    output wire                          m_axi_arvalid,
    input  wire                          m_axi_arready,
    output wire [31:0]                   m_axi_araddr,
    output wire [7:0]                    m_axi_arlen,
    input  wire                          m_axi_rvalid,
    output wire                          m_axi_rready,
    input  wire [(8<<LOG_BUS_BYTES)-1:0] m_axi_rdata,
    input  wire [1:0]                    m_axi_rresp,
    input  wire                          m_axi_rlast,
    output wire                          m_axi_awvalid,
    input  wire                          m_axi_awready,
    output wire [31:0]                   m_axi_awaddr,
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
    localparam integer BITS      = 8 << LOG_BUS_BYTES;
    localparam integer LOG_BEATS = LOG_BUS_BYTES < 5 ? 5 - LOG_BUS_BYTES : 1;   // lines of 32 bytes or more

    // The waiver: outputs that nobody needs here, and addresses above the core's 4 GiB, which the accelerator never sees.
    // verilator lint_off PINCONNECTEMPTY
    // verilator lint_off UNUSEDSIGNAL

    // ---- The core

    wire        i_valid, i_ready, i_done, i_fault, d_valid, d_ready, d_write, fence, fence_i;
    reg         d_done, d_fault;
    wire [31:0] i_addr, i_data, d_addr, d_wdata;
    reg  [31:0] d_rdata;
    wire [3:0]  d_wstrb;
    wire        to_memory = d_addr[31];
    wire        irq, irq_timer;
    soc_cpu #(.RESET_PC(RESET_PC)) cpu (
        .clk(clk), .rst(rst),
        .i_valid(i_valid), .i_ready(i_ready), .i_addr(i_addr), .i_done(i_done), .i_data(i_data), .i_fault(i_fault),
        .d_valid(d_valid), .d_ready(d_ready), .d_posted(to_memory), .d_write(d_write), .d_addr(d_addr), .d_wdata(d_wdata), .d_wstrb(d_wstrb),
        .d_done(d_done), .d_rdata(d_rdata), .d_fault(d_fault),
        .fence(fence), .fence_i(fence_i), .irq_timer(irq_timer), .irq_external(irq)
    );

    // ---- Its caches; data goes by its address. One access is on at a time, so an answer is never two. A store into memory is
    // posted: the cache has it, nothing overtakes it there, and no fault of it would come back.

    wire            i_line, i_line_ready, i_beat, d_line, d_line_ready, d_beat;
    wire [31:0]     i_line_addr, d_line_addr;
    wire            beat_last, beat_fault;
    wire [BITS-1:0] beat_data;
    soc_cache #(.LOG_LINES(LOG_LINES), .LOG_BUS_BYTES(LOG_BUS_BYTES), .LOG_BEATS(LOG_BEATS)) icache (
        .clk(clk), .rst(rst), .forget(fence_i),
        .valid(i_valid), .ready(i_ready), .is_write(1'b0), .addr(i_addr), .wdata(32'd0), .wstrb(4'd0),
        .done(i_done), .rdata(i_data), .fault(i_fault),
        .read_valid(i_line), .read_ready(i_line_ready), .read_addr(i_line_addr),
        .beat_valid(i_beat), .beat_last(beat_last), .beat_fault(beat_fault), .beat_data(beat_data),
        .write_valid(), .write_ready(1'b0), .write_addr(), .write_data(), .write_strb()
    );

    wire        c_ready, c_done, c_fault, p_ready, p_done, p_fault;
    wire [31:0] c_rdata, p_rdata;
    wire        write_valid, write_ready, quiet;
    wire [31:0] write_addr, write_data;
    wire [3:0]  write_strb;
    // Both at rest: whom a request is for is known late, and only a store of the one keeps the other waiting.
    assign d_ready = c_ready && p_ready;
    // An answer reaches the core a cycle later: tags, comparison, and the core's own way to a register are too long for one.
    always @(posedge clk) begin
        d_done  <= !rst && (c_done && !write_valid || p_done);
        d_rdata <= p_done ? p_rdata : c_rdata;
        d_fault <= p_done ? p_fault : c_fault;
    end
    soc_cache #(.LOG_LINES(LOG_LINES), .LOG_BUS_BYTES(LOG_BUS_BYTES), .LOG_BEATS(LOG_BEATS), .APART(1)) dcache (
        .clk(clk), .rst(rst), .forget(fence),
        .valid(d_valid && to_memory && p_ready), .ready(c_ready), .is_write(d_write), .addr(d_addr), .wdata(d_wdata), .wstrb(d_wstrb),
        .done(c_done), .rdata(c_rdata), .fault(c_fault),
        .read_valid(d_line), .read_ready(d_line_ready), .read_addr(d_line_addr),
        .beat_valid(d_beat), .beat_last(beat_last), .beat_fault(beat_fault), .beat_data(beat_data),
        .write_valid(write_valid), .write_ready(write_ready), .write_addr(write_addr), .write_data(write_data),
        .write_strb(write_strb)
    );

    // ---- Masters of the memory: 0 is the core, 1 the accelerator

    wire [1:0]        ar_valid, ar_ready, aw_valid, aw_ready;
    wire              h_rvalid, h_rready, h_wvalid, h_wready, h_bvalid, h_bready;
    wire [31:0]       h_araddr, h_awaddr;
    wire [7:0]        h_arlen;
    wire [BITS-1:0]   h_wdata;
    wire [BITS/8-1:0] h_wstrb;
    assign beat_last  = m_axi_rlast;
    assign beat_fault = m_axi_rresp[1];
    assign beat_data  = m_axi_rdata;
    soc_host #(.LOG_BUS_BYTES(LOG_BUS_BYTES), .LOG_BEATS(LOG_BEATS)) host (
        .clk(clk), .rst(rst),
        .i_valid(i_line), .i_ready(i_line_ready), .i_addr(i_line_addr), .i_beat(i_beat),
        .d_valid(d_line), .d_ready(d_line_ready), .d_addr(d_line_addr), .d_beat(d_beat),
        .write_valid(write_valid), .write_ready(write_ready), .write_addr(write_addr[31:2]), .write_data(write_data),
        .write_strb(write_strb), .quiet(quiet),
        .arvalid(ar_valid[0]), .arready(ar_ready[0]), .araddr(h_araddr), .arlen(h_arlen),
        .rvalid(h_rvalid), .rready(h_rready), .rlast(m_axi_rlast),
        .awvalid(aw_valid[0]), .awready(aw_ready[0]), .awaddr(h_awaddr),
        .wvalid(h_wvalid), .wready(h_wready), .wdata(h_wdata), .wstrb(h_wstrb), .bvalid(h_bvalid), .bready(h_bready)
    );

    wire                 v_rvalid, v_rready, v_wvalid, v_wready, v_wlast, v_bvalid, v_bready;
    wire [ADDR_BITS-1:0] v_araddr, v_awaddr;
    wire [7:0]           v_arlen, v_awlen;
    wire [BITS-1:0]      v_wdata;
    wire [BITS/8-1:0]    v_wstrb;
    wire                 r_who, r_answer_who, w_who, w_data_who, w_busy, b_who;
    wire                 r_last = m_axi_rvalid && m_axi_rready && m_axi_rlast;
    soc_join reads (
        .clk(clk), .rst(rst), .ask_valid(ar_valid), .ask_ready(ar_ready), .out_valid(m_axi_arvalid),
        .out_ready(m_axi_arready), .who(r_who), .data_busy(), .data_who(), .data_last(r_last),
        .answer_who(r_answer_who), .answer_last(r_last)
    );
    assign m_axi_araddr = r_who ? v_araddr[31:0] : h_araddr;
    assign m_axi_arlen  = r_who ? v_arlen : h_arlen;
    assign h_rvalid     = m_axi_rvalid && !r_answer_who;
    assign v_rvalid     = m_axi_rvalid && r_answer_who;
    assign m_axi_rready = r_answer_who ? v_rready : h_rready;

    soc_join writes (
        .clk(clk), .rst(rst), .ask_valid(aw_valid), .ask_ready(aw_ready), .out_valid(m_axi_awvalid),
        .out_ready(m_axi_awready), .who(w_who), .data_busy(w_busy), .data_who(w_data_who),
        .data_last(m_axi_wvalid && m_axi_wready && m_axi_wlast),
        .answer_who(b_who), .answer_last(m_axi_bvalid && m_axi_bready)
    );
    assign m_axi_awaddr = w_who ? v_awaddr[31:0] : h_awaddr;
    assign m_axi_awlen  = w_who ? v_awlen : 8'd0;
    assign m_axi_wvalid = w_busy && (w_data_who ? v_wvalid : h_wvalid);
    assign m_axi_wdata  = w_data_who ? v_wdata : h_wdata;
    assign m_axi_wstrb  = w_data_who ? v_wstrb : h_wstrb;
    assign m_axi_wlast  = w_data_who ? v_wlast : 1'b1;
    assign h_wready     = w_busy && !w_data_who && m_axi_wready;
    assign v_wready     = w_busy && w_data_who && m_axi_wready;
    assign h_bvalid     = m_axi_bvalid && !b_who;
    assign v_bvalid     = m_axi_bvalid && b_who;
    assign m_axi_bready = b_who ? v_bready : h_bready;

    // ---- Devices

    wire        l_awvalid, l_awready, l_wvalid, l_wready, l_bvalid, l_bready, l_arvalid, l_arready, l_rvalid, l_rready;
    wire [12:0] l_awaddr, l_araddr;
    wire [31:0] l_wdata, l_rdata;
    wire [1:0]  l_bresp, l_rresp;
    soc_devices #(.DIVIDER(UART_DIVIDER)) devices (
        .clk(clk), .rst(rst),
        .valid(d_valid && !to_memory && c_ready), .ready(p_ready), .is_write(d_write), .addr(d_addr), .wdata(d_wdata),
        .done(p_done), .rdata(p_rdata), .fault(p_fault), .quiet(quiet && !write_valid),
        .awvalid(l_awvalid), .awready(l_awready), .awaddr(l_awaddr), .wvalid(l_wvalid), .wready(l_wready),
        .wdata_out(l_wdata), .bvalid(l_bvalid), .bready(l_bready), .bresp(l_bresp),
        .arvalid(l_arvalid), .arready(l_arready), .araddr(l_araddr), .rvalid(l_rvalid), .rready(l_rready),
        .rdata_in(l_rdata), .rresp(l_rresp), .irq_timer(irq_timer), .tx(tx), .rx(rx)
    );

    vta_top #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT), .LOG_UOP_DEPTH(LOG_UOP_DEPTH),
        .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH), .LOG_ACC_DEPTH(LOG_ACC_DEPTH),
        .LOG_BUS_BYTES(LOG_BUS_BYTES), .LOG_QUEUE_DEPTH(LOG_QUEUE_DEPTH), .ADDR_BITS(ADDR_BITS), .CONFIG_HASH(CONFIG_HASH),
        .TABLE(TABLE), .LOOP_BACK(LOOP_BACK), .DEPTHWISE_TAPS(DEPTHWISE_TAPS), .ROWS(ROWS), .WGT4(WGT4), .PUMP(PUMP),
        .LANE_DSPS(LANE_DSPS)
    ) vta (
        .clk(clk), .clk2x(clk2x), .rst(rst),
        .s_axil_awvalid(l_awvalid), .s_axil_awready(l_awready), .s_axil_awaddr(l_awaddr), .s_axil_wvalid(l_wvalid),
        .s_axil_wready(l_wready), .s_axil_wdata(l_wdata), .s_axil_wstrb(4'hf), .s_axil_bvalid(l_bvalid),
        .s_axil_bready(l_bready), .s_axil_bresp(l_bresp), .s_axil_arvalid(l_arvalid), .s_axil_arready(l_arready),
        .s_axil_araddr(l_araddr), .s_axil_rvalid(l_rvalid), .s_axil_rready(l_rready), .s_axil_rdata(l_rdata),
        .s_axil_rresp(l_rresp), .irq(irq),
        .m_axi_arvalid(ar_valid[1]), .m_axi_arready(ar_ready[1]), .m_axi_araddr(v_araddr), .m_axi_arlen(v_arlen),
        .m_axi_arsize(), .m_axi_arburst(), .m_axi_arcache(), .m_axi_arprot(), .m_axi_arqos(),
        .m_axi_rvalid(v_rvalid), .m_axi_rready(v_rready), .m_axi_rdata(m_axi_rdata), .m_axi_rresp(m_axi_rresp),
        .m_axi_rlast(m_axi_rlast),
        .m_axi_awvalid(aw_valid[1]), .m_axi_awready(aw_ready[1]), .m_axi_awaddr(v_awaddr), .m_axi_awlen(v_awlen),
        .m_axi_awsize(), .m_axi_awburst(), .m_axi_awcache(), .m_axi_awprot(), .m_axi_awqos(),
        .m_axi_wvalid(v_wvalid), .m_axi_wready(v_wready), .m_axi_wdata(v_wdata), .m_axi_wstrb(v_wstrb),
        .m_axi_wlast(v_wlast), .m_axi_bvalid(v_bvalid), .m_axi_bready(v_bready), .m_axi_bresp(m_axi_bresp), .dbg()
    );
    // verilator lint_on UNUSEDSIGNAL
    // verilator lint_on PINCONNECTEMPTY
endmodule

`default_nettype wire
