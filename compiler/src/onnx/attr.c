/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes of ONNX nodes in our terms.
 */
#include <string.h>

#include "import.h"
#include "vta/fail.h"

/* A terminated copy of protobuf bytes. */
static const char *keep_text(vtac_importer *im, const ProtobufCBinaryData *bytes)
{
    return vta_arena_string(&im->graph->arena, bytes->len == 0 ? "" : (const char *)bytes->data, bytes->len);
}

static vta_status attr_lists(vtac_importer *im, const Onnx__AttributeProto *from, vtac_attr *to,
                             vta_diag *diag)
{
    if (from->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS) {
        to->kind = VTAC_ATTR_INTS;
        to->count = from->n_ints;
        to->ints = from->ints;
        return VTA_OK;
    }
    if (from->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS) {
        double *floats = vta_arena_array(&im->graph->arena, from->n_floats, sizeof *floats);
        for (size_t i = 0; floats != NULL && i < from->n_floats; i++) {
            floats[i] = (double)from->floats[i];
        }
        to->kind = VTAC_ATTR_FLOATS;
        to->count = from->n_floats;
        to->floats = floats;
        return vta_allocated(floats != NULL, diag);
    }

    const char **strings = vta_arena_array(&im->graph->arena, from->n_strings, sizeof *strings);
    for (size_t i = 0; strings != NULL && i < from->n_strings; i++) {
        strings[i] = keep_text(im, &from->strings[i]);
    }
    to->kind = VTAC_ATTR_STRINGS;
    to->count = from->n_strings;
    to->strings = strings;
    return vta_allocated(strings != NULL, diag);
}

bool vtac_names_a_type(const char *attr)
{
    return strcmp(attr, "to") == 0 || strcmp(attr, "dtype") == 0 || strcmp(attr, "output_dtype") == 0 ||
           strcmp(attr, "output_datatype") == 0 || strcmp(attr, "precision") == 0 ||
           strcmp(attr, "softmax_precision") == 0;
}

static vta_status attr_int(const Onnx__AttributeProto *from, vtac_attr *to, vta_diag *diag)
{
    to->kind = VTAC_ATTR_INT;
    to->i = from->i;
    if (vtac_names_a_type(to->name) && from->i != 0) {
        vtac_dtype dtype;
        VTA_TRY(vtac_import_dtype(from->i, &dtype, diag));
        to->kind = VTAC_ATTR_STRING;
        to->s = vtac_dtype_name(dtype);
    }
    return VTA_OK;
}

vta_status vtac_import_attr(vtac_importer *im, const Onnx__AttributeProto *from, vtac_attr *to,
                            vta_diag *diag)
{
    *to = (vtac_attr){.name = vtac_proto_text(from->name)};
    switch (from->type) { /* a file may hold any number */
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT: return attr_int(from, to, diag);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        to->kind = VTAC_ATTR_FLOAT;
        to->f = (double)from->f;
        return VTA_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        to->kind = VTAC_ATTR_STRING;
        to->s = keep_text(im, &from->s);
        return vta_allocated(to->s != NULL, diag);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
        to->kind = VTAC_ATTR_TENSOR;
        return from->t != NULL ? vtac_import_any_tensor(im, from->t, &to->tensor, diag)
                               : vta_fail(diag, VTA_INVALID, "attribute '%s' has no tensor", to->name);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS: return attr_lists(im, from, to, diag);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED:
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH:
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSOR:
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TYPE_PROTO:
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSORS:
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPHS:
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSORS:
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TYPE_PROTOS:
    case _ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE_IS_INT_SIZE: break;
    }
    return vta_fail(diag, VTA_UNSUPPORTED, "attribute '%s' has a kind that is not supported", to->name);
}

/* An attribute of the node itself, or, inside a function, the caller's that it refers to. */
const Onnx__AttributeProto *vtac_resolve_attr(const Onnx__AttributeProto *attr, const Onnx__NodeProto *caller)
{
    if (attr->ref_attr_name == NULL || attr->ref_attr_name[0] == '\0') {
        return attr;
    }
    for (size_t i = 0; caller != NULL && i < caller->n_attribute; i++) {
        if (strcmp(vtac_proto_text(caller->attribute[i]->name), attr->ref_attr_name) == 0) {
            return caller->attribute[i];
        }
    }
    return NULL;
}

const Onnx__AttributeProto *vtac_proto_attr(const Onnx__NodeProto *node, const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++) {
        if (strcmp(vtac_proto_text(node->attribute[i]->name), name) == 0) {
            return node->attribute[i];
        }
    }
    return NULL;
}
