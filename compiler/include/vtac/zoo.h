/* SPDX-License-Identifier: Apache-2.0
 *
 * Classic architectures as ONNX files with seeded random weights: the same shapes and operators as the
 * published networks, so that schedules, cycles and speed can be measured on them without downloading
 * anything.
 */
#ifndef VTAC_ZOO_H
#define VTAC_ZOO_H

#include <stdint.h>

#include "vta/status.h"

typedef struct vtac_zoo_entry {
    const char *name;
    const char *input; /* "1x3x224x224" */
    const char *doc;
} vtac_zoo_entry;

/* The list, borrowed. */
const vtac_zoo_entry *vtac_zoo_list(uint32_t *count);

/* Writes model `name` (opset 17) to `path`; equal seeds give equal bytes. */
vta_status vtac_zoo_write(const char *name, uint64_t seed, const char *path, vta_diag *diag);

#endif
