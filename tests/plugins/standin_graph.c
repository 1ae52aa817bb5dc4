/* SPDX-License-Identifier: Apache-2.0
 *
 * The stand-in's graph: an ONNX file as the calls of the host show it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "standin.h"
#include "vta/file.h"

OrtStatus *standin_status(int code, const char *format, ...)
{
    va_list args;
    OrtStatus *status = calloc(1, sizeof *status);
    status->code = code;
    va_start(args, format);
    (void)vsnprintf(status->text, sizeof status->text, format, args);
    va_end(args);
    return status;
}

/* ---- values */

static size_t size_of(int type)
{
    static const uint8_t bytes[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8};
    return (size_t)type < sizeof bytes ? bytes[type] : 0;
}

OrtValue *standin_value(const OrtTensorTypeAndShapeInfo *info, void *data)
{
    OrtValue *value = calloc(1, sizeof *value);
    value->info = *info;
    value->bytes = size_of(info->type);
    for (size_t i = 0; i < info->rank; i++) {
        value->bytes *= (size_t)info->dims[i];
    }
    value->owned = data == NULL;
    value->data = data != NULL ? data : calloc(1, value->bytes + 1);
    return value;
}

void standin_value_free(OrtValue *value)
{
    if (value != NULL) {
        if (value->owned) {
            free(value->data);
        }
        free(value);
    }
}

static OrtValue *value_of_tensor(const Onnx__TensorProto *t)
{
    OrtTensorTypeAndShapeInfo info = {.type = t->data_type, .rank = t->n_dims};
    for (size_t i = 0; i < t->n_dims && i < STANDIN_RANK; i++) {
        info.dims[i] = t->dims[i];
    }
    OrtValue *value = standin_value(&info, NULL);
    for (size_t i = 0; i < t->n_float_data && i * 4 < value->bytes; i++) {
        ((float *)value->data)[i] = t->float_data[i];
    }
    for (size_t i = 0; i < t->n_int64_data && i * 8 < value->bytes; i++) {
        ((int64_t *)value->data)[i] = t->int64_data[i];
    }
    for (size_t i = 0; i < t->n_int32_data && (i + 1) * size_of(info.type) <= value->bytes; i++) {
        memcpy((uint8_t *)value->data + i * size_of(info.type), &t->int32_data[i], size_of(info.type));
    }
    if (t->has_raw_data && t->raw_data.len <= value->bytes) {
        memcpy(value->data, t->raw_data.data, t->raw_data.len);
    }
    return value;
}

OrtValueInfo *standin_graph_value(const OrtGraph *graph, const char *name)
{
    for (size_t i = 0; i < graph->value_count; i++) {
        if (strcmp(graph->values[i].name, name) == 0) {
            return &graph->values[i];
        }
    }
    return NULL;
}

static OrtValueInfo *intern_value(OrtGraph *graph, const char *name)
{
    OrtValueInfo *value = standin_graph_value(graph, name);
    if (value == NULL) {
        value = &graph->values[graph->value_count++];
        value->name = name;
    }
    return value;
}

static void read_infos(OrtGraph *graph, Onnx__ValueInfoProto **infos, size_t count, bool is_output)
{
    for (size_t i = 0; i < count; i++) {
        OrtValueInfo *value = intern_value(graph, infos[i]->name);
        const Onnx__TypeProto__Tensor *t = infos[i]->type->tensor_type;
        value->is_output = value->is_output || is_output;
        value->type.tensor.type = t->elem_type;
        value->type.tensor.rank = t->shape->n_dim;
        for (size_t k = 0; k < t->shape->n_dim && k < STANDIN_RANK; k++) {
            const Onnx__TensorShapeProto__Dimension *d = t->shape->dim[k];
            value->type.tensor.dims[k] =
                d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE ? d->dim_value : -1;
        }
    }
}

/* ---- nodes */

static const OrtValueInfo **list_values(OrtGraph *graph, char **names, size_t count)
{
    const OrtValueInfo **values = calloc(count + 1, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        values[i] = names[i][0] != '\0' ? intern_value(graph, names[i]) : NULL;
    }
    return values;
}

static void read_node(OrtGraph *graph, const Onnx__NodeProto *proto, OrtNode *node)
{
    node->proto = proto;
    node->inputs = list_values(graph, proto->input, proto->n_input);
    node->input_count = proto->n_input;
    node->outputs = list_values(graph, proto->output, proto->n_output);
    node->output_count = proto->n_output;
    node->attributes = calloc(proto->n_attribute + 1, sizeof *node->attributes);
    for (size_t i = 0; i < proto->n_attribute; i++) {
        node->attributes[i].proto = proto->attribute[i];
    }
}

static void read_graph(OrtGraph *graph, const Onnx__GraphProto *g)
{
    graph->values = calloc(STANDIN_ROOM, sizeof *graph->values);
    graph->nodes = calloc(g->n_node + 1, sizeof *graph->nodes);
    graph->parts = calloc(g->n_node + 1, sizeof *graph->parts);
    read_infos(graph, g->input, g->n_input, false);
    read_infos(graph, g->value_info, g->n_value_info, false);
    read_infos(graph, g->output, g->n_output, true);
    for (size_t i = 0; i < g->n_initializer; i++) {
        OrtValueInfo *value = intern_value(graph, g->initializer[i]->name);
        value->initializer = value_of_tensor(g->initializer[i]);
        value->type.tensor = value->initializer->info;
    }
    for (size_t i = 0; i < g->n_node; i++) {
        read_node(graph, g->node[i], &graph->nodes[graph->node_count++]);
    }
}

OrtGraph *standin_graph_load(const char *path, OrtStatus **status)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    vta_diag diag = {0};
    if (vta_file_read(path, 1U << 30, &bytes, &size, &diag) != VTA_OK) {
        *status = standin_status(ORT_FAIL, "%s", diag.text);
        return NULL;
    }
    OrtGraph *graph = calloc(1, sizeof *graph);
    graph->model = onnx__model_proto__unpack(NULL, size, bytes);
    free(bytes);
    if (graph->model == NULL || graph->model->graph->n_node * 8 > STANDIN_ROOM) {
        *status = standin_status(ORT_FAIL, "'%s' is no model for the stand-in", path);
        free(graph);
        return NULL;
    }
    read_graph(graph, graph->model->graph);
    return graph;
}

void standin_graph_free(OrtGraph *graph)
{
    for (size_t i = 0; i < graph->value_count; i++) {
        standin_value_free(graph->values[i].initializer);
    }
    for (size_t i = 0; i < graph->node_count + graph->part_count; i++) {
        OrtNode *node = i < graph->node_count ? &graph->nodes[i] : graph->parts[i - graph->node_count];
        free(node->inputs);
        free(node->outputs);
        free(node->attributes);
        if (i >= graph->node_count) {
            free(node);
        }
    }
    onnx__model_proto__free_unpacked(graph->model, NULL);
    free(graph->values);
    free(graph->nodes);
    free(graph->parts);
    free(graph);
}

/* ---- fused nodes */

static bool is_of(const OrtNode *node, const OrtNode *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (nodes[i] == node) {
            return true;
        }
    }
    return false;
}

static bool is_made_by(const OrtValueInfo *value, const OrtNode *node)
{
    for (size_t k = 0; k < node->output_count; k++) {
        if (node->outputs[k] == value) {
            return true;
        }
    }
    return false;
}

static bool is_read_by(const OrtValueInfo *value, const OrtNode *node)
{
    for (size_t k = 0; k < node->input_count; k++) {
        if (node->inputs[k] == value) {
            return true;
        }
    }
    return false;
}

/* A value of the host's graph on the border of the nodes: 'i' goes in, 'o' comes out, ' ' neither. */
static char border_of(const OrtGraph *graph, const OrtValueInfo *value, const OrtNode *const *nodes,
                      size_t count)
{
    bool made = false;
    bool read = false;
    bool read_outside = value->is_output;
    for (size_t i = 0; i < graph->node_count; i++) {
        const OrtNode *node = &graph->nodes[i];
        const bool inside = is_of(node, nodes, count);
        made = made || (inside && is_made_by(value, node));
        read = read || (inside && is_read_by(value, node));
        read_outside = read_outside || (!inside && is_read_by(value, node));
    }
    if (made) {
        return read_outside ? 'o' : ' ';
    }
    return read && value->initializer == NULL ? 'i' : ' ';
}

OrtStatus *standin_graph_fuse(OrtGraph *graph, const OrtNode *const *nodes, size_t count)
{
    OrtNode *fused = calloc(1, sizeof *fused);
    fused->inputs = calloc(graph->value_count + 1, sizeof *fused->inputs);
    fused->outputs = calloc(graph->value_count + 1, sizeof *fused->outputs);
    for (size_t i = graph->value_count; i-- > 0;) { /* not in the provider's order */
        const char border = border_of(graph, &graph->values[i], nodes, count);
        if (border == 'i') {
            fused->inputs[fused->input_count++] = &graph->values[i];
        } else if (border == 'o') {
            fused->outputs[fused->output_count++] = &graph->values[i];
        }
    }
    graph->parts[graph->part_count++] = fused;
    for (size_t i = 0; i < graph->node_count; i++) {
        if (is_of(&graph->nodes[i], nodes, count)) {
            if (graph->nodes[i].fused != NULL) {
                return standin_status(ORT_FAIL, "node '%s' is taken twice", graph->nodes[i].proto->name);
            }
            graph->nodes[i].fused = fused;
        }
    }
    return NULL;
}

/* ---- calls */

OrtStatus *standin_CastTypeInfoToTensorInfo(const OrtTypeInfo *type, const OrtTensorTypeAndShapeInfo **out)
{
    *out = type->tensor.type != 0 ? &type->tensor : NULL;
    return NULL;
}

OrtStatus *standin_GetTensorElementType(const OrtTensorTypeAndShapeInfo *info, int *out)
{
    *out = info->type;
    return NULL;
}

OrtStatus *standin_GetDimensionsCount(const OrtTensorTypeAndShapeInfo *info, size_t *out)
{
    *out = info->rank;
    return NULL;
}

OrtStatus *standin_GetDimensions(const OrtTensorTypeAndShapeInfo *info, int64_t *dims, size_t count)
{
    memcpy(dims, info->dims, count * sizeof *dims);
    return NULL;
}

OrtStatus *standin_GetTensorTypeAndShape(const OrtValue *value, OrtTensorTypeAndShapeInfo **out)
{
    *out = malloc(sizeof **out);
    **out = value->info;
    return NULL;
}

void standin_ReleaseTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo *info)
{
    free(info);
}

OrtStatus *standin_GetTensorMutableData(OrtValue *value, void **out)
{
    *out = value->data;
    return NULL;
}

OrtStatus *standin_GetTensorData(const OrtValue *value, const void **out)
{
    *out = value->data;
    return NULL;
}

void standin_ReleaseValue(OrtValue *value)
{
    standin_value_free(value);
}

OrtStatus *standin_GetValueInfoName(const OrtValueInfo *value, const char **out)
{
    *out = value->name;
    return NULL;
}

OrtStatus *standin_GetValueInfoTypeInfo(const OrtValueInfo *value, const OrtTypeInfo **out)
{
    *out = &value->type;
    return NULL;
}

OrtStatus *standin_ValueInfo_GetInitializerValue(const OrtValueInfo *value, const OrtValue **out)
{
    *out = value->initializer;
    return NULL;
}

OrtStatus *standin_ValueInfo_IsConstantInitializer(const OrtValueInfo *value, bool *out)
{
    *out = value->initializer != NULL;
    return NULL;
}

OrtStatus *standin_Graph_GetNumOperatorSets(const OrtGraph *graph, size_t *out)
{
    *out = graph->model->n_opset_import;
    return NULL;
}

OrtStatus *standin_Graph_GetOperatorSets(const OrtGraph *graph, const char **domains, int64_t *versions,
                                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        domains[i] = graph->model->opset_import[i]->domain;
        versions[i] = graph->model->opset_import[i]->version;
    }
    return NULL;
}

OrtStatus *standin_Graph_GetNumOutputs(const OrtGraph *graph, size_t *out)
{
    *out = graph->model->graph->n_output;
    return NULL;
}

OrtStatus *standin_Graph_GetOutputs(const OrtGraph *graph, const OrtValueInfo **values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = standin_graph_value(graph, graph->model->graph->output[i]->name);
    }
    return NULL;
}

OrtStatus *standin_Graph_GetNumNodes(const OrtGraph *graph, size_t *out)
{
    *out = graph->node_count;
    return NULL;
}

OrtStatus *standin_Graph_GetNodes(const OrtGraph *graph, const OrtNode **nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        nodes[i] = &graph->nodes[i];
    }
    return NULL;
}

OrtStatus *standin_Graph_GetParentNode(const OrtGraph *graph, const OrtNode **out)
{
    (void)graph;
    *out = NULL;
    return NULL;
}

OrtStatus *standin_Node_GetOperatorType(const OrtNode *node, const char **out)
{
    *out = node->proto->op_type;
    return NULL;
}

OrtStatus *standin_Node_GetDomain(const OrtNode *node, const char **out)
{
    *out = node->proto->domain;
    return NULL;
}

OrtStatus *standin_Node_GetNumInputs(const OrtNode *node, size_t *out)
{
    *out = node->input_count;
    return NULL;
}

OrtStatus *standin_Node_GetInputs(const OrtNode *node, const OrtValueInfo **values, size_t count)
{
    memcpy(values, node->inputs, count * sizeof(const OrtValueInfo *));
    return NULL;
}

OrtStatus *standin_Node_GetNumOutputs(const OrtNode *node, size_t *out)
{
    *out = node->output_count;
    return NULL;
}

OrtStatus *standin_Node_GetOutputs(const OrtNode *node, const OrtValueInfo **values, size_t count)
{
    memcpy(values, node->outputs, count * sizeof(const OrtValueInfo *));
    return NULL;
}

OrtStatus *standin_Node_GetNumAttributes(const OrtNode *node, size_t *out)
{
    *out = node->proto->n_attribute;
    return NULL;
}

OrtStatus *standin_Node_GetAttributes(const OrtNode *node, const OrtOpAttr **attributes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        attributes[i] = &node->attributes[i];
    }
    return NULL;
}

OrtStatus *standin_Node_GetNumSubgraphs(const OrtNode *node, size_t *out)
{
    (void)node;
    *out = 0;
    return NULL;
}

OrtStatus *standin_OpAttr_GetName(const OrtOpAttr *attribute, const char **out)
{
    *out = attribute->proto->name;
    return NULL;
}

OrtStatus *standin_OpAttr_GetType(const OrtOpAttr *attribute, int *out)
{
    static const int types[] = {0, ORT_ATTR_FLOAT,  ORT_ATTR_INT, ORT_ATTR_STRING, ORT_ATTR_TENSOR,
                                0, ORT_ATTR_FLOATS, ORT_ATTR_INTS};
    const size_t type = (size_t)attribute->proto->type;
    *out = type < sizeof types / sizeof types[0] ? types[type] : 0;
    return NULL;
}

OrtStatus *standin_OpAttr_GetTensorAttributeAsOrtValue(const OrtOpAttr *attribute, OrtValue **out)
{
    *out = value_of_tensor(attribute->proto->t);
    return NULL;
}

OrtStatus *standin_ReadOpAttr(const OrtOpAttr *attribute, int type, void *data, size_t size, size_t *out)
{
    const Onnx__AttributeProto *a = attribute->proto;
    const void *from = type == ORT_ATTR_INT      ? (const void *)&a->i
                       : type == ORT_ATTR_FLOAT  ? (const void *)&a->f
                       : type == ORT_ATTR_INTS   ? (const void *)a->ints
                       : type == ORT_ATTR_FLOATS ? (const void *)a->floats
                                                 : (const void *)a->s.data;
    *out = type == ORT_ATTR_INT      ? sizeof a->i
           : type == ORT_ATTR_FLOAT  ? sizeof a->f
           : type == ORT_ATTR_INTS   ? a->n_ints * sizeof *a->ints
           : type == ORT_ATTR_FLOATS ? a->n_floats * sizeof *a->floats
                                     : a->s.len;
    if (*out > size) {
        return standin_status(ORT_INVALID_ARGUMENT, "the attribute takes %zu bytes", *out);
    }
    if (*out > 0) {
        memcpy(data, from, *out);
    }
    return NULL;
}
