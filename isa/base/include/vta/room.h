/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory whose size somebody else names: a file, or a peer at the other end of a line. More than the machine
 * has is refused in one sentence, and what is given takes pages only where it is touched, so that a lie costs
 * nothing.
 */
#ifndef VTA_ROOM_H
#define VTA_ROOM_H

#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that the system could still give: what is free or would be if its caches went, and swap. SIZE_MAX
 * where it does not say, as without an operating system; then the allocator is the judge. */
uint64_t vta_room_available(void);

/* VTA_NOMEM where that is less than `bytes`, which are for `what`. */
vta_status vta_room_check(const char *what, uint64_t bytes, vta_diag *diag);

/* `bytes` zeros at a multiple of `align`, a power of two; `owner` is what to free. On failure it is NULL. */
vta_status vta_room_zeros(const char *what, uint64_t bytes, size_t align, void **owner, void **out,
                          vta_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
