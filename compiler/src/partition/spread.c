/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums, products and choices with one broadcast operand: over channels (a gate for each pixel) or, but for
 * products, over pixels. If a layer makes the operand, a movement expands it.
 */
#include <string.h>

#include "partition.h"

bool vtac_is_made_by_layer(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_node *maker = vtac_producer_of(graph, value);
    const vtac_layer_row *row = maker == NULL ? NULL : vtac_layer_row_of(maker->op);
    return row != NULL && row->make != NULL;
}

/* The same of a value that is taken out of another one. */
static bool is_taken_from_layer(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_node *maker = vtac_producer_of(graph, value);
    while (maker != NULL && (maker->op == VTAC_OP_GATHER || maker->op == VTAC_OP_SLICE)) {
        value = maker->inputs[0];
        maker = vtac_producer_of(graph, value);
    }
    return vtac_is_made_by_layer(graph, value);
}

/* True if operand i is smaller than the output in a way that no layer supports directly. */
static bool is_spread(const vtac_graph *graph, const vtac_node *node, uint32_t i)
{
    int64_t x[4];
    int64_t y[4];
    const vtac_type *from = vtac_in_type(graph, node, i), *to = &graph->values[node->outputs[0]].type;
    if (from == NULL || from->rank != to->rank || !vtac_image_shape(from, x) || !vtac_image_shape(to, y) ||
        vtac_type_elements(from) == vtac_type_elements(to)) {
        return false;
    }
    const bool gate = node->op == VTAC_OP_QLINEAR_MUL && x[0] == y[0] && x[1] == y[1] && x[2] * x[3] == 1;
    return !gate && is_taken_from_layer(graph, node->inputs[i]);
}

/* Expands operand i of a node to the size of the node's output. */
static vta_status expand_operand(const vtac_node_builder *b, vtac_node_id id, uint32_t i)
{
    const vtac_type *to = &b->graph->values[b->like.outputs[0]].type;
    vtac_value_id shape, x = b->like.inputs[i];
    VTA_TRY(vtac_b_list(b, to->dim, to->rank, &shape));
    VTA_TRY(vtac_b_apply(b, VTAC_OP_EXPAND, shape, NULL, &x));
    return vtac_set_input(b->graph, id, i, x, b->diag);
}

static vta_status expand_operands(const vtac_node_builder *b, vtac_node_id id, bool *any)
{
    const bool chooses = (b->like.op == VTAC_OP_MAX || b->like.op == VTAC_OP_MIN) && b->like.input_count == 2;
    const bool binary = chooses || b->like.op == VTAC_OP_QLINEAR_ADD || b->like.op == VTAC_OP_QLINEAR_MUL;
    const uint32_t step = chooses ? 1 : 3;
    for (uint32_t i = 0; binary && i <= step; i += step) {
        if (is_spread(b->graph, &b->like, i)) {
            VTA_TRY(expand_operand(b, id, i));
            *any = true;
        }
    }
    return VTA_OK;
}

vta_status vtac_spread_operands(vtac_graph *graph, vta_arena *arena, vta_diag *diag)
{
    const uint32_t count = graph->order_count;
    bool any = false;
    for (uint32_t n = 0; n < count; n++) {
        const vtac_node_id id = graph->order[n];
        const vtac_node_builder b = {graph, arena, NULL, graph->nodes[id], diag};
        VTA_TRY(expand_operands(&b, id, &any));
    }
    return any ? vtac_graph_sort(graph, diag) : VTA_OK;
}
