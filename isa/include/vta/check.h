/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker: a whole program in, its first violation out. It stands between a bad stream and a board.
 *
 * Checked: encodings; FINISH; scratchpad and DRAM ranges of every access; reads of entries never written;
 * tokens (balance, deadlock under the stated queue and token capacities); accesses to one entry that no token
 * orders; stores over the program itself. Linear in the size of the program. The contents of DRAM are read
 * for micro-ops alone.
 */
#ifndef VTA_CHECK_H
#define VTA_CHECK_H

#include "vta/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first violation: of those that one instruction shows by itself, the one with the lowest index; of those
 * that need history, the first on a run that prefers low indices. `field` is borrowed and static. */
typedef struct vta_violation {
    vta_error error;
    uint32_t insn;
    const char *field; /* the field or quantity at fault: "sram_base", "dst", "tokens L2C" … */
    int64_t value;     /* UNORDERED, SELF_MODIFY: the entry or the address */
    int64_t bound;     /* UNORDERED, SELF_MODIFY: the other instruction, or the program's address */
} vta_violation;

/* Checks the program that `launch` names. Returns VTA_OK, or VTA_ILLEGAL_PROGRAM with the violation and a
 * sentence ("instruction 17 (gemm): dst of micro-op 3 reaches 2048, …"); VTA_INVALID for a launch whose
 * addresses are not aligned; VTA_NOMEM. `violation` may be NULL. */
vta_status vta_check(const vta_config *config, const vta_launch *launch, const vta_bus *bus,
                     vta_violation *violation, vta_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
