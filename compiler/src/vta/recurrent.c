/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent cells: vtac_recurrent_step for all steps of a sequence, in one list of calls.
 *
 * Steps are taken in chunks. First the array sums over the inputs of all steps of a chunk; then, step by
 * step, over the state, which the ALU requantizes into INP. Nothing of the state goes through memory: C or H
 * stay in ACC, in 32 bits. Weights lie in slots of WGT, each with some rows, and stay there while no others
 * need the slot: those of the state are loaded once where all fit, else once a chunk, at worst once a step.
 *
 * ACC, for all rows of the batch: the gates of a step side by side in `work`, each as the state is: by block,
 * by row of the batch, by entry of the tile. The sums of a chunk are by row of weights, by pixel.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "emit.h"
#include "vta/number.h"

enum { RECORD = 2 }; /* entries of a record */
/* Records that belong to no row: of C, of what is stored, of the state behind the reset gate. */
enum { MEMORY_RECORD, OUT_RECORD, RESET_RECORD, RECORDS };
enum { SIGMOID = 1, TANH = 2 }; /* tables, as REQUANT counts them */
enum { HALF = 128, PLACES = 8, FINE = 5, MAX_STRIDE = UINT16_MAX };

/* The gates, by their place in `work`; S: a GRU's sums over the state that the reset gate multiplies. */
enum { LSTM_I, LSTM_O, LSTM_LOST, LSTM_G };
enum { GRU_LOST, GRU_RESET, GRU_NEW, GRU_STATE };

static const vtac_vta_tensor *tensor_in(const plan *p)
{
    return &p->region->tensors[p->layer->inputs[0]];
}

static const vtac_vta_tensor *tensor_out(const plan *p)
{
    return &p->region->tensors[p->layer->output];
}

static int64_t pixels_of(const vtac_vta_tensor *t)
{
    return t->h * t->w;
}

uint64_t vtac_vta_recurrent_macs(const vtac_vta_layer *layer, int64_t batch)
{
    const vtac_recurrent *c = layer->cell;
    return (uint64_t)(layer->steps * batch * c->gates * c->hidden) * (uint64_t)(c->inputs + c->hidden);
}

/* Entries of a state, and of each gate. */
static int64_t state_entries(const recurrent_tiling *t)
{
    return t->state_rows * t->batch;
}

/* Gates in `work`, with the sums over the state that a GRU keeps apart. */
static int64_t groups_of(const vtac_recurrent *c)
{
    return c->gates + (c->reset_after ? 1 : 0);
}

/* ---- planning */

vta_status vtac_vta_rule_recurrent(const machine *m, const vtac_vta_region *region, uint32_t number,
                                   vta_diag *diag)
{
    const vtac_vta_layer *layer = &region->layers[number];
    const vtac_vta_tensor *to = &region->tensors[layer->output];
    if (m->batch > 1 || m->block_out > m->block_in || m->config->table == 0 || m->config->loop_back == 0) {
        return vta_fail(
            diag, VTA_UNSUPPORTED,
            "its state goes through tables and back to the array, which configuration '%s' cannot "
            "do; use one with LOG_BATCH 0, TABLE 1, LOOP_BACK 1 and LOG_BLOCK_OUT at most "
            "LOG_BLOCK_IN",
            m->config->name);
    }
    if (pixels_of(to) * m->ro > MAX_STRIDE || to->n > 1) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "its sequences have %" PRId64
                        " steps with all rows of the batch, and a transfer reaches over %d; make it shorter",
                        pixels_of(to), MAX_STRIDE);
    }
    return VTA_OK;
}

static void place_parts(const vtac_recurrent *c, recurrent_tiling *t)
{
    const int64_t state = state_entries(t);
    t->fixed = RECORD * t->rows;
    t->biases = t->fixed + RECORD * RECORDS;
    t->wide = t->biases + (c->reset_after ? t->state_rows : 0);
    t->out = t->wide + state;
    t->work = t->out + state;
    t->sums = t->work + groups_of(c) * state;
    t->reset = t->terms[1] * t->batch;
    t->input = t->reset + (c->kind == VTAC_RECURRENT_GRU && !c->reset_after ? t->reset : 0);
}

/* Slots of WGT: few enough to be found, each with as many rows. */
static void choose_slots(const machine *m, recurrent_tiling *t)
{
    const int64_t row = vta_max(t->terms[0], t->terms[1]);
    t->slot_rows = vta_max(1, vta_ceil_div(m->wgt, row * MAX_SLOTS));
    t->slots = vta_min(MAX_SLOTS, m->wgt / (row * t->slot_rows));
}

static vta_status choose_tiling(plan *p, vta_diag *diag)
{
    const machine *m = p->machine;
    const vtac_recurrent *c = p->layer->cell;
    recurrent_tiling *t = &p->recurrent;
    t->batch = pixels_of(tensor_out(p)) / p->layer->steps;
    t->terms[0] = vta_ceil_div(c->inputs, m->block_in);
    t->terms[1] = vta_ceil_div(c->hidden, m->block);
    t->state_rows = t->terms[1] * m->ro;
    t->rows = c->gates * t->state_rows;
    place_parts(c, t);
    choose_slots(m, t);
    const int64_t of_acc = (m->acc - t->sums) / (t->rows * t->batch);
    const int64_t of_inp = (m->inp - t->input) / (t->terms[0] * t->batch);
    t->chunk = vta_min(p->layer->steps, vta_min(of_acc, of_inp));
    if (t->chunk < 1 || t->slots < 1 || vta_max(t->terms[0], t->terms[1]) > m->uop) {
        return vta_fail(diag, VTA_RANGE,
                        "the sums of a step need %" PRId64 " accumulators of %" PRId64
                        ", its input and states %" PRId64 " entries of %" PRId64
                        "; larger buffers (LOG_ACC_BUFF_SIZE, LOG_INP_BUFF_SIZE) would help",
                        t->sums + t->rows * t->batch, m->acc, t->input + t->terms[0] * t->batch, m->inp);
    }
    t->chunk = vta_ceil_div(p->layer->steps, vta_ceil_div(p->layer->steps, t->chunk));
    return VTA_OK;
}

/* The number of times that all weights of a kind are loaded: once, or each time that they are gone through.
 */
static int64_t loads_of(const recurrent_tiling *t, int64_t times)
{
    return 2 * vta_ceil_div(t->rows, t->slot_rows) <= t->slots ? 1 : times;
}

vta_status vtac_vta_recurrent_plan(const machine *m, const vtac_vta_region *region, uint32_t number,
                                   plan *out, vta_diag *diag)
{
    enum { STATE_STEPS = 20 }; /* of the ALU, for an entry of the state */
    vtac_vta_plan_init(m, region, number, out);
    VTA_TRY(choose_tiling(out, diag));
    const recurrent_tiling *t = &out->recurrent;
    const int64_t steps = out->layer->steps, chunks = vta_ceil_div(steps, t->chunk);
    const int64_t streams = vta_ceil_div(t->rows, t->slot_rows) <= t->slots ? chunks : steps;
    const int64_t tiles = t->rows * (t->terms[0] * loads_of(t, chunks) + t->terms[1] * loads_of(t, streams));
    const uint64_t read = (uint64_t)(tiles * m->config->elem_bytes[VTA_MEM_WGT] +
                                     steps * t->batch * t->terms[0] * m->config->elem_bytes[VTA_MEM_INP]);
    const uint64_t written = (uint64_t)(steps * state_entries(t) * m->config->elem_bytes[VTA_MEM_OUT]);
    out->units =
        (load_of_units){.array = (uint64_t)(steps * t->batch * t->rows * (t->terms[0] + t->terms[1])),
                        .alu = (uint64_t)(steps * (STATE_STEPS * state_entries(t) + 2 * t->rows * t->batch)),
                        .load = read / (uint64_t)m->beat,
                        .store = written / (uint64_t)m->beat,
                        .bytes_read = read,
                        .bytes_written = written};
    /* array and ALU wait for each other in every step */
    const load_of_units together = {.array = out->units.array + out->units.alu, .load = out->units.load};
    out->cycles = vtac_vta_units_cycles(&together);
    return VTA_OK;
}

/* ---- constants */

static void pack_tables(const vtac_recurrent *c, uint8_t *to)
{
    for (int i = 0; i < 2 * TABLE_BYTES; i++) {
        to[i] = (uint8_t)c->tables[i / TABLE_BYTES][(i + HALF) % TABLE_BYTES];
    }
}

/* Row `row` of the machine's weights: output `o` of it as a row of the cell's; -1: padding. */
static int64_t cell_row(const plan *p, int64_t row, int64_t o)
{
    const recurrent_tiling *t = &p->recurrent;
    const int64_t unit = row % t->state_rows * p->machine->block_out + o;
    const int64_t hidden = p->layer->cell->hidden;
    return unit < hidden ? row / t->state_rows * hidden + unit : -1;
}

/* Weights of all rows over `count` numbers. */
static void pack_weights(const plan *p, const int8_t *from, int64_t count, int64_t terms, int8_t *to)
{
    const machine *m = p->machine;
    for (int64_t row = 0; row < p->recurrent.rows; row++) {
        for (int64_t k = 0; k < terms; k++) {
            for (int64_t i = 0; i < m->block_out * m->block_in; i++, to++) {
                const int64_t cell = cell_row(p, row, i / m->block_in);
                const int64_t at = k * m->block_in + i % m->block_in;
                *to = cell >= 0 && at < count ? from[cell * count + at] : 0;
            }
        }
    }
}

static void pack_records(const plan *p, int32_t *numbers)
{
    const vtac_recurrent *c = p->layer->cell;
    const recurrent_tiling *t = &p->recurrent;
    const int64_t lanes = p->machine->block_out;
    const vtac_fixed one = {1, 0};
    const vtac_fixed fixed[RECORDS] = {c->memory, c->kind == VTAC_RECURRENT_RNN ? one : c->out, c->reset};
    for (int64_t i = 0; i < t->rows * lanes; i++) {
        const int64_t cell = cell_row(p, i / lanes, i % lanes);
        int32_t *lane = numbers + i / lanes * RECORD * lanes + i % lanes;
        vtac_vta_record_fill(lane, lanes, false, cell >= 0 ? c->bias[cell] : 0,
                             cell >= 0 ? c->scales[cell] : one);
    }
    for (int64_t i = 0; i < RECORDS * lanes; i++) {
        int32_t *lane = numbers + t->fixed * lanes + i / lanes * RECORD * lanes + i % lanes;
        vtac_vta_record_fill(lane, lanes, false, 0, fixed[i / lanes]);
    }
    for (int64_t i = 0; c->reset_after && i < c->hidden; i++) {
        numbers[t->biases * lanes + i] = c->state_bias[i];
    }
}

vta_status vtac_vta_recurrent_pack(plan *p, blob *to, vta_diag *diag)
{
    const vta_config *config = p->machine->config;
    const vtac_recurrent *c = p->layer->cell;
    const recurrent_tiling *t = &p->recurrent;
    const uint64_t wgt = config->elem_bytes[VTA_MEM_WGT], acc = config->elem_bytes[VTA_MEM_ACC];
    const uint64_t of_input = (uint64_t)(t->rows * t->terms[0]) * wgt;
    const uint64_t of_state = (uint64_t)(t->rows * t->terms[1]) * wgt;
    uint64_t tables, weights, records;
    const size_t before = to->size;
    uint8_t *bytes = vtac_vta_blob_add(to, 2 * TABLE_BYTES, TABLE_BYTES, &tables);
    bytes = bytes == NULL ? NULL : vtac_vta_blob_add(to, of_input + of_state, wgt, &weights);
    bytes = bytes == NULL ? NULL : vtac_vta_blob_add(to, (uint64_t)t->wide * acc, acc, &records);
    if (bytes == NULL) {
        to->size = before;
        return vta_fail(diag, VTA_NOMEM, "no memory for the weights of layer '%s'", p->layer->name);
    }
    if (!to->places_only) {
        pack_tables(c, to->bytes + tables);
        pack_weights(p, c->w, c->inputs, t->terms[0], (int8_t *)to->bytes + weights);
        pack_weights(p, c->r, c->hidden, t->terms[1], (int8_t *)to->bytes + weights + of_input);
        pack_records(p, (int32_t *)(void *)(to->bytes + records));
    }
    p->at = (constants){
        .weights = (int64_t)(weights / wgt), .params = (int64_t)(records / acc), .table = (int64_t)tables};
    return VTA_OK;
}

/* ---- calls */

typedef struct recurrent_emitter {
    const plan *p;
    const vtac_recurrent *c;
    const recurrent_tiling *t;
    step_list *list;
    vta_uop *uops; /* room for a kernel, owned */
    slots wgt;
    int64_t first, count; /* the chunk's first pixel, and its pixels */
} recurrent_emitter;

/* The first entry of a gate in `work`. */
static int64_t gate_at(const recurrent_emitter *e, int64_t gate)
{
    return e->t->work + gate * state_entries(e->t);
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
    const int64_t first = group * t->slot_rows, count = vta_min(t->slot_rows, t->rows - first);
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
    const int64_t group = row / t->slot_rows;
    bool present;
    const int64_t sram = vtac_vta_slots_take(&e->wgt, 2 * group + kind, &present);
    if (!present) {
        load_weights(e, kind, group, sram);
    }
    return sram + row % t->slot_rows * t->terms[kind];
}

/* Sums of a row over numbers in INP: `count` pixels, of which the blocks are `count` entries apart. */
typedef struct row_sums {
    int64_t kind, row, from, count, to, step; /* step: entries from pixel to pixel in ACC */
    bool init;
} row_sums;

static void sum_row(recurrent_emitter *e, const row_sums *s)
{
    const int64_t weights = weights_of(e, s->kind, s->row), terms = e->t->terms[s->kind];
    for (int64_t k = 0; k < terms; k++) {
        e->uops[k] = (vta_uop){.dst = (uint32_t)s->to,
                               .src = (uint32_t)(s->from + k * s->count),
                               .aux = (uint32_t)(weights + k)};
    }
    vtac_vta_list_gemm(e->list,
                       &(vta_gemm){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, (uint32_t)terms),
                                   .init = s->init,
                                   .iter_out = 1,
                                   .iter_in = s->count,
                                   .dst_in = s->count > 1 ? s->step : 0,
                                   .src_in = s->count > 1},
                       (list_range){s->to, (s->count - 1) * s->step + 1});
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
}

static void apply_number(recurrent_emitter *e, vta_alu_op op, int64_t dst, int64_t src, int64_t number,
                         int64_t count)
{
    const vta_uop uop = {.dst = (uint32_t)dst, .src = (uint32_t)src};
    vtac_vta_list_alu(e->list,
                      &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, &uop, 1),
                                 .op = op,
                                 .use_imm = true,
                                 .imm = number,
                                 .iter_out = 1,
                                 .iter_in = count,
                                 .dst_in = count > 1,
                                 .src_in = count > 1},
                      (list_range){dst, count}, (list_range){src, count});
}

/* v / 256, halves up. */
static void shift_back(recurrent_emitter *e, int64_t at, int64_t count)
{
    apply_number(e, VTA_ALU_ADD, at, at, HALF, count);
    apply_number(e, VTA_ALU_SHR, at, at, PLACES, count);
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
    }
}

/* Looks up the gate of a row's sums. */
static void look_up(recurrent_emitter *e, int64_t row)
{
    const recurrent_tiling *t = e->t;
    const int64_t gate = row / t->state_rows, ro = e->p->machine->ro;
    const int64_t at = gate_at(e, gate) + entry_of(e, row % t->state_rows);
    const list_range range = {at, (t->batch - 1) * ro + 1};
    vtac_vta_list_requant(e->list,
                          &(vta_requant){.dst = at,
                                         .src = at,
                                         .params = row,
                                         .iter_out = 1,
                                         .iter_in = t->batch,
                                         .dst_in = t->batch > 1 ? ro : 0,
                                         .src_in = t->batch > 1 ? ro : 0,
                                         .low = INT8_MIN,
                                         .high = INT8_MAX,
                                         .table = gate == e->c->gates - 1 ? TANH : SIGMOID},
                          range, range);
}

/* ---- the cells */

static void update_lstm(recurrent_emitter *e)
{
    const int64_t count = state_entries(e->t), wide = e->t->wide;
    const int64_t in = gate_at(e, LSTM_I), out = gate_at(e, LSTM_O), lost = gate_at(e, LSTM_LOST);
    apply_number(e, VTA_ALU_ADD, in, in, HALF, LSTM_G * count);
    apply(e, VTA_ALU_MUL, lost, wide, count);
    apply_number(e, VTA_ALU_MUL, lost, lost, -1, count);
    apply(e, VTA_ALU_MUL, in, gate_at(e, LSTM_G), count);
    apply_number(e, VTA_ALU_SHR, in, in, -FINE, count);
    apply(e, VTA_ALU_ADD, in, lost, count);
    shift_back(e, in, count);
    apply(e, VTA_ALU_ADD, wide, in, count);
    requantize(e, in, wide, MEMORY_RECORD, count, &(vta_requant){.table = TANH});
    apply(e, VTA_ALU_MUL, out, in, count);
}

static void update_gru(recurrent_emitter *e)
{
    const int64_t count = state_entries(e->t), wide = e->t->wide;
    const int64_t spare = gate_at(e, GRU_RESET), new = gate_at(e, GRU_NEW);
    apply_number(e, VTA_ALU_SHR, new, new, -PLACES, count);
    apply_number(e, VTA_ALU_MUL, spare, wide, -1, count);
    apply(e, VTA_ALU_ADD, new, spare, count);
    apply(e, VTA_ALU_MUL, new, gate_at(e, GRU_LOST), count);
    shift_back(e, new, count);
    apply(e, VTA_ALU_ADD, wide, new, count);
}

/* Copies the sums over the inputs of a step, pixel `pixel` of the chunk and those behind it, to `work`. */
static void take_sums(recurrent_emitter *e, int64_t pixel)
{
    const recurrent_tiling *t = e->t;
    const int64_t ro = e->p->machine->ro, blocks = t->rows / ro;
    for (int64_t r = 0; r < ro; r++) {
        const vta_uop uop = {.dst = (uint32_t)(t->work + r),
                             .src = (uint32_t)(t->sums + r * e->count + pixel)};
        vtac_vta_list_alu(e->list,
                          &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, &uop, 1),
                                     .op = VTA_ALU_MOV,
                                     .iter_out = blocks,
                                     .iter_in = t->batch,
                                     .dst_out = blocks > 1 ? t->batch * ro : 0,
                                     .dst_in = t->batch > 1 ? ro : 0,
                                     .src_out = blocks > 1 ? ro * e->count : 0,
                                     .src_in = t->batch > 1},
                          (list_range){t->work, t->rows * t->batch},
                          (list_range){t->sums, t->rows * e->count});
    }
}

/* The biases of a GRU's sums over the state. */
static void take_biases(recurrent_emitter *e)
{
    const recurrent_tiling *t = e->t;
    const int64_t ro = e->p->machine->ro, to = gate_at(e, GRU_STATE);
    const vta_uop uop = {.dst = (uint32_t)to, .src = (uint32_t)t->biases};
    for (int64_t b = 0; b < t->batch; b++) {
        const vta_uop own = {.dst = (uint32_t)(uop.dst + b * ro), .src = uop.src};
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
    }
}

/* Adds the sums of row `row` over a state in INP to what stands in gate `gate` of `work`. */
static void add_state(recurrent_emitter *e, int64_t row, int64_t gate, int64_t from)
{
    const recurrent_tiling *t = e->t;
    sum_row(e, &(row_sums){.kind = 1,
                           .row = row,
                           .from = from,
                           .count = t->batch,
                           .to = gate_at(e, gate) + entry_of(e, row % t->state_rows),
                           .step = e->p->machine->ro});
}

/* A GRU's last gate. */
static void reset_gru(recurrent_emitter *e)
{
    const recurrent_tiling *t = e->t;
    const int64_t count = state_entries(t), reset = gate_at(e, GRU_RESET), state = gate_at(e, GRU_STATE);
    apply_number(e, VTA_ALU_ADD, gate_at(e, GRU_LOST), gate_at(e, GRU_LOST), HALF, GRU_NEW * count);
    if (e->c->reset_after) {
        apply(e, VTA_ALU_MUL, state, reset, count);
        shift_back(e, state, count);
        apply(e, VTA_ALU_ADD, gate_at(e, GRU_NEW), state, count);
    } else {
        apply(e, VTA_ALU_MUL, reset, t->wide, count);
        requantize_into_inp(e, t->reset, reset, RESET_RECORD, e->c->zero);
        vtac_vta_list_flush(e->list);
    }
    for (int64_t row = GRU_NEW * t->state_rows; row < t->rows; row++) {
        if (!e->c->reset_after) {
            add_state(e, row, GRU_NEW, t->reset);
        }
        look_up(e, row);
    }
}

/* The gates whose sums over the state wait for nothing. */
static void sum_gates(recurrent_emitter *e)
{
    const recurrent_tiling *t = e->t;
    const bool gru = e->c->kind == VTAC_RECURRENT_GRU;
    const int64_t plain = gru ? GRU_NEW * t->state_rows : t->rows;
    vtac_vta_list_flush(e->list); /* the state is in INP */
    for (int64_t row = plain; e->c->reset_after && row < t->rows; row++) {
        add_state(e, row, GRU_STATE, 0);
    }
    for (int64_t row = 0; row < plain; row++) {
        add_state(e, row, row / t->state_rows, 0);
        look_up(e, row);
    }
}

/* Stores the state of a step, whose pixels begin with `pixel` of the image. */
static void store_state(recurrent_emitter *e, int64_t pixel)
{
    const recurrent_tiling *t = e->t;
    const int64_t ro = e->p->machine->ro;
    vtac_vta_list_store(e->list, &(vta_store2d){.sram = t->out,
                                                .buffer = {WORK_BUFFER},
                                                .offset = (int64_t)tensor_out(e->p)->offset /
                                                              e->p->machine->config->elem_bytes[VTA_MEM_OUT] +
                                                          pixel * ro,
                                                .y_size = t->terms[1],
                                                .x_size = t->batch * ro,
                                                .x_stride = pixels_of(tensor_out(e->p)) * ro});
}

static void emit_step(recurrent_emitter *e, int64_t pixel)
{
    const recurrent_tiling *t = e->t;
    const vtac_recurrent *c = e->c;
    const int64_t count = state_entries(t);
    take_sums(e, pixel - e->first);
    if (c->reset_after) {
        take_biases(e);
    }
    sum_gates(e);
    if (c->kind == VTAC_RECURRENT_LSTM) {
        update_lstm(e);
    } else if (c->kind == VTAC_RECURRENT_GRU) {
        reset_gru(e);
        update_gru(e);
    }
    const int64_t from = c->kind == VTAC_RECURRENT_LSTM  ? gate_at(e, LSTM_O)
                         : c->kind == VTAC_RECURRENT_GRU ? t->wide
                                                         : gate_at(e, 0);
    const int64_t zero = c->kind == VTAC_RECURRENT_RNN ? 0 : c->zero;
    requantize_into_inp(e, 0, from, OUT_RECORD, zero);
    requantize(e, t->out, from, OUT_RECORD, count, &(vta_requant){.zero_point = zero});
    store_state(e, pixel);
}

/* The sums over the inputs of a chunk. */
static void sum_inputs(recurrent_emitter *e)
{
    const plan *p = e->p;
    const recurrent_tiling *t = e->t;
    const int64_t pixels = pixels_of(tensor_in(p));
    vtac_vta_list_load(e->list, &(vta_load2d){.memory = VTA_MEM_INP,
                                              .sram = t->input,
                                              .buffer = {WORK_BUFFER},
                                              .offset = (int64_t)tensor_in(p)->offset /
                                                            p->machine->config->elem_bytes[VTA_MEM_INP] +
                                                        e->first,
                                              .y_size = t->terms[0],
                                              .x_size = e->count,
                                              .x_stride = t->terms[0] > 1 ? pixels : e->count});
    for (int64_t row = 0; row < t->rows; row++) {
        sum_row(e, &(row_sums){.row = row,
                               .from = t->input,
                               .count = e->count,
                               .to = t->sums + row * e->count,
                               .step = 1,
                               .init = true});
    }
}

static void emit_chunks(recurrent_emitter *e)
{
    const recurrent_tiling *t = e->t;
    const int64_t steps = e->p->layer->steps;
    const bool reverse = e->p->layer->reverse;
    for (int64_t begin = 0; begin < steps; begin += t->chunk) {
        const int64_t count = vta_min(t->chunk, steps - begin);
        e->first = (reverse ? steps - begin - count : begin) * t->batch;
        e->count = count * t->batch;
        sum_inputs(e);
        for (int64_t i = 0; i < count; i++) {
            emit_step(e, e->first + (reverse ? count - 1 - i : i) * t->batch);
        }
    }
}

/* Records, tables and the states at the beginning. */
static void prepare(recurrent_emitter *e)
{
    const plan *p = e->p;
    const recurrent_tiling *t = e->t;
    const int64_t count = t->terms[1] * t->batch;
    vtac_vta_list_table(e->list, 0, CONSTANTS_BUFFER, p->at.table);
    vtac_vta_list_table(e->list, 1, CONSTANTS_BUFFER, p->at.table + TABLE_BYTES);
    vtac_vta_list_load(e->list, &(vta_load2d){.memory = VTA_MEM_ACC,
                                              .sram = 0,
                                              .buffer = {CONSTANTS_BUFFER},
                                              .offset = p->at.params,
                                              .y_size = 1,
                                              .x_size = t->wide,
                                              .x_stride = t->wide});
    vtac_vta_list_load_padded(e->list, &(vta_load2d){.memory = VTA_MEM_INP,
                                                     .sram = 0,
                                                     .buffer = {WORK_BUFFER},
                                                     .x_size = count,
                                                     .x_stride = count,
                                                     .y_pad_0 = 1,
                                                     .pad_value = e->c->zero});
    apply_number(e, VTA_ALU_MOV, t->wide, t->wide, 0, state_entries(t));
}

vta_status vtac_vta_recurrent_emit(const plan *p, step_list *list, vta_diag *diag)
{
    const recurrent_tiling *t = &p->recurrent;
    const int64_t room = vta_max(t->terms[0], t->terms[1]);
    recurrent_emitter e = {.p = p, .c = p->layer->cell, .t = t, .list = list};
    vtac_vta_slots_init(&e.wgt, 0, t->slot_rows * room, t->slots);
    e.uops = calloc((size_t)room, sizeof *e.uops);
    if (e.uops != NULL) {
        prepare(&e);
        emit_chunks(&e);
        vtac_vta_list_flush(list);
    }
    const bool good = e.uops != NULL && !list->failed;
    free(e.uops);
    return good ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to schedule layer '%s'", p->layer->name);
}
