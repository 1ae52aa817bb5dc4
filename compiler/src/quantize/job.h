/* SPDX-License-Identifier: Apache-2.0
 *
 * The first and the last steps of quantizing (quantize.c), for whoever quantizes and for whoever tries.
 */
#ifndef VTAC_QUANTIZE_JOB_H
#define VTAC_QUANTIZE_JOB_H

#include "half.h"
#include "observe.h"
#include "vtac/quantize.h"

/* The graph as it is planned for: floats, folded, biases joined; the samples (NULL: none) fit its inputs. */
vta_status vtac_quant_prepare(vtac_graph *graph, vtac_quant_borders *borders, const vtac_samples *samples,
                              const vtac_quantize_options *how, vta_diag *diag);

/* Counts multiplications, and those of them that stay float. */
void vtac_quant_count_macs(const vtac_quant_plan *plan, vtac_quantize_report *report);

/* The range of a constant among the operands of a plan: that of its group, or its own where nothing of the
 * group was observed. */
vtac_quant_range vtac_quant_constant_range(const vtac_quant_observer *observer, vtac_value_id constant);

/* True if anything that a plan quantizes is a product or a recurrent layer. */
bool vtac_quant_has_work(const vtac_quant_plan *plan);

vta_status vtac_quant_fail_nothing(vta_diag *diag);

#endif
