/* SPDX-License-Identifier: Apache-2.0
 *
 * A scale has the same step everywhere: an element of a thousandth of the largest one is 0 in 8 bits. A
 * logarithm, a root and a division tell such elements apart, so what they read stays float. The demand goes
 * upwards through sums, products and moves, and ends where a function bounds or rectifies its operand: behind
 * Softmax, Sigmoid, Exp or Relu the absolute error counts again.
 *
 * A root and a denominator read norms, which the large elements make: there the demand also ends at a square,
 * at a sum and at a product with weights. A logarithm (of the bands of a spectrum) reads through all three.
 */
#include "relative.h"

/* The reach of a demand. */
typedef enum demand { NORM, LOGARITHM } demand;

static bool is_square(const vtac_node *node)
{
    return node->op == VTAC_OP_POW || node->op == VTAC_OP_ABS ||
           (node->op == VTAC_OP_MUL && node->inputs[VTAC_BINARY_A] == node->inputs[VTAC_BINARY_B]);
}

static bool is_reduction(const vtac_node *node)
{
    static const bool reduces[VTAC_OP_COUNT] = {
        [VTAC_OP_AVERAGE_POOL] = true,     [VTAC_OP_GLOBAL_AVERAGE_POOL] = true, [VTAC_OP_REDUCE_L1] = true,
        [VTAC_OP_REDUCE_L2] = true,        [VTAC_OP_REDUCE_MEAN] = true,         [VTAC_OP_REDUCE_SUM] = true,
        [VTAC_OP_REDUCE_SUM_SQUARE] = true};
    return reduces[node->op];
}

static bool has_constant(const vtac_graph *g, const vtac_node *node)
{
    return vtac_in_constant(g, node, VTAC_BINARY_A) != NULL ||
           vtac_in_constant(g, node, VTAC_BINARY_B) != NULL;
}

/* True where the result of a node has the relative error of its operands. */
static bool hands_on(const vtac_graph *g, const vtac_node *node, demand how)
{
    static const bool adds[VTAC_OP_COUNT] = {[VTAC_OP_ADD] = true,
                                             [VTAC_OP_CLIP] = true,
                                             [VTAC_OP_MAX] = true,
                                             [VTAC_OP_SQRT] = true,
                                             [VTAC_OP_SUB] = true};
    if (vtac_quant_may_be_product(node)) {
        return how == LOGARITHM;
    }
    if (node->op == VTAC_OP_DIV || node->op == VTAC_OP_MUL) {
        return has_constant(g, node) || is_square(node);
    }
    return adds[node->op] || is_square(node) || is_reduction(node) ||
           vtac_quant_role_of(node->op) == QUANT_SHARE;
}

static void dissolve(const vtac_quant_plan *plan, vtac_node_id id)
{
    const uint32_t island = plan->island[id];
    for (uint32_t n = 0; island != 0 && n < plan->node_room; n++) {
        plan->island[n] = plan->island[n] == island ? 0 : plan->island[n];
    }
}

/* True where an island's logarithm or root reads the value that the island begins with, through what hands
 * the demand on: log(x + 1e-6), but not log(1 + exp(x)). */
static bool reaches_source(const vtac_quant_plan *plan, uint32_t island, vtac_value_id value, demand how)
{
    const vtac_graph *g = plan->graph;
    const vtac_node_id id = value == 0 ? 0 : g->values[value].node;
    if (value == 0 || g->values[value].constant != NULL) {
        return false;
    }
    if (id == 0 || plan->island[id] != island) {
        return true;
    }
    bool reaches = false;
    for (uint32_t i = 0; hands_on(g, &g->nodes[id], how) && i < g->nodes[id].input_count; i++) {
        reaches = reaches || reaches_source(plan, island, g->nodes[id].inputs[i], how);
    }
    return reaches;
}

/* True where a demand ends at a node: large elements make a norm. */
static bool ends(const vtac_graph *g, const vtac_node *node, demand how)
{
    const bool two = node->input_count > 1 && !has_constant(g, node);
    return how == NORM && (is_square(node) || (two && !is_reduction(node)));
}

/* Marks what makes a value, and what that reads. Of what a norm sums up, only squares are marked. */
static void mark(const vtac_quant_plan *plan, vtac_value_id value, demand how, bool summed)
{
    const vtac_graph *g = plan->graph;
    const vtac_node_id id = value == 0 ? 0 : g->values[value].node;
    const vtac_node *node = &g->nodes[id];
    if (id == 0 || plan->exact[id] || !hands_on(g, node, how) || (summed && !is_square(node)) ||
        (plan->island[id] != 0 && !reaches_source(plan, plan->island[id], value, how))) {
        return;
    }
    dissolve(plan, id);
    plan->exact[id] = true;
    for (uint32_t i = 0; !ends(g, node, how) && i < node->input_count; i++) {
        mark(plan, node->inputs[i], how, how == NORM && is_reduction(node));
    }
}

/* The operand whose small elements a node tells apart; 0: it has none. */
static vtac_value_id operand_of(const vtac_node *node, demand *how)
{
    *how = node->op == VTAC_OP_LOG ? LOGARITHM : NORM;
    if (node->op == VTAC_OP_DIV) {
        return node->inputs[VTAC_BINARY_B];
    }
    const bool reads = node->op == VTAC_OP_LOG || node->op == VTAC_OP_RECIPROCAL || node->op == VTAC_OP_SQRT;
    return reads ? node->inputs[0] : 0;
}

void vtac_quant_mark_relative(const vtac_quant_plan *plan)
{
    const vtac_graph *g = plan->graph;
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node_id id = g->order[i];
        const vtac_node *node = &g->nodes[id];
        demand how;
        const vtac_value_id x = operand_of(node, &how);
        const uint32_t island = plan->island[id];
        const bool alone = node->op == VTAC_OP_LOG || node->op == VTAC_OP_SQRT;
        if (x == 0 || (island != 0 && (!alone || !reaches_source(plan, island, x, how)))) {
            continue; /* a quotient inside a function of one value is part of its table */
        }
        dissolve(plan, id);
        mark(plan, x, how, false);
    }
}
