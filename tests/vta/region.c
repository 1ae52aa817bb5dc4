/* SPDX-License-Identifier: Apache-2.0
 *
 * Regions, made up.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"
#include "vta/number.h"

static void *take(lab_region *lab, size_t count, size_t size)
{
    void *memory = vta_arena_array(&lab->arena, count, size);
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

void lab_init(lab_region *lab, uint64_t seed)
{
    *lab = (lab_region){.random = {seed}};
    lab->region = (vtac_vta_region){.name = "made up", .tensors = lab->tensors, .layers = lab->layers};
}

void lab_free(lab_region *lab)
{
    vta_arena_free(&lab->arena);
    *lab = (lab_region){0};
}

static uint32_t add_tensor(lab_region *lab, vtac_vta_role role, int64_t n, int64_t c, int64_t h, int64_t w)
{
    const uint32_t index = lab->region.tensor_count++;
    if (index >= LAB_TENSORS) {
        fprintf(stderr, "more than %d tensors\n", LAB_TENSORS);
        exit(1);
    }
    char *name = take(lab, 16, 1);
    (void)snprintf(name, 16, "t%u", index);
    lab->tensors[index] = (vtac_vta_tensor){.name = name,
                                            .role = role,
                                            .n = n,
                                            .c = c,
                                            .h = h,
                                            .w = w,
                                            .zero = (int32_t)rng_between(&lab->random, -128, 127),
                                            .value = index};
    return index;
}

uint32_t lab_input(lab_region *lab, int64_t n, int64_t c, int64_t h, int64_t w)
{
    return add_tensor(lab, VTAC_VTA_INPUT, n, c, h, w);
}

static vtac_vta_layer *add_layer(lab_region *lab, vtac_vta_kind kind, const char *op, const uint32_t *inputs,
                                 uint32_t input_count, uint32_t output)
{
    const uint32_t number = lab->region.layer_count++;
    if (number >= LAB_LAYERS) {
        fprintf(stderr, "more than %d layers\n", LAB_LAYERS);
        exit(1);
    }
    uint32_t *copy = take(lab, input_count, sizeof *copy);
    memcpy(copy, inputs, input_count * sizeof *copy);
    char *name = take(lab, 32, 1);
    (void)snprintf(name, 32, "%s%u", op, number);
    lab->layers[number] = (vtac_vta_layer){.kind = kind,
                                           .name = name,
                                           .op = op,
                                           .node = number,
                                           .input_count = input_count,
                                           .inputs = copy,
                                           .output = output,
                                           .groups = 1,
                                           .low = -128,
                                           .high = 127};
    return &lab->layers[number];
}

vtac_vta_window lab_window(int64_t kernel, int64_t stride, int64_t pad)
{
    return (vtac_vta_window){.kernel = {kernel, kernel},
                             .stride = {stride, stride},
                             .dilation = {1, 1},
                             .before = {pad, pad},
                             .after = {pad, pad}};
}

static int64_t out_size(int64_t size, const vtac_vta_window *w, int d)
{
    return (size + w->before[d] + w->after[d] - (w->kernel[d] - 1) * w->dilation[d] - 1) / w->stride[d] + 1;
}

/* A scale that maps sums of about `spread` to most of int8, and odd ones now and then. */
static vtac_fixed draw_scale(lab_region *lab, double spread)
{
    vtac_fixed scale;
    const double noise = 0.5 + rng_below(&lab->random, 1000) / 500.0;
    const bool odd = rng_percent(&lab->random, 3);
    if (!vtac_fixed_of((float)(odd ? noise : 60.0 * noise / spread), &scale)) {
        scale = (vtac_fixed){1, 0};
    }
    return scale;
}

/* Multipliers of 31 bits and another rounding, now and then. The value of a scale stays about what it is. */
static void draw_rounding(lab_region *lab, vtac_vta_layer *layer, vtac_fixed *scales, size_t count)
{
    enum { MORE_BITS = 7, MAX_SHIFT = 56 };
    if (!lab->varied || rng_percent(&lab->random, 55)) {
        return;
    }
    layer->wide = true;
    layer->rounding = (vta_rounding)rng_below(&lab->random, VTA_ROUND_COUNT);
    for (size_t i = 0; i < count; i++) {
        if (scales[i].shift <= MAX_SHIFT) {
            scales[i] = (vtac_fixed){scales[i].mult << MORE_BITS | rng_below(&lab->random, 1U << MORE_BITS),
                                     scales[i].shift + MORE_BITS};
        }
    }
}

static void draw_clamp(lab_region *lab, vtac_vta_layer *layer)
{
    if (rng_percent(&lab->random, 50)) {
        layer->low = (int32_t)rng_between(&lab->random, -128, 0);
        layer->high = (int32_t)rng_between(&lab->random, layer->low, 127);
        layer->high = layer->high < 20 ? 127 : layer->high;
    }
}

/* Weights that are numbers of four bits times a factor for each block of inputs, now and then. */
static bool draw_factors(lab_region *lab, const lab_conv *how, int8_t *weights, int64_t row)
{
    enum { BLOCK = 32, MAX_FACTOR = 18 };
    const bool point = how->window.kernel[0] * how->window.kernel[1] == 1 && how->groups == 1;
    if (!lab->narrow || !point || row <= BLOCK || rng_percent(&lab->random, 15)) {
        return false;
    }
    const int64_t block = (int64_t)BLOCK << rng_below(&lab->random, 3);
    for (int64_t i = 0; i < how->channels * row; i += vta_min(block, row - i % row)) {
        const int32_t factor = (int32_t)rng_between(&lab->random, 1, MAX_FACTOR);
        for (int64_t k = i; k < i + vta_min(block, row - i % row); k++) {
            weights[k] = (int8_t)(factor * (int32_t)rng_between(&lab->random, -7, 7));
        }
    }
    return true;
}

uint32_t lab_add_conv(lab_region *lab, uint32_t input, const lab_conv *how)
{
    const vtac_vta_tensor *in = &lab->tensors[input];
    const uint32_t output = add_tensor(lab, VTAC_VTA_INTERNAL, in->n, how->channels,
                                       out_size(in->h, &how->window, 0), out_size(in->w, &how->window, 1));
    vtac_vta_layer *layer = add_layer(lab, VTAC_VTA_CONV, "conv", &input, 1, output);
    const int64_t row = in->c / how->groups * how->window.kernel[0] * how->window.kernel[1];
    const size_t channels = (size_t)how->channels;
    int8_t *weights = take(lab, channels * (size_t)row, 1);
    int32_t *zero = take(lab, channels, sizeof *zero), *bias = take(lab, channels, sizeof *bias);
    vtac_fixed *scales = take(lab, channels, sizeof *scales);
    const bool narrow = lab->narrow && rng_percent(&lab->random, 70);
    const int32_t low = narrow ? -6 : -128, high = narrow ? 6 : 127;
    const double spread = (narrow ? 3.8 : 74.0) * 80.0 * sqrt((double)row);
    for (size_t o = 0; o < channels; o++) {
        for (int64_t k = 0; k < row; k++) {
            weights[(int64_t)o * row + k] = (int8_t)rng_between(&lab->random, low, high);
        }
        zero[o] = (int32_t)rng_between(&lab->random, narrow ? -1 : low, narrow ? 2 : high);
        bias[o] = (int32_t)rng_between(&lab->random, (int64_t)-spread, (int64_t)spread);
        scales[o] = draw_scale(lab, spread);
    }
    const bool factored = draw_factors(lab, how, weights, row);
    layer->window = how->window;
    layer->groups = how->groups;
    layer->weights = weights;
    layer->weight_zero = how->weight_zero && !factored ? zero : NULL;
    layer->bias = how->no_bias ? NULL : bias;
    layer->scales = scales;
    draw_rounding(lab, layer, scales, channels);
    draw_clamp(lab, layer);
    return output;
}

/* A layer whose output has the shape of `like`, with one scale that suits values of about `spread`. */
static uint32_t add_simple(lab_region *lab, vtac_vta_kind kind, const char *op, const uint32_t *inputs,
                           uint32_t count, vtac_vta_tensor like, double spread)
{
    const uint32_t output = add_tensor(lab, VTAC_VTA_INTERNAL, like.n, like.c, like.h, like.w);
    vtac_vta_layer *layer = add_layer(lab, kind, op, inputs, count, output);
    vtac_fixed *scales = take(lab, count, sizeof *scales);
    for (uint32_t k = 0; k < count; k++) {
        scales[k] = draw_scale(lab, spread);
    }
    layer->scales = scales;
    if (kind == VTAC_VTA_MUL || kind == VTAC_VTA_RESCALE) {
        draw_rounding(lab, layer, scales, count);
    }
    draw_clamp(lab, layer);
    return output;
}

static void keep_zero(lab_region *lab, uint32_t input, uint32_t output)
{
    lab->tensors[output].zero = lab->tensors[input].zero;
}

static uint32_t add_pool(lab_region *lab, vtac_vta_kind kind, uint32_t input, const vtac_vta_window *window)
{
    vtac_vta_tensor like = lab->tensors[input];
    like.h = out_size(like.h, window, 0);
    like.w = out_size(like.w, window, 1);
    const double taps = (double)(window->kernel[0] * window->kernel[1]);
    const uint32_t output = add_simple(lab, kind, kind == VTAC_VTA_MAX_POOL ? "maxpool" : "avgpool", &input,
                                       1, like, 80.0 * sqrt(taps));
    lab->layers[lab->region.layer_count - 1].window = *window;
    return output;
}

uint32_t lab_add_max(lab_region *lab, uint32_t input, const vtac_vta_window *window)
{
    const uint32_t output = add_pool(lab, VTAC_VTA_MAX_POOL, input, window);
    keep_zero(lab, input, output);
    return output;
}

uint32_t lab_add_average(lab_region *lab, uint32_t input, const vtac_vta_window *window,
                         const vtac_vta_window *counted)
{
    const uint32_t output = add_pool(lab, VTAC_VTA_AVG_POOL, input, window);
    const vtac_vta_tensor *to = &lab->tensors[output];
    vtac_vta_layer *layer = &lab->layers[lab->region.layer_count - 1];
    const size_t max = (size_t)(window->kernel[0] * window->kernel[1] + 1);
    int64_t *divisors = take(lab, max, sizeof *divisors);
    vtac_fixed *scales = take(lab, max, sizeof *scales);
    bool *found = take(lab, max, sizeof *found);
    for (int d = 0; d < 2; d++) {
        layer->counted_before[d] = counted->before[d];
        layer->counted_after[d] = counted->after[d];
    }
    for (int64_t i = 0; i < to->h * to->w; i++) {
        const int64_t elements = lab_elements(lab, layer, i / to->w, i % to->w);
        if (!found[elements]) {
            found[elements] = true;
            scales[layer->divisor_count] = draw_scale(lab, 80.0 * sqrt((double)elements + 1.0));
            divisors[layer->divisor_count++] = elements;
        }
    }
    layer->divisors = divisors;
    layer->scales = scales;
    draw_rounding(lab, layer, scales, layer->divisor_count);
    if (layer->wide) {
        int32_t *bias = take(lab, max, sizeof *bias);
        for (uint32_t i = 0; i < layer->divisor_count; i++) {
            bias[i] = (int32_t)rng_between(&lab->random, -1000, 1000);
        }
        layer->bias = bias;
        layer->more_times = rng_percent(&lab->random, 50) ? 0 : (int32_t)rng_between(&lab->random, 1, 126);
        layer->zero_less = to->zero - (int32_t)rng_between(&lab->random, -128, 127);
    }
    return output;
}

static const int8_t *draw_table(lab_region *lab)
{
    enum { NUMBERS = 256 };
    int8_t *table = take(lab, NUMBERS, 1);
    for (int i = 0; i < NUMBERS; i++) {
        table[i] = (int8_t)rng_between(&lab->random, -128, 127);
    }
    return table;
}

uint32_t lab_add_sum(lab_region *lab, uint32_t a, uint32_t b)
{
    const uint32_t output =
        add_simple(lab, VTAC_VTA_ADD, "add", (const uint32_t[]){a, b}, 2, lab->tensors[a], 1);
    const float sa = 0.01F + (float)rng_below(&lab->random, 1000) / 1000.0F;
    const float sb = 0.01F + (float)rng_below(&lab->random, 1000) / 1000.0F;
    const bool same = rng_percent(&lab->random, 20);
    vtac_vta_layer *layer = &lab->layers[lab->region.layer_count - 1];
    (void)vtac_fixed_sum_of(sa, same ? sa : sb, sa + sb, &layer->sum);
    vtac_fixed *scale = take(lab, 1, sizeof *scale);
    *scale = (vtac_fixed){(1U << 23) + rng_below(&lab->random, 1U << 20), layer->sum.shift + 23};
    draw_rounding(lab, layer, scale, 1);
    if (layer->wide) {
        int32_t *bias = take(lab, 1, sizeof *bias);
        *bias = (int32_t)rng_between(&lab->random, -1000000, 1000000);
        layer->bias = bias;
        layer->scales = scale;
    }
    if (layer->wide && rng_percent(&lab->random, 40)) {
        layer->table = draw_table(lab);
        layer->corrected = rng_below(&lab->random, 2);
    }
    return output;
}

uint32_t lab_add_product(lab_region *lab, uint32_t a, uint32_t b)
{
    return add_simple(lab, VTAC_VTA_MUL, "mul", (const uint32_t[]){a, b}, 2, lab->tensors[a], 74.0 * 74.0);
}

uint32_t lab_add_choice(lab_region *lab, uint32_t a, uint32_t b, bool min)
{
    lab->tensors[b].zero = lab->tensors[a].zero;
    const uint32_t output =
        add_simple(lab, VTAC_VTA_CHOOSE, "choose", (const uint32_t[]){a, b}, 2, lab->tensors[a], 1);
    lab->layers[lab->region.layer_count - 1].min = min;
    keep_zero(lab, a, output);
    return output;
}

uint32_t lab_add_rescale(lab_region *lab, uint32_t input)
{
    return add_simple(lab, VTAC_VTA_RESCALE, "rescale", &input, 1, lab->tensors[input], 74.0);
}

uint32_t lab_add_table(lab_region *lab, uint32_t input)
{
    const uint32_t output = add_simple(lab, VTAC_VTA_TABLE, "table", &input, 1, lab->tensors[input], 74.0);
    lab->layers[lab->region.layer_count - 1].table = draw_table(lab);
    return output;
}

void lab_put_table(lab_region *lab, vtac_vta_layer *layer)
{
    layer->behind = draw_table(lab);
    layer->between = layer->zero_less + (int32_t)rng_between(&lab->random, -128, 127);
}

uint32_t lab_add_concat(lab_region *lab, const uint32_t *inputs, uint32_t count, bool alike)
{
    vtac_vta_tensor like = lab->tensors[inputs[0]];
    for (uint32_t k = 1; k < count; k++) {
        like.c += lab->tensors[inputs[k]].c;
    }
    const uint32_t output = add_simple(lab, VTAC_VTA_CONCAT, "concat", inputs, count, like, 74.0);
    vtac_vta_layer *layer = &lab->layers[lab->region.layer_count - 1];
    vtac_fixed *scales = take(lab, count, sizeof *scales);
    for (uint32_t k = 0; alike && k < count; k++) {
        scales[k] = (vtac_fixed){1U << 23, 23};
        if (lab->tensors[inputs[k]].role == VTAC_VTA_INTERNAL) {
            lab->tensors[inputs[k]].zero = lab->tensors[output].zero;
        }
    }
    if (alike) {
        layer->scales = scales;
        layer->low = INT8_MIN;
        layer->high = INT8_MAX;
    }
    return output;
}

uint32_t lab_add_pixels(lab_region *lab, const uint32_t *inputs, uint32_t count)
{
    vtac_vta_tensor like = lab->tensors[inputs[0]];
    for (uint32_t k = 1; k < count; k++) {
        like.h += lab->tensors[inputs[k]].h;
    }
    const uint32_t output = add_simple(lab, VTAC_VTA_CONCAT, "pixels", inputs, count, like, 74.0);
    lab->layers[lab->region.layer_count - 1].by_pixels = true;
    return output;
}

uint32_t lab_add_softmax(lab_region *lab, uint32_t input)
{
    return lab_add_heads(lab, input, 1, lab->tensors[input].c);
}

uint32_t lab_add_heads(lab_region *lab, uint32_t input, int64_t heads, int64_t numbers)
{
    const uint32_t output = add_simple(lab, VTAC_VTA_SOFTMAX, "softmax", &input, 1, lab->tensors[input], 1.0);
    vtac_vta_layer *layer = &lab->layers[lab->region.layer_count - 1];
    if (numbers < lab->tensors[input].c) { /* what is beside the numbers must be 0 */
        layer->low = INT8_MIN;
        layer->high = INT8_MAX;
    }
    vtac_softmax *softmax = take(lab, 1, sizeof *softmax);
    const float octaves = ldexpf(1.0F, (int)rng_between(&lab->random, -7, 0));
    const float scale = rng_percent(&lab->random, 50) ? 1.0F / 256 : octaves / 100;
    const bool linear = rng_percent(&lab->random, 30), has_signs = rng_percent(&lab->random, 50);
    const vtac_softmax_want want = {.n = numbers,
                                    .x_scale = octaves * 0.7F,
                                    .y_scale = scale,
                                    .y_zero = -128,
                                    .y_low = layer->low,
                                    .y_high = layer->high,
                                    .linear = linear,
                                    .x_zero = has_signs ? (int32_t)rng_between(&lab->random, -50, 50) : -128};
    if (!vtac_softmax_of(&want, softmax)) {
        fprintf(stderr, "no softmax\n");
        exit(1);
    }
    layer->softmax = softmax;
    layer->groups = heads;
    lab->tensors[output].zero = -128;
    return output;
}

void lab_put_mask(lab_region *lab, bool of_pixels, bool of_heads)
{
    vtac_vta_layer *layer = &lab->layers[lab->region.layer_count - 1];
    const vtac_vta_tensor *to = &lab->tensors[layer->output];
    if (layer->softmax->linear) { /* it takes none */
        return;
    }
    uint32_t *inputs = take(lab, 2, sizeof *inputs);
    inputs[0] = layer->inputs[0];
    inputs[1] =
        add_tensor(lab, VTAC_VTA_INPUT, rng_percent(&lab->random, 50) ? to->n : 1,
                   of_heads ? to->c : to->c / layer->groups, of_pixels ? to->h : 1, of_pixels ? to->w : 1);
    lab->tensors[inputs[1]].zero = 0;
    layer->inputs = inputs;
    layer->input_count = 2;
}

uint32_t lab_add_transpose(lab_region *lab, uint32_t input, int64_t channels)
{
    vtac_vta_tensor like = lab->tensors[input];
    like.h = 1;
    like.w = like.c;
    like.c = channels;
    const uint32_t output = add_simple(lab, VTAC_VTA_TRANSPOSE, "transpose", &input, 1, like, 1.0);
    keep_zero(lab, input, output);
    return output;
}

uint32_t lab_add_product_of(lab_region *lab, uint32_t input, uint32_t weights, int64_t heads,
                            int64_t channels)
{
    const uint32_t inputs[] = {input, weights};
    vtac_vta_tensor like = lab->tensors[input];
    like.c = channels;
    lab->tensors[weights].zero = 0;
    const double terms = (double)(lab->tensors[input].c / heads);
    const uint32_t output = add_simple(lab, VTAC_VTA_CONV, "product", inputs, 2, like, 1.0);
    vtac_vta_layer *layer = &lab->layers[lab->region.layer_count - 1];
    vtac_fixed *scales = take(lab, (size_t)channels, sizeof *scales);
    const vtac_fixed scale = draw_scale(lab, 74.0 * 74.0 * sqrt(terms));
    for (int64_t o = 0; o < channels; o++) {
        scales[o] = scale;
    }
    layer->scales = scales;
    layer->window = lab_window(1, 1, 0);
    layer->groups = heads;
    layer->planes = 1;
    layer->image = true;
    return output;
}

uint32_t lab_add_norm(lab_region *lab, uint32_t input)
{
    rng *r = &lab->random;
    const uint32_t output = add_simple(lab, VTAC_VTA_NORM, "norm", &input, 1, lab->tensors[input], 1.0);
    vtac_vta_layer *layer = &lab->layers[lab->region.layer_count - 1];
    const size_t n = (size_t)lab->tensors[input].c;
    vtac_norm *norm = take(lab, 1, sizeof *norm);
    vtac_norm_column *columns = take(lab, n, sizeof *columns);
    float *gain = take(lab, n, sizeof *gain), *bias = take(lab, n, sizeof *bias);
    const bool plain = rng_percent(r, 40);
    for (size_t i = 0; i < n; i++) {
        gain[i] = plain ? 1.0F : (float)rng_between(r, -200, 400) / 100;
        bias[i] = (float)rng_between(r, -100, 100) / 50;
    }
    const vtac_norm_want want = {.n = (int32_t)n,
                                 .centered = rng_percent(r, 60),
                                 .epsilon = rng_percent(r, 50) ? 1e-5 : 1e-3,
                                 .gain = gain,
                                 .bias = bias,
                                 .x_scale = (float)rng_between(r, 1, 100) / 1000,
                                 .y_scale = (float)rng_between(r, 20, 60) / 1000,
                                 .x_zero = lab->tensors[input].zero,
                                 .y_zero = lab->tensors[output].zero,
                                 .y_low = layer->low,
                                 .y_high = layer->high};
    if (!vtac_norm_of(&want, columns, norm)) {
        fprintf(stderr, "no normalization\n");
        exit(1);
    }
    layer->norm = norm;
    return output;
}

uint32_t lab_add_planes(lab_region *lab, uint32_t input, int64_t channels)
{
    rng *r = &lab->random;
    const uint32_t output = add_simple(lab, VTAC_VTA_PLANES, "planes", &input, 1, lab->tensors[input], 1.0);
    const vtac_vta_layer *layer = &lab->layers[lab->region.layer_count - 1];
    const vtac_vta_tensor *to = &lab->tensors[output];
    vtac_planes *planes = take(lab, 1, sizeof *planes);
    vtac_planes_channel *channel = take(lab, (size_t)to->c, sizeof *channel);
    float *gain = take(lab, (size_t)to->c, sizeof *gain), *bias = take(lab, (size_t)to->c, sizeof *bias);
    const bool plain = rng_percent(r, 40);
    for (int64_t i = 0; i < to->c; i++) {
        gain[i] = plain ? 1.0F : rng_percent(r, 4) ? 0.0F : (float)rng_between(r, -200, 400) / 100;
        bias[i] = plain ? 0.0F : (float)rng_between(r, -100, 100) / 50;
    }
    const vtac_planes_want want = {.pixels = to->h * to->w,
                                   .channels = (int32_t)to->c,
                                   .groups = (int32_t)(to->c / channels),
                                   .epsilon = rng_percent(r, 50) ? 1e-5 : 1e-3,
                                   .gain = gain,
                                   .bias = bias,
                                   .x_scale = (float)rng_between(r, 1, 100) / 1000,
                                   .y_scale = (float)rng_between(r, 20, 60) / 1000,
                                   .y_zero = to->zero,
                                   .y_low = layer->low,
                                   .y_high = layer->high};
    if (!vtac_planes_of(&want, channel, planes)) {
        fprintf(stderr, "no normalization of planes\n");
        exit(1);
    }
    lab->layers[lab->region.layer_count - 1].plane_norm = planes;
    return output;
}

uint32_t lab_add_resize(lab_region *lab, uint32_t input, int64_t rows, int64_t cols)
{
    vtac_vta_tensor like = lab->tensors[input];
    like.h *= rows;
    like.w *= cols;
    const uint32_t output = add_simple(lab, VTAC_VTA_RESIZE, "resize", &input, 1, like, 74.0);
    lab->layers[lab->region.layer_count - 1].window = (vtac_vta_window){
        .kernel = {1, 1}, .stride = {rows, cols}, .dilation = {1, 1}, .before = {0, 0}, .after = {0, 0}};
    keep_zero(lab, input, output);
    return output;
}

/* Draws the next tiles of a run: of a block that has at least `lanes` channels; input -1: none has. */
static vtac_vta_run draw_run(lab_region *lab, const uint32_t *inputs, uint32_t count, int64_t lanes)
{
    rng *r = &lab->random;
    const uint32_t k = rng_below(r, count);
    const vtac_vta_tensor *t = &lab->tensors[inputs[k]];
    const int64_t blocks = vta_ceil_div(t->c, lab->block), pixels = t->h * t->w;
    const int64_t block = rng_between(r, 0, blocks - 1), image = rng_between(r, 0, t->n - 1);
    const int64_t first = rng_between(r, 0, pixels - 1);
    if (t->c - block * lab->block < lanes || rng_percent(r, 10)) {
        return (vtac_vta_run){-1, 0, 1 + rng_below(r, 9)};
    }
    return (vtac_vta_run){k, (image * blocks + block) * pixels + first, rng_between(r, 1, pixels - first)};
}

/* Fills the pixels of an output block; returns the number of runs. */
static uint32_t draw_runs(lab_region *lab, const uint32_t *inputs, uint32_t count, const int64_t size[2],
                          vtac_vta_run *runs)
{
    uint32_t made = 0;
    for (int64_t left = size[0]; left > 0;) {
        const vtac_vta_run one = draw_run(lab, inputs, count, size[1]);
        const int64_t parts = one.input < 0 ? 1 : rng_between(&lab->random, 1, vta_min(4, one.count));
        const int64_t each = one.count / parts, pitch = each - (parts > 1 && each > 1 ? 1 : 0);
        for (int64_t i = 0; i < parts && left > 0; i++) { /* of one length, at equal distances */
            const int64_t own = vta_min(pitch, left);
            runs[made++] = (vtac_vta_run){one.input, one.from + i * each, own};
            left -= own;
        }
    }
    return made;
}

uint32_t lab_add_runs(lab_region *lab, const uint32_t *inputs, uint32_t count, int64_t block)
{
    rng *r = &lab->random;
    vtac_vta_tensor like = lab->tensors[inputs[0]];
    const bool all = like.c % block == 0 && rng_percent(r, 30);
    const int64_t blocks = like.n * vta_ceil_div(like.c, block);
    if (all) { /* images become channels */
        like.c = blocks * block;
        like.n = 1;
    } else {
        like.n = rng_between(r, 1, 3);
        like.c = rng_percent(r, 50) ? block : rng_between(r, 1, 2 * block);
        like.h = rng_between(r, 1, 6);
        like.w = rng_between(r, 1, 9);
    }
    lab->block = block;
    const uint32_t output = add_simple(lab, VTAC_VTA_RUNS, "runs", inputs, count, like, 1.0);
    vtac_vta_layer *layer = &lab->layers[lab->region.layer_count - 1];
    const int64_t pixels = like.h * like.w, planes = like.n * vta_ceil_div(like.c, block);
    vtac_vta_run *runs = take(lab, (size_t)(planes * pixels) + 1, sizeof *runs);
    keep_zero(lab, inputs[0], output);
    layer->low = INT8_MIN;
    layer->high = INT8_MAX;
    layer->runs = runs;
    if (all) {
        runs[layer->run_count++] = (vtac_vta_run){0, 0, blocks * pixels};
    }
    for (int64_t p = 0; p < planes && !all; p++) {
        const int64_t lanes = vta_min(block, like.c - p % vta_ceil_div(like.c, block) * block);
        layer->run_count +=
            draw_runs(lab, inputs, count, (int64_t[]){pixels, lanes}, runs + layer->run_count);
    }
    return output;
}

uint32_t lab_add_move(lab_region *lab, const uint32_t *inputs, uint32_t count, int64_t channels,
                      int64_t columns, int64_t images)
{
    rng *r = &lab->random;
    int64_t up[2], down[2], step[2];
    vtac_vta_tensor like = lab->tensors[inputs[0]];
    for (int d = 0; d < 2; d++) {
        int64_t *size = d == 0 ? &like.h : &like.w;
        up[d] = rng_percent(r, 60) ? 1 : rng_between(r, 1, 3);
        down[d] = rng_percent(r, 60) ? 1 : rng_between(r, 0, 3);
        step[d] = rng_percent(r, 50) ? 0 : d == 0 ? 2 : columns;
        *size = vta_max(1, *size * up[d] / vta_max(1, down[d]) - rng_between(r, 0, 1));
    }
    like.c = channels;
    like.n = images > 0 ? images : like.n;
    const int64_t entries = images > 0 ? images * channels : channels;
    const uint32_t output = add_simple(lab, VTAC_VTA_MOVE, "move", inputs, count, like, 74.0);
    vtac_vta_layer *layer = &lab->layers[lab->region.layer_count - 1];
    vtac_vta_from *from = take(lab, (size_t)(up[0] * up[1] * entries), sizeof *from);
    const int64_t turn = rng_between(r, 0, 7);
    for (int64_t c = 0; c < entries; c++) {
        const bool mixed = rng_percent(r, 20);
        int32_t k = rng_percent(r, 5) ? -1 : (int32_t)rng_below(r, count);
        for (int64_t phase = 0; phase < up[0] * up[1]; phase++) {
            k = mixed ? (int32_t)rng_below(r, count + 1) - 1 : k;
            const vtac_vta_tensor *in = &lab->tensors[inputs[k < 0 ? 0 : k]];
            const int64_t room = in->c;
            from[phase * entries + c] =
                (vtac_vta_from){.input = k,
                                .channel = (int32_t)(rng_percent(r, 80) ? (c + turn + phase) % room
                                                                        : rng_below(r, (uint32_t)room)),
                                .dy = (int32_t)rng_between(r, -step[0], step[0]),
                                .dx = (int32_t)rng_between(r, -step[1], step[1]),
                                .image = images > 0 ? (int32_t)rng_below(r, (uint32_t)in->n) : 0};
        }
    }
    for (int d = 0; d < 2; d++) {
        layer->up[d] = up[d];
        layer->down[d] = down[d];
    }
    layer->from = from;
    layer->across = images > 0;
    layer->beyond = rng_percent(r, 70)   ? VTAC_VTA_ZEROS
                    : rng_percent(r, 50) ? VTAC_VTA_EDGES
                                         : VTAC_VTA_MIRROR;
    return output;
}

void lab_finish(lab_region *lab)
{
    bool read[LAB_TENSORS] = {false};
    for (uint32_t n = 0; n < lab->region.layer_count; n++) {
        for (uint32_t k = 0; k < lab->layers[n].input_count; k++) {
            read[lab->layers[n].inputs[k]] = true;
        }
    }
    for (uint32_t i = 0; i < lab->region.tensor_count; i++) {
        if (!read[i] && lab->tensors[i].role == VTAC_VTA_INTERNAL) {
            lab->tensors[i].role = VTAC_VTA_OUTPUT;
        }
    }
}

/* Random layers. */

static int64_t one_of(rng *r, const int64_t *values, uint32_t count)
{
    return values[rng_below(r, count)];
}

static void draw_window(lab_region *lab, const vtac_vta_tensor *in, vtac_vta_window *w)
{
    static const int64_t kernels[] = {1, 1, 1, 3, 3, 3, 2, 4, 5, 7}, strides[] = {1, 1, 1, 2, 2, 3};
    const int64_t sizes[2] = {in->h, in->w};
    const int64_t kernel = one_of(&lab->random, kernels, 10), stride = one_of(&lab->random, strides, 6);
    const bool square = rng_percent(&lab->random, 70), dilated = rng_percent(&lab->random, 15);
    for (int d = 0; d < 2; d++) {
        w->kernel[d] = square ? kernel : one_of(&lab->random, kernels, 10);
        w->stride[d] = square ? stride : one_of(&lab->random, strides, 6);
        w->dilation[d] = dilated ? rng_between(&lab->random, 1, 3) : 1;
        const int64_t reach = (w->kernel[d] - 1) * w->dilation[d];
        w->before[d] = rng_between(&lab->random, 0, (reach + 1) / 2);
        w->after[d] = rng_between(&lab->random, 0, (reach + 1) / 2);
        if (sizes[d] + w->before[d] + w->after[d] <= reach) {
            w->kernel[d] = w->dilation[d] = 1;
            w->before[d] = w->after[d] = 0;
        }
    }
}

static int64_t draw_channels(lab_region *lab, int64_t block)
{
    return rng_percent(&lab->random, 60) ? rng_between(&lab->random, 1, 3 * block)
                                         : block * rng_between(&lab->random, 1, 4);
}

static void draw_conv(lab_region *lab, uint32_t input, int64_t block)
{
    const vtac_vta_tensor *in = &lab->tensors[input];
    lab_conv how = {.channels = draw_channels(lab, block), .groups = 1};
    how.weight_zero = rng_percent(&lab->random, 15);
    how.no_bias = rng_percent(&lab->random, 15);
    draw_window(lab, in, &how.window);
    if (rng_percent(&lab->random, 25)) {
        how.groups = rng_between(&lab->random, 1, in->c);
        while (in->c % how.groups != 0) {
            how.groups--;
        }
        how.channels = how.groups * rng_between(&lab->random, 1, 3);
    }
    (void)lab_add_conv(lab, input, &how);
}

/* Changing a tensor's zero point afterwards would change what max pools and resizes of it promise; a concat
 * of several makes its own inputs by convolutions. */
static void draw_concat(lab_region *lab, uint32_t input, int64_t block)
{
    uint32_t parts[3];
    const uint32_t count = 1 + rng_below(&lab->random, 3);
    for (uint32_t k = 0; k < count; k++) {
        const bool fits = rng_percent(&lab->random, 50);
        const lab_conv how = {.channels =
                                  fits ? block * rng_between(&lab->random, 1, 2) : draw_channels(lab, block),
                              .groups = 1,
                              .window = lab_window(1, 1, 0)};
        parts[k] = lab_add_conv(lab, input, &how);
    }
    (void)lab_add_concat(lab, parts, count, rng_percent(&lab->random, 60));
}

/* Convolutions with several strides along rows make what is joined; perhaps the input comes first. */
static void draw_pixels(lab_region *lab, uint32_t input, int64_t block)
{
    uint32_t parts[4] = {input};
    const uint32_t first = rng_below(&lab->random, 2), count = first + 1 + rng_below(&lab->random, 3);
    lab_conv how = {.channels = first > 0 ? lab->tensors[input].c : draw_channels(lab, block), .groups = 1};
    for (uint32_t k = first; k < count; k++) {
        how.window = lab_window(1, 1, 0);
        how.window.stride[0] = rng_between(&lab->random, 1, 4);
        parts[k] = lab_add_conv(lab, input, &how);
    }
    (void)lab_add_pixels(lab, parts, count);
}

/* Another tensor of that shape, or with one pixel where `scalar`; `input` itself where there is none. */
static uint32_t mate_of(lab_region *lab, uint32_t input, bool scalar)
{
    const vtac_vta_tensor *t = &lab->tensors[input];
    for (uint32_t i = lab->region.tensor_count; i-- > 0;) {
        const vtac_vta_tensor *o = &lab->tensors[i];
        const bool shape = scalar ? o->h == 1 && o->w == 1 : o->h == t->h && o->w == t->w;
        if (i != input && o->n == t->n && o->c == t->c && shape && rng_percent(&lab->random, 80)) {
            return i;
        }
    }
    return input;
}

static void draw_pool(lab_region *lab, uint32_t input, bool average)
{
    vtac_vta_window window;
    draw_window(lab, &lab->tensors[input], &window);
    if (rng_percent(&lab->random, 20)) {
        window = lab_window(1, 1, 0);
        window.kernel[0] = lab->tensors[input].h;
        window.kernel[1] = lab->tensors[input].w;
    }
    vtac_vta_window counted = window;
    for (int d = 0; d < 2 && rng_percent(&lab->random, 70); d++) {
        counted.before[d] = rng_between(&lab->random, 0, window.before[d]);
        counted.after[d] = rng_between(&lab->random, 0, window.after[d]);
    }
    (void)(average ? lab_add_average(lab, input, &window, &counted) : lab_add_max(lab, input, &window));
}

static void draw_depthwise(lab_region *lab, uint32_t input)
{
    const int64_t channels = lab->tensors[input].c;
    lab_conv how = {.channels = channels, .groups = channels};
    draw_window(lab, &lab->tensors[input], &how.window);
    (void)lab_add_conv(lab, input, &how);
}

/* A convolution of the same shape, and the sum of the two: what residual networks are made of. */
static void draw_residual(lab_region *lab, uint32_t input)
{
    lab_conv how = {.channels = lab->tensors[input].c, .groups = 1, .window = lab_window(3, 1, 1)};
    if (rng_percent(&lab->random, 50)) {
        how.window = lab_window(1, 1, 0);
    }
    const uint32_t other = lab_add_conv(lab, input, &how);
    const bool swapped = rng_percent(&lab->random, 50);
    (void)lab_add_sum(lab, swapped ? other : input, swapped ? input : other);
}

/* The larger or the smaller of a tensor and a convolution of it. */
static void draw_choice(lab_region *lab, uint32_t input)
{
    const lab_conv how = {.channels = lab->tensors[input].c, .groups = 1, .window = lab_window(1, 1, 0)};
    const uint32_t other = lab_add_conv(lab, input, &how);
    (void)lab_add_choice(lab, input, other, rng_percent(&lab->random, 50));
}

static void draw_move(lab_region *lab, uint32_t input, int64_t block)
{
    uint32_t inputs[2] = {input, input};
    const bool across = rng_percent(&lab->random, 40);
    for (uint32_t i = 0; i < lab->region.tensor_count; i++) {
        const bool other = i != input && (across || lab->tensors[i].n == lab->tensors[input].n);
        inputs[1] = other && rng_percent(&lab->random, 50) ? i : inputs[1];
    }
    const uint32_t count = inputs[1] == input ? 1 : 2;
    (void)lab_add_move(lab, inputs, count, draw_channels(lab, block), rng_percent(&lab->random, 20) ? 20 : 2,
                       across ? rng_between(&lab->random, 1, 5) : 0);
}

static void draw_blocks(lab_region *lab, uint32_t input, int64_t block)
{
    const uint32_t other = rng_below(&lab->random, lab->region.tensor_count);
    const uint32_t inputs[2] = {input, other};
    const bool alike = lab->tensors[other].zero == lab->tensors[input].zero;
    (void)lab_add_runs(lab, inputs, alike && other != input ? 2 : 1, block);
}

/* Groups of as many channels as divide all. */
static void draw_planes(lab_region *lab, uint32_t input)
{
    const int64_t all = lab->tensors[input].c;
    int64_t each = rng_percent(&lab->random, 40) ? 1 : rng_between(&lab->random, 1, all);
    while (all % each != 0) {
        each--;
    }
    (void)lab_add_planes(lab, input, each);
}

static void draw_layer(lab_region *lab, uint32_t input, int64_t block, bool rows)
{
    const vtac_vta_tensor *t = &lab->tensors[input];
    if (rows && rng_percent(&lab->random, 12)) {
        draw_planes(lab, input);
        return;
    }
    if (rows && rng_percent(&lab->random, 15)) {
        draw_blocks(lab, input, block);
        return;
    }
    if (rows && rng_percent(&lab->random, 25)) {
        const bool softmax = rng_percent(&lab->random, 50);
        (void)(softmax ? lab_add_softmax(lab, input) : lab_add_norm(lab, input));
        if (softmax && rng_percent(&lab->random, 40)) {
            lab_put_mask(lab, rng_percent(&lab->random, 60), false);
        }
        return;
    }
    switch (rng_below(&lab->random, 19)) {
    case 0: (void)lab_add_sum(lab, input, mate_of(lab, input, false)); break;
    case 1: (void)lab_add_product(lab, input, mate_of(lab, input, rng_percent(&lab->random, 60))); break;
    case 2: draw_pool(lab, input, false); break;
    case 3: draw_pool(lab, input, true); break;
    case 4:
        (void)(rng_percent(&lab->random, 50) ? lab_add_rescale(lab, input) : lab_add_table(lab, input));
        break;
    case 5:
        if (rng_percent(&lab->random, 40)) {
            draw_pixels(lab, input, block);
        } else {
            draw_concat(lab, input, block);
        }
        break;
    case 6:
        if (t->h * t->w < 150) {
            (void)lab_add_resize(lab, input, rng_between(&lab->random, 1, 3),
                                 rng_between(&lab->random, 1, 3));
        }
        break;
    case 16:
    case 17:
        if (t->h * t->w < 150) {
            draw_move(lab, input, block);
        }
        break;
    case 18: draw_choice(lab, input); break;
    case 7:
    case 8: draw_depthwise(lab, input); break;
    case 9:
    case 10: draw_residual(lab, input); break;
    default: draw_conv(lab, input, block); break;
    }
}

/* A layer looks up one table at a time. */
static bool takes_table(const vtac_vta_layer *layer)
{
    return layer->kind == VTAC_VTA_CONV || (layer->kind == VTAC_VTA_ADD && layer->table == NULL) ||
           layer->kind == VTAC_VTA_MUL || layer->kind == VTAC_VTA_AVG_POOL ||
           layer->kind == VTAC_VTA_RESCALE || layer->kind == VTAC_VTA_CHOOSE ||
           layer->kind == VTAC_VTA_PLANES;
}

/* Tables behind some of the new layers; no sum has one where the configuration has none. */
static void draw_tables(lab_region *lab, const vta_config *config, uint32_t first)
{
    for (uint32_t n = first; n < lab->region.layer_count; n++) {
        vtac_vta_layer *layer = &lab->layers[n];
        if (config->table == 0) {
            layer->table = layer->kind == VTAC_VTA_ADD ? NULL : layer->table;
        } else if (takes_table(layer) && rng_percent(&lab->random, 20)) {
            lab_put_table(lab, layer);
        }
    }
}

/* Layers that the configuration cannot run, and what came with them, never were. */
static void undo(lab_region *lab, const vta_config *config, uint32_t layers, uint32_t tensors)
{
    for (uint32_t n = layers; n < lab->region.layer_count; n++) {
        if (vtac_vta_supports(config, &lab->region, n, NULL) != VTA_OK) {
            lab->refused += lab->region.layer_count - layers;
            lab->region.layer_count = layers;
            lab->region.tensor_count = tensors;
        }
    }
}

/* A convolution of a chain, of up to so many channels. */
static uint32_t draw_member(lab_region *lab, uint32_t input, int64_t max)
{
    lab_conv how = {.groups = 1, .window = lab_window(1, 1, 0)};
    how.channels = rng_between(&lab->random, 1, max);
    how.weight_zero = rng_percent(&lab->random, 15);
    if (rng_percent(&lab->random, 25)) {
        draw_window(lab, &lab->tensors[input], &how.window);
    }
    return lab_add_conv(lab, input, &how);
}

void lab_random_dense(lab_region *lab, uint64_t seed)
{
    enum { MAX_CHANNELS = 300, LAYERS = 3 };
    lab_init(lab, seed);
    lab->varied = true;
    lab->narrow = true;
    const bool rows = rng_percent(&lab->random, 40); /* of a matrix: images of one pixel each */
    uint32_t x = lab_input(
        lab, rng_between(&lab->random, 1, rows ? 9 : 2), rng_between(&lab->random, 33, MAX_CHANNELS),
        rows ? 1 : rng_between(&lab->random, 1, 4), rows ? 1 : rng_between(&lab->random, 1, 12));
    for (uint32_t layers = 1 + rng_below(&lab->random, LAYERS); layers > 0; layers--) {
        const lab_conv how = {.channels = rng_between(&lab->random, 1, MAX_CHANNELS),
                              .groups = 1,
                              .window = lab_window(1, 1, 0),
                              .no_bias = rng_percent(&lab->random, 15)};
        x = lab_add_conv(lab, x, &how);
    }
    lab_finish(lab);
}

void lab_random_chain(lab_region *lab, uint64_t seed, const vta_config *config)
{
    lab_init(lab, seed);
    lab->varied = true;
    lab->narrow = config->wgt4 != 0;
    const int64_t block = vtac_vta_block(config),
                  n = rng_between(&lab->random, 1, 2 * (int64_t)config->batch);
    uint32_t x = lab_input(lab, n, draw_channels(lab, block), rng_between(&lab->random, 1, 48),
                           rng_between(&lab->random, 1, 48));
    uint32_t blocks = 1 + rng_below(&lab->random, 2);
    for (; blocks > 0 || (lab->region.layer_count == 0 && lab->refused < 20); blocks -= blocks > 0) {
        const uint32_t layers = lab->region.layer_count, tensors = lab->region.tensor_count, first = x;
        x = rng_percent(&lab->random, 85) ? draw_member(lab, x, 5 * block) : x;
        if (rng_percent(&lab->random, 60)) {
            lab_conv how = {.channels = lab->tensors[x].c, .groups = lab->tensors[x].c};
            draw_window(lab, &lab->tensors[x], &how.window);
            x = lab_add_conv(lab, x, &how);
        }
        if (rng_percent(&lab->random, 30)) { /* as many channels as there were: perhaps a sum */
            const lab_conv back = {
                .channels = lab->tensors[first].c, .groups = 1, .window = lab_window(1, 1, 0)};
            x = lab_add_conv(lab, x, &back);
        } else if (rng_percent(&lab->random, 60)) {
            x = draw_member(lab, x, 2 * block);
        }
        const vtac_vta_tensor *a = &lab->tensors[first], *b = &lab->tensors[x];
        if (x != first && a->c == b->c && a->h == b->h && a->w == b->w) {
            x = lab_add_sum(lab, x, first);
        }
        draw_tables(lab, config, layers);
        undo(lab, config, layers, tensors);
        x = lab->region.layer_count == layers ? first : x;
    }
    lab_finish(lab);
}

/* A convolution of few channels that keeps the size of its input, or halves it. */
static uint32_t draw_thin(lab_region *lab, uint32_t input, int64_t block)
{
    const vtac_vta_tensor *in = &lab->tensors[input];
    const int64_t half = vta_max(1, block / 2), own = rng_between(&lab->random, 1, half);
    lab_conv how = {.channels = own, .groups = 1, .weight_zero = rng_percent(&lab->random, 30)};
    if (rng_percent(&lab->random, 30)) { /* depthwise, perhaps with several outputs of an input */
        how.groups = in->c;
        how.channels = in->c * rng_between(&lab->random, 1, vta_max(1, half / in->c));
    } else if (rng_percent(&lab->random, 30)) {
        how.channels = in->c; /* for sums */
    }
    for (int d = 0; d < 2; d++) {
        const int64_t size = d == 0 ? in->h : in->w;
        vtac_vta_window *w = &how.window;
        w->kernel[d] = rng_between(&lab->random, 1, 4);
        w->dilation[d] = rng_percent(&lab->random, 25) ? 2 : 1;
        w->stride[d] = size % 2 == 0 && size > 4 && rng_percent(&lab->random, 25) ? 2 : 1;
        w->before[d] = (w->kernel[d] - 1) * w->dilation[d] / 2;
        w->after[d] = (w->kernel[d] - 1) * w->dilation[d] - w->before[d];
    }
    return lab_add_conv(lab, input, &how);
}

void lab_random_thin(lab_region *lab, uint64_t seed, const vta_config *config)
{
    enum { MIN_WIDTH = 8, MAX_TIMES = 4, MAX_ROWS = 12 };
    lab_init(lab, seed);
    lab->varied = true;
    lab->narrow = config->wgt4 != 0;
    const int64_t block = vtac_vta_block(config);
    uint32_t first = lab_input(lab, rng_between(&lab->random, 1, 1 + (int64_t)config->batch),
                               rng_between(&lab->random, 1, block), rng_between(&lab->random, 1, MAX_ROWS),
                               MIN_WIDTH * rng_between(&lab->random, 1, MAX_TIMES));
    for (int64_t more = rng_between(&lab->random, 2, 5); more > 0; more--) {
        const uint32_t before = lab->region.layer_count;
        const uint32_t x = draw_thin(lab, first, block);
        const vtac_vta_tensor *a = &lab->tensors[first], *b = &lab->tensors[x];
        const bool alike = a->c == b->c && a->h == b->h && a->w == b->w;
        first = alike && rng_percent(&lab->random, 60) ? lab_add_sum(lab, x, first)
                : rng_percent(&lab->random, 20)        ? lab_add_rescale(lab, x)
                                                       : x;
        draw_tables(lab, config, before);
    }
    lab_finish(lab);
}

void lab_random(lab_region *lab, uint64_t seed, const vta_config *config, uint32_t layers)
{
    lab_init(lab, seed);
    lab->varied = true;
    lab->narrow = config->wgt4 != 0;
    const int64_t block = vtac_vta_block(config),
                  n = rng_between(&lab->random, 1, 2 * (int64_t)config->batch);
    (void)lab_input(lab, n, draw_channels(lab, block), rng_between(&lab->random, 1, 20),
                    rng_between(&lab->random, 1, 20));
    while (lab->region.layer_count < layers && lab->refused < 20 * layers) {
        const uint32_t count = lab->region.tensor_count, before = lab->region.layer_count;
        const uint32_t input = rng_percent(&lab->random, 75) ? count - 1 : rng_below(&lab->random, count);
        draw_layer(lab, input, block, config->rows > 0);
        draw_tables(lab, config, before);
        undo(lab, config, before, count);
    }
    lab_finish(lab);
}
