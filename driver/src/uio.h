/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a board's driver. Everything is found below a folder: "" on a board, where the kernel's /dev
 * and /sys are; a folder of 'vtac board' for a virtual one, whose files stand for the same nodes.
 *
 *   vta_uio_find.c    nodes and what /sys says about them
 *   vta_uio_lock.c    locks on parts of a file that the kernel lifts when their process dies
 *   uio_page.c    the register page and its interrupt
 *   uio_memory.c  contiguous memory of u-dma-buf
 *   uio_health.c  temperature and clock
 *   uio.c         the device
 */
#ifndef VTA_UIO_INTERNAL_H
#define VTA_UIO_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mmio.h"
#include "vta/cores.h"

enum { UIO_PATH = 512, UIO_NAME = 64, UIO_MEMORIES = 8 };

/* u-dma-buf takes places and sizes of 32 bits when it is to bring lines of the caches to the memory or from
 * there. */
#define UIO_SYNC_BYTES UINT64_C(0xffffffc0)

/* ---- vta_uio_find.c */

/* The node of the register page. */
typedef struct uio_node {
    char node[UIO_PATH]; /* DIR/dev/uio0 */
    uint64_t bytes;      /* of its first map */
} uio_node;

/* A piece of contiguous memory: a node of u-dma-buf, or, where the kernel has no such module, the second map
 * of the UIO device: memory that the device tree keeps from the kernel. */
typedef struct uio_memory_node {
    char name[UIO_NAME];
    char node[UIO_PATH]; /* DIR/dev/udmabuf0, DIR/dev/uio0 */
    char sys[UIO_PATH];  /* DIR/sys/class/u-dma-buf/udmabuf0, DIR/sys/class/uio/uio0/maps/map1 */
    uint64_t addr, bytes;
    uint64_t at; /* where mmap and the locks find its first byte in the node */
    bool coherent;
    bool copied; /* the kernel maps it as a device's registers: programs work on a copy */
} uio_memory_node;

vta_status vta_uio_find(const char *dir, const char *name, uio_node *out, vta_diag *diag);

/* The name of a core's UIO device: the first one has `name` itself, the others a number behind it. */
void vta_uio_core_name(const char *name, uint32_t core, char out[UIO_NAME]);

/* Number of cores: UIO devices of these names, without a gap. */
uint32_t vta_uio_count(const char *dir, const char *name);

/* All that are called `name`; where that is NULL, all whose name begins with "udmabuf" or "vta", or else the
 * second map of the UIO device `device`, whose name is UIO_MAP. */
#define UIO_MAP "map1"
vta_status vta_uio_find_memory(const char *dir, const char *device, const char *name, uio_memory_node *out,
                               uint32_t *count, vta_diag *diag);

/* Opens a node; a refusal says how to get the right to. */
vta_status vta_uio_open_node(const char *path, int flags, int *fd, vta_diag *diag);

/* A character device is a board's; anything else stands for one. */
bool vta_uio_is_virtual(int fd);

/* The entries of DIR/sys/BELOW, sorted; at most `most`. */
uint32_t vta_uio_list(const char *dir, const char *below, char (*names)[UIO_NAME], uint32_t max);

/* The first line of FOLDER/FILE; a number there, with or without decimals. False: there is none. */
bool vta_uio_read_line(const char *folder, const char *file, char *text, size_t room);
bool vta_uio_read_real(const char *folder, const char *file, double *out);

/* ---- uio_health.c */

/* A sentence about each sensor; a failure where one is too hot. */
vta_status vta_uio_temperature(const char *dir, char *text, size_t size, vta_diag *diag);

/* The clock's rate, where the kernel lets it be read, and set. */
bool vta_uio_clock_rate(const char *dir, double *hertz);
bool vta_uio_clock_set(const char *dir, double hertz);

/* ---- vta_uio_lock.c */

bool vta_uio_lock(int fd, uint64_t start, uint64_t size);
void vta_uio_unlock(int fd, uint64_t start, uint64_t size);

/* True where another open file holds a lock in [start, start + size); its first byte and its end. */
bool vta_uio_lock_conflict(int fd, uint64_t start, uint64_t size, uint64_t *first, uint64_t *end);

/* ---- uio_page.c */

typedef struct uio_page {
    const char *where; /* for messages; borrowed */
    int fd, irq_fd, unmask_fd;
    void *mapped;
    volatile uint32_t *words; /* the same */
    bool has_irq;
    uint32_t irq_misses; /* runs whose end was seen without one */
    bool had_irq;        /* one has come */
    bool is_lost;        /* the node that gave interrupts gives none any more */
    bool deaf;           /* a command was not taken */
    bool started;        /* the last command was a start, no reset */
    uint32_t cycles;     /* when last looked at, and since when they stand still */
    double still_since;
    vta_mmio mmio;
} uio_page;

vta_status vta_uio_page_open(const uio_node *node, const char *where, uio_page *out, vta_diag *diag);
void vta_uio_page_close(uio_page *page);

/* VTA_NO_DEVICE where the accelerator has stopped taking commands. */
vta_status vta_uio_page_check(const uio_page *page, vta_diag *diag);

/* The right to use the accelerator: one process at a time, in turn. */
typedef struct uio_turn {
    double wait_s; /* at most */
    const vta_stop *stop;
    vta_progress progress;
} uio_turn;
vta_status vta_uio_page_acquire(uio_page *page, const uio_turn *turn, vta_diag *diag);
void vta_uio_page_release(uio_page *page);

/* ---- uio_memory.c */

typedef struct uio_range {
    uint64_t offset, bytes;
} uio_range;

typedef struct uio_memory {
    uio_memory_node node;
    int fd;
    int sync_cpu, sync_device, sync_done; /* -1: not needed; the last is a virtual board's answer */
    uint8_t *host;
    volatile uint32_t *device; /* NULL: the host's bytes are the device's */
    uio_range *own;            /* ranges that this process has, by offset */
    size_t own_count, own_capacity;
} uio_memory;

vta_status vta_uio_memory_open(const uio_memory_node *node, uio_memory *out, vta_diag *diag);
void vta_uio_memory_close(uio_memory *memory);

/* A free range becomes this process's, and no other's while it lives. False: there is none so large. */
bool vta_uio_memory_take(uio_memory *memory, uint64_t bytes, uint64_t *offset);
void vta_uio_memory_give(uio_memory *memory, uint64_t offset);

/* Bytes that nobody holds: in all, and in the largest piece. */
void vta_uio_memory_left(const uio_memory *memory, uint64_t *all, uint64_t *piece);

void vta_uio_memory_sync(const uio_memory *memory, uint64_t offset, uint64_t bytes, bool for_device);

#endif
