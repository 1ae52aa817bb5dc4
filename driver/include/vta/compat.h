/* SPDX-License-Identifier: Apache-2.0
 *
 * The C entry points of VTA's own driver, so that a runtime written for VTA runs on any of our devices.
 *
 * That interface has no handle for memory, so there is one device in the process: the one that VTA_DEVICE
 * names in the environment (a URI of driver.h, default "fsim"). It is opened by the first call that needs it
 * and closed when the last handle and the last block of memory are gone. All functions are thread-safe. Those
 * that fail leave a sentence for VTALastError.
 */
#ifndef VTA_COMPAT_H
#define VTA_COMPAT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* NOLINTBEGIN(readability-identifier-naming): these names are VTA's */

typedef uint32_t vta_phy_addr_t;
typedef void *VTADeviceHandle;

/* A handle of the device; NULL on failure. */
VTADeviceHandle VTADeviceAlloc(void);
void VTADeviceFree(VTADeviceHandle handle);

/* Runs `insn_count` instructions at a physical address, with all DRAM bases 0, and waits for the end, at most
 * `wait_cycles` microseconds (0: for ever). 0: it ran to its FINISH; 1: timeout; 2: any other failure. */
int VTADeviceRun(VTADeviceHandle handle, vta_phy_addr_t insn_phy_addr, uint32_t insn_count,
                 uint32_t wait_cycles);

/* Memory that the device can address. `cached` is accepted and not needed. NULL on failure. */
void *VTAMemAlloc(size_t size, int cached);
void VTAMemFree(void *buf);

/* The device's address of `buf`, which may point inside a block; 0 where it is not of VTAMemAlloc. */
vta_phy_addr_t VTAMemGetPhyAddr(void *buf);

/* Copies to and from memory of VTAMemAlloc. */
void VTAMemCopyFromHost(void *dst, const void *src, size_t size);
void VTAMemCopyToHost(void *dst, const void *src, size_t size);

/* Before the device reads what the host wrote; before the host reads what the device wrote. */
void VTAFlushCache(void *vir_addr, vta_phy_addr_t phy_addr, int size);
void VTAInvalidateCache(void *vir_addr, vta_phy_addr_t phy_addr, int size);

/* Message of this thread's last failing call; "" where no call failed. Borrowed, valid until the next
 * failure. */
const char *VTALastError(void);

/* NOLINTEND(readability-identifier-naming) */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
