/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices, and values put into others, at places that the run works out. How much is taken must be known.
 */
#include <string.h>

#include "operators.h"

/* Element k of a row of integers, if it can be known: often others of the row cannot. */
static bool known_element(const vtac_tflite *im, vtac_id id, int64_t k, int64_t *out)
{
    const vtac_graph *g = im->maker.graph;
    const vtac_tensor *constant = vtac_made_constant(&im->maker, id);
    if (id == 0) {
        return false;
    }
    if (constant != NULL) {
        const bool whole =
            k < vtac_type_elements(&constant->type) && vtac_dtype_kind(constant->type.dtype) != 'f';
        *out = whole ? vtac_tensor_int(constant, k) : 0;
        return whole;
    }
    const vtac_node *node = g->values[id].node == 0 ? NULL : &g->nodes[g->values[id].node];
    if (node == NULL) {
        return false;
    }
    if (node->op == VTAC_OP_IDENTITY || node->op == VTAC_OP_RESHAPE || node->op == VTAC_OP_CAST) {
        return known_element(im, node->inputs[0], k, out);
    }
    for (uint32_t i = 0; node->op == VTAC_OP_CONCAT && i < node->input_count; i++) {
        const int64_t count = vtac_type_elements(&g->values[node->inputs[i]].type);
        if (g->values[node->inputs[i]].type.rank != 1) {
            return false;
        }
        if (k < count) {
            return known_element(im, node->inputs[i], k, out);
        }
        k -= count;
    }
    return false;
}

/* Element k of a row, as a scalar of int64. */
static vtac_id row_element(vtac_tflite *im, vtac_id row, int64_t k)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id one = vtac_make_slice(m, row, 0, k, k + 1);
    return vtac_make_cast(m, vtac_make_reshape(m, one, NULL, 0), VTAC_I64);
}

/* 0, 1, … count - 1 */
static vtac_id count_up(vtac_tflite *im, int64_t count)
{
    const vtac_type type = {VTAC_I64, 1, {count}};
    int64_t *room = vtac_make_room(&im->maker, count, sizeof *room);
    for (int64_t i = 0; room != NULL && i < count; i++) {
        room[i] = i;
    }
    return room == NULL ? 0 : vtac_make_borrowed(&im->maker, &type, room);
}

static vtac_id gather_axis(vtac_tflite *im, vtac_id x, vtac_id places, uint32_t axis)
{
    const vtac_attr attr = vtac_attr_of_int("axis", axis);
    return vtac_make(&im->maker, VTAC_OP_GATHER, (vtac_id[]){x, places}, 2, &attr, 1);
}

static vtac_id clamp_value(vtac_tflite *im, vtac_id v, int64_t low, int64_t high)
{
    vtac_import_builder *m = &im->maker;
    v = vtac_make2(m, VTAC_OP_MAX, v, vtac_make_number(m, VTAC_I64, (double)low));
    return vtac_make2(m, VTAC_OP_MIN, v, vtac_make_number(m, VTAC_I64, (double)high));
}

/* SLICE whose begin the run works out. */
void vtac_tflite_slice_at_run(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_id begin = vtac_tflite_plain(im, 1);
    int64_t size[VTAC_MAX_RANK];
    if (vtac_tflite_known_ints(im, 2, "size", size, VTAC_MAX_RANK) != x.rank ||
        vtac_made_type(m, begin).rank != 1 || vtac_made_type(m, begin).dim[0] != x.rank) {
        vtac_make_fail(m, VTA_INVALID, "begin and size for rank %u", x.rank);
        return;
    }
    vtac_id y = vtac_tflite_plain(im, 0);
    for (uint32_t a = 0; a < x.rank && m->status == VTA_OK; a++) {
        int64_t at = 0;
        const bool known = known_element(im, begin, a, &at);
        if (size[a] < 0 && !known) {
            vtac_make_refuse(
                &im->maker,
                "axis %u is taken from a place that the run works out to the end: its size must be known", a);
            return;
        }
        const int64_t count = size[a] < 0 ? x.dim[a] - at : size[a];
        if (at < 0 || count < 0 || count > x.dim[a] - at) {
            vtac_make_fail(m, VTA_INVALID, "%lld from %lld of %lld", (long long)count, (long long)at,
                           (long long)x.dim[a]);
            return;
        }
        if (known) {
            y = count == x.dim[a] ? y : vtac_make_slice(m, y, a, at, at + count);
        } else if (count < x.dim[a]) {
            const vtac_id first = clamp_value(im, row_element(im, begin, a), 0, x.dim[a] - count);
            y = gather_axis(im, y, vtac_make2(m, VTAC_OP_ADD, count_up(im, count), first), a);
        }
    }
    vtac_tflite_set(im, 0, y);
}

/* STRIDED_SLICE whose begin the run works out: of an axis one place, all, or what is known. */
void vtac_tflite_strided_slice_at_run(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_id begin = vtac_tflite_plain(im, 1);
    const vtac_id end = vtac_tflite_plain(im, 2);
    const int64_t no_begin = vtac_tflite_option(im, 0, 4, 0);
    const int64_t no_end = vtac_tflite_option(im, 1, 4, 0);
    const int64_t one = vtac_tflite_option(im, 4, 4, 0);
    int64_t step[VTAC_MAX_RANK];
    const uint32_t count = vtac_tflite_known_ints(im, 3, "step", step, VTAC_MAX_RANK);
    if (m->status != VTA_OK || count > x.rank || vtac_made_elements(m, begin) != count ||
        vtac_made_elements(m, end) != count) {
        vtac_make_fail(m, VTA_INVALID, "begin, end and step of %u axes for rank %u", count, x.rank);
        return;
    }
    if (vtac_tflite_option(im, 2, 4, 0) != 0 || vtac_tflite_option(im, 3, 4, 0) != 0) {
        vtac_make_refuse(
            &im->maker,
            "the begin (input 1) or the end (input 2) must be known where axes are left out or added");
        return;
    }
    vtac_id y = vtac_tflite_plain(im, 0);
    for (uint32_t a = count; a-- > 0 && m->status == VTA_OK;) { /* from the last, as axes go */
        int64_t from = 0;
        int64_t to = x.dim[a];
        const bool single = (one >> a & 1) != 0;
        const bool from_known = (!single && (no_begin >> a & 1) != 0) || known_element(im, begin, a, &from);
        const bool to_known = single || (no_end >> a & 1) != 0 || known_element(im, end, a, &to);
        if (single) {
            vtac_id at = from_known ? vtac_make_number(m, VTAC_I64, (double)from) : row_element(im, begin, a);
            at = clamp_value(im, at, -x.dim[a], x.dim[a] - 1);
            y = x.dim[a] == 0 ? 0 : gather_axis(im, y, at, a);
            if (x.dim[a] == 0) {
                vtac_make_fail(m, VTA_INVALID, "a place on axis %u, which has none", a);
            }
            continue;
        }
        if (!from_known || !to_known || step[a] != 1) {
            vtac_make_refuse(
                &im->maker,
                "axis %u: the begin (input 1) and the end (input 2) must be known, the run works them out",
                a);
            return;
        }
        from += from < 0 ? x.dim[a] : 0;
        to += to < 0 ? x.dim[a] : 0;
        from = from < 0 ? 0 : from > x.dim[a] ? x.dim[a] : from;
        to = to < from ? from : to > x.dim[a] ? x.dim[a] : to;
        y = to - from == x.dim[a] ? y : vtac_make_slice(m, y, a, from, to);
    }
    vtac_tflite_set(im, 0, y);
}

/* DYNAMIC_UPDATE_SLICE at a place that the run works out: each place of x asks whether it is in the part. */
void vtac_tflite_update_slice_at_run(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_type part = vtac_tflite_type(im, 1);
    const vtac_id begin = vtac_tflite_plain(im, 2);
    vtac_id y = vtac_tflite_plain(im, 1);
    vtac_id inside = 0;
    for (uint32_t a = 0; a < x.rank && m->status == VTA_OK; a++) {
        if (part.dim[a] == x.dim[a]) {
            continue;
        }
        int64_t dims[VTAC_MAX_RANK];
        for (uint32_t i = 0; i < x.rank; i++) {
            dims[i] = i == a ? x.dim[a] : 1;
        }
        const vtac_id first = clamp_value(im, row_element(im, begin, a), 0, x.dim[a] - part.dim[a]);
        const vtac_id place = vtac_make2(m, VTAC_OP_SUB, count_up(im, x.dim[a]), first);
        const vtac_id nearest = clamp_value(im, place, 0, part.dim[a] - 1);
        y = gather_axis(im, y, nearest, a);
        const vtac_id there =
            vtac_make_reshape(m, vtac_make2(m, VTAC_OP_EQUAL, place, nearest), dims, x.rank);
        inside = inside == 0 ? there : vtac_make2(m, VTAC_OP_AND, inside, there);
    }
    vtac_tflite_set(im, 0,
                    inside == 0 ? y : vtac_make3(m, VTAC_OP_WHERE, inside, y, vtac_tflite_plain(im, 0)));
}
