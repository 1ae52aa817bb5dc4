/* SPDX-License-Identifier: Apache-2.0
 *
 * Which names a node reads of what is around it.
 */
#include "flow.h"

#include <stdlib.h>

static vta_status graph_names(const Onnx__GraphProto *graph, const vtac_scope *outer,
                              vtac_flow_name_fn *report, void *context, uint32_t depth, vta_diag *diag);

vta_status vtac_flow_node_names(const Onnx__NodeProto *node, const vtac_scope *own, vtac_flow_name_fn *report,
                                void *context, uint32_t depth, vta_diag *diag)
{
    for (size_t i = 0; i < node->n_input; i++) {
        vtac_value_id found;
        const char *name = vtac_proto_text(node->input[i]);
        if (name[0] != '\0' && (own == NULL || !vtac_scope_get(own, name, &found))) {
            VTA_TRY(report(context, name, diag));
        }
    }
    for (size_t i = 0; i < node->n_attribute; i++) {
        if (node->attribute[i]->g != NULL) {
            VTA_TRY(graph_names(node->attribute[i]->g, own, report, context, depth + 1, diag));
        }
    }
    return VTA_OK;
}

static vta_status define_names(const Onnx__GraphProto *graph, vtac_scope *own, vta_diag *diag)
{
    for (size_t i = 0; i < graph->n_initializer; i++) {
        VTA_TRY(vtac_scope_set(own, vtac_proto_text(graph->initializer[i]->name), 1, diag));
    }
    for (size_t i = 0; i < graph->n_input; i++) {
        VTA_TRY(vtac_scope_set(own, vtac_proto_text(graph->input[i]->name), 1, diag));
    }
    for (size_t i = 0; i < graph->n_node; i++) {
        for (size_t k = 0; k < graph->node[i]->n_output; k++) {
            VTA_TRY(vtac_scope_set(own, vtac_proto_text(graph->node[i]->output[k]), 1, diag));
        }
    }
    return VTA_OK;
}

static vta_status graph_names(const Onnx__GraphProto *graph, const vtac_scope *outer,
                              vtac_flow_name_fn *report, void *context, uint32_t depth, vta_diag *diag)
{
    if (depth > VTAC_MAX_DEPTH) {
        return vta_fail(diag, VTA_UNSUPPORTED, "functions and subgraphs nest deeper than %d", VTAC_MAX_DEPTH);
    }
    vtac_scope own = {.outer = outer};
    vta_status status = define_names(graph, &own, diag);
    for (size_t i = 0; status == VTA_OK && i < graph->n_node; i++) {
        status = vtac_flow_node_names(graph->node[i], &own, report, context, depth, diag);
    }
    for (size_t i = 0; status == VTA_OK && i < graph->n_output; i++) {
        vtac_value_id found;
        const char *name = vtac_proto_text(graph->output[i]->name);
        if (!vtac_scope_get(&own, name, &found)) {
            status = report(context, name, diag);
        }
    }
    free(own.slots);
    return status;
}
