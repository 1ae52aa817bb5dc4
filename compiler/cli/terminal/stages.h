/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress of the compiler: on a terminal, after two seconds, a line with the stage, how far it is, and how
 * long it goes on.
 */
#ifndef VTAC_CLI_STAGES_H
#define VTAC_CLI_STAGES_H

#include "vtac/progress.h"

/* Begins the line of stages, which cli_stages_end ends. One job at a time has such a line. */
void cli_stages_begin(void);
void cli_stages_end(void);

/* For the options of what takes long; NULL outside, and where nothing is to be shown. */
const vtac_progress *cli_stages(void);

/* A stage of the program's own, as vtac_progress_at; whether to go on is asked by cli_go_on. */
void cli_stage(const char *stage, const char *item, size_t done, size_t total);

/* Sets the outer stage of the stages that follow: "case", 2, 10 is the third of ten. */
void cli_stages_outer(const char *what, size_t done, size_t total);

/* Before something else is printed. */
void cli_stages_hide(void);

#endif
