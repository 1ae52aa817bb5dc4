/* SPDX-License-Identifier: Apache-2.0
 *
 * This program, run by itself: what it does there cannot hurt who runs it.
 */
#ifndef VTAC_CLI_SELF_H
#define VTAC_CLI_SELF_H

#include <stdint.h>
#include <sys/types.h>

#include "cli.h"
#include "vta/status.h"

/* The words behind "vtac" up to a NULL; what it prints goes to the file. `timeout_s` 0: as long as it takes.
 */
vta_status cli_run_self(const char *const *words, const char *out, double timeout_s, vta_diag *diag);

/* A command of the shell's with a file as its last word; what it prints goes to `out`, and what becomes of it
 * is for who reads that. */
vta_status cli_run_command(const char *command, const char *file, const char *out, vta_diag *diag);

/* This program, begun: a process group of its own, to be ended by kill(-pid) and waited for. */
vta_status cli_start_self(const char *const *words, const char *out, pid_t *pid, vta_diag *diag);

/* Appends the options by which this command reads its model (--shape, --weights, --output-value, --signature,
 * --calib) to the `count` words of another command, and a NULL. */
enum { CLI_MAX_SELF_WORDS = 96 };
vta_status cli_words_of_model(const cli_args *args, const char *words[CLI_MAX_SELF_WORDS], size_t count,
                              vta_diag *diag);

/* The environment without what tells a rank of mpirun: who is run is none. Owned, with
 * room for one more behind the last; its strings are borrowed. NULL: no memory. */
char **cli_environment_of_no_rank(void);

/* The cycles that a run's `--json` names in a file, behind what else it printed. */
vta_status cli_self_cycles(const char *path, uint64_t *cycles, vta_diag *diag);

#endif
