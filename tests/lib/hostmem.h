/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory for tests that need no device: a few blocks of host memory at chosen addresses, seen as a
 * bus.
 */
#ifndef VTA_TEST_HOSTMEM_H
#define VTA_TEST_HOSTMEM_H

#include <stddef.h>

#include "vta/launch.h"

enum { HOSTMEM_BLOCKS = 8 };

typedef struct hostmem {
    struct {
        uint64_t addr, size;
        uint8_t *host; /* borrowed */
    } blocks[HOSTMEM_BLOCKS];
    uint32_t count;
} hostmem;

static inline void hostmem_add(hostmem *memory, uint64_t addr, void *host, uint64_t size)
{
    memory->blocks[memory->count].addr = addr;
    memory->blocks[memory->count].size = size;
    memory->blocks[memory->count++].host = host;
}

static inline void *hostmem_map(void *context, uint64_t addr, uint64_t size)
{
    const hostmem *memory = context;
    for (uint32_t i = 0; i < memory->count; i++) {
        const uint64_t at = addr - memory->blocks[i].addr;
        if (addr >= memory->blocks[i].addr && at <= memory->blocks[i].size &&
            size <= memory->blocks[i].size - at) {
            return memory->blocks[i].host + at;
        }
    }
    return NULL;
}

static inline vta_bus hostmem_bus(hostmem *memory)
{
    return (vta_bus){.map = hostmem_map, .context = memory};
}

#endif
