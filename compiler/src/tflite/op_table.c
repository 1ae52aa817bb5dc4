/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of one number. On integers of 8 and 16 bits they are tables, made here with TensorFlow Lite's own
 * arithmetic; on floats they are operators.
 */
#include <math.h>
#include <string.h>

#include "fixed.h"
#include "operators.h"

/* One number of a table: from the input's integer to the output's, before it is cut to the range. */
typedef struct byte_table {
    const vtac_tflite_tensor *in, *out;
    int64_t low, high; /* what the result is cut to */
    float alpha;
    bool rough; /* the function's quicker form */
    vtac_op op;
} byte_table;
typedef double number_fn(const byte_table *t, int64_t q);

static void set_table(vtac_tflite *im, const byte_table *t, number_fn *number)
{
    int64_t first;
    int64_t last;
    vtac_tflite_range(t->in->type.dtype, &first, &last);
    const int64_t count = last - first + 1;
    const size_t size = vtac_dtype_bytes(t->out->type.dtype);
    uint8_t *room = vtac_make_room(&im->maker, count, size);
    if (room == NULL) {
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const double value = number(t, first + i);
        const int64_t whole = isnan(value)              ? 0
                              : value < (double)t->low  ? t->low
                              : value > (double)t->high ? t->high
                                                        : (int64_t)value;
        memcpy(room + (size_t)i * size, &whole, size); /* the lowest byte comes first */
    }
    bool planes;
    const vtac_id x = vtac_tflite_either(im, 0, &planes);
    vtac_tflite_set_either(im, 0, vtac_tflite_look_up(im, x, t->out->type.dtype, room, count, first), planes);
}

static bool begin_table(vtac_tflite *im, byte_table *t)
{
    t->in = vtac_tflite_in(im, 0);
    t->out = vtac_tflite_out(im, 0);
    if (vtac_tflite_quantized(t->in) != vtac_tflite_quantized(t->out)) {
        vtac_make_refuse(&im->maker, "%s to %s", vtac_dtype_name(t->in->type.dtype),
                         vtac_dtype_name(t->out->type.dtype));
    }
    if (im->maker.status != VTA_OK || !vtac_tflite_quantized(t->in)) {
        return false;
    }
    vtac_tflite_range(t->out->type.dtype, &t->low, &t->high);
    return true;
}

static void plain_function(vtac_tflite *im, vtac_op op, const vtac_attr *attrs, uint32_t count)
{
    bool planes;
    const vtac_id x = vtac_tflite_either(im, 0, &planes);
    if (im->maker.status == VTA_OK) {
        vtac_tflite_set_either(im, 0, vtac_make(&im->maker, op, &x, 1, attrs, count), planes);
    }
}

/* ---- functions in float32, rounded halves away from zero */

#define FUNCTION(name, result)                                                                               \
    static float name(float x)                                                                               \
    {                                                                                                        \
        return result;                                                                                       \
    }
FUNCTION(sigmoid_f, 1.0F / (1.0F + expf(-x)))
FUNCTION(elu_f, x < 0.0F ? expm1f(x) : x)
FUNCTION(inverse_root_f, 1.0F / sqrtf(x))
FUNCTION(gelu_f, 0.5F * x * erfcf(x * -0.70710678F))
FUNCTION(rough_gelu_f, 0.5F * x * (1.0F + tanhf(0.79788456F * (x + 0.044715F * x * x * x))))
#undef FUNCTION

static float (*const functions[VTAC_OP_COUNT])(float x) = {
    [VTAC_OP_SIGMOID] = sigmoid_f,
    [VTAC_OP_TANH] = tanhf,
    [VTAC_OP_ELU] = elu_f,
    [VTAC_OP_EXP] = expf,
    [VTAC_OP_LOG] = logf,
    [VTAC_OP_SQRT] = sqrtf,
    [VTAC_OP_SIN] = sinf,
    [VTAC_OP_COS] = cosf,
    [VTAC_OP_FLOOR] = floorf,
    [VTAC_OP_CEIL] = ceilf,
    [VTAC_OP_ROUND] = rintf,
    [VTAC_OP_GELU] = gelu_f,
    [VTAC_OP_RECIPROCAL] = inverse_root_f,
};

static float function_of(vtac_op op, float x, bool rough)
{
    if (rough) {
        return rough_gelu_f(x);
    }
    return functions[op] != NULL ? functions[op](x) : x;
}

static double by_function(const byte_table *t, int64_t q)
{
    const float inverse = 1.0F / t->out->scale[0];
    const float x = t->in->scale[0] * (float)(q - t->in->zero[0]);
    return (double)roundf(function_of(t->op, x, t->rough) * inverse) + (double)t->out->zero[0];
}

void vtac_tflite_import_function(vtac_tflite *im)
{
    byte_table t = {.op = (vtac_op)im->how};
    t.rough = t.op == VTAC_OP_GELU && vtac_tflite_option(im, 0, 1, 0) != 0;
    if (begin_table(im, &t)) {
        set_table(im, &t, by_function);
        return;
    }
    if (im->maker.status == VTA_OK && t.op == VTAC_OP_RECIPROCAL) { /* of the root */
        bool planes;
        const vtac_id x = vtac_tflite_either(im, 0, &planes);
        const vtac_id root = vtac_make1(&im->maker, VTAC_OP_SQRT, x);
        vtac_tflite_set_either(im, 0, vtac_make1(&im->maker, VTAC_OP_RECIPROCAL, root), planes);
        return;
    }
    const vtac_attr tanh_form = vtac_attr_of_string("approximate", "tanh");
    plain_function(im, t.op, &tanh_form, t.rough ? 1 : 0);
}

/* ---- logistic and tanh of 16 bits: a table of 256 steps and what is between them */

static double sigmoid_16(double x)
{
    return 65536.0 / (1.0 + exp(-x / 24.0));
}

/* sigmoid(i / 24) in 16 bits, moved by half of what the straight line to the next is off in its middle. */
static int64_t sigmoid_entry(int64_t i)
{
    const double x = (double)i;
    const double off = sigmoid_16(x + 0.5) - (sigmoid_16(x) + sigmoid_16(x + 1.0)) / 2.0;
    return i >= 255 ? 65535 : (int64_t)round(sigmoid_16(x) + off / 2.0);
}

static double logistic_words(const byte_table *t, int64_t q)
{
    const bool is_tanh = t->op == VTAC_OP_TANH;
    const int fine = is_tanh ? 8 : 9; /* bits between two entries; tanh(x) is 2 sigmoid(2x) - 1 */
    double real = (double)t->in->scale[0] * 4096.0 * 3.0;
    int left = 0;
    while (real <= 32767.0 / 2.0 && left <= 30) {
        left++;
        real *= 2.0;
    }
    const int64_t round_up = left > 0 ? INT64_C(1) << (left - 1) : 0;
    const int64_t x = (q * (int64_t)real + round_up) >> left;
    const int64_t size = x < 0 ? -x : x;
    const int64_t place = size >> fine;
    const int64_t rest = size & ((1 << fine) - 1);
    int64_t y = (sigmoid_entry(place) << fine) + rest * (sigmoid_entry(place + 1) - sigmoid_entry(place));
    if (place >= 255) {
        y = is_tanh ? INT64_C(0xffff) << 8 : INT64_C(0x7fff) << 10;
    }
    if (is_tanh) {
        y = x >= 0 ? y - (1 << 23) + (1 << 7) : -y + (1 << 23) + (1 << 7) - 1;
        return (double)(y >> 8);
    }
    y = x >= 0 ? y + (1 << 9) : (1 << 25) - y + (1 << 9) - 1;
    return (double)(y >> 10);
}

/* Units of 2^-12, or of tanh 2^-11, have steps of their own. */
static double fixed_words(const byte_table *t, int64_t q)
{
    if (t->op == VTAC_OP_SIGMOID) {
        return vtac_tflite_fixed_logistic((int16_t)q, 3);
    }
    const int64_t x = t->in->scale[0] == 0x1p-11F ? 2 * q : q;
    return vtac_tflite_fixed_tanh((int16_t)(x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x), 3);
}

static bool has_fixed_units(const byte_table *t)
{
    return t->in->scale[0] == 0x1p-12F || (t->op == VTAC_OP_TANH && t->in->scale[0] == 0x1p-11F);
}

void vtac_tflite_import_logistic(vtac_tflite *im)
{
    byte_table t = {.op = (vtac_op)im->how};
    if (begin_table(im, &t)) {
        const bool words = t.in->type.dtype == VTAC_I16;
        set_table(im, &t, !words ? by_function : has_fixed_units(&t) ? fixed_words : logistic_words);
        return;
    }
    plain_function(im, t.op, NULL, 0);
}

/* ---- fixed-point functions */

static double by_factor(const byte_table *t, int64_t q, double factor)
{
    const int64_t x = vtac_tfl_rescale(q - t->in->zero[0], vtac_tfl_scale_of(factor), VTAC_ROUND_AWAY);
    return (double)x + (double)t->out->zero[0];
}

static double rescale_entry(const byte_table *t, int64_t q)
{
    return by_factor(t, q, (double)t->in->scale[0] / (double)t->out->scale[0]);
}

/* Here the library divides floats. */
static double rescaled_by_float(const byte_table *t, int64_t q)
{
    return by_factor(t, q, (double)(t->in->scale[0] / t->out->scale[0]));
}

/* RELU, RELU6, RELU_N1_TO_1 */
void vtac_tflite_import_relu(vtac_tflite *im)
{
    byte_table t = {.op = VTAC_OP_RELU};
    if (begin_table(im, &t)) {
        vtac_tflite_activation_range(im, t.out, im->how, &t.low, &t.high);
        set_table(im, &t, rescaled_by_float);
        return;
    }
    bool planes;
    const vtac_id x = vtac_tflite_either(im, 0, &planes);
    vtac_tflite_set_either(im, 0, vtac_tflite_activate(im, x, t.out, im->how), planes);
}

static double leaky_entry(const byte_table *t, int64_t q)
{
    const int64_t x = q - t->in->zero[0];
    const float slope = x >= 0 ? 1.0F : t->alpha;
    const double real = x >= 0 ? (double)(t->in->scale[0] / t->out->scale[0])
                               : (double)(t->in->scale[0] * fabsf(slope) / t->out->scale[0]);
    const int64_t scaled = vtac_tfl_rescale(slope < 0.0F ? -x : x, vtac_tfl_scale_of(real), VTAC_ROUND_AWAY);
    return (double)(scaled + t->out->zero[0]);
}

void vtac_tflite_import_leaky_relu(vtac_tflite *im)
{
    byte_table t = {.alpha = vtac_tflite_option_float(im, 0, 0.0F)};
    if (begin_table(im, &t)) {
        set_table(im, &t, leaky_entry);
        return;
    }
    const vtac_attr alpha = vtac_attr_of_float("alpha", (double)t.alpha);
    plain_function(im, VTAC_OP_LEAKY_RELU, &alpha, 1);
}

static double magnitude_entry(const byte_table *t, int64_t q)
{
    const int64_t x = q - t->in->zero[0];
    const int64_t size = x < 0 ? -x : x;
    if (t->in->scale[0] == t->out->scale[0]) {
        return (double)(size + t->out->zero[0]);
    }
    const vtac_tfl_scale s = vtac_tfl_scale_of((double)(t->in->scale[0] / t->out->scale[0]));
    return (double)vtac_tfl_rescale(size, s, VTAC_ROUND_AWAY) + (double)t->out->zero[0];
}

void vtac_tflite_import_abs(vtac_tflite *im)
{
    byte_table t = {.op = VTAC_OP_ABS};
    if (begin_table(im, &t)) {
        set_table(im, &t, magnitude_entry);
        return;
    }
    plain_function(im, VTAC_OP_ABS, NULL, 0);
}

/* ---- hard swish: 16-bit fixed-point steps */

static int64_t clamp_16(int64_t v)
{
    return v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v;
}

/* (a * b * 2 + rounding) / 2^16 of 16-bit numbers */
static int64_t high_mul(int64_t a, int64_t b, bool rounding)
{
    if (a == INT16_MIN && b == INT16_MIN) {
        return INT16_MAX;
    }
    const int64_t product = a * b;
    const int64_t nudge = !rounding ? 0 : product >= 0 ? 1 << 14 : 1 - (1 << 14);
    return (product + nudge) / (1 << 15);
}

static int64_t divide_by_power(int64_t v, int by)
{
    if (by <= 0) {
        return by < -15 ? clamp_16(v) : clamp_16(v * (INT64_C(1) << -by));
    }
    const int64_t mask = (INT64_C(1) << by) - 1;
    return (v >> by) + ((v & mask) > (mask >> 1) + (v < 0 ? 1 : 0) ? 1 : 0);
}

static int64_t upper_half(vtac_tfl_scale s)
{
    return s.mult > INT32_MAX - (1 << 15) ? INT16_MAX : (s.mult + (1 << 15)) >> 16;
}

static double hard_swish(const byte_table *t, int64_t q)
{
    const float fine = (1.0F / 128.0F) * t->in->scale[0];
    const vtac_tfl_scale out = vtac_tfl_scale_of((double)(fine / t->out->scale[0]));
    const vtac_tfl_scale relu = vtac_tfl_scale_of((double)(fine / (3.0F / 32768.0F)));
    const int64_t x = (q - t->in->zero[0]) * 128;
    const int64_t scaled = high_mul(x, upper_half(out), true);
    int64_t gate = x;
    if (relu.shift > 0) {
        gate = clamp_16(relu.shift > 16 ? (gate < 0   ? INT16_MIN
                                           : gate > 0 ? INT16_MAX
                                                      : 0)
                                        : gate * (INT64_C(1) << (relu.shift - 1)));
    }
    gate = high_mul(gate, upper_half(relu), true);
    gate = relu.shift > 0 ? clamp_16(gate * 2) : gate;
    gate = relu.shift < 0 ? divide_by_power(gate, -relu.shift) : gate;
    gate = (gate + (1 << 15)) >> 1;
    return (double)(divide_by_power(high_mul(gate, scaled, false), -out.shift) + t->out->zero[0]);
}

void vtac_tflite_import_hard_swish(vtac_tflite *im)
{
    byte_table t = {.op = VTAC_OP_HARD_SWISH};
    if (begin_table(im, &t)) {
        if (t.in->type.dtype == VTAC_I16) {
            vtac_make_refuse(&im->maker, "16-bit integers");
            return;
        }
        set_table(im, &t, hard_swish);
        return;
    }
    plain_function(im, VTAC_OP_HARD_SWISH, NULL, 0);
}

/* ---- between kinds of numbers */

static double same_scale(const byte_table *t, int64_t q)
{
    return (double)(q - t->in->zero[0] + t->out->zero[0]);
}

void vtac_tflite_import_quantize(vtac_tflite *im)
{
    byte_table t = {.in = vtac_tflite_in(im, 0), .out = vtac_tflite_out(im, 0)};
    bool planes;
    if (vtac_tflite_is_float(t.in) && vtac_tflite_quantized(t.out)) {
        const vtac_id x = vtac_tflite_either(im, 0, &planes);
        vtac_tflite_set_either(im, 0, vtac_tflite_quantize(im, x, t.out), planes);
        return;
    }
    const bool wide = t.in->type.dtype == VTAC_I32 && t.in->scale_count == 1 && t.in->zero[0] == 0;
    if (wide && vtac_tflite_quantized(t.out) && t.out->type.dtype != VTAC_U8) {
        const vtac_tfl_scale s = vtac_tfl_scale_of((double)t.in->scale[0] / (double)t.out->scale[0]);
        const vtac_id x = vtac_tflite_rescale(im, vtac_tflite_either(im, 0, &planes), s, VTAC_ROUND_AWAY);
        vtac_tflite_set_either(im, 0, vtac_tflite_store(im, x, t.out, TFL_NONE), planes);
        return;
    }
    if (!vtac_tflite_quantized(t.in) || t.out->scale_count == 0) {
        vtac_make_refuse(&im->maker, "%s to %s", vtac_dtype_name(t.in->type.dtype),
                         vtac_dtype_name(t.out->type.dtype));
        return;
    }
    if (t.out->type.dtype == VTAC_I32) {
        const vtac_id x = vtac_tflite_centred(im, vtac_tflite_either(im, 0, &planes), t.in->zero[0]);
        const vtac_tfl_scale s = vtac_tfl_scale_of((double)t.in->scale[0] / (double)t.out->scale[0]);
        vtac_id y = vtac_tflite_rescale(im, x, s, VTAC_ROUND_AWAY);
        y = vtac_make2(&im->maker, VTAC_OP_ADD, y,
                       vtac_make_number(&im->maker, VTAC_I32, (double)t.out->zero[0]));
        vtac_tflite_set_either(im, 0, y, planes);
        return;
    }
    if (!vtac_tflite_quantized(t.out)) {
        vtac_make_refuse(&im->maker, "%s to %s", vtac_dtype_name(t.in->type.dtype),
                         vtac_dtype_name(t.out->type.dtype));
        return;
    }
    vtac_tflite_range(t.out->type.dtype, &t.low, &t.high);
    const int64_t apart = t.in->zero[0] - t.out->zero[0];
    const bool moved = t.in->scale[0] == t.out->scale[0] && (apart == 128 || apart == -128) &&
                       t.in->type.dtype != t.out->type.dtype && t.in->type.dtype != VTAC_I16 &&
                       t.out->type.dtype != VTAC_I16;
    set_table(im, &t, moved ? same_scale : rescale_entry);
}

void vtac_tflite_import_dequantize(vtac_tflite *im)
{
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    bool planes;
    vtac_id x = vtac_tflite_either(im, 0, &planes);
    if (in->type.dtype == VTAC_F16) {
        x = vtac_make_cast(&im->maker, x, VTAC_F32);
    } else if (vtac_tflite_quantized(in)) {
        x = vtac_tflite_dequantize(im, x, in);
    } else {
        vtac_make_refuse(&im->maker, "numbers of %s", vtac_dtype_name(in->type.dtype));
    }
    vtac_tflite_set_either(im, 0, x, planes);
}

void vtac_tflite_import_cast(vtac_tflite *im)
{
    bool planes;
    const vtac_id x = vtac_tflite_either(im, 0, &planes);
    vtac_tflite_set_either(im, 0, vtac_make_cast(&im->maker, x, vtac_tflite_out(im, 0)->type.dtype), planes);
}

void vtac_tflite_import_unary(vtac_tflite *im)
{
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    if (vtac_tflite_quantized(in)) {
        vtac_make_refuse(&im->maker, "quantized integers");
        return;
    }
    plain_function(im, (vtac_op)im->how, NULL, 0);
}

void vtac_tflite_import_square(vtac_tflite *im)
{
    bool planes;
    const vtac_id x = vtac_tflite_either(im, 0, &planes);
    vtac_tflite_set_either(im, 0, vtac_make2(&im->maker, VTAC_OP_MUL, x, x), planes);
}

/* Weights that the file has sparsely are whole here already. */
void vtac_tflite_import_densify(vtac_tflite *im)
{
    bool planes;
    const vtac_id x = vtac_tflite_either(im, 0, &planes);
    vtac_tflite_set_either(im, 0, x, planes);
}

/* To steps of a range and back, in floats; options: least, most, bits, without the lowest step */
void vtac_tflite_import_fake_quant(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    bool planes;
    vtac_id x = vtac_tflite_either(im, 0, &planes);
    const float min = vtac_tflite_option_float(im, 0, 0.0F);
    const float max = vtac_tflite_option_float(im, 1, 0.0F);
    const int64_t bits = vtac_tflite_option(im, 2, 4, 0);
    if (!vtac_tflite_is_float(vtac_tflite_in(im, 0)) || !(max > min) || bits < 2 || bits > 16 || min > 0.0F ||
        max < 0.0F) {
        vtac_make_refuse(&im->maker, "%g to %g in %lld bits", (double)min, (double)max, (long long)bits);
        return;
    }
    const float bottom = vtac_tflite_option(im, 3, 1, 0) != 0 ? 1.0F : 0.0F;
    const float top = (float)((1 << bits) - 1);
    const float scale = (max - min) / (top - bottom);
    const float zero = fminf(top, fmaxf(bottom, roundf(bottom - min / scale)));
    const float low = (bottom - zero) * scale;
    const float high = (top - zero) * scale;
    x = vtac_make_clip(m, x, (double)low, (double)high);
    x = vtac_make2(m, VTAC_OP_SUB, x, vtac_make_number(m, VTAC_F32, (double)low));
    x = vtac_make2(m, VTAC_OP_MUL, x, vtac_make_number(m, VTAC_F32, (double)(1.0F / scale)));
    x = vtac_make2(m, VTAC_OP_ADD, x, vtac_make_number(m, VTAC_F32, 0.5));
    x = vtac_make2(m, VTAC_OP_MUL, vtac_make1(m, VTAC_OP_FLOOR, x),
                   vtac_make_number(m, VTAC_F32, (double)scale));
    x = vtac_make2(m, VTAC_OP_ADD, x, vtac_make_number(m, VTAC_F32, (double)low));
    vtac_tflite_set_either(im, 0, x, planes);
}

/* The same bits as numbers of another type of the same size. */
void vtac_tflite_import_bitcast(vtac_tflite *im)
{
    const vtac_dtype to = vtac_tflite_out(im, 0)->type.dtype;
    const vtac_dtype from = vtac_tflite_in(im, 0)->type.dtype;
    if (im->maker.status == VTA_OK && (from == VTAC_BOOL || to == VTAC_NO_DTYPE || to == VTAC_BOOL ||
                                       vtac_dtype_bytes(to) != vtac_dtype_bytes(from))) {
        vtac_make_refuse(&im->maker, "%s as %s, which has another size", vtac_dtype_name(from),
                         vtac_dtype_name(to));
        return;
    }
    const vtac_attr attr = vtac_attr_of_string("to", vtac_dtype_name(to));
    const vtac_id x = vtac_tflite_plain(im, 0);
    vtac_tflite_set(im, 0, vtac_make(&im->maker, VTAC_OP_BIT_CAST, &x, 1, &attr, 1));
}
