/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program contains, counted from its bits: so that a test can show that random programs meet
 * everything.
 */
#include "progen.h"

const char *const progen_feature_names[PROGEN_FEATURE_COUNT] = {
#define PROGEN_FEATURE(id, doc) [PROGEN_##id] = (doc),
    PROGEN_FEATURES(PROGEN_FEATURE)
#undef PROGEN_FEATURE
};

/* The counts of one program, and what it has met so far. */
typedef struct tally {
    const vta_config *config;
    uint64_t *counts;
    bool computed;
} tally;

static void note(tally *t, int feature, bool seen)
{
    t->counts[feature] += seen ? 1 : 0;
}

static void note_pads(tally *t, const vta_insn *insn)
{
    const int64_t p[4] = {insn->mem.x_pad_0, insn->mem.x_pad_1, insn->mem.y_pad_0, insn->mem.y_pad_1};
    bool different = true;
    for (int i = 0; i < 4; i++) {
        bool alone = p[i] > 0;
        for (int j = 0; j < 4; j++) {
            alone = alone && (j == i || p[j] == 0);
            different = different && p[i] > 0 && (j == i || p[j] != p[i]);
        }
        note(t, PROGEN_PAD_LEFT + i, alone);
        note(t, PROGEN_PAD_15, p[i] == 15);
    }
    const bool any = p[0] + p[1] + p[2] + p[3] > 0;
    note(t, PROGEN_PAD_ASYMMETRIC, different);
    note(t, PROGEN_PAD_POSITIVE, any && vta_insn_pad_value(insn) > 0);
    note(t, PROGEN_PAD_NEGATIVE, any && vta_insn_pad_value(insn) < 0);
}

static bool crosses_page(const tally *t, const vta_insn *insn)
{
    const int64_t bytes = t->config->elem_bytes[insn->mem.memory];
    for (int64_t y = 0; y < insn->mem.y_size; y++) {
        const int64_t first = (insn->mem.dram_base + y * insn->mem.x_stride) * bytes;
        if (first / 4096 != (first + insn->mem.x_size * bytes - 1) / 4096) {
            return true;
        }
    }
    return false;
}

static void note_load(tally *t, const vta_insn *insn)
{
    static const int feature[] = {
        [VTA_MEM_UOP] = PROGEN_LOAD_UOP, [VTA_MEM_WGT] = PROGEN_LOAD_WGT,  [VTA_MEM_INP] = PROGEN_LOAD_INP,
        [VTA_MEM_ACC] = PROGEN_LOAD_ACC, [VTA_MEM_OUT] = PROGEN_STORE,     [VTA_MEM_ACC8] = PROGEN_LOAD_ACC8,
        [VTA_MEM_TAB] = PROGEN_LOAD_TAB, [VTA_MEM_WGT4] = PROGEN_LOAD_WGT4};
    const bool rows = insn->mem.y_size > 1;
    const int64_t gap = insn->mem.x_stride - insn->mem.x_size;
    note(t, feature[insn->mem.memory], true);
    note(t, PROGEN_UOP_RELOADED, insn->mem.memory == VTA_MEM_UOP && t->computed);
    note(t, PROGEN_PAD_ROWS_ONLY, insn->mem.y_size == 0 && insn->mem.y_pad_0 + insn->mem.y_pad_1 > 0);
    note(t, PROGEN_LOAD_MERGED, rows && gap == 0);
    note(t, PROGEN_LOAD_STRIDED, rows && gap > 0);
    note(t, PROGEN_LOAD_OVERLAPPING, rows && gap < 0 && insn->mem.x_stride > 0);
    note(t, PROGEN_LOAD_REPEATED, rows && insn->mem.x_stride == 0);
    note(t, PROGEN_LOAD_LONG,
         insn->mem.x_size * insn->mem.y_size * (int64_t)t->config->elem_bytes[insn->mem.memory] >= 4096);
    note(t, PROGEN_LOAD_CROSSING, crosses_page(t, insn));
    note_pads(t, insn);
}

static void note_transfer(tally *t, const vta_insn *insn)
{
    static const int nop[] = {PROGEN_NOP_LOAD, PROGEN_NOP_COMPUTE, PROGEN_NOP_STORE};
    if (insn->mem.x_size == 0) {
        note(t, nop[vta_insn_unit(insn) - VTA_UNIT_LOAD], true);
        return;
    }
    note(t, PROGEN_SEGMENT_HIGH, insn->mem.segment == 7);
    if (insn->opcode == VTA_OP_LOAD) {
        note_load(t, insn);
        return;
    }
    note(t, PROGEN_STORE, true);
    note(t, PROGEN_STORE_STRIDED, insn->mem.y_size > 1 && insn->mem.x_stride > insn->mem.x_size);
    note(t, PROGEN_STORE_EMPTY, insn->mem.y_size == 0);
}

static void note_nest(tally *t, int64_t iter_out, int64_t iter_in, int64_t uops, bool still)
{
    const bool runs = uops > 0 && iter_out > 0 && iter_in > 0;
    note(t, PROGEN_NEST_BOTH, runs && iter_out > 1 && iter_in > 1);
    note(t, PROGEN_NEST_STILL, runs && iter_out > 1 && iter_in > 1 && still);
    note(t, PROGEN_NEST_LONG, runs && iter_out * iter_in * uops > 100);
}

static void note_gemm(tally *t, const vta_insn *insn)
{
    const int64_t uops = insn->gemm.uop_end - insn->gemm.uop_begin;
    const bool empty = uops <= 0 || insn->gemm.iter_out == 0 || insn->gemm.iter_in == 0;
    note(t, PROGEN_GEMM, !empty && !insn->gemm.reset && !insn->gemm.init);
    note(t, PROGEN_GEMM_RESET, !empty && insn->gemm.reset);
    note(t, PROGEN_GEMM_INIT, !empty && insn->gemm.init);
    note(t, PROGEN_GEMM_ZERO, empty);
    note_nest(t, insn->gemm.iter_out, insn->gemm.iter_in, uops,
              insn->gemm.dst_out == 0 || insn->gemm.dst_in == 0);
}

static void note_row(tally *t, vta_row row, bool runs)
{
    const bool reciprocal = row.function >= VTA_ROW_RECIP;
    note(t, PROGEN_ROW_MIN + (int)row.function, runs);
    note(t, PROGEN_ROW_FORM_SCALE + (int)row.form, runs && reciprocal);
    note(t, PROGEN_ROW_PLACES, runs && reciprocal && row.places > 0);
    note(t, PROGEN_ROW_FAR,
         runs && row.function <= VTA_ROW_MOV && row.places + 1 == t->config->log_block_out);
}

static void note_alu(tally *t, const vta_insn *insn)
{
    const int64_t uops = insn->alu.uop_end - insn->alu.uop_begin;
    const bool runs = uops > 0 && insn->alu.iter_out > 0 && insn->alu.iter_in > 0;
    const bool imm = insn->alu.use_imm;
    note(t, PROGEN_ALU_ZERO, !runs);
    note_nest(t, insn->alu.iter_out, insn->alu.iter_in, uops,
              insn->alu.dst_out == 0 || insn->alu.dst_in == 0);
    if (insn->alu.alu_op == VTA_ALU_ROW) {
        note_row(t, vta_row_of(insn->alu.imm), runs);
        return;
    }
    note(t, (imm ? PROGEN_ALU_MIN_IMM : PROGEN_ALU_MIN) + (int)insn->alu.alu_op, runs);
    note(t, PROGEN_ALU_SHL_IMM, runs && imm && insn->alu.alu_op == VTA_ALU_SHR && insn->alu.imm < 0);
    note(t, PROGEN_ALU_IN_PLACE, runs && imm && !insn->alu.from_src);
    note(t, PROGEN_ALU_FROM_SRC, runs && insn->alu.from_src);
    note(t, PROGEN_ALU_IMM_LOWEST, runs && imm && insn->alu.imm == INT16_MIN);
    note(t, PROGEN_ALU_IMM_HIGHEST, runs && imm && insn->alu.imm == INT16_MAX);
    note(t, PROGEN_ALU_IGNORED, runs && insn->alu.ignored);
}

static void note_requant(tally *t, const vta_insn *insn)
{
    const bool runs = insn->requant.iter_out > 0 && insn->requant.iter_in > 0;
    note(t, PROGEN_REQUANT, runs);
    note(t, PROGEN_REQUANT_NEST, insn->requant.iter_out > 1 && insn->requant.iter_in > 1);
    note(t, PROGEN_REQUANT_ZERO, !runs);
    note(t, PROGEN_REQUANT_EXTREMES, runs && insn->requant.low == INT8_MIN && insn->requant.high == INT8_MAX);
    note(t, PROGEN_REQUANT_UP, runs && insn->requant.rounding == VTA_ROUND_UP);
    note(t, PROGEN_REQUANT_TWICE_UP, runs && insn->requant.rounding == VTA_ROUND_TWICE_UP);
    note(t, PROGEN_REQUANT_TWICE_OUT, runs && insn->requant.rounding == VTA_ROUND_TWICE_OUT);
    note(t, PROGEN_REQUANT_WIDE, runs && insn->requant.wide);
    note(t, PROGEN_REQUANT_LONG, runs && insn->requant.long_result);
    note(t, PROGEN_REQUANT_LONG_WIDE, runs && insn->requant.long_result && insn->requant.wide);
    const bool rows = insn->requant.by_row && insn->requant.iter_out > 1 && runs;
    note(t, PROGEN_REQUANT_BY_ROW, rows);
    note(t, PROGEN_REQUANT_BY_ROW_WIDE, rows && insn->requant.wide);
    note(t, PROGEN_REQUANT_BY_ROW_LONG, rows && insn->requant.long_result);
    note(t, PROGEN_REQUANT_BY_ROW_INP, rows && insn->requant.to_inp);
    note(t, PROGEN_REQUANT_TABLE_0, runs && insn->requant.table == 1);
    note(t, PROGEN_REQUANT_TABLE_1, runs && insn->requant.table == 2);
    note(t, PROGEN_REQUANT_INP, runs && insn->requant.to_inp);
    note(t, PROGEN_REQUANT_PART, runs && insn->requant.part == 1);
    note(t, PROGEN_REQUANT_HIGH, runs && insn->requant.dst_high > 0);
    note(t, PROGEN_REQUANT_POINT,
         runs && !insn->requant.long_result && insn->requant.low == insn->requant.high);
}

static void note_depthwise(tally *t, const vta_insn *insn)
{
    const int64_t uops = insn->depthwise.uop_end - insn->depthwise.uop_begin;
    const bool runs = uops > 0 && insn->depthwise.iter_out > 0 && insn->depthwise.iter_in > 0;
    const int64_t x = insn->depthwise.taps_x;
    const int64_t y = insn->depthwise.taps_y;
    note(t, PROGEN_DEPTHWISE, runs && !insn->depthwise.init);
    note(t, PROGEN_DEPTHWISE_INIT, runs && insn->depthwise.init);
    note(t, PROGEN_DEPTHWISE_3X3, runs && x == 3 && y == 3);
    note(t, PROGEN_DEPTHWISE_ROW, runs && x > 1 && y == 1);
    note(t, PROGEN_DEPTHWISE_COLUMN, runs && x == 1 && y > 1);
    note(t, PROGEN_DEPTHWISE_EMPTY, runs && x * y == 0);
    note(t, PROGEN_DEPTHWISE_GROUP, runs && insn->depthwise.group);
    note(t, PROGEN_DEPTHWISE_ZERO, !runs);
    note_nest(t, insn->depthwise.iter_out, insn->depthwise.iter_in, uops,
              insn->depthwise.dst_out == 0 || insn->depthwise.dst_in == 0);
}

static void note_insn(tally *t, const vta_insn *insn)
{
    switch ((vta_opcode)insn->opcode) {
    case VTA_OP_LOAD:
    case VTA_OP_STORE: note_transfer(t, insn); break;
    case VTA_OP_GEMM: note_gemm(t, insn); break;
    case VTA_OP_ALU: note_alu(t, insn); break;
    case VTA_OP_REQUANT: note_requant(t, insn); break;
    case VTA_OP_DEPTHWISE: note_depthwise(t, insn); break;
    case VTA_OP_FINISH:
        note(t, PROGEN_FINISH_GARBAGE, insn->finish.ignored_low != 0 && insn->finish.ignored_high != 0);
        note(t, PROGEN_FINISH_POPS, insn->pop_prev || insn->pop_next);
        break;
    case VTA_OP_COUNT: break;
    }
    note(t, PROGEN_TOKENS_BOTH, insn->pop_prev && insn->pop_next && insn->push_prev && insn->push_next);
    t->computed = t->computed || insn->opcode == VTA_OP_GEMM || insn->opcode == VTA_OP_ALU;
}

void progen_features(const progen_program *program, uint64_t *counts)
{
    tally t = {.config = &program->config, .counts = counts};
    for (uint32_t i = 0; i < program->insn_count; i++) {
        vta_insn insn;
        if (vta_insn_decode_raw(&program->config, program->insns[i], &insn) == VTA_ERROR_NONE) {
            note_insn(&t, &insn);
        }
    }
}
