/* SPDX-License-Identifier: Apache-2.0
 *
 * Models of half floats (f16, bf16) as models of floats: what has 16 bits gets 32, so that the quantizer
 * knows one kind of float. Inputs and outputs get their own type back at the end.
 */
#ifndef VTAC_QUANTIZE_HALF_H
#define VTAC_QUANTIZE_HALF_H

#include "vtac/graph.h"

typedef struct vtac_quant_borders {
    vtac_dtype *inputs, *outputs; /* what they were, by place */
    bool any;
} vtac_quant_borders;

bool vtac_quant_is_half(vtac_dtype dtype);
vta_status vtac_quant_floats(vtac_graph *graph, vtac_quant_borders *out, vta_diag *diag);
vta_status vtac_quant_restore(vtac_graph *graph, const vtac_quant_borders *borders, vta_diag *diag);

#endif
