/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph compiled for this machine so that values inside it can be seen.
 */
#ifndef VTAC_QUANTIZE_PROBE_H
#define VTAC_QUANTIZE_PROBE_H

#include "vtac/quantize.h"

typedef struct vtac_quant_probe vtac_quant_probe;

/* Compiles the graph, which stays as it is and need not live longer. Constants cannot be looked at. */
vta_status vtac_quant_probe_open(vtac_graph *graph, const vtac_value_id *values, uint32_t count,
                                 vtac_quant_probe **out, vta_diag *diag);
/* Two probes of one code: what is set in one is not set in the other. Both are NULL after a failure. */
vta_status vtac_quant_probe_open_pair(vtac_graph *graph, const vtac_value_id *values, uint32_t count,
                                      vtac_quant_probe *out[2], vta_diag *diag);
void vtac_quant_probe_close(vtac_quant_probe *probe);

vta_status vtac_quant_probe_run(vtac_quant_probe *probe, const vtac_samples *samples, uint32_t sample,
                                vta_diag *diag);

/* Sets input `i` of the graph for all further runs; runs set those that the samples have. */
vta_status vtac_quant_probe_set(vtac_quant_probe *probe, uint32_t i, const void *data, size_t bytes,
                                vta_diag *diag);

/* Contents of requested value `i` in the last run; for graph outputs, the index is that of the output. */
const float *vtac_quant_probe_value(const vtac_quant_probe *probe, uint32_t i);
const float *vtac_quant_probe_output(const vtac_quant_probe *probe, uint32_t i);

#endif
