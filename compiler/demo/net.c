/* SPDX-License-Identifier: Apache-2.0 */
#include "net.h"

#include <math.h>
#include <string.h>

#include "attend.h"
#include "draw.h"
#include "outline.h"
#include "vta/fail.h"
#include "vta/hash.h"
#include "vtac/exact.h"

/* The first layer is the picture. */
#define LAYER(kind_, input_, other_, channels_, kernel_, stride_, norm_, relu_)                              \
    {.kind = NET_##kind_,                                                                                    \
     .input = (input_),                                                                                      \
     .other = (other_),                                                                                      \
     .channels = (channels_),                                                                                \
     .kernel = (kernel_),                                                                                    \
     .stride = (stride_),                                                                                    \
     .norm = (norm_),                                                                                        \
     .relu = (relu_)},
static const net_layer convolutions[] = {
    {0},
#include "layers.def"
};
static const net_layer vision[] = {
    {0},
#include "vision.def"
};
#undef LAYER

typedef struct net_plan {
    const net_layer *layers;
    uint32_t count;
} net_plan;

static const net_plan plans[] = {
    [NET_CONVOLUTIONS] = {convolutions, sizeof convolutions / sizeof convolutions[0]},
    [NET_VISION] = {vision, sizeof vision / sizeof vision[0]},
};

/* ---- memory */

static float *alloc_floats(net *n, size_t count)
{
    return vta_arena_array(&n->arena, count, sizeof(float));
}

static size_t weight_count(const net_layer *l)
{
    const bool has = l->kind == NET_CONV || l->kind == NET_DEPTHWISE;
    const size_t inputs = l->kind == NET_DEPTHWISE ? 1 : l->in_channels;
    return has ? l->channels * inputs * l->kernel * l->kernel : 0;
}

static void measure_layers(net *n)
{
    for (uint32_t i = 1; i < n->count; i++) {
        net_layer *l = &n->layers[i];
        const net_layer *in = &n->layers[l->input];
        l->in_channels = in->channels;
        l->in_side = in->side;
        l->side = l->kind == NET_AVERAGE ? 1 : (in->side + l->stride - 1) / l->stride;
        n->parameter_count += weight_count(l) + (weight_count(l) == 0 ? 0 : l->channels * (1 + l->norm));
    }
}

static void place_parameters(net *n)
{
    float *at = n->parameters;
    for (uint32_t i = 1; i < n->count; i++) {
        net_layer *l = &n->layers[i];
        if (weight_count(l) == 0) {
            continue;
        }
        l->weight = at;
        l->bias = l->weight + weight_count(l);
        at = l->bias + l->channels;
        if (l->norm) {
            l->gain = at;
            at += l->channels;
        }
    }
}

/* Values and statistics of the layers, and scratch for the largest. */
static bool allocate_layers(net *n)
{
    size_t columns = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        net_layer *l = &n->layers[i];
        const size_t area = (size_t)l->side * l->side;
        const size_t values = l->channels * n->batch * area;
        const size_t taps = (size_t)l->kernel * l->kernel * l->in_channels;
        const size_t wide = l->kind == NET_ATTEND ? demo_attend_scratch(l)
                                                  : (area > 256 ? area : 256) * taps + weight_count(l);
        columns = wide > columns ? wide : columns;
        l->shares = alloc_floats(n, demo_attend_shares(n, l) + 1);
        l->out = alloc_floats(n, values);
        l->raw = l->norm ? alloc_floats(n, values) : l->out;
        l->slope = i == 0 ? NULL : alloc_floats(n, values);
        l->mean = alloc_floats(n, l->channels);
        l->variance = alloc_floats(n, l->channels);
        l->batch_mean = alloc_floats(n, l->channels);
        l->batch_scale = alloc_floats(n, l->channels);
        if (l->out == NULL || l->raw == NULL || (i > 0 && l->slope == NULL) || l->mean == NULL ||
            l->variance == NULL || l->batch_mean == NULL || l->batch_scale == NULL || l->shares == NULL) {
            return false;
        }
    }
    n->columns = alloc_floats(n, columns);
    n->turned = alloc_floats(n, columns);
    return n->columns != NULL && n->turned != NULL;
}

/* ---- chance: xorshift64*, and a sum of uniforms for what is normal */

static float random_normal(uint64_t *state)
{
    float sum = -6.0F;
    for (int i = 0; i < 12; i++) {
        *state ^= *state >> 12;
        *state ^= *state << 25;
        *state ^= *state >> 27;
        sum += (float)((*state * UINT64_C(0x2545f4914f6cdd1d)) >> 40) / 16777216.0F;
    }
    return sum;
}

static void draw_weights(net *n, uint64_t seed)
{
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (uint32_t i = 1; i < n->count; i++) {
        net_layer *l = &n->layers[i];
        const size_t count = weight_count(l);
        for (size_t k = 0; k < count; k++) {
            l->weight[k] = random_normal(&state) * sqrtf(2.0F * (float)l->channels / (float)count);
        }
        for (uint32_t c = 0; l->norm && c < l->channels; c++) {
            l->gain[c] = 1.0F;
        }
    }
}

vta_status demo_net_create(net_form form, uint32_t batch, uint64_t seed, net *out, vta_diag *diag)
{
    const net_plan *plan = &plans[form];
    *out = (net){.batch = batch, .count = plan->count};
    out->layers = vta_arena_array(&out->arena, plan->count, sizeof *out->layers);
    if (out->layers == NULL) {
        return vta_no_memory(diag);
    }
    memcpy(out->layers, plan->layers, plan->count * sizeof *out->layers);
    out->layers[0].channels = PICTURE_CHANNELS;
    out->layers[0].side = PICTURE_SIDE;
    measure_layers(out);
    float **const arrays[] = {&out->parameters, &out->slopes, &out->adam.moments[0], &out->adam.moments[1]};
    bool good = out->layers[plan->count - 1].channels == demo_class_count;
    for (size_t i = 0; good && i < sizeof arrays / sizeof arrays[0]; i++) {
        *arrays[i] = alloc_floats(out, out->parameter_count);
        good = *arrays[i] != NULL;
    }
    if (!good || !allocate_layers(out)) {
        demo_net_free(out);
        return vta_no_memory(diag);
    }
    place_parameters(out);
    draw_weights(out, seed);
    return VTA_OK;
}

void demo_net_free(net *n)
{
    vta_arena_free(&n->arena);
    *n = (net){0};
}

float *demo_net_input(net *n)
{
    return n->layers[0].out;
}

float *demo_net_slope(const net *n, const float *parameter)
{
    return n->slopes + (parameter - n->parameters);
}

/* ---- a step */

static float fast_exponential(float x)
{
    return (float)vtac_exp((double)x);
}

/* Softmax and its loss; the last layer's slope. */
static float softmax_loss(const net *n, const uint32_t *classes, uint32_t *right)
{
    const net_layer *l = &n->layers[n->count - 1];
    float loss = 0.0F;
    for (uint32_t b = 0; b < n->batch; b++) {
        uint32_t best = 0;
        float sum = 0.0F;
        for (uint32_t c = 1; c < l->channels; c++) {
            best = l->out[c * n->batch + b] > l->out[best * n->batch + b] ? c : best;
        }
        const float top = l->out[best * n->batch + b];
        for (uint32_t c = 0; c < l->channels; c++) {
            sum += fast_exponential(l->out[c * n->batch + b] - top);
        }
        for (uint32_t c = 0; c < l->channels; c++) {
            const float share = fast_exponential(l->out[c * n->batch + b] - top) / sum;
            l->slope[c * n->batch + b] = (share - (c == classes[b] ? 1.0F : 0.0F)) / (float)n->batch;
        }
        loss += (float)vtac_log((double)sum) + top - l->out[classes[b] * n->batch + b];
        *right += best == classes[b];
    }
    return loss / (float)n->batch;
}

uint64_t demo_net_fingerprint(const net *n)
{
    uint64_t hash = VTA_HASH_START;
    hash = demo_hash_floats(hash, n->parameters, n->parameter_count);
    for (uint32_t i = 1; i < n->count; i++) {
        hash = demo_hash_floats(hash, n->layers[i].mean, n->layers[i].channels);
        hash = demo_hash_floats(hash, n->layers[i].variance, n->layers[i].channels);
    }
    return hash;
}

float demo_net_learn(net *n, const uint32_t *classes, float rate, uint32_t *right)
{
    memset(n->slopes, 0, n->parameter_count * sizeof *n->slopes);
    for (uint32_t i = 1; i < n->count; i++) {
        const net_layer *l = &n->layers[i];
        memset(l->slope, 0, (size_t)l->channels * n->batch * l->side * l->side * sizeof *l->slope);
        demo_net_forward(n, &n->layers[i]);
    }
    const float loss = softmax_loss(n, classes, right);
    for (uint32_t i = n->count; i-- > 1;) {
        demo_net_backward(n, &n->layers[i]);
    }
    demo_adam_adjust(&n->adam, n->parameters, n->slopes, n->parameter_count, rate);
    return loss;
}
