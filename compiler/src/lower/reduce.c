/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions: loops over what stays, and within them over what goes; the last axis by vectors, whichever it
 * is.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "../ops/infer.h"
#include "rows.h"

#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)
#define E1(op, a)    vtac_e1(l->k, VTAC_E_##op, a)

static const vtac_expr *zero_index(const vtac_lower *l)
{
    return vtac_e_index(l->k, 0);
}

uint32_t vtac_open_axes(vtac_lower *l, const vtac_type *type, const bool *marks, bool which,
                        const vtac_expr **at, bool parallel)
{
    uint32_t loops = 0;
    for (uint32_t axis = 0; axis < type->rank; axis++) {
        if (marks[axis] == which) {
            const bool first = parallel && loops == 0 && l->k->depth == 1;
            at[axis] = vtac_for(l->k, first ? vtac_parallel_if(vtac_type_elements(type)) : VTAC_LOOP_SERIAL,
                                type->dim[axis], "i");
            loops++;
        }
    }
    return loops;
}

typedef struct reduce_form {
    vtac_dtype type; /* of the accumulator */
    vtac_expr_op combine;
    double start;
} reduce_form;

/* Operators of this lowering, counted: another one does not compile until `reductions` has its row. */
#define IS_SECOND_(a, b, ...) b
#define IS_SECOND(...)        IS_SECOND_(__VA_ARGS__)
#define IS_A_reduce           0, 1
#define EXPR(op)
#define UNARY(fn)
#define POINT(fn)
#define MAP(fn)
#define CUSTOM(fn, text) +IS_SECOND(IS_A_##fn, 0, 0)
#define SOLO(fn, text)
#define ALIAS
#define FOLDED(text)
#define VTAC_OP(id, name, domain, since, in_min, in_max, out, operands, infer, traits, fold, lowering, ...)  \
    lowering
enum {
    REDUCTIONS = 0
#include "vtac/ops.def"
};

typedef enum prepared { AS_GIVEN, ABSOLUTE, SQUARED, EXPONENTIAL } prepared; /* an element before */
typedef enum finished { AS_SUMMED, MEAN, SQUARE_ROOT, LOGARITHM } finished;  /* the result after */

static const struct reduction_row {
    vtac_op op;
    vtac_expr_op combine;
    prepared before;
    finished after;
} reductions[] = {
    {VTAC_OP_REDUCE_SUM, VTAC_E_ADD, AS_GIVEN, AS_SUMMED},
    {VTAC_OP_REDUCE_MEAN, VTAC_E_ADD, AS_GIVEN, MEAN},
    {VTAC_OP_REDUCE_MAX, VTAC_E_MAX, AS_GIVEN, AS_SUMMED},
    {VTAC_OP_REDUCE_MIN, VTAC_E_MIN, AS_GIVEN, AS_SUMMED},
    {VTAC_OP_REDUCE_PROD, VTAC_E_MUL, AS_GIVEN, AS_SUMMED},
    {VTAC_OP_REDUCE_L1, VTAC_E_ADD, ABSOLUTE, AS_SUMMED},
    {VTAC_OP_REDUCE_L2, VTAC_E_ADD, SQUARED, SQUARE_ROOT},
    {VTAC_OP_REDUCE_SUM_SQUARE, VTAC_E_ADD, SQUARED, AS_SUMMED},
    {VTAC_OP_REDUCE_LOG_SUM, VTAC_E_ADD, AS_GIVEN, LOGARITHM},
    {VTAC_OP_REDUCE_LOG_SUM_EXP, VTAC_E_ADD, EXPONENTIAL, LOGARITHM},
};
_Static_assert(sizeof reductions / sizeof reductions[0] == REDUCTIONS, "a row for each operator");

static const struct reduction_row *row_of(vtac_op op)
{
    uint32_t i = 0;
    while (i < REDUCTIONS - 1 && reductions[i].op != op) {
        i++;
    }
    assert(reductions[i].op == op && "a reduction");
    return &reductions[i];
}

static reduce_form reduction_of(vtac_op op, vtac_dtype dtype)
{
    const bool is_float = vtac_dtype_kind(dtype) == 'f';
    const vtac_expr_op combine = row_of(op)->combine;
    const vtac_dtype type =
        op == VTAC_OP_REDUCE_LOG_SUM_EXP && !is_float ? VTAC_F64 : vtac_compute_type(dtype);
    double low = -HUGE_VAL;
    double high = HUGE_VAL;
    if (!is_float) {
        vtac_range_of(dtype, &low, &high);
    }
    const double start = combine == VTAC_E_MAX   ? low
                         : combine == VTAC_E_MIN ? high
                         : combine == VTAC_E_MUL ? 1.0
                                                 : 0.0;
    return (reduce_form){type, combine, start};
}

static const vtac_expr *map_before(const vtac_lower *l, vtac_op op, const vtac_expr *x)
{
    switch (row_of(op)->before) {
    case AS_GIVEN: return x;
    case ABSOLUTE: return E1(ABS, x);
    case SQUARED: return E2(MUL, x, x);
    case EXPONENTIAL: return E1(EXP, x);
    }
    return x;
}

static const vtac_expr *map_after(const vtac_lower *l, vtac_op op, const vtac_expr *sum, int64_t count)
{
    const vtac_expr *real = vtac_dtype_kind(sum->type) == 'f' ? sum : vtac_e_cast(l->k, VTAC_F64, sum);
    switch (row_of(op)->after) {
    case AS_SUMMED: return sum;
    case MEAN: return E2(DIV, sum, vtac_e_float(l->k, sum->type, (double)count));
    case SQUARE_ROOT: return vtac_e_cast(l->k, sum->type, E1(SQRT, real));
    case LOGARITHM: return vtac_e_cast(l->k, sum->type, E1(LOG, real));
    }
    return sum;
}

static vta_status reduced_axes(vtac_lower *l, bool *marks, bool *keep)
{
    const vtac_type *x = vtac_type_in(l, VTAC_REDUCE_X);
    int64_t axes[VTAC_MAX_RANK];
    uint32_t count = 0;
    if (vtac_has_in(l, VTAC_REDUCE_AXES)) {
        VTA_TRY(vtac_need_ints(l->graph, l->node, VTAC_REDUCE_AXES, "axes", axes, VTAC_MAX_RANK, &count,
                               l->diag));
    }
    const bool all = count == 0 && vtac_attr_int(l->node, "noop_with_empty_axes", 0) == 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        marks[i] = all;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis;
        VTA_TRY(vtac_axis(axes[i], x->rank, &axis, l->diag));
        marks[axis] = true;
    }
    *keep = vtac_attr_int(l->node, "keepdims", 1) != 0;
    return VTA_OK;
}

/* Indices of the output from those of the input. */
static void project_index(const vtac_type *x, const bool *marks, bool keep, const vtac_expr *zero,
                          const vtac_expr *const *at, const vtac_expr **out)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (!marks[i] || keep) {
            out[rank++] = marks[i] ? zero : at[i];
        }
    }
}

typedef struct reducing {
    const vtac_type *x;
    reduce_form how;
    bool marks[VTAC_MAX_RANK];
    bool keep;
    int64_t count;      /* of elements for each result */
    vtac_buffer *shift; /* what exponentials are taken beside, in each lane: the largest; NULL: none are */
    bool looks;         /* for the largest elements first */
    vtac_buffer *sum;
    uint32_t first, last; /* axes of one row: those that go, or stay, together at the end */
    int64_t row;          /* its elements, counted by the index of `last` */
    const vtac_expr *at[VTAC_MAX_RANK];
} reducing;

static const vtac_expr *shift_of(vtac_lower *l, const reducing *r, const vtac_expr *lane)
{
    return vtac_e_load(l->k, r->shift, lane);
}

/* `lane`: the one of a result that has a lane of its own, else the first. */
static void finish_result(vtac_lower *l, const reducing *r, const vtac_expr *sum, const vtac_expr *lane)
{
    const vtac_expr *out[VTAC_MAX_RANK];
    project_index(r->x, r->marks, r->keep, zero_index(l), r->at, out);
    if (sum != NULL) {
        const vtac_expr *y = map_after(l, l->node->op, sum, r->count);
        y = r->shift == NULL ? y : E2(ADD, y, shift_of(l, r, lane));
        vtac_out_at(l, 0, out, vtac_e_cast(l->k, vtac_compute_type(vtac_type_out(l, 0)->dtype), y));
    }
}

/* Takes in the element at an index of the row. */
static void take_in(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    reducing *r = context;
    if (r->x->rank > 0) {
        r->at[r->last] = i;
    }
    const vtac_expr *value = vtac_e_cast(l->k, r->how.type, vtac_in_at(l, VTAC_REDUCE_X, r->at));
    const vtac_expr_op combine = r->looks ? VTAC_E_MAX : r->how.combine;
    if (!r->looks) {
        value = vtac_let(l->k, "x", r->shift == NULL ? value : E2(SUB, value, shift_of(l, r, lane)));
        value = map_before(l, l->node->op, value);
    }
    vtac_store(l->k, r->sum, lane, vtac_e2(l->k, combine, value, vtac_e_load(l->k, r->sum, lane)));
}

static const vtac_expr *start_value(const vtac_lower *l, const reducing *r)
{
    return vtac_e_float(l->k, r->how.type, r->looks ? -HUGE_VAL : r->how.start);
}

/* Shift of all exponents, so that none overflows: the largest element; 0 where that is no finite number. */
static const vtac_expr *finite_shift(const vtac_lower *l, const reducing *r, const vtac_expr *largest)
{
    const vtac_expr *endless = vtac_e_float(l->k, r->how.type, HUGE_VAL);
    const vtac_expr *none = vtac_e_float(l->k, r->how.type, 0.0);
    return vtac_e3(l->k, VTAC_E_SELECT, E2(LT, E1(ABS, largest), endless), largest, none);
}

/* Opens the axes that go and are not of the row. */
static uint32_t open_outside(vtac_lower *l, reducing *r)
{
    vtac_type others = *r->x;
    others.rank = r->first;
    return vtac_open_axes(l, &others, r->marks, true, r->at, false);
}

/* Rows that go: a part of each result in each lane, joined. */
static const vtac_expr *join_rows(vtac_lower *l, reducing *r, int64_t lanes)
{
    vtac_set_lanes(l, r->sum, lanes, start_value(l, r));
    const uint32_t inner = open_outside(l, r);
    vtac_each_of_row(l, r->row, lanes, take_in, r);
    vtac_close(l, inner);
    return vtac_join_lanes(l, r->sum, lanes, r->looks ? VTAC_E_MAX : r->how.combine);
}

static void reduce_rows(vtac_lower *l, reducing *r, int64_t lanes)
{
    vtac_open_others(l, r->x, r->marks, r->at);
    if (r->shift != NULL) {
        r->looks = true;
        const vtac_expr *largest = vtac_let(l->k, "most", join_rows(l, r, lanes));
        r->looks = false;
        vtac_set_lanes(l, r->shift, lanes, finite_shift(l, r, largest));
    }
    finish_result(l, r, join_rows(l, r, lanes), zero_index(l));
    vtac_end(l->k);
}

typedef void column_fn(vtac_lower *l, reducing *r, const vtac_expr *lane);

static void take_column(vtac_lower *l, reducing *r, const vtac_expr *lane)
{
    take_in(l, r, r->at[r->last], lane);
}

static void shift_column(vtac_lower *l, reducing *r, const vtac_expr *lane)
{
    const vtac_expr *largest = vtac_let(l->k, "most", vtac_e_load(l->k, r->sum, lane));
    vtac_store(l->k, r->shift, lane, finite_shift(l, r, largest));
}

static void finish_column(vtac_lower *l, reducing *r, const vtac_expr *lane)
{
    finish_result(l, r, vtac_e_load(l->k, r->sum, lane), lane);
}

static void each_column(vtac_lower *l, reducing *r, const vtac_expr *first, int64_t lanes, column_fn *fn)
{
    const vtac_expr *lane = lanes == 1 ? zero_index(l) : vtac_for(l->k, VTAC_LOOP_VECTOR, lanes, "lane");
    r->at[r->last] = vtac_i_add(l->k, first, lane);
    fn(l, r, lane);
    vtac_close(l, lanes == 1 ? 0 : 1);
}

/* Rows that stay: a result in each lane, for `lanes` of them from number `first` on. */
static void reduce_columns(vtac_lower *l, reducing *r, const vtac_expr *first, int64_t lanes)
{
    for (int pass = r->shift == NULL; pass < 2; pass++) {
        r->looks = pass == 0;
        vtac_set_lanes(l, r->sum, lanes, start_value(l, r));
        const uint32_t inner = open_outside(l, r);
        each_column(l, r, first, lanes, take_column);
        vtac_close(l, inner);
        each_column(l, r, first, lanes, r->looks ? shift_column : finish_column);
    }
}

static void reduce_planes(vtac_lower *l, reducing *r, int64_t lanes)
{
    const int64_t whole = r->row / lanes;
    const int64_t rest = r->row % lanes;
    bool marks[VTAC_MAX_RANK];
    memcpy(marks, r->marks, sizeof marks);
    for (uint32_t i = r->first; i <= r->last; i++) {
        marks[i] = true; /* neither goes nor is among the loops outside */
    }
    vtac_open_others(l, r->x, marks, r->at);
    if (whole > 0) {
        const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, whole, "block");
        reduce_columns(l, r, vtac_let(l->k, "first", vtac_i_mulc(l->k, i, lanes)), lanes);
        vtac_end(l->k);
    }
    if (rest != 0) {
        reduce_columns(l, r, vtac_e_index(l->k, whole * lanes), rest);
    }
    vtac_end(l->k);
}

static void reduce_plainly(vtac_lower *l, reducing *r)
{
    const vtac_expr *zero = zero_index(l);
    const uint32_t outer = vtac_open_axes(l, r->x, r->marks, false, r->at, true);
    for (int pass = r->shift == NULL; pass < 2; pass++) {
        r->looks = pass == 0;
        vtac_store(l->k, r->sum, zero, start_value(l, r));
        const uint32_t inner = vtac_open_axes(l, r->x, r->marks, true, r->at, false);
        take_in(l, r, r->x->rank > 0 ? r->at[r->last] : zero, zero);
        vtac_close(l, inner);
        if (r->looks) {
            shift_column(l, r, zero);
        }
    }
    finish_result(l, r, vtac_e_load(l->k, r->sum, zero), zero);
    vtac_close(l, outer);
}

/* The axes of a row, of an input that has axes. */
static void find_row(vtac_lower *l, reducing *r)
{
    const vtac_type *x = r->x;
    r->first = r->last = vtac_lane_axis(x, 0);
    const bool goes = r->marks[r->last];
    r->row = x->dim[r->last];
    const int64_t enough = goes ? INT64_MAX : vtac_row_fills(l, r->how.type);
    for (bool more = goes || vtac_counts_through(l); more && r->first > 0 && r->row < enough;) {
        more = r->marks[r->first - 1] == goes || x->dim[r->first - 1] == 1;
        r->first -= more;
        r->row *= more ? x->dim[r->first] : 1;
    }
    for (uint32_t i = 0; i < x->rank; i++) {
        r->at[i] = zero_index(l);
    }
}

vta_status vtac_lower_reduce(vtac_lower *l)
{
    reducing r = {.x = vtac_type_in(l, VTAC_REDUCE_X), .count = 1};
    VTA_TRY(reduced_axes(l, r.marks, &r.keep));
    VTA_TRY(vtac_begin(l, ""));
    r.how = reduction_of(l->node->op, r.x->dtype);
    for (uint32_t i = 0; i < r.x->rank; i++) {
        r.count *= r.marks[i] ? r.x->dim[i] : 1;
    }
    const bool vectors = r.x->rank > 0 && r.x->dtype != VTAC_BOOL && vtac_type_elements(r.x) > 0;
    int64_t lanes = 1;
    r.last = r.x->rank > 0 ? r.x->rank - 1 : 0;
    if (vectors) {
        find_row(l, &r);
        lanes = vtac_row_lanes(l, r.how.type, r.row);
    }
    if (vtac_attr_int(l->node, "in_order", 0) != 0 && r.marks[r.last]) {
        lanes = 1; /* a lane of partial sums has another order */
    }
    r.sum = vtac_local(l, "sum", r.how.type, lanes);
    if (l->node->op == VTAC_OP_REDUCE_LOG_SUM_EXP) {
        r.shift = vtac_local(l, "shift", r.how.type, lanes);
    }
    if (lanes == 1) {
        reduce_plainly(l, &r);
    } else if (r.marks[r.last]) {
        reduce_rows(l, &r, lanes);
    } else {
        reduce_planes(l, &r, lanes);
    }
    l->step->flops = (uint64_t)vtac_type_elements(r.x);
    return l->diag->code;
}

vta_status vtac_lower_arg_reduce(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const bool max = l->node->op == VTAC_OP_ARG_MAX;
    const bool last = vtac_attr_int(l->node, "select_last_index", 0) != 0;
    bool marks[VTAC_MAX_RANK] = {false};
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_attr_int(l->node, "axis", 0), x->rank, &axis, l->diag));
    marks[axis] = true;
    VTA_TRY(vtac_begin(l, ""));
    const vtac_expr *zero = zero_index(l);
    const vtac_expr *at[VTAC_MAX_RANK];
    const vtac_expr *out[VTAC_MAX_RANK];
    vtac_buffer *best = vtac_local(l, "best", vtac_compute_type(x->dtype), 1);
    vtac_buffer *place = vtac_local(l, "place", VTAC_I64, 1);
    const uint32_t outer = vtac_open_axes(l, x, marks, false, at, true);
    at[axis] = zero;
    vtac_store(l->k, best, zero, vtac_in_at(l, 0, at));
    vtac_store(l->k, place, zero, zero);
    at[axis] = vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[axis], "i");
    const vtac_expr *value = vtac_let(l->k, "x", vtac_in_at(l, 0, at));
    const vtac_expr_op op = max ? (last ? VTAC_E_GE : VTAC_E_GT) : (last ? VTAC_E_LE : VTAC_E_LT);
    vtac_if(l->k, vtac_e2(l->k, op, value, vtac_e_load(l->k, best, zero)));
    vtac_store(l->k, best, zero, value);
    vtac_store(l->k, place, zero, at[axis]);
    vtac_close(l, 2);
    project_index(x, marks, vtac_attr_int(l->node, "keepdims", 1) != 0, zero, at, out);
    vtac_out_at(l, 0, out, vtac_e_load(l->k, place, zero));
    vtac_close(l, outer);
    return l->diag->code;
}
