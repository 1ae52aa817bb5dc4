/* SPDX-License-Identifier: Apache-2.0 */
#include "vta/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

/* The lock is held for as long as two pointers are copied, never while the program's function runs. */
static struct {
    atomic_uint lock, max;
    vta_log_sink *sink;
    void *context;
} listener;

static void lock(void)
{
    while (atomic_exchange_explicit(&listener.lock, 1, memory_order_acquire) != 0) {
    }
}

static void unlock(void)
{
    atomic_store_explicit(&listener.lock, 0, memory_order_release);
}

void vta_log_to(vta_log_level max, vta_log_sink *sink, void *context)
{
    lock();
    listener.sink = sink;
    listener.context = context;
    atomic_store(&listener.max, sink != NULL ? (unsigned)max : 0);
    unlock();
}

void vta_log(vta_log_level level, const char *fmt, ...)
{
    char line[1024];
    if ((unsigned)level > atomic_load_explicit(&listener.max, memory_order_relaxed)) {
        return;
    }
    lock();
    vta_log_sink *const sink = listener.sink;
    void *const context = listener.context;
    unlock();
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (sink != NULL) {
        sink(context, level, line);
    }
}
