/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights in HDF5, from memory, through libhdf5. Only what lies in the file itself is read: soft and external
 * links, external storage and virtual data sets are refused.
 */
#ifndef VTAC_KERAS_STORE_H
#define VTAC_KERAS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/arena.h"
#include "vta/status.h"
#include "vtac/graph.h"

typedef struct keras_store keras_store;

vta_status keras_store_open(const uint8_t *bytes, size_t size, keras_store **out, vta_diag *diag);
void keras_store_close(keras_store *store);

/* A text attribute of the group at `path` ("/" is the file's); NULL: it has none. */
vta_status keras_store_text(keras_store *store, const char *path, const char *name, vta_arena *arena,
                            const char **out, vta_diag *diag);
/* An attribute that is a list of texts; *count 0: it has none. */
vta_status keras_store_texts(keras_store *store, const char *path, const char *name, vta_arena *arena,
                             const char *const **out, size_t *count, vta_diag *diag);
bool keras_store_has(keras_store *store, const char *path);
/* The numbers of a data set as float32. */
vta_status keras_store_floats(keras_store *store, const char *path, vta_arena *arena, vtac_tensor *out,
                              vta_diag *diag);

#endif
