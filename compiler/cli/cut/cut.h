/* SPDX-License-Identifier: Apache-2.0
 *
 * A run of tsim cut into parts that workers simulate. The model runs once with the functional simulator in
 * the place of the RTL, which gives each program's memory; then parts of the programs are handed out, each
 * simulated by the RTL from some way before its own cycles to some way behind; then the model runs again, and
 * where it starts a program, the parts' cycles are played one behind the other.
 */
#ifndef VTAC_CLI_CUT_H
#define VTAC_CLI_CUT_H

#include "vta/model.h"
#include "workers.h"

typedef struct cli_cut cli_cut;

/* Runs the model, and has its programs simulated in parts: the run that follows is played. `device` is the
 * URI that the workers open. *out is owned: cli_cut_free, after the last run. `leads` is false in a worker,
 * whose work is over then. What cannot be cut is simulated whole by the run that follows, and
 * cli_cut_print says why. */
vta_status cli_cut_run(const cli_args *args, const cli_work *how, vta_model *model, const char *device,
                       cli_cut **out, bool *leads, vta_diag *diag);
void cli_cut_free(cli_cut *cut);

/* Wall-clock seconds of all parts together. */
double cli_cut_seconds(const cli_cut *cut);

/* Each cut, and how it is known to be exact. */
void cli_cut_print(const cli_cut *cut);
void cli_cut_json(const cli_cut *cut);

#endif
