/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that leave something in the scratchpads for their next run: the weights of a network that fits on
 * chip are loaded once.
 */
#ifndef VTA_KEEP_H
#define VTA_KEEP_H

#include "vta/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As vta_device_submit. `again` is the address of as many instructions, which are those of `launch` without
 * some LOADs. The device runs them instead if its scratchpads hold what a run of either has left there: its
 * last run was one of the two, with the same bases, and ended well; nobody has reset the device, freed the
 * memory at `again` or, from another process, used the accelerator since. `again` 0: vta_device_submit.
 *
 * The option keep=0 of a device's URI makes it run `launch` always, and so do check=1 and strict=1, which
 * take a program by itself, and devices on other machines. */
vta_status vta_device_submit_again(vta_device *device, const vta_launch *launch, uint64_t again,
                                   vta_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
