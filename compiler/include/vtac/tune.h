/* SPDX-License-Identifier: Apache-2.0
 *
 * Searching for schedules: what there is to choose (tasks), who chooses what to try next (tuners), and what
 * was found (records, one JSON object a line).
 */
#ifndef VTAC_TUNE_H
#define VTAC_TUNE_H

#include <stdbool.h>

#include "vta/arena.h"
#include "vta/config.h"
#include "vta/status.h"
#include "vta/vec.h"
#include "vtac/codegen.h"
#include "vtac/schedules.h"

/* ---- records */

/* The best point known of a kernel's shape on a target, by one kind of measure. */
typedef struct vtac_record {
    const char *kernel, *shape, *target, *point;
    double cost; /* of a step: seconds, or cycles; HUGE_VAL: it came to nothing */
    bool proved; /* beside the standard point, at the end of a search: counts before all that are not */
} vtac_record;

typedef struct vtac_records {
    vta_arena arena;
    vta_vec items;             /* vtac_record, in the order of the file */
    uint32_t other;            /* records of other releases, which were skipped, */
    const char *other_version; /* and the release of the last of them */
} vtac_records;

/* Adds the records of a file. Those of another release of the compiler are skipped; so is a last line that
 * was cut; any other line that is no record is an error that names it. */
vta_status vtac_records_read(const char *path, vtac_records *records, vta_diag *diag);
/* Adds those that come with the compiler, compiler/records. */
vta_status vtac_records_shipped(vtac_records *records, vta_diag *diag);
void vtac_records_free(vtac_records *records);
/* True if there are records for a target. */
bool vtac_records_any(const vtac_records *records, const char *target);
/* The cheapest point of those that `space` has; false where nothing is known. */
bool vtac_records_find(const vtac_records *records, const char *target, const vtac_kernel_space *space,
                       uint32_t *point);
/* Appends a line to a log, whole: a line that was cut before it is ended first. */
vta_status vtac_record_append(const char *path, const vtac_record *record, vta_diag *diag);

/* Whom records are for: the processor with all that it can do, or the accelerator with its memory. */
void vtac_target_text(const vtac_target *target, char *text, size_t size);
void vtac_vta_target_text(const vta_config *config, char *text, size_t size);

/* ---- tasks */

/* A space that a model has, once for all of its steps of the same shape. */
typedef struct vtac_task {
    const char *kernel, *shape;
    const char (*points)[VTAC_POINT_TEXT]; /* owned by the tasks' arena */
    double *guesses;                       /* NULL: none */
    double *cost;                          /* of each point; NAN: not measured, HUGE_VAL: it failed */
    uint32_t count, standard, best, tried;
    uint32_t proved;    /* what a log says was proved, */
    double proved_cost; /* and its cost; 0: nothing was */
    vta_vec steps;      /* of const char *: their names */
    uint32_t chosen;    /* what the next compilation takes */
} vtac_task;

typedef struct vtac_tasks {
    vta_arena arena;
    vta_vec items;  /* vtac_task */
    vta_vec others; /* vtac_known: of shapes that the model does not have, from old logs */
    bool failed;    /* no memory */
} vtac_tasks;

/* Measured cost of a point for a shape. */
typedef struct vtac_known {
    const char *kernel, *shape, *point;
    double cost; /* of a step */
    double min;  /* that is known of the shape */
} vtac_known;

/* Has tuners know what a log says about another shape: what was good there is tried early here. */
void vtac_tasks_know(vtac_tasks *tasks, const vtac_record *record);

/* A vtac_schedules whose context is a vtac_tasks: adds what is new, takes what is `chosen`. */
uint32_t vtac_tasks_pick(void *tasks, const vtac_kernel_space *space);
void vtac_tasks_free(vtac_tasks *tasks);

/* A measurement of a point: the least that was seen counts. */
void vtac_task_measured(vtac_task *task, uint32_t point, double cost);

/* ---- tuners */

typedef enum vtac_tuner {
    VTAC_TUNER_XGB,    /* gradient-boosted trees, by libxgboost */
    VTAC_TUNER_GA,     /* what was good, crossed and changed */
    VTAC_TUNER_RANDOM, /* any that is not tried yet */
    VTAC_TUNER_GRID,   /* one after the other */
    VTAC_TUNER_MODEL,  /* by the kernel's own guess */
    VTAC_TUNERS
} vtac_tuner;
const char *vtac_tuner_name(vtac_tuner tuner);
/* VTA_UNSUPPORTED where its library is not there. */
vta_status vtac_tuner_check(vtac_tuner tuner, vta_diag *diag);

/* The next point to try of one of the tasks; `count` where all were. `state` is what random numbers come
 * from. */
uint32_t vtac_tuner_next(vtac_tuner tuner, const vtac_tasks *tasks, const vtac_task *task, uint64_t *state);

#endif
