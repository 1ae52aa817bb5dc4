/* SPDX-License-Identifier: Apache-2.0
 *
 * See rtl_machine.h.
 */
#include "rtl_machine.h"

#include <pthread.h>
#include <stdlib.h>

#include "vta/clock.h"
#include "vta/cores.h"

enum { STEP_CYCLES = 1 << 14 }; /* between two looks at what else ends a wait */

typedef struct machine_core {
    void *instance; /* NULL: not open */
    bool takes_part, begins, waits;
} machine_core;

struct rtl_machine {
    const vta_rtlsim *rtl;
    pthread_mutex_t lock; /* of the cores, and of the clock */
    pthread_cond_t changed;
    machine_core cores[VTA_CORES_MAX];
};

rtl_machine *vta_rtl_machine_create(const vta_rtlsim *rtl)
{
    rtl_machine *machine = calloc(1, sizeof *machine);
    if (machine != NULL) {
        machine->rtl = rtl;
        pthread_mutex_init(&machine->lock, NULL);
        pthread_cond_init(&machine->changed, NULL);
    }
    return machine;
}

void vta_rtl_machine_destroy(rtl_machine *machine)
{
    if (machine != NULL) {
        pthread_cond_destroy(&machine->changed);
        pthread_mutex_destroy(&machine->lock);
        free(machine);
    }
}

static void set_core(rtl_machine *machine, uint32_t core, machine_core value)
{
    pthread_mutex_lock(&machine->lock);
    machine->cores[core] = value;
    pthread_cond_broadcast(&machine->changed);
    pthread_mutex_unlock(&machine->lock);
}

void vta_rtl_machine_add(rtl_machine *machine, uint32_t core, void *instance)
{
    set_core(machine, core, (machine_core){.instance = instance});
}

void vta_rtl_machine_remove(rtl_machine *machine, uint32_t core)
{
    set_core(machine, core, (machine_core){0});
}

void vta_rtl_machine_join(rtl_machine *machine, uint32_t core, bool takes_part)
{
    set_core(machine, core,
             (machine_core){.instance = machine->cores[core].instance, .takes_part = takes_part});
}

static bool has_ended(const rtl_machine *machine, uint32_t core)
{
    void *instance = machine->cores[core].instance;
    return machine->rtl->irq(instance) || machine->rtl->failure(instance) != NULL;
}

/* True if a core that takes part does not wait. */
static bool is_one_out(const rtl_machine *machine)
{
    for (uint32_t i = 0; i < VTA_CORES_MAX; i++) {
        if (machine->cores[i].takes_part && !machine->cores[i].waits) {
            return true;
        }
    }
    return false;
}

/* True if a core has to be let through before this one begins: one that is out or a lower one that begins. */
static bool is_one_before(const rtl_machine *machine, uint32_t core)
{
    for (uint32_t i = 0; i < VTA_CORES_MAX; i++) {
        const machine_core *other = &machine->cores[i];
        if (i != core && other->takes_part && !other->waits && (i < core || !other->begins)) {
            return true;
        }
    }
    return false;
}

/* The lowest waiting core whose run has ended; VTA_CORES_MAX: none. */
static uint32_t first_ended(const rtl_machine *machine)
{
    uint32_t core = 0;
    while (core < VTA_CORES_MAX && !(machine->cores[core].waits && has_ended(machine, core))) {
        core++;
    }
    return core;
}

/* With the lock held: some cycles of all that wait. */
static void run_clock(rtl_machine *machine, const rtl_patience *patience)
{
    void *instances[VTA_CORES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < VTA_CORES_MAX; i++) {
        if (machine->cores[i].waits) {
            instances[count++] = machine->cores[i].instance;
        }
    }
    atomic_fetch_add(patience->cycles, machine->rtl->step_together(instances, count, STEP_CYCLES));
    pthread_cond_broadcast(&machine->changed);
}

static bool is_over(const rtl_patience *patience)
{
    return vta_stop_wanted(patience->stop) || (patience->end > 0 && vta_now() >= patience->end);
}

/* With the lock held: sleeps until something has changed, or for a moment, after which `is_over` may hold. */
static void sleep_moment(rtl_machine *machine)
{
    enum { MOMENT_NS = 50000000, SECOND_NS = 1000000000 };
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += MOMENT_NS;
    until.tv_sec += until.tv_nsec / SECOND_NS;
    until.tv_nsec %= SECOND_NS;
    (void)pthread_cond_timedwait(&machine->changed, &machine->lock, &until);
}

void vta_rtl_machine_begin(rtl_machine *machine, uint32_t core, const rtl_patience *patience)
{
    machine_core *own = &machine->cores[core];
    pthread_mutex_lock(&machine->lock);
    own->begins = true;
    pthread_cond_broadcast(&machine->changed);
    while (own->takes_part && is_one_before(machine, core) && !is_over(patience)) {
        sleep_moment(machine);
    }
    own->begins = false;
    pthread_mutex_unlock(&machine->lock);
}

void vta_rtl_machine_wait(rtl_machine *machine, uint32_t core, const rtl_patience *patience)
{
    machine_core *own = &machine->cores[core];
    pthread_mutex_lock(&machine->lock);
    own->waits = true;
    pthread_cond_broadcast(&machine->changed);
    while (!is_over(patience)) {
        const uint32_t ended = first_ended(machine);
        const bool waits_for_others = own->takes_part && is_one_out(machine);
        if (ended == core && !waits_for_others) {
            break;
        }
        if (ended == VTA_CORES_MAX && !waits_for_others) {
            run_clock(machine, patience);
        } else {
            sleep_moment(machine);
        }
    }
    own->waits = false;
    pthread_mutex_unlock(&machine->lock);
}

void vta_rtl_machine_poll(rtl_machine *machine, uint32_t core)
{
    pthread_mutex_lock(&machine->lock);
    (void)machine->rtl->step_together(&machine->cores[core].instance, 1, STEP_CYCLES);
    pthread_mutex_unlock(&machine->lock);
}
