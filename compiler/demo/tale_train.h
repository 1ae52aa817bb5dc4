/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEMO_TALE_TRAIN_H
#define DEMO_TALE_TRAIN_H

#include "tale_net.h"

typedef struct tale_options {
    uint32_t steps;
    uint64_t seed;
    /* Told from time to time: the mean loss since the last time. */
    void (*report)(void *context, uint32_t step, float loss);
    void *context;
} tale_options;

/* Learns from tales drawn as they are needed. Whoever calls it frees the network. The same steps and seed
 * make the same network to the bit, on every machine. */
vta_status demo_tale_train(const tale_options *options, tale_net *out, vta_diag *diag);

/* The share of the questions in so many new tales that the network answers right. */
float demo_tale_score(tale_net *n, uint64_t seed, uint32_t tales);

#endif
