/* SPDX-License-Identifier: Apache-2.0
 *
 * A device that runs kernels, as run.c sees it: memory, copies, launches, one queue in which all of them keep
 * their order. A new kind of device is one file that fills in vta_gpu_ops, and a row in run.c.
 */
#ifndef VTA_GPU_DEVICE_H
#define VTA_GPU_DEVICE_H

#include "vta/kernels.h"

typedef struct vta_gpu_place {
    void *memory; /* of `allocate` */
    uint64_t offset;
} vta_gpu_place;

typedef struct vta_gpu_launch {
    uint32_t kernel; /* its place in the table */
    uint32_t place_count;
    const vta_gpu_place *places;   /* of the step's buffers */
    uint64_t items, scratch_bytes; /* of each item */
    uint64_t group;                /* items in a group; 0: as suits the device */
    void *scratch;
    uint64_t scratch_room;
    uint32_t timer;
    bool timed;
} vta_gpu_launch;

typedef struct vta_gpu_ops {
    const char *scheme, *language;

    /* Device `number`, with room for `timers` timed launches. */
    vta_status (*open)(uint32_t number, uint32_t timers, void **self, vta_diag *diag);
    void (*close)(void *self);
    vta_status (*list)(vta_kernels_device *out, uint32_t room, uint32_t *count, vta_diag *diag);
    void (*describe)(const void *self, vta_kernels_device *out);

    vta_status (*allocate)(void *self, uint64_t bytes, void **memory, vta_diag *diag);
    void (*release)(void *self, void *memory);

    /* Builds the kernels that the device can run. */
    vta_status (*build)(void *self, const vta_artifact_kernels *table, vta_diag *diag);

    /* Queued; the host's memory stays as it is until `wait` returns. */
    vta_status (*write)(void *self, const vta_gpu_place *to, const void *from, uint64_t bytes,
                        vta_diag *diag);
    vta_status (*read)(void *self, const vta_gpu_place *from, void *to, uint64_t bytes, vta_diag *diag);
    vta_status (*launch)(void *self, const vta_gpu_launch *launch, vta_diag *diag);
    vta_status (*wait)(void *self, vta_diag *diag);

    /* Seconds of a timed launch, after `wait`; forgets them. */
    double (*seconds)(void *self, uint32_t timer);
} vta_gpu_ops;

extern const vta_gpu_ops vta_gpu_opencl, vta_gpu_cuda;

/* Items that a launch starts, in groups: as the kernel asks, or in groups of `group` as many as have
 * something to do, find scratch memory, and keep a device busy. */
typedef struct vta_gpu_shape {
    uint64_t items, group;
} vta_gpu_shape;
vta_gpu_shape vta_gpu_shape_of(const vta_gpu_launch *launch, uint64_t group, uint64_t busy);

/* The module's one name. */
__attribute__((visibility("default"))) const vta_kernels_calls *vta_gpu(void);

#endif
