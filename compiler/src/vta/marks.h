/* SPDX-License-Identifier: Apache-2.0
 *
 * A number for each place of a scratchpad, or page of memory: when it was last written, say. Layers write and
 * read long runs of pages, so granules lie in blocks, and a block whose granules have the same number keeps
 * it once. Where there are few granules, blocks would only be in the way.
 */
#ifndef VTAC_VTA_MARKS_H
#define VTAC_VTA_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Granules from the first to the last; none where the last comes before the first. */
typedef struct granules {
    int64_t first, last;
} granules;

enum { MARKS_FEW = 512 }; /* granules, at most, that do not lie in blocks */

typedef struct marks {
    uint64_t *each; /* of granules; stale in blocks that are even */
    uint64_t *max;  /* of blocks: the largest in it */
    bool *even;     /* of blocks: all have the same; NULL: there are none */
    int log_block;
} marks;

/* All are 0. A block has 2^log_block granules. False: no memory. */
bool vtac_vta_marks_init(marks *m, int64_t count, int log_block);
void vtac_vta_marks_free(marks *m);

/* marks.c: of granules that lie in blocks. */
uint64_t vtac_vta_marks_latest_of_blocks(const marks *m, granules g);
void vtac_vta_marks_set_blocks(marks *m, granules g, uint64_t value);

/* The largest; 0 where there are none. */
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

/* Those that are less become `value`. */
void vtac_vta_marks_raise(marks *m, granules g, uint64_t value);

/* Those that are not 0 become so much more. */
void vtac_vta_marks_add(marks *m, granules g, uint64_t more);

#endif
