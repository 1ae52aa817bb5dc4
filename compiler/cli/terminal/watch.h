/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress of models that run: on a terminal, after two seconds, a line with the time left.
 */
#ifndef VTAC_CLI_WATCH_H
#define VTAC_CLI_WATCH_H

#include <stdint.h>

#include "vta/model.h"

typedef struct cli_watch cli_watch;

/* Watches `model` through `runs` runs. The others take NULL, which is what comes without memory. */
cli_watch *cli_watch_begin(const vta_model *model, uint64_t runs);

/* Counts a run as done. */
void cli_watch_run(cli_watch *watch);
void cli_watch_end(cli_watch *watch);

/* cli_run_model, watched. */
vta_status cli_watch_model(vta_model *model, vta_diag *diag);

/* The line, without its end; "" where there is nothing to tell yet. `done` of `runs` are complete. */
void cli_watch_line(const vta_model_position *at, uint64_t done, uint64_t runs, double seconds, char *text,
                    size_t size);

#endif
