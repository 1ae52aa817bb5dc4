/* SPDX-License-Identifier: Apache-2.0
 *
 * A layer as a convolution: its geometry on the accelerator, its weights and its parameters.
 *
 * Zero points. With padding that holds the input's zero point, Σ (x - zx)·w = Σ x·w - zx·Σ w; the second term
 * is a constant of the channel and goes into the bias. A weight's zero point is subtracted when the weights
 * are packed. If the difference needs more than 8 bits, it becomes a sum of several *planes*, each with tiles
 * of its own.
 */
#include "sched.h"
#include "vta/number.h"

static const vtac_vta_window pointwise = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};

vtac_vta_window vtac_vta_conv_fold(const vtac_vta_window *window, fold_kind kind)
{
    vtac_vta_window fold = pointwise;
    const int from = kind == FOLD_ALL ? 0 : kind == FOLD_COLUMNS ? 1 : 2;
    for (int d = from; d < 2; d++) {
        fold.kernel[d] = window->kernel[d];
        fold.stride[d] = window->stride[d];
        fold.dilation[d] = window->dilation[d];
        fold.before[d] = window->before[d];
        fold.after[d] = window->after[d];
    }
    return fold;
}

/* The part of the window that the fold leaves to the accelerator. */
static vtac_vta_window rest_of_window(const vtac_vta_window *window, const vtac_vta_window *fold)
{
    vtac_vta_window left = *window;
    for (int d = 0; d < 2; d++) {
        if (fold->kernel[d] != 1 || fold->stride[d] != 1 || fold->before[d] != 0 || fold->after[d] != 0) {
            left.kernel[d] = left.stride[d] = left.dilation[d] = 1;
            left.before[d] = left.after[d] = 0;
        }
    }
    return left;
}

bool vtac_vta_window_is_point(const vtac_vta_window *w)
{
    bool one = true;
    for (int d = 0; d < 2; d++) {
        one = one && w->kernel[d] == 1 && w->stride[d] == 1 && w->before[d] == 0 && w->after[d] == 0;
    }
    return one;
}

bool vtac_vta_narrow_weights(const vtac_vta_layer *layer, int64_t c_in, int64_t c_out)
{
    bool narrow = layer->kind == VTAC_VTA_CONV && layer->weights != NULL;
    const int64_t row = c_in / layer->groups * layer->window.kernel[0] * layer->window.kernel[1];
    for (int64_t k = 0; narrow && k < c_out * row; k++) {
        const int32_t v = layer->weights[k] - (layer->weight_zero != NULL ? layer->weight_zero[k / row] : 0);
        narrow = v >= -8 && v <= 7;
    }
    return narrow;
}

/* True if the machine has LOADs of int4 and int4 holds every weight less its zero point. */
static bool has_narrow_weights(const conv *c)
{
    return c->machine->config->wgt4 != 0 &&
           vtac_vta_narrow_weights(c->layer, c->c_in / (c->fold.kernel[0] * c->fold.kernel[1]), c->c_out);
}

static int64_t plane_count(const conv *c)
{
    const vtac_vta_layer *layer = c->layer;
    if (conv_packed(c)) {
        return layer->planes;
    }
    if (layer->kind != VTAC_VTA_CONV || layer->weight_zero == NULL) {
        return 1;
    }
    const int64_t row = c->c_in / c->groups * c->window.kernel[0] * c->window.kernel[1];
    int64_t planes = 1;
    for (int64_t o = 0; o < c->c_out; o++) {
        for (int64_t k = 0; k < row; k++) {
            const int64_t v = layer->weights[o * row + k] - layer->weight_zero[o];
            planes = vta_max(planes, v > 0 ? vta_ceil_div(v, INT8_MAX) : vta_ceil_div(-v, -INT8_MIN));
        }
    }
    return planes;
}

/* Decides whether the DEPTHWISE instruction applies, and how it cuts windows: it takes a few taps at a time.
 * Best are pieces of 3 x 3, whose columns cost one cycle each; else narrow pieces, whose columns are shared
 * with the neighbouring outputs. The instruction reaches two groups of block_out lanes; if a tile has more,
 * the layer runs as dense products. */
static void find_depthwise(conv *c)
{
    enum { MAX_TAPS = 15, MAX_COLUMN_STEP = 7, THREE = 3, GROUPS = 2 }; /* DEPTHWISE.group has one bit */
    const machine *m = c->machine;
    const vtac_vta_window *w = &c->window;
    const bool by_channels = c->groups > 1 && c->groups == c->c_in && c->groups == c->c_out;
    c->depthwise = m->config->depthwise_taps > 0 && !conv_packed(c) && (by_channels || c->lanes > 0) &&
                   c->planes == 1 && m->ri == 1 && m->ro <= GROUPS && w->dilation[1] <= MAX_COLUMN_STEP;
    c->alike = c->depthwise && conv_is_mean(c);
    const vta_window_steps square =
        vta_window_steps_of(m->config, THREE, THREE, w->dilation[1], w->dilation[0], w->stride[1]);
    c->three = c->depthwise && square.rows == THREE && w->kernel[0] >= THREE && w->kernel[1] >= THREE;
    const int64_t widest = square.kept > 0 && c->ow > 1 ? THREE : MAX_TAPS;
    c->piece_cols = vta_min(w->kernel[1], c->three ? THREE : vta_min(widest, m->block_out));
    c->piece_rows = vta_min(w->kernel[0], c->three ? THREE : vta_min(MAX_TAPS, m->block_out / c->piece_cols));
}

int64_t vtac_vta_conv_pitch(const conv *c, int64_t cols)
{
    return c->three && cols % 2 == 0 ? cols + 1 : cols;
}

interval vtac_vta_conv_steps(const conv *c, int64_t at, int64_t count)
{
    const int64_t first = at / c->phases;
    return (interval){first, count > 0 ? (at + count - 1) / c->phases - first + 1 : 0};
}

int64_t vtac_vta_conv_steps_max(const conv *c, int64_t count)
{
    return c->phases == 1 ? count
                          : vta_min((count + c->phases - 2) / c->phases + 1, vta_ceil_div(c->ow, c->phases));
}

void vtac_vta_conv_of(const machine *m, const vtac_vta_region *region, uint32_t number, conv *out)
{
    const vtac_vta_layer *layer = &region->layers[number];
    const vtac_vta_tensor *in = &region->tensors[layer->inputs[0]], *to = &region->tensors[layer->output];
    *out = (conv){
        .machine = m,
        .region = region,
        .layer = layer,
        .number = number,
        .input = layer->inputs[0],
        .output = layer->output,
        .images = vta_ceil_div(in->n, m->batch),
        .c_in = in->folded ? in->stored_c : in->c,
        .h = in->folded ? in->stored_h : in->h,
        .w = in->folded ? in->stored_w : in->w,
        .c_out = layer->bytes > 0 ? layer->outputs : to->c,
        .oh = to->h,
        .ow = to->w,
        .groups = layer->kind == VTAC_VTA_CONV ? layer->groups : in->c,
        .fold = in->folded ? in->fold : pointwise,
        .zero_in = in->zero,
        .zero_out = to->zero - layer->zero_less,
        .rounded = zero_rounded(layer, to) - layer->zero_less,
        .low = layer->low,
        .high = layer->high,
        .ro = m->ro,
        .lanes = layer->lanes,
        .phases = vta_max(layer->phases, 1),
        .twice = in->twice,
    };
    if (layer->narrow >
        0) { /* each pixel of the output is an element of OUT: merged or not, they lie alike */
        out->c_out = out->groups = to->c / layer->narrow;
        out->ow = to->w * layer->narrow;
        out->ro = 1;
    }
    out->groups = layer->lanes > 0 ? 1 : out->groups;
    out->window = rest_of_window(&layer->window, &out->fold);
    out->tiles = in->folded ? NULL : layer->tiles;
    out->filled = layer->filled;
    out->in_blocks = vta_ceil_div(out->c_in, m->block_in);
    out->out_blocks = vta_ceil_div(out->c_out, m->block) * out->ro;
    out->pairs = conv_is_mean(out) ? layer->divisor_count : conv_made_blocks(out);
    out->record = record_entries(layer->wide);
    out->planes = plane_count(out);
    out->narrow = has_narrow_weights(out);
    find_depthwise(out);
    out->lanes = out->depthwise ? out->lanes : 0;
    out->tiles = out->lanes > 0 ? NULL : out->tiles;
    if (vtac_vta_window_is_point(&out->window)) {
        out->w *= out->h;
        out->ow *= out->oh;
        out->h = out->oh = 1;
    }
    out->made[0] = out->oh;
    out->made[1] = out->ow;
}

int64_t vtac_vta_elements(const vtac_vta_layer *layer, int d, int64_t at, int64_t size)
{
    const vtac_vta_window *w = &layer->window;
    const int64_t first = at * w->stride[d] - w->before[d];
    const int64_t low = -layer->counted_before[d] - first, end = size + layer->counted_after[d] - first;
    const int64_t skipped = vta_ceil_div(vta_max(low, 0), w->dilation[d]);
    const int64_t taps = vta_min(w->kernel[d], vta_ceil_div(vta_max(end, 0), w->dilation[d]));
    return vta_max(taps - skipped, 0);
}

void vtac_vta_conv_join(conv *c, const vtac_vta_layer *sum)
{
    const bool first = sum->inputs[0] == c->output;
    c->sum = sum;
    c->other = sum->inputs[first ? 1 : 0];
    c->factor = first ? sum->sum.a : sum->sum.b;
    c->other_factor = first ? sum->sum.b : sum->sum.a;
    c->output = sum->output;
}

void vtac_vta_conv_pool(conv *c, const vtac_vta_layer *pool, int64_t slice)
{
    const vtac_vta_tensor *in = &c->region->tensors[c->layer->inputs[0]];
    const vtac_vta_tensor *own = &c->region->tensors[c->layer->output];
    const vtac_vta_tensor *to = &c->region->tensors[pool->output];
    if (pool->kind == VTAC_VTA_AVG_POOL) {
        conv mean;
        vtac_vta_conv_of(c->machine, c->region, (uint32_t)(pool - c->region->layers), &mean);
        c->mean_record = mean.record;
        c->mean_zero = mean.rounded;
    }
    c->pool = pool;
    c->slice = slice;
    c->output = pool->output;
    c->h = in->folded ? in->stored_h : in->h;
    c->w = in->folded ? in->stored_w : in->w;
    c->made[0] = own->h;
    c->made[1] = own->w;
    c->oh = to->h;
    c->ow = to->w;
}

interval vtac_vta_conv_pool_taps(const conv *c, int d, int64_t at)
{
    const vtac_vta_window *w = &c->pool->window;
    const int64_t first = at * w->stride[d] - w->before[d];
    const int64_t skipped = vta_ceil_div(vta_max(-first, 0), w->dilation[d]);
    const int64_t end = vta_min(w->kernel[d], vta_ceil_div(vta_max(c->made[d] - first, 0), w->dilation[d]));
    return (interval){skipped, end - skipped};
}

int64_t vtac_vta_conv_made_max(const conv *c, int d, int64_t count)
{
    if (c->pool == NULL) {
        return count;
    }
    const vtac_vta_window *w = &c->pool->window;
    return vta_min((count - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] + 1, c->made[d]);
}

interval vtac_vta_conv_made(const conv *c, int d, int64_t at, int64_t count)
{
    if (c->pool == NULL) {
        return (interval){at, count};
    }
    const vtac_vta_window *w = &c->pool->window;
    const int64_t first = at * w->stride[d] - w->before[d];
    const int64_t end = first + (count - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] + 1;
    return (interval){vta_max(first, 0), vta_min(end, c->made[d]) - vta_max(first, 0)};
}

/* The row or column that only one window of a pool covers, for windows of two or three with stride two. */
int64_t vtac_vta_conv_own_first(const conv *c, int d, int64_t at)
{
    const vtac_vta_window *w = &c->pool->window;
    return at * w->stride[d] - w->before[d] + w->kernel[d] - w->stride[d];
}

bool vtac_vta_conv_can_part(const conv *c)
{
    bool good =
        c->pool != NULL && c->pool->kind == VTAC_VTA_MAX_POOL && !c->depthwise && c->machine->side == 0;
    for (int d = 0; d < 2 && good; d++) {
        const vtac_vta_window *w = &c->pool->window;
        const int64_t last = (d == 0 ? c->oh : c->ow) - 1;
        good = w->stride[d] == 2 && w->dilation[d] == 1 && (w->kernel[d] == 2 || w->kernel[d] == 3) &&
               vtac_vta_conv_own_first(c, d, 0) >= 0 && vtac_vta_conv_own_first(c, d, last) < c->made[d];
    }
    return good;
}

/* Rows can be kept if only two rows of outputs share them, and padding ends none of those windows. */
int64_t vtac_vta_conv_shared_rows(const conv *c)
{
    const vtac_vta_window *w = &c->pool->window;
    const int64_t shared = w->kernel[0] - w->stride[0];
    return w->dilation[0] == 1 && shared > 0 && shared <= w->stride[0] && w->before[0] <= w->stride[0]
               ? shared
               : 0;
}

reach vtac_vta_conv_reach(const conv *c, int64_t out_block, int64_t count)
{
    if (c->groups == 1) {
        return (reach){0, c->in_blocks};
    }
    const int64_t in_group = c->c_in / c->groups, out_group = c->c_out / c->groups;
    const int64_t first = vta_min(out_block * c->machine->block_out, c->c_out - 1) / out_group;
    const int64_t last = vta_min((out_block + count) * c->machine->block_out, c->c_out) - 1;
    const int64_t begin = first * in_group / c->machine->block_in;
    const int64_t end = vta_ceil_div((last / out_group + 1) * in_group, c->machine->block_in);
    return (reach){begin, end - begin};
}

int32_t vtac_vta_conv_weight(const conv *c, int64_t out, int64_t in, int64_t ky, int64_t kx)
{
    const vtac_vta_layer *layer = c->layer;
    const vtac_vta_window *whole = &layer->window;
    const int64_t own = out % c->c_out;
    if (out >= c->c_out * c->phases || in >= c->c_in) {
        return 0;
    }
    if (conv_is_mean(c)) {
        return out == (c->lanes > 0 ? in % c->lanes : in) ? 1 + layer->more_times : 0;
    }
    const int64_t fold_rows = c->fold.kernel[0], fold_cols = c->fold.kernel[1];
    const int64_t channels = c->c_in / (fold_rows * fold_cols), per_group = channels / c->groups;
    const int64_t channel = in % channels - own / (c->c_out / c->groups) * per_group;
    if (channel < 0 || channel >= per_group) {
        return 0;
    }
    const int64_t y = fold_rows > 1 ? in / channels / fold_cols : ky;
    const int64_t x = fold_cols > 1 ? in / channels % fold_cols : kx;
    const int64_t at = ((out * per_group + channel) * whole->kernel[0] + y) * whole->kernel[1] + x;
    return layer->weights[at] - (layer->weight_zero != NULL ? layer->weight_zero[own] : 0);
}

static int64_t weight_sum(const conv *c, int64_t out)
{
    const vtac_vta_layer *layer = c->layer;
    const int64_t channels = c->c_in / (c->fold.kernel[0] * c->fold.kernel[1]);
    const int64_t taps = layer->window.kernel[0] * layer->window.kernel[1];
    const int64_t row = channels / c->groups * taps;
    if (conv_is_mean(c)) {
        return taps * conv_merged(c) * (1 + layer->more_times);
    }
    if (conv_packed(c)) {
        return 0; /* w's zero point is 0, or the records are an input, too */
    }
    const int64_t zero = layer->weight_zero != NULL ? layer->weight_zero[out] : 0;
    int64_t sum = -row * zero;
    for (int64_t k = 0; k < row; k++) {
        sum += layer->weights[out * row + k];
    }
    return sum;
}

void vtac_vta_record_fill(int32_t *lane, int64_t lanes, bool wide, int32_t bias, vtac_fixed scale)
{
    lane[0] = bias;
    lane[lanes] = wide ? (int32_t)scale.mult : vta_requant_scale(scale.mult, scale.shift);
    if (wide) {
        lane[2 * lanes] = (int32_t)scale.shift;
    }
}

void vtac_vta_conv_params(const conv *c, int32_t *entries)
{
    const machine *m = c->machine;
    const int64_t lanes = m->batch * m->block_out;
    for (int64_t i = 0; i < (conv_is_mean(c) ? c->pairs * m->block_out : c->c_out); i++) {
        const int64_t o = conv_is_mean(c) ? 0 : i; /* in means all channels have the same weights */
        const int64_t own = conv_is_mean(c) ? i / m->block_out : i;
        const int64_t bias = c->layer->bias != NULL ? c->layer->bias[own] : 0;
        for (int64_t b = 0; b < m->batch; b++) {
            int32_t *record = entries + i / m->block_out * c->record * lanes;
            vtac_vta_record_fill(record + b * m->block_out + i % m->block_out, lanes, c->layer->wide,
                                 (int32_t)(bias - c->zero_in * weight_sum(c, o)), c->layer->scales[own]);
        }
    }
}
