/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac tune: what its two kinds, kernels of the host and layers of the accelerator, share.
 */
#ifndef VTAC_CLI_TUNING_H
#define VTAC_CLI_TUNING_H

#include <stdatomic.h>

#include "offload.h"
#include "tensors.h"
#include "vtac/codegen.h"
#include "vtac/tune.h"
#include "vtac/work.h"
#include "workers.h"

/* Measured cost of a task in a trial. */
typedef struct cli_trial {
    uint32_t task;
    double cost; /* HUGE_VAL: it came to nothing */
} cli_trial;

typedef struct cli_tuning {
    const cli_args *args;
    const char *model, *log;
    vtac_graph *graph;
    vtac_target target;
    cli_offload offload;
    cli_work how;
    vtac_tuner tuner;
    uint64_t trials, early, seed, repeat, threads;
    double budget_s, begin;
    vtac_tasks tasks;
    vta_vec history;           /* cli_trial, in their order */
    char folder[4096];         /* temporary */
    uint32_t done, better;     /* trials, and those that made something better */
    bool is_leader;            /* and no rank that helps another */
    uint32_t failed;           /* candidates that came to nothing */
    struct cli_boards *boards; /* llvm: those of --device; NULL: this machine */
    vtac_work *work;           /* llvm: what a signal stops, */
    atomic_bool stopped;       /* and has stopped */
} cli_tuning;

/* Before the work, not behind it: whether log and page can be written. */
vta_status cli_tuning_check_files(const cli_tuning *t, vta_diag *diag);
/* "x86_64-…/cpu/hash" or "vta/hash": whom records are for. */
void cli_tuning_target(const cli_tuning *t, char *text, size_t size);
/* A record of a trial, or of what was proved at the end. */
vta_status cli_tuning_note(cli_tuning *t, const vtac_task *task, uint32_t point, double cost, bool proved,
                           vta_diag *diag);
/* The words that have `vtac compile` take what was found. */
void cli_tuning_hint(const cli_tuning *t, char *text, size_t size);
/* A page with the curve of each task. */
vta_status cli_tuning_page(const cli_tuning *t, const char *path, vta_diag *diag);
/* Takes the results that the log holds already. */
vta_status cli_tuning_resume(cli_tuning *t, vta_diag *diag);
/* True if the search goes on: by trials, seconds and early stop. */
bool cli_tuning_goes_on(const cli_tuning *t, uint32_t since_better);

vta_status cli_tune_host(cli_tuning *t, vta_diag *diag);
vta_status cli_tune_vta(cli_tuning *t, vta_diag *diag);

#endif
