/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of floats quantized without a division (quick.c says how), to the same integers.
 */
#ifndef VTAC_LOWER_QUICK_H
#define VTAC_LOWER_QUICK_H

#include "lower.h"

typedef struct vtac_quick {
    const vtac_node *node;
    vtac_buffer *doubt; /* of each lane, below a bound: one of its numbers may be wrong */
    int64_t lanes;      /* in a vector; 0: this node, or this target, has no quick way */
    double factor, offset;
    vtac_dtype dtype;
} vtac_quick;

/* Chooses the method for a QuantizeLinear of `columns` floats side by side. */
vtac_quick vtac_quick_of(const vtac_lower *l, const vtac_node *n, int64_t columns);
/* In the step of the kernel that stands open, before its loops. */
void vtac_quick_begin(vtac_lower *l, vtac_quick *q);

/* Stores element x: what vtac_quick_element makes of its float, or vtac_point_quantize where `lane` is NULL.
 */
typedef void vtac_quick_fn(void *of, const vtac_expr *x, const vtac_expr *lane);
/* Elements begin … end-1, q->lanes of them or more. */
void vtac_quick_along(vtac_lower *l, const vtac_quick *q, int64_t begin, int64_t end, vtac_quick_fn *store,
                      void *of);
const vtac_expr *vtac_quick_element(vtac_lower *l, const vtac_quick *q, const vtac_expr *x,
                                    const vtac_expr *lane);

/* A QuantizeLinear alone; false where it has no quick way, and nothing was done. */
bool vtac_quick_lower(vtac_lower *l, vta_status *status);

#endif
