/* SPDX-License-Identifier: Apache-2.0
 *
 * A program cut into parts. A part begins with the memory and the scratchpads that the functional simulator
 * has when all instructions before it are done, and is a program like any other: LOADs that fill the
 * scratchpads, the tokens that are under way, then the instructions themselves, at the addresses that they
 * have in the whole program, so that they are fetched as there. vta_parts_match tells from which cycle on two
 * parts that overlap are the same machine.
 */
#ifndef VTA_PARTS_H
#define VTA_PARTS_H

#include "vta/dram.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Facts about a program: the places where it may be cut, and estimated cycles before each instruction. */
typedef struct vta_cuts vta_cuts;

vta_status vta_cuts_create(const vta_config *config, const void *program, uint32_t count, vta_cuts **out,
                           vta_diag *diag);
void vta_cuts_destroy(vta_cuts *cuts);

/* An estimate of the cycles before instruction `insn`, at most `count`. */
uint64_t vta_cuts_cost(const vta_cuts *cuts, uint32_t insn);

/* The cycles before the last `parts - part` of `parts` pieces that take about as long to simulate. */
uint64_t vta_cuts_share(const vta_cuts *cuts, uint32_t part, uint32_t parts);

/* The last instruction at or before `cost` cycles before which the program may be cut; 0 is always one. */
uint32_t vta_cuts_find(const vta_cuts *cuts, uint64_t cost);

/* The first such instruction at or behind `insn`; the number of instructions where there is none. */
uint32_t vta_cuts_next(const vta_cuts *cuts, uint32_t insn);

/* [start, end) of the program, which may be cut before `start`. */
typedef struct vta_part {
    uint32_t start, end;
    uint32_t first;    /* the instruction of the program in whose place the part's first one stands */
    vta_launch launch; /* of the part: to the program's end, so that what comes is fetched as in the whole */
    uint64_t starts; /* instructions of compute that have started when `end` is near; 0: the program's end */
} vta_part;

/* The functional simulator on its way through a program, in a memory that is as the program finds it. */
typedef struct vta_walk vta_walk;

vta_status vta_walk_create(const vta_config *config, const vta_cuts *cuts, vta_dram *dram,
                           const vta_launch *launch, vta_walk **out, vta_diag *diag);
void vta_walk_destroy(vta_walk *walk);

/* On to where all instructions before `insn` are done and none behind it has begun: the program's end, or
 * where it may be cut, not before where the walk is already. */
vta_status vta_walk_to(vta_walk *walk, uint32_t insn, vta_diag *diag);

/* Makes a part, and lays it out in the walk's memory: goes on to where it starts, adds a block for the
 * scratchpads' contents, and puts the part over the program. */
vta_status vta_part_make(vta_walk *walk, uint32_t start, uint32_t end, vta_part *out, vta_diag *diag);

/* A part that was simulated. */
typedef struct vta_part_run {
    vta_part part;
    const vta_stretch *stretches;
    uint64_t count;
    vta_counters counters; /* where it has run to the program's end */
} vta_part_run;

/* Between which places of the program the memory is that a part has left: every STORE before *from is done,
 * none behind *to has begun, and the program may be cut at both. */
void vta_part_stored(const vta_cuts *cuts, const vta_part_run *run, uint32_t *from, uint32_t *to);

/* From where on a part and the next one, which overlap, are the same. */
typedef struct vta_match {
    bool found;
    uint32_t insn;        /* the compute instruction that starts there */
    uint64_t here, there; /* the stretch in either */
    uint64_t cycles;      /* that were compared, all of them equal */
    uint64_t seen;        /* cycles from the beginning of `here` to there */
} vta_match;

/* Looked for from the stretch `from` of `here` on. The two are taken as the same where compute starts an
 * instruction with the same instructions in every queue and unit, and every strobe, every transfer on the bus
 * and the memory's pace is equal in each of the `least` cycles that follow, and until all that the units had
 * in work, and what was next, has retired: what waits in the queues is the same, and nothing else that either
 * did before is left.
 */
vta_status vta_parts_match(const vta_part_run *here, const vta_part_run *there, uint64_t from, uint64_t min,
                           vta_match *out, vta_diag *diag);

/* The clocked counters that the cycles of a run make, but for `cycles`. */
void vta_parts_count(const vta_stretch *stretches, uint64_t count, vta_counters *counters);

/* Do a run's own counters say the same? */
bool vta_parts_agree(const vta_counters *counted, const vta_counters *counters);

#ifdef __cplusplus
}
#endif
#endif
