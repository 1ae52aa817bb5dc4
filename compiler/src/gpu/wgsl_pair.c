/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations in WGSL whose operands or results are pairs of words: integers of 64 bits, and floats of double
 * precision, which the prelude computes with integers. Scalars alone.
 */
#include <inttypes.h>
#include <string.h>

#include "wgsl.h"

static void put_text(const vtac_wgsl *p, const char *text)
{
    vta_str_put(p->walk.out, text);
}

static void put_wide(vtac_wgsl *p, const vtac_expr *e)
{
    vtac_wgsl_put_spread(p, e, 1, VTAC_WGSL_WIDE);
}

/* "name(a, b)"; the operands of a float of double precision are such, those of an integer wide. */
static void put_call(vtac_wgsl *p, const char *name, const vtac_expr *e)
{
    vta_str_printf(p->walk.out, "%s(", name);
    for (int i = 0; i < vtac_expr_operands(e->op); i++) {
        put_text(p, i > 0 ? ", " : "");
        put_wide(p, e->in[i]);
    }
    put_text(p, ")");
}

/* ---- operations: on integers, those whose sign matters end with "_i" or "_u"; on doubles. */

static const struct {
    const char *wide, *real;
    bool by_sign;
} operations[VTAC_EXPR_OP_COUNT] = {
    [VTAC_E_NEG] = {"vtac_negate", "vtac_d_negate", false},
    [VTAC_E_NOT] = {"~", NULL, false},
    [VTAC_E_ABS] = {"vtac_abs", "vtac_d_abs", true},
    [VTAC_E_FLOOR] = {"", "vtac_d_floor", false},
    [VTAC_E_CEIL] = {"", "vtac_d_ceil", false},
    [VTAC_E_TRUNC] = {"", "vtac_d_trunc", false},
    [VTAC_E_ROUND] = {"", "vtac_d_round", false},
    [VTAC_E_SQRT] = {NULL, "vtac_d_sqrt", false},
    [VTAC_E_ADD] = {"vtac_add", "vtac_d_add", false},
    [VTAC_E_SUB] = {"vtac_sub", "vtac_d_sub", false},
    [VTAC_E_MUL] = {"vtac_mul", "vtac_d_mul", false},
    [VTAC_E_DIV] = {"vtac_div", "vtac_d_div", true},
    [VTAC_E_REM] = {"vtac_rem", NULL, true},
    [VTAC_E_MIN] = {"vtac_least", "vtac_d_min", true},
    [VTAC_E_MAX] = {"vtac_most", "vtac_d_max", true},
    [VTAC_E_AND] = {"vtac_and", NULL, false},
    [VTAC_E_OR] = {"vtac_or", NULL, false},
    [VTAC_E_XOR] = {"vtac_xor", NULL, false},
    [VTAC_E_SHL] = {"vtac_shl_wide", NULL, false},
    [VTAC_E_SHR] = {"vtac_shr_wide", NULL, true},
    [VTAC_E_FMA] = {"vtac_mul_add", "vtac_d_mul_add", false},
};

static void put_real_operation(vtac_wgsl *p, const vtac_expr *e)
{
    if (operations[e->op].real == NULL) {
        p->missing = "an elementary function in double precision";
        return;
    }
    put_call(p, operations[e->op].real, e);
}

static void put_wide_operation(vtac_wgsl *p, const vtac_expr *e)
{
    const bool narrows = vtac_wgsl_form_of(p, e) != VTAC_WGSL_WIDE;
    char name[32] = "";
    if (operations[e->op].wide == NULL) {
        p->missing = "an operation on 64 bits";
        return;
    }
    strncat(name, operations[e->op].wide, sizeof name - 3);
    if (operations[e->op].by_sign) {
        strncat(name, e->type == VTAC_I64 ? "_i" : "_u", sizeof name - strlen(name) - 1);
    }
    put_text(p, narrows ? "vtac_low(" : "");
    put_call(p, name, e);
    put_text(p, narrows ? ")" : "");
}

/* Orders of a NaN are false. */
static void put_compare(vtac_wgsl *p, const vtac_expr *e)
{
    static const struct {
        const char *integers, *reals;
        bool turned, negated;
    } rows[VTAC_EXPR_OP_COUNT] = {
        [VTAC_E_EQ] = {"vtac_equal", "vtac_d_equal", false, false},
        [VTAC_E_NE] = {"vtac_equal", "vtac_d_equal", false, true},
        [VTAC_E_LT] = {"vtac_less", "vtac_d_less", false, false},
        [VTAC_E_LE] = {"vtac_no_more", "vtac_d_no_more", false, false},
        [VTAC_E_GT] = {"vtac_less", "vtac_d_less", true, false},
        [VTAC_E_GE] = {"vtac_no_more", "vtac_d_no_more", true, false},
    };
    const bool real = e->in[0]->type == VTAC_F64;
    const bool equal = e->op == VTAC_E_EQ || e->op == VTAC_E_NE;
    const bool turned = rows[e->op].turned;
    vta_str_printf(p->walk.out, "%s%s%s(", rows[e->op].negated ? "!" : "",
                   real ? rows[e->op].reals : rows[e->op].integers,
                   real || equal                ? ""
                   : e->in[0]->type == VTAC_I64 ? "_i"
                                                : "_u");
    put_wide(p, e->in[turned ? 1 : 0]);
    put_text(p, ", ");
    put_wide(p, e->in[turned ? 0 : 1]);
    put_text(p, ")");
}

/* ---- casts */

static void put_to_real(vtac_wgsl *p, const vtac_expr *x)
{
    switch (vtac_wgsl_form_of(p, x)) {
    case VTAC_WGSL_FLOAT: put_text(p, "vtac_d_from_f("); break;
    case VTAC_WGSL_BOOL: put_text(p, "vtac_d_from_u(vtac_wide(i32("); break;
    case VTAC_WGSL_UINT: put_text(p, "vtac_d_from_u(vec2<u32>("); break;
    case VTAC_WGSL_INT: put_text(p, "vtac_d_from_i(vtac_wide("); break;
    case VTAC_WGSL_WIDE: put_text(p, x->type == VTAC_I64 ? "vtac_d_from_i(" : "vtac_d_from_u("); break;
    case VTAC_WGSL_DOUBLE: put_text(p, "("); break;
    }
    vtac_wgsl_put(p, x);
    switch (vtac_wgsl_form_of(p, x)) {
    case VTAC_WGSL_BOOL: put_text(p, ")))"); break;
    case VTAC_WGSL_UINT: put_text(p, ", 0u))"); break;
    case VTAC_WGSL_INT: put_text(p, "))"); break;
    case VTAC_WGSL_FLOAT:
    case VTAC_WGSL_WIDE:
    case VTAC_WGSL_DOUBLE: put_text(p, ")"); break;
    }
}

/* From a float, of whichever precision, with saturation. */
static void put_from_real(vtac_wgsl *p, const vtac_expr *e)
{
    const vtac_expr *x = e->in[0];
    const unsigned bits = 8 * (unsigned)vtac_dtype_bytes(e->type);
    const bool sign = vtac_dtype_kind(e->type) == 'i';
    if (vtac_dtype_kind(e->type) == 'f') {
        put_text(p, "vtac_d_to_f(");
    } else if (e->type == VTAC_BOOL) {
        put_text(p, "!vtac_d_equal(vec2<u32>(0u, 0u), ");
    } else if (bits == 64) {
        vta_str_printf(p->walk.out, "vtac_%sto_%s(", x->type == VTAC_F64 ? "d_" : "wide_", sign ? "i" : "u");
    } else {
        vta_str_printf(p->walk.out, "vtac_d_to_word_%s(%uu, ", sign ? "i" : "u", bits);
    }
    vtac_wgsl_put(p, x);
    put_text(p, ")");
}

/* From an integer to an integer of 64 bits. */
static void put_to_wide(vtac_wgsl *p, const vtac_expr *x)
{
    const bool lengthens = vtac_wgsl_form_of(p, x) == VTAC_WGSL_UINT;
    put_text(p, lengthens ? "vec2<u32>(" : "");
    if (lengthens) {
        vtac_wgsl_put(p, x);
    } else {
        put_wide(p, x);
    }
    put_text(p, lengthens ? ", 0u)" : "");
}

/* From an integer of 64 bits to a type of one word. */
static void put_from_wide(vtac_wgsl *p, const vtac_expr *e)
{
    const unsigned bits = 8 * (unsigned)vtac_dtype_bytes(e->type);
    const vtac_expr *x = e->in[0];
    if (e->type == VTAC_BOOL) {
        put_text(p, "!vtac_equal(vec2<u32>(0u, 0u), ");
    } else if (vtac_dtype_kind(e->type) == 'f') {
        put_text(p, x->type == VTAC_I64 ? "vtac_float_i(" : "vtac_float_u(");
    } else {
        vta_str_printf(p->walk.out, "vtac_part_%c(%uu, ",
                       vtac_wgsl_form_of(p, e) == VTAC_WGSL_UINT ? 'u' : 'i', bits < 32 ? bits : 32);
    }
    vtac_wgsl_put(p, x);
    put_text(p, ")");
}

/* Kernels of quantized layers scale their sums in double precision and round them by adding a number whose
 * last bit is 1. The prelude has each of these forms as one function: inlined operations on doubles would be
 * many. */
static const double rounder = 0x1.8p52;

static bool is_number(const vtac_expr *e, double value)
{
    return e->op == VTAC_E_FLOAT && e->f == value;
}

static bool is_word(const vtac_wgsl *p, const vtac_expr *e)
{
    return e->op == VTAC_E_CAST && vtac_dtype_kind(e->in[0]->type) == 'i' &&
           vtac_wgsl_form_of(p, e->in[0]) == VTAC_WGSL_INT;
}

/* "fma(f64(a), f64(b), rounder)", a a word and b an f32: rounded once. */
static const vtac_expr *find_sum(const vtac_wgsl *p, const vtac_expr *e)
{
    const bool found = e->op == VTAC_E_FMA && e->type == VTAC_F64 && is_word(p, e->in[0]) &&
                       e->in[1]->op == VTAC_E_CAST && e->in[1]->in[0]->type == VTAC_F32 &&
                       is_number(e->in[2], rounder);
    return found ? e : NULL;
}

/* "min(max(f64(a) * b, -2^30), 2^30) + rounder", a a word: the product is rounded, too. */
static const vtac_expr *find_product(const vtac_wgsl *p, const vtac_expr *e)
{
    if (e->op != VTAC_E_ADD || e->type != VTAC_F64 || !is_number(e->in[1], rounder)) {
        return NULL;
    }
    const vtac_expr *min = e->in[0];
    const vtac_expr *max = min->op == VTAC_E_MIN && is_number(min->in[1], 0x1p30) ? min->in[0] : NULL;
    const vtac_expr *product =
        max != NULL && max->op == VTAC_E_MAX && is_number(max->in[1], -0x1p30) ? max->in[0] : NULL;
    return product != NULL && product->op == VTAC_E_MUL && is_word(p, product->in[0]) ? product : NULL;
}

/* The sum whose lower word a cast takes: of its bits, or of what is left when the rounder is subtracted. */
static const vtac_expr *find_rounded(const vtac_expr *e)
{
    const vtac_expr *x = e->in[0];
    if (x->op == VTAC_E_BITS && x->type == VTAC_I64) {
        return e->type == VTAC_I32 ? x->in[0] : NULL;
    }
    return x->op == VTAC_E_SUB && x->type == VTAC_F64 && is_number(x->in[1], rounder) ? x->in[0] : NULL;
}

/* A pair, or those of all lanes as an array. */
static void put_pairs(vtac_wgsl *p, const vtac_expr *e, unsigned lanes)
{
    const int was = p->walk.at.lane;
    put_text(p, lanes > 1 ? "array<vec2<u32>, 4>(" : "(");
    for (unsigned i = 0; i < lanes; i++) {
        p->walk.at.lane = lanes > 1 ? (int)i : was;
        put_text(p, i > 0 ? ", " : "");
        vtac_wgsl_put(p, e);
    }
    p->walk.at.lane = was;
    put_text(p, ")");
}

bool vtac_wgsl_put_rounded(vtac_wgsl *p, const vtac_expr *e)
{
    const unsigned lanes = vtac_lanes_of(&p->walk.at, e);
    const vtac_expr *rounded =
        vtac_dtype_kind(e->type) == 'i' && vtac_dtype_bytes(e->type) >= 4 ? find_rounded(e) : NULL;
    const vtac_expr *sum = rounded != NULL && e->type == VTAC_I32 ? find_sum(p, rounded) : NULL;
    const vtac_expr *product = rounded != NULL ? find_product(p, rounded) : NULL;
    const vtac_expr *found = sum != NULL ? sum : product;
    const vtac_expr *scale = found != NULL ? found->in[1] : NULL;
    const bool is_float = scale != NULL && scale->op == VTAC_E_CAST && scale->in[0]->type == VTAC_F32;
    if (scale == NULL || (lanes > 1 && e->type == VTAC_I64)) {
        return false;
    }
    put_text(p, e->type == VTAC_I64 ? "vtac_wide(" : "(");
    vta_str_printf(p->walk.out, "%s%s(",
                   sum != NULL ? "vtac_scaled"
                   : is_float  ? "vtac_near_f"
                               : "vtac_near_d",
                   lanes > 1 ? "x4" : "");
    vtac_wgsl_put_spread(p, found->in[0]->in[0], lanes, VTAC_WGSL_INT);
    put_text(p, ", ");
    if (is_float) {
        vtac_wgsl_put_spread(p, scale->in[0], lanes, VTAC_WGSL_FLOAT);
    } else {
        put_pairs(p, scale, lanes);
    }
    put_text(p, "))");
    return true;
}

static void put_cast(vtac_wgsl *p, const vtac_expr *e)
{
    const vtac_wgsl_form from = vtac_wgsl_form_of(p, e->in[0]);
    if (e->type == VTAC_F64) {
        put_to_real(p, e->in[0]);
    } else if (from == VTAC_WGSL_DOUBLE || from == VTAC_WGSL_FLOAT) {
        put_from_real(p, e);
    } else if (vtac_wgsl_form_of(p, e) == VTAC_WGSL_WIDE) {
        put_to_wide(p, e->in[0]);
    } else {
        put_from_wide(p, e);
    }
}

void vtac_wgsl_put_pair(vtac_wgsl *p, const vtac_expr *e)
{
    if (e->op == VTAC_E_CAST) {
        put_cast(p, e);
    } else if (e->op == VTAC_E_BITS) {
        put_wide(p, e->in[0]);
    } else if (e->op >= VTAC_E_EQ && e->op <= VTAC_E_GE) {
        put_compare(p, e);
    } else if (e->type == VTAC_F64) {
        put_real_operation(p, e);
    } else {
        put_wide_operation(p, e);
    }
}
