/* SPDX-License-Identifier: Apache-2.0
 *
 * Without threads nobody waits.
 */
#include "../src/turns.h"

struct vta_turns {
    char unused;
};

vta_turns *vta_turns_create(void)
{
    static vta_turns only;
    return &only;
}

void vta_turns_destroy(vta_turns *turns)
{
    (void)turns;
}

bool vta_turns_take(vta_turns *turns, int32_t priority, const vta_stop *stop)
{
    (void)turns;
    (void)priority;
    (void)stop;
    return true;
}

void vta_turns_give(vta_turns *turns)
{
    (void)turns;
}
