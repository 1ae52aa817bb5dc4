/* SPDX-License-Identifier: Apache-2.0
 *
 * The time that a list of calls takes: the machine of hw/README.md, instruction by instruction. Units run
 * concurrently and wait for each other as the data require; inside a unit, the list gives the order. The
 * model has prefetching of instructions, queues, the shared read bus, the memory's bandwidth for reads and
 * writes together, latency, short bursts, the three pipelines of the compute unit with their hazards, the
 * banks and ports of ACC, the two writers of INP, tokens in order, and the tokens between load and store. It
 * does not have single words.
 */
#ifndef VTAC_VTA_TIMING_H
#define VTAC_VTA_TIMING_H

#include "sched.h"

/* The end of the run; 0 without memory. `shares` (may be NULL) gets the cycles of each tag, [0 … tags-1];
 * those of tag 0 are the end of the run, when only stores are left. */
uint64_t vtac_vta_timing_of(const machine *m, const step_list *list, uint64_t work_bytes, uint64_t *shares,
                            uint32_t tags);

/* The end of the run, or UINT64_MAX as soon as it cannot be below `limit`. The lower bound adds the remaining
 * work of the array, or of the ALU, to the time of the step at hand. */
uint64_t vtac_vta_timing_below(const machine *m, const step_list *list, uint64_t work_bytes, uint64_t limit);

/* The times of an instruction of the compute unit. */
typedef struct timing_deed {
    uint32_t tag;
    bool array;                  /* the array works, and not the ALU, if either does */
    uint64_t asked, issued;      /* the instruction waits for a token from `asked` on */
    uint64_t busy_from, busy_to; /* the array or the ALU works */
    uint64_t steps, beats;       /* the ALU works in `steps` of `beats` cycles, as a step may take two */
    uint64_t over;
} timing_deed;

/* shares.c: the shares, computed from the instructions (of timing_deed) in their order. */
void vtac_vta_timing_shares(const vta_vec *deeds, uint64_t end, uint64_t *shares, uint32_t tags);

#endif
