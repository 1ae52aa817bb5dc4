/* SPDX-License-Identifier: Apache-2.0
 *
 * From a graph to an ONNX file, in the oldest opset from 13 on that has the form of all its operators.
 */
#include <limits.h>
#include <string.h>

#include "import.h"
#include "save.h"
#include "vta/fail.h"
#include "writer.h"

/* Opsets after 13 that gave an operator its present form, or brought it. All others have had it since 13. */
static const struct {
    vtac_op op;
    int opset;
} forms[] = {
    {VTAC_OP_BITWISE_AND, 18},
    {VTAC_OP_BITWISE_NOT, 18},
    {VTAC_OP_BITWISE_OR, 18},
    {VTAC_OP_BITWISE_XOR, 18},
    {VTAC_OP_CAST_LIKE, 15},
    {VTAC_OP_DEQUANTIZE_LINEAR, 21},
    {VTAC_OP_GELU, 20},
    {VTAC_OP_GRU, 14},
    {VTAC_OP_GROUP_NORMALIZATION, 21},
    {VTAC_OP_HARD_SWISH, 14},
    {VTAC_OP_LAYER_NORMALIZATION, 17},
    {VTAC_OP_LP_POOL, 18},
    {VTAC_OP_LSTM, 14},
    {VTAC_OP_MISH, 18},
    {VTAC_OP_PAD, 18},
    {VTAC_OP_REDUCE_L1, 18},
    {VTAC_OP_REDUCE_L2, 18},
    {VTAC_OP_REDUCE_LOG_SUM, 18},
    {VTAC_OP_REDUCE_LOG_SUM_EXP, 18},
    {VTAC_OP_REDUCE_MAX, 18},
    {VTAC_OP_REDUCE_MEAN, 18},
    {VTAC_OP_REDUCE_MIN, 18},
    {VTAC_OP_REDUCE_PROD, 18},
    {VTAC_OP_REDUCE_SUM_SQUARE, 18},
    {VTAC_OP_RESHAPE, 14},
    {VTAC_OP_RESIZE, 18},
    {VTAC_OP_RMS_NORMALIZATION, 23},
    {VTAC_OP_RNN, 14},
    {VTAC_OP_SCATTER_ELEMENTS, 16},
    {VTAC_OP_SCATTER_ND, 16},
    {VTAC_OP_SHAPE, 15},
    {VTAC_OP_SPLIT, 18},
    {VTAC_OP_TENSOR_SCATTER, 24},
    {VTAC_OP_TRILU, 14},
};

void *vtac_writer_alloc(vtac_onnx_writer *w, size_t count, size_t size)
{
    void *memory = w->failed ? NULL : vta_arena_array(&w->arena, count, size);
    w->failed = memory == NULL;
    return memory;
}

/* protobuf-c's structures have no const: what it only reads is passed so. */
char *vtac_writer_text(const char *text)
{
    union {
        const char *in;
        char *out;
    } both = {.in = text == NULL ? "" : text};
    return both.out;
}

/* Elements of less than eight bits, which have a byte each here, side by side, the first lowest. */
static void pack_bits(vtac_onnx_writer *w, const vtac_tensor *from, ProtobufCBinaryData *to)
{
    const size_t bits = vtac_dtype_bits(from->type.dtype), count = from->bytes, in_byte = 8 / bits;
    const uint8_t *bytes = from->data;
    to->len = (count + in_byte - 1) / in_byte;
    to->data = vtac_writer_alloc(w, to->len + 1, 1);
    for (size_t i = 0; to->data != NULL && i < to->len; i++) {
        unsigned byte = 0;
        for (size_t k = 0; k < in_byte && i * in_byte + k < count; k++) {
            byte |= (bytes[i * in_byte + k] & ((1U << bits) - 1)) << (k * bits);
        }
        to->data[i] = (uint8_t)byte;
    }
}

Onnx__TensorProto *vtac_writer_tensor(vtac_onnx_writer *w, const vtac_tensor *from, const char *name)
{
    Onnx__TensorProto *to = vtac_writer_alloc(w, 1, sizeof *to);
    int64_t *dims = vtac_writer_alloc(w, from->type.rank + 1, sizeof *dims);
    if (to == NULL || dims == NULL) {
        return NULL;
    }
    onnx__tensor_proto__init(to);
    memcpy(dims, from->type.dim, from->type.rank * sizeof *dims);
    union {
        const void *in;
        uint8_t *out;
    } data = {.in = from->data};
    to->name = vtac_writer_text(name);
    to->n_dims = from->type.rank;
    to->dims = dims;
    to->has_data_type = 1;
    to->data_type = vtac_export_dtype(from->type.dtype);
    to->has_raw_data = 1;
    to->raw_data = (ProtobufCBinaryData){.len = from->bytes, .data = data.out};
    if (vtac_dtype_bits(from->type.dtype) < 8) {
        pack_bits(w, from, &to->raw_data);
    }
    return to;
}

/* Declaration of a graph input or output. */
static Onnx__ValueInfoProto *declare_value(vtac_onnx_writer *w, const vtac_value *value)
{
    Onnx__ValueInfoProto *info = vtac_writer_alloc(w, 1, sizeof *info);
    Onnx__TypeProto *type = vtac_writer_alloc(w, 1, sizeof *type);
    Onnx__TypeProto__Tensor *tensor = vtac_writer_alloc(w, 1, sizeof *tensor);
    Onnx__TensorShapeProto *shape = vtac_writer_alloc(w, 1, sizeof *shape);
    Onnx__TensorShapeProto__Dimension *dims = vtac_writer_alloc(w, value->type.rank + 1, sizeof *dims);
    Onnx__TensorShapeProto__Dimension **list =
        vtac_writer_alloc(w, value->type.rank + 1, sizeof(Onnx__TensorShapeProto__Dimension *));
    if (w->failed) {
        return NULL;
    }
    onnx__value_info_proto__init(info);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(tensor);
    onnx__tensor_shape_proto__init(shape);
    for (uint32_t i = 0; i < value->type.rank; i++) {
        onnx__tensor_shape_proto__dimension__init(&dims[i]);
        dims[i].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        dims[i].dim_value = value->type.dim[i];
        list[i] = &dims[i];
    }
    shape->n_dim = value->type.rank;
    shape->dim = list;
    tensor->has_elem_type = 1;
    tensor->elem_type = vtac_export_dtype(value->type.dtype);
    tensor->shape = shape;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    info->name = vtac_writer_text(value->name);
    info->type = type;
    return info;
}

static void put_floats(vtac_onnx_writer *w, const vtac_attr *from, Onnx__AttributeProto *to)
{
    float *floats = vtac_writer_alloc(w, from->count + 1, sizeof *floats);
    for (size_t i = 0; floats != NULL && i < from->count; i++) {
        floats[i] = (float)from->floats[i];
    }
    to->n_floats = from->count;
    to->floats = floats;
}

static void put_ints(vtac_onnx_writer *w, const vtac_attr *from, Onnx__AttributeProto *to)
{
    int64_t *ints = vtac_writer_alloc(w, from->count + 1, sizeof *ints);
    if (ints != NULL && from->count > 0) {
        memcpy(ints, from->ints, from->count * sizeof *ints);
    }
    to->n_ints = from->count;
    to->ints = ints;
}

static ProtobufCBinaryData text_bytes(const char *text)
{
    union {
        char *in;
        uint8_t *out;
    } both = {.in = vtac_writer_text(text)};
    return (ProtobufCBinaryData){.len = strlen(both.in), .data = both.out};
}

static void put_strings(vtac_onnx_writer *w, const vtac_attr *from, Onnx__AttributeProto *to)
{
    ProtobufCBinaryData *strings = vtac_writer_alloc(w, from->count + 1, sizeof *strings);
    for (size_t i = 0; strings != NULL && i < from->count; i++) {
        strings[i] = text_bytes(from->strings[i]);
    }
    to->n_strings = from->count;
    to->strings = strings;
}

static void put_attr(vtac_onnx_writer *w, const vtac_attr *from, Onnx__AttributeProto *to)
{
    static const Onnx__AttributeProto__AttributeType types[] = {
        [VTAC_ATTR_INT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT,
        [VTAC_ATTR_FLOAT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT,
        [VTAC_ATTR_STRING] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING,
        [VTAC_ATTR_INTS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS,
        [VTAC_ATTR_FLOATS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS,
        [VTAC_ATTR_STRINGS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS,
        [VTAC_ATTR_TENSOR] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR,
    };
    const vtac_dtype named = from->kind == VTAC_ATTR_STRING && vtac_names_a_type(from->name)
                                 ? vtac_dtype_parse(from->s)
                                 : VTAC_NO_DTYPE;
    onnx__attribute_proto__init(to);
    to->name = vtac_writer_text(from->name);
    to->has_type = 1;
    if (named != VTAC_NO_DTYPE) {
        to->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        to->has_i = 1;
        to->i = vtac_export_dtype(named);
        return;
    }
    to->type = types[from->kind];
    switch (from->kind) {
    case VTAC_ATTR_INT:
        to->has_i = 1;
        to->i = from->i;
        break;
    case VTAC_ATTR_FLOAT:
        to->has_f = 1;
        to->f = (float)from->f;
        break;
    case VTAC_ATTR_STRING:
        to->has_s = 1;
        to->s = text_bytes(from->s);
        break;
    case VTAC_ATTR_INTS: put_ints(w, from, to); break;
    case VTAC_ATTR_FLOATS: put_floats(w, from, to); break;
    case VTAC_ATTR_STRINGS: put_strings(w, from, to); break;
    case VTAC_ATTR_TENSOR: to->t = vtac_writer_tensor(w, &from->tensor, ""); break;
    }
}

/* Names of values; an absent one is empty, and at the end it is left out. */
static char **names_of(vtac_onnx_writer *w, const vtac_value_id *values, uint32_t count, size_t *used)
{
    char **names = vtac_writer_alloc(w, count + 1, sizeof *names);
    *used = 0;
    for (uint32_t i = 0; names != NULL && i < count; i++) {
        names[i] = vtac_writer_text(values[i] == 0 ? "" : w->graph->values[values[i]].name);
        *used = values[i] == 0 ? *used : i + 1;
    }
    return names;
}

/* The opset since which most reductions have their axes as an input. */
enum { MOVED_AXES = 18 };

/* Reductions whose axes became an input with opset 18; an attribute before. */
static bool has_moved_axes(vtac_op op)
{
    return op == VTAC_OP_REDUCE_L1 || op == VTAC_OP_REDUCE_L2 || op == VTAC_OP_REDUCE_LOG_SUM ||
           op == VTAC_OP_REDUCE_LOG_SUM_EXP || op == VTAC_OP_REDUCE_MAX || op == VTAC_OP_REDUCE_MEAN ||
           op == VTAC_OP_REDUCE_MIN || op == VTAC_OP_REDUCE_PROD || op == VTAC_OP_REDUCE_SUM_SQUARE;
}

/* An attribute of what is an input since MOVED_AXES. */
static void put_axes(vtac_onnx_writer *w, const vtac_tensor *axes, Onnx__AttributeProto *to)
{
    const size_t count = (size_t)vtac_type_elements(&axes->type);
    int64_t *ints = vtac_writer_alloc(w, count + 1, sizeof *ints);
    for (size_t i = 0; ints != NULL && i < count; i++) {
        ints[i] = vtac_tensor_int(axes, (int64_t)i);
    }
    onnx__attribute_proto__init(to);
    to->name = vtac_writer_text("axes");
    to->has_type = 1;
    to->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    to->n_ints = count;
    to->ints = ints;
}

static Onnx__NodeProto *node_of(vtac_onnx_writer *w, const vtac_node *from)
{
    const vtac_op_info *info = vtac_op_get(from->op);
    Onnx__NodeProto *to = vtac_writer_alloc(w, 1, sizeof *to);
    Onnx__AttributeProto *attrs = vtac_writer_alloc(w, from->attr_count + 1, sizeof *attrs);
    Onnx__AttributeProto **list = vtac_writer_alloc(w, from->attr_count + 1, sizeof(Onnx__AttributeProto *));
    if (w->failed) {
        return NULL;
    }
    onnx__node_proto__init(to);
    to->op_type = vtac_writer_text(info->name);
    to->domain = vtac_writer_text(vtac_plain_domain(info->domain));
    to->name = vtac_writer_text(from->name);
    to->input = names_of(w, from->inputs, from->input_count, &to->n_input);
    to->output = names_of(w, from->outputs, from->output_count, &to->n_output);
    for (uint32_t i = 0; i < from->attr_count; i++) {
        put_attr(w, &from->attrs[i], &attrs[i]);
        list[i] = &attrs[i];
    }
    to->n_attribute = from->attr_count;
    to->attribute = list;
    if (w->opset < MOVED_AXES && has_moved_axes(from->op) &&
        vtac_in_type(w->graph, from, VTAC_REDUCE_AXES) != NULL) {
        to->n_input = 1;
        put_axes(w, vtac_in_constant(w->graph, from, VTAC_REDUCE_AXES), &attrs[from->attr_count]);
        list[to->n_attribute++] = &attrs[from->attr_count];
    }
    return to;
}

static bool is_taken(const Onnx__GraphProto *graph, const Onnx__NodeProto *but, const char *name)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        if (graph->node[i] != but && strcmp(graph->node[i]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* ONNX Runtime refuses two nodes of one name: all but the last take that of their result, and what keeps them
 * apart from the others. */
void vtac_writer_name_apart(vtac_onnx_writer *w, Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_node && !w->failed; i++) {
        Onnx__NodeProto *node = graph->node[i];
        if (node->name[0] != '\0' && is_taken(graph, node, node->name) && node->n_output > 0) {
            node->name = node->output[0];
        }
        while (node->name[0] != '\0' && is_taken(graph, node, node->name) && !w->failed) {
            const size_t size = strlen(node->name);
            char *longer = vtac_writer_alloc(w, size + 2, 1);
            if (longer != NULL) {
                memcpy(longer, node->name, size);
                longer[size] = '_';
                node->name = longer;
            }
        }
    }
}

void vtac_writer_graph(vtac_onnx_writer *w, Onnx__GraphProto *to)
{
    const vtac_graph *g = w->graph;
    onnx__graph_proto__init(to);
    to->name = vtac_writer_text(g->name == NULL || g->name[0] == '\0' ? "graph" : g->name);
    to->node = vtac_writer_alloc(w, g->order_count + 1, sizeof(void *));
    to->initializer = vtac_writer_alloc(w, g->value_count + 1, sizeof(void *));
    to->input = vtac_writer_alloc(w, g->input_count + 1, sizeof(void *));
    to->output = vtac_writer_alloc(w, g->output_count + 1, sizeof(void *));
    if (w->failed) {
        return;
    }
    for (uint32_t i = 0; i < g->order_count; i++) {
        Onnx__NodeProto *node = node_of(w, &g->nodes[g->order[i]]);
        if (node == NULL) {
            return;
        }
        to->node[to->n_node++] = node;
    }
    vtac_writer_name_apart(w, to);
    for (uint32_t v = 1; v <= g->value_count; v++) {
        const vtac_value *value = &g->values[v];
        if (!value->dead && value->node == 0 && value->constant != NULL) {
            to->initializer[to->n_initializer++] = vtac_writer_tensor(w, value->constant, value->name);
        }
    }
    for (uint32_t i = 0; i < g->input_count; i++) {
        to->input[to->n_input++] = declare_value(w, &g->values[g->inputs[i]]);
    }
    for (uint32_t i = 0; i < g->output_count; i++) {
        to->output[to->n_output++] = declare_value(w, &g->values[g->outputs[i]]);
    }
}

/* True if a node has something that only the newer form of its operator has. */
static bool uses_new_form(const vtac_graph *g, const vtac_node *node)
{
    const char *reduction = vtac_attr_string(node, "reduction", "none");
    const bool has_axes = vtac_in_type(g, node, VTAC_REDUCE_AXES) != NULL;
    if (has_moved_axes(node->op)) {
        return vtac_attr_int(node, "noop_with_empty_axes", 0) != 0 ||
               (has_axes && vtac_in_constant(g, node, VTAC_REDUCE_AXES) == NULL);
    }
    if (node->op == VTAC_OP_DEQUANTIZE_LINEAR) {
        return vtac_dtype_bits(vtac_in_type(g, node, VTAC_QDQ_X)->dtype) < 8 ||
               vtac_attr_int(node, "block_size", 0) != 0;
    }
    if (node->op == VTAC_OP_RESHAPE) {
        return vtac_attr_int(node, "allowzero", 0) != 0;
    }
    if (node->op == VTAC_OP_PAD) {
        return node->input_count > 3 || strcmp(vtac_attr_string(node, "mode", "constant"), "wrap") == 0;
    }
    if (node->op == VTAC_OP_SPLIT) {
        return !has_axes;
    }
    if (node->op == VTAC_OP_SCATTER_ELEMENTS || node->op == VTAC_OP_SCATTER_ND) {
        return strcmp(reduction, "none") != 0;
    }
    return true;
}

/* The opset for ONNX's operators; *microsoft tells whether there are others. */
vta_status vtac_writer_opset(const vtac_graph *g, int64_t *opset, bool *microsoft, vta_diag *diag)
{
    *opset = 13;
    *microsoft = false;
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        if (vtac_op_is_internal(node->op)) {
            return vta_fail(diag, VTA_INVALID,
                            "node '%s' is an operator of the compiler: no ONNX model has it", node->name);
        }
        for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++) {
            const bool newer = forms[k].op == node->op && forms[k].opset > *opset;
            *opset = newer && uses_new_form(g, node) ? forms[k].opset : *opset;
        }
        *microsoft = *microsoft || vtac_plain_domain(vtac_op_get(node->op)->domain)[0] != '\0';
    }
    return VTA_OK;
}

/* IR version that goes with an opset. */
int64_t vtac_writer_ir_version(int64_t opset)
{
    return opset >= 23 ? 11 : opset >= 21 ? 10 : opset >= 19 ? 9 : opset >= 15 ? 8 : 7;
}

vta_status vtac_writer_model(vtac_onnx_writer *w, const char *producer, Onnx__ModelProto *model,
                             Onnx__GraphProto *graph, vta_diag *diag)
{
    bool microsoft;
    VTA_TRY(vtac_writer_opset(w->graph, &w->opset, &microsoft, diag));
    Onnx__OperatorSetIdProto *sets = vtac_writer_alloc(w, 2, sizeof *sets);
    Onnx__OperatorSetIdProto **list = vtac_writer_alloc(w, 2, sizeof(void *));
    if (sets == NULL || list == NULL) {
        return vta_no_memory(diag);
    }
    for (int i = 0; i < 2; i++) {
        onnx__operator_set_id_proto__init(&sets[i]);
        sets[i].domain = vtac_writer_text(i == 0 ? "" : "com.microsoft");
        sets[i].has_version = 1;
        sets[i].version = i == 0 ? w->opset : 1;
        list[i] = &sets[i];
    }
    vtac_writer_graph(w, graph);
    onnx__model_proto__init(model);
    model->has_ir_version = 1;
    model->ir_version = vtac_writer_ir_version(w->opset);
    model->producer_name = vtac_writer_text(producer);
    model->n_opset_import = microsoft ? 2 : 1;
    model->opset_import = list;
    model->graph = graph;
    return vta_allocated(!w->failed, diag);
}

vta_status vtac_onnx_write(const vtac_graph *graph, const char *producer, const char *path, vta_diag *diag)
{
    vtac_onnx_writer w = {.graph = graph};
    Onnx__GraphProto proto;
    Onnx__ModelProto model;
    vta_status status = VTA_OK;
    if (graph->flow != NULL) {
        return vta_fail(
            diag, VTA_UNSUPPORTED,
            "a model with control flow, or with sizes that are known only at run time, is not written "
            "as ONNX");
    }
    VTA_TRY_OUT(vtac_writer_model(&w, producer, &model, &proto, diag));
    VTA_TRY_OUT(vtac_onnx_save(&model, path, diag));
out:
    vta_arena_free(&w.arena);
    return status;
}
