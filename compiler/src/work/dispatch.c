/* SPDX-License-Identifier: Apache-2.0
 *
 * A leader that gives each worker its next piece when it brings a result. A worker whose socket closes is
 * lost and another one takes its place; of a rank, only silence can be noticed: when nothing else is left to
 * give, what such a rank still has goes to others, too, and the first result counts.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "vta/clock.h"
#include "vta/fail.h"

static const double patience_s = 2.0; /* with a rank, at least; and so many times the longest piece: */
enum { PATIENCE_FACTOR = 4, MAX_COPIES = 3, SLOW_POLL_MS = 200, FAST_POLL_MS = 1 };

typedef struct dispatch_state {
    vtac_work *w;
    const char *const *pieces;
    vtac_work_piece *state;
    uint32_t count, next, left;
    vtac_work_done *done;
    void *context;
} dispatch_state;

static void finish_piece(dispatch_state *r, uint32_t index, const char *result, const char *why,
                         double seconds)
{
    r->state[index].done = true;
    r->left--;
    r->done(r->context, index, result, why, seconds);
}

static void give_back(dispatch_state *r, uint32_t number)
{
    const uint32_t index = number - r->w->base;
    if (index < r->count && r->state[index].out > 0) {
        r->state[index].out--;
    }
}

/* The next piece for somebody who is idle; count where there is none. */
static uint32_t choose_piece(dispatch_state *r)
{
    while (r->next < r->count && (r->state[r->next].done || r->state[r->next].out > 0)) {
        r->next++;
    }
    if (r->next < r->count) {
        return r->next++;
    }
    for (uint32_t i = 0; i < r->count; i++) { /* what came back */
        if (!r->state[i].done && r->state[i].out == 0) {
            return i;
        }
    }
    const double now = vta_now();
    const double max = r->w->longest * PATIENCE_FACTOR;
    for (uint32_t i = 0; i < r->w->worker_count; i++) {
        const vtac_work_worker *worker = &r->w->workers[i];
        const uint32_t index = worker->number - r->w->base;
        if (worker->socket < 0 && worker->busy && !worker->gone && index < r->count &&
            !r->state[index].done && r->state[index].out < MAX_COPIES &&
            now - worker->since > (max > patience_s ? max : patience_s)) {
            return index;
        }
    }
    return r->count;
}

static bool give_piece(dispatch_state *r, vtac_work_worker *worker, uint32_t index)
{
    const vtac_work_header header = {.number = r->w->base + index, .size = strlen(r->pieces[index])};
    worker->busy = true;
    worker->number = header.number;
    worker->since = vta_now();
    r->state[index].out++;
    return worker->socket >= 0 ? vtac_process_give(worker, &header, r->pieces[index])
                               : vtac_mpi_give(r->w, worker, &header, r->pieces[index]);
}

/* A worker that is behind a socket is no more. */
static vta_status lose_worker(dispatch_state *r, vtac_work_worker *worker, const char *because,
                              vta_diag *diag)
{
    char why[128];
    const uint32_t index = worker->number - r->w->base;
    const bool busy = worker->busy;
    vtac_process_end(worker, why, sizeof why);
    r->w->lost++;
    if (busy && index < r->count) {
        give_back(r, worker->number);
        if (!r->state[index].done && ++r->state[index].losses >= r->w->options.tries) {
            finish_piece(r, index, NULL, because != NULL ? because : why, 0.0);
        }
    }
    return vtac_process_start(r->w, worker, diag);
}

static void accept_result(dispatch_state *r, vtac_work_worker *worker, vtac_work_result *result)
{
    const uint32_t index = result->header.number - r->w->base;
    worker->busy = false;
    give_back(r, result->header.number);
    if (index < r->count && !r->state[index].done) {
        const bool failed = result->header.failed != 0;
        r->w->longest = result->header.seconds > r->w->longest ? result->header.seconds : r->w->longest;
        finish_piece(r, index, failed ? NULL : result->text, failed ? result->text : NULL,
                     result->header.processor);
    }
    free(result->text);
}

static vta_status give_all(dispatch_state *r, vta_diag *diag)
{
    for (uint32_t i = 0; i < r->w->worker_count; i++) {
        vtac_work_worker *worker = &r->w->workers[i];
        while (!worker->busy && !worker->gone) {
            const uint32_t index = choose_piece(r);
            if (index == r->count) {
                return VTA_OK;
            }
            if (give_piece(r, worker, index)) {
                break;
            }
            if (worker->socket < 0) {
                worker->gone = true;
                r->w->lost++;
                r->w->abandoned = true;
                give_back(r, worker->number);
                break;
            }
            VTA_TRY(lose_worker(r, worker, NULL, diag));
        }
    }
    return VTA_OK;
}

static vta_status end_late_ones(dispatch_state *r, vta_diag *diag)
{
    const double limit = r->w->options.timeout_s;
    for (uint32_t i = 0; limit > 0 && i < r->w->worker_count; i++) {
        vtac_work_worker *worker = &r->w->workers[i];
        if (worker->socket >= 0 && worker->busy && vta_now() - worker->since > limit) {
            char why[64];
            (void)snprintf(why, sizeof why, "it was not done within %g s", limit);
            (void)kill(-worker->pid, SIGKILL);
            (void)kill(worker->pid, SIGKILL);
            VTA_TRY(lose_worker(r, worker, why, diag));
        }
    }
    return VTA_OK;
}

static vta_status wait_for_sockets(dispatch_state *r, vta_diag *diag)
{
    vtac_work *w = r->w;
    struct pollfd *fds = calloc((size_t)w->worker_count + 1, sizeof *fds);
    if (fds == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < w->worker_count; i++) {
        fds[i] = (struct pollfd){.fd = w->workers[i].socket, .events = POLLIN};
    }
    const int ready = poll(fds, w->worker_count, w->mpi != NULL ? FAST_POLL_MS : SLOW_POLL_MS);
    vta_status status = VTA_OK;
    for (uint32_t i = 0; ready > 0 && i < w->worker_count && status == VTA_OK; i++) {
        vtac_work_result result;
        if (fds[i].fd < 0 || fds[i].revents == 0) {
            continue;
        }
        if (vtac_process_take(&w->workers[i], &result)) {
            accept_result(r, &w->workers[i], &result);
        } else {
            status = lose_worker(r, &w->workers[i], NULL, diag);
        }
    }
    free(fds);
    return status;
}

static void take_from_ranks(dispatch_state *r)
{
    int rank;
    vtac_work_result result;
    while (r->w->mpi != NULL && vtac_mpi_take(r->w, &rank, &result)) {
        for (uint32_t i = 0; i < r->w->worker_count; i++) {
            if (r->w->workers[i].socket < 0 && r->w->workers[i].rank == rank) {
                accept_result(r, &r->w->workers[i], &result);
                result.text = NULL;
                break;
            }
        }
        free(result.text);
    }
}

static vta_status do_all(dispatch_state *r, vta_diag *diag)
{
    while (r->left > 0) {
        if (atomic_load(&r->w->stopped)) {
            return vta_fail(diag, VTA_INTERRUPTED, "interrupted");
        }
        VTA_TRY(give_all(r, diag));
        VTA_TRY(wait_for_sockets(r, diag));
        take_from_ranks(r);
        VTA_TRY(end_late_ones(r, diag));
    }
    return VTA_OK;
}

vta_status vtac_dispatch_run(vtac_work *w, const char *const *pieces, uint32_t count, vtac_work_done *done,
                             void *context, vta_diag *diag)
{
    dispatch_state r = {
        .w = w, .pieces = pieces, .count = count, .left = count, .done = done, .context = context};
    r.state = calloc((size_t)count + 1, sizeof *r.state);
    if (r.state == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for %" PRIu32 " pieces", count);
    }
    const vta_status status = do_all(&r, diag);
    free(r.state);
    return status;
}
