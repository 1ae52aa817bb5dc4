/* SPDX-License-Identifier: Apache-2.0
 *
 * A run written down cycle by cycle (vta_stretch), and one that is played instead of simulated.
 */
#ifndef VTA_RECORDER_H
#define VTA_RECORDER_H

#include "model.h"

typedef struct vta_recorder {
    vta_stretch *stretches;
    uint64_t count, capacity;
    uint64_t starts, max_starts; /* of compute: so far, and with which the run counts as ended; 0: never */
    bool on, running, failed;    /* failed: without memory; what there is, is not whole */
} vta_recorder;

void vta_recorder_free(vta_recorder *r);

/* The next cycle is the first of a run. */
void vta_recorder_run(vta_recorder *r);

/* A cycle of it, as both sides drive it; the one in which the interrupt is high is none any more. True: the
 * run counts as ended. */
bool vta_recorder_cycle(vta_recorder *r, const vta_pins_in *in, const vta_pins_out *out,
                        const vta_axi_mem *mem);

typedef struct vta_player {
    const vta_stretch *stretches;
    uint64_t count;
    vta_counters counters;
    bool ready, ended; /* a run is to be played; it was the last one */
} vta_player;

/* The value that a register reads as after a played run, where the hardware has `value`. */
uint32_t vta_player_value(const vta_player *p, uint32_t offset, uint32_t value);

#endif
