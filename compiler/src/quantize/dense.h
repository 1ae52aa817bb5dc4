/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense layers as exporters write them for rows of any rank, MatMul and an Add of a bias, become Gemm: its
 * bias is 32 bits wide in the quantized model, and costs nothing.
 */
#ifndef VTAC_QUANTIZE_DENSE_H
#define VTAC_QUANTIZE_DENSE_H

#include "vtac/graph.h"

vta_status vtac_quant_join_biases(vtac_graph *graph, vta_diag *diag);

#endif
