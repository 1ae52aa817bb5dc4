/* SPDX-License-Identifier: Apache-2.0
 *
 * See recurrent.h: what a recurrent cell takes, where its parts lie, and its constants.
 */
#include <inttypes.h>

#include "recurrent.h"

uint64_t vtac_vta_recurrent_macs(const vtac_vta_layer *layer, int64_t batch)
{
    const vtac_recurrent *c = layer->cell;
    return (uint64_t)(layer->steps * batch * c->gates * c->hidden) * (uint64_t)(c->inputs + c->hidden);
}

/* Gates, with what is kept beside them. */
static int64_t groups_of(const vtac_recurrent *c)
{
    return c->kind == VTAC_RECURRENT_RNN ? c->gates : MAX_GROUPS;
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
    t->sums = t->work[FRONT] + groups_at(c, FRONT) * state;
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

/* Steps whose inputs are in INP at a time: in one area, or in each of two that take turns. */
static void choose_pieces(const machine *m, int64_t steps, recurrent_tiling *t)
{
    const int64_t room = (m->inp - t->input) / (t->terms[0] * t->batch);
    const int64_t wanted = inputs_stream(t) ? t->chunk : steps;
    t->areas = wanted <= room ? 1 : 2;
    t->piece = t->areas == 1 ? wanted : room / 2;
}

/* The steps that the ring has places for: as many as fit ACC, and the micro-ops that name a place. */
static int64_t ring_of(const machine *m, const vtac_recurrent *c, const recurrent_tiling *t)
{
    const int64_t uops = t->rows + c->gates * (t->terms[0] + 2 * t->terms[1]);
    return vta_min((t->work[BACK] - t->sums) / (t->rows * t->batch), vta_max(1, m->uop / uops));
}

/* The cycles for which the array has no sums over the state in a step, as measured: the ALU makes the state.
 */
static int64_t idle_cycles(const vtac_recurrent *c, const recurrent_tiling *t)
{
    enum { FIXED = 24, RESET = 32, EACH = 6 };
    return FIXED + (c->kind == VTAC_RECURRENT_GRU ? RESET : 0) + EACH * state_entries(t);
}

/* Steps for which sums over the inputs come before all steps: where the ring is refilled, those for which the
 * array would not have the time while it waits. They are made while the weights are loaded. */
static void choose_chunk(const machine *m, const vtac_recurrent *c, int64_t steps, recurrent_tiling *t)
{
    t->chunk = vta_min(steps, ring_of(m, c, t));
    if (inputs_stream(t)) {
        t->chunk = vta_min(t->chunk, (m->inp - t->input) / (t->terms[0] * t->batch));
        t->chunk = t->chunk < 1 ? t->chunk : vta_ceil_div(steps, vta_ceil_div(steps, t->chunk));
    } else {
        const int64_t work = t->rows * t->terms[0] * t->batch;
        const int64_t early = vta_max(1, steps - steps * idle_cycles(c, t) / work);
        t->chunk = vta_min(t->chunk, early);
    }
}

static vta_status choose_tiling(plan *p, vta_diag *diag)
{
    const machine *m = p->machine;
    const vtac_recurrent *c = p->layer->cell;
    recurrent_tiling *t = &p->recurrent;
    const int64_t steps = p->layer->steps;
    t->batch = pixels_of(tensor_out(p)) / steps;
    t->terms[0] = vta_ceil_div(c->inputs, m->block_in);
    t->terms[1] = vta_ceil_div(c->hidden, m->block);
    t->state_rows = t->terms[1] * m->ro;
    t->rows = c->gates * t->state_rows;
    place_parts(c, t);
    choose_slots(m, t);
    t->work[BACK] = m->acc - groups_at(c, BACK) * state_entries(t);
    choose_chunk(m, c, steps, t);
    choose_pieces(m, steps, t);
    if (t->chunk < 1 || t->slots < 1 || t->piece < 1 || vta_max(t->terms[0], t->terms[1]) > m->uop) {
        return vta_fail(diag, VTA_RANGE,
                        "the sums of a step need %" PRId64 " accumulators of %" PRId64
                        ", its input and states %" PRId64 " entries of %" PRId64
                        "; larger buffers (LOG_ACC_BUFF_SIZE, LOG_INP_BUFF_SIZE) would help",
                        t->sums + t->rows * t->batch + m->acc - t->work[BACK], m->acc,
                        t->input + t->terms[0] * t->batch, m->inp);
    }
    return VTA_OK;
}

vta_status vtac_vta_recurrent_plan(const machine *m, const vtac_vta_region *region, uint32_t number,
                                   plan *out, vta_diag *diag)
{
    enum { STATE_STEPS = 18 }; /* of the ALU, for an entry of the state */
    vtac_vta_plan_init(m, region, number, out);
    VTA_TRY(choose_tiling(out, diag));
    const recurrent_tiling *t = &out->recurrent;
    const int64_t steps = out->layer->steps, chunks = vta_ceil_div(steps, t->chunk);
    const bool stay = slots_of(t, 1) <= t->slots;
    const int64_t of_input = inputs_stream(t) ? chunks : 1;
    const int64_t again = slots_overlap(t) ? (chunks - 1) * input_slots(t) * t->slot : 0;
    const int64_t tiles = t->rows * (t->terms[0] * of_input + t->terms[1] * (stay ? 1 : steps)) + again;
    const uint64_t read = (uint64_t)(tiles * m->config->elem_bytes[VTA_MEM_WGT] +
                                     steps * t->batch * t->terms[0] * m->config->elem_bytes[VTA_MEM_INP]);
    const uint64_t written = (uint64_t)(steps * state_entries(t) * m->config->elem_bytes[VTA_MEM_OUT]);
    out->units =
        (load_of_units){.array = (uint64_t)(steps * t->batch * t->rows * (t->terms[0] + t->terms[1])),
                        .alu = (uint64_t)(steps * (STATE_STEPS * state_entries(t) + t->rows * t->batch)),
                        .load = read / (uint64_t)m->beat,
                        .store = written / (uint64_t)m->beat,
                        .bytes_read = read,
                        .bytes_written = written};
    /* a step needs all the weights */
    const uint64_t busy = out->units.array > out->units.alu ? out->units.array : out->units.alu;
    const load_of_units together = {.array = busy + out->units.load};
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
