/* SPDX-License-Identifier: Apache-2.0
 *
 * Pointwise operators on quantized numbers.
 */
#include <string.h>

#include "point.h"

static uint32_t axis_of(const vtac_lower *l, const vtac_node *n)
{
    const int64_t rank = l->graph->values[n->inputs[0]].type.rank;
    const int64_t axis = vtac_attr_int(n, "axis", 1);
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}

/* Scale or zero point (input i) of element `at`; NULL where there is none. */
static const vtac_expr *parameter(vtac_lower *l, const vtac_node *n, uint32_t i, const vtac_expr *const *at)
{
    if (vtac_attr_int(n, "block_size", 0) != 0) {
        (void)vtac_unsupported(l, "quantization by blocks is not lowered");
        return NULL;
    }
    return vtac_in_type(l->graph, n, i) == NULL ? NULL : vtac_axis_arg(l, n, i, axis_of(l, n), at);
}

const vtac_expr *vtac_point_quantize(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_expr *x = vtac_to_float(l, vtac_arg(l, n, 0, at));
    const vtac_expr *scale = parameter(l, n, 1, at);
    const vtac_expr *zero = parameter(l, n, 2, at);
    scale = vtac_e_cast(l->k, x == NULL ? VTAC_F32 : x->type, scale);
    return vtac_requantize(l, x, scale, zero, l->graph->values[n->outputs[0]].type.dtype);
}

/* (x - zero) * scale, in int32 up to the multiplication. */
const vtac_expr *vtac_point_dequantize(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_expr *x = vtac_e_cast(l->k, VTAC_I32, vtac_arg(l, n, 0, at));
    const vtac_expr *scale = parameter(l, n, 1, at);
    const vtac_expr *zero = parameter(l, n, 2, at);
    if (zero != NULL) {
        x = vtac_e2(l->k, VTAC_E_SUB, x, vtac_e_cast(l->k, VTAC_I32, zero));
    }
    const vtac_dtype type = scale == NULL ? VTAC_F32 : scale->type;
    return vtac_e2(l->k, VTAC_E_MUL, vtac_e_cast(l->k, type, x), scale);
}

/* One element of a quantized input as a float: inputs i, i+1 (scale), i+2 (zero). */
static const vtac_expr *real(vtac_lower *l, const vtac_node *n, uint32_t i, const vtac_expr *const *at)
{
    const vtac_expr *x = vtac_e_cast(l->k, VTAC_I32, vtac_arg(l, n, i, at));
    if (vtac_in_type(l->graph, n, i + 2) != NULL) {
        const vtac_expr *zero = vtac_axis_arg(l, n, i + 2, 0, at);
        x = vtac_e2(l->k, VTAC_E_SUB, x, vtac_e_cast(l->k, VTAC_I32, zero));
    }
    return vtac_e2(l->k, VTAC_E_MUL, vtac_e_cast(l->k, VTAC_F32, x), vtac_axis_arg(l, n, i + 1, 0, at));
}

static const vtac_expr *quantized(vtac_lower *l, const vtac_node *n, const vtac_expr *x, uint32_t i,
                                  const vtac_expr *const *at)
{
    const bool has_zero = vtac_in_type(l->graph, n, i + 1) != NULL;
    const vtac_expr *zero = has_zero ? vtac_axis_arg(l, n, i + 1, 0, at) : NULL;
    return vtac_requantize(l, x, vtac_axis_arg(l, n, i, 0, at), zero,
                           l->graph->values[n->outputs[0]].type.dtype);
}

const vtac_expr *vtac_point_qlinear_binary(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_expr_op op = n->op == VTAC_OP_QLINEAR_ADD ? VTAC_E_ADD : VTAC_E_MUL;
    const vtac_expr *x = vtac_e2(l->k, op, real(l, n, 0, at), real(l, n, 3, at));
    return quantized(l, n, x, 6, at);
}

const vtac_expr *vtac_point_qlinear_unary(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_expr *x = vtac_let(l->k, "x", real(l, n, 0, at));
    const vtac_expr *zero = vtac_e_float(l->k, VTAC_F32, 0.0);
    if (n->op == VTAC_OP_QLINEAR_LEAKY_RELU) {
        const vtac_expr *alpha = vtac_e_float(l->k, VTAC_F32, vtac_attr_float(n, "alpha", 0.01));
        const vtac_expr *low = vtac_e2(l->k, VTAC_E_MUL, alpha, x);
        x = vtac_e3(l->k, VTAC_E_SELECT, vtac_e2(l->k, VTAC_E_LT, x, zero), low, x);
    } else {
        const vtac_expr *one = vtac_e_float(l->k, VTAC_F32, 1.0);
        const vtac_expr *e = vtac_e1(l->k, VTAC_E_EXP, vtac_e1(l->k, VTAC_E_NEG, x));
        x = vtac_e2(l->k, VTAC_E_DIV, one, vtac_e2(l->k, VTAC_E_ADD, one, e));
    }
    return quantized(l, n, x, 3, at);
}
