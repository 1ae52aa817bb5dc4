/* SPDX-License-Identifier: Apache-2.0
 *
 * The instruction timeline of a run as trace-event JSON, which Chrome's trace viewer and Perfetto open: a
 * microsecond there is a cycle. One track per unit; an instruction's slice reaches from its start to its end
 * and tells when it was issued and what it waited for; the waits for tokens and for memory are slices of
 * their own on the tracks beside it.
 */
#ifndef VTA_TIMELINE_H
#define VTA_TIMELINE_H

#include <stdint.h>

#include "vta/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vta_timeline vta_timeline;

/* NULL where the file cannot be written: errno says why. */
vta_timeline *vta_timeline_create(const char *file, const vta_bus *bus);
void vta_timeline_destroy(vta_timeline *timeline);

/* Brings what is known so far to the file, which ends as JSON does until more is known; 0, or errno where the
 * file cannot take it. */
int vta_timeline_flush(vta_timeline *timeline);

/* A run starts: the program that the accelerator will fetch. */
void vta_timeline_run(vta_timeline *timeline, uint64_t cycle, uint64_t insn_addr, uint32_t insn_count);

/* One cycle's strobes (VTA_DEBUG_…). */
void vta_timeline_cycle(vta_timeline *timeline, uint64_t cycle, uint32_t debug);

#ifdef __cplusplus
}
#endif
#endif
