/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEMO_TRAIN_H
#define DEMO_TRAIN_H

#include <stdint.h>

#include "net.h"
#include "vta/status.h"

typedef struct train_options {
    net_form form;
    uint32_t steps;
    uint32_t pictures; /* in a step; 0: as many as the shipped classifier learned from */
    uint64_t seed;
    /* Told from time to time: the mean loss and the share of right answers since the last time. */
    void (*report)(void *context, uint32_t step, float loss, float right);
    void *context;
} train_options;

/* Learns from pictures drawn as they are needed. Whoever calls it frees the network. The same steps and seed
 * make the same network to the bit, on every machine. */
vta_status demo_train(const train_options *options, net *out, vta_diag *diag);

#endif
