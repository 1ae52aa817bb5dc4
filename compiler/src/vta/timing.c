/* SPDX-License-Identifier: Apache-2.0
 *
 * The timing model: a walk through the list.
 */
#include <stdlib.h>

#include "model.h"

static cycles run_step(model *t, const step *s)
{
    if (load_is_early(s)) {
        return load_step(t, &s->load);
    }
    return s->kind == STEP_STORE ? store_step(t, &s->store) : compute_step(t, s);
}

enum { LOG_BLOCK = 4, LOG_PAGES = 6 }; /* of granules that may be alike, and of pages */

static void track_init(track *of, int64_t depth)
{
    while (((int64_t)GRANULES << of->log_size) < depth) {
        of->log_size++;
    }
}

static size_t stores_of(const step_list *list)
{
    size_t stores = 0;
    for (size_t i = 0; i < list->steps.count; i++) {
        stores += step_at(list, i)->kind == STEP_STORE;
    }
    return stores;
}

static uint64_t loads_of(const step_list *list)
{
    uint64_t loads = 0;
    for (size_t i = 0; i < list->steps.count; i++) {
        const step *s = step_at(list, i);
        loads += load_is_early(s);
    }
    return loads;
}

static int log2_of(int64_t n)
{
    int log = 0;
    while (n > 1) {
        n /= 2;
        log++;
    }
    return log;
}

/* What is kept of granules, and of pages. */
#define OF_GRANULES(X)                                                                                       \
    X(inp.wrote)                                                                                             \
    X(inp.read)                                                                                              \
    X(wgt.wrote)                                                                                             \
    X(wgt.read)                                                                                              \
    X(out.wrote)                                                                                             \
    X(out.read)                                                                                              \
    X(array_acc) X(alu_acc) X(load_acc) X(alu_read) X(alu_inp) X(array_inp) X(inp_reader) X(wgt_reader)

#define OF_PAGES(X) X(page_store) X(page_writer)

static bool model_init(model *t, const machine *m, const step_list *list, uint64_t work_bytes)
{
    *t = (model){.m = m,
                 .list = list,
                 .reads.moved = UINT64_MAX,
                 .fetching = {.lead = FETCH_LEAD, .asked = START},
                 .loading = {.lead = LOAD_LEAD, .pairs = true},
                 .computing = {.lead = COMPUTE_LEAD, .pairs = true},
                 .log_page =
                     log2_of(least(m->config->elem_bytes[VTA_MEM_INP], m->config->elem_bytes[VTA_MEM_OUT]))};
    t->page_count = work_bytes > 0 ? (int64_t)(work_bytes >> t->log_page) + 1 : 0; /* 0: not laid out yet */
    track_init(&t->inp, m->inp);
    track_init(&t->wgt, m->wgt);
    track_init(&t->out, m->acc);
    bool good = true;
#define INIT(what) good = marks_init(&t->what, GRANULES, LOG_BLOCK) && good;
    OF_GRANULES(INIT)
#undef INIT
#define INIT(what) good = marks_init(&t->what, t->page_count, LOG_PAGES) && good;
    OF_PAGES(INIT)
#undef INIT
    const size_t stores = stores_of(list) + 1;
    t->store_end = calloc(stores, sizeof *t->store_end);
    t->known_at = calloc(stores, sizeof *t->known_at);
    good = uop_plan_make(&t->uops, m, list) && good;
    return good && t->store_end != NULL && t->known_at != NULL;
}

static void model_free(model *t)
{
#define FREE(what) marks_free(&t->what);
    OF_GRANULES(FREE)
    OF_PAGES(FREE)
#undef FREE
    free(t->store_end);
    free(t->known_at);
    uop_plan_free(&t->uops);
}

/* UINT64_MAX: not below `limit`. */
static cycles walk(const machine *m, const step_list *list, uint64_t work_bytes, uint64_t *shares,
                   uint32_t tags, uint64_t limit)
{
    cycles end = 0;
    model *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return 0;
    }
    if (model_init(t, m, list, work_bytes)) {
        t->deeds.item_size = sizeof(timing_deed);
        t->keep = shares != NULL;
        t->loads_left = loads_of(list);
        for (size_t i = 0; i < list->steps.count && end < limit; i++) {
            const step *s = step_at(list, i);
            t->now.tag = s->tag;
            t->at = i;
            t->computes += s->kind != STEP_STORE && !load_is_early(s);
            end = later(end, run_step(t, s));
        }
        if (shares != NULL && !t->failed) {
            timing_shares(&t->deeds, end, shares, tags);
        }
        end = t->failed ? 0 : end < limit ? end : UINT64_MAX;
    }
    vta_vec_free(&t->deeds);
    model_free(t);
    free(t);
    return end;
}

uint64_t timing_of(const machine *m, const step_list *list, uint64_t work_bytes, uint64_t *shares,
                   uint32_t tags)
{
    return walk(m, list, work_bytes, shares, tags, UINT64_MAX);
}

uint64_t timing_below(const machine *m, const step_list *list, uint64_t limit)
{
    return walk(m, list, 0, NULL, 0, limit);
}
