/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions over volumes, in floats; what lengths of sequences reverse; values put into others.
 */
#include <string.h>

#include "../import/window.h"
#include "operators.h"

enum { SAME = 0, AXES = 3 };

/* x [n][d][h][w][c], weights [d][h][w][c][outputs], bias; options: padding, stride_d, stride_w, stride_h,
 * activation, dilation_d, dilation_w, dilation_h */
void vtac_tflite_import_conv_3d(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    static const uint32_t stride_of[] = {1, 3, 2};
    static const uint32_t dilation_of[] = {5, 7, 6};
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_type w = vtac_tflite_type(im, 1);
    int64_t stride[AXES];
    int64_t dilation[AXES];
    int64_t pads[2 * AXES] = {0};
    if (m->status != VTA_OK || x.rank != 5 || w.rank != 5 || x.dim[4] != w.dim[3] || x.dtype != VTAC_F32 ||
        w.dtype != VTAC_F32) {
        vtac_make_fail(m, VTA_UNSUPPORTED,
                       "an input of %s and rank %u, weights of %s and rank %u; f32 and rank 5 are taken",
                       vtac_dtype_name(x.dtype), x.rank, vtac_dtype_name(w.dtype), w.rank);
        return;
    }
    for (uint32_t a = 0; a < AXES; a++) {
        stride[a] = vtac_tflite_option(im, stride_of[a], 4, 0);
        dilation[a] = vtac_tflite_option(im, dilation_of[a], 4, 1);
        if (stride[a] < 1 || dilation[a] < 1 || dilation[a] > 1 << 20) {
            vtac_make_fail(m, VTA_INVALID, "stride %lld, dilation %lld", (long long)stride[a],
                           (long long)dilation[a]);
            return;
        }
        if (vtac_tflite_option(im, 0, 1, 0) == SAME) {
            vtac_pad_same(x.dim[a + 1], w.dim[a], stride[a], dilation[a], true, &pads[a], &pads[a + AXES]);
        }
    }
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", stride, AXES),
                               vtac_attr_of_ints("dilations", dilation, AXES),
                               vtac_attr_of_ints("pads", pads, 2 * (size_t)AXES)};
    const vtac_id in[] = {vtac_make_transpose(m, vtac_tflite_plain(im, 0), (int64_t[]){0, 4, 1, 2, 3}, 5),
                          vtac_make_transpose(m, vtac_tflite_plain(im, 1), (int64_t[]){4, 3, 0, 1, 2}, 5),
                          vtac_tflite_has(im, 2) ? vtac_tflite_plain(im, 2) : 0};
    vtac_id y = vtac_make(m, VTAC_OP_CONV, in, 3, attrs, 3);
    y = vtac_make_transpose(m, y, (int64_t[]){0, 2, 3, 4, 1}, 5);
    vtac_tflite_set(
        im, 0, vtac_tflite_activate(im, y, vtac_tflite_out(im, 0), (int)vtac_tflite_option(im, 4, 1, 0)));
}

/* shape of the result, weights [d][h][w][outputs][c], x [n][d][h][w][c], bias; options as above */
void vtac_tflite_import_conv_3d_transpose(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    static const uint32_t stride_of[] = {1, 3, 2};
    static const uint32_t dilation_of[] = {5, 7, 6};
    const vtac_type x = vtac_tflite_type(im, 2);
    const vtac_type w = vtac_tflite_type(im, 1);
    int64_t shape[AXES + 2];
    int64_t stride[AXES];
    int64_t dilation[AXES];
    int64_t pads[2 * AXES] = {0};
    int64_t more[AXES] = {0};
    const uint32_t known = vtac_tflite_known_ints(im, 0, "output shape", shape, AXES + 2);
    if (m->status != VTA_OK || known != AXES + 2 || x.rank != 5 || w.rank != 5 || x.dim[4] != w.dim[4] ||
        shape[4] != w.dim[3] || x.dtype != VTAC_F32 || w.dtype != VTAC_F32) {
        vtac_make_fail(m, VTA_UNSUPPORTED,
                       "an input of %s and rank %u, weights of %s and rank %u; f32 and rank 5 are taken",
                       vtac_dtype_name(x.dtype), x.rank, vtac_dtype_name(w.dtype), w.rank);
        return;
    }
    for (uint32_t a = 0; a < AXES; a++) {
        stride[a] = vtac_tflite_option(im, stride_of[a], 4, 0);
        dilation[a] = vtac_tflite_option(im, dilation_of[a], 4, 1);
        if (stride[a] < 1 || dilation[a] < 1 || dilation[a] > 1 << 20 || stride[a] > 1 << 20) {
            vtac_make_fail(m, VTA_INVALID, "stride %lld, dilation %lld", (long long)stride[a],
                           (long long)dilation[a]);
            return;
        }
        /* the padding is that of the convolution from the result to x */
        const int64_t reach = (w.dim[a] - 1) * dilation[a] + 1;
        const int64_t size = shape[a + 1];
        if (vtac_tflite_option(im, 0, 1, 0) == SAME) {
            vtac_pad_same(size, w.dim[a], stride[a], dilation[a], true, &pads[a], &pads[a + AXES]);
        }
        const int64_t full = (x.dim[a + 1] - 1) * stride[a] + reach - pads[a];
        pads[a + AXES] = full > size ? full - size : 0;
        more[a] = full < size ? size - full : 0;
        if (size < 1 || more[a] >= stride[a] + reach || pads[a + AXES] > reach + stride[a]) {
            vtac_make_fail(m, VTA_INVALID, "an output of %lld from %lld", (long long)size,
                           (long long)x.dim[a + 1]);
            return;
        }
    }
    const vtac_attr attrs[] = {
        vtac_attr_of_ints("strides", stride, AXES), vtac_attr_of_ints("dilations", dilation, AXES),
        vtac_attr_of_ints("pads", pads, 2 * (size_t)AXES), vtac_attr_of_ints("output_padding", more, AXES)};
    const vtac_id in[] = {vtac_make_transpose(m, vtac_tflite_plain(im, 2), (int64_t[]){0, 4, 1, 2, 3}, 5),
                          vtac_make_transpose(m, vtac_tflite_plain(im, 1), (int64_t[]){4, 3, 0, 1, 2}, 5),
                          vtac_tflite_has(im, 3) ? vtac_tflite_plain(im, 3) : 0};
    vtac_id y = vtac_make(m, VTAC_OP_CONV_TRANSPOSE, in, 3, attrs, 4);
    y = vtac_make_transpose(m, y, (int64_t[]){0, 2, 3, 4, 1}, 5);
    vtac_tflite_set(
        im, 0, vtac_tflite_activate(im, y, vtac_tflite_out(im, 0), (int)vtac_tflite_option(im, 4, 1, 0)));
}

/* x, lengths; options: axis of the sequence, axis of the batch */
void vtac_tflite_import_reverse_sequence(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tflite_type(im, 0);
    const uint32_t along = vtac_tflite_wrap(im, vtac_tflite_option(im, 0, 4, 0), x.rank);
    const uint32_t batch = vtac_tflite_wrap(im, vtac_tflite_option(im, 1, 4, 0), x.rank);
    const vtac_type lengths = vtac_tflite_type(im, 1);
    if (m->status != VTA_OK || along == batch || lengths.rank != 1 || lengths.dim[0] != x.dim[batch]) {
        vtac_make_fail(m, VTA_INVALID, "axes %u and %u of %u, or lengths that do not fit", along, batch,
                       x.rank);
        return;
    }
    /* place t becomes length - 1 - t where t is below the length */
    int64_t dims[VTAC_MAX_RANK];
    int64_t shape[VTAC_MAX_RANK];
    int64_t *places = vtac_make_room(m, x.dim[along], sizeof *places);
    for (uint32_t i = 0; i < x.rank; i++) {
        dims[i] = i == along ? x.dim[i] : 1;
        shape[i] = i == batch ? x.dim[i] : 1;
    }
    for (int64_t i = 0; places != NULL && i < x.dim[along]; i++) {
        places[i] = i;
    }
    if (places == NULL) {
        return;
    }
    const vtac_id t = vtac_make_reshape(
        m, vtac_make_borrowed(m, &(vtac_type){VTAC_I64, 1, {x.dim[along]}}, places), dims, x.rank);
    const vtac_id length =
        vtac_make_reshape(m, vtac_make_cast(m, vtac_tflite_plain(im, 1), VTAC_I64), shape, x.rank);
    const vtac_id back =
        vtac_make2(m, VTAC_OP_SUB, vtac_make2(m, VTAC_OP_SUB, length, vtac_make_number(m, VTAC_I64, 1.0)), t);
    vtac_id from = vtac_make3(m, VTAC_OP_WHERE, vtac_make2(m, VTAC_OP_LESS, t, length), back, t);
    from = vtac_make2(m, VTAC_OP_EXPAND, from, vtac_make_ints(m, x.dim, x.rank));
    const vtac_attr axis = vtac_attr_of_int("axis", along);
    const vtac_id in[] = {vtac_tflite_plain(im, 0), from};
    vtac_tflite_set(im, 0, vtac_make(m, VTAC_OP_GATHER_ELEMENTS, in, 2, &axis, 1));
}

/* Shapes known now: two shapes' common one. */
void vtac_tflite_import_broadcast_args(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    int64_t side[2][VTAC_MAX_RANK];
    uint32_t rank[2];
    int64_t out[VTAC_MAX_RANK];
    rank[0] = vtac_tflite_known_ints(im, 0, "shape", side[0], VTAC_MAX_RANK);
    rank[1] = vtac_tflite_known_ints(im, 1, "shape", side[1], VTAC_MAX_RANK);
    const uint32_t max = rank[0] > rank[1] ? rank[0] : rank[1];
    for (uint32_t i = 0; i < max; i++) {
        const int64_t a = i + rank[0] < max ? 1 : side[0][i + rank[0] - max];
        const int64_t b = i + rank[1] < max ? 1 : side[1][i + rank[1] - max];
        out[i] = a == 1 ? b : a;
        if (a != b && a != 1 && b != 1) {
            vtac_make_fail(m, VTA_INVALID, "sizes %lld and %lld", (long long)a, (long long)b);
            return;
        }
    }
    vtac_tflite_set(im, 0,
                    vtac_make_cast(m, vtac_make_ints(m, out, max), vtac_tflite_out(im, 0)->type.dtype));
}

/* x, what is put into it, where its first element goes (cut so that all of it fits) */
void vtac_tflite_import_update_slice(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_type part = vtac_tflite_type(im, 1);
    const vtac_type place = vtac_tflite_type(im, 2);
    int64_t begin[VTAC_MAX_RANK];
    bool fits = part.rank == x.rank && vtac_type_elements(&place) == x.rank;
    for (uint32_t a = 0; fits && a < x.rank; a++) {
        fits = part.dim[a] <= x.dim[a] && part.dim[a] > 0;
    }
    if (!fits) {
        vtac_make_fail(m, VTA_INVALID,
                       "a place in %u axes, and %u of what is put there, or more than there is room for",
                       x.rank, part.rank);
        return;
    }
    if (!vtac_tflite_known(im, 2)) {
        vtac_tflite_update_slice_at_run(im);
        return;
    }
    (void)vtac_tflite_known_ints(im, 2, "place", begin, VTAC_MAX_RANK);
    vtac_id y = vtac_tflite_plain(im, 1);
    for (uint32_t a = x.rank; a-- > 0;) {
        /* around it on this axis: x, where the axes before are those of the part */
        const int64_t max = x.dim[a] - part.dim[a];
        begin[a] = begin[a] < 0 ? 0 : begin[a] > max ? max : begin[a];
        vtac_id around = vtac_tflite_plain(im, 0);
        for (uint32_t k = 0; k < a && m->status == VTA_OK; k++) {
            const int64_t free_k = x.dim[k] - part.dim[k];
            const int64_t at = begin[k] < 0 ? 0 : begin[k] > free_k ? free_k : begin[k];
            around = vtac_make_slice(m, around, k, at, at + part.dim[k]);
        }
        const vtac_id pieces[] = {
            begin[a] == 0 ? 0 : vtac_make_slice(m, around, a, 0, begin[a]), y,
            begin[a] == max ? 0 : vtac_make_slice(m, around, a, begin[a] + part.dim[a], x.dim[a])};
        vtac_id there[3];
        uint32_t count = 0;
        for (int i = 0; i < 3; i++) {
            if (pieces[i] != 0) {
                there[count++] = pieces[i];
            }
        }
        y = count == 1 ? y : vtac_make_concat(m, there, count, a);
    }
    vtac_tflite_set(im, 0, y);
}
