/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights of a Keras model, wherever they lie. Those in HDF5 are read from memory (../hdf5/reader.h), and
 * only what lies in the file itself: soft and external links, external storage and virtual data sets are
 * refused.
 */
#ifndef VTAC_KERAS_STORE_H
#define VTAC_KERAS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/arena.h"
#include "vta/status.h"
#include "vtac/graph.h"

struct vtac_keras_store_calls;

typedef struct vtac_keras_store {
    const struct vtac_keras_store_calls *calls;
} vtac_keras_store;

/* Questions to an open store. */
typedef struct vtac_keras_store_calls {
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

/* The store in an HDF5 file. The bytes stay the caller's, and stay as they are until the store is closed. */
vta_status vtac_keras_store_open(const uint8_t *bytes, size_t size, vtac_keras_store **out, vta_diag *diag);

/* Closes a store; NULL is allowed. */
void vtac_keras_store_close(vtac_keras_store *store);

#endif
