/* SPDX-License-Identifier: Apache-2.0
 *
 * Darknet's layers that multiply by weights: convolutions, forth and back, with filters of their own at each
 * place, and dense layers. Batch normalization becomes part of the weights, with an epsilon of 1e-6 under the
 * root.
 */
#include <math.h>

#include "darknet.h"

/* Each weight becomes its filter's mean size, with its own sign; 0 counts as less. */
static void keep_signs(float *weights, int64_t filters, int64_t each)
{
    for (int64_t f = 0; f < filters; f++) {
        double sum = 0.0;
        for (int64_t i = 0; i < each; i++) {
            sum += fabs((double)weights[f * each + i]);
        }
        const float mean = (float)(sum / (double)each);
        for (int64_t i = 0; i < each; i++) {
            weights[f * each + i] = weights[f * each + i] > 0.0F ? mean : -mean;
        }
    }
}

vtac_id vtac_darknet_conv(vtac_darknet *d, vtac_id x, const vtac_darknet_window *w)
{
    vtac_import_builder *m = &d->maker;
    const int64_t channels = vtac_darknet_type(d, x, 4).dim[1];
    if (m->status != VTA_OK || channels % w->groups != 0 || w->filters % w->groups != 0) {
        vtac_make_fail(m, VTA_INVALID, "%lld channels and %lld filters in %lld groups", (long long)channels,
                       (long long)w->filters, (long long)w->groups);
        return 0;
    }
    const int64_t each = channels / w->groups * w->size * w->size;
    float *bias = vtac_darknet_take(d, w->filters);
    const vtac_darknet_norm norm =
        w->normal ? vtac_darknet_take_norm(d, w->filters) : (vtac_darknet_norm){.scale = NULL};
    float *given = vtac_darknet_take(d, w->filters * each);
    float *weights = w->flipped ? vtac_make_room(m, w->filters * each, sizeof *weights) : given;
    if (m->status != VTA_OK) {
        return 0;
    }
    for (int64_t i = 0; w->flipped && i < w->filters * each; i++) {
        weights[i] = given[i % each * w->filters + i / each];
    }
    if (w->signs) {
        keep_signs(weights, w->filters, each);
    }
    if (w->normal) {
        vtac_darknet_apply_norm(&norm, weights, bias, w->filters, each);
    }
    const vtac_type type = {VTAC_F32, 4, {w->filters, channels / w->groups, w->size, w->size}};
    const vtac_type vector = {VTAC_F32, 1, {w->filters}};
    const int64_t edge = w->pad * w->spread;
    const int64_t pads[] = {edge, edge, edge, edge};
    const int64_t dilations[] = {w->spread, w->spread};
    const vtac_attr attrs[] = {
        vtac_attr_of_ints("strides", w->strides, 2), vtac_attr_of_ints("pads", pads, 4),
        vtac_attr_of_ints("dilations", dilations, 2), vtac_attr_of_int("group", w->groups)};
    const vtac_id in[] = {x, vtac_make_borrowed(m, &type, weights), vtac_make_borrowed(m, &vector, bias)};
    return vtac_make(m, VTAC_OP_CONV, in, 3, attrs, 4);
}

vtac_id vtac_darknet_blurred(vtac_darknet *d, vtac_id x, const int64_t *strides, bool small)
{
    vtac_import_builder *m = &d->maker;
    const int64_t channels = vtac_darknet_type(d, x, 4).dim[1];
    const int64_t size = small ? 2 : 3;
    static const float large[] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
    float *weights = vtac_make_room(m, channels * size * size, sizeof *weights);
    for (int64_t i = 0; weights != NULL && i < channels * size * size; i++) {
        weights[i] = small ? 0.25F : large[i % 9] / 16.0F;
    }
    const vtac_type type = {VTAC_F32, 4, {channels, 1, size, size}};
    const int64_t edge = small ? 0 : 1;
    const int64_t pads[] = {edge, edge, edge, edge};
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", strides, 2), vtac_attr_of_ints("pads", pads, 4),
                               vtac_attr_of_int("group", channels)};
    const vtac_id in[] = {x, weights == NULL ? 0 : vtac_make_borrowed(m, &type, weights)};
    return vtac_make(m, VTAC_OP_CONV, in, 2, attrs, 3);
}

/* The weights of an earlier layer: the file has none for this one. */
static vtac_id shared_conv(vtac_darknet *d, vtac_id x, const vtac_darknet_window *w, int64_t with)
{
    const int64_t at = with < 0 ? (int64_t)d->number + with : with;
    if (at < 0 || at >= (int64_t)d->number) {
        vtac_make_fail(&d->maker, VTA_INVALID, "'share_index' %lld is no layer before it", (long long)with);
        return 0;
    }
    const uint32_t owner = d->owners[d->number] = d->owners[at];
    const size_t here = d->at;
    d->at = d->begins[owner];
    x = vtac_darknet_conv(d, x, w);
    if (d->maker.status == VTA_OK && d->at != d->begins[owner + 1]) {
        vtac_make_fail(&d->maker, VTA_INVALID, "it takes %zu bytes of weights, layer %u has %zu",
                       d->at - d->begins[owner], owner, d->begins[owner + 1] - d->begins[owner]);
    }
    d->at = here;
    return x;
}

vtac_id vtac_darknet_convolutional(vtac_darknet *d, vtac_id x)
{
    const int64_t size = vtac_darknet_option(d, "size", 1, 1, MAX_SIZE);
    const int64_t stride = vtac_darknet_option(d, "stride", 1, 1, MAX_SIZE);
    const int64_t strides[] = {vtac_darknet_option(d, "stride_y", stride, 1, MAX_SIZE),
                               vtac_darknet_option(d, "stride_x", stride, 1, MAX_SIZE)};
    const int64_t blur = vtac_darknet_option(d, "antialiasing", 0, 0, 2);
    enum { NOT_SHARED = -1000000000 };
    const int64_t shared = vtac_darknet_option(d, "share_index", NOT_SHARED, NOT_SHARED, 1 << 20);
    const bool signs = vtac_darknet_option(d, "xnor", 0, 0, 1) != 0;
    if (vtac_darknet_option(d, "deform", 0, 0, 1 << 20) != 0) {
        vtac_make_fail(&d->maker, VTA_UNSUPPORTED, "'deform' is not supported");
    }
    const vtac_darknet_window w = {.filters = vtac_darknet_option(d, "filters", 1, 1, MAX_SIZE),
                                   .size = size,
                                   .strides = {blur != 0 ? 1 : strides[0], blur != 0 ? 1 : strides[1]},
                                   .pad = vtac_darknet_option(d, "pad", 0, 0, 1) != 0
                                              ? size / 2
                                              : vtac_darknet_option(d, "padding", 0, 0, MAX_SIZE),
                                   .spread =
                                       size == 1 ? 1 : vtac_darknet_option(d, "dilation", 1, 1, MAX_SIZE),
                                   .groups = vtac_darknet_option(d, "groups", 1, 1, MAX_SIZE),
                                   .normal = vtac_darknet_option(d, "batch_normalize", 0, 0, 2) != 0,
                                   .flipped = vtac_darknet_option(d, "flipped", 0, 0, 1) != 0,
                                   .signs = signs || vtac_darknet_option(d, "binary", 0, 0, 1) != 0};
    if (signs) { /* the input counts by its sign, too */
        const vtac_id above = vtac_make2(&d->maker, VTAC_OP_GREATER, x, vtac_darknet_number(&d->maker, 0.0));
        x = vtac_make3(&d->maker, VTAC_OP_WHERE, above, vtac_darknet_number(&d->maker, 1.0),
                       vtac_darknet_number(&d->maker, -1.0));
    }
    if (d->maker.status == VTA_OK) {
        x = shared == NOT_SHARED ? vtac_darknet_conv(d, x, &w) : shared_conv(d, x, &w, shared);
    }
    x = d->maker.status == VTA_OK ? vtac_darknet_activate(d, x, "logistic") : 0;
    return blur != 0 ? vtac_darknet_blurred(d, x, strides, blur == 2) : x;
}

/* Weights [channels][filters][size][size]. */
vtac_id vtac_darknet_deconvolutional(vtac_darknet *d, vtac_id x)
{
    vtac_import_builder *m = &d->maker;
    const int64_t channels = vtac_darknet_type(d, x, 4).dim[1];
    const int64_t filters = vtac_darknet_option(d, "filters", 1, 1, MAX_SIZE);
    const int64_t size = vtac_darknet_option(d, "size", 1, 1, MAX_SIZE);
    const int64_t stride = vtac_darknet_option(d, "stride", 1, 1, MAX_SIZE);
    const int64_t pad = vtac_darknet_option(d, "pad", 0, 0, 1) != 0
                            ? size / 2
                            : vtac_darknet_option(d, "padding", 0, 0, MAX_SIZE);
    const bool normal = vtac_darknet_option(d, "batch_normalize", 0, 0, 1) != 0;
    float *bias = vtac_darknet_take(d, filters);
    const vtac_darknet_norm norm =
        normal ? vtac_darknet_take_norm(d, filters) : (vtac_darknet_norm){.scale = NULL};
    float *weights = vtac_darknet_take(d, channels * filters * size * size);
    if (m->status != VTA_OK) {
        return 0;
    }
    for (int64_t i = 0; normal && i < channels * filters; i++) {
        const double factor =
            (double)norm.scale[i % filters] / sqrt((double)norm.variance[i % filters] + 1e-6);
        for (int64_t k = 0; k < size * size; k++) {
            weights[i * size * size + k] = (float)((double)weights[i * size * size + k] * factor);
        }
    }
    if (normal) {
        vtac_darknet_apply_norm(&norm, NULL, bias, filters, 0);
    }
    const vtac_type type = {VTAC_F32, 4, {channels, filters, size, size}};
    const vtac_type vector = {VTAC_F32, 1, {filters}};
    const int64_t strides[] = {stride, stride};
    const int64_t pads[] = {pad, pad, pad, pad};
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", strides, 2), vtac_attr_of_ints("pads", pads, 4)};
    const vtac_id in[] = {x, vtac_make_borrowed(m, &type, weights), vtac_make_borrowed(m, &vector, bias)};
    return vtac_darknet_activate(d, vtac_make(m, VTAC_OP_CONV_TRANSPOSE, in, 3, attrs, 2), "logistic");
}

/* x [batch][channels][h][w] cut into windows: [places][batch][channels * size * size]. */
static vtac_id windows_of(vtac_darknet *d, vtac_id x, int64_t size, int64_t stride, const int64_t *out)
{
    vtac_import_builder *m = &d->maker;
    const vtac_type type = vtac_made_type(m, x);
    vtac_id taps[256];
    for (int64_t i = 0; i < size * size; i++) {
        const int64_t begin[] = {i / size, i % size};
        const int64_t end[] = {begin[0] + (out[0] - 1) * stride + 1, begin[1] + (out[1] - 1) * stride + 1};
        const int64_t axes[] = {2, 3};
        const int64_t step[] = {stride, stride};
        const vtac_id in[] = {x, vtac_make_ints(m, begin, 2), vtac_make_ints(m, end, 2),
                              vtac_make_ints(m, axes, 2), vtac_make_ints(m, step, 2)};
        taps[i] = vtac_make_reshape(m, vtac_make(m, VTAC_OP_SLICE, in, 5, NULL, 0),
                                    (int64_t[]){type.dim[0], type.dim[1], 1, out[0] * out[1]}, 4);
    }
    x = vtac_make_concat(m, taps, (uint32_t)(size * size), 2);
    x = vtac_make_transpose(m, x, (int64_t[]){3, 0, 1, 2}, 4);
    return vtac_make_reshape(m, x, (int64_t[]){out[0] * out[1], type.dim[0], type.dim[1] * size * size}, 3);
}

/* A convolution with filters of its own at each place, and a bias. */
vtac_id vtac_darknet_local(vtac_darknet *d, vtac_id x)
{
    vtac_import_builder *m = &d->maker;
    const vtac_type shape = vtac_darknet_type(d, x, 4);
    const int64_t filters = vtac_darknet_option(d, "filters", 1, 1, MAX_SIZE);
    const int64_t size = vtac_darknet_option(d, "size", 1, 1, 15);
    const int64_t stride = vtac_darknet_option(d, "stride", 1, 1, MAX_SIZE);
    const int64_t pad = vtac_darknet_option(d, "pad", 0, 0, 1); /* the border itself, whatever the size */
    const int64_t batch = shape.dim[0];
    const int64_t each = shape.dim[1] * size * size;
    int64_t out[2];
    for (int a = 0; a < 2; a++) {
        out[a] = (shape.dim[2 + a] - (pad != 0 ? 1 : size)) / stride + 1;
        if (shape.dim[2 + a] + 2 * pad < (out[a] - 1) * stride + size || shape.dim[2 + a] + 2 * pad < size) {
            vtac_make_fail(m, VTA_UNSUPPORTED, "windows of %lld with a border of %lld on %lld places",
                           (long long)size, (long long)pad, (long long)shape.dim[2 + a]);
        }
    }
    const int64_t places = out[0] * out[1];
    float *bias = m->status == VTA_OK ? vtac_darknet_take(d, filters * places) : NULL;
    float *weights = m->status == VTA_OK && each <= MAX_WEIGHTS / (filters * places)
                         ? vtac_darknet_take(d, places * filters * each)
                         : NULL;
    if (weights == NULL || bias == NULL) {
        vtac_make_fail(m, VTA_RANGE, "%lld filters of %lld at %lld places", (long long)filters,
                       (long long)each, (long long)places);
        return 0;
    }
    const int64_t pads[] = {0, 0, pad, pad, 0, 0, pad, pad};
    x = pad == 0 ? x : vtac_make2(m, VTAC_OP_PAD, x, vtac_make_ints(m, pads, 8));
    x = windows_of(d, x, size, stride, out);
    const vtac_type type = {VTAC_F32, 3, {places, filters, each}};
    const vtac_id turned =
        vtac_make_transpose(m, vtac_make_borrowed(m, &type, weights), (int64_t[]){0, 2, 1}, 3);
    vtac_id y = vtac_make_transpose(m, vtac_make2(m, VTAC_OP_MATMUL, x, turned), (int64_t[]){1, 2, 0}, 3);
    y = vtac_make_reshape(m, y, (int64_t[]){batch, filters, out[0], out[1]}, 4);
    const vtac_type along = {VTAC_F32, 3, {filters, out[0], out[1]}};
    return vtac_darknet_activate(d, vtac_make2(m, VTAC_OP_ADD, y, vtac_make_borrowed(m, &along, bias)),
                                 "logistic");
}

vtac_id vtac_darknet_dense(vtac_darknet *d, vtac_id x, int64_t outputs, bool normal)
{
    vtac_import_builder *m = &d->maker;
    x = vtac_darknet_flattened(d, x);
    const int64_t inputs = vtac_darknet_type(d, x, 2).dim[1];
    if (m->status != VTA_OK || inputs > (1 << 30) / outputs) {
        vtac_make_fail(m, VTA_RANGE, "%lld inputs to %lld outputs", (long long)inputs, (long long)outputs);
        return 0;
    }
    float *bias = vtac_darknet_take(d, outputs);
    float *weights = vtac_darknet_take(d, outputs * inputs);
    const vtac_darknet_norm norm =
        normal ? vtac_darknet_take_norm(d, outputs) : (vtac_darknet_norm){.scale = NULL};
    float *rows = d->turned ? vtac_make_room(m, outputs * inputs, sizeof *rows) : weights;
    if (m->status != VTA_OK) {
        return 0;
    }
    for (int64_t i = 0; d->turned && i < outputs * inputs; i++) {
        rows[i] = weights[i % inputs * outputs + i / inputs];
    }
    if (normal) {
        vtac_darknet_apply_norm(&norm, rows, bias, outputs, inputs);
    }
    const vtac_type type = {VTAC_F32, 2, {outputs, inputs}};
    const vtac_type vector = {VTAC_F32, 1, {outputs}};
    const vtac_attr turned = vtac_attr_of_int("transB", 1);
    const vtac_id in[] = {x, vtac_make_borrowed(m, &type, rows), vtac_make_borrowed(m, &vector, bias)};
    return vtac_make(m, VTAC_OP_GEMM, in, 3, &turned, 1);
}

vtac_id vtac_darknet_connected(vtac_darknet *d, vtac_id x)
{
    const int64_t outputs = vtac_darknet_option(d, "output", 1, 1, 1 << 24);
    const bool normal = vtac_darknet_option(d, "batch_normalize", 0, 0, 2) != 0;
    return vtac_darknet_activate(d, vtac_darknet_dense(d, x, outputs, normal), "logistic");
}
