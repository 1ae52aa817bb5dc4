/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that can be cut, handed out: pieces go in, results come out, in any order. A piece is a text that says
 * all that a worker must know beyond what it was opened with; the same piece has the same result wherever it
 * runs, so that one that is lost with its worker is simply given to another.
 *
 * Whoever opens a `vtac_work` is its leader or one of its workers: under MPI and in a folder all of them are
 * the same program with the same arguments. A worker's vtac_work_open returns when its work is over.
 */
#ifndef VTAC_WORK_H
#define VTAC_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"
#include "vta/str.h"

typedef enum vtac_work_engine {
    VTAC_WORK_PROCESSES, /* of this machine, made of this one by fork */
    VTAC_WORK_MPI,       /* ranks; the leader's own machine has one process beside it */
    VTAC_WORK_FOLDER     /* whoever looks into a folder that all share: Slurm's jobs, or others */
} vtac_work_engine;

/* Seconds that a worker in a folder waits for its leader. */
#define VTAC_WORK_PATIENCE 120

/* Does a piece: appends the result. A failure is told to the leader. Runs in a worker. */
typedef vta_status vtac_work_fn(void *context, const char *piece, vta_str *result, vta_diag *diag);

/* A result has come, in the leader. `why` is NULL, or the reason why there is none: the piece failed, or as
 * many workers as were allowed were lost with it. `seconds` is the processor time that it took its worker. */
typedef void vtac_work_done(void *context, uint32_t number, const char *result, const char *why,
                            double seconds);

typedef struct vtac_work_options {
    vtac_work_engine engine;
    uint32_t workers;          /* PROCESSES, and jobs of an array; 0: one for each processor */
    double timeout_s;          /* PROCESSES: a piece that takes longer is lost; 0: none does */
    uint32_t tries;            /* workers that a piece may be lost with; 0: five */
    const char *plugin;        /* MPI: where the module with MPI in it is; NULL: beside this program */
    const char *folder;        /* FOLDER: results that lie there already are taken */
    const char *key;           /* FOLDER: what the work is; a folder with other work in it is refused */
    bool joins;                /* FOLDER: this process works, another leads */
    const char *const *submit; /* FOLDER: the words of sbatch, up to a NULL, which hand out `workers` workers;
                                * NULL: they come by themselves */
    double stale_s;            /* FOLDER: silence of a worker after which it counts as lost; 0: 20 */
} vtac_work_options;

typedef struct vtac_work vtac_work;

/* *out is owned: vtac_work_close. In a worker *out is NULL after its work: end quietly. */
vta_status vtac_work_open(const vtac_work_options *options, vtac_work_fn *fn, void *context, vtac_work **out,
                          vta_diag *diag);

/* Does all pieces. VTA_OK even where pieces failed: `done` was told. May be called again. */
vta_status vtac_work_run(vtac_work *work, const char *const *pieces, uint32_t count, vtac_work_done *done,
                         void *context, vta_diag *diag);
void vtac_work_close(vtac_work *work);

/* Ends a run with VTA_INTERRUPTED; a signal's handler may call it. */
void vtac_work_stop(void *work);
/* For what takes long between two runs. */
bool vtac_work_is_stopped(const vtac_work *work);

uint32_t vtac_work_workers(const vtac_work *work);
/* Workers that were lost so far. */
uint32_t vtac_work_lost(const vtac_work *work);

/* This process is a rank of several, started by mpirun or srun. */
bool vtac_work_is_rank(void);

/* Seconds that `workers` workers take for these pieces, handed out in their order, when the leader spends
 * `hand_s` on each piece and its result. */
double vtac_work_simulate(const double *seconds, uint32_t count, uint32_t workers, double hand_s);

#endif
