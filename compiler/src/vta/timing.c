/* SPDX-License-Identifier: Apache-2.0
 *
 * The timing model: goes through the list.
 */
#include <stdlib.h>

#include "model.h"
#include "vta/number.h"

static cycles run_step(model *t, const job *j)
{
    if (j->early) {
        return vtac_vta_load_step(t);
    }
    return j->kind == STEP_STORE ? vtac_vta_store_step(t) : vtac_vta_compute_step(t);
}

enum { LOG_BLOCK = 4, LOG_PAGES = 6 }; /* log2 of granules in a block of marks; of pages */

/* The marks of each scratchpad, and of pages. */
#define OF_INP(X) X(inp.wrote) X(inp.read) X(alu_inp) X(array_inp) X(inp_reader)
#define OF_WGT(X) X(wgt.wrote) X(wgt.read) X(wgt_reader)
#define OF_ACC(X) X(out.wrote) X(out.read) X(array_acc) X(alu_acc) X(load_acc) X(alu_read)

#define OF_PAGES(X) X(page_store) X(page_writer)

static bool model_init(model *t, const machine *m, const step_list *list, uint64_t work_bytes)
{
    *t = (model){.m = m,
                 .list = list,
                 .reads.moved = UINT64_MAX,
                 .fetching = {.lead = FETCH_LEAD, .asked = START},
                 .loading = {.lead = LOAD_LEAD, .pairs = true},
                 .computing = {.lead = COMPUTE_LEAD, .pairs = true},
                 .log_page = log_page_of(m)};
    t->page_count =
        work_bytes > 0 ? (int64_t)(work_bytes >> t->log_page) + 1 : 0; /* 0: memory is not laid out yet */
    bool good = vtac_vta_jobs_make(t);
#define INIT(what) good = vtac_vta_marks_init(&t->what, t->inp.places, LOG_BLOCK) && good;
    OF_INP(INIT)
#undef INIT
#define INIT(what) good = vtac_vta_marks_init(&t->what, t->wgt.places, LOG_BLOCK) && good;
    OF_WGT(INIT)
#undef INIT
#define INIT(what) good = vtac_vta_marks_init(&t->what, t->out.places, LOG_BLOCK) && good;
    OF_ACC(INIT)
#undef INIT
#define INIT(what) good = vtac_vta_marks_init(&t->what, t->page_count, LOG_PAGES) && good;
    OF_PAGES(INIT)
#undef INIT
    t->store_end = calloc(t->store_count + 1, sizeof *t->store_end);
    t->known_at = calloc(t->store_count + 1, sizeof *t->known_at);
    good = good && vtac_vta_uop_plan_make(t);
    vtac_vta_traffic_init(t);
    return good && t->store_end != NULL && t->known_at != NULL;
}

static void model_free(model *t)
{
#define FREE(what) vtac_vta_marks_free(&t->what);
    OF_INP(FREE)
    OF_WGT(FREE)
    OF_ACC(FREE)
    OF_PAGES(FREE)
#undef FREE
    free(t->jobs);
    free(t->store_end);
    free(t->known_at);
    vtac_vta_uop_plan_free(&t->uops);
}

/* Runs the model; UINT64_MAX: not below `limit`. */
static cycles run_model(const machine *m, const step_list *list, uint64_t work_bytes, uint64_t *shares,
                        uint32_t tags, uint64_t limit)
{
    cycles end = 0;
    model *t = malloc(sizeof *t);
    if (t == NULL) {
        return 0;
    }
    if (model_init(t, m, list, work_bytes)) {
        t->deeds.item_size = sizeof(timing_deed);
        t->keep = shares != NULL;
        cycles min_end = 0;
        for (size_t i = 0; i < t->count && min_end < limit; i++) {
            const job *j = &t->jobs[i];
            t->now.tag = j->tag;
            t->at = i;
            *work_left(t, j) -= work_of(j);
            t->computes += j->kind != STEP_STORE && !j->early;
            end = later(end, run_step(t, j));
            min_end = later(end, later(t->array_free + t->array_left, t->alu_free + t->alu_left));
        }
        if (shares != NULL && !t->failed) {
            vtac_vta_timing_shares(&t->deeds, end, shares, tags);
        }
        end = t->failed ? 0 : min_end < limit ? end : UINT64_MAX;
    }
    vta_vec_free(&t->deeds);
    model_free(t);
    free(t);
    return end;
}

uint64_t vtac_vta_timing_of(const machine *m, const step_list *list, uint64_t work_bytes, uint64_t *shares,
                            uint32_t tags)
{
    return run_model(m, list, work_bytes, shares, tags, UINT64_MAX);
}

uint64_t vtac_vta_timing_below(const machine *m, const step_list *list, uint64_t work_bytes, uint64_t limit)
{
    return run_model(m, list, work_bytes, NULL, 0, limit);
}
