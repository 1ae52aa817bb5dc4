/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a list of calls takes: the machine of hw/README.md, instruction by instruction. Units run at the
 * same time and wait for each other where the data say so; inside a unit the order is that of the list. What
 * is modelled: fetching ahead, queues, the read bus that all share, what reads and writes share of the
 * memory, latency, short bursts, the three pipelines of the compute unit with their hazards, ACC's banks and
 * ports, the two writers of INP, tokens given in order, and how load and store hear of each other. What is
 * not: single words.
 */
#ifndef VTAC_VTA_TIMING_H
#define VTAC_VTA_TIMING_H

#include "sched.h"

/* The end of all; 0 without memory. `shares` (may be NULL) gets the cycles of each tag, [0 … tags-1]; those
 * of tag 0 are the end, when nothing but stores is left. */
uint64_t vtac_vta_timing_of(const machine *m, const step_list *list, uint64_t work_bytes, uint64_t *shares,
                            uint32_t tags);

/* The same, or UINT64_MAX as soon as it cannot be below `limit`: the array and the ALU still have to do what
 * comes behind in the list, one after the other. */
uint64_t vtac_vta_timing_below(const machine *m, const step_list *list, uint64_t work_bytes, uint64_t limit);

/* What became of an instruction of the compute unit. */
typedef struct timing_deed {
    uint32_t tag;
    bool array;                  /* and not the ALU, if it is busy at all */
    uint64_t asked, issued;      /* it waits for a token from `asked` on */
    uint64_t busy_from, busy_to; /* the array or the ALU */
    uint64_t steps, beats; /* the ALU only in so many of so many cycles: a step may take two. Equal: in all */
    uint64_t over;
} timing_deed;

/* shares.c: the same from all of them (timing_deed), in their order. */
void vtac_vta_timing_shares(const vta_vec *deeds, uint64_t end, uint64_t *shares, uint32_t tags);

#endif
