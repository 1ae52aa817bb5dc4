/* SPDX-License-Identifier: Apache-2.0
 *
 * Several accelerators beside each other on one memory ("cores"), and the queue of what runs on them.
 *
 * A core is a device of its own (driver.h), with a register page and scratchpads of its own. `cores=N` of a
 * URI, or CORES of a simulator's configuration, says how many there are. In tsim they are clocked together
 * and share the memory's bandwidth; on a board core N is the UIO device `vtaN`, the first one `vta`, and
 * those that are there are counted.
 *
 * Simulated time passes only while every core that takes part waits for its own run to end, and one thread
 * at a time goes on from there. So cycles are the same in every run, however fast the host's threads are.
 */
#ifndef VTA_CORES_H
#define VTA_CORES_H

#include "vta/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VTA_CORES_MAX = 4 };

typedef struct vta_cores vta_cores;

/* Opens `count` cores of a device in all. The first is `first` itself, which stays the caller's. */
vta_status vta_cores_open(vta_device *first, uint32_t count, vta_cores **out, vta_diag *diag);

/* Closes the others. They must be idle, and nobody may use them any more. */
void vta_cores_close(vta_cores *cores);

uint32_t vta_cores_count(const vta_cores *cores);

/* Borrowed. */
vta_device *vta_cores_device(vta_cores *cores, uint32_t core);

/* Work on item `item` by core `core`, in a thread of that core. */
typedef vta_status vta_cores_work(void *context, uint32_t core, uint32_t item, vta_diag *diag);

/* Hands out the items 0 to `count`-1, in their order, each to a core that is free. Returns when all is done;
 * the first failure ends it after the items in work. */
vta_status vta_cores_run(vta_cores *cores, uint32_t count, vta_cores_work *work, void *context,
                         vta_diag *diag);

/* Number of cores of an open device, used or not. */
uint32_t vta_device_cores(const vta_device *device);

/* Opens core `core`, not the first, of a device, which must be closed later than this one. */
vta_status vta_device_open_core(vta_device *first, uint32_t core, vta_device **out, vta_diag *diag);

/* From now on this core takes part, or no longer. */
void vta_device_join(vta_device *device, bool takes_part);

#ifdef __cplusplus
}
#endif
#endif
