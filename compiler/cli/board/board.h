/* SPDX-License-Identifier: Apache-2.0
 *
 * The virtual board: the RTL behind files that stand for the nodes of a board's Linux.
 *
 *   DIR/dev/uio0                            the register page
 *   DIR/dev/uio0.irq, uio0.unmask           FIFOs: what a read of the node gives, what is written to it
 *   DIR/sys/class/uio/uio0/…                name, size of the page
 *   DIR/dev/udmabuf0                        contiguous memory
 *   DIR/sys/class/u-dma-buf/udmabuf0/…      its address, size; FIFOs for cache maintenance and its end
 *
 * A configuration of several cores has as many pages: uio1, called vta1, and so on. The memory is theirs
 * together.
 *
 * Plain, as a kernel without u-dma-buf: the memory lies behind the page in dev/uio0, which has a second map.
 *
 * The device has memory of its own; what the host sees lies behind a cache (cli_board_cache.c) that
 * sync_for_device and sync_for_cpu maintain and that evicts and fetches lines when it likes: a driver that
 * forgets to maintain it gets stale data or loses results, as on a board whose caches are not coherent.
 */
#ifndef VTAC_BOARD_H
#define VTAC_BOARD_H

#include <signal.h>
#include <stdbool.h>

#include "vta/cores.h"

typedef enum cli_board_fault {
    BOARD_GOOD,
    BOARD_BUS,   /* memory answers with errors */
    BOARD_HANG,  /* a run does not advance */
    BOARD_STUCK, /* the same, and a reset does not help */
    BOARD_DEAD,  /* nothing is loaded: the page reads as ones and takes nothing */
    BOARD_HASH,  /* the hash register is of another release */
    BOARD_IRQ,   /* no interrupt comes */
    BOARD_CLOCK, /* a run does not advance at its clock, but does at half of it */
    BOARD_FAULTS
} cli_board_fault;

typedef struct cli_board_options {
    const char *dir;
    vta_config config;
    cli_board_fault fault;
    uint64_t fault_run; /* the run that has it; 0: all */
    uint64_t memory;    /* bytes */
    uint64_t
        window;    /* bytes of it, from its beginning, that the DMA windows let through; multiple of 4,096 */
    uint64_t addr; /* of the memory, for the device */
    bool coherent; /* host and device see the same memory */
    bool plain; /* no u-dma-buf: the memory is the second map of the UIO device; coherent, but only by copies
                 */
} cli_board_options;

/* Serves until *stop; removes its files then. `ready` is called once it does. */
vta_status cli_board_serve(const cli_board_options *options, const volatile sig_atomic_t *stop,
                           void (*ready)(void), const vta_progress *progress, vta_diag *diag);

/* cli_board_files.c: the files. */
typedef struct cli_board_page { /* of a core */
    int fd, irq, unmask;
    volatile uint32_t *page;
    void *mapping; /* the same, as it is given back */
} cli_board_page;

typedef struct cli_board_files {
    cli_board_page pages[VTA_CORES_MAX];
    int memory_fd, sync_cpu, sync_device, sync_done;
    uint8_t *memory;
} cli_board_files;
vta_status cli_board_files_make(const cli_board_options *options, cli_board_files *out, vta_diag *diag);
/* The clock's rate in Hz, as root may have set it. */
uint64_t cli_board_files_rate(const cli_board_options *options);
/* Count of a core's interrupts, in the form of the kernel's file uio0/event. */
void cli_board_files_count(const cli_board_options *options, uint32_t core, uint32_t interrupts);
void cli_board_files_remove(const cli_board_options *options, cli_board_files *files);

/* cli_board_cache.c: the host's cache in front of the device's memory. A line is dirty while the host's bytes
 * differ from those that the cache last shared with memory. */
typedef struct cli_board_cache {
    uint8_t *host;   /* what the host's programs read and write */
    uint8_t *device; /* the memory behind */
    uint8_t *shared; /* of each line, what both had when it was last fetched or written back */
    uint64_t bytes;
    uint32_t *pages; /* that were ever maintained: where lines come and go */
    uint32_t page_count;
    uint8_t *is_used; /* a page is in that list */
    uint64_t random;
} cli_board_cache;

/* Cache of the emulated board. Where host and device are the same memory, the cache is coherent and these
 * functions do nothing. */
vta_status cli_board_cache_make(cli_board_cache *cache, uint8_t *host, uint8_t *device, uint64_t bytes,
                                vta_diag *diag);
void cli_board_cache_free(cli_board_cache *cache);
/* Dirty lines of a range are written back; a range beyond the memory is ignored. */
void cli_board_cache_clean(cli_board_cache *cache, uint64_t offset, uint64_t size);
/* Lines of a range are fetched from memory, dirty ones are lost. */
void cli_board_cache_invalidate(cli_board_cache *cache, uint64_t offset, uint64_t size);
/* A moment passes: some dirty lines are evicted, some clean ones fetched anew. */
void cli_board_cache_stir(cli_board_cache *cache);

#endif
