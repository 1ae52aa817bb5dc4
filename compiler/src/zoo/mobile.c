/* SPDX-License-Identifier: Apache-2.0
 *
 * Classifiers for phones, as their papers' tables have them.
 */
#include "nets.h"

static const int64_t imagenet[] = {1, 3, 224, 224};

static vtac_zoo_value classify_features(vtac_zoo *z, vtac_zoo_value x)
{
    return vtac_zoo_dense(z, vtac_zoo_flatten(z, vtac_zoo_global_average(z, x)), 1000);
}

vtac_zoo_value vtac_zoo_inverted(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t kernel,
                                 int64_t stride, int64_t expand)
{
    vtac_zoo_value y = x;
    if (expand > 1) {
        y = vtac_zoo_relu6(z, vtac_zoo_conv_norm(z, y, x.dim[1] * expand, 1, 1, 1));
    }
    y = vtac_zoo_relu6(z, vtac_zoo_conv_norm(z, y, y.dim[1], kernel, stride, -1));
    y = vtac_zoo_conv_norm(z, y, channels, 1, 1, 1);
    return stride == 1 && x.dim[1] == channels ? vtac_zoo_add(z, y, x) : y;
}

/* ---- ShuffleNet V2 */

/* Channels of two groups take turns. */
static vtac_zoo_value shuffle_channels(vtac_zoo *z, vtac_zoo_value x)
{
    static const int64_t order[] = {0, 2, 1, 3, 4};
    const int64_t apart[] = {x.dim[0], 2, x.dim[1] / 2, x.dim[2], x.dim[3]};
    return vtac_zoo_reshape(z, vtac_zoo_transpose(z, vtac_zoo_reshape(z, x, 5, apart), order), 4, x.dim);
}

static vtac_zoo_value shuffle_branch(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t stride)
{
    x = vtac_zoo_relu(z, vtac_zoo_conv_norm(z, x, channels, 1, 1, 1));
    x = vtac_zoo_conv_norm(z, x, channels, 3, stride, -1);
    return vtac_zoo_relu(z, vtac_zoo_conv_norm(z, x, channels, 1, 1, 1));
}

static vtac_zoo_value shuffle_unit(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t stride)
{
    vtac_zoo_value parts[2];
    if (stride == 1) {
        vtac_zoo_halve(z, x, parts);
        parts[1] = shuffle_branch(z, parts[1], channels / 2, 1);
    } else {
        const vtac_zoo_value y = vtac_zoo_conv_norm(z, x, x.dim[1], 3, stride, -1);
        parts[0] = vtac_zoo_relu(z, vtac_zoo_conv_norm(z, y, channels / 2, 1, 1, 1));
        parts[1] = shuffle_branch(z, x, channels / 2, stride);
    }
    return shuffle_channels(z, vtac_zoo_concat(z, parts, 2));
}

vtac_zoo_value vtac_zoo_shufflenet_v2(vtac_zoo *z)
{
    static const struct {
        int64_t channels;
        int count;
    } stages[] = {{116, 4}, {232, 8}, {464, 4}};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 4, imagenet);
    x = vtac_zoo_relu(z, vtac_zoo_conv_norm(z, x, 24, 3, 2, 1));
    x = vtac_zoo_pool(z, "MaxPool", x, 3, 2, 1, false);
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        for (int k = 0; k < stages[i].count; k++) {
            x = shuffle_unit(z, x, stages[i].channels, k == 0 ? 2 : 1);
        }
    }
    return classify_features(z, vtac_zoo_relu(z, vtac_zoo_conv_norm(z, x, 1024, 1, 1, 1)));
}

/* ---- MobileNetV3 */

static vtac_zoo_value apply_activation(vtac_zoo *z, vtac_zoo_value x, bool hard_swish)
{
    return hard_swish ? vtac_zoo_hard_swish(z, x) : vtac_zoo_relu(z, x);
}

/* A quarter of the channels, to a multiple of 8 that is not much less. */
static int64_t squeezed_channels(int64_t channels)
{
    const int64_t quarter = channels / 4, rounded = (quarter + 4) / 8 * 8;
    const int64_t min = rounded < 8 ? 8 : rounded;
    return 10 * min < 9 * quarter ? min + 8 : min;
}

vtac_zoo_value vtac_zoo_mobilenet_v3_small(vtac_zoo *z)
{
    static const struct {
        int64_t kernel, wide, channels;
        bool excite, hard_swish;
        int64_t stride;
    } rows[] = {{3, 16, 16, true, false, 2}, {3, 72, 24, false, false, 2}, {3, 88, 24, false, false, 1},
                {5, 96, 40, true, true, 2},  {5, 240, 40, true, true, 1},  {5, 240, 40, true, true, 1},
                {5, 120, 48, true, true, 1}, {5, 144, 48, true, true, 1},  {5, 288, 96, true, true, 2},
                {5, 576, 96, true, true, 1}, {5, 576, 96, true, true, 1}};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 4, imagenet);
    x = vtac_zoo_hard_swish(z, vtac_zoo_conv_norm(z, x, 16, 3, 2, 1));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vtac_zoo_value y = x;
        if (rows[i].wide != x.dim[1]) {
            y = apply_activation(z, vtac_zoo_conv_norm(z, y, rows[i].wide, 1, 1, 1), rows[i].hard_swish);
        }
        y = vtac_zoo_conv_norm(z, y, rows[i].wide, rows[i].kernel, rows[i].stride, -1);
        y = apply_activation(z, y, rows[i].hard_swish);
        y = rows[i].excite ? vtac_zoo_excite(z, y, squeezed_channels(rows[i].wide)) : y;
        y = vtac_zoo_conv_norm(z, y, rows[i].channels, 1, 1, 1);
        x = rows[i].stride == 1 && x.dim[1] == rows[i].channels ? vtac_zoo_add(z, y, x) : y;
    }
    x = vtac_zoo_hard_swish(z, vtac_zoo_conv_norm(z, x, 576, 1, 1, 1));
    x = vtac_zoo_hard_swish(z, vtac_zoo_dense(z, vtac_zoo_flatten(z, vtac_zoo_global_average(z, x)), 1024));
    return vtac_zoo_dense(z, x, 1000);
}

/* ---- EfficientNet-Lite */

vtac_zoo_value vtac_zoo_efficientnet_lite0(vtac_zoo *z)
{
    static const struct {
        int64_t expand, kernel, stride, channels;
        int count;
    } rows[] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
                {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 4, imagenet);
    x = vtac_zoo_relu6(z, vtac_zoo_conv_norm(z, x, 32, 3, 2, 1));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int k = 0; k < rows[i].count; k++) {
            const int64_t stride = k == 0 ? rows[i].stride : 1;
            x = vtac_zoo_inverted(z, x, rows[i].channels, rows[i].kernel, stride, rows[i].expand);
        }
    }
    return classify_features(z, vtac_zoo_relu6(z, vtac_zoo_conv_norm(z, x, 1280, 1, 1, 1)));
}
