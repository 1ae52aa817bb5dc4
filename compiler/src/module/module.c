/* SPDX-License-Identifier: Apache-2.0 */
#include "module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

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

/* Seen from that folder: where it is built, where it is installed. */
static void *open_beside(const char *name, int mode)
{
    static const char *const beside[] = {VTAC_MODULE_FOLDER, "../lib/vtac", "vtac", "../lib", "."};
    char folder[PATH_MAX];
    const bool known = own_folder(folder);
    for (size_t i = 0; known && i < sizeof beside / sizeof beside[0]; i++) {
        char path[PATH_MAX + 160];
        (void)snprintf(path, sizeof path, "%s/%s/%s", folder, beside[i], name);
        if (access(path, R_OK) == 0) {
            return dlopen(path, mode);
        }
    }
    return dlopen(name, mode); /* or where the system looks */
}

vta_status vtac_module_open(const vtac_module *module, const void **calls, vta_diag *diag)
{
    typedef const void *give_fn(void);
    char name[80], symbol[64];
    const int mode = RTLD_NOW | (module->is_global ? RTLD_GLOBAL : RTLD_LOCAL);
    (void)snprintf(symbol, sizeof symbol, "vtac_%s", module->name);
    (void)snprintf(name, sizeof name, "lib%s.so", symbol);
    void *file = module->path != NULL ? dlopen(module->path, mode) : open_beside(name, mode);
    if (file == NULL) {
        return vta_fail(diag, VTA_IO, "a part of vtac cannot be loaded: %s", dlerror());
    }
    give_fn *give = NULL;
    void *found = dlsym(file, symbol);
    memcpy(&give, &found, sizeof give);
    const int *edition = give != NULL ? give() : NULL;
    if (edition == NULL || *edition != module->edition) {
        return vta_fail(diag, VTA_IO, "the module %s is of another release",
                        module->path != NULL ? module->path : name);
    }
    *calls = edition;
    return VTA_OK;
}
