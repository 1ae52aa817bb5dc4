/* SPDX-License-Identifier: Apache-2.0
 *
 * Volumes [n, c, d, h, w] as images: their slices are images of a batch, [n·d, c, h, w]. Operators that move
 * slices between layers become movements like any other (move.c).
 */
#ifndef VTAC_PARTITION_VOLUME_H
#define VTAC_PARTITION_VOLUME_H

#include "builder.h"
#include "partition.h"

enum { VTAC_VOLUME_RANK = 5, VTAC_DEPTH = 2 };

/* The slices that each of `places` places in depth sees: `taps` numbers, negative or past the end
 * in the padding. */
typedef struct vtac_taps {
    int64_t *slices;
    int64_t places, taps;
} vtac_taps;

/* True if the slices of a value exist already: the value comes from vtac_volume_back. */
bool vtac_volume_is_sliced(const vtac_node_builder *b, vtac_value_id x);
/* Turns *x into its slices; and slices back into a volume of n. */
vta_status vtac_volume_slices(const vtac_node_builder *b, vtac_value_id *x);
vta_status vtac_volume_back(const vtac_node_builder *b, int64_t n, vtac_value_id *x);

/* Gathers what the places see, [n, c, places, taps, h, w]; padding is the number of input 2, if there is any.
 */
vta_status vtac_volume_take(const vtac_node_builder *b, const vtac_taps *t, vtac_value_id *x);
/* The same with the rows of all taps interleaved, [n·places, c, h·taps, w]. */
vta_status vtac_volume_rows(const vtac_node_builder *b, const vtac_taps *t, vtac_value_id *x);
/* True if each place sees exactly its own slice of `depth`. */
bool vtac_taps_are_slices(const vtac_taps *t, int64_t depth);

/* Adds a layer, with the node's clip. */
vta_status vtac_volume_layer(const vtac_node_builder *b, vtac_op op, const vtac_value_id *inputs,
                             uint32_t count, const vtac_attr *attrs, uint32_t attr_count, vtac_value_id *out);

vtac_legalize vtac_legalize_volume_pool, vtac_legalize_volume_point;

#endif
