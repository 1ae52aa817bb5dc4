/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated device's memory: blocks of host memory that have device addresses. Shared by all simulators.
 * Thread-safe for allocation; a block's contents are the caller's to synchronize.
 */
#ifndef VTA_DRAM_H
#define VTA_DRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vta_dram vta_dram;

vta_status vta_dram_create(vta_dram **out, vta_diag *diag);
void vta_dram_destroy(vta_dram *dram);

/* A zero-filled block at an address of the library's choice (page-aligned, never 0, below 4 GiB while there
 * is room). */
vta_status vta_dram_alloc(vta_dram *dram, uint64_t size, uint64_t *addr, void **host, vta_diag *diag);

/* The same at a given address; refused where it overlaps another block. */
vta_status vta_dram_alloc_at(vta_dram *dram, uint64_t addr, uint64_t size, void **host, vta_diag *diag);

void vta_dram_free(vta_dram *dram, uint64_t addr);

/* The blocks in the order of their addresses; false beyond the last. */
bool vta_dram_block(vta_dram *dram, size_t index, uint64_t *addr, void **host, uint64_t *size);

/* The host memory behind [addr, addr + size), which must lie in one block; NULL otherwise. */
void *vta_dram_map(vta_dram *dram, uint64_t addr, uint64_t size);

/* `vta_dram_map` as a bus; valid as long as the dram. */
vta_bus vta_dram_bus(vta_dram *dram);

#ifdef __cplusplus
}
#endif
#endif
