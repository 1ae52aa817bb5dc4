/* SPDX-License-Identifier: Apache-2.0
 *
 * A region's schedule while it is being made: its stages, the ways to cut each of them, and what is chosen.
 *
 *   schedule.c  plans the stages, emits them, interleaves them, and makes the whole
 *   search.c    which ways are fastest together
 */
#ifndef VTAC_VTA_SCHEDULE_H
#define VTAC_VTA_SCHEDULE_H

#include "sched.h"

enum {
    OPTIONS = 4, /* ways to share the machine: portions of schedule.c */
    BESIDE = 2   /* stages before and behind one that count when it is judged */
};

/* How long a list took that has been timed: neighbours that have not changed make the same list again. */
typedef struct timed_list {
    uint64_t hash, cycles;
    bool at_least; /* it takes as long or longer */
} timed_list;

typedef struct scheduler {
    machine hardware;
    vtac_vta_region *region;
    vtac_vta_image *image;
    decisions decided;
    uint32_t trials; /* ways to cut a convolution that are timed; 0: the rough estimate decides */
    const vtac_schedules *schedules;
    bool groups;             /* rather than layers one by one */
    const decisions *before; /* of a schedule that is there: another one with the same is not wanted */
    bool quick;              /* whoever asks for a schedule has been told the standard one before */
    blob constants;
    step_list list;
    step_list trial;     /* of some stages, to be timed */
    vta_vec stages;      /* stage */
    vta_vec candidates;  /* candidate */
    bool interleaves;    /* layers may overlap, */
    bool may_interleave; /* and that they do has been found worth a look */
    bool still;          /* each begins at the start of the scratchpads */
    bool searches;       /* what is best for a layer among its neighbours is looked for */
    uint64_t calls_left; /* that are timed in search */
    uint64_t clock;      /* of changes */
    machine shares[OPTIONS][2];
    entries_used next; /* where the next stage's may begin */
    timed_list *timed; /* at their hash's place the newest ones; NULL: without memory they are timed again */
} scheduler;

/* A layer, or a convolution with what is joined to it, as it is emitted. */
typedef struct stage {
    uint32_t number; /* of a group: the last one */
    uint32_t members[MAX_MEMBERS], member_count;
    int32_t joined; /* the sum or pool, or -1 */
    int64_t slice;
    plan options[OPTIONS]; /* the first one has the whole machine */
    bool there[OPTIONS];
    uint32_t chosen;
    bool changed;           /* in the round at hand */
    uint64_t moved, looked; /* when it took another way, and when all its ways were tried last */
} stage;

/* A way to cut a stage, as one of its options. */
typedef struct candidate {
    uint32_t stage, option;
    uint32_t number;
    uint64_t cycles; /* by itself */
    double price;    /* of the best of its option by itself */
    tiling tiling;
    group_tiling group;
} candidate;

/* The way that a plan has; and another one. */
candidate vtac_vta_plan_candidate(const plan *p);
void vtac_vta_plan_apply(plan *p, const candidate *one);

/* Whether there are several ways to cut it: convolutions, by themselves or in a group. */
bool vtac_vta_plan_has_tilings(const plan *p);

stage *vtac_vta_stage_at(scheduler *s, size_t i);

/* How long a list takes, by the timing model or from memory; UINT64_MAX: not below `limit`. */
uint64_t vtac_vta_schedule_time(const scheduler *s, const step_list *list, uint64_t limit);

/* The whole list, and where constants lie. */
vta_status vtac_vta_schedule_build(scheduler *s, vta_diag *diag);

/* How long some stages take as they are emitted, by the timing model, or UINT64_MAX: not below `limit`; and
 * how many calls they are. */
vta_status vtac_vta_schedule_time_stages(scheduler *s, size_t first, size_t end, uint64_t limit,
                                         uint64_t *cycles, uint64_t *calls, vta_diag *diag);

/* search.c: looks for ways that are faster together, and leaves the fastest chosen. */
vta_status vtac_vta_schedule_search(scheduler *s, vta_diag *diag);

#endif
