/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the binding of nests.
 */
#ifndef VTAC_GPU_BIND_H
#define VTAC_GPU_BIND_H

#include "gpu.h"

/* A nest in groups: each has `rounds` iterations of the loop that was outermost, for each of them as many
 * items as a vector has lanes. */
typedef struct vtac_group_lanes {
    int64_t lanes, rounds;
    uint32_t item, outer, lane; /* variables */
    int64_t tile;               /* bytes that a tile has at most */
} vtac_group_lanes;

/* Brings what all items of a group read to local memory. */
vta_status vtac_stage_tiles(vtac_bound *bound, const vtac_group_lanes *lanes, vta_diag *diag);

/* Makes groups of a nest that is shared out freely, its lanes neighbouring items; the nest stays as it is
 * where that is not legal. */
vta_status vtac_bind_lanes(vtac_bound *bound, const vtac_bind_schedule *how, vta_diag *diag);

#endif
