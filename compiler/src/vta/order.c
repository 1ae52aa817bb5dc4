/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders the calls of neighbouring layers anew. Layers on rows keep the ALU busy and leave the
 * array idle; convolutions do the opposite. Instructions of both begin in the order of the list, so a list
 * that has one layer behind the other leaves one unit idle. A small simulation finds another order: the next
 * call is the one that could begin first. Calls of one unit keep their order within a layer; LOADs into INP
 * and into WGT have an order each. Those of several layers alternate: of the ALU, into ACC and STOREs always,
 * of the array and the load unit by the rule ORDER_FREE.
 * Dependencies are found beforehand, in the scratchpads, the tables and the memory.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "vta/number.h"

typedef enum order_unit { ON_ARRAY, ON_LOADER, ON_ALU, INTO_ACC, ON_STORER, ORDER_UNITS } order_unit;

/* The queues that all layers share, and behind them those of each layer. */
typedef enum order_kind {
    OF_ARRAY,
    OF_INPUTS,
    OF_WEIGHTS,
    SHARED_QUEUES,
    OF_ALU = SHARED_QUEUES,
    OF_ACC,
    OF_STORER,
    QUEUES
} order_kind;

enum {
    LAYERS = 6,   /* layers that may be under way at a time */
    NOTICED = 24, /* cycles from the end of a store to a LOAD behind it, beyond the token */
};

/* By place of a scratchpad or page of memory: 1 + the last call that writes it; that reads it since, by unit.
 */
typedef struct order_space {
    uint32_t *writer, *reader[ORDER_UNITS];
} order_space;

/* Calls that keep their order. */
typedef struct order_queue {
    uint32_t *calls; /* a part of `places` */
    uint32_t count, done;
    bool feeds;   /* its layer works on the array, too, which would wait for the ALU */
    cycles ready; /* of its next call; UINT64_MAX: not known yet */
} order_queue;

typedef struct order_state {
    model *t;
    order_space inp, wgt, acc, table, pages;
    uint32_t *needs; /* calls that come first, those of call i from first_need[i] on */
    vta_vec all_needs;
    uint32_t *first_need, *queue_of, *seen, *order, *places;
    order_queue *queues;
    uint32_t queue_count, oldest;
    uint32_t first_left; /* the first call that has no place yet */
    cycles *end,
        *over; /* by call: its results are there for the compute unit; for the other units; 0: not yet */
    cycles free[ORDER_UNITS], bus, retired;
    bool short_calls; /* ORDER_CELLS */
    bool free_layers; /* ORDER_FREE */
    bool late_params; /* ORDER_LATE */
    double writes;    /* the share of cycles in which the array writes into ACC */
    bool failed;
} order_state;

/* ---- dependencies */

static order_unit unit_of(const job *j)
{
    switch ((step_kind)j->kind) {
    case STEP_GEMM:
    case STEP_DEPTHWISE: return ON_ARRAY;
    case STEP_LOAD: return j->early ? ON_LOADER : INTO_ACC;
    case STEP_STORE: return ON_STORER;
    case STEP_ALU:
    case STEP_REQUANT: break;
    }
    return ON_ALU;
}

/* Call `i` comes behind call `before` - 1. */
static void add_need(order_state *w, uint32_t i, uint32_t before)
{
    if (before == 0 || before == i + 1 || w->seen[before - 1] == i + 1) {
        return;
    }
    const uint32_t call = before - 1;
    w->seen[call] = i + 1;
    w->failed = vta_vec_push(&w->all_needs, &call) == NULL || w->failed;
}

static void note_read(order_state *w, order_space *of, granules where, uint32_t i)
{
    const order_unit unit = unit_of(&w->t->jobs[i]);
    for (int64_t c = where.first; c <= where.last; c++) {
        const uint32_t other = of->reader[unit][c];
        add_need(w, i, of->writer[c]);
        add_need(w, i, other > 0 && w->queue_of[other - 1] != w->queue_of[i] ? other : 0);
        of->reader[unit][c] = i + 1;
    }
}

static void note_write(order_state *w, order_space *of, granules where, uint32_t i)
{
    for (int64_t c = where.first; c <= where.last; c++) {
        add_need(w, i, of->writer[c]);
        for (uint32_t u = 0; u < ORDER_UNITS; u++) {
            add_need(w, i, of->reader[u][c]);
            of->reader[u][c] = 0;
        }
        of->writer[c] = i + 1;
    }
}

/* The rows of a transfer in memory. */
static void note_memory(order_state *w, const step *s, uint32_t i)
{
    const bool loads = s->kind == STEP_LOAD;
    const int64_t bytes = w->t->m->config->elem_bytes[loads ? s->load.memory : VTA_MEM_OUT];
    const int64_t rows = loads ? s->load.y_size : s->store.y_size,
                  x = loads ? s->load.x_size : s->store.x_size;
    const int64_t stride = loads ? s->load.x_stride : s->store.x_stride;
    const int64_t first = loads ? s->load.offset : s->store.offset;
    for (int64_t y = 0; y < rows && x > 0; y++) {
        const int64_t from = (first + y * stride) * bytes, to = from + x * bytes - 1;
        const granules where = {from >> w->t->log_page, vta_min(to >> w->t->log_page, w->t->page_count - 1)};
        if (loads) {
            note_read(w, &w->pages, where, i);
        } else {
            note_write(w, &w->pages, where, i);
        }
    }
}

static void note_load(order_state *w, const step *s, const job *j, uint32_t i)
{
    if (s->load.buffer.index == WORK_BUFFER) {
        note_memory(w, s, i);
    }
    if (s->load.memory == VTA_MEM_TAB) {
        note_write(w, &w->table, (granules){0, 0}, i);
        return;
    }
    order_space *to = s->load.memory == VTA_MEM_INP   ? &w->inp
                      : vta_loads_wgt(s->load.memory) ? &w->wgt
                                                      : &w->acc;
    note_write(w, to, granules_of(j->to), i);
}

/* The entries that a REQUANT reads, whatever the strides of those that it writes. */
static granules sources_of(const order_state *w, const vta_requant *r)
{
    const track *acc = &w->t->out;
    const int64_t last = r->src + (r->iter_out - 1) * r->src_out + (r->iter_in - 1) * r->src_in;
    return (granules){acc->place[r->src >> acc->log_size], acc->place[last >> acc->log_size]};
}

static void note_call(order_state *w, uint32_t i)
{
    const step *s = step_at(w->t->list, i);
    const job *j = &w->t->jobs[i];
    switch (s->kind) {
    case STEP_LOAD: note_load(w, s, j, i); return;
    case STEP_STORE:
        note_read(w, &w->acc, granules_of(j->from), i);
        note_memory(w, s, i);
        return;
    case STEP_GEMM:
    case STEP_DEPTHWISE:
        note_read(w, &w->inp, granules_of(j->from), i);
        note_read(w, &w->wgt, granules_of(j->by), i);
        break;
    case STEP_REQUANT:
        note_read(w, &w->acc, granules_of(j->by), i);
        if (s->requant.table > 0) {
            note_read(w, &w->table, (granules){0, 0}, i);
        }
        note_read(w, &w->acc, sources_of(w, &s->requant), i);
        break;
    case STEP_ALU: note_read(w, &w->acc, granules_of(j->from), i); break;
    }
    note_write(w, j->to_inp ? &w->inp : &w->acc, granules_of(j->to), i);
}

static void find_needs(order_state *w)
{
    for (uint32_t i = 0; i < w->t->count && !w->failed; i++) {
        w->first_need[i] = (uint32_t)w->all_needs.count;
        note_call(w, i);
    }
    w->first_need[w->t->count] = (uint32_t)w->all_needs.count;
    w->needs = w->all_needs.items;
}

/* ---- queues */

/* The kind of a call's queue. A recurrent cell's LOADs have one queue. */
static order_kind kind_of(const order_state *w, const job *j)
{
    switch (unit_of(j)) {
    case ON_ARRAY: return OF_ARRAY;
    case ON_LOADER: return j->memory == VTA_MEM_INP || w->short_calls ? OF_INPUTS : OF_WEIGHTS;
    case INTO_ACC: return OF_ACC;
    case ON_STORER: return OF_STORER;
    case ON_ALU:
    case ORDER_UNITS: break;
    }
    return OF_ALU;
}

static bool is_shared(const order_state *w, order_kind kind)
{
    return kind < SHARED_QUEUES && !w->free_layers;
}

/* The queues: SHARED_QUEUES, and QUEUES for each layer, in the order in which layers appear. */
static void find_queues(order_state *w, uint32_t *by_tag)
{
    for (uint32_t q = 0; q < SHARED_QUEUES; q++) {
        w->queues[q].feeds = true;
    }
    w->queue_count = SHARED_QUEUES;
    for (uint32_t i = 0; i < w->t->count; i++) {
        const job *j = &w->t->jobs[i];
        const order_kind kind = kind_of(w, j);
        if (by_tag[j->tag] == 0) {
            by_tag[j->tag] = w->queue_count;
            w->queue_count += QUEUES;
        }
        const uint32_t queue = is_shared(w, kind) ? kind : by_tag[j->tag] + kind;
        for (uint32_t k = 0; k < QUEUES && kind == OF_ARRAY; k++) {
            w->queues[by_tag[j->tag] + k].feeds = true;
        }
        w->queue_of[i] = queue;
        w->queues[queue].count++;
    }
    uint32_t *next = w->places;
    for (uint32_t q = 0; q < w->queue_count; q++) {
        w->queues[q].calls = next;
        next += w->queues[q].count;
        w->queues[q].count = 0;
        w->queues[q].ready = UINT64_MAX;
    }
    for (uint32_t i = 0; i < w->t->count; i++) {
        order_queue *of = &w->queues[w->queue_of[i]];
        of->calls[of->count++] = i;
    }
}

/* ---- order */

/* The time when the result of call `d` is there for call `i`. */
static cycles result_at(const order_state *w, uint32_t d, uint32_t i)
{
    const job *own = &w->t->jobs[i];
    const order_unit from = unit_of(&w->t->jobs[d]), to = unit_of(own);
    const bool inside = from != ON_LOADER && from != ON_STORER && to != ON_LOADER && to != ON_STORER;
    if (from == ON_ALU && to == ON_ALU) { /* entries follow each other through the pipeline */
        return w->end[d] > (cycles)own->steps ? w->end[d] - (cycles)own->steps : 1;
    }
    if (from == ON_STORER && (to == ON_LOADER || to == INTO_ACC)) {
        return w->over[d] + TOKEN + NOTICED;
    }
    return inside ? w->end[d] : w->over[d] + TOKEN;
}

/* The time when a queue's next call could begin, as far as its unit is free; UINT64_MAX: not known. */
static cycles ready_at(const order_state *w, const order_queue *q)
{
    const uint32_t i = q->calls[q->done];
    cycles ready = 0;
    for (uint32_t k = w->first_need[i]; k < w->first_need[i + 1]; k++) {
        const uint32_t d = w->needs[k];
        if (w->over[d] == 0) {
            return UINT64_MAX;
        }
        ready = later(ready, result_at(w, d, i));
    }
    return ready;
}

static cycles reads_end(order_state *w, cycles start, const job *j)
{
    const cycles from = later(start, w->bus);
    w->bus = from + (cycles)j->bursts * (cycles)j->beats;
    return w->bus + (cycles)w->t->m->latency + LOAD_LEAD;
}

static void retire_call(order_state *w, uint32_t i, cycles end)
{
    w->retired = later(w->retired + 1, end);
    w->end[i] = end;
    w->over[i] = w->retired;
}

/* The ALU loses the cycles in which the array writes. */
static cycles alu_end(const order_state *w, const job *j, cycles start)
{
    const cycles steps = (cycles)j->steps;
    const cycles beside = w->free[ON_ARRAY] > start ? w->free[ON_ARRAY] - start : 0;
    return start + (w->short_calls ? 0 : ALU_START) + steps +
           (cycles)(w->writes * (double)(beside < steps ? beside : steps));
}

static void begin_call(order_state *w, uint32_t i, cycles start)
{
    const job *j = &w->t->jobs[i];
    const order_unit unit = unit_of(j);
    switch (unit) {
    case ON_ARRAY:
        w->free[unit] = start + (cycles)j->steps;
        w->writes = (double)j->writes / (double)vta_max(j->steps, 1);
        retire_call(w, i, w->free[unit] + ARRAY_DRAIN);
        return;
    case ON_ALU:
        w->free[unit] = alu_end(w, j, start);
        retire_call(w, i, w->free[unit] + ALU_DRAIN);
        return;
    case INTO_ACC:
        w->free[unit] = start + LOAD_GAP;
        retire_call(w, i, reads_end(w, start, j));
        return;
    case ON_LOADER:
        w->end[i] = w->over[i] = reads_end(w, start, j);
        w->free[unit] = start + LOAD_GAP;
        return;
    case ON_STORER:
    case ORDER_UNITS: break;
    }
    w->free[ON_STORER] = start + STORE_GAP + (cycles)j->bursts * (cycles)j->beats;
    w->end[i] = w->over[i] = w->free[ON_STORER] + (cycles)w->t->m->answer;
}

/* True for a LOAD of constants into ACC. */
static bool is_param(const order_state *w, uint32_t i)
{
    const step *s = step_at(w->t->list, i);
    return s->kind == STEP_LOAD && !w->t->jobs[i].early && s->load.buffer.index == CONSTANTS_BUFFER;
}

/* The time that ranks a call which could begin at `begin`. A LOAD waits for its beats on the bus: until then
 * a LOAD that is wanted sooner may come before it. Of cells, a call of the ALU keeps a call of the array
 * behind it waiting only until the ALU takes it up: not while it waits for what it reads itself. One behind a
 * call of the array waits until that begins, and for some cycles more. */
static cycles rank_at(const order_state *w, uint32_t i, cycles begin)
{
    enum { HELD = 6 };
    const order_unit unit = unit_of(&w->t->jobs[i]);
    if (!w->short_calls) {
        const cycles ahead = (cycles)w->t->m->latency;
        const bool reads = unit == ON_LOADER || (w->late_params && is_param(w, i));
        return reads && w->bus > ahead ? later(begin, w->bus - ahead) : begin;
    }
    return unit == ON_ALU ? w->free[unit] : unit == ON_ARRAY ? begin + HELD : begin;
}

/* The end of the queues that are looked at: those of some layers, and that of the first call of the list that
 * is left, as nothing keeps that call waiting. */
static uint32_t end_of_window(order_state *w)
{
    while (w->over[w->first_left] > 0) {
        w->first_left++;
    }
    const int64_t window = w->oldest + QUEUES * LAYERS, first = w->queue_of[w->first_left] + 1;
    return (uint32_t)vta_min(w->queue_count, vta_max(window, first));
}

/* The queue whose next call could begin first; among several, the one that comes first in the list. */
static uint32_t next_queue(order_state *w, cycles *begin)
{
    const uint32_t end = end_of_window(w);
    uint32_t best = UINT32_MAX, call = 0;
    cycles first = 0;
    for (uint32_t q = 0; q < end; q = q + 1 == SHARED_QUEUES ? w->oldest : q + 1) {
        order_queue *of = &w->queues[q];
        if (of->done == of->count) {
            continue;
        }
        of->ready = of->ready == UINT64_MAX ? ready_at(w, of) : of->ready;
        if (of->ready == UINT64_MAX) {
            continue;
        }
        const uint32_t i = of->calls[of->done];
        const uint32_t rank = of->feeds ? i : i + (uint32_t)w->t->count;
        const cycles when = later(of->ready, w->free[unit_of(&w->t->jobs[i])]), key = rank_at(w, i, when);
        if (best == UINT32_MAX || key < first || (key == first && rank < call)) {
            best = q;
            call = rank;
            first = key;
            *begin = when;
        }
    }
    return best;
}

static bool layer_is_over(const order_state *w, uint32_t first)
{
    bool over = true;
    for (uint32_t q = first; q < first + QUEUES; q++) {
        over = over && w->queues[q].done == w->queues[q].count;
    }
    return over;
}

static void choose_order(order_state *w)
{
    cycles begin = 0;
    w->oldest = SHARED_QUEUES;
    for (uint32_t n = 0; n < w->t->count; n++) {
        while (w->oldest < w->queue_count && layer_is_over(w, w->oldest)) {
            w->oldest += QUEUES;
        }
        const uint32_t q = next_queue(w, &begin);
        if (q == UINT32_MAX) {
            w->failed = true;
            return;
        }
        order_queue *of = &w->queues[q];
        const uint32_t i = of->calls[of->done++];
        of->ready = UINT64_MAX;
        w->order[n] = i;
        begin_call(w, i, begin);
    }
}

/* ---- memory */

static bool space_init(order_space *of, int64_t places)
{
    bool good = (of->writer = calloc((size_t)places + 1, sizeof *of->writer)) != NULL;
    for (uint32_t u = 0; u < ORDER_UNITS; u++) {
        of->reader[u] = calloc((size_t)places + 1, sizeof *of->reader[u]);
        good = good && of->reader[u] != NULL;
    }
    return good;
}

static void space_free(order_space *of)
{
    free(of->writer);
    for (uint32_t u = 0; u < ORDER_UNITS; u++) {
        free(of->reader[u]);
    }
}

static bool order_init(order_state *w, uint64_t work_bytes)
{
    const model *t = w->t;
    const size_t count = t->count + 1;
    w->t->page_count = (int64_t)(work_bytes >> t->log_page) + 1;
    w->all_needs.item_size = sizeof(uint32_t);
    w->first_need = calloc(count + 1, sizeof *w->first_need);
    w->queue_of = calloc(count, sizeof *w->queue_of);
    w->seen = calloc(count, sizeof *w->seen);
    w->order = calloc(count, sizeof *w->order);
    w->places = calloc(count, sizeof *w->places);
    w->end = calloc(count, sizeof *w->end);
    w->over = calloc(count, sizeof *w->over);
    bool good = space_init(&w->inp, t->inp.places);
    good = space_init(&w->wgt, t->wgt.places) && good;
    good = space_init(&w->acc, t->out.places) && good;
    good = space_init(&w->table, 1) && good;
    good = space_init(&w->pages, t->page_count) && good;
    return good && w->first_need != NULL && w->queue_of != NULL && w->seen != NULL && w->order != NULL &&
           w->places != NULL && w->end != NULL && w->over != NULL;
}

static void order_free(order_state *w)
{
    space_free(&w->inp);
    space_free(&w->wgt);
    space_free(&w->acc);
    space_free(&w->table);
    space_free(&w->pages);
    vta_vec_free(&w->all_needs);
    free(w->first_need);
    free(w->queue_of);
    free(w->seen);
    free(w->order);
    free(w->places);
    free(w->end);
    free(w->over);
}

static void order_all(order_state *w, step_list *list)
{
    uint32_t tags = 0;
    for (size_t i = 0; i < w->t->count; i++) {
        tags = w->t->jobs[i].tag > tags ? w->t->jobs[i].tag : tags;
    }
    uint32_t *by_tag = calloc((size_t)tags + 1, sizeof *by_tag);
    w->queues = calloc(QUEUES * ((size_t)tags + 1) + SHARED_QUEUES, sizeof *w->queues);
    w->failed = w->failed || by_tag == NULL || w->queues == NULL;
    if (!w->failed) {
        find_queues(w, by_tag);
        find_needs(w);
    }
    if (!w->failed) {
        choose_order(w);
    }
    if (!w->failed) {
        vtac_vta_list_reorder(list, w->order);
    }
    list->failed = list->failed || w->failed;
    free(by_tag);
    free(w->queues);
}

void vtac_vta_list_order(step_list *list, const machine *m, uint64_t work_bytes, order_rule how)
{
    model *t = calloc(1, sizeof *t);
    order_state w = {.t = t,
                     .short_calls = how == ORDER_CELLS,
                     .free_layers = how == ORDER_FREE,
                     .late_params = how == ORDER_LATE};
    if (t == NULL || list->failed) {
        list->failed = true;
        free(t);
        return;
    }
    t->m = m;
    t->list = list;
    t->log_page = log_page_of(m);
    w.failed = !vtac_vta_jobs_make(t) || !order_init(&w, work_bytes);
    order_all(&w, list);
    order_free(&w);
    free(t->jobs);
    free(t);
}
