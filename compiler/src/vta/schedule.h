/* SPDX-License-Identifier: Apache-2.0
 *
 * A region's schedule while it is being made: its stages, the candidate tilings of each stage, and the
 * choice.
 *
 *   schedule.c  plans the stages, emits them, interleaves them, and builds the whole list
 *   alike.c     finds layers that are repeated
 *   search.c    finds the tilings that are fastest together
 *   program.c   makes a program of the list; weights that stay on chip
 *   variants.c  schedules a region in several ways, and keeps the fastest
 */
#ifndef VTAC_VTA_SCHEDULE_H
#define VTAC_VTA_SCHEDULE_H

#include "sched.h"

enum {
    OPTIONS = 4, /* shares of the machine that a stage may get: `portions` of schedule.c */
    BESIDE = 2   /* neighbours on either side that are timed together with a stage */
};

enum { TIMED = 4096 }; /* entries of the table of times */

/* The time of a list that was timed before: neighbours that have not changed make the same list again. */
typedef struct timed_list {
    uint64_t hash, cycles;
    bool at_least; /* `cycles` is a lower bound */
} timed_list;

typedef struct scheduler {
    machine hardware;
    vtac_vta_region *region;
    vtac_vta_image *image;
    decisions decided;
    uint32_t trials; /* tilings of a convolution that are timed; 0: the rough estimate chooses */
    const vtac_schedules *schedules;
    eagerness groups; /* layers form groups wherever that is faster than one by one */
    const decisions
        *before;  /* of an earlier schedule: a schedule with the same decisions is not made again */
    bool factors; /* for tests: dense layers go by factors of their weights wherever they can */
    bool quick;   /* only predicts: `schedules` picks tilings without timing them first */
    blob constants;
    step_list list;
    step_list trial;     /* some of the stages, to be timed */
    vta_vec stages;      /* stage */
    vta_vec candidates;  /* candidate */
    bool interleaves;    /* layers may overlap */
    bool may_interleave; /* overlapping layers seemed faster once, so the search tries it */
    bool plain;          /* LOADs do not move up yet */
    bool concurrent;     /* layers on rows run beside others, in parts of ACC of their own (order.c) */
    order_rule rule;     /* concurrent: the order of calls, not ORDER_CELLS */
    bool still;          /* every stage begins at the start of the scratchpads */
    bool searches;       /* the search looks for tilings that are fastest among neighbours */
    uint64_t calls_left; /* calls that the search may still time */
    uint64_t clock;      /* counts changes of the search */
    machine shares[OPTIONS][2];
    entries_used next; /* the first free entries, for the next stage */
    timed_list *timed; /* a hash table that keeps the newest times; NULL: every list is timed again */
} scheduler;

/* A layer as it is emitted, or a convolution with the sum or pool that is joined to it. */
typedef struct stage {
    uint32_t number; /* the layer; of a group, its last member */
    uint32_t members[MAX_MEMBERS], member_count;
    int32_t joined; /* the joined sum or pool, or -1 */
    int64_t slice;
    plan options[OPTIONS]; /* options[0] has the whole machine */
    bool there[OPTIONS];
    uint32_t chosen;
    bool changed;           /* in this round of the search */
    size_t like;            /* the first stage that is alike (alike.c); its own number: there is none */
    uint64_t moved, looked; /* `clock` at its last change; at the last trial of all its tilings */
} stage;

/* A tiling of a stage, for one of its options. */
typedef struct candidate {
    uint32_t stage, option;
    uint32_t number;
    uint64_t cycles; /* of the stage alone */
    double price;    /* `cycles` divided by those of the option's best candidate */
    tiling tiling;
    group_tiling group;
} candidate;

/* The tiling that a plan has; and the other direction: gives a plan the tiling of a candidate. */
candidate vtac_vta_plan_candidate(const plan *p);
void vtac_vta_plan_apply(plan *p, const candidate *one);

/* Adds words to what a report says of a schedule. */
__attribute__((format(printf, 2, 3))) void vtac_vta_plan_describe(vtac_vta_plan *to, const char *format, ...);

/* True if a plan has several tilings: it is a convolution, alone or in a group. */
bool vtac_vta_plan_has_tilings(const plan *p);

stage *vtac_vta_stage_at(scheduler *s, size_t i);

/* The cycles of a list, by the timing model or from the table of times; UINT64_MAX: not below `limit`. */
uint64_t vtac_vta_schedule_time(const scheduler *s, const step_list *list, uint64_t limit);

/* Lays out tensors, and plans all stages for the whole machine. */
vta_status vtac_vta_schedule_plan(scheduler *s, const vtac_vta_options *options, vta_diag *diag);

/* Interleaves layers if the timing model finds that faster. It is not asked where little can be gained, nor
 * for very long lists. */
vta_status vtac_vta_schedule_interleave(scheduler *s, vta_diag *diag);

/* Builds the list of the whole region, and places the constants. */
vta_status vtac_vta_schedule_build(scheduler *s, vta_diag *diag);

/* Times the stages first … end-1 as they are emitted now; UINT64_MAX: not below `limit`. *calls gets the
 * number of calls. */
vta_status vtac_vta_schedule_time_stages(scheduler *s, size_t first, size_t end, uint64_t limit,
                                         uint64_t *cycles, uint64_t *calls, vta_diag *diag);

/* Chooses the places of calls in a list that is emitted. */
void vtac_vta_schedule_advance(const scheduler *s, step_list *list);

/* True for a layer that the row unit computes. */
bool vtac_vta_works_on_rows(const vtac_vta_layer *layer);

/* alike.c: finds the stages that are alike, where layers run concurrently; false: no memory. */
bool vtac_vta_alike_find(scheduler *s);
/* The number of stages from stage `from` on that follow no other. */
size_t vtac_vta_alike_count(scheduler *s, size_t from);
/* Gives stages the tilings of the stages that they are like. */
void vtac_vta_alike_follow(scheduler *s);

/* search.c: looks for tilings that are faster together, and leaves the fastest choice in the stages. */
vta_status vtac_vta_schedule_search(scheduler *s, vta_diag *diag);

/* program.c: records the list of the region as a program. */
vta_status vtac_vta_schedule_program(scheduler *s, vta_diag *diag);
/* Keeps weights on chip for the runs behind the first one, where those become faster by it. */
vta_status vtac_vta_schedule_keep(scheduler *s, vta_diag *diag);
/* Moves LOADs up in the list of the region, if the runs behind the first one do not become slower. */
vta_status vtac_vta_schedule_hoist(scheduler *s, vta_diag *diag);

#endif
