/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of the nodes that the partitioner puts in: what lies in device memory is bytes, of which the
 * attributes tell the layout.
 */
#include <string.h>

#include "infer.h"
#include "vtac/quant.h"

static vta_status bytes_type(int64_t bytes, vtac_type *out, vta_diag *diag)
{
    *out = (vtac_type){.dtype = VTAC_I8, .rank = 1, .dim = {bytes}};
    return bytes > 0 ? VTA_OK : vta_fail(diag, VTA_INVALID, "%lld bytes of device memory", (long long)bytes);
}

vta_status vtac_infer_vta_pack(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *x;
    VTA_TRY(vtac_need_type(graph, node, 0, &x, diag));
    if (x->dtype != VTAC_I8 && x->dtype != VTAC_U8) {
        return vta_fail(diag, VTA_INVALID, "the input is %s, expected i8 or u8", vtac_dtype_name(x->dtype));
    }
    return bytes_type(vtac_attr_int(node, "bytes", 0), &out[0], diag);
}

vta_status vtac_infer_vta_region(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                 vta_diag *diag)
{
    (void)graph;
    const vtac_attr *bytes = vtac_find_attr(node, "bytes");
    if (bytes == NULL || bytes->kind != VTAC_ATTR_INTS || bytes->count != node->output_count) {
        return vta_fail(diag, VTA_INVALID, "attribute 'bytes' needs an integer for each output");
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        VTA_TRY(bytes_type(bytes->ints[i], &out[i], diag));
    }
    return VTA_OK;
}

vta_status vtac_infer_vta_unpack(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                 vta_diag *diag)
{
    const vtac_type *x;
    const vtac_attr *dims = vtac_find_attr(node, "dims");
    VTA_TRY(vtac_need_type(graph, node, 0, &x, diag));
    const vtac_dtype to = vtac_dtype_parse(vtac_attr_string(node, "to", "i8"));
    const uint32_t max = vtac_find_attr(node, "walk_size") != NULL ? VTAC_MAX_RANK : 4;
    if (dims == NULL || dims->kind != VTAC_ATTR_INTS || dims->count < 1 || dims->count > max ||
        (to != VTAC_I8 && to != VTAC_U8)) {
        return vta_fail(diag, VTA_INVALID, "it needs 1 to %u 'dims', and i8 or u8 to go 'to'", max);
    }
    out[0] = (vtac_type){.dtype = to, .rank = (uint32_t)dims->count};
    memcpy(out[0].dim, dims->ints, dims->count * sizeof *dims->ints);
    return VTA_OK;
}

/* [1, hidden, steps * batch], and the bytes of C or H at the end as rows, [digits * batch, hidden]. */
vta_status vtac_infer_vta_recurrence(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                     vta_diag *diag)
{
    const int64_t steps = vtac_attr_int(node, "steps", 1);
    const int64_t digits = vtac_recurrent_digits((vtac_recurrent_kind)vtac_attr_int(node, "kind", 0));
    VTA_TRY(vtac_infer_vta_unpack(graph, node, out, diag));
    if (out[0].rank != 3 || steps < 1) {
        return vta_fail(diag, VTA_INVALID, "it needs 3 'dims', and 'steps'");
    }
    if (node->output_count > 1) {
        out[1] = (vtac_type){
            .dtype = VTAC_I8, .rank = 2, .dim = {digits * (out[0].dim[2] / steps), out[0].dim[1]}};
    }
    return VTA_OK;
}
