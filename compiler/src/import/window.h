/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows as the frameworks lay them over an input: convolutions and pools. They agree on what a window does
 * and differ in how many there are and in what stands around the input; the rules are here, once for all
 * importers.
 */
#ifndef VTAC_IMPORT_WINDOW_H
#define VTAC_IMPORT_WINDOW_H

#include "maker.h"

enum { VTAC_WINDOW_AXES = 3, VTAC_WINDOW_MAX = 1 << 24 };

typedef enum vtac_window_rule {
    VTAC_WINDOW_FLOOR, /* pads as given; what is left behind the last whole window is not read */
    /* Caffe's pools, CoreML's includeLastPixel, Caffe2's legacy_pad 3: pads as given, one more window where
     * something is left, none that would begin in the padding at the end. */
    VTAC_WINDOW_CEIL,
    VTAC_WINDOW_CEIL_ALL,   /* MXNet's "full": that last one, too; a model that has one is refused */
    VTAC_WINDOW_SAME_UPPER, /* ceil(size / stride) windows, the odd element of padding at the end: TensorFlow
                             */
    VTAC_WINDOW_SAME_LOWER  /* the odd element of padding at the beginning */
} vtac_window_rule;

/* Windows over the last axes of an input [batch][channels][axes...]. */
typedef struct vtac_import_window {
    uint32_t axes;
    int64_t kernel[VTAC_WINDOW_AXES], stride[VTAC_WINDOW_AXES], dilation[VTAC_WINDOW_AXES];
    int64_t pads[2 * VTAC_WINDOW_AXES]; /* before the first element of each axis, then behind the last */
    bool ceil;                          /* there is a window more than whole ones on some axis */
} vtac_import_window;

/* Padding of one axis so that ceil(size / stride) windows fit. */
void vtac_pad_same(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, bool upper,
                   int64_t *before, int64_t *after);

/* Windows of one axis by a rule, `before` and `after` as that rule has them; below 1: none fits. */
int64_t vtac_window_count(vtac_window_rule rule, int64_t size, int64_t kernel, int64_t stride,
                          int64_t dilation, int64_t before, int64_t after);

/* Lays windows over x by a rule: pads are computed or kept, kernels that reach beyond all of an axis are cut
 * (VTAC_WINDOW_CEIL), and `ceil` is set. False after a failure, which is in the maker: x has other axes, a
 * number is out of range, no window fits. */
bool vtac_lay_window(vtac_import_builder *m, vtac_id x, vtac_window_rule rule, vtac_import_window *w);

/* A convolution, weights [outputs][inputs / groups][kernel...]; bias 0: none. The window was laid. */
vtac_id vtac_make_conv(vtac_import_builder *m, vtac_id x, vtac_id weight, vtac_id bias,
                       const vtac_import_window *w, int64_t groups);

/* A pool; the window was laid. `count_padding`: means are over the window cut to input and padding, else over
 * the window cut to the input. */
vtac_id vtac_make_pool(vtac_import_builder *m, vtac_op op, vtac_id x, const vtac_import_window *w,
                       bool count_padding);

/* The maxima of windows, and their places among all elements of x, as 64-bit integers. */
void vtac_make_pool_places(vtac_import_builder *m, vtac_id x, const vtac_import_window *w, vtac_id out[2]);

#endif
