/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of reductions and of normalizations that also give their statistics.
 */
#include "infer.h"

/* Takes the marked axes away, or leaves them at 1. */
static void reduce_axes(const vtac_type *in, const bool *reduced, bool keep, vtac_type *out)
{
    const vtac_dtype dtype = in->dtype;
    vtac_type result = {.dtype = dtype};
    for (uint32_t i = 0; i < in->rank; i++) {
        if (!reduced[i]) {
            result.dim[result.rank++] = in->dim[i];
        } else if (keep) {
            result.dim[result.rank++] = 1;
        }
    }
    *out = result;
}

vta_status vtac_infer_reduce(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, VTAC_REDUCE_X, &in, diag));
    int64_t axes[VTAC_MAX_RANK];
    uint32_t count = 0;
    if (vtac_in_type(graph, node, VTAC_REDUCE_AXES) != NULL) {
        VTA_TRY(vtac_need_ints(graph, node, VTAC_REDUCE_AXES, "axes", axes, VTAC_MAX_RANK, &count, diag));
    }
    const bool nothing = count == 0 && vtac_attr_int(node, "noop_with_empty_axes", 0) != 0;
    bool reduced[VTAC_MAX_RANK] = {false};
    for (uint32_t i = 0; i < in->rank; i++) {
        reduced[i] = count == 0 && !nothing;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis;
        VTA_TRY(vtac_axis(axes[i], in->rank, &axis, diag));
        reduced[axis] = true;
    }
    reduce_axes(in, reduced, vtac_attr_int(node, "keepdims", 1) != 0, &out[0]);
    return VTA_OK;
}

vta_status vtac_infer_arg_reduce(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                 vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, 0, &in, diag));
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_attr_int(node, "axis", 0), in->rank, &axis, diag));
    bool reduced[VTAC_MAX_RANK] = {false};
    reduced[axis] = true;
    reduce_axes(in, reduced, vtac_attr_int(node, "keepdims", 1) != 0, &out[0]);
    out[0].dtype = VTAC_I64;
    return VTA_OK;
}

/* Mean and inverse deviation have extent 1 from `axis` on. */
vta_status vtac_infer_layer_norm(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                 vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, 0, &in, diag));
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_attr_int(node, "axis", -1), in->rank, &axis, diag));
    const bool half = vtac_attr_int(node, "stash_type", 1) == 16;
    for (uint32_t i = 0; i < node->output_count; i++) {
        out[i] = *in;
        out[i].dtype = i == 0 ? in->dtype
                       : half ? VTAC_BF16
                              : VTAC_F32; /* the moments are of the stash's type */
        for (uint32_t k = axis; i > 0 && k < in->rank; k++) {
            out[i].dim[k] = 1;
        }
    }
    return VTA_OK;
}
