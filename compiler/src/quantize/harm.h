/* SPDX-License-Identifier: Apache-2.0
 *
 * The noise at the network's outputs that each quantized value causes by itself.
 */
#ifndef VTAC_QUANTIZE_HARM_H
#define VTAC_QUANTIZE_HARM_H

#include "compare.h"

/* Fills harm[i] for each place of the observer: the noise of the outputs, in parts of their variance, when
 * the values of that place's group alone have 8 bits. The quantized graph is the same afterwards. */
vta_status vtac_quant_harm(const vtac_quant_comparison *c, double *harm, vta_diag *diag);

#endif
