/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions of volumes. The outputs at one place in depth are a convolution of an image that has the
 * channels of all its slices, so places in depth become images of a batch:
 *
 *     QLinearConv(x [n, c, d, h, w])  ->  back(QLinearConv(slices of x [n·d', k·c, h, w]))
 *
 * In depthwise convolutions the rows of the k slices are interleaved instead, [n·d', c, h·k, w], and so are
 * the rows of the kernel.
 */
#include "volume.h"

#include <string.h>

#include "../ops/infer.h"

enum { RANK = VTAC_VOLUME_RANK, MAX_SLICES = 16, AXIS_C = 1, MIN_PRODUCTS = 1 << 14 };

/* ---- slices */

static const int64_t slices_first[RANK] = {0, 2, 1, 3, 4};

static bool is_ours(const vtac_node *node, vtac_op op)
{
    return node != NULL && node->op == op && vtac_attr_int(node, "host", 0) != 0;
}

/* The slices that a value was made of; 0: none. */
static vtac_value_id slices_of(const vtac_node_builder *b, vtac_value_id x)
{
    const vtac_type volume = vtac_b_type(b, x);
    const vtac_node *node = vtac_producer_of(b->graph, x);
    if (volume.rank != RANK) {
        return 0;
    }
    if (is_ours(node, VTAC_OP_TRANSPOSE)) {
        node = vtac_producer_of(b->graph, node->inputs[0]);
    }
    if (!is_ours(node, VTAC_OP_RESHAPE)) {
        return 0;
    }
    const vtac_type type = vtac_b_type(b, node->inputs[0]);
    const bool same = type.rank == 4 && type.dim[0] == volume.dim[0] * volume.dim[VTAC_DEPTH] &&
                      type.dim[1] == volume.dim[AXIS_C] && type.dim[2] == volume.dim[3] &&
                      type.dim[3] == volume.dim[4];
    return same ? node->inputs[0] : 0;
}

bool vtac_volume_is_sliced(const vtac_node_builder *b, vtac_value_id x)
{
    return slices_of(b, x) != 0;
}

vta_status vtac_volume_slices(const vtac_node_builder *b, vtac_value_id *x)
{
    const vtac_value_id there = slices_of(b, *x);
    const vtac_type t = vtac_b_type(b, *x);
    if (there != 0) {
        *x = there;
        return VTA_OK;
    }
    VTA_TRY(t.dim[VTAC_DEPTH] > 1 ? vtac_b_transpose(b, slices_first, RANK, x) : VTA_OK);
    return vtac_b_reshape(b, (int64_t[]){t.dim[0] * t.dim[VTAC_DEPTH], t.dim[AXIS_C], t.dim[3], t.dim[4]}, 4,
                          x);
}

vta_status vtac_volume_back(const vtac_node_builder *b, int64_t n, vtac_value_id *x)
{
    const vtac_type t = vtac_b_type(b, *x);
    const int64_t depth = t.dim[0] / n;
    if (depth == 1) {
        return vtac_b_reshape(b, (int64_t[]){n, t.dim[1], 1, t.dim[2], t.dim[3]}, RANK, x);
    }
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){n, depth, t.dim[1], t.dim[2], t.dim[3]}, RANK, x));
    return vtac_b_transpose(b, slices_first, RANK, x);
}

bool vtac_taps_are_slices(const vtac_taps *t, int64_t depth)
{
    bool same = t->taps == 1 && t->places == depth;
    for (int64_t i = 0; same && i < depth; i++) {
        same = t->slices[i] == i;
    }
    return same;
}

/* Pads depth as far as the taps reach; *before gets the padding in front. */
static vta_status pad_depth(const vtac_node_builder *b, const vtac_taps *t, int64_t *before, vtac_value_id *x)
{
    const int64_t depth = vtac_b_type(b, *x).dim[VTAC_DEPTH];
    int64_t pads[2 * RANK] = {0}, after = 0;
    *before = 0;
    for (int64_t i = 0; i < t->places * t->taps; i++) {
        *before = -t->slices[i] > *before ? -t->slices[i] : *before;
        after = t->slices[i] - depth + 1 > after ? t->slices[i] - depth + 1 : after;
    }
    if (*before == 0 && after == 0) {
        return VTA_OK;
    }
    vtac_value_id inputs[3] = {*x, 0, b->like.inputs[VTAC_QLINEAR_CONV_X_ZERO]};
    pads[VTAC_DEPTH] = *before;
    pads[RANK + VTAC_DEPTH] = after;
    VTA_TRY(vtac_b_reshape(b, NULL, 0, &inputs[VTAC_PAD_VALUE]));
    VTA_TRY(vtac_b_list(b, pads, 2 * RANK, &inputs[VTAC_PAD_PADS]));
    return vtac_b_add(b, VTAC_OP_PAD, inputs, 3, NULL, 0, x);
}

vta_status vtac_volume_take(const vtac_node_builder *b, const vtac_taps *t, vtac_value_id *x)
{
    const int64_t count = t->places * t->taps;
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = VTAC_DEPTH};
    int64_t before, *from = vta_arena_array(b->arena, (size_t)count + 1, sizeof *from);
    vtac_value_id which;
    if (from == NULL) {
        return vtac_b_no_memory(b);
    }
    VTA_TRY(pad_depth(b, t, &before, x));
    const vtac_type type = vtac_b_type(b, *x);
    bool all = count == type.dim[VTAC_DEPTH];
    for (int64_t i = 0; i < count; i++) {
        from[i] = t->slices[i] + before;
        all = all && from[i] == i;
    }
    if (!all) {
        VTA_TRY(vtac_b_list(b, from, (uint32_t)count, &which));
        VTA_TRY(vtac_b_apply(b, VTAC_OP_GATHER, which, &axis, x));
    }
    return vtac_b_reshape(
        b, (int64_t[]){type.dim[0], type.dim[AXIS_C], t->places, t->taps, type.dim[3], type.dim[4]}, RANK + 1,
        x);
}

vta_status vtac_volume_rows(const vtac_node_builder *b, const vtac_taps *t, vtac_value_id *x)
{
    VTA_TRY(vtac_volume_take(b, t, x));
    const vtac_type type = vtac_b_type(b, *x);
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){0, 2, 1, 4, 3, 5}, RANK + 1, x));
    return vtac_b_reshape(
        b, (int64_t[]){type.dim[0] * t->places, type.dim[AXIS_C], type.dim[4] * t->taps, type.dim[5]}, 4, x);
}

vta_status vtac_volume_layer(const vtac_node_builder *b, vtac_op op, const vtac_value_id *inputs,
                             uint32_t count, const vtac_attr *attrs, uint32_t attr_count, vtac_value_id *out)
{
    static const char *const kept[] = {"clip_low", "clip_high"};
    vtac_attr all[8];
    memcpy(all, attrs, attr_count * sizeof *all);
    for (int i = 0; i < 2; i++) {
        const vtac_attr *attr = vtac_find_attr(&b->like, kept[i]);
        if (attr != NULL) {
            all[attr_count++] = *attr;
        }
    }
    return vtac_b_add(b, op, inputs, count, all, attr_count, out);
}

/* ---- convolutions */

typedef struct volume {
    vtac_window window;
    const vtac_tensor *w;
    int64_t n, groups, in_group, outputs;
    bool each; /* depthwise */
    vtac_taps taps;
} volume;

static bool read_volume(const vtac_node_builder *b, volume *v)
{
    const vtac_node *node = &b->like;
    vta_diag quiet = {0};
    if (node->op != VTAC_OP_QLINEAR_CONV || vtac_find_attr(node, "rounding") != NULL) {
        return false;
    }
    const vtac_type *x = vtac_in_type(b->graph, node, VTAC_QLINEAR_CONV_X);
    v->w = vtac_in_constant(b->graph, node, VTAC_QLINEAR_CONV_WEIGHT);
    if (x->rank != RANK || v->w == NULL || vtac_type_elements(x) < 1 || vtac_type_elements(&v->w->type) < 1 ||
        vtac_dtype_bytes(v->w->type.dtype) != 1 ||
        vtac_in_constant(b->graph, node, VTAC_QLINEAR_CONV_X_ZERO) == NULL ||
        vtac_window_of(node, x, &v->w->type, false, &v->window, &quiet) != VTA_OK) {
        return false;
    }
    v->n = x->dim[0];
    v->groups = vtac_attr_int(node, "group", 1);
    v->in_group = x->dim[AXIS_C] / v->groups;
    v->outputs = v->w->type.dim[0];
    v->each = v->groups > 1 && v->in_group == 1 && v->window.dilation[1] == 1;
    return v->window.kernel[0] <= MAX_SLICES;
}

static vta_status find_taps(const vtac_node_builder *b, volume *v)
{
    const vtac_window *w = &v->window;
    v->taps = (vtac_taps){NULL, w->extent[0], w->kernel[0]};
    v->taps.slices = vta_arena_array(b->arena, (size_t)(w->extent[0] * w->kernel[0]) + 1, sizeof(int64_t));
    for (int64_t i = 0; v->taps.slices != NULL && i < w->extent[0] * w->kernel[0]; i++) {
        v->taps.slices[i] =
            i / w->kernel[0] * w->stride[0] + i % w->kernel[0] * w->dilation[0] - w->pad_begin[0];
    }
    return v->taps.slices != NULL ? VTA_OK : vtac_b_no_memory(b);
}

/* Gathers the slices: [n·places, groups · taps · channels of a group, h, w]. */
static vta_status gather_slices(const vtac_node_builder *b, const volume *v, vtac_value_id *x)
{
    const vtac_taps *t = &v->taps;
    const vtac_type type = vtac_b_type(b, *x);
    if (vtac_taps_are_slices(t, type.dim[VTAC_DEPTH])) {
        return vtac_volume_slices(b, x);
    }
    if (v->each) {
        return vtac_volume_rows(b, t, x);
    }
    const int64_t apart[] = {v->n, v->groups, v->in_group, t->places, t->taps, type.dim[3], type.dim[4]};
    VTA_TRY(vtac_volume_take(b, t, x));
    VTA_TRY(vtac_b_reshape(b, apart, 7, x));
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){0, 3, 1, 4, 2, 5, 6}, 7, x));
    return vtac_b_reshape(
        b, (int64_t[]){v->n * t->places, t->taps * type.dim[AXIS_C], type.dim[3], type.dim[4]}, 4, x);
}

/* Converts [outputs, c, k, kh, kw] to [outputs, k·c, kh, kw], or to [outputs, 1, kh·k, kw] if depthwise. */
static vta_status convert_weights(const vtac_node_builder *b, const volume *v, vtac_value_id *out)
{
    const vtac_type *was = &v->w->type;
    const int64_t taps = was->dim[2], c = v->in_group, wide = was->dim[4], plane = was->dim[3] * wide;
    const uint8_t *from = v->w->data;
    uint8_t *data = vta_arena_array(b->arena, (size_t)vtac_type_elements(was), 1);
    if (data == NULL) {
        return vtac_b_no_memory(b);
    }
    for (int64_t i = 0; i < v->outputs * c * taps * was->dim[3]; i++) {
        const int64_t o = i / was->dim[3] / taps / c, channel = i / was->dim[3] / taps % c;
        const int64_t tap = i / was->dim[3] % taps, row = i % was->dim[3];
        const int64_t to = v->each ? (o * was->dim[3] + row) * taps + tap
                                   : ((o * taps + tap) * c + channel) * was->dim[3] + row;
        memcpy(data + to * wide, from + i * wide, (size_t)wide);
    }
    vtac_type type = {.dtype = was->dtype, .rank = 4, .dim = {v->outputs, taps * c, was->dim[3], wide}};
    if (v->each) {
        type.dim[1] = 1;
        type.dim[2] = plane / wide * taps;
    }
    return vtac_b_constant(b, type, data, out);
}

static vta_status add_conv(const vtac_node_builder *b, const volume *v, vtac_value_id x, vtac_value_id *out)
{
    enum { MAX_INPUTS = 9 };
    const vtac_window *w = &v->window;
    const int64_t rows = v->each ? w->kernel[0] : 1;
    vtac_value_id inputs[MAX_INPUTS] = {0};
    const int64_t pads[4] = {w->pad_begin[1] * rows, w->pad_begin[2], w->pad_end[1] * rows, w->pad_end[2]};
    const int64_t strides[2] = {w->stride[1] * rows, w->stride[2]};
    const vtac_attr attrs[] = {
        {.name = "pads", .kind = VTAC_ATTR_INTS, .count = 4, .ints = pads},
        {.name = "strides", .kind = VTAC_ATTR_INTS, .count = 2, .ints = strides},
        {.name = "dilations", .kind = VTAC_ATTR_INTS, .count = 2, .ints = w->dilation + 1},
        {.name = "group", .kind = VTAC_ATTR_INT, .i = v->groups},
    };
    memcpy(inputs, b->like.inputs, b->like.input_count * sizeof *inputs);
    inputs[VTAC_QLINEAR_CONV_X] = x;
    VTA_TRY(convert_weights(b, v, &inputs[VTAC_QLINEAR_CONV_WEIGHT]));
    return vtac_volume_layer(b, VTAC_OP_QLINEAR_CONV, inputs, b->like.input_count, attrs, 4, out);
}

static vta_status replace_conv(const vtac_node_builder *b, volume *v, vtac_legalized *p)
{
    vtac_value_id x;
    VTA_TRY(find_taps(b, v));
    if (vtac_taps_are_slices(&v->taps,
                             vtac_in_type(b->graph, &b->like, VTAC_QLINEAR_CONV_X)->dim[VTAC_DEPTH]) &&
        vtac_volume_is_sliced(b, b->like.inputs[VTAC_QLINEAR_CONV_X])) {
        x = b->like.inputs[VTAC_QLINEAR_CONV_X];
    } else {
        VTA_TRY(vtac_b_hold(b, b->like.inputs[VTAC_QLINEAR_CONV_X], &p->holders[0], &x));
    }
    VTA_TRY(gather_slices(b, v, &x));
    VTA_TRY(add_conv(b, v, x, &p->made));
    p->stands = p->made;
    p->may_stay = true;
    VTA_TRY(vtac_volume_back(b, v->n, &p->stands));
    vtac_swap_names(b->graph, b->like.outputs[0], p->stands);
    vtac_replace_uses(b->graph, b->like.outputs[0], p->stands);
    return VTA_OK;
}

static vta_status legalize_volume(const vtac_node_builder *b, bool always, vtac_legalized *p, bool *done)
{
    volume v;
    *done = read_volume(b, &v) &&
            (always || vtac_b_elements(b, b->like.outputs[0]) * vtac_type_elements(&v.w->type) / v.outputs >=
                           MIN_PRODUCTS);
    if (*done) {
        return replace_conv(b, &v, p);
    }
    VTA_TRY(vtac_legalize_volume_pool(b, always, p, done));
    return *done ? VTA_OK : vtac_legalize_volume_point(b, always, p, done);
}

vta_status vtac_legalize_volumes(vtac_graph *graph, const vta_config *config, bool always, vta_arena *arena,
                                 vtac_legalized_list *out, vta_diag *diag)
{
    return vtac_legalize_nodes(graph, config, always, arena, legalize_volume, out, diag);
}
