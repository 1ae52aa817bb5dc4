/* SPDX-License-Identifier: Apache-2.0
 *
 * Equalizing the weights of neighbouring layers.
 */
#ifndef VTAC_QUANTIZE_EQUALIZE_H
#define VTAC_QUANTIZE_EQUALIZE_H

#include "plan.h"

/* The graph computes the same afterwards, but for rounding of floats. */
vta_status vtac_quant_equalize(const vtac_quant_plan *plan, vta_diag *diag);

#endif
