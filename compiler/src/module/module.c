/* SPDX-License-Identifier: Apache-2.0 */
#include "module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "vta/kernels.h"

vta_status vtac_module_open(const vtac_module *module, const void **calls, vta_diag *diag)
{
    typedef const void *give_fn(void);
    char name[80], symbol[64];
    const int mode = RTLD_NOW | (module->is_global ? RTLD_GLOBAL : RTLD_LOCAL);
    (void)snprintf(symbol, sizeof symbol, "vtac_%s", module->name);
    (void)snprintf(name, sizeof name, "lib%s.so", symbol);
    void *file =
        module->path != NULL ? dlopen(module->path, mode) : vta_open_beside(name, VTAC_MODULE_FOLDER, mode);
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
