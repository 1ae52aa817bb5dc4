/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that a verb writes when its work is done: it asks before the work whether it will be able to.
 */
#ifndef VTAC_CLI_WRITABLE_H
#define VTAC_CLI_WRITABLE_H

#include <stddef.h>

#include "vta/status.h"

/* The folder of a file, "." where its path names none. */
void cli_folder_of(const char *path, char *folder, size_t size);

/* Checks that vta_file_write can make this file: its folder takes a new one, or the file is a device or a
 * pipe that takes bytes. */
vta_status cli_can_write(const char *path, vta_diag *diag);

/* Checks that lines can be appended to this file, which need not exist. */
vta_status cli_can_append(const char *path, vta_diag *diag);

#endif
