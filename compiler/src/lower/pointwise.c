/* SPDX-License-Identifier: Apache-2.0
 *
 * What pointwise operators compute. Functions that loop nests do not have are composed here, of exp, log and
 * their kin in double, rounded once; Gelu on f32, which networks have in their inner loops, in f32.
 */
#include <math.h>

#include "point.h"

static const vtac_expr *number_like(const vtac_lower *l, const vtac_expr *like, double value)
{
    return vtac_e_float(l->k, like == NULL ? VTAC_F32 : like->type, value);
}

#define BINARY(name, op)                                                                                     \
    static const vtac_expr *name(const vtac_lower *l, const vtac_expr *a, const vtac_expr *b)                \
    {                                                                                                        \
        return vtac_e2(l->k, VTAC_E_##op, a, b);                                                             \
    }
BINARY(add, ADD)
BINARY(sub, SUB)
BINARY(mul, MUL)
BINARY(quotient, DIV)
BINARY(maximum, MAX)
BINARY(minimum, MIN)
BINARY(less, LT)
BINARY(greater, GT)

static const vtac_expr *call(const vtac_lower *l, vtac_expr_op op, const vtac_expr *x)
{
    return vtac_e1(l->k, op, x);
}

static const vtac_expr *select_value(const vtac_lower *l, const vtac_expr *c, const vtac_expr *a,
                                     const vtac_expr *b)
{
    return vtac_e3(l->k, VTAC_E_SELECT, c, a, b);
}

static const vtac_expr *bind_value(const vtac_lower *l, const vtac_expr *x)
{
    return vtac_let(l->k, "t", x);
}

/* ---- functions of one number, in double */

typedef const vtac_expr *wide_fn(const vtac_lower *l, const vtac_expr *x);

/* (e + e / (e + 1)) / 2 with e = exp(|x|) - 1; where e may be infinite, the quotient as 1 - 1 / (e + 1) */
static const vtac_expr *wide_sinh(const vtac_lower *l, const vtac_expr *x)
{
    const vtac_expr *one = number_like(l, x, 1.0);
    const vtac_expr *a = bind_value(l, call(l, VTAC_E_ABS, x));
    const vtac_expr *e = bind_value(l, call(l, VTAC_E_EXPM1, a));
    const vtac_expr *small = quotient(l, e, add(l, e, one));
    const vtac_expr *large = sub(l, one, quotient(l, one, add(l, e, one)));
    const vtac_expr *y = bind_value(
        l, mul(l, number_like(l, x, 0.5), add(l, e, select_value(l, less(l, a, one), small, large))));
    return select_value(l, less(l, x, number_like(l, x, 0.0)), call(l, VTAC_E_NEG, y), y);
}

static const vtac_expr *wide_cosh(const vtac_lower *l, const vtac_expr *x)
{
    const vtac_expr *e = bind_value(l, call(l, VTAC_E_EXP, x));
    return mul(l, number_like(l, x, 0.5), add(l, e, quotient(l, number_like(l, x, 1.0), e)));
}

static const vtac_expr *wide_tan(const vtac_lower *l, const vtac_expr *x)
{
    return quotient(l, call(l, VTAC_E_SIN, x), call(l, VTAC_E_COS, x));
}

/* log1p(a + a² / (1 + sqrt(1 + a²))); where a² is more than a double holds, log(a) + log(2) */
static const vtac_expr *wide_asinh(const vtac_lower *l, const vtac_expr *x)
{
    const vtac_expr *one = number_like(l, x, 1.0);
    const vtac_expr *a = bind_value(l, call(l, VTAC_E_ABS, x));
    const vtac_expr *square = bind_value(l, mul(l, a, a));
    const vtac_expr *root = call(l, VTAC_E_SQRT, add(l, square, one));
    const vtac_expr *near = call(l, VTAC_E_LOG1P, add(l, a, quotient(l, square, add(l, one, root))));
    const vtac_expr *far = add(l, call(l, VTAC_E_LOG, a), number_like(l, x, 0.69314718055994531));
    const vtac_expr *y = bind_value(l, select_value(l, less(l, a, number_like(l, x, 1e8)), near, far));
    return select_value(l, less(l, x, number_like(l, x, 0.0)), call(l, VTAC_E_NEG, y), y);
}

static const vtac_expr *wide_acosh(const vtac_lower *l, const vtac_expr *x)
{
    const vtac_expr *d = bind_value(l, sub(l, x, number_like(l, x, 1.0)));
    const vtac_expr *root = call(l, VTAC_E_SQRT, mul(l, d, add(l, d, number_like(l, x, 2.0))));
    return call(l, VTAC_E_LOG1P, add(l, d, root));
}

static const vtac_expr *wide_atanh(const vtac_lower *l, const vtac_expr *x)
{
    const vtac_expr *a = bind_value(l, call(l, VTAC_E_ABS, x));
    const vtac_expr *ratio = quotient(l, add(l, a, a), sub(l, number_like(l, x, 1.0), a));
    const vtac_expr *y = bind_value(l, mul(l, number_like(l, x, 0.5), call(l, VTAC_E_LOG1P, ratio)));
    return select_value(l, less(l, x, number_like(l, x, 0.0)), call(l, VTAC_E_NEG, y), y);
}

static const vtac_expr *wide_asin(const vtac_lower *l, const vtac_expr *x)
{
    const vtac_expr *one = number_like(l, x, 1.0);
    const vtac_expr *root = call(l, VTAC_E_SQRT, mul(l, sub(l, one, x), add(l, one, x)));
    return call(l, VTAC_E_ATAN, quotient(l, x, root));
}

static const vtac_expr *wide_acos(const vtac_lower *l, const vtac_expr *x)
{
    const vtac_expr *one = number_like(l, x, 1.0);
    const vtac_expr *root = call(l, VTAC_E_SQRT, quotient(l, sub(l, one, x), add(l, one, x)));
    return mul(l, number_like(l, x, 2.0), call(l, VTAC_E_ATAN, root));
}

/* log(1 + exp(x)) without overflow */
static const vtac_expr *wide_softplus(const vtac_lower *l, const vtac_expr *x)
{
    const vtac_expr *e = call(l, VTAC_E_EXP, call(l, VTAC_E_NEG, call(l, VTAC_E_ABS, x)));
    return add(l, maximum(l, number_like(l, x, 0.0), x), call(l, VTAC_E_LOG1P, e));
}

static const vtac_expr *wide_mish(const vtac_lower *l, const vtac_expr *x)
{
    return mul(l, x, call(l, VTAC_E_TANH, wide_softplus(l, x)));
}

static const vtac_expr *wide_gelu(const vtac_lower *l, const vtac_expr *x)
{
    const vtac_expr *scaled = mul(l, x, number_like(l, x, 0.70710678118654752));
    return mul(l, mul(l, number_like(l, x, 0.5), x),
               add(l, number_like(l, x, 1.0), call(l, VTAC_E_ERF, scaled)));
}

static const vtac_expr *wide_gelu_tanh(const vtac_lower *l, const vtac_expr *x)
{
    const vtac_expr *cubed = mul(l, mul(l, number_like(l, x, 0.044715), x), mul(l, x, x));
    const vtac_expr *inner = mul(l, number_like(l, x, 0.79788456080286536), add(l, x, cubed));
    return mul(l, mul(l, number_like(l, x, 0.5), x),
               add(l, number_like(l, x, 1.0), call(l, VTAC_E_TANH, inner)));
}

/* x times the normal distribution's integral up to x. Of |x| its complement is exp(-x²/2) t P(t) / 2 with t =
 * 3 / (3 + |x|/√2), P fitted to the scaled complement of erf (error 6e-9). */
static const vtac_expr *narrow_gelu(const vtac_lower *l, const vtac_expr *x)
{
    static const double fitted[] = {0.05697271886,  -0.2989646476, 0.5517725606, -0.4626268848, 0.421424965,
                                    -0.01159777628, 0.1955202707,  0.1706917035, 0.1887760812,  0.1880310103};
    vtac_kernel *k = l->k;
    const vtac_expr *one = number_like(l, x, 1.0);
    const vtac_expr *a = bind_value(l, minimum(l, call(l, VTAC_E_ABS, x), number_like(l, x, 20.0)));
    const vtac_expr *below =
        vtac_e3(k, VTAC_E_FMA, a, number_like(l, x, 0.70710678118654752), number_like(l, x, 3.0));
    const vtac_expr *t = bind_value(l, quotient(l, number_like(l, x, 3.0), below));
    const vtac_expr *p = number_like(l, x, fitted[0]);
    for (size_t i = 1; i < sizeof fitted / sizeof fitted[0]; i++) {
        p = vtac_e3(k, VTAC_E_FMA, p, t, number_like(l, x, fitted[i]));
    }
    const vtac_expr *square = bind_value(l, mul(l, a, a));
    const vtac_expr *lost = vtac_e3(k, VTAC_E_FMA, a, a, call(l, VTAC_E_NEG, square)); /* by rounding it */
    const vtac_expr *e = call(l, VTAC_E_EXP, mul(l, number_like(l, x, -0.5), square));
    const vtac_expr *tail = bind_value(l, mul(l, mul(l, number_like(l, x, 0.5), mul(l, t, p)), e));
    tail = bind_value(l, vtac_e3(k, VTAC_E_FMA, mul(l, number_like(l, x, -0.5), lost), tail, tail));
    return mul(l, x, select_value(l, less(l, x, number_like(l, x, 0.0)), tail, sub(l, one, tail)));
}

/* x / (1 + exp(-2u)) */
static const vtac_expr *narrow_gelu_tanh(const vtac_lower *l, const vtac_expr *x)
{
    const vtac_expr *square = mul(l, x, x);
    const vtac_expr *factor =
        vtac_e3(l->k, VTAC_E_FMA, square, number_like(l, x, -2.0 * 0.79788456080286536 * 0.044715),
                number_like(l, x, -2.0 * 0.79788456080286536));
    return quotient(l, x, add(l, number_like(l, x, 1.0), call(l, VTAC_E_EXP, mul(l, x, factor))));
}

static const vtac_expr *in_double(const vtac_lower *l, const vtac_expr *x, wide_fn *fn)
{
    const vtac_dtype type = x == NULL ? VTAC_F32 : x->type;
    return vtac_e_cast(l->k, type, fn(l, bind_value(l, vtac_e_cast(l->k, VTAC_F64, x))));
}

/* ---- unary */

/* 1 / (1 + exp(-x)) */
static const vtac_expr *lower_sigmoid(const vtac_lower *l, const vtac_expr *x)
{
    const vtac_expr *e = call(l, VTAC_E_EXP, call(l, VTAC_E_NEG, x));
    return quotient(l, number_like(l, x, 1.0), add(l, number_like(l, x, 1.0), e));
}

static const vtac_expr *lower_elu(const vtac_lower *l, const vtac_expr *x, double alpha, double inner,
                                  double outer)
{
    const vtac_expr *wide = vtac_e_cast(l->k, VTAC_F64, quotient(l, x, number_like(l, x, inner)));
    const vtac_expr *e = call(l, VTAC_E_EXPM1, wide);
    const vtac_expr *low =
        mul(l, number_like(l, x, alpha), vtac_e_cast(l->k, x == NULL ? VTAC_F32 : x->type, e));
    return mul(l, number_like(l, x, outer), select_value(l, greater(l, x, number_like(l, x, 0.0)), x, low));
}

static const vtac_expr *lower_sign(const vtac_lower *l, const vtac_expr *x)
{
    const vtac_expr *zero = number_like(l, x, 0.0);
    const vtac_expr *one = number_like(l, x, 1.0);
    if (x != NULL && vtac_dtype_kind(x->type) == 'u') {
        return minimum(l, x, one);
    }
    const vtac_expr *low = select_value(l, less(l, x, zero), number_like(l, x, -1.0), x);
    return select_value(l, greater(l, x, zero), one, low);
}

static const vtac_expr *hard_sigmoid(const vtac_lower *l, const vtac_expr *x, double alpha, double beta)
{
    const vtac_expr *line = add(l, mul(l, number_like(l, x, alpha), x), number_like(l, x, beta));
    return minimum(l, number_like(l, x, 1.0), maximum(l, number_like(l, x, 0.0), line));
}

static const vtac_expr *lower_leaky(const vtac_lower *l, const vtac_expr *x, double alpha)
{
    return select_value(l, less(l, x, number_like(l, x, 0.0)), mul(l, number_like(l, x, alpha), x), x);
}

static const vtac_expr *lower_shrink(const vtac_lower *l, const vtac_node *n, const vtac_expr *x)
{
    const double lambda = vtac_attr_float(n, "lambd", 0.5);
    const double bias = vtac_attr_float(n, "bias", 0.0);
    const vtac_expr *f =
        bind_value(l, x != NULL && vtac_dtype_kind(x->type) == 'f' ? x : vtac_e_cast(l->k, VTAC_F32, x));
    const vtac_expr *high = select_value(l, greater(l, f, number_like(l, f, lambda)),
                                         sub(l, f, number_like(l, f, bias)), number_like(l, f, 0.0));
    const vtac_expr *y =
        select_value(l, less(l, f, number_like(l, f, -lambda)), add(l, f, number_like(l, f, bias)), high);
    return vtac_e_cast(l->k, x == NULL ? VTAC_F32 : x->type, y);
}

/* The unary operators: WIDE has the function in double, NARROW an expression of x in its own type. */
#define WIDE(name)                                                                                           \
    const vtac_expr *vtac_unary_##name(vtac_lower *l, const vtac_node *n, const vtac_expr *x)                \
    {                                                                                                        \
        (void)n;                                                                                             \
        return in_double(l, x, wide_##name);                                                                 \
    }
#define NARROW(name, expression)                                                                             \
    const vtac_expr *vtac_unary_##name(vtac_lower *l, const vtac_node *n, const vtac_expr *x)                \
    {                                                                                                        \
        (void)n;                                                                                             \
        return expression;                                                                                   \
    }

static double alpha_of(const vtac_node *n, double otherwise)
{
    return vtac_attr_float(n, "alpha", otherwise);
}

WIDE(sinh)
WIDE(cosh)
WIDE(tan)
WIDE(asinh)
WIDE(acosh)
WIDE(atanh)
WIDE(asin)
WIDE(acos)
WIDE(softplus)
WIDE(mish)
NARROW(erf, call(l, VTAC_E_ERF, x))
NARROW(relu, maximum(l, number_like(l, x, 0.0), x))
NARROW(leaky_relu, lower_leaky(l, x, alpha_of(n, 0.01)))
NARROW(thresholded_relu,
       select_value(l, greater(l, x, number_like(l, x, alpha_of(n, 1.0))), x, number_like(l, x, 0.0)))
NARROW(elu, lower_elu(l, x, alpha_of(n, 1.0), 1.0, 1.0))
NARROW(celu, lower_elu(l, x, alpha_of(n, 1.0), alpha_of(n, 1.0), 1.0))
NARROW(selu, lower_elu(l, x, alpha_of(n, 1.67326319217681884765625), 1.0,
                       vtac_attr_float(n, "gamma", 1.05070102214813232421875)))
NARROW(sigmoid, lower_sigmoid(l, x))
NARROW(hard_sigmoid, hard_sigmoid(l, x, alpha_of(n, 0.2), vtac_attr_float(n, "beta", 0.5)))
NARROW(hard_swish, mul(l, x, hard_sigmoid(l, x, 1.0 / 6.0, 0.5)))
NARROW(softsign, quotient(l, x, add(l, number_like(l, x, 1.0), call(l, VTAC_E_ABS, x))))
NARROW(shrink, lower_shrink(l, n, x))
NARROW(sign, lower_sign(l, x))
NARROW(reciprocal, quotient(l, number_like(l, x, 1.0), x))

const vtac_expr *vtac_unary_gelu(vtac_lower *l, const vtac_node *n, const vtac_expr *x)
{
    const char *approximate = vtac_attr_string(n, "approximate", "none");
    if (x != NULL && x->type == VTAC_F32) {
        return approximate[0] == 't' ? narrow_gelu_tanh(l, x) : narrow_gelu(l, x);
    }
    return in_double(l, x, approximate[0] == 't' ? wide_gelu_tanh : wide_gelu);
}

const vtac_expr *vtac_unary(vtac_lower *l, const vtac_node *n, const vtac_expr *x)
{
    const vtac_lowering *row = vtac_lowering_of(n->op);
    return row->unary != NULL ? row->unary(l, n, x) : call(l, row->expr, x);
}

const vtac_expr *vtac_point_unary(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    return vtac_unary(l, n, bind_value(l, vtac_arg(l, n, 0, at)));
}

/* ---- binary and more */

/* Input i of a division. A whole number that is known is a part of the code: no division needs a test then,
 * and most become products and shifts, which vectors have. */
static const vtac_expr *load_divisor(vtac_lower *l, const vtac_node *n, uint32_t i,
                                     const vtac_expr *const *at)
{
    const vtac_value *value = &l->graph->values[n->inputs[i]];
    const char kind = vtac_dtype_kind(value->type.dtype);
    if (value->constant != NULL && vtac_type_elements(&value->type) == 1 && (kind == 'i' || kind == 'u')) {
        const int64_t known = vtac_tensor_int(value->constant, 0);
        if (known > 0) {
            return vtac_e_int(l->k, value->type.dtype, known);
        }
    }
    return vtac_arg(l, n, i, at);
}

/* The operation of the row: of the one input, or of all from left to right. */
const vtac_expr *vtac_point_expr(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_expr_op op = vtac_lowering_of(n->op)->expr;
    if (vtac_expr_operands(op) == 1) {
        return vtac_point_unary(l, n, at);
    }
    const vtac_expr *x = vtac_arg(l, n, 0, at);
    for (uint32_t i = 1; i < n->input_count; i++) {
        x = vtac_e2(l->k, op, x, op == VTAC_E_DIV ? load_divisor(l, n, i, at) : vtac_arg(l, n, i, at));
    }
    return x;
}

const vtac_expr *vtac_point_mean(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_expr *x = vtac_arg(l, n, 0, at);
    for (uint32_t i = 1; i < n->input_count; i++) {
        x = add(l, x, vtac_arg(l, n, i, at));
    }
    return quotient(l, x, number_like(l, x, n->input_count));
}

const vtac_expr *vtac_point_bit_shift(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const bool left = vtac_attr_string(n, "direction", "LEFT")[0] == 'L';
    return vtac_e2(l->k, left ? VTAC_E_SHL : VTAC_E_SHR, vtac_arg(l, n, VTAC_BINARY_A, at),
                   vtac_arg(l, n, VTAC_BINARY_B, at));
}

/* Remainder: with fmod it has the dividend's sign, otherwise the divisor's. */
const vtac_expr *vtac_point_mod(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_expr *a = bind_value(l, vtac_arg(l, n, VTAC_BINARY_A, at));
    const vtac_expr *b = bind_value(l, vtac_arg(l, n, VTAC_BINARY_B, at));
    const vtac_expr *zero = number_like(l, a, 0.0);
    const vtac_expr *rest;
    if (a != NULL && vtac_dtype_kind(a->type) == 'f') {
        rest = sub(l, a, mul(l, call(l, VTAC_E_TRUNC, quotient(l, a, b)), b));
    } else {
        rest = vtac_e2(l->k, VTAC_E_REM, a, b);
    }
    rest = bind_value(l, rest);
    if (vtac_attr_int(n, "fmod", 0) != 0 || (a != NULL && vtac_dtype_kind(a->type) == 'u')) {
        return rest;
    }
    const vtac_expr *differ = vtac_e2(l->k, VTAC_E_XOR, less(l, rest, zero), less(l, b, zero));
    const vtac_expr *wrong = vtac_e2(l->k, VTAC_E_AND, differ, vtac_e2(l->k, VTAC_E_NE, rest, zero));
    return select_value(l, wrong, add(l, rest, b), rest);
}

const vtac_expr *vtac_point_pow(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_expr *x = vtac_arg(l, n, VTAC_POW_X, at);
    const vtac_expr *y = vtac_arg(l, n, VTAC_POW_EXPONENT, at);
    const vtac_tensor *constant = vtac_in_constant(l->graph, n, VTAC_POW_EXPONENT);
    if (x == NULL || y == NULL) {
        return NULL;
    }
    if (constant != NULL && vtac_type_elements(&constant->type) == 1 &&
        vtac_tensor_float(constant, 0) == 2.0) {
        x = bind_value(l, x);
        return mul(l, x, x);
    }
    const bool narrow = x->type == VTAC_F32 && (y->type == VTAC_F32 || vtac_dtype_bytes(y->type) < 4);
    const vtac_dtype work = narrow ? VTAC_F32 : VTAC_F64;
    const vtac_expr *r = vtac_e2(l->k, VTAC_E_POW, vtac_e_cast(l->k, work, x), vtac_e_cast(l->k, work, y));
    if (vtac_dtype_kind(x->type) != 'f') { /* powers of integers are integers */
        const vtac_expr *near = call(l, VTAC_E_ROUND, r);
        const vtac_expr *whole = vtac_e2(l->k, VTAC_E_GE, vtac_e_cast(l->k, work, y), number_like(l, r, 0.0));
        r = select_value(l, whole, near, r);
    }
    return vtac_e_cast(l->k, x->type, r);
}

const vtac_expr *vtac_point_prelu(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_expr *x = bind_value(l, vtac_arg(l, n, VTAC_PRELU_X, at));
    return select_value(l, less(l, x, number_like(l, x, 0.0)),
                        mul(l, x, vtac_arg(l, n, VTAC_PRELU_SLOPE, at)), x);
}

const vtac_expr *vtac_point_where(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    return select_value(l, vtac_arg(l, n, VTAC_WHERE_CONDITION, at), vtac_arg(l, n, VTAC_WHERE_X, at),
                        vtac_arg(l, n, VTAC_WHERE_Y, at));
}

const vtac_expr *vtac_point_clip(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_expr *x = vtac_arg(l, n, VTAC_CLIP_X, at);
    if (vtac_in_type(l->graph, n, VTAC_CLIP_MIN) != NULL) {
        x = maximum(l, vtac_arg(l, n, VTAC_CLIP_MIN, at), x);
    }
    return vtac_in_type(l->graph, n, VTAC_CLIP_MAX) != NULL ? minimum(l, vtac_arg(l, n, VTAC_CLIP_MAX, at), x)
                                                            : x;
}

const vtac_expr *vtac_point_is_nan(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_expr *x = bind_value(l, vtac_arg(l, n, 0, at));
    return vtac_e2(l->k, VTAC_E_NE, x, x);
}

const vtac_expr *vtac_point_is_inf(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_expr *x = bind_value(l, vtac_arg(l, n, 0, at));
    const bool positive = vtac_attr_int(n, "detect_positive", 1) != 0;
    const bool negative = vtac_attr_int(n, "detect_negative", 1) != 0;
    const vtac_expr *up = vtac_e2(l->k, VTAC_E_EQ, x, number_like(l, x, HUGE_VAL));
    const vtac_expr *down = vtac_e2(l->k, VTAC_E_EQ, x, number_like(l, x, -HUGE_VAL));
    const vtac_expr *no = vtac_e_int(l->k, VTAC_BOOL, 0);
    return vtac_e2(l->k, VTAC_E_OR, positive ? up : no, negative ? down : no);
}

/* x, scale, bias, mean, variance: per channel */
const vtac_expr *vtac_point_batch_norm(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_expr *x = vtac_arg(l, n, VTAC_BATCH_NORM_X, at);
    const vtac_expr *p[4];
    for (uint32_t i = 0; i < 4; i++) {
        p[i] = vtac_e_cast(l->k, x == NULL ? VTAC_F32 : x->type, vtac_axis_arg(l, n, i + 1, 1, at));
    }
    const vtac_expr *epsilon = number_like(l, x, vtac_attr_float(n, "epsilon", 1e-5));
    const vtac_expr *factor = quotient(l, p[0], call(l, VTAC_E_SQRT, add(l, p[3], epsilon)));
    return add(l, mul(l, sub(l, x, p[2]), factor), p[1]);
}
