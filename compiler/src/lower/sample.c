/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that read an input at places between its elements: GridSample, the columns of DeformConv,
 * RoiAlign.
 */
#include <string.h>

#include "../ops/infer.h"
#include "point.h"

#define E1(op, a)       vtac_e1(l->k, VTAC_E_##op, a)
#define E2(op, a, b)    vtac_e2(l->k, VTAC_E_##op, a, b)
#define SELECT(c, a, b) vtac_e3(l->k, VTAC_E_SELECT, c, a, b)
#define LET(name, e)    vtac_let(l->k, name, e)

enum { MAX_AXES = VTAC_MAX_RANK - 2 };

typedef enum sample_padding { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION } sample_padding;

/* Parameters of sampling from input 0, [N, C, axes...]. */
typedef struct sampler {
    uint32_t axes;
    const int64_t *dim; /* of the axes */
    vtac_dtype type;    /* the places, the weights and the sums are computed in */
    sample_padding padding;
    bool corners;                       /* the corners' centres are the edges, not their outer sides */
    uint32_t taps;                      /* along each axis: 1, 2, 4 */
    const vtac_expr *at[VTAC_MAX_RANK]; /* of the tap in work */
    struct {
        const vtac_expr *place, *weight, *inside; /* NULL: 1, always */
    } tap[MAX_AXES][4];
} sampler;

static const vtac_expr *number_of(vtac_lower *l, const sampler *s, double value)
{
    return vtac_e_float(l->k, s->type, value);
}

static const vtac_expr *clamp_value(vtac_lower *l, const vtac_expr *x, const vtac_expr *low,
                                    const vtac_expr *high)
{
    return SELECT(E2(LT, x, low), low, SELECT(E2(GT, x, high), high, x));
}

/* A place thrown back at both edges as often as needed. */
static const vtac_expr *reflect_place(vtac_lower *l, const sampler *s, const vtac_expr *x, int64_t dim)
{
    const double low = s->corners ? 0.0 : -0.5;
    const double span = s->corners ? (double)dim - 1.0 : (double)dim;
    if (span <= 0.0) {
        return number_of(l, s, 0.0);
    }
    const vtac_expr *period = number_of(l, s, 2.0 * span);
    const vtac_expr *far = LET("far", E1(ABS, E2(SUB, x, number_of(l, s, low))));
    const vtac_expr *turns = E1(FLOOR, E2(DIV, far, period));
    const vtac_expr *rest = LET("rest", E2(SUB, far, E2(MUL, turns, period)));
    return LET("turned", E2(ADD, number_of(l, s, low), E2(MIN, rest, E2(SUB, period, rest))));
}

/* A place beyond the edges, by the padding; within them it stays. */
static const vtac_expr *place_at_edge(vtac_lower *l, const sampler *s, const vtac_expr *x, int64_t dim)
{
    const double low = s->corners ? 0.0 : -0.5;
    const vtac_expr *outside = E2(OR, E2(LT, x, number_of(l, s, low)),
                                  E2(GT, x, number_of(l, s, (double)dim - (s->corners ? 1.0 : 0.5))));
    const vtac_expr *moved = s->padding == PAD_BORDER
                                 ? clamp_value(l, x, number_of(l, s, 0.0), number_of(l, s, (double)(dim - 1)))
                                 : reflect_place(l, s, x, dim);
    return s->padding == PAD_ZEROS ? x : LET("place", SELECT(LET("outside", outside), moved, x));
}

/* The factors of four neighbours by how far the place is behind the second: cubic convolution with -0.75. */
static void cubic_factors(vtac_lower *l, const sampler *s, const vtac_expr *t, const vtac_expr **w)
{
    static const double a = -0.75;
    for (uint32_t i = 0; i < 4; i++) {
        const double away = i == 0 ? 1.0 : i == 1 ? 0.0 : i == 2 ? 1.0 : 2.0;
        const vtac_expr *d = i < 2 ? E2(ADD, t, number_of(l, s, away)) : E2(SUB, number_of(l, s, away), t);
        d = LET("d", d);
        const bool near = i == 1 || i == 2;
        const double f[] = {near ? a + 2.0 : a, near ? -(a + 3.0) : -5.0 * a, near ? 0.0 : 8.0 * a,
                            near ? 1.0 : -4.0 * a};
        const vtac_expr *sum = number_of(l, s, f[0]);
        for (uint32_t k = 1; k < 4; k++) {
            sum = E2(ADD, E2(MUL, sum, d), number_of(l, s, f[k]));
        }
        w[i] = LET("w", sum);
    }
}

/* The taps of one axis around place x. */
static void prepare_axis(vtac_lower *l, sampler *s, uint32_t axis, const vtac_expr *x)
{
    static const double max = 1 << 30; /* beyond every axis; keeps the integers from wrapping round */
    const int64_t dim = s->dim[axis];
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *last = vtac_e_index(l->k, dim - 1);
    const vtac_expr *weight[4] = {NULL};
    x = LET("x", clamp_value(l, x, number_of(l, s, -max), number_of(l, s, max)));
    const vtac_expr *first = LET("first", s->taps == 1 ? x : E1(FLOOR, x));
    if (s->taps > 1) {
        const vtac_expr *t = LET("t", E2(SUB, x, first));
        if (s->taps == 2) {
            weight[0] = LET("w", E2(SUB, number_of(l, s, 1.0), t));
            weight[1] = t;
        } else {
            cubic_factors(l, s, t, weight);
        }
    }
    const vtac_expr *base = LET("base", vtac_e_cast(l->k, VTAC_I64, first));
    for (uint32_t i = 0; i < s->taps; i++) {
        const int64_t step = s->taps == 4 ? (int64_t)i - 1 : (int64_t)i;
        const vtac_expr *place = LET("at", vtac_i_addc(l->k, base, step));
        s->tap[axis][i].weight = weight[i];
        s->tap[axis][i].inside =
            s->padding == PAD_ZEROS ? LET("inside", E2(AND, E2(GE, place, zero), E2(LE, place, last))) : NULL;
        if (s->padding == PAD_REFLECTION) {
            const vtac_expr *there = place_at_edge(l, s, vtac_e_cast(l->k, s->type, place), dim);
            place = vtac_e_cast(l->k, VTAC_I64, there);
        }
        s->tap[axis][i].place = LET("held", E2(MAX, zero, E2(MIN, last, place)));
    }
}

/* The sum over the taps of the axes from `axis` on, of elements that lie inside as far as the axes before
 * tell. */
static const vtac_expr *sum_of_taps(vtac_lower *l, sampler *s, uint32_t axis, const vtac_expr *inside)
{
    if (axis == s->axes) {
        const vtac_expr *x = vtac_in_at(l, VTAC_GRID_SAMPLE_X, s->at);
        return inside == NULL ? x : SELECT(inside, x, vtac_e_int(l->k, x == NULL ? s->type : x->type, 0));
    }
    const vtac_expr *sum = NULL;
    for (uint32_t i = 0; i < s->taps; i++) {
        const vtac_expr *here = s->tap[axis][i].inside;
        here = here == NULL ? inside : inside == NULL ? here : E2(AND, inside, here);
        s->at[2 + axis] = s->tap[axis][i].place;
        const vtac_expr *x = sum_of_taps(l, s, axis + 1, here);
        if (s->tap[axis][i].weight != NULL) {
            x = E2(MUL, s->tap[axis][i].weight, vtac_e_cast(l->k, s->type, x));
        }
        sum = sum == NULL ? x : E2(ADD, sum, x);
    }
    return LET("sum", sum);
}

/* ---- GridSample: x [N, C, axes...], grid [N, places..., axes], whose last axis names x's last axis first */

/* The taps of each axis around what the grid says at place at[] of the output. */
static void prepare_from_grid(vtac_lower *l, sampler *s, const vtac_expr *const *at)
{
    const vtac_expr *where[VTAC_MAX_RANK];
    where[0] = at[0];
    for (uint32_t i = 0; i < s->axes; i++) {
        where[1 + i] = at[2 + i];
    }
    for (uint32_t i = 0; i < s->axes; i++) {
        where[1 + s->axes] = vtac_e_index(l->k, s->axes - 1 - i);
        const vtac_expr *given = vtac_e_cast(l->k, s->type, vtac_in_at(l, VTAC_GRID_SAMPLE_GRID, where));
        const vtac_expr *from = LET("from", E2(ADD, given, number_of(l, s, 1.0)));
        const double dim = (double)s->dim[i];
        const vtac_expr *half = number_of(l, s, 0.5);
        const vtac_expr *place =
            s->corners ? E2(MUL, E2(MUL, from, half), number_of(l, s, dim - 1.0))
                       : E2(MUL, E2(SUB, E2(MUL, from, number_of(l, s, dim)), number_of(l, s, 1.0)), half);
        place = LET("place", place);
        place = s->taps == 1 ? LET("place", E1(ROUND, place)) : place; /* halves to the even place */
        prepare_axis(l, s, i, place_at_edge(l, s, place, s->dim[i]));
    }
}

/* Taps of a row of outputs, shared by all channels: the place in a plane (-1: outside) and the weight
 * of each tap. */
typedef struct sample_plan {
    vtac_buffer *places, *weights; /* [tap][column]; weights NULL: all 1 */
    int64_t taps, columns;
} sample_plan;

static const vtac_expr *plan_at(vtac_lower *l, const sample_plan *plan, int64_t tap, const vtac_expr *column)
{
    return vtac_i_addc(l->k, column, tap * plan->columns);
}

static void plan_tap(vtac_lower *l, const sampler *s, const sample_plan *plan, int64_t tap,
                     const vtac_expr *column)
{
    const vtac_expr *place = vtac_e_index(l->k, 0);
    const vtac_expr *inside = NULL;
    const vtac_expr *weight = NULL;
    int64_t rest = tap;
    int64_t stride = 1;
    for (uint32_t axis = s->axes; axis-- > 0; rest /= s->taps) {
        const int64_t i = rest % s->taps;
        const vtac_expr *in = s->tap[axis][i].inside;
        const vtac_expr *own = s->tap[axis][i].weight;
        place = vtac_i_add(l->k, place, vtac_i_mulc(l->k, s->tap[axis][i].place, stride));
        inside = in == NULL ? inside : inside == NULL ? in : E2(AND, inside, in);
        weight = own == NULL ? weight : weight == NULL ? own : E2(MUL, weight, own);
        stride *= s->dim[axis];
    }
    place = inside == NULL ? place : SELECT(inside, place, vtac_e_index(l->k, -1));
    vtac_store(l->k, plan->places, plan_at(l, plan, tap, column), vtac_e_cast(l->k, VTAC_I32, place));
    if (plan->weights != NULL) {
        vtac_store(l->k, plan->weights, plan_at(l, plan, tap, column), weight);
    }
}

static const vtac_expr *sum_of_plan(vtac_lower *l, const sampler *s, const sample_plan *plan,
                                    const vtac_expr *base, const vtac_expr *column)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *sum = NULL;
    for (int64_t tap = 0; tap < plan->taps; tap++) {
        const vtac_expr *at = plan_at(l, plan, tap, column);
        const vtac_expr *place =
            LET("place", vtac_e_cast(l->k, VTAC_I64, vtac_e_load(l->k, plan->places, at)));
        const vtac_expr *held = s->padding == PAD_ZEROS ? E2(MAX, zero, place) : place;
        const vtac_expr *x = vtac_e_load(l->k, vtac_in(l, VTAC_GRID_SAMPLE_X), vtac_i_add(l->k, base, held));
        x = s->padding == PAD_ZEROS
                ? SELECT(E2(GE, place, zero), x, vtac_e_int(l->k, x == NULL ? s->type : x->type, 0))
                : x;
        if (plan->weights != NULL) {
            x = E2(MUL, vtac_e_load(l->k, plan->weights, at), vtac_e_cast(l->k, s->type, x));
        }
        sum = LET("sum", sum == NULL ? x : E2(ADD, sum, x));
    }
    return sum;
}

static sampler grid_sampler(const vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, VTAC_GRID_SAMPLE_X);
    const char *mode = vtac_attr_string(l->node, "mode", "linear");
    const char *edges = vtac_attr_string(l->node, "padding_mode", "zeros");
    sampler s = {.axes = x->rank - 2,
                 .dim = x->dim + 2,
                 .type = vtac_compute_type(vtac_type_in(l, VTAC_GRID_SAMPLE_GRID)->dtype),
                 .padding = edges[0] == 'b'   ? PAD_BORDER
                            : edges[0] == 'r' ? PAD_REFLECTION
                                              : PAD_ZEROS,
                 .corners = vtac_attr_int(l->node, "align_corners", 0) != 0,
                 .taps = strcmp(mode, "nearest") == 0    ? 1
                         : strstr(mode, "cubic") != NULL ? 4
                                                         : 2};
    s.type = vtac_compute_type(x->dtype) == VTAC_F64 ? VTAC_F64 : s.type;
    return s;
}

vta_status vtac_lower_grid_sample(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, VTAC_GRID_SAMPLE_X);
    const vtac_type *y = vtac_type_out(l, 0);
    const uint32_t last = y->rank - 1;
    sampler s = grid_sampler(l);
    sample_plan plan = {.taps = 1, .columns = y->dim[last]};
    int64_t plane = 1;
    for (uint32_t i = 0; i < s.axes; i++) {
        plan.taps *= s.taps;
        plane *= s.dim[i];
    }
    if (plane > INT32_MAX) {
        return vtac_unsupported(l, "a plane of more than 2^31 - 1 elements is not lowered");
    }
    VTA_TRY(vtac_begin(l, ""));
    plan.places = vtac_kernel_buffer(l->k, "places", VTAC_I32, plan.taps * plan.columns, VTAC_BUFFER_SCRATCH);
    if (s.taps > 1) {
        plan.weights =
            vtac_kernel_buffer(l->k, "weights", s.type, plan.taps * plan.columns, VTAC_BUFFER_SCRATCH);
    }
    vtac_type rows = *y;
    rows.dim[1] = rows.dim[last] = 1;
    const vtac_expr *at[VTAC_MAX_RANK];
    const uint32_t loops = vtac_open(l, &rows, at, y->dim[1] * y->dim[last] * plan.taps);
    at[last] = vtac_for(l->k, VTAC_LOOP_SERIAL, plan.columns, "column");
    prepare_from_grid(l, &s, at);
    for (int64_t tap = 0; tap < plan.taps; tap++) {
        plan_tap(l, &s, &plan, tap, at[last]);
    }
    vtac_end(l->k);
    at[1] = vtac_for(l->k, VTAC_LOOP_SERIAL, y->dim[1], "channel");
    const vtac_expr *base = vtac_i_add(l->k, vtac_i_mulc(l->k, at[0], y->dim[1]), at[1]);
    base = LET("base", vtac_i_mulc(l->k, base, plane));
    at[last] = vtac_for(l->k, VTAC_LOOP_SERIAL, plan.columns, "column");
    const vtac_expr *value = sum_of_plan(l, &s, &plan, base, at[last]);
    vtac_out_at(l, 0, at, vtac_e_cast(l->k, vtac_compute_type(x->dtype), value));
    vtac_close(l, loops + 2);
    return l->diag->code;
}

/* ---- the columns of DeformConv: x [N, C, axes...], offset [N, groups * taps * axes, places...], mask [N,
 * groups * taps, places...]; out [N, C, taps, places] */

const vtac_expr *vtac_map_deform_columns(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at)
{
    const vtac_type *x = vtac_in_type(l->graph, n, VTAC_DEFORM_COLUMNS_X);
    const vtac_type *offset = vtac_in_type(l->graph, n, VTAC_DEFORM_COLUMNS_OFFSETS);
    const int64_t groups = vtac_attr_int(n, "offset_group", 1);
    vtac_window w;
    if (vtac_window_of(n, x, NULL, false, &w, l->diag) != VTA_OK) {
        return NULL;
    }
    sampler s = {.axes = w.axes,
                 .dim = x->dim + 2,
                 .type = vtac_compute_type(x->dtype),
                 .padding = PAD_ZEROS,
                 .taps = 2};
    int64_t taps = 1;
    for (uint32_t i = 0; i < w.axes; i++) {
        taps *= w.kernel[i];
    }
    s.at[0] = at[0];
    s.at[1] = at[1];
    const vtac_expr *group = vtac_i_divc(l->k, at[1], x->dim[1] / groups);
    const vtac_expr *row = LET("row", vtac_i_add(l->k, vtac_i_mulc(l->k, group, taps), at[2]));
    const vtac_expr *where[VTAC_MAX_RANK];
    const vtac_expr *tap = at[2];
    const vtac_expr *place = at[3];
    where[0] = at[0];
    const vtac_expr *from[MAX_AXES];
    for (uint32_t i = w.axes; i-- > 0;) {
        where[2 + i] = LET("o", vtac_i_remc(l->k, place, offset->dim[2 + i]));
        place = vtac_i_divc(l->k, place, offset->dim[2 + i]);
        const vtac_expr *k = vtac_i_remc(l->k, tap, w.kernel[i]);
        tap = vtac_i_divc(l->k, tap, w.kernel[i]);
        from[i] = vtac_i_addc(l->k,
                              vtac_i_add(l->k, vtac_i_mulc(l->k, where[2 + i], w.stride[i]),
                                         vtac_i_mulc(l->k, k, w.dilation[i])),
                              -w.pad_begin[i]);
    }
    for (uint32_t i = 0; i < w.axes; i++) {
        where[1] = vtac_i_addc(l->k, vtac_i_mulc(l->k, row, w.axes), i);
        const vtac_expr *moved =
            E2(ADD, vtac_e_cast(l->k, s.type, from[i]), vtac_in_at(l, VTAC_DEFORM_COLUMNS_OFFSETS, where));
        prepare_axis(l, &s, i, moved);
    }
    const vtac_expr *value = sum_of_taps(l, &s, 0, NULL);
    if (vtac_in_type(l->graph, n, VTAC_DEFORM_COLUMNS_MASK) != NULL) {
        where[1] = row;
        value = E2(MUL, value, vtac_in_at(l, VTAC_DEFORM_COLUMNS_MASK, where));
    }
    return value;
}
