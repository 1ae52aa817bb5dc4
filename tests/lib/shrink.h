/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a failing program small: instructions dropped, tokens taken away in pairs, fields lowered, as long as
 * the program remains legal (for vta_check) and still fails.
 */
#ifndef VTA_TEST_SHRINK_H
#define VTA_TEST_SHRINK_H

#include "progen.h"

/* Says whether a legal program still shows the failure. */
typedef bool shrink_predicate(void *context, const progen_program *program);

/* Shrinks in place, with at most `budget` runs of the predicate. Returns how many changes were kept. */
uint32_t shrink(progen_program *program, shrink_predicate *fails, void *context, uint32_t budget);

#endif
