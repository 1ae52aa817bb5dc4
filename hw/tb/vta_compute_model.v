// SPDX-License-Identifier: Apache-2.0
//
// vta_compute -- for benches of the memory side: a compute unit that copies.
//
// GEMM copies INP[k] to OUT[k] for k from uop_begin to uop_end - 1, bits as far as both go; FINISH ends the run; all
// other instructions only handle their tokens. One instruction at a time.
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
    parameter integer PUMP          = 1,
    parameter integer LANE_DSPS     = 3,
    parameter integer TABLE         = 1,
    parameter integer LOOP_BACK     = 1,
    parameter integer DEPTHWISE_TAPS = 9,
    parameter integer ROWS          = 0
) (
    input  wire         clk,
    input  wire         clk2x,
    input  wire         clk_issue,
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
    output wire                     inp_wr_en,
    output wire [LOG_INP_DEPTH-1:0] inp_wr_addr,
    output wire [1:0]               inp_wr_part,
    output wire [(8<<(LOG_BATCH+LOG_BLOCK_OUT))-1:0] inp_wr_data,
    output wire                     inp_rd_en,
    output wire [LOG_INP_DEPTH-1:0] inp_rd_addr,
    input  wire [(8<<(LOG_BATCH+LOG_BLOCK_IN))-1:0] inp_rd_data,
    output wire                     inp_rd_more,
    output wire [2*LOG_INP_DEPTH-1:0] inp_rd_more_addr,
    input  wire [(16<<(LOG_BATCH+LOG_BLOCK_IN))-1:0] inp_rd_more_data,
    output wire                     wgt_rd_en,
    output wire [LOG_WGT_DEPTH-1:0] wgt_rd_addr,
    input  wire [(8<<(LOG_BLOCK_IN+LOG_BLOCK_OUT))-1:0] wgt_rd_data,
    output wire                     out_wr_en,
    output wire [LOG_ACC_DEPTH-1:0] out_wr_addr,
    output wire [(8<<(LOG_BATCH+LOG_BLOCK_OUT))-1:0] out_wr_data,
    output wire         finish,
    input  wire         ls_idle,
    output wire         err_valid,
    output wire [7:0]   err_code,
    output wire [31:0]  err_index,
    output wire         head_valid,
    output wire [31:0]  head_index,
    output wire         stat_busy,
    output wire         stat_token,
    output wire         stat_room,
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
    localparam [1:0] TAKE = 2'd0, COPY = 2'd1, GIVE = 2'd2;

    assign {awake_issue, awake_array, awake_alu, awake_fill} = 4'b1111;     // this one never sleeps

    reg [1:0]   state_q;
    reg [127:0] insn_q;
    reg [31:0]  index_q;
    reg [LOG_UOP_DEPTH:0] k_q;
    reg         write_q;
    reg [LOG_ACC_DEPTH-1:0] write_addr_q;

    wire [2:0] opcode   = insn_q[VTA_F_HEADER_OPCODE_LSB +: VTA_F_HEADER_OPCODE_WIDTH];
    wire       pop_prev = insn_data[VTA_F_HEADER_POP_PREV_LSB];
    wire       pop_next = insn_data[VTA_F_HEADER_POP_NEXT_LSB];
    wire       push_prev = insn_q[VTA_F_HEADER_PUSH_PREV_LSB];
    wire       push_next = insn_q[VTA_F_HEADER_PUSH_NEXT_LSB];
    wire [LOG_UOP_DEPTH:0] first = {1'b0, insn_data[VTA_F_GEMM_UOP_BEGIN_LSB +: VTA_F_GEMM_UOP_BEGIN_WIDTH]};
    wire [LOG_UOP_DEPTH:0] last  = insn_q[VTA_F_GEMM_UOP_END_LSB +: VTA_F_GEMM_UOP_END_WIDTH];
    wire       copying = state_q == COPY && opcode == VTA_OP_GEMM && k_q < last;
    wire       give    = state_q == GIVE && (!push_prev || c2l_room) && (!push_next || c2s_room)
                      && (opcode != VTA_OP_FINISH || ls_idle);

    assign insn_ready  = state_q == TAKE && (!pop_prev || l2c_avail) && (!pop_next || s2c_avail);
    assign l2c_pop     = insn_valid && insn_ready && pop_prev;
    assign s2c_pop     = insn_valid && insn_ready && pop_next;
    assign c2l_push    = give && push_prev;
    assign c2s_push    = give && push_next;
    assign finish      = give && opcode == VTA_OP_FINISH;
    assign inp_wr_en   = 1'b0;
    assign inp_wr_addr = {LOG_INP_DEPTH{1'b0}};
    assign inp_wr_part = 2'd0;
    assign inp_wr_data = {(8<<(LOG_BATCH+LOG_BLOCK_OUT)){1'b0}};
    assign inp_rd_en   = copying;
    assign inp_rd_addr = k_q[LOG_INP_DEPTH-1:0];
    assign inp_rd_more = 1'b0;
    assign inp_rd_more_addr = {2*LOG_INP_DEPTH{1'b0}};
    assign out_wr_en   = write_q;
    assign out_wr_addr = write_addr_q;

    generate
        if (LOG_BLOCK_IN >= LOG_BLOCK_OUT) begin : low
            assign out_wr_data = inp_rd_data[(8<<(LOG_BATCH+LOG_BLOCK_OUT))-1:0];
        end else begin : extended
            assign out_wr_data = {{((8<<(LOG_BATCH+LOG_BLOCK_OUT))-(8<<(LOG_BATCH+LOG_BLOCK_IN))){1'b0}}, inp_rd_data};
        end
    endgenerate

    always @(posedge clk) begin
        if (rst) begin
            state_q <= TAKE;
            write_q <= 1'b0;
        end else begin
            write_q      <= copying;
            write_addr_q <= k_q[LOG_ACC_DEPTH-1:0];
            case (state_q)
            TAKE: if (insn_valid && insn_ready) begin
                state_q <= COPY;
                insn_q  <= insn_data;
                index_q <= insn_index;
                k_q     <= first;
            end
            COPY: if (copying) k_q <= k_q + 1'b1;
                  else if (!write_q) state_q <= GIVE;
            default: if (give) state_q <= TAKE;
            endcase
        end
    end

    assign rd_cmd_valid = 1'b0;
    assign rd_cmd_addr  = {ADDR_BITS{1'b0}};
    assign rd_cmd_len   = 8'd0;
    assign rd_data_ready = 1'b1;
    assign wgt_rd_en    = 1'b0;
    assign wgt_rd_addr  = {LOG_WGT_DEPTH{1'b0}};
    assign err_valid    = 1'b0;
    assign err_code     = 8'd0;
    assign err_index    = index_q;
    assign head_valid   = insn_valid;
    assign head_index   = insn_index;
    assign stat_busy    = state_q != TAKE;
    assign stat_token   = insn_valid && state_q == TAKE && !insn_ready;
    assign stat_room    = state_q == GIVE && opcode != VTA_OP_FINISH && !give;
    assign stat_mem     = 1'b0;
    assign stat_issue   = insn_valid && insn_ready;
    assign stat_retire  = give;
    assign stat_gemm    = copying;
    assign stat_depthwise = 1'b0;
    assign stat_alu     = 1'b0;
    assign stat_requant = 1'b0;
    assign stat_rd_en   = 1'b0;
    assign stat_rd_mem  = 3'd0;
    assign stat_rd_bytes = 7'd0;
endmodule

`default_nettype wire
