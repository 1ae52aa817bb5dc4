// SPDX-License-Identifier: Apache-2.0
//
// vta_load -- the load unit: LOAD of INP and WGT, with WGT4 = 1 of weights of four bits, too, and the two scratchpads.
//
// Contract: instructions start in order and retire in order; the next ones start while data of earlier ones are in
// flight. The token of an instruction is given when all its entries are in the scratchpad. Read ports: data one cycle
// after rd_en, held until the next rd_en.
`include "vta_assert.vh"
`default_nettype none

module vta_load #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer LOG_UOP_DEPTH = 13,
    parameter integer LOG_INP_DEPTH = 11,
    parameter integer LOG_WGT_DEPTH = 10,
    parameter integer LOG_ACC_DEPTH = 11,
    parameter integer LOG_BUS_BYTES = 3,
    parameter integer ADDR_BITS     = 40,
    parameter integer LOOP_BACK     = 1,    // 0: inp_wr_en stays low
    parameter integer DEPTHWISE_TAPS = 9,
    parameter integer WGT4          = 0
) (
    input  wire                          clk,
    input  wire                          clk_unit,      // may stop while awake is low
    output wire                          awake,
    input  wire                          rst,

    input  wire                          insn_valid,
    output wire                          insn_ready,
    input  wire [127:0]                  insn_data,
    input  wire [31:0]                   insn_index,
    input  wire [8*ADDR_BITS-1:0]        bases,

    input  wire                          c2l_avail,
    output wire                          c2l_pop,
    input  wire                          l2c_room,
    output wire                          l2c_push,

    output wire                          rd_cmd_valid,
    input  wire                          rd_cmd_ready,
    output wire [ADDR_BITS-1:0]          rd_cmd_addr,
    output wire [7:0]                    rd_cmd_len,
    input  wire                          rd_data_valid,
    output wire                          rd_data_ready,
    input  wire [(8<<LOG_BUS_BYTES)-1:0] rd_data,
    input  wire                          rd_last,
    input  wire                          rd_err,

    input  wire                          inp_wr_en,
    input  wire [LOG_INP_DEPTH-1:0]      inp_wr_addr,
    input  wire [1:0]                    inp_wr_part,
    input  wire [(8<<(LOG_BATCH+LOG_BLOCK_OUT))-1:0] inp_wr_data,
    input  wire                          inp_rd_en,
    input  wire [LOG_INP_DEPTH-1:0]      inp_rd_addr,
    output wire [(8<<(LOG_BATCH+LOG_BLOCK_IN))-1:0] inp_rd_data,
    input  wire                          inp_rd_more,
    input  wire [2*LOG_INP_DEPTH-1:0]    inp_rd_more_addr,
    output wire [(16<<(LOG_BATCH+LOG_BLOCK_IN))-1:0] inp_rd_more_data,
    input  wire                          wgt_rd_en,
    input  wire [LOG_WGT_DEPTH-1:0]      wgt_rd_addr,
    output wire [(8<<(LOG_BLOCK_IN+LOG_BLOCK_OUT))-1:0] wgt_rd_data,

    output wire                          err_valid,
    output wire [7:0]                    err_code,
    output wire [31:0]                   err_index,
    output wire                          head_valid,
    output wire [31:0]                   head_index,

    output wire                          stat_issue,
    output wire                          stat_retire,
    output wire                          stat_busy,
    output wire                          stat_token,
    output wire                          stat_room,   // the oldest one is done and waits for room for its token
    output wire                          stat_mem,
    output wire                          stat_rd_en,
    output wire [2:0]                    stat_rd_mem,
    output wire [6:0]                    stat_rd_bytes
);
`include "vta_isa.vh"
    localparam integer BUS_BITS   = 8 << LOG_BUS_BYTES;
    localparam integer INP_BITS   = 8 << VTA_LOG_BYTES_INP;
    localparam integer WGT_BITS   = 8 << VTA_LOG_BYTES_WGT;
    localparam integer INP_SLICE  = INP_BITS < BUS_BITS ? INP_BITS : BUS_BITS;
    localparam integer WGT_SLICE  = WGT_BITS < BUS_BITS ? WGT_BITS : BUS_BITS;
    localparam integer LOG_LARGE  = VTA_LOG_BYTES_WGT > VTA_LOG_BYTES_INP ? VTA_LOG_BYTES_WGT : VTA_LOG_BYTES_INP;
    localparam integer LOG_SLICES = LOG_LARGE > LOG_BUS_BYTES ? LOG_LARGE - LOG_BUS_BYTES : 0;

    wire               cmd_valid;
    wire               cmd_ready;
    wire [31:0]        cmd_index;
    wire               cmd_push;
    wire [2:0]         cmd_mem;
    wire [12:0]        cmd_sram;
    wire [ADDR_BITS:0] cmd_addr;
    wire [15:0]        cmd_stride;
    wire [13:0]        cmd_x;
    wire [13:0]        cmd_y;
    wire [32:0]        cmd_pads;
    wire [7:0]         cmd_pad;
    wire [13:0]        cmd_elems;
    wire [13:0]        cmd_entries;
    wire               front_err;
    wire               front_valid;
    wire [7:0]         front_code;
    wire               engine_ready;
    wire               pending_ready;

    assign cmd_ready = engine_ready && pending_ready;

    vta_mem_front #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .ADDR_BITS(ADDR_BITS), .WGT4(WGT4), .STORE(0)
    ) front (
        .clk(clk_unit), .rst(rst),
        .insn_valid(insn_valid), .insn_ready(insn_ready), .insn_data(insn_data), .insn_index(insn_index),
        .bases(bases), .token_avail(c2l_avail), .token_pop(c2l_pop),
        .out_valid(cmd_valid), .out_ready(cmd_ready), .out_index(cmd_index), .out_push(cmd_push),
        .out_mem(cmd_mem), .out_sram(cmd_sram), .out_addr(cmd_addr), .out_stride(cmd_stride),
        .out_x(cmd_x), .out_y(cmd_y), .out_pads(cmd_pads), .out_pad(cmd_pad),
        .out_elems(cmd_elems), .out_entries(cmd_entries),
        .err_valid(front_err), .err_code(front_code), .head_valid(front_valid), .stat_token(stat_token)
    );

    wire                         wr_en;
    wire [2:0]                   wr_mem;
    wire [12:0]                  wr_addr;
    wire [BUS_BITS-1:0]          wr_data;
    wire [(1<<LOG_SLICES)-1:0]   wr_strobe;
    wire                         wr_pad;
    wire [2:0]                   now_mem;
    wire [12:0]                  data_addr;
    wire [12:0]                  pad_addr;
    wire                         unused_wr_last;
    wire [BUS_BITS-1:0]          unused_beat;
    wire [31:0]                  unused_word;
    wire                         engine_done;
    wire                         engine_err;
    wire                         engine_wait;

    // INP is one RAM, or four that take entries in turn (vta_inp).
    localparam integer ROWS = LOG_BLOCK_OUT > 3 && DEPTHWISE_TAPS == 9 ? 3 : 1;
    wire all_free  = LOOP_BACK == 0 || !inp_wr_en || now_mem != VTA_MEM_INP;
    localparam integer BANK = LOG_INP_DEPTH >= 2 ? 2 : 1;   // bits that tell which of four
    wire data_free = all_free || (ROWS == 3 && LOG_INP_DEPTH >= 2 && inp_wr_addr[BANK-1:0] != data_addr[BANK-1:0]);
    wire pad_free  = all_free || (ROWS == 3 && LOG_INP_DEPTH >= 2 && inp_wr_addr[BANK-1:0] != pad_addr[BANK-1:0]);
    wire wr_free   = wr_pad ? pad_free : data_free;

    vta_tload #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS), .WGT4(WGT4), .COMPUTE(0)
    ) engine (
        .clk(clk_unit), .rst(rst),
        .cmd_valid(cmd_valid && pending_ready), .cmd_ready(engine_ready),
        .cmd_mem(cmd_mem), .cmd_sram(cmd_sram), .cmd_addr(cmd_addr), .cmd_stride(cmd_stride),
        .cmd_x(cmd_x), .cmd_y(cmd_y), .cmd_pads(cmd_pads), .cmd_pad(cmd_pad),
        .cmd_elems(cmd_elems), .cmd_entries(cmd_entries),
        .wr_en(wr_en), .wr_ready(data_free), .wr_pad_ready(pad_free), .wr_mem(wr_mem), .wr_addr(wr_addr), .wr_data(wr_data),
        .wr_strobe(wr_strobe), .wr_last(unused_wr_last), .wr_pad(wr_pad), .now_mem(now_mem),
        .data_addr(data_addr), .data_beat(unused_beat), .pad_addr(pad_addr), .pad_word(unused_word),
        .done(engine_done), .err(engine_err),
        .rd_cmd_valid(rd_cmd_valid), .rd_cmd_ready(rd_cmd_ready), .rd_cmd_addr(rd_cmd_addr), .rd_cmd_len(rd_cmd_len),
        .rd_data_valid(rd_data_valid), .rd_data_ready(rd_data_ready), .rd_data(rd_data), .rd_last(rd_last),
        .rd_err(rd_err),
        .stat_wait(engine_wait), .stat_rd_en(stat_rd_en), .stat_rd_mem(stat_rd_mem), .stat_rd_bytes(stat_rd_bytes)
    );

    // A register stage on the way to the RAMs: there are many of them, far away. What is written in the cycle in which an
    // instruction is done is in the scratchpad when its token is given, a cycle later.
    localparam integer INP_SLICES = INP_BITS / INP_SLICE;
    localparam integer WGT_SLICES = WGT_BITS / WGT_SLICE;
    reg                     inp_en_q;
    reg                     wgt_en_q;
    reg [INP_SLICES-1:0]    inp_strobe_q;
    reg [WGT_SLICES-1:0]    wgt_strobe_q;
    reg [LOG_INP_DEPTH-1:0] inp_addr_q;
    reg [LOG_WGT_DEPTH-1:0] wgt_addr_q;
    reg [BUS_BITS-1:0]      wr_data_q;

    // Weights of four bits: what a beat brings fills two slices, so that slices beside each other get data of their own.
    localparam integer WGT_WRITE = WGT4 != 0 && WGT_SLICES > 1 ? 2*WGT_SLICE : WGT_SLICE;
    wire                  to_wgt4 = WGT4 != 0 && wr_mem == VTA_MEM_WGT4;
    wire                  extend  = to_wgt4 && !wr_pad;
    wire [2*BUS_BITS-1:0] extended;
    wire [WGT_SLICES-1:0] pairs;
    wire [WGT_WRITE-1:0]  wgt_data;

    genvar n;
    generate
        for (n = 0; n < BUS_BITS/4; n = n + 1) begin : weight
            assign extended[8*n +: 8] = {{4{wr_data[4*n+3]}}, wr_data[4*n +: 4]};
        end
        for (n = 0; n < WGT_SLICES; n = n + 1) begin : pair
            assign pairs[n] = wr_strobe[n/2];
        end
        if (WGT_WRITE > WGT_SLICE) begin : upper
            reg [WGT_SLICE-1:0] upper_q;
            always @(posedge clk) begin
                if (wr_en) upper_q <= extend ? extended[WGT_SLICE +: WGT_SLICE] : wr_data[WGT_SLICE-1:0];
            end
            assign wgt_data = {upper_q, wr_data_q[WGT_SLICE-1:0]};
        end else begin : single
            assign wgt_data = wr_data_q[WGT_SLICE-1:0];
            wire unused_upper = |extended[2*BUS_BITS-1:BUS_BITS];
        end
    endgenerate

    always @(posedge clk) begin
        inp_en_q <= wr_en && wr_free && wr_mem == VTA_MEM_INP;
        wgt_en_q <= (wr_en && wr_mem == VTA_MEM_WGT) || (wr_en && to_wgt4);
        if (wr_en) begin
            inp_strobe_q <= wr_strobe[INP_SLICES-1:0];
            wgt_strobe_q <= extend ? pairs : wr_strobe[WGT_SLICES-1:0];
            inp_addr_q   <= wr_addr[LOG_INP_DEPTH-1:0];
            wgt_addr_q   <= wr_addr[LOG_WGT_DEPTH-1:0];
            wr_data_q    <= extend ? extended[BUS_BITS-1:0] : wr_data;
        end
    end

    // Results of compute come the same way: block_out lanes of each row, to one part of it.
    localparam integer OUT_BITS  = 8 << LOG_BLOCK_OUT;
    localparam integer LOG_PARTS = LOG_BLOCK_IN > LOG_BLOCK_OUT ? LOG_BLOCK_IN - LOG_BLOCK_OUT : 0;
    localparam integer GRAIN     = LOOP_BACK != 0 && LOG_BLOCK_IN >= LOG_BLOCK_OUT && OUT_BITS < INP_SLICE ? OUT_BITS : INP_SLICE;
    localparam integer GRAINS    = INP_BITS / GRAIN;
    localparam integer ROW_BITS  = 8 << LOG_BLOCK_IN;
    reg                     two_en_q;
    reg [LOG_INP_DEPTH-1:0] two_addr_q;
    reg [GRAINS-1:0]        two_strobe_q;
    reg [(OUT_BITS<<LOG_BATCH)-1:0] two_data_q;
    wire [GRAINS-1:0]       two_strobe;
    wire [INP_BITS-1:0]     two_data;

    always @(posedge clk) begin
        two_en_q <= LOOP_BACK != 0 && inp_wr_en;
        if (LOOP_BACK != 0 && inp_wr_en) begin
            two_addr_q   <= inp_wr_addr;
            two_strobe_q <= two_strobe;
            two_data_q   <= inp_wr_data;
        end
    end

    genvar g;
    generate
        if (LOOP_BACK != 0 && LOG_BLOCK_IN >= LOG_BLOCK_OUT) begin : fits
            for (g = 0; g < GRAINS; g = g + 1) begin : grain
                // Of the grain: its row of the batch, its part, its place there.
                localparam integer ROW  = g*GRAIN/ROW_BITS;
                localparam integer PART = g*GRAIN%ROW_BITS/OUT_BITS;
                localparam integer FROM = ROW*OUT_BITS + g*GRAIN%OUT_BITS;
                assign two_strobe[g] = LOG_PARTS == 0 || {30'd0, inp_wr_part} == PART;
                assign two_data[GRAIN*g +: GRAIN] = two_data_q[FROM +: GRAIN];
            end
        end else begin : never
            assign two_strobe = {GRAINS{1'b0}};
            assign two_data   = {INP_BITS{1'b0}};
            wire unused_two = |{two_data_q, inp_wr_part};
        end
    endgenerate

    vta_inp #(
        .LOG_DEPTH(LOG_INP_DEPTH), .WIDTH(INP_BITS), .SLICE(INP_SLICE), .GRAIN(GRAIN), .ROWS(ROWS)
    ) inp (
        .clk(clk), .rst(rst),
        .wr_en(inp_en_q), .wr_strobe(inp_strobe_q), .wr_addr(inp_addr_q), .wr_data(wr_data_q[INP_SLICE-1:0]),
        .two_en(two_en_q), .two_strobe(two_strobe_q), .two_addr(two_addr_q), .two_data(two_data),
        .rd_en(inp_rd_en), .rd_addr(inp_rd_addr), .rd_data(inp_rd_data),
        .rd_more(inp_rd_more), .rd_more_addr(inp_rd_more_addr), .rd_more_data(inp_rd_more_data)
    );

    vta_ram #(
        .LOG_DEPTH(LOG_WGT_DEPTH), .WIDTH(WGT_BITS), .SLICE(WGT_SLICE), .WR_WIDTH(WGT_WRITE)
    ) wgt (
        .clk(clk),
        .wr_en(wgt_en_q), .wr_strobe(wgt_strobe_q), .wr_addr(wgt_addr_q), .wr_data(wgt_data),
        .rd_en(wgt_rd_en), .rd_addr(wgt_rd_addr), .rd_data(wgt_rd_data)
    );

    // Instructions in work, oldest first.
    wire        pending_valid;
    wire        pending_push;
    wire [31:0] pending_index;
    wire        retire;

    vta_fifo #(.WIDTH(33), .LOG_DEPTH(5)) pending (
        .clk(clk_unit), .rst(rst),
        .in_valid(cmd_valid && engine_ready), .in_ready(pending_ready), .in_data({cmd_index, cmd_push}),
        .out_valid(pending_valid), .out_ready(retire), .out_data({pending_index, pending_push})
    );

    // Counts of those in flight, and of those that are done and wait for room for their token. After a bus error nothing is
    // done any more, so that the oldest one left is the one that failed. Nothing in flight may fail any more when the next
    // instruction is said to be wrong: of two errors the older counts.
    reg [5:0] flight_q;
    reg [5:0] done_q;
    reg       failed_q;
    wire      done = engine_done && !engine_err && !failed_q;

    assign retire = done_q != 6'd0 && (!pending_push || l2c_room);

    always @(posedge clk_unit) begin
        if (rst) begin
            flight_q <= 6'd0;
            done_q   <= 6'd0;
            failed_q <= 1'b0;
        end else begin
            flight_q <= flight_q + {5'd0, stat_issue} - {5'd0, done};
            done_q   <= done_q + {5'd0, done} - {5'd0, retire};
            if (engine_err) failed_q <= 1'b1;
        end
    end

    assign l2c_push    = retire && pending_push;
    assign err_valid   = failed_q ? done_q == 6'd0 : front_err && flight_q == 6'd0;
    assign err_code    = failed_q ? VTA_ERROR_READ_BUS : front_code;
    assign err_index   = failed_q ? pending_index : cmd_index;
    assign head_valid  = pending_valid || front_valid;
    assign head_index  = pending_valid ? pending_index : cmd_index;
    assign stat_issue  = cmd_valid && cmd_ready;
    assign stat_retire = retire;
    assign stat_busy   = pending_valid;
    assign stat_room   = done_q != 6'd0 && !retire;
    assign stat_mem    = engine_wait;

    wire unused_addr = |{wr_addr, data_addr, pad_addr};
    wire unused_data = |wr_data_q;      // a bus may be wider than what an entry takes of it

    vta_awake #(.LINGER(8)) sleep (
        .clk(clk), .rst(rst), .awake(awake),
        .work((insn_valid && insn_ready) || stat_issue || rd_cmd_valid || rd_data_valid || wr_en || engine_done || retire)
    );

    `VTA_FORMAL_RESET
    `VTA_ASSERT(pending, done_q == 6'd0 || pending_valid)
endmodule

`default_nettype wire
