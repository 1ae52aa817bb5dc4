/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a long job of the compiler is, for whoever waits for it. The compiler itself prints nothing.
 */
#ifndef VTAC_PROGRESS_H
#define VTAC_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/* `at` is called on the thread that does the work, before each item: "scheduling layers", "conv1", 3, 20 is
 * the fourth of twenty. A stage of one piece has a total of 0. The texts are valid during the call alone. */
typedef struct vtac_progress {
    void (*at)(void *context, const char *stage, const char *item, uint32_t done, uint32_t total);
    void *context;
} vtac_progress;

/* NULL: nobody waits. */
static inline void vtac_progress_at(const vtac_progress *progress, const char *stage, const char *item,
                                    size_t done, size_t total)
{
    if (progress != NULL) {
        progress->at(progress->context, stage, item != NULL ? item : "", (uint32_t)done, (uint32_t)total);
    }
}

#endif
