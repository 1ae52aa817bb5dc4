/* SPDX-License-Identifier: Apache-2.0
 *
 * See recurrent.h: the calls of a recurrent cell.
 */
#include <stdlib.h>

#include "recurrent.h"

static const vtac_vta_tensor *tensor_in(const plan *p)
{
    return &p->region->tensors[p->layer->inputs[0]];
}

/* h that the sequence begins with, and the bytes of C or H; NULL: there is none. */
static const vtac_vta_tensor *h_before(const plan *p)
{
    const vtac_vta_layer *layer = p->layer;
    const bool given = layer->input_count > 1 && layer->cell->kind != VTAC_RECURRENT_GRU;
    return given ? &p->region->tensors[layer->inputs[1]] : NULL;
}

static const vtac_vta_tensor *wide_before(const plan *p)
{
    const vtac_vta_layer *layer = p->layer;
    const bool given = layer->input_count > 1 && layer->cell->kind != VTAC_RECURRENT_RNN;
    return given ? &p->region->tensors[layer->inputs[layer->input_count - 1]] : NULL;
}

/* ---- calls */

typedef struct recurrent_emitter {
    const plan *p;
    const vtac_recurrent *c;
    const recurrent_tiling *t;
    step_list *list;
    vta_uop *uops;  /* room for a kernel, owned */
    slots wgt[2];   /* for the weights over the input, and over the state */
    int64_t pieces; /* of the input that are or were in INP */
} recurrent_emitter;

/* The first entry of a gate in `work`. */
static int64_t gate_at(const recurrent_emitter *e, int64_t gate)
{
    const int64_t end = end_of(e->c, gate);
    return e->t->work[end] + gates_before(e->c, end, gate) * state_entries(e->t);
}

/* The first entry of a gate's sums in the ring. Places of a reversed sequence go backwards, as its pixels do.
 */
static int64_t sums_at(const recurrent_emitter *e, int64_t when, int64_t gate)
{
    const recurrent_tiling *t = e->t;
    const int64_t place = when % t->chunk, at = e->p->layer->reverse ? t->chunk - 1 - place : place;
    return t->sums + at * t->rows * t->batch + gate * state_entries(t);
}

/* The entry of a gate in `work`, or of a state, that row `row` of the state's rows begins with. */
static int64_t entry_of(const recurrent_emitter *e, int64_t row)
{
    const int64_t ro = e->p->machine->ro;
    return row / ro * e->t->batch * ro + row % ro;
}

static void load_weights(recurrent_emitter *e, int64_t kind, int64_t group, int64_t sram)
{
    const recurrent_tiling *t = e->t;
    const int64_t each = rows_of_slot(t, kind), first = group * each;
    const int64_t count = vta_min(each, t->rows - first);
    const int64_t begin = e->p->at.weights + (kind == 0 ? 0 : t->rows * t->terms[0]);
    vtac_vta_list_load(e->list, &(vta_load2d){.memory = VTA_MEM_WGT,
                                              .sram = sram,
                                              .buffer = {CONSTANTS_BUFFER},
                                              .offset = begin + first * t->terms[kind],
                                              .y_size = 1,
                                              .x_size = count * t->terms[kind],
                                              .x_stride = count * t->terms[kind]});
}

/* The first entry of a row's weights over the input (kind 0) or the state. */
static int64_t weights_of(recurrent_emitter *e, int64_t kind, int64_t row)
{
    const recurrent_tiling *t = e->t;
    const int64_t each = rows_of_slot(t, kind), group = row / each;
    bool present;
    const int64_t sram = vtac_vta_slots_take(&e->wgt[kind], group, &present);
    if (!present) {
        load_weights(e, kind, group, sram);
    }
    return sram + row % each * t->terms[kind];
}

/* Sums of some rows, whose weights follow each other, over `terms` entries of INP for each pixel, which are
 * `stride` entries apart. In ACC they begin at `to`; `apart` from row to row, `step` from pixel to pixel. The
 * rows are a loop, not micro-ops, so that the ALU knows at once which entries the array will write. */
typedef struct row_sums {
    int64_t weights, terms, rows, from, stride, to, apart;
    bool init;
} row_sums;

static void sum_rows(recurrent_emitter *e, const row_sums *s)
{
    const int64_t count = e->t->batch, when = e->p->machine->ro;
    for (int64_t k = 0; k < s->terms; k++) {
        e->uops[k] = (vta_uop){.dst = (uint32_t)s->to,
                               .src = (uint32_t)(s->from + k * s->stride),
                               .aux = (uint32_t)(s->weights + k)};
    }
    vtac_vta_list_gemm(e->list,
                       &(vta_gemm){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, (uint32_t)s->terms),
                                   .init = s->init,
                                   .iter_out = s->rows,
                                   .iter_in = count,
                                   .dst_out = s->rows > 1 ? s->apart : 0,
                                   .dst_in = count > 1 ? when : 0,
                                   .src_in = count > 1,
                                   .wgt_out = s->rows > 1 ? s->terms : 0},
                       (list_range){s->to, (s->rows - 1) * s->apart + (count - 1) * when + 1});
    vtac_vta_list_flush(e->list);
}

/* An ALU operation of `count` entries and as many others. */
static void apply(recurrent_emitter *e, vta_alu_op op, int64_t dst, int64_t src, int64_t count)
{
    const vta_uop uop = {.dst = (uint32_t)dst, .src = (uint32_t)src};
    vtac_vta_list_alu(e->list,
                      &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, &uop, 1),
                                 .op = op,
                                 .iter_out = 1,
                                 .iter_in = count,
                                 .dst_in = count > 1,
                                 .src_in = count > 1},
                      (list_range){dst, count}, (list_range){src, count});
    vtac_vta_list_flush(e->list);
}

static void apply_number(recurrent_emitter *e, vta_alu_op op, int64_t dst, int64_t src, int64_t number,
                         int64_t count)
{
    vtac_vta_list_alu_number(e->list, op, dst, src, number, count);
    vtac_vta_list_flush(e->list);
}

static void requantize(recurrent_emitter *e, int64_t dst, int64_t src, int64_t record, int64_t count,
                       const vta_requant *how)
{
    vta_requant requant = *how;
    requant.dst = dst;
    requant.src = src;
    requant.params = e->t->fixed / RECORD + record;
    requant.iter_out = 1;
    requant.iter_in = count;
    requant.dst_in = requant.src_in = count > 1;
    requant.low = INT8_MIN;
    requant.high = INT8_MAX;
    vtac_vta_list_requant(e->list, &requant, (list_range){dst, count}, (list_range){src, count});
    vtac_vta_list_flush(e->list);
}

/* Makes a state in INP of numbers in ACC. */
static void requantize_into_inp(recurrent_emitter *e, int64_t to, int64_t src, int64_t record, int64_t zero)
{
    const int64_t ro = e->p->machine->ro, count = state_entries(e->t) / ro;
    for (int64_t r = 0; r < ro; r++) {
        const list_range range = {src + r, (count - 1) * ro + 1};
        vtac_vta_list_requant(e->list,
                              &(vta_requant){.dst = to,
                                             .src = src + r,
                                             .params = e->t->fixed / RECORD + record,
                                             .iter_out = 1,
                                             .iter_in = count,
                                             .dst_in = count > 1,
                                             .src_in = count > 1 ? ro : 0,
                                             .zero_point = zero,
                                             .low = INT8_MIN,
                                             .high = INT8_MAX,
                                             .to_inp = true,
                                             .part = r},
                              range, range);
        vtac_vta_list_flush(e->list);
    }
}

/* Looks up a gate, whose sums begin at `sums`. */
static void look_up(recurrent_emitter *e, int64_t gate, int64_t sums)
{
    const recurrent_tiling *t = e->t;
    const int64_t ro = e->p->machine->ro;
    for (int64_t row = 0; row < t->state_rows; row++) {
        const list_range to = {gate_at(e, gate) + entry_of(e, row), (t->batch - 1) * ro + 1};
        const list_range from = {sums + entry_of(e, row), to.count};
        vtac_vta_list_requant(e->list,
                              &(vta_requant){.dst = to.first,
                                             .src = from.first,
                                             .params = gate * t->state_rows + row,
                                             .iter_out = 1,
                                             .iter_in = t->batch,
                                             .dst_in = t->batch > 1 ? ro : 0,
                                             .src_in = t->batch > 1 ? ro : 0,
                                             .low = INT8_MIN,
                                             .high = INT8_MAX,
                                             .table = gate == e->c->gates - 1 ? TANH : SIGMOID},
                              to, from);
        vtac_vta_list_flush(e->list);
    }
}

/* The same for the sums of a step, of a gate that goes through sigmoid: the table holds it less 128. */
static void look_up_share(recurrent_emitter *e, int64_t when, int64_t gate)
{
    const int64_t at = gate_at(e, gate);
    look_up(e, gate, sums_at(e, when, gate));
    apply_number(e, VTA_ALU_ADD, at, at, HALF, state_entries(e->t));
}

/* ---- sums over the state */

/* The biases of a GRU's sums over the state. */
static void take_biases(recurrent_emitter *e)
{
    const recurrent_tiling *t = e->t;
    const int64_t ro = e->p->machine->ro, to = gate_at(e, GRU_STATE);
    for (int64_t b = 0; b < t->batch; b++) {
        const vta_uop own = {.dst = (uint32_t)(to + b * ro), .src = (uint32_t)t->biases};
        vtac_vta_list_alu(e->list,
                          &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, &own, 1),
                                     .op = VTA_ALU_MOV,
                                     .iter_out = t->terms[1],
                                     .iter_in = ro,
                                     .dst_out = t->terms[1] > 1 ? t->batch * ro : 0,
                                     .dst_in = ro > 1,
                                     .src_out = t->terms[1] > 1 ? ro : 0,
                                     .src_in = ro > 1},
                          (list_range){to, state_entries(t)}, (list_range){t->biases, t->state_rows});
        vtac_vta_list_flush(e->list);
    }
}

/* Rows whose weights one kernel may name: all of them are in WGT at that time. Where weights come and go,
 * those of other rows are loaded meanwhile. */
static int64_t rows_together(const recurrent_tiling *t, int64_t kind)
{
    enum { SHARE = 4 };
    const int64_t together = slots_of(t, 1) <= t->slots && kind == 1 ? t->slots - 1 : t->slots / SHARE;
    return vta_max(1, together * rows_of_slot(t, kind));
}

/* The sums of a gate over the input (kind 0) or the state, and the entry where they begin. */
typedef struct gate_sums {
    int64_t kind, gate, to;
    bool init;
} gate_sums;

/* Makes those of `count` rows from `first` on, over the entries from `from` on, `stride` apart. */
static void sum_gate_rows(recurrent_emitter *e, const gate_sums *of, int64_t from, int64_t stride,
                          int64_t first, int64_t count)
{
    const recurrent_tiling *t = e->t;
    const int64_t together = rows_together(t, of->kind), terms = t->terms[of->kind];
    row_sums sums = {.terms = terms, .from = from, .stride = stride, .init = of->init};
    for (int64_t row = first; row < first + count; row++) {
        const int64_t at = of->to + entry_of(e, row),
                      weights = weights_of(e, of->kind, of->gate * t->state_rows + row);
        const bool follows = sums.rows > 0 && sums.rows < together &&
                             weights == sums.weights + sums.rows * terms &&
                             (sums.rows == 1 || at == sums.to + sums.rows * sums.apart);
        if (sums.rows > 0 && !follows) {
            sum_rows(e, &sums);
            sums.rows = 0;
        }
        sums.to = sums.rows == 0 ? at : sums.to;
        sums.weights = sums.rows == 0 ? weights : sums.weights;
        sums.apart = sums.rows == 1 ? at - sums.to : sums.apart;
        sums.rows++;
    }
    sum_rows(e, &sums);
}

/* Adds the sums of gate `gate` over a state in INP to what begins at `to`, so many rows in a call. */
static void add_rows(recurrent_emitter *e, int64_t gate, int64_t to, int64_t from, int64_t each)
{
    const gate_sums sums = {.kind = 1, .gate = gate, .to = to};
    const int64_t rows = e->t->state_rows;
    for (int64_t row = 0; row < rows; row += each) {
        sum_gate_rows(e, &sums, from, e->t->batch, row, vta_min(each, rows - row));
    }
}

/* The rows that a call takes at most. Instructions retire in order, and the compute unit holds few of them:
 * behind a long call of the array the ALU would soon have nothing to begin. */
static int64_t rows_of_call(const recurrent_emitter *e)
{
    enum { CYCLES = 128 };
    const int64_t ro = e->p->machine->ro;
    return vta_max(1, CYCLES / (e->t->terms[1] * e->t->batch * ro)) * ro;
}

static void add_state(recurrent_emitter *e, int64_t gate, int64_t to, int64_t from)
{
    add_rows(e, gate, to, from, rows_of_call(e));
}

/* The same for a gate that the cell waits for: in two calls or more, so that the ALU begins with the first
 * one's. */
static void add_halves(recurrent_emitter *e, int64_t gate, int64_t to, int64_t from)
{
    const int64_t half = vta_ceil_div(e->t->terms[1], 2) * e->p->machine->ro;
    add_rows(e, gate, to, from, vta_min(half, rows_of_call(e)));
}

/* ---- the cells, for step `when` */

static void step_lstm(recurrent_emitter *e, int64_t when)
{
    const int64_t count = state_entries(e->t), wide = e->t->wide, new = gate_at(e, LSTM_G);
    const int64_t in = gate_at(e, LSTM_I), out = gate_at(e, LSTM_O), lost = gate_at(e, LSTM_LOST);
    const int64_t less = gate_at(e, LSTM_LESS);
    add_state(e, LSTM_LOST, sums_at(e, when, LSTM_LOST), 0);
    add_state(e, LSTM_I, sums_at(e, when, LSTM_I), 0);
    add_halves(e, LSTM_G, sums_at(e, when, LSTM_G), 0);
    add_state(e, LSTM_O, sums_at(e, when, LSTM_O), 0);
    apply_number(e, VTA_ALU_MUL, less, wide, -1, count);
    look_up_share(e, when, LSTM_LOST);
    apply(e, VTA_ALU_MUL, lost, less, count);
    apply_number(e, VTA_ALU_ADD, lost, lost, HALF, count);
    look_up_share(e, when, LSTM_I);
    apply_number(e, VTA_ALU_SHR, in, in, -FINE, count);
    look_up(e, LSTM_G, sums_at(e, when, LSTM_G));
    apply(e, VTA_ALU_MUL, new, in, count);
    apply(e, VTA_ALU_ADD, lost, new, count);
    apply_number(e, VTA_ALU_SHR, lost, lost, PLACES, count);
    apply(e, VTA_ALU_ADD, wide, lost, count);
    requantize(e, new, wide, MEMORY_RECORD, count, &(vta_requant){.table = TANH});
    look_up_share(e, when, LSTM_O);
    apply(e, VTA_ALU_MUL, out, new, count);
}

/* v / 256, halves up. */
static void shift_back(recurrent_emitter *e, int64_t at, int64_t count)
{
    apply_number(e, VTA_ALU_ADD, at, at, HALF, count);
    apply_number(e, VTA_ALU_SHR, at, at, PLACES, count);
}

/* A GRU whose reset gate multiplies sums over the state. */
static void step_gru_after(recurrent_emitter *e, int64_t when)
{
    const int64_t count = state_entries(e->t), wide = e->t->wide, state = gate_at(e, GRU_STATE);
    const int64_t lost = gate_at(e, GRU_LOST), new = gate_at(e, GRU_NEW), less = gate_at(e, GRU_LESS);
    add_state(e, GRU_RESET, sums_at(e, when, GRU_RESET), 0);
    add_halves(e, GRU_NEW, state, 0);
    add_state(e, GRU_LOST, sums_at(e, when, GRU_LOST), 0);
    apply_number(e, VTA_ALU_MUL, less, wide, -1, count);
    look_up_share(e, when, GRU_RESET);
    apply(e, VTA_ALU_MUL, state, gate_at(e, GRU_RESET), count);
    shift_back(e, state, count);
    apply(e, VTA_ALU_ADD, state, sums_at(e, when, GRU_NEW), count);
    look_up(e, GRU_NEW, state);
    apply_number(e, VTA_ALU_SHR, new, new, -PLACES, count);
    apply(e, VTA_ALU_ADD, new, less, count);
    look_up_share(e, when, GRU_LOST);
    apply(e, VTA_ALU_MUL, new, lost, count);
    shift_back(e, new, count);
    apply(e, VTA_ALU_ADD, wide, new, count);
}

/* Emits a step of a GRU whose reset gate multiplies the state before the array sums over it. While the array
 * sums, the ALU makes all that does not need the sums. */
static void step_gru(recurrent_emitter *e, int64_t when)
{
    const recurrent_tiling *t = e->t;
    const int64_t count = state_entries(t), wide = t->wide, reset = gate_at(e, GRU_RESET);
    const int64_t lost = gate_at(e, GRU_LOST), new = gate_at(e, GRU_NEW), less = gate_at(e, GRU_LESS);
    add_halves(e, GRU_RESET, sums_at(e, when, GRU_RESET), 0);
    add_state(e, GRU_LOST, sums_at(e, when, GRU_LOST), 0);
    look_up_share(e, when, GRU_RESET);
    apply(e, VTA_ALU_MUL, reset, wide, count);
    requantize_into_inp(e, t->reset, reset, RESET_RECORD, e->c->zero);
    add_halves(e, GRU_NEW, sums_at(e, when, GRU_NEW), t->reset);
    look_up_share(e, when, GRU_LOST);
    apply_number(e, VTA_ALU_MUL, less, lost, -1, count);
    apply(e, VTA_ALU_MUL, less, wide, count);
    apply_number(e, VTA_ALU_ADD, less, less, HALF, count);
    apply_number(e, VTA_ALU_SHR, lost, lost, -PLACES, count);
    look_up(e, GRU_NEW, sums_at(e, when, GRU_NEW));
    apply(e, VTA_ALU_MUL, new, lost, count);
    apply(e, VTA_ALU_ADD, new, less, count);
    apply_number(e, VTA_ALU_SHR, new, new, PLACES, count);
    apply(e, VTA_ALU_ADD, wide, new, count);
}

static void step_rnn(recurrent_emitter *e, int64_t when)
{
    add_halves(e, 0, sums_at(e, when, 0), 0);
    look_up(e, 0, sums_at(e, when, 0));
}

/* Stores the state of a step. */
static void store_state(recurrent_emitter *e, int64_t when)
{
    const recurrent_tiling *t = e->t;
    const plan *p = e->p;
    const int64_t ro = p->machine->ro, pixels = pixels_of(tensor_out(p));
    const int64_t pixel = (p->layer->reverse ? p->layer->steps - 1 - when : when) * t->batch;
    vtac_vta_list_store(e->list, &(vta_store2d){.sram = t->out,
                                                .buffer = {WORK_BUFFER},
                                                .offset = (int64_t)tensor_out(p)->offset /
                                                              p->machine->config->elem_bytes[VTA_MEM_OUT] +
                                                          pixel * ro,
                                                .y_size = t->terms[1],
                                                .x_size = t->batch * ro,
                                                .x_stride = pixels * ro});
    vtac_vta_list_flush(e->list);
}

static void emit_step(recurrent_emitter *e, int64_t when)
{
    const recurrent_tiling *t = e->t;
    const vtac_recurrent *c = e->c;
    int64_t from = gate_at(e, 0), zero = c->zero;
    if (c->kind == VTAC_RECURRENT_LSTM) {
        step_lstm(e, when);
        from = gate_at(e, LSTM_O);
    } else if (c->kind == VTAC_RECURRENT_GRU) {
        (c->reset_after ? step_gru_after : step_gru)(e, when);
        from = t->wide;
    } else {
        step_rnn(e, when);
        zero = 0;
    }
    requantize_into_inp(e, 0, from, OUT_RECORD, zero);
    requantize(e, t->out, from, OUT_RECORD, state_entries(t), &(vta_requant){.zero_point = zero});
    store_state(e, when);
    if (c->reset_after) {
        take_biases(e);
    }
}

/* ---- sums over the inputs */

/* Some steps whose inputs lie in one area of INP, in the order of their pixels. */
typedef struct input_run {
    int64_t first, count; /* steps: the first one, and how many */
    int64_t at, stride;   /* entries: of its first pixel; from block to block */
} input_run;

/* The run of steps from `step` on, before `end`. Loads its piece if it is not there yet. */
static input_run run_of(recurrent_emitter *e, int64_t when, int64_t end)
{
    const plan *p = e->p;
    const recurrent_tiling *t = e->t;
    const int64_t steps = p->layer->steps, number = when / t->piece, begin = number * t->piece;
    const int64_t count = vta_min(t->piece, steps - begin), stride = count * t->batch;
    const int64_t area = t->input + number % t->areas * t->piece * t->terms[0] * t->batch;
    const int64_t pixels = pixels_of(tensor_in(p));
    const int64_t first = (p->layer->reverse ? steps - begin - count : begin) * t->batch;
    if (number == e->pieces) {
        e->pieces++;
        vtac_vta_list_load(e->list, &(vta_load2d){.memory = VTA_MEM_INP,
                                                  .sram = area,
                                                  .buffer = {WORK_BUFFER},
                                                  .offset = (int64_t)tensor_in(p)->offset /
                                                                p->machine->config->elem_bytes[VTA_MEM_INP] +
                                                            first,
                                                  .y_size = t->terms[0],
                                                  .x_size = stride,
                                                  .x_stride = t->terms[0] > 1 ? pixels : stride});
    }
    const int64_t last = vta_min(begin + count, end);
    const int64_t from = (p->layer->reverse ? begin + count - last : when - begin) * t->batch;
    return (input_run){when, last - when, area + from, stride};
}

/* The sums of a row over the inputs of a run, into the places of its steps. */
static void sum_run(recurrent_emitter *e, const input_run *run, int64_t row)
{
    const recurrent_tiling *t = e->t;
    const int64_t ro = e->p->machine->ro, gate = row / t->state_rows;
    const int64_t low = e->p->layer->reverse ? run->first + run->count - 1 : run->first;
    const int64_t to = sums_at(e, low, gate) + entry_of(e, row % t->state_rows);
    const int64_t weights = weights_of(e, 0, row), apart = t->rows * t->batch;
    for (int64_t k = 0; k < t->terms[0]; k++) {
        e->uops[k] = (vta_uop){.dst = (uint32_t)to,
                               .src = (uint32_t)(run->at + k * run->stride),
                               .aux = (uint32_t)(weights + k)};
    }
    vtac_vta_list_gemm(e->list,
                       &(vta_gemm){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, (uint32_t)t->terms[0]),
                                   .init = true,
                                   .iter_out = run->count,
                                   .iter_in = t->batch,
                                   .dst_out = run->count > 1 ? apart : 0,
                                   .dst_in = t->batch > 1 ? ro : 0,
                                   .src_out = run->count > 1 ? t->batch : 0,
                                   .src_in = t->batch > 1},
                       (list_range){to, (run->count - 1) * apart + (t->batch - 1) * ro + 1});
    vtac_vta_list_flush(e->list);
}

/* The sums over the inputs of steps first … end-1, for which the ring has places. */
static void sum_inputs(recurrent_emitter *e, int64_t first, int64_t end)
{
    while (first < end) {
        const input_run run = run_of(e, first, end);
        for (int64_t row = 0; row < e->t->rows; row++) {
            sum_run(e, &run, row);
        }
        first += run.count;
    }
}

/* The sums of one gate over the inputs of one step. */
static void sum_gate(recurrent_emitter *e, int64_t when, int64_t gate)
{
    const input_run run = run_of(e, when, when + 1);
    const gate_sums sums = {.kind = 0, .gate = gate, .to = sums_at(e, when, gate), .init = true};
    sum_gate_rows(e, &sums, run.at, run.stride, 0, e->t->state_rows);
}

/* Forgets what the slots of a kind hold, from slot `first` on: the other kind has used them. */
static void forget_slots(recurrent_emitter *e, int64_t kind, int64_t first)
{
    slots *s = &e->wgt[kind];
    for (int64_t i = first; slots_overlap(e->t) && i < s->count; i++) {
        s->key[i] = -1;
        s->used[i] = 0;
    }
}

/* Chunk by chunk: the sums over its inputs, then its steps. */
static void emit_chunks(recurrent_emitter *e)
{
    const recurrent_tiling *t = e->t;
    const int64_t steps = e->p->layer->steps;
    for (int64_t begin = 0; begin < steps; begin += t->chunk) {
        const int64_t end = vta_min(begin + t->chunk, steps);
        forget_slots(e, 0, 0);
        sum_inputs(e, begin, end);
        forget_slots(e, 1, t->slots - input_slots(t));
        for (int64_t when = begin; when < end; when++) {
            emit_step(e, when);
        }
    }
}

/* All steps, with places of the ring refilled behind each: gates of later steps, evenly. */
static void emit_ring(recurrent_emitter *e)
{
    const int64_t gates = e->c->gates, steps = e->p->layer->steps, first = e->t->chunk;
    const int64_t left = (steps - first) * gates;
    sum_inputs(e, 0, first);
    for (int64_t when = 0, done = 0; when < steps; when++) {
        emit_step(e, when);
        for (; when + 1 < steps && done < vta_ceil_div((when + 1) * left, steps - 1); done++) {
            sum_gate(e, first + done / gates, done % gates);
        }
    }
}

/* ---- states that come and go */

/* A state in memory lies by row of the batch, and on chip by block: transfers of a block of all rows, or of
 * all blocks where there is one row. */
typedef struct state_blocks {
    int64_t transfers, y_size, x_size, x_stride; /* of entries */
    int64_t apart, beyond;                       /* from one transfer to the next: on chip, in memory */
} state_blocks;

static state_blocks blocks_of(const recurrent_tiling *t, int64_t ro)
{
    return t->batch == 1 ? (state_blocks){1, 1, t->terms[1] * ro, t->terms[1] * ro, 0, 0}
                         : (state_blocks){t->terms[1], t->batch, ro, t->terms[1] * ro, t->batch * ro, ro};
}

/* Loads row `row` of a tensor, a byte of C or H or h, into ACC8 or INP. */
static void load_row(recurrent_emitter *e, vta_memory memory, int64_t to, const vtac_vta_tensor *from,
                     int64_t row)
{
    const int64_t ro = memory == VTA_MEM_INP ? 1 : e->p->machine->ro;
    const int64_t bytes = e->p->machine->config->elem_bytes[memory == VTA_MEM_INP ? memory : VTA_MEM_OUT];
    const state_blocks b = blocks_of(e->t, ro);
    for (int64_t i = 0; i < b.transfers; i++) {
        vtac_vta_list_load(e->list, &(vta_load2d){.memory = memory,
                                                  .sram = to + i * b.apart,
                                                  .buffer = {WORK_BUFFER},
                                                  .offset = (int64_t)from->offset / bytes +
                                                            row * e->t->batch * b.x_stride + i * b.beyond,
                                                  .y_size = b.y_size,
                                                  .x_size = b.x_size,
                                                  .x_stride = b.x_stride});
    }
}

static void store_row(recurrent_emitter *e, int64_t from, const vtac_vta_tensor *to, int64_t row)
{
    const int64_t bytes = e->p->machine->config->elem_bytes[VTA_MEM_OUT];
    const state_blocks b = blocks_of(e->t, e->p->machine->ro);
    for (int64_t i = 0; i < b.transfers; i++) {
        vtac_vta_list_store(e->list, &(vta_store2d){.sram = from + i * b.apart,
                                                    .buffer = {WORK_BUFFER},
                                                    .offset = (int64_t)to->offset / bytes +
                                                              row * e->t->batch * b.x_stride + i * b.beyond,
                                                    .y_size = b.y_size,
                                                    .x_size = b.x_size,
                                                    .x_stride = b.x_stride});
    }
    vtac_vta_list_flush(e->list);
}

/* Puts C or H together from its bytes, the highest of which comes first. */
static void begin_wide(recurrent_emitter *e)
{
    const recurrent_tiling *t = e->t;
    const int64_t count = state_entries(t), digits = vtac_recurrent_digits(e->c->kind);
    const int64_t parts[] = {t->wide, t->out, gate_at(e, 0)};
    for (int64_t i = 0; i < digits; i++) {
        load_row(e, VTA_MEM_ACC8, parts[i], wide_before(e->p), i);
    }
    for (int64_t i = 1; i < digits; i++) {
        apply_number(e, VTA_ALU_SHR, t->wide, t->wide, -PLACES, count);
        apply(e, VTA_ALU_ADD, t->wide, parts[i], count);
    }
}

/* Stores C or H byte by byte, the lowest first: OUT has that of each number, and shifting brings down the
 * next one. */
static void give_wide(recurrent_emitter *e)
{
    const vtac_vta_tensor *to = &e->p->region->tensors[e->p->layer->second];
    const int64_t count = state_entries(e->t), digits = vtac_recurrent_digits(e->c->kind);
    for (int64_t row = digits; row-- > 0;) {
        store_row(e, e->t->wide, to, row);
        if (row > 0) {
            shift_back(e, e->t->wide, count);
        }
    }
}

/* h and C or H at the beginning. */
static void begin_states(recurrent_emitter *e)
{
    const recurrent_tiling *t = e->t;
    const int64_t count = t->terms[1] * t->batch;
    if (wide_before(e->p) != NULL) {
        begin_wide(e);
    } else {
        apply_number(e, VTA_ALU_MOV, t->wide, t->wide, 0, state_entries(t));
    }
    if (h_before(e->p) != NULL) {
        load_row(e, VTA_MEM_INP, 0, h_before(e->p), 0);
    } else if (wide_before(e->p) != NULL) {
        requantize_into_inp(e, 0, t->wide, OUT_RECORD, e->c->zero);
    } else {
        vtac_vta_list_load_padded(e->list, &(vta_load2d){.memory = VTA_MEM_INP,
                                                         .sram = 0,
                                                         .buffer = {WORK_BUFFER},
                                                         .x_size = count,
                                                         .x_stride = count,
                                                         .y_pad_0 = 1,
                                                         .pad_value = e->c->zero});
    }
}

/* Records, tables and the states at the beginning. */
static void prepare(recurrent_emitter *e)
{
    const plan *p = e->p;
    const recurrent_tiling *t = e->t;
    vtac_vta_list_table(e->list, 0, CONSTANTS_BUFFER, p->at.table);
    vtac_vta_list_table(e->list, 1, CONSTANTS_BUFFER, p->at.table + TABLE_BYTES);
    vtac_vta_list_load(e->list, &(vta_load2d){.memory = VTA_MEM_ACC,
                                              .sram = 0,
                                              .buffer = {CONSTANTS_BUFFER},
                                              .offset = p->at.params,
                                              .y_size = 1,
                                              .x_size = t->wide,
                                              .x_stride = t->wide});
    begin_states(e);
    if (e->c->reset_after) {
        take_biases(e);
    }
}

vta_status vtac_vta_recurrent_emit(const plan *p, step_list *list, vta_diag *diag)
{
    const recurrent_tiling *t = &p->recurrent;
    const int64_t row = vta_max(t->terms[0], t->terms[1]);
    recurrent_emitter e = {.p = p, .c = p->layer->cell, .t = t, .list = list};
    vtac_vta_slots_init(&e.wgt[0], (t->slots - input_slots(t)) * t->slot, t->slot, input_slots(t));
    vtac_vta_slots_init(&e.wgt[1], 0, t->slot, state_slots(t));
    e.uops = calloc((size_t)row, sizeof *e.uops);
    if (e.uops != NULL) {
        prepare(&e);
        if (inputs_stream(t)) {
            emit_chunks(&e);
        } else {
            emit_ring(&e);
        }
        if (p->layer->second != 0) {
            give_wide(&e);
        }
        vtac_vta_list_flush(list);
    }
    const bool good = e.uops != NULL && !list->failed;
    free(e.uops);
    return good ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to schedule layer '%s'", p->layer->name);
}
