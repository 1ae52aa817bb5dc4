/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantized numbers of TensorFlow Lite: scales, activations, roundings.
 */
#include <math.h>
#include <string.h>

#include "import.h"

void vtac_tflite_range(vtac_dtype dtype, int64_t *low, int64_t *high)
{
    const unsigned bits = 8 * (unsigned)vtac_dtype_bytes(dtype);
    const bool is_signed = vtac_dtype_kind(dtype) == 'i';
    *low = is_signed ? -(INT64_C(1) << (bits - 1)) : 0;
    *high = (INT64_C(1) << (is_signed ? bits - 1 : bits)) - 1;
}

bool vtac_tflite_quantized(const vtac_tflite_tensor *t)
{
    const vtac_dtype d = t->type.dtype;
    return t->scale_count > 0 && (d == VTAC_I8 || d == VTAC_U8 || d == VTAC_I16);
}

bool vtac_tflite_is_float(const vtac_tflite_tensor *t)
{
    return t->type.dtype == VTAC_F32;
}

bool vtac_tflite_same_scale(const vtac_tflite_tensor *a, const vtac_tflite_tensor *b)
{
    return a->type.dtype == b->type.dtype && (a->scale_count == 0) == (b->scale_count == 0) &&
           (a->scale_count == 0 || (a->scale[0] == b->scale[0] && a->zero[0] == b->zero[0]));
}

vtac_id vtac_tflite_scale_value(vtac_tflite *im, const vtac_tflite_tensor *t)
{
    if (t->scale_count <= 1) {
        return vtac_make_number(&im->maker, VTAC_F32, t->scale_count == 0 ? 1.0 : (double)t->scale[0]);
    }
    return vtac_make_floats(&im->maker, t->scale, t->scale_count);
}

vtac_id vtac_tflite_zero_value(vtac_tflite *im, const vtac_tflite_tensor *t)
{
    int64_t low;
    int64_t high;
    vtac_tflite_range(t->type.dtype, &low, &high);
    for (uint32_t i = 0; i < t->scale_count; i++) {
        if (t->zero[i] < low || t->zero[i] > high) {
            vtac_make_refuse(&im->maker, "tensor '%s': zero point %lld is no %s", t->name,
                             (long long)t->zero[i], vtac_dtype_name(t->type.dtype));
            return 0;
        }
    }
    return vtac_make_number(&im->maker, t->type.dtype, t->scale_count == 0 ? 0.0 : (double)t->zero[0]);
}

vtac_id vtac_tflite_centred(vtac_tflite *im, vtac_id x, int64_t zero)
{
    x = vtac_make_cast(&im->maker, x, VTAC_I32);
    return zero == 0
               ? x
               : vtac_make2(&im->maker, VTAC_OP_SUB, x, vtac_make_number(&im->maker, VTAC_I32, (double)zero));
}

vtac_id vtac_tflite_rescale(vtac_tflite *im, vtac_id x, vtac_tfl_scale scale, vtac_rounding rounding)
{
    const vtac_attr attr = vtac_attr_of_string("rounding", vtac_rounding_name(rounding));
    const vtac_id in[] = {x, vtac_make_number(&im->maker, VTAC_I32, scale.mult),
                          vtac_make_number(&im->maker, VTAC_I32, scale.shift)};
    return vtac_make(&im->maker, VTAC_OP_RESCALE, in, 3, &attr, 1);
}

vtac_id vtac_tflite_rescale_wide(vtac_tflite *im, vtac_id sum, const vtac_tfl_scale *scales, int64_t count,
                                 int64_t axis)
{
    vtac_import_builder *m = &im->maker;
    const uint32_t rank = vtac_made_type(m, sum).rank;
    vtac_type type = {VTAC_I64, 0, {0}};
    int64_t *mult = vtac_make_room(m, count, sizeof *mult);
    int64_t *unit = vtac_make_room(m, count, sizeof *unit);
    int64_t *half = vtac_make_room(m, count, sizeof *half);
    if (mult == NULL || unit == NULL || half == NULL) {
        return 0;
    }
    for (int64_t i = 0; i < count; i++) {
        const int by = scales[i].shift > 30 ? 1 : scales[i].shift < -30 ? 61 : 31 - scales[i].shift;
        mult[i] = scales[i].mult;
        unit[i] = INT64_C(1) << by;
        half[i] = INT64_C(1) << (by - 1);
    }
    for (uint32_t a = 0; a < rank - (uint32_t)axis; a++) { /* it broadcasts from its last axis */
        type.dim[type.rank++] = a == 0 ? count : 1;
    }
    const vtac_id units = vtac_make_borrowed(m, &type, unit);
    vtac_id y = vtac_make_cast(m, vtac_make_cast(m, sum, VTAC_I32), VTAC_I64);
    y = vtac_make2(m, VTAC_OP_MUL, y, vtac_make_borrowed(m, &type, mult));
    y = vtac_make2(m, VTAC_OP_ADD, y, vtac_make_borrowed(m, &type, half));
    /* the quotient to the lower side */
    const vtac_id q = vtac_make2(m, VTAC_OP_DIV, y, units);
    const vtac_id above = vtac_make2(m, VTAC_OP_LESS, y, vtac_make2(m, VTAC_OP_MUL, q, units));
    y = vtac_make2(m, VTAC_OP_SUB, q, vtac_make_cast(m, above, VTAC_I64));
    return vtac_make_cast(m, vtac_make_clip(m, y, INT32_MIN / 2, INT32_MAX / 2), VTAC_I32);
}

/* Checks that a tensor of scaled integers has a scale. */
static bool has_scale(vtac_tflite *im, const vtac_tflite_tensor *t)
{
    if (t->scale_count == 0) {
        vtac_make_refuse(&im->maker, "tensor '%s' has no scale", t->name == NULL ? "" : t->name);
    }
    return t->scale_count > 0;
}

static int64_t quantize_number(const vtac_tflite_tensor *t, double value)
{
    return t->zero[0] + (int64_t)fmax(-1e9, fmin(1e9, (double)roundf((float)value / t->scale[0])));
}

void vtac_tflite_activation_range(vtac_tflite *im, const vtac_tflite_tensor *t, int activation, int64_t *low,
                                  int64_t *high)
{
    vtac_tflite_range(t->type.dtype, low, high);
    if (!has_scale(im, t)) {
        return;
    }
    int64_t first = *low;
    int64_t last = *high;
    switch (activation) {
    case TFL_NONE: break;
    case TFL_RELU: first = quantize_number(t, 0.0); break;
    case TFL_RELU6:
        first = quantize_number(t, 0.0);
        last = quantize_number(t, 6.0);
        break;
    case TFL_RELU_N1:
        first = quantize_number(t, -1.0);
        last = quantize_number(t, 1.0);
        break;
    case TFL_RELU_01:
        first = quantize_number(t, 0.0);
        last = quantize_number(t, 1.0);
        break;
    default: vtac_make_refuse(&im->maker, "fused activation %d on integers", activation);
    }
    *low = first > *low ? first : *low;
    *high = last < *high ? last : *high;
}

vtac_id vtac_tflite_store(vtac_tflite *im, vtac_id x, const vtac_tflite_tensor *to, int activation)
{
    vtac_import_builder *m = &im->maker;
    int64_t low;
    int64_t high;
    vtac_tflite_activation_range(im, to, activation, &low, &high);
    const int64_t zero = im->maker.status == VTA_OK ? to->zero[0] : 0;
    const double min = fmax((double)(low - zero), INT32_MIN);
    const double max = fmin((double)(high - zero), INT32_MAX);
    x = vtac_make_clip(m, x, min, max); /* before the zero point is added: the sum fits into 32 bits */
    if (zero != 0) {
        x = vtac_make2(m, VTAC_OP_ADD, x, vtac_make_number(m, VTAC_I32, (double)zero));
    }
    return vtac_make_cast(m, x, to->type.dtype);
}

vtac_id vtac_tflite_activate(vtac_tflite *im, vtac_id x, const vtac_tflite_tensor *t, int activation)
{
    vtac_import_builder *m = &im->maker;
    if (vtac_tflite_quantized(t)) {
        int64_t low;
        int64_t high;
        int64_t min;
        int64_t max;
        vtac_tflite_range(t->type.dtype, &min, &max);
        vtac_tflite_activation_range(im, t, activation, &low, &high);
        return low <= min && high >= max ? x : vtac_make_clip(m, x, (double)low, (double)high);
    }
    switch (activation) {
    case TFL_NONE: return x;
    case TFL_RELU:
        return vtac_tflite_is_float(t) ? vtac_make1(m, VTAC_OP_RELU, x) : vtac_make_clip(m, x, 0.0, HUGE_VAL);
    case TFL_RELU_N1: return vtac_make_clip(m, x, -1.0, 1.0);
    case TFL_RELU6: return vtac_make_clip(m, x, 0.0, 6.0);
    case TFL_RELU_01: return vtac_make_clip(m, x, 0.0, 1.0);
    case TFL_TANH: return vtac_make1(m, VTAC_OP_TANH, x);
    default: vtac_make_refuse(&im->maker, "fused activation %d", activation); return 0;
    }
}

vtac_id vtac_tflite_round(vtac_tflite *im, vtac_id x)
{
    vtac_import_builder *m = &im->maker;
    x = vtac_make_cast(m, x, VTAC_F64); /* in which x + 1/2 is exact */
    const vtac_id half =
        vtac_make2(m, VTAC_OP_MUL, vtac_make1(m, VTAC_OP_SIGN, x), vtac_make_number(m, VTAC_F64, 0.5));
    return vtac_make_cast(m, vtac_make2(m, VTAC_OP_ADD, x, half), VTAC_I32);
}

vtac_id vtac_tflite_round_shift(vtac_tflite *im, vtac_id v, int by)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id half = vtac_make2(m, VTAC_OP_MUL, vtac_make1(m, VTAC_OP_SIGN, v),
                                    vtac_make_number(m, VTAC_I32, ldexp(1.0, by - 1)));
    return vtac_make2(m, VTAC_OP_DIV, vtac_make2(m, VTAC_OP_ADD, v, half),
                      vtac_make_number(m, VTAC_I32, ldexp(1.0, by)));
}

vtac_id vtac_tflite_quantize(vtac_tflite *im, vtac_id x, const vtac_tflite_tensor *to)
{
    vtac_id scale = vtac_tflite_scale_value(im, to);
    if (to->scale_count > 1) {
        int64_t dims[VTAC_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
        dims[to->axis < VTAC_MAX_RANK ? to->axis : 0] = to->scale_count;
        scale = vtac_make_reshape(&im->maker, scale, dims, to->type.rank);
    }
    /* The engine divides doubles: a quotient of floats may lie on a half that the exact one misses. */
    x = vtac_make2(&im->maker, VTAC_OP_DIV, vtac_make_cast(&im->maker, x, VTAC_F64),
                   vtac_make_cast(&im->maker, scale, VTAC_F64));
    x = vtac_make_clip(&im->maker, x, -1e9, 1e9); /* so that the zero point has room */
    return vtac_tflite_store(im, vtac_tflite_round(im, x), to, TFL_NONE);
}

vtac_id vtac_tflite_dequantize(vtac_tflite *im, vtac_id x, const vtac_tflite_tensor *from)
{
    vtac_import_builder *m = &im->maker;
    if (from->scale_count > 1) {
        const vtac_attr axis = vtac_attr_of_int("axis", from->axis);
        const vtac_id in[] = {x, vtac_tflite_scale_value(im, from)};
        for (uint32_t i = 0; i < from->scale_count; i++) {
            if (from->zero[i] != 0) {
                vtac_make_refuse(&im->maker, "tensor '%s': zero points that are not 0 on an axis",
                                 from->name);
            }
        }
        return vtac_make(m, VTAC_OP_DEQUANTIZE_LINEAR, in, 2, &axis, 1);
    }
    return vtac_make3(m, VTAC_OP_DEQUANTIZE_LINEAR, x, vtac_tflite_scale_value(im, from),
                      vtac_tflite_zero_value(im, from));
}

vtac_id vtac_tflite_look_up(vtac_tflite *im, vtac_id x, vtac_dtype dtype, const void *table, int64_t count,
                            int64_t first)
{
    const vtac_attr attr = vtac_attr_of_int("first", first);
    const vtac_id in[] = {x, vtac_make_constant(&im->maker, &(vtac_type){dtype, 1, {count}}, table)};
    return vtac_make(&im->maker, VTAC_OP_LOOK_UP, in, 2, &attr, 1);
}
