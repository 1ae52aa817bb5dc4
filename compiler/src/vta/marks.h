/* SPDX-License-Identifier: Apache-2.0
 *
 * A number for each granule of a scratchpad, or page of memory: when it was last written, say. Layers write
 * and read long runs, so granules lie in blocks, and a block whose granules have the same number keeps it
 * once.
 */
#ifndef VTAC_VTA_MARKS_H
#define VTAC_VTA_MARKS_H

#include <stdbool.h>
#include <stdint.h>

/* Granules from the first to the last; none where the last comes before the first. */
typedef struct granules {
    int64_t first, last;
} granules;

typedef struct marks {
    uint64_t *each; /* of granules; stale in blocks that are even */
    uint64_t *most; /* of blocks: the largest in it */
    bool *even;     /* of blocks: all have the same */
    int log_block;
} marks;

/* All are 0. A block has 2^log_block granules. False: no memory. */
bool marks_init(marks *m, int64_t count, int log_block);
void marks_free(marks *m);

/* The largest; 0 where there are none. */
uint64_t marks_latest(const marks *m, granules g);

void marks_set(marks *m, granules g, uint64_t value);

/* Those that are less become `value`. */
void marks_raise(marks *m, granules g, uint64_t value);

/* Those that are not 0 become so much more. */
void marks_add(marks *m, granules g, uint64_t more);

#endif
