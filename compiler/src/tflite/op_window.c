/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows over any axes, and room between elements.
 */
#include <string.h>

#include "operators.h"

enum { MAX_WINDOW = 1 << 12, MAX_APART = 1 << 16, MAX_KNOWN = 1 << 26 };
static const int64_t max = INT64_C(1) << 34;

/* Checks that the work is not too much: known operands are computed while the model is read. */
static bool can_do(vtac_tflite *im, double work)
{
    const bool good = work <= (double)(vtac_tflite_known(im, 0) ? MAX_KNOWN : max);
    if (im->maker.status == VTA_OK && !good) {
        vtac_make_refuse(&im->maker, "%g steps; up to 2^34 are taken, 2^26 where all is known", work);
    }
    return good;
}

/* begin, begin + step, … of one axis, `count` of them. */
static vtac_id slice_axis(vtac_import_builder *m, vtac_id x, uint32_t axis, int64_t begin, int64_t step,
                          int64_t count)
{
    const int64_t at = axis;
    const int64_t end = begin + (count - 1) * step + 1;
    const vtac_id in[] = {x, vtac_make_ints(m, &begin, 1), vtac_make_ints(m, &end, 1),
                          vtac_make_ints(m, &at, 1), vtac_make_ints(m, &step, 1)};
    return vtac_make(m, VTAC_OP_SLICE, in, 5, NULL, 0);
}

/* x, a start, shape of the window, its strides, its dilations; option: what joins elements. Axis after axis:
 * the parts of the window on it, joined. */
void vtac_tflite_import_reduce_window(vtac_tflite *im)
{
    static const vtac_op joins[] = {VTAC_OP_COUNT, VTAC_OP_ADD, VTAC_OP_MUL, VTAC_OP_MIN,
                                    VTAC_OP_MAX,   VTAC_OP_AND, VTAC_OP_OR};
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tflite_type(im, 0);
    const int64_t kind = vtac_tflite_option(im, 0, 4, 0);
    int64_t size[VTAC_MAX_RANK];
    int64_t stride[VTAC_MAX_RANK];
    int64_t apart[VTAC_MAX_RANK];
    if (vtac_tflite_known_ints(im, 2, "window", size, VTAC_MAX_RANK) != x.rank ||
        vtac_tflite_known_ints(im, 3, "strides", stride, VTAC_MAX_RANK) != x.rank ||
        vtac_tflite_known_ints(im, 4, "dilations", apart, VTAC_MAX_RANK) != x.rank || kind < 1 || kind > 6) {
        vtac_make_fail(m, VTA_INVALID,
                       "its window, strides and dilations are not of rank %u, or function %lld", x.rank,
                       (long long)kind);
        return;
    }
    double work = 0.0;
    for (uint32_t a = 0; a < x.rank; a++) {
        work += (double)size[a] * (double)vtac_type_elements(&x);
    }
    if (!can_do(im, work)) {
        return;
    }
    const vtac_op op = joins[kind];
    const bool logical = (op == VTAC_OP_AND || op == VTAC_OP_OR) && x.dtype != VTAC_BOOL;
    vtac_id y = logical ? vtac_make_cast(m, vtac_tflite_plain(im, 0), VTAC_BOOL) : vtac_tflite_plain(im, 0);
    for (uint32_t a = 0; a < x.rank && m->status == VTA_OK; a++) {
        const int64_t reach = size[a] < 1 || size[a] > MAX_WINDOW || apart[a] < 1 || apart[a] > MAX_APART
                                  ? INT64_MAX
                                  : (size[a] - 1) * apart[a] + 1;
        if (reach > x.dim[a] || stride[a] < 1 || stride[a] > 1 << 30) {
            vtac_make_fail(m, VTA_INVALID, "axis %u: a window of %lld, each %lld, steps of %lld, over %lld",
                           a, (long long)size[a], (long long)apart[a], (long long)stride[a],
                           (long long)x.dim[a]);
            return;
        }
        const int64_t count = (x.dim[a] - reach) / stride[a] + 1;
        const vtac_id from = y;
        for (int64_t k = 0; k < size[a]; k++) {
            const vtac_id part = slice_axis(m, from, a, k * apart[a], stride[a], count);
            y = k == 0 ? part : vtac_make2(m, op, y, part);
        }
    }
    vtac_id start = vtac_make_reshape(m, vtac_tflite_plain(im, 1), NULL, 0);
    start = logical ? vtac_make_cast(m, start, VTAC_BOOL) : start;
    y = vtac_make2(m, op, start, y);
    vtac_tflite_set(im, 0, logical ? vtac_make_cast(m, y, x.dtype) : y);
}

/* x, how far elements are apart on each axis, what is between them */
void vtac_tflite_import_dilate(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tflite_type(im, 0);
    int64_t apart[VTAC_MAX_RANK];
    int64_t shape[VTAC_MAX_RANK];
    if (vtac_tflite_known_ints(im, 1, "dilations", apart, VTAC_MAX_RANK) != x.rank || x.rank < 1) {
        vtac_make_fail(m, VTA_INVALID, "its dilations are not of rank %u", x.rank);
        return;
    }
    double work = 1.0;
    for (uint32_t a = 0; a < x.rank; a++) {
        work *= (double)x.dim[a] * (double)apart[a];
    }
    if (!can_do(im, work)) {
        return;
    }
    memcpy(shape, x.dim, sizeof shape);
    vtac_id y = vtac_tflite_plain(im, 0);
    const vtac_id between = vtac_make_reshape(m, vtac_tflite_plain(im, 2), NULL, 0);
    for (uint32_t a = 0; a < x.rank && m->status == VTA_OK; a++) {
        if (apart[a] < 1 || apart[a] > MAX_APART || x.dim[a] < 1) {
            vtac_make_fail(m, VTA_INVALID, "axis %u: %lld elements, each %lld", a, (long long)x.dim[a],
                           (long long)apart[a]);
            return;
        }
        if (apart[a] == 1) {
            continue;
        }
        int64_t rows[3] = {1, shape[a], 1};
        for (uint32_t k = 0; k < x.rank; k++) {
            rows[0] *= k < a ? shape[k] : 1;
            rows[2] *= k > a ? shape[k] : 1;
        }
        const int64_t pads[] = {0, 0, 0, 0, 0, (apart[a] - 1) * rows[2]};
        y = vtac_make3(m, VTAC_OP_PAD, vtac_make_reshape(m, y, rows, 3), vtac_make_ints(m, pads, 6), between);
        shape[a] = x.dim[a] * apart[a];
        y = vtac_make_reshape(m, y, shape, x.rank);
        shape[a] = (x.dim[a] - 1) * apart[a] + 1;
        y = vtac_make_slice(m, y, a, 0, shape[a]);
    }
    vtac_tflite_set(im, 0, y);
}
