/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of a blocked convolution share: the layer as a kernel sees it, with the tile that stays in
 * registers (conv_tile.c), its weights (conv_weights.c), what zero points of weights need (conv_zeros.c), the
 * kernel itself (conv_blocked.c), and the way by fewer products (conv_winograd.c).
 */
#ifndef VTAC_LOWER_CONV_TILE_H
#define VTAC_LOWER_CONV_TILE_H

#include "conv_blocked.h"

enum {
    VTAC_BLOCKED_VECTORS = 8, /* of a tile, at most */
    VTAC_BLOCKED_FLAT = 8     /* positions with places of their own: each takes a register */
};

typedef struct vtac_blocked {
    vtac_conv_shape s;
    const vtac_layout *in;
    vtac_value_id x, y; /* 0: products of conv_winograd.c, which are no values of the graph */
    const vtac_type *x_type, *y_type;
    int64_t lanes, vectors, vector_groups; /* of output channels; groups of `vectors`, per conv group */
    int64_t rows, columns;                 /* the tile's positions */
    int64_t chunks, tiles;                 /* chunks cover a plane, with so many tiles each */
    int64_t parts;                         /* chunks of one row of tiles, where rows are few */
    int64_t images;                        /* planes of the output, of all batches */
    int64_t in_blocks, step;               /* channel blocks of one conv group; channels in a step */
    bool wide;                             /* bytes as 16-bit numbers */
    int64_t rest;                          /* channels of the last block, in whole steps; 0: all */
    int64_t sources;                       /* weights of one output channel, with padded channels */
    int64_t span;                          /* most blocks that a panel of outputs reads; 0: all */
    int64_t core;                          /* blocks that each panel reads; some read `span` */
    bool rows_outside;                     /* order of the parallel loop */
    bool flat;                             /* `columns` positions of the plane, whatever rows they are in */
    int64_t winograd; /* outputs along each axis that are made of one product each; 0: the direct way. Rows,
                         columns and vectors are then those of the products. */
} vtac_blocked;

/* ---- conv_tile.c */

/* Vectors of a group's outputs; the last one of all may have lanes beyond the last output. */
int64_t vtac_blocked_vectors(const vtac_blocked *c);
/* The first of the channel blocks that a panel of `wide` outputs reads, and how many: of merged groups those
 * alone that it belongs to. */
int64_t vtac_blocked_span(const vtac_blocked *c, int64_t wide, int64_t panel, int64_t *first);
bool vtac_blocked_has_spans(const vtac_blocked *c);
/* True if the layer computes with floats in vectors of 64 bytes from a blocked input. In all other layers
 * neighbouring taps read the same elements. */
bool vtac_blocked_is_long(const vtac_lower *l, const vtac_blocked *c);
/* True if a tap of the axis reaches beyond the edge by a quarter of the plane. */
bool vtac_blocked_reaches_far(const vtac_blocked *c, uint32_t axis);
/* Products of the layer. */
int64_t vtac_blocked_work(const vtac_blocked *c);
/* Chooses the tile: the one that should cost least, or the one that the program's schedules name. */
void vtac_blocked_choose(const vtac_lower *l, vtac_blocked *c);
/* Cuts the planes into chunks of tiles, once the tile is known. */
void vtac_blocked_cut(vtac_blocked *c);

/* ---- conv_weights.c */

/* Leaves out the blocks that no panel reads, once the tile is known: channels of a block beyond those of its
 * group are multiplied by 0. */
void vtac_blocked_narrow(vtac_blocked *c);
/* Blocks that a panel reads: those that all do, or the most; and where they begin. */
int64_t vtac_blocked_reads(const vtac_blocked *c, int64_t panel);
int64_t vtac_blocked_first(const vtac_blocked *c, int64_t panel);
/* Numbers of all packed weights, and those as a constant. */
int64_t vtac_blocked_weights(const vtac_blocked *c);
vtac_storage_id vtac_blocked_pack(vtac_lower *l, const vtac_blocked *c, vtac_dtype *stored);
/* The place of a weight in the node's tensor; -1: it is 0. */
int64_t vtac_blocked_weight(const vtac_blocked *c, int64_t output, int64_t channel, int64_t tap);
/* The row of a channel's weights at a tap, among those of one panel. */
int64_t vtac_blocked_source(const vtac_blocked *c, int64_t channel, int64_t tap);

/* ---- conv_zeros.c */

/* Sums of the input's bytes under each window. */
vta_status vtac_blocked_windows(vtac_lower *l, const vtac_blocked *c, vtac_storage_id *out);

/* ---- conv_blocked.c */

/* The kernel of products that are no values of the graph: input, packed weights, output
 * [image][group][vector][position][lane]. */
vta_status vtac_blocked_products(vtac_lower *l, const vtac_blocked *c, vtac_storage_id input,
                                 vtac_storage_id weights, vtac_storage_id output);

/* ---- conv_winograd.c */

/* True if the layer may be computed by Winograd's method with `m` outputs along each axis; then `g` becomes
 * its products, without a tile. */
bool vtac_winograd_products(const vtac_blocked *c, int64_t m, vtac_layout *in, vtac_type *x_type,
                            vtac_blocked *g);
/* Cycles for all but the products, roughly. */
double vtac_winograd_cost(const vtac_blocked *c, int64_t m);
vta_status vtac_winograd(vtac_lower *l, const vtac_blocked *c);

#endif
