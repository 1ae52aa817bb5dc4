/* SPDX-License-Identifier: Apache-2.0
 *
 * What the samples show of the values that are to be quantized.
 */
#ifndef VTAC_QUANTIZE_OBSERVE_H
#define VTAC_QUANTIZE_OBSERVE_H

#include "plan.h"
#include "probe.h"
#include "range.h"

/* Room of the ranges of VTAC_RANGE_ROOM. */
#define QUANT_ROOM 1.25

/* A value that is to be quantized. */
typedef struct vtac_quant_seen {
    vtac_value_id value, group;
    vtac_quant_range range; /* of the group, at its first value */
    int64_t channels; /* along `axis`, which is that of the inputs of the product that reads it; 0: none */
    uint32_t axis;
    double *sum;    /* of each channel */
    uint64_t count; /* elements of a channel that were seen */
} vtac_quant_seen;

typedef struct vtac_quant_observer {
    const vtac_quant_plan *plan;
    vtac_quant_seen *seen; /* no constants */
    uint32_t *of;          /* by value: its place in `seen` plus one, 0: none */
    uint32_t count;
    vtac_quant_probe *probe; /* the float model, compiled */
} vtac_quant_observer;

/* Compiles the graph. The probe shows what is in `seen`, and behind that `others`, `other_count` of them.
 * Close it also after a failure. */
vta_status vtac_quant_observe_open(const vtac_quant_plan *plan, const vtac_value_id *others,
                                   uint32_t other_count, vtac_quant_observer *out, vta_diag *diag);
void vtac_quant_observe_close(vtac_quant_observer *observer);

/* Lists what the plan wants; nothing is compiled. */
vta_status vtac_quant_observe_list(const vtac_quant_plan *plan, vtac_quant_observer *out, vta_diag *diag);

/* Runs a sample: ranges and means, or, once all ranges are known and there are bins, histograms. */
vta_status vtac_quant_observe_sample(const vtac_quant_observer *observer, const vtac_samples *samples,
                                     uint32_t sample, bool histograms, vta_diag *diag);

/* The ranges of the values in the last run. */
void vtac_quant_observe_run(const vtac_quant_observer *observer, vtac_quant_range *out);

/* Takes the same values' ranges anew, each alone, where the groups are known. */
void vtac_quant_observe_again(const vtac_quant_observer *observer, const vtac_quant_observer *other,
                              const vtac_quant_range *ranges);

/* Makes the bins of histograms. */
vta_status vtac_quant_observe_bins(vtac_quant_observer *observer, vta_diag *diag);

/* Takes over what another observer saw of the same graph, whose values have these ranges, each alone.
 * VTA_UNSUPPORTED where it did not see one of them. */
vta_status vtac_quant_observe_like(vtac_quant_observer *observer, const vtac_quant_observer *other,
                                   const vtac_quant_range *ranges, vta_diag *diag);

/* Ranges, groups joined, narrowed by the method. */
vta_status vtac_quant_observe(vtac_quant_observer *observer, const vtac_samples *samples,
                              vtac_range_method method, const vtac_progress *progress, vta_diag *diag);

/* Widens the ranges by what another observer saw of the same network at another size. */
vta_status vtac_quant_observe_merge(vtac_quant_observer *observer, const vtac_quant_observer *other,
                                    vta_diag *diag);

/* Leaves each range room by a factor, as far as operators with bounded results allow. */
vta_status vtac_quant_widen(const vtac_quant_observer *observer, double factor, vta_diag *diag);

/* Centres the ranges of the second factors of products of two activations at 0, where they reach below it:
 * the accelerator takes such a factor as weights, which have no zero point. */
void vtac_quant_centre_factors(const vtac_quant_observer *observer);

/* The range of a value that is no constant. */
const vtac_quant_range *vtac_quant_range_of(const vtac_quant_observer *observer, vtac_value_id value);

/* The mean of each channel of a product's operand, in memory of the plan's; NULL: not known. */
vta_status vtac_quant_means(const vtac_quant_observer *observer, vtac_value_id value, const double **out,
                            vta_diag *diag);

#endif
