/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantizing begins at a product and goes on to what follows. In front of the first product of a transformer
 * the embedding stands: rows of tables that tokens look up, summed with places, and normalized:
 *
 *     LayerNormalization(Add(Add(Gather(words, tokens), Gather(kinds, kind of each)), places))
 *
 * The sum and the normalization have integers like those behind. The lookups stay float here: the pass
 * fold-qdq makes bytes of a table that only bytes are looked up in.
 */
#include "early.h"

enum { MAX_DEPTH = 6 }; /* of sums in sums: words, kinds, places, and some to spare */

static bool is_norm(const vtac_node *node)
{
    return node->op == VTAC_OP_LAYER_NORMALIZATION || node->op == VTAC_OP_RMS_NORMALIZATION;
}

/* True for rows of a constant table, or rows that the network is given. */
static bool is_beginning(const vtac_graph *g, vtac_value_id value)
{
    const vtac_node_id id = g->values[value].node;
    const vtac_node *node = &g->nodes[id];
    const bool rows = g->values[value].type.dtype == VTAC_F32 && g->values[value].type.rank > 1;
    return rows &&
           (id == 0 ? g->values[value].constant == NULL
                    : node->op == VTAC_OP_GATHER && vtac_in_constant(g, node, VTAC_GATHER_DATA) != NULL &&
                          vtac_attr_int(node, "axis", 0) == 0);
}

/* True for a beginning, and for sums of beginnings and constants, `depth` of them in each other at most. */
static bool is_sum(const vtac_graph *g, vtac_value_id value, uint32_t depth)
{
    const vtac_node *node = &g->nodes[g->values[value].node];
    if (g->values[value].node == 0 || node->op != VTAC_OP_ADD || depth == 0) {
        return is_beginning(g, value);
    }
    bool any = false, all = true;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const bool known = vtac_in_constant(g, node, i) != NULL;
        any = any || !known;
        all = all && (known || is_sum(g, node->inputs[i], depth - 1));
    }
    return any && all;
}

static void mark_sum(const vtac_quant_plan *plan, vtac_value_id value)
{
    const vtac_node_id id = plan->graph->values[value].node;
    const vtac_node *node = &plan->graph->nodes[id];
    if (id == 0 || node->op != VTAC_OP_ADD || plan->early[id]) {
        return;
    }
    plan->early[id] = true;
    for (uint32_t i = 0; i < node->input_count; i++) {
        mark_sum(plan, node->inputs[i]);
    }
}

/* True for an input that the normalization alone reads. It stays float: its columns may be of such different
 * sizes that 8 bits for all lose some of them. */
static bool is_lone_input(const vtac_graph *g, vtac_value_id value, vtac_node_id norm)
{
    const vtac_value *v = &g->values[value];
    bool alone = v->node == 0;
    for (uint32_t i = 0; i < v->user_count && alone; i++) {
        alone = v->users[i] == norm || g->nodes[v->users[i]].dead;
    }
    return alone;
}

void vtac_quant_mark_early(const vtac_quant_plan *plan)
{
    const vtac_graph *g = plan->graph;
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node_id id = g->order[i];
        const vtac_node *node = &g->nodes[id];
        const vtac_value_id x = is_norm(node) ? node->inputs[VTAC_NORM_X] : 0;
        if (x != 0 && !is_lone_input(g, x, id) && is_sum(g, x, MAX_DEPTH)) {
            plan->early[id] = true;
            mark_sum(plan, x);
        }
    }
}
