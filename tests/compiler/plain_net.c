/* SPDX-License-Identifier: Apache-2.0 */
#include "plain_net.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph_node.h"
#include "vtac/quant.h"

int64_t net_elements(const net_value *v)
{
    return v->dim[0] * v->dim[1] * v->dim[2] * v->dim[3];
}

static double *numbers(int64_t count)
{
    double *all = calloc((size_t)count + 1, sizeof *all);
    assert_non_null(all);
    return all;
}

/* ---- into the graph */

static vtac_value_id constant(net *n, vtac_dtype dtype, const int64_t *dim, uint32_t rank, const double *from)
{
    vtac_tensor t = {.type = {.dtype = dtype, .rank = rank}};
    vta_diag diag = {0};
    vtac_value_id id;
    for (uint32_t i = 0; i < rank; i++) {
        t.type.dim[i] = dim[i];
    }
    const int64_t count = vtac_type_elements(&t.type);
    t.bytes = (size_t)count * vtac_dtype_bytes(dtype);
    uint8_t *data = vta_arena_alloc(&n->graph->arena, t.bytes);
    assert_non_null(data);
    for (int64_t i = 0; i < count; i++) {
        switch ((int)dtype) {
        case VTAC_F32: ((float *)(void *)data)[i] = (float)from[i]; break;
        case VTAC_I32: ((int32_t *)(void *)data)[i] = (int32_t)from[i]; break;
        case VTAC_I8: ((int8_t *)data)[i] = (int8_t)from[i]; break;
        default: data[i] = (uint8_t)from[i]; break;
        }
    }
    t.data = data;
    assert_int_equal(vtac_add_constant(n->graph, "", &t, &id, &diag), VTA_OK);
    return id;
}

static vtac_value_id scalar(net *n, vtac_dtype dtype, double value)
{
    return constant(n, dtype, NULL, 0, &value);
}

static vtac_dtype byte_type(const net *n)
{
    return n->is_signed ? VTAC_I8 : VTAC_U8;
}

static vtac_value_id window_node(net *n, const net_op *op, vtac_op which, const vtac_value_id *inputs,
                                 uint32_t count)
{
    vtac_attr attrs[6] = {
        {.name = "kernel_shape", .kind = VTAC_ATTR_INTS, .count = 2, .ints = op->kernel},
        {.name = "strides", .kind = VTAC_ATTR_INTS, .count = 2, .ints = op->stride},
        {.name = "pads", .kind = VTAC_ATTR_INTS, .count = 4, .ints = op->pad},
    };
    uint32_t attr_count = 3;
    if (op->kind == NET_CONV || op->kind == NET_CONV_TRANSPOSE) {
        attrs[attr_count++] =
            (vtac_attr){.name = "dilations", .kind = VTAC_ATTR_INTS, .count = 2, .ints = op->dilation};
        attrs[attr_count++] =
            (vtac_attr){.name = "group", .kind = VTAC_ATTR_INT, .count = 1, .i = op->groups};
    } else if (op->kind == NET_AVERAGE_POOL) {
        attrs[attr_count++] =
            (vtac_attr){.name = "count_include_pad", .kind = VTAC_ATTR_INT, .count = 1, .i = op->count_all};
    } else if (op->kind == NET_LP_POOL) {
        attrs[attr_count++] = (vtac_attr){.name = "p", .kind = VTAC_ATTR_INT, .count = 1, .i = op->p};
    }
    return graph_node(n->graph, which, inputs, count, attrs, attr_count);
}

static vtac_value_id quantized_conv(net *n, net_op *op, const net_value *x, const net_value *y,
                                    const int64_t *shape)
{
    const vtac_dtype dtype = op->unsigned_weights ? VTAC_U8 : VTAC_I8;
    const int64_t inner = shape[1] * shape[2] * shape[3];
    double *scales = numbers(op->outputs);
    double *weights = numbers(op->outputs * inner);
    for (int64_t m = 0; m < op->outputs; m++) {
        scales[m] = (double)op->scales[m];
        for (int64_t i = 0; i < inner; i++) {
            weights[m * inner + i] = op->weights[m * inner + i] + op->zeros[m];
        }
    }
    const vtac_value_id inputs[] = {x->id,
                                    scalar(n, VTAC_F32, x->scale),
                                    scalar(n, byte_type(n), x->zero),
                                    constant(n, dtype, shape, 4, weights),
                                    constant(n, VTAC_F32, shape, 1, scales),
                                    constant(n, dtype, shape, 1, op->zeros),
                                    scalar(n, VTAC_F32, y->scale),
                                    scalar(n, byte_type(n), y->zero),
                                    op->has_bias ? constant(n, VTAC_I32, shape, 1, op->bias) : 0};
    free(scales);
    free(weights);
    return window_node(n, op, VTAC_OP_QLINEAR_CONV, inputs, op->has_bias ? 9 : 8);
}

static vtac_value_id conv_node(net *n, net_op *op, const net_value *x, const net_value *y)
{
    const bool turned = op->kind == NET_CONV_TRANSPOSE;
    const int64_t shape[] = {turned ? x->dim[1] : op->outputs,
                             turned ? op->outputs / op->groups : x->dim[1] / op->groups, op->kernel[0],
                             op->kernel[1]};
    if (n->quantized) {
        return quantized_conv(n, op, x, y, shape);
    }
    const vtac_value_id w = constant(n, VTAC_F32, shape, 4, op->weights);
    const vtac_value_id bias = op->has_bias ? constant(n, VTAC_F32, &op->outputs, 1, op->bias) : 0;
    const vtac_value_id inputs[] = {x->id, w, bias};
    return window_node(n, op, turned ? VTAC_OP_CONV_TRANSPOSE : VTAC_OP_CONV, inputs, op->has_bias ? 3 : 2);
}

static vtac_value_id norm_node(net *n, net_op *op, const net_value *x)
{
    const vtac_attr attrs[] = {
        {.name = "epsilon", .kind = VTAC_ATTR_FLOAT, .count = 1, .f = op->epsilon},
        {.name = "num_groups", .kind = VTAC_ATTR_INT, .count = 1, .i = op->groups},
        {.name = "scale_per_group", .kind = VTAC_ATTR_INT, .count = 1, .i = op->by_group}};
    const int64_t count = op->by_group ? op->groups : x->dim[1];
    const vtac_value_id inputs[] = {x->id, constant(n, VTAC_F32, &count, 1, op->weights),
                                    constant(n, VTAC_F32, &count, 1, op->bias)};
    return op->kind == NET_GROUP_NORM
               ? graph_node(n->graph, VTAC_OP_GROUP_NORMALIZATION, inputs, 3, attrs, 3)
               : graph_node(n->graph, VTAC_OP_INSTANCE_NORMALIZATION, inputs, 3, attrs, 1);
}

#define LRN_ALPHA 0.75
#define LRN_BETA  0.625
#define LRN_BIAS  1.5

static vtac_value_id lrn_node(net *n, const net_op *op, const net_value *x)
{
    const vtac_attr attrs[] = {{.name = "size", .kind = VTAC_ATTR_INT, .count = 1, .i = op->groups},
                               {.name = "alpha", .kind = VTAC_ATTR_FLOAT, .count = 1, .f = LRN_ALPHA},
                               {.name = "beta", .kind = VTAC_ATTR_FLOAT, .count = 1, .f = LRN_BETA},
                               {.name = "bias", .kind = VTAC_ATTR_FLOAT, .count = 1, .f = LRN_BIAS}};
    return graph_node(n->graph, VTAC_OP_LRN, &x->id, 1, attrs, 4);
}

/* ---- shapes and weights */

static bool has_window(net_kind kind)
{
    return kind == NET_CONV || kind == NET_CONV_TRANSPOSE || kind == NET_MAX_POOL ||
           kind == NET_AVERAGE_POOL || kind == NET_LP_POOL;
}

static bool is_norm(net_kind kind)
{
    return kind == NET_INSTANCE_NORM || kind == NET_GROUP_NORM || kind == NET_MEAN_VARIANCE;
}

static bool is_global(net_kind kind)
{
    return kind == NET_GLOBAL_POOL || kind == NET_GLOBAL_LP_POOL;
}

static int64_t extent(const net_op *op, int a, int64_t dim)
{
    if (op->kind == NET_CONV_TRANSPOSE) {
        return (dim - 1) * op->stride[a] + (op->kernel[a] - 1) * op->dilation[a] + 1 - op->pad[a] -
               op->pad[a + 2];
    }
    return (dim + op->pad[a] + op->pad[a + 2] - (op->kernel[a] - 1) * op->dilation[a] - 1) / op->stride[a] +
           1;
}

static void shape_of(const net *n, const net_op *op, int64_t *dim)
{
    memcpy(dim, n->values[op->in[0]].dim, 4 * sizeof *dim);
    for (int a = 0; a < 2; a++) {
        if (has_window(op->kind)) {
            dim[a + 2] = extent(op, a, dim[a + 2]);
        } else if (is_global(op->kind)) {
            dim[a + 2] = 1;
        }
    }
    dim[1] = op->kind == NET_CONV || op->kind == NET_CONV_TRANSPOSE ? op->outputs : dim[1];
    dim[1] += op->kind == NET_CONCAT ? n->values[op->in[1]].dim[1] : 0;
}

static double any(rng *r)
{
    return (double)rng_between(r, -1000, 1000) / 1000.0;
}

static void random_weights(const net *n, rng *r, net_op *op, int64_t channels)
{
    const bool conv = op->kind == NET_CONV || op->kind == NET_CONV_TRANSPOSE;
    const int64_t inner = conv ? channels / op->groups * op->kernel[0] * op->kernel[1] : 1;
    const int64_t outputs = conv ? op->outputs : channels;
    op->weights = numbers(outputs * inner);
    op->bias = numbers(outputs);
    op->scales = calloc((size_t)outputs, sizeof *op->scales);
    assert_non_null(op->scales);
    for (int64_t i = 0; i < outputs * inner; i++) {
        op->weights[i] =
            n->quantized ? (double)rng_between(r, -128, 127) : (double)(float)(any(r) / sqrt((double)inner));
    }
    op->zeros = numbers(outputs);
    op->unsigned_weights = n->quantized && rng_percent(r, 50);
    const bool apart = rng_percent(r, 30); /* a zero point for each output */
    const bool middle = rng_percent(r, 40);
    const double all = middle ? 128.0 : (double)rng_between(r, 0, 255);
    for (int64_t m = 0; m < outputs && op->unsigned_weights && conv; m++) {
        op->zeros[m] = apart ? (double)rng_between(r, 0, 255) : all;
        for (int64_t i = 0; i < inner; i++) {
            op->weights[m * inner + i] += 128.0 - op->zeros[m];
        }
    }
    for (int64_t m = 0; m < outputs; m++) {
        op->bias[m] = n->quantized ? (double)rng_between(r, -20000, 20000) : (double)(float)any(r);
        op->scales[m] = (float)((1.5 + any(r)) / sqrt((double)inner) / 200.0);
    }
}

void net_start(net *n, const int64_t *dim, bool quantized, bool is_signed)
{
    *n = (net){.graph = vtac_graph_create("net"), .count = 1, .quantized = quantized, .is_signed = is_signed};
    assert_non_null(n->graph);
    net_value *v = &n->values[0];
    vtac_type type = {.dtype = quantized ? byte_type(n) : VTAC_F32, .rank = 4};
    vta_diag diag = {0};
    memcpy(type.dim, dim, sizeof v->dim);
    memcpy(v->dim, dim, sizeof v->dim);
    v->number = numbers(net_elements(v));
    v->scale = (double)0.02F;
    v->zero = is_signed ? -7 : 121;
    assert_int_equal(vtac_add_input(n->graph, "x", &type, &v->id, &diag), VTA_OK);
}

/* The inputs that tell a quantized value's numbers: its scale and its zero point. */
static void add_meaning(net *n, const net_value *v, vtac_value_id *inputs)
{
    inputs[0] = scalar(n, VTAC_F32, v->scale);
    inputs[1] = scalar(n, byte_type(n), v->zero);
}

static vtac_value_id quantized_pool(net *n, net_op *op, const net_value *x, const net_value *y)
{
    vtac_value_id inputs[5] = {x->id};
    add_meaning(n, x, inputs + 1);
    add_meaning(n, y, inputs + 3);
    return op->kind == NET_GLOBAL_POOL
               ? graph_node(n->graph, VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL, inputs, 5, NULL, 0)
               : window_node(n, op, VTAC_OP_QLINEAR_AVERAGE_POOL, inputs, 5);
}

/* An addition, or a multiplication with a number for each channel. */
static vtac_value_id quantized_pair(net *n, net_op *op, const net_value *x, const net_value *y)
{
    const int64_t shape[] = {1, y->dim[1], 1, 1};
    vtac_value_id inputs[8] = {x->id};
    add_meaning(n, x, inputs + 1);
    if (op->kind == NET_ADD) {
        inputs[3] = n->values[op->in[1]].id;
        add_meaning(n, &n->values[op->in[1]], inputs + 4);
    } else {
        inputs[3] = constant(n, VTAC_I8, shape, 4, op->weights);
        inputs[4] = scalar(n, VTAC_F32, (double)op->scales[0]);
        inputs[5] = scalar(n, VTAC_I8, 0);
    }
    add_meaning(n, y, inputs + 6);
    return graph_node(n->graph, op->kind == NET_ADD ? VTAC_OP_QLINEAR_ADD : VTAC_OP_QLINEAR_MUL, inputs, 8,
                      NULL, 0);
}

static vtac_value_id quantized_concat(net *n, net_op *op, const net_value *y)
{
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .count = 1, .i = 1};
    vtac_value_id inputs[8];
    add_meaning(n, y, inputs);
    for (uint32_t i = 0; i < 2; i++) {
        inputs[2 + 3 * i] = n->values[op->in[i]].id;
        add_meaning(n, &n->values[op->in[i]], inputs + 3 + 3 * i);
    }
    return graph_node(n->graph, VTAC_OP_QLINEAR_CONCAT, inputs, 8, &axis, 1);
}

static vtac_value_id build_quantized(net *n, net_op *op, const net_value *y)
{
    const net_value *x = &n->values[op->in[0]];
    switch (op->kind) {
    case NET_CONV: return conv_node(n, op, x, y);
    case NET_MAX_POOL: return window_node(n, op, VTAC_OP_MAX_POOL, &x->id, 1);
    case NET_AVERAGE_POOL:
    case NET_GLOBAL_POOL: return quantized_pool(n, op, x, y);
    case NET_CHANNEL_MUL:
    case NET_ADD: return quantized_pair(n, op, x, y);
    case NET_CONCAT: return quantized_concat(n, op, y);
    case NET_CONV_TRANSPOSE:
    case NET_LP_POOL:
    case NET_GLOBAL_LP_POOL:
    case NET_INSTANCE_NORM:
    case NET_GROUP_NORM:
    case NET_MEAN_VARIANCE:
    case NET_LRN:
    case NET_RELU: break;
    }
    fail_msg("a quantized network has no such operator");
    return 0;
}

/* Gives the numbers of a new quantized value a meaning: those of a maximum mean what they did, a
 * concatenation's what they did in its first part, half of the time. */
static void give_meaning(net *n, rng *r, const net_op *op, net_value *y)
{
    const net_value *x = &n->values[op->in[0]];
    const bool same = op->kind == NET_MAX_POOL || (op->kind == NET_CONCAT && rng_percent(r, 50));
    y->scale = same ? x->scale : (double)(float)(0.5 + 0.4 * any(r));
    y->zero = same ? x->zero : n->is_signed ? 3 : 77;
}

static vtac_value_id build(net *n, net_op *op, const net_value *y)
{
    const net_value *x = &n->values[op->in[0]];
    vtac_value_id inputs[] = {x->id, n->values[op->in[1]].id};
    const int64_t shape[] = {1, y->dim[1], 1, 1};
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .count = 1, .i = 1};
    const vtac_attr p = {.name = "p", .kind = VTAC_ATTR_INT, .count = 1, .i = op->p};
    switch (op->kind) {
    case NET_CONV:
    case NET_CONV_TRANSPOSE: return conv_node(n, op, x, y);
    case NET_MAX_POOL: return window_node(n, op, VTAC_OP_MAX_POOL, inputs, 1);
    case NET_AVERAGE_POOL: return window_node(n, op, VTAC_OP_AVERAGE_POOL, inputs, 1);
    case NET_GLOBAL_POOL: return graph_node(n->graph, VTAC_OP_GLOBAL_AVERAGE_POOL, inputs, 1, NULL, 0);
    case NET_LP_POOL: return window_node(n, op, VTAC_OP_LP_POOL, inputs, 1);
    case NET_GLOBAL_LP_POOL: return graph_node(n->graph, VTAC_OP_GLOBAL_LP_POOL, inputs, 1, &p, 1);
    case NET_INSTANCE_NORM:
    case NET_GROUP_NORM: return norm_node(n, op, x);
    case NET_MEAN_VARIANCE: return graph_node(n->graph, VTAC_OP_MEAN_VARIANCE, inputs, 1, NULL, 0);
    case NET_LRN: return lrn_node(n, op, x);
    case NET_RELU: return graph_node(n->graph, VTAC_OP_RELU, inputs, 1, NULL, 0);
    case NET_CHANNEL_MUL:
        inputs[1] = constant(n, VTAC_F32, shape, 4, op->weights);
        return graph_node(n->graph, VTAC_OP_MUL, inputs, 2, NULL, 0);
    case NET_ADD: return graph_node(n->graph, VTAC_OP_ADD, inputs, 2, NULL, 0);
    case NET_CONCAT: return graph_node(n->graph, VTAC_OP_CONCAT, inputs, 2, &axis, 1);
    }
    return 0;
}

void net_add(net *n, rng *r, const net_op *given)
{
    net_op *op = &n->ops[n->count];
    net_value *y = &n->values[n->count];
    vta_diag diag = {0};
    assert_true(n->count < NET_MAX);
    *op = *given;
    *y = (net_value){.id = 0};
    give_meaning(n, r, op, y);
    shape_of(n, op, y->dim);
    y->number = numbers(net_elements(y));
    random_weights(n, r, op, n->values[op->in[0]].dim[1]);
    y->id = (n->quantized ? build_quantized : build)(n, op, y);
    if (n->count == 1 || rng_percent(r, 50)) {
        assert_int_equal(vtac_add_output(n->graph, y->id, &diag), VTA_OK);
        n->outputs[n->output_count++] = n->count;
    }
    n->count++;
}

/* ---- values */

void net_fill(net *n, rng *r, void *memory)
{
    net_value *v = &n->values[0];
    for (int64_t i = 0; i < net_elements(v); i++) {
        if (!n->quantized) {
            v->number[i] = (double)(((float *)memory)[i] = (float)any(r));
        } else if (n->is_signed) {
            v->number[i] = ((int8_t *)memory)[i] = (int8_t)rng_between(r, -128, 127);
        } else {
            v->number[i] = ((uint8_t *)memory)[i] = (uint8_t)rng_between(r, 0, 255);
        }
    }
}

static double at(const net_value *v, int64_t b, int64_t c, int64_t y, int64_t x)
{
    return v->number[((b * v->dim[1] + c) * v->dim[2] + y) * v->dim[3] + x];
}

/* v * scale as a number of the value y. */
static double rescaled(const net *n, const net_value *y, double v, float scale)
{
    const int32_t low = n->is_signed ? -128 : 0;
    vtac_fixed fixed;
    assert_true(vtac_fixed_of(scale, &fixed));
    return vtac_fixed_apply((int64_t)v, fixed, y->zero, low, low + 255);
}

/* Scales are settled once, not at each element. */
typedef float (*settle)(float a, float b, float y);

static float mean_of(float x, float y, float count)
{
    return vtac_scale_mean(x, y, (int64_t)count);
}

static float ratio_of(float x, float y, float nothing)
{
    (void)nothing;
    return vtac_scale_ratio(x, y);
}

static float settled(settle how, float a, float b, float y)
{
    static struct {
        settle how;
        float a, b, y, scale;
    } last;
    if (how != last.how || a != last.a || b != last.b || y != last.y) {
        last.how = how;
        last.a = a;
        last.b = b;
        last.y = y;
        last.scale = how(a, b, y);
    }
    return last.scale;
}

static double product(const net *n, const net_op *op, const net_value *y, double v, int64_t m)
{
    const float x_scale = (float)n->values[op->in[0]].scale;
    return rescaled(n, y, v, settled(vtac_scale_product, x_scale, op->scales[m], (float)y->scale));
}

/* The input that tap `k` takes to place p along an axis; -1: none. */
static int64_t turned_from(const net_op *op, int a, int64_t p, int64_t k, int64_t dim)
{
    const int64_t at = p + op->pad[a] - k * op->dilation[a];
    return at >= 0 && at % op->stride[a] == 0 && at / op->stride[a] < dim ? at / op->stride[a] : -1;
}

static double turned_at(const net *n, const net_op *op, const int64_t *p)
{
    const net_value *x = &n->values[op->in[0]];
    const int64_t channels = x->dim[1] / op->groups;
    const int64_t outputs = op->outputs / op->groups;
    const int64_t first = p[1] / outputs * channels;
    double sum = op->has_bias ? op->bias[p[1]] : 0.0;
    for (int64_t ky = 0; ky < op->kernel[0]; ky++) {
        for (int64_t kx = 0; kx < op->kernel[1]; kx++) {
            const int64_t row = turned_from(op, 0, p[2], ky, x->dim[2]);
            const int64_t column = turned_from(op, 1, p[3], kx, x->dim[3]);
            for (int64_t c = first; c < first + channels && row >= 0 && column >= 0; c++) {
                const int64_t w = ((c * outputs + p[1] % outputs) * op->kernel[0] + ky) * op->kernel[1] + kx;
                sum += op->weights[w] * at(x, p[0], c, row, column);
            }
        }
    }
    return sum;
}

static double conv_at(const net *n, const net_op *op, const net_value *y, const int64_t *p)
{
    const net_value *x = &n->values[op->in[0]];
    const int64_t channels = x->dim[1] / op->groups;
    const int64_t first = p[1] / (op->outputs / op->groups) * channels;
    double sum = op->has_bias ? op->bias[p[1]] : 0.0;
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t ky = 0; ky < op->kernel[0]; ky++) {
            for (int64_t kx = 0; kx < op->kernel[1]; kx++) {
                const int64_t row = p[2] * op->stride[0] + ky * op->dilation[0] - op->pad[0];
                const int64_t column = p[3] * op->stride[1] + kx * op->dilation[1] - op->pad[1];
                const double w =
                    op->weights[((p[1] * channels + c) * op->kernel[0] + ky) * op->kernel[1] + kx];
                if (row >= 0 && row < x->dim[2] && column >= 0 && column < x->dim[3]) {
                    sum += w * (at(x, p[0], first + c, row, column) - (n->quantized ? x->zero : 0));
                }
            }
        }
    }
    return n->quantized ? product(n, op, y, sum, p[1]) : sum;
}

static double pool_at(const net *n, const net_op *op, const net_value *y, const int64_t *p)
{
    const net_value *x = &n->values[op->in[0]];
    const double zero = n->quantized ? x->zero : 0.0;
    const bool global = is_global(op->kind);
    const bool lp = op->kind == NET_LP_POOL || op->kind == NET_GLOBAL_LP_POOL;
    double sum = 0.0;
    double max = -HUGE_VAL;
    double count = 0.0;
    for (int64_t ky = 0; ky < (global ? x->dim[2] : op->kernel[0]); ky++) {
        for (int64_t kx = 0; kx < (global ? x->dim[3] : op->kernel[1]); kx++) {
            const int64_t row = global ? ky : p[2] * op->stride[0] + ky - op->pad[0];
            const int64_t column = global ? kx : p[3] * op->stride[1] + kx - op->pad[1];
            const bool inside = row >= 0 && row < x->dim[2] && column >= 0 && column < x->dim[3];
            const double value = inside ? at(x, p[0], p[1], row, column) : 0.0;
            sum += !inside ? 0.0 : lp ? pow(fabs(value), (double)op->p) : value - zero;
            max = inside ? fmax(max, value) : max;
            count += inside || op->count_all;
        }
    }
    if (op->kind == NET_MAX_POOL) {
        return max;
    }
    if (lp) {
        return pow(sum, 1.0 / (double)op->p);
    }
    return n->quantized
               ? rescaled(n, y, sum, settled(mean_of, (float)x->scale, (float)y->scale, (float)count))
               : sum / count;
}

/* The whole value at once: each group of channels of each batch (of all batches: `over_batch`) by its mean.
 */
static void normalize(const net_op *op, const net_value *x, net_value *y)
{
    const bool over_batch = op->kind == NET_MEAN_VARIANCE;
    const int64_t groups = op->kind == NET_GROUP_NORM ? op->groups : x->dim[1];
    const int64_t run = net_elements(x) / (x->dim[0] * groups); /* elements of a group, one after the other */
    const int64_t plane = x->dim[2] * x->dim[3];
    const int64_t batches = over_batch ? x->dim[0] : 1;
    const double count = (double)(run * batches);
    for (int64_t unit = 0; unit < x->dim[0] / batches * groups; unit++) {
        double mean = 0.0;
        double variance = over_batch ? 0.0 : op->epsilon;
        for (int64_t i = 0; i < run * batches; i++) {
            mean += x->number[(unit + i / run * groups) * run + i % run] / count;
        }
        for (int64_t i = 0; i < run * batches; i++) {
            const double off = x->number[(unit + i / run * groups) * run + i % run] - mean;
            variance += off * off / count;
        }
        for (int64_t i = 0; i < run * batches; i++) {
            const int64_t at = (unit + i / run * groups) * run + i % run;
            const int64_t m = op->by_group ? unit % groups : at / plane % x->dim[1];
            const double off = (x->number[at] - mean) / sqrt(variance);
            y->number[at] = over_batch ? off : off * op->weights[m] + op->bias[m];
        }
    }
}

static double lrn_at(const net_op *op, const net_value *x, const int64_t *p)
{
    double sum = 0.0;
    const int64_t first = p[1] - (op->groups - 1) / 2;
    for (int64_t c = first; c < first + op->groups; c++) {
        const double v = c >= 0 && c < x->dim[1] ? at(x, p[0], c, p[2], p[3]) : 0.0;
        sum += v * v;
    }
    return at(x, p[0], p[1], p[2], p[3]) / pow(LRN_BIAS + LRN_ALPHA / (double)op->groups * sum, LRN_BETA);
}

/* Factors are looked for once, not at each element. */
static vtac_fixed_sum sum_of(float a, float b, float y)
{
    static struct {
        float a, b, y;
        vtac_fixed_sum sum;
    } last;
    if (a != last.a || b != last.b || y != last.y) {
        last.a = a;
        last.b = b;
        last.y = y;
        assert_true(vtac_fixed_sum_of(a, b, y, &last.sum));
    }
    return last.sum;
}

static double add_at(const net *n, const net_op *op, const net_value *y, const int64_t *p)
{
    const net_value *a = &n->values[op->in[0]];
    const net_value *b = &n->values[op->in[1]];
    const double left = at(a, p[0], p[1], p[2], p[3]);
    const double right = at(b, p[0], p[1], p[2], p[3]);
    const int32_t low = n->is_signed ? -128 : 0;
    if (!n->quantized) {
        return left + right;
    }
    const vtac_fixed_sum fixed = sum_of((float)a->scale, (float)b->scale, (float)y->scale);
    const double v = (left - a->zero) * fixed.a + (right - b->zero) * fixed.b;
    return vtac_fixed_apply((int64_t)v, (vtac_fixed){.mult = 1, .shift = fixed.shift}, y->zero, low,
                            low + 255);
}

static double concat_at(const net *n, const net_op *op, const net_value *y, const int64_t *p)
{
    const net_value *a = &n->values[op->in[0]];
    const bool first = p[1] < a->dim[1];
    const net_value *x = first ? a : &n->values[op->in[1]];
    const double value = at(x, p[0], p[1] - (first ? 0 : a->dim[1]), p[2], p[3]);
    return n->quantized
               ? rescaled(n, y, value - x->zero, settled(ratio_of, (float)x->scale, (float)y->scale, 0.0F))
               : value;
}

static double value_at(const net *n, uint32_t i, const int64_t *p)
{
    const net_op *op = &n->ops[i];
    const net_value *y = &n->values[i];
    const net_value *a = &n->values[op->in[0]];
    double v;
    switch (op->kind) {
    case NET_CONV: return conv_at(n, op, y, p);
    case NET_CONV_TRANSPOSE: return turned_at(n, op, p);
    case NET_MAX_POOL:
    case NET_AVERAGE_POOL:
    case NET_LP_POOL:
    case NET_GLOBAL_LP_POOL:
    case NET_GLOBAL_POOL: return pool_at(n, op, y, p);
    case NET_INSTANCE_NORM:
    case NET_GROUP_NORM:
    case NET_MEAN_VARIANCE: break; /* not one by one */
    case NET_LRN: return lrn_at(op, a, p);
    case NET_RELU: return fmax(0.0, at(a, p[0], p[1], p[2], p[3]));
    case NET_CHANNEL_MUL:
        v = op->weights[p[1]] * (at(a, p[0], p[1], p[2], p[3]) - (n->quantized ? a->zero : 0));
        return n->quantized ? product(n, op, y, v, 0) : v;
    case NET_ADD: return add_at(n, op, y, p);
    case NET_CONCAT: return concat_at(n, op, y, p);
    }
    return 0.0;
}

/* One element after the other. */
static void evaluate(const net *n, uint32_t i)
{
    const net_value *v = &n->values[i];
    int64_t p[4];
    int64_t flat = 0;
    for (p[0] = 0; p[0] < v->dim[0]; p[0]++) {
        for (p[1] = 0; p[1] < v->dim[1]; p[1]++) {
            for (p[2] = 0; p[2] < v->dim[2]; p[2]++) {
                for (p[3] = 0; p[3] < v->dim[3]; p[3]++) {
                    v->number[flat++] = value_at(n, i, p);
                }
            }
        }
    }
}

void net_evaluate(net *n)
{
    for (uint32_t i = 1; i < n->count; i++) {
        const net_op *op = &n->ops[i];
        if (is_norm(op->kind)) {
            normalize(op, &n->values[op->in[0]], &n->values[i]);
        } else {
            evaluate(n, i);
        }
    }
}

void net_free(net *n)
{
    for (uint32_t i = 0; i < n->count; i++) {
        free(n->values[i].number);
        free(n->ops[i].weights);
        free(n->ops[i].bias);
        free(n->ops[i].scales);
        free(n->ops[i].zeros);
    }
    vtac_graph_destroy(n->graph);
}
