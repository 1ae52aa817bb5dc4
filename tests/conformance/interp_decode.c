/* SPDX-License-Identifier: Apache-2.0
 *
 * The interpreter's own decoder: ISA.md's field tables read once more, bit by bit.
 */
#include "interp.h"

#include <string.h>

/* An instruction's bytes and which of its bits some field has covered. */
typedef struct cursor {
    const uint8_t *bytes;
    bool covered[128];
} cursor;

static uint64_t take(cursor *c, uint32_t lsb, uint32_t width)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < width; i++) {
        const uint32_t bit = lsb + i;
        c->covered[bit] = true;
        value |= (uint64_t)((c->bytes[bit / 8] >> (bit % 8)) & 1) << i;
    }
    return value;
}

static int64_t u(cursor *c, uint32_t lsb, uint32_t width)
{
    return (int64_t)take(c, lsb, width);
}

static int64_t s(cursor *c, uint32_t lsb, uint32_t width)
{
    const int64_t value = u(c, lsb, width);
    return value >= (INT64_C(1) << (width - 1)) ? value - (INT64_C(1) << width) : value;
}

static bool uncovered_bit_set(const cursor *c)
{
    for (uint32_t bit = 0; bit < 128; bit++) {
        if (!c->covered[bit] && ((c->bytes[bit / 8] >> (bit % 8)) & 1)) {
            return true;
        }
    }
    return false;
}

static void decode_mem(cursor *c, interp_insn *x)
{
    x->memory = u(c, 7, 3);
    x->sram_base = u(c, 10, 13);
    x->segment = u(c, 23, 3);
    x->dram_base = u(c, 26, 32);
    const int64_t pad = u(c, 78, 2) * 64 + u(c, 58, 6);
    x->pad_value = pad >= 128 ? pad - 256 : pad;
    x->y_size = u(c, 64, 14);
    x->x_size = u(c, 80, 16);
    x->x_stride = u(c, 96, 16);
    x->y_pad_0 = u(c, 112, 4);
    x->y_pad_1 = u(c, 116, 4);
    x->x_pad_0 = u(c, 120, 4);
    x->x_pad_1 = u(c, 124, 4);
}

static void decode_nest(cursor *c, uint32_t log_uop, interp_insn *x)
{
    x->uop_begin = u(c, 8, log_uop);
    x->uop_end = u(c, 8 + log_uop, log_uop + 1);
    x->iter_out = u(c, 9 + 2 * log_uop, 14);
    x->iter_in = u(c, 23 + 2 * log_uop, 14);
}

static void decode_gemm(cursor *c, const vta_config *k, interp_insn *x)
{
    const uint32_t a = k->log_depth[VTA_MEM_ACC];
    const uint32_t i = k->log_depth[VTA_MEM_INP];
    const uint32_t w = k->log_depth[VTA_MEM_WGT];
    x->reset = u(c, 7, 1);
    decode_nest(c, k->log_depth[VTA_MEM_UOP], x);
    x->init = u(c, 63, 1);
    x->dst_out = u(c, 64, a);
    x->dst_in = u(c, 64 + a, a);
    x->src_out = u(c, 64 + 2 * a, i);
    x->src_in = u(c, 64 + 2 * a + i, i);
    x->wgt_out = u(c, 64 + 2 * a + 2 * i, w);
    x->wgt_in = u(c, 64 + 2 * a + 2 * i + w, w);
}

static void decode_alu(cursor *c, const vta_config *k, interp_insn *x)
{
    const uint32_t a = k->log_depth[VTA_MEM_ACC];
    x->ignored = u(c, 7, 1);
    decode_nest(c, k->log_depth[VTA_MEM_UOP], x);
    x->from_src = u(c, 63, 1);
    x->dst_out = u(c, 64, a);
    x->dst_in = u(c, 64 + a, a);
    x->src_out = u(c, 64 + 2 * a, a);
    x->src_in = u(c, 64 + 3 * a, a);
    x->alu_op = u(c, 64 + 4 * a, 3);
    x->use_imm = u(c, 67 + 4 * a, 1);
    x->imm = s(c, 68 + 4 * a, 16);
}

static void decode_steps11(cursor *c, interp_insn *x)
{
    x->dst_out = u(c, 64, 11);
    x->dst_in = u(c, 75, 11);
    x->src_out = u(c, 86, 11);
    x->src_in = u(c, 97, 11);
}

static void decode_requant(cursor *c, interp_insn *x)
{
    x->uop = u(c, 8, 13);
    x->iter_out = u(c, 21, 14);
    x->iter_in = u(c, 35, 14);
    x->zero_point = s(c, 49, 8);
    x->table = u(c, 57, 2);
    x->to_inp = u(c, 59, 1);
    x->part = u(c, 60, 2);
    x->dst_high = u(c, 62, 2);
    decode_steps11(c, x);
    x->low = s(c, 108, 8);
    x->high = s(c, 116, 8);
    x->rounding = u(c, 124, 2);
    x->wide = u(c, 126, 1);
    x->long_result = u(c, 7, 1);
    x->by_row = u(c, 127, 1);
}

static void decode_depthwise(cursor *c, interp_insn *x)
{
    x->uop_begin = u(c, 8, 13);
    x->uop_end = u(c, 21, 14);
    x->iter_out = u(c, 35, 14);
    x->iter_in = u(c, 49, 14);
    x->init = u(c, 63, 1);
    decode_steps11(c, x);
    x->taps_x = u(c, 108, 4);
    x->taps_y = u(c, 112, 4);
    x->col_step = u(c, 116, 3);
    x->row_step = u(c, 119, 8);
    x->group = u(c, 127, 1);
}

static bool legal_transfer(const vta_config *k, const interp_insn *x)
{
    if ((x->memory == 7 && !k->wgt4) ||
        (x->opcode == 0 && (x->memory == 4 || (x->memory == 6 && !k->table)))) {
        return false;
    }
    if (x->x_size == 0) {
        return true; /* whatever the other fields say */
    }
    if (x->opcode == 0) {
        return (x->memory != 0 && x->memory != 6) || x->pad_value == 0;
    }
    return x->memory == 4 && x->pad_value == 0 && x->y_pad_0 == 0 && x->y_pad_1 == 0 && x->x_pad_0 == 0 &&
           x->x_pad_1 == 0;
}

/* REQUANT: part and dst_high mean something for INP alone, which must have such lanes and entries. */
static bool legal_requant(const vta_config *k, const interp_insn *x)
{
    const int64_t in = (int64_t)k->block_in, out = (int64_t)k->block_out;
    const int64_t above = x->dst_high * (INT64_C(1) << k->log_depth[VTA_MEM_ACC]);
    if ((x->long_result || x->by_row) && !k->rows) {
        return false;
    }
    if (x->long_result && (x->zero_point || x->low || x->high || x->table || x->to_inp)) {
        return false; /* part and dst_high: below */
    }
    if (x->low > x->high || x->table > 2 || (x->table && !k->table) || (x->to_inp && !k->loop_back)) {
        return false;
    }
    if (!x->to_inp) {
        return x->part == 0 && x->dst_high == 0;
    }
    return out <= in && x->part * out < in && above < INT64_C(1) << k->log_depth[VTA_MEM_INP];
}

/* Operation 7: the bits of imm. */
static bool legal_row(const vta_config *k, const interp_insn *x)
{
    const int64_t function = x->imm % 8, form = x->imm / 8 % 4, places = x->imm / 32;
    if (!k->rows || !x->use_imm || !x->from_src || x->imm < 0 || x->imm >= 2048) {
        return false;
    }
    if (function < 4) {
        return form == 0 && places < (int64_t)k->log_block_out;
    }
    return function < 6 ? form == 0 && places == 0 : form < 3;
}

/* The sentences "… is illegal" of ISA.md that concern one instruction. */
static bool legal(const vta_config *k, const interp_insn *x)
{
    const bool load_unit = x->opcode == 0 && (x->memory == 1 || x->memory == 2 || x->memory == 7);
    if ((load_unit && (x->pop_prev || x->push_prev)) || (x->opcode == 1 && (x->pop_next || x->push_next))) {
        return false;
    }
    switch (x->opcode) {
    case 0:
    case 1: return legal_transfer(k, x);
    case 2: return !(x->reset && x->init);
    case 4:
        return x->alu_op == 7 ? legal_row(k, x)
                              : !(x->from_src && !x->use_imm) &&
                                    !(x->alu_op == 3 && x->use_imm && (x->imm < -31 || x->imm > 31));
    case 5: return legal_requant(k, x);
    case 6:
        return k->depthwise_taps > 0 && x->taps_x * x->taps_y <= (int64_t)k->block_out &&
               x->group * (int64_t)k->block_out < (int64_t)k->block_in;
    default: return true;
    }
}

vta_error interp_decode(const vta_config *config, const uint8_t bytes[16], interp_insn *out)
{
    cursor c = {.bytes = bytes};
    memset(out, 0, sizeof *out);
    out->opcode = u(&c, 0, 3);
    out->pop_prev = u(&c, 3, 1);
    out->pop_next = u(&c, 4, 1);
    out->push_prev = u(&c, 5, 1);
    out->push_next = u(&c, 6, 1);
    switch (out->opcode) {
    case 0:
    case 1: decode_mem(&c, out); break;
    case 2: decode_gemm(&c, config, out); break;
    case 3:
        out->ignored_low = take(&c, 7, 57);
        out->ignored_high = take(&c, 64, 64);
        break;
    case 4: decode_alu(&c, config, out); break;
    case 5: decode_requant(&c, out); break;
    case 6: decode_depthwise(&c, out); break;
    default: return VTA_ERROR_OPCODE;
    }
    return uncovered_bit_set(&c) || !legal(config, out) ? VTA_ERROR_FIELD : VTA_ERROR_NONE;
}

interp_uop interp_decode_uop(const vta_config *config, const uint8_t bytes[4])
{
    const uint32_t a = config->log_depth[VTA_MEM_ACC];
    const uint32_t i = config->log_depth[VTA_MEM_INP];
    const uint32_t m = a > i ? a : i;
    uint8_t wide[16] = {0};
    memcpy(wide, bytes, 4);
    cursor c = {.bytes = wide};
    return (interp_uop){.dst = u(&c, 0, a), .src = u(&c, a, m), .aux = u(&c, a + m, 32 - a - m)};
}
