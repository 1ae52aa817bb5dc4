/* SPDX-License-Identifier: Apache-2.0
 *
 * Workers sleep on a condition between jobs. Within a job they take chunks from a shared counter, so that a
 * slow core does less; chunks are a quarter of an even share, which keeps the counter cold and the end short.
 * The caller works, too, and waits only for workers that have entered the job: one that the system has not
 * let run yet comes too late and holds nobody up.
 */
#include "pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "vta/fail.h"
#include "vta/hold.h"

enum { MAX_THREADS = 256 };

/* Looks at what another thread is about to change, before a wait that costs a system call and, at its end,
 * tens of microseconds: layers follow each other within less. */
enum { SPINS = 4000 };

static inline void breathe(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

struct worker {
    vta_pool *pool;
    uint32_t index;
    pthread_t thread;
};

struct vta_pool {
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    pid_t process; /* that the workers belong to: a fork has none */
    uint32_t threads, started;
    atomic_uint generation; /* of the job; a change wakes the workers */
    atomic_bool open;       /* the job may be entered: its description below stands */
    atomic_uint inside;     /* workers that look at the job */
    atomic_bool stop;
    vta_pool_task *task;
    void *context;
    int64_t extent, chunk;
    _Atomic int64_t next;
    struct worker *workers;
};

static void work(vta_pool *pool, uint32_t index)
{
    for (;;) {
        const int64_t begin = atomic_fetch_add_explicit(&pool->next, pool->chunk, memory_order_relaxed);
        if (begin >= pool->extent) {
            return;
        }
        const int64_t end = begin + pool->chunk < pool->extent ? begin + pool->chunk : pool->extent;
        pool->task(pool->context, begin, end, index);
    }
}

/* Waits for a job newer than `seen`. */
static bool wait_for_job(vta_pool *pool, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&pool->generation, memory_order_acquire) != seen) {
            return !atomic_load(&pool->stop);
        }
        breathe();
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->generation) == seen && !pool->stop) {
        pthread_cond_wait(&pool->wake, &pool->lock);
    }
    const bool stop = pool->stop;
    pthread_mutex_unlock(&pool->lock);
    return !stop;
}

static void *worker_main(void *argument)
{
    const struct worker *self = argument;
    vta_pool *pool = self->pool;
    for (unsigned seen = 0; wait_for_job(pool, seen);) {
        seen = atomic_load(&pool->generation);
        atomic_fetch_add(&pool->inside, 1);
        if (atomic_load(&pool->open)) {
            work(pool, self->index);
        }
        if (atomic_fetch_sub(&pool->inside, 1) == 1) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->done);
            pthread_mutex_unlock(&pool->lock);
        }
    }
    return NULL;
}

vta_status vta_pool_create(uint32_t threads, vta_pool **out, vta_diag *diag)
{
    *out = NULL;
    threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
    vta_pool *pool = calloc(1, sizeof *pool);
    struct worker *workers = calloc(threads, sizeof *workers);
    if (pool == NULL || workers == NULL) {
        free(pool);
        free(workers);
        return vta_no_memory(diag);
    }
    pool->workers = workers;
    pool->threads = threads;
    pool->process = getpid();
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (uint32_t i = 1; i < threads; i++) {
        workers[i] = (struct worker){.pool = pool, .index = i};
        sigset_t was;
        vta_hold_all_signals(&was);
        const int cause = pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
        vta_release_signals(&was);
        if (cause != 0) {
            vta_pool_destroy(pool);
            return vta_fail(diag, VTA_NOMEM, "cannot start thread %u of %u; set VTAC_THREADS lower", i,
                            threads);
        }
        pool->started = i;
    }
    *out = pool;
    return VTA_OK;
}

void vta_pool_destroy(vta_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    if (pool->process != getpid()) {
        free(pool->workers);
        free(pool);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    atomic_fetch_add(&pool->generation, 1);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 1; i <= pool->started; i++) {
        pthread_join(pool->workers[i].thread, NULL);
    }
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->done);
    free(pool->workers);
    free(pool);
}

uint32_t vta_pool_threads(const vta_pool *pool)
{
    return pool->threads;
}

void vta_pool_run(vta_pool *pool, int64_t extent, vta_pool_task *task, void *context)
{
    if (pool->threads == 1 || extent <= 1 || pool->process != getpid()) {
        if (extent > 0) {
            task(context, 0, extent, 0);
        }
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->task = task;
    pool->context = context;
    pool->extent = extent;
    pool->chunk = extent / (4 * (int64_t)pool->threads) > 0 ? extent / (4 * (int64_t)pool->threads) : 1;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->open, true);
    atomic_fetch_add_explicit(&pool->generation, 1, memory_order_release);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    work(pool, 0);
    atomic_store(&pool->open, false);
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&pool->inside) == 0) {
            return;
        }
        breathe();
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->inside) != 0) {
        pthread_cond_wait(&pool->done, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
}

uint32_t vta_pool_default_threads(void)
{
    const char *given = getenv("VTAC_THREADS");
    const long asked = given == NULL ? 0 : strtol(given, NULL, 10);
    if (asked >= 1 && asked <= MAX_THREADS) {
        return (uint32_t)asked;
    }
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (uint32_t)cores;
}
