/* SPDX-License-Identifier: Apache-2.0
 *
 * The runtime's parts that need a system, without one: the pool is its caller, and models are part of the
 * program (vta_model_open), not files or on another machine.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "../src/library.h"
#include "../src/pool.h"
#include "vta/engine.h"
#include "vta/remote.h"

struct vta_pool {
    char unused;
};

vta_status vta_pool_create(uint32_t threads, vta_pool **out, vta_diag *diag)
{
    static vta_pool only;
    (void)threads;
    (void)diag;
    *out = &only;
    return VTA_OK;
}

void vta_pool_destroy(vta_pool *pool)
{
    (void)pool;
}

uint32_t vta_pool_threads(const vta_pool *pool)
{
    (void)pool;
    return 1;
}

void vta_pool_run(vta_pool *pool, int64_t extent, vta_pool_task *task, void *context)
{
    (void)pool;
    if (extent > 0) {
        task(context, 0, extent, 0);
    }
}

uint32_t vta_pool_default_threads(void)
{
    return 1;
}

vta_status vta_library_open(const char *path, vta_library *out, vta_diag *diag)
{
    *out = (vta_library){.copy = -1};
    return vta_fail(diag, VTA_UNSUPPORTED,
                    "%s: this machine loads no files; link the model in and use vta_model_open", path);
}

const void *vta_library_symbol(const vta_library *library, const char *name)
{
    (void)library;
    (void)name;
    return NULL;
}

void vta_library_close(vta_library *library)
{
    (void)library;
}

bool vta_remote_is(const char *uri)
{
    (void)uri;
    return false;
}

vta_status vta_there_load(const char *path, const vta_model_options *options, vta_engine *engine,
                          vta_diag *diag)
{
    (void)options;
    (void)engine;
    return vta_fail(diag, VTA_UNSUPPORTED, "%s: this machine has no way to another one", path);
}

/* Without threads nothing runs beside its caller. */

vta_status vta_async_start(vta_async **async, vta_engine *engine, vta_diag *diag)
{
    (void)async;
    (void)engine;
    return vta_fail(diag, VTA_UNSUPPORTED, "this machine has no threads; use vta_model_run");
}

vta_status vta_async_wait(vta_async *async, double timeout_s, vta_diag *diag)
{
    (void)async;
    (void)timeout_s;
    return vta_fail(diag, VTA_INVALID, "nothing was started");
}

void vta_async_cancel(vta_async *async)
{
    (void)async;
}

bool vta_async_busy(vta_async *async)
{
    (void)async;
    return false;
}

int vta_async_descriptor(vta_async **async, vta_engine *engine, vta_diag *diag)
{
    (void)async;
    (void)engine;
    (void)vta_fail(diag, VTA_UNSUPPORTED, "this machine has no descriptors");
    return -1;
}

void vta_async_close(vta_async *async)
{
    (void)async;
}
