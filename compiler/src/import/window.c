/* SPDX-License-Identifier: Apache-2.0 */
#include "window.h"

void vtac_pad_same(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, bool upper,
                   int64_t *before, int64_t *after)
{
    const int64_t reach = (kernel - 1) * dilation + 1;
    const int64_t count = (size + stride - 1) / stride;
    const int64_t missing = (count - 1) * stride + reach - size;
    const int64_t total = missing > 0 ? missing : 0;
    *before = upper ? total / 2 : total - total / 2;
    *after = total - *before;
}

int64_t vtac_window_count(vtac_window_rule rule, int64_t size, int64_t kernel, int64_t stride,
                          int64_t dilation, int64_t before, int64_t after)
{
    const int64_t room = size + before + after - (kernel - 1) * dilation - 1;
    if (rule == VTAC_WINDOW_SAME_UPPER || rule == VTAC_WINDOW_SAME_LOWER) {
        return (size + stride - 1) / stride;
    }
    if (rule == VTAC_WINDOW_FLOOR) {
        return room < 0 ? 0 : room / stride + 1;
    }
    const int64_t count = room <= -stride ? 0 : (room + stride - 1) / stride + 1;
    const bool outside = count > 1 && (count - 1) * stride >= size + before;
    return rule == VTAC_WINDOW_CEIL && outside ? count - 1 : count;
}

static bool axis_is_sane(vtac_import_builder *m, const vtac_import_window *w, uint32_t a)
{
    const int64_t numbers[] = {w->kernel[a], w->stride[a], w->dilation[a], w->pads[a] + 1,
                               w->pads[a + w->axes] + 1};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i] < 1 || numbers[i] > VTAC_WINDOW_MAX) {
            vtac_make_fail(
                m, VTA_INVALID,
                "axis %u: a window of %lld, steps of %lld, each %lld, between pads of %lld and %lld", a,
                (long long)w->kernel[a], (long long)w->stride[a], (long long)w->dilation[a],
                (long long)w->pads[a], (long long)w->pads[a + w->axes]);
            return false;
        }
    }
    return true;
}

static bool lay_axis(vtac_import_builder *m, int64_t size, vtac_window_rule rule, uint32_t a,
                     vtac_import_window *w)
{
    int64_t *before = &w->pads[a];
    int64_t *after = &w->pads[a + w->axes];
    if (rule == VTAC_WINDOW_SAME_UPPER || rule == VTAC_WINDOW_SAME_LOWER) {
        vtac_pad_same(size, w->kernel[a], w->stride[a], w->dilation[a], rule == VTAC_WINDOW_SAME_UPPER,
                      before, after);
    }
    const int64_t count =
        vtac_window_count(rule, size, w->kernel[a], w->stride[a], w->dilation[a], *before, *after);
    if (count < 1) {
        vtac_make_fail(m, VTA_INVALID,
                       "axis %u: a window of %lld, each %lld, does not fit %lld between pads of "
                       "%lld and %lld",
                       a, (long long)w->kernel[a], (long long)w->dilation[a], (long long)size,
                       (long long)*before, (long long)*after);
        return false;
    }
    if (rule == VTAC_WINDOW_CEIL_ALL && (count - 1) * w->stride[a] >= size + *before && count > 1) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "axis %u: the last of %lld windows begins behind the input", a,
                       (long long)count);
        return false;
    }
    const bool by_ceil = rule == VTAC_WINDOW_CEIL || rule == VTAC_WINDOW_CEIL_ALL;
    if (by_ceil && w->dilation[a] == 1 && w->kernel[a] > size + *before + *after) {
        w->kernel[a] = size + *before + *after;
    }
    w->ceil = w->ceil || count > vtac_window_count(VTAC_WINDOW_FLOOR, size, w->kernel[a], w->stride[a],
                                                   w->dilation[a], *before, *after);
    return true;
}

bool vtac_lay_window(vtac_import_builder *m, vtac_id x, vtac_window_rule rule, vtac_import_window *w)
{
    const vtac_type type = vtac_made_type(m, x);
    w->ceil = false;
    if (m->status == VTA_OK && (type.rank != w->axes + 2 || w->axes > VTAC_WINDOW_AXES)) {
        vtac_make_fail(m, VTA_INVALID, "windows over %u axes, the input has %u with batch and channels",
                       w->axes, type.rank);
    }
    for (uint32_t a = 0; a < w->axes && m->status == VTA_OK; a++) {
        if (!axis_is_sane(m, w, a) || !lay_axis(m, type.dim[a + 2], rule, a, w)) {
            return false;
        }
    }
    return m->status == VTA_OK;
}

static uint32_t window_attrs(const vtac_import_window *w, vtac_attr *attrs)
{
    attrs[0] = vtac_attr_of_ints("strides", w->stride, w->axes);
    attrs[1] = vtac_attr_of_ints("dilations", w->dilation, w->axes);
    attrs[2] = vtac_attr_of_ints("pads", w->pads, 2 * (size_t)w->axes);
    return 3;
}

vtac_id vtac_make_conv(vtac_import_builder *m, vtac_id x, vtac_id weight, vtac_id bias,
                       const vtac_import_window *w, int64_t groups)
{
    vtac_attr attrs[4];
    uint32_t count = window_attrs(w, attrs);
    attrs[count++] = vtac_attr_of_int("group", groups);
    const vtac_id in[] = {x, weight, bias};
    return vtac_make(m, VTAC_OP_CONV, in, 3, attrs, count);
}

void vtac_make_pool_places(vtac_import_builder *m, vtac_id x, const vtac_import_window *w, vtac_id out[2])
{
    vtac_attr attrs[5];
    uint32_t count = window_attrs(w, attrs);
    attrs[count++] = vtac_attr_of_ints("kernel_shape", w->kernel, w->axes);
    if (w->ceil) {
        attrs[count++] = vtac_attr_of_int("ceil_mode", 1);
    }
    vtac_make_many(m, VTAC_OP_MAX_POOL, &x, 1, attrs, count, out, 2);
}

vtac_id vtac_make_pool(vtac_import_builder *m, vtac_op op, vtac_id x, const vtac_import_window *w,
                       bool count_padding)
{
    vtac_attr attrs[6];
    uint32_t count = window_attrs(w, attrs);
    attrs[count++] = vtac_attr_of_ints("kernel_shape", w->kernel, w->axes);
    if (w->ceil) {
        attrs[count++] = vtac_attr_of_int("ceil_mode", 1);
    }
    if (op == VTAC_OP_AVERAGE_POOL && count_padding) {
        attrs[count++] = vtac_attr_of_int("count_include_pad", 1);
    }
    return vtac_make(m, op, &x, 1, attrs, count);
}
