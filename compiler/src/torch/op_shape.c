/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that move elements, or make tensors and sizes.
 */
#include <math.h>
#include <string.h>

#include "torch.h"

/* The first argument, and its type. */
static vtac_id self_of(vtac_torch *im, vtac_type *type)
{
    const vtac_id x = vtac_torch_in(im, "self");
    *type = vtac_made_type(&im->maker, x);
    return x;
}

/* ---- the same elements under another shape */

/* The tensor itself, where nothing changes. */
vtac_torch_value vtac_torch_make_itself(vtac_torch *im, int32_t how)
{
    const vtac_torch_value *v = vtac_torch_arg(im, "self");
    (void)how;
    if (v->kind == TORCH_TENSOR) {
        (void)vtac_torch_id(im, v->tensor);
    }
    return *v;
}

/* A tensor of its own. */
vtac_torch_value vtac_torch_make_copy(vtac_torch *im, int32_t how)
{
    (void)how;
    return vtac_torch_tensor_of(im, vtac_torch_in(im, "self"));
}

vtac_torch_value vtac_torch_make_dropout(vtac_torch *im, int32_t how)
{
    (void)how;
    const double p = vtac_torch_float(im, "p", 0.5);
    if (vtac_torch_flag(im, "train", false) && p != 0.0) {
        vtac_torch_refuse(im, "dropout in training (call .eval() before the model is saved)");
    }
    return vtac_torch_make_copy(im, 0);
}

vtac_torch_value vtac_torch_make_reshape(vtac_torch *im, int32_t how)
{
    vtac_type type;
    const vtac_id x = self_of(im, &type);
    int64_t dims[VTAC_MAX_RANK] = {0};
    const char *name = vtac_torch_has(im, "size") ? "size" : "shape";
    if (vtac_torch_arg(im, name)->kind == TORCH_INT) {
        vtac_torch_refuse(im, "the same bytes as another type");
    }
    const uint32_t rank = vtac_torch_ints(im, name, dims, VTAC_MAX_RANK);
    int64_t known = 1;
    uint32_t open = rank;
    (void)how;
    for (uint32_t i = 0; i < rank; i++) {
        open = dims[i] == -1 ? i : open;
        if (dims[i] != -1 && (dims[i] < 0 || (dims[i] > 0 && known > INT64_MAX / dims[i]))) {
            vtac_make_fail(&im->maker, VTA_INVALID, "a size of %lld", (long long)dims[i]);
            return vtac_torch_none;
        }
        known *= dims[i] == -1 ? 1 : dims[i];
    }
    if (open < rank) {
        dims[open] = known == 0 ? 0 : vtac_type_elements(&type) / known;
    }
    return vtac_torch_tensor_of(im, vtac_make_reshape(&im->maker, x, dims, rank));
}

vtac_torch_value vtac_torch_make_reshape_as(vtac_torch *im, int32_t how)
{
    const vtac_torch_tensor *other = vtac_torch_arg_tensor(im, "other");
    const vtac_id like = other == NULL ? 0 : vtac_torch_id(im, vtac_torch_arg_tensor(im, "other"));
    const vtac_type type = vtac_made_type(&im->maker, like);
    (void)how;
    return vtac_torch_tensor_of(
        im, vtac_make_reshape(&im->maker, vtac_torch_in(im, "self"), type.dim, type.rank));
}

vtac_torch_value vtac_torch_make_flatten(vtac_torch *im, int32_t how)
{
    vtac_type type;
    const vtac_id x = self_of(im, &type);
    const uint32_t first = vtac_torch_axis(im, "start_dim", 0, type.rank);
    const uint32_t last = vtac_torch_axis(im, "end_dim", -1, type.rank);
    int64_t dims[VTAC_MAX_RANK] = {1};
    uint32_t rank = type.rank == 0 ? 1 : 0;
    (void)how;
    for (uint32_t a = 0; a < type.rank; a++) {
        if (a > first && a <= last) {
            dims[rank - 1] *= type.dim[a];
        } else {
            dims[rank++] = type.dim[a];
        }
    }
    return vtac_torch_tensor_of(im, vtac_make_reshape(&im->maker, x, dims, rank));
}

vtac_torch_value vtac_torch_make_unflatten(vtac_torch *im, int32_t how)
{
    vtac_type type;
    const vtac_id x = self_of(im, &type);
    const uint32_t axis = vtac_torch_axis(im, "dim", 0, type.rank);
    int64_t dims[2 * VTAC_MAX_RANK] = {0};
    int64_t known = 1;
    (void)how;
    memcpy(dims, type.dim, axis * sizeof *dims);
    const uint32_t count = vtac_torch_ints(im, "sizes", dims + axis, VTAC_MAX_RANK);
    for (uint32_t i = 0; i < count; i++) {
        known *= dims[axis + i] > 0 && dims[axis + i] < 1 << 30 && known < 1 << 30 ? dims[axis + i] : 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        dims[axis + i] = dims[axis + i] == -1 ? type.dim[axis] / known : dims[axis + i];
    }
    for (uint32_t a = axis + 1; a < type.rank; a++) {
        dims[count + a - 1] = type.dim[a];
    }
    if (im->maker.status != VTA_OK || type.rank == 0 || count == 0 || type.rank + count - 1 > VTAC_MAX_RANK) {
        vtac_torch_refuse(im, "a result of more than %d axes", VTAC_MAX_RANK);
        return vtac_torch_none;
    }
    return vtac_torch_tensor_of(im, vtac_make_reshape(&im->maker, x, dims, type.rank + count - 1));
}

vtac_torch_value vtac_torch_make_squeeze(vtac_torch *im, int32_t how)
{
    vtac_type type;
    const vtac_id x = self_of(im, &type);
    int64_t axes[VTAC_MAX_RANK];
    int64_t dims[VTAC_MAX_RANK];
    const bool all = !vtac_torch_has(im, "dim");
    const uint32_t count = vtac_torch_ints(im, "dim", axes, VTAC_MAX_RANK);
    uint32_t rank = 0;
    (void)how;
    for (uint32_t i = 0; i < count; i++) {
        axes[i] = vtac_torch_wrap(im, axes[i], type.rank);
    }
    for (uint32_t a = 0; a < type.rank; a++) {
        bool named = all;
        for (uint32_t i = 0; i < count; i++) {
            named = named || axes[i] == a;
        }
        if (!named || type.dim[a] != 1) {
            dims[rank++] = type.dim[a];
        }
    }
    return vtac_torch_tensor_of(im, vtac_make_reshape(&im->maker, x, dims, rank));
}

static vtac_id unsqueezed(vtac_torch *im, vtac_id x, uint32_t axis)
{
    const vtac_type type = vtac_made_type(&im->maker, x);
    int64_t dims[VTAC_MAX_RANK];
    if (type.rank == VTAC_MAX_RANK) {
        vtac_torch_refuse(im, "a result of more than %d axes", VTAC_MAX_RANK);
        return 0;
    }
    for (uint32_t a = 0; a <= type.rank; a++) {
        dims[a] = a < axis ? type.dim[a] : a == axis ? 1 : type.dim[a - 1];
    }
    return vtac_make_reshape(&im->maker, x, dims, type.rank + 1);
}

vtac_torch_value vtac_torch_make_unsqueeze(vtac_torch *im, int32_t how)
{
    vtac_type type;
    const vtac_id x = self_of(im, &type);
    (void)how;
    return vtac_torch_tensor_of(im, unsqueezed(im, x, vtac_torch_axis(im, "dim", 0, type.rank + 1)));
}

vtac_torch_value vtac_torch_make_permute(vtac_torch *im, int32_t how)
{
    vtac_type type;
    const vtac_id x = self_of(im, &type);
    int64_t order[VTAC_MAX_RANK];
    const uint32_t count = vtac_torch_ints(im, "dims", order, VTAC_MAX_RANK);
    uint32_t seen = 0;
    (void)how;
    for (uint32_t i = 0; i < count; i++) {
        order[i] = vtac_torch_wrap(im, order[i], type.rank);
        seen |= 1U << order[i];
    }
    if (seen != (1U << type.rank) - 1) {
        vtac_make_fail(&im->maker, VTA_INVALID, "%u axes in an order that does not name each once",
                       type.rank);
    }
    return vtac_torch_tensor_of(im, vtac_make_transpose(&im->maker, x, order, count));
}

vtac_torch_value vtac_torch_make_transpose(vtac_torch *im, int32_t how)
{
    vtac_type type;
    const vtac_id x = self_of(im, &type);
    int64_t order[VTAC_MAX_RANK];
    const uint32_t a = vtac_torch_axis(im, "dim0", how, type.rank);
    const uint32_t b = vtac_torch_axis(im, "dim1", how + 1, type.rank);
    for (uint32_t i = 0; i < type.rank; i++) {
        order[i] = i == a ? b : i == b ? a : i;
    }
    return vtac_torch_tensor_of(im, type.rank < 2 ? x : vtac_make_transpose(&im->maker, x, order, type.rank));
}

/* ---- copies of elements */

static vtac_id expanded(vtac_torch *im, vtac_id x, const int64_t *dims, uint32_t rank)
{
    const vtac_type type = vtac_made_type(&im->maker, x);
    int64_t to[VTAC_MAX_RANK];
    bool same = rank == type.rank;
    for (uint32_t a = 0; a < rank && rank >= type.rank; a++) {
        const bool new_axis = a + type.rank < rank;
        to[a] = dims[a] == -1 && !new_axis ? type.dim[a + type.rank - rank] : dims[a];
        same = same && to[a] == type.dim[a];
    }
    if (rank < type.rank) {
        vtac_make_fail(&im->maker, VTA_INVALID, "%u sizes for a tensor of rank %u", rank, type.rank);
        return 0;
    }
    return same ? x : vtac_make2(&im->maker, VTAC_OP_EXPAND, x, vtac_make_ints(&im->maker, to, rank));
}

vtac_torch_value vtac_torch_make_expand(vtac_torch *im, int32_t how)
{
    int64_t dims[VTAC_MAX_RANK];
    const uint32_t rank = vtac_torch_ints(im, "size", dims, VTAC_MAX_RANK);
    (void)how;
    return vtac_torch_tensor_of(im, expanded(im, vtac_torch_in(im, "self"), dims, rank));
}

vtac_torch_value vtac_torch_make_expand_as(vtac_torch *im, int32_t how)
{
    const vtac_type type = vtac_made_type(&im->maker, vtac_torch_in(im, "other"));
    (void)how;
    return vtac_torch_tensor_of(im, expanded(im, vtac_torch_in(im, "self"), type.dim, type.rank));
}

vtac_torch_value vtac_torch_make_repeat(vtac_torch *im, int32_t how)
{
    vtac_type type;
    vtac_id x = self_of(im, &type);
    int64_t times[VTAC_MAX_RANK] = {0};
    int64_t dims[VTAC_MAX_RANK];
    const uint32_t rank = vtac_torch_ints(im, "repeats", times, VTAC_MAX_RANK);
    (void)how;
    if (im->maker.status != VTA_OK || rank < type.rank) {
        vtac_torch_refuse(im, "%u numbers of copies for rank %u", rank, type.rank);
        return vtac_torch_none;
    }
    for (uint32_t a = 0; a < rank; a++) {
        dims[a] = a + type.rank < rank ? 1 : type.dim[a + type.rank - rank];
    }
    x = vtac_make_reshape(&im->maker, x, dims, rank);
    return vtac_torch_tensor_of(
        im, vtac_make2(&im->maker, VTAC_OP_TILE, x, vtac_make_ints(&im->maker, times, rank)));
}

/* ---- several tensors */

/* Tensors of a list as values of one type. how: 1: with an axis more */
static uint32_t parts_of(vtac_torch *im, vtac_id *parts, uint32_t max, int32_t how)
{
    const vtac_torch_value *list = vtac_torch_arg(im, "tensors");
    const bool is_list = list->kind == TORCH_LIST || list->kind == TORCH_TUPLE;
    uint32_t count = 0;
    vtac_torch_value first = vtac_torch_none;
    for (uint32_t i = 0; is_list && i < list->list->count && im->maker.status == VTA_OK; i++) {
        const vtac_id id = vtac_torch_value_id(im, &list->list->items[i], "tensors");
        const vtac_type type = vtac_made_type(&im->maker, id);
        const bool nothing = type.rank == 1 && type.dim[0] == 0 && how == 0; /* old lists begin with it */
        if (id != 0 && !nothing && count < max) {
            parts[count++] = id;
        } else if (id != 0 && !nothing) {
            vtac_torch_refuse(im, "more than %u tensors in a row", max);
        }
    }
    (void)first;
    if (count == 0) {
        vtac_torch_refuse(im, "an empty list of tensors");
    }
    return im->maker.status == VTA_OK ? count : 0;
}

/* Quantized tensors in a list have the first one's scale. */
static bool shares_scale(vtac_torch *im, vtac_torch_tensor **first)
{
    const vtac_torch_value *list = vtac_torch_arg(im, "tensors");
    const bool is_list = list->kind == TORCH_LIST || list->kind == TORCH_TUPLE;
    *first = NULL;
    for (uint32_t i = 0; is_list && i < list->list->count; i++) {
        const vtac_torch_value *v = &list->list->items[i];
        vtac_torch_tensor *t = v->kind == TORCH_TENSOR ? v->tensor : NULL;
        *first = i == 0 ? t : *first;
        if (t == NULL || *first == NULL || t->quantized != (*first)->quantized ||
            t->scale != (*first)->scale || t->zero != (*first)->zero || t->scales != 0) {
            return false;
        }
    }
    return *first != NULL;
}

/* how: 1: on a new axis */
vtac_torch_value vtac_torch_make_join(vtac_torch *im, int32_t how)
{
    enum { MAX_PARTS = 4096 };
    vtac_torch_tensor *first;
    const bool shared = shares_scale(im, &first);
    vtac_id *parts = vtac_make_room(&im->maker, MAX_PARTS, sizeof *parts);
    const uint32_t count = parts == NULL ? 0 : parts_of(im, parts, MAX_PARTS, how);
    if (count == 0) {
        return vtac_torch_none;
    }
    if (first != NULL && first->quantized && !shared) {
        vtac_torch_refuse(im, "quantized tensors of different scales in a row");
    }
    const uint32_t rank = vtac_made_type(&im->maker, parts[0]).rank + (how == 1 ? 1 : 0);
    const uint32_t axis = vtac_torch_axis(im, "dim", 0, rank);
    vtac_dtype dtype = vtac_made_type(&im->maker, parts[0]).dtype;
    for (uint32_t i = 0; i < count; i++) { /* floats among integers make all floats */
        const vtac_dtype own = vtac_made_type(&im->maker, parts[i]).dtype;
        const bool wider = vtac_dtype_bytes(own) > vtac_dtype_bytes(dtype);
        const bool both = vtac_dtype_kind(own) == vtac_dtype_kind(dtype);
        dtype = (both && wider) || (!both && vtac_dtype_kind(own) == 'f') ? own : dtype;
    }
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = vtac_make_cast(&im->maker, parts[i], dtype);
        parts[i] = how == 1 ? unsqueezed(im, parts[i], axis) : parts[i];
    }
    const vtac_id y = vtac_make_concat(&im->maker, parts, count, axis);
    return first != NULL && first->quantized ? vtac_torch_quantized_of(im, y, first->scale, first->zero)
                                             : vtac_torch_tensor_of(im, y);
}

vtac_id vtac_torch_slice(vtac_torch *im, vtac_id x, uint32_t axis, int64_t begin, int64_t end, int64_t step)
{
    if (step == 1) {
        return vtac_make_slice(&im->maker, x, axis, begin, end);
    }
    const int64_t where = axis;
    const vtac_id in[] = {x, vtac_make_ints(&im->maker, &begin, 1), vtac_make_ints(&im->maker, &end, 1),
                          vtac_make_ints(&im->maker, &where, 1), vtac_make_ints(&im->maker, &step, 1)};
    return vtac_make(&im->maker, VTAC_OP_SLICE, in, 5, NULL, 0);
}

vtac_torch_value vtac_torch_make_slice(vtac_torch *im, int32_t how)
{
    vtac_type type;
    const vtac_id x = self_of(im, &type);
    const uint32_t axis = vtac_torch_axis(im, "dim", 0, type.rank);
    const int64_t size = type.rank == 0 ? 0 : type.dim[axis];
    const int64_t begin = vtac_torch_clamp(vtac_torch_int(im, "start", 0), size);
    int64_t end = vtac_torch_clamp(vtac_torch_int(im, "end", INT64_MAX), size);
    const int64_t step = vtac_torch_int(im, "step", 1);
    (void)how;
    end = end < begin ? begin : end;
    if (im->maker.status != VTA_OK || type.rank == 0 || step < 1) {
        vtac_torch_refuse(im, "a slice of rank %u with a step of %lld", type.rank, (long long)step);
        return vtac_torch_none;
    }
    return vtac_torch_tensor_of(im, vtac_torch_slice(im, x, axis, begin, end, step));
}

vtac_torch_value vtac_torch_make_narrow(vtac_torch *im, int32_t how)
{
    vtac_type type;
    const vtac_id x = self_of(im, &type);
    const uint32_t axis = vtac_torch_axis(im, "dim", 0, type.rank);
    const int64_t size = type.rank == 0 ? 0 : type.dim[axis];
    const int64_t begin = vtac_torch_clamp(vtac_torch_int(im, "start", 0), size);
    const int64_t length = vtac_torch_int(im, "length", 0);
    (void)how;
    if (im->maker.status != VTA_OK || type.rank == 0 || length < 0 || length > size - begin) {
        vtac_make_fail(&im->maker, VTA_INVALID, "%lld places from %lld on of %lld", (long long)length,
                       (long long)begin, (long long)size);
        return vtac_torch_none;
    }
    return vtac_torch_tensor_of(im, vtac_torch_slice(im, x, axis, begin, begin + length, 1));
}

static vtac_id selected(vtac_torch *im, vtac_id x, uint32_t axis, int64_t at)
{
    const vtac_type type = vtac_made_type(&im->maker, x);
    int64_t dims[VTAC_MAX_RANK] = {0};
    for (uint32_t a = 0; a + 1 < type.rank; a++) {
        dims[a] = type.dim[a < axis ? a : a + 1];
    }
    x = vtac_make_slice(&im->maker, x, axis, at, at + 1);
    return vtac_make_reshape(&im->maker, x, dims, type.rank - 1);
}

vtac_torch_value vtac_torch_make_select(vtac_torch *im, int32_t how)
{
    vtac_type type;
    const vtac_id x = self_of(im, &type);
    const uint32_t axis = vtac_torch_axis(im, "dim", 0, type.rank);
    const int64_t size = type.rank == 0 ? 0 : type.dim[axis];
    int64_t at = vtac_torch_int(im, "index", 0);
    (void)how;
    at = at < 0 ? at + size : at;
    if (im->maker.status != VTA_OK || at < 0 || at >= size) {
        vtac_make_fail(&im->maker, VTA_INVALID, "place %lld of %lld", (long long)at, (long long)size);
        return vtac_torch_none;
    }
    return vtac_torch_tensor_of(im, selected(im, x, axis, at));
}

/* how: 0 split (a size, or sizes), 1 chunk, 2 unbind, 3 split_with_sizes */
vtac_torch_value vtac_torch_make_split(vtac_torch *im, int32_t how)
{
    enum { MAX_PARTS = 1024 };
    vtac_type type;
    const vtac_id x = self_of(im, &type);
    const uint32_t axis = vtac_torch_axis(im, "dim", 0, type.rank);
    const int64_t size = type.rank == 0 ? 0 : type.dim[axis];
    int64_t *sizes = vtac_make_room(&im->maker, MAX_PARTS, sizeof *sizes);
    const char *name = how == 0 && vtac_torch_has(im, "split_size") ? "split_size"
                       : how == 1                                   ? "chunks"
                                                                    : "split_sizes";
    uint32_t count = sizes == NULL || how == 2 ? 0 : vtac_torch_ints(im, name, sizes, MAX_PARTS);
    const bool equal = how == 1 || how == 2 || (how == 0 && vtac_torch_arg(im, name)->kind == TORCH_INT);
    const int64_t n = count == 1 ? sizes[0] : 1;
    if (im->maker.status != VTA_OK || (equal && n < 1)) {
        vtac_make_fail(&im->maker, VTA_INVALID, "parts of %lld", (long long)n);
        return vtac_torch_none;
    }
    const int64_t each = how == 1 ? (size + n - 1) / n : n;
    const int64_t parts = equal ? (each == 0 ? 0 : (size + each - 1) / each) : count;
    const vtac_torch_value out = vtac_torch_list_value(im, TORCH_LIST, NULL, 0);
    for (int64_t i = 0, at = 0; i < parts && im->maker.status == VTA_OK; i++) {
        const int64_t rest = size - at;
        const int64_t length = !equal ? sizes[i] : rest < each ? rest : each;
        if (length < 0 || length > rest || parts > MAX_PARTS) {
            vtac_make_fail(&im->maker, VTA_INVALID, "parts that do not make an axis of %lld",
                           (long long)size);
            break;
        }
        const vtac_id part =
            how == 2 ? selected(im, x, axis, at) : vtac_make_slice(&im->maker, x, axis, at, at + length);
        vtac_torch_append(im, out.list, vtac_torch_tensor_of(im, part));
        at += length;
    }
    return out;
}

vtac_torch_value vtac_torch_make_flip(vtac_torch *im, int32_t how)
{
    vtac_type type;
    vtac_id x = self_of(im, &type);
    int64_t axes[VTAC_MAX_RANK];
    const uint32_t count = vtac_torch_ints(im, "dims", axes, VTAC_MAX_RANK);
    (void)how;
    for (uint32_t i = 0; i < count; i++) {
        x = vtac_torch_slice(im, x, vtac_torch_wrap(im, axes[i], type.rank), -1, INT64_MIN + 1, -1);
    }
    return vtac_torch_tensor_of(im, x);
}

vtac_torch_value vtac_torch_make_roll(vtac_torch *im, int32_t how)
{
    vtac_type type;
    vtac_id x = self_of(im, &type);
    int64_t by[VTAC_MAX_RANK] = {0};
    int64_t axes[VTAC_MAX_RANK] = {0};
    const uint32_t count = vtac_torch_ints(im, "shifts", by, VTAC_MAX_RANK);
    (void)how;
    if (vtac_torch_ints(im, "dims", axes, VTAC_MAX_RANK) != count) {
        vtac_torch_refuse(im, "places moved on without as many axes");
    }
    for (uint32_t i = 0; i < count && im->maker.status == VTA_OK; i++) {
        const uint32_t axis = vtac_torch_wrap(im, axes[i], type.rank);
        const int64_t size = type.rank == 0 ? 0 : type.dim[axis];
        const int64_t cut = size > 0 ? ((-(by[i] % size)) % size + size) % size : 0;
        const vtac_id parts[] = {vtac_make_slice(&im->maker, x, axis, cut, size),
                                 vtac_make_slice(&im->maker, x, axis, 0, cut)};
        x = cut == 0 ? x : vtac_make_concat(&im->maker, parts, 2, axis);
    }
    return vtac_torch_tensor_of(im, x);
}

/* Borders: pairs from the last axis on. how: 0 as "mode" says, 1 of a value, 2 mirrored, 3 repeated */
vtac_torch_value vtac_torch_make_pad(vtac_torch *im, int32_t how)
{
    static const char *const modes[] = {"", "constant", "reflect", "edge"};
    vtac_type type;
    vtac_id x = self_of(im, &type);
    int64_t given[2 * VTAC_MAX_RANK];
    int64_t pads[2 * VTAC_MAX_RANK] = {0};
    const uint32_t count = vtac_torch_ints(im, "pad", given, 2 * VTAC_MAX_RANK);
    const char *mode = how == 0 ? vtac_torch_text(im, "mode", "constant") : modes[how];
    mode = strcmp(mode, "replicate") == 0 ? "edge" : strcmp(mode, "circular") == 0 ? "wrap" : mode;
    const double value = vtac_torch_float(im, "value", 0.0);
    if (im->maker.status != VTA_OK || count % 2 != 0 || count / 2 > type.rank) {
        vtac_torch_refuse(im, "%u borders for rank %u", count, type.rank);
        return vtac_torch_none;
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        const uint32_t axis = type.rank - 1 - i;
        pads[axis] = given[2 * i] > 0 ? given[2 * i] : 0;
        pads[axis + type.rank] = given[2 * i + 1] > 0 ? given[2 * i + 1] : 0;
        const int64_t before = given[2 * i] < 0 ? -given[2 * i] : 0;
        const int64_t after = given[2 * i + 1] < 0 ? -given[2 * i + 1] : 0;
        if (before + after > type.dim[axis]) {
            vtac_make_fail(&im->maker, VTA_INVALID, "a border cuts off more than there is");
            return vtac_torch_none;
        }
        x = vtac_make_slice(&im->maker, x, axis, before, type.dim[axis] - after);
    }
    const vtac_attr attr = vtac_attr_of_string("mode", mode);
    const bool constant = strcmp(mode, "constant") == 0;
    const vtac_id filler =
        vtac_make_cast(&im->maker, vtac_make_number(&im->maker, VTAC_F32, value), type.dtype);
    const vtac_id in[] = {x, vtac_make_ints(&im->maker, pads, 2 * type.rank), constant ? filler : 0};
    return vtac_torch_tensor_of(im, vtac_make(&im->maker, VTAC_OP_PAD, in, 3, &attr, 1));
}

/* how: 0: channels become places, 1: places become channels */
vtac_torch_value vtac_torch_make_shuffle(vtac_torch *im, int32_t how)
{
    vtac_import_builder *m = &im->maker;
    vtac_type type;
    const vtac_id x = self_of(im, &type);
    const int64_t r = vtac_torch_int(im, how == 0 ? "upscale_factor" : "downscale_factor", 1);
    if (im->maker.status != VTA_OK || type.rank != 4 || r < 1 || r > 1024 ||
        (how == 1 && (type.dim[2] % r != 0 || type.dim[3] % r != 0))) {
        vtac_torch_refuse(im, "pixels in blocks of %lld of rank %u", (long long)r, type.rank);
        return vtac_torch_none;
    }
    if (how == 0) {
        const vtac_attr attrs[] = {vtac_attr_of_int("blocksize", r), vtac_attr_of_string("mode", "CRD")};
        return vtac_torch_tensor_of(im, vtac_make(m, VTAC_OP_DEPTH_TO_SPACE, &x, 1, attrs, 2));
    }
    const int64_t h = type.dim[2] / r;
    const int64_t w = type.dim[3] / r;
    vtac_id y = vtac_make_reshape(m, x, (int64_t[]){type.dim[0], type.dim[1], h, r, w, r}, 6);
    y = vtac_make_transpose(m, y, (int64_t[]){0, 1, 3, 5, 2, 4}, 6);
    return vtac_torch_tensor_of(
        im, vtac_make_reshape(m, y, (int64_t[]){type.dim[0], type.dim[1] * r * r, h, w}, 4));
}

vtac_torch_value vtac_torch_make_channel_shuffle(vtac_torch *im, int32_t how)
{
    vtac_type type;
    vtac_id x = self_of(im, &type);
    const int64_t groups = vtac_torch_int(im, "groups", 1);
    (void)how;
    if (im->maker.status != VTA_OK || type.rank != 4 || groups < 1 || type.dim[1] % groups != 0) {
        vtac_torch_refuse(im, "channels in %lld groups of rank %u", (long long)groups, type.rank);
        return vtac_torch_none;
    }
    const int64_t apart[] = {type.dim[0], groups, type.dim[1] / groups, type.dim[2], type.dim[3]};
    x = vtac_make_reshape(&im->maker, x, apart, 5);
    x = vtac_make_transpose(&im->maker, x, (int64_t[]){0, 2, 1, 3, 4}, 5);
    return vtac_torch_tensor_of(im, vtac_make_reshape(&im->maker, x, type.dim, 4));
}

vtac_torch_value vtac_torch_make_triangle(vtac_torch *im, int32_t how)
{
    const vtac_attr upper = vtac_attr_of_int("upper", how);
    const vtac_id in[] = {vtac_torch_in(im, "self"),
                          vtac_make_number(&im->maker, VTAC_I64, (double)vtac_torch_int(im, "diagonal", 0))};
    return vtac_torch_tensor_of(im, vtac_make(&im->maker, VTAC_OP_TRILU, in, 2, &upper, 1));
}

/* ---- new tensors */

/* how: the value; -1: an argument has it */
vtac_torch_value vtac_torch_make_full(vtac_torch *im, int32_t how)
{
    int64_t dims[VTAC_MAX_RANK] = {0};
    const vtac_torch_value *value = vtac_torch_arg(im, "fill_value");
    const uint32_t rank = vtac_torch_ints(im, "size", dims, VTAC_MAX_RANK);
    const bool is_new = vtac_torch_arg(im, "self")->kind == TORCH_TENSOR;
    const vtac_dtype own = is_new ? vtac_made_type(&im->maker, vtac_torch_in(im, "self")).dtype
                           : how == -1 && value->kind == TORCH_INT  ? VTAC_I64
                           : how == -1 && value->kind == TORCH_BOOL ? VTAC_BOOL
                                                                    : VTAC_F32;
    const vtac_dtype dtype = vtac_torch_dtype_arg(im, "dtype", own);
    return vtac_torch_tensor_of(
        im,
        vtac_torch_full(im, dims, rank, dtype, how == -1 ? vtac_torch_float(im, "fill_value", 0.0) : how));
}

vtac_torch_value vtac_torch_make_full_like(vtac_torch *im, int32_t how)
{
    vtac_type type;
    (void)self_of(im, &type);
    const vtac_dtype dtype = vtac_torch_dtype_arg(im, "dtype", type.dtype);
    return vtac_torch_tensor_of(im,
                                vtac_torch_full(im, type.dim, type.rank, dtype,
                                                how == -1 ? vtac_torch_float(im, "fill_value", 0.0) : how));
}

/* (end), (start, end) or (start, end, step) */
vtac_torch_value vtac_torch_make_range(vtac_torch *im, int32_t how)
{
    const bool named = vtac_torch_has(im, "end");
    const bool two = vtac_torch_has(im, "b");
    const char *from = named ? "start" : two ? "a" : "none";
    const char *to = named ? "end" : two ? "b" : "a";
    const char *by = named ? "step" : "c";
    const bool whole = vtac_torch_arg(im, from)->kind != TORCH_FLOAT &&
                       vtac_torch_arg(im, to)->kind != TORCH_FLOAT &&
                       vtac_torch_arg(im, by)->kind != TORCH_FLOAT;
    if (named && vtac_torch_has(im, "a")) {
        from = "a"; /* (start, end=…) */
    }
    const double start = vtac_torch_float(im, from, 0.0);
    const double step = vtac_torch_float(im, by, 1.0);
    const double count = ceil((vtac_torch_float(im, to, 0.0) - start) / step);
    const vtac_dtype dtype = vtac_torch_dtype_arg(im, "dtype", whole ? VTAC_I64 : VTAC_F32);
    (void)how;
    if (im->maker.status != VTA_OK || !(count >= 0.0 && count < 1 << 20)) {
        vtac_torch_refuse(im, "a range of %g numbers", count);
        return vtac_torch_none;
    }
    const vtac_type type = {VTAC_F64, 1, {(int64_t)count}};
    double *room = vtac_make_room(&im->maker, (int64_t)count + 1, sizeof *room);
    im->steps += (uint64_t)count / 16;
    for (int64_t i = 0; room != NULL && i < (int64_t)count; i++) {
        room[i] = start + (double)i * step;
    }
    return room == NULL
               ? vtac_torch_none
               : vtac_torch_tensor_of(
                     im, vtac_make_cast(&im->maker, vtac_make_borrowed(&im->maker, &type, room), dtype));
}

/* Numbers at equal distances; from the middle on they are counted from the end. */
vtac_torch_value vtac_torch_make_linspace(vtac_torch *im, int32_t how)
{
    const double start = vtac_torch_float(im, "start", 0.0);
    const double end = vtac_torch_float(im, "end", 0.0);
    const int64_t count = vtac_torch_int(im, "steps", 100);
    const vtac_dtype dtype = vtac_torch_dtype_arg(im, "dtype", VTAC_F32);
    (void)how;
    if (im->maker.status != VTA_OK || count < 1 || count > 1 << 20) {
        vtac_torch_refuse(im, "a range of %lld numbers", (long long)count);
        return vtac_torch_none;
    }
    const vtac_type type = {VTAC_F64, 1, {count}};
    const double step = count == 1 ? 0.0 : (end - start) / (double)(count - 1);
    double *room = vtac_make_room(&im->maker, count, sizeof *room);
    im->steps += (uint64_t)count / 16;
    for (int64_t i = 0; room != NULL && i < count; i++) {
        room[i] = i < (count + 1) / 2 ? start + (double)i * step : end - (double)(count - 1 - i) * step;
    }
    return room == NULL
               ? vtac_torch_none
               : vtac_torch_tensor_of(
                     im, vtac_make_cast(&im->maker, vtac_make_borrowed(&im->maker, &type, room), dtype));
}

/* A number as a tensor. */
vtac_torch_value vtac_torch_make_scalar(vtac_torch *im, int32_t how)
{
    const vtac_torch_value *v = vtac_torch_arg(im, "self");
    (void)how;
    if (v->kind == TORCH_LIST) { /* of integers: the only form that is met */
        int64_t items[4096];
        const uint32_t count = vtac_torch_ints(im, "self", items, 4096);
        const vtac_id list = vtac_make_ints(&im->maker, items, count);
        return vtac_torch_tensor_of(
            im, vtac_make_cast(&im->maker, list, vtac_torch_dtype_arg(im, "dtype", VTAC_I64)));
    }
    const vtac_id id = vtac_torch_in(im, "self");
    const vtac_dtype dtype = vtac_torch_dtype_arg(im, "dtype", vtac_made_type(&im->maker, id).dtype);
    return vtac_torch_tensor_of(im, vtac_make_cast(&im->maker, id, dtype));
}

/* ---- types and sizes */

/* (self, dtype, …), (self, device, dtype, …), (self, other, …) or by name */
vtac_torch_value vtac_torch_make_to(vtac_torch *im, int32_t how)
{
    const vtac_id x = vtac_torch_in(im, "self");
    const vtac_torch_value *first = vtac_torch_arg(im, "a");
    const char *name = first->kind == TORCH_TEXT || first->kind == TORCH_NONE ? "b" : "a";
    vtac_dtype dtype = vtac_made_type(&im->maker, x).dtype;
    (void)how;
    (void)vtac_torch_arg(im, "b");
    if (first->kind == TORCH_TENSOR) {
        dtype = vtac_made_type(&im->maker, vtac_torch_in(im, "a")).dtype;
    } else if (vtac_torch_arg(im, name)->kind == TORCH_INT) {
        dtype = vtac_torch_dtype_arg(im, name, dtype);
    } else {
        dtype = vtac_torch_dtype_arg(im, "dtype", dtype);
    }
    const vtac_id y = vtac_make_cast(&im->maker, x, dtype);
    return y == x ? *vtac_torch_arg(im, "self") : vtac_torch_tensor_of(im, y);
}

/* how: the type's code; -1: another tensor has it */
vtac_torch_value vtac_torch_make_cast(vtac_torch *im, int32_t how)
{
    const vtac_id x = vtac_torch_in(im, "self");
    const vtac_dtype dtype =
        how == -1 ? vtac_made_type(&im->maker, vtac_torch_in(im, "other")).dtype : vtac_torch_dtype(how);
    return vtac_torch_tensor_of(im, vtac_make_cast(&im->maker, x, dtype));
}

/* The type of a tensor, quantized or not, without its contents' being used. */
static vtac_type type_of_self(vtac_torch *im)
{
    vtac_torch_tensor *t = vtac_torch_arg_tensor(im, "self");
    return vtac_made_type(&im->maker, t == NULL ? 0 : vtac_torch_id(im, t));
}

vtac_torch_value vtac_torch_make_size(vtac_torch *im, int32_t how)
{
    const vtac_type type = type_of_self(im);
    (void)how;
    if (vtac_torch_has(im, "dim")) {
        const uint32_t axis = vtac_torch_axis(im, "dim", 0, type.rank);
        return vtac_torch_integer(type.rank == 0 ? 1 : type.dim[axis]);
    }
    const vtac_torch_value out = vtac_torch_list_value(im, TORCH_LIST, NULL, 0);
    for (uint32_t a = 0; a < type.rank; a++) {
        vtac_torch_append(im, out.list, vtac_torch_integer(type.dim[a]));
    }
    return out;
}

/* how: 0 rank, 1 elements, 2 type, 3 whether it is of floats, 4 the length, 5 whether it is quantized */
vtac_torch_value vtac_torch_make_measure(vtac_torch *im, int32_t how)
{
    enum { BEHIND_BYTES = 13 }; /* quint8 is 13, uint8 0 */
    const vtac_type type = type_of_self(im);
    const vtac_torch_value *self = vtac_torch_arg(im, "self");
    const bool quantized = self->kind == TORCH_TENSOR && self->tensor->quantized;
    switch (how) {
    case 0: return vtac_torch_integer(type.rank);
    case 1: return vtac_torch_integer(vtac_type_elements(&type));
    case 2: return vtac_torch_integer(vtac_torch_dtype_code(type.dtype) + (quantized ? BEHIND_BYTES : 0));
    case 3: return vtac_torch_bool(vtac_dtype_kind(type.dtype) == 'f');
    case 5: return vtac_torch_bool(quantized);
    default: return vtac_torch_integer(type.rank == 0 ? 1 : type.dim[0]);
    }
}

/* The one number of a tensor, which must be known. */
vtac_torch_value vtac_torch_make_item(vtac_torch *im, int32_t how)
{
    vtac_torch_value out = vtac_torch_none;
    (void)how;
    if (!vtac_torch_item(im, *vtac_torch_arg(im, "self"), &out)) {
        vtac_torch_refuse(im, "a number that the run finds where the program needs one now");
    }
    return out;
}

/* Operators that change nothing: assertions, and where a tensor lies. */
vtac_torch_value vtac_torch_make_nothing(vtac_torch *im, int32_t how)
{
    (void)im;
    return how == 1 ? vtac_torch_string("cpu") : vtac_torch_none;
}
