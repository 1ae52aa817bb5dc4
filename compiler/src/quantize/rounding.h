/* SPDX-License-Identifier: Apache-2.0
 *
 * Adaptive rounding: which weights are rounded up and which down, so that the outputs of a layer are right.
 */
#ifndef VTAC_QUANTIZE_ROUNDING_H
#define VTAC_QUANTIZE_ROUNDING_H

#include "patches.h"
#include "weights.h"

/* The product's weights, rounded to the nearest, become those that leave the least error in its outputs on
 * the patches. `w` are the floats; `mean` is that of each input channel where the bias takes out what
 * rounding adds to it, else NULL. The patches are changed. */
vta_status vtac_quant_tune_rounding(vtac_quant_product *product, const float *w, const double *mean,
                                    vtac_quant_patches *patches, vta_diag *diag);

#endif
