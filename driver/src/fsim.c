/* SPDX-License-Identifier: Apache-2.0
 *
 * The device fsim: the functional simulator, run by a thread of its own, so that submit returns at once and
 * wait can give up.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "backend.h"
#include "vta/dram.h"
#include "vta/fsim.h"
#include "vta/hold.h"

typedef struct fsim_options {
    bool strict;
} fsim_options;

static const vta_option options[] = {
    {"strict", VTA_OPTION_BOOL, offsetof(fsim_options, strict), 1,
     "1: trap reads of unwritten entries, and deadlock"},
};

typedef enum fsim_state { FSIM_IDLE, FSIM_RUNNING, FSIM_ENDED, FSIM_QUIT } fsim_state;

typedef struct fsim_device {
    vta_dram *dram;
    bool beside; /* it is another core's */
    vta_fsim *fsim;
    pthread_t thread;
    bool has_thread;
    pid_t process; /* that the thread belongs to */
    const vta_stop *stop;
    const uint64_t *again; /* NULL: strict simulation takes each program by itself */
    pthread_mutex_t lock;  /* of all below */
    pthread_cond_t changed;
    fsim_state state;
    vta_launch launch;
    vta_report report;
    vta_status status;
    vta_diag diag;
} fsim_device;

static void *work(void *self)
{
    fsim_device *device = self;
    pthread_mutex_lock(&device->lock);
    while (device->state != FSIM_QUIT) {
        if (device->state != FSIM_RUNNING) {
            pthread_cond_wait(&device->changed, &device->lock);
            continue;
        }
        const vta_launch launch = device->launch;
        vta_report report = {0};
        vta_diag diag = {0};
        pthread_mutex_unlock(&device->lock);
        const vta_status status = vta_fsim_run(device->fsim, &launch, &report, &diag);
        pthread_mutex_lock(&device->lock);
        device->status = status;
        device->report = report;
        device->diag = diag;
        device->state = FSIM_ENDED;
        pthread_cond_broadcast(&device->changed);
    }
    pthread_mutex_unlock(&device->lock);
    return NULL;
}

static void change_state(fsim_device *device, fsim_state state)
{
    pthread_mutex_lock(&device->lock);
    device->state = state;
    pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
}

static struct timespec after(double seconds)
{
    const double longest = 1e9;
    struct timespec when;
    (void)clock_gettime(CLOCK_MONOTONIC, &when);
    seconds = seconds < longest ? seconds : longest;
    const double whole = (double)(time_t)seconds;
    when.tv_sec += (time_t)whole;
    when.tv_nsec += (long)((seconds - whole) * 1e9);
    if (when.tv_nsec >= 1000000000) {
        when.tv_nsec -= 1000000000;
        when.tv_sec++;
    }
    return when;
}

/* With the lock held: waits for the end of the run, a slice of time at most; false when it has not come yet.
 */
static bool wait_slice(fsim_device *device, double slice_s)
{
    const struct timespec deadline = after(slice_s);
    while (device->state == FSIM_RUNNING) {
        if (pthread_cond_timedwait(&device->changed, &device->lock, &deadline) == ETIMEDOUT) {
            return device->state != FSIM_RUNNING;
        }
    }
    return true;
}

/* With the lock held: waits for the end of the run. VTA_OK, or why it was given up. */
static vta_status wait_end(fsim_device *device, double timeout_s)
{
    const double slice_s = 0.1;
    double left = timeout_s > 0 ? timeout_s : HUGE_VAL;
    while (!wait_slice(device, left < slice_s ? left : slice_s)) {
        left -= slice_s;
        const bool stopped = vta_stop_wanted(device->stop);
        if (stopped || left <= 0) {
            return stopped ? VTA_INTERRUPTED : VTA_TIMEOUT;
        }
    }
    return VTA_OK;
}

/* With the lock held. The request is repeated, because one that arrives before the run has begun is lost. */
static void stop(fsim_device *device)
{
    const double poll_s = 0.001;
    while (device->state == FSIM_RUNNING) {
        vta_fsim_interrupt(device->fsim);
        (void)wait_slice(device, poll_s);
    }
    device->state = FSIM_IDLE;
}

static void init_sync(fsim_device *device)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&device->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&device->lock, NULL);
}

static vta_status start_thread(fsim_device *device, vta_diag *diag)
{
    sigset_t was;
    vta_hold_all_signals(&was);
    device->process = getpid();
    device->has_thread = pthread_create(&device->thread, NULL, work, device) == 0;
    vta_release_signals(&was);
    return device->has_thread ? VTA_OK : vta_fail(diag, VTA_NOMEM, "cannot start a thread for device 'fsim'");
}

/* After a fork the thread is the other process's, and so is whoever held the lock. */
static vta_status start_again(fsim_device *device, vta_diag *diag)
{
    init_sync(device);
    device->state = FSIM_IDLE;
    return start_thread(device, diag);
}

static vta_status fsim_submit(void *self, const vta_launch *launch, vta_diag *diag)
{
    fsim_device *device = self;
    if (device->process != getpid()) {
        VTA_TRY(start_again(device, diag));
    }
    device->launch = *launch; /* the thread looks at it only after the state has changed */
    if (device->again != NULL && *device->again != 0) {
        device->launch.insn_addr = *device->again;
    }
    change_state(device, FSIM_RUNNING);
    return VTA_OK;
}

static vta_status fsim_wait(void *self, double timeout_s, vta_report *report, vta_diag *diag)
{
    fsim_device *device = self;
    pthread_mutex_lock(&device->lock);
    vta_status status = wait_end(device, timeout_s);
    if (status == VTA_OK) {
        *report = device->report;
        status = device->status;
        if (status != VTA_OK) {
            (void)vta_fail(diag, status, "%s", device->diag.text);
        }
    }
    stop(device);
    pthread_mutex_unlock(&device->lock);
    return status;
}

static vta_status fsim_reset(void *self, vta_diag *diag)
{
    fsim_device *device = self;
    if (device->process != getpid()) {
        return start_again(device, diag);
    }
    pthread_mutex_lock(&device->lock);
    stop(device);
    pthread_mutex_unlock(&device->lock);
    return VTA_OK;
}

static vta_status fsim_alloc(void *self, uint64_t at, size_t size, vta_mem *out, vta_diag *diag)
{
    return vta_simulated_alloc(((fsim_device *)self)->dram, at, size, out, diag);
}

static void fsim_free(void *self, const vta_mem *mem)
{
    vta_dram_free(((fsim_device *)self)->dram, mem->addr);
}

static vta_bus fsim_bus(void *self)
{
    return vta_dram_bus(((fsim_device *)self)->dram);
}

static void fsim_close(void *self)
{
    fsim_device *device = self;
    if (device->has_thread && device->process == getpid()) {
        (void)fsim_reset(device, NULL);
        change_state(device, FSIM_QUIT);
        pthread_join(device->thread, NULL);
    }
    vta_fsim_destroy(device->fsim);
    vta_dram_destroy(device->beside ? NULL : device->dram);
    if (device->process == getpid()) { /* a fork's copy may be held by a thread that it has not */
        pthread_cond_destroy(&device->changed);
        pthread_mutex_destroy(&device->lock);
    }
    free(device);
}

static const vta_backend_ops ops = {
    .close = fsim_close,
    .alloc = fsim_alloc,
    .free = fsim_free,
    .bus = fsim_bus,
    .submit = fsim_submit,
    .wait = fsim_wait,
    .reset = fsim_reset,
};

static vta_status start_parts(fsim_device *device, const vta_opening *opening, vta_diag *diag)
{
    const fsim_options *set = opening->options;
    device->stop = opening->stop;
    device->again = set->strict ? NULL : opening->again;
    const fsim_device *first = opening->beside;
    device->beside = first != NULL;
    if (first != NULL) {
        device->dram = first->dram;
    } else {
        VTA_TRY(vta_dram_create(&device->dram, diag));
    }
    const vta_bus bus = vta_dram_bus(device->dram);
    VTA_TRY(vta_fsim_create(&opening->config, &bus, set->strict, &device->fsim, diag));
    return start_thread(device, diag);
}

static vta_status open_fsim(vta_opening *opening, vta_diag *diag)
{
    VTA_TRY(vta_place_config(opening, &opening->config, diag));
    fsim_device *device = calloc(1, sizeof *device);
    if (device == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for device '%s'", opening->scheme);
    }
    init_sync(device);
    const vta_status status = start_parts(device, opening, diag);
    if (status != VTA_OK) {
        fsim_close(device);
        return status;
    }
    opening->ops = &ops;
    opening->self = device;
    return VTA_OK;
}

const vta_backend_kind vta_fsim_kind = {
    .simulator = true,
    .forks = true,
    .has_cores = true,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(fsim_options),
    .open = open_fsim,
};
