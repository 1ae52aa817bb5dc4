/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of operators that slide a window: convolutions and pools.
 */
#include <string.h>

#include "infer.h"

static vta_status kernel_of(const vtac_node *node, const vtac_type *weight, vtac_window *w, vta_diag *diag)
{
    if (vtac_find_attr(node, "kernel_shape") == NULL && weight == NULL) {
        return vta_fail(diag, VTA_INVALID, "attribute 'kernel_shape' is missing");
    }
    VTA_TRY(vtac_int_list(node, "kernel_shape", w->axes, 0, w->kernel, diag));
    for (uint32_t i = 0; i < w->axes; i++) {
        if (weight != NULL && w->kernel[i] == 0) {
            w->kernel[i] = weight->dim[i + 2];
        }
        if (weight != NULL && w->kernel[i] != weight->dim[i + 2]) {
            return vta_fail(diag, VTA_INVALID, "kernel_shape %lld on axis %u, but the weight has %lld",
                            (long long)w->kernel[i], i, (long long)weight->dim[i + 2]);
        }
    }
    return VTA_OK;
}

static vta_status check_steps(const vtac_window *w, vta_diag *diag)
{
    for (uint32_t i = 0; i < w->axes; i++) {
        const int64_t limit = INT32_MAX;
        if (w->kernel[i] < 1 || w->kernel[i] > limit || w->stride[i] < 1 || w->stride[i] > limit ||
            w->dilation[i] < 1 || w->dilation[i] > limit) {
            return vta_fail(diag, VTA_RANGE,
                            "kernel %lld, stride %lld, dilation %lld on axis %u; each must be 1 to %lld",
                            (long long)w->kernel[i], (long long)w->stride[i], (long long)w->dilation[i], i,
                            (long long)limit);
        }
        if (w->pad_begin[i] < 0 || w->pad_end[i] < 0 || w->pad_begin[i] > limit || w->pad_end[i] > limit) {
            return vta_fail(diag, VTA_RANGE, "pads %lld and %lld on axis %u; each must be 0 to %lld",
                            (long long)w->pad_begin[i], (long long)w->pad_end[i], i, (long long)limit);
        }
    }
    return VTA_OK;
}

/* SAME_*: the output has ceil(input / stride) places; the odd pad goes to the end (UPPER) or the beginning
 * (LOWER). */
static void pad_same(vtac_window *w, uint32_t i, int64_t input, bool upper)
{
    const int64_t extent = (input + w->stride[i] - 1) / w->stride[i];
    const int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
    int64_t total = (extent - 1) * w->stride[i] + reach - input;
    total = total < 0 ? 0 : total;
    w->pad_begin[i] = upper ? total / 2 : total - total / 2;
    w->pad_end[i] = total - w->pad_begin[i];
}

static vta_status extent_of(const vtac_node *node, const vtac_type *input, bool pool, vtac_window *w,
                            vta_diag *diag)
{
    const bool ceil_mode = pool && vtac_attr_int(node, "ceil_mode", 0) != 0;
    for (uint32_t i = 0; i < w->axes; i++) {
        const int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        const int64_t padded = input->dim[i + 2] + w->pad_begin[i] + w->pad_end[i];
        if (padded < reach) {
            return vta_fail(diag, VTA_INVALID,
                            "the window (%lld) is larger than the padded input (%lld) on axis %u",
                            (long long)reach, (long long)padded, i);
        }
        const int64_t room = padded - reach;
        w->extent[i] = room / w->stride[i] + 1;
        if (ceil_mode && room % w->stride[i] != 0) {
            /* one more window, unless it would begin in the padding at the end */
            const int64_t begin = w->extent[i] * w->stride[i];
            w->extent[i] += begin < input->dim[i + 2] + w->pad_begin[i];
        }
    }
    return VTA_OK;
}

vta_status vtac_window_of(const vtac_node *node, const vtac_type *input, const vtac_type *weight, bool pool,
                          vtac_window *out, vta_diag *diag)
{
    if (input->rank < 3) {
        return vta_fail(diag, VTA_INVALID, "the input has rank %u, expected [N, C, spatial...]", input->rank);
    }
    *out = (vtac_window){.axes = input->rank - 2};
    VTA_TRY(kernel_of(node, weight, out, diag));
    VTA_TRY(vtac_int_list(node, "strides", out->axes, 1, out->stride, diag));
    VTA_TRY(vtac_int_list(node, "dilations", out->axes, 1, out->dilation, diag));
    int64_t pads[2 * VTAC_MAX_RANK];
    VTA_TRY(vtac_int_list(node, "pads", 2 * out->axes, 0, pads, diag));
    memcpy(out->pad_begin, pads, out->axes * sizeof pads[0]);
    memcpy(out->pad_end, pads + out->axes, out->axes * sizeof pads[0]);
    VTA_TRY(check_steps(out, diag));
    const char *mode = vtac_attr_string(node, "auto_pad", "NOTSET");
    const bool upper = strcmp(mode, "SAME_UPPER") == 0;
    if (upper || strcmp(mode, "SAME_LOWER") == 0) {
        for (uint32_t i = 0; i < out->axes; i++) {
            pad_same(out, i, input->dim[i + 2], upper);
        }
    } else if (strcmp(mode, "VALID") == 0) {
        memset(out->pad_begin, 0, sizeof out->pad_begin);
        memset(out->pad_end, 0, sizeof out->pad_end);
    } else if (strcmp(mode, "NOTSET") != 0 && mode[0] != '\0') {
        return vta_fail(diag, VTA_INVALID,
                        "auto_pad '%s' is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID", mode);
    }
    return extent_of(node, input, pool, out, diag);
}

/* The common part of all forward convolutions. */
static vta_status conv_shape(const vtac_node *node, const vtac_type *x, const vtac_type *w, vtac_type *out,
                             vta_diag *diag)
{
    if (x->rank < 3 || x->rank != w->rank) {
        return vta_fail(diag, VTA_INVALID, "input of rank %u with a weight of rank %u", x->rank, w->rank);
    }
    const int64_t group = vtac_attr_int(node, "group", 1);
    if (group < 1 || x->dim[1] % group != 0 || w->dim[0] % group != 0 || x->dim[1] / group != w->dim[1]) {
        return vta_fail(diag, VTA_INVALID,
                        "%lld channels in %lld groups do not fit a weight of [%lld, %lld, ...]",
                        (long long)x->dim[1], (long long)group, (long long)w->dim[0], (long long)w->dim[1]);
    }
    vtac_window window;
    VTA_TRY(vtac_window_of(node, x, w, false, &window, diag));
    out->rank = x->rank;
    out->dim[0] = x->dim[0];
    out->dim[1] = w->dim[0];
    memcpy(&out->dim[2], window.extent, window.axes * sizeof out->dim[0]);
    return VTA_OK;
}

vta_status vtac_infer_conv(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *x;
    const vtac_type *w;
    VTA_TRY(vtac_need_type(graph, node, VTAC_CONV_X, &x, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_CONV_WEIGHT, &w, diag));
    out[0].dtype = x->dtype;
    VTA_TRY(conv_shape(node, x, w, &out[0], diag));
    const vtac_type *bias = vtac_in_type(graph, node, VTAC_CONV_BIAS);
    if (bias != NULL && (bias->rank != 1 || bias->dim[0] != w->dim[0])) {
        return vta_fail(diag, VTA_INVALID, "the bias must hold %lld values", (long long)w->dim[0]);
    }
    return VTA_OK;
}

vta_status vtac_infer_conv_integer(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                   vta_diag *diag)
{
    const vtac_type *x;
    const vtac_type *w;
    VTA_TRY(vtac_need_type(graph, node, VTAC_CONV_INTEGER_X, &x, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_CONV_INTEGER_WEIGHT, &w, diag));
    out[0].dtype = VTAC_I32;
    return conv_shape(node, x, w, &out[0], diag);
}

vta_status vtac_infer_qlinear_conv(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                   vta_diag *diag)
{
    const vtac_type *x;
    const vtac_type *w;
    const vtac_type *y_zero;
    VTA_TRY(vtac_need_type(graph, node, VTAC_QLINEAR_CONV_X, &x, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_QLINEAR_CONV_WEIGHT, &w, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_QLINEAR_CONV_Y_ZERO, &y_zero, diag));
    out[0].dtype = y_zero->dtype;
    return conv_shape(node, x, w, &out[0], diag);
}

/* The places of each axis of the output, from the attributes; window: kernel, strides and dilations. */
static vta_status transpose_extents(const vtac_node *node, const vtac_type *x, const vtac_window *window,
                                    vtac_type *out, vta_diag *diag)
{
    int64_t pads[2 * VTAC_MAX_RANK] = {0};
    int64_t extra[VTAC_MAX_RANK] = {0};
    int64_t asked[VTAC_MAX_RANK] = {0};
    VTA_TRY(vtac_int_list(node, "pads", 2 * window->axes, 0, pads, diag));
    VTA_TRY(vtac_int_list(node, "output_padding", window->axes, 0, extra, diag));
    VTA_TRY(vtac_int_list(node, "output_shape", window->axes, -1, asked, diag));
    const bool same = strncmp(vtac_attr_string(node, "auto_pad", ""), "SAME", 4) == 0;
    for (uint32_t i = 0; i < window->axes; i++) {
        const int64_t full = (x->dim[i + 2] - 1) * window->stride[i] + extra[i] +
                             (window->kernel[i] - 1) * window->dilation[i] + 1;
        const int64_t shape =
            same ? x->dim[i + 2] * window->stride[i] : full - pads[i] - pads[i + window->axes];
        out->dim[i + 2] = asked[i] >= 0 ? asked[i] : shape;
        if (out->dim[i + 2] < 1) {
            return vta_fail(diag, VTA_INVALID, "the output would have %lld places on axis %u",
                            (long long)out->dim[i + 2], i);
        }
    }
    return VTA_OK;
}

vta_status vtac_infer_conv_transpose(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                     vta_diag *diag)
{
    const vtac_type *x;
    const vtac_type *w;
    VTA_TRY(vtac_need_type(graph, node, VTAC_CONV_X, &x, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_CONV_WEIGHT, &w, diag));
    if (x->rank < 3 || x->rank != w->rank || x->dim[1] != w->dim[0]) {
        return vta_fail(diag, VTA_INVALID,
                        "input and weight do not fit: expected [N, C, ...] and [C, M/group, ...]");
    }
    vtac_window window = {.axes = x->rank - 2};
    VTA_TRY(kernel_of(node, w, &window, diag));
    VTA_TRY(vtac_int_list(node, "strides", window.axes, 1, window.stride, diag));
    VTA_TRY(vtac_int_list(node, "dilations", window.axes, 1, window.dilation, diag));
    VTA_TRY(check_steps(&window, diag));
    const int64_t group = vtac_attr_int(node, "group", 1);
    if (group < 1 || x->dim[1] % group != 0 || w->dim[1] > INT64_MAX / group) {
        return vta_fail(diag, VTA_INVALID, "%lld channels in %lld groups", (long long)x->dim[1],
                        (long long)group);
    }
    out[0] = (vtac_type){.dtype = x->dtype, .rank = x->rank, .dim = {x->dim[0], w->dim[1] * group}};
    VTA_TRY(vtac_expect_shape(graph, node, VTAC_CONV_BIAS, "the bias", 1, &out[0].dim[1], diag));
    return transpose_extents(node, x, &window, &out[0], diag);
}

/* MaxPool's second output holds indices; QLinearAveragePool has the attributes of AveragePool. */
vta_status vtac_infer_pool(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *x;
    VTA_TRY(vtac_need_type(graph, node, 0, &x, diag));
    vtac_window window = {.axes = 0};
    VTA_TRY(vtac_window_of(node, x, NULL, true, &window, diag));
    out[0] = *x;
    memcpy(&out[0].dim[2], window.extent, window.axes * sizeof out[0].dim[0]);
    if (node->output_count > VTAC_POOL_INDICES) {
        out[VTAC_POOL_INDICES] = out[0];
        out[VTAC_POOL_INDICES].dtype = VTAC_I64;
    }
    return VTA_OK;
}

vta_status vtac_infer_global_pool(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                  vta_diag *diag)
{
    const vtac_type *x;
    VTA_TRY(vtac_need_type(graph, node, 0, &x, diag));
    if (x->rank < 2) {
        return vta_fail(diag, VTA_INVALID, "the input has rank %u, expected [N, C, spatial...]", x->rank);
    }
    out[0] = *x;
    for (uint32_t i = 2; i < x->rank; i++) {
        out[0].dim[i] = 1;
    }
    return VTA_OK;
}

vta_status vtac_infer_qlinear_global_pool(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                          vta_diag *diag)
{
    VTA_TRY(vtac_infer_global_pool(graph, node, out, diag));
    if (vtac_attr_int(node, "channels_last", 0) != 0) {
        const vtac_type *x = vtac_in_type(graph, node, 0);
        out[0] = *x;
        for (uint32_t i = 1; i + 1 < x->rank; i++) {
            out[0].dim[i] = 1;
        }
    }
    return VTA_OK;
}
