/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools of volumes [n, c, d, h, w], as pools of images:
 *
 *     over all of depth and height   the slices are one below the other: [n, c, d·h, w]
 *
 *     largest                        slices are images of a batch, [n·d, c, h, w]; the host takes the largest
 *                                    of neighbouring slices, which are smaller by then
 *
 *     mean                           the rows of the slices in a window are put side by side by the host,
 *                                    [n·d', c, h·k, w], so that a window of images holds what one of volumes
 * does
 */
#include <string.h>

#include "../ops/infer.h"
#include "builder.h"
#include "partition.h"

enum { RANK = 5, AXIS_D = 2, MOST_SLICES = 16, MOST_INPUTS = 5 };

typedef struct volume_pool {
    vtac_window window;
    int64_t n, c, d, h, w;
    bool is_max, includes_padding;
} volume_pool;

/* How far the windows of an axis reach beyond its end. */
static int64_t padding_behind(const vtac_window *w, int axis, int64_t size)
{
    const int64_t reach =
        (w->extent[axis] - 1) * w->stride[axis] + (w->kernel[axis] - 1) * w->dilation[axis] + 1;
    return reach - w->pad_begin[axis] > size ? reach - w->pad_begin[axis] - size : 0;
}

static bool read_pool(const vtac_builder *b, volume_pool *v)
{
    const vtac_node *node = &b->like;
    const bool all = node->op == VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL;
    vta_diag quiet = {0};
    v->is_max = node->op == VTAC_OP_MAX_POOL;
    v->includes_padding = vtac_attr_int(node, "count_include_pad", 0) != 0;
    if ((!v->is_max && !all && node->op != VTAC_OP_QLINEAR_AVERAGE_POOL) || node->output_count != 1 ||
        vtac_attr_int(node, "channels_last", 0) != 0 || vtac_find_attr(node, "rounding") != NULL) {
        return false;
    }
    const vtac_type *x = vtac_in_type(b->graph, node, 0);
    if (x->rank != RANK || vtac_type_elements(x) < 1 || (x->dtype != VTAC_I8 && x->dtype != VTAC_U8) ||
        vtac_type_elements(vtac_b_type(b, node->outputs[0])) < 1) {
        return false;
    }
    v->n = x->dim[0];
    v->c = x->dim[1];
    v->d = x->dim[2];
    v->h = x->dim[3];
    v->w = x->dim[4];
    if (all) {
        v->window = (vtac_window){
            .kernel = {v->d, v->h, v->w}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .extent = {1, 1, 1}};
        return true;
    }
    if (vtac_window_of(node, x, NULL, true, &v->window, &quiet) != VTA_OK) {
        return false;
    }
    const vtac_window *w = &v->window;
    const bool depth_inside = w->pad_begin[0] == 0 && padding_behind(w, 0, v->d) == 0;
    return v->is_max || (vtac_attr_int(node, "ceil_mode", 0) == 0 && (depth_inside || v->includes_padding) &&
                         w->dilation[0] * w->dilation[1] * w->dilation[2] == 1 &&
                         w->kernel[0] <= MOST_SLICES && vtac_in_constant(b->graph, node, 2) != NULL);
}

/* Whether windows hold all of an axis. */
static bool holds_all(const vtac_window *w, int axis, int64_t size)
{
    return w->extent[axis] == 1 && w->kernel[axis] == size && w->pad_begin[axis] == 0 &&
           w->dilation[axis] == 1;
}

/* ---- the pool of images */

/* `rows`: how many of the image stand for one of the volume. */
static vta_status add_pool(const vtac_builder *b, const volume_pool *v, int64_t rows, vtac_value_id x,
                           vtac_value_id *out)
{
    const vtac_window *w = &v->window;
    const int64_t kernels[2] = {w->kernel[1] * rows, w->kernel[2]};
    const int64_t strides[2] = {w->stride[1] * rows, w->stride[2]};
    const int64_t dilations[2] = {w->dilation[1], w->dilation[2]};
    const int64_t pads[4] = {w->pad_begin[1] * rows, w->pad_begin[2], padding_behind(w, 1, v->h) * rows,
                             padding_behind(w, 2, v->w)};
    vtac_value_id inputs[MOST_INPUTS] = {0};
    vtac_attr attrs[7] = {
        {.name = "kernel_shape", .kind = VTAC_ATTR_INTS, .count = 2, .ints = kernels},
        {.name = "strides", .kind = VTAC_ATTR_INTS, .count = 2, .ints = strides},
        {.name = "pads", .kind = VTAC_ATTR_INTS, .count = 4, .ints = pads},
        v->is_max ? (vtac_attr){.name = "dilations", .kind = VTAC_ATTR_INTS, .count = 2, .ints = dilations}
                  : (vtac_attr){.name = "count_include_pad", .kind = VTAC_ATTR_INT, .i = v->includes_padding},
    };
    uint32_t count = 4;
    static const char *const kept[] = {"clip_low", "clip_high"};
    for (int i = 0; i < 2; i++) {
        const vtac_attr *attr = vtac_find_attr(&b->like, kept[i]);
        if (attr != NULL) {
            attrs[count++] = *attr;
        }
    }
    memcpy(inputs, b->like.inputs, b->like.input_count * sizeof *inputs);
    inputs[0] = x;
    return vtac_b_add(b, v->is_max ? VTAC_OP_MAX_POOL : VTAC_OP_QLINEAR_AVERAGE_POOL, inputs,
                      b->like.input_count, attrs, count, out);
}

static const int64_t slices_first[RANK] = {0, 2, 1, 3, 4};

/* [n·d, c, h, w] as [n, c, d, h, w] */
static vta_status put_back(const vtac_builder *b, const volume_pool *v, int64_t depth, vtac_value_id *x)
{
    const int64_t high = v->window.extent[1], wide = v->window.extent[2];
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){v->n, depth, v->c, high, wide}, RANK, x));
    return vtac_b_transpose(b, slices_first, RANK, x);
}

/* ---- largest */

static vta_status largest_slices(const vtac_builder *b, const volume_pool *v, vtac_value_id *x)
{
    const vtac_window *w = &v->window;
    const int64_t kernels[2] = {w->kernel[0], 1}, strides[2] = {w->stride[0], 1};
    const int64_t dilations[2] = {w->dilation[0], 1};
    const int64_t pads[4] = {w->pad_begin[0], 0, padding_behind(w, 0, v->d), 0};
    const vtac_attr attrs[5] = {
        {.name = "kernel_shape", .kind = VTAC_ATTR_INTS, .count = 2, .ints = kernels},
        {.name = "strides", .kind = VTAC_ATTR_INTS, .count = 2, .ints = strides},
        {.name = "dilations", .kind = VTAC_ATTR_INTS, .count = 2, .ints = dilations},
        {.name = "pads", .kind = VTAC_ATTR_INTS, .count = 4, .ints = pads},
        {.name = "host", .kind = VTAC_ATTR_INT, .i = 1},
    };
    if (w->kernel[0] == 1 && w->stride[0] == 1 && w->extent[0] == v->d) {
        return VTA_OK;
    }
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){v->n, v->c, v->d, w->extent[1] * w->extent[2]}, 4, x));
    return vtac_b_add(b, VTAC_OP_MAX_POOL, x, 1, attrs, 5, x);
}

static vta_status pool_slices(const vtac_builder *b, const volume_pool *v, vtac_value_id x, vtac_product *p)
{
    VTA_TRY(vtac_b_transpose(b, slices_first, RANK, &x));
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){v->n * v->d, v->c, v->h, v->w}, 4, &x));
    VTA_TRY(add_pool(b, v, 1, x, &p->made));
    p->stands = p->made;
    VTA_TRY(put_back(b, v, v->d, &p->stands));
    return largest_slices(b, v, &p->stands);
}

/* ---- means */

static vta_status pad_depth(const vtac_builder *b, const volume_pool *v, vtac_value_id *x)
{
    int64_t pads[2 * RANK] = {0};
    vtac_value_id inputs[3] = {*x, 0, b->like.inputs[2]};
    pads[AXIS_D] = v->window.pad_begin[0];
    pads[RANK + AXIS_D] = padding_behind(&v->window, 0, v->d);
    if (pads[AXIS_D] == 0 && pads[RANK + AXIS_D] == 0) {
        return VTA_OK;
    }
    VTA_TRY(vtac_b_reshape(b, NULL, 0, &inputs[2]));
    VTA_TRY(vtac_b_list(b, pads, 2 * RANK, &inputs[1]));
    return vtac_b_add(b, VTAC_OP_PAD, inputs, 3, NULL, 0, x);
}

static vta_status slice(const vtac_builder *b, const volume_pool *v, int64_t tap, vtac_value_id x,
                        vtac_value_id *out)
{
    const vtac_window *w = &v->window;
    const int64_t end = tap + (w->extent[0] - 1) * w->stride[0] + 1;
    vtac_value_id inputs[5] = {x};
    VTA_TRY(vtac_b_list(b, &tap, 1, &inputs[1]));
    VTA_TRY(vtac_b_list(b, &end, 1, &inputs[2]));
    VTA_TRY(vtac_b_list(b, (int64_t[]){AXIS_D}, 1, &inputs[3]));
    VTA_TRY(vtac_b_list(b, &w->stride[0], 1, &inputs[4]));
    VTA_TRY(vtac_b_add(b, VTAC_OP_SLICE, inputs, 5, NULL, 0, out));
    return vtac_b_reshape(b, (int64_t[]){v->n, v->c, w->extent[0], v->h, 1, v->w}, RANK + 1, out);
}

static vta_status pool_rows(const vtac_builder *b, const volume_pool *v, vtac_value_id x, vtac_product *p)
{
    const int64_t taps = v->window.kernel[0], places = v->window.extent[0];
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 4};
    vtac_value_id parts[MOST_SLICES];
    VTA_TRY(pad_depth(b, v, &x));
    for (int64_t tap = 0; tap < taps; tap++) {
        VTA_TRY(slice(b, v, tap, x, &parts[tap]));
    }
    x = parts[0];
    VTA_TRY(taps > 1 ? vtac_b_add(b, VTAC_OP_CONCAT, parts, (uint32_t)taps, &axis, 1, &x) : VTA_OK);
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){0, 2, 1, 3, 4, 5}, RANK + 1, &x));
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){v->n * places, v->c, v->h * taps, v->w}, 4, &x));
    VTA_TRY(add_pool(b, v, taps, x, &p->made));
    p->stands = p->made;
    return put_back(b, v, places, &p->stands);
}

/* ---- all of depth and height */

static vta_status pool_all(const vtac_builder *b, const volume_pool *v, vtac_value_id x, vtac_product *p)
{
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){v->n, v->c, v->d * v->h, v->w}, 4, &x));
    volume_pool one = *v; /* slice */
    one.h = v->d * v->h;
    one.window.kernel[1] = one.h;
    one.window.stride[1] = 1;
    VTA_TRY(add_pool(b, &one, 1, x, &p->made));
    p->stands = p->made;
    return VTA_OK;
}

static vta_status replace(const vtac_builder *b, const volume_pool *v, vtac_product *p)
{
    const vtac_type y = *vtac_b_type(b, b->like.outputs[0]);
    vtac_value_id x;
    VTA_TRY(vtac_b_hold(b, b->like.inputs[0], &p->holders[0], &x));
    if (holds_all(&v->window, 0, v->d) && holds_all(&v->window, 1, v->h)) {
        VTA_TRY(pool_all(b, v, x, p));
    } else {
        VTA_TRY(v->is_max ? pool_slices(b, v, x, p) : pool_rows(b, v, x, p));
    }
    VTA_TRY(vtac_b_reshape(b, y.dim, y.rank, &p->stands));
    vtac_swap_names(b->graph, b->like.outputs[0], p->stands);
    vtac_replace_uses(b->graph, b->like.outputs[0], p->stands);
    return VTA_OK;
}

/* Where slices have to move first, the host is done as soon. */
static vta_status turn_pool(const vtac_builder *b, bool always, vtac_product *p, bool *done)
{
    volume_pool v;
    *done = always && read_pool(b, &v);
    return *done ? replace(b, &v, p) : VTA_OK;
}

vta_status vtac_turn_volume_pools(vtac_graph *graph, const vta_config *config, bool always, vta_arena *arena,
                                  vtac_products *out, vta_diag *diag)
{
    return vtac_turn_nodes(graph, config, always, arena, turn_pool, out, diag);
}
