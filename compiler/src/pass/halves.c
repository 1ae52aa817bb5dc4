/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions and maximum pools of 16-bit floats are those of floats between two casts: sums are floats
 * anyway, and kernels that would widen an element wherever a window meets it widen each once.
 */
#include "rewrite.h"
#include "vta/fail.h"

enum { MAX_INPUTS = 8 };

static bool is_half(vtac_dtype dtype)
{
    return dtype == VTAC_F16 || dtype == VTAC_BF16;
}

static vta_status new_cast(vtac_rewrite *r, vtac_node_id before, const vtac_node *like, vtac_dtype dtype,
                           vtac_value_id x, vtac_value_id *out)
{
    vtac_attr *to = vta_arena_array(&r->graph->arena, 1, sizeof *to);
    vtac_value_id *input = vta_arena_array(&r->graph->arena, 1, sizeof *input);
    if (to == NULL || input == NULL) {
        return vta_no_memory(r->diag);
    }
    *to = (vtac_attr){.name = "to", .kind = VTAC_ATTR_STRING, .s = vtac_dtype_name(dtype)};
    *input = x;
    const vtac_node_spec spec = {.op = VTAC_OP_CAST,
                                 .inputs = input,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .attrs = to,
                                 .attr_count = 1};
    return vtac_new_node(r, before, like, spec, out);
}

static vta_status widened_constant(vtac_rewrite *r, const vtac_tensor *tensor, vtac_value_id *out)
{
    const size_t count = (size_t)vtac_type_elements(&tensor->type);
    float *data = vta_arena_array(&r->graph->arena, count, sizeof *data);
    vtac_type type = tensor->type;
    if (data == NULL) {
        return vta_no_memory(r->diag);
    }
    for (size_t i = 0; i < count; i++) {
        data[i] = (float)vtac_tensor_float(tensor, (int64_t)i);
    }
    type.dtype = VTAC_F32;
    return vtac_new_constant(r, NULL, &type, data, out);
}

vta_status vtac_widen_halves(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node node = r->graph->nodes[id];
    const vtac_type x = *vtac_in_type(r->graph, &node, 0);
    const vtac_type y = r->graph->values[node.outputs[0]].type;
    vtac_value_id inputs[MAX_INPUTS] = {0};
    vtac_value_id wide;
    vtac_value_id narrow;
    const bool fits = node.op == VTAC_OP_MAX_POOL || vtac_in_constant(r->graph, &node, 1) != NULL;
    if (!is_half(x.dtype) || x.rank < 4 || node.input_count > MAX_INPUTS || node.output_count != 1 || !fits ||
        vtac_type_elements(&y) == 0) {
        return VTA_OK;
    }
    for (uint32_t i = 0; i < node.input_count; i++) {
        const vtac_tensor *constant = vtac_in_constant(r->graph, &node, i);
        if (constant != NULL) {
            VTA_TRY(widened_constant(r, constant, &inputs[i]));
        } else if (node.inputs[i] != 0) {
            VTA_TRY(new_cast(r, id, &node, VTAC_F32, node.inputs[i], &inputs[i]));
        }
    }
    const vtac_node_spec spec = {.op = node.op,
                                 .inputs = inputs,
                                 .input_count = node.input_count,
                                 .output_count = 1,
                                 .attrs = node.attrs,
                                 .attr_count = node.attr_count};
    VTA_TRY(vtac_new_node(r, id, &node, spec, &wide));
    VTA_TRY(new_cast(r, id, &node, x.dtype, wide, &narrow));
    vtac_replace(r, node.outputs[0], narrow);
    vtac_remove_node(r->graph, id);
    *changed = true;
    return VTA_OK;
}
