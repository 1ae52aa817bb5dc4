/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups nodes into regions. Nodes are visited in order; each joins the groups that it reads from, if the
 * result can still run at one time: no path may leave a group and come back into it. A path through another
 * group counts for that whole group, since it runs at one time, too.
 */
#include <string.h>

#include "partition.h"
#include "vta/fail.h"

typedef struct search {
    const vtac_graph *graph;
    const vtac_grouping *g;
    bool *seen; /* by node */
    vtac_node_id *stack;
    uint32_t depth;
    const bool *mine; /* by group: the groups that are to be merged */
    vtac_node_id added;
} search;

/* The node that makes input i, seen through views; 0: none. */
static vtac_node_id input_maker(const vtac_graph *graph, const vtac_node *node, uint32_t i)
{
    if (node->inputs[i] == 0) {
        return 0;
    }
    const vtac_value *value = &graph->values[vtac_source_of(graph, node->inputs[i]).base];
    return value->constant != NULL ? 0 : value->node;
}

static bool is_mine(const search *s, vtac_node_id node)
{
    return node == s->added || s->mine[s->g->group[node]];
}

static void push_node(search *s, vtac_node_id node)
{
    if (node != 0 && !s->seen[node]) {
        s->seen[node] = true;
        s->stack[s->depth++] = node;
    }
}

/* Pushes the makers of a node's inputs on the stack; true if one of them is in `mine`, and that
 * closes a circle. */
static bool follow_inputs(search *s, vtac_node_id id, bool from_mine)
{
    const vtac_node *node = &s->graph->nodes[id];
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_node_id from = input_maker(s->graph, node, i);
        if (from != 0 && is_mine(s, from)) {
            if (!from_mine) {
                return true;
            }
        } else {
            push_node(s, from);
        }
    }
    return false;
}

/* Follows a node outside, together with its whole group. */
static bool follow_outside(search *s, vtac_node_id id)
{
    const uint32_t group = s->g->group[id];
    if (group == 0) {
        return follow_inputs(s, id, false);
    }
    for (uint32_t i = 0; i < s->graph->order_count; i++) {
        const vtac_node_id other = s->graph->order[i];
        if (s->g->group[other] == group) {
            s->seen[other] = true;
            if (follow_inputs(s, other, false)) {
                return true;
            }
        }
    }
    return false;
}

/* The first node that makes one of the inputs; 0: none. */
static vtac_node_id first_maker(const vtac_graph *graph, const vtac_node *node)
{
    vtac_node_id from = 0;
    for (uint32_t i = 0; from == 0 && i < node->input_count; i++) {
        from = input_maker(graph, node, i);
    }
    return from;
}

/* True if a node reads from one group only, and otherwise from inputs and constants: it cannot
 * close a circle. */
static bool reads_one_group(const search *s, const vtac_node *node)
{
    uint32_t group = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_node_id from = input_maker(s->graph, node, i);
        const uint32_t own = from != 0 ? s->g->group[from] : group;
        if (from != 0 && (own == 0 || (group != 0 && own != group))) {
            return false;
        }
        group = own;
    }
    return true;
}

/* True if the groups `mine` and the node `added` can run at one time. */
static bool is_convex(search *s)
{
    memset(s->seen, 0, ((size_t)s->graph->node_count + 1) * sizeof *s->seen);
    s->depth = 0;
    (void)follow_inputs(s, s->added, true);
    for (uint32_t i = 0; i < s->graph->order_count; i++) {
        if (is_mine(s, s->graph->order[i])) {
            (void)follow_inputs(s, s->graph->order[i], true);
        }
    }
    while (s->depth > 0) {
        if (follow_outside(s, s->stack[--s->depth])) {
            return false;
        }
    }
    return true;
}

static void merge_groups(vtac_grouping *g, const vtac_graph *graph, const bool *mine, uint32_t into)
{
    for (uint32_t i = 0; i < graph->order_count; i++) {
        uint32_t *group = &g->group[graph->order[i]];
        *group = *group != 0 && mine[*group] ? into : *group;
    }
}

/* Puts a node into the groups that it reads from: all merged, or the first that can take it, or a new group.
 */
static void place_node(search *s, vtac_grouping *g, bool *mine, vtac_node_id id)
{
    const vtac_node *node = &s->graph->nodes[id];
    uint32_t best = 0;
    if (node->input_count > 0 && reads_one_group(s, node)) {
        const vtac_node_id from = first_maker(s->graph, node);
        g->group[id] = from != 0 ? g->group[from] : ++g->count;
        return;
    }
    memset(mine, 0, ((size_t)s->graph->node_count + 2) * sizeof *mine);
    s->added = id;
    s->mine = mine;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_node_id from = input_maker(s->graph, node, i);
        const uint32_t group = from != 0 ? g->group[from] : 0;
        if (group != 0) {
            best = group;
            mine[group] = true;
        }
    }
    if (best != 0 && is_convex(s)) {
        merge_groups(g, s->graph, mine, best);
        g->group[id] = best;
        return;
    }
    for (uint32_t i = 0; best != 0 && i < node->input_count; i++) {
        const vtac_node_id from = input_maker(s->graph, node, i);
        const uint32_t group = from != 0 ? g->group[from] : 0;
        memset(mine, 0, ((size_t)s->graph->node_count + 2) * sizeof *mine);
        mine[group] = group != 0;
        if (group != 0 && is_convex(s)) {
            g->group[id] = group;
            return;
        }
    }
    g->group[id] = ++g->count;
}

/* True if both groups read a common value from outside of all groups. */
static bool share_input(const search *s, uint32_t a, uint32_t b)
{
    const vtac_graph *g = s->graph;
    memset(s->seen, 0, ((size_t)g->node_count + 1) * sizeof *s->seen);
    bool alike = false;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < g->order_count && !alike; i++) {
            const vtac_node_id id = g->order[i];
            const vtac_node *node = &g->nodes[id];
            for (uint32_t k = 0; s->g->group[id] == (pass == 0 ? a : b) && k < node->input_count; k++) {
                const vtac_node_id from = input_maker(g, node, k);
                if (from != 0 && s->g->group[from] == 0) {
                    alike = alike || (pass == 1 && s->seen[from]);
                    s->seen[from] = s->seen[from] || pass == 0;
                }
            }
        }
    }
    return alike;
}

/* Merges groups that read a common value and do not depend on each other: they become one launch. */
static void join_siblings(search *s, vtac_grouping *g, bool *mine)
{
    enum { MAX_GROUPS = 128 }; /* beyond, the search for pairs takes too long */
    for (uint32_t a = 1; a <= g->count && g->count <= MAX_GROUPS; a++) {
        for (uint32_t b = a + 1; b <= g->count; b++) {
            if (!share_input(s, a, b)) {
                continue;
            }
            memset(mine, 0, ((size_t)s->graph->node_count + 2) * sizeof *mine);
            mine[a] = mine[b] = true;
            s->added = 0;
            s->mine = mine;
            if (is_convex(s)) {
                merge_groups(g, s->graph, mine, a);
            }
        }
    }
}

/* Fills in the readers of each value, from the end of each value's range backwards. */
static void fill_readers(const vtac_graph *graph, vtac_grouping *out)
{
    uint32_t *first = out->first_reader;
    for (uint32_t v = 1; v <= graph->value_count + 1; v++) {
        first[v] += first[v - 1];
    }
    for (uint32_t i = graph->order_count; i-- > 0;) {
        const vtac_node *node = &graph->nodes[graph->order[i]];
        for (uint32_t k = 0; k < node->input_count; k++) {
            out->readers[--first[node->inputs[k]]] = graph->order[i];
        }
    }
}

static vta_status find_readers(const vtac_graph *graph, vta_arena *arena, vtac_grouping *out, vta_diag *diag)
{
    const size_t values = (size_t)graph->value_count + 2;
    size_t reads = 1;
    out->first_reader = vta_arena_array(arena, values, sizeof *out->first_reader);
    out->is_output = vta_arena_array(arena, values, sizeof *out->is_output);
    for (uint32_t i = 0; out->first_reader != NULL && i < graph->order_count; i++) {
        const vtac_node *node = &graph->nodes[graph->order[i]];
        for (uint32_t k = 0; k < node->input_count; k++) {
            out->first_reader[node->inputs[k]]++;
        }
        reads += node->input_count;
    }
    out->readers = vta_arena_array(arena, reads, sizeof *out->readers);
    if (out->first_reader == NULL || out->is_output == NULL || out->readers == NULL) {
        return vta_no_memory(diag);
    }
    fill_readers(graph, out);
    for (uint32_t i = 0; i < graph->output_count; i++) {
        out->is_output[graph->outputs[i]] = true;
    }
    return VTA_OK;
}

vta_status vtac_find_groups(const vtac_graph *graph, const bool *eligible, vta_arena *arena,
                            vtac_grouping *out, vta_diag *diag)
{
    const size_t nodes = (size_t)graph->node_count + 2;
    *out = (vtac_grouping){.group = vta_arena_array(arena, nodes, sizeof *out->group)};
    search s = {.graph = graph,
                .g = out,
                .seen = vta_arena_array(arena, nodes, sizeof *s.seen),
                .stack = vta_arena_array(arena, nodes, sizeof *s.stack)};
    bool *mine = vta_arena_array(arena, nodes, sizeof *mine);
    if (out->group == NULL || s.seen == NULL || s.stack == NULL || mine == NULL) {
        return vta_no_memory(diag);
    }
    VTA_TRY(find_readers(graph, arena, out, diag));
    for (uint32_t i = 0; i < graph->order_count; i++) {
        if (eligible[graph->order[i]]) {
            place_node(&s, out, mine, graph->order[i]);
        }
    }
    join_siblings(&s, out, mine);
    return VTA_OK;
}

bool vtac_needed_outside(const vtac_graph *graph, const vtac_grouping *g, uint32_t group, vtac_value_id value)
{
    if (g->is_output[value]) {
        return true;
    }
    for (uint32_t i = g->first_reader[value]; i < g->first_reader[value + 1]; i++) {
        const vtac_node_id id = g->readers[i];
        const vtac_node *node = &graph->nodes[id];
        if (g->group[id] != group &&
            (!vtac_is_view(graph, node) || vtac_needed_outside(graph, g, group, node->outputs[0]))) {
            return true;
        }
    }
    return false;
}
