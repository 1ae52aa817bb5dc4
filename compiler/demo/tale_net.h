/* SPDX-License-Identifier: Apache-2.0
 *
 * A small language model while it learns, of LLaMA's form: embeddings, layers of causal attention with turned
 * positions and of gated dense layers, each behind a normalization by the root of the mean square, logits.
 * Values are rows, a row for each token of the batch.
 */
#ifndef DEMO_TALE_NET_H
#define DEMO_TALE_NET_H

#include "adam.h"
#include "vta/arena.h"
#include "vta/status.h"

#define TALE_EPSILON 1e-6F /* added to a mean square */

typedef struct tale_sizes {
    uint32_t vocabulary, width, heads, layers, wide, context, batch;
} tale_sizes;

typedef struct tale_layer {
    float *gain[2];                                         /* of the normalizations */
    float *query, *key, *value, *output, *gate, *up, *down; /* [in][out] */

    float *in, *norm, *root, *queries, *keys, *values, *shares, *mixed; /* kept for the way back */
    float *middle, *middle_norm, *middle_root, *gates, *opens, *ups, *hidden;
} tale_layer;

typedef struct tale_net {
    tale_sizes sizes;
    uint32_t rows; /* of a batch */
    float *embedding, *gain, *head;
    tale_layer *layers;
    float *parameters, *slopes; /* in the order in which the zoo's llama draws them */
    size_t parameter_count;
    adam adam;

    float *last, *norm, *root, *logits;
    float *cosine, *sine;                                               /* [context][columns of a head / 2] */
    float *slope, *row_slope, *wide_slope, *up_slope, *turned, *scores; /* scratch */
    float *query_slope, *key_slope, *value_slope;
    vta_arena arena;
} tale_net;

/* Weights are drawn from the seed. */
vta_status demo_tale_create(const tale_sizes *sizes, uint64_t seed, tale_net *out, vta_diag *diag);
void demo_tale_free(tale_net *n);

/* Logits behind each of the tokens [batch][context]. */
void demo_tale_forward(tale_net *n, const uint32_t *tokens);
/* The tokens behind those of a batch, and how much each counts: a target that counts 0 is none. */
typedef struct tale_targets {
    const uint32_t *tokens;
    const float *weights;
} tale_targets;

/* The weighted mean of the loss; `slopes` are those of the parameters then. */
float demo_tale_backward(tale_net *n, const uint32_t *tokens, const tale_targets *targets);
/* A hash of the bits of all weights: equal wherever the same was learnt. */
uint64_t demo_tale_fingerprint(const tale_net *n);
/* Forward, backward and a step of Adam; returns the loss before it. */
float demo_tale_learn(tale_net *n, const uint32_t *tokens, const tale_targets *targets, float rate);

#endif
