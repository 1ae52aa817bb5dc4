/* SPDX-License-Identifier: Apache-2.0
 *
 * What range a model was trained on, as far as its weights tell.
 */
#ifndef VTAC_QUANTIZE_GUESS_H
#define VTAC_QUANTIZE_GUESS_H

#include "plan.h"
#include "probe.h"
#include "vtac/quantize.h"

/* The values that have to be seen: the results of all products. Memory is the plan's. */
vta_status vtac_quant_guess_values(const vtac_quant_plan *plan, const vtac_value_id **values, uint32_t *count,
                                   vta_diag *diag);

/* Runs a few made-up inputs of every usual range through the compiled graph and chooses one. The probe shows
 * those values from place `first` on. */
vta_status vtac_quant_guess_range(const vtac_quant_plan *plan, vtac_quant_probe *probe, uint32_t first,
                                  uint64_t seed, const vtac_progress *progress, vtac_sample_range *out,
                                  vta_diag *diag);

#endif
