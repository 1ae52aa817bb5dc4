/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's graph, read once: values by number, nodes in their order.
 */
#include <stdlib.h>
#include <string.h>

#include "ort.h"
#include "vta/fail.h"
#include "vta/hash.h"

#define HOST_TRY(call) VTA_TRY(vtac_ort_check(call, diag))

/* Values by name, while the graph is read: an open table with twice the room. */
typedef struct value_table {
    uint32_t *slots; /* number of a value + 1; 0: free */
    size_t room;
} value_table;

typedef struct graph_reader {
    vtac_ort_graph *out;
    const OrtNode **nodes;
    value_table table;
    vtac_plug_node *shapes;
    bool *constant, *kept;
    uint32_t value_count;
    vta_diag *diag;
} graph_reader;

static void *take_room(graph_reader *r, size_t count, size_t size)
{
    return vta_arena_array(&r->out->arena, count + 1, size);
}

/* ---- values */

static vta_status read_type(const OrtValueInfo *info, vtac_ort_value *value, vta_diag *diag)
{
    const OrtTypeInfo *type = NULL;
    const OrtTensorTypeAndShapeInfo *tensor = NULL;
    size_t rank = 0;
    HOST_TRY(vtac_ort_host.GetValueInfoTypeInfo(info, &type));
    if (type == NULL) {
        return VTA_OK;
    }
    HOST_TRY(vtac_ort_host.CastTypeInfoToTensorInfo(type, &tensor));
    if (tensor == NULL) {
        return VTA_OK;
    }
    HOST_TRY(vtac_ort_host.GetTensorElementType(tensor, &value->type));
    HOST_TRY(vtac_ort_host.GetDimensionsCount(tensor, &rank));
    if (rank > ORT_MAX_RANK) {
        return VTA_OK;
    }
    HOST_TRY(vtac_ort_host.GetDimensions(tensor, value->dim, rank));
    value->rank = (uint32_t)rank;
    value->is_ranked = rank > 0; /* the host says 0 where it does not know, too */
    for (uint32_t i = 0; i < value->rank; i++) {
        value->is_open = value->is_open || value->dim[i] < 0;
    }
    return VTA_OK;
}

/* The host does not say of every constant whether it has sizes: those of its data count. */
static vta_status read_constant(const OrtValueInfo *info, vtac_ort_value *value, vta_diag *diag)
{
    bool is_constant = false;
    OrtTensorTypeAndShapeInfo *tensor = NULL;
    size_t rank = 0;
    HOST_TRY(vtac_ort_host.ValueInfo_IsConstantInitializer(info, &is_constant));
    if (!is_constant) {
        return VTA_OK;
    }
    HOST_TRY(vtac_ort_host.ValueInfo_GetInitializerValue(info, &value->constant));
    if (value->constant == NULL) {
        return VTA_OK;
    }
    HOST_TRY(vtac_ort_host.GetTensorTypeAndShape(value->constant, &tensor));
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_ort_check(vtac_ort_host.GetTensorElementType(tensor, &value->type), diag));
    VTA_TRY_OUT(vtac_ort_check(vtac_ort_host.GetDimensionsCount(tensor, &rank), diag));
    value->is_ranked = rank <= ORT_MAX_RANK;
    value->is_open = false;
    value->rank = value->is_ranked ? (uint32_t)rank : 0;
    VTA_TRY_OUT(vtac_ort_check(vtac_ort_host.GetDimensions(tensor, value->dim, value->rank), diag));
out:
    vtac_ort_host.ReleaseTensorTypeAndShapeInfo(tensor);
    return status;
}

static vta_status read_value(graph_reader *r, const OrtValueInfo *info, const char *name)
{
    vtac_ort_value *value = &r->out->values[r->value_count];
    value->name = name;
    VTA_TRY(read_type(info, value, r->diag));
    VTA_TRY(read_constant(info, value, r->diag));
    r->constant[r->value_count++] = value->constant != NULL;
    return VTA_OK;
}

/* The number of a value, which is read where it is new; UINT32_MAX for one that is left out. */
static vta_status number_value(graph_reader *r, const OrtValueInfo *info, uint32_t *number)
{
    const char *name = "";
    *number = UINT32_MAX;
    if (info != NULL) {
        VTA_TRY(vtac_ort_check(vtac_ort_host.GetValueInfoName(info, &name), r->diag));
    }
    if (name[0] == '\0') {
        return VTA_OK;
    }
    size_t slot = vta_hash_text(VTA_HASH_START, name) % r->table.room;
    while (r->table.slots[slot] != 0) {
        *number = r->table.slots[slot] - 1;
        if (strcmp(r->out->values[*number].name, name) == 0) {
            return VTA_OK;
        }
        slot = (slot + 1) % r->table.room;
    }
    *number = r->value_count;
    r->table.slots[slot] = r->value_count + 1;
    return read_value(r, info, name);
}

static vta_status number_values(graph_reader *r, const OrtValueInfo **infos, size_t count, uint32_t **numbers)
{
    *numbers = take_room(r, count, sizeof **numbers);
    VTA_TRY(vta_allocated(*numbers != NULL, r->diag));
    for (size_t i = 0; i < count; i++) {
        VTA_TRY(number_value(r, infos[i], &(*numbers)[i]));
    }
    return VTA_OK;
}

/* ---- nodes */

static vtac_plug_node_kind kind_of(const vtac_ort_node *node)
{
    static const char *const passing[] = {"Relu", "Clip", "Reshape", "Flatten", "Squeeze", "Unsqueeze"};
    if (strcmp(node->op, "DequantizeLinear") == 0) {
        return VTAC_PLUG_DEQUANTIZE;
    }
    if (strcmp(node->op, "QuantizeLinear") == 0) {
        return VTAC_PLUG_QUANTIZE;
    }
    for (size_t i = 0; node->domain[0] == '\0' && i < sizeof passing / sizeof passing[0]; i++) {
        if (strcmp(node->op, passing[i]) == 0) {
            return VTAC_PLUG_PASSING;
        }
    }
    return VTAC_PLUG_PLAIN;
}

static vta_status read_ends(graph_reader *r, uint32_t i, size_t inputs, size_t outputs)
{
    vta_diag *diag = r->diag;
    vtac_plug_node *shape = &r->shapes[i];
    uint32_t *numbers = NULL;
    const OrtValueInfo **infos = take_room(r, inputs > outputs ? inputs : outputs, sizeof *infos);
    VTA_TRY(vta_allocated(infos != NULL, diag));
    HOST_TRY(vtac_ort_host.Node_GetInputs(r->nodes[i], infos, inputs));
    VTA_TRY(number_values(r, infos, inputs, &numbers));
    shape->inputs = numbers;
    shape->input_count = (uint32_t)inputs;
    HOST_TRY(vtac_ort_host.Node_GetOutputs(r->nodes[i], infos, outputs));
    VTA_TRY(number_values(r, infos, outputs, &numbers));
    shape->outputs = numbers;
    shape->output_count = (uint32_t)outputs;
    return VTA_OK;
}

static bool is_plain_tensor(const vtac_ort_graph *graph, uint32_t value)
{
    enum { TEXTS = 8 };
    return value == UINT32_MAX || (graph->values[value].is_ranked && graph->values[value].type != 0 &&
                                   graph->values[value].type != TEXTS);
}

/* Attributes that are graphs or lists of texts are not written. */
static vta_status check_attributes(const OrtNode *node, graph_reader *r, bool *plain)
{
    vta_diag *diag = r->diag;
    size_t count = 0;
    HOST_TRY(vtac_ort_host.Node_GetNumAttributes(node, &count));
    const OrtOpAttr **attributes = take_room(r, count, sizeof *attributes);
    VTA_TRY(vta_allocated(attributes != NULL, diag));
    HOST_TRY(vtac_ort_host.Node_GetAttributes(node, attributes, count));
    for (size_t i = 0; i < count; i++) {
        int type = 0;
        HOST_TRY(vtac_ort_host.OpAttr_GetType(attributes[i], &type));
        *plain = *plain && ((type >= ORT_ATTR_INT && type <= ORT_ATTR_STRING) || type == ORT_ATTR_TENSOR);
    }
    return VTA_OK;
}

static vta_status look_at_node(graph_reader *r, uint32_t i)
{
    vta_diag *diag = r->diag;
    vtac_ort_node *node = &r->out->nodes[i];
    const vtac_plug_node *shape = &r->shapes[i];
    size_t graphs = 0;
    HOST_TRY(vtac_ort_host.Node_GetNumSubgraphs(node->node, &graphs));
    node->is_known = graphs == 0 && vtac_plug_has_operator(node->domain, node->op);
    for (uint32_t k = 0; k < shape->input_count; k++) {
        node->is_known = node->is_known && is_plain_tensor(r->out, shape->inputs[k]);
    }
    for (uint32_t k = 0; k < shape->output_count; k++) {
        node->is_known = node->is_known && is_plain_tensor(r->out, shape->outputs[k]);
    }
    return check_attributes(node->node, r, &node->is_known);
}

static vta_status read_node(graph_reader *r, uint32_t i, size_t inputs, size_t outputs)
{
    vta_diag *diag = r->diag;
    vtac_ort_node *node = &r->out->nodes[i];
    node->node = r->nodes[i];
    HOST_TRY(vtac_ort_host.Node_GetOperatorType(node->node, &node->op));
    HOST_TRY(vtac_ort_host.Node_GetDomain(node->node, &node->domain));
    if (strcmp(node->domain, "ai.onnx") == 0) {
        node->domain = "";
    }
    VTA_TRY(read_ends(r, i, inputs, outputs));
    r->shapes[i].kind = kind_of(node);
    return look_at_node(r, i);
}

/* ---- the graph */

static vta_status make_room(graph_reader *r, size_t values, size_t nodes)
{
    r->table.room = 2 * values + 1;
    r->table.slots = take_room(r, r->table.room, sizeof *r->table.slots);
    r->out->values = take_room(r, values, sizeof *r->out->values);
    r->out->nodes = take_room(r, nodes, sizeof *r->out->nodes);
    r->shapes = take_room(r, nodes, sizeof *r->shapes);
    r->constant = take_room(r, values, sizeof *r->constant);
    r->kept = take_room(r, values, sizeof *r->kept);
    return vta_allocated(r->table.slots != NULL && r->out->values != NULL && r->out->nodes != NULL &&
                             r->shapes != NULL && r->constant != NULL && r->kept != NULL,
                         r->diag);
}

/* Values that the host reads at the end. */
static vta_status read_outputs(graph_reader *r, const OrtGraph *graph, size_t count)
{
    vta_diag *diag = r->diag;
    uint32_t *numbers = NULL;
    const OrtValueInfo **infos = take_room(r, count, sizeof *infos);
    VTA_TRY(vta_allocated(infos != NULL, diag));
    HOST_TRY(vtac_ort_host.Graph_GetOutputs(graph, infos, count));
    VTA_TRY(number_values(r, infos, count, &numbers));
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] != UINT32_MAX) {
            r->kept[numbers[i]] = true;
        }
    }
    return VTA_OK;
}

static vta_status count_ends(const OrtNode *node, size_t *inputs, size_t *outputs, vta_diag *diag)
{
    HOST_TRY(vtac_ort_host.Node_GetNumInputs(node, inputs));
    HOST_TRY(vtac_ort_host.Node_GetNumOutputs(node, outputs));
    return VTA_OK;
}

/* Room for every end of every node, each a value of its own at most. */
static vta_status count_values(const graph_reader *r, size_t nodes, size_t *count)
{
    size_t in = 0;
    size_t out = 0;
    for (size_t i = 0; i < nodes; i++) {
        VTA_TRY(count_ends(r->nodes[i], &in, &out, r->diag));
        *count += in + out;
    }
    return VTA_OK;
}

static vta_status read_nodes(graph_reader *r, size_t count)
{
    size_t in = 0;
    size_t out = 0;
    for (size_t i = 0; i < count; i++) {
        VTA_TRY(count_ends(r->nodes[i], &in, &out, r->diag));
        VTA_TRY(read_node(r, (uint32_t)i, in, out));
    }
    return VTA_OK;
}

static vta_status read_graph(graph_reader *r, const OrtGraph *graph)
{
    vta_diag *diag = r->diag;
    size_t count = 0;
    size_t outputs = 0;
    HOST_TRY(vtac_ort_host.Graph_GetNumNodes(graph, &count));
    HOST_TRY(vtac_ort_host.Graph_GetNumOutputs(graph, &outputs));
    r->nodes = take_room(r, count, sizeof *r->nodes);
    VTA_TRY(vta_allocated(r->nodes != NULL && count < UINT32_MAX / 2, diag));
    HOST_TRY(vtac_ort_host.Graph_GetNodes(graph, r->nodes, count));
    size_t values = outputs;
    VTA_TRY(count_values(r, count, &values));
    VTA_TRY(make_room(r, values, count));
    VTA_TRY(read_nodes(r, count));
    VTA_TRY(read_outputs(r, graph, outputs));
    r->out->shape = (vtac_plug_graph){.nodes = r->shapes,
                                      .node_count = (uint32_t)count,
                                      .value_count = r->value_count,
                                      .constant = r->constant,
                                      .kept = r->kept};
    return VTA_OK;
}

vta_status vtac_ort_graph_read(const OrtGraph *graph, vtac_ort_graph *out, vta_diag *diag)
{
    *out = (vtac_ort_graph){.graph = graph};
    graph_reader r = {.out = out, .diag = diag};
    return read_graph(&r, graph);
}

void vtac_ort_graph_free(vtac_ort_graph *graph)
{
    vta_arena_free(&graph->arena);
}
