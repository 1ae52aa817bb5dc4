/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions of volumes. Those of one place in depth are a convolution of an image whose channels are the
 * channels of all its slices, so the places in depth become images of a batch:
 *
 *     QLinearConv(x [n, c, d, h, w])  ->  back(QLinearConv(slices(x) [n·d', k·c, h, w]))
 *
 * k slices and their padding are put side by side by the host.
 */
#include <string.h>

#include "../ops/infer.h"
#include "builder.h"
#include "partition.h"

enum { RANK = 5, MOST_SLICES = 16, AXIS_C = 1, AXIS_D = 2, LEAST_PRODUCTS = 1 << 14 };

typedef struct volume {
    vtac_window window;
    const vtac_tensor *w;
    int64_t n, c, h, wide, outputs;
} volume;

static bool read_volume(const vtac_builder *b, volume *v)
{
    const vtac_node *node = &b->like;
    vta_diag quiet = {0};
    if (node->op != VTAC_OP_QLINEAR_CONV || vtac_find_attr(node, "rounding") != NULL ||
        vtac_attr_int(node, "group", 1) != 1) {
        return false;
    }
    const vtac_type *x = vtac_in_type(b->graph, node, 0);
    v->w = vtac_in_constant(b->graph, node, 3);
    if (x->rank != RANK || v->w == NULL || vtac_type_elements(x) < 1 || vtac_type_elements(&v->w->type) < 1 ||
        vtac_dtype_bytes(v->w->type.dtype) != 1 || vtac_in_constant(b->graph, node, 2) == NULL ||
        vtac_window_of(node, x, &v->w->type, false, &v->window, &quiet) != VTA_OK) {
        return false;
    }
    v->n = x->dim[0];
    v->c = x->dim[AXIS_C];
    v->h = x->dim[3];
    v->wide = x->dim[4];
    v->outputs = v->w->type.dim[0];
    return v->window.kernel[0] <= MOST_SLICES;
}

/* Depth with padding, from both sides. */
static vta_status pad_depth(const vtac_builder *b, const volume *v, vtac_value_id *x)
{
    int64_t pads[2 * RANK] = {0};
    vtac_value_id inputs[3] = {*x, 0, b->like.inputs[2]};
    pads[AXIS_D] = v->window.pad_begin[0];
    pads[RANK + AXIS_D] = v->window.pad_end[0];
    if (pads[AXIS_D] == 0 && pads[RANK + AXIS_D] == 0) {
        return VTA_OK;
    }
    VTA_TRY(vtac_b_reshape(b, NULL, 0, &inputs[2]));
    VTA_TRY(vtac_b_list(b, pads, 2 * RANK, &inputs[1]));
    return vtac_b_add(b, VTAC_OP_PAD, inputs, 3, NULL, 0, x);
}

/* What tap `tap` of the depth sees, for all places. */
static vta_status slice(const vtac_builder *b, const volume *v, int64_t tap, vtac_value_id x,
                        vtac_value_id *out)
{
    const vtac_window *w = &v->window;
    const int64_t first = tap * w->dilation[0], end = first + (w->extent[0] - 1) * w->stride[0] + 1;
    vtac_value_id inputs[5] = {x};
    VTA_TRY(vtac_b_list(b, &first, 1, &inputs[1]));
    VTA_TRY(vtac_b_list(b, &end, 1, &inputs[2]));
    VTA_TRY(vtac_b_list(b, (int64_t[]){AXIS_D}, 1, &inputs[3]));
    VTA_TRY(vtac_b_list(b, &w->stride[0], 1, &inputs[4]));
    return vtac_b_add(b, VTAC_OP_SLICE, inputs, 5, NULL, 0, out);
}

static vta_status put_slices(const vtac_builder *b, const volume *v, vtac_value_id *x)
{
    const int64_t taps = v->window.kernel[0], places = v->window.extent[0];
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = AXIS_C};
    vtac_value_id parts[MOST_SLICES];
    VTA_TRY(pad_depth(b, v, x));
    for (int64_t tap = 0; tap < taps; tap++) {
        VTA_TRY(slice(b, v, tap, *x, &parts[tap]));
    }
    VTA_TRY(vtac_b_add(b, VTAC_OP_CONCAT, parts, (uint32_t)taps, &axis, 1, x));
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){0, 2, 1, 3, 4}, RANK, x));
    return vtac_b_reshape(b, (int64_t[]){v->n * places, taps * v->c, v->h, v->wide}, 4, x);
}

/* [outputs, c, k, kh, kw] as [outputs, k·c, kh, kw]. */
static vta_status turn_weights(const vtac_builder *b, const volume *v, vtac_value_id *out)
{
    const vtac_type *was = &v->w->type;
    const int64_t taps = was->dim[2], plane = was->dim[3] * was->dim[4];
    const uint8_t *from = v->w->data;
    uint8_t *data = vta_arena_array(b->arena, (size_t)vtac_type_elements(was), 1);
    if (data == NULL) {
        return vtac_b_no_memory(b);
    }
    for (int64_t i = 0; i < v->outputs * v->c * taps; i++) {
        const int64_t o = i / (v->c * taps), c = i / taps % v->c, tap = i % taps;
        memcpy(data + ((o * taps + tap) * v->c + c) * plane, from + i * plane, (size_t)plane);
    }
    const vtac_type type = {
        .dtype = was->dtype, .rank = 4, .dim = {v->outputs, taps * v->c, was->dim[3], was->dim[4]}};
    return vtac_b_constant(b, type, data, out);
}

static vta_status add_conv(const vtac_builder *b, const volume *v, vtac_value_id x, vtac_value_id *out)
{
    enum { MOST_INPUTS = 9 };
    const vtac_window *w = &v->window;
    vtac_value_id inputs[MOST_INPUTS] = {0};
    const int64_t pads[4] = {w->pad_begin[1], w->pad_begin[2], w->pad_end[1], w->pad_end[2]};
    vtac_attr attrs[5] = {
        {.name = "pads", .kind = VTAC_ATTR_INTS, .count = 4, .ints = pads},
        {.name = "strides", .kind = VTAC_ATTR_INTS, .count = 2, .ints = w->stride + 1},
        {.name = "dilations", .kind = VTAC_ATTR_INTS, .count = 2, .ints = w->dilation + 1},
    };
    uint32_t count = 3;
    static const char *const kept[] = {"clip_low", "clip_high"};
    for (int i = 0; i < 2; i++) {
        const vtac_attr *attr = vtac_find_attr(&b->like, kept[i]);
        if (attr != NULL) {
            attrs[count++] = *attr;
        }
    }
    memcpy(inputs, b->like.inputs, b->like.input_count * sizeof *inputs);
    inputs[0] = x;
    VTA_TRY(turn_weights(b, v, &inputs[3]));
    return vtac_b_add(b, VTAC_OP_QLINEAR_CONV, inputs, b->like.input_count, attrs, count, out);
}

static vta_status replace(const vtac_builder *b, const volume *v, vtac_product *p)
{
    const vtac_type y = *vtac_b_type(b, b->like.outputs[0]);
    vtac_value_id x;
    VTA_TRY(vtac_b_hold(b, b->like.inputs[0], &p->holders[0], &x));
    VTA_TRY(put_slices(b, v, &x));
    VTA_TRY(add_conv(b, v, x, &p->made));
    p->stands = p->made;
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){v->n, y.dim[2], y.dim[1], y.dim[3], y.dim[4]}, RANK, &p->stands));
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){0, 2, 1, 3, 4}, RANK, &p->stands));
    vtac_swap_names(b->graph, b->like.outputs[0], p->stands);
    vtac_replace_uses(b->graph, b->like.outputs[0], p->stands);
    return VTA_OK;
}

static vta_status turn_volume(const vtac_builder *b, bool always, vtac_product *p, bool *done)
{
    volume v;
    *done = read_volume(b, &v) && (always || vtac_type_elements(vtac_b_type(b, b->like.outputs[0])) *
                                                     vtac_type_elements(&v.w->type) / v.outputs >=
                                                 LEAST_PRODUCTS);
    return *done ? replace(b, &v, p) : VTA_OK;
}

vta_status vtac_turn_volumes(vtac_graph *graph, const vta_config *config, bool always, vta_arena *arena,
                             vtac_products *out, vta_diag *diag)
{
    return vtac_turn_nodes(graph, config, always, arena, turn_volume, out, diag);
}
