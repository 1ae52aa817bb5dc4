/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a program may be cut: where every instruction before has all the tokens that it needs from those
 * before it, so that they can all be done and none after them has begun.
 */
#include <stdlib.h>
#include <string.h>

#include "parts_internal.h"

enum {
    CHUNK = 64,     /* instructions within which the units' work is taken to overlap */
    WORK_OF_ALU = 2 /* a cycle of the ALU takes as much longer to simulate as so many others, as measured */
};

/* The queues of a unit's neighbours, by flag; VTA_QUEUE_COUNT: none. */
const part_queues vta_part_queues[VTA_UNIT_COUNT] = {
    [VTA_UNIT_FETCH] = {VTA_QUEUE_COUNT, VTA_QUEUE_COUNT, VTA_QUEUE_COUNT, VTA_QUEUE_COUNT},
    [VTA_UNIT_LOAD] = {VTA_QUEUE_COUNT, VTA_QUEUE_C2L, VTA_QUEUE_COUNT, VTA_QUEUE_L2C},
    [VTA_UNIT_COMPUTE] = {VTA_QUEUE_L2C, VTA_QUEUE_S2C, VTA_QUEUE_C2L, VTA_QUEUE_C2S},
    [VTA_UNIT_STORE] = {VTA_QUEUE_C2S, VTA_QUEUE_COUNT, VTA_QUEUE_S2C, VTA_QUEUE_COUNT},
};

/* -- what an instruction costs its unit */

static uint64_t times(int64_t a, int64_t b, int64_t c)
{
    return a <= 0 || b <= 0 || c <= 0 ? 0 : (uint64_t)a * (uint64_t)b * (uint64_t)c;
}

static uint64_t cost_of(const vta_config *c, const vta_insn *insn)
{
    enum { OVERHEAD = 8, ROWS_AT_ONCE = 3 };
    switch ((vta_opcode)insn->opcode) {
    case VTA_OP_LOAD:
    case VTA_OP_STORE:
        return OVERHEAD + (times(insn->mem.y_size, insn->mem.x_size, c->elem_bytes[insn->mem.memory]) * 8 >>
                           c->log_bus_width);
    case VTA_OP_GEMM:
        return OVERHEAD +
               times(insn->gemm.uop_end - insn->gemm.uop_begin, insn->gemm.iter_out, insn->gemm.iter_in);
    case VTA_OP_ALU:
        return OVERHEAD +
               times(insn->alu.uop_end - insn->alu.uop_begin, insn->alu.iter_out, insn->alu.iter_in);
    case VTA_OP_REQUANT: return OVERHEAD + times(1, insn->requant.iter_out, insn->requant.iter_in);
    case VTA_OP_DEPTHWISE:
        return OVERHEAD + times(insn->depthwise.uop_end - insn->depthwise.uop_begin, insn->depthwise.iter_out,
                                insn->depthwise.iter_in) *
                              (1 + times(1, insn->depthwise.taps_x, insn->depthwise.taps_y) /
                                       (ROWS_AT_ONCE * ROWS_AT_ONCE));
    case VTA_OP_FINISH:
    case VTA_OP_COUNT: break;
    }
    return OVERHEAD;
}

/* Pairs that work beside each other: the units, and within compute the array and the ALU. */
enum { THE_ALU = VTA_UNIT_COUNT, WORKERS };

static int worker_of(const vta_insn *insn)
{
    const bool alu = insn->opcode == VTA_OP_ALU || insn->opcode == VTA_OP_REQUANT;
    return alu ? (int)THE_ALU : (int)vta_insn_unit(insn);
}

static uint64_t max_of(const uint64_t *busy)
{
    uint64_t max = 0;
    for (int w = 0; w < WORKERS; w++) {
        max = busy[w] > max ? busy[w] : max;
    }
    return max;
}

/* -- tokens */

typedef struct walk {
    vta_cuts *cuts;
    uint32_t *waiting[VTA_UNIT_COUNT]; /* instructions that have come to the unit; */
    uint32_t head[VTA_UNIT_COUNT], tail[VTA_UNIT_COUNT];
    uint32_t tokens[VTA_QUEUE_COUNT + 1];
} walk;

static bool lacks(const walk *w, uint32_t flag, vta_queue queue)
{
    return flag != 0 && queue != VTA_QUEUE_COUNT && w->tokens[queue] == 0;
}

/* The unit's next instruction, done; false: it waits, or there is none. */
static bool advance(walk *w, vta_unit unit)
{
    if (w->head[unit] == w->tail[unit]) {
        return false;
    }
    const part_queues *q = &vta_part_queues[unit];
    const uint32_t flags = w->cuts->insns[w->waiting[unit][w->head[unit]]].flags;
    if (lacks(w, flags & PART_POP_PREV, q->pop_prev) || lacks(w, flags & PART_POP_NEXT, q->pop_next)) {
        return false;
    }
    w->tokens[q->pop_prev] -= (flags & PART_POP_PREV) != 0;
    w->tokens[q->pop_next] -= (flags & PART_POP_NEXT) != 0;
    w->tokens[q->push_prev] += (flags & PART_PUSH_PREV) != 0;
    w->tokens[q->push_next] += (flags & PART_PUSH_NEXT) != 0;
    w->head[unit]++;
    return true;
}

static bool settle(walk *w)
{
    bool moved = true;
    while (moved) {
        moved = false;
        for (int u = VTA_UNIT_LOAD; u < VTA_UNIT_COUNT; u++) {
            while (advance(w, (vta_unit)u)) {
                moved = true;
            }
        }
    }
    for (int u = VTA_UNIT_LOAD; u < VTA_UNIT_COUNT; u++) {
        if (w->head[u] != w->tail[u]) {
            return false;
        }
    }
    return true;
}

/* Notes a place for a cut, if the patches before and behind the cut have room there. */
static void note(walk *w, uint32_t insn, bool clean)
{
    part_insn *at = &w->cuts->insns[insn];
    uint32_t tokens = 0;
    for (int q = 0; q < VTA_QUEUE_COUNT; q++) {
        clean = clean && w->tokens[q] <= VTA_TOKEN_CAPACITY;
        at->tokens[q] = (uint8_t)w->tokens[q];
        tokens += w->tokens[q];
    }
    at->clean = insn == 0 ||
                (clean && insn >= PART_OVERHEAD + tokens && w->cuts->count >= (uint64_t)insn + 1 + tokens);
}

static void follow_tokens(walk *w)
{
    note(w, 0, true);
    for (uint32_t i = 0; i < w->cuts->count; i++) {
        const uint8_t unit = w->cuts->insns[i].unit;
        w->waiting[unit][w->tail[unit]++] = i;
        const bool all = settle(w);
        note(w, i + 1, all);
    }
}

/* -- the whole */

static vta_status decode(const vta_config *config, const uint8_t *program, vta_cuts *cuts, vta_diag *diag)
{
    uint64_t done = 0;
    uint64_t busy[WORKERS] = {0};
    uint64_t alu = 0;
    for (uint32_t i = 0; i < cuts->count; i++) {
        vta_word word;
        vta_insn insn;
        memcpy(&word, program + (size_t)i * VTA_INSN_BYTES, sizeof word);
        if (vta_insn_decode_raw(config, word, &insn) != VTA_ERROR_NONE) {
            return vta_fail(diag, VTA_ILLEGAL_INSN, "instruction %u is no instruction", (unsigned)i);
        }
        part_insn *p = &cuts->insns[i];
        p->unit = (uint8_t)vta_insn_unit(&insn);
        p->flags =
            (uint8_t)((insn.pop_prev != 0 ? PART_POP_PREV : 0) | (insn.pop_next != 0 ? PART_POP_NEXT : 0) |
                      (insn.push_prev != 0 ? PART_PUSH_PREV : 0) |
                      (insn.push_next != 0 ? PART_PUSH_NEXT : 0));
        p->cost = done + max_of(busy);
        p->work = p->cost + WORK_OF_ALU * alu;
        const uint64_t cost = cost_of(config, &insn);
        const int worker = worker_of(&insn);
        busy[worker] += cost;
        alu += worker == THE_ALU ? cost : 0;
        if (i % CHUNK == CHUNK - 1) {
            done += max_of(busy);
            memset(busy, 0, sizeof busy);
        }
    }
    cuts->insns[cuts->count].cost = done + max_of(busy);
    cuts->insns[cuts->count].work = done + max_of(busy) + WORK_OF_ALU * alu;
    return VTA_OK;
}

vta_status vta_cuts_create(const vta_config *config, const void *program, uint32_t count, vta_cuts **out,
                           vta_diag *diag)
{
    walk w = {0};
    vta_cuts *cuts = calloc(1, sizeof *cuts);
    part_insn *insns = calloc((size_t)count + 1, sizeof *insns);
    bool room = cuts != NULL && insns != NULL;
    for (int u = 0; u < VTA_UNIT_COUNT; u++) {
        w.waiting[u] = calloc((size_t)count + 1, sizeof *w.waiting[u]);
        room = room && w.waiting[u] != NULL;
    }
    vta_status status = room ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to cut a program");
    if (room) {
        *cuts = (vta_cuts){.insns = insns, .count = count};
        insns = NULL;
        w.cuts = cuts;
        status = decode(config, program, cuts, diag);
    }
    if (status == VTA_OK) {
        follow_tokens(&w);
    } else {
        vta_cuts_destroy(cuts);
        cuts = NULL;
    }
    for (int u = 0; u < VTA_UNIT_COUNT; u++) {
        free(w.waiting[u]);
    }
    free(insns);
    *out = cuts;
    return status;
}

void vta_cuts_destroy(vta_cuts *cuts)
{
    if (cuts != NULL) {
        free(cuts->insns);
        free(cuts);
    }
}

uint64_t vta_cuts_cost(const vta_cuts *cuts, uint32_t insn)
{
    return cuts->insns[insn < cuts->count ? insn : cuts->count].cost;
}

uint64_t vta_cuts_share(const vta_cuts *cuts, uint32_t part, uint32_t parts)
{
    const uint64_t work = cuts->insns[cuts->count].work * part / parts;
    uint32_t low = 0;
    uint32_t high = cuts->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (cuts->insns[middle].work < work) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return cuts->insns[low].cost;
}

uint32_t vta_cuts_find(const vta_cuts *cuts, uint64_t cost)
{
    uint32_t low = 0;
    uint32_t high = cuts->count;
    while (low < high) {
        const uint32_t middle = high - (high - low) / 2;
        if (cuts->insns[middle].cost <= cost) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    while (low > 0 && !cuts->insns[low].clean) {
        low--;
    }
    return low;
}

uint32_t vta_cuts_next(const vta_cuts *cuts, uint32_t insn)
{
    while (insn < cuts->count && !cuts->insns[insn].clean) {
        insn++;
    }
    return insn < cuts->count ? insn : cuts->count;
}
