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
    uint64_t cost; /* estimated cycles before it, */
    uint64_t work; /* and what it takes to simulate them, in cycles in which little happens */
    uint8_t unit, flags;
    bool clean;                      /* the program may be cut before it */
    uint8_t tokens[VTA_QUEUE_COUNT]; /* that are left then */
} part_insn;

struct vta_cuts {
    part_insn *insns; /* and one beyond the last */
    uint32_t count;
};

/* Instructions that are put over a program; the first that could not be encoded fails them all. */
enum { PATCH_MAX = 4 * VTA_TOKEN_CAPACITY + 32 };
typedef struct vta_patch {
    const vta_config *config;
    vta_word words[PATCH_MAX];
    uint32_t count;
    vta_status status;
    vta_diag *diag;
} vta_patch;

vta_patch *vta_patch_create(const vta_config *config, vta_diag *diag); /* free(); NULL without memory */
void vta_patch_add(vta_patch *p, const vta_insn *insn);

/* A transfer of nothing, for its tokens. */
vta_insn vta_patch_carrier(vta_unit unit);

/* So many tokens of each queue, given or taken. */
void vta_patch_tokens(vta_patch *p, const uint8_t *tokens, bool push);

/* Writes the instructions that end a program early: they take all tokens, then FINISH. */
void vta_patch_end(vta_patch *p, const uint8_t *tokens);

/* Fills the patch up, so that a program may begin with it where it stands before instruction `insn`. */
vta_status vta_patch_align(vta_patch *p, uint32_t insn);

struct vta_walk {
    const vta_config *config;
    const vta_cuts *cuts;
    vta_dram *dram;
    uint8_t *program; /* in it */
    vta_launch launch;
    struct vta_fsim *fsim;
    uint32_t at; /* all instructions before it are done, none behind it has begun */
};

/* The queues that a unit takes tokens from and gives tokens to. */
typedef struct part_queues {
    vta_queue pop_prev, pop_next, push_prev, push_next;
} part_queues;
extern const part_queues vta_part_queues[VTA_UNIT_COUNT];

#endif
