/* SPDX-License-Identifier: Apache-2.0
 *
 * The cores of one device and their queue (vta/cores.h): a thread for each core, which takes the next item
 * when it is free.
 */
#include "vta/cores.h"

#include <pthread.h>
#include <stdlib.h>

#include "vta/fail.h"
#include "vta/hold.h"

struct vta_cores {
    vta_device *devices[VTA_CORES_MAX];
    uint32_t count;
};

/* The state that all threads of a call of vta_cores_run share. */
typedef struct cores_queue {
    pthread_mutex_t lock; /* of next, status and diag */
    uint32_t next, count;
    vta_status status;
    vta_diag diag;
    vta_cores_work *work;
    void *context;
} cores_queue;

typedef struct cores_worker {
    cores_queue *queue;
    vta_device *device;
    uint32_t core;
    pthread_t thread;
} cores_worker;

static vta_status open_others(vta_cores *cores, uint32_t count, vta_diag *diag)
{
    while (cores->count < count) {
        VTA_TRY(vta_device_open_core(cores->devices[0], cores->count, &cores->devices[cores->count], diag));
        cores->count++;
    }
    return VTA_OK;
}

vta_status vta_cores_open(vta_device *first, uint32_t count, vta_cores **out, vta_diag *diag)
{
    *out = NULL;
    vta_cores *cores = calloc(1, sizeof *cores);
    if (cores == NULL) {
        return vta_no_memory(diag);
    }
    cores->devices[0] = first;
    cores->count = 1;
    const vta_status status = open_others(cores, count, diag);
    if (status != VTA_OK) {
        vta_cores_close(cores);
        return status;
    }
    *out = cores;
    return VTA_OK;
}

void vta_cores_close(vta_cores *cores)
{
    if (cores == NULL) {
        return;
    }
    while (cores->count > 1) {
        vta_device_close(cores->devices[--cores->count]);
    }
    free(cores);
}

uint32_t vta_cores_count(const vta_cores *cores)
{
    return cores->count;
}

vta_device *vta_cores_device(vta_cores *cores, uint32_t core)
{
    return cores->devices[core];
}

/* The next item; false: there is none, or something has failed. */
static bool take_item(cores_queue *q, uint32_t *item)
{
    pthread_mutex_lock(&q->lock);
    const bool more = q->next < q->count && q->status == VTA_OK;
    *item = q->next;
    q->next += more;
    pthread_mutex_unlock(&q->lock);
    return more;
}

static void note_failure(cores_queue *q, vta_status status, const vta_diag *diag)
{
    pthread_mutex_lock(&q->lock);
    if (q->status == VTA_OK) {
        q->status = status;
        q->diag = *diag;
    }
    pthread_mutex_unlock(&q->lock);
}

/* The first item of core N is item N, so that it does not depend on which thread comes first. */
static void *serve_core(void *self)
{
    const cores_worker *w = self;
    uint32_t item = w->core;
    bool more = true;
    while (more) {
        vta_diag diag = {0};
        const vta_status status = w->queue->work(w->queue->context, w->core, item, &diag);
        if (status != VTA_OK) {
            note_failure(w->queue, status, &diag);
        }
        more = take_item(w->queue, &item);
    }
    vta_device_join(w->device, false);
    return NULL;
}

static vta_status start_worker(cores_worker *w, vta_diag *diag)
{
    sigset_t was;
    vta_hold_all_signals(&was);
    const bool started = pthread_create(&w->thread, NULL, serve_core, w) == 0;
    vta_release_signals(&was);
    return started ? VTA_OK : vta_fail(diag, VTA_NOMEM, "cannot start a thread for core %u", w->core);
}

vta_status vta_cores_run(vta_cores *cores, uint32_t count, vta_cores_work *work, void *context,
                         vta_diag *diag)
{
    cores_worker workers[VTA_CORES_MAX];
    const uint32_t used = cores->count < count ? cores->count : count;
    cores_queue queue = {.next = used, .count = count, .work = work, .context = context};
    uint32_t started = 0;
    pthread_mutex_init(&queue.lock, NULL);
    for (uint32_t i = 0; i < used; i++) { /* before anybody begins */
        workers[i] = (cores_worker){.queue = &queue, .device = cores->devices[i], .core = i};
        vta_device_join(cores->devices[i], true);
    }
    for (; started < used; started++) {
        vta_diag none = {0};
        const vta_status status = start_worker(&workers[started], &none);
        if (status != VTA_OK) {
            note_failure(&queue, status, &none);
            break;
        }
    }
    for (uint32_t i = started; i < used; i++) {
        vta_device_join(cores->devices[i], false);
    }
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    pthread_mutex_destroy(&queue.lock);
    return queue.status == VTA_OK ? VTA_OK : vta_fail(diag, queue.status, "%s", queue.diag.text);
}
