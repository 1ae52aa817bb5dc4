/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent cells: vtac_recurrent_step for all steps of a sequence, in one list of calls.
 *
 * Steps are taken in chunks. First the array sums over the inputs of all steps of a chunk; then, step by
 * step, over the state, which the ALU requantizes into INP. Nothing of the state goes through memory: C or H
 * stay in ACC, in 32 bits. Weights lie in slots of WGT, each with some rows. Those of the state stay there,
 * but for a few slots that the weights over the input take for each chunk where both do not fit; where those
 * of the state alone do not, they come anew in each step.
 *
 * ACC, for all rows of the batch: the gates of a step at both ends, in one of two parts of `work`, each as
 * the state is: by block, by row of the batch, by entry of the tile. The sums of a chunk are by row of
 * weights, by pixel. While the array sums for one gate, the ALU works on the gate before, and takes the sums
 * over the inputs of the next step; the gate that the cell needs last is summed last.
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

enum { FRONT, BACK }; /* ends of ACC */
enum { PARTS = 2 };   /* of `work`: of this step and of the next */

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

/* Gates, with the sums over the state that a GRU keeps apart. */
static int64_t groups_of(const vtac_recurrent *c)
{
    return c->gates + (c->reset_after ? 1 : 0);
}

/* The end of ACC where a gate lies: what the ALU takes together comes from both ends, which are in different
 * banks. C or H lie at the front. */
static int64_t end_of(const vtac_recurrent *c, int64_t gate)
{
    static const int64_t ends[][4] = {[VTAC_RECURRENT_LSTM] = {BACK, BACK, BACK, FRONT},
                                      [VTAC_RECURRENT_GRU] = {FRONT, FRONT, BACK, BACK},
                                      [VTAC_RECURRENT_RNN] = {FRONT}};
    return ends[c->kind][gate];
}

/* The number of gates at an end, up to gate `before`. */
static int64_t gates_before(const vtac_recurrent *c, int64_t end, int64_t before)
{
    int64_t count = 0;
    for (int64_t gate = 0; gate < before; gate++) {
        count += end_of(c, gate) == end;
    }
    return count;
}

static int64_t groups_at(const vtac_recurrent *c, int64_t end)
{
    return gates_before(c, end, groups_of(c));
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
    t->work[FRONT] = t->out + state;
    t->sums = t->work[FRONT] + PARTS * groups_at(c, FRONT) * state;
    t->reset = t->terms[1] * t->batch;
    t->input = t->reset + (c->kind == VTAC_RECURRENT_GRU && !c->reset_after ? t->reset : 0);
}

/* Slots of WGT: few enough to be found, each with as many rows. */
static void choose_slots(const machine *m, recurrent_tiling *t)
{
    const int64_t row = vta_max(t->terms[0], t->terms[1]);
    t->slot = row * vta_max(1, vta_ceil_div(m->wgt, row * MAX_SLOTS));
    t->slots = vta_min(MAX_SLOTS, m->wgt / t->slot);
}

/* Rows of weights over the input (kind 0) or the state in a slot; slots that all rows need. */
static int64_t rows_of_slot(const recurrent_tiling *t, int64_t kind)
{
    return t->slot / t->terms[kind];
}

static int64_t slots_of(const recurrent_tiling *t, int64_t kind)
{
    return vta_ceil_div(t->rows, rows_of_slot(t, kind));
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
    t->work[BACK] = m->acc - PARTS * groups_at(c, BACK) * state_entries(t);
    const int64_t of_acc = (t->work[BACK] - t->sums) / (t->rows * t->batch);
    const int64_t of_inp = (m->inp - t->input) / (t->terms[0] * t->batch);
    t->chunk = vta_min(p->layer->steps, vta_min(of_acc, of_inp));
    if (t->chunk < 1 || t->slots < 1 || vta_max(t->terms[0], t->terms[1]) > m->uop) {
        return vta_fail(diag, VTA_RANGE,
                        "the sums of a step need %" PRId64 " accumulators of %" PRId64
                        ", its input and states %" PRId64 " entries of %" PRId64
                        "; larger buffers (LOG_ACC_BUFF_SIZE, LOG_INP_BUFF_SIZE) would help",
                        t->sums + t->rows * t->batch + m->acc - t->work[BACK], m->acc,
                        t->input + t->terms[0] * t->batch, m->inp);
    }
    t->chunk = vta_ceil_div(p->layer->steps, vta_ceil_div(p->layer->steps, t->chunk));
    return VTA_OK;
}

/* Slots of WGT for the weights over the input, which are at its end, and for those over the state, at its
 * front. Where both do not fit, those over the input come anew for each chunk, in a few slots that may be the
 * state's. */
static int64_t state_slots(const recurrent_tiling *t)
{
    return vta_min(t->slots, slots_of(t, 1));
}

static int64_t input_slots(const recurrent_tiling *t)
{
    enum { SHARED = 4 };
    return vta_min(vta_min(slots_of(t, 0), t->slots), vta_max(t->slots - state_slots(t), SHARED));
}

static bool slots_overlap(const recurrent_tiling *t)
{
    return state_slots(t) + input_slots(t) > t->slots;
}

vta_status vtac_vta_recurrent_plan(const machine *m, const vtac_vta_region *region, uint32_t number,
                                   plan *out, vta_diag *diag)
{
    enum { STATE_STEPS = 20 }; /* of the ALU, for an entry of the state */
    vtac_vta_plan_init(m, region, number, out);
    VTA_TRY(choose_tiling(out, diag));
    const recurrent_tiling *t = &out->recurrent;
    const int64_t steps = out->layer->steps, chunks = vta_ceil_div(steps, t->chunk);
    const bool stay = slots_of(t, 1) <= t->slots;
    const int64_t of_input = input_slots(t) < slots_of(t, 0) || slots_overlap(t) ? chunks : 1;
    const int64_t again = slots_overlap(t) ? (chunks - 1) * input_slots(t) * t->slot : 0;
    const int64_t tiles = t->rows * (t->terms[0] * of_input + t->terms[1] * (stay ? 1 : steps)) + again;
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
                *to = 0;
                if (cell >= 0 && at < count) {
                    *to = from[cell * count + at];
                }
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
    vta_uop *uops;        /* room for a kernel, owned */
    slots wgt[2];         /* for the weights over the input, and over the state */
    int64_t part;         /* of `work`, where the gates of the step at hand are */
    int64_t first, count; /* the chunk's first pixel, and its pixels */
} recurrent_emitter;

/* The first entry of a gate of this step (ahead 0) or of the next one. */
static int64_t gate_in(const recurrent_emitter *e, int64_t gate, int64_t ahead)
{
    const int64_t end = end_of(e->c, gate), own = (e->part + ahead) % PARTS;
    return e->t->work[end] +
           (own * groups_at(e->c, end) + gates_before(e->c, end, gate)) * state_entries(e->t);
}

static int64_t gate_at(const recurrent_emitter *e, int64_t gate)
{
    return gate_in(e, gate, 0);
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

/* Sums of some rows, whose weights follow each other, over numbers in INP: `count` pixels, of which the
 * blocks are `count` entries apart. In ACC they begin at `to`; `apart` from row to row, `step` from pixel to
 * pixel. The rows are a loop, not micro-ops, so that the ALU knows at once which entries the array will
 * write. */
typedef struct row_sums {
    int64_t kind, weights, rows, from, count, to, apart, step;
    bool init;
} row_sums;

static void sum_rows(recurrent_emitter *e, const row_sums *s)
{
    const int64_t terms = e->t->terms[s->kind];
    for (int64_t k = 0; k < terms; k++) {
        e->uops[k] = (vta_uop){.dst = (uint32_t)s->to,
                               .src = (uint32_t)(s->from + k * s->count),
                               .aux = (uint32_t)(s->weights + k)};
    }
    vtac_vta_list_gemm(e->list,
                       &(vta_gemm){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, (uint32_t)terms),
                                   .init = s->init,
                                   .iter_out = s->rows,
                                   .iter_in = s->count,
                                   .dst_out = s->rows > 1 ? s->apart : 0,
                                   .dst_in = s->count > 1 ? s->step : 0,
                                   .src_in = s->count > 1,
                                   .wgt_out = s->rows > 1 ? terms : 0},
                       (list_range){s->to, (s->rows - 1) * s->apart + (s->count - 1) * s->step + 1});
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
    vtac_vta_list_alu_number(e->list, op, dst, src, number, count);
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

/* ---- sums of gates */

/* Copies the sums over the inputs of a step, pixel `pixel` of the chunk and those behind it, to the gates of
 * this step (ahead 0) or of the next one. */
static void take_sums(recurrent_emitter *e, int64_t pixel, int64_t ahead)
{
    const recurrent_tiling *t = e->t;
    const int64_t ro = e->p->machine->ro, blocks = t->terms[1];
    for (int64_t i = 0; i < e->c->gates * ro; i++) {
        const int64_t to = gate_in(e, i / ro, ahead), first = i / ro * t->state_rows + i % ro;
        const vta_uop uop = {.dst = (uint32_t)(to + i % ro),
                             .src = (uint32_t)(t->sums + first * e->count + pixel)};
        vtac_vta_list_alu(e->list,
                          &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, &uop, 1),
                                     .op = VTA_ALU_MOV,
                                     .iter_out = blocks,
                                     .iter_in = t->batch,
                                     .dst_out = blocks > 1 ? t->batch * ro : 0,
                                     .dst_in = t->batch > 1 ? ro : 0,
                                     .src_out = blocks > 1 ? ro * e->count : 0,
                                     .src_in = t->batch > 1},
                          (list_range){to, state_entries(t)}, (list_range){t->sums, t->rows * e->count});
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

/* Rows whose weights one kernel may name: all of them are in WGT at that time. Where weights come and go,
 * those of other rows are loaded meanwhile. */
static int64_t rows_together(const recurrent_tiling *t)
{
    enum { SHARE = 4 };
    const int64_t together = slots_of(t, 1) <= t->slots ? t->slots - 1 : t->slots / SHARE;
    return vta_max(1, together * rows_of_slot(t, 1));
}

/* Adds the sums of gate `gate` over a state in INP to what stands in gate `to` of `work`. */
static void add_state(recurrent_emitter *e, int64_t gate, int64_t to, int64_t from)
{
    const recurrent_tiling *t = e->t;
    const int64_t together = rows_together(t), first = gate * t->state_rows;
    row_sums sums = {.kind = 1, .from = from, .count = t->batch, .step = e->p->machine->ro};
    vtac_vta_list_flush(e->list); /* the order of the calls is that in which they are made */
    for (int64_t row = 0; row < t->state_rows; row++) {
        const int64_t at = gate_at(e, to) + entry_of(e, row), weights = weights_of(e, 1, first + row);
        const bool follows = sums.rows > 0 && sums.rows < together &&
                             weights == sums.weights + sums.rows * t->terms[1] &&
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

static void look_up_gate(recurrent_emitter *e, int64_t gate)
{
    for (int64_t row = 0; row < e->t->state_rows; row++) {
        look_up(e, gate * e->t->state_rows + row);
    }
}

/* ---- the cells: `next` is the pixel of the chunk with which the next step begins, or -1 */

/* Takes the sums over the inputs of the next step, beside the array's work for this one. */
static void prepare_next(recurrent_emitter *e, int64_t next)
{
    if (next >= 0) {
        take_sums(e, next, 1);
    }
}

static void step_lstm(recurrent_emitter *e, int64_t next)
{
    const int64_t count = state_entries(e->t), wide = e->t->wide, new = gate_at(e, LSTM_G);
    const int64_t in = gate_at(e, LSTM_I), out = gate_at(e, LSTM_O), lost = gate_at(e, LSTM_LOST);
    add_state(e, LSTM_LOST, LSTM_LOST, 0);
    prepare_next(e, next);
    add_state(e, LSTM_I, LSTM_I, 0);
    look_up_gate(e, LSTM_LOST);
    apply_number(e, VTA_ALU_ADD, lost, lost, HALF, count);
    apply(e, VTA_ALU_MUL, lost, wide, count);
    apply_number(e, VTA_ALU_MUL, lost, lost, -1, count);
    add_state(e, LSTM_G, LSTM_G, 0);
    look_up_gate(e, LSTM_I);
    apply_number(e, VTA_ALU_ADD, in, in, HALF, count);
    apply_number(e, VTA_ALU_SHR, in, in, -FINE, count);
    add_state(e, LSTM_O, LSTM_O, 0);
    look_up_gate(e, LSTM_G);
    apply(e, VTA_ALU_MUL, new, in, count);
    apply(e, VTA_ALU_ADD, lost, new, count);
    shift_back(e, lost, count);
    apply(e, VTA_ALU_ADD, wide, lost, count);
    requantize(e, new, wide, MEMORY_RECORD, count, &(vta_requant){.table = TANH});
    look_up_gate(e, LSTM_O);
    apply_number(e, VTA_ALU_ADD, out, out, HALF, count);
    apply(e, VTA_ALU_MUL, out, new, count);
}

/* A GRU's n where the reset gate multiplies sums over the state. */
static void reset_sums(recurrent_emitter *e, int64_t next)
{
    const int64_t count = state_entries(e->t), state = gate_at(e, GRU_STATE), reset = gate_at(e, GRU_RESET);
    add_state(e, GRU_NEW, GRU_STATE, 0);
    prepare_next(e, next);
    look_up_gate(e, GRU_RESET);
    apply_number(e, VTA_ALU_ADD, reset, reset, HALF, count);
    add_state(e, GRU_LOST, GRU_LOST, 0);
    apply(e, VTA_ALU_MUL, state, reset, count);
    shift_back(e, state, count);
    apply(e, VTA_ALU_ADD, gate_at(e, GRU_NEW), state, count);
}

/* The same where it multiplies the state. */
static void reset_state(recurrent_emitter *e, int64_t next)
{
    const recurrent_tiling *t = e->t;
    const int64_t count = state_entries(t), reset = gate_at(e, GRU_RESET);
    add_state(e, GRU_LOST, GRU_LOST, 0);
    look_up_gate(e, GRU_RESET);
    apply_number(e, VTA_ALU_ADD, reset, reset, HALF, count);
    apply(e, VTA_ALU_MUL, reset, t->wide, count);
    requantize_into_inp(e, t->reset, reset, RESET_RECORD, e->c->zero);
    add_state(e, GRU_NEW, GRU_NEW, t->reset);
    prepare_next(e, next);
}

static void step_gru(recurrent_emitter *e, int64_t next)
{
    const int64_t count = state_entries(e->t), wide = e->t->wide;
    const int64_t lost = gate_at(e, GRU_LOST), spare = gate_at(e, GRU_RESET), new = gate_at(e, GRU_NEW);
    add_state(e, GRU_RESET, GRU_RESET, 0);
    if (e->c->reset_after) {
        reset_sums(e, next);
    } else {
        reset_state(e, next);
    }
    apply_number(e, VTA_ALU_MUL, spare, wide, -1, count);
    look_up_gate(e, GRU_LOST);
    apply_number(e, VTA_ALU_ADD, lost, lost, HALF, count);
    look_up_gate(e, GRU_NEW);
    apply_number(e, VTA_ALU_SHR, new, new, -PLACES, count);
    apply(e, VTA_ALU_ADD, new, spare, count);
    apply(e, VTA_ALU_MUL, new, lost, count);
    shift_back(e, new, count);
    apply(e, VTA_ALU_ADD, wide, new, count);
}

static void step_rnn(recurrent_emitter *e, int64_t next)
{
    add_state(e, 0, 0, 0);
    prepare_next(e, next);
    look_up_gate(e, 0);
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

/* The step whose pixels begin with `pixel` of the chunk. */
static void emit_step(recurrent_emitter *e, int64_t pixel, int64_t next)
{
    const recurrent_tiling *t = e->t;
    const vtac_recurrent *c = e->c;
    const int64_t count = state_entries(t);
    if (c->reset_after) {
        take_biases(e);
    }
    vtac_vta_list_flush(e->list); /* the state is in INP */
    if (c->kind == VTAC_RECURRENT_LSTM) {
        step_lstm(e, next);
    } else if (c->kind == VTAC_RECURRENT_GRU) {
        step_gru(e, next);
    } else {
        step_rnn(e, next);
    }
    const int64_t from = c->kind == VTAC_RECURRENT_LSTM  ? gate_at(e, LSTM_O)
                         : c->kind == VTAC_RECURRENT_GRU ? t->wide
                                                         : gate_at(e, 0);
    const int64_t zero = c->kind == VTAC_RECURRENT_RNN ? 0 : c->zero;
    requantize_into_inp(e, 0, from, OUT_RECORD, zero);
    requantize(e, t->out, from, OUT_RECORD, count, &(vta_requant){.zero_point = zero});
    store_state(e, e->first + pixel);
    e->part = 1 - e->part;
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
        sum_rows(e, &(row_sums){.weights = weights_of(e, 0, row),
                                .rows = 1,
                                .from = t->input,
                                .count = e->count,
                                .to = t->sums + row * e->count,
                                .step = 1,
                                .init = true});
    }
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

static void emit_chunks(recurrent_emitter *e)
{
    const recurrent_tiling *t = e->t;
    const int64_t steps = e->p->layer->steps;
    const bool reverse = e->p->layer->reverse;
    for (int64_t begin = 0; begin < steps; begin += t->chunk) {
        const int64_t count = vta_min(t->chunk, steps - begin);
        e->first = (reverse ? steps - begin - count : begin) * t->batch;
        e->count = count * t->batch;
        forget_slots(e, 0, 0);
        sum_inputs(e);
        forget_slots(e, 1, t->slots - input_slots(t));
        take_sums(e, reverse ? (count - 1) * t->batch : 0, 0);
        for (int64_t i = 0; i < count; i++) {
            const int64_t pixel = (reverse ? count - 1 - i : i) * t->batch;
            emit_step(e, pixel, i + 1 == count ? -1 : pixel + (reverse ? -t->batch : t->batch));
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
    const int64_t row = vta_max(t->terms[0], t->terms[1]);
    recurrent_emitter e = {.p = p, .c = p->layer->cell, .t = t, .list = list};
    vtac_vta_slots_init(&e.wgt[0], (t->slots - input_slots(t)) * t->slot, t->slot, input_slots(t));
    vtac_vta_slots_init(&e.wgt[1], 0, t->slot, state_slots(t));
    e.uops = calloc((size_t)row, sizeof *e.uops);
    if (e.uops != NULL) {
        prepare(&e);
        emit_chunks(&e);
        vtac_vta_list_flush(list);
    }
    const bool good = e.uops != NULL && !list->failed;
    free(e.uops);
    return good ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to schedule layer '%s'", p->layer->name);
}
