// SPDX-License-Identifier: Apache-2.0
//
// vta_top -- the accelerator: fetch, load, compute, store, their queues and tokens, behind an AXI4 master, an AXI4-Lite
// slave and an interrupt line.
//
// Contract: ISA.md and regs.def. AXI: one ID, answers in order, INCR bursts of whole beats; no path is combinational
// from an input to an output. dbg repeats strobes for simulators, by unit {store, compute, load}, and is left open on a
// board: 2:0 an instruction enters the unit's queue · 6:4 the unit starts its next one, tokens taken · 10:8 it retires
// one, in order · 14:12 its next one waits for a token · 18:16 busy and waiting for memory · 22:20 busy · 24 GEMM step · 25
// DEPTHWISE step · 26 ALU step · 27 REQUANT step · 28 fetch waits for a full queue · 29 fetch waits for memory.
`include "vta_assert.vh"
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
    parameter [63:0]  CONFIG_HASH     = 64'd0,
    parameter integer TABLE           = 1,     // 0: no tables behind REQUANT
    parameter integer LOOP_BACK       = 1,     // 0: REQUANT never writes to INP
    parameter integer DEPTHWISE_TAPS  = 9,     // of a step, at most: 9, 3, 1; 0: no DEPTHWISE
    parameter integer ROWS            = 0,     // 1: functions on rows, long results and a record a row
    parameter integer WGT4            = 0,     // 1: weights of four bits
    parameter integer PUMP            = 1,     // cycles of the multipliers in one of clk: 1 or 2
    parameter integer LANE_DSPS       = 3      // of an ALU lane: 3, or 2 of 27 × 18 bits
) (
    input  wire                 clk,
    input  wire                 clk2x,         // PUMP = 2: an edge with each of clk, and one between; else left alone
    input  wire                 rst,           // synchronous, active high

    input  wire                 s_axil_awvalid,
    output wire                 s_axil_awready,
    input  wire [12:0]          s_axil_awaddr,
    input  wire                 s_axil_wvalid,
    output wire                 s_axil_wready,
    input  wire [31:0]          s_axil_wdata,
    input  wire [3:0]           s_axil_wstrb,
    output wire                 s_axil_bvalid,
    input  wire                 s_axil_bready,
    output wire [1:0]           s_axil_bresp,
    input  wire                 s_axil_arvalid,
    output wire                 s_axil_arready,
    input  wire [12:0]          s_axil_araddr,
    output wire                 s_axil_rvalid,
    input  wire                 s_axil_rready,
    output wire [31:0]          s_axil_rdata,
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
`ifdef VTA_CLOCK_PINS
    ,
    // Clocks that may miss edges of clk while their awake_* is low, for simulators.
    input  wire                 clk_host,
    input  wire                 clk_flow,
    input  wire                 clk_read,
    input  wire                 clk_write,
    input  wire                 clk_load,
    input  wire                 clk_store,
    input  wire                 clk_issue,
    input  wire                 clk_array,
    input  wire                 clk_alu,
    input  wire                 clk_fill,
    output wire                 awake_host,
    output wire                 awake_flow,
    output wire                 awake_read,
    output wire                 awake_write,
    output wire                 awake_load,
    output wire                 awake_store,
    output wire                 awake_issue,
    output wire                 awake_array,
    output wire                 awake_alu,
    output wire                 awake_fill
`endif
);
`ifndef VTA_CLOCK_PINS
    wire clk_host = clk;
    wire clk_flow = clk;
    wire clk_read = clk;
    wire clk_write = clk;
    wire clk_load = clk;
    wire clk_store = clk;
    wire clk_issue = clk;
    wire clk_array = clk;
    wire clk_alu = clk;
    wire clk_fill = clk;
    // The waiver: on a board nobody asks.
    // verilator lint_off UNUSEDSIGNAL
    wire awake_host, awake_flow, awake_read, awake_write, awake_load, awake_store, awake_issue, awake_array, awake_alu, awake_fill;
    // verilator lint_on UNUSEDSIGNAL
`endif
`include "vta_isa.vh"
    localparam integer BUS_BITS   = 8 << LOG_BUS_BYTES;
    localparam integer INP_BITS   = 8 << VTA_LOG_BYTES_INP;
    localparam integer WGT_BITS   = 8 << VTA_LOG_BYTES_WGT;
    localparam integer OUT_BITS   = 8 << VTA_LOG_BYTES_OUT;
    localparam integer LOAD = 0, COMPUTE = 1, STORE = 2;

    // Control and registers.
    wire                   start;
    wire                   soft_reset;
    wire [ADDR_BITS-1:0]   insn_addr;
    wire [31:0]            insn_count;
    wire [31:0]            watchdog;
    wire [8*ADDR_BITS-1:0] bases;
    wire                   run;
    wire                   clear;
    wire                   status_busy;
    wire                   status_done;
    wire                   status_error;
    wire [7:0]             error_code;
    wire [1:0]             error_unit;
    wire [31:0]            error_index;
    wire                   ended;
    wire                   windows_on;
    wire [4*(ADDR_BITS-12)-1:0] window_bases;
    wire [4*(ADDR_BITS-12)-1:0] window_limits;
    wire [10:0]            read_bus;
    wire [10:0]            write_bus;
    wire [3*ADDR_BITS-1:0] rd_failed_addr;
    wire [2:0]             rd_failed_refused;
    wire [ADDR_BITS-1:0]   wr_failed_addr;
    wire                   wr_failed_refused;
    wire                   count_valid;
    wire [4:0]             count_index;
    wire                   count_done;
    wire [63:0]            count_data;

    wire                   unit_rst = rst || !run;
    wire                   read_idle;
    wire                   write_idle;
    wire                   finish;
    wire                   tokens_left;
    wire                   progress;
    wire [3:0]             err_valid;
    wire [31:0]            err_code;
    wire [127:0]           err_index;
    wire [2:0]             head_valid;
    wire [95:0]            head_index;
    wire [31:0]            fetch_index;

    // Strobes by unit.
    wire [2:0] enter;
    wire [2:0] issue;
    wire [2:0] retire;
    wire [2:0] busy;
    wire [2:0] token_wait;
    wire [2:0] room_wait;
    wire [2:0] mem_wait;
    wire       step_gemm;
    wire       step_depthwise;
    wire       step_alu;
    wire       step_requant;
    wire       fetch_insn;
    wire       fetch_full;
    wire       fetch_mem;
    wire       load_rd_en;
    wire [2:0] load_rd_mem;
    wire [6:0] load_rd_bytes;
    wire       compute_rd_en;
    wire [2:0] compute_rd_mem;
    wire [6:0] compute_rd_bytes;
    wire       store_element;

    vta_regs #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .LOG_BUS_BYTES(LOG_BUS_BYTES), .LOG_QUEUE_DEPTH(LOG_QUEUE_DEPTH),
        .ADDR_BITS(ADDR_BITS), .CONFIG_HASH(CONFIG_HASH), .TABLE(TABLE), .LOOP_BACK(LOOP_BACK), .DEPTHWISE_TAPS(DEPTHWISE_TAPS),
        .ROWS(ROWS), .WGT4(WGT4)
    ) regs (
        .clk(clk_host), .work(work_host), .rst(rst),
        .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready), .s_axil_awaddr(s_axil_awaddr),
        .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready), .s_axil_wdata(s_axil_wdata),
        .s_axil_wstrb(s_axil_wstrb), .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
        .s_axil_bresp(s_axil_bresp), .s_axil_arvalid(s_axil_arvalid), .s_axil_arready(s_axil_arready),
        .s_axil_araddr(s_axil_araddr), .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
        .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
        .start(start), .soft_reset(soft_reset), .insn_addr(insn_addr), .insn_count(insn_count),
        .watchdog(watchdog), .bases(bases),
        .status_busy(status_busy), .status_done(status_done), .status_error(status_error),
        .error_code(error_code), .error_unit(error_unit), .error_index(error_index),
        .error_addr(failed_addr[error_unit*ADDR_BITS +: ADDR_BITS] & {ADDR_BITS{bus_error}}),
        .error_refused(failed_refused[error_unit] && bus_error),
        .windows_on(windows_on), .window_bases(window_bases), .window_limits(window_limits),
        .read_bus(read_bus), .write_bus(write_bus),
        .ended(ended), .irq(irq),
        .count_valid(count_valid), .count_index(count_index), .count_done(count_done), .count_data(count_data)
    );

    // Units are numbered as the read clients are, the store unit after them.
    wire [4*ADDR_BITS-1:0] failed_addr    = {wr_failed_addr, rd_failed_addr};
    wire [3:0]             failed_refused = {wr_failed_refused, rd_failed_refused};
    wire [3:0]             failing;
    reg  [3:0]             failed_q;       // in this run or the last one
    always @(posedge clk) failed_q <= rst || clear ? 4'd0 : failed_q | failing;
    wire bus_error = status_error && failed_q[error_unit]
                  && (error_code == VTA_ERROR_READ_BUS || error_code == VTA_ERROR_WRITE_BUS || error_code == VTA_ERROR_FETCH_BUS);

    vta_control #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH)
    ) control (
        .clk(clk), .rst(rst),
        .start(start), .soft_reset(soft_reset), .watchdog(watchdog), .insn_count(insn_count),
        .run(run), .bus_idle(read_idle && write_idle),
        .finish(finish), .tokens_left(tokens_left),
        .err_valid(err_valid), .err_code(err_code), .err_index(err_index), .progress(progress),
        .head_valid({head_valid, 1'b0}), .head_index({head_index, fetch_index}),
        .status_busy(status_busy), .status_done(status_done), .status_error(status_error),
        .error_code(error_code), .error_unit(error_unit), .error_index(error_index),
        .ended(ended), .clear(clear)
    );

    // The read channels: fetch, load, compute.
    wire [2:0]             rd_cmd_valid;
    wire [2:0]             rd_cmd_ready;
    wire [3*ADDR_BITS-1:0] rd_cmd_addr;
    wire [23:0]            rd_cmd_len;
    wire [2:0]             rd_data_valid;
    wire [2:0]             rd_data_ready;
    wire [BUS_BITS-1:0]    rd_data;
    wire                   rd_last;
    wire                   rd_err;

    vta_axi_read #(
        .LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS), .CLIENTS(3), .LOG_CLIENTS(2)
    ) read (
        .clk(clk_read), .rst(rst), .halt(!run), .idle(read_idle),
        .windows_on(windows_on), .window_bases(window_bases), .window_limits(window_limits),
        .failed_addr(rd_failed_addr), .failed_refused(rd_failed_refused), .failing(failing[2:0]),
        .cmd_valid(rd_cmd_valid), .cmd_ready(rd_cmd_ready), .cmd_addr(rd_cmd_addr), .cmd_len(rd_cmd_len),
        .data_valid(rd_data_valid), .data_ready(rd_data_ready), .data(rd_data), .data_last(rd_last), .data_err(rd_err),
        .m_axi_arvalid(m_axi_arvalid), .m_axi_arready(m_axi_arready), .m_axi_araddr(m_axi_araddr),
        .m_axi_arlen(m_axi_arlen), .m_axi_rvalid(m_axi_rvalid), .m_axi_rready(m_axi_rready),
        .m_axi_rdata(m_axi_rdata), .m_axi_rresp(m_axi_rresp), .m_axi_rlast(m_axi_rlast)
    );

    // The write channels: store.
    wire                   wr_cmd_valid;
    wire                   wr_cmd_ready;
    wire [ADDR_BITS-1:0]   wr_cmd_addr;
    wire [7:0]             wr_cmd_len;
    wire                   wr_data_valid;
    wire                   wr_data_ready;
    wire [BUS_BITS-1:0]    wr_data;
    wire [BUS_BITS/8-1:0]  wr_strobe;
    wire                   wr_ack;
    wire                   wr_ack_err;
    wire                   wr_ack_ready;

    vta_axi_write #(.LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS)) write (
        .clk(clk_write), .rst(rst), .halt(!run), .idle(write_idle),
        .windows_on(windows_on), .window_bases(window_bases), .window_limits(window_limits),
        .failed_addr(wr_failed_addr), .failed_refused(wr_failed_refused), .failing(failing[3]),
        .cmd_valid(wr_cmd_valid), .cmd_ready(wr_cmd_ready), .cmd_addr(wr_cmd_addr), .cmd_len(wr_cmd_len),
        .data_valid(wr_data_valid), .data_ready(wr_data_ready), .data(wr_data), .data_strobe(wr_strobe),
        .ack(wr_ack), .ack_err(wr_ack_err), .ack_ready(wr_ack_ready),
        .m_axi_awvalid(m_axi_awvalid), .m_axi_awready(m_axi_awready), .m_axi_awaddr(m_axi_awaddr),
        .m_axi_awlen(m_axi_awlen), .m_axi_wvalid(m_axi_wvalid), .m_axi_wready(m_axi_wready),
        .m_axi_wdata(m_axi_wdata), .m_axi_wstrb(m_axi_wstrb), .m_axi_wlast(m_axi_wlast),
        .m_axi_bvalid(m_axi_bvalid), .m_axi_bready(m_axi_bready), .m_axi_bresp(m_axi_bresp)
    );

    assign m_axi_arsize  = LOG_BUS_BYTES[2:0];
    assign m_axi_arburst = 2'b01;
    assign {m_axi_arqos, m_axi_arprot, m_axi_arcache} = read_bus;
    assign m_axi_awsize  = LOG_BUS_BYTES[2:0];
    assign m_axi_awburst = 2'b01;
    assign {m_axi_awqos, m_axi_awprot, m_axi_awcache} = write_bus;

    // Fetch and the units' queues.
    wire [2:0]   fetch_valid;
    wire [2:0]   fetch_ready;
    wire [127:0] fetch_data;
    wire [2:0]   insn_valid;
    wire [2:0]   insn_ready;
    wire [3*128-1:0] insn_data;
    wire [3*32-1:0]  insn_index;

    vta_fetch #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS), .WGT4(WGT4)
    ) fetch (
        .clk(clk_flow), .work(work_fetch), .rst(unit_rst), .addr(insn_addr), .count(insn_count),
        .rd_cmd_valid(rd_cmd_valid[0]), .rd_cmd_ready(rd_cmd_ready[0]),
        .rd_cmd_addr(rd_cmd_addr[0 +: ADDR_BITS]), .rd_cmd_len(rd_cmd_len[7:0]),
        .rd_data_valid(rd_data_valid[0]), .rd_data_ready(rd_data_ready[0]), .rd_data(rd_data), .rd_err(rd_err),
        .unit_valid(fetch_valid), .unit_ready(fetch_ready), .insn_data(fetch_data), .insn_index(fetch_index),
        .settled(settled == 3'b111), .err_valid(err_valid[0]), .err_code(err_code[7:0]),
        .stat_insn(fetch_insn), .stat_full(fetch_full), .stat_mem(fetch_mem)
    );

    assign err_index[31:0] = fetch_index;
    assign enter = fetch_valid & fetch_ready;

    genvar u;
    generate
        for (u = 0; u < 3; u = u + 1) begin : queue
            vta_queue #(.WIDTH(160), .LOG_DEPTH(LOG_QUEUE_DEPTH)) insns (
                .clk(clk_flow), .rst(unit_rst),
                .in_valid(fetch_valid[u]), .in_ready(fetch_ready[u]), .in_data({fetch_index, fetch_data}),
                .out_valid(insn_valid[u]), .out_ready(insn_ready[u]),
                .out_data({insn_index[u*32 +: 32], insn_data[u*128 +: 128]})
            );
        end
    endgenerate

    // Instructions handed to each unit and not retired. A unit is settled when it has none, or waits for a token that
    // no other unit is going to give, or for room for one that no other unit is going to take.
    wire [2:0] empty;
    wire [2:0] settled;

    generate
        for (u = 0; u < 3; u = u + 1) begin : account
            reg [15:0] given_q;

            always @(posedge clk_flow) begin
                if (unit_rst) given_q <= 16'd0;
                else given_q <= given_q + {15'd0, enter[u]} - {15'd0, retire[u]};
            end

            assign empty[u]   = given_q == 16'd0;
            assign settled[u] = empty[u] || (token_wait[u] && !busy[u]) || room_wait[u];
        end
    endgenerate

    // Tokens.
    wire l2c_push, l2c_room, l2c_pop, l2c_avail;
    wire c2l_push, c2l_room, c2l_pop, c2l_avail;
    wire c2s_push, c2s_room, c2s_pop, c2s_avail;
    wire s2c_push, s2c_room, s2c_pop, s2c_avail;

    vta_token l2c (.clk(clk_flow), .rst(unit_rst), .push(l2c_push), .room(l2c_room), .pop(l2c_pop), .available(l2c_avail));
    vta_token c2l (.clk(clk_flow), .rst(unit_rst), .push(c2l_push), .room(c2l_room), .pop(c2l_pop), .available(c2l_avail));
    vta_token c2s (.clk(clk_flow), .rst(unit_rst), .push(c2s_push), .room(c2s_room), .pop(c2s_pop), .available(c2s_avail));
    vta_token s2c (.clk(clk_flow), .rst(unit_rst), .push(s2c_push), .room(s2c_room), .pop(s2c_pop), .available(s2c_avail));

    assign tokens_left = l2c_avail || c2l_avail || c2s_avail || s2c_avail;

    // The units.
    wire                     inp_wr_en;
    wire [LOG_INP_DEPTH-1:0] inp_wr_addr;
    wire [1:0]               inp_wr_part;
    wire [(8<<(LOG_BATCH+LOG_BLOCK_OUT))-1:0] inp_wr_data;
    wire                     inp_rd_en;
    wire [LOG_INP_DEPTH-1:0] inp_rd_addr;
    wire [INP_BITS-1:0]      inp_rd_data;
    wire                     inp_rd_more;
    wire [2*LOG_INP_DEPTH-1:0] inp_rd_more_addr;
    wire [2*INP_BITS-1:0]    inp_rd_more_data;
    wire                     wgt_rd_en;
    wire [LOG_WGT_DEPTH-1:0] wgt_rd_addr;
    wire [WGT_BITS-1:0]      wgt_rd_data;
    wire                     out_wr_en;
    wire [LOG_ACC_DEPTH-1:0] out_wr_addr;
    wire [OUT_BITS-1:0]      out_wr_data;

    vta_load #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS),
        .LOOP_BACK(LOOP_BACK), .DEPTHWISE_TAPS(DEPTHWISE_TAPS), .WGT4(WGT4)
    ) load (
        .clk(clk), .clk_unit(clk_load), .awake(awake_load), .rst(unit_rst),
        .insn_valid(insn_valid[LOAD]), .insn_ready(insn_ready[LOAD]),
        .insn_data(insn_data[LOAD*128 +: 128]), .insn_index(insn_index[LOAD*32 +: 32]), .bases(bases),
        .c2l_avail(c2l_avail), .c2l_pop(c2l_pop), .l2c_room(l2c_room), .l2c_push(l2c_push),
        .rd_cmd_valid(rd_cmd_valid[1]), .rd_cmd_ready(rd_cmd_ready[1]),
        .rd_cmd_addr(rd_cmd_addr[ADDR_BITS +: ADDR_BITS]), .rd_cmd_len(rd_cmd_len[15:8]),
        .rd_data_valid(rd_data_valid[1]), .rd_data_ready(rd_data_ready[1]), .rd_data(rd_data), .rd_last(rd_last),
        .rd_err(rd_err),
        .inp_wr_en(inp_wr_en), .inp_wr_addr(inp_wr_addr), .inp_wr_part(inp_wr_part), .inp_wr_data(inp_wr_data),
        .inp_rd_en(inp_rd_en), .inp_rd_addr(inp_rd_addr), .inp_rd_data(inp_rd_data),
        .inp_rd_more(inp_rd_more), .inp_rd_more_addr(inp_rd_more_addr), .inp_rd_more_data(inp_rd_more_data),
        .wgt_rd_en(wgt_rd_en), .wgt_rd_addr(wgt_rd_addr), .wgt_rd_data(wgt_rd_data),
        .err_valid(err_valid[1]), .err_code(err_code[15:8]), .err_index(err_index[63:32]),
        .head_valid(head_valid[LOAD]), .head_index(head_index[31:0]),
        .stat_issue(issue[LOAD]), .stat_retire(retire[LOAD]), .stat_busy(busy[LOAD]),
        .stat_token(token_wait[LOAD]), .stat_room(room_wait[LOAD]), .stat_mem(mem_wait[LOAD]),
        .stat_rd_en(load_rd_en), .stat_rd_mem(load_rd_mem), .stat_rd_bytes(load_rd_bytes)
    );

    vta_compute #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS), .PUMP(PUMP),
        .LANE_DSPS(LANE_DSPS), .TABLE(TABLE), .LOOP_BACK(LOOP_BACK), .DEPTHWISE_TAPS(DEPTHWISE_TAPS), .ROWS(ROWS)
    ) compute (
        .clk(clk), .clk2x(clk2x), .clk_issue(clk_issue), .clk_array(clk_array), .clk_alu(clk_alu), .clk_fill(clk_fill),
        .awake_issue(awake_issue), .awake_array(awake_array), .awake_alu(awake_alu), .awake_fill(awake_fill), .rst(unit_rst),
        .insn_valid(insn_valid[COMPUTE]), .insn_ready(insn_ready[COMPUTE]),
        .insn_data(insn_data[COMPUTE*128 +: 128]), .insn_index(insn_index[COMPUTE*32 +: 32]),
        .l2c_avail(l2c_avail), .l2c_pop(l2c_pop), .s2c_avail(s2c_avail), .s2c_pop(s2c_pop),
        .c2l_room(c2l_room), .c2l_push(c2l_push), .c2s_room(c2s_room), .c2s_push(c2s_push), .bases(bases),
        .rd_cmd_valid(rd_cmd_valid[2]), .rd_cmd_ready(rd_cmd_ready[2]),
        .rd_cmd_addr(rd_cmd_addr[2*ADDR_BITS +: ADDR_BITS]), .rd_cmd_len(rd_cmd_len[23:16]),
        .rd_data_valid(rd_data_valid[2]), .rd_data_ready(rd_data_ready[2]), .rd_data(rd_data), .rd_last(rd_last),
        .rd_err(rd_err),
        .inp_wr_en(inp_wr_en), .inp_wr_addr(inp_wr_addr), .inp_wr_part(inp_wr_part), .inp_wr_data(inp_wr_data),
        .inp_rd_en(inp_rd_en), .inp_rd_addr(inp_rd_addr), .inp_rd_data(inp_rd_data),
        .inp_rd_more(inp_rd_more), .inp_rd_more_addr(inp_rd_more_addr), .inp_rd_more_data(inp_rd_more_data),
        .wgt_rd_en(wgt_rd_en), .wgt_rd_addr(wgt_rd_addr), .wgt_rd_data(wgt_rd_data),
        .out_wr_en(out_wr_en), .out_wr_addr(out_wr_addr), .out_wr_data(out_wr_data),
        .finish(finish), .ls_idle(empty[LOAD] && empty[STORE]),
        .err_valid(err_valid[2]), .err_code(err_code[23:16]), .err_index(err_index[95:64]),
        .head_valid(head_valid[COMPUTE]), .head_index(head_index[63:32]),
        .stat_busy(busy[COMPUTE]), .stat_token(token_wait[COMPUTE]), .stat_room(room_wait[COMPUTE]), .stat_mem(mem_wait[COMPUTE]),
        .stat_issue(issue[COMPUTE]), .stat_retire(retire[COMPUTE]),
        .stat_gemm(step_gemm), .stat_depthwise(step_depthwise), .stat_alu(step_alu), .stat_requant(step_requant),
        .stat_rd_en(compute_rd_en), .stat_rd_mem(compute_rd_mem), .stat_rd_bytes(compute_rd_bytes)
    );

    vta_store #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS), .WGT4(WGT4)
    ) store (
        .clk(clk), .clk_unit(clk_store), .awake(awake_store), .rst(unit_rst),
        .insn_valid(insn_valid[STORE]), .insn_ready(insn_ready[STORE]),
        .insn_data(insn_data[STORE*128 +: 128]), .insn_index(insn_index[STORE*32 +: 32]), .bases(bases),
        .c2s_avail(c2s_avail), .c2s_pop(c2s_pop), .s2c_room(s2c_room), .s2c_push(s2c_push),
        .out_wr_en(out_wr_en), .out_wr_addr(out_wr_addr), .out_wr_data(out_wr_data),
        .wr_cmd_valid(wr_cmd_valid), .wr_cmd_ready(wr_cmd_ready), .wr_cmd_addr(wr_cmd_addr), .wr_cmd_len(wr_cmd_len),
        .wr_data_valid(wr_data_valid), .wr_data_ready(wr_data_ready), .wr_data(wr_data), .wr_strobe(wr_strobe),
        .wr_ack(wr_ack), .wr_ack_err(wr_ack_err), .wr_ack_ready(wr_ack_ready),
        .err_valid(err_valid[3]), .err_code(err_code[31:24]), .err_index(err_index[127:96]),
        .head_valid(head_valid[STORE]), .head_index(head_index[95:64]),
        .stat_issue(issue[STORE]), .stat_retire(retire[STORE]), .stat_busy(busy[STORE]),
        .stat_token(token_wait[STORE]), .stat_room(room_wait[STORE]), .stat_mem(mem_wait[STORE]), .stat_element(store_element)
    );

    // Units that need a clock; each tells for itself.
    wire work_host;
    wire work_fetch;
    wire work_asked = rd_cmd_valid != 3'd0 || wr_cmd_valid;     // an answer of the bus may move anything
    wire work_flow  = work_fetch || work_asked || enter != 3'd0 || (insn_valid & insn_ready) != 3'd0
                   || issue != 3'd0 || retire != 3'd0;

    vta_awake #(.LINGER(4)) host_sleep (.clk(clk), .rst(rst), .work(work_host || ended), .awake(awake_host));
    vta_awake #(.LINGER(4)) flow_sleep (.clk(clk), .rst(unit_rst), .work(work_flow), .awake(awake_flow));
    vta_awake #(.LINGER(4)) read_sleep (
        .clk(clk), .rst(rst), .work(!read_idle || rd_cmd_valid != 3'd0), .awake(awake_read)
    );
    vta_awake #(.LINGER(4)) write_sleep (
        .clk(clk), .rst(rst), .work(!write_idle || wr_cmd_valid), .awake(awake_write)
    );

    // Anything that moves keeps the watchdog quiet.
    assign progress = fetch_insn || issue != 3'd0 || retire != 3'd0
                   || step_gemm || step_depthwise || step_alu || step_requant
                   || (m_axi_arvalid && m_axi_arready) || (m_axi_rvalid && m_axi_rready)
                   || (m_axi_awvalid && m_axi_awready) || (m_axi_wvalid && m_axi_wready)
                   || (m_axi_bvalid && m_axi_bready);

    // Counters. Those of bytes are the last ones and come with amounts.
    localparam integer PLAIN  = VTA_COUNT_FETCH_BYTES;
    localparam integer AMOUNT = 10;
    localparam [AMOUNT-1:0] INSN_BYTES = 16;
    localparam [AMOUNT-1:0] OUT_BYTES  = 1 << VTA_LOG_BYTES_OUT;
    reg [VTA_COUNTERS-1:0]                 events;
    reg [(VTA_COUNTERS-PLAIN)*AMOUNT-1:0]  amounts;

    vta_counters #(.COUNTERS(VTA_COUNTERS), .PLAIN(PLAIN), .AMOUNT(AMOUNT)) counters (
        .clk(clk), .rst(rst), .clear(clear), .events(events & {VTA_COUNTERS{run}}), .amounts(amounts),
        .rd_valid(count_valid), .rd_index(count_index), .rd_done(count_done), .rd_data(count_data)
    );

    always @* begin
        events = {VTA_COUNTERS{1'b0}};
        events[VTA_COUNT_CYCLES]          = run;
        events[VTA_COUNT_FETCH_INSNS]     = fetch_insn;
        events[VTA_COUNT_FETCH_FULL]      = fetch_full;
        events[VTA_COUNT_FETCH_MEM]       = fetch_mem;
        events[VTA_COUNT_LOAD_INSNS]      = retire[LOAD];
        events[VTA_COUNT_LOAD_BUSY]       = busy[LOAD];
        events[VTA_COUNT_LOAD_TOKEN]      = token_wait[LOAD];
        events[VTA_COUNT_LOAD_MEM]        = mem_wait[LOAD];
        events[VTA_COUNT_COMPUTE_INSNS]   = retire[COMPUTE];
        events[VTA_COUNT_COMPUTE_BUSY]    = busy[COMPUTE];
        events[VTA_COUNT_COMPUTE_TOKEN]   = token_wait[COMPUTE];
        events[VTA_COUNT_COMPUTE_MEM]     = mem_wait[COMPUTE];
        events[VTA_COUNT_GEMM_STEPS]      = step_gemm;
        events[VTA_COUNT_DEPTHWISE_STEPS] = step_depthwise;
        events[VTA_COUNT_ALU_STEPS]       = step_alu;
        events[VTA_COUNT_REQUANT_STEPS]   = step_requant;
        events[VTA_COUNT_STORE_INSNS]     = retire[STORE];
        events[VTA_COUNT_STORE_BUSY]      = busy[STORE];
        events[VTA_COUNT_STORE_TOKEN]     = token_wait[STORE];
        events[VTA_COUNT_STORE_MEM]       = mem_wait[STORE];
        events[VTA_COUNT_FETCH_BYTES]     = fetch_insn;
        events[VTA_COUNT_UOP_BYTES]       = compute_rd_en && (compute_rd_mem == VTA_MEM_UOP || compute_rd_mem == VTA_MEM_TAB);
        events[VTA_COUNT_WGT_BYTES]       = load_rd_en && (load_rd_mem == VTA_MEM_WGT || (WGT4 != 0 && load_rd_mem == VTA_MEM_WGT4));
        events[VTA_COUNT_INP_BYTES]       = load_rd_en && load_rd_mem == VTA_MEM_INP;
        events[VTA_COUNT_ACC_BYTES]       = compute_rd_en && compute_rd_mem != VTA_MEM_UOP && compute_rd_mem != VTA_MEM_TAB;
        events[VTA_COUNT_OUT_BYTES]       = store_element;
    end

    always @* begin
        amounts[(VTA_COUNT_FETCH_BYTES-PLAIN)*AMOUNT +: AMOUNT] = INSN_BYTES;
        amounts[(VTA_COUNT_UOP_BYTES-PLAIN)*AMOUNT +: AMOUNT]   = {3'd0, compute_rd_bytes};
        amounts[(VTA_COUNT_WGT_BYTES-PLAIN)*AMOUNT +: AMOUNT]   = {3'd0, load_rd_bytes};
        amounts[(VTA_COUNT_INP_BYTES-PLAIN)*AMOUNT +: AMOUNT]   = {3'd0, load_rd_bytes};
        amounts[(VTA_COUNT_ACC_BYTES-PLAIN)*AMOUNT +: AMOUNT]   = {3'd0, compute_rd_bytes};
        amounts[(VTA_COUNT_OUT_BYTES-PLAIN)*AMOUNT +: AMOUNT]   = OUT_BYTES;
    end

    assign dbg = {2'b00, fetch_mem, fetch_full, step_requant, step_alu, step_depthwise, step_gemm,
                  1'b0, busy, 1'b0, mem_wait, 1'b0, token_wait, 1'b0, retire, 1'b0, issue, 1'b0, enter};
endmodule

`default_nettype wire
