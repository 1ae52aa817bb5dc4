/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges of activations, from what was seen to scale and zero point.
 */
#ifndef VTAC_QUANTIZE_RANGE_H
#define VTAC_QUANTIZE_RANGE_H

#include "vtac/quantize.h"

enum { QUANT_BINS = 2048 };

/* Lower bound of scales; smaller ones are 0: products of two scales must be floats, too. */
#define QUANT_MIN_SCALE 1e-12F

/* Values of one group. `low` and `high` hold 0 as well. */
typedef struct vtac_quant_range {
    double low, high;
    uint64_t *bins; /* QUANT_BINS over [low, high]; NULL: not counted */
} vtac_quant_range;

void vtac_quant_range_see(vtac_quant_range *range, const float *values, size_t count);
/* With `bins` there, and low and high final. */
void vtac_quant_range_count(vtac_quant_range *range, const float *values, size_t count);

/* Narrows low and high by the method; MINMAX leaves them. */
void vtac_quant_range_narrow(vtac_quant_range *range, vtac_range_method method);

/* The scale and zero point of 8 bits that have the range in them. */
void vtac_quant_range_params(const vtac_quant_range *range, vtac_dtype dtype, float *scale, int32_t *zero);

#endif
