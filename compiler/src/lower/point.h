/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that ops.def names for pointwise and mapped operators.
 */
#ifndef VTAC_LOWER_POINT_H
#define VTAC_LOWER_POINT_H

#include "lower.h"

#define EXPR(op)
#define UNARY(fn) vtac_unary_fn vtac_unary_##fn;
#define POINT(fn) vtac_point_fn vtac_point_##fn;
#define MAP(fn)   vtac_point_fn vtac_map_##fn;
#define CUSTOM(fn, text)
#define SOLO(fn, text)
#define ALIAS
#define FOLDED(text)
#define VTAC_OP(id, name, domain, since, in_min, in_max, out, operands, infer, traits, fold, lowering, ...)  \
    lowering
#include "vtac/ops.def"
vtac_point_fn vtac_point_expr;  /* EXPR */
vtac_point_fn vtac_point_unary; /* UNARY */

/* The value of a unary operator of a bound value, by the node's operator and attributes alone. */
const vtac_expr *vtac_unary(vtac_lower *l, const vtac_node *n, const vtac_expr *x);

#endif
