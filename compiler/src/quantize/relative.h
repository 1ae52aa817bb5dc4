/* SPDX-License-Identifier: Apache-2.0
 *
 * Values that 8 bits cannot hold because their small elements count as much as their large ones.
 */
#ifndef VTAC_QUANTIZE_RELATIVE_H
#define VTAC_QUANTIZE_RELATIVE_H

#include "plan.h"

/* Marks the nodes in plan->exact that a logarithm, a root or a denominator reads through sums and products,
 * and takes the islands apart that begin with such a value. Call after the islands are known. */
void vtac_quant_mark_relative(const vtac_quant_plan *plan);

#endif
