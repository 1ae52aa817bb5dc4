/* SPDX-License-Identifier: Apache-2.0
 *
 * Grids, crops, windows and transforms, and products from one place to the next.
 */
#include <math.h>
#include <string.h>

#include "compose.h"

#define PI 3.14159265358979323846

/* The integers of input i, which must be known; false and a fault where they are not, or not `room` at most.
 */
static bool known_ints(vtac_compose *c, uint32_t i, int64_t *out, uint32_t room, uint32_t *count)
{
    const vtac_tensor *known = vtac_c_known(c, vtac_c_in(c, i));
    const int64_t elements = known == NULL ? 0 : vtac_type_elements(&known->type);
    if (c->status == VTA_OK && known == NULL) {
        (void)vtac_compose_fail(c, VTA_UNSUPPORTED, "input %u is not known at compile time", i);
    } else if (c->status == VTA_OK &&
               (elements < 0 || elements > room || vtac_dtype_kind(known->type.dtype) == 'f')) {
        (void)vtac_compose_fail(c, VTA_INVALID, "input %u needs at most %u integers", i, room);
    }
    for (int64_t k = 0; c->status == VTA_OK && k < elements; k++) {
        out[k] = vtac_tensor_int(known, k);
    }
    *count = (uint32_t)elements;
    return c->status == VTA_OK;
}

static double *numbers_of(vtac_compose *c, int64_t count)
{
    double *numbers =
        count < 0 ? NULL : vta_arena_array(&c->im->graph->arena, (size_t)count, sizeof *numbers);
    if (numbers == NULL) {
        (void)vtac_compose_fail(c, VTA_NOMEM, "out of memory");
    }
    return numbers;
}

/* ---- AffineGrid: theta [N, d, d + 1], size [N, C, places...]; the last axis of the result names x first */

static double grid_place(int64_t i, int64_t size, bool corners)
{
    if (corners) {
        return size == 1 ? 0.0 : -1.0 + 2.0 * (double)i / (double)(size - 1);
    }
    return (2.0 * (double)i + 1.0) / (double)size - 1.0;
}

void vtac_composed_affine_grid(vtac_compose *c, vtac_value_id *out)
{
    static const int64_t turned[] = {0, 2, 1};
    const bool corners = vtac_c_int(c, "align_corners", 0) != 0;
    int64_t size[5];
    uint32_t count;
    if (!known_ints(c, 1, size, 5, &count) || !vtac_c_expect_rank(c, 0, 3)) {
        return;
    }
    const uint32_t axes = count < 3 ? 0 : count - 2;
    vtac_type base = {vtac_c_dtype(c, vtac_c_in(c, 0)), 2, {1, axes + 1}};
    int64_t shape[] = {size[0], 1, 1, 1, axes};
    for (uint32_t i = 0; i < axes; i++) {
        shape[i + 1] = size[i + 2];
        if (size[i + 2] < 1 || __builtin_mul_overflow(base.dim[0], size[i + 2], &base.dim[0])) {
            (void)vtac_compose_fail(c, VTA_RANGE, "a grid of %lld places on one axis",
                                    (long long)size[i + 2]);
            return;
        }
    }
    shape[axes + 1] = axes;
    if (axes < 2 || axes > 3 || vtac_type_elements(&base) < 0 || vtac_type_elements(&base) > 1 << 22) {
        (void)vtac_compose_fail(c, VTA_INVALID,
                                "its size needs [N, C, H, W] or [N, C, D, H, W], of fewer places");
        return;
    }
    double *places = numbers_of(c, vtac_type_elements(&base));
    for (int64_t i = 0; places != NULL && i < base.dim[0]; i++) {
        int64_t rest = i;
        for (uint32_t k = 0; k < axes; k++) { /* x, the last axis, first */
            const int64_t extent = size[count - 1 - k];
            places[i * (axes + 1) + k] = grid_place(rest % extent, extent, corners);
            rest /= extent;
        }
        places[i * (axes + 1) + axes] = 1.0;
    }
    if (places != NULL) {
        const vtac_value_id theta = vtac_c_transpose(c, vtac_c_in(c, 0), turned, 3);
        out[0] =
            vtac_c_reshape(c, vtac_c_matmul(c, vtac_c_numbers(c, &base, places), theta), shape, axes + 2);
    }
}

/* ---- CenterCropPad: input, the sizes of `axes` */

void vtac_composed_center_crop_pad(vtac_compose *c, vtac_value_id *out)
{
    vtac_value_id x = vtac_c_in(c, 0);
    const uint32_t rank = vtac_c_rank(c, x);
    const vtac_attr *axes = vtac_c_attr(c, "axes");
    const bool named = axes != NULL && axes->kind == VTAC_ATTR_INTS;
    int64_t size[VTAC_MAX_RANK];
    uint32_t count;
    if (!known_ints(c, 1, size, VTAC_MAX_RANK, &count)) {
        return;
    }
    if (count != (named ? axes->count : rank)) {
        (void)vtac_compose_fail(c, VTA_INVALID, "%u sizes do not fit its axes", count);
        return;
    }
    for (uint32_t i = 0; i < count && c->status == VTA_OK; i++) {
        const uint32_t axis = named ? vtac_c_axis(c, axes->ints[i], rank) : i;
        const int64_t dim = vtac_c_dim(c, x, axis);
        if (size[i] < 0 || size[i] > INT32_MAX) {
            (void)vtac_compose_fail(c, VTA_RANGE, "size %lld on axis %u", (long long)size[i], axis);
        } else if (dim > size[i]) {
            const int64_t from = (dim - size[i]) / 2;
            x = vtac_c_slice(c, x, axis, from, from + size[i]);
        } else {
            const int64_t before = (size[i] - dim) / 2;
            x = vtac_c_pad(c, x, axis, before, size[i] - dim - before);
        }
    }
    out[0] = x;
}

/* ---- ReverseSequence: input, how many places along `time_axis` each batch turns round */

void vtac_composed_reverse_sequence(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    const vtac_type type = *vtac_c_type(c, x);
    const uint32_t batch = vtac_c_axis(c, vtac_c_int(c, "batch_axis", 1), type.rank);
    const uint32_t time = vtac_c_axis(c, vtac_c_int(c, "time_axis", 0), type.rank);
    const vtac_value_id lengths = vtac_c_in(c, 1);
    if (c->status == VTA_OK &&
        (vtac_c_rank(c, lengths) != 1 || vtac_c_dim(c, lengths, 0) != type.dim[batch])) {
        (void)vtac_compose_fail(c, VTA_INVALID, "it needs a length for each of %lld batches",
                                (long long)type.dim[batch]);
    }
    int64_t along[2][VTAC_MAX_RANK];
    for (uint32_t i = 0; i < type.rank; i++) {
        along[0][i] = i == time ? type.dim[i] : 1;
        along[1][i] = i == batch ? type.dim[i] : 1;
    }
    const vtac_value_id t = vtac_c_reshape(c, vtac_c_range(c, VTAC_I64, type.dim[time]), along[0], type.rank);
    const vtac_value_id n = vtac_c_reshape(c, vtac_c_cast(c, lengths, VTAC_I64), along[1], type.rank);
    const vtac_value_id turned = vtac_c_sub_number(c, vtac_c_sub(c, n, t), 1.0);
    const vtac_value_id from = vtac_c_where(c, vtac_c_less(c, t, n), turned, t);
    const vtac_value_id places = vtac_c_expand(c, from, type.dim, type.rank);
    vtac_c_set_int(c, "axis", time);
    out[0] = vtac_c2(c, VTAC_OP_GATHER_ELEMENTS, x, places);
}

/* ---- windows: a sum of cosines */

static void window(vtac_compose *c, const double *factors, uint32_t terms, vtac_value_id *out)
{
    int64_t size = 0;
    uint32_t count;
    vtac_dtype dtype = VTAC_F32;
    if (!known_ints(c, 0, &size, 1, &count)) {
        return;
    }
    if (size < 0 || size > 1 << 22 || count != 1) {
        (void)vtac_compose_fail(c, VTA_RANGE, "a window of %lld places", (long long)size);
        return;
    }
    if (vtac_import_dtype(vtac_c_int(c, "output_datatype", 1), &dtype, c->diag) != VTA_OK) {
        c->status = VTA_UNSUPPORTED;
        return;
    }
    const int64_t period = vtac_c_int(c, "periodic", 1) != 0 ? size : size - 1;
    double *values = numbers_of(c, size);
    for (int64_t i = 0; values != NULL && i < size; i++) {
        values[i] = factors[0];
        for (uint32_t k = 1; k < terms && period > 0; k++) {
            values[i] += factors[k] * cos(2.0 * PI * (double)k * (double)i / (double)period);
        }
    }
    const vtac_type type = {dtype, 1, {size}};
    out[0] = values == NULL ? 0 : vtac_c_numbers(c, &type, values);
}

void vtac_composed_hann_window(vtac_compose *c, vtac_value_id *out)
{
    static const double factors[] = {0.5, -0.5};
    window(c, factors, 2, out);
}

void vtac_composed_hamming_window(vtac_compose *c, vtac_value_id *out)
{
    static const double factors[] = {25.0 / 46.0, -21.0 / 46.0};
    window(c, factors, 2, out);
}

void vtac_composed_blackman_window(vtac_compose *c, vtac_value_id *out)
{
    static const double factors[] = {0.42, -0.5, 0.08};
    window(c, factors, 3, out);
}

/* ---- CumProd: x, axis; the places of the axis one after the other */

void vtac_composed_cum_prod(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    const uint32_t rank = vtac_c_rank(c, x);
    int64_t given = 0;
    uint32_t count;
    if (!known_ints(c, 1, &given, 1, &count)) {
        return;
    }
    const uint32_t axis = vtac_c_axis(c, given, rank);
    const int64_t size = c->status == VTA_OK ? vtac_c_dim(c, x, axis) : 0;
    const bool exclusive = vtac_c_int(c, "exclusive", 0) != 0;
    const bool reverse = vtac_c_int(c, "reverse", 0) != 0;
    vtac_value_id parts[VTAC_MOST_INPUTS];
    if (size > VTAC_MOST_INPUTS) {
        (void)vtac_compose_fail(c, VTA_UNSUPPORTED, "%lld places are more than %d", (long long)size,
                                VTAC_MOST_INPUTS);
        return;
    }
    vtac_value_id product = 0;
    for (int64_t i = 0; i < size && c->status == VTA_OK; i++) {
        const int64_t at = reverse ? size - 1 - i : i;
        const vtac_value_id here = vtac_c_slice(c, x, axis, at, at + 1);
        vtac_type ones = *vtac_c_type(c, here);
        const vtac_value_id before =
            product != 0 || !exclusive
                ? product
                : vtac_c_expand(c, vtac_c_number(c, ones.dtype, 1.0), ones.dim, ones.rank);
        product = product == 0 ? here : vtac_c_mul(c, product, here);
        parts[at] = exclusive ? before : product;
    }
    out[0] = size == 0 ? x : vtac_c_concat(c, parts, (uint32_t)size, axis);
}

/* ---- DFT: products with the matrices of cosines and sines */

static vtac_value_id waves(vtac_compose *c, vtac_dtype dtype, int64_t rows, int64_t columns, int64_t length,
                           bool sine, double factor)
{
    const vtac_type type = {dtype, 2, {rows, columns}};
    double *values = numbers_of(c, rows * columns);
    for (int64_t i = 0; values != NULL && i < rows * columns; i++) {
        const double turn = 2.0 * PI * (double)((i / columns) * (i % columns) % length) / (double)length;
        values[i] = factor * (sine ? sin(turn) : cos(turn));
    }
    return values == NULL ? 0 : vtac_c_numbers(c, &type, values);
}

/* Along the last axis, which has one part or two for each number in `part`: 0 real, 1 imaginary. */
static void transform(vtac_compose *c, const vtac_value_id *part, int64_t length, int64_t kept,
                      vtac_value_id *y)
{
    const bool inverse = vtac_c_int(c, "inverse", 0) != 0;
    const vtac_dtype dtype = vtac_c_dtype(c, part[0]);
    const int64_t rows = vtac_c_dim(c, part[0], vtac_c_rank(c, part[0]) - 1);
    const double factor = inverse ? 1.0 / (double)length : 1.0;
    const vtac_value_id cosine = waves(c, dtype, rows, kept, length, false, factor);
    const vtac_value_id sine = waves(c, dtype, rows, kept, length, true, inverse ? factor : -factor);
    y[0] = vtac_c_matmul(c, part[0], cosine);
    y[1] = vtac_c_matmul(c, part[0], sine);
    if (part[1] != 0) {
        y[0] = vtac_c_sub(c, y[0], vtac_c_matmul(c, part[1], sine));
        y[1] = vtac_c_add(c, y[1], vtac_c_matmul(c, part[1], cosine));
    }
}

static void fourier(vtac_compose *c, int64_t axis_given, vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    const vtac_type type = *vtac_c_type(c, x);
    const uint32_t last = type.rank - 1;
    const bool one_side = vtac_c_int(c, "onesided", 0) != 0;
    const uint32_t axis = vtac_c_axis(c, axis_given, type.rank);
    int64_t length = c->status == VTA_OK ? type.dim[axis] : 1;
    uint32_t count;
    if (vtac_c_has(c, 1) && !known_ints(c, 1, &length, 1, &count)) {
        return;
    }
    if (c->status == VTA_OK &&
        (type.rank < 2 || axis == last || type.dim[last] < 1 || type.dim[last] > 2 || length < 1 ||
         length > 1 << 11 || (one_side && (type.dim[last] == 2 || vtac_c_int(c, "inverse", 0) != 0)))) {
        (void)vtac_compose_fail(c, VTA_UNSUPPORTED, "this signal or length (1 to 2048) is not supported");
    }
    if (c->status != VTA_OK) {
        return;
    }
    int64_t order[VTAC_MAX_RANK]; /* of the axes without the last: `axis` goes to the end; it is its own
                                     inverse */
    for (uint32_t i = 0; i < last; i++) {
        order[i] = i == axis ? last - 1 : i + 1 == last ? axis : i;
    }
    const int64_t used = length < type.dim[axis] ? length : type.dim[axis];
    vtac_value_id part[2] = {0, 0};
    vtac_value_id y[2];
    for (uint32_t i = 0; i < type.dim[last]; i++) {
        const vtac_value_id cut = vtac_c_slice(c, x, axis, 0, used);
        part[i] = vtac_c_squeeze(c, vtac_c_slice(c, cut, last, i, i + 1), last);
        part[i] = vtac_c_transpose(c, part[i], order, last);
    }
    transform(c, part, length, one_side ? length / 2 + 1 : length, y);
    for (uint32_t i = 0; i < 2; i++) {
        y[i] = vtac_c_unsqueeze(c, vtac_c_transpose(c, y[i], order, last), last);
    }
    out[0] = vtac_c_concat(c, y, 2, last);
}

void vtac_composed_dft_17(vtac_compose *c, vtac_value_id *out)
{
    fourier(c, vtac_c_int(c, "axis", 1), out);
}

void vtac_composed_dft(vtac_compose *c, vtac_value_id *out)
{
    int64_t axis = -2;
    uint32_t count;
    if (!vtac_c_has(c, 2) || known_ints(c, 2, &axis, 1, &count)) {
        fourier(c, axis, out);
    }
}
