/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's blocked layout (vtac/vta.h) of a tensor that goes there or comes from there, as the attributes
 * tell it that src/partition writes:
 *
 *   shape   [n, c, h, w] of the image          block   [rows, lanes] of a tile
 *   stored  [c, h, w] as it lies in memory     offset  bytes from the start of device memory
 *   window_kernel, window_stride, window_dilation, window_before
 *           of the windows that are stored, two numbers each: rows, columns (Pack; without them a window is
 *           one place; before: the padding in front of it)
 *   planes  elements from an image's plane to the next image's, and to the next channel's, and from pixel to
 *           pixel (Pack; without it all channels of an image follow each other, and all pixels of a plane)
 *   walk_size, walk_axis, walk_stride, walk_start
 *           the order of the output's elements as loops over the image (Unpack; without it its own)
 */
#ifndef VTAC_LOWER_DEVICE_H
#define VTAC_LOWER_DEVICE_H

#include "lower.h"

typedef struct vtac_device_layout {
    int64_t shape[4], stored[4]; /* stored: [n in tiles, c, h, w] */
    int64_t rows, lanes;         /* of a tile */
    int64_t kernel[2], stride[2], dilation[2], before[2];
    int64_t planes[3]; /* elements from plane to plane: of images, of channels; from pixel to pixel */
    int64_t zero;
    bool flip; /* uint8: moved by 128 */
} vtac_device_layout;

/* False: the attributes do not tell a layout. */
bool vtac_device_read(const vtac_node *node, vtac_device_layout *g);
/* Lanes of a place, over all channel blocks. */
int64_t vtac_device_lanes(const vtac_device_layout *g);
/* Counted in `unit` bytes: the place of image `n`, stored channels from unit · q on, row y, column 0; a step
 * of a column is rows · lanes bytes. */
const vtac_expr *vtac_device_row(vtac_lower *l, const vtac_device_layout *g, const vtac_expr *n,
                                 const vtac_expr *q, const vtac_expr *y);
/* Puts output i of the node at a fixed place in device memory. */
vta_status vtac_device_place(vtac_lower *l, uint32_t i, int64_t offset);
/* True if a Pack also does the work of the QuantizeLinear that it reads, which then is no step. */
bool vtac_device_quantizes(const vtac_program *program, const vtac_node *node);

#endif
