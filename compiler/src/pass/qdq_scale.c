/* SPDX-License-Identifier: Apache-2.0
 *
 * fold-qdq: a factor or an offset for each channel behind a convolution of quantized weights (what a
 * BatchNormalization has become that nobody folded) goes into the scales of the weights and into the bias.
 *
 *     Mul(Conv(x, D(w, sw), b), s) -> Conv(x, D(w', sw·|s|), b·s)
 *     Add(Conv(x, w, b), t)        -> Conv(x, w, b + t)
 *
 * Where s is negative, w' is w with all its bits turned, and so is its zero point: that is exactly -w. Where
 * it is 0, w' is the zero point.
 */
#include <math.h>

#include "qdq.h"
#include "vta/fail.h"

typedef struct behind {
    vtac_node conv;
    vtac_qvalue w;
    const vtac_tensor *weights, *values;
    const vtac_tensor *bias; /* floats, or the integers of b; NULL: none */
    vtac_qvalue b;
    int64_t channels;
} behind;

static bool runs_along(const behind *x, uint32_t rank)
{
    const vtac_type *type = &x->values->type;
    const int64_t count = vtac_type_elements(type);
    if (type->rank > rank || (count != 1 && count != x->channels)) {
        return false;
    }
    for (uint32_t i = 0; count > 1 && i < type->rank; i++) {
        if (type->dim[i] != (i + rank == 1 + type->rank ? x->channels : 1)) {
            return false;
        }
    }
    return true;
}

static bool read_bias(const vtac_rewrite *r, behind *x)
{
    x->bias = NULL;
    if (vtac_in_type(r->graph, &x->conv, VTAC_CONV_BIAS) == NULL) {
        return true;
    }
    const bool integers = vtac_read_dequantize(r, x->conv.inputs[VTAC_CONV_BIAS], &x->b);
    x->bias =
        integers ? r->graph->values[x->b.q].constant : vtac_in_constant(r->graph, &x->conv, VTAC_CONV_BIAS);
    return x->bias != NULL && (integers || x->bias->type.dtype == VTAC_F32) &&
           vtac_type_elements(&x->bias->type) == x->channels;
}

static double bias_at(const behind *x, int64_t c)
{
    if (x->bias == NULL) {
        return 0.0;
    }
    if (x->b.q == 0) {
        return vtac_tensor_float(x->bias, c);
    }
    const int64_t at = x->b.p.per_axis ? c : 0;
    const int64_t zero = x->b.p.zeros == NULL ? 0 : vtac_tensor_int(x->b.p.zeros, at);
    return (double)(vtac_tensor_int(x->bias, c) - zero) * vtac_tensor_float(x->b.p.scales, at);
}

static bool read_behind(const vtac_rewrite *r, const vtac_node *node, uint32_t side, behind *x)
{
    const vtac_node *conv = vtac_producer(r, node->inputs[side]);
    vtac_qvalue in;
    *x = (behind){.values = vtac_in_constant(r->graph, node, 1 - side)};
    if (conv == NULL || conv->op != VTAC_OP_CONV || x->values == NULL || x->values->type.dtype != VTAC_F32 ||
        vtac_only_user(r, conv->outputs[0]) == NULL ||
        !vtac_type_equal(&r->graph->values[node->outputs[0]].type,
                         &r->graph->values[conv->outputs[0]].type)) {
        return false;
    }
    x->conv = *conv;
    if (!vtac_read_activation(r, conv->inputs[VTAC_CONV_X], &in) ||
        !vtac_read_dequantize(r, conv->inputs[VTAC_CONV_WEIGHT], &x->w) ||
        vtac_dtype_bytes(x->w.p.dtype) != 1 || (x->w.p.per_axis && x->w.p.axis != 0)) {
        return false;
    }
    x->weights = r->graph->values[x->w.q].constant;
    if (x->weights == NULL || vtac_type_elements(&x->weights->type) < 1) {
        return false;
    }
    x->channels = x->weights->type.dim[0];
    return read_bias(r, x) && runs_along(x, r->graph->values[node->outputs[0]].type.rank);
}

static double value_at(const behind *x, int64_t c)
{
    return vtac_tensor_float(x->values, vtac_type_elements(&x->values->type) == 1 ? 0 : c);
}

/* D(w', sw·|s|, zeros'); *out 0: some scale is no number that a scale can be. */
static vta_status scale_weights(vtac_rewrite *r, vtac_node_id before, const behind *x, vtac_value_id *out)
{
    const int64_t count = vtac_type_elements(&x->weights->type), each = count / x->channels;
    uint8_t *data = vta_arena_array(&r->graph->arena, (size_t)count, 1);
    uint8_t *zeros = vta_arena_array(&r->graph->arena, (size_t)x->channels, 1);
    float *scales = vta_arena_array(&r->graph->arena, (size_t)x->channels, sizeof *scales);
    *out = 0;
    if (data == NULL || zeros == NULL || scales == NULL) {
        return vta_no_memory(r->diag);
    }
    for (int64_t c = 0; c < x->channels; c++) {
        const double s = value_at(x, c);
        const int64_t at = x->w.p.per_axis ? c : 0;
        const uint8_t zero = (uint8_t)(x->w.p.zeros == NULL ? 0 : vtac_tensor_int(x->w.p.zeros, at));
        const double old = vtac_tensor_float(x->w.p.scales, at);
        scales[c] = (float)(s == 0.0 ? old : old * fabs(s));
        if (!(scales[c] > 0.0F) || isinf(scales[c])) {
            return VTA_OK;
        }
        zeros[c] = s < 0.0 ? (uint8_t)~zero : zero;
        for (int64_t i = c * each; i < (c + 1) * each; i++) {
            const uint8_t w = (uint8_t)vtac_tensor_int(x->weights, i);
            data[i] = s == 0.0 ? zero : s < 0.0 ? (uint8_t)~w : w;
        }
    }
    const vtac_type type = x->weights->type, list = {.dtype = VTAC_F32, .rank = 1, .dim = {x->channels}};
    const vtac_type places = {.dtype = type.dtype, .rank = 1, .dim = {x->channels}};
    vtac_value_id inputs[VTAC_QDQ_INPUTS];
    VTA_TRY(vtac_new_constant(r, NULL, &type, data, &inputs[VTAC_QDQ_X]));
    VTA_TRY(vtac_new_constant(r, NULL, &list, scales, &inputs[VTAC_QDQ_SCALE]));
    VTA_TRY(vtac_new_constant(r, NULL, &places, zeros, &inputs[VTAC_QDQ_ZERO]));
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 0};
    const vtac_node_spec spec = {.op = VTAC_OP_DEQUANTIZE_LINEAR,
                                 .inputs = inputs,
                                 .input_count = 3,
                                 .output_count = 1,
                                 .attrs = &axis,
                                 .attr_count = 1};
    return vtac_new_node(r, before, &x->conv, spec, out);
}

vta_status vtac_fold_channel_scale(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node node = r->graph->nodes[id];
    const bool scale = node.op == VTAC_OP_MUL;
    behind x;
    if (node.input_count != 2 || (!read_behind(r, &node, 0, &x) && !read_behind(r, &node, 1, &x))) {
        return VTA_OK;
    }
    const vtac_type list = {.dtype = VTAC_F32, .rank = 1, .dim = {x.channels}};
    vtac_value_id inputs[VTAC_CONV_INPUTS] = {x.conv.inputs[VTAC_CONV_X], x.conv.inputs[VTAC_CONV_WEIGHT], 0},
                  out;
    float *bias = vta_arena_array(&r->graph->arena, (size_t)x.channels, sizeof *bias);
    if (bias == NULL) {
        return vta_no_memory(r->diag);
    }
    for (int64_t c = 0; c < x.channels; c++) {
        bias[c] = (float)(scale ? bias_at(&x, c) * value_at(&x, c) : bias_at(&x, c) + value_at(&x, c));
    }
    const bool has_bias = !scale || x.bias != NULL;
    if (scale) {
        VTA_TRY(scale_weights(r, id, &x, &inputs[VTAC_CONV_WEIGHT]));
        if (inputs[VTAC_CONV_WEIGHT] == 0) {
            return VTA_OK;
        }
    }
    VTA_TRY(has_bias ? vtac_new_constant(r, NULL, &list, bias, &inputs[VTAC_CONV_BIAS]) : VTA_OK);
    const vtac_node_spec spec = {.op = VTAC_OP_CONV,
                                 .inputs = inputs,
                                 .input_count = has_bias ? 3 : 2,
                                 .output_count = 1,
                                 .attrs = x.conv.attrs,
                                 .attr_count = x.conv.attr_count};
    VTA_TRY(vtac_new_node(r, id, &x.conv, spec, &out));
    vtac_replace(r, node.outputs[0], out);
    vtac_remove_node(r->graph, id);
    *changed = true;
    return VTA_OK;
}
