/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEMO_ADAM_H
#define DEMO_ADAM_H

#include <stddef.h>
#include <stdint.h>

/* Means of the slopes and of their squares, for each parameter; all 0 at first. */
typedef struct adam {
    float *moments[2];
    float begin[2]; /* the share of a moment that is still its first 0 */
    uint64_t steps;
} adam;

/* Moves the parameters by a step of Adam, with a decay. */
void demo_adam_adjust(adam *a, float *parameters, const float *slopes, size_t count, float rate);

/* FNV-1a over the bits. */
uint64_t demo_hash_floats(uint64_t hash, const float *values, size_t count);

#endif
