/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's graph, read once: its tensors are the values, its execution plan the order of the nodes.
 */
#include <string.h>

#include "tfl.h"
#include "vta/fail.h"

enum { RESHAPE = 22 };

static bool is_constant(const TfLiteTensor *t)
{
    return t->allocation_type == TFL_CONSTANT && t->data != NULL;
}

/* True for a tensor that can be written: of known sizes, dense, without a state. */
static bool is_plain(const TfLiteTensor *t)
{
    if (t->dims == NULL || t->is_variable || t->sparsity != NULL || vtac_tfl_type(t->type) < 0) {
        return false;
    }
    for (int i = 0; i < t->dims->size; i++) {
        if (t->dims->data[i] < 0) {
            return false;
        }
    }
    return t->dims->size <= 8;
}

/* True for what the accelerator computes with: integers of 8 bits, and those of 16. */
static bool is_integer(const TfLiteTensor *t)
{
    return t->type == TFL_INT8 || t->type == TFL_UINT8 || t->type == TFL_INT16;
}

/* NULL: the operand is left out, or the number is none. */
static const TfLiteTensor *tensor_of(const TfLiteContext *context, int index)
{
    return index >= 0 && (size_t)index < context->tensors_size ? &context->tensors[index] : NULL;
}

static bool is_known(const TfLiteContext *context, const vtac_tfl_node *node)
{
    const TfLiteIntArray *in = node->node->inputs;
    const TfLiteIntArray *out = node->node->outputs;
    bool known = node->op != NULL && (node->code != RESHAPE || in->size == 2) && out->size > 0;
    for (int i = 0; i < in->size && known; i++) {
        const TfLiteTensor *t = tensor_of(context, in->data[i]);
        known = t == NULL || (is_plain(t) && (is_constant(t) || is_integer(t)));
    }
    for (int i = 0; i < out->size && known; i++) {
        const TfLiteTensor *t = tensor_of(context, out->data[i]);
        known = t != NULL && is_plain(t) && is_integer(t);
    }
    return known;
}

/* ---- the graph */

static vta_status copy_numbers(vta_arena *arena, const TfLiteIntArray *from, const uint32_t **to,
                               uint32_t *count, vta_diag *diag)
{
    uint32_t *numbers = vta_arena_array(arena, (size_t)from->size + 1, sizeof *numbers);
    VTA_TRY(vta_allocated(numbers != NULL, diag));
    for (int i = 0; i < from->size; i++) {
        numbers[i] = from->data[i] < 0 ? UINT32_MAX : (uint32_t)from->data[i];
    }
    *to = numbers;
    *count = (uint32_t)from->size;
    return VTA_OK;
}

static vta_status read_node(TfLiteContext *context, int index, vtac_tfl_graph *g, uint32_t i,
                            vtac_plug_node *shape, vta_diag *diag)
{
    TfLiteNode *node = NULL;
    TfLiteRegistration *registration = NULL;
    vtac_tfl_node *to = &g->nodes[i];
    if (context->GetNodeAndRegistration(context, index, &node, &registration) != TFL_OK) {
        return vta_fail(diag, VTA_INVALID, "the host does not show its node %d", index);
    }
    *to = (vtac_tfl_node){.index = index,
                          .node = node,
                          .code = registration->builtin_code,
                          .version = registration->version,
                          .op = vtac_tfl_op_find(registration->builtin_code)};
    if (!is_known(context, to)) {
        to->op = NULL;
    }
    VTA_TRY(copy_numbers(&g->arena, node->inputs, &shape->inputs, &shape->input_count, diag));
    return copy_numbers(&g->arena, node->outputs, &shape->outputs, &shape->output_count, diag);
}

/* The host does not show which tensors its program reads: at least those that no node does. */
static void mark_ends(const vtac_plug_node *nodes, uint32_t count, uint32_t values, bool *kept)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < nodes[i].output_count; k++) {
            if (nodes[i].outputs[k] < values) {
                kept[nodes[i].outputs[k]] = true;
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < nodes[i].input_count; k++) {
            if (nodes[i].inputs[k] < values) {
                kept[nodes[i].inputs[k]] = false;
            }
        }
    }
}

static vta_status read_nodes(TfLiteContext *context, const TfLiteIntArray *plan, vtac_tfl_graph *g,
                             vta_diag *diag)
{
    const size_t values = context->tensors_size;
    vtac_plug_node *shapes = vta_arena_array(&g->arena, (size_t)plan->size + 1, sizeof *shapes);
    bool *constant = vta_arena_array(&g->arena, values + 1, sizeof *constant);
    bool *kept = vta_arena_array(&g->arena, values + 1, sizeof *kept);
    g->nodes = vta_arena_array(&g->arena, (size_t)plan->size + 1, sizeof *g->nodes);
    VTA_TRY(vta_allocated(shapes != NULL && constant != NULL && kept != NULL && g->nodes != NULL, diag));
    for (size_t i = 0; i < values; i++) {
        constant[i] = is_constant(&context->tensors[i]);
    }
    for (int i = 0; i < plan->size; i++) {
        VTA_TRY(read_node(context, plan->data[i], g, (uint32_t)i, &shapes[i], diag));
    }
    mark_ends(shapes, (uint32_t)plan->size, (uint32_t)values, kept);
    g->shape = (vtac_plug_graph){.nodes = shapes,
                                 .node_count = (uint32_t)plan->size,
                                 .value_count = (uint32_t)values,
                                 .constant = constant,
                                 .kept = kept};
    return VTA_OK;
}

vta_status vtac_tfl_graph_read(TfLiteContext *context, vtac_tfl_graph *out, vta_diag *diag)
{
    TfLiteIntArray *plan = NULL;
    *out = (vtac_tfl_graph){.context = context};
    if (context->GetExecutionPlan(context, &plan) != TFL_OK || plan == NULL) {
        return vta_fail(diag, VTA_INVALID, "the host does not show its nodes");
    }
    return read_nodes(context, plan, out, diag);
}

void vtac_tfl_graph_free(vtac_tfl_graph *graph)
{
    vta_arena_free(&graph->arena);
}
