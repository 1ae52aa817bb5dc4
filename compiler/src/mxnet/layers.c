/* SPDX-License-Identifier: Apache-2.0
 *
 * MXNet's operators that compute: windows, dense layers, normalization, and what is done element by element.
 */
#include <string.h>

#include "../import/window.h"
#include "mxnet.h"

enum { MAX_OUTPUTS = 1 << 24 };

/* ---- windows */

/* The numbers of a window; the channels must be on axis 1. */
static bool read_window(vtac_mxnet *x, vtac_import_window *w)
{
    vtac_import_builder *m = &x->net.maker;
    const char *layout = vtac_mxnet_text(x, "layout");
    int64_t pads[VTAC_WINDOW_AXES];
    *w = (vtac_import_window){.axes = 0};
    w->axes = vtac_mxnet_ints(x, "kernel", w->kernel, VTAC_WINDOW_AXES);
    vtac_mxnet_exactly(x, "stride", 1, w->stride, w->axes);
    vtac_mxnet_exactly(x, "dilate", 1, w->dilation, w->axes);
    vtac_mxnet_exactly(x, "pad", 0, pads, w->axes);
    for (uint32_t a = 0; a < w->axes; a++) {
        w->pads[a] = w->pads[a + w->axes] = pads[a];
    }
    if (m->status == VTA_OK && layout != NULL && strncmp(layout, "NC", 2) != 0) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "layout %.20s; channels on axis 1 are taken", layout);
    }
    if (m->status == VTA_OK && (w->axes < 1 || vtac_mxnet_type(x, 0).rank != w->axes + 2)) {
        vtac_make_fail(m, VTA_INVALID, "a kernel of %u axes for an input of %u", w->axes,
                       vtac_mxnet_type(x, 0).rank);
    }
    return m->status == VTA_OK;
}

static vtac_id bias_of(const vtac_mxnet *x, bool without)
{
    return x->in_count > 2 && !vtac_mxnet_flag(x, "no_bias", without) ? x->in[2] : 0;
}

void vtac_mxnet_make_convolution(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    const int64_t groups = vtac_mxnet_int(x, "num_group", 1, 1, MAX_OUTPUTS);
    vtac_import_window w;
    (void)how;
    if (read_window(x, &w) && vtac_lay_window(m, x->in[0], VTAC_WINDOW_FLOOR, &w)) {
        vtac_mxnet_give(x, vtac_make_conv(m, x->in[0], x->in[1], bias_of(x, false), &w, groups));
    }
}

/* Pads so that an output of a wanted size comes out, what does not come out even at the end. */
static void fit_target(vtac_mxnet *x, vtac_import_window *w, int64_t *more)
{
    int64_t target[VTAC_WINDOW_AXES] = {0};
    const uint32_t count = vtac_mxnet_ints(x, "target_shape", target, w->axes);
    for (uint32_t a = 0; a < count && count == w->axes; a++) {
        const int64_t full =
            (vtac_mxnet_type(x, 0).dim[a + 2] - 1) * w->stride[a] + (w->kernel[a] - 1) * w->dilation[a] + 1;
        const int64_t cut = full - target[a];
        if (target[a] < 1) {
            continue;
        }
        if (cut < 0) {
            vtac_make_fail(&x->net.maker, VTA_INVALID, "a target of %lld, %lld come out",
                           (long long)target[a], (long long)full);
            return;
        }
        w->pads[a] = w->pads[a + w->axes] = (cut + 1) / 2;
        more[a] = cut % 2;
    }
}

void vtac_mxnet_make_deconvolution(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    vtac_import_window w;
    int64_t more[VTAC_WINDOW_AXES];
    (void)how;
    if (!read_window(x, &w)) {
        return;
    }
    vtac_mxnet_exactly(x, "adj", 0, more, w.axes);
    fit_target(x, &w, more);
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", w.stride, w.axes),
                               vtac_attr_of_ints("dilations", w.dilation, w.axes),
                               vtac_attr_of_ints("pads", w.pads, 2 * (size_t)w.axes),
                               vtac_attr_of_ints("output_padding", more, w.axes),
                               vtac_attr_of_int("group", vtac_mxnet_int(x, "num_group", 1, 1, MAX_OUTPUTS))};
    const vtac_id in[] = {x->in[0], x->in[1], bias_of(x, true)};
    vtac_mxnet_give(x, vtac_make(m, VTAC_OP_CONV_TRANSPOSE, in, 3, attrs, 5));
}

/* Sums: means over as many elements in each window, times their number. */
static void sum_pool(vtac_mxnet *x)
{
    vtac_import_builder *m = &x->net.maker;
    const vtac_type type = vtac_mxnet_type(x, 0);
    const bool whole = vtac_mxnet_flag(x, "global_pool", false);
    double count = 1.0;
    vtac_import_window w = {.axes = type.rank < 2 ? 0 : type.rank - 2};
    if (!whole && (!read_window(x, &w) || !vtac_lay_window(m, x->in[0], VTAC_WINDOW_FLOOR, &w))) {
        return;
    }
    for (uint32_t a = 0; a < w.axes && a < VTAC_WINDOW_AXES; a++) {
        count *= (double)(whole ? type.dim[a + 2] : w.kernel[a]);
    }
    const vtac_id mean = whole ? vtac_make1(m, VTAC_OP_GLOBAL_AVERAGE_POOL, x->in[0])
                               : vtac_make_pool(m, VTAC_OP_AVERAGE_POOL, x->in[0], &w, true);
    vtac_mxnet_give(x, vtac_make_linear(m, mean, count, 0.0));
}

/* Means over parts of the same size; parts of different sizes are refused. */
void vtac_mxnet_make_adaptive_pool(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    const vtac_type t = vtac_mxnet_type(x, 0);
    int64_t to[2] = {1, 1};
    const uint32_t count = vtac_mxnet_ints(x, "output_size", to, 2);
    vtac_import_window w = {.axes = 2, .dilation = {1, 1}};
    (void)how;
    to[1] = count == 1 ? to[0] : to[1];
    if (m->status == VTA_OK &&
        (t.rank != 4 || to[0] < 1 || to[1] < 1 || t.dim[2] % to[0] != 0 || t.dim[3] % to[1] != 0)) {
        vtac_make_fail(m, VTA_UNSUPPORTED,
                       "%lld x %lld parts of an input of %u axes; equal parts of 4 are taken",
                       (long long)to[0], (long long)to[1], t.rank);
    }
    for (uint32_t a = 0; a < 2 && m->status == VTA_OK; a++) {
        w.kernel[a] = w.stride[a] = t.dim[a + 2] / to[a];
    }
    if (m->status == VTA_OK && vtac_lay_window(m, x->in[0], VTAC_WINDOW_FLOOR, &w)) {
        vtac_mxnet_give(x, vtac_make_pool(m, VTAC_OP_AVERAGE_POOL, x->in[0], &w, true));
    }
}

void vtac_mxnet_make_roi_pooling(vtac_mxnet *x, const char *how)
{
    int64_t size[2];
    (void)how;
    vtac_mxnet_exactly(x, "pooled_size", 1, size, 2);
    const vtac_attr attrs[] = {vtac_attr_of_ints("pooled_shape", size, 2),
                               vtac_attr_of_float("spatial_scale", vtac_mxnet_real(x, "spatial_scale", 1.0))};
    vtac_mxnet_give(x, vtac_make(&x->net.maker, VTAC_OP_MAX_ROI_POOL, x->in, 2, attrs, 2));
}

void vtac_mxnet_make_hard_sigmoid(vtac_mxnet *x, const char *how)
{
    const vtac_attr attrs[] = {vtac_attr_of_float("alpha", vtac_mxnet_real(x, "alpha", 0.2)),
                               vtac_attr_of_float("beta", vtac_mxnet_real(x, "beta", 0.5))};
    (void)how;
    vtac_mxnet_give(x, vtac_make(&x->net.maker, VTAC_OP_HARD_SIGMOID, x->in, 1, attrs, 2));
}

void vtac_mxnet_make_pooling(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    const char *type = vtac_mxnet_text(x, "pool_type");
    const char *rule = vtac_mxnet_text(x, "pooling_convention");
    const bool mean = type != NULL && strcmp(type, "avg") == 0;
    const bool full = rule != NULL && strcmp(rule, "full") == 0;
    const bool sum = type != NULL && strcmp(type, "sum") == 0;
    vtac_import_window w;
    (void)how;
    if (sum && !full) {
        sum_pool(x);
        return;
    }
    if ((type != NULL && !mean && strcmp(type, "max") != 0) ||
        (rule != NULL && !full && strcmp(rule, "valid") != 0)) {
        vtac_make_fail(m, VTA_UNSUPPORTED,
                       "a pool of type %.20s, convention %.20s; max and avg, valid and full are "
                       "taken",
                       type == NULL ? "max" : type, rule == NULL ? "valid" : rule);
        return;
    }
    if (vtac_mxnet_flag(x, "global_pool", false)) {
        vtac_mxnet_give(
            x, vtac_make1(m, mean ? VTAC_OP_GLOBAL_AVERAGE_POOL : VTAC_OP_GLOBAL_MAX_POOL, x->in[0]));
        return;
    }
    if (read_window(x, &w) &&
        vtac_lay_window(m, x->in[0], full ? VTAC_WINDOW_CEIL_ALL : VTAC_WINDOW_FLOOR, &w)) {
        const vtac_op op = mean ? VTAC_OP_AVERAGE_POOL : VTAC_OP_MAX_POOL;
        vtac_mxnet_give(x,
                        vtac_make_pool(m, op, x->in[0], &w, vtac_mxnet_flag(x, "count_include_pad", true)));
    }
}

/* ---- dense layers */

void vtac_mxnet_make_dense(vtac_mxnet *x, const char *how)
{
    const uint32_t rank = vtac_mxnet_type(x, 0).rank;
    const bool flat = vtac_mxnet_flag(x, "flatten", true);
    (void)how;
    if (rank < 2) {
        vtac_make_fail(&x->net.maker, VTA_INVALID, "an input of %u axes", rank);
        return;
    }
    vtac_mxnet_give(
        x, vtac_make_dense(&x->net.maker, x->in[0], flat ? 1 : rank - 1, x->in[1], false, bias_of(x, false)));
}

/* Products of matrices, the last two axes of which may be turned. */
void vtac_mxnet_make_dot(vtac_mxnet *x, const char *how)
{
    static const char *const turned[] = {"transpose_a", "transpose_b"};
    vtac_import_builder *m = &x->net.maker;
    vtac_id in[2];
    (void)how;
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t rank = vtac_mxnet_type(x, i).rank;
        if (rank < 2 || rank > 3) {
            vtac_make_fail(m, VTA_UNSUPPORTED, "an operand of %u axes, 2 or 3 are taken", rank);
            return;
        }
        in[i] = vtac_mxnet_flag(x, turned[i], false) ? vtac_make_turned(m, x->in[i]) : x->in[i];
    }
    vtac_mxnet_give(x, vtac_make2(m, VTAC_OP_MATMUL, in[0], in[1]));
}

void vtac_mxnet_make_embedding(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    (void)how;
    vtac_mxnet_give(x, vtac_make2(m, VTAC_OP_GATHER, x->in[1], vtac_make_cast(m, x->in[0], VTAC_I64)));
}

/* ---- normalization */

/* A stored row by the end of the node's name: files before 1.0 do not list them among the inputs. */
static vtac_id stored_row(vtac_mxnet *x, uint32_t input, const char *ending)
{
    char name[256];
    if (x->in_count > input) {
        return x->in[input];
    }
    const size_t length = strlen(x->net.maker.name);
    if (length + strlen(ending) >= sizeof name) {
        return 0;
    }
    memcpy(name, x->net.maker.name, length);
    memcpy(name + length, ending, strlen(ending) + 1);
    const vtac_id row = vtac_mxnet_array_of(x, name);
    if (row == 0) {
        vtac_make_fail(&x->net.maker, VTA_INVALID, "the file of weights has no array '%.120s'", name);
    }
    return row;
}

/* The factor counts as 1 unless the file says that it does not. */
void vtac_mxnet_make_batch_norm(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    const uint32_t axis = vtac_mxnet_axis(x, "axis", 1);
    const int64_t channels = vtac_mxnet_type(x, 0).dim[axis];
    vtac_id rows[] = {x->in[1], x->in[2], stored_row(x, 3, "_moving_mean"), stored_row(x, 4, "_moving_var")};
    (void)how;
    if (axis != 1) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "a normalization of axis %u; 1 is taken", axis);
        return;
    }
    if (vtac_mxnet_flag(x, "fix_gamma", true)) {
        float *ones = vtac_make_room(m, channels, sizeof *ones);
        for (int64_t i = 0; ones != NULL && i < channels; i++) {
            ones[i] = 1.0F;
        }
        rows[0] = ones == NULL ? 0 : vtac_make_borrowed(m, &(vtac_type){VTAC_F32, 1, {channels}}, ones);
    }
    vtac_mxnet_give(x, vtac_make_batch_norm(m, x->in[0], rows, vtac_mxnet_real(x, "eps", 1e-3)));
}

void vtac_mxnet_make_instance_norm(vtac_mxnet *x, const char *how)
{
    const vtac_attr attr = vtac_attr_of_float("epsilon", vtac_mxnet_real(x, "eps", 1e-3));
    (void)how;
    vtac_mxnet_give(x, vtac_make(&x->net.maker, VTAC_OP_INSTANCE_NORMALIZATION, x->in, 3, &attr, 1));
}

void vtac_mxnet_make_layer_norm(vtac_mxnet *x, const char *how)
{
    const uint32_t axis = vtac_mxnet_axis(x, "axis", -1);
    const vtac_attr attrs[] = {vtac_attr_of_float("epsilon", vtac_mxnet_real(x, "eps", 1e-5)),
                               vtac_attr_of_int("axis", axis)};
    (void)how;
    if (axis + 1 != vtac_mxnet_type(x, 0).rank) {
        vtac_make_fail(&x->net.maker, VTA_UNSUPPORTED, "a normalization of axis %u; the last one is taken",
                       axis);
        return;
    }
    vtac_mxnet_give(x, vtac_make(&x->net.maker, VTAC_OP_LAYER_NORMALIZATION, x->in, 3, attrs, 2));
}

void vtac_mxnet_make_l2_norm(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    const char *mode = vtac_mxnet_text(x, "mode");
    const uint32_t rank = vtac_mxnet_type(x, 0).rank;
    const bool channel = mode != NULL && strcmp(mode, "channel") == 0;
    const uint32_t first = mode != NULL && strcmp(mode, "spatial") == 0 ? 2 : 1;
    int64_t axes[VTAC_MAX_RANK] = {1};
    uint32_t count = channel ? 1 : 0;
    (void)how;
    for (uint32_t a = first; a < rank && !channel; a++) {
        axes[count++] = a;
    }
    if (rank < 2 || (mode != NULL && !channel && first == 1 && strcmp(mode, "instance") != 0)) {
        vtac_make_fail(m, VTA_INVALID, "mode %.20s for %u axes", mode == NULL ? "instance" : mode, rank);
        return;
    }
    vtac_mxnet_give(x, vtac_make_unit(m, x->in[0], axes, count, vtac_mxnet_real(x, "eps", 1e-10)));
}

void vtac_mxnet_make_lrn(vtac_mxnet *x, const char *how)
{
    const int64_t size = vtac_mxnet_int(x, "nsize", 0, 1, MXNET_MAX_SIDE);
    (void)how;
    vtac_mxnet_give(x,
                    vtac_make_lrn(&x->net.maker, x->in[0], size, vtac_mxnet_real(x, "alpha", 1e-4),
                                  vtac_mxnet_real(x, "beta", 0.75), vtac_mxnet_real(x, "knorm", 2.0), false));
}

/* ---- element by element */

static vtac_id made_unary(vtac_mxnet *x, const char *name)
{
    return vtac_make1(&x->net.maker, vtac_op_find("", name), x->in[0]);
}

void vtac_mxnet_make_unary(vtac_mxnet *x, const char *how)
{
    vtac_mxnet_give(x, made_unary(x, how));
}

void vtac_mxnet_make_square(vtac_mxnet *x, const char *how)
{
    (void)how;
    vtac_mxnet_give(x, vtac_make2(&x->net.maker, VTAC_OP_MUL, x->in[0], x->in[0]));
}

void vtac_mxnet_make_clip(vtac_mxnet *x, const char *how)
{
    (void)how;
    vtac_mxnet_give(x, vtac_make_clip(&x->net.maker, x->in[0], vtac_mxnet_real(x, "a_min", -1e38),
                                      vtac_mxnet_real(x, "a_max", 1e38)));
}

void vtac_mxnet_make_activation(vtac_mxnet *x, const char *how)
{
    static const char *const names[][2] = {{"relu", "Relu"},         {"sigmoid", "Sigmoid"},
                                           {"tanh", "Tanh"},         {"softrelu", "Softplus"},
                                           {"softsign", "Softsign"}, {"mish", "Mish"}};
    const char *type = vtac_mxnet_text(x, "act_type");
    (void)how;
    for (size_t i = 0; type != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(type, names[i][0]) == 0) {
            vtac_mxnet_give(x, made_unary(x, names[i][1]));
            return;
        }
    }
    vtac_make_fail(&x->net.maker, VTA_UNSUPPORTED, "the activation '%.40s'", type == NULL ? "" : type);
}

void vtac_mxnet_make_leaky(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    const char *type = vtac_mxnet_text(x, "act_type");
    const double slope = vtac_mxnet_real(x, "slope", 0.25);
    const vtac_attr alpha = vtac_attr_of_float("alpha", slope);
    (void)how;
    type = type == NULL ? "leaky" : type;
    if (strcmp(type, "prelu") == 0 && x->in_count == 2) {
        vtac_mxnet_give(x, vtac_make_prelu(m, x->in[0], x->in[1]));
    } else if (strcmp(type, "leaky") == 0) {
        vtac_mxnet_give(x, vtac_make_leaky(m, x->in[0], slope));
    } else if (strcmp(type, "rrelu") == 0) { /* the middle of the slopes that the training drew from */
        const double low = vtac_mxnet_real(x, "lower_bound", 0.125);
        vtac_mxnet_give(x,
                        vtac_make_leaky(m, x->in[0], (low + vtac_mxnet_real(x, "upper_bound", 0.334)) / 2.0));
    } else if (strcmp(type, "elu") == 0) {
        vtac_mxnet_give(x, vtac_make(m, VTAC_OP_ELU, x->in, 1, &alpha, 1));
    } else if (strcmp(type, "selu") == 0 || strcmp(type, "gelu") == 0) {
        vtac_mxnet_give(x, vtac_make1(m, type[0] == 's' ? VTAC_OP_SELU : VTAC_OP_GELU, x->in[0]));
    } else {
        vtac_make_fail(m, VTA_UNSUPPORTED, "the activation '%.40s' with %u inputs", type, x->in_count);
    }
}

void vtac_mxnet_make_softmax(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    const vtac_attr axis = vtac_attr_of_int("axis", vtac_mxnet_axis(x, "axis", -1));
    const double warmth = vtac_mxnet_real(x, "temperature", 1.0);
    const vtac_id in = vtac_make_linear(m, x->in[0], warmth == 0.0 ? 1.0 : 1.0 / warmth, 0.0);
    vtac_mxnet_give(x, vtac_make(m, vtac_op_find("", how), &in, 1, &axis, 1));
}

/* A softmax over all of an image; `axis` other than 0: along that axis. */
static void give_softmax(vtac_mxnet *x, uint32_t axis)
{
    vtac_import_builder *m = &x->net.maker;
    const vtac_type type = vtac_mxnet_type(x, 0);
    if (axis != 0) {
        vtac_mxnet_give(x, vtac_make_softmax(m, x->in[0], axis));
        return;
    }
    const vtac_id flat = vtac_make_softmax(m, vtac_make_rows(m, x->in[0], 1), 1);
    vtac_mxnet_give(x, vtac_make_reshape(m, flat, type.dim, type.rank));
}

void vtac_mxnet_make_softmax_activation(vtac_mxnet *x, const char *how)
{
    const char *mode = vtac_mxnet_text(x, "mode");
    (void)how;
    give_softmax(x, mode != NULL && strcmp(mode, "channel") == 0 ? 1 : 0);
}

void vtac_mxnet_make_softmax_output(vtac_mxnet *x, const char *how)
{
    const uint32_t rank = vtac_mxnet_type(x, 0).rank;
    (void)how;
    give_softmax(x, vtac_mxnet_flag(x, "multi_output", false)                 ? 1
                    : vtac_mxnet_flag(x, "preserve_shape", false) && rank > 0 ? rank - 1
                                                                              : 0);
}

void vtac_mxnet_make_binary(vtac_mxnet *x, const char *how)
{
    vtac_mxnet_give(x, vtac_make2(&x->net.maker, vtac_op_find("", how), x->in[0], x->in[1]));
}

void vtac_mxnet_make_sum_of(vtac_mxnet *x, const char *how)
{
    vtac_id y = x->in[0];
    (void)how;
    for (uint32_t i = 1; i < x->in_count; i++) {
        y = vtac_make2(&x->net.maker, VTAC_OP_ADD, y, x->in[i]);
    }
    vtac_mxnet_give(x, y);
}

static vtac_id scalar_of(vtac_mxnet *x)
{
    return vtac_make_number(&x->net.maker, vtac_mxnet_type(x, 0).dtype, vtac_mxnet_real(x, "scalar", 0.0));
}

void vtac_mxnet_make_scalar(vtac_mxnet *x, const char *how)
{
    vtac_mxnet_give(x, vtac_make2(&x->net.maker, vtac_op_find("", how), x->in[0], scalar_of(x)));
}

void vtac_mxnet_make_turned_scalar(vtac_mxnet *x, const char *how)
{
    vtac_mxnet_give(x, vtac_make2(&x->net.maker, vtac_op_find("", how), scalar_of(x), x->in[0]));
}
