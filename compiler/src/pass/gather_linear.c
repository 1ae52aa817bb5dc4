/* SPDX-License-Identifier: Apache-2.0
 *
 * gather-rows: attention whose scores are products of numbers that are not below 0, divided by their sums and
 * not by those of powers. Queries q, keys k and values v have a row for each token.
 *
 *     q (k^T [v, 1]), divided by its last column     ->     P(q * m) (P(k^T) v)
 *
 * m is the mean of k over the tokens, and P divides each row by its sum: LpNormalization with p = 1. So each
 * factor has a range of its own, which 8 bits can hold, and no result is divided by a rounded one. The
 * product of three may be written in either order, each of its factors transposed, and the column of ones as
 * Pad or Concat; the sums may also be a product by themselves, q (k^T 1). Rows alone that are divided by
 * their sum become P. A row of zeros stays one, also where 0 is divided by 0.
 */
#include <string.h>

#include "rewrite.h"
#include "vta/fail.h"

enum { DEPTH = 16 }; /* of operators in front of a factor */

/* Sums that are not above this count as none. */
static const double no_sum = 1e-5;

/* A value whose last two axes may be seen in the other order. */
typedef struct seen_matrix {
    vtac_value_id value;
    bool transposed;
} seen_matrix;

static const vtac_type *type_of(const vtac_rewrite *r, vtac_value_id value)
{
    return &r->graph->values[value].type;
}

static bool swaps_last(const vtac_node *node, uint32_t rank)
{
    const vtac_attr *perm = vtac_find_attr(node, "perm");
    bool swaps = perm != NULL && rank >= 2 && perm->count == rank;
    for (uint32_t i = 0; swaps && i < rank; i++) {
        const uint32_t from = i + 2 < rank ? i : i + 1 == rank ? rank - 2 : rank - 1;
        swaps = perm->ints[i] == (int64_t)from;
    }
    return swaps;
}

/* The matrix behind transpositions. */
static seen_matrix seen_behind(const vtac_rewrite *r, vtac_value_id value, bool transposed)
{
    const vtac_node *node;
    value = vtac_origin_of(r, value);
    while ((node = vtac_maker_of(r, value, VTAC_OP_TRANSPOSE)) != NULL &&
           swaps_last(node, type_of(r, value)->rank)) {
        value = vtac_origin_of(r, node->inputs[0]);
        transposed = !transposed;
    }
    return (seen_matrix){value, transposed};
}

static int64_t rows_of(const vtac_rewrite *r, seen_matrix m)
{
    const vtac_type *type = type_of(r, m.value);
    return type->dim[type->rank - (m.transposed ? 1 : 2)];
}

static bool is_matrix(const vtac_rewrite *r, vtac_value_id value)
{
    return value != 0 && type_of(r, value)->rank >= 2;
}

static int64_t columns_of(const vtac_rewrite *r, seen_matrix m)
{
    return rows_of(r, (seen_matrix){m.value, !m.transposed});
}

/* The factors of a product of matrices. */
static bool takes_product(const vtac_rewrite *r, seen_matrix m, seen_matrix *a, seen_matrix *b)
{
    const vtac_node *node = vtac_maker_of(r, m.value, VTAC_OP_MATMUL);
    if (node == NULL || !is_matrix(r, node->inputs[0]) || !is_matrix(r, node->inputs[1])) {
        return false;
    }
    *a = seen_behind(r, node->inputs[m.transposed ? 1 : 0], m.transposed);
    *b = seen_behind(r, node->inputs[m.transposed ? 0 : 1], m.transposed);
    return true;
}

/* ---- numbers that are not below 0 */

/* Operators that only move or choose elements of their first input. */
static bool hands_on(vtac_op op)
{
    static const bool moves[VTAC_OP_COUNT] = {
        [VTAC_OP_CAST] = true,      [VTAC_OP_EXPAND] = true,   [VTAC_OP_GATHER] = true,
        [VTAC_OP_IDENTITY] = true,  [VTAC_OP_RESHAPE] = true,  [VTAC_OP_SLICE] = true,
        [VTAC_OP_SPLIT] = true,     [VTAC_OP_SQUEEZE] = true,  [VTAC_OP_FLATTEN] = true,
        [VTAC_OP_TRANSPOSE] = true, [VTAC_OP_UNSQUEEZE] = true};
    return moves[op];
}

static bool is_above_zero(vtac_op op)
{
    static const bool above[VTAC_OP_COUNT] = {
        [VTAC_OP_ABS] = true,     [VTAC_OP_EXP] = true,     [VTAC_OP_HARD_SIGMOID] = true,
        [VTAC_OP_RELU] = true,    [VTAC_OP_SIGMOID] = true, [VTAC_OP_SOFTMAX] = true,
        [VTAC_OP_SOFTPLUS] = true};
    return above[op];
}

/* True for Elu + 1, or more. */
static bool is_raised(const vtac_rewrite *r, const vtac_node *node)
{
    double number;
    for (uint32_t i = 0; node->op == VTAC_OP_ADD && i < 2; i++) {
        const vtac_node *elu = vtac_maker_of(r, node->inputs[i], VTAC_OP_ELU);
        if (elu != NULL && vtac_scalar_of(r->graph, vtac_origin_of(r, node->inputs[1 - i]), &number)) {
            return number >= vtac_attr_float(elu, "alpha", 1.0);
        }
    }
    return false;
}

static bool is_not_negative(const vtac_rewrite *r, vtac_value_id value)
{
    const vtac_node *node = vtac_producer(r, value);
    double low;
    for (int i = 0; node != NULL && hands_on(node->op) && i < DEPTH; i++) {
        node = vtac_producer(r, node->inputs[0]);
    }
    if (node == NULL) {
        return false;
    }
    if (node->op == VTAC_OP_CLIP) {
        return node->input_count > VTAC_CLIP_MIN && node->inputs[VTAC_CLIP_MIN] != 0 &&
               vtac_scalar_of(r->graph, vtac_origin_of(r, node->inputs[VTAC_CLIP_MIN]), &low) && low >= 0.0;
    }
    return is_above_zero(node->op) || is_raised(r, node);
}

/* The same, or a product of such. */
static bool are_scores(const vtac_rewrite *r, vtac_value_id value)
{
    const vtac_node *product = vtac_maker_of(r, value, VTAC_OP_MATMUL);
    return product != NULL ? is_not_negative(r, product->inputs[0]) && is_not_negative(r, product->inputs[1])
                           : is_not_negative(r, value);
}

/* ---- recognition */

typedef struct linear_attention {
    seen_matrix q, k, v; /* rows of tokens, but k, whose columns they are */
    seen_matrix result;  /* rows of tokens; of a value that is to be replaced */
    double epsilon;      /* beside the sums */
} linear_attention;

/* A number of a list that a node has as an input; false: it is not known, or there are several. */
static bool only_number(const vtac_rewrite *r, const vtac_node *node, uint32_t input, int64_t otherwise,
                        int64_t *out)
{
    const vtac_tensor *list = vtac_in_constant(r->graph, node, input);
    *out = otherwise;
    if (list == NULL) {
        return input >= node->input_count || node->inputs[input] == 0;
    }
    *out = vtac_type_elements(&list->type) == 1 ? vtac_tensor_int(list, 0) : 0;
    return vtac_type_elements(&list->type) == 1;
}

static int64_t clamped(int64_t at, int64_t extent)
{
    at = at < 0 ? at + extent : at;
    return at < 0 ? 0 : at > extent ? extent : at;
}

/* The part of a value that Slice takes. */
static bool takes_slice(const vtac_rewrite *r, const vtac_node *node, vtac_seen_part *part)
{
    const vtac_type *x = type_of(r, node->inputs[VTAC_SLICE_X]);
    int64_t axis, step, first, end;
    if (!only_number(r, node, VTAC_SLICE_STARTS, 0, &first) ||
        !only_number(r, node, VTAC_SLICE_ENDS, 0, &end) || !only_number(r, node, VTAC_SLICE_AXES, 0, &axis) ||
        !only_number(r, node, VTAC_SLICE_STEPS, 1, &step)) {
        return false;
    }
    axis = axis < 0 ? axis + x->rank : axis;
    *part = (vtac_seen_part){vtac_origin_of(r, node->inputs[VTAC_SLICE_X]), axis,
                             clamped(first, x->dim[axis]), clamped(end, x->dim[axis])};
    return step == 1;
}

/* The same of Split. */
static bool takes_split(const vtac_rewrite *r, const vtac_node *node, vtac_value_id result,
                        vtac_seen_part *part)
{
    const vtac_type *x = type_of(r, node->inputs[VTAC_SPLIT_X]);
    const int64_t named = vtac_attr_int(node, "axis", 0), axis = named < 0 ? named + x->rank : named;
    int64_t first = 0;
    for (uint32_t i = 0; i < node->output_count && node->outputs[i] != 0; i++) {
        const int64_t count = type_of(r, node->outputs[i])->dim[axis];
        if (node->outputs[i] == result) {
            *part =
                (vtac_seen_part){vtac_origin_of(r, node->inputs[VTAC_SPLIT_X]), axis, first, first + count};
            return true;
        }
        first += count;
    }
    return false;
}

bool vtac_takes_part(const vtac_rewrite *r, vtac_value_id value, vtac_seen_part *part)
{
    const vtac_node *slice, *split;
    value = vtac_origin_of(r, value);
    slice = vtac_maker_of(r, value, VTAC_OP_SLICE);
    split = vtac_maker_of(r, value, VTAC_OP_SPLIT);
    return slice != NULL ? takes_slice(r, slice, part) : split != NULL && takes_split(r, split, value, part);
}

/* True for a Pad that appends one 1 to this axis. */
static bool pads_one(const vtac_rewrite *r, const vtac_node *pad, int64_t axis)
{
    const vtac_tensor *pads = vtac_in_constant(r->graph, pad, VTAC_PAD_PADS);
    const int64_t rank = type_of(r, pad->inputs[VTAC_PAD_X])->rank;
    double one;
    bool fits = pads != NULL && vtac_type_elements(&pads->type) == 2 * rank &&
                pad->input_count > VTAC_PAD_VALUE &&
                (pad->input_count <= VTAC_PAD_AXES || pad->inputs[VTAC_PAD_AXES] == 0) &&
                vtac_scalar_of(r->graph, vtac_origin_of(r, pad->inputs[VTAC_PAD_VALUE]), &one) &&
                one == 1.0 && vtac_attr_string(pad, "mode", "constant")[0] == 'c';
    for (int64_t i = 0; fits && i < 2 * rank; i++) {
        fits = vtac_tensor_int(pads, i) == (i == rank + axis ? 1 : 0);
    }
    return fits;
}

static bool are_ones(const vtac_rewrite *r, vtac_value_id value)
{
    const vtac_node *expand = vtac_maker_of(r, value, VTAC_OP_EXPAND);
    const vtac_tensor *known =
        r->graph->values[vtac_origin_of(r, expand != NULL ? expand->inputs[0] : value)].constant;
    bool ones = known != NULL && known->type.dtype == VTAC_F32;
    for (int64_t i = 0; ones && i < vtac_type_elements(&known->type); i++) {
        ones = vtac_tensor_float(known, i) == 1.0;
    }
    return ones;
}

/* The values in front of a last column of ones. */
static bool takes_ones(const vtac_rewrite *r, seen_matrix m, seen_matrix *out)
{
    const int64_t rank = type_of(r, m.value)->rank, axis = rank - (m.transposed ? 2 : 1);
    const vtac_node *pad = vtac_maker_of(r, m.value, VTAC_OP_PAD);
    const vtac_node *join = vtac_maker_of(r, m.value, VTAC_OP_CONCAT);
    if (pad != NULL && pads_one(r, pad, axis)) {
        *out = seen_behind(r, pad->inputs[VTAC_PAD_X], m.transposed);
        return true;
    }
    const int64_t named = join == NULL ? 0 : vtac_attr_int(join, "axis", 0);
    if (join == NULL || join->input_count != 2 || (named < 0 ? named + rank : named) != axis ||
        type_of(r, join->inputs[1])->dim[axis] != 1 || !are_ones(r, join->inputs[1])) {
        return false;
    }
    *out = seen_behind(r, join->inputs[0], m.transposed);
    return true;
}

/* Factors of a product of three, in either order. */
static bool takes_three(const vtac_rewrite *r, seen_matrix m, linear_attention *a)
{
    seen_matrix first, second;
    if (!takes_product(r, m, &first, &second)) {
        return false;
    }
    if (takes_product(r, second, &a->k, &a->v)) {
        a->q = first;
        return true;
    }
    a->v = second;
    return takes_product(r, first, &a->q, &a->k);
}

/* A product, divided by its last column. */
static bool takes_column(const vtac_rewrite *r, vtac_value_id numerator, vtac_value_id sum,
                         linear_attention *a)
{
    vtac_seen_part all, last;
    if (!vtac_takes_part(r, numerator, &all) || !vtac_takes_part(r, sum, &last) || all.value != last.value ||
        all.axis != last.axis) {
        return false;
    }
    const vtac_type *type = type_of(r, all.value);
    const int64_t rank = type->rank;
    if (rank < 3 || all.axis < rank - 2 || all.first != 0 || all.end != last.first ||
        last.end - last.first != 1 || last.end != type->dim[all.axis]) {
        return false;
    }
    a->result.transposed = all.axis == rank - 2;
    return takes_three(r, seen_behind(r, all.value, a->result.transposed), a) && takes_ones(r, a->v, &a->v);
}

/* The keys whose sum over the tokens a column is. */
static bool sums_keys(const vtac_rewrite *r, seen_matrix column, seen_matrix k)
{
    const vtac_node *node = vtac_maker_of(r, column.value, VTAC_OP_REDUCE_SUM);
    int64_t axis;
    if (node == NULL || vtac_attr_int(node, "keepdims", 1) == 0 ||
        !only_number(r, node, VTAC_REDUCE_AXES, 0, &axis) || !is_matrix(r, node->inputs[VTAC_REDUCE_X]) ||
        columns_of(r, column) != 1) {
        return false;
    }
    const int64_t rank = type_of(r, node->inputs[0])->rank;
    const seen_matrix of = seen_behind(r, node->inputs[VTAC_REDUCE_X], false);
    const bool over_last = (axis < 0 ? axis + rank : axis) == rank - 1;
    const bool over_rows = (axis < 0 ? axis + rank : axis) == rank - 2;
    /* k has a column a token: seen from there, the sum goes over its columns */
    return of.value == k.value && (over_last || over_rows) && (of.transposed == k.transposed) == over_last;
}

/* q (k^T v), divided by q (k^T 1). */
static bool takes_sums(const vtac_rewrite *r, vtac_value_id numerator, vtac_value_id sum, linear_attention *a)
{
    for (int i = 0; i < 2 && is_matrix(r, sum) && is_matrix(r, numerator); i++) {
        const bool transposed = i == 1;
        const seen_matrix divisor = seen_behind(r, sum, transposed);
        seen_matrix q, column;
        a->result.transposed = transposed;
        if (columns_of(r, divisor) == 1 && takes_product(r, divisor, &q, &column) &&
            takes_three(r, seen_behind(r, numerator, transposed), a) && q.value == a->q.value &&
            q.transposed == a->q.transposed && sums_keys(r, column, a->k)) {
            return true;
        }
    }
    return false;
}

/* True if all have the same matrices in front, one size fits the other, and signs are known. */
static bool is_attention(const vtac_rewrite *r, const linear_attention *a)
{
    const vtac_type *q = type_of(r, a->q.value), *k = type_of(r, a->k.value), *v = type_of(r, a->v.value);
    bool fits = q->rank >= 3 && q->rank == k->rank && q->rank == v->rank && q->dtype == VTAC_F32;
    for (uint32_t i = 0; fits && i + 2 < q->rank; i++) {
        fits = q->dim[i] == k->dim[i] && q->dim[i] == v->dim[i] && q->dim[i] > 0;
    }
    return fits && columns_of(r, a->q) == rows_of(r, a->k) && columns_of(r, a->k) == rows_of(r, a->v) &&
           rows_of(r, a->q) == columns_of(r, a->k) && columns_of(r, a->k) > 0 && a->epsilon >= 0.0 &&
           a->epsilon <= no_sum && is_not_negative(r, a->q.value) && is_not_negative(r, a->k.value);
}

/* Numerator and denominator of a quotient, or of a product with a reciprocal. */
static bool takes_quotient(const vtac_rewrite *r, const vtac_node *node, uint32_t which,
                           vtac_value_id *numerator, vtac_value_id *denominator)
{
    if (node->op == VTAC_OP_DIV) {
        *numerator = node->inputs[VTAC_BINARY_A];
        *denominator = node->inputs[VTAC_BINARY_B];
        return which == 0;
    }
    const vtac_node *reciprocal = vtac_maker_of(r, node->inputs[which], VTAC_OP_RECIPROCAL);
    const vtac_node *div = vtac_maker_of(r, node->inputs[which], VTAC_OP_DIV);
    double one = 0.0;
    if (div != NULL) {
        (void)vtac_scalar_of(r->graph, vtac_origin_of(r, div->inputs[VTAC_BINARY_A]), &one);
    }
    *numerator = node->inputs[1 - which];
    *denominator = reciprocal != NULL          ? reciprocal->inputs[0]
                   : div != NULL && one == 1.0 ? div->inputs[VTAC_BINARY_B]
                                               : 0;
    return *denominator != 0;
}

/* ---- what is put in its place */

typedef struct putter {
    vtac_rewrite *r;
    vtac_node_id at;
    vtac_node like;
} putter;

static vta_status put_transpose(const putter *p, vtac_value_id *x)
{
    int64_t perm[VTAC_MAX_RANK];
    const uint32_t rank = type_of(p->r, *x)->rank;
    for (uint32_t i = 0; i < rank; i++) {
        perm[i] = i + 2 < rank ? i : i + 1 == rank ? rank - 2 : rank - 1;
    }
    return vtac_new_transpose(p->r, p->at, &p->like, perm, rank, *x, x);
}

static vta_status put_matrix(const putter *p, seen_matrix m, vtac_value_id *out)
{
    *out = m.value;
    return m.transposed ? put_transpose(p, out) : VTA_OK;
}

static vta_status put_reshape(const putter *p, const int64_t *dims, uint32_t rank, vtac_value_id *x)
{
    vtac_value_id inputs[2] = {*x};
    VTA_TRY(vtac_new_ints(p->r, dims, rank, &inputs[VTAC_RESHAPE_SHAPE]));
    return vtac_new_simple(p->r, p->at, &p->like, VTAC_OP_RESHAPE, inputs, 2, x);
}

/* Rows of tokens as an image's channels: [n, all in front · channels, tokens]. Relu goes behind that. */
static vta_status put_image(const putter *p, seen_matrix m, vtac_value_id *out)
{
    const vtac_node *relu = vtac_maker_of(p->r, m.value, VTAC_OP_RELU);
    const vtac_type type = *type_of(p->r, m.value);
    const int64_t images = type.rank > 3 ? type.dim[0] : 1, tokens = columns_of(p->r, m);
    const int64_t dims[] = {images, vtac_type_elements(&type) / images / tokens, tokens};
    m = relu != NULL ? seen_behind(p->r, relu->inputs[0], m.transposed) : m;
    VTA_TRY(put_matrix(p, m, out));
    VTA_TRY(put_reshape(p, dims, 3, out));
    return relu != NULL ? vtac_new_simple(p->r, p->at, &p->like, VTAC_OP_RELU, out, 1, out) : VTA_OK;
}

/* Divides rows by their sums. */
static vta_status put_shares(const putter *p, vtac_value_id *x)
{
    const vtac_attr attrs[] = {{.name = "axis", .kind = VTAC_ATTR_INT, .i = -1},
                               {.name = "p", .kind = VTAC_ATTR_INT, .i = 1}};
    const vtac_node_spec spec = {.op = VTAC_OP_LP_NORMALIZATION,
                                 .inputs = x,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = 2};
    return vtac_new_node(p->r, p->at, &p->like, spec, x);
}

/* Images times the mean of the keys over the tokens. */
static vta_status put_weights(const putter *p, vtac_value_id keys, vtac_value_id *queries)
{
    const vtac_attr keep = {.name = "keepdims", .kind = VTAC_ATTR_INT, .i = 1};
    vtac_value_id mean[2] = {keys}, pair[2] = {*queries};
    VTA_TRY(vtac_new_ints(p->r, (int64_t[]){2}, 1, &mean[VTAC_REDUCE_AXES]));
    const vtac_node_spec spec = {.op = VTAC_OP_REDUCE_MEAN,
                                 .inputs = mean,
                                 .input_count = 2,
                                 .output_count = 1,
                                 .attrs = &keep,
                                 .attr_count = 1};
    VTA_TRY(vtac_new_node(p->r, p->at, &p->like, spec, &pair[1]));
    return vtac_new_simple(p->r, p->at, &p->like, VTAC_OP_MUL, pair, 2, queries);
}

/* Queries times the mean of the keys, and the keys, each in shares: of a token's numbers, of a number's
 * tokens. */
static vta_status put_factors(const putter *p, const linear_attention *a, vtac_value_id *queries,
                              vtac_value_id *keys)
{
    const vtac_type shape = *type_of(p->r, a->k.value);
    int64_t dims[VTAC_MAX_RANK];
    memcpy(dims, shape.dim, shape.rank * sizeof *dims);
    dims[shape.rank - 2] = rows_of(p->r, a->k);
    dims[shape.rank - 1] = columns_of(p->r, a->k);
    VTA_TRY(put_image(p, a->k, keys));
    VTA_TRY(put_image(p, (seen_matrix){a->q.value, !a->q.transposed}, queries));
    VTA_TRY(put_weights(p, *keys, queries));
    VTA_TRY(put_reshape(p, dims, shape.rank, queries));
    VTA_TRY(put_transpose(p, queries));
    VTA_TRY(put_shares(p, queries));
    VTA_TRY(put_shares(p, keys));
    return put_reshape(p, dims, shape.rank, keys);
}

static vta_status put_attention(const putter *p, const linear_attention *a)
{
    vtac_value_id inner[2], outer[2], y;
    VTA_TRY(put_factors(p, a, &outer[0], &inner[0]));
    VTA_TRY(put_matrix(p, a->v, &inner[1]));
    VTA_TRY(vtac_new_simple(p->r, p->at, &p->like, VTAC_OP_MATMUL, inner, 2, &outer[1]));
    VTA_TRY(vtac_new_simple(p->r, p->at, &p->like, VTAC_OP_MATMUL, outer, 2, &y));
    VTA_TRY(a->result.transposed ? put_transpose(p, &y) : VTA_OK);
    vtac_replace(p->r, p->like.outputs[0], y);
    vtac_remove_node(p->r->graph, p->at);
    return VTA_OK;
}

/* Scores that are divided by the sum of their row, where a product with values alone reads the quotient:
 * attention whose product of three is written in the other order. */
static vta_status gather_quadratic(const putter *p, vtac_value_id scores, double epsilon, bool *changed)
{
    const vtac_node_id user = vtac_only_user_of(p->r->graph, p->like.outputs[0]);
    const vtac_node *product = user == 0 || p->r->graph->nodes[user].op != VTAC_OP_MATMUL ||
                                       vtac_is_output(p->r->graph, p->like.outputs[0])
                                   ? NULL
                                   : &p->r->graph->nodes[user];
    linear_attention a = {.epsilon = epsilon};
    if (product == NULL || product->inputs[VTAC_MATMUL_A] != p->like.outputs[0] ||
        !is_matrix(p->r, product->inputs[VTAC_MATMUL_B]) ||
        !takes_product(p->r, seen_behind(p->r, scores, false), &a.q, &a.k)) {
        return VTA_OK;
    }
    a.v = seen_behind(p->r, product->inputs[VTAC_MATMUL_B], false);
    if (!is_attention(p->r, &a) || columns_of(p->r, a.q) > 2 * rows_of(p->r, a.q)) {
        return VTA_OK;
    }
    *changed = true;
    const putter at = {p->r, user, *product};
    return put_attention(&at, &a);
}

/* Rows that are divided by their sum, which is that of their sizes. */
static vta_status gather_shares(const putter *p, vtac_value_id numerator, vtac_value_id sum, double epsilon,
                                bool *changed)
{
    vtac_value_id x = vtac_origin_of(p->r, numerator);
    const vtac_value_id sizes = vtac_reduced_by(p->r, sum, VTAC_OP_REDUCE_L1, VTAC_OF_ROWS);
    const vtac_value_id plain = vtac_reduced_by(p->r, sum, VTAC_OP_REDUCE_SUM, VTAC_OF_ROWS);
    const vtac_node *abs = plain == 0 ? NULL : vtac_maker_of(p->r, plain, VTAC_OP_ABS);
    if (x != sizes && !(x == plain && are_scores(p->r, x)) &&
        !(abs != NULL && vtac_origin_of(p->r, abs->inputs[0]) == x)) {
        return VTA_OK;
    }
    VTA_TRY(x == plain ? gather_quadratic(p, x, epsilon, changed) : VTA_OK);
    if (*changed) {
        return VTA_OK;
    }
    VTA_TRY(put_shares(p, &x));
    vtac_replace(p->r, p->like.outputs[0], x);
    vtac_remove_node(p->r->graph, p->at);
    *changed = true;
    return VTA_OK;
}

vta_status vtac_gather_linear(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const putter p = {r, id, r->graph->nodes[id]};
    const vtac_type *y = type_of(r, p.like.outputs[0]);
    for (uint32_t i = 0; i < 2 && !*changed; i++) {
        linear_attention a = {0};
        vtac_value_id numerator, sum;
        if (y->dtype != VTAC_F32 || y->rank < 2 || vtac_type_elements(y) <= 0 ||
            !takes_quotient(r, &p.like, i, &numerator, &sum) || !vtac_type_equal(type_of(r, numerator), y)) {
            continue;
        }
        const vtac_node *expand = vtac_maker_of(r, sum, VTAC_OP_EXPAND);
        sum = vtac_without_number(r, expand != NULL ? expand->inputs[0] : sum, &a.epsilon);
        if ((takes_column(r, numerator, sum, &a) || takes_sums(r, numerator, sum, &a)) &&
            is_attention(r, &a)) {
            *changed = true;
            VTA_TRY(put_attention(&p, &a));
        } else if (a.epsilon >= 0.0 && a.epsilon <= no_sum) {
            VTA_TRY(gather_shares(&p, numerator, sum, a.epsilon, changed));
        }
    }
    return VTA_OK;
}
