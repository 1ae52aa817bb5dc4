/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that put a row in proportion to its own sum: softmax, its logarithm, division by the length.
 */
#include <math.h>
#include <string.h>

#include "operators.h"

/* ---- softmax of 16 bits: two curves of 512 straight pieces, exp over -10 to 0 and 1 / (1 + x) over 0 to 1
 */

enum { PIECES = 512, PIECE = 128, WORDS = 1 << 16 };
typedef double curve_fn(double x);

static double inverse_curve(double x)
{
    return 1.0 / (1.0 + x);
}

/* Table of a curve at all 16-bit numbers: linear between the ends of its pieces, moved by half of the error
 * in the middle. */
static vtac_id curve_table(vtac_tflite *im, curve_fn *fn, double from, double to)
{
    const double step = (to - from) / PIECES;
    int64_t ends[PIECES + 1];
    for (int i = 0; i < PIECES; i++) {
        const double here = round(fn(from + i * step) * 32768.0);
        const double middle = round((fn(from + (i + 1) * step) * 32768.0 + here) / 2.0);
        const double off = middle - round(fn(from + i * step + step / 2.0) * 32768.0);
        ends[i] = (int64_t)fmax(-32768.0, fmin(32767.0, here - round(off / 2.0)));
    }
    ends[PIECES] = (int64_t)fmax(-32768.0, fmin(32767.0, round(fn(to) * 32768.0)));
    int64_t *room = vtac_make_room(&im->maker, WORDS, sizeof *room);
    for (int64_t i = 0; room != NULL && i < WORDS; i++) {
        const int64_t piece = i / PIECE;
        const int64_t slope = ends[piece + 1] - ends[piece];
        room[i] = ends[piece] + ((slope * (i % PIECE) + PIECE / 2) >> 7);
    }
    return room == NULL ? 0 : vtac_make_borrowed(&im->maker, &(vtac_type){VTAC_I64, 1, {WORDS}}, room);
}

static vtac_id on_curve(vtac_tflite *im, vtac_id x, vtac_id table)
{
    const vtac_attr first = vtac_attr_of_int("first", INT16_MIN);
    x = vtac_make_clip(&im->maker, x, INT16_MIN, INT16_MAX);
    return vtac_make(&im->maker, VTAC_OP_LOOK_UP, (vtac_id[]){x, table}, 2, &first, 1);
}

/* 2^bits for each whole number of bits. */
static vtac_id power_of(vtac_tflite *im, vtac_id bits)
{
    int64_t powers[32];
    for (int i = 0; i < 32; i++) {
        powers[i] = INT64_C(1) << i;
    }
    return vtac_tflite_look_up(im, bits, VTAC_I64, powers, 32, 0);
}

/* Number of bits of a positive sum below 2^31. */
static vtac_id bits_of(vtac_tflite *im, vtac_id sum)
{
    vtac_import_builder *m = &im->maker;
    int64_t powers[31];
    const int64_t last[] = {(int64_t)vtac_made_type(m, sum).rank - 1};
    for (int i = 0; i < 31; i++) {
        powers[i] = INT64_C(1) << i;
    }
    const vtac_id reached = vtac_make2(m, VTAC_OP_GREATER_OR_EQUAL, sum, vtac_make_ints(m, powers, 31));
    return vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, vtac_make_cast(m, reached, VTAC_I32), last, 1, true);
}

static vtac_id int64_constant(vtac_tflite *im, int64_t v)
{
    return vtac_make_number(&im->maker, VTAC_I64, (double)v);
}

static vtac_id softmax_words(vtac_tflite *im, vtac_id x, float beta, int64_t last)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    const vtac_tfl_scale scale = vtac_tfl_scale_of((double)in->scale[0] * (double)beta / (10.0 / 65535.0));
    x = vtac_make_cast(m, x, VTAC_I32);
    x = vtac_make2(m, VTAC_OP_SUB, x, vtac_make_reduce(m, VTAC_OP_REDUCE_MAX, x, &last, 1, true));
    x = vtac_tflite_rescale(im, x, scale, VTAC_ROUND_AWAY);
    x = vtac_make2(m, VTAC_OP_ADD, x, vtac_make_number(m, VTAC_I32, INT16_MAX));
    const vtac_id e = on_curve(im, x, curve_table(im, exp, -10.0, 0.0));
    const vtac_id sum = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, e, &last, 1, true);
    /* the sum as 1 + x with 16 bits of x, rounded, and its inverse */
    const vtac_id bits = bits_of(im, sum);
    const vtac_id left = power_of(im, vtac_make2(m, VTAC_OP_SUB, vtac_make_number(m, VTAC_I32, 31.0), bits));
    vtac_id part =
        vtac_make2(m, VTAC_OP_ADD, vtac_make2(m, VTAC_OP_MUL, sum, left), int64_constant(im, 1 << 13));
    part = vtac_make2(m, VTAC_OP_DIV, part, int64_constant(im, 1 << 14));
    part = vtac_make2(m, VTAC_OP_SUB, part, int64_constant(im, (1 << 15) + (1 << 16)));
    const vtac_id inverse =
        on_curve(im, vtac_make_cast(m, vtac_make_clip(m, part, INT16_MIN, INT16_MAX), VTAC_I32),
                 curve_table(im, inverse_curve, 0.0, 1.0));
    const vtac_id right = vtac_make2(m, VTAC_OP_SUB, bits, vtac_make_number(m, VTAC_I32, 1.0));
    const vtac_id unit = power_of(im, right);
    const vtac_id half = vtac_make2(m, VTAC_OP_DIV, unit, int64_constant(im, 2));
    vtac_id y = vtac_make2(m, VTAC_OP_ADD, vtac_make2(m, VTAC_OP_MUL, e, inverse), half);
    y = vtac_make_clip(m, vtac_make2(m, VTAC_OP_DIV, y, unit), 0.0, INT16_MAX);
    return vtac_make_cast(m, y, VTAC_I16);
}

/* ---- softmax: beta */

void vtac_tflite_import_softmax(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    const float beta = vtac_tflite_option_float(im, 0, im->how != 0 ? 1.0F : 0.0F);
    const vtac_type type = vtac_tflite_type(im, 0);
    const int64_t last = (int64_t)type.rank - 1;
    const vtac_attr axis = vtac_attr_of_int("axis", last < 0 ? 0 : last);
    vtac_id x = vtac_tflite_plain(im, 0);
    if (vtac_tflite_is_float(in)) {
        if (beta != 1.0F) {
            x = vtac_make2(m, VTAC_OP_MUL, x, vtac_make_number(m, VTAC_F32, (double)beta));
        }
        vtac_tflite_set(im, 0, vtac_make(m, VTAC_OP_SOFTMAX, &x, 1, &axis, 1));
        return;
    }
    if (in->type.dtype == VTAC_I16 && out->type.dtype == VTAC_I16 && vtac_tflite_quantized(in) &&
        type.rank > 0) {
        vtac_tflite_set(im, 0, softmax_words(im, x, beta, last));
        return;
    }
    if (!vtac_tflite_quantized(in) || !vtac_tflite_quantized(out) || in->type.dtype == VTAC_I16 ||
        type.rank == 0) {
        vtac_make_refuse(&im->maker, "%s to %s", vtac_dtype_name(in->type.dtype),
                         vtac_dtype_name(out->type.dtype));
        return;
    }
    /* exp of the distance to the largest, from a steps; the sum, and its inverse in units of the output */
    enum { STEPS = 256 };
    float steps[STEPS];
    const float scale = -in->scale[0] * beta;
    for (int i = 0; i < STEPS; i++) {
        steps[i] = expf(scale * (float)i);
    }
    x = vtac_make_cast(m, x, VTAC_I32);
    const vtac_id max = vtac_make_reduce(m, VTAC_OP_REDUCE_MAX, x, &last, 1, true);
    const vtac_id e = vtac_tflite_look_up(im, vtac_make2(m, VTAC_OP_SUB, max, x), VTAC_F32, steps, STEPS, 0);
    const vtac_id sum = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, e, &last, 1, true);
    const vtac_id unit = vtac_make2(m, VTAC_OP_MUL, sum, vtac_tflite_scale_value(im, out));
    const vtac_id inverse = vtac_make2(m, VTAC_OP_DIV, vtac_make_number(m, VTAC_F32, 1.0), unit);
    vtac_id y = vtac_tflite_round(im, vtac_make2(m, VTAC_OP_MUL, e, inverse));
    if (out->type.dtype == VTAC_U8) { /* TensorFlow Lite takes no zero point into account here */
        y = vtac_make_cast(m, vtac_make_clip(m, y, 0.0, UINT8_MAX), VTAC_U8);
    } else {
        y = vtac_tflite_store(im, y, out, TFL_NONE);
    }
    vtac_tflite_set(im, 0, y);
}

/* a * b / 2^31, rounded to nearest, halves up; in int64. */
static vtac_id multiply_31(vtac_tflite *im, vtac_id a, vtac_id b)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id both = vtac_make2(m, VTAC_OP_MUL, a, b);
    const vtac_id below = vtac_make2(m, VTAC_OP_LESS, both, int64_constant(im, 0));
    const vtac_id nudge = vtac_make3(m, VTAC_OP_WHERE, below, int64_constant(im, 1 - (INT64_C(1) << 30)),
                                     int64_constant(im, INT64_C(1) << 30));
    return vtac_make2(m, VTAC_OP_DIV, vtac_make2(m, VTAC_OP_ADD, both, nudge),
                      int64_constant(im, INT64_C(1) << 31));
}

/* v * 2^bits, at most what 31 bits hold. */
static vtac_id lift_saturating(vtac_tflite *im, vtac_id v, int bits)
{
    const vtac_id y = vtac_make2(&im->maker, VTAC_OP_MUL, v, int64_constant(im, INT64_C(1) << bits));
    return vtac_make2(&im->maker, VTAC_OP_MIN, y, int64_constant(im, INT32_MAX));
}

/* The inverse root of a sum of squares, mantissa * 2^-(31 + right), with the errors that five of Newton's
 * steps from 1 have: numbers with three bits before the point. */
vtac_id vtac_tflite_inverse_root(vtac_tflite *im, vtac_id sum, vtac_id *right)
{
    vtac_import_builder *m = &im->maker;
    enum { PAIRS = 14, STEPS = 5 };
    const vtac_id small = vtac_make2(m, VTAC_OP_LESS, sum, int64_constant(im, 2));
    const vtac_id large = vtac_make2(m, VTAC_OP_GREATER_OR_EQUAL, sum, int64_constant(im, 1 << 29));
    vtac_id v = vtac_make2(m, VTAC_OP_MAX, sum, int64_constant(im, 2));
    v = vtac_make3(m, VTAC_OP_WHERE, large, vtac_make2(m, VTAC_OP_DIV, v, int64_constant(im, 4)), v);
    int64_t limits[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        limits[i] = INT64_C(1) << (27 - 2 * i);
    }
    const int64_t last[] = {(int64_t)vtac_made_type(m, sum).rank - 1};
    const vtac_id fits = vtac_make2(m, VTAC_OP_LESS, v, vtac_make_ints(m, limits, PAIRS));
    const vtac_id pairs =
        vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, vtac_make_cast(m, fits, VTAC_I32), last, 1, true);
    const vtac_id unit = power_of(im, vtac_make2(m, VTAC_OP_ADD, pairs, pairs));
    v = vtac_make2(m, VTAC_OP_DIV, vtac_make2(m, VTAC_OP_MUL, v, unit), int64_constant(im, 2));
    const vtac_id half = vtac_make2(m, VTAC_OP_DIV, vtac_make2(m, VTAC_OP_ADD, v, int64_constant(im, 1)),
                                    int64_constant(im, 2));
    vtac_id x = int64_constant(im, 1 << 28);
    for (int i = 0; i < STEPS; i++) {
        const vtac_id cube = lift_saturating(im, multiply_31(im, multiply_31(im, x, x), x), 6);
        const vtac_id much = multiply_31(im, int64_constant(im, (1 << 28) + (1 << 27)), x);
        x = lift_saturating(im, vtac_make2(m, VTAC_OP_SUB, much, multiply_31(im, half, cube)), 3);
    }
    x = multiply_31(im, x, int64_constant(im, 1518500250)); /* the root of 1/2 */
    const vtac_id by = vtac_make2(m, VTAC_OP_SUB, vtac_make_number(m, VTAC_I32, 11.0), pairs);
    vtac_id shift = vtac_make2(m, VTAC_OP_ADD, by, vtac_make_cast(m, large, VTAC_I32));
    const vtac_id none = vtac_make_number(m, VTAC_I32, 0.0);
    const vtac_id left = vtac_make2(m, VTAC_OP_MAX, vtac_make1(m, VTAC_OP_NEG, shift), none);
    x = vtac_make2(m, VTAC_OP_MUL, x, power_of(im, left));
    shift = vtac_make2(m, VTAC_OP_MAX, shift, none);
    *right = vtac_make3(m, VTAC_OP_WHERE, small, none, shift);
    return vtac_make3(m, VTAC_OP_WHERE, small, int64_constant(im, INT32_MAX), x);
}

vtac_id vtac_tflite_scaled_by(vtac_tflite *im, vtac_id x, vtac_id mantissa, vtac_id right)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id y = multiply_31(im, x, mantissa);
    const vtac_id unit = power_of(im, right);
    const vtac_id half = vtac_make2(m, VTAC_OP_DIV, unit, int64_constant(im, 2));
    const vtac_id away = vtac_make2(m, VTAC_OP_MUL, vtac_make1(m, VTAC_OP_SIGN, y), half);
    return vtac_make2(m, VTAC_OP_DIV, vtac_make2(m, VTAC_OP_ADD, y, away), unit);
}

/* In 32-bit steps. uint8: 128 x times the mantissa, then shifted; int8: 7 of the bits of the shift are undone
 * first, before the product where there are as many to the left. */
static void l2_norm_bytes(vtac_tflite *im, vtac_id x, int64_t last)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    if (!vtac_tflite_quantized(out) || in->type.dtype == VTAC_I16 || in->type.dtype != out->type.dtype ||
        last < 0) {
        vtac_make_refuse(&im->maker, "%s to %s", vtac_dtype_name(in->type.dtype),
                         vtac_dtype_name(out->type.dtype));
        return;
    }
    x = vtac_tflite_centred(im, x, in->zero[0]);
    const vtac_id squares = vtac_make_cast(m, vtac_make2(m, VTAC_OP_MUL, x, x), VTAC_I64);
    vtac_id right;
    const vtac_id mantissa = vtac_tflite_inverse_root(
        im, vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, squares, &last, 1, true), &right);
    const vtac_id none = vtac_make_number(m, VTAC_I32, 0.0);
    const vtac_id seven = vtac_make_number(m, VTAC_I32, 7.0);
    vtac_id left = seven;
    if (in->type.dtype == VTAC_I8) {
        const vtac_id rest = vtac_make2(m, VTAC_OP_SUB, seven, right);
        left = vtac_make2(m, VTAC_OP_MAX, rest, none);
        right = vtac_make2(m, VTAC_OP_MAX, vtac_make1(m, VTAC_OP_NEG, rest), none);
    }
    const vtac_id wide = vtac_make2(m, VTAC_OP_MUL, vtac_make_cast(m, x, VTAC_I64), power_of(im, left));
    const vtac_id y = vtac_make_cast(m, vtac_tflite_scaled_by(im, wide, mantissa, right), VTAC_I32);
    vtac_tflite_set(im, 0, vtac_tflite_store(im, y, out, TFL_NONE));
}

/* x / sqrt(sum of squares) along the last axis */
void vtac_tflite_import_l2_norm(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type type = vtac_tflite_type(im, 0);
    const int64_t last = (int64_t)type.rank - 1;
    vtac_id x = vtac_tflite_plain(im, 0);
    if (vtac_tflite_quantized(vtac_tflite_in(im, 0))) {
        l2_norm_bytes(im, x, last);
        return;
    }
    const vtac_id sum = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM_SQUARE, x, &last, 1, true);
    const vtac_id size = vtac_make1(m, VTAC_OP_SQRT, sum);
    const vtac_id safe = vtac_make2(m, VTAC_OP_MAX, size, vtac_make_number(m, VTAC_F32, 1e-6));
    x = vtac_make2(m, VTAC_OP_DIV, x, safe);
    vtac_tflite_set(
        im, 0, vtac_tflite_activate(im, x, vtac_tflite_out(im, 0), (int)vtac_tflite_option(im, 0, 1, 0)));
}

/* In float32, from a table of exp. */
static void log_softmax_bytes(vtac_tflite *im, vtac_id x)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    const vtac_type type = vtac_tflite_type(im, 0);
    const int64_t last = (int64_t)type.rank - 1;
    enum { STEPS = 256 };
    float steps[STEPS];
    if (!vtac_tflite_quantized(in) || !vtac_tflite_quantized(out) || in->type.dtype == VTAC_I16 ||
        type.rank == 0 || in->type.dtype != out->type.dtype) {
        vtac_make_refuse(&im->maker, "%s to %s", vtac_dtype_name(in->type.dtype),
                         vtac_dtype_name(out->type.dtype));
        return;
    }
    for (int i = 0; i < STEPS; i++) {
        steps[i] = expf(-in->scale[0] * (float)i);
    }
    x = vtac_make_cast(m, x, VTAC_I32);
    const vtac_id max = vtac_make_reduce(m, VTAC_OP_REDUCE_MAX, x, &last, 1, true);
    const vtac_id e = vtac_tflite_look_up(im, vtac_make2(m, VTAC_OP_SUB, max, x), VTAC_F32, steps, STEPS, 0);
    const vtac_id log =
        vtac_make1(m, VTAC_OP_LOG, vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, e, &last, 1, true));
    const vtac_id scale = vtac_tflite_scale_value(im, in);
    vtac_id away = vtac_make2(m, VTAC_OP_MUL, vtac_make_cast(m, max, VTAC_F32), scale);
    away =
        vtac_make2(m, VTAC_OP_DIV, vtac_make2(m, VTAC_OP_ADD, away, log), vtac_tflite_scale_value(im, out));
    const vtac_id ratio = vtac_make_number(m, VTAC_F32, (double)(in->scale[0] / out->scale[0]));
    vtac_id y = vtac_make2(m, VTAC_OP_MUL, vtac_make_cast(m, x, VTAC_F32), ratio);
    y = vtac_make1(m, VTAC_OP_ROUND, vtac_make2(m, VTAC_OP_SUB, y, away));
    vtac_tflite_set(im, 0, vtac_tflite_store(im, vtac_make_cast(m, y, VTAC_I32), out, TFL_NONE));
}

void vtac_tflite_import_log_softmax(vtac_tflite *im)
{
    const vtac_attr axis = vtac_attr_of_int("axis", -1);
    const vtac_id x = vtac_tflite_plain(im, 0);
    if (!vtac_tflite_is_float(vtac_tflite_in(im, 0))) {
        log_softmax_bytes(im, x);
        return;
    }
    vtac_tflite_set(im, 0, vtac_make(&im->maker, VTAC_OP_LOG_SOFTMAX, &x, 1, &axis, 1));
}
