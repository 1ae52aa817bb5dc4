/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that slide a window (convolutions, pools) over tensors of any height and width. Two segments hold
 * the operator for a tile of the output, a large one and a small one; what the tile reads is copied out of
 * the input, with the padding around it, and what it gives is copied into the output. So the tiles run as any
 * static part does, on the host or the accelerator.
 *
 * words: large segment, small segment, axes, automatic padding (0 none, 1 odd place at the end, 2 at the
 * beginning), whether a last window may hang over (ceil_mode), padding (0: the element whose bits follow, 1:
 * the input of that number), its bits or number, what a tile takes (0: all channels of an example; else
 * planes of any example, of whose windows 2: means are over the places inside, 3: over those of the padding,
 * too), then for each axis: kernel, stride, dilation, padding at the
 * beginning, at the end, and how far apart the input's places are (above 1, with padding between: a
 * transposed convolution).
 */
#include <stdlib.h>
#include <string.h>

#include "flow_walk.h"

enum { WORDS = 8, PER_AXIS = 6, MAX_AXES = VTA_FLOW_RANK - 2 };

typedef struct window {
    vta_call *call;
    const vta_segment *tile[2];
    const vta_item *x, *y;
    vta_item *from, *to; /* the tile's */
    uint32_t axes;
    int64_t kernel[MAX_AXES], stride[MAX_AXES], dilation[MAX_AXES], begin[MAX_AXES], end[MAX_AXES];
    int64_t spread[MAX_AXES], size[MAX_AXES]; /* of the input's places: apart, and in all */
    int64_t extent[MAX_AXES];                 /* of the output */
    uint8_t pad[8];
    bool pad_is_zero, planes;
    int64_t first, count; /* planes of x in the tile */
    int64_t at[MAX_AXES]; /* first place of the tile's output */
} window;

static int64_t axis_word(const window *w, uint32_t axis, int64_t i)
{
    return vta_call_word(w->call, WORDS + PER_AXIS * (int64_t)axis + i);
}

static vta_status damaged(const vta_call *call)
{
    return vta_fail(call->diag, VTA_SYNTAX, "its instructions are damaged");
}

static const vta_artifact_tensor *tile_input(const window *w, int which)
{
    return &w->call->flow->artifact->inputs[w->tile[which]->inputs.at[0]];
}

static const vta_artifact_tensor *tile_output(const window *w, int which)
{
    return &w->call->flow->artifact->outputs[w->tile[which]->outputs.at[0]];
}

/* ---- sizes ---- */

static void pad_same(window *w, uint32_t i, bool upper)
{
    const int64_t size = w->size[i];
    const int64_t extent = (size + w->stride[i] - 1) / w->stride[i];
    const int64_t total = (extent - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 - size;
    const int64_t min = total > 0 ? total : 0;
    w->begin[i] = upper ? min / 2 : min - min / 2;
    w->end[i] = min - w->begin[i];
}

static vta_status measure_axis(window *w, uint32_t i)
{
    const int64_t mode = vta_call_word(w->call, 3);
    const int64_t own = w->x->dim[2 + i];
    w->spread[i] = axis_word(w, i, 5);
    if (w->spread[i] < 1 || w->spread[i] > INT32_MAX || own > INT32_MAX) {
        return own > INT32_MAX
                   ? vta_call_refuse(w->call, "axis %u has %lld places, more than 2^31", i, (long long)own)
                   : damaged(w->call);
    }
    const int64_t size = own > 0 ? (own - 1) * w->spread[i] + 1 : 0;
    w->size[i] = size;
    w->kernel[i] = axis_word(w, i, 0);
    w->stride[i] = axis_word(w, i, 1);
    w->dilation[i] = axis_word(w, i, 2);
    w->begin[i] = axis_word(w, i, 3);
    w->end[i] = axis_word(w, i, 4);
    const int64_t max = INT64_C(1) << 33;
    const int64_t reaching = 1 << 16; /* the compiler's own bound is lower */
    if (w->kernel[i] < 1 || w->stride[i] < 1 || w->dilation[i] < 1 || w->kernel[i] > reaching ||
        w->stride[i] > reaching || w->dilation[i] > reaching || w->begin[i] < -max || w->begin[i] > max ||
        w->end[i] < -max || w->end[i] > max) {
        return damaged(w->call);
    }
    if (mode != 0) {
        pad_same(w, i, mode == 1);
    }
    const int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
    const int64_t room = size + w->begin[i] + w->end[i] - reach;
    if (room < 0) {
        return vta_call_refuse(w->call, "the window (%lld) is larger than the padded input (%lld) on axis %u",
                               (long long)reach, (long long)(room + reach), i);
    }
    w->extent[i] = room / w->stride[i] + 1;
    if (vta_call_word(w->call, 4) != 0 && room % w->stride[i] != 0) {
        w->extent[i] += w->extent[i] * w->stride[i] < size + w->begin[i];
    }
    return VTA_OK;
}

static int64_t elements(const vta_artifact_tensor *t)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < t->rank; i++) {
        count *= t->dim[i];
    }
    return count;
}

static vta_status take_segment(window *w, int which)
{
    const vta_flow *f = w->call->flow;
    const int64_t number = vta_call_word(w->call, which);
    if (number < 0 || number >= f->segment_count) {
        return damaged(w->call);
    }
    w->tile[which] = &f->segments[number];
    if (w->tile[which]->inputs.count != w->call->insn->inputs.count || w->tile[which]->inputs.count < 1 ||
        w->tile[which]->outputs.count != 1 || tile_input(w, which)->rank != w->axes + 2 ||
        tile_output(w, which)->rank != w->axes + 2 || elements(tile_input(w, which)) < 1 ||
        elements(tile_output(w, which)) < 1 || tile_input(w, which)->dim[1] != tile_input(w, 0)->dim[1]) {
        return damaged(w->call);
    }
    for (int64_t i = 1; i < w->call->insn->inputs.count; i++) {
        const vta_artifact_tensor *t = &f->artifact->inputs[w->tile[which]->inputs.at[i]];
        if (w->call->in[i]->bytes != t->bytes ||
            (w->call->in[i]->type & 0xffff) != (t->dtype_code | t->dtype_bits << 8)) {
            return vta_call_refuse(w->call, "input %lld has not the size or type that it has in the model",
                                   (long long)i);
        }
    }
    return VTA_OK;
}

static vta_status take_padding(window *w)
{
    const int64_t word = vta_call_word(w->call, 6);
    const size_t size = vta_item_size(w->x);
    if (vta_call_word(w->call, 5) == 0) {
        memcpy(w->pad, &word, sizeof word);
    } else if (vta_call_has(w->call, word) && w->call->in[word]->bytes == size) {
        memcpy(w->pad, w->call->in[word]->data, size);
    } else {
        return vta_call_refuse(w->call, "its zero point is not one element");
    }
    w->pad_is_zero = true;
    for (size_t i = 0; i < size; i++) {
        w->pad_is_zero = w->pad_is_zero && w->pad[i] == 0;
    }
    return VTA_OK;
}

static uint32_t type_of(const vta_artifact_tensor *t, size_t size)
{
    return t->dtype_code | t->dtype_bits << 8 | (uint32_t)size << 16;
}

/* The input is of the shape and type that the tiles are made for. */
static vta_status check_input(const window *w)
{
    const vta_call *call = w->call;
    const vta_artifact_tensor *in = tile_input(w, 0);
    if (w->x->rank != w->axes + 2 || (w->x->type & 0xffff) != (in->dtype_code | in->dtype_bits << 8)) {
        return vta_call_refuse(call, "its input is to have %u axes and the type that it has in the model",
                               w->axes + 2);
    }
    if (!w->planes && w->x->dim[1] != in->dim[1]) {
        return vta_call_refuse(call, "its input has %lld channels, not %lld", (long long)w->x->dim[1],
                               (long long)in->dim[1]);
    }
    return VTA_OK;
}

static vta_status read_words(window *w)
{
    const vta_call *call = w->call;
    VTA_TRY(vta_call_needs(call, call->insn->inputs.count));
    const int64_t axes = vta_call_word(call, 2);
    if (call->insn->inputs.count < 1 || call->insn->outputs.count != 1 || axes < 1 || axes > MAX_AXES) {
        return damaged(call);
    }
    w->axes = (uint32_t)axes;
    w->x = call->in[0];
    VTA_TRY(take_segment(w, 0));
    return take_segment(w, 1);
}

static vta_status open_window(window *w)
{
    vta_call *call = w->call;
    VTA_TRY(read_words(w));
    const vta_artifact_tensor *out = tile_output(w, 0);
    w->planes = vta_call_word(call, 7) != 0;
    VTA_TRY(check_input(w));
    VTA_TRY(take_padding(w));
    int64_t dim[VTA_FLOW_RANK] = {w->x->dim[0], w->planes ? w->x->dim[1] : out->dim[1]};
    for (uint32_t i = 0; i < w->axes; i++) {
        VTA_TRY(measure_axis(w, i));
        dim[2 + i] = w->extent[i];
    }
    const int64_t count = elements(out);
    const uint32_t type = type_of(out, count > 0 ? (size_t)(out->bytes / (uint64_t)count) : 0);
    VTA_TRY(vta_item_tensor(call->flow, type, w->axes + 2, dim, &call->out[0], call->diag));
    w->y = call->out[0];
    return VTA_OK;
}

/* ---- one tile ---- */

static void fill(const window *w, uint8_t *to, int64_t count)
{
    const size_t size = vta_item_size(w->x);
    if (w->pad_is_zero) {
        memset(to, 0, (size_t)count * size);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        memcpy(to + (size_t)i * size, w->pad, size);
    }
}

/* One plane's part of the tile's input, from `axis` on. */
static void gather(const window *w, const int64_t *tile, uint8_t *to, const uint8_t *from, uint32_t axis)
{
    const size_t size = vta_item_size(w->x);
    const int64_t places = w->size[axis];
    const int64_t spread = w->spread[axis];
    const int64_t first = w->at[axis] * w->stride[axis] - w->begin[axis];
    int64_t low = first < 0 ? -first : 0;
    int64_t high = places - first;
    low = low < tile[axis] ? low : tile[axis];
    high = high < low ? low : high < tile[axis] ? high : tile[axis];
    int64_t to_step = 1;
    int64_t from_step = 1;
    for (uint32_t i = axis + 1; i < w->axes; i++) {
        to_step *= tile[i];
        from_step *= w->x->dim[2 + i];
    }
    fill(w, to, low * to_step);
    fill(w, to + (size_t)(high * to_step) * size, (tile[axis] - high) * to_step);
    if (axis + 1 == w->axes && spread == 1) {
        memcpy(to + (size_t)low * size, from + (first + low) * (int64_t)size, (size_t)(high - low) * size);
        return;
    }
    for (int64_t i = low; i < high; i++) {
        uint8_t *own = to + (size_t)(i * to_step) * size;
        const uint8_t *source = from + (first + i) / spread * from_step * (int64_t)size;
        if ((first + i) % spread != 0) {
            fill(w, own, to_step);
        } else if (axis + 1 == w->axes) {
            memcpy(own, source, size);
        } else {
            gather(w, tile, own, source, axis + 1);
        }
    }
}

/* One plane of what the tile gave, where the output has it. */
static void scatter(const window *w, const int64_t *tile, uint8_t *to, const uint8_t *from, uint32_t axis)
{
    const size_t size = vta_item_size(w->y);
    const int64_t left = w->extent[axis] - w->at[axis];
    const int64_t count = left < tile[axis] ? left : tile[axis];
    int64_t to_step = 1;
    int64_t from_step = 1;
    for (uint32_t i = axis + 1; i < w->axes; i++) {
        to_step *= w->extent[i];
        from_step *= tile[i];
    }
    if (axis + 1 == w->axes) {
        memcpy(to + (size_t)w->at[axis] * size, from, (size_t)count * size);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        scatter(w, tile, to + (size_t)((w->at[axis] + i) * to_step) * size,
                from + (size_t)(i * from_step) * size, axis + 1);
    }
}

static int64_t plane_of(const vta_item *t)
{
    return vta_dims_product(t, 2, t->rank);
}

static vta_status run_tile(const window *w, int which)
{
    vta_flow *f = w->call->flow;
    const vta_segment *s = w->tile[which];
    const vta_artifact_tensor *in = tile_input(w, which);
    const vta_artifact_tensor *out = tile_output(w, which);
    const int64_t in_plane = elements(in) / in->dim[1] * (int64_t)vta_item_size(w->x);
    const int64_t out_plane = elements(out) / out->dim[1] * (int64_t)vta_item_size(w->y);
    const int64_t x_plane = plane_of(w->x) * (int64_t)vta_item_size(w->x);
    const int64_t y_plane = plane_of(w->y) * (int64_t)vta_item_size(w->y);
    if (vta_stop_take(f->stop)) {
        return vta_fail(w->call->diag, VTA_INTERRUPTED, "interrupted in the node '%.*s'",
                        w->call->insn->name_size, w->call->insn->name);
    }
    for (int64_t i = 0; i < w->count; i++) {
        gather(w, in->dim + 2, w->from->data + i * in_plane, w->x->data + (w->first + i) * x_plane, 0);
    }
    f->input_places[s->inputs.at[0]] = w->from->data;
    for (int64_t i = 1; i < s->inputs.count; i++) {
        f->input_places[s->inputs.at[i]] = w->call->in[i]->data;
    }
    f->output_places[s->outputs.at[0]] = w->to->data;
    VTA_TRY(f->run_steps(f->self, s->steps.at, s->steps.count, w->call->diag));
    const int64_t first = w->planes ? w->first : w->first / in->dim[1] * out->dim[1];
    for (int64_t i = 0; i < (w->planes ? w->count : out->dim[1]); i++) {
        scatter(w, out->dim + 2, w->y->data + (first + i) * y_plane, w->to->data + i * out_plane, 0);
    }
    return VTA_OK;
}

/* ---- all tiles ---- */

static vta_status tile_region(window *w, int which, const int64_t *low, const int64_t *high, uint32_t axis)
{
    if (axis == w->axes) {
        return run_tile(w, which);
    }
    const int64_t step = tile_output(w, which)->dim[2 + axis];
    for (int64_t at = low[axis]; at < high[axis]; at += step) {
        w->at[axis] = at;
        VTA_TRY(tile_region(w, which, low, high, axis + 1));
    }
    return VTA_OK;
}

/* Large tiles where they fit whole; a slab of small ones behind them on each axis. */
static vta_status tile_planes(window *w)
{
    int64_t low[MAX_AXES] = {0};
    int64_t high[MAX_AXES];
    int64_t large[MAX_AXES] = {0};
    for (uint32_t i = 0; i < w->axes; i++) {
        const int64_t step = tile_output(w, 0)->dim[2 + i];
        large[i] = high[i] = w->extent[i] / step * step;
    }
    VTA_TRY(tile_region(w, 0, low, high, 0));
    for (uint32_t i = 0; i < w->axes; i++) {
        for (uint32_t k = 0; k < w->axes; k++) {
            low[k] = k == i ? large[k] : 0;
            high[k] = k < i ? large[k] : w->extent[k];
        }
        VTA_TRY(tile_region(w, 1, low, high, 0));
    }
    return VTA_OK;
}

static vta_status all_planes(window *w)
{
    const vta_artifact_tensor *in = tile_input(w, 0);
    const vta_artifact_tensor *out = tile_output(w, 0);
    vta_flow *f = w->call->flow;
    const int64_t planes = w->x->dim[0] * w->x->dim[1];
    VTA_TRY(vta_item_tensor(f, w->x->type, in->rank, in->dim, &w->from, w->call->diag));
    VTA_TRY(vta_item_tensor(f, w->y->type, out->rank, out->dim, &w->to, w->call->diag));
    memset(w->from->data, 0, w->from->bytes);
    for (w->first = 0; w->first < planes; w->first += in->dim[1]) {
        w->count = planes - w->first < in->dim[1] ? planes - w->first : in->dim[1];
        VTA_TRY(tile_planes(w));
    }
    return VTA_OK;
}

/* ---- means at the edges ---- */

/* Of the places of a window those that count: inside of the input, or of the padding, too. */
static int64_t counted(const window *w, uint32_t axis, int64_t at, bool with_padding)
{
    const int64_t low = with_padding ? -w->begin[axis] : 0;
    const int64_t high = w->size[axis] + (with_padding ? w->end[axis] : 0);
    const int64_t first = at * w->stride[axis] - w->begin[axis];
    int64_t count = 0;
    for (int64_t k = 0; k < w->kernel[axis]; k++) {
        const int64_t place = first + k * w->dilation[axis];
        count += place >= low && place < high;
    }
    return count;
}

static void correct_means(const window *w, bool with_padding)
{
    const int64_t plane = plane_of(w->y);
    const int64_t planes = w->y->dim[0] * w->y->dim[1];
    vta_item *y = w->call->out[0];
    for (int64_t i = 0; i < plane; i++) {
        double factor = 1.0;
        int64_t rest = i;
        for (uint32_t axis = w->axes; axis-- > 0;) {
            const int64_t count = counted(w, axis, rest % w->extent[axis], with_padding);
            factor *= count > 0 ? (double)w->kernel[axis] / (double)count : 1.0;
            rest /= w->extent[axis];
        }
        for (int64_t p = 0; factor != 1.0 && p < planes; p++) {
            vta_item_set_float(y, p * plane + i, vta_item_float(y, p * plane + i) * factor);
        }
    }
}

vta_status vta_flow_window(vta_call *call)
{
    window w = {.call = call};
    VTA_TRY(open_window(&w));
    vta_status status = w.y->count > 0 ? all_planes(&w) : VTA_OK;
    vta_item_drop(call->flow, w.from);
    vta_item_drop(call->flow, w.to);
    if (status == VTA_OK && vta_call_word(call, 7) > 1) {
        correct_means(&w, vta_call_word(call, 7) == 3);
    }
    return status;
}
