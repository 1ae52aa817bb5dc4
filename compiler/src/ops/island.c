/* SPDX-License-Identifier: Apache-2.0
 *
 * See vtac/island.h.
 */
#include "vtac/island.h"

#include <string.h>

#include "vtac/codegen.h"

enum { MAX_FRONTIER = 8 };

typedef struct island_search {
    const vtac_island_search *how;
    const vtac_graph *graph;
    const vtac_type *type; /* whose shape the source has */
    vtac_island is;
    vtac_value_id frontier[MAX_FRONTIER];
    uint32_t frontier_count;
} island_search;

uint32_t *vtac_positions(const vtac_graph *graph, vta_arena *arena)
{
    uint32_t *position = vta_arena_array(arena, (size_t)graph->node_count + 1, sizeof *position);
    for (uint32_t i = 0; position != NULL && i < graph->order_count; i++) {
        position[graph->order[i]] = i + 1;
    }
    return position;
}

static bool same_shape(const vtac_type *a, const vtac_type *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof *a->dim) == 0;
}

/* The shape of the island, or a number beside it. */
static bool fits_island(const island_search *s, vtac_value_id value)
{
    const vtac_type *type = &s->graph->values[value].type;
    return same_shape(type, s->type) || vtac_type_elements(type) == 1;
}

bool vtac_island_knows(const vtac_graph *graph, const vtac_node *node, uint32_t input)
{
    const vtac_tensor *constant = vtac_in_constant(graph, node, input);
    return constant != NULL &&
           (vtac_type_elements(&constant->type) == 1 || (node->op == VTAC_OP_LOOK_UP && input == 1));
}

/* A number for each place along the axis of the island's shape. */
static bool is_by_channel(const island_search *s, const vtac_tensor *constant)
{
    const uint32_t axis = s->how->axis < 0 ? s->type->rank - 1 : (uint32_t)s->how->axis;
    if (constant == NULL || s->type->rank < 3 || constant->type.rank + axis < s->type->rank ||
        constant->type.rank > s->type->rank) {
        return false;
    }
    const uint32_t missing = s->type->rank - constant->type.rank;
    bool good = true;
    for (uint32_t i = 0; i < constant->type.rank; i++) {
        good = good && constant->type.dim[i] == (i + missing == axis ? s->type->dim[axis] : 1);
    }
    return good;
}

static bool knows_input(const island_search *s, const vtac_node *node, uint32_t input)
{
    return vtac_island_knows(s->graph, node, input) ||
           (s->how->axis != 0 && is_by_channel(s, vtac_in_constant(s->graph, node, input)));
}

static bool add_to_frontier(island_search *s, vtac_value_id value)
{
    for (uint32_t i = 0; i < s->frontier_count; i++) {
        if (s->frontier[i] == value) {
            return true;
        }
    }
    if (s->frontier_count == MAX_FRONTIER || s->graph->values[value].constant != NULL ||
        !fits_island(s, value)) {
        return false;
    }
    s->frontier[s->frontier_count++] = value;
    return true;
}

/* Takes a node in; its operands that are not known come to the frontier. */
static bool take_in(island_search *s, vtac_node_id id)
{
    const vtac_graph *g = s->graph;
    const vtac_node *node = &g->nodes[id];
    if (id == 0 || !vtac_is_pointwise(node->op) || node->output_count != 1 ||
        s->is.count == VTAC_ISLAND_NODES || !fits_island(s, node->outputs[0]) ||
        (s->how->takes != NULL && !s->how->takes(g, node))) {
        return false;
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] != 0 && !knows_input(s, node, i) && !add_to_frontier(s, node->inputs[i])) {
            return false;
        }
    }
    s->is.nodes[s->is.count++] = id;
    return true;
}

static bool is_inside(const island_search *s, vtac_node_id id)
{
    for (uint32_t i = 0; i < s->is.count; i++) {
        if (s->is.nodes[i] == id) {
            return true;
        }
    }
    return false;
}

static bool read_elsewhere(const island_search *s, vtac_value_id value)
{
    const vtac_value *v = &s->graph->values[value];
    bool elsewhere = vtac_is_output(s->graph, value);
    for (uint32_t i = 0; !elsewhere && i < v->user_count; i++) {
        const vtac_node *user = &s->graph->nodes[v->users[i]];
        bool reads = false;
        for (uint32_t k = 0; !user->dead && k < user->input_count; k++) {
            reads = reads || user->inputs[k] == value;
        }
        elsewhere = reads && !is_inside(s, v->users[i]);
    }
    return elsewhere;
}

/* The value of the frontier that is made last, taken out of it. */
static vtac_value_id take_latest(island_search *s)
{
    uint32_t latest = 0;
    for (uint32_t i = 1; i < s->frontier_count; i++) {
        const vtac_node_id a = s->graph->values[s->frontier[i]].node;
        const vtac_node_id b = s->graph->values[s->frontier[latest]].node;
        latest = s->how->position[a] > s->how->position[b] ? i : latest;
    }
    const vtac_value_id value = s->frontier[latest];
    s->frontier[latest] = s->frontier[--s->frontier_count];
    return value;
}

bool vtac_find_island(const vtac_island_search *how, vtac_node_id root, vtac_island *out)
{
    const vtac_graph *g = how->graph;
    island_search s = {.how = how, .graph = g, .type = &g->values[g->nodes[root].outputs[0]].type};
    *out = (vtac_island){.source = 0};
    if (g->nodes[root].output_count != 1 || !take_in(&s, root)) {
        return false;
    }
    while (s.frontier_count > 0) {
        const vtac_value_id only = s.frontier[0];
        if (s.frontier_count == 1 && same_shape(&g->values[only].type, s.type) && how->begins(g, only)) {
            *out = s.is;
            out->source = only;
            if (how->axis != 0 || read_elsewhere(&s, only)) {
                break;
            }
        }
        if (!take_in(&s, g->values[take_latest(&s)].node)) {
            break;
        }
    }
    return out->source != 0;
}
