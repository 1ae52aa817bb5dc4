/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VTAC_QUANTIZE_PARTS_H
#define VTAC_QUANTIZE_PARTS_H

#include "vtac/graph.h"

/* Each RMSNormalization of floats over the last axis in its parts, which older programs read. */
vta_status vtac_quant_take_apart(vtac_graph *graph, vta_diag *diag);

#endif
