/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include "../module/module.h"

vta_status vtac_keras_store_open(const uint8_t *bytes, size_t size, vtac_keras_store **out, vta_diag *diag)
{
    static const vtac_module module = {.name = "hdf5", .edition = KERAS_STORE_EDITION};
    const void *loaded = NULL;
    VTA_TRY(vtac_module_open(&module, &loaded, diag));
    const vtac_keras_store_calls *calls = loaded;
    return calls->open(bytes, size, out, diag);
}

void vtac_keras_store_close(vtac_keras_store *store)
{
    if (store != NULL) {
        store->calls->close(store);
    }
}
