// SPDX-License-Identifier: Apache-2.0
//
// vta_decode -- GEMM, DEPTHWISE, ALU, REQUANT, FINISH decoded and checked, in three register stages.
//
// Contract: in step with vta_mem_decode, which takes the same instructions: every stage moves when the last one is not `full` or what
// it holds does `go`, and `insn_valid` says that it moves an instruction.
// `error` is the first violation of the instruction's own fields; with an error the other outputs mean nothing. A
// LOAD's error is vta_mem_decode's affair, but for bits that no field covers. `empty` marks a nest without iterations.
// Extents are the largest sums that the loops add to a micro-op's fields; *_over: beyond any scratchpad (isa.def).
`include "vta_assert.vh"
`define VTA_ISA_BUNDLE
`include "vta_isa.vh"
`undef VTA_ISA_BUNDLE
`default_nettype none

module vta_decode #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer LOG_UOP_DEPTH = 13,
    parameter integer LOG_INP_DEPTH = 11,
    parameter integer LOG_WGT_DEPTH = 10,
    parameter integer LOG_ACC_DEPTH = 11,
    parameter integer SRC_BITS      = 11,   // max(LOG_INP_DEPTH, 11)
    parameter integer MAX_AI        = 11,   // max(LOG_ACC_DEPTH, LOG_INP_DEPTH)
    parameter integer TABLE         = 1,    // 0: a REQUANT that uses a table is illegal
    parameter integer LOOP_BACK     = 1,    // 0: one that writes to INP
    parameter integer DEPTHWISE_TAPS = 9,   // 0: DEPTHWISE
    parameter integer ROWS          = 0     // 0: functions on rows, long results and records by row
) (
    input  wire                     clk,
    input  wire                     full,
    input  wire                     go,
    input  wire                     insn_valid,
    input  wire [127:0]             insn,
    input  wire [31:0]              insn_index,

    output wire [31:0]              index,
    output wire [7:0]               error,
    output wire                     pop_prev,
    output wire                     pop_next,
    output wire                     push_prev,
    output wire                     push_next,
    output wire                     is_load,
    output wire                     is_finish,
    output wire                     is_array,   // GEMM, DEPTHWISE
    output wire                     is_alu,     // ALU, REQUANT
    output wire                     empty,

    // Fields that the pipelines take along: a port for each row VTA_DECODED of isa.def.
    `VTA_DECODE_PORTS
);
`include "vta_isa.vh"
    localparam integer U = LOG_UOP_DEPTH;
    localparam integer I = LOG_INP_DEPTH;
    localparam integer A = LOG_ACC_DEPTH;
    localparam integer W = LOG_WGT_DEPTH;

    // Stage 1: the instruction.
    reg         s1_valid_q;
    reg         s2_valid_q;
    reg [127:0] s1_q;
    reg [31:0]  s1_index_q;
    reg [13:0]  s1_out_last_q;      // the loops' counts less 1, by which stage 2 multiplies
    reg [13:0]  s1_in_last_q;
    reg         s1_none_q;          // one of the counts is 0

    wire [2:0]  op       = insn[VTA_F_HEADER_OPCODE_LSB +: VTA_F_HEADER_OPCODE_WIDTH];
    wire        ours     = op == VTA_OP_GEMM || op == VTA_OP_ALU;
    wire [13:0] iter_out = ours ? insn[VTA_F_GEMM_ITER_OUT_LSB +: 14]
                         : op == VTA_OP_DEPTHWISE ? insn[VTA_F_DEPTHWISE_ITER_OUT_LSB +: 14] : insn[VTA_F_REQUANT_ITER_OUT_LSB +: 14];
    wire [13:0] iter_in  = ours ? insn[VTA_F_GEMM_ITER_IN_LSB +: 14]
                         : op == VTA_OP_DEPTHWISE ? insn[VTA_F_DEPTHWISE_ITER_IN_LSB +: 14] : insn[VTA_F_REQUANT_ITER_IN_LSB +: 14];

    // One table behind `go`, which comes late, for each stage.
    wire move, s1_go, s2_go, s3_go;
    vta_enter all_steps (.full(full), .able(1'b1), .go(go), .sure(1'b1), .may(1'b0), .wider(1'b0), .enters(move));
    vta_enter s1_steps  (.full(full), .able(1'b1), .go(go), .sure(insn_valid), .may(1'b0), .wider(1'b0), .enters(s1_go));
    vta_enter s2_steps  (.full(full), .able(1'b1), .go(go), .sure(s1_valid_q), .may(1'b0), .wider(1'b0), .enters(s2_go));
    vta_enter s3_steps  (.full(full), .able(1'b1), .go(go), .sure(s2_valid_q), .may(1'b0), .wider(1'b0), .enters(s3_go));

    always @(posedge clk) begin
        if (move) begin
            s1_valid_q <= insn_valid;
            s2_valid_q <= s1_valid_q;
        end
    end

    always @(posedge clk) begin
        if (s1_go) begin
            s1_q          <= insn;
            s1_index_q    <= insn_index;
            s1_out_last_q <= iter_out - 14'd1;
            s1_in_last_q  <= iter_in - 14'd1;
            s1_none_q     <= iter_out == 14'd0 || iter_in == 14'd0;
        end
    end

    wire [2:0] s1_op = s1_q[VTA_F_HEADER_OPCODE_LSB +: VTA_F_HEADER_OPCODE_WIDTH];
    wire s1_gemm  = s1_op == VTA_OP_GEMM;
    wire s1_dw    = s1_op == VTA_OP_DEPTHWISE;
    wire s1_req   = s1_op == VTA_OP_REQUANT;
    wire s1_alu   = s1_op == VTA_OP_ALU;
    wire s1_load  = s1_op == VTA_OP_LOAD;
    wire s1_fin   = s1_op == VTA_OP_FINISH;
    wire s1_ours  = s1_gemm || s1_alu;      // formats whose fields depend on the configuration

    // Fields, each widened to the widest of its kind.
    wire [13:0] s1_begin_v = {{(14-U){1'b0}}, s1_q[VTA_F_GEMM_UOP_BEGIN_LSB +: U]};
    wire [13:0] s1_end_v   = {{(13-U){1'b0}}, s1_q[VTA_F_GEMM_UOP_END_LSB +: U+1]};
    wire [13:0] s1_begin   = s1_ours ? s1_begin_v
                           : s1_dw ? {1'b0, s1_q[VTA_F_DEPTHWISE_UOP_BEGIN_LSB +: VTA_F_DEPTHWISE_UOP_BEGIN_WIDTH]}
                           : {1'b0, s1_q[VTA_F_REQUANT_UOP_LSB +: VTA_F_REQUANT_UOP_WIDTH]};
    wire [13:0] s1_end     = s1_ours ? s1_end_v
                           : s1_q[VTA_F_DEPTHWISE_UOP_END_LSB +: VTA_F_DEPTHWISE_UOP_END_WIDTH];
    wire [13:0] s1_end_less = s1_end - 14'd1;
    wire [13:0] s1_last    = s1_req ? s1_begin : s1_end_less;
    wire [SRC_BITS-1:0] s1_dst_out = s1_ours ? {{(SRC_BITS-A){1'b0}}, s1_q[VTA_F_GEMM_DST_OUT_LSB +: A]}
                           : {{(SRC_BITS-11){1'b0}}, s1_q[VTA_F_REQUANT_DST_OUT_LSB +: VTA_F_REQUANT_DST_OUT_WIDTH]};
    wire [SRC_BITS-1:0] s1_dst_in  = s1_ours ? {{(SRC_BITS-A){1'b0}}, s1_q[VTA_F_GEMM_DST_IN_LSB +: A]}
                           : {{(SRC_BITS-11){1'b0}}, s1_q[VTA_F_REQUANT_DST_IN_LSB +: VTA_F_REQUANT_DST_IN_WIDTH]};
    wire [SRC_BITS-1:0] s1_src_out = s1_gemm ? {{(SRC_BITS-I){1'b0}}, s1_q[VTA_F_GEMM_SRC_OUT_LSB +: I]}
                           : s1_alu ? {{(SRC_BITS-A){1'b0}}, s1_q[VTA_F_ALU_SRC_OUT_LSB +: A]}
                           : {{(SRC_BITS-11){1'b0}}, s1_q[VTA_F_REQUANT_SRC_OUT_LSB +: VTA_F_REQUANT_SRC_OUT_WIDTH]};
    wire [SRC_BITS-1:0] s1_src_in  = s1_gemm ? {{(SRC_BITS-I){1'b0}}, s1_q[VTA_F_GEMM_SRC_IN_LSB +: I]}
                           : s1_alu ? {{(SRC_BITS-A){1'b0}}, s1_q[VTA_F_ALU_SRC_IN_LSB +: A]}
                           : {{(SRC_BITS-11){1'b0}}, s1_q[VTA_F_REQUANT_SRC_IN_LSB +: VTA_F_REQUANT_SRC_IN_WIDTH]};
    wire [W-1:0] s1_wgt_out = s1_gemm ? s1_q[VTA_F_GEMM_WGT_OUT_LSB +: W] : {W{1'b0}};
    wire [W-1:0] s1_wgt_in  = s1_gemm ? s1_q[VTA_F_GEMM_WGT_IN_LSB +: W] : {W{1'b0}};
    wire [3:0]   s1_taps_x  = s1_q[VTA_F_DEPTHWISE_TAPS_X_LSB +: VTA_F_DEPTHWISE_TAPS_X_WIDTH];
    wire [3:0]   s1_taps_y  = s1_q[VTA_F_DEPTHWISE_TAPS_Y_LSB +: VTA_F_DEPTHWISE_TAPS_Y_WIDTH];
    wire [7:0]   s1_taps    = s1_taps_x * s1_taps_y;
    wire [2:0]   s1_col     = s1_q[VTA_F_DEPTHWISE_COL_STEP_LSB +: VTA_F_DEPTHWISE_COL_STEP_WIDTH];
    wire [7:0]   s1_row     = s1_q[VTA_F_DEPTHWISE_ROW_STEP_LSB +: VTA_F_DEPTHWISE_ROW_STEP_WIDTH];
    wire         s1_group   = s1_q[VTA_F_DEPTHWISE_GROUP_LSB];
    wire         s1_reset   = s1_q[VTA_F_GEMM_RESET_LSB];
    wire         s1_init    = s1_gemm ? s1_q[VTA_F_GEMM_INIT_LSB] : s1_q[VTA_F_DEPTHWISE_INIT_LSB];
    wire [2:0]   s1_alu_op  = s1_q[VTA_F_ALU_ALU_OP_LSB +: VTA_F_ALU_ALU_OP_WIDTH];
    wire         s1_use_imm = s1_q[VTA_F_ALU_USE_IMM_LSB];
    wire         s1_from_src = s1_q[VTA_F_ALU_FROM_SRC_LSB];
    wire [15:0]  s1_imm     = s1_q[VTA_F_ALU_IMM_LSB +: VTA_F_ALU_IMM_WIDTH];
    wire [1:0]   s1_round   = s1_q[VTA_F_REQUANT_ROUNDING_LSB +: VTA_F_REQUANT_ROUNDING_WIDTH];
    wire         s1_wide    = s1_q[VTA_F_REQUANT_WIDE_LSB];
    wire [1:0]   s1_table   = s1_q[VTA_F_REQUANT_TABLE_LSB +: VTA_F_REQUANT_TABLE_WIDTH];
    wire         s1_to_inp  = s1_q[VTA_F_REQUANT_TO_INP_LSB];
    wire [1:0]   s1_part    = s1_q[VTA_F_REQUANT_PART_LSB +: VTA_F_REQUANT_PART_WIDTH];
    wire [1:0]   s1_high_dst = s1_q[VTA_F_REQUANT_DST_HIGH_LSB +: VTA_F_REQUANT_DST_HIGH_WIDTH];
    wire [7:0]   s1_zero    = s1_q[VTA_F_REQUANT_ZERO_POINT_LSB +: VTA_F_REQUANT_ZERO_POINT_WIDTH];
    wire [7:0]   s1_low     = s1_q[VTA_F_REQUANT_LOW_LSB +: VTA_F_REQUANT_LOW_WIDTH];
    wire [7:0]   s1_high    = s1_q[VTA_F_REQUANT_HIGH_LSB +: VTA_F_REQUANT_HIGH_WIDTH];
    wire         s1_long    = s1_q[VTA_F_REQUANT_LONG_RESULT_LSB];
    wire         s1_by_row  = s1_q[VTA_F_REQUANT_BY_ROW_LSB];

    // A result for INP needs room there: in the tile, and above the entries that a micro-op can name.
    localparam integer LOG_PARTS = LOG_BLOCK_IN > LOG_BLOCK_OUT ? LOG_BLOCK_IN - LOG_BLOCK_OUT : 0;
    localparam integer LOG_HIGHS = I > A ? I - A : 0;
    wire s1_no_room = !s1_to_inp ? s1_part != 2'd0 || s1_high_dst != 2'd0
                    : LOOP_BACK == 0 || LOG_BLOCK_OUT > LOG_BLOCK_IN || ({30'd0, s1_part} >> LOG_PARTS) != 32'd0
                      || ({30'd0, s1_high_dst} >> LOG_HIGHS) != 32'd0;

    // A function on rows is what imm says: with two operands, or of ACC[src] alone.
    wire        s1_on_rows  = ROWS != 0 && s1_alu_op == VTA_ALU_ROW;
    wire [2:0]  s1_function = s1_imm[VTA_F_ROW_FUNCTION_LSB +: VTA_F_ROW_FUNCTION_WIDTH];
    wire [1:0]  s1_form     = s1_imm[VTA_F_ROW_FORM_LSB +: VTA_F_ROW_FORM_WIDTH];
    wire [5:0]  s1_places   = s1_imm[VTA_F_ROW_PLACES_LSB +: VTA_F_ROW_PLACES_WIDTH];
    wire        s1_turns    = s1_on_rows && s1_function <= VTA_ROW_MOV;
    wire        s1_exp2     = s1_on_rows && s1_function == VTA_ROW_EXP2;
    wire        s1_recip    = s1_function == VTA_ROW_RECIP || s1_function == VTA_ROW_RECIP_ROOT;
    wire        s1_bad_row  = ROWS == 0 || !s1_use_imm || s1_imm[15:VTA_F_ROW_PLACES_MSB+1] != 5'd0
                           || (s1_recip ? s1_form > VTA_ROW_FORM_SHIFT : s1_form != 2'd0)
                           || (s1_turns ? {26'd0, s1_places} >= LOG_BLOCK_OUT : !s1_recip && s1_places != 6'd0) || !s1_from_src;

    // Legality of the fields.
    reg s1_illegal;
    always @* begin
        if (!s1_valid_q) s1_illegal = 1'bx;
        else case (s1_op)
        VTA_OP_LOAD:
            s1_illegal = (s1_q & VTA_RESERVED_MEM) != 128'd0;
        VTA_OP_GEMM:
            s1_illegal = (s1_q & VTA_RESERVED_GEMM) != 128'd0 || (s1_reset && s1_init);
        VTA_OP_DEPTHWISE:
            s1_illegal = DEPTHWISE_TAPS == 0 || (s1_q & VTA_RESERVED_DEPTHWISE) != 128'd0 || {24'd0, s1_taps} > (32'd1 << LOG_BLOCK_OUT)
                      || (s1_group && LOG_BLOCK_OUT >= LOG_BLOCK_IN);
        VTA_OP_ALU:
            s1_illegal = (s1_q & VTA_RESERVED_ALU) != 128'd0 || (s1_alu_op == VTA_ALU_ROW && s1_bad_row) || (s1_from_src && !s1_use_imm)
                      || (s1_alu_op == VTA_ALU_SHR && s1_use_imm
                          && ($signed(s1_imm) > 16'sd31 || $signed(s1_imm) < -16'sd31));
        VTA_OP_REQUANT:
            s1_illegal = (s1_q & VTA_RESERVED_REQUANT) != 128'd0 || $signed(s1_low) > $signed(s1_high)
                      || s1_table == 2'd3 || (s1_table != 2'd0 && TABLE == 0) || s1_no_room
                      || (s1_long && (ROWS == 0 || s1_to_inp || {s1_zero, s1_low, s1_high, s1_table} != 26'd0))
                      || (s1_by_row && ROWS == 0);
        default:
            s1_illegal = 1'b0;
        endcase
    end

    wire s1_nest  = s1_gemm || s1_dw || s1_alu || s1_req;
    wire s1_empty = s1_nest && (s1_none_q || (!s1_req && s1_end <= s1_begin));
    wire s1_range = s1_nest && !s1_empty && s1_last >= (14'd1 << U);

    // The first that holds. Codes are masked here, as other constants below: chosen, they would become resets of the registers, which
    // come later than enables do.
    wire       s1_opcode = !(s1_nest || s1_load || s1_fin);
    wire [7:0] s1_error  = (VTA_ERROR_OPCODE & {8{s1_opcode}}) | (VTA_ERROR_FIELD & {8{!s1_opcode && s1_illegal}})
                         | (VTA_ERROR_UOP_RANGE & {8{!s1_opcode && !s1_illegal && s1_range}});

    // MOV of a tile needs one operand only: x + 0, three-address.
    wire s1_move = s1_alu_op == VTA_ALU_MOV && !s1_use_imm;

    // Stage 2: products.
    reg                   s2_load_q;
    reg                   s2_fin_q;
    reg                   s2_array_q;
    reg                   s2_alu_q;
    reg                   s2_empty_q;
    reg [7:0]             s2_error_q;
    reg [3:0]             s2_flags_q;
    reg [31:0]            s2_index_q;
    reg [U-1:0]           s2_begin_q;
    reg [U-1:0]           s2_last_q;
    reg [13:0]            s2_out_q;
    reg [13:0]            s2_in_q;
    reg [MAX_AI-1:0]      s2_dst_out_q;
    reg [MAX_AI-1:0]      s2_dst_in_q;
    reg [MAX_AI-1:0]      s2_src_out_q;
    reg [SRC_BITS-1:0]    s2_src_in_q;
    reg [W-1:0]           s2_wgt_out_q;
    reg [W-1:0]           s2_wgt_in_q;
    reg [24:0]            s2_dst_a_q;
    reg [24:0]            s2_dst_b_q;
    reg [SRC_BITS+13:0]   s2_src_a_q;
    reg [SRC_BITS+13:0]   s2_src_b_q;
    reg [W+13:0]          s2_wgt_a_q;
    reg [W+13:0]          s2_wgt_b_q;
    reg [12:0]            s2_window_q;      // what the window adds to the source
    reg                   s2_dw_q;
    reg                   s2_init_q;
    reg                   s2_clear_q;
    reg                   s2_no_mac_q;
    reg                   s2_group_q;
    reg [3:0]             s2_taps_x_q;
    reg [3:0]             s2_taps_y_q;
    reg [6:0]             s2_cols_q;        // from the first column to the last
    reg [2:0]             s2_col_q;
    reg [7:0]             s2_row_q;
    reg                   s2_requant_q;
    reg [2:0]             s2_alu_op_q;
    reg                   s2_use_imm_q;
    reg                   s2_in_place_q;
    reg [15:0]            s2_imm_q;
    reg [35:0]            s2_clip_q;        // exp2 rounds to even: it has zeros where REQUANT says how

    wire [3:0]  s1_row_last = s1_taps_y - 4'd1;
    wire [3:0]  s1_col_last = s1_taps_x - 4'd1;
    wire [11:0] s1_rows     = s1_row_last * s1_row;
    wire [6:0]  s1_cols     = s1_col_last * s1_col;

    always @(posedge clk) begin
        if (s2_go) begin
            s2_load_q    <= s1_load;
            s2_fin_q     <= s1_fin;
            s2_array_q   <= s1_gemm || s1_dw;
            s2_alu_q     <= s1_alu || s1_req;
            s2_empty_q   <= s1_empty;
            s2_error_q   <= s1_error;
            s2_flags_q   <= {s1_q[VTA_F_HEADER_PUSH_NEXT_LSB], s1_q[VTA_F_HEADER_PUSH_PREV_LSB],
                             s1_q[VTA_F_HEADER_POP_NEXT_LSB], s1_q[VTA_F_HEADER_POP_PREV_LSB]};
            s2_index_q   <= s1_index_q;
            s2_begin_q   <= s1_begin[U-1:0];
            s2_last_q    <= s1_last[U-1:0];
            s2_out_q     <= s1_out_last_q;
            s2_in_q      <= s1_in_last_q;
            s2_dst_out_q <= s1_dst_out[MAX_AI-1:0];
            s2_dst_in_q  <= s1_dst_in[MAX_AI-1:0];
            s2_src_out_q <= s1_src_out[MAX_AI-1:0];
            s2_src_in_q  <= s1_src_in;
            s2_wgt_out_q <= s1_wgt_out;
            s2_wgt_in_q  <= s1_wgt_in;
            s2_dst_a_q   <= s1_out_last_q * s1_dst_out[10:0];
            s2_dst_b_q   <= s1_in_last_q * s1_dst_in[10:0];
            s2_src_a_q   <= s1_out_last_q * s1_src_out;
            s2_src_b_q   <= s1_in_last_q * s1_src_in;
            s2_wgt_a_q   <= s1_out_last_q * s1_wgt_out;
            s2_wgt_b_q   <= s1_in_last_q * s1_wgt_in;
            s2_window_q  <= ({1'b0, s1_rows} + {6'd0, s1_cols}) & {13{s1_dw && s1_taps != 8'd0}};
            s2_dw_q      <= s1_dw;
            s2_init_q    <= s1_init;
            s2_clear_q   <= s1_gemm && s1_reset;
            s2_no_mac_q  <= s1_gemm ? s1_reset : s1_taps == 8'd0;
            s2_group_q   <= s1_group;
            s2_taps_x_q  <= s1_taps_x;
            s2_taps_y_q  <= s1_taps_y;
            s2_cols_q    <= s1_cols;
            s2_col_q     <= s1_col;
            s2_row_q     <= s1_row;
            s2_requant_q <= s1_req;
            s2_alu_op_q  <= (VTA_ALU_ADD & {3{s1_move}}) | (s1_alu_op & {3{!s1_move}});
            s2_in_place_q <= s1_alu && s1_use_imm && !s1_from_src;
            s2_use_imm_q <= (s1_use_imm && !s1_turns) || s1_move;
            s2_imm_q     <= s1_imm & {16{!s1_move}};
            s2_clip_q    <= {ROWS != 0 && (s1_req ? s1_long : s1_exp2), ROWS != 0 && s1_req && s1_by_row, s1_req && s1_to_inp, s1_part, {2{s1_req}} & s1_high_dst, s1_wide, s1_table, s1_round, s1_high, s1_low, s1_zero};
        end
    end

    // Stage 3: extents.
    wire [25:0]          s2_dst = {1'b0, s2_dst_a_q} + {1'b0, s2_dst_b_q};
    wire [SRC_BITS+14:0] s2_src = {1'b0, s2_src_a_q} + {1'b0, s2_src_b_q} + {{(SRC_BITS+2){1'b0}}, s2_window_q};
    wire [W+14:0]        s2_wgt = {1'b0, s2_wgt_a_q} + {1'b0, s2_wgt_b_q};

    // The inner loop moves the window by all its columns but one, or but two.
    wire [6:0] s2_cols_less = s2_cols_q - {4'd0, s2_col_q};
    wire       s2_reuse_2 = s2_taps_x_q == 4'd3 && s2_src_in_q == {{(SRC_BITS-7){1'b0}}, s2_cols_less};
    wire       s2_reuse_1 = s2_taps_x_q >= 4'd2 && s2_src_in_q == {{(SRC_BITS-7){1'b0}}, s2_cols_q};
    wire [1:0] s2_reuse   = {s2_reuse_2, s2_reuse_1 && !s2_reuse_2};

    reg                s3_load_q;
    reg                s3_fin_q;
    reg                s3_array_q;
    reg                s3_alu_q;
    reg                s3_empty_q;
    reg [7:0]          s3_error_q;
    reg [3:0]          s3_flags_q;
    reg [31:0]         s3_index_q;
    reg [U-1:0]        s3_begin_q;
    reg [U-1:0]        s3_last_q;
    reg [13:0]         s3_out_q;
    reg [13:0]         s3_in_q;
    reg [MAX_AI-1:0]   s3_dst_out_q;
    reg [MAX_AI-1:0]   s3_dst_in_q;
    reg [MAX_AI-1:0]   s3_src_out_q;
    reg [MAX_AI-1:0]   s3_src_in_q;
    reg [W-1:0]        s3_wgt_out_q;
    reg [W-1:0]        s3_wgt_in_q;
    reg [MAX_AI:0]     s3_dst_ext_q;        // with the over bit on top
    reg [MAX_AI:0]     s3_src_ext_q;
    reg [W:0]          s3_wgt_ext_q;
    reg                s3_dw_q;
    reg                s3_init_q;
    reg                s3_clear_q;
    reg                s3_no_mac_q;
    reg                s3_group_q;
    reg [3:0]          s3_taps_x_q;
    reg [3:0]          s3_taps_y_q;
    reg [1:0]          s3_reuse_q;
    reg [2:0]          s3_col_q;
    reg [7:0]          s3_row_q;
    reg                s3_requant_q;
    reg [2:0]          s3_alu_op_q;
    reg                s3_use_imm_q;
    reg                s3_in_place_q;
    reg [15:0]         s3_imm_q;
    reg [35:0]         s3_clip_q;

    always @(posedge clk) begin
        if (s3_go) begin
            s3_load_q    <= s2_load_q;
            s3_fin_q     <= s2_fin_q;
            s3_array_q   <= s2_array_q;
            s3_alu_q     <= s2_alu_q;
            s3_empty_q   <= s2_empty_q;
            s3_error_q   <= s2_error_q;
            s3_flags_q   <= s2_flags_q;
            s3_index_q   <= s2_index_q;
            s3_begin_q   <= s2_begin_q;
            s3_last_q    <= s2_last_q;
            s3_out_q     <= s2_out_q;
            s3_in_q      <= s2_in_q;
            s3_dst_out_q <= s2_dst_out_q;
            s3_dst_in_q  <= s2_dst_in_q;
            s3_src_out_q <= s2_src_out_q;
            s3_src_in_q  <= s2_src_in_q[MAX_AI-1:0];
            s3_wgt_out_q <= s2_wgt_out_q;
            s3_wgt_in_q  <= s2_wgt_in_q;
            s3_dst_ext_q <= {|s2_dst[25:MAX_AI], s2_dst[MAX_AI-1:0]};
            s3_src_ext_q <= {|s2_src[SRC_BITS+14:MAX_AI], s2_src[MAX_AI-1:0]};
            s3_wgt_ext_q <= {|s2_wgt[W+14:W], s2_wgt[W-1:0]};
            s3_dw_q      <= s2_dw_q;
            s3_init_q    <= s2_init_q;
            s3_clear_q   <= s2_clear_q;
            s3_no_mac_q  <= s2_no_mac_q;
            s3_group_q   <= s2_group_q;
            s3_taps_x_q  <= s2_taps_x_q;
            s3_taps_y_q  <= s2_taps_y_q;
            s3_reuse_q   <= s2_reuse;
            s3_col_q     <= s2_col_q;
            s3_row_q     <= s2_row_q;
            s3_requant_q <= s2_requant_q;
            s3_alu_op_q  <= s2_alu_op_q;
            s3_in_place_q <= s2_in_place_q;
            s3_use_imm_q <= s2_use_imm_q;
            s3_imm_q     <= s2_imm_q;
            s3_clip_q    <= s2_clip_q;
        end
    end

    assign index      = s3_index_q;
    assign error      = s3_error_q;
    assign {push_next, push_prev, pop_next, pop_prev} = s3_flags_q;
    assign is_load    = s3_load_q;
    assign is_finish  = s3_fin_q;
    assign is_array   = s3_array_q;
    assign is_alu     = s3_alu_q;
    assign empty      = s3_empty_q;
    assign uop_begin  = s3_begin_q;
    assign uop_last   = s3_last_q;
    assign out_last   = s3_out_q;
    assign in_last    = s3_in_q;
    assign dst_out    = s3_dst_out_q;
    assign dst_in     = s3_dst_in_q;
    assign src_out    = s3_src_out_q;
    assign src_in     = s3_src_in_q;
    assign wgt_out    = s3_wgt_out_q;
    assign wgt_in     = s3_wgt_in_q;
    assign {dst_over, dst_extent} = s3_dst_ext_q;
    assign {src_over, src_extent} = s3_src_ext_q;
    assign {wgt_over, wgt_extent} = s3_wgt_ext_q;
    assign depthwise  = s3_dw_q;
    assign init       = s3_init_q;
    assign clear      = s3_clear_q;
    assign no_mac     = s3_no_mac_q;
    assign group      = s3_group_q;
    assign taps_x     = s3_taps_x_q;
    assign taps_y     = s3_taps_y_q;
    assign reuse      = s3_reuse_q;
    assign col_step   = s3_col_q;
    assign row_step   = s3_row_q;
    assign requant    = s3_requant_q;
    assign alu_op     = s3_alu_op_q;
    assign use_imm    = s3_use_imm_q;
    assign in_place   = s3_in_place_q;
    assign imm        = s3_imm_q;
    assign {long_result, by_row, to_inp, part, dst_high, wide, table_use, rounding, high, low, zero_point} = s3_clip_q;
endmodule

`default_nettype wire
