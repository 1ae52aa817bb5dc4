/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that are not supported, found in the whole model before anything is imported, and told all at
 * once.
 */
#include <string.h>

#include "flow.h"
#include "vta/str.h"

typedef struct survey {
    const vtac_importer *im;
    vta_str text;
    uint32_t listed, found;
    bool maps; /* an operator takes a map */
} survey;

static bool importable(const vtac_importer *im, const Onnx__NodeProto *node)
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
        if (!importable(s->im, node)) {
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
