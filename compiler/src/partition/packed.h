/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products of two activations, as the accelerator has them: the rows of the first are the pixels of an
 * image, and the second is packed as the array's weights (vtac/vta.h, packed weights).
 */
#ifndef VTAC_PARTITION_PACKED_H
#define VTAC_PARTITION_PACKED_H

#include "builder.h"

/* A pair of batches of matrices: a [g, m, k] and b [g, k, n], after broadcasting. */
typedef struct vtac_pair {
    int64_t g, m, k, n;
    int64_t group_m, group_k, group_n; /* with the padding of the product */
    int64_t packed_k, packed_n;
    int64_t block, block_in, block_out;
    int32_t zero_a, zero_b; /* as signed integers */
    int64_t planes;
    bool transposed;    /* b is given as [n, k] */
    vtac_value_id bias; /* of QGemm, constant; 0: none */
    uint32_t out;       /* the input with the output's scale */
} vtac_pair;

enum { VTAC_PRODUCT_ATTRS = 8 }; /* of a Product: the most that product.c gives it */

/* product.c: the sizes and zero points of a product; false: it is no such product. */
bool vtac_pair_of(const vtac_node_builder *b, const vtac_node *node, vtac_pair *s);

/* Sets the sizes from a [.., m, k] and b [.., k, n], or [n, k] with `transposed`. */
void vtac_pair_sizes(const vtac_node_builder *b, const vtac_type *x, const vtac_type *w, vtac_pair *s);

/* Pads [g, rows, columns] to these sizes with the number `zero`. */
vta_status vtac_pair_pad(const vtac_node_builder *b, int64_t rows, int64_t columns, int zero,
                         vtac_value_id *x);
/* Expands broadcast axes, and reshapes to [g, rows, columns]. */
vta_status vtac_pair_matrices(const vtac_node_builder *b, const vtac_pair *s, int64_t rows, int64_t columns,
                              vtac_value_id *x);
/* Turns the first factor into an image: [1, g·k, m]. */
vta_status vtac_pair_transpose(const vtac_node_builder *b, const vtac_pair *s, vtac_value_id *x);
/* Packs [g, k, n] as the array's weights: an image [1, block, ...] that has their order in memory. */
vta_status vtac_pair_pack(const vtac_node_builder *b, const vtac_pair *s, vtac_value_id x,
                          vtac_value_id *out);
/* Turns a padded [1, g·n, m] into [g, m, n]. */
vta_status vtac_pair_back(const vtac_node_builder *b, const vtac_pair *s, vtac_value_id *x);

#endif
