/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions and pools.
 */
#include <math.h>
#include <string.h>

#include "../import/window.h"
#include "keras.h"

/* ---- convolutions: 1 to 3 spatial axes */

typedef struct keras_window {
    uint32_t axes;
    int64_t kernel[3], stride[3], dilation[3], pads[6];
    bool same, causal, first; /* first: the file has the channels on axis 1, too */
    vtac_id x;                /* the input, channels on axis 1 */
} keras_window;

static uint32_t axes_of(const char *how)
{
    return (uint32_t)(*how - '0');
}

/* A result as the file has its axes. */
static vtac_keras_value window_result(const keras_window *w, vtac_id y)
{
    return w->first ? vtac_keras_as_plain(y) : vtac_keras_as_planes(y);
}

/* The input's spatial sizes; false after a failure. */
static bool window_of(vtac_keras *k, vtac_keras_value *v, uint32_t axes, const char *kernel, keras_window *w)
{
    const bool first = strcmp(vtac_keras_text(k, "data_format", "channels_last"), "channels_first") == 0;
    const vtac_id x = first ? vtac_keras_plain(k, v) : vtac_keras_planes(k, v);
    const vtac_type type = vtac_made_type(&k->maker, x);
    const char *padding = vtac_keras_text(k, "padding", "valid");
    *w = (keras_window){.axes = axes,
                        .first = first,
                        .x = x,
                        .same = strcmp(padding, "same") == 0,
                        .causal = strcmp(padding, "causal") == 0};
    vtac_keras_ints(k, kernel, 2, w->kernel, axes);
    int64_t stride[3] = {1, 1, 1};
    const bool pool = strcmp(kernel, "pool_size") == 0;
    for (uint32_t a = 0; a < axes; a++) {
        stride[a] = pool ? w->kernel[a] : 1;
    }
    memcpy(w->stride, stride, sizeof stride);
    if (vtac_keras_option(k, "strides") != NULL) {
        vtac_keras_ints(k, "strides", 1, w->stride, axes);
    }
    vtac_keras_ints(k, "dilation_rate", 1, w->dilation, axes);
    if (k->maker.status == VTA_OK && type.rank != axes + 2) {
        vtac_make_fail(&k->maker, VTA_INVALID, "the input has %u axes, expected %u", type.rank, axes + 2);
    }
    for (uint32_t a = 0; a < axes && k->maker.status == VTA_OK; a++) {
        if (w->kernel[a] < 1 || w->stride[a] < 1 || w->dilation[a] < 1) {
            vtac_make_fail(&k->maker, VTA_INVALID, "a window of %lld, stride %lld, dilation %lld",
                           (long long)w->kernel[a], (long long)w->stride[a], (long long)w->dilation[a]);
            break;
        }
        const int64_t size = type.dim[a + 2];
        if (w->same) {
            vtac_pad_same(size, w->kernel[a], w->stride[a], w->dilation[a], true, &w->pads[a],
                          &w->pads[a + axes]);
        } else if (w->causal) {
            w->pads[a] = (w->kernel[a] - 1) * w->dilation[a];
        }
    }
    return k->maker.status == VTA_OK;
}

static uint32_t window_attrs(const keras_window *w, int64_t groups, vtac_attr *attrs)
{
    attrs[0] = vtac_attr_of_ints("strides", w->stride, w->axes);
    attrs[1] = vtac_attr_of_ints("dilations", w->dilation, w->axes);
    attrs[2] = vtac_attr_of_ints("pads", w->pads, 2 * (size_t)w->axes);
    attrs[3] = vtac_attr_of_int("group", groups);
    return 4;
}

/* Weights [spatial...][a][b] with the last two in front, as `order` says. */
static vtac_id kernel_first(vtac_keras *k, const vtac_tensor *t, uint32_t axes, bool swapped)
{
    int64_t order[VTAC_MAX_RANK] = {swapped ? axes : axes + 1, swapped ? axes + 1 : axes};
    for (uint32_t a = 0; a < axes; a++) {
        order[a + 2] = a;
    }
    return vtac_make_transpose(&k->maker, vtac_keras_constant(k, t), order, axes + 2);
}

static vtac_id make_convolution(vtac_keras *k, vtac_id x, vtac_id w, vtac_id bias, const keras_window *shape,
                                int64_t groups)
{
    vtac_attr attrs[4];
    const uint32_t count = window_attrs(shape, groups, attrs);
    const vtac_id in[] = {x, w, bias};
    return vtac_make(&k->maker, VTAC_OP_CONV, in, 3, attrs, count);
}

vtac_keras_value vtac_keras_make_conv(vtac_keras *k, const void *how)
{
    keras_window w;
    const uint32_t axes = axes_of(how);
    if (!window_of(k, &k->in[0], axes, "kernel_size", &w)) {
        return vtac_keras_as_plain(0);
    }
    const vtac_id weight = kernel_first(k, vtac_keras_weight(k, 0, axes + 2), axes, false);
    const vtac_id y =
        make_convolution(k, w.x, weight, vtac_keras_bias(k, 1), &w, vtac_keras_int(k, "groups", 1));
    return window_result(&w, vtac_keras_activated(k, y, 1));
}

/* [h][w][channels][multiplier] as [channels * multiplier][1][h][w] */
static vtac_id depthwise_weight(vtac_keras *k, const vtac_tensor *t, uint32_t axes)
{
    vtac_id w = kernel_first(k, t, axes, true);
    const vtac_type type = vtac_made_type(&k->maker, w);
    const int64_t dims[] = {type.dim[0] * type.dim[1], 1, type.dim[2], type.dim[3], type.dim[4]};
    return vtac_make_reshape(&k->maker, w, dims, axes + 2);
}

vtac_keras_value vtac_keras_make_depthwise(vtac_keras *k, const void *how)
{
    keras_window w;
    const uint32_t axes = axes_of(how);
    if (!window_of(k, &k->in[0], axes, "kernel_size", &w)) {
        return vtac_keras_as_plain(0);
    }
    const vtac_tensor *t = vtac_keras_weight(k, 0, axes + 2);
    const vtac_id y =
        make_convolution(k, w.x, depthwise_weight(k, t, axes), vtac_keras_bias(k, 1), &w, t->type.dim[axes]);
    return window_result(&w, vtac_keras_activated(k, y, 1));
}

vtac_keras_value vtac_keras_make_separable(vtac_keras *k, const void *how)
{
    keras_window w;
    const uint32_t axes = axes_of(how);
    if (!window_of(k, &k->in[0], axes, "kernel_size", &w)) {
        return vtac_keras_as_plain(0);
    }
    const vtac_tensor *t = vtac_keras_weight(k, 0, axes + 2);
    const keras_window one = {.axes = axes, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};
    const vtac_id x = make_convolution(k, w.x, depthwise_weight(k, t, axes), 0, &w, t->type.dim[axes]);
    const vtac_id point = kernel_first(k, vtac_keras_weight(k, 1, axes + 2), axes, false);
    return window_result(
        &w, vtac_keras_activated(k, make_convolution(k, x, point, vtac_keras_bias(k, 2), &one, 1), 1));
}

/* Weights [h][w][outputs][inputs]. */
vtac_keras_value vtac_keras_make_conv_transpose(vtac_keras *k, const void *how)
{
    keras_window w;
    const uint32_t axes = axes_of(how);
    if (!window_of(k, &k->in[0], axes, "kernel_size", &w)) {
        return vtac_keras_as_plain(0);
    }
    int64_t more[3];
    for (uint32_t a = 0; a < axes; a++) {
        const int64_t reach = (w.kernel[a] - 1) * w.dilation[a] + 1;
        const int64_t cut = w.same ? reach - w.stride[a] : 0; /* same: input * stride comes out */
        w.pads[a] = cut > 0 ? cut / 2 : 0;
        w.pads[a + axes] = cut > 0 ? cut - cut / 2 : 0;
        more[a] = w.same ? (cut < 0 ? -cut : 0) : reach < w.stride[a] ? w.stride[a] - reach : 0;
    }
    if (vtac_keras_option(k, "output_padding") != NULL) {
        /* (size - 1) * stride + reach - 2 * (reach / 2) + padding come out; what is cut is shared as above */
        int64_t padding[3];
        vtac_keras_ints(k, "output_padding", 0, padding, axes);
        for (uint32_t a = 0; a < axes; a++) {
            const int64_t reach = (w.kernel[a] - 1) * w.dilation[a] + 1;
            const int64_t cut = (w.same ? 2 * (reach / 2) : 0) - padding[a];
            w.pads[a] = cut > 0 ? cut / 2 : 0;
            w.pads[a + axes] = cut > 0 ? cut - cut / 2 : 0;
            more[a] = cut < 0 ? -cut : 0;
        }
    }
    vtac_attr attrs[5];
    uint32_t count = window_attrs(&w, 1, attrs);
    attrs[count++] = vtac_attr_of_ints("output_padding", more, axes);
    const vtac_id weight = kernel_first(k, vtac_keras_weight(k, 0, axes + 2), axes, false);
    const vtac_id in[] = {w.x, weight, vtac_keras_bias(k, 1)};
    return window_result(
        &w, vtac_keras_activated(k, vtac_make(&k->maker, VTAC_OP_CONV_TRANSPOSE, in, 3, attrs, count), 1));
}

/* ---- ConvLSTM: an LSTM over steps [batch][steps][spatial...][channels] whose products are convolutions */

enum { MAX_STEPS = 256 }; /* each is written out */

typedef struct conv_lstm {
    keras_window w, own; /* of the input; of the states, as large as they are */
    vtac_id weight;
    int64_t filters;
    const char *gate, *activation;
    vtac_id h, c; /* the states; 0: none yet */
} conv_lstm;

/* Part i of the gates i f c o. */
static vtac_id gate_of(vtac_keras *k, const conv_lstm *l, vtac_id all, int i, const char *activation)
{
    const vtac_id x = vtac_make_slice(&k->maker, all, 1, i * l->filters, (i + 1) * l->filters);
    return vtac_keras_activate(k, x, activation, 1);
}

static void conv_lstm_step(vtac_keras *k, conv_lstm *l, vtac_id all)
{
    vtac_import_builder *m = &k->maker;
    if (l->h != 0) {
        all = vtac_make2(m, VTAC_OP_ADD, all, make_convolution(k, l->h, l->weight, 0, &l->own, 1));
    }
    const vtac_id in =
        vtac_make2(m, VTAC_OP_MUL, gate_of(k, l, all, 0, l->gate), gate_of(k, l, all, 2, l->activation));
    if (l->c != 0) {
        const vtac_id kept = vtac_make2(m, VTAC_OP_MUL, gate_of(k, l, all, 1, l->gate), l->c);
        l->c = vtac_make2(m, VTAC_OP_ADD, kept, in);
    } else {
        l->c = in;
    }
    l->h = vtac_make2(m, VTAC_OP_MUL, gate_of(k, l, all, 3, l->gate),
                      vtac_keras_activate(k, l->c, l->activation, 1));
}

/* The input's steps as pictures, and what the layer says of its windows. */
static bool begin_conv_lstm(vtac_keras *k, uint32_t axes, vtac_type *type, conv_lstm *l)
{
    vtac_import_builder *m = &k->maker;
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    *type = vtac_made_type(m, x);
    if (m->status == VTA_OK && (type->rank != axes + 3 || k->in[0].mask != 0 || k->in_count == 2 ||
                                k->in_count > 3 || type->dim[1] < 1 || type->dim[1] > MAX_STEPS)) {
        vtac_make_refuse(&k->maker, "an input of %u axes, a mask, or more than %d steps", type->rank,
                         MAX_STEPS);
    }
    if (m->status != VTA_OK) {
        return false;
    }
    vtac_type pictures = *type;
    pictures.rank--;
    pictures.dim[0] *= type->dim[1];
    memmove(&pictures.dim[1], &pictures.dim[2], (axes + 1) * sizeof type->dim[0]);
    vtac_keras_value all = vtac_keras_as_plain(vtac_make_reshape(m, x, pictures.dim, pictures.rank));
    const vtac_tensor *recurrent = vtac_keras_weight(k, 1, axes + 2);
    if (!window_of(k, &all, axes, "kernel_size", &l->w)) {
        return false;
    }
    l->own = (keras_window){.axes = axes, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};
    for (uint32_t a = 0; a < axes; a++) {
        l->own.pads[a] = (recurrent->type.dim[a] - 1) / 2;
        l->own.pads[a + axes] = recurrent->type.dim[a] - 1 - l->own.pads[a];
    }
    l->filters = recurrent->type.dim[axes];
    l->weight = kernel_first(k, recurrent, axes, false);
    l->gate = vtac_keras_text(k, "recurrent_activation", k->version3 ? "sigmoid" : "hard_sigmoid");
    l->activation = vtac_keras_text(k, "activation", "tanh");
    if (recurrent->type.dim[axes + 1] != 4 * l->filters) {
        vtac_make_fail(m, VTA_INVALID, "its weights do not fit %lld filters", (long long)l->filters);
    }
    return m->status == VTA_OK;
}

vtac_keras_value vtac_keras_make_conv_lstm(vtac_keras *k, const void *how)
{
    vtac_import_builder *m = &k->maker;
    const uint32_t axes = axes_of(how);
    conv_lstm l = {0};
    vtac_type type;
    if (!begin_conv_lstm(k, axes, &type, &l)) {
        return vtac_keras_as_plain(0);
    }
    const vtac_id weight = kernel_first(k, vtac_keras_weight(k, 0, axes + 2), axes, false);
    const vtac_id all = make_convolution(k, l.w.x, weight, vtac_keras_bias(k, 2), &l.w, 1);
    vtac_type gates = vtac_made_type(m, all);
    const int64_t steps = type.dim[1];
    memmove(&gates.dim[2], &gates.dim[1], (axes + 1) * sizeof gates.dim[0]);
    gates.dim[0] = type.dim[0];
    gates.dim[1] = steps;
    const vtac_id parted = vtac_make_reshape(m, all, gates.dim, axes + 3);
    vtac_type one = gates; /* [batch][4 filters][spatial...] */
    memmove(&one.dim[1], &one.dim[2], (axes + 1) * sizeof one.dim[0]);
    vtac_type state = gates; /* [batch][1][filters][spatial...] */
    state.dim[1] = 1;
    state.dim[2] = l.filters;
    if (k->in_count == 3) {
        l.h = l.w.first ? vtac_keras_plain(k, &k->in[1]) : vtac_keras_planes(k, &k->in[1]);
        l.c = l.w.first ? vtac_keras_plain(k, &k->in[2]) : vtac_keras_planes(k, &k->in[2]);
    }
    const bool backwards = vtac_keras_bool(k, "go_backwards", false);
    vtac_id found[MAX_STEPS];
    for (int64_t t = 0; t < steps && m->status == VTA_OK; t++) {
        const int64_t from = backwards ? steps - 1 - t : t;
        conv_lstm_step(
            k, &l, vtac_make_reshape(m, vtac_make_slice(m, parted, 1, from, from + 1), one.dim, axes + 2));
        found[t] = vtac_make_reshape(m, l.h, state.dim, axes + 3);
    }
    if (vtac_keras_bool(k, "return_state", false)) {
        k->more_count = 2;
        k->more[0] = window_result(&l.w, l.h);
        k->more[1] = window_result(&l.w, l.c);
    }
    if (!vtac_keras_bool(k, "return_sequences", false)) {
        return window_result(&l.w, l.h);
    }
    int64_t order[VTAC_MAX_RANK] = {0, 1};
    for (uint32_t a = 0; a <= axes; a++) {
        order[a + 2] = l.w.first ? a + 2 : a == axes ? 2 : a + 3;
    }
    const vtac_id y = m->status == VTA_OK ? vtac_make_concat(m, found, (uint32_t)steps, 1) : 0;
    return vtac_keras_as_plain(vtac_make_transpose(m, y, order, axes + 3));
}

vtac_keras_value vtac_keras_make_pool(vtac_keras *k, const void *how)
{
    const char *kind = how; /* "max1", "max2", "avg1", "avg2" */
    const uint32_t axes = axes_of(kind + 3);
    keras_window w;
    if (!window_of(k, &k->in[0], axes, "pool_size", &w)) {
        return vtac_keras_as_plain(0);
    }
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", w.stride, axes),
                               vtac_attr_of_ints("pads", w.pads, 2 * (size_t)axes),
                               vtac_attr_of_ints("kernel_shape", w.kernel, axes)};
    const vtac_op op = kind[0] == 'm' ? VTAC_OP_MAX_POOL : VTAC_OP_AVERAGE_POOL;
    return window_result(&w, vtac_make(&k->maker, op, &w.x, 1, attrs, 3));
}

vtac_keras_value vtac_keras_make_global_pool(vtac_keras *k, const void *how)
{
    const bool keep = vtac_keras_bool(k, "keepdims", false);
    vtac_id x;
    const bool in_planes = vtac_keras_either(&k->in[0], &x);
    const bool first = strcmp(vtac_keras_text(k, "data_format", "channels_last"), "channels_first") == 0;
    if (first && in_planes) {
        x = vtac_keras_plain(k, &k->in[0]);
    }
    const uint32_t rank = vtac_keras_rank(k, &k->in[0]);
    int64_t axes[VTAC_MAX_RANK];
    if (rank < 3) {
        vtac_make_fail(&k->maker, VTA_INVALID, "the input has %u axes", rank);
        return vtac_keras_as_plain(0);
    }
    for (uint32_t i = 0; i + 2 < rank; i++) {
        axes[i] = in_planes || first ? i + 2 : i + 1;
    }
    if (k->in[0].mask != 0 && rank == 3 && *(const char *)how == 'a' &&
        !first) { /* of the steps that count */
        vtac_import_builder *m = &k->maker;
        const vtac_type type = vtac_made_type(m, k->in[0].mask);
        const vtac_id weight = vtac_make_reshape(m, vtac_make_cast(m, k->in[0].mask, VTAC_F32),
                                                 (int64_t[]){type.dim[0], type.dim[1], 1}, 3);
        const int64_t steps[] = {1};
        const vtac_id sum = vtac_make_reduce(
            m, VTAC_OP_REDUCE_SUM, vtac_make2(m, VTAC_OP_MUL, vtac_keras_plain(k, &k->in[0]), weight), steps,
            1, keep);
        return vtac_keras_as_plain(
            vtac_make2(m, VTAC_OP_DIV, sum, vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, weight, steps, 1, keep)));
    }
    const vtac_op op = *(const char *)how == 'm' ? VTAC_OP_REDUCE_MAX : VTAC_OP_REDUCE_MEAN;
    const vtac_id y = vtac_make_reduce(&k->maker, op, x, axes, rank - 2, keep);
    return vtac_keras_as(in_planes && keep && !first, y);
}
