/* SPDX-License-Identifier: Apache-2.0
 *
 * Handing out work: what all engines share.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"
#include "vta/clock.h"
#include "vta/fail.h"

void vtac_work_pause(double seconds)
{
    const struct timespec pause = {.tv_sec = (time_t)seconds,
                                   .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    (void)nanosleep(&pause, NULL);
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + 1e-6 * (double)time->tv_usec;
}

/* Processor seconds of this process and of the processes that it has started. */
static double processor_seconds(void)
{
    static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    double sum = 0.0;
    for (int i = 0; i < 2; i++) {
        struct rusage usage;
        sum += getrusage(whose[i], &usage) == 0 ? seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime)
                                                : 0.0;
    }
    return sum;
}

vta_status vtac_work_do(vtac_work_fn *fn, void *context, uint32_t number, const char *piece,
                        vtac_work_result *out)
{
    vta_str text = {0};
    vta_diag diag = {0};
    const double begin = vta_now();
    const double processor = processor_seconds();
    const vta_status status = fn(context, piece, &text, &diag);
    *out = (vtac_work_result){.header = {.number = number, .failed = status != VTA_OK}};
    if (status != VTA_OK || text.failed) {
        vta_str_free(&text);
        out->header.failed = 1;
        vta_str_put(&text, diag.text[0] != '\0' ? diag.text : vta_status_text(status));
    }
    out->header.seconds = vta_now() - begin;
    out->header.processor = processor_seconds() - processor;
    out->header.size = text.size;
    out->text = vta_str_take(&text);
    if (out->text == NULL) {
        out->text = calloc(1, 1);
        out->header.size = 0;
    }
    return out->text != NULL ? VTA_OK : VTA_NOMEM;
}

static uint32_t worker_count(const vtac_work_options *options)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t here = processors > 0 ? (uint32_t)processors : 1;
    const uint32_t count = options->workers > 0 ? options->workers : here;
    return count < WORK_MAX_WORKERS ? count : WORK_MAX_WORKERS;
}

static vta_status start_processes(vtac_work *w, uint32_t count, vta_diag *diag)
{
    w->workers = calloc(count, sizeof *w->workers);
    if (w->workers == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for %" PRIu32 " workers", count);
    }
    for (; w->worker_count < count; w->worker_count++) {
        VTA_TRY(vtac_process_start(w, &w->workers[w->worker_count], diag));
    }
    return VTA_OK;
}

static vta_status open_engine(vtac_work *w, bool *leads, vta_diag *diag)
{
    switch (w->options.engine) {
    case VTAC_WORK_PROCESSES: return start_processes(w, worker_count(&w->options), diag);
    case VTAC_WORK_MPI: return vtac_mpi_open(w, leads, diag);
    case VTAC_WORK_FOLDER: return vtac_folder_open(w, leads, diag);
    }
    return vta_fail(diag, VTA_INVALID, "no such way to hand out work");
}

vta_status vtac_work_open(const vtac_work_options *options, vtac_work_fn *fn, void *context, vtac_work **out,
                          vta_diag *diag)
{
    bool leads = true;
    *out = NULL;
    vtac_work *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return vta_no_memory(diag);
    }
    w->options = *options;
    w->options.tries = options->tries > 0 ? options->tries : WORK_TRIES;
    w->options.workers = worker_count(options);
    w->fn = fn;
    w->context = context;
    const vta_status status = open_engine(w, &leads, diag);
    if (status != VTA_OK || !leads) {
        vtac_work_close(w);
        return status;
    }
    *out = w;
    return VTA_OK;
}

vta_status vtac_work_run(vtac_work *w, const char *const *pieces, uint32_t count, vtac_work_done *done,
                         void *context, vta_diag *diag)
{
    const vta_status status = w->options.engine == VTAC_WORK_FOLDER
                                  ? vtac_folder_run(w, pieces, count, done, context, diag)
                                  : vtac_dispatch_run(w, pieces, count, done, context, diag);
    w->base += count;
    return status;
}

void vtac_work_close(vtac_work *w)
{
    if (w == NULL) {
        return;
    }
    if (w->options.engine == VTAC_WORK_FOLDER) {
        vtac_folder_close(w);
    }
    vtac_mpi_close(w);
    for (uint32_t i = 0; i < w->worker_count; i++) {
        if (w->workers[i].socket >= 0) {
            vtac_process_end(&w->workers[i], NULL, 0);
        }
    }
    free(w->workers);
    free(w);
}

void vtac_work_stop(void *work)
{
    vtac_work *w = work;
    atomic_store(&w->stopped, true);
}

bool vtac_work_is_stopped(const vtac_work *w)
{
    return atomic_load(&w->stopped);
}

uint32_t vtac_work_workers(const vtac_work *w)
{
    return w->options.engine == VTAC_WORK_FOLDER ? w->options.workers : w->worker_count;
}

uint32_t vtac_work_lost(const vtac_work *w)
{
    return w->lost;
}

double vtac_work_simulate(const double *seconds, uint32_t count, uint32_t workers, double hand_s)
{
    double *free_at = calloc((size_t)workers + 1, sizeof *free_at);
    double leader = 0.0;
    double end = 0.0;
    for (uint32_t i = 0; free_at != NULL && i < count; i++) {
        uint32_t first = 0;
        for (uint32_t k = 1; k < workers; k++) {
            first = free_at[k] < free_at[first] ? k : first;
        }
        leader = (leader > free_at[first] ? leader : free_at[first]) + hand_s;
        free_at[first] = leader + seconds[i];
        end = free_at[first] > end ? free_at[first] : end;
    }
    free(free_at);
    return end;
}
