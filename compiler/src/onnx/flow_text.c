/* SPDX-License-Identifier: Apache-2.0
 *
 * Composed operators over open sizes: the nodes of their texts (../compose) in ONNX's words. Of a value that
 * a text makes, the type is known where the operator fixes it, and its axes where it is an input.
 */
#include <string.h>

#include "../compose/template.h"
#include "flow_words.h"
#include "vtac/codegen.h"

typedef struct text_value {
    char *name;
    vtac_dtype dtype; /* VTAC_NO_DTYPE: not known */
    int rank;         /* -1: not known */
    const vtac_type *type;
    vtac_value_id constant;
    const int64_t *ints; /* that it is, along one axis; NULL: not known */
    int length;          /* of its one axis; -1: not known */
} text_value;

typedef struct text_work {
    vtac_words *w;
    vta_vec values; /* of text_value, by handle; 0 is none */
} text_work;

static text_value *value_at(void *context, vtac_handle handle)
{
    return vta_vec_at(&((const text_work *)context)->values, (size_t)handle);
}

static vta_status add_value(text_work *t, const text_value *value, vtac_handle *out)
{
    *out = t->values.count;
    t->w->make.failed = t->w->make.failed || value->name == NULL || vta_vec_push(&t->values, value) == NULL;
    return t->w->make.failed ? VTA_NOMEM : VTA_OK;
}

static vtac_dtype dtype_of(void *context, vtac_handle handle)
{
    return value_at(context, handle)->dtype;
}

static int rank_of(void *context, vtac_handle handle)
{
    return value_at(context, handle)->rank;
}

static int64_t dim_of(void *context, vtac_handle handle, uint32_t axis)
{
    const text_value *v = value_at(context, handle);
    return v->type != NULL && axis < v->type->rank ? v->type->dim[axis] : -1;
}

static bool whole_of(void *context, vtac_handle handle, int64_t *out)
{
    const text_value *v = value_at(context, handle);
    const vtac_graph *graph = ((const text_work *)context)->w->w->b->im->graph;
    if (v->constant == 0 || vtac_type_elements(&graph->values[v->constant].type) != 1) {
        return false;
    }
    *out = vtac_tensor_int(graph->values[v->constant].constant, 0);
    return true;
}

static vta_status find_attribute(void *context, const char *name, vtac_attr *out, bool *found, vta_diag *diag)
{
    const vtac_words *w = ((const text_work *)context)->w;
    const Onnx__AttributeProto *attr = vtac_proto_attr(w->item->node, name);
    attr = attr != NULL ? vtac_resolve_attr(attr, w->item->at.caller) : NULL;
    *found = attr != NULL;
    return *found ? vtac_import_attr(w->w->b->im, attr, out, diag) : VTA_OK;
}

static vta_status make_number(void *context, vtac_dtype dtype, double value, vtac_handle *out)
{
    text_work *t = context;
    const text_value v = {
        .name = vtac_words_number(t->w, dtype, value), .dtype = dtype, .rank = 0, .length = -1};
    return add_value(t, &v, out);
}

static vta_status make_ints(void *context, const int64_t *values, uint32_t count, vtac_handle *out)
{
    text_work *t = context;
    int64_t *kept = vtac_fm_room(&t->w->make, count, sizeof *kept);
    const text_value v = {.name = vtac_words_ints(t->w, values, count),
                          .dtype = VTAC_I64,
                          .rank = 1,
                          .ints = kept,
                          .length = (int)count};
    if (kept != NULL) {
        memcpy(kept, values, count * sizeof *values);
    }
    return add_value(t, &v, out);
}

/* The type of an operator's results: that of an input, or a fixed one. */
static vtac_dtype type_of_result(text_work *t, const vtac_template_node *node, uint32_t output)
{
    static const struct {
        const char *name;
        vtac_dtype fixed[3];
        uint32_t like; /* from 1: the input whose type it has */
    } rows[] = {{"Shape", {VTAC_I64}, 0},
                {"Size", {VTAC_I64}, 0},
                {"ArgMax", {VTAC_I64}, 0},
                {"Less", {VTAC_BOOL}, 0},
                {"LessOrEqual", {VTAC_BOOL}, 0},
                {"Greater", {VTAC_BOOL}, 0},
                {"GreaterOrEqual", {VTAC_BOOL}, 0},
                {"Equal", {VTAC_BOOL}, 0},
                {"MatMulInteger", {VTAC_I32}, 0},
                {"DynamicQuantizeLinear", {VTAC_U8, VTAC_F32, VTAC_U8}, 0},
                {"DequantizeLinear", {VTAC_NO_DTYPE}, 2},
                {"QuantizeLinear", {VTAC_NO_DTYPE}, 3},
                {"Where", {VTAC_NO_DTYPE}, 2}};
    uint32_t like = 1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, node->name) == 0) {
            like = rows[i].like;
            if (like == 0) {
                return output < 3 ? rows[i].fixed[output] : VTAC_NO_DTYPE;
            }
        }
    }
    const vtac_handle input = like <= node->input_count ? node->inputs[like - 1] : 0;
    return input != 0 ? dtype_of(t, input) : VTAC_NO_DTYPE;
}

/* ---- how many axes the result of an operator has */

static int broadcast_rank(text_work *t, const vtac_template_node *node)
{
    int rank = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const int other = node->inputs[i] == 0 ? 0 : rank_of(t, node->inputs[i]);
        rank = other < 0 || rank < 0 ? -1 : other > rank ? other : rank;
    }
    return rank;
}

/* Places of one axis that Slice gives, of which the bounds are known. */
static int slice_length(text_work *t, const vtac_template_node *node)
{
    const text_value *from = node->input_count > 2 ? value_at(t, node->inputs[1]) : NULL;
    const text_value *to = from != NULL ? value_at(t, node->inputs[2]) : NULL;
    if (from == NULL || from->ints == NULL || to->ints == NULL || from->length != 1 || to->length != 1) {
        return -1;
    }
    return from->ints[0] == -1                                 ? 1
           : from->ints[0] >= 0 && to->ints[0] < VTAC_MAX_RANK ? (int)(to->ints[0] - from->ints[0])
                                                               : -1;
}

/* Integers of one axis, as shapes are made of: how many. */
static int length_of_result(text_work *t, const vtac_template_node *node)
{
    int sum = 0;
    if (strcmp(node->name, "Shape") == 0) {
        return rank_of(t, node->inputs[0]);
    }
    if (strcmp(node->name, "Slice") == 0) {
        return slice_length(t, node);
    }
    for (uint32_t i = 0; i < node->input_count && sum >= 0; i++) {
        const int length = node->inputs[i] == 0 ? -1 : value_at(t, node->inputs[i])->length;
        const bool joins = strcmp(node->name, "Concat") == 0;
        sum = length < 0 ? -1 : joins ? sum + length : length > sum ? length : sum;
    }
    return sum;
}

static int rank_of_result(text_work *t, const vtac_template_node *node)
{
    static const char *const same[] = {"Transpose", "Slice",    "Concat",        "Softmax",
                                       "Cast",      "Identity", "GatherElements"};
    const int first = node->input_count == 0 || node->inputs[0] == 0 ? -1 : rank_of(t, node->inputs[0]);
    const text_value *second =
        node->input_count > 1 && node->inputs[1] != 0 ? value_at(t, node->inputs[1]) : NULL;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        if (strcmp(node->name, same[i]) == 0) {
            return first;
        }
    }
    if (strcmp(node->name, "Shape") == 0 || strcmp(node->name, "Range") == 0) {
        return 1;
    }
    if (strcmp(node->name, "Gather") == 0) {
        return first < 0 || second == NULL || second->rank < 0 ? -1 : first + second->rank - 1;
    }
    if (strcmp(node->name, "Reshape") == 0 || strcmp(node->name, "Expand") == 0) {
        return second == NULL ? -1 : second->length;
    }
    if (strcmp(node->name, "Unsqueeze") == 0 || strcmp(node->name, "Squeeze") == 0) {
        const int more = second == NULL ? -1 : second->length;
        return first < 0 || more < 0 ? -1 : node->name[0] == 'U' ? first + more : first - more;
    }
    const vtac_op op = vtac_op_find(node->domain, node->name);
    const bool normalizes = strstr(node->name, "Normalization") != NULL;
    return normalizes                                                               ? first
           : op != VTAC_OP_COUNT && (vtac_is_pointwise(op) || op == VTAC_OP_MATMUL) ? broadcast_rank(t, node)
                                                                                    : -1;
}

static vta_status make_node(void *context, const vtac_template_node *node, vtac_handle *out)
{
    text_work *t = context;
    Onnx__NodeProto *made =
        vtac_words_node(t->w, node->domain, node->name, node->input_count, node->output_count);
    vtac_dtype cast = VTAC_NO_DTYPE;
    for (uint32_t i = 0; made != NULL && i < node->input_count; i++) {
        static char nothing[] = "";
        made->input[i] = node->inputs[i] == 0 ? nothing : value_at(t, node->inputs[i])->name;
    }
    for (uint32_t i = 0; i < node->attr_count; i++) {
        vtac_words_attribute(t->w, made, &node->attrs[i]);
        if (strcmp(node->attrs[i].name, "to") == 0 && node->attrs[i].kind == VTAC_ATTR_STRING) {
            cast = vtac_dtype_parse(node->attrs[i].s);
        }
    }
    for (uint32_t i = 0; made != NULL && i < node->output_count; i++) {
        text_value v = {.name = made->output[i], .rank = rank_of_result(t, node)};
        v.length = length_of_result(t, node);
        v.dtype = cast != VTAC_NO_DTYPE ? cast : type_of_result(t, node, i);
        VTA_TRY(add_value(t, &v, &out[i]));
    }
    return made != NULL ? VTA_OK : VTA_NOMEM;
}

/* The inputs of the operator as values. */
static vta_status add_inputs(text_work *t, vtac_handle *inputs)
{
    const Onnx__NodeProto *node = t->w->item->node;
    for (size_t i = 0; i < node->n_input; i++) {
        const vtac_flow_value *v = vtac_flow_input(t->w->w->b, t->w->item, i);
        if (!vtac_words_has(t->w, i)) {
            continue;
        }
        const text_value value = {.name = node->input[i],
                                  .dtype = v != NULL ? v->dtype : VTAC_NO_DTYPE,
                                  .rank = vtac_words_rank(t->w, i),
                                  .type = v != NULL && v->known ? &v->type : NULL,
                                  .constant = v != NULL ? v->constant : 0,
                                  .length = -1};
        VTA_TRY(add_value(t, &value, &inputs[i]));
    }
    return VTA_OK;
}

static vta_status write_text(text_work *t, const vtac_template_row *row, char **names, vta_diag *diag)
{
    static const text_value none;
    const Onnx__NodeProto *node = t->w->item->node;
    vtac_handle first;
    vtac_handle *inputs = vtac_fm_room(&t->w->make, node->n_input, sizeof *inputs);
    vtac_handle *out = vtac_fm_room(&t->w->make, node->n_output, sizeof *out);
    vtac_attr *attrs = vtac_fm_room(&t->w->make, node->n_attribute, sizeof *attrs);
    text_value absent = none;
    absent.name = node->op_type;
    if (t->w->make.failed) {
        return vtac_flow_no_memory(diag);
    }
    VTA_TRY(add_value(t, &absent, &first));
    VTA_TRY(add_inputs(t, inputs));
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *attr = vtac_resolve_attr(node->attribute[i], t->w->item->at.caller);
        attrs[i] = (vtac_attr){.name = ""};
        VTA_TRY(attr == NULL ? VTA_OK : vtac_import_attr(t->w->w->b->im, attr, &attrs[i], diag));
    }
    const vtac_template_target target = {.context = t,
                                         .diag = diag,
                                         .open = true,
                                         .inputs = inputs,
                                         .input_count = (uint32_t)node->n_input,
                                         .attr = find_attribute,
                                         .all_attrs = attrs,
                                         .all_attr_count = (uint32_t)node->n_attribute,
                                         .output_names = (const char *const *)node->output,
                                         .output_count = (uint32_t)node->n_output,
                                         .dtype = dtype_of,
                                         .rank = rank_of,
                                         .dim = dim_of,
                                         .whole = whole_of,
                                         .number = make_number,
                                         .ints = make_ints,
                                         .node = make_node};
    VTA_TRY(vtac_template_make(row, &target, out, (uint32_t)node->n_output));
    for (size_t i = 0; i < node->n_output; i++) {
        names[i] = out[i] == 0 ? node->output[i] : value_at(t, out[i])->name;
    }
    return VTA_OK;
}

vta_status vtac_words_text(vtac_words *w, const vtac_template_row *row, char **names, vta_diag *diag)
{
    text_work t = {.w = w, .values = {.item_size = sizeof(text_value)}};
    const vta_status status = write_text(&t, row, names, diag);
    vta_vec_free(&t.values);
    return status == VTA_NOMEM || w->make.failed ? vtac_flow_no_memory(diag) : status;
}
