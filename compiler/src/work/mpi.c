/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks as workers. Rank 0 leads, with one process beside it, so that no processor is idle and the work ends
 * even where every other rank is lost.
 */
#include <stdlib.h>
#include <string.h>

#include "../module/module.h"
#include "engine.h"
#include "ranks.h"
#include "vta/clock.h"

static const double rank_pause_s = 0.0005;
static const double farewell_s = 2.0; /* at least, for a rank that is still at work: */
enum { FAREWELL_FACTOR = 4 };         /* and so many times the longest piece */

bool vtac_work_is_rank(void)
{
    static const char *const marks[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const char *value = getenv(marks[i]);
        if (value != NULL && (i == 2 || atoi(value) > 1)) {
            return true;
        }
    }
    return false;
}

static vta_status load_mpi(vtac_work *w, vta_diag *diag)
{
    const vtac_module module = {"mpi", WORK_MPI_EDITION, w->options.plugin, .is_global = true};
    const void *calls = NULL;
    const vta_status status = vtac_module_open(&module, &calls, diag);
    w->mpi = calls;
    return status == VTA_OK ? VTA_OK : vta_context(diag, "work over MPI (built where libopenmpi-dev is)");
}

static bool send_message(const vtac_work *w, int to, const vtac_work_header *header, const char *text)
{
    char *message = malloc(sizeof *header + header->size);
    if (message == NULL) {
        return false;
    }
    memcpy(message, header, sizeof *header);
    memcpy(message + sizeof *header, text, header->size);
    const bool good = w->mpi->send(to, message, sizeof *header + header->size) == 0;
    free(message);
    return good;
}

static bool receive_result(const vtac_work *w, int *from, vtac_work_result *out)
{
    size_t size = 0;
    *out = (vtac_work_result){0};
    if (w->mpi->poll(from, &size) != 0) {
        return false;
    }
    char *message = calloc(1, size + sizeof out->header + 1);
    if (message == NULL || w->mpi->take(*from, message, size) != 0 || size < sizeof out->header) {
        free(message);
        return false;
    }
    memcpy(&out->header, message, sizeof out->header);
    memmove(message, message + sizeof out->header, size - sizeof out->header);
    message[size - sizeof out->header] = '\0';
    out->text = message;
    return true;
}

/* A message whose number is this ends a rank; its `failed` says whether somebody is missing. */
static const uint32_t last_message = UINT32_MAX;

static void serve_pieces(vtac_work *w)
{
    int from;
    vtac_work_result piece;
    for (;;) {
        if (!receive_result(w, &from, &piece)) {
            vtac_work_pause(rank_pause_s);
            continue;
        }
        if (piece.header.number == last_message) {
            break;
        }
        vtac_work_result result;
        if (vtac_work_do(w->fn, w->context, piece.header.number, piece.text, &result) == VTA_OK) {
            (void)send_message(w, 0, &result.header, result.text);
        }
        free(result.text);
        free(piece.text);
    }
    w->abandoned = piece.header.failed != 0;
    free(piece.text);
}

vta_status vtac_mpi_open(vtac_work *w, bool *leads, vta_diag *diag)
{
    int rank = 0;
    int size = 1;
    VTA_TRY(load_mpi(w, diag));
    if (w->mpi->begin(&rank, &size) != 0) {
        w->mpi = NULL;
        return vta_fail(diag, VTA_IO, "MPI does not start; run it under mpirun or srun --mpi=pmix");
    }
    *leads = rank == 0;
    if (!*leads) {
        serve_pieces(w);
        return VTA_OK;
    }
    w->workers = calloc((size_t)size, sizeof *w->workers);
    if (w->workers == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for %d ranks", size);
    }
    VTA_TRY(vtac_process_start(w, &w->workers[0], diag));
    for (w->worker_count = 1; w->worker_count < (uint32_t)size; w->worker_count++) {
        w->workers[w->worker_count] = (vtac_work_worker){.socket = -1, .rank = (int)w->worker_count};
    }
    return VTA_OK;
}

bool vtac_mpi_give(const vtac_work *w, const vtac_work_worker *worker, const vtac_work_header *header,
                   const char *piece)
{
    return send_message(w, worker->rank, header, piece);
}

bool vtac_mpi_take(const vtac_work *w, int *rank, vtac_work_result *out)
{
    return receive_result(w, rank, out);
}

static bool is_awaited(const vtac_work *w, const vtac_work_worker *worker)
{
    const double max = w->longest * FAREWELL_FACTOR;
    return worker->socket < 0 && worker->busy && !worker->gone &&
           vta_now() - worker->since < (max > farewell_s ? max : farewell_s);
}

/* Ranks that have a piece whose result came from another are at work, and not lost: they are waited for as
 * long as a piece may take. Without them no rank could take its leave, and mpirun would call the work failed.
 */
static void await_ranks(vtac_work *w)
{
    bool awaited = !atomic_load(&w->stopped);
    while (awaited) {
        int rank;
        vtac_work_result result;
        while (vtac_mpi_take(w, &rank, &result)) {
            if (rank > 0 && (uint32_t)rank < w->worker_count) { /* a rank is the worker of its number */
                w->workers[rank].busy = false;
            }
            free(result.text);
        }
        awaited = false;
        for (uint32_t i = 0; i < w->worker_count && !awaited; i++) {
            awaited = is_awaited(w, &w->workers[i]);
        }
        if (awaited) {
            vtac_work_pause(rank_pause_s);
        }
    }
}

/* All ranks take their leave together, or, where one of them does not answer, none does. */
void vtac_mpi_close(vtac_work *w)
{
    if (w->mpi == NULL) {
        return;
    }
    await_ranks(w);
    for (uint32_t i = 0; i < w->worker_count; i++) {
        const bool silent = w->workers[i].socket < 0 && (w->workers[i].busy || w->workers[i].gone);
        w->lost += silent && !w->workers[i].gone;
        w->abandoned = w->abandoned || silent;
    }
    const vtac_work_header end = {.number = last_message, .failed = w->abandoned};
    for (uint32_t i = 1; i < w->worker_count; i++) {
        if (!w->workers[i].gone) {
            (void)send_message(w, w->workers[i].rank, &end, "");
        }
    }
    if (!w->abandoned) {
        w->mpi->end();
    }
    w->mpi = NULL;
}
