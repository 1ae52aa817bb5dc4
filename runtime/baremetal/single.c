/* SPDX-License-Identifier: Apache-2.0
 *
 * The runtime's parts that need a system, without one: the pool is its caller, and models are part of the
 * program (vta_model_open), not files or on another machine.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "../src/library.h"
#include "../src/model_remote.h"
#include "../src/pool.h"

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

vta_status vta_model_remote_open(const char *path, const vta_model_options *options, const atomic_bool *stop,
                                 vta_model_remote **out, vta_diag *diag)
{
    (void)options;
    (void)stop;
    *out = NULL;
    return vta_fail(diag, VTA_UNSUPPORTED, "%s: this machine has no way to another one", path);
}

void vta_model_remote_close(vta_model_remote *remote)
{
    (void)remote;
}

const vta_artifact *vta_model_remote_artifact(const vta_model_remote *remote)
{
    (void)remote;
    return NULL;
}

vta_step_profile *vta_model_remote_steps(const vta_model_remote *remote)
{
    (void)remote;
    return NULL;
}

vta_layer_profile *vta_model_remote_layers(const vta_model_remote *remote, uint32_t *count)
{
    (void)remote;
    *count = 0;
    return NULL;
}

const char *vta_model_remote_device(const vta_model_remote *remote)
{
    (void)remote;
    return "";
}

vta_status vta_model_remote_run(vta_model_remote *remote, uint8_t *const *inputs, uint8_t *const *outputs,
                                bool profiled, vta_diag *diag)
{
    (void)remote;
    (void)inputs;
    (void)outputs;
    (void)profiled;
    return vta_fail(diag, VTA_UNSUPPORTED, "this machine has no way to another one");
}
