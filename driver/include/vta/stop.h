/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests to end a run, counted, so that each ends one run and none is lost: any thread or signal handler
 * adds one, what runs looks several times a second, and whoever reports a run as interrupted takes one away.
 */
#ifndef VTA_STOP_H
#define VTA_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "vta/driver.h"

typedef struct vta_stop {
    atomic_uint wanted;
    _Atomic(const struct vta_stop *) also; /* another one that counts here, too; NULL: none */
} vta_stop;

static inline void vta_stop_ask(vta_stop *stop)
{
    atomic_fetch_add(&stop->wanted, 1);
}

static inline bool vta_stop_wanted(const vta_stop *stop)
{
    if (stop == NULL) {
        return false;
    }
    const vta_stop *also = atomic_load(&stop->also);
    return atomic_load(&stop->wanted) > 0 || (also != NULL && atomic_load(&also->wanted) > 0);
}

/* Takes one of its own, by the one thread that reports its runs; false: there is none. */
static inline bool vta_stop_take(vta_stop *stop)
{
    if (atomic_load(&stop->wanted) == 0) {
        return false;
    }
    atomic_fetch_sub(&stop->wanted, 1);
    return true;
}

/* Forgets requests that came after the end of the runs that they were for. */
static inline void vta_stop_forget(vta_stop *stop)
{
    while (vta_stop_take(stop)) {
    }
}

/* A request in `stop` ends the device's runs as well, until the next call with another one or NULL. The owner
 * of `stop` takes the request back. */
void vta_device_stop_also(vta_device *device, const vta_stop *stop);
void vta_device_forget_stops(vta_device *device);

/* As vta_device_take, but a request in `stop` ends the wait, with VTA_INTERRUPTED. */
vta_status vta_device_take_unless(vta_device *device, int32_t priority, const vta_stop *stop, vta_diag *diag);

#endif
