/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that put numbers to places: sparse lists, segments, diagonals; places in a row of limits; angles.
 */
#include <float.h>
#include <string.h>

#include "operators.h"

/* places (one, a row of them, or a row for each value), shape, values (one or a row), what the rest holds */
void vtac_tflite_import_sparse_to_dense(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type at = vtac_tflite_type(im, 0);
    const vtac_type values = vtac_tflite_type(im, 2);
    int64_t shape[VTAC_MAX_RANK];
    const uint32_t rank = vtac_tflite_known_ints(im, 1, "shape", shape, VTAC_MAX_RANK);
    if (m->status != VTA_OK) {
        return;
    }
    if (!vtac_are_places(&at, rank, &values) || vtac_tflite_type(im, 3).rank != 0) {
        vtac_make_fail(m, VTA_INVALID, "places of rank %u in %u axes, values of rank %u", at.rank, rank,
                       values.rank);
        return;
    }
    vtac_tflite_set(im, 0,
                    vtac_make_placed(m, vtac_tflite_plain(im, 0), shape, rank, vtac_tflite_plain(im, 2),
                                     vtac_tflite_plain(im, 3)));
}

/* x, for each row the number of its sum, from 0 on and never falling */
void vtac_tflite_import_segment_sum(vtac_tflite *im)
{
    enum { MAX = 1 << 16 };
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tflite_type(im, 0);
    int64_t *rows = vtac_make_room(m, MAX, sizeof *rows);
    const uint32_t count = rows == NULL ? 0 : vtac_tflite_known_ints(im, 1, "numbers of segments", rows, MAX);
    for (uint32_t i = 0; m->status == VTA_OK && i < count; i++) {
        if (rows[i] < (i == 0 ? 0 : rows[i - 1]) || rows[i] > INT32_MAX - 1) {
            vtac_make_fail(m, VTA_INVALID, "segment %lld for row %u", (long long)rows[i], i);
        }
    }
    if (m->status != VTA_OK || x.rank < 1 || x.dim[0] != count) {
        vtac_make_fail(m, VTA_INVALID, "%u numbers of segments for rank %u", count, x.rank);
        return;
    }
    vtac_type type = x;
    type.dim[0] = count == 0 ? 0 : rows[count - 1] + 1;
    const int64_t elements = vtac_type_elements(&type);
    if (elements < 0) {
        vtac_make_fail(m, VTA_RANGE, "%lld segments are too many", (long long)type.dim[0]);
        return;
    }
    const void *zeros = vtac_make_room(m, elements, vtac_dtype_bytes(type.dtype));
    const vtac_attr add = vtac_attr_of_string("reduction", "add");
    const vtac_id in[] = {zeros == NULL ? 0 : vtac_make_borrowed(m, &type, zeros),
                          vtac_make_reshape(m, vtac_make_ints(m, rows, count), (int64_t[]){count, 1}, 2),
                          vtac_tflite_plain(im, 0)};
    vtac_tflite_set(im, 0, vtac_make(m, VTAC_OP_SCATTER_ND, in, 3, &add, 1));
}

/* Mask of a matrix's diagonal. */
static vtac_id diagonal_mask(vtac_tflite *im, int64_t rows, int64_t columns)
{
    const vtac_type type = {VTAC_BOOL, 2, {rows, columns}};
    const int64_t count = vtac_type_elements(&type);
    if (count < 0) {
        vtac_make_fail(&im->maker, VTA_RANGE, "%lld x %lld are too many", (long long)rows,
                       (long long)columns);
        return 0;
    }
    uint8_t *mask = vtac_make_room(&im->maker, count, 1);
    for (int64_t i = 0; mask != NULL && i < rows && i < columns; i++) {
        mask[i * columns + i] = 1;
    }
    return mask == NULL ? 0 : vtac_make_borrowed(&im->maker, &type, mask);
}

/* MATRIX_DIAG: diagonals. MATRIX_SET_DIAG: matrices, diagonals. */
void vtac_tflite_import_diagonal(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const bool set = im->how != 0;
    const vtac_type line = vtac_tflite_type(im, set ? 1 : 0);
    vtac_type type = set ? vtac_tflite_type(im, 0) : line;
    if (m->status == VTA_OK && !set && line.rank > 0 && line.rank < VTAC_MAX_RANK) {
        type.dim[type.rank++] = line.dim[line.rank - 1];
    }
    bool fits = type.rank >= 2 && line.rank + 1 == type.rank;
    const int64_t rows = fits ? type.dim[type.rank - 2] : 0;
    const int64_t columns = fits ? type.dim[type.rank - 1] : 0;
    fits = fits && line.dim[line.rank - 1] == (rows < columns ? rows : columns);
    for (uint32_t i = 0; fits && i + 2 < type.rank; i++) {
        fits = line.dim[i] == type.dim[i];
    }
    if (m->status != VTA_OK || !fits) {
        vtac_make_fail(m, VTA_INVALID, "diagonals of rank %u for rank %u", line.rank, type.rank);
        return;
    }
    int64_t dims[VTAC_MAX_RANK]; /* the diagonal along the shorter side */
    memcpy(dims, type.dim, sizeof dims);
    dims[type.rank - (rows <= columns ? 1 : 2)] = 1;
    const vtac_id along = vtac_make_reshape(m, vtac_tflite_plain(im, set ? 1 : 0), dims, type.rank);
    const vtac_id rest = set ? vtac_tflite_plain(im, 0) : vtac_make_number(m, type.dtype, 0.0);
    vtac_tflite_set(im, 0, vtac_make3(m, VTAC_OP_WHERE, diagonal_mask(im, rows, columns), along, rest));
}

/* x; options: limits, rising. How many of them are at most x. */
void vtac_tflite_import_bucketize(vtac_tflite *im)
{
    enum { MAX = 1 << 16 };
    vtac_import_builder *m = &im->maker;
    const vtac_flat_vector list = vtac_flat_list(&im->model.flat, im->op->options, 0, 4);
    const vtac_type x = vtac_tflite_type(im, 0);
    if (m->status != VTA_OK || list.count > MAX || x.rank >= VTAC_MAX_RANK) {
        vtac_make_refuse(&im->maker, "%u limits for rank %u", list.count, x.rank);
        return;
    }
    const uint32_t count = list.count;
    float *limits = vtac_make_room(m, (int64_t)count + 1, sizeof *limits);
    for (uint32_t i = 0; limits != NULL && i < count; i++) {
        const uint32_t bits = (uint32_t)vtac_flat_int_at(&im->model.flat, list, i, 4);
        memcpy(&limits[i], &bits, sizeof bits);
    }
    if (limits == NULL) {
        return;
    }
    const vtac_dtype as = x.dtype == VTAC_F64 ? VTAC_F64 : VTAC_F32;
    int64_t dims[VTAC_MAX_RANK];
    memcpy(dims, x.dim, sizeof dims);
    dims[x.rank] = 1;
    const vtac_id value =
        vtac_make_cast(m, vtac_make_reshape(m, vtac_tflite_plain(im, 0), dims, x.rank + 1), as);
    const vtac_id reached = vtac_make2(m, VTAC_OP_GREATER_OR_EQUAL, value,
                                       vtac_make_cast(m, vtac_make_floats(m, limits, count), as));
    const int64_t last = x.rank;
    vtac_tflite_set(
        im, 0,
        vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, vtac_make_cast(m, reached, VTAC_I32), &last, 1, false));
}

/* y, x: the angle of the point, from that of its distances to the axes */
void vtac_tflite_import_atan2(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_dtype d = vtac_tflite_out(im, 0)->type.dtype;
    if (d != VTAC_F32 && d != VTAC_F64) {
        vtac_make_refuse(&im->maker, "numbers of %s", vtac_dtype_name(d));
        return;
    }
    vtac_tflite_set(im, 0, vtac_make_angle(m, vtac_tflite_plain(im, 0), vtac_tflite_plain(im, 1)));
}

/* ---- segments in any order: x, numbers of segments, how many there are */

/* Fills a segment without rows with its operator's neutral element. */
static void segment_start(vtac_op op, vtac_dtype d, void *room, int64_t count)
{
    const bool f = d == VTAC_F32;
    int64_t low = 0;
    int64_t high = 0;
    if (!f) {
        vtac_tflite_range(d, &low, &high);
    }
    const double limit =
        op == VTAC_OP_MAX ? (f ? -(double)FLT_MAX : (double)low) : (f ? (double)FLT_MAX : (double)high);
    const double value = op == VTAC_OP_ADD ? 0.0 : op == VTAC_OP_MUL ? 1.0 : limit;
    for (int64_t i = 0; i < count; i++) {
        if (f) {
            ((float *)room)[i] = (float)value;
        } else {
            ((int32_t *)room)[i] = (int32_t)value;
        }
    }
}

void vtac_tflite_import_unsorted_segment(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_op op = (vtac_op)im->how;
    int64_t segments = 0;
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_type at = vtac_tflite_type(im, 1);
    bool fits = vtac_tflite_known_ints(im, 2, "count of segments", &segments, 1) == 1 && segments >= 0 &&
                at.rank <= x.rank && (x.dtype == VTAC_F32 || x.dtype == VTAC_I32);
    for (uint32_t i = 0; fits && i < at.rank; i++) {
        fits = at.dim[i] == x.dim[i];
    }
    vtac_type type = {x.dtype, x.rank - at.rank + 1, {segments}};
    for (uint32_t i = at.rank; fits && i < x.rank; i++) {
        type.dim[i - at.rank + 1] = x.dim[i];
    }
    enum { MAX = 1 << 26 };
    const int64_t count = fits ? vtac_type_elements(&type) : -1;
    if (count < 0 || count > MAX) {
        vtac_make_fail(m, VTA_INVALID,
                       "numbers of segments of rank %u for %s of rank %u, %lld segments; up to 2^26 results",
                       at.rank, vtac_dtype_name(x.dtype), x.rank, (long long)segments);
        return;
    }
    void *room = vtac_make_room(m, count, vtac_dtype_bytes(x.dtype));
    if (room == NULL) {
        return;
    }
    segment_start(op, x.dtype, room, count);
    int64_t places[VTAC_MAX_RANK + 1];
    for (uint32_t i = 0; i < at.rank; i++) {
        places[i] = at.dim[i];
    }
    places[at.rank] = 1;
    const vtac_id rows =
        vtac_make_reshape(m, vtac_make_cast(m, vtac_tflite_plain(im, 1), VTAC_I64), places, at.rank + 1);
    const char *how = op == VTAC_OP_ADD   ? "add"
                      : op == VTAC_OP_MUL ? "mul"
                      : op == VTAC_OP_MAX ? "max"
                                          : "min";
    const vtac_attr attr = vtac_attr_of_string("reduction", how);
    const vtac_id in[] = {vtac_make_borrowed(m, &type, room), rows, vtac_tflite_plain(im, 0)};
    vtac_tflite_set(im, 0, vtac_make(m, VTAC_OP_SCATTER_ND, in, 3, &attr, 1));
}

/* HASHTABLE_LOOKUP: what is looked for [n], keys [k], a value for each; and whether it was found. */
void vtac_tflite_import_hash_lookup(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type wanted = vtac_tflite_type(im, 0);
    const vtac_type keys = vtac_tflite_type(im, 1);
    const vtac_type values = vtac_tflite_type(im, 2);
    if (wanted.rank != 1 || keys.rank != 1 || values.rank < 1 || keys.dim[0] != values.dim[0] ||
        keys.dim[0] < 1 || wanted.dtype != VTAC_I32 || keys.dtype != VTAC_I32) {
        vtac_make_fail(m, VTA_INVALID, "keys of rank %u and values of rank %u; expected i32 keys, one each",
                       keys.rank, values.rank);
        return;
    }
    const int64_t n = wanted.dim[0];
    const vtac_id equal = vtac_make_cast(
        m,
        vtac_make2(m, VTAC_OP_EQUAL, vtac_make_reshape(m, vtac_tflite_plain(im, 0), (int64_t[]){n, 1}, 2),
                   vtac_tflite_plain(im, 1)),
        VTAC_I32);
    const int64_t last = 1;
    const vtac_id found = vtac_make_reduce(m, VTAC_OP_REDUCE_MAX, equal, &last, 1, false);
    const vtac_attr attrs[] = {vtac_attr_of_int("axis", 1), vtac_attr_of_int("keepdims", 0)};
    const vtac_id at = vtac_make(m, VTAC_OP_ARG_MAX, &equal, 1, attrs, 2);
    const vtac_attr axis = vtac_attr_of_int("axis", 0);
    const vtac_id rows = vtac_make(m, VTAC_OP_GATHER, (vtac_id[]){vtac_tflite_plain(im, 2), at}, 2, &axis, 1);
    int64_t dims[VTAC_MAX_RANK] = {n, 1, 1, 1, 1, 1, 1, 1};
    const vtac_id hit = vtac_make_cast(m, vtac_make_reshape(m, found, dims, values.rank), VTAC_BOOL);
    vtac_tflite_set(im, 0, vtac_make3(m, VTAC_OP_WHERE, hit, rows, vtac_make_number(m, values.dtype, 0.0)));
    if (im->op->output_count > 1) {
        vtac_tflite_set(im, 1, vtac_make_cast(m, found, vtac_tflite_out(im, 1)->type.dtype));
    }
}

/* ---- lists as long as their contents say: what is not known now goes on in rest.c */

/* WHERE: the places of what is not 0, [count][rank]. */
void vtac_tflite_import_where(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tensor *x = vtac_made_constant(m, vtac_tflite_plain(im, 0));
    if (x == NULL) {
        vtac_tflite_rest_where(im);
        return;
    }
    const int64_t all = vtac_type_elements(&x->type);
    const int64_t rank = (int64_t)x->type.rank;
    int64_t *places = vtac_make_room(m, all * rank + 1, sizeof *places);
    int64_t count = 0;
    for (int64_t i = 0; places != NULL && i < all; i++) {
        const bool there = vtac_dtype_kind(x->type.dtype) == 'f' ? vtac_tensor_float(x, i) != 0.0
                                                                 : vtac_tensor_int(x, i) != 0;
        int64_t rest = i;
        for (int64_t a = rank - 1; there && a >= 0; a--) {
            places[count * rank + a] = rest % x->type.dim[a];
            rest /= x->type.dim[a];
        }
        count += there;
    }
    if (places != NULL) {
        vtac_tflite_set(im, 0, vtac_make_borrowed(m, &(vtac_type){VTAC_I64, 2, {count, rank}}, places));
    }
}

/* UNIQUE: what there is, in the order of its first places; which of them each element is. */
void vtac_tflite_import_unique(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tensor *x = vtac_made_constant(m, vtac_tflite_plain(im, 0));
    if (x == NULL) {
        vtac_tflite_rest_unique(im);
        return;
    }
    if (x->type.rank != 1) {
        vtac_make_fail(m, VTA_INVALID, "a list has rank 1");
        return;
    }
    enum { MAX = 1 << 14 };
    const int64_t all = x->type.dim[0];
    if (all > MAX) {
        vtac_make_refuse(&im->maker, "%lld elements; up to %d are taken", (long long)all, MAX);
    }
    int64_t *first = vtac_make_room(m, all + 1, sizeof *first);
    int64_t *which = vtac_make_room(m, all + 1, sizeof *which);
    int64_t count = 0;
    const bool f = vtac_dtype_kind(x->type.dtype) == 'f';
    for (int64_t i = 0; first != NULL && which != NULL && i < all; i++) {
        int64_t k = 0;
        while (k < count && (f ? vtac_tensor_float(x, first[k]) != vtac_tensor_float(x, i)
                               : vtac_tensor_int(x, first[k]) != vtac_tensor_int(x, i))) {
            k++;
        }
        if (k == count) {
            first[count++] = i;
        }
        which[i] = k;
    }
    if (m->status != VTA_OK) {
        return;
    }
    const vtac_attr axis = vtac_attr_of_int("axis", 0);
    const vtac_id at = vtac_make_borrowed(m, &(vtac_type){VTAC_I64, 1, {count}}, first);
    vtac_tflite_set(im, 0,
                    vtac_make(m, VTAC_OP_GATHER, (vtac_id[]){vtac_tflite_plain(im, 0), at}, 2, &axis, 1));
    const vtac_id places = vtac_make_borrowed(m, &(vtac_type){VTAC_I64, 1, {all}}, which);
    vtac_tflite_set(im, 1, vtac_make_cast(m, places, vtac_tflite_out(im, 1)->type.dtype));
}
