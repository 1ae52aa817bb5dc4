/* SPDX-License-Identifier: Apache-2.0 */
#include "vta/compat.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "vta/driver.h"
#include "vta/vec.h"

/* The one global state of the libraries: VTA's interface leaves no place to hand it around. */
static struct shared {
    vta_device *device;
    size_t handles;
    vta_mem *blocks;
    size_t block_count, block_capacity;
} shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local vta_diag last_error;

const char *VTALastError(void)
{
    return last_error.text;
}

/* A fresh place for the sentence of the next failure. */
static vta_diag *fresh(void)
{
    last_error = (vta_diag){0};
    return &last_error;
}

/* All below hold the lock. */

static bool acquire(vta_diag *diag)
{
    if (shared.device == NULL) {
        const char *uri = getenv("VTA_DEVICE");
        (void)vta_device_open(uri != NULL && *uri != '\0' ? uri : "fsim", NULL, &shared.device, diag);
    }
    return shared.device != NULL;
}

static void release(void)
{
    if (shared.handles == 0 && shared.block_count == 0) {
        vta_device_close(shared.device);
        free(shared.blocks);
        shared = (struct shared){0};
    }
}

/* The block that holds `buf`, and where in it. */
static vta_mem *find(const void *buf, size_t *offset)
{
    const uintptr_t wanted = (uintptr_t)buf;
    for (size_t i = 0; i < shared.block_count; i++) {
        const uintptr_t start = (uintptr_t)shared.blocks[i].host;
        if (wanted >= start && wanted - start < shared.blocks[i].size) {
            *offset = wanted - start;
            return &shared.blocks[i];
        }
    }
    return NULL;
}

static void *alloc_block(size_t size, vta_diag *diag)
{
    vta_mem *grown = vta_grow(shared.blocks, &shared.block_capacity, shared.block_count + 1, sizeof *grown);
    if (grown == NULL) {
        (void)vta_fail(diag, VTA_NOMEM, "no memory for %zu bytes", size);
        return NULL;
    }
    shared.blocks = grown;
    vta_mem mem;
    if (vta_device_alloc(shared.device, size, &mem, diag) != VTA_OK) {
        return NULL;
    }
    if (mem.addr > UINT32_MAX || mem.size > UINT32_MAX - mem.addr) {
        (void)vta_fail(diag, VTA_RANGE, "%zu bytes do not fit below 4 GiB, where VTA's addresses end", size);
        vta_device_free(shared.device, &mem);
        return NULL;
    }
    shared.blocks[shared.block_count++] = mem;
    return mem.host;
}

/* The public functions. */

VTADeviceHandle VTADeviceAlloc(void)
{
    pthread_mutex_lock(&lock);
    VTADeviceHandle handle = NULL;
    if (acquire(fresh())) {
        shared.handles++;
        handle = &shared;
    }
    pthread_mutex_unlock(&lock);
    return handle;
}

void VTADeviceFree(VTADeviceHandle handle)
{
    pthread_mutex_lock(&lock);
    if (handle == &shared && shared.handles > 0) {
        shared.handles--;
        release();
    }
    pthread_mutex_unlock(&lock);
}

static vta_status run(vta_phy_addr_t addr, uint32_t count, double timeout_s, vta_diag *diag)
{
    const vta_launch launch = {.insn_addr = addr, .insn_count = count};
    VTA_TRY(vta_device_submit(shared.device, &launch, diag));
    return vta_device_wait(shared.device, timeout_s, NULL, diag);
}

int VTADeviceRun(VTADeviceHandle handle, vta_phy_addr_t insn_phy_addr, uint32_t insn_count,
                 uint32_t wait_cycles)
{
    const double cycle_s = 1e-6;
    vta_diag *diag = fresh();
    vta_status status;
    pthread_mutex_lock(&lock);
    if (handle != &shared || shared.handles == 0) {
        status = vta_fail(diag, VTA_INVALID, "the device handle is not one of VTADeviceAlloc");
    } else {
        status = run(insn_phy_addr, insn_count, wait_cycles * cycle_s, diag);
    }
    pthread_mutex_unlock(&lock);
    return status == VTA_OK ? 0 : status == VTA_TIMEOUT ? 1 : 2;
}

void *VTAMemAlloc(size_t size, int cached)
{
    (void)cached;
    vta_diag *diag = fresh();
    void *host = NULL;
    pthread_mutex_lock(&lock);
    if (acquire(diag)) {
        host = alloc_block(size, diag);
        release();
    }
    pthread_mutex_unlock(&lock);
    return host;
}

void VTAMemFree(void *buf)
{
    size_t offset = 0;
    pthread_mutex_lock(&lock);
    vta_mem *block = find(buf, &offset);
    if (block != NULL && offset == 0) {
        vta_device_free(shared.device, block);
        *block = shared.blocks[--shared.block_count];
        release();
    }
    pthread_mutex_unlock(&lock);
}

vta_phy_addr_t VTAMemGetPhyAddr(void *buf)
{
    size_t offset = 0;
    pthread_mutex_lock(&lock);
    const vta_mem *block = find(buf, &offset);
    const vta_phy_addr_t addr = block != NULL ? (vta_phy_addr_t)(block->addr + offset) : 0;
    pthread_mutex_unlock(&lock);
    if (addr == 0) {
        (void)vta_fail(fresh(), VTA_INVALID, "pointer %p is not in memory of VTAMemAlloc", buf);
    }
    return addr;
}

void VTAMemCopyFromHost(void *dst, const void *src, size_t size)
{
    memcpy(dst, src, size);
}

void VTAMemCopyToHost(void *dst, const void *src, size_t size)
{
    memcpy(dst, src, size);
}

typedef void cache_function(vta_device *device, const vta_mem *mem, size_t offset, size_t size);

static void maintain(cache_function *function, const void *start, int size)
{
    size_t offset = 0;
    pthread_mutex_lock(&lock);
    const vta_mem *block = find(start, &offset);
    if (block != NULL && size > 0) {
        function(shared.device, block, offset, (size_t)size);
    }
    pthread_mutex_unlock(&lock);
}

void VTAFlushCache(void *vir_addr, vta_phy_addr_t phy_addr, int size)
{
    (void)phy_addr;
    maintain(vta_device_flush, vir_addr, size);
}

void VTAInvalidateCache(void *vir_addr, vta_phy_addr_t phy_addr, int size)
{
    (void)phy_addr;
    maintain(vta_device_invalidate, vir_addr, size);
}
