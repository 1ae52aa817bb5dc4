/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators on each element, and over axes.
 */
#include <math.h>
#include <string.h>

#include "import.h"

/* ---- of one operand */

void vtac_tf_import_identity(vtac_tf *im)
{
    for (uint32_t i = 0; i < im->in_count; i++) {
        *vtac_tf_out(im, i) = *im->in[i];
    }
}

void vtac_tf_import_placeholder(vtac_tf *im)
{
    vtac_make_refuse(&im->maker, "an input that only a function has");
}

void vtac_tf_import_constant(vtac_tf *im)
{
    const vtac_tf_attr *attr = vtac_tf_attr_find(im->node, "value");
    if (attr == NULL || attr->tensor == NULL) {
        vtac_make_fail(&im->maker, VTA_INVALID, "a constant without a value");
    } else if (attr->tensor->type.dtype == VTAC_NO_DTYPE) {
        (void)vtac_tf_out(im, 0); /* a text */
    } else {
        vtac_tf_set(im, 0, vtac_make_borrowed(&im->maker, &attr->tensor->type, attr->tensor->data));
    }
}

void vtac_tf_import_unary(vtac_tf *im)
{
    bool planes;
    const vtac_id x = vtac_tf_either(im, 0, &planes);
    vtac_tf_set_either(im, 0, vtac_make1(&im->maker, (vtac_op)im->how, x), planes);
}

/* A number of the same type as x. */
static vtac_id number_like(vtac_tf *im, vtac_id x, double value)
{
    return vtac_make_number(&im->maker, vtac_made_type(&im->maker, x).dtype, value);
}

void vtac_tf_import_formula(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    bool planes;
    const vtac_id x = vtac_tf_either(im, 0, &planes);
    vtac_id y = 0;
    switch (im->how) {
    case TF_RELU6: y = vtac_make_clip(m, x, 0.0, 6.0); break;
    case TF_RSQRT: y = vtac_make1(m, VTAC_OP_RECIPROCAL, vtac_make1(m, VTAC_OP_SQRT, x)); break;
    case TF_SQUARE: y = vtac_make2(m, VTAC_OP_MUL, x, x); break;
    case TF_LOG1P:
        y = vtac_make1(m, VTAC_OP_LOG, vtac_make2(m, VTAC_OP_ADD, x, number_like(im, x, 1.0)));
        break;
    case TF_EXPM1:
        y = vtac_make2(m, VTAC_OP_SUB, vtac_make1(m, VTAC_OP_EXP, x), number_like(im, x, 1.0));
        break;
    case TF_ERFC:
        y = vtac_make2(m, VTAC_OP_SUB, number_like(im, x, 1.0), vtac_make1(m, VTAC_OP_ERF, x));
        break;
    case TF_SWISH: y = vtac_make2(m, VTAC_OP_MUL, x, vtac_make1(m, VTAC_OP_SIGMOID, x)); break;
    case TF_IS_FINITE:
        y = vtac_make1(
            m, VTAC_OP_NOT,
            vtac_make2(m, VTAC_OP_OR, vtac_make1(m, VTAC_OP_IS_INF, x), vtac_make1(m, VTAC_OP_IS_NAN, x)));
        break;
    default: y = vtac_make2(m, VTAC_OP_MUL, x, number_like(im, x, 0.0)); break;
    }
    vtac_tf_set_either(im, 0, y, planes);
}

void vtac_tf_import_leaky_relu(vtac_tf *im)
{
    bool planes;
    const vtac_id x = vtac_tf_either(im, 0, &planes);
    const vtac_attr attr = vtac_attr_of_float("alpha", vtac_tf_real(im->node, "alpha", (double)0.2F));
    vtac_tf_set_either(im, 0, vtac_make(&im->maker, VTAC_OP_LEAKY_RELU, &x, 1, &attr, 1), planes);
}

void vtac_tf_import_cast(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    bool planes;
    vtac_id x = vtac_tf_either(im, 0, &planes);
    const vtac_dtype to = vtac_tf_dtype(vtac_tf_int(im->node, "DstT", 0));
    if (to == VTAC_NO_DTYPE) {
        vtac_make_refuse(&im->maker, "a cast to a type that is not taken");
        return;
    }
    vtac_tf_set_either(im, 0, vtac_make_cast(m, x, to), planes);
}

/* ---- of two operands */

/* Both operands in planes where one is, else both plain. */
static bool read_operands(vtac_tf *im, vtac_id *a, vtac_id *b)
{
    const uint32_t ranks[] = {vtac_tf_type(im, 0).rank, vtac_tf_type(im, 1).rank};
    const bool planes =
        (vtac_tf_in_planes(im, 0) && ranks[1] <= 4) || (vtac_tf_in_planes(im, 1) && ranks[0] <= 4);
    *a = planes ? vtac_tf_over_planes(im, 0) : vtac_tf_plain(im, 0);
    *b = planes ? vtac_tf_over_planes(im, 1) : vtac_tf_plain(im, 1);
    return planes;
}

void vtac_tf_import_binary(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    vtac_id a;
    vtac_id b;
    const bool planes = read_operands(im, &a, &b);
    vtac_id y = m->status == VTA_OK ? vtac_tf_recognize(im, (vtac_op)im->how, a, b) : 0;
    y = y != 0 ? y : vtac_make2(m, (vtac_op)im->how, a, b);
    vtac_tf_set_either(im, 0, y, planes);
}

static bool is_real(const vtac_tf *im, vtac_id x)
{
    return vtac_dtype_kind(vtac_made_type(&im->maker, x).dtype) == 'f';
}

/* Whole numbers towards minus infinity: the remainder has the sign of the divisor. */
static vtac_id floor_mod(vtac_tf *im, vtac_id a, vtac_id b)
{
    vtac_import_builder *m = &im->maker;
    if (!is_real(im, a)) {
        return vtac_make2(m, VTAC_OP_MOD, a, b);
    }
    const vtac_id whole = vtac_make1(m, VTAC_OP_FLOOR, vtac_make2(m, VTAC_OP_DIV, a, b));
    return vtac_make2(m, VTAC_OP_SUB, a, vtac_make2(m, VTAC_OP_MUL, whole, b));
}

static vtac_id truncated_mod(vtac_tf *im, vtac_id a, vtac_id b)
{
    const vtac_attr attr = vtac_attr_of_int("fmod", 1);
    const vtac_id in[] = {a, b};
    return vtac_make(&im->maker, VTAC_OP_MOD, in, 2, &attr, 1);
}

static vtac_id floor_div(vtac_tf *im, vtac_id a, vtac_id b)
{
    vtac_import_builder *m = &im->maker;
    if (is_real(im, a)) {
        return vtac_make1(m, VTAC_OP_FLOOR, vtac_make2(m, VTAC_OP_DIV, a, b));
    }
    return vtac_make2(m, VTAC_OP_DIV, vtac_make2(m, VTAC_OP_SUB, a, floor_mod(im, a, b)), b);
}

/* a / b, or a * b, and 0 where b is 0. */
static vtac_id no_nan(vtac_tf *im, vtac_op op, vtac_id a, vtac_id b)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id zero = number_like(im, b, 0.0);
    const vtac_id none = vtac_make2(m, VTAC_OP_EQUAL, b, zero);
    const vtac_id safe = vtac_make3(m, VTAC_OP_WHERE, none, number_like(im, b, 1.0), b);
    return vtac_make3(m, VTAC_OP_WHERE, none, zero, vtac_make2(m, op, a, safe));
}

/* y, x */
void vtac_tf_import_atan2(vtac_tf *im)
{
    const vtac_type y = vtac_tf_type(im, 0);
    const vtac_type x = vtac_tf_type(im, 1);
    if (im->maker.status == VTA_OK && (y.dtype != x.dtype || (y.dtype != VTAC_F32 && y.dtype != VTAC_F64))) {
        vtac_make_refuse(&im->maker, "numbers of %s and %s", vtac_dtype_name(y.dtype),
                         vtac_dtype_name(x.dtype));
        return;
    }
    vtac_tf_set(im, 0, vtac_make_angle(&im->maker, vtac_tf_plain(im, 0), vtac_tf_plain(im, 1)));
}

void vtac_tf_import_pair(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    vtac_id a;
    vtac_id b;
    const bool planes = read_operands(im, &a, &b);
    vtac_id y = 0;
    switch (im->how) {
    case TF_FLOOR_DIV: y = floor_div(im, a, b); break;
    case TF_FLOOR_MOD: y = floor_mod(im, a, b); break;
    case TF_MOD: y = truncated_mod(im, a, b); break;
    case TF_DIV_NO_NAN: y = no_nan(im, VTAC_OP_DIV, a, b); break;
    case TF_MUL_NO_NAN: y = no_nan(im, VTAC_OP_MUL, a, b); break;
    case TF_NOT_EQUAL: y = vtac_make1(m, VTAC_OP_NOT, vtac_make2(m, VTAC_OP_EQUAL, a, b)); break;
    default:
        y = vtac_make2(m, VTAC_OP_SUB, a, b);
        y = vtac_make2(m, VTAC_OP_MUL, y, y);
        break;
    }
    vtac_tf_set_either(im, 0, y, planes);
}

/* x and one number for each channel. */
void vtac_tf_import_bias_add(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tf_type(im, 0);
    const vtac_type bias = vtac_tf_type(im, 1);
    if (m->status != VTA_OK || bias.rank != 1 || x.rank < 2) {
        vtac_make_fail(m, VTA_INVALID, "a bias of rank %u for rank %u", bias.rank, x.rank);
        return;
    }
    if (vtac_tf_channels_first(im) && x.rank > 2) {
        int64_t dims[VTAC_MAX_RANK] = {bias.dim[0]};
        for (uint32_t i = 2; i < x.rank; i++) {
            dims[i - 1] = 1;
        }
        const vtac_id b = vtac_make_reshape(m, vtac_tf_plain(im, 1), dims, x.rank - 1);
        vtac_tf_set(im, 0, vtac_make2(m, VTAC_OP_ADD, vtac_tf_plain(im, 0), b));
        return;
    }
    im->how = VTAC_OP_ADD;
    vtac_tf_import_binary(im);
}

void vtac_tf_import_add_n(vtac_tf *im)
{
    vtac_id sum = vtac_tf_plain(im, 0);
    for (uint32_t i = 1; i < im->in_count; i++) {
        sum = vtac_make2(&im->maker, VTAC_OP_ADD, sum, vtac_tf_plain(im, i));
    }
    vtac_tf_set(im, 0, sum);
}

/* Select: a condition of rank 1 chooses whole rows. */
void vtac_tf_import_select(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tf_type(im, 1);
    vtac_type condition = vtac_tf_type(im, 0);
    vtac_id c = vtac_tf_plain(im, 0);
    if (im->how == TF_ROWS && condition.rank == 1 && x.rank > 1) {
        int64_t dims[VTAC_MAX_RANK] = {condition.dim[0], 1, 1, 1, 1, 1, 1, 1};
        c = vtac_make_reshape(m, c, dims, x.rank);
    }
    vtac_tf_set(im, 0, vtac_make3(m, VTAC_OP_WHERE, c, vtac_tf_plain(im, 1), vtac_tf_plain(im, 2)));
}

void vtac_tf_import_prelu(vtac_tf *im)
{
    vtac_id x;
    vtac_id slope;
    const bool planes = read_operands(im, &x, &slope);
    vtac_tf_set_either(im, 0, vtac_make2(&im->maker, VTAC_OP_PRELU, x, slope), planes);
}

void vtac_tf_import_clip(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    bool planes;
    vtac_id y = vtac_tf_either(im, 0, &planes);
    double low;
    double high;
    if (!vtac_tf_known_real(im, 1, &low) || !vtac_tf_known_real(im, 2, &high) ||
        vtac_tf_type(im, 1).rank > 0 || vtac_tf_type(im, 2).rank > 0) {
        y = vtac_make2(m, VTAC_OP_MAX, vtac_tf_plain(im, 0), vtac_tf_plain(im, 1));
        vtac_tf_set(im, 0, vtac_make2(m, VTAC_OP_MIN, y, vtac_tf_plain(im, 2)));
        return;
    }
    vtac_tf_set_either(im, 0, vtac_make_clip(m, y, low, high), planes);
}

/* ---- over axes */

static uint32_t read_axes(vtac_tf *im, uint32_t rank, bool planes, int64_t *axes)
{
    int64_t given[VTAC_MAX_RANK];
    uint32_t used = 0;
    const uint32_t count = vtac_tf_known_ints(im, 1, "axes", given, VTAC_MAX_RANK);
    for (uint32_t i = 0; i < count; i++) {
        const int64_t axis = vtac_tf_axis(im, given[i], rank, planes);
        bool again = false;
        for (uint32_t k = 0; k < used; k++) {
            again = again || axes[k] == axis;
        }
        axes[used] = axis;
        used += again ? 0 : 1;
    }
    return used;
}

static bool is_plane(const int64_t *axes, uint32_t count)
{
    return count == 2 && axes[0] + axes[1] == 5 && (axes[0] == 2 || axes[0] == 3);
}

static vtac_id reduce_value(vtac_tf *im, vtac_id x, const int64_t *axes, uint32_t count, bool keep)
{
    vtac_import_builder *m = &im->maker;
    const vtac_dtype dtype = vtac_made_type(m, x).dtype;
    if (im->how == VTAC_OP_REDUCE_MEAN && vtac_dtype_kind(dtype) != 'f' && count > 0) {
        vtac_make_refuse(&im->maker, "a mean of whole numbers (%s)", vtac_dtype_name(dtype));
        return 0;
    }
    if (dtype == VTAC_BOOL) { /* all is the minimum, any the maximum */
        return vtac_make_cast(
            m, vtac_make_reduce(m, (vtac_op)im->how, vtac_make_cast(m, x, VTAC_I32), axes, count, keep),
            VTAC_BOOL);
    }
    return vtac_make_reduce(m, (vtac_op)im->how, x, axes, count, keep);
}

void vtac_tf_import_reduce(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    bool planes;
    vtac_id x = vtac_tf_either(im, 0, &planes);
    const vtac_tf_attr *attr = vtac_tf_attr_find(im->node, "keep_dims");
    const bool keep = attr != NULL ? attr->number != 0 : vtac_tf_int(im->node, "keepdims", 0) != 0;
    int64_t axes[VTAC_MAX_RANK];
    const uint32_t rank = vtac_made_type(m, x).rank;
    uint32_t count = read_axes(im, rank, planes, axes);
    if (planes && is_plane(axes, count) && im->how == VTAC_OP_REDUCE_MEAN) {
        const int64_t dims[] = {vtac_made_type(m, x).dim[0], vtac_made_type(m, x).dim[1]};
        const vtac_id y = vtac_make1(m, VTAC_OP_GLOBAL_AVERAGE_POOL, x);
        vtac_tf_set_either(im, 0, keep ? y : vtac_make_reshape(m, y, dims, 2), keep);
        return;
    }
    if (planes && !keep) { /* the axes that stay keep their order */
        x = vtac_tf_plain(im, 0);
        count = read_axes(im, rank, false, axes);
        planes = false;
    }
    vtac_tf_set_either(im, 0, reduce_value(im, x, axes, count, keep), planes);
}

void vtac_tf_import_arg(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    bool planes;
    const vtac_id x = vtac_tf_either(im, 0, &planes);
    const vtac_type type = vtac_tf_type(im, 0);
    const int64_t given = im->in_count > 1 ? vtac_tf_known_int(im, 1, "axis") : 0;
    const uint32_t axis = vtac_tf_axis(im, given, type.rank, planes);
    const vtac_attr attrs[] = {vtac_attr_of_int("axis", axis), vtac_attr_of_int("keepdims", 1)};
    vtac_id y = vtac_make(m, (vtac_op)im->how, &x, 1, attrs, 2);
    y = planes ? vtac_make_transpose(m, y, (int64_t[]){0, 2, 3, 1}, 4) : y;
    int64_t dims[VTAC_MAX_RANK];
    uint32_t used = 0;
    for (uint32_t i = 0; i < type.rank; i++) {
        if (i != vtac_tf_axis(im, given, type.rank, false)) {
            dims[used++] = type.dim[i];
        }
    }
    y = vtac_make_reshape(m, y, dims, used);
    vtac_tf_set(im, 0, vtac_make_cast(m, y, vtac_tf_dtype(vtac_tf_int(im->node, "output_type", 9))));
}

void vtac_tf_import_softmax(vtac_tf *im)
{
    bool planes;
    const vtac_id x = vtac_tf_either(im, 0, &planes);
    const uint32_t rank = vtac_tf_type(im, 0).rank;
    const vtac_attr attr = vtac_attr_of_int("axis", vtac_tf_axis(im, -1, rank, planes));
    vtac_tf_set_either(im, 0, vtac_make(&im->maker, (vtac_op)im->how, &x, 1, &attr, 1), planes);
}

void vtac_tf_import_cumsum(vtac_tf *im)
{
    const int64_t axis = vtac_tf_known_int(im, 1, "axis");
    const vtac_attr attrs[] = {vtac_attr_of_int("exclusive", vtac_tf_int(im->node, "exclusive", 0)),
                               vtac_attr_of_int("reverse", vtac_tf_int(im->node, "reverse", 0))};
    const vtac_id in[] = {vtac_tf_plain(im, 0), vtac_make_ints(&im->maker, &axis, 1)};
    vtac_tf_set(im, 0, vtac_make(&im->maker, (vtac_op)im->how, in, 2, attrs, 2));
}

/* The mask of a dropout: random numbers and a rate, rounded down or compared. At inference all is kept. */
void vtac_tf_import_dropout_mask(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    if (!im->in[0]->random) {
        im->how == VTAC_OP_FLOOR ? vtac_tf_import_unary(im) : vtac_tf_import_binary(im);
        return;
    }
    vtac_import_note(im->options, "node '%.200s' drops nothing: dropout is for training", im->node->name);
    const vtac_type type = vtac_tf_type(im, 0);
    const vtac_id one = vtac_make_number(m, im->how == VTAC_OP_FLOOR ? type.dtype : VTAC_BOOL, 1.0);
    vtac_tf_set(im, 0, vtac_make2(m, VTAC_OP_EXPAND, one, vtac_make_ints(m, type.dim, type.rank)));
}

/* Random numbers are for dropout alone; an output that depends on them otherwise is refused. */
void vtac_tf_import_random(vtac_tf *im)
{
    int64_t dims[VTAC_MAX_RANK];
    const uint32_t rank = vtac_tf_known_ints(im, 0, "shape", dims, VTAC_MAX_RANK);
    vtac_import_builder *m = &im->maker;
    const vtac_id zero = vtac_make_number(m, VTAC_F32, 0.0);
    vtac_tf_set(im, 0, vtac_make2(m, VTAC_OP_EXPAND, zero, vtac_make_ints(m, dims, rank)));
    vtac_tf_out(im, 0)->random = true;
}
