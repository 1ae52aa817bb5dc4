/* SPDX-License-Identifier: Apache-2.0
 *
 * RowSoftmax and RowNorm: softmax and normalizations over the last axis in the integers of vtac/quant.h. Both
 * take x, x_scale, x_zero, y_scale, y_zero, known but for x. RowSoftmax has a mask as a sixth input: where it
 * is true, the number is left out; with the attribute VTAC_ROW_LINEAR it divides by the sum without a power,
 * and has no mask. RowNorm has gain and perhaps bias, a float for each column, and the attributes epsilon and
 * centered. PlaneNorm normalizes all axes behind the second, by groups of channels: it has gain and bias, a
 * float for each channel, and the attributes epsilon and groups.
 */
#ifndef VTAC_ROWS_H
#define VTAC_ROWS_H

#include "vta/arena.h"
#include "vtac/graph.h"
#include "vtac/quant.h"

#define VTAC_ROW_LINEAR "linear"

/* The numbers of a node; false: it has none, because something that they need is not known or does not fit.
 */
bool vtac_softmax_of_node(const vtac_graph *graph, const vtac_node *node, vtac_softmax *out);
/* The columns are the arena's; false also where there is no memory. */
bool vtac_norm_of_node(const vtac_graph *graph, const vtac_node *node, vta_arena *arena, vtac_norm *out);

/* The same of PlaneNorm and its channels. */
bool vtac_planes_of_node(const vtac_graph *graph, const vtac_node *node, vta_arena *arena, vtac_planes *out);

/* ---- the scores that a Softmax of floats reads: source * factor, less what masks hide. Exporters write a
 * mask as a sum with numbers that are 0 or far below, or as a choice between scores and such a number. */
typedef enum vtac_mask_kind { VTAC_MASK_TRUE, VTAC_MASK_FALSE, VTAC_MASK_ADDED } vtac_mask_kind;

typedef struct vtac_mask {
    vtac_value_id value;
    vtac_mask_kind kind; /* it hides where it is true, where it is false, where it is far below 0 */
    double weakest;      /* of its own numbers that hide, the one nearest to 0; -infinity: it has none */
} vtac_mask;

enum { VTAC_HEAD_MASKS = 4, VTAC_HEAD_NODES = 12 };

typedef struct vtac_softmax_head {
    vtac_value_id source;
    double factor;
    double weakest; /* of all that hide, as the scores meet it */
    vtac_mask masks[VTAC_HEAD_MASKS];
    vtac_node_id nodes[VTAC_HEAD_NODES]; /* the Softmax, then upwards */
    uint32_t mask_count, node_count;
} vtac_softmax_head;

void vtac_softmax_head_of(const vtac_graph *graph, vtac_node_id softmax, vtac_softmax_head *out);

#endif
