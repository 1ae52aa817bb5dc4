/* SPDX-License-Identifier: Apache-2.0
 *
 * The scores of a Softmax as an exporter wrote them: see vtac/rows.h.
 */
#include <math.h>
#include <string.h>

#include "vtac/rows.h"

enum { DEPTH = 24 }; /* of what makes a mask */

static const double hides = -50.0; /* a number at most this hides a score */

static const vtac_node *maker_of(const vtac_graph *g, vtac_value_id value)
{
    const vtac_node_id id = value == 0 ? 0 : g->values[value].node;
    return id == 0 ? NULL : &g->nodes[id];
}

/* Operators that only move or choose elements of their first input. */
static bool hands_on(vtac_op op)
{
    static const bool moves[VTAC_OP_COUNT] = {
        [VTAC_OP_CAST] = true,      [VTAC_OP_EXPAND] = true,   [VTAC_OP_GATHER] = true,
        [VTAC_OP_IDENTITY] = true,  [VTAC_OP_RESHAPE] = true,  [VTAC_OP_SLICE] = true,
        [VTAC_OP_SQUEEZE] = true,   [VTAC_OP_TILE] = true,     [VTAC_OP_TRILU] = true,
        [VTAC_OP_TRANSPOSE] = true, [VTAC_OP_UNSQUEEZE] = true};
    return moves[op];
}

/* True for numbers that stand for yes and no: a cast truth, or 1 less the mask that a user gives. */
static bool is_unit(const vtac_graph *g, vtac_value_id value, int depth)
{
    const vtac_node *node = maker_of(g, value);
    double one;
    if (node == NULL || depth == 0) {
        return false;
    }
    if (node->op == VTAC_OP_CAST && vtac_in_type(g, node, VTAC_UNARY_X)->dtype == VTAC_BOOL) {
        return true;
    }
    if (node->op == VTAC_OP_SUB && vtac_scalar_of(g, node->inputs[VTAC_BINARY_A], &one)) {
        return one == 1.0;
    }
    return hands_on(node->op) && is_unit(g, node->inputs[0], depth - 1);
}

static bool is_constant_mask(const vtac_tensor *tensor, double *weakest)
{
    for (int64_t i = 0; i < vtac_type_elements(&tensor->type); i++) {
        const double v = vtac_tensor_float(tensor, i);
        if (v != 0.0 && !(v <= hides)) {
            return false;
        }
        *weakest = v != 0.0 && v > *weakest ? v : *weakest;
    }
    return true;
}

/* True where each number of a value is 0 or hides a score. */
static bool is_mask(const vtac_graph *g, vtac_value_id value, int depth, double *weakest)
{
    const vtac_node *node = maker_of(g, value);
    double factor;
    if (value != 0 && g->values[value].constant != NULL) {
        return is_constant_mask(g->values[value].constant, weakest);
    }
    if (node == NULL || depth == 0) {
        return false;
    }
    if (node->op == VTAC_OP_WHERE) {
        return is_mask(g, node->inputs[VTAC_WHERE_X], depth - 1, weakest) &&
               is_mask(g, node->inputs[VTAC_WHERE_Y], depth - 1, weakest);
    }
    if (node->op == VTAC_OP_ADD) {
        return is_mask(g, node->inputs[VTAC_BINARY_A], depth - 1, weakest) &&
               is_mask(g, node->inputs[VTAC_BINARY_B], depth - 1, weakest);
    }
    for (uint32_t i = 0; node->op == VTAC_OP_MUL && i < 2; i++) {
        if (vtac_scalar_of(g, node->inputs[i], &factor)) {
            *weakest = factor > *weakest ? factor : *weakest;
            return factor <= hides && is_unit(g, node->inputs[1 - i], depth - 1);
        }
    }
    return hands_on(node->op) && is_mask(g, node->inputs[0], depth - 1, weakest);
}

static bool is_float_value(const vtac_graph *g, vtac_value_id value)
{
    return value != 0 && vtac_dtype_kind(g->values[value].type.dtype) == 'f';
}

/* A product with or a quotient by one number above 0. */
static bool takes_factor(const vtac_graph *g, const vtac_node *node, vtac_softmax_head *h)
{
    double number;
    for (uint32_t i = 0; i < 2; i++) {
        const bool divides = node->op == VTAC_OP_DIV && i == 1;
        if ((node->op == VTAC_OP_MUL || divides) && vtac_scalar_of(g, node->inputs[i], &number) &&
            number > 0.0 && isfinite(number)) {
            h->factor *= divides ? 1.0 / number : number;
            h->source = node->inputs[1 - i];
            return true;
        }
    }
    return false;
}

/* Adds a mask and goes on to the scores, where its numbers hide. */
static bool adds_mask(vtac_softmax_head *h, vtac_mask mask, vtac_value_id scores)
{
    h->masks[h->mask_count++] = mask;
    h->weakest = fmax(h->weakest, mask.weakest * h->factor);
    h->source = scores;
    return true;
}

static bool takes_mask(const vtac_graph *g, const vtac_node *node, vtac_softmax_head *h)
{
    double weakest = -(double)INFINITY;
    if (h->mask_count == VTAC_HEAD_MASKS) {
        return false;
    }
    for (uint32_t i = 0; node->op == VTAC_OP_ADD && i < 2; i++) {
        if (is_mask(g, node->inputs[i], DEPTH, &weakest)) {
            return adds_mask(h, (vtac_mask){node->inputs[i], VTAC_MASK_ADDED, weakest}, node->inputs[1 - i]);
        }
        weakest = -(double)INFINITY;
    }
    for (uint32_t i = VTAC_WHERE_X; node->op == VTAC_OP_WHERE && i <= VTAC_WHERE_Y; i++) {
        double number;
        if (vtac_scalar_of(g, node->inputs[i], &number) && number <= hides) {
            const vtac_mask_kind kind = i == VTAC_WHERE_X ? VTAC_MASK_TRUE : VTAC_MASK_FALSE;
            return adds_mask(h, (vtac_mask){node->inputs[VTAC_WHERE_CONDITION], kind, number},
                             node->inputs[VTAC_WHERE_X + VTAC_WHERE_Y - i]);
        }
    }
    return false;
}

static bool same_shape(const vtac_type *a, const vtac_type *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof *a->dim) == 0;
}

void vtac_softmax_head_of(const vtac_graph *graph, vtac_node_id softmax, vtac_softmax_head *out)
{
    const vtac_node *node = &graph->nodes[softmax];
    *out = (vtac_softmax_head){.source = node->inputs[0], .factor = 1.0, .weakest = -(double)INFINITY};
    out->nodes[out->node_count++] = softmax;
    while (out->node_count < VTAC_HEAD_NODES) {
        const vtac_value_id below = out->source;
        vtac_softmax_head next = *out;
        node = maker_of(graph, below);
        if (node == NULL || !is_float_value(graph, below) || vtac_only_user_of(graph, below) == 0 ||
            vtac_is_output(graph, below) ||
            !(takes_factor(graph, node, &next) || takes_mask(graph, node, &next)) ||
            !same_shape(&graph->values[next.source].type, &graph->values[below].type)) {
            return;
        }
        next.nodes[next.node_count++] = (vtac_node_id)(node - graph->nodes);
        *out = next;
    }
}
