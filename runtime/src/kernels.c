/* SPDX-License-Identifier: Apache-2.0
 *
 * The module of devices that run kernels is a shared object of its own, loaded by the first model that asks
 * for such a device: who needs none does not carry it.
 */
#include "vta/kernels.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "vta/fail.h"

static const char *const schemes[] = {"opencl", "cuda"};

const char *vta_kernels_language(const char *uri)
{
    for (size_t i = 0; uri != NULL && i < sizeof schemes / sizeof schemes[0]; i++) {
        const size_t length = strlen(schemes[i]);
        if (strncmp(uri, schemes[i], length) == 0 && strchr(":?", uri[length]) != NULL) {
            return schemes[i];
        }
    }
    return NULL;
}

bool vta_kernels_is(const char *uri)
{
    return vta_kernels_language(uri) != NULL;
}

/* The folder of the file that this code is in: the program, or a shared library of it. */
static bool own_folder(char *path)
{
    static const char here = 0;
    Dl_info ours, program;
    if (dladdr(&here, &ours) == 0 || dladdr((const void *)(uintptr_t)getauxval(AT_PHDR), &program) == 0) {
        return false;
    }
    const char *file = ours.dli_fbase == program.dli_fbase ? "/proc/self/exe" : ours.dli_fname;
    char *slash = realpath(file, path) != NULL ? strrchr(path, '/') : NULL;
    if (slash != NULL) {
        *slash = '\0';
    }
    return slash != NULL;
}

void *vta_open_beside(const char *name, const char *folder, int mode)
{
    const char *const beside[] = {folder, "../lib/vtac", "vtac", "../lib", "."};
    char own[PATH_MAX];
    const bool known = own_folder(own);
    for (size_t i = 0; known && i < sizeof beside / sizeof beside[0]; i++) {
        char path[PATH_MAX + 160];
        (void)snprintf(path, sizeof path, "%s/%s/%s", own, beside[i], name);
        if (access(path, R_OK) == 0) {
            return dlopen(path, mode);
        }
    }
    return dlopen(name, mode); /* or where the system looks */
}

static vta_status load_module(const vta_kernels_calls **out, vta_diag *diag)
{
    typedef const vta_kernels_calls *give_fn(void);
    give_fn *give = NULL;
    void *file = vta_open_beside("libvta_gpu.so", VTA_MODULE_FOLDER, RTLD_NOW | RTLD_LOCAL);
    void *found = file != NULL ? dlsym(file, VTA_KERNELS_SYMBOL) : NULL;
    memcpy(&give, &found, sizeof give);
    const vta_kernels_calls *calls = give != NULL ? give() : NULL;
    if (calls == NULL) {
        return vta_fail(diag, VTA_IO, "devices that run kernels need libvta_gpu.so: %s", dlerror());
    }
    if (calls->edition != VTA_KERNELS_EDITION) {
        return vta_fail(diag, VTA_IO, "libvta_gpu.so is of another release");
    }
    *out = calls;
    return VTA_OK;
}

vta_status vta_kernels_get(const vta_kernels_calls **calls, vta_diag *diag)
{
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    static const vta_kernels_calls *loaded;
    (void)pthread_mutex_lock(&guard);
    const vta_status status = loaded != NULL ? VTA_OK : load_module(&loaded, diag);
    *calls = loaded;
    (void)pthread_mutex_unlock(&guard);
    return status;
}
