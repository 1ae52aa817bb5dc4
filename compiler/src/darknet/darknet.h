/* SPDX-License-Identifier: Apache-2.0
 *
 * What the importers of Darknet's layers share. Each gets the value of the layer before and gives its own;
 * failures stay in the maker.
 */
#ifndef VTAC_DARKNET_DARKNET_H
#define VTAC_DARKNET_DARKNET_H

#include "../import/maker.h"
#include "cfg.h"

enum { MAX_SIZE = 1 << 16, MAX_WEIGHTS = 0x7fffffff, DK_MAX_STATES = 256 };

typedef struct vtac_darknet {
    vtac_import_builder maker;
    const vtac_cfg_section *section;
    const vtac_cfg_section *layers; /* of the cfg, behind [net] */
    uint32_t count, number;         /* layers; the one that is imported */
    vtac_id *values;                /* by layer */
    size_t *begins;   /* where each layer's weights begin, and behind the last one's: in bytes */
    uint32_t *owners; /* whose weights each layer has: its own, or an earlier one's */
    const uint8_t *weights;
    size_t size, at;    /* of the weights, in bytes */
    bool turned;        /* dense weights are given transposed */
    const char *folder; /* of the cfg, or NULL */
    bool keeps_states;
    vtac_id states[DK_MAX_STATES]; /* as the run leaves them; the graph's last inputs are what it found */
    uint32_t state_count;
} vtac_darknet;

typedef vtac_id vtac_darknet_layer_fn(vtac_darknet *d, vtac_id x);

/* A row of the table of layers (layers.c); NULL: there is none of that type. */
typedef struct vtac_darknet_layer {
    const char *type;
    vtac_darknet_layer_fn *make;
    bool boxes; /* what goes in is an output of the network */
} vtac_darknet_layer;
const vtac_darknet_layer *vtac_darknet_layer_of(const char *type);

/* ---- values.c */

/* An option of the section. */
int64_t vtac_darknet_option(vtac_darknet *d, const char *name, int64_t otherwise, int64_t min, int64_t max);
/* The next `count` weights; NULL after a failure. */
float *vtac_darknet_take(vtac_darknet *d, int64_t count);

/* Normalization by the moving mean and variance: a factor and an offset for each output. */
typedef struct vtac_darknet_norm {
    float *scale, *mean, *variance;
} vtac_darknet_norm;
vtac_darknet_norm vtac_darknet_take_norm(vtac_darknet *d, int64_t outputs);
/* weights[outputs][each] and bias[outputs] take the normalization in. */
void vtac_darknet_apply_norm(const vtac_darknet_norm *n, float *weights, float *bias, int64_t outputs,
                             int64_t each);

vtac_id vtac_darknet_activate(vtac_darknet *d, vtac_id x, const char *otherwise);
vtac_id vtac_darknet_number(vtac_import_builder *m, double value);
/* The type of a value, which must be of that rank; axes of 1 after a fault. */
vtac_type vtac_darknet_type(vtac_darknet *d, vtac_id x, uint32_t rank);
vtac_id vtac_darknet_flattened(vtac_darknet *d, vtac_id x); /* [batch][rest] */

/* ---- matrix.c */

typedef struct vtac_darknet_window {
    int64_t filters, size, strides[2], pad, spread, groups;
    bool normal;  /* there is a normalization */
    bool flipped; /* weights [channels * size * size][filters] */
    bool signs;   /* weights count by their sign alone, as much as their filter's mean */
} vtac_darknet_window;
/* A convolution with the weights that come next. */
vtac_id vtac_darknet_conv(vtac_darknet *d, vtac_id x, const vtac_darknet_window *w);
/* A dense layer with the weights that come next. */
vtac_id vtac_darknet_dense(vtac_darknet *d, vtac_id x, int64_t outputs, bool normal);
/* Every so manieth place, after a filter that blurs: 3 x 3, or the mean of 2 x 2. */
vtac_id vtac_darknet_blurred(vtac_darknet *d, vtac_id x, const int64_t *strides, bool small);
vtac_darknet_layer_fn vtac_darknet_convolutional, vtac_darknet_deconvolutional, vtac_darknet_local,
    vtac_darknet_connected;

/* recurrent.c */
vtac_darknet_layer_fn vtac_darknet_rnn, vtac_darknet_gru, vtac_darknet_lstm, vtac_darknet_crnn;
/* norm.c */
vtac_darknet_layer_fn vtac_darknet_batchnorm, vtac_darknet_lrn, vtac_darknet_l2norm, vtac_darknet_logistic;
/* Probabilities in groups, as the tree of classes in this file has them. */
vtac_id vtac_darknet_tree(vtac_darknet *d, vtac_id x, const char *path);

#endif
