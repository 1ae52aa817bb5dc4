/* SPDX-License-Identifier: Apache-2.0
 *
 * The quality of each output of a quantized model, from both models' outputs on the same samples.
 */
#ifndef VTAC_QUANTIZE_QUALITY_H
#define VTAC_QUANTIZE_QUALITY_H

#include "vtac/quantize.h"

typedef struct vtac_quant_quality vtac_quant_quality;

/* Counters for output values of one type, in memory of the arena. */
vta_status vtac_quant_quality_open(const vtac_type *type, vta_arena *arena, vtac_quant_quality **out,
                                   vta_diag *diag);

/* Counts one sample: the quantized model's output and the float model's. */
void vtac_quant_quality_add(vtac_quant_quality *quality, const float *is, const float *should);

/* Fills everything but the name. */
void vtac_quant_quality_close(const vtac_quant_quality *quality, bool made_up, vtac_output_quality *out);

#endif
