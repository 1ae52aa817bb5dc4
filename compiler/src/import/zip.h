/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading zip archives, as NumPy (.npz) and Keras (.keras) write them: members stored or deflated, below 4
 * GiB.
 */
#ifndef VTAC_IMPORT_ZIP_H
#define VTAC_IMPORT_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/arena.h"
#include "vta/status.h"

typedef struct vtac_zip_member {
    const char *name;
    const uint8_t *bytes;
    size_t size;
} vtac_zip_member;

/* All members, in the order of the archive's directory, unpacked into the arena. */
vta_status vtac_unzip(const uint8_t *bytes, size_t size, vta_arena *arena, vtac_zip_member **out,
                      uint32_t *count, vta_diag *diag);

/* True where the directory of an archive has a member whose name contains `part`; nothing is unpacked. */
bool vtac_zip_names(const uint8_t *bytes, size_t size, const char *part);

#endif
