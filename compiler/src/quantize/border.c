/* SPDX-License-Identifier: Apache-2.0
 *
 * The border of the integers: nodes at the end of the network, and in front of what computes with floats,
 * stay float. The border lies behind the last product, sum or pool, or behind the normalization of such rows,
 * which a transformer ends with. Where the options ask for it, it lies behind sums, products and Softmax,
 * too.
 */
#include "plan.h"

bool vtac_quant_moves(const vtac_node *node)
{
    return vtac_quant_role_of(node->op) == QUANT_SHARE || node->op == VTAC_OP_CONCAT;
}

static bool same_island(const vtac_quant_plan *plan, vtac_node_id a, vtac_node_id b)
{
    return plan->island[a] != 0 && plan->island[a] == plan->island[b];
}

bool vtac_quant_is_inside(const vtac_quant_plan *plan, vtac_node_id id)
{
    const vtac_graph *g = plan->graph;
    const vtac_value *v = &g->values[g->nodes[id].outputs[0]];
    bool inside = plan->island[id] != 0 && v->output_uses == 0 && v->node_uses > 0;
    for (uint32_t i = 0; inside && i < v->user_count; i++) {
        const vtac_node *user = &g->nodes[v->users[i]];
        bool reads = false;
        for (uint32_t k = 0; !user->dead && k < user->input_count; k++) {
            reads = reads || user->inputs[k] == g->nodes[id].outputs[0];
        }
        inside = !reads || same_island(plan, id, v->users[i]);
    }
    return inside;
}

/* Operators that the pass fold-qdq passes integers through although they have no role here. */
static const bool lets_integers_through[VTAC_OP_COUNT] = {
    [VTAC_OP_EXPAND] = true, [VTAC_OP_GATHER] = true,     [VTAC_OP_MAX] = true,
    [VTAC_OP_MIN] = true,    [VTAC_OP_PAD] = true,        [VTAC_OP_REDUCE_MAX] = true,
    [VTAC_OP_RESIZE] = true, [VTAC_OP_REDUCE_MIN] = true, [VTAC_OP_TILE] = true};

/* True where an active node outside of a value's own island, other than `except` (0: any), reads the value.
 */
static bool feeds_active(const vtac_quant_plan *plan, vtac_node_id id, vtac_value_id y, vtac_node_id except)
{
    const vtac_graph *g = plan->graph;
    const vtac_value *v = &g->values[y];
    bool feeds = false;
    for (uint32_t i = 0; y != 0 && !feeds && i < v->user_count; i++) {
        const vtac_node_id user = v->users[i];
        const vtac_node *node = &g->nodes[user];
        for (uint32_t k = 0; !node->dead && user != except && k < node->input_count; k++) {
            feeds = feeds || (node->inputs[k] == y && !same_island(plan, id, user) &&
                              (plan->active[user] || (lets_integers_through[node->op] &&
                                                      feeds_active(plan, user, node->outputs[0], except))));
        }
    }
    return feeds;
}

static bool is_row_norm(const vtac_node *node)
{
    return node->op == VTAC_OP_LAYER_NORMALIZATION || node->op == VTAC_OP_RMS_NORMALIZATION;
}

/* The operand that a node only moves, or multiplies by one number; 0: it computes. */
static vtac_value_id carried_by(const vtac_graph *g, const vtac_node *node)
{
    double factor;
    if (vtac_quant_role_of(node->op) == QUANT_SHARE) {
        return node->inputs[0];
    }
    for (uint32_t i = 0; node->op == VTAC_OP_MUL && i < 2; i++) {
        if (vtac_scalar_of(g, node->inputs[i], &factor)) {
            return node->inputs[1 - i];
        }
    }
    return 0;
}

/* True for a picture that is made larger, where the picture is 8 bits: then the larger one is, too. */
static bool enlarges_integers(const vtac_quant_plan *plan, vtac_value_id value, vtac_node_id reader)
{
    const vtac_graph *g = plan->graph;
    const vtac_node_id id = g->values[value].node;
    const vtac_value_id x = id == 0 ? 0 : g->nodes[id].inputs[0];
    const vtac_node_id maker = x == 0 ? 0 : g->values[x].node;
    return x != 0 && vtac_quant_makes_pixels(plan, id) &&
           (feeds_active(plan, maker, x, reader) ||
            (maker != 0 && plan->active[maker] && plan->whole[maker]));
}

/* True where a value is 8 bits whatever `reader` does: what makes it, in front of what only moves or scales
 * it, has integers, or something else needs them. */
static bool has_integers(const vtac_quant_plan *plan, vtac_value_id value, vtac_node_id reader)
{
    const vtac_graph *g = plan->graph;
    vtac_node_id maker = g->values[value].node;
    while (maker != 0 && plan->active[maker] && plan->island[maker] == 0 &&
           carried_by(g, &g->nodes[maker]) != 0 && !plan->whole[maker] &&
           !feeds_active(plan, maker, value, reader)) {
        reader = maker;
        value = carried_by(g, &g->nodes[maker]);
        maker = g->values[value].node;
    }
    return (maker != 0 && plan->active[maker] &&
            (plan->whole[maker] || feeds_active(plan, maker, value, reader))) ||
           enlarges_integers(plan, value, reader);
}

/* True for a sum of what is 8 bits anyway. */
static bool adds_integers(const vtac_quant_plan *plan, vtac_node_id id)
{
    const vtac_node *node = &plan->graph->nodes[id];
    bool both = node->op == VTAC_OP_ADD;
    for (uint32_t i = 0; both && i < node->input_count; i++) {
        both = has_integers(plan, node->inputs[i], id);
    }
    return both;
}

/* All but products, with what is fused into them, sums of integers, the normalization of their rows, and
 * pools: where no integers are wanted, floats do the same and more exactly. */
static bool needs_reader(const vtac_quant_plan *plan, vtac_node_id id)
{
    const vtac_node *node = &plan->graph->nodes[id];
    if (plan->island[id] != 0 || node->op == VTAC_OP_MUL || node->op == VTAC_OP_SIGMOID) {
        return true;
    }
    if (node->op == VTAC_OP_SOFTMAX || node->op == VTAC_OP_LP_NORMALIZATION ||
        node->op == VTAC_OP_INSTANCE_NORMALIZATION || node->op == VTAC_OP_GROUP_NORMALIZATION ||
        node->op == VTAC_OP_MAX || node->op == VTAC_OP_MIN || node->op == VTAC_OP_SUB) {
        return true;
    }
    if (is_row_norm(node)) {
        return !has_integers(plan, node->inputs[VTAC_NORM_X], id);
    }
    const bool pools = node->op == VTAC_OP_MAX_POOL || node->op == VTAC_OP_GLOBAL_MAX_POOL;
    return (node->op == VTAC_OP_ADD && !adds_integers(plan, id)) || (vtac_quant_moves(node) && !pools);
}

static bool has_reader(const vtac_quant_plan *plan, vtac_node_id id)
{
    const vtac_node *node = &plan->graph->nodes[id];
    bool has = false;
    for (uint32_t k = 0; k < node->output_count; k++) {
        has = has || feeds_active(plan, id, node->outputs[k], 0);
    }
    return has;
}

/* True for what has 8 bits at the end of the network where that is asked for. */
static bool is_asked_for(const vtac_quant_plan *plan, vtac_node_id id)
{
    static const vtac_network_end from[VTAC_OP_COUNT] = {[VTAC_OP_ADD] = VTAC_END_PLAIN,
                                                         [VTAC_OP_SUB] = VTAC_END_PLAIN,
                                                         [VTAC_OP_MUL] = VTAC_END_PLAIN,
                                                         [VTAC_OP_SOFTMAX] = VTAC_END_ROWS,
                                                         [VTAC_OP_LAYER_NORMALIZATION] = VTAC_END_ROWS,
                                                         [VTAC_OP_RMS_NORMALIZATION] = VTAC_END_ROWS,
                                                         [VTAC_OP_GROUP_NORMALIZATION] = VTAC_END_ROWS,
                                                         [VTAC_OP_INSTANCE_NORMALIZATION] = VTAC_END_ROWS};
    const vtac_network_end first = from[plan->graph->nodes[id].op];
    return plan->island[id] == 0 && first != VTAC_END_FLOAT && plan->ends >= first;
}

/* Marks what stays 8 bits whether it is read or not. Such nodes are never made float again, so that one look
 * at each node, in the order of computation, is enough. */
static void mark_whole(const vtac_quant_plan *plan)
{
    for (uint32_t i = 0; i < plan->graph->order_count; i++) {
        const vtac_node_id id = plan->graph->order[i];
        plan->whole[id] = plan->active[id] && (is_asked_for(plan, id) || !needs_reader(plan, id));
    }
}

/* An island goes as a whole, from its last node on. */
void vtac_quant_move_border(const vtac_quant_plan *plan)
{
    const vtac_graph *g = plan->graph;
    mark_whole(plan);
    for (uint32_t i = g->order_count; i-- > 0;) {
        const vtac_node_id id = g->order[i];
        const uint32_t island = plan->island[id];
        if (!plan->active[id] || plan->whole[id] || vtac_quant_is_inside(plan, id) || has_reader(plan, id)) {
            continue;
        }
        plan->active[id] = false;
        for (vtac_node_id n = 1; island != 0 && n < plan->node_room; n++) {
            plan->active[n] = plan->active[n] && plan->island[n] != island;
            plan->island[n] = plan->island[n] == island ? 0 : plan->island[n];
        }
    }
}
