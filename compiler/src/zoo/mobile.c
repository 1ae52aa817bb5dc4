/* SPDX-License-Identifier: Apache-2.0
 *
 * Classifiers for phones, as their papers' tables have them.
 */
#include "nets.h"

static const int64_t imagenet[] = {1, 3, 224, 224};

static zoo_value classify(zoo *z, zoo_value x)
{
    return zoo_dense(z, zoo_flatten(z, zoo_global_average(z, x)), 1000);
}

zoo_value zoo_inverted(zoo *z, zoo_value x, int64_t channels, int64_t kernel, int64_t stride, int64_t expand)
{
    zoo_value y = x;
    if (expand > 1) {
        y = zoo_relu6(z, zoo_conv_norm(z, y, x.dim[1] * expand, 1, 1, 1));
    }
    y = zoo_relu6(z, zoo_conv_norm(z, y, y.dim[1], kernel, stride, -1));
    y = zoo_conv_norm(z, y, channels, 1, 1, 1);
    return stride == 1 && x.dim[1] == channels ? zoo_add(z, y, x) : y;
}

/* ---- ShuffleNet V2 */

/* Channels of two groups take turns. */
static zoo_value shuffle(zoo *z, zoo_value x)
{
    static const int64_t turn[] = {0, 2, 1, 3, 4};
    const int64_t apart[] = {x.dim[0], 2, x.dim[1] / 2, x.dim[2], x.dim[3]};
    return zoo_reshape(z, zoo_transpose(z, zoo_reshape(z, x, 5, apart), turn), 4, x.dim);
}

static zoo_value shuffle_branch(zoo *z, zoo_value x, int64_t channels, int64_t stride)
{
    x = zoo_relu(z, zoo_conv_norm(z, x, channels, 1, 1, 1));
    x = zoo_conv_norm(z, x, channels, 3, stride, -1);
    return zoo_relu(z, zoo_conv_norm(z, x, channels, 1, 1, 1));
}

static zoo_value shuffle_unit(zoo *z, zoo_value x, int64_t channels, int64_t stride)
{
    zoo_value parts[2];
    if (stride == 1) {
        zoo_halve(z, x, parts);
        parts[1] = shuffle_branch(z, parts[1], channels / 2, 1);
    } else {
        const zoo_value y = zoo_conv_norm(z, x, x.dim[1], 3, stride, -1);
        parts[0] = zoo_relu(z, zoo_conv_norm(z, y, channels / 2, 1, 1, 1));
        parts[1] = shuffle_branch(z, x, channels / 2, stride);
    }
    return shuffle(z, zoo_concat(z, parts, 2));
}

zoo_value shufflenet_v2(zoo *z)
{
    static const struct {
        int64_t channels;
        int count;
    } stages[] = {{116, 4}, {232, 8}, {464, 4}};
    zoo_value x = zoo_input(z, "input", 4, imagenet);
    x = zoo_relu(z, zoo_conv_norm(z, x, 24, 3, 2, 1));
    x = zoo_pool(z, "MaxPool", x, 3, 2, 1, false);
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        for (int k = 0; k < stages[i].count; k++) {
            x = shuffle_unit(z, x, stages[i].channels, k == 0 ? 2 : 1);
        }
    }
    return classify(z, zoo_relu(z, zoo_conv_norm(z, x, 1024, 1, 1, 1)));
}

/* ---- MobileNetV3 */

static zoo_value activate(zoo *z, zoo_value x, bool hard_swish)
{
    return hard_swish ? zoo_hard_swish(z, x) : zoo_relu(z, x);
}

/* A quarter of the channels, to a multiple of 8 that is not much less. */
static int64_t squeezed(int64_t channels)
{
    const int64_t quarter = channels / 4, rounded = (quarter + 4) / 8 * 8;
    const int64_t least = rounded < 8 ? 8 : rounded;
    return 10 * least < 9 * quarter ? least + 8 : least;
}

zoo_value mobilenet_v3_small(zoo *z)
{
    static const struct {
        int64_t kernel, wide, channels;
        bool excite, hard_swish;
        int64_t stride;
    } rows[] = {{3, 16, 16, true, false, 2}, {3, 72, 24, false, false, 2}, {3, 88, 24, false, false, 1},
                {5, 96, 40, true, true, 2},  {5, 240, 40, true, true, 1},  {5, 240, 40, true, true, 1},
                {5, 120, 48, true, true, 1}, {5, 144, 48, true, true, 1},  {5, 288, 96, true, true, 2},
                {5, 576, 96, true, true, 1}, {5, 576, 96, true, true, 1}};
    zoo_value x = zoo_input(z, "input", 4, imagenet);
    x = zoo_hard_swish(z, zoo_conv_norm(z, x, 16, 3, 2, 1));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        zoo_value y = x;
        if (rows[i].wide != x.dim[1]) {
            y = activate(z, zoo_conv_norm(z, y, rows[i].wide, 1, 1, 1), rows[i].hard_swish);
        }
        y = zoo_conv_norm(z, y, rows[i].wide, rows[i].kernel, rows[i].stride, -1);
        y = activate(z, y, rows[i].hard_swish);
        y = rows[i].excite ? zoo_excite(z, y, squeezed(rows[i].wide)) : y;
        y = zoo_conv_norm(z, y, rows[i].channels, 1, 1, 1);
        x = rows[i].stride == 1 && x.dim[1] == rows[i].channels ? zoo_add(z, y, x) : y;
    }
    x = zoo_hard_swish(z, zoo_conv_norm(z, x, 576, 1, 1, 1));
    x = zoo_hard_swish(z, zoo_dense(z, zoo_flatten(z, zoo_global_average(z, x)), 1024));
    return zoo_dense(z, x, 1000);
}

/* ---- EfficientNet-Lite */

zoo_value efficientnet_lite0(zoo *z)
{
    static const struct {
        int64_t expand, kernel, stride, channels;
        int count;
    } rows[] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
                {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};
    zoo_value x = zoo_input(z, "input", 4, imagenet);
    x = zoo_relu6(z, zoo_conv_norm(z, x, 32, 3, 2, 1));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int k = 0; k < rows[i].count; k++) {
            const int64_t stride = k == 0 ? rows[i].stride : 1;
            x = zoo_inverted(z, x, rows[i].channels, rows[i].kernel, stride, rows[i].expand);
        }
    }
    return classify(z, zoo_relu6(z, zoo_conv_norm(z, x, 1280, 1, 1, 1)));
}
