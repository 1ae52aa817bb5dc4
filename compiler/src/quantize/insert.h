/* SPDX-License-Identifier: Apache-2.0
 *
 * QuantizeLinear and DequantizeLinear in a graph.
 */
#ifndef VTAC_QUANTIZE_INSERT_H
#define VTAC_QUANTIZE_INSERT_H

#include "vtac/graph.h"

/* The operands of both. */
typedef struct vtac_quant_params {
    vtac_value_id scale, zero; /* zero 0: none */
    bool per_axis;
    uint32_t axis;
    uint32_t block; /* places along the axis that share a scale; 0: one has its own */
} vtac_quant_params;

/* A scale and a zero point for a whole tensor, as constants. */
vta_status vtac_quant_add_params(vtac_graph *graph, vtac_dtype dtype, float scale, int32_t zero,
                                 vtac_quant_params *out, vta_diag *diag);

/* A constant named after `like`. */
vta_status vtac_quant_add_constant(vtac_graph *graph, const char *like, const vtac_tensor *tensor,
                                   vtac_value_id *out, vta_diag *diag);

/* DequantizeLinear(q), told to be part of node `near`. */
vta_status vtac_quant_add_dequantize(vtac_graph *graph, vtac_node_id near, vtac_value_id q,
                                     const vtac_quant_params *params, vtac_value_id *out, vta_diag *diag);

/* Everything that used `value` uses DequantizeLinear(QuantizeLinear(value)), *out; where it is an output of
 * the graph, that has its name. */
vta_status vtac_quant_wrap(vtac_graph *graph, vtac_value_id value, const vtac_quant_params *params,
                           vtac_value_id *out, vta_diag *diag);

/* The same for a constant, whose integers are stored. */
vta_status vtac_quant_wrap_constant(vtac_graph *graph, vtac_value_id value, const vtac_quant_params *params,
                                    vtac_value_id *out, vta_diag *diag);

#endif
