/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes that have no 8-bit form as they stand, in forms that have one.
 */
#ifndef VTAC_QUANTIZE_SPLIT_H
#define VTAC_QUANTIZE_SPLIT_H

#include "vtac/graph.h"

/* Sums, maxima and minima of many by twos; softmax over two numbers; transposed convolutions of volumes by
 * slices, of signals as images of one row; interpolation whose places do not repeat; normalizations by
 * neighbouring or by all channels, and of inputs by channel; mean places under maps. */
vta_status vtac_quant_split(vtac_graph *graph, vta_diag *diag);

/* A node that others take the place of; `like` is a copy. */
typedef struct vtac_splitter {
    vtac_graph *graph;
    vtac_node like;
    vta_diag *diag;
} vtac_splitter;

vta_status vtac_split_add(const vtac_splitter *s, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                          const vtac_attr *attrs, uint32_t attr_count, vtac_value_id *out);
vta_status vtac_split_reshape(const vtac_splitter *s, const int64_t *dims, uint32_t rank,
                              vtac_value_id *value);
/* A constant of one number. */
vta_status vtac_split_number(const vtac_splitter *s, double number, vtac_value_id *out);
/* Readers of the node's result read another value. */
void vtac_split_replace(const vtac_splitter *s, vtac_value_id with);

/* True if a product with constant weights reads a value, through at most so many nodes between. */
bool vtac_leads_to_product(const vtac_graph *graph, vtac_value_id value, uint32_t depth);

/* affine.c */
bool vtac_is_normalized_input(const vtac_graph *graph, const vtac_node *node);
vta_status vtac_split_normalized_input(const vtac_splitter *s);

/* responses.c */
bool vtac_is_response_norm(const vtac_graph *graph, const vtac_node *node);
vta_status vtac_split_responses(const vtac_splitter *s);

/* places.c */
bool vtac_is_mean_place(const vtac_graph *graph, const vtac_node *node);
vta_status vtac_split_mean_place(const vtac_splitter *s);

/* signal.c */
bool vtac_is_transposed_signal(const vtac_graph *graph, const vtac_node *node);
vta_status vtac_split_signal(const vtac_splitter *s);

/* interpolate.c */
bool vtac_is_uneven_resize(const vtac_graph *graph, const vtac_node *node);
vta_status vtac_split_resize(const vtac_splitter *s);

/* neighbours.c */
bool vtac_is_neighbour_norm(const vtac_graph *graph, const vtac_node *node);
vta_status vtac_split_neighbours(const vtac_splitter *s);

#endif
