/* SPDX-License-Identifier: Apache-2.0
 *
 * When a DRAM answers: open rows per bank, precharge and activate on a conflict, refresh, one data bus with a
 * pause when its direction turns. First come, first served. All times are cycles of the accelerator's clock.
 */
#ifndef VTA_DRAM_TIMING_H
#define VTA_DRAM_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { VTA_DRAM_BANKS = 8, VTA_DRAM_ROW_BYTES = 2048 };

typedef struct vta_dram_options {
    uint32_t
        latency; /* of an access to a closed row, from request to first byte, controller and bus included */
    uint32_t bandwidth;                         /* bytes a cycle; 0: unlimited */
    uint32_t precharge, activate, column, turn; /* tRP, tRCD, tCL, turning the data bus */
    uint32_t refresh_every, refresh_for;        /* tREFI, tRFC */
} vta_dram_options;

/* Like DDR3-1066 seen from a clock of 100 MHz. */
vta_dram_options vta_dram_options_default(uint32_t latency, uint32_t bandwidth);

typedef struct vta_dram_bank {
    uint64_t row, free_at;
    bool open;
} vta_dram_bank;

/* {0} with options set is a DRAM at rest. */
typedef struct vta_dram_timing {
    vta_dram_options options;
    vta_dram_bank banks[VTA_DRAM_BANKS];
    uint64_t bus_free_at, next_refresh;
    bool last_was_write;
    uint64_t hits, misses, conflicts, refreshes; /* what happened so far, row by row */
} vta_dram_timing;

/* An access that arrives at `now`, not before the one before it; the cycle in which it is answered: reads
 * with their first byte, writes when all is stored. */
uint64_t vta_dram_access(vta_dram_timing *dram, uint64_t now, uint64_t addr, uint32_t bytes, bool write);

#ifdef __cplusplus
}
#endif
#endif
