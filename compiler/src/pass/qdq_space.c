/* SPDX-License-Identifier: Apache-2.0
 *
 * fold-qdq: operators over the rows and columns of images, in terms of pools and repeated pixels.
 *
 *     GlobalMaxPool(q), ReduceMax(q) over rows, columns -> MaxPool(q), the window is as long as these
 *     Q(Resize(D(q))), linear, by whole factors         -> QLinearAveragePool(Resize(q)), nearest inside
 *
 * Linear interpolation by a factor s is the mean of a window over pixels that are repeated. With half_pixel,
 * each pixel stands 2s times (s times, where s is odd) and the windows of that width are centred on the
 * output's pixels; with asymmetric, each pixel stands s times and the window begins at its own place. Windows
 * lose what lies beyond the edge, and only copies of the pixel at the edge are left: the mean is that pixel,
 * which is what interpolation gives there. By larger factors it is done phase by phase (qdq_phases.c).
 */
#include <string.h>

#include "qdq.h"

enum { MAX_AXES = 3, MAX_FACTOR = 4 };

/* ---- maxima */

/* The largest number along axes behind the first two. */
static vta_status emit_plane_max(vtac_rewrite *r, vtac_node_id before, const vtac_node *like, vtac_value_id x,
                                 uint32_t axes, vtac_value_id *out)
{
    const vtac_type type = r->graph->values[x].type;
    int64_t size[VTAC_MAX_RANK];
    for (uint32_t i = 2; i < type.rank; i++) {
        size[i - 2] = (axes >> i & 1) != 0 ? type.dim[i] : 1;
    }
    const vtac_attr kernel = {
        .name = "kernel_shape", .kind = VTAC_ATTR_INTS, .count = type.rank - 2, .ints = size};
    const vtac_node_spec spec = {.op = VTAC_OP_MAX_POOL,
                                 .inputs = &x,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .attrs = &kernel,
                                 .attr_count = 1};
    return vtac_new_node(r, before, like, spec, out);
}

/* The axes of a reduction as bits; 0: they are not known, or some are not behind the first two. */
static uint32_t over_pixels(const vtac_rewrite *r, const vtac_node *node)
{
    const vtac_type *x = vtac_in_type(r->graph, node, VTAC_REDUCE_X);
    const vtac_tensor *axes = vtac_in_constant(r->graph, node, VTAC_REDUCE_AXES);
    uint32_t seen = 0;
    if (x->rank < 3 || x->rank > 2 + MAX_AXES || axes == NULL) {
        return 0;
    }
    for (int64_t i = 0; i < vtac_type_elements(&axes->type); i++) {
        const int64_t axis = vtac_tensor_int(axes, i);
        seen |= 1U << (axis < 0 ? axis + x->rank : axis);
    }
    return (seen & 3) == 0 ? seen : 0;
}

vta_status vtac_pool_maximum(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node node = r->graph->nodes[id];
    const vtac_dtype dtype = vtac_in_type(r->graph, &node, VTAC_REDUCE_X)->dtype;
    const uint32_t axes = over_pixels(r, &node);
    if ((dtype != VTAC_I8 && dtype != VTAC_U8) || axes == 0) {
        return VTA_OK;
    }
    const vtac_type y = r->graph->values[node.outputs[0]].type;
    vtac_value_id inputs[2];
    VTA_TRY(emit_plane_max(r, id, &node, node.inputs[VTAC_REDUCE_X], axes, &inputs[VTAC_RESHAPE_X]));
    if (y.rank != r->graph->values[inputs[VTAC_RESHAPE_X]].type.rank) {
        VTA_TRY(vtac_new_ints(r, y.dim, y.rank, &inputs[VTAC_RESHAPE_SHAPE]));
        VTA_TRY(vtac_new_simple(r, id, &node, VTAC_OP_RESHAPE, inputs, 2, &inputs[VTAC_RESHAPE_X]));
    }
    if (vtac_can_replace(r->graph, node.outputs[0], inputs[VTAC_RESHAPE_X])) {
        vtac_replace(r, node.outputs[0], inputs[VTAC_RESHAPE_X]);
        vtac_remove_node(r->graph, id);
        *changed = true;
    }
    return VTA_OK;
}

vta_status vtac_plane_maximum(vtac_rewrite *r, vtac_node_id before, const vtac_node *like,
                              const vtac_value_id *inputs, vtac_value_id *out)
{
    return emit_plane_max(r, before, like, inputs[0], UINT32_MAX, out);
}

/* ---- interpolation */

/* Repetitions of each pixel along the axes, and the window of the mean. */
typedef struct spread {
    uint32_t axes;
    vtac_placing place;
    bool repeats_only; /* the mean of copies of one pixel */
    bool by_phases;    /* windows would be too large, or do not fit */
    float factor[2 + MAX_AXES];
    int64_t kernel[MAX_AXES], stride[MAX_AXES], pads[2 * MAX_AXES];
} spread;

static void spread_axis(spread *s, uint32_t axis, int64_t from, int64_t factor)
{
    const bool half_pixel = s->place == VTAC_HALF_PIXEL;
    const bool even = half_pixel && factor % 2 == 0;
    s->factor[2 + axis] = 1.0F;
    s->kernel[axis] = s->stride[axis] = 1;
    if (factor == 1) {
        return;
    }
    if (from == 1) { /* whatever is between equal pixels */
        s->factor[2 + axis] = (float)factor;
        return;
    }
    s->repeats_only = false;
    s->factor[2 + axis] = (float)(even ? 2 * factor : factor);
    s->kernel[axis] = even ? 2 * factor : factor;
    s->stride[axis] = even ? 2 : 1;
    s->pads[axis] = even ? factor - 1 : half_pixel ? (factor - 1) / 2 : 0;
    s->pads[s->axes + axis] = half_pixel ? s->pads[axis] : factor - 1;
    s->by_phases = s->by_phases || factor > MAX_FACTOR;
}

/* True if given scales agree with the sizes. */
static bool is_stretched(const vtac_rewrite *r, const vtac_node *node, const vtac_type *x, const vtac_type *y)
{
    const vtac_tensor *scales = vtac_in_constant(r->graph, node, VTAC_RESIZE_SCALES);
    if (vtac_find_attr(node, "axes") != NULL || vtac_attr_int(node, "antialias", 0) != 0) {
        return false;
    }
    for (uint32_t i = 0; scales != NULL && i < vtac_type_elements(&scales->type); i++) {
        if (vtac_tensor_float(scales, i) * (double)x->dim[i] != (double)y->dim[i]) {
            return false;
        }
    }
    return true;
}

static bool read_spread(const vtac_fold *f, spread *s)
{
    const vtac_node *node = &f->core;
    const vtac_type *x = vtac_in_type(f->r->graph, node, 0), *y = &f->r->graph->values[node->outputs[0]].type;
    const char *place = vtac_attr_string(node, "coordinate_transformation_mode", "half_pixel");
    const bool half_pixel = strcmp(place, "half_pixel") == 0 || strcmp(place, "pytorch_half_pixel") == 0;
    const bool aligned = strcmp(place, "align_corners") == 0;
    if (strcmp(vtac_attr_string(node, "mode", "nearest"), "linear") != 0 ||
        (!half_pixel && !aligned && strcmp(place, "asymmetric") != 0) || x->rank < 3 ||
        x->rank > 2 + MAX_AXES || x->dim[0] != y->dim[0] || x->dim[1] != y->dim[1] ||
        !is_stretched(f->r, node, x, y)) {
        return false;
    }
    *s = (spread){.axes = x->rank - 2,
                  .place = half_pixel ? VTAC_HALF_PIXEL
                           : aligned  ? VTAC_ALIGNED
                                      : VTAC_ASYMMETRIC,
                  .repeats_only = true,
                  .factor = {1.0F, 1.0F}};
    for (uint32_t i = 0; i < s->axes; i++) {
        const int64_t from = x->dim[2 + i], to = y->dim[2 + i];
        const bool distances = aligned && from > 1 && to != from;
        if (from < 1 || to < from || (distances ? (to - 1) % (from - 1) != 0 : to % from != 0)) {
            return false;
        }
        s->by_phases = s->by_phases || distances;
        s->repeats_only = s->repeats_only && !distances;
        if (!distances) {
            spread_axis(s, i, from, to / from);
        }
    }
    return true;
}

/* Every pixel of *x so often. */
static vta_status repeat_pixels(vtac_fold *f, const spread *s, vtac_value_id *x)
{
    const vtac_type list = {.dtype = VTAC_F32, .rank = 1, .dim = {2 + s->axes}};
    vtac_value_id inputs[3] = {*x};
    VTA_TRY(vtac_new_constant(f->r, NULL, &list, s->factor, &inputs[VTAC_RESIZE_SCALES]));
    const vtac_attr attrs[] = {
        {.name = "mode", .kind = VTAC_ATTR_STRING, .s = "nearest"},
        {.name = "coordinate_transformation_mode", .kind = VTAC_ATTR_STRING, .s = "asymmetric"},
        {.name = "nearest_mode", .kind = VTAC_ATTR_STRING, .s = "floor"}};
    const vtac_node_spec spec = {.op = VTAC_OP_RESIZE,
                                 .inputs = inputs,
                                 .input_count = 3,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = 3};
    return vtac_new_node(f->r, f->at, &f->core, spec, x);
}

vta_status vtac_fold_resize(vtac_fold *f, vtac_value_id *out)
{
    vtac_qvalue x;
    spread s;
    *out = 0;
    if (!read_spread(f, &s) || !vtac_read_operand(f, &x) || !vtac_mean_fits(f, &x, 1)) {
        return VTA_OK;
    }
    if (s.by_phases && !s.repeats_only) {
        return vtac_fold_phases(f, &x, s.place, out);
    }
    VTA_TRY(repeat_pixels(f, &s, &x.q));
    const vtac_attr attrs[] = {
        {.name = "kernel_shape", .kind = VTAC_ATTR_INTS, .count = s.axes, .ints = s.kernel},
        {.name = "strides", .kind = VTAC_ATTR_INTS, .count = s.axes, .ints = s.stride},
        {.name = "pads", .kind = VTAC_ATTR_INTS, .count = 2 * (size_t)s.axes, .ints = s.pads}};
    return s.repeats_only ? vtac_emit_rescale(f, &x, out)
                          : vtac_emit_unary(f, VTAC_OP_QLINEAR_AVERAGE_POOL, &x, attrs, 3, out);
}
