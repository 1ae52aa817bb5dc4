/* SPDX-License-Identifier: Apache-2.0
 *
 * The typed calls of the compute unit: loop nests over micro-ops, and REQUANT.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "internal.h"

/* One index of a loop nest: a field of the kernel's micro-ops and its steps. */
typedef struct nest_index {
    const char *name;
    vta_memory memory;
    uint32_t field;
    int64_t step_out, step_in;
    int64_t window_y, row_step, window_x, col_step; /* depthwise source; counts 1 elsewhere */
    int64_t base;                                   /* added to the field */
} nest_index;

typedef struct loop_nest {
    vta_kernel handle;
    int64_t iter_out, iter_in;
    nest_index dst, inp, wgt, acc; /* memory COUNT: the instruction has none */
} loop_nest;

static const nest_index none = {.memory = VTA_MEM_COUNT};

static vta_status find_kernel(vta_stream *stream, vta_kernel handle)
{
    if (handle.index >= stream->uops.kernel_count) {
        return vta_fail(&stream->diag, VTA_INVALID, "kernel %" PRIu32 " was not recorded; the stream has %zu",
                        handle.index, stream->uops.kernel_count);
    }
    return VTA_OK;
}

/* After encoding, which has checked the fields. */
static vta_status check_walker(vta_stream *stream, const loop_nest *nest, const nest_index *walker)
{
    if (walker->memory == VTA_MEM_COUNT || nest->iter_out == 0 || nest->iter_in == 0) {
        return VTA_OK;
    }
    const kernel_record *kernel = &stream->uops.kernels[nest->handle.index];
    const int64_t last = walker->base + kernel->max[walker->field] + (nest->iter_out - 1) * walker->step_out +
                         (nest->iter_in - 1) * walker->step_in + (walker->window_y - 1) * walker->row_step +
                         (walker->window_x - 1) * walker->col_step;
    const int64_t depth = stream->config.depth[walker->memory];
    if (last >= depth) {
        return vta_fail(&stream->diag, VTA_RANGE, "%s reaches entry %" PRId64 ", but %s has %" PRId64,
                        walker->name, last, vta_memory_name(walker->memory), depth);
    }
    return VTA_OK;
}

static footprint footprint_of(const vta_stream *stream, const loop_nest *nest, const nest_index *walker)
{
    const kernel_record *kernel = &stream->uops.kernels[nest->handle.index];
    return (footprint){.bases = kernel->spans[walker->field],
                       .base_count = kernel->span_count[walker->field],
                       .offset = (uint32_t)walker->base,
                       .dim = {{(uint64_t)nest->iter_out, (uint64_t)walker->step_out},
                               {(uint64_t)nest->iter_in, (uint64_t)walker->step_in},
                               {(uint64_t)walker->window_y, (uint64_t)walker->row_step},
                               {(uint64_t)walker->window_x, (uint64_t)walker->col_step}}};
}

static uint32_t latest(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Everything that a loop nest over micro-ops reads from INP and WGT and writes to OUT or, if dst is there, to
 * INP: a LOAD must wait for such a write as for a read, and a write for the LOAD before it. */
static vta_status append_nest(vta_stream *stream, const loop_nest *nest, vta_word word)
{
    VTA_TRY(check_walker(stream, nest, &nest->dst));
    VTA_TRY(check_walker(stream, nest, &nest->acc));
    VTA_TRY(check_walker(stream, nest, &nest->inp));
    VTA_TRY(check_walker(stream, nest, &nest->wgt));
    const bool reads_inp = !stream->manual && nest->inp.memory != VTA_MEM_COUNT;
    const bool reads_wgt = !stream->manual && nest->wgt.memory != VTA_MEM_COUNT;
    const bool to_inp = nest->dst.memory == VTA_MEM_INP;
    const footprint dst = footprint_of(stream, nest, &nest->dst);
    const footprint inp = reads_inp ? footprint_of(stream, nest, &nest->inp) : (footprint){0};
    const footprint wgt = reads_wgt ? footprint_of(stream, nest, &nest->wgt) : (footprint){0};
    instant need = {0};
    need.at[LOAD_LINE] =
        latest(vta_marks_latest(stream->inp_writes, &inp), vta_marks_latest(stream->wgt_writes, &wgt));
    if (to_inp) {
        need.at[LOAD_LINE] = latest(need.at[LOAD_LINE], vta_marks_latest(stream->inp_writes, &dst));
    } else {
        need.at[STORE_LINE] = vta_marks_latest(stream->out_reads, &dst);
    }
    uint32_t position;
    VTA_TRY(vta_order_append(stream, COMPUTE_LINE, word, need, &position));
    vta_kernel_used(stream, nest->handle);
    vta_marks_set(stream->inp_uses, &inp, position);
    vta_marks_set(stream->wgt_reads, &wgt, position);
    vta_marks_set(to_inp ? stream->inp_uses : stream->out_writes, &dst, position);
    return VTA_OK;
}

/* Encodes with all that one instruction alone can get wrong found out. */
static vta_status encode_legal(vta_stream *stream, const vta_insn *insn, vta_word *word)
{
    vta_insn decoded;
    VTA_TRY(vta_insn_encode(&stream->config, insn, word, &stream->diag));
    return vta_insn_decode(&stream->config, *word, &decoded, &stream->diag);
}

static vta_status gemm(vta_stream *stream, const vta_gemm *args)
{
    uint32_t first = 0;
    VTA_TRY(find_kernel(stream, args->kernel));
    VTA_TRY(vta_kernel_require(stream, args->kernel, &first));
    vta_insn insn = {.opcode = VTA_OP_GEMM};
    insn.gemm.reset = args->reset;
    insn.gemm.init = args->init;
    insn.gemm.uop_begin = first;
    insn.gemm.uop_end = first + stream->uops.kernels[args->kernel.index].count;
    insn.gemm.iter_out = args->iter_out;
    insn.gemm.iter_in = args->iter_in;
    insn.gemm.dst_out = args->dst_out;
    insn.gemm.dst_in = args->dst_in;
    insn.gemm.src_out = args->src_out;
    insn.gemm.src_in = args->src_in;
    insn.gemm.wgt_out = args->wgt_out;
    insn.gemm.wgt_in = args->wgt_in;
    vta_word word;
    VTA_TRY(encode_legal(stream, &insn, &word));
    loop_nest nest = {args->kernel, args->iter_out, args->iter_in, none, none, none, none};
    nest.dst = (nest_index){"dst", VTA_MEM_ACC, UOP_DST, args->dst_out, args->dst_in, 1, 0, 1, 0, 0};
    if (!args->reset) {
        nest.inp = (nest_index){"src", VTA_MEM_INP, UOP_SRC, args->src_out, args->src_in, 1, 0, 1, 0, 0};
        nest.wgt = (nest_index){"wgt", VTA_MEM_WGT, UOP_AUX, args->wgt_out, args->wgt_in, 1, 0, 1, 0, 0};
    }
    return append_nest(stream, &nest, word);
}

void vta_stream_gemm(vta_stream *stream, const vta_gemm *args)
{
    if (vta_call_begin(stream, "gemm")) {
        (void)gemm(stream, args);
        vta_call_end(stream);
    }
}

static vta_status depthwise(vta_stream *stream, const vta_depthwise *args)
{
    uint32_t first = 0;
    VTA_TRY(find_kernel(stream, args->kernel));
    VTA_TRY(vta_kernel_require(stream, args->kernel, &first));
    vta_insn insn = {.opcode = VTA_OP_DEPTHWISE};
    insn.depthwise.init = args->init;
    insn.depthwise.uop_begin = first;
    insn.depthwise.uop_end = first + stream->uops.kernels[args->kernel.index].count;
    insn.depthwise.iter_out = args->iter_out;
    insn.depthwise.iter_in = args->iter_in;
    insn.depthwise.dst_out = args->dst_out;
    insn.depthwise.dst_in = args->dst_in;
    insn.depthwise.src_out = args->src_out;
    insn.depthwise.src_in = args->src_in;
    insn.depthwise.taps_x = args->taps_x;
    insn.depthwise.taps_y = args->taps_y;
    insn.depthwise.col_step = args->col_step;
    insn.depthwise.row_step = args->row_step;
    insn.depthwise.group = args->group;
    vta_word word;
    VTA_TRY(encode_legal(stream, &insn, &word));
    loop_nest nest = {args->kernel, args->iter_out, args->iter_in, none, none, none, none};
    nest.dst = (nest_index){"dst", VTA_MEM_ACC, UOP_DST, args->dst_out, args->dst_in, 1, 0, 1, 0, 0};
    if (args->taps_x > 0 && args->taps_y > 0) {
        nest.inp = (nest_index){"src",        VTA_MEM_INP,    UOP_SRC,      args->src_out,  args->src_in,
                                args->taps_y, args->row_step, args->taps_x, args->col_step, 0};
        nest.wgt = (nest_index){"wgt", VTA_MEM_WGT, UOP_AUX, 0, 0, 1, 0, 1, 0, 0};
    }
    return append_nest(stream, &nest, word);
}

void vta_stream_depthwise(vta_stream *stream, const vta_depthwise *args)
{
    if (vta_call_begin(stream, "depthwise")) {
        (void)depthwise(stream, args);
        vta_call_end(stream);
    }
}

/* The immediate of an operation, or the function on rows in its place. */
static vta_status alu_immediate(vta_stream *stream, const vta_alu *args, int64_t *imm)
{
    const bool rows = args->op == VTA_ALU_ROW;
    *imm = rows ? vta_row_imm(args->row) : args->imm;
    const vta_row row = vta_row_of(*imm);
    if (rows && (row.function != args->row.function || row.form != args->row.form ||
                 row.places != args->row.places)) {
        return vta_fail(&stream->diag, VTA_RANGE,
                        "row: function %" PRIu32 ", form %" PRIu32 ", places %" PRIu32
                        " do not fit (limits: 7, 3, 63)",
                        args->row.function, args->row.form, args->row.places);
    }
    return VTA_OK;
}

static vta_status alu(vta_stream *stream, const vta_alu *args)
{
    const bool imm = args->use_imm || args->op == VTA_ALU_ROW;
    uint32_t first = 0;
    VTA_TRY(find_kernel(stream, args->kernel));
    VTA_TRY(vta_kernel_require(stream, args->kernel, &first));
    vta_insn insn = {.opcode = VTA_OP_ALU};
    insn.alu.uop_begin = first;
    insn.alu.uop_end = first + stream->uops.kernels[args->kernel.index].count;
    insn.alu.iter_out = args->iter_out;
    insn.alu.iter_in = args->iter_in;
    insn.alu.dst_out = args->dst_out;
    insn.alu.dst_in = args->dst_in;
    insn.alu.src_out = args->src_out;
    insn.alu.src_in = args->src_in;
    insn.alu.alu_op = args->op;
    insn.alu.use_imm = imm;
    insn.alu.from_src = imm;
    VTA_TRY(alu_immediate(stream, args, &insn.alu.imm));
    vta_word word;
    VTA_TRY(encode_legal(stream, &insn, &word));
    loop_nest nest = {args->kernel, args->iter_out, args->iter_in, none, none, none, none};
    nest.dst = (nest_index){"dst", VTA_MEM_ACC, UOP_DST, args->dst_out, args->dst_in, 1, 0, 1, 0, 0};
    nest.acc = (nest_index){"src", VTA_MEM_ACC, UOP_SRC, args->src_out, args->src_in, 1, 0, 1, 0, 0};
    return append_nest(stream, &nest, word);
}

void vta_stream_alu(vta_stream *stream, const vta_alu *args)
{
    if (vta_call_begin(stream, "alu")) {
        (void)alu(stream, args);
        vta_call_end(stream);
    }
}

static vta_status check_entry(vta_stream *stream, const char *name, int64_t value, int64_t bound)
{
    if (value < 0 || value >= bound) {
        return vta_fail(&stream->diag, VTA_RANGE, "%s %" PRId64 " is not in 0 … %" PRId64, name, value,
                        bound - 1);
    }
    return VTA_OK;
}

static vta_status check_records(vta_stream *stream, const vta_requant *args)
{
    const int64_t records = stream->config.depth[VTA_MEM_ACC] / (args->wide ? 4 : 2);
    VTA_TRY(check_entry(stream, "params", args->params, records));
    if (args->by_row && args->iter_in > 0 && args->iter_out > records - args->params) {
        return vta_fail(&stream->diag, VTA_RANGE,
                        "params reaches record %" PRId64 " by row, but acc has %" PRId64,
                        args->params + args->iter_out - 1, records);
    }
    return VTA_OK;
}

/* `first`: the micro-op, which holds what of dst is below the depth of ACC. */
static vta_insn requant_insn(const vta_requant *args, uint32_t first, int64_t depth)
{
    vta_insn insn = {.opcode = VTA_OP_REQUANT};
    insn.requant.uop = first;
    insn.requant.iter_out = args->iter_out;
    insn.requant.iter_in = args->iter_in;
    insn.requant.zero_point = args->zero_point;
    insn.requant.dst_out = args->dst_out;
    insn.requant.dst_in = args->dst_in;
    insn.requant.src_out = args->src_out;
    insn.requant.src_in = args->src_in;
    insn.requant.low = args->low;
    insn.requant.high = args->high;
    insn.requant.rounding = args->rounding;
    insn.requant.wide = args->wide;
    insn.requant.table = args->table;
    insn.requant.to_inp = args->to_inp;
    insn.requant.part = args->part;
    insn.requant.long_result = args->long_result;
    insn.requant.by_row = args->by_row;
    insn.requant.dst_high = args->dst / depth;
    return insn;
}

static vta_status requant(vta_stream *stream, const vta_requant *args)
{
    const int64_t depth = stream->config.depth[VTA_MEM_ACC];
    const vta_memory target = args->to_inp ? VTA_MEM_INP : VTA_MEM_ACC;
    VTA_TRY(check_entry(stream, "dst", args->dst, stream->config.depth[target]));
    VTA_TRY(check_entry(stream, "src", args->src, depth));
    VTA_TRY(check_records(stream, args));
    const int64_t low = args->dst % depth; /* what a micro-op holds */
    const vta_uop uop = {.dst = (uint32_t)low, .src = (uint32_t)args->src, .aux = (uint32_t)args->params};
    const vta_kernel kernel = vta_stream_kernel(stream, &uop, 1);
    VTA_TRY(stream->diag.code);
    uint32_t first = 0;
    VTA_TRY(vta_kernel_require(stream, kernel, &first));
    const vta_insn insn = requant_insn(args, first, depth);
    vta_word word;
    VTA_TRY(encode_legal(stream, &insn, &word));
    loop_nest nest = {kernel, args->iter_out, args->iter_in, none, none, none, none};
    nest.dst = (nest_index){"dst", target, UOP_DST, args->dst_out, args->dst_in, 1, 0, 1, 0, args->dst - low};
    nest.acc = (nest_index){"src", VTA_MEM_ACC, UOP_SRC, args->src_out, args->src_in, 1, 0, 1, 0, 0};
    return append_nest(stream, &nest, word);
}

void vta_stream_requant(vta_stream *stream, const vta_requant *args)
{
    if (vta_call_begin(stream, "requant")) {
        (void)requant(stream, args);
        vta_call_end(stream);
    }
}

int32_t vta_requant_scale(uint32_t mult, uint32_t shift)
{
    enum { MULT_BITS = 24, SHIFT_BITS = 6 };
    const uint32_t lane = (mult & ((1U << MULT_BITS) - 1)) | (shift & ((1U << SHIFT_BITS) - 1)) << MULT_BITS;
    return (int32_t)lane;
}
