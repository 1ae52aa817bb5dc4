/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a program where others than its caller can change memory, or where the processor sees another memory
 * than the device: instructions and micro-ops are copied into blocks of the driver's own, the copy is
 * checked, and the copy runs.
 */
#ifndef VTA_OWN_COPY_H
#define VTA_OWN_COPY_H

#include "backend.h"

/* The blocks, kept from run to run; they are the backend's memory and go with it. All zero at first. */
typedef struct vta_own_copy {
    vta_mem insns, uops;
} vta_own_copy;

/* VTA_OK: `out` is what to run instead of `launch`; else as vta_check, whose sentences name what the caller
 * gave. VTA_UNSUPPORTED: the program is right, but its micro-ops cannot be copied. `self` and `ops` are the
 * backend's; the copy has been flushed to the device. */
vta_status vta_own_copy_check(vta_own_copy *own, const vta_backend_ops *ops, void *self,
                              const vta_config *config, const vta_launch *launch, vta_launch *out,
                              vta_diag *diag);

#endif
