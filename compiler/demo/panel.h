/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled classifiers side by side: over pictures that are drawn, and one by one over files.
 */
#ifndef DEMO_PANEL_H
#define DEMO_PANEL_H

#include <stdbool.h>
#include <stdint.h>

#include "vta/status.h"

/* Each of `names` is "MODEL.so" or "MODEL.so@DEVICE". */
typedef struct panel_options {
    const char *const *names;
    uint32_t count;
    bool json;
} panel_options;

/* Prints how many of `pictures` drawn from `seed` each gets right. */
vta_status demo_panel_score(const panel_options *options, uint32_t pictures, uint64_t seed, vta_diag *diag);

/* Prints what each makes of each file, and whether its numbers are those of the one before. */
vta_status demo_panel_classify(const panel_options *options, const char *const *files, uint32_t file_count,
                               vta_diag *diag);

#endif
