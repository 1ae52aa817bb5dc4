/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes that have no 8-bit form as they stand, in forms that have one.
 */
#ifndef VTAC_QUANTIZE_SPLIT_H
#define VTAC_QUANTIZE_SPLIT_H

#include "vtac/graph.h"

/* Sums, maxima and minima of many by twos; transposed convolutions of volumes by slices. */
vta_status vtac_quant_split(vtac_graph *graph, vta_diag *diag);

#endif
