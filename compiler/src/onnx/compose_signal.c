/* SPDX-License-Identifier: Apache-2.0
 *
 * Grids, crops, sequences in reverse, and mel bands.
 */
#include <math.h>
#include <string.h>

#include "compose.h"

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
    const vtac_type type = vtac_c_type(c, x);
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
