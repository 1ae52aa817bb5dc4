/* SPDX-License-Identifier: Apache-2.0
 *
 * What schedule primitives share.
 */
#ifndef VTAC_LOOP_SCHEDULE_H
#define VTAC_LOOP_SCHEDULE_H

#include "vtac/loop.h"

/* The loop of a variable, in a block or deeper; NULL: there is none. */
vtac_stmt *vtac_find_loop(vtac_stmt *s, uint32_t var);
/* `e` with every use of `var` replaced. */
const vtac_expr *vtac_substitute(vtac_kernel *k, const vtac_expr *e, uint32_t var, const vtac_expr *by);
/* The value of a loop's variable. */
const vtac_expr *vtac_loop_variable(vtac_kernel *k, uint32_t var);

#endif
