/* SPDX-License-Identifier: Apache-2.0
 *
 * Neighbouring pixels of a row merged into one pixel.
 *
 * A tile has as many lanes as the larger side of the array. An image with fewer channels leaves lanes empty:
 * memory moves them, and the array multiplies them. With `by` pixels of a row merged, channel c of pixel x is
 * channel x % by · channels + c of merged pixel x / by. A convolution between merged images is a convolution
 * again: its kernel covers the columns of all pixels of an output, and weights outside a pixel's own window
 * are zero. Tiles of weights that are zero altogether need no step of the array. Layers that work element by
 * element stay what they are; the gates of a product, one number per channel, are repeated for each pixel.
 *
 * A depthwise layer becomes a dense one, unless each pixel has a group of lanes of its own: then DEPTHWISE
 * sums over the pixels of its input group by group, and so does a mean over a whole image.
 *
 * Merged pixels may end at a dense layer (it *splits* them): its output stays as it is, and each of the
 * pixels that a step of its window makes, a phase, has weights of its own.
 *
 * Inputs and outputs of the region are not merged: the host knows nothing of merged pixels, and folds.
 */
#include <string.h>

#include "sched.h"
#include "vta/fail.h"
#include "vta/number.h"

enum { MAX_MERGED = 8 }; /* pixels */

static const vtac_vta_tensor *input_of(const merger *g, const vtac_vta_layer *layer)
{
    return &g->from->tensors[layer->inputs[0]];
}

static int64_t made_size(const vtac_vta_tensor *in, const vtac_vta_window *w, int d)
{
    const int64_t size = d == 0 ? in->h : in->w;
    return (size + w->before[d] + w->after[d] - (w->kernel[d] - 1) * w->dilation[d] - 1) / w->stride[d] + 1;
}

/* True for a convolution with known weights whose input and output have the shapes that its window gives. */
static bool is_plain_conv(const merger *g, const vtac_vta_layer *layer)
{
    const vtac_vta_tensor *in = input_of(g, layer), *to = &g->from->tensors[layer->output];
    return layer->kind == VTAC_VTA_CONV && layer->weights != NULL && layer->bytes == 0 &&
           made_size(in, &layer->window, 0) == to->h && made_size(in, &layer->window, 1) == to->w;
}

static bool is_pointwise(const merger *g, const vtac_vta_layer *layer)
{
    const vtac_vta_tensor *to = &g->from->tensors[layer->output];
    bool good = layer->kind == VTAC_VTA_ADD || layer->kind == VTAC_VTA_MUL ||
                layer->kind == VTAC_VTA_RESCALE || layer->kind == VTAC_VTA_TABLE;
    for (uint32_t k = 0; good && k < layer->input_count; k++) {
        const vtac_vta_tensor *in = &g->from->tensors[layer->inputs[k]];
        good = in->h == to->h && in->w == to->w;
    }
    return good;
}

/* Gates, which have one pixel: their channels are repeated instead. */
static bool is_repeated(const merger *g, uint32_t tensor)
{
    const vtac_vta_tensor *t = &g->from->tensors[tensor];
    return g->by[tensor] > 1 && t->h * t->w == 1;
}

/* Merges at least `by` pixels of a tensor, or repeats its channels so many times. */
static bool raise_to(merger *g, uint32_t tensor, int64_t by, bool *changed)
{
    if (g->by[tensor] >= by) {
        return true;
    }
    g->by[tensor] = by;
    *changed = true;
    return g->from->tensors[tensor].role == VTAC_VTA_INTERNAL && by <= MAX_MERGED;
}

static bool raise_tensor(merger *g, uint32_t tensor, int64_t by, bool *changed)
{
    return raise_to(g, tensor, by, changed) && g->from->tensors[tensor].w % by == 0;
}

/* Marks a convolution whose output stays as it is although pixels of its input are merged: its window makes
 * `by` pixels at once, each with weights of its own. Where the input has several blocks, most of those would
 * be zero. */
static bool split_conv(merger *g, const vtac_vta_layer *layer, int64_t by, bool *changed)
{
    int64_t *split = &g->by[g->from->tensor_count + (layer - g->from->layers)];
    const bool can = g->splits && layer->groups == 1 && g->machine->ri == 1 && by <= MAX_MERGED &&
                     g->from->tensors[layer->output].w % by == 0;
    *changed = *changed || (can && *split == 0);
    *split = can ? 1 : *split;
    return *split > 0;
}

/* An output of a convolution has as many merged pixels as whole merged pixels of the input belong to. */
static bool spread_conv(merger *g, const vtac_vta_layer *layer, bool *changed)
{
    const int64_t in_by = g->by[layer->inputs[0]];
    int64_t by = g->by[layer->output];
    if (is_repeated(g, layer->output)) {
        return in_by == 1;
    }
    while (layer->window.stride[1] * by % in_by != 0) {
        by *= 2;
    }
    const bool splits = g->by[layer->output] == 1 && by > 1 && split_conv(g, layer, by, changed);
    return splits || raise_tensor(g, layer->output, by, changed);
}

static bool spread_pointwise(merger *g, const vtac_vta_layer *layer, bool *changed)
{
    int64_t by = g->by[layer->output];
    for (uint32_t k = 0; k < layer->input_count; k++) {
        by = vta_max(by, g->by[layer->inputs[k]]);
    }
    bool good = raise_tensor(g, layer->output, by, changed);
    for (uint32_t k = 0; k < layer->input_count && good; k++) {
        good = raise_tensor(g, layer->inputs[k], by, changed);
    }
    return good;
}

/* True for a product whose second factor has one number per channel. */
static bool has_gates(const merger *g, const vtac_vta_layer *layer)
{
    const vtac_vta_tensor *to = &g->from->tensors[layer->output];
    const vtac_vta_tensor *in = layer->kind == VTAC_VTA_MUL ? input_of(g, layer) : NULL;
    const vtac_vta_tensor *by = in != NULL ? &g->from->tensors[layer->inputs[1]] : NULL;
    return by != NULL && in->h == to->h && in->w == to->w && by->h * by->w == 1 && to->h * to->w > 1;
}

static bool spread_gates(merger *g, const vtac_vta_layer *layer, bool *changed)
{
    const int64_t by =
        vta_max(g->by[layer->output], vta_max(g->by[layer->inputs[0]], g->by[layer->inputs[1]]));
    return raise_tensor(g, layer->output, by, changed) && raise_tensor(g, layer->inputs[0], by, changed) &&
           raise_to(g, layer->inputs[1], by, changed);
}

/* True if each of `by` merged pixels of `c` channels has lanes that DEPTHWISE can read by themselves. */
static bool has_lanes(const merger *g, int64_t c, int64_t by)
{
    const machine *m = g->machine;
    return m->config->depthwise_taps > 0 && m->ri == 1 && m->ro == 2 && c == m->block_out && by <= m->ro;
}

/* True for a mean over all pixels of an image whose pixels can be merged. */
static bool is_whole_mean(const merger *g, const vtac_vta_layer *layer)
{
    const vtac_vta_tensor *in = input_of(g, layer), *to = &g->from->tensors[layer->output];
    const vtac_vta_window *w = &layer->window;
    bool whole = layer->kind == VTAC_VTA_AVG_POOL && layer->divisor_count == 1 && to->h * to->w == 1 &&
                 w->kernel[0] == in->h && w->kernel[1] == in->w && g->by[layer->output] == 1;
    for (int d = 0; d < 2; d++) {
        whole = whole && w->before[d] == 0 && w->after[d] == 0 && w->dilation[d] == 1;
    }
    return whole && has_lanes(g, in->c, g->by[layer->inputs[0]]);
}

/* Layers of other kinds read and write images as they are. */
static bool is_untouched(const merger *g, const vtac_vta_layer *layer)
{
    bool untouched = g->by[layer->output] == 1;
    for (uint32_t k = 0; k < layer->input_count; k++) {
        untouched = untouched && g->by[layer->inputs[k]] == 1;
    }
    return untouched;
}

static bool spread_layer(merger *g, const vtac_vta_layer *layer, bool *changed)
{
    if (is_untouched(g, layer)) {
        return true;
    }
    if (has_gates(g, layer)) {
        return spread_gates(g, layer, changed);
    }
    for (uint32_t k = 0; k < layer->input_count; k++) {
        if (is_repeated(g, layer->inputs[k])) {
            return false;
        }
    }
    return is_plain_conv(g, layer)  ? spread_conv(g, layer, changed)
           : is_pointwise(g, layer) ? spread_pointwise(g, layer, changed)
                                    : is_whole_mean(g, layer);
}

static bool spread_all(merger *g)
{
    bool good = true, changed = true;
    while (good && changed) {
        changed = false;
        for (uint32_t n = 0; n < g->from->layer_count && good; n++) {
            good = spread_layer(g, &g->from->layers[n], &changed);
        }
    }
    return good;
}

static uint32_t number_count(const vtac_vta_region *from)
{
    return from->tensor_count + from->layer_count;
}

static int64_t split_count(const merger *g)
{
    int64_t count = 0;
    for (uint32_t i = g->from->tensor_count; i < number_count(g->from); i++) {
        count += g->by[i];
    }
    return count;
}

bool vtac_vta_merge_try(merger *g, uint32_t tensor)
{
    const vtac_vta_tensor *t = &g->from->tensors[tensor];
    const size_t size = (size_t)number_count(g->from) * sizeof *g->by;
    const int64_t splits = split_count(g);
    bool changed = false;
    int64_t by = 1;
    while (2 * by * t->c <= g->machine->block && t->w % (2 * by) == 0) {
        by *= 2;
    }
    if (by <= g->by[tensor]) {
        return false;
    }
    memcpy(g->before, g->by, size);
    if (raise_tensor(g, tensor, by, &changed) && spread_all(g) && (!g->splits || split_count(g) > splits)) {
        return true;
    }
    memcpy(g->by, g->before, size);
    return false;
}

void vtac_vta_merge_swap(merger *g)
{
    int64_t *now = g->by;
    g->by = g->before;
    g->before = now;
}

void vtac_vta_merge_save(merger *g)
{
    memcpy(g->saved, g->by, (size_t)number_count(g->from) * sizeof *g->by);
}

void vtac_vta_merge_restore(merger *g)
{
    memcpy(g->by, g->saved, (size_t)number_count(g->from) * sizeof *g->by);
}

/* ---- convolutions between merged images */

typedef struct merged_conv {
    const vtac_vta_layer *from;
    int64_t in_by, out_by; /* merged pixels of an input and an output pixel; or the phases of an output */
    int64_t c_in, c_out;   /* channels of one pixel */
    int64_t blocks;        /* with phases: output blocks of one; else 0 */
    bool repeated;         /* an output pixel is not merged, but its channels are repeated */
    vtac_vta_window window;
} merged_conv;

static vtac_vta_window merge_window(const merger *g, const merged_conv *c)
{
    const vtac_vta_window *w = &c->from->window;
    vtac_vta_window out = *w;
    const int64_t out_by = c->repeated ? 1 : c->out_by;
    const int64_t last = w->stride[1] * (out_by - 1) - w->before[1] + (w->kernel[1] - 1) * w->dilation[1];
    out.before[1] = vta_ceil_div(w->before[1], c->in_by);
    out.kernel[1] = (last + out.before[1] * c->in_by) / c->in_by + 1;
    out.stride[1] = w->stride[1] * out_by / c->in_by;
    out.dilation[1] = 1;
    const int64_t made = g->from->tensors[c->from->output].w / out_by, read = input_of(g, c->from)->w;
    out.after[1] = vta_max(0, (made - 1) * out.stride[1] + out.kernel[1] - out.before[1] - read / c->in_by);
    return out;
}

/* The column of the window that pixel `made` of a merged output takes from pixel `read` of tap `tap`; or -1.
 */
static int64_t column_of(const merged_conv *c, int64_t made, int64_t read, int64_t tap)
{
    const vtac_vta_window *w = &c->from->window;
    const int64_t at = (tap - c->window.before[1]) * c->in_by + read + w->before[1] - made * w->stride[1];
    const bool inside = at >= 0 && at % w->dilation[1] == 0 && at / w->dilation[1] < w->kernel[1];
    return inside ? at / w->dilation[1] : -1;
}

/* The number of a weight of the layer, for merged channels; or -1. */
static int64_t weight_of(const merged_conv *c, int64_t out, int64_t in, int64_t ky, int64_t tap)
{
    const int64_t *kernel = c->from->window.kernel;
    const int64_t kx = column_of(c, c->repeated ? 0 : out / c->c_out, in / c->c_in, tap);
    const int64_t per_group = c->c_in / c->from->groups, own = out % c->c_out;
    const int64_t channel = in % c->c_in - own / (c->c_out / c->from->groups) * per_group;
    const bool none = kx < 0 || channel < 0 || channel >= per_group;
    return none ? -1 : ((own * per_group + channel) * kernel[0] + ky) * kernel[1] + kx;
}

/* Fills in the weights, and notes the tiles that have any. */
static int64_t merge_weights(const machine *m, const merged_conv *c, int8_t *weights, uint8_t *tiles)
{
    const int64_t ins = c->c_in * c->in_by, outs = c->c_out * c->out_by;
    const int64_t taps = c->window.kernel[0] * c->window.kernel[1],
                  in_blocks = vta_ceil_div(ins, m->block_in);
    int64_t filled = 0;
    for (int64_t i = 0; i < outs * ins * taps; i++) {
        const int64_t out = i / taps / ins, in = i / taps % ins, tap = i % taps;
        const int64_t from = weight_of(c, out, in, tap / c->window.kernel[1], tap % c->window.kernel[1]);
        const int32_t *zero = c->from->weight_zero;
        const int64_t block =
            c->blocks == 0 ? out / m->block_out : out / c->c_out * c->blocks + out % c->c_out / m->block_out;
        uint8_t *tile = &tiles[(block * in_blocks + in / m->block_in) * taps + tap];
        const int32_t none = zero != NULL ? zero[out % c->c_out] : 0;
        weights[i] = (int8_t)(from >= 0 ? c->from->weights[from] : none);
        filled += from >= 0 && *tile == 0;
        *tile |= from >= 0;
    }
    return filled;
}

/* `count` elements of `size` bytes, `times` times. */
static void *repeat(merger *g, const void *from, int64_t count, size_t size, int64_t times)
{
    const size_t bytes = (size_t)count * size;
    char *to = from != NULL ? vta_arena_array(&g->arena, (size_t)times, bytes) : NULL;
    g->failed = g->failed || (from != NULL && to == NULL);
    for (int64_t i = 0; to != NULL && i < times; i++) {
        memcpy(to + (size_t)i * bytes, from, bytes);
    }
    return to;
}

/* Repeats the parameters of channels for each pixel of an output. */
static void repeat_params(merger *g, vtac_vta_layer *layer, int64_t c, int64_t by)
{
    layer->weight_zero = repeat(g, layer->weight_zero, c, sizeof *layer->weight_zero, by);
    layer->bias = repeat(g, layer->bias, c, sizeof *layer->bias, by);
    layer->scales = repeat(g, layer->scales, c, sizeof *layer->scales, by);
}

/* The phases of an output that is not merged: the pixels that a step of the window makes where it takes whole
 * pixels of the input; 0: one. */
static int64_t phases_of(const merged_conv *c)
{
    int64_t phases = 1;
    while (c->from->window.stride[1] * phases % c->in_by != 0) {
        phases *= 2;
    }
    return phases > 1 ? phases : 0;
}

/* Makes a window wide enough for DEPTHWISE to read three rows of it at once. */
static void widen_window(const merger *g, merged_conv *c)
{
    enum { THREE = 3 };
    vtac_vta_window *w = &c->window;
    const int64_t made = g->from->tensors[c->from->output].w / c->out_by,
                  read = input_of(g, c->from)->w / c->in_by;
    if (w->kernel[0] >= THREE && w->kernel[1] < THREE) {
        w->kernel[1] = THREE;
        w->after[1] = vta_max(0, (made - 1) * w->stride[1] + THREE - w->before[1] - read);
    }
}

static void merge_conv(merger *g, vtac_vta_layer *layer)
{
    const machine *m = g->machine;
    const vtac_vta_tensor *in = input_of(g, layer), *to = &g->from->tensors[layer->output];
    const vtac_vta_layer from = *layer;
    merged_conv c = {.from = &from,
                     .in_by = g->by[layer->inputs[0]],
                     .out_by = g->by[layer->output],
                     .c_in = in->c,
                     .c_out = to->c,
                     .repeated = is_repeated(g, layer->output)};
    const bool depthwise = from.groups > 1 && from.groups == in->c && from.groups == to->c &&
                           has_lanes(g, in->c, vta_max(c.in_by, c.out_by)) && !c.repeated &&
                           !vtac_vta_window_is_point(&from.window);
    repeat_params(g, layer, to->c, c.out_by);
    if (depthwise && c.in_by == 1) {
        layer->narrow = c.out_by;
        layer->weights =
            repeat(g, from.weights, to->c, (size_t)(from.window.kernel[0] * from.window.kernel[1]), c.out_by);
        return;
    }
    if (g->by[layer->output] == 1 && !c.repeated) {
        layer->phases = phases_of(&c);
        c.blocks = layer->phases > 0 ? vta_ceil_div(to->c, m->block) * m->ro : 0;
        c.out_by = vta_max(layer->phases, 1);
    }
    c.window = merge_window(g, &c);
    if (depthwise) {
        widen_window(g, &c);
        layer->lanes = in->c;
    }
    const int64_t ins = c.c_in * c.in_by, outs = c.c_out * c.out_by;
    const int64_t taps = c.window.kernel[0] * c.window.kernel[1];
    const int64_t blocks = c.blocks > 0 ? c.blocks * c.out_by : vta_ceil_div(outs, m->block) * m->ro;
    int8_t *weights = vta_arena_array(&g->arena, (size_t)(ins * outs * taps), 1);
    uint8_t *tiles = vta_arena_array(&g->arena, (size_t)(blocks * vta_ceil_div(ins, m->block_in) * taps), 1);
    layer->window = c.window;
    layer->groups = 1;
    layer->weights = weights;
    layer->tiles = tiles;
    layer->products = (uint64_t)(to->n * to->c * to->h * to->w * (in->c / from.groups) *
                                 from.window.kernel[0] * from.window.kernel[1]);
    g->failed = g->failed || weights == NULL || tiles == NULL;
    layer->filled = g->failed ? 0 : merge_weights(m, &c, weights, tiles);
}

/* A mean over a whole image reads all of its merged pixels. */
static void merge_mean(const merger *g, vtac_vta_layer *layer)
{
    layer->lanes = input_of(g, layer)->c;
    layer->window.kernel[1] /= g->by[layer->inputs[0]];
}

/* ---- regions */

vta_status vtac_vta_merge_open(const machine *m, const vtac_vta_region *from, merger *out, vta_diag *diag)
{
    *out = (merger){.machine = m, .from = from};
    out->by = vta_arena_array(&out->arena, number_count(from) + 1, sizeof *out->by);
    out->before = vta_arena_array(&out->arena, number_count(from) + 1, sizeof *out->before);
    out->saved = vta_arena_array(&out->arena, number_count(from) + 1, sizeof *out->saved);
    if (out->by == NULL || out->before == NULL || out->saved == NULL) {
        vtac_vta_merge_close(out);
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < from->tensor_count; i++) {
        out->by[i] = 1;
    }
    return VTA_OK;
}

void vtac_vta_merge_close(merger *g)
{
    vta_arena_free(&g->arena);
}

vta_status vtac_vta_merge_make(merger *g, vta_diag *diag)
{
    g->region = *g->from;
    g->region.tensors = repeat(g, g->from->tensors, g->from->tensor_count, sizeof *g->from->tensors, 1);
    g->region.layers = repeat(g, g->from->layers, g->from->layer_count, sizeof *g->from->layers, 1);
    for (uint32_t i = 0; !g->failed && i < g->from->tensor_count; i++) {
        g->region.tensors[i].c *= g->by[i];
        g->region.tensors[i].w /= is_repeated(g, i) ? 1 : g->by[i];
    }
    for (uint32_t n = 0; !g->failed && n < g->from->layer_count; n++) {
        vtac_vta_layer *layer = &g->region.layers[n];
        if (layer->kind == VTAC_VTA_CONV && !is_untouched(g, layer)) {
            merge_conv(g, layer);
        } else if (layer->kind == VTAC_VTA_AVG_POOL && !is_untouched(g, layer)) {
            merge_mean(g, layer);
        }
    }
    return g->failed ? vta_no_memory(diag) : VTA_OK;
}

void vtac_vta_merge_lay_out(const merger *g, vtac_vta_region *to)
{
    for (uint32_t i = 0; i < to->tensor_count; i++) {
        vtac_vta_tensor laid_out = g->region.tensors[i];
        laid_out.c = to->tensors[i].c;
        laid_out.w = to->tensors[i].w;
        to->tensors[i] = laid_out;
    }
}
