/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools of volumes [n, c, d, h, w], as pools of images:
 *
 *     maximum   of each slice, [n·d, c, h, w]; then of the slices that a place in depth sees, with their rows
 *               interleaved, [n·d', c, h'·k, w']
 *
 *     mean      the rows of the slices in a window are interleaved, [n·d', c, h·k, w], so a window of
 *               the image holds the whole window of the volume. If padding does not count, places at the
 *               border are means of fewer slices: there is one pool for each number of slices
 */
#include <string.h>

#include "../ops/infer.h"
#include "volume.h"

enum { RANK = VTAC_VOLUME_RANK, MAX_SLICES = 16, MAX_INPUTS = 5 };

typedef struct volume_pool {
    vtac_window window;
    int64_t n, d, ceil_mode;
    bool is_max, includes_padding;
} volume_pool;

static bool read_pool(const vtac_node_builder *b, volume_pool *v)
{
    const vtac_node *node = &b->like;
    const bool all = node->op == VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL || node->op == VTAC_OP_GLOBAL_MAX_POOL;
    vta_diag quiet = {0};
    v->is_max = node->op == VTAC_OP_MAX_POOL || node->op == VTAC_OP_GLOBAL_MAX_POOL;
    v->includes_padding = vtac_attr_int(node, "count_include_pad", 0) != 0;
    v->ceil_mode = vtac_attr_int(node, "ceil_mode", 0);
    if ((!v->is_max && !all && node->op != VTAC_OP_QLINEAR_AVERAGE_POOL) || node->output_count != 1 ||
        vtac_attr_int(node, "channels_last", 0) != 0 || vtac_find_attr(node, "rounding") != NULL) {
        return false;
    }
    const vtac_type *x = vtac_in_type(b->graph, node, 0);
    if (x->rank != RANK || vtac_type_elements(x) < 1 || (x->dtype != VTAC_I8 && x->dtype != VTAC_U8) ||
        vtac_b_elements(b, node->outputs[0]) < 1) {
        return false;
    }
    v->n = x->dim[0];
    v->d = x->dim[VTAC_DEPTH];
    if (all) {
        v->window = (vtac_window){.kernel = {v->d, x->dim[3], x->dim[4]},
                                  .stride = {1, 1, 1},
                                  .dilation = {1, 1, 1},
                                  .extent = {1, 1, 1}};
    } else if (vtac_window_of(node, x, NULL, true, &v->window, &quiet) != VTA_OK) {
        return false;
    }
    const vtac_window *w = &v->window;
    return w->kernel[0] <= MAX_SLICES &&
           (v->is_max || (w->dilation[0] * w->dilation[1] * w->dilation[2] == 1 &&
                          (all || vtac_in_constant(b->graph, node, VTAC_QLINEAR_X_ZERO) != NULL)));
}

/* Finds the slices that a place sees, including padding that counts; returns their number. */
static int64_t seen_by(const volume_pool *v, int64_t place, int64_t *slices)
{
    const vtac_window *w = &v->window;
    const int64_t first = v->is_max || !v->includes_padding ? 0 : -w->pad_begin[0];
    const int64_t end = v->is_max || !v->includes_padding ? v->d : v->d + w->pad_end[0];
    int64_t count = 0;
    for (int64_t tap = 0; tap < w->kernel[0]; tap++) {
        const int64_t at = place * w->stride[0] + tap * w->dilation[0] - w->pad_begin[0];
        if (at >= first && at < end) {
            slices[count++] = at;
        }
    }
    return count;
}

/* ---- the pool of images */

/* Adds a pool with `rows` rows for each row of the volume; `planes`: over rows and columns, too. */
static vta_status add_pool(const vtac_node_builder *b, const volume_pool *v, int64_t rows, bool planes,
                           vtac_value_id *x)
{
    const vtac_window *w = &v->window;
    const int64_t one = planes ? 1 : 0;
    const int64_t kernels[2] = {planes ? w->kernel[1] * rows : rows, planes ? w->kernel[2] : 1};
    const int64_t strides[2] = {planes ? w->stride[1] * rows : rows, planes ? w->stride[2] : 1};
    const int64_t dilations[2] = {planes ? w->dilation[1] : 1, planes ? w->dilation[2] : 1};
    const int64_t pads[4] = {one * w->pad_begin[1] * rows, one * w->pad_begin[2], one * w->pad_end[1] * rows,
                             one * w->pad_end[2]};
    vtac_value_id inputs[MAX_INPUTS] = {0};
    const vtac_attr attrs[] = {
        {.name = "kernel_shape", .kind = VTAC_ATTR_INTS, .count = 2, .ints = kernels},
        {.name = "strides", .kind = VTAC_ATTR_INTS, .count = 2, .ints = strides},
        {.name = "pads", .kind = VTAC_ATTR_INTS, .count = 4, .ints = pads},
        {.name = "ceil_mode", .kind = VTAC_ATTR_INT, .i = one * v->ceil_mode},
        v->is_max ? (vtac_attr){.name = "dilations", .kind = VTAC_ATTR_INTS, .count = 2, .ints = dilations}
                  : (vtac_attr){.name = "count_include_pad", .kind = VTAC_ATTR_INT, .i = v->includes_padding},
    };
    memcpy(inputs, b->like.inputs, b->like.input_count * sizeof *inputs);
    inputs[0] = *x;
    return vtac_volume_layer(b, v->is_max ? VTAC_OP_MAX_POOL : VTAC_OP_QLINEAR_AVERAGE_POOL, inputs,
                             b->like.input_count, attrs, 5, x);
}

/* ---- maxima */

/* Finds the taps of a maximum. A place that sees fewer slices sees one of them several times. */
static vta_status max_taps(const vtac_node_builder *b, const volume_pool *v, vtac_taps *t, bool *good)
{
    const vtac_window *w = &v->window;
    *t = (vtac_taps){NULL, w->extent[0], w->kernel[0]};
    t->slices = vta_arena_array(b->arena, (size_t)(t->places * t->taps) + 1, sizeof *t->slices);
    *good = true;
    for (int64_t place = 0; t->slices != NULL && place < t->places; place++) {
        int64_t seen[MAX_SLICES];
        const int64_t count = seen_by(v, place, seen);
        *good = *good && count > 0;
        for (int64_t tap = 0; *good && tap < t->taps; tap++) {
            t->slices[place * t->taps + tap] = seen[tap < count ? tap : 0];
        }
    }
    return t->slices != NULL ? VTA_OK : vtac_b_no_memory(b);
}

static vta_status replace_by_maxima(const vtac_node_builder *b, const volume_pool *v, const vtac_taps *t,
                                    vtac_value_id x, vtac_legalized *p)
{
    const vtac_window *w = &v->window;
    const bool in_planes = w->kernel[1] * w->kernel[2] * w->stride[1] * w->stride[2] > 1 ||
                           w->pad_begin[1] + w->pad_begin[2] + w->pad_end[1] + w->pad_end[2] > 0;
    const bool in_depth = !vtac_taps_are_slices(t, v->d);
    if (in_planes || !in_depth) {
        VTA_TRY(vtac_volume_slices(b, &x));
        VTA_TRY(add_pool(b, v, 1, true, &x));
        VTA_TRY(in_depth ? vtac_volume_back(b, v->n, &x) : VTA_OK);
    }
    if (in_depth) {
        VTA_TRY(vtac_volume_rows(b, t, &x));
        VTA_TRY(t->taps > 1 ? add_pool(b, v, t->taps, false, &x) : VTA_OK);
    }
    p->made = p->stands = x;
    return vtac_volume_back(b, v->n, &p->stands);
}

/* ---- means */

/* Adds one pool for the places that see `count` slices, in order. */
static vta_status mean_of(const vtac_node_builder *b, const volume_pool *v, int64_t count, int64_t *order,
                          int64_t *found, vtac_value_id *x)
{
    const int64_t places = v->window.extent[0];
    int64_t seen[MAX_SLICES];
    vtac_taps t = {.taps = count};
    t.slices = vta_arena_array(b->arena, (size_t)(places * count) + 1, sizeof *t.slices);
    if (t.slices == NULL) {
        return vtac_b_no_memory(b);
    }
    for (int64_t place = 0; place < places; place++) {
        if (seen_by(v, place, seen) == count) {
            memcpy(t.slices + t.places++ * count, seen, (size_t)count * sizeof *seen);
            order[place] = (*found)++;
        }
    }
    if (vtac_taps_are_slices(&t, v->d)) {
        VTA_TRY(vtac_volume_slices(b, x));
    } else {
        VTA_TRY(vtac_volume_rows(b, &t, x));
    }
    return add_pool(b, v, count, true, x);
}

static vta_status replace_by_means(const vtac_node_builder *b, const volume_pool *v, vtac_value_id x,
                                   vtac_legalized *p)
{
    const int64_t places = v->window.extent[0];
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = VTAC_DEPTH};
    vtac_value_id parts[MAX_SLICES], which;
    int64_t seen[MAX_SLICES], found = 0;
    uint32_t count = 0;
    int64_t *order = vta_arena_array(b->arena, (size_t)places + 1, sizeof *order);
    if (order == NULL) {
        return vtac_b_no_memory(b);
    }
    for (int64_t taps = 1; taps <= v->window.kernel[0]; taps++) {
        bool any = false;
        for (int64_t place = 0; place < places; place++) {
            any = any || seen_by(v, place, seen) == taps;
        }
        if (any) {
            parts[count] = x;
            VTA_TRY(mean_of(b, v, taps, order, &found, &parts[count]));
            p->made = parts[count];
            VTA_TRY(vtac_volume_back(b, v->n, &parts[count++]));
        }
    }
    p->stands = parts[0];
    if (count == 1) {
        return VTA_OK;
    }
    VTA_TRY(vtac_b_add(b, VTAC_OP_CONCAT, parts, count, &axis, 1, &p->stands));
    VTA_TRY(vtac_b_list(b, order, (uint32_t)places, &which));
    return vtac_b_apply(b, VTAC_OP_GATHER, which, &axis, &p->stands);
}

/* True if a window in depth lies entirely in the padding. */
static bool sees_nothing(const volume_pool *v)
{
    int64_t seen[MAX_SLICES];
    bool none = false;
    for (int64_t place = 0; place < v->window.extent[0]; place++) {
        none = none || seen_by(v, place, seen) == 0;
    }
    return none;
}

static vta_status replace_pool(const vtac_node_builder *b, const volume_pool *v, vtac_legalized *p)
{
    vtac_value_id x;
    vtac_taps taps;
    bool good;
    VTA_TRY(vtac_b_hold(b, b->like.inputs[0], &p->holders[0], &x));
    if (v->is_max) {
        VTA_TRY(max_taps(b, v, &taps, &good));
        VTA_TRY(replace_by_maxima(b, v, &taps, x, p));
    } else {
        VTA_TRY(replace_by_means(b, v, x, p));
    }
    p->may_stay = true;
    vtac_swap_names(b->graph, b->like.outputs[0], p->stands);
    vtac_replace_uses(b->graph, b->like.outputs[0], p->stands);
    return VTA_OK;
}

/* If slices have to move first and no layer is in front, the host is as fast, so the pool stays there. */
vta_status vtac_legalize_volume_pool(const vtac_node_builder *b, bool always, vtac_legalized *p, bool *done)
{
    volume_pool v;
    *done = read_pool(b, &v) && !sees_nothing(&v) && (always || vtac_volume_is_sliced(b, b->like.inputs[0]));
    return *done ? replace_pool(b, &v, p) : VTA_OK;
}
