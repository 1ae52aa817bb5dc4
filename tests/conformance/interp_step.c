/* SPDX-License-Identifier: Apache-2.0
 *
 * What the instructions do, one small step at a time. Deliberately naive.
 */
#include "interp_machine.h"
#include "interp_rows.h"

#include <string.h>

/* ---- scratchpad entries ---- */

static uint8_t *entry(machine *m, int memory, int64_t index)
{
    return m->data[memory] + index * dram_bytes(m, memory);
}

static int64_t lane8(const uint8_t *p, int64_t lane)
{
    return p[lane] >= 128 ? (int64_t)p[lane] - 256 : (int64_t)p[lane];
}

static int64_t lane32(const uint8_t *p, int64_t lane)
{
    p += 4 * lane;
    const int64_t value = p[0] + INT64_C(256) * p[1] + INT64_C(65536) * p[2] + INT64_C(16777216) * p[3];
    return value >= INT64_C(2147483648) ? value - INT64_C(4294967296) : value;
}

static int64_t wrap32(int64_t value)
{
    const uint64_t low = (uint64_t)value & UINT64_C(0xffffffff);
    return low >= UINT64_C(0x80000000) ? (int64_t)low - INT64_C(0x100000000) : (int64_t)low;
}

static void put32(uint8_t *p, int64_t lane, int64_t value)
{
    for (int64_t i = 0; i < 4; i++) {
        p[4 * lane + i] = (uint8_t)(((uint64_t)value >> (8 * i)) & 255);
    }
}

/* Every step that writes ACC writes OUT. */
static void put_acc(machine *m, int64_t dst, int64_t lane, int64_t value)
{
    put32(entry(m, ACC, dst), lane, value);
    entry(m, OUT, dst)[lane] = (uint8_t)((uint64_t)value & 255);
    if (value < -128 || value > 127) {
        event(m, INTERP_OUT_TRUNCATED);
    }
}

static void mark_acc(machine *m, int64_t dst)
{
    m->written[ACC][dst] = true;
    m->written[OUT][dst] = true;
}

/* Says whether the unit may touch this entry; the error is recorded otherwise. */
static bool in_range(machine *m, int which, int memory, int64_t index, vta_error error)
{
    if (index >= depth(m, memory)) {
        fail_head(m, which, error);
        return false;
    }
    return true;
}

/* An INP entry counts as written when a LOAD has written it, or REQUANT all of its lanes. */
static bool is_written(machine *m, int memory, int64_t index)
{
    if (m->written[memory][index] || memory != INP) {
        return m->written[memory][index];
    }
    for (int64_t i = 0; i < block_in(m); i++) {
        if (!m->lanes[index * block_in(m) + i]) {
            return false;
        }
    }
    if (block_in(m) > block_out(m)) {
        event(m, INTERP_INP_BY_PARTS);
    }
    return true;
}

static bool readable(machine *m, int which, int memory, int64_t index)
{
    if (!is_written(m, memory, index)) {
        fail_head(m, which, VTA_ERROR_UNWRITTEN);
        return false;
    }
    return true;
}

/* ---- LOAD and STORE ---- */

/* The DRAM bytes of one element, NULL with the error recorded where there are none. */
static uint8_t *dram_element(machine *m, int which, const interp_insn *x, int64_t element, vta_error error)
{
    const int64_t bytes = dram_bytes(m, x->memory);
    const uint64_t addr = m->launch->base[x->segment] + (uint64_t)element * (uint64_t)bytes;
    uint8_t *p = m->bus->map(m->bus->context, addr, (uint64_t)bytes);
    if (p == NULL) {
        fail_head(m, which, error);
    }
    return p;
}

static void fill_pad(machine *m, int memory, int64_t index, int64_t value)
{
    uint8_t *p = entry(m, memory, index);
    const int64_t bytes = dram_bytes(m, memory);
    for (int64_t i = 0; memory == ACC && i < bytes / 4; i++) {
        put32(p, i, value);
    }
    for (int64_t i = 0; memory != ACC && i < bytes; i++) {
        p[i] = (uint8_t)((uint64_t)value & 255);
    }
}

/* int4 as int8. */
static uint8_t signed_nibble(int value)
{
    return (uint8_t)(value > 7 ? value + 240 : value);
}

static void load_step(machine *m, int which, const interp_insn *x, int64_t step)
{
    const int memory = x->memory == ACC8 ? ACC : x->memory == WGT4 ? WGT : (int)x->memory;
    const int64_t pitch = x->x_pad_0 + x->x_size + x->x_pad_1;
    const int64_t index = x->sram_base + step;
    const int64_t row = step / pitch - x->y_pad_0;
    const int64_t column = step % pitch - x->x_pad_0;
    m->written[memory][index] = true;
    if (row < 0 || row >= x->y_size || column < 0 || column >= x->x_size) {
        fill_pad(m, memory, index, x->pad_value);
        return;
    }
    const uint8_t *from =
        dram_element(m, which, x, x->dram_base + row * x->x_stride + column, VTA_ERROR_READ_BUS);
    if (from == NULL) {
        return;
    }
    uint8_t *to = entry(m, memory, index);
    const int64_t bytes = dram_bytes(m, x->memory);
    for (int64_t i = 0; i < bytes; i++) {
        if (x->memory == ACC8) {
            put32(to, i, lane8(from, i));
        } else if (x->memory == WGT4) {
            to[2 * i] = signed_nibble(from[i] % 16);
            to[2 * i + 1] = signed_nibble(from[i] / 16);
        } else {
            to[i] = from[i];
        }
    }
}

static void store_step(machine *m, int which, const interp_insn *x, int64_t step)
{
    const int64_t row = step / x->x_size;
    const int64_t column = step % x->x_size;
    const int64_t index = x->sram_base + step;
    if (!readable(m, which, OUT, index)) {
        return;
    }
    uint8_t *to = dram_element(m, which, x, x->dram_base + row * x->x_stride + column, VTA_ERROR_WRITE_BUS);
    for (int64_t i = 0; to != NULL && i < dram_bytes(m, OUT); i++) {
        to[i] = entry(m, OUT, index)[i];
    }
}

/* ---- GEMM and DEPTHWISE ---- */

/* Reads micro-op `index`. */
static bool read_uop(machine *m, int64_t index, interp_uop *out)
{
    if (!in_range(m, COMPUTE_UNIT, UOP, index, VTA_ERROR_UOP_RANGE) ||
        !readable(m, COMPUTE_UNIT, UOP, index)) {
        return false;
    }
    *out = interp_decode_uop(m->config, entry(m, UOP, index));
    return true;
}

static bool acc_ready(machine *m, int64_t index, bool read)
{
    return in_range(m, COMPUTE_UNIT, ACC, index, VTA_ERROR_ACC_RANGE) &&
           (!read || readable(m, COMPUTE_UNIT, ACC, index));
}

static bool operand_ready(machine *m, int memory, int64_t index)
{
    return in_range(m, COMPUTE_UNIT, memory, index,
                    memory == INP ? VTA_ERROR_INP_RANGE : VTA_ERROR_WGT_RANGE) &&
           readable(m, COMPUTE_UNIT, memory, index);
}

/* Accumulates into a lane, wrapping; counts the wraps. */
static int64_t accumulate(machine *m, int64_t sum, int64_t addend)
{
    const int64_t wrapped = wrap32(sum + addend);
    if (wrapped != sum + addend) {
        event(m, INTERP_ACC_WRAPPED);
    }
    return wrapped;
}

static void multiply(machine *m, int64_t dst, int64_t src, int64_t wgt, bool from_zero)
{
    for (int64_t b = 0; b < batch(m); b++) {
        for (int64_t o = 0; o < block_out(m); o++) {
            const int64_t lane = b * block_out(m) + o;
            int64_t sum = from_zero ? 0 : lane32(entry(m, ACC, dst), lane);
            for (int64_t i = 0; i < block_in(m); i++) {
                sum = accumulate(m, sum,
                                 lane8(entry(m, INP, src), b * block_in(m) + i) *
                                     lane8(entry(m, WGT, wgt), o * block_in(m) + i));
            }
            put_acc(m, dst, lane, sum);
        }
    }
    mark_acc(m, dst);
}

static void clear(machine *m, int64_t dst)
{
    for (int64_t lane = 0; lane < batch(m) * block_out(m); lane++) {
        put_acc(m, dst, lane, 0);
    }
    mark_acc(m, dst);
}

static void gemm_step(machine *m, const interp_insn *x, int64_t i, int64_t j, int64_t k)
{
    interp_uop uop;
    interp_uop before = {.dst = -1};
    if (!read_uop(m, k, &uop) || (k > x->uop_begin && !read_uop(m, k - 1, &before))) {
        return;
    }
    const bool from_zero = x->init && before.dst != uop.dst;
    const int64_t dst = uop.dst + i * x->dst_out + j * x->dst_in;
    const int64_t src = uop.src + i * x->src_out + j * x->src_in;
    const int64_t wgt = uop.aux + i * x->wgt_out + j * x->wgt_in;
    if (!acc_ready(m, dst, !x->reset && !from_zero)) {
        return;
    }
    if (x->reset) {
        clear(m, dst);
    } else if (operand_ready(m, INP, src) && operand_ready(m, WGT, wgt)) {
        multiply(m, dst, src, wgt, from_zero);
    }
}

static void depthwise_step(machine *m, const interp_insn *x, int64_t i, int64_t j, int64_t k)
{
    interp_uop uop;
    if (!read_uop(m, k, &uop)) {
        return;
    }
    const int64_t dst = uop.dst + i * x->dst_out + j * x->dst_in;
    const int64_t src = uop.src + i * x->src_out + j * x->src_in;
    const int64_t taps = x->taps_y * x->taps_x;
    if (!acc_ready(m, dst, !x->init) || (taps > 0 && !operand_ready(m, WGT, uop.aux))) {
        return;
    }
    for (int64_t tap = 0; tap < taps; tap++) {
        if (!operand_ready(m, INP, src + tap / x->taps_x * x->row_step + tap % x->taps_x * x->col_step)) {
            return;
        }
    }
    for (int64_t lane = 0; lane < batch(m) * block_out(m); lane++) {
        const int64_t c = lane % block_out(m) + x->group * block_out(m);
        int64_t sum = x->init ? 0 : lane32(entry(m, ACC, dst), lane);
        for (int64_t tap = 0; tap < taps && c < block_in(m); tap++) {
            const int64_t at = src + tap / x->taps_x * x->row_step + tap % x->taps_x * x->col_step;
            sum = accumulate(m, sum,
                             lane8(entry(m, INP, at), lane / block_out(m) * block_in(m) + c) *
                                 lane8(entry(m, WGT, uop.aux), tap * block_in(m) + c));
        }
        put_acc(m, dst, lane, sum);
    }
    mark_acc(m, dst);
}

/* ---- ALU ---- */

static int64_t shift(machine *m, int64_t x, int64_t y)
{
    const int64_t amount = y < -31 ? -31 : y > 31 ? 31 : y;
    if (amount != y) {
        event(m, INTERP_SHIFT_CLAMPED);
    }
    for (int64_t i = 0; i < amount; i++) {
        x = x >= 0 ? x / 2 : -((-x + 1) / 2); /* towards minus infinity */
    }
    for (int64_t i = 0; i < -amount; i++) {
        x = wrap32(2 * x);
        event(m, INTERP_SHIFTED_LEFT);
    }
    return x;
}

static int64_t alu_lane(machine *m, int64_t op, int64_t x, int64_t y)
{
    switch (op) {
    case 0: return x < y ? x : y;
    case 1: return x > y ? x : y;
    case 2:
    case 4: {
        const int64_t exact = op == 2 ? x + y : x * y;
        if (exact != wrap32(exact)) {
            event(m, INTERP_ALU_WRAPPED);
        }
        return wrap32(exact);
    }
    case 3: return shift(m, x, y);
    case 5: {
        const int64_t low = wrap32(-y);
        const int64_t max = x < y ? x : y;
        if (y < 0) {
            event(m, INTERP_CLIP_NEGATIVE);
        }
        return max > low ? max : low;
    }
    default: return y;
    }
}

static void note_row(machine *m, int64_t function, int64_t s, int64_t result)
{
    if (function == 4) {
        event(m, s > 0            ? INTERP_EXP2_CAPPED
                 : result == 0    ? INTERP_EXP2_ZERO
                 : result < 65536 ? INTERP_EXP2_BETWEEN
                                  : INTERP_NOT_CLIPPED);
    } else if (function > 4 && s < 1) {
        event(m, INTERP_ROW_BELOW_ONE);
    }
}

/* Operation 7: all that is read, before anything is written. */
static void row_step(machine *m, const interp_insn *x, int64_t dst, int64_t src)
{
    enum { MAX_LANES = 64 };
    const int64_t function = x->imm % 8;
    if (!acc_ready(m, dst, function < 3) || !acc_ready(m, src, true)) {
        return;
    }
    for (int64_t b = 0; b < batch(m); b++) {
        int64_t left[MAX_LANES], right[MAX_LANES];
        for (int64_t o = 0; o < block_out(m); o++) {
            left[o] = lane32(entry(m, ACC, dst), b * block_out(m) + o);
            right[o] = lane32(entry(m, ACC, src), b * block_out(m) + o);
        }
        for (int64_t o = 0; o < block_out(m); o++) {
            const int64_t result = interp_row_lane(x->imm, left, right, o, block_out(m));
            note_row(m, function, right[function == 4 ? o : 0], result);
            put_acc(m, dst, b * block_out(m) + o, result);
        }
    }
    mark_acc(m, dst);
}

static void alu_step(machine *m, const interp_insn *x, int64_t i, int64_t j, int64_t k)
{
    interp_uop uop;
    if (!read_uop(m, k, &uop)) {
        return;
    }
    const bool move = x->alu_op == 6; /* the one operation without x */
    const int64_t dst = uop.dst + i * x->dst_out + j * x->dst_in;
    const int64_t src = uop.src + i * x->src_out + j * x->src_in;
    if (x->alu_op == 7) {
        row_step(m, x, dst, src);
        return;
    }
    if (!acc_ready(m, dst, !move && !x->from_src)) {
        return;
    }
    if ((!x->use_imm || x->from_src) && !acc_ready(m, src, !x->use_imm || !move)) {
        return;
    }
    for (int64_t lane = 0; lane < batch(m) * block_out(m); lane++) {
        const int64_t left = lane32(entry(m, ACC, x->from_src ? src : dst), lane);
        const int64_t right = x->use_imm ? x->imm : lane32(entry(m, ACC, src), lane);
        put_acc(m, dst, lane, alu_lane(m, x->alu_op, left, right));
    }
    mark_acc(m, dst);
}

/* ---- REQUANT ---- */

/* Tells if a pass before `row` has written one of `count` entries from `first` on. */
static bool has_made(const interp_insn *x, const interp_uop *uop, int64_t row, int64_t first, int64_t count)
{
    for (int64_t n = 0; n < row * x->iter_in; n++) {
        const int64_t dst = uop->dst + n / x->iter_in * x->dst_out + n % x->iter_in * x->dst_in;
        if (!x->to_inp && dst >= first && dst < first + count) {
            return true;
        }
    }
    return false;
}

/* The record: a pair, or four entries with a multiplier and a shift of their own. With by_row the last one
 * must be in range before the first is read. */
static bool read_parameters(machine *m, const interp_insn *x, interp_uop *uop, int64_t row)
{
    const int64_t size = x->wide ? 4 : 2;
    if (!read_uop(m, x->uop, uop)) {
        return false;
    }
    const int64_t last = uop->aux + (x->by_row ? x->iter_out - 1 : 0);
    if (!acc_ready(m, size * last + size - 1, false)) {
        return false;
    }
    const int64_t first = size * (uop->aux + row);
    if (has_made(x, uop, row, first, x->wide ? 3 : 2)) {
        event(m, INTERP_RECORD_MADE);
    }
    for (int64_t i = 0; i < (x->wide ? 3 : 2); i++) {
        if (!acc_ready(m, first + i, true)) {
            return false;
        }
    }
    for (int64_t lane = 0; lane < batch(m) * block_out(m); lane++) {
        const uint32_t second = (uint32_t)lane32(entry(m, ACC, first + 1), lane);
        m->bias[lane] = lane32(entry(m, ACC, first), lane);
        m->mult[lane] = (int64_t)(x->wide ? second % (1U << 31) : second % (1U << 24));
        m->amount[lane] = (int64_t)(second >> 24) % 64;
        if (x->wide) {
            m->amount[lane] = (int64_t)((uint32_t)lane32(entry(m, ACC, first + 2), lane) % 64);
        }
    }
    return true;
}

enum { TIES_TO_EVEN, TIES_UP, TIES_OUT };

/* value / 2^amount, exact, then rounded once: one halving at a time. */
static int64_t round_shift(machine *m, int64_t value, int64_t amount, int ties)
{
    const bool negative = value < 0;
    bool half = false;  /* the last bit shifted out */
    bool below = false; /* any bit before it */
    for (int64_t i = 0; i < amount; i++) {
        below = below || half;
        half = value % 2 != 0;
        value = value >= 0 ? value / 2 : -((-(value + 1)) / 2) - 1;
    }
    const bool odd = value % 2 != 0;
    const bool up = ties == TIES_TO_EVEN ? odd : ties == TIES_UP ? true : !negative;
    if (half && !below) {
        event(m, ties == TIES_UP                ? INTERP_ROUND_TIE_UP
                 : ties == TIES_OUT && negative ? INTERP_ROUND_TIE_OUT
                 : up                           ? INTERP_ROUND_TIE_TO_EVEN_UP
                                                : INTERP_ROUND_TIE_TO_EVEN_DOWN);
    } else if (half) {
        event(m, INTERP_ROUND_UP);
    }
    return half && (below || up) ? value + 1 : value;
}

/* Modes 2 and 3 round at 31 places, halves up, and what is left to be shifted once more. */
static int64_t round_by_mode(machine *m, int64_t value, int64_t amount, int64_t mode)
{
    if (mode < 2) {
        return round_shift(m, value, amount, mode == 0 ? TIES_TO_EVEN : TIES_UP);
    }
    const int64_t first = amount < 31 ? amount : 31;
    const int64_t middle = round_shift(m, value, first, TIES_UP);
    const int64_t result = round_shift(m, middle, amount - first, mode == 2 ? TIES_UP : TIES_OUT);
    if (result != round_shift(m, value, amount, mode == 2 ? TIES_UP : TIES_OUT)) {
        event(m, INTERP_ROUNDED_TWICE);
    }
    return result;
}

static int64_t requant_lane(machine *m, const interp_insn *x, int64_t acc, int64_t lane)
{
    const int64_t product = (acc + m->bias[lane]) * m->mult[lane]; /* 33 and 31 bits */
    const int64_t result = round_by_mode(m, product, m->amount[lane], x->rounding) + x->zero_point;
    if (m->amount[lane] == 63) {
        event(m, INTERP_SHIFT_63);
    }
    if (x->long_result) {
        const int64_t kept = result < -131072 ? -131072 : result > 131071 ? 131071 : result;
        event(m, kept != result              ? INTERP_LONG_CLIPPED
                 : kept < -128 || kept > 127 ? INTERP_LONG_WIDE
                                             : INTERP_NOT_CLIPPED);
        return kept;
    }
    event(m, result < x->low    ? INTERP_CLIPPED_LOW
             : result > x->high ? INTERP_CLIPPED_HIGH
                                : INTERP_NOT_CLIPPED);
    const int64_t clipped = result < x->low ? x->low : result > x->high ? x->high : result;
    if (x->table == 0) {
        return clipped;
    }
    const int64_t byte = clipped < 0 ? clipped + 256 : clipped;
    return lane8(entry(m, TAB, 64 * (x->table - 1) + byte / 4), byte % 4);
}

static bool table_ready(machine *m, const interp_insn *x)
{
    for (int64_t i = 0; x->table != 0 && i < 64; i++) {
        if (!readable(m, COMPUTE_UNIT, TAB, 64 * (x->table - 1) + i)) {
            return false;
        }
    }
    return true;
}

static void put_inp(machine *m, const interp_insn *x, int64_t src, int64_t dst)
{
    for (int64_t b = 0; b < batch(m); b++) {
        for (int64_t o = 0; o < block_out(m); o++) {
            const int64_t lane = b * block_out(m) + o;
            const int64_t to = x->part * block_out(m) + o;
            const int64_t value = requant_lane(m, x, lane32(entry(m, ACC, src), lane), lane);
            entry(m, INP, dst)[b * block_in(m) + to] = (uint8_t)((uint64_t)value & 255);
            m->lanes[dst * block_in(m) + to] = true;
        }
    }
}

static void requant_step(machine *m, const interp_insn *x, int64_t i, int64_t j)
{
    interp_uop uop;
    const bool first = i == 0 && j == 0;
    const bool record = first || (x->by_row && j == 0);
    if (record ? !read_parameters(m, x, &uop, i) : !read_uop(m, x->uop, &uop)) {
        return;
    }
    if (first && !table_ready(m, x)) {
        return;
    }
    const int64_t above = x->dst_high * (INT64_C(1) << m->config->log_depth[ACC]);
    const int64_t dst = uop.dst + above + i * x->dst_out + j * x->dst_in;
    const int64_t src = uop.src + i * x->src_out + j * x->src_in;
    if (x->to_inp) {
        if (in_range(m, COMPUTE_UNIT, INP, dst, VTA_ERROR_INP_RANGE) && acc_ready(m, src, true)) {
            put_inp(m, x, src, dst);
        }
        return;
    }
    if (!acc_ready(m, dst, false) || !acc_ready(m, src, true)) {
        return;
    }
    for (int64_t lane = 0; lane < batch(m) * block_out(m); lane++) {
        put_acc(m, dst, lane, requant_lane(m, x, lane32(entry(m, ACC, src), lane), lane));
    }
    mark_acc(m, dst);
}

/* ---- instructions ---- */

static uint64_t uop_count(const interp_insn *x)
{
    return x->uop_end > x->uop_begin ? (uint64_t)(x->uop_end - x->uop_begin) : 0;
}

uint64_t interp_steps_of(const interp_insn *x)
{
    const uint64_t nest = (uint64_t)x->iter_out * (uint64_t)x->iter_in;
    switch (x->opcode) {
    case 0:
        return x->x_size == 0 ? 0
                              : (uint64_t)(x->y_pad_0 + x->y_size + x->y_pad_1) *
                                    (uint64_t)(x->x_pad_0 + x->x_size + x->x_pad_1);
    case 1: return (uint64_t)x->y_size * (uint64_t)x->x_size;
    case 5: return nest;
    case 3: return 0;
    default: return nest * uop_count(x);
    }
}

void interp_step(machine *m, int which)
{
    unit *x = &m->units[which];
    const interp_insn *insn = head(x);
    const int64_t n = (int64_t)x->at++;
    const int64_t uops = (int64_t)uop_count(insn);
    switch (insn->opcode) {
    case 0: load_step(m, which, insn, n); break;
    case 1: store_step(m, which, insn, n); break;
    case 2:
        gemm_step(m, insn, n / uops / insn->iter_in, n / uops % insn->iter_in, insn->uop_begin + n % uops);
        break;
    case 4:
        alu_step(m, insn, n / uops / insn->iter_in, n / uops % insn->iter_in, insn->uop_begin + n % uops);
        break;
    case 5: requant_step(m, insn, n / insn->iter_in, n % insn->iter_in); break;
    default: {
        const int64_t nest = insn->iter_out * insn->iter_in;
        depthwise_step(m, insn, n % nest / insn->iter_in, n % insn->iter_in, insn->uop_begin + n / nest);
        break;
    }
    }
}
