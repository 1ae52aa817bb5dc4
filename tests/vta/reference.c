/* SPDX-License-Identifier: Apache-2.0
 *
 * What a region computes, straight from the formulas. Nothing here is shared with the compiler but the
 * functions of rows, which vtac/quant.h defines and a test of their own judges: rounding is done by division.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

/* p / 2^shift to the nearest; ties as `rounding` says for its last step. */
static int64_t nearest(int64_t p, uint32_t shift, vta_rounding rounding)
{
    enum { MAX_SHIFT = 62 };
    if (shift > MAX_SHIFT) {
        return 0; /* a product is less than half of 2^63 */
    }
    const int64_t unit = (int64_t)1 << shift;
    int64_t quotient = p / unit, rest = p % unit;
    if (rest < 0) {
        quotient--;
        rest += unit;
    }
    const bool tie = shift > 0 && rest == unit - rest;
    const bool up = rounding == VTA_ROUND_EVEN        ? quotient % 2 != 0
                    : rounding == VTA_ROUND_TWICE_OUT ? p > 0
                                                      : true;
    return quotient + (tie ? up : rest > unit - rest);
}

static int32_t requantize(int64_t v, vtac_fixed scale, const vtac_vta_layer *layer, int32_t zero)
{
    enum { FIRST = 31 };
    const bool twice = layer->rounding == VTA_ROUND_TWICE_UP || layer->rounding == VTA_ROUND_TWICE_OUT;
    const uint32_t first = twice && scale.shift > FIRST ? FIRST : scale.shift;
    const int64_t product = v * (int64_t)scale.mult;
    int64_t q = nearest(product, first, twice ? VTA_ROUND_UP : layer->rounding);
    q = nearest(q, scale.shift - first, layer->rounding) + zero - layer->zero_less;
    return (int32_t)(q < layer->low ? layer->low : q > layer->high ? layer->high : q);
}

static size_t count_of(const vtac_vta_tensor *t)
{
    return (size_t)(t->n * t->c * t->h * t->w);
}

static size_t at(const vtac_vta_tensor *t, int64_t n, int64_t c, int64_t y, int64_t x)
{
    return (size_t)(((n * t->c + c) * t->h + y) * t->w + x);
}

/* Everything that computes one number of a layer's output from numbers of its inputs. */
typedef struct point {
    const lab_region *lab;
    const vtac_vta_layer *layer;
    const lab_values *values;
    int64_t n, c, y, x;
} point;

static const vtac_vta_tensor *input(const point *p, uint32_t k)
{
    return &p->lab->tensors[p->layer->inputs[k]];
}

/* q - zero of an input's image; 0 in the padding. */
static int64_t read_image(const point *p, uint32_t k, int64_t n, int64_t c, int64_t y, int64_t x)
{
    const vtac_vta_tensor *t = input(p, k);
    if (y < 0 || y >= t->h || x < 0 || x >= t->w) {
        return 0;
    }
    return p->values->of[p->layer->inputs[k]][at(t, n, c, y, x)] - t->zero;
}

/* A row or column of an image whose edges are repeated, or which is mirrored at them, found step by step. */
static int64_t come_back(vtac_vta_beyond beyond, int64_t at, int64_t size)
{
    int64_t place = 0, step = 1;
    for (int64_t i = 0; beyond != VTAC_VTA_ZEROS && i < (at < 0 ? -at : at); i++) {
        const bool turns = place + step < 0 || place + step >= size;
        step = turns && beyond == VTAC_VTA_MIRROR ? -step : step;
        place += size == 1 || (turns && beyond == VTAC_VTA_EDGES) ? 0 : step;
    }
    return beyond == VTAC_VTA_ZEROS ? at : at < 0 && beyond == VTAC_VTA_EDGES ? 0 : place;
}

static int64_t read(const point *p, uint32_t k, int64_t c, int64_t y, int64_t x)
{
    return read_image(p, k, p->n, c, y, x);
}

static int32_t finish(const point *p, int64_t v, vtac_fixed scale)
{
    const vtac_vta_layer *l = p->layer;
    const int32_t zero = l->behind != NULL ? l->between : p->lab->tensors[l->output].zero;
    const int32_t q = requantize(v, scale, l, zero);
    return l->behind != NULL ? l->behind[128 + q] : q;
}

/* The weight of an output channel for a term of its group: a pixel and a channel of the second input. */
static int64_t image_weight(const point *p, int64_t group, int64_t term)
{
    const vtac_vta_tensor *w = input(p, 1);
    const int64_t in = input(p, 0)->c / p->layer->groups, pixels = w->h * w->w;
    const int64_t channel = (group * in + term) % w->c, pixel = p->c % pixels;
    return read_image(p, 1, p->n, channel, pixel / w->w, pixel % w->w);
}

static int32_t conv(const point *p)
{
    const vtac_vta_layer *l = p->layer;
    const vtac_vta_window *w = &l->window;
    const int64_t in_group = input(p, 0)->c / l->groups;
    const int64_t group = p->c / (p->lab->tensors[l->output].c / l->groups);
    const int64_t zero = l->weight_zero != NULL ? l->weight_zero[p->c] : 0;
    int64_t sum = l->bias != NULL ? l->bias[p->c] : 0;
    for (int64_t i = 0; i < in_group; i++) {
        for (int64_t ky = 0; ky < w->kernel[0]; ky++) {
            for (int64_t kx = 0; kx < w->kernel[1]; kx++) {
                const int64_t weight =
                    l->image
                        ? image_weight(p, group, i)
                        : l->weights[((p->c * in_group + i) * w->kernel[0] + ky) * w->kernel[1] + kx] - zero;
                sum += weight * read(p, 0, group * in_group + i,
                                     p->y * w->stride[0] + ky * w->dilation[0] - w->before[0],
                                     p->x * w->stride[1] + kx * w->dilation[1] - w->before[1]);
            }
        }
    }
    return finish(p, sum, l->scales[p->c]);
}

int64_t lab_elements(const lab_region *lab, const vtac_vta_layer *layer, int64_t y, int64_t x)
{
    const vtac_vta_window *w = &layer->window;
    const vtac_vta_tensor *t = &lab->tensors[layer->inputs[0]];
    const int64_t size[2] = {t->h, t->w};
    int64_t elements = 0;
    for (int64_t k = 0; k < w->kernel[0] * w->kernel[1]; k++) {
        const int64_t place[2] = {y * w->stride[0] + k / w->kernel[1] * w->dilation[0] - w->before[0],
                                  x * w->stride[1] + k % w->kernel[1] * w->dilation[1] - w->before[1]};
        bool counts = true;
        for (int d = 0; d < 2; d++) {
            counts = counts && place[d] >= -layer->counted_before[d] &&
                     place[d] < size[d] + layer->counted_after[d];
        }
        elements += counts;
    }
    return elements;
}

static int32_t average(const point *p)
{
    const vtac_vta_window *w = &p->layer->window;
    int64_t sum = 0;
    for (int64_t k = 0; k < w->kernel[0] * w->kernel[1]; k++) {
        const int64_t ky = k / w->kernel[1], kx = k % w->kernel[1];
        sum += read(p, 0, p->c, p->y * w->stride[0] + ky * w->dilation[0] - w->before[0],
                    p->x * w->stride[1] + kx * w->dilation[1] - w->before[1]);
    }
    const int64_t elements = lab_elements(p->lab, p->layer, p->y, p->x);
    uint32_t i = 0;
    while (p->layer->divisors[i] != elements) {
        i++;
    }
    sum *= 1 + p->layer->more_times;
    return finish(p, sum + (p->layer->bias != NULL ? p->layer->bias[i] : 0), p->layer->scales[i]);
}

static int32_t clamp(const point *p, int32_t q)
{
    return q < p->layer->low ? p->layer->low : q > p->layer->high ? p->layer->high : q;
}

static int32_t maximum(const point *p)
{
    const vtac_vta_window *w = &p->layer->window;
    const vtac_vta_tensor *t = input(p, 0);
    int32_t max = INT8_MIN;
    for (int64_t k = 0; k < w->kernel[0] * w->kernel[1]; k++) {
        const int64_t y = p->y * w->stride[0] + k / w->kernel[1] * w->dilation[0] - w->before[0];
        const int64_t x = p->x * w->stride[1] + k % w->kernel[1] * w->dilation[1] - w->before[1];
        if (y >= 0 && y < t->h && x >= 0 && x < t->w) {
            const int32_t q = p->values->of[p->layer->inputs[0]][at(t, p->n, p->c, y, x)];
            max = q > max ? q : max;
        }
    }
    return clamp(p, max);
}

static int8_t number(const point *p, uint32_t k)
{
    return p->values->of[p->layer->inputs[k]][at(input(p, k), p->n, p->c, p->y, p->x)];
}

static int32_t add(const point *p)
{
    const vtac_vta_layer *l = p->layer;
    int64_t v = read(p, 0, p->c, p->y, p->x) * l->sum.a + read(p, 1, p->c, p->y, p->x) * l->sum.b;
    v += l->bias != NULL ? l->bias[0] : 0;
    v += l->table != NULL ? l->table[128 + number(p, l->corrected)] : 0;
    return finish(p, v, l->wide ? l->scales[0] : (vtac_fixed){1, l->sum.shift});
}

static int32_t multiply(const point *p)
{
    const vtac_vta_tensor *b = input(p, 1);
    const bool one = b->h == 1 && b->w == 1;
    return finish(p, read(p, 0, p->c, p->y, p->x) * read(p, 1, p->c, one ? 0 : p->y, one ? 0 : p->x),
                  p->layer->scales[0]);
}

static int32_t choose_one(const point *p)
{
    const int64_t a = read(p, 0, p->c, p->y, p->x), b = read(p, 1, p->c, p->y, p->x);
    return finish(p, (a > b) != p->layer->min ? a : b, (vtac_fixed){1, 0});
}

static int32_t rescale(const point *p)
{
    return finish(p, read(p, 0, p->c, p->y, p->x), p->layer->scales[0]);
}

static int32_t look_up(const point *p)
{
    return clamp(p, p->layer->table[128 + number(p, 0)]);
}

static int32_t concatenate_pixels(const point *p)
{
    uint32_t k = 0;
    int64_t pixel = p->y * p->lab->tensors[p->layer->output].w + p->x;
    for (; pixel >= input(p, k)->h * input(p, k)->w; k++) {
        pixel -= input(p, k)->h * input(p, k)->w;
    }
    return finish(p, read(p, k, p->c, pixel / input(p, k)->w, pixel % input(p, k)->w), p->layer->scales[k]);
}

static int32_t concatenate(const point *p)
{
    if (p->layer->by_pixels) {
        return concatenate_pixels(p);
    }
    uint32_t k = 0;
    int64_t c = p->c;
    for (; c >= input(p, k)->c; k++) {
        c -= input(p, k)->c;
    }
    return finish(p, read(p, k, c, p->y, p->x), p->layer->scales[k]);
}

static int32_t resize(const point *p)
{
    const int64_t *factor = p->layer->window.stride;
    const vtac_vta_tensor *t = input(p, 0);
    return clamp(p,
                 p->values->of[p->layer->inputs[0]][at(t, p->n, p->c, p->y / factor[0], p->x / factor[1])]);
}

static int32_t move(const point *p)
{
    const vtac_vta_layer *l = p->layer;
    const int64_t phase = p->y % l->up[0] * l->up[1] + p->x % l->up[1];
    const vtac_vta_tensor *to = &p->lab->tensors[l->output];
    const vtac_vta_from from =
        l->across ? l->from[(phase * to->n + p->n) * to->c + p->c] : l->from[phase * to->c + p->c];
    if (from.input < 0) {
        return finish(p, 0, l->scales[0]);
    }
    const uint32_t k = (uint32_t)from.input;
    const int64_t y = come_back(l->beyond, p->y / l->up[0] * l->down[0] + from.dy, input(p, k)->h);
    const int64_t x = come_back(l->beyond, p->x / l->up[1] * l->down[1] + from.dx, input(p, k)->w);
    return finish(p, read_image(p, k, l->across ? from.image : p->n, from.channel, y, x), l->scales[k]);
}

static int32_t transpose(const point *p)
{
    const vtac_vta_tensor *t = input(p, 0);
    const int64_t pixel = p->c, channel = p->y * p->lab->tensors[p->layer->output].w + p->x;
    return p->values->of[p->layer->inputs[0]][at(t, p->n, channel, pixel / t->w, pixel % t->w)];
}

static int32_t take_tile(const point *p)
{
    const vtac_vta_tensor *to = &p->lab->tensors[p->layer->output];
    const int64_t block = p->lab->block, blocks = (to->c + block - 1) / block;
    int64_t tile = (p->n * blocks + p->c / block) * to->h * to->w + p->y * to->w + p->x;
    const vtac_vta_run *run = p->layer->runs;
    for (; tile >= run->count; run++) {
        tile -= run->count;
    }
    if (run->input < 0) {
        return to->zero;
    }
    const vtac_vta_tensor *t = input(p, (uint32_t)run->input);
    const int64_t own = (t->c + block - 1) / block, from = run->from + tile, pixel = from % (t->h * t->w);
    const int64_t plane = from / (t->h * t->w), channel = plane % own * block + p->c % block;
    return p->values
        ->of[p->layer->inputs[run->input]][at(t, plane / own, channel, pixel / t->w, pixel % t->w)];
}

typedef int32_t formula(const point *p);

static formula *const formulas[VTAC_VTA_KINDS] = {
    [VTAC_VTA_CONV] = conv,           [VTAC_VTA_ADD] = add,
    [VTAC_VTA_MUL] = multiply,        [VTAC_VTA_MAX_POOL] = maximum,
    [VTAC_VTA_AVG_POOL] = average,    [VTAC_VTA_RESCALE] = rescale,
    [VTAC_VTA_CONCAT] = concatenate,  [VTAC_VTA_RESIZE] = resize,
    [VTAC_VTA_MOVE] = move,           [VTAC_VTA_TABLE] = look_up,
    [VTAC_VTA_TRANSPOSE] = transpose, [VTAC_VTA_CHOOSE] = choose_one,
    [VTAC_VTA_RUNS] = take_tile,
};

/* The mask of a row, for all its numbers; NULL: there is none. */
static int32_t *mask_of(const lab_region *lab, const vtac_vta_layer *layer, const lab_values *values,
                        const int64_t place[4])
{
    const vtac_vta_tensor *to = &lab->tensors[layer->output];
    const vtac_vta_tensor *mask = layer->input_count > 1 ? &lab->tensors[layer->inputs[1]] : NULL;
    int32_t *row = mask == NULL ? NULL : malloc((size_t)to->c * sizeof *row);
    for (int64_t c = 0; row != NULL && c < to->c / layer->groups; c++) {
        const bool one = mask->h * mask->w == 1;
        const int64_t channel = mask->c == to->c ? place[1] + c : c;
        const size_t from =
            at(mask, mask->n > 1 ? place[0] : 0, channel, one ? 0 : place[2], one ? 0 : place[3]);
        row[c] = values->of[layer->inputs[1]][from] * 8192;
    }
    return row;
}

/* A softmax or a normalization of the channels of each pixel, by the functions that define them. */
static void compute_rows(const lab_region *lab, const vtac_vta_layer *layer, const lab_values *values,
                         int8_t *out)
{
    const vtac_vta_tensor *to = &lab->tensors[layer->output];
    int32_t *row = malloc((size_t)to->c * sizeof *row + 1);
    if (row == NULL) {
        fprintf(stderr, "reference: no memory\n");
        exit(1);
    }
    const int64_t heads = layer->groups, each = to->c / heads, pixels = to->h * to->w;
    const int64_t numbers = layer->kind == VTAC_VTA_SOFTMAX ? layer->softmax->n : each;
    memset(out, (int)to->zero, count_of(to));
    for (int64_t i = 0; i < to->n * heads * pixels; i++) {
        const int64_t n = i / pixels / heads, y = i / to->w % to->h, x = i % to->w;
        const int64_t first = i / pixels % heads * each;
        for (int64_t c = 0; c < numbers; c++) {
            row[c] = values->of[layer->inputs[0]][at(to, n, first + c, y, x)];
        }
        if (layer->kind == VTAC_VTA_SOFTMAX) {
            int32_t *mask = mask_of(lab, layer, values, (const int64_t[]){n, first, y, x});
            vtac_row_softmax(layer->softmax, row, mask, row);
            free(mask);
        } else {
            vtac_row_norm(layer->norm, row, row);
        }
        for (int64_t c = 0; c < numbers; c++) {
            out[at(to, n, first + c, y, x)] = (int8_t)row[c];
        }
    }
    free(row);
}

/* A normalization of each image's planes, by the function that defines it. */
static void compute_planes(const lab_region *lab, const vtac_vta_layer *layer, const lab_values *values,
                           int8_t *out)
{
    const vtac_vta_tensor *to = &lab->tensors[layer->output];
    const int64_t numbers = to->c * to->h * to->w;
    int32_t *image = malloc((size_t)numbers * sizeof *image + 1);
    if (image == NULL) {
        fprintf(stderr, "reference: no memory\n");
        exit(1);
    }
    memset(out, (int)to->zero, count_of(to));
    for (int64_t i = 0; i < to->n * numbers; i++) {
        const int64_t c = i % numbers / (to->h * to->w), y = i / to->w % to->h;
        image[i % numbers] = values->of[layer->inputs[0]][at(to, i / numbers, c, y, i % to->w)];
        if (i % numbers < numbers - 1) {
            continue;
        }
        vtac_planes_norm(layer->plane_norm, image, image);
        for (int64_t k = 0; k < numbers; k++) {
            const int32_t q = layer->behind != NULL ? layer->behind[128 + image[k]] : image[k];
            out[at(to, i / numbers, k / (to->h * to->w), k / to->w % to->h, k % to->w)] = (int8_t)q;
        }
    }
    free(image);
}

static void compute(const lab_region *lab, const vtac_vta_layer *layer, lab_values *values)
{
    const vtac_vta_tensor *to = &lab->tensors[layer->output];
    int8_t *out = malloc(count_of(to) + 1);
    const bool rows = layer->kind == VTAC_VTA_SOFTMAX || layer->kind == VTAC_VTA_NORM;
    const bool planes = layer->kind == VTAC_VTA_PLANES, whole = rows || planes;
    if (out == NULL || (!whole && formulas[layer->kind] == NULL)) {
        fprintf(stderr, "reference: no %s\n", out == NULL ? "memory" : "formula");
        exit(1);
    }
    point p = {.lab = lab, .layer = layer, .values = values};
    if (rows) {
        compute_rows(lab, layer, values, out);
    }
    if (planes) {
        compute_planes(lab, layer, values, out);
    }
    for (p.n = whole ? to->n : 0; p.n < to->n; p.n++) {
        for (p.c = 0; p.c < to->c; p.c++) {
            for (p.y = 0; p.y < to->h; p.y++) {
                for (p.x = 0; p.x < to->w; p.x++) {
                    out[at(to, p.n, p.c, p.y, p.x)] = (int8_t)formulas[layer->kind](&p);
                }
            }
        }
    }
    values->of[layer->output] = out;
}

void lab_reference(const lab_region *lab, lab_values *values)
{
    for (uint32_t n = 0; n < lab->region.layer_count; n++) {
        compute(lab, &lab->layers[n], values);
    }
}

/* True if a tensor is the mask of a softmax. */
static bool is_mask(const lab_region *lab, uint32_t tensor)
{
    bool found = false;
    for (uint32_t n = 0; n < lab->region.layer_count && !found; n++) {
        const vtac_vta_layer *layer = &lab->layers[n];
        found = layer->kind == VTAC_VTA_SOFTMAX && layer->input_count > 1 && layer->inputs[1] == tensor;
    }
    return found;
}

void lab_draw_inputs(const lab_region *lab, uint32_t round, lab_values *values)
{
    *values = (lab_values){0};
    rng random = rng_split(lab->random.state, round);
    for (uint32_t i = 0; i < lab->region.tensor_count; i++) {
        const vtac_vta_tensor *t = &lab->tensors[i];
        if (t->role != VTAC_VTA_INPUT) {
            continue;
        }
        values->of[i] = malloc(count_of(t) + 1);
        if (values->of[i] == NULL) {
            fprintf(stderr, "out of memory\n");
            exit(1);
        }
        const bool mask = is_mask(lab, i);
        for (size_t k = 0; k < count_of(t); k++) {
            values->of[i][k] =
                (int8_t)(mask ? -128 * rng_percent(&random, 40) : rng_between(&random, -128, 127));
        }
    }
}

void lab_values_free(lab_values *values)
{
    for (uint32_t i = 0; i < LAB_TENSORS; i++) {
        free(values->of[i]);
    }
    *values = (lab_values){0};
}

bool lab_differ(const lab_region *lab, const lab_values *want, const lab_values *got, char *text, size_t size)
{
    for (uint32_t i = 0; i < lab->region.tensor_count; i++) {
        const vtac_vta_tensor *t = &lab->tensors[i];
        for (size_t k = 0; t->role == VTAC_VTA_OUTPUT && k < count_of(t); k++) {
            if (want->of[i][k] != got->of[i][k]) {
                const size_t w = (size_t)t->w, h = (size_t)t->h, c = (size_t)t->c;
                (void)snprintf(text, size, "tensor %s [%zu,%zu,%zu,%zu]: %d, expected %d", t->name,
                               k / w / h / c, k / w / h % c, k / w % h, k % w, got->of[i][k], want->of[i][k]);
                return true;
            }
        }
    }
    return false;
}
