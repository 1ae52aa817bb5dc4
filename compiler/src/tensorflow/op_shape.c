/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that give elements other places.
 */
#include <string.h>

#include "import.h"

/* ---- shapes */

static void set_ints(vtac_tf *im, uint32_t i, const int64_t *values, uint32_t count, uint32_t rank,
                     const char *type)
{
    const vtac_dtype dtype = vtac_tf_dtype(vtac_tf_int(im->node, type, 3));
    const vtac_id row = vtac_make_cast(&im->maker, vtac_make_ints(&im->maker, values, count), dtype);
    const int64_t dims[] = {count};
    vtac_tf_set(im, i, vtac_make_reshape(&im->maker, row, dims, rank));
}

void vtac_tf_import_shape_of(vtac_tf *im)
{
    for (uint32_t i = 0; i < im->in_count; i++) {
        const vtac_type x = vtac_tf_type(im, i);
        const int64_t count = vtac_type_elements(&x);
        const int64_t rank = x.rank;
        switch (im->how) {
        case TF_SHAPE: set_ints(im, i, x.dim, x.rank, 1, "out_type"); break;
        case TF_SIZE: set_ints(im, i, &count, 1, 0, "out_type"); break;
        default: set_ints(im, i, &rank, 1, 0, ""); break;
        }
    }
}

void vtac_tf_import_reshape(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tf_type(im, 0);
    int64_t dims[VTAC_MAX_RANK];
    const uint32_t rank = vtac_tf_known_ints(im, 1, "shape", dims, VTAC_MAX_RANK);
    const int64_t elements = vtac_type_elements(&x);
    int64_t known = 1;
    uint32_t open = VTAC_MAX_RANK;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] < -1 || (dims[i] == -1 && open < VTAC_MAX_RANK) || dims[i] > elements) {
            vtac_make_fail(m, VTA_INVALID, "axis %u of the shape is %lld", i, (long long)dims[i]);
            return;
        }
        open = dims[i] == -1 ? i : open;
        known *= dims[i] == -1 ? 1 : dims[i];
    }
    if (open < VTAC_MAX_RANK && known > 0) {
        dims[open] = elements / known;
        known *= dims[open];
    }
    if (m->status == VTA_OK && known != elements) {
        vtac_make_fail(m, VTA_INVALID, "%lld elements become %lld", (long long)elements, (long long)known);
        return;
    }
    vtac_tf_set(im, 0, vtac_make_reshape(m, vtac_tf_plain(im, 0), dims, rank));
}

void vtac_tf_import_squeeze(vtac_tf *im)
{
    const vtac_type x = vtac_tf_type(im, 0);
    const vtac_tf_attr *named = vtac_tf_attr_find(im->node, "squeeze_dims");
    const vtac_tf_attr *attr = named != NULL ? named : vtac_tf_attr_find(im->node, "axis");
    bool gone[VTAC_MAX_RANK] = {false};
    int64_t dims[VTAC_MAX_RANK];
    uint32_t used = 0;
    for (uint32_t i = 0; attr != NULL && i < attr->list_count; i++) {
        gone[vtac_tf_axis(im, attr->list[i], x.rank, false)] = true;
    }
    for (uint32_t i = 0; i < x.rank; i++) {
        const bool all = attr == NULL || attr->list_count == 0;
        if (x.dim[i] != 1 && gone[i]) {
            vtac_make_fail(&im->maker, VTA_INVALID, "axis %u has %lld elements, not 1", i,
                           (long long)x.dim[i]);
        }
        dims[used] = x.dim[i];
        used += (all && x.dim[i] == 1) || gone[i] ? 0 : 1;
    }
    vtac_tf_set(im, 0, vtac_make_reshape(&im->maker, vtac_tf_plain(im, 0), dims, used));
}

void vtac_tf_import_expand_dims(vtac_tf *im)
{
    const vtac_type x = vtac_tf_type(im, 0);
    const int64_t given = vtac_tf_known_int(im, 1, "axis");
    const uint32_t axis = vtac_tf_axis(im, given, x.rank + 1, false);
    int64_t dims[VTAC_MAX_RANK + 1];
    if (x.rank == VTAC_MAX_RANK) {
        vtac_make_refuse(&im->maker, "more than %d axes", VTAC_MAX_RANK);
        return;
    }
    memcpy(dims, x.dim, axis * sizeof dims[0]);
    dims[axis] = 1;
    memcpy(dims + axis + 1, x.dim + axis, (x.rank - axis) * sizeof dims[0]);
    vtac_tf_set(im, 0, vtac_make_reshape(&im->maker, vtac_tf_plain(im, 0), dims, x.rank + 1));
}

void vtac_tf_import_transpose(vtac_tf *im)
{
    int64_t order[VTAC_MAX_RANK];
    const uint32_t rank = vtac_tf_known_ints(im, 1, "order", order, VTAC_MAX_RANK);
    static const int64_t to_planes[] = {0, 3, 1, 2};
    if (rank == 4 && memcmp(order, to_planes, sizeof to_planes) == 0 && vtac_tf_in_planes(im, 0)) {
        vtac_tf_set(im, 0, vtac_tf_planes(im, 0));
        return;
    }
    vtac_tf_set(im, 0, vtac_make_transpose(&im->maker, vtac_tf_plain(im, 0), order, rank));
}

/* ---- parts and wholes */

/* Concat has its axis in front, ConcatV2 behind. */
void vtac_tf_import_concat(vtac_tf *im)
{
    const bool front = im->how == TF_FRONT;
    const uint32_t count = im->in_count - 1;
    const int64_t given = vtac_tf_known_int(im, front ? 0 : count, "axis");
    const uint32_t first = front ? 1 : 0;
    const uint32_t rank = vtac_tf_type(im, first).rank;
    bool planes = false;
    vtac_id *parts = vtac_make_room(&im->maker, count, sizeof *parts);
    for (uint32_t i = 0; rank == 4 && i < count; i++) {
        planes = planes || vtac_tf_in_planes(im, first + i);
    }
    for (uint32_t i = 0; parts != NULL && i < count; i++) {
        parts[i] = planes ? vtac_tf_planes(im, first + i) : vtac_tf_plain(im, first + i);
    }
    if (parts != NULL) {
        const uint32_t axis = vtac_tf_axis(im, given, rank, planes);
        vtac_tf_set_either(im, 0, vtac_make_concat(&im->maker, parts, count, axis), planes);
    }
}

static int64_t axis_of(const vtac_tf *im)
{
    return vtac_tf_int(im->node, "axis", 0);
}

void vtac_tf_import_pack(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tf_type(im, 0);
    const uint32_t axis = vtac_tf_axis(im, axis_of(im), x.rank + 1, false);
    vtac_id *parts = vtac_make_room(m, im->in_count, sizeof *parts);
    int64_t dims[VTAC_MAX_RANK + 1];
    if (x.rank == VTAC_MAX_RANK || parts == NULL) {
        vtac_make_refuse(&im->maker, "more than %d axes", VTAC_MAX_RANK);
        return;
    }
    memcpy(dims, x.dim, axis * sizeof dims[0]);
    dims[axis] = 1;
    memcpy(dims + axis + 1, x.dim + axis, (x.rank - axis) * sizeof dims[0]);
    for (uint32_t i = 0; i < im->in_count; i++) {
        parts[i] = vtac_make_reshape(m, vtac_tf_plain(im, i), dims, x.rank + 1);
    }
    vtac_tf_set(im, 0, vtac_make_concat(m, parts, im->in_count, axis));
}

void vtac_tf_import_unpack(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tf_type(im, 0);
    const uint32_t axis = vtac_tf_axis(im, axis_of(im), x.rank, false);
    int64_t dims[VTAC_MAX_RANK];
    if (m->status != VTA_OK) {
        return;
    }
    memcpy(dims, x.dim, axis * sizeof dims[0]);
    memcpy(dims + axis, x.dim + axis + 1, (x.rank - axis - 1) * sizeof dims[0]);
    for (int64_t i = 0; i < x.dim[axis] && m->status == VTA_OK; i++) {
        const vtac_id part = vtac_make_slice(m, vtac_tf_plain(im, 0), axis, i, i + 1);
        vtac_tf_set(im, (uint32_t)i, vtac_make_reshape(m, part, dims, x.rank - 1));
    }
}

static void split_into(vtac_tf *im, uint32_t data, int64_t given, const int64_t *sizes, uint32_t count)
{
    bool planes;
    const vtac_id x = vtac_tf_either(im, data, &planes);
    const uint32_t axis = vtac_tf_axis(im, given, vtac_tf_type(im, data).rank, planes);
    const int64_t whole = vtac_made_type(&im->maker, x).dim[axis];
    int64_t at = 0;
    for (uint32_t i = 0; i < count && im->maker.status == VTA_OK; i++) {
        if (sizes[i] < 0 || sizes[i] > whole - at) {
            vtac_make_fail(&im->maker, VTA_INVALID, "part %u has %lld of %lld elements", i,
                           (long long)sizes[i], (long long)whole);
            return;
        }
        vtac_tf_set_either(im, i, vtac_make_slice(&im->maker, x, axis, at, at + sizes[i]), planes);
        at += sizes[i];
    }
}

enum { MAX_PARTS = 4096 };

void vtac_tf_import_split(vtac_tf *im)
{
    const int64_t given = vtac_tf_known_int(im, 0, "axis");
    const vtac_type x = vtac_tf_type(im, 1);
    const uint32_t axis = vtac_tf_axis(im, given, x.rank, false);
    const int64_t count = vtac_tf_int(im->node, "num_split", 0);
    if (im->maker.status != VTA_OK || count < 1 || count > MAX_PARTS || x.dim[axis] % count != 0) {
        vtac_make_fail(&im->maker, VTA_INVALID, "%lld parts", (long long)count);
        return;
    }
    int64_t sizes[MAX_PARTS];
    for (int64_t i = 0; i < count; i++) {
        sizes[i] = x.dim[axis] / count;
    }
    split_into(im, 1, given, sizes, (uint32_t)count);
}

void vtac_tf_import_split_sizes(vtac_tf *im)
{
    int64_t sizes[MAX_PARTS];
    const int64_t given = vtac_tf_known_int(im, 2, "axis");
    const uint32_t count = vtac_tf_known_ints(im, 1, "sizes", sizes, MAX_PARTS);
    const vtac_type x = vtac_tf_type(im, 0);
    int64_t rest = im->maker.status == VTA_OK ? x.dim[vtac_tf_axis(im, given, x.rank, false)] : 0;
    for (uint32_t i = 0; i < count; i++) {
        rest -= sizes[i] > 0 ? sizes[i] : 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        sizes[i] = sizes[i] == -1 ? rest : sizes[i];
    }
    split_into(im, 0, given, sizes, count);
}

/* ---- slices */

typedef struct slice_plan {
    int64_t begin[VTAC_MAX_RANK], end[VTAC_MAX_RANK], step[VTAC_MAX_RANK]; /* of each axis of x */
    int64_t dims[2 * VTAC_MAX_RANK];                                       /* of the result */
    uint32_t rank;
} slice_plan;

static vtac_id slice_by(vtac_tf *im, vtac_id x, const slice_plan *p)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type type = vtac_made_type(m, x);
    int64_t lists[4][VTAC_MAX_RANK];
    uint32_t used = 0;
    for (uint32_t a = 0; a < type.rank; a++) {
        if (p->begin[a] != 0 || p->end[a] != type.dim[a] || p->step[a] != 1) {
            lists[0][used] = p->begin[a];
            lists[1][used] = p->end[a];
            lists[2][used] = a;
            lists[3][used++] = p->step[a];
        }
    }
    const vtac_id in[] = {x, vtac_make_ints(m, lists[0], used), vtac_make_ints(m, lists[1], used),
                          vtac_make_ints(m, lists[2], used), vtac_make_ints(m, lists[3], used)};
    return used == 0 ? x : vtac_make(m, VTAC_OP_SLICE, in, 5, NULL, 0);
}

void vtac_tf_import_slice(vtac_tf *im)
{
    bool planes;
    const vtac_id value = vtac_tf_either(im, 0, &planes);
    const vtac_type x = vtac_tf_type(im, 0);
    int64_t begin[VTAC_MAX_RANK];
    int64_t size[VTAC_MAX_RANK];
    slice_plan p = {.rank = x.rank};
    if (vtac_tf_known_ints(im, 1, "begin", begin, VTAC_MAX_RANK) != x.rank ||
        vtac_tf_known_ints(im, 2, "size", size, VTAC_MAX_RANK) != x.rank) {
        vtac_make_fail(&im->maker, VTA_INVALID, "begin and size for rank %u", x.rank);
        return;
    }
    for (uint32_t a = 0; a < x.rank; a++) {
        const uint32_t at = vtac_tf_axis(im, a, x.rank, planes);
        const int64_t count = size[a] == -1 ? x.dim[a] - begin[a] : size[a];
        if (begin[a] < 0 || count < 0 || count > x.dim[a] - begin[a]) {
            vtac_make_fail(&im->maker, VTA_INVALID, "axis %u: %lld from %lld of %lld", a, (long long)count,
                           (long long)begin[a], (long long)x.dim[a]);
            return;
        }
        p.begin[at] = begin[a];
        p.end[at] = begin[a] + count;
        p.step[at] = 1;
    }
    vtac_tf_set_either(im, 0, slice_by(im, value, &p), planes);
}

static bool has_bit(const vtac_tf *im, const char *mask, uint32_t bit)
{
    return (vtac_tf_int(im->node, mask, 0) >> bit & 1) != 0;
}

static int64_t clamp_place(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* Axis `a` of x by item i of begin, end and step. */
static void plan_axis(vtac_tf *im, slice_plan *p, const int64_t *const *lists, uint32_t i, uint32_t a,
                      int64_t size)
{
    const int64_t step = lists[2][i];
    const bool single = has_bit(im, "shrink_axis_mask", i);
    int64_t from = lists[0][i] + (lists[0][i] < 0 ? size : 0);
    int64_t to = lists[1][i] + (lists[1][i] < 0 ? size : 0);
    if (step == 0 || (single && (from < 0 || from >= size))) {
        vtac_make_fail(&im->maker, VTA_INVALID, "axis %u: place %lld of %lld, in steps of %lld", a,
                       (long long)from, (long long)size, (long long)step);
        return;
    }
    const int64_t low = step > 0 ? 0 : -1;
    const int64_t high = step > 0 ? size : size - 1;
    from = has_bit(im, "begin_mask", i) && !single ? (step > 0 ? 0 : size - 1) : clamp_place(from, low, high);
    to = has_bit(im, "end_mask", i) ? (step > 0 ? size : -1) : clamp_place(to, low, high);
    to = single ? from + 1 : to;
    p->begin[a] = from;
    p->end[a] = to < 0 ? -size - 1 : to;
    p->step[a] = single ? 1 : step;
    const int64_t span = step > 0 ? to - from : from - to;
    const int64_t stride = step > 0 ? step : -step;
    if (!single) {
        p->dims[p->rank++] = span <= 0 ? 0 : (span + stride - 1) / stride;
    }
}

static uint32_t new_axes(const vtac_tf *im, uint32_t from, uint32_t count)
{
    uint32_t found = 0;
    for (uint32_t i = from; i < count; i++) {
        found += has_bit(im, "new_axis_mask", i) ? 1 : 0;
    }
    return found;
}

static void keep_axis(slice_plan *p, const vtac_type *x, uint32_t a)
{
    p->begin[a] = 0;
    p->end[a] = p->dims[p->rank++] = x->dim[a];
    p->step[a] = 1;
}

static void plan_slice(vtac_tf *im, slice_plan *p, const vtac_type *x, const int64_t *const *lists,
                       uint32_t count)
{
    uint32_t axis = 0;
    for (uint32_t i = 0; i < count && im->maker.status == VTA_OK; i++) {
        if (has_bit(im, "ellipsis_mask", i)) {
            const uint32_t behind = count - i - 1 - new_axes(im, i + 1, count);
            while (axis + behind < x->rank) {
                keep_axis(p, x, axis++);
            }
        } else if (has_bit(im, "new_axis_mask", i)) {
            p->dims[p->rank++] = 1;
        } else if (axis >= x->rank) {
            vtac_make_fail(&im->maker, VTA_INVALID, "a slice of more than %u axes", x->rank);
        } else {
            plan_axis(im, p, lists, i, axis, x->dim[axis]);
            axis++;
        }
    }
    while (axis < x->rank) {
        keep_axis(p, x, axis++);
    }
}

void vtac_tf_import_strided_slice(vtac_tf *im)
{
    int64_t values[3][VTAC_MAX_RANK];
    const int64_t *const lists[] = {values[0], values[1], values[2]};
    const vtac_type x = vtac_tf_type(im, 0);
    slice_plan p = {.rank = 0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t found = vtac_tf_known_ints(im, i + 1, "begin, end or step", values[i], VTAC_MAX_RANK);
        if (i > 0 && found != count) {
            vtac_make_fail(&im->maker, VTA_INVALID, "begin, end and step have different lengths");
        }
        count = found;
    }
    plan_slice(im, &p, &x, lists, count);
    if (p.rank > VTAC_MAX_RANK) {
        vtac_make_refuse(&im->maker, "more than %d axes", VTAC_MAX_RANK);
        return;
    }
    const vtac_id y = slice_by(im, vtac_tf_plain(im, 0), &p);
    vtac_tf_set(im, 0, vtac_make_reshape(&im->maker, y, p.dims, p.rank));
}

void vtac_tf_import_reverse(vtac_tf *im)
{
    const vtac_type x = vtac_tf_type(im, 0);
    int64_t axes[VTAC_MAX_RANK];
    slice_plan p = {.rank = 0};
    const uint32_t count = vtac_tf_known_ints(im, 1, "axes", axes, VTAC_MAX_RANK);
    for (uint32_t a = 0; a < x.rank; a++) {
        keep_axis(&p, &x, a);
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t a = vtac_tf_axis(im, axes[i], x.rank, false);
        p.begin[a] = -1;
        p.end[a] = -x.dim[a] - 1;
        p.step[a] = -1;
    }
    vtac_tf_set(im, 0, slice_by(im, vtac_tf_plain(im, 0), &p));
}

/* ---- copies */

void vtac_tf_import_pad(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    bool planes;
    const vtac_id value = vtac_tf_either(im, 0, &planes);
    const vtac_type x = vtac_tf_type(im, 0);
    int64_t given[2 * VTAC_MAX_RANK];
    int64_t pads[2 * VTAC_MAX_RANK];
    if (vtac_tf_known_ints(im, 1, "paddings", given, 2 * VTAC_MAX_RANK) != 2 * x.rank) {
        vtac_make_fail(m, VTA_INVALID, "paddings for rank %u", x.rank);
        return;
    }
    for (uint32_t a = 0; a < x.rank; a++) {
        const uint32_t at = vtac_tf_axis(im, a, x.rank, planes);
        pads[at] = given[2 * (size_t)a];
        pads[at + x.rank] = given[2 * (size_t)a + 1];
        if (pads[at] < 0 || pads[at + x.rank] < 0) {
            vtac_make_fail(m, VTA_INVALID, "axis %u: a padding below 0", a);
            return;
        }
    }
    const char *mode = vtac_tf_text(im->node, "mode", "CONSTANT");
    const vtac_attr attr = vtac_attr_of_string("mode", im->how == TF_CONSTANT         ? "constant"
                                                       : strcmp(mode, "REFLECT") == 0 ? "reflect"
                                                                                      : "symmetric");
    if (im->how != TF_CONSTANT && strcmp(mode, "REFLECT") != 0) {
        vtac_make_refuse(&im->maker, "the mode '%.40s'; REFLECT is taken", mode);
        return;
    }
    const vtac_id fill = im->in_count > 2 ? vtac_tf_plain(im, 2) : 0;
    const vtac_id in[] = {value, vtac_make_ints(m, pads, 2 * x.rank), fill};
    vtac_tf_set_either(im, 0, vtac_make(m, VTAC_OP_PAD, in, 3, &attr, 1), planes);
}

void vtac_tf_import_tile(vtac_tf *im)
{
    int64_t times[VTAC_MAX_RANK];
    const uint32_t count = vtac_tf_known_ints(im, 1, "multiples", times, VTAC_MAX_RANK);
    vtac_tf_set(
        im, 0,
        vtac_make2(&im->maker, VTAC_OP_TILE, vtac_tf_plain(im, 0), vtac_make_ints(&im->maker, times, count)));
}

/* Fill: the shape, then the number. BroadcastTo: x, then the shape. */
void vtac_tf_import_fill(vtac_tf *im)
{
    int64_t dims[VTAC_MAX_RANK];
    const uint32_t at = im->how == TF_FRONT ? 0 : 1;
    const uint32_t rank = vtac_tf_known_ints(im, at, "shape", dims, VTAC_MAX_RANK);
    const vtac_id shape = vtac_make_ints(&im->maker, dims, rank);
    vtac_tf_set(im, 0, vtac_make2(&im->maker, VTAC_OP_EXPAND, vtac_tf_plain(im, 1 - at), shape));
}

void vtac_tf_import_like(vtac_tf *im)
{
    const vtac_type x = vtac_tf_type(im, 0);
    const vtac_id one = vtac_make_number(&im->maker, x.dtype, im->how);
    vtac_tf_set(im, 0,
                vtac_make2(&im->maker, VTAC_OP_EXPAND, one, vtac_make_ints(&im->maker, x.dim, x.rank)));
}

void vtac_tf_import_range(vtac_tf *im)
{
    vtac_tf_set(im, 0,
                vtac_make3(&im->maker, VTAC_OP_RANGE, vtac_tf_plain(im, 0), vtac_tf_plain(im, 1),
                           vtac_tf_plain(im, 2)));
}

/* Gather counts from the front axis; GatherV2 says which. */
void vtac_tf_import_gather(vtac_tf *im)
{
    const vtac_type x = vtac_tf_type(im, 0);
    const int64_t given = im->in_count > 2 ? vtac_tf_known_int(im, 2, "axis") : 0;
    const vtac_attr attr = vtac_attr_of_int("axis", vtac_tf_axis(im, given, x.rank, false));
    if (vtac_tf_int(im->node, "batch_dims", 0) != 0) {
        vtac_make_refuse(&im->maker, "batch_dims %lld", (long long)vtac_tf_int(im->node, "batch_dims", 0));
        return;
    }
    const vtac_id in[] = {vtac_tf_plain(im, 0), vtac_tf_plain(im, 1)};
    vtac_tf_set(im, 0, vtac_make(&im->maker, VTAC_OP_GATHER, in, 2, &attr, 1));
}

void vtac_tf_import_gather_nd(vtac_tf *im)
{
    const vtac_id places = vtac_make_cast(&im->maker, vtac_tf_plain(im, 1), VTAC_I64);
    vtac_tf_set(im, 0, vtac_make2(&im->maker, VTAC_OP_GATHER_ND, vtac_tf_plain(im, 0), places));
}

/* Places, depth, the number there, the number elsewhere. */
void vtac_tf_import_one_hot(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const int64_t depth = vtac_tf_known_int(im, 1, "depth");
    const vtac_id places = vtac_make_cast(m, vtac_tf_plain(im, 0), VTAC_I64);
    const uint32_t rank = vtac_made_type(m, places).rank;
    const int64_t given = vtac_tf_int(im->node, "axis", -1);
    const uint32_t axis = vtac_tf_axis(im, given, rank + 1, false);
    int64_t *count = vtac_make_room(m, depth < 0 || depth > 1 << 24 ? -1 : depth, sizeof *count);
    int64_t dims[VTAC_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    int64_t spread[VTAC_MAX_RANK + 1];
    if (count == NULL || rank >= VTAC_MAX_RANK) {
        vtac_make_refuse(&im->maker, "a depth of %lld for rank %u", (long long)depth, rank);
        return;
    }
    for (int64_t i = 0; i < depth; i++) {
        count[i] = i;
    }
    const vtac_type type = vtac_made_type(m, places);
    memcpy(spread, type.dim, axis * sizeof spread[0]);
    spread[axis] = 1;
    memcpy(spread + axis + 1, type.dim + axis, (rank - axis) * sizeof spread[0]);
    dims[axis] = depth;
    const vtac_id numbers = vtac_make_borrowed(m, &(vtac_type){VTAC_I64, 1, {depth}}, count);
    const vtac_id there = vtac_make2(m, VTAC_OP_EQUAL, vtac_make_reshape(m, places, spread, rank + 1),
                                     vtac_make_reshape(m, numbers, dims, rank + 1));
    vtac_tf_set(im, 0, vtac_make3(m, VTAC_OP_WHERE, there, vtac_tf_plain(im, 2), vtac_tf_plain(im, 3)));
}

void vtac_tf_import_space_depth(vtac_tf *im)
{
    const vtac_attr attrs[] = {vtac_attr_of_int("blocksize", vtac_tf_int(im->node, "block_size", 0))};
    const vtac_id x = vtac_tf_window_input(im, 0);
    vtac_tf_set_window(im, vtac_make(&im->maker, (vtac_op)im->how, &x, 1, attrs, 1));
}

void vtac_tf_import_top_k(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const int64_t k = vtac_tf_known_int(im, 1, "k");
    const vtac_id in[] = {vtac_tf_plain(im, 0), vtac_make_ints(m, &k, 1)};
    vtac_id out[2];
    vtac_make_many(m, VTAC_OP_TOP_K, in, 2, NULL, 0, out, 2);
    vtac_tf_set(im, 0, out[0]);
    vtac_tf_set(im, 1, vtac_make_cast(m, out[1], VTAC_I32));
}

/* ---- blocks of the batch, as atrous convolutions write them: x, block shape, pads or crops */

typedef struct block_plan {
    int64_t block[VTAC_MAX_RANK], edges[2 * VTAC_MAX_RANK];
    uint32_t axes;
} block_plan;

static bool read_blocks(vtac_tf *im, uint32_t rank, block_plan *p)
{
    p->axes = vtac_tf_known_ints(im, 1, "block shape", p->block, VTAC_MAX_RANK);
    const uint32_t edges = vtac_tf_known_ints(im, 2, "pads or crops", p->edges, 2 * VTAC_MAX_RANK);
    bool good = im->maker.status == VTA_OK && p->axes < rank && edges == 2 * p->axes &&
                rank + p->axes <= VTAC_MAX_RANK;
    for (uint32_t a = 0; good && a < p->axes; a++) {
        good = p->block[a] > 0 && p->edges[2 * a] >= 0 && p->edges[2 * a + 1] >= 0;
    }
    if (!good) {
        vtac_make_fail(&im->maker, VTA_INVALID, "blocks of %u axes for rank %u", p->axes, rank);
    }
    return good;
}

void vtac_tf_import_space_to_batch(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type type = vtac_tf_type(im, 0);
    block_plan p;
    int64_t pads[2 * VTAC_MAX_RANK] = {0};
    int64_t dims[2 * VTAC_MAX_RANK];
    int64_t order[2 * VTAC_MAX_RANK];
    if (!read_blocks(im, type.rank, &p)) {
        return;
    }
    for (uint32_t a = 0; a < p.axes; a++) {
        pads[a + 1] = p.edges[2 * a];
        pads[a + 1 + type.rank] = p.edges[2 * a + 1];
    }
    const vtac_id in[] = {vtac_tf_plain(im, 0), vtac_make_ints(m, pads, 2 * type.rank)};
    const vtac_id x = vtac_make(m, VTAC_OP_PAD, in, 2, NULL, 0);
    const vtac_type padded = vtac_made_type(m, x);
    int64_t final[VTAC_MAX_RANK] = {padded.dim[0]};
    uint32_t used = 0;
    dims[used++] = padded.dim[0];
    for (uint32_t a = 1; a < type.rank; a++) {
        final[a] = a <= p.axes ? padded.dim[a] / p.block[a - 1] : padded.dim[a];
        final[0] *= a <= p.axes ? p.block[a - 1] : 1;
        dims[used++] = final[a];
        if (a <= p.axes) {
            order[a - 1] = used;
            dims[used++] = p.block[a - 1];
        }
    }
    order[p.axes] = 0;
    for (uint32_t a = 1; a < type.rank; a++) {
        order[p.axes + a] = a <= p.axes ? 2 * (int64_t)a - 1 : (int64_t)p.axes + a;
    }
    const vtac_id y = vtac_make_transpose(m, vtac_make_reshape(m, x, dims, used), order, used);
    vtac_tf_set(im, 0, vtac_make_reshape(m, y, final, type.rank));
}

void vtac_tf_import_batch_to_space(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type type = vtac_tf_type(im, 0);
    block_plan p;
    int64_t dims[2 * VTAC_MAX_RANK];
    int64_t order[2 * VTAC_MAX_RANK];
    if (!read_blocks(im, type.rank, &p)) {
        return;
    }
    int64_t batch = type.dim[0];
    uint32_t used = 1;
    for (uint32_t a = 0; a < p.axes; a++) {
        dims[a] = p.block[a];
        batch /= p.block[a];
    }
    dims[p.axes] = batch;
    memcpy(dims + p.axes + 1, type.dim + 1, (type.rank - 1) * sizeof dims[0]);
    order[0] = p.axes;
    for (uint32_t a = 1; a < type.rank; a++) {
        order[used++] = p.axes + a;
        if (a <= p.axes) {
            order[used++] = a - 1;
        }
    }
    vtac_id y = vtac_make_transpose(m, vtac_make_reshape(m, vtac_tf_plain(im, 0), dims, used), order, used);
    slice_plan cut = {.rank = 0};
    int64_t whole[VTAC_MAX_RANK] = {batch};
    for (uint32_t a = 0; a < type.rank; a++) {
        const bool blocked = a >= 1 && a <= p.axes;
        whole[a] = a == 0 ? batch : type.dim[a] * (blocked ? p.block[a - 1] : 1);
        cut.begin[a] = blocked ? p.edges[2 * (a - 1)] : 0;
        cut.end[a] = whole[a] - (blocked ? p.edges[2 * (a - 1) + 1] : 0);
        cut.step[a] = 1;
    }
    y = vtac_make_reshape(m, y, whole, type.rank);
    vtac_tf_set(im, 0, slice_by(im, y, &cut));
}

/* places, shape, values (one or a row), what the rest holds */
void vtac_tf_import_sparse_to_dense(vtac_tf *im)
{
    const vtac_type at = vtac_tf_type(im, 0);
    const vtac_type values = vtac_tf_type(im, 2);
    int64_t shape[VTAC_MAX_RANK];
    const uint32_t rank = vtac_tf_known_ints(im, 1, "shape", shape, VTAC_MAX_RANK);
    if (im->maker.status == VTA_OK &&
        (!vtac_are_places(&at, rank, &values) || vtac_tf_type(im, 3).rank != 0)) {
        vtac_make_fail(&im->maker, VTA_INVALID, "places of rank %u in %u axes, values of rank %u", at.rank,
                       rank, values.rank);
    }
    if (im->maker.status == VTA_OK) {
        vtac_tf_set(im, 0,
                    vtac_make_placed(&im->maker, vtac_tf_plain(im, 0), shape, rank, vtac_tf_plain(im, 2),
                                     vtac_tf_plain(im, 3)));
    }
}
