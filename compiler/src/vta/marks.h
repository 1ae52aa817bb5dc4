/* SPDX-License-Identifier: Apache-2.0
 *
 * A number for each granule of a scratchpad or of memory, such as the time of the last write. Layers write
 * and read long runs of granules. So granules form blocks, and a block whose granules all have the same
 * number stores it once. With few granules there are no blocks, which would only cost time.
 */
#ifndef VTAC_VTA_MARKS_H
#define VTAC_VTA_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The granules first … last; none where last < first. */
typedef struct granules {
    int64_t first, last;
} granules;

enum { MARKS_FEW = 512 }; /* up to so many granules need no blocks */

typedef struct marks {
    uint64_t *each; /* by granule; stale in blocks that are even */
    uint64_t *max;  /* by block: the largest number in it */
    bool *even;     /* by block: all its granules have the same number; NULL: there are no blocks */
    int log_block;
} marks;

/* Sets all numbers to 0. A block has 2^log_block granules. False: no memory. */
bool vtac_vta_marks_init(marks *m, int64_t count, int log_block);
void vtac_vta_marks_free(marks *m);

/* marks.c: the same as marks_latest and marks_set, where there are blocks. */
uint64_t vtac_vta_marks_latest_of_blocks(const marks *m, granules g);
void vtac_vta_marks_set_blocks(marks *m, granules g, uint64_t value);

/* The largest number of the granules; 0 for no granules. */
static inline uint64_t marks_latest(const marks *m, granules g)
{
    uint64_t found = 0;
    if (m->even != NULL) {
        return vtac_vta_marks_latest_of_blocks(m, g);
    }
    for (int64_t i = g.first; i <= g.last; i++) {
        found = m->each[i] > found ? m->each[i] : found;
    }
    return found;
}

static inline void marks_set(marks *m, granules g, uint64_t value)
{
    if (m->even != NULL) {
        vtac_vta_marks_set_blocks(m, g, value);
        return;
    }
    for (int64_t i = g.first; i <= g.last; i++) {
        m->each[i] = value;
    }
}

/* Raises numbers below `value` to `value`. */
void vtac_vta_marks_raise(marks *m, granules g, uint64_t value);

/* Adds `more` to the numbers that are not 0. */
void vtac_vta_marks_add(marks *m, granules g, uint64_t more);

#endif
