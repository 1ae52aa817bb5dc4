/* SPDX-License-Identifier: Apache-2.0
 *
 * Networks that answer for every pixel, every patch, every step of time.
 */
#include <math.h>

#include "nets.h"

/* ---- U-Net */

static zoo_value two_convs(zoo *z, zoo_value x, int64_t channels)
{
    x = zoo_relu(z, zoo_conv_norm(z, x, channels, 3, 1, 1));
    return zoo_relu(z, zoo_conv_norm(z, x, channels, 3, 1, 1));
}

zoo_value unet(zoo *z)
{
    enum { DEPTH = 4, WIDTH = 16, CLASSES = 3 };
    static const int64_t shape[] = {1, 3, 128, 128};
    const zoo_conv_shape last = {.channels = CLASSES, .kernel = 1, .stride = 1, .bias = true};
    zoo_value x = zoo_input(z, "input", 4, shape), skips[DEPTH];
    for (int i = 0; i < DEPTH; i++) {
        skips[i] = two_convs(z, x, (int64_t)WIDTH << i);
        x = zoo_pool(z, "MaxPool", skips[i], 2, 2, 0, false);
    }
    x = two_convs(z, x, (int64_t)WIDTH << DEPTH);
    for (int i = DEPTH; i-- > 0;) {
        const zoo_value parts[] = {skips[i], zoo_conv_transpose(z, x, (int64_t)WIDTH << i, 2)};
        x = two_convs(z, zoo_concat(z, parts, 2), (int64_t)WIDTH << i);
    }
    return zoo_conv(z, x, last);
}

/* ---- DeepLab with a small backbone */

static zoo_value dilated(zoo *z, zoo_value x, int64_t channels, int64_t dilation)
{
    const zoo_conv_shape shape = {
        .channels = channels, .kernel = 3, .stride = 1, .pad = -1, .dilation = dilation};
    return zoo_relu(z, zoo_norm(z, zoo_conv(z, x, shape)));
}

/* What the whole picture says, in every place. */
static zoo_value everywhere(zoo *z, zoo_value x, int64_t channels)
{
    const zoo_value one = zoo_relu(z, zoo_conv_norm(z, zoo_global_average(z, x), channels, 1, 1, 1));
    return zoo_resize(z, one, "linear", x.dim[2], x.dim[3]);
}

zoo_value deeplab(zoo *z)
{
    enum { WIDTH = 64, CLASSES = 21 };
    static const int64_t shape[] = {1, 3, 224, 224};
    static const struct {
        int64_t channels, stride;
    } rows[] = {{16, 1}, {24, 2}, {24, 1}, {32, 2}, {32, 1}, {64, 2}, {64, 1}, {96, 1}};
    const zoo_conv_shape last = {.channels = CLASSES, .kernel = 1, .stride = 1, .bias = true};
    zoo_value x = zoo_input(z, "input", 4, shape), fine = x;
    x = zoo_relu6(z, zoo_conv_norm(z, x, 16, 3, 2, 1));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        x = zoo_inverted(z, x, rows[i].channels, 3, rows[i].stride, i == 0 ? 1 : 6);
        fine = i == 2 ? x : fine;
    }
    const zoo_value scales[] = {zoo_relu(z, zoo_conv_norm(z, x, WIDTH, 1, 1, 1)), dilated(z, x, WIDTH, 6),
                                dilated(z, x, WIDTH, 12), dilated(z, x, WIDTH, 18), everywhere(z, x, WIDTH)};
    x = zoo_relu(z, zoo_conv_norm(z, zoo_concat(z, scales, 5), WIDTH, 1, 1, 1));
    const zoo_value both[] = {zoo_resize(z, x, "linear", fine.dim[2], fine.dim[3]),
                              zoo_relu(z, zoo_conv_norm(z, fine, 32, 1, 1, 1))};
    x = zoo_relu(z, zoo_conv_norm(z, zoo_concat(z, both, 2), WIDTH, 3, 1, 1));
    return zoo_resize(z, zoo_conv(z, x, last), "linear", shape[2], shape[3]);
}

/* ---- vision transformer */

enum { PATCH = 16, WIDTH = 192, HEADS = 3, BLOCKS = 12 };

/* [1, tokens, width] as [1, heads, tokens, width / heads], or with the last two axes turned. */
static zoo_value heads(zoo *z, zoo_value x, bool turned)
{
    static const int64_t by_head[] = {0, 2, 1, 3};
    static const int64_t by_head_turned[] = {0, 2, 3, 1};
    const int64_t apart[] = {1, x.dim[1], HEADS, x.dim[2] / HEADS};
    return zoo_transpose(z, zoo_reshape(z, x, 4, apart), turned ? by_head_turned : by_head);
}

static zoo_value attention(zoo *z, zoo_value x)
{
    static const int64_t back[] = {0, 2, 1, 3};
    static const int64_t none[] = {0};
    const zoo_value q = heads(z, zoo_linear(z, x, WIDTH), false);
    const zoo_value k = heads(z, zoo_linear(z, x, WIDTH), true);
    const zoo_value v = heads(z, zoo_linear(z, x, WIDTH), false);
    const int64_t scores[] = {1, HEADS, x.dim[1], x.dim[1]};
    const zoo_value qk[] = {q, k};
    const zoo_value root = zoo_weight(z, "scale", 0, none, 1.0F / sqrtf((float)WIDTH / HEADS), 0.0F);
    const zoo_value s = zoo_binary(z, "Mul", zoo_node(z, "MatMul", qk, 2, 4, scores), root);
    const zoo_value sv[] = {zoo_unary(z, "Softmax", s), v};
    const zoo_value mixed = zoo_transpose(z, zoo_node(z, "MatMul", sv, 2, 4, v.dim), back);
    return zoo_linear(z, zoo_reshape(z, mixed, 3, x.dim), WIDTH);
}

zoo_value vit_tiny(zoo *z)
{
    static const int64_t shape[] = {1, 3, 224, 224};
    static const int64_t one[] = {1, 1, WIDTH};
    static const int64_t tokens_first[] = {0, 2, 1};
    const zoo_conv_shape patches = {.channels = WIDTH, .kernel = PATCH, .stride = PATCH, .bias = true};
    zoo_value x = zoo_conv(z, zoo_input(z, "input", 4, shape), patches);
    const int64_t row[] = {1, WIDTH, x.dim[2] * x.dim[3]};
    x = zoo_transpose(z, zoo_reshape(z, x, 3, row), tokens_first);
    const zoo_value parts[] = {zoo_weight(z, "class", 3, one, 0.0F, 0.5F), x};
    x = zoo_concat(z, parts, 2);
    x = zoo_add(z, x, zoo_weight(z, "position", 3, x.dim, 0.0F, 0.5F));
    for (int i = 0; i < BLOCKS; i++) {
        x = zoo_add(z, x, attention(z, zoo_layer_norm(z, x)));
        const zoo_value wide = zoo_gelu(z, zoo_linear(z, zoo_layer_norm(z, x), 4 * WIDTH));
        x = zoo_add(z, x, zoo_linear(z, wide, WIDTH));
    }
    x = zoo_layer_norm(z, x);
    const int64_t zero = 0, end = 1, axis = 1;
    const zoo_value slice[] = {x, zoo_ints(z, "begin", 1, &zero), zoo_ints(z, "end", 1, &end),
                               zoo_ints(z, "axis", 1, &axis)};
    x = zoo_node(z, "Slice", slice, 4, 3, one);
    return zoo_dense(z, zoo_reshape(z, x, 2, (int64_t[]){1, WIDTH}), 1000);
}

/* ---- temporal convolutions */

static zoo_value causal(zoo *z, zoo_value x, int64_t channels, int64_t dilation)
{
    const zoo_conv_shape shape = {
        .channels = channels, .kernel = 3, .stride = 1, .dilation = dilation, .bias = true, .causal = true};
    return zoo_relu(z, zoo_conv(z, x, shape));
}

zoo_value tcn(zoo *z)
{
    enum { CHANNELS = 64, LEVELS = 6, CLASSES = 10 };
    static const int64_t shape[] = {1, 16, 256};
    const zoo_conv_shape point = {.channels = CHANNELS, .kernel = 1, .stride = 1, .bias = true};
    const zoo_conv_shape last = {.channels = CLASSES, .kernel = 1, .stride = 1, .bias = true};
    zoo_value x = zoo_input(z, "input", 3, shape);
    for (int i = 0; i < LEVELS; i++) {
        const zoo_value y = causal(z, causal(z, x, CHANNELS, INT64_C(1) << i), CHANNELS, INT64_C(1) << i);
        x = zoo_relu(z, zoo_add(z, y, x.dim[1] == CHANNELS ? x : zoo_conv(z, x, point)));
    }
    return zoo_conv(z, x, last);
}

/* ---- videos */

static zoo_value pool_3d(zoo *z, zoo_value x, int64_t frames)
{
    const int64_t window[] = {frames, 2, 2};
    const int64_t out[] = {x.dim[0], x.dim[1], x.dim[2] / frames, x.dim[3] / 2, x.dim[4] / 2};
    const zoo_value y = zoo_node(z, "MaxPool", &x, 1, 5, out);
    zoo_attr_ints(z, "kernel_shape", 3, window);
    zoo_attr_ints(z, "strides", 3, window);
    return y;
}

zoo_value c3d(zoo *z)
{
    static const int64_t shape[] = {1, 3, 8, 56, 56};
    static const struct {
        int64_t channels, frames; /* frames 0: no pool behind it */
    } rows[] = {{32, 1}, {64, 2}, {128, 0}, {128, 2}, {256, 0}};
    zoo_value x = zoo_input(z, "input", 5, shape);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        x = zoo_conv_relu(z, x, rows[i].channels, 3, 1);
        x = rows[i].frames > 0 ? pool_3d(z, x, rows[i].frames) : x;
    }
    const int64_t one[] = {1, 256, 1, 1, 1};
    return zoo_dense(z, zoo_flatten(z, zoo_node(z, "GlobalAveragePool", &x, 1, 5, one)), 10);
}
