// SPDX-License-Identifier: Apache-2.0
//
// vta_gemm -- the array pipeline: GEMM and DEPTHWISE, one step a cycle, no bubble between instructions.
//
//   F   loop nest, window position: the micro-op is read
//   U   the micro-op arrives; its fields and the offsets are added and checked
//   s0  the step waits here, and nowhere else: for older instructions of the other pipelines, for its own results; one more
//       step has a place behind it, so that what is before need not know in the same cycle
//   s1  (time to reach the RAMs)
//   s2  INP and WGT are read
//   s3  operands, depthwise factors         s4 products     s5, s6 sums; ACC is read in s6
//   s7  accumulate in acc_q                  s8 write ACC and OUT
//
// A step adds to acc_q when it follows a step of the same dst, else to ACC[dst], or to 0. Only the last of such a chain
// writes. Which steps write is known in s0: `write_soon` (s1) tells the ALU pipeline that both write ports are taken
// seven cycles later.
//
// A depthwise step takes one column of a window: one tile or, of windows of three by three whose rows are an odd number of entries
// apart, three (ROWS: where the array has the multipliers). Windows of up to TAPS columns keep what a column adds to later outputs in
// vta_columns, so that the columns that an output shares with the one before it are not read again. The step of its last column
// adds it all up; the others add nothing. Wider windows go tile by tile.
//
// Contract: instructions have been decoded without error and are not empty; they are executed in order. `error` stays
// up, with its code, once an index is out of range; all earlier steps are finished, and nothing follows. started and
// retired count instructions modulo 64; run_* is the range of ACC entries of the newest that has begun, drain_* that of
// those behind it; run_inp_* is the range of INP entries that the newest one reads. ACC accesses are never refused: read data come one cycle after the address.
`include "vta_assert.vh"
`define VTA_ISA_BUNDLE
`include "vta_isa.vh"
`undef VTA_ISA_BUNDLE
`default_nettype none

module vta_gemm #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer LOG_UOP_DEPTH = 13,
    parameter integer LOG_INP_DEPTH = 11,
    parameter integer LOG_WGT_DEPTH = 10,
    parameter integer LOG_ACC_DEPTH = 11,
    parameter integer MAX_AI        = 11,
    parameter integer ENTRIES       = 4,    // LOADs in work
    parameter integer PUMP          = 1,    // of vta_array
    parameter integer DEPTHWISE_TAPS = 9    // of a step, at most: 9, 3, 1; 0: depthwise is 0 always
) (
    input  wire                     clk,
    input  wire                     clk2x,
    input  wire                     rst,

    // The next instruction.
    input  wire                     insn_valid,
    output wire                     insn_ready,
    `VTA_ARRAY_PORTS,                               // a port for each row VTA_DECODED of isa.def that has bits for the array
    input  wire [5:0]               snap_alu,
    input  wire [ENTRIES-1:0]       marks,          // older LOADs into ACC that are in work
    input  wire [ENTRIES-1:0]       load_done,      // those that no longer are in the next cycle

    // Micro-ops.
    output wire                     uop_rd,
    output wire [LOG_UOP_DEPTH-1:0] uop_addr,
    input  wire [31:0]              uop_data,
    output wire                     fetching,       // micro-ops of fetch_first to fetch_last are in use by instruction
    output wire [5:0]               fetched,        // number fetched - 1 (fetched: how many have left the queue)
    output wire [LOG_UOP_DEPTH-1:0] fetch_first,
    output wire [LOG_UOP_DEPTH-1:0] fetch_last,

    // Order.
    output wire [5:0]               ask_alu,        // snapshot, older LOADs and entry of the step in s0
    output wire [ENTRIES-1:0]       ask_older,
    output wire [LOG_ACC_DEPTH-1:0] ask_dst,
    output wire                     ask_reads,      // INP, entries first … last
    output wire [LOG_INP_DEPTH-1:0] ask_first,
    output wire [LOG_INP_DEPTH-1:0] ask_last,
    input  wire                     must_wait,
    output wire [5:0]               started,
    output wire [5:0]               retired,
    output wire                     running,
    output wire                     run_known,
    output wire [LOG_ACC_DEPTH-1:0] run_first,
    output wire [LOG_ACC_DEPTH-1:0] run_last,
    output wire                     run_reads,
    output wire [LOG_INP_DEPTH-1:0] run_inp_first,
    output wire [LOG_INP_DEPTH-1:0] run_inp_last,
    output wire                     drain_valid,
    output wire [LOG_ACC_DEPTH-1:0] drain_first,
    output wire [LOG_ACC_DEPTH-1:0] drain_last,
    output wire                     done,           // an instruction retires
    output wire                     error,
    output wire [7:0]               error_code,

    // Scratchpads.
    output wire                     inp_rd_en,
    output wire [LOG_INP_DEPTH-1:0] inp_rd_addr,
    input  wire [(8 << (LOG_BATCH + LOG_BLOCK_IN)) - 1:0] inp_rd_data,
    output wire                     inp_rd_more,        // of the two rows of a window below
    output wire [2*LOG_INP_DEPTH-1:0] inp_rd_more_addr,
    input  wire [(16 << (LOG_BATCH + LOG_BLOCK_IN)) - 1:0] inp_rd_more_data,
    output wire                     wgt_rd_en,
    output wire [LOG_WGT_DEPTH-1:0] wgt_rd_addr,
    input  wire [(8 << (LOG_BLOCK_IN + LOG_BLOCK_OUT)) - 1:0] wgt_rd_data,
    output wire                     acc_rd_en,
    output wire [LOG_ACC_DEPTH-1:0] acc_rd_addr,
    input  wire [(32 << (LOG_BATCH + LOG_BLOCK_OUT)) - 1:0] acc_rd_data,
    output wire                     write_soon,
    output wire                     acc_wr_en,
    output wire [LOG_ACC_DEPTH-1:0] acc_wr_addr,
    output wire [(32 << (LOG_BATCH + LOG_BLOCK_OUT)) - 1:0] acc_wr_data,

    output wire                     work,           // for vta_awake
    output wire                     stat_gemm,
    output wire                     stat_depthwise
);
`include "vta_isa.vh"
    localparam integer U = LOG_UOP_DEPTH;
    localparam integer I = LOG_INP_DEPTH;
    localparam integer W = LOG_WGT_DEPTH;
    localparam integer A = LOG_ACC_DEPTH;
    localparam integer T = LOG_BLOCK_OUT;           // bits of a tap's number
    localparam integer LANES = 1 << (LOG_BLOCK_IN < LOG_BLOCK_OUT ? LOG_BLOCK_IN : LOG_BLOCK_OUT);
    localparam integer TAPS  = DEPTHWISE_TAPS < 3 ? 1 : LOG_BLOCK_OUT < 3 ? 2 : 3;  // weight rows 0, 2, 4 must exist
    localparam integer ROWS  = DEPTHWISE_TAPS == 9 && LOG_BLOCK_OUT > 3 && (PUMP == 1 || LOG_BLOCK_OUT > 4 || LOG_BLOCK_IN > 4) ? 3 : 1;
    localparam integer ACC_BITS = 32 << (LOG_BATCH + LOG_BLOCK_OUT);

    // F: the nest.
    wire         u_move;
    wire         nest_last;
    wire         nest_first;
    wire         nest_at_begin;
    wire         nest_at_end;
    wire         nest_row_end;
    wire [U-1:0] nest_uop;
    wire [A-1:0] nest_dst;
    wire [I-1:0] nest_src;
    wire [W-1:0] nest_wgt;
    reg          f_valid_q;
    wire         window_end;
    wire         fire      = f_valid_q && u_move;
    wire         fire_last = fire && nest_last && window_end;

    assign insn_ready = !f_valid_q || fire_last;
    wire   load       = insn_valid && insn_ready;

    vta_nest #(.UOP_BITS(U), .DST_BITS(A), .SRC_BITS(I), .WGT_BITS(W)) nest (
        .clk(clk), .load(load), .step(fire && window_end),
        .uop_outer(depthwise), .uop_begin(uop_begin), .uop_last(uop_last), .out_last(out_last), .in_last(in_last),
        .dst_out(dst_out), .dst_in(dst_in), .src_out(src_out), .src_in(src_in), .wgt_out(wgt_out), .wgt_in(wgt_in),
        .uop(nest_uop), .dst(nest_dst), .src(nest_src), .wgt(nest_wgt),
        .at_begin(nest_at_begin), .at_end(nest_at_end), .row_end(nest_row_end), .first(nest_first), .last(nest_last),
        .range_begin(fetch_first), .range_last(fetch_last)
    );

    // Registers that hold for the whole instruction in F.
    reg              f_dw_q;
    reg              f_init_q;
    reg              f_clear_q;
    reg              f_no_mac_q;
    reg              f_group_q;
    reg              f_three_q;
    reg              f_keeps_q;     // what columns add to later outputs
    reg              f_add_1_q;
    reg              f_add_2_q;
    reg [3:0]        f_taps_x_q;
    reg [3:0]        f_col_last_q;
    reg [3:0]        f_row_last_q;
    reg [2:0]        f_col_step_q;
    reg [7:0]        f_row_step_q;
    reg [1:0]        f_reuse_q;     // columns that an output takes over from its predecessor
    reg [MAX_AI:0]   f_dst_ext_q;
    reg [MAX_AI:0]   f_src_ext_q;
    reg [W:0]        f_wgt_ext_q;
    reg [5:0]        f_snap_q;
    reg [ENTRIES-1:0] f_marks_q;
    reg [5:0]        fetched_q;

    wire three = ROWS == 3 && taps_x == 4'd3 && taps_y == 4'd3 && row_step[0];
    wire keeps = TAPS == 3 ? taps_x <= 4'd3 : TAPS == 2 && taps_x <= 4'd2;
    always @(posedge clk) begin
        if (load) begin
            f_dw_q       <= DEPTHWISE_TAPS != 0 && depthwise;
            f_init_q     <= init;
            f_clear_q    <= clear;
            f_no_mac_q   <= no_mac;
            f_group_q    <= group;
            f_three_q    <= three;
            f_keeps_q    <= keeps;
            f_add_1_q    <= keeps && taps_x != 4'd1;
            f_add_2_q    <= keeps && taps_x == 4'd3;
            f_taps_x_q   <= taps_x;
            f_col_last_q <= taps_x - 4'd1;
            f_row_last_q <= three ? 4'd0 : taps_y - 4'd1;
            f_col_step_q <= col_step;
            f_row_step_q <= row_step;
            f_reuse_q    <= keeps ? reuse : 2'd0;
            f_dst_ext_q  <= {dst_over, dst_extent};
            f_src_ext_q  <= {src_over, src_extent};
            f_wgt_ext_q  <= {wgt_over, wgt_extent};
            f_snap_q     <= snap_alu;
        end
    end

    always @(posedge clk) begin
        if (rst) begin
            f_valid_q <= 1'b0;
            fetched_q <= 6'd0;
        end else if (load) begin
            f_valid_q <= 1'b1;
            fetched_q <= fetched_q + 6'd1;
        end else if (fire_last) begin
            f_valid_q <= 1'b0;
        end
    end

    // F: the window. Rows outside, columns inside; columns of the predecessor's window are not read again.
    reg [3:0]  win_row_q;
    reg [3:0]  win_col_q;
    reg [T-1:0] win_row_tap_q;      // tap number of the row's first column
    reg [6:0]  win_col_off_q;
    reg [11:0] win_row_off_q;
    reg [1:0]  win_reuse_q;         // of this output

    wire       windowed = f_dw_q && !f_no_mac_q;
    wire       col_end  = win_col_q == f_col_last_q;
    wire       win_last = col_end && win_row_q == f_row_last_q;
    wire       win_first = win_row_q == 4'd0 && win_col_q == {2'd0, win_reuse_q};
    wire [1:0] next_reuse = win_last ? (nest_row_end ? 2'd0 : f_reuse_q) : win_reuse_q;
    wire [4:0] reuse_off  = next_reuse[1] ? {1'b0, f_col_step_q, 1'b0} : next_reuse[0] ? {2'b0, f_col_step_q} : 5'd0;
    assign window_end = !windowed || win_last;

    // The waiver: offsets and tap numbers are sums modulo 2^I and block_out, the carries beyond mean nothing.
    // verilator lint_off UNUSEDSIGNAL
    wire [T+3:0]    row_taps = {4'd0, win_row_tap_q} + {{T{1'b0}}, f_taps_x_q};
    wire [T+3:0]    f_tap    = {4'd0, win_row_tap_q} + {{T{1'b0}}, f_keeps_q ? f_col_last_q : win_col_q};
    wire [I+11:0]   f_src    = {12'd0, nest_src} + {{I{1'b0}}, win_row_off_q} + {{(I+5){1'b0}}, win_col_off_q};
    // The last entry that the step reads: with three rows at once the third's, whose windows have no other rows.
    wire [11:0]     f_below  = windowed && f_three_q ? {3'd0, f_row_step_q, 1'b0} : win_row_off_q;
    wire [I+11:0]   f_src_last = {12'd0, nest_src} + {{I{1'b0}}, f_below} + {{(I+5){1'b0}}, win_col_off_q};
    // verilator lint_on UNUSEDSIGNAL

    always @(posedge clk) begin
        if (load) begin
            win_row_q     <= 4'd0;
            win_col_q     <= 4'd0;
            win_row_tap_q <= {T{1'b0}};
            win_col_off_q <= 7'd0;
            win_row_off_q <= 12'd0;
            win_reuse_q   <= 2'd0;
        end else if (fire && windowed) begin
            if (!col_end) begin
                win_col_q     <= win_col_q + 4'd1;
                win_col_off_q <= win_col_off_q + {4'd0, f_col_step_q};
            end else begin
                win_col_q     <= {2'd0, next_reuse};
                win_col_off_q <= {2'd0, reuse_off};
                win_row_q     <= win_last ? 4'd0 : win_row_q + 4'd1;
                win_row_tap_q <= win_last ? {T{1'b0}} : row_taps[T-1:0];
                win_row_off_q <= win_last ? 12'd0 : win_row_off_q + {4'd0, f_row_step_q};
                win_reuse_q   <= next_reuse;
            end
        end
    end

    assign uop_rd   = fire;
    assign uop_addr = nest_uop;
    assign fetching = f_valid_q;
    assign fetched  = fetched_q;

    // U: the micro-op and the sums.
    reg                u_valid_q;
    reg                u_first_q;
    reg                u_last_q;
    reg                u_at_begin_q;
    reg                u_at_end_q;
    reg                u_dw_q;
    reg                u_init_q;
    reg                u_clear_q;
    reg                u_no_mac_q;
    reg                u_group_q;
    reg                u_win_first_q;
    reg [3:0]          u_row_q;
    reg [T-1:0]        u_tap_q;
    reg                u_three_q;
    reg                u_ends_q;
    reg                u_add_1_q;
    reg                u_add_2_q;
    reg [7:0]          u_row_step_q;
    reg [A-1:0]        u_dst_q;
    reg [I-1:0]        u_src_q;
    reg [I-1:0]        u_src_last_q;
    reg [W-1:0]        u_wgt_q;
    reg [MAX_AI:0]     u_dst_ext_q;
    reg [MAX_AI:0]     u_src_ext_q;
    reg [W:0]          u_wgt_ext_q;
    reg [5:0]          u_snap_q;
    reg [ENTRIES-1:0]  u_marks_q;
    reg [A-1:0]        u_before_q;      // dst field of the micro-op before

    wire [A-1:0]      uop_dst = uop_data[VTA_F_UOP_DST_LSB +: VTA_F_UOP_DST_WIDTH];
    wire [MAX_AI-1:0] uop_src = uop_data[VTA_F_UOP_SRC_LSB +: VTA_F_UOP_SRC_WIDTH];
    wire [31:0]       uop_aux = uop_data >> VTA_F_UOP_AUX_LSB;

    always @(posedge clk) begin
        if (rst) u_valid_q <= 1'b0;
        else if (u_move) u_valid_q <= fire;
    end

    always @(posedge clk) begin
        if (fire) begin
            u_first_q     <= nest_first && win_row_q == 4'd0 && win_col_q == 4'd0;
            u_last_q      <= nest_last && window_end;
            u_at_begin_q  <= nest_at_begin;
            u_at_end_q    <= nest_at_end;
            u_dw_q        <= f_dw_q;
            u_init_q      <= f_init_q;
            u_clear_q     <= f_clear_q;
            u_no_mac_q    <= f_no_mac_q;
            u_group_q     <= f_group_q;
            u_win_first_q <= !windowed || win_first;
            u_row_q       <= win_row_q;
            u_tap_q       <= f_tap[T-1:0];
            u_three_q     <= f_three_q;
            u_ends_q      <= col_end || !f_keeps_q;
            u_add_1_q     <= f_add_1_q;
            u_add_2_q     <= f_add_2_q;
            u_row_step_q  <= f_row_step_q;
            u_dst_q       <= nest_dst[A-1:0];
            u_src_q       <= f_src[I-1:0];
            u_src_last_q  <= f_src_last[I-1:0];
            u_wgt_q       <= nest_wgt;
            u_dst_ext_q   <= f_dst_ext_q;
            u_src_ext_q   <= f_src_ext_q;
            u_wgt_ext_q   <= f_wgt_ext_q;
            u_snap_q      <= f_snap_q;
            u_before_q    <= uop_dst;
        end
    end

    wire [A-1:0] u_dst = uop_dst + u_dst_q;
    wire [I-1:0] u_src = uop_src[I-1:0] + u_src_q;
    wire [I-1:0] u_src_last = uop_src[I-1:0] + u_src_last_q;
    wire [W-1:0] u_wgt = uop_aux[W-1:0] + u_wgt_q;

    wire [A:0]      dst_end = {1'b0, uop_dst} + {1'b0, u_dst_ext_q[A-1:0]};
    wire            dst_far = (u_dst_ext_q >> A) != 0;
    wire [MAX_AI:0] src_end = {1'b0, uop_src} + {1'b0, u_src_ext_q[MAX_AI-1:0]};
    wire [32:0]     wgt_end = {1'b0, uop_aux} + {{(33-W){1'b0}}, u_wgt_ext_q[W-1:0]};
    wire dst_bad = dst_far || dst_end[A];
    wire src_bad = !u_no_mac_q && (u_src_ext_q[MAX_AI] || (src_end >> I) != 0);
    wire wgt_bad = !u_no_mac_q && (u_wgt_ext_q[W] || (wgt_end >> W) != 0);

    // A run begins at the first micro-op of a pass, and where the dst field changes.
    wire u_zero = u_clear_q || (u_init_q && (u_dw_q ? u_win_first_q : u_at_begin_q || uop_dst != u_before_q));

    // The step that is next in s0: from U, or from the place beside it, which takes what s0 has no room for.
    localparam integer WIN_BITS  = T + 10;
    localparam integer STEP_BITS = 3 + 2 + WIN_BITS + 8 + 3*A + 4*I + W + 6 + 1 + 8;
    wire               u_bad  = dst_bad || src_bad || wgt_bad;
    wire [7:0]         u_code = dst_bad ? VTA_ERROR_ACC_RANGE : src_bad ? VTA_ERROR_INP_RANGE : VTA_ERROR_WGT_RANGE;
    wire [STEP_BITS-1:0] u_step = {u_first_q, u_last_q, u_at_end_q, u_no_mac_q, u_zero,
                                   u_dw_q, u_group_q, u_row_q, u_tap_q, u_three_q, u_ends_q, u_add_1_q, u_add_2_q, u_row_step_q,
                                   u_dst, uop_dst, dst_end[A-1:0], u_src, u_src_last, uop_src[I-1:0], src_end[I-1:0], u_wgt,
                                   u_snap_q, u_bad, u_code};
    reg                  spare_valid_q;
    reg [STEP_BITS-1:0]  spare_q;
    wire [STEP_BITS-1:0] next_step = spare_valid_q ? spare_q : u_step;

    wire         next_valid = spare_valid_q || u_valid_q;
    wire         next_first, next_last, next_at_end, next_no_mac, next_zero, next_bad;
    wire [WIN_BITS-1:0] next_win;
    wire [7:0]   next_row_step;
    wire [A-1:0] next_dst;
    wire [I-1:0] next_src, next_src_last;
    wire [W-1:0] next_wgt;
    wire [5:0]   next_snap;
    wire [7:0]   next_code;
    // The waiver: what becomes a range is chosen after it has been compared (vta_range).
    // verilator lint_off UNUSEDSIGNAL
    wire [A-1:0] next_begins, next_ends;
    wire [I-1:0] next_inp_begins, next_inp_ends;
    // verilator lint_on UNUSEDSIGNAL
    assign {next_first, next_last, next_at_end, next_no_mac, next_zero, next_win, next_row_step, next_dst, next_begins, next_ends,
            next_src, next_src_last, next_inp_begins, next_inp_ends, next_wgt, next_snap, next_bad, next_code} = next_step;
    localparam integer SPARE_INP = W + 6 + 1 + 8;
    localparam integer SPARE_ACC = SPARE_INP + 4*I;
    wire [A-1:0] spare_begins, spare_ends;
    wire [I-1:0] spare_inp_begins, spare_inp_ends;
    assign {spare_begins, spare_ends}         = spare_q[SPARE_ACC +: 2*A];
    assign {spare_inp_begins, spare_inp_ends} = spare_q[SPARE_INP +: 2*I];
    wire [A-1:0] spare_dst  = spare_q[SPARE_ACC + 2*A +: A];
    wire         spare_zero = spare_q[STEP_BITS-5];
    wire         spare_bad  = spare_q[8];

    wire advance;
    assign u_move = !spare_valid_q;

    always @(posedge clk) begin
        if (rst) spare_valid_q <= 1'b0;
        else spare_valid_q <= next_valid && !advance;
    end

    always @(posedge clk) begin
        if (u_move && u_valid_q) spare_q <= u_step;
    end

    // s0: the one place where a step waits.
    reg          s0_valid_q;
    reg          s0_last_q;
    reg          s0_no_mac_q;
    reg          s0_zero_q;
    reg [WIN_BITS-1:0] s0_win_q;    // depthwise: whether, group, window row, tap, three rows, for vta_columns
    reg [7:0]    s0_row_step_q;
    reg [A-1:0]  s0_dst_q;
    reg [I-1:0]  s0_src_q;
    reg [I-1:0]  s0_src_last_q;
    reg [W-1:0]  s0_wgt_q;
    reg [5:0]    s0_snap_q;
    reg [ENTRIES-1:0] spare_marks_q;
    reg [ENTRIES-1:0] s0_marks_q;
    reg          s0_bad_q;
    reg [7:0]    s0_code_q;

    reg [A-1:0]  s1_dst_q;
    reg [A-1:0]  s2_dst_q;
    reg [7:1]    valid_q;       // bit n: of the step in s<n>
    reg [8:1]    write_q;
    reg          open_q;        // the last step left its sum in acc_q alone

    wire s0_same  = valid_q[1] && s1_dst_q == s0_dst_q;
    wire s0_chain = !s0_zero_q && (open_q || s0_same);
    wire s0_raw   = !s0_zero_q && !s0_chain && valid_q[2] && write_q[2] && s2_dst_q == s0_dst_q;
    wire s0_could = s0_valid_q && !s0_bad_q && !s0_raw;
    wire s0_go    = s0_could && !must_wait;
    // Both that may come next are compared before one is chosen.
    wire u_follows = u_valid_q && u_dst == s0_dst_q && !u_zero && !u_bad;
    wire spare_follows = spare_dst == s0_dst_q && !spare_zero && !spare_bad;
    wire s0_follow = spare_valid_q ? spare_follows : u_follows;
    wire s0_write  = s0_last_q || !s0_follow;

    assign advance = !s0_valid_q || s0_go;

    always @(posedge clk) begin
        if (rst) begin
            s0_valid_q <= 1'b0;
            s0_bad_q   <= 1'b0;
        end else if (advance) begin
            s0_valid_q <= next_valid;
            s0_bad_q   <= next_valid && next_bad;
        end
    end

    // One table behind `must_wait`, which comes last.
    wire s0_load;
    vta_enter step (.full(s0_valid_q), .able(s0_could), .go(!must_wait), .sure(next_valid), .may(1'b0), .wider(1'b0), .enters(s0_load));

    always @(posedge clk) begin
        if (s0_load) begin
            s0_last_q    <= next_last;
            s0_no_mac_q  <= next_no_mac;
            s0_zero_q    <= next_zero;
            s0_win_q     <= next_win;
            s0_row_step_q <= next_row_step;
            s0_dst_q     <= next_dst;
            s0_src_q     <= next_src;
            s0_src_last_q <= next_src_last;
            s0_wgt_q     <= next_wgt;
            s0_snap_q    <= next_snap;
            s0_code_q    <= next_code;
        end
    end

    // Marks of LOADs fall wherever a step is.
    always @(posedge clk) begin
        f_marks_q     <= (load ? marks : f_marks_q) & ~load_done;
        u_marks_q     <= (fire ? f_marks_q : u_marks_q) & ~load_done;
        spare_marks_q <= (u_move ? u_marks_q : spare_marks_q) & ~load_done;
        s0_marks_q    <= (!advance ? s0_marks_q : spare_valid_q ? spare_marks_q : u_marks_q) & ~load_done;
    end

    assign ask_alu   = s0_snap_q;
    assign ask_older = s0_marks_q;
    assign ask_dst   = s0_dst_q;
    assign ask_reads = !s0_no_mac_q;
    assign ask_first = s0_src_q;
    assign ask_last  = s0_src_last_q;

    // Entries that the instruction in s0 uses: complete once its last micro-op has passed.
    reg  [8:1] last_q;
    wire       leave = s0_go && s0_last_q;

    // The waiver: what has left has nothing to write to INP.
    // verilator lint_off PINCONNECTEMPTY
    vta_span #(.A(A)) span (
        .clk(clk), .rst(rst), .full(s0_valid_q), .able(s0_could), .go(!must_wait), .valid(next_valid), .first(next_first), .whole(next_at_end),
        .spare(spare_valid_q), .begins(uop_dst), .ends(dst_end[A-1:0]), .spare_begins(spare_begins), .spare_ends(spare_ends),
        .last(s0_last_q), .writes(1'b1), .retire(last_q[8]),
        .started(started), .retired(retired), .running(running), .known(run_known), .drained(),
        .run_first(run_first), .run_last(run_last),
        .drain_valid(drain_valid), .drain_first(drain_first), .drain_last(drain_last)
    );

    // Entries that it reads in INP: all steps of an instruction do, or none.
    vta_range #(.A(I)) reads (
        .clk(clk), .rst(rst), .full(s0_valid_q), .able(s0_could), .go(!must_wait), .valid(next_valid), .first(next_first),
        .spare(spare_valid_q), .begins(uop_src[I-1:0]), .ends(src_end[I-1:0]), .spare_begins(spare_inp_begins),
        .spare_ends(spare_inp_ends), .last(1'b0), .drained(1'b1), .run_first(run_inp_first), .run_last(run_inp_last),
        .drain_valid(), .drain_first(), .drain_last()
    );
    // verilator lint_on PINCONNECTEMPTY
    assign run_reads = !s0_no_mac_q;

    // s1 to s8: what each step carries along.
    reg [7:1]    mac_q;
    reg [7:1]    zero_q;
    reg [7:1]    chain_q;
    reg          reads_q;       // s6: its sum goes on from what ACC has
    reg [A-1:0]  s3_dst_q, s4_dst_q, s5_dst_q, s6_dst_q, s7_dst_q, s8_dst_q;
    reg [I-1:0]  s1_src_q, s2_src_q, s2_src_1_q, s2_src_2_q;
    // The waiver: a scratchpad may be smaller than a step.
    // verilator lint_off UNUSEDSIGNAL
    reg [7:0]    s1_row_step_q;
    wire [I+8:0] s1_src_1 = {9'd0, s1_src_q} + {{(I+1){1'b0}}, s1_row_step_q};
    wire [I+8:0] s1_src_2 = {9'd0, s1_src_q} + {{I{1'b0}}, s1_row_step_q, 1'b0};
    // verilator lint_on UNUSEDSIGNAL
    reg [W-1:0]  s1_wgt_q, s2_wgt_q;
    reg [WIN_BITS-1:0] s1_win_q, s2_win_q, s3_win_q;
    localparam integer BACK = TAPS - 1;
    reg [T-1:0]  s3_low_q;      // the earliest tap of the step in s3

    always @(posedge clk) begin
        if (rst) begin
            valid_q <= 7'd0;
            write_q <= 8'd0;
            last_q  <= 8'd0;
            mac_q   <= 7'd0;
            reads_q <= 1'b0;
            open_q  <= 1'b0;
        end else begin
            valid_q <= {valid_q[6:1], s0_go};
            write_q <= {write_q[7:1], s0_go && s0_write};
            last_q  <= {last_q[7:1], leave};
            mac_q   <= {mac_q[6:1], s0_go && !s0_no_mac_q};
            reads_q <= valid_q[5] && !zero_q[5] && !chain_q[5];
            if (s0_go) open_q <= !s0_write;
        end
    end

    always @(posedge clk) begin
        zero_q   <= {zero_q[6:1], s0_zero_q};
        chain_q  <= {chain_q[6:1], s0_chain};
        s1_dst_q <= s0_dst_q;
        s2_dst_q <= s1_dst_q;
        s3_dst_q <= s2_dst_q;
        s4_dst_q <= s3_dst_q;
        s5_dst_q <= s4_dst_q;
        s7_dst_q <= s6_dst_q;
        s8_dst_q <= s7_dst_q;
        s1_src_q <= s0_src_q;
        s2_src_q <= s1_src_q;
        s1_wgt_q <= s0_wgt_q;
        s2_wgt_q <= s1_wgt_q;
        s1_win_q <= s0_win_q;
        s2_win_q <= s1_win_q;
        s3_low_q <= s2_win_q[4 +: T] - BACK[T-1:0];
        s1_row_step_q <= s0_row_step_q;
        s2_src_1_q <= s1_src_1[I-1:0];
        s2_src_2_q <= s1_src_2[I-1:0];
    end

    // A reset, so that no shift register is made of them: those are slow, and these go to all multipliers and to the ALU's choice of a bank.
    always @(posedge clk) begin
        if (rst) begin
            s3_win_q <= {WIN_BITS{1'b0}};
            s6_dst_q <= {A{1'b0}};
        end else begin
            s3_win_q <= s2_win_q;
            s6_dst_q <= s5_dst_q;
        end
    end

    assign write_soon  = write_q[1];
    assign inp_rd_en   = mac_q[2];
    assign inp_rd_addr = s2_src_q;
    assign inp_rd_more = mac_q[2] && s2_win_q[WIN_BITS-1] && s2_win_q[3];
    assign inp_rd_more_addr = {s2_src_2_q, s2_src_1_q};
    assign wgt_rd_en   = mac_q[2];
    assign wgt_rd_addr = s2_wgt_q;

    // s3 to s6: operands, products, sums.
    wire [((8*ROWS*LANES) << LOG_BATCH) - 1:0] dw_x;
    wire [8*ROWS*TAPS*LANES-1:0]               dw_w;
    wire [ACC_BITS-1:0]                        sum;

    wire         s3_dw;
    wire         s3_group;
    wire [3:0]   s3_row;
    // The waiver: the tap's place is taken by s3_low_q, counted from the step's earliest tap.
    // verilator lint_off UNUSEDSIGNAL
    wire [T-1:0] s3_tap;
    // verilator lint_on UNUSEDSIGNAL
    wire         s3_three, s3_ends, s3_add_1, s3_add_2;
    assign {s3_dw, s3_group, s3_row, s3_tap, s3_three, s3_ends, s3_add_1, s3_add_2} = s3_win_q;

    vta_window #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT), .TAPS(TAPS), .ROWS(ROWS), .LANES(LANES)
    ) window (
        .three(s3_three), .x_more(inp_rd_more_data), .group(s3_group), .low(s3_low_q), .x(inp_rd_data), .w(wgt_rd_data),
        .dw_x(dw_x), .dw_w(dw_w)
    );

    vta_array #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT), .TAPS(TAPS), .ROWS(ROWS), .LANES(LANES),
        .PUMP(PUMP)
    ) array (
        .clk(clk), .clk2x(clk2x), .en(mac_q[3]), .depthwise(s3_dw), .x(inp_rd_data), .w(wgt_rd_data), .dw_x(dw_x), .dw_w(dw_w),
        .dw_row(s3_row), .dw_ends(s3_ends), .dw_add_1(s3_add_1), .dw_add_2(s3_add_2), .sum(sum)
    );

    assign acc_rd_en   = reads_q;
    assign acc_rd_addr = s6_dst_q;

    // s7: accumulate.
    reg [ACC_BITS-1:0] acc_q;
    integer lane;
    always @(posedge clk) begin
        if (valid_q[7]) begin
            for (lane = 0; lane < ACC_BITS/32; lane = lane + 1) begin
                acc_q[32*lane +: 32] <= (zero_q[7] ? 32'd0 : chain_q[7] ? acc_q[32*lane +: 32] : acc_rd_data[32*lane +: 32])
                                      + (mac_q[7] ? sum[32*lane +: 32] : 32'd0);
            end
        end
    end

    // s8: write.
    assign acc_wr_en   = write_q[8];
    assign acc_wr_addr = s8_dst_q;
    assign acc_wr_data = acc_q;
    assign done        = last_q[8];

    assign error      = s0_bad_q && !drain_valid;
    assign error_code = s0_code_q;

    assign work = load || fire || s0_go || (u_move && u_valid_q)
               || (load_done != {ENTRIES{1'b0}} && (f_valid_q || u_valid_q || s0_valid_q));

    assign stat_gemm      = s0_go && !s0_win_q[WIN_BITS-1];
    assign stat_depthwise = s0_go && s0_win_q[WIN_BITS-1];
endmodule

`default_nettype wire
