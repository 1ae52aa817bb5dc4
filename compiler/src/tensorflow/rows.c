/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows that the run counts, as those that NonMaxSuppression and Where find, and the sizes that are computed
 * from them.
 *
 * A tensor with such rows has room for as many as there can be; what lies behind those that are there is
 * undefined, and `rows` of its value says how many there are: a sum of numbers that the run finds, each with
 * a factor. Operators that treat each row alone are imported as always. Those that count, join, pad or cut
 * rows are here, and give tensors of a known size again where the sum comes to a known number: that is how
 * detectors end. All others are refused.
 *
 * Numbers that are computed from sizes keep their sums in `sizes`, beside what the run computes.
 */
#include <string.h>

#include "import.h"
#include "rows.h"

static void set_rows(vtac_tf *im, uint32_t i, const vtac_tf_size *rows)
{
    vtac_tf_size *kept =
        rows == NULL || rows->terms == 0 ? NULL : vtac_make_room(&im->maker, 1, sizeof *kept);
    if (kept != NULL) {
        *kept = *rows;
    }
    vtac_tf_out(im, i)->rows = kept;
}

/* The numbers 0, 1, ... of `count` rows. */
static vtac_id row_numbers(vtac_tf *im, vtac_dtype dtype, int64_t count)
{
    vtac_import_builder *m = &im->maker;
    return vtac_make3(m, VTAC_OP_RANGE, vtac_make_number(m, dtype, 0.0),
                      vtac_make_number(m, dtype, (double)count), vtac_make_number(m, dtype, 1.0));
}

/* True where a row is there: [rows, 1, ...] of `rank` axes. */
static vtac_id rows_there(vtac_tf *im, const vtac_tf_size *rows, int64_t room, uint32_t rank)
{
    vtac_import_builder *m = &im->maker;
    int64_t dims[VTAC_MAX_RANK] = {room, 1, 1, 1, 1, 1, 1, 1};
    const vtac_id numbers = row_numbers(im, VTAC_I64, room);
    return vtac_make_reshape(m, vtac_make2(m, VTAC_OP_LESS, numbers, vtac_tf_size_value(im, rows)), dims,
                             rank);
}

/* x, whose rows that are not there hold a number. */
static vtac_id masked(vtac_tf *im, vtac_id x, const vtac_tf_size *rows, double rest)
{
    const vtac_type type = vtac_made_type(&im->maker, x);
    const vtac_id there = rows_there(im, rows, type.dim[0], type.rank);
    return vtac_make3(&im->maker, VTAC_OP_WHERE, there, x, vtac_make_number(&im->maker, type.dtype, rest));
}

/* ---- finding rows */

/* The numbers of the rows in which a condition holds, one after another. */
void vtac_tf_import_where(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tf_type(im, 0);
    if (x.dtype != VTAC_BOOL || x.rank != 1 || x.dim[0] < 1 || x.dim[0] > MAX_ROWS) {
        vtac_tf_refuse_rows(im);
        return;
    }
    const int64_t room = x.dim[0];
    vtac_id holds = vtac_tf_plain(im, 0);
    if (vtac_tf_rows_of(im, 0) != NULL) {
        holds = vtac_make2(m, VTAC_OP_AND, holds, rows_there(im, vtac_tf_rows_of(im, 0), room, 1));
    }
    const vtac_id down = vtac_make3(m, VTAC_OP_RANGE, vtac_make_number(m, VTAC_F32, (double)room),
                                    vtac_make_number(m, VTAC_F32, 0.0), vtac_make_number(m, VTAC_F32, -1.0));
    const vtac_id keys = vtac_make3(m, VTAC_OP_WHERE, holds, down, vtac_make_number(m, VTAC_F32, 0.0));
    const vtac_id in[] = {keys, vtac_make_ints(m, &room, 1)};
    const int64_t axis = 0;
    vtac_id found[2] = {0, 0};
    vtac_make_many(m, VTAC_OP_TOP_K, in, 2, NULL, 0, found, 2);
    const vtac_id truths = vtac_make_cast(m, holds, VTAC_I64);
    const vtac_tf_size rows =
        vtac_tf_new_count(im, vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, truths, &axis, 1, false), room);
    vtac_tf_set(im, 0, vtac_make_reshape(m, found[1], (int64_t[]){room, 1}, 2));
    set_rows(im, 0, &rows);
}

typedef struct box_choice {
    vtac_boxes best;
    vtac_tf_size asked; /* how many the graph wants at most */
} box_choice;

static bool read_box_choice(vtac_tf *im, box_choice *s)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type boxes = vtac_tf_type(im, 0);
    const vtac_type scores = vtac_tf_type(im, 1);
    vtac_tf_sizes max;
    double sigma = 0.0;
    if (!vtac_tf_read_sizes(im, 2, &max) || max.count != 1 || boxes.rank != 2 || boxes.dim[1] != 4 ||
        boxes.dim[0] < 1 || scores.rank != 1 || scores.dim[0] != boxes.dim[0] || boxes.dim[0] > MAX_ROWS) {
        vtac_make_refuse(m, "boxes and scores that do not fit each other, or a count that the run finds");
        return false;
    }
    if (im->in_count > 5 && (!vtac_tf_known_real(im, 5, &sigma) || sigma != 0.0)) {
        vtac_make_refuse(m, "a sigma that is not 0");
        return false;
    }
    const int64_t bound = vtac_tf_size_bound(im, &max.at[0], 1);
    const vtac_id all = vtac_tf_plain(im, 1);
    const vtac_tf_size *rows = vtac_tf_rows_of(im, 1);
    s->asked = max.at[0];
    s->best.count = boxes.dim[0];
    s->best.max = bound > boxes.dim[0] ? boxes.dim[0] : bound;
    s->best.corners = vtac_tf_plain(im, 0);
    s->best.scores = rows == NULL ? all : masked(im, all, rows, -3e38);
    s->best.overlap = vtac_tf_plain(im, 3);
    s->best.min_score = im->in_count > 4 ? vtac_tf_plain(im, 4) : vtac_make_number(m, VTAC_F32, -2e38);
    if (s->best.max < 1) {
        vtac_make_refuse(m, "no box is asked for");
    }
    return m->status == VTA_OK;
}

/* Boxes or scores where there are any, and 0 up to as many as the graph wants. */
static vtac_id filled_up(vtac_tf *im, const box_choice *s, vtac_id there, vtac_id x)
{
    const vtac_id none = vtac_make_number(&im->maker, vtac_made_type(&im->maker, x).dtype, 0.0);
    return vtac_make_row_count(&im->maker, vtac_make3(&im->maker, VTAC_OP_WHERE, there, x, none),
                               s->asked.base, none);
}

/* boxes, scores, how many at most, overlap, smallest score, sigma; `pad_to_max_output_size` fills with 0. */
void vtac_tf_import_non_max(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    box_choice s;
    if (!read_box_choice(im, &s)) {
        return;
    }
    vtac_id there = 0;
    const vtac_id at = vtac_make_best_boxes(m, &s.best, &there);
    const int64_t axis = 0;
    const vtac_id truths = vtac_make_cast(m, there, VTAC_I64);
    vtac_id count = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, truths, &axis, 1, false);
    if (s.asked.terms != 0) {
        count = vtac_make2(m, VTAC_OP_MIN, count, vtac_tf_size_value(im, &s.asked));
    }
    const bool scored = im->how == TF_SCORED;
    const bool fills = vtac_tf_int(im->node, "pad_to_max_output_size", 0) != 0;
    const vtac_id numbers = vtac_make_cast(m, at, VTAC_I32);
    const vtac_id scores = scored ? vtac_make2(m, VTAC_OP_GATHER, vtac_tf_plain(im, 1), at) : 0;
    if (fills && (s.asked.terms != 0 || s.asked.base > MAX_ROWS)) {
        vtac_tf_refuse_rows(im);
        return;
    }
    vtac_tf_set(im, 0, fills ? filled_up(im, &s, there, numbers) : numbers);
    if (scored) {
        vtac_tf_set(im, 1, fills ? filled_up(im, &s, there, scores) : scores);
    }
    if (im->how != TF_BARE) {
        vtac_tf_set(im, scored ? 2 : 1, vtac_make_cast(m, count, VTAC_I32));
    }
    if (!fills) {
        const vtac_tf_size rows = vtac_tf_new_count(im, count, s.best.max);
        set_rows(im, 0, &rows);
        if (scored) {
            set_rows(im, 1, &rows);
        }
    }
}

/* ---- rows by their count */

/* True where two tensors of rows have the same rows. */
static bool fit(const vtac_tf_size *a, const vtac_tf_size *b)
{
    return a == NULL || b == NULL || vtac_tf_same_size(a, b);
}

/* A shape whose first size the run finds: as many rows as there can be. */
static bool open_shape(vtac_tf *im, uint32_t i, int64_t *dims, uint32_t *rank, vtac_tf_size *rows)
{
    vtac_tf_sizes shape;
    if (!vtac_tf_read_sizes(im, i, &shape) || shape.count < 1 || shape.count > VTAC_MAX_RANK) {
        return false;
    }
    *rank = shape.count;
    *rows = shape.at[0];
    dims[0] = vtac_tf_size_bound(im, rows, 1);
    for (uint32_t a = 1; a < shape.count; a++) {
        if (shape.at[a].terms != 0) {
            return false;
        }
        dims[a] = shape.at[a].base;
    }
    return dims[0] >= 1 && dims[0] <= MAX_ROWS && vtac_tf_size_bound(im, rows, -1) >= 0;
}

static bool import_fill(vtac_tf *im)
{
    int64_t dims[VTAC_MAX_RANK];
    uint32_t rank;
    vtac_tf_size rows;
    const uint32_t at = im->how == TF_FRONT ? 0 : 1;
    if (!open_shape(im, at, dims, &rank, &rows)) {
        return false;
    }
    const vtac_id shape = vtac_make_ints(&im->maker, dims, rank);
    vtac_tf_set(im, 0, vtac_make2(&im->maker, VTAC_OP_EXPAND, vtac_tf_plain(im, 1 - at), shape));
    set_rows(im, 0, &rows);
    return true;
}

/* 0, 1, ... */
static bool import_range(vtac_tf *im)
{
    vtac_tf_sizes begin, end, step;
    if (!vtac_tf_read_sizes(im, 0, &begin) || !vtac_tf_read_sizes(im, 1, &end) ||
        !vtac_tf_read_sizes(im, 2, &step) || begin.at[0].terms != 0 || begin.at[0].base != 0 ||
        step.at[0].terms != 0 || step.at[0].base != 1 || vtac_tf_size_bound(im, &end.at[0], -1) < 0) {
        return false;
    }
    const int64_t max = vtac_tf_size_bound(im, &end.at[0], 1);
    const vtac_dtype d = vtac_tf_type(im, 0).dtype;
    if (max < 1 || max > MAX_ROWS) {
        return false;
    }
    vtac_tf_set(im, 0, row_numbers(im, d, max));
    set_rows(im, 0, &end.at[0]);
    return true;
}

/* Rows by their numbers; those that are not there are whatever row 0 is. */
static bool import_gather(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tf_type(im, 0);
    const vtac_type at = vtac_tf_type(im, 1);
    const vtac_tf_size *rows = vtac_tf_rows_of(im, 1);
    const int64_t axis = im->in_count > 2 ? vtac_tf_known_int(im, 2, "axis") : 0;
    if (axis != 0 || at.rank != 1 || x.rank < 1 || vtac_tf_int(im->node, "batch_dims", 0) != 0) {
        return false;
    }
    const vtac_id places =
        vtac_make_clip(m, vtac_make_cast(m, vtac_tf_plain(im, 1), VTAC_I64), 0.0, (double)(x.dim[0] - 1));
    vtac_tf_set(im, 0, vtac_make2(m, VTAC_OP_GATHER, vtac_tf_plain(im, 0), places));
    if (rows != NULL) {
        set_rows(im, 0, rows);
    }
    return true;
}

/* Parts one under the other: row i lies in the first part that ends behind it. */
static bool import_concat(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const uint32_t first = im->how == TF_FRONT ? 1 : 0;
    const uint32_t count = im->in_count - 1;
    vtac_tf_size all = vtac_tf_constant_size(0);
    int64_t room = 0;
    vtac_id *parts = vtac_make_room(m, count, sizeof *parts);
    vtac_id place = 0;
    for (uint32_t i = 0; parts != NULL && i < count; i++) { /* the rows' number in all */
        parts[i] = vtac_tf_plain(im, first + i);
        const int64_t length = vtac_made_type(m, parts[i]).dim[0];
        const vtac_tf_size known = vtac_tf_constant_size(length);
        room += length;
        if (!vtac_tf_add_sizes(
                &all, vtac_tf_rows_of(im, first + i) == NULL ? &known : vtac_tf_rows_of(im, first + i), 1)) {
            return false;
        }
    }
    const int64_t max = vtac_tf_size_bound(im, &all, 1) < room ? vtac_tf_size_bound(im, &all, 1) : room;
    if (parts == NULL || m->status != VTA_OK || max < 1 || max > MAX_ROWS) {
        return m->status != VTA_OK;
    }
    const vtac_id numbers = row_numbers(im, VTAC_I64, max);
    vtac_tf_size before = all;
    int64_t room_before = room;
    for (uint32_t i = count; i-- > 0;) { /* from the last part to the first */
        const int64_t length = vtac_made_type(m, parts[i]).dim[0];
        const vtac_tf_size known = vtac_tf_constant_size(length);
        const vtac_tf_size end = before;
        if (!vtac_tf_add_sizes(
                &before, vtac_tf_rows_of(im, first + i) == NULL ? &known : vtac_tf_rows_of(im, first + i),
                -1)) {
            return false;
        }
        room_before -= length;
        const vtac_id own =
            vtac_make2(m, VTAC_OP_ADD, vtac_make2(m, VTAC_OP_SUB, numbers, vtac_tf_size_value(im, &before)),
                       vtac_make_number(m, VTAC_I64, (double)room_before));
        const vtac_id here = vtac_make2(m, VTAC_OP_LESS, numbers, vtac_tf_size_value(im, &end));
        place = place == 0 ? own : vtac_make3(m, VTAC_OP_WHERE, here, own, place);
    }
    place = vtac_make_clip(m, place, 0.0, (double)(room - 1));
    vtac_tf_set(im, 0, vtac_make2(m, VTAC_OP_GATHER, vtac_make_concat(m, parts, count, 0), place));
    set_rows(im, 0, &all);
    return true;
}

/* Padding that fills up to a number: paddings are two columns, of which the first rows' second is a size. */
static bool import_pad(vtac_tf *im)
{
    vtac_tf_sizes pads;
    const vtac_type x = vtac_tf_type(im, 0);
    const vtac_tf_size length = vtac_tf_rows_of(im, 0) != NULL
                                    ? *vtac_tf_rows_of(im, 0)
                                    : vtac_tf_constant_size(x.rank == 0 ? 0 : x.dim[0]);
    vtac_tf_size all = length;
    if (im->how != TF_CONSTANT || x.rank < 1 || !vtac_tf_read_sizes(im, 1, &pads) ||
        pads.count != 2 * x.rank || !vtac_tf_add_sizes(&all, &pads.at[1], 1)) {
        return false;
    }
    for (uint32_t k = 0; k < pads.count; k++) {
        if (k != 1 && (pads.at[k].terms != 0 || pads.at[k].base != 0)) {
            return false;
        }
    }
    double rest = 0.0;
    const int64_t max = vtac_tf_size_bound(im, &all, 1);
    if (max < 1 || max > MAX_ROWS || (im->in_count > 2 && !vtac_tf_known_real(im, 2, &rest))) {
        return false;
    }
    vtac_id y = vtac_tf_plain(im, 0);
    y = length.terms == 0 ? y : masked(im, y, &length, rest);
    vtac_tf_set(im, 0, vtac_make_row_count(&im->maker, y, max, vtac_make_number(&im->maker, x.dtype, rest)));
    set_rows(im, 0, &all);
    return true;
}

/* A cut from the first row on, all of the other axes. */
static bool import_slice(vtac_tf *im)
{
    vtac_tf_sizes begin, size;
    const vtac_type x = vtac_tf_type(im, 0);
    const vtac_tf_size length = vtac_tf_rows_of(im, 0) != NULL
                                    ? *vtac_tf_rows_of(im, 0)
                                    : vtac_tf_constant_size(x.rank == 0 ? 0 : x.dim[0]);
    if (x.rank < 1 || !vtac_tf_read_sizes(im, 1, &begin) || !vtac_tf_read_sizes(im, 2, &size) ||
        begin.count != x.rank || size.count != x.rank) {
        return false;
    }
    for (uint32_t a = 0; a < x.rank; a++) {
        const bool whole = size.at[a].terms == 0 && (size.at[a].base == -1 || size.at[a].base == x.dim[a]);
        if (begin.at[a].terms != 0 || begin.at[a].base != 0 || (a > 0 && !whole)) {
            return false;
        }
    }
    const bool all = size.at[0].terms == 0 && size.at[0].base == -1;
    const vtac_tf_size rows = all ? length : size.at[0];
    const int64_t max = vtac_tf_size_bound(im, &rows, 1);
    if (vtac_tf_size_bound(im, &rows, -1) < 0 || max < 1 || max > x.dim[0]) {
        return false;
    }
    vtac_tf_set(im, 0, vtac_make_slice(&im->maker, vtac_tf_plain(im, 0), 0, 0, max));
    set_rows(im, 0, &rows);
    return true;
}

/* The largest of a row of numbers: all that are there, or a number of them. */
static bool import_top(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    vtac_tf_sizes k;
    const vtac_type x = vtac_tf_type(im, 0);
    if (x.rank != 1 || !vtac_tf_read_sizes(im, 1, &k) || k.count != 1) {
        return false;
    }
    const int64_t max = vtac_tf_size_bound(im, &k.at[0], 1);
    if (max < 1 || max > x.dim[0] || vtac_tf_size_bound(im, &k.at[0], -1) < 0) {
        return false;
    }
    const vtac_id value = vtac_tf_plain(im, 0);
    const vtac_id in[] = {vtac_tf_rows_of(im, 0) == NULL ? value
                                                         : masked(im, value, vtac_tf_rows_of(im, 0), -3e38),
                          vtac_make_ints(m, &max, 1)};
    vtac_id found[2] = {0, 0};
    vtac_make_many(m, VTAC_OP_TOP_K, in, 2, NULL, 0, found, 2);
    vtac_tf_set(im, 0, found[0]);
    vtac_tf_set(im, 1, vtac_make_cast(m, found[1], VTAC_I32));
    set_rows(im, 0, &k.at[0]);
    set_rows(im, 1, &k.at[0]);
    return true;
}

/* A sum over the rows; of truths it is a count again. */
static bool import_sum(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tf_type(im, 0);
    int64_t axis = -1;
    if (im->how != VTAC_OP_REDUCE_SUM || x.rank != 1 || vtac_tf_known_ints(im, 1, "axes", &axis, 1) != 1 ||
        (axis != 0 && axis != -1) || vtac_tf_int(im->node, "keep_dims", 0) != 0) {
        return false;
    }
    axis = 0;
    vtac_tf_set(im, 0,
                vtac_make_reduce(m, VTAC_OP_REDUCE_SUM,
                                 masked(im, vtac_tf_plain(im, 0), vtac_tf_rows_of(im, 0), 0.0), &axis, 1,
                                 false));
    if (im->in[0]->truth) {
        const vtac_tf_sizes sizes = {
            .count = 1, .at = {vtac_tf_new_count(im, vtac_tf_plain_of(im, vtac_tf_out(im, 0)), x.dim[0])}};
        vtac_tf_set_sizes(im, 0, &sizes);
    }
    return true;
}

/* ---- operators that treat each row alone */

/* A new first axis, or the first axis among those that go: then the rows do not stay. */
static bool moves_rows(vtac_tf *im, vtac_tf_import_fn *what)
{
    int64_t axes[VTAC_MAX_RANK] = {0};
    const uint32_t rank = vtac_tf_type(im, 0).rank;
    if (what == vtac_tf_import_expand_dims) {
        const int64_t axis = vtac_tf_known_int(im, 1, "axis");
        return axis == 0 || axis == -1 - (int64_t)rank;
    }
    if (what == vtac_tf_import_unpack || what == vtac_tf_import_pack) {
        const int64_t axis = vtac_tf_int(im->node, "axis", 0);
        return axis == 0 || axis == -(int64_t)rank;
    }
    if (what == vtac_tf_import_split) {
        const int64_t axis = vtac_tf_known_int(im, 0, "axis");
        return axis == 0 || axis == -(int64_t)vtac_tf_type(im, 1).rank;
    }
    const uint32_t count =
        what == vtac_tf_import_reduce ? vtac_tf_known_ints(im, 1, "axes", axes, VTAC_MAX_RANK) : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (axes[i] == 0 || axes[i] == -(int64_t)rank) {
            return true;
        }
    }
    return false;
}

static bool treats_rows_alone(vtac_tf_import_fn *what)
{
    static vtac_tf_import_fn *const all[] = {
        vtac_tf_import_unary,       vtac_tf_import_binary,        vtac_tf_import_formula,
        vtac_tf_import_pair,        vtac_tf_import_cast,          vtac_tf_import_select,
        vtac_tf_import_clip,        vtac_tf_import_squeeze,       vtac_tf_import_split,
        vtac_tf_import_unpack,      vtac_tf_import_pack,          vtac_tf_import_reshape,
        vtac_tf_import_expand_dims, vtac_tf_import_reduce,        vtac_tf_import_like,
        vtac_tf_import_concat,      vtac_tf_import_strided_slice, vtac_tf_import_dropout_mask};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i] == what) {
            return true;
        }
    }
    return false;
}

/* Imports the operator as always; its outputs have the rows of its inputs. */
static bool import_alone(vtac_tf *im, vtac_tf_import_fn *what)
{
    const vtac_tf_size *rows = NULL;
    int64_t room = 0;
    for (uint32_t i = 0; i < im->in_count; i++) {
        if (!fit(rows, vtac_tf_rows_of(im, i))) {
            return false;
        }
        if (vtac_tf_rows_of(im, i) != NULL) {
            rows = vtac_tf_rows_of(im, i);
            room = vtac_tf_type(im, i).dim[0];
        }
    }
    if (!treats_rows_alone(what) || moves_rows(im, what)) {
        return false;
    }
    vtac_import_row(im);
    for (uint32_t i = 0; i < im->result->count && im->maker.status == VTA_OK; i++) {
        const vtac_type type = vtac_made_type(&im->maker, vtac_tf_plain_of(im, &im->result->out[i]));
        if (type.rank < 1 || type.dim[0] != room) {
            return false;
        }
        set_rows(im, i, rows);
    }
    return true;
}

/* ---- the whole */

/* True where the first axis is joined; sets nothing. */
static bool joins_rows(vtac_tf *im, vtac_tf_import_fn *what)
{
    if (what != vtac_tf_import_concat || im->in_count < 2) {
        return false;
    }
    const uint32_t at = im->how == TF_FRONT ? 0 : im->in_count - 1;
    const int64_t axis = vtac_tf_known_int(im, at, "axis");
    const uint32_t rank = vtac_tf_type(im, im->how == TF_FRONT ? 1 : 0).rank;
    return axis == 0 || axis == -(int64_t)rank;
}

static bool import_rows(vtac_tf *im, vtac_tf_import_fn *what)
{
    if (what == vtac_tf_import_fill) {
        return import_fill(im);
    }
    if (what == vtac_tf_import_range) {
        return import_range(im);
    }
    if (what == vtac_tf_import_gather) {
        return import_gather(im);
    }
    if (what == vtac_tf_import_pad) {
        return import_pad(im);
    }
    if (what == vtac_tf_import_slice) {
        return import_slice(im);
    }
    if (what == vtac_tf_import_top_k) {
        return import_top(im);
    }
    if (what == vtac_tf_import_reduce && import_sum(im)) {
        return true;
    }
    return joins_rows(im, what) ? import_concat(im) : import_alone(im, what);
}

bool vtac_tf_counts_rows(const vtac_tf *im)
{
    for (uint32_t i = 0; i < im->in_count; i++) {
        if (im->in[i]->rows != NULL || im->in[i]->sizes != NULL) {
            return true;
        }
    }
    return false;
}

void vtac_tf_import_rows(vtac_tf *im, vtac_tf_import_fn *what)
{
    bool any = false;
    vtac_tf_sizes sizes = {0};
    for (uint32_t i = 0; i < im->in_count; i++) {
        any = any || im->in[i]->rows != NULL;
    }
    const bool finds = what == vtac_tf_import_where || what == vtac_tf_import_non_max;
    if (finds || what == vtac_tf_import_identity || what == vtac_tf_import_call) {
        vtac_import_row(im);
    } else if (what == vtac_tf_import_shape_of) {
        vtac_tf_import_row_sizes(im);
    } else if (any || what == vtac_tf_import_fill || what == vtac_tf_import_range ||
               what == vtac_tf_import_slice || what == vtac_tf_import_pad || what == vtac_tf_import_top_k) {
        if (!import_rows(im, what) && im->maker.status == VTA_OK) {
            vtac_tf_refuse_rows(im);
        }
    } else {
        vtac_import_row(im);
        if (im->maker.status == VTA_OK && vtac_tf_sizes_made(im, what, &sizes)) {
            vtac_tf_set_sizes(im, 0, &sizes);
        }
    }
    if (what == vtac_tf_import_cast && vtac_tf_type(im, 0).dtype == VTAC_BOOL) {
        vtac_tf_out(im, 0)->truth = true;
    }
}
