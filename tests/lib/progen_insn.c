/* SPDX-License-Identifier: Apache-2.0
 *
 * One random instruction at a time. Each works mostly inside a window of each scratchpad, so that units meet;
 * parameters are drawn so that most attempts are legal, and gen_take() refuses the others.
 */
#include <string.h>

#include "progen_internal.h"

enum { MAX_STEPS = 260, MAX_ROWS = 40, MAX_MACS = 400000, ATTEMPTS = 6 };

/* One index of a nest: base + i * out + j * in, for a window of entries. */
typedef struct stream {
    int64_t out, in;
    int64_t low, high; /* bounds of the base */
} stream;

typedef struct loops {
    int64_t out, in;
} loops;

static uint32_t below(gen *g, uint32_t bound)
{
    return rng_below(&g->random, bound);
}

static bool percent(gen *g, uint32_t p)
{
    return rng_percent(&g->random, p);
}

static int64_t between(gen *g, int64_t low, int64_t high)
{
    return high <= low ? low : rng_between(&g->random, low, high);
}

/* Mostly small, now and then near the limit. */
static int64_t size_up_to(gen *g, int64_t limit)
{
    const int64_t soft = percent(g, 70) ? 6 : percent(g, 70) ? 24 : limit;
    return between(g, 1, soft < limit ? soft : limit);
}

/* ---- loops ---- */

static loops draw_loops(gen *g, int64_t max)
{
    if (percent(g, 25)) {
        return (loops){1, 1};
    }
    const int64_t out = size_up_to(g, max);
    const int64_t in = size_up_to(g, max / out);
    return percent(g, 50) ? (loops){out, in} : (loops){in, out};
}

static int64_t draw_factor(gen *g, int64_t room, int64_t count, int64_t limit)
{
    if (count <= 1) {
        return percent(g, 50) ? 0 : between(g, 0, limit - 1); /* multiplied by 0 alone */
    }
    const int64_t max = room / (count - 1) < limit - 1 ? room / (count - 1) : limit - 1;
    return percent(g, 20) ? 0 : percent(g, 40) ? (max >= 1 ? 1 : 0) : between(g, 0, max);
}

/* Factors below `limit` such that some base keeps every index in the window; `span` entries follow each
 * index. */
static stream draw_stream(gen *g, gen_window window, int64_t limit, loops n, int64_t span)
{
    int64_t room = (int64_t)window.size - 1 - span;
    room = room < 0 ? 0 : room;
    stream s = {.low = window.base};
    s.out = draw_factor(g, room, n.out, limit);
    room -= n.out > 1 ? s.out * (n.out - 1) : 0;
    s.in = draw_factor(g, room, n.in, limit);
    room -= n.in > 1 ? s.in * (n.in - 1) : 0;
    s.high = s.low + room;
    return s;
}

static int64_t log_limit(const gen *g, vta_memory memory)
{
    return INT64_C(1) << g->config->log_depth[memory];
}

/* ---- loads ---- */

static const progen_segment *segment_of(gen *g, progen_style style, int64_t *index)
{
    const uint32_t first = below(g, VTA_SEGMENTS);
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        *index = (first + i) % VTA_SEGMENTS;
        if (g->program->segments[*index].style == style) {
            return &g->program->segments[*index];
        }
    }
    return NULL;
}

static void draw_pads(gen *g, vta_insn *insn)
{
    int64_t *pads[4] = {&insn->mem.y_pad_0, &insn->mem.y_pad_1, &insn->mem.x_pad_0, &insn->mem.x_pad_1};
    const uint32_t one = below(g, 4);
    const bool all = percent(g, 40);
    for (uint32_t i = 0; i < 4; i++) {
        if (all || i == one || percent(g, 20)) {
            *pads[i] = percent(g, 75) ? between(g, 0, 3) : between(g, 0, 15);
        }
    }
}

static int32_t draw_pad_value(gen *g)
{
    static const int32_t some[] = {0, 1, -1, 127, -128, 63, 64, -64, -65};
    return percent(g, 50) ? some[below(g, sizeof some / sizeof some[0])] : (int32_t)between(g, -128, 127);
}

static int64_t entries(const vta_insn *insn)
{
    return (insn->mem.y_pad_0 + insn->mem.y_size + insn->mem.y_pad_1) *
           (insn->mem.x_pad_0 + insn->mem.x_size + insn->mem.x_pad_1);
}

/* Takes away from the shape until it fits. */
static void shrink_to(vta_insn *insn, int64_t room)
{
    while (entries(insn) > room) {
        if (insn->mem.y_size > 1) {
            insn->mem.y_size /= 2;
        } else if (insn->mem.x_size > 1) {
            insn->mem.x_size /= 2;
        } else {
            insn->mem.y_pad_0 /= 2;
            insn->mem.y_pad_1 /= 2;
            insn->mem.x_pad_0 /= 2;
            insn->mem.x_pad_1 /= 2;
        }
    }
}

static void draw_shape(gen *g, vta_insn *insn, int64_t room)
{
    insn->mem.x_size = size_up_to(g, room);
    insn->mem.y_size = percent(g, 4) ? 0 : percent(g, 40) ? 1 : size_up_to(g, room);
    shrink_to(insn, room);
}

/* The row pitch in DRAM and the first element, inside the segment. */
static bool draw_place(gen *g, vta_insn *insn, const progen_segment *segment, bool overlap)
{
    const int64_t elements = (int64_t)(segment->size / g->config->elem_bytes[insn->mem.memory]);
    const int64_t rows = insn->mem.y_size;
    const int64_t x_size = insn->mem.x_size;
    if (rows <= 1) {
        insn->mem.x_stride = percent(g, 50) ? between(g, 0, 65535) : x_size;
    } else {
        const int64_t max = (elements - x_size) / (rows - 1);
        insn->mem.x_stride = percent(g, 35) ? x_size
                             : overlap && percent(g, 30)
                                 ? between(g, 0, x_size)
                                 : x_size + between(g, 0, percent(g, 70) ? 5 : max - x_size);
        if (overlap && percent(g, 8)) {
            insn->mem.x_stride = 0;
        }
    }
    const int64_t extent = rows == 0 ? 0 : (rows > 1 ? (rows - 1) * insn->mem.x_stride : 0) + x_size;
    if (extent > elements || insn->mem.x_stride > 65535) {
        return false;
    }
    insn->mem.dram_base = percent(g, 10) ? elements - extent : between(g, 0, elements - extent);
    return true;
}

static int64_t draw_sram(gen *g, vta_memory memory, int64_t count)
{
    const gen_window window = g->windows[gen_space(memory)];
    const int64_t depth = log_limit(g, gen_space(memory));
    if (percent(g, 6)) {
        return depth - count; /* up to the last entry */
    }
    if (percent(g, 10) || count > window.size) {
        return between(g, 0, depth - count);
    }
    return window.base + between(g, 0, window.size - count);
}

static bool random_load(gen *g, vta_memory memory)
{
    const int64_t window = g->windows[gen_space(memory)].size;
    vta_insn insn = {.opcode = VTA_OP_LOAD};
    insn.mem.memory = memory;
    if (percent(g, 45)) {
        draw_pads(g, &insn);
    }
    draw_shape(g, &insn, window);
    vta_insn_set_pad_value(&insn, memory == VTA_MEM_TAB ? 0 : draw_pad_value(g));
    const progen_segment *segment = segment_of(g, PROGEN_DATA, &insn.mem.segment);
    if (!draw_place(g, &insn, segment, true)) {
        return false;
    }
    insn.mem.sram_base = draw_sram(g, memory, entries(&insn));
    return gen_take(g, &insn);
}

/* WGT, or its form of four bits where there is one. */
static vta_memory draw_weights(gen *g)
{
    return g->config->wgt4 != 0 && percent(g, 50) ? VTA_MEM_WGT4 : VTA_MEM_WGT;
}

/* Loads what a recent STORE has written. */
static bool read_back(gen *g)
{
    static const vta_memory into[] = {VTA_MEM_INP, VTA_MEM_ACC8, VTA_MEM_ACC,
                                      VTA_MEM_INP, VTA_MEM_WGT,  VTA_MEM_TAB};
    if (g->store_node == 0) {
        return false;
    }
    const vta_insn *store = &g->nodes[g->store_node - 1].insn;
    vta_insn insn = {.opcode = VTA_OP_LOAD};
    insn.mem.memory = into[below(g, sizeof into / sizeof into[0])];
    if (insn.mem.memory == VTA_MEM_WGT) {
        insn.mem.memory = draw_weights(g);
    }
    const int64_t bytes = g->config->elem_bytes[insn.mem.memory];
    insn.mem.segment = store->mem.segment;
    insn.mem.dram_base = store->mem.dram_base * (int64_t)g->config->elem_bytes[VTA_MEM_OUT] / bytes;
    insn.mem.y_size = store->mem.y_size;
    insn.mem.x_size = store->mem.x_size;
    insn.mem.x_stride = store->mem.x_stride;
    const int64_t window = g->windows[gen_space((vta_memory)insn.mem.memory)].size;
    shrink_to(&insn, window);
    insn.mem.sram_base = draw_sram(g, (vta_memory)insn.mem.memory, entries(&insn));
    return gen_take(g, &insn);
}

bool gen_load_data(gen *g, vta_memory memory, int64_t sram, int64_t count)
{
    vta_insn insn = {.opcode = VTA_OP_LOAD};
    insn.mem.memory = memory;
    insn.mem.sram_base = sram;
    insn.mem.y_size = 1;
    insn.mem.x_size = count;
    const progen_segment *segment = segment_of(g, PROGEN_DATA, &insn.mem.segment);
    return draw_place(g, &insn, segment, true) && gen_take(g, &insn);
}

/* Fills the whole window if nothing is known of it. */
static void ensure_window(gen *g, vta_memory memory)
{
    const gen_window window = g->windows[memory];
    bool whole = true;
    for (uint32_t i = 0; i < window.size; i++) {
        whole = whole && gen_written(g, (int)memory, window.base + i);
    }
    if (whole) {
        return;
    }
    (void)gen_load_data(g, memory == VTA_MEM_WGT ? draw_weights(g) : memory, window.base, window.size);
}

void gen_ensure_compute(gen *g)
{
    ensure_window(g, VTA_MEM_ACC);
    ensure_window(g, VTA_MEM_INP);
    ensure_window(g, VTA_MEM_WGT);
}

/* ---- micro-ops ---- */

/* Loads `count` fresh micro-ops into the UOP scratchpad; the range is [*begin, *begin + count). */
bool gen_load_uops(gen *g, const vta_uop *uops, uint32_t count, uint32_t *begin)
{
    vta_insn insn = {.opcode = VTA_OP_LOAD};
    const progen_segment *segment = segment_of(g, PROGEN_UOPS, &insn.mem.segment);
    const uint32_t cursor = g->uop_cursor + below(g, 4);
    if (cursor + count > segment->size / VTA_UOP_BYTES || count > g->windows[VTA_MEM_UOP].size) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (vta_uop_encode(g->config, &uops[i], &g->program->uops[cursor + i], NULL) != VTA_OK) {
            return false;
        }
    }
    g->uop_cursor = cursor + count;
    insn.mem.memory = VTA_MEM_UOP;
    insn.mem.dram_base = cursor;
    insn.mem.x_size = count;
    insn.mem.y_size = 1;
    if (count % 2 == 0 && percent(g, 20)) { /* the same words as two rows */
        insn.mem.x_size = count / 2;
        insn.mem.y_size = 2;
    }
    insn.mem.x_stride = insn.mem.x_size;
    if (insn.mem.y_size == 1 && percent(g, 20)) {
        draw_pads(g, &insn);
    }
    if (entries(&insn) > g->windows[VTA_MEM_UOP].size) {
        insn.mem.x_pad_0 = insn.mem.x_pad_1 = insn.mem.y_pad_0 = insn.mem.y_pad_1 = 0;
    }
    insn.mem.sram_base = draw_sram(g, VTA_MEM_UOP, entries(&insn));
    const int64_t pitch = insn.mem.x_pad_0 + insn.mem.x_size + insn.mem.x_pad_1;
    *begin = (uint32_t)(insn.mem.sram_base + insn.mem.y_pad_0 * pitch + insn.mem.x_pad_0);
    return gen_take(g, &insn);
}

/* Some range of micro-ops that is already there, in which old kernels may mix. */
static bool resident_uops(gen *g, uint32_t count, uint32_t *begin)
{
    const gen_window window = g->windows[VTA_MEM_UOP];
    *begin = window.base + below(g, window.size - count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (!gen_written(g, VTA_MEM_UOP, *begin + i)) {
            return false;
        }
    }
    return true;
}

/* A kernel of `count` micro-ops whose indices stay in their streams; destinations come in runs. */
static bool kernel(gen *g, uint32_t count, const stream *dst, const stream *src, const stream *aux,
                   uint32_t *begin)
{
    vta_uop uops[MAX_STEPS];
    if (percent(g, 30) && count <= g->windows[VTA_MEM_UOP].size && resident_uops(g, count, begin)) {
        return true;
    }
    for (uint32_t i = 0; i < count; i++) {
        const bool run = i > 0 && percent(g, 50);
        uops[i].dst = run ? uops[i - 1].dst : (uint32_t)between(g, dst->low, dst->high);
        uops[i].src = (uint32_t)between(g, src->low, src->high);
        uops[i].aux = (uint32_t)between(g, aux->low, aux->high);
    }
    return gen_load_uops(g, uops, count, begin);
}

static uint32_t draw_uop_count(gen *g, loops n)
{
    const int64_t max = MAX_STEPS / (n.out * n.in);
    return (uint32_t)size_up_to(g, max < 1 ? 1 : max);
}

/* ---- compute ---- */

/* Now and then a nest does nothing, whatever the rest says. */
static void maybe_empty(gen *g, int64_t *iter_out, int64_t *iter_in, int64_t *begin, int64_t *end)
{
    if (!percent(g, 5)) {
        return;
    }
    switch (below(g, 4)) {
    case 0: *iter_out = 0; break;
    case 1: *iter_in = 0; break;
    case 2: *end = *begin; break;
    default:
        *end = between(g, 0, *begin);
        *iter_out = 16383;
        break;
    }
}

static bool random_gemm(gen *g)
{
    const int64_t macs = (int64_t)g->config->batch * g->config->block_in * g->config->block_out;
    vta_insn insn = {.opcode = VTA_OP_GEMM};
    insn.gemm.reset = percent(g, 15);
    insn.gemm.init = !insn.gemm.reset && percent(g, 40);
    gen_ensure_compute(g);
    const int64_t max = MAX_MACS / macs < MAX_STEPS ? MAX_MACS / macs : MAX_STEPS;
    const loops n = draw_loops(g, max < 4 ? 4 : max);
    const stream dst = draw_stream(g, g->windows[VTA_MEM_ACC], log_limit(g, VTA_MEM_ACC), n, 0);
    const stream src = draw_stream(g, g->windows[VTA_MEM_INP], log_limit(g, VTA_MEM_INP), n, 0);
    const stream wgt = draw_stream(g, g->windows[VTA_MEM_WGT], log_limit(g, VTA_MEM_WGT), n, 0);
    uint32_t begin = 0;
    const uint32_t count = draw_uop_count(g, n);
    if ((int64_t)count * n.out * n.in * macs > 2 * MAX_MACS || !kernel(g, count, &dst, &src, &wgt, &begin)) {
        return false;
    }
    insn.gemm.uop_begin = begin;
    insn.gemm.uop_end = begin + count;
    insn.gemm.iter_out = n.out;
    insn.gemm.iter_in = n.in;
    insn.gemm.dst_out = dst.out;
    insn.gemm.dst_in = dst.in;
    insn.gemm.src_out = src.out;
    insn.gemm.src_in = src.in;
    insn.gemm.wgt_out = wgt.out;
    insn.gemm.wgt_in = wgt.in;
    maybe_empty(g, &insn.gemm.iter_out, &insn.gemm.iter_in, &insn.gemm.uop_begin, &insn.gemm.uop_end);
    return gen_take(g, &insn);
}

static int64_t draw_immediate(gen *g, int64_t op)
{
    static const int64_t some[] = {0, 1, -1, 127, 128, -128, -129, 255, 256, 32767, -32768, 32766, -32767};
    static const int64_t shifts[] = {0, 1, -1, 31, -31, 30, -30, 8, 16, -16};
    if (op == VTA_ALU_SHR) {
        return percent(g, 50) ? shifts[below(g, sizeof shifts / sizeof shifts[0])] : between(g, -31, 31);
    }
    return percent(g, 60) ? some[below(g, sizeof some / sizeof some[0])] : between(g, -32768, 32767);
}

int64_t gen_row(gen *g)
{
    vta_row row = {.function = below(g, VTA_ROW_COUNT)};
    if (row.function <= VTA_ROW_MOV) {
        row.places = below(g, g->config->log_block_out);
    } else if (row.function >= VTA_ROW_RECIP) {
        row.form = below(g, VTA_ROW_FORM_COUNT);
        row.places = percent(g, 40) ? 0 : percent(g, 60) ? below(g, 20) : below(g, 64);
    }
    return vta_row_imm(row);
}

/* An operation, and what it takes for an immediate. */
static void draw_operation(gen *g, vta_insn *insn)
{
    if (g->config->rows != 0 && percent(g, 40)) {
        insn->alu.alu_op = VTA_ALU_ROW;
        insn->alu.use_imm = insn->alu.from_src = 1;
        insn->alu.imm = gen_row(g);
        return;
    }
    insn->alu.alu_op = below(g, VTA_ALU_ROW);
    insn->alu.use_imm = percent(g, 50);
    insn->alu.from_src = insn->alu.use_imm && percent(g, 50);
    insn->alu.imm = insn->alu.use_imm || percent(g, 20) ? draw_immediate(g, insn->alu.alu_op) : 0;
}

static bool random_alu(gen *g)
{
    static const stream any = {0, 0, 0, 0};
    vta_insn insn = {.opcode = VTA_OP_ALU};
    ensure_window(g, VTA_MEM_ACC);
    draw_operation(g, &insn);
    insn.alu.ignored = percent(g, 10);
    const loops n = draw_loops(g, MAX_STEPS);
    const stream dst = draw_stream(g, g->windows[VTA_MEM_ACC], log_limit(g, VTA_MEM_ACC), n, 0);
    stream src = draw_stream(g, g->windows[VTA_MEM_ACC], log_limit(g, VTA_MEM_ACC), n, 0);
    if (insn.alu.use_imm && !insn.alu.from_src &&
        percent(g, 30)) { /* nobody reads it: beyond the scratchpad, too */
        const int64_t max = g->config->log_depth[VTA_MEM_INP] > g->config->log_depth[VTA_MEM_ACC]
                                ? log_limit(g, VTA_MEM_INP)
                                : log_limit(g, VTA_MEM_ACC);
        src = (stream){.high = max - 1};
        src.out = below(g, (uint32_t)log_limit(g, VTA_MEM_ACC));
        src.in = below(g, (uint32_t)log_limit(g, VTA_MEM_ACC));
    }
    uint32_t begin = 0;
    const uint32_t count = draw_uop_count(g, n);
    if (!kernel(g, count, &dst, &src, &any, &begin)) {
        return false;
    }
    insn.alu.uop_begin = begin;
    insn.alu.uop_end = begin + count;
    insn.alu.iter_out = n.out;
    insn.alu.iter_in = n.in;
    insn.alu.dst_out = dst.out;
    insn.alu.dst_in = dst.in;
    insn.alu.src_out = src.out;
    insn.alu.src_in = src.in;
    maybe_empty(g, &insn.alu.iter_out, &insn.alu.iter_in, &insn.alu.uop_begin, &insn.alu.uop_end);
    return gen_take(g, &insn);
}

/* The pairs of DRAM serve as records of four entries, too. */
bool gen_load_parameters(gen *g, int64_t first, int64_t size)
{
    vta_insn insn = {.opcode = VTA_OP_LOAD};
    const progen_segment *segment = segment_of(g, PROGEN_PARAMS, &insn.mem.segment);
    const int64_t pairs = (int64_t)(segment->size / g->config->elem_bytes[VTA_MEM_ACC] / 2);
    insn.mem.memory = VTA_MEM_ACC;
    if (size > 2 * pairs) {
        return false;
    }
    insn.mem.sram_base = first;
    insn.mem.dram_base = 2 * between(g, 0, pairs - size / 2);
    insn.mem.x_size = size;
    insn.mem.y_size = 1;
    insn.mem.x_stride = size;
    return gen_take(g, &insn);
}

static void draw_clip(gen *g, vta_insn *insn)
{
    insn->requant.zero_point = percent(g, 40) ? 0 : between(g, -128, 127);
    if (insn->requant.long_result) {
        insn->requant.zero_point = 0;
        return;
    }
    insn->requant.low = -128;
    insn->requant.high = 127;
    if (percent(g, 40)) {
        insn->requant.low = between(g, -128, 127);
        insn->requant.high = percent(g, 20) ? insn->requant.low : between(g, insn->requant.low, 127);
    }
}

/* The place of results in INP: one base, of which a micro-op holds the low bits. */
static stream inp_stream(gen *g, vta_insn *insn, loops n)
{
    const int64_t acc = log_limit(g, VTA_MEM_ACC);
    stream s = draw_stream(g, g->windows[VTA_MEM_INP], INT64_C(1) << 11, n, 0);
    const int64_t base = between(g, s.low, s.high);
    const int64_t parts = g->config->block_in / g->config->block_out;
    insn->requant.dst_high = base / acc;
    insn->requant.part = percent(g, 50) ? 0 : between(g, 0, parts < 4 ? parts - 1 : 3);
    s.low = s.high = base % acc;
    return s;
}

static bool random_requant(gen *g)
{
    vta_insn insn = {.opcode = VTA_OP_REQUANT};
    ensure_window(g, VTA_MEM_ACC);
    const gen_window window = g->windows[VTA_MEM_ACC];
    insn.requant.rounding = percent(g, 50) ? 0 : below(g, VTA_ROUND_COUNT);
    insn.requant.wide = percent(g, 30);
    insn.requant.by_row = g->config->rows != 0 && percent(g, 40);
    insn.requant.long_result = g->config->rows != 0 && percent(g, 30);
    insn.requant.table = percent(g, 30) && !insn.requant.long_result ? between(g, 1, VTA_TABLES) : 0;
    if (insn.requant.table != 0) {
        ensure_window(g, VTA_MEM_TAB);
    }
    const loops n = draw_loops(g, insn.requant.by_row ? MAX_ROWS : MAX_STEPS);
    const int64_t size = insn.requant.wide ? 4 : 2;
    const int64_t pair = (window.base + below(g, window.size - 1) + size - 1) / size;
    const int64_t records = insn.requant.by_row ? n.out : 1;
    if (size * (pair + records) > log_limit(g, VTA_MEM_ACC) ||
        (percent(g, 85) && !gen_load_parameters(g, size * pair, size * records))) {
        return false;
    }
    insn.requant.to_inp =
        g->config->block_out <= g->config->block_in && !insn.requant.long_result && percent(g, 45);
    const stream dst = insn.requant.to_inp ? inp_stream(g, &insn, n)
                                           : draw_stream(g, window, log_limit(g, VTA_MEM_ACC), n, 0);
    const stream src = draw_stream(g, window, log_limit(g, VTA_MEM_ACC), n, 0);
    const stream aux = {.low = pair, .high = pair};
    uint32_t begin = 0;
    if (!kernel(g, 1, &dst, &src, &aux, &begin)) {
        return false;
    }
    draw_clip(g, &insn);
    insn.requant.uop = begin;
    insn.requant.iter_out = percent(g, 4) ? 0 : n.out;
    insn.requant.iter_in = percent(g, 4) ? 0 : n.in;
    insn.requant.dst_out = dst.out;
    insn.requant.dst_in = dst.in;
    insn.requant.src_out = src.out;
    insn.requant.src_in = src.in;
    return gen_take(g, &insn);
}

static void draw_taps(gen *g, vta_insn *insn)
{
    const int64_t max = g->config->block_out;
    const uint32_t kind = below(g, 10);
    if (kind < 4 && max >= 9) {
        insn->depthwise.taps_x = insn->depthwise.taps_y = 3;
    } else {
        insn->depthwise.taps_x = between(g, kind == 4 ? 0 : 1, max < 15 ? max : 15);
        const int64_t rows = insn->depthwise.taps_x == 0 ? 15 : max / insn->depthwise.taps_x;
        insn->depthwise.taps_y = between(g, kind == 5 ? 0 : 1, rows < 15 ? rows : 15);
        if (percent(g, 25)) {
            insn->depthwise.taps_y = insn->depthwise.taps_x;
            insn->depthwise.taps_x = 1;
        }
    }
    insn->depthwise.col_step = percent(g, 60) ? 1 : between(g, 0, 7);
    insn->depthwise.row_step = percent(g, 60) ? between(g, 0, 8) : between(g, 0, 255);
}

/* Entries behind an index that the window of taps reaches; steps are cut down until it fits the window of
 * entries. */
static int64_t reach(gen *g, vta_insn *insn)
{
    const int64_t room = g->windows[VTA_MEM_INP].size;
    for (;;) {
        const int64_t rows = insn->depthwise.taps_y - 1;
        const int64_t columns = insn->depthwise.taps_x - 1;
        const int64_t span = rows < 0 || columns < 0
                                 ? 0
                                 : rows * insn->depthwise.row_step + columns * insn->depthwise.col_step;
        if (span < room) {
            return span;
        }
        insn->depthwise.row_step /= 2;
        insn->depthwise.col_step -= insn->depthwise.row_step == 0 && insn->depthwise.col_step > 0 ? 1 : 0;
    }
}

static bool random_depthwise(gen *g)
{
    vta_insn insn = {.opcode = VTA_OP_DEPTHWISE};
    gen_ensure_compute(g);
    draw_taps(g, &insn);
    const int64_t span = reach(g, &insn);
    insn.depthwise.init = percent(g, 50);
    insn.depthwise.group = g->config->block_out < g->config->block_in && percent(g, 50);
    const loops n = draw_loops(g, MAX_STEPS);
    const gen_window wgt = g->windows[VTA_MEM_WGT];
    const stream dst = draw_stream(g, g->windows[VTA_MEM_ACC], log_limit(g, VTA_MEM_ACC), n, 0);
    const stream src = draw_stream(g, g->windows[VTA_MEM_INP], INT64_C(1) << 11, n, span);
    const stream aux = {.low = wgt.base, .high = wgt.base + wgt.size - 1};
    uint32_t begin = 0;
    const uint32_t count = draw_uop_count(g, n);
    if (!kernel(g, count, &dst, &src, &aux, &begin)) {
        return false;
    }
    insn.depthwise.uop_begin = begin;
    insn.depthwise.uop_end = begin + count;
    insn.depthwise.iter_out = n.out;
    insn.depthwise.iter_in = n.in;
    insn.depthwise.dst_out = dst.out;
    insn.depthwise.dst_in = dst.in;
    insn.depthwise.src_out = src.out;
    insn.depthwise.src_in = src.in;
    maybe_empty(g, &insn.depthwise.iter_out, &insn.depthwise.iter_in, &insn.depthwise.uop_begin,
                &insn.depthwise.uop_end);
    return gen_take(g, &insn);
}

/* ---- stores, nops ---- */

/* A run of written OUT entries. */
static int64_t written_out(gen *g, uint32_t *first)
{
    const gen_window window = g->windows[VTA_MEM_ACC];
    const uint32_t end = window.base + window.size;
    *first = window.base + below(g, window.size);
    while (*first < end && !gen_written(g, VTA_MEM_OUT, *first)) {
        ++*first;
    }
    uint32_t last = *first;
    while (last < end && gen_written(g, VTA_MEM_OUT, last)) {
        last++;
    }
    return (int64_t)last - *first;
}

static bool random_store(gen *g)
{
    uint32_t first = 0;
    const int64_t run = written_out(g, &first);
    if (run == 0) {
        return false;
    }
    vta_insn insn = {.opcode = VTA_OP_STORE};
    insn.mem.memory = VTA_MEM_OUT;
    draw_shape(g, &insn, run);
    if (insn.mem.y_size > 0 && percent(g, 30)) { /* all of the run */
        insn.mem.x_size = run / insn.mem.y_size;
    }
    insn.mem.sram_base = first + between(g, 0, run - insn.mem.y_size * insn.mem.x_size);
    const progen_segment *segment = segment_of(g, PROGEN_DATA, &insn.mem.segment);
    if (!draw_place(g, &insn, segment, false) || !gen_take(g, &insn)) {
        return false;
    }
    g->store_node = g->node_count;
    return true;
}

bool gen_store_run(gen *g, uint32_t first, uint32_t count)
{
    vta_insn insn = {.opcode = VTA_OP_STORE};
    insn.mem.memory = VTA_MEM_OUT;
    insn.mem.sram_base = first;
    insn.mem.y_size = 1;
    insn.mem.x_size = count;
    const progen_segment *segment = segment_of(g, PROGEN_DATA, &insn.mem.segment);
    if (!draw_place(g, &insn, segment, false) || !gen_take(g, &insn)) {
        return false;
    }
    g->store_node = g->node_count;
    return true;
}

vta_insn gen_nop(gen *g, int unit)
{
    static const vta_memory of_load[] = {VTA_MEM_INP, VTA_MEM_WGT, VTA_MEM_WGT4};
    static const vta_memory of_compute[] = {VTA_MEM_UOP, VTA_MEM_ACC, VTA_MEM_ACC8, VTA_MEM_TAB};
    vta_insn insn = {.opcode = VTA_OP_LOAD};
    insn.mem.memory = unit == GEN_LOAD ? of_load[below(g, g->config->wgt4 ? 3 : 2)]
                                       : of_compute[below(g, g->config->table ? 4 : 3)];
    if (unit == GEN_STORE) {
        insn.opcode = VTA_OP_STORE;
        insn.mem.memory = VTA_MEM_OUT;
    }
    if (percent(g, 30)) { /* whatever the other fields say */
        insn.mem.y_size = between(g, 0, 16383);
        insn.mem.x_stride = between(g, 0, 65535);
        insn.mem.sram_base = between(g, 0, 8191);
        insn.mem.dram_base = between(g, 0, UINT32_MAX);
        insn.mem.segment = below(g, VTA_SEGMENTS);
        draw_pads(g, &insn);
        vta_insn_set_pad_value(&insn, draw_pad_value(g));
        if (unit == GEN_STORE) {
            insn.mem.memory = below(g, g->config->wgt4 ? VTA_MEM_COUNT : VTA_MEM_WGT4);
        }
    }
    return insn;
}

static bool random_nop(gen *g)
{
    const vta_insn insn = gen_nop(g, (int)below(g, GEN_UNITS));
    return gen_take(g, &insn);
}

static bool random_once(gen *g)
{
    const uint32_t kind = below(g, 100);
    if (kind < 12) {
        return random_load(g, VTA_MEM_INP);
    }
    if (kind < 20) {
        return random_load(g, draw_weights(g));
    }
    if (kind < 26) {
        return random_load(g, VTA_MEM_ACC);
    }
    if (kind < 30) {
        return random_load(g, VTA_MEM_ACC8);
    }
    if (kind < 32) {
        return random_load(g, VTA_MEM_TAB);
    }
    if (kind < 47) {
        return random_gemm(g);
    }
    if (kind < 63) {
        return random_alu(g);
    }
    if (kind < 72) {
        return random_requant(g);
    }
    if (kind < 81) {
        return random_depthwise(g);
    }
    if (kind < 92) {
        return random_store(g);
    }
    return kind < 97 ? read_back(g) : random_nop(g);
}

void gen_random_insn(gen *g)
{
    for (int attempt = 0; attempt < ATTEMPTS && !g->no_memory; attempt++) {
        if (random_once(g)) {
            return;
        }
    }
    (void)random_nop(g);
}
