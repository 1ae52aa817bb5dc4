/* SPDX-License-Identifier: Apache-2.0
 *
 * Factors of attention that are a cache with the rows of new tokens behind it (cache.c).
 */
#ifndef VTAC_PARTITION_CACHE_H
#define VTAC_PARTITION_CACHE_H

#include "packed.h"

/* Inputs of a Product: the second factor, and the new rows behind it. */
enum { VTAC_PRODUCT_IMAGE = 3, VTAC_PRODUCT_MORE = 8 };

/* The second factor of a product: keys, or values with `transposed`. past 0: it is no such factor. */
typedef struct vtac_cache_factor {
    vtac_value_id past;                    /* [1, heads, tokens, columns] */
    vtac_value_id new;                     /* the image of the new rows, [1, heads · columns, count]; or 0 */
    int64_t heads, tokens, count, columns; /* count: of new tokens */
    int64_t readers;                       /* heads of queries that share a head of these */
    bool transposed;
} vtac_cache_factor;

vtac_cache_factor vtac_cache_of(const vtac_graph *graph, vtac_value_id factor);

/* The image of the cache, which the host makes: [1, heads · columns, tokens], or `transposed`
 * [1, tokens, heads · columns]; each head has whole blocks of columns. */
vta_status vtac_cache_image(const vtac_node_builder *b, const vtac_cache_factor *f, vtac_value_id *out);

/* The second factor of a product of these images, as the old product read it. */
vta_status vtac_factor_of_cache(const vtac_node_builder *b, const vtac_node *product, const vtac_type *as,
                                vtac_value_id *x);

#endif
