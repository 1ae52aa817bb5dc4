/* SPDX-License-Identifier: Apache-2.0
 *
 * Scan as opset 8 had it: a batch stands in front of everything, and each of its rows may have a length of
 * its own. That is a Loop over the rows around today's Scan; where rows have lengths, what is scanned is cut
 * before, and what is gathered is filled up with zeros.
 */
#include <string.h>

#include "flow_make.h"

typedef struct batched {
    vtac_flow_maker make;
    const Onnx__NodeProto *node;
    const Onnx__GraphProto *body;
    size_t states, scanned, gathered;
    char *lengths; /* NULL: all rows are as long as what is scanned */
    vta_vec nodes; /* of Onnx__NodeProto * */
    int names;     /* made so far */
} batched;

static Onnx__NodeProto *add_node(batched *s, const char *type, size_t inputs, size_t outputs)
{
    Onnx__NodeProto *node = vtac_fm_node(&s->make, type, inputs, outputs);
    s->make.failed = s->make.failed || node == NULL || vta_vec_push(&s->nodes, &node) == NULL;
    for (size_t i = 0; i < outputs && !s->make.failed; i++) {
        node->output[i] = vtac_fm_name(&s->make, "scanned", s->names++);
    }
    return s->make.failed ? NULL : node;
}

static char *push_node(batched *s, const char *type, char *a, char *b)
{
    Onnx__NodeProto *node = add_node(s, type, a == NULL ? 0 : b == NULL ? 1 : 2, 1);
    if (node == NULL) {
        return NULL;
    }
    if (a != NULL) {
        node->input[0] = a;
    }
    if (b != NULL) {
        node->input[1] = b;
    }
    return node->output[0];
}

static Onnx__NodeProto *last_node(const batched *s)
{
    return s->make.failed ? NULL : *(Onnx__NodeProto **)vta_vec_at(&s->nodes, s->nodes.count - 1);
}

static void set_int(batched *s, const char *name, int64_t value)
{
    vtac_fm_set_int(&s->make, last_node(s), name, value);
}

/* An integer: one of one axis, or without axes. */
static char *push_int(batched *s, int64_t value, bool axis)
{
    char *out = push_node(s, "Constant", NULL, NULL);
    Onnx__TensorProto *t = vtac_fm_tensor(&s->make, last_node(s), ONNX__TENSOR_PROTO__DATA_TYPE__INT64);
    int64_t *kept = vtac_fm_room(&s->make, 2, sizeof *kept);
    if (s->make.failed) {
        return NULL;
    }
    kept[0] = value;
    kept[1] = 1;
    t->int64_data = kept;
    t->n_int64_data = 1;
    t->dims = kept + 1;
    t->n_dims = axis ? 1 : 0;
    return out;
}

/* Slice of the first axis from `start` to `end` (NULL: the end). */
static char *push_slice(batched *s, char *x, int64_t start, char *end)
{
    char *from = push_int(s, start, true);
    char *to = end != NULL ? end : push_int(s, INT64_MAX, true);
    char *axis = push_int(s, 0, true);
    Onnx__NodeProto *node = add_node(s, "Slice", 4, 1);
    if (node == NULL) {
        return NULL;
    }
    node->input[0] = x;
    node->input[1] = from;
    node->input[2] = to;
    node->input[3] = axis;
    return node->output[0];
}

static char *push_concat(batched *s, char *a, char *b)
{
    char *out = push_node(s, "Concat", a, b);
    set_int(s, "axis", 0);
    return out;
}

/* Pads the gathered elements of a row with zeros to the length of `whole`. */
static char *push_filled(batched *s, char *y, char *whole, char *length, int64_t type)
{
    char *shape = push_node(s, "Shape", y, NULL);
    char *zero = push_node(s, "Cast", push_int(s, 0, false), NULL);
    set_int(s, "to", type);
    char *missing = push_concat(s, push_node(s, "Sub", whole, length), push_slice(s, shape, 1, NULL));
    return push_concat(s, y, push_node(s, "Expand", zero, missing));
}

/* Row `row` of every input through the Scan of today. */
static vta_status scan_row(batched *s, char *row, char **out, vta_diag *diag)
{
    const Onnx__AttributeProto *given = vtac_proto_attr(s->node, "directions");
    const size_t count = s->states + s->scanned;
    char **rows = vtac_fm_room(&s->make, count, sizeof *rows);
    char *length = s->lengths != NULL ? push_node(s, "Reshape", push_node(s, "Gather", s->lengths, row),
                                                  push_int(s, 1, true))
                                      : NULL;
    char *whole = NULL;
    for (size_t i = 0; i < count && !s->make.failed; i++) {
        rows[i] = push_node(s, "Gather", s->node->input[1 + i], row);
        if (i >= s->states && length != NULL) {
            whole = whole != NULL
                        ? whole
                        : push_slice(s, push_node(s, "Shape", rows[i], NULL), 0, push_int(s, 1, true));
            rows[i] = push_slice(s, rows[i], 0, length);
        }
    }
    Onnx__NodeProto *scan = add_node(s, "Scan", count, s->states + s->gathered);
    Onnx__AttributeProto **list = vtac_fm_room(&s->make, 3, sizeof *list);
    static const char *const names[] = {"body", "num_scan_inputs", "scan_input_directions"};
    for (int i = 0; i < 3 && !s->make.failed; i++) {
        list[i] = vtac_fm_attr(&s->make, scan, names[i]);
    }
    if (s->make.failed) {
        return vtac_flow_no_memory(diag);
    }
    memcpy(scan->input, rows, count * sizeof *rows);
    list[0]->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
    list[0]->g = vtac_proto_attr(s->node, "body")->g;
    list[1]->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    list[1]->i = (int64_t)s->scanned;
    list[2]->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    list[2]->ints = given != NULL ? given->ints : NULL;
    list[2]->n_ints = given != NULL ? given->n_ints : 0;
    scan->attribute = list;
    scan->n_attribute = 3;
    for (size_t i = 0; i < s->states + s->gathered; i++) {
        const Onnx__TypeProto *type = s->body->output[i]->type;
        out[i] = scan->output[i];
        if (i < s->states || length == NULL) {
            continue;
        }
        if (type == NULL || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
            return vta_fail(diag, VTA_INVALID, "its body does not say the type of output %zu", i);
        }
        out[i] = push_filled(s, out[i], whole, length, type->tensor_type->elem_type);
    }
    return s->make.failed ? vtac_flow_no_memory(diag) : VTA_OK;
}

static vta_status loop_over_rows(batched *s, vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag)
{
    const size_t outputs = s->states + s->gathered;
    char *in[] = {vtac_fm_name(&s->make, "row", -1), vtac_fm_name(&s->make, "condition", -1)};
    char **out = vtac_fm_room(&s->make, outputs + 1, sizeof *out);
    static char nothing[] = "";
    if (s->make.failed) {
        return vtac_flow_no_memory(diag);
    }
    VTA_TRY(scan_row(s, in[0], out + 1, diag));
    for (size_t i = 0; i < outputs; i++) {
        out[1 + i] = push_node(s, "Identity", out[1 + i], NULL);
    }
    out[0] = push_node(s, "Identity", in[1], NULL);
    Onnx__GraphProto *graph = vtac_fm_graph(&s->make, &s->nodes, in, 2, out, outputs + 1);
    s->nodes.count = 0;
    char *rows = push_node(s, "Gather", push_node(s, "Shape", s->node->input[1 + s->states], NULL),
                           push_int(s, 0, false));
    Onnx__NodeProto *loop = add_node(s, "Loop", 2, outputs);
    Onnx__AttributeProto *body = vtac_fm_attr(&s->make, loop, "body");
    if (s->make.failed || body == NULL) {
        return vtac_flow_no_memory(diag);
    }
    body->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
    body->g = graph;
    loop->input[0] = rows;
    loop->input[1] = nothing;
    return vtac_flow_replace(w, item, s->nodes.items, s->nodes.count, loop->output, diag);
}

vta_status vtac_flow_inline_scan(vtac_flow_work *w, const vtac_flow_node *given, vta_diag *diag)
{
    const vtac_flow_node item = *given; /* the list may move */
    const Onnx__NodeProto *node = item.node;
    const Onnx__AttributeProto *body = vtac_proto_attr(node, "body");
    const Onnx__AttributeProto *count = vtac_proto_attr(node, "num_scan_inputs");
    if (body == NULL || body->g == NULL || count == NULL || count->i < 1 || node->n_input < 2 ||
        node->n_input > VTAC_FLOW_ENDS || count->i > (int64_t)node->n_input - 1 ||
        body->g->n_input != node->n_input - 1 || body->g->n_output != node->n_output ||
        node->n_output > VTAC_FLOW_ENDS || node->n_output < node->n_input - 1 - (size_t)count->i) {
        return vta_fail(diag, VTA_INVALID, "its body is missing or does not fit its inputs and outputs");
    }
    const size_t states = node->n_input - 1 - (size_t)count->i;
    batched s = {.make = {.b = w->b},
                 .node = node,
                 .body = body->g,
                 .states = states,
                 .scanned = (size_t)count->i,
                 .gathered = node->n_output - states,
                 .lengths = vtac_proto_text(node->input[0])[0] != '\0' ? node->input[0] : NULL,
                 .nodes = {.item_size = sizeof(Onnx__NodeProto *)}};
    const vta_status status = loop_over_rows(&s, w, &item, diag);
    vta_vec_free(&s.nodes);
    return status;
}
