/* SPDX-License-Identifier: Apache-2.0
 *
 * A shared library that has names and nothing behind them, for a linker to find them in.
 */
#ifndef VTAC_LINK_NAMES_H
#define VTAC_LINK_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"

/* Writes the library `soname` with functions of these names (NULL behind the last) to `path`, for the
 * processor that `object` is for. */
vta_status vtac_write_names(const uint8_t *object, size_t bytes, const char *soname, const char *const *names,
                            const char *path, vta_diag *diag);

#endif
