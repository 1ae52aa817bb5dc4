/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalizations at the beginning of a network, in front of its first product.
 */
#ifndef VTAC_QUANTIZE_EARLY_H
#define VTAC_QUANTIZE_EARLY_H

#include "plan.h"

/* Marks in plan->early the normalizations of rows whose operand is a sum of lookups, inputs and constants,
 * and that sum. They are quantized where something in 8 bits reads them. An input that a normalization alone
 * reads stays float, and the normalization with it. */
void vtac_quant_mark_early(const vtac_quant_plan *plan);

#endif
