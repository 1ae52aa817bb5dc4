/* SPDX-License-Identifier: Apache-2.0
 *
 * The load and the store unit of the timing model. LOADs into INP and WGT and STOREs go on beside the compute
 * unit, through which they hear of each other.
 */
#include "model.h"

static int64_t page_of(const model *t, int64_t element, int64_t bytes)
{
    return element * bytes >> t->log_page;
}

/* The pages of `count` elements; none before memory is laid out. */
static granules pages_of(const model *t, int64_t first, int64_t count, int64_t bytes)
{
    return (granules){page_of(t, first, bytes),
                      least(page_of(t, first + count - 1, bytes), t->page_count - 1)};
}

/* The end of the stores that a load needs; *number: the newest of them. */
cycles load_stored(const model *t, const vta_load2d *l, int64_t bytes, uint32_t *number)
{
    *number = 0;
    for (int64_t y = 0; l->buffer.index == WORK_BUFFER && y < l->y_size; y++) {
        const granules pages = pages_of(t, l->offset + y * l->x_stride, l->x_size, bytes);
        *number = (uint32_t)later(*number, marks_latest(&t->page_store, pages));
    }
    return t->store_end[*number];
}

/* The compute unit has waited for a store, in an instruction that is over at `end`. */
void load_learn(model *t, uint32_t number, cycles end)
{
    while (t->stores_known < number) {
        t->known_at[++t->stores_known] = end;
    }
}

/* Load and store wait for each other through the compute unit: it waits, too, and tells it in its turn.
 * Returns when the load may start. */
static cycles relay(model *t, uint32_t number, cycles end)
{
    if (number > t->stores_known) {
        t->now.asked = later(traffic_fetch(t), t->compute_issue + 1);
        t->now.issued = t->compute_issue = later(t->now.asked, end + TOKEN);
        t->retired = later(t->retired + 1, t->compute_issue + 1);
        load_learn(t, number, t->retired);
        compute_done(t, t->retired);
    }
    if (number <= t->stores_loaded) {
        return 0;
    }
    t->stores_loaded = number;
    return t->known_at[number] + TOKEN;
}

/* Entries that a load fills without reading. */
static cycles pad_entries(const vta_load2d *l)
{
    return (cycles)(list_fills(l).count - l->y_size * l->x_size);
}

/* They take the cycles in which no data come: most of them are not seen. */
cycles load_padding(const vta_load2d *l)
{
    return pad_entries(l) / PADS;
}

/* What a LOAD into INP loses in so many cycles beside a REQUANT that writes there: it waits where both want
 * the same RAM (vta_load.v). */
static cycles lost_to_requant(const model *t, cycles beside)
{
    const vta_config *c = t->m->config;
    const cycles rams = c->depthwise_taps == 9 && c->log_block_out > 3 ? 4 : 1;
    return beside / rams;
}

/* A LOAD into INP that writes there from `from` to `to`: what it loses to REQUANTs that came before it. */
static cycles beside_requants(model *t, cycles from, cycles to, granules g)
{
    cycles lost = 0;
    for (uint32_t i = 0; i < NEWEST; i++) {
        const inp_span *r = &t->inp_requants[i];
        lost += lost_to_requant(t, overlap(from, to + lost, r->from, r->to));
    }
    t->inp_loads[t->inp_load++ % NEWEST] = (inp_span){from, to + lost, g};
    return lost;
}

/* A REQUANT into INP: the LOADs that it meets there end later. */
void load_beside(model *t, cycles from, cycles to)
{
    t->inp_requants[t->inp_requant++ % NEWEST] = (inp_span){from, to, {0, -1}};
    cycles lost = 0;
    for (uint32_t i = 0; i < NEWEST; i++) {
        inp_span *l = &t->inp_loads[(t->inp_load + i) % NEWEST];
        if (l->to <= from) {
            continue;
        }
        lost += lost_to_requant(t, overlap(from, to, l->from, l->to));
        l->to += lost;
        marks_add(&t->inp.wrote, l->where, lost);
    }
    t->load_engine += lost;
}

/* A LOAD into INP or WGT that begins at `start`. */
static cycles bring(model *t, const vta_load2d *l, cycles start)
{
    track *to = l->memory == VTA_MEM_INP ? &t->inp : &t->wgt;
    const int64_t bytes = t->m->config->elem_bytes[l->memory];
    const list_range filled = list_fills(l);
    const granules g = granules_of(to->log_size, filled.first, filled.count);
    const bursts rows_read = bursts_of(t, l->y_size, l->x_size, l->x_stride, bytes);
    const uint32_t owner = t->reads.owner, number = transfer_begin(t);
    t->loads_left--;
    t->load_issue = start + LOAD_GAP + (l->x_stride == l->x_size ? 0 : (cycles)l->y_size * ROW_GAP);
    /* The engine that writes beats and padding into the scratchpads is one, and may be slower than the bus.
     */
    const cycles writes = (cycles)rows_read.count * rows_read.each + pad_entries(l) * PAD_QUARTERS / 4;
    const cycles came = traffic_read(t, &t->loading, start, rows_read);
    cycles end = later(came + load_padding(l), t->load_engine + writes);
    if (l->memory == VTA_MEM_INP) {
        end += beside_requants(t, end - writes, end, g);
    }
    t->load_engine = end;
    marks_set(&to->wrote, g, end);
    transfer_end(t, (transfer){number, came, end, to, g}, owner);
    return end;
}

cycles load_step(model *t, const vta_load2d *l)
{
    if (t->at < t->lead) {
        (void)traffic_fetch(t);
        traffic_settle(t);
        return t->load_engine;
    }
    const track *to = l->memory == VTA_MEM_INP ? &t->inp : &t->wgt;
    const list_range filled = list_fills(l);
    uint32_t number;
    const cycles data = load_stored(t, l, t->m->config->elem_bytes[l->memory], &number);
    const cycles told = relay(t, number, data);
    const cycles freed =
        marks_latest(&to->read, granules_of(to->log_size, filled.first, filled.count)) + TOKEN;
    const cycles end = bring(t, l, later(later(traffic_fetch(t), t->load_issue), later(freed, told)));
    traffic_settle(t);
    return end;
}

/* The load unit's own place in the list. It goes by what the compute unit and STOREs still have to do, as far
 * as nothing there reads what it fills or stores what it reads: its LOADs are on the bus before what those
 * ask for. */

/* No step from the one at hand on is noted there. */
static bool over_there(const model *t, const marks *of, granules g)
{
    return marks_latest(of, g) <= t->at;
}

static bool stores_over(const model *t, const vta_load2d *l, int64_t bytes)
{
    bool over = true;
    for (int64_t y = 0; over && l->buffer.index == WORK_BUFFER && y < l->y_size; y++) {
        over = over_there(t, &t->page_writer, pages_of(t, l->offset + y * l->x_stride, l->x_size, bytes));
    }
    return over;
}

/* What the load unit goes by. */
static void pass(model *t, const step *s)
{
    if (s->kind == STEP_GEMM || s->kind == STEP_DEPTHWISE) {
        const list_nest n = list_nest_of(t->list, s);
        marks_set(&t->inp_reader, granules_of(t->inp.log_size, n.src, n.src_count), t->lead + 1);
        marks_set(&t->wgt_reader, granules_of(t->wgt.log_size, n.wgt, n.wgt_count), t->lead + 1);
    } else if (s->kind == STEP_REQUANT && s->requant.to_inp) {
        const vta_requant *r = &s->requant;
        const int64_t count = (r->iter_out - 1) * r->dst_out + (r->iter_in - 1) * r->dst_in + 1;
        marks_set(&t->inp_reader, granules_of(t->inp.log_size, r->dst, count), t->lead + 1);
    } else if (s->kind == STEP_STORE) {
        const int64_t bytes = t->m->config->elem_bytes[VTA_MEM_OUT];
        for (int64_t y = 0; y < s->store.y_size; y++) {
            const int64_t first = s->store.offset + y * s->store.x_stride;
            marks_set(&t->page_writer, pages_of(t, first, s->store.x_size, bytes), t->lead + 1);
        }
    }
    t->passed += s->kind != STEP_STORE;
}

/* When the instruction is in its queue that stands so many behind the next one; false: not before `when`. */
static bool fetched_by(model *t, uint64_t behind, cycles when, cycles *at)
{
    const uint64_t number = t->insns + behind, chunk = number / CHUNK_INSNS;
    while (t->chunks <= chunk && t->chunk_room[t->chunks % CHUNKS] < when) {
        traffic_read_chunk(t);
    }
    *at = chunk < t->chunks ? t->chunk_at[chunk % CHUNKS_AHEAD] + FETCH * (number % CHUNK_INSNS + 1) + DECODE
                            : when;
    return *at < when;
}

/* A LOAD that is over the queues and waits for nothing that is still to come, if it begins before `when`. */
static bool bring_before(model *t, const vta_load2d *l, cycles when)
{
    const track *to = l->memory == VTA_MEM_INP ? &t->inp : &t->wgt;
    const int64_t bytes = t->m->config->elem_bytes[l->memory];
    const list_range filled = list_fills(l);
    const granules g = granules_of(to->log_size, filled.first, filled.count);
    uint32_t number;
    cycles start;
    if (t->load_issue >= when || !over_there(t, to == &t->inp ? &t->inp_reader : &t->wgt_reader, g) ||
        !stores_over(t, l, bytes) || !fetched_by(t, t->lead - t->at - 1, when, &start)) {
        return false;
    }
    (void)load_stored(t, l, bytes, &number);
    if (number > t->stores_known) {
        return false;
    }
    start = later(later(start, t->load_issue), marks_latest(&to->read, g) + TOKEN);
    start = number > t->stores_loaded ? later(start, t->known_at[number] + TOKEN) : start;
    if (start >= when) {
        return false;
    }
    t->stores_loaded = number > t->stores_loaded ? number : t->stores_loaded;
    (void)bring(t, l, start);
    return true;
}

/* Works out what the load unit begins before `when`. */
void load_before(model *t, cycles when)
{
    const uint64_t queue = UINT64_C(1) << t->m->config->log_queue;
    if (t->lead <= t->at) { /* the step at hand, too: LOADs of micro-ops come before it */
        t->lead = t->at;
        t->passed = t->computes - 1;
        pass(t, step_at(t->list, t->lead++));
    }
    for (; t->loads_left > 0 && t->lead < t->list->steps.count && t->passed - t->computes < queue &&
           t->lead - t->at <= AHEAD * queue;
         t->lead++) {
        const step *s = step_at(t->list, t->lead);
        if (!load_is_early(s)) {
            pass(t, s);
        } else if (!bring_before(t, &s->load, when)) {
            return;
        }
    }
}

cycles store_step(model *t, const vta_store2d *s)
{
    const int64_t bytes = t->m->config->elem_bytes[VTA_MEM_OUT];
    const granules g = granules_of(t->out.log_size, s->sram, s->y_size * s->x_size);
    cycles start = later(traffic_fetch(t), t->store_issue);
    start = later(start, marks_latest(&t->out.wrote, g) + TOKEN);
    t->store_issue = start + 1;
    const cycles answer = WRITE - 64 + t->m->config->mem_latency;
    const bursts b = bursts_of(t, s->y_size, s->x_size, s->x_stride, bytes);
    const cycles begin = later(start + STORE_GAP, t->bus_store);
    t->bus_store = begin + traffic_yield(t, begin, (cycles)b.count * b.each);
    traffic_settle(t);
    const cycles end = answer + traffic_write(&t->bus_store, &t->writes, begin, answer, b);
    t->store_end[++t->stores] = end;
    marks_set(&t->out.read, g, t->stores);
    for (int64_t y = 0; y < s->y_size; y++) {
        const granules pages = pages_of(t, s->offset + y * s->x_stride, s->x_size, bytes);
        marks_set(&t->page_store, pages, t->stores);
    }
    return end;
}
