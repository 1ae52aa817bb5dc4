/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of operators that move data or change its shape.
 */
#include <math.h>
#include <string.h>

#include "infer.h"

vta_status vtac_infer_reshape(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, VTAC_RESHAPE_X, &in, diag));
    out[0] = (vtac_type){.dtype = in->dtype};
    VTA_TRY(vtac_need_ints(graph, node, VTAC_RESHAPE_SHAPE, "the shape", out[0].dim, VTAC_MAX_RANK,
                           &out[0].rank, diag));
    const bool allow_zero = vtac_attr_int(node, "allowzero", 0) != 0;
    int64_t known = 1;
    int free_axis = -1;
    for (uint32_t i = 0; i < out[0].rank; i++) {
        int64_t *dim = &out[0].dim[i];
        if (*dim == 0 && !allow_zero) {
            if (i >= in->rank) {
                return vta_fail(diag, VTA_INVALID, "the shape copies axis %u of an input of rank %u", i,
                                in->rank);
            }
            *dim = in->dim[i];
        }
        if (*dim == -1 && free_axis < 0) {
            free_axis = (int)i;
        } else if (*dim < 0 || __builtin_mul_overflow(known, *dim, &known)) {
            return vta_fail(diag, VTA_INVALID, "the shape has %lld on axis %u", (long long)*dim, i);
        }
    }
    const int64_t elements = vtac_type_elements(in);
    if (free_axis >= 0) {
        if (known == 0 || elements % known != 0) {
            return vta_fail(diag, VTA_INVALID, "%lld elements do not divide by %lld", (long long)elements,
                            (long long)known);
        }
        out[0].dim[free_axis] = elements / known;
    } else if (known != elements) {
        return vta_fail(diag, VTA_INVALID, "%lld elements do not fit a shape of %lld", (long long)elements,
                        (long long)known);
    }
    return VTA_OK;
}

vta_status vtac_infer_flatten(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, 0, &in, diag));
    int64_t axis = vtac_attr_int(node, "axis", 1);
    axis = axis < 0 ? axis + in->rank : axis;
    if (axis < 0 || axis > (int64_t)in->rank) {
        return vta_fail(diag, VTA_RANGE, "axis %lld is outside 0 ... %u", (long long)axis, in->rank);
    }
    out[0] = (vtac_type){.dtype = in->dtype, .rank = 2, .dim = {1, 1}};
    for (uint32_t i = 0; i < in->rank; i++) {
        out[0].dim[i < (uint32_t)axis ? 0 : 1] *= in->dim[i];
    }
    return VTA_OK;
}

/* The axes of input 1 as marks; `rank` is that of the side which has them. */
static vta_status marked_axes(const vtac_graph *graph, const vtac_node *node, uint32_t rank, bool *marks,
                              vta_diag *diag)
{
    int64_t axes[VTAC_MAX_RANK];
    uint32_t count;
    VTA_TRY(vtac_need_ints(graph, node, VTAC_UNSQUEEZE_AXES, "axes", axes, VTAC_MAX_RANK, &count, diag));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis;
        VTA_TRY(vtac_axis(axes[i], rank, &axis, diag));
        if (marks[axis]) {
            return vta_fail(diag, VTA_INVALID, "axis %u is named twice", axis);
        }
        marks[axis] = true;
    }
    return VTA_OK;
}

vta_status vtac_infer_squeeze(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, VTAC_SQUEEZE_X, &in, diag));
    bool gone[VTAC_MAX_RANK] = {false};
    const bool named = vtac_in_type(graph, node, VTAC_SQUEEZE_AXES) != NULL;
    if (named) {
        VTA_TRY(marked_axes(graph, node, in->rank, gone, diag));
    }
    out[0] = (vtac_type){.dtype = in->dtype};
    for (uint32_t i = 0; i < in->rank; i++) {
        if (named && gone[i] && in->dim[i] != 1) {
            return vta_fail(diag, VTA_INVALID, "axis %u has %lld places, expected 1", i,
                            (long long)in->dim[i]);
        }
        if (named ? !gone[i] : in->dim[i] != 1) {
            out[0].dim[out[0].rank++] = in->dim[i];
        }
    }
    return VTA_OK;
}

vta_status vtac_infer_unsqueeze(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                vta_diag *diag)
{
    const vtac_type *in;
    const vtac_type *axes;
    VTA_TRY(vtac_need_type(graph, node, VTAC_UNSQUEEZE_X, &in, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_UNSQUEEZE_AXES, &axes, diag));
    const int64_t added = vtac_type_elements(axes);
    if (added + (int64_t)in->rank > VTAC_MAX_RANK) {
        return vta_fail(diag, VTA_UNSUPPORTED, "the result has more than %d axes", VTAC_MAX_RANK);
    }
    const uint32_t rank = in->rank + (uint32_t)added;
    bool new[VTAC_MAX_RANK] = {false};
    VTA_TRY(marked_axes(graph, node, rank, new, diag));
    out[0] = (vtac_type){.dtype = in->dtype, .rank = rank};
    for (uint32_t i = 0, from = 0; i < rank; i++) {
        out[0].dim[i] = new[i] ? 1 : in->dim[from++];
    }
    return VTA_OK;
}

bool vtac_perm_of(const vtac_node *node, uint32_t rank, int64_t *perm)
{
    const vtac_attr *attr = vtac_find_attr(node, "perm");
    for (uint32_t i = 0; i < rank; i++) {
        perm[i] = attr != NULL ? attr->ints[i] : (int64_t)rank - 1 - i;
    }
    return attr == NULL || attr->count == rank;
}

vta_status vtac_infer_transpose(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, 0, &in, diag));
    int64_t perm[VTAC_MAX_RANK];
    VTA_TRY(vtac_int_list(node, "perm", in->rank, -1, perm, diag));
    bool seen[VTAC_MAX_RANK] = {false};
    out[0] = (vtac_type){.dtype = in->dtype, .rank = in->rank};
    for (uint32_t i = 0; i < in->rank; i++) {
        const int64_t from =
            perm[i] == -1 && vtac_find_attr(node, "perm") == NULL ? in->rank - 1 - i : perm[i];
        if (from < 0 || from >= (int64_t)in->rank || seen[from]) {
            return vta_fail(diag, VTA_INVALID, "attribute 'perm' is no permutation of %u axes", in->rank);
        }
        seen[from] = true;
        out[0].dim[i] = in->dim[from];
    }
    return VTA_OK;
}

/* Inputs first … last, `step` apart, joined along `axis`. */
static vta_status join_inputs(const vtac_graph *graph, const vtac_node *node, uint32_t first, uint32_t step,
                              vtac_type *out, vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, first, &in, diag));
    out[0] = *in;
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_attr_int(node, "axis", 1), in->rank, &axis, diag));
    for (uint32_t i = first + step; i < node->input_count; i += step) {
        VTA_TRY(vtac_need_type(graph, node, i, &in, diag));
        vtac_type rest = *in;
        const uint32_t at = axis;
        rest.dim[at] = out[0].dim[at];
        rest.dtype = step > 1 ? out[0].dtype : rest.dtype; /* quantized parts may be of both types */
        if (!vtac_type_equal(&rest, &out[0])) {
            char ta[160];
            char tb[160];
            return vta_fail(diag, VTA_INVALID, "%s and %s differ outside axis %u",
                            vtac_type_text(&out[0], ta, sizeof ta), vtac_type_text(in, tb, sizeof tb), axis);
        }
        if (__builtin_add_overflow(out[0].dim[at], in->dim[at], &out[0].dim[at])) {
            return vta_fail(diag, VTA_RANGE, "the result is too large");
        }
    }
    return VTA_OK;
}

vta_status vtac_infer_concat(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    return join_inputs(graph, node, 0, 1, out, diag);
}

/* y_scale, y_zero, then (x, scale, zero) for each part */
vta_status vtac_infer_qlinear_concat(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                     vta_diag *diag)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_type *type = vtac_in_type(graph, node, i);
        if (i != 2 && i % 3 != 2 && (type == NULL || vtac_type_elements(type) != 1)) {
            return vta_fail(diag, VTA_INVALID, "input %u is no single number", i);
        }
        VTA_TRY(i != 2 && i % 3 == 0 ? vtac_expect_scale(graph, node, i, diag) : VTA_OK);
    }
    if (node->input_count % 3 != 2) {
        return vta_fail(diag, VTA_INVALID, "%u inputs, expected 2 and 3 for each part", node->input_count);
    }
    VTA_TRY(join_inputs(graph, node, VTAC_QLINEAR_CONCAT_X, 3, out, diag));
    const vtac_type *zero = vtac_in_type(graph, node, VTAC_QLINEAR_CONCAT_Y_ZERO);
    out[0].dtype = zero != NULL ? zero->dtype : out[0].dtype;
    return VTA_OK;
}

vta_status vtac_infer_split(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, VTAC_SPLIT_X, &in, diag));
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_attr_int(node, "axis", 0), in->rank, &axis, diag));
    const vtac_tensor *sizes = vtac_in_constant(graph, node, VTAC_SPLIT_SIZES);
    if (vtac_in_type(graph, node, VTAC_SPLIT_SIZES) != NULL && sizes == NULL) {
        return vta_fail(diag, VTA_UNSUPPORTED, "the sizes (input 1) are not known at compile time");
    }
    if (sizes != NULL && vtac_type_elements(&sizes->type) != node->output_count) {
        return vta_fail(diag, VTA_INVALID, "%lld sizes for %u outputs",
                        (long long)vtac_type_elements(&sizes->type), node->output_count);
    }
    const int64_t even = (in->dim[axis] + node->output_count - 1) / node->output_count;
    int64_t left = in->dim[axis];
    for (uint32_t i = 0; i < node->output_count; i++) {
        out[i] = *in;
        const int64_t size = sizes != NULL ? vtac_tensor_int(sizes, i) : (even < left ? even : left);
        if (size < 0 || size > left) {
            return vta_fail(diag, VTA_INVALID, "part %u has %lld of %lld places", i, (long long)size,
                            (long long)left);
        }
        out[i].dim[axis] = size;
        left -= size;
    }
    return left == 0 ? VTA_OK
                     : vta_fail(diag, VTA_INVALID, "the parts leave %lld places over", (long long)left);
}

/* Places that a slice takes from an axis of `dim`, by ONNX's rules for negative and too large bounds. */
static int64_t slice_extent(int64_t dim, int64_t start, int64_t end, int64_t step)
{
    const int64_t low = step > 0 ? 0 : -1;
    const int64_t high = step > 0 ? dim : dim - 1;
    start = start < 0 ? start + dim : start;
    end = end < 0 ? (end < -dim ? low : end + dim) : end;
    start = start < 0 ? 0 : start > high ? high : start;
    end = end < low ? low : end > dim ? dim : end;
    const int64_t span = step > 0 ? end - start : start - end;
    const int64_t size = step > 0 ? step : step == INT64_MIN ? INT64_MAX : -step;
    return span <= 0 ? 0 : (span - 1) / size + 1;
}

typedef struct slices {
    int64_t start[VTAC_MAX_RANK], end[VTAC_MAX_RANK], axes[VTAC_MAX_RANK], steps[VTAC_MAX_RANK];
    uint32_t count;
} slices;

/* The inputs of Slice; without axes and steps: the first axes, steps of 1. */
static vta_status read_slices(const vtac_graph *graph, const vtac_node *node, slices *s, vta_diag *diag)
{
    uint32_t ends;
    VTA_TRY(
        vtac_need_ints(graph, node, VTAC_SLICE_STARTS, "starts", s->start, VTAC_MAX_RANK, &s->count, diag));
    VTA_TRY(vtac_need_ints(graph, node, VTAC_SLICE_ENDS, "ends", s->end, VTAC_MAX_RANK, &ends, diag));
    uint32_t named = s->count;
    uint32_t stepped = s->count;
    for (uint32_t i = 0; i < s->count; i++) {
        s->axes[i] = i;
        s->steps[i] = 1;
    }
    if (vtac_in_type(graph, node, VTAC_SLICE_AXES) != NULL) {
        VTA_TRY(vtac_need_ints(graph, node, VTAC_SLICE_AXES, "axes", s->axes, VTAC_MAX_RANK, &named, diag));
    }
    if (vtac_in_type(graph, node, VTAC_SLICE_STEPS) != NULL) {
        VTA_TRY(
            vtac_need_ints(graph, node, VTAC_SLICE_STEPS, "steps", s->steps, VTAC_MAX_RANK, &stepped, diag));
    }
    return ends == s->count && named == s->count && stepped == s->count
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "starts, ends, axes and steps have %u, %u, %u and %u elements",
                          s->count, ends, named, stepped);
}

vta_status vtac_infer_slice(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *in;
    slices s = {.count = 0};
    VTA_TRY(vtac_need_type(graph, node, VTAC_SLICE_X, &in, diag));
    VTA_TRY(read_slices(graph, node, &s, diag));
    out[0] = *in;
    for (uint32_t i = 0; i < s.count; i++) {
        uint32_t axis;
        VTA_TRY(vtac_axis(s.axes[i], in->rank, &axis, diag));
        if (s.steps[i] == 0) {
            return vta_fail(diag, VTA_INVALID, "step 0 on axis %u", axis);
        }
        out[0].dim[axis] = slice_extent(in->dim[axis], s.start[i], s.end[i], s.steps[i]);
    }
    return VTA_OK;
}

vta_status vtac_infer_pad(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, VTAC_PAD_X, &in, diag));
    int64_t pads[2 * VTAC_MAX_RANK];
    int64_t axes[VTAC_MAX_RANK];
    uint32_t count;
    uint32_t named = in->rank;
    VTA_TRY(vtac_need_ints(graph, node, VTAC_PAD_PADS, "pads", pads, 2 * VTAC_MAX_RANK, &count, diag));
    for (uint32_t i = 0; i < in->rank; i++) {
        axes[i] = i;
    }
    if (vtac_in_type(graph, node, VTAC_PAD_AXES) != NULL) {
        VTA_TRY(vtac_need_ints(graph, node, VTAC_PAD_AXES, "axes", axes, VTAC_MAX_RANK, &named, diag));
    }
    if (count != 2 * named) {
        return vta_fail(diag, VTA_INVALID, "%u pads for %u axes", count, named);
    }
    out[0] = *in;
    for (uint32_t i = 0; i < named; i++) {
        uint32_t axis;
        VTA_TRY(vtac_axis(axes[i], in->rank, &axis, diag));
        int64_t *dim = &out[0].dim[axis];
        if (__builtin_add_overflow(*dim, pads[i], dim) ||
            __builtin_add_overflow(*dim, pads[i + named], dim) || *dim < 0) {
            return vta_fail(diag, VTA_RANGE, "pads %lld and %lld on axis %u of %lld places",
                            (long long)pads[i], (long long)pads[i + named], axis, (long long)in->dim[axis]);
        }
    }
    return VTA_OK;
}

vta_status vtac_infer_expand(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, VTAC_EXPAND_X, &in, diag));
    vtac_type shape = {.dtype = in->dtype};
    VTA_TRY(vtac_need_ints(graph, node, VTAC_EXPAND_SHAPE, "the shape", shape.dim, VTAC_MAX_RANK, &shape.rank,
                           diag));
    return vtac_broadcast(in, &shape, &out[0], diag);
}

vta_status vtac_infer_tile(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, VTAC_TILE_X, &in, diag));
    int64_t repeats[VTAC_MAX_RANK];
    uint32_t count;
    VTA_TRY(vtac_need_ints(graph, node, VTAC_TILE_REPEATS, "repeats", repeats, VTAC_MAX_RANK, &count, diag));
    if (count != in->rank) {
        return vta_fail(diag, VTA_INVALID, "%u repeats for %u axes", count, in->rank);
    }
    out[0] = *in;
    for (uint32_t i = 0; i < count; i++) {
        if (repeats[i] < 0 || __builtin_mul_overflow(in->dim[i], repeats[i], &out[0].dim[i])) {
            return vta_fail(diag, VTA_RANGE, "%lld repeats on axis %u", (long long)repeats[i], i);
        }
    }
    return VTA_OK;
}

double vtac_resize_ratio(const vtac_graph *graph, const vtac_node *node)
{
    const char *policy = vtac_attr_string(node, "keep_aspect_ratio_policy", "stretch");
    const bool larger = strcmp(policy, "not_smaller") == 0;
    const vtac_tensor *scales = vtac_in_constant(graph, node, VTAC_RESIZE_SCALES);
    const vtac_tensor *sizes = vtac_in_constant(graph, node, VTAC_RESIZE_SIZES);
    const vtac_type *in = &graph->values[node->inputs[VTAC_RESIZE_X]].type;
    const vtac_attr *named = vtac_find_attr(node, "axes");
    if ((scales != NULL && vtac_type_elements(&scales->type) > 0) || sizes == NULL ||
        strcmp(policy, "stretch") == 0) {
        return 0.0;
    }
    double ratio = 0.0;
    for (int64_t k = 0; k < vtac_type_elements(&sizes->type) && k < VTAC_MAX_RANK; k++) {
        const int64_t axis = named != NULL ? named->ints[k] : k;
        const double own =
            (double)vtac_tensor_int(sizes, k) / (double)in->dim[axis < 0 ? axis + in->rank : axis];
        ratio = k == 0 || (larger ? own > ratio : own < ratio) ? own : ratio;
    }
    return ratio;
}

double vtac_resize_nearest(const char *mode, double place)
{
    if (strcmp(mode, "floor") == 0) {
        return floor(place);
    }
    if (strcmp(mode, "ceil") == 0) {
        return ceil(place);
    }
    return strcmp(mode, "round_prefer_ceil") == 0 ? floor(place + 0.5) : ceil(place - 0.5);
}

/* Resize: inputs x, roi, scales, sizes; axes and keep_aspect_ratio_policy as of opset 18. */
static double resized_dim(int64_t dim, const vtac_tensor *scales, const vtac_tensor *sizes, int64_t k,
                          double ratio)
{
    if (scales != NULL) {
        return (double)floorf((float)dim *
                              (float)vtac_tensor_float(scales, k)); /* in float32, as ONNX does */
    }
    return ratio == 0.0 ? (double)vtac_tensor_int(sizes, k) : round((double)dim * ratio);
}

vta_status vtac_infer_resize(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, VTAC_RESIZE_X, &in, diag));
    const vtac_tensor *scales = vtac_in_constant(graph, node, VTAC_RESIZE_SCALES);
    const vtac_tensor *sizes = vtac_in_constant(graph, node, VTAC_RESIZE_SIZES);
    scales = scales != NULL && vtac_type_elements(&scales->type) > 0 ? scales : NULL;
    if (scales == NULL && sizes == NULL) {
        return vta_fail(diag, VTA_UNSUPPORTED, "neither scales nor sizes are known at compile time");
    }
    const vtac_attr *named = vtac_find_attr(node, "axes");
    const int64_t count = named != NULL && named->kind == VTAC_ATTR_INTS ? (int64_t)named->count : in->rank;
    const int64_t given = vtac_type_elements(scales != NULL ? &scales->type : &sizes->type);
    if (given != count) {
        return vta_fail(diag, VTA_INVALID, "%lld scales or sizes for %lld axes", (long long)given,
                        (long long)count);
    }
    uint32_t axes[VTAC_MAX_RANK];
    for (int64_t k = 0; k < count && k < VTAC_MAX_RANK; k++) {
        VTA_TRY(vtac_axis(named != NULL ? named->ints[k] : k, in->rank, &axes[k], diag));
    }
    const double ratio = vtac_resize_ratio(graph, node);
    out[0] = *in;
    for (int64_t k = 0; k < count && k < VTAC_MAX_RANK; k++) {
        const double extent = resized_dim(in->dim[axes[k]], scales, sizes, k, ratio);
        if (!(extent >= 0.0 && extent < 9e15)) {
            return vta_fail(diag, VTA_RANGE, "axis %u would get %g places", axes[k], extent);
        }
        out[0].dim[axes[k]] = (int64_t)extent;
    }
    return VTA_OK;
}

static vta_status block_size(const vtac_node *node, const vtac_type *in, int64_t *block, vta_diag *diag)
{
    *block = vtac_attr_int(node, "blocksize", 0);
    if (in->rank != 4 || *block < 1 || *block > INT32_MAX) {
        return vta_fail(diag, VTA_INVALID,
                        "blocksize %lld on an input of rank %u, expected 1 or more on rank 4",
                        (long long)*block, in->rank);
    }
    return VTA_OK;
}

vta_status vtac_infer_depth_to_space(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                     vta_diag *diag)
{
    const vtac_type *in;
    int64_t block;
    VTA_TRY(vtac_need_type(graph, node, 0, &in, diag));
    VTA_TRY(block_size(node, in, &block, diag));
    if (in->dim[1] % (block * block) != 0) {
        return vta_fail(diag, VTA_INVALID, "%lld channels do not divide by %lld", (long long)in->dim[1],
                        (long long)block * block);
    }
    out[0] = (vtac_type){
        in->dtype, 4, {in->dim[0], in->dim[1] / (block * block), in->dim[2] * block, in->dim[3] * block}};
    return VTA_OK;
}

vta_status vtac_infer_space_to_depth(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                     vta_diag *diag)
{
    const vtac_type *in;
    int64_t block;
    VTA_TRY(vtac_need_type(graph, node, 0, &in, diag));
    VTA_TRY(block_size(node, in, &block, diag));
    if (in->dim[2] % block != 0 || in->dim[3] % block != 0) {
        return vta_fail(diag, VTA_INVALID, "%lld x %lld places do not divide by %lld", (long long)in->dim[2],
                        (long long)in->dim[3], (long long)block);
    }
    out[0] = (vtac_type){
        in->dtype, 4, {in->dim[0], in->dim[1] * block * block, in->dim[2] / block, in->dim[3] / block}};
    return VTA_OK;
}

vta_status vtac_infer_range(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    double value[VTAC_RANGE_INPUTS];
    for (uint32_t i = 0; i < VTAC_RANGE_INPUTS; i++) {
        const vtac_tensor *tensor = vtac_in_constant(graph, node, i);
        if (tensor == NULL || vtac_type_elements(&tensor->type) != 1) {
            return vta_fail(diag, VTA_UNSUPPORTED, "input %u is not one number known at compile time", i);
        }
        value[i] = vtac_tensor_float(tensor, 0);
    }
    const double start = value[VTAC_RANGE_START], limit = value[VTAC_RANGE_LIMIT];
    const double count = ceil((limit - start) / value[VTAC_RANGE_DELTA]);
    if (!(count < 9e15)) {
        return vta_fail(diag, VTA_RANGE, "the range from %g to %g by %g has no end", start, limit,
                        value[VTAC_RANGE_DELTA]);
    }
    out[0] = (vtac_type){.dtype = vtac_in_type(graph, node, VTAC_RANGE_START)->dtype,
                         .rank = 1,
                         .dim = {count > 0.0 ? (int64_t)count : 0}};
    return VTA_OK;
}

vta_status vtac_infer_constant_of_shape(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                        vta_diag *diag)
{
    const vtac_attr *value = vtac_find_attr(node, "value");
    out[0] = (vtac_type){.dtype = value != NULL && value->kind == VTAC_ATTR_TENSOR ? value->tensor.type.dtype
                                                                                   : VTAC_F32};
    return vtac_need_ints(graph, node, 0, "the shape", out[0].dim, VTAC_MAX_RANK, &out[0].rank, diag);
}

vta_status vtac_infer_eye_like(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, 0, &in, diag));
    out[0] = *in;
    const vtac_dtype asked = vtac_dtype_parse(vtac_attr_string(node, "dtype", ""));
    out[0].dtype = asked != VTAC_NO_DTYPE ? asked : in->dtype;
    return in->rank == 2 ? VTA_OK
                         : vta_fail(diag, VTA_INVALID, "the input has rank %u, expected 2", in->rank);
}

/* Shape: the part of the input's shape from `start` to `end` (opset 15). */
vta_status vtac_infer_shape(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *in;
    VTA_TRY(vtac_need_type(graph, node, 0, &in, diag));
    const int64_t rank = in->rank;
    int64_t start = vtac_attr_int(node, "start", 0);
    int64_t end = vtac_attr_int(node, "end", rank);
    start = start < 0 ? start + rank : start;
    end = end < 0 ? end + rank : end;
    start = start < 0 ? 0 : start > rank ? rank : start;
    end = end < 0 ? 0 : end > rank ? rank : end;
    out[0] = (vtac_type){.dtype = VTAC_I64, .rank = 1, .dim = {end > start ? end - start : 0}};
    return VTA_OK;
}

vta_status vtac_infer_size(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *in;
    out[0] = (vtac_type){.dtype = VTAC_I64};
    return vtac_need_type(graph, node, 0, &in, diag);
}

vta_status vtac_infer_trilu(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    VTA_TRY(vtac_infer_same(graph, node, out, diag));
    return out[0].rank >= 2
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "the input has rank %u, expected 2 or more", out[0].rank);
}
