/* SPDX-License-Identifier: Apache-2.0
 *
 * Grids, crops, windows and transforms.
 */
#include <math.h>
#include <string.h>

#include "compose.h"

#define PI 3.14159265358979323846

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
    if (!vtac_c_known_ints(c, 1, size, 5, &count) || !vtac_c_expect_rank(c, 0, 3)) {
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
    double *places = vtac_c_room(c, vtac_type_elements(&base));
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
    if (!vtac_c_known_ints(c, 1, size, VTAC_MAX_RANK, &count)) {
        return;
    }
    if (count != (named ? axes->count : rank)) {
        (void)vtac_compose_fail(c, VTA_INVALID, "%u sizes do not fit its axes", count);
        return;
    }
    for (uint32_t i = 0; i < count && c->make.status == VTA_OK; i++) {
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
    if (c->make.status == VTA_OK &&
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

static void compose_window(vtac_compose *c, const double *factors, uint32_t terms, vtac_value_id *out)
{
    int64_t size = 0;
    uint32_t count;
    vtac_dtype dtype = VTAC_F32;
    if (!vtac_c_known_ints(c, 0, &size, 1, &count)) {
        return;
    }
    if (size < 0 || size > 1 << 22 || count != 1) {
        (void)vtac_compose_fail(c, VTA_RANGE, "a window of %lld places", (long long)size);
        return;
    }
    if (vtac_import_dtype(vtac_c_int(c, "output_datatype", 1), &dtype, c->make.diag) != VTA_OK) {
        c->make.status = VTA_UNSUPPORTED;
        return;
    }
    const int64_t period = vtac_c_int(c, "periodic", 1) != 0 ? size : size - 1;
    double *values = vtac_c_room(c, size);
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
    compose_window(c, factors, 2, out);
}

void vtac_composed_hamming_window(vtac_compose *c, vtac_value_id *out)
{
    static const double factors[] = {25.0 / 46.0, -21.0 / 46.0};
    compose_window(c, factors, 2, out);
}

void vtac_composed_blackman_window(vtac_compose *c, vtac_value_id *out)
{
    static const double factors[] = {0.42, -0.5, 0.08};
    compose_window(c, factors, 3, out);
}

/* ---- DFT: products with the matrices of cosines and sines */

static vtac_value_id wave_table(vtac_compose *c, vtac_dtype dtype, int64_t rows, int64_t columns,
                                int64_t length, bool sine, double factor)
{
    const vtac_type type = {dtype, 2, {rows, columns}};
    double *values = vtac_c_room(c, rows * columns);
    for (int64_t i = 0; values != NULL && i < rows * columns; i++) {
        const double angle = 2.0 * PI * (double)((i / columns) * (i % columns) % length) / (double)length;
        values[i] = factor * (sine ? sin(angle) : cos(angle));
    }
    return values == NULL ? 0 : vtac_c_numbers(c, &type, values);
}

/* Along the last axis, which has one part or two for each number in `part`: 0 real, 1 imaginary. */
static void transform_axis(vtac_compose *c, const vtac_value_id *part, int64_t length, int64_t kept,
                           vtac_value_id *y)
{
    const bool inverse = vtac_c_int(c, "inverse", 0) != 0;
    const vtac_dtype dtype = vtac_c_dtype(c, part[0]);
    const int64_t rows = vtac_c_dim(c, part[0], vtac_c_rank(c, part[0]) - 1);
    const double factor = inverse ? 1.0 / (double)length : 1.0;
    const vtac_value_id cosine = wave_table(c, dtype, rows, kept, length, false, factor);
    const vtac_value_id sine = wave_table(c, dtype, rows, kept, length, true, inverse ? factor : -factor);
    y[0] = vtac_c_matmul(c, part[0], cosine);
    y[1] = vtac_c_matmul(c, part[0], sine);
    if (part[1] != 0) {
        y[0] = vtac_c_sub(c, y[0], vtac_c_matmul(c, part[1], sine));
        y[1] = vtac_c_add(c, y[1], vtac_c_matmul(c, part[1], cosine));
    }
}

/* Real numbers from the one side of their transform that tells all: what is left out is the mirror image. */
static vtac_value_id from_one_side(vtac_compose *c, const vtac_value_id *part, int64_t length)
{
    const int64_t rows = vtac_c_dim(c, part[0], vtac_c_rank(c, part[0]) - 1);
    const vtac_dtype dtype = vtac_c_dtype(c, part[0]);
    const vtac_type type = {dtype, 1, {rows}};
    double *twice = vtac_c_room(c, rows);
    if (twice == NULL) {
        return 0;
    }
    for (int64_t k = 0; k < rows; k++) {
        twice[k] = k == 0 || 2 * k == length ? 1.0 : 2.0;
    }
    const vtac_value_id weights = vtac_c_numbers(c, &type, twice);
    const double factor = 1.0 / (double)length;
    vtac_value_id y[2];
    for (uint32_t i = 0; i < 2; i++) {
        y[i] = vtac_c_matmul(c, vtac_c_mul(c, part[i], weights),
                             wave_table(c, dtype, rows, length, length, i == 1, factor));
    }
    return vtac_c_sub(c, y[0], y[1]);
}

static void compose_fourier(vtac_compose *c, int64_t axis_given, vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    const vtac_type type = *vtac_c_type(c, x);
    const uint32_t last = type.rank - 1;
    const bool one_side = vtac_c_int(c, "onesided", 0) != 0;
    const uint32_t axis = vtac_c_axis(c, axis_given, type.rank);
    const bool mirrored = one_side && vtac_c_int(c, "inverse", 0) != 0;
    int64_t length = c->make.status != VTA_OK ? 1 : mirrored ? 2 * (type.dim[axis] - 1) : type.dim[axis];
    uint32_t count;
    if (vtac_c_has(c, 1) && !vtac_c_known_ints(c, 1, &length, 1, &count)) {
        return;
    }
    if (c->make.status == VTA_OK &&
        (type.rank < 2 || axis == last || type.dim[last] < 1 || type.dim[last] > 2 || length < 1 ||
         length > 1 << 11 || (one_side && type.dim[last] != 1 + mirrored))) {
        (void)vtac_compose_fail(c, VTA_UNSUPPORTED, "this signal or length (1 to 2048) is not supported");
    }
    if (c->make.status != VTA_OK) {
        return;
    }
    int64_t order[VTAC_MAX_RANK]; /* of the axes without the last: `axis` goes to the end; it is its own
                                     inverse */
    for (uint32_t i = 0; i < last; i++) {
        order[i] = i == axis ? last - 1 : i + 1 == last ? axis : i;
    }
    const int64_t max = mirrored ? length / 2 + 1 : length;
    const int64_t used = max < type.dim[axis] ? max : type.dim[axis];
    vtac_value_id part[2] = {0, 0};
    vtac_value_id y[2];
    for (uint32_t i = 0; i < type.dim[last]; i++) {
        const vtac_value_id cut = vtac_c_slice(c, x, axis, 0, used);
        part[i] = vtac_c_squeeze(c, vtac_c_slice(c, cut, last, i, i + 1), last);
        part[i] = vtac_c_transpose(c, part[i], order, last);
    }
    if (mirrored) {
        const vtac_value_id real = from_one_side(c, part, length);
        out[0] = vtac_c_unsqueeze(c, vtac_c_transpose(c, real, order, last), last);
        return;
    }
    transform_axis(c, part, length, one_side ? length / 2 + 1 : length, y);
    for (uint32_t i = 0; i < 2; i++) {
        y[i] = vtac_c_unsqueeze(c, vtac_c_transpose(c, y[i], order, last), last);
    }
    out[0] = vtac_c_concat(c, y, 2, last);
}

void vtac_composed_dft_17(vtac_compose *c, vtac_value_id *out)
{
    compose_fourier(c, vtac_c_int(c, "axis", 1), out);
}

void vtac_composed_dft(vtac_compose *c, vtac_value_id *out)
{
    int64_t axis = -2;
    uint32_t count;
    if (!vtac_c_has(c, 2) || vtac_c_known_ints(c, 2, &axis, 1, &count)) {
        compose_fourier(c, axis, out);
    }
}

/* ---- STFT: signal [B, length, 1 or 2], step, window, frame length: the transforms of frames one step apart
 */

void vtac_composed_stft(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    const vtac_type type = *vtac_c_type(c, x);
    const int64_t step = vtac_c_known_integer(c, 1);
    const bool windowed = vtac_c_has(c, 2);
    const bool one_side = vtac_c_int(c, "onesided", 1) != 0;
    if (!vtac_c_expect_rank(c, 0, 3)) {
        return;
    }
    int64_t size = windowed ? vtac_c_dim(c, vtac_c_in(c, 2), 0) : type.dim[1];
    size = vtac_c_has(c, 3) ? vtac_c_known_integer(c, 3) : size;
    if (c->make.status == VTA_OK &&
        (step < 1 || size < 1 || size > 1 << 11 || size > type.dim[1] || type.dim[2] < 1 || type.dim[2] > 2 ||
         (one_side && type.dim[2] == 2) ||
         (windowed && (vtac_c_rank(c, vtac_c_in(c, 2)) != 1 || vtac_c_dim(c, vtac_c_in(c, 2), 0) != size)))) {
        (void)vtac_compose_fail(c, VTA_UNSUPPORTED,
                                "this signal, step, window or length (1 to 2048) is not supported");
    }
    if (c->make.status != VTA_OK) {
        return;
    }
    const int64_t frames = 1 + (type.dim[1] - size) / step;
    const vtac_type grid = {VTAC_I64, 2, {frames, size}};
    double *places = vtac_type_elements(&grid) > 1 << 24 ? NULL : vtac_c_room(c, frames * size);
    if (places == NULL) {
        (void)vtac_compose_fail(c, VTA_RANGE, "%lld frames of %lld places are too many", (long long)frames,
                                (long long)size);
        return;
    }
    for (int64_t i = 0; i < frames * size; i++) {
        places[i] = (double)(i / size * step + i % size);
    }
    vtac_value_id cut =
        vtac_c_gather(c, x, vtac_c_numbers(c, &grid, places), 1); /* [B, frames, size, parts] */
    if (windowed) {
        cut = vtac_c_mul(c, cut, vtac_c_along(c, vtac_c_cast(c, vtac_c_in(c, 2), type.dtype), 2, 4));
    }
    vtac_value_id part[2] = {0, 0};
    vtac_value_id y[2];
    for (uint32_t i = 0; i < type.dim[2]; i++) {
        part[i] = vtac_c_squeeze(c, vtac_c_slice(c, cut, 3, i, i + 1), 3);
    }
    transform_axis(c, part, size, one_side ? size / 2 + 1 : size, y);
    y[0] = vtac_c_unsqueeze(c, y[0], 3);
    y[1] = vtac_c_unsqueeze(c, y[1], 3);
    out[0] = vtac_c_concat(c, y, 2, 3);
}

/* ---- MelWeightMatrix: triangles over the bins of a spectrum, evenly apart on the mel scale */

static double mel_of(double hertz)
{
    return 2595.0 * log10(1.0 + hertz / 700.0);
}

void vtac_composed_mel_weights(vtac_compose *c, vtac_value_id *out)
{
    const int64_t bands = vtac_c_known_integer(c, 0);
    const int64_t length = vtac_c_known_integer(c, 1);
    const double rate = vtac_c_known_number(c, 2);
    const double low = mel_of(vtac_c_known_number(c, 3));
    const double high = mel_of(vtac_c_known_number(c, 4));
    const vtac_dtype dtype = vtac_c_dtype_attr(c, "output_datatype", VTAC_F32);
    if (c->make.status == VTA_OK &&
        (bands < 1 || length < 1 || bands > 1 << 16 || length > 1 << 20 || rate < 1.0 || !isfinite(low) ||
         !isfinite(high) || high < low || bands * (length / 2 + 1) > 1 << 24)) {
        (void)vtac_compose_fail(c, VTA_RANGE, "%lld bands of %lld places are not such a matrix",
                                (long long)bands, (long long)length);
    }
    const vtac_type type = {dtype, 2, {length / 2 + 1, bands}};
    double *values = c->make.status == VTA_OK ? vtac_c_room(c, vtac_type_elements(&type)) : NULL;
    if (values == NULL) {
        return;
    }
    memset(values, 0, (size_t)vtac_type_elements(&type) * sizeof *values);
    for (int64_t band = 0; band < bands; band++) {
        int64_t edge[3];
        for (uint32_t k = 0; k < 3; k++) {
            const double mel = (double)(band + k) * (high - low) / (double)(bands + 2) + low;
            const double hertz = 700.0 * (pow(10.0, mel / 2595.0) - 1.0);
            const double bin = floor((double)(length + 1) * hertz / rate);
            edge[k] = bin < 0.0 ? 0 : bin > (double)length ? length : (int64_t)bin;
        }
        for (int64_t bin = edge[0]; bin <= edge[2] && bin < type.dim[0]; bin++) {
            const double up =
                edge[1] == edge[0] ? 1.0 : (double)(bin - edge[0]) / (double)(edge[1] - edge[0]);
            const double down =
                edge[2] == edge[1] ? 0.0 : (double)(edge[2] - bin) / (double)(edge[2] - edge[1]);
            const bool rising = bin < edge[1] || (bin == edge[1] && edge[2] == edge[1]);
            values[bin * bands + band] = rising ? up : down;
        }
    }
    out[0] = vtac_c_numbers(c, &type, values);
}
