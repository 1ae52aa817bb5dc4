/* SPDX-License-Identifier: Apache-2.0
 *
 * The network while it learns: float32, one batch at a time. Values are laid out [channel][picture][y][x], so
 * that a convolution of the whole batch is one product of matrices and a channel lies in one piece.
 */
#ifndef DEMO_NET_H
#define DEMO_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adam.h"
#include "vta/arena.h"
#include "vta/status.h"

#define NET_EPSILON 1e-5F /* added to a variance */

typedef enum net_form { NET_CONVOLUTIONS, NET_VISION } net_form; /* layers.def, vision.def */

typedef enum net_kind { NET_CONV, NET_DEPTHWISE, NET_ADD, NET_AVERAGE, NET_ATTEND } net_kind;

typedef struct net_layer {
    net_kind kind;
    uint32_t input, other, channels, kernel, stride;
    bool norm, relu;

    uint32_t in_channels, in_side, side;
    float *weight;          /* [channels][in_channels or 1][kernel][kernel] */
    float *bias;            /* [channels] */
    float *gain;            /* of the normalization; NULL without */
    float *mean, *variance; /* over the pictures seen, for use */
    float *batch_mean, *batch_scale;
    float *shares;      /* of attention: [picture][head][place][place] */
    float *raw;         /* before normalization; without: as `out` */
    float *out, *slope; /* the value and the slope of the loss along it */
} net_layer;

typedef struct net {
    uint32_t batch, count; /* layers[0] is the picture */
    net_layer *layers;
    float *parameters, *slopes; /* of all layers, one behind the other */
    adam adam;
    size_t parameter_count;
    float *columns, *turned; /* scratch */
    vta_arena arena;
} net;

/* Weights are drawn from the seed. */
vta_status demo_net_create(net_form form, uint32_t batch, uint64_t seed, net *out, vta_diag *diag);
void demo_net_free(net *n);

/* Buffer of a batch's pictures: [channel][picture][y][x]. */
float *demo_net_input(net *n);

/* One step of Adam at the given rate; returns the mean loss, and how many pictures were right before it. */
float demo_net_learn(net *n, const uint32_t *classes, float rate, uint32_t *right);

/* A hash of the bits of all weights and statistics: equal wherever the same was learnt. */
uint64_t demo_net_fingerprint(const net *n);

/* layer.c, for net.c: a layer forwards and, from its slope, backwards. */
void demo_net_forward(net *n, net_layer *layer);
void demo_net_backward(net *n, net_layer *layer);
/* Gradient of a parameter. */
float *demo_net_slope(const net *n, const float *parameter);

#endif
