/* SPDX-License-Identifier: Apache-2.0
 *
 * fold-qdq: Softmax with its masks, LayerNormalization and RMSNormalization between DequantizeLinear and
 * QuantizeLinear, over the last axis, as RowSoftmax and RowNorm; InstanceNormalization and GroupNormalization
 * as PlaneNorm.
 */
#include <math.h>

#include "qdq.h"
#include "vta/fail.h"
#include "vtac/rows.h"

/* ---- softmax */

/* Numbers that hide, added to scores, leave nothing of e in the integers. */
static bool hides_all(const vtac_softmax_head *h, float x_scale)
{
    static const double nothing = 12.0; /* exp(-12) is below half of 2^-16 */
    return -h->weakest >= nothing + 255.0 * (double)x_scale;
}

/* A mask as a truth: it hides where it is true. */
static vta_status mask_truth(vtac_fold *f, const vtac_mask *mask, vtac_value_id *out)
{
    *out = mask->value;
    if (mask->kind == VTAC_MASK_FALSE) {
        return vtac_new_simple(f->r, f->at, &f->core, VTAC_OP_NOT, &mask->value, 1, out);
    }
    if (mask->kind == VTAC_MASK_TRUE) {
        return VTA_OK;
    }
    const vtac_type type = {.dtype = VTAC_F32};
    const float middle = isfinite(mask->weakest) ? (float)(mask->weakest / 2.0) : -1.0F;
    vtac_value_id inputs[2] = {mask->value};
    VTA_TRY(vtac_new_constant(f->r, NULL, &type, &middle, &inputs[VTAC_BINARY_B]));
    return vtac_new_simple(f->r, f->at, &f->core, VTAC_OP_LESS, inputs, 2, out);
}

/* All masks as one; *out 0: there is none. */
static vta_status join_masks(vtac_fold *f, const vtac_softmax_head *h, vtac_value_id *out)
{
    *out = 0;
    for (uint32_t i = 0; i < h->mask_count; i++) {
        vtac_value_id truth;
        VTA_TRY(mask_truth(f, &h->masks[i], &truth));
        const vtac_value_id both[2] = {*out, truth};
        VTA_TRY(*out == 0 ? VTA_OK : vtac_new_simple(f->r, f->at, &f->core, VTAC_OP_OR, both, 2, &truth));
        *out = truth;
    }
    return VTA_OK;
}

static vta_status emit_row_softmax(vtac_fold *f, const vtac_softmax_head *h, const vtac_qvalue *x,
                                   vtac_value_id *out)
{
    const vtac_type type = {.dtype = VTAC_F32};
    const float scale = (float)((double)vtac_qscale(&x->p) * h->factor);
    vtac_value_id inputs[VTAC_ROW_SOFTMAX_INPUTS] = {x->q, x->p.scale, 0, f->y.scale, f->y_zero};
    VTA_TRY(vtac_zero_operand(f->r, &x->p, &inputs[VTAC_ROW_SOFTMAX_X_ZERO]));
    if (h->factor != 1.0) {
        VTA_TRY(vtac_new_constant(f->r, NULL, &type, &scale, &inputs[VTAC_ROW_SOFTMAX_X_SCALE]));
    }
    const vtac_node probe = {.op = VTAC_OP_ROW_SOFTMAX, .inputs = inputs, .input_count = 5};
    vtac_softmax numbers;
    if (!vtac_softmax_of_node(f->r->graph, &probe, &numbers) || !hides_all(h, scale)) {
        return VTA_OK;
    }
    VTA_TRY(join_masks(f, h, &inputs[VTAC_ROW_SOFTMAX_MASK]));
    return vtac_new_simple(
        f->r, f->at, &f->core, VTAC_OP_ROW_SOFTMAX, inputs,
        inputs[VTAC_ROW_SOFTMAX_MASK] == 0 ? VTAC_ROW_SOFTMAX_MASK : VTAC_ROW_SOFTMAX_INPUTS, out);
}

static bool is_last_axis(const vtac_fold *f, int64_t axis)
{
    const int64_t rank = (int64_t)f->r->graph->values[f->core.outputs[0]].type.rank;
    return rank > 0 && (axis == -1 || axis == rank - 1);
}

/* Softmax of an axis that is not the last, or beyond what rows can: the operator of com.microsoft. */
static vta_status fold_other_softmax(vtac_fold *f, vtac_value_id *out)
{
    const vtac_attr attrs[] = {
        {.name = "axis", .kind = VTAC_ATTR_INT, .i = vtac_attr_int(&f->core, "axis", -1)},
        {.name = "opset", .kind = VTAC_ATTR_INT, .i = 13}}; /* over one axis, as our Softmax is */
    vtac_qvalue x;
    return vtac_read_operand(f, &x) ? vtac_emit_unary(f, VTAC_OP_QLINEAR_SOFTMAX, &x, attrs, 2, out) : VTA_OK;
}

vta_status vtac_fold_softmax(vtac_fold *f, vtac_value_id *out)
{
    const vtac_node_id id = f->r->graph->values[f->core.outputs[0]].node;
    vtac_softmax_head head;
    vtac_qvalue x;
    *out = 0;
    vtac_softmax_head_of(f->r->graph, id, &head);
    if (is_last_axis(f, vtac_attr_int(&f->core, "axis", -1)) && vtac_read_activation(f->r, head.source, &x) &&
        x.p.dtype == f->y.dtype) {
        VTA_TRY(emit_row_softmax(f, &head, &x, out));
    }
    return *out != 0 ? VTA_OK : fold_other_softmax(f, out);
}

/* Rows that are divided by the sum of their sizes. */
vta_status vtac_fold_lp_norm(vtac_fold *f, vtac_value_id *out)
{
    vtac_attr linear = {.name = VTAC_ROW_LINEAR, .kind = VTAC_ATTR_INT, .i = 1};
    vtac_qvalue x;
    vtac_softmax numbers;
    *out = 0;
    if (vtac_attr_int(&f->core, "p", 2) != 1 || !is_last_axis(f, vtac_attr_int(&f->core, "axis", -1)) ||
        !vtac_read_operand(f, &x) || x.p.dtype != f->y.dtype) {
        return VTA_OK;
    }
    vtac_value_id inputs[VTAC_ROW_SOFTMAX_INPUTS] = {x.q, x.p.scale, 0, f->y.scale, f->y_zero};
    VTA_TRY(vtac_zero_operand(f->r, &x.p, &inputs[VTAC_ROW_SOFTMAX_X_ZERO]));
    const vtac_node_spec spec = {.op = VTAC_OP_ROW_SOFTMAX,
                                 .inputs = inputs,
                                 .input_count = VTAC_ROW_SOFTMAX_MASK,
                                 .output_count = 1,
                                 .attrs = &linear,
                                 .attr_count = 1};
    const vtac_node probe = {
        .op = spec.op, .inputs = inputs, .input_count = spec.input_count, .attrs = &linear, .attr_count = 1};
    return vtac_softmax_of_node(f->r->graph, &probe, &numbers)
               ? vtac_new_node(f->r, f->at, &f->core, spec, out)
               : VTA_OK;
}

/* ---- normalizations */

/* A known number for each column as a constant of floats; *out 0: not known, or not as many. */
static vta_status known_columns(vtac_fold *f, vtac_value_id value, int64_t count, vtac_value_id *out)
{
    const vtac_type type = {.dtype = VTAC_F32, .rank = 1, .dim = {count}};
    return vtac_known_floats(f, value, &type, 0, out);
}

/* The inputs of RowNorm; *count 0: something is not known. */
static vta_status read_norm(vtac_fold *f, const vtac_qvalue *x, vtac_value_id *inputs, uint32_t *count)
{
    const vtac_type type = f->r->graph->values[x->q].type;
    const int64_t columns = type.dim[type.rank - 1];
    inputs[VTAC_ROW_NORM_X] = x->q;
    inputs[VTAC_ROW_NORM_X_SCALE] = x->p.scale;
    inputs[VTAC_ROW_NORM_Y_SCALE] = f->y.scale;
    inputs[VTAC_ROW_NORM_Y_ZERO] = f->y_zero;
    *count = 0;
    VTA_TRY(vtac_zero_operand(f->r, &x->p, &inputs[VTAC_ROW_NORM_X_ZERO]));
    const uint32_t parts = f->core.input_count;
    for (uint32_t i = 1; i < parts; i++) {
        if (f->core.inputs[i] == 0) {
            return VTA_OK;
        }
        VTA_TRY(known_columns(f, f->core.inputs[i], columns, &inputs[VTAC_ROW_NORM_Y_ZERO + i]));
        if (inputs[VTAC_ROW_NORM_Y_ZERO + i] == 0) {
            return VTA_OK;
        }
    }
    *count = VTAC_ROW_NORM_Y_ZERO + parts;
    return VTA_OK;
}

/* Mean and deviation are results of LayerNormalization, too. */
static bool gives_moments(const vtac_node *node)
{
    bool gives = false;
    for (uint32_t i = 1; i < node->output_count; i++) {
        gives = gives || node->outputs[i] != 0;
    }
    return gives;
}

vta_status vtac_fold_norm(vtac_fold *f, vtac_value_id *out)
{
    vtac_qvalue x;
    vtac_value_id inputs[VTAC_ROW_NORM_INPUTS];
    uint32_t count;
    vtac_norm numbers;
    *out = 0;
    if (!vtac_read_operand(f, &x) || !is_last_axis(f, vtac_attr_int(&f->core, "axis", -1)) ||
        gives_moments(&f->core)) {
        return VTA_OK;
    }
    VTA_TRY(read_norm(f, &x, inputs, &count));
    vtac_attr attrs[] = {
        {.name = "centered", .kind = VTAC_ATTR_INT, .i = f->core.op == VTAC_OP_LAYER_NORMALIZATION},
        {.name = "epsilon", .kind = VTAC_ATTR_FLOAT, .f = vtac_attr_float(&f->core, "epsilon", 1e-5)}};
    const vtac_node_spec spec = {.op = VTAC_OP_ROW_NORM,
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = 2};
    const vtac_node probe = {
        .op = spec.op, .inputs = inputs, .input_count = count, .attrs = attrs, .attr_count = 2};
    const bool fits = count > 0 && vtac_norm_of_node(f->r->graph, &probe, &f->r->graph->arena, &numbers);
    return fits ? vtac_new_node(f->r, f->at, &f->core, spec, out) : VTA_OK;
}

/* ---- planes */

/* A float for each channel, of one for each channel or for each group. */
static vta_status channel_numbers(vtac_fold *f, vtac_value_id value, int64_t channels, int64_t groups,
                                  vtac_value_id *out)
{
    const bool by_group = vtac_attr_int(&f->core, "scale_per_group", 0) != 0;
    const int64_t count = by_group ? groups : channels;
    VTA_TRY(known_columns(f, value, count, out));
    if (*out == 0 || count == channels) {
        return VTA_OK;
    }
    const vtac_tensor *known = f->r->graph->values[*out].constant;
    const vtac_type type = {.dtype = VTAC_F32, .rank = 1, .dim = {channels}};
    float *numbers = vta_arena_array(&f->r->graph->arena, (size_t)channels + 1, sizeof *numbers);
    if (numbers == NULL) {
        return vta_no_memory(f->r->diag);
    }
    for (int64_t c = 0; c < channels; c++) {
        numbers[c] = (float)vtac_tensor_float(known, c / (channels / groups));
    }
    return vtac_new_constant(f->r, NULL, &type, numbers, out);
}

vta_status vtac_fold_planes(vtac_fold *f, vtac_value_id *out)
{
    vtac_qvalue x;
    vtac_value_id inputs[VTAC_ROW_NORM_INPUTS];
    vtac_planes numbers;
    *out = 0;
    if (!vtac_read_operand(f, &x) || f->core.input_count != 3) {
        return VTA_OK;
    }
    const vtac_type type = f->r->graph->values[x.q].type;
    const int64_t channels = type.rank > 1 ? type.dim[1] : 0;
    const int64_t groups = vtac_attr_int(&f->core, "num_groups", channels);
    if (groups < 1 || channels % groups != 0) {
        return VTA_OK;
    }
    inputs[VTAC_ROW_NORM_X] = x.q;
    inputs[VTAC_ROW_NORM_X_SCALE] = x.p.scale;
    inputs[VTAC_ROW_NORM_Y_SCALE] = f->y.scale;
    inputs[VTAC_ROW_NORM_Y_ZERO] = f->y_zero;
    VTA_TRY(vtac_zero_operand(f->r, &x.p, &inputs[VTAC_ROW_NORM_X_ZERO]));
    VTA_TRY(
        channel_numbers(f, f->core.inputs[VTAC_NORM_SCALE], channels, groups, &inputs[VTAC_ROW_NORM_GAIN]));
    VTA_TRY(
        channel_numbers(f, f->core.inputs[VTAC_NORM_BIAS], channels, groups, &inputs[VTAC_ROW_NORM_BIAS]));
    vtac_attr attrs[] = {
        {.name = "groups", .kind = VTAC_ATTR_INT, .i = groups},
        {.name = "epsilon", .kind = VTAC_ATTR_FLOAT, .f = vtac_attr_float(&f->core, "epsilon", 1e-5)}};
    const vtac_node_spec spec = {.op = VTAC_OP_PLANE_NORM,
                                 .inputs = inputs,
                                 .input_count = VTAC_ROW_NORM_INPUTS,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = 2};
    const vtac_node probe = {.op = spec.op,
                             .inputs = inputs,
                             .input_count = VTAC_ROW_NORM_INPUTS,
                             .attrs = attrs,
                             .attr_count = 2};
    const bool fits = inputs[VTAC_ROW_NORM_GAIN] != 0 && inputs[VTAC_ROW_NORM_BIAS] != 0 &&
                      vtac_planes_of_node(f->r->graph, &probe, &f->r->graph->arena, &numbers);
    return fits ? vtac_new_node(f->r, f->at, &f->core, spec, out) : VTA_OK;
}
