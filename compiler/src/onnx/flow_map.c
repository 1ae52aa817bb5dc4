/* SPDX-License-Identifier: Apache-2.0
 *
 * SequenceMap is a Loop over the places of its first input: it takes an element of each sequence, does the
 * body, and puts each result behind a sequence that it carries. The nodes are those of the standard's own
 * expansion.
 */
#include <stdio.h>
#include <string.h>

#include "flow.h"

typedef struct mapping {
    vtac_flow_builder *b;
    const vtac_flow_node *item;
    const Onnx__GraphProto *body;
    bool failed;
} mapping;

/* A name that no model has; `i` below 0: none. */
static char *name_of(mapping *m, const char *what, int i)
{
    char text[64];
    const int size = i < 0 ? snprintf(text, sizeof text, "\x01map %s", what)
                           : snprintf(text, sizeof text, "\x01map %s %d", what, i);
    char *name = vta_arena_string(&m->b->im->graph->arena, text, (size_t)size);
    m->failed = m->failed || name == NULL;
    return name;
}

static void *room_of(mapping *m, size_t count, size_t size)
{
    void *room = vta_arena_alloc(&m->b->im->graph->arena, (count + 1) * size);
    m->failed = m->failed || room == NULL;
    return room;
}

static Onnx__NodeProto *node_of(mapping *m, const char *type, size_t inputs, size_t outputs)
{
    Onnx__NodeProto *node = room_of(m, 1, sizeof *node);
    char **names = room_of(m, inputs + outputs, sizeof *names);
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

static Onnx__NodeProto *simple_node(mapping *m, const char *type, char *a, char *c, char *out)
{
    Onnx__NodeProto *node = node_of(m, type, c != NULL ? 2 : a != NULL ? 1 : 0, 1);
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

static Onnx__AttributeProto *attr_of(mapping *m, Onnx__NodeProto *node, const char *name)
{
    Onnx__AttributeProto *attr = room_of(m, 1, sizeof *attr);
    Onnx__AttributeProto **list = room_of(m, 1, sizeof *list);
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

static Onnx__ValueInfoProto **infos_of(mapping *m, char *const *names, size_t count)
{
    Onnx__ValueInfoProto **list = room_of(m, count, sizeof *list);
    Onnx__ValueInfoProto *infos = room_of(m, count, sizeof *infos);
    for (size_t i = 0; !m->failed && i < count; i++) {
        onnx__value_info_proto__init(&infos[i]);
        infos[i].name = names[i];
        list[i] = &infos[i];
    }
    return list;
}

static bool is_sequence(const mapping *m, size_t i)
{
    const vtac_flow_value *v = vtac_flow_input(m->b, m->item, i);
    return v != NULL && v->kind == VTA_FLOW_SEQUENCE;
}

/* The body of the loop: elements, the body of the map, what it gives behind what was there. */
static Onnx__GraphProto *loop_body(mapping *m)
{
    const Onnx__NodeProto *map = m->item->node;
    const size_t outs = map->n_output;
    Onnx__GraphProto *graph = room_of(m, 1, sizeof *graph);
    Onnx__NodeProto **nodes = room_of(m, map->n_input + m->body->n_node + outs + 1, sizeof *nodes);
    char **in = room_of(m, outs + 2, sizeof *in);
    char **out = room_of(m, outs + 1, sizeof *out);
    if (m->failed) {
        return NULL;
    }
    size_t count = 0;
    in[0] = name_of(m, "turn", -1);
    in[1] = name_of(m, "condition", -1);
    out[0] = name_of(m, "goes on", -1);
    for (size_t i = 0; i < map->n_input; i++) {
        const bool sequence = is_sequence(m, i);
        nodes[count++] = simple_node(m, sequence ? "SequenceAt" : "Identity", map->input[i],
                                     sequence ? in[0] : NULL, m->body->input[i]->name);
    }
    memcpy(nodes + count, m->body->node, m->body->n_node * sizeof *nodes);
    count += m->body->n_node;
    for (size_t i = 0; i < outs; i++) {
        in[2 + i] = name_of(m, "before", (int)i);
        out[1 + i] = name_of(m, "after", (int)i);
        nodes[count++] = simple_node(m, "SequenceInsert", in[2 + i], m->body->output[i]->name, out[1 + i]);
    }
    nodes[count++] = simple_node(m, "Identity", in[1], NULL, out[0]);
    onnx__graph_proto__init(graph);
    graph->node = nodes;
    graph->n_node = count;
    graph->initializer = m->body->initializer;
    graph->n_initializer = m->body->n_initializer;
    graph->input = infos_of(m, in, outs + 2);
    graph->n_input = outs + 2;
    graph->output = infos_of(m, out, outs + 1);
    graph->n_output = outs + 1;
    return graph;
}

/* What is before and around the loop: its length, an empty sequence for each output. */
static vta_status give_nodes(vtac_flow_work *w, mapping *m, vta_diag *diag)
{
    const Onnx__NodeProto *map = m->item->node;
    Onnx__NodeProto **nodes = room_of(m, map->n_output + 2, sizeof *nodes);
    Onnx__NodeProto *loop = node_of(m, "Loop", map->n_output + 2, map->n_output);
    size_t count = 0;
    if (m->failed) {
        return vtac_flow_no_memory(diag);
    }
    static char nothing[] = "";
    loop->input[0] = name_of(m, "length", -1);
    loop->input[1] = nothing;
    nodes[count++] = simple_node(m, "SequenceLength", map->input[0], NULL, loop->input[0]);
    for (size_t i = 0; i < map->n_output; i++) {
        const Onnx__TypeProto *type = m->body->output[i]->type;
        loop->input[2 + i] = name_of(m, "none", (int)i);
        loop->output[i] = map->output[i];
        Onnx__NodeProto *empty = simple_node(m, "SequenceEmpty", NULL, NULL, loop->input[2 + i]);
        Onnx__AttributeProto *dtype = attr_of(m, empty, "dtype");
        if (type == NULL || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
            return vta_fail(diag, VTA_INVALID, "its body does not say the type of output %zu", i);
        }
        if (dtype != NULL) {
            dtype->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
            dtype->i = type->tensor_type->elem_type;
        }
        nodes[count++] = empty;
    }
    Onnx__AttributeProto *body = attr_of(m, loop, "body");
    nodes[count++] = loop;
    if (body != NULL) {
        body->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
        body->g = loop_body(m);
    }
    vtac_place at = m->item->at;
    at.scope = vtac_flow_scope(m->b, m->item->at.scope);
    if (m->failed || at.scope == NULL) {
        return vtac_flow_no_memory(diag);
    }
    for (size_t i = 0; i < count; i++) {
        const vtac_flow_node item = {.node = nodes[i], .at = at, .origin = m->item->origin};
        const vtac_flow_row *row = vtac_flow_row_of(nodes[i]);
        VTA_TRY(nodes[i] == loop ? vtac_flow_give_loop(w, &item, diag)
                                 : vtac_flow_give_row(w, &item, row, diag));
    }
    for (size_t i = 0; i < map->n_output; i++) {
        uint32_t value;
        (void)vtac_flow_find(&at, map->output[i], &value);
        VTA_TRY(vtac_flow_bind(m->b, &m->item->at, map->output[i], value, diag));
    }
    return VTA_OK;
}

vta_status vtac_flow_give_map(vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag)
{
    const Onnx__AttributeProto *attr = vtac_proto_attr(item->node, "body");
    mapping m = {.b = w->b, .item = item, .body = attr != NULL ? attr->g : NULL};
    if (m.body == NULL || item->node->n_input < 1 || m.body->n_input != item->node->n_input ||
        item->node->n_output > m.body->n_output || item->node->n_output > VTAC_FLOW_ENDS - 2 ||
        !is_sequence(&m, 0)) {
        return vta_fail(diag, VTA_INVALID, "its first input is no sequence, or its body does not fit it");
    }
    return give_nodes(w, &m, diag);
}
