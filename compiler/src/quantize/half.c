/* SPDX-License-Identifier: Apache-2.0 */
#include "half.h"

#include <string.h>

#include "vta/fail.h"

bool vtac_quant_is_half(vtac_dtype dtype)
{
    return dtype == VTAC_F16 || dtype == VTAC_BF16;
}

/* The numbers of a tensor as float32: exactly what they were. */
static vta_status widen_tensor(vtac_graph *graph, vtac_tensor *tensor, vta_diag *diag)
{
    const size_t count = (size_t)vtac_type_elements(&tensor->type);
    float *data = vta_arena_array(&graph->arena, count + 1, sizeof *data);
    if (data == NULL) {
        return vta_no_memory(diag);
    }
    for (size_t i = 0; i < count; i++) {
        data[i] = (float)vtac_tensor_float(tensor, (int64_t)i);
    }
    tensor->type.dtype = VTAC_F32;
    tensor->data = data;
    tensor->bytes = count * sizeof *data;
    return VTA_OK;
}

static vta_status widen_constant(vtac_graph *graph, vtac_value *value, vta_diag *diag)
{
    vtac_tensor *wide = vta_arena_alloc(&graph->arena, sizeof *wide);
    if (wide == NULL) {
        return vta_no_memory(diag);
    }
    *wide = *value->constant;
    VTA_TRY(widen_tensor(graph, wide, diag));
    value->constant = wide;
    value->type = wide->type;
    return VTA_OK;
}

/* Widens the types that a node's attributes name and those of its outputs. */
static vta_status widen_node(vtac_graph *graph, vtac_node_id id, vta_diag *diag)
{
    const vtac_node *node = &graph->nodes[id];
    vtac_type types[VTAC_MAX_RANK];
    vtac_type *made = types;
    if (node->output_count > VTAC_MAX_RANK) {
        made = vta_arena_array(&graph->arena, node->output_count, sizeof *made);
    }
    for (uint32_t i = 0; i < node->attr_count; i++) {
        vtac_attr *attr = &node->attrs[i];
        if (attr->kind == VTAC_ATTR_STRING && vtac_quant_is_half(vtac_dtype_parse(attr->s))) {
            attr->s = vtac_dtype_name(VTAC_F32);
        } else if (attr->kind == VTAC_ATTR_TENSOR && vtac_quant_is_half(attr->tensor.type.dtype)) {
            VTA_TRY(widen_tensor(graph, &attr->tensor, diag));
        }
    }
    if (made == NULL) {
        return vta_no_memory(diag);
    }
    memset(made, 0, node->output_count * sizeof *made);
    if (vtac_infer(graph, node, made, diag) != VTA_OK) {
        return vta_context(diag, "quantizing a model of half floats as one of floats");
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] != 0) {
            graph->values[node->outputs[i]].type = made[i];
        }
    }
    return VTA_OK;
}

vta_status vtac_quant_floats(vtac_graph *graph, vtac_quant_borders *out, vta_diag *diag)
{
    *out = (vtac_quant_borders){
        .inputs = vta_arena_array(&graph->arena, graph->input_count + (size_t)1, sizeof *out->inputs),
        .outputs = vta_arena_array(&graph->arena, graph->output_count + (size_t)1, sizeof *out->outputs)};
    if (out->inputs == NULL || out->outputs == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        out->outputs[i] = graph->values[graph->outputs[i]].type.dtype;
    }
    for (uint32_t i = 0; i < graph->input_count; i++) {
        vtac_value *input = &graph->values[graph->inputs[i]];
        out->inputs[i] = input->type.dtype;
        out->any = out->any || vtac_quant_is_half(input->type.dtype);
        input->type.dtype = vtac_quant_is_half(input->type.dtype) ? VTAC_F32 : input->type.dtype;
    }
    for (vtac_value_id v = 1; v <= graph->value_count; v++) {
        const bool half = vtac_quant_is_half(graph->values[v].type.dtype);
        out->any = out->any || half;
        if (half && graph->values[v].constant != NULL) {
            VTA_TRY(widen_constant(graph, &graph->values[v], diag));
        }
    }
    for (uint32_t i = 0; out->any && i < graph->order_count; i++) {
        VTA_TRY(widen_node(graph, graph->order[i], diag));
    }
    return VTA_OK;
}

static vta_status add_cast(vtac_graph *graph, vtac_value_id x, vtac_dtype to, vtac_node_id *node,
                           vta_diag *diag)
{
    const vtac_attr attr = {.name = "to", .kind = VTAC_ATTR_STRING, .s = vtac_dtype_name(to)};
    const vtac_node_spec spec = {.op = VTAC_OP_CAST,
                                 .inputs = &x,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .attrs = &attr,
                                 .attr_count = 1};
    return vtac_add_node(graph, &spec, node, diag);
}

/* The outputs of the graph alone: nodes that read the value read it as floats. */
static void replace_outputs(vtac_graph *graph, vtac_value_id old, vtac_value_id new)
{
    for (uint32_t i = 0; i < graph->output_count; i++) {
        if (graph->outputs[i] == old) {
            graph->outputs[i] = new;
            graph->values[old].output_uses--;
            graph->values[new].output_uses++;
        }
    }
}

vta_status vtac_quant_restore(vtac_graph *graph, const vtac_quant_borders *borders, vta_diag *diag)
{
    vtac_node_id node;
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const vtac_value_id old = graph->outputs[i];
        if (vtac_quant_is_half(borders->outputs[i]) && !vtac_quant_is_half(graph->values[old].type.dtype)) {
            VTA_TRY(add_cast(graph, old, borders->outputs[i], &node, diag));
            const vtac_value_id new = graph->nodes[node].outputs[0];
            vtac_swap_names(graph, old, new);
            replace_outputs(graph, old, new);
        }
    }
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const vtac_value_id old = graph->inputs[i];
        if (vtac_quant_is_half(borders->inputs[i])) {
            graph->values[old].type.dtype = borders->inputs[i];
            VTA_TRY(add_cast(graph, old, VTAC_F32, &node, diag));
            vtac_replace_uses(graph, old, graph->nodes[node].outputs[0]);
            VTA_TRY(vtac_set_input(graph, node, 0, old, diag));
        }
    }
    return borders->any ? vtac_graph_sort(graph, diag) : VTA_OK;
}
