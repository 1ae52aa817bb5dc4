/* SPDX-License-Identifier: Apache-2.0
 *
 * Models with states (vtac/states.h): calibration inputs that are steps, and states of 8 bits.
 */
#ifndef VTAC_QUANTIZE_STEPS_H
#define VTAC_QUANTIZE_STEPS_H

#include "vtac/quantize.h"

/* True if a model has states, and inputs of integers, which say what a step is about. */
bool vtac_quant_has_steps(const vtac_graph *graph);

/* The inputs of `count` steps: integers are drawn among the rows of the table that they look up, floats from
 * the range, states are those of the step before, zeros at first. */
vta_status vtac_quant_make_steps(const vtac_graph *graph, const vtac_sample_range *range, uint32_t count,
                                 uint64_t *random, vta_arena *arena, vtac_tensor *tensors, vta_diag *diag);

/* States whose input is rounded by the scale of their output become integers of that scale. */
vta_status vtac_quant_narrow_states(vtac_graph *graph, vta_diag *diag);

#endif
