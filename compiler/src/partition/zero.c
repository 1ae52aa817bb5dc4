/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds zero points. Integer operators of ONNX name those of their inputs and outputs. Operators that only
 * move or compare numbers (MaxPool, Reshape, …) keep them, so all values that they join share one zero point,
 * named by any of their neighbours.
 */
#include "partition.h"
#include "vta/fail.h"

typedef struct classes {
    uint32_t *parent;
    int32_t *zero; /* by root of a class */
} classes;

static uint32_t root_of(classes *c, uint32_t v)
{
    while (c->parent[v] != v) {
        c->parent[v] = c->parent[c->parent[v]];
        v = c->parent[v];
    }
    return v;
}

static void set_zero(classes *c, uint32_t v, int32_t zero)
{
    int32_t *known = &c->zero[root_of(c, v)];
    *known = *known == VTAC_ZERO_UNKNOWN || *known == zero ? zero : VTAC_ZERO_CONFLICT;
}

/* Sets a value's zero point to input i of the node, or to 0 if that is absent. */
static void name_zero(const vtac_graph *graph, classes *c, const vtac_node *node, vtac_value_id value,
                      uint32_t i)
{
    const vtac_tensor *tensor = vtac_in_constant(graph, node, i);
    const bool absent = vtac_in_type(graph, node, i) == NULL;
    const vtac_dtype dtype = graph->values[value].type.dtype;
    if ((dtype != VTAC_I8 && dtype != VTAC_U8) || (tensor == NULL && !absent)) {
        return;
    }
    if (tensor != NULL && vtac_type_elements(&tensor->type) != 1) {
        set_zero(c, value, VTAC_ZERO_CONFLICT);
        return;
    }
    const int32_t zero = tensor == NULL ? 0 : (int32_t)vtac_tensor_int(tensor, 0);
    set_zero(c, value, dtype == VTAC_U8 ? zero - 128 : zero);
}

static void join_values(const vtac_graph *graph, classes *c, const vtac_node *node)
{
    const vtac_layer_row *row = vtac_layer_row_of(node->op);
    const uint32_t out = root_of(c, node->outputs[0]);
    if (vtac_is_view(graph, node)) {
        c->parent[root_of(c, node->inputs[0])] = out;
        return;
    }
    for (uint32_t k = 0; row != NULL && row->zero == VTAC_ZERO_SAME && k < vtac_operand_count(node, row);
         k++) {
        c->parent[root_of(c, node->inputs[vtac_operand(row, k)])] = out;
    }
}

static void name_zeros(const vtac_graph *graph, classes *c, const vtac_node *node)
{
    const vtac_layer_row *row = vtac_layer_row_of(node->op);
    const bool names_none = row != NULL && row->make != NULL && row->zero == VTAC_ZERO_NO;
    if (row == NULL || row->zero == VTAC_ZERO_SAME || names_none) {
        return;
    }
    for (uint32_t k = 0; k < vtac_operand_count(node, row); k++) {
        const uint32_t i = vtac_operand(row, k);
        name_zero(graph, c, node, node->inputs[i], i + 2);
    }
    if (row->zero != VTAC_ZERO_NO) {
        name_zero(graph, c, node, node->outputs[0], (uint32_t)row->zero);
    }
}

vta_status vtac_find_zeros(const vtac_graph *graph, vta_arena *arena, int32_t **out, vta_diag *diag)
{
    const size_t count = (size_t)graph->value_count + 1;
    classes c = {.parent = vta_arena_array(arena, count, sizeof *c.parent),
                 .zero = vta_arena_array(arena, count, sizeof *c.zero)};
    int32_t *zeros = vta_arena_array(arena, count, sizeof *zeros);
    if (c.parent == NULL || c.zero == NULL || zeros == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t v = 0; v < count; v++) {
        c.parent[v] = v;
        c.zero[v] = VTAC_ZERO_UNKNOWN;
    }
    for (uint32_t i = 0; i < graph->order_count; i++) {
        join_values(graph, &c, &graph->nodes[graph->order[i]]);
    }
    for (uint32_t i = 0; i < graph->order_count; i++) {
        name_zeros(graph, &c, &graph->nodes[graph->order[i]]);
    }
    for (uint32_t v = 0; v < count; v++) {
        zeros[v] = c.zero[root_of(&c, v)];
    }
    *out = zeros;
    return VTA_OK;
}
