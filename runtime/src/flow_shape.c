/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions that move elements and compute sizes: they know an element's size, not its kind.
 */
#include <stdlib.h>
#include <string.h>

#include "flow_walk.h"
#include "vta/number.h"

static vta_status make(const vta_call *call, int64_t i, uint32_t type, int64_t rank, const int64_t *dim)
{
    return rank > VTA_FLOW_RANK
               ? vta_call_refuse(call, "more than %d axes", VTA_FLOW_RANK)
               : vta_item_tensor(call->flow, type, (uint32_t)rank, dim, &call->out[i], call->diag);
}

static vta_status view(const vta_call *call, int64_t rank, const int64_t *dim)
{
    return rank > VTA_FLOW_RANK
               ? vta_call_refuse(call, "more than %d axes", VTA_FLOW_RANK)
               : vta_item_view(call->flow, call->in[0], (uint32_t)rank, dim, &call->out[0], call->diag);
}

/* ---- sizes ---- */

vta_status vta_flow_shape(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *t = call->in[0];
    int64_t start = vta_call_word(call, 0);
    int64_t end = vta_call_word(call, 1);
    end = end == VTA_FLOW_ABSENT ? t->rank : end;
    start = vta_clamp(start < 0 ? start + t->rank : start, 0, t->rank);
    end = vta_clamp(end < 0 ? end + t->rank : end, start, t->rank);
    const int64_t count = end - start;
    VTA_TRY(make(call, 0, VTA_FLOW_I64, 1, &count));
    memcpy(call->out[0]->data, t->dim + start, (size_t)count * sizeof *t->dim);
    return VTA_OK;
}

/* Two tensors are to have one size, each on an axis. words: the axes, what to say otherwise, as a list of its
 * characters */
vta_status vta_flow_same_size(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 2));
    const int64_t a = vta_call_word(call, 0);
    const int64_t b = vta_call_word(call, 1);
    const int64_t length = vta_call_word(call, 2);
    if (a < 0 || b < 0 || a >= call->in[0]->rank || b >= call->in[1]->rank) {
        return vta_call_refuse(call, "an input has fewer axes than the model says");
    }
    const int64_t first = call->in[0]->dim[a];
    const int64_t second = call->in[1]->dim[b];
    char text[256] = "";
    for (int64_t i = 0; i < length && i + 1 < (int64_t)sizeof text; i++) {
        text[i] = (char)vta_call_word(call, 3 + i);
    }
    return first == second
               ? VTA_OK
               : vta_call_refuse(call, "%s: %lld and %lld", text, (long long)first, (long long)second);
}

/* Ends a run that comes here. */
vta_status vta_flow_refuse(vta_call *call)
{
    const int64_t length = vta_call_word(call, 0);
    char text[256] = "";
    for (int64_t i = 0; i < length && i + 1 < (int64_t)sizeof text; i++) {
        text[i] = (char)vta_call_word(call, 1 + i);
    }
    return vta_call_refuse(call, "%s", text);
}

vta_status vta_flow_size(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    VTA_TRY(make(call, 0, VTA_FLOW_I64, 0, NULL));
    vta_item_set_int(call->out[0], 0, call->in[0]->count);
    return VTA_OK;
}

vta_status vta_flow_reshape(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *t = call->in[0];
    int64_t store[VTA_FLOW_MAX];
    int64_t dim[VTA_FLOW_RANK];
    int64_t known = 1;
    int64_t open = -1;
    vta_list asked;
    VTA_TRY(vta_call_ints(call, 1, 1, store, &asked));
    if (asked.count < 0 || asked.count > VTA_FLOW_RANK) {
        return vta_call_refuse(call, "its shape is to be at most %d integers", VTA_FLOW_RANK);
    }
    for (int64_t i = 0; i < asked.count; i++) {
        const bool keep = asked.at[i] == 0 && vta_call_word(call, 0) == 0;
        dim[i] = keep && i < t->rank ? t->dim[i] : asked.at[i];
        if (dim[i] == -1 && open < 0) {
            open = i;
        } else if (dim[i] < 0 || __builtin_mul_overflow(known, dim[i], &known)) {
            return vta_call_refuse(call, "size %lld of axis %lld is not possible", (long long)dim[i],
                                   (long long)i);
        }
    }
    if (open >= 0) {
        dim[open] = known > 0 ? t->count / known : 0;
    }
    return view(call, asked.count, dim);
}

vta_status vta_flow_flatten(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *t = call->in[0];
    int64_t axis = vta_call_word(call, 0);
    axis = axis < 0 ? axis + t->rank : axis;
    if (axis < 0 || axis > t->rank) {
        return vta_call_refuse(call, "axis %lld is outside of %u axes", (long long)axis, t->rank);
    }
    const int64_t dim[] = {vta_dims_product(t, 0, axis), vta_dims_product(t, axis, t->rank)};
    return view(call, 2, dim);
}

/* Marks the axes of a list, of `rank`. */
static vta_status mark_axes(const vta_call *call, const vta_list *axes, int64_t rank, bool *marks)
{
    memset(marks, 0, VTA_FLOW_RANK * sizeof *marks);
    for (int64_t i = 0; i < axes->count; i++) {
        int64_t axis;
        VTA_TRY(vta_call_axis(call, axes->at[i], rank, &axis));
        if (marks[axis]) {
            return vta_call_refuse(call, "axis %lld is named twice", (long long)axis);
        }
        marks[axis] = true;
    }
    return VTA_OK;
}

vta_status vta_flow_squeeze(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *t = call->in[0];
    int64_t store[VTA_FLOW_MAX];
    int64_t dim[VTA_FLOW_RANK];
    bool gone[VTA_FLOW_RANK];
    int64_t rank = 0;
    vta_list axes;
    VTA_TRY(vta_call_ints(call, 0, 1, store, &axes));
    VTA_TRY(mark_axes(call, &axes, t->rank, gone));
    for (uint32_t i = 0; i < t->rank; i++) {
        const bool drop = axes.count < 0 ? t->dim[i] == 1 : gone[i];
        if (drop && t->dim[i] != 1) {
            return vta_call_refuse(call, "axis %u is of size %lld, not 1", i, (long long)t->dim[i]);
        }
        dim[rank] = t->dim[i];
        rank += !drop;
    }
    return view(call, rank, dim);
}

vta_status vta_flow_unsqueeze(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *t = call->in[0];
    int64_t store[VTA_FLOW_MAX];
    int64_t dim[VTA_FLOW_RANK];
    bool added[VTA_FLOW_RANK];
    vta_list axes;
    VTA_TRY(vta_call_ints(call, 0, 1, store, &axes));
    const int64_t rank = t->rank + (axes.count > 0 ? axes.count : 0);
    if (rank > VTA_FLOW_RANK) {
        return vta_call_refuse(call, "more than %d axes", VTA_FLOW_RANK);
    }
    VTA_TRY(mark_axes(call, &axes, rank, added));
    for (int64_t i = 0, k = 0; i < rank; i++) {
        dim[i] = added[i] ? 1 : t->dim[k++];
    }
    return view(call, rank, dim);
}

/* ---- blocks ---- */

vta_status vta_flow_transpose(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *t = call->in[0];
    const vta_list perm = vta_call_list(call, 0, NULL);
    int64_t dim[VTA_FLOW_RANK];
    int64_t own[VTA_FLOW_RANK];
    int64_t from[VTA_FLOW_RANK];
    int64_t to[VTA_FLOW_RANK];
    bool seen[VTA_FLOW_RANK];
    if (perm.count >= 0) {
        VTA_TRY(mark_axes(call, &perm, t->rank, seen));
    }
    if (perm.count >= 0 && perm.count != t->rank) {
        return vta_call_refuse(call, "it orders %lld axes of %u", (long long)perm.count, t->rank);
    }
    vta_row_strides(t->dim, t->rank, own);
    for (uint32_t i = 0; i < t->rank; i++) {
        const int64_t axis = perm.count < 0   ? t->rank - 1 - i
                             : perm.at[i] < 0 ? perm.at[i] + t->rank
                                              : perm.at[i];
        dim[i] = t->dim[axis];
        from[i] = own[axis];
    }
    VTA_TRY(make(call, 0, t->type, t->rank, dim));
    vta_row_strides(dim, t->rank, to);
    if (t->count > 0) {
        vta_copy_block(call->out[0]->data, to, t->data, from, dim, t->rank, vta_item_size(t));
    }
    return VTA_OK;
}

/* Lists of a slice, in the order of the operator's inputs 1 to 4. */
enum { STARTS, ENDS, AXES, STEPS, SLICE_LISTS };

/* The part of its input that a slice takes: the first element, sizes, and strides from that element on. */
typedef struct slice {
    vta_list given[SLICE_LISTS]; /* a count below 0: absent */
    int64_t store[SLICE_LISTS][VTA_FLOW_MAX];
    int64_t first;
    int64_t dim[VTA_FLOW_RANK], stride[VTA_FLOW_RANK];
} slice;

static vta_status read_slice(const vta_call *call, slice *s)
{
    int64_t at = 0;
    for (int64_t i = 0; i < SLICE_LISTS; i++) {
        int64_t next = at;
        const vta_list in_words = i < STEPS ? vta_call_list(call, at, &next) : (vta_list){-1, NULL};
        VTA_TRY(vta_call_ints(call, in_words.count >= 0 ? at : call->insn->words.count, i + 1, s->store[i],
                              &s->given[i]));
        at = next;
    }
    const vta_list *g = s->given;
    const int64_t count = g[STARTS].count;
    if (count < 0 || g[ENDS].count != count || (g[AXES].count >= 0 && g[AXES].count != count) ||
        (g[STEPS].count >= 0 && g[STEPS].count != count)) {
        return vta_call_refuse(call, "its starts, ends, axes and steps are not equally many");
    }
    return VTA_OK;
}

/* Applies entry i of the lists to its axis of `t`. */
static vta_status slice_axis(const vta_call *call, slice *s, const vta_item *t, int64_t i)
{
    int64_t axis;
    VTA_TRY(vta_call_axis(call, s->given[AXES].count >= 0 ? s->given[AXES].at[i] : i, t->rank, &axis));
    const int64_t size = t->dim[axis];
    const int64_t step = s->given[STEPS].count >= 0 ? s->given[STEPS].at[i] : 1;
    const bool down = step < 0;
    int64_t start = s->given[STARTS].at[i];
    int64_t end = s->given[ENDS].at[i];
    if (step == 0 || step == INT64_MIN) {
        return vta_call_refuse(call, "a step of %lld", (long long)step);
    }
    start = vta_clamp(start < 0 ? start + size : start, 0, down ? size - 1 : size);
    end = vta_clamp(end < 0 ? (end < -size ? -1 : end + size) : end, down ? -1 : 0, size);
    const int64_t span = down ? start - end : end - start;
    const int64_t pace = down ? -step : step;
    s->dim[axis] = span > 0 && size > 0 ? (span - 1) / pace + 1 : 0;
    s->first += s->dim[axis] > 0 ? start * s->stride[axis] : 0;
    s->stride[axis] *= s->dim[axis] > 1 ? step : 1;
    return VTA_OK;
}

/* words: starts, ends, axes of the old form; inputs 1 to 4: starts, ends, axes, steps */
vta_status vta_flow_slice(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *t = call->in[0];
    int64_t to[VTA_FLOW_RANK];
    slice s;
    s.first = 0;
    VTA_TRY(read_slice(call, &s));
    vta_row_strides(t->dim, t->rank, s.stride);
    memcpy(s.dim, t->dim, t->rank * sizeof *s.dim);
    for (int64_t i = 0; i < s.given[STARTS].count; i++) {
        VTA_TRY(slice_axis(call, &s, t, i));
    }
    VTA_TRY(make(call, 0, t->type, t->rank, s.dim));
    vta_row_strides(s.dim, t->rank, to);
    if (call->out[0]->count > 0) {
        vta_copy_block(call->out[0]->data, to, t->data + s.first * (int64_t)vta_item_size(t), s.stride, s.dim,
                       t->rank, vta_item_size(t));
    }
    return VTA_OK;
}

vta_status vta_join(const vta_call *call, vta_item *const *items, int64_t count, int64_t axis, bool new_axis,
                    vta_item **out)
{
    const vta_item *first = items[0];
    int64_t dim[VTA_FLOW_RANK];
    const int64_t rank = (int64_t)first->rank + new_axis;
    if (rank > VTA_FLOW_RANK) {
        return vta_call_refuse(call, "more than %d axes", VTA_FLOW_RANK);
    }
    VTA_TRY(vta_call_axis(call, axis, rank, &axis));
    for (int64_t i = 0, k = 0; i < rank; i++) {
        dim[i] = new_axis && i == axis ? count : first->dim[k];
        k += !(new_axis && i == axis);
    }
    for (int64_t k = 1; k < count; k++) {
        bool same = items[k]->rank == first->rank && items[k]->type == first->type;
        for (int64_t i = 0; same && i < first->rank; i++) {
            same = items[k]->dim[i] == first->dim[i] || (!new_axis && i == axis);
        }
        if (!same) {
            return vta_call_refuse(call, "part %lld has not the type or sizes of the first", (long long)k);
        }
        if (!new_axis && __builtin_add_overflow(dim[axis], items[k]->dim[axis], &dim[axis])) {
            return vta_call_refuse(call, "its parts are too long together");
        }
    }
    VTA_TRY(vta_item_tensor(call->flow, first->type, (uint32_t)rank, dim, out, call->diag));
    const int64_t outer = vta_dims_product(*out, 0, axis);
    uint8_t *to = (*out)->data;
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t k = 0; k < count; k++) {
            const size_t bytes = items[k]->bytes / (size_t)outer;
            memcpy(to, items[k]->data + (size_t)o * bytes, bytes);
            to += bytes;
        }
    }
    return VTA_OK;
}

vta_status vta_flow_concat(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, call->insn->inputs.count));
    return call->insn->inputs.count > 0 ? vta_join(call, call->in, call->insn->inputs.count,
                                                   vta_call_word(call, 0), false, &call->out[0])
                                        : vta_call_refuse(call, "it has no input");
}

/* Sizes begin … begin+count-1 along an axis. */
static vta_status cut(const vta_call *call, const vta_item *t, int64_t axis, int64_t begin, int64_t count,
                      bool drop_axis, vta_item **out)
{
    int64_t dim[VTA_FLOW_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        dim[rank] = i == axis ? count : t->dim[i];
        rank += !(drop_axis && i == axis);
    }
    VTA_TRY(vta_item_tensor(call->flow, t->type, rank, dim, out, call->diag));
    const int64_t outer = vta_dims_product(t, 0, axis);
    const size_t inner = (size_t)vta_dims_product(t, axis + 1, t->rank) * vta_item_size(t);
    for (int64_t o = 0; o < outer; o++) {
        memcpy((*out)->data + (size_t)(o * count) * inner,
               t->data + (size_t)(o * t->dim[axis] + begin) * inner, (size_t)count * inner);
    }
    return VTA_OK;
}

vta_status vta_flow_split(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *t = call->in[0];
    const int64_t outputs = call->insn->outputs.count;
    int64_t store[VTA_FLOW_MAX];
    int64_t axis;
    vta_list sizes;
    VTA_TRY(vta_call_axis(call, vta_call_word(call, 0), t->rank, &axis));
    VTA_TRY(vta_call_ints(call, 1, 1, store, &sizes));
    int64_t at = 0;
    const int64_t even = outputs > 0 ? (t->dim[axis] + outputs - 1) / outputs : 0;
    if (sizes.count >= 0 && sizes.count != outputs) {
        return vta_call_refuse(call, "it has %lld sizes for %lld outputs", (long long)sizes.count,
                               (long long)outputs);
    }
    for (int64_t i = 0; i < outputs; i++) {
        const int64_t left = t->dim[axis] - at;
        const int64_t size = sizes.count >= 0 ? sizes.at[i] : even < left ? even : left;
        if (size < 0 || size > left) {
            return vta_call_refuse(call, "a part of %lld of what is left, %lld", (long long)size,
                                   (long long)left);
        }
        VTA_TRY(cut(call, t, axis, at, size, false, &call->out[i]));
        at += size;
    }
    return VTA_OK;
}

vta_status vta_flow_split_to_sequence(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *t = call->in[0];
    const vta_item *sizes = vta_call_has(call, 1) ? call->in[1] : NULL;
    int64_t axis;
    VTA_TRY(vta_call_axis(call, vta_call_word(call, 0), t->rank, &axis));
    const int64_t size = t->dim[axis];
    const int64_t each = sizes == NULL ? 1 : sizes->rank == 0 ? vta_item_int(sizes, 0) : 0;
    const bool even = sizes == NULL || sizes->rank == 0;
    if (even && each < 1) {
        return vta_call_refuse(call, "parts of %lld", (long long)each);
    }
    const int64_t parts = even ? (size + each - 1) / each : sizes->count;
    const bool drop = sizes == NULL && vta_call_word(call, 1) == 0;
    VTA_TRY(vta_item_sequence(call->flow, parts, &call->out[0], call->diag));
    int64_t at = 0;
    for (int64_t i = 0; i < parts; i++) {
        const int64_t left = size - at;
        const int64_t part = !even ? vta_item_int(sizes, i) : each < left ? each : left;
        if (part < 0 || part > left) {
            return vta_call_refuse(call, "a part of %lld of what is left, %lld", (long long)part,
                                   (long long)left);
        }
        VTA_TRY(cut(call, t, axis, at, part, drop, &call->out[0]->items[i]));
        at += part;
    }
    return at == size ? VTA_OK : vta_call_refuse(call, "its parts are shorter than the axis");
}

/* Integers of input i as sizes. */
static vta_status sizes_of(const vta_call *call, int64_t i, int64_t *dim, int64_t *rank)
{
    VTA_TRY(vta_call_needs(call, i + 1));
    const vta_item *t = call->in[i];
    if (t->count > VTA_FLOW_RANK || vta_item_is_float(t)) {
        return vta_call_refuse(call, "its sizes are to be at most %d integers", VTA_FLOW_RANK);
    }
    *rank = t->count;
    for (int64_t k = 0; k < t->count; k++) {
        dim[k] = vta_item_int(t, k);
        if (dim[k] < 0) {
            return vta_call_refuse(call, "a size of %lld", (long long)dim[k]);
        }
    }
    return VTA_OK;
}

vta_status vta_flow_expand(vta_call *call)
{
    int64_t dim[VTA_FLOW_RANK];
    int64_t rank = 0;
    VTA_TRY(vta_call_needs(call, 1));
    VTA_TRY(sizes_of(call, 1, dim, &rank));
    vta_item wanted = {.rank = (uint32_t)rank};
    memcpy(wanted.dim, dim, sizeof dim);
    vta_item *both[] = {call->in[0], &wanted};
    VTA_TRY(vta_broadcast_dims(call, both, 2, 0, &rank, dim));
    return vta_item_broadcast(call->flow, call->in[0], (uint32_t)rank, dim, &call->out[0], call->diag);
}

/* As [repeats, size] for each axis. */
vta_status vta_flow_tile(vta_call *call)
{
    int64_t times[VTA_FLOW_RANK];
    int64_t dim[VTA_FLOW_RANK];
    int64_t own[VTA_FLOW_RANK];
    int64_t block[2 * VTA_FLOW_RANK];
    int64_t from[2 * VTA_FLOW_RANK];
    int64_t to[2 * VTA_FLOW_RANK];
    int64_t rank = 0;
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *t = call->in[0];
    VTA_TRY(sizes_of(call, 1, times, &rank));
    if (rank != t->rank) {
        return vta_call_refuse(call, "%lld repeats for %u axes", (long long)rank, t->rank);
    }
    for (uint32_t i = 0; i < t->rank; i++) {
        if (__builtin_mul_overflow(t->dim[i], times[i], &dim[i])) {
            return vta_call_refuse(call, "the result is too large");
        }
        block[2 * i] = times[i];
        block[2 * i + 1] = t->dim[i];
    }
    VTA_TRY(make(call, 0, t->type, t->rank, dim));
    vta_row_strides(t->dim, t->rank, own);
    vta_row_strides(block, 2 * t->rank, to);
    for (uint32_t i = 0; i < t->rank; i++) {
        from[2 * i] = 0;
        from[2 * i + 1] = own[i];
    }
    if (call->out[0]->count > 0) {
        vta_copy_block(call->out[0]->data, to, t->data, from, block, 2 * t->rank, vta_item_size(t));
    }
    return VTA_OK;
}

/* ---- padding ---- */

enum { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP };

/* The place of the input that place `at` of a padded axis is copied from; -1: it is filled. */
static int64_t pad_source(int64_t mode, int64_t at, int64_t size)
{
    if (at >= 0 && at < size) {
        return at;
    }
    if (size == 0 || mode == PAD_CONSTANT) {
        return -1;
    }
    if (mode == PAD_EDGE) {
        return vta_clamp(at, 0, size - 1);
    }
    const int64_t period = mode == PAD_WRAP ? size : size > 1 ? 2 * (size - 1) : 1;
    at = (at % period + period) % period;
    return at < size ? at : period - at;
}

typedef struct padding {
    const vta_item *t;
    vta_item *out;
    int64_t mode, before[VTA_FLOW_RANK], own[VTA_FLOW_RANK], to[VTA_FLOW_RANK];
    uint8_t fill[8];
} padding;

/* Everything behind a place of the first axes; from < 0: it is all padding. */
static void pad_from(const padding *p, uint32_t axis, int64_t from, int64_t to)
{
    const size_t size = vta_item_size(p->t);
    if (axis == p->t->rank) {
        memcpy(p->out->data + (size_t)to * size, from < 0 ? p->fill : p->t->data + (size_t)from * size, size);
        return;
    }
    for (int64_t i = 0; i < p->out->dim[axis]; i++) {
        const int64_t source = pad_source(p->mode, i - p->before[axis], p->t->dim[axis]);
        pad_from(p, axis + 1, from < 0 || source < 0 ? -1 : from + source * p->own[axis],
                 to + i * p->to[axis]);
    }
}

/* Reads how much goes before and behind each axis: into p->before, and the sizes of the result into `dim`. */
static vta_status read_pads(const vta_call *call, padding *p, int64_t *dim)
{
    const vta_item *t = p->t;
    int64_t store[2][VTA_FLOW_MAX];
    vta_list pads;
    vta_list axes;
    VTA_TRY(vta_call_ints(call, 1, 1, store[0], &pads));
    VTA_TRY(vta_call_ints(call, call->insn->words.count, 3, store[1], &axes));
    const int64_t count = axes.count >= 0 ? axes.count : t->rank;
    if (pads.count != 2 * count) {
        return vta_call_refuse(call, "%lld pads for %lld axes", (long long)pads.count, (long long)count);
    }
    memcpy(dim, t->dim, t->rank * sizeof *dim);
    for (int64_t i = 0; i < count; i++) {
        int64_t axis;
        VTA_TRY(vta_call_axis(call, axes.count >= 0 ? axes.at[i] : i, t->rank, &axis));
        p->before[axis] = pads.at[i];
        if (__builtin_add_overflow(dim[axis], pads.at[i], &dim[axis]) ||
            __builtin_add_overflow(dim[axis], pads.at[count + i], &dim[axis])) {
            return vta_call_refuse(call, "the result is too large");
        }
    }
    return VTA_OK;
}

/* Sets the element that is padded with: input 2, or the float behind the pads in the words. */
static void set_fill(const vta_call *call, padding *p)
{
    const vta_item *t = p->t;
    if (vta_call_has(call, 2) && call->in[2]->count > 0 && call->in[2]->type == t->type) {
        memcpy(p->fill, call->in[2]->data, vta_item_size(t));
        return;
    }
    uint64_t room = 0;
    int64_t after;
    vta_item fill = {.type = t->type, .data = (uint8_t *)&room};
    (void)vta_call_list(call, 1, &after);
    vta_item_set_float(&fill, 0, vta_call_float(call, after));
    memcpy(p->fill, &room, sizeof room);
}

/* inputs: data, pads, value, axes */
vta_status vta_flow_pad(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *t = call->in[0];
    padding p = {.t = t, .mode = vta_call_word(call, 0)};
    int64_t dim[VTA_FLOW_RANK];
    VTA_TRY(read_pads(call, &p, dim));
    VTA_TRY(make(call, 0, t->type, t->rank, dim));
    p.out = call->out[0];
    set_fill(call, &p);
    vta_row_strides(t->dim, t->rank, p.own);
    vta_row_strides(dim, t->rank, p.to);
    if (p.out->count > 0) {
        pad_from(&p, 0, 0, 0);
    }
    return VTA_OK;
}

/* ---- made of nothing ---- */

vta_status vta_flow_range(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 3));
    const vta_item *first = call->in[0];
    for (int64_t i = 0; i < 3; i++) {
        if (call->in[i]->count != 1 || call->in[i]->type != first->type) {
            return vta_call_refuse(call, "its start, limit and step are to be one number each, of one type");
        }
    }
    const bool real = vta_item_is_float(first);
    const double start = vta_item_float(first, 0);
    const double step = vta_item_float(call->in[2], 0);
    const double span = vta_item_float(call->in[1], 0) - start;
    double count = 0;
    if (step != 0 && span / step > 0) {
        count = span / step;
        count = (double)(int64_t)(count < 9e18 ? count : 9e18) < count
                    ? (double)((int64_t)(count < 9e18 ? count : 9e18) + 1)
                    : count;
    }
    if (!(step != 0) || !(count < 9e18)) {
        return vta_call_refuse(call, "from %g in steps of %g it has no end", start, step);
    }
    const int64_t elements = (int64_t)count;
    VTA_TRY(make(call, 0, first->type, 1, &elements));
    for (int64_t i = 0; i < elements; i++) {
        if (real) {
            vta_item_set_float(call->out[0], i, start + (double)i * step);
        } else {
            vta_item_set_int(call->out[0], i, vta_item_int(first, 0) + i * vta_item_int(call->in[2], 0));
        }
    }
    return VTA_OK;
}

/* words: the type, the bits of an element */
vta_status vta_flow_constant_of_shape(vta_call *call)
{
    int64_t dim[VTA_FLOW_RANK];
    int64_t rank = 0;
    VTA_TRY(sizes_of(call, 0, dim, &rank));
    VTA_TRY(make(call, 0, (uint32_t)vta_call_word(call, 0), rank, dim));
    for (int64_t i = 0; i < call->out[0]->count; i++) {
        vta_item_set_int(call->out[0], i, vta_call_word(call, 1));
    }
    return VTA_OK;
}

/* ---- by indices ---- */

static vta_status index_of(const vta_call *call, const vta_item *indices, int64_t i, int64_t size,
                           int64_t *out)
{
    const int64_t given = vta_item_int(indices, i);
    *out = given < 0 ? given + size : given;
    return *out >= 0 && *out < size
               ? VTA_OK
               : vta_call_refuse(call, "index %lld is outside of %lld", (long long)given, (long long)size);
}

vta_status vta_flow_gather(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 2));
    const vta_item *t = call->in[0];
    const vta_item *indices = call->in[1];
    int64_t dim[2 * VTA_FLOW_RANK];
    int64_t axis;
    int64_t rank = 0;
    VTA_TRY(vta_call_axis(call, vta_call_word(call, 0), t->rank, &axis));
    for (int64_t i = 0; i < axis; i++) {
        dim[rank++] = t->dim[i];
    }
    for (uint32_t i = 0; i < indices->rank; i++) {
        dim[rank++] = indices->dim[i];
    }
    for (int64_t i = axis + 1; i < t->rank; i++) {
        dim[rank++] = t->dim[i];
    }
    VTA_TRY(make(call, 0, t->type, rank, dim));
    const size_t inner = (size_t)vta_dims_product(t, axis + 1, t->rank) * vta_item_size(t);
    const int64_t outer = vta_dims_product(t, 0, axis);
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t i = 0; i < indices->count; i++) {
            int64_t at;
            VTA_TRY(index_of(call, indices, i, t->dim[axis], &at));
            memcpy(call->out[0]->data + (size_t)(o * indices->count + i) * inner,
                   t->data + (size_t)(o * t->dim[axis] + at) * inner, inner);
        }
    }
    return VTA_OK;
}

/* The place in `t` of element i of `indices`, whose index counts along `axis`. */
static vta_status element_place(const vta_call *call, const vta_item *t, const vta_item *indices,
                                int64_t axis, int64_t i, int64_t *place)
{
    int64_t left = i;
    int64_t stride = 1;
    *place = 0;
    for (int64_t a = t->rank - 1; a >= 0; a--) {
        int64_t at = left % indices->dim[a];
        left /= indices->dim[a];
        VTA_TRY(a == axis ? index_of(call, indices, i, t->dim[a], &at) : VTA_OK);
        *place += at * stride;
        stride *= t->dim[a];
    }
    return VTA_OK;
}

static vta_status check_elements(const vta_call *call, const vta_item *t, const vta_item *indices,
                                 int64_t axis)
{
    bool ok = t->rank == indices->rank;
    for (uint32_t i = 0; ok && i < t->rank; i++) {
        ok = i == axis || indices->dim[i] <= t->dim[i];
    }
    return ok ? VTA_OK : vta_call_refuse(call, "its indices reach over the data");
}

vta_status vta_flow_gather_elements(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 2));
    const vta_item *t = call->in[0];
    const vta_item *indices = call->in[1];
    const size_t size = vta_item_size(t);
    int64_t axis;
    VTA_TRY(vta_call_axis(call, vta_call_word(call, 0), t->rank, &axis));
    VTA_TRY(check_elements(call, t, indices, axis));
    VTA_TRY(make(call, 0, t->type, indices->rank, indices->dim));
    for (int64_t i = 0; i < indices->count; i++) {
        int64_t place;
        VTA_TRY(element_place(call, t, indices, axis, i, &place));
        memcpy(call->out[0]->data + (size_t)i * size, t->data + (size_t)place * size, size);
    }
    return VTA_OK;
}

/* The block that the index at place i of the last axis of `indices` names, after `batch` axes. */
static vta_status block_place(const vta_call *call, const vta_item *t, const vta_item *indices, int64_t batch,
                              int64_t i, int64_t *place)
{
    const int64_t depth = indices->dim[indices->rank - 1];
    int64_t left = i;
    for (int64_t a = indices->rank - 2; a >= batch; a--) {
        left /= indices->dim[a];
    }
    *place = left; /* the number of the batch */
    for (int64_t k = 0; k < depth; k++) {
        int64_t at;
        VTA_TRY(index_of(call, indices, i * depth + k, t->dim[batch + k], &at));
        *place = *place * t->dim[batch + k] + at;
    }
    return VTA_OK;
}

static vta_status check_blocks(const vta_call *call, const vta_item *t, const vta_item *indices,
                               int64_t batch)
{
    bool ok = indices->rank > 0 && batch >= 0 && batch < indices->rank &&
              batch + indices->dim[indices->rank - 1] <= t->rank;
    for (int64_t i = 0; ok && i < batch; i++) {
        ok = t->dim[i] == indices->dim[i];
    }
    return ok ? VTA_OK : vta_call_refuse(call, "its indices do not fit the data");
}

vta_status vta_flow_gather_nd(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 2));
    const vta_item *t = call->in[0];
    const vta_item *indices = call->in[1];
    const int64_t batch = vta_call_word(call, 0);
    int64_t dim[2 * VTA_FLOW_RANK];
    int64_t rank = 0;
    VTA_TRY(check_blocks(call, t, indices, batch));
    const int64_t depth = indices->dim[indices->rank - 1];
    int64_t blocks = 1;
    for (uint32_t i = 0; i + 1 < indices->rank; i++) {
        dim[rank++] = indices->dim[i];
        blocks *= indices->dim[i];
    }
    for (int64_t i = batch + depth; i < t->rank; i++) {
        dim[rank++] = t->dim[i];
    }
    VTA_TRY(make(call, 0, t->type, rank, dim));
    const size_t bytes = (size_t)vta_dims_product(t, batch + depth, t->rank) * vta_item_size(t);
    for (int64_t i = 0; i < blocks; i++) {
        int64_t place;
        VTA_TRY(block_place(call, t, indices, batch, i, &place));
        memcpy(call->out[0]->data + (size_t)i * bytes, t->data + (size_t)place * bytes, bytes);
    }
    return VTA_OK;
}

enum { SET, ADD, MUL, MAX, MIN };

/* Element `at` of the output becomes one with element i of the updates. */
static void scatter_one(vta_item *to, int64_t at, const vta_item *from, int64_t i, int64_t how)
{
    const size_t size = vta_item_size(to);
    if (how == SET) {
        memcpy(to->data + (size_t)at * size, from->data + (size_t)i * size, size);
    } else if (vta_item_is_float(to)) {
        const double a = vta_item_float(to, at);
        const double b = vta_item_float(from, i);
        vta_item_set_float(to, at, how == ADD ? a + b : how == MUL ? a * b : (how == MAX) == (b > a) ? b : a);
    } else {
        const int64_t a = vta_item_int(to, at);
        const int64_t b = vta_item_int(from, i);
        const uint64_t sum = (uint64_t)a + (uint64_t)b;
        const uint64_t product = (uint64_t)a * (uint64_t)b;
        const bool larger = (to->type & 255) == 0 ? b > a : (uint64_t)b > (uint64_t)a;
        vta_item_set_int(to, at,
                         how == ADD   ? (int64_t)sum
                         : how == MUL ? (int64_t)product
                                      : ((how == MAX) == larger ? b : a));
    }
}

static vta_status copy_input(vta_call *call)
{
    const vta_item *t = call->in[0];
    VTA_TRY(make(call, 0, t->type, t->rank, t->dim));
    memcpy(call->out[0]->data, t->data, t->bytes);
    return call->in[2]->type == t->type ? VTA_OK : vta_call_refuse(call, "its updates are of another type");
}

vta_status vta_flow_scatter_elements(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 3));
    const vta_item *indices = call->in[1];
    int64_t axis;
    VTA_TRY(vta_call_axis(call, vta_call_word(call, 0), call->in[0]->rank, &axis));
    VTA_TRY(check_elements(call, call->in[0], indices, axis));
    VTA_TRY(copy_input(call));
    if (call->in[2]->count != indices->count) {
        return vta_call_refuse(call, "it has not one update for each index");
    }
    for (int64_t i = 0; i < indices->count; i++) {
        int64_t place;
        VTA_TRY(element_place(call, call->in[0], indices, axis, i, &place));
        scatter_one(call->out[0], place, call->in[2], i, vta_call_word(call, 1));
    }
    return VTA_OK;
}

vta_status vta_flow_scatter_nd(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 3));
    const vta_item *indices = call->in[1];
    VTA_TRY(check_blocks(call, call->in[0], indices, 0));
    VTA_TRY(copy_input(call));
    const int64_t depth = indices->dim[indices->rank - 1];
    const int64_t blocks = vta_dims_product(indices, 0, indices->rank - 1);
    const int64_t each = vta_dims_product(call->in[0], depth, call->in[0]->rank);
    if (call->in[2]->count != blocks * each) {
        return vta_call_refuse(call, "it has not one update for each index");
    }
    for (int64_t i = 0; i < blocks; i++) {
        int64_t place;
        VTA_TRY(block_place(call, call->in[0], indices, 0, i, &place));
        for (int64_t k = 0; k < each; k++) {
            scatter_one(call->out[0], place * each + k, call->in[2], i * each + k, vta_call_word(call, 0));
        }
    }
    return VTA_OK;
}

/* ---- sizes that depend on values ---- */

static bool is_set(const vta_item *t, int64_t i)
{
    return t->type == VTA_FLOW_F32 ? ((const float *)(const void *)t->data)[i] != 0
                                   : vta_item_float(t, i) != 0;
}

/* The next place in the order of memory. */
static void next_place(const vta_item *t, int64_t *place)
{
    for (int64_t a = (int64_t)t->rank - 1; a >= 0 && ++place[a] == t->dim[a]; a--) {
        place[a] = 0;
    }
}

vta_status vta_flow_non_zero(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *t = call->in[0];
    int64_t dim[2] = {t->rank, 0};
    int64_t place[VTA_FLOW_RANK] = {0};
    for (int64_t i = 0; i < t->count; i++) {
        dim[1] += is_set(t, i);
    }
    VTA_TRY(make(call, 0, VTA_FLOW_I64, 2, dim));
    int64_t *to = (void *)call->out[0]->data;
    for (int64_t i = 0; i < t->count; i++, next_place(t, place)) {
        for (int64_t a = 0; a < t->rank && is_set(t, i); a++) {
            to[a * dim[1]] = place[a];
        }
        to += is_set(t, i);
    }
    return VTA_OK;
}

vta_status vta_flow_compress(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 2));
    vta_item *t = call->in[0];
    const vta_item *keep = call->in[1];
    int64_t dim[VTA_FLOW_RANK];
    int64_t axis = vta_call_word(call, 0);
    uint32_t rank = t->rank;
    memcpy(dim, t->dim, sizeof dim);
    if (axis == VTA_FLOW_ABSENT) {
        axis = 0;
        rank = 1;
        dim[0] = t->count;
    } else {
        VTA_TRY(vta_call_axis(call, axis, t->rank, &axis));
    }
    const int64_t size = dim[axis];
    const int64_t marks = keep->count < size ? keep->count : size;
    int64_t kept = 0;
    for (int64_t i = 0; i < marks; i++) {
        kept += vta_item_int(keep, i) != 0;
    }
    dim[axis] = kept;
    VTA_TRY(make(call, 0, t->type, rank, dim));
    size_t inner = vta_item_size(t);
    for (uint32_t i = (uint32_t)axis + 1; i < rank; i++) {
        inner *= (size_t)dim[i];
    }
    const int64_t outer = size > 0 && inner > 0 ? (int64_t)(t->bytes / ((size_t)size * inner)) : 0;
    uint8_t *to = call->out[0]->data;
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t i = 0; i < marks; i++) {
            if (vta_item_int(keep, i) != 0) {
                memcpy(to, t->data + (size_t)(o * size + i) * inner, inner);
                to += inner;
            }
        }
    }
    return VTA_OK;
}
