/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders of a tensor's elements.
 */
#ifndef VTA_ORDER_H
#define VTA_ORDER_H

#include <stddef.h>
#include <stdint.h>

enum { VTA_ORDER_AXES = 8 };

/* Elements of `size` bytes whose first axis counts fastest, as Fortran has them, to row-major order; at most
 * VTA_ORDER_AXES axes. */
void vta_order_rows(const int64_t *dim, uint32_t rank, size_t size, const void *from, void *to);

#endif
