/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions. 8-bit ones become QLinearConv with a rounding of TensorFlow Lite's; 16-bit ones a sum in
 * double, where all of them are exact, and a Rescale; floats with 8-bit weights are quantized by the run,
 * image by image.
 */
#include <math.h>
#include <string.h>

#include "../import/window.h"
#include "operators.h"

enum { SAME = 0 };

/* Strides, dilations, activation and where they stand among the options. */
typedef struct conv_window {
    int64_t stride[2], dilation[2], kernel[2], pads[4];
    int padding, activation;
} conv_window;

/* Padding of TensorFlow's around an input of `size`. */
static void pad_axis(const conv_window *w, int axis, int64_t size, int64_t *before, int64_t *after)
{
    *before = *after = 0;
    if (w->padding == SAME) {
        vtac_pad_same(size, w->kernel[axis], w->stride[axis], w->dilation[axis], true, before, after);
    }
}

static bool check_window(vtac_tflite *im, const conv_window *w)
{
    for (int a = 0; a < 2; a++) {
        if (w->stride[a] < 1 || w->dilation[a] < 1 || w->stride[a] > INT32_MAX || w->dilation[a] > 1 << 20 ||
            w->padding < 0 || w->padding > 1) {
            vtac_make_fail(&im->maker, VTA_INVALID, "stride %lld, dilation %lld, padding %d",
                           (long long)w->stride[a], (long long)w->dilation[a], w->padding);
            return false;
        }
    }
    return im->maker.status == VTA_OK;
}

static uint32_t window_attrs(const conv_window *w, int64_t groups, vtac_attr *attrs)
{
    uint32_t count = 0;
    attrs[count++] = vtac_attr_of_ints("strides", w->stride, 2);
    attrs[count++] = vtac_attr_of_ints("dilations", w->dilation, 2);
    attrs[count++] = vtac_attr_of_ints("pads", w->pads, 4);
    if (groups != 1) {
        attrs[count++] = vtac_attr_of_int("group", groups);
    }
    return count;
}

/* ---- the three kinds of arithmetic */

typedef struct convolution {
    conv_window w;
    bool depthwise;
    int64_t groups, outputs;
    vtac_id x, weight; /* in planes; [outputs][inputs per group][rows][columns] */
    const vtac_tflite_tensor *in, *filter, *bias, *out;
} convolution;

/* The scale of each output, as a constant of one number or of all. */
static vtac_tfl_scale factor_of(const convolution *c, int64_t output)
{
    const uint32_t i = c->filter->scale_count > 1 ? (uint32_t)output : 0;
    return vtac_tfl_scale_of(vtac_tfl_product(c->in->scale[0], c->filter->scale[i], c->out->scale[0],
                                              c->in->type.dtype == VTAC_U8));
}

static vtac_id bias_value(vtac_tflite *im, const convolution *c)
{
    return c->bias == NULL ? 0 : vtac_tflite_plain(im, 2);
}

static vtac_id conv_bytes(vtac_tflite *im, const convolution *c)
{
    vtac_attr attrs[6];
    uint32_t count = window_attrs(&c->w, c->groups, attrs);
    const vtac_rounding rounding = c->depthwise ? VTAC_ROUND_AWAY : VTAC_ROUND_UP;
    attrs[count++] = vtac_attr_of_string("rounding", vtac_rounding_name(rounding));
    vtac_id weight_zero = vtac_tflite_zero_value(im, c->filter);
    if (c->filter->type.dtype == VTAC_I8) {
        weight_zero = vtac_make_number(&im->maker, VTAC_I8, 0.0);
    }
    const vtac_id in[] = {c->x,
                          vtac_tflite_scale_value(im, c->in),
                          vtac_tflite_zero_value(im, c->in),
                          c->weight,
                          vtac_tflite_scale_value(im, c->filter),
                          weight_zero,
                          vtac_tflite_scale_value(im, c->out),
                          vtac_tflite_zero_value(im, c->out),
                          bias_value(im, c)};
    return vtac_make(&im->maker, VTAC_OP_QLINEAR_CONV, in, 9, attrs, count);
}

/* One factor for each output, along axis 1. */
static vtac_id rescale_outputs(vtac_tflite *im, const convolution *c, vtac_id sum, vtac_rounding rounding)
{
    vtac_import_builder *m = &im->maker;
    int32_t *mult = vtac_make_room(m, c->outputs, sizeof *mult);
    int32_t *shift = vtac_make_room(m, c->outputs, sizeof *shift);
    if (mult == NULL || shift == NULL) {
        return 0;
    }
    for (int64_t i = 0; i < c->outputs; i++) {
        const vtac_tfl_scale scale = factor_of(c, i);
        mult[i] = scale.mult;
        shift[i] = scale.shift;
    }
    const vtac_type type = {VTAC_I32, 1, {c->outputs}};
    const vtac_attr attrs[] = {vtac_attr_of_string("rounding", vtac_rounding_name(rounding)),
                               vtac_attr_of_int("axis", 1)};
    const vtac_id in[] = {sum, vtac_make_borrowed(m, &type, mult), vtac_make_borrowed(m, &type, shift)};
    return vtac_make(m, VTAC_OP_RESCALE, in, 3, attrs, 2);
}

/* Sums of whole numbers in double. */
static vtac_id exact_sum(vtac_tflite *im, const convolution *c, vtac_op op)
{
    vtac_import_builder *m = &im->maker;
    vtac_attr attrs[5];
    const uint32_t count = window_attrs(&c->w, c->groups, attrs);
    vtac_id x = vtac_tflite_centred(im, c->x, c->in->zero[0]);
    vtac_id w =
        c->filter->type.dtype == VTAC_I8 ? c->weight : vtac_tflite_centred(im, c->weight, c->filter->zero[0]);
    const vtac_id in[] = {vtac_make_cast(m, x, VTAC_F64), vtac_make_cast(m, w, VTAC_F64)};
    vtac_id sum = vtac_make_cast(m, vtac_make(m, op, in, 2, attrs, count), VTAC_I64);
    if (c->bias != NULL) {
        const vtac_id bias = vtac_make_cast(m, bias_value(im, c), VTAC_I64);
        sum = vtac_make2(m, VTAC_OP_ADD, sum, vtac_make_reshape(m, bias, (int64_t[]){c->outputs, 1, 1}, 3));
    }
    return sum;
}

/* Sums of 32 and of 64 bits have one rounding, of factors of 31 and of 16 bits. */
static vtac_id conv_words(vtac_tflite *im, const convolution *c)
{
    const bool narrow = c->bias != NULL && c->bias->type.dtype == VTAC_I32;
    vtac_id sum = exact_sum(im, c, VTAC_OP_CONV);
    if (narrow) {
        vtac_tfl_scale *scales = vtac_make_room(&im->maker, c->outputs, sizeof *scales);
        for (int64_t i = 0; scales != NULL && i < c->outputs; i++) {
            scales[i] = factor_of(c, i);
        }
        sum = scales == NULL ? 0 : vtac_tflite_rescale_wide(im, sum, scales, c->outputs, 1);
    } else {
        sum = rescale_outputs(im, c, sum, VTAC_ROUND_ONCE);
    }
    return vtac_tflite_store(im, sum, c->out, c->w.activation);
}

/* Each image of floats is quantized by the run: symmetrically where one scale is for all weights, else over
 * its range. */
static vtac_id conv_mixed(vtac_tflite *im, const convolution *c)
{
    vtac_import_builder *m = &im->maker;
    vtac_attr attrs[5];
    const uint32_t count = window_attrs(&c->w, c->groups, attrs);
    const vtac_type type = vtac_made_type(m, c->x);
    const int64_t rows[] = {type.dim[0], type.dim[0] > 0 ? vtac_type_elements(&type) / type.dim[0] : 0};
    vtac_id scale = 0;
    vtac_id zero = 0;
    const bool whole = c->filter->scale_count > 1 || c->depthwise;
    vtac_id q =
        vtac_tflite_quantize_rows(im, vtac_make_reshape(m, c->x, rows, 2), 2, &scale, whole ? &zero : NULL);
    q = whole ? vtac_make2(m, VTAC_OP_SUB, q, zero) : q;
    q = vtac_make_reshape(m, q, type.dim, 4);
    scale = vtac_make_reshape(m, scale, (int64_t[]){type.dim[0], 1, 1, 1}, 4);
    const vtac_id in[] = {vtac_make_cast(m, q, VTAC_F64), vtac_make_cast(m, c->weight, VTAC_F64)};
    vtac_id sum = vtac_make_cast(m, vtac_make(m, VTAC_OP_CONV, in, 2, attrs, count), VTAC_F32);
    vtac_id filter = vtac_tflite_scale_value(im, c->filter);
    if (c->filter->scale_count > 1) {
        filter = vtac_make_reshape(m, filter, (int64_t[]){c->outputs, 1, 1}, 3);
    }
    sum = vtac_make2(m, VTAC_OP_MUL, sum, vtac_make2(m, VTAC_OP_MUL, scale, filter));
    if (c->bias != NULL) {
        const vtac_id bias = vtac_make_reshape(m, bias_value(im, c), (int64_t[]){c->outputs, 1, 1}, 3);
        sum = vtac_make2(m, VTAC_OP_ADD, sum, bias);
    }
    return vtac_tflite_activate(im, sum, c->out, c->w.activation);
}

static vtac_id conv_floats(vtac_tflite *im, const convolution *c)
{
    vtac_attr attrs[5];
    const uint32_t count = window_attrs(&c->w, c->groups, attrs);
    const vtac_id in[] = {c->x, c->weight, bias_value(im, c)};
    const vtac_id y = vtac_make(&im->maker, VTAC_OP_CONV, in, 3, attrs, count);
    return vtac_tflite_activate(im, y, c->out, c->w.activation);
}

/* One scale for all outputs, or one each. */
static bool scales_fit(vtac_tflite *im, const convolution *c)
{
    const bool good = c->in->scale_count == 1 && c->out->scale_count == 1 &&
                      (c->filter->scale_count == 1 || c->filter->scale_count == c->outputs);
    if (!good) {
        vtac_make_fail(&im->maker, VTA_INVALID,
                       "%u scales of weights for %lld outputs, %u of the input, %u of the output",
                       c->filter->scale_count, (long long)c->outputs, c->in->scale_count,
                       c->out->scale_count);
    }
    return good;
}

static void make_convolution(vtac_tflite *im, convolution *c)
{
    const vtac_dtype in = c->in->type.dtype;
    const vtac_dtype filter = c->filter->type.dtype;
    const vtac_dtype out = c->out->type.dtype;
    const bool bytes = (in == VTAC_I8 && filter == VTAC_I8 && out == VTAC_I8) ||
                       (in == VTAC_U8 && filter == VTAC_U8 && out == VTAC_U8);
    vtac_id y = 0;
    if (bytes && scales_fit(im, c)) {
        y = vtac_tflite_activate(im, conv_bytes(im, c), c->out, c->w.activation);
    } else if (in == VTAC_I16 && filter == VTAC_I8 && out == VTAC_I16 && scales_fit(im, c)) {
        y = conv_words(im, c);
    } else if (in == VTAC_F32 && filter == VTAC_I8 && out == VTAC_F32 && c->filter->scale_count > 0) {
        y = conv_mixed(im, c);
    } else if (in == VTAC_F32 && filter == VTAC_F32 && out == VTAC_F32) {
        y = conv_floats(im, c);
    } else {
        vtac_make_refuse(&im->maker, "a convolution of %s by %s to %s", vtac_dtype_name(in),
                         vtac_dtype_name(filter), vtac_dtype_name(out));
    }
    vtac_tflite_set_planes(im, 0, y);
}

static bool begin_convolution(vtac_tflite *im, convolution *c)
{
    c->in = vtac_tflite_in(im, 0);
    c->filter = vtac_tflite_in(im, 1);
    c->out = vtac_tflite_out(im, 0);
    c->bias = vtac_tflite_has(im, 2) ? vtac_tflite_in(im, 2) : NULL;
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_type w = vtac_tflite_type(im, 1);
    if (im->maker.status == VTA_OK && (x.rank != 4 || w.rank != 4)) {
        vtac_make_fail(&im->maker, VTA_INVALID, "input and weights have rank %u and %u, expected 4", x.rank,
                       w.rank);
    }
    c->w.kernel[0] = w.dim[1];
    c->w.kernel[1] = w.dim[2];
    if (!check_window(im, &c->w)) {
        return false;
    }
    for (int a = 0; a < 2; a++) {
        pad_axis(&c->w, a, x.dim[a + 1], &c->w.pads[a], &c->w.pads[a + 2]);
    }
    c->x = vtac_tflite_planes(im, 0);
    return im->maker.status == VTA_OK;
}

/* options: padding, stride_w, stride_h, activation, dilation_w, dilation_h */
void vtac_tflite_import_conv(vtac_tflite *im)
{
    convolution c = {.groups = 1};
    c.w = (conv_window){.stride = {vtac_tflite_option(im, 2, 4, 0), vtac_tflite_option(im, 1, 4, 0)},
                        .dilation = {vtac_tflite_option(im, 5, 4, 1), vtac_tflite_option(im, 4, 4, 1)},
                        .padding = (int)vtac_tflite_option(im, 0, 1, 0),
                        .activation = (int)vtac_tflite_option(im, 3, 1, 0)};
    if (!begin_convolution(im, &c)) {
        return;
    }
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_type w = vtac_tflite_type(im, 1);
    c.outputs = w.dim[0];
    if (w.dim[3] < 1 || x.dim[3] % w.dim[3] != 0) {
        vtac_make_fail(&im->maker, VTA_INVALID, "%lld channels, the weights have %lld", (long long)x.dim[3],
                       (long long)w.dim[3]);
        return;
    }
    c.groups = x.dim[3] / w.dim[3];
    c.weight = vtac_make_transpose(&im->maker, vtac_tflite_plain(im, 1), (int64_t[]){0, 3, 1, 2}, 4);
    make_convolution(im, &c);
}

/* options: padding, stride_w, stride_h, multiplier, activation, dilation_w, dilation_h; weights
 * [1][h][w][outputs] */
void vtac_tflite_import_depthwise(vtac_tflite *im)
{
    convolution c = {.depthwise = true};
    c.w = (conv_window){.stride = {vtac_tflite_option(im, 2, 4, 0), vtac_tflite_option(im, 1, 4, 0)},
                        .dilation = {vtac_tflite_option(im, 6, 4, 1), vtac_tflite_option(im, 5, 4, 1)},
                        .padding = (int)vtac_tflite_option(im, 0, 1, 0),
                        .activation = (int)vtac_tflite_option(im, 4, 1, 0)};
    if (!begin_convolution(im, &c)) {
        return;
    }
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_type w = vtac_tflite_type(im, 1);
    c.outputs = w.dim[3];
    c.groups = x.dim[3];
    if (c.groups < 1 || w.dim[0] != 1 || c.outputs % c.groups != 0) {
        vtac_make_fail(&im->maker, VTA_INVALID, "%lld outputs of %lld channels", (long long)c.outputs,
                       (long long)c.groups);
        return;
    }
    c.weight = vtac_make_transpose(&im->maker, vtac_tflite_plain(im, 1), (int64_t[]){3, 0, 1, 2}, 4);
    make_convolution(im, &c);
}

/* ---- transposed: inputs are the output's shape, the weights [outputs][h][w][inputs], x, a bias */

static vtac_id transpose_floats(vtac_tflite *im, const convolution *c, const vtac_attr *attrs, uint32_t count)
{
    const vtac_id in[] = {c->x, c->weight, vtac_tflite_has(im, 3) ? vtac_tflite_plain(im, 3) : 0};
    return vtac_make(&im->maker, VTAC_OP_CONV_TRANSPOSE, in, 3, attrs, count);
}

static vtac_id transpose_bytes(vtac_tflite *im, const convolution *c, const vtac_attr *attrs, uint32_t count)
{
    vtac_import_builder *m = &im->maker;
    const bool wide = c->in->type.dtype == VTAC_I16 && vtac_tflite_has(im, 3) &&
                      vtac_tflite_in(im, 3)->type.dtype != VTAC_I32;
    const vtac_id x = vtac_tflite_centred(im, c->x, c->in->zero[0]);
    const vtac_id w =
        c->filter->type.dtype == VTAC_I8 ? c->weight : vtac_tflite_centred(im, c->weight, c->filter->zero[0]);
    const vtac_id in[] = {vtac_make_cast(m, x, VTAC_F64), vtac_make_cast(m, w, VTAC_F64)};
    const vtac_dtype type = wide ? VTAC_I64 : VTAC_I32;
    vtac_id sum = vtac_make_cast(m, vtac_make(m, VTAC_OP_CONV_TRANSPOSE, in, 2, attrs, count), type);
    if (vtac_tflite_has(im, 3)) {
        const vtac_id bias = vtac_make_cast(m, vtac_tflite_plain(im, 3), type);
        sum = vtac_make2(m, VTAC_OP_ADD, sum, vtac_make_reshape(m, bias, (int64_t[]){c->outputs, 1, 1}, 3));
    }
    sum = rescale_outputs(im, c, sum, wide ? VTAC_ROUND_ONCE : VTAC_ROUND_AWAY);
    return vtac_tflite_store(im, sum, c->out, c->w.activation);
}

/* options: padding, stride_w, stride_h, activation */
void vtac_tflite_import_transpose_conv(vtac_tflite *im)
{
    convolution c = {.groups = 1,
                     .in = vtac_tflite_in(im, 2),
                     .filter = vtac_tflite_in(im, 1),
                     .out = vtac_tflite_out(im, 0)};
    c.w = (conv_window){.stride = {vtac_tflite_option(im, 2, 4, 0), vtac_tflite_option(im, 1, 4, 0)},
                        .dilation = {1, 1},
                        .padding = (int)vtac_tflite_option(im, 0, 1, 0),
                        .activation = (int)vtac_tflite_option(im, 3, 1, 0)};
    int64_t shape[4];
    const vtac_type x = vtac_tflite_type(im, 2);
    const vtac_type w = vtac_tflite_type(im, 1);
    if (!check_window(im, &c.w) || vtac_tflite_known_ints(im, 0, "output shape", shape, 4) != 4 ||
        x.rank != 4 || w.rank != 4 || w.dim[3] != x.dim[3] || shape[3] != w.dim[0]) {
        vtac_make_fail(&im->maker, VTA_INVALID, "input, weights and the output's shape do not fit");
        return;
    }
    int64_t more[2];
    for (int a = 0; a < 2; a++) {
        c.w.kernel[a] = w.dim[a + 1];
        pad_axis(&c.w, a, shape[a + 1], &c.w.pads[a], &c.w.pads[a + 2]);
        const int64_t full =
            (x.dim[a + 1] - 1) * c.w.stride[a] + c.w.kernel[a] - c.w.pads[a] - c.w.pads[a + 2];
        more[a] = shape[a + 1] - full;
        if (more[a] < 0) { /* the window reaches beyond: cut off */
            c.w.pads[a + 2] -= more[a];
            more[a] = 0;
        }
        if (more[a] >= c.w.stride[a] + c.w.kernel[a] || full < -c.w.kernel[a]) {
            vtac_make_fail(&im->maker, VTA_INVALID, "an output of %lld from %lld", (long long)shape[a + 1],
                           (long long)x.dim[a + 1]);
            return;
        }
    }
    vtac_attr attrs[6];
    uint32_t count = window_attrs(&c.w, 1, attrs);
    attrs[count++] = vtac_attr_of_ints("output_padding", more, 2);
    c.outputs = w.dim[0];
    c.x = vtac_tflite_planes(im, 2);
    c.weight = vtac_make_transpose(&im->maker, vtac_tflite_plain(im, 1), (int64_t[]){3, 0, 1, 2}, 4);
    const vtac_dtype d = c.in->type.dtype;
    if (d == VTAC_F32 && c.filter->type.dtype == VTAC_F32) {
        vtac_tflite_set_planes(
            im, 0, vtac_tflite_activate(im, transpose_floats(im, &c, attrs, count), c.out, c.w.activation));
    } else if (vtac_tflite_quantized(c.in) && vtac_tflite_quantized(c.out) && c.filter->scale_count > 0 &&
               scales_fit(im, &c)) {
        vtac_tflite_set_planes(im, 0, transpose_bytes(im, &c, attrs, count));
    } else {
        vtac_make_refuse(&im->maker, "a transposed convolution of %s by %s", vtac_dtype_name(d),
                         vtac_dtype_name(c.filter->type.dtype));
    }
}

/* ---- pools: padding, stride_w, stride_h, width, height, activation */

void vtac_tflite_import_pool(vtac_tflite *im)
{
    const bool is_max = im->how == VTAC_OP_MAX_POOL;
    const vtac_tflite_tensor *in = vtac_tflite_in(im, 0);
    const vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    conv_window w = {.stride = {vtac_tflite_option(im, 2, 4, 0), vtac_tflite_option(im, 1, 4, 0)},
                     .dilation = {1, 1},
                     .kernel = {vtac_tflite_option(im, 4, 4, 0), vtac_tflite_option(im, 3, 4, 0)},
                     .padding = (int)vtac_tflite_option(im, 0, 1, 0),
                     .activation = (int)vtac_tflite_option(im, 5, 1, 0)};
    const vtac_type x = vtac_tflite_type(im, 0);
    if (!check_window(im, &w) || x.rank != 4 || w.kernel[0] < 1 || w.kernel[1] < 1) {
        vtac_make_fail(&im->maker, VTA_INVALID, "a window of %lld x %lld on rank %u", (long long)w.kernel[0],
                       (long long)w.kernel[1], x.rank);
        return;
    }
    for (int a = 0; a < 2; a++) {
        pad_axis(&w, a, x.dim[a + 1], &w.pads[a], &w.pads[a + 2]);
    }
    vtac_attr attrs[7];
    uint32_t count = window_attrs(&w, 1, attrs);
    attrs[count++] = vtac_attr_of_ints("kernel_shape", w.kernel, 2);
    vtac_id y = 0;
    const vtac_id planes = vtac_tflite_planes(im, 0);
    if (in->type.dtype != out->type.dtype) {
        vtac_make_fail(&im->maker, VTA_INVALID, "a pool of %s to %s", vtac_dtype_name(in->type.dtype),
                       vtac_dtype_name(out->type.dtype));
    } else if (vtac_tflite_is_float(in) || is_max) {
        y = vtac_make(&im->maker, (vtac_op)im->how, &planes, 1, attrs, count);
    } else if (in->type.dtype == VTAC_I16) {
        /* The sum in double; divided, halves away from zero. */
        const vtac_id wide = vtac_make_cast(&im->maker, planes, VTAC_F64);
        y = vtac_make(&im->maker, VTAC_OP_AVERAGE_POOL, &wide, 1, attrs, count);
        y = vtac_make_cast(&im->maker, vtac_tflite_round(im, y), VTAC_I16);
    } else {
        /* The mean of the integers themselves, whatever the output's scale. */
        attrs[count++] = vtac_attr_of_string("rounding", vtac_rounding_name(VTAC_ROUND_AWAY));
        const vtac_id inputs[] = {planes, vtac_tflite_scale_value(im, in), vtac_tflite_zero_value(im, in),
                                  vtac_tflite_scale_value(im, in), vtac_tflite_zero_value(im, in)};
        y = vtac_make(&im->maker, VTAC_OP_QLINEAR_AVERAGE_POOL, inputs, 5, attrs, count);
    }
    vtac_tflite_set_planes(im, 0, vtac_tflite_activate(im, y, out, w.activation));
}

/* The root of the mean of squares: padding, stride_w, stride_h, width, height, activation */
void vtac_tflite_import_l2_pool(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    conv_window w = {.stride = {vtac_tflite_option(im, 2, 4, 0), vtac_tflite_option(im, 1, 4, 0)},
                     .dilation = {1, 1},
                     .kernel = {vtac_tflite_option(im, 4, 4, 0), vtac_tflite_option(im, 3, 4, 0)},
                     .padding = (int)vtac_tflite_option(im, 0, 1, 0),
                     .activation = (int)vtac_tflite_option(im, 5, 1, 0)};
    const vtac_type x = vtac_tflite_type(im, 0);
    if (!check_window(im, &w) || x.rank != 4 || x.dtype != VTAC_F32 || w.kernel[0] < 1 || w.kernel[1] < 1) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "a window of %lld x %lld on %s of rank %u", (long long)w.kernel[0],
                       (long long)w.kernel[1], vtac_dtype_name(x.dtype), x.rank);
        return;
    }
    for (int a = 0; a < 2; a++) {
        pad_axis(&w, a, x.dim[a + 1], &w.pads[a], &w.pads[a + 2]);
    }
    vtac_attr attrs[7];
    uint32_t count = window_attrs(&w, 1, attrs);
    attrs[count++] = vtac_attr_of_ints("kernel_shape", w.kernel, 2);
    const vtac_id planes = vtac_tflite_planes(im, 0);
    const vtac_id squares = vtac_make2(m, VTAC_OP_MUL, planes, planes);
    const vtac_id mean = vtac_make(m, VTAC_OP_AVERAGE_POOL, &squares, 1, attrs, count);
    vtac_tflite_set_planes(
        im, 0,
        vtac_tflite_activate(im, vtac_make1(m, VTAC_OP_SQRT, mean), vtac_tflite_out(im, 0), w.activation));
}
