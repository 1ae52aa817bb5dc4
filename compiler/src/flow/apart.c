/* SPDX-License-Identifier: Apache-2.0
 *
 * The proof that the rows of a batch do not meet. The model is imported at two sizes of the batch; both
 * graphs must have the same nodes. The axis of the batch in a value is the one on which the two types differ.
 * For each node a rule says whether a row of its outputs depends on that row of its inputs alone; a node
 * without a rule does not pass. An axis may hold the batch together with others (steps in front of it, heads
 * behind it): it then has `front` times the batch times what is left, in this order.
 */
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vtac/flow.h"

enum { NO_AXIS = -1, MANY_AXES = -2 };

typedef struct batch_walk {
    const vtac_graph *one, *many;
    vtac_value_id *other; /* of each value of `one`: the value of `many`; 0: not met yet */
    int *axis;            /* of each value of `one` */
    int64_t *front;       /* of each value: places of its axis in front of the batch */
} batch_walk;

/* A node at a batch of one. */
typedef struct batch_node {
    const batch_walk *walk;
    const vtac_node *one;
} batch_node;

static int in_axis(const batch_node *n, uint32_t i)
{
    return i < n->one->input_count ? n->walk->axis[n->one->inputs[i]] : NO_AXIS;
}

static int out_axis(const batch_node *n)
{
    return n->walk->axis[n->one->outputs[0]];
}

static const vtac_type *in_type(const batch_node *n, uint32_t i)
{
    return vtac_in_type(n->walk->one, n->one, i);
}

static const vtac_type *out_type(const batch_node *n)
{
    return &n->walk->one->values[n->one->outputs[0]].type;
}

static int in_rank(const batch_node *n, uint32_t i)
{
    const vtac_type *type = in_type(n, i);
    return type != NULL ? (int)type->rank : 0;
}

/* An attribute that is an axis, counted from the front. */
static int axis_attr(const batch_node *n, int64_t otherwise, int rank)
{
    const int64_t axis = vtac_attr_int(n->one, "axis", otherwise);
    return (int)(axis < 0 ? axis + rank : axis);
}

/* No input from `first` on has the batch. */
static bool is_alone(const batch_node *n, uint32_t first)
{
    bool alone = true;
    for (uint32_t i = first; i < n->one->input_count; i++) {
        alone = alone && in_axis(n, i) == NO_AXIS;
    }
    return alone;
}

/* All outputs that are there have the batch on that axis. */
static bool gives_axis(const batch_node *n, int axis)
{
    bool same = true;
    for (uint32_t i = 0; i < n->one->output_count; i++) {
        const vtac_value_id id = n->one->outputs[i];
        same = same && (n->walk->one->values[id].type.dtype == VTAC_NO_DTYPE || n->walk->axis[id] == axis);
    }
    return same;
}

/* ---- rules: true if rows do not meet in the node */

typedef bool batch_rule(const batch_node *n);

/* Elements of one place, as they broadcast: the batch is equally far from the last axis everywhere. */
static bool is_pointwise(const batch_node *n)
{
    const int from_end = (int)out_type(n)->rank - out_axis(n);
    bool same = true;
    for (uint32_t i = 0; i < n->one->input_count; i++) {
        same = same && (in_axis(n, i) == NO_AXIS || in_rank(n, i) - in_axis(n, i) == from_end);
    }
    return same && gives_axis(n, out_axis(n));
}

/* Another shape over the same elements: as many places lie in front of the batch as before, and those of a
 * row in one axis. */
static bool is_reshaped(const batch_node *n)
{
    const int axis = out_axis(n);
    int64_t before = in_axis(n, 0) != NO_AXIS ? n->walk->front[n->one->inputs[0]] : 0, after = 1;
    for (int i = 0; i < in_axis(n, 0); i++) {
        before *= in_type(n, 0)->dim[i];
    }
    for (int i = 0; i < axis; i++) {
        after *= out_type(n)->dim[i];
    }
    const int64_t front = after > 0 ? before / after : 0;
    n->walk->front[n->one->outputs[0]] = front;
    return front > 0 && before % after == 0 && out_type(n)->dim[axis] % front == 0;
}

/* The first axis is the batch, as convolutions and pools have it. A second output has places within the whole
 * input. */
static bool is_first(const batch_node *n)
{
    return in_axis(n, 0) == 0 && is_alone(n, 1) && out_axis(n) == 0 && n->one->output_count == 1;
}

static bool is_resized(const batch_node *n)
{
    const char *mode = vtac_attr_string(n->one, "coordinate_transformation_mode", "half_pixel");
    return is_first(n) && in_type(n, 0)->dim[0] == out_type(n)->dim[0] &&
           strcmp(mode, "tf_crop_and_resize") != 0;
}

static bool is_sampled(const batch_node *n)
{
    return in_axis(n, VTAC_GRID_SAMPLE_X) == 0 && in_axis(n, VTAC_GRID_SAMPLE_GRID) == 0 && out_axis(n) == 0;
}

/* Sums along another axis, which keeps all of them. */
static bool is_along(const batch_node *n, int axis)
{
    return in_axis(n, 0) != NO_AXIS && in_axis(n, 0) != axis && is_alone(n, 1) &&
           gives_axis(n, in_axis(n, 0));
}

static bool is_along_last(const batch_node *n)
{
    return is_along(n, axis_attr(n, -1, in_rank(n, 0)));
}

static bool is_summed_up(const batch_node *n)
{
    const vtac_tensor *axis = vtac_in_constant(n->walk->one, n->one, VTAC_CUM_SUM_AXIS);
    const int64_t at = axis != NULL ? vtac_tensor_int(axis, 0) : 0;
    return axis != NULL && is_along(n, (int)(at < 0 ? at + in_rank(n, 0) : at));
}

/* Normalized from an axis on to the last. */
static bool is_normalized(const batch_node *n)
{
    const int axis = axis_attr(n, -1, in_rank(n, VTAC_NORM_X));
    return in_axis(n, VTAC_NORM_X) != NO_AXIS && in_axis(n, VTAC_NORM_X) < axis && is_alone(n, 1) &&
           gives_axis(n, in_axis(n, VTAC_NORM_X));
}

/* The axis of the batch once the reduced axes are gone; `reduced` has a bit for each. */
static bool is_behind(const batch_node *n, uint32_t reduced)
{
    const int axis = in_axis(n, 0);
    if (axis == NO_AXIS || (reduced >> axis & 1) != 0) {
        return false;
    }
    const bool kept = vtac_attr_int(n->one, "keepdims", 1) != 0;
    const int gone = kept ? 0 : __builtin_popcount(reduced & ((1U << axis) - 1));
    return is_alone(n, 1) && gives_axis(n, axis - gone);
}

static bool is_reduced(const batch_node *n)
{
    const vtac_tensor *axes = vtac_in_constant(n->walk->one, n->one, VTAC_REDUCE_AXES);
    uint32_t reduced = 0;
    const int64_t count = axes != NULL ? vtac_type_elements(&axes->type) : 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t axis = vtac_tensor_int(axes, i);
        reduced |= 1U << (axis < 0 ? axis + in_rank(n, 0) : axis);
    }
    return count > 0 && is_behind(n, reduced);
}

static bool is_searched(const batch_node *n)
{
    return is_behind(n, 1U << axis_attr(n, 0, in_rank(n, 0)));
}

/* Joined or cut along another axis. */
static bool is_beside(const batch_node *n)
{
    const int axis = axis_attr(n, 0, (int)out_type(n)->rank);
    bool same = true;
    for (uint32_t i = 0; i < n->one->input_count; i++) {
        same = same && (in_axis(n, i) == NO_AXIS || in_axis(n, i) == out_axis(n));
    }
    return same && out_axis(n) != axis && gives_axis(n, out_axis(n));
}

static bool is_gathered(const batch_node *n)
{
    const int data = in_axis(n, VTAC_GATHER_DATA), indices = in_axis(n, VTAC_GATHER_INDICES);
    const int axis = axis_attr(n, 0, in_rank(n, VTAC_GATHER_DATA));
    if (data == NO_AXIS) {
        return out_axis(n) == axis + indices;
    }
    return indices == NO_AXIS && data != axis &&
           out_axis(n) == (data < axis ? data : data + in_rank(n, VTAC_GATHER_INDICES) - 1);
}

static bool is_gathered_by_place(const batch_node *n)
{
    const int axis = axis_attr(n, 0, in_rank(n, VTAC_GATHER_DATA));
    return in_axis(n, VTAC_GATHER_DATA) == in_axis(n, VTAC_GATHER_INDICES) &&
           in_axis(n, VTAC_GATHER_DATA) == out_axis(n) && out_axis(n) != axis;
}

/* A list of a Slice at both sizes; false: it is not known, or of another length than `count`. */
static bool find_list(const batch_node *n, uint32_t input, int64_t count, const vtac_tensor **one,
                      const vtac_tensor **many)
{
    *one = vtac_in_constant(n->walk->one, n->one, input);
    *many = n->walk->many->values[n->walk->other[n->one->inputs[input]]].constant;
    return *one != NULL && *many != NULL && vtac_type_equal(&(*one)->type, &(*many)->type) &&
           vtac_type_elements(&(*one)->type) == count;
}

/* Cut on other axes; on that of the batch all of it, in its order. */
static bool is_sliced(const batch_node *n)
{
    const int axis = in_axis(n, VTAC_SLICE_X);
    const vtac_tensor *starts = vtac_in_constant(n->walk->one, n->one, VTAC_SLICE_STARTS);
    const int64_t count = starts != NULL ? vtac_type_elements(&starts->type) : 0;
    if (axis == NO_AXIS || axis != out_axis(n) || starts == NULL ||
        in_type(n, VTAC_SLICE_X)->dim[axis] != out_type(n)->dim[axis]) {
        return false;
    }
    const vtac_tensor *axes = NULL, *steps = NULL, *one, *many;
    const bool has_axes = in_type(n, VTAC_SLICE_AXES) != NULL,
               has_steps = in_type(n, VTAC_SLICE_STEPS) != NULL;
    if ((has_axes && !find_list(n, VTAC_SLICE_AXES, count, &axes, &many)) ||
        (has_steps && !find_list(n, VTAC_SLICE_STEPS, count, &steps, &many))) {
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = axes != NULL ? vtac_tensor_int(axes, i) : i;
        const bool is_batch = (at < 0 ? at + in_rank(n, VTAC_SLICE_X) : at) == axis;
        if (is_batch && steps != NULL && vtac_tensor_int(steps, i) != 1) {
            return false;
        }
        for (uint32_t k = VTAC_SLICE_STARTS; k <= VTAC_SLICE_STEPS && !is_batch; k++) {
            if (in_type(n, k) != NULL && (!find_list(n, k, count, &one, &many) ||
                                          vtac_tensor_int(one, i) != vtac_tensor_int(many, i))) {
                return false;
            }
        }
    }
    return true;
}

static bool is_padded(const batch_node *n)
{
    const int axis = in_axis(n, VTAC_PAD_X), rank = in_rank(n, VTAC_PAD_X);
    const vtac_tensor *pads = vtac_in_constant(n->walk->one, n->one, VTAC_PAD_PADS);
    return axis != NO_AXIS && axis == out_axis(n) && in_type(n, VTAC_PAD_AXES) == NULL && is_alone(n, 1) &&
           pads != NULL && vtac_type_elements(&pads->type) == 2 * (int64_t)rank &&
           vtac_tensor_int(pads, axis) == 0 && vtac_tensor_int(pads, axis + rank) == 0;
}

static bool is_transposed(const batch_node *n)
{
    const vtac_attr *perm = vtac_find_attr(n->one, "perm");
    const int rank = in_rank(n, 0), axis = out_axis(n);
    const int64_t from = perm != NULL && perm->kind == VTAC_ATTR_INTS && (int)perm->count == rank
                             ? perm->ints[axis]
                             : rank - 1 - axis;
    return from == in_axis(n, 0);
}

/* Repeated on other axes; what has no batch is repeated for each row. */
static bool is_tiled(const batch_node *n)
{
    const int axis = in_axis(n, VTAC_TILE_X);
    return axis == NO_AXIS ||
           (axis == out_axis(n) && in_type(n, VTAC_TILE_X)->dim[axis] == out_type(n)->dim[axis]);
}

static bool is_one_hot(const batch_node *n)
{
    const int indices = in_axis(n, VTAC_ONE_HOT_INDICES);
    const int axis = axis_attr(n, -1, (int)out_type(n)->rank);
    return indices != NO_AXIS && is_alone(n, 1) && out_axis(n) == indices + (axis <= indices);
}

static bool is_triangle(const batch_node *n)
{
    const int axis = in_axis(n, VTAC_TRILU_X);
    return axis != NO_AXIS && axis == out_axis(n) && axis < in_rank(n, VTAC_TRILU_X) - 2 && is_alone(n, 1);
}

/* A product of inputs `a` and `b`: the batch is one of matrices, or rows of the first, or columns of the
 * second. */
static bool is_product(const batch_node *n, uint32_t a, uint32_t b)
{
    const int rank = (int)out_type(n)->rank, rows = in_rank(n, a) - 2, columns = in_rank(n, b) - 1;
    const int axis_a = in_axis(n, a), axis_b = in_axis(n, b);
    if (rows < 0 || columns < 1 || axis_a == rows + 1 || axis_b == columns - 1 ||
        (axis_a == rows && axis_b != NO_AXIS) || (axis_b == columns && axis_a != NO_AXIS)) {
        return false;
    }
    for (uint32_t i = 0; i < n->one->input_count; i++) {
        const bool factor = i == a || i == b;
        if (in_axis(n, i) != NO_AXIS && (!factor || in_axis(n, i) + rank - in_rank(n, i) != out_axis(n))) {
            return false;
        }
    }
    return true;
}

static bool is_matmul(const batch_node *n)
{
    return is_product(n, VTAC_MATMUL_A, VTAC_MATMUL_B);
}

static bool is_quantized_matmul(const batch_node *n)
{
    return is_product(n, VTAC_QLINEAR_PAIR_A, VTAC_QLINEAR_PAIR_B);
}

/* Rows of the first factor, and of the addend `c` where it has any. */
static bool is_dense(const batch_node *n, uint32_t c)
{
    const int rows = vtac_attr_int(n->one, "transA", 0) != 0 ? 1 : 0;
    bool alone = true;
    for (uint32_t i = 1; i < n->one->input_count; i++) {
        alone = alone && (in_axis(n, i) == NO_AXIS || (i == c && in_rank(n, i) == 2 && in_axis(n, i) == 0));
    }
    return alone && in_axis(n, 0) == rows && out_axis(n) == 0;
}

static bool is_gemm(const batch_node *n)
{
    return is_dense(n, VTAC_GEMM_C);
}

static bool is_quantized_gemm(const batch_node *n)
{
    return is_dense(n, VTAC_QGEMM_C);
}

/* Steps in front of the batch, and in its output directions, too. */
static bool is_recurrent(const batch_node *n)
{
    static const int axes[VTAC_RECURRENT_INPUTS] = {
        [VTAC_RECURRENT_X] = 1,         [VTAC_RECURRENT_W] = NO_AXIS, [VTAC_RECURRENT_R] = NO_AXIS,
        [VTAC_RECURRENT_B] = NO_AXIS,   [VTAC_RECURRENT_LENGTHS] = 0, [VTAC_RECURRENT_INITIAL_H] = 1,
        [VTAC_RECURRENT_INITIAL_C] = 1, [VTAC_RECURRENT_P] = NO_AXIS,
    };
    bool good = vtac_attr_int(n->one, "layout", 0) == 0;
    for (uint32_t i = 0; i < n->one->input_count; i++) {
        good = good && (in_type(n, i) == NULL || in_axis(n, i) == axes[i]);
    }
    for (uint32_t i = 0; i < n->one->output_count; i++) {
        const vtac_value_id id = n->one->outputs[i];
        good = good && (n->walk->one->values[id].type.dtype == VTAC_NO_DTYPE ||
                        n->walk->axis[id] == (i == VTAC_RECURRENT_Y ? 2 : 1));
    }
    return good;
}

#define EXPR(op)         is_pointwise
#define UNARY(fn)        is_pointwise
#define POINT(fn)        is_pointwise
#define MAP(fn)          NULL
#define CUSTOM(fn, text) NULL
#define SOLO(fn, text)   NULL
#define ALIAS            is_reshaped
#define FOLDED(text)     NULL
static batch_rule *const by_lowering[] = {
#define VTAC_OP(id, name, domain, since, in_min, in_max, out, operands, infer, traits, fold, lowering, ...)  \
    lowering,
#include "vtac/ops.def"
};

/* Operators with a rule of their own. `sizes`: inputs that are sizes, and may follow the batch, a bit each.
 */
static const struct {
    vtac_op op;
    batch_rule *rule;
    uint32_t sizes;
} rules[] = {
    {VTAC_OP_ARG_MAX, is_searched, 0},
    {VTAC_OP_ARG_MIN, is_searched, 0},
    {VTAC_OP_AVERAGE_POOL, is_first, 0},
    {VTAC_OP_CONCAT, is_beside, 0},
    {VTAC_OP_CONV, is_first, 0},
    {VTAC_OP_CONV_INTEGER, is_first, 0},
    {VTAC_OP_CONV_TRANSPOSE, is_first, 0},
    {VTAC_OP_CUM_PROD, is_summed_up, 0},
    {VTAC_OP_CUM_SUM, is_summed_up, 0},
    {VTAC_OP_DEPTH_TO_SPACE, is_first, 0},
    {VTAC_OP_EXPAND, is_pointwise, 1U << VTAC_EXPAND_SHAPE},
    {VTAC_OP_GATHER, is_gathered, 0},
    {VTAC_OP_GATHER_ELEMENTS, is_gathered_by_place, 0},
    {VTAC_OP_GEMM, is_gemm, 0},
    {VTAC_OP_GLOBAL_AVERAGE_POOL, is_first, 0},
    {VTAC_OP_GLOBAL_LP_POOL, is_first, 0},
    {VTAC_OP_GLOBAL_MAX_POOL, is_first, 0},
    {VTAC_OP_GRID_SAMPLE, is_sampled, 0},
    {VTAC_OP_GROUP_NORMALIZATION, is_first, 0},
    {VTAC_OP_GRU, is_recurrent, 0},
    {VTAC_OP_HARDMAX, is_along_last, 0},
    {VTAC_OP_INSTANCE_NORMALIZATION, is_first, 0},
    {VTAC_OP_LAYER_NORMALIZATION, is_normalized, 0},
    {VTAC_OP_LOG_SOFTMAX, is_along_last, 0},
    {VTAC_OP_LP_NORMALIZATION, is_along_last, 0},
    {VTAC_OP_LP_POOL, is_first, 0},
    {VTAC_OP_LRN, is_first, 0},
    {VTAC_OP_LSTM, is_recurrent, 0},
    {VTAC_OP_MATMUL, is_matmul, 0},
    {VTAC_OP_MATMUL_INTEGER, is_matmul, 0},
    {VTAC_OP_MAX_POOL, is_first, 0},
    {VTAC_OP_ONE_HOT, is_one_hot, 0},
    {VTAC_OP_PAD, is_padded, 0},
    {VTAC_OP_QGEMM, is_quantized_gemm, 0},
    {VTAC_OP_QLINEAR_AVERAGE_POOL, is_first, 0},
    {VTAC_OP_QLINEAR_CONCAT, is_beside, 0},
    {VTAC_OP_QLINEAR_CONV, is_first, 0},
    {VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL, is_first, 0},
    {VTAC_OP_QLINEAR_MATMUL, is_quantized_matmul, 0},
    {VTAC_OP_QLINEAR_SOFTMAX, is_along_last, 0},
    {VTAC_OP_REDUCE_L1, is_reduced, 0},
    {VTAC_OP_REDUCE_L2, is_reduced, 0},
    {VTAC_OP_REDUCE_LOG_SUM, is_reduced, 0},
    {VTAC_OP_REDUCE_LOG_SUM_EXP, is_reduced, 0},
    {VTAC_OP_REDUCE_MAX, is_reduced, 0},
    {VTAC_OP_REDUCE_MEAN, is_reduced, 0},
    {VTAC_OP_REDUCE_MIN, is_reduced, 0},
    {VTAC_OP_REDUCE_PROD, is_reduced, 0},
    {VTAC_OP_REDUCE_SUM, is_reduced, 0},
    {VTAC_OP_REDUCE_SUM_SQUARE, is_reduced, 0},
    {VTAC_OP_RESHAPE, is_reshaped, 1U << VTAC_RESHAPE_SHAPE},
    {VTAC_OP_RESIZE, is_resized, 1U << VTAC_RESIZE_SIZES},
    {VTAC_OP_RMS_NORMALIZATION, is_normalized, 0},
    {VTAC_OP_RNN, is_recurrent, 0},
    {VTAC_OP_SLICE, is_sliced,
     1U << VTAC_SLICE_STARTS | 1U << VTAC_SLICE_ENDS | 1U << VTAC_SLICE_AXES | 1U << VTAC_SLICE_STEPS},
    {VTAC_OP_SOFTMAX, is_along_last, 0},
    {VTAC_OP_SPACE_TO_DEPTH, is_first, 0},
    {VTAC_OP_SPLIT, is_beside, 0},
    {VTAC_OP_TILE, is_tiled, 1U << VTAC_TILE_REPEATS},
    {VTAC_OP_TOP_K, is_along_last, 0},
    {VTAC_OP_TRANSPOSE, is_transposed, 0},
    {VTAC_OP_TRILU, is_triangle, 0},
};

/* ---- values */

static int find_axis(const vtac_type *one, const vtac_type *many)
{
    int axis = one->dtype == many->dtype && one->rank == many->rank ? NO_AXIS : MANY_AXES;
    for (uint32_t i = 0; axis != MANY_AXES && i < one->rank; i++) {
        if (one->dim[i] == many->dim[i]) {
            continue;
        }
        axis = axis == NO_AXIS && one->dim[i] * VTAC_MANY_ROWS == many->dim[i] ? (int)i : MANY_AXES;
    }
    return axis;
}

/* Notes that a value of one graph stands where that of the other does; false: it has met another there. */
static bool pair_values(const batch_walk *w, vtac_value_id one, vtac_value_id many)
{
    if (one == 0 || many == 0 || w->other[one] != 0) {
        return one == 0 ? many == 0 : w->other[one] == many;
    }
    w->other[one] = many;
    w->axis[one] = find_axis(&w->one->values[one].type, &w->many->values[many].type);
    return true;
}

/* A constant is the same for all rows: the same at both sizes, or repeated for each. */
static bool is_same_for_rows(const batch_walk *w, vtac_value_id id)
{
    const vtac_tensor *one = w->one->values[id].constant, *many = w->many->values[w->other[id]].constant;
    if (one == NULL || many == NULL) {
        return one == many;
    }
    const int axis = w->axis[id];
    size_t block = one->bytes, outer = 1;
    for (int i = 0; i < axis; i++) {
        outer *= (size_t)one->type.dim[i];
    }
    block /= outer > 0 ? outer : 1;
    const size_t repeats = axis == NO_AXIS ? 1 : (size_t)VTAC_MANY_ROWS;
    bool same = one->bytes * repeats == many->bytes;
    for (size_t i = 0; same && i < outer * repeats; i++) {
        same = memcmp((const uint8_t *)many->data + i * block,
                      (const uint8_t *)one->data + i / repeats * block, block) == 0;
    }
    return same;
}

/* ---- nodes */

/* The rule of an operator, and its inputs that are sizes. */
static batch_rule *find_rule(vtac_op op, uint32_t *sizes)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].op == op) {
            *sizes = rules[i].sizes;
            return rules[i].rule;
        }
    }
    *sizes = 0;
    return by_lowering[op];
}

/* The batch in a node: in its inputs, and how many places in front of it there, which must be the same in
 * all; in its outputs. */
typedef struct batch_uses {
    bool in, out, good;
    int64_t front;
} batch_uses;

static batch_uses find_uses(const batch_node *n, uint32_t sizes)
{
    batch_uses u = {.good = true, .front = 1};
    for (uint32_t i = 0; u.good && i < n->one->input_count; i++) {
        const vtac_value_id id = n->one->inputs[i];
        if (i < 32 && (sizes >> i & 1) != 0 && vtac_in_constant(n->walk->one, n->one, i) != NULL) {
            continue;
        }
        u.good = in_axis(n, i) != MANY_AXES && is_same_for_rows(n->walk, id) &&
                 (!u.in || in_axis(n, i) == NO_AXIS || n->walk->front[id] == u.front);
        if (in_axis(n, i) != NO_AXIS) {
            u.in = true;
            u.front = n->walk->front[id];
        }
    }
    for (uint32_t i = 0; u.good && i < n->one->output_count; i++) {
        const int axis = n->walk->axis[n->one->outputs[i]];
        u.good = axis != MANY_AXES;
        u.out = u.out || axis != NO_AXIS;
    }
    return u;
}

static bool passes(const batch_node *n)
{
    uint32_t sizes;
    batch_rule *rule = find_rule(n->one->op, &sizes);
    const batch_uses u = find_uses(n, sizes);
    for (uint32_t i = 0; u.good && i < n->one->output_count; i++) {
        n->walk->front[n->one->outputs[i]] = u.front;
    }
    return u.good && ((!u.in && !u.out) || (rule != NULL && out_axis(n) != NO_AXIS && rule(n)));
}

/* Pairs the values of two nodes: the inputs, of which only constants may be new, and the outputs. */
static bool pair_nodes(const batch_walk *w, const vtac_node *one, const vtac_node *many)
{
    bool same = vtac_same_form(one, many);
    for (uint32_t i = 0; same && i < one->input_count; i++) {
        const vtac_value_id id = one->inputs[i];
        same = (w->other[id] != 0 || id == 0 || w->one->values[id].constant != NULL) &&
               pair_values(w, id, many->inputs[i]);
    }
    for (uint32_t i = 0; same && i < one->output_count; i++) {
        same = pair_values(w, one->outputs[i], many->outputs[i]);
    }
    return same;
}

static bool are_apart(const batch_walk *w)
{
    const vtac_graph *a = w->one, *b = w->many;
    bool apart = a->order_count == b->order_count && a->input_count == b->input_count &&
                 a->output_count == b->output_count && a->state_count == 0 && a->named_state_count == 0;
    for (uint32_t i = 0; apart && i < a->input_count; i++) {
        apart = pair_values(w, a->inputs[i], b->inputs[i]);
    }
    for (uint32_t i = 0; apart && i < a->order_count; i++) {
        const batch_node n = {w, &a->nodes[a->order[i]]};
        apart = pair_nodes(w, n.one, &b->nodes[b->order[i]]) && passes(&n);
    }
    for (uint32_t i = 0; apart && i < a->output_count; i++) {
        const vtac_value_id id = a->outputs[i];
        apart =
            w->other[id] == b->outputs[i] && w->axis[id] >= 0 && w->front[id] == 1 && a->values[id].node != 0;
    }
    return apart;
}

vta_status vtac_rows_apart(const vtac_graph *one, const vtac_graph *many, int **axis, bool *apart,
                           vta_diag *diag)
{
    const size_t values = one->value_count + (size_t)1;
    batch_walk w = {one, many, calloc(values, sizeof(vtac_value_id)), malloc(values * sizeof(int)),
                    malloc(values * sizeof(int64_t))};
    *axis = w.axis;
    const vta_status status = vta_allocated(w.other != NULL && w.axis != NULL && w.front != NULL, diag);
    for (size_t i = 0; status == VTA_OK && i < values; i++) {
        w.axis[i] = NO_AXIS;
        w.front[i] = 1;
    }
    *apart = status == VTA_OK && are_apart(&w);
    free(w.other);
    free(w.front);
    return status;
}
