/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators of two numbers, with NumPy's broadcasting.
 */
#include <math.h>
#include <string.h>

#include "operators.h"

/* True if an operand of this type broadcasts over planes of rank 4 once its channels are moved, too. */
static bool fits_planes(const vtac_type *type)
{
    return type->rank == 4 || type->rank == 1 || type->rank == 0;
}

/* Input i over planes: a vector is one number for each channel. */
static vtac_id over_planes(vtac_tflite *im, uint32_t i)
{
    const vtac_type type = vtac_tflite_type(im, i);
    if (type.rank == 4) {
        return vtac_tflite_planes(im, i);
    }
    return type.rank == 0
               ? vtac_tflite_plain(im, i)
               : vtac_make_reshape(&im->maker, vtac_tflite_plain(im, i), (int64_t[]){type.dim[0], 1, 1}, 3);
}

/* Both operands in the form of one of them; true: planes. */
static bool read_operands(vtac_tflite *im, vtac_id *a, vtac_id *b)
{
    const vtac_type types[] = {vtac_tflite_type(im, 0), vtac_tflite_type(im, 1)};
    const bool wanted = vtac_tflite_in_planes(im, 0) || vtac_tflite_in_planes(im, 1);
    const bool planes = wanted && fits_planes(&types[0]) && fits_planes(&types[1]) &&
                        (types[0].rank == 4 || types[1].rank == 4);
    *a = planes ? over_planes(im, 0) : vtac_tflite_plain(im, 0);
    *b = planes ? over_planes(im, 1) : vtac_tflite_plain(im, 1);
    return planes;
}

static bool all_quantized(vtac_tflite *im)
{
    return vtac_tflite_quantized(vtac_tflite_in(im, 0)) && vtac_tflite_quantized(vtac_tflite_in(im, 1)) &&
           vtac_tflite_quantized(vtac_tflite_out(im, 0)) &&
           vtac_tflite_in(im, 0)->type.dtype == vtac_tflite_in(im, 1)->type.dtype &&
           vtac_tflite_in(im, 0)->type.dtype == vtac_tflite_out(im, 0)->type.dtype;
}

static bool any_quantized(vtac_tflite *im)
{
    return vtac_tflite_quantized(vtac_tflite_in(im, 0)) || vtac_tflite_quantized(vtac_tflite_in(im, 1)) ||
           vtac_tflite_quantized(vtac_tflite_out(im, 0));
}

/* (a - za) * 2^left, scaled */
static vtac_id lift_operand(vtac_tflite *im, vtac_id x, const vtac_tflite_tensor *t, int left,
                            vtac_tfl_scale scale)
{
    vtac_import_builder *m = &im->maker;
    x = vtac_tflite_centred(im, x, t->zero[0]);
    x = vtac_make2(m, VTAC_OP_MUL, x, vtac_make_number(m, VTAC_I32, ldexp(1.0, left)));
    return vtac_tflite_rescale(im, x, scale, VTAC_ROUND_AWAY);
}

static vtac_id add_bytes(vtac_tflite *im, vtac_id a, vtac_id b)
{
    const vtac_tflite_tensor *t[] = {vtac_tflite_in(im, 0), vtac_tflite_in(im, 1), vtac_tflite_out(im, 0)};
    const vtac_attr attr = vtac_attr_of_string("rounding", vtac_rounding_name(VTAC_ROUND_AWAY));
    const vtac_id in[] = {a,
                          vtac_tflite_scale_value(im, t[0]),
                          vtac_tflite_zero_value(im, t[0]),
                          b,
                          vtac_tflite_scale_value(im, t[1]),
                          vtac_tflite_zero_value(im, t[1]),
                          vtac_tflite_scale_value(im, t[2]),
                          vtac_tflite_zero_value(im, t[2])};
    return vtac_make(&im->maker, im->how == VTAC_OP_MUL ? VTAC_OP_QLINEAR_MUL : VTAC_OP_QLINEAR_ADD, in, 8,
                     &attr, 1);
}

/* Powers of two and zero points of 0 alone: 16-bit additions without multipliers. */
static bool power_of_two(const vtac_tflite_tensor *t, int *log)
{
    const float mantissa = frexpf(t->scale[0], log);
    *log -= 1;
    return mantissa == 0.5F && t->zero[0] == 0;
}

static vtac_id add_by_shifts(vtac_tflite *im, vtac_id a, vtac_id b, const int *log)
{
    vtac_import_builder *m = &im->maker;
    a = vtac_make_cast(m, a, VTAC_I32);
    b = vtac_make_cast(m, b, VTAC_I32);
    a = log[0] == log[2] ? a : vtac_tflite_round_shift(im, a, log[2] - log[0]);
    b = log[1] == log[2] ? b : vtac_tflite_round_shift(im, b, log[2] - log[1]);
    return vtac_make2(m, im->how == VTAC_OP_SUB ? VTAC_OP_SUB : VTAC_OP_ADD, a, b);
}

/* ADD and SUB by fixed-point factors, in 16 bits or with a minus. */
static vtac_id add_words(vtac_tflite *im, vtac_id a, vtac_id b, bool shifts)
{
    enum { WORDS = 15, BYTES = 20 };
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *t[] = {vtac_tflite_in(im, 0), vtac_tflite_in(im, 1), vtac_tflite_out(im, 0)};
    int log[3];
    bool powers = shifts && t[0]->type.dtype == VTAC_I16;
    for (int i = 0; i < 3; i++) {
        powers = power_of_two(t[i], &log[i]) && powers;
    }
    const bool one_as_is = log[0] == log[2] || log[1] == log[2];
    if (powers && one_as_is && log[0] <= log[2] && log[1] <= log[2]) {
        return add_by_shifts(im, a, b, log);
    }
    const int left = t[0]->type.dtype == VTAC_I16 ? WORDS : BYTES;
    const vtac_tfl_sum s = vtac_tfl_sum_of(t[0]->scale[0], t[1]->scale[0], t[2]->scale[0], left);
    a = lift_operand(im, a, t[0], left, s.a);
    b = lift_operand(im, b, t[1], left, s.b);
    const vtac_id sum = vtac_make2(m, im->how == VTAC_OP_SUB ? VTAC_OP_SUB : VTAC_OP_ADD, a, b);
    return vtac_tflite_rescale(im, sum, s.y, VTAC_ROUND_AWAY);
}

/* Of integers that nothing scales, or floats. */
static vtac_id plain_numbers(vtac_tflite *im, vtac_id a, vtac_id b)
{
    return vtac_make2(&im->maker, (vtac_op)im->how, a, b);
}

static vtac_id mul_words(vtac_tflite *im, vtac_id a, vtac_id b)
{
    const vtac_tflite_tensor *t[] = {vtac_tflite_in(im, 0), vtac_tflite_in(im, 1), vtac_tflite_out(im, 0)};
    const vtac_id product = vtac_make2(&im->maker, VTAC_OP_MUL, vtac_tflite_centred(im, a, t[0]->zero[0]),
                                       vtac_tflite_centred(im, b, t[1]->zero[0]));
    const float real = t[0]->scale[0] * t[1]->scale[0] / t[2]->scale[0];
    return vtac_tflite_rescale(im, product, vtac_tfl_scale_of((double)real), VTAC_ROUND_AWAY);
}

/* ADD, SUB, MUL, DIV; options: activation, powers of two (16 bits) */
void vtac_tflite_import_arithmetic(vtac_tflite *im)
{
    vtac_id a;
    vtac_id b;
    const bool planes = read_operands(im, &a, &b);
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    const int activation = (int)vtac_tflite_option(im, 0, 1, 0);
    const bool words = im->maker.status == VTA_OK && vtac_tflite_in(im, 0)->type.dtype == VTAC_I16;
    vtac_id y = 0;
    if (im->maker.status != VTA_OK) {
        return;
    }
    if (!any_quantized(im)) {
        y = vtac_tflite_activate(im, plain_numbers(im, a, b), out, activation);
    } else if (im->how == VTAC_OP_DIV && all_quantized(im) && out->type.dtype == VTAC_U8) {
        y = vtac_tflite_divide_bytes(im, a, b, activation);
    } else if (!all_quantized(im) || im->how == VTAC_OP_DIV) {
        vtac_make_refuse(&im->maker, "%s and %s to %s", vtac_dtype_name(vtac_tflite_in(im, 0)->type.dtype),
                         vtac_dtype_name(vtac_tflite_in(im, 1)->type.dtype),
                         vtac_dtype_name(out->type.dtype));
    } else if (im->how == VTAC_OP_SUB || (im->how == VTAC_OP_ADD && words)) {
        y = vtac_tflite_store(im, add_words(im, a, b, vtac_tflite_option(im, 1, 1, 1) != 0), out, activation);
    } else if (words) {
        y = vtac_tflite_store(im, mul_words(im, a, b), out, activation);
    } else {
        y = vtac_tflite_activate(im, add_bytes(im, a, b), out, activation);
    }
    vtac_tflite_set_either(im, 0, y, planes);
}

/* MINIMUM, MAXIMUM: of integers as they are, whatever their scales: those of a file that a converter wrote
 * are the same */
void vtac_tflite_import_extreme(vtac_tflite *im)
{
    vtac_id a;
    vtac_id b;
    const bool planes = read_operands(im, &a, &b);
    vtac_tflite_set_either(im, 0, plain_numbers(im, a, b), planes);
}

/* Comparisons: of quantized numbers after a scaling by 2^8 into common units. */
void vtac_tflite_import_compare(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    enum { LEFT = 8 };
    vtac_id a;
    vtac_id b;
    const bool planes = read_operands(im, &a, &b);
    const vtac_tflite_tensor *t[] = {vtac_tflite_in(im, 0), vtac_tflite_in(im, 1)};
    if (m->status == VTA_OK && vtac_tflite_quantized(t[0]) && vtac_tflite_quantized(t[1])) {
        a = lift_operand(im, a, t[0], LEFT, vtac_tfl_scale_of((double)t[0]->scale[0]));
        b = lift_operand(im, b, t[1], LEFT, vtac_tfl_scale_of((double)t[1]->scale[0]));
    }
    vtac_id y = 0;
    if (im->how == VTAC_OP_NOT) { /* not equal */
        y = vtac_make1(m, VTAC_OP_NOT, vtac_make2(m, VTAC_OP_EQUAL, a, b));
    } else {
        y = plain_numbers(im, a, b);
    }
    vtac_tflite_set_either(im, 0, y, planes);
}

void vtac_tflite_import_binary(vtac_tflite *im)
{
    vtac_id a;
    vtac_id b;
    const bool planes = read_operands(im, &a, &b);
    if (im->maker.status == VTA_OK && any_quantized(im)) {
        vtac_make_refuse(&im->maker, "quantized integers");
        return;
    }
    vtac_tflite_set_either(im, 0, plain_numbers(im, a, b), planes);
}

/* (a - b)^2 in common units of twice the larger scale, 2^-7. */
static vtac_id squared_bytes(vtac_tflite *im, vtac_id a, vtac_id b)
{
    enum { LEFT = 7 };
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *t[] = {vtac_tflite_in(im, 0), vtac_tflite_in(im, 1), vtac_tflite_out(im, 0)};
    if (!all_quantized(im) || t[0]->type.dtype != VTAC_I8) {
        vtac_make_refuse(&im->maker, "%s and %s", vtac_dtype_name(t[0]->type.dtype),
                         vtac_dtype_name(t[1]->type.dtype));
        return 0;
    }
    const vtac_tfl_sum s = vtac_tfl_sum_of(t[0]->scale[0], t[1]->scale[0], t[2]->scale[0], LEFT);
    const double twice = 2.0 * (double)fmaxf(t[0]->scale[0], t[1]->scale[0]);
    const double real = twice * twice / ((double)(1 << (2 * LEFT)) * (double)t[2]->scale[0]);
    const vtac_id d = vtac_make2(m, VTAC_OP_SUB, lift_operand(im, a, t[0], LEFT, s.a),
                                 lift_operand(im, b, t[1], LEFT, s.b));
    const vtac_id y =
        vtac_tflite_rescale(im, vtac_make2(m, VTAC_OP_MUL, d, d), vtac_tfl_scale_of(real), VTAC_ROUND_AWAY);
    return vtac_tflite_store(im, y, t[2], TFL_NONE);
}

void vtac_tflite_import_squared_difference(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    vtac_id a;
    vtac_id b;
    const bool planes = read_operands(im, &a, &b);
    if (m->status == VTA_OK && any_quantized(im)) {
        vtac_tflite_set_either(im, 0, squared_bytes(im, a, b), planes);
        return;
    }
    const vtac_id d = vtac_make2(m, VTAC_OP_SUB, a, b);
    vtac_tflite_set_either(im, 0, vtac_make2(m, VTAC_OP_MUL, d, d), planes);
}

/* Division and its rest, rounded down. */
void vtac_tflite_import_floor_div(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    vtac_id a;
    vtac_id b;
    const bool planes = read_operands(im, &a, &b);
    const vtac_dtype dtype = vtac_tflite_out(im, 0)->type.dtype;
    if (m->status == VTA_OK && any_quantized(im)) {
        vtac_make_refuse(&im->maker, "quantized integers");
        return;
    }
    const vtac_dtype wide = dtype == VTAC_F32 ? VTAC_F32 : VTAC_F64;
    const vtac_id quotient =
        vtac_make2(m, VTAC_OP_DIV, vtac_make_cast(m, a, wide), vtac_make_cast(m, b, wide));
    vtac_id y = vtac_make_cast(m, vtac_make1(m, VTAC_OP_FLOOR, quotient), dtype);
    if (im->how == VTAC_OP_MOD) {
        y = vtac_make2(m, VTAC_OP_SUB, a, vtac_make2(m, VTAC_OP_MUL, y, b));
    }
    vtac_tflite_set_either(im, 0, y, planes);
}

/* PRELU: x, alpha */
void vtac_tflite_import_prelu(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    vtac_id x;
    vtac_id alpha;
    const bool planes = read_operands(im, &x, &alpha);
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    const vtac_tflite_tensor *slope = vtac_tflite_in(im, 1);
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    if (m->status != VTA_OK || !any_quantized(im)) {
        vtac_tflite_set_either(im, 0, vtac_make2(m, VTAC_OP_PRELU, x, alpha), planes);
        return;
    }
    if (!all_quantized(im)) {
        vtac_make_refuse(&im->maker, "%s and %s", vtac_dtype_name(in->type.dtype),
                         vtac_dtype_name(slope->type.dtype));
        return;
    }
    x = vtac_tflite_centred(im, x, in->zero[0]);
    const double one = (double)(in->scale[0] / out->scale[0]);
    const double two = (double)(in->scale[0] * slope->scale[0] / out->scale[0]);
    const vtac_id straight = vtac_tflite_rescale(im, x, vtac_tfl_scale_of(one), VTAC_ROUND_AWAY);
    const vtac_id product = vtac_make2(m, VTAC_OP_MUL, x, vtac_tflite_centred(im, alpha, slope->zero[0]));
    const vtac_id sloped = vtac_tflite_rescale(im, product, vtac_tfl_scale_of(two), VTAC_ROUND_AWAY);
    const vtac_id up = vtac_make2(m, VTAC_OP_GREATER_OR_EQUAL, x, vtac_make_number(m, VTAC_I32, 0.0));
    const vtac_id y = vtac_make3(m, VTAC_OP_WHERE, up, straight, sloped);
    vtac_tflite_set_either(im, 0, vtac_tflite_store(im, y, out, TFL_NONE), planes);
}

/* SELECT, SELECT_V2: condition, where true, where false */
void vtac_tflite_import_select(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    vtac_id condition = vtac_tflite_plain(im, 0);
    const vtac_type c = vtac_tflite_type(im, 0);
    const vtac_type x = vtac_tflite_type(im, 1);
    if (im->how == 0 && c.rank == 1 && x.rank > 1) { /* one condition for each place on axis 0 */
        int64_t dims[VTAC_MAX_RANK] = {c.dim[0], 1, 1, 1, 1, 1, 1, 1};
        condition = vtac_make_reshape(m, condition, dims, x.rank);
    }
    vtac_tflite_set(
        im, 0, vtac_make3(m, VTAC_OP_WHERE, condition, vtac_tflite_plain(im, 1), vtac_tflite_plain(im, 2)));
}

void vtac_tflite_import_add_n(vtac_tflite *im)
{
    vtac_id sum = vtac_tflite_plain(im, 0);
    for (uint32_t i = 1; i < im->op->input_count; i++) {
        sum = vtac_make2(&im->maker, VTAC_OP_ADD, sum, vtac_tflite_plain(im, i));
    }
    vtac_tflite_set(im, 0, sum);
}

/* RIGHT_SHIFT: copies of the sign come in; a shift below 0 is none, one beyond the last bit leaves the sign.
 */
void vtac_tflite_import_right_shift(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_dtype d = vtac_tflite_in(im, 0)->type.dtype;
    const int bits = (int)vtac_dtype_bytes(d) * 8;
    if (m->status != VTA_OK || bits > 32 || vtac_dtype_kind(d) == 'f') {
        vtac_make_refuse(&im->maker, "a shift of %s", vtac_dtype_name(d));
        return;
    }
    int64_t powers[32];
    for (int i = 0; i < bits; i++) {
        powers[i] = INT64_C(1) << i;
    }
    const vtac_id by =
        vtac_make_clip(m, vtac_make_cast(m, vtac_tflite_plain(im, 1), VTAC_I32), 0.0, bits - 1);
    const vtac_id power = vtac_make2(m, VTAC_OP_GATHER, vtac_make_ints(m, powers, (uint32_t)bits), by);
    const vtac_id x = vtac_make_cast(m, vtac_tflite_plain(im, 0), VTAC_I64);
    const vtac_id rest = vtac_make2(m, VTAC_OP_MOD, x, power); /* as the divisor's sign: 0 or more */
    const vtac_id y = vtac_make2(m, VTAC_OP_DIV, vtac_make2(m, VTAC_OP_SUB, x, rest), power);
    vtac_tflite_set(im, 0, vtac_make_cast(m, y, d));
}
