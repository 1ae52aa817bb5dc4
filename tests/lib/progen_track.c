/* SPDX-License-Identifier: Apache-2.0
 *
 * Who touched what, and the tokens that order it.
 *
 * Each instruction is walked step by step, as the machine would execute it. `known[u][v]` is a vector clock:
 * it says which instructions of unit v are over before the next one of unit u starts. Where a conflict is not
 * covered by it, a push is put on an instruction of v at or after the one that matters and the tokens of that
 * queue are popped until that one has come. Pushes always stand before their pops in program order, so that
 * program order itself is one possible execution.
 */
#include <stdlib.h>
#include <string.h>

#include "progen_internal.h"

enum { MAX_VISITS = 300000, HIGH_WATER = 200, MAX_RANDOM_PUSH_PERCENT = 8 };

static const int writer_of[GEN_SPACES] = {
    [VTA_MEM_UOP] = GEN_COMPUTE, [VTA_MEM_WGT] = GEN_LOAD,    [VTA_MEM_INP] = GEN_LOAD,
    [VTA_MEM_ACC] = GEN_COMPUTE, [VTA_MEM_OUT] = GEN_COMPUTE, [GEN_DRAM] = GEN_STORE,
    [VTA_MEM_TAB] = GEN_COMPUTE,
};

/* ---- walking an instruction ---- */

/* One walk: `record` false checks and collects what must be over before; true enters the accesses. */
typedef struct walk {
    gen *g;
    int unit;
    bool record;
    uint32_t trial; /* stamps entries that this walk has written */
    uint32_t visits;
    uint32_t need[GEN_UNITS];
} walk;

static void at_least(uint32_t *value, uint32_t bound)
{
    if (*value < bound) {
        *value = bound;
    }
}

/* An INP entry is written, too, when all its parts are. */
bool gen_written(const gen *g, int space, uint32_t index)
{
    const uint32_t parts = g->config->block_in / g->config->block_out;
    const bool whole = space == VTA_MEM_INP && parts > 0 && g->inp_parts[index] == (1U << parts) - 1;
    return whole || g->cells[space][index].write != 0;
}

static bool visit(walk *w, int space, int64_t index, bool write)
{
    const int64_t limit = space == GEN_DRAM ? (int64_t)(w->g->program->arena_size / GEN_GRANULE)
                                            : (int64_t)w->g->config->depth[space];
    if (index < 0 || index >= limit || ++w->visits > MAX_VISITS) {
        return false;
    }
    gen_cell *cell = &w->g->cells[space][index];
    const int writer = writer_of[space];
    if (w->record) {
        *(write && writer == w->unit ? &cell->write : &cell->read[w->unit]) = w->g->count[w->unit] + 1;
        return true;
    }
    if (writer != w->unit) {
        at_least(&w->need[writer], cell->write);
    }
    for (int other = 0; write && other < GEN_UNITS; other++) {
        if (other != w->unit) {
            at_least(&w->need[other], cell->read[other]);
        }
    }
    return true;
}

/* The same for a scratchpad entry that must have been written before it is read; `stamps` remember this
 * walk's writes. */
static bool touch(walk *w, int space, int64_t index, bool write, bool *stamps)
{
    if (!visit(w, space, index, write)) {
        return false;
    }
    if (write) {
        if (stamps != NULL) {
            stamps[index] = true;
        }
        return true;
    }
    return w->record || gen_written(w->g, space, (uint32_t)index) || (stamps != NULL && stamps[index]);
}

/* ACC[dst] written, and OUT[dst] with it. */
static bool touch_result(walk *w, int64_t index, bool *stamps)
{
    return touch(w, VTA_MEM_ACC, index, true, stamps) && visit(w, VTA_MEM_OUT, index, true);
}

static bool walk_element(walk *w, const vta_insn *insn, int64_t element, bool write)
{
    const progen_segment *segment = &w->g->program->segments[insn->mem.segment];
    const uint64_t bytes = w->g->config->elem_bytes[insn->mem.memory];
    const uint64_t at = (uint64_t)element * bytes;
    const bool uops = insn->mem.memory == VTA_MEM_UOP;
    if (at + bytes > segment->size || (uops && segment->style != PROGEN_UOPS) ||
        (write && segment->style != PROGEN_DATA)) {
        return false;
    }
    for (uint64_t i = 0; i < bytes; i += GEN_GRANULE) {
        if (!visit(w, GEN_DRAM, (int64_t)((segment->offset + at + i) / GEN_GRANULE), write)) {
            return false;
        }
    }
    return true;
}

static void load_uop_word(gen *g, int64_t index, int64_t element)
{
    g->uop_words[index] = element < 0 ? 0 : g->program->uops[element];
}

static bool walk_load(walk *w, const vta_insn *insn)
{
    const int space = (int)gen_space((vta_memory)insn->mem.memory);
    const int64_t pitch = insn->mem.x_pad_0 + insn->mem.x_size + insn->mem.x_pad_1;
    const int64_t rows = insn->mem.y_pad_0 + insn->mem.y_size + insn->mem.y_pad_1;
    for (int64_t i = 0; i < rows * pitch; i++) {
        const int64_t y = i / pitch - insn->mem.y_pad_0;
        const int64_t x = i % pitch - insn->mem.x_pad_0;
        const bool inside = y >= 0 && y < insn->mem.y_size && x >= 0 && x < insn->mem.x_size;
        const int64_t element = inside ? insn->mem.dram_base + y * insn->mem.x_stride + x : -1;
        if ((inside && !walk_element(w, insn, element, false)) ||
            !visit(w, space, insn->mem.sram_base + i, true)) {
            return false;
        }
        if (w->record && space == VTA_MEM_UOP) {
            load_uop_word(w->g, insn->mem.sram_base + i, element);
        }
    }
    return true;
}

/* Rows of a STORE must not overlap: their order within one instruction is nobody's business. */
static bool walk_store(walk *w, const vta_insn *insn)
{
    if (insn->mem.y_size > 1 && insn->mem.x_stride < insn->mem.x_size) {
        return false;
    }
    for (int64_t i = 0; i < insn->mem.y_size * insn->mem.x_size; i++) {
        const int64_t element =
            insn->mem.dram_base + i / insn->mem.x_size * insn->mem.x_stride + i % insn->mem.x_size;
        if (!touch(w, VTA_MEM_OUT, insn->mem.sram_base + i, false, NULL) ||
            !walk_element(w, insn, element, true)) {
            return false;
        }
    }
    return true;
}

static bool fetch_uop(walk *w, int64_t index, vta_uop *uop)
{
    if (!touch(w, VTA_MEM_UOP, index, false, NULL)) {
        return false;
    }
    *uop = vta_uop_decode(w->g->config, w->g->uop_words[index]);
    return true;
}

static bool walk_gemm_step(walk *w, const vta_insn *insn, int64_t i, int64_t j, int64_t k, bool *stamps)
{
    vta_uop uop;
    vta_uop before = {.dst = UINT32_MAX};
    if (!fetch_uop(w, k, &uop)) {
        return false;
    }
    if (k > insn->gemm.uop_begin) {
        before = vta_uop_decode(w->g->config, w->g->uop_words[k - 1]);
    }
    const int64_t dst = uop.dst + i * insn->gemm.dst_out + j * insn->gemm.dst_in;
    if (insn->gemm.reset) {
        return touch_result(w, dst, stamps);
    }
    const bool from_zero = insn->gemm.init && before.dst != uop.dst;
    return (from_zero || touch(w, VTA_MEM_ACC, dst, false, stamps)) &&
           touch(w, VTA_MEM_INP, uop.src + i * insn->gemm.src_out + j * insn->gemm.src_in, false, NULL) &&
           touch(w, VTA_MEM_WGT, uop.aux + i * insn->gemm.wgt_out + j * insn->gemm.wgt_in, false, NULL) &&
           touch_result(w, dst, stamps);
}

static bool walk_alu_step(walk *w, const vta_insn *insn, int64_t i, int64_t j, int64_t k, bool *stamps)
{
    vta_uop uop;
    if (!fetch_uop(w, k, &uop)) {
        return false;
    }
    const int64_t dst = uop.dst + i * insn->alu.dst_out + j * insn->alu.dst_in;
    const int64_t src = uop.src + i * insn->alu.src_out + j * insn->alu.src_in;
    const bool uses_src = !insn->alu.use_imm || insn->alu.from_src;
    const bool joins = insn->alu.alu_op == VTA_ALU_ROW && vta_row_of(insn->alu.imm).function <= VTA_ROW_ADD;
    return (!uses_src || touch(w, VTA_MEM_ACC, src, false, stamps)) &&
           ((insn->alu.from_src && !joins) || touch(w, VTA_MEM_ACC, dst, false, stamps)) &&
           touch_result(w, dst, stamps);
}

static bool walk_depthwise_step(walk *w, const vta_insn *insn, int64_t i, int64_t j, int64_t k, bool *stamps)
{
    vta_uop uop;
    if (!fetch_uop(w, k, &uop)) {
        return false;
    }
    const int64_t dst = uop.dst + i * insn->depthwise.dst_out + j * insn->depthwise.dst_in;
    const int64_t src = uop.src + i * insn->depthwise.src_out + j * insn->depthwise.src_in;
    const int64_t taps = insn->depthwise.taps_y * insn->depthwise.taps_x;
    if ((!insn->depthwise.init && !touch(w, VTA_MEM_ACC, dst, false, stamps)) ||
        (taps > 0 && !touch(w, VTA_MEM_WGT, uop.aux, false, NULL))) {
        return false;
    }
    for (int64_t t = 0; t < taps; t++) {
        const int64_t at = src + t / insn->depthwise.taps_x * insn->depthwise.row_step +
                           t % insn->depthwise.taps_x * insn->depthwise.col_step;
        if (!touch(w, VTA_MEM_INP, at, false, NULL)) {
            return false;
        }
    }
    return touch_result(w, dst, stamps);
}

static bool walk_parameters(walk *w, const vta_insn *insn, int64_t aux, bool *stamps)
{
    const int64_t size = insn->requant.wide ? 4 : 2;
    if (size * (aux + 1) > (int64_t)w->g->config->depth[VTA_MEM_ACC]) {
        return false;
    }
    for (int64_t i = 0; i < (insn->requant.wide ? 3 : 2); i++) {
        if (!touch(w, VTA_MEM_ACC, size * aux + i, false, stamps)) {
            return false;
        }
    }
    for (int64_t i = 0; insn->requant.table != 0 && i < 1 << VTA_LOG_TABLE_WORDS; i++) {
        const int64_t table = insn->requant.table - 1;
        if (!touch(w, VTA_MEM_TAB, (table << VTA_LOG_TABLE_WORDS) + i, false, NULL)) {
            return false;
        }
    }
    return true;
}

static bool touch_inp(walk *w, const vta_insn *insn, int64_t index)
{
    if (!visit(w, VTA_MEM_INP, index, true)) {
        return false;
    }
    if (w->record) {
        w->g->inp_parts[index] |= (uint8_t)(1U << insn->requant.part);
    }
    return true;
}

static bool walk_requant(walk *w, const vta_insn *insn, bool *stamps)
{
    vta_uop uop;
    if (insn->requant.iter_out * insn->requant.iter_in == 0) {
        return true;
    }
    if (!fetch_uop(w, insn->requant.uop, &uop)) {
        return false;
    }
    const int64_t high = insn->requant.dst_high << w->g->config->log_depth[VTA_MEM_ACC];
    for (int64_t i = 0; i < insn->requant.iter_out; i++) {
        if ((i == 0 || insn->requant.by_row) && !walk_parameters(w, insn, uop.aux + i, stamps)) {
            return false;
        }
        for (int64_t j = 0; j < insn->requant.iter_in; j++) {
            const int64_t src = uop.src + i * insn->requant.src_out + j * insn->requant.src_in;
            const int64_t dst = uop.dst + high + i * insn->requant.dst_out + j * insn->requant.dst_in;
            if (!touch(w, VTA_MEM_ACC, src, false, stamps) ||
                !(insn->requant.to_inp ? touch_inp(w, insn, dst) : touch_result(w, dst, stamps))) {
                return false;
            }
        }
    }
    return true;
}

static bool walk_depthwise(walk *w, const vta_insn *insn, bool *stamps)
{
    for (int64_t k = insn->depthwise.uop_begin; k < insn->depthwise.uop_end; k++) {
        for (int64_t i = 0; i < insn->depthwise.iter_out; i++) {
            for (int64_t j = 0; j < insn->depthwise.iter_in; j++) {
                if (!walk_depthwise_step(w, insn, i, j, k, stamps)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* GEMM and ALU have the same nest. */
static bool walk_nest(walk *w, const vta_insn *insn, bool *stamps)
{
    const bool gemm = insn->opcode == VTA_OP_GEMM;
    const int64_t begin = gemm ? insn->gemm.uop_begin : insn->alu.uop_begin;
    const int64_t end = gemm ? insn->gemm.uop_end : insn->alu.uop_end;
    const int64_t iter_out = gemm ? insn->gemm.iter_out : insn->alu.iter_out;
    const int64_t iter_in = gemm ? insn->gemm.iter_in : insn->alu.iter_in;
    for (int64_t i = 0; iter_in > 0 && end > begin && i < iter_out; i++) {
        for (int64_t j = 0; j < iter_in; j++) {
            for (int64_t k = begin; k < end; k++) {
                if (gemm ? !walk_gemm_step(w, insn, i, j, k, stamps)
                         : !walk_alu_step(w, insn, i, j, k, stamps)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static bool walk_insn(walk *w, const vta_insn *insn)
{
    if (insn->opcode == VTA_OP_FINISH) {
        return true;
    }
    if (insn->opcode == VTA_OP_LOAD || insn->opcode == VTA_OP_STORE) {
        if (insn->mem.x_size == 0) {
            return true;
        }
        return insn->opcode == VTA_OP_LOAD ? walk_load(w, insn) : walk_store(w, insn);
    }
    bool *stamps = calloc(w->g->config->depth[VTA_MEM_ACC], sizeof *stamps);
    if (stamps == NULL) {
        w->g->no_memory = true;
        return false;
    }
    const bool legal = insn->opcode == VTA_OP_DEPTHWISE ? walk_depthwise(w, insn, stamps)
                       : insn->opcode == VTA_OP_REQUANT ? walk_requant(w, insn, stamps)
                                                        : walk_nest(w, insn, stamps);
    free(stamps);
    return legal;
}

/* ---- tokens ---- */

/* The queue from v to its neighbour u. */
static vta_queue queue_from(int v, int u)
{
    if (v == GEN_COMPUTE) {
        return u == GEN_LOAD ? VTA_QUEUE_C2L : VTA_QUEUE_C2S;
    }
    return v == GEN_LOAD ? VTA_QUEUE_L2C : VTA_QUEUE_S2C;
}

static void set_push(vta_insn *insn, int v, int u)
{
    *(u > v ? &insn->push_next : &insn->push_prev) = 1;
}

static void set_pop(vta_insn *insn, int u, int v)
{
    *(v > u ? &insn->pop_next : &insn->pop_prev) = 1;
}

static uint32_t outstanding(const gen_queue *q)
{
    return q->pushes - q->pops;
}

/* Makes room for one more node, instruction of a unit, or push. */
static bool reserve(gen *g)
{
    if (g->node_count + 1 < g->node_room) {
        return true;
    }
    const uint32_t room = g->node_room == 0 ? 256 : 2 * g->node_room;
    gen_node *nodes = realloc(g->nodes, room * sizeof *nodes);
    g->nodes = nodes != NULL ? nodes : g->nodes;
    bool whole = nodes != NULL;
    for (int u = 0; u < GEN_UNITS; u++) {
        uint32_t *list = realloc(g->by_count[u], room * sizeof *list);
        g->by_count[u] = list != NULL ? list : g->by_count[u];
        whole = whole && list != NULL;
    }
    for (int q = 0; q < VTA_QUEUE_COUNT; q++) {
        uint32_t *list = realloc(g->queues[q].pushers, room * sizeof *list);
        g->queues[q].pushers = list != NULL ? list : g->queues[q].pushers;
        whole = whole && list != NULL;
    }
    g->node_room = whole ? room : g->node_room;
    g->no_memory = g->no_memory || !whole;
    return whole;
}

static void pop_token(gen *g, vta_insn *insn, int u, int v)
{
    gen_queue *q = &g->queues[queue_from(v, u)];
    const uint32_t pusher = q->pushers[q->pops++];
    const gen_node *node = &g->nodes[g->by_count[v][pusher]];
    set_pop(insn, u, v);
    for (int x = 0; x < GEN_UNITS; x++) {
        at_least(&g->known[u][x], node->clock[x]);
    }
}

static void note_push(gen *g, int v, int u, uint32_t pusher, uint32_t filled)
{
    gen_queue *q = &g->queues[queue_from(v, u)];
    q->pushers[q->pushes++] = pusher;
    q->filled = filled;
}

/* Appends an instruction whose pops (from the units in `pops`) are settled. */
static void append(gen *g, vta_insn insn, int u, const bool pops[GEN_UNITS], const bool pushes[GEN_UNITS])
{
    if (!reserve(g)) {
        return;
    }
    for (int v = 0; v < GEN_UNITS; v++) {
        if (pops[v]) {
            pop_token(g, &insn, u, v);
        }
    }
    const uint32_t count = ++g->count[u];
    for (int v = 0; v < GEN_UNITS; v++) {
        if (pushes[v]) {
            const gen_queue *q = &g->queues[queue_from(u, v)];
            set_push(&insn, u, v);
            note_push(g, u, v, count, outstanding(q) + 1);
        }
    }
    g->known[u][u] = count;
    gen_node *node = &g->nodes[g->node_count];
    *node = (gen_node){.insn = insn, .unit = u};
    memcpy(node->clock, g->known[u], sizeof node->clock);
    g->by_count[u][count] = g->node_count++;
}

static void append_nop(gen *g, int u, int pop_from, int push_to)
{
    const bool pops[GEN_UNITS] = {pop_from == GEN_LOAD, pop_from == GEN_COMPUTE, pop_from == GEN_STORE};
    const bool pushes[GEN_UNITS] = {push_to == GEN_LOAD, push_to == GEN_COMPUTE, push_to == GEN_STORE};
    append(g, gen_nop(g, u), u, pops, pushes);
}

/* Sees to it that some token on its way from v to u was given by v's n-th instruction or a later one. */
static void ensure_push(gen *g, int v, int u, uint32_t n)
{
    gen_queue *q = &g->queues[queue_from(v, u)];
    const uint32_t last = q->pushes == 0 ? 0 : q->pushers[q->pushes - 1];
    if (last >= n || !reserve(g)) {
        return;
    }
    if (q->filled >= HIGH_WATER) {
        append_nop(g, v, -1, u);
        return;
    }
    uint32_t pusher = n;
    if (rng_percent(&g->random, 30)) {
        pusher += rng_below(&g->random, g->count[v] - n + 1);
    }
    set_push(&g->nodes[g->by_count[v][pusher]].insn, v, u);
    note_push(g, v, u, pusher, q->filled + 1);
}

/* Orders what comes next on u behind v's n-th instruction; returns true when the next instruction itself has
 * to pop. */
static bool order_behind(gen *g, int u, int v, uint32_t n)
{
    if (n <= g->known[u][v]) {
        return false;
    }
    ensure_push(g, v, u, n);
    gen_queue *q = &g->queues[queue_from(v, u)];
    while (!g->no_memory && q->pushers[q->pops] < n) {
        append_nop(g, u, v, -1);
    }
    return !g->no_memory;
}

/* An instruction of compute that implies the n-th of `far`, made when there is none; for the unit on the
 * other side. */
static uint32_t carrier(gen *g, int far, uint32_t n)
{
    if (g->known[GEN_COMPUTE][far] < n && order_behind(g, GEN_COMPUTE, far, n)) {
        append_nop(g, GEN_COMPUTE, far, -1);
    }
    uint32_t count = g->count[GEN_COMPUTE];
    while (count > 1 && g->nodes[g->by_count[GEN_COMPUTE][count - 1]].clock[far] >= n) {
        count--;
    }
    return count;
}

/* Tokens without need: they must do no harm. */
static void extra_tokens(gen *g, int u, bool pops[GEN_UNITS], bool pushes[GEN_UNITS])
{
    for (int v = 0; v < GEN_UNITS; v++) {
        if (v - u != 1 && u - v != 1) {
            continue;
        }
        const uint32_t waiting = outstanding(&g->queues[queue_from(v, u)]);
        const uint32_t given = outstanding(&g->queues[queue_from(u, v)]);
        pops[v] = pops[v] || (waiting > 0 && rng_percent(&g->random, 35));
        pushes[v] = given < HIGH_WATER && rng_percent(&g->random, MAX_RANDOM_PUSH_PERCENT);
    }
}

/* True if the configuration has what the instruction asks for. */
static bool is_built(const vta_config *config, const vta_insn *insn)
{
    const bool tables = (insn->opcode == VTA_OP_LOAD && insn->mem.memory == VTA_MEM_TAB) ||
                        (insn->opcode == VTA_OP_REQUANT && insn->requant.table != 0);
    const bool loops = insn->opcode == VTA_OP_REQUANT && insn->requant.to_inp;
    const bool rows = (insn->opcode == VTA_OP_ALU && insn->alu.alu_op == VTA_ALU_ROW) ||
                      (insn->opcode == VTA_OP_REQUANT && (insn->requant.long_result || insn->requant.by_row));
    return (config->rows != 0 || !rows) && (config->table != 0 || !tables) &&
           (config->loop_back != 0 || !loops) &&
           (config->depthwise_taps != 0 || insn->opcode != VTA_OP_DEPTHWISE);
}

bool gen_take(gen *g, const vta_insn *insn)
{
    if (!is_built(g->config, insn)) {
        return false;
    }
    walk w = {.g = g, .unit = (int)vta_insn_unit(insn) - (int)VTA_UNIT_LOAD};
    if (!walk_insn(&w, insn)) {
        return false;
    }
    const int u = w.unit;
    const int far = GEN_STORE - u;
    if (u != GEN_COMPUTE && w.need[far] > g->known[u][far]) {
        at_least(&w.need[GEN_COMPUTE], carrier(g, far, w.need[far]));
    }
    bool pops[GEN_UNITS] = {false};
    bool pushes[GEN_UNITS] = {false};
    for (int v = 0; v < GEN_UNITS; v++) {
        if (v - u == 1 || u - v == 1) {
            pops[v] = order_behind(g, u, v, w.need[v]);
        }
    }
    extra_tokens(g, u, pops, pushes);
    w.record = true;
    (void)walk_insn(&w, insn);
    append(g, *insn, u, pops, pushes);
    return !g->no_memory;
}

static void drain(gen *g, int v, int u)
{
    while (!g->no_memory && outstanding(&g->queues[queue_from(v, u)]) > 0) {
        append_nop(g, u, v, -1);
    }
}

void gen_flood(gen *g)
{
    static const int ends[VTA_QUEUE_COUNT][2] = {
        {GEN_LOAD, GEN_COMPUTE}, {GEN_COMPUTE, GEN_LOAD}, {GEN_COMPUTE, GEN_STORE}, {GEN_STORE, GEN_COMPUTE}};
    const int *end = ends[rng_below(&g->random, VTA_QUEUE_COUNT)];
    const uint32_t places = 1U << g->config->log_queue;
    const uint32_t more = rng_below(&g->random, places < 8 ? places : 8); /* pushes that have to wait */
    drain(g, end[0], end[1]);
    for (uint32_t i = 0; !g->no_memory && i < VTA_TOKEN_CAPACITY + more; i++) {
        append_nop(g, end[0], -1, end[1]);
    }
    drain(g, end[0], end[1]);
}

void gen_finish(gen *g)
{
    drain(g, GEN_COMPUTE, GEN_LOAD);
    drain(g, GEN_COMPUTE, GEN_STORE);
    bool pops[GEN_UNITS] = {false};
    const bool pushes[GEN_UNITS] = {false};
    for (int v = GEN_LOAD; v <= GEN_STORE; v += 2) {
        gen_queue *q = &g->queues[queue_from(v, GEN_COMPUTE)];
        if (outstanding(q) == 0 && g->count[v] > 0 && q->filled < HIGH_WATER && rng_percent(&g->random, 50)) {
            ensure_push(g, v, GEN_COMPUTE, g->count[v]);
        }
        while (!g->no_memory && outstanding(q) > 1) {
            append_nop(g, GEN_COMPUTE, v, -1);
        }
        pops[v] = outstanding(q) == 1;
    }
    vta_insn finish = {.opcode = VTA_OP_FINISH};
    if (rng_percent(&g->random, 50)) {
        finish.finish.ignored_low = (int64_t)(rng_next(&g->random) >> 7);
        finish.finish.ignored_high = (int64_t)rng_next(&g->random);
    }
    append(g, finish, GEN_COMPUTE, pops, pushes);
}
