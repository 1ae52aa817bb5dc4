/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole files: read into memory, written so that no partial file is ever seen under the final name.
 */
#ifndef VTA_FILE_H
#define VTA_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a file of at most `limit` bytes. *bytes is owned (free()) and has a terminator after its `size`
 * bytes. */
vta_status vta_file_read(const char *path, size_t limit, uint8_t **bytes, size_t *size, vta_diag *diag);

/* Writes to a temporary name beside `path`, then renames; devices and pipes are written directly. */
vta_status vta_file_write(const char *path, const void *bytes, size_t size, vta_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
