/* SPDX-License-Identifier: Apache-2.0
 *
 * Models of one layer each, as grid.def lists them: grid_models FOLDER [NAME...] writes FOLDER/NAME.onnx for
 * each (or those named) and prints its name. Weights are random, of a constant seed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "vtac/graph.h"
#include "vtac/onnx.h"

typedef struct layer {
    vtac_graph *graph;
    const char *type;
    rng random;
    vta_diag diag;
} layer;

static void must(layer *l, vta_status status)
{
    if (status != VTA_OK) {
        (void)fprintf(stderr, "grid_models: %s\n", l->diag.text);
        exit(1);
    }
}

static bool is_quantized(const layer *l)
{
    return l->type[0] != 'f';
}

/* Of the input and of the weights. */
static vtac_dtype data_type(const layer *l)
{
    return !is_quantized(l) ? VTAC_F32 : l->type[0] == 's' ? VTAC_I8 : VTAC_U8;
}

static vtac_dtype weight_type(const layer *l)
{
    return !is_quantized(l) ? VTAC_F32 : l->type[2] == 's' ? VTAC_I8 : VTAC_U8;
}

static bool per_output(const layer *l)
{
    return weight_type(l) == VTAC_I8;
}

static int weight_zero(const layer *l)
{
    return weight_type(l) == VTAC_I8 ? 0 : l->type[4] == 'z' ? 117 : 128;
}

static vtac_value_id input(layer *l, vtac_dtype dtype, uint32_t rank, const int64_t *dim)
{
    vtac_type type = {.dtype = dtype, .rank = rank};
    vtac_value_id id;
    memcpy(type.dim, dim, rank * sizeof *dim);
    must(l, vtac_add_input(l->graph, "", &type, &id, &l->diag));
    return id;
}

/* `value` for each element; RANDOM: any. */
#define RANDOM ((double)NAN)

static vtac_value_id constant(layer *l, vtac_dtype dtype, uint32_t rank, const int64_t *dim, double value)
{
    vtac_tensor t = {.type = {.dtype = dtype, .rank = rank}};
    vtac_value_id id;
    memcpy(t.type.dim, dim, rank * sizeof *dim);
    const int64_t count = vtac_type_elements(&t.type);
    t.bytes = (size_t)count * vtac_dtype_bytes(dtype);
    uint8_t *data = vta_arena_alloc(&l->graph->arena, t.bytes + 1);
    if (data == NULL) {
        exit(1);
    }
    for (int64_t i = 0; i < count; i++) {
        const bool given = !isnan(value);
        const double any = given ? value : (double)rng_between(&l->random, -100, 100);
        switch ((int)dtype) {
        case VTAC_F32: ((float *)(void *)data)[i] = (float)(given ? value : any / 1000.0); break;
        case VTAC_I32: ((int32_t *)(void *)data)[i] = (int32_t)any; break;
        case VTAC_I8: ((int8_t *)data)[i] = (int8_t)any; break;
        default: data[i] = (uint8_t)(given ? any : any + 110.0); break;
        }
    }
    t.data = data;
    must(l, vtac_add_constant(l->graph, "", &t, &id, &l->diag));
    return id;
}

static vtac_value_id node(layer *l, vtac_op op, uint32_t count, const vtac_value_id *inputs,
                          uint32_t attr_count, const vtac_attr *attrs)
{
    const uint32_t outputs = op == VTAC_OP_DYNAMIC_QUANTIZE ? 3 : op == VTAC_OP_TOP_K ? 2 : 1;
    const vtac_node_spec spec = {.op = op,
                                 .name = "layer",
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = outputs,
                                 .attrs = attrs,
                                 .attr_count = attr_count};
    vtac_node_id id;
    must(l, vtac_add_node(l->graph, &spec, &id, &l->diag));
    return l->graph->nodes[id].outputs[0];
}

static vtac_attr whole(const char *name, int64_t value)
{
    return (vtac_attr){.name = name, .kind = VTAC_ATTR_INT, .count = 1, .i = value};
}

static vtac_attr list(const char *name, size_t count, const int64_t *values)
{
    return (vtac_attr){.name = name, .kind = VTAC_ATTR_INTS, .count = count, .ints = values};
}

/* The parameters between input, weights and output of a quantized layer: x, its scale and zero point, w, its,
 * the output's. */
static uint32_t quantized_inputs(layer *l, vtac_value_id x, vtac_value_id w, int64_t outputs, int64_t inner,
                                 vtac_value_id *in)
{
    const vtac_dtype dtype = data_type(l);
    const uint32_t rank = per_output(l) && l->graph->values[w].constant != NULL ? 1 : 0;
    const int zero = dtype == VTAC_I8 ? -3 : 120;
    const vtac_value_id all[] = {x,
                                 constant(l, VTAC_F32, 0, &outputs, 0.02),
                                 constant(l, dtype, 0, &outputs, zero),
                                 w,
                                 constant(l, VTAC_F32, rank, &outputs, 0.01),
                                 constant(l, weight_type(l), rank, &outputs, weight_zero(l)),
                                 constant(l, VTAC_F32, 0, &outputs, 0.02 * sqrt((double)inner)),
                                 constant(l, dtype, 0, &outputs, zero)};
    memcpy(in, all, sizeof all);
    return 8;
}

static vtac_value_id conv(layer *l, const int64_t *p)
{
    const int64_t x_dim[] = {p[0], p[1], p[2], p[3]};
    const int64_t per_group = p[1] / p[7];
    const int64_t w_dim[] = {p[4], per_group, p[5], p[5]};
    const int64_t inner = per_group * p[5] * p[5];
    const int64_t pad = (p[5] - 1) * p[8] / 2;
    const int64_t strides[] = {p[6], p[6]};
    const int64_t dilations[] = {p[8], p[8]};
    const int64_t pads[] = {pad, pad, pad, pad};
    const vtac_attr attrs[] = {list("kernel_shape", 2, w_dim + 2), list("strides", 2, strides),
                               list("dilations", 2, dilations), list("pads", 4, pads), whole("group", p[7])};
    const vtac_value_id x = input(l, data_type(l), 4, x_dim);
    const vtac_value_id w = constant(l, weight_type(l), 4, w_dim, RANDOM);
    if (is_quantized(l)) {
        vtac_value_id in[9];
        const uint32_t count = quantized_inputs(l, x, w, p[4], inner, in);
        in[count] = constant(l, VTAC_I32, 1, &p[4], RANDOM);
        return node(l, VTAC_OP_QLINEAR_CONV, count + 1, in, 5, attrs);
    }
    const vtac_value_id in[] = {x, w, constant(l, VTAC_F32, 1, &p[4], RANDOM)};
    return node(l, VTAC_OP_CONV, 3, in, 5, attrs);
}

static vtac_value_id conv_transpose(layer *l, const int64_t *p)
{
    const int64_t x_dim[] = {p[0], p[1], p[2], p[3]};
    const int64_t w_dim[] = {p[1], p[4] / p[7], p[5], p[5]};
    const int64_t strides[] = {p[6], p[6]};
    const int64_t pad = p[5] > p[6] ? (p[5] - p[6]) / 2 : 0;
    const int64_t pads[] = {pad, pad, pad, pad};
    const vtac_attr attrs[] = {list("kernel_shape", 2, w_dim + 2), list("strides", 2, strides),
                               list("pads", 4, pads), whole("group", p[7])};
    const vtac_value_id in[] = {input(l, VTAC_F32, 4, x_dim), constant(l, VTAC_F32, 4, w_dim, RANDOM),
                                constant(l, VTAC_F32, 1, &p[4], RANDOM)};
    return node(l, VTAC_OP_CONV_TRANSPOSE, 3, in, 4, attrs);
}

/* Both operands are inputs, the right one by rows of columns. */
static vtac_value_id turned_product(layer *l, const int64_t *p)
{
    const int64_t a_dim[] = {p[1], p[2]};
    const int64_t b_dim[] = {p[3], p[2]};
    const vtac_attr turned = whole("transB", 1);
    const vtac_value_id in[] = {input(l, VTAC_F32, 2, a_dim), input(l, VTAC_F32, 2, b_dim)};
    return node(l, VTAC_OP_GEMM, 2, in, 1, &turned);
}

static vtac_value_id product(layer *l, const int64_t *p)
{
    if (p[4] == 2) {
        return turned_product(l, p);
    }
    const uint32_t rank = p[0] > 1 ? 3 : 2;
    const int64_t a_dim[] = {p[0], p[1], p[2]};
    const int64_t b_dim[] = {p[0], p[2], p[3]};
    const vtac_value_id a = input(l, data_type(l), rank, a_dim + 3 - rank);
    const vtac_value_id b = p[4] != 0 ? input(l, weight_type(l), rank, b_dim + 3 - rank)
                                      : constant(l, weight_type(l), rank, b_dim + 3 - rank, RANDOM);
    vtac_value_id in[9] = {a, b};
    if (!is_quantized(l)) {
        return node(l, VTAC_OP_MATMUL, 2, in, 0, NULL);
    }
    const uint32_t count = quantized_inputs(l, a, b, p[3], p[2], in);
    return node(l, VTAC_OP_QLINEAR_MATMUL, count, in, 0, NULL);
}

static vtac_value_id dense(layer *l, const int64_t *p)
{
    const int64_t x_dim[] = {p[0], p[1]};
    vtac_value_id x = input(l, data_type(l), 2, x_dim);
    for (int i = 1; i < 4; i++) {
        const int64_t w_dim[] = {p[i + 1], p[i]};
        const vtac_attr turned = whole("transB", 1);
        const vtac_value_id w = constant(l, weight_type(l), 2, w_dim, RANDOM);
        if (is_quantized(l)) {
            vtac_value_id in[9];
            (void)quantized_inputs(l, x, w, p[i + 1], p[i], in);
            memmove(in + 7, in + 6, 2 * sizeof *in);
            in[6] = constant(l, VTAC_I32, 1, &p[i + 1], RANDOM);
            x = node(l, VTAC_OP_QGEMM, 9, in, 1, &turned);
        } else {
            const vtac_value_id in[] = {x, w, constant(l, VTAC_F32, 1, &p[i + 1], RANDOM)};
            x = node(l, VTAC_OP_GEMM, 3, in, 1, &turned);
            x = i < 3 ? node(l, VTAC_OP_RELU, 1, &x, 0, NULL) : x;
        }
    }
    return x;
}

static vtac_value_id attention(layer *l, const int64_t *p)
{
    const int64_t dim[] = {1, p[0], p[1], p[2]};
    const int64_t other[] = {1, p[0], p[3] != 0 ? p[3] : p[1], p[2]};
    static const int64_t turned[] = {0, 1, 3, 2};
    const vtac_value_id q = input(l, VTAC_F32, 4, dim);
    const vtac_value_id k = input(l, VTAC_F32, 4, other);
    const vtac_value_id v = input(l, VTAC_F32, 4, other);
    const vtac_attr perm = list("perm", 4, turned);
    const vtac_value_id first[] = {q, node(l, VTAC_OP_TRANSPOSE, 1, &k, 1, &perm)};
    const vtac_value_id scaled[] = {node(l, VTAC_OP_MATMUL, 2, first, 0, NULL),
                                    constant(l, VTAC_F32, 0, dim, 1.0 / sqrt((double)p[2]))};
    const vtac_value_id score = node(l, VTAC_OP_MUL, 2, scaled, 0, NULL);
    const vtac_attr axis = whole("axis", -1);
    const vtac_value_id second[] = {node(l, VTAC_OP_SOFTMAX, 1, &score, 1, &axis), v};
    return node(l, VTAC_OP_MATMUL, 2, second, 0, NULL);
}

static vtac_value_id rows(layer *l, vtac_op op, const int64_t *p)
{
    const int64_t dim[] = {1, p[0], p[1]};
    const vtac_attr axis = whole("axis", -1);
    const vtac_value_id in[] = {input(l, VTAC_F32, 3, dim), constant(l, VTAC_F32, 1, &p[1], RANDOM),
                                constant(l, VTAC_F32, 1, &p[1], RANDOM)};
    const bool norm = op == VTAC_OP_LAYER_NORMALIZATION;
    return node(l, op, norm ? 3 : 1, in, norm || op == VTAC_OP_SOFTMAX ? 1 : 0, &axis);
}

static vtac_value_id rect(layer *l, const int64_t *p)
{
    const int64_t x_dim[] = {1, p[0], p[1], p[2]};
    const int64_t w_dim[] = {p[3], p[0], p[4], p[5]};
    const int64_t strides[] = {p[6], p[6]};
    const int64_t pads[] = {p[4] / 2, p[5] / 2, p[4] / 2, p[5] / 2};
    const vtac_attr attrs[] = {list("kernel_shape", 2, w_dim + 2), list("strides", 2, strides),
                               list("pads", 4, pads)};
    const vtac_value_id x = input(l, data_type(l), 4, x_dim);
    const vtac_value_id w = constant(l, weight_type(l), 4, w_dim, RANDOM);
    if (is_quantized(l)) {
        vtac_value_id in[8];
        const uint32_t count = quantized_inputs(l, x, w, p[3], p[0] * p[4] * p[5], in);
        return node(l, VTAC_OP_QLINEAR_CONV, count, in, 3, attrs);
    }
    const vtac_value_id in[] = {x, w};
    return node(l, VTAC_OP_CONV, 2, in, 3, attrs);
}

static vtac_value_id line(layer *l, const int64_t *p)
{
    const int64_t x_dim[] = {1, p[0], p[1]};
    const int64_t w_dim[] = {p[2], p[0], p[3]};
    const int64_t pads[] = {p[3] / 2, p[3] / 2};
    const vtac_attr attrs[] = {list("kernel_shape", 1, w_dim + 2), list("strides", 1, p + 4),
                               list("pads", 2, pads)};
    const vtac_value_id x = input(l, data_type(l), 3, x_dim);
    const vtac_value_id w = constant(l, weight_type(l), 3, w_dim, RANDOM);
    if (is_quantized(l)) {
        vtac_value_id in[8];
        const uint32_t count = quantized_inputs(l, x, w, p[2], p[0] * p[3], in);
        return node(l, VTAC_OP_QLINEAR_CONV, count, in, 3, attrs);
    }
    const vtac_value_id in[] = {x, w};
    return node(l, VTAC_OP_CONV, 2, in, 3, attrs);
}

static vtac_value_id plane(layer *l, vtac_op op, const int64_t *p)
{
    const int64_t dim[] = {1, p[0], p[1], p[2]};
    const vtac_value_id in[] = {input(l, VTAC_F32, 4, dim), constant(l, VTAC_F32, 0, dim, 0.01),
                                constant(l, VTAC_U8, 0, dim, 3.0)};
    return node(l, op, op == VTAC_OP_QUANTIZE_LINEAR ? 3 : 1, in, 0, NULL);
}

static vtac_value_id top_k(layer *l, const int64_t *p)
{
    const vtac_tensor count = {
        .type = {.dtype = VTAC_I64, .rank = 1, .dim = {1}}, .data = p + 2, .bytes = sizeof *p};
    vtac_value_id in[] = {input(l, VTAC_F32, 2, p), 0};
    must(l, vtac_add_constant(l->graph, "", &count, &in[1], &l->diag));
    return node(l, VTAC_OP_TOP_K, 2, in, 0, NULL);
}

static vtac_value_id pool(layer *l, vtac_op op, const int64_t *p)
{
    const int64_t dim[] = {1, p[0], p[1], p[2]};
    const int64_t kernel[] = {p[3], p[3]};
    const int64_t strides[] = {p[4], p[4]};
    const vtac_attr attrs[] = {list("kernel_shape", 2, kernel), list("strides", 2, strides)};
    const vtac_value_id x = input(l, VTAC_F32, 4, dim);
    return node(l, op, 1, &x, 2, attrs);
}

static vtac_value_id reduce(layer *l, vtac_op op, const int64_t *p)
{
    const vtac_tensor axes = {
        .type = {.dtype = VTAC_I64, .rank = 1, .dim = {1}}, .data = p + 4, .bytes = sizeof *p};
    vtac_value_id in[] = {input(l, VTAC_F32, 4, p), 0};
    must(l, vtac_add_constant(l->graph, "", &axes, &in[1], &l->diag));
    return node(l, op, 2, in, 0, NULL);
}

static vtac_value_id transpose(layer *l, const int64_t *p)
{
    const vtac_attr perm = list("perm", 4, p + 4);
    const vtac_value_id x = input(l, VTAC_F32, 4, p);
    return node(l, VTAC_OP_TRANSPOSE, 1, &x, 1, &perm);
}

static vtac_value_id resize(layer *l, const int64_t *p)
{
    const int64_t dim[] = {1, p[0], p[1], p[2]};
    const float factor = (float)p[3];
    const float factors[] = {1.0F, 1.0F, factor, factor};
    const vtac_tensor scales = {
        .type = {.dtype = VTAC_F32, .rank = 1, .dim = {4}}, .data = factors, .bytes = sizeof factors};
    const vtac_attr mode = {.name = "mode", .kind = VTAC_ATTR_STRING, .s = l->type};
    vtac_value_id in[] = {input(l, VTAC_F32, 4, dim), 0, 0};
    must(l, vtac_add_constant(l->graph, "", &scales, &in[2], &l->diag));
    return node(l, VTAC_OP_RESIZE, 3, in, 1, &mode);
}

static vtac_value_id binary(layer *l, vtac_op op, const int64_t *p)
{
    const vtac_value_id in[] = {input(l, VTAC_F32, 4, p), input(l, VTAC_F32, 4, p + 4)};
    return node(l, op, 2, in, 0, NULL);
}

static vtac_value_id einsum(layer *l, const int64_t *p)
{
    const vtac_attr equation = {.name = "equation", .kind = VTAC_ATTR_STRING, .s = l->type};
    const vtac_value_id in[] = {input(l, VTAC_F32, 4, p), input(l, VTAC_F32, 4, p + 4)};
    l->type = "f32";
    return node(l, VTAC_OP_EINSUM, 2, in, 1, &equation);
}

/* Floats by weights of bytes, as dynamic quantization exports it. */
static vtac_value_id dynamic(layer *l, const int64_t *p)
{
    const int64_t w_dim[] = {p[1], p[2]};
    vtac_value_id x = input(l, VTAC_F32, 2, p);
    x = node(l, VTAC_OP_DYNAMIC_QUANTIZE, 1, &x, 0, NULL);
    const vtac_value_id *made = l->graph->nodes[l->graph->values[x].node].outputs;
    const vtac_value_id scale = made[1];
    const vtac_value_id in[] = {x, constant(l, VTAC_I8, 2, w_dim, RANDOM), made[2]};
    const vtac_value_id sums = node(l, VTAC_OP_MATMUL_INTEGER, 3, in, 0, NULL);
    const vtac_attr to = {.name = "to", .kind = VTAC_ATTR_STRING, .s = "f32"};
    const vtac_value_id scaled[] = {node(l, VTAC_OP_CAST, 1, &sums, 1, &to), scale};
    return node(l, VTAC_OP_MUL, 2, scaled, 0, NULL);
}

static vtac_value_id recurrent(layer *l, vtac_op op, const int64_t *p)
{
    const int64_t x_dim[] = {p[1], p[2], p[3]};
    const int64_t w_dim[] = {1, p[0] * p[4], p[3]};
    const int64_t r_dim[] = {1, p[0] * p[4], p[4]};
    const vtac_attr hidden = whole("hidden_size", p[4]);
    const vtac_value_id in[] = {input(l, VTAC_F32, 3, x_dim), constant(l, VTAC_F32, 3, w_dim, RANDOM),
                                constant(l, VTAC_F32, 3, r_dim, RANDOM)};
    return node(l, op, 3, in, 1, &hidden);
}

typedef enum kind {
    K_EINSUM,
    K_DYNAMIC,
    K_RECT,
    K_LINE,
    K_PLANE,
    K_TOP_K,
    K_POOL,
    K_REDUCE,
    K_TRANSPOSE,
    K_RESIZE,
    K_BINARY,
    K_RECURRENT,
    K_CONV,
    K_CONV_T,
    K_PRODUCT,
    K_DENSE,
    K_ATTENTION,
    K_ROWS
} kind;

static const struct {
    const char *name;
    kind kind;
    const char *type;
    vtac_op op;
    int64_t p[10];
} layers[] = {
#define CONV(name, type, ...)          {#name, K_CONV, type, 0, {__VA_ARGS__}},
#define CONV_T(name, ...)              {#name, K_CONV_T, "f32", 0, {__VA_ARGS__}},
#define PRODUCT(name, type, ...)       {#name, K_PRODUCT, type, 0, {__VA_ARGS__}},
#define DENSE(name, type, ...)         {#name, K_DENSE, type, 0, {__VA_ARGS__}},
#define ATTENTION(name, ...)           {#name, K_ATTENTION, "f32", 0, {__VA_ARGS__}},
#define RECT(name, type, ...)          {#name, K_RECT, type, 0, {__VA_ARGS__}},
#define LINE(name, type, ...)          {#name, K_LINE, type, 0, {__VA_ARGS__}},
#define PLANE(name, operator, ...)     {#name, K_PLANE, "f32", VTAC_OP_##operator, {__VA_ARGS__} },
#define TOP_K(name, ...)               {#name, K_TOP_K, "f32", 0, {__VA_ARGS__}},
#define POOL(name, operator, ...)      {#name, K_POOL, "f32", VTAC_OP_##operator, {__VA_ARGS__} },
#define REDUCE(name, operator, ...)    {#name, K_REDUCE, "f32", VTAC_OP_##operator, {__VA_ARGS__} },
#define TRANSPOSE(name, ...)           {#name, K_TRANSPOSE, "f32", 0, {__VA_ARGS__}},
#define RESIZE(name, mode, ...)        {#name, K_RESIZE, mode, 0, {__VA_ARGS__}},
#define BINARY(name, operator, ...)    {#name, K_BINARY, "f32", VTAC_OP_##operator, {__VA_ARGS__} },
#define RECURRENT(name, operator, ...) {#name, K_RECURRENT, "f32", VTAC_OP_##operator, {__VA_ARGS__} },
#define EINSUM(name, equation, ...)    {#name, K_EINSUM, equation, 0, {__VA_ARGS__}},
#define DYNAMIC(name, ...)             {#name, K_DYNAMIC, "f32", 0, {__VA_ARGS__}},
#define ROWS(name, operator, ...)      {#name, K_ROWS, "f32", VTAC_OP_##operator, {__VA_ARGS__} },
#include "grid.def"
};

static void write_layer(size_t i, const char *folder)
{
    char path[4096];
    layer l = {.graph = vtac_graph_create(layers[i].name), .type = layers[i].type};
    const int64_t *p = layers[i].p;
    vtac_value_id y = 0;
    if (l.graph == NULL) {
        exit(1);
    }
    l.random.state = 1 + i;
    switch (layers[i].kind) {
    case K_EINSUM: y = einsum(&l, p); break;
    case K_DYNAMIC: y = dynamic(&l, p); break;
    case K_RECT: y = rect(&l, p); break;
    case K_LINE: y = line(&l, p); break;
    case K_PLANE: y = plane(&l, layers[i].op, p); break;
    case K_TOP_K: y = top_k(&l, p); break;
    case K_POOL: y = pool(&l, layers[i].op, p); break;
    case K_REDUCE: y = reduce(&l, layers[i].op, p); break;
    case K_TRANSPOSE: y = transpose(&l, p); break;
    case K_RESIZE: y = resize(&l, p); break;
    case K_BINARY: y = binary(&l, layers[i].op, p); break;
    case K_RECURRENT: y = recurrent(&l, layers[i].op, p); break;
    case K_CONV: y = conv(&l, p); break;
    case K_CONV_T: y = conv_transpose(&l, p); break;
    case K_PRODUCT: y = product(&l, p); break;
    case K_DENSE: y = dense(&l, p); break;
    case K_ATTENTION: y = attention(&l, p); break;
    case K_ROWS: y = rows(&l, layers[i].op, p); break;
    }
    must(&l, vtac_add_output(l.graph, y, &l.diag));
    (void)vtac_remove_dead(l.graph);
    (void)snprintf(path, sizeof path, "%s/%s.onnx", folder, layers[i].name);
    must(&l, vtac_onnx_write(l.graph, "grid_models", path, &l.diag));
    vtac_graph_destroy(l.graph);
    (void)printf("%s\n", layers[i].name);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "usage: grid_models FOLDER [NAME...]\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        bool wanted = argc == 2;
        for (int k = 2; k < argc; k++) {
            wanted = wanted || strcmp(argv[k], layers[i].name) == 0;
        }
        if (wanted) {
            write_layer(i, argv[1]);
        }
    }
    return 0;
}
