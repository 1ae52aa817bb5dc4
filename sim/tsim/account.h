/* SPDX-License-Identifier: Apache-2.0
 *
 * Every cycle of a run put down to one instruction of the compute unit and one class (vta/launch.h): what the
 * unit does is what a network's time is made of, since the other units only feed it and take its results.
 */
#ifndef VTA_ACCOUNT_H
#define VTA_ACCOUNT_H

#include "vta/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vta_account {
    uint8_t *headers; /* the low byte of each instruction: opcode, flags; NULL: no account is kept */
    uint64_t *counts; /* VTA_CYCLES_… numbers for each instruction */
    uint32_t *order;  /* the compute unit's instructions as they were issued */
    uint32_t insn_count, all_issued, issued, started, retired;
    uint32_t last;  /* the strobes of the cycle before, */
    uint64_t *slot; /* and where it was counted */
    bool running;
} vta_account;

/* A run starts. Without memory, or where the program is not in device memory, none is kept. */
void vta_account_run(vta_account *a, const vta_bus *bus, uint64_t insn_addr, uint32_t insn_count);

/* One cycle's strobes (VTA_DEBUG_…). */
void vta_account_cycle(vta_account *a, uint32_t debug);

/* The same strobes in so many cycles. */
void vta_account_cycles(vta_account *a, uint32_t debug, uint32_t cycles);

void vta_account_free(vta_account *a);

#ifdef __cplusplus
}
#endif
#endif
