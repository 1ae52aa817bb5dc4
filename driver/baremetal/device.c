/* SPDX-License-Identifier: Apache-2.0
 *
 * The device "baremetal": a register page and a piece of memory, both at addresses that the program gives.
 */
#include "vta/baremetal.h"

#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "mmio.h"
#include "registers.h"

enum { MAX_BLOCKS = 64 };

/* Pieces of the shared memory that are taken, by offset. */
typedef struct block {
    size_t offset, bytes;
} block;

typedef struct baremetal_device {
    vta_baremetal board;
    vta_mmio mmio;
    block blocks[MAX_BLOCKS];
    uint32_t count;
} baremetal_device;

static vta_baremetal given;

void vta_baremetal_setup(const vta_baremetal *board)
{
    given = *board;
}

/* ---- registers */

static uint32_t read_register(void *context, uint32_t offset)
{
    const baremetal_device *d = context;
    return vta_register_read(d->board.registers, offset);
}

/* A device that never acts is not waited for: its status will tell. */
static void write_register(void *context, uint32_t offset, uint32_t value)
{
    enum { PATIENCE = 1 << 20 };
    baremetal_device *d = context;
    vta_register_write(d->board.registers, offset, value);
    if (!vta_register_acts(offset)) {
        return;
    }
    for (int i = 0; i < PATIENCE && (read_register(d, offset) & value) != 0; i++) {
        if (d->board.idle != NULL) {
            d->board.idle();
        }
    }
}

static vta_status let_time_pass(void *context, double seconds, vta_diag *diag)
{
    const baremetal_device *d = context;
    (void)seconds;
    (void)diag;
    if (d->board.idle != NULL) {
        d->board.idle();
    }
    return VTA_OK;
}

static vta_status submit(void *self, const vta_launch *launch, vta_diag *diag)
{
    baremetal_device *d = self;
    (void)diag;
    vta_mmio_start(&d->mmio, launch, d->board.watchdog);
    return VTA_OK;
}

static vta_status wait_for_end(void *self, double timeout_s, vta_report *report, vta_diag *diag)
{
    baremetal_device *d = self;
    return vta_mmio_finish(&d->mmio, "baremetal", timeout_s, report, diag);
}

static vta_status reset(void *self, vta_diag *diag)
{
    baremetal_device *d = self;
    return vta_mmio_reset(&d->mmio, "baremetal", diag);
}

/* ---- memory: first fit between the blocks, which are kept in order */

static vta_status take(void *self, uint64_t at, size_t size, vta_mem *out, vta_diag *diag)
{
    baremetal_device *d = self;
    const size_t unit = VTA_BASE_ALIGN;
    if (at != VTA_ANYWHERE) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "device 'baremetal' does not take memory at an address of one's choice");
    }
    size_t begin = 0;
    uint32_t place = 0;
    while (place < d->count && (d->blocks[place].offset < begin || d->blocks[place].offset - begin < size)) {
        begin = (d->blocks[place].offset + d->blocks[place].bytes + unit - 1) / unit * unit;
        place++;
    }
    if (d->count == MAX_BLOCKS || begin > d->board.memory_bytes || d->board.memory_bytes - begin < size) {
        return vta_fail(diag, VTA_NOMEM,
                        "device 'baremetal': %zu bytes of shared memory are needed, it has %zu in all", size,
                        d->board.memory_bytes);
    }
    memmove(&d->blocks[place + 1], &d->blocks[place], (d->count - place) * sizeof d->blocks[0]);
    d->blocks[place] = (block){begin, size};
    d->count++;
    *out = (vta_mem){.host = d->board.memory + begin, .addr = d->board.memory_addr + begin, .size = size};
    memset(out->host, 0, size);
    return VTA_OK;
}

static void give_back(void *self, const vta_mem *mem)
{
    baremetal_device *d = self;
    for (uint32_t i = 0; i < d->count; i++) {
        if (d->board.memory_addr + d->blocks[i].offset == mem->addr) {
            d->count--;
            memmove(&d->blocks[i], &d->blocks[i + 1], (d->count - i) * sizeof d->blocks[0]);
            return;
        }
    }
}

static void *map(void *context, uint64_t addr, uint64_t size)
{
    const baremetal_device *d = context;
    for (uint32_t i = 0; i < d->count; i++) {
        const uint64_t begin = d->board.memory_addr + d->blocks[i].offset;
        if (addr >= begin && size <= d->blocks[i].bytes && addr - begin <= d->blocks[i].bytes - size) {
            return d->board.memory + d->blocks[i].offset + (size_t)(addr - begin);
        }
    }
    return NULL;
}

static vta_bus bus(void *self)
{
    return (vta_bus){map, self};
}

static void flush(void *self, const vta_mem *mem, size_t offset, size_t size)
{
    const baremetal_device *d = self;
    if (d->board.clean != NULL) {
        d->board.clean((const uint8_t *)mem->host + offset, size);
    }
}

static void invalidate(void *self, const vta_mem *mem, size_t offset, size_t size)
{
    const baremetal_device *d = self;
    if (d->board.invalidate != NULL) {
        d->board.invalidate((const uint8_t *)mem->host + offset, size);
    }
}

/* ---- opening and closing */

static void close_device(void *self)
{
    free(self);
}

static const vta_backend_ops ops = {
    .close = close_device,
    .alloc = take,
    .free = give_back,
    .bus = bus,
    .flush = flush,
    .invalidate = invalidate,
    .submit = submit,
    .wait = wait_for_end,
    .reset = reset,
};

static vta_status open_device(vta_opening *opening, vta_diag *diag)
{
    if (given.registers == NULL || given.memory == NULL || given.memory_addr % VTA_BASE_ALIGN != 0) {
        return vta_fail(diag, VTA_NO_DEVICE,
                        "device 'baremetal' is not set up: call vta_baremetal_setup with its registers and "
                        "memory, at a multiple of %d",
                        (int)VTA_BASE_ALIGN);
    }
    baremetal_device *d = calloc(1, sizeof *d);
    if (d == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for device 'baremetal'");
    }
    d->board = given;
    d->mmio = (vta_mmio){d, read_register, write_register, let_time_pass, opening->stop, opening->again};
    vta_status status = vta_mmio_config(&d->mmio, "baremetal", &opening->config, diag);
    status = status == VTA_OK ? vta_mmio_reset(&d->mmio, "baremetal", diag) : status;
    if (status != VTA_OK) {
        free(d);
        return status;
    }
    opening->ops = &ops;
    opening->self = d;
    return VTA_OK;
}

const vta_backend_kind vta_baremetal_kind = {.open = open_device};
