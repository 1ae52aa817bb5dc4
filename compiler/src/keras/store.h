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

struct keras_store_calls;

typedef struct keras_store {
    const struct keras_store_calls *calls; /* what an open file can be asked; the module knows the rest */
} keras_store;

typedef struct keras_store_calls {
    int edition;
    vta_status (*open)(const uint8_t *bytes, size_t size, keras_store **out, vta_diag *diag);
    void (*close)(keras_store *store);

    /* A text attribute of the group at `path` ("/" is the file's); NULL: it has none. */
    vta_status (*text)(keras_store *store, const char *path, const char *name, vta_arena *arena,
                       const char **out, vta_diag *diag);

    /* An attribute that is a list of texts; *count 0: it has none. */
    vta_status (*texts)(keras_store *store, const char *path, const char *name, vta_arena *arena,
                        const char *const **out, size_t *count, vta_diag *diag);

    bool (*has)(keras_store *store, const char *path);

    /* The numbers of a data set as float32. */
    vta_status (*floats)(keras_store *store, const char *path, vta_arena *arena, vtac_tensor *out,
                         vta_diag *diag);
} keras_store_calls;

/* Loads the module where that was not done before. */
vta_status keras_store_open(const uint8_t *bytes, size_t size, keras_store **out, vta_diag *diag);

/* Nothing happens to NULL. */
void keras_store_close(keras_store *store);

#endif
