/* SPDX-License-Identifier: Apache-2.0
 *
 * Cast, and the narrow types: one of their bytes is turned into a float32 by a table, a float32 into a byte
 * by arithmetic on its bits.
 */
#include <math.h>
#include <string.h>

#include "point.h"

#define E2(op, a, b)    vtac_e2(l->k, VTAC_E_##op, a, b)
#define SELECT(c, a, b) vtac_e3(l->k, VTAC_E_SELECT, c, a, b)

static const vtac_expr *whole_number(vtac_lower *l, int64_t value)
{
    return vtac_e_int(l->k, VTAC_I32, value);
}

const vtac_expr *vtac_from_narrow(vtac_lower *l, vtac_dtype dtype, const vtac_expr *x)
{
    enum { CODES = 256 };
    if (vtac_dtype_kind(dtype) != 'n' || vtac_dtype_is_narrow_int(dtype)) {
        return x;
    }
    float *table = vta_arena_array(&l->program->arena, CODES, sizeof *table);
    for (int i = 0; table != NULL && i < CODES; i++) {
        table[i] = (float)vtac_narrow_value(dtype, (uint8_t)i);
    }
    const vtac_storage_id storage = table == NULL ? 0 : vtac_constant(l, table, CODES * sizeof *table);
    return vtac_e_load(l->k, vtac_use(l, storage, "decode", VTAC_F32, CODES), vtac_e_cast(l->k, VTAC_I64, x));
}

/* The magnitude of `bits` rounded to `f`'s mantissa, ties to even, with its exponent moved; below the
 * smallest exponent, as a whole number of the smallest step. */
static const vtac_expr *magnitude_code(vtac_lower *l, const vtac_minifloat *f, const vtac_expr *bits)
{
    const int drop = 23 - f->mantissa;
    const vtac_expr *odd = E2(AND, E2(SHR, bits, whole_number(l, drop)), whole_number(l, 1));
    const vtac_expr *near = E2(ADD, E2(ADD, bits, odd), whole_number(l, (1 << (drop - 1)) - 1));
    const vtac_expr *normal = E2(SUB, E2(SHR, near, whole_number(l, drop)),
                                 whole_number(l, (int64_t)(127 - f->bias) << f->mantissa));
    const vtac_expr *step = vtac_e_float(l->k, VTAC_F32, ldexp(1.0, f->bias - 1 + f->mantissa));
    const vtac_expr *scaled = E2(MUL, vtac_e_bits(l->k, VTAC_F32, bits), step);
    const vtac_expr *small = vtac_e_cast(l->k, VTAC_I32, vtac_e1(l->k, VTAC_E_ROUND, scaled));
    return SELECT(E2(LT, bits, whole_number(l, (int64_t)(128 - f->bias) << 23)), small, normal);
}

static const vtac_expr *to_minifloat(vtac_lower *l, const vtac_minifloat *f, const vtac_expr *x,
                                     bool saturate)
{
    const vtac_expr *all = vtac_let(l->k, "bits", vtac_e_bits(l->k, VTAC_I32, x));
    const vtac_expr *bits = vtac_let(l->k, "size", E2(AND, all, whole_number(l, 0x7fffffff)));
    const vtac_expr *code = vtac_let(l->k, "code", magnitude_code(l, f, bits));
    const vtac_expr *infinity = whole_number(l, 0x7f800000);
    const vtac_expr *over = E2(OR, E2(GE, bits, infinity), E2(GT, code, whole_number(l, f->max)));
    const uint8_t beyond = saturate ? f->max : f->over;
    code = SELECT(over, whole_number(l, beyond), code);
    const vtac_expr *sign =
        SELECT(E2(LT, all, whole_number(l, 0)), whole_number(l, f->sign), whole_number(l, 0));
    if (!f->has_negative_zero) { /* zero and what is no number have none */
        code = vtac_let(l->k, "code", code);
        const vtac_expr *none = E2(EQ, code, whole_number(l, 0));
        none = beyond == f->nan ? E2(OR, none, over) : none;
        sign = SELECT(none, whole_number(l, 0), sign);
    }
    const vtac_expr *nan = whole_number(l, f->nan);
    nan = f->has_negative_zero && f->over != f->max ? E2(OR, nan, sign) : nan;
    code = SELECT(E2(GT, bits, infinity), nan, E2(OR, code, sign));
    return vtac_e_cast(l->k, VTAC_U8, code);
}

/* The exponent, one more where a mantissa is to be rounded up: always, never, or to the nearest power. */
static const vtac_expr *to_power(vtac_lower *l, const vtac_node *n, const vtac_expr *x, bool saturate)
{
    const char *mode = vtac_attr_string(n, "round_mode", "up");
    const vtac_expr *bits =
        vtac_let(l->k, "bits", E2(AND, vtac_e_bits(l->k, VTAC_I32, x), whole_number(l, 0x7fffffff)));
    const vtac_expr *exponent = vtac_let(l->k, "exponent", E2(SHR, bits, whole_number(l, 23)));
    const vtac_expr *rest = vtac_let(l->k, "rest", E2(AND, bits, whole_number(l, 0x7fffff)));
    const vtac_expr *up = E2(GT, rest, whole_number(l, 0));
    if (mode[0] == 'd') {
        up = vtac_e_int(l->k, VTAC_BOOL, 0);
    } else if (mode[0] == 'n') { /* half way: up from any power but the smallest */
        const vtac_expr *tie =
            E2(AND, E2(EQ, rest, whole_number(l, 0x400000)), E2(GT, exponent, whole_number(l, 0)));
        up = E2(OR, E2(GT, rest, whole_number(l, 0x400000)), tie);
    }
    const vtac_expr *code = E2(ADD, exponent, vtac_e_cast(l->k, VTAC_I32, up));
    code = saturate ? E2(MIN, code, whole_number(l, 0xfe)) : code;
    return vtac_e_cast(l->k, VTAC_U8,
                       SELECT(E2(EQ, exponent, whole_number(l, 0xff)), whole_number(l, 0xff), code));
}

/* Floats lose their fraction; what stays keeps its lowest bits. */
static const vtac_expr *to_narrow_int(vtac_lower *l, vtac_dtype dtype, const vtac_expr *x)
{
    const int bits = vtac_dtype_bits(dtype);
    const bool is_signed = vtac_dtype_held(dtype) == VTAC_I8;
    const vtac_expr *v = vtac_e_cast(l->k, VTAC_I32, x);
    if (is_signed) {
        v = E2(SHR, E2(SHL, v, whole_number(l, 32 - bits)), whole_number(l, 32 - bits));
    } else {
        v = E2(AND, v, whole_number(l, (1 << bits) - 1));
    }
    return vtac_e_cast(l->k, vtac_dtype_held(dtype), v);
}

const vtac_expr *vtac_to_narrow(vtac_lower *l, const vtac_node *n, vtac_dtype dtype, const vtac_expr *x)
{
    const vtac_minifloat *f = vtac_minifloat_of(dtype);
    const bool saturate = vtac_attr_int(n, "saturate", 1) != 0;
    if (vtac_dtype_is_narrow_int(dtype)) {
        return to_narrow_int(l, dtype, x);
    }
    x = vtac_let(l->k, "x", vtac_e_cast(l->k, VTAC_F32, x));
    return f != NULL ? to_minifloat(l, f, x, saturate) : to_power(l, n, x, saturate);
}

const vtac_expr *vtac_point_cast(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_dtype to = l->graph->values[n->outputs[0]].type.dtype;
    const vtac_dtype from = l->graph->values[n->inputs[VTAC_CAST_LIKE_X]].type.dtype;
    const vtac_expr *x = vtac_arg(l, n, VTAC_CAST_LIKE_X, at);
    if (from == to) {
        return x;
    }
    x = vtac_from_narrow(l, from, x);
    if (vtac_dtype_kind(to) == 'n') {
        return vtac_to_narrow(l, n, to, x);
    }
    const bool narrow = x != NULL && vtac_dtype_kind(x->type) == 'f' && vtac_dtype_kind(to) != 'f' &&
                        vtac_dtype_bytes(to) < 4 && to != VTAC_BOOL;
    /* to a narrow integer by way of a wide one: out-of-range values wrap, as they do in C on common machines
     */
    return vtac_e_cast(l->k, to, narrow ? vtac_e_cast(l->k, VTAC_I32, x) : x);
}
