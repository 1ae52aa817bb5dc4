/* SPDX-License-Identifier: Apache-2.0
 *
 * fold-qdq: pools, Concat, activations and plain rescaling between DequantizeLinear and QuantizeLinear. The
 * com.microsoft operators for them have one integer type for all operands.
 */
#include <string.h>

#include "qdq.h"
#include "vta/fail.h"
#include "vtac/quant.h"

/* The one float operand of the core as integers of the output's type. */
bool vtac_read_operand(const vtac_fold *f, vtac_qvalue *x)
{
    return vtac_read_activation(f->r, f->core.inputs[0], x) && x->p.dtype == f->y.dtype;
}

/* OP(x, x_scale, x_zero, y_scale, y_zero) */
vta_status vtac_emit_unary(vtac_fold *f, vtac_op op, const vtac_qvalue *x, const vtac_attr *attrs,
                           uint32_t attr_count, vtac_value_id *out)
{
    vtac_value_id zero;
    VTA_TRY(vtac_zero_operand(f->r, &x->p, &zero));
    const vtac_value_id inputs[] = {x->q, x->p.scale, zero, f->y.scale, f->y_zero};
    const vtac_node_spec spec = {.op = op,
                                 .inputs = inputs,
                                 .input_count = 5,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = attr_count};
    return vtac_new_node(f->r, f->at, &f->core, spec, out);
}

bool vtac_mean_fits(const vtac_fold *f, const vtac_qvalue *x, int64_t count)
{
    vtac_fixed fixed;
    return vtac_fixed_of(vtac_scale_mean(vtac_qscale(&x->p), vtac_qscale(&f->y), count), &fixed);
}

vta_status vtac_fold_pool(vtac_fold *f, vtac_value_id *out)
{
    vtac_qvalue x;
    *out = 0;
    if (!vtac_read_operand(f, &x) || !vtac_mean_fits(f, &x, 1)) {
        return VTA_OK;
    }
    return vtac_emit_unary(f, VTAC_OP_QLINEAR_AVERAGE_POOL, &x, f->core.attrs, f->core.attr_count, out);
}

static vta_status emit_global_pool(vtac_fold *f, const vtac_qvalue *x, bool channels_last, vtac_value_id *out)
{
    const vtac_attr attr = {.name = "channels_last", .kind = VTAC_ATTR_INT, .i = channels_last};
    return vtac_emit_unary(f, VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL, x, &attr, 1, out);
}

vta_status vtac_fold_global_pool(vtac_fold *f, vtac_value_id *out)
{
    vtac_qvalue x;
    *out = 0;
    return vtac_read_operand(f, &x) && vtac_mean_fits(f, &x, 1) ? emit_global_pool(f, &x, false, out)
                                                                : VTA_OK;
}

/* Marks the axes that a reduction runs over; false where they are not known. */
static bool reduced_axes(const vtac_fold *f, uint32_t rank, bool *reduced)
{
    const vtac_tensor *axes = vtac_in_constant(f->r->graph, &f->core, VTAC_REDUCE_AXES);
    const int64_t count = axes == NULL ? 0 : vtac_type_elements(&axes->type);
    if (vtac_in_type(f->r->graph, &f->core, VTAC_REDUCE_AXES) != NULL && count == 0) {
        return false;
    }
    for (uint32_t i = 0; i < rank; i++) {
        reduced[i] = count == 0;
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t axis = vtac_tensor_int(axes, i);
        reduced[axis < 0 ? axis + rank : axis] = true;
    }
    return true;
}

/* The window of a mean over some axes behind that of channels; its output keeps them. */
static vta_status emit_partial_pool(vtac_fold *f, const vtac_qvalue *x, const bool *reduced,
                                    vtac_value_id *out)
{
    const vtac_type *type = &f->r->graph->values[x->q].type;
    int64_t kernel[VTAC_MAX_RANK];
    for (uint32_t i = 2; i < type->rank; i++) {
        kernel[i - 2] = reduced[i] ? type->dim[i] : 1;
    }
    const vtac_attr attr = {
        .name = "kernel_shape", .kind = VTAC_ATTR_INTS, .count = type->rank - 2, .ints = kernel};
    return vtac_emit_unary(f, VTAC_OP_QLINEAR_AVERAGE_POOL, x, &attr, 1, out);
}

/* A reduction's output has the axes that were reduced, as 1, or has not. */
static vta_status keep_axes(vtac_fold *f, uint32_t rank, vtac_value_id *out)
{
    const vtac_type y = f->r->graph->values[f->core.outputs[0]].type;
    vtac_value_id inputs[VTAC_RESHAPE_INPUTS] = {*out};
    if (y.rank == rank) {
        return VTA_OK;
    }
    VTA_TRY(vtac_new_ints(f->r, y.dim, y.rank, &inputs[VTAC_RESHAPE_SHAPE]));
    return vtac_new_simple(f->r, f->at, &f->core, VTAC_OP_RESHAPE, inputs, 2, out);
}

/* A mean over all axes but two is a global pool, where those two are the first (or the first and the last);
 * one over some of the axes behind the first two is a pool, one over channels a convolution.
 */
vta_status vtac_fold_reduce_mean(vtac_fold *f, vtac_value_id *out)
{
    vtac_qvalue x;
    bool reduced[VTAC_MAX_RANK] = {false};
    const uint32_t rank = f->r->graph->values[f->core.inputs[VTAC_REDUCE_X]].type.rank;
    *out = 0;
    if (rank < 3 || !vtac_read_operand(f, &x) || !vtac_mean_fits(f, &x, 1) ||
        !reduced_axes(f, rank, reduced)) {
        return VTA_OK;
    }
    if (rank == 4 && reduced[1] && !reduced[0] && !reduced[2] && !reduced[3]) {
        VTA_TRY(vtac_fold_channel_mean(f, &x, out));
        return *out == 0 ? VTA_OK : keep_axes(f, rank, out);
    }
    const bool last = reduced[1];
    const uint32_t kept = last ? rank - 1 : 1; /* the axis of channels */
    bool all = true;
    for (uint32_t i = 0; i < rank; i++) {
        all = all && reduced[i] == (i != 0 && i != kept);
    }
    const vtac_type y = f->r->graph->values[f->core.outputs[0]].type;
    if (!all && (reduced[0] || reduced[1] || vtac_type_elements(&y) < 1)) {
        return VTA_OK;
    }
    VTA_TRY(all ? emit_global_pool(f, &x, last, out) : emit_partial_pool(f, &x, reduced, out));
    return keep_axes(f, rank, out);
}

/* *out 0: the scales do not fit. */
static vta_status emit_parts(vtac_fold *f, const vtac_qvalue *parts, uint32_t count, int64_t axis,
                             vtac_value_id *out)
{
    vtac_value_id *inputs = vta_arena_array(&f->r->graph->arena, 3 * (size_t)count + 2, sizeof *inputs);
    if (inputs == NULL) {
        return vta_no_memory(f->r->diag);
    }
    inputs[VTAC_QLINEAR_CONCAT_Y_SCALE] = f->y.scale;
    inputs[VTAC_QLINEAR_CONCAT_Y_ZERO] = f->y_zero;
    *out = 0;
    for (uint32_t i = 0; i < count; i++) {
        vtac_fixed fixed;
        if (!vtac_fixed_of(vtac_scale_ratio(vtac_qscale(&parts[i].p), vtac_qscale(&f->y)), &fixed)) {
            return VTA_OK;
        }
        inputs[2 + 3 * i] = parts[i].q;
        inputs[3 + 3 * i] = parts[i].p.scale;
        VTA_TRY(vtac_zero_operand(f->r, &parts[i].p, &inputs[4 + 3 * i]));
    }
    const vtac_attr attr = {.name = "axis", .kind = VTAC_ATTR_INT, .i = axis};
    const vtac_node_spec spec = {.op = VTAC_OP_QLINEAR_CONCAT,
                                 .inputs = inputs,
                                 .input_count = 3 * count + 2,
                                 .output_count = 1,
                                 .attrs = &attr,
                                 .attr_count = 1};
    return vtac_new_node(f->r, f->at, &f->core, spec, out);
}

vta_status vtac_fold_concat(vtac_fold *f, vtac_value_id *out)
{
    const uint32_t count = f->core.input_count;
    vtac_qvalue *parts = vta_arena_array(&f->r->graph->arena, (size_t)count + 1, sizeof *parts);
    if (parts == NULL) {
        return vta_no_memory(f->r->diag);
    }
    *out = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!vtac_read_activation(f->r, f->core.inputs[i], &parts[i])) {
            return VTA_OK;
        }
    }
    return emit_parts(f, parts, count, vtac_attr_int(&f->core, "axis", 1), out);
}

/* Equal parameters: nothing to do. Otherwise a concatenation of one part, which is the operator that rescales
 * and does nothing else. */
vta_status vtac_emit_rescale(vtac_fold *f, const vtac_qvalue *x, vtac_value_id *out)
{
    const uint32_t rank = f->r->graph->values[x->q].type.rank;
    *out = vtac_same_params(&x->p, &f->y) ? x->q : 0;
    return *out != 0 || rank == 0 ? VTA_OK : emit_parts(f, x, 1, rank > 1 ? 1 : 0, out);
}

/* The core is the DequantizeLinear itself. */
vta_status vtac_fold_rescale(vtac_fold *f, vtac_value_id *out)
{
    vtac_qvalue x;
    *out = 0;
    return vtac_read_activation(f->r, f->core.outputs[0], &x) && x.p.dtype == f->y.dtype
               ? vtac_emit_rescale(f, &x, out)
               : VTA_OK;
}

vta_status vtac_fold_unary(vtac_fold *f, vtac_value_id *out)
{
    const vtac_op op =
        f->core.op == VTAC_OP_LEAKY_RELU ? VTAC_OP_QLINEAR_LEAKY_RELU : VTAC_OP_QLINEAR_SIGMOID;
    vtac_qvalue x;
    *out = 0;
    return vtac_read_operand(f, &x) ? vtac_emit_unary(f, op, &x, f->core.attrs, f->core.attr_count, out)
                                    : VTA_OK;
}
