/* SPDX-License-Identifier: Apache-2.0
 *
 * The load and the store unit of the timing model. LOADs into INP and WGT, and STOREs, run beside the compute
 * unit, through which the two units hear of each other.
 */
#include "model.h"
#include "vta/number.h"

static int64_t page_of(const model *t, int64_t element, int64_t bytes)
{
    return element * bytes >> t->log_page;
}

/* The pages of `count` elements; none before memory is laid out. */
static granules pages_of(const model *t, int64_t first, int64_t count, int64_t bytes)
{
    return (granules){page_of(t, first, bytes),
                      vta_min(page_of(t, first + count - 1, bytes), t->page_count - 1)};
}

cycles vtac_vta_load_stored(const model *t, size_t at, uint32_t *number)
{
    *number = 0;
    if (!t->jobs[at].works || t->page_count == 0) {
        return t->store_end[0];
    }
    const vta_load2d *l = &step_at(t->list, at)->load;
    const int64_t bytes = t->m->config->elem_bytes[l->memory];
    for (int64_t y = 0; y < l->y_size; y++) {
        const granules pages = pages_of(t, l->offset + y * l->x_stride, l->x_size, bytes);
        *number = (uint32_t)later(*number, marks_latest(&t->page_store, pages));
    }
    return t->store_end[*number];
}

void vtac_vta_load_learn(model *t, uint32_t number, cycles end)
{
    while (t->stores_known < number) {
        t->known_at[++t->stores_known] = end;
    }
}

/* A load that needs a store waits for it through the compute unit, which waits itself and passes the token
 * on. Returns the time when the load may start. */
static cycles relay_token(model *t, uint32_t number, cycles end)
{
    if (number > t->stores_known) {
        t->now.asked = later(vtac_vta_traffic_fetch(t), t->compute_issue + 1);
        t->now.issued = t->compute_issue = later(t->now.asked, end + TOKEN);
        t->retired = later(t->retired + 1, t->compute_issue + 1);
        vtac_vta_load_learn(t, number, t->retired);
        vtac_vta_compute_done(t, t->retired);
    }
    if (number <= t->stores_loaded) {
        return 0;
    }
    t->stores_loaded = number;
    return t->known_at[number] + TOKEN;
}

cycles vtac_vta_load_padding(const job *j)
{
    return (cycles)j->pads / PADS;
}

/* The cycles that a LOAD into INP loses beside a REQUANT that writes there: it waits if both use the
 * same RAM (vta_load.v). */
static cycles lost_to_requant(const model *t, cycles beside)
{
    const vta_config *c = t->m->config;
    const cycles rams = c->depthwise_taps == 9 && c->log_block_out > 3 ? 4 : 1;
    return beside / rams;
}

/* The cycles that a LOAD into INP, which writes from `from` to `to`, loses to earlier REQUANTs. */
static cycles beside_requants(model *t, cycles from, cycles to, granule_run g)
{
    cycles lost = 0;
    for (uint32_t i = 0; i < NEWEST; i++) {
        const inp_span *r = &t->inp_requants[i];
        lost += lost_to_requant(t, overlap(from, to + lost, r->from, r->to));
    }
    t->inp_loads[t->inp_load++ % NEWEST] = (inp_span){from, to + lost, g};
    return lost;
}

void vtac_vta_load_delay(model *t, cycles from, cycles to)
{
    t->inp_requants[t->inp_requant++ % NEWEST] = (inp_span){from, to, NOWHERE};
    cycles lost = 0;
    for (uint32_t i = 0; i < NEWEST; i++) {
        inp_span *l = &t->inp_loads[(t->inp_load + i) % NEWEST];
        if (l->to <= from) {
            continue;
        }
        lost += lost_to_requant(t, overlap(from, to, l->from, l->to));
        l->to += lost;
        vtac_vta_marks_add(&t->inp.wrote, granules_of(l->where), lost);
    }
    t->load_engine += lost;
}

/* Runs a LOAD into INP or WGT that begins at `start`. */
static cycles run_load(model *t, const job *j, cycles start)
{
    track *to = load_track(t, j);
    const bursts rows_read = {j->bursts, (cycles)j->beats};
    const uint32_t owner = t->reads.owner, number = vtac_vta_transfer_begin(t);
    t->loads_left--;
    t->load_issue = start + LOAD_GAP + (cycles)j->gap;
    /* One engine writes beats and padding into the scratchpads; it may be slower than the bus. */
    const cycles writes = (cycles)rows_read.count * rows_read.each + (cycles)j->pads * PAD_QUARTERS / 4;
    const cycles came = vtac_vta_traffic_read(t, &t->loading, start, rows_read);
    cycles end = later(came + vtac_vta_load_padding(j), t->load_engine + writes);
    if (j->memory == VTA_MEM_INP) {
        end += beside_requants(t, end - writes, end, j->to);
    }
    t->load_engine = end;
    set_places(&to->wrote, j->to, end);
    vtac_vta_transfer_end(t, (transfer){number, came, end, to, j->to}, owner);
    return end;
}

cycles vtac_vta_load_step(model *t)
{
    const job *j = &t->jobs[t->at];
    if (t->at < t->lead) {
        (void)vtac_vta_traffic_fetch(t);
        vtac_vta_traffic_settle(t);
        return t->load_engine;
    }
    uint32_t number;
    const cycles data = vtac_vta_load_stored(t, t->at, &number);
    const cycles told = relay_token(t, number, data);
    const cycles freed = latest_at(&load_track(t, j)->read, j->to) + TOKEN;
    const cycles end =
        run_load(t, j, later(later(vtac_vta_traffic_fetch(t), t->load_issue), later(freed, told)));
    vtac_vta_traffic_settle(t);
    return end;
}

/* The load unit has a place of its own in the list. It passes steps of the compute unit and STOREs that are
 * not done yet, unless they use the entries that its LOAD fills or store the data that its LOAD reads: its
 * LOADs ask for the bus before those steps do. */

/* True if no mark there is of a step from the one at hand on. */
static bool is_marked_over(const model *t, const marks *of, granules g)
{
    return marks_latest(of, g) <= t->at;
}

static bool stores_over(const model *t, size_t at)
{
    if (!t->jobs[at].works || t->page_count == 0) {
        return true;
    }
    const vta_load2d *l = &step_at(t->list, at)->load;
    const int64_t bytes = t->m->config->elem_bytes[l->memory];
    bool over = true;
    for (int64_t y = 0; over && y < l->y_size; y++) {
        over = is_marked_over(t, &t->page_writer, pages_of(t, l->offset + y * l->x_stride, l->x_size, bytes));
    }
    return over;
}

/* Marks the pages that a STORE writes. */
static void mark_stored(const model *t, marks *of, size_t at, uint64_t value)
{
    const vta_store2d *s = &step_at(t->list, at)->store;
    const int64_t bytes = t->m->config->elem_bytes[VTA_MEM_OUT];
    for (int64_t y = 0; t->page_count > 0 && y < s->y_size; y++) {
        marks_set(of, pages_of(t, s->offset + y * s->x_stride, s->x_size, bytes), value);
    }
}

/* Marks the uses of a step that the load unit passes. */
static void pass_step(model *t, size_t number)
{
    const job *j = &t->jobs[number];
    if (runs_on_array(j)) {
        set_places(&t->inp_reader, j->from, number + 1);
        set_places(&t->wgt_reader, j->by, number + 1);
    } else if (j->to_inp) {
        set_places(&t->inp_reader, j->to, number + 1);
    } else if (j->kind == STEP_STORE) {
        mark_stored(t, &t->page_writer, number, number + 1);
    }
    t->passed += j->kind != STEP_STORE;
}

/* The time when the instruction `behind` places after the next one is in its queue; false: not before `when`.
 */
static bool fetched_by(model *t, uint64_t behind, cycles when, cycles *at)
{
    const uint64_t number = t->insns + behind, chunk = number / CHUNK_INSNS;
    while (t->chunks <= chunk && t->chunk_room[t->chunks % CHUNKS] < when) {
        vtac_vta_traffic_read_chunk(t);
    }
    *at = chunk < t->chunks ? t->chunk_at[chunk % CHUNKS_AHEAD] + FETCH * (number % CHUNK_INSNS + 1) + DECODE
                            : when;
    return *at < when;
}

/* Runs the LOAD at `lead` ahead of the compute unit, if it waits for nothing to come and
 * begins before `when`. */
static bool run_load_before(model *t, cycles when)
{
    const job *j = &t->jobs[t->lead];
    const track *to = load_track(t, j);
    uint32_t number;
    cycles start;
    if (t->load_issue >= when ||
        !is_marked_over(t, to == &t->inp ? &t->inp_reader : &t->wgt_reader, granules_of(j->to)) ||
        !stores_over(t, t->lead) || !fetched_by(t, t->lead - t->at - 1, when, &start)) {
        return false;
    }
    (void)vtac_vta_load_stored(t, t->lead, &number);
    if (number > t->stores_known) {
        return false;
    }
    start = later(later(start, t->load_issue), latest_at(&to->read, j->to) + TOKEN);
    start = number > t->stores_loaded ? later(start, t->known_at[number] + TOKEN) : start;
    if (start >= when) {
        return false;
    }
    t->stores_loaded = number > t->stores_loaded ? number : t->stores_loaded;
    (void)run_load(t, j, start);
    return true;
}

void vtac_vta_load_before(model *t, cycles when)
{
    const uint64_t queue = UINT64_C(1) << t->m->config->log_queue;
    if (t->lead <= t->at) { /* also the step at hand: LOADs of micro-ops come before it */
        t->lead = t->at;
        const job *now = &t->jobs[t->at];
        t->passed = t->computes - (now->kind != STEP_STORE && !now->early);
        pass_step(t, t->lead++);
    }
    for (; t->loads_left > 0 && t->lead < t->count && t->passed - t->computes < queue &&
           t->lead - t->at <= AHEAD * queue;
         t->lead++) {
        if (!t->jobs[t->lead].early) {
            pass_step(t, t->lead);
        } else if (!run_load_before(t, when)) {
            return;
        }
    }
}

cycles vtac_vta_store_step(model *t)
{
    const job *j = &t->jobs[t->at];
    cycles start = later(vtac_vta_traffic_fetch(t), t->store_issue);
    start = later(start, latest_at(&t->out.wrote, j->from) + TOKEN);
    t->store_issue = start + 1;
    const cycles answer = (cycles)t->m->answer;
    const bursts b = {j->bursts, (cycles)j->beats};
    const cycles begin = later(start + STORE_GAP, t->bus_store);
    t->bus_store = begin + vtac_vta_traffic_yield(t, begin, (cycles)b.count * b.each);
    vtac_vta_traffic_settle(t);
    const cycles end = answer + vtac_vta_traffic_write(&t->bus_store, &t->writes, begin, answer, b);
    t->store_end[++t->stores] = end;
    set_places(&t->out.read, j->from, t->stores);
    mark_stored(t, &t->page_store, t->at, t->stores);
    return end;
}
