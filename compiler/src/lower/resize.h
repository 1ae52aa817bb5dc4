/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two forms of Resize share.
 */
#ifndef VTAC_LOWER_RESIZE_H
#define VTAC_LOWER_RESIZE_H

#include "lower.h"

/* Output place i of an axis is at (i + before) * factor / divisor + after of the input: in this order, as
 * ONNX's formulas have it, since the last bit decides what is nearest to a half. */
typedef struct vtac_resize_place {
    double scale, before, factor, divisor, after;
    bool moves; /* false: the axis stays as it is */
} vtac_resize_place;

vta_status vtac_resize_source(vtac_lower *l, const vtac_node *n, uint32_t axis, vtac_resize_place *out);
/* Resizes with antialias, which linear and cubic interpolation have. */
vta_status vtac_lower_antialias(vtac_lower *l);

#endif
