/* SPDX-License-Identifier: Apache-2.0 */
#include "flow_make.h"

#include <stdio.h>
#include <string.h>

/* A name that no model has; `i` below 0: none. */
char *vtac_fm_name(vtac_flow_maker *m, const char *what, int i)
{
    char text[64];
    const int size = i < 0 ? snprintf(text, sizeof text, "\x01made %s", what)
                           : snprintf(text, sizeof text, "\x01made %s %d", what, i);
    char *name = vta_arena_string(&m->b->im->graph->arena, text, (size_t)size);
    m->failed = m->failed || name == NULL;
    return name;
}

void *vtac_fm_room(vtac_flow_maker *m, size_t count, size_t size)
{
    void *room = vta_arena_alloc(&m->b->im->graph->arena, (count + 1) * size);
    m->failed = m->failed || room == NULL;
    return room;
}

Onnx__NodeProto *vtac_fm_node(vtac_flow_maker *m, const char *type, size_t inputs, size_t outputs)
{
    Onnx__NodeProto *node = vtac_fm_room(m, 1, sizeof *node);
    char **names = vtac_fm_room(m, inputs + outputs, sizeof *names);
    char *op = vta_arena_string(&m->b->im->graph->arena, type, strlen(type));
    m->failed = m->failed || op == NULL;
    if (m->failed) {
        return NULL;
    }
    onnx__node_proto__init(node);
    node->op_type = op;
    node->input = names;
    node->n_input = inputs;
    node->output = names + inputs;
    node->n_output = outputs;
    return node;
}

Onnx__NodeProto *vtac_fm_simple(vtac_flow_maker *m, const char *type, char *a, char *c, char *out)
{
    Onnx__NodeProto *node = vtac_fm_node(m, type, c != NULL ? 2 : a != NULL ? 1 : 0, 1);
    if (node != NULL) {
        if (a != NULL) {
            node->input[0] = a;
        }
        if (c != NULL) {
            node->input[1] = c;
        }
        node->output[0] = out;
    }
    return node;
}

Onnx__AttributeProto *vtac_fm_attr(vtac_flow_maker *m, Onnx__NodeProto *node, const char *name)
{
    Onnx__AttributeProto *attr = vtac_fm_room(m, 1, sizeof *attr);
    Onnx__AttributeProto **list = vtac_fm_room(m, 1, sizeof *list);
    char *kept = vta_arena_string(&m->b->im->graph->arena, name, strlen(name));
    m->failed = m->failed || kept == NULL || node == NULL;
    if (m->failed) {
        return NULL;
    }
    onnx__attribute_proto__init(attr);
    attr->name = kept;
    list[0] = attr;
    node->attribute = list;
    node->n_attribute = 1;
    return attr;
}

Onnx__ValueInfoProto **vtac_fm_infos(vtac_flow_maker *m, char *const *names, size_t count)
{
    Onnx__ValueInfoProto **list = vtac_fm_room(m, count, sizeof *list);
    Onnx__ValueInfoProto *infos = vtac_fm_room(m, count, sizeof *infos);
    for (size_t i = 0; !m->failed && i < count; i++) {
        onnx__value_info_proto__init(&infos[i]);
        infos[i].name = names[i];
        list[i] = &infos[i];
    }
    return list;
}

void vtac_fm_set_int(vtac_flow_maker *m, Onnx__NodeProto *node, const char *name, int64_t value)
{
    Onnx__AttributeProto *attr = vtac_fm_attr(m, node, name);
    if (attr != NULL) {
        attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        attr->i = value;
    }
}

Onnx__TensorProto *vtac_fm_tensor(vtac_flow_maker *m, Onnx__NodeProto *constant, int32_t type)
{
    Onnx__AttributeProto *attr = vtac_fm_attr(m, constant, "value");
    Onnx__TensorProto *t = vtac_fm_room(m, 1, sizeof *t);
    if (m->failed) {
        return NULL;
    }
    onnx__tensor_proto__init(t);
    t->has_data_type = true;
    t->data_type = type;
    attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
    attr->t = t;
    return t;
}

Onnx__GraphProto *vtac_fm_graph(vtac_flow_maker *m, const vta_vec *nodes, char *const *in, size_t inputs,
                                char *const *out, size_t outputs)
{
    Onnx__GraphProto *graph = vtac_fm_room(m, 1, sizeof *graph);
    Onnx__NodeProto **list = vtac_fm_room(m, nodes->count, sizeof *list);
    if (m->failed) {
        return NULL;
    }
    memcpy(list, nodes->items, nodes->count * sizeof *list);
    onnx__graph_proto__init(graph);
    graph->node = list;
    graph->n_node = nodes->count;
    graph->input = vtac_fm_infos(m, in, inputs);
    graph->n_input = inputs;
    graph->output = vtac_fm_infos(m, out, outputs);
    graph->n_output = outputs;
    return graph;
}
