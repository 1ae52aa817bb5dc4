/* SPDX-License-Identifier: Apache-2.0
 *
 * LOADs that move up further than ahead.c takes them: where the timing model says that the whole list is
 * faster by it. A LOAD of parameters belongs to the compute unit, which does nothing else until the data is
 * there; behind weights for later layers that takes long, so it goes before them, beside the parameters of
 * the layer before. Weights need not wait until the input of the layer before them is stored, so they pass
 * its LOAD.
 */
#include <string.h>

#include "list.h"
#include "timing.h"
#include "vta/number.h"

enum {
    STEPS = 3000000, /* that may be timed in a round */
    ROUNDS = 3,
    PASSES = 4 /* LOADs of inputs that weights may pass */
};

static bool is_load_of(const step *s, vta_memory memory)
{
    return s->kind == STEP_LOAD && s->load.memory == memory && s->load.buffer.index == CONSTANTS_BUFFER;
}

static bool is_weights(const step *s)
{
    return s->kind == STEP_LOAD && vta_loads_wgt(s->load.memory) && s->load.buffer.index == CONSTANTS_BUFFER;
}

/* True if a step reads or writes entries of ACC that a LOAD of parameters fills. */
static bool touches(const step_list *list, list_range fills, const step *s)
{
    const vta_requant *r = &s->requant;
    const int64_t record = r->wide ? 4 : 2;
    if (s->kind == STEP_STORE) {
        return list_meets(fills, (list_range){s->store.sram, s->store.y_size * s->store.x_size});
    }
    if (s->kind == STEP_LOAD) {
        return (s->load.memory == VTA_MEM_ACC || s->load.memory == VTA_MEM_ACC8) &&
               list_meets(fills, list_fills(&s->load));
    }
    if (s->kind == STEP_REQUANT) {
        const list_range src = {r->src, (r->iter_out - 1) * r->src_out + (r->iter_in - 1) * r->src_in + 1};
        return list_meets(fills, src) ||
               list_meets(fills, (list_range){record * r->params, record * (r->by_row ? r->iter_out : 1)}) ||
               (!r->to_inp && list_meets(fills, (list_range){r->dst, list_requant_count(r)}));
    }
    const list_nest n = list_nest_of(list, s);
    return list_meets(fills, (list_range){n.dst, n.dst_count}) ||
           (s->kind == STEP_ALU && list_meets(fills, (list_range){n.src, n.src_count}));
}

/* The place behind the LOAD of parameters before the one at i; or i. */
static size_t place_of_params(const step_list *list, size_t i)
{
    const step *steps = list->steps.items;
    const list_range fills = list_fills(&steps[i].load);
    for (size_t k = i; k > 0 && !touches(list, fills, &steps[k - 1]); k--) {
        if (is_load_of(&steps[k - 1], VTA_MEM_ACC)) {
            return k;
        }
    }
    return i;
}

/* True if a step uses entries of WGT that a LOAD of weights fills. */
static bool uses(const step_list *list, list_range fills, const step *s)
{
    if (s->kind == STEP_LOAD) {
        return vta_loads_wgt(s->load.memory) && list_meets(fills, list_fills(&s->load));
    }
    if (s->kind != STEP_GEMM && s->kind != STEP_DEPTHWISE) {
        return false;
    }
    const list_nest n = list_nest_of(list, s);
    return !(s->kind == STEP_GEMM && s->gemm.reset) && list_meets(fills, (list_range){n.wgt, n.wgt_count});
}

/* The place before the LOAD of inputs before the one at i, which has weights; or i. */
static size_t place_of_weights(const step_list *list, size_t i)
{
    const step *steps = list->steps.items;
    const list_range fills = list_fills(&steps[i].load);
    for (size_t k = i; k > 0 && !uses(list, fills, &steps[k - 1]); k--) {
        if (list_is_early(&steps[k - 1]) && steps[k - 1].load.memory == VTA_MEM_INP) {
            return k - 1;
        }
    }
    return i;
}

/* Moves a step up, from place `from` to place `to`; or, down, back. */
static void move_step(step_list *list, size_t from, size_t to)
{
    step *steps = list->steps.items;
    const step moved = steps[from];
    if (to < from) {
        memmove(&steps[to + 1], &steps[to], (from - to) * sizeof *steps);
    } else {
        memmove(&steps[from], &steps[from + 1], (to - from) * sizeof *steps);
    }
    steps[to] = moved;
}

/* Moves the step at place i up as long as the list becomes faster by it. */
static void hoist(const machine *m, step_list *list, uint64_t work_bytes, size_t i, uint64_t *best)
{
    for (int pass = 0; pass < PASSES; pass++) {
        const step *s = vta_vec_at(&list->steps, i);
        const size_t to = is_weights(s) ? place_of_weights(list, i) : place_of_params(list, i);
        if (to == i) {
            return;
        }
        move_step(list, i, to);
        const uint64_t cycles = vtac_vta_timing_below(m, list, work_bytes, *best);
        if (cycles == 0 || cycles >= *best) {
            move_step(list, to, i);
            return;
        }
        *best = cycles;
        i = to;
    }
}

static bool may_move(const step *s)
{
    return is_weights(s) || is_load_of(s, VTA_MEM_ACC);
}

/* Tries every LOAD once, in long lists the last `room` ones alone. */
static void hoist_all(const machine *m, step_list *list, uint64_t work_bytes, size_t room, uint64_t *best)
{
    const size_t count = list->steps.count;
    size_t loads = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        loads += may_move(vta_vec_at(&list->steps, i));
    }
    for (size_t i = 0; i < count; i++) {
        if (may_move(vta_vec_at(&list->steps, i)) && at++ + room >= loads) {
            hoist(m, list, work_bytes, i, best);
        }
    }
}

void vtac_vta_list_hoist(step_list *list, const machine *m, uint64_t work_bytes)
{
    const size_t count = list->steps.count;
    uint64_t before = 0, best = vtac_vta_timing_of(m, list, work_bytes, NULL, 0);
    for (int round = 0; round < ROUNDS && best > 0 && best != before; round++) {
        before = best;
        hoist_all(m, list, work_bytes, STEPS / (count + 1), &best);
    }
}
