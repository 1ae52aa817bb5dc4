/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of operators that work element by element.
 */
#include <string.h>

#include "infer.h"

/* All outputs have the type of input 0. */
vta_status vtac_infer_same(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, 0, &in, diag));
    for (uint32_t i = 0; i < node->output_count; i++) {
        out[i] = *in;
    }
    return VTA_OK;
}

/* Infers the type of a broadcast over inputs with channels on axis 1. */
vta_status vtac_infer_channels(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    VTA_TRY(vtac_infer_same(graph, node, out, diag));
    return out[0].rank >= 2
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "the input has rank %u, expected [N, C, ...]", out[0].rank);
}

/* scale and bias: one for each channel, or for each group before opset 21 */
vta_status vtac_infer_group_norm(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                 vta_diag *diag)
{
    VTA_TRY(vtac_infer_channels(graph, node, out, diag));
    const int64_t groups = vtac_attr_int(node, "num_groups", 0);
    const int64_t channels = out[0].dim[1];
    if (groups < 1 || channels % groups != 0) {
        return vta_fail(diag, VTA_INVALID, "%lld channels in %lld groups", (long long)channels,
                        (long long)groups);
    }
    const int64_t count = vtac_attr_int(node, "scale_per_group", 0) != 0 ? groups : channels;
    VTA_TRY(vtac_expect_shape(graph, node, VTAC_NORM_SCALE, "the scale", 1, &count, diag));
    return vtac_expect_shape(graph, node, VTAC_NORM_BIAS, "the bias", 1, &count, diag);
}

vta_status vtac_infer_broadcast(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                vta_diag *diag)
{
    const vtac_type *first;
    VTA_TRY(vtac_need_type(graph, node, 0, &first, diag));
    out[0] = *first;
    for (uint32_t i = 1; i < node->input_count; i++) {
        const vtac_type *in;
        VTA_TRY(vtac_need_type(graph, node, i, &in, diag));
        if (in->dtype != first->dtype) {
            return vta_fail(diag, VTA_INVALID, "input %u is %s, input 0 is %s; they must be equal", i,
                            vtac_dtype_name(in->dtype), vtac_dtype_name(first->dtype));
        }
        VTA_TRY(vtac_broadcast(&out[0], in, &out[0], diag));
    }
    return VTA_OK;
}

/* Pow: the exponent may have a type of its own. */
vta_status vtac_infer_pow(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *x;
    const vtac_type *y;
    VTA_TRY(vtac_need_type(graph, node, VTAC_POW_X, &x, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_POW_EXPONENT, &y, diag));
    return vtac_broadcast(x, y, &out[0], diag);
}

vta_status vtac_infer_compare(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    VTA_TRY(vtac_infer_broadcast(graph, node, out, diag));
    out[0].dtype = VTAC_BOOL;
    return VTA_OK;
}

vta_status vtac_infer_logical(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    VTA_TRY(vtac_infer_broadcast(graph, node, out, diag));
    return out[0].dtype == VTAC_BOOL
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "inputs are %s, expected bool", vtac_dtype_name(out[0].dtype));
}

vta_status vtac_infer_predicate(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                vta_diag *diag)
{
    VTA_TRY(vtac_infer_same(graph, node, out, diag));
    out[0].dtype = VTAC_BOOL;
    return VTA_OK;
}

vta_status vtac_infer_where(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *condition, *x, *y;
    VTA_TRY(vtac_need_type(graph, node, VTAC_WHERE_CONDITION, &condition, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_WHERE_X, &x, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_WHERE_Y, &y, diag));
    if (condition->dtype != VTAC_BOOL || x->dtype != y->dtype) {
        return vta_fail(diag, VTA_INVALID, "inputs are %s, %s, %s; expected bool and two of one type",
                        vtac_dtype_name(condition->dtype), vtac_dtype_name(x->dtype),
                        vtac_dtype_name(y->dtype));
    }
    VTA_TRY(vtac_broadcast(x, y, &out[0], diag));
    return vtac_broadcast(&out[0], condition, &out[0], diag);
}

static vta_status no_text_cast(vta_diag *diag)
{
    return vta_fail(diag, VTA_UNSUPPORTED, "numbers become texts, and texts numbers, at run time alone");
}

vta_status vtac_infer_cast(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    VTA_TRY(vtac_infer_same(graph, node, out, diag));
    const char *to = vtac_attr_string(node, "to", "");
    const bool text = out[0].dtype == VTAC_TEXT;
    out[0].dtype = vtac_dtype_parse(to);
    if (text != (out[0].dtype == VTAC_TEXT) && node->op != VTAC_OP_BIT_CAST) {
        return no_text_cast(diag);
    }
    return out[0].dtype != VTAC_NO_DTYPE
               ? VTA_OK
               : vta_fail(diag, VTA_UNSUPPORTED, "attribute 'to' is '%s', not a known type", to);
}

vta_status vtac_infer_cast_like(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                vta_diag *diag)
{
    const vtac_type *like;
    VTA_TRY(vtac_need_type(graph, node, VTAC_CAST_LIKE_LIKE, &like, diag));
    VTA_TRY(vtac_infer_same(graph, node, out, diag));
    const bool text = out[0].dtype == VTAC_TEXT;
    out[0].dtype = like->dtype;
    return text == (like->dtype == VTAC_TEXT) ? VTA_OK : no_text_cast(diag);
}

vta_status vtac_infer_dropout(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    VTA_TRY(vtac_infer_same(graph, node, out, diag));
    if (node->output_count > VTAC_DROPOUT_MASK) {
        out[VTAC_DROPOUT_MASK].dtype = VTAC_BOOL;
    }
    return VTA_OK;
}

/* Scale and zero point of a quantization: one, or one for each place along `axis`, or one for each block of
 * it. */
static vta_status check_scale(const vtac_node *node, const vtac_type *x, const vtac_type *scale,
                              vta_diag *diag)
{
    const int64_t count = vtac_type_elements(scale);
    if (scale->rank == 0 || count == 1) {
        return VTA_OK;
    }
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_attr_int(node, "axis", 1), x->rank, &axis, diag));
    const int64_t block = vtac_attr_int(node, "block_size", 0);
    if (block > 0) {
        bool fits = scale->rank == x->rank;
        for (uint32_t i = 0; fits && i < x->rank; i++) {
            fits = scale->dim[i] == (i == axis ? x->dim[i] / block + (x->dim[i] % block != 0) : x->dim[i]);
        }
        return fits ? VTA_OK
                    : vta_fail(diag, VTA_INVALID, "scales do not fit blocks of %lld", (long long)block);
    }
    if (scale->rank != 1 || count != x->dim[axis]) {
        return vta_fail(diag, VTA_INVALID, "%lld scales for %lld places along axis %u", (long long)count,
                        (long long)x->dim[axis], axis);
    }
    return VTA_OK;
}

static vta_status check_zero(const vtac_graph *graph, const vtac_node *node, const vtac_type *scale,
                             vta_diag *diag)
{
    const vtac_type *zero = vtac_in_type(graph, node, VTAC_QDQ_ZERO);
    if (vtac_dtype_kind(scale->dtype) != 'f' && scale->dtype != VTAC_F8E8M0) {
        return vta_fail(diag, VTA_INVALID, "the scale is %s, expected floats", vtac_dtype_name(scale->dtype));
    }
    const bool fits = zero == NULL || vtac_type_elements(zero) == 1 ||
                      vtac_type_elements(zero) == vtac_type_elements(scale);
    return fits ? VTA_OK
                : vta_fail(diag, VTA_INVALID, "%lld zero points for %lld scales",
                           (long long)vtac_type_elements(zero), (long long)vtac_type_elements(scale));
}

vta_status vtac_infer_quantize(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *x;
    const vtac_type *scale;
    VTA_TRY(vtac_need_type(graph, node, VTAC_QDQ_X, &x, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_QDQ_SCALE, &scale, diag));
    VTA_TRY(check_scale(node, x, scale, diag));
    VTA_TRY(check_zero(graph, node, scale, diag));
    const vtac_type *zero = vtac_in_type(graph, node, VTAC_QDQ_ZERO);
    const vtac_dtype asked = vtac_dtype_parse(vtac_attr_string(node, "output_dtype", ""));
    out[0] = *x;
    out[0].dtype = zero != NULL ? zero->dtype : asked != VTAC_NO_DTYPE ? asked : VTAC_U8;
    return VTA_OK;
}

vta_status vtac_infer_dequantize(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                 vta_diag *diag)
{
    const vtac_type *x;
    const vtac_type *scale;
    VTA_TRY(vtac_need_type(graph, node, VTAC_QDQ_X, &x, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_QDQ_SCALE, &scale, diag));
    VTA_TRY(check_scale(node, x, scale, diag));
    VTA_TRY(check_zero(graph, node, scale, diag));
    const vtac_dtype asked = vtac_dtype_parse(vtac_attr_string(node, "output_dtype", ""));
    out[0] = *x;
    out[0].dtype = asked != VTAC_NO_DTYPE ? asked : scale->dtype;
    return vtac_dtype_kind(out[0].dtype) == 'f'
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "the output would be %s, expected floats",
                          vtac_dtype_name(out[0].dtype));
}

vta_status vtac_infer_dynamic_quantize(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                       vta_diag *diag)
{
    VTA_TRY(vtac_infer_same(graph, node, out, diag));
    out[0].dtype = VTAC_U8;
    for (uint32_t i = 1; i < node->output_count; i++) {
        out[i] = (vtac_type){.dtype = i == VTAC_DYNAMIC_QUANTIZE_SCALE ? VTAC_F32 : VTAC_U8};
    }
    return VTA_OK;
}

vta_status vtac_infer_qlinear_binary(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                     vta_diag *diag)
{
    const vtac_type *a;
    const vtac_type *b;
    VTA_TRY(vtac_need_type(graph, node, VTAC_QLINEAR_PAIR_A, &a, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_QLINEAR_PAIR_B, &b, diag));
    VTA_TRY(vtac_broadcast(a, b, &out[0], diag));
    const vtac_type *zero = vtac_in_type(graph, node, VTAC_QLINEAR_PAIR_Y_ZERO);
    out[0].dtype = zero != NULL ? zero->dtype : a->dtype;
    return VTA_OK;
}

/* x, one factor or one for each place along an axis, their exponents: an int32 */
vta_status vtac_infer_rescale(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *mult;
    VTA_TRY(vtac_infer_same(graph, node, out, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_RESCALE_MULTIPLIER, &mult, diag));
    const int64_t axis = vtac_attr_int(node, "axis", 1);
    const int64_t count = vtac_type_elements(mult);
    if (count != 1 && (axis < 0 || axis >= (int64_t)out[0].rank || count != out[0].dim[axis])) {
        return vta_fail(diag, VTA_INVALID, "%lld factors along axis %lld", (long long)count, (long long)axis);
    }
    VTA_TRY(vtac_expect_shape(graph, node, VTAC_RESCALE_SHIFT, "the exponents", mult->rank, mult->dim, diag));
    out[0].dtype = VTAC_I32;
    return VTA_OK;
}

/* x and a table: the table's type in the shape of x */
vta_status vtac_infer_look_up(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *table;
    VTA_TRY(vtac_infer_same(graph, node, out, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_LOOK_UP_TABLE, &table, diag));
    if (table->rank != 1 || table->dim[0] < 1) {
        return vta_fail(diag, VTA_INVALID, "the table has rank %u and must have one axis", table->rank);
    }
    out[0].dtype = table->dtype;
    return VTA_OK;
}
