/* SPDX-License-Identifier: Apache-2.0 */
#include "build.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vta/fail.h"

static void fail_zoo(vtac_zoo *z)
{
    if (z->status == VTA_OK) {
        z->status = vta_no_memory(z->diag);
    }
}

/* Memory of the job; on failure the builder is stuck and NULL comes back. */
static void *alloc_items(vtac_zoo *z, size_t count, size_t size)
{
    void *memory = z->status == VTA_OK ? vta_arena_array(&z->arena, count, size) : NULL;
    if (memory == NULL) {
        fail_zoo(z);
    }
    return memory;
}

static char *take_text(vtac_zoo *z, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = alloc_items(z, size, 1);
    return copy == NULL ? NULL : memcpy(copy, text, size);
}

/* A list of pointers with room for at least one more; lists double. */
static void *grow_list(vtac_zoo *z, void *list, size_t count, size_t *room)
{
    if (count < *room) {
        return list;
    }
    const size_t larger = *room == 0 ? 256 : 2 * *room;
    void **copy = alloc_items(z, larger, sizeof *copy);
    if (copy != NULL && count > 0) {
        memcpy(copy, list, count * sizeof *copy);
    }
    *room = larger;
    return copy;
}

/* xorshift64*, and the sum of twelve uniforms: near enough to normal for weights, the same on every machine.
 */
static float random_normal(vtac_zoo *z)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++) {
        z->random ^= z->random >> 12;
        z->random ^= z->random << 25;
        z->random ^= z->random >> 27;
        sum += (double)((z->random * 0x2545f4914f6cdd1dULL) >> 40) / 16777216.0;
    }
    return (float)sum;
}

static int64_t element_count(uint32_t rank, const int64_t *dim)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < rank; i++) {
        count *= dim[i];
    }
    return count;
}

static vtac_zoo_value fresh_value(vtac_zoo *z, const char *role, uint32_t rank, const int64_t *dim)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s_%u", role, ++z->counter);
    vtac_zoo_value value = {.name = take_text(z, name), .rank = rank};
    memcpy(value.dim, dim, rank * sizeof *dim);
    return value;
}

static Onnx__TensorProto *add_tensor(vtac_zoo *z, const vtac_zoo_value *value, int32_t type, void *data,
                                     size_t bytes)
{
    Onnx__TensorProto *tensor = alloc_items(z, 1, sizeof *tensor);
    int64_t *dims = alloc_items(z, value->rank + 1, sizeof *dims);
    Onnx__TensorProto **list = grow_list(z, z->graph.initializer, z->graph.n_initializer, &z->tensor_room);
    if (tensor == NULL || dims == NULL || list == NULL) {
        return NULL;
    }
    onnx__tensor_proto__init(tensor);
    memcpy(dims, value->dim, value->rank * sizeof *dims);
    union {
        const char *in;
        char *out;
    } name = {.in = value->name};
    tensor->name = name.out;
    tensor->n_dims = value->rank;
    tensor->dims = dims;
    tensor->has_data_type = 1;
    tensor->data_type = type;
    tensor->has_raw_data = 1;
    tensor->raw_data = (ProtobufCBinaryData){.len = bytes, .data = data};
    z->graph.initializer = list;
    list[z->graph.n_initializer++] = tensor;
    return tensor;
}

/* The next number that belongs into a weight, of those that were given, or drawn. */
static float next_weight(vtac_zoo *z, float mean, float deviation)
{
    const size_t at = z->given++;
    const bool given = z->sizes.weights != NULL;
    return !given                       ? mean + deviation * random_normal(z)
           : at < z->sizes.weight_count ? z->sizes.weights[at]
                                        : 0.0F;
}

vtac_zoo_value vtac_zoo_weight(vtac_zoo *z, const char *role, uint32_t rank, const int64_t *dim, float mean,
                               float deviation)
{
    vtac_zoo_value value = fresh_value(z, role, rank, dim);
    const size_t count = (size_t)element_count(rank, dim);
    float *data = alloc_items(z, count, sizeof *data);
    for (size_t i = 0; data != NULL && i < count; i++) {
        data[i] = deviation == 0.0F ? mean : next_weight(z, mean, deviation);
    }
    (void)add_tensor(z, &value, 1, data, count * sizeof *data);
    return value;
}

vtac_zoo_value vtac_zoo_floats(vtac_zoo *z, const char *role, uint32_t rank, const int64_t *dim,
                               float *values)
{
    vtac_zoo_value value = fresh_value(z, role, rank, dim);
    if (values == NULL) {
        z->status = vta_no_memory(z->diag);
        return value;
    }
    (void)add_tensor(z, &value, 1, values, (size_t)element_count(rank, dim) * sizeof *values);
    return value;
}

vtac_zoo_value vtac_zoo_ints(vtac_zoo *z, const char *role, uint32_t count, const int64_t *values)
{
    const int64_t dim = count;
    vtac_zoo_value value = fresh_value(z, role, 1, &dim);
    int64_t *data = alloc_items(z, count, sizeof *data);
    if (data != NULL) {
        memcpy(data, values, count * sizeof *data);
    }
    (void)add_tensor(z, &value, 7, data, count * sizeof *data);
    return value;
}

vtac_zoo_value vtac_zoo_whole(vtac_zoo *z, const char *role, int64_t value)
{
    vtac_zoo_value made = fresh_value(z, role, 0, &value);
    int64_t *data = alloc_items(z, 1, sizeof *data);
    if (data != NULL) {
        *data = value;
    }
    (void)add_tensor(z, &made, VTAC_ZOO_LONG, data, sizeof *data);
    return made;
}

/* A size of an end: a number, or the name of one that the run decides. */
static void declare_dim(vtac_zoo *z, Onnx__TensorShapeProto__Dimension *dim, int64_t size)
{
    static const char *const open[] = {"sequence_length", "past_sequence_length", "total_sequence_length"};
    onnx__tensor_shape_proto__dimension__init(dim);
    if (size < 0) {
        dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        dim->dim_param = take_text(z, open[-size - 1]);
        return;
    }
    dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    dim->dim_value = size;
}

/* The declaration of a graph input or output. */
static Onnx__ValueInfoProto *declare_value(vtac_zoo *z, const vtac_zoo_value *value, int32_t element)
{
    Onnx__ValueInfoProto *info = alloc_items(z, 1, sizeof *info);
    Onnx__TypeProto *type = alloc_items(z, 1, sizeof *type);
    Onnx__TypeProto__Tensor *tensor = alloc_items(z, 1, sizeof *tensor);
    Onnx__TensorShapeProto *shape = alloc_items(z, 1, sizeof *shape);
    Onnx__TensorShapeProto__Dimension **dims =
        alloc_items(z, value->rank, sizeof(Onnx__TensorShapeProto__Dimension *));
    if (info == NULL || type == NULL || tensor == NULL || shape == NULL || dims == NULL) {
        return NULL;
    }
    onnx__value_info_proto__init(info);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(tensor);
    onnx__tensor_shape_proto__init(shape);
    for (uint32_t i = 0; i < value->rank; i++) {
        dims[i] = alloc_items(z, 1, sizeof **dims);
        if (dims[i] == NULL) {
            return NULL;
        }
        declare_dim(z, dims[i], value->dim[i]);
    }
    shape->n_dim = value->rank;
    shape->dim = dims;
    tensor->has_elem_type = 1;
    tensor->elem_type = element;
    tensor->shape = shape;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    info->name = take_text(z, value->name);
    info->type = type;
    return info;
}

static void append_info(vtac_zoo *z, Onnx__ValueInfoProto ***list, size_t *count, const vtac_zoo_value *value,
                        int32_t element)
{
    Onnx__ValueInfoProto **larger = alloc_items(z, *count + 1, sizeof(Onnx__ValueInfoProto *));
    Onnx__ValueInfoProto *info = declare_value(z, value, element);
    if (larger == NULL || info == NULL) {
        return;
    }
    if (*count > 0) {
        memcpy(larger, *list, *count * sizeof(Onnx__ValueInfoProto *));
    }
    larger[(*count)++] = info;
    *list = larger;
}

vtac_zoo_value vtac_zoo_input(vtac_zoo *z, const char *name, uint32_t rank, const int64_t *dim)
{
    vtac_zoo_value value = {.name = name, .rank = rank};
    memcpy(value.dim, dim, rank * sizeof *dim);
    append_info(z, &z->graph.input, &z->graph.n_input, &value, VTAC_ZOO_FLOAT);
    return value;
}

vtac_zoo_value vtac_zoo_input_of(vtac_zoo *z, const char *name, int32_t type, uint32_t rank,
                                 const int64_t *dim)
{
    vtac_zoo_value value = {.name = take_text(z, name), .rank = rank};
    memcpy(value.dim, dim, rank * sizeof *dim);
    append_info(z, &z->graph.input, &z->graph.n_input, &value, type);
    return value;
}

void vtac_zoo_output(vtac_zoo *z, vtac_zoo_value value)
{
    append_info(z, &z->graph.output, &z->graph.n_output, &value, VTAC_ZOO_FLOAT);
}

vtac_zoo_value vtac_zoo_node(vtac_zoo *z, const char *type, const vtac_zoo_value *inputs, uint32_t count,
                             uint32_t rank, const int64_t *dim)
{
    vtac_zoo_value value = fresh_value(z, type, rank, dim);
    Onnx__NodeProto *node = alloc_items(z, 1, sizeof *node);
    char **in = alloc_items(z, count, sizeof *in);
    char **out = alloc_items(z, 1, sizeof *out);
    Onnx__NodeProto **list = grow_list(z, z->graph.node, z->graph.n_node, &z->node_room);
    if (node == NULL || in == NULL || out == NULL || list == NULL || value.name == NULL) {
        return value;
    }
    onnx__node_proto__init(node);
    for (uint32_t i = 0; i < count; i++) {
        in[i] = take_text(z, inputs[i].name);
    }
    out[0] = take_text(z, value.name);
    node->op_type = take_text(z, type);
    node->name = take_text(z, value.name);
    node->n_input = count;
    node->input = in;
    node->n_output = 1;
    node->output = out;
    z->graph.node = list;
    list[z->graph.n_node++] = node;
    return value;
}

void vtac_zoo_rename(vtac_zoo *z, vtac_zoo_value *value, const char *name)
{
    char *copy = take_text(z, name);
    if (copy != NULL && z->status == VTA_OK) {
        z->graph.node[z->graph.n_node - 1]->output[0] = copy;
        value->name = copy;
    }
}

vtac_zoo_value vtac_zoo_more(vtac_zoo *z, const char *name, uint32_t rank, const int64_t *dim)
{
    vtac_zoo_value value = fresh_value(z, "more", rank, dim);
    Onnx__NodeProto *node = z->status == VTA_OK ? z->graph.node[z->graph.n_node - 1] : NULL;
    char **names = node == NULL ? NULL : alloc_items(z, node->n_output + 1, sizeof *names);
    char *copy = take_text(z, name != NULL ? name : value.name != NULL ? value.name : "");
    if (names != NULL && copy != NULL) {
        memcpy(names, node->output, node->n_output * sizeof *names);
        names[node->n_output++] = copy;
        node->output = names;
        value.name = copy;
    }
    return value;
}

/* An attribute of the node added last. */
static Onnx__AttributeProto *add_attr(vtac_zoo *z, const char *name, Onnx__AttributeProto__AttributeType type)
{
    Onnx__AttributeProto *attr = alloc_items(z, 1, sizeof *attr);
    Onnx__NodeProto *node = z->status == VTA_OK ? z->graph.node[z->graph.n_node - 1] : NULL;
    Onnx__AttributeProto **list =
        node == NULL ? NULL : alloc_items(z, node->n_attribute + 1, sizeof(Onnx__AttributeProto *));
    if (attr == NULL || list == NULL) {
        return NULL;
    }
    onnx__attribute_proto__init(attr);
    attr->name = take_text(z, name);
    attr->has_type = 1;
    attr->type = type;
    if (node->n_attribute > 0) {
        memcpy(list, node->attribute, node->n_attribute * sizeof(Onnx__AttributeProto *));
    }
    list[node->n_attribute++] = attr;
    node->attribute = list;
    return attr;
}

void vtac_zoo_attr_int(vtac_zoo *z, const char *name, int64_t value)
{
    Onnx__AttributeProto *attr = add_attr(z, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    if (attr != NULL) {
        attr->has_i = 1;
        attr->i = value;
    }
}

void vtac_zoo_attr_float(vtac_zoo *z, const char *name, float value)
{
    Onnx__AttributeProto *attr = add_attr(z, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    if (attr != NULL) {
        attr->has_f = 1;
        attr->f = value;
    }
}

void vtac_zoo_attr_ints(vtac_zoo *z, const char *name, uint32_t count, const int64_t *values)
{
    Onnx__AttributeProto *attr = add_attr(z, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    int64_t *copy = alloc_items(z, count, sizeof *copy);
    if (attr != NULL && copy != NULL) {
        memcpy(copy, values, count * sizeof *copy);
        attr->n_ints = count;
        attr->ints = copy;
    }
}

void vtac_zoo_attr_text(vtac_zoo *z, const char *name, const char *value)
{
    Onnx__AttributeProto *attr = add_attr(z, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    char *copy = take_text(z, value);
    if (attr != NULL && copy != NULL) {
        attr->has_s = 1;
        attr->s = (ProtobufCBinaryData){.len = strlen(value), .data = (uint8_t *)copy};
    }
}

/* ---- layers ---- */

static int64_t output_extent(int64_t in, int64_t kernel, int64_t stride, int64_t pad, bool ceil_mode)
{
    return (in + 2 * pad - kernel + (ceil_mode ? stride - 1 : 0)) / stride + 1;
}

/* Pads before and after on one axis. */
static void conv_pads(const vtac_zoo_conv_shape *s, int64_t in, int64_t span, int64_t *before, int64_t *after)
{
    *before = *after = s->pad < 0 ? span / 2 : s->pad;
    if (s->same) {
        const int64_t total = ((in + s->stride - 1) / s->stride - 1) * s->stride + span - in;
        *before = total > 0 ? total / 2 : 0;
        *after = total > 0 ? total - *before : 0;
    }
    if (s->causal) {
        *before = span - 1;
        *after = 0;
    }
}

vtac_zoo_value vtac_zoo_conv(vtac_zoo *z, vtac_zoo_value x, vtac_zoo_conv_shape s)
{
    const uint32_t axes = x.rank - 2;
    const int64_t group = s.group == 0 ? 1 : s.group < 0 ? x.dim[1] : s.group;
    int64_t kernel[3], stride[3], dilation[3], pads[6];
    int64_t weight[5] = {s.channels, x.dim[1] / group};
    int64_t out[5] = {x.dim[0], s.channels};
    int64_t terms = weight[1];
    for (uint32_t i = 0; i < axes; i++) {
        kernel[i] = i + 1 == axes && s.kernel_w > 0 ? s.kernel_w : s.kernel;
        stride[i] = s.stride;
        dilation[i] = s.dilation > 0 ? s.dilation : 1;
        const int64_t span = (kernel[i] - 1) * dilation[i] + 1;
        conv_pads(&s, x.dim[i + 2], span, &pads[i], &pads[i + axes]);
        out[i + 2] = (x.dim[i + 2] + pads[i] + pads[i + axes] - span) / stride[i] + 1;
        weight[i + 2] = kernel[i];
        terms *= kernel[i];
    }
    const float deviation = sqrtf(2.0F / (float)terms);
    vtac_zoo_value inputs[3] = {x, vtac_zoo_weight(z, "weight", x.rank, weight, 0.0F, deviation)};
    if (s.bias) {
        inputs[2] = vtac_zoo_weight(z, "bias", 1, &s.channels, 0.0F, 0.05F);
    }
    const vtac_zoo_value y = vtac_zoo_node(z, "Conv", inputs, s.bias ? 3 : 2, x.rank, out);
    vtac_zoo_attr_ints(z, "kernel_shape", axes, kernel);
    vtac_zoo_attr_ints(z, "strides", axes, stride);
    vtac_zoo_attr_ints(z, "pads", 2 * axes, pads);
    if (s.dilation > 1) {
        vtac_zoo_attr_ints(z, "dilations", axes, dilation);
    }
    vtac_zoo_attr_int(z, "group", group);
    return y;
}

vtac_zoo_value vtac_zoo_conv_norm(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t kernel,
                                  int64_t stride, int64_t group)
{
    const vtac_zoo_conv_shape shape = {
        .channels = channels, .kernel = kernel, .stride = stride, .pad = -1, .group = group};
    return vtac_zoo_norm(z, vtac_zoo_conv(z, x, shape));
}

vtac_zoo_value vtac_zoo_conv_relu(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t kernel,
                                  int64_t stride)
{
    const vtac_zoo_conv_shape shape = {
        .channels = channels, .kernel = kernel, .stride = stride, .pad = -1, .bias = true};
    return vtac_zoo_relu(z, vtac_zoo_conv(z, x, shape));
}

vtac_zoo_value vtac_zoo_conv_transpose(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t factor)
{
    const int64_t weight[4] = {x.dim[1], channels, factor, factor};
    const int64_t out[4] = {x.dim[0], channels, x.dim[2] * factor, x.dim[3] * factor};
    const int64_t factors[2] = {factor, factor};
    const float deviation = sqrtf(2.0F / (float)x.dim[1]);
    const vtac_zoo_value inputs[3] = {x, vtac_zoo_weight(z, "weight", 4, weight, 0.0F, deviation),
                                      vtac_zoo_weight(z, "bias", 1, &channels, 0.0F, 0.05F)};
    const vtac_zoo_value y = vtac_zoo_node(z, "ConvTranspose", inputs, 3, 4, out);
    vtac_zoo_attr_ints(z, "kernel_shape", 2, factors);
    vtac_zoo_attr_ints(z, "strides", 2, factors);
    return y;
}

vtac_zoo_value vtac_zoo_norm(vtac_zoo *z, vtac_zoo_value x)
{
    const vtac_zoo_value inputs[] = {x, vtac_zoo_weight(z, "gamma", 1, &x.dim[1], 1.0F, 0.1F),
                                     vtac_zoo_weight(z, "beta", 1, &x.dim[1], 0.0F, 0.1F),
                                     vtac_zoo_weight(z, "mean", 1, &x.dim[1], 0.0F, 0.1F),
                                     vtac_zoo_weight(z, "variance", 1, &x.dim[1], 1.0F, 0.0F)};
    return vtac_zoo_node(z, "BatchNormalization", inputs, 5, x.rank, x.dim);
}

vtac_zoo_value vtac_zoo_unary(vtac_zoo *z, const char *type, vtac_zoo_value x)
{
    return vtac_zoo_node(z, type, &x, 1, x.rank, x.dim);
}

vtac_zoo_value vtac_zoo_relu(vtac_zoo *z, vtac_zoo_value x)
{
    return vtac_zoo_unary(z, "Relu", x);
}

vtac_zoo_value vtac_zoo_relu6(vtac_zoo *z, vtac_zoo_value x)
{
    const vtac_zoo_value inputs[] = {x, vtac_zoo_weight(z, "low", 0, x.dim, 0.0F, 0.0F),
                                     vtac_zoo_weight(z, "high", 0, x.dim, 6.0F, 0.0F)};
    return vtac_zoo_node(z, "Clip", inputs, 3, x.rank, x.dim);
}

/* The result has the shape of `a`, to which `b` broadcasts. */
vtac_zoo_value vtac_zoo_binary(vtac_zoo *z, const char *type, vtac_zoo_value a, vtac_zoo_value b)
{
    const vtac_zoo_value inputs[] = {a, b};
    return vtac_zoo_node(z, type, inputs, 2, a.rank, a.dim);
}

vtac_zoo_value vtac_zoo_add(vtac_zoo *z, vtac_zoo_value a, vtac_zoo_value b)
{
    return vtac_zoo_binary(z, "Add", a, b);
}

vtac_zoo_value vtac_zoo_pool(vtac_zoo *z, const char *type, vtac_zoo_value x, int64_t kernel, int64_t stride,
                             int64_t pad, bool ceil_mode)
{
    const int64_t kernels[] = {kernel, kernel};
    const int64_t strides[] = {stride, stride};
    const int64_t pads[] = {pad, pad, pad, pad};
    const int64_t out[] = {x.dim[0], x.dim[1], output_extent(x.dim[2], kernel, stride, pad, ceil_mode),
                           output_extent(x.dim[3], kernel, stride, pad, ceil_mode)};
    const vtac_zoo_value y = vtac_zoo_node(z, type, &x, 1, 4, out);
    vtac_zoo_attr_ints(z, "kernel_shape", 2, kernels);
    vtac_zoo_attr_ints(z, "strides", 2, strides);
    vtac_zoo_attr_ints(z, "pads", 4, pads);
    if (ceil_mode) {
        vtac_zoo_attr_int(z, "ceil_mode", 1);
    }
    return y;
}

vtac_zoo_value vtac_zoo_global_average(vtac_zoo *z, vtac_zoo_value x)
{
    const int64_t out[] = {x.dim[0], x.dim[1], 1, 1};
    return vtac_zoo_node(z, "GlobalAveragePool", &x, 1, 4, out);
}

vtac_zoo_value vtac_zoo_concat(vtac_zoo *z, const vtac_zoo_value *parts, uint32_t count)
{
    int64_t out[5];
    memcpy(out, parts[0].dim, sizeof out);
    for (uint32_t i = 1; i < count; i++) {
        out[1] += parts[i].dim[1];
    }
    const vtac_zoo_value y = vtac_zoo_node(z, "Concat", parts, count, parts[0].rank, out);
    vtac_zoo_attr_int(z, "axis", 1);
    return y;
}

vtac_zoo_value vtac_zoo_flatten(vtac_zoo *z, vtac_zoo_value x)
{
    const int64_t out[] = {x.dim[0], element_count(x.rank, x.dim) / x.dim[0]};
    return vtac_zoo_node(z, "Flatten", &x, 1, 2, out);
}

vtac_zoo_value vtac_zoo_dense(vtac_zoo *z, vtac_zoo_value x, int64_t features)
{
    const int64_t weight[] = {features, x.dim[1]};
    const float deviation = sqrtf(1.0F / (float)x.dim[1]);
    const vtac_zoo_value inputs[] = {x, vtac_zoo_weight(z, "weight", 2, weight, 0.0F, deviation),
                                     vtac_zoo_weight(z, "bias", 1, &features, 0.0F, 0.05F)};
    const int64_t out[] = {x.dim[0], features};
    const vtac_zoo_value y = vtac_zoo_node(z, "Gemm", inputs, 3, 2, out);
    vtac_zoo_attr_int(z, "transB", 1);
    return y;
}

static vtac_zoo_value number_weight(vtac_zoo *z, const char *role, float value)
{
    static const int64_t none[] = {0};
    return vtac_zoo_weight(z, role, 0, none, value, 0.0F);
}

vtac_zoo_value vtac_zoo_project(vtac_zoo *z, vtac_zoo_value x, int64_t features)
{
    const int64_t last = x.dim[x.rank - 1];
    const int64_t weight[] = {last, features};
    const vtac_zoo_value inputs[] = {
        x, vtac_zoo_weight(z, "weight", 2, weight, 0.0F, sqrtf(1.0F / (float)last))};
    vtac_zoo_value y = x;
    y.dim[x.rank - 1] = features;
    return vtac_zoo_node(z, "MatMul", inputs, 2, y.rank, y.dim);
}

vtac_zoo_value vtac_zoo_linear(vtac_zoo *z, vtac_zoo_value x, int64_t features)
{
    const vtac_zoo_value y = vtac_zoo_project(z, x, features);
    return vtac_zoo_add(z, y, vtac_zoo_weight(z, "bias", 1, &features, 0.0F, 0.05F));
}

vtac_zoo_value vtac_zoo_layer_norm(vtac_zoo *z, vtac_zoo_value x)
{
    const int64_t last = x.dim[x.rank - 1];
    const vtac_zoo_value inputs[] = {x, vtac_zoo_weight(z, "gamma", 1, &last, 1.0F, 0.1F),
                                     vtac_zoo_weight(z, "beta", 1, &last, 0.0F, 0.1F)};
    const vtac_zoo_value y = vtac_zoo_node(z, "LayerNormalization", inputs, 3, x.rank, x.dim);
    vtac_zoo_attr_int(z, "axis", -1);
    return y;
}

vtac_zoo_value vtac_zoo_hard_swish(vtac_zoo *z, vtac_zoo_value x)
{
    return vtac_zoo_unary(z, "HardSwish", x);
}

vtac_zoo_value vtac_zoo_silu(vtac_zoo *z, vtac_zoo_value x)
{
    return vtac_zoo_binary(z, "Mul", x, vtac_zoo_unary(z, "Sigmoid", x));
}

vtac_zoo_value vtac_zoo_gelu(vtac_zoo *z, vtac_zoo_value x)
{
    vtac_zoo_value gate =
        vtac_zoo_unary(z, "Erf", vtac_zoo_binary(z, "Mul", x, number_weight(z, "root", sqrtf(0.5F))));
    gate = vtac_zoo_binary(z, "Mul", vtac_zoo_add(z, gate, number_weight(z, "one", 1.0F)),
                           number_weight(z, "half", 0.5F));
    return vtac_zoo_binary(z, "Mul", x, gate);
}

vtac_zoo_value vtac_zoo_reshape(vtac_zoo *z, vtac_zoo_value x, uint32_t rank, const int64_t *dim)
{
    const vtac_zoo_value inputs[] = {x, vtac_zoo_ints(z, "shape", rank, dim)};
    return vtac_zoo_node(z, "Reshape", inputs, 2, rank, dim);
}

vtac_zoo_value vtac_zoo_transpose(vtac_zoo *z, vtac_zoo_value x, const int64_t *perm)
{
    int64_t dim[5];
    for (uint32_t i = 0; i < x.rank; i++) {
        dim[i] = x.dim[perm[i]];
    }
    const vtac_zoo_value y = vtac_zoo_node(z, "Transpose", &x, 1, x.rank, dim);
    vtac_zoo_attr_ints(z, "perm", x.rank, perm);
    return y;
}

void vtac_zoo_halve(vtac_zoo *z, vtac_zoo_value x, vtac_zoo_value halves[2])
{
    const int64_t sizes[] = {x.dim[1] / 2, x.dim[1] / 2};
    const vtac_zoo_value inputs[] = {x, vtac_zoo_ints(z, "split", 2, sizes)};
    vtac_zoo_value half = x;
    half.dim[1] = sizes[0];
    halves[0] = vtac_zoo_node(z, "Split", inputs, 2, half.rank, half.dim);
    vtac_zoo_attr_int(z, "axis", 1);
    halves[1] = vtac_zoo_more(z, NULL, half.rank, half.dim);
}

vtac_zoo_value vtac_zoo_resize(vtac_zoo *z, vtac_zoo_value x, const char *mode, int64_t h, int64_t w)
{
    const int64_t dim[] = {x.dim[0], x.dim[1], h, w};
    const vtac_zoo_value empty = {.name = ""};
    const vtac_zoo_value inputs[] = {x, empty, empty, vtac_zoo_ints(z, "sizes", 4, dim)};
    const bool nearest = strcmp(mode, "nearest") == 0;
    const vtac_zoo_value y = vtac_zoo_node(z, "Resize", inputs, 4, 4, dim);
    vtac_zoo_attr_text(z, "mode", mode);
    vtac_zoo_attr_text(z, "coordinate_transformation_mode", nearest ? "asymmetric" : "half_pixel");
    vtac_zoo_attr_text(z, "nearest_mode", "floor");
    return y;
}

vtac_zoo_value vtac_zoo_excite(vtac_zoo *z, vtac_zoo_value x, int64_t squeezed)
{
    const vtac_zoo_conv_shape back = {.channels = x.dim[1], .kernel = 1, .stride = 1, .bias = true};
    vtac_zoo_value gate =
        vtac_zoo_conv(z, vtac_zoo_conv_relu(z, vtac_zoo_global_average(z, x), squeezed, 1, 1), back);
    gate = vtac_zoo_unary(z, "HardSigmoid", gate);
    vtac_zoo_attr_float(z, "alpha", 1.0F / 6.0F);
    return vtac_zoo_binary(z, "Mul", x, gate);
}
