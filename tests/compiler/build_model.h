/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds small ONNX models in memory, straight from the schema: what the importer's tests feed it. All pieces
 * live in one arena, which build_free empties.
 */
#ifndef VTAC_TEST_BUILD_MODEL_H
#define VTAC_TEST_BUILD_MODEL_H

#include <stdint.h>
#include <string.h>

#include "onnx.pb-c.h"
#include "vta/arena.h"

static vta_arena build_arena;

static inline void *build_alloc(size_t size)
{
    return vta_arena_alloc(&build_arena, size);
}

static inline char *build_string(const char *text)
{
    return vta_arena_string(&build_arena, text, strlen(text));
}

static inline void build_free(void)
{
    vta_arena_free(&build_arena);
}

/* A copy of a list with room for one more. */
static inline void *build_grow(const void *list, size_t count, size_t item)
{
    void *grown = build_alloc((count + 1) * item);
    if (count > 0) {
        memcpy(grown, list, count * item);
    }
    return grown;
}

typedef struct model {
    Onnx__ModelProto model;
    Onnx__GraphProto graph;
    Onnx__OperatorSetIdProto opset[2];
    Onnx__OperatorSetIdProto *opsets[2];
    uint8_t *bytes;
    size_t size;
} model;

/* Appends a pointer to a protobuf-c repeated field. */
#define APPEND(list, count, item)                                                                            \
    do {                                                                                                     \
        (list) = build_grow((list), (count), sizeof *(list));                                                \
        (list)[(count)++] = (item);                                                                          \
    } while (0)

static inline void model_init(model *m, int64_t opset)
{
    memset(m, 0, sizeof *m);
    onnx__model_proto__init(&m->model);
    onnx__graph_proto__init(&m->graph);
    m->model.graph = &m->graph;
    m->model.has_ir_version = 1;
    m->model.ir_version = 8;
    static const char *const domains[] = {"", "com.microsoft"};
    for (int i = 0; i < 2; i++) {
        onnx__operator_set_id_proto__init(&m->opset[i]);
        m->opset[i].domain = build_string(domains[i]);
        m->opset[i].has_version = 1;
        m->opset[i].version = i == 0 ? opset : 1;
        m->opsets[i] = &m->opset[i];
    }
    m->model.opset_import = m->opsets;
    m->model.n_opset_import = 2;
    m->graph.name = build_string("test");
}

/* dims: -1 stands for a symbol "N". */
static inline Onnx__ValueInfoProto *value_info(const char *name, int32_t type, size_t rank,
                                               const int64_t *dims)
{
    Onnx__ValueInfoProto *info = build_alloc(sizeof *info);
    onnx__value_info_proto__init(info);
    info->name = build_string(name);
    info->type = build_alloc(sizeof *info->type);
    onnx__type_proto__init(info->type);
    info->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    Onnx__TypeProto__Tensor *tensor = info->type->tensor_type = build_alloc(sizeof *tensor);
    onnx__type_proto__tensor__init(tensor);
    tensor->has_elem_type = 1;
    tensor->elem_type = type;
    tensor->shape = build_alloc(sizeof *tensor->shape);
    onnx__tensor_shape_proto__init(tensor->shape);
    for (size_t i = 0; i < rank; i++) {
        Onnx__TensorShapeProto__Dimension *dim = build_alloc(sizeof *dim);
        onnx__tensor_shape_proto__dimension__init(dim);
        if (dims[i] < 0) {
            dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            dim->dim_param = build_string("N");
        } else {
            dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            dim->dim_value = dims[i];
        }
        APPEND(tensor->shape->dim, tensor->shape->n_dim, dim);
    }
    return info;
}

static inline void add_input(model *m, const char *name, size_t rank, const int64_t *dims)
{
    APPEND(m->graph.input, m->graph.n_input, value_info(name, 1, rank, dims));
}

static inline void add_output(Onnx__GraphProto *graph, const char *name)
{
    APPEND(graph->output, graph->n_output, value_info(name, 1, 0, NULL));
}

static inline Onnx__TensorProto *int_tensor(const char *name, size_t rank, const int64_t *dims,
                                            const int64_t *values, size_t count)
{
    Onnx__TensorProto *tensor = build_alloc(sizeof *tensor);
    onnx__tensor_proto__init(tensor);
    tensor->name = build_string(name);
    tensor->has_data_type = 1;
    tensor->data_type = 7;
    for (size_t i = 0; i < rank; i++) {
        APPEND(tensor->dims, tensor->n_dims, dims[i]);
    }
    for (size_t i = 0; i < count; i++) {
        APPEND(tensor->int64_data, tensor->n_int64_data, values[i]);
    }
    return tensor;
}

static inline void add_ints(model *m, const char *name, size_t count, const int64_t *values)
{
    const int64_t dims[] = {(int64_t)count};
    APPEND(m->graph.initializer, m->graph.n_initializer, int_tensor(name, 1, dims, values, count));
}

/* inputs and outputs: names separated by spaces, "_" for an absent one. */
static inline void split_names(const char *names, char ***list, size_t *count)
{
    char *copy = build_string(names);
    char *rest = copy;
    for (char *name = strtok_r(copy, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest)) {
        APPEND(*list, *count, build_string(strcmp(name, "_") == 0 ? "" : name));
    }
}

static inline Onnx__NodeProto *add_node(Onnx__GraphProto *graph, const char *type, const char *inputs,
                                        const char *outputs)
{
    Onnx__NodeProto *node = build_alloc(sizeof *node);
    onnx__node_proto__init(node);
    node->op_type = build_string(type);
    split_names(inputs, &node->input, &node->n_input);
    split_names(outputs, &node->output, &node->n_output);
    APPEND(graph->node, graph->n_node, node);
    return node;
}

static inline Onnx__AttributeProto *add_attr(Onnx__NodeProto *node, const char *name, int type)
{
    Onnx__AttributeProto *attr = build_alloc(sizeof *attr);
    onnx__attribute_proto__init(attr);
    attr->name = build_string(name);
    attr->has_type = 1;
    attr->type = (Onnx__AttributeProto__AttributeType)type;
    APPEND(node->attribute, node->n_attribute, attr);
    return attr;
}

static inline void set_int(Onnx__NodeProto *node, const char *name, int64_t value)
{
    Onnx__AttributeProto *attr = add_attr(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    attr->has_i = 1;
    attr->i = value;
}

static inline void set_float(Onnx__NodeProto *node, const char *name, float value)
{
    Onnx__AttributeProto *attr = add_attr(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    attr->has_f = 1;
    attr->f = value;
}

static inline void set_ints(Onnx__NodeProto *node, const char *name, size_t count, const int64_t *values)
{
    Onnx__AttributeProto *attr = add_attr(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    for (size_t i = 0; i < count; i++) {
        APPEND(attr->ints, attr->n_ints, values[i]);
    }
}

static inline void set_graph(Onnx__NodeProto *node, const char *name, Onnx__GraphProto *graph)
{
    add_attr(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)->g = graph;
}

static inline void model_pack(model *m)
{
    m->size = onnx__model_proto__get_packed_size(&m->model);
    m->bytes = build_alloc(m->size);
    (void)onnx__model_proto__pack(&m->model, m->bytes);
}

#endif
