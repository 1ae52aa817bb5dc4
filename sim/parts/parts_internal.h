/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of parts/ share.
 */
#ifndef VTA_PARTS_INTERNAL_H
#define VTA_PARTS_INTERNAL_H

#include "vta/parts.h"

enum { PART_OVERHEAD = 16 /* instructions that fill the scratchpads */ };
enum { PART_POP_PREV = 1, PART_POP_NEXT = 2, PART_PUSH_PREV = 4, PART_PUSH_NEXT = 8 };

typedef struct part_insn {
    uint64_t cost; /* estimated cycles before it */
    uint8_t unit, flags;
    bool clean;                      /* the program may be cut before it */
    uint8_t tokens[VTA_QUEUE_COUNT]; /* that are left then */
} part_insn;

struct vta_cuts {
    part_insn *insns; /* and one beyond the last */
    uint32_t count;
};

/* Where a unit takes its tokens from and gives them to. */
typedef struct part_queues {
    vta_queue pop_prev, pop_next, push_prev, push_next;
} part_queues;
extern const part_queues vta_part_queues[VTA_UNIT_COUNT];

#endif
