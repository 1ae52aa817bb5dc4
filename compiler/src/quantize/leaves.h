/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures of fallen leaves: shapes of all sizes, one over the other, as natural pictures are.
 */
#ifndef VTAC_QUANTIZE_LEAVES_H
#define VTAC_QUANTIZE_LEAVES_H

#include <stdbool.h>
#include <stdint.h>

#include "vta/status.h"

/* Strides of a picture's elements: element (c, y, x) is at c·step[0] + y·step[1] + x·step[2]. */
typedef struct vtac_quant_picture {
    float *data;
    int64_t channels, height, width;
    int64_t step[3];
} vtac_quant_picture;

/* Paints all of it with values in `low` … `high`; `state` is that of the random numbers, never 0. */
vta_status vtac_quant_paint_leaves(const vtac_quant_picture *picture, double low, double high,
                                   uint64_t *state, vta_diag *diag);

#endif
