/* SPDX-License-Identifier: Apache-2.0
 *
 * The stages of partitioning:
 *
 *   source.c     the image that a value is, seen through reshapes that move nothing
 *   rows.c       matrix products of rows as convolutions
 *   heads.c      operators on the heads of attention, for images
 *   spread.c     broadcast operands, expanded to the size of the output
 *   channels.c   the largest or smallest number of a pixel's channels, as choices between two
 *   parts.c      one dense layer that stands for several
 *   move.c       operators that only move numbers, fused into one
 *   runs.c       those of them that move whole blocks of channels
 *   packed.c     the operands of matrix products of two activations, the second packed as weights
 *   product.c    these products
 *   cache.c      attention with a cache: its rows and those of the new tokens, apart
 *   attention.c  normalizations, softmax between products, factors that the accelerator makes
 *   mask.c       masks of softmax, as images
 *   fill.c       heads of attention that do not fill blocks
 *   transposes.c the Reshapes and Transposes around these products
 *   integer.c    ConvInteger and MatMulInteger with constant weights, as sums
 *   integer_pair.c  MatMulInteger of two activations, as sums
 *   volume.c     convolutions of volumes, as convolutions of images
 *   volume_pool.c, volume_point.c  pools of volumes, and their elementwise operators
 *   builder.c    nodes that the host runs beside a region
 *   zero.c       the zero point of every integer value
 *   layer*.c     a node as a layer (layers.def); a region from nodes
 *   group.c      the nodes that form a region: no path leaves a region and comes back
 *   walk.c       the order in which the host reads what a region makes, and in which it lies before one
 *   rewrite.c    Pack, Region and Unpack in the place of a region's nodes
 *   cost.c       the cost of a node on the host
 *   left.c       the accelerator's share of the work, and what is left
 *   partition.c  all stages in order
 */
#ifndef VTAC_PARTITION_INTERNAL_H
#define VTAC_PARTITION_INTERNAL_H

#include "builder.h"
#include "vta/vec.h"
#include "vtac/partition.h"

/* ---- source.c */

/* The image that a node reads: `base`, or with `flat` all of an image in a row. */
typedef struct vtac_source {
    vtac_value_id base;
    bool flat;
} vtac_source;

/* Goes up through Reshape, Flatten, … as long as they move nothing. */
vtac_source vtac_source_of(const vtac_graph *graph, vtac_value_id value);

/* True if vtac_source_of looks through a node. */
bool vtac_is_view(const vtac_graph *graph, const vtac_node *node);

/* [n, c, h, w] of a type of rank 2 ([n, c]), 3 ([n, c, w]) or 4; false for other ranks and for empty types.
 */
bool vtac_image_shape(const vtac_type *type, int64_t shape[4]);

/* flatten.c: moves functions of one number behind the Reshapes that make images of their results, on machines
 * with functions on rows. */
vta_status vtac_flatten_functions(vtac_graph *graph, const vta_config *config, vta_arena *arena,
                                  vta_diag *diag);

/* ---- rows.c */

/* Replaces products of rows with constant matrices by convolutions of one pixel, and normalizations of rows
 * by those of images if the configuration has them; `always`: small products, too. */
vta_status vtac_legalize_rows(vtac_graph *graph, const vta_config *config, bool always, vta_arena *arena,
                              vta_diag *diag);

/* heads.c: moves operators in front of the Reshapes and Transposes that make heads of an image, on machines
 * with functions on rows. */
vta_status vtac_legalize_heads(vtac_graph *graph, const vta_config *config, vta_arena *arena, vta_diag *diag);

/* spread.c: expands the broadcast operands of sums and products to the size of the output. */
vta_status vtac_spread_operands(vtac_graph *graph, vta_arena *arena, vta_diag *diag);

/* channels.c: replaces maxima and minima over the channels of what a layer makes. */
vta_status vtac_choose_channels(vtac_graph *graph, vta_arena *arena, vta_diag *diag);

/* True if a layer can make a value. */
bool vtac_is_made_by_layer(const vtac_graph *graph, vtac_value_id value);

/* ---- parts.c */

enum { VTAC_MAX_COLUMN_SLICES = 16 };

/* Columns first … first + count - 1 of a dense layer's rows, and the value that they become. */
typedef struct vtac_column_slice {
    vtac_value_id value;
    int64_t first, count;
} vtac_column_slice;

/* The slices of a dense layer's rows that are read. If `perm` is not NULL, the rows have the axes `apart` and
 * are transposed before a slice is taken: columns are counted in `axis` and the axes behind it. */
typedef struct vtac_column_slices {
    vtac_column_slice items[VTAC_MAX_COLUMN_SLICES];
    uint32_t count, axis;
    vtac_type apart;
    const vtac_attr *perm;
} vtac_column_slices;

/* False: something reads all columns. */
bool vtac_find_column_slices(const vtac_graph *graph, vtac_value_id value, vtac_column_slices *out);

/* ---- layer_point.c */

/* True if a Resize repeats rows and columns a whole number of times. */
bool vtac_repeats_pixels(const vtac_graph *graph, const vtac_node *node);

/* ---- move.c */

enum { VTAC_MOVE_INTS = 5 }; /* of an entry of a Move's `from`, in the order of vtac_vta_from */

enum { VTAC_RUN_INTS = 3 }; /* of an entry of a Runs' `runs`, in the order of vtac_vta_run */

typedef struct vtac_moved vtac_moved;
typedef struct vtac_moves {
    vtac_moved *items;
    uint32_t count;
} vtac_moves;

/* Fuses each chain of operators that only move numbers into one Move, where the accelerator has it. */
vta_status vtac_fuse_moves(vtac_graph *graph, const vta_config *config, vta_arena *arena, vtac_moves *out,
                           vta_diag *diag);

/* Replaces moves that no region took by their chains again. */
vta_status vtac_undo_unused_moves(vtac_graph *graph, const vtac_moves *moved, vtac_partition *partition,
                                  vta_diag *diag);

/* In all regions, replaces the value `old` of tensors by `new`. */
void vtac_rename_tensors(vtac_partition *p, vtac_value_id old, vtac_value_id new);

/* True if a layer can move blocks as a chain does that ends in a value: runs of one image that a layer makes.
 */
bool vtac_moves_blocks(vtac_graph *graph, const vta_config *config, vta_arena *arena, vtac_value_id value);

/* ---- runs.c */

/* For every number of `to`, the number of its source, from 1 on through all bases; 0: none. `filled`, by base
 * and channel, and behind the last channel for what lies beside it in its block: it holds the number that
 * stands where there is no source. */
typedef struct vtac_sources {
    const int32_t *numbers;
    const vtac_type *to;
    const vtac_type **bases;
    bool **filled;
} vtac_sources;

/* The most entries of `runs` (VTAC_RUN_INTS each) that vtac_find_runs fills. */
int64_t vtac_max_runs(const vtac_type *to, int64_t block);
/* False: some numbers change their lanes. */
bool vtac_find_runs(const vtac_sources *sources, int64_t block, int64_t *runs, size_t *count);

/* ---- turn.c */

/* Transposition that a chain does: in each of `groups` groups of channels, one behind the other, pixels
 * become channels and channels pixels. Groups begin at every `stride` channels; of one group it may be a part
 * of the base's channels, from `first` on. */
typedef struct vtac_transposition {
    int64_t first, stride, groups; /* groups 0: the chain does something else */
} vtac_transposition;

/* The transposition of the only base, for which a machine with functions on rows has a layer: both sides have
 * a whole block or more. */
vtac_transposition vtac_find_transposition(const vta_config *config, const vtac_sources *sources);
/* The image that the layer transposes into one of this type: of several groups, one beside the other, all of
 * which are transposed at once. */
vta_status vtac_take_transposed(const vtac_node_builder *b, const vtac_type *type,
                                const vtac_transposition *t, vtac_value_id *image);

/* ---- product.c */

/* A node that was rewritten into a form that the accelerator supports, with nodes of the host around it. */
typedef struct vtac_legalized {
    vtac_node was;
    vtac_node_id holders[2];    /* Identity nodes that follow later rewrites of its operands; 0: none */
    uint32_t operands[2];       /* the inputs that the holders hold */
    vtac_value_id made, stands; /* the new node's output; the value in the place of the old node's output */
    bool may_stay;              /* the host can run the new node, too */
} vtac_legalized;
typedef struct vtac_legalized_list {
    vtac_legalized *items;
    uint32_t count;
} vtac_legalized_list;

/* Legalizes a node if the accelerator has a form for it: then sets *done, and `p` to undo it. */
typedef vta_status vtac_legalize(const vtac_node_builder *b, bool always, vtac_legalized *p, bool *done);

/* Legalizes each present node, in order. */
vta_status vtac_legalize_nodes(vtac_graph *graph, const vta_config *config, bool always, vta_arena *arena,
                               vtac_legalize *rule, vtac_legalized_list *out, vta_diag *diag);

/* Legalizes products of two activations, with the second one packed as weights; `always`: small ones, too. */
vta_status vtac_legalize_matmuls(vtac_graph *graph, const vta_config *config, bool always, vta_arena *arena,
                                 vtac_legalized_list *out, vta_diag *diag);

/* transposes.c: shortens chains of Reshape and Transpose, and moves functions of one number next to products.
 */
vta_status vtac_shorten_transposes(vtac_graph *graph, const vta_config *config, vta_arena *arena,
                                   vta_diag *diag);

/* The order of the elements of a value in an image: three loops, the outermost first, or with `swapped` the
 * inner two in the other order. */
typedef struct vtac_order_want {
    int64_t size[3], stride[3];
    bool swapped;
} vtac_order_want;

/* The image [1, c, pixels], or [1, channels, h, w], of which a chain of Reshapes and Transposes makes the
 * value, with its elements in this order; 0: it has another one. `channels` 0: of rank 3 alone. */
vtac_value_id vtac_image_of_order(const vtac_graph *graph, vtac_value_id value, const vtac_order_want *want,
                                  int64_t channels);

/* True if a chain of Reshapes and Transposes makes the value from another one, in this order. */
bool vtac_has_order(const vtac_graph *graph, vtac_value_id value, vtac_value_id from,
                    const vtac_order_want *want);

/* True if each result of a node depends on a single element. */
bool vtac_is_number_function(const vtac_graph *graph, const vtac_node *node);

/* ---- fill.c */

/* Fills the heads around products up to whole blocks of channels, by zeros in the weights of the
 * convolutions that make and read them, on machines with functions on rows. Call behind
 * vtac_legalize_matmuls. */
vta_status vtac_fill_heads(vtac_graph *graph, const vta_config *config, vta_arena *arena,
                           const vtac_legalized_list *products, vta_diag *diag);

/* True if a convolution makes an image that vtac_fill_image can fill up: each group of channels becomes whole
 * blocks. */
bool vtac_can_fill_image(const vtac_graph *graph, vtac_value_id image, int64_t groups);
vta_status vtac_fill_image(const vtac_node_builder *b, int64_t groups, vtac_value_id *image);

/* True if a layer gives all places of a channel one number, whatever its input is. */
bool vtac_fixed_channel(const vtac_graph *graph, vtac_value_id value, int64_t channel, int64_t *number);
/* The number of what lies in the last block of channels beside them, if a layer always puts one there. */
bool vtac_fixed_beside(const vtac_graph *graph, vtac_value_id value, int64_t *number);

/* ---- cache.c */

/* The attribute of a join of a cache and new rows, which no node runs. */
#define VTAC_CACHE_ATTR "cache"

/* Lets attention with a cache read the cache and the new rows apart, on machines with functions on rows. With
 * `hold`, caches that are states of the model become what they are in device memory. */
vta_status vtac_legalize_caches(vtac_graph *graph, const vta_config *config, bool hold, vta_arena *arena,
                                vta_diag *diag);

/* True for a node that makes an image of such a cache: the accelerator reads it where it is. */
bool vtac_is_held(const vtac_graph *graph, const vtac_node *node);

/* ---- attention.c */

/* Call before vtac_shorten_transposes: lets products read images that convolutions make as their second
 * factors. Then call it again behind vtac_join_softmax, which puts softmax between products. */
vta_status vtac_use_images(vtac_graph *graph, const vta_config *config, vta_arena *arena,
                           vtac_legalized_list *products, vta_diag *diag);
vta_status vtac_join_softmax(vtac_graph *graph, const vta_config *config, vta_arena *arena,
                             const vtac_legalized_list *products, vta_diag *diag);
/* True if the second factor of a product is an image that a layer makes, as a whole. */
bool vtac_is_factor_image(const vtac_node_builder *b, const vtac_legalized *product);
/* The image whose channels are so many pixels of another one, the first, and whose pixels are its channels.
 * The other one's pixels fill blocks, and the channels all of them but for a part of the last. */
vta_status vtac_transpose_image(const vtac_node_builder *b, int64_t channels, vtac_value_id *image);
/* The same image with whole blocks of pixels, a block or more: its convolution gets padding, or the first
 * pixels follow the last ones. */
vta_status vtac_fill_pixels(const vtac_node_builder *b, vtac_value_id *image);
/* The second factor of a product that was an image, as the old product read it. */
vta_status vtac_factor_of_image(const vtac_node_builder *b, const vtac_node *product, const vtac_type *as,
                                bool swapped, vtac_value_id *x);
/* Puts operators of rows in the place of layers that no region took. */
vta_status vtac_undo_unused_rows(vtac_graph *graph, vtac_partition *partition, vta_diag *diag);

/* The first `rows` and `columns` of [g, rows, columns]. */
vta_status vtac_cut_matrices(const vtac_node_builder *b, int64_t rows, int64_t columns, vtac_value_id *x);

/* ---- mask.c; the builder's node is a RowSoftmax */

/* Turns a mask, true for each number that is left out, into that of an image [1, groups · channels of a row,
 * pixels] which has the same scores. */
vta_status vtac_mask_to_image(const vtac_node_builder *b, const vtac_type *image, int64_t groups,
                              vtac_value_id *x);
/* And back, for rows [groups, pixels, numbers]; `each`: channels of a row. */
vta_status vtac_mask_of_image(const vtac_node_builder *b, int64_t each, int64_t numbers, vtac_value_id *x);

/* The node that makes a value; NULL for a constant or an input. */
const vtac_node *vtac_producer_of(const vtac_graph *graph, vtac_value_id value);

/* source.c: whether a node only reorders or reshapes the elements of its first input. */
bool vtac_is_reshaping(const vtac_node *node);

/* True if a node, if any, moves the elements of its first input, or drops some. */
bool vtac_is_host_step(const vtac_graph *graph, vtac_node_id node);

/* integer.c: sums that come back byte by byte (vtac/vta.h, whole sums). `outputs` of a byte's channels have a
 * sum; `rows` is the number of rows that are used, 0: all. */
typedef struct vtac_whole {
    int64_t outputs, rows, bytes;
} vtac_whole;

/* The channels that hold one byte of all sums. */
int64_t vtac_whole_channels(const vtac_node_builder *b, int64_t outputs);
/* The bytes of a sum between -largest and `largest`. */
int64_t vtac_whole_bytes(int64_t largest);
/* Combines all bytes into int32 sums. */
vta_status vtac_whole_sums(const vtac_node_builder *b, const vtac_whole *w, vtac_value_id *x);

/* integer_pair.c: legalizes MatMulInteger of two activations. */
vta_status vtac_legalize_integer_pairs(vtac_graph *graph, const vta_config *config, bool always,
                                       vta_arena *arena, vtac_legalized_list *out, vta_diag *diag);

/* integer.c: legalizes ConvInteger and MatMulInteger with constant weights; the host corrects for
 * the zero point. */
vta_status vtac_legalize_integers(vtac_graph *graph, const vta_config *config, bool always, vta_arena *arena,
                                  vtac_legalized_list *out, vta_diag *diag);

/* volume*.c: legalizes operators on volumes: places in depth become images of a batch. */
vta_status vtac_legalize_volumes(vtac_graph *graph, const vta_config *config, bool always, vta_arena *arena,
                                 vtac_legalized_list *out, vta_diag *diag);

/* Undoes rewrites whose node no region took. Call before vtac_undo_unused_moves. */
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
    const vtac_node *node; /* the node that becomes a layer */
    bool any_rows;         /* it treats pixels one by one, however they form rows */
    vta_vec tensors;       /* of vtac_vta_tensor */
    vta_vec layers;        /* of vtac_vta_layer */
    uint32_t latest;       /* the layer that has the last node */
    vta_diag *diag;
} vtac_maker;

vta_status vtac_maker_init(vtac_maker *m, vtac_graph *graph, vta_arena *arena, const int32_t *zeros,
                           vta_diag *diag);
/* Begins another region; earlier results stay valid. */
void vtac_maker_reset(vtac_maker *m);
void vtac_maker_free(vtac_maker *m);

/* Adds a node as a layer, or joins it to the layer before (a clamp). VTA_UNSUPPORTED with the reason if the
 * node cannot be a layer. *number (may be NULL) gets the number of the layer. */
vta_status vtac_make_layer(vtac_maker *m, vtac_node_id node, uint32_t *number);

/* Finishes a region. Values that no layer writes are inputs; values for which `used_outside` is
 * true are outputs. */
typedef bool vtac_outside_fn(const void *context, vtac_value_id value);
vta_status vtac_make_region(vtac_maker *m, const char *name, vtac_outside_fn *used_outside,
                            const void *context, vtac_vta_region *out);

/* The table layers.def: the operands of each operator, and the function that makes a layer of it. */
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

/* ---- helpers for functions that make layers; `layer` already has its names, and a clamp of the whole range
 */

/* Refuses the node: VTA_UNSUPPORTED with the reason. */
__attribute__((format(printf, 2, 3))) vta_status vtac_no_layer(const vtac_maker *m, const char *fmt, ...);
/* Zeroed memory of the arena; NULL: no memory. */
void *vtac_maker_array(const vtac_maker *m, size_t count, size_t size);

/* The layer that makes input 0 and `to`, if only this node reads them; else NULL. */
vtac_vta_layer *vtac_joined_layer(const vtac_maker *m, vtac_vta_tensor **to);
/* Joins the node to that layer: `to` becomes the node's output. False: no memory, or no single zero point. */
bool vtac_join_layer(vtac_maker *m, vtac_vta_layer *before, vtac_vta_tensor *to);

/* Adds the image that input i reads; `shape` gets its shape. With `flat` NULL, the image must
 * be read unflattened. */
vta_status vtac_layer_input(vtac_maker *m, vtac_vta_layer *layer, uint32_t i, int64_t shape[4], bool *flat);
/* Adds input i, which must have the shape `want` or, as a constant, broadcast to it. */
vta_status vtac_layer_operand(vtac_maker *m, vtac_vta_layer *layer, uint32_t i, const int64_t want[4]);
vta_status vtac_layer_output(vtac_maker *m, vtac_vta_layer *layer, int64_t shape[4]);
/* The second output of the node, as `second`. */
vta_status vtac_layer_second_output(vtac_maker *m, vtac_vta_layer *layer);
int32_t vtac_layer_zero(const vtac_maker *m, uint32_t tensor);

/* Reads input i as a float32 that is known, positive and finite. */
vta_status vtac_layer_scale(const vtac_maker *m, uint32_t i, float *out);
vta_status vtac_layer_fixed(const vtac_maker *m, float scale, vtac_fixed *out);
/* Converts TensorFlow Lite's 31-bit factor. */
vta_status vtac_layer_factor(const vtac_maker *m, vtac_tfl_scale factor, vtac_fixed *out);
/* Sets the one scale of a layer. */
vta_status vtac_layer_one_scale(const vtac_maker *m, vtac_vta_layer *layer, float scale);

/* ---- window.c */

/* The window of a convolution or pool, in rows and columns; `pool` as in vtac_window_of. Its padding is what
 * the output needs; pads_after gets the padding that the node has. */
vta_status vtac_layer_window(const vtac_maker *m, const vtac_type *x, const vtac_type *weight, bool pool,
                             vtac_vta_window *out, int64_t pads_after[2]);

/* left.c: true for a node that converts an input or output of the model between floats and integers. */
bool vtac_is_model_border(const vtac_graph *graph, const vtac_node *node);

/* ---- cost.c */

/* The cost of a node on the host, in cycles of the accelerator's clock. */
double vtac_host_cycles(const vtac_graph *graph, const vtac_node *node,
                        const vtac_partition_options *options);
/* The same of a node that stays on the host, whose price by vtac_host_cycles is `cycles`: known more exactly
 * where it copies bytes that the accelerator made, or makes floats of them. */
double vtac_staying_cycles(const vtac_graph *graph, const vtac_node *node, double cycles,
                           const vtac_partition_options *options);

/* ---- group.c */

typedef struct vtac_grouping {
    uint32_t *group; /* by node id; 0: none */
    uint32_t count;
    uint32_t *first_reader; /* by value: its first reader; behind the last value: the number of all readers */
    vtac_node_id *readers;
    bool *is_output; /* by value: an output of the graph */
} vtac_grouping;

/* Groups the eligible nodes; `eligible` by node id. */
vta_status vtac_find_groups(const vtac_graph *graph, const bool *eligible, vta_arena *arena,
                            vtac_grouping *out, vta_diag *diag);

/* True if a value, or a view of it, is needed outside its group. */
bool vtac_needed_outside(const vtac_graph *graph, const vtac_grouping *g, uint32_t group,
                         vtac_value_id value);

/* ---- walk.c */

enum { VTAC_WALK_LOOPS = 16 };

/* The elements of a tensor in their order, as loops over an image, the outermost first: so many steps, along
 * this axis of the image, of so many places. Axis d of the tensor has the loops from first[d] on. */
typedef struct vtac_walk {
    int64_t size[VTAC_WALK_LOOPS], axis[VTAC_WALK_LOOPS], stride[VTAC_WALK_LOOPS];
    uint32_t count;
    uint32_t first[VTAC_MAX_RANK + 1], rank;
    int64_t start[4];   /* the image's place of the first element */
    bool passed, moved; /* it went through a node; through one that moves elements */
} vtac_walk;

/* An image in its own order; or any tensor, as one row. False: it is no image, or has too many axes. */
bool vtac_walk_begin(const vtac_type *type, vtac_walk *w);
bool vtac_walk_begin_flat(const vtac_type *type, vtac_walk *w);
/* Deals the loops to the axes of a reshaped tensor; false where an axis would need a part of a step. */
bool vtac_walk_regroup(const vtac_type *to, vtac_walk *w);
/* The order of a node's output, from that of its first input. False: the node computes, or its order is no
 * walk. */
bool vtac_walk_through(const vtac_graph *graph, const vtac_node *node, uint32_t output, vtac_walk *w);

/* The nodes of the host that only move what a region makes. */
typedef struct vtac_ends {
    vtac_graph *graph;
    void *context;
    bool (*keeps)(void *context, vtac_node_id node);      /* a node that is no node of the host */
    vta_status (*pass)(void *context, vtac_node_id node); /* for each that moves; NULL: none */
    /* for each value that something else reads; NULL: none */
    vta_status (*end)(void *context, vtac_value_id value, const vtac_walk *walk);
} vtac_ends;

/* Follows a value of a region through them. */
vta_status vtac_walk_ends(const vtac_ends *ends, vtac_value_id value);

/* The value whose elements are a value's planes of pixels, each image planes[0] elements behind the one
 * before, each channel planes[1], each pixel planes[2]: nodes that only move elements lie between. Either
 * pixels or channels follow one another; with `windows` pixels do. 0: there is none. */
vtac_value_id vtac_planes_from(const vtac_graph *graph, vtac_value_id value, bool windows, int64_t planes[3]);

/* ---- rewrite.c */

vta_status vtac_rewrite_graph(vtac_graph *graph, vtac_partition *partition, vta_diag *diag);

#endif
