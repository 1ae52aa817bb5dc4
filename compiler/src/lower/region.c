/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that reduce regions of a picture: RoiAlign, MaxRoiPool. Regions are data, so that the loops over
 * what lies in them are bounded by numbers that are known only when they run.
 */
#include <math.h>
#include <string.h>

#include "../ops/infer.h"
#include "lower.h"

#define E1(op, a)       vtac_e1(l->k, VTAC_E_##op, a)
#define E2(op, a, b)    vtac_e2(l->k, VTAC_E_##op, a, b)
#define SELECT(c, a, b) vtac_e3(l->k, VTAC_E_SELECT, c, a, b)
#define LET(name, e)    vtac_let(l->k, name, e)

/* Loops have constant extents: a count is run through digit by digit, and a digit's loop is entered where
 * there is something left. */
enum { DIGITS = 3, DIGIT = 16, MAX_SAMPLES = 4096 /* DIGIT to the DIGITS */ };

/* 0, 1 ... count - 1; what was opened is closed by 2 * DIGITS ends. */
static const vtac_expr *open_count(vtac_lower *l, const vtac_expr *count)
{
    const vtac_expr *i = vtac_e_index(l->k, 0);
    int64_t place = MAX_SAMPLES;
    for (uint32_t d = 0; d < DIGITS; d++) {
        place /= DIGIT;
        const vtac_expr *digit = vtac_for(l->k, VTAC_LOOP_SERIAL, DIGIT, "digit");
        i = LET("i", vtac_i_add(l->k, i, vtac_i_mulc(l->k, digit, place)));
        vtac_if(l->k, E2(LT, i, count));
    }
    return i;
}

static const vtac_expr *number_of(vtac_lower *l, vtac_dtype type, double value)
{
    return vtac_e_float(l->k, type, value);
}

/* ---- RoiAlign: x [N, C, H, W], rois [R, 4] as x, y of two corners, the picture of each; out [R, C, h, w] */

typedef struct aligned {
    vtac_dtype type;
    const vtac_expr *start, *bin, *count, *inverse; /* of one axis; inverse: bin / count */
    int64_t dim;
} aligned;

static aligned align_axis(vtac_lower *l, const vtac_expr *roi, uint32_t axis, const vtac_expr *cell)
{
    const bool half =
        strcmp(vtac_attr_string(l->node, "coordinate_transformation_mode", "half_pixel"), "half_pixel") == 0;
    const int64_t ratio = vtac_attr_int(l->node, "sampling_ratio", 0);
    aligned a = {.type = vtac_compute_type(vtac_type_in(l, VTAC_ROI_ALIGN_X)->dtype),
                 .dim = vtac_type_in(l, VTAC_ROI_ALIGN_X)->dim[2 + axis]};
    const double scale = vtac_attr_float(l->node, "spatial_scale", 1.0);
    const vtac_expr *corner[2];
    for (uint32_t k = 0; k < 2; k++) {
        const vtac_expr *at[] = {roi, vtac_e_index(l->k, 2 * k + (axis == 0 ? 1 : 0))};
        const vtac_expr *given = vtac_e_cast(l->k, a.type, vtac_in_at(l, VTAC_ROI_ALIGN_ROIS, at));
        corner[k] = E2(MUL, given, number_of(l, a.type, scale));
        corner[k] = LET("corner", half ? E2(SUB, corner[k], number_of(l, a.type, 0.5)) : corner[k]);
    }
    const vtac_expr *size = E2(SUB, corner[1], corner[0]);
    size = LET("size", half ? size : E2(MAX, size, number_of(l, a.type, 1.0)));
    const vtac_expr *bins = number_of(l, a.type, (double)vtac_type_out(l, 0)->dim[2 + axis]);
    a.bin = LET("bin", E2(DIV, size, bins));
    const vtac_expr *samples =
        ratio > 0 ? vtac_e_index(l->k, ratio) : vtac_e_cast(l->k, VTAC_I64, E1(CEIL, a.bin));
    a.count = LET("samples", E2(MIN, vtac_e_index(l->k, MAX_SAMPLES), samples));
    const vtac_expr *divisor = E2(MAX, a.count, vtac_e_index(l->k, 1));
    a.inverse = LET("step", E2(DIV, a.bin, vtac_e_cast(l->k, a.type, divisor)));
    a.start = LET("start", E2(ADD, corner[0], E2(MUL, vtac_e_cast(l->k, a.type, cell), a.bin)));
    return a;
}

/* The two neighbours of a sample on one axis and what they count; `inside`: whether it is read at all. */
typedef struct neighbours {
    const vtac_expr *place[2], *weight[2], *inside;
} neighbours;

static neighbours find_neighbours(vtac_lower *l, const aligned *a, const vtac_expr *sample)
{
    neighbours n;
    const vtac_expr *zero = number_of(l, a->type, 0.0);
    const vtac_expr *one = number_of(l, a->type, 1.0);
    const vtac_expr *last = number_of(l, a->type, (double)(a->dim - 1));
    const vtac_expr *middle = E2(ADD, vtac_e_cast(l->k, a->type, sample), number_of(l, a->type, 0.5));
    const vtac_expr *x = LET("x", E2(ADD, a->start, E2(MUL, middle, a->inverse)));
    n.inside = LET("inside", E2(AND, E2(GE, x, number_of(l, a->type, -1.0)),
                                E2(LE, x, number_of(l, a->type, (double)a->dim))));
    const vtac_expr *held = LET("held", SELECT(n.inside, E2(MIN, last, E2(MAX, zero, x)), zero));
    const vtac_expr *low = LET("low", E1(FLOOR, held));
    n.weight[1] = LET("after", E2(SUB, held, low));
    n.weight[0] = LET("before", E2(SUB, one, n.weight[1]));
    n.place[0] = LET("at", vtac_e_cast(l->k, VTAC_I64, low));
    n.place[1] = LET("next", E2(MIN, vtac_e_index(l->k, a->dim - 1), vtac_i_addc(l->k, n.place[0], 1)));
    return n;
}

/* Adds one sample to the sums of all channels. */
static void add_sample(vtac_lower *l, vtac_buffer *sums, const vtac_expr *batch, const neighbours *row,
                       const neighbours *column, bool max)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const vtac_dtype type = vtac_compute_type(x->dtype);
    const vtac_expr *weight[4];
    const vtac_expr *place[4];
    for (uint32_t i = 0; i < 4; i++) {
        weight[i] = LET("weight", E2(MUL, row->weight[i / 2], column->weight[i % 2]));
        const vtac_expr *at = vtac_i_mulc(l->k, row->place[i / 2], x->dim[3]);
        place[i] = LET("place", vtac_i_add(l->k, at, column->place[i % 2]));
    }
    const vtac_expr *channel = vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[1], "channel");
    const vtac_expr *plane = vtac_i_add(l->k, vtac_i_mulc(l->k, batch, x->dim[1]), channel);
    plane = LET("plane", vtac_i_mulc(l->k, plane, x->dim[2] * x->dim[3]));
    const vtac_expr *value = NULL;
    for (uint32_t i = 0; i < 4; i++) {
        const vtac_expr *own = vtac_e_load(l->k, vtac_in(l, 0), vtac_i_add(l->k, plane, place[i]));
        const vtac_expr *part = E2(MUL, weight[i], own);
        value = value == NULL ? part : max ? E2(MAX, value, part) : E2(ADD, value, part);
    }
    const vtac_expr *inside = E2(AND, row->inside, column->inside);
    value = LET("value", SELECT(inside, value, number_of(l, type, 0.0)));
    const vtac_expr *before = vtac_e_load(l->k, sums, channel);
    vtac_store(l->k, sums, channel, max ? E2(MAX, before, value) : E2(ADD, before, value));
    vtac_end(l->k);
}

/* Cell by cell: all channels share its samples. */
vta_status vtac_lower_roi_align(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, VTAC_ROI_ALIGN_X);
    const bool max = strcmp(vtac_attr_string(l->node, "mode", "avg"), "max") == 0;
    VTA_TRY(vtac_begin(l, ""));
    const vtac_dtype type = vtac_compute_type(x->dtype);
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    vtac_buffer *sums = vtac_kernel_buffer(l->k, "sums", type, x->dim[1], VTAC_BUFFER_SCRATCH);
    const vtac_expr *at[VTAC_MAX_RANK];
    vtac_type cells = *vtac_type_out(l, 0);
    cells.dim[1] = 1;
    const uint32_t loops = vtac_open(l, &cells, at, 16 * x->dim[1]);
    const vtac_expr *batch =
        LET("batch", vtac_e_cast(l->k, VTAC_I64, vtac_in_at(l, VTAC_ROI_ALIGN_BATCH_INDICES, at)));
    batch = LET("batch", E2(MAX, zero, E2(MIN, vtac_e_index(l->k, x->dim[0] - 1), batch)));
    const aligned y_axis = align_axis(l, at[0], 0, at[2]);
    const aligned x_axis = align_axis(l, at[0], 1, at[3]);
    const vtac_expr *none = E2(MIN, y_axis.count, x_axis.count);
    none = E2(LT, none, vtac_e_index(l->k, 1));
    const vtac_expr *start =
        max ? SELECT(none, number_of(l, type, 0.0), number_of(l, type, -HUGE_VAL)) : number_of(l, type, 0.0);
    start = LET("start", start);
    vtac_store(l->k, sums, vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[1], "channel"), start);
    vtac_end(l->k);
    const neighbours row = find_neighbours(l, &y_axis, open_count(l, y_axis.count));
    const neighbours column = find_neighbours(l, &x_axis, open_count(l, x_axis.count));
    add_sample(l, sums, batch, &row, &column, max);
    vtac_close(l, 4 * DIGITS);
    const vtac_expr *count = E2(MAX, vtac_e_index(l->k, 1), E2(MUL, y_axis.count, x_axis.count));
    count = LET("count", vtac_e_cast(l->k, type, count));
    at[1] = vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[1], "channel");
    const vtac_expr *result = vtac_e_load(l->k, sums, at[1]);
    vtac_out_at(l, 0, at, max ? result : E2(DIV, result, count));
    vtac_close(l, loops + 1);
    return l->diag->code;
}

/* ---- MaxRoiPool: x [N, C, H, W], rois [R, 5] as the picture and x, y of two corners, both in the region */

/* Range of a cell in whole places; the end is exclusive. */
static void cell_range(vtac_lower *l, const vtac_expr *roi, uint32_t axis, const vtac_expr *cell,
                       const vtac_expr **range)
{
    const vtac_dtype type = vtac_compute_type(vtac_type_in(l, VTAC_MAX_ROI_POOL_X)->dtype);
    const int64_t dim = vtac_type_in(l, VTAC_MAX_ROI_POOL_X)->dim[2 + axis];
    const vtac_expr *scale = number_of(l, type, vtac_attr_float(l->node, "spatial_scale", 1.0));
    const vtac_expr *corner[2];
    for (uint32_t k = 0; k < 2; k++) {
        const vtac_expr *at[] = {roi, vtac_e_index(l->k, 1 + 2 * k + (axis == 0 ? 1 : 0))};
        const vtac_expr *scaled = LET("scaled", E2(MUL, vtac_in_at(l, VTAC_MAX_ROI_POOL_ROIS, at), scale));
        const vtac_expr *away = E1(FLOOR, E2(ADD, E1(ABS, scaled), number_of(l, type, 0.5)));
        corner[k] = LET("corner", SELECT(E2(LT, scaled, number_of(l, type, 0.0)), E1(NEG, away), away));
    }
    const vtac_expr *one = number_of(l, type, 1.0);
    const vtac_expr *size = E2(MAX, one, E2(ADD, E2(SUB, corner[1], corner[0]), one));
    const vtac_expr *bins = number_of(l, type, (double)vtac_type_out(l, 0)->dim[2 + axis]);
    const vtac_expr *bin = LET("bin", E2(DIV, size, bins));
    const vtac_expr *i = vtac_e_cast(l->k, type, cell);
    const vtac_expr *edge[] = {E1(FLOOR, E2(MUL, i, bin)), E1(CEIL, E2(MUL, E2(ADD, i, one), bin))};
    for (uint32_t k = 0; k < 2; k++) {
        const vtac_expr *place = vtac_e_cast(l->k, VTAC_I64, E2(ADD, corner[0], edge[k]));
        range[k] = LET("edge", E2(MAX, vtac_e_index(l->k, 0), E2(MIN, vtac_e_index(l->k, dim), place)));
    }
}

vta_status vtac_lower_max_roi_pool(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, VTAC_MAX_ROI_POOL_X);
    VTA_TRY(vtac_begin(l, ""));
    const vtac_dtype type = vtac_compute_type(x->dtype);
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    vtac_buffer *largest = vtac_local(l, "most", type, 1);
    const vtac_expr *at[VTAC_MAX_RANK];
    const vtac_expr *range[2][2];
    const vtac_expr *from[4];
    const uint32_t loops = vtac_open(l, vtac_type_out(l, 0), at, 1);
    const vtac_expr *first[] = {at[0], zero};
    from[0] = vtac_e_cast(l->k, VTAC_I64, vtac_in_at(l, VTAC_MAX_ROI_POOL_ROIS, first));
    from[0] = LET("batch", E2(MAX, zero, E2(MIN, vtac_e_index(l->k, x->dim[0] - 1), from[0])));
    from[1] = at[1];
    const vtac_expr *any = NULL;
    for (uint32_t axis = 0; axis < 2; axis++) {
        cell_range(l, at[0], axis, at[2 + axis], range[axis]);
        const vtac_expr *some = E2(LT, range[axis][0], range[axis][1]);
        any = any == NULL ? some : E2(AND, any, some);
    }
    vtac_store(l->k, largest, zero,
               SELECT(LET("any", any), number_of(l, type, -HUGE_VAL), number_of(l, type, 0.0)));
    for (uint32_t axis = 0; axis < 2; axis++) {
        const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[2 + axis], "i");
        vtac_if(l->k, E2(AND, E2(GE, i, range[axis][0]), E2(LT, i, range[axis][1])));
        from[2 + axis] = i;
    }
    vtac_store(l->k, largest, zero,
               E2(MAX, vtac_e_load(l->k, largest, zero), vtac_in_at(l, VTAC_MAX_ROI_POOL_X, from)));
    vtac_close(l, 4);
    vtac_out_at(l, 0, at, vtac_e_load(l->k, largest, zero));
    vtac_close(l, loops);
    return l->diag->code;
}
