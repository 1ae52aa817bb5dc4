/* SPDX-License-Identifier: Apache-2.0
 *
 * The model's inputs: their types, and the sizes that the model leaves open.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "vtac/flow.h"

static void note_text(const vtac_importer *im, const char *text)
{
    if (im->options != NULL && im->options->note != NULL) {
        im->options->note(im->options->context, text);
    }
}

static const vtac_shape_option *shape_option(const vtac_importer *im, const char *name)
{
    for (uint32_t i = 0; im->options != NULL && i < im->options->shape_count; i++) {
        if (strcmp(im->options->shapes[i].name, name) == 0) {
            return &im->options->shapes[i];
        }
    }
    return NULL;
}

static vta_status input_dim(const vtac_importer *im, const char *name,
                            const Onnx__TensorShapeProto__Dimension *dim, uint32_t axis,
                            const vtac_shape_option *option, int64_t *out, vta_diag *diag)
{
    const bool fixed =
        dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && dim->dim_value > 0;
    const char *symbol =
        dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM ? dim->dim_param : "?";
    *out = fixed ? dim->dim_value : 1;
    if (option != NULL) {
        if (fixed && option->dim[axis] != dim->dim_value) {
            return vta_fail(diag, VTA_INVALID, "input '%s': axis %u is %lld in the model, not %lld", name,
                            axis, (long long)dim->dim_value, (long long)option->dim[axis]);
        }
        *out = option->dim[axis];
    } else if (!fixed && axis == 0) {
        char text[256];
        (void)snprintf(text, sizeof text, "input '%s': batch dimension '%s' taken as 1", name, symbol);
        note_text(im, text);
    } else if (!fixed) {
        return vta_fail(diag, VTA_INVALID,
                        "input '%s': axis %u ('%s') has no size; give it with --shape %s=...", name, axis,
                        symbol, name);
    }
    return VTA_OK;
}

static vta_status input_type(const vtac_importer *im, const Onnx__ValueInfoProto *info, vtac_type *type,
                             vta_diag *diag)
{
    const char *name = vtac_proto_text(info->name);
    const Onnx__TypeProto__Tensor *tensor =
        info->type != NULL && info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
            ? info->type->tensor_type
            : NULL;
    if (tensor == NULL) {
        return vta_fail(diag, VTA_UNSUPPORTED, "input '%s' is not a tensor", name);
    }
    *type = (vtac_type){.rank = 0};
    VTA_TRY(vtac_import_dtype(tensor->elem_type, &type->dtype, diag));
    if (type->dtype == VTAC_TEXT) {
        return vta_fail(diag, VTA_UNSUPPORTED, "input '%s' is of texts, which are taken at run time alone",
                        name);
    }
    const vtac_shape_option *option = shape_option(im, name);
    if (option != NULL && im->options->shapes_hold) {
        type->rank = option->rank;
        memcpy(type->dim, option->dim, sizeof type->dim);
        return VTA_OK;
    }
    if (tensor->shape == NULL && option == NULL) {
        return vta_fail(diag, VTA_INVALID, "input '%s' has no shape; give it with --shape %s=...", name,
                        name);
    }

    const size_t rank = tensor->shape != NULL ? tensor->shape->n_dim : option->rank;
    if (rank > VTAC_MAX_RANK || (option != NULL && option->rank != rank)) {
        return vta_fail(diag, VTA_INVALID, "input '%s' has %zu axes, given are %u (at most %d)", name, rank,
                        option != NULL ? option->rank : (uint32_t)rank, VTAC_MAX_RANK);
    }
    type->rank = (uint32_t)rank;
    for (uint32_t i = 0; i < type->rank; i++) {
        if (tensor->shape == NULL) {
            type->dim[i] = option->dim[i];
            continue;
        }
        VTA_TRY(input_dim(im, name, tensor->shape->dim[i], i, option, &type->dim[i], diag));
    }
    char text[160];
    return vtac_type_elements(type) >= 0 ? VTA_OK
                                         : vta_fail(diag, VTA_RANGE, "input '%s' is %s, which is too large",
                                                    name, vtac_type_text(type, text, sizeof text));
}

vta_status vtac_import_inputs(vtac_importer *im, vtac_scope *scope, vta_diag *diag)
{
    const Onnx__GraphProto *graph = im->model->graph;
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *name = vtac_proto_text(graph->input[i]->name);
        vtac_value_id value;
        if (vtac_scope_get(scope, name, &value)) {
            continue; /* an initializer that old models list as an input, too */
        }
        vtac_type type;
        VTA_TRY(input_type(im, graph->input[i], &type, diag));
        VTA_TRY(vtac_add_input(im->graph, name, &type, &value, diag));
        VTA_TRY(vtac_scope_set(scope, name, value, diag));
    }
    return vtac_check_shape_options(im, diag);
}

vta_status vtac_check_shape_options(const vtac_importer *im, vta_diag *diag)
{
    const Onnx__GraphProto *graph = im->model->graph;
    for (uint32_t i = 0; im->options != NULL && i < im->options->shape_count; i++) {
        bool found = false;
        for (size_t k = 0; k < graph->n_input; k++) {
            found = found || strcmp(vtac_proto_text(graph->input[k]->name), im->options->shapes[i].name) == 0;
        }
        if (!found) {
            return vta_fail(diag, VTA_INVALID, "--shape names '%s', which is no input of the model",
                            im->options->shapes[i].name);
        }
    }
    return VTA_OK;
}

/* A size of an input of which some stay open. */
static vta_status open_dim(const vtac_importer *im, const char *name,
                           const Onnx__TensorShapeProto__Dimension *dim, uint32_t axis,
                           const vtac_shape_option *option, int64_t *out, vta_diag *diag)
{
    const bool fixed =
        dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && dim->dim_value > 0;
    if (!fixed && option != NULL && option->max[axis] > 0) {
        *out = -2 - (option->dim[axis] | option->max[axis] << 31);
        return VTA_OK;
    }
    if (!fixed && option == NULL && im->options != NULL && im->options->dynamic) {
        *out = -1;
        return VTA_OK;
    }
    return input_dim(im, name, dim, axis, option, out, diag);
}

vta_status vtac_import_input(const vtac_importer *im, const Onnx__ValueInfoProto *info, vtac_flow_end *out,
                             vta_diag *diag)
{
    const char *name = vtac_proto_text(info->name);
    const Onnx__TypeProto__Tensor *tensor =
        info->type != NULL && info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
            ? info->type->tensor_type
            : NULL;
    const vtac_shape_option *option = shape_option(im, name);
    out->kind = VTA_FLOW_TENSOR;
    if (tensor != NULL && tensor->shape == NULL && option == NULL && im->options != NULL &&
        im->options->dynamic) {
        out->rank = -1;
        return vtac_import_dtype(tensor->elem_type, &out->dtype, diag);
    }
    if (tensor == NULL || tensor->shape == NULL || tensor->shape->n_dim > VTAC_MAX_RANK ||
        (option != NULL && option->rank != tensor->shape->n_dim)) {
        vtac_type type;
        VTA_TRY(input_type(im, info, &type, diag));
        out->dtype = type.dtype;
        out->rank = (int32_t)type.rank;
        for (uint32_t i = 0; i < type.rank; i++) {
            const int64_t max = option != NULL ? option->max[i] : 0;
            out->dim[i] = max > 0 ? -2 - (type.dim[i] | max << 31) : type.dim[i];
        }
        return VTA_OK;
    }
    VTA_TRY(vtac_import_dtype(tensor->elem_type, &out->dtype, diag));
    out->rank = (int32_t)tensor->shape->n_dim;
    for (uint32_t i = 0; i < tensor->shape->n_dim; i++) {
        VTA_TRY(open_dim(im, name, tensor->shape->dim[i], i, option, &out->dim[i], diag));
    }
    return VTA_OK;
}

vta_status vtac_shape_parse(const char *text, char *name, size_t name_size, vtac_shape_option *out,
                            vta_diag *diag)
{
    const char *equals = strrchr(text, '=');
    if (equals == NULL || equals == text || (size_t)(equals - text) >= name_size) {
        return vta_fail(diag, VTA_SYNTAX, "'%s' is not NAME=AxBxC", text);
    }
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = '\0';
    *out = (vtac_shape_option){.name = name};
    for (const char *p = equals + 1; *p != '\0';) {
        char *end;
        const bool range = *p == '(';
        const long long dim = strtoll(p + range, &end, 10);
        long long max = 0;
        bool good = end != p + range && dim >= 0;
        if (good && range) {
            const char *second = end + 2;
            good = strncmp(end, "..", 2) == 0;
            max = good ? strtoll(second, &end, 10) : 0;
            good = good && end != second && max >= dim && max > 0 && max < INT64_C(1) << 31 && *end++ == ')';
        }
        if (!good || (*end != 'x' && *end != '\0') || out->rank >= VTAC_MAX_RANK ||
            (*end == 'x' && end[1] == '\0')) {
            return vta_fail(diag, VTA_SYNTAX, "'%s' is not NAME=AxBxC with at most %d sizes or ranges (A..B)",
                            text, VTAC_MAX_RANK);
        }
        out->max[out->rank] = max;
        out->dim[out->rank++] = dim;
        p = *end == 'x' ? end + 1 : end;
    }
    return VTA_OK;
}
