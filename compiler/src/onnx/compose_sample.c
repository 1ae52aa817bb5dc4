/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that read or write at places that are data: deformable convolution, unpooling, caches.
 */
#include <math.h>
#include <string.h>

#include "compose.h"

/* Hands attributes on as they are. */
static void hand_on(vtac_compose *c, const char *const *names)
{
    for (; *names != NULL; names++) {
        const vtac_attr *attr = vtac_c_attr(c, *names);
        if (attr != NULL && c->attr_count < VTAC_MAX_ATTRS) {
            c->attrs[c->attr_count++] = *attr;
        }
    }
}

/* ---- RoiAlign before opset 16: corners are not moved by half a place */

void vtac_composed_roi_align_10(vtac_compose *c, vtac_value_id *out)
{
    static const char *const names[] = {"mode",           "output_height", "output_width",
                                        "sampling_ratio", "spatial_scale", NULL};
    const vtac_value_id inputs[] = {vtac_c_in(c, 0), vtac_c_in(c, 1), vtac_c_in(c, 2)};
    hand_on(c, names);
    vtac_c_set_string(c, "coordinate_transformation_mode", "output_half_pixel");
    out[0] = vtac_c_node(c, VTAC_OP_ROI_ALIGN, inputs, 3);
}

/* ---- DeformConv: x, weight [M, C / group, taps...], offset, bias, mask: what the taps read, times the
 * weights
 */

void vtac_composed_deform_conv(vtac_compose *c, vtac_value_id *out)
{
    static const char *const names[] = {"strides", "dilations", "pads", "offset_group", NULL};
    const vtac_value_id x = vtac_c_in(c, 0);
    const vtac_value_id weight = vtac_c_in(c, 1);
    const vtac_value_id offset = vtac_c_in(c, 2);
    const vtac_type w = vtac_c_type(c, weight);
    const vtac_type o = vtac_c_type(c, offset);
    const int64_t group = vtac_c_int(c, "group", 1);
    const uint32_t rank = vtac_c_rank(c, x);
    if (c->make.status == VTA_OK &&
        (w.rank != rank || o.rank != rank || rank < 3 || group < 1 || w.dim[0] % group != 0 ||
         vtac_c_dim(c, x, 1) % group != 0 || w.dim[1] != vtac_c_dim(c, x, 1) / group)) {
        (void)vtac_compose_fail(c, VTA_INVALID, "its input, weight and offset do not fit %lld groups",
                                (long long)group);
    }
    if (c->make.status != VTA_OK) {
        return;
    }
    const vtac_value_id inputs[] = {x, offset, vtac_c_has(c, 4) ? vtac_c_in(c, 4) : 0};
    hand_on(c, names);
    vtac_c_set_ints(c, "kernel_shape", w.dim + 2, w.rank - 2);
    const vtac_value_id columns = vtac_c_node(c, VTAC_OP_DEFORM_COLUMNS, inputs, inputs[2] == 0 ? 2 : 3);
    const int64_t *d = vtac_c_type(c, columns).dim; /* [N, C, taps, places] */
    const int64_t sums = w.dim[1] * d[2];
    const int64_t parted[] = {d[0], group, sums, d[3]};
    const int64_t rows[] = {1, group, w.dim[0] / group, sums};
    vtac_type shape = {w.dtype, rank, {d[0], w.dim[0]}};
    memcpy(shape.dim + 2, o.dim + 2, (rank - 2) * sizeof *shape.dim);
    out[0] = vtac_c_like(
        c, vtac_c_matmul(c, vtac_c_reshape(c, weight, rows, 4), vtac_c_reshape(c, columns, parted, 4)),
        &shape);
    if (vtac_c_has(c, 3)) {
        out[0] = vtac_c_add(c, out[0], vtac_c_along(c, vtac_c_in(c, 3), 1, rank));
    }
}

/* ---- MaxUnpool: x, the places that MaxPool took its elements from, output_shape */

/* Computes the size of the pool's input from that of its output. */
static void pooled_from(vtac_compose *c, const vtac_type *x, vtac_type *y)
{
    const vtac_attr *kernel = vtac_c_attr(c, "kernel_shape");
    const vtac_attr *strides = vtac_c_attr(c, "strides");
    const vtac_attr *pads = vtac_c_attr(c, "pads");
    const uint32_t axes = x->rank < 3 ? 0 : x->rank - 2;
    if (axes == 0 || kernel == NULL || kernel->kind != VTAC_ATTR_INTS || kernel->count != axes ||
        (strides != NULL && (strides->kind != VTAC_ATTR_INTS || strides->count != axes)) ||
        (pads != NULL && (pads->kind != VTAC_ATTR_INTS || pads->count != (size_t)2 * axes))) {
        (void)vtac_compose_fail(c, VTA_INVALID, "its window does not fit an input of %u axes", x->rank);
        return;
    }
    *y = *x;
    for (uint32_t i = 0; i < axes; i++) {
        const int64_t stride = strides == NULL ? 1 : strides->ints[i];
        const int64_t both[] = {pads == NULL ? 0 : pads->ints[i], pads == NULL ? 0 : pads->ints[axes + i]};
        const int64_t max = INT32_MAX;
        if (stride < 1 || stride > max || kernel->ints[i] < 1 || kernel->ints[i] > max || both[0] < 0 ||
            both[0] > max || both[1] < 0 || both[1] > max ||
            __builtin_mul_overflow(x->dim[2 + i] - 1, stride, &y->dim[2 + i]) || y->dim[2 + i] > max) {
            (void)vtac_compose_fail(c, VTA_RANGE, "its window on axis %u is out of range", i);
            return;
        }
        y->dim[2 + i] += kernel->ints[i] - both[0] - both[1];
        y->dim[2 + i] = y->dim[2 + i] < 0 ? 0 : y->dim[2 + i];
    }
}

void vtac_composed_max_unpool(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    const vtac_value_id places = vtac_c_in(c, 1);
    const vtac_type type = vtac_c_type(c, x);
    int64_t asked[VTAC_MAX_RANK];
    uint32_t count = 0;
    vtac_type y;
    if (vtac_c_has(c, 2) && !vtac_c_known_ints(c, 2, asked, VTAC_MAX_RANK, &count)) {
        return;
    }
    pooled_from(c, &type, &y);
    if (c->make.status != VTA_OK) {
        return;
    }
    const vtac_type given = vtac_c_type(c, places);
    if (given.dtype != VTAC_I64 || given.rank != type.rank ||
        memcmp(given.dim, type.dim, type.rank * sizeof *type.dim) != 0 ||
        (count != 0 && count != type.rank)) {
        (void)vtac_compose_fail(c, VTA_INVALID, "its places or its shape do not fit its input");
        return;
    }
    const vtac_type line = {type.dtype, 1, {vtac_type_elements(&y)}};
    const int64_t all[] = {vtac_type_elements(&type)};
    if (line.dim[0] < 0 || (line.dim[0] == 0 && all[0] != 0)) {
        (void)vtac_compose_fail(c, VTA_RANGE, "its result would have no place for its elements");
        return;
    }
    const vtac_value_id parts[] = {vtac_c_fill(c, &line, 0.0), vtac_c_reshape(c, places, all, 1),
                                   vtac_c_reshape(c, x, all, 1)};
    out[0] = all[0] == 0 ? parts[0] : vtac_c_node(c, VTAC_OP_SCATTER_ELEMENTS, parts, 3);
    out[0] = vtac_c_like(c, out[0], &y);
    for (uint32_t i = 0; i < count; i++) { /* what was cut off behind the last window */
        if (asked[i] < y.dim[i] || asked[i] > INT32_MAX) {
            (void)vtac_compose_fail(c, VTA_INVALID,
                                    "%lld places on axis %u are less than the %lld of its windows",
                                    (long long)asked[i], i, (long long)y.dim[i]);
            return;
        }
        out[0] = vtac_c_pad(c, out[0], i, 0, asked[i] - y.dim[i]);
    }
}
