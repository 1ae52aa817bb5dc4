/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrence: one direction of an LSTM, GRU or RNN in the integers of vtac/quant.h. It takes x [steps, batch,
 * inputs], x_scale, x_zero, y_scale, y_zero, and W, R and B of one direction as floats, all known but x; its
 * attributes are `kind` (0, 1, 2 for LSTM, GRU, RNN), `reset_after` and `reverse`. The states begin with 0.
 */
#ifndef VTAC_RECURRENCE_H
#define VTAC_RECURRENCE_H

#include "vta/arena.h"
#include "vtac/graph.h"
#include "vtac/quant.h"

enum { VTAC_RECURRENCE_INPUTS = 8, VTAC_RECURRENCE_ATTRS = 3 };

/* The numbers of a Recurrence, or of its image; the weights are the arena's. False: it has none, because
 * something is not known or does not fit, or there is no memory. */
bool vtac_recurrent_of_node(const vtac_graph *graph, const vtac_node *node, vta_arena *arena,
                            vtac_recurrent *out);

/* True if a node of ONNX is an LSTM, GRU or RNN whose weights are known, whose functions are the usual ones,
 * whose sequences are whole and whose states begin with 0; is_plain: it gives Y, and nothing reads the states
 * at its end, so that it is one Recurrence for each direction. */
bool vtac_recurrent_is_usual(const vtac_graph *graph, const vtac_node *node);
bool vtac_recurrent_is_plain(const vtac_graph *graph, const vtac_node *node);

/* The kind of such an operator; false: it is none. */
bool vtac_recurrent_kind_of(vtac_op op, vtac_recurrent_kind *out);

#endif
