/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of operators that choose among elements: gathers and scatters, one-hot vectors, the largest, boxes.
 */
#include <string.h>

#include "infer.h"

vta_status vtac_infer_gather(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *data;
    const vtac_type *indices;
    VTA_TRY(vtac_need_type(graph, node, VTAC_GATHER_DATA, &data, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_GATHER_INDICES, &indices, diag));
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_attr_int(node, "axis", 0), data->rank, &axis, diag));
    if (data->rank - 1 + indices->rank > VTAC_MAX_RANK) {
        return vta_fail(diag, VTA_UNSUPPORTED, "the result has more than %d axes", VTAC_MAX_RANK);
    }
    if (data->dim[axis] == 0 && vtac_type_elements(indices) != 0) {
        return vta_fail(diag, VTA_INVALID, "indices into axis %u, which has no places", axis);
    }
    VTA_TRY(vtac_expect_indices(graph, node, VTAC_GATHER_INDICES, &data->dim[axis], 1, diag));
    out[0] = (vtac_type){.dtype = data->dtype};
    for (uint32_t i = 0; i < data->rank; i++) {
        for (uint32_t k = 0; i == axis && k < indices->rank; k++) {
            out[0].dim[out[0].rank++] = indices->dim[k];
        }
        if (i != axis) {
            out[0].dim[out[0].rank++] = data->dim[i];
        }
    }
    return VTA_OK;
}

/* Indices lie along one axis of the data; on the others their places are the data's own. */
static vta_status check_places(const vtac_graph *graph, const vtac_node *node, const vtac_type *data,
                               const vtac_type *indices, vta_diag *diag)
{
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_attr_int(node, "axis", 0), data->rank, &axis, diag));
    for (uint32_t i = 0; i < data->rank; i++) {
        if (i == axis ? data->dim[i] == 0 && vtac_type_elements(indices) != 0
                      : indices->dim[i] > data->dim[i]) {
            return vta_fail(diag, VTA_INVALID, "indices have %lld places on axis %u, the data %lld",
                            (long long)indices->dim[i], i, (long long)data->dim[i]);
        }
    }
    return vtac_expect_indices(graph, node, VTAC_SCATTER_INDICES, &data->dim[axis], 1, diag);
}

vta_status vtac_infer_gather_elements(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                      vta_diag *diag)
{
    const vtac_type *data;
    const vtac_type *indices;
    VTA_TRY(vtac_need_type(graph, node, VTAC_GATHER_DATA, &data, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_GATHER_INDICES, &indices, diag));
    if (data->rank != indices->rank) {
        return vta_fail(diag, VTA_INVALID, "data and indices have rank %u and %u", data->rank, indices->rank);
    }
    VTA_TRY(check_places(graph, node, data, indices, diag));
    out[0] = *indices;
    out[0].dtype = data->dtype;
    return VTA_OK;
}

vta_status vtac_infer_scatter_elements(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                       vta_diag *diag)
{
    const vtac_type *data;
    const vtac_type *indices;
    VTA_TRY(vtac_need_type(graph, node, VTAC_SCATTER_DATA, &data, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_SCATTER_INDICES, &indices, diag));
    VTA_TRY(vtac_expect_shape(graph, node, VTAC_SCATTER_UPDATES, "the updates", indices->rank, indices->dim,
                              diag));
    if (data->rank != indices->rank) {
        return vta_fail(diag, VTA_INVALID, "data and indices have rank %u and %u", data->rank, indices->rank);
    }
    out[0] = *data;
    return check_places(graph, node, data, indices, diag);
}

/* A cache, what is written into it along an axis, and from which place on in each batch. */
vta_status vtac_infer_tensor_scatter(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                     vta_diag *diag)
{
    const vtac_type *cache;
    const vtac_type *update;
    VTA_TRY(vtac_need_type(graph, node, VTAC_TENSOR_SCATTER_CACHE, &cache, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_TENSOR_SCATTER_UPDATE, &update, diag));
    const int64_t given = vtac_attr_int(node, "axis", -2);
    const int64_t axis = given < 0 ? given + cache->rank : given;
    bool fits = axis > 0 && axis < (int64_t)cache->rank && update->rank == cache->rank;
    for (uint32_t i = 0; fits && i < cache->rank; i++) {
        fits = i == (uint32_t)axis ? update->dim[i] <= cache->dim[i] : update->dim[i] == cache->dim[i];
    }
    out[0] = *cache;
    return fits ? VTA_OK
                : vta_fail(diag, VTA_INVALID, "the update does not fit the cache along axis %lld",
                           (long long)given);
}

/* indices [..., depth]; updates have its shape without the last axis, and what is left of the data's. */
vta_status vtac_infer_scatter_nd(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                 vta_diag *diag)
{
    const vtac_type *data;
    const vtac_type *indices;
    int64_t updates[2 * VTAC_MAX_RANK];
    VTA_TRY(vtac_need_type(graph, node, VTAC_SCATTER_DATA, &data, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_SCATTER_INDICES, &indices, diag));
    const int64_t depth = indices->rank > 0 ? indices->dim[indices->rank - 1] : 0;
    const uint32_t rank = (uint32_t)(indices->rank + data->rank - 1 - (depth > 0 ? depth : 0));
    if (depth < 1 || depth > (int64_t)data->rank || rank > VTAC_MAX_RANK) {
        return vta_fail(diag, VTA_INVALID, "indices of depth %lld do not fit data of rank %u",
                        (long long)depth, data->rank);
    }
    if (vtac_type_elements(data) == 0 && vtac_type_elements(indices) != 0) {
        return vta_fail(diag, VTA_INVALID, "indices into data without elements");
    }
    VTA_TRY(vtac_expect_indices(graph, node, VTAC_SCATTER_INDICES, data->dim, (uint32_t)depth, diag));
    memcpy(updates, indices->dim, (indices->rank - 1) * sizeof *updates);
    memcpy(updates + indices->rank - 1, data->dim + depth, (data->rank - (size_t)depth) * sizeof *updates);
    out[0] = *data;
    return vtac_expect_shape(graph, node, VTAC_SCATTER_UPDATES, "the updates", rank, updates, diag);
}

vta_status vtac_infer_gather_nd(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                vta_diag *diag)
{
    const vtac_type *data;
    const vtac_type *indices;
    VTA_TRY(vtac_need_type(graph, node, VTAC_GATHER_DATA, &data, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_GATHER_INDICES, &indices, diag));
    const int64_t batch = vtac_attr_int(node, "batch_dims", 0);
    const int64_t depth = indices->rank > 0 ? indices->dim[indices->rank - 1] : 0;
    if (batch < 0 || depth < 1 || batch + depth > (int64_t)data->rank || batch >= (int64_t)indices->rank) {
        return vta_fail(diag, VTA_INVALID, "indices of depth %lld do not fit data of rank %u",
                        (long long)depth, data->rank);
    }
    for (int64_t i = 0; i < batch + depth; i++) {
        if (i < batch ? data->dim[i] != indices->dim[i]
                      : data->dim[i] == 0 && vtac_type_elements(indices) != 0) {
            return vta_fail(diag, VTA_INVALID, "indices do not fit axis %lld of the data", (long long)i);
        }
    }
    VTA_TRY(vtac_expect_indices(graph, node, VTAC_GATHER_INDICES, data->dim + batch, (uint32_t)depth, diag));
    const uint32_t rest = data->rank - (uint32_t)(batch + depth);
    if (indices->rank - 1 + rest > VTAC_MAX_RANK) {
        return vta_fail(diag, VTA_UNSUPPORTED, "the result has more than %d axes", VTAC_MAX_RANK);
    }
    out[0] = (vtac_type){.dtype = data->dtype, .rank = indices->rank - 1 + rest};
    memcpy(out[0].dim, indices->dim, (indices->rank - 1) * sizeof out[0].dim[0]);
    memcpy(out[0].dim + indices->rank - 1, data->dim + batch + depth, rest * sizeof out[0].dim[0]);
    return VTA_OK;
}

vta_status vtac_infer_one_hot(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *indices;
    const vtac_type *values;
    VTA_TRY(vtac_need_type(graph, node, VTAC_ONE_HOT_INDICES, &indices, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_ONE_HOT_VALUES, &values, diag));
    const vtac_tensor *depth = vtac_in_constant(graph, node, VTAC_ONE_HOT_DEPTH);
    if (depth == NULL || vtac_type_elements(&depth->type) != 1) {
        return vta_fail(diag, VTA_UNSUPPORTED, "the depth (input 1) is not known at compile time");
    }
    uint32_t axis;
    if (indices->rank >= VTAC_MAX_RANK) {
        return vta_fail(diag, VTA_UNSUPPORTED, "the result has more than %d axes", VTAC_MAX_RANK);
    }
    VTA_TRY(vtac_axis(vtac_attr_int(node, "axis", -1), indices->rank + 1, &axis, diag));
    out[0] = (vtac_type){.dtype = values->dtype, .rank = indices->rank + 1};
    for (uint32_t i = 0, from = 0; i < out[0].rank; i++) {
        out[0].dim[i] = i == axis ? (int64_t)vtac_tensor_float(depth, 0) : indices->dim[from++];
    }
    return VTA_OK;
}

vta_status vtac_infer_top_k(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, VTAC_TOP_K_X, &in, diag));
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_attr_int(node, "axis", -1), in->rank, &axis, diag));
    int64_t k;
    uint32_t count;
    VTA_TRY(vtac_need_ints(graph, node, VTAC_TOP_K_K, "k", &k, 1, &count, diag));
    if (count != 1 || k < 0 || k > in->dim[axis]) {
        return vta_fail(diag, VTA_RANGE, "k is not between 0 and %lld", (long long)in->dim[axis]);
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        out[i] = *in;
        out[i].dim[axis] = k;
        out[i].dtype = i == VTAC_TOP_K_VALUES ? in->dtype : VTAC_I64;
    }
    return VTA_OK;
}

/* boxes [batch, boxes, 4], scores [batch, classes, boxes]: the number of results depends on the data */
vta_status vtac_infer_nms(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *boxes;
    const vtac_type *scores;
    VTA_TRY(vtac_need_type(graph, node, VTAC_NMS_BOXES, &boxes, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_NMS_SCORES, &scores, diag));
    if (boxes->rank != 3 || scores->rank != 3) {
        return vta_fail(diag, VTA_INVALID, "boxes and scores have rank %u and %u, expected 3", boxes->rank,
                        scores->rank);
    }
    if (boxes->dim[2] != 4 || scores->dim[0] != boxes->dim[0] || scores->dim[2] != boxes->dim[1]) {
        return vta_fail(diag, VTA_INVALID, "boxes and scores are not [N, boxes, 4] and [N, classes, boxes]");
    }
    /* Without the input no box is chosen: the standard's default is 0. */
    int64_t max = vtac_in_type(graph, node, VTAC_NMS_MAX_OUTPUTS) != NULL ? boxes->dim[1] : 0;
    const vtac_tensor *limit = vtac_in_constant(graph, node, VTAC_NMS_MAX_OUTPUTS);
    if (limit != NULL && vtac_type_elements(&limit->type) > 0 && vtac_tensor_int(limit, 0) < max) {
        max = vtac_tensor_int(limit, 0) < 0 ? 0 : vtac_tensor_int(limit, 0);
    }
    out[0] = (vtac_type){.dtype = VTAC_I64, .rank = 2, .dim = {scores->dim[0] * scores->dim[1] * max, 3}};
    return VTA_OK;
}
