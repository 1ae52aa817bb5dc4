/* SPDX-License-Identifier: Apache-2.0 */
#include "plain_layer.h"

#include <math.h>
#include <stdlib.h>

#include "vtac/quant.h"

enum { MAX_INPUTS = 9 };

/* A node with the contents of its inputs. */
typedef struct layer {
    const vtac_node *node;
    vtac_tensor in[MAX_INPUTS];
    const vtac_type *y;
    plain_layer *out;
} layer;

static float scale_of(const layer *l, uint32_t i, int64_t channel)
{
    const bool one = vtac_type_elements(&l->in[i].type) == 1;
    return (float)vtac_tensor_float(&l->in[i], one ? 0 : channel);
}

static int64_t zero_of(const layer *l, uint32_t i, int64_t channel)
{
    if (i >= l->node->input_count || l->node->inputs[i] == 0) {
        return 0;
    }
    const bool one = vtac_type_elements(&l->in[i].type) == 1;
    return vtac_tensor_int(&l->in[i], one ? 0 : channel);
}

/* All elements of an input less its zero point; owned. */
static int32_t *centred(const layer *l, uint32_t i, uint32_t zero, int64_t per_channel)
{
    const int64_t count = vtac_type_elements(&l->in[i].type);
    int32_t *all = calloc((size_t)count + 1, sizeof *all);
    for (int64_t k = 0; all != NULL && k < count; k++) {
        all[k] = (int32_t)(vtac_tensor_int(&l->in[i], k) - zero_of(l, zero, k / per_channel));
    }
    return all;
}

static int32_t saturate(double value, int64_t zero, vtac_dtype dtype)
{
    const double low = dtype == VTAC_U8 ? 0 : -128;
    return (int32_t)fmin(fmax(rint(value) + (double)zero, low), low + 255);
}

static void put(const layer *l, int64_t at, double exact, double settled, int64_t zero)
{
    l->out->formula[at] = saturate(exact, zero, l->y->dtype);
    l->out->settled[at] = saturate(settled, zero, l->y->dtype);
}

/* sa * sb / sy, as it is and as it is settled. The product with a v below 2^29 is exact in double. */
typedef struct factor {
    double plain, settled;
} factor;

static factor product_of(float a, float b, float y)
{
    const float ab = a * b;
    return (factor){(double)(ab / y), (double)vtac_scale_product(a, b, y)};
}

static void put_product(const layer *l, int64_t at, int64_t v, factor s, int64_t zero)
{
    put(l, at, (double)v * s.plain, (double)v * s.settled, zero);
}

static int64_t ints_at(const vtac_node *node, const char *name, size_t i, int64_t otherwise)
{
    const vtac_attr *a = vtac_find_attr(node, name);
    return a != NULL && a->kind == VTAC_ATTR_INTS && i < a->count ? a->ints[i] : otherwise;
}

/* The steps of a convolution's window, by axis. */
typedef struct window {
    int64_t stride[2], dilation[2], pad[2], group;
} window;

static window window_of(const vtac_node *node)
{
    window o = {.group = vtac_attr_int(node, "group", 1)};
    for (size_t a = 0; a < 2; a++) {
        o.stride[a] = ints_at(node, "strides", a, 1);
        o.dilation[a] = ints_at(node, "dilations", a, 1);
        o.pad[a] = ints_at(node, "pads", a, 0);
    }
    return o;
}

static int64_t conv_sum(const layer *l, const window *o, const int32_t *x, const int32_t *w,
                        const int64_t *place)
{
    const int64_t *xd = l->in[0].type.dim;
    const int64_t *wd = l->in[3].type.dim;
    const int64_t first = place[1] / (l->y->dim[1] / o->group) * wd[1];
    int64_t sum = 0;
    for (int64_t c = 0; c < wd[1]; c++) {
        const int32_t *image = x + (place[0] * xd[1] + first + c) * xd[2] * xd[3];
        for (int64_t i = 0; i < wd[2]; i++) {
            const int64_t row = place[2] * o->stride[0] - o->pad[0] + i * o->dilation[0];
            for (int64_t j = 0; row >= 0 && row < xd[2] && j < wd[3]; j++) {
                const int64_t column = place[3] * o->stride[1] - o->pad[1] + j * o->dilation[1];
                if (column >= 0 && column < xd[3]) {
                    sum += (int64_t)image[row * xd[3] + column] *
                           w[((place[1] * wd[1] + c) * wd[2] + i) * wd[3] + j];
                }
            }
        }
    }
    return sum;
}

static bool conv(const layer *l)
{
    const int64_t *yd = l->y->dim;
    const int64_t *wd = l->in[3].type.dim;
    int32_t *x = centred(l, 0, 2, INT64_MAX);
    int32_t *w = centred(l, 3, 5, wd[1] * wd[2] * wd[3]);
    const bool has_bias = l->node->input_count > 8 && l->node->inputs[8] != 0;
    const window o = window_of(l->node);
    int64_t at = 0;
    for (int64_t n = 0; n < yd[0]; n++) {
        for (int64_t m = 0; m < yd[1]; m++) {
            const factor s = product_of(scale_of(l, 1, 0), scale_of(l, 4, m), scale_of(l, 6, 0));
            const int64_t zero = zero_of(l, 7, 0);
            const int64_t bias = has_bias ? vtac_tensor_int(&l->in[8], m) : 0;
            for (int64_t i = 0; i < yd[2] * yd[3]; i++) {
                const int64_t place[] = {n, m, i / yd[3], i % yd[3]};
                put_product(l, at++, conv_sum(l, &o, x, w, place) + bias, s, zero);
            }
        }
    }
    free(x);
    free(w);
    return true;
}

/* QGemm and QLinearMatMul of two matrices; the former has a bias and may take its weights turned. */
static bool matmul(const layer *l, bool gemm)
{
    const uint32_t y_scale = gemm ? 7 : 6;
    const bool turned = gemm && vtac_attr_int(l->node, "transB", 0) != 0;
    if (l->y->rank != 2 || l->in[3].type.rank != 2 || vtac_attr_int(l->node, "transA", 0) != 0 ||
        vtac_attr_float(l->node, "alpha", 1.0) != 1.0) {
        return false;
    }
    const int64_t depth = l->in[0].type.dim[1];
    const int64_t columns = l->y->dim[1];
    const bool has_bias = gemm && l->node->inputs[6] != 0;
    for (int64_t at = 0; at < l->out->count; at++) {
        const int64_t m = at % columns;
        int64_t v = has_bias ? vtac_tensor_int(&l->in[6], m) : 0;
        for (int64_t k = 0; k < depth; k++) {
            v += (vtac_tensor_int(&l->in[0], at / columns * depth + k) - zero_of(l, 2, 0)) *
                 (vtac_tensor_int(&l->in[3], turned ? m * depth + k : k * columns + m) - zero_of(l, 5, m));
        }
        const factor s = product_of(scale_of(l, 1, 0), scale_of(l, 4, m), scale_of(l, y_scale, 0));
        put_product(l, at, v, s, zero_of(l, y_scale + 1, 0));
    }
    return true;
}

/* The place in an input that broadcasts of the number for element `at`. */
static int64_t broadcast(const vtac_type *x, const vtac_type *y, int64_t at)
{
    int64_t place = 0;
    int64_t stride = 1;
    for (uint32_t i = 1; i <= y->rank; i++) {
        const int64_t index = at % y->dim[y->rank - i];
        at /= y->dim[y->rank - i];
        if (i <= x->rank) {
            place += x->dim[x->rank - i] == 1 ? 0 : index * stride;
            stride *= x->dim[x->rank - i];
        }
    }
    return place;
}

/* The formula has no whole number times a scale here: the sum of two real numbers, each the exact product of
 * a byte and a float32, over the output's. */
static bool add(const layer *l)
{
    const double sa = (double)scale_of(l, 1, 0);
    const double sb = (double)scale_of(l, 4, 0);
    const double sy = (double)scale_of(l, 6, 0);
    vtac_fixed_sum fixed;
    if (!vtac_fixed_sum_of((float)sa, (float)sb, (float)sy, &fixed)) {
        return false;
    }
    for (int64_t at = 0; at < l->out->count; at++) {
        const int64_t in_a = broadcast(&l->in[0].type, l->y, at);
        const int64_t in_b = broadcast(&l->in[3].type, l->y, at);
        const double a = (double)(vtac_tensor_int(&l->in[0], in_a) - zero_of(l, 2, 0));
        const double b = (double)(vtac_tensor_int(&l->in[3], in_b) - zero_of(l, 5, 0));
        put(l, at, (a * sa + b * sb) / sy, ldexp(a * fixed.a + b * fixed.b, -(int)fixed.shift),
            zero_of(l, 7, 0));
    }
    return true;
}

/* Of images, channels first. */
static bool global_pool(const layer *l)
{
    const int64_t *xd = l->in[0].type.dim;
    if (l->in[0].type.rank != 4 || vtac_attr_int(l->node, "channels_last", 0) != 0) {
        return false;
    }
    const int64_t count = xd[2] * xd[3];
    const float all = scale_of(l, 3, 0) * (float)count;
    for (int64_t at = 0; at < l->out->count; at++) {
        int64_t v = 0;
        for (int64_t k = 0; k < count; k++) {
            v += vtac_tensor_int(&l->in[0], at * count + k) - zero_of(l, 2, 0);
        }
        put(l, at, (double)v * (double)(scale_of(l, 1, 0) / all),
            (double)v * (double)vtac_scale_mean(scale_of(l, 1, 0), scale_of(l, 3, 0), count),
            zero_of(l, 4, 0));
    }
    return true;
}

static bool is_linear(const layer *l)
{
    return vtac_attr_int(l->node, "linear", 0) != 0;
}

/* Numbers of the last axis by the sum of their sizes, in double. */
static bool plain_shares(const layer *l)
{
    const int64_t row = l->y->dim[l->y->rank - 1];
    const double step = (double)scale_of(l, 3, 0);
    for (int64_t from = 0; from < l->out->count; from += row) {
        double sum = 0.0;
        for (int64_t i = 0; i < row; i++) {
            sum += fabs((double)(vtac_tensor_int(&l->in[0], from + i) - zero_of(l, 2, 0)));
        }
        for (int64_t i = 0; i < row; i++) {
            const double x = (double)(vtac_tensor_int(&l->in[0], from + i) - zero_of(l, 2, 0));
            const double y = sum > 0.0 ? x / sum / step : 0.0;
            put(l, from + i, y, y, zero_of(l, 4, 0));
        }
    }
    return true;
}

/* Over the last axis, in double. */
static bool softmax(const layer *l)
{
    const int64_t row = l->y->dim[l->y->rank - 1];
    const double scale = (double)scale_of(l, 1, 0);
    const double step = (double)scale_of(l, 3, 0);
    if (is_linear(l)) {
        return plain_shares(l);
    }
    for (int64_t from = 0; from < l->out->count; from += row) {
        int64_t max = INT64_MIN;
        double sum = 0.0;
        for (int64_t i = 0; i < row; i++) {
            const int64_t x = vtac_tensor_int(&l->in[0], from + i);
            max = x > max ? x : max;
        }
        for (int64_t i = 0; i < row; i++) {
            sum += exp((double)(vtac_tensor_int(&l->in[0], from + i) - max) * scale);
        }
        for (int64_t i = 0; i < row; i++) {
            const double e = exp((double)(vtac_tensor_int(&l->in[0], from + i) - max) * scale);
            put(l, from + i, e / sum / step, e / sum / step, zero_of(l, 4, 0));
        }
    }
    return true;
}

/* The formula is that of softmax; what is settled are the integers of vtac/quant.h. */
static bool row_softmax(const layer *l)
{
    enum { LONGEST = 1024 };
    int32_t x[LONGEST], y[LONGEST];
    const int32_t n = (int32_t)l->y->dim[l->y->rank - 1];
    const bool bytes = l->y->dtype == VTAC_U8;
    const vtac_softmax_want want = {.n = n,
                                    .x_scale = scale_of(l, 1, 0),
                                    .y_scale = scale_of(l, 3, 0),
                                    .y_zero = (int32_t)zero_of(l, 4, 0),
                                    .y_low = bytes ? 0 : INT8_MIN,
                                    .y_high = bytes ? UINT8_MAX : INT8_MAX,
                                    .linear = is_linear(l),
                                    .x_zero = (int32_t)zero_of(l, 2, 0)};
    vtac_softmax row;
    if (l->node->input_count != 5 || n > LONGEST || !softmax(l) || !vtac_softmax_of(&want, &row)) {
        return false;
    }
    for (int64_t from = 0; from < l->out->count; from += n) {
        for (int32_t i = 0; i < n; i++) {
            x[i] = (int32_t)vtac_tensor_int(&l->in[0], from + i);
        }
        vtac_row_softmax(&row, x, NULL, y);
        for (int32_t i = 0; i < n; i++) {
            l->out->settled[from + i] = y[i];
        }
    }
    return true;
}

/* Of floats: ONNX divides in float32. */
static bool quantize(const layer *l)
{
    const float scale = scale_of(l, 1, 0);
    for (int64_t at = 0; at < l->out->count; at++) {
        const double quotient = (double)((float)vtac_tensor_float(&l->in[0], at) / scale);
        put(l, at, quotient, quotient, zero_of(l, 2, 0));
    }
    return vtac_type_elements(&l->in[1].type) == 1;
}

static bool copy(const layer *l)
{
    for (int64_t at = 0; at < l->out->count; at++) {
        const double x = (double)vtac_tensor_int(&l->in[0], at);
        put(l, at, x, x, 0);
    }
    return true;
}

static bool evaluate(const layer *l)
{
    switch ((int)l->node->op) {
    case VTAC_OP_QLINEAR_CONV: return l->y->rank == 4 && conv(l);
    case VTAC_OP_QLINEAR_MATMUL: return matmul(l, false);
    case VTAC_OP_QGEMM: return l->node->input_count == 9 && matmul(l, true);
    case VTAC_OP_QLINEAR_ADD: return add(l);
    case VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL: return global_pool(l);
    case VTAC_OP_QLINEAR_SOFTMAX: return vtac_attr_int(l->node, "axis", -1) == -1 && softmax(l);
    case VTAC_OP_ROW_SOFTMAX: return row_softmax(l);
    case VTAC_OP_QUANTIZE_LINEAR: return quantize(l);
    case VTAC_OP_RESHAPE: return copy(l);
    default: return false;
    }
}

bool plain_layer_evaluate(const vtac_graph *graph, const vtac_node *node, plain_input_fn *input,
                          void *context, plain_layer *out)
{
    layer l = {.node = node, .y = &graph->values[node->outputs[0]].type, .out = out};
    *out = (plain_layer){.count = vtac_type_elements(l.y)};
    if (node->input_count > MAX_INPUTS || (l.y->dtype != VTAC_I8 && l.y->dtype != VTAC_U8)) {
        return false;
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] != 0) {
            l.in[i] = input(context, node, i);
        }
    }
    out->formula = calloc((size_t)out->count, sizeof *out->formula);
    out->settled = calloc((size_t)out->count, sizeof *out->settled);
    return out->formula != NULL && out->settled != NULL && evaluate(&l);
}

void plain_layer_free(plain_layer *all)
{
    free(all->formula);
    free(all->settled);
}
