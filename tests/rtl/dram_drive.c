/* SPDX-License-Identifier: Apache-2.0
 *
 * dram_drive KIND MHZ: the simulated DRAM (sim/tsim/dram_queue.h) on accesses from standard input, one a
 * line: "CYCLE r|w ADDRESS BYTES", in the order of their cycles. An access waits while DEPTH others of its
 * direction are under way. Prints "ACCESS COLUMN PICOSECONDS" for each column access in the order of their
 * commands, and at the end what the DRAM counted. dram_reference.py does the same by itself.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "dram_queue.h"

enum { DEPTH = 16, MAX_ACCESSES = 1 << 20 };

typedef struct access {
    uint64_t cycle, addr;
    uint32_t bytes;
    bool write;
} access;

static access accesses[MAX_ACCESSES];
static vta_dram_queue queue;

static uint32_t read_accesses(void)
{
    uint32_t count = 0;
    char way;
    access *a = accesses;
    while (count < MAX_ACCESSES &&
           scanf("%" SCNu64 " %c %" SCNu64 " %" SCNu32, &a->cycle, &way, &a->addr, &a->bytes) == 4) {
        a->write = way == 'w';
        a = &accesses[++count];
    }
    return count;
}

/* Adds those of an access's time that find room; returns the first that does not. */
static uint32_t add_accesses(uint32_t at, uint32_t count, uint64_t cycle, uint64_t now)
{
    for (; at < count && accesses[at].cycle <= cycle; at++) {
        const access *a = &accesses[at];
        if (queue.count[a->write] == DEPTH) {
            break;
        }
        (void)vta_dram_add(&queue, a->write, now, a->addr, a->bytes, at);
    }
    return at;
}

int main(int argc, char **argv)
{
    vta_diag diag = {0};
    const vta_dram_kind *kind = argc == 3 ? vta_dram_kind_find(argv[1], &diag) : NULL;
    if (kind == NULL) {
        (void)fprintf(stderr, "dram_drive: %s\n", argc == 3 ? diag.text : "usage: dram_drive KIND MHZ");
        return 2;
    }
    queue.kind = *kind;
    const uint64_t mhz = strtoull(argv[2], NULL, 10);
    const uint32_t count = read_accesses();
    uint32_t at = 0;
    for (uint64_t cycle = 0; at < count || !vta_dram_is_idle(&queue); cycle++) {
        const uint64_t now = cycle * 1000000 / mhz, until = (cycle + 1) * 1000000 / mhz;
        vta_dram_done done;
        at = add_accesses(at, count, cycle, now);
        while (vta_dram_next(&queue, now, until, &done)) {
            printf("%" PRIu32 " %" PRIu32 " %" PRIu64 "\n", done.tag, done.column, done.at);
        }
    }
    const vta_dram_counts *c = &queue.counts;
    printf("hits %" PRIu64 " closed %" PRIu64 " conflicts %" PRIu64 " refreshes %" PRIu64 " turns %" PRIu64
           "\n",
           c->hits, c->closed, c->conflicts, c->refreshes, c->turns);
    return 0;
}
