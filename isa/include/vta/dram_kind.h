/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of DRAM (dram_kinds.def): the times that a simulated memory keeps, and that the compiler predicts
 * with.
 */
#ifndef VTA_DRAM_KIND_H
#define VTA_DRAM_KIND_H

#include <stdint.h>

#include "vta/status.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The columns of dram_kinds.def. A `rate` of 0 is no DRAM: the flat memory of MEM_LATENCY. */
typedef struct vta_dram_kind {
    char name[16];
    uint32_t rate, width, burst, banks, row, open;
    uint32_t cl, cwl, rcd, rp, ras, rrd, faw, wr, rtp, wtr, rtw, refi, rfc, port;
    char from[40];
} vta_dram_kind;

/* Counts of a DRAM: bytes on its bus, in whole column accesses; accesses to a row
 * that was open, to a bank without one, to another row's bank; the time in which it had something to do. */
typedef struct vta_dram_counts {
    uint64_t read_bytes, written_bytes, hits, closed, conflicts, refreshes, turns, busy_ps;
    double peak; /* bytes in a second that its bus could move */
} vta_dram_counts;

/* The kind of that name, borrowed; NULL: `diag` names those that there are. */
const vta_dram_kind *vta_dram_kind_find(const char *name, vta_diag *diag);

/* The kind of that name into `out`; {0} for "" and "flat". */
vta_status vta_dram_choose(const char *name, vta_dram_kind *out, vta_diag *diag);

/* The kinds, one by one; NULL: there are no more. */
const vta_dram_kind *vta_dram_kind_at(uint32_t index);

/* The bytes of a column access, and the time that they take on the data bus. */
static inline uint32_t vta_dram_column_bytes(const vta_dram_kind *kind)
{
    return kind->burst * kind->width / 8;
}

static inline uint32_t vta_dram_column_ps(const vta_dram_kind *kind)
{
    return (uint32_t)(UINT64_C(1000000) * kind->burst / kind->rate);
}

static inline uint32_t vta_dram_cycles(uint64_t ps, uint32_t clock_mhz)
{
    return (uint32_t)((ps * clock_mhz + 999999) / 1000000);
}

/* The cycles of a clock from a read's request to its first data where no row is open and nothing else is
 * under way. */
static inline uint32_t vta_dram_read_cycles(const vta_dram_kind *kind, uint32_t clock_mhz)
{
    const uint64_t column = vta_dram_column_ps(kind);
    return vta_dram_cycles(column + kind->rcd + kind->cl + kind->port, clock_mhz);
}

/* The cycles from a write's last data to its answer. */
static inline uint32_t vta_dram_answer_cycles(const vta_dram_kind *kind, uint32_t clock_mhz)
{
    return vta_dram_cycles(kind->port, clock_mhz);
}

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
