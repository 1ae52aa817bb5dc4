/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that graphs of TensorFlow write in pieces: a PReLU as two Relus, a softmax by its formula. The
 * functions here look at nodes of our graph, so that the container and the names do not matter; pieces that
 * nothing else uses fall away.
 */
#include <math.h>

#include "import.h"

static const vtac_node *node_of(const vtac_tf *im, vtac_id id, vtac_op op)
{
    const vtac_graph *g = im->maker.graph;
    const vtac_node *node = id == 0 || g->values[id].node == 0 ? NULL : &g->nodes[g->values[id].node];
    return node != NULL && node->op == op ? node : NULL;
}

static bool is_constant(const vtac_tf *im, vtac_id id)
{
    return vtac_made_constant(&im->maker, id) != NULL;
}

/* True where a value is known and all of it is one number. */
static bool is_number(const vtac_tf *im, vtac_id id, double number, double limit)
{
    const vtac_tensor *known = vtac_made_constant(&im->maker, id);
    const int64_t count = known == NULL ? 0 : vtac_type_elements(&known->type);
    for (int64_t i = 0; i < count; i++) {
        if (fabs(vtac_tensor_float(known, i) - number) > limit * fabs(number)) {
            return false;
        }
    }
    return count > 0;
}

/* The two operands of a product of `id`, a constant one in *factor. */
static bool is_product(const vtac_tf *im, vtac_id id, vtac_id *factor, vtac_id *rest)
{
    const vtac_node *mul = node_of(im, id, VTAC_OP_MUL);
    const uint32_t k = mul != NULL && is_constant(im, mul->inputs[VTAC_BINARY_A]) ? 0 : 1;
    if (mul == NULL || !is_constant(im, mul->inputs[k])) {
        return false;
    }
    *factor = mul->inputs[k];
    *rest = mul->inputs[1 - k];
    return true;
}

/* Relu(-x) */
static bool is_relu_of_minus(const vtac_tf *im, vtac_id id, vtac_id x)
{
    const vtac_node *relu = node_of(im, id, VTAC_OP_RELU);
    const vtac_node *neg = relu == NULL ? NULL : node_of(im, relu->inputs[0], VTAC_OP_NEG);
    return neg != NULL && neg->inputs[0] == x;
}

/* x - |x| */
static bool is_twice_negative(const vtac_tf *im, vtac_id id, vtac_id x)
{
    const vtac_node *sub = node_of(im, id, VTAC_OP_SUB);
    const vtac_node *abs = sub == NULL ? NULL : node_of(im, sub->inputs[VTAC_BINARY_B], VTAC_OP_ABS);
    return abs != NULL && sub->inputs[VTAC_BINARY_A] == x && abs->inputs[0] == x;
}

/* The factor of x where x is negative, if a value is nothing else; 0: it is. */
static vtac_id slope_of(vtac_tf *im, vtac_id id, vtac_id x)
{
    vtac_import_builder *m = &im->maker;
    vtac_id factor;
    vtac_id rest;
    vtac_id inner;
    const vtac_node *neg = node_of(im, id, VTAC_OP_NEG);
    if (neg != NULL) {
        const vtac_id slope = slope_of(im, neg->inputs[0], x);
        return slope == 0 ? 0 : vtac_make1(m, VTAC_OP_NEG, slope);
    }
    if (!is_product(im, id, &factor, &rest)) {
        return 0;
    }
    neg = node_of(im, rest, VTAC_OP_NEG);
    if (neg != NULL && is_relu_of_minus(im, neg->inputs[0], x)) {
        return factor;
    }
    if (is_relu_of_minus(im, rest, x)) {
        return vtac_make1(m, VTAC_OP_NEG, factor);
    }
    if (is_number(im, factor, 0.5, 1e-6) && is_product(im, rest, &factor, &inner) &&
        is_twice_negative(im, inner, x)) {
        return factor;
    }
    return 0;
}

static vtac_id prelu_of(vtac_tf *im, vtac_id positive, vtac_id negative, bool minus)
{
    const vtac_node *relu = node_of(im, positive, VTAC_OP_RELU);
    const vtac_id x = relu == NULL ? 0 : relu->inputs[0];
    vtac_id slope = x == 0 ? 0 : slope_of(im, negative, x);
    if (slope == 0) {
        return 0;
    }
    slope = minus ? vtac_make1(&im->maker, VTAC_OP_NEG, slope) : slope;
    return vtac_make2(&im->maker, VTAC_OP_PRELU, x, slope);
}

static bool reduces_axis(const vtac_tf *im, const vtac_node *reduce, int64_t *axis)
{
    const vtac_tensor *axes =
        reduce->input_count < 2 ? NULL : vtac_made_constant(&im->maker, reduce->inputs[VTAC_REDUCE_AXES]);
    if (axes == NULL || vtac_type_elements(&axes->type) != 1 || vtac_attr_int(reduce, "keepdims", 1) == 0) {
        return false;
    }
    *axis = vtac_tensor_int(axes, 0);
    return true;
}

/* exp(x) / sum(exp(x)), the maximum of x subtracted first or not. */
static vtac_id softmax_of(vtac_tf *im, vtac_id a, vtac_id b)
{
    const vtac_node *exp = node_of(im, a, VTAC_OP_EXP);
    const vtac_node *sum = node_of(im, b, VTAC_OP_REDUCE_SUM);
    int64_t axis;
    int64_t other;
    if (exp == NULL || sum == NULL || sum->inputs[VTAC_REDUCE_X] != a || !reduces_axis(im, sum, &axis)) {
        return 0;
    }
    vtac_id x = exp->inputs[0];
    const vtac_node *sub = node_of(im, x, VTAC_OP_SUB);
    const vtac_node *max = sub == NULL ? NULL : node_of(im, sub->inputs[VTAC_BINARY_B], VTAC_OP_REDUCE_MAX);
    if (max != NULL && max->inputs[VTAC_REDUCE_X] == sub->inputs[VTAC_BINARY_A] &&
        reduces_axis(im, max, &other) && other == axis) {
        x = sub->inputs[VTAC_BINARY_A];
    }
    const vtac_attr attr = vtac_attr_of_int("axis", axis);
    return vtac_make(&im->maker, VTAC_OP_SOFTMAX, &x, 1, &attr, 1);
}

/* a where b, all of which is one number, changes nothing of it: what is left of dropout and of scales. */
static vtac_id without_neutral(vtac_tf *im, vtac_op op, vtac_id a, vtac_id b)
{
    vtac_import_builder *m = &im->maker;
    const double neutral = op == VTAC_OP_MUL || op == VTAC_OP_DIV ? 1.0 : 0.0;
    const bool known = op == VTAC_OP_MUL || op == VTAC_OP_DIV || op == VTAC_OP_ADD || op == VTAC_OP_SUB;
    const vtac_type x = vtac_made_type(m, a);
    const vtac_type y = vtac_made_type(m, b);
    bool fits = known && y.rank <= x.rank && is_number(im, b, neutral, 0.0);
    for (uint32_t i = 0; fits && i < y.rank; i++) {
        const int64_t size = y.dim[y.rank - 1 - i];
        fits = size == 1 || size == x.dim[x.rank - 1 - i];
    }
    return fits ? a : 0;
}

vtac_id vtac_tf_recognize(vtac_tf *im, vtac_op op, vtac_id a, vtac_id b)
{
    const bool commutes = op == VTAC_OP_MUL || op == VTAC_OP_ADD;
    const vtac_id same = without_neutral(im, op, a, b);
    const vtac_id turned = same == 0 && commutes ? without_neutral(im, op, b, a) : 0;
    if (same != 0 || turned != 0) {
        return same != 0 ? same : turned;
    }
    if (op == VTAC_OP_DIV) {
        return softmax_of(im, a, b);
    }
    if (op == VTAC_OP_SUB) {
        return prelu_of(im, a, b, true);
    }
    if (op != VTAC_OP_ADD) {
        return 0;
    }
    const vtac_id y = prelu_of(im, a, b, false);
    return y != 0 ? y : prelu_of(im, b, a, false);
}
