/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds the checker, the interpreter and fsim to each other on any program, legal or not:
 *
 *   - what the checker accepts runs to its FINISH on the interpreter in every order of its units, and
 *     on fsim, strict and not, and all leave the same bytes;
 *   - what it refuses fails on the interpreter and on strict fsim, too, except where only time could show it;
 *   - the checker writes nowhere and does not take long.
 */
#ifndef VTA_TEST_JUDGE_H
#define VTA_TEST_JUDGE_H

#include "progen.h"
#include "vta/check.h"

typedef struct judgement {
    vta_status checked; /* the checker's answer and violation */
    vta_violation violation;
    vta_diag diag;
    double check_s;  /* seconds of processor time it took */
    bool skipped;    /* too much work to run */
    char text[1400]; /* what is wrong */
} judgement;

/* Judges the program on the contents `initial` (arena_size bytes), of which devices see the first `visible`
 * bytes. False: somebody is wrong, and `text` says who. */
bool judge(const progen_program *program, const uint8_t *initial, uint64_t visible, double max_cost,
           judgement *out);

#endif
