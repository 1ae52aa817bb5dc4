/* SPDX-License-Identifier: Apache-2.0
 *
 * Detectors, up to the numbers that boxes are decoded from.
 */
#include "nets.h"

static const int64_t picture[] = {1, 3, 320, 320};

/* ---- YOLOv5n */

static vtac_zoo_value conv_silu(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t kernel,
                                int64_t stride)
{
    const vtac_zoo_conv_shape shape = {
        .channels = channels, .kernel = kernel, .stride = stride, .pad = -1, .bias = true};
    return vtac_zoo_silu(z, vtac_zoo_conv(z, x, shape));
}

/* Three convolutions around some bottlenecks. */
static vtac_zoo_value c3_block(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int count, bool add)
{
    const int64_t half = channels / 2;
    vtac_zoo_value y = conv_silu(z, x, half, 1, 1);
    for (int i = 0; i < count; i++) {
        const vtac_zoo_value inner = conv_silu(z, conv_silu(z, y, half, 1, 1), half, 3, 1);
        y = add ? vtac_zoo_add(z, y, inner) : inner;
    }
    const vtac_zoo_value parts[] = {y, conv_silu(z, x, half, 1, 1)};
    return conv_silu(z, vtac_zoo_concat(z, parts, 2), channels, 1, 1);
}

/* Maxima over ever larger windows, side by side. */
static vtac_zoo_value pyramid_pool(vtac_zoo *z, vtac_zoo_value x, int64_t channels)
{
    vtac_zoo_value parts[4] = {conv_silu(z, x, x.dim[1] / 2, 1, 1)};
    for (int i = 1; i < 4; i++) {
        parts[i] = vtac_zoo_pool(z, "MaxPool", parts[i - 1], 5, 1, 2, false);
    }
    return conv_silu(z, vtac_zoo_concat(z, parts, 4), channels, 1, 1);
}

static vtac_zoo_value join_values(vtac_zoo *z, vtac_zoo_value a, vtac_zoo_value b)
{
    const vtac_zoo_value parts[] = {a, b};
    return vtac_zoo_concat(z, parts, 2);
}

static vtac_zoo_value twice_as_large(vtac_zoo *z, vtac_zoo_value x)
{
    return vtac_zoo_resize(z, x, "nearest", 2 * x.dim[2], 2 * x.dim[3]);
}

/* Three boxes of 85 numbers in each place: [1, 3, h, w, 85]. */
static vtac_zoo_value yolo_head(vtac_zoo *z, vtac_zoo_value x)
{
    enum { BOXES = 3, NUMBERS = 85 };
    static const int64_t last[] = {0, 1, 3, 4, 2};
    const vtac_zoo_conv_shape shape = {.channels = BOXES * NUMBERS, .kernel = 1, .stride = 1, .bias = true};
    x = vtac_zoo_conv(z, x, shape);
    const int64_t apart[] = {1, BOXES, NUMBERS, x.dim[2], x.dim[3]};
    return vtac_zoo_unary(z, "Sigmoid", vtac_zoo_transpose(z, vtac_zoo_reshape(z, x, 5, apart), last));
}

vtac_zoo_value vtac_zoo_yolov5n(vtac_zoo *z)
{
    const vtac_zoo_conv_shape stem = {.channels = 16, .kernel = 6, .stride = 2, .pad = 2, .bias = true};
    vtac_zoo_value x = vtac_zoo_silu(z, vtac_zoo_conv(z, vtac_zoo_input(z, "input", 4, picture), stem));
    x = c3_block(z, conv_silu(z, x, 32, 3, 2), 32, 1, true);
    const vtac_zoo_value eighth = c3_block(z, conv_silu(z, x, 64, 3, 2), 64, 2, true);
    const vtac_zoo_value sixteenth = c3_block(z, conv_silu(z, eighth, 128, 3, 2), 128, 3, true);
    x = c3_block(z, conv_silu(z, sixteenth, 256, 3, 2), 256, 1, true);
    const vtac_zoo_value deep = conv_silu(z, pyramid_pool(z, x, 256), 128, 1, 1);
    x = c3_block(z, join_values(z, twice_as_large(z, deep), sixteenth), 128, 1, false);
    const vtac_zoo_value middle = conv_silu(z, x, 64, 1, 1);
    x = c3_block(z, join_values(z, twice_as_large(z, middle), eighth), 64, 1, false);
    vtac_zoo_output(z, yolo_head(z, x));
    x = c3_block(z, join_values(z, conv_silu(z, x, 64, 3, 2), middle), 128, 1, false);
    vtac_zoo_output(z, yolo_head(z, x));
    x = c3_block(z, join_values(z, conv_silu(z, x, 128, 3, 2), deep), 256, 1, false);
    return yolo_head(z, x);
}

/* ---- SSD with MobileNetV2 */

enum { LEVELS = 6, WIDTH = 128, ANCHORS = 6, CLASSES = 21, CORNERS = 4 };

/* Predictions of one level: [1, places, numbers]. */
static vtac_zoo_value ssd_head(vtac_zoo *z, vtac_zoo_value x, int64_t numbers)
{
    static const int64_t last[] = {0, 2, 3, 1};
    const vtac_zoo_conv_shape shape = {.channels = ANCHORS * numbers, .kernel = 1, .stride = 1, .bias = true};
    x = vtac_zoo_relu6(z, vtac_zoo_conv_norm(z, x, x.dim[1], 3, 1, -1));
    x = vtac_zoo_conv(z, x, shape);
    const int64_t rows[] = {1, x.dim[2] * x.dim[3] * ANCHORS, numbers};
    return vtac_zoo_reshape(z, vtac_zoo_transpose(z, x, last), 3, rows);
}

/* A level of the pyramid: what comes from above, twice as large, on what the backbone has. */
static vtac_zoo_value lateral_level(vtac_zoo *z, vtac_zoo_value x, const vtac_zoo_value *above)
{
    x = vtac_zoo_conv_norm(z, x, WIDTH, 1, 1, 1);
    return above == NULL ? x : vtac_zoo_add(z, x, twice_as_large(z, *above));
}

vtac_zoo_value vtac_zoo_ssd_mobilenet_v2(vtac_zoo *z)
{
    static const struct {
        int64_t expand, channels;
        int count;
        int64_t stride;
    } rows[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 4, picture), stages[7], level[LEVELS];
    x = vtac_zoo_relu6(z, vtac_zoo_conv_norm(z, x, 32, 3, 2, 1));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int k = 0; k < rows[i].count; k++) {
            x = vtac_zoo_inverted(z, x, rows[i].channels, 3, k == 0 ? rows[i].stride : 1, rows[i].expand);
        }
        stages[i] = x;
    }
    level[2] = lateral_level(z, stages[6], NULL);
    level[1] = lateral_level(z, stages[4], &level[2]);
    level[0] = lateral_level(z, stages[2], &level[1]);
    for (int i = 0; i < LEVELS; i++) {
        level[i] = i < 3 ? vtac_zoo_relu6(z, vtac_zoo_conv_norm(z, level[i], WIDTH, 3, 1, 1))
                         : vtac_zoo_relu6(z, vtac_zoo_conv_norm(z, level[i - 1], WIDTH, 3, 2, 1));
    }
    vtac_zoo_value scores[LEVELS], boxes[LEVELS];
    for (int i = 0; i < LEVELS; i++) {
        scores[i] = ssd_head(z, level[i], CLASSES);
        boxes[i] = ssd_head(z, level[i], CORNERS);
    }
    vtac_zoo_output(z, vtac_zoo_unary(z, "Sigmoid", vtac_zoo_concat(z, scores, LEVELS)));
    return vtac_zoo_concat(z, boxes, LEVELS);
}
