/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of a decoder whose cache gets a fixed size: which of them are caches, which say only how long
 * the past is, and the sizes that all of them have then.
 */
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "vta/fail.h"
#include "vtac/states.h"

static const struct length_row {
    const char *name;
    vtac_context_kind kind;
} lengths[] = {
#define VTAC_LENGTH(name, kind) {name, VTAC_CONTEXT_##kind},
#include "context.def"
};

static Onnx__TensorShapeProto *shape_of(const Onnx__ValueInfoProto *info)
{
    const Onnx__TypeProto *type = info->type;
    return type != NULL && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? type->tensor_type->shape
                                                                                   : NULL;
}

static bool is_open(const Onnx__TensorShapeProto__Dimension *dim)
{
    return dim->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE || dim->dim_value <= 0;
}

static void set_dim(Onnx__TensorShapeProto__Dimension *dim, int64_t size)
{
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
        dim->dim_param != protobuf_c_empty_string) {
        free(dim->dim_param);
    }
    dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    dim->dim_value = size;
}

static bool is_initializer(const Onnx__GraphProto *graph, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < graph->n_initializer; i++) {
        found = found || strcmp(vtac_proto_text(graph->initializer[i]->name), name) == 0;
    }
    return found;
}

/* True if an output of the model is this input's value at the next run. */
static bool has_partner(const Onnx__GraphProto *graph, const vtac_import_options *options, const char *name)
{
    bool found = false;
    for (uint32_t i = 0; i < options->state_name_count; i++) {
        found = found || strcmp(options->state_names[i].input, name) == 0;
    }
    for (size_t i = 0; i < graph->n_output; i++) {
        found = found || vtac_state_names_fit(name, vtac_proto_text(graph->output[i]->name));
    }
    return found;
}

/* True if an operator takes this input that writes into a cache, whose size stays. */
static bool is_written_into(const Onnx__GraphProto *graph, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[i];
        const char *type = vtac_proto_text(node->op_type);
        for (size_t k = 0; k < node->n_input; k++) {
            found =
                found || (strcmp(vtac_proto_text(node->input[k]), name) == 0 &&
                          (strcmp(type, "GroupQueryAttention") == 0 || strcmp(type, "TensorScatter") == 0));
        }
    }
    return found;
}

static vtac_context_kind kind_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        if (strcmp(lengths[i].name, name) == 0) {
            return lengths[i].kind;
        }
    }
    return VTAC_CONTEXT_GIVEN;
}

static vta_status read_cache(const Onnx__GraphProto *graph, const char *name, vtac_context_input *in,
                             vta_diag *diag)
{
    const uint32_t inner = in->open & ~1U; /* axis 0 is the batch */
    if (inner == 0) {
        return VTA_OK;
    }
    if ((inner & (inner - 1)) != 0) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "--context: the cache '%s' has more than one open size besides its batch", name);
    }
    in->kind = is_written_into(graph, name) ? VTAC_CONTEXT_HELD : VTAC_CONTEXT_APPENDED;
    while (inner >> in->axis != 1) {
        in->axis++;
    }
    return VTA_OK;
}

static vta_status read_input(const vtac_context *c, size_t i, vta_diag *diag)
{
    const Onnx__GraphProto *graph = c->model->graph;
    const char *name = vtac_proto_text(graph->input[i]->name);
    const Onnx__TensorShapeProto *shape = shape_of(graph->input[i]);
    vtac_context_input *in = &c->inputs[i];
    if (shape == NULL || shape->n_dim > VTAC_MAX_RANK || is_initializer(graph, name)) {
        return VTA_OK;
    }
    for (uint32_t k = 0; k < shape->n_dim; k++) {
        in->open |= is_open(shape->dim[k]) ? 1U << k : 0;
    }
    in->kind = kind_by_name(name);
    return in->kind == VTAC_CONTEXT_GIVEN && has_partner(graph, c->options, name)
               ? read_cache(graph, name, in, diag)
               : VTA_OK;
}

vta_status vtac_context_read(vtac_context *c, vta_diag *diag)
{
    bool any = false;
    for (size_t i = 0; i < c->model->graph->n_input; i++) {
        VTA_TRY(read_input(c, i, diag));
        c->appends = c->appends || c->inputs[i].kind == VTAC_CONTEXT_APPENDED;
        any = any || c->inputs[i].kind == VTAC_CONTEXT_APPENDED || c->inputs[i].kind == VTAC_CONTEXT_HELD;
    }
    return any ? VTA_OK
               : vta_fail(
                     diag, VTA_INVALID,
                     "--context: no input of it is a cache of open size, with an output that is its value "
                     "at the next run; --state IN=OUT names such");
}

/* ---- sizes */

static int64_t size_of(const vtac_context *c, const vtac_context_input *in, uint32_t axis, uint32_t rank,
                       int64_t room)
{
    const bool cache = in->kind == VTAC_CONTEXT_APPENDED || in->kind == VTAC_CONTEXT_HELD;
    if (cache && axis == in->axis) {
        return in->kind == VTAC_CONTEXT_HELD ? room : room - c->step;
    }
    if (in->kind == VTAC_CONTEXT_ONES && axis + 1 == rank) {
        return room;
    }
    const bool lists = in->kind == VTAC_CONTEXT_PLACES && axis + 1 == rank;
    return (axis == 0 && !lists) || (in->kind == VTAC_CONTEXT_ONES && axis == 1) ? 1 : c->step;
}

/* Element of a constant of the kind, as the bytes of its type. */
static void write_element(vtac_dtype dtype, double value, uint8_t *at)
{
    const float real = (float)value;
    const int64_t whole = (int64_t)value;
    if (dtype == VTAC_F32) {
        memcpy(at, &real, sizeof real);
    } else {
        memcpy(at, &whole, vtac_dtype_bytes(dtype));
    }
}

static double constant_of(const vtac_context_input *in, const vtac_type *type, int64_t room)
{
    const bool added = type->dtype == VTAC_F32 && type->rank > 2;
    return in->kind == VTAC_CONTEXT_ROOM ? (double)room : in->kind == VTAC_CONTEXT_ONES && added ? 0.0 : 1.0;
}

static vta_status fill_tensor(Onnx__TensorProto *tensor, const Onnx__ValueInfoProto *info,
                              const vtac_context_input *in, int64_t room, vta_diag *diag)
{
    const Onnx__TensorShapeProto *shape = shape_of(info);
    vtac_type type = {.rank = (uint32_t)shape->n_dim};
    VTA_TRY(vtac_import_dtype(info->type->tensor_type->elem_type, &type.dtype, diag));
    const char kind = vtac_dtype_kind(type.dtype);
    if (type.dtype != VTAC_F32 && kind != 'i' && kind != 'u' && kind != 'b') {
        return vta_fail(diag, VTA_UNSUPPORTED, "--context: the input '%s' is of type %s",
                        vtac_proto_text(info->name), vtac_dtype_name(type.dtype));
    }
    for (uint32_t k = 0; k < type.rank; k++) {
        type.dim[k] = tensor->dims[k] = shape->dim[k]->dim_value;
    }
    const size_t bytes = vtac_dtype_bytes(type.dtype);
    const int64_t elements = vtac_type_elements(&type);
    free(tensor->raw_data.data);
    tensor->data_type = info->type->tensor_type->elem_type;
    tensor->has_data_type = tensor->has_raw_data = 1;
    tensor->raw_data.len = (size_t)elements * bytes;
    tensor->raw_data.data = malloc(tensor->raw_data.len + 1);
    for (int64_t k = 0; tensor->raw_data.data != NULL && k < elements; k++) {
        write_element(type.dtype, constant_of(in, &type, room), tensor->raw_data.data + (size_t)k * bytes);
    }
    return vta_allocated(tensor->raw_data.data != NULL, diag);
}

/* An empty tensor of the model for input i, which stays the model's. */
static Onnx__TensorProto *add_tensor(const vtac_context *c, size_t i)
{
    Onnx__GraphProto *graph = c->model->graph;
    Onnx__TensorProto **list =
        realloc(graph->initializer, (graph->n_initializer + 1) * sizeof(Onnx__TensorProto *));
    Onnx__TensorProto *tensor = malloc(sizeof *tensor);
    graph->initializer = list != NULL ? list : graph->initializer;
    if (list == NULL || tensor == NULL) {
        free(tensor);
        return NULL;
    }
    onnx__tensor_proto__init(tensor);
    list[graph->n_initializer++] = tensor;
    tensor->name = strdup(vtac_proto_text(graph->input[i]->name));
    tensor->n_dims = shape_of(graph->input[i])->n_dim;
    tensor->dims = calloc(tensor->n_dims + 1, sizeof *tensor->dims);
    return tensor->name != NULL && tensor->dims != NULL ? tensor : NULL;
}

static bool is_constant(vtac_context_kind kind)
{
    return kind == VTAC_CONTEXT_ONES || kind == VTAC_CONTEXT_ROOM || kind == VTAC_CONTEXT_YES;
}

static vta_status size_input(const vtac_context *c, size_t i, int64_t room, vta_diag *diag)
{
    const Onnx__ValueInfoProto *info = c->model->graph->input[i];
    const Onnx__TensorShapeProto *shape = shape_of(info);
    vtac_context_input *in = &c->inputs[i];
    for (uint32_t k = 0; shape != NULL && in->open >> k != 0; k++) {
        if ((in->open >> k & 1U) != 0) {
            set_dim(shape->dim[k], size_of(c, in, k, (uint32_t)shape->n_dim, room));
        }
    }
    if (!is_constant(in->kind)) {
        return VTA_OK;
    }
    in->tensor = in->tensor != NULL ? in->tensor : add_tensor(c, i);
    return in->tensor != NULL ? fill_tensor(in->tensor, info, in, room, diag) : vta_no_memory(diag);
}

vta_status vtac_context_size(const vtac_context *c, int64_t room, vta_diag *diag)
{
    for (size_t i = 0; i < c->model->graph->n_input; i++) {
        VTA_TRY(size_input(c, i, room, diag));
    }
    return VTA_OK;
}
