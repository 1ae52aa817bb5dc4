/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that the importer composes of others, where a size is open: one row each, and what they are in
 * ONNX's words.
 */
#include "flow_words.h"

#include <string.h>

static vta_status write_scores(vtac_words *w, vta_diag *diag)
{
    (void)diag;
    vtac_words_input(w, "y", 0);
    vtac_say(w, "y = Identity y");
    return VTA_OK;
}

static const struct {
    const char *domain, *name, *outputs; /* words of the outputs */
    vtac_fused_fn *make;
} rows[] = {
    {"", "MaxPool", "y i", vtac_fused_max_places},
    {"ai.onnx.ml", "ZipMap", "y", write_scores},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static size_t row_of(const Onnx__NodeProto *node)
{
    size_t i = 0;
    while (i < ROWS && (strcmp(vtac_plain_domain(node->domain), rows[i].domain) != 0 ||
                        strcmp(vtac_proto_text(node->op_type), rows[i].name) != 0)) {
        i++;
    }
    return i;
}

/* A pool alone has an instruction of its own. */
static bool is_pool_alone(const Onnx__NodeProto *node)
{
    return vtac_flow_is(node, "MaxPool") &&
           (node->n_output < 2 || vtac_proto_text(node->output[1])[0] == '\0');
}

static bool by_rows(const Onnx__NodeProto *node)
{
    return vtac_flow_is_by_rows(vtac_plain_domain(node->domain), vtac_proto_text(node->op_type));
}

/* The text of an operator that is not one of elements and not the runtime's own; NULL: none. */
static const vtac_template_row *text_of(const char *domain, const char *name, int64_t opset)
{
    char own[64];
    const vtac_template_row *text = vtac_template_find(domain, name, domain[0] == '\0' ? opset : 0, true);
    if (text == NULL || strlen(name) >= sizeof own || vtac_template_is_pointwise(text)) {
        return NULL;
    }
    memcpy(own, name, strlen(name) + 1);
    const Onnx__NodeProto node = {.op_type = own};
    return domain[0] == '\0' && vtac_flow_row_of(&node) != NULL ? NULL : text;
}

static const vtac_template_row *text_of_node(const vtac_flow_node *item)
{
    return text_of(vtac_plain_domain(item->node->domain), vtac_proto_text(item->node->op_type),
                   vtac_flow_opset(item));
}

/* One scale for all elements: the operator is one of elements. */
static bool has_one_scale(const vtac_flow_builder *b, const vtac_flow_node *item)
{
    const vtac_flow_value *scale =
        vtac_flow_is(item->node, "QuantizeLinear") || vtac_flow_is(item->node, "DequantizeLinear")
            ? vtac_flow_input(b, item, 1)
            : NULL;
    return scale != NULL && (!scale->known || vtac_type_elements(&scale->type) == 1);
}

bool vtac_flow_is_fused(const vtac_flow_builder *b, const vtac_flow_node *item)
{
    bool open = false;
    for (size_t i = 0; i < item->node->n_input; i++) {
        const vtac_flow_value *v = vtac_flow_input(b, item, i);
        open = open || (v != NULL && !v->known);
    }
    return open && !has_one_scale(b, item) && !is_pool_alone(item->node) &&
           (row_of(item->node) < ROWS || by_rows(item->node) || text_of_node(item) != NULL);
}

static bool is_taken(const char *domain, const char *name)
{
    return strcmp(domain, "function") == 0 || vtac_flow_takes(domain, name);
}

bool vtac_flow_takes_fused(const char *domain, const char *name)
{
    const vtac_template_row *text =
        vtac_template_find(domain, name, domain[0] == '\0' ? VTAC_NEWEST_OPSET : 0, true);
    size_t i = 0;
    while (i < ROWS && (strcmp(domain, rows[i].domain) != 0 || strcmp(name, rows[i].name) != 0)) {
        i++;
    }
    return i < ROWS || vtac_flow_is_by_rows(domain, name) ||
           (text != NULL && vtac_template_calls_only(text, is_taken));
}

/* The names of what was made, by the words of the row. */
static vta_status outputs_of(vtac_words *w, const char *words, char **names, vta_diag *diag)
{
    const Onnx__NodeProto *node = w->item->node;
    for (size_t i = 0; names != NULL && i < node->n_output; i++) {
        char word[16];
        const size_t size = strcspn(words, " ");
        memcpy(word, words, size);
        word[size] = '\0';
        words += size + (words[size] == ' ');
        names[i] = vtac_words_name(w, word);
        if (names[i] == NULL && vtac_proto_text(node->output[i])[0] != '\0') {
            return vta_fail(diag, VTA_UNSUPPORTED, "over open sizes it does not give output %zu", i);
        }
        names[i] = names[i] != NULL ? names[i] : node->output[i];
    }
    return VTA_OK;
}

vta_status vtac_flow_inline_fused(vtac_flow_work *work, const vtac_flow_node *given, vta_diag *diag)
{
    const vtac_flow_node item = *given; /* the list may move */
    const size_t row = row_of(item.node);
    const vtac_template_row *text = text_of_node(&item);
    vtac_words w = {
        .make = {.b = work->b}, .w = work, .item = &item, .nodes = {.item_size = sizeof(Onnx__NodeProto *)}};
    w.dtype = vtac_words_dtype(&w, 0);
    char **names = vtac_fm_room(&w.make, item.node->n_output, sizeof *names);
    vta_status status = names == NULL  ? vtac_flow_no_memory(diag)
                        : row < ROWS   ? rows[row].make(&w, diag)
                        : text != NULL ? vtac_words_text(&w, text, names, diag)
                                       : vtac_fused_by_rows(&w, diag);
    if (status == VTA_OK && (row < ROWS || text == NULL)) {
        status = w.missing > 0   ? vta_fail(diag, VTA_INVALID, "its input %zu is missing", w.missing - 1)
                 : w.make.failed ? vtac_flow_no_memory(diag)
                                 : outputs_of(&w, row < ROWS ? rows[row].outputs : "o0 o1 o2 o3 o4 o5 o6 o7",
                                              names, diag);
    }
    if (status == VTA_OK) {
        status = vtac_flow_replace(work, &item, w.nodes.items, w.nodes.count, names, diag);
    }
    vta_vec_free(&w.nodes);
    return status;
}
