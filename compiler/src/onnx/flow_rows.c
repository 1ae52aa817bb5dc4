/* SPDX-License-Identifier: Apache-2.0
 *
 * Classic models (ai.onnx.ml) over an open number of rows, and RoiAlign over an open number of boxes: each of
 * these operators does every row by itself, so it is a Scan over rows, whose body has fixed sizes. How wide
 * the rows are follows from what is declared, and is carried along from one operator to the next.
 */
#include "flow_words.h"

#include <stdio.h>
#include <string.h>

const Onnx__TensorShapeProto *vtac_flow_declared(const vtac_flow_builder *b, const char *name)
{
    const Onnx__GraphProto *graph = b->im->model->graph;
    vtac_value_id number = 0;
    if (!vtac_scope_get(&b->declared, name, &number) || number == 0) {
        return NULL;
    }
    const Onnx__ValueInfoProto *info =
        number <= graph->n_input ? graph->input[number - 1] : graph->value_info[number - 1 - graph->n_input];
    const Onnx__TypeProto *type = info->type;
    return type != NULL && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? type->tensor_type->shape
                                                                                   : NULL;
}

static bool declared_row(const Onnx__TensorShapeProto *shape, vtac_type *out)
{
    if (shape == NULL || shape->n_dim < 1 || shape->n_dim > VTAC_MAX_RANK) {
        return false;
    }
    out->rank = (uint32_t)shape->n_dim - 1;
    bool fixed = true;
    for (uint32_t k = 0; k < out->rank; k++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[k + 1];
        out->dim[k] = dim->dim_value;
        fixed = fixed && dim->dim_value > 0 &&
                dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    }
    return fixed;
}

bool vtac_flow_row_type(const vtac_flow_builder *b, const vtac_flow_node *item, size_t i, vtac_type *out)
{
    const vtac_flow_value *v = vtac_flow_input(b, item, i);
    if (v == NULL || v->kind != VTA_FLOW_TENSOR) {
        return false;
    }
    if (v->known) {
        *out = v->type;
        out->rank = v->type.rank > 0 ? v->type.rank - 1 : 0;
        memmove(out->dim, out->dim + 1, out->rank * sizeof out->dim[0]);
        return v->type.rank > 0;
    }
    if (v->has_row) {
        *out = v->row;
        return true;
    }
    *out = (vtac_type){.dtype = v->dtype};
    return item->at.caller == NULL && declared_row(vtac_flow_declared(b, item->node->input[i]), out);
}

void vtac_flow_set_row(vtac_flow_builder *b, const vtac_flow_node *item, size_t output, const vtac_type *row)
{
    uint32_t number = 0;
    if (vtac_flow_find(&item->at, vtac_proto_text(item->node->output[output]), &number) && number != 0) {
        vtac_flow_value *v = vtac_flow_at(b, number);
        v->has_row = true;
        v->row = *row;
    }
}

/* The operator reads features whole, and for each row a box and the number of the box's picture. */
static bool is_of_boxes(const char *domain, const char *name)
{
    return domain[0] == '\0' && strcmp(name, "RoiAlign") == 0;
}

bool vtac_flow_is_by_rows(const char *domain, const char *name)
{
    static const char *const names[] = {
        "ArrayFeatureExtractor",
        "Binarizer",
        "CategoryMapper",
        "FeatureVectorizer",
        "Imputer",
        "LabelEncoder",
        "LinearClassifier",
        "LinearRegressor",
        "Normalizer",
        "OneHotEncoder",
        "SVMClassifier",
        "SVMRegressor",
        "Scaler",
        "TreeEnsemble",
        "TreeEnsembleClassifier",
        "TreeEnsembleRegressor",
    };
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        found = found || strcmp(name, names[i]) == 0;
    }
    return (found && strcmp(domain, "ai.onnx.ml") == 0) || is_of_boxes(domain, name);
}

enum { MAX_ROWS = 32 }; /* inputs and outputs of such an operator */
enum { BOX = 4 };       /* numbers of a box */

/* The row of input i under a name of the body, as a table of one row under the name that the operator reads.
 */
static vta_status add_row(vtac_words *w, size_t i, Onnx__NodeProto *op, char **in, vta_diag *diag)
{
    char word[32];
    char sizes[VTAC_MAX_RANK * 24] = "";
    vtac_type row;
    const Onnx__NodeProto *node = w->item->node;
    if (is_of_boxes(vtac_plain_domain(node->domain), vtac_proto_text(node->op_type))) {
        row = (vtac_type){.rank = i == 1, .dim = {BOX}};
    } else if (!vtac_flow_row_type(w->w->b, w->item, i, &row)) {
        return vta_fail(
            diag, VTA_UNSUPPORTED,
            "how wide the rows of its input %zu are is known only at run time; declare it, or give "
            "fixed sizes (--shape)",
            i);
    }
    for (uint32_t k = 0; k < row.rank; k++) {
        const size_t used = strlen(sizes);
        (void)snprintf(sizes + used, sizeof sizes - used, ",%lld", (long long)row.dim[k]);
    }
    (void)snprintf(word, sizeof word, "r%zu", i);
    *in = vtac_fm_name(&w->make, "row of", (int)(w->w->b->words++ & INT32_MAX));
    vtac_words_set(w, word, *in);
    vtac_say(w, "%s = Reshape %s [1%s]", word, word, sizes);
    op->input[i] = vtac_words_name(w, word);
    return VTA_OK;
}

/* The node with names of its own; it keeps opset and domain. */
static Onnx__NodeProto *copy_of(vtac_words *w, const Onnx__NodeProto *node)
{
    Onnx__NodeProto *op = vtac_fm_node(&w->make, node->op_type, node->n_input, node->n_output);
    if (op != NULL) {
        op->domain = node->domain;
        op->attribute = node->attribute;
        op->n_attribute = node->n_attribute;
        memcpy(op->input, node->input, node->n_input * sizeof *op->input);
    }
    return op;
}

static vta_status set_scan(vtac_words *w, Onnx__NodeProto *scan, Onnx__GraphProto *body, size_t rows,
                           vta_diag *diag)
{
    Onnx__AttributeProto **list = vtac_fm_room(&w->make, 2, sizeof *list);
    if (w->make.failed) {
        return vtac_flow_no_memory(diag);
    }
    list[0] = vtac_fm_attr(&w->make, scan, "body");
    list[1] = vtac_fm_attr(&w->make, scan, "num_scan_inputs");
    if (w->make.failed) {
        return vtac_flow_no_memory(diag);
    }
    list[0]->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
    list[0]->g = body;
    list[1]->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    list[1]->i = (int64_t)rows;
    scan->attribute = list;
    scan->n_attribute = 2;
    return VTA_OK;
}

/* A Scan whose body is the operator on one row. */
static vta_status scan_rows(vtac_words *w, vta_diag *diag)
{
    const Onnx__NodeProto *node = w->item->node;
    char *in[MAX_ROWS];
    char *from[MAX_ROWS];
    char *out[MAX_ROWS];
    char word[32];
    size_t rows = 0;
    const bool boxes = is_of_boxes(vtac_plain_domain(node->domain), vtac_proto_text(node->op_type));
    Onnx__NodeProto *op = copy_of(w, node);
    if (op == NULL || node->n_input > MAX_ROWS || node->n_output > 8 || node->n_output < 1) {
        return vta_fail(diag, VTA_UNSUPPORTED, "it has too many inputs or outputs");
    }
    for (size_t i = 0; i < node->n_input; i++) {
        const vtac_flow_value *v = vtac_flow_input(w->w->b, w->item, i);
        const bool is_whole = boxes ? i == 0 : v != NULL && v->known;
        if (boxes && i == 0 && v != NULL && !v->known) {
            return vta_fail(diag, VTA_UNSUPPORTED,
                            "the size of its features is known only at run time; give fixed sizes (--shape)");
        }
        if (v != NULL && !is_whole) {
            from[rows] = node->input[i];
            VTA_TRY(add_row(w, i, op, &in[rows], diag));
            rows++;
        }
    }
    if (w->make.failed || vta_vec_push(&w->nodes, &op) == NULL) {
        return vtac_flow_no_memory(diag);
    }
    for (size_t i = 0; i < node->n_output; i++) {
        (void)snprintf(word, sizeof word, "o%zu", i);
        op->output[i] = vtac_fm_name(&w->make, "row from", (int)(w->w->b->words++ & INT32_MAX));
        vtac_words_set(w, word, op->output[i]);
        vtac_say(w, "%s = Squeeze %s [0]", word, word);
        out[i] = vtac_words_name(w, word);
    }
    Onnx__GraphProto *body = vtac_fm_graph(&w->make, &w->nodes, in, rows, out, node->n_output);
    w->nodes.count = 0;
    Onnx__NodeProto *scan = vtac_fm_node(&w->make, "Scan", rows, node->n_output);
    if (w->make.failed || vta_vec_push(&w->nodes, &scan) == NULL) {
        return vtac_flow_no_memory(diag);
    }
    memcpy(scan->input, from, rows * sizeof *from);
    for (size_t i = 0; i < node->n_output; i++) {
        (void)snprintf(word, sizeof word, "o%zu", i);
        scan->output[i] = vtac_fm_name(&w->make, "rows", (int)(w->w->b->words++ & INT32_MAX));
        vtac_words_set(w, word, scan->output[i]);
    }
    return set_scan(w, scan, body, rows, diag);
}

/* True for an ArrayFeatureExtractor whose columns the run chooses, as neighbours are: no rows are known. */
static bool extracts_open(const vtac_words *w)
{
    const vtac_flow_value *columns = vtac_flow_input(w->w->b, w->item, 1);
    return strcmp(vtac_proto_text(w->item->node->op_type), "ArrayFeatureExtractor") == 0 && columns != NULL &&
           !columns->known;
}

static void extract_columns(vtac_words *w)
{
    vtac_words_input(w, "x", 0);
    vtac_words_input(w, "i", 1);
    vtac_say(w, "i = Reshape i [-1]; o0 = Gather x i axis=-1");
    if (vtac_words_rank(w, 0) == 1) {
        vtac_say(w, "o0 = Unsqueeze o0 [0]");
    }
}

vta_status vtac_fused_by_rows(vtac_words *w, vta_diag *diag)
{
    if (extracts_open(w)) {
        extract_columns(w);
        return VTA_OK;
    }
    return scan_rows(w, diag);
}
