/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions, pools, normalizations over channels, pictures of another size.
 */
#include <string.h>

#include "../import/window.h"
#include "import.h"

/* Number `axis` of a list of the node that has one for each axis of the data; a place among height and
 * width, or depth, height and width. */
static int64_t list_item(const vtac_tf *im, const char *name, uint32_t axes, uint32_t place,
                         int64_t otherwise)
{
    const vtac_tf_attr *attr = vtac_tf_attr_find(im->node, name);
    const uint32_t at = place + (vtac_tf_channels_first(im) ? 2 : 1);
    return attr == NULL || attr->list_count != axes + 2 ? otherwise : attr->list[at];
}

/* True where a list leaves batch and channels alone. */
static bool spares_the_rest(const vtac_tf *im, const char *name, uint32_t axes)
{
    const vtac_tf_attr *attr = vtac_tf_attr_find(im->node, name);
    const uint32_t channel = vtac_tf_channels_first(im) ? 1 : axes + 1;
    return attr == NULL || attr->list_count == 0 ||
           (attr->list_count == axes + 2 && attr->list[0] == 1 && attr->list[channel] == 1);
}

static vtac_window_rule read_padding(vtac_tf *im, vtac_import_window *w)
{
    const char *padding = vtac_tf_text(im->node, "padding", "");
    const vtac_tf_attr *pads = vtac_tf_attr_find(im->node, "explicit_paddings");
    const uint32_t first = vtac_tf_channels_first(im) ? 2 : 1;
    if (strcmp(padding, "SAME") == 0) {
        return VTAC_WINDOW_SAME_UPPER;
    }
    if (strcmp(padding, "EXPLICIT") == 0 && pads != NULL && pads->list_count == 2 * (w->axes + 2)) {
        for (uint32_t a = 0; a < w->axes; a++) {
            w->pads[a] = pads->list[2 * (size_t)(first + a)];
            w->pads[a + w->axes] = pads->list[2 * (size_t)(first + a) + 1];
        }
    } else if (strcmp(padding, "VALID") != 0) {
        vtac_make_fail(&im->maker, VTA_INVALID, "padding '%.40s'; known are SAME, VALID and EXPLICIT",
                       padding);
    }
    return VTAC_WINDOW_FLOOR;
}

static vtac_window_rule read_window(vtac_tf *im, uint32_t axes, vtac_import_window *w)
{
    w->axes = axes;
    for (uint32_t a = 0; a < axes; a++) {
        w->stride[a] = list_item(im, "strides", axes, a, 1);
        w->dilation[a] = list_item(im, "dilations", axes, a, 1);
    }
    if (!spares_the_rest(im, "strides", axes) || !spares_the_rest(im, "dilations", axes)) {
        vtac_make_refuse(&im->maker, "steps over the batch or the channels");
    }
    return read_padding(im, w);
}

/* ---- convolutions */

/* Operators that TF.js and Grappler put behind a product in one node. */
static vtac_id follow(vtac_tf *im, vtac_id y, const char *op, uint32_t *next, bool planes)
{
    vtac_import_builder *m = &im->maker;
    static const struct {
        const char *name;
        vtac_op op;
    } plain[] = {
        {"Relu", VTAC_OP_RELU}, {"Elu", VTAC_OP_ELU}, {"Sigmoid", VTAC_OP_SIGMOID}, {"Tanh", VTAC_OP_TANH}};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(plain[i].name, op) == 0) {
            return vtac_make1(m, plain[i].op, y);
        }
    }
    if (strcmp(op, "Relu6") == 0) {
        return vtac_make_clip(m, y, 0.0, 6.0);
    }
    if (strcmp(op, "LeakyRelu") == 0) {
        const vtac_attr attr =
            vtac_attr_of_float("alpha", vtac_tf_real(im->node, "leakyrelu_alpha", (double)0.2F));
        return vtac_make(m, VTAC_OP_LEAKY_RELU, &y, 1, &attr, 1);
    }
    if (strcmp(op, "Prelu") == 0) {
        const vtac_id slope = planes ? vtac_tf_over_planes(im, *next) : vtac_tf_plain(im, *next);
        (*next)++;
        return vtac_make2(m, VTAC_OP_PRELU, y, slope);
    }
    vtac_make_refuse(&im->maker, "'%.40s' within it", op);
    return 0;
}

static const vtac_tf_attr *fused_ops(const vtac_tf *im)
{
    static const vtac_tf_attr none = {.name = ""};
    const vtac_tf_attr *attr = vtac_tf_attr_find(im->node, "fused_ops");
    return attr == NULL ? &none : attr;
}

/* The bias of a fused node, 0: it has none. */
static vtac_id fused_bias(vtac_tf *im)
{
    const vtac_tf_attr *ops = fused_ops(im);
    return ops->text_count > 0 && strcmp(ops->texts[0], "BiasAdd") == 0 ? vtac_tf_plain(im, 2) : 0;
}

static vtac_id follow_all(vtac_tf *im, vtac_id y, bool planes)
{
    const vtac_tf_attr *ops = fused_ops(im);
    const bool bias = ops->text_count > 0 && strcmp(ops->texts[0], "BiasAdd") == 0;
    uint32_t next = bias ? 3 : 2;
    for (uint32_t i = bias ? 1 : 0; i < ops->text_count; i++) {
        y = follow(im, y, ops->texts[i], &next, planes);
    }
    return y;
}

/* Weights [height][width][inputs of a group][outputs], of three axes depth comes first. */
void vtac_tf_import_conv(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const uint32_t axes = (uint32_t)im->how;
    const vtac_id x = vtac_tf_window_input(im, 0);
    const vtac_type in = vtac_made_type(m, x);
    const vtac_type w = vtac_tf_type(im, 1);
    vtac_import_window window = {.axes = axes};
    const vtac_window_rule rule = read_window(im, axes, &window);
    if (m->status != VTA_OK || in.rank != axes + 2 || w.rank != axes + 2 || w.dim[axes] < 1 ||
        in.dim[1] % w.dim[axes] != 0) {
        vtac_make_fail(m, VTA_INVALID, "a convolution of rank %u by weights of rank %u, or of other channels",
                       in.rank, w.rank);
        return;
    }
    memcpy(window.kernel, w.dim, axes * sizeof w.dim[0]);
    const int64_t order[] = {axes + 1, axes, 0, 1, 2};
    const vtac_id weight = vtac_make_transpose(m, vtac_tf_plain(im, 1), order, axes + 2);
    if (vtac_lay_window(m, x, rule, &window)) {
        const vtac_id y = vtac_make_conv(m, x, weight, fused_bias(im), &window, in.dim[1] / w.dim[axes]);
        vtac_tf_set_window(im, follow_all(im, y, !vtac_tf_channels_first(im)));
    }
}

/* Weights [height][width][channels][outputs of each]. */
void vtac_tf_import_depthwise(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id x = vtac_tf_window_input(im, 0);
    const vtac_type in = vtac_made_type(m, x);
    const vtac_type w = vtac_tf_type(im, 1);
    vtac_import_window window = {.axes = 2};
    const vtac_window_rule rule = read_window(im, 2, &window);
    if (m->status != VTA_OK || in.rank != 4 || w.rank != 4 || in.dim[1] != w.dim[2]) {
        vtac_make_fail(m, VTA_INVALID, "a convolution of rank %u by weights of rank %u, or of other channels",
                       in.rank, w.rank);
        return;
    }
    memcpy(window.kernel, w.dim, 2 * sizeof w.dim[0]);
    const int64_t dims[] = {w.dim[2] * w.dim[3], 1, w.dim[0], w.dim[1]};
    vtac_id weight = vtac_make_transpose(m, vtac_tf_plain(im, 1), (int64_t[]){2, 3, 0, 1}, 4);
    weight = vtac_make_reshape(m, weight, dims, 4);
    if (vtac_lay_window(m, x, rule, &window)) {
        const vtac_id y = vtac_make_conv(m, x, weight, fused_bias(im), &window, w.dim[2]);
        vtac_tf_set_window(im, follow_all(im, y, !vtac_tf_channels_first(im)));
    }
}

/* The output's shape, weights [height][width][outputs][inputs], x. */
void vtac_tf_import_transposed(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id x = vtac_tf_window_input(im, 2);
    const vtac_type in = vtac_made_type(m, x);
    const vtac_type w = vtac_tf_type(im, 1);
    int64_t shape[4];
    int64_t more[2];
    vtac_import_window window = {.axes = 2};
    const vtac_window_rule rule = read_window(im, 2, &window);
    if (vtac_tf_known_ints(im, 0, "the output's shape", shape, 4) != 4 || in.rank != 4 || w.rank != 4 ||
        w.dim[3] != in.dim[1]) {
        vtac_make_fail(m, VTA_INVALID, "input, weights and the output's shape do not fit");
        return;
    }
    for (int a = 0; a < 2; a++) {
        const int64_t size = shape[a + (vtac_tf_channels_first(im) ? 2 : 1)];
        window.kernel[a] = w.dim[a];
        if (window.stride[a] < 1 || window.dilation[a] < 1 || size < 1 || w.dim[a] < 1) {
            vtac_make_fail(m, VTA_INVALID, "axis %d: %lld elements in steps of %lld", a, (long long)size,
                           (long long)window.stride[a]);
            return;
        }
        if (rule == VTAC_WINDOW_SAME_UPPER) {
            vtac_pad_same(size, w.dim[a], window.stride[a], window.dilation[a], true, &window.pads[a],
                          &window.pads[a + 2]);
        }
        const int64_t full = (in.dim[a + 2] - 1) * window.stride[a] + (w.dim[a] - 1) * window.dilation[a] +
                             1 - window.pads[a] - window.pads[a + 2];
        more[a] = size - full;
        if (more[a] < 0 || more[a] >= window.stride[a] + w.dim[a]) {
            vtac_make_fail(m, VTA_INVALID, "axis %d: an output of %lld from %lld", a, (long long)size,
                           (long long)in.dim[a + 2]);
            return;
        }
    }
    const vtac_attr attrs[] = {
        vtac_attr_of_ints("strides", window.stride, 2), vtac_attr_of_ints("dilations", window.dilation, 2),
        vtac_attr_of_ints("pads", window.pads, 4), vtac_attr_of_ints("output_padding", more, 2)};
    const vtac_id inputs[] = {x, vtac_make_transpose(m, vtac_tf_plain(im, 1), (int64_t[]){3, 2, 0, 1}, 4)};
    vtac_tf_set_window(im, vtac_make(m, VTAC_OP_CONV_TRANSPOSE, inputs, 2, attrs, 4));
}

/* ---- pools */

void vtac_tf_import_pool(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id x = vtac_tf_window_input(im, 0);
    const uint32_t rank = vtac_made_type(m, x).rank;
    const uint32_t axes = rank < 3 ? 0 : rank - 2;
    vtac_import_window window = {.axes = axes};
    if (axes == 0 || axes > VTAC_WINDOW_AXES) {
        vtac_make_fail(m, VTA_INVALID, "a pool of rank %u", rank);
        return;
    }
    const vtac_window_rule rule = read_window(im, axes, &window);
    for (uint32_t a = 0; a < axes; a++) {
        window.kernel[a] = list_item(im, "ksize", axes, a, 0);
    }
    if (!spares_the_rest(im, "ksize", axes)) {
        vtac_make_refuse(&im->maker, "a pool over the batch or the channels");
    }
    if (vtac_lay_window(m, x, rule, &window)) {
        vtac_tf_set_window(im, vtac_make_pool(m, (vtac_op)im->how, x, &window, false));
    }
}

/* ---- normalizations */

/* Of the run's own batch, as in training. */
static vtac_id own_statistic(vtac_tf *im, vtac_id x, vtac_id mean)
{
    vtac_import_builder *m = &im->maker;
    vtac_id v = x;
    if (mean != 0) {
        v = vtac_make2(m, VTAC_OP_SUB, x,
                       vtac_make_reshape(m, mean, (int64_t[]){vtac_made_type(m, mean).dim[0], 1, 1}, 3));
        v = vtac_make2(m, VTAC_OP_MUL, v, v);
    }
    return vtac_make_reduce(m, VTAC_OP_REDUCE_MEAN, v, (int64_t[]){0, 2, 3}, 3, false);
}

/* x, scale, offset, mean, variance. Further outputs are for training. */
void vtac_tf_import_batch_norm(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id x = vtac_tf_window_input(im, 0);
    const bool training = vtac_tf_int(im->node, "is_training", 1) != 0;
    const vtac_attr attr = vtac_attr_of_float("epsilon", vtac_tf_real(im->node, "epsilon", (double)1e-4F));
    if (vtac_made_type(m, x).rank != 4) {
        vtac_make_refuse(&im->maker, "rank %u", vtac_made_type(m, x).rank);
        return;
    }
    vtac_id mean;
    vtac_id variance;
    if (training) {
        vtac_import_note(im->options, "node '%.200s' normalizes by the batch itself: is_training is true",
                         im->node->name);
        mean = own_statistic(im, x, 0);
        variance = own_statistic(im, x, mean);
    } else {
        mean = vtac_tf_plain(im, 3);
        variance = vtac_tf_plain(im, 4);
    }
    const vtac_id in[] = {x, vtac_tf_plain(im, 1), vtac_tf_plain(im, 2), mean, variance};
    vtac_tf_set_window(im, vtac_make(m, VTAC_OP_BATCH_NORMALIZATION, in, 5, &attr, 1));
    vtac_tf_set(im, 1, mean);
    vtac_tf_set(im, 2, variance);
}

/* TensorFlow multiplies the sum by alpha, ONNX the mean. */
void vtac_tf_import_lrn(vtac_tf *im)
{
    const int64_t size = 2 * vtac_tf_int(im->node, "depth_radius", 5) + 1;
    const vtac_attr attrs[] = {
        vtac_attr_of_int("size", size), vtac_attr_of_float("bias", vtac_tf_real(im->node, "bias", 1.0)),
        vtac_attr_of_float("alpha", vtac_tf_real(im->node, "alpha", 1.0) * (double)size),
        vtac_attr_of_float("beta", vtac_tf_real(im->node, "beta", 0.5))};
    const vtac_id x = vtac_tf_planes(im, 0);
    vtac_tf_set_planes(im, 0, vtac_make(&im->maker, VTAC_OP_LRN, &x, 1, attrs, 4));
}

/* ---- pictures of another size */

void vtac_tf_import_resize(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    const bool linear = im->how == TF_LINEAR;
    const bool corners = vtac_tf_int(im->node, "align_corners", 0) != 0;
    const bool centers = vtac_tf_int(im->node, "half_pixel_centers", 0) != 0;
    int64_t size[2];
    const vtac_id x = vtac_tf_planes(im, 0);
    const vtac_type type = vtac_made_type(m, x);
    if (vtac_tf_known_ints(im, 1, "size", size, 2) != 2 || (corners && centers)) {
        vtac_make_fail(m, VTA_INVALID,
                       "a size of two numbers, and either corners or centers that are aligned");
        return;
    }
    const char *places = corners ? "align_corners" : centers ? "half_pixel" : "asymmetric";
    const vtac_attr attrs[] = {
        vtac_attr_of_string("mode", linear ? "linear" : "nearest"),
        vtac_attr_of_string("coordinate_transformation_mode", places),
        vtac_attr_of_string("nearest_mode", corners || centers ? "round_prefer_ceil" : "floor")};
    const int64_t to[] = {type.dim[0], type.dim[1], size[0], size[1]};
    const vtac_id in[] = {vtac_make_cast(m, x, linear ? VTAC_F32 : type.dtype), 0, 0,
                          vtac_make_ints(m, to, 4)};
    vtac_tf_set_planes(im, 0, vtac_make(m, VTAC_OP_RESIZE, in, 4, attrs, 3));
}

/* ---- matrix products; they share the fused operators with convolutions */

static vtac_id turned(vtac_tf *im, vtac_id x, bool flip)
{
    const uint32_t rank = vtac_made_type(&im->maker, x).rank;
    int64_t order[VTAC_MAX_RANK];
    if (!flip || rank < 2) {
        return x;
    }
    for (uint32_t i = 0; i < rank; i++) {
        order[i] = i + 2 < rank ? i : 2 * (int64_t)rank - 3 - i;
    }
    return vtac_make_transpose(&im->maker, x, order, rank);
}

void vtac_tf_import_matmul(vtac_tf *im)
{
    vtac_import_builder *m = &im->maker;
    vtac_id a = turned(im, vtac_tf_plain(im, 0),
                       vtac_tf_int(im->node, "transpose_a", vtac_tf_int(im->node, "adj_x", 0)) != 0);
    vtac_id b = vtac_tf_plain(im, 1);
    const bool flip = vtac_tf_int(im->node, "transpose_b", vtac_tf_int(im->node, "adj_y", 0)) != 0;
    const vtac_id bias = fused_bias(im);
    vtac_id y;
    if (vtac_made_type(m, a).rank == 2 && vtac_made_type(m, b).rank == 2 &&
        vtac_made_constant(m, b) != NULL) {
        const vtac_attr attr = vtac_attr_of_int("transB", 1);
        b = turned(im, b, !flip);
        vtac_make_rows_of_planes(m, &a, &b);
        const vtac_id in[] = {a, b, bias};
        y = vtac_make(m, VTAC_OP_GEMM, in, 3, &attr, 1);
    } else {
        y = vtac_make2(m, VTAC_OP_MATMUL, a, turned(im, b, flip));
        y = bias == 0 ? y : vtac_make2(m, VTAC_OP_ADD, y, bias);
    }
    vtac_tf_set(im, 0, follow_all(im, y, false));
}

void vtac_tf_import_einsum(vtac_tf *im)
{
    const vtac_attr attr = vtac_attr_of_string("equation", vtac_tf_text(im->node, "equation", ""));
    vtac_id *in = vtac_make_room(&im->maker, im->in_count, sizeof *in);
    for (uint32_t i = 0; in != NULL && i < im->in_count; i++) {
        in[i] = vtac_tf_plain(im, i);
    }
    if (in != NULL) {
        vtac_tf_set(im, 0, vtac_make(&im->maker, VTAC_OP_EINSUM, in, im->in_count, &attr, 1));
    }
}
