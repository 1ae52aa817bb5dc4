/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds nodes for the host beside a region.
 */
#include "builder.h"

#include <string.h>

#include "vta/fail.h"

enum { MAX_ATTRS = 12 };

vtac_type vtac_b_type(const vtac_node_builder *b, vtac_value_id value)
{
    return b->graph->values[value].type;
}

int64_t vtac_b_elements(const vtac_node_builder *b, vtac_value_id value)
{
    return vtac_type_elements(&b->graph->values[value].type);
}

vta_status vtac_b_no_memory(const vtac_node_builder *b)
{
    return vta_no_memory(b->diag);
}

vta_status vtac_b_layer(const vtac_node_builder *b, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                        const vtac_attr *attrs, uint32_t attr_count, vtac_value_id *out)
{
    vtac_node_id id;
    const vtac_node_spec spec = {.op = op,
                                 .name = b->like.name,
                                 .origin = b->like.origin,
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = attr_count};
    VTA_TRY(vtac_add_node(b->graph, &spec, &id, b->diag));
    *out = b->graph->nodes[id].outputs[0];
    return VTA_OK;
}

vta_status vtac_b_add(const vtac_node_builder *b, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                      const vtac_attr *attrs, uint32_t attr_count, vtac_value_id *out)
{
    vtac_attr all[MAX_ATTRS + 1];
    const bool layer = op == VTAC_OP_VTA_PRODUCT || op == VTAC_OP_VTA_SUMS || op == VTAC_OP_QLINEAR_CONV ||
                       op == VTAC_OP_QLINEAR_AVERAGE_POOL || op == VTAC_OP_MAX_POOL ||
                       op == VTAC_OP_VTA_SOFTMAX || op == VTAC_OP_VTA_TRANSPOSE || op == VTAC_OP_MAX ||
                       op == VTAC_OP_MIN;
    if (attr_count > MAX_ATTRS) {
        return vta_fail(b->diag, VTA_INVALID, "a node for the host has %u attributes", attr_count);
    }
    if (attr_count > 0) {
        memcpy(all, attrs, attr_count * sizeof *all);
    }
    all[attr_count] = (vtac_attr){.name = "host", .kind = VTAC_ATTR_INT, .i = 1};
    return vtac_b_layer(b, op, inputs, count, all, attr_count + !layer, out);
}

vta_status vtac_b_constant(const vtac_node_builder *b, vtac_type type, const void *data, vtac_value_id *out)
{
    const size_t bytes = (size_t)vtac_type_elements(&type) * vtac_dtype_bytes(type.dtype);
    void *copy = vta_arena_array(&b->graph->arena, bytes + 1, 1);
    if (copy == NULL) {
        return vtac_b_no_memory(b);
    }
    if (bytes > 0) { /* `data` may be NULL for an empty list */
        memcpy(copy, data, bytes);
    }
    const vtac_tensor tensor = {.type = type, .data = copy, .bytes = bytes};
    return vtac_add_constant(b->graph, NULL, &tensor, out, b->diag);
}

vta_status vtac_b_list(const vtac_node_builder *b, const int64_t *values, uint32_t count, vtac_value_id *out)
{
    return vtac_b_constant(b, (vtac_type){.dtype = VTAC_I64, .rank = 1, .dim = {count}}, values, out);
}

vta_status vtac_b_number(const vtac_node_builder *b, vtac_dtype dtype, const void *value, vtac_value_id *out)
{
    return vtac_b_constant(b, (vtac_type){.dtype = dtype, .rank = 0}, value, out);
}

vta_status vtac_b_apply(const vtac_node_builder *b, vtac_op op, vtac_value_id more, const vtac_attr *attr,
                        vtac_value_id *x)
{
    const vtac_value_id inputs[2] = {*x, more};
    return vtac_b_add(b, op, inputs, more != 0 ? 2 : 1, attr, attr != NULL, x);
}

vta_status vtac_b_with(const vtac_node_builder *b, vtac_op op, int32_t number, vtac_value_id *x)
{
    vtac_value_id other;
    VTA_TRY(vtac_b_number(b, VTAC_I32, &number, &other));
    return vtac_b_apply(b, op, other, NULL, x);
}

vta_status vtac_b_reshape(const vtac_node_builder *b, const int64_t *dims, uint32_t rank, vtac_value_id *x)
{
    const vtac_type type = vtac_b_type(b, *x);
    vtac_value_id shape;
    if (type.rank == rank && (rank == 0 || memcmp(type.dim, dims, rank * sizeof *dims) == 0)) {
        return VTA_OK;
    }
    VTA_TRY(vtac_b_list(b, dims, rank, &shape));
    return vtac_b_apply(b, VTAC_OP_RESHAPE, shape, NULL, x);
}

vta_status vtac_b_transpose(const vtac_node_builder *b, const int64_t *perm, uint32_t rank, vtac_value_id *x)
{
    const vtac_attr attr = {.name = "perm", .kind = VTAC_ATTR_INTS, .count = rank, .ints = perm};
    return vtac_b_apply(b, VTAC_OP_TRANSPOSE, 0, &attr, x);
}

vta_status vtac_b_cast(const vtac_node_builder *b, vtac_dtype to, vtac_value_id *x)
{
    const vtac_attr attr = {.name = "to", .kind = VTAC_ATTR_STRING, .s = vtac_dtype_name(to)};
    return vtac_b_apply(b, VTAC_OP_CAST, 0, &attr, x);
}

vta_status vtac_b_hold(const vtac_node_builder *b, vtac_value_id value, vtac_node_id *node,
                       vtac_value_id *out)
{
    *out = value;
    VTA_TRY(vtac_b_apply(b, VTAC_OP_IDENTITY, 0, NULL, out));
    *node = b->graph->values[*out].node;
    return VTA_OK;
}

vta_status vtac_b_slice(const vtac_node_builder *b, int64_t axis, int64_t first, int64_t count,
                        vtac_value_id *x)
{
    const int64_t ends[] = {first, first + count, axis};
    static const uint32_t order[] = {VTAC_SLICE_STARTS, VTAC_SLICE_ENDS, VTAC_SLICE_AXES};
    vtac_value_id inputs[4] = {*x};
    for (uint32_t i = 0; i < 3; i++) {
        VTA_TRY(vtac_b_list(b, &ends[i], 1, &inputs[order[i]]));
    }
    return vtac_b_add(b, VTAC_OP_SLICE, inputs, 4, NULL, 0, x);
}
