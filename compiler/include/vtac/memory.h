/* SPDX-License-Identifier: Apache-2.0
 *
 * One memory for things that do not all live at the same time: the host's workspace and the accelerator's are
 * planned here, with the steps or the layers as the moments of time.
 */
#ifndef VTAC_MEMORY_H
#define VTAC_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"

typedef struct vtac_life {
    uint64_t bytes; /* every place begins where the last one ends: round them up to what is to be aligned */
    uint32_t id;    /* the caller's; lives of the same size are placed in the order of their numbers */
    uint32_t first, last; /* the moments in which it lives, both counted */
    uint64_t offset;      /* where it is placed */
} vtac_life;

/* Places them, the largest first, each at the lowest offset that is free for as long as it lives; leaves them
 * in that order. `bytes`: the size of the memory. The time grows with the lives and with how many there are
 * at once. */
vta_status vtac_place_lives(vtac_life *lives, size_t count, uint64_t *bytes, vta_diag *diag);

#endif
