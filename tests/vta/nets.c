/* SPDX-License-Identifier: Apache-2.0
 *
 * The shapes of well-known networks, with random weights: what the scheduler is judged by before there is a
 * model.
 */
#include <string.h>

#include "nets.h"

static uint32_t conv(lab_region *lab, uint32_t in, int64_t channels, int64_t kernel, int64_t stride)
{
    const lab_conv how = {
        .channels = channels, .groups = 1, .window = lab_window(kernel, stride, kernel / 2)};
    return lab_add_conv(lab, in, &how);
}

static uint32_t depthwise(lab_region *lab, uint32_t in, int64_t stride)
{
    const int64_t channels = lab->tensors[in].c;
    const lab_conv how = {.channels = channels, .groups = channels, .window = lab_window(3, stride, 1)};
    return lab_add_conv(lab, in, &how);
}

static uint32_t pool(lab_region *lab, uint32_t in, int64_t pad)
{
    const vtac_vta_window window = lab_window(3, 2, pad);
    return lab_add_max(lab, in, &window);
}

static uint32_t mean(lab_region *lab, uint32_t in)
{
    const vtac_vta_window window = lab_window(lab->tensors[in].h, 1, 0);
    return lab_add_average(lab, in, &window, &window);
}

static void resnet18(lab_region *lab)
{
    uint32_t x = pool(lab, conv(lab, lab_input(lab, 1, 3, 224, 224), 64, 7, 2), 1);
    for (int64_t channels = 64; channels <= 512; channels *= 2) {
        for (int64_t block = 0; block < 2; block++) {
            const bool down = channels > 64 && block == 0;
            const uint32_t main = conv(lab, conv(lab, x, channels, 3, down ? 2 : 1), channels, 3, 1);
            const uint32_t side = down ? conv(lab, x, channels, 1, 2) : x;
            x = lab_add_sum(lab, main, side);
        }
    }
    (void)conv(lab, mean(lab, x), 1000, 1, 1);
}

static void resnet50(lab_region *lab)
{
    static const int64_t depths[] = {3, 4, 6, 3};
    uint32_t x = pool(lab, conv(lab, lab_input(lab, 1, 3, 224, 224), 64, 7, 2), 1);
    for (int stage = 0; stage < 4; stage++) {
        const int64_t channels = INT64_C(64) << stage;
        for (int64_t block = 0; block < depths[stage]; block++) {
            const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
            const uint32_t narrow = conv(lab, conv(lab, x, channels, 1, 1), channels, 3, stride);
            const uint32_t main = conv(lab, narrow, 4 * channels, 1, 1);
            const uint32_t side = block == 0 ? conv(lab, x, 4 * channels, 1, stride) : x;
            x = lab_add_sum(lab, main, side);
        }
    }
    (void)conv(lab, mean(lab, x), 1000, 1, 1);
}

static void mobilenetv2(lab_region *lab)
{
    static const struct {
        int64_t expand, channels, count, stride;
    } rows[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    uint32_t x = conv(lab, lab_input(lab, 1, 3, 224, 224), 32, 3, 2);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        for (int64_t i = 0; i < rows[r].count; i++) {
            const int64_t stride = i == 0 ? rows[r].stride : 1, wide = lab->tensors[x].c * rows[r].expand;
            const uint32_t wider = rows[r].expand > 1 ? conv(lab, x, wide, 1, 1) : x;
            const uint32_t y = conv(lab, depthwise(lab, wider, stride), rows[r].channels, 1, 1);
            x = i > 0 ? lab_add_sum(lab, y, x) : y;
        }
    }
    (void)conv(lab, mean(lab, conv(lab, x, 1280, 1, 1)), 1000, 1, 1);
}

static void squeezenet(lab_region *lab)
{
    const lab_conv first = {.channels = 64, .groups = 1, .window = lab_window(3, 2, 0)};
    uint32_t x = pool(lab, lab_add_conv(lab, lab_input(lab, 1, 3, 224, 224), &first), 0);
    for (int64_t fire = 0; fire < 8; fire++) {
        const int64_t squeeze = 16 * (fire / 2 + 1);
        x = fire == 2 || fire == 4 ? pool(lab, x, 0) : x;
        const uint32_t narrow = conv(lab, x, squeeze, 1, 1);
        const uint32_t parts[] = {conv(lab, narrow, 4 * squeeze, 1, 1), conv(lab, narrow, 4 * squeeze, 3, 1)};
        x = lab_add_concat(lab, parts, 2, true);
    }
    (void)mean(lab, conv(lab, x, 1000, 1, 1));
}

const lab_net lab_nets[] = {{"resnet18", resnet18, 7300000},
                            {"resnet50", resnet50, 17000000},
                            {"mobilenetv2", mobilenetv2, 1700000},
                            {"squeezenet", squeezenet, 1600000}};
const uint32_t lab_net_count = sizeof lab_nets / sizeof lab_nets[0];

const lab_net *lab_net_named(const char *name)
{
    for (uint32_t i = 0; i < lab_net_count; i++) {
        if (strcmp(lab_nets[i].name, name) == 0) {
            return &lab_nets[i];
        }
    }
    return NULL;
}
