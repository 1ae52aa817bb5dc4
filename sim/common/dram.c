/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated device's memory (vta/dram.h): blocks sorted by device address, each backed by pages of its
 * own.
 *
 * Addresses are given first-fit in whole pages. A page without memory follows every block whose address is
 * ours to choose, so that a transfer that runs over its end is refused and does not land in its neighbour.
 */
#include "vta/dram.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };
static const uint64_t low_end = UINT64_C(1) << 32; /* where 32-bit physical addresses end */
static const uint64_t high_end = UINT64_C(1) << 48;
static const uint64_t max_size = sizeof(size_t) < 8 ? UINT64_C(1) << 30 : UINT64_C(1) << 40;

typedef struct block {
    uint64_t addr, size;
    uint8_t *host;
} block;

struct vta_dram {
    pthread_mutex_t lock; /* guards everything below */
    block *blocks;        /* by address, disjoint */
    size_t count, capacity;
    size_t last; /* index of the block of the last hit; may be stale, never trusted */
};

static uint64_t page_up(uint64_t size)
{
    return (size + (PAGE - 1)) & ~(uint64_t)(PAGE - 1);
}

/* Host memory is as aligned as the device addresses that it stands for. */
static void release(const block *b)
{
    const uint64_t lead = b->addr % PAGE;
    (void)munmap(b->host - lead, (size_t)page_up(lead + b->size));
}

vta_status vta_dram_create(vta_dram **out, vta_diag *diag)
{
    vta_dram *dram = calloc(1, sizeof *dram);
    if (dram == NULL || pthread_mutex_init(&dram->lock, NULL) != 0) {
        free(dram);
        *out = NULL;
        return vta_fail(diag, VTA_NOMEM, "no memory for a simulated dram");
    }
    *out = dram;
    return VTA_OK;
}

void vta_dram_destroy(vta_dram *dram)
{
    if (dram == NULL) {
        return;
    }
    for (size_t i = 0; i < dram->count; i++) {
        release(&dram->blocks[i]);
    }
    (void)pthread_mutex_destroy(&dram->lock);
    free(dram->blocks);
    free(dram);
}

/* The number of blocks that start at or below `addr`. */
static size_t blocks_up_to(const vta_dram *dram, uint64_t addr)
{
    size_t low = 0;
    size_t high = dram->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (dram->blocks[middle].addr <= addr) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The first page address with room for `size` bytes and a guard page in [begin, end); 0: none. */
static uint64_t first_fit(const vta_dram *dram, uint64_t begin, uint64_t end, uint64_t size)
{
    const uint64_t need = page_up(size) + PAGE;
    uint64_t at = begin;
    for (size_t i = 0; i < dram->count; i++) {
        const block *b = &dram->blocks[i];
        const uint64_t b_end = page_up(b->addr + b->size) + PAGE;
        if (b_end <= at) {
            continue;
        }
        if (b->addr >= end || (b->addr > at && b->addr - at >= need)) {
            break;
        }
        at = b_end;
    }
    return at < end && end - at >= need ? at : 0;
}

/* Puts a fresh block into the table; the lock is held and the place is free. */
static vta_status insert(vta_dram *dram, uint64_t addr, uint64_t size, void **host, vta_diag *diag)
{
    if (dram->count == dram->capacity) {
        const size_t capacity = dram->capacity == 0 ? 16 : dram->capacity * 2;
        block *blocks = realloc(dram->blocks, capacity * sizeof *blocks);
        if (blocks == NULL) {
            return vta_fail(diag, VTA_NOMEM, "no memory for the dram's block table");
        }
        dram->blocks = blocks;
        dram->capacity = capacity;
    }
    const uint64_t lead = addr % PAGE;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *pages = mmap(NULL, (size_t)page_up(lead + size), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (pages == MAP_FAILED) {
        return vta_fail(diag, VTA_NOMEM, "no memory for a device block of %llu bytes",
                        (unsigned long long)size);
    }
    const size_t at = blocks_up_to(dram, addr);
    memmove(dram->blocks + at + 1, dram->blocks + at, (dram->count - at) * sizeof *dram->blocks);
    dram->blocks[at] = (block){.addr = addr, .size = size, .host = (uint8_t *)pages + lead};
    dram->count++;
    if (host != NULL) {
        *host = dram->blocks[at].host;
    }
    return VTA_OK;
}

static vta_status check_size(uint64_t size, vta_diag *diag)
{
    if (size == 0 || size > max_size) {
        return vta_fail(diag, VTA_INVALID, "device block of %llu bytes (limits: 1 to %llu)",
                        (unsigned long long)size, (unsigned long long)max_size);
    }
    return VTA_OK;
}

vta_status vta_dram_alloc(vta_dram *dram, uint64_t size, uint64_t *addr, void **host, vta_diag *diag)
{
    VTA_TRY(check_size(size, diag));
    (void)pthread_mutex_lock(&dram->lock);
    uint64_t at = first_fit(dram, PAGE, low_end, size);
    if (at == 0) {
        at = first_fit(dram, low_end, high_end, size);
    }
    const vta_status status = at == 0 ? vta_fail(diag, VTA_NOMEM, "no free device addresses for %llu bytes",
                                                 (unsigned long long)size)
                                      : insert(dram, at, size, host, diag);
    (void)pthread_mutex_unlock(&dram->lock);
    if (status == VTA_OK) {
        *addr = at;
    }
    return status;
}

/* The block that shares a byte with [addr, addr + size); NULL: none. The sum does not overflow. */
static const block *overlapping(const vta_dram *dram, uint64_t addr, uint64_t size)
{
    const size_t below = blocks_up_to(dram, addr + (size - 1));
    if (below == 0) {
        return NULL;
    }
    const block *b = &dram->blocks[below - 1];
    return b->addr + (b->size - 1) >= addr ? b : NULL;
}

vta_status vta_dram_alloc_at(vta_dram *dram, uint64_t addr, uint64_t size, void **host, vta_diag *diag)
{
    VTA_TRY(check_size(size, diag));
    if (addr >= high_end || size > high_end - addr) {
        return vta_fail(diag, VTA_RANGE, "device block of %llu bytes at 0x%llx ends beyond 2^48",
                        (unsigned long long)size, (unsigned long long)addr);
    }
    (void)pthread_mutex_lock(&dram->lock);
    const block *other = overlapping(dram, addr, size);
    const vta_status status =
        other != NULL
            ? vta_fail(diag, VTA_INVALID,
                       "device block of %llu bytes at 0x%llx overlaps the one of %llu bytes at 0x%llx",
                       (unsigned long long)size, (unsigned long long)addr, (unsigned long long)other->size,
                       (unsigned long long)other->addr)
            : insert(dram, addr, size, host, diag);
    (void)pthread_mutex_unlock(&dram->lock);
    return status;
}

void vta_dram_free(vta_dram *dram, uint64_t addr)
{
    (void)pthread_mutex_lock(&dram->lock);
    const size_t at = blocks_up_to(dram, addr);
    if (at > 0 && dram->blocks[at - 1].addr == addr) {
        release(&dram->blocks[at - 1]);
        memmove(dram->blocks + at - 1, dram->blocks + at, (dram->count - at) * sizeof *dram->blocks);
        dram->count--;
    }
    (void)pthread_mutex_unlock(&dram->lock);
}

static bool holds(const block *b, uint64_t addr, uint64_t size)
{
    return addr >= b->addr && addr - b->addr <= b->size && size <= b->size - (addr - b->addr);
}

void *vta_dram_map(vta_dram *dram, uint64_t addr, uint64_t size)
{
    void *host = NULL;
    (void)pthread_mutex_lock(&dram->lock);
    if (dram->last >= dram->count || !holds(&dram->blocks[dram->last], addr, size)) {
        const size_t below = blocks_up_to(dram, addr);
        dram->last = below == 0 ? 0 : below - 1;
    }
    if (dram->last < dram->count && holds(&dram->blocks[dram->last], addr, size)) {
        host = dram->blocks[dram->last].host + (addr - dram->blocks[dram->last].addr);
    }
    (void)pthread_mutex_unlock(&dram->lock);
    return host;
}

bool vta_dram_block(vta_dram *dram, size_t index, uint64_t *addr, void **host, uint64_t *size)
{
    (void)pthread_mutex_lock(&dram->lock);
    const bool is = index < dram->count;
    if (is) {
        *addr = dram->blocks[index].addr;
        *host = dram->blocks[index].host;
        *size = dram->blocks[index].size;
    }
    (void)pthread_mutex_unlock(&dram->lock);
    return is;
}

static void *bus_map(void *context, uint64_t addr, uint64_t size)
{
    return vta_dram_map(context, addr, size);
}

vta_bus vta_dram_bus(vta_dram *dram)
{
    return (vta_bus){.map = bus_map, .context = dram};
}
