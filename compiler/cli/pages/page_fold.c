/* SPDX-License-Identifier: Apache-2.0
 *
 * Folds the quantization of a graph into its edges, for the drawing: a QuantizeLinear with the
 * DequantizeLinear behind it becomes the value before both, the DequantizeLinear of a constant the constant.
 */
#include "page.h"

/* The value that the drawing shows in place of what a DequantizeLinear gives; 0: the node stays. */
static vtac_value_id value_behind(const vtac_graph *graph, const vtac_node *node)
{
    const vtac_value *in = &graph->values[node->inputs[0]];
    if (in->constant != NULL) {
        return node->inputs[0];
    }
    const vtac_node *maker = in->node != 0 ? &graph->nodes[in->node] : NULL;
    return maker != NULL && maker->op == VTAC_OP_QUANTIZE_LINEAR ? maker->inputs[0] : 0;
}

uint32_t cli_fold_quantization(vtac_graph *graph)
{
    const uint32_t before = graph->order_count;
    for (uint32_t i = 0; i < before; i++) {
        const vtac_node *node = &graph->nodes[graph->order[i]];
        if (node->op != VTAC_OP_DEQUANTIZE_LINEAR || vtac_is_output(graph, node->outputs[0])) {
            continue;
        }
        const vtac_value_id shown = value_behind(graph, node);
        if (shown != 0) {
            vtac_replace_uses(graph, node->outputs[0], shown);
        }
    }
    return vtac_remove_dead(graph);
}
