/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse: elementwise operators run inside what makes their operand. The lowering joins a node to the one
 * before it where that is its only user and everything else that it needs exists by then
 * (src/lower/graph.c); this pass arranges the order for it: the maker of an operand moves down to its user
 * where something else came between. Who leaves this pass out gets a kernel for each node (`apart` of
 * vtac/codegen.h).
 */
#include <stdlib.h>
#include <string.h>

#include "../lower/lower.h"
#include "rewrite.h"
#include "vta/fail.h"

typedef struct placer {
    vtac_graph *graph;
    uint32_t *position; /* of each node in the order */
    uint32_t *uses;     /* of each value */
} placer;

static void number_nodes(placer *p)
{
    for (uint32_t i = 0; i < p->graph->order_count; i++) {
        p->position[p->graph->order[i]] = i;
    }
}

static void count_uses(placer *p)
{
    const vtac_graph *g = p->graph;
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        for (uint32_t k = 0; k < node->input_count; k++) {
            p->uses[node->inputs[k]]++;
        }
    }
    for (uint32_t i = 0; i < g->output_count; i++) {
        p->uses[g->outputs[i]]++;
    }
}

/* True if `user` could run inside the maker of its input k. */
static bool can_join(const placer *p, const vtac_node *user, uint32_t k)
{
    const vtac_value *in = &p->graph->values[user->inputs[k]];
    const vtac_value *out = &p->graph->values[user->outputs[0]];
    const vtac_node *maker = &p->graph->nodes[in->node];
    return in->node != 0 && p->uses[user->inputs[k]] == 1 && maker->output_count == 1 &&
           vtac_takes_chain(maker) && in->type.rank == out->type.rank &&
           memcmp(in->type.dim, out->type.dim, in->type.rank * sizeof in->type.dim[0]) == 0;
}

/* The maker to move: one that could be joined, while the latest of the others could not. 0: none. */
static vtac_node_id choose_maker(const placer *p, const vtac_node *user)
{
    vtac_node_id best = 0;
    bool latest_joins = false;
    int64_t latest = -1;
    for (uint32_t k = 0; k < user->input_count; k++) {
        const vtac_node_id maker = p->graph->values[user->inputs[k]].node;
        if (maker == 0) {
            continue;
        }
        const bool joins = can_join(p, user, k);
        if ((int64_t)p->position[maker] > latest) {
            latest = p->position[maker];
            latest_joins = joins;
        }
        if (joins && (best == 0 || p->position[maker] > p->position[best])) {
            best = maker;
        }
    }
    return latest_joins ? 0 : best;
}

/* Moves a node in front of a later one. */
static void sink_node(placer *p, vtac_node_id node, vtac_node_id before)
{
    vtac_node_id *order = p->graph->order;
    const uint32_t from = p->position[node];
    const uint32_t to = p->position[before] - 1;
    memmove(&order[from], &order[from + 1], (to - from) * sizeof *order);
    order[to] = node;
    number_nodes(p);
}

vtac_pass_fn vtac_pass_fuse;

vta_status vtac_pass_fuse(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    placer p = {.graph = graph,
                .position = calloc((size_t)graph->node_count + 1, sizeof *p.position),
                .uses = calloc((size_t)graph->value_count + 1, sizeof *p.uses)};
    *changes = 0;
    if (p.position == NULL || p.uses == NULL) {
        free(p.position);
        free(p.uses);
        return vta_no_memory(diag);
    }
    number_nodes(&p);
    count_uses(&p);
    for (uint32_t i = 0; i < graph->order_count; i++) {
        const vtac_node_id id = graph->order[i];
        const vtac_node *user = &graph->nodes[id];
        if (vtac_lowering_of(user->op)->family != VTAC_POINTWISE || user->output_count != 1) {
            continue;
        }
        const vtac_node_id maker = choose_maker(&p, user);
        if (maker != 0) { /* its only user is this one: nothing in between needs it */
            sink_node(&p, maker, id);
            (*changes)++;
        }
    }
    free(p.position);
    free(p.uses);
    return VTA_OK;
}
