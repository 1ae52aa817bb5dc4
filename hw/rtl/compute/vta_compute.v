// SPDX-License-Identifier: Apache-2.0
//
// vta_compute -- the compute unit: GEMM, DEPTHWISE, ALU, REQUANT, LOAD of UOP, ACC, ACC8 and TAB, FINISH.
//
// Instructions are decoded and issued in order, at most one a cycle, their tokens taken at issue, into one of three
// pipelines: the array (vta_gemm), the ALU (vta_alu), the loads (vta_compute_load). These run side by side. What keeps
// that invisible: each instruction remembers how many had been issued to the other pipelines before it (its snapshots);
// each pipeline tells which ACC entries, and which micro-ops, its instructions in work may touch; an access waits while
// an older instruction elsewhere may touch the same entry (vta_guard). LOADs in work are few: an instruction is marked
// with those that it may have to wait for when it is issued (vta_marks, vta_load_guard). An older one never waits for a
// younger one, so all of them end. Instructions retire in order; their tokens are given then, and errors come up then.
//
// Contract: the ports of the load engine, of the scratchpads next door and of the token counters as in vta_top. The unit
// stops for good after err_valid, until reset.
`include "vta_assert.vh"
`define VTA_ISA_BUNDLE
`include "vta_isa.vh"
`undef VTA_ISA_BUNDLE
`default_nettype none

module vta_compute #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer LOG_UOP_DEPTH = 13,
    parameter integer LOG_INP_DEPTH = 11,
    parameter integer LOG_WGT_DEPTH = 10,
    parameter integer LOG_ACC_DEPTH = 11,
    parameter integer LOG_BUS_BYTES = 3,
    parameter integer ADDR_BITS     = 40,
    parameter integer PUMP          = 1,    // of vta_array
    parameter integer LANE_DSPS     = 3,    // of vta_alu_lane
    parameter integer TABLE         = 1,    // as in vta_top
    parameter integer LOOP_BACK     = 1,
    parameter integer DEPTHWISE_TAPS = 9,
    parameter integer ROWS          = 0
) (
    input  wire         clk,
    input  wire         clk2x,
    input  wire         clk_issue,      // these may stop while their awake_* is low
    input  wire         clk_array,
    input  wire         clk_alu,
    input  wire         clk_fill,
    output wire         awake_issue,
    output wire         awake_array,
    output wire         awake_alu,
    output wire         awake_fill,
    input  wire         rst,

    input  wire         insn_valid,
    output wire         insn_ready,
    input  wire [127:0] insn_data,
    input  wire [31:0]  insn_index,

    input  wire         l2c_avail,
    output wire         l2c_pop,
    input  wire         s2c_avail,
    output wire         s2c_pop,
    input  wire         c2l_room,
    output wire         c2l_push,
    input  wire         c2s_room,
    output wire         c2s_push,

    input  wire [8*ADDR_BITS-1:0] bases,

    output wire                 rd_cmd_valid,
    input  wire                 rd_cmd_ready,
    output wire [ADDR_BITS-1:0] rd_cmd_addr,
    output wire [7:0]           rd_cmd_len,
    input  wire                 rd_data_valid,
    output wire                 rd_data_ready,
    input  wire [(8<<LOG_BUS_BYTES)-1:0] rd_data,
    input  wire                 rd_last,
    input  wire                 rd_err,

    output wire                     inp_rd_en,
    output wire [LOG_INP_DEPTH-1:0] inp_rd_addr,
    input  wire [(8<<(LOG_BATCH+LOG_BLOCK_IN))-1:0] inp_rd_data,
    output wire                     inp_rd_more,
    output wire [2*LOG_INP_DEPTH-1:0] inp_rd_more_addr,
    input  wire [(16<<(LOG_BATCH+LOG_BLOCK_IN))-1:0] inp_rd_more_data,
    output wire                     wgt_rd_en,
    output wire [LOG_WGT_DEPTH-1:0] wgt_rd_addr,
    input  wire [(8<<(LOG_BLOCK_IN+LOG_BLOCK_OUT))-1:0] wgt_rd_data,
    output wire                     inp_wr_en,      // a tile goes to a part of an INP entry, a cycle later
    output wire [LOG_INP_DEPTH-1:0] inp_wr_addr,
    output wire [1:0]               inp_wr_part,
    output wire [(8<<(LOG_BATCH+LOG_BLOCK_OUT))-1:0] inp_wr_data,
    output wire                     out_wr_en,
    output wire [LOG_ACC_DEPTH-1:0] out_wr_addr,
    output wire [(8<<(LOG_BATCH+LOG_BLOCK_OUT))-1:0] out_wr_data,

    output wire         finish,
    input  wire         ls_idle,
    output wire         err_valid,
    output wire [7:0]   err_code,
    output wire [31:0]  err_index,

    // The oldest instruction that has not retired, for reports.
    output wire         head_valid,
    output wire [31:0]  head_index,
    output wire         stat_busy,
    output wire         stat_token,
    output wire         stat_room,      // the oldest instruction is done and waits for room for its tokens
    output wire         stat_mem,
    output wire         stat_issue,
    output wire         stat_retire,
    output wire         stat_gemm,
    output wire         stat_depthwise,
    output wire         stat_alu,
    output wire         stat_requant,
    output wire         stat_rd_en,
    output wire [2:0]   stat_rd_mem,
    output wire [6:0]   stat_rd_bytes
);
`include "vta_isa.vh"
    localparam integer U = LOG_UOP_DEPTH;
    localparam integer I = LOG_INP_DEPTH;
    localparam integer W = LOG_WGT_DEPTH;
    localparam integer A = LOG_ACC_DEPTH;
    localparam integer MAX_AI      = VTA_LOG_MAX_AI;
    localparam integer SRC_BITS    = I > 11 ? I : 11;
    localparam integer LOG_LANES   = LOG_BATCH + LOG_BLOCK_OUT;
    localparam integer ACC_BITS    = 32 << LOG_LANES;
    localparam integer LOG_STROBES = LOG_LANES + 2 > LOG_BUS_BYTES ? LOG_LANES + 2 - LOG_BUS_BYTES : 0;
    localparam integer STROBES     = 1 << LOG_STROBES;
    // ACC banks. Of 512 or 1,024 entries there are two: a block RAM is 512 deep at its widest.
    localparam integer LOG_BANK    = A > 3 && A != 9 && A != 10 ? 2 : A > 1 ? 1 : 0;
    localparam integer LOG_ENTRIES = 2;                           // LOADs in work
    localparam integer ENTRIES     = 1 << LOG_ENTRIES;

    // Decode: two decoders in step.
    wire               d_valid;
    wire               d_move;
    wire               issue;
    wire [7:0]         mem_error;
    wire [2:0]         d_mem;
    wire [12:0]        d_sram;
    wire [ADDR_BITS:0] d_addr;
    wire [15:0]        d_stride;
    wire [13:0]        d_x;
    wire [13:0]        d_y;
    wire [32:0]        d_pads;
    wire [7:0]         d_pad;
    wire [13:0]        d_elems;
    wire [13:0]        d_entries;

    assign insn_ready = d_move;

    vta_mem_decode #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(U), .LOG_INP_DEPTH(I), .LOG_WGT_DEPTH(W), .LOG_ACC_DEPTH(A), .ADDR_BITS(ADDR_BITS), .TABLE(TABLE)
    ) mem_decode (
        .clk(clk_issue), .rst(rst), .in_valid(insn_valid), .in_ready(d_move), .in_insn(insn_data), .bases(bases),
        .out_valid(d_valid), .out_ready(issue), .out_error(mem_error), .out_mem(d_mem), .out_sram(d_sram),
        .out_addr(d_addr), .out_stride(d_stride), .out_x(d_x), .out_y(d_y), .out_pads(d_pads), .out_pad(d_pad),
        .out_elems(d_elems), .out_entries(d_entries)
    );

    wire [31:0]       d_index;
    wire [7:0]        nest_error;
    wire              d_pop_prev, d_pop_next, d_push_prev, d_push_next;
    wire              d_load, d_finish, d_array, d_alu, d_empty;
    `VTA_DECODE_WIRES;

    vta_decode #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(U), .LOG_INP_DEPTH(I), .LOG_WGT_DEPTH(W), .LOG_ACC_DEPTH(A), .SRC_BITS(SRC_BITS), .MAX_AI(MAX_AI),
        .TABLE(TABLE), .LOOP_BACK(LOOP_BACK), .DEPTHWISE_TAPS(DEPTHWISE_TAPS), .ROWS(ROWS)
    ) decode (
        .clk(clk_issue), .full(d_valid), .go(issue), .insn_valid(insn_valid), .insn(insn_data), .insn_index(insn_index),
        .index(d_index), .error(nest_error), .pop_prev(d_pop_prev), .pop_next(d_pop_next), .push_prev(d_push_prev),
        .push_next(d_push_next), .is_load(d_load), .is_finish(d_finish), .is_array(d_array), .is_alu(d_alu),
        .empty(d_empty), `VTA_DECODE_CONNECT
    );

    // Issue. What has nothing to do in a pipeline (errors, FINISH, empty nests and loads) goes to the order queue alone.
    localparam [1:0] NONE = 2'd0, ARRAY = 2'd1, ALU = 2'd2, LOADS = 2'd3;

    wire [7:0] d_error  = nest_error != VTA_ERROR_NONE ? nest_error : d_load ? mem_error : VTA_ERROR_NONE;
    wire       d_idle   = d_error != VTA_ERROR_NONE || d_finish || d_empty || (d_load && d_entries == 14'd0);
    wire [1:0] d_unit   = d_idle ? NONE : d_array ? ARRAY : d_alu ? ALU : LOADS;
    // A word that is no instruction takes no tokens: it may name some that nobody is going to give.
    wire       d_wrong  = d_error == VTA_ERROR_OPCODE || d_error == VTA_ERROR_FIELD;
    wire       tokens   = d_wrong || ((!d_pop_prev || l2c_avail) && (!d_pop_next || s2c_avail));
    wire       array_q_ready, alu_q_ready, load_q_ready;
    wire       order_ready;
    reg        unit_ready;
    reg        stopped_q;

    always @* begin
        case (d_unit)
        ARRAY:   unit_ready = array_q_ready;
        ALU:     unit_ready = alu_q_ready;
        LOADS:   unit_ready = load_q_ready;
        default: unit_ready = 1'b1;
        endcase
    end

    wire may_issue = d_valid && tokens && order_ready && !stopped_q;
    assign issue   = may_issue && unit_ready;
    assign l2c_pop = issue && d_pop_prev && !d_wrong;
    assign s2c_pop = issue && d_pop_next && !d_wrong;

    // Snapshots: how many instructions each pipeline has been given so far, modulo 64.
    reg  [5:0] array_issued_q;
    reg  [5:0] alu_issued_q;
    always @(posedge clk_issue) begin
        if (rst) begin
            array_issued_q <= 6'd0;
            alu_issued_q   <= 6'd0;
        end else if (issue) begin
            if (d_unit == ARRAY) array_issued_q <= array_issued_q + 6'd1;
            if (d_unit == ALU)   alu_issued_q   <= alu_issued_q + 6'd1;
        end
    end

    // The order queue, and retirement.
    localparam integer ORDER_BITS = 2 + 1 + 1 + 1 + 8 + 32;
    wire        o_valid;
    wire [1:0]  o_unit;
    wire        o_push_prev, o_push_next, o_finish;
    wire [7:0]  o_error;
    wire [31:0] o_index;
    wire        retire;

    vta_fifo #(.WIDTH(ORDER_BITS), .LOG_DEPTH(4)) order (
        .clk(clk_issue), .rst(rst), .in_valid(may_issue && unit_ready), .in_ready(order_ready),
        .in_data({d_unit, d_push_prev, d_push_next, d_finish && d_error == VTA_ERROR_NONE, d_error, d_index}),
        .out_valid(o_valid), .out_ready(retire),
        .out_data({o_unit, o_push_prev, o_push_next, o_finish, o_error, o_index})
    );

    // Instructions that their pipelines have finished and that are still in the order queue.
    wire      array_done, alu_done, load_done;
    wire      array_bad, alu_bad, load_bad;
    wire [7:0] array_code, alu_code;
    reg [4:0] array_finished_q;
    reg [4:0] alu_finished_q;
    reg [4:0] load_finished_q;

    always @(posedge clk_issue) begin
        if (rst) begin
            array_finished_q <= 5'd0;
            alu_finished_q   <= 5'd0;
            load_finished_q  <= 5'd0;
        end else begin
            array_finished_q <= array_finished_q + {4'd0, array_done} - {4'd0, retire && o_unit == ARRAY};
            alu_finished_q   <= alu_finished_q + {4'd0, alu_done} - {4'd0, retire && o_unit == ALU};
            load_finished_q  <= load_finished_q + {4'd0, load_done} - {4'd0, retire && o_unit == LOADS};
        end
    end

    reg o_done;
    reg o_bad;
    reg [7:0] o_code;
    always @* begin
        case (o_unit)
        ARRAY: begin
            o_done = array_finished_q != 5'd0;
            o_bad  = array_bad && !o_done;
            o_code = array_code;
        end
        ALU: begin
            o_done = alu_finished_q != 5'd0;
            o_bad  = alu_bad && !o_done;
            o_code = alu_code;
        end
        LOADS: begin
            o_done = load_finished_q != 5'd0;
            o_bad  = load_bad && !o_done;
            o_code = VTA_ERROR_READ_BUS;
        end
        default: begin
            o_done = o_error == VTA_ERROR_NONE && (!o_finish || ls_idle);
            o_bad  = o_error != VTA_ERROR_NONE;
            o_code = o_error;
        end
        endcase
    end

    assign retire   = o_valid && o_done && !stopped_q && (!o_push_prev || c2l_room) && (!o_push_next || c2s_room);
    assign c2l_push = retire && o_push_prev;
    assign c2s_push = retire && o_push_next;

    reg finish_q;
    always @(posedge clk_issue) begin
        if (rst) begin
            stopped_q <= 1'b0;
            finish_q  <= 1'b0;
        end else begin
            finish_q <= retire && o_finish;
            if (err_valid) stopped_q <= 1'b1;
        end
    end

    assign finish    = finish_q;
    assign err_valid = o_valid && o_bad && !stopped_q;
    assign err_code  = o_code;
    assign err_index = o_index;

    // LOADs in work that an instruction must wait for: before its nest begins, those into its range of micro-ops, or, if it
    // reads a table, into any table; its steps, those into ACC that they meet.
    wire [ENTRIES-1:0] t_acc, t_uop, t_tab, t_done, issue_hits;
    wire [ENTRIES-1:0] issue_first = issue_hits | (TABLE != 0 && d_unit == ALU && d_table_use != 2'd0 ? t_tab : {ENTRIES{1'b0}});
    wire [ENTRIES-1:0] a_uop_marks, a_acc_marks, l_uop_marks, l_acc_marks;

    // The array's queue. A nest begins when older loads into its range of micro-ops have landed.
    localparam integer ARRAY_BITS = `VTA_ARRAY_BITS + 6;
    wire         a_valid, a_ready, a_uop_wait;
    `VTA_ARRAY_WIRES;
    wire [5:0]   a_snap_alu;

    vta_fifo #(.WIDTH(ARRAY_BITS), .LOG_DEPTH(2)) array_queue (
        .clk(clk_issue), .rst(rst), .in_valid(may_issue && d_unit == ARRAY), .in_ready(array_q_ready),
        .in_data({`VTA_ARRAY_TAKEN, alu_issued_q}),
        .out_valid(a_valid), .out_ready(a_ready && !a_uop_wait),
        .out_data({`VTA_ARRAY_HEAD, a_snap_alu})
    );

    vta_marks #(.WIDTH(2*ENTRIES), .DEPTH(4)) array_marks (
        .clk(clk_issue), .rst(rst), .push(issue && d_unit == ARRAY), .in({issue_first, t_acc}),
        .pop(a_valid && a_ready && !a_uop_wait), .done({2{t_done}}), .head({a_uop_marks, a_acc_marks})
    );
    assign a_uop_wait = a_uop_marks != {ENTRIES{1'b0}};

    // The ALU's queue. Its head stands in registers.
    localparam integer ALU_BITS = `VTA_ALU_BITS + 6;
    wire         l_valid, l_ready, l_uop_wait;
    `VTA_ALU_WIRES;
    wire [5:0]   l_snap_array;
    wire                l_next_valid;
    wire [ALU_BITS-1:0] l_next;
    reg                 l_valid_q;
    reg  [ALU_BITS-1:0] l_head_q;
    wire                l_move = !l_valid_q || (l_ready && !l_uop_wait);

    vta_fifo #(.WIDTH(ALU_BITS), .LOG_DEPTH(2)) alu_queue (
        .clk(clk_issue), .rst(rst), .in_valid(may_issue && d_unit == ALU), .in_ready(alu_q_ready),
        .in_data({`VTA_ALU_TAKEN, array_issued_q}),
        .out_valid(l_next_valid), .out_ready(l_move), .out_data(l_next)
    );

    always @(posedge clk_issue) begin
        if (rst) l_valid_q <= 1'b0;
        else if (l_move) l_valid_q <= l_next_valid;
    end

    always @(posedge clk_issue) begin
        if (l_move && l_next_valid) l_head_q <= l_next;
    end

    assign l_valid = l_valid_q;
    assign {`VTA_ALU_HEAD, l_snap_array} = l_head_q;

    vta_marks #(.WIDTH(2*ENTRIES), .DEPTH(5)) alu_marks (
        .clk(clk_issue), .rst(rst), .push(issue && d_unit == ALU), .in({issue_first, t_acc}),
        .pop(l_valid_q && l_ready && !l_uop_wait), .done({2{t_done}}), .head({l_uop_marks, l_acc_marks})
    );
    assign l_uop_wait = l_uop_marks != {ENTRIES{1'b0}};

    // Pipelines.
    wire         array_work, alu_work, fill_work;
    wire         uop_wr;
    wire [U-1:0] uop_wr_addr;
    wire [31:0]  uop_wr_data;
    wire         tab_wr;
    wire [VTA_LOG_DEPTH_TAB-1:0] tab_wr_addr;
    wire [31:0]  tab_wr_data;
    wire         alu_uop_rd, array_uop_rd;
    wire [U-1:0] alu_uop_addr, array_uop_addr;
    wire [31:0]  alu_uop_data, array_uop_data;

    vta_uop_ram #(.LOG_DEPTH(U)) uop_ram (
        .clk(clk), .a_wr(uop_wr), .a_rd(alu_uop_rd), .a_addr(uop_wr ? uop_wr_addr : alu_uop_addr),
        .a_wr_data(uop_wr_data), .a_rd_data(alu_uop_data),
        .b_rd(array_uop_rd), .b_addr(array_uop_addr), .b_rd_data(array_uop_data)
    );

    wire         array_fetching;
    wire [5:0]   array_fetched;
    wire [U-1:0] array_fetch_first, array_fetch_last;
    wire [5:0]   array_ask_alu;
    wire [ENTRIES-1:0] array_older;
    wire [A-1:0] array_ask_dst;
    wire         array_ask_reads;
    wire [I-1:0] array_ask_first, array_ask_last;
    wire         array_wait;
    wire [5:0]   array_started, array_retired;
    wire         array_running, array_known, array_drain, array_run_reads;
    wire [I-1:0] array_inp_first, array_inp_last;
    wire [A-1:0] array_run_first, array_run_last, array_drain_first, array_drain_last;
    wire         array_rd_en, array_wr_soon, array_wr_en;
    wire [A-1:0] array_rd_addr, array_wr_addr;
    wire [ACC_BITS-1:0] array_rd_data, array_wr_data;

    vta_gemm #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(U), .LOG_INP_DEPTH(I), .LOG_WGT_DEPTH(W), .LOG_ACC_DEPTH(A), .MAX_AI(MAX_AI), .ENTRIES(ENTRIES), .PUMP(PUMP),
        .DEPTHWISE_TAPS(DEPTHWISE_TAPS)
    ) gemm (
        .clk(clk_array), .clk2x(clk2x), .rst(rst),
        .insn_valid(a_valid && !a_uop_wait), .insn_ready(a_ready), `VTA_ARRAY_CONNECT,
        .snap_alu(a_snap_alu),
        .marks(a_acc_marks), .load_done(t_done),
        .uop_rd(array_uop_rd), .uop_addr(array_uop_addr), .uop_data(array_uop_data), .fetching(array_fetching),
        .fetched(array_fetched), .fetch_first(array_fetch_first), .fetch_last(array_fetch_last),
        .ask_alu(array_ask_alu), .ask_older(array_older), .ask_dst(array_ask_dst), .ask_reads(array_ask_reads),
        .ask_first(array_ask_first), .ask_last(array_ask_last), .must_wait(array_wait),
        .started(array_started), .retired(array_retired), .running(array_running), .run_known(array_known),
        .run_first(array_run_first), .run_last(array_run_last), .run_reads(array_run_reads),
        .run_inp_first(array_inp_first), .run_inp_last(array_inp_last), .drain_valid(array_drain),
        .drain_first(array_drain_first), .drain_last(array_drain_last), .done(array_done), .error(array_bad),
        .error_code(array_code),
        .inp_rd_en(inp_rd_en), .inp_rd_addr(inp_rd_addr), .inp_rd_data(inp_rd_data),
        .inp_rd_more(inp_rd_more), .inp_rd_more_addr(inp_rd_more_addr), .inp_rd_more_data(inp_rd_more_data),
        .wgt_rd_en(wgt_rd_en), .wgt_rd_addr(wgt_rd_addr), .wgt_rd_data(wgt_rd_data),
        .acc_rd_en(array_rd_en), .acc_rd_addr(array_rd_addr), .acc_rd_data(array_rd_data), .write_soon(array_wr_soon),
        .acc_wr_en(array_wr_en), .acc_wr_addr(array_wr_addr), .acc_wr_data(array_wr_data),
        .work(array_work), .stat_gemm(stat_gemm), .stat_depthwise(stat_depthwise)
    );

    wire         alu_fetching;
    wire [5:0]   alu_fetched;
    wire [U-1:0] alu_fetch_first, alu_fetch_last;
    wire [5:0]   alu_ask_array;
    wire [ENTRIES-1:0] alu_older;
    wire [A-1:0] alu_ask_dst, alu_ask_src;
    wire         alu_ask_loops;
    wire [I-1:0] alu_ask_inp;
    wire         alu_wait;
    wire [5:0]   alu_started, alu_retired;
    wire         alu_running, alu_known, alu_drain, alu_pair;
    wire [A-1:0] alu_dst_first, alu_dst_last, alu_src_first, alu_src_last, alu_pair_first, alu_pair_last;
    wire [A-1:0] alu_drain_first, alu_drain_last;
    wire         alu_run_loops, alu_inp_drain;
    wire [I-1:0] alu_inp_first, alu_inp_last, alu_inp_drain_first, alu_inp_drain_last;
    wire         x_en, y_en, alu_rd_fire, x_free, y_free, alu_wr_en;
    wire [A-1:0] x_addr, y_addr, alu_wr_addr;
    wire [ACC_BITS-1:0] x_data, y_data, alu_wr_data;

    vta_alu #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(U), .LOG_INP_DEPTH(I), .LOG_WGT_DEPTH(W), .LOG_ACC_DEPTH(A), .MAX_AI(MAX_AI),
        .ENTRIES(ENTRIES), .LOG_BANK(LOG_BANK), .LANE_DSPS(LANE_DSPS), .TABLE(TABLE), .LOOP_BACK(LOOP_BACK), .ROWS(ROWS)
    ) alu (
        .clk(clk_alu), .rst(rst),
        .insn_valid(l_valid && !l_uop_wait), .insn_ready(l_ready), `VTA_ALU_CONNECT,
        .snap_array(l_snap_array), .marks(l_acc_marks), .load_done(t_done),
        .uop_ok(!uop_wr), .uop_rd(alu_uop_rd), .uop_addr(alu_uop_addr), .uop_data(alu_uop_data),
        .clk_tab(clk), .tab_wr_en(tab_wr), .tab_wr_addr(tab_wr_addr), .tab_wr_data(tab_wr_data),
        .fetching(alu_fetching), .fetched(alu_fetched), .fetch_first(alu_fetch_first), .fetch_last(alu_fetch_last),
        .ask_array(alu_ask_array), .ask_older(alu_older), .ask_dst(alu_ask_dst), .ask_src(alu_ask_src),
        .ask_loops(alu_ask_loops), .ask_inp(alu_ask_inp), .must_wait(alu_wait), .started(alu_started), .retired(alu_retired), .running(alu_running),
        .run_known(alu_known), .run_dst_first(alu_dst_first), .run_dst_last(alu_dst_last),
        .run_src_first(alu_src_first), .run_src_last(alu_src_last), .run_pair_valid(alu_pair),
        .run_pair_first(alu_pair_first), .run_pair_last(alu_pair_last), .drain_valid(alu_drain),
        .drain_first(alu_drain_first), .drain_last(alu_drain_last),
        .run_loops(alu_run_loops), .run_inp_first(alu_inp_first), .run_inp_last(alu_inp_last),
        .inp_drain_valid(alu_inp_drain), .inp_drain_first(alu_inp_drain_first), .inp_drain_last(alu_inp_drain_last),
        .done(alu_done), .error(alu_bad), .error_code(alu_code),
        .array_write_soon(array_wr_soon),
        .rd_x_en(x_en), .rd_x_addr(x_addr), .rd_x_data(x_data), .rd_y_en(y_en), .rd_y_addr(y_addr), .rd_y_data(y_data),
        .rd_fire(alu_rd_fire), .rd_x_free(x_free), .rd_y_free(y_free),
        .wr_en(alu_wr_en), .wr_addr(alu_wr_addr), .wr_data(alu_wr_data),
        .inp_wr_en(inp_wr_en), .inp_wr_addr(inp_wr_addr), .inp_wr_part(inp_wr_part),
        .work(alu_work), .stat_alu(stat_alu), .stat_requant(stat_requant)
    );

    wire [13*ENTRIES-1:0] t_first, t_last;
    wire                  load_ask_uop, load_ask_tab, load_wait, load_mem_wait;
    wire [12:0]           load_ask_first, load_ask_last;
    wire [5:0]            load_ask_array, load_ask_alu;
    wire                  load_wr_en, load_wr_ready;
    wire [A-1:0]          load_wr_addr;
    wire [ACC_BITS-1:0]   load_wr_data;

    vta_compute_load #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(U), .LOG_INP_DEPTH(I), .LOG_WGT_DEPTH(W), .LOG_ACC_DEPTH(A), .LOG_BUS_BYTES(LOG_BUS_BYTES),
        .ADDR_BITS(ADDR_BITS), .LOG_ENTRIES(LOG_ENTRIES), .STROBES(STROBES)
    ) loads (
        .clk(clk_fill), .rst(rst), .insn_valid(may_issue && d_unit == LOADS), .insn_ready(load_q_ready), .insn_mem(d_mem),
        .insn_sram(d_sram), .insn_addr(d_addr), .insn_stride(d_stride), .insn_x(d_x), .insn_y(d_y), .insn_pads(d_pads),
        .insn_pad(d_pad), .insn_elems(d_elems), .insn_entries(d_entries), .snap_array(array_issued_q),
        .snap_alu(alu_issued_q),
        .table_acc(t_acc), .table_uop(t_uop), .table_tab(t_tab), .table_done(t_done), .table_first(t_first), .table_last(t_last),
        .ask_uop(load_ask_uop), .ask_tab(load_ask_tab), .ask_first(load_ask_first),
        .ask_last(load_ask_last), .ask_array(load_ask_array), .ask_alu(load_ask_alu), .must_wait(load_wait),
        .work(fill_work), .done(load_done), .error(load_bad), .stat_wait(load_mem_wait),
        .uop_wr_en(uop_wr), .uop_wr_addr(uop_wr_addr), .uop_wr_data(uop_wr_data),
        .tab_wr_en(tab_wr), .tab_wr_addr(tab_wr_addr), .tab_wr_data(tab_wr_data),
        .acc_wr_en(load_wr_en), .acc_wr_ready(load_wr_ready), .acc_wr_addr(load_wr_addr), .acc_wr_data(load_wr_data),
        .rd_cmd_valid(rd_cmd_valid), .rd_cmd_ready(rd_cmd_ready), .rd_cmd_addr(rd_cmd_addr), .rd_cmd_len(rd_cmd_len),
        .rd_data_valid(rd_data_valid), .rd_data_ready(rd_data_ready), .rd_data(rd_data), .rd_last(rd_last),
        .rd_err(rd_err), .stat_rd_en(stat_rd_en), .stat_rd_mem(stat_rd_mem), .stat_rd_bytes(stat_rd_bytes)
    );

    vta_acc #(
        .LOG_LANES(LOG_LANES), .LOG_DEPTH(A), .LOG_BANK(LOG_BANK)
    ) acc (
        .clk(clk), .rst(rst),
        .array_rd_en(array_rd_en), .array_rd_addr(array_rd_addr), .array_rd_data(array_rd_data),
        .x_en(x_en), .x_addr(x_addr), .x_data(x_data), .y_en(y_en), .y_addr(y_addr), .y_data(y_data),
        .alu_rd_fire(alu_rd_fire), .x_free(x_free), .y_free(y_free),
        .array_wr_en(array_wr_en), .array_wr_addr(array_wr_addr), .array_wr_data(array_wr_data),
        .alu_wr_en(alu_wr_en), .alu_wr_addr(alu_wr_addr), .alu_wr_data(alu_wr_data),
        .load_en(load_wr_en), .load_ready(load_wr_ready), .load_addr(load_wr_addr), .load_data(load_wr_data)
    );

    // OUT takes the low byte of every lane that a step writes to ACC.
    reg [(8<<LOG_LANES)-1:0] narrow;
    integer n;
    always @* begin
        narrow = {(8<<LOG_LANES){1'b0}};
        if (array_wr_en) begin
            for (n = 0; n < (1<<LOG_LANES); n = n + 1) narrow[8*n +: 8] = array_wr_data[32*n +: 8];
        end else if (alu_wr_en) begin
            for (n = 0; n < (1<<LOG_LANES); n = n + 1) narrow[8*n +: 8] = alu_wr_data[32*n +: 8];
        end
    end
    assign out_wr_en   = array_wr_en || alu_wr_en;
    assign out_wr_addr = array_wr_en ? array_wr_addr : alu_wr_addr;
    assign out_wr_data = narrow;

    // INP the low bytes of what the ALU would write there.
    genvar m;
    generate
        for (m = 0; m < (1<<LOG_LANES); m = m + 1) begin : loops
            assign inp_wr_data[8*m +: 8] = alu_wr_data[32*m +: 8];
        end
    endgenerate

    vta_order #(.U(U), .A(A), .I(I), .ENTRIES(ENTRIES)) hazards (
        .array_started(array_started), .array_retired(array_retired), .array_running(array_running),
        .array_known(array_known), .array_run_first(array_run_first), .array_run_last(array_run_last),
        .array_drain(array_drain), .array_drain_first(array_drain_first), .array_drain_last(array_drain_last),
        .array_run_reads(array_run_reads), .array_inp_first(array_inp_first), .array_inp_last(array_inp_last),
        .array_fetching(array_fetching), .array_fetched(array_fetched), .array_fetch_first(array_fetch_first),
        .array_fetch_last(array_fetch_last),
        .alu_started(alu_started), .alu_retired(alu_retired), .alu_running(alu_running), .alu_known(alu_known),
        .alu_dst_first(alu_dst_first), .alu_dst_last(alu_dst_last), .alu_src_first(alu_src_first),
        .alu_src_last(alu_src_last), .alu_pair(alu_pair), .alu_pair_first(alu_pair_first),
        .alu_pair_last(alu_pair_last), .alu_drain(alu_drain), .alu_drain_first(alu_drain_first),
        .alu_drain_last(alu_drain_last), .alu_run_loops(alu_run_loops), .alu_inp_first(alu_inp_first),
        .alu_inp_last(alu_inp_last), .alu_inp_drain(alu_inp_drain), .alu_inp_drain_first(alu_inp_drain_first),
        .alu_inp_drain_last(alu_inp_drain_last), .alu_fetching(alu_fetching), .alu_fetched(alu_fetched),
        .alu_fetch_first(alu_fetch_first), .alu_fetch_last(alu_fetch_last),
        .table_uop(t_uop), .table_first(t_first), .table_last(t_last),
        .issue_first(d_uop_begin), .issue_last(d_uop_last), .issue_hits(issue_hits),
        .array_ask_alu(array_ask_alu), .array_older(array_older), .array_ask_dst(array_ask_dst),
        .array_ask_reads(array_ask_reads), .array_ask_first(array_ask_first), .array_ask_last(array_ask_last),
        .array_wait(array_wait),
        .alu_ask_array(alu_ask_array), .alu_older(alu_older), .alu_ask_dst(alu_ask_dst),
        .alu_ask_src(alu_ask_src), .alu_ask_loops(alu_ask_loops), .alu_ask_inp(alu_ask_inp), .alu_wait(alu_wait),
        .load_ask_array(load_ask_array), .load_ask_alu(load_ask_alu), .load_ask_uop(load_ask_uop),
        .load_ask_tab(load_ask_tab), .load_ask_first(load_ask_first), .load_ask_last(load_ask_last), .load_wait(load_wait)
    );

    // Units that need a clock.
    wire issue_work = (insn_valid && insn_ready) || issue || retire || err_valid || array_done || alu_done || load_done
                   || (a_valid && a_ready && !a_uop_wait) || (l_valid && l_ready && !l_uop_wait);

    vta_awake #(.LINGER(8))  issue_sleep (.clk(clk), .rst(rst), .work(issue_work), .awake(awake_issue));
    vta_awake #(.LINGER(12)) array_sleep (.clk(clk), .rst(rst), .work(array_work), .awake(awake_array));
    vta_awake #(.LINGER(12)) alu_sleep   (.clk(clk), .rst(rst), .work(alu_work), .awake(awake_alu));
    vta_awake #(.LINGER(8))  fill_sleep  (.clk(clk), .rst(rst), .work(fill_work), .awake(awake_fill));

    assign head_valid  = o_valid || d_valid;
    assign head_index  = o_valid ? o_index : d_index;
    assign stat_busy   = o_valid;
    assign stat_token  = d_valid && !tokens && !stopped_q;
    assign stat_mem    = (t_acc | t_uop) != {ENTRIES{1'b0}} && load_mem_wait;
    assign stat_issue  = issue;
    assign stat_retire = retire;
    assign stat_room   = o_valid && o_done && !stopped_q && !retire;
endmodule

`default_nettype wire
