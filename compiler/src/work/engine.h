/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of vtac/work.h.
 *
 *   work.c       opening, the simulated schedule
 *   dispatch.c   a leader that speaks to each worker: processes and ranks
 *   process.c    workers behind sockets
 *   mpi.c        workers that are ranks
 *   folder.c     workers that look into a folder
 */
#ifndef VTAC_WORK_ENGINE_H
#define VTAC_WORK_ENGINE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "vtac/work.h"

enum { WORK_TRIES = 5, WORK_MAX_WORKERS = 4096 };

/* In front of a piece and of a result. */
typedef struct vtac_work_header {
    uint32_t number;  /* of all pieces since opening */
    uint32_t failed;  /* results: the text says why */
    double seconds;   /* on the clock */
    double processor; /* seconds of a processor's time: no other program's load is in it */
    uint64_t size;    /* of the text behind it */
} vtac_work_header;

typedef struct vtac_work_worker {
    int socket; /* -1: a rank, or gone */
    pid_t pid;
    int rank;
    bool gone, busy;
    uint32_t number;
    double since;
} vtac_work_worker;

typedef struct vtac_work_piece {
    bool done;
    uint32_t losses, out; /* workers that have it now */
} vtac_work_piece;

typedef struct vtac_work_result {
    vtac_work_header header;
    char *text; /* owned */
} vtac_work_result;

struct vtac_work_mpi;

struct vtac_work {
    vtac_work_options options;
    vtac_work_fn *fn;
    void *context;
    vtac_work_worker *workers;
    uint32_t worker_count;
    uint32_t base; /* number of the run's first piece */
    uint32_t lost;
    double longest; /* piece so far */
    bool abandoned; /* a rank never answered */
    const struct vtac_work_mpi *mpi;
    atomic_bool stopped;
    char job[64]; /* of the array */
};

/* work.c: does a piece here. */
vta_status vtac_work_do(vtac_work_fn *fn, void *context, uint32_t number, const char *piece,
                        vtac_work_result *out);

/* dispatch.c */
vta_status vtac_dispatch_run(vtac_work *w, const char *const *pieces, uint32_t count, vtac_work_done *done,
                             void *context, vta_diag *diag);

/* process.c */
vta_status vtac_process_start(vtac_work *w, vtac_work_worker *worker, vta_diag *diag);
bool vtac_process_give(const vtac_work_worker *worker, const vtac_work_header *header, const char *piece);
/* Takes a result that is there to be read; false: the worker is lost. */
bool vtac_process_take(const vtac_work_worker *worker, vtac_work_result *out);
/* Ends it, and says how it ended. */
void vtac_process_end(vtac_work_worker *worker, char *why, size_t size);

/* mpi.c */
vta_status vtac_mpi_open(vtac_work *w, bool *leads, vta_diag *diag);
bool vtac_mpi_give(const vtac_work *w, const vtac_work_worker *worker, const vtac_work_header *header,
                   const char *piece);
bool vtac_mpi_take(const vtac_work *w, int *rank, vtac_work_result *out); /* false: nothing there */
void vtac_mpi_close(vtac_work *w);

/* folder.c */
vta_status vtac_folder_open(vtac_work *w, bool *leads, vta_diag *diag);
vta_status vtac_folder_run(vtac_work *w, const char *const *pieces, uint32_t count, vtac_work_done *done,
                           void *context, vta_diag *diag);
void vtac_folder_close(vtac_work *w);

void vtac_work_pause(double seconds);

#endif
