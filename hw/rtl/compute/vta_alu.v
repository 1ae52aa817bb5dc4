// SPDX-License-Identifier: Apache-2.0
//
// vta_alu -- the ALU pipeline: ALU and REQUANT, one tile a cycle, no bubble between instructions.
//
//   F   loop nest: the micro-op is read; a REQUANT begins with two or three steps of its own, which fetch its parameters; with by_row,
//       each row of its nest does
//   U   the micro-op arrives; its fields and the offsets are added and checked
//   s0  the step waits here, and nowhere else; ACC is read; one more step has a place behind it, so that what is before need
//       not know in the same cycle
//   s1  the operands arrive; parameters are latched
//   s2 … s6  vta_alu_lane; a table is read at the end of s6, if REQUANT uses one
//   s7  write ACC and OUT, or INP: that is done a cycle later, next door
//
// Two tiles of one bank cannot be read in one cycle: such a step takes two, the source first. A step whose x was written
// by the step just before takes it from there (a maximum over many tiles runs at full speed); other results that are
// still on their way make a step wait.
//
// root, recip and recip_root read their source first, as such a step; vta_row_unit, one for each batch row, makes a number of it while the
// step waits, which then goes as a MOV of that number. The other functions on rows differ in y, the source's lanes turned by 2^places, and
// in exp2 of vta_alu_lane.
//
// Contract: as vta_gemm. Reads may be refused (rd_x_free or rd_y_free low, combinational); nothing else is ever
// refused: array_write_soon announces, seven cycles ahead, that the write ports are taken.
`include "vta_assert.vh"
`define VTA_ISA_BUNDLE
`include "vta_isa.vh"
`undef VTA_ISA_BUNDLE
`default_nettype none

module vta_alu #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer LOG_UOP_DEPTH = 13,
    parameter integer LOG_INP_DEPTH = 11,
    parameter integer LOG_WGT_DEPTH = 10,
    parameter integer LOG_ACC_DEPTH = 11,
    parameter integer MAX_AI        = 11,
    parameter integer ENTRIES       = 4,    // LOADs in work
    parameter integer LOG_BANK      = 2,    // ACC banks, by the highest address bits
    parameter integer VTA_LOG_TAB   = 7,    // words of all tables
    parameter integer LANE_DSPS     = 3,    // DSPS of vta_alu_lane
    parameter integer TABLE         = 1,    // 0: table_use is 0 always, and there are no tables
    parameter integer LOOP_BACK     = 1,    // 0: to_inp is 0 always
    parameter integer ROWS          = 0     // 0: long_result and by_row are, and alu_op is never VTA_ALU_ROW
) (
    input  wire                     clk,
    input  wire                     rst,

    // The next instruction.
    input  wire                     insn_valid,
    output wire                     insn_ready,
    `VTA_ALU_PORTS,                                 // a port for each row VTA_DECODED of isa.def that has bits for the ALU
    input  wire [5:0]               snap_array,
    input  wire [ENTRIES-1:0]       marks,          // older LOADs into ACC that are in work
    input  wire [ENTRIES-1:0]       load_done,      // those that no longer are in the next cycle

    // Micro-ops; uop_ok: the port is free.
    input  wire                     uop_ok,
    output wire                     uop_rd,
    output wire [LOG_UOP_DEPTH-1:0] uop_addr,
    input  wire [31:0]              uop_data,
    output wire                     fetching,
    output wire [5:0]               fetched,
    output wire [LOG_UOP_DEPTH-1:0] fetch_first,
    output wire [LOG_UOP_DEPTH-1:0] fetch_last,

    // The tables, by words of four entries.
    input  wire                     clk_tab,
    input  wire                     tab_wr_en,
    input  wire [VTA_LOG_TAB-1:0]   tab_wr_addr,
    input  wire [31:0]              tab_wr_data,

    // Order.
    output wire [5:0]               ask_array,
    output wire [ENTRIES-1:0]       ask_older,
    output wire [LOG_ACC_DEPTH-1:0] ask_dst,        // what the step in s0 writes (a step that fetches parameters: reads)
    output wire [LOG_ACC_DEPTH-1:0] ask_src,        // what it reads
    output wire                     ask_loops,      // it writes INP instead, this entry
    output wire [LOG_INP_DEPTH-1:0] ask_inp,
    input  wire                     must_wait,
    output wire [5:0]               started,
    output wire [5:0]               retired,
    output wire                     running,
    output wire                     run_known,
    output wire [LOG_ACC_DEPTH-1:0] run_dst_first,
    output wire [LOG_ACC_DEPTH-1:0] run_dst_last,
    output wire [LOG_ACC_DEPTH-1:0] run_src_first,
    output wire [LOG_ACC_DEPTH-1:0] run_src_last,
    output wire                     run_pair_valid,
    output wire [LOG_ACC_DEPTH-1:0] run_pair_first,
    output wire [LOG_ACC_DEPTH-1:0] run_pair_last,
    output wire                     drain_valid,
    output wire [LOG_ACC_DEPTH-1:0] drain_first,
    output wire [LOG_ACC_DEPTH-1:0] drain_last,
    output wire                     run_loops,      // it writes INP, and nothing in ACC
    output wire [LOG_INP_DEPTH-1:0] run_inp_first,
    output wire [LOG_INP_DEPTH-1:0] run_inp_last,
    output wire                     inp_drain_valid,
    output wire [LOG_INP_DEPTH-1:0] inp_drain_first,
    output wire [LOG_INP_DEPTH-1:0] inp_drain_last,
    output wire                     done,
    output wire                     error,
    output wire [7:0]               error_code,

    // ACC: read ports x and y; a step that asks for y asks for x, too.
    input  wire                     array_write_soon,
    output wire                     rd_x_en,
    output wire [LOG_ACC_DEPTH-1:0] rd_x_addr,
    input  wire [(32 << (LOG_BATCH + LOG_BLOCK_OUT)) - 1:0] rd_x_data,
    output wire                     rd_y_en,
    output wire [LOG_ACC_DEPTH-1:0] rd_y_addr,
    input  wire [(32 << (LOG_BATCH + LOG_BLOCK_OUT)) - 1:0] rd_y_data,
    output wire                     rd_fire,        // the read takes place
    input  wire                     rd_x_free,      // no port of the array is in the way
    input  wire                     rd_y_free,
    output wire                     wr_en,
    output wire [LOG_ACC_DEPTH-1:0] wr_addr,
    output wire [(32 << (LOG_BATCH + LOG_BLOCK_OUT)) - 1:0] wr_data,

    // INP: the low bytes of wr_data, which go to a part of an entry.
    output wire                     inp_wr_en,
    output wire [LOG_INP_DEPTH-1:0] inp_wr_addr,
    output wire [1:0]               inp_wr_part,

    output wire                     work,           // for vta_awake
    output wire                     stat_alu,
    output wire                     stat_requant
);
`include "vta_isa.vh"
    localparam integer U = LOG_UOP_DEPTH;
    localparam integer A = LOG_ACC_DEPTH;
    localparam integer I = LOG_INP_DEPTH;
    localparam integer LANES = 1 << (LOG_BATCH + LOG_BLOCK_OUT);
    localparam integer COPIES = (LANES + 1)/2;          // of the tables
    localparam integer PLACE_BITS = A > 1 ? 2 : 1;      // of a place in a parameter record

    // F: the nest.
    wire         u_move;
    wire         nest_first;
    wire         nest_last;
    wire         nest_at_end;
    wire         nest_row_end;
    wire [U-1:0] nest_uop;
    wire [MAX_AI-1:0] nest_dst;
    wire [A-1:0] nest_src;
    reg          f_valid_q;
    // Kind of the next entry: a tile, or one of the parameter record, whose kind is one more than its place there.
    localparam [1:0] TILE = 2'd0, BIAS = 2'd1, SCALE = 2'd2, SHIFT = 2'd3;
    reg [1:0]    f_kind_q;
    wire         fire      = f_valid_q && u_move && uop_ok;
    wire         fire_last = fire && nest_last && f_kind_q == TILE;

    assign insn_ready = !f_valid_q || fire_last;
    wire   load       = insn_valid && insn_ready;

    // The waiver: the ALU has neither weights nor runs of micro-ops.
    // verilator lint_off PINCONNECTEMPTY
    vta_nest #(.UOP_BITS(U), .DST_BITS(MAX_AI), .SRC_BITS(A), .WGT_BITS(1)) nest (
        .clk(clk), .load(load), .step(fire && f_kind_q == TILE),
        .uop_outer(1'b0), .uop_begin(uop_begin), .uop_last(uop_last), .out_last(out_last), .in_last(in_last),
        .dst_out(dst_out), .dst_in(dst_in), .src_out(src_out), .src_in(src_in), .wgt_out(1'b0), .wgt_in(1'b0),
        .uop(nest_uop), .dst(nest_dst), .src(nest_src), .wgt(), .at_begin(), .at_end(nest_at_end), .row_end(nest_row_end),
        .first(nest_first), .last(nest_last), .range_begin(fetch_first), .range_last(fetch_last)
    );
    // verilator lint_on PINCONNECTEMPTY

    // Registers that hold for the whole instruction: operation, clip bounds and zero point, extents, snapshots.
    localparam integer CLIP_BITS = 31;
    localparam integer LONG      = CLIP_BITS - 1;
    localparam integer OP_BITS   = 3 + 3 + 1 + 16 + 1 + CLIP_BITS;
    localparam integer HEAD_BITS = OP_BITS + 1 + 2 + 2*(MAX_AI + 1) + 6;
    reg [HEAD_BITS-1:0] f_head_q;
    reg                 f_requant_q;
    reg                 f_wide_q;
    reg                 f_by_row_q;
    reg [5:0]           fetched_q;

    // To the lanes, a function on rows is an operation, or the MOV of a number.
    wire       row    = ROWS != 0 && !requant && alu_op == VTA_ALU_ROW;
    wire [2:0] doing  = imm[VTA_F_ROW_FUNCTION_LSB +: VTA_F_ROW_FUNCTION_WIDTH];
    wire [2:0] lanes  = doing == VTA_ROW_MIN ? VTA_ALU_MIN : doing == VTA_ROW_MAX ? VTA_ALU_MAX
                      : doing == VTA_ROW_ADD ? VTA_ALU_ADD : VTA_ALU_MOV;

    always @(posedge clk) begin
        if (load) begin
            f_requant_q <= requant;
            f_wide_q    <= wide;
            f_by_row_q  <= ROWS != 0 && requant && by_row;
            f_head_q    <= {requant, wide, LOOP_BACK != 0 && to_inp, row ? lanes : alu_op, use_imm, imm, row, ROWS != 0 && long_result, part, TABLE != 0 ? table_use : 2'd0, rounding, high, low, zero_point,
                            in_place, dst_high, dst_over, dst_extent, src_over, src_extent, snap_array};
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

    always @(posedge clk) begin
        if (load) f_kind_q <= requant ? BIAS : TILE;
        else if (fire && f_kind_q != TILE) f_kind_q <= f_kind_q == (f_wide_q ? SHIFT : SCALE) ? TILE : f_kind_q + 2'd1;
        else if (fire && f_by_row_q && nest_row_end) f_kind_q <= BIAS;
    end

    // Records by row: how far the current one is from the first, and the last one, of which `over` says that it is beyond ACC.
    wire [A-1:0] u_record_at;
    wire [A-1:0] u_records_ext;
    wire         u_records_over;
    generate
        if (ROWS == 0) begin : one_record
            assign u_record_at    = {A{1'b0}};
            assign u_records_ext  = {A{1'b0}};
            assign u_records_over = 1'b0;
            wire unused_by_row = |{by_row, nest_row_end};
        end else begin : records
            // The waiver: a place beyond ACC is refused.
            // verilator lint_off UNUSEDSIGNAL
            wire [A+2:0]  size = {{A{1'b0}}, f_wide_q, !f_wide_q, 1'b0};
            // verilator lint_on UNUSEDSIGNAL
            wire [A+15:0] ext  = by_row && requant ? {{A{1'b0}}, wide ? {out_last, 2'd0} : {1'b0, out_last, 1'b0}} : {(A+16){1'b0}};
            reg [A-1:0] f_at_q, u_at_q, f_ext_q, u_ext_q;
            reg         f_over_q, u_over_q;
            always @(posedge clk) begin
                if (load) begin
                    f_at_q   <= {A{1'b0}};
                    f_ext_q  <= ext[A-1:0];
                    f_over_q <= (ext >> A) != 0;
                end else if (fire && f_kind_q == TILE && nest_row_end) f_at_q <= f_at_q + size[A-1:0];
                if (u_move) begin
                    u_at_q   <= f_at_q;
                    u_ext_q  <= f_ext_q;
                    u_over_q <= f_over_q;
                end
            end
            assign u_record_at    = u_at_q;
            assign u_records_ext  = u_ext_q;
            assign u_records_over = u_over_q;
        end
    endgenerate

    assign uop_rd   = fire;
    assign uop_addr = nest_uop;
    assign fetching = f_valid_q;
    assign fetched  = fetched_q;

    // U: the micro-op and the sums.
    reg                 u_valid_q;
    reg                 u_first_q;
    reg                 u_last_q;
    reg                 u_at_end_q;
    reg [1:0]           u_kind_q;
    reg [MAX_AI-1:0]    u_dst_q;
    reg [A-1:0]         u_src_q;
    reg [HEAD_BITS-1:0] u_head_q;

    always @(posedge clk) begin
        if (rst) u_valid_q <= 1'b0;
        else if (u_move) u_valid_q <= fire;
    end

    // Without a step, u_valid_q says that there is nothing.
    always @(posedge clk) begin
        if (u_move) begin
            u_first_q  <= f_requant_q ? f_kind_q == BIAS && (ROWS == 0 || nest_first) : nest_first;
            u_last_q   <= nest_last && f_kind_q == TILE;
            u_at_end_q <= nest_at_end;
            u_kind_q   <= f_kind_q;
            u_dst_q    <= nest_dst;
            u_src_q    <= nest_src;
            u_head_q   <= f_head_q;
        end
    end

    wire [OP_BITS-1:0] u_op;
    wire               u_in_place;
    wire [1:0]         u_dst_high;
    wire               u_dst_over;
    wire [MAX_AI-1:0]  u_dst_ext;
    wire               u_src_over;
    wire [MAX_AI-1:0]  u_src_ext;
    wire [5:0]         u_snap;
    assign {u_op, u_in_place, u_dst_high, u_dst_over, u_dst_ext, u_src_over, u_src_ext, u_snap} = u_head_q;
    wire u_requant = u_op[OP_BITS-1];
    wire u_wide    = u_op[OP_BITS-2];
    wire u_to_inp  = u_op[OP_BITS-3];

    wire [A-1:0]      uop_dst = uop_data[VTA_F_UOP_DST_LSB +: VTA_F_UOP_DST_WIDTH];
    wire [MAX_AI-1:0] uop_src = uop_data[VTA_F_UOP_SRC_LSB +: VTA_F_UOP_SRC_WIDTH];
    wire [31:0]       uop_aux = uop_data >> VTA_F_UOP_AUX_LSB;
    wire [33:0]       record  = u_wide ? {uop_aux, 2'd0} : {1'b0, uop_aux, 1'b0};

    // Base from which dst counts: the micro-op's field, and above it, for INP alone, the instruction's.
    // The waiver: what is beyond INP is not legal.
    // verilator lint_off UNUSEDSIGNAL
    wire [MAX_AI+A+1:0] u_from = {{MAX_AI{1'b0}}, u_dst_high, uop_dst};
    // verilator lint_on UNUSEDSIGNAL
    wire [MAX_AI-1:0] u_base  = u_from[MAX_AI-1:0];
    wire [MAX_AI:0]   dst_end = {1'b0, u_base} + {1'b0, u_dst_ext};
    wire [MAX_AI:0]   src_end = {1'b0, uop_src} + {1'b0, u_src_ext};
    wire u_dst_bad = u_dst_over || (u_to_inp ? (dst_end >> I) != 0 : (dst_end >> A) != 0);
    wire [A:0]        record_end = {1'b0, record[A-1:0]} + {1'b0, u_records_ext};
    wire u_record_bad = (record >> A) != 0 || (ROWS != 0 && (u_records_over || record_end[A]));
    wire u_bad = u_dst_bad || (!u_in_place && (u_src_over || (src_end >> A) != 0)) || (u_requant && u_record_bad);

    wire [MAX_AI-1:0] u_goal = u_base + u_dst_q;
    wire [A-1:0] u_dst  = u_goal[A-1:0];
    wire [A-1:0] u_src  = uop_src[A-1:0] + u_src_q;
    wire [1:0]   u_place = u_kind_q - BIAS;
    wire [A-1:0] u_pair  = (record[A-1:0] + u_record_at) | {{(A-PLACE_BITS){1'b0}}, u_place[PLACE_BITS-1:0]};
    wire unused_place = u_place[1];     // with two entries

    // The step that is next in s0: from U, or from the place beside it, which takes what s0 has no room for. Of what it reads,
    // an instruction in place gives the range that it writes: any part of that will do. What one that writes INP says of
    // ACC beside what it reads there means nothing: vta_order knows.
    localparam integer STEP_BITS = 1 + 3*I + 1 + 4 + 2 + OP_BITS + 6*A + 6 + 1;
    wire [A-1:0]         u_reads      = u_in_place ? uop_dst : uop_src[A-1:0];
    wire [A-1:0]         u_reads_last = u_in_place ? uop_dst : src_end[A-1:0];
    wire                 u_alike = u_dst == u_src;
    wire [STEP_BITS-1:0] u_step = {u_alike, u_goal[I-1:0], u_base[I-1:0], dst_end[I-1:0], u_to_inp && u_dst_bad,
                                   u_first_q, u_last_q, u_at_end_q, u_in_place, u_kind_q, u_op,
                                   u_kind_q != TILE ? u_pair : u_to_inp ? u_src : u_dst,
                                   u_kind_q != TILE ? u_pair : u_in_place ? u_dst : u_src,
                                   uop_dst, dst_end[A-1:0], u_reads, u_reads_last, u_snap, u_bad};
    reg                  spare_valid_q;
    reg [STEP_BITS-1:0]  spare_q;
    reg [A-1:0]          spare_record_q;        // the last one
    wire [STEP_BITS-1:0] next_step = spare_valid_q ? spare_q : u_step;
    wire [A-1:0]         spare_reads, spare_reads_last;
    wire [A-1:0]         spare_begins, spare_ends;
    assign {spare_begins, spare_ends, spare_reads, spare_reads_last} = spare_q[7 +: 4*A];
    wire [I-1:0]         spare_inp_begins, spare_inp_ends;
    assign {spare_inp_begins, spare_inp_ends} = spare_q[STEP_BITS-2-I -: 2*I];
    wire                 spare_in_place = spare_q[7 + 6*A + OP_BITS + 2];

    wire               next_valid = spare_valid_q || u_valid_q;
    wire               next_alike, next_first, next_last, next_at_end, next_bad, next_goal_bad;
    wire [I-1:0]       next_goal;
    wire [1:0]         next_kind;
    wire [OP_BITS-1:0] next_op;
    wire [A-1:0]       next_dst, next_src, next_reads, next_reads_last;
    wire [5:0]         next_snap;
    // The waiver: what becomes a range is chosen after it has been compared (vta_range).
    // verilator lint_off UNUSEDSIGNAL
    wire [A-1:0]       next_begins, next_ends;
    wire [I-1:0]       next_inp_begins, next_inp_ends;
    wire               next_in_place;
    // verilator lint_on UNUSEDSIGNAL
    assign {next_alike, next_goal, next_inp_begins, next_inp_ends, next_goal_bad, next_first, next_last, next_at_end, next_in_place, next_kind, next_op, next_dst, next_src, next_begins, next_ends,
            next_reads, next_reads_last, next_snap, next_bad} = next_step;

    wire advance;
    assign u_move = !spare_valid_q;

    always @(posedge clk) begin
        if (rst) spare_valid_q <= 1'b0;
        else spare_valid_q <= next_valid && !advance;
    end

    always @(posedge clk) begin
        if (u_move && u_valid_q) begin
            spare_q        <= u_step;
            spare_record_q <= record_end[A-1:0];
        end
    end

    // s0: the one place where a step waits.
    reg               s0_valid_q;
    reg               s0_bad_q;
    reg               s0_last_q;
    reg [1:0]         s0_kind_q;
    reg [A-1:0]       s0_dst_q;
    reg [A-1:0]       s0_src_q;
    reg [I-1:0]       s0_goal_q;        // in INP
    reg               s0_goal_bad_q;
    reg [OP_BITS-1:0] s0_op_q;
    reg               s0_tile_q;        // of kind and operation
    reg               s0_two_q;
    reg               s0_alike_q;       // of a tile's entries
    reg [5:0]         s0_snap_q;
    reg               s0_half_q;        // the source has been read, the destination is next, or the unit's number
    reg               s0_unit_q;        // a number of vta_row_unit goes to all lanes
    wire              units_ready;

    always @(posedge clk) begin
        if (rst) begin
            s0_valid_q <= 1'b0;
            s0_bad_q   <= 1'b0;
        end else if (advance) begin
            s0_valid_q <= next_valid;
            s0_bad_q   <= next_valid && next_bad;
        end
    end

    wire s0_load, s0_load_op;
    wire next_tile = next_kind == TILE;
    wire [2:0] next_doing = next_op[CLIP_BITS + 1 + VTA_F_ROW_FUNCTION_LSB +: VTA_F_ROW_FUNCTION_WIDTH];
    always @(posedge clk) begin
        if (s0_load) begin
            s0_last_q  <= next_last;
            s0_kind_q  <= next_kind;
            s0_dst_q   <= next_dst;
            s0_src_q   <= next_src;
            s0_goal_q  <= next_goal;
            s0_goal_bad_q <= next_goal_bad;
            s0_snap_q  <= next_snap;
            s0_tile_q  <= next_tile;
            s0_alike_q <= next_alike;
            s0_two_q   <= next_tile && !next_op[OP_BITS-1] && !next_op[OP_BITS-7];     // no REQUANT, no immediate operand
            s0_unit_q  <= ROWS != 0 && next_op[CLIP_BITS] && next_doing > VTA_ROW_EXP2;
        end
        if (s0_load_op) s0_op_q <= next_op;
    end

    wire        s0_requant, s0_wide, s0_to_inp;
    wire [2:0]  s0_alu_op;
    wire        s0_use_imm;
    wire [15:0] s0_imm;
    wire        s0_row;
    wire [CLIP_BITS-1:0] s0_clip;
    assign {s0_requant, s0_wide, s0_to_inp, s0_alu_op, s0_use_imm, s0_imm, s0_row, s0_clip} = s0_op_q;

    // Tiles on their way: all, those that go to ACC, and the destinations of s1 … s7.
    localparam integer D = MAX_AI;
    reg [7:1]   tiles_q;
    reg [7:1]   writes_q;
    reg         loops_q;        // s7 holds a tile that goes to INP
    reg [7*D-1:0] dst_q;        // s1 in the low bits
    reg         s1_early_q;     // s1 holds an operation whose result is there in s2
    reg         s1_split_q;
    reg         s1_pair_bias_q;
    reg         s1_pair_scale_q;
    reg         s1_pair_shift_q;
    reg         s1_chain_q;
    reg         s1_held_q;      // y is there already

    wire s0_tile  = s0_tile_q;
    wire s0_two   = s0_two_q;           // x = ACC[dst], y = ACC[src]
    wire s0_chain = s0_two && !s0_alike_q && writes_q[1] && s1_early_q && dst_q[A-1:0] == s0_dst_q;

    reg dst_pending;
    reg src_pending;
    integer k;
    always @* begin
        dst_pending = 1'b0;
        src_pending = 1'b0;
        if (s0_valid_q) begin
            for (k = 1; k <= 7; k = k + 1) begin
                if (writes_q[k] && dst_q[D*(k-1) +: A] == s0_dst_q) dst_pending = 1'b1;
                if (writes_q[k] && dst_q[D*(k-1) +: A] == s0_src_q) src_pending = 1'b1;
            end
        end
    end

    // With two tiles of one bank to be read, the source goes first; a chained x needs no read.
    wire s0_one_bank = (s0_dst_q >> (A - LOG_BANK)) == (s0_src_q >> (A - LOG_BANK));
    wire s0_crowded  = s0_two && !s0_alike_q && s0_one_bank && !s0_half_q;
    wire s0_asks     = s0_unit_q && !s0_half_q;         // reads the number for the units
    wire s0_split    = (s0_crowded && !s0_chain) || s0_asks;
    wire s0_need_dst = s0_two && !s0_chain && !s0_split;

    // A step is able to go, or its source alone, unless it must wait. What a chained x depends on is not asked before the chain is known:
    // both come late.
    wire s0_live   = s0_valid_q && !s0_bad_q;
    wire s0_source = s0_half_q || (!src_pending && (!s0_two || rd_y_free));
    wire s0_result = !(s0_tile && !s0_to_inp && array_write_soon);
    wire s0_other  = !s0_crowded && rd_x_free && !(s0_two && dst_pending) && !(s0_unit_q && !(s0_half_q && units_ready));
    wire s0_able   = s0_live && s0_source && s0_result && (s0_chain || s0_other);
    wire s0_go     = s0_able && !must_wait;
    wire s0_move   = s0_go || (s0_live && s0_source && s0_split && !(s0_asks && !rd_x_free) && !must_wait);

    assign advance = !s0_valid_q || s0_go;

    // One table behind `must_wait`, which comes last.
    vta_enter step (.full(s0_valid_q), .able(s0_able), .go(!must_wait), .sure(next_valid), .may(1'b0), .wider(1'b0), .enters(s0_load));
    vta_enter step_op (.full(s0_valid_q), .able(s0_able), .go(!must_wait), .sure(next_valid), .may(1'b0), .wider(1'b0), .enters(s0_load_op));

    always @(posedge clk) begin
        if (rst) s0_half_q <= 1'b0;
        else if (s0_move) s0_half_q <= s0_split;
    end

    // Port y reads what becomes y, port x what becomes x.
    assign rd_x_addr = s0_two ? s0_dst_q : s0_src_q;
    assign rd_y_addr = s0_src_q;
    assign rd_x_en   = s0_live && (!s0_two || s0_need_dst);
    assign rd_y_en   = s0_live && s0_two && !s0_half_q;
    assign rd_fire   = s0_move;

    // Marks of LOADs fall wherever a step is.
    reg [ENTRIES-1:0] f_marks_q;
    reg [ENTRIES-1:0] u_marks_q;
    reg [ENTRIES-1:0] spare_marks_q;
    reg [ENTRIES-1:0] s0_marks_q;
    always @(posedge clk) begin
        f_marks_q     <= (load ? marks : f_marks_q) & ~load_done;
        u_marks_q     <= (u_move ? f_marks_q : u_marks_q) & ~load_done;
        spare_marks_q <= (u_move ? u_marks_q : spare_marks_q) & ~load_done;
        s0_marks_q    <= (!advance ? s0_marks_q : spare_valid_q ? spare_marks_q : u_marks_q) & ~load_done;
    end

    assign ask_array = s0_snap_q;
    assign ask_older = s0_marks_q;
    assign ask_dst = s0_dst_q;
    assign ask_src = s0_src_q;
    assign ask_loops = s0_to_inp && s0_tile;
    assign ask_inp = s0_goal_q;

    // Entries that the instruction in s0 uses: complete once its last micro-op has passed.
    reg [7:1] last_q;
    wire      leave = s0_go && s0_last_q;

    wire      drained;

    vta_span #(.A(A)) span (
        .clk(clk), .rst(rst), .full(s0_valid_q), .able(s0_able), .go(!must_wait), .valid(next_valid), .first(next_first), .whole(next_at_end),
        .spare(spare_valid_q), .begins(uop_dst), .ends(dst_end[A-1:0]), .spare_begins(spare_begins), .spare_ends(spare_ends),
        .last(s0_last_q), .writes(!s0_to_inp), .retire(last_q[7]),
        .started(started), .retired(retired), .running(running), .known(run_known), .drained(drained),
        .run_first(run_dst_first), .run_last(run_dst_last),
        .drain_valid(drain_valid), .drain_first(drain_first), .drain_last(drain_last)
    );

    vta_range #(.A(I)) loops (
        .clk(clk), .rst(rst), .full(s0_valid_q), .able(s0_able), .go(!must_wait), .valid(next_valid), .first(next_first),
        .spare(spare_valid_q), .begins(u_base[I-1:0]), .ends(dst_end[I-1:0]), .spare_begins(spare_inp_begins),
        .spare_ends(spare_inp_ends),
        .last(s0_last_q && s0_to_inp), .drained(drained), .run_first(run_inp_first), .run_last(run_inp_last),
        .drain_valid(inp_drain_valid), .drain_first(inp_drain_first), .drain_last(inp_drain_last)
    );
    assign run_loops = s0_to_inp;

    // Entries that it reads: the operand, and the parameters of a requantization.
    reg [A-1:0]  run_src_first_q, run_src_last_q;
    reg          run_pair_valid_q;
    reg [A-1:0]  run_pair_first_q, run_pair_last_q;
    wire         src_may      = next_valid && !spare_valid_q && !u_in_place;
    wire         spare_may    = next_valid && spare_valid_q && !spare_in_place;
    wire         src_begins   = next_valid && next_first;
    wire         src_down, src_up, pair_begins;
    vta_enter read_down (
        .full(s0_valid_q), .able(s0_able), .go(!must_wait), .sure(src_begins || (spare_may && spare_reads < run_src_first_q)),
        .may(src_may), .wider(uop_src[A-1:0] < run_src_first_q), .enters(src_down)
    );
    vta_enter read_up (
        .full(s0_valid_q), .able(s0_able), .go(!must_wait), .sure(src_begins || (spare_may && spare_reads_last > run_src_last_q)),
        .may(src_may), .wider(src_end[A-1:0] > run_src_last_q), .enters(src_up)
    );
    vta_enter pair (.full(s0_valid_q), .able(s0_able), .go(!must_wait), .sure(src_begins), .may(1'b0), .wider(1'b0), .enters(pair_begins));
    wire         next_requant = next_op[OP_BITS-1];
    wire [1:0]   next_places  = {next_op[OP_BITS-2], 1'b1};     // of a record, less one
    wire         unused_next_place = next_places[1];            // as above

    always @(posedge clk) begin
        if (src_down) run_src_first_q <= next_reads;
        if (src_up)   run_src_last_q  <= next_reads_last;
        if (pair_begins) begin
            run_pair_valid_q <= next_requant;
            run_pair_first_q <= next_dst;       // a REQUANT begins there
            run_pair_last_q  <= (ROWS == 0 ? next_dst : spare_valid_q ? spare_record_q : record_end[A-1:0])
                              | {{(A-PLACE_BITS){1'b0}}, next_places[PLACE_BITS-1:0]};
        end
    end

    assign run_src_first  = run_src_first_q;
    assign run_src_last   = run_src_last_q;
    assign run_pair_valid = run_pair_valid_q;
    assign run_pair_first = run_pair_first_q;
    assign run_pair_last  = run_pair_last_q;

    // s1 … s7: what each step carries along.
    reg        s1_requant_q, s2_requant_q, s3_requant_q, s4_requant_q, s5_requant_q, s6_requant_q;
    reg [2:0]  s1_alu_op_q, s2_alu_op_q;
    reg        s1_use_imm_q;
    reg [15:0] s1_imm_q;
    reg        s1_wide_q;
    reg [CLIP_BITS-1:0] s1_clip_q, s2_clip_q, s3_clip_q, s4_clip_q, s5_clip_q, s6_clip_q;
    reg [8:0]  s6_to_low_q, s6_past_high_q;     // the zero point less a bound, for all lanes
    reg [1:0]  s7_table_q;
    reg [1:0]  s7_part_q;
    reg        s7_requant_q;

    always @(posedge clk) begin
        if (rst) begin
            tiles_q         <= 7'd0;
            writes_q        <= 7'd0;
            loops_q         <= 1'b0;
            last_q          <= 7'd0;
            s1_split_q      <= 1'b0;
            s1_pair_bias_q  <= 1'b0;
            s1_pair_scale_q <= 1'b0;
            s1_pair_shift_q <= 1'b0;
        end else begin
            tiles_q         <= {tiles_q[6:1], s0_go && s0_tile};
            writes_q        <= {writes_q[6:1], s0_go && s0_tile && !s0_to_inp};
            loops_q         <= tiles_q[6] && !writes_q[6];
            last_q          <= {last_q[6:1], leave};
            s1_split_q      <= s0_move && s0_split && !s0_asks;
            s1_pair_bias_q  <= s0_go && s0_kind_q == BIAS;
            s1_pair_scale_q <= s0_go && s0_kind_q == SCALE;
            s1_pair_shift_q <= s0_go && s0_kind_q == SHIFT;
        end
    end

    always @(posedge clk) begin
        dst_q <= {dst_q[6*D-1:0], s0_to_inp ? {{(D-I){1'b0}}, s0_goal_q} : {{(D-A){1'b0}}, s0_dst_q}};
        if (s0_valid_q) begin       // with a step that waits, nobody looks at them
            s1_early_q    <= !s0_requant && s0_alu_op != VTA_ALU_MUL && s0_alu_op != VTA_ALU_SHR
                          && s0_alu_op != VTA_ALU_CLIP && !(ROWS != 0 && s0_clip[LONG]);
            s1_chain_q    <= s0_chain;
            s1_held_q     <= s0_half_q && !s0_unit_q;
            s1_requant_q  <= s0_requant;
            s1_wide_q     <= s0_wide;
            s1_alu_op_q   <= s0_alu_op;
            s1_use_imm_q  <= s0_use_imm;
            s1_imm_q      <= s0_imm & {16{!s0_row}};
            s1_clip_q     <= s0_clip;
        end
        if (tiles_q != 7'd0) begin
            s2_alu_op_q  <= s1_alu_op_q;
            {s2_requant_q, s3_requant_q, s4_requant_q, s5_requant_q, s6_requant_q} <=
                {s1_requant_q, s2_requant_q, s3_requant_q, s4_requant_q, s5_requant_q};
            s2_clip_q <= s1_clip_q;
            s3_clip_q <= s2_clip_q;
            s4_clip_q <= s3_clip_q;
            s5_clip_q <= s4_clip_q;
            s6_to_low_q    <= {s5_clip_q[7], s5_clip_q[7:0]} - {s5_clip_q[15], s5_clip_q[15:8]};
            s6_past_high_q <= {s5_clip_q[7], s5_clip_q[7:0]} + ~{s5_clip_q[23], s5_clip_q[23:16]};
            s7_requant_q <= s6_requant_q && !(ROWS != 0 && s6_clip_q[LONG]);
            s7_part_q    <= s6_clip_q[29:28];
            s7_table_q   <= s6_requant_q ? s6_clip_q[27:26] : 2'd0;
        end
        // An enable of its own keeps this one out of the shift register that a synthesizer makes of those before, which gives its bits late.
        if (tiles_q[5]) s6_clip_q <= s5_clip_q;
    end

    // s1: the operands.
    reg  [32*LANES-1:0] bias_q;
    reg  [37*LANES-1:0] scale_q;         // of each lane: shift, multiplier
    reg  [32*LANES-1:0] x_q;
    reg  [32*LANES-1:0] y_q;
    wire [32*LANES-1:0] early;
    wire [32*LANES-1:0] result;
    wire [8*LANES-1:0]  index;

    integer n;
    always @(posedge clk) begin
        if (s1_pair_bias_q) bias_q <= rd_x_data;
        if (s1_pair_scale_q) begin
            for (n = 0; n < LANES; n = n + 1) begin
                scale_q[37*n +: 37] <= {rd_x_data[32*n + 24 +: 6], s1_wide_q ? rd_x_data[32*n + 24 +: 7] : 7'd0,
                                        rd_x_data[32*n +: 24]};
            end
        end
        if (s1_pair_shift_q) begin
            for (n = 0; n < LANES; n = n + 1) scale_q[37*n + 31 +: 6] <= rd_x_data[32*n +: 6];
        end
    end

    // y: an immediate operand or the units' numbers, ACC[src], or that with its lanes turned, each batch row by itself.
    wire [32*LANES-1:0] s1_y;
    genvar g, p;
    generate
        if (ROWS == 0) begin : plain
            assign s1_y = s1_use_imm_q ? {LANES{{16{s1_imm_q[15]}}, s1_imm_q}} : rd_y_data;
            assign units_ready = 1'b1;
        end else begin : rows
            localparam integer OUT   = 1 << LOG_BLOCK_OUT;
            localparam integer BATCH = 1 << LOG_BATCH;
            localparam [2:0]   MADE  = 3'd7;
            reg                 s1_unit_q;
            reg [2:0]           s1_pick_q;      // 0: as it is; 1 … 6: turned by 1, 2, 4, ...; MADE: no entry of ACC
            wire [BATCH-1:0]    ready;
            wire [32*BATCH-1:0] number;
            wire [2:0]          s0_doing  = s0_imm[VTA_F_ROW_FUNCTION_LSB +: VTA_F_ROW_FUNCTION_WIDTH];
            wire [1:0]          s0_form   = s0_imm[VTA_F_ROW_FORM_LSB +: VTA_F_ROW_FORM_WIDTH];
            wire [5:0]          s0_places = s0_imm[VTA_F_ROW_PLACES_LSB +: VTA_F_ROW_PLACES_WIDTH];
            always @(posedge clk) begin
                if (s0_valid_q) begin
                    s1_unit_q <= s0_unit_q;
                    s1_pick_q <= s0_use_imm ? MADE : s0_row ? s0_places[2:0] + 3'd1 : 3'd0;
                end
            end

            for (g = 0; g < BATCH; g = g + 1) begin : batch_row
                vta_row_unit unit (
                    .clk(clk), .rst(rst), .start(s0_move && s0_asks), .value(rd_x_data[32*OUT*g +: 32]),
                    .root(s0_doing == VTA_ROW_ROOT), .of_root(s0_doing == VTA_ROW_RECIP_ROOT), .form(s0_form), .places(s0_places),
                    .ready(ready[g]), .result(number[32*g +: 32])
                );
            end
            assign units_ready = ready == {BATCH{1'b1}};
            wire unused_use_imm = s1_use_imm_q;

            for (g = 0; g < LANES; g = g + 1) begin : lane_y
                wire [31:0]  made = s1_unit_q ? number[32*(g/OUT) +: 32] : {{16{s1_imm_q[15]}}, s1_imm_q};
                wire [255:0] of;
                assign of[31:0]   = rd_y_data[32*g +: 32];
                assign of[255:224] = made;
                for (p = 0; p < 6; p = p + 1) begin : turned
                    if (p < LOG_BLOCK_OUT) begin : by
                        assign of[32*p + 32 +: 32] = rd_y_data[32*(g/OUT*OUT + (g + (1 << p))%OUT) +: 32];
                    end else begin : none
                        assign of[32*p + 32 +: 32] = made;
                    end
                end
                assign s1_y[32*g +: 32] = of[32*s1_pick_q +: 32];
            end
        end
    endgenerate

    // The source of a split step waits in y_q for its destination.
    always @(posedge clk) begin
        if (tiles_q[1]) x_q <= s1_chain_q ? early : rd_x_data;
        if ((tiles_q[1] && !s1_held_q) || s1_split_q) begin
            y_q <= s1_y;
        end
    end

    generate
        for (g = 0; g < LANES; g = g + 1) begin : lane
            vta_alu_lane #(
                .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
                .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
                .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .ROWS(ROWS), .DSPS(LANE_DSPS)
            ) unit (
                .clk(clk), .en2(tiles_q[2]), .en3(tiles_q[3]), .en4(tiles_q[4]), .en5(tiles_q[5]), .en6(tiles_q[6]),
                .s2_requant(s2_requant_q), .s2_exp2(s2_clip_q[LONG] && !s2_requant_q), .s2_op(s2_alu_op_q), .x(x_q[32*g +: 32]), .y(y_q[32*g +: 32]),
                .bias(bias_q[32*g +: 32]), .scale(scale_q[37*g +: 37]),
                .s2_twice(s2_clip_q[25]), .early(early[32*g +: 32]),
                .s6_requant(s6_requant_q), .s6_long(s6_clip_q[LONG]), .s6_rounding(s6_clip_q[25:24]),
                .s6_zero_point(s6_clip_q[7:0]), .s6_low(s6_clip_q[15:8]), .s6_high(s6_clip_q[23:16]),
                .s6_to_low(s6_to_low_q), .s6_past_high(s6_past_high_q),
                .index(index[8*g +: 8]), .result(result[32*g +: 32])
            );
        end
    endgenerate

    // s6, s7: the tables, a copy for each two lanes.
    wire              table_rd = tiles_q[6] && s6_requant_q && s6_clip_q[27:26] != 2'd0;
    wire [16*COPIES-1:0] values;
    generate
        if (TABLE == 0) begin : no_tables
            assign values = {16*COPIES{1'b0}};
            wire unused_tables = |{clk_tab, tab_wr_en, tab_wr_addr, tab_wr_data, table_rd, index};
        end
        for (g = 0; g < COPIES && TABLE != 0; g = g + 1) begin : tables
            localparam integer OTHER = 2*g + 1 < LANES ? 2*g + 1 : 2*g;     // a single lane has no neighbour
            vta_table #(.LOG_WORDS(VTA_LOG_TAB)) tab (
                .clk(clk_tab), .wr_en(tab_wr_en), .wr_addr(tab_wr_addr), .wr_data(tab_wr_data), .rd_en(table_rd),
                .rd_index({s6_clip_q[27], index[8*OTHER +: 8], s6_clip_q[27], index[16*g +: 8]}), .rd_data(values[16*g +: 16])
            );
        end

        for (g = 0; g < LANES; g = g + 1) begin : looked_up
            wire [7:0] value = values[8*g +: 8];
            assign wr_data[32*g +: 8]      = s7_table_q != 2'd0 ? value : result[32*g +: 8];
            vta_extend #(.BITS(24)) extend (
                .narrow(s7_requant_q), .sign(wr_data[32*g + 7]), .own(result[32*g + 8 +: 24]), .upper(wr_data[32*g + 8 +: 24])
            );
        end
    endgenerate

    assign wr_en   = writes_q[7];
    assign wr_addr = dst_q[6*D +: A];
    assign done    = last_q[7];
    assign error   = s0_bad_q && !drain_valid && !inp_drain_valid;
    assign error_code = s0_goal_bad_q ? VTA_ERROR_INP_RANGE : VTA_ERROR_ACC_RANGE;

    assign inp_wr_en   = LOOP_BACK != 0 && loops_q;
    assign inp_wr_addr = dst_q[6*D +: I];
    assign inp_wr_part = s7_part_q;

    assign work = load || fire || s0_move || !units_ready || (u_move && u_valid_q)
               || (load_done != {ENTRIES{1'b0}} && (f_valid_q || u_valid_q || s0_valid_q));

    assign stat_alu     = s0_go && s0_tile && !s0_requant;
    assign stat_requant = s0_go && s0_tile && s0_requant;
endmodule

`default_nettype wire
