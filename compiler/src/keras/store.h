/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights in HDF5, from memory, through libhdf5, which the module libvtac_hdf5.so has in it
 * (../module/module.h). Only what lies in the file itself is read: soft and external links, external storage
 * and virtual data sets are refused.
 */
#ifndef VTAC_KERAS_STORE_H
#define VTAC_KERAS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/arena.h"
#include "vta/status.h"
#include "vtac/graph.h"

enum { KERAS_STORE_EDITION = 1 };

struct vtac_keras_store_calls;

typedef struct vtac_keras_store {
    const struct vtac_keras_store_calls
        *calls; /* what an open file can be asked; the module knows the rest */
} vtac_keras_store;

typedef struct vtac_keras_store_calls {
    int edition;
    vta_status (*open)(const uint8_t *bytes, size_t size, vtac_keras_store **out, vta_diag *diag);
    void (*close)(vtac_keras_store *store);

    /* A text attribute of the group at `path` ("/" is the file's); NULL: it has none. */
    vta_status (*text)(vtac_keras_store *store, const char *path, const char *name, vta_arena *arena,
                       const char **out, vta_diag *diag);

    /* An attribute that is a list of texts; *count 0: it has none. */
    vta_status (*texts)(vtac_keras_store *store, const char *path, const char *name, vta_arena *arena,
                        const char *const **out, size_t *count, vta_diag *diag);

    bool (*has)(vtac_keras_store *store, const char *path);

    /* The numbers of a data set as float32. */
    vta_status (*floats)(vtac_keras_store *store, const char *path, vta_arena *arena, vtac_tensor *out,
                         vta_diag *diag);
} vtac_keras_store_calls;

/* Loads the module where that was not done before. */
vta_status vtac_keras_store_open(const uint8_t *bytes, size_t size, vtac_keras_store **out, vta_diag *diag);

/* Closes a store; NULL is allowed. */
void vtac_keras_store_close(vtac_keras_store *store);

#endif
