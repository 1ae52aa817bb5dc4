/* SPDX-License-Identifier: Apache-2.0
 *
 * The report of a compilation: what runs where, and what it is predicted to take.
 */
#ifndef VTAC_CLI_REPORT_H
#define VTAC_CLI_REPORT_H

#include "vtac/partition.h"

/* Layer by layer, then a summary; `partition` NULL: nothing runs on the accelerator. */
void cli_report_text_of(const vtac_partition *partition);
/* Prints the report as members of a JSON object: ', "layers": [...], "cycles": ...'. */
void cli_report_json_of(const vtac_partition *partition);

#endif
