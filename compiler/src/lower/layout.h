/* SPDX-License-Identifier: Apache-2.0
 *
 * Values in blocked layouts (layout.c), and the lowerings that work in them.
 */
#ifndef VTAC_LOWER_LAYOUT_H
#define VTAC_LOWER_LAYOUT_H

#include "../ops/infer.h"
#include "lower.h"

/* Values of rank 4 are planes, those of rank 5 volumes: as many planes as they are deep, each in all its
 * blocks of channels before the next one. Planes of a value: */
static inline int64_t vtac_layout_images(const vtac_type *type)
{
    return type->dim[0] * (type->rank == 5 ? type->dim[2] : 1);
}
/* Rows (0) and columns (1) of a plane. */
static inline int64_t vtac_layout_extent(const vtac_type *type, uint32_t axis)
{
    return type->dim[type->rank - 2 + axis];
}

/* The window's way through the planes of a volume; of planes alone it is one place. */
typedef struct vtac_conv_depth {
    int64_t kernel, stride, dilation, pad_begin, extent;
} vtac_conv_depth;

/* A convolution of planes, or of volumes of floats, with constant weights; false: not one that the blocked
 * kernels take. */
typedef struct vtac_conv_shape {
    vtac_window window; /* over rows and columns */
    vtac_conv_depth depth;
    int64_t groups, per_group, out_per_group, outputs;
    int64_t merged; /* groups of the node that are one of `groups` here */
    /* Tap i of the window along an axis is number tap_first + i * tap_step of the weights' `taps`, negative:
     * none; place i of the window's extent is out_first + i * out_stride of the output. A convolution has
     * them all; one phase of a transposed one those that meet. */
    int64_t taps[VTAC_MAX_RANK], tap_first[VTAC_MAX_RANK], tap_step[VTAC_MAX_RANK];
    int64_t out_first[VTAC_MAX_RANK], out_stride[VTAC_MAX_RANK];
    bool transposed;       /* weights [input][output] */
    uint32_t weight, bias; /* inputs */
    bool quantized;
    bool has_zeros; /* weights have zero points that their bytes do not take in (vtac_conv_byte) */
    double x_zero;
} vtac_conv_shape;
bool vtac_conv_shape_of(const vtac_program *p, const vtac_node *node, vtac_conv_shape *out);
/* The outputs of a transposed convolution that begin at `first` and go by its strides, as a convolution:
 * false: not one that the blocked kernels take. */
bool vtac_transposed_shape_of(const vtac_program *p, const vtac_node *node, const int64_t *first,
                              vtac_conv_shape *out);
enum { VTAC_MAX_PHASES = 64 };
/* Bytes as 16-bit numbers, less the zero points of the weights: how many of them go in a step; 0: bytes. */
int64_t vtac_conv_wide_step(const vtac_program *p, const vtac_conv_shape *s);
/* Merges groups as the layouts of input and output ask for it. */
void vtac_conv_blocks(const vtac_program *p, const vtac_node *node, vtac_conv_shape *s);
/* A quantized weight as a signed byte, and what that byte is for a zero: `zero_point` of the output. */
typedef struct vtac_conv_weights {
    const vtac_tensor *w, *zero;
    int64_t inner; /* weights of an output */
    bool folded;   /* all weights less their zero points are bytes */
} vtac_conv_weights;
vtac_conv_weights vtac_conv_weights_of(const vtac_graph *graph, const vtac_node *node);
int8_t vtac_conv_byte(const vtac_conv_weights *w, int64_t output, int64_t i);
int32_t vtac_conv_zero(const vtac_conv_weights *w, int64_t output);

/* The layout of a value, or of the one that it is a part of. */
const vtac_layout *vtac_layout_of(const vtac_program *p, vtac_value_id id);
/* Elements of a row with its border, and of a plane of one channel block. */
int64_t vtac_layout_row(const vtac_layout *layout, const vtac_type *type);
int64_t vtac_layout_plane(const vtac_layout *layout, const vtac_type *type);
int64_t vtac_layout_elements(const vtac_layout *layout, const vtac_type *type);

/* Number of the plane, among all planes of the value, that holds index `at`. */
const vtac_expr *vtac_layout_image(vtac_lower *l, const vtac_type *type, const vtac_expr *const *at);
/* The other way: at[0], and of volumes at[2]. */
void vtac_layout_index(vtac_lower *l, const vtac_type *type, const vtac_expr *image, const vtac_expr **at);
/* The flat place of a channel (block, lane) in a plane (for rank 4 the batch) at row y and column x, in such
 * a layout; in that of a value. */
const vtac_expr *vtac_layout_at(vtac_lower *l, const vtac_layout *layout, const vtac_type *type,
                                const vtac_expr *image, const vtac_expr *block, const vtac_expr *y,
                                const vtac_expr *x, const vtac_expr *lane);
const vtac_expr *vtac_layout_place(vtac_lower *l, vtac_value_id id, const vtac_expr *image,
                                   const vtac_expr *block, const vtac_expr *y, const vtac_expr *x,
                                   const vtac_expr *lane);
/* Element of a value by an index whose channel is in two parts. */
const vtac_expr *vtac_layout_element(vtac_lower *l, vtac_value_id id, const vtac_expr *const *at,
                                     const vtac_expr *block, const vtac_expr *lane);
/* The buffer of a value that exists in its layout. */
vtac_buffer *vtac_layout_buffer(vtac_lower *l, vtac_value_id id, const char *name);

/* A position: its index, in channels of `block` (of `lanes` channels) at the lane that is open. */
typedef struct vtac_position {
    const vtac_expr *at[5], *image, *block;
    int64_t lanes;
} vtac_position;
/* Opens loops over rows (parallel) and columns: two to close. */
void vtac_open_places(vtac_lower *l, const vtac_type *type, const vtac_layout *f, int64_t work,
                      vtac_position *p);
/* The loop over the lanes of one position. */
const vtac_expr *vtac_open_lanes(vtac_lower *l, vtac_position *p);
void vtac_close_lanes(vtac_lower *l);
/* Operands of the node and its chain that are not read after their place is written: where both forms are the
 * same, the memory may be one. */
void vtac_layout_in_place(vtac_lower *l);

/* Extent of a normalization's means: the plane, `channels` neighbours, all batches or one. */
typedef struct vtac_norm_shape {
    int64_t channels;
    bool over_batch;
} vtac_norm_shape;
/* False: not a normalization of whole planes. */
bool vtac_norm_shape_of(const vtac_graph *graph, const vtac_node *node, vtac_norm_shape *out);
/* Scale or bias (input i) at `at`, in this group: by ONNX's broadcast, or one for each channel or group. */
const vtac_expr *vtac_norm_parameter(vtac_lower *l, uint32_t i, const vtac_expr *group,
                                     const vtac_expr *const *at);
double vtac_norm_epsilon(const vtac_node *node);
/* x by the sum of its neighbours' squares, as LRN has it. */
const vtac_expr *vtac_lrn_value(vtac_lower *l, const vtac_expr *x, const vtac_expr *sum);
enum { VTAC_LRN_MAX = 32 }; /* neighbours that are summed in one expression */

/* |x|^p, and the root of a sum of such. */
const vtac_expr *vtac_lp_power(vtac_lower *l, const vtac_expr *x, int64_t p);
const vtac_expr *vtac_lp_root(vtac_lower *l, const vtac_expr *sum, int64_t p);

/* Pools (pool.c): the elements of a window, INT32_MAX for more; the scale of a quantized pool's sum
 * of `count` numbers, at most `max`; the rounded product of that scale and the sum, about the
 * output's zero point. */
int64_t vtac_window_elements(const vtac_window *w);
/* An element of a quantized pool's input as a number to add. */
const vtac_expr *vtac_pool_element(vtac_lower *l, const vtac_expr *x);
const vtac_expr *vtac_mean_scale(vtac_lower *l, int64_t max, const vtac_expr *count);
const vtac_expr *vtac_mean(vtac_lower *l, int64_t max, const vtac_expr *sum, const vtac_expr *scale);

/* Concatenations (join.c): the input of part i, and the number of parts; true if the part's integers mean the
 * same in the output; an element of the part as the output stores it. */
uint32_t vtac_part_count(const vtac_node *node);
uint32_t vtac_part_input(const vtac_node *node, uint32_t i);
bool vtac_part_is_copy(const vtac_graph *graph, const vtac_node *node, uint32_t i);
const vtac_expr *vtac_part_value(vtac_lower *l, uint32_t i, const vtac_expr *x);

/* Lowerings in layouts, by kind. */
vtac_lower_fn vtac_lower_conv_blocked;
vtac_lower_fn vtac_lower_depthwise;
vtac_lower_fn vtac_lower_pool_blocked;
vtac_lower_fn vtac_lower_norm_blocked;
vtac_lower_fn vtac_lower_lrn_blocked;
vtac_lower_fn vtac_lower_elements_blocked;
vtac_lower_fn vtac_lower_concat_blocked;

/* A transposed convolution of any rank with known weights, by its phases: vectors go along positions, however
 * few the outputs. Of a phase its window counts, and what tells its taps and outputs. */
vta_status vtac_lower_conv_phases(vtac_lower *l, const vtac_conv_shape *phases, int64_t count);

#endif
