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
    const vtac_value_id *real; /* by place in the observer: what stands for it in the quantized graph */
    const vtac_samples *samples;
    vtac_dtype dtype;
    const uint32_t *labels; /* NULL: none */
    uint32_t label_count;
    const vtac_quant_product *products;
    uint32_t product_count;
    bool measure_harm; /* where the mark is not good and the samples are real */
    const vtac_progress *progress;
} vtac_quant_comparison;

vta_status vtac_quant_compare(const vtac_quant_comparison *c, vtac_quantize_report *report, vta_diag *diag);

#endif
