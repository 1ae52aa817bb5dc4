/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of matrices, attention, embeddings.
 */
#include <math.h>
#include <string.h>

#include "torch.h"

/* The last two axes in the other order. */
static vtac_id transpose_last(vtac_torch *im, vtac_id x)
{
    const uint32_t rank = vtac_made_type(&im->maker, x).rank;
    int64_t order[VTAC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        order[i] = i;
    }
    if (rank < 2) {
        return x;
    }
    order[rank - 2] = rank - 1;
    order[rank - 1] = rank - 2;
    return vtac_make_transpose(&im->maker, x, order, rank);
}

vtac_id vtac_torch_linear(vtac_torch *im, vtac_id x, vtac_id w, vtac_id bias)
{
    vtac_import_builder *m = &im->maker;
    if (vtac_made_type(m, x).rank == 2 && vtac_made_type(m, w).rank == 2) {
        const vtac_attr attr = vtac_attr_of_int("transB", 1);
        return vtac_make(m, VTAC_OP_GEMM, (vtac_id[]){x, w, bias}, 3, &attr, 1);
    }
    const vtac_id y = vtac_make2(m, VTAC_OP_MATMUL, x, transpose_last(im, w));
    return bias == 0 ? y : vtac_make2(m, VTAC_OP_ADD, y, bias);
}

vtac_torch_value vtac_torch_make_linear(vtac_torch *im, int32_t how)
{
    (void)how;
    return vtac_torch_tensor_of(im,
                                vtac_torch_linear(im, vtac_torch_in(im, "input"), vtac_torch_in(im, "weight"),
                                                  vtac_torch_in_or_none(im, "bias")));
}

vtac_torch_value vtac_torch_make_product(vtac_torch *im, int32_t how)
{
    const vtac_torch_value *other = vtac_torch_arg(im, vtac_torch_has(im, "other") ? "other" : "mat2");
    vtac_id x;
    vtac_id y;
    (void)how;
    vtac_torch_promote(im, vtac_torch_arg(im, "self"), other, &x, &y);
    return vtac_torch_tensor_of(im, vtac_make2(&im->maker, VTAC_OP_MATMUL, x, y));
}

/* beta * self + alpha * (a x b) */
vtac_torch_value vtac_torch_make_add_product(vtac_torch *im, int32_t how)
{
    vtac_import_builder *m = &im->maker;
    const double alpha = vtac_torch_float(im, "alpha", 1.0);
    const double beta = vtac_torch_float(im, "beta", 1.0);
    const char *first = how == 0 ? "mat1" : "batch1";
    const char *second = how == 0 ? "mat2" : "batch2";
    vtac_id c = vtac_torch_in(im, "self");
    const vtac_id a = vtac_torch_in(im, first);
    const vtac_id b = vtac_torch_in(im, second);
    if (how == 0) {
        const vtac_attr attrs[] = {vtac_attr_of_float("alpha", alpha), vtac_attr_of_float("beta", beta)};
        return vtac_torch_tensor_of(im, vtac_make(m, VTAC_OP_GEMM, (vtac_id[]){a, b, c}, 3, attrs, 2));
    }
    vtac_id y = vtac_make2(m, VTAC_OP_MATMUL, a, b);
    y = alpha == 1.0 ? y : vtac_torch_with(im, VTAC_OP_MUL, y, alpha);
    c = beta == 1.0 ? c : vtac_torch_with(im, VTAC_OP_MUL, c, beta);
    return vtac_torch_tensor_of(im, beta == 0.0 ? y : vtac_make2(m, VTAC_OP_ADD, c, y));
}

vtac_torch_value vtac_torch_make_einsum(vtac_torch *im, int32_t how)
{
    const vtac_torch_value *list = vtac_torch_arg(im, "tensors");
    const vtac_attr attr = vtac_attr_of_string("equation", vtac_torch_text(im, "equation", ""));
    vtac_id in[16];
    (void)how;
    (void)vtac_torch_arg(im, "path"); /* the order of the products is ours */
    if (list->kind != TORCH_LIST || list->list->count < 1 || list->list->count > 16) {
        vtac_torch_refuse(im, "an einsum of no operands, or of more than 16");
        return vtac_torch_none;
    }
    for (uint32_t i = 0; i < list->list->count; i++) {
        in[i] = vtac_torch_value_id(im, &list->list->items[i], "tensors");
    }
    return vtac_torch_tensor_of(im, vtac_make(&im->maker, VTAC_OP_EINSUM, in, list->list->count, &attr, 1));
}

/* ---- attention */

/* Scores of later places are nothing. */
static vtac_id without_later(vtac_torch *im, vtac_id s)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type type = vtac_made_type(m, s);
    const int64_t rows = type.rank < 2 ? 0 : type.dim[type.rank - 2];
    const int64_t columns = type.rank < 2 ? 0 : type.dim[type.rank - 1];
    const vtac_type shape = {VTAC_F32, 2, {rows, columns}};
    if (rows > 1 << 13 || columns > 1 << 13) {
        vtac_torch_refuse(im, "a causal mask of %lld by %lld places", (long long)rows, (long long)columns);
        return 0;
    }
    im->steps += (uint64_t)(rows * columns) / 16;
    float *far = vtac_make_room(m, rows * columns, sizeof *far);
    for (int64_t i = 0; far != NULL && i < rows * columns; i++) {
        far[i] = i % columns > i / columns ? -INFINITY : 0.0F;
    }
    return far == NULL ? 0 : vtac_make2(m, VTAC_OP_ADD, s, vtac_make_borrowed(m, &shape, far));
}

static vtac_id with_mask(vtac_torch *im, vtac_id s, vtac_id mask)
{
    vtac_import_builder *m = &im->maker;
    if (mask == 0) {
        return s;
    }
    if (vtac_made_type(m, mask).dtype == VTAC_BOOL) {
        return vtac_make3(m, VTAC_OP_WHERE, mask, s, vtac_make_number(m, VTAC_F32, (double)-INFINITY));
    }
    return vtac_make2(m, VTAC_OP_ADD, s, mask);
}

vtac_torch_value vtac_torch_make_attention(vtac_torch *im, int32_t how)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id q = vtac_torch_in(im, "query");
    const vtac_id k = vtac_torch_in(im, "key");
    const vtac_id v = vtac_torch_in(im, "value");
    const vtac_type type = vtac_made_type(m, q);
    const double width = type.rank == 0 ? 1.0 : (double)type.dim[type.rank - 1];
    const double scale = vtac_torch_float(im, "scale", 1.0 / sqrt(width));
    const vtac_attr last = vtac_attr_of_int("axis", -1);
    (void)how;
    if (vtac_torch_float(im, "dropout_p", 0.0) != 0.0 || vtac_torch_flag(im, "enable_gqa", false)) {
        vtac_torch_refuse(im, "attention with dropout, or with heads that are shared");
    }
    vtac_id s = vtac_torch_with(im, VTAC_OP_MUL, q, scale);
    s = vtac_make2(m, VTAC_OP_MATMUL, s, transpose_last(im, k));
    s = vtac_torch_flag(im, "is_causal", false) ? without_later(im, s) : s;
    s = with_mask(im, s, vtac_torch_in_or_none(im, "attn_mask"));
    s = vtac_make(m, VTAC_OP_SOFTMAX, &s, 1, &last, 1);
    return vtac_torch_tensor_of(im, vtac_make2(m, VTAC_OP_MATMUL, s, v));
}

/* ---- rows by their numbers */

vtac_torch_value vtac_torch_make_embedding(vtac_torch *im, int32_t how)
{
    const vtac_id weight = vtac_torch_in(im, "weight");
    (void)how;
    return vtac_torch_tensor_of(
        im, vtac_make2(&im->maker, VTAC_OP_GATHER, weight, vtac_torch_indices(im, "indices")));
}

/* how: 0: index_select, 1: gather */
vtac_torch_value vtac_torch_make_gather(vtac_torch *im, int32_t how)
{
    const vtac_id x = vtac_torch_in(im, "self");
    const vtac_attr axis =
        vtac_attr_of_int("axis", vtac_torch_axis(im, "dim", 0, vtac_made_type(&im->maker, x).rank));
    const vtac_id in[] = {x, vtac_torch_indices(im, "index")};
    return vtac_torch_tensor_of(
        im, vtac_make(&im->maker, how == 0 ? VTAC_OP_GATHER : VTAC_OP_GATHER_ELEMENTS, in, 2, &axis, 1));
}

/* x[:, i]: one tensor of integers among the indices */
vtac_torch_value vtac_torch_make_index(vtac_torch *im, int32_t how)
{
    const vtac_torch_value *list = vtac_torch_arg(im, "indices");
    const uint32_t count = list->kind == TORCH_LIST ? list->list->count : 0;
    const vtac_id x = vtac_torch_in(im, "self");
    uint32_t axis = count;
    (void)how;
    for (uint32_t i = 0; i < count; i++) {
        if (list->list->items[i].kind != TORCH_NONE && axis != count) {
            vtac_torch_refuse(im, "an index of several tensors");
        }
        axis = list->list->items[i].kind != TORCH_NONE ? i : axis;
    }
    const vtac_id index = axis == count ? 0 : vtac_torch_value_id(im, &list->list->items[axis], "indices");
    const char kind = vtac_dtype_kind(vtac_made_type(&im->maker, index).dtype);
    if (index == 0 || kind != 'i' || axis >= vtac_made_type(&im->maker, x).rank) {
        vtac_torch_refuse(im, "an index that is no tensor of integers");
        return vtac_torch_none;
    }
    const vtac_attr attr = vtac_attr_of_int("axis", axis);
    return vtac_torch_tensor_of(im,
                                vtac_make(&im->maker, VTAC_OP_GATHER, (vtac_id[]){x, index}, 2, &attr, 1));
}

vtac_torch_value vtac_torch_make_scatter(vtac_torch *im, int32_t how)
{
    const vtac_id x = vtac_torch_in(im, "self");
    const vtac_attr axis =
        vtac_attr_of_int("axis", vtac_torch_axis(im, "dim", 0, vtac_made_type(&im->maker, x).rank));
    const vtac_id index = vtac_torch_indices(im, "index");
    const vtac_type type = vtac_made_type(&im->maker, index);
    const vtac_torch_value *number = vtac_torch_arg(im, "src");
    const vtac_dtype dtype = vtac_made_type(&im->maker, x).dtype;
    const vtac_id src = vtac_torch_is_number(number)
                            ? vtac_torch_full(im, type.dim, type.rank, dtype, vtac_torch_number(number))
                            : vtac_torch_in(im, "src");
    const vtac_id in[] = {x, index, src};
    (void)how;
    return vtac_torch_tensor_of(im, vtac_make(&im->maker, VTAC_OP_SCATTER_ELEMENTS, in, 3, &axis, 1));
}

vtac_torch_value vtac_torch_make_one_hot(vtac_torch *im, int32_t how)
{
    vtac_import_builder *m = &im->maker;
    const int64_t depth = vtac_torch_int(im, "num_classes", -1);
    const int64_t values[] = {0, 1};
    (void)how;
    if (depth < 1) {
        vtac_torch_refuse(im, "a number of classes that the run finds");
    }
    return vtac_torch_tensor_of(im, vtac_make3(m, VTAC_OP_ONE_HOT, vtac_torch_indices(im, "self"),
                                               vtac_make_number(m, VTAC_I64, (double)depth),
                                               vtac_make_ints(m, values, 2)));
}
