/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a long job of the compiler is, for whoever waits for it. The compiler itself prints nothing.
 */
#ifndef VTAC_PROGRESS_H
#define VTAC_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"

/* `at` is called on the thread that does the work, before each item: "scheduling layers", "conv1", 3, 20 is
 * the fourth of twenty. A stage of one piece has a total of 0. The texts are valid during the call alone. It
 * returns true to end the work. */
typedef struct vtac_progress {
    bool (*at)(void *context, const char *stage, const char *item, uint32_t done, uint32_t total);
    void *context;
} vtac_progress;

/* NULL: nobody waits. VTA_INTERRUPTED where whoever waits wants no more. */
static inline vta_status vtac_progress_at(const vtac_progress *progress, const char *stage, const char *item,
                                          size_t done, size_t total, vta_diag *diag)
{
    const bool ends = progress != NULL && progress->at(progress->context, stage, item != NULL ? item : "",
                                                       (uint32_t)done, (uint32_t)total);
    return ends ? vta_fail(diag, VTA_INTERRUPTED, "interrupted") : VTA_OK;
}

#endif
