/* SPDX-License-Identifier: Apache-2.0
 *
 * The quantized model beside the float one.
 */
#ifndef VTAC_QUANTIZE_COMPARE_H
#define VTAC_QUANTIZE_COMPARE_H

#include "observe.h"
#include "weights.h"

typedef struct vtac_quant_comparison {
    const vtac_quant_observer *observer; /* of the float model */
    vtac_graph *quantized;
    vtac_quant_probe *probe;    /* the quantized graph, compiled; NULL: it is compiled for this */
    const vtac_value_id *real;  /* by place in the observer: what stands for it in the quantized graph */
    const uint32_t *places;     /* by place in the observer: that in both probes; NULL: the same */
    const float *const *floats; /* outputs of the float model by sample, then by output: then it does not run
                                   and no layers are reported; NULL: it runs */
    const vtac_samples *samples;
    vtac_dtype dtype;
    const uint32_t *labels; /* NULL: none */
    uint32_t label_count;
    const vtac_quant_product *products;
    uint32_t product_count;
    bool measure_harm; /* where the mark is not good and the samples are real */
    vta_status (*before)(void *context, uint32_t sample, vta_diag *diag); /* of a run; NULL: nothing */
    void *context;
    const vtac_progress *progress;
} vtac_quant_comparison;

/* The node that made a value, before the clamps that belong to it. */
const vtac_node *vtac_quant_layer_of(const vtac_quant_plan *plan, vtac_value_id value);

vta_status vtac_quant_compare(const vtac_quant_comparison *c, vtac_quantize_report *report, vta_diag *diag);

#endif
