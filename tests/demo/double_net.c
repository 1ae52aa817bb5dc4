/* SPDX-License-Identifier: Apache-2.0 */
#include "double_net.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static size_t values(const double_net *d, const net_layer *l)
{
    return (size_t)l->channels * d->n->batch * l->side * l->side;
}

static const double *parameter(const double_net *d, const float *which)
{
    return d->parameters + (which - d->n->parameters);
}

static double *numbers(size_t count)
{
    double *all = calloc(count, sizeof *all);
    assert_non_null(all);
    return all;
}

void double_net_start(const net *n, double_net *out)
{
    *out = (double_net){.n = n, .parameters = numbers(n->parameter_count)};
    assert_true(n->count <= DOUBLE_NET_LAYERS);
    for (size_t i = 0; i < n->parameter_count; i++) {
        out->parameters[i] = (double)n->parameters[i];
    }
    for (uint32_t i = 0; i < n->count; i++) {
        out->out[i] = numbers(values(out, &n->layers[i]));
    }
    for (size_t i = 0; i < values(out, &n->layers[0]); i++) {
        out->out[0][i] = (double)n->layers[0].out[i];
    }
}

void double_net_free(double_net *d)
{
    free(d->parameters);
    for (uint32_t i = 0; i < d->n->count; i++) {
        free(d->out[i]);
    }
}

/* One place of a window over the plane `in`. */
static double window(const net_layer *l, const double *in, const double *weight, int64_t y, int64_t x)
{
    const int64_t kernel = l->kernel;
    const int64_t side = l->in_side;
    double sum = 0.0;
    for (int64_t tap = 0; tap < kernel * kernel; tap++) {
        const int64_t row = y * l->stride + tap / kernel - kernel / 2;
        const int64_t column = x * l->stride + tap % kernel - kernel / 2;
        if (row >= 0 && row < side && column >= 0 && column < side) {
            sum += weight[tap] * in[row * side + column];
        }
    }
    return sum;
}

/* Channel c of picture b. */
static void convolve(const double_net *d, const net_layer *l, uint32_t c, uint32_t b, double *out)
{
    const bool depthwise = l->kind == NET_DEPTHWISE;
    const uint32_t inputs = depthwise ? 1 : l->in_channels;
    const size_t taps = (size_t)l->kernel * l->kernel;
    const size_t plane = (size_t)l->in_side * l->in_side;
    for (size_t i = 0; i < (size_t)l->side * l->side; i++) {
        out[i] = 0.0;
        for (uint32_t k = 0; k < inputs; k++) {
            const double *in = d->out[l->input] + ((depthwise ? c : k) * d->n->batch + b) * plane;
            const double *weight = parameter(d, l->weight) + (c * inputs + k) * taps;
            out[i] += window(l, in, weight, (int64_t)(i / l->side), (int64_t)(i % l->side));
        }
    }
}

/* The steps behind the convolution of a channel: normalization over the batch, and the bias. */
static void normalize(const double_net *d, const net_layer *l, uint32_t c, double *out, size_t count)
{
    double mean = 0.0;
    double variance = 0.0;
    for (size_t i = 0; l->norm && i < count; i++) {
        mean += out[i] / (double)count;
    }
    for (size_t i = 0; l->norm && i < count; i++) {
        variance += (out[i] - mean) * (out[i] - mean) / (double)count;
    }
    const double gain = l->norm ? parameter(d, l->gain)[c] / sqrt(variance + (double)NET_EPSILON) : 1.0;
    for (size_t i = 0; i < count; i++) {
        out[i] = (out[i] - mean) * gain + parameter(d, l->bias)[c];
    }
}

static void weigh(const double_net *d, const net_layer *l, double *out)
{
    const size_t area = (size_t)l->side * l->side;
    for (uint32_t c = 0; c < l->channels; c++) {
        double *channel = out + c * d->n->batch * area;
        for (uint32_t b = 0; b < d->n->batch; b++) {
            convolve(d, l, c, b, channel + b * area);
        }
        normalize(d, l, c, channel, d->n->batch * area);
    }
}

static void average(const net_layer *l, const double *in, double *out, size_t count)
{
    const size_t plane = (size_t)l->in_side * l->in_side;
    for (size_t i = 0; i < count; i++) {
        out[i] = 0.0;
        for (size_t p = 0; p < plane; p++) {
            out[i] += in[i * plane + p] / (double)plane;
        }
    }
}

/* The shares of all places of a picture in what a place of a head mixes; a channel has a row of places. */
static void share(const net_layer *l, const double *query, const double *key, size_t row, size_t place,
                  double *shares)
{
    const size_t area = (size_t)l->side * l->side;
    double sum = 0.0;
    for (size_t k = 0; k < area; k++) {
        double score = 0.0;
        for (uint32_t c = 0; c < l->kernel; c++) {
            score += query[c * row + place] * key[c * row + k];
        }
        shares[k] = exp(score / sqrt((double)l->kernel));
        sum += shares[k];
    }
    for (size_t k = 0; k < area; k++) {
        shares[k] /= sum;
    }
}

/* Each channel's place mixes the values of all places of its picture. */
static void attend(const double_net *d, const net_layer *l, double *out)
{
    enum { MAX_PLACES = 256 };
    const size_t area = (size_t)l->side * l->side;
    const size_t row = d->n->batch * area;
    const double *query = d->out[l->input];
    const double *key = query + l->channels * row;
    const double *value = key + l->channels * row;
    double shares[MAX_PLACES];
    assert_true(area <= MAX_PLACES);
    for (size_t i = 0; i < l->channels / l->kernel * row; i++) {
        const size_t first = i / row * l->kernel * row + i % row / area * area;
        share(l, query + first, key + first, row, i % area, shares);
        for (uint32_t c = 0; c < l->kernel; c++) {
            double sum = 0.0;
            for (size_t k = 0; k < area; k++) {
                sum += shares[k] * value[first + c * row + k];
            }
            out[first + c * row + i % area] = sum;
        }
    }
}

static void forward(double_net *d, uint32_t i)
{
    const net_layer *l = &d->n->layers[i];
    const size_t count = values(d, l);
    double *out = d->out[i];
    if (l->kind == NET_AVERAGE) {
        average(l, d->out[l->input], out, count);
    } else if (l->kind == NET_ATTEND) {
        attend(d, l, out);
    } else if (l->kind != NET_ADD) {
        weigh(d, l, out);
    }
    for (size_t k = 0; k < count; k++) {
        out[k] = l->kind == NET_ADD ? d->out[l->input][k] + d->out[l->other][k] : out[k];
        out[k] = l->relu && l->out[k] <= 0.0F ? 0.0 : out[k];
    }
}

double double_net_loss(double_net *d, uint32_t from, const uint32_t *classes)
{
    const uint32_t batch = d->n->batch;
    const double *out = d->out[d->n->count - 1];
    double loss = 0.0;
    for (uint32_t i = from; i < d->n->count; i++) {
        forward(d, i);
    }
    for (uint32_t b = 0; b < batch; b++) {
        double sum = 0.0;
        for (uint32_t c = 0; c < d->n->layers[d->n->count - 1].channels; c++) {
            sum += exp(out[c * batch + b] - out[classes[b] * batch + b]);
        }
        loss += log(sum) / (double)batch;
    }
    return loss;
}
