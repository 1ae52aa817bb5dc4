/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that want one device, in turn: the highest priority first, among equals who came first. Whoever is
 * passed over gains on those who come later, so that nobody waits for ever.
 */
#ifndef VTA_TURNS_H
#define VTA_TURNS_H

#include "vta/stop.h"

typedef struct vta_turns vta_turns;

vta_turns *vta_turns_create(void); /* NULL without memory */
void vta_turns_destroy(vta_turns *turns);

/* Waits until the turn is the caller's; false: `stop` (may be NULL) wanted an end before. */
bool vta_turns_take(vta_turns *turns, int32_t priority, const vta_stop *stop);
void vta_turns_give(vta_turns *turns);

#endif
