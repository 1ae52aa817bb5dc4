// SPDX-License-Identifier: Apache-2.0
//
// Compute's instructions, one after the other, as isa/ISA.md says them: the reference of vta_compute_tb. Included after
// vta_isa.vh and random.vh. `execute` works on the arrays ref_*; `ref_faults` then holds a bit for each error that applies.
    localparam integer BATCH = 1 << LOG_BATCH;
    localparam integer IN    = 1 << LOG_BLOCK_IN;
    localparam integer OUT   = 1 << LOG_BLOCK_OUT;
    localparam integer UOPS  = 1 << LOG_UOP_DEPTH;
    localparam integer INPS  = 1 << LOG_INP_DEPTH;
    localparam integer WGTS  = 1 << LOG_WGT_DEPTH;
    localparam integer ACCS  = 1 << LOG_ACC_DEPTH;

    reg [31:0]            ref_uop [0:UOPS-1];
    reg [8*BATCH*IN-1:0]  ref_inp [0:INPS-1];
    reg [8*OUT*IN-1:0]    ref_wgt [0:WGTS-1];
    reg [32*BATCH*OUT-1:0] ref_acc [0:ACCS-1];
    reg [8*BATCH*OUT-1:0] ref_out [0:ACCS-1];
    reg [ACCS-1:0]        ref_known = 0;     // entries of ref_out that have been written
    reg [31:0]            ref_faults;

    integer u_dst, u_src, u_aux;
    task split_uop(input integer k);
        begin
            u_dst = ref_uop[k][VTA_F_UOP_DST_LSB +: VTA_F_UOP_DST_WIDTH];
            u_src = ref_uop[k][VTA_F_UOP_SRC_LSB +: VTA_F_UOP_SRC_WIDTH];
            u_aux = ref_uop[k] >> VTA_F_UOP_AUX_LSB;
        end
    endtask

    // A step has computed a tile.
    reg [32*BATCH*OUT-1:0] tile;
    task write_tile(input integer dst);
        integer lane;
        begin
            ref_acc[dst] = tile;
            for (lane = 0; lane < BATCH*OUT; lane = lane + 1) ref_out[dst][8*lane +: 8] = tile[32*lane +: 8];
            ref_known[dst] = 1'b1;
        end
    endtask

    // Writes the low bytes of the tile to INP, to a part of each row.
    task write_inp(input integer dst, input integer part);
        integer b, o;
        for (b = 0; b < BATCH; b = b + 1) for (o = 0; o < OUT; o = o + 1)
            ref_inp[dst][8*(b*IN + part*OUT + o) +: 8] = tile[32*(b*OUT + o) +: 8];
    endtask

    task check_index(input integer at, input integer depth, input [7:0] code);
        if (at < 0 || at >= depth) ref_faults[code] = 1'b1;
    endtask

    task gemm_step(input integer dst, input integer src, input integer wgt, input zero, input no_mac);
        integer b, o, i;
        reg signed [31:0] sum;
        begin
            for (b = 0; b < BATCH; b = b + 1) for (o = 0; o < OUT; o = o + 1) begin
                sum = zero ? 32'd0 : ref_acc[dst][32*(b*OUT + o) +: 32];
                if (!no_mac) for (i = 0; i < IN; i = i + 1)
                    sum = sum + $signed(ref_inp[src][8*(b*IN + i) +: 8]) * $signed(ref_wgt[wgt][8*(o*IN + i) +: 8]);
                tile[32*(b*OUT + o) +: 32] = sum;
            end
            write_tile(dst);
        end
    endtask

    task depthwise_step(input integer dst, input integer src, input integer wgt, input zero, input group, input integer taps_x,
                        input integer taps_y, input integer col_step, input integer row_step);
        integer b, o, c, r, t;
        reg signed [31:0] sum;
        begin
            for (b = 0; b < BATCH; b = b + 1) for (o = 0; o < OUT; o = o + 1) begin
                c   = o + (group ? OUT : 0);
                sum = zero ? 32'd0 : ref_acc[dst][32*(b*OUT + o) +: 32];
                if (c < IN) for (r = 0; r < taps_y; r = r + 1) for (t = 0; t < taps_x; t = t + 1)
                    sum = sum + $signed(ref_inp[src + r*row_step + t*col_step][8*(b*IN + c) +: 8])
                              * $signed(ref_wgt[wgt][8*((r*taps_x + t)*IN + c) +: 8]);
                tile[32*(b*OUT + o) +: 32] = sum;
            end
            write_tile(dst);
        end
    endtask

    function [31:0] alu_lane(input [2:0] op, input signed [31:0] x, input signed [31:0] y);
        reg signed [31:0] minus;
        reg signed [63:0] wide;
        integer           n;
        case (op)
        VTA_ALU_MIN: alu_lane = x < y ? x : y;
        VTA_ALU_MAX: alu_lane = x > y ? x : y;
        VTA_ALU_ADD: alu_lane = x + y;
        VTA_ALU_SHR: begin
            n = y > 31 ? 31 : y < -31 ? -31 : y;
            alu_lane = n >= 0 ? x >>> n : x << -n;
        end
        VTA_ALU_MUL: begin
            wide = x * y;
            alu_lane = wide[31:0];
        end
        VTA_ALU_CLIP: begin
            minus = -y;
            x = x < y ? x : y;
            alu_lane = x > minus ? x : minus;
        end
        default: alu_lane = y;
        endcase
    endfunction

    // The functions on rows (ISA.md §7). Powers of two are computed, each number of the two tables by itself.
    function [31:0] exp2_of(input signed [31:0] from);
        reg signed [63:0] s, whole, part;
        reg signed [71:0] product;
        integer           high, low;
        begin
            s       = from > 0 ? 0 : from;
            whole   = s >>> 12;
            part    = s - whole*4096;
            high    = $rtoi(32768.0*(2.0**($itor(part/64)/64.0)) + 0.5);
            low     = $rtoi(32768.0*(2.0**($itor(part%64)/4096.0)) + 0.5);
            product = high;
            product = divide(product*low, whole < -49 ? 63 : 14 - whole, 0);
            exp2_of = product[31:0];
        end
    endfunction

    // v · 2^k below 2^32, k a multiple of `by` and as large as can be.
    function integer room_above(input [63:0] v, input integer by);
        begin
            room_above = 0;
            while (v << (room_above + by) < 64'd1 << 32) room_above = room_above + by;
        end
    endfunction

    function [31:0] root_of(input signed [31:0] from);
        reg [63:0] v, m;
        integer    k, bit_at;
        begin
            v = from <= 0 ? 64'd1 : {32'd0, from};
            k = room_above(v, 2);
            m = 0;
            for (bit_at = 15; bit_at >= 0; bit_at = bit_at - 1)
                if ((m + (64'd1 << bit_at))*(m + (64'd1 << bit_at)) <= v << k) m = m + (64'd1 << bit_at);
            root_of = m | (k/2) << 24;
        end
    endfunction

    function [31:0] recip_of(input signed [31:0] from, input of_root, input [1:0] form, input integer places);
        reg [63:0] v, w, q;
        integer    k, shift;
        begin
            if (of_root) begin
                w     = 4*(64'd32768 | from[14:0]);
                shift = from[29:24] > 31 ? 0 : 31 - from[29:24];
            end else begin
                v     = from <= 0 ? 64'd1 : {32'd0, from};
                k     = room_above(v, 1);
                w     = (v << k) >> 14;
                shift = 47 - k;
            end
            q     = 64'd8589934591/w;
            shift = shift > places ? shift - places : 0;
            recip_of = form == 0 ? q | shift << 24 : form == 1 ? q : shift;
        end
    endfunction

    integer row_steps [0:7];        // how many of each function
    task function_on_rows(input integer dst, input integer src, input [15:0] what);
        integer    b, o, other;
        reg [31:0] x, y, s, s0;
        begin
            for (b = 0; b < BATCH; b = b + 1) for (o = 0; o < OUT; o = o + 1) begin
                other = (o + (1 << what[VTA_F_ROW_PLACES_LSB +: 3])) % OUT;
                x  = ref_acc[dst][32*(b*OUT + o) +: 32];
                y  = ref_acc[src][32*(b*OUT + other) +: 32];
                s  = ref_acc[src][32*(b*OUT + o) +: 32];
                s0 = ref_acc[src][32*b*OUT +: 32];
                case (what[2:0])
                VTA_ROW_MIN:  y = $signed(x) < $signed(y) ? x : y;
                VTA_ROW_MAX:  y = $signed(x) > $signed(y) ? x : y;
                VTA_ROW_ADD:  y = x + y;
                VTA_ROW_MOV:  ;
                VTA_ROW_EXP2: y = exp2_of(s);
                VTA_ROW_ROOT: y = root_of(s0);
                default:      y = recip_of(s0, what[2:0] == VTA_ROW_RECIP_ROOT, what[VTA_F_ROW_FORM_LSB +: VTA_F_ROW_FORM_WIDTH],
                                           what[VTA_F_ROW_PLACES_LSB +: VTA_F_ROW_PLACES_WIDTH]);
                endcase
                tile[32*(b*OUT + o) +: 32] = y;
            end
            row_steps[what[2:0]] = row_steps[what[2:0]] + 1;
            write_tile(dst);
        end
    endtask

    // By quotient and remainder of the exact product; shift 63 leaves a remainder that needs one bit more than 64.
    // value / 2^by, rounded once; halves go where `mode` says: 0 to even, 1 up, 2 away from zero.
    function signed [71:0] divide(input signed [71:0] value, input integer by, input integer mode);
        reg signed [71:0] quotient, rest, half;
        begin
            quotient = value >>> by;
            rest     = value - (quotient <<< by);
            half     = 72'sd1 <<< by;
            if (2*rest > half || (2*rest == half && (mode == 0 ? quotient[0] : mode == 1 ? 1'b1 : value >= 0)))
                quotient = quotient + 1;
            divide = quotient;
        end
    endfunction

    function [31:0] requant_lane(input signed [31:0] x, input signed [31:0] bias, input [30:0] mult, input [5:0] shift,
                                 input [1:0] mode, input signed [7:0] zero_point, input signed [17:0] low, input signed [17:0] high);
        reg signed [71:0] product;
        begin
            product  = x;
            product  = (product + bias) * $signed({1'b0, mult});
            if (mode < 2) product = divide(product, shift, mode);
            else if (shift < 31) product = divide(product, shift, 1);
            else product = divide(divide(product, 31, 1), shift - 31, mode == 2 ? 1 : 2);
            product = product + zero_point;
            if (product < low) product = low;
            if (product > high) product = high;
            requant_lane = product[31:0];
        end
    endfunction

    // The loop nests. Twice: first for indices out of range, then, if there are none, for the work.
    integer i_out, i_in, k_uop, begin_uop, end_uop, iter_out, iter_in, d_out, d_in, s_out, s_in, w_out, w_in, dst, src, wgt, pass;
    integer taps_x, taps_y, col_step, row_step, before, lane;
    reg     init, reset_acc, group, use_imm, from_src;
    reg [2:0]  alu_op;
    reg [15:0] imm;
    reg [7:0]  zero_point;
    reg signed [17:0] low, high;
    reg        long_result, by_row;
    integer    records, by_rows = 0, long_results = 0;
    reg [32*BATCH*OUT-1:0] biases, scales, shifts;
    reg [1:0]  rounding, table_use;
    reg        wide, to_inp;
    integer    part, above;
    reg [7:0]  looked_up;
    reg [31:0] ref_tab [0:127];

    task execute_gemm(input [127:0] word);
        begin
            begin_uop = word[VTA_F_GEMM_UOP_BEGIN_LSB +: VTA_F_GEMM_UOP_BEGIN_WIDTH];
            end_uop   = word[VTA_F_GEMM_UOP_END_LSB +: VTA_F_GEMM_UOP_END_WIDTH];
            iter_out  = word[VTA_F_GEMM_ITER_OUT_LSB +: 14];
            iter_in   = word[VTA_F_GEMM_ITER_IN_LSB +: 14];
            d_out = word[VTA_F_GEMM_DST_OUT_LSB +: VTA_F_GEMM_DST_OUT_WIDTH]; d_in = word[VTA_F_GEMM_DST_IN_LSB +: VTA_F_GEMM_DST_IN_WIDTH];
            s_out = word[VTA_F_GEMM_SRC_OUT_LSB +: VTA_F_GEMM_SRC_OUT_WIDTH]; s_in = word[VTA_F_GEMM_SRC_IN_LSB +: VTA_F_GEMM_SRC_IN_WIDTH];
            w_out = word[VTA_F_GEMM_WGT_OUT_LSB +: VTA_F_GEMM_WGT_OUT_WIDTH]; w_in = word[VTA_F_GEMM_WGT_IN_LSB +: VTA_F_GEMM_WGT_IN_WIDTH];
            reset_acc = word[VTA_F_GEMM_RESET_LSB];
            init      = word[VTA_F_GEMM_INIT_LSB];
            for (pass = 0; pass < 2 && ref_faults == 0; pass = pass + 1)
            for (i_out = 0; i_out < iter_out; i_out = i_out + 1) for (i_in = 0; i_in < iter_in; i_in = i_in + 1) begin
                before = -1;
                for (k_uop = begin_uop; k_uop < end_uop; k_uop = k_uop + 1) begin
                    split_uop(k_uop);
                    dst = u_dst + i_out*d_out + i_in*d_in;
                    src = u_src + i_out*s_out + i_in*s_in;
                    wgt = u_aux + i_out*w_out + i_in*w_in;
                    if (pass == 0) begin
                        check_index(dst, ACCS, VTA_ERROR_ACC_RANGE);
                        if (!reset_acc) check_index(src, INPS, VTA_ERROR_INP_RANGE);
                        if (!reset_acc) check_index(wgt, WGTS, VTA_ERROR_WGT_RANGE);
                    end else gemm_step(dst, src, wgt, reset_acc || (init && u_dst != before), reset_acc);
                    before = u_dst;
                end
            end
        end
    endtask

    task execute_depthwise(input [127:0] word);
        begin
            begin_uop = word[VTA_F_DEPTHWISE_UOP_BEGIN_LSB +: VTA_F_DEPTHWISE_UOP_BEGIN_WIDTH];
            end_uop   = word[VTA_F_DEPTHWISE_UOP_END_LSB +: VTA_F_DEPTHWISE_UOP_END_WIDTH];
            iter_out  = word[VTA_F_DEPTHWISE_ITER_OUT_LSB +: 14];
            iter_in   = word[VTA_F_DEPTHWISE_ITER_IN_LSB +: 14];
            d_out = word[VTA_F_DEPTHWISE_DST_OUT_LSB +: 11]; d_in = word[VTA_F_DEPTHWISE_DST_IN_LSB +: 11];
            s_out = word[VTA_F_DEPTHWISE_SRC_OUT_LSB +: 11]; s_in = word[VTA_F_DEPTHWISE_SRC_IN_LSB +: 11];
            taps_x   = word[VTA_F_DEPTHWISE_TAPS_X_LSB +: 4];   taps_y   = word[VTA_F_DEPTHWISE_TAPS_Y_LSB +: 4];
            col_step = word[VTA_F_DEPTHWISE_COL_STEP_LSB +: 3]; row_step = word[VTA_F_DEPTHWISE_ROW_STEP_LSB +: 8];
            init     = word[VTA_F_DEPTHWISE_INIT_LSB];
            group    = word[VTA_F_DEPTHWISE_GROUP_LSB];
            for (pass = 0; pass < 2 && ref_faults == 0; pass = pass + 1)
            for (k_uop = begin_uop; k_uop < end_uop; k_uop = k_uop + 1)
            for (i_out = 0; i_out < iter_out; i_out = i_out + 1) for (i_in = 0; i_in < iter_in; i_in = i_in + 1) begin
                split_uop(k_uop);
                dst = u_dst + i_out*d_out + i_in*d_in;
                src = u_src + i_out*s_out + i_in*s_in;
                if (pass == 0) begin
                    check_index(dst, ACCS, VTA_ERROR_ACC_RANGE);
                    if (taps_x*taps_y != 0) check_index(src + (taps_y - 1)*row_step + (taps_x - 1)*col_step, INPS, VTA_ERROR_INP_RANGE);
                    if (taps_x*taps_y != 0) check_index(u_aux, WGTS, VTA_ERROR_WGT_RANGE);
                end else depthwise_step(dst, src, u_aux, init, group, taps_x, taps_y, col_step, row_step);
            end
        end
    endtask

    task execute_alu(input [127:0] word);
        begin
            begin_uop = word[VTA_F_ALU_UOP_BEGIN_LSB +: VTA_F_ALU_UOP_BEGIN_WIDTH];
            end_uop   = word[VTA_F_ALU_UOP_END_LSB +: VTA_F_ALU_UOP_END_WIDTH];
            iter_out  = word[VTA_F_ALU_ITER_OUT_LSB +: 14];
            iter_in   = word[VTA_F_ALU_ITER_IN_LSB +: 14];
            d_out = word[VTA_F_ALU_DST_OUT_LSB +: VTA_F_ALU_DST_OUT_WIDTH]; d_in = word[VTA_F_ALU_DST_IN_LSB +: VTA_F_ALU_DST_IN_WIDTH];
            s_out = word[VTA_F_ALU_SRC_OUT_LSB +: VTA_F_ALU_SRC_OUT_WIDTH]; s_in = word[VTA_F_ALU_SRC_IN_LSB +: VTA_F_ALU_SRC_IN_WIDTH];
            alu_op  = word[VTA_F_ALU_ALU_OP_LSB +: VTA_F_ALU_ALU_OP_WIDTH];
            use_imm = word[VTA_F_ALU_USE_IMM_LSB];
            from_src = word[VTA_F_ALU_FROM_SRC_LSB];
            imm     = word[VTA_F_ALU_IMM_LSB +: VTA_F_ALU_IMM_WIDTH];
            for (pass = 0; pass < 2 && ref_faults == 0; pass = pass + 1)
            for (i_out = 0; i_out < iter_out; i_out = i_out + 1) for (i_in = 0; i_in < iter_in; i_in = i_in + 1)
            for (k_uop = begin_uop; k_uop < end_uop; k_uop = k_uop + 1) begin
                split_uop(k_uop);
                dst = u_dst + i_out*d_out + i_in*d_in;
                src = use_imm && !from_src ? dst : u_src + i_out*s_out + i_in*s_in;
                if (pass == 0) begin
                    check_index(dst, ACCS, VTA_ERROR_ACC_RANGE);
                    check_index(src, ACCS, VTA_ERROR_ACC_RANGE);
                end else if (alu_op == VTA_ALU_ROW) function_on_rows(dst, src, imm);
                else begin
                    for (lane = 0; lane < BATCH*OUT; lane = lane + 1)
                        tile[32*lane +: 32] = use_imm ? alu_lane(alu_op, ref_acc[src][32*lane +: 32], {{16{imm[15]}}, imm})
                                            : alu_lane(alu_op, ref_acc[dst][32*lane +: 32], ref_acc[src][32*lane +: 32]);
                    write_tile(dst);
                end
            end
        end
    endtask

    // The record of a row.
    task take_record(input integer at);
        begin
            biases = ref_acc[wide ? 4*at : 2*at];
            scales = ref_acc[wide ? 4*at + 1 : 2*at + 1];
            shifts = ref_acc[wide ? 4*at + 2 : 2*at + 1];
        end
    endtask

    task execute_requant(input [127:0] word);
        begin
            iter_out = word[VTA_F_REQUANT_ITER_OUT_LSB +: 14];
            iter_in  = word[VTA_F_REQUANT_ITER_IN_LSB +: 14];
            d_out = word[VTA_F_REQUANT_DST_OUT_LSB +: 11]; d_in = word[VTA_F_REQUANT_DST_IN_LSB +: 11];
            s_out = word[VTA_F_REQUANT_SRC_OUT_LSB +: 11]; s_in = word[VTA_F_REQUANT_SRC_IN_LSB +: 11];
            zero_point = word[VTA_F_REQUANT_ZERO_POINT_LSB +: 8];
            low        = $signed(word[VTA_F_REQUANT_LOW_LSB +: 8]);
            high       = $signed(word[VTA_F_REQUANT_HIGH_LSB +: 8]);
            long_result = word[VTA_F_REQUANT_LONG_RESULT_LSB];
            by_row     = word[VTA_F_REQUANT_BY_ROW_LSB];
            if (long_result) {low, high} = {18'h20000, 18'h1ffff};
            rounding   = word[VTA_F_REQUANT_ROUNDING_LSB +: VTA_F_REQUANT_ROUNDING_WIDTH];
            wide       = word[VTA_F_REQUANT_WIDE_LSB];
            table_use  = word[VTA_F_REQUANT_TABLE_LSB +: VTA_F_REQUANT_TABLE_WIDTH];
            to_inp     = word[VTA_F_REQUANT_TO_INP_LSB];
            part       = word[VTA_F_REQUANT_PART_LSB +: VTA_F_REQUANT_PART_WIDTH];
            above      = ACCS*word[VTA_F_REQUANT_DST_HIGH_LSB +: VTA_F_REQUANT_DST_HIGH_WIDTH];
            split_uop(word[VTA_F_REQUANT_UOP_LSB +: VTA_F_REQUANT_UOP_WIDTH]);
            records = by_row ? iter_out : 1;
            if (iter_out != 0 && iter_in != 0) begin
                check_index(u_aux, ACCS, VTA_ERROR_ACC_RANGE);
                check_index((wide ? 4 : 2)*(u_aux + records) - 1, ACCS, VTA_ERROR_ACC_RANGE);
            end
            if (ref_faults == 0) take_record(u_aux);
            for (pass = 0; pass < 2 && (pass == 0 || ref_faults == 0); pass = pass + 1)
            for (i_out = 0; i_out < iter_out; i_out = i_out + 1) for (i_in = 0; i_in < iter_in; i_in = i_in + 1) begin
                dst = u_dst + above + i_out*d_out + i_in*d_in;
                src = u_src + i_out*s_out + i_in*s_in;
                if (pass == 0) begin
                    if (to_inp) check_index(dst, INPS, VTA_ERROR_INP_RANGE);
                    else check_index(dst, ACCS, VTA_ERROR_ACC_RANGE);
                    check_index(src, ACCS, VTA_ERROR_ACC_RANGE);
                end else begin
                    if (by_row && i_in == 0) begin
                        take_record(u_aux + i_out);
                        by_rows = by_rows + (i_out != 0);
                    end
                    long_results = long_results + long_result;
                    for (lane = 0; lane < BATCH*OUT; lane = lane + 1) begin
                        tile[32*lane +: 32] = requant_lane(ref_acc[src][32*lane +: 32], biases[32*lane +: 32],
                                                           wide ? scales[32*lane +: 31] : {7'd0, scales[32*lane +: 24]},
                                                           wide ? shifts[32*lane +: 6] : scales[32*lane + 24 +: 6],
                                                           rounding, zero_point, low, high);
                        if (table_use != 2'd0) begin
                            looked_up = ref_tab[{table_use[1], tile[32*lane + 2 +: 6]}] >> 8*tile[32*lane +: 2];
                            tile[32*lane +: 32] = {{24{looked_up[7]}}, looked_up};
                        end
                    end
                    if (to_inp) write_inp(dst, part);
                    else write_tile(dst);
                end
            end
        end
    endtask
