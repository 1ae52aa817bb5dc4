/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of tsim that are recorded cycle by cycle, and runs that are played instead of simulated: what a
 * simulation that is cut into parts is made of. Other devices refuse.
 */
#ifndef VTA_RECORDING_H
#define VTA_RECORDING_H

#include "vta/dram_kind.h"
#include "vta/driver.h"

#ifdef __cplusplus
extern "C" {
#endif
/* Runs are recorded from now on. With `starts` not 0 they end in the cycle in which the compute unit starts
 * so many instructions, without counters, and the device is good for nothing but its memory then. Refused,
 * with the reason, where two runs of a program need not take the same cycles or leave more than the recording
 * has: random back-pressure, waves. */
vta_status vta_device_record(vta_device *device, uint64_t starts, vta_diag *diag);

/* The cycles of the last run, valid until the next one. NULL where there is none. */
const vta_stretch *vta_device_recording(vta_device *device, uint64_t *count);

/* Asked for each run before it begins: fills `out` and sets *played, and the run is played; or does not, and
 * it is simulated. What fails here is the run's failure. */
typedef struct vta_played {
    const vta_stretch *stretches; /* borrowed until the run is over */
    uint64_t count;
    vta_counters counters; /* those with a clock; the others follow from the program */
} vta_played;
typedef vta_status vta_play_fn(void *context, vta_device *device, const vta_launch *launch, vta_played *out,
                               bool *played, vta_diag *diag);

/* A played run has the functional simulator's effect on memory. One without stretches has nothing else: no
 * cycle passes. `fn` NULL: all runs are simulated. */
vta_status vta_device_play(vta_device *device, vta_play_fn *fn, void *context, vta_diag *diag);

/* The counts of the simulated DRAM so far; false: the device has none. */
bool vta_device_dram(vta_device *device, vta_dram_counts *out);

/* The blocks of its memory, in the order of their addresses; false beyond the last. */
bool vta_device_block(vta_device *device, uint32_t index, vta_mem *out);

#ifdef __cplusplus
}
#endif
#endif
