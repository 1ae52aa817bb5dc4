/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers of CoreML's neural networks. Values have the axes batch, channels, rows and columns.
 */
#include <math.h>
#include <string.h>

#include "coreml.h"

enum { MAX_OUTPUTS = 1 << 24 };

static int64_t field_int(vtac_coreml *c, uint64_t number, int64_t otherwise, int64_t min, int64_t max)
{
    const int64_t value = vtac_wire_int(c->layer, number, otherwise);
    if (value < min || value > max) {
        vtac_make_fail(&c->net.maker, VTA_RANGE, "field %llu is %lld, expected %lld to %lld",
                       (unsigned long long)number, (long long)value, (long long)min, (long long)max);
        return min;
    }
    return value;
}

static double field_real(const vtac_coreml *c, uint64_t number, double otherwise)
{
    return vtac_wire_float(c->layer, number, otherwise);
}

/* A small number of a normalization, which a file stores as 0 where it means the default. */
static double field_epsilon(const vtac_coreml *c, uint64_t number, double otherwise)
{
    const double given = field_real(c, number, 0.0);
    return given == 0.0 ? otherwise : given;
}

/* The weights of a field. */
static vtac_id field_weights(vtac_coreml *c, uint64_t number, const int64_t *dims, uint32_t rank)
{
    return vtac_coreml_weights(c, vtac_coreml_message(c->layer, number), dims, rank);
}

/* The bias in the field `number`, where the field `has` tells that there is one; 0: none. */
static vtac_id field_bias(vtac_coreml *c, uint64_t has, uint64_t number, int64_t outputs)
{
    return field_int(c, has, 0, 0, 1) != 0 ? field_weights(c, number, &outputs, 1) : 0;
}

/* Two numbers, both the default where there are none. */
static void field_pair(vtac_coreml *c, uint64_t number, int64_t otherwise, int64_t *out)
{
    const size_t count = vtac_wire_ints(c->layer, number, out, 2);
    if (count != 0 && count != 2) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "field %llu has %zu numbers, expected 2",
                       (unsigned long long)number, count);
    }
    for (int i = 0; i < 2 && count != 2; i++) {
        out[i] = otherwise;
    }
}

/* The edges of rows and of columns: top, left, bottom, right. */
static void read_edges(vtac_wire amounts, int64_t pads[4])
{
    enum { AMOUNTS = 10, START = 1, END = 2 };
    vtac_wire edges;
    memset(pads, 0, 4 * sizeof pads[0]);
    for (uint32_t axis = 0; axis < 2 && vtac_wire_each(&amounts, AMOUNTS, &edges); axis++) {
        pads[axis] = vtac_wire_int(edges, START, 0);
        pads[axis + 2] = vtac_wire_int(edges, END, 0);
    }
}

/* ---- windows */

/* `valid` has its own edges, `same` as much as is needed, the odd one at the end or, asked for, the
 * beginning. */
static vtac_window_rule read_padding(vtac_coreml *c, uint64_t valid, uint64_t same, vtac_import_window *w)
{
    vtac_wire own;
    read_edges(vtac_coreml_message(vtac_coreml_message(c->layer, valid), 1), w->pads);
    if (!vtac_wire_message(c->layer, same, &own)) {
        return VTAC_WINDOW_FLOOR;
    }
    return vtac_wire_int(own, 1, 0) == 1 ? VTAC_WINDOW_SAME_LOWER : VTAC_WINDOW_SAME_UPPER;
}

/* A transposed convolution cuts its padding off the result; `same` leaves the input times the stride. */
static void make_deconvolution(vtac_coreml *c, vtac_import_window *w, vtac_window_rule rule, int64_t groups)
{
    enum { OUTPUTS = 1, CHANNELS = 2, HAS_BIAS = 70, WEIGHTS = 90, BIAS = 91, OUTPUT_SHAPE = 100 };
    vtac_import_builder *m = &c->net.maker;
    const vtac_type type = vtac_coreml_type(c, 0);
    const int64_t outputs = field_int(c, OUTPUTS, 0, 1, MAX_OUTPUTS);
    int64_t more[2] = {0};
    int64_t target[2];
    field_pair(c, OUTPUT_SHAPE, 0, target);
    for (uint32_t a = 0; a < 2; a++) {
        if (w->kernel[a] < 1 || w->stride[a] < 1 || w->dilation[a] < 1 || w->kernel[a] > COREML_MAX_SIDE ||
            w->stride[a] > COREML_MAX_SIDE || w->dilation[a] > COREML_MAX_SIDE) {
            vtac_make_fail(m, VTA_RANGE, "a window of %lld, steps of %lld, each %lld",
                           (long long)w->kernel[a], (long long)w->stride[a], (long long)w->dilation[a]);
            return;
        }
        const int64_t full = (type.dim[a + 2] - 1) * w->stride[a] + (w->kernel[a] - 1) * w->dilation[a] + 1;
        const int64_t wanted = target[a] > 0               ? target[a]
                               : rule == VTAC_WINDOW_FLOOR ? full - w->pads[a] - w->pads[a + 2]
                                                           : type.dim[a + 2] * w->stride[a];
        const int64_t cut = full - wanted;
        if (rule != VTAC_WINDOW_FLOOR) {
            w->pads[a] = cut > 0 ? (rule == VTAC_WINDOW_SAME_UPPER ? cut / 2 : cut - cut / 2) : 0;
            w->pads[a + 2] = cut > 0 ? cut - w->pads[a] : 0;
            more[a] = cut < 0 ? -cut : 0;
        } else if (cut != w->pads[a] + w->pads[a + 2]) {
            vtac_make_fail(m, VTA_UNSUPPORTED, "an output of %lld, %lld come out", (long long)wanted,
                           (long long)(full - w->pads[a] - w->pads[a + 2]));
        }
    }
    const int64_t dims[] = {type.dim[1], groups > 0 ? outputs / groups : 0, w->kernel[0], w->kernel[1]};
    const vtac_attr attrs[] = {
        vtac_attr_of_ints("strides", w->stride, 2), vtac_attr_of_ints("dilations", w->dilation, 2),
        vtac_attr_of_ints("pads", w->pads, 4), vtac_attr_of_ints("output_padding", more, 2),
        vtac_attr_of_int("group", groups)};
    const vtac_id in[] = {c->in[0], field_weights(c, WEIGHTS, dims, 4),
                          field_bias(c, HAS_BIAS, BIAS, outputs)};
    vtac_coreml_set(c, 0, vtac_make(m, VTAC_OP_CONV_TRANSPOSE, in, 3, attrs, 5));
}

void vtac_coreml_make_convolution(vtac_coreml *c)
{
    enum {
        OUTPUTS = 1,
        CHANNELS = 2,
        GROUPS = 10,
        KERNEL = 20,
        STRIDE = 30,
        DILATION = 40,
        VALID = 50,
        SAME = 51,
        IS_DECONVOLUTION = 60,
        HAS_BIAS = 70,
        WEIGHTS = 90,
        BIAS = 91
    };
    vtac_import_builder *m = &c->net.maker;
    const int64_t outputs = field_int(c, OUTPUTS, 0, 1, MAX_OUTPUTS);
    const int64_t given = field_int(c, GROUPS, 1, 0, MAX_OUTPUTS);
    const int64_t groups = given == 0 ? 1 : given;
    vtac_import_window w = {.axes = 2};
    field_pair(c, KERNEL, 3, w.kernel);
    field_pair(c, STRIDE, 1, w.stride);
    field_pair(c, DILATION, 1, w.dilation);
    const vtac_window_rule rule = read_padding(c, VALID, SAME, &w);
    if (vtac_wire_int(c->layer, IS_DECONVOLUTION, 0) != 0) {
        make_deconvolution(c, &w, rule, groups);
        return;
    }
    if (!vtac_lay_window(m, c->in[0], rule, &w)) {
        return;
    }
    const int64_t dims[] = {outputs, field_int(c, CHANNELS, 0, 1, MAX_OUTPUTS), w.kernel[0], w.kernel[1]};
    const vtac_id weight = field_weights(c, WEIGHTS, dims, 4);
    const vtac_id bias = field_bias(c, HAS_BIAS, BIAS, outputs);
    vtac_coreml_set(c, 0, vtac_make_conv(m, c->in[0], weight, bias, &w, groups));
}

void vtac_coreml_make_pooling(vtac_coreml *c)
{
    enum {
        KIND = 1,
        KERNEL = 10,
        STRIDE = 20,
        VALID = 30,
        SAME = 31,
        LAST_PIXEL = 32,
        EXCLUDE = 50,
        GLOBAL = 60,
        AMOUNTS = 10,
        AVERAGE = 1
    };
    vtac_import_builder *m = &c->net.maker;
    const int64_t kind = field_int(c, KIND, 0, 0, AVERAGE);
    vtac_import_window w = {.axes = 2, .dilation = {1, 1}};
    vtac_wire own;
    field_pair(c, KERNEL, 3, w.kernel);
    field_pair(c, STRIDE, 1, w.stride);
    if (vtac_wire_int(c->layer, GLOBAL, 0) != 0) {
        const vtac_op op = kind == AVERAGE ? VTAC_OP_GLOBAL_AVERAGE_POOL : VTAC_OP_GLOBAL_MAX_POOL;
        vtac_coreml_set(c, 0, vtac_make1(m, op, c->in[0]));
        return;
    }
    vtac_window_rule rule = read_padding(c, VALID, SAME, &w);
    if (vtac_wire_message(c->layer, LAST_PIXEL, &own)) {
        rule = VTAC_WINDOW_CEIL;
        for (size_t i = vtac_wire_ints(own, AMOUNTS, w.pads, 2); i < 2; i++) {
            w.pads[i] = 0;
        }
        w.pads[2] = w.pads[0];
        w.pads[3] = w.pads[1];
    }
    if (vtac_lay_window(m, c->in[0], rule, &w)) {
        const vtac_op op = kind == AVERAGE ? VTAC_OP_AVERAGE_POOL : VTAC_OP_MAX_POOL;
        vtac_coreml_set(c, 0, vtac_make_pool(m, op, c->in[0], &w, vtac_wire_int(c->layer, EXCLUDE, 0) == 0));
    }
}

void vtac_coreml_make_inner_product(vtac_coreml *c)
{
    enum { INPUTS = 1, OUTPUTS = 2, HAS_BIAS = 10, WEIGHTS = 20, BIAS = 21, DYNAMIC = 22 };
    vtac_import_builder *m = &c->net.maker;
    const int64_t outputs = field_int(c, OUTPUTS, 0, 1, MAX_OUTPUTS);
    const int64_t dims[] = {outputs, field_int(c, INPUTS, 0, 1, MAX_OUTPUTS)};
    if (vtac_wire_int(c->layer, DYNAMIC, 0) != 0) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "inputs that the run quantizes");
        return;
    }
    const vtac_id weight = field_weights(c, WEIGHTS, dims, 2);
    const vtac_id bias = field_bias(c, HAS_BIAS, BIAS, outputs);
    const vtac_id y = vtac_make_dense(m, c->in[0], 1, weight, false, bias);
    const int64_t shape[] = {vtac_coreml_type(c, 0).dim[0], outputs, 1, 1};
    vtac_coreml_set(c, 0, vtac_make_reshape(m, y, shape, 4));
}

/* ---- normalization */

void vtac_coreml_make_batchnorm(vtac_coreml *c)
{
    enum { CHANNELS = 1, COMPUTE = 5, INSTANCE = 6, EPSILON = 10, GAMMA = 15 };
    vtac_import_builder *m = &c->net.maker;
    const int64_t channels = field_int(c, CHANNELS, 0, 1, MAX_OUTPUTS);
    const vtac_attr attr = vtac_attr_of_float("epsilon", field_epsilon(c, EPSILON, 1e-5));
    const bool computed = vtac_wire_int(c->layer, COMPUTE, 0) != 0;
    vtac_id rows[4];
    for (uint64_t i = 0; i < (computed ? 2 : 4); i++) {
        rows[i] = field_weights(c, GAMMA + i, &channels, 1);
    }
    if (computed && vtac_wire_int(c->layer, INSTANCE, 0) == 0) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "a mean that the run computes over a batch");
        return;
    }
    const vtac_id in[] = {c->in[0], rows[0], rows[1]};
    vtac_coreml_set(c, 0,
                    computed ? vtac_make(m, VTAC_OP_INSTANCE_NORMALIZATION, in, 3, &attr, 1)
                             : vtac_make_batch_norm(m, c->in[0], rows, attr.f));
}

void vtac_coreml_make_mvn(vtac_coreml *c)
{
    enum { ACROSS = 1, VARIANCE = 2, EPSILON = 3 };
    vtac_import_builder *m = &c->net.maker;
    const bool across = vtac_wire_int(c->layer, ACROSS, 0) != 0;
    const int64_t axes[] = {across ? 1 : 2, across ? 2 : 3, 3};
    const uint32_t count = across ? 3 : 2;
    vtac_id x = vtac_make2(m, VTAC_OP_SUB, c->in[0],
                           vtac_make_reduce(m, VTAC_OP_REDUCE_MEAN, c->in[0], axes, count, true));
    if (vtac_wire_int(c->layer, VARIANCE, 0) != 0) {
        vtac_id square =
            vtac_make_reduce(m, VTAC_OP_REDUCE_MEAN, vtac_make2(m, VTAC_OP_MUL, x, x), axes, count, true);
        square =
            vtac_make1(m, VTAC_OP_SQRT, vtac_make_linear(m, square, 1.0, field_epsilon(c, EPSILON, 1e-5)));
        x = vtac_make2(m, VTAC_OP_DIV, x, square);
    }
    vtac_coreml_set(c, 0, x);
}

void vtac_coreml_make_l2(vtac_coreml *c)
{
    const int64_t axes[] = {1, 2, 3};
    vtac_coreml_set(c, 0, vtac_make_unit(&c->net.maker, c->in[0], axes, 3, field_epsilon(c, 1, 1e-6)));
}

void vtac_coreml_make_lrn(vtac_coreml *c)
{
    enum { ALPHA = 1, BETA = 2, SIZE = 3, K = 4 };
    const double k = field_real(c, K, 0.0);
    vtac_coreml_set(c, 0,
                    vtac_make_lrn(&c->net.maker, c->in[0], field_int(c, SIZE, 0, 1, COREML_MAX_SIDE),
                                  field_real(c, ALPHA, 0.0), field_real(c, BETA, 0.0), k == 0.0 ? 1.0 : k,
                                  false));
}

/* Numbers of a shape of 1 ([C]) or 3 ([C, H, W]) axes. */
static vtac_id shaped_weights(vtac_coreml *c, uint64_t shape, uint64_t weights)
{
    int64_t dims[3] = {1, 1, 1};
    const size_t count = vtac_wire_ints(c->layer, shape, dims, 3);
    if (count != 1 && count != 3) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "a shape of %zu axes, expected 1 or 3", count);
        return 0;
    }
    return field_weights(c, weights, dims, 3);
}

void vtac_coreml_make_scale(vtac_coreml *c)
{
    enum { SHAPE = 1, SCALE = 2, HAS_BIAS = 3, BIAS_SHAPE = 4, BIAS = 5 };
    vtac_import_builder *m = &c->net.maker;
    vtac_id y = vtac_make2(m, VTAC_OP_MUL, c->in[0], shaped_weights(c, SHAPE, SCALE));
    if (vtac_wire_int(c->layer, HAS_BIAS, 0) != 0) {
        y = vtac_make2(m, VTAC_OP_ADD, y, shaped_weights(c, BIAS_SHAPE, BIAS));
    }
    vtac_coreml_set(c, 0, y);
}

void vtac_coreml_make_bias(vtac_coreml *c)
{
    vtac_coreml_set(c, 0, vtac_make2(&c->net.maker, VTAC_OP_ADD, c->in[0], shaped_weights(c, 1, 2)));
}

/* ---- element by element */

/* The node that makes a value, where it is of that operator; NULL otherwise. */
static const vtac_node *maker_of(const vtac_import_builder *m, vtac_id x, vtac_op op)
{
    const vtac_node_id node = x == 0 ? 0 : m->graph->values[x].node;
    return node != 0 && m->graph->nodes[node].op == op ? &m->graph->nodes[node] : NULL;
}

static double number_of(const vtac_import_builder *m, vtac_id x, double otherwise)
{
    const vtac_tensor *known = vtac_made_constant(m, x);
    return known != NULL && vtac_type_elements(&known->type) == 1 ? vtac_tensor_float(known, 0) : otherwise;
}

/* -max(-x, -limit) is how exporters write min(x, limit), and behind a Relu a clip. */
static vtac_id make_negative(vtac_import_builder *m, vtac_id x)
{
    const vtac_node *clip = maker_of(m, x, VTAC_OP_CLIP);
    const vtac_node *negative = clip == NULL ? NULL : maker_of(m, clip->inputs[VTAC_CLIP_X], VTAC_OP_MUL);
    if (clip == NULL || negative == NULL || clip->input_count != 2 || clip->inputs[VTAC_CLIP_MIN] == 0 ||
        number_of(m, negative->inputs[VTAC_BINARY_B], 0.0) != -1.0) {
        return vtac_make_with(m, VTAC_OP_MUL, x, -1.0);
    }
    const double limit = -number_of(m, clip->inputs[VTAC_CLIP_MIN], 0.0);
    const vtac_id from = negative->inputs[VTAC_BINARY_A];
    const vtac_node *relu = maker_of(m, from, VTAC_OP_RELU);
    return relu != NULL && limit > 0.0 ? vtac_make_clip(m, relu->inputs[0], 0.0, limit)
                                       : vtac_make_clip(m, from, -HUGE_VAL, limit);
}

enum {
    LINEAR = 5,
    RELU = 10,
    LEAKY = 15,
    THRESHOLDED = 20,
    PRELU = 25,
    TANH = 30,
    SCALED_TANH = 31,
    SIGMOID = 40,
    HARD_SIGMOID = 41,
    ELU = 50,
    SOFTSIGN = 60,
    SOFTPLUS = 70,
    PARAMETRIC_SOFTPLUS = 71
};

/* A row of numbers, one for each channel or one for all. */
static vtac_id slope_row(vtac_coreml *c, vtac_wire params)
{
    const int64_t channels = vtac_coreml_type(c, 0).dim[1];
    const int64_t one = 1;
    vtac_wire floats;
    const bool single = vtac_wire_message(params, 1, &floats) && floats.end - floats.at == 4;
    return vtac_coreml_weights(c, params, single ? &one : &channels, 1);
}

/* An activation with two parameters, alpha and beta. */
static vtac_id make_active(vtac_coreml *c, uint64_t kind, vtac_wire own)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_id x = c->in[0];
    const double a = vtac_wire_float(own, 1, 0.0);
    const double b = vtac_wire_float(own, 2, 0.0);
    const vtac_attr attrs[] = {vtac_attr_of_float("alpha", a), vtac_attr_of_float("beta", b)};
    switch (kind) {
    case LINEAR: return a == -1.0 && b == 0.0 ? make_negative(m, x) : vtac_make_linear(m, x, a, b);
    case LEAKY: return vtac_make_leaky(m, x, a);
    case THRESHOLDED: return vtac_make(m, VTAC_OP_THRESHOLDED_RELU, &x, 1, attrs, 1);
    case PRELU: return vtac_make_prelu(m, x, slope_row(c, vtac_coreml_message(own, 1)));
    case SCALED_TANH:
        return vtac_make_linear(m, vtac_make1(m, VTAC_OP_TANH, vtac_make_linear(m, x, b, 0.0)), a, 0.0);
    case HARD_SIGMOID: return vtac_make(m, VTAC_OP_HARD_SIGMOID, &x, 1, attrs, 2);
    case ELU: return vtac_make(m, VTAC_OP_ELU, &x, 1, attrs, 1);
    case PARAMETRIC_SOFTPLUS: {
        const vtac_id in = vtac_make_along(m, VTAC_OP_MUL, x, slope_row(c, vtac_coreml_message(own, 2)), 1);
        return vtac_make_along(m, VTAC_OP_MUL, vtac_make1(m, VTAC_OP_SOFTPLUS, in),
                               slope_row(c, vtac_coreml_message(own, 1)), 1);
    }
    default:
        vtac_make_fail(m, VTA_UNSUPPORTED, "an activation of kind %llu", (unsigned long long)kind);
        return 0;
    }
}

void vtac_coreml_make_activation(vtac_coreml *c)
{
    static const struct {
        uint64_t kind;
        vtac_op op;
    } plain[] = {{RELU, VTAC_OP_RELU},
                 {TANH, VTAC_OP_TANH},
                 {SIGMOID, VTAC_OP_SIGMOID},
                 {SOFTSIGN, VTAC_OP_SOFTSIGN},
                 {SOFTPLUS, VTAC_OP_SOFTPLUS}};
    vtac_wire layer = c->layer;
    vtac_wire_field f;
    if (!vtac_wire_next(&layer, &f) || f.type != VTAC_WIRE_BYTES) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "an activation without a kind");
        return;
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (plain[i].kind == f.number) {
            vtac_coreml_set(c, 0, vtac_make1(&c->net.maker, plain[i].op, c->in[0]));
            return;
        }
    }
    vtac_coreml_set(c, 0, make_active(c, f.number, f.bytes));
}

void vtac_coreml_make_softmax(vtac_coreml *c)
{
    vtac_coreml_set(c, 0, vtac_make_softmax(&c->net.maker, c->in[0], COREML_CHANNELS));
}

void vtac_coreml_make_unary(vtac_coreml *c)
{
    enum { KIND = 1, ALPHA = 2, EPSILON = 3, SHIFT = 4, SCALE = 5 };
    enum { SQRT, RSQRT, INVERSE, POWER, EXP, LOG, ABS, THRESHOLD };
    vtac_import_builder *m = &c->net.maker;
    const double scale = field_real(c, SCALE, 0.0);
    const double epsilon = field_epsilon(c, EPSILON, 1e-6);
    const double alpha = field_real(c, ALPHA, 0.0);
    const vtac_id x = vtac_make_linear(m, c->in[0], scale == 0.0 ? 1.0 : scale, field_real(c, SHIFT, 0.0));
    vtac_id y = 0;
    switch (field_int(c, KIND, 0, 0, THRESHOLD)) {
    case SQRT: y = vtac_make1(m, VTAC_OP_SQRT, x); break;
    case RSQRT:
        y = vtac_make1(m, VTAC_OP_RECIPROCAL,
                       vtac_make1(m, VTAC_OP_SQRT, vtac_make_linear(m, x, 1.0, epsilon)));
        break;
    case INVERSE: y = vtac_make1(m, VTAC_OP_RECIPROCAL, vtac_make_linear(m, x, 1.0, epsilon)); break;
    case POWER: y = vtac_make_with(m, VTAC_OP_POW, x, alpha); break;
    case EXP: y = vtac_make1(m, VTAC_OP_EXP, x); break;
    case LOG: y = vtac_make1(m, VTAC_OP_LOG, vtac_make_linear(m, x, 1.0, epsilon)); break;
    case ABS: y = vtac_make1(m, VTAC_OP_ABS, x); break;
    default: y = vtac_make_clip(m, x, alpha, HUGE_VAL); break;
    }
    vtac_coreml_set(c, 0, y);
}

/* All inputs by one operator; a single one with the number in field 1. */
static vtac_id joined(vtac_coreml *c, vtac_op op, bool number)
{
    vtac_id y = c->in[0];
    for (uint32_t i = 1; i < c->in_count; i++) {
        y = vtac_make2(&c->net.maker, op, y, c->in[i]);
    }
    return number && c->in_count == 1 ? vtac_make_with(&c->net.maker, op, y, field_real(c, 1, 0.0)) : y;
}

void vtac_coreml_make_add(vtac_coreml *c)
{
    vtac_coreml_set(c, 0, joined(c, VTAC_OP_ADD, true));
}

void vtac_coreml_make_multiply(vtac_coreml *c)
{
    vtac_coreml_set(c, 0, joined(c, VTAC_OP_MUL, true));
}

void vtac_coreml_make_average(vtac_coreml *c)
{
    vtac_coreml_set(
        c, 0, vtac_make_linear(&c->net.maker, joined(c, VTAC_OP_ADD, false), 1.0 / (double)c->in_count, 0.0));
}

void vtac_coreml_make_max(vtac_coreml *c)
{
    vtac_coreml_set(c, 0, joined(c, VTAC_OP_MAX, false));
}

void vtac_coreml_make_min(vtac_coreml *c)
{
    vtac_coreml_set(c, 0, joined(c, VTAC_OP_MIN, false));
}

/* ---- shapes */

/* Edges cut off, or from an offset on as many rows and columns as a second input has. */
void vtac_coreml_make_crop(vtac_coreml *c)
{
    enum { AMOUNTS = 1, OFFSET = 5 };
    vtac_import_builder *m = &c->net.maker;
    const vtac_type type = vtac_coreml_type(c, 0);
    int64_t edges[4];
    int64_t offset[2];
    vtac_id y = c->in[0];
    read_edges(vtac_coreml_message(c->layer, AMOUNTS), edges);
    field_pair(c, OFFSET, 0, offset);
    for (uint32_t a = 0; a < 2 && m->status == VTA_OK; a++) {
        const bool like = c->in_count > 1;
        const int64_t begin = like ? offset[a] : edges[a];
        const int64_t end = like ? begin + vtac_coreml_type(c, 1).dim[a + 2] : type.dim[a + 2] - edges[a + 2];
        if (begin < 0 || end > type.dim[a + 2] || begin >= end) {
            vtac_make_fail(m, VTA_INVALID, "elements %lld to %lld of %lld", (long long)begin, (long long)end,
                           (long long)type.dim[a + 2]);
            return;
        }
        y = vtac_make_slice(m, y, a + 2, begin, end);
    }
    vtac_coreml_set(c, 0, y);
}

void vtac_coreml_make_padding(vtac_coreml *c)
{
    enum { CONSTANT = 1, REFLECTION = 2, REPLICATION = 3, AMOUNTS = 10 };
    vtac_import_builder *m = &c->net.maker;
    int64_t edges[4];
    vtac_wire own;
    read_edges(vtac_coreml_message(c->layer, AMOUNTS), edges);
    const char *mode = vtac_wire_message(c->layer, REFLECTION, &own)    ? "reflect"
                       : vtac_wire_message(c->layer, REPLICATION, &own) ? "edge"
                                                                        : "constant";
    const int64_t pads[] = {0, 0, edges[0], edges[1], 0, 0, edges[2], edges[3]};
    const vtac_attr attr = vtac_attr_of_string("mode", mode);
    const double value = vtac_wire_float(vtac_coreml_message(c->layer, CONSTANT), 1, 0.0);
    const vtac_id in[] = {c->in[0], vtac_make_ints(m, pads, 8), vtac_make_number(m, VTAC_F32, value)};
    vtac_coreml_set(c, 0, vtac_make(m, VTAC_OP_PAD, in, mode[0] == 'c' ? 3 : 2, &attr, 1));
}

/* Bilinear as TensorFlow's without half pixels; modes that came later are refused. */
void vtac_coreml_make_upsample(vtac_coreml *c)
{
    enum { FACTOR = 1, MODE = 5, LINEAR_MODE = 6, FRACTIONAL = 7 };
    const vtac_type type = vtac_coreml_type(c, 0);
    int64_t factor[2];
    vtac_wire_field f;
    field_pair(c, FACTOR, 1, factor);
    if (vtac_wire_int(c->layer, LINEAR_MODE, 0) != 0 || vtac_wire_find(c->layer, FRACTIONAL, &f) ||
        factor[0] < 1 || factor[1] < 1 || factor[0] > 256 || factor[1] > 256) {
        vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED,
                       "a mode of alignment, or factors that are no whole numbers to 256");
        return;
    }
    const char *mode = vtac_wire_int(c->layer, MODE, 0) == 1 ? "linear" : "nearest";
    vtac_coreml_set(c, 0,
                    vtac_make_resized(&c->net.maker, c->in[0], factor[0] * type.dim[2],
                                      factor[1] * type.dim[3], mode, "asymmetric"));
}

void vtac_coreml_make_reduce(vtac_coreml *c)
{
    enum { MODE = 1, EPSILON = 2, AXIS = 3, AVERAGE = 1, LOG_SUM = 3, ARG_MAX = 9 };
    static const vtac_op ops[] = {VTAC_OP_REDUCE_SUM, VTAC_OP_REDUCE_MEAN,       VTAC_OP_REDUCE_PROD,
                                  VTAC_OP_COUNT,      VTAC_OP_REDUCE_SUM_SQUARE, VTAC_OP_REDUCE_L1,
                                  VTAC_OP_REDUCE_L2,  VTAC_OP_REDUCE_MAX,        VTAC_OP_REDUCE_MIN,
                                  VTAC_OP_COUNT};
    static const int64_t axes[][3] = {{1, 2, 3}, {2, 3}, {1}, {2}, {3}};
    static const uint32_t counts[] = {3, 2, 1, 1, 1};
    const int64_t mode = field_int(c, MODE, 0, 0, ARG_MAX);
    const int64_t axis = field_int(c, AXIS, 0, 0, 4);
    if (ops[mode] == VTAC_OP_COUNT) {
        vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED, "mode %s", mode == LOG_SUM ? "LOGSUM" : "ARGMAX");
        return;
    }
    vtac_coreml_set(c, 0,
                    vtac_make_reduce(&c->net.maker, ops[mode], c->in[0], axes[axis], counts[axis], true));
}

void vtac_coreml_make_constant(vtac_coreml *c)
{
    enum { SHAPE = 1, DATA = 2 };
    const vtac_id value = shaped_weights(c, SHAPE, DATA);
    int64_t dims[4] = {1, 0, 0, 0};
    memcpy(dims + 1, vtac_made_type(&c->net.maker, value).dim, 3 * sizeof dims[0]);
    vtac_layered_set_constant(&c->net, c->outputs[0], vtac_make_reshape(&c->net.maker, value, dims, 4));
}

/* Channels go last before, and first again behind, where the order of channels last is asked for. */
static vtac_id reordered(vtac_coreml *c, vtac_id x, bool back)
{
    static const int64_t order[2][4] = {{0, 2, 3, 1}, {0, 3, 1, 2}};
    return vtac_make_transpose(&c->net.maker, x, order[back], 4);
}

void vtac_coreml_make_reshape(vtac_coreml *c)
{
    enum { TARGET = 1, MODE = 2 };
    vtac_import_builder *m = &c->net.maker;
    const bool last = vtac_wire_int(c->layer, MODE, 0) == 1;
    int64_t to[5] = {1, 1, 1, 1, 1};
    size_t count = vtac_wire_ints(c->layer, TARGET, to, 4);
    if (count == 4 && to[0] == 1) { /* one step of a sequence */
        memmove(to, to + 1, 3 * sizeof to[0]);
        count = 3;
    }
    if (count != 3) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "a shape of %zu axes, or of several steps; [C, H, W] is taken",
                       count);
        return;
    }
    const int64_t n = vtac_coreml_type(c, 0).dim[0];
    const int64_t first[] = {n, to[0], to[1], to[2]};
    const int64_t behind[] = {n, to[1], to[2], to[0]};
    vtac_id y = last ? reordered(c, c->in[0], false) : c->in[0];
    y = vtac_make_reshape(m, y, last ? behind : first, 4);
    vtac_coreml_set(c, 0, last ? reordered(c, y, true) : y);
}

void vtac_coreml_make_flatten(vtac_coreml *c)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_type type = vtac_coreml_type(c, 0);
    const bool last = vtac_wire_int(c->layer, 1, 0) == 1;
    const int64_t dims[] = {type.dim[0], type.dim[1] * type.dim[2] * type.dim[3], 1, 1};
    vtac_coreml_set(c, 0, vtac_make_reshape(m, last ? reordered(c, c->in[0], false) : c->in[0], dims, 4));
}

/* The order of sequence, channels, rows and columns; the sequence stays. */
void vtac_coreml_make_permute(vtac_coreml *c)
{
    int64_t order[4] = {0, 1, 2, 3};
    const size_t count = vtac_wire_ints(c->layer, 1, order, 4);
    if (count != 4 || order[0] != 0) {
        vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED, "an order of %zu axes, or one that moves the sequence",
                       count);
        return;
    }
    vtac_coreml_set(c, 0, vtac_make_transpose(&c->net.maker, c->in[0], order, 4));
}

void vtac_coreml_make_concat(vtac_coreml *c)
{
    if (vtac_wire_int(c->layer, 100, 0) != 0) {
        vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED, "sequences joined to one");
        return;
    }
    vtac_coreml_set(c, 0, vtac_make_concat(&c->net.maker, c->in, c->in_count, COREML_CHANNELS));
}

void vtac_coreml_make_split(vtac_coreml *c)
{
    const int64_t size = vtac_coreml_type(c, 0).dim[COREML_CHANNELS];
    const int64_t each = size / c->out_count;
    if (size % c->out_count != 0) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "%u parts of %lld channels", c->out_count,
                       (long long)size);
        return;
    }
    for (uint32_t i = 0; i < c->out_count; i++) {
        vtac_coreml_set(c, i,
                        vtac_make_slice(&c->net.maker, c->in[0], COREML_CHANNELS, i * each, (i + 1) * each));
    }
}

void vtac_coreml_make_reorganize(vtac_coreml *c)
{
    enum { MODE = 1, BLOCK = 2, SPACE_TO_DEPTH = 0, DEPTH_TO_SPACE = 1 };
    const int64_t mode = field_int(c, MODE, 0, 0, 2);
    const vtac_attr attrs[] = {vtac_attr_of_int("blocksize", field_int(c, BLOCK, 0, 1, COREML_MAX_SIDE)),
                               vtac_attr_of_string("mode", mode == DEPTH_TO_SPACE ? "DCR" : "CRD")};
    const vtac_op op = mode == SPACE_TO_DEPTH ? VTAC_OP_SPACE_TO_DEPTH : VTAC_OP_DEPTH_TO_SPACE;
    vtac_coreml_set(c, 0, vtac_make(&c->net.maker, op, c->in, 1, attrs, mode == SPACE_TO_DEPTH ? 1 : 2));
}

/* An end below 0 counts from behind the last element. */
void vtac_coreml_make_slice(vtac_coreml *c)
{
    enum { BEGIN = 1, END = 2, STRIDE = 3, AXIS = 4 };
    vtac_import_builder *m = &c->net.maker;
    const int64_t axis = field_int(c, AXIS, 0, 0, 2) + 1;
    const int64_t size = vtac_coreml_type(c, 0).dim[axis];
    const int64_t begin = field_int(c, BEGIN, 0, 0, COREML_MAX_SIDE);
    const int64_t given = vtac_wire_int(c->layer, END, 0);
    const int64_t end = given < 0 ? given + size + 1 : given;
    const int64_t step = field_int(c, STRIDE, 1, 0, COREML_MAX_SIDE);
    const int64_t by = step == 0 ? 1 : step;
    if (begin >= end || end > size) {
        vtac_make_fail(m, VTA_INVALID, "elements %lld to %lld of %lld", (long long)begin, (long long)end,
                       (long long)size);
        return;
    }
    const vtac_id in[] = {c->in[0], vtac_make_ints(m, &begin, 1), vtac_make_ints(m, &end, 1),
                          vtac_make_ints(m, &axis, 1), vtac_make_ints(m, &by, 1)};
    vtac_coreml_set(c, 0, vtac_make(m, VTAC_OP_SLICE, in, 5, NULL, 0));
}
