/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that lower.def names for pointwise and mapped operators.
 */
#ifndef VTAC_LOWER_POINT_H
#define VTAC_LOWER_POINT_H

#include "lower.h"

#define POINT(id, fn) vtac_point_fn vtac_point_##fn;
#define MAP(id, fn)   vtac_point_fn vtac_map_##fn;
#define CUSTOM(id, fn, text)
#define SOLO(id, fn, text)
#define ALIAS(id)
#define FOLDED(id, text)
#include "lower.def"

/* The value of a unary operator of a bound value, by the node's operator and attributes alone. */
const vtac_expr *vtac_unary(vtac_lower *l, const vtac_node *n, const vtac_expr *x);

#endif
