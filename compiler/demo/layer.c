/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers, forwards and backwards.
 */
#include <math.h>
#include <string.h>

#include "attend.h"
#include "gemm.h"
#include "lanes.h"
#include "net.h"

static bool has_weights(const net_layer *l)
{
    return l->kind == NET_CONV || l->kind == NET_DEPTHWISE;
}

static uint32_t position_count(const net *n, const net_layer *l)
{
    return n->batch * l->side * l->side;
}

static uint32_t tap_count(const net_layer *l)
{
    return l->kernel * l->kernel * (l->kind == NET_DEPTHWISE ? 1 : l->in_channels);
}

/* ---- convolution: pictures `begin` to `end` as columns, one for each place of the window */

/* The places of a row whose tap `x` + place * stride lies within the picture. */
static void places_within(const net_layer *l, int64_t x, uint32_t *first, uint32_t *end)
{
    const int64_t stride = l->stride;
    const int64_t beyond = ((int64_t)l->in_side - x + stride - 1) / stride;
    *first = x < 0 ? (uint32_t)((stride - 1 - x) / stride) : 0;
    *end = beyond < (int64_t)l->side ? (uint32_t)beyond : l->side;
}

/* One row of the window in one picture: to[i] = from[x + i * stride], 0 beyond the border. */
static void gather_row(const net_layer *l, const float *from, int64_t x, float *to)
{
    uint32_t first;
    uint32_t end;
    places_within(l, x, &first, &end);
    for (uint32_t i = 0; i < first; i++) {
        to[i] = 0.0F;
    }
    if (l->stride == 1) {
        memcpy(to + first, from + x + first, (end - first) * sizeof *to);
    }
    for (uint32_t i = first; l->stride > 1 && i < end; i++) {
        to[i] = from[x + (int64_t)(i * l->stride)];
    }
    for (uint32_t i = end; i < l->side; i++) {
        to[i] = 0.0F;
    }
}

static void scatter_row(const net_layer *l, const float *from, int64_t x, float *to)
{
    uint32_t first;
    uint32_t end;
    places_within(l, x, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        to[x + (int64_t)(i * l->stride)] += from[i];
    }
}

/* Tap (y, x) of the window over one plane; forwards into a column, or back onto the plane. */
static void walk_plane(const net_layer *l, float *plane, uint32_t tap, float *column, bool back)
{
    const int64_t shift = l->kernel / 2;
    for (uint32_t y = 0; y < l->side; y++, column += l->side) {
        const int64_t row = (int64_t)(y * l->stride + tap / l->kernel) - shift;
        const int64_t x = (int64_t)(tap % l->kernel) - shift;
        if (row < 0 || row >= (int64_t)l->in_side) {
            if (!back) {
                memset(column, 0, l->side * sizeof *column);
            }
        } else if (back) {
            scatter_row(l, column, x, plane + row * l->in_side);
        } else {
            gather_row(l, plane + row * l->in_side, x, column);
        }
    }
}

static void walk_columns(const net *n, const net_layer *l, float *in, uint32_t begin, uint32_t end,
                         float *columns, bool back)
{
    const uint32_t window = l->kernel * l->kernel;
    const size_t plane = (size_t)l->in_side * l->in_side;
    for (uint32_t row = 0; row < tap_count(l); row++) {
        for (uint32_t b = begin; b < end; b++, columns += (size_t)l->side * l->side) {
            walk_plane(l, in + ((size_t)(row / window) * n->batch + b) * plane, row % window, columns, back);
        }
    }
}

/* Pictures for which the columns stay in the cache. */
static uint32_t pictures_at_once(const net *n, const net_layer *l)
{
    const uint32_t many = 256 / (l->side * l->side);
    return many == 0 ? 1 : many > n->batch ? n->batch : many;
}

static void conv_forward(net *n, net_layer *l)
{
    const uint32_t area = l->side * l->side;
    const uint32_t step = pictures_at_once(n, l);
    for (uint32_t b = 0; b < n->batch; b += step) {
        const uint32_t end = b + step < n->batch ? b + step : n->batch;
        const uint32_t width = (end - b) * area;
        walk_columns(n, l, n->layers[l->input].out, b, end, n->columns, false);
        demo_gemm(l->channels, width, tap_count(l), (matrix){l->weight, tap_count(l)},
                  (matrix){n->columns, width}, (matrix){l->raw + (size_t)b * area, position_count(n, l)}, 0);
    }
}

/* The slopes of the weights and of the input, from those of the raw result, which the layer holds by now. */
static void conv_backward(net *n, net_layer *l)
{
    const uint32_t area = l->side * l->side;
    const uint32_t step = pictures_at_once(n, l);
    const uint32_t k = tap_count(l);
    const net_layer *in = &n->layers[l->input];
    float *turned_weight = n->turned + (size_t)step * area * k;
    demo_transpose(l->channels, k, (matrix){l->weight, k}, (matrix){turned_weight, l->channels});
    for (uint32_t b = 0; b < n->batch; b += step) {
        const uint32_t end = b + step < n->batch ? b + step : n->batch;
        const uint32_t width = (end - b) * area;
        const matrix part = {l->slope + (size_t)b * area, position_count(n, l)};
        walk_columns(n, l, in->out, b, end, n->columns, false);
        demo_transpose(k, width, (matrix){n->columns, width}, (matrix){n->turned, k});
        demo_gemm(l->channels, k, width, part, (matrix){n->turned, k},
                  (matrix){demo_net_slope(n, l->weight), k}, 1);
        if (in->slope != NULL) {
            demo_gemm(k, width, l->channels, (matrix){turned_weight, l->channels}, part,
                      (matrix){n->columns, width}, 0);
            walk_columns(n, l, in->slope, b, end, n->columns, true);
        }
    }
}

/* ---- depthwise convolution: a plane at a time, tap by tap */

static void depthwise_forward(net *n, net_layer *l)
{
    const size_t area = (size_t)l->side * l->side;
    const size_t plane = (size_t)l->in_side * l->in_side;
    for (size_t i = 0; i < (size_t)l->channels * n->batch; i++) {
        float *out = l->raw + i * area;
        memset(out, 0, area * sizeof *out);
        for (uint32_t tap = 0; tap < tap_count(l); tap++) {
            const float weight = l->weight[i / n->batch * tap_count(l) + tap];
            walk_plane(l, n->layers[l->input].out + i * plane, tap, n->columns, false);
            for (size_t p = 0; p < area; p++) {
                out[p] += weight * n->columns[p];
            }
        }
    }
}

static float product_sum(const float *a, const float *b, size_t count)
{
    lanes sum = {0};
    for (size_t i = 0; i < count; i += LANES) {
        sum += lanes_load_some(a + i, count - i) * lanes_load_some(b + i, count - i);
    }
    return lanes_sum(sum);
}

static void depthwise_backward(net *n, net_layer *l)
{
    const size_t area = (size_t)l->side * l->side;
    const size_t plane = (size_t)l->in_side * l->in_side;
    const net_layer *in = &n->layers[l->input];
    float *weight_slope = demo_net_slope(n, l->weight);
    for (size_t i = 0; i < (size_t)l->channels * n->batch; i++) {
        const float *from = l->slope + i * area;
        for (uint32_t tap = 0; tap < tap_count(l); tap++) {
            const size_t at = i / n->batch * tap_count(l) + tap;
            walk_plane(l, in->out + i * plane, tap, n->columns, false);
            weight_slope[at] += product_sum(from, n->columns, area);
            for (size_t p = 0; p < area; p++) {
                n->columns[p] = from[p] * l->weight[at];
            }
            walk_plane(l, in->slope + i * plane, tap, n->columns, true);
        }
    }
}

/* ---- normalization over the batch, and the bias */

static void norm_forward(const net *n, net_layer *l)
{
    static const float keep = 0.95F;
    const size_t count = position_count(n, l);
    for (uint32_t c = 0; c < l->channels; c++) {
        const float *in = l->raw + c * count;
        wide_lanes sum = {{0}, {0}};
        wide_lanes squares = {{0}, {0}};
        for (size_t i = 0; i < count; i += LANES) {
            const wide_lanes value = lanes_widen(lanes_load_some(in + i, count - i));
            sum = wide_lanes_add(sum, value);
            squares = wide_lanes_add(squares, wide_lanes_square(value));
        }
        const double mean = wide_lanes_sum(sum) / (double)count;
        const double spread = wide_lanes_sum(squares) / (double)count - mean * mean;
        const double variance = spread > 0.0 ? spread : 0.0;
        const bool first = n->adam.steps == 0;
        l->mean[c] = first ? (float)mean : keep * l->mean[c] + (1.0F - keep) * (float)mean;
        l->variance[c] = first ? (float)variance : keep * l->variance[c] + (1.0F - keep) * (float)variance;
        l->batch_mean[c] = (float)mean;
        l->batch_scale[c] = 1.0F / sqrtf((float)variance + NET_EPSILON);
        const float scale = l->gain[c] * l->batch_scale[c];
        for (size_t i = 0; i < count; i++) {
            l->out[c * count + i] = (in[i] - (float)mean) * scale + l->bias[c];
        }
    }
}

/* Slopes of gain and bias; l->slope becomes that of the raw values. */
static void norm_backward(const net *n, net_layer *l)
{
    const size_t count = position_count(n, l);
    for (uint32_t c = 0; c < l->channels; c++) {
        float *slope = l->slope + c * count;
        const float *in = l->raw + c * count;
        const float mean = l->batch_mean[c];
        const float scale = l->batch_scale[c];
        wide_lanes sums = {{0}, {0}};
        wide_lanes alongs = {{0}, {0}}; /* with the normalized values */
        for (size_t i = 0; i < count; i += LANES) {
            const lanes here = lanes_load_some(slope + i, count - i);
            sums = wide_lanes_add(sums, lanes_widen(here));
            const lanes off = lanes_load_some(in + i, count - i) - mean;
            alongs = wide_lanes_add(alongs, lanes_widen(here * off * scale));
        }
        const double sum = wide_lanes_sum(sums);
        const double along = wide_lanes_sum(alongs);
        demo_net_slope(n, l->bias)[c] += (float)sum;
        demo_net_slope(n, l->gain)[c] += (float)along;
        const float middle = (float)(sum / (double)count);
        const float tilt = (float)(along / (double)count) * scale;
        for (size_t i = 0; i < count; i++) {
            slope[i] = l->gain[c] * scale * (slope[i] - middle - (in[i] - mean) * tilt);
        }
    }
}

static void bias_forward(const net *n, net_layer *l)
{
    const size_t count = position_count(n, l);
    for (size_t i = 0; i < l->channels * count; i++) {
        l->out[i] = l->raw[i] + l->bias[i / count];
    }
}

static void bias_backward(const net *n, const net_layer *l)
{
    const size_t count = position_count(n, l);
    for (size_t i = 0; i < l->channels * count; i++) {
        demo_net_slope(n, l->bias)[i / count] += l->slope[i];
    }
}

/* ---- the others */

static void add_forward(const net *n, net_layer *l)
{
    const size_t count = (size_t)l->channels * position_count(n, l);
    for (size_t i = 0; i < count; i++) {
        l->out[i] = n->layers[l->input].out[i] + n->layers[l->other].out[i];
    }
}

static void add_backward(const net *n, const net_layer *l)
{
    const size_t count = (size_t)l->channels * position_count(n, l);
    for (size_t i = 0; i < count; i++) {
        n->layers[l->input].slope[i] += l->slope[i];
        n->layers[l->other].slope[i] += l->slope[i];
    }
}

static void average_forward(const net *n, net_layer *l)
{
    const size_t plane = (size_t)l->in_side * l->in_side;
    for (size_t i = 0; i < (size_t)l->channels * n->batch; i++) {
        const float *in = n->layers[l->input].out + i * plane;
        lanes sum = {0};
        for (size_t p = 0; p < plane; p += LANES) {
            sum += lanes_load_some(in + p, plane - p);
        }
        l->out[i] = lanes_sum(sum) / (float)plane;
    }
}

static void average_backward(const net *n, const net_layer *l)
{
    const size_t plane = (size_t)l->in_side * l->in_side;
    for (size_t i = 0; i < plane * l->channels * n->batch; i++) {
        n->layers[l->input].slope[i] += l->slope[i / plane] / (float)plane;
    }
}

static void apply_relu(const net *n, net_layer *l)
{
    for (size_t i = 0; i < (size_t)l->channels * position_count(n, l); i++) {
        l->out[i] = l->out[i] > 0.0F ? l->out[i] : 0.0F;
    }
}

static void relu_backward(const net *n, net_layer *l)
{
    for (size_t i = 0; i < (size_t)l->channels * position_count(n, l); i++) {
        l->slope[i] = l->out[i] > 0.0F ? l->slope[i] : 0.0F;
    }
}

void demo_net_forward(net *n, net_layer *l)
{
    switch (l->kind) {
    case NET_CONV: conv_forward(n, l); break;
    case NET_DEPTHWISE: depthwise_forward(n, l); break;
    case NET_ADD: add_forward(n, l); break;
    case NET_AVERAGE: average_forward(n, l); break;
    case NET_ATTEND: demo_attend_forward(n, l); break;
    }
    if (has_weights(l)) {
        (l->norm ? norm_forward : bias_forward)(n, l);
    }
    if (l->relu) {
        apply_relu(n, l);
    }
}

void demo_net_backward(net *n, net_layer *l)
{
    if (l->relu) {
        relu_backward(n, l);
    }
    if (l->norm) {
        norm_backward(n, l);
    } else if (has_weights(l)) {
        bias_backward(n, l);
    }
    switch (l->kind) {
    case NET_CONV: conv_backward(n, l); break;
    case NET_DEPTHWISE: depthwise_backward(n, l); break;
    case NET_ADD: add_backward(n, l); break;
    case NET_AVERAGE: average_backward(n, l); break;
    case NET_ATTEND: demo_attend_backward(n, l); break;
    }
}
