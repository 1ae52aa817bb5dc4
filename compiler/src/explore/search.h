/* SPDX-License-Identifier: Apache-2.0
 *
 * Structures and functions that the files of the search share.
 */
#ifndef VTAC_EXPLORE_SEARCH_H
#define VTAC_EXPLORE_SEARCH_H

#include "vtac/explore.h"

/* ---- evaluate.c */

/* Sets what the goal and the front compare, from the candidate's estimates; its energy is multiplied. */
void vtac_candidate_evaluate(const vtac_explore_options *options, double energy_times, vtac_candidate *c);
/* Marks candidates than which none is better in speed, share and energy. */
void vtac_mark_front(vtac_candidate *candidates, uint32_t count);

/* ---- journal.c: results that outlive the process */

typedef struct vtac_journal vtac_journal;

/* Results of pieces that a file has, if its first line is `key`; path NULL: *out is NULL, which every
 * function here takes. *out is owned: vtac_journal_close. VTA_INVALID: it holds those of other work. */
vta_status vtac_journal_open(const char *path, const char *key, vtac_journal **out, vta_diag *diag);
/* vtac_work_run, but that pieces which the journal has are not done again, and new results go into it. */
vta_status vtac_journal_run(vtac_journal *journal, vtac_work *work, const char *const *pieces, uint32_t count,
                            vtac_work_done *done, void *context, vta_diag *diag);
void vtac_journal_close(vtac_journal *journal);

/* ---- halve.c: which configurations are worth the timing model */

typedef struct vtac_halving vtac_halving;

/* Candidates to choose from; all borrowed. */
typedef struct vtac_halving_of {
    const vtac_explore_options *options;
    const vtac_candidate *candidates;
    uint32_t count;
    const uint32_t *groups; /* candidates that programs tell apart */
    uint32_t group_count;
    const vtac_estimate *rough; /* their quick estimates, a row of networks each */
} vtac_halving_of;

/* *out is owned: vtac_halving_close. */
vta_status vtac_halving_open(const vtac_halving_of *of, vtac_halving **out, vta_diag *diag);
/* Up to `limit` groups of those that are open, as places in `groups`, in order; the candidates have the
 * estimates of all that were chosen before. `left`: how many may still be chosen, now and later. Returns how
 * many were. */
uint32_t vtac_halving_choose(vtac_halving *h, uint32_t limit, uint32_t left, uint32_t *chosen);
void vtac_halving_close(vtac_halving *h);

/* Solves n equations, whose rows of n + 1 numbers lie in `a`, which changes. Gauss with the largest pivot; an
 * unknown that no equation tells is 0 (area.c). */
void vtac_solve_equations(int n, double *a, double *x);

#endif
