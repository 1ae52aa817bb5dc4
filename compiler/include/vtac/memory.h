/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocates one memory for objects with different live ranges: the host's workspace, with its steps as
 * moments, and the accelerator's, with its layers as moments.
 */
#ifndef VTAC_MEMORY_H
#define VTAC_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"

typedef struct vtac_life {
    uint64_t bytes;       /* rounded up to the alignment: a place begins where another one ends */
    uint32_t id;          /* of the caller; places lives of the same size in order of ids */
    uint32_t first, last; /* the live range, both ends included */
    uint64_t offset;      /* result */
} vtac_life;

/* Places the lives, the largest first, each at the lowest offset that is free during its live range. Leaves
 * them in that order. *bytes gets the size of the memory. The time grows with the number of lives, and with
 * how many of them overlap. */
vta_status vtac_place_lives(vtac_life *lives, size_t count, uint64_t *bytes, vta_diag *diag);

#endif
