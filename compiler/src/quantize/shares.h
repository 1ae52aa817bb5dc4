/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VTAC_QUANTIZE_SHARES_H
#define VTAC_QUANTIZE_SHARES_H

#include "range.h"
#include "vtac/graph.h"

/* The rows that a value, perhaps in another shape, holds the shares of, where these are weights of the
 * numbers that the second factor of a product is made of; 0: it does not. */
vtac_value_id vtac_quant_shared(const vtac_graph *graph, vtac_value_id value);
/* Widens the range by the shares of rows, and by less where a row's sum is far below the others'. */
void vtac_quant_range_shares(vtac_quant_range *range, const float *x, size_t rows, size_t columns);

#endif
