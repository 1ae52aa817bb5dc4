/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators on elements: activations, arithmetic with PyTorch's types, comparisons, reductions.
 */
#include <math.h>
#include <string.h>

#include "torch.h"

/* ---- types */

static int category_of(vtac_dtype dtype)
{
    const char kind = vtac_dtype_kind(dtype);
    return kind == 'f' ? 2 : kind == 'b' ? 0 : 1;
}

typedef struct torch_operand {
    vtac_dtype dtype;
    int level; /* 0: a tensor with axes, 1: one without, 2: a number */
} torch_operand;

static torch_operand operand_of(vtac_torch *im, const vtac_torch_value *v, vtac_id id)
{
    const vtac_type type = vtac_made_type(&im->maker, id);
    return (torch_operand){type.dtype, v->kind != TORCH_TENSOR ? 2 : type.rank == 0 ? 1 : 0};
}

/* Of one category: the larger type; of uint8 and a signed byte int16. */
static vtac_dtype larger_of(vtac_dtype a, vtac_dtype b)
{
    const size_t wide_a = vtac_dtype_bytes(a);
    const size_t wide_b = vtac_dtype_bytes(b);
    if (a == b || wide_a != wide_b) {
        return wide_a >= wide_b ? a : b;
    }
    return category_of(a) == 2 ? VTAC_F32 : VTAC_I16;
}

static vtac_dtype common_type(torch_operand a, torch_operand b)
{
    if (category_of(a.dtype) != category_of(b.dtype)) {
        return category_of(a.dtype) > category_of(b.dtype) ? a.dtype : b.dtype;
    }
    return a.level == b.level ? larger_of(a.dtype, b.dtype) : a.level < b.level ? a.dtype : b.dtype;
}

void vtac_torch_promote(vtac_torch *im, const vtac_torch_value *a, const vtac_torch_value *b, vtac_id *x,
                        vtac_id *y)
{
    *x = vtac_torch_value_id(im, a, "self");
    *y = vtac_torch_value_id(im, b, "other");
    if (*x != 0 && *y != 0) {
        const vtac_dtype dtype = common_type(operand_of(im, a, *x), operand_of(im, b, *y));
        *x = vtac_make_cast(&im->maker, *x, dtype);
        *y = vtac_make_cast(&im->maker, *y, dtype);
    }
}

vtac_id vtac_torch_as_float(vtac_torch *im, vtac_id x)
{
    const bool is_float = vtac_dtype_kind(vtac_made_type(&im->maker, x).dtype) == 'f';
    return x == 0 || is_float ? x : vtac_make_cast(&im->maker, x, VTAC_F32);
}

vtac_id vtac_torch_with(vtac_torch *im, vtac_op op, vtac_id x, double number)
{
    if (x == 0) {
        return 0;
    }
    const vtac_dtype dtype = vtac_made_type(&im->maker, x).dtype;
    return vtac_make2(&im->maker, op, x,
                      vtac_make_cast(&im->maker, vtac_make_number(&im->maker, VTAC_F32, number), dtype));
}

static vtac_id float_in(vtac_torch *im, const char *name)
{
    return vtac_torch_as_float(im, vtac_torch_in(im, name));
}

/* ---- one operand */

vtac_torch_value vtac_torch_make_same(vtac_torch *im, int32_t how)
{
    return vtac_torch_tensor_of(im, vtac_make1(&im->maker, (vtac_op)how, vtac_torch_in(im, "self")));
}

vtac_torch_value vtac_torch_make_real(vtac_torch *im, int32_t how)
{
    return vtac_torch_tensor_of(im, vtac_make1(&im->maker, (vtac_op)how, float_in(im, "self")));
}

static vtac_id truncated(vtac_torch *im, vtac_id x)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id size = vtac_make1(m, VTAC_OP_FLOOR, vtac_make1(m, VTAC_OP_ABS, x));
    return vtac_make2(m, VTAC_OP_MUL, vtac_make1(m, VTAC_OP_SIGN, x), size);
}

vtac_torch_value vtac_torch_make_composed(vtac_torch *im, int32_t how)
{
    vtac_import_builder *m = &im->maker;
    if (how == TORCH_SQUARE) {
        const vtac_id own = vtac_torch_in(im, "self");
        return vtac_torch_tensor_of(im, vtac_make2(m, VTAC_OP_MUL, own, own));
    }
    if (how == TORCH_LOGICAL_NOT) {
        return vtac_torch_tensor_of(
            im, vtac_make1(m, VTAC_OP_NOT, vtac_make_cast(m, vtac_torch_in(im, "self"), VTAC_BOOL)));
    }
    vtac_id x = float_in(im, "self");
    switch (how) {
    case TORCH_RSQRT: x = vtac_make1(m, VTAC_OP_RECIPROCAL, vtac_make1(m, VTAC_OP_SQRT, x)); break;
    case TORCH_LOG1P: x = vtac_make1(m, VTAC_OP_LOG, vtac_torch_with(im, VTAC_OP_ADD, x, 1.0)); break;
    case TORCH_EXPM1: x = vtac_torch_with(im, VTAC_OP_SUB, vtac_make1(m, VTAC_OP_EXP, x), 1.0); break;
    case TORCH_LOG2:
        x = vtac_torch_with(im, VTAC_OP_MUL, vtac_make1(m, VTAC_OP_LOG, x), 1.0 / log(2.0));
        break;
    case TORCH_LOG10:
        x = vtac_torch_with(im, VTAC_OP_MUL, vtac_make1(m, VTAC_OP_LOG, x), 1.0 / log(10.0));
        break;
    case TORCH_EXP2: x = vtac_make1(m, VTAC_OP_EXP, vtac_torch_with(im, VTAC_OP_MUL, x, log(2.0))); break;
    case TORCH_LOG_SIGMOID:
        x = vtac_make1(m, VTAC_OP_NEG, vtac_make1(m, VTAC_OP_SOFTPLUS, vtac_make1(m, VTAC_OP_NEG, x)));
        break;
    default: x = truncated(im, x); break;
    }
    return vtac_torch_tensor_of(im, x);
}

vtac_torch_value vtac_torch_make_silu(vtac_torch *im, int32_t how)
{
    const vtac_id x = float_in(im, "self");
    (void)how;
    return vtac_torch_tensor_of(
        im, vtac_make2(&im->maker, VTAC_OP_MUL, x, vtac_make1(&im->maker, VTAC_OP_SIGMOID, x)));
}

vtac_torch_value vtac_torch_make_gelu(vtac_torch *im, int32_t how)
{
    const char *form = vtac_torch_text(im, "approximate", "none");
    const vtac_id x = float_in(im, "self");
    const vtac_attr attr = vtac_attr_of_string("approximate", form);
    (void)how;
    return vtac_torch_tensor_of(im, vtac_make(&im->maker, VTAC_OP_GELU, &x, 1, &attr, 1));
}

/* Functions whose results are bounded: of quantized tensors the scale of the result is fixed. */
vtac_torch_value vtac_torch_make_bounded(vtac_torch *im, int32_t how)
{
    const vtac_attr attrs[] = {vtac_attr_of_float("alpha", 1.0 / 6.0), vtac_attr_of_float("beta", 0.5)};
    const vtac_torch_value *self = vtac_torch_arg(im, "self");
    const bool quantized = self->kind == TORCH_TENSOR && self->tensor->quantized;
    const vtac_id x = quantized ? vtac_torch_floats(im, self->tensor) : float_in(im, "self");
    const vtac_id y = vtac_make(&im->maker, (vtac_op)how, &x, 1, attrs, how == VTAC_OP_HARD_SIGMOID ? 2 : 0);
    const bool both = how == VTAC_OP_TANH; /* from -1 on */
    return !quantized ? vtac_torch_tensor_of(im, y)
                      : vtac_torch_quantize(im, y, both ? 2.0 / 256.0 : 1.0 / 256.0, both ? 128 : 0, VTAC_U8);
}

/* relu6, hardtanh, clamp: bounds that are numbers; of clamp tensors, too. */
vtac_torch_value vtac_torch_make_relu6(vtac_torch *im, int32_t how)
{
    (void)how;
    return vtac_torch_tensor_of(im, vtac_make_clip(&im->maker, vtac_torch_in(im, "self"), 0.0, 6.0));
}

vtac_torch_value vtac_torch_make_hardtanh(vtac_torch *im, int32_t how)
{
    const double low = vtac_torch_float(im, "min_val", -1.0);
    const double high = vtac_torch_float(im, "max_val", 1.0);
    (void)how;
    return vtac_torch_tensor_of(im, vtac_make_clip(&im->maker, float_in(im, "self"), low, high));
}

static vtac_id bounded(vtac_torch *im, const vtac_torch_value *self, const char *name, vtac_op op)
{
    vtac_id x;
    vtac_id y;
    vtac_torch_promote(im, self, vtac_torch_arg(im, name), &x, &y);
    return vtac_make2(&im->maker, op, x, y);
}

vtac_torch_value vtac_torch_make_clamp(vtac_torch *im, int32_t how)
{
    const vtac_torch_value *low = vtac_torch_arg(im, "min");
    const vtac_torch_value *high = vtac_torch_arg(im, "max");
    vtac_torch_value x = *vtac_torch_arg(im, "self");
    const bool plain = low->kind != TORCH_TENSOR && high->kind != TORCH_TENSOR;
    (void)how;
    if (plain && vtac_dtype_kind(vtac_made_type(&im->maker, vtac_torch_in(im, "self")).dtype) == 'f') {
        const double from = low->kind == TORCH_NONE ? -(double)INFINITY : vtac_torch_number(low);
        const double to = high->kind == TORCH_NONE ? (double)INFINITY : vtac_torch_number(high);
        if (from > to) { /* the upper bound counts */
            return vtac_torch_tensor_of(im, vtac_make_clip(&im->maker, vtac_torch_in(im, "self"), to, to));
        }
        return vtac_torch_tensor_of(im, vtac_make_clip(&im->maker, vtac_torch_in(im, "self"), from, to));
    }
    if (low->kind != TORCH_NONE) {
        x = vtac_torch_tensor_of(im, bounded(im, &x, "min", VTAC_OP_MAX));
    }
    return high->kind == TORCH_NONE ? x : vtac_torch_tensor_of(im, bounded(im, &x, "max", VTAC_OP_MIN));
}

/* Operators with one number as an attribute: elu, celu, leaky_relu. */
vtac_torch_value vtac_torch_make_sloped(vtac_torch *im, int32_t how)
{
    const bool leaky = how == VTAC_OP_LEAKY_RELU;
    const double alpha = vtac_torch_float(im, leaky ? "negative_slope" : "alpha", leaky ? 0.01 : 1.0);
    const vtac_attr attr = vtac_attr_of_float("alpha", alpha);
    const vtac_id x = float_in(im, "self");
    if (how == VTAC_OP_ELU &&
        (vtac_torch_float(im, "scale", 1.0) != 1.0 || vtac_torch_float(im, "input_scale", 1.0) != 1.0)) {
        vtac_torch_refuse(im, "an ELU with factors");
    }
    return vtac_torch_tensor_of(im, vtac_make(&im->maker, (vtac_op)how, &x, 1, &attr, 1));
}

vtac_torch_value vtac_torch_make_prelu(vtac_torch *im, int32_t how)
{
    const vtac_id x = float_in(im, "self");
    vtac_id slope = vtac_torch_in(im, "weight");
    const uint32_t rank = vtac_made_type(&im->maker, x).rank;
    const int64_t count = vtac_made_elements(&im->maker, slope);
    int64_t dims[VTAC_MAX_RANK];
    (void)how;
    for (uint32_t i = 0; i < VTAC_MAX_RANK; i++) {
        dims[i] = 1;
    }
    dims[0] = count;
    const uint32_t after = count > 1 && rank > 2 ? rank - 1 : 1;
    slope = vtac_make_reshape(&im->maker, slope, dims, after);
    return vtac_torch_tensor_of(im, vtac_make2(&im->maker, VTAC_OP_PRELU, x, slope));
}

vtac_torch_value vtac_torch_make_softplus(vtac_torch *im, int32_t how)
{
    const double beta = vtac_torch_float(im, "beta", 1.0);
    const vtac_id x = float_in(im, "self");
    (void)how;
    if (vtac_torch_float(im, "threshold", 20.0) < 15.0 || beta == 0.0) {
        vtac_torch_refuse(im, "a softplus that is linear from below 15 on");
    }
    const vtac_id y = vtac_make1(&im->maker, VTAC_OP_SOFTPLUS, vtac_torch_with(im, VTAC_OP_MUL, x, beta));
    return vtac_torch_tensor_of(im, beta == 1.0 ? y : vtac_torch_with(im, VTAC_OP_DIV, y, beta));
}

vtac_torch_value vtac_torch_make_threshold(vtac_torch *im, int32_t how)
{
    const vtac_id x = vtac_torch_in(im, "self");
    const vtac_id above = vtac_torch_with(im, VTAC_OP_GREATER, x, vtac_torch_float(im, "threshold", 0.0));
    const vtac_id value =
        vtac_make_cast(&im->maker, vtac_make_number(&im->maker, VTAC_F32, vtac_torch_float(im, "value", 0.0)),
                       vtac_made_type(&im->maker, x).dtype);
    (void)how;
    return vtac_torch_tensor_of(im, vtac_make3(&im->maker, VTAC_OP_WHERE, above, x, value));
}

vtac_torch_value vtac_torch_make_softmax(vtac_torch *im, int32_t how)
{
    vtac_id x = float_in(im, "self");
    const vtac_dtype dtype = vtac_torch_dtype_arg(im, "dtype", vtac_made_type(&im->maker, x).dtype);
    const vtac_attr axis =
        vtac_attr_of_int("axis", vtac_torch_axis(im, "dim", -1, vtac_made_type(&im->maker, x).rank));
    x = vtac_make_cast(&im->maker, x, dtype);
    return vtac_torch_tensor_of(im, vtac_make(&im->maker, (vtac_op)how, &x, 1, &axis, 1));
}

vtac_torch_value vtac_torch_make_glu(vtac_torch *im, int32_t how)
{
    const vtac_id x = float_in(im, "self");
    const vtac_type type = vtac_made_type(&im->maker, x);
    const uint32_t axis = vtac_torch_axis(im, "dim", -1, type.rank);
    const int64_t half = type.dim[axis] / 2;
    (void)how;
    if (im->maker.status != VTA_OK || type.rank == 0 || type.dim[axis] % 2 != 0) {
        vtac_make_fail(&im->maker, VTA_INVALID, "an axis that has no halves");
        return vtac_torch_none;
    }
    const vtac_id gate = vtac_make_slice(&im->maker, x, axis, half, 2 * half);
    return vtac_torch_tensor_of(im, vtac_make2(&im->maker, VTAC_OP_MUL,
                                               vtac_make_slice(&im->maker, x, axis, 0, half),
                                               vtac_make1(&im->maker, VTAC_OP_SIGMOID, gate)));
}

/* ---- two operands */

/* Sums and products of bools are bools. */
static vtac_op op_of_bools(vtac_op op)
{
    return op == VTAC_OP_ADD ? VTAC_OP_OR : op == VTAC_OP_MUL ? VTAC_OP_AND : op;
}

static vtac_id combine(vtac_torch *im, vtac_op op, vtac_id x, vtac_id y)
{
    const bool bools = x != 0 && vtac_made_type(&im->maker, x).dtype == VTAC_BOOL;
    const bool compares = op == VTAC_OP_EQUAL;
    if (bools && !compares && op_of_bools(op) == op && op != VTAC_OP_AND && op != VTAC_OP_OR) {
        vtac_torch_refuse(im, "arithmetic of bools");
    }
    return vtac_make2(&im->maker, bools ? op_of_bools(op) : op, x, y);
}

/* op(self, alpha * other), or the operands in the opposite order: op(other, alpha * self). */
static vtac_torch_value combine_scaled(vtac_torch *im, vtac_op op, bool opposite)
{
    vtac_id x;
    vtac_id y;
    vtac_torch_promote(im, vtac_torch_arg(im, "self"), vtac_torch_arg(im, "other"), &x, &y);
    const vtac_id first = opposite ? y : x;
    const vtac_id second = opposite ? x : y;
    const double alpha = vtac_torch_float(im, "alpha", 1.0);
    return vtac_torch_tensor_of(
        im, combine(im, op, first, alpha == 1.0 ? second : vtac_torch_with(im, VTAC_OP_MUL, second, alpha)));
}

vtac_torch_value vtac_torch_make_binary(vtac_torch *im, int32_t how)
{
    return combine_scaled(im, (vtac_op)how, false);
}

vtac_torch_value vtac_torch_make_rsub(vtac_torch *im, int32_t how)
{
    return combine_scaled(im, (vtac_op)how, true);
}

vtac_torch_value vtac_torch_make_not_equal(vtac_torch *im, int32_t how)
{
    vtac_id x;
    vtac_id y;
    vtac_torch_promote(im, vtac_torch_arg(im, "self"), vtac_torch_arg(im, "other"), &x, &y);
    (void)how;
    return vtac_torch_tensor_of(
        im, vtac_make1(&im->maker, VTAC_OP_NOT, vtac_make2(&im->maker, VTAC_OP_EQUAL, x, y)));
}

/* how: of bools; 0: and, 1: or, 2: xor */
vtac_torch_value vtac_torch_make_logical(vtac_torch *im, int32_t how)
{
    const vtac_id x = vtac_torch_in(im, "self");
    const vtac_id y = vtac_torch_in(im, "other");
    const bool words =
        strncmp(im->op->name, "logical", 7) != 0 && vtac_made_type(&im->maker, x).dtype != VTAC_BOOL;
    static const vtac_op ops[] = {VTAC_OP_AND, VTAC_OP_OR, VTAC_OP_XOR};
    if (words) {
        vtac_torch_refuse(im, "bits of integers");
    }
    return vtac_torch_tensor_of(im, vtac_make2(&im->maker, ops[how], vtac_make_cast(&im->maker, x, VTAC_BOOL),
                                               vtac_make_cast(&im->maker, y, VTAC_BOOL)));
}

/* x / y downwards, for floats and integers. */
static vtac_id floor_quotient(vtac_torch *im, vtac_id x, vtac_id y)
{
    vtac_import_builder *m = &im->maker;
    if (vtac_dtype_kind(vtac_made_type(m, x).dtype) == 'f') {
        return vtac_make1(m, VTAC_OP_FLOOR, vtac_make2(m, VTAC_OP_DIV, x, y));
    }
    const vtac_id rest = vtac_make2(m, VTAC_OP_MOD, x, y);
    return vtac_make2(m, VTAC_OP_DIV, vtac_make2(m, VTAC_OP_SUB, x, rest), y);
}

vtac_torch_value vtac_torch_make_divide(vtac_torch *im, int32_t how)
{
    const char *mode = vtac_torch_text(im, "rounding_mode", how != 0 ? "floor" : "");
    vtac_id x;
    vtac_id y;
    vtac_torch_promote(im, vtac_torch_arg(im, "self"), vtac_torch_arg(im, "other"), &x, &y);
    const bool is_float = vtac_dtype_kind(vtac_made_type(&im->maker, x).dtype) == 'f';
    if (strcmp(mode, "floor") == 0) {
        return vtac_torch_tensor_of(im, floor_quotient(im, x, y));
    }
    if (mode[0] == '\0') {
        return vtac_torch_tensor_of(
            im, vtac_make2(&im->maker, VTAC_OP_DIV, vtac_torch_as_float(im, x), vtac_torch_as_float(im, y)));
    }
    const vtac_id q = vtac_make2(&im->maker, VTAC_OP_DIV, x, y);
    return vtac_torch_tensor_of(im, is_float ? truncated(im, q) : q);
}

vtac_torch_value vtac_torch_make_remainder(vtac_torch *im, int32_t how)
{
    vtac_import_builder *m = &im->maker;
    vtac_id x;
    vtac_id y;
    (void)how;
    vtac_torch_promote(im, vtac_torch_arg(im, "self"), vtac_torch_arg(im, "other"), &x, &y);
    if (vtac_dtype_kind(vtac_made_type(m, x).dtype) != 'f') {
        return vtac_torch_tensor_of(im, vtac_make2(m, VTAC_OP_MOD, x, y));
    }
    return vtac_torch_tensor_of(
        im, vtac_make2(m, VTAC_OP_SUB, x, vtac_make2(m, VTAC_OP_MUL, floor_quotient(im, x, y), y)));
}

vtac_torch_value vtac_torch_make_power(vtac_torch *im, int32_t how)
{
    const vtac_torch_value *exponent = vtac_torch_arg(im, "exponent");
    vtac_id x;
    vtac_id y;
    vtac_torch_promote(im, vtac_torch_arg(im, "self"), exponent, &x, &y);
    (void)how;
    if (vtac_torch_is_number(exponent) && vtac_torch_number(exponent) == 2.0) {
        return vtac_torch_tensor_of(im, vtac_make2(&im->maker, VTAC_OP_MUL, x, x));
    }
    return vtac_torch_tensor_of(im, vtac_make2(&im->maker, VTAC_OP_POW, x, y));
}

vtac_torch_value vtac_torch_make_where(vtac_torch *im, int32_t how)
{
    const vtac_id condition = vtac_make_cast(&im->maker, vtac_torch_in(im, "condition"), VTAC_BOOL);
    vtac_id x;
    vtac_id y;
    (void)how;
    vtac_torch_promote(im, vtac_torch_arg(im, "self"), vtac_torch_arg(im, "other"), &x, &y);
    return vtac_torch_tensor_of(im, vtac_make3(&im->maker, VTAC_OP_WHERE, condition, x, y));
}

vtac_torch_value vtac_torch_make_masked_fill(vtac_torch *im, int32_t how)
{
    const vtac_id x = vtac_torch_in(im, "self");
    const vtac_id mask = vtac_make_cast(&im->maker, vtac_torch_in(im, "mask"), VTAC_BOOL);
    const vtac_id value =
        vtac_make_cast(&im->maker, vtac_torch_in(im, "value"), vtac_made_type(&im->maker, x).dtype);
    (void)how;
    return vtac_torch_tensor_of(im, vtac_make3(&im->maker, VTAC_OP_WHERE, mask, value, x));
}

/* ---- reductions */

/* The axes that are given, or all; false after a failure. */
static bool axes_of(vtac_torch *im, const char *name, uint32_t rank, int64_t *axes, uint32_t *count)
{
    *count = vtac_torch_ints(im, name, axes, VTAC_MAX_RANK);
    for (uint32_t i = 0; i < *count; i++) {
        axes[i] = vtac_torch_wrap(im, axes[i], rank);
    }
    for (uint32_t i = 0; *count == 0 && i < rank; i++) {
        axes[i] = i;
    }
    *count = *count == 0 ? rank : *count;
    return im->maker.status == VTA_OK;
}

vtac_torch_value vtac_torch_make_reduction(vtac_torch *im, int32_t how)
{
    vtac_import_builder *m = &im->maker;
    vtac_id x = vtac_torch_in(im, "self");
    const char kind = vtac_dtype_kind(vtac_made_type(m, x).dtype);
    const bool sums = how == VTAC_OP_REDUCE_SUM || how == VTAC_OP_REDUCE_PROD;
    const vtac_dtype own = vtac_made_type(m, x).dtype;
    const vtac_dtype dtype = vtac_torch_dtype_arg(im, "dtype", sums && kind != 'f' ? VTAC_I64 : own);
    int64_t axes[VTAC_MAX_RANK] = {0};
    uint32_t count;
    const bool keep = vtac_torch_flag(im, "keepdim", false);
    if (!axes_of(im, "dim", vtac_made_type(m, x).rank, axes, &count)) {
        return vtac_torch_none;
    }
    x = vtac_make_cast(m, x, dtype);
    return vtac_torch_tensor_of(im, vtac_make_reduce(m, (vtac_op)how, x, axes, count, keep));
}

/* how: the reduction that stands for "any" (max) or "all" (min) */
vtac_torch_value vtac_torch_make_truth(vtac_torch *im, int32_t how)
{
    vtac_import_builder *m = &im->maker;
    vtac_id x = vtac_make_cast(m, vtac_torch_in(im, "self"), VTAC_BOOL);
    int64_t axes[VTAC_MAX_RANK] = {0};
    uint32_t count;
    const bool keep = vtac_torch_flag(im, "keepdim", false);
    if (!axes_of(im, "dim", vtac_made_type(m, x).rank, axes, &count)) {
        return vtac_torch_none;
    }
    x = vtac_make_reduce(m, (vtac_op)how, vtac_make_cast(m, x, VTAC_I32), axes, count, keep);
    return vtac_torch_tensor_of(im, vtac_make_cast(m, x, VTAC_BOOL));
}

static vtac_id places_of(vtac_torch *im, vtac_op op, vtac_id x, int64_t axis, bool keep)
{
    const vtac_attr attrs[] = {vtac_attr_of_int("axis", axis), vtac_attr_of_int("keepdims", keep)};
    return vtac_make(&im->maker, op, &x, 1, attrs, 2);
}

vtac_torch_value vtac_torch_make_arg_extreme(vtac_torch *im, int32_t how)
{
    vtac_id x = vtac_torch_in(im, "self");
    const vtac_type type = vtac_made_type(&im->maker, x);
    if (!vtac_torch_has(im, "dim")) {
        const int64_t all = vtac_type_elements(&type);
        x = vtac_make_reshape(&im->maker, x, &all, 1);
        return vtac_torch_tensor_of(im,
                                    places_of(im, (vtac_op)how, x, 0, vtac_torch_flag(im, "keepdim", false)));
    }
    const uint32_t axis = vtac_torch_axis(im, "dim", 0, type.rank);
    return vtac_torch_tensor_of(im,
                                places_of(im, (vtac_op)how, x, axis, vtac_torch_flag(im, "keepdim", false)));
}

/* max and min: of all, of two tensors, or along an axis with the places. how: 0 max, 1 min */
vtac_torch_value vtac_torch_make_extreme(vtac_torch *im, int32_t how)
{
    vtac_import_builder *m = &im->maker;
    const char *other = vtac_torch_arg(im, "dim")->kind == TORCH_TENSOR ? "dim" : "other";
    if (vtac_torch_has(im, other)) {
        vtac_id x;
        vtac_id y;
        vtac_torch_promote(im, vtac_torch_arg(im, "self"), vtac_torch_arg(im, other), &x, &y);
        return vtac_torch_tensor_of(im, vtac_make2(m, how == 0 ? VTAC_OP_MAX : VTAC_OP_MIN, x, y));
    }
    if (!vtac_torch_has(im, "dim")) {
        return vtac_torch_make_reduction(im, how == 0 ? VTAC_OP_REDUCE_MAX : VTAC_OP_REDUCE_MIN);
    }
    const vtac_id x = vtac_torch_in(im, "self");
    const int64_t axis = vtac_torch_axis(im, "dim", 0, vtac_made_type(m, x).rank);
    const bool keep = vtac_torch_flag(im, "keepdim", false);
    const vtac_torch_value out[] = {
        vtac_torch_tensor_of(
            im, vtac_make_reduce(m, how == 0 ? VTAC_OP_REDUCE_MAX : VTAC_OP_REDUCE_MIN, x, &axis, 1, keep)),
        vtac_torch_tensor_of(im, places_of(im, how == 0 ? VTAC_OP_ARG_MAX : VTAC_OP_ARG_MIN, x, axis, keep))};
    return vtac_torch_list_value(im, TORCH_TUPLE, out, 2);
}

/* how: 1: the root of the variance */
vtac_torch_value vtac_torch_make_variance(vtac_torch *im, int32_t how)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id x = float_in(im, "self");
    const vtac_type type = vtac_made_type(m, x);
    const bool flag = vtac_torch_arg(im, "dim")->kind == TORCH_BOOL; /* (self, unbiased) */
    const bool unbiased = vtac_torch_flag(im, flag ? "dim" : "unbiased", true);
    const double less = vtac_torch_float(im, "correction", unbiased ? 1.0 : 0.0);
    const bool keep = vtac_torch_flag(im, "keepdim", false);
    int64_t axes[VTAC_MAX_RANK] = {0};
    uint32_t count;
    if (!axes_of(im, flag ? "none" : "dim", type.rank, axes, &count)) {
        return vtac_torch_none;
    }
    double elements = 1.0;
    for (uint32_t i = 0; i < count; i++) {
        elements *= (double)type.dim[axes[i]];
    }
    const vtac_id mean = vtac_make_reduce(m, VTAC_OP_REDUCE_MEAN, x, axes, count, true);
    const vtac_id apart = vtac_make2(m, VTAC_OP_SUB, x, mean);
    vtac_id y = vtac_make2(m, VTAC_OP_MUL, apart, apart);
    y = vtac_make_reduce(m, VTAC_OP_REDUCE_MEAN, y, axes, count, keep);
    if (less != 0.0) {
        y = vtac_torch_with(im, VTAC_OP_MUL, y, elements / (elements - less));
    }
    return vtac_torch_tensor_of(im, how == 1 ? vtac_make1(m, VTAC_OP_SQRT, y) : y);
}

vtac_torch_value vtac_torch_make_norm(vtac_torch *im, int32_t how)
{
    const vtac_id x = float_in(im, "self");
    const double p = vtac_torch_float(im, how == 1 ? "ord" : "p", 2.0);
    const bool keep = vtac_torch_flag(im, "keepdim", false);
    int64_t axes[VTAC_MAX_RANK] = {0};
    uint32_t count;
    if (!axes_of(im, "dim", vtac_made_type(&im->maker, x).rank, axes, &count)) {
        return vtac_torch_none;
    }
    if (p != 1.0 && p != 2.0) {
        vtac_torch_refuse(im, "a norm of order %g", p);
    }
    const vtac_op op = p == 1.0 ? VTAC_OP_REDUCE_L1 : VTAC_OP_REDUCE_L2;
    return vtac_torch_tensor_of(im, vtac_make_reduce(&im->maker, op, x, axes, count, keep));
}

vtac_torch_value vtac_torch_make_running(vtac_torch *im, int32_t how)
{
    vtac_id x = vtac_torch_in(im, "self");
    const vtac_type type = vtac_made_type(&im->maker, x);
    const vtac_dtype whole = vtac_dtype_kind(type.dtype) == 'f' ? type.dtype : VTAC_I64;
    const int64_t axis = vtac_torch_axis(im, "dim", 0, type.rank);
    x = vtac_make_cast(&im->maker, x, vtac_torch_dtype_arg(im, "dtype", whole));
    const vtac_id in[] = {x, vtac_make_number(&im->maker, VTAC_I64, (double)axis)};
    return vtac_torch_tensor_of(im, vtac_make(&im->maker, (vtac_op)how, in, 2, NULL, 0));
}

/* how: 0 topk, 1 sort, 2 argsort */
vtac_torch_value vtac_torch_make_top(vtac_torch *im, int32_t how)
{
    const vtac_id x = vtac_torch_in(im, "self");
    const vtac_type type = vtac_made_type(&im->maker, x);
    const uint32_t axis = vtac_torch_axis(im, "dim", -1, type.rank);
    const bool largest =
        how == 0 ? vtac_torch_flag(im, "largest", true) : vtac_torch_flag(im, "descending", false);
    const vtac_attr attrs[] = {vtac_attr_of_int("axis", axis), vtac_attr_of_int("largest", largest),
                               vtac_attr_of_int("sorted", 1)};
    const int64_t k = how == 0 ? vtac_torch_int(im, "k", 1) : type.rank == 0 ? 1 : type.dim[axis];
    const vtac_id in[] = {x, vtac_make_ints(&im->maker, &k, 1)};
    vtac_id both[2];
    vtac_make_many(&im->maker, VTAC_OP_TOP_K, in, 2, attrs, 3, both, 2);
    const vtac_torch_value out[] = {vtac_torch_tensor_of(im, both[0]), vtac_torch_tensor_of(im, both[1])};
    return how == 2 ? out[1] : vtac_torch_list_value(im, TORCH_TUPLE, out, 2);
}
