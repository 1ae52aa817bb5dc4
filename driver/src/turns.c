/* SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { PASSES_A_STEP = 8 }; /* turns of others that are worth a step of priority */

/* One who waits, on its own stack. */
typedef struct waiter {
    struct waiter *next; /* who came after it */
    int64_t standing;    /* its priority, in passes */
    pthread_cond_t called;
    bool served;
} waiter;

struct vta_turns {
    pthread_mutex_t lock;
    pthread_condattr_t clock;
    bool taken;
    waiter *first;
};

vta_turns *vta_turns_create(void)
{
    vta_turns *turns = calloc(1, sizeof *turns);
    if (turns != NULL) {
        (void)pthread_mutex_init(&turns->lock, NULL);
        (void)pthread_condattr_init(&turns->clock);
        (void)pthread_condattr_setclock(&turns->clock, CLOCK_MONOTONIC);
    }
    return turns;
}

void vta_turns_destroy(vta_turns *turns)
{
    if (turns != NULL) {
        (void)pthread_condattr_destroy(&turns->clock);
        (void)pthread_mutex_destroy(&turns->lock);
        free(turns);
    }
}

static void join(vta_turns *turns, waiter *who)
{
    waiter **at = &turns->first;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = who;
}

static void leave(vta_turns *turns, const waiter *who)
{
    waiter **at = &turns->first;
    while (*at != who) {
        at = &(*at)->next;
    }
    *at = who->next;
}

/* A request to stop comes from signal handlers, too, which can wake nobody: so each looks now and then. */
static void nap(vta_turns *turns, waiter *who)
{
    const long slice_ns = 20000000, second_ns = 1000000000;
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += slice_ns;
    until.tv_sec += until.tv_nsec / second_ns;
    until.tv_nsec %= second_ns;
    (void)pthread_cond_timedwait(&who->called, &turns->lock, &until);
}

bool vta_turns_take(vta_turns *turns, int32_t priority, const vta_stop *stop)
{
    (void)pthread_mutex_lock(&turns->lock);
    bool mine = !turns->taken;
    turns->taken = true;
    if (!mine) {
        waiter self = {.standing = (int64_t)priority * PASSES_A_STEP};
        (void)pthread_cond_init(&self.called, &turns->clock);
        join(turns, &self);
        while (!self.served && !vta_stop_wanted(stop)) {
            nap(turns, &self);
        }
        mine = self.served;
        if (!mine) {
            leave(turns, &self);
        }
        (void)pthread_cond_destroy(&self.called);
    }
    (void)pthread_mutex_unlock(&turns->lock);
    return mine;
}

/* The turn passes from hand to hand: whoever comes meanwhile cannot overtake. */
void vta_turns_give(vta_turns *turns)
{
    (void)pthread_mutex_lock(&turns->lock);
    waiter *next = turns->first;
    for (waiter *other = turns->first; other != NULL; other = other->next) {
        next = other->standing > next->standing ? other : next;
    }
    turns->taken = next != NULL;
    if (next != NULL) {
        leave(turns, next);
        for (waiter *other = turns->first; other != NULL; other = other->next) {
            other->standing++;
        }
        next->served = true;
        (void)pthread_cond_signal(&next->called);
    }
    (void)pthread_mutex_unlock(&turns->lock);
}
