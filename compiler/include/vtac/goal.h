/* SPDX-License-Identifier: Apache-2.0
 *
 * The goal of an exploration: limits that a configuration keeps, and what is to be largest or smallest, as
 * a text: "mJ < 2 and fps", "max fps / lut", "tiny_kws.ms <= 5 and latency".
 */
#ifndef VTAC_GOAL_H
#define VTAC_GOAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"

/* The measures of a configuration (measures.def). */
typedef enum vtac_measure {
#define VTAC_MEASURE(id, name, grows, unit, what) VTAC_MEASURE_##id,
#include "vtac/measures.def"
    VTAC_MEASURES
} vtac_measure;

typedef struct vtac_measure_row {
    const char *name, *unit, *what;
    bool grows; /* more is better */
} vtac_measure_row;
const vtac_measure_row *vtac_measure_rows(void);

/* The measures of one network, behind its name and a dot. */
typedef enum vtac_network_measure {
    VTAC_NETWORK_FPS,
    VTAC_NETWORK_MS,
    VTAC_NETWORK_CYCLES
} vtac_network_measure;
enum { VTAC_NETWORK_MEASURES = 3 };

/* A step of an expression in postfix order. */
typedef struct vtac_goal_step {
    char op;        /* 'n' a number, 'm' a measure, 'o' one of a network, '-' + * /, '~' negation */
    double number;  /* of 'n' */
    uint32_t which; /* measure, of 'm' and 'o' */
    uint32_t network;
} vtac_goal_step;

enum { VTAC_GOAL_STEPS = 48, VTAC_GOAL_CLAUSES = 12, VTAC_GOAL_TEXT = 256 };

/* A clause between two "and"s: a limit, left - right <= 0 (or < 0), or the value to be made smallest. */
typedef struct vtac_goal_clause {
    vtac_goal_step steps[VTAC_GOAL_STEPS];
    uint32_t count;
    bool limit, strict;
    uint32_t at, length; /* in the text */
} vtac_goal_clause;

typedef struct vtac_goal {
    char text[VTAC_GOAL_TEXT];
    vtac_goal_clause clauses[VTAC_GOAL_CLAUSES];
    uint32_t count;
} vtac_goal;

/* Values: one for each measure, and for each measure of each network; NAN: not known. */
typedef struct vtac_measured {
    double all[VTAC_MEASURES];
    double (*networks)[VTAC_NETWORK_MEASURES];
} vtac_measured;

/* VTA_SYNTAX: the message names the column. `networks`: their names. */
vta_status vtac_goal_parse(const char *text, const char *const *networks, uint32_t count, vtac_goal *out,
                           vta_diag *diag);
/* Smaller is better; HUGE_VAL where a measure is not known. */
double vtac_goal_score(const vtac_goal *goal, const vtac_measured *measured);
/* The first limit that is not kept; -1: all are. */
int vtac_goal_broken(const vtac_goal *goal, const vtac_measured *measured);
/* True if a clause of the goal reads that measure. */
bool vtac_goal_reads(const vtac_goal *goal, vtac_measure measure);

#endif
