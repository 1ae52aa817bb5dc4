/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs that were started: a thread of the model's own does them one by one, and a counter that can be polled
 * tells their end.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "vta/engine.h"
#include "vta/fail.h"
#include "vta/hold.h"

typedef enum async_state { ASYNC_IDLE, ASYNC_RUNNING, ASYNC_ENDED, ASYNC_QUIT } async_state;

struct vta_async {
    vta_engine *engine;
    pthread_t thread;
    pid_t process; /* that the thread belongs to: a fork has none */
    int descriptor;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    async_state state;
    bool cancelled;
    vta_status status;
    vta_diag diag;
};

static void set_state(vta_async *a, async_state state)
{
    a->state = state;
    (void)pthread_cond_broadcast(&a->changed);
}

static void *work(void *context)
{
    vta_async *a = context;
    (void)pthread_mutex_lock(&a->lock);
    while (a->state != ASYNC_QUIT) {
        if (a->state != ASYNC_RUNNING) {
            (void)pthread_cond_wait(&a->changed, &a->lock);
            continue;
        }
        vta_diag diag = {0};
        (void)pthread_mutex_unlock(&a->lock);
        const vta_status status = a->engine->ops->run(a->engine->self, false, &diag);
        (void)pthread_mutex_lock(&a->lock);
        if (a->cancelled && status != VTA_INTERRUPTED) { /* it came too late, and is to end no other run */
            (void)vta_stop_take(&a->engine->stop);
        }
        a->status = status;
        a->diag = diag;
        set_state(a, ASYNC_ENDED);
        (void)eventfd_write(a->descriptor, 1);
    }
    (void)pthread_mutex_unlock(&a->lock);
    return NULL;
}

static vta_status start_thread(vta_async *a, vta_diag *diag)
{
    sigset_t was;
    a->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (a->descriptor < 0) {
        return vta_fail(diag, VTA_IO, "no descriptor for a run: %s", strerror(errno));
    }
    vta_hold_all_signals(&was);
    const int cause = pthread_create(&a->thread, NULL, work, a);
    vta_release_signals(&was);
    return cause == 0 ? VTA_OK
                      : vta_fail(diag, VTA_NOMEM, "cannot start a thread for a run: %s", strerror(cause));
}

static void release(vta_async *a)
{
    if (a->descriptor >= 0) {
        (void)close(a->descriptor);
    }
    (void)pthread_cond_destroy(&a->changed);
    (void)pthread_mutex_destroy(&a->lock);
    free(a);
}

static vta_status create(vta_engine *engine, vta_async **out, vta_diag *diag)
{
    vta_async *a = calloc(1, sizeof *a);
    *out = NULL;
    if (a == NULL) {
        return vta_no_memory(diag);
    }
    pthread_condattr_t clock;
    (void)pthread_condattr_init(&clock);
    (void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&a->changed, &clock);
    (void)pthread_condattr_destroy(&clock);
    (void)pthread_mutex_init(&a->lock, NULL);
    a->engine = engine;
    a->process = getpid();
    const vta_status status = start_thread(a, diag);
    if (status != VTA_OK) {
        release(a);
        return status;
    }
    *out = a;
    return VTA_OK;
}

static bool is_here(const vta_async *a)
{
    return a != NULL && a->process == getpid();
}

/* Makes the thread's data. Data inherited by a fork are left alone: a thread that the fork lacks may hold
 * their lock. */
static vta_async *need(vta_async **async, vta_engine *engine, vta_diag *diag)
{
    if (!is_here(*async)) {
        (void)create(engine, async, diag);
    }
    return *async;
}

vta_status vta_async_start(vta_async **async, vta_engine *engine, vta_diag *diag)
{
    vta_diag own = {0};
    vta_async *a = need(async, engine, &own);
    if (a == NULL) {
        return vta_fail(diag, own.code, "%s", own.text);
    }
    (void)pthread_mutex_lock(&a->lock);
    const bool idle = a->state == ASYNC_IDLE;
    if (idle) {
        a->cancelled = false;
        set_state(a, ASYNC_RUNNING);
    }
    (void)pthread_mutex_unlock(&a->lock);
    return idle ? VTA_OK : vta_fail(diag, VTA_BUSY, "a run of this model was started; wait for it first");
}

static bool await(vta_async *a, double timeout_s)
{
    const double longest = 1e8, billion = 1e9;
    const double wait_s =
        timeout_s >= 0 && timeout_s < longest ? timeout_s : longest; /* also where it is no number */
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    const double at = (double)until.tv_nsec / billion + wait_s;
    until.tv_sec += (time_t)at;
    until.tv_nsec = (long)((at - (double)(time_t)at) * billion);
    while (a->state == ASYNC_RUNNING) {
        if (pthread_cond_timedwait(&a->changed, &a->lock, &until) == ETIMEDOUT) {
            return a->state != ASYNC_RUNNING;
        }
    }
    return true;
}

vta_status vta_async_wait(vta_async *a, double timeout_s, vta_diag *diag)
{
    if (!is_here(a)) {
        return vta_fail(diag, VTA_INVALID, "nothing was started");
    }
    vta_status status = VTA_TIMEOUT;
    (void)pthread_mutex_lock(&a->lock);
    if (a->state == ASYNC_IDLE) {
        status = vta_fail(diag, VTA_INVALID, "nothing was started");
    } else if (await(a, timeout_s)) {
        eventfd_t count;
        (void)eventfd_read(a->descriptor, &count);
        status = a->status;
        if (status != VTA_OK) {
            (void)vta_fail(diag, status, "%s", a->diag.text);
        }
        a->state = ASYNC_IDLE;
    }
    (void)pthread_mutex_unlock(&a->lock);
    return status;
}

void vta_async_cancel(vta_async *a)
{
    if (is_here(a)) {
        (void)pthread_mutex_lock(&a->lock);
        if (a->state == ASYNC_RUNNING && !a->cancelled) {
            a->cancelled = true;
            vta_stop_ask(&a->engine->stop);
        }
        (void)pthread_mutex_unlock(&a->lock);
    }
}

bool vta_async_busy(vta_async *a)
{
    bool busy = false;
    if (is_here(a)) {
        (void)pthread_mutex_lock(&a->lock);
        busy = a->state != ASYNC_IDLE;
        (void)pthread_mutex_unlock(&a->lock);
    }
    return busy;
}

int vta_async_descriptor(vta_async **async, vta_engine *engine, vta_diag *diag)
{
    const vta_async *a = need(async, engine, diag);
    return a != NULL ? a->descriptor : -1;
}

void vta_async_close(vta_async *a)
{
    if (a == NULL) {
        return;
    }
    if (!is_here(a)) { /* its lock and its thread are another process's */
        (void)close(a->descriptor);
        free(a);
        return;
    }
    vta_async_cancel(a);
    (void)vta_async_wait(a, -1, NULL);
    (void)pthread_mutex_lock(&a->lock);
    set_state(a, ASYNC_QUIT);
    (void)pthread_mutex_unlock(&a->lock);
    (void)pthread_join(a->thread, NULL);
    release(a);
}
