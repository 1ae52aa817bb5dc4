/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph grows step by step from a pool of values: each step reads some of the pool and adds what it makes,
 * with random numbers of its own, so that it stays what it is when others are left out. Values that nobody
 * reads in the end are the outputs, or all are.
 */
#include "graphs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
enum { MAX_VALUES = 32, MAX_ELEMENTS = 6000, MAX_CHANNELS = 40 };

/* A quantized value with its scale and zero point as values of the graph. */
typedef struct quantized {
    vtac_value_id value, scale, zero;
    float s;
} quantized;

typedef struct grower {
    vtac_graph *graph;
    rng r;
    quantized pool[MAX_VALUES];
    uint32_t count;
    vtac_dtype dtype; /* of the activations; VTAC_NO_DTYPE: each product chooses */
    bool planted;
    vta_diag *diag;
} grower;

/* ---- constants */

static vta_status constant(grower *g, vtac_dtype dtype, uint32_t rank, const int64_t *dim, const void *data,
                           vtac_value_id *out)
{
    vtac_tensor t = {.type = {.dtype = dtype, .rank = rank}};
    for (uint32_t i = 0; i < rank; i++) {
        t.type.dim[i] = dim[i];
    }
    t.bytes = (size_t)vtac_type_elements(&t.type) * vtac_dtype_bytes(dtype);
    void *kept = vta_arena_alloc(&g->graph->arena, t.bytes);
    if (kept == NULL) {
        return vta_fail(g->diag, VTA_NOMEM, "out of memory");
    }
    memcpy(kept, data, t.bytes);
    t.data = kept;
    return vtac_add_constant(g->graph, "", &t, out, g->diag);
}

static vtac_dtype draw_dtype(grower *g)
{
    return g->dtype != VTAC_NO_DTYPE ? g->dtype : rng_percent(&g->r, 50) ? VTAC_U8 : VTAC_I8;
}

/* A scale of some digits, near `about`. */
static float draw_scale(grower *g, double about)
{
    return (float)(about * (0.5 + (double)rng_below(&g->r, 1000000) / 666666.0));
}

static vta_status draw_zero(grower *g, vtac_dtype dtype, vtac_value_id *out)
{
    const int64_t min = dtype == VTAC_U8 ? 0 : -128;
    const int8_t byte = (int8_t)(uint8_t)(rng_percent(&g->r, 20) ? min + (dtype == VTAC_U8 ? 128 : 0)
                                                                 : min + rng_between(&g->r, 0, 255));
    return constant(g, dtype, 0, NULL, &byte, out);
}

static vta_status draw_quantized(grower *g, vtac_dtype dtype, double about, quantized *out)
{
    out->s = draw_scale(g, about);
    VTA_TRY(constant(g, VTAC_F32, 0, NULL, &out->s, &out->scale));
    return draw_zero(g, dtype, &out->zero);
}

/* ---- nodes */

static vta_status node(grower *g, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                       const vtac_attr *attrs, uint32_t attr_count, vtac_value_id *out)
{
    char name[64];
    vtac_node_id id;
    (void)snprintf(name, sizeof name, "%s%u", vtac_op_get(op)->name, g->graph->node_count);
    const vtac_node_spec spec = {.op = op,
                                 .name = name,
                                 .origin = g->graph->node_count,
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = attr_count};
    VTA_TRY(vtac_add_node(g->graph, &spec, &id, g->diag));
    *out = g->graph->nodes[id].outputs[0];
    return VTA_OK;
}

static vta_status add(grower *g, const quantized *q)
{
    if (g->count < MAX_VALUES) {
        g->pool[g->count++] = *q;
    }
    return VTA_OK;
}

static const vtac_type *type_of(const grower *g, const quantized *q)
{
    return &g->graph->values[q->value].type;
}

static quantized pick(grower *g)
{
    /* late values more often: chains, not stars */
    const uint32_t back = rng_percent(&g->r, 60) ? rng_below(&g->r, 2) : rng_below(&g->r, g->count);
    return g->pool[g->count - 1 - (back < g->count ? back : 0)];
}

static vtac_attr ints(const char *name, const int64_t *values, size_t count)
{
    return (vtac_attr){.name = name, .kind = VTAC_ATTR_INTS, .count = count, .ints = values};
}

static vtac_attr one(const char *name, int64_t value)
{
    return (vtac_attr){.name = name, .kind = VTAC_ATTR_INT, .i = value};
}

static vtac_attr text(const char *name, const char *value)
{
    return (vtac_attr){.name = name, .kind = VTAC_ATTR_STRING, .s = value};
}

/* A window that fits h × w: kernel, strides, pads, dilations. */
typedef struct window {
    int64_t kernel[2], strides[2], dilations[2], pads[4];
} window;

static window draw_window(grower *g, const vtac_type *x)
{
    window w;
    for (int i = 0; i < 2; i++) {
        const int64_t size = x->dim[2 + i];
        w.kernel[i] = rng_percent(&g->r, 30) ? 1 : rng_between(&g->r, 1, 5);
        w.dilations[i] = rng_percent(&g->r, 15) ? 2 : 1;
        w.strides[i] = rng_percent(&g->r, 30) ? rng_between(&g->r, 2, 3) : 1;
        w.pads[i] = rng_between(&g->r, 0, w.kernel[i] / 2);
        w.pads[2 + i] = rng_between(&g->r, 0, w.kernel[i] / 2);
        if (size + w.pads[i] + w.pads[2 + i] < (w.kernel[i] - 1) * w.dilations[i] + 1) {
            w.kernel[i] = w.dilations[i] = 1;
            w.pads[i] = w.pads[2 + i] = 0;
        }
    }
    return w;
}

/* Weights with their scales and zero points: inputs 3, 4, 5 of a node. */
static vta_status draw_weights(grower *g, uint32_t rank, const int64_t *dim, int64_t outputs,
                               vtac_value_id *inputs)
{
    int8_t data[MAX_CHANNELS * MAX_ELEMENTS];
    float scales[2 * MAX_CHANNELS];
    int8_t zeros[2 * MAX_CHANNELS];
    int64_t count = 1;
    for (uint32_t i = 0; i < rank; i++) {
        count *= dim[i];
    }
    const int move = rng_percent(&g->r, 20) ? 128 : 0;
    const bool each = rng_percent(&g->r, 60);
    const bool asymmetric = rng_percent(&g->r, 15);
    const int spread = rng_percent(&g->r, 20) ? 256 : 40;
    for (int64_t i = 0; i < count; i++) {
        data[i] = (int8_t)(uint8_t)(move + rng_between(&g->r, -spread / 2, spread / 2 - 1));
    }
    for (int64_t o = 0; o < outputs; o++) {
        scales[o] = draw_scale(g, 0.02);
        zeros[o] = (int8_t)(uint8_t)(move + (asymmetric ? rng_between(&g->r, -9, 9) : 0));
    }
    const vtac_dtype dtype = move != 0 ? VTAC_U8 : VTAC_I8;
    VTA_TRY(constant(g, dtype, rank, dim, data, &inputs[3]));
    VTA_TRY(constant(g, VTAC_F32, each, &outputs, scales, &inputs[4]));
    return constant(g, dtype, each, &outputs, zeros, &inputs[5]);
}

/* A bias or, sometimes, none; of dead channels, as large as they come. */
static vta_status draw_bias(grower *g, int64_t outputs, vtac_value_id *out)
{
    int32_t data[2 * MAX_CHANNELS];
    const bool dead = rng_percent(&g->r, 10);
    for (int64_t o = 0; o < outputs; o++) {
        data[o] = (int32_t)rng_between(&g->r, -2000, 2000);
        if (dead && rng_percent(&g->r, 30)) {
            data[o] = (int32_t)rng_between(&g->r, INT32_MIN, INT32_MAX);
            data[o] = rng_percent(&g->r, 30) ? INT32_MAX : rng_percent(&g->r, 30) ? INT32_MIN : data[o];
        }
    }
    return rng_percent(&g->r, 70) ? constant(g, VTAC_I32, 1, &outputs, data, out) : VTA_OK;
}

static vta_status grow_conv(grower *g)
{
    const quantized x = pick(g);
    const vtac_type *type = type_of(g, &x);
    if (type->rank != 4 || type->dim[1] > MAX_CHANNELS) { /* a change of shape made more of them */
        return VTA_OK;
    }
    const int64_t channels = type->dim[1];
    int64_t group = 1;
    int64_t outputs = rng_between(&g->r, 1, MAX_CHANNELS);
    if (rng_percent(&g->r, 30)) {
        group = channels;
        outputs = channels * (rng_percent(&g->r, 20) && 2 * channels <= MAX_CHANNELS ? 2 : 1);
    } else if (channels % 2 == 0 && rng_percent(&g->r, 20)) {
        group = 2;
        outputs = (outputs + 1) / 2 * 2;
    }
    const window w = draw_window(g, type);
    const int64_t dim[] = {outputs, channels / group, w.kernel[0], w.kernel[1]};
    quantized y = {.value = 0};
    vtac_value_id in[9] = {x.value, x.scale, x.zero};
    VTA_TRY(draw_weights(g, 4, dim, outputs, in));
    VTA_TRY(draw_bias(g, outputs, &in[8]));
    VTA_TRY(
        draw_quantized(g, draw_dtype(g), 0.3 * (double)x.s * sqrt((double)(dim[1] * dim[2] * dim[3])), &y));
    in[6] = y.scale;
    in[7] = y.zero;
    const vtac_attr attrs[] = {ints("kernel_shape", w.kernel, 2), ints("strides", w.strides, 2),
                               ints("dilations", w.dilations, 2), ints("pads", w.pads, 4),
                               one("group", group)};
    VTA_TRY(node(g, VTAC_OP_QLINEAR_CONV, in, in[8] != 0 ? 9 : 8, attrs, 5, &y.value));
    return add(g, &y);
}

static vta_status grow_dense(grower *g)
{
    const quantized x = pick(g);
    const vtac_type type = *type_of(g, &x);
    const int64_t terms = vtac_type_elements(&type) / type.dim[0];
    const int64_t outputs = rng_between(&g->r, 1, MAX_CHANNELS);
    const bool gemm = rng_percent(&g->r, 50);
    const bool transposed = gemm && rng_percent(&g->r, 50);
    const int64_t dim[] = {transposed ? outputs : terms, transposed ? terms : outputs};
    const vtac_attr axis = one("axis", 1);
    const vtac_attr turn = one("transB", transposed);
    vtac_value_id in[9] = {x.value, x.scale, x.zero};
    quantized y = {.value = 0};
    VTA_TRY(type.rank != 2 ? node(g, VTAC_OP_FLATTEN, &x.value, 1, &axis, 1, &in[0]) : VTA_OK);
    VTA_TRY(draw_weights(g, 2, dim, outputs, in));
    VTA_TRY(gemm ? draw_bias(g, outputs, &in[6]) : VTA_OK);
    VTA_TRY(draw_quantized(g, draw_dtype(g), 0.3 * (double)x.s * sqrt((double)terms), &y));
    in[gemm ? 7 : 6] = y.scale;
    in[gemm ? 8 : 7] = y.zero;
    VTA_TRY(node(g, gemm ? VTAC_OP_QGEMM : VTAC_OP_QLINEAR_MATMUL, in, gemm ? 9 : 8, &turn, gemm, &y.value));
    return add(g, &y);
}

/* Another value of the same shape, or the same one. */
static quantized twin_of(grower *g, const quantized *x)
{
    quantized found = *x;
    for (uint32_t i = 0; i < g->count; i++) {
        if (vtac_type_equal(type_of(g, &g->pool[i]), type_of(g, x)) && rng_percent(&g->r, 60)) {
            found = g->pool[i];
        }
    }
    return found;
}

static vta_status grow_binary(grower *g)
{
    const quantized a = pick(g);
    const quantized b = twin_of(g, &a);
    const bool is_add = rng_percent(&g->r, 75);
    quantized y = {.value = 0};
    VTA_TRY(draw_quantized(g, type_of(g, &a)->dtype,
                           is_add ? (double)a.s + (double)b.s : 60.0 * (double)a.s * (double)b.s, &y));
    const vtac_value_id in[] = {a.value, a.scale, a.zero, b.value, b.scale, b.zero, y.scale, y.zero};
    VTA_TRY(node(g, is_add ? VTAC_OP_QLINEAR_ADD : VTAC_OP_QLINEAR_MUL, in, 8, NULL, 0, &y.value));
    return add(g, &y);
}

static vta_status grow_pool(grower *g)
{
    const quantized x = pick(g);
    const vtac_type *type = type_of(g, &x);
    const uint32_t kind = rng_below(&g->r, 4);
    if (type->rank != 4) {
        return VTA_OK;
    }
    quantized y = x;
    const window w = draw_window(g, type);
    const vtac_attr attrs[] = {
        ints("kernel_shape", w.kernel, 2),        ints("strides", w.strides, 2),
        ints("dilations", w.dilations, 2),        ints("pads", w.pads, 4),
        one("ceil_mode", rng_percent(&g->r, 40)), one("count_include_pad", rng_percent(&g->r, 50))};
    if (kind < 2) {
        VTA_TRY(node(g, VTAC_OP_MAX_POOL, &x.value, 1, attrs, 5, &y.value));
        return add(g, &y);
    }
    VTA_TRY(draw_quantized(g, type->dtype, (double)x.s, &y));
    const vtac_value_id in[] = {x.value, x.scale, x.zero, y.scale, y.zero};
    const vtac_op op = kind == 2 ? VTAC_OP_QLINEAR_AVERAGE_POOL : VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL;
    VTA_TRY(node(g, op, in, 5, attrs, kind == 2 ? 6 : 0, &y.value));
    return add(g, &y);
}

static bool joins(const vtac_type *a, const vtac_type *b)
{
    bool same = a->rank == 4 && b->rank == 4 && a->dtype == b->dtype && a->dim[1] + b->dim[1] <= MAX_CHANNELS;
    for (uint32_t i = 0; i < 4; i++) {
        same = same && (i == 1 || a->dim[i] == b->dim[i]);
    }
    return same;
}

static vta_status grow_concat(grower *g)
{
    const quantized a = pick(g);
    quantized b = {.value = 0};
    quantized y = {.value = 0};
    for (uint32_t i = 0; i < g->count; i++) {
        if (joins(type_of(g, &a), type_of(g, &g->pool[i])) && (b.value == 0 || rng_percent(&g->r, 50))) {
            b = g->pool[i];
        }
    }
    if (b.value == 0) {
        return VTA_OK;
    }
    VTA_TRY(draw_quantized(g, type_of(g, &a)->dtype, (double)(a.s > b.s ? a.s : b.s), &y));
    const vtac_value_id in[] = {y.scale, y.zero, a.value, a.scale, a.zero, b.value, b.scale, b.zero};
    const vtac_attr axis = one("axis", 1);
    VTA_TRY(node(g, VTAC_OP_QLINEAR_CONCAT, in, 8, &axis, 1, &y.value));
    return add(g, &y);
}

static vta_status grow_clip(grower *g)
{
    const quantized x = pick(g);
    quantized y = x;
    const vtac_dtype dtype = type_of(g, &x)->dtype;
    const int64_t min = dtype == VTAC_U8 ? 0 : -128;
    const int64_t low = rng_between(&g->r, min, min + 100);
    const int64_t drawn = rng_between(&g->r, low, min + 255);
    const int64_t high = g->planted ? (low + drawn) / 2 : drawn;
    const int8_t limits[] = {(int8_t)(uint8_t)low, (int8_t)(uint8_t)high};
    vtac_value_id in[] = {x.value, 0, 0};
    VTA_TRY(constant(g, dtype, 0, NULL, &limits[0], &in[1]));
    VTA_TRY(constant(g, dtype, 0, NULL, &limits[1], &in[2]));
    VTA_TRY(node(g, VTAC_OP_CLIP, in, 3, NULL, 0, &y.value));
    return add(g, &y);
}

/* Rows and columns repeated. */
static vta_status grow_resize(grower *g)
{
    const quantized x = pick(g);
    const vtac_type *type = type_of(g, &x);
    const float scales[] = {1.0F, 1.0F, (float)rng_between(&g->r, 1, 3), (float)rng_between(&g->r, 1, 2)};
    const int64_t four = 4;
    if (type->rank != 4 || vtac_type_elements(type) * 6 > MAX_ELEMENTS) {
        return VTA_OK;
    }
    quantized y = x;
    vtac_value_id in[] = {x.value, 0, 0};
    const vtac_attr attrs[] = {text("coordinate_transformation_mode", "asymmetric"),
                               text("nearest_mode", "floor"), text("mode", "nearest")};
    VTA_TRY(constant(g, VTAC_F32, 1, &four, scales, &in[2]));
    VTA_TRY(node(g, VTAC_OP_RESIZE, in, 3, attrs, 3, &y.value));
    return add(g, &y);
}

static vta_status move(grower *g, vtac_op op, const quantized *x, vtac_value_id how, const vtac_attr *attr,
                       quantized *y)
{
    const vtac_value_id in[] = {x->value, how};
    *y = *x;
    return node(g, op, in, how != 0 ? 2 : 1, attr, attr != NULL, &y->value);
}

static vta_status reshape(grower *g, const quantized *x, uint32_t rank, const int64_t *dim, quantized *y)
{
    const int64_t count = rank;
    vtac_value_id shape;
    VTA_TRY(constant(g, VTAC_I64, 1, &count, dim, &shape));
    return move(g, VTAC_OP_RESHAPE, x, shape, NULL, y);
}

/* Channels of some groups take turns. */
static vta_status grow_shuffle(grower *g)
{
    static const int64_t turn[] = {0, 2, 1, 3, 4};
    const quantized x = pick(g);
    const vtac_type type = *type_of(g, &x);
    const int64_t groups = rng_between(&g->r, 2, 4);
    if (type.rank != 4 || type.dim[1] % groups != 0) {
        return VTA_OK;
    }
    const int64_t apart[] = {type.dim[0], groups, type.dim[1] / groups, type.dim[2], type.dim[3]};
    const vtac_attr perm = ints("perm", turn, 5);
    quantized y;
    VTA_TRY(reshape(g, &x, 5, apart, &y));
    VTA_TRY(move(g, VTAC_OP_TRANSPOSE, &y, 0, &perm, &y));
    VTA_TRY(reshape(g, &y, 4, type.dim, &y));
    return add(g, &y);
}

/* A part of the channels, rows or columns; with a step, or in any order. */
static vta_status grow_part(grower *g)
{
    const quantized x = pick(g);
    const vtac_type type = *type_of(g, &x);
    const int64_t one = 1, axis = rng_between(&g->r, 1, 3), size = type.rank == 4 ? type.dim[axis] : 0;
    const vtac_attr along = {.name = "axis", .kind = VTAC_ATTR_INT, .i = axis};
    quantized y = x;
    if (type.rank != 4 || size < 2) {
        return VTA_OK;
    }
    if (rng_percent(&g->r, 30)) { /* any channels, some twice */
        int64_t order[MAX_CHANNELS];
        const int64_t count = rng_between(&g->r, 1, size < MAX_CHANNELS ? size : MAX_CHANNELS);
        const int64_t from = rng_between(&g->r, 0, size - 1);
        for (int64_t i = 0; i < count; i++) {
            order[i] = axis == 1 ? rng_between(&g->r, 0, size - 1) : (from + i) % size;
        }
        vtac_value_id which;
        VTA_TRY(constant(g, VTAC_I64, 1, &count, order, &which));
        VTA_TRY(move(g, VTAC_OP_GATHER, &x, which, &along, &y));
        return add(g, &y);
    }
    const int64_t begin = rng_between(&g->r, 0, size - 1), end = rng_between(&g->r, begin + 1, size);
    const int64_t step = rng_percent(&g->r, 70) ? 1 : 2;
    vtac_value_id in[5] = {x.value};
    VTA_TRY(constant(g, VTAC_I64, 1, &one, &begin, &in[1]));
    VTA_TRY(constant(g, VTAC_I64, 1, &one, &end, &in[2]));
    VTA_TRY(constant(g, VTAC_I64, 1, &one, &axis, &in[3]));
    VTA_TRY(constant(g, VTAC_I64, 1, &one, &step, &in[4]));
    VTA_TRY(node(g, VTAC_OP_SLICE, in, 5, NULL, 0, &y.value));
    return add(g, &y);
}

/* Both halves. */
static vta_status grow_split(grower *g)
{
    const quantized x = pick(g);
    const vtac_type type = *type_of(g, &x);
    const int64_t two = 2, first = type.rank == 4 ? rng_between(&g->r, 0, type.dim[1] - 1) : 0;
    const int64_t sizes[] = {first, type.dim[1] - first};
    const vtac_attr along = one("axis", 1);
    if (first == 0) {
        return VTA_OK;
    }
    quantized a = x, b = x;
    vtac_value_id in[] = {x.value, 0};
    vtac_node_id id;
    char name[64];
    VTA_TRY(constant(g, VTAC_I64, 1, &two, sizes, &in[1]));
    (void)snprintf(name, sizeof name, "Split%u", g->graph->node_count);
    const vtac_node_spec spec = {.op = VTAC_OP_SPLIT,
                                 .name = name,
                                 .origin = g->graph->node_count,
                                 .inputs = in,
                                 .input_count = 2,
                                 .output_count = 2,
                                 .attrs = &along,
                                 .attr_count = 1};
    VTA_TRY(vtac_add_node(g->graph, &spec, &id, g->diag));
    a.value = g->graph->nodes[id].outputs[0];
    b.value = g->graph->nodes[id].outputs[1];
    VTA_TRY(add(g, &a));
    return add(g, &b);
}

/* Zeros around an image, or squares of pixels for channels and back. */
static vta_status grow_space(grower *g)
{
    const quantized x = pick(g);
    const vtac_type type = *type_of(g, &x);
    const uint32_t kind = rng_below(&g->r, 3);
    const int64_t size = rng_between(&g->r, 2, 3), eight = 8;
    const vtac_attr attrs[] = {one("blocksize", size), text("mode", rng_percent(&g->r, 50) ? "DCR" : "CRD")};
    quantized y = x;
    if (type.rank != 4 || (kind == 1 && type.dim[1] % (size * size) != 0) ||
        (kind == 2 && (type.dim[2] % size != 0 || type.dim[3] % size != 0)) ||
        vtac_type_elements(&type) * 4 > MAX_ELEMENTS) {
        return VTA_OK;
    }
    if (kind == 0) {
        int64_t pads[8] = {0};
        for (int i = 2; i < 4; i++) {
            pads[i] = rng_between(&g->r, 0, rng_percent(&g->r, 20) ? 20 : 2);
            pads[4 + i] = rng_between(&g->r, 0, 2);
        }
        vtac_value_id in[] = {x.value, 0, x.zero};
        VTA_TRY(constant(g, VTAC_I64, 1, &eight, pads, &in[1]));
        VTA_TRY(node(g, VTAC_OP_PAD, in, 3, NULL, 0, &y.value));
    } else {
        VTA_TRY(node(g, kind == 1 ? VTAC_OP_DEPTH_TO_SPACE : VTAC_OP_SPACE_TO_DEPTH, &x.value, 1, attrs,
                     kind == 1 ? 2 : 1, &y.value));
    }
    return add(g, &y);
}

/* Adds an operator that the host computes between two regions. */
static vta_status grow_curve(grower *g)
{
    const quantized x = pick(g);
    const bool leaky = rng_percent(&g->r, 50);
    const vtac_attr alpha = {
        .name = "alpha", .kind = VTAC_ATTR_FLOAT, .f = (double)rng_between(&g->r, 1, 50) / 100.0};
    quantized y = {.value = 0};
    VTA_TRY(draw_quantized(g, type_of(g, &x)->dtype, leaky ? (double)x.s : 1.0 / 256.0, &y));
    const vtac_value_id in[] = {x.value, x.scale, x.zero, y.scale, y.zero};
    VTA_TRY(node(g, leaky ? VTAC_OP_QLINEAR_LEAKY_RELU : VTAC_OP_QLINEAR_SIGMOID, in, 5, &alpha, leaky,
                 &y.value));
    return add(g, &y);
}

/* Squeeze and excite: each channel times a number made of its mean. */
static vta_status grow_gate(grower *g)
{
    const quantized x = pick(g);
    if (type_of(g, &x)->rank != 4) {
        return VTA_OK;
    }
    const vtac_dtype dtype = type_of(g, &x)->dtype;
    quantized mean = {.value = 0};
    quantized y = {.value = 0};
    VTA_TRY(draw_quantized(g, dtype, (double)x.s, &mean));
    const vtac_value_id squeeze[] = {x.value, x.scale, x.zero, mean.scale, mean.zero};
    VTA_TRY(node(g, VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL, squeeze, 5, NULL, 0, &mean.value));
    VTA_TRY(draw_quantized(g, dtype, 60.0 * (double)x.s * (double)mean.s, &y));
    const vtac_value_id in[] = {x.value, x.scale, x.zero, mean.value, mean.scale, mean.zero, y.scale, y.zero};
    VTA_TRY(node(g, VTAC_OP_QLINEAR_MUL, in, 8, NULL, 0, &y.value));
    return add(g, &y);
}

/* Products of two images' planes, of which the second stands on its side: rounded, or whole sums, which
 * nobody reads. */
static vta_status grow_product(grower *g)
{
    static const int64_t side[] = {0, 1, 3, 2};
    const quantized a = pick(g);
    const vtac_type type = *type_of(g, &a);
    if (type.rank != 4 || vtac_type_elements(&type) / type.dim[3] * type.dim[2] > MAX_ELEMENTS) {
        return VTA_OK;
    }
    const vtac_attr perm = ints("perm", side, 4);
    const bool whole = rng_percent(&g->r, 30);
    quantized b = twin_of(g, &a), y = {.value = 0};
    VTA_TRY(move(g, VTAC_OP_TRANSPOSE, &b, 0, &perm, &b));
    if (whole) {
        const vtac_value_id in[] = {a.value, b.value, rng_percent(&g->r, 70) ? a.zero : 0, b.zero};
        VTA_TRY(node(g, VTAC_OP_MATMUL_INTEGER, in, rng_percent(&g->r, 70) ? 4 : 3, NULL, 0, &y.value));
        return vtac_add_output(g->graph, y.value, g->diag);
    }
    VTA_TRY(
        draw_quantized(g, draw_dtype(g), 30.0 * (double)a.s * (double)b.s * sqrt((double)type.dim[3]), &y));
    const vtac_value_id in[] = {a.value, a.scale, a.zero, b.value, b.scale, b.zero, y.scale, y.zero};
    VTA_TRY(node(g, VTAC_OP_QLINEAR_MATMUL, in, 8, NULL, 0, &y.value));
    return add(g, &y);
}

/* Channels as places in depth: a convolution or a pool of a volume, and an image again. */
static vta_status grow_volume(grower *g)
{
    const quantized x = pick(g);
    const vtac_type type = *type_of(g, &x);
    const int64_t depth = type.rank == 4 && type.dim[1] % 3 == 0 ? 3 : 2;
    if (type.rank != 4 || type.dim[1] % depth != 0) {
        return VTA_OK;
    }
    const int64_t apart[] = {type.dim[0], type.dim[1] / depth, depth, type.dim[2], type.dim[3]};
    const window w = draw_window(g, &type);
    const int64_t deep = rng_between(&g->r, 1, depth), before = rng_between(&g->r, 0, deep / 2);
    const int64_t kernel[] = {deep, w.kernel[0], w.kernel[1]}, strides[] = {1, w.strides[0], w.strides[1]};
    const int64_t pads[] = {before, w.pads[0], w.pads[1], 0, w.pads[2], w.pads[3]};
    const int64_t dilations[] = {1, w.dilations[0], w.dilations[1]};
    const vtac_attr attrs[] = {ints("kernel_shape", kernel, 3), ints("strides", strides, 3),
                               ints("pads", pads, 6), ints("dilations", dilations, 3)};
    quantized volume, y = {.value = 0};
    VTA_TRY(reshape(g, &x, 5, apart, &volume));
    if (rng_percent(&g->r, 30)) {
        y = x;
        VTA_TRY(node(g, VTAC_OP_MAX_POOL, &volume.value, 1, attrs, 4, &y.value));
    } else {
        const int64_t outputs = rng_between(&g->r, 1, MAX_CHANNELS / 4);
        const int64_t dim[] = {outputs, apart[1], deep, w.kernel[0], w.kernel[1]};
        vtac_value_id in[9] = {volume.value, x.scale, x.zero};
        VTA_TRY(draw_weights(g, 5, dim, outputs, in));
        VTA_TRY(draw_bias(g, outputs, &in[8]));
        VTA_TRY(draw_quantized(g, draw_dtype(g),
                               0.3 * (double)x.s * sqrt((double)(dim[1] * dim[2] * dim[3] * dim[4])), &y));
        in[6] = y.scale;
        in[7] = y.zero;
        VTA_TRY(node(g, VTAC_OP_QLINEAR_CONV, in, in[8] != 0 ? 9 : 8, attrs, 4, &y.value));
    }
    const vtac_type made = *type_of(g, &y);
    const int64_t flat[] = {made.dim[0], made.dim[1] * made.dim[2], made.dim[3], made.dim[4]};
    VTA_TRY(flat[1] <= MAX_CHANNELS ? reshape(g, &y, 4, flat, &y) : VTA_OK);
    return add(g, &y);
}

static vta_status grow(grower *g)
{
    static vta_status (*const growers[])(grower *) = {
        grow_conv, grow_conv,   grow_conv,  grow_conv,    grow_dense, grow_binary, grow_binary,
        grow_pool, grow_concat, grow_clip,  grow_resize,  grow_gate,  grow_curve,  grow_shuffle,
        grow_part, grow_split,  grow_space, grow_product, grow_volume};
    return growers[rng_below(&g->r, sizeof growers / sizeof growers[0])](g);
}

static vta_status end(grower *g, bool all)
{
    vta_status status = VTA_OK;
    for (uint32_t i = 0; i < g->count && status == VTA_OK; i++) {
        if (vtac_use_count(g->graph, g->pool[i].value) == 0 ||
            (all && g->graph->values[g->pool[i].value].node != 0)) {
            status = vtac_add_output(g->graph, g->pool[i].value, g->diag);
        }
    }
    return status == VTA_OK ? vtac_graph_verify(g->graph, g->diag) : status;
}

static vta_status plant(grower *g, const graph_seed *seed)
{
    quantized x;
    vtac_type type = {.dtype = draw_dtype(g), .rank = 4};
    const bool all = rng_percent(&g->r, 50);
    const uint32_t steps = (uint32_t)rng_between(&g->r, 1, 8);
    type.dim[0] = rng_percent(&g->r, 30) ? 2 : 1;
    type.dim[1] = rng_percent(&g->r, 30) ? 3 : rng_between(&g->r, 1, MAX_CHANNELS);
    type.dim[2] = rng_between(&g->r, 1, 12);
    type.dim[3] = rng_between(&g->r, 1, 12);
    for (uint32_t i = 1; i < 4; i++) {
        const int64_t room = seed->room > 0 ? seed->room : GRAPH_ROOM;
        type.dim[i] = type.dim[i] < room ? type.dim[i] : room;
    }
    VTA_TRY(draw_quantized(g, type.dtype, 0.05, &x));
    VTA_TRY(vtac_add_input(g->graph, "x", &type, &x.value, g->diag));
    VTA_TRY(add(g, &x));
    for (uint32_t n = 0; n < steps; n++) {
        g->r = rng_split(seed->number, 2 + n);
        VTA_TRY((seed->without >> n & 1) == 0 ? grow(g) : VTA_OK);
    }
    g->r = rng_split(seed->number, 2 + steps);
    while (g->count == 1) {
        VTA_TRY(grow_conv(g));
    }
    return end(g, all);
}

vta_status graph_random(const graph_seed *seed, vtac_graph **out, vta_diag *diag)
{
    grower g = {.graph = vtac_graph_create("random"),
                .r = rng_split(seed->number, 1),
                .planted = seed->planted,
                .diag = diag};
    if (g.graph == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory");
    }
    const uint32_t kind = rng_below(&g.r, 5);
    g.dtype = kind < 2 ? VTAC_U8 : kind < 4 ? VTAC_I8 : VTAC_NO_DTYPE;
    const vta_status status = plant(&g, seed);
    if (status != VTA_OK) {
        vtac_graph_destroy(g.graph);
        return status;
    }
    *out = g.graph;
    return VTA_OK;
}
