/* SPDX-License-Identifier: Apache-2.0
 *
 * Classic architectures as ONNX files with seeded random weights: the same shapes and operators as the
 * published networks, so that schedules, cycles and speed can be measured on them without downloading
 * anything.
 */
#ifndef VTAC_ZOO_H
#define VTAC_ZOO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"

/* The sizes that may be chosen. */
typedef enum vtac_zoo_sized {
    VTAC_ZOO_FIXED,  /* none */
    VTAC_ZOO_TOKENS, /* layers, width with heads, tokens */
    VTAC_ZOO_STEPS   /* layers, width, tokens: of recurrent networks, whose steps these are */
} vtac_zoo_sized;

typedef struct vtac_zoo_entry {
    const char *name;
    const char *input; /* "1x3x224x224" */
    const char *doc;
    vtac_zoo_sized sized;
} vtac_zoo_entry;

/* The list, borrowed. */
const vtac_zoo_entry *vtac_zoo_list(uint32_t *count);

/* The sizes of a network whose entry says so; 0: those that it has by itself. */
typedef struct vtac_zoo_sizes {
    int64_t layers, width, heads, tokens;
    int64_t cached;       /* heads of keys and values, of a network with a cache */
    int64_t words;        /* among which such a network chooses */
    const float *weights; /* in the order in which the network draws them; NULL: they are drawn */
    size_t weight_count;
    bool cache; /* with a cache of keys and values, for an open number of new tokens */
} vtac_zoo_sizes;

/* Writes model `name` (opset 17) to `path`; equal seeds and sizes give equal bytes. `sizes` NULL: none are
 * given. Sizes that the network cannot have are refused. */
vta_status vtac_zoo_write(const char *name, uint64_t seed, const vtac_zoo_sizes *sizes, const char *path,
                          vta_diag *diag);

#endif
