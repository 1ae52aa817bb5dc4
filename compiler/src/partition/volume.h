/* SPDX-License-Identifier: Apache-2.0
 *
 * Volumes [n, c, d, h, w] as images: their slices are images of a batch, [n·d, c, h, w]. What moves slices
 * stands between layers as any other movement (move.c).
 */
#ifndef VTAC_PARTITION_VOLUME_H
#define VTAC_PARTITION_VOLUME_H

#include "builder.h"
#include "partition.h"

enum { VTAC_VOLUME_RANK = 5, VTAC_DEPTH = 2 };

/* For each of `places` places in depth, which slices it sees: `taps` numbers, below 0 or beyond the last one
 * in the padding. */
typedef struct vtac_taps {
    int64_t *slices;
    int64_t places, taps;
} vtac_taps;

/* Whether a value's slices are there already: it is what vtac_volume_back made. */
bool vtac_volume_is_sliced(const vtac_node_builder *b, vtac_value_id x);
/* *x becomes its slices, and slices become a volume of n. */
vta_status vtac_volume_slices(const vtac_node_builder *b, vtac_value_id *x);
vta_status vtac_volume_back(const vtac_node_builder *b, int64_t n, vtac_value_id *x);

/* *x becomes what the places see, [n, c, places, taps, h, w]; padding is the number of input 2, or there is
 * none. */
vta_status vtac_volume_take(const vtac_node_builder *b, const vtac_taps *t, vtac_value_id *x);
/* The same with the rows of all taps in turn, [n·places, c, h·taps, w]. */
vta_status vtac_volume_rows(const vtac_node_builder *b, const vtac_taps *t, vtac_value_id *x);
/* Whether each place sees its own slice of `depth` and no other. */
bool vtac_taps_are_slices(const vtac_taps *t, int64_t depth);

/* A layer, with the node's clip. */
vta_status vtac_volume_layer(const vtac_node_builder *b, vtac_op op, const vtac_value_id *inputs,
                             uint32_t count, const vtac_attr *attrs, uint32_t attr_count, vtac_value_id *out);

vtac_legalize vtac_legalize_volume_pool, vtac_legalize_volume_point;

#endif
