// SPDX-License-Identifier: Apache-2.0
//
// vta_mem_decode -- LOAD and STORE decoded, checked and given an address, in three register stages.
//
// Contract: in order, one instruction a cycle, latency 3; it holds three, with ELASTIC four. out_error is VTA_ERROR_NONE, VTA_ERROR_FIELD or
// VTA_ERROR_SRAM_RANGE; with an error the other outputs mean nothing. An instruction that moves nothing has
// out_entries = 0. The token flags and the choice of unit are the affair of the unit that uses it. Bit ADDR_BITS of
// out_addr is set when the first address lies beyond the address space.
`include "vta_assert.vh"
`default_nettype none

module vta_mem_decode #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer LOG_UOP_DEPTH = 13,
    parameter integer LOG_INP_DEPTH = 11,
    parameter integer LOG_WGT_DEPTH = 10,
    parameter integer LOG_ACC_DEPTH = 11,
    parameter integer ADDR_BITS     = 40,
    parameter integer TABLE         = 1,    // 0: nothing loads into TAB
    parameter integer WGT4          = 0,    // 0: no weights of four bits
    parameter integer ELASTIC       = 0     // 1: the last stage holds two, and in_ready is a register
) (
    input  wire                   clk,
    input  wire                   rst,

    input  wire                   in_valid,
    output wire                   in_ready,
    // The waiver: the token flags are not looked at here.
    // verilator lint_off UNUSEDSIGNAL
    input  wire [127:0]           in_insn,
    // verilator lint_on UNUSEDSIGNAL
    input  wire [8*ADDR_BITS-1:0] bases,

    output wire                   out_valid,
    input  wire                   out_ready,
    output wire [7:0]             out_error,
    output wire [2:0]             out_mem,
    output wire [12:0]            out_sram,
    output wire [ADDR_BITS:0]     out_addr,
    output wire [15:0]            out_stride,
    output wire [13:0]            out_x,
    output wire [13:0]            out_y,
    output wire [32:0]            out_pads,     // entries of padding: after the last element, before the first, between rows
    output wire [7:0]             out_pad,
    output wire [13:0]            out_elems,    // x_size * y_size
    output wire [13:0]            out_entries   // (y_pad_0 + y_size + y_pad_1) * (x_pad_0 + x_size + x_pad_1)
);
`include "vta_isa.vh"

    // Columns of the table, by memory.
    function [3:0] log_bytes(input [2:0] mem);
        case (mem)
        VTA_MEM_UOP:  log_bytes = VTA_LOG_BYTES_UOP[3:0];
        VTA_MEM_TAB:  log_bytes = VTA_LOG_BYTES_TAB[3:0];
        VTA_MEM_WGT:  log_bytes = VTA_LOG_BYTES_WGT[3:0];
        VTA_MEM_WGT4: log_bytes = WGT4 != 0 ? VTA_LOG_BYTES_WGT4[3:0] : VTA_LOG_BYTES_OUT[3:0];
        VTA_MEM_INP:  log_bytes = VTA_LOG_BYTES_INP[3:0];
        VTA_MEM_ACC:  log_bytes = VTA_LOG_BYTES_ACC[3:0];
        default:      log_bytes = VTA_LOG_BYTES_OUT[3:0];
        endcase
    endfunction

    function [13:0] depth(input [2:0] mem);
        case (mem)
        VTA_MEM_UOP:  depth = 14'd1 << VTA_LOG_DEPTH_UOP;
        VTA_MEM_TAB:  depth = 14'd1 << VTA_LOG_DEPTH_TAB;
        VTA_MEM_WGT:  depth = 14'd1 << VTA_LOG_DEPTH_WGT;
        VTA_MEM_WGT4: depth = 14'd1 << (WGT4 != 0 ? VTA_LOG_DEPTH_WGT : VTA_LOG_DEPTH_ACC);
        VTA_MEM_INP:  depth = 14'd1 << VTA_LOG_DEPTH_INP;
        default:      depth = 14'd1 << VTA_LOG_DEPTH_ACC;
        endcase
    endfunction

    wire move;

    // One of the eight bases, halved three times: an index times ADDR_BITS would be an adder before a shifter.
    function [ADDR_BITS-1:0] base_of(input [8*ADDR_BITS-1:0] all, input [2:0] segment);
        reg [4*ADDR_BITS-1:0] four;
        reg [2*ADDR_BITS-1:0] two;
        begin
            four    = segment[2] ? all[8*ADDR_BITS-1:4*ADDR_BITS] : all[4*ADDR_BITS-1:0];
            two     = segment[1] ? four[4*ADDR_BITS-1:2*ADDR_BITS] : four[2*ADDR_BITS-1:0];
            base_of = segment[0] ? two[2*ADDR_BITS-1:ADDR_BITS] : two[ADDR_BITS-1:0];
        end
    endfunction

    // Stage 1: the fields.
    wire        in_store   = in_insn[VTA_F_HEADER_OPCODE_LSB +: VTA_F_HEADER_OPCODE_WIDTH] == VTA_OP_STORE;
    wire [2:0]  in_mem     = in_insn[VTA_F_MEM_MEMORY_LSB +: VTA_F_MEM_MEMORY_WIDTH];
    wire [15:0] in_x       = in_insn[VTA_F_MEM_X_SIZE_LSB +: VTA_F_MEM_X_SIZE_WIDTH];
    wire [2:0]  in_segment = in_insn[VTA_F_MEM_SEGMENT_LSB +: VTA_F_MEM_SEGMENT_WIDTH];
    wire [31:0] in_dram    = in_insn[VTA_F_MEM_DRAM_BASE_LSB +: VTA_F_MEM_DRAM_BASE_WIDTH];
    wire [3:0]  in_y_pad_0 = in_insn[VTA_F_MEM_Y_PAD_0_LSB +: VTA_F_MEM_Y_PAD_0_WIDTH];
    wire [3:0]  in_y_pad_1 = in_insn[VTA_F_MEM_Y_PAD_1_LSB +: VTA_F_MEM_Y_PAD_1_WIDTH];
    wire [3:0]  in_x_pad_0 = in_insn[VTA_F_MEM_X_PAD_0_LSB +: VTA_F_MEM_X_PAD_0_WIDTH];
    wire [3:0]  in_x_pad_1 = in_insn[VTA_F_MEM_X_PAD_1_LSB +: VTA_F_MEM_X_PAD_1_WIDTH];
    wire [7:0]  in_pad     = {in_insn[VTA_F_MEM_PAD_HIGH_LSB +: VTA_F_MEM_PAD_HIGH_WIDTH],
                              in_insn[VTA_F_MEM_PAD_LOW_LSB +: VTA_F_MEM_PAD_LOW_WIDTH]};
    wire        in_padded  = {in_y_pad_0, in_y_pad_1, in_x_pad_0, in_x_pad_1} != 16'd0 || in_pad != 8'd0;

    // A memory that is not there is illegal always, the other rules hold where something moves; nothing ever loads into OUT.
    wire in_illegal = (in_mem == VTA_MEM_WGT4 && WGT4 == 0)
                   || (in_store ? in_x != 16'd0 && (in_mem != VTA_MEM_OUT || in_padded)
                                : in_mem == VTA_MEM_OUT || (in_mem == VTA_MEM_TAB && TABLE == 0)
                                  || ((in_mem == VTA_MEM_UOP || in_mem == VTA_MEM_TAB) && in_x != 16'd0 && in_pad != 8'd0));

    reg                 s1_valid_q;
    reg                 s1_illegal_q;
    reg                 s1_nop_q;
    reg [2:0]           s1_mem_q;
    reg [12:0]          s1_sram_q;
    reg [ADDR_BITS-1:0] s1_base_q;
    reg [47:0]          s1_offset_q;
    reg [15:0]          s1_stride_q;
    reg [13:0]          s1_x_q;
    reg [13:0]          s1_y_q;
    reg [15:0]          s1_pads_q;
    reg [7:0]           s1_pad_q;
    reg [16:0]          s1_pitch_q;
    reg [14:0]          s1_rows_q;

    always @(posedge clk) begin
        if (move) begin
            s1_illegal_q <= in_illegal;
            s1_nop_q     <= in_x == 16'd0;
            s1_mem_q     <= in_mem;
            s1_sram_q    <= in_insn[VTA_F_MEM_SRAM_BASE_LSB +: VTA_F_MEM_SRAM_BASE_WIDTH];
            s1_base_q    <= base_of(bases, in_segment);
            s1_offset_q  <= {16'd0, in_dram} << log_bytes(in_mem);
            s1_stride_q  <= in_insn[VTA_F_MEM_X_STRIDE_LSB +: VTA_F_MEM_X_STRIDE_WIDTH];
            s1_x_q       <= in_x[13:0];
            s1_y_q       <= in_insn[VTA_F_MEM_Y_SIZE_LSB +: VTA_F_MEM_Y_SIZE_WIDTH];
            s1_pads_q    <= {in_x_pad_1, in_x_pad_0, in_y_pad_1, in_y_pad_0};
            s1_pad_q     <= in_pad;
            s1_pitch_q   <= {1'b0, in_x} + {13'd0, in_x_pad_0} + {13'd0, in_x_pad_1};
            s1_rows_q    <= {1'b0, in_insn[VTA_F_MEM_Y_SIZE_LSB +: VTA_F_MEM_Y_SIZE_WIDTH]}
                          + {11'd0, in_y_pad_0} + {11'd0, in_y_pad_1};
        end
    end

    // Stage 2: products and the address. No scratchpad has more than 2^13 entries, so 14-bit factors are enough. Those of which 14 bits
    // are wanted are made in LUTs, by fours of rows: multipliers are for the array.
    // The waiver: 14 bits of each are.
    // verilator lint_off UNUSEDSIGNAL
    wire [18:0] s1_above = four_rows(s1_pitch_q[13:0], s1_pads_q[3:0]);
    wire [18:0] s1_below = four_rows(s1_pitch_q[13:0], s1_pads_q[7:4]);
    wire [18:0] s1_fours_0 = four_rows(s1_x_q, s1_y_q[3:0]);
    wire [18:0] s1_fours_1 = four_rows(s1_x_q, s1_y_q[7:4]);
    wire [18:0] s1_fours_2 = four_rows(s1_x_q, s1_y_q[11:8]);
    wire [16:0] s1_fours_3 = two_rows(s1_x_q, s1_y_q[13:12]);
    wire [15:0] s1_elems;
    // verilator lint_on UNUSEDSIGNAL

    vta_sum_tree #(.LOG_INPUTS(2), .IN_BITS(14), .OUT_BITS(16)) elements (
        .in({s1_fours_3[1:0], 12'd0, s1_fours_2[5:0], 8'd0, s1_fours_1[9:0], 4'd0, s1_fours_0[13:0]}), .sum(s1_elems)
    );

    // The waiver: signed operands of unequal widths, which is what keeps a synthesizer from making one compressor of them.
    // verilator lint_off WIDTH
    function signed [16:0] two_rows(input [13:0] a, input [1:0] by);
        two_rows = (by[0] ? $signed({3'd0, a}) : 17'sd0) + (by[1] ? $signed({1'b0, a, 1'b0}) : 16'sd0);
    endfunction

    function signed [18:0] four_rows(input [13:0] a, input [3:0] by);
        four_rows = two_rows(a, by[1:0]) + $signed({two_rows(a, by[3:2]), 2'd0});
    endfunction
    // verilator lint_on WIDTH

    wire [63:0] s1_addr = {{(64-ADDR_BITS){1'b0}}, s1_base_q} + {16'd0, s1_offset_q};
    wire        s1_huge = s1_rows_q != 15'd0 && (s1_pitch_q > 17'd8192 || s1_rows_q > 15'd8192);

    reg               s2_valid_q;
    reg               s2_illegal_q;
    reg               s2_nop_q;
    reg               s2_huge_q;
    reg [2:0]         s2_mem_q;
    reg [12:0]        s2_sram_q;
    reg [ADDR_BITS:0] s2_addr_q;
    reg [15:0]        s2_stride_q;
    reg [13:0]        s2_x_q;
    reg [13:0]        s2_y_q;
    reg [15:0]        s2_pads_q;
    reg [7:0]         s2_pad_q;
    reg [27:0]        s2_entries_q;
    reg [13:0]        s2_elems_q;
    reg [13:0]        s2_above_q;   // entries of the rows of padding
    reg [13:0]        s2_below_q;

    always @(posedge clk) begin
        if (move) begin
            s2_illegal_q <= s1_illegal_q;
            s2_nop_q     <= s1_nop_q;
            s2_huge_q    <= s1_huge;
            s2_mem_q     <= s1_mem_q;
            s2_sram_q    <= s1_sram_q;
            s2_addr_q    <= {|s1_addr[63:ADDR_BITS], s1_addr[ADDR_BITS-1:0]};
            s2_stride_q  <= s1_stride_q;
            s2_x_q       <= s1_x_q;
            s2_y_q       <= s1_y_q;
            s2_pads_q    <= s1_pads_q;
            s2_pad_q     <= s1_pad_q;
            s2_entries_q <= s1_rows_q[13:0] * s1_pitch_q[13:0];
            s2_elems_q   <= s1_elems[13:0];
            s2_above_q   <= s1_above[13:0];
            s2_below_q   <= s1_below[13:0];
        end
    end

    // Stage 3: the verdict.
    wire [28:0] s2_end   = {1'b0, s2_entries_q} + {16'd0, s2_sram_q};
    wire        s2_range = s2_huge_q || s2_end > {15'd0, depth(s2_mem_q)};

    wire [7:0]  s2_error  = s2_illegal_q ? VTA_ERROR_FIELD
                          : !s2_nop_q && s2_range ? VTA_ERROR_SRAM_RANGE : VTA_ERROR_NONE;
    wire [13:0] s2_moved  = s2_nop_q ? 14'd0 : s2_entries_q[13:0];
    wire [13:0] s2_loaded = s2_nop_q ? 14'd0 : s2_elems_q;

    // A block without elements is all padding before the first one.
    wire [13:0] s2_first  = s2_loaded == 14'd0 ? s2_moved : s2_above_q + {10'd0, s2_pads_q[11:8]};
    wire [13:0] s2_tail   = s2_below_q + {10'd0, s2_pads_q[15:12]};
    wire [4:0]  s2_gap    = {1'b0, s2_pads_q[11:8]} + {1'b0, s2_pads_q[15:12]};
    wire        unused_pads = |s2_pads_q[7:0];

    localparam integer BITS = 8 + 3 + 13 + (ADDR_BITS + 1) + 16 + 14 + 14 + 33 + 8 + 14 + 14;
    wire [BITS-1:0] verdict = {s2_error, s2_mem_q, s2_sram_q, s2_addr_q, s2_stride_q, s2_x_q, s2_y_q, s2_tail,
                               s2_first, s2_gap, s2_pad_q, s2_moved, s2_loaded};
    wire [BITS-1:0] s3;

    generate
        if (ELASTIC != 0) begin : elastic
            vta_skid #(.WIDTH(BITS)) stage (
                .clk(clk), .rst(rst), .in_valid(s2_valid_q), .in_ready(move), .in_data(verdict),
                .out_valid(out_valid), .out_ready(out_ready), .out_data(s3)
            );
        end else begin : rigid
            reg            s3_valid_q;
            reg [BITS-1:0] s3_q;

            always @(posedge clk) begin
                if (rst) s3_valid_q <= 1'b0;
                else if (move) s3_valid_q <= s2_valid_q;
            end

            always @(posedge clk) begin
                if (move) s3_q <= verdict;
            end

            assign move      = !s3_valid_q || out_ready;
            assign out_valid = s3_valid_q;
            assign s3        = s3_q;
        end
    endgenerate

    assign {out_error, out_mem, out_sram, out_addr, out_stride, out_x, out_y, out_pads, out_pad,
            out_entries, out_elems} = s3;
    assign in_ready = move;

    always @(posedge clk) begin
        if (rst) begin
            s1_valid_q <= 1'b0;
            s2_valid_q <= 1'b0;
        end else if (move) begin
            s1_valid_q <= in_valid;
            s2_valid_q <= s1_valid_q;
        end
    end

    `VTA_PARAM_CHECK(ADDR_BITS >= 32 && ADDR_BITS <= 63)
endmodule

`default_nettype wire
