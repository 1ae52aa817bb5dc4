/* SPDX-License-Identifier: Apache-2.0
 *
 * A region of the host's graph as an ONNX file: protobuf as ONNX's schema numbers it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort.h"
#include "vta/fail.h"
#include "vta/str.h"

#define HOST_TRY(call) VTA_TRY(vtac_ort_check(call, diag))

/* Numbers of ONNX's schema. */
enum { MODEL_IR = 1, MODEL_GRAPH = 7, MODEL_OPSET = 8, OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum { ATTR_NAME = 1, ATTR_F = 2, ATTR_I = 3, ATTR_S = 4, ATTR_T = 5, ATTR_FLOATS = 7, ATTR_INTS = 8 };
enum { ATTR_TYPE = 20, TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, TENSOR_ELEM = 1, TENSOR_SHAPE = 2 };
enum { SHAPE_DIM = 1, DIM_VALUE = 1, IR_VERSION = 8 };
enum { WIRE_VARINT = 0, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* ---- protobuf */

static void put_varint(vta_str *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t count = 0;
    do {
        bytes[count++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value != 0);
    vta_str_append(out, bytes, count);
}

static void put_number(vta_str *out, int field, int64_t value)
{
    put_varint(out, (uint64_t)field << 3 | WIRE_VARINT);
    put_varint(out, (uint64_t)value);
}

static void put_bytes(vta_str *out, int field, const void *bytes, size_t size)
{
    put_varint(out, (uint64_t)field << 3 | WIRE_BYTES);
    put_varint(out, size);
    vta_str_append(out, bytes, size);
}

static void put_text(vta_str *out, int field, const char *text)
{
    put_bytes(out, field, text, strlen(text));
}

/* A message inside another; the inner one is used up. */
static void put_message(vta_str *out, int field, vta_str *inner)
{
    put_bytes(out, field, inner->text != NULL ? inner->text : "", inner->size);
    out->failed = out->failed || inner->failed;
    vta_str_free(inner);
}

/* ---- tensors */

uint32_t vtac_ort_bits(int type)
{
    static const uint8_t bits[] = {0,  32, 8,  8,   16, 16, 32, 64, 0, 8, 16, 64,
                                   32, 64, 64, 128, 16, 8,  8,  8,  8, 4, 4};
    return type > 0 && (size_t)type < sizeof bits ? bits[type] : 0;
}

static vta_status put_tensor(vta_str *out, int field, const char *name, const OrtValue *tensor,
                             const vtac_ort_value *value, vta_diag *diag)
{
    const void *data = NULL;
    vta_str inner = {0};
    uint64_t count = 1;
    for (uint32_t i = 0; i < value->rank; i++) {
        put_number(&inner, TENSOR_DIMS, value->dim[i]);
        if (__builtin_mul_overflow(count, (uint64_t)value->dim[i], &count) || count > UINT64_MAX / 128) {
            vta_str_free(&inner);
            return vta_fail(diag, VTA_RANGE, "constant '%s' has more elements than fit", value->name);
        }
    }
    put_number(&inner, TENSOR_TYPE, value->type);
    put_text(&inner, TENSOR_NAME, name);
    const vta_status status =
        count == 0 ? VTA_OK : vtac_ort_check(vtac_ort_host.GetTensorData(tensor, &data), diag);
    if (status == VTA_OK) {
        put_bytes(&inner, TENSOR_RAW, data != NULL ? data : "",
                  (size_t)((count * vtac_ort_bits(value->type) + 7) / 8));
        put_message(out, field, &inner);
    }
    vta_str_free(&inner);
    return status;
}

static void put_value(vta_str *out, int field, const char *name, const vtac_ort_value *value, bool assume)
{
    vta_str shape = {0};
    vta_str tensor = {0};
    vta_str type = {0};
    vta_str inner = {0};
    for (uint32_t i = 0; i < value->rank; i++) {
        vta_str dim = {0};
        if (value->dim[i] >= 0 || assume) {
            put_number(&dim, DIM_VALUE, value->dim[i] >= 0 ? value->dim[i] : 1);
        }
        put_message(&shape, SHAPE_DIM, &dim);
    }
    put_number(&tensor, TENSOR_ELEM, value->type);
    put_message(&tensor, TENSOR_SHAPE, &shape);
    put_message(&type, TYPE_TENSOR, &tensor);
    put_text(&inner, VALUE_NAME, name);
    put_message(&inner, VALUE_TYPE, &type);
    put_message(out, field, &inner);
}

/* ---- attributes */

typedef struct attribute_bytes {
    uint8_t *bytes;
    size_t size;
} attribute_bytes;

/* The bytes of an attribute, as many as there are; owned. */
static vta_status read_attribute(const OrtOpAttr *attribute, int type, attribute_bytes *out, vta_diag *diag)
{
    size_t room = 256;
    for (int tries = 0; tries < 2; tries++) {
        out->bytes = malloc(room);
        VTA_TRY(vta_allocated(out->bytes != NULL, diag));
        vta_diag why = {0};
        out->size = 0;
        if (vtac_ort_check(vtac_ort_host.ReadOpAttr(attribute, type, out->bytes, room, &out->size), &why) ==
            VTA_OK) {
            return VTA_OK;
        }
        free(out->bytes);
        out->bytes = NULL;
        if (out->size <= room) {
            return vta_fail(diag, VTA_INVALID, "%s", why.text);
        }
        room = out->size;
    }
    return vta_fail(diag, VTA_INVALID, "an attribute changes its size as it is read");
}

static void put_list(vta_str *out, int type, const attribute_bytes *a)
{
    for (size_t at = 0; at + sizeof(int64_t) <= a->size && type == ORT_ATTR_INTS; at += sizeof(int64_t)) {
        int64_t number;
        memcpy(&number, a->bytes + at, sizeof number);
        put_number(out, ATTR_INTS, number);
    }
    for (size_t at = 0; at + sizeof(float) <= a->size && type == ORT_ATTR_FLOATS; at += sizeof(float)) {
        put_varint(out, ATTR_FLOATS << 3 | WIRE_FIXED32);
        vta_str_append(out, a->bytes + at, sizeof(float)); /* as this machine has it: little-endian */
    }
}

static void put_plain(vta_str *out, int type, const attribute_bytes *a)
{
    int64_t number = 0;
    if (type == ORT_ATTR_INT && a->size == sizeof number) {
        memcpy(&number, a->bytes, sizeof number);
        put_number(out, ATTR_I, number);
    } else if (type == ORT_ATTR_FLOAT && a->size == sizeof(float)) {
        put_varint(out, ATTR_F << 3 | WIRE_FIXED32);
        vta_str_append(out, a->bytes, sizeof(float));
    } else if (type == ORT_ATTR_STRING) {
        put_bytes(out, ATTR_S, a->bytes, a->size);
    } else {
        put_list(out, type, a);
    }
}

static vta_status put_tensor_attribute(vta_str *out, const OrtOpAttr *attribute, vta_diag *diag)
{
    OrtValue *tensor = NULL;
    OrtTensorTypeAndShapeInfo *info = NULL;
    vtac_ort_value value = {.name = "attribute"};
    size_t rank = 0;
    HOST_TRY(vtac_ort_host.OpAttr_GetTensorAttributeAsOrtValue(attribute, &tensor));
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_ort_check(vtac_ort_host.GetTensorTypeAndShape(tensor, &info), diag));
    VTA_TRY_OUT(vtac_ort_check(vtac_ort_host.GetTensorElementType(info, &value.type), diag));
    VTA_TRY_OUT(vtac_ort_check(vtac_ort_host.GetDimensionsCount(info, &rank), diag));
    value.rank = (uint32_t)(rank < ORT_MAX_RANK ? rank : ORT_MAX_RANK);
    VTA_TRY_OUT(vtac_ort_check(vtac_ort_host.GetDimensions(info, value.dim, value.rank), diag));
    VTA_TRY_OUT(put_tensor(out, ATTR_T, "", tensor, &value, diag));
out:
    if (info != NULL) {
        vtac_ort_host.ReleaseTensorTypeAndShapeInfo(info);
    }
    vtac_ort_host.ReleaseValue(tensor);
    return status;
}

/* ONNX's number of an attribute's type, by the host's. */
static int onnx_type_of(int type)
{
    static const int types[] = {[ORT_ATTR_INT] = 2,    [ORT_ATTR_INTS] = 7,   [ORT_ATTR_FLOAT] = 1,
                                [ORT_ATTR_FLOATS] = 6, [ORT_ATTR_STRING] = 3, [ORT_ATTR_TENSOR] = 4};
    return type > 0 && (size_t)type < sizeof types / sizeof types[0] ? types[type] : 0;
}

static vta_status put_attribute(vta_str *out, const OrtOpAttr *attribute, vta_diag *diag)
{
    const char *name = NULL;
    int type = 0;
    vta_str inner = {0};
    attribute_bytes a = {0};
    HOST_TRY(vtac_ort_host.OpAttr_GetName(attribute, &name));
    HOST_TRY(vtac_ort_host.OpAttr_GetType(attribute, &type));
    put_text(&inner, ATTR_NAME, name);
    put_number(&inner, ATTR_TYPE, onnx_type_of(type));
    vta_status status = type == ORT_ATTR_TENSOR ? put_tensor_attribute(&inner, attribute, diag)
                                                : read_attribute(attribute, type, &a, diag);
    if (status == VTA_OK) {
        put_plain(&inner, type, &a);
        put_message(out, NODE_ATTRIBUTE, &inner);
    }
    free(a.bytes);
    vta_str_free(&inner);
    return status;
}

static vta_status put_attributes(vta_str *out, const OrtNode *node, vta_diag *diag)
{
    size_t count = 0;
    HOST_TRY(vtac_ort_host.Node_GetNumAttributes(node, &count));
    const OrtOpAttr **attributes = calloc(count + 1, sizeof *attributes);
    VTA_TRY(vta_allocated(attributes != NULL, diag));
    vta_status status = vtac_ort_check(vtac_ort_host.Node_GetAttributes(node, attributes, count), diag);
    for (size_t i = 0; i < count && status == VTA_OK; i++) {
        status = put_attribute(out, attributes[i], diag);
    }
    free(attributes);
    return status;
}

/* ---- the graph */

typedef struct onnx_writer {
    const vtac_ort_graph *graph;
    const int32_t *regions;
    int32_t region;
    bool assume;
    char (*names)[16]; /* by value; "": not met yet */
    uint32_t met;
    vta_str text; /* of the graph */
} onnx_writer;

/* The name of a value; a constant is written where it is met first. */
static vta_status name_value(onnx_writer *w, uint32_t value, const char **name, vta_diag *diag)
{
    *name = "";
    if (value == UINT32_MAX) {
        return VTA_OK;
    }
    const vtac_ort_value *v = &w->graph->values[value];
    *name = w->names[value];
    if (w->names[value][0] == '\0') {
        (void)snprintf(w->names[value], sizeof w->names[value], "v%u", w->met++);
        return v->constant != NULL ? put_tensor(&w->text, GRAPH_INITIALIZER, *name, v->constant, v, diag)
                                   : VTA_OK;
    }
    return VTA_OK;
}

static vta_status put_node(onnx_writer *w, uint32_t i, vta_diag *diag)
{
    const vtac_ort_node *node = &w->graph->nodes[i];
    const vtac_plug_node *shape = &w->graph->shape.nodes[i];
    const char *name = NULL;
    char own[16];
    vta_str inner = {0};
    vta_status status = VTA_OK;
    for (uint32_t k = 0; k < shape->input_count; k++) {
        VTA_TRY_OUT(name_value(w, shape->inputs[k], &name, diag));
        put_text(&inner, NODE_INPUT, name);
    }
    for (uint32_t k = 0; k < shape->output_count; k++) {
        VTA_TRY_OUT(name_value(w, shape->outputs[k], &name, diag));
        put_text(&inner, NODE_OUTPUT, name);
    }
    (void)snprintf(own, sizeof own, "n%u", i);
    put_text(&inner, NODE_NAME, own);
    put_text(&inner, NODE_OP, node->op);
    put_text(&inner, NODE_DOMAIN, node->domain);
    VTA_TRY_OUT(put_attributes(&inner, node->node, diag));
    put_message(&w->text, GRAPH_NODE, &inner);
out:
    vta_str_free(&inner);
    return status;
}

static vta_status put_opsets(const OrtGraph *graph, vta_str *out, vta_diag *diag)
{
    size_t count = 0;
    HOST_TRY(vtac_ort_host.Graph_GetNumOperatorSets(graph, &count));
    const char **domains = calloc(count + 1, sizeof *domains);
    int64_t *versions = calloc(count + 1, sizeof *versions);
    vta_status status = vta_allocated(domains != NULL && versions != NULL, diag);
    if (status == VTA_OK) {
        status = vtac_ort_check(vtac_ort_host.Graph_GetOperatorSets(graph, domains, versions, count), diag);
    }
    for (size_t i = 0; i < count && status == VTA_OK; i++) {
        vta_str inner = {0};
        put_text(&inner, OPSET_DOMAIN, strcmp(domains[i], "ai.onnx") == 0 ? "" : domains[i]);
        put_number(&inner, OPSET_VERSION, versions[i]);
        put_message(out, MODEL_OPSET, &inner);
    }
    free(domains);
    free(versions);
    return status;
}

static void name_border(onnx_writer *w, const vtac_plug_border *border)
{
    for (uint32_t i = 0; i < border->input_count; i++) {
        char *name = w->names[border->inputs[i]];
        (void)snprintf(name, sizeof w->names[0], "i%u", i);
        put_value(&w->text, GRAPH_INPUT, name, &w->graph->values[border->inputs[i]], w->assume);
    }
    for (uint32_t i = 0; i < border->output_count; i++) {
        char *name = w->names[border->outputs[i]];
        (void)snprintf(name, sizeof w->names[0], "o%u", i);
        put_value(&w->text, GRAPH_OUTPUT, name, &w->graph->values[border->outputs[i]], w->assume);
    }
}

static vta_status write_model(onnx_writer *w, const vtac_plug_border *border, vta_str *out, vta_diag *diag)
{
    put_number(out, MODEL_IR, IR_VERSION);
    put_text(&w->text, GRAPH_NAME, "part");
    name_border(w, border);
    for (uint32_t i = 0; i < w->graph->shape.node_count; i++) {
        if (w->regions[i] == w->region) {
            VTA_TRY(put_node(w, i, diag));
        }
    }
    put_message(out, MODEL_GRAPH, &w->text);
    return put_opsets(w->graph->graph, out, diag);
}

vta_status vtac_ort_write(const vtac_ort_graph *graph, const int32_t *regions, int32_t region,
                          const vtac_plug_border *border, bool assume, vta_str *out, vta_diag *diag)
{
    onnx_writer w = {.graph = graph, .regions = regions, .region = region, .assume = assume};
    *out = (vta_str){0};
    w.names = calloc((size_t)graph->shape.value_count + 1, sizeof *w.names);
    VTA_TRY(vta_allocated(w.names != NULL, diag));
    vta_status status = write_model(&w, border, out, diag);
    if (status == VTA_OK) {
        status = vta_allocated(!out->failed, diag);
    }
    vta_str_free(&w.text);
    free(w.names);
    return status;
}
