/* SPDX-License-Identifier: Apache-2.0
 *
 * fold-qdq: a model quantized with QuantizeLinear and DequantizeLinear around float operators becomes one of
 * integer operators, whose arithmetic is that of vtac/quant.h.
 *
 *     QuantizeLinear(Relu(Conv(DequantizeLinear(q), DequantizeLinear(w), DequantizeLinear(b))))
 *         -> Clip(QLinearConv(q, w, b), zero, high)
 *
 * A Relu or Clip in between is a range of the integers: quantizing is monotone, so it may come last. Where
 * the range is all of the type (a zero point of -128 for a Relu), nothing remains of it; otherwise an integer
 * Clip does, which each back end joins to what it follows.
 *
 * A function left between two 8-bit values that depends on nothing else is a table (qdq_island.c), and so are
 * functions behind the last of them (qdq_tail.c).
 *
 * Requires   scales and zero points that are known. What does not fit stays as it is, and stays right.
 * Cost       linear in the nodes, a few times.
 */
#include <math.h>

#include "qdq.h"
#include "vtac/codegen.h"

/* Operators that can stand before a QuantizeLinear; `becomes` must have a lowering. */
static const struct {
    vtac_op op, becomes;
    vtac_fold_fn *fold;
} folds[] = {
    {VTAC_OP_ADD, VTAC_OP_QLINEAR_ADD, vtac_fold_add},
    {VTAC_OP_AVERAGE_POOL, VTAC_OP_QLINEAR_AVERAGE_POOL, vtac_fold_pool},
    {VTAC_OP_CONCAT, VTAC_OP_QLINEAR_CONCAT, vtac_fold_concat},
    {VTAC_OP_CONV, VTAC_OP_QLINEAR_CONV, vtac_fold_conv},
    {VTAC_OP_CONV_TRANSPOSE, VTAC_OP_QLINEAR_CONV, vtac_fold_conv_transpose},
    {VTAC_OP_DEQUANTIZE_LINEAR, VTAC_OP_QLINEAR_CONCAT, vtac_fold_rescale},
    {VTAC_OP_GEMM, VTAC_OP_QGEMM, vtac_fold_gemm},
    {VTAC_OP_GLOBAL_AVERAGE_POOL, VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL, vtac_fold_global_pool},
    {VTAC_OP_GROUP_NORMALIZATION, VTAC_OP_PLANE_NORM, vtac_fold_planes},
    {VTAC_OP_GRU, VTAC_OP_RECURRENCE, vtac_fold_recurrence},
    {VTAC_OP_INSTANCE_NORMALIZATION, VTAC_OP_PLANE_NORM, vtac_fold_planes},
    {VTAC_OP_LAYER_NORMALIZATION, VTAC_OP_ROW_NORM, vtac_fold_norm},
    {VTAC_OP_LEAKY_RELU, VTAC_OP_QLINEAR_LEAKY_RELU, vtac_fold_unary},
    {VTAC_OP_LP_NORMALIZATION, VTAC_OP_ROW_SOFTMAX, vtac_fold_lp_norm},
    {VTAC_OP_LSTM, VTAC_OP_RECURRENCE, vtac_fold_recurrence},
    {VTAC_OP_MATMUL, VTAC_OP_QLINEAR_MATMUL, vtac_fold_matmul},
    {VTAC_OP_MAX, VTAC_OP_MAX, vtac_fold_choice},
    {VTAC_OP_MIN, VTAC_OP_MIN, vtac_fold_choice},
    {VTAC_OP_MUL, VTAC_OP_QLINEAR_MUL, vtac_fold_mul},
    {VTAC_OP_REDUCE_MEAN, VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL, vtac_fold_reduce_mean},
    {VTAC_OP_RESIZE, VTAC_OP_QLINEAR_AVERAGE_POOL, vtac_fold_resize},
    {VTAC_OP_RMS_NORMALIZATION, VTAC_OP_ROW_NORM, vtac_fold_norm},
    {VTAC_OP_RNN, VTAC_OP_RECURRENCE, vtac_fold_recurrence},
    {VTAC_OP_SIGMOID, VTAC_OP_QLINEAR_SIGMOID, vtac_fold_unary},
    {VTAC_OP_SOFTMAX, VTAC_OP_QLINEAR_SOFTMAX, vtac_fold_softmax},
    {VTAC_OP_SUB, VTAC_OP_QLINEAR_ADD, vtac_fold_difference},
};

typedef struct int_range {
    int32_t low, high;
} int_range;

/* One float bound as QuantizeLinear would round it. */
static int32_t quantize_bound(const vtac_qparams *y, double real)
{
    const float q = rintf((float)real / vtac_qscale(y)) + (float)vtac_qzero(y);
    const int32_t low = vtac_qlow(y->dtype);
    const int32_t high = vtac_qhigh(y->dtype);
    return q <= (float)low ? low : q >= (float)high ? high : (int32_t)q;
}

/* A number that is known: a constant, or what dequantizes one. */
static bool known_number(const vtac_rewrite *r, vtac_value_id value, double *out)
{
    vtac_qvalue x;
    double q;
    if (vtac_scalar_of(r->graph, value, out)) {
        return true;
    }
    if (!vtac_read_dequantize(r, value, &x) || x.p.per_axis || !vtac_scalar_of(r->graph, x.q, &q)) {
        return false;
    }
    *out = (double)(float)((q - (double)vtac_qzero(&x.p)) * (double)vtac_qscale(&x.p));
    return true;
}

/* The bounds of a Clip, or of Min or Max with a number; *input is where the data is. */
static bool read_bounds(const vtac_rewrite *r, const vtac_node *node, double *low, double *high,
                        uint32_t *input)
{
    *low = -HUGE_VAL;
    *high = HUGE_VAL;
    if (node->op == VTAC_OP_CLIP) {
        const bool has_low = vtac_in_type(r->graph, node, VTAC_CLIP_MIN) != NULL;
        const bool has_high = vtac_in_type(r->graph, node, VTAC_CLIP_MAX) != NULL;
        return (!has_low || known_number(r, node->inputs[VTAC_CLIP_MIN], low)) &&
               (!has_high || known_number(r, node->inputs[VTAC_CLIP_MAX], high)) && *low <= *high;
    }
    double *bound = node->op == VTAC_OP_MAX ? low : high;
    if ((node->op != VTAC_OP_MAX && node->op != VTAC_OP_MIN) || node->input_count != 2) {
        return false;
    }
    *input = known_number(r, node->inputs[0], bound) ? 1 : 0;
    return (*input == 1 || known_number(r, node->inputs[1], bound)) && *bound == *bound &&
           vtac_type_equal(vtac_in_type(r->graph, node, *input), &r->graph->values[node->outputs[0]].type);
}

/* Narrows the range by a Relu, a Clip, Min or Max with known bounds; false: it is none of them. */
static bool narrow_range(const vtac_rewrite *r, const vtac_node *node, const vtac_qparams *y, int_range *to,
                         uint32_t *input)
{
    double low = 0.0;
    double high = HUGE_VAL;
    *input = 0;
    if (node->op == VTAC_OP_CLIP || node->op == VTAC_OP_MAX || node->op == VTAC_OP_MIN) {
        if (!read_bounds(r, node, &low, &high, input)) {
            return false;
        }
    } else if (node->op != VTAC_OP_RELU) {
        return false;
    }
    const int32_t q_low = quantize_bound(y, low);
    const int32_t q_high = quantize_bound(y, high);
    /* behind this one stands what `to` holds: min(max(x, low), high) first, then the old range */
    const int_range old = *to;
    to->low = q_low < old.low ? old.low : q_low > old.high ? old.high : q_low;
    to->high = q_high < old.low ? old.low : q_high > old.high ? old.high : q_high;
    return true;
}

/* Clip(x, low, high) on integers, where the range is narrower than the type. */
static vta_status insert_clip(vtac_fold *f, int_range to, vtac_value_id *x)
{
    if (to.low == vtac_qlow(f->y.dtype) && to.high == vtac_qhigh(f->y.dtype)) {
        return VTA_OK;
    }
    const vtac_type type = {.dtype = f->y.dtype};
    vtac_value_id inputs[VTAC_CLIP_INPUTS] = {*x};
    /* The low byte of a bound comes first. */
    VTA_TRY(vtac_new_constant(f->r, NULL, &type, &to.low, &inputs[VTAC_CLIP_MIN]));
    VTA_TRY(vtac_new_constant(f->r, NULL, &type, &to.high, &inputs[VTAC_CLIP_MAX]));
    return vtac_new_simple(f->r, f->at, &f->core, VTAC_OP_CLIP, inputs, 3, x);
}

static vta_status fold_core(vtac_fold *f, vtac_value_id *out)
{
    *out = 0;
    for (size_t i = 0; i < sizeof folds / sizeof folds[0]; i++) {
        if (folds[i].op == f->core.op && vtac_op_limits(folds[i].becomes) != NULL) {
            return folds[i].fold(f, out);
        }
    }
    return VTA_OK;
}

/* Everything that ends in this QuantizeLinear. */
static vta_status fold_quantize(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node quantize = r->graph->nodes[id];
    vtac_fold f = {.r = r, .at = id};
    if (!vtac_read_quantize(r, &quantize, &f.y)) {
        return VTA_OK;
    }
    int_range to = {vtac_qlow(f.y.dtype), vtac_qhigh(f.y.dtype)};
    vtac_value_id x = quantize.inputs[VTAC_QDQ_X];
    const vtac_node *above = vtac_producer(r, x);
    uint32_t input = 0;
    while (above != NULL && vtac_only_user(r, x) != NULL && narrow_range(r, above, &f.y, &to, &input)) {
        x = above->inputs[input];
        above = vtac_producer(r, x);
    }
    /* a DequantizeLinear may have other users: it is read, not taken */
    if (above == NULL || (above->op != VTAC_OP_DEQUANTIZE_LINEAR && vtac_only_user(r, x) == NULL)) {
        return VTA_OK;
    }
    f.core = *above;
    vtac_value_id out;
    VTA_TRY(vtac_zero_operand(r, &f.y, &f.y_zero));
    VTA_TRY(fold_core(&f, &out));
    if (out == 0) {
        return VTA_OK;
    }
    VTA_TRY(insert_clip(&f, to, &out));
    if (vtac_can_replace(r->graph, quantize.outputs[0], out)) {
        vtac_replace(r, quantize.outputs[0], out);
        vtac_remove_node(r->graph, id);
        *changed = true;
    }
    return VTA_OK;
}

/* Quantizing twice with the same reals is quantizing once:
 *     Q2(D1(Q1(x))) -> Q2(x)       D2(Q2(D1(q))) -> D1(q) */
static vta_status skip_requantize(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node outer = r->graph->nodes[id];
    vtac_qvalue inner;
    vtac_qparams p;
    if (!vtac_read_quantize(r, &outer, &p) || !vtac_read_activation(r, outer.inputs[VTAC_QDQ_X], &inner) ||
        !vtac_same_reals(&inner.p, &p)) {
        return VTA_OK;
    }
    const vtac_node *first = vtac_producer(r, inner.q);
    vtac_qparams q;
    if (first != NULL && first->op == VTAC_OP_QUANTIZE_LINEAR && vtac_read_quantize(r, first, &q) &&
        vtac_same_params(&q, &inner.p)) {
        VTA_TRY(vtac_set_input(r->graph, id, VTAC_QDQ_X, first->inputs[VTAC_QDQ_X], r->diag));
        *changed = true;
    }
    return VTA_OK;
}

static vta_status skip_redequantize(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node outer = r->graph->nodes[id];
    vtac_qvalue q2;
    vtac_qvalue q1;
    vtac_qparams p;
    if (!vtac_read_activation(r, outer.outputs[0], &q2)) {
        return VTA_OK;
    }
    const vtac_node *second = vtac_producer(r, q2.q);
    if (second != NULL && second->op == VTAC_OP_QUANTIZE_LINEAR && vtac_read_quantize(r, second, &p) &&
        vtac_same_params(&p, &q2.p) && vtac_read_activation(r, second->inputs[VTAC_QDQ_X], &q1) &&
        vtac_same_reals(&q1.p, &p) &&
        vtac_can_replace(r->graph, outer.outputs[0], second->inputs[VTAC_QDQ_X])) {
        vtac_replace(r, outer.outputs[0], second->inputs[VTAC_QDQ_X]);
        vtac_remove_node(r->graph, id);
        *changed = true;
    }
    return VTA_OK;
}

/* Relu(D(q)) -> D(Clip(q, zero, high)) */
static vta_status sink_relu(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node relu = r->graph->nodes[id];
    vtac_qvalue x;
    const vtac_node *user = vtac_only_user(r, relu.outputs[0]);
    if (!vtac_read_activation(r, relu.inputs[0], &x) ||
        (user != NULL && user->op == VTAC_OP_QUANTIZE_LINEAR)) {
        return VTA_OK;
    }
    vtac_fold f = {.r = r, .at = id, .core = relu, .y = x.p};
    vtac_value_id inputs[VTAC_QDQ_INPUTS] = {x.q, x.p.scale, x.p.zero};
    vtac_value_id out;
    VTA_TRY(insert_clip(&f, (int_range){vtac_qzero(&x.p), vtac_qhigh(x.p.dtype)}, &inputs[VTAC_QDQ_X]));
    VTA_TRY(vtac_new_simple(r, id, &relu, VTAC_OP_DEQUANTIZE_LINEAR, inputs, x.p.zero == 0 ? 2 : 3, &out));
    vtac_replace(r, relu.outputs[0], out);
    vtac_remove_node(r->graph, id);
    *changed = true;
    return VTA_OK;
}

/* The place of the largest element is that of the largest integer. */
static vta_status compare_integers(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    vtac_qvalue x;
    if (vtac_read_activation(r, r->graph->nodes[id].inputs[VTAC_QDQ_X], &x)) {
        VTA_TRY(vtac_set_input(r->graph, id, VTAC_QDQ_X, x.q, r->diag));
        *changed = true;
    }
    return VTA_OK;
}

static const vtac_rule rules[] = {
    {VTAC_OP_DEQUANTIZE_LINEAR, vtac_widen_weights},
    {VTAC_OP_COUNT, vtac_sink_dequantize},
    {VTAC_OP_QUANTIZE_LINEAR, skip_requantize},
    {VTAC_OP_DEQUANTIZE_LINEAR, skip_redequantize},
    {VTAC_OP_MUL, vtac_fold_channel_scale},
    {VTAC_OP_ADD, vtac_fold_channel_scale},
    {VTAC_OP_QUANTIZE_LINEAR, fold_quantize},
    {VTAC_OP_QUANTIZE_LINEAR, vtac_raise_quantize},
    {VTAC_OP_RELU, sink_relu},
    {VTAC_OP_GEMM, vtac_fold_float_gemm},
    {VTAC_OP_QLINEAR_CONV, vtac_fit_bias},
    {VTAC_OP_QGEMM, vtac_fit_bias},
    {VTAC_OP_COUNT, vtac_raise_function},
    {VTAC_OP_REDUCE_MAX, vtac_pool_maximum},
    {VTAC_OP_ARG_MAX, compare_integers},
    {VTAC_OP_ARG_MIN, compare_integers},
};

vtac_pass_fn vtac_pass_fold_qdq;

vta_status vtac_pass_fold_qdq(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    uint32_t islands = 1;
    for (*changes = 0; islands > 0;) { /* a table may be what another rule waited for */
        uint32_t ruled = 0;
        islands = 0;
        VTA_TRY(vtac_apply_rules(graph, rules, sizeof rules / sizeof rules[0], &ruled, diag));
        VTA_TRY(vtac_fold_islands(graph, &islands, diag));
        *changes += ruled + islands;
    }
    return vtac_fold_tails(graph, changes, diag);
}
