/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrence: cells in the integers of vtac/quant.h. One loop over the rows of the batch, in which the steps
 * follow each other; the sums of all gates are made in tiles of columns, a few vectors wide, over all inputs
 * and then over the state.
 */
#include "vtac/recurrence.h"
#include "rows.h"

#define E2(op, a, b)     vtac_e2(l->k, VTAC_E_##op, a, b)
#define LET(name, value) vtac_let(l->k, name, value)

enum { VECTORS = 8 }; /* of a tile */
enum { HALF = 128, UNITS = 256, PLACES = 8, FINE = 5 };

typedef struct integer_cell {
    vtac_lower *l;
    vtac_recurrent p;
    int64_t steps, batch, rows; /* rows: of weights, gates * hidden */
    int64_t lanes;
    vtac_buffer *w, *r, *bias, *state_bias, *scales, *tables[2];
    vtac_buffer *x, *h, *reset, *wide, *sums; /* of the batch's row at hand; sums of a GRU's n apart */
    vtac_buffer *tile;
    const vtac_expr *at[3]; /* of x and y: step, row of the batch */
} integer_cell;

static const vtac_expr *whole(vtac_lower *l, int64_t value)
{
    return vtac_e_int(l->k, VTAC_I32, value);
}

static double factor_of(vtac_fixed fixed)
{
    return (double)fixed.mult / (double)(UINT64_C(1) << fixed.shift);
}

/* ---- constants and scratch memory */

static vtac_buffer *copied(vtac_lower *l, const char *name, const void *data, vtac_dtype type, int64_t count)
{
    const uint64_t bytes = (uint64_t)count * vtac_dtype_bytes(type);
    return vtac_use(l, data == NULL ? 0 : vtac_constant(l, data, bytes), name, type, count);
}

/* Weights [rows][count] as [count][rows]. */
static vtac_buffer *turned(integer_cell *c, const char *name, const int8_t *from, int64_t count)
{
    int8_t *to = vta_arena_array(&c->l->program->arena, (size_t)(count * c->rows), 1);
    for (int64_t i = 0; to != NULL && i < count * c->rows; i++) {
        to[i % count * c->rows + i / count] = from[i];
    }
    return copied(c->l, name, to, VTAC_I8, count * c->rows);
}

static vtac_buffer *real_scales(integer_cell *c)
{
    double *to = vta_arena_array(&c->l->program->arena, (size_t)c->rows, sizeof *to);
    for (int64_t i = 0; to != NULL && i < c->rows; i++) {
        to[i] = factor_of(c->p.scales[i]);
    }
    return copied(c->l, "scales", to, VTAC_F64, c->rows);
}

/* A table of what its entries stand for: the logistic function from 0 on. */
static vtac_buffer *wide_table(integer_cell *c, int which)
{
    int32_t *to = vta_arena_array(&c->l->program->arena, UNITS, sizeof *to);
    for (int i = 0; to != NULL && i < UNITS; i++) {
        to[i] = c->p.tables[which][i] + (which == 0 ? HALF : 0);
    }
    return copied(c->l, which == 0 ? "sigmoid" : "tanh", to, VTAC_I32, UNITS);
}

static vtac_buffer *scratch(integer_cell *c, const char *name, int64_t count)
{
    return vtac_kernel_buffer(c->l->k, name, VTAC_I32, count, VTAC_BUFFER_SCRATCH);
}

static void make_buffers(integer_cell *c)
{
    vtac_lower *l = c->l;
    const vtac_recurrent *p = &c->p;
    c->w = turned(c, "w", p->w, p->inputs);
    c->r = turned(c, "r", p->r, p->hidden);
    c->bias = copied(l, "bias", p->bias, VTAC_I32, c->rows);
    c->state_bias = p->reset_after ? copied(l, "state_bias", p->state_bias, VTAC_I32, p->hidden) : NULL;
    c->scales = real_scales(c);
    c->tables[0] = wide_table(c, 0);
    c->tables[1] = wide_table(c, 1);
    c->x = scratch(c, "x", p->inputs);
    c->h = scratch(c, "h", p->hidden);
    c->reset = scratch(c, "reset", p->hidden);
    c->wide = scratch(c, "wide", p->hidden);
    c->sums = scratch(c, "sums", c->rows + p->hidden);
    c->lanes = vtac_row_lanes(l, VTAC_I32, c->rows);
    c->tile = vtac_local(l, "tile", VTAC_I32, VECTORS * c->lanes);
}

/* ---- sums */

/* sums[to ...] += numbers times the weights of columns first ... first + count - 1 */
typedef struct state_product {
    vtac_buffer *numbers, *weights;
    int64_t inner, first, count, to;
} state_product;

static void some_columns(const integer_cell *c, const state_product *m, const vtac_expr *column,
                         int64_t vectors, int64_t lanes)
{
    vtac_lower *l = c->l;
    const uint32_t loops = lanes > 1;
    const vtac_expr *lane = vtac_lane_loop(l, lanes);
    for (int64_t v = 0; v < vectors; v++) {
        const vtac_expr *place = vtac_i_addc(l->k, lane, v * lanes);
        const vtac_expr *from = vtac_i_addc(l->k, vtac_i_add(l->k, column, place), m->to);
        vtac_store(l->k, c->tile, place, vtac_e_load(l->k, c->sums, from));
    }
    vtac_close(l, loops);
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, m->inner, "i");
    const vtac_expr *x = LET("number", vtac_e_load(l->k, m->numbers, i));
    const vtac_expr *row = vtac_i_addc(l->k, vtac_i_mulc(l->k, i, c->rows), m->first);
    row = LET("row", vtac_i_add(l->k, row, column));
    lane = vtac_lane_loop(l, lanes);
    for (int64_t v = 0; v < vectors; v++) {
        const vtac_expr *place = vtac_i_addc(l->k, lane, v * lanes);
        const vtac_expr *w = vtac_e_load(l->k, m->weights, vtac_i_add(l->k, row, place));
        const vtac_expr *more = E2(MUL, x, vtac_e_cast(l->k, VTAC_I32, w));
        vtac_store(l->k, c->tile, place, E2(ADD, vtac_e_load(l->k, c->tile, place), more));
    }
    vtac_close(l, loops + 1);
    lane = vtac_lane_loop(l, lanes);
    for (int64_t v = 0; v < vectors; v++) {
        const vtac_expr *place = vtac_i_addc(l->k, lane, v * lanes);
        vtac_store(l->k, c->sums, vtac_i_addc(l->k, vtac_i_add(l->k, column, place), m->to),
                   vtac_e_load(l->k, c->tile, place));
    }
    vtac_close(l, loops);
}

static void add_products(const integer_cell *c, const state_product *m)
{
    vtac_lower *l = c->l;
    const int64_t wide = VECTORS * c->lanes, tiles = m->count / wide;
    if (tiles > 0) {
        const vtac_expr *tile = vtac_for(l->k, VTAC_LOOP_SERIAL, tiles, "columns");
        some_columns(c, m, LET("column", vtac_i_mulc(l->k, tile, wide)), VECTORS, c->lanes);
        vtac_end(l->k);
    }
    const int64_t vectors = (m->count - tiles * wide) / c->lanes;
    const int64_t done = tiles * wide + vectors * c->lanes;
    if (vectors > 0) {
        some_columns(c, m, vtac_e_index(l->k, tiles * wide), vectors, c->lanes);
    }
    for (int64_t column = done; column < m->count; column++) {
        some_columns(c, m, vtac_e_index(l->k, column), 1, 1);
    }
}

/* to[first + i] = from[i] for `count` numbers. */
static void set_numbers(vtac_lower *l, vtac_buffer *to, int64_t first, const vtac_buffer *from, int64_t count)
{
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, count, "i");
    vtac_store(l->k, to, vtac_i_addc(l->k, i, first), vtac_e_load(l->k, from, i));
    vtac_end(l->k);
}

static void fill_numbers(vtac_lower *l, vtac_buffer *to, int64_t value, int64_t count)
{
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, count, "i");
    vtac_store(l->k, to, i, whole(l, value));
    vtac_end(l->k);
}

static const vtac_expr *shifted_back(vtac_lower *l, const vtac_expr *v)
{
    return E2(SHR, E2(ADD, v, whole(l, HALF)), whole(l, PLACES));
}

static const vtac_expr *rounded(const integer_cell *c, const vtac_expr *v, vtac_fixed scale)
{
    vtac_lower *l = c->l;
    return vtac_e_cast(l->k, VTAC_I32,
                       vtac_rescale(l, v, vtac_e_float(l->k, VTAC_F64, factor_of(scale)), false,
                                    whole(l, c->p.zero), VTAC_I8));
}

/* The number of its bytes, input i of the node at the place `at`, which begins with the byte. */
static const vtac_expr *join_bytes(vtac_lower *l, uint32_t i, vtac_recurrent_kind kind, const vtac_expr **at)
{
    const vtac_expr *all = NULL;
    for (int64_t row = 0; row < vtac_recurrent_digits(kind); row++) {
        at[0] = vtac_e_index(l->k, row);
        const vtac_expr *byte = vtac_e_cast(l->k, VTAC_I32, vtac_in_at(l, i, at));
        all = all == NULL ? byte : E2(ADD, E2(SHL, all, whole(l, PLACES)), byte);
    }
    return all;
}

/* Stores the bytes of a number as output i, the lowest one last. */
static void split_bytes(vtac_lower *l, uint32_t i, vtac_recurrent_kind kind, const vtac_expr **at,
                        const vtac_expr *number)
{
    for (int64_t row = vtac_recurrent_digits(kind); row-- > 0;) {
        const vtac_expr *all = LET("all", number);
        number = LET("more", shifted_back(l, all));
        at[0] = vtac_e_index(l->k, row);
        const vtac_expr *byte = E2(SUB, all, E2(SHL, number, whole(l, PLACES)));
        vtac_out_at(l, i, at, vtac_e_cast(l->k, VTAC_I8, byte));
    }
}

/* Sets h and C or H, which the sequence begins with. */
static void begin_states(integer_cell *c)
{
    vtac_lower *l = c->l;
    const bool has_h = vtac_type_in(l, VTAC_RECURRENCE_H_BEFORE) != NULL;
    const bool has_wide = vtac_type_in(l, VTAC_RECURRENCE_STATE) != NULL;
    fill_numbers(l, c->h, c->p.zero, c->p.hidden);
    fill_numbers(l, c->wide, 0, c->p.hidden);
    if (!has_h && !has_wide) {
        return;
    }
    const vtac_expr *j = c->at[2] = vtac_for(l->k, VTAC_LOOP_SERIAL, c->p.hidden, "j");
    if (has_wide) {
        const vtac_expr *wide = LET("wide", join_bytes(l, VTAC_RECURRENCE_STATE, c->p.kind, c->at));
        vtac_store(l->k, c->wide, j, wide);
        if (!has_h) {
            vtac_store(l->k, c->h, j, rounded(c, wide, c->p.out));
        }
    }
    if (has_h) {
        c->at[0] = vtac_e_index(l->k, 0);
        vtac_store(l->k, c->h, j,
                   vtac_e_cast(l->k, VTAC_I32, vtac_in_at(l, VTAC_RECURRENCE_H_BEFORE, c->at)));
    }
    vtac_end(l->k);
}

/* Gives the bytes of C or H, which the next sequence begins with. */
static void give_states(integer_cell *c)
{
    vtac_lower *l = c->l;
    if (l->node->output_count < 2) {
        return;
    }
    const vtac_expr *j = c->at[2] = vtac_for(l->k, VTAC_LOOP_SERIAL, c->p.hidden, "j");
    split_bytes(l, VTAC_RECURRENCE_STATE_AFTER, c->p.kind, c->at, vtac_e_load(l->k, c->wide, j));
    vtac_end(l->k);
}

/* x of this step as int8 has it. */
static void read_input(integer_cell *c)
{
    vtac_lower *l = c->l;
    const bool is_signed = vtac_type_in(l, VTAC_RECURRENCE_X)->dtype == VTAC_I8;
    c->at[2] = vtac_for(l->k, VTAC_LOOP_SERIAL, c->p.inputs, "i");
    const vtac_expr *x = vtac_e_cast(l->k, VTAC_I32, vtac_in_at(l, VTAC_RECURRENCE_X, c->at));
    vtac_store(l->k, c->x, c->at[2], is_signed ? x : E2(ADD, x, whole(l, INT8_MIN)));
    vtac_end(l->k);
}

/* All sums that do not wait for a gate; those of a GRU's n over the state are apart. */
static void sum_up(const integer_cell *c)
{
    vtac_lower *l = c->l;
    const int64_t n = c->p.hidden, plain = c->p.kind == VTAC_RECURRENT_GRU ? 2 * n : c->rows;
    set_numbers(l, c->sums, 0, c->bias, c->rows);
    add_products(c, &(state_product){c->x, c->w, c->p.inputs, 0, c->rows, 0});
    add_products(c, &(state_product){c->h, c->r, n, 0, plain, 0});
    if (c->p.reset_after) {
        set_numbers(l, c->sums, c->rows, c->state_bias, n);
        add_products(c, &(state_product){c->h, c->r, n, plain, n, c->rows});
    }
}

/* ---- gates of unit j */

static const vtac_expr *sum_at(const integer_cell *c, int64_t gate, const vtac_expr *j)
{
    return vtac_e_load(c->l->k, c->sums, vtac_i_addc(c->l->k, j, gate * c->p.hidden));
}

/* Entry of a table for a number. */
static const vtac_expr *table_at(const integer_cell *c, int which, const vtac_expr *v, const vtac_expr *scale)
{
    vtac_lower *l = c->l;
    const vtac_expr *a = vtac_rescale(l, v, scale, false, NULL, VTAC_I8);
    return vtac_e_load(l->k, c->tables[which], vtac_i_addc(l->k, vtac_e_cast(l->k, VTAC_I64, a), HALF));
}

static const vtac_expr *gate_of(const integer_cell *c, int64_t gate, const vtac_expr *sum, const vtac_expr *j)
{
    vtac_lower *l = c->l;
    const vtac_expr *scale = vtac_e_load(l->k, c->scales, vtac_i_addc(l->k, j, gate * c->p.hidden));
    return LET("gate", table_at(c, gate == c->p.gates - 1, sum, scale));
}

static const vtac_expr *lstm_unit(const integer_cell *c, const vtac_expr *j)
{
    enum { I, O, LOST, G };
    vtac_lower *l = c->l;
    const vtac_expr *memory = LET("memory", vtac_e_load(l->k, c->wide, j));
    const vtac_expr *gain = E2(MUL, gate_of(c, I, sum_at(c, I, j), j), gate_of(c, G, sum_at(c, G, j), j));
    const vtac_expr *loss = E2(MUL, gate_of(c, LOST, sum_at(c, LOST, j), j), memory);
    const vtac_expr *change = E2(SUB, E2(SHL, gain, whole(l, FINE)), loss);
    memory = LET("memory", E2(ADD, memory, shifted_back(l, change)));
    vtac_store(l->k, c->wide, j, memory);
    const vtac_expr *scale = vtac_e_float(l->k, VTAC_F64, factor_of(c->p.memory));
    return rounded(c, E2(MUL, gate_of(c, O, sum_at(c, O, j), j), table_at(c, 1, memory, scale)), c->p.out);
}

enum { LOST, RESET, NEW };

static const vtac_expr *gru_unit(const integer_cell *c, const vtac_expr *j)
{
    vtac_lower *l = c->l;
    const vtac_expr *old = LET("old", vtac_e_load(l->k, c->wide, j));
    const vtac_expr *sum = sum_at(c, NEW, j);
    if (c->p.reset_after) {
        const vtac_expr *reset = gate_of(c, RESET, sum_at(c, RESET, j), j);
        sum = E2(ADD, sum, shifted_back(l, E2(MUL, reset, sum_at(c, NEW + 1, j))));
    }
    const vtac_expr *to = E2(SHL, gate_of(c, NEW, sum, j), whole(l, PLACES));
    const vtac_expr *change = E2(MUL, gate_of(c, LOST, sum_at(c, LOST, j), j), E2(SUB, to, old));
    const vtac_expr *now = LET("now", E2(ADD, old, shifted_back(l, change)));
    vtac_store(l->k, c->wide, j, now);
    return rounded(c, now, c->p.out);
}

/* A GRU's n over the state behind the reset gate. */
static void reset_states(const integer_cell *c)
{
    vtac_lower *l = c->l;
    const int64_t n = c->p.hidden;
    const vtac_expr *j = vtac_for(l->k, VTAC_LOOP_SERIAL, n, "j");
    const vtac_expr *reset = gate_of(c, RESET, sum_at(c, RESET, j), j);
    vtac_store(l->k, c->reset, j, rounded(c, E2(MUL, reset, vtac_e_load(l->k, c->wide, j)), c->p.reset));
    vtac_end(l->k);
    add_products(c, &(state_product){c->reset, c->r, n, NEW * n, n, NEW * n});
}

/* The new states, which are y of this step. */
static void make_states(integer_cell *c)
{
    vtac_lower *l = c->l;
    const vtac_dtype type = vtac_type_out(l, 0)->dtype;
    const vtac_expr *j = vtac_for(l->k, VTAC_LOOP_SERIAL, c->p.hidden, "j");
    const vtac_expr *h = c->p.kind == VTAC_RECURRENT_LSTM  ? lstm_unit(c, j)
                         : c->p.kind == VTAC_RECURRENT_GRU ? gru_unit(c, j)
                                                           : gate_of(c, 0, sum_at(c, 0, j), j);
    h = LET("h", h);
    vtac_store(l->k, c->h, j, h);
    c->at[2] = j;
    vtac_out_at(l, 0, c->at, vtac_e_cast(l->k, type, type == VTAC_I8 ? h : E2(SUB, h, whole(l, INT8_MIN))));
    vtac_end(l->k);
}

static void lower_steps(integer_cell *c)
{
    vtac_lower *l = c->l;
    const vtac_expr *step = vtac_for(l->k, VTAC_LOOP_SERIAL, c->steps, "step");
    const bool reverse = vtac_attr_int(l->node, "reverse", 0) != 0;
    c->at[0] = reverse ? LET("time", E2(SUB, vtac_e_index(l->k, c->steps - 1), step)) : step;
    read_input(c);
    sum_up(c);
    if (c->p.kind == VTAC_RECURRENT_GRU && !c->p.reset_after) {
        reset_states(c);
    }
    make_states(c);
    vtac_end(l->k);
}

vta_status vtac_lower_recurrence(vtac_lower *l)
{
    integer_cell c = {.l = l};
    const vtac_type *x = vtac_type_in(l, VTAC_RECURRENCE_X);
    if (!vtac_recurrent_of_node(l->graph, l->node, &l->program->arena, &c.p)) {
        return vtac_unsupported(l, "its weights and scales must be known");
    }
    c.steps = x->dim[0];
    c.batch = x->dim[1];
    c.rows = (int64_t)c.p.gates * c.p.hidden;
    VTA_TRY(vtac_begin(l, ""));
    make_buffers(&c);
    const int64_t work = c.steps * c.batch * c.rows * (c.p.inputs + c.p.hidden);
    c.at[1] = vtac_for(l->k, vtac_parallel_if(work), c.batch, "row");
    begin_states(&c);
    lower_steps(&c);
    give_states(&c);
    vtac_end(l->k);
    l->step->flops = 2 * (uint64_t)work;
    return l->diag->code;
}

/* ---- C or H between launches */

static vtac_recurrent_kind kind_of(const vtac_lower *l)
{
    return (vtac_recurrent_kind)vtac_attr_int(l->node, "kind", 0);
}

static double units_of(vtac_recurrent_kind kind)
{
    return kind == VTAC_RECURRENT_LSTM ? VTAC_LSTM_UNITS : VTAC_GRU_UNITS;
}

/* Opens loops over the batch and the units. */
static void open_state(vtac_lower *l, const vtac_type *type, const vtac_expr **at)
{
    at[0] = vtac_e_index(l->k, 0);
    at[1] = vtac_for(l->k, VTAC_LOOP_SERIAL, type->dim[1], "row");
    at[2] = vtac_for(l->k, VTAC_LOOP_SERIAL, type->dim[2], "j");
}

vta_status vtac_lower_state_bytes(vtac_lower *l)
{
    const vtac_recurrent_kind kind = kind_of(l);
    const double limit = units_of(kind) * (kind == VTAC_RECURRENT_LSTM ? VTAC_RECURRENT_REACH : 1);
    const vtac_expr *at[3];
    VTA_TRY(vtac_begin(l, ""));
    open_state(l, vtac_type_in(l, 0), at);
    const vtac_expr *x = E2(MUL, vtac_in_at(l, 0, at), vtac_e_float(l->k, VTAC_F32, units_of(kind)));
    x = E2(MIN, x, vtac_e_float(l->k, VTAC_F32, limit));
    x = E2(MAX, x, vtac_e_float(l->k, VTAC_F32, -limit));
    x = vtac_e_cast(l->k, VTAC_I32, vtac_e1(l->k, VTAC_E_ROUND, x));
    split_bytes(l, 0, kind, at, x);
    vtac_close(l, 2);
    return l->diag->code;
}

vta_status vtac_lower_state_floats(vtac_lower *l)
{
    const vtac_recurrent_kind kind = kind_of(l);
    const vtac_expr *at[3];
    VTA_TRY(vtac_begin(l, ""));
    open_state(l, vtac_type_in(l, 0), at);
    const vtac_expr *x = vtac_e_cast(l->k, VTAC_F32, join_bytes(l, 0, kind, at));
    at[0] = vtac_e_index(l->k, 0);
    vtac_out_at(l, 0, at, E2(MUL, x, vtac_e_float(l->k, VTAC_F32, 1.0 / units_of(kind))));
    vtac_close(l, 2);
    return l->diag->code;
}
