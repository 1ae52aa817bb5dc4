/* SPDX-License-Identifier: Apache-2.0
 *
 * What is looked for in the whole model before anything is imported: operators that are not supported, told
 * all at once, and names that are given to two values.
 */
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "vta/fail.h"
#include "vta/str.h"

typedef struct survey {
    const vtac_importer *im;
    vta_str text;
    uint32_t listed, found;
    bool maps; /* an operator takes a map */
} survey;

static bool is_importable(const vtac_importer *im, const Onnx__NodeProto *node)
{
    static const char *const special[] = {"Constant", "If", "Loop", "Upsample", "Scatter"};
    const char *type = vtac_proto_text(node->op_type);
    const char *domain = vtac_plain_domain(node->domain);
    for (size_t i = 0; domain[0] == '\0' && i < sizeof special / sizeof special[0]; i++) {
        if (strcmp(type, special[i]) == 0) {
            return true;
        }
    }
    if (im->has_flow && (vtac_flow_row_of(node) != NULL || vtac_flow_is(node, "SequenceMap"))) {
        return true;
    }
    const vtac_op op = vtac_op_find(domain, type);
    return (op != VTAC_OP_COUNT && !vtac_op_is_internal(op)) || vtac_is_composed(domain, type) ||
           vtac_find_function(im, node) != NULL;
}

static void survey_nodes(survey *s, Onnx__NodeProto *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const Onnx__NodeProto *node = nodes[i];
        if (!is_importable(s->im, node)) {
            const char *name = vtac_proto_text(node->name);
            const char *shown =
                name[0] != '\0' || node->n_output == 0 ? name : vtac_proto_text(node->output[0]);
            s->found++;
            s->maps = s->maps || strcmp(vtac_proto_text(node->op_type), "CastMap") == 0 ||
                      strcmp(vtac_proto_text(node->op_type), "DictVectorizer") == 0;
            if (s->listed < 16) {
                s->listed++;
                vta_str_printf(&s->text, "%s%s%s%.64s (node '%.64s')", s->listed > 1 ? ", " : "",
                               vtac_plain_domain(node->domain),
                               vtac_plain_domain(node->domain)[0] != '\0' ? "." : "",
                               vtac_proto_text(node->op_type), shown);
            }
        }
        for (size_t k = 0; k < node->n_attribute; k++) {
            const Onnx__GraphProto *graph = node->attribute[k]->g;
            if (graph != NULL) {
                survey_nodes(s, graph->node, graph->n_node);
            }
        }
    }
}

vta_status vtac_check_operators(const vtac_importer *im, vta_diag *diag)
{
    survey s = {.im = im};
    survey_nodes(&s, im->model->graph->node, im->model->graph->n_node);
    for (size_t i = 0; i < im->model->n_functions; i++) {
        survey_nodes(&s, im->model->functions[i]->node, im->model->functions[i]->n_node);
    }

    vta_status status = VTA_OK;
    if (s.found > 0) {
        status = vta_fail(
            diag, VTA_UNSUPPORTED, "%u nodes have operators that are not supported: %s%s%s", s.found,
            s.text.text == NULL ? "" : s.text.text, s.found > s.listed ? ", ..." : "",
            s.maps ? "; a map is no value here: cut the model behind them and give it the tensor" : "");
    }
    vta_str_free(&s.text);
    return status;
}

/* ---- names */

static vta_status give_name(vtac_scope *names, const char *name, const Onnx__NodeProto *node, vta_diag *diag)
{
    vtac_value_id taken;
    if (name[0] == '\0') {
        return VTA_OK;
    }
    if (!vtac_scope_get(names, name, &taken)) {
        return vtac_scope_set(names, name, 1, diag);
    }
    if (node == NULL) {
        return vta_fail(diag, VTA_INVALID, "two values have the name '%.64s'; each needs one of its own",
                        name);
    }
    return vta_fail(
        diag, VTA_INVALID,
        "node '%.64s' (%.64s): its output '%.64s' has the name of another value; each needs one of "
        "its own",
        vtac_proto_text(node->name)[0] != '\0' ? node->name : name, vtac_proto_text(node->op_type), name);
}

static vta_status check_graph_names(const Onnx__GraphProto *graph, vta_diag *diag);

/* Outputs of nodes, and what the graphs within them name. */
static vta_status check_node_names(vtac_scope *names, Onnx__NodeProto *const *nodes, size_t count,
                                   vta_diag *diag)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < nodes[i]->n_output; k++) {
            VTA_TRY(give_name(names, vtac_proto_text(nodes[i]->output[k]), nodes[i], diag));
        }
        for (size_t k = 0; k < nodes[i]->n_attribute; k++) {
            const Onnx__GraphProto *within = nodes[i]->attribute[k]->g;
            VTA_TRY(within != NULL ? check_graph_names(within, diag) : VTA_OK);
        }
    }
    return VTA_OK;
}

/* An initializer may be what an input is where it is not given. */
static vta_status check_graph_names(const Onnx__GraphProto *graph, vta_diag *diag)
{
    vtac_scope inputs = {.outer = NULL};
    vtac_scope names = {.outer = NULL};
    vta_status status = VTA_OK;
    for (size_t i = 0; i < graph->n_initializer; i++) {
        VTA_TRY_OUT(give_name(&names, vtac_proto_text(graph->initializer[i]->name), NULL, diag));
    }
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *name = vtac_proto_text(graph->input[i]->name);
        VTA_TRY_OUT(give_name(&inputs, name, NULL, diag));
        VTA_TRY_OUT(vtac_scope_set(&names, name, 1, diag));
    }
    VTA_TRY_OUT(check_node_names(&names, graph->node, graph->n_node, diag));
out:
    free(inputs.slots);
    free(names.slots);
    return status;
}

static vta_status check_function_names(const Onnx__FunctionProto *function, vta_diag *diag)
{
    vtac_scope names = {.outer = NULL};
    vta_status status = VTA_OK;
    for (size_t k = 0; k < function->n_input; k++) {
        VTA_TRY_OUT(give_name(&names, vtac_proto_text(function->input[k]), NULL, diag));
    }
    VTA_TRY_OUT(check_node_names(&names, function->node, function->n_node, diag));
out:
    free(names.slots);
    return status;
}

vta_status vtac_check_names(const Onnx__ModelProto *model, vta_diag *diag)
{
    VTA_TRY(check_graph_names(model->graph, diag));
    for (size_t i = 0; i < model->n_functions; i++) {
        VTA_TRY(check_function_names(model->functions[i], diag));
    }
    return VTA_OK;
}
