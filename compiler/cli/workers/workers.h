/* SPDX-License-Identifier: Apache-2.0
 *
 * How verbs hand out work: their options, and what follows from mpirun.
 */
#ifndef VTAC_CLI_WORKERS_H
#define VTAC_CLI_WORKERS_H

#include "cli.h"
#include "vtac/work.h"

/* Rows of a verb's option table. */
#define CLI_WORK_OPTIONS                                                                                     \
    {"--jobs", "N", CLI_TEXT, "workers (default: one for each processor)"},                                  \
        {"--slurm", "DIR", CLI_FILE, "hand the work to Slurm's jobs, by this shared folder"},                \
        {"--sbatch", "WORD", CLI_TEXT, "--slurm: a word for sbatch (may be repeated)"},                      \
        {"--folder", "DIR", CLI_FILE, "hand it to whoever joins this folder"},                               \
    {                                                                                                        \
        "--join", "DIR", CLI_FILE, "with the other's words: help in this folder"                             \
    }

/* The options of workers, in two lines of help. */
#define CLI_WORK_OPTIONS_SHORT(jobs)                                                                         \
    {"--jobs", "N", CLI_TEXT, jobs},                                                                         \
        {"--slurm", "DIR", CLI_FILE, "or as 'vtac explore' (--slurm, --folder, --join, mpirun)"},            \
        {"--sbatch", "WORD", CLI_TEXT, NULL}, {"--folder", "DIR", CLI_FILE, NULL},                           \
    {                                                                                                        \
        "--join", "DIR", CLI_FILE, NULL                                                                      \
    }

typedef struct cli_work {
    vtac_work_options options;
} cli_work;

/* CLI_OK, or CLI_USAGE with the message written. */
int cli_read_work(const cli_args *args, cli_work *out);

/* vtac_work_open; `key` says what the work is. Ctrl-C stops what it runs. */
vta_status cli_open_work(const cli_args *args, const cli_work *how, const char *key, vtac_work_fn *fn,
                         void *context, vtac_work **out, vta_diag *diag);
void cli_close_work(vtac_work *work);

#endif
