/* SPDX-License-Identifier: Apache-2.0
 *
 * What range a model was trained on, as far as its weights tell.
 */
#ifndef VTAC_QUANTIZE_GUESS_H
#define VTAC_QUANTIZE_GUESS_H

#include "plan.h"
#include "vtac/quantize.h"

/* Compiles the graph, runs a few made-up inputs of every usual range through it and chooses one. */
vta_status quant_guess_range(const quant_plan *plan, uint64_t seed, const vtac_progress *progress,
                             vtac_sample_range *out, vta_diag *diag);

#endif
