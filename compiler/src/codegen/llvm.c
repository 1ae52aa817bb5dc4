/* SPDX-License-Identifier: Apache-2.0 */
#include "llvm.h"

#include <pthread.h>

#include "../module/module.h"

vta_status vtac_llvm_get(const vtac_llvm_calls **calls, vta_diag *diag)
{
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    static const void *loaded;
    static const vtac_module module = {.name = "llvm", .edition = VTAC_LLVM_EDITION};
    (void)pthread_mutex_lock(&guard);
    const vta_status status = loaded != NULL ? VTA_OK : vtac_module_open(&module, &loaded, diag);
    *calls = loaded;
    (void)pthread_mutex_unlock(&guard);
    return status;
}
