/* SPDX-License-Identifier: Apache-2.0
 *
 * Pointwise operators on quantized numbers, by the arithmetic of vtac/quant.h.
 */
#include <math.h>
#include <string.h>

#include "point.h"
#include "vtac/quant.h"

#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)

static const vtac_type *type_in(const vtac_lower *l, const vtac_node *n, uint32_t i)
{
    return vtac_in_type(l->graph, n, i);
}

static vtac_dtype dtype_out(const vtac_lower *l, const vtac_node *n)
{
    return l->graph->values[n->outputs[0]].type.dtype;
}

static uint32_t axis_of(const vtac_lower *l, const vtac_node *n)
{
    const int64_t rank = l->graph->values[n->inputs[0]].type.rank;
    const int64_t axis = vtac_attr_int(n, "axis", 1);
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}

/* Scale or zero point (input i) of element `at`: one, one for each place along an axis, or one for each block
 * of it; NULL where there is none. */
static const vtac_expr *load_parameter(vtac_lower *l, const vtac_node *n, uint32_t i,
                                       const vtac_expr *const *at)
{
    const vtac_type *type = type_in(l, n, i);
    const int64_t block = vtac_attr_int(n, "block_size", 0);
    const uint32_t axis = axis_of(l, n);
    if (type == NULL) {
        return NULL;
    }
    if (block == 0 || vtac_type_elements(type) == 1) {
        return vtac_axis_arg(l, n, i, axis, at);
    }
    const vtac_expr *place[VTAC_MAX_RANK];
    memcpy(place, at, type->rank * sizeof(vtac_expr *));
    place[axis] = vtac_i_divc(l->k, at[axis], block);
    return vtac_arg(l, n, i, place);
}

/* x / scale as IEEE rounds it, but for subnormal ones. Where vectors have no division, by the reciprocal in
 * double: no quotient of two floats is nearer than 2^-49 of itself to the middle between two floats, and two
 * roundings to double change it by less. */
static const vtac_expr *exact_quotient(vtac_lower *l, const vtac_expr *x, float scale)
{
    if (l->program->target->has_division) {
        return E2(DIV, x, vtac_e_float(l->k, VTAC_F32, (double)scale));
    }
    const vtac_expr *factor = vtac_e_float(l->k, VTAC_F64, 1.0 / (double)scale);
    return vtac_e_cast(l->k, VTAC_F32, E2(MUL, vtac_e_cast(l->k, VTAC_F64, x), factor));
}

/* round(x / scale) + zero of known numbers, saturated; NaN gives 0. Bounded first, it leaves its value in the
 * lowest bits of the sum with 1.5 * 2^23, rounded to nearest even. */
static const vtac_expr *quantize_number(vtac_lower *l, const vtac_expr *x, float scale, int64_t zero,
                                        vtac_dtype dtype)
{
    double low;
    double high;
    vtac_range_of(dtype, &low, &high);
    const vtac_expr *v = vtac_let(l->k, "v", exact_quotient(l, x, scale));
    v = vtac_e3(l->k, VTAC_E_SELECT, E2(EQ, v, v), v, vtac_e_float(l->k, VTAC_F32, -(double)zero));
    v = E2(MAX, vtac_e_float(l->k, VTAC_F32, low - (double)zero), v);
    v = E2(MIN, vtac_e_float(l->k, VTAC_F32, high - (double)zero), v);
    v = vtac_e_bits(l->k, VTAC_I32, E2(ADD, v, vtac_e_float(l->k, VTAC_F32, 12582912.0)));
    return E2(ADD, vtac_e_cast(l->k, dtype, v), vtac_e_int(l->k, dtype, zero));
}

/* The one number that input i is, if it is known. */
static const vtac_tensor *known_number(const vtac_lower *l, const vtac_node *n, uint32_t i)
{
    const vtac_tensor *known = vtac_in_constant(l->graph, n, i);
    return known != NULL && vtac_type_elements(type_in(l, n, i)) == 1 ? known : NULL;
}

const vtac_expr *vtac_quantized_number(vtac_lower *l, const vtac_node *n, const vtac_expr *x)
{
    const vtac_tensor *shift = known_number(l, n, VTAC_QDQ_ZERO);
    return quantize_number(l, x, (float)vtac_tensor_float(known_number(l, n, VTAC_QDQ_SCALE), 0),
                           shift == NULL ? 0 : vtac_tensor_int(shift, 0), dtype_out(l, n));
}

static bool has_known_scale(const vtac_lower *l, const vtac_node *n)
{
    return type_in(l, n, VTAC_QDQ_SCALE)->dtype == VTAC_F32 && known_number(l, n, VTAC_QDQ_SCALE) != NULL;
}

bool vtac_quantizes_by_numbers(const vtac_lower *l, const vtac_node *n)
{
    const bool is_byte = dtype_out(l, n) == VTAC_I8 || dtype_out(l, n) == VTAC_U8;
    return n->op == VTAC_OP_QUANTIZE_LINEAR && is_byte && has_known_scale(l, n) &&
           (type_in(l, n, VTAC_QDQ_ZERO) == NULL || known_number(l, n, VTAC_QDQ_ZERO) != NULL);
}

const vtac_expr *vtac_point_quantize(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_expr *x = vtac_to_float(l, vtac_arg(l, n, VTAC_QDQ_X, at));
    const bool is_float = x != NULL && x->type == VTAC_F32;
    if (is_float && vtac_quantizes_by_numbers(l, n)) {
        return vtac_quantized_number(l, n, x);
    }
    const vtac_expr *scale =
        vtac_from_narrow(l, type_in(l, n, VTAC_QDQ_SCALE)->dtype, load_parameter(l, n, VTAC_QDQ_SCALE, at));
    const vtac_expr *zero = load_parameter(l, n, VTAC_QDQ_ZERO, at);
    scale = vtac_e_cast(l->k, x == NULL ? VTAC_F32 : x->type, scale);
    if (vtac_dtype_kind(dtype_out(l, n)) == 'n' && !vtac_dtype_is_narrow_int(dtype_out(l, n))) {
        return vtac_to_narrow(l, n, dtype_out(l, n), E2(DIV, x, scale)); /* its zero point is 0 */
    }
    if (is_float && has_known_scale(l, n)) {
        x = exact_quotient(l, x, (float)vtac_tensor_float(known_number(l, n, VTAC_QDQ_SCALE), 0));
        scale = NULL;
    }
    return vtac_requantize(l, x, scale, zero, dtype_out(l, n));
}

/* (x - zero) * scale, in int32 up to the multiplication. */
const vtac_expr *vtac_point_dequantize(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_dtype from = type_in(l, n, VTAC_QDQ_X)->dtype;
    const vtac_expr *x = vtac_from_narrow(l, from, vtac_arg(l, n, VTAC_QDQ_X, at));
    const vtac_expr *scale =
        vtac_from_narrow(l, type_in(l, n, VTAC_QDQ_SCALE)->dtype, load_parameter(l, n, VTAC_QDQ_SCALE, at));
    if (x == NULL || vtac_dtype_kind(x->type) != 'f') { /* floats have the zero point 0 */
        const vtac_expr *zero = load_parameter(l, n, VTAC_QDQ_ZERO, at);
        x = vtac_e_cast(l->k, VTAC_I32, x);
        x = zero == NULL ? x : E2(SUB, x, vtac_e_cast(l->k, VTAC_I32, zero));
    }
    const vtac_dtype type = scale == NULL ? VTAC_F32 : scale->type;
    return vtac_e_cast(l->k, vtac_compute_type(dtype_out(l, n)), E2(MUL, vtac_e_cast(l->k, type, x), scale));
}

/* ---- operators of com.microsoft: an input is x, scale, zero (at i, i + 1, i + 2), one number each */

/* The constant that input i is; false where only the run knows. */
static bool known_scale(const vtac_lower *l, const vtac_node *n, uint32_t i, float *out)
{
    const vtac_tensor *known = vtac_in_constant(l->graph, n, i);
    *out = known == NULL ? 0.0F : (float)vtac_tensor_float(known, 0);
    return known != NULL;
}

static const vtac_expr *scale_at(vtac_lower *l, const vtac_node *n, uint32_t i, const vtac_expr *const *at)
{
    float known;
    return known_scale(l, n, i, &known) ? vtac_e_float(l->k, VTAC_F32, (double)known)
                                        : vtac_axis_arg(l, n, i, 0, at);
}

/* x - zero, in int32 */
static const vtac_expr *load_whole(vtac_lower *l, const vtac_node *n, uint32_t i, const vtac_expr *const *at)
{
    return vtac_centred(l, n, vtac_arg(l, n, i, at), i + 2);
}

static const vtac_expr *load_real(vtac_lower *l, const vtac_node *n, uint32_t i, const vtac_expr *const *at)
{
    return E2(MUL, vtac_e_cast(l->k, VTAC_F32, load_whole(l, n, i, at)), scale_at(l, n, i + 1, at));
}

static const vtac_expr *zero_at(vtac_lower *l, const vtac_node *n, uint32_t i, const vtac_expr *const *at)
{
    return type_in(l, n, i) == NULL ? NULL : vtac_axis_arg(l, n, i, 0, at);
}

/* round_half_even(v * 2^-shift) + zero, saturated, in int32: a sum of factors below 2^23 has room for half of
 * 2^shift. */
static const vtac_expr *shift_and_round(vtac_lower *l, const vtac_node *n, const vtac_expr *v, uint32_t shift)
{
    double low;
    double high;
    vtac_range_of(dtype_out(l, n), &low, &high);
    const vtac_expr *by = vtac_e_int(l->k, VTAC_I32, shift);
    v = vtac_let(l->k, "sum", v);
    const vtac_expr *odd = E2(AND, E2(SHR, v, by), vtac_e_int(l->k, VTAC_I32, 1));
    const vtac_expr *half = vtac_e_int(l->k, VTAC_I32, (INT64_C(1) << (shift - 1)) - 1);
    v = E2(SHR, E2(ADD, E2(ADD, v, half), odd), by);
    v = vtac_plus_zero(l, n, v, 7);
    v = E2(MAX, v, vtac_e_int(l->k, VTAC_I32, (int64_t)low));
    v = E2(MIN, v, vtac_e_int(l->k, VTAC_I32, (int64_t)high));
    return vtac_e_cast(l->k, dtype_out(l, n), v);
}

/* Scales that only the run knows are added in double. */
static const vtac_expr *sum_of_unknown(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_expr *out = vtac_e_cast(l->k, VTAC_F64, scale_at(l, n, VTAC_QLINEAR_PAIR_Y_SCALE, at));
    const vtac_expr *v = vtac_e_float(l->k, VTAC_F64, 0.0);
    for (uint32_t i = 0; i < 6; i += 3) {
        const vtac_expr *factor = E2(DIV, vtac_e_cast(l->k, VTAC_F64, scale_at(l, n, i + 1, at)), out);
        v = E2(ADD, v, E2(MUL, vtac_e_cast(l->k, VTAC_F64, load_whole(l, n, i, at)), factor));
    }
    return vtac_rescale(l, v, vtac_e_float(l->k, VTAC_F64, 1.0), false,
                        zero_at(l, n, VTAC_QLINEAR_PAIR_Y_ZERO, at), dtype_out(l, n));
}

/* A sum by the common fixed-point factors. */
static const vtac_expr *lower_sum(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    enum { MAX_SHIFT = 23 };
    float a;
    float b;
    float y;
    vtac_fixed_sum fixed;
    if (!known_scale(l, n, VTAC_QLINEAR_PAIR_A_SCALE, &a) ||
        !known_scale(l, n, VTAC_QLINEAR_PAIR_B_SCALE, &b) ||
        !known_scale(l, n, VTAC_QLINEAR_PAIR_Y_SCALE, &y)) {
        return sum_of_unknown(l, n, at);
    }
    if (vtac_rounding_of(n) != VTAC_ROUND_EVEN) {
        enum { LEFT = 20 };
        const vtac_tfl_sum f = vtac_tfl_sum_of(a, b, y, LEFT);
        const vtac_expr *left = vtac_e_int(l->k, VTAC_I32, LEFT);
        const vtac_expr *first =
            vtac_let(l->k, "a", E2(SHL, load_whole(l, n, VTAC_QLINEAR_PAIR_A, at), left));
        const vtac_expr *second =
            vtac_let(l->k, "b", E2(SHL, load_whole(l, n, VTAC_QLINEAR_PAIR_B, at), left));
        first = vtac_tfl_scaled(l, first, vtac_tfl_constant(l, f.a), VTAC_ROUND_AWAY);
        second = vtac_tfl_scaled(l, second, vtac_tfl_constant(l, f.b), VTAC_ROUND_AWAY);
        const vtac_expr *both = vtac_let(l->k, "both", E2(ADD, first, second));
        return vtac_tfl_stored(l, vtac_tfl_scaled(l, both, vtac_tfl_constant(l, f.y), VTAC_ROUND_AWAY),
                               zero_at(l, n, VTAC_QLINEAR_PAIR_Y_ZERO, at), dtype_out(l, n));
    }
    if (!vtac_fixed_sum_of(a, b, y, &fixed)) {
        (void)vta_fail(l->diag, VTA_INVALID, "a scale is not positive and finite");
        return NULL;
    }
    const vtac_expr *v =
        E2(MUL, load_whole(l, n, VTAC_QLINEAR_PAIR_A, at), vtac_e_int(l->k, VTAC_I32, fixed.a));
    v = E2(ADD, v, E2(MUL, load_whole(l, n, VTAC_QLINEAR_PAIR_B, at), vtac_e_int(l->k, VTAC_I32, fixed.b)));
    if (fixed.shift > 0 && fixed.shift <= MAX_SHIFT) {
        return shift_and_round(l, n, v, fixed.shift);
    }
    const vtac_expr *scale = vtac_e_float(l->k, VTAC_F64, ldexp(1.0, -(int)fixed.shift));
    return vtac_rescale(l, v, scale, false, zero_at(l, n, VTAC_QLINEAR_PAIR_Y_ZERO, at), dtype_out(l, n));
}

const vtac_expr *vtac_point_qlinear_binary(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    if (n->op == VTAC_OP_QLINEAR_ADD) {
        return lower_sum(l, n, at);
    }
    const vtac_expr *v =
        E2(MUL, load_whole(l, n, VTAC_QLINEAR_PAIR_A, at), load_whole(l, n, VTAC_QLINEAR_PAIR_B, at));
    float a;
    float b;
    float y;
    const vtac_expr *scale;
    const bool known = known_scale(l, n, VTAC_QLINEAR_PAIR_A_SCALE, &a) &&
                       known_scale(l, n, VTAC_QLINEAR_PAIR_B_SCALE, &b) &&
                       known_scale(l, n, VTAC_QLINEAR_PAIR_Y_SCALE, &y);
    if (known && vtac_rounding_of(n) != VTAC_ROUND_EVEN) {
        const vtac_tfl_scale factor = vtac_tfl_scale_of((double)(a * b / y));
        v = vtac_tfl_scaled(l, vtac_let(l->k, "product", v), vtac_tfl_constant(l, factor), VTAC_ROUND_AWAY);
        return vtac_tfl_stored(l, v, zero_at(l, n, VTAC_QLINEAR_PAIR_Y_ZERO, at), dtype_out(l, n));
    }
    if (known) {
        scale = vtac_e_float(l->k, VTAC_F32, (double)vtac_scale_product(a, b, y));
    } else {
        scale = E2(DIV,
                   E2(MUL, scale_at(l, n, VTAC_QLINEAR_PAIR_A_SCALE, at),
                      scale_at(l, n, VTAC_QLINEAR_PAIR_B_SCALE, at)),
                   scale_at(l, n, VTAC_QLINEAR_PAIR_Y_SCALE, at));
    }
    return vtac_rescale_to(l, n, v, scale, 7);
}

/* x, x_scale, x_zero, y_scale, y_zero: the function in float32 */
const vtac_expr *vtac_point_qlinear_unary(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const bool leaky = n->op == VTAC_OP_QLINEAR_LEAKY_RELU;
    vtac_node plain = *n; /* its attributes, under the name of the function */
    plain.op = leaky ? VTAC_OP_LEAKY_RELU : VTAC_OP_SIGMOID;
    const vtac_expr *y = vtac_unary(l, &plain, vtac_let(l->k, "x", load_real(l, n, VTAC_QLINEAR_X, at)));
    return vtac_requantize(l, y, scale_at(l, n, VTAC_QLINEAR_Y_SCALE, at),
                           zero_at(l, n, VTAC_QLINEAR_Y_ZERO, at), dtype_out(l, n));
}
