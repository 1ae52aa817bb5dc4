/* SPDX-License-Identifier: Apache-2.0
 *
 * Interleavings: the three units' instructions may stand in the program in any order that keeps each unit's
 * own, as long as no unit's queue fills up before what it waits for has been fetched. A run of tokens alone
 * decides that.
 */
#include <stdlib.h>
#include <string.h>

#include "progen_internal.h"

/* A unit in the run of tokens: its next instruction in the order, and those fetched and not yet over. */
typedef struct lane {
    uint32_t *fifo;
    uint32_t head, tail;
    bool taken;                /* the head has its tokens and gives its own */
    bool push_prev, push_next; /* still to give */
} lane;

typedef struct token_run {
    const gen *g;
    lane lanes[GEN_UNITS];
    uint32_t tokens[VTA_QUEUE_COUNT];
} token_run;

static uint32_t *queue_to_prev(token_run *r, int u)
{
    return &r->tokens[u == GEN_COMPUTE ? VTA_QUEUE_C2L : VTA_QUEUE_S2C];
}

static uint32_t *queue_to_next(token_run *r, int u)
{
    return &r->tokens[u == GEN_LOAD ? VTA_QUEUE_L2C : VTA_QUEUE_C2S];
}

static uint32_t *queue_of_prev(token_run *r, int u)
{
    return &r->tokens[u == GEN_COMPUTE ? VTA_QUEUE_L2C : VTA_QUEUE_C2S];
}

static uint32_t *queue_of_next(token_run *r, int u)
{
    return &r->tokens[u == GEN_LOAD ? VTA_QUEUE_C2L : VTA_QUEUE_S2C];
}

static bool idle(const lane *x)
{
    return x->head == x->tail;
}

static bool take_tokens(token_run *r, int u, const vta_insn *insn)
{
    if ((insn->pop_prev && *queue_of_prev(r, u) == 0) || (insn->pop_next && *queue_of_next(r, u) == 0)) {
        return false;
    }
    if (insn->opcode == VTA_OP_FINISH && !(idle(&r->lanes[GEN_LOAD]) && idle(&r->lanes[GEN_STORE]))) {
        return false;
    }
    *queue_of_prev(r, u) -= insn->pop_prev ? 1 : 0;
    *queue_of_next(r, u) -= insn->pop_next ? 1 : 0;
    return true;
}

static bool give(uint32_t *tokens, bool *wanted)
{
    if (*wanted && *tokens < VTA_TOKEN_CAPACITY) {
        *wanted = false;
        *tokens += 1;
        return true;
    }
    return false;
}

/* Lets the head of a unit get on; false when it cannot. */
static bool advance(token_run *r, int u)
{
    lane *x = &r->lanes[u];
    if (idle(x)) {
        return false;
    }
    const vta_insn *insn = &r->g->nodes[x->fifo[x->head]].insn;
    if (!x->taken) {
        x->taken = take_tokens(r, u, insn);
        x->push_prev = insn->push_prev;
        x->push_next = insn->push_next;
        return x->taken;
    }
    if (give(queue_to_prev(r, u), &x->push_prev) || give(queue_to_next(r, u), &x->push_next)) {
        return true;
    }
    if (x->push_prev || x->push_next) {
        return false;
    }
    x->taken = false;
    x->head++;
    return true;
}

static bool runs_through(const gen *g, const uint32_t *order)
{
    token_run r = {.g = g};
    const uint32_t places = 1U << g->config->log_queue;
    uint32_t fetched = 0;
    bool room = true;
    for (int u = 0; u < GEN_UNITS; u++) {
        r.lanes[u].fifo = malloc((g->count[u] + 1) * sizeof(uint32_t));
        room = room && r.lanes[u].fifo != NULL;
    }
    bool moved = room;
    while (moved) {
        moved = false;
        if (fetched < g->node_count) {
            lane *x = &r.lanes[g->nodes[order[fetched]].unit];
            if (x->tail - x->head < places) {
                x->fifo[x->tail++] = order[fetched++];
                moved = true;
            }
        }
        for (int u = 0; u < GEN_UNITS; u++) {
            moved = advance(&r, u) || moved;
        }
    }
    bool over = room && fetched == g->node_count;
    for (int u = 0; u < GEN_UNITS; u++) {
        over = over && idle(&r.lanes[u]);
        free(r.lanes[u].fifo);
    }
    return over;
}

/* Merges the units' sequences at random; now and then one unit gets far ahead. FINISH stays last. */
static void merge(gen *g, uint32_t *order)
{
    uint32_t next[GEN_UNITS] = {1, 1, 1};
    uint32_t at = 0;
    uint32_t left = g->node_count - 1;
    while (left > 0) {
        const uint32_t u = rng_below(&g->random, GEN_UNITS);
        uint32_t run = 1 + rng_below(&g->random, 4);
        const uint32_t end = g->count[u] - (u == GEN_COMPUTE ? 1 : 0);
        while (run-- > 0 && next[u] <= end) {
            order[at++] = g->by_count[u][next[u]++];
            left--;
        }
    }
    order[at] = g->node_count - 1;
}

/* Swaps neighbours of different units. */
static void jiggle(gen *g, uint32_t *order)
{
    for (uint32_t n = 0; n < g->node_count && g->node_count > 2; n++) {
        const uint32_t i = rng_below(&g->random, g->node_count - 2);
        if (g->nodes[order[i]].unit != g->nodes[order[i + 1]].unit) {
            const uint32_t swap = order[i];
            order[i] = order[i + 1];
            order[i + 1] = swap;
        }
    }
}

void gen_interleave(gen *g, uint32_t *order)
{
    const uint32_t kind = rng_below(&g->random, 4);
    for (uint32_t i = 0; i < g->node_count; i++) {
        order[i] = i;
    }
    if (kind == 0) {
        merge(g, order);
    } else if (kind == 1) {
        jiggle(g, order);
    }
    if (!runs_through(g, order)) {
        for (uint32_t i = 0; i < g->node_count; i++) {
            order[i] = i;
        }
    }
}
