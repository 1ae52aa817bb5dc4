/* SPDX-License-Identifier: Apache-2.0
 *
 * What `vtac exec` reports: parts of one run.
 */
#ifndef VTAC_EXEC_H
#define VTAC_EXEC_H

#include "image.h"

/* One .expect after the run. */
typedef struct cli_match {
    const vta_symbol *symbol;
    uint64_t values, differing;
    uint64_t index; /* of the first that differs */
    int64_t expected, got;
} cli_match;

typedef struct cli_result {
    const char *path; /* the program's file */
    const char *device;
    vta_report report;
    double seconds;
    cli_match *matches;
    size_t match_count, mismatches;
} cli_result;

/* Compares the memory of all symbols with their expectations. */
vta_status cli_compare(cli_result *result, const cli_image *image, const vta_program *program,
                       vta_diag *diag);

void cli_report_text(const cli_result *result, const vta_program *program);
void cli_report_json(const cli_result *result, const vta_program *program);

#endif
