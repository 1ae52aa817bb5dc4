/* SPDX-License-Identifier: Apache-2.0
 *
 * The stages of partitioning:
 *
 *   source.c     which image a value is, behind reshapes that move nothing
 *   rows.c       matrix products of rows as convolutions
 *   spread.c     operands that are broadcast, as large as the output
 *   parts.c      one dense layer that stands for several
 *   move.c       operators that only move numbers, as one
 *   packed.c     the operands of matrix products of two activations, the second packed as weights
 *   product.c    such products
 *   turns.c      the Reshapes and Transposes around those
 *   integer.c    ConvInteger and MatMulInteger, as sums
 *   integer_pair.c  MatMulInteger of two activations, likewise
 *   volume.c     convolutions of volumes, as those of images
 *   volume_pool.c, volume_point.c  pools of volumes, sums of them, …, likewise
 *   builder.c    the host's nodes around both
 *   zero.c       the zero point of every integer value
 *   layer*.c     a node as a layer (layers.def); a region from nodes
 *   group.c      which nodes go together: capability, cost, no path that leaves a region and comes back
 *   rewrite.c    the graph with Pack, Region, Unpack in their place
 *   cost.c       what a node costs on the host
 *   partition.c  one after the other
 */
#ifndef VTAC_PARTITION_INTERNAL_H
#define VTAC_PARTITION_INTERNAL_H

#include "builder.h"
#include "vta/vec.h"
#include "vtac/partition.h"

/* ---- source.c */

/* What a node reads as an image: `base`, or all of it in a row for each image (`flat`). */
typedef struct vtac_source {
    vtac_value_id base;
    bool flat;
} vtac_source;

/* Up through Reshape, Flatten, … as long as they move nothing. */
vtac_source vtac_source_of(const vtac_graph *graph, vtac_value_id value);

/* Whether a node is one of those that vtac_source_of looks through. */
bool vtac_is_view(const vtac_graph *graph, const vtac_node *node);

/* [n, c, h, w] of a type of rank 2 ([n, c]), 3 ([n, c, w]) or 4; false for others and for empty ones. */
bool vtac_image_shape(const vtac_type *type, int64_t shape[4]);

/* ---- rows.c */

/* Products of rows with constant matrices become convolutions of one pixel; `always`: small ones, too. */
vta_status vtac_legalize_rows(vtac_graph *graph, bool always, vta_arena *arena, vta_diag *diag);

/* spread.c: operands of sums and products that are broadcast become as large as the output. */
vta_status vtac_spread_operands(vtac_graph *graph, vta_arena *arena, vta_diag *diag);

/* ---- parts.c */

enum { VTAC_MAX_COLUMN_SLICES = 16 };

/* Columns first … first + count - 1 of a dense layer's rows, and the value that they become. */
typedef struct vtac_column_slice {
    vtac_value_id value;
    int64_t first, count;
} vtac_column_slice;

/* What is read of a dense layer's rows. Where `perm` is not NULL, the rows have the axes `apart` and are
 * turned before a part is taken: columns are counted in `axis` and those behind it. */
typedef struct vtac_column_slices {
    vtac_column_slice items[VTAC_MAX_COLUMN_SLICES];
    uint32_t count, axis;
    vtac_type apart;
    const vtac_attr *perm;
} vtac_column_slices;

/* False: something reads all of them. */
bool vtac_find_column_slices(const vtac_graph *graph, vtac_value_id value, vtac_column_slices *out);

/* ---- layer_point.c */

/* Whether a Resize repeats rows and columns a whole number of times. */
bool vtac_repeats_pixels(const vtac_graph *graph, const vtac_node *node);

/* ---- move.c */

enum { VTAC_MOVE_INTS = 5 }; /* of an entry of a Move's `from`, in the order of vtac_vta_from */

typedef struct vtac_moved vtac_moved;
typedef struct vtac_moves {
    vtac_moved *items;
    uint32_t count;
} vtac_moves;

/* Chains of operators that only move numbers become one Move each, where the accelerator has it. */
vta_status vtac_gather_moves(vtac_graph *graph, vta_arena *arena, vtac_moves *out, vta_diag *diag);

/* Those that no region took become what they were. */
vta_status vtac_undo_unused_moves(vtac_graph *graph, const vtac_moves *moved, vtac_partition *partition,
                                  vta_diag *diag);

/* A region's tensors that are the one value are the other. */
void vtac_rename_tensors(vtac_partition *p, vtac_value_id old, vtac_value_id new);

/* ---- product.c */

/* A node that became another one, with nodes of the host around it. */
typedef struct vtac_legalized {
    vtac_node was;
    vtac_node_id holders[2];    /* Identity nodes, which follow what becomes of its operands; 0: none */
    uint32_t operands[2];       /* which of its inputs these are */
    vtac_value_id made, stands; /* what the new node makes, and what stands in its output's place */
    bool may_stay;              /* the host can run what it became as well */
} vtac_legalized;
typedef struct vtac_legalized_list {
    vtac_legalized *items;
    uint32_t count;
} vtac_legalized_list;

/* Gives a node its other form, if it is one of those: *done, and `p` tells how to return it. */
typedef vta_status vtac_legalize(const vtac_node_builder *b, bool always, vtac_legalized *p, bool *done);

/* Each node that is there now, in their order. */
vta_status vtac_legalize_nodes(vtac_graph *graph, const vta_config *config, bool always, vta_arena *arena,
                               vtac_legalize *give, vtac_legalized_list *out, vta_diag *diag);

/* Products of two matrices that are no constants, with the second one packed; `always`: small ones, too. */
vta_status vtac_legalize_matmuls(vtac_graph *graph, const vta_config *config, bool always, vta_arena *arena,
                                 vtac_legalized_list *out, vta_diag *diag);

/* turns.c: chains of Reshape and Transpose as the shortest ones; functions of one number beside products. */
vta_status vtac_shorten_transposes(vtac_graph *graph, const vta_config *config, vta_arena *arena,
                                   vta_diag *diag);

/* What makes a value; NULL: nothing, a constant or an input. */
const vtac_node *vtac_maker_of(const vtac_graph *graph, vtac_value_id value);

/* source.c: whether a node orders or shapes the elements of its first input anew, all of them. */
bool vtac_is_reshaping(const vtac_node *node);

/* Whether a node, if any, moves the elements of its first input, or leaves some out. */
bool vtac_is_host_step(const vtac_graph *graph, vtac_node_id node);

/* integer.c: sums that come back byte by byte (vtac/vta.h, whole sums). */
typedef struct vtac_whole {
    int64_t outputs, rows,
        bytes; /* channels of a byte that have a sum; rows of an image of rows, or 0: all */
} vtac_whole;

/* The channels of one byte of all sums. */
int64_t vtac_whole_channels(const vtac_node_builder *b, int64_t outputs);
/* How many bytes sums up to `largest` have, and their negatives. */
int64_t vtac_whole_bytes(int64_t largest);
/* All bytes become int32 sums. */
vta_status vtac_whole_sums(const vtac_node_builder *b, const vtac_whole *w, vtac_value_id *x);

/* integer_pair.c: MatMulInteger of two activations, as sums. */
vta_status vtac_legalize_integer_pairs(vtac_graph *graph, const vta_config *config, bool always,
                                       vta_arena *arena, vtac_legalized_list *out, vta_diag *diag);

/* integer.c: products whose zero points the run knows become sums, which the host corrects. */
vta_status vtac_legalize_integers(vtac_graph *graph, const vta_config *config, bool always, vta_arena *arena,
                                  vtac_legalized_list *out, vta_diag *diag);

/* volume*.c: what computes with volumes as what does with images, their places in depth as a batch. */
vta_status vtac_legalize_volumes(vtac_graph *graph, const vta_config *config, bool always, vta_arena *arena,
                                 vtac_legalized_list *out, vta_diag *diag);

/* Those that no region took become what they were. Before vtac_undo_unused_moves, which tidies up. */
vta_status vtac_undo_unused_legalized(vtac_graph *graph, const vtac_legalized_list *products,
                                      vtac_partition *partition, vta_diag *diag);

/* ---- zero.c */

enum { VTAC_ZERO_UNKNOWN = 1000, VTAC_ZERO_CONFLICT };

/* The zero point of each value as signed integer (uint8: moved by 128), by value id. */
vta_status vtac_find_zeros(const vtac_graph *graph, vta_arena *arena, int32_t **out, vta_diag *diag);

/* ---- layer.c */

/* A region under construction. */
typedef struct vtac_maker {
    vtac_graph *graph; /* constants may be added */
    vta_arena *arena;
    const int32_t *zeros; /* by value */
    uint32_t zero_count;
    const vtac_node *node; /* the one at hand */
    bool any_rows;         /* it takes pixels one by one, whatever rows they are in */
    vta_vec tensors;       /* of vtac_vta_tensor */
    vta_vec layers;        /* of vtac_vta_layer */
    uint32_t latest;       /* the layer that the last node became, or part of which */
    vta_diag *diag;
} vtac_maker;

vta_status vtac_maker_init(vtac_maker *m, vtac_graph *graph, vta_arena *arena, const int32_t *zeros,
                           vta_diag *diag);
/* Ready for another region; what it made stays valid. */
void vtac_maker_reset(vtac_maker *m);
void vtac_maker_free(vtac_maker *m);

/* Adds a node as a layer, or makes it part of the one before (a clamp). VTA_UNSUPPORTED with the reason where
 * the node is none. *number (may be NULL) gets the layer's. */
vta_status vtac_make_layer(vtac_maker *m, vtac_node_id node, uint32_t *number);

/* What was made, with roles: what no layer writes is an input, what `used_outside` tells is an output. */
typedef bool vtac_outside_fn(const void *context, vtac_value_id value);
vta_status vtac_make_region(vtac_maker *m, const char *name, vtac_outside_fn *used_outside,
                            const void *context, vtac_vta_region *out);

/* The table: how an operator names its integers, and what makes a layer of it. */
typedef vta_status vtac_layer_fn(vtac_maker *m, vtac_vta_layer *layer);
#define LAYER(op, make, ...) vtac_layer_fn vtac_layer_##make;
#define ZERO(op, ...)
#include "layers.def"
enum { VTAC_ZERO_SAME = -2, VTAC_ZERO_NO = -1, VTAC_ALL_OPERANDS = -1 };
typedef struct vtac_layer_row {
    vtac_layer_fn *make;
    int first, step, count, zero;
} vtac_layer_row;

/* NULL: no row. */
const vtac_layer_row *vtac_layer_row_of(vtac_op op);
uint32_t vtac_operand_count(const vtac_node *node, const vtac_layer_row *row);
/* The input that is operand k. */
uint32_t vtac_operand(const vtac_layer_row *row, uint32_t k);

/* ---- for the functions that make layers: `layer` has its names, its clamp is the whole range */

/* VTA_UNSUPPORTED with the reason. */
__attribute__((format(printf, 2, 3))) vta_status vtac_no_layer(const vtac_maker *m, const char *fmt, ...);
/* Zeroed memory of the arena; NULL without. */
void *vtac_maker_array(const vtac_maker *m, size_t count, size_t size);

/* The layer that makes input 0 and `to`, which nothing but this node reads; NULL: there is none. */
vtac_vta_layer *vtac_joined_layer(const vtac_maker *m, vtac_vta_tensor **to);
/* The node becomes part of it: `to` is the node's output from now on. False: out of memory. */
bool vtac_join_layer(vtac_maker *m, vtac_vta_layer *before, vtac_vta_tensor *to);

/* Adds the image that input i reads; `shape` gets it. Where `flat` is NULL, the node must read it as it is.
 */
vta_status vtac_layer_input(vtac_maker *m, vtac_vta_layer *layer, uint32_t i, int64_t shape[4], bool *flat);
/* Adds input i, which must have the shape `want` or, as a constant, broadcast to it. */
vta_status vtac_layer_operand(vtac_maker *m, vtac_vta_layer *layer, uint32_t i, const int64_t want[4]);
vta_status vtac_layer_output(vtac_maker *m, vtac_vta_layer *layer, int64_t shape[4]);
int32_t vtac_layer_zero(const vtac_maker *m, uint32_t tensor);

/* Input i as one float32 that is known, positive and finite. */
vta_status vtac_layer_scale(const vtac_maker *m, uint32_t i, float *out);
vta_status vtac_layer_fixed(const vtac_maker *m, float scale, vtac_fixed *out);
/* TensorFlow Lite's factor, of 31 bits. */
vta_status vtac_layer_factor(const vtac_maker *m, vtac_tfl_scale factor, vtac_fixed *out);
/* The same as the one scale of a layer. */
vta_status vtac_layer_one_scale(const vtac_maker *m, vtac_vta_layer *layer, float scale);

/* ---- window.c */

/* The window of a convolution or pool, in rows and columns; `pool` as in vtac_window_of. Its padding is what
 * the output reaches; pads_after gets what the node says. */
vta_status vtac_layer_window(const vtac_maker *m, const vtac_type *x, const vtac_type *weight, bool pool,
                             vtac_vta_window *out, int64_t pads_after[2]);

/* ---- cost.c */

/* Cycles of the accelerator's clock that a node takes on the host. */
double vtac_host_cycles(const vtac_graph *graph, const vtac_node *node,
                        const vtac_partition_options *options);

/* ---- group.c */

typedef struct vtac_grouping {
    uint32_t *group; /* by node id: 0 none */
    uint32_t count;
    uint32_t *first_reader; /* by value: where its readers begin; behind the last value, how many there are */
    vtac_node_id *readers;
    bool *is_output; /* by value: of the graph's */
} vtac_grouping;

/* `eligible` and `places` by node id. */
vta_status vtac_find_groups(const vtac_graph *graph, const bool *eligible, vta_arena *arena,
                            vtac_grouping *out, vta_diag *diag);

/* Whether a value, or a view of it, is needed by anything outside a group of the graph as it was grouped. */
bool vtac_needed_outside(const vtac_graph *graph, const vtac_grouping *g, uint32_t group,
                         vtac_value_id value);

/* ---- rewrite.c */

vta_status vtac_rewrite_graph(vtac_graph *graph, vtac_partition *partition, vta_diag *diag);

#endif
