/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks.h"

#include <string.h>

#include "window.h"

vtac_id vtac_make_weights(vtac_import_builder *m, const vtac_type *type, const void *bytes)
{
    vtac_type to = *type;
    const int64_t count = vtac_type_elements(type);
    const size_t size = vtac_dtype_bytes(type->dtype);
    to.dtype = VTAC_F32;
    if (type->dtype == VTAC_F32 && m->status == VTA_OK) {
        return vtac_make_constant(m, type, bytes);
    }
    uint8_t *from = vtac_make_room(m, count, size);
    float *room = vtac_make_room(m, count, sizeof *room);
    if (from == NULL || room == NULL) {
        return 0;
    }
    if (count > 0) {
        memcpy(from, bytes, (size_t)count * size);
    }
    const vtac_tensor tensor = {*type, from, (size_t)count * size};
    for (int64_t i = 0; i < count; i++) {
        room[i] = (float)vtac_tensor_float(&tensor, i);
    }
    return vtac_make_borrowed(m, &to, room);
}

vtac_id vtac_make_along(vtac_import_builder *m, vtac_op op, vtac_id x, vtac_id row, uint32_t axis)
{
    const vtac_type type = vtac_made_type(m, x);
    const int64_t count = vtac_made_elements(m, row);
    int64_t dims[VTAC_MAX_RANK] = {count, 1, 1, 1, 1, 1, 1, 1};
    if (m->status != VTA_OK) {
        return 0;
    }
    if (axis >= type.rank || (count != 1 && count != type.dim[axis])) {
        vtac_make_fail(m, VTA_INVALID, "%lld numbers along axis %u, which has %lld elements",
                       (long long)count, axis, axis < type.rank ? (long long)type.dim[axis] : 0LL);
        return 0;
    }
    return vtac_make2(m, op, x, vtac_make_reshape(m, row, dims, type.rank - axis));
}

vtac_id vtac_make_with(vtac_import_builder *m, vtac_op op, vtac_id x, double number)
{
    return x == 0 ? 0 : vtac_make2(m, op, x, vtac_make_number(m, vtac_made_type(m, x).dtype, number));
}

vtac_id vtac_make_linear(vtac_import_builder *m, vtac_id x, double scale, double shift)
{
    x = scale == 1.0 ? x : vtac_make_with(m, VTAC_OP_MUL, x, scale);
    return shift == 0.0 ? x : vtac_make_with(m, VTAC_OP_ADD, x, shift);
}

vtac_id vtac_make_batch_norm(vtac_import_builder *m, vtac_id x, const vtac_id rows[4], double epsilon)
{
    const vtac_attr attr = vtac_attr_of_float("epsilon", epsilon);
    const vtac_id in[] = {x, rows[0], rows[1], rows[2], rows[3]};
    return vtac_make(m, VTAC_OP_BATCH_NORMALIZATION, in, 5, &attr, 1);
}

vtac_id vtac_make_turned(vtac_import_builder *m, vtac_id x)
{
    const uint32_t rank = vtac_made_type(m, x).rank;
    int64_t order[VTAC_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    if (rank < 2) {
        return x;
    }
    order[rank - 1] = rank - 2;
    order[rank - 2] = rank - 1;
    return vtac_make_transpose(m, x, order, rank);
}

vtac_id vtac_make_rows(vtac_import_builder *m, vtac_id x, uint32_t axis)
{
    const vtac_type type = vtac_made_type(m, x);
    int64_t dims[2] = {1, 1};
    for (uint32_t a = 0; a < type.rank; a++) {
        dims[a < axis ? 0 : 1] *= type.dim[a];
    }
    return vtac_make_reshape(m, x, dims, 2);
}

vtac_id vtac_make_dense(vtac_import_builder *m, vtac_id x, uint32_t axis, vtac_id weight, bool turned,
                        vtac_id bias)
{
    const vtac_type type = vtac_made_type(m, x);
    const vtac_attr flip = vtac_attr_of_int("transB", turned ? 0 : 1);
    const vtac_id in[] = {vtac_make_rows(m, x, axis), weight, bias};
    const vtac_id y = vtac_make(m, VTAC_OP_GEMM, in, 3, &flip, 1);
    vtac_type to = {.rank = axis + 1};
    if (y == 0 || axis >= VTAC_MAX_RANK) {
        return 0;
    }
    for (uint32_t a = 0; a < axis; a++) {
        to.dim[a] = type.dim[a];
    }
    to.dim[axis] = vtac_made_type(m, y).dim[1];
    return vtac_make_reshape(m, y, to.dim, to.rank);
}

vtac_id vtac_make_softmax(vtac_import_builder *m, vtac_id x, int64_t axis)
{
    const vtac_attr attr = vtac_attr_of_int("axis", axis);
    return vtac_make(m, VTAC_OP_SOFTMAX, &x, 1, &attr, 1);
}

vtac_id vtac_make_leaky(vtac_import_builder *m, vtac_id x, double alpha)
{
    const vtac_attr attr = vtac_attr_of_float("alpha", alpha);
    return alpha == 0.0 ? vtac_make1(m, VTAC_OP_RELU, x) : vtac_make(m, VTAC_OP_LEAKY_RELU, &x, 1, &attr, 1);
}

vtac_id vtac_make_prelu(vtac_import_builder *m, vtac_id x, vtac_id slopes)
{
    return vtac_make_along(m, VTAC_OP_PRELU, x, slopes, vtac_made_type(m, x).rank > 1 ? 1 : 0);
}

/* The mean of squares of size x size places, padding counted, to a power. */
static vtac_id lrn_within(vtac_import_builder *m, vtac_id x, int64_t size, double alpha, double beta)
{
    const int64_t pad = (size - 1) / 2;
    vtac_import_window w = {.axes = 2,
                            .kernel = {size, size},
                            .stride = {1, 1},
                            .dilation = {1, 1},
                            .pads = {pad, pad, pad, pad}};
    if (!vtac_lay_window(m, x, VTAC_WINDOW_FLOOR, &w)) {
        return 0;
    }
    const vtac_id mean = vtac_make_pool(m, VTAC_OP_AVERAGE_POOL, vtac_make2(m, VTAC_OP_MUL, x, x), &w, true);
    const vtac_id base = vtac_make_linear(m, mean, alpha, 1.0);
    return vtac_make2(m, VTAC_OP_MUL, x, vtac_make_with(m, VTAC_OP_POW, base, -beta));
}

vtac_id vtac_make_lrn(vtac_import_builder *m, vtac_id x, int64_t size, double alpha, double beta, double bias,
                      bool within)
{
    const vtac_attr attrs[] = {vtac_attr_of_int("size", size), vtac_attr_of_float("alpha", alpha),
                               vtac_attr_of_float("beta", beta), vtac_attr_of_float("bias", bias)};
    if (size < 1 || size % 2 == 0) {
        vtac_make_fail(m, VTA_INVALID, "a normalization over %lld, expected an odd number", (long long)size);
        return 0;
    }
    return within ? lrn_within(m, x, size, alpha, beta) : vtac_make(m, VTAC_OP_LRN, &x, 1, attrs, 4);
}

vtac_id vtac_make_unit(vtac_import_builder *m, vtac_id x, const int64_t *axes, uint32_t count, double epsilon)
{
    const vtac_id sum = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM_SQUARE, x, axes, count, true);
    return vtac_make2(m, VTAC_OP_DIV, x, vtac_make1(m, VTAC_OP_SQRT, vtac_make_linear(m, sum, 1.0, epsilon)));
}

vtac_id vtac_make_resized(vtac_import_builder *m, vtac_id x, int64_t rows, int64_t columns, const char *mode,
                          const char *places)
{
    const vtac_type type = vtac_made_type(m, x);
    const int64_t sizes[] = {type.dim[0], type.dim[1], rows, columns};
    const vtac_attr attrs[] = {vtac_attr_of_string("mode", mode),
                               vtac_attr_of_string("nearest_mode", "floor"),
                               vtac_attr_of_string("coordinate_transformation_mode", places)};
    if (m->status == VTA_OK &&
        (type.rank != 4 || rows < 1 || columns < 1 || rows > VTAC_WINDOW_MAX || columns > VTAC_WINDOW_MAX)) {
        vtac_make_fail(m, VTA_INVALID, "%lld x %lld of an input of %u axes", (long long)rows,
                       (long long)columns, type.rank);
    }
    if (m->status != VTA_OK) {
        return 0;
    }
    const vtac_id in[] = {x, 0, 0, vtac_make_ints(m, sizes, 4)};
    return vtac_make(m, VTAC_OP_RESIZE, in, 4, attrs, 3);
}

vtac_id vtac_make_shuffled(vtac_import_builder *m, vtac_id x, int64_t groups)
{
    const vtac_type type = vtac_made_type(m, x);
    if (m->status == VTA_OK && (type.rank != 4 || groups < 1 || type.dim[1] % groups != 0)) {
        vtac_make_fail(m, VTA_INVALID, "%lld groups of the channels of an input of %u axes",
                       (long long)groups, type.rank);
    }
    if (m->status != VTA_OK) {
        return 0;
    }
    const int64_t apart[] = {type.dim[0], groups, type.dim[1] / groups, type.dim[2], type.dim[3]};
    x = vtac_make_transpose(m, vtac_make_reshape(m, x, apart, 5), (int64_t[]){0, 2, 1, 3, 4}, 5);
    return vtac_make_reshape(m, x, type.dim, 4);
}

uint32_t vtac_axis_of(vtac_import_builder *m, vtac_id x, int64_t axis)
{
    const int64_t rank = vtac_made_type(m, x).rank;
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (m->status == VTA_OK && (at < 0 || at >= rank)) {
        vtac_make_fail(m, VTA_INVALID, "axis %lld of %lld", (long long)axis, (long long)rank);
    }
    return m->status == VTA_OK ? (uint32_t)at : 0;
}
