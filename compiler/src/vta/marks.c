/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of granules, kept block by block.
 */
#include "marks.h"

#include <stdlib.h>

#include "vta/number.h"

bool vtac_vta_marks_init(marks *m, int64_t count, int log_block)
{
    if (count <= MARKS_FEW) {
        *m = (marks){.each = calloc((size_t)count + 1, sizeof *m->each)};
        return m->each != NULL;
    }
    const size_t blocks = ((size_t)count >> log_block) + 1;
    *m = (marks){.each = malloc((blocks << log_block) * sizeof *m->each),
                 .max = calloc(blocks, sizeof *m->max),
                 .even = malloc(blocks * sizeof *m->even),
                 .log_block = log_block};
    for (size_t b = 0; m->even != NULL && b < blocks; b++) {
        m->even[b] = true;
    }
    return m->each != NULL && m->max != NULL && m->even != NULL;
}

void vtac_vta_marks_free(marks *m)
{
    free(m->each);
    free(m->max);
    free(m->even);
}

/* The part of a block that a range of granules covers. */
typedef struct part_of_block {
    int64_t block;
    uint64_t *each; /* the first granule of the part */
    int64_t count;
    bool whole;
} part_of_block;

static inline part_of_block part_at(const marks *m, granules g, int64_t block)
{
    const int64_t begin = block << m->log_block, size = INT64_C(1) << m->log_block, end = begin + size;
    const int64_t from = g.first > begin ? g.first : begin, to = g.last + 1 < end ? g.last + 1 : end;
    return (part_of_block){block, &m->each[from], to - from, to - from == size};
}

/* Finds the maximum in four independent lanes: a single chain of comparisons would wait for each result, and
 * the timing model spends much of its time here. */
static inline uint64_t max_of(const uint64_t *of, int64_t count)
{
    enum { BESIDE = 4 };
    uint64_t all[BESIDE] = {0};
    int64_t i = 0;
    for (; i + BESIDE <= count; i += BESIDE) {
        for (int k = 0; k < BESIDE; k++) {
            all[k] = vta_max_u(all[k], of[i + k]);
        }
    }
    for (; i < count; i++) {
        all[0] = vta_max_u(all[0], of[i]);
    }
    return vta_max_u(vta_max_u(all[0], all[1]), vta_max_u(all[2], all[3]));
}

/* Writes the block's common number to its granules, before one granule gets another number. */
static void make_uneven(marks *m, int64_t block)
{
    uint64_t *each = &m->each[block << m->log_block];
    for (int64_t i = 0; m->even[block] && i < INT64_C(1) << m->log_block; i++) {
        each[i] = m->max[block];
    }
    m->even[block] = false;
}

static void find_max(marks *m, int64_t block)
{
    m->max[block] = max_of(&m->each[block << m->log_block], INT64_C(1) << m->log_block);
}

/* Looks into a block that is covered in part only if its maximum exceeds the maximum found so far. */
uint64_t vtac_vta_marks_latest_of_blocks(const marks *m, granules g)
{
    if (g.last < g.first) {
        return 0;
    }
    const int64_t first = g.first >> m->log_block, last = g.last >> m->log_block;
    uint64_t found = last > first + 1 ? max_of(&m->max[first + 1], last - first - 1) : 0;
    for (int64_t b = first; b <= last; b += last > first ? last - first : 1) {
        if (m->max[b] > found) {
            const part_of_block p = part_at(m, g, b);
            found = m->even[b] || p.whole ? m->max[b] : vta_max_u(found, max_of(p.each, p.count));
        }
    }
    return found;
}

static void set_part(marks *m, part_of_block p, uint64_t value)
{
    if (p.whole || (m->even[p.block] && m->max[p.block] == value)) {
        m->even[p.block] = true;
        m->max[p.block] = value;
        return;
    }
    make_uneven(m, p.block);
    for (int64_t i = 0; i < p.count; i++) {
        p.each[i] = value;
    }
    if (value >= m->max[p.block]) {
        m->max[p.block] = value;
    } else {
        find_max(m, p.block);
    }
}

/* Only the first and the last block can be covered in part. */
void vtac_vta_marks_set_blocks(marks *m, granules g, uint64_t value)
{
    if (g.last < g.first) {
        return;
    }
    const int64_t first = g.first >> m->log_block, last = g.last >> m->log_block;
    set_part(m, part_at(m, g, first), value);
    if (last > first) {
        for (int64_t b = first + 1; b < last; b++) {
            m->even[b] = true;
            m->max[b] = value;
        }
        set_part(m, part_at(m, g, last), value);
    }
}

void vtac_vta_marks_raise(marks *m, granules g, uint64_t value)
{
    if (m->even == NULL) {
        for (int64_t i = g.first; i <= g.last; i++) {
            m->each[i] = vta_max_u(m->each[i], value);
        }
        return;
    }
    for (int64_t b = g.first >> m->log_block; g.first <= g.last && b <= g.last >> m->log_block; b++) {
        const part_of_block p = part_at(m, g, b);
        if (value >= m->max[b]) {
            set_part(m, p, value);
        } else if (!m->even[b]) {
            for (int64_t i = 0; i < p.count; i++) {
                p.each[i] = vta_max_u(p.each[i], value);
            }
        }
    }
}

void vtac_vta_marks_add(marks *m, granules g, uint64_t more)
{
    if (m->even == NULL) {
        for (int64_t i = g.first; i <= g.last; i++) {
            m->each[i] += m->each[i] > 0 ? more : 0;
        }
        return;
    }
    for (int64_t b = g.first >> m->log_block; g.first <= g.last && b <= g.last >> m->log_block; b++) {
        const part_of_block p = part_at(m, g, b);
        if (m->even[b] && (p.whole || m->max[b] == 0)) {
            m->max[b] += m->max[b] > 0 ? more : 0;
            continue;
        }
        make_uneven(m, b);
        for (int64_t i = 0; i < p.count; i++) {
            p.each[i] += p.each[i] > 0 ? more : 0;
        }
        find_max(m, b);
    }
}
