/* SPDX-License-Identifier: Apache-2.0
 *
 * The shared object of a compiled model, as a copy of the file at the moment of loading.
 */
#ifndef VTA_LIBRARY_H
#define VTA_LIBRARY_H

#include <stdint.h>

#include "pages.h"
#include "vta/status.h"

typedef struct vta_library {
    void *handle;
    int copy;        /* the file that is mapped; -1: that of the path */
    vta_pages pages; /* of its constants, where those have moved */
} vta_library;

/* Checks the seal (seal.h) of exactly the bytes that it maps. */
vta_status vta_library_open(const char *path, vta_library *out, vta_diag *diag);
/* The address of a name in it; NULL: it has none. */
const void *vta_library_symbol(const vta_library *library, const char *name);
/* Moves the library's constants to huge pages if that is possible; returns their address. If they have moved,
 * nobody may read those at `constants` any more. */
const void *vta_library_constants(vta_library *library, const void *constants, uint64_t bytes);
void vta_library_close(vta_library *library);

#endif
