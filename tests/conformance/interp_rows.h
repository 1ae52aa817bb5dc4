/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions on rows as numbers, without a machine.
 */
#ifndef VTA_TEST_INTERP_ROWS_H
#define VTA_TEST_INTERP_ROWS_H

#include <stdint.h>

/* A lane of what a function on rows makes of one batch row: x in ACC[dst], s in ACC[src]. */
int64_t interp_row_lane(int64_t imm, const int64_t *x, const int64_t *s, int64_t lane, int64_t lanes);

#endif
