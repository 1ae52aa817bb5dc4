/* SPDX-License-Identifier: Apache-2.0
 *
 * SequenceMap is a Loop over the places of its first input: it takes an element of each sequence, does the
 * body, and puts each result behind a sequence that it carries. The nodes are those of the standard's own
 * expansion.
 */
#include <string.h>

#include "flow_make.h"

typedef struct mapping {
    vtac_flow_builder *b;
    const vtac_flow_node *item;
    const Onnx__GraphProto *body;
    vtac_flow_maker make;
} mapping;

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
    Onnx__GraphProto *graph = vtac_fm_room(&m->make, 1, sizeof *graph);
    Onnx__NodeProto **nodes =
        vtac_fm_room(&m->make, map->n_input + m->body->n_node + outs + 1, sizeof *nodes);
    char **in = vtac_fm_room(&m->make, outs + 2, sizeof *in);
    char **out = vtac_fm_room(&m->make, outs + 1, sizeof *out);
    if (m->make.failed) {
        return NULL;
    }
    size_t count = 0;
    in[0] = vtac_fm_name(&m->make, "turn", -1);
    in[1] = vtac_fm_name(&m->make, "condition", -1);
    out[0] = vtac_fm_name(&m->make, "goes on", -1);
    for (size_t i = 0; i < map->n_input; i++) {
        const bool sequence = is_sequence(m, i);
        nodes[count++] = vtac_fm_simple(&m->make, sequence ? "SequenceAt" : "Identity", map->input[i],
                                        sequence ? in[0] : NULL, m->body->input[i]->name);
    }
    memcpy(nodes + count, m->body->node, m->body->n_node * sizeof *nodes);
    count += m->body->n_node;
    for (size_t i = 0; i < outs; i++) {
        in[2 + i] = vtac_fm_name(&m->make, "before", (int)i);
        out[1 + i] = vtac_fm_name(&m->make, "after", (int)i);
        nodes[count++] =
            vtac_fm_simple(&m->make, "SequenceInsert", in[2 + i], m->body->output[i]->name, out[1 + i]);
    }
    nodes[count++] = vtac_fm_simple(&m->make, "Identity", in[1], NULL, out[0]);
    onnx__graph_proto__init(graph);
    graph->node = nodes;
    graph->n_node = count;
    graph->initializer = m->body->initializer;
    graph->n_initializer = m->body->n_initializer;
    graph->input = vtac_fm_infos(&m->make, in, outs + 2);
    graph->n_input = outs + 2;
    graph->output = vtac_fm_infos(&m->make, out, outs + 1);
    graph->n_output = outs + 1;
    return graph;
}

static vta_status bind_outputs(const mapping *m, const vtac_import_place *at, vta_diag *diag)
{
    const Onnx__NodeProto *map = m->item->node;
    for (size_t i = 0; i < map->n_output; i++) {
        uint32_t value;
        (void)vtac_flow_find(at, map->output[i], &value);
        VTA_TRY(vtac_flow_bind(m->b, &m->item->at, map->output[i], value, diag));
    }
    return VTA_OK;
}

/* Writes the nodes in front of the loop and around it: its length, an empty sequence for each output. */
static vta_status give_nodes(vtac_flow_work *w, mapping *m, vta_diag *diag)
{
    const Onnx__NodeProto *map = m->item->node;
    Onnx__NodeProto **nodes = vtac_fm_room(&m->make, map->n_output + 2, sizeof *nodes);
    Onnx__NodeProto *loop = vtac_fm_node(&m->make, "Loop", map->n_output + 2, map->n_output);
    size_t count = 0;
    if (m->make.failed) {
        return vtac_flow_no_memory(diag);
    }
    static char nothing[] = "";
    loop->input[0] = vtac_fm_name(&m->make, "length", -1);
    loop->input[1] = nothing;
    nodes[count++] = vtac_fm_simple(&m->make, "SequenceLength", map->input[0], NULL, loop->input[0]);
    for (size_t i = 0; i < map->n_output; i++) {
        const Onnx__TypeProto *type = m->body->output[i]->type;
        loop->input[2 + i] = vtac_fm_name(&m->make, "none", (int)i);
        loop->output[i] = map->output[i];
        Onnx__NodeProto *empty = vtac_fm_simple(&m->make, "SequenceEmpty", NULL, NULL, loop->input[2 + i]);
        Onnx__AttributeProto *dtype = vtac_fm_attr(&m->make, empty, "dtype");
        if (type == NULL || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
            return vta_fail(diag, VTA_INVALID, "its body does not say the type of output %zu", i);
        }
        if (dtype != NULL) {
            dtype->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
            dtype->i = type->tensor_type->elem_type;
        }
        nodes[count++] = empty;
    }
    Onnx__AttributeProto *body = vtac_fm_attr(&m->make, loop, "body");
    nodes[count++] = loop;
    if (body != NULL) {
        body->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
        body->g = loop_body(m);
    }
    vtac_import_place at = m->item->at;
    at.scope = vtac_flow_scope(m->b, m->item->at.scope);
    if (m->make.failed || at.scope == NULL) {
        return vtac_flow_no_memory(diag);
    }
    for (size_t i = 0; i < count; i++) {
        const vtac_flow_node item = {.node = nodes[i], .at = at, .origin = m->item->origin};
        VTA_TRY(nodes[i] == loop ? vtac_flow_give_loop(w, &item, diag)
                                 : vtac_flow_give_row(w, &item, vtac_flow_row_of(nodes[i]), diag));
    }
    return bind_outputs(m, &at, diag);
}

vta_status vtac_flow_give_map(vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag)
{
    const Onnx__AttributeProto *attr = vtac_proto_attr(item->node, "body");
    mapping m = {.b = w->b, .item = item, .body = attr != NULL ? attr->g : NULL, .make = {.b = w->b}};
    if (m.body == NULL || item->node->n_input < 1 || m.body->n_input != item->node->n_input ||
        item->node->n_output > m.body->n_output || item->node->n_output > VTAC_FLOW_ENDS - 2 ||
        !is_sequence(&m, 0)) {
        return vta_fail(diag, VTA_INVALID, "its first input is no sequence, or its body does not fit it");
    }
    return give_nodes(w, &m, diag);
}
