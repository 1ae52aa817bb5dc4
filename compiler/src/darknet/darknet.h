/* SPDX-License-Identifier: Apache-2.0
 *
 * What the importers of Darknet's layers share. Each gets the value of the layer before and gives its own;
 * failures stay in the maker.
 */
#ifndef VTAC_DARKNET_DARKNET_H
#define VTAC_DARKNET_DARKNET_H

#include "../import/maker.h"
#include "cfg.h"

enum { MOST_SIZE = 1 << 16, MOST_WEIGHTS = 0x7fffffff, DK_MOST_STATES = 256 };

typedef struct darknet {
    vtac_builder maker;
    const cfg_section *section;
    const cfg_section *layers; /* of the cfg, behind [net] */
    uint32_t count, number;    /* layers; the one that is imported */
    vtac_id *values;           /* by layer */
    size_t *begins;            /* where each layer's weights begin, and behind the last one's: in bytes */
    uint32_t *owners;          /* whose weights each layer has: its own, or an earlier one's */
    const uint8_t *weights;
    size_t size, at;    /* of the weights, in bytes */
    bool turned;        /* dense weights are given transposed */
    const char *folder; /* of the cfg, or NULL */
    bool keeps_states;
    vtac_id states[DK_MOST_STATES]; /* as the run leaves them; the graph's last inputs are what it found */
    uint32_t state_count;
} darknet;

typedef vtac_id dk_layer_fn(darknet *d, vtac_id x);

/* A row of the table of layers (layers.c); NULL: there is none of that type. */
typedef struct dk_layer {
    const char *type;
    dk_layer_fn *make;
    bool boxes; /* what goes in is an output of the network */
} dk_layer;
const dk_layer *dk_layer_of(const char *type);

/* ---- values.c */

/* An option of the section. */
int64_t dk_option(darknet *d, const char *name, int64_t otherwise, int64_t least, int64_t most);
/* The next `count` weights; NULL after a failure. */
float *dk_take(darknet *d, int64_t count);

/* Normalization by the moving mean and variance: a factor and an offset for each output. */
typedef struct dk_norm {
    float *scale, *mean, *variance;
} dk_norm;
dk_norm dk_take_norm(darknet *d, int64_t outputs);
/* weights[outputs][each] and bias[outputs] take the normalization in. */
void dk_apply_norm(const dk_norm *n, float *weights, float *bias, int64_t outputs, int64_t each);

vtac_id dk_activate(darknet *d, vtac_id x, const char *otherwise);
vtac_id dk_number(vtac_builder *m, double value);
/* The axes of a value, which must be of that rank. */
const int64_t *dk_dims(darknet *d, vtac_id x, uint32_t rank);
vtac_id dk_flattened(darknet *d, vtac_id x); /* [batch][rest] */

/* ---- matrix.c */

typedef struct dk_window {
    int64_t filters, size, strides[2], pad, spread, groups;
    bool normal;  /* there is a normalization */
    bool flipped; /* weights [channels * size * size][filters] */
    bool signs;   /* weights count by their sign alone, as much as their filter's mean */
} dk_window;
/* A convolution with the weights that come next. */
vtac_id dk_conv(darknet *d, vtac_id x, const dk_window *w);
/* A dense layer with the weights that come next. */
vtac_id dk_dense(darknet *d, vtac_id x, int64_t outputs, bool normal);
/* Every so manieth place, after a filter that blurs: 3 x 3, or the mean of 2 x 2. */
vtac_id dk_blurred(darknet *d, vtac_id x, const int64_t *strides, bool small);
dk_layer_fn dk_convolutional, dk_deconvolutional, dk_local, dk_connected;

/* recurrent.c */
dk_layer_fn dk_rnn, dk_gru, dk_lstm, dk_crnn;
/* norm.c */
dk_layer_fn dk_batchnorm, dk_lrn, dk_l2norm, dk_logistic;
/* Probabilities in groups, as the tree of classes in this file has them. */
vtac_id dk_tree(darknet *d, vtac_id x, const char *path);

#endif
