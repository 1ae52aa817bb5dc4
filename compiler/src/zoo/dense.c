/* SPDX-License-Identifier: Apache-2.0
 *
 * Networks that answer for every pixel, every patch, every step of time.
 */
#include <math.h>

#include "nets.h"

/* ---- U-Net */

static vtac_zoo_value two_convs(vtac_zoo *z, vtac_zoo_value x, int64_t channels)
{
    x = vtac_zoo_relu(z, vtac_zoo_conv_norm(z, x, channels, 3, 1, 1));
    return vtac_zoo_relu(z, vtac_zoo_conv_norm(z, x, channels, 3, 1, 1));
}

vtac_zoo_value vtac_zoo_unet(vtac_zoo *z)
{
    enum { DEPTH = 4, WIDTH = 16, CLASSES = 3 };
    static const int64_t shape[] = {1, 3, 128, 128};
    const vtac_zoo_conv_shape last = {.channels = CLASSES, .kernel = 1, .stride = 1, .bias = true};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 4, shape), skips[DEPTH];
    for (int i = 0; i < DEPTH; i++) {
        skips[i] = two_convs(z, x, (int64_t)WIDTH << i);
        x = vtac_zoo_pool(z, "MaxPool", skips[i], 2, 2, 0, false);
    }
    x = two_convs(z, x, (int64_t)WIDTH << DEPTH);
    for (int i = DEPTH; i-- > 0;) {
        const vtac_zoo_value parts[] = {skips[i], vtac_zoo_conv_transpose(z, x, (int64_t)WIDTH << i, 2)};
        x = two_convs(z, vtac_zoo_concat(z, parts, 2), (int64_t)WIDTH << i);
    }
    return vtac_zoo_conv(z, x, last);
}

/* ---- DeepLab with a small backbone */

static vtac_zoo_value dilated_conv(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t dilation)
{
    const vtac_zoo_conv_shape shape = {
        .channels = channels, .kernel = 3, .stride = 1, .pad = -1, .dilation = dilation};
    return vtac_zoo_relu(z, vtac_zoo_norm(z, vtac_zoo_conv(z, x, shape)));
}

/* Spreads the mean of the whole picture to every place. */
static vtac_zoo_value spread_average(vtac_zoo *z, vtac_zoo_value x, int64_t channels)
{
    const vtac_zoo_value one =
        vtac_zoo_relu(z, vtac_zoo_conv_norm(z, vtac_zoo_global_average(z, x), channels, 1, 1, 1));
    return vtac_zoo_resize(z, one, "linear", x.dim[2], x.dim[3]);
}

vtac_zoo_value vtac_zoo_deeplab(vtac_zoo *z)
{
    enum { WIDTH = 64, CLASSES = 21 };
    static const int64_t shape[] = {1, 3, 224, 224};
    static const struct {
        int64_t channels, stride;
    } rows[] = {{16, 1}, {24, 2}, {24, 1}, {32, 2}, {32, 1}, {64, 2}, {64, 1}, {96, 1}};
    const vtac_zoo_conv_shape last = {.channels = CLASSES, .kernel = 1, .stride = 1, .bias = true};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 4, shape), fine = x;
    x = vtac_zoo_relu6(z, vtac_zoo_conv_norm(z, x, 16, 3, 2, 1));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        x = vtac_zoo_inverted(z, x, rows[i].channels, 3, rows[i].stride, i == 0 ? 1 : 6);
        fine = i == 2 ? x : fine;
    }
    const vtac_zoo_value scales[] = {vtac_zoo_relu(z, vtac_zoo_conv_norm(z, x, WIDTH, 1, 1, 1)),
                                     dilated_conv(z, x, WIDTH, 6), dilated_conv(z, x, WIDTH, 12),
                                     dilated_conv(z, x, WIDTH, 18), spread_average(z, x, WIDTH)};
    x = vtac_zoo_relu(z, vtac_zoo_conv_norm(z, vtac_zoo_concat(z, scales, 5), WIDTH, 1, 1, 1));
    const vtac_zoo_value both[] = {vtac_zoo_resize(z, x, "linear", fine.dim[2], fine.dim[3]),
                                   vtac_zoo_relu(z, vtac_zoo_conv_norm(z, fine, 32, 1, 1, 1))};
    x = vtac_zoo_relu(z, vtac_zoo_conv_norm(z, vtac_zoo_concat(z, both, 2), WIDTH, 3, 1, 1));
    return vtac_zoo_resize(z, vtac_zoo_conv(z, x, last), "linear", shape[2], shape[3]);
}

/* ---- vision transformer */

enum { PATCH = 16, WIDTH = 192, HEADS = 3, BLOCKS = 12 };

/* [1, tokens, width] as [1, heads, tokens, width / heads], or with the last two axes turned. */
static vtac_zoo_value split_heads(vtac_zoo *z, vtac_zoo_value x, bool turned)
{
    static const int64_t by_head[] = {0, 2, 1, 3};
    static const int64_t by_head_turned[] = {0, 2, 3, 1};
    const int64_t apart[] = {1, x.dim[1], HEADS, x.dim[2] / HEADS};
    return vtac_zoo_transpose(z, vtac_zoo_reshape(z, x, 4, apart), turned ? by_head_turned : by_head);
}

static vtac_zoo_value self_attention(vtac_zoo *z, vtac_zoo_value x)
{
    static const int64_t back[] = {0, 2, 1, 3};
    static const int64_t none[] = {0};
    const vtac_zoo_value q = split_heads(z, vtac_zoo_linear(z, x, WIDTH), false);
    const vtac_zoo_value k = split_heads(z, vtac_zoo_linear(z, x, WIDTH), true);
    const vtac_zoo_value v = split_heads(z, vtac_zoo_linear(z, x, WIDTH), false);
    const int64_t scores[] = {1, HEADS, x.dim[1], x.dim[1]};
    const vtac_zoo_value qk[] = {q, k};
    const vtac_zoo_value root =
        vtac_zoo_weight(z, "scale", 0, none, 1.0F / sqrtf((float)WIDTH / HEADS), 0.0F);
    const vtac_zoo_value s = vtac_zoo_binary(z, "Mul", vtac_zoo_node(z, "MatMul", qk, 2, 4, scores), root);
    const vtac_zoo_value sv[] = {vtac_zoo_unary(z, "Softmax", s), v};
    const vtac_zoo_value mixed = vtac_zoo_transpose(z, vtac_zoo_node(z, "MatMul", sv, 2, 4, v.dim), back);
    return vtac_zoo_linear(z, vtac_zoo_reshape(z, mixed, 3, x.dim), WIDTH);
}

/* Row `at` of the tokens. */
static vtac_zoo_value take_token(vtac_zoo *z, vtac_zoo_value x, int64_t at)
{
    static const int64_t one[] = {1, 1, WIDTH};
    const int64_t end = at + 1, axis = 1;
    const vtac_zoo_value slice[] = {x, vtac_zoo_ints(z, "begin", 1, &at), vtac_zoo_ints(z, "end", 1, &end),
                                    vtac_zoo_ints(z, "axis", 1, &axis)};
    x = vtac_zoo_node(z, "Slice", slice, 4, 3, one);
    return vtac_zoo_reshape(z, x, 2, (int64_t[]){1, WIDTH});
}

/* The tokens of a picture, behind `more` that are learned: those of the class, and of the teacher's. */
static vtac_zoo_value see_patches(vtac_zoo *z, uint32_t more)
{
    static const int64_t shape[] = {1, 3, 224, 224};
    static const int64_t one[] = {1, 1, WIDTH};
    static const int64_t tokens_first[] = {0, 2, 1};
    const vtac_zoo_conv_shape patches = {.channels = WIDTH, .kernel = PATCH, .stride = PATCH, .bias = true};
    vtac_zoo_value x = vtac_zoo_conv(z, vtac_zoo_input(z, "input", 4, shape), patches);
    const int64_t row[] = {1, WIDTH, x.dim[2] * x.dim[3]};
    x = vtac_zoo_transpose(z, vtac_zoo_reshape(z, x, 3, row), tokens_first);
    vtac_zoo_value parts[3] = {vtac_zoo_weight(z, "class", 3, one, 0.0F, 0.5F)};
    if (more > 1) {
        parts[1] = vtac_zoo_weight(z, "teacher", 3, one, 0.0F, 0.5F);
    }
    parts[more] = x;
    x = vtac_zoo_concat(z, parts, more + 1);
    x = vtac_zoo_add(z, x, vtac_zoo_weight(z, "position", 3, x.dim, 0.0F, 0.5F));
    for (int i = 0; i < BLOCKS; i++) {
        x = vtac_zoo_add(z, x, self_attention(z, vtac_zoo_layer_norm(z, x)));
        const vtac_zoo_value wide =
            vtac_zoo_gelu(z, vtac_zoo_linear(z, vtac_zoo_layer_norm(z, x), 4 * WIDTH));
        x = vtac_zoo_add(z, x, vtac_zoo_linear(z, wide, WIDTH));
    }
    return vtac_zoo_layer_norm(z, x);
}

vtac_zoo_value vtac_zoo_vit_tiny(vtac_zoo *z)
{
    return vtac_zoo_dense(z, take_token(z, see_patches(z, 1), 0), 1000);
}

/* The answer is the mean of two: of the class, and of what a teacher said. */
vtac_zoo_value vtac_zoo_deit_tiny(vtac_zoo *z)
{
    static const int64_t none[] = {0};
    const vtac_zoo_value x = see_patches(z, 2);
    const vtac_zoo_value own = vtac_zoo_dense(z, take_token(z, x, 0), 1000);
    const vtac_zoo_value both = vtac_zoo_add(z, own, vtac_zoo_dense(z, take_token(z, x, 1), 1000));
    return vtac_zoo_binary(z, "Div", both, vtac_zoo_weight(z, "two", 0, none, 2.0F, 0.0F));
}

/* ---- temporal convolutions */

static vtac_zoo_value causal_conv(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t dilation)
{
    const vtac_zoo_conv_shape shape = {
        .channels = channels, .kernel = 3, .stride = 1, .dilation = dilation, .bias = true, .causal = true};
    return vtac_zoo_relu(z, vtac_zoo_conv(z, x, shape));
}

vtac_zoo_value vtac_zoo_tcn(vtac_zoo *z)
{
    enum { CHANNELS = 64, LEVELS = 6, CLASSES = 10 };
    static const int64_t shape[] = {1, 16, 256};
    const vtac_zoo_conv_shape point = {.channels = CHANNELS, .kernel = 1, .stride = 1, .bias = true};
    const vtac_zoo_conv_shape last = {.channels = CLASSES, .kernel = 1, .stride = 1, .bias = true};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 3, shape);
    for (int i = 0; i < LEVELS; i++) {
        const vtac_zoo_value y =
            causal_conv(z, causal_conv(z, x, CHANNELS, INT64_C(1) << i), CHANNELS, INT64_C(1) << i);
        x = vtac_zoo_relu(z, vtac_zoo_add(z, y, x.dim[1] == CHANNELS ? x : vtac_zoo_conv(z, x, point)));
    }
    return vtac_zoo_conv(z, x, last);
}

/* ---- videos */

static vtac_zoo_value pool_3d(vtac_zoo *z, vtac_zoo_value x, int64_t frames)
{
    const int64_t window[] = {frames, 2, 2};
    const int64_t out[] = {x.dim[0], x.dim[1], x.dim[2] / frames, x.dim[3] / 2, x.dim[4] / 2};
    const vtac_zoo_value y = vtac_zoo_node(z, "MaxPool", &x, 1, 5, out);
    vtac_zoo_attr_ints(z, "kernel_shape", 3, window);
    vtac_zoo_attr_ints(z, "strides", 3, window);
    return y;
}

vtac_zoo_value vtac_zoo_c3d(vtac_zoo *z)
{
    static const int64_t shape[] = {1, 3, 8, 56, 56};
    static const struct {
        int64_t channels, frames; /* frames 0: no pool behind it */
    } rows[] = {{32, 1}, {64, 2}, {128, 0}, {128, 2}, {256, 0}};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 5, shape);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        x = vtac_zoo_conv_relu(z, x, rows[i].channels, 3, 1);
        x = rows[i].frames > 0 ? pool_3d(z, x, rows[i].frames) : x;
    }
    const int64_t one[] = {1, 256, 1, 1, 1};
    return vtac_zoo_dense(z, vtac_zoo_flatten(z, vtac_zoo_node(z, "GlobalAveragePool", &x, 1, 5, one)), 10);
}
