/* SPDX-License-Identifier: Apache-2.0
 *
 * From opset 11 on. What was an attribute and became an input is a Constant in front of the node.
 */
#include "uplift.h"

#include <string.h>

#include "import.h"
#include "vta/vec.h"

enum { OLDEST = 11, MAX_DEPTH = 32 };

/* Attributes that became the second input with an opset. */
static const struct {
    const char *op, *attr;
    int64_t since;
} moved[] = {
    {"ReduceL1", "axes", 18},        {"ReduceL2", "axes", 18},   {"ReduceLogSum", "axes", 18},
    {"ReduceLogSumExp", "axes", 18}, {"ReduceMax", "axes", 18},  {"ReduceMean", "axes", 18},
    {"ReduceMin", "axes", 18},       {"ReduceProd", "axes", 18}, {"ReduceSum", "axes", 13},
    {"ReduceSumSquare", "axes", 18}, {"Split", "split", 13},     {"Squeeze", "axes", 13},
    {"Unsqueeze", "axes", 13},
};

typedef struct uplift {
    vtac_onnx_writer *writer;
    int64_t from, to;
    uint32_t depth;
} uplift;

static bool crosses(const uplift *u, int64_t opset)
{
    return u->from < opset && u->to >= opset;
}

/* True for a node whose meaning or form changed in another way. */
static bool is_changed(const uplift *u, const Onnx__NodeProto *node)
{
    const char *op = vtac_proto_text(node->op_type);
    const bool soft =
        strcmp(op, "Softmax") == 0 || strcmp(op, "LogSoftmax") == 0 || strcmp(op, "Hardmax") == 0;
    const bool split =
        strcmp(op, "Split") == 0 && vtac_proto_attr(node, "split") == NULL && node->n_input < 2;
    const bool drop = strcmp(op, "Dropout") == 0;
    return (soft && crosses(u, 13)) || (split && crosses(u, 18)) || (drop && crosses(u, 12));
}

static Onnx__NodeProto **uplift_list(uplift *u, Onnx__NodeProto *const *nodes, size_t count, size_t *made);

/* Bodies of If, Loop and Scan. */
static bool uplift_bodies(uplift *u, Onnx__NodeProto *node)
{
    Onnx__AttributeProto **list = vtac_writer_alloc(u->writer, node->n_attribute + 1, sizeof(void *));
    for (size_t i = 0; list != NULL && i < node->n_attribute; i++) {
        list[i] = node->attribute[i];
        if (list[i]->g == NULL) {
            continue;
        }
        Onnx__AttributeProto *attr = vtac_writer_alloc(u->writer, 1, sizeof *attr);
        Onnx__GraphProto *body = vtac_writer_alloc(u->writer, 1, sizeof *body);
        if (attr == NULL || body == NULL || u->depth >= MAX_DEPTH) {
            return false;
        }
        *attr = *list[i];
        *body = *attr->g;
        attr->g = body;
        u->depth++;
        body->node = uplift_list(u, attr->g->node, attr->g->n_node, &body->n_node);
        u->depth--;
        list[i] = attr;
        if (body->node == NULL) {
            return false;
        }
    }
    node->attribute = list;
    return list != NULL;
}

/* A Constant with the numbers of an attribute. */
static Onnx__NodeProto *make_constant(vtac_onnx_writer *w, const Onnx__AttributeProto *from,
                                      const char *beside)
{
    static const char end[] = "/axes";
    Onnx__NodeProto *node = vtac_writer_alloc(w, 1, sizeof *node);
    Onnx__AttributeProto *attr = vtac_writer_alloc(w, 1, sizeof *attr);
    Onnx__AttributeProto **attrs = vtac_writer_alloc(w, 1, sizeof(void *));
    char **outputs = vtac_writer_alloc(w, 1, sizeof *outputs);
    char *name = vtac_writer_alloc(w, strlen(beside) + sizeof end, 1);
    vtac_tensor numbers = {.type = {VTAC_I64, 1, {(int64_t)from->n_ints}},
                           .data = from->ints,
                           .bytes = from->n_ints * sizeof *from->ints};
    if (w->failed || node == NULL || attr == NULL) {
        return NULL;
    }
    memcpy(name, beside, strlen(beside));
    memcpy(name + strlen(beside), end, sizeof end);
    onnx__node_proto__init(node);
    onnx__attribute_proto__init(attr);
    attr->name = vtac_writer_text("value");
    attr->has_type = 1;
    attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
    attr->t = vtac_writer_tensor(w, &numbers, "");
    attrs[0] = attr;
    outputs[0] = name;
    node->op_type = vtac_writer_text("Constant");
    node->domain = vtac_writer_text("");
    node->name = name;
    node->n_output = 1;
    node->output = outputs;
    node->n_attribute = 1;
    node->attribute = attrs;
    return node;
}

/* Takes the attribute out and puts its Constant in as the second input. */
static void move_attribute(vtac_onnx_writer *w, Onnx__NodeProto *node, const char *name,
                           Onnx__NodeProto *constant)
{
    char **inputs = vtac_writer_alloc(w, 2, sizeof *inputs);
    Onnx__AttributeProto **left = vtac_writer_alloc(w, node->n_attribute + 1, sizeof(void *));
    size_t count = 0;
    if (inputs == NULL || left == NULL) {
        return;
    }
    inputs[0] = node->input[0];
    inputs[1] = constant->output[0];
    for (size_t i = 0; i < node->n_attribute; i++) {
        if (strcmp(vtac_proto_text(node->attribute[i]->name), name) != 0) {
            left[count++] = node->attribute[i];
        }
    }
    node->n_input = 2;
    node->input = inputs;
    node->n_attribute = count;
    node->attribute = left;
}

/* The attribute of a node that is an input for `to`, by its name in *name; NULL: none. */
static const Onnx__AttributeProto *moved_attribute(const uplift *u, const Onnx__NodeProto *node,
                                                   const char **name)
{
    const Onnx__AttributeProto *attr = NULL;
    for (size_t i = 0; attr == NULL && i < sizeof moved / sizeof moved[0]; i++) {
        if (strcmp(vtac_proto_text(node->op_type), moved[i].op) == 0 && crosses(u, moved[i].since)) {
            *name = moved[i].attr;
            attr = vtac_proto_attr(node, moved[i].attr);
        }
    }
    return node->n_input == 1 && node->n_output > 0 ? attr : NULL;
}

/* The node as `to` has it, behind a Constant where it needs one. */
static bool uplift_node(uplift *u, const Onnx__NodeProto *from, Onnx__NodeProto **list, size_t *count)
{
    Onnx__NodeProto *node = vtac_writer_alloc(u->writer, 1, sizeof *node);
    const bool own = vtac_plain_domain(from->domain)[0] == '\0';
    const char *name = NULL;
    if (node == NULL || (own && is_changed(u, from))) {
        return false;
    }
    *node = *from;
    node->name = vtac_writer_text(node->name);
    if (!uplift_bodies(u, node)) {
        return false;
    }
    const Onnx__AttributeProto *attr = own ? moved_attribute(u, node, &name) : NULL;
    if (attr != NULL) {
        list[*count] = make_constant(u->writer, attr, vtac_proto_text(node->output[0]));
        if (list[*count] == NULL) {
            return false;
        }
        move_attribute(u->writer, node, name, list[(*count)++]);
    }
    list[(*count)++] = node;
    return !u->writer->failed;
}

static Onnx__NodeProto **uplift_list(uplift *u, Onnx__NodeProto *const *nodes, size_t count, size_t *made)
{
    Onnx__NodeProto **list = vtac_writer_alloc(u->writer, 2 * count + 1, sizeof(void *));
    bool fits = list != NULL;
    *made = 0;
    for (size_t i = 0; fits && i < count; i++) {
        fits = uplift_node(u, nodes[i], list, made);
    }
    return fits ? list : NULL;
}

Onnx__NodeProto **vtac_uplift_nodes(vtac_onnx_writer *w, Onnx__NodeProto *const *nodes, size_t count,
                                    int64_t from, int64_t to, size_t *made)
{
    uplift u = {.writer = w, .from = from, .to = to};
    return from >= OLDEST || from >= to ? uplift_list(&u, nodes, count, made) : NULL;
}
