/* SPDX-License-Identifier: Apache-2.0
 *
 * What the inference functions share. Each gets a node whose input count is right and writes one type per
 * output; on a fault it returns a sentence without the node's name, which vtac_infer puts in front.
 */
#ifndef VTAC_OPS_INFER_H
#define VTAC_OPS_INFER_H

#include "vtac/graph.h"

#define VTAC_OP(id, name, domain, since, in_min, in_max, out, operands, infer, ...)                          \
    vtac_infer_fn vtac_infer_##infer;
#include "vtac/ops.def"

/* The type of input i, which the operator requires. */
vta_status vtac_need_type(const vtac_graph *graph, const vtac_node *node, uint32_t i, const vtac_type **type,
                          vta_diag *diag);

/* The contents of input i as integers, which must be known now ("shape", say); at most `room` of them. */
vta_status vtac_need_ints(const vtac_graph *graph, const vtac_node *node, uint32_t i, const char *what,
                          int64_t *out, uint32_t room, uint32_t *count, vta_diag *diag);

/* The inputs of a node against the row of its operator. */
vta_status vtac_check_params(const vtac_graph *graph, const vtac_node *node, vta_diag *diag);

/* Input i, where it is given, has this shape. */
vta_status vtac_expect_shape(const vtac_graph *graph, const vtac_node *node, uint32_t i, const char *what,
                             uint32_t rank, const int64_t *dim, vta_diag *diag);

/* The values of input i, where it is a constant: scales above 0; divisors of integers that are not 0; indices
 * into `places`, one number for each of the `axes` that an index names in turn. */
vta_status vtac_expect_scale(const vtac_graph *graph, const vtac_node *node, uint32_t i, vta_diag *diag);
vta_status vtac_expect_divisor(const vtac_graph *graph, const vtac_node *node, uint32_t i, vta_diag *diag);
vta_status vtac_expect_indices(const vtac_graph *graph, const vtac_node *node, uint32_t i,
                               const int64_t *places, uint32_t axes, vta_diag *diag);

/* An axis in -rank … rank-1 as 0 … rank-1. */
vta_status vtac_axis(int64_t axis, uint32_t rank, uint32_t *out, vta_diag *diag);

/* The type that two types broadcast to; the element type stays `a`'s. */
vta_status vtac_broadcast(const vtac_type *a, const vtac_type *b, vtac_type *out, vta_diag *diag);

/* A list attribute of exactly `count` integers into `out`, or `otherwise` in every place where there is none.
 */
vta_status vtac_int_list(const vtac_node *node, const char *name, uint32_t count, int64_t otherwise,
                         int64_t *out, vta_diag *diag);

/* The axes of a Transpose; false where the attribute does not fit (the verifier lets none through). */
bool vtac_perm_of(const vtac_node *node, uint32_t rank, int64_t *perm);

/* Window geometry of convolutions and pools: per spatial axis kernel, stride, dilation, pads, output extent.
 */
typedef struct vtac_window {
    uint32_t axes;
    int64_t kernel[VTAC_MAX_RANK], stride[VTAC_MAX_RANK], dilation[VTAC_MAX_RANK];
    int64_t pad_begin[VTAC_MAX_RANK], pad_end[VTAC_MAX_RANK], extent[VTAC_MAX_RANK];
} vtac_window;

/* Reads a window from the attributes kernel_shape (or the weight's shape), strides, dilations, pads,
 * auto_pad, ceil_mode. `input` is [N, C, spatial…]. */
vta_status vtac_window_of(const vtac_node *node, const vtac_type *input, const vtac_type *weight, bool pool,
                          vtac_window *out, vta_diag *diag);

/* Col2Im's, from its inputs; `extent` counts the columns along each axis. */
vta_status vtac_col2im_window(const vtac_graph *graph, const vtac_node *node, vtac_window *out,
                              vta_diag *diag);

/* An einsum equation with its letters numbered: axis k of operand i is label axis[i][k], and so is each axis
 * of the result. The axes of "..." have labels of their own, aligned at the right. */
enum { VTAC_EINSUM_OPERANDS = 16, VTAC_EINSUM_LABELS = 52 + VTAC_MAX_RANK };
typedef struct vtac_einsum {
    int64_t size[VTAC_EINSUM_LABELS]; /* -1: not used */
    uint8_t axis[VTAC_EINSUM_OPERANDS][VTAC_MAX_RANK];
    uint8_t result[VTAC_MAX_RANK];
    uint32_t result_rank;
} vtac_einsum;
vta_status vtac_einsum_parse(const vtac_graph *graph, const vtac_node *node, vtac_einsum *out,
                             vta_diag *diag);

#endif
