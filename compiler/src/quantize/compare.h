/* SPDX-License-Identifier: Apache-2.0
 *
 * The quantized model beside the float one.
 */
#ifndef VTAC_QUANTIZE_COMPARE_H
#define VTAC_QUANTIZE_COMPARE_H

#include "observe.h"

/* `real`: by place in the observer, the value that stands for it in the quantized graph. */
vta_status quant_compare(const quant_observer *observer, vtac_graph *quantized, const vtac_value_id *real,
                         const vtac_samples *samples, vtac_dtype dtype, const vta_progress *progress,
                         vtac_quantize_report *report, vta_diag *diag);

#endif
