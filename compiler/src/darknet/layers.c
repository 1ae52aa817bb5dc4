/* SPDX-License-Identifier: Apache-2.0
 *
 * Darknet's layers that pool, join, move and scale values, and the table of all layers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "darknet.h"

enum { MAX_FROM = 64 };

static vtac_id pool_of(vtac_darknet *d, vtac_id x, vtac_op op)
{
    const int64_t stride = vtac_darknet_option(d, "stride", 1, 1, MAX_SIZE);
    const int64_t size = vtac_darknet_option(d, "size", stride, 1, MAX_SIZE);
    const int64_t padding = vtac_darknet_option(d, "padding", size - 1, 0, MAX_SIZE);
    const int64_t strides[] = {vtac_darknet_option(d, "stride_y", stride, 1, MAX_SIZE),
                               vtac_darknet_option(d, "stride_x", stride, 1, MAX_SIZE)};
    const int64_t kernel[] = {size, size};
    const int64_t before = padding / 2;
    const int64_t pads[] = {before, before, padding - before, padding - before};
    (void)vtac_darknet_type(d, x, 4);
    const int64_t blur = vtac_darknet_option(d, "antialiasing", 0, 0, 2);
    const int64_t ones[] = {1, 1};
    if (vtac_darknet_option(d, "avgpool_depth", 0, 0, 1) != 0) {
        vtac_make_fail(&d->maker, VTA_UNSUPPORTED, "means over channels");
    }
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", blur != 0 ? ones : strides, 2),
                               vtac_attr_of_ints("pads", pads, 4),
                               vtac_attr_of_ints("kernel_shape", kernel, 2)};
    x = vtac_make(&d->maker, op, &x, 1, attrs, 3);
    return blur != 0 ? vtac_darknet_blurred(d, x, strides, blur == 2) : x;
}

/* The most of every so manieth channel. */
static vtac_id max_of_channels(vtac_darknet *d, vtac_id x)
{
    vtac_import_builder *m = &d->maker;
    const vtac_type shape = vtac_darknet_type(d, x, 4);
    const int64_t out = vtac_darknet_option(d, "out_channels", 1, 1, MAX_SIZE);
    const int64_t axis[] = {1};
    if (m->status != VTA_OK || shape.dim[1] % out != 0) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "%lld channels from %lld", (long long)out,
                       (long long)shape.dim[1]);
        return 0;
    }
    x = vtac_make_reshape(m, x,
                          (int64_t[]){shape.dim[0], shape.dim[1] / out, out, shape.dim[2], shape.dim[3]}, 5);
    return vtac_make_reduce(m, VTAC_OP_REDUCE_MAX, x, axis, 1, false);
}

static vtac_id import_maxpool(vtac_darknet *d, vtac_id x)
{
    if (vtac_darknet_option(d, "maxpool_depth", 0, 0, 1) != 0) {
        return max_of_channels(d, x);
    }
    return pool_of(d, x, VTAC_OP_MAX_POOL);
}

static vtac_id local_avgpool(vtac_darknet *d, vtac_id x)
{
    return pool_of(d, x, VTAC_OP_AVERAGE_POOL);
}

static vtac_id import_avgpool(vtac_darknet *d, vtac_id x)
{
    (void)vtac_darknet_type(d, x, 4);
    return vtac_make1(&d->maker, VTAC_OP_GLOBAL_AVERAGE_POOL, x);
}

/* An earlier layer: counted from here where it is negative. */
static vtac_id earlier_layer(vtac_darknet *d, int64_t number)
{
    const int64_t at = number < 0 ? (int64_t)d->number + number : number;
    if (at < 0 || at >= (int64_t)d->number || d->values[at] == 0) {
        vtac_make_fail(&d->maker, VTA_INVALID, "layer %lld is none before it", (long long)number);
        return 0;
    }
    return d->values[at];
}

static size_t from_layers(vtac_darknet *d, const char *name, int64_t *from)
{
    size_t count = 0;
    if (d->maker.status == VTA_OK) {
        d->maker.status = vtac_cfg_ints(d->section, name, from, MAX_FROM, &count, d->maker.diag);
    }
    if (d->maker.status == VTA_OK && count == 0) {
        vtac_make_fail(&d->maker, VTA_INVALID, "it has no '%s'", name);
    }
    return d->maker.status == VTA_OK ? count : 0;
}

static vtac_id import_route(vtac_darknet *d, vtac_id x)
{
    (void)x;
    int64_t from[MAX_FROM];
    vtac_id parts[MAX_FROM];
    const size_t count = from_layers(d, "layers", from);
    const int64_t groups = vtac_darknet_option(d, "groups", 1, 1, MAX_SIZE);
    const int64_t group = vtac_darknet_option(d, "group_id", 0, 0, MAX_SIZE);
    for (size_t i = 0; i < count; i++) {
        parts[i] = earlier_layer(d, from[i]);
        const int64_t channels =
            vtac_darknet_type(d, parts[i], vtac_made_type(&d->maker, parts[i]).rank).dim[1];
        if (groups > 1 && (channels % groups != 0 || group >= groups)) {
            vtac_make_fail(&d->maker, VTA_INVALID, "group %lld of %lld in %lld channels", (long long)group,
                           (long long)groups, (long long)channels);
        }
        if (groups > 1 && d->maker.status == VTA_OK) {
            const int64_t each = channels / groups;
            parts[i] = vtac_make_slice(&d->maker, parts[i], 1, group * each, (group + 1) * each);
        }
    }
    return d->maker.status == VTA_OK ? vtac_make_concat(&d->maker, parts, (uint32_t)count, 1) : 0;
}

/* y with the channels of x: some are left out, or zeros added. */
static vtac_id fit_channels(vtac_darknet *d, vtac_id y, int64_t channels)
{
    const int64_t own = vtac_darknet_type(d, y, 4).dim[1];
    if (own > channels) {
        return vtac_make_slice(&d->maker, y, 1, 0, channels);
    }
    const int64_t pads[] = {0, 0, 0, 0, 0, channels - own, 0, 0};
    return own == channels ? y : vtac_make2(&d->maker, VTAC_OP_PAD, y, vtac_make_ints(&d->maker, pads, 8));
}

/* Every so manieth row and column of a larger layer. */
static vtac_id fit_places(vtac_darknet *d, vtac_id y, const int64_t *to)
{
    vtac_import_builder *m = &d->maker;
    const vtac_type shape = vtac_darknet_type(d, y, 4);
    const int64_t step = to[2] > 0 ? shape.dim[2] / to[2] : 1;
    if (shape.dim[2] == to[2] && shape.dim[3] == to[3]) {
        return y;
    }
    if (m->status != VTA_OK || step < 2 || to[3] < 1 || shape.dim[3] / to[3] != step) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "planes of %lld x %lld added to %lld x %lld",
                       (long long)shape.dim[2], (long long)shape.dim[3], (long long)to[2], (long long)to[3]);
        return 0;
    }
    const int64_t zeros[] = {0, 0};
    const int64_t end[] = {to[2] * step, to[3] * step};
    const int64_t axes[] = {2, 3};
    const int64_t steps[] = {step, step};
    const vtac_id in[] = {y, vtac_make_ints(m, zeros, 2), vtac_make_ints(m, end, 2),
                          vtac_make_ints(m, axes, 2), vtac_make_ints(m, steps, 2)};
    return vtac_make(m, VTAC_OP_SLICE, in, 5, NULL, 0);
}

/* The weights of the layers that a shortcut joins, one for each or one for each channel, in proportion. */
static const float *shortcut_weights(vtac_darknet *d, size_t layers, int64_t channels, int64_t *each)
{
    const char *type = vtac_cfg_text(d->section, "weights_type");
    const char *norm = vtac_cfg_text(d->section, "weights_normalization");
    const bool powers = norm != NULL && strcmp(norm, "softmax") == 0;
    const bool positive = norm != NULL && (strcmp(norm, "relu") == 0 || strcmp(norm, "avg_relu") == 0);
    *each = type != NULL && strcmp(type, "per_channel") == 0 ? channels : 1;
    if ((*each == 1 && strcmp(type, "per_feature") != 0 && strcmp(type, "per_layer") != 0) ||
        (norm != NULL && !powers && !positive && strcmp(norm, "none") != 0)) {
        vtac_make_fail(&d->maker, VTA_UNSUPPORTED, "weights_type '%.40s', weights_normalization '%.40s'",
                       type, norm == NULL ? "none" : norm);
        return NULL;
    }
    float *w = vtac_darknet_take(d, (int64_t)layers * *each);
    for (int64_t c = 0; w != NULL && (powers || positive) && c < *each; c++) {
        float max = -HUGE_VALF;
        float sum = 1e-4F;
        for (size_t i = 0; i < layers; i++) {
            max = fmaxf(max, w[(int64_t)i * *each + c]);
        }
        for (size_t i = 0; i < layers; i++) {
            float *one = &w[(int64_t)i * *each + c];
            *one = powers ? expf(*one - max) : fmaxf(*one, 1e-3F);
            sum += *one;
        }
        for (size_t i = 0; i < layers; i++) {
            w[(int64_t)i * *each + c] /= sum;
        }
    }
    return w;
}

static vtac_id import_shortcut(vtac_darknet *d, vtac_id x)
{
    vtac_import_builder *m = &d->maker;
    int64_t from[MAX_FROM];
    const size_t count = from_layers(d, "from", from);
    const char *weighted = vtac_cfg_text(d->section, "weights_type");
    const bool has_weights = weighted != NULL && strcmp(weighted, "none") != 0;
    vtac_type type = vtac_darknet_type(d, x, 4);
    int64_t each = 0;
    const float *w =
        has_weights && m->status == VTA_OK ? shortcut_weights(d, count + 1, type.dim[1], &each) : NULL;
    vtac_id y = 0;
    for (size_t i = 0; i <= count && m->status == VTA_OK; i++) {
        vtac_id part = i == 0 ? x : fit_places(d, earlier_layer(d, from[i - 1]), type.dim);
        part = i == 0 ? part : fit_channels(d, part, type.dim[1]);
        const double factor = vtac_cfg_float(d->section, i == 0 ? "alpha" : "beta", 1.0);
        if (factor != 1.0) {
            part = vtac_make2(m, VTAC_OP_MUL, part, vtac_darknet_number(m, factor));
        }
        if (w != NULL) {
            const vtac_type row = {VTAC_F32, 3, {each, 1, 1}};
            part = vtac_make2(m, VTAC_OP_MUL, part, vtac_make_constant(m, &row, w + (int64_t)i * each));
        }
        y = i == 0 ? part : vtac_make2(m, VTAC_OP_ADD, y, part);
    }
    return vtac_darknet_activate(d, y, "linear");
}

static vtac_id import_upsample(vtac_darknet *d, vtac_id x)
{
    vtac_import_builder *m = &d->maker;
    const int64_t stride = vtac_darknet_option(d, "stride", 2, 1, 256);
    const vtac_type shape = vtac_darknet_type(d, x, 4);
    const int64_t sizes[] = {shape.dim[0], shape.dim[1], shape.dim[2] * stride, shape.dim[3] * stride};
    const char *scale = vtac_cfg_text(d->section, "scale");
    const vtac_attr attrs[] = {vtac_attr_of_string("mode", "nearest"),
                               vtac_attr_of_string("nearest_mode", "floor"),
                               vtac_attr_of_string("coordinate_transformation_mode", "asymmetric")};
    const vtac_id in[] = {x, 0, 0, vtac_make_ints(m, sizes, 4)};
    x = vtac_make(m, VTAC_OP_RESIZE, in, 4, attrs, 3);
    return scale == NULL || strtod(scale, NULL) == 1.0
               ? x
               : vtac_make2(m, VTAC_OP_MUL, x, vtac_make_number(m, VTAC_F32, strtod(scale, NULL)));
}

/* Channels into rows and columns. */
static vtac_id reorg_back(vtac_darknet *d, vtac_id x, int64_t s)
{
    vtac_import_builder *m = &d->maker;
    const vtac_type shape = vtac_darknet_type(d, x, 4);
    const int64_t n = shape.dim[0];
    const int64_t c = shape.dim[1] / (s * s);
    const int64_t h = shape.dim[2];
    const int64_t w = shape.dim[3];
    if (m->status != VTA_OK || shape.dim[1] % (s * s) != 0) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "%lld channels by %lld in reverse", (long long)shape.dim[1],
                       (long long)s);
        return 0;
    }
    x = vtac_make_reshape(m, x, (int64_t[]){n, s, s, c, h, w}, 6);
    x = vtac_make_transpose(m, x, (int64_t[]){0, 3, 4, 1, 5, 2}, 6);
    return vtac_make_reshape(m, x, (int64_t[]){n, c, h * s, w * s}, 4);
}

/* Rows and columns into channels; [reorg] reads the planes as if they were larger and fewer. */
static vtac_id import_reorg(vtac_darknet *d, vtac_id x)
{
    vtac_import_builder *m = &d->maker;
    const int64_t s = vtac_darknet_option(d, "stride", 1, 1, 256);
    const vtac_type shape = vtac_darknet_type(d, x, 4);
    const int64_t n = shape.dim[0];
    const int64_t c = shape.dim[1];
    const int64_t h = shape.dim[2];
    const int64_t w = shape.dim[3];
    const bool plain = strcmp(d->section->type, "reorg3d") == 0;
    if (vtac_darknet_option(d, "reverse", 0, 0, 1) != 0 && !plain) {
        return reorg_back(d, x, s);
    }
    if (vtac_darknet_option(d, "reverse", 0, 0, 1) != 0 || (!plain && c % (s * s) != 0) || h % s != 0 ||
        w % s != 0) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "%lld channels of %lld x %lld by %lld, or in reverse",
                       (long long)c, (long long)h, (long long)w, (long long)s);
        return 0;
    }
    const int64_t large[] = {n, c / (s * s), h, s, w, s};
    const int64_t own[] = {n, c, h / s, s, w / s, s};
    x = vtac_make_reshape(m, x, plain ? own : large, 6);
    x = vtac_make_transpose(m, x, (int64_t[]){0, 3, 5, 1, 2, 4}, 6);
    return vtac_make_reshape(m, x, (int64_t[]){n, c * s * s, h / s, w / s}, 4);
}

/* Squeeze and excite: planes times one number each; spatial attention: number by number. */
static vtac_id scaled_by(vtac_darknet *d, vtac_id x)
{
    int64_t from[MAX_FROM];
    if (from_layers(d, "from", from) != 1) { /* with scale_wh, a plane for all channels: its shape tells */
        vtac_make_fail(&d->maker, VTA_UNSUPPORTED, "more than one layer 'from'");
        return 0;
    }
    return vtac_darknet_activate(d, vtac_make2(&d->maker, VTAC_OP_MUL, x, earlier_layer(d, from[0])),
                                 "linear");
}

static vtac_id import_same(vtac_darknet *d, vtac_id x)
{
    (void)d;
    return x;
}

static vtac_id import_activation(vtac_darknet *d, vtac_id x)
{
    return vtac_darknet_activate(d, x, "linear");
}

static vtac_id import_softmax(vtac_darknet *d, vtac_id x)
{
    vtac_import_builder *m = &d->maker;
    const int64_t groups = vtac_darknet_option(d, "groups", 1, 1, MAX_SIZE);
    const char *warmth = vtac_cfg_text(d->section, "temperature");
    if (warmth != NULL && strtod(warmth, NULL) > 0.0 && strtod(warmth, NULL) != 1.0) {
        x = vtac_make2(m, VTAC_OP_MUL, x, vtac_darknet_number(m, 1.0 / strtod(warmth, NULL)));
    }
    if (vtac_darknet_option(d, "spatial", 0, 0, 1) != 0) { /* over the channels at each place */
        const vtac_attr channels = vtac_attr_of_int("axis", 1);
        return vtac_make(m, VTAC_OP_SOFTMAX, &x, 1, &channels, 1);
    }
    x = vtac_darknet_flattened(d, x);
    const vtac_type rows = vtac_darknet_type(d, x, 2);
    const int64_t shape[] = {rows.dim[0], groups, rows.dim[1] / groups};
    const int64_t whole[] = {rows.dim[0], rows.dim[1]};
    const vtac_attr axis = vtac_attr_of_int("axis", -1);
    if (vtac_cfg_text(d->section, "tree") != NULL) {
        return vtac_darknet_tree(d, x, vtac_cfg_text(d->section, "tree"));
    }
    if (rows.dim[1] % groups != 0) {
        vtac_make_fail(m, VTA_INVALID, "%lld classes in %lld groups", (long long)rows.dim[1],
                       (long long)groups);
        return 0;
    }
    x = vtac_make_reshape(m, x, shape, 3);
    x = vtac_make(m, VTAC_OP_SOFTMAX, &x, 1, &axis, 1);
    return vtac_make_reshape(m, x, whole, 2);
}

/* The middle of the picture; its values from 0…1 to -1…1 unless told otherwise. */
static vtac_id import_crop(vtac_darknet *d, vtac_id x)
{
    vtac_import_builder *m = &d->maker;
    const vtac_type shape = vtac_darknet_type(d, x, 4);
    const int64_t size[] = {vtac_darknet_option(d, "crop_height", 1, 1, shape.dim[2]),
                            vtac_darknet_option(d, "crop_width", 1, 1, shape.dim[3])};
    const int64_t begin[] = {(shape.dim[2] - size[0]) / 2, (shape.dim[3] - size[1]) / 2};
    x = vtac_make_slice(m, x, 2, begin[0], begin[0] + size[0]);
    x = vtac_make_slice(m, x, 3, begin[1], begin[1] + size[1]);
    if (vtac_darknet_option(d, "noadjust", 0, 0, 1) != 0) {
        return x;
    }
    x = vtac_make2(m, VTAC_OP_MUL, x, vtac_make_number(m, VTAC_F32, 2.0));
    return vtac_make2(m, VTAC_OP_SUB, x, vtac_make_number(m, VTAC_F32, 1.0));
}

static const vtac_darknet_layer layers[] = {
    {"convolutional", vtac_darknet_convolutional, false},
    {"conv", vtac_darknet_convolutional, false},
    {"connected", vtac_darknet_connected, false},
    {"conn", vtac_darknet_connected, false},
    {"deconvolutional", vtac_darknet_deconvolutional, false},
    {"deconv", vtac_darknet_deconvolutional, false},
    {"local", vtac_darknet_local, false},
    {"maxpool", import_maxpool, false},
    {"max", import_maxpool, false},
    {"local_avgpool", local_avgpool, false},
    {"avgpool", import_avgpool, false},
    {"avg", import_avgpool, false},
    {"route", import_route, false},
    {"shortcut", import_shortcut, false},
    {"upsample", import_upsample, false},
    {"reorg", import_reorg, false},
    {"reorg3d", import_reorg, false},
    {"scale_channels", scaled_by, false},
    {"sam", scaled_by, false},
    {"dropout", import_same, false},
    {"cost", import_same, false},
    {"empty", import_same, false},
    {"silence", import_same, false},
    {"activation", import_activation, false},
    {"softmax", import_softmax, false},
    {"soft", import_softmax, false},
    {"crop", import_crop, false},
    {"rnn", vtac_darknet_rnn, false},
    {"gru", vtac_darknet_gru, false},
    {"lstm", vtac_darknet_lstm, false},
    {"crnn", vtac_darknet_crnn, false},
    {"batchnorm", vtac_darknet_batchnorm, false},
    {"normalization", vtac_darknet_lrn, false},
    {"lrn", vtac_darknet_lrn, false},
    {"l2norm", vtac_darknet_l2norm, false},
    {"logistic", vtac_darknet_logistic, false},
    {"logxent", vtac_darknet_logistic, false},
    {"yolo", import_same, true},
    {"Gaussian_yolo", import_same, true},
    {"region", import_same, true},
    {"detection", import_same, true},
};

const vtac_darknet_layer *vtac_darknet_layer_of(const char *type)
{
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        if (strcmp(layers[i].type, type) == 0) {
            return &layers[i];
        }
    }
    return NULL;
}
