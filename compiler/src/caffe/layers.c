/* SPDX-License-Identifier: Apache-2.0
 *
 * Caffe's layers that compute: windows, dense layers, normalization, and what is done element by element.
 */
#include <math.h>
#include <string.h>

#include "../import/window.h"
#include "caffe.h"

enum { MAX_SIDE = 1 << 16, MAX_OUTPUTS = 1 << 24 };

/* ---- windows */

/* A number for rows and one for columns: `both` once or twice, or one field each. Of other axes `both` once
 * or for each. */
typedef struct side_names {
    const char *both, *rows, *columns;
    int64_t otherwise, min;
} side_names;

static const side_names kernel_names = {"kernel_size", "kernel_h", "kernel_w", 0, 1};
static const side_names stride_names = {"stride", "stride_h", "stride_w", 1, 1};
static const side_names pad_names = {"pad", "pad_h", "pad_w", 0, 0};
static const side_names dilation_names = {"dilation", "dilation_h", "dilation_w", 1, 1};

/* The sizes of a window, one for each axis. */
static void side_values(vtac_caffe *c, const char *param, const side_names *n, uint32_t axes, int64_t *out)
{
    const vtac_prototxt_field *message = vtac_prototxt_message(c->layer, param);
    const char *own[VTAC_WINDOW_AXES] = {axes == 2 ? n->rows : n->both, axes == 2 ? n->columns : n->both,
                                         n->both};
    int64_t values[VTAC_WINDOW_AXES] = {n->otherwise};
    const uint32_t count = vtac_caffe_ints(c, message, n->both, values, axes);
    if (c->net.maker.status == VTA_OK && count > 1 && count != axes) {
        vtac_make_fail(&c->net.maker, VTA_INVALID, "%u of %s for %u axes", count, n->both, axes);
    }
    for (uint32_t a = 0; a < axes && a < VTAC_WINDOW_AXES; a++) {
        const int64_t value = count > 1 ? values[a] : values[0];
        out[a] = count > 1 && axes != 2 ? value : vtac_caffe_int(c, param, own[a], value, n->min, MAX_SIDE);
    }
}

static bool read_window(vtac_caffe *c, const char *param, vtac_import_window *w)
{
    const uint32_t rank = vtac_caffe_type(c, 0).rank;
    *w = (vtac_import_window){.axes = rank - 2};
    if (c->net.maker.status == VTA_OK &&
        (rank < 3 || rank > 2 + VTAC_WINDOW_AXES || vtac_caffe_int(c, param, "axis", 1, -8, 8) != 1)) {
        vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED,
                       "a window over %u axes from another than axis 1; pictures [N, C, H, W], rows and "
                       "volumes are taken",
                       rank);
    }
    if (c->net.maker.status != VTA_OK) {
        return false;
    }
    side_values(c, param, &kernel_names, w->axes, w->kernel);
    side_values(c, param, &stride_names, w->axes, w->stride);
    side_values(c, param, &pad_names, w->axes, w->pads);
    side_values(c, param, &dilation_names, w->axes, w->dilation);
    memcpy(w->pads + w->axes, w->pads, w->axes * sizeof w->pads[0]);
    return c->net.maker.status == VTA_OK;
}

static vtac_id bias_blob(vtac_caffe *c, const char *param, uint32_t i, int64_t outputs)
{
    return vtac_caffe_flag(c, param, "bias_term", true) ? vtac_caffe_weights(c, i, &outputs, 1) : 0;
}

/* Weights [first][second][kernel...]. */
static vtac_id window_weights(vtac_caffe *c, int64_t first, int64_t second, const vtac_import_window *w)
{
    int64_t dims[2 + VTAC_WINDOW_AXES] = {first, second};
    memcpy(dims + 2, w->kernel, w->axes * sizeof dims[0]);
    return vtac_caffe_weights(c, 0, dims, 2 + w->axes);
}

/* The activation that Intel's Caffe merges into a convolution. */
static vtac_id merged(vtac_caffe *c, vtac_id y)
{
    const vtac_prototxt_field *param = vtac_prototxt_message(c->layer, "convolution_param");
    const char *kind = vtac_prototxt_word(param, "fuse_type", "UNFUSED");
    double slope = 0.0;
    if (strcmp(kind, "UNFUSED") == 0 || strcmp(kind, "0") == 0) {
        return y;
    }
    const char *word = vtac_prototxt_word(vtac_prototxt_message(param, "relu_param"), "negative_slope", "0");
    if ((strcmp(kind, "FUSED_CONV_RELU") != 0 && strcmp(kind, "1") != 0) ||
        !vtac_prototxt_number(word, &slope)) {
        vtac_make_fail(&c->net.maker, VTA_UNSUPPORTED, "fuse_type %.30s with a slope of %.30s", kind, word);
    }
    return vtac_make_leaky(&c->net.maker, y, slope);
}

/* The layer has a top for each bottom, all by the same weights. */
static bool is_paired(vtac_caffe *c)
{
    const vtac_type first = vtac_caffe_type(c, 0);
    bool same = c->in_count == c->out_count;
    for (uint32_t i = 1; i < c->in_count; i++) {
        const vtac_type type = vtac_caffe_type(c, i);
        same = same && type.rank == first.rank && type.dim[1] == first.dim[1];
    }
    if (c->net.maker.status == VTA_OK && !same) {
        vtac_make_fail(&c->net.maker, VTA_INVALID,
                       "%u bottoms with as many channels and %u tops, expected the same", c->in_count,
                       c->out_count);
    }
    return c->net.maker.status == VTA_OK;
}

static void make_conv(vtac_caffe *c, bool depthwise)
{
    vtac_import_builder *m = &c->net.maker;
    const char *param = "convolution_param";
    const int64_t channels = vtac_caffe_type(c, 0).dim[1];
    const int64_t outputs = vtac_caffe_int(c, param, "num_output", depthwise ? channels : 0, 1, MAX_OUTPUTS);
    const int64_t groups = depthwise ? channels : vtac_caffe_int(c, param, "group", 1, 1, MAX_OUTPUTS);
    vtac_import_window w;
    if (!is_paired(c) || !read_window(c, param, &w)) {
        return;
    }
    if (groups < 1 || channels % groups != 0 || outputs % groups != 0) {
        vtac_make_fail(m, VTA_INVALID, "%lld groups of %lld channels and %lld outputs", (long long)groups,
                       (long long)channels, (long long)outputs);
        return;
    }
    const vtac_id weight = window_weights(c, outputs, channels / groups, &w);
    const vtac_id bias = bias_blob(c, param, 1, outputs);
    for (uint32_t i = 0; i < c->in_count; i++) {
        if (vtac_lay_window(m, c->in[i], VTAC_WINDOW_FLOOR, &w)) {
            vtac_caffe_set(c, i, merged(c, vtac_make_conv(m, c->in[i], weight, bias, &w, groups)));
        }
    }
}

void vtac_caffe_make_convolution(vtac_caffe *c)
{
    make_conv(c, false);
}

void vtac_caffe_make_depthwise(vtac_caffe *c)
{
    make_conv(c, true);
}

void vtac_caffe_make_deconvolution(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const char *param = "convolution_param";
    const int64_t channels = vtac_caffe_type(c, 0).dim[1];
    const int64_t outputs = vtac_caffe_int(c, param, "num_output", 0, 1, MAX_OUTPUTS);
    const int64_t groups = vtac_caffe_int(c, param, "group", 1, 1, MAX_OUTPUTS);
    vtac_import_window w;
    if (!is_paired(c) || !read_window(c, param, &w)) {
        return;
    }
    if (channels % groups != 0 || outputs % groups != 0) {
        vtac_make_fail(m, VTA_INVALID, "%lld groups of %lld channels and %lld outputs", (long long)groups,
                       (long long)channels, (long long)outputs);
        return;
    }
    const vtac_attr attrs[] = {
        vtac_attr_of_ints("strides", w.stride, w.axes), vtac_attr_of_ints("dilations", w.dilation, w.axes),
        vtac_attr_of_ints("pads", w.pads, 2 * (size_t)w.axes), vtac_attr_of_int("group", groups)};
    vtac_id in[] = {0, window_weights(c, channels, outputs / groups, &w), bias_blob(c, param, 1, outputs)};
    for (uint32_t i = 0; i < c->in_count; i++) {
        in[0] = c->in[i];
        vtac_caffe_set(c, i, merged(c, vtac_make(m, VTAC_OP_CONV_TRANSPOSE, in, 3, attrs, 4)));
    }
}

/* A pool of maxima, and in its second top at which element of its plane each was. */
static void max_with_places(vtac_caffe *c, const vtac_import_window *w)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_type x = vtac_caffe_type(c, 0);
    vtac_id both[2] = {0};
    if (c->out_count < 2) {
        both[0] = vtac_make_pool(m, VTAC_OP_MAX_POOL, c->in[0], w, true);
    } else {
        vtac_make_pool_places(m, c->in[0], w, both);
        int64_t plane = 1;
        for (uint32_t a = 2; a < x.rank; a++) {
            plane *= x.dim[a];
        }
        const vtac_id within =
            vtac_make2(m, VTAC_OP_MOD, both[1], vtac_make_number(m, VTAC_I64, (double)plane));
        vtac_caffe_set(c, 1, vtac_make_cast(m, within, VTAC_F32));
    }
    vtac_caffe_set(c, 0, both[0]);
}

void vtac_caffe_make_pooling(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const char *param = "pooling_param";
    const char *kind = vtac_caffe_word(c, param, "pool", "MAX");
    const bool mean = strcmp(kind, "AVE") == 0 || strcmp(kind, "1") == 0;
    const bool global = vtac_caffe_flag(c, param, "global_pooling", false);
    const char *round = vtac_caffe_word(c, param, "round_mode", "CEIL");
    const bool down = strcmp(round, "FLOOR") == 0 || strcmp(round, "1") == 0 ||
                      !vtac_caffe_flag(c, param, "ceil_mode", true);
    vtac_import_window w;
    const bool places = !mean && !global && c->out_count == 2;
    if ((!mean && strcmp(kind, "MAX") != 0 && strcmp(kind, "0") != 0) || (c->out_count > 1 && !places)) {
        vtac_make_fail(m, VTA_UNSUPPORTED,
                       "a pool of kind %.20s with %u tops; MAX with a mask, too, and AVE are taken", kind,
                       c->out_count);
        return;
    }
    if (global) {
        const vtac_op op = mean ? VTAC_OP_GLOBAL_AVERAGE_POOL : VTAC_OP_GLOBAL_MAX_POOL;
        vtac_caffe_set(c, 0, vtac_make1(m, op, c->in[0]));
        return;
    }
    if (!read_window(c, param, &w)) {
        return;
    }
    /* The last window is left out only where there is padding. */
    const bool padded = w.pads[0] > 0 || w.pads[1] > 0 || w.pads[2] > 0;
    const vtac_window_rule rule = down ? VTAC_WINDOW_FLOOR : padded ? VTAC_WINDOW_CEIL : VTAC_WINDOW_CEIL_ALL;
    if (vtac_lay_window(m, c->in[0], rule, &w)) {
        if (mean) {
            vtac_caffe_set(c, 0, vtac_make_pool(m, VTAC_OP_AVERAGE_POOL, c->in[0], &w, true));
        } else {
            max_with_places(c, &w);
        }
    }
}

/* Maxima of parts of planes; a region is the number of its image and two corners. */
void vtac_caffe_make_roi_pooling(vtac_caffe *c)
{
    const char *param = "roi_pooling_param";
    const int64_t size[] = {vtac_caffe_int(c, param, "pooled_h", 0, 1, 1 << 10),
                            vtac_caffe_int(c, param, "pooled_w", 0, 1, 1 << 10)};
    const vtac_attr attrs[] = {
        vtac_attr_of_ints("pooled_shape", size, 2),
        vtac_attr_of_float("spatial_scale", vtac_caffe_real(c, param, "spatial_scale", 1.0))};
    const int64_t dims[] = {vtac_caffe_type(c, 1).dim[0], 5}; /* also as [count][5][1][1] */
    const vtac_id in[] = {c->in[0], vtac_make_reshape(&c->net.maker, c->in[1], dims, 2)};
    vtac_caffe_set(c, 0, vtac_make(&c->net.maker, VTAC_OP_MAX_ROI_POOL, in, 2, attrs, 2));
}

void vtac_caffe_make_inner_product(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const char *param = "inner_product_param";
    const uint32_t axis = vtac_axis_of(m, c->in[0], vtac_caffe_int(c, param, "axis", 1, -8, 8));
    const int64_t outputs = vtac_caffe_int(c, param, "num_output", 0, 1, MAX_OUTPUTS);
    const bool turned = vtac_caffe_flag(c, param, "transpose", false);
    const vtac_type type = vtac_caffe_type(c, 0);
    int64_t inputs = 1;
    for (uint32_t a = axis; a < type.rank; a++) {
        inputs *= type.dim[a];
    }
    const int64_t dims[] = {turned ? inputs : outputs, turned ? outputs : inputs};
    const vtac_id weight = vtac_caffe_weights(c, 0, dims, 2);
    vtac_caffe_set(c, 0, vtac_make_dense(m, c->in[0], axis, weight, turned, bias_blob(c, param, 1, outputs)));
}

/* ---- normalization */

/* A blob as a row of numbers; its length is what the blob has. */
static vtac_id row_blob(vtac_caffe *c, uint32_t i)
{
    const int64_t count = vtac_caffe_weight_count(c, i);
    return vtac_caffe_weights(c, i, &count, 1);
}

/* Sums of means and of variances, and by what they are to be divided. */
void vtac_caffe_make_batch_norm(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const char *param = "batch_norm_param";
    const int64_t channels = vtac_caffe_type(c, 0).rank < 2 ? 1 : vtac_caffe_type(c, 0).dim[1];
    const int64_t one = 1;
    if (!vtac_caffe_flag(c, param, "use_global_stats", true) || c->own_count != 3) {
        vtac_make_fail(m, VTA_UNSUPPORTED,
                       "a normalization by the batch's own mean, or %u blobs; the stored "
                       "mean, variance and factor are taken",
                       c->own_count);
        return;
    }
    const vtac_id factor_blob = vtac_caffe_weights(c, 2, &one, 1);
    const vtac_id mean = vtac_caffe_weights(c, 0, &channels, 1);
    const vtac_id variance = vtac_caffe_weights(c, 1, &channels, 1);
    float *rows = vtac_make_room(m, 4 * channels, sizeof *rows);
    if (rows == NULL || mean == 0 || variance == 0) {
        return;
    }
    const double sum = vtac_tensor_float(vtac_made_constant(m, factor_blob), 0);
    const double factor = sum == 0.0 ? 0.0 : 1.0 / sum;
    for (int64_t i = 0; i < channels; i++) {
        rows[i] = 1.0F;
        rows[2 * channels + i] = (float)(vtac_tensor_float(vtac_made_constant(m, mean), i) * factor);
        rows[3 * channels + i] = (float)(vtac_tensor_float(vtac_made_constant(m, variance), i) * factor);
    }
    vtac_id all[4];
    for (int i = 0; i < 4; i++) {
        all[i] = vtac_make_floats(m, rows + i * channels, channels);
    }
    vtac_caffe_set(c, 0, vtac_make_batch_norm(m, c->in[0], all, vtac_caffe_real(c, param, "eps", 1e-5)));
}

/* SegNet's and PSPNet's: a factor and a summand for each channel, and a mean and a variance before them. */
void vtac_caffe_make_bn(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const char *mode = vtac_caffe_word(c, "bn_param", "bn_mode", "INFERENCE");
    const int64_t channels = vtac_caffe_type(c, 0).rank < 2 ? 1 : vtac_caffe_type(c, 0).dim[1];
    vtac_id all[4] = {0};
    if ((c->own_count != 2 && c->own_count != 4) ||
        (strcmp(mode, "INFERENCE") != 0 && strcmp(mode, "1") != 0)) {
        vtac_make_fail(m, VTA_UNSUPPORTED,
                       "%u blobs in mode %.20s; a factor and a summand, and a mean and a variance, of mode "
                       "INFERENCE are taken",
                       c->own_count, mode);
        return;
    }
    for (uint32_t i = 0; i < c->own_count; i++) {
        all[i] = vtac_caffe_weights(c, i, &channels, 1);
    }
    if (c->own_count == 4) {
        const double eps = vtac_caffe_real(c, "bn_param", "eps", 1e-5);
        vtac_caffe_set(c, 0, vtac_make_batch_norm(m, c->in[0], all, eps));
        return;
    }
    const vtac_id scaled = vtac_make_along(m, VTAC_OP_MUL, c->in[0], all[0], 1);
    vtac_caffe_set(c, 0, vtac_make_along(m, VTAC_OP_ADD, scaled, all[1], 1));
}

/* The second bottom, or blob 0, and where its axes lie in those of the first. */
static vtac_id beside(vtac_caffe *c, const char *param, uint32_t *axis)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_type x = vtac_caffe_type(c, 0);
    *axis = vtac_axis_of(m, c->in[0], vtac_caffe_int(c, param, "axis", 1, -8, 8));
    const int64_t axes = vtac_caffe_int(c, param, "num_axes", 1, -1, VTAC_MAX_RANK);
    uint32_t count = axes < 0 ? x.rank - *axis : (uint32_t)axes;
    int64_t dims[VTAC_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    count = c->in_count > 1 ? vtac_caffe_type(c, 1).rank : count;
    if (m->status != VTA_OK || *axis + count > x.rank) {
        vtac_make_fail(m, VTA_INVALID, "%u axes from axis %u of %u", count, *axis, x.rank);
        return 0;
    }
    memcpy(dims, c->in_count > 1 ? vtac_caffe_type(c, 1).dim : x.dim + *axis, count * sizeof dims[0]);
    const uint32_t rank = x.rank - *axis; /* axes of one element behind what the row has */
    const vtac_id row = c->in_count > 1 ? c->in[1] : vtac_caffe_weights(c, 0, dims, count);
    return vtac_make_reshape(m, row, dims, rank);
}

void vtac_caffe_make_scale(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    uint32_t axis;
    const vtac_id scale = beside(c, "scale_param", &axis);
    vtac_id y = vtac_make2(m, VTAC_OP_MUL, c->in[0], scale);
    if (vtac_caffe_flag(c, "scale_param", "bias_term", false)) {
        const vtac_type type = vtac_made_type(m, scale);
        vtac_id bias = row_blob(c, c->in_count > 1 ? 0 : 1);
        bias = vtac_make_reshape(m, bias, type.dim, type.rank);
        y = vtac_make2(m, VTAC_OP_ADD, y, bias);
    }
    vtac_caffe_set(c, 0, y);
}

void vtac_caffe_make_bias(vtac_caffe *c)
{
    uint32_t axis;
    const vtac_id bias = beside(c, "bias_param", &axis);
    vtac_caffe_set(c, 0, vtac_make2(&c->net.maker, VTAC_OP_ADD, c->in[0], bias));
}

void vtac_caffe_make_lrn(vtac_caffe *c)
{
    const char *param = "lrn_param";
    const char *region = vtac_caffe_word(c, param, "norm_region", "ACROSS_CHANNELS");
    const bool within = strcmp(region, "WITHIN_CHANNEL") == 0 || strcmp(region, "1") == 0;
    const int64_t size = vtac_caffe_int(c, param, "local_size", 5, 1, MAX_SIDE);
    vtac_caffe_set(c, 0,
                   vtac_make_lrn(&c->net.maker, c->in[0], size, vtac_caffe_real(c, param, "alpha", 1.0),
                                 vtac_caffe_real(c, param, "beta", 0.75), vtac_caffe_real(c, param, "k", 1.0),
                                 within));
}

void vtac_caffe_make_mvn(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const char *param = "mvn_param";
    const bool across = vtac_caffe_flag(c, param, "across_channels", false);
    const int64_t axes[] = {across ? 1 : 2, across ? 2 : 3, 3};
    if (vtac_caffe_type(c, 0).rank != 4) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "an input of %u axes, 4 are taken", vtac_caffe_type(c, 0).rank);
        return;
    }
    const uint32_t count = across ? 3 : 2;
    vtac_id x = vtac_make2(m, VTAC_OP_SUB, c->in[0],
                           vtac_make_reduce(m, VTAC_OP_REDUCE_MEAN, c->in[0], axes, count, true));
    if (vtac_caffe_flag(c, param, "normalize_variance", true)) {
        vtac_id square = vtac_make2(m, VTAC_OP_MUL, x, x);
        square =
            vtac_make1(m, VTAC_OP_SQRT, vtac_make_reduce(m, VTAC_OP_REDUCE_MEAN, square, axes, count, true));
        x = vtac_make2(m, VTAC_OP_DIV, x,
                       vtac_make_linear(m, square, 1.0, vtac_caffe_real(c, param, "eps", 1e-9)));
    }
    vtac_caffe_set(c, 0, x);
}

/* SSD: over the channels at each place, or over all of an image; then a factor, or one for each channel. */
void vtac_caffe_make_normalize(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const char *param = "norm_param";
    const int64_t axes[] = {1, 2, 3};
    const bool all = vtac_caffe_flag(c, param, "across_spatial", true);
    if (vtac_caffe_type(c, 0).rank != 4) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "an input of %u axes, 4 are taken", vtac_caffe_type(c, 0).rank);
        return;
    }
    const vtac_id x = vtac_make_unit(m, c->in[0], axes, all ? 3 : 1, vtac_caffe_real(c, param, "eps", 1e-10));
    vtac_caffe_set(c, 0, vtac_make_along(m, VTAC_OP_MUL, x, row_blob(c, 0), 1));
}

/* ---- element by element */

static void make_unary(vtac_caffe *c, vtac_op op)
{
    vtac_caffe_set(c, 0, vtac_make1(&c->net.maker, op, c->in[0]));
}

void vtac_caffe_make_relu(vtac_caffe *c)
{
    const double slope = vtac_caffe_real(c, "relu_param", "negative_slope", 0.0);
    vtac_caffe_set(c, 0, vtac_make_leaky(&c->net.maker, c->in[0], slope));
}

void vtac_caffe_make_relu6(vtac_caffe *c)
{
    vtac_caffe_set(c, 0, vtac_make_clip(&c->net.maker, c->in[0], 0.0, 6.0));
}

void vtac_caffe_make_prelu(vtac_caffe *c)
{
    vtac_caffe_set(c, 0, vtac_make_prelu(&c->net.maker, c->in[0], row_blob(c, 0)));
}

void vtac_caffe_make_elu(vtac_caffe *c)
{
    const vtac_attr attr = vtac_attr_of_float("alpha", vtac_caffe_real(c, "elu_param", "alpha", 1.0));
    vtac_caffe_set(c, 0, vtac_make(&c->net.maker, VTAC_OP_ELU, c->in, 1, &attr, 1));
}

void vtac_caffe_make_sigmoid(vtac_caffe *c)
{
    make_unary(c, VTAC_OP_SIGMOID);
}

void vtac_caffe_make_tanh(vtac_caffe *c)
{
    make_unary(c, VTAC_OP_TANH);
}

void vtac_caffe_make_swish(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_id x = vtac_make_linear(m, c->in[0], vtac_caffe_real(c, "swish_param", "beta", 1.0), 0.0);
    vtac_caffe_set(c, 0, vtac_make2(m, VTAC_OP_MUL, c->in[0], vtac_make1(m, VTAC_OP_SIGMOID, x)));
}

void vtac_caffe_make_abs(vtac_caffe *c)
{
    make_unary(c, VTAC_OP_ABS);
}

void vtac_caffe_make_bnll(vtac_caffe *c)
{
    make_unary(c, VTAC_OP_SOFTPLUS);
}

/* base ^ (shift + scale * x); a base of -1 is e */
void vtac_caffe_make_exp(vtac_caffe *c)
{
    const char *param = "exp_param";
    const double base = vtac_caffe_real(c, param, "base", -1.0);
    const double factor = base > 0.0 ? log(base) : 1.0;
    const vtac_id x =
        vtac_make_linear(&c->net.maker, c->in[0], factor * vtac_caffe_real(c, param, "scale", 1.0),
                         factor * vtac_caffe_real(c, param, "shift", 0.0));
    vtac_caffe_set(c, 0, vtac_make1(&c->net.maker, VTAC_OP_EXP, x));
}

void vtac_caffe_make_log(vtac_caffe *c)
{
    const char *param = "log_param";
    const double base = vtac_caffe_real(c, param, "base", -1.0);
    vtac_id x = vtac_make_linear(&c->net.maker, c->in[0], vtac_caffe_real(c, param, "scale", 1.0),
                                 vtac_caffe_real(c, param, "shift", 0.0));
    x = vtac_make1(&c->net.maker, VTAC_OP_LOG, x);
    vtac_caffe_set(c, 0, vtac_make_linear(&c->net.maker, x, base > 0.0 ? 1.0 / log(base) : 1.0, 0.0));
}

/* (shift + scale * x) ^ power */
void vtac_caffe_make_power(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const char *param = "power_param";
    const double power = vtac_caffe_real(c, param, "power", 1.0);
    const vtac_id x = vtac_make_linear(m, c->in[0], vtac_caffe_real(c, param, "scale", 1.0),
                                       vtac_caffe_real(c, param, "shift", 0.0));
    vtac_caffe_set(c, 0, power == 1.0 ? x : vtac_make_with(m, VTAC_OP_POW, x, power));
}

void vtac_caffe_make_threshold(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const double limit = vtac_caffe_real(c, "threshold_param", "threshold", 0.0);
    vtac_caffe_set(c, 0, vtac_make_cast(m, vtac_make_with(m, VTAC_OP_GREATER, c->in[0], limit), VTAC_F32));
}

void vtac_caffe_make_eltwise(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const char *kind = vtac_caffe_word(c, "eltwise_param", "operation", "SUM");
    static const struct {
        const char *word, *number;
        vtac_op op;
    } joins[] = {{"PROD", "0", VTAC_OP_MUL}, {"SUM", "1", VTAC_OP_ADD}, {"MAX", "2", VTAC_OP_MAX}};
    double factors[CAFFE_MAX_ENDS];
    const uint32_t count = vtac_caffe_reals(c, vtac_prototxt_message(c->layer, "eltwise_param"), "coeff",
                                            factors, CAFFE_MAX_ENDS);
    vtac_op op = VTAC_OP_COUNT;
    for (size_t i = 0; i < sizeof joins / sizeof joins[0]; i++) {
        op = strcmp(kind, joins[i].word) == 0 || strcmp(kind, joins[i].number) == 0 ? joins[i].op : op;
    }
    if (op == VTAC_OP_COUNT || (count != 0 && (count != c->in_count || op != VTAC_OP_ADD))) {
        vtac_make_fail(m, VTA_INVALID, "operation %.20s with %u factors for %u bottoms", kind, count,
                       c->in_count);
        return;
    }
    vtac_id y = 0;
    for (uint32_t i = 0; i < c->in_count; i++) {
        const vtac_id x = count == 0 ? c->in[i] : vtac_make_linear(m, c->in[i], factors[i], 0.0);
        y = i == 0 ? x : vtac_make2(m, op, y, x);
    }
    vtac_caffe_set(c, 0, y);
}

/* a * x + y, `a` one number for each channel */
void vtac_caffe_make_axpy(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_type x = vtac_caffe_type(c, 1);
    const int64_t dims[] = {x.dim[0], x.dim[1], 1, 1};
    const vtac_id a = vtac_make_reshape(m, c->in[0], dims, 4);
    vtac_caffe_set(c, 0, vtac_make2(m, VTAC_OP_ADD, vtac_make2(m, VTAC_OP_MUL, a, c->in[1]), c->in[2]));
}

void vtac_caffe_make_softmax(vtac_caffe *c)
{
    const int64_t axis = vtac_caffe_int(c, "softmax_param", "axis", 1, -8, 8);
    vtac_caffe_set(c, 0, vtac_make_softmax(&c->net.maker, c->in[0], axis));
}

void vtac_caffe_make_same(vtac_caffe *c)
{
    for (uint32_t i = 0; i < c->out_count; i++) {
        vtac_caffe_set(c, i, c->in[0]);
    }
}

void vtac_caffe_make_silence(vtac_caffe *c)
{
    (void)c;
}
