/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrence: one direction of an LSTM, GRU or RNN in the integers of vtac/quant.h. It takes x [steps, batch,
 * inputs], x_scale, x_zero, y_scale, y_zero, and W, R and B of one direction as floats, all known but x; its
 * attributes are `kind` (0, 1, 2 for LSTM, GRU, RNN), `reset_after` and `reverse`. The ninth and tenth
 * input are what it begins with, which is 0 without them: h of an LSTM or RNN, int8 [1, batch, hidden], in
 * the scale of y; and the bytes of C or H, int8 [vtac_recurrent_digits, batch, hidden], the highest first. A
 * second output has those at the end.
 *
 * StateBytes makes such bytes of C or H as floats [1, batch, hidden], and StateFloats floats of bytes; `kind`
 * says which cell's they are.
 */
#ifndef VTAC_RECURRENCE_H
#define VTAC_RECURRENCE_H

#include "vta/arena.h"
#include "vtac/graph.h"
#include "vtac/quant.h"

enum { VTAC_RECURRENCE_ATTRS = 3 };

/* The numbers of a Recurrence, or of its image; the weights are the arena's. False: it has none, because
 * something is not known or does not fit, or there is no memory. */
bool vtac_recurrent_of_node(const vtac_graph *graph, const vtac_node *node, vta_arena *arena,
                            vtac_recurrent *out);

/* True if a node of ONNX is an LSTM, GRU or RNN whose weights are known, whose functions are the usual ones
 * and whose sequences are whole; is_plain: it gives Y, too, so that it is one Recurrence for each
 * direction. */
bool vtac_recurrent_is_usual(const vtac_graph *graph, const vtac_node *node);
bool vtac_recurrent_is_plain(const vtac_graph *graph, const vtac_node *node);

/* True if a layer begins with states that are not known to be all 0. */
bool vtac_recurrent_has_state(const vtac_graph *graph, const vtac_node *node);

/* True if an output of a layer is there, and read or given. */
bool vtac_recurrent_gives(const vtac_graph *graph, const vtac_node *node, uint32_t output);

/* The kind of such an operator; false: it is none. */
bool vtac_recurrent_kind_of(vtac_op op, vtac_recurrent_kind *out);

#endif
