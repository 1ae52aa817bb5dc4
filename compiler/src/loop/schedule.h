/* SPDX-License-Identifier: Apache-2.0
 *
 * What rewrites of loop nests share.
 */
#ifndef VTAC_LOOP_SCHEDULE_H
#define VTAC_LOOP_SCHEDULE_H

#include "vtac/loop.h"

/* The loop of a variable, in a block or deeper; NULL: there is none. */
vtac_stmt *vtac_find_loop(vtac_stmt *s, uint32_t var);
/* Finds a loop; VTA_INVALID if there is none. */
vta_status vtac_need_loop(vtac_kernel *k, uint32_t var, vtac_stmt **out, vta_diag *diag);
/* A copy of a block, whose statements may change apart; loops keep their variables. NULL: out of memory. */
vtac_stmt *vtac_copy_block(vtac_kernel *k, const vtac_stmt *s);
/* Every use of `var` in a block is replaced. */
void vtac_substitute_block(vtac_kernel *k, vtac_stmt *s, uint32_t var, const vtac_expr *by);
/* The value of a loop's variable. */
const vtac_expr *vtac_variable_of(vtac_kernel *k, uint32_t var);

#endif
