/* SPDX-License-Identifier: Apache-2.0
 *
 * The cores of one simulated accelerator, clocked together: who takes part, who waits, and whose turn it is.
 *
 * A core that takes part is either out (its thread does something else) or waits for the end of its run. The
 * clock runs while all wait, driven by one of the waiting threads. A run that has ended stops the clock; its
 * thread goes out and comes back, with another run or not at all, before it runs on. Of several runs that end
 * in one cycle, the lowest core's thread goes first, and the others after it. Runs begin while no other
 * thread is out, the lowest core's first: the cycles do not depend on which thread is faster.
 */
#ifndef VTA_RTL_MACHINE_H
#define VTA_RTL_MACHINE_H

#include <stdatomic.h>

#include "vta/rtlsim.h"
#include "vta/stop.h"

typedef struct rtl_machine rtl_machine;

/* Events that end a wait before its run is over. */
typedef struct rtl_patience {
    const vta_stop *stop;
    double end;               /* of vta_now; 0: none */
    _Atomic uint64_t *cycles; /* counts those that have passed */
} rtl_patience;

/* NULL without memory. */
rtl_machine *vta_rtl_machine_create(const vta_rtlsim *rtl);
void vta_rtl_machine_destroy(rtl_machine *machine);

void vta_rtl_machine_add(rtl_machine *machine, uint32_t core, void *instance);
void vta_rtl_machine_remove(rtl_machine *machine, uint32_t core);
void vta_rtl_machine_join(rtl_machine *machine, uint32_t core, bool takes_part);

/* Waits until this core's run may begin: it is out then, and alone in that until it waits. */
void vta_rtl_machine_begin(rtl_machine *machine, uint32_t core, const rtl_patience *patience);

/* Waits for the end of a core's run, or until the patience is over. A core that takes no part has the machine
 * for itself. */
void vta_rtl_machine_wait(rtl_machine *machine, uint32_t core, const rtl_patience *patience);

/* Some cycles of one core alone, which is being reset. */
void vta_rtl_machine_poll(rtl_machine *machine, uint32_t core);

#endif
