/* SPDX-License-Identifier: Apache-2.0
 *
 * Observations of a model by trials (vtac/quantize.h), for whoever quantizes it by their result.
 */
#ifndef VTAC_QUANTIZE_TRIALS_H
#define VTAC_QUANTIZE_TRIALS_H

#include "observe.h"

/* Ranges of the values of a plan, whose graph is the model again. VTA_UNSUPPORTED: the trials have not seen
 * one of them. Close the observer also after a failure. */
vta_status vtac_trials_observe(vtac_trials *trials, const vtac_quant_plan *plan, vtac_range_method method,
                               vtac_quant_observer *out, vta_diag *diag);

#endif
