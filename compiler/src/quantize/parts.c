/* SPDX-License-Identifier: Apache-2.0
 *
 * RMSNormalization came to ONNX with opset 23, which few programs read: a quantized model has it in its
 * parts, which the pass gather-rows puts together again.
 */
#include "parts.h"

#include "vta/fail.h"

/* A node in place of part of another. */
static vta_status add_part(vtac_graph *graph, const vtac_node *like, vtac_op op, vtac_value_id a,
                           vtac_value_id b, vtac_value_id *out, vta_diag *diag)
{
    const vtac_value_id inputs[] = {a, b};
    const vtac_node_spec spec = {.op = op,
                                 .name = like->name,
                                 .origin = like->origin,
                                 .inputs = inputs,
                                 .input_count = b == 0 ? 1 : 2,
                                 .output_count = 1};
    vtac_node_id node;
    VTA_TRY(vtac_add_node(graph, &spec, &node, diag));
    *out = graph->nodes[node].outputs[0];
    return VTA_OK;
}

static vta_status add_number(vtac_graph *graph, float number, vtac_value_id *out, vta_diag *diag)
{
    float *data = vta_arena_alloc(&graph->arena, sizeof *data);
    if (data == NULL) {
        return vta_no_memory(diag);
    }
    *data = number;
    const vtac_tensor tensor = {.type = {.dtype = VTAC_F32}, .data = data, .bytes = sizeof *data};
    return vtac_add_constant(graph, "", &tensor, out, diag);
}

static vta_status add_axis(vtac_graph *graph, vtac_value_id *out, vta_diag *diag)
{
    int64_t *data = vta_arena_alloc(&graph->arena, sizeof *data);
    if (data == NULL) {
        return vta_no_memory(diag);
    }
    *data = -1;
    const vtac_tensor tensor = {
        .type = {.dtype = VTAC_I64, .rank = 1, .dim = {1}}, .data = data, .bytes = sizeof *data};
    return vtac_add_constant(graph, "", &tensor, out, diag);
}

/* Values that the parts read: the operands, the numbers, then the result of each part in turn. */
enum { X, GAIN, TWO, AXIS, EPSILON, PARTS, NONE = -1 };

/* x / sqrt(mean(x^2) + epsilon) * gain */
static const struct {
    vtac_op op;
    int a, b;
} parts[] = {
    {VTAC_OP_POW, X, TWO},           {VTAC_OP_REDUCE_MEAN, PARTS, AXIS}, {VTAC_OP_ADD, PARTS + 1, EPSILON},
    {VTAC_OP_SQRT, PARTS + 2, NONE}, {VTAC_OP_DIV, X, PARTS + 3},        {VTAC_OP_MUL, PARTS + 4, GAIN},
};
enum { COUNT = sizeof parts / sizeof parts[0] };

static vta_status take_apart(vtac_graph *graph, vtac_node_id id, vta_diag *diag)
{
    const vtac_node node = graph->nodes[id];
    vtac_value_id values[PARTS + COUNT] = {
        [X] = node.inputs[VTAC_NORM_X], [GAIN] = node.inputs[VTAC_NORM_SCALE]};
    VTA_TRY(add_number(graph, 2.0F, &values[TWO], diag));
    VTA_TRY(add_axis(graph, &values[AXIS], diag));
    VTA_TRY(add_number(graph, (float)vtac_attr_float(&node, "epsilon", 1e-5), &values[EPSILON], diag));
    for (int i = 0; i < COUNT; i++) {
        const vtac_value_id b = parts[i].b == NONE ? 0 : values[parts[i].b];
        VTA_TRY(add_part(graph, &node, parts[i].op, values[parts[i].a], b, &values[PARTS + i], diag));
    }
    const vtac_value_id y = values[PARTS + COUNT - 1];
    vtac_swap_names(graph, node.outputs[0], y);
    vtac_replace_uses(graph, node.outputs[0], y);
    vtac_remove_node(graph, id);
    return VTA_OK;
}

vta_status vtac_quant_take_apart(vtac_graph *graph, vta_diag *diag)
{
    const uint32_t count = graph->node_count;
    for (vtac_node_id id = 1; id <= count; id++) {
        const vtac_node *node = &graph->nodes[id];
        const bool last =
            !node->dead && node->op == VTAC_OP_RMS_NORMALIZATION &&
            vtac_in_type(graph, node, VTAC_NORM_X)->dtype == VTAC_F32 &&
            (vtac_attr_int(node, "axis", -1) == -1 ||
             vtac_attr_int(node, "axis", -1) == (int64_t)vtac_in_type(graph, node, VTAC_NORM_X)->rank - 1);
        VTA_TRY(last ? take_apart(graph, id, diag) : VTA_OK);
    }
    return vtac_graph_sort(graph, diag);
}
