/* SPDX-License-Identifier: Apache-2.0
 *
 * Two matrices that both change with the input, as the accelerator's product of them has them: the rows of
 * the first are the pixels of an image, the second is packed as the array's weights (vtac/vta.h, packed
 * weights).
 */
#ifndef VTAC_PARTITION_PACKED_H
#define VTAC_PARTITION_PACKED_H

#include "builder.h"

/* a [g, m, k] and b [g, k, n] in the end. */
typedef struct vtac_pair {
    int64_t g, m, k, n;
    int64_t group_m, group_k, group_n; /* with padding, as the product has them */
    int64_t packed_k, packed_n;
    int64_t block, block_in, block_out;
    int32_t zero_a, zero_b; /* of signed integers */
    int64_t planes;
    bool turned;        /* b comes as [n, k] */
    vtac_value_id bias; /* of QGemm, known; 0: none */
    uint32_t out;       /* the input with the output's scale */
} vtac_pair;

/* The sizes, of a [.., m, k] and b [.., k, n], or [n, k] where `turned`, which make the node's output. */
void vtac_pair_sizes(const vtac_node_builder *b, const vtac_type *x, const vtac_type *w, vtac_pair *s);

/* Rows and columns of [g, rows, columns] become so many, with the number that is zero. */
vta_status vtac_pair_pad(const vtac_node_builder *b, int64_t rows, int64_t columns, int zero,
                         vtac_value_id *x);
/* Axes that are broadcast get their size; then [g, rows, columns]. */
vta_status vtac_pair_matrices(const vtac_node_builder *b, const vtac_pair *s, int64_t rows, int64_t columns,
                              vtac_value_id *x);
/* The first factor as an image: [1, g·k, m]. */
vta_status vtac_pair_transpose(const vtac_node_builder *b, const vtac_pair *s, vtac_value_id *x);
/* [g, k, n] as the array's weights: [1, block, ...], whose image in memory they are. */
vta_status vtac_pair_pack(const vtac_node_builder *b, const vtac_pair *s, vtac_value_id x,
                          vtac_value_id *out);
/* [1, g·n, m], padded, as [g, m, n]. */
vta_status vtac_pair_back(const vtac_node_builder *b, const vtac_pair *s, vtac_value_id *x);

#endif
