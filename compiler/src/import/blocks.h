/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers that frameworks with the channels on axis 1 share, as nodes of our graph. Weights are constants of
 * f32.
 */
#ifndef VTAC_IMPORT_BLOCKS_H
#define VTAC_IMPORT_BLOCKS_H

#include "maker.h"

/* A constant of f32 from the bytes of a file, numbers of any type. */
vtac_id vtac_make_weights(vtac_import_builder *m, const vtac_type *type, const void *bytes);

/* x op row, the row along an axis of x. */
vtac_id vtac_make_along(vtac_import_builder *m, vtac_op op, vtac_id x, vtac_id row, uint32_t axis);

/* x op number. */
vtac_id vtac_make_with(vtac_import_builder *m, vtac_op op, vtac_id x, double number);

/* x * scale + shift, element by element; nothing is made for 1 and 0. */
vtac_id vtac_make_linear(vtac_import_builder *m, vtac_id x, double scale, double shift);

/* Normalization by a stored mean and variance: rows of as many elements as axis 1. */
vtac_id vtac_make_batch_norm(vtac_import_builder *m, vtac_id x, const vtac_id rows[4], double epsilon);

/* x with its last two axes in the other order; it has two axes or more. */
vtac_id vtac_make_turned(vtac_import_builder *m, vtac_id x);

/* Rows [left][rest], `left` the product of the axes before `axis`. */
vtac_id vtac_make_rows(vtac_import_builder *m, vtac_id x, uint32_t axis);

/* A dense layer: x in rows from `axis` on, weights [outputs][inputs] (`turned`: [inputs][outputs]), bias or
 * 0. The result has the axes before `axis` and the outputs. */
vtac_id vtac_make_dense(vtac_import_builder *m, vtac_id x, uint32_t axis, vtac_id weight, bool turned,
                        vtac_id bias);

vtac_id vtac_make_softmax(vtac_import_builder *m, vtac_id x, int64_t axis);
vtac_id vtac_make_leaky(vtac_import_builder *m, vtac_id x, double alpha);
/* PReLU with one slope for all channels, or one for each. */
vtac_id vtac_make_prelu(vtac_import_builder *m, vtac_id x, vtac_id slopes);

/* Normalization over `size` channels around: x / (bias + alpha / size * sum of squares) ^ beta; `within`:
 * over size x size places of the same channel. */
vtac_id vtac_make_lrn(vtac_import_builder *m, vtac_id x, int64_t size, double alpha, double beta, double bias,
                      bool within);

/* x over the root of the sum of its squares along axes: square root of sum + epsilon. */
vtac_id vtac_make_unit(vtac_import_builder *m, vtac_id x, const int64_t *axes, uint32_t count,
                       double epsilon);

/* Rows and columns of x, so many times as large; `mode` of Resize: nearest or linear. */
vtac_id vtac_make_resized(vtac_import_builder *m, vtac_id x, int64_t rows, int64_t columns, const char *mode,
                          const char *places);

/* Channels in groups, dealt out anew. */
vtac_id vtac_make_shuffled(vtac_import_builder *m, vtac_id x, int64_t groups);

/* Nothing below 0 within the axes of x: -1 is the last. A failure where it is none. */
uint32_t vtac_axis_of(vtac_import_builder *m, vtac_id x, int64_t axis);

#endif
