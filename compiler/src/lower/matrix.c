/* SPDX-License-Identifier: Apache-2.0
 *
 * Det, Col2Im, Couple.
 */
#include <string.h>

#include "../ops/infer.h"
#include "lower.h"

#define E1(op, a)    vtac_e1(l->k, VTAC_E_##op, a)
#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)
#define LET(name, e) vtac_let(l->k, name, e)

/* ---- Det: elimination with the largest of each column as the pivot, on a copy in scratch memory */

typedef struct elimination {
    vtac_buffer *a, *det, *pivot;
    int64_t size;
} elimination;

static const vtac_expr *matrix_entry(vtac_lower *l, const elimination *e, const vtac_expr *row,
                                     const vtac_expr *column)
{
    return vtac_i_add(l->k, vtac_i_mulc(l->k, row, e->size), column);
}

static const vtac_expr *load_entry(vtac_lower *l, const elimination *e, const vtac_expr *row,
                                   const vtac_expr *column)
{
    return vtac_e_load(l->k, e->a, matrix_entry(l, e, row, column));
}

/* The row at or below `step` whose entry in that column is largest goes to row `step`. */
static void bring_up_pivot(vtac_lower *l, const elimination *e, const vtac_expr *step)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    vtac_store(l->k, e->pivot, zero, step);
    const vtac_expr *row = vtac_for(l->k, VTAC_LOOP_SERIAL, e->size, "row");
    vtac_if(l->k, E2(GT, row, step));
    const vtac_expr *best = E1(ABS, load_entry(l, e, vtac_e_load(l->k, e->pivot, zero), step));
    vtac_if(l->k, LET("larger", E2(GT, E1(ABS, load_entry(l, e, row, step)), best)));
    vtac_store(l->k, e->pivot, zero, row);
    vtac_close(l, 3);
    const vtac_expr *pivot = LET("pivot", vtac_e_load(l->k, e->pivot, zero));
    vtac_if(l->k, E2(NE, pivot, step));
    vtac_store(l->k, e->det, zero, E1(NEG, vtac_e_load(l->k, e->det, zero)));
    const vtac_expr *column = vtac_for(l->k, VTAC_LOOP_SERIAL, e->size, "column");
    const vtac_expr *up = LET("up", load_entry(l, e, pivot, column));
    const vtac_expr *down = LET("down", load_entry(l, e, step, column));
    vtac_store(l->k, e->a, matrix_entry(l, e, step, column), up);
    vtac_store(l->k, e->a, matrix_entry(l, e, pivot, column), down);
    vtac_close(l, 2);
}

vta_status vtac_lower_det(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const vtac_dtype type = vtac_compute_type(x->dtype);
    elimination e = {.size = x->dim[x->rank - 1]};
    VTA_TRY(vtac_begin(l, ""));
    e.a = vtac_kernel_buffer(l->k, "a", type, e.size * e.size, VTAC_BUFFER_SCRATCH);
    e.det = vtac_local(l, "det", type, 1);
    e.pivot = vtac_local(l, "pivot", VTAC_I64, 1);
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *at[VTAC_MAX_RANK];
    const uint32_t loops = vtac_open(l, vtac_type_out(l, 0), at, 1);
    const vtac_expr *row = vtac_for(l->k, VTAC_LOOP_SERIAL, e.size, "row");
    const vtac_expr *column = vtac_for(l->k, VTAC_LOOP_SERIAL, e.size, "column");
    at[x->rank - 2] = row;
    at[x->rank - 1] = column;
    vtac_store(l->k, e.a, matrix_entry(l, &e, row, column), vtac_in_at(l, 0, at));
    vtac_close(l, 2);
    vtac_store(l->k, e.det, zero, vtac_e_int(l->k, type, 1));
    const vtac_expr *step = vtac_for(l->k, VTAC_LOOP_SERIAL, e.size, "step");
    bring_up_pivot(l, &e, step);
    const vtac_expr *pivot = LET("pivot", load_entry(l, &e, step, step));
    vtac_store(l->k, e.det, zero, E2(MUL, vtac_e_load(l->k, e.det, zero), pivot));
    row = vtac_for(l->k, VTAC_LOOP_SERIAL, e.size, "row");
    vtac_if(l->k, E2(AND, E2(GT, row, step), E2(NE, pivot, vtac_e_int(l->k, type, 0))));
    const vtac_expr *factor = LET("factor", E2(DIV, load_entry(l, &e, row, step), pivot));
    column = vtac_for(l->k, VTAC_LOOP_SERIAL, e.size, "column");
    const vtac_expr *less = E2(MUL, factor, load_entry(l, &e, step, column));
    vtac_store(l->k, e.a, matrix_entry(l, &e, row, column), E2(SUB, load_entry(l, &e, row, column), less));
    vtac_close(l, 4);
    vtac_out_at(l, 0, at, vtac_e_load(l->k, e.det, zero));
    vtac_close(l, loops);
    return l->diag->code;
}

/* ---- Col2Im: columns [N, C * taps, places] added up in pictures [N, C, axes...] */

vta_status vtac_lower_col2im(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, VTAC_COL2IM_X);
    const vtac_type *y = vtac_type_out(l, 0);
    vtac_window w;
    VTA_TRY(vtac_col2im_window(l->graph, l->node, &w, l->diag));
    VTA_TRY(vtac_begin(l, ""));
    const vtac_dtype type = vtac_compute_type(x->dtype);
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    vtac_buffer *sum = vtac_local(l, "sum", type, 1);
    const vtac_expr *at[VTAC_MAX_RANK];
    const uint32_t loops = vtac_open(l, y, at, 1);
    vtac_store(l->k, sum, zero, vtac_e_int(l->k, type, 0));
    const vtac_expr *row = at[1];
    const vtac_expr *place = zero;
    for (uint32_t i = 0; i < w.axes; i++) {
        const vtac_expr *tap = vtac_for(l->k, VTAC_LOOP_SERIAL, w.kernel[i], "tap");
        row = vtac_i_add(l->k, vtac_i_mulc(l->k, row, w.kernel[i]), tap);
        /* at + pad = step * stride + tap * dilation */
        const vtac_expr *from = vtac_i_addc(l->k, at[2 + i], w.pad_begin[i]);
        from = LET("from", E2(SUB, from, vtac_i_mulc(l->k, tap, w.dilation[i])));
        const vtac_expr *step = LET("step", vtac_i_divc(l->k, from, w.stride[i]));
        const vtac_expr *fits = E2(EQ, vtac_i_mulc(l->k, step, w.stride[i]), from);
        const vtac_expr *inside = E2(AND, E2(GE, from, zero), E2(LT, step, vtac_e_index(l->k, w.extent[i])));
        vtac_if(l->k, E2(AND, fits, inside));
        place = vtac_i_add(l->k, vtac_i_mulc(l->k, place, w.extent[i]), step);
    }
    const vtac_expr *where[] = {at[0], row, place};
    vtac_store(l->k, sum, zero, E2(ADD, vtac_e_load(l->k, sum, zero), vtac_in_at(l, VTAC_COL2IM_X, where)));
    vtac_close(l, 2 * w.axes);
    vtac_out_at(l, 0, at, vtac_e_load(l->k, sum, zero));
    vtac_close(l, loops);
    return l->diag->code;
}

/* ---- Couple: probabilities of classes from those of each pair, [rows, classes, classes]: the iteration of
 * Wu, Lin and Weng that libsvm uses, and its end */

/* The pairwise coupling of one row: its kernel's buffers, and constants. */
typedef struct coupling {
    elimination q;
    vtac_buffer *p, *product, *whole, *error;
    const vtac_expr *zero, *none, *one, *end, *row;
} coupling;

/* Starts from equal probabilities; fills Q from the pairs' probabilities. */
static void start_coupling(vtac_lower *l, const coupling *c)
{
    const int64_t size = c->q.size;
    const vtac_expr *t = vtac_for(l->k, VTAC_LOOP_SERIAL, size, "t");
    vtac_store(l->k, c->p, t, vtac_e_float(l->k, VTAC_F64, 1.0 / (double)size));
    vtac_store(l->k, c->whole, c->zero, c->none);
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, size, "i");
    const vtac_expr *there[] = {c->row, i, t};
    const vtac_expr *back[] = {c->row, t, i};
    const vtac_expr *r = LET("r", vtac_in_at(l, 0, there));
    vtac_store(l->k, c->q.a, matrix_entry(l, &c->q, t, i), E1(NEG, E2(MUL, r, vtac_in_at(l, 0, back))));
    vtac_if(l->k, E2(NE, i, t));
    vtac_store(l->k, c->whole, c->zero, E2(ADD, vtac_e_load(l->k, c->whole, c->zero), E2(MUL, r, r)));
    vtac_close(l, 2);
    vtac_store(l->k, c->q.a, matrix_entry(l, &c->q, t, t), vtac_e_load(l->k, c->whole, c->zero));
    vtac_end(l->k);
}

/* Computes Q p and p Q p, and the largest difference of the two. */
static void measure_error(vtac_lower *l, const coupling *c)
{
    const int64_t size = c->q.size;
    vtac_store(l->k, c->whole, c->zero, c->none);
    const vtac_expr *t = vtac_for(l->k, VTAC_LOOP_SERIAL, size, "t");
    vtac_store(l->k, c->product, t, c->none);
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, size, "i");
    const vtac_expr *part = E2(MUL, load_entry(l, &c->q, t, i), vtac_e_load(l->k, c->p, i));
    vtac_store(l->k, c->product, t, E2(ADD, vtac_e_load(l->k, c->product, t), part));
    vtac_end(l->k);
    part = E2(MUL, vtac_e_load(l->k, c->p, t), vtac_e_load(l->k, c->product, t));
    vtac_store(l->k, c->whole, c->zero, E2(ADD, vtac_e_load(l->k, c->whole, c->zero), part));
    vtac_end(l->k);
    vtac_store(l->k, c->error, c->zero, c->none);
    t = vtac_for(l->k, VTAC_LOOP_SERIAL, size, "t");
    const vtac_expr *off =
        E1(ABS, E2(SUB, vtac_e_load(l->k, c->product, t), vtac_e_load(l->k, c->whole, c->zero)));
    vtac_store(l->k, c->error, c->zero, E2(MAX, vtac_e_load(l->k, c->error, c->zero), off));
    vtac_end(l->k);
}

/* Moves each probability towards its optimum; leaves two loops open. */
static void correct_each(vtac_lower *l, const coupling *c)
{
    const int64_t size = c->q.size;
    const vtac_expr *t = vtac_for(l->k, VTAC_LOOP_SERIAL, size, "t");
    const vtac_expr *own = LET("own", load_entry(l, &c->q, t, t));
    const vtac_expr *had = LET("had", vtac_e_load(l->k, c->whole, c->zero));
    const vtac_expr *at_t = LET("at_t", vtac_e_load(l->k, c->product, t));
    const vtac_expr *step = LET("step", E2(DIV, E2(SUB, had, at_t), own));
    const vtac_expr *scale = LET("scale", E2(ADD, c->one, step));
    const vtac_expr *twice = E2(ADD, E2(MUL, step, own), E2(ADD, at_t, at_t));
    vtac_store(l->k, c->whole, c->zero, E2(DIV, E2(ADD, had, E2(MUL, step, twice)), E2(MUL, scale, scale)));
    vtac_store(l->k, c->p, t, E2(ADD, vtac_e_load(l->k, c->p, t), step));
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, size, "i");
    vtac_store(l->k, c->p, i, E2(DIV, vtac_e_load(l->k, c->p, i), scale));
    const vtac_expr *moved =
        E2(ADD, vtac_e_load(l->k, c->product, i), E2(MUL, step, load_entry(l, &c->q, t, i)));
    vtac_store(l->k, c->product, i, E2(DIV, moved, scale));
}

vta_status vtac_lower_couple(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const int64_t size = x->dim[1];
    VTA_TRY(vtac_begin(l, ""));
    coupling c = {.zero = vtac_e_index(l->k, 0)};
    c.q = (elimination){.size = size,
                        .a = vtac_kernel_buffer(l->k, "q", VTAC_F64, size * size, VTAC_BUFFER_SCRATCH)};
    c.p = vtac_kernel_buffer(l->k, "p", VTAC_F64, size, VTAC_BUFFER_SCRATCH);
    c.product = vtac_kernel_buffer(l->k, "product", VTAC_F64, size, VTAC_BUFFER_SCRATCH);
    c.whole = vtac_local(l, "whole", VTAC_F64, 1);
    c.error = vtac_local(l, "error", VTAC_F64, 1);
    c.none = vtac_e_float(l->k, VTAC_F64, 0.0);
    c.one = vtac_e_float(l->k, VTAC_F64, 1.0);
    c.end = vtac_e_float(l->k, VTAC_F64, 0.005 / (double)size);
    c.row = vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[0], "row");
    start_coupling(l, &c);

    vtac_store(l->k, c.error, c.zero, c.one);
    (void)vtac_for(l->k, VTAC_LOOP_SERIAL, size > 100 ? size : 100, "turn");
    vtac_if(l->k, E2(GE, vtac_e_load(l->k, c.error, c.zero), c.end));
    measure_error(l, &c);
    vtac_if(l->k, E2(GE, vtac_e_load(l->k, c.error, c.zero), c.end));
    correct_each(l, &c);
    vtac_close(l, 5); /* i, t, if, if, turn */

    const vtac_expr *t = vtac_for(l->k, VTAC_LOOP_SERIAL, size, "t");
    const vtac_expr *at[] = {c.row, t};
    vtac_out_at(l, 0, at, vtac_e_load(l->k, c.p, t));
    vtac_close(l, 2);
    return l->diag->code;
}
