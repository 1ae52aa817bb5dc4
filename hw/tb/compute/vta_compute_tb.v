// SPDX-License-Identifier: Apache-2.0
//
// vta_compute_tb -- the whole compute unit under random programs: its loads, GEMM, DEPTHWISE, ALU, REQUANT, with tokens, full
// queues, a stalling memory and clocks that stop whenever they may. It must end with the contents that compute_ref.vh gives:
// OUT and INP after each program, and ACC, byte by byte through OUT. Then programs with a fault: the right error in the right
// instruction. +seed=N, +runs=N programs. Built with -DSYNTHESIS it judges the forms that go onto a board.
// parts: vta_alu vta_array vta_compute_load vta_decode vta_extend vta_gemm
`default_nettype none

module vta_compute_tb;
`include "random.vh"
    parameter integer LOG_BATCH     = 0;
    parameter integer LOG_BLOCK_IN  = 2;
    parameter integer LOG_BLOCK_OUT = 2;
    parameter integer LOG_UOP_DEPTH = 5;
    parameter integer LOG_INP_DEPTH = 6;
    parameter integer LOG_WGT_DEPTH = 4;
    parameter integer LOG_ACC_DEPTH = 5;
    parameter integer LOG_BUS_BYTES = 3;
    parameter integer PUMP          = 1;    // for what is built
    parameter integer LANE_DSPS     = 3;
    parameter integer TABLE         = 1;
    parameter integer LOOP_BACK     = 1;
    parameter integer DEPTHWISE_TAPS = 9;
    parameter integer ROWS          = 0;
    localparam integer ADDR_BITS    = 40;
`include "vta_isa.vh"
`include "mem_insn.vh"
`include "compute_ref.vh"
    localparam integer SIZE      = 1 << 14, LATENCY = 20;
    localparam integer MOST      = 64;                  // instructions of a program
    // Parts of memory: micro-ops that fit every nest, some that do not, parameters for REQUANT, small numbers, most below 0, anything.
    localparam integer FITTING = 0, WRONG = 1024, PARAMS = 2048, SMALL = 4096, ANY = 8192;

`include "read_bus.vh"
    reg                     insn_valid = 1'b0;
    wire                    insn_ready;
    reg  [127:0]            insn_data;
    reg  [31:0]             index;
    reg                     l2c_avail = 0, s2c_avail = 0, c2l_room = 0, c2s_room = 0, ls_idle = 0;
    wire                    l2c_pop, s2c_pop, c2l_push, c2s_push;
    wire                    awake_issue, awake_array, awake_alu, awake_fill;
    wire                    inp_en, wgt_en, out_en;
    wire [LOG_INP_DEPTH-1:0] inp_addr;
    wire [LOG_WGT_DEPTH-1:0] wgt_addr;
    wire [LOG_ACC_DEPTH-1:0] out_addr;
    wire                    loop_en;
    wire [LOG_INP_DEPTH-1:0] loop_addr;
    wire [1:0]              loop_part;
    wire [8*BATCH*OUT-1:0]  loop_data;
    reg  [8*BATCH*IN-1:0]   inp_data;
    wire                    inp_more;
    wire [2*LOG_INP_DEPTH-1:0] more_addr;
    reg  [16*BATCH*IN-1:0]  more_data;
    reg  [8*OUT*IN-1:0]     wgt_data;
    wire [8*BATCH*OUT-1:0]  out_data;
    wire                    finish, err_valid, head_valid, stat_issue, stat_retire, stat_gemm, stat_depthwise, stat_alu, stat_requant;
    wire [7:0]              err_code;
    wire [31:0]             err_index, head_index;
    wire                    unused_busy, unused_token, unused_room, unused_mem, unused_rd_en;
    wire [2:0]              unused_rd_mem;
    wire [6:0]              unused_rd_bytes;

    // Clocks that stop while they may: gates that open and close while clk is low.
    reg  [3:0] open = 4'hf;
    always @* if (!clk) open = {4{rst}} | {awake_fill, awake_alu, awake_array, awake_issue};
    wire [3:0] clocks = open & {4{clk}};

    // Twice the clock, for multipliers that run at it.
    reg clk2x = 1'b0;
    initial begin
        #5;
        forever begin
            clk2x = 1'b1;
            #2 clk2x = 1'b0;
            #3;
        end
    end

    vta_compute #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS),
        .PUMP(PUMP), .LANE_DSPS(LANE_DSPS), .TABLE(TABLE), .LOOP_BACK(LOOP_BACK), .DEPTHWISE_TAPS(DEPTHWISE_TAPS), .ROWS(ROWS)
    ) dut (
        .clk(clk), .clk2x(clk2x), .clk_issue(clocks[0]), .clk_array(clocks[1]), .clk_alu(clocks[2]), .clk_fill(clocks[3]),
        .awake_issue(awake_issue), .awake_array(awake_array), .awake_alu(awake_alu), .awake_fill(awake_fill), .rst(rst),
        .insn_valid(insn_valid), .insn_ready(insn_ready), .insn_data(insn_data), .insn_index(index),
        .l2c_avail(l2c_avail), .l2c_pop(l2c_pop), .s2c_avail(s2c_avail), .s2c_pop(s2c_pop),
        .c2l_room(c2l_room), .c2l_push(c2l_push), .c2s_room(c2s_room), .c2s_push(c2s_push), .bases({8*ADDR_BITS{1'b0}}),
        .rd_cmd_valid(rd_cmd_valid), .rd_cmd_ready(rd_cmd_ready[0]), .rd_cmd_addr(rd_cmd_addr), .rd_cmd_len(rd_cmd_len),
        .rd_data_valid(rd_data_valid[0]), .rd_data_ready(rd_data_ready), .rd_data(rd_data), .rd_last(rd_last), .rd_err(rd_err),
        .inp_wr_en(loop_en), .inp_wr_addr(loop_addr), .inp_wr_part(loop_part), .inp_wr_data(loop_data), .inp_rd_en(inp_en), .inp_rd_addr(inp_addr), .inp_rd_data(inp_data),
        .inp_rd_more(inp_more), .inp_rd_more_addr(more_addr), .inp_rd_more_data(more_data),
        .wgt_rd_en(wgt_en), .wgt_rd_addr(wgt_addr), .wgt_rd_data(wgt_data),
        .out_wr_en(out_en), .out_wr_addr(out_addr), .out_wr_data(out_data),
        .finish(finish), .ls_idle(ls_idle), .err_valid(err_valid), .err_code(err_code), .err_index(err_index),
        .head_valid(head_valid), .head_index(head_index), .stat_busy(unused_busy), .stat_token(unused_token),
        .stat_room(unused_room), .stat_mem(unused_mem), .stat_issue(stat_issue), .stat_retire(stat_retire),
        .stat_gemm(stat_gemm), .stat_depthwise(stat_depthwise), .stat_alu(stat_alu), .stat_requant(stat_requant),
        .stat_rd_en(unused_rd_en), .stat_rd_mem(unused_rd_mem), .stat_rd_bytes(unused_rd_bytes)
    );

    // The scratchpads next door, and tokens.
    reg [8*BATCH*OUT-1:0] out [0:ACCS-1];
    integer pops [0:1], pushes [0:1], want_pops [0:1], want_pushes [0:1], steps [0:3], finishes, retired;
    reg [8*BATCH*IN-1:0]  inp [0:INPS-1];
    reg                   late_en = 1'b0;     // what compute writes is there a cycle later
    reg [LOG_INP_DEPTH-1:0] late_addr;
    reg [1:0]             late_part;
    reg [8*BATCH*OUT-1:0] late_data;
    integer b, o, loops_back = 0;
    always @(posedge clk) begin
        if (inp_en) inp_data <= inp[inp_addr];
        if (inp_en && inp_more) begin
            if (more_addr[0] == inp_addr[0] || more_addr[LOG_INP_DEPTH] != inp_addr[0])
                $fatal(1, "rows at %0d and %0h are no odd number apart", inp_addr, more_addr);
            more_data <= {inp[more_addr[LOG_INP_DEPTH +: LOG_INP_DEPTH]], inp[more_addr[0 +: LOG_INP_DEPTH]]};
        end
        if (late_en) for (b = 0; b < BATCH; b = b + 1) for (o = 0; o < OUT; o = o + 1)
            inp[late_addr][8*(b*IN + late_part*OUT + o) +: 8] = late_data[8*(b*OUT + o) +: 8];
        late_en   <= loop_en;
        late_addr <= loop_addr;
        late_part <= loop_part;
        late_data <= loop_data;
        if (loop_en) loops_back = loops_back + 1;
        if (wgt_en) wgt_data <= ref_wgt[wgt_addr];
        if (out_en) out[out_addr] = out_data;
        if (rst) begin
            {finishes, retired, pops[0], pops[1], pushes[0], pushes[1]} = 0;
            {steps[0], steps[1], steps[2], steps[3]} = 0;
        end else begin
            if ((l2c_pop && !l2c_avail) || (s2c_pop && !s2c_avail)) $fatal(1, "a token is taken that is not there");
            if ((c2l_push && !c2l_room) || (c2s_push && !c2s_room)) $fatal(1, "a token is given where there is no room");
            pops[0] = pops[0] + l2c_pop; pops[1] = pops[1] + s2c_pop;
            pushes[0] = pushes[0] + c2l_push; pushes[1] = pushes[1] + c2s_push;
            steps[0] = steps[0] + stat_gemm; steps[1] = steps[1] + stat_depthwise;
            steps[2] = steps[2] + stat_alu; steps[3] = steps[3] + stat_requant;
            finishes = finishes + finish;
            retired  = retired + stat_retire;
            if (finish && retired != size) $fatal(1, "FINISH after %0d of %0d instructions", retired, size);
        end
        {l2c_avail, s2c_avail, c2l_room, c2s_room, ls_idle} <= {chance(eager), chance(eager), chance(eager), chance(eager), chance(eager)};
    end

    // The program.
    reg [127:0] program [0:MOST-1];
    integer     size, eager;

    task add;
        begin
            insn[6:3] = chance(70) ? 4'd0 : range(0, 15);
            program[size] = insn;
            size = size + 1;
        end
    endtask

    // Micro-ops that fit: with what the loops of `loops` add, all stay inside.
    task put_word(input integer at, input [31:0] word);
        integer i;
        for (i = 0; i < 4; i = i + 1) mem.data[at + i] = word[8*i +: 8];
    endtask

    // Loop counts and steps such that the largest sum stays below half the scratchpads.
    integer n_out, n_in, a_out, a_in, b_out, b_in, c_out, c_in;
    task loops;
        begin
            n_out = range(1, 4); n_in = range(1, 4);
            if (chance(3)) n_out = 0;
            if (chance(3)) n_in = 0;
            a_out = range(0, 4); a_in = range(0, 3); if (3*a_out + 3*a_in >= ACCS/2) a_out = 0;
            b_out = range(0, 4); b_in = range(0, 3); if (3*b_out + 3*b_in >= ACCS/2) b_out = 0;
            c_out = range(0, 1); c_in = range(0, 1); if (3*c_out + 3*c_in >= WGTS/2) c_out = 0;
            first_uop = range(0, UOPS - 5);
            last_uop  = first_uop + range(0, 4);
        end
    endtask
    integer first_uop, last_uop;

    task add_gemm;
        begin
            loops;
            insn = 128'd0;
            insn[2:0] = VTA_OP_GEMM;
            insn[VTA_F_GEMM_RESET_LSB] = chance(10);
            insn[VTA_F_GEMM_INIT_LSB]  = !insn[VTA_F_GEMM_RESET_LSB] && chance(40);
            insn[VTA_F_GEMM_UOP_BEGIN_LSB +: VTA_F_GEMM_UOP_BEGIN_WIDTH] = first_uop;
            insn[VTA_F_GEMM_UOP_END_LSB +: VTA_F_GEMM_UOP_END_WIDTH]     = last_uop + 1;
            insn[VTA_F_GEMM_ITER_OUT_LSB +: 14] = n_out;
            insn[VTA_F_GEMM_ITER_IN_LSB +: 14]  = n_in;
            insn[VTA_F_GEMM_DST_OUT_LSB +: VTA_F_GEMM_DST_OUT_WIDTH] = a_out;
            insn[VTA_F_GEMM_DST_IN_LSB +: VTA_F_GEMM_DST_IN_WIDTH]   = a_in;
            insn[VTA_F_GEMM_SRC_OUT_LSB +: VTA_F_GEMM_SRC_OUT_WIDTH] = b_out;
            insn[VTA_F_GEMM_SRC_IN_LSB +: VTA_F_GEMM_SRC_IN_WIDTH]   = b_in;
            insn[VTA_F_GEMM_WGT_OUT_LSB +: VTA_F_GEMM_WGT_OUT_WIDTH] = c_out;
            insn[VTA_F_GEMM_WGT_IN_LSB +: VTA_F_GEMM_WGT_IN_WIDTH]   = c_in;
            add;
        end
    endtask

    task add_depthwise;
        integer x, y, step, far;
        begin
            loops;
            insn = 128'd0;
            insn[2:0] = VTA_OP_DEPTHWISE;
            x = chance(15) ? range(4, 5) : range(1, 3); y = range(1, 3);
            if (chance(30)) begin x = 3; y = 3; end
            while (x*y > OUT) begin if (x > y) x = x - 1; else y = y - 1; end
            if (chance(5)) x = 0;
            insn[VTA_F_DEPTHWISE_INIT_LSB] = chance(50);
            insn[VTA_F_DEPTHWISE_UOP_BEGIN_LSB +: 13] = first_uop;
            insn[VTA_F_DEPTHWISE_UOP_END_LSB +: 14]   = last_uop + 1;
            insn[VTA_F_DEPTHWISE_ITER_OUT_LSB +: 14]  = n_out;
            insn[VTA_F_DEPTHWISE_ITER_IN_LSB +: 14]   = n_in;
            insn[VTA_F_DEPTHWISE_DST_OUT_LSB +: 11]   = a_out;
            insn[VTA_F_DEPTHWISE_DST_IN_LSB +: 11]    = a_in;
            insn[VTA_F_DEPTHWISE_SRC_OUT_LSB +: 11]   = b_out;
            insn[VTA_F_DEPTHWISE_SRC_IN_LSB +: 11]    = chance(60) ? range(0, 2) : b_in;
            insn[VTA_F_DEPTHWISE_TAPS_X_LSB +: 4]     = x;
            insn[VTA_F_DEPTHWISE_TAPS_Y_LSB +: 4]     = y;
            step = range(0, 2);
            insn[VTA_F_DEPTHWISE_COL_STEP_LSB +: 3]   = step;
            // Columns are taken over at some steps from output to output, and not at those that are equal to them modulo a power of two.
            far = 4 << range(0, 7);
            if (chance(25) && 2*step + far + 12 < INPS/2) begin
                insn[VTA_F_DEPTHWISE_ITER_IN_LSB +: 14] = 2;
                insn[VTA_F_DEPTHWISE_SRC_OUT_LSB +: 11] = 0;
                insn[VTA_F_DEPTHWISE_SRC_IN_LSB +: 11]  = step*range(1, 2) + far;
            end
            insn[VTA_F_DEPTHWISE_ROW_STEP_LSB +: 8]   = range(0, 4);
            insn[VTA_F_DEPTHWISE_GROUP_LSB]           = IN > OUT && chance(50);
            add;
        end
    endtask

    task make_alu(input [2:0] op, input immediate, input [15:0] value);
        begin
            insn = 128'd0;
            insn[2:0] = VTA_OP_ALU;
            insn[VTA_F_ALU_UOP_BEGIN_LSB +: VTA_F_ALU_UOP_BEGIN_WIDTH] = first_uop;
            insn[VTA_F_ALU_UOP_END_LSB +: VTA_F_ALU_UOP_END_WIDTH]     = last_uop + 1;
            insn[VTA_F_ALU_ITER_OUT_LSB +: 14] = n_out;
            insn[VTA_F_ALU_ITER_IN_LSB +: 14]  = n_in;
            insn[VTA_F_ALU_DST_OUT_LSB +: VTA_F_ALU_DST_OUT_WIDTH] = a_out;
            insn[VTA_F_ALU_DST_IN_LSB +: VTA_F_ALU_DST_IN_WIDTH]   = a_in;
            insn[VTA_F_ALU_SRC_OUT_LSB +: VTA_F_ALU_SRC_OUT_WIDTH] = b_out;
            insn[VTA_F_ALU_SRC_IN_LSB +: VTA_F_ALU_SRC_IN_WIDTH]   = b_in;
            insn[VTA_F_ALU_ALU_OP_LSB +: VTA_F_ALU_ALU_OP_WIDTH]   = op;
            insn[VTA_F_ALU_USE_IMM_LSB] = immediate;
            insn[VTA_F_ALU_FROM_SRC_LSB] = immediate && chance(50);
            insn[VTA_F_ALU_IMM_LSB +: VTA_F_ALU_IMM_WIDTH] = value;
        end
    endtask

    // A function on rows, as it may be.
    function [15:0] any_row(input [2:0] what);
        begin
            any_row = 16'd0;
            any_row[VTA_F_ROW_FUNCTION_LSB +: VTA_F_ROW_FUNCTION_WIDTH] = what;
            if (what <= VTA_ROW_MOV) any_row[VTA_F_ROW_PLACES_LSB +: VTA_F_ROW_PLACES_WIDTH] = range(0, LOG_BLOCK_OUT - 1);
            else if (what >= VTA_ROW_RECIP) begin
                any_row[VTA_F_ROW_FORM_LSB +: VTA_F_ROW_FORM_WIDTH]     = range(0, 2);
                any_row[VTA_F_ROW_PLACES_LSB +: VTA_F_ROW_PLACES_WIDTH] = chance(30) ? range(0, 63) : range(0, 12);
            end
        end
    endfunction

    task make_row(input [15:0] what);
        begin
            make_alu(VTA_ALU_ROW, 1'b1, what);
            insn[VTA_F_ALU_FROM_SRC_LSB] = 1'b1;
        end
    endtask

    reg [2:0] op;
    task add_alu;
        begin
            loops;
            op = range(0, 6);
            if (ROWS != 0 && chance(60)) make_row(any_row(range(0, 7)));
            else if (chance(50)) make_alu(op, 1'b1, op == VTA_ALU_SHR ? range(-31, 31) : range(-40000, 40000));
            else make_alu(op, 1'b0, range(0, 65535));
            add;
        end
    endtask

    reg tables = 1'b0;      // this program has loaded them
    task add_requant;
        integer lowest, highest;
        begin
            loops;
            lowest = range(-128, 127); highest = range(lowest, 127);
            if (chance(60)) begin lowest = -128; highest = 127; end
            insn = 128'd0;
            insn[2:0] = VTA_OP_REQUANT;
            insn[VTA_F_REQUANT_UOP_LSB +: 13]      = first_uop;
            insn[VTA_F_REQUANT_ITER_OUT_LSB +: 14] = n_out;
            insn[VTA_F_REQUANT_ITER_IN_LSB +: 14]  = n_in;
            insn[VTA_F_REQUANT_ZERO_POINT_LSB +: 8] = range(0, 255);
            insn[VTA_F_REQUANT_DST_OUT_LSB +: 11]  = a_out;
            insn[VTA_F_REQUANT_DST_IN_LSB +: 11]   = a_in;
            insn[VTA_F_REQUANT_SRC_OUT_LSB +: 11]  = b_out;
            insn[VTA_F_REQUANT_SRC_IN_LSB +: 11]   = b_in;
            insn[VTA_F_REQUANT_LOW_LSB +: 8]       = lowest;
            insn[VTA_F_REQUANT_HIGH_LSB +: 8]      = highest;
            insn[VTA_F_REQUANT_ROUNDING_LSB +: 2]  = chance(50) ? 0 : range(0, 3);
            insn[VTA_F_REQUANT_WIDE_LSB]           = chance(30);
            insn[VTA_F_REQUANT_TABLE_LSB +: 2]     = tables && chance(40) ? range(1, 2) : 0;
            if (LOOP_BACK != 0 && OUT <= IN && ACCS <= INPS && chance(45)) begin     // micro-ops must fit there
                insn[VTA_F_REQUANT_TO_INP_LSB]        = 1'b1;
                insn[VTA_F_REQUANT_PART_LSB +: 2]     = range(0, IN/OUT - 1);
                insn[VTA_F_REQUANT_DST_HIGH_LSB +: 2] = INPS > ACCS && chance(50);
            end else if (ROWS != 0 && chance(50)) begin
                insn[VTA_F_REQUANT_LONG_RESULT_LSB]     = 1'b1;
                insn[VTA_F_REQUANT_ZERO_POINT_LSB +: 8] = 8'd0;
                insn[VTA_F_REQUANT_LOW_LSB +: 8]        = 8'd0;
                insn[VTA_F_REQUANT_HIGH_LSB +: 8]       = 8'd0;
                insn[VTA_F_REQUANT_TABLE_LSB +: 2]      = 2'd0;
            end
            insn[VTA_F_REQUANT_BY_ROW_LSB] = ROWS != 0 && chance(50);
            add;
        end
    endtask

    task add_load;
        integer x, y, x0, y0, n;
        begin
            case (range(0, TABLE != 0 ? 4 : 3))
            4: begin
                // Tables: all words of them at first, then any.
                n = tables ? range(1, 90) : 128;
                make_insn(VTA_OP_LOAD, VTA_MEM_TAB, tables ? range(0, 128 - n) : 0, 0, ANY/4 + range(0, 40), 1, n, range(0, 9));
                tables = 1'b1;
            end
            0: begin
                n = range(1, 8);
                make_insn(VTA_OP_LOAD, VTA_MEM_UOP, range(0, UOPS - n), 0, FITTING/4 + range(0, 200), 1, n, range(0, 9));
            end
            1: begin
                // A parameter pair.
                make_insn(VTA_OP_LOAD, VTA_MEM_ACC, 2*range(0, 3), 0, PARAMS/(4*BATCH*OUT) + 2*range(0, 9), 1, 2, 2);
            end
            default: if (ROWS != 0 && chance(40))
                make_insn(VTA_OP_LOAD, VTA_MEM_ACC, range(0, ACCS - 4), 0, SMALL/(4*BATCH*OUT) + range(0, 12), 1, 4, 4);
            else begin
                x = range(1, 3); y = range(1, 2); x0 = chance(30); y0 = chance(30);
                n = (x + 2*x0)*(y + 2*y0);
                make_insn(VTA_OP_LOAD, chance(50) ? VTA_MEM_ACC : VTA_MEM_ACC8, range(0, ACCS - n), 0,
                          ANY/(4*BATCH*OUT) + range(0, 20), y, x, range(0, 6));
                pad_insn(y0, y0, x0, x0, range(0, 255));
            end
            endcase
            add;
        end
    endtask

    // A GEMM of two entries beside each other.
    task add_two(input integer uop, input integer times, input clear);
        begin
            add_gemm;
            program[size - 1][VTA_F_GEMM_RESET_LSB] = clear;
            program[size - 1][VTA_F_GEMM_INIT_LSB]  = 1'b0;
            program[size - 1][VTA_F_GEMM_UOP_BEGIN_LSB +: VTA_F_GEMM_UOP_BEGIN_WIDTH] = uop;
            program[size - 1][VTA_F_GEMM_UOP_END_LSB +: VTA_F_GEMM_UOP_END_WIDTH]     = uop + 1;
            program[size - 1][VTA_F_GEMM_ITER_OUT_LSB +: 14] = times;
            program[size - 1][VTA_F_GEMM_ITER_IN_LSB +: 14]  = 14'd2;
            program[size - 1][127:64] = 64'd0;
            program[size - 1][VTA_F_GEMM_DST_IN_LSB +: VTA_F_GEMM_DST_IN_WIDTH] = 1;
        end
    endtask

    // A GEMM that reads two entries of a bank all the time, and roots of a third one; or a REQUANT with four records, the last of which
    // is cleared by what comes next.
    task add_beside;
        begin
            make_insn(VTA_OP_LOAD, VTA_MEM_UOP, UOPS - 4, 0, FITTING/4 + 240, 1, 4, 4); add;
            {n_out, n_in, a_out, a_in, b_out, b_in} = {32'd4, 32'd1, 128'd0};
            first_uop = UOPS - 3; last_uop = UOPS - 3;
            make_row(any_row(VTA_ROW_ROOT));
            program[size + 1] = insn;       // behind the GEMM
            if (chance(50)) begin
                add_two(UOPS - 4, 60, 1'b0);
                insn = program[size]; add;
            end else begin
                add_requant;
                program[size - 1][VTA_F_REQUANT_UOP_LSB +: VTA_F_REQUANT_UOP_WIDTH] = UOPS - 2;
                program[size - 1][VTA_F_REQUANT_ITER_OUT_LSB +: 14] = 14'd4;
                program[size - 1][VTA_F_REQUANT_ITER_IN_LSB +: 14]  = 14'd4;
                program[size - 1][VTA_F_REQUANT_DST_OUT_LSB +: 44]  = 44'd1;      // all steps but dst's of a row are 0
                program[size - 1][VTA_F_REQUANT_WIDE_LSB]           = 1'b0;
                program[size - 1][VTA_F_REQUANT_BY_ROW_LSB]         = 1'b1;
                program[size - 1][VTA_F_REQUANT_TO_INP_LSB]         = 1'b0;
                program[size - 1][VTA_F_REQUANT_PART_LSB +: 2]      = 2'd0;
                program[size - 1][VTA_F_REQUANT_DST_HIGH_LSB +: 2]  = 2'd0;
                add_two(UOPS - 1, 1, 1'b1);
            end
            make_insn(VTA_OP_LOAD, VTA_MEM_UOP, UOPS - 4, 0, FITTING/4, 1, 4, 4); add;     // the next program's fit again
        end
    endtask

    task add_finish;
        begin
            insn = 128'd0;
            insn[2:0] = VTA_OP_FINISH;
            add;
        end
    endtask

    // A LOAD of the reference.
    task execute_load(input [127:0] word);
        integer memory, entry, from, x, y, stride, y0, y1, x0, x1, r, c, i, l, bytes;
        reg [7:0] pad;
        reg       inside;
        begin
            memory = word[VTA_F_MEM_MEMORY_LSB +: VTA_F_MEM_MEMORY_WIDTH];
            entry  = word[VTA_F_MEM_SRAM_BASE_LSB +: VTA_F_MEM_SRAM_BASE_WIDTH];
            from   = word[VTA_F_MEM_DRAM_BASE_LSB +: VTA_F_MEM_DRAM_BASE_WIDTH];
            y      = word[VTA_F_MEM_Y_SIZE_LSB +: VTA_F_MEM_Y_SIZE_WIDTH];
            x      = word[VTA_F_MEM_X_SIZE_LSB +: VTA_F_MEM_X_SIZE_WIDTH];
            stride = word[VTA_F_MEM_X_STRIDE_LSB +: VTA_F_MEM_X_STRIDE_WIDTH];
            y0 = word[VTA_F_MEM_Y_PAD_0_LSB +: 4]; y1 = word[VTA_F_MEM_Y_PAD_1_LSB +: 4];
            x0 = word[VTA_F_MEM_X_PAD_0_LSB +: 4]; x1 = word[VTA_F_MEM_X_PAD_1_LSB +: 4];
            pad = {word[VTA_F_MEM_PAD_HIGH_LSB +: VTA_F_MEM_PAD_HIGH_WIDTH], word[VTA_F_MEM_PAD_LOW_LSB +: VTA_F_MEM_PAD_LOW_WIDTH]};
            bytes = memory == VTA_MEM_UOP || memory == VTA_MEM_TAB ? 4 : memory == VTA_MEM_ACC ? 4*BATCH*OUT : BATCH*OUT;
            if ((x0 + x + x1)*(y0 + y + y1) + entry > (memory == VTA_MEM_UOP ? UOPS : memory == VTA_MEM_TAB ? 128 : ACCS)) ref_faults[VTA_ERROR_SRAM_RANGE] = 1'b1;
            else if ((from + (y - 1)*stride + x)*bytes > SIZE) ref_faults[VTA_ERROR_READ_BUS] = 1'b1;
            else for (r = -y0; r < y + y1; r = r + 1) for (c = -x0; c < x + x1; c = c + 1) begin
                inside = r >= 0 && r < y && c >= 0 && c < x;
                i = (from + r*stride + c)*bytes;
                if (memory == VTA_MEM_UOP) ref_uop[entry] = {mem.data[i + 3], mem.data[i + 2], mem.data[i + 1], mem.data[i]};
                else if (memory == VTA_MEM_TAB) ref_tab[entry] = {mem.data[i + 3], mem.data[i + 2], mem.data[i + 1], mem.data[i]};
                else for (l = 0; l < BATCH*OUT; l = l + 1) begin
                    if (!inside) ref_acc[entry][32*l +: 32] = {{24{pad[7]}}, pad};
                    else if (memory == VTA_MEM_ACC)
                        ref_acc[entry][32*l +: 32] = {mem.data[i + 4*l + 3], mem.data[i + 4*l + 2], mem.data[i + 4*l + 1], mem.data[i + 4*l]};
                    else ref_acc[entry][32*l +: 32] = {{24{mem.data[i + l][7]}}, mem.data[i + l]};
                end
                entry = entry + 1;
            end
        end
    endtask

    // True if a row instruction of add_fault is illegal, in any configuration or in this one.
    function illegal_row(input [127:0] word);
        reg [15:0] what;
        begin
            what = word[VTA_F_ALU_IMM_LSB +: VTA_F_ALU_IMM_WIDTH];
            illegal_row = ROWS == 0 || !word[VTA_F_ALU_USE_IMM_LSB] || !word[VTA_F_ALU_FROM_SRC_LSB] || what > 2047
                       || (what[2:0] < VTA_ROW_EXP2 ? what[4:3] != 0 || what[10:5] >= LOG_BLOCK_OUT
                           : what[2:0] < VTA_ROW_RECIP ? what[10:3] != 0 : what[4:3] == 3);
        end
    endfunction

    function illegal(input [127:0] word);
        integer part, shift, low, high;
        begin
            part  = word[VTA_F_REQUANT_PART_LSB +: 2];
            shift = $signed(word[VTA_F_ALU_IMM_LSB +: VTA_F_ALU_IMM_WIDTH]);
            low   = $signed(word[VTA_F_REQUANT_LOW_LSB +: 8]);
            high  = $signed(word[VTA_F_REQUANT_HIGH_LSB +: 8]);
            case (word[2:0])
            VTA_OP_LOAD:      illegal = (word & VTA_RESERVED_MEM) != 0
                                     || (word[VTA_F_MEM_MEMORY_LSB +: VTA_F_MEM_MEMORY_WIDTH] == VTA_MEM_TAB && TABLE == 0);
            VTA_OP_GEMM:      illegal = (word & VTA_RESERVED_GEMM) != 0 || (word[VTA_F_GEMM_RESET_LSB] && word[VTA_F_GEMM_INIT_LSB]);
            VTA_OP_DEPTHWISE: illegal = DEPTHWISE_TAPS == 0 || (word & VTA_RESERVED_DEPTHWISE) != 0
                                     || word[VTA_F_DEPTHWISE_TAPS_X_LSB +: 4]*word[VTA_F_DEPTHWISE_TAPS_Y_LSB +: 4] > OUT
                                     || (word[VTA_F_DEPTHWISE_GROUP_LSB] && OUT >= IN);
            VTA_OP_ALU:       illegal = (word & VTA_RESERVED_ALU) != 0 || (word[VTA_F_ALU_ALU_OP_LSB +: VTA_F_ALU_ALU_OP_WIDTH] == VTA_ALU_ROW && illegal_row(word))
                                     || (word[VTA_F_ALU_FROM_SRC_LSB] && !word[VTA_F_ALU_USE_IMM_LSB])
                                     || (word[VTA_F_ALU_ALU_OP_LSB +: VTA_F_ALU_ALU_OP_WIDTH] == VTA_ALU_SHR
                                         && word[VTA_F_ALU_USE_IMM_LSB] && (shift > 31 || shift < -31));
            VTA_OP_REQUANT:   illegal = (word & VTA_RESERVED_REQUANT) != 0 || low > high
                                     || (ROWS == 0 && (word[VTA_F_REQUANT_LONG_RESULT_LSB] || word[VTA_F_REQUANT_BY_ROW_LSB]))
                                     || (word[VTA_F_REQUANT_LONG_RESULT_LSB]
                                         && (word[VTA_F_REQUANT_ZERO_POINT_LSB +: 8] != 0 || low != 0 || high != 0
                                             || word[VTA_F_REQUANT_TABLE_LSB +: 2] != 0 || word[VTA_F_REQUANT_TO_INP_LSB]))
                                     || word[VTA_F_REQUANT_TABLE_LSB +: 2] > (TABLE != 0 ? 2 : 0)
                                     || (word[VTA_F_REQUANT_TO_INP_LSB] && (LOOP_BACK == 0 || OUT > IN || part >= IN/OUT));
            default:          illegal = 1'b0;
            endcase
        end
    endfunction

    // The reference of the whole program, as far as the first fault.
    integer at_fault, n;
    task execute;
        begin
            ref_faults = 0;
            for (n = 0; n < INPS; n = n + 1) inp[n] = ref_inp[n];
            {want_pops[0], want_pops[1], want_pushes[0], want_pushes[1]} = 0;
            for (n = 0; n < size && ref_faults == 0; n = n + 1) begin
                at_fault = n;
                if (illegal(program[n])) ref_faults[VTA_ERROR_FIELD] = 1'b1;
                else case (program[n][2:0])
                VTA_OP_LOAD:      execute_load(program[n]);
                VTA_OP_GEMM:      execute_gemm(program[n]);
                VTA_OP_DEPTHWISE: execute_depthwise(program[n]);
                VTA_OP_ALU:       execute_alu(program[n]);
                VTA_OP_REQUANT:   execute_requant(program[n]);
                default: ;
                endcase
                want_pops[0] = want_pops[0] + program[n][3]; want_pops[1] = want_pops[1] + program[n][4];
                want_pushes[0] = want_pushes[0] + program[n][5]; want_pushes[1] = want_pushes[1] + program[n][6];
            end
        end
    endtask

    // On the unit; a reset first.
    integer waited, sent;
    task run_program;
        begin
            reset;
            halt = 1'b0;
            sent = 0;
            waited = 0;
            while (finishes == 0 && !err_valid) begin
                insn_valid = sent < size && (insn_valid || chance(eager));
                insn_data  = program[sent % MOST];
                index      = sent;
                #1;
                if (insn_valid && insn_ready) begin
                    @(negedge clk) insn_valid = 1'b0;
                    sent = sent + 1;
                end else @(negedge clk);
                waited = waited + 1;
                if (waited > 200000) $fatal(1, "the program does not end: instruction %0d", head_index);
            end
            insn_valid = 1'b0;
        end
    endtask

    task stop;
        begin
            @(negedge clk) rst = 1'b1;
            halt = 1'b1;
            @(negedge clk);
            while (!rd_idle) @(negedge clk);
        end
    endtask

    task compare(input [8*12-1:0] what);
        integer e;
        begin
            for (e = 0; e < ACCS; e = e + 1)
                if (ref_known[e] && out[e] !== ref_out[e])
                    $fatal(1, "program %0d, %0s: OUT %0d is %h instead of %h", run, what, e, out[e], ref_out[e]);
            for (e = 0; e < INPS; e = e + 1)
                if (inp[e] !== ref_inp[e]) $fatal(1, "program %0d, %0s: INP %0d is %h instead of %h", run, what, e, inp[e], ref_inp[e]);
        end
    endtask

    task run_and_compare(input [8*12-1:0] what);
        begin
            execute;
            if (ref_faults != 0) $fatal(1, "a program for the bench is at fault: %h in %0d, %h", ref_faults, at_fault, program[at_fault]);
            run_program;
            if (err_valid) $fatal(1, "program %0d, %0s: error %0d in %0d, %h", run, what, err_code, err_index, program[err_index]);
            if (pops[0] != want_pops[0] || pops[1] != want_pops[1] || pushes[0] != want_pushes[0] || pushes[1] != want_pushes[1])
                $fatal(1, "program %0d, %0s: tokens %0d %0d %0d %0d", run, what, pops[0], pops[1], pushes[0], pushes[1]);
            repeat (20) @(negedge clk);
            compare(what);
            for (n = 0; n < 4; n = n + 1) total[n] = total[n] + steps[n];
            stop;
        end
    endtask

    // All of ACC, a byte of each lane at a time.
    task show_acc;
        integer byte_number;
        for (byte_number = 0; byte_number < 4; byte_number = byte_number + 1) begin
            size = 0;
            make_insn(VTA_OP_LOAD, VTA_MEM_UOP, 0, 0, FITTING/4, 1, 1, 1);      // the first one is 0
            program[0] = insn; size = 1;
            n_out = 1; n_in = ACCS; a_out = 0; b_out = 0; a_in = 1; b_in = 1; first_uop = 0; last_uop = 0;
            make_alu(VTA_ALU_SHR, 1'b1, byte_number == 0 ? 16'd0 : 16'd8);
            program[1] = insn; size = 2;
            add_finish;
            run_and_compare("ACC");
        end
    endtask

    // A window whose last row leaves INP, where its first one does not.
    task add_wide_window;
        integer y;
        begin
            y = OUT < 4 ? OUT : 4;
            add_depthwise;
            program[size - 1][VTA_F_DEPTHWISE_TAPS_X_LSB +: 4]   = 4'd1;
            program[size - 1][VTA_F_DEPTHWISE_TAPS_Y_LSB +: 4]   = y;
            program[size - 1][VTA_F_DEPTHWISE_ROW_STEP_LSB +: 8] = INPS > 255*(y - 1) ? 255 : (INPS + y - 2)/(y - 1);
        end
    endtask

    // A bit that means nothing, set, if the instruction has one.
    task reserved_bit(input [127:0] reserved);
        integer bit_at;
        begin
            bit_at = range(0, 127);
            repeat (128) if (!reserved[bit_at]) bit_at = (bit_at + 1) % 128;
            if (reserved[bit_at]) program[size - 1][bit_at] = 1'b1;
        end
    endtask

    // A field that may not be so; it comes before micro-ops that there are not.
    localparam integer ILLEGAL_KINDS = 14;
    task add_illegal(input integer kind);
        integer bound;
        begin
            bound = range(-128, 126);
            case (kind)
            0: begin add_alu; reserved_bit(VTA_RESERVED_ALU); end
            1: begin
                add_requant;
                if (ROWS == 0 && chance(50)) program[size - 1][VTA_F_REQUANT_BY_ROW_LSB] = 1'b1;
                else begin      // long, with one thing that does not go with it, or where there are none
                    program[size - 1][VTA_F_REQUANT_LONG_RESULT_LSB]     = 1'b1;
                    program[size - 1][VTA_F_REQUANT_ZERO_POINT_LSB +: 8] = 8'd0;
                    program[size - 1][VTA_F_REQUANT_TABLE_LSB +: 2]      = 2'd0;
                    program[size - 1][VTA_F_REQUANT_TO_INP_LSB]          = 1'b0;
                    program[size - 1][VTA_F_REQUANT_PART_LSB +: 2]       = 2'd0;
                    program[size - 1][VTA_F_REQUANT_DST_HIGH_LSB +: 2]   = 2'd0;
                    program[size - 1][VTA_F_REQUANT_LOW_LSB +: 8]        = 8'd0;
                    program[size - 1][VTA_F_REQUANT_HIGH_LSB +: 8]       = 8'd0;
                    if (ROWS != 0) case (range(0, 4))
                    0: program[size - 1][VTA_F_REQUANT_ZERO_POINT_LSB +: 8] = range(1, 255);
                    1: program[size - 1][VTA_F_REQUANT_LOW_LSB +: 8]        = range(-128, -1);
                    2: program[size - 1][VTA_F_REQUANT_HIGH_LSB +: 8]       = range(1, 127);
                    3: program[size - 1][VTA_F_REQUANT_TABLE_LSB +: 2]      = range(1, 2);
                    default: program[size - 1][VTA_F_REQUANT_TO_INP_LSB]    = 1'b1;
                    endcase
                end
            end
            2: begin add_load; reserved_bit(VTA_RESERVED_MEM); end
            3: if (ROWS == 0) begin
                loops;
                if (chance(50)) make_row(any_row(range(0, 7))); else make_alu(VTA_ALU_ROW, chance(50), range(0, 65535));
                add;
            end else begin
                loops;
                make_row(any_row(range(0, 7)));
                op = insn[VTA_F_ALU_IMM_LSB +: 3];
                case (range(0, 4))
                0: insn[VTA_F_ALU_USE_IMM_LSB]      = 1'b0;
                1: insn[VTA_F_ALU_FROM_SRC_LSB]     = 1'b0;
                2: insn[VTA_F_ALU_IMM_LSB + 11 +: 5] = range(1, 31);
                3: insn[VTA_F_ALU_IMM_LSB + VTA_F_ROW_FORM_LSB +: 2] = op >= VTA_ROW_RECIP ? 3 : range(1, 3);
                default:
                    if (op >= VTA_ROW_RECIP) insn[VTA_F_ALU_FROM_SRC_LSB] = 1'b0;
                    else insn[VTA_F_ALU_IMM_LSB + VTA_F_ROW_PLACES_LSB +: 6]
                        = op <= VTA_ROW_MOV ? (chance(50) ? LOG_BLOCK_OUT : range(LOG_BLOCK_OUT, 63)) : range(1, 63);
                endcase
                add;
            end
            4: begin loops; make_alu(range(0, 6), 1'b0, range(0, 65535)); insn[VTA_F_ALU_FROM_SRC_LSB] = 1'b1; add; end
            5: begin
                loops;
                make_alu(VTA_ALU_SHR, 1'b1, chance(50) ? (chance(50) ? 32 : -32) : chance(50) ? range(32, 32767) : range(-32768, -32));
                add;
            end
            6: begin
                add_requant;
                program[size - 1][VTA_F_REQUANT_LOW_LSB +: 8]  = range(bound + 1, 127);
                program[size - 1][VTA_F_REQUANT_HIGH_LSB +: 8] = bound;
            end
            7: begin
                add_depthwise;
                program[size - 1][VTA_F_DEPTHWISE_TAPS_X_LSB +: 4] = OUT < 15 ? OUT + 1 : 15;
                program[size - 1][VTA_F_DEPTHWISE_TAPS_Y_LSB +: 4] = OUT < 15 ? range(1, 2) : OUT/15 + 1;
            end
            8: begin
                add_depthwise;
                if (OUT >= IN && chance(50)) program[size - 1][VTA_F_DEPTHWISE_GROUP_LSB] = 1'b1;
                else reserved_bit(VTA_RESERVED_DEPTHWISE);
            end
            // Instructions that this configuration may not have.
            9: begin add_requant; program[size - 1][VTA_F_REQUANT_TABLE_LSB +: 2] = TABLE != 0 ? 2'd3 : range(1, 3); end
            10: begin make_insn(VTA_OP_LOAD, VTA_MEM_TAB, 0, 0, 0, 1, 1, 1); add; end
            11: begin
                add_requant;
                program[size - 1][VTA_F_REQUANT_TO_INP_LSB] = 1'b1;
                program[size - 1][VTA_F_REQUANT_PART_LSB +: 2] = LOOP_BACK != 0 ? 2'd3 : 2'd0;
            end
            12: begin add_gemm; program[size - 1][2:0] = VTA_OP_DEPTHWISE; end
            default: begin
                add_gemm;
                if (chance(30)) reserved_bit(VTA_RESERVED_GEMM);
                else {program[size - 1][VTA_F_GEMM_RESET_LSB], program[size - 1][VTA_F_GEMM_INIT_LSB]} = 2'b11;
                if (chance(50)) program[size - 1][VTA_F_GEMM_UOP_END_LSB +: VTA_F_GEMM_UOP_END_WIDTH] = UOPS + 1;
            end
            endcase
        end
    endtask

    // Records by row, the last of which are beyond ACC, by one or by far, where addresses would come round again.
    task add_far_records;
        integer most;
        begin
            add_requant;
            program[size - 1][VTA_F_REQUANT_BY_ROW_LSB]         = 1'b1;
            program[size - 1][VTA_F_REQUANT_DST_OUT_LSB +: 11]  = 11'd0;
            program[size - 1][VTA_F_REQUANT_SRC_OUT_LSB +: 11]  = 11'd0;
            program[size - 1][VTA_F_REQUANT_ITER_IN_LSB +: 14]  = 14'd1;
            split_uop(program[size - 1][VTA_F_REQUANT_UOP_LSB +: VTA_F_REQUANT_UOP_WIDTH]);
            most = (program[size - 1][VTA_F_REQUANT_WIDE_LSB] ? ACCS/4 : ACCS/2) - u_aux;
            program[size - 1][VTA_F_REQUANT_ITER_OUT_LSB +: 14] = chance(50) ? most + 1 : ACCS*range(1, 16383/ACCS) + 1;
        end
    endtask

    // Something wrong in the middle of a program.
    task add_fault;
        begin
            if (DEPTHWISE_TAPS != 0 && OUT > 1 && chance(20)) add_wide_window;
            else if (chance(15)) add_illegal(range(0, ILLEGAL_KINDS - 1));
            else case (range(0, TABLE != 0 && LOOP_BACK != 0 && DEPTHWISE_TAPS != 0 ? 11 : 15))
            7, 8: begin
                // A result that leaves INP.
                add_requant;
                program[size - 1][VTA_F_REQUANT_TO_INP_LSB]          = OUT <= IN;
                program[size - 1][VTA_F_REQUANT_PART_LSB +: 2]       = 2'd0;
                program[size - 1][VTA_F_REQUANT_DST_HIGH_LSB +: 2]   = INPS > ACCS && OUT <= IN;
                program[size - 1][VTA_F_REQUANT_ITER_OUT_LSB +: 14]  = 14'd2;
                program[size - 1][VTA_F_REQUANT_ITER_IN_LSB +: 14]   = 14'd1;
                program[size - 1][VTA_F_REQUANT_DST_OUT_LSB +: 11]   = range(INPS/4, INPS);
            end
            0: begin make_insn(VTA_OP_LOAD, VTA_MEM_UOP, 0, 0, WRONG/4, 1, UOPS, 1); add; add_gemm; end
            1: begin make_insn(VTA_OP_LOAD, VTA_MEM_UOP, 0, 0, WRONG/4, 1, UOPS, 1); add; add_alu; end
            2: begin make_insn(VTA_OP_LOAD, VTA_MEM_UOP, 0, 0, WRONG/4, 1, UOPS, 1); add; add_requant; end
            3: begin
                make_insn(VTA_OP_LOAD, VTA_MEM_UOP, 0, 0, WRONG/4, 1, UOPS, 1); add;
                if (DEPTHWISE_TAPS != 0) add_depthwise; else add_alu;
            end
            4: begin make_insn(VTA_OP_LOAD, VTA_MEM_ACC, ACCS - 1, 0, 0, 2, 2, 2); add; end
            5: begin make_insn(VTA_OP_LOAD, VTA_MEM_ACC, 0, 0, SIZE/(4*BATCH*OUT) - 1, 2, 2, 2); add; end
            default: add_illegal(range(0, ILLEGAL_KINDS - 1));
            endcase
        end
    endtask

    task add_any;
        case (range(0, 9))
        0, 1, 2: add_gemm;
        3, 4: if (DEPTHWISE_TAPS != 0) add_depthwise; else add_gemm;
        5: add_alu;
        6, 7: add_requant;
        default: if (chance(40)) add_alu; else add_load;
        endcase
    endtask

    // A program in which something may be wrong: the unit says what, and where.
    task run_at_fault;
        begin
            execute;
            if (ref_faults != 0 || program[size - 3][6:0] == 7'd0) begin
                run_program;
                if (ref_faults != 0 && !(err_valid && err_index == at_fault && ref_faults[err_code]))
                    $fatal(1, "program %0d: error %0d in %0d; expected one of %h in %0d, %h", run, err_valid ? err_code : 8'd0, err_index,
                           ref_faults, at_fault, program[at_fault]);
                stop;
            end
        end
    endtask

    integer run, i, faults, total [0:3];
    initial begin
        begin_bench(40);
        stall = 0; eager = 100; size = 0; faults = 0; index = 0; run = 0;
        {total[0], total[1], total[2], total[3]} = 0;
        for (i = 0; i < 8; i = i + 1) row_steps[i] = 0;
        for (i = 0; i < INPS; i = i + 1) for (n = 0; n < BATCH*IN; n = n + 1) ref_inp[i][8*n +: 8] = range(0, 255);
        for (i = 0; i < WGTS; i = i + 1) for (n = 0; n < OUT*IN; n = n + 1) ref_wgt[i][8*n +: 8] = range(0, 255);
        repeat (4) @(negedge clk);
        bus_rst = 1'b0;
        repeat (2) @(negedge clk);
        for (i = 0; i < SIZE; i = i + 1) mem.data[i] = range(0, 255);
        // Micro-ops: below half of each scratchpad, often with the same dst as the one before; the wrong ones anything.
        for (i = 0; i < 256; i = i + 1) begin
            if (i == 0 || chance(50)) u_dst = range(0, ACCS/2 - 1);
            put_word(FITTING + 4*i, i == 0 ? 32'd0 : u_dst | range(0, (INPS < ACCS ? INPS : ACCS)/4 - 1) << VTA_F_UOP_SRC_LSB
                                                     | range(0, (ACCS < WGTS ? ACCS : WGTS)/4 - 1) << VTA_F_UOP_AUX_LSB);
            put_word(WRONG + 4*i, {range(0, 65535), 16'd0} | range(0, 65535));
        end
        put_word(FITTING + 4*240, 32'd0);
        put_word(FITTING + 4*241, 32'd3 | 32'd2 << VTA_F_UOP_SRC_LSB);      // dst 3, src 2
        put_word(FITTING + 4*242, 32'd20 | 32'd16 << VTA_F_UOP_SRC_LSB);    // dst 20, src 16, record 0
        put_word(FITTING + 4*243, 32'd6);
        // Biases, and scales that leave something of a sum.
        for (i = 0; i < 32; i = i + 1) for (n = 0; n < BATCH*OUT; n = n + 1)
            put_word(PARAMS + (i*BATCH*OUT + n)*4, i % 2 == 0 ? range(-20000, 20000) : range(1, 16777215) | range(20, 36) << 24);
        for (i = 0; i < 16*BATCH*OUT; i = i + 1) put_word(SMALL + 4*i, chance(80) ? range(-90000, 0) : range(0, 70000));
        // Every entry is loaded once: what was never written means nothing.
        make_insn(VTA_OP_LOAD, VTA_MEM_UOP, 0, 0, FITTING/4, 1, UOPS, 1); add;
        make_insn(VTA_OP_LOAD, VTA_MEM_ACC, 0, 0, ANY/(4*BATCH*OUT), 1, ACCS, 1); add;
        add_finish;
        run_and_compare("first");
        show_acc;
        for (run = 0; run < runs; run = run + 1) begin
            stall = run % 3 == 0 ? 0 : range(0, 70);
            eager = run % 2 == 0 ? 100 : range(30, 100);
            size  = 0;
            tables = 1'b0;
            for (i = range(0, 30); i > 0; i = i - 1) add_any;
            make_insn(VTA_OP_LOAD, VTA_MEM_UOP, 0, 0, FITTING/4, 1, UOPS, 1); add;
            for (i = range(1, 25); i > 0; i = i - 1) add_any;
            if (ROWS != 0 && chance(50)) add_beside;
            add_finish;
            run_and_compare("program");
            if (run % 4 == 3) show_acc;

            if (run % 3 == 2) begin
                size = 0;
                for (i = range(0, 10); i > 0; i = i - 1) add_any;
                add_fault;
                add_any;
                add_finish;
                run_at_fault;
                faults = faults + (ref_faults != 0);
                if (ROWS != 0) begin
                    // The unit may not have the micro-ops of the program before: it has none of it where nothing in it was wrong.
                    size = 0;
                    make_insn(VTA_OP_LOAD, VTA_MEM_UOP, 0, 0, FITTING/4, 1, UOPS, 1); add;
                    for (i = range(0, 3); i > 0; i = i - 1) add_alu;
                    add_far_records;
                    add_finish;
                    run_at_fault;
                    if (ref_faults == 0) $fatal(1, "program %0d: records are within ACC", run);
                end
                // Each way in which a field may not be so, in the first instruction: what comes before is not known to have been done.
                for (i = 0; i < ILLEGAL_KINDS; i = i + 1) begin
                    size = 0;
                    add_illegal(i);
                    add_any;
                    add_finish;
                    if (illegal(program[0])) run_at_fault;
                    else if (i >= 3 && i <= 7 || i == 9) $fatal(1, "program %0d: %h is legal", run, program[0]);
                end
                // Whatever it left: load all again.
                ref_known = 0;
                size = 0;
                make_insn(VTA_OP_LOAD, VTA_MEM_UOP, 0, 0, FITTING/4, 1, UOPS, 1); add;
                make_insn(VTA_OP_LOAD, VTA_MEM_ACC, 0, 0, ANY/(4*BATCH*OUT), 1, ACCS, 1); add;
                add_finish;
                run_and_compare("after fault");
            end
        end
        show_acc;
        $display("%0d GEMM, %0d DEPTHWISE, %0d ALU, %0d REQUANT steps, %0d faults", total[0], total[1], total[2], total[3], faults);
        if (LOOP_BACK != 0 && OUT <= IN && ACCS <= INPS && loops_back < runs) $fatal(1, "%0d tiles have gone to INP", loops_back);
        if (ROWS != 0) begin
            for (i = 0; i < 8; i = i + 1) begin
                $display("function %0d on rows: %0d", i, row_steps[i]);
                if (row_steps[i] == 0 && runs >= 10) $fatal(1, "none of them");
            end
            $display("%0d long results, %0d further records", long_results, by_rows);
            if ((long_results == 0 || by_rows == 0) && runs >= 10) $fatal(1, "none of them");
        end
        if (total[0] < 10*runs || (DEPTHWISE_TAPS != 0 && total[1] < 10*runs) || total[2] < 10*runs || total[3] < 4*runs || faults < runs/8)
            $fatal(1, "too little happened");
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
