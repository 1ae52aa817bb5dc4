/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes that become nodes of their own: branches of known conditions, functions.
 */
#include "flow.h"
#include "vta/fail.h"

#include <stdlib.h>
#include <string.h>

static vta_status add_renaming(vtac_flow_work *w, const vtac_flow_node *item, const vtac_import_place *inside,
                               char *const *from, size_t count, vta_diag *diag)
{
    vtac_import_place *place = vtac_flow_kept(w->b, inside, sizeof *inside);
    const vtac_flow_node renaming = {.node = item->node,
                                     .at = item->at,
                                     .origin = item->origin,
                                     .inside = place,
                                     .from = from,
                                     .rename_count = count};
    return place != NULL && vta_vec_push(&w->items, &renaming) != NULL ? VTA_OK : vtac_flow_no_memory(diag);
}

vta_status vtac_flow_rename_outputs(vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag)
{
    for (size_t i = 0; i < item->rename_count && i < item->node->n_output; i++) {
        uint32_t value;
        (void)vtac_flow_find(item->inside, item->from[i], &value);
        VTA_TRY(vtac_flow_bind(w->b, &item->at, item->node->output[i], value, diag));
    }
    return VTA_OK;
}

vta_status vtac_flow_import_constants(vtac_flow_builder *b, const vtac_import_place *at,
                                      const Onnx__GraphProto *graph, vta_diag *diag)
{
    vtac_scope made = {.outer = NULL};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_import_initializers(b->im, &made, graph, diag));
    for (size_t i = 0; i < graph->n_initializer; i++) {
        const char *name = vtac_proto_text(graph->initializer[i]->name);
        vtac_value_id id = 0;
        uint32_t number;
        (void)vtac_scope_get(&made, name, &id);
        VTA_TRY_OUT(vtac_flow_add_constant(b, id, &number, diag));
        VTA_TRY_OUT(vtac_flow_bind(b, at, name, number, diag));
    }
out:
    free(made.slots);
    return status;
}

/* Names of a list of declared values. */
static char **names_of(vtac_flow_builder *b, Onnx__ValueInfoProto *const *infos, size_t count)
{
    char **names = vta_arena_alloc(&b->im->graph->arena, (count + 1) * sizeof *names);
    for (size_t i = 0; names != NULL && i < count; i++) {
        names[i] = infos[i]->name;
    }
    return names;
}

/* An If whose condition is known is its branch. */
vta_status vtac_flow_inline_branch(vtac_flow_work *w, const vtac_flow_node *given, bool which, vta_diag *diag)
{
    const vtac_flow_node item = *given; /* the list may move */
    const Onnx__AttributeProto *branch = vtac_proto_attr(item.node, which ? "then_branch" : "else_branch");
    if (branch == NULL || branch->g == NULL || branch->g->n_output != item.node->n_output) {
        return vta_fail(diag, VTA_INVALID, "its branch is missing or does not give %zu outputs",
                        item.node->n_output);
    }
    vtac_import_place inside = item.at;
    inside.scope = vtac_flow_scope(w->b, item.at.scope);
    char **names = names_of(w->b, branch->g->output, branch->g->n_output);
    if (inside.scope == NULL || names == NULL) {
        return vtac_flow_no_memory(diag);
    }
    VTA_TRY(vtac_flow_import_constants(w->b, &inside, branch->g, diag));
    VTA_TRY(vtac_flow_add_nodes(w, &inside, branch->g->node, branch->g->n_node, &item, diag));
    return add_renaming(w, &item, &inside, names, branch->g->n_output, diag);
}

vta_status vtac_flow_inline_call(vtac_flow_work *w, const vtac_flow_node *given,
                                 const Onnx__FunctionProto *function, vta_diag *diag)
{
    const vtac_flow_node item = *given;
    const Onnx__NodeProto *node = item.node;
    if (node->n_input > function->n_input || node->n_output > function->n_output) {
        return vta_fail(diag, VTA_INVALID,
                        "it passes %zu inputs and takes %zu outputs of a function with %zu and %zu",
                        node->n_input, node->n_output, function->n_input, function->n_output);
    }
    const vtac_import_place inside = {vtac_flow_scope(w->b, NULL), function->opset_import,
                                      function->n_opset_import, node};
    if (inside.scope == NULL) {
        return vtac_flow_no_memory(diag);
    }
    for (size_t i = 0; i < function->n_input; i++) {
        uint32_t value = 0;
        (void)vtac_flow_find(&item.at, i < node->n_input ? node->input[i] : "", &value);
        VTA_TRY(vtac_scope_set(inside.scope, function->input[i], value, diag));
    }
    VTA_TRY(vtac_flow_add_nodes(w, &inside, function->node, function->n_node, &item, diag));
    return add_renaming(w, &item, &inside, function->output, node->n_output, diag);
}

vta_status vtac_flow_replace(vtac_flow_work *w, const vtac_flow_node *item, Onnx__NodeProto *const *nodes,
                             size_t count, char *const *names, vta_diag *diag)
{
    vtac_import_place inside = item->at;
    inside.scope = vtac_flow_scope(w->b, item->at.scope);
    if (inside.scope == NULL) {
        return vtac_flow_no_memory(diag);
    }
    VTA_TRY(vtac_flow_add_nodes(w, &inside, nodes, count, item, diag));
    return add_renaming(w, item, &inside, names, item->node->n_output, diag);
}
