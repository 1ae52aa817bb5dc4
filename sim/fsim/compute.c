/* SPDX-License-Identifier: Apache-2.0
 *
 * ALU, REQUANT and DEPTHWISE (ISA.md §6 to §8): a loop nest is checked as a whole, then cut into lists of
 * steps.
 */
#include <string.h>

#include "fsim_internal.h"

/* A function that executes a list of steps. */
typedef void step_fn(const vta_fsim *f, const fsim_steps *steps, const void *argument);

/* Cuts a nest into lists: the micro-ops, times the inner loop while the list stays short. In order. */
static void run_steps(vta_fsim *f, const fsim_nest *nest, step_fn *run, const void *argument)
{
    enum { SHORT = 1 << 10 };
    uint32_t iter_in = nest->iter_in;
    fsim_steps steps = {.count = nest->uops, .dst = f->dst, .src = f->src};
    if (iter_in > 1 && (uint64_t)iter_in * nest->uops <= (nest->uops == 1 ? FSIM_LIST : SHORT)) {
        uint32_t n = 0;
        for (uint32_t j = 0; j < iter_in; j++) {
            for (uint32_t k = 0; k < nest->uops; k++, n++) {
                f->list[0][n] = f->dst[k] + j * nest->dst_in;
                f->list[1][n] = f->src[k] + j * nest->src_in;
            }
        }
        steps = (fsim_steps){.count = n, .dst = f->list[0], .src = f->list[1]};
        iter_in = 1;
    }
    for (uint32_t i = 0; i < nest->iter_out; i++) {
        for (uint32_t j = 0; j < iter_in && !fsim_stopped(f); j++) {
            steps.dst0 = i * nest->dst_out + j * nest->dst_in;
            steps.src0 = i * nest->src_out + j * nest->src_in;
            run(f, &steps, argument);
        }
    }
}

static uint64_t step_count(const fsim_nest *nest)
{
    return (uint64_t)nest->iter_out * nest->iter_in * nest->uops;
}

/* Both operands are in the accumulator scratchpad. */
static bool acc_in_range(const vta_fsim *f, const fsim_nest *nest)
{
    const uint32_t depth = f->config.depth[VTA_MEM_ACC];
    return vta_fsim_reach(nest, f->dst, nest->dst_out, nest->dst_in) < depth &&
           vta_fsim_reach(nest, f->src, nest->src_out, nest->src_in) < depth;
}

/* The accumulators that the steps of an instruction read. */
typedef struct acc_reads {
    bool dst, src;
} acc_reads;

/* Strict simulation, step by step, because a step may read what an earlier one wrote: one pass over the
 * micro-ops. */
static bool check_pass(vta_fsim *f, const fsim_nest *nest, acc_reads reads, uint32_t dst0, uint32_t src0)
{
    uint8_t *acc = f->written[VTA_MEM_ACC];
    for (uint32_t k = 0; k < nest->uops; k++) {
        const uint32_t dst = f->dst[k] + dst0;
        if ((reads.dst && acc[dst] == 0) || (reads.src && acc[f->src[k] + src0] == 0)) {
            return false;
        }
        acc[dst] = 1;
        f->written[VTA_MEM_OUT][dst] = 1;
    }
    return true;
}

static vta_error check_acc_reads(vta_fsim *f, const fsim_nest *nest, acc_reads reads)
{
    for (uint32_t i = 0; f->strict && i < nest->iter_out; i++) {
        for (uint32_t j = 0; j < nest->iter_in && !fsim_stopped(f); j++) {
            if (!check_pass(f, nest, reads, i * nest->dst_out + j * nest->dst_in,
                            i * nest->src_out + j * nest->src_in)) {
                return VTA_ERROR_UNWRITTEN;
            }
        }
    }
    return VTA_ERROR_NONE;
}

typedef struct alu_operation {
    vta_alu_op op;
    bool use_imm;
    int32_t imm;
} alu_operation;

static void run_alu(const vta_fsim *f, const fsim_steps *steps, const void *argument)
{
    const alu_operation *a = argument;
    f->kernel->alu(&f->mem, steps, a->op, a->use_imm, a->imm);
}

/* The operands that the ALU reads. An operation that moves does not read x. */
static acc_reads alu_reads(const vta_insn *insn)
{
    const bool imm = insn->alu.use_imm != 0;
    const bool moves = insn->alu.alu_op == VTA_ALU_MOV;
    if (insn->alu.alu_op == VTA_ALU_ROW) {
        return (acc_reads){.dst = vta_row_of(insn->alu.imm).function < VTA_ROW_MOV, .src = true};
    }
    return (acc_reads){.dst = !imm && !moves, .src = !imm || !moves};
}

vta_error vta_fsim_alu(vta_fsim *f, const vta_insn *insn)
{
    const uint32_t begin = (uint32_t)insn->alu.uop_begin;
    const uint32_t end = (uint32_t)insn->alu.uop_end;
    const bool in_place = insn->alu.use_imm != 0 && insn->alu.from_src == 0; /* src is dst */
    const fsim_nest nest = {
        .iter_out = (uint32_t)insn->alu.iter_out,
        .iter_in = (uint32_t)insn->alu.iter_in,
        .uops = end > begin ? end - begin : 0,
        .dst_out = (uint32_t)insn->alu.dst_out,
        .dst_in = (uint32_t)insn->alu.dst_in,
        .src_out = (uint32_t)(in_place ? insn->alu.dst_out : insn->alu.src_out),
        .src_in = (uint32_t)(in_place ? insn->alu.dst_in : insn->alu.src_in),
    };
    if (step_count(&nest) == 0) {
        return VTA_ERROR_NONE;
    }
    vta_error error = vta_fsim_decode_uops(f, begin, end);
    if (error == VTA_ERROR_NONE && in_place) {
        memcpy(f->src, f->dst, nest.uops * sizeof *f->src);
    }
    if (error == VTA_ERROR_NONE && !acc_in_range(f, &nest)) {
        error = VTA_ERROR_ACC_RANGE;
    }
    const alu_operation operation = {
        .op = (vta_alu_op)insn->alu.alu_op,
        .use_imm = insn->alu.use_imm != 0,
        .imm = (int32_t)insn->alu.imm,
    };
    if (error == VTA_ERROR_NONE) {
        error = check_acc_reads(f, &nest, alu_reads(insn));
    }
    if (error == VTA_ERROR_NONE && operation.op == VTA_ALU_ROW) {
        const vta_row row = vta_row_of(insn->alu.imm);
        run_steps(f, &nest, vta_fsim_run_row, &row);
    } else if (error == VTA_ERROR_NONE) {
        run_steps(f, &nest, run_alu, &operation);
    }
    if (error == VTA_ERROR_NONE) {
        f->report->counters.alu_steps += step_count(&nest);
    }
    return error;
}

/* The special form, which kernels have, or the general one: parameters of a REQUANT, and what works on them.
 */
typedef struct requant_form {
    void (*run)(const fsim_memory *m, const fsim_steps *steps, const struct requant_form *form);
    const fsim_kernel *kernel;
    const fsim_requant *special;
    const struct general_requant *general;
    uint32_t part; /* of INP entries */
} requant_form;

static void run_requant(const vta_fsim *f, const fsim_steps *steps, const void *argument)
{
    const requant_form *form = argument;
    form->run(&f->mem, steps, form);
}

/* A result becomes a part of an INP entry, each row of which the kernel keeps in a way of its own. */
static void put_part(const vta_fsim *f, uint32_t entry, uint32_t part, const int8_t *result)
{
    const fsim_memory *m = &f->mem;
    if (m->out == m->in) {
        f->kernel->pack_inp(m, entry * m->batch, result, m->batch);
        return;
    }
    for (uint32_t b = 0; b < m->batch; b++) {
        int8_t row[64]; /* the largest block_in */
        const uint8_t *kept = m->inp + ((size_t)entry * m->batch + b) * m->inp_row;
        for (uint32_t i = 0; i < m->in; i++) {
            row[i] = (int8_t)kept[(size_t)i * f->kernel->inp_bytes]; /* little endian */
        }
        memcpy(row + (size_t)part * m->out, result + (size_t)b * m->out, m->out);
        f->kernel->pack_inp(m, entry * m->batch + b, row, 1);
    }
}

/* With to_inp: a few results at a time in an accumulator of its own, and from there to INP. */
static void run_requant_to_inp(const vta_fsim *f, const fsim_steps *steps, const void *argument)
{
    enum { FEW = 16, LANES = 8 * 64 };
    static const uint32_t count_up[FEW] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const requant_form *form = argument;
    const size_t lanes = (size_t)f->mem.batch * f->mem.out;
    int32_t acc[FEW * LANES];
    int8_t out[FEW * LANES];
    fsim_memory m = f->mem;
    m.acc = acc;
    m.out8 = out;
    for (uint32_t s = 0; s < steps->count; s += FEW) {
        const uint32_t count = steps->count - s < FEW ? steps->count - s : FEW;
        for (uint32_t k = 0; k < count; k++) {
            const int32_t *from = f->mem.acc + (steps->src[s + k] + steps->src0) * lanes;
            memcpy(acc + k * lanes, from, lanes * sizeof *acc);
        }
        const fsim_steps few = {.count = count, .dst = count_up, .src = count_up};
        form->run(&m, &few, form);
        for (uint32_t k = 0; k < count; k++) {
            put_part(f, steps->dst[s + k] + steps->dst0, form->part, out + k * lanes);
        }
    }
}

static void run_special_requant(const fsim_memory *m, const fsim_steps *steps, const requant_form *form)
{
    form->kernel->requant(m, steps, form->special);
}

/* A parameter record, spread over 64-bit lanes. */
typedef struct record_lanes {
    int64_t mult[512], addend[512], shift[512]; /* the largest batch · block_out */
} record_lanes;

static void read_record(const vta_fsim *f, uint32_t first, bool wide, record_lanes *p)
{
    const size_t lanes = (size_t)f->mem.batch * f->mem.out;
    const int32_t *bias = f->mem.acc + first * lanes;
    const int32_t *scale = bias + lanes;
    const int32_t *shift = scale + lanes;
    for (size_t l = 0; l < lanes; l++) {
        const uint32_t bits = (uint32_t)scale[l];
        p->mult[l] = bits & (wide ? 0x7fffffff : 0xffffff);
        p->shift[l] = (wide ? (uint32_t)shift[l] : bits >> 24) & 63;
        p->addend[l] = bias[l] * p->mult[l];
    }
}

/* The general form: any rounding, wide multipliers, a table. |acc·mult + addend| <= 2^63 - 2^32 (ISA.md §8).
 */
typedef struct general_requant {
    const record_lanes *p;
    vta_rounding rounding;
    int64_t zero_point, low, high;
    const int8_t *table; /* by the result's byte, or NULL */
} general_requant;

/* value / 2^shift, rounded once: the quotient, one more where the bits below say so. */
static int64_t round_once(int64_t value, int64_t shift, vta_rounding rounding)
{
    const int64_t quotient = value >> shift;
    const uint64_t rest = (uint64_t)value & ((UINT64_C(1) << shift) - 1);
    const uint64_t half = (UINT64_C(1) << shift) >> 1; /* 0 where nothing is shifted out */
    if (rest != half || half == 0) {
        return quotient + (half != 0 && rest > half);
    }
    switch (rounding) {
    case VTA_ROUND_EVEN: return quotient + (quotient & 1);
    case VTA_ROUND_TWICE_OUT: return quotient + (value >= 0);
    case VTA_ROUND_UP:
    case VTA_ROUND_TWICE_UP:
    case VTA_ROUND_COUNT: break;
    }
    return quotient + 1;
}

static int64_t round_value(int64_t value, int64_t shift, vta_rounding rounding)
{
    enum { FIRST = 31 };
    if (rounding < VTA_ROUND_TWICE_UP) {
        return round_once(value, shift, rounding);
    }
    if (shift < FIRST) {
        return round_once(value, shift, VTA_ROUND_UP);
    }
    return round_once(round_once(value, FIRST, VTA_ROUND_UP), shift - FIRST, rounding);
}

static void run_general_requant(const fsim_memory *m, const fsim_steps *steps, const requant_form *form)
{
    const general_requant *q = form->general;
    const size_t lanes = (size_t)m->batch * m->out;
    for (uint32_t s = 0; s < steps->count; s++) {
        const int32_t *from = m->acc + (steps->src[s] + steps->src0) * lanes;
        int32_t *to = m->acc + (steps->dst[s] + steps->dst0) * lanes;
        int8_t *out = m->out8 + (steps->dst[s] + steps->dst0) * lanes;
        for (size_t l = 0; l < lanes; l++) {
            const int64_t value = from[l] * q->p->mult[l] + q->p->addend[l];
            const int64_t moved = round_value(value, q->p->shift[l], q->rounding) + q->zero_point;
            const int64_t result = moved < q->low ? q->low : moved > q->high ? q->high : moved;
            to[l] = q->table != NULL ? q->table[(uint8_t)result] : (int32_t)result;
            out[l] = (int8_t)to[l];
        }
    }
}

static void run_requants(vta_fsim *f, const fsim_nest *nest, const vta_insn *insn, record_lanes *lanes)
{
    step_fn *const run = insn->requant.to_inp != 0 ? run_requant_to_inp : run_requant;
    requant_form form = {.kernel = f->kernel, .part = (uint32_t)insn->requant.part};
    const bool is_long = insn->requant.long_result != 0;
    const int32_t low = is_long ? -(1 << 17) : (int32_t)insn->requant.low;
    const int32_t high = is_long ? (1 << 17) - 1 : (int32_t)insn->requant.high;
    if (insn->requant.rounding == VTA_ROUND_EVEN && !insn->requant.wide && insn->requant.table == 0) {
        for (size_t l = 0; l < (size_t)f->mem.batch * f->mem.out; l++) {
            lanes->shift[l] = lanes->shift[l] < FSIM_MAX_SHIFT ? lanes->shift[l] : FSIM_MAX_SHIFT;
        }
        const fsim_requant q = {
            .mult = lanes->mult,
            .addend = lanes->addend,
            .shift = lanes->shift,
            .zero_point = (int32_t)insn->requant.zero_point,
            .low = low,
            .high = high,
        };
        form.run = run_special_requant;
        form.special = &q;
        run_steps(f, nest, run, &form);
        return;
    }
    const int64_t table = insn->requant.table;
    const general_requant q = {
        .p = lanes,
        .rounding = (vta_rounding)insn->requant.rounding,
        .zero_point = insn->requant.zero_point,
        .low = low,
        .high = high,
        .table = table == 0 ? NULL : f->tab + ((table - 1) << (VTA_LOG_TABLE_WORDS + 2)),
    };
    form.run = run_general_requant;
    form.general = &q;
    run_steps(f, nest, run, &form);
}

/* Ranges of everything that a REQUANT names but its table; its micro-op is decoded. */
static vta_error check_requant_ranges(const vta_fsim *f, const fsim_nest *nest, const vta_insn *insn)
{
    const uint32_t *depth = f->config.depth;
    const uint32_t size = insn->requant.wide != 0 ? 4 : 2;
    const uint64_t records = f->aux[0] + (insn->requant.by_row != 0 ? nest->iter_out : 1);
    if (records * size > depth[VTA_MEM_ACC] ||
        vta_fsim_reach(nest, f->src, nest->src_out, nest->src_in) >= depth[VTA_MEM_ACC]) {
        return VTA_ERROR_ACC_RANGE;
    }
    const bool to_inp = insn->requant.to_inp != 0;
    const uint64_t dst = vta_fsim_reach(nest, f->dst, nest->dst_out, nest->dst_in);
    if (dst < depth[to_inp ? VTA_MEM_INP : VTA_MEM_ACC]) {
        return VTA_ERROR_NONE;
    }
    return to_inp ? VTA_ERROR_INP_RANGE : VTA_ERROR_ACC_RANGE;
}

static uint32_t record_at(const vta_fsim *f, const vta_insn *insn, uint32_t row)
{
    return (f->aux[0] + row) * (insn->requant.wide != 0 ? 4 : 2);
}

/* The passes of the outer loop that one record serves, from `row` on: one, or all. */
static fsim_nest passes_of_record(const fsim_nest *nest, const vta_insn *insn)
{
    fsim_nest passes = *nest;
    passes.iter_out = insn->requant.by_row != 0 ? 1 : nest->iter_out;
    return passes;
}

/* Strict simulation: record by record, because a pass may write the record of a later one. */
static vta_error check_record_reads(vta_fsim *f, const fsim_nest *nest, const vta_insn *insn)
{
    const fsim_nest passes = passes_of_record(nest, insn);
    const uint32_t dst = f->dst[0], src = f->src[0];
    vta_error error = VTA_ERROR_NONE;
    for (uint32_t row = 0; row < nest->iter_out && error == VTA_ERROR_NONE; row += passes.iter_out) {
        f->dst[0] = dst + row * nest->dst_out;
        f->src[0] = src + row * nest->src_out;
        if (!vta_fsim_written(f, VTA_MEM_ACC, record_at(f, insn, row), insn->requant.wide != 0 ? 3 : 2)) {
            error = VTA_ERROR_UNWRITTEN;
        } else if (insn->requant.to_inp == 0) {
            error = check_acc_reads(f, &passes, (acc_reads){.src = true});
        }
    }
    f->dst[0] = dst;
    f->src[0] = src;
    return error;
}

/* Strict simulation: what a REQUANT reads must have been written; notes what it writes. */
static vta_error check_requant_reads(vta_fsim *f, const fsim_nest *nest, const vta_insn *insn)
{
    const uint32_t words = 1U << VTA_LOG_TABLE_WORDS;
    const uint32_t table = (uint32_t)insn->requant.table;
    if (!f->strict) {
        return VTA_ERROR_NONE;
    }
    if (table > 0 && !vta_fsim_written(f, VTA_MEM_TAB, (table - 1) * words, words)) {
        return VTA_ERROR_UNWRITTEN;
    }
    const vta_error error = check_record_reads(f, nest, insn);
    if (error != VTA_ERROR_NONE || insn->requant.to_inp == 0) {
        return error;
    }
    if (!vta_fsim_nest_written(f, nest, VTA_MEM_ACC, f->src, nest->src_out, nest->src_in, 0)) {
        return VTA_ERROR_UNWRITTEN;
    }
    vta_fsim_nest_write_inp(f, nest, (uint32_t)insn->requant.part);
    return VTA_ERROR_NONE;
}

vta_error vta_fsim_requant(vta_fsim *f, const vta_insn *insn)
{
    const uint32_t uop = (uint32_t)insn->requant.uop;
    const fsim_nest nest = {
        .iter_out = (uint32_t)insn->requant.iter_out,
        .iter_in = (uint32_t)insn->requant.iter_in,
        .uops = 1,
        .dst_out = (uint32_t)insn->requant.dst_out,
        .dst_in = (uint32_t)insn->requant.dst_in,
        .src_out = (uint32_t)insn->requant.src_out,
        .src_in = (uint32_t)insn->requant.src_in,
    };
    if (step_count(&nest) == 0) {
        return VTA_ERROR_NONE;
    }
    vta_error error = vta_fsim_decode_uops(f, uop, uop + 1);
    if (error == VTA_ERROR_NONE) {
        f->dst[0] += (uint32_t)insn->requant.dst_high << f->config.log_depth[VTA_MEM_ACC];
        error = check_requant_ranges(f, &nest, insn);
    }
    if (error == VTA_ERROR_NONE) {
        error = check_requant_reads(f, &nest, insn);
    }
    if (error != VTA_ERROR_NONE) {
        return error;
    }
    const fsim_nest passes = passes_of_record(&nest, insn);
    for (uint32_t row = 0; row < nest.iter_out && !fsim_stopped(f); row += passes.iter_out) {
        record_lanes lanes;
        read_record(f, record_at(f, insn, row), insn->requant.wide != 0, &lanes);
        run_requants(f, &passes, insn, &lanes);
        f->dst[0] += nest.dst_out;
        f->src[0] += nest.src_out;
    }
    f->report->counters.requant_steps += step_count(&nest);
    return VTA_ERROR_NONE;
}

static void run_depthwise(const vta_fsim *f, const fsim_steps *steps, const void *argument)
{
    f->kernel->depthwise(&f->mem, steps, argument);
}

/* The window of an instruction; its weights change with the micro-op. */
typedef struct window_space {
    uint32_t offset[64];
    int32_t weight[64 * 64];
} window_space;

static fsim_window make_window(const vta_fsim *f, const vta_insn *insn, window_space *space)
{
    const uint32_t taps_x = (uint32_t)insn->depthwise.taps_x;
    const uint32_t taps_y = (uint32_t)insn->depthwise.taps_y;
    const uint32_t first = (uint32_t)insn->depthwise.group * f->mem.out;
    memset(space->offset, 0, sizeof space->offset);
    for (uint32_t r = 0; r < taps_y; r++) {
        for (uint32_t t = 0; t < taps_x; t++) {
            space->offset[r * taps_x + t] =
                r * (uint32_t)insn->depthwise.row_step + t * (uint32_t)insn->depthwise.col_step;
        }
    }
    return (fsim_window){
        .taps = taps_x * taps_y,
        .offset = space->offset,
        .weight = space->weight,
        .first = first,
        .lanes = f->mem.in - first < f->mem.out ? f->mem.in - first : f->mem.out,
        .zero = insn->depthwise.init != 0,
    };
}

static vta_error check_depthwise(vta_fsim *f, const fsim_nest *nest, const fsim_window *w)
{
    if (vta_fsim_reach(nest, f->dst, nest->dst_out, nest->dst_in) >= f->config.depth[VTA_MEM_ACC]) {
        return VTA_ERROR_ACC_RANGE;
    }
    if (w->taps > 0) {
        const uint32_t last = w->offset[w->taps - 1];
        if (vta_fsim_reach(nest, f->src, nest->src_out, nest->src_in) + last >=
            f->config.depth[VTA_MEM_INP]) {
            return VTA_ERROR_INP_RANGE;
        }
        if (vta_fsim_reach(nest, f->aux, 0, 0) >= f->config.depth[VTA_MEM_WGT]) {
            return VTA_ERROR_WGT_RANGE;
        }
        if (!vta_fsim_nest_written(f, nest, VTA_MEM_WGT, f->aux, 0, 0, 0)) {
            return VTA_ERROR_UNWRITTEN;
        }
    }
    for (uint32_t t = 0; t < w->taps; t++) {
        if (!vta_fsim_nest_written(f, nest, VTA_MEM_INP, f->src, nest->src_out, nest->src_in, w->offset[t])) {
            return VTA_ERROR_UNWRITTEN;
        }
    }
    if (!w->zero && !vta_fsim_nest_written(f, nest, VTA_MEM_ACC, f->dst, nest->dst_out, nest->dst_in, 0)) {
        return VTA_ERROR_UNWRITTEN;
    }
    vta_fsim_nest_write(f, nest);
    return VTA_ERROR_NONE;
}

/* One micro-op over the whole nest. */
static void run_window(vta_fsim *f, const fsim_nest *nest, uint32_t k, const fsim_window *w,
                       window_space *space)
{
    for (uint32_t t = 0; t < w->taps; t++) {
        for (uint32_t l = 0; l < w->lanes; l++) {
            space->weight[t * w->lanes + l] = f->kernel->weight(&f->mem, f->aux[k], t, w->first + l);
        }
    }
    const uint32_t dst = f->dst[0];
    const uint32_t src = f->src[0];
    fsim_nest one = *nest;
    one.uops = 1;
    f->dst[0] = f->dst[k];
    f->src[0] = f->src[k];
    run_steps(f, &one, run_depthwise, w);
    f->dst[0] = dst;
    f->src[0] = src;
}

/* The input columns that hardware takes for a nest (ISA.md §12): within the inner loop it does not take again
 * what an output shares with the one before it, and of some windows it takes three rows at once. */
static uint64_t window_columns(const vta_fsim *f, const fsim_nest *nest, const vta_insn *insn)
{
    const int64_t taps_x = insn->depthwise.taps_x, taps_y = insn->depthwise.taps_y;
    if (taps_x * taps_y == 0) {
        return step_count(nest);
    }
    const vta_window_steps steps = vta_window_steps_of(&f->config, taps_x, taps_y, insn->depthwise.col_step,
                                                       insn->depthwise.row_step, nest->src_in);
    const int64_t columns = taps_x + ((int64_t)nest->iter_in - 1) * (taps_x - steps.kept);
    return (uint64_t)nest->iter_out * nest->uops * (uint64_t)(columns * (taps_y / steps.rows));
}

vta_error vta_fsim_depthwise(vta_fsim *f, const vta_insn *insn)
{
    const uint32_t begin = (uint32_t)insn->depthwise.uop_begin;
    const uint32_t end = (uint32_t)insn->depthwise.uop_end;
    const fsim_nest nest = {
        .iter_out = (uint32_t)insn->depthwise.iter_out,
        .iter_in = (uint32_t)insn->depthwise.iter_in,
        .uops = end > begin ? end - begin : 0,
        .dst_out = (uint32_t)insn->depthwise.dst_out,
        .dst_in = (uint32_t)insn->depthwise.dst_in,
        .src_out = (uint32_t)insn->depthwise.src_out,
        .src_in = (uint32_t)insn->depthwise.src_in,
    };
    if (step_count(&nest) == 0) {
        return VTA_ERROR_NONE;
    }
    window_space space;
    const fsim_window window = make_window(f, insn, &space);
    vta_error error = vta_fsim_decode_uops(f, begin, end);
    if (error == VTA_ERROR_NONE) {
        error = check_depthwise(f, &nest, &window);
    }
    if (error == VTA_ERROR_NONE) {
        for (uint32_t k = 0; k < nest.uops && !fsim_stopped(f); k++) {
            run_window(f, &nest, k, &window, &space);
        }
        f->report->counters.depthwise_steps += window_columns(f, &nest, insn);
    }
    return error;
}
