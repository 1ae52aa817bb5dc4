/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent layers as their integers take them: h at the end of a sequence is the last step of Y, in each
 * direction's own order, so that one scale serves both. Only what leaves the network of a GRU whose states
 * are given is left as it is.
 */
#ifndef VTAC_QUANTIZE_RECURRENT_H
#define VTAC_QUANTIZE_RECURRENT_H

#include "vtac/graph.h"

vta_status vtac_quant_take_states(vtac_graph *graph, vta_diag *diag);

#endif
