/* SPDX-License-Identifier: Apache-2.0
 *
 * The report of a compilation: what runs where, and what it is predicted to take.
 */
#ifndef VTAC_CLI_REPORT_H
#define VTAC_CLI_REPORT_H

#include "cli.h"
#include "vtac/partition.h"

/* Layer by layer, then a summary; `partition` NULL: nothing runs on the accelerator. */
void cli_report_text_of(const vtac_partition *partition);
/* A sentence where 4 bits hold weights of layers: how many layers, and how the configuration loads them. */
void cli_report_bits(const vtac_partition *partition);
/* The same as a note on standard error, where the configuration has no LOADs of 4 bits and most weights would
 * fit. */
void cli_report_wide_loads(const cli_args *args, const vtac_partition *partition);

/* The share of the work on the accelerator, and what is left to the host, a line for each operator. */
void cli_report_left_text(const vtac_partition *partition);
/* As members of a JSON object: ', "share": 0.98, "left": [...]'. */
void cli_report_left_json(const vtac_partition *partition);

/* Prints the report as members of a JSON object: ', "layers": [...], "cycles": ...'. */
void cli_report_json_of(const vtac_partition *partition);

#endif
