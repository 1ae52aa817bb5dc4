/* SPDX-License-Identifier: Apache-2.0
 *
 * Passes: each rewrites a graph into one that computes the same and is cheaper, or easier for those behind
 * it. They stand in vtac/passes.def, in the order in which they run. Every pass leaves the graph valid, keeps
 * the names of its inputs and outputs, and given the same graph makes the same one.
 */
#ifndef VTAC_PASS_H
#define VTAC_PASS_H

#include "vtac/graph.h"
#include "vtac/progress.h"

typedef enum vtac_pass {
#define VTAC_PASS(id, ...) VTAC_PASS_##id,
#include "vtac/passes.def"
    VTAC_PASS_COUNT
} vtac_pass;

/* Rewrites the graph; *changes is how many times it did something (0: the graph is as it was). */
typedef vta_status vtac_pass_fn(vtac_graph *graph, uint32_t *changes, vta_diag *diag);

typedef struct vtac_pass_info {
    const char *name;
    int level;
    vtac_pass_fn *run;
    const char *doc;
} vtac_pass_info;

const vtac_pass_info *vtac_pass_get(vtac_pass pass);

/* Finds a pass by name; VTAC_PASS_COUNT, and a sentence with the nearest name, where there is none. */
vtac_pass vtac_pass_find(const char *name, vta_diag *diag);

/* Report of one pass. */
typedef struct vtac_pass_report {
    const vtac_pass_info *pass;
    uint32_t changes;
    uint32_t nodes; /* after it */
    double seconds;
} vtac_pass_report;

typedef struct vtac_pass_options {
    int level;                      /* 0 to 3 */
    bool disabled[VTAC_PASS_COUNT]; /* left out whatever the level */
    bool stop_after;                /* end after pass `last`, which runs if its level or `last` asks for it */
    vtac_pass last;
    bool verify; /* check the graph after each pass; builds with VTA_VERIFY always do */
    void (*report)(void *context, const vtac_pass_report *report); /* after each pass; may be NULL */
    void *context;
    const vtac_progress *progress; /* NULL: silent */
} vtac_pass_options;

/* Runs the passes of a level. A failure names the pass: want of memory, or a bug that the verifier found. */
vta_status vtac_run_passes(vtac_graph *graph, const vtac_pass_options *options, vta_diag *diag);

/* Runs one pass, and verifies. */
vta_status vtac_run_pass(vtac_graph *graph, vtac_pass pass, bool verify, vtac_pass_report *report,
                         vta_diag *diag);

/* Makes LayerNormalization between two Transposes of a normalization over the channels of each place that is
 * written in its parts. No pass does: on the host the parts are faster than Transposes. */
vta_status vtac_gather_channel_norms(vtac_graph *graph, vta_diag *diag);

#endif
