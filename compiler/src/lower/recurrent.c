/* SPDX-License-Identifier: Apache-2.0
 *
 * LSTM, GRU and RNN. First the products of the inputs for all times at once, then for each direction the
 * recurrence: parallel over the batch, in order over time, the state in scratch memory. Weights are turned so
 * that the gates of one input lie side by side, and read once for a few rows, whose sums stay in registers;
 * known ones in the order of use. Where one group of rows is all the batch, its state is large and the times
 * are few, each time's product is a step of its own, which threads share by columns.
 */
#include <string.h>

#include "point.h"
#include "recurrent.h"
#include "rows.h"
#include "vta/fail.h"

#define E2(op, a, b)     vtac_e2(l->k, VTAC_E_##op, a, b)
#define LET(name, value) vtac_let(l->k, name, value)

/* Rows that go together, and vectors of their sums. */
enum { MAX_ROWS = 4, MAX_SUMS = 8 };
/* Times that have steps of their own, and multiplications of each that pay for them. */
enum { MAX_APART = 16, MIN_APART = 524288 };

static void read_geometry(vtac_lower *l, vtac_recurrence *r)
{
    const vtac_type *x = vtac_type_in(l, VTAC_RECURRENT_X);
    const vtac_type *w = vtac_type_in(l, VTAC_RECURRENT_R);
    r->batch_first = vtac_attr_int(l->node, "layout", 0) != 0;
    r->steps = x->dim[r->batch_first ? 1 : 0];
    r->batch = x->dim[r->batch_first ? 0 : 1];
    r->inputs = x->dim[2];
    r->directions = w->dim[0];
    r->hidden = w->dim[2];
    r->columns = w->dim[1];
    r->type = vtac_compute_type(x->dtype);
    r->reset_after = l->node->op == VTAC_OP_GRU && vtac_attr_int(l->node, "linear_before_reset", 0) != 0;
}

/* ---- weights: [direction][column][row] to [direction][row][column] */

static int64_t rows_together(int64_t count)
{
    const int64_t groups = (count + MAX_ROWS - 1) / MAX_ROWS;
    return groups == 0 ? 1 : (count + groups - 1) / groups;
}

/* Columns `first` and on, `count` of them, as rows of a few are multiplied by them: tiles of some vectors,
 * one of fewer, and one of what fills none. The width of the tile of a column, which begins at *begin. */
typedef struct columns {
    int64_t first, count, lanes, wide;
} columns;

static columns columns_of(const vtac_lower *l, const vtac_recurrence *r, int64_t rows, int64_t first,
                          int64_t count)
{
    columns c = {first, count, vtac_row_lanes(l, r->type, count), 1};
    c.wide = c.lanes == 1 ? 1 : MAX_SUMS / rows * c.lanes;
    return c;
}

static int64_t tile_of(const columns *c, int64_t column, int64_t *begin)
{
    const int64_t whole = c->count / c->wide * c->wide;
    const int64_t rest = c->count % c->wide / c->lanes * c->lanes;
    const int64_t within = column - c->first;
    *begin = c->first + (within < whole          ? within / c->wide * c->wide
                         : within < whole + rest ? whole
                                                 : whole + rest);
    return within < whole ? c->wide : within < whole + rest ? rest : c->count % c->lanes;
}

/* Weights of the state for a GRU: all but the last gate's go first. */
static int64_t columns_at_first(const vtac_lower *l, const vtac_recurrence *r, uint32_t input)
{
    return input == VTAC_RECURRENT_R && l->node->op == VTAC_OP_GRU && !r->reset_after ? 2 * r->hidden
                                                                                      : r->columns;
}

/* [direction][column][row] to [direction][tile][row][column of the tile] */
static vtac_storage_id transpose_constant(vtac_lower *l, const vtac_recurrence *r, uint32_t input,
                                          int64_t inner)
{
    const vtac_tensor *w = vtac_in_constant(l->graph, l->node, input);
    const size_t bytes = vtac_dtype_bytes(r->type);
    const int64_t rows = rows_together(input == VTAC_RECURRENT_W ? r->steps * r->batch : r->batch);
    const int64_t split = columns_at_first(l, r, input);
    const columns parts[] = {columns_of(l, r, rows, 0, split),
                             columns_of(l, r, rows, split, r->columns - split)};
    const int64_t count = r->directions * inner * r->columns;
    uint8_t *turned = vta_arena_array(&l->program->arena, (size_t)count, bytes);
    for (int64_t i = 0; turned != NULL && i < count; i++) {
        const int64_t row = i % inner;
        const int64_t column = i / inner % r->columns;
        const int64_t direction = i / inner / r->columns;
        int64_t begin;
        const int64_t wide = tile_of(&parts[column < split ? 0 : 1], column, &begin);
        const int64_t to = (direction * r->columns + begin) * inner + row * wide + column - begin;
        const double value = vtac_tensor_float(w, i);
        const float narrow = (float)value;
        memcpy(turned + (size_t)to * bytes,
               r->type == VTAC_F32 ? (const void *)&narrow : (const void *)&value, bytes);
    }
    return turned == NULL ? 0 : vtac_constant(l, turned, (uint64_t)count * bytes);
}

static vta_status transpose_weights(vtac_lower *l, const vtac_recurrence *r, uint32_t input, int64_t rows,
                                    vtac_storage_id *out)
{
    const vtac_tensor *constant = vtac_in_constant(l->graph, l->node, input);
    if (constant != NULL) {
        *out = transpose_constant(l, r, input, rows);
        return vta_allocated(*out != 0, l->diag);
    }
    VTA_TRY(vtac_begin(l, input == VTAC_RECURRENT_W ? ".w" : ".r"));
    const vtac_type type = {r->type, 3, {r->directions, rows, r->columns}};
    *out = vtac_temp(l, r->type, vtac_type_elements(&type));
    vtac_buffer *to = vtac_use(l, *out, "turned", r->type, vtac_type_elements(&type));
    const vtac_expr *at[VTAC_MAX_RANK];
    const uint32_t loops = vtac_open(l, &type, at, 1);
    const vtac_expr *from[] = {at[0], at[2], at[1]};
    vtac_store(l->k, to, vtac_flat(l, &type, at), vtac_in_at(l, input, from));
    vtac_close(l, loops);
    return l->diag->code;
}

/* Element [direction][column] of half `half` of B: 0 with the inputs, 1 with the state. */
static const vtac_expr *bias_element(vtac_lower *l, const vtac_recurrence *r, const vtac_expr *direction,
                                     const vtac_expr *column, int64_t half)
{
    if (!vtac_has_in(l, VTAC_RECURRENT_B)) {
        return vtac_e_int(l->k, r->type, 0);
    }
    const vtac_expr *at[] = {direction, vtac_i_addc(l->k, column, half * r->columns)};
    return vtac_in_at(l, VTAC_RECURRENT_B, at);
}

/* ---- products of a few rows by the turned weights */

typedef struct row_product row_product;
struct row_product {
    const vtac_recurrence *r;
    int64_t rows, inner;
    int64_t half; /* of B: where the sums begin */
    bool tiled;   /* the weights are known, and lie in the order of use */
    const vtac_expr *(*left)(vtac_lower *l, const row_product *m, int64_t row, const vtac_expr *i);
    const void *context;
    const vtac_expr *direction;
    vtac_buffer *weights, *sums, *to;
    const vtac_expr *to_row[MAX_ROWS];
};

/* The first row of a group: the last group reaches back, so that all have as many. */
static const vtac_expr *first_row(vtac_lower *l, const vtac_expr *group, int64_t rows, int64_t count)
{
    const vtac_expr *first = vtac_i_mulc(l->k, group, rows);
    return LET("first", count % rows == 0 ? first : E2(MIN, first, vtac_e_index(l->k, count - rows)));
}

static const vtac_expr *open_lanes(vtac_lower *l, int64_t lanes)
{
    return lanes == 1 ? vtac_e_index(l->k, 0) : vtac_for(l->k, VTAC_LOOP_VECTOR, lanes, "lane");
}

/* The first of row i's weights for the tile of `wide` columns that begins with `first`. */
static const vtac_expr *weights_of(vtac_lower *l, const row_product *m, const vtac_expr *first,
                                   const vtac_expr *i, int64_t wide)
{
    vtac_kernel *k = l->k;
    if (m->tiled) {
        const vtac_expr *tile = vtac_i_add(k, vtac_i_mulc(k, m->direction, m->r->columns), first);
        return vtac_i_add(k, vtac_i_mulc(k, tile, m->inner), vtac_i_mulc(k, i, wide));
    }
    const vtac_expr *row = vtac_i_add(k, vtac_i_mulc(k, m->direction, m->inner), i);
    return vtac_i_add(k, vtac_i_mulc(k, row, m->r->columns), first);
}

/* Multiplies all rows with `vectors` times `lanes` columns from `first` on. */
static void some_columns(vtac_lower *l, const row_product *m, const vtac_expr *first, int64_t vectors,
                         int64_t lanes)
{
    vtac_kernel *k = l->k;
    const int64_t one = lanes == 1 ? 0 : 1;
    const vtac_expr *x[MAX_ROWS];
    const vtac_expr *lane = open_lanes(l, lanes);
    for (int64_t v = 0; v < vectors; v++) {
        const vtac_expr *column = vtac_i_add(k, vtac_i_addc(k, first, v * lanes), lane);
        const vtac_expr *start = LET("start", bias_element(l, m->r, m->direction, column, m->half));
        for (int64_t t = 0; t < m->rows; t++) {
            vtac_store(k, m->sums, vtac_i_addc(k, lane, (t * vectors + v) * lanes), start);
        }
    }
    vtac_close(l, (uint32_t)one);
    const vtac_expr *i = vtac_for(k, VTAC_LOOP_SERIAL, m->inner, "i");
    const vtac_expr *from = LET("from", weights_of(l, m, first, i, vectors * lanes));
    if (m->tiled) {
        vtac_read_ahead(l, m->weights, from, vectors * lanes);
    }
    for (int64_t t = 0; t < m->rows; t++) {
        x[t] = LET("x", m->left(l, m, t, i));
    }
    lane = open_lanes(l, lanes);
    for (int64_t v = 0; v < vectors; v++) {
        const vtac_expr *at = vtac_i_add(k, vtac_i_addc(k, from, v * lanes), lane);
        const vtac_expr *w = LET("w", vtac_e_load(k, m->weights, at));
        for (int64_t t = 0; t < m->rows; t++) {
            const vtac_expr *sum = vtac_i_addc(k, lane, (t * vectors + v) * lanes);
            vtac_store(k, m->sums, sum, vtac_e3(k, VTAC_E_FMA, x[t], w, vtac_e_load(k, m->sums, sum)));
        }
    }
    vtac_close(l, (uint32_t)one + 1);
    lane = open_lanes(l, lanes);
    for (int64_t v = 0; v < vectors * m->rows; v++) {
        const vtac_expr *column = vtac_i_addc(k, first, v % vectors * lanes);
        const vtac_expr *to = vtac_i_add(k, vtac_i_add(k, m->to_row[v / vectors], column), lane);
        vtac_store(k, m->to, to, vtac_e_load(k, m->sums, vtac_i_addc(k, lane, v * lanes)));
    }
    vtac_close(l, (uint32_t)one);
}

/* Multiplies all rows with the `count` columns from `first` on: columns that fill tiles, then the rest. */
static void whole_tiles(vtac_lower *l, const row_product *m, const columns *c, vtac_loop_kind kind)
{
    const int64_t whole = c->count / c->wide;
    if (whole > 0) {
        const vtac_expr *chunk = vtac_for(l->k, kind, whole, "chunk");
        const vtac_expr *column = vtac_i_addc(l->k, vtac_i_mulc(l->k, chunk, c->wide), c->first);
        some_columns(l, m, LET("column", column), c->wide / c->lanes, c->lanes);
        vtac_end(l->k);
    }
}

static void rest_of_tiles(vtac_lower *l, const row_product *m, const columns *c)
{
    const int64_t vectors = c->count % c->wide / c->lanes;
    const int64_t first = c->first + c->count / c->wide * c->wide;
    if (vectors > 0) {
        some_columns(l, m, vtac_e_index(l->k, first), vectors, c->lanes);
    }
    if (c->count % c->lanes != 0) {
        some_columns(l, m, vtac_e_index(l->k, first + vectors * c->lanes), 1, c->count % c->lanes);
    }
}

/* Room for the sums of a tile. */
static void make_sums(vtac_lower *l, row_product *m, const columns *c)
{
    m->sums = m->sums != NULL ? m->sums : vtac_local(l, "sum", m->r->type, m->rows * c->wide);
}

static void row_products(vtac_lower *l, row_product *m, int64_t first, int64_t count)
{
    const columns c = columns_of(l, m->r, m->rows, first, count);
    make_sums(l, m, &c);
    whole_tiles(l, m, &c, VTAC_LOOP_APART); /* each has columns of its own */
    rest_of_tiles(l, m, &c);
}

/* ---- products of the inputs: [direction][step][batch][column] */

typedef struct input_rows {
    const vtac_expr *step[MAX_ROWS], *batch[MAX_ROWS];
} input_rows;

static const vtac_expr *input_element(vtac_lower *l, const row_product *m, int64_t row, const vtac_expr *i)
{
    const input_rows *in = m->context;
    const bool batch_first = m->r->batch_first;
    const vtac_expr *at[] = {batch_first ? in->batch[row] : in->step[row],
                             batch_first ? in->step[row] : in->batch[row], i};
    return vtac_in_at(l, VTAC_RECURRENT_X, at);
}

static vta_status input_products(vtac_lower *l, const vtac_recurrence *r, vtac_storage_id weights)
{
    VTA_TRY(vtac_begin(l, ".inputs"));
    vtac_kernel *k = l->k;
    const int64_t count = r->steps * r->batch;
    const int64_t work = r->directions * count * r->inputs * r->columns;
    input_rows in = {.step = {NULL}};
    row_product m = {.r = r, .rows = rows_together(count), .inner = r->inputs};
    m.tiled = vtac_in_constant(l->graph, l->node, VTAC_RECURRENT_W) != NULL;
    const int64_t groups = (count + m.rows - 1) / m.rows;
    m.left = input_element;
    m.context = &in;
    m.weights = vtac_use(l, weights, "w", r->type, r->directions * r->inputs * r->columns);
    m.to = vtac_use(l, r->products, "products", r->type, r->directions * count * r->columns);
    const vtac_expr *unit = vtac_for(k, vtac_parallel_if(work), r->directions * groups, "unit");
    const vtac_expr *group = LET("group", vtac_i_remc(k, unit, groups));
    m.direction = LET("direction", vtac_i_divc(k, unit, groups));
    const vtac_expr *first = first_row(l, group, m.rows, count);
    for (int64_t t = 0; t < m.rows; t++) {
        const vtac_expr *place = vtac_i_addc(k, first, t);
        in.step[t] = LET("step", vtac_i_divc(k, place, r->batch));
        in.batch[t] = LET("batch", vtac_i_remc(k, place, r->batch));
        place = vtac_i_add(k, vtac_i_mulc(k, m.direction, count), place);
        m.to_row[t] = LET("to", vtac_i_mulc(k, place, r->columns));
    }
    row_products(l, &m, 0, r->columns);
    vtac_end(k);
    l->step->flops = 2 * (uint64_t)work;
    return l->diag->code;
}

/* ---- one direction */

static const vtac_expr *state_element(vtac_lower *l, const row_product *m, int64_t row, const vtac_expr *i)
{
    return vtac_e_load(l->k, m->context, vtac_i_addc(l->k, i, row * m->r->hidden));
}

static row_product state_product(const vtac_cell *c, const vtac_buffer *state)
{
    vtac_lower *l = c->l;
    row_product m = {.r = c->r, .rows = c->rows, .inner = c->r->hidden, .half = 1, .left = state_element};
    m.context = state;
    m.tiled = vtac_in_constant(l->graph, l->node, VTAC_RECURRENT_R) != NULL;
    m.direction = vtac_e_index(l->k, c->direction);
    m.weights = c->weights;
    m.to = c->sums;
    for (int64_t t = 0; t < c->rows; t++) {
        m.to_row[t] = vtac_e_index(l->k, t * c->r->columns);
    }
    return m;
}

/* A step of a direction whose times have their own: what it works with. */
static vta_status enter_step(vtac_cell *c, const char *suffix)
{
    vtac_lower *l = c->l;
    const vtac_recurrence *r = c->r;
    VTA_TRY(vtac_begin(l, suffix));
    c->weights = vtac_use(l, c->kept[0], "r", r->type, r->directions * r->hidden * r->columns);
    c->products =
        vtac_use(l, r->products, "products", r->type, r->directions * r->steps * r->batch * r->columns);
    c->sums = vtac_use(l, c->kept[1], "sums", r->type, c->rows * r->columns);
    c->state = vtac_use(l, c->kept[2], "state", r->type, c->rows * r->hidden);
    c->memory = vtac_use(l, c->kept[3], "memory", r->type, c->rows * r->hidden);
    c->first = vtac_e_index(l->k, 0);
    return VTA_OK;
}

/* The products of a step that threads share, and what fills no tile. */
static vta_status shared_products(vtac_cell *c, bool of_memory, const columns *part)
{
    vtac_lower *l = c->l;
    if (part->count >= part->wide) {
        VTA_TRY(enter_step(c, ".state"));
        row_product m = state_product(c, of_memory ? c->memory : c->state);
        make_sums(l, &m, part);
        whole_tiles(l, &m, part, VTAC_LOOP_PARALLEL);
        l->step->flops = 2 * (uint64_t)(c->rows * c->r->hidden * part->count);
    }
    if (part->count % part->wide != 0) {
        VTA_TRY(enter_step(c, ".state"));
        row_product m = state_product(c, of_memory ? c->memory : c->state);
        make_sums(l, &m, part);
        rest_of_tiles(l, &m, part);
    }
    return VTA_OK;
}

/* Of each row sums[first … first + count) = B's second half + state · R */
static vta_status state_products(vtac_cell *c, bool of_memory, int64_t first, int64_t count)
{
    if (c->apart) {
        const columns part = columns_of(c->l, c->r, c->rows, first, count);
        VTA_TRY(shared_products(c, of_memory, &part));
        return enter_step(c, ".gates");
    }
    row_product m = state_product(c, of_memory ? c->memory : c->state);
    row_products(c->l, &m, first, count);
    return VTA_OK;
}

/* Element j of the row at hand. */
static const vtac_expr *own_element(const vtac_cell *c, const vtac_expr *j)
{
    return vtac_i_add(c->l->k, c->own_state, j);
}

/* The loop over the rows that go together. */
static void open_rows(vtac_cell *c)
{
    vtac_lower *l = c->l;
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, c->rows, "row");
    c->batch = LET("batch", vtac_i_add(l->k, c->first, i));
    c->own_sums = LET("sums", vtac_i_mulc(l->k, i, c->r->columns));
    c->own_state = LET("state", vtac_i_mulc(l->k, i, c->r->hidden));
}

/* Both products of gate `gate` of unit j. */
static const vtac_expr *input_part(const vtac_cell *c, int64_t gate, const vtac_expr *j)
{
    vtac_kernel *k = c->l->k;
    return vtac_e_load(k, c->products, vtac_i_add(k, c->row, vtac_i_addc(k, j, gate * c->r->hidden)));
}

static const vtac_expr *state_part(const vtac_cell *c, int64_t gate, const vtac_expr *j)
{
    return vtac_e_load(c->l->k, c->sums,
                       vtac_i_add(c->l->k, c->own_sums, vtac_i_addc(c->l->k, j, gate * c->r->hidden)));
}

static const vtac_expr *gate_sum(const vtac_cell *c, int64_t gate, const vtac_expr *j)
{
    return vtac_e2(c->l->k, VTAC_E_ADD, input_part(c, gate, j), state_part(c, gate, j));
}

/* sum + peephole weight of gate `which` (i, o, f) times the cell's state */
static const vtac_expr *add_peephole(const vtac_cell *c, const vtac_expr *sum, int64_t which,
                                     const vtac_expr *j, const vtac_expr *state)
{
    vtac_lower *l = c->l;
    if (!vtac_has_in(l, VTAC_RECURRENT_P)) {
        return sum;
    }
    const vtac_expr *at[] = {vtac_e_index(l->k, c->direction), vtac_i_addc(l->k, j, which * c->r->hidden)};
    return vtac_e3(l->k, VTAC_E_FMA, vtac_in_at(l, VTAC_RECURRENT_P, at), state, sum);
}

/* Computes the states of a row from its sums. */
static void lstm_gates(const vtac_cell *c)
{
    enum { I, O, F, C };
    vtac_lower *l = c->l;
    const vtac_expr *j = vtac_for(l->k, VTAC_LOOP_SERIAL, c->r->hidden, "j");
    const vtac_expr *before = LET("before", vtac_e_load(l->k, c->memory, own_element(c, j)));
    const vtac_expr *in = LET("in", vtac_gate(c, 0, add_peephole(c, gate_sum(c, I, j), 0, j, before)));
    const bool coupled = vtac_attr_int(l->node, "input_forget", 0) != 0;
    const vtac_expr *keep = coupled ? E2(SUB, vtac_e_int(l->k, c->r->type, 1), in)
                                    : vtac_gate(c, 0, add_peephole(c, gate_sum(c, F, j), 2, j, before));
    const vtac_expr *fresh = vtac_gate(c, 1, gate_sum(c, C, j));
    const vtac_expr *now = LET("now", E2(ADD, E2(MUL, keep, before), E2(MUL, in, fresh)));
    const double clip = vtac_attr_float(l->node, "cell_clip", 0.0); /* TensorFlow Lite's */
    if (clip > 0.0) {
        now = E2(MIN, now, vtac_e_float(l->k, c->r->type, clip));
        now = LET("held", E2(MAX, now, vtac_e_float(l->k, c->r->type, -clip)));
    }
    const vtac_expr *out = vtac_gate(c, 0, add_peephole(c, gate_sum(c, O, j), 1, j, now));
    vtac_store(l->k, c->memory, own_element(c, j), now);
    vtac_store(l->k, c->state, own_element(c, j), E2(MUL, out, vtac_gate(c, 2, now)));
    vtac_end(l->k);
}

enum { Z, RESET, HIDDEN };

static void gru_reset(const vtac_cell *c)
{
    vtac_lower *l = c->l;
    const vtac_expr *j = vtac_for(l->k, VTAC_LOOP_SERIAL, c->r->hidden, "j");
    const vtac_expr *reset = vtac_gate(c, 0, gate_sum(c, RESET, j));
    const vtac_expr *old =
        c->r->reset_after ? state_part(c, HIDDEN, j) : vtac_e_load(l->k, c->state, own_element(c, j));
    vtac_store(l->k, c->memory, own_element(c, j), E2(MUL, reset, old));
    vtac_end(l->k);
}

static void gru_gates(const vtac_cell *c)
{
    vtac_lower *l = c->l;
    const vtac_expr *j = vtac_for(l->k, VTAC_LOOP_SERIAL, c->r->hidden, "j");
    const vtac_expr *rest =
        c->r->reset_after ? vtac_e_load(l->k, c->memory, own_element(c, j)) : state_part(c, HIDDEN, j);
    const vtac_expr *fresh = LET("fresh", vtac_gate(c, 1, E2(ADD, input_part(c, HIDDEN, j), rest)));
    const vtac_expr *z = LET("z", vtac_gate(c, 0, gate_sum(c, Z, j)));
    const vtac_expr *other = E2(SUB, vtac_e_int(l->k, c->r->type, 1), z);
    const vtac_expr *kept = E2(MUL, z, vtac_e_load(l->k, c->state, own_element(c, j)));
    vtac_store(l->k, c->state, own_element(c, j), E2(ADD, E2(MUL, other, fresh), kept));
    vtac_end(l->k);
}

static void rnn_gates(const vtac_cell *c)
{
    vtac_lower *l = c->l;
    const vtac_expr *j = vtac_for(l->k, VTAC_LOOP_SERIAL, c->r->hidden, "j");
    vtac_store(l->k, c->state, own_element(c, j), vtac_gate(c, 0, gate_sum(c, 0, j)));
    vtac_end(l->k);
}

/* Row [batch] of an initial or final state of this direction. */
static void state_place(const vtac_cell *c, const vtac_expr *j, const vtac_expr **at)
{
    const vtac_expr *direction = vtac_e_index(c->l->k, c->direction);
    at[0] = c->r->batch_first ? c->batch : direction;
    at[1] = c->r->batch_first ? direction : c->batch;
    at[2] = j;
}

static void start_state(const vtac_cell *c, vtac_buffer *state, uint32_t input)
{
    vtac_lower *l = c->l;
    const vtac_expr *at[3];
    const vtac_expr *j = vtac_for(l->k, VTAC_LOOP_SERIAL, c->r->hidden, "j");
    state_place(c, j, at);
    vtac_store(l->k, state, own_element(c, j),
               vtac_has_in(l, input) ? vtac_in_at(l, input, at) : vtac_e_int(l->k, c->r->type, 0));
    vtac_end(l->k);
}

static void final_state(const vtac_cell *c, const vtac_buffer *state, uint32_t output)
{
    vtac_lower *l = c->l;
    if (output >= l->node->output_count || l->node->outputs[output] == 0) {
        return;
    }
    const vtac_expr *at[3];
    const vtac_expr *j = vtac_for(l->k, VTAC_LOOP_SERIAL, c->r->hidden, "j");
    state_place(c, j, at);
    vtac_out_at(l, output, at, vtac_e_load(l->k, state, own_element(c, j)));
    vtac_end(l->k);
}

/* Y at a time: the state, or 0 behind the end of a sequence. */
static void write_time(const vtac_cell *c, const vtac_expr *time, bool live)
{
    vtac_lower *l = c->l;
    if (l->node->outputs[0] == 0) {
        return;
    }
    const vtac_expr *direction = vtac_e_index(l->k, c->direction);
    const vtac_expr *j = vtac_for(l->k, VTAC_LOOP_SERIAL, c->r->hidden, "j");
    const vtac_expr *times_first[] = {time, direction, c->batch, j};
    const vtac_expr *batch_first[] = {c->batch, time, direction, j};
    vtac_out_at(l, 0, c->r->batch_first ? batch_first : times_first,
                live ? vtac_e_load(l->k, c->state, own_element(c, j)) : vtac_e_int(l->k, c->r->type, 0));
    vtac_end(l->k);
}

static const vtac_expr *length_of(const vtac_cell *c)
{
    vtac_lower *l = c->l;
    const vtac_expr *all = vtac_e_index(l->k, c->r->steps);
    if (!vtac_has_in(l, VTAC_RECURRENT_LENGTHS)) {
        return all;
    }
    const vtac_expr *given = vtac_e_cast(l->k, VTAC_I64, vtac_in_at(l, VTAC_RECURRENT_LENGTHS, &c->batch));
    return LET("length", E2(MAX, vtac_e_index(l->k, 0), E2(MIN, all, given)));
}

/* Opens the part of a row whose sequence is not over at this turn: one to close. Returns the time. */
static const vtac_expr *open_live(vtac_cell *c, const vtac_expr *time_step, const vtac_expr *length)
{
    vtac_lower *l = c->l;
    vtac_kernel *k = l->k;
    const vtac_recurrence *r = c->r;
    const bool reverse = c->direction == 1 || vtac_attr_string(l->node, "direction", "forward")[0] == 'r';
    vtac_if(k, E2(LT, time_step, length));
    const vtac_expr *last = E2(SUB, vtac_i_addc(k, length, -1), time_step);
    const vtac_expr *time = LET("time", reverse ? last : time_step);
    const vtac_expr *row = vtac_i_add(k, vtac_i_mulc(k, time, r->batch), c->batch);
    row = vtac_i_addc(k, row, c->direction * r->steps * r->batch);
    c->row = LET("row", vtac_i_mulc(k, row, r->columns));
    return time;
}

static vta_status one_step(vtac_cell *c, const vtac_expr *time_step)
{
    vtac_lower *l = c->l;
    const vtac_recurrence *r = c->r;
    const bool gru = l->node->op == VTAC_OP_GRU;
    VTA_TRY(state_products(c, false, 0, gru && !r->reset_after ? 2 * r->hidden : r->columns));
    if (gru) {
        open_rows(c);
        (void)open_live(c, time_step, length_of(c));
        gru_reset(c);
        vtac_close(l, 2);
    }
    if (gru && !r->reset_after) {
        VTA_TRY(state_products(c, true, 2 * r->hidden, r->hidden));
    }
    open_rows(c);
    const vtac_expr *length = length_of(c);
    const vtac_expr *time = open_live(c, time_step, length);
    if (gru) {
        gru_gates(c);
    } else if (l->node->op == VTAC_OP_LSTM) {
        lstm_gates(c);
    } else {
        rnn_gates(c);
    }
    write_time(c, time, true);
    vtac_end(l->k);
    vtac_if(l->k, E2(GE, time_step, length));
    write_time(c, time_step, false);
    vtac_close(l, 2);
    return VTA_OK;
}

static void start_states(vtac_cell *c)
{
    open_rows(c);
    start_state(c, c->state, VTAC_RECURRENT_INITIAL_H);
    if (c->l->node->op == VTAC_OP_LSTM) {
        start_state(c, c->memory, VTAC_RECURRENT_INITIAL_C);
    }
    vtac_end(c->l->k);
}

static void final_states(vtac_cell *c)
{
    open_rows(c);
    final_state(c, c->state, 1);
    if (c->l->node->op == VTAC_OP_LSTM) {
        final_state(c, c->memory, 2);
    }
    vtac_end(c->l->k);
}

static vta_status run_apart(vtac_cell *c, vtac_storage_id weights, const char *suffix)
{
    vtac_lower *l = c->l;
    const vtac_recurrence *r = c->r;
    c->apart = true;
    c->kept[0] = weights;
    c->kept[1] = vtac_temp(l, r->type, c->rows * r->columns);
    c->kept[2] = vtac_temp(l, r->type, c->rows * r->hidden);
    c->kept[3] = vtac_temp(l, r->type, c->rows * r->hidden);
    VTA_TRY(enter_step(c, suffix));
    start_states(c);
    for (int64_t time_step = 0; time_step < r->steps; time_step++) {
        VTA_TRY(one_step(c, vtac_e_index(l->k, time_step)));
    }
    final_states(c);
    return l->diag->code;
}

static vta_status run_direction(vtac_lower *l, const vtac_recurrence *r, int64_t direction,
                                vtac_storage_id weights)
{
    const char *suffix = direction == 0 ? "" : ".back";
    vtac_cell c = {.l = l, .r = r, .direction = direction, .rows = rows_together(r->batch)};
    VTA_TRY(vtac_gates_of(l, r, &c));
    if (l->program->level > 0 && c.rows == r->batch && r->steps <= MAX_APART &&
        r->batch * r->hidden * r->columns >= MIN_APART) {
        return run_apart(&c, weights, suffix);
    }
    VTA_TRY(vtac_begin(l, suffix));
    c.weights = vtac_use(l, weights, "r", r->type, r->directions * r->hidden * r->columns);
    c.products =
        vtac_use(l, r->products, "products", r->type, r->directions * r->steps * r->batch * r->columns);
    c.sums = vtac_kernel_buffer(l->k, "sums", r->type, c.rows * r->columns, VTAC_BUFFER_SCRATCH);
    c.state = vtac_kernel_buffer(l->k, "state", r->type, c.rows * r->hidden, VTAC_BUFFER_SCRATCH);
    c.memory = vtac_kernel_buffer(l->k, "memory", r->type, c.rows * r->hidden, VTAC_BUFFER_SCRATCH);
    const int64_t work = r->steps * r->batch * r->hidden * r->columns;
    const int64_t groups = (r->batch + c.rows - 1) / c.rows;
    const vtac_expr *group = vtac_for(l->k, vtac_parallel_if(work), groups, "group");
    c.first = first_row(l, group, c.rows, r->batch);
    start_states(&c);
    VTA_TRY(one_step(&c, vtac_for(l->k, VTAC_LOOP_SERIAL, r->steps, "turn")));
    vtac_end(l->k);
    final_states(&c);
    vtac_end(l->k);
    l->step->flops = 2 * (uint64_t)work;
    return l->diag->code;
}

vta_status vtac_lower_recurrent(vtac_lower *l)
{
    vtac_recurrence r = {0};
    vtac_storage_id weights = 0;
    vtac_storage_id state_weights = 0;
    read_geometry(l, &r);
    VTA_TRY(transpose_weights(l, &r, VTAC_RECURRENT_W, r.inputs, &weights));
    VTA_TRY(transpose_weights(l, &r, VTAC_RECURRENT_R, r.hidden, &state_weights));
    r.products = vtac_temp(l, r.type, r.directions * r.steps * r.batch * r.columns);
    VTA_TRY(input_products(l, &r, weights));
    for (int64_t direction = 0; direction < r.directions; direction++) {
        VTA_TRY(run_direction(l, &r, direction, state_weights));
    }
    return VTA_OK;
}
