/* SPDX-License-Identifier: Apache-2.0
 *
 * A DRAM behind its controller, in picoseconds: what its times allow (dram_kinds.def), in the order that the
 * controller chooses.
 *
 * A request is a run of column accesses at increasing addresses. Requests of one direction are served in
 * their order; between the two directions the controller stays with the present one while that has something
 * to do, but gives way to the other after VTA_DRAM_RUN columns. Consecutive rows lie in consecutive banks. A
 * request opens its row as early as the bank's times allow from its arrival on; a column's command goes out
 * in the first cycle in which
 *
 *   - the row is open and `rcd` has passed;
 *   - its data find the bus free: `rtw` after read data for a write; a read's command comes `wtr` after
 *     written data.
 *
 * A refresh closes all rows. It waits for no access: the first row behind it opens `rfc` after it was due.
 */
#ifndef VTA_DRAM_QUEUE_H
#define VTA_DRAM_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "vta/dram_kind.h"

enum {
    VTA_DRAM_REQUESTS = 256, /* of each direction; a power of two */
    VTA_DRAM_MAX_BANKS = 32,
    VTA_DRAM_WINDOW = 4,         /* activates within `faw` */
    VTA_DRAM_RUN = 32,           /* columns of one direction while the other waits */
    VTA_DRAM_WRITE_BUFFER = 1024 /* bytes that the controller holds before they are written */
};

/* A run of columns: `there` of `columns` may be accessed, the others' data have not come yet. */
typedef struct vta_dram_request {
    uint64_t addr, arrived;
    uint32_t columns, there, done;
    uint32_t tag; /* the caller's */
    bool opens;   /* the next column's row was looked for */
} vta_dram_request;

typedef struct vta_dram_row_bank {
    uint64_t row, column_at, precharge_at, activate_at;
    bool open;
} vta_dram_row_bank;

/* A column whose data are at the controller's port at `at`. */
typedef struct vta_dram_done {
    uint64_t at;
    uint32_t tag, column;
    bool write;
} vta_dram_done;

/* {0} with `kind` set is a DRAM at rest at time 0. */
typedef struct vta_dram_queue {
    vta_dram_kind kind;
    vta_dram_row_bank banks[VTA_DRAM_MAX_BANKS];
    vta_dram_request requests[2][VTA_DRAM_REQUESTS]; /* reads, writes */
    uint32_t head[2], count[2];
    bool writing;
    uint64_t run; /* columns of this direction since the last turn */
    uint64_t bus_free, refresh_at;
    uint64_t activates[VTA_DRAM_WINDOW]; /* the last ones, a ring */
    uint32_t activated;
    vta_dram_counts counts;
} vta_dram_queue;

/* Adds a request that arrives at `now`; NULL: there are VTA_DRAM_REQUESTS. `bytes` from `addr` on, rounded to
 * whole columns; a caller that adds data later sets `there`. The pointer is valid until the request is done.
 */
vta_dram_request *vta_dram_add(vta_dram_queue *q, bool write, uint64_t now, uint64_t addr, uint32_t bytes,
                               uint32_t tag);

static inline bool vta_dram_is_idle(const vta_dram_queue *q)
{
    return q->count[0] == 0 && q->count[1] == 0;
}

/* Something can be done. */
bool vta_dram_is_busy(vta_dram_queue *q);

/* The next column whose command goes out from `now` on, before `until`; false: none. Call until it says so,
 * for every cycle. */
bool vta_dram_next(vta_dram_queue *q, uint64_t now, uint64_t until, vta_dram_done *done);

#endif
