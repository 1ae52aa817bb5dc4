/* SPDX-License-Identifier: Apache-2.0
 *
 * From the network that has learnt to a graph of the compiler, which can write itself.
 */
#include "export.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vta/fail.h"
#include "vtac/graph.h"
#include "vtac/onnx.h"

enum { MAX_LAYERS = 64 };

typedef struct exporter {
    vtac_graph *graph;
    vtac_value_id values[MAX_LAYERS]; /* of the layers */
    vta_diag *diag;
} exporter;

static vta_status add_constant(exporter *e, const char *layer, const char *role, const vtac_type *type,
                               const float *data, vtac_value_id *out)
{
    char name[64];
    vtac_tensor tensor = {.type = *type};
    tensor.bytes = (size_t)vtac_type_elements(type) * sizeof *data;
    void *kept = vta_arena_alloc(&e->graph->arena, tensor.bytes);
    if (kept == NULL) {
        return vta_no_memory(e->diag);
    }
    tensor.data = memcpy(kept, data, tensor.bytes);
    (void)snprintf(name, sizeof name, "%s.%s", layer, role);
    return vtac_add_constant(e->graph, name, &tensor, out, e->diag);
}

static vta_status add_node(exporter *e, vtac_node_spec spec, vtac_value_id *out)
{
    vtac_node_id id;
    spec.output_count = 1;
    VTA_TRY(vtac_add_node(e->graph, &spec, &id, e->diag));
    *out = e->graph->nodes[id].outputs[0];
    return VTA_OK;
}

static vtac_node_spec plain_node(vtac_op op, const char *name, const vtac_value_id *inputs, uint32_t count)
{
    return (vtac_node_spec){.op = op, .name = name, .inputs = inputs, .input_count = count};
}

/* Channels of a layer: all, or those that attention reads as queries, keys or values. */
typedef struct channel_range {
    uint32_t first, count;
    float scale; /* of what the layer makes */
} channel_range;

static channel_range all_channels(const net_layer *l)
{
    return (channel_range){0, l->channels, 1.0F};
}

/* Weights and bias with the normalization in them. */
static vta_status add_weights(exporter *e, const net_layer *l, const char *name, bool dense,
                              const channel_range *r, vtac_value_id *inputs)
{
    const int64_t depth = l->kind == NET_DEPTHWISE ? 1 : l->in_channels;
    vtac_type type = {VTAC_F32, dense ? 2 : 4, {r->count, depth, l->kernel, l->kernel}};
    const size_t each = (size_t)depth * l->kernel * l->kernel;
    float *weight = vta_arena_array(&e->graph->arena, r->count * (each + 1), sizeof *weight);
    if (weight == NULL) {
        return vta_no_memory(e->diag);
    }
    float *bias = weight + r->count * each;
    for (uint32_t i = 0; i < r->count; i++) {
        const uint32_t c = r->first + i;
        const float scale = l->norm ? l->gain[c] / sqrtf(l->variance[c] + NET_EPSILON) : 1.0F;
        for (size_t k = 0; k < each; k++) {
            weight[i * each + k] = l->weight[c * each + k] * scale * r->scale;
        }
        bias[i] = (l->bias[c] - (l->norm ? l->mean[c] * scale : 0.0F)) * r->scale;
    }
    VTA_TRY(add_constant(e, name, "weight", &type, weight, &inputs[1]));
    type = (vtac_type){VTAC_F32, 1, {r->count}};
    return add_constant(e, name, "bias", &type, bias, &inputs[2]);
}

static vta_status export_convolution(exporter *e, const net_layer *l, const char *name,
                                     const channel_range *r, vtac_value_id *out)
{
    const int64_t kernel[] = {l->kernel, l->kernel};
    const int64_t strides[] = {l->stride, l->stride};
    const int64_t pad = l->kernel / 2;
    const int64_t pads[] = {pad, pad, pad, pad};
    const vtac_attr attrs[] = {
        {.name = "kernel_shape", .kind = VTAC_ATTR_INTS, .count = 2, .ints = kernel},
        {.name = "strides", .kind = VTAC_ATTR_INTS, .count = 2, .ints = strides},
        {.name = "pads", .kind = VTAC_ATTR_INTS, .count = 4, .ints = pads},
        {.name = "group", .kind = VTAC_ATTR_INT, .i = l->kind == NET_DEPTHWISE ? l->channels : 1}};
    vtac_value_id inputs[3] = {e->values[l->input]};
    VTA_TRY(add_weights(e, l, name, false, r, inputs));
    vtac_node_spec spec = plain_node(VTAC_OP_CONV, name, inputs, 3);
    spec.attrs = attrs;
    spec.attr_count = sizeof attrs / sizeof attrs[0];
    return add_node(e, spec, out);
}

/* A convolution of one place: what becomes of the averages. */
static vta_status export_dense(exporter *e, const net_layer *l, const char *name, const channel_range *r,
                               vtac_value_id *out)
{
    const vtac_attr turned = {.name = "transB", .kind = VTAC_ATTR_INT, .i = 1};
    vtac_value_id inputs[3] = {0};
    VTA_TRY(add_node(e, plain_node(VTAC_OP_FLATTEN, "flatten", &e->values[l->input], 1), &inputs[0]));
    VTA_TRY(add_weights(e, l, name, true, r, inputs));
    vtac_node_spec spec = plain_node(VTAC_OP_GEMM, name, inputs, 3);
    spec.attrs = &turned;
    spec.attr_count = 1;
    return add_node(e, spec, out);
}

static vta_status add_reshape(exporter *e, const char *layer, vtac_value_id x, const int64_t dims[4],
                              vtac_value_id *out)
{
    enum { RANK = 4 };
    char name[64];
    int64_t *kept = vta_arena_array(&e->graph->arena, RANK, sizeof *kept);
    const vtac_tensor shape = {.type = {VTAC_I64, 1, {RANK}}, .data = kept, .bytes = RANK * sizeof *kept};
    vtac_value_id inputs[2] = {x};
    if (kept == NULL) {
        return vta_no_memory(e->diag);
    }
    memcpy(kept, dims, RANK * sizeof *kept);
    (void)snprintf(name, sizeof name, "%s.shape", layer);
    VTA_TRY(vtac_add_constant(e->graph, name, &shape, &inputs[1], e->diag));
    return add_node(e, plain_node(VTAC_OP_RESHAPE, layer, inputs, 2), out);
}

/* The last two axes change places. */
static vta_status add_transpose(exporter *e, vtac_value_id x, vtac_value_id *out)
{
    static const int64_t perm[] = {0, 1, 3, 2};
    const vtac_attr attr = {.name = "perm", .kind = VTAC_ATTR_INTS, .count = 4, .ints = perm};
    vtac_node_spec spec = plain_node(VTAC_OP_TRANSPOSE, "", &x, 1);
    spec.attrs = &attr;
    spec.attr_count = 1;
    return add_node(e, spec, out);
}

enum { QUERY, KEY, VALUE, PARTS };

/* Queries, keys and values are convolutions of their own, the queries with the scale of the scores. */
static vta_status export_heads(exporter *e, const net *n, const net_layer *l, uint32_t index,
                               vtac_value_id parts[PARTS])
{
    static const char *const names[] = {"query", "key", "value"};
    const net_layer *from = &n->layers[l->input];
    const int64_t heads[] = {1, l->channels / l->kernel, l->kernel, (int64_t)l->side * l->side};
    char name[32];
    for (uint32_t i = 0; i < PARTS; i++) {
        const channel_range r = {i * l->channels, l->channels,
                                 i == QUERY ? 1.0F / sqrtf((float)l->kernel) : 1.0F};
        (void)snprintf(name, sizeof name, "%s%u", names[i], index);
        VTA_TRY(export_convolution(e, from, name, &r, &parts[i]));
        (void)snprintf(name, sizeof name, "%s_heads%u", names[i], index);
        VTA_TRY(add_reshape(e, name, parts[i], heads, &parts[i]));
        VTA_TRY(i == KEY ? VTA_OK : add_transpose(e, parts[i], &parts[i]));
    }
    return VTA_OK;
}

static vta_status export_attention(exporter *e, const net *n, const net_layer *l, uint32_t index,
                                   vtac_value_id *out)
{
    const int64_t picture[] = {1, l->channels, l->side, l->side};
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = -1};
    vtac_value_id parts[PARTS];
    char name[32];
    VTA_TRY(export_heads(e, n, l, index, parts));
    (void)snprintf(name, sizeof name, "scores%u", index);
    VTA_TRY(add_node(e, plain_node(VTAC_OP_MATMUL, name, parts, 2), &parts[QUERY]));
    (void)snprintf(name, sizeof name, "shares%u", index);
    vtac_node_spec spec = plain_node(VTAC_OP_SOFTMAX, name, parts, 1);
    spec.attrs = &axis;
    spec.attr_count = 1;
    VTA_TRY(add_node(e, spec, &parts[KEY]));
    (void)snprintf(name, sizeof name, "mixed%u", index);
    VTA_TRY(add_node(e, plain_node(VTAC_OP_MATMUL, name, parts + KEY, 2), out));
    VTA_TRY(add_transpose(e, *out, out));
    (void)snprintf(name, sizeof name, "attend%u", index);
    return add_reshape(e, name, *out, picture, out);
}

/* True if attention alone reads a layer, which is exported with it. */
static bool feeds_attention(const net *n, uint32_t index)
{
    return index + 1 < n->count && n->layers[index + 1].kind == NET_ATTEND &&
           n->layers[index + 1].input == index;
}

static vta_status add_layer(exporter *e, const net *n, uint32_t index)
{
    static const char *const names[] = {"conv", "depthwise", "add", "average", "attend"};
    const net_layer *l = &n->layers[index];
    const channel_range all = all_channels(l);
    char name[32];
    char after[32];
    vtac_value_id *out = &e->values[index];
    const bool is_dense = l->kind == NET_CONV && l->in_side == 1;
    (void)snprintf(name, sizeof name, "%s%u", is_dense ? "dense" : names[l->kind], index);
    (void)snprintf(after, sizeof after, "relu%u", index);
    const vtac_value_id inputs[] = {e->values[l->input], e->values[l->other]};
    switch (l->kind) {
    case NET_CONV: VTA_TRY((is_dense ? export_dense : export_convolution)(e, l, name, &all, out)); break;
    case NET_DEPTHWISE: VTA_TRY(export_convolution(e, l, name, &all, out)); break;
    case NET_ADD: VTA_TRY(add_node(e, plain_node(VTAC_OP_ADD, name, inputs, 2), out)); break;
    case NET_AVERAGE:
        VTA_TRY(add_node(e, plain_node(VTAC_OP_GLOBAL_AVERAGE_POOL, name, inputs, 1), out));
        break;
    case NET_ATTEND: VTA_TRY(export_attention(e, n, l, index, out)); break;
    }
    return l->relu ? add_node(e, plain_node(VTAC_OP_RELU, after, out, 1), out) : VTA_OK;
}

static vta_status build_graph(exporter *e, const net *n)
{
    const net_layer *in = &n->layers[0];
    const vtac_type type = {VTAC_F32, 4, {1, in->channels, in->side, in->side}};
    VTA_TRY(vtac_add_input(e->graph, "picture", &type, &e->values[0], e->diag));
    for (uint32_t i = 1; i < n->count; i++) {
        VTA_TRY(feeds_attention(n, i) ? VTA_OK : add_layer(e, n, i));
    }
    const vtac_value_id scores = e->values[n->count - 1];
    VTA_TRY(vtac_rename_value(e->graph, scores, "scores", e->diag));
    return vtac_add_output(e->graph, scores, e->diag);
}

vta_status demo_net_export(const net *n, const char *path, vta_diag *diag)
{
    exporter e = {.graph = vtac_graph_create("shapes"), .diag = diag};
    if (e.graph == NULL || n->count > MAX_LAYERS) {
        vtac_graph_destroy(e.graph);
        return vta_no_memory(diag);
    }
    vta_status status = VTA_OK;
    VTA_TRY_OUT(build_graph(&e, n));
    VTA_TRY_OUT(vtac_onnx_write(e.graph, "shapes train", path, diag));
out:
    vtac_graph_destroy(e.graph);
    return status;
}
