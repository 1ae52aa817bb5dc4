/* SPDX-License-Identifier: Apache-2.0
 *
 * Softmax, LogSoftmax, Hardmax and QLinearSoftmax: the largest, the sum, the results, over the marked axes.
 */
#include <math.h>

#include "../ops/infer.h"
#include "rows.h"

#define E2(op, a, b)    vtac_e2(l->k, VTAC_E_##op, a, b)
#define E1(op, a)       vtac_e1(l->k, VTAC_E_##op, a)
#define SELECT(c, a, b) vtac_e3(l->k, VTAC_E_SELECT, c, a, b)

typedef struct softmax {
    const vtac_type *x;
    bool marks[VTAC_MAX_RANK];
    vtac_dtype type;
    vtac_buffer *max, *sum, *where; /* where: the place of the largest, counted over the marked axes */
} softmax;

/* One axis; QLinearSoftmax before opset 13 took all from it on. */
static vta_status marked_axes(vtac_lower *l, softmax *s)
{
    const bool quantized = l->node->op == VTAC_OP_QLINEAR_SOFTMAX;
    const int64_t opset = vtac_attr_int(l->node, "opset", 13);
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_attr_int(l->node, "axis", quantized && opset < 13 ? 1 : -1), s->x->rank, &axis,
                      l->diag));
    s->marks[axis] = true;
    for (uint32_t i = axis; quantized && opset < 13 && i < s->x->rank; i++) {
        s->marks[i] = true;
    }
    return VTA_OK;
}

static const vtac_expr *value_at(vtac_lower *l, const softmax *s, const vtac_expr *const *at)
{
    const vtac_expr *x = vtac_in_at(l, 0, at);
    if (l->node->op != VTAC_OP_QLINEAR_SOFTMAX) {
        return x;
    }
    /* the zero point falls out of every difference */
    const vtac_expr *scale = vtac_e_load(l->k, vtac_in(l, VTAC_QLINEAR_X_SCALE), vtac_e_index(l->k, 0));
    return E2(MUL, vtac_e_cast(l->k, s->type, x), scale);
}

/* Number of places between the first one and `at`, over the marked axes. */
static const vtac_expr *place_distance(vtac_lower *l, const softmax *s, const vtac_expr *const *at)
{
    const vtac_expr *place = vtac_e_index(l->k, 0);
    for (uint32_t i = 0; i < s->x->rank; i++) {
        place = s->marks[i] ? vtac_i_add(l->k, vtac_i_mulc(l->k, place, s->x->dim[i]), at[i]) : place;
    }
    return place;
}

static void find_largest(vtac_lower *l, const softmax *s, const vtac_expr **at)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    for (uint32_t i = 0; i < s->x->rank; i++) {
        at[i] = s->marks[i] ? zero : at[i];
    }
    vtac_store(l->k, s->max, zero, value_at(l, s, at));
    vtac_store(l->k, s->where, zero, zero);
    const uint32_t loops = vtac_open_axes(l, s->x, s->marks, true, at, false);
    const vtac_expr *value = vtac_let(l->k, "x", value_at(l, s, at));
    const vtac_expr *larger = vtac_let(l->k, "larger", E2(GT, value, vtac_e_load(l->k, s->max, zero)));
    if (l->node->op == VTAC_OP_HARDMAX) {
        const vtac_expr *before = vtac_e_load(l->k, s->where, zero);
        vtac_store(l->k, s->where, zero, SELECT(larger, place_distance(l, s, at), before));
    }
    vtac_store(l->k, s->max, zero, SELECT(larger, value, vtac_e_load(l->k, s->max, zero)));
    vtac_close(l, loops);
}

static void add_up(vtac_lower *l, const softmax *s, const vtac_expr **at)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    vtac_store(l->k, s->sum, zero, vtac_e_int(l->k, s->type, 0));
    const uint32_t loops = vtac_open_axes(l, s->x, s->marks, true, at, false);
    const vtac_expr *e = E1(EXP, E2(SUB, value_at(l, s, at), vtac_e_load(l->k, s->max, zero)));
    vtac_store(l->k, s->sum, zero, E2(ADD, vtac_e_load(l->k, s->sum, zero), e));
    vtac_close(l, loops);
}

/* A share of 1 as QLinearSoftmax stores it; of the others itself. */
static const vtac_expr *quantize_share(vtac_lower *l, const vtac_expr *y)
{
    if (l->node->op != VTAC_OP_QLINEAR_SOFTMAX) {
        return y;
    }
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *offset =
        vtac_has_in(l, VTAC_QLINEAR_Y_ZERO) ? vtac_e_load(l->k, vtac_in(l, VTAC_QLINEAR_Y_ZERO), zero) : NULL;
    return vtac_requantize(l, y, vtac_e_load(l->k, vtac_in(l, VTAC_QLINEAR_Y_SCALE), zero), offset,
                           vtac_type_out(l, 0)->dtype);
}

static const vtac_expr *result_at(vtac_lower *l, const softmax *s, const vtac_expr *const *at)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    if (l->node->op == VTAC_OP_HARDMAX) {
        return vtac_e_cast(l->k, s->type,
                           E2(EQ, place_distance(l, s, at), vtac_e_load(l->k, s->where, zero)));
    }
    const vtac_expr *shifted = E2(SUB, value_at(l, s, at), vtac_e_load(l->k, s->max, zero));
    const vtac_expr *total = vtac_e_load(l->k, s->sum, zero);
    if (l->node->op == VTAC_OP_LOG_SOFTMAX) {
        return E2(SUB, shifted, E1(LOG, total));
    }
    return quantize_share(l, E2(DIV, E1(EXP, shifted), total));
}

/* ---- by vectors: along the row that is summed, or of many rows side by side */

typedef struct vectors {
    const softmax *s;
    const vtac_expr **at;
    uint32_t axis; /* the one that lanes go along */
    int64_t lanes;
    vtac_buffer *max, *sum, *row; /* row: exponentials */
    const vtac_expr *top, *total; /* of a row that is summed along its lanes */
    bool by_share;                /* `sum` holds what results are multiplied by, or logarithms */
} vectors;

static const vtac_expr *lane_value(vtac_lower *l, vectors *v, const vtac_expr *i)
{
    v->at[v->axis] = i;
    return value_at(l, v->s, v->at);
}

static void take_max(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    vectors *v = context;
    vtac_store(l->k, v->max, lane, E2(MAX, lane_value(l, v, i), vtac_e_load(l->k, v->max, lane)));
}

static const vtac_expr *top_of(vtac_lower *l, const vectors *v, const vtac_expr *lane)
{
    return v->top != NULL ? v->top : vtac_e_load(l->k, v->max, lane);
}

static void take_exp(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    vectors *v = context;
    const vtac_expr *e = vtac_let(l->k, "e", E1(EXP, E2(SUB, lane_value(l, v, i), top_of(l, v, lane))));
    if (v->row != NULL) {
        vtac_store(l->k, v->row, i, e);
    }
    vtac_store(l->k, v->sum, lane, E2(ADD, vtac_e_load(l->k, v->sum, lane), e));
}

static void take_result(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    vectors *v = context;
    const vtac_expr *total = v->total != NULL ? v->total : vtac_e_load(l->k, v->sum, lane);
    if (l->node->op == VTAC_OP_LOG_SOFTMAX) {
        const vtac_expr *shifted = E2(SUB, lane_value(l, v, i), top_of(l, v, lane));
        const vtac_expr *off = v->total != NULL || v->by_share ? total : E1(LOG, total);
        vtac_out_at(l, 0, v->at, E2(SUB, shifted, off));
        return;
    }
    const vtac_expr *e = v->row != NULL ? vtac_e_load(l->k, v->row, i)
                                        : E1(EXP, E2(SUB, lane_value(l, v, i), top_of(l, v, lane)));
    v->at[v->axis] = i;
    const vtac_expr *y = v->total != NULL || v->by_share ? E2(MUL, e, total) : E2(DIV, e, total);
    vtac_out_at(l, 0, v->at, quantize_share(l, y));
}

/* Operand of all results of a row: 1 / total, or the logarithm of the total of exponentials. */
static const vtac_expr *factor_of(vtac_lower *l, const vectors *v, const vtac_expr *total)
{
    return l->node->op == VTAC_OP_LOG_SOFTMAX ? E1(LOG, total)
                                              : E2(DIV, vtac_e_int(l->k, v->s->type, 1), total);
}

/* A row along the last axis. */
static void along_lanes(vtac_lower *l, vectors *v, int64_t extent)
{
    const vtac_dtype type = v->s->type;
    v->row = l->node->op == VTAC_OP_LOG_SOFTMAX
                 ? NULL
                 : vtac_kernel_buffer(l->k, "row", type, extent, VTAC_BUFFER_SCRATCH);
    vtac_set_lanes(l, v->max, v->lanes, vtac_e_float(l->k, type, -HUGE_VAL));
    vtac_each_of_row(l, extent, v->lanes, take_max, v);
    v->top = vtac_let(l->k, "most", vtac_join_lanes(l, v->max, v->lanes, VTAC_E_MAX));
    vtac_set_lanes(l, v->sum, v->lanes, vtac_e_int(l->k, type, 0));
    vtac_each_of_row(l, extent, v->lanes, take_exp, v);
    const vtac_expr *total = vtac_join_lanes(l, v->sum, v->lanes, VTAC_E_ADD);
    v->total = vtac_let(l->k, "total", factor_of(l, v, total));
    vtac_each_of_row(l, extent, v->lanes, take_result, v);
}

/* All places of the marked axis, for the lanes that are open. */
static void down_the_axis(vtac_lower *l, vectors *v, uint32_t axis, vtac_row_fn *fn, const vtac_expr *first,
                          int64_t lanes)
{
    v->at[axis] = vtac_for(l->k, VTAC_LOOP_SERIAL, v->s->x->dim[axis], "i");
    const vtac_expr *lane =
        lanes == 1 ? vtac_e_index(l->k, 0) : vtac_for(l->k, VTAC_LOOP_VECTOR, lanes, "lane");
    fn(l, v, vtac_i_add(l->k, first, lane), lane);
    vtac_close(l, lanes == 1 ? 1 : 2);
}

/* Some rows side by side, each in a lane. */
static void in_lanes(vtac_lower *l, vectors *v, uint32_t axis, const vtac_expr *first, int64_t lanes)
{
    const vtac_dtype type = v->s->type;
    vtac_set_lanes(l, v->max, lanes, vtac_e_float(l->k, type, -HUGE_VAL));
    down_the_axis(l, v, axis, take_max, first, lanes);
    vtac_set_lanes(l, v->sum, lanes, vtac_e_int(l->k, type, 0));
    down_the_axis(l, v, axis, take_exp, first, lanes);
    down_the_axis(l, v, axis, take_result, first, lanes);
}

/* ---- few elements behind the axis: the axis and they are one run of neighbours, whose lanes meet the same
 * rows again after a period of some vectors
 * -------------------------------------------------------------------------------------------------- */

enum { MAX_UNROLLED = 4, MAX_PERIOD = 16 }; /* vectors of a period */

typedef struct period {
    int64_t rows, run; /* elements behind the axis; of the axis and them */
    int64_t lanes, vectors;
} period;

/* True if rows have a common period with the vectors that leaves fewer lanes empty than single rows do, and a
 * run has several such periods. */
static bool period_of(const vtac_lower *l, const softmax *s, uint32_t axis, int64_t rows, period *p)
{
    *p = (period){.rows = rows, .run = rows * s->x->dim[axis]};
    const int64_t widest = vtac_row_lanes(l, s->type, p->run);
    for (p->lanes = widest; p->lanes >= 4; p->lanes /= 2) {
        p->vectors = rows;
        int64_t lanes = p->lanes;
        while (lanes % 2 == 0 && p->vectors % 2 == 0) {
            lanes /= 2;
            p->vectors /= 2;
        }
        if (p->vectors <= MAX_PERIOD && p->run >= 2 * p->vectors * p->lanes) {
            return rows < 2 * widest && rows % widest != 0;
        }
    }
    return false;
}

/* Goes through a part of a run from `first` on: `whole` vectors, then one of `rest` lanes. */
static void each_of_period(vtac_lower *l, vectors *v, const period *p, const vtac_expr *first, int64_t whole,
                           int64_t rest, vtac_row_fn *fn)
{
    for (int i = 0; i < 2; i++) {
        const int64_t lanes = i == 0 ? p->lanes : rest;
        if (i == 0 ? whole == 0 : rest == 0) {
            continue;
        }
        const vtac_expr *j = vtac_e_index(l->k, whole);
        if (i == 0) {
            j = vtac_for(l->k, whole <= MAX_UNROLLED ? VTAC_LOOP_UNROLL : VTAC_LOOP_SERIAL, whole, "j");
        }
        const vtac_expr *lane =
            lanes == 1 ? vtac_e_index(l->k, 0) : vtac_for(l->k, VTAC_LOOP_VECTOR, lanes, "lane");
        const vtac_expr *place = vtac_i_add(l->k, vtac_i_mulc(l->k, j, p->lanes), lane);
        fn(l, v, vtac_i_add(l->k, first, place), place);
        vtac_close(l, (i == 0 ? 1u : 0u) + (lanes == 1 ? 0u : 1u));
    }
}

static void each_of_run(vtac_lower *l, vectors *v, const period *p, vtac_row_fn *fn)
{
    const int64_t length = p->vectors * p->lanes;
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, p->run / length, "i");
    each_of_period(l, v, p, vtac_i_mulc(l->k, i, length), p->vectors, 0, fn);
    vtac_end(l->k);
    const int64_t rest = p->run % length;
    each_of_period(l, v, p, vtac_e_index(l->k, p->run - rest), rest / p->lanes, rest % p->lanes, fn);
}

/* Lanes of one row become what `op` makes of them all; of sums, what results are taken by. The rows are lanes
 * meanwhile. */
static void join_period(vtac_lower *l, vectors *v, const period *p, vtac_buffer *parts, vtac_expr_op op)
{
    const int64_t steps = p->vectors * p->lanes / p->rows;
    const vtac_expr *row = vtac_for(l->k, VTAC_LOOP_VECTOR, p->rows, "row");
    const vtac_expr *all = vtac_e_load(l->k, parts, row);
    for (int64_t i = 1; i < steps; i++) {
        const vtac_expr *part = vtac_e_load(l->k, parts, vtac_i_addc(l->k, row, i * p->rows));
        all = vtac_let(l->k, "all", vtac_e2(l->k, op, part, all));
    }
    all = vtac_let(l->k, "all", op == VTAC_E_ADD ? factor_of(l, v, all) : all);
    for (int64_t i = 0; i < steps; i++) {
        vtac_store(l->k, parts, vtac_i_addc(l->k, row, i * p->rows), all);
    }
    vtac_end(l->k);
}

static void set_period(vtac_lower *l, const period *p, vtac_buffer *parts, const vtac_expr *value)
{
    const vtac_expr *j = vtac_for(l->k, VTAC_LOOP_SERIAL, p->vectors, "j");
    const vtac_expr *lane = vtac_for(l->k, VTAC_LOOP_VECTOR, p->lanes, "lane");
    vtac_store(l->k, parts, vtac_i_add(l->k, vtac_i_mulc(l->k, j, p->lanes), lane), value);
    vtac_close(l, 2);
}

static void by_periods(vtac_lower *l, const softmax *s, uint32_t axis, const period *p)
{
    const vtac_type *x = s->x;
    const vtac_expr *at[VTAC_MAX_RANK];
    bool marks[VTAC_MAX_RANK] = {false};
    vectors v = {.s = s, .at = at, .axis = vtac_lane_axis(x, axis), .lanes = p->lanes, .by_share = true};
    v.max = vtac_local(l, "most", s->type, p->vectors * p->lanes);
    v.sum = vtac_local(l, "sum", s->type, p->vectors * p->lanes);
    for (uint32_t i = axis; i < x->rank; i++) {
        marks[i] = true;
        at[i] = vtac_e_index(l->k, 0);
    }
    vtac_open_others(l, x, marks, at);
    v.row = l->node->op == VTAC_OP_LOG_SOFTMAX
                ? NULL
                : vtac_kernel_buffer(l->k, "row", s->type, p->run, VTAC_BUFFER_SCRATCH);
    set_period(l, p, v.max, vtac_e_float(l->k, s->type, -HUGE_VAL));
    each_of_run(l, &v, p, take_max);
    join_period(l, &v, p, v.max, VTAC_E_MAX);
    set_period(l, p, v.sum, vtac_e_int(l->k, s->type, 0));
    each_of_run(l, &v, p, take_exp);
    join_period(l, &v, p, v.sum, VTAC_E_ADD);
    each_of_run(l, &v, p, take_result);
    vtac_end(l->k);
}

/* ---- rows side by side */

/* `rows`: elements behind the axis, counted by the index of the last axis. */
static void side_by_side(vtac_lower *l, vectors *v, uint32_t axis, int64_t rows)
{
    const int64_t whole = rows / v->lanes;
    if (whole > 0) {
        const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, whole, "i");
        in_lanes(l, v, axis, vtac_i_mulc(l->k, i, v->lanes), v->lanes);
        vtac_end(l->k);
    }
    if (rows % v->lanes != 0) {
        in_lanes(l, v, axis, vtac_e_index(l->k, whole * v->lanes), rows % v->lanes);
    }
}

/* `first`: of the axes that lie side by side. */
static void by_vectors(vtac_lower *l, const softmax *s, uint32_t axis, uint32_t first, int64_t rows)
{
    const vtac_type *x = s->x;
    const uint32_t last = vtac_lane_axis(x, axis);
    const vtac_expr *at[VTAC_MAX_RANK];
    bool marks[VTAC_MAX_RANK] = {false};
    vectors v = {.s = s, .at = at, .axis = last, .lanes = vtac_row_lanes(l, s->type, rows)};
    v.max = vtac_local(l, "most", s->type, v.lanes);
    v.sum = vtac_local(l, "sum", s->type, v.lanes);
    marks[axis] = marks[last] = true;
    for (uint32_t i = first; i < last; i++) {
        marks[i] = true;
        at[i] = vtac_e_index(l->k, 0);
    }
    vtac_open_others(l, x, marks, at);
    if (axis == last) {
        along_lanes(l, &v, rows);
    } else {
        side_by_side(l, &v, axis, rows);
    }
    vtac_end(l->k);
}

/* Every row is read before its results are written, or each element at its own place: both may share memory.
 */
static void share_memory(vtac_lower *l)
{
    const vtac_value_id x = l->node->inputs[0];
    const vtac_type *y = &l->graph->values[vtac_final_value(l, 0)].type;
    for (size_t i = 0; i < l->step->arg_count; i++) {
        vtac_step_arg *arg = &l->step->args[i];
        if (arg->storage == l->program->of_value[x] && l->chain_count == 0 &&
            vtac_dtype_bytes(y->dtype) == vtac_dtype_bytes(vtac_type_in(l, 0)->dtype)) {
            arg->in_place = true;
        }
    }
}

/* The one axis that is marked, of a function that vectors do; else false. */
static bool one_axis(const vtac_lower *l, const softmax *s, uint32_t *axis)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->x->rank; i++) {
        *axis = s->marks[i] ? i : *axis;
        count += s->marks[i];
    }
    return count == 1 && l->node->op != VTAC_OP_HARDMAX && vtac_type_elements(s->x) > 0;
}

/* Lowers by vectors if there are enough neighbours; else false. */
static bool lower_by_vectors(vtac_lower *l, softmax *s)
{
    uint32_t axis = 0;
    if (!one_axis(l, s, &axis)) {
        return false;
    }
    const uint32_t last = vtac_lane_axis(s->x, axis);
    const bool through = vtac_counts_through(l);
    int64_t behind = 1;
    for (uint32_t i = axis + 1; i <= last; i++) {
        behind *= s->x->dim[i];
    }
    period p;
    if (through && behind > 1 && period_of(l, s, axis, behind, &p)) {
        by_periods(l, s, axis, &p);
        return true;
    }
    uint32_t first = last; /* of the axes whose elements lie side by side in a vector */
    int64_t rows = s->x->dim[last];
    while (through && first > axis + 1 && rows < vtac_row_fills(l, s->type)) {
        rows *= s->x->dim[--first];
    }
    if (vtac_row_lanes(l, s->type, rows) == 1) {
        return false;
    }
    by_vectors(l, s, axis, first, rows);
    return true;
}

vta_status vtac_lower_softmax(vtac_lower *l)
{
    softmax s = {.x = vtac_type_in(l, 0)};
    VTA_TRY(marked_axes(l, &s));
    VTA_TRY(vtac_begin(l, ""));
    s.type = l->node->op == VTAC_OP_QLINEAR_SOFTMAX ? VTAC_F32 : vtac_compute_type(s.x->dtype);
    if (lower_by_vectors(l, &s)) {
        if (!l->k->failed) {
            share_memory(l);
        }
        return l->diag->code;
    }
    s.max = vtac_local(l, "most", s.type, 1);
    s.sum = vtac_local(l, "sum", s.type, 1);
    s.where = vtac_local(l, "where", VTAC_I64, 1);
    const vtac_expr *at[VTAC_MAX_RANK];
    const uint32_t outer = vtac_open_axes(l, s.x, s.marks, false, at, true);
    find_largest(l, &s, at);
    if (l->node->op != VTAC_OP_HARDMAX) {
        add_up(l, &s, at);
    }
    const uint32_t inner = vtac_open_axes(l, s.x, s.marks, true, at, false);
    vtac_out_at(l, 0, at, result_at(l, &s, at));
    vtac_close(l, inner + outer);
    return l->diag->code;
}
