/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that a model names: external data of ONNX, a tree of classes of Darknet. The model comes from a
 * stranger, so the file must lie below the model's folder, be a regular file, and be reached without a
 * symbolic link.
 */
#ifndef VTA_INSIDE_H
#define VTA_INSIDE_H

#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens `name`, relative to `folder` (NULL: the model has none, a failure), for reading; never waits. `what`
 * stands in front of the name in a failure: "its external data". The caller closes *file. */
vta_status vta_inside_open(const char *folder, const char *name, const char *what, int *file, vta_diag *diag);

/* Reads up to `size` bytes at `offset`, past interruptions; fewer where the file ends. *got says how many. */
vta_status vta_inside_read(int file, uint64_t offset, void *to, size_t size, size_t *got, vta_diag *diag);

/* The whole of such a file, of at most `limit` bytes; *bytes is owned (free()) and has a terminator behind
 * *size. */
vta_status vta_inside_whole(const char *folder, const char *name, const char *what, size_t limit,
                            uint8_t **bytes, size_t *size, vta_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
