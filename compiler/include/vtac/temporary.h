/* SPDX-License-Identifier: Apache-2.0
 *
 * Temporary files: below $TMPDIR, or /tmp. What is made under another name and then renamed to its own must
 * not take the place of a device.
 */
#ifndef VTAC_TEMPORARY_H
#define VTAC_TEMPORARY_H

#include <stdbool.h>

#include "vta/status.h"

enum { VTAC_TEMPORARY_PATH = 4096 };

/* Makes an empty one, 'vtac-KIND-' and six letters. Whoever makes it removes it; vta/hold.h keeps signals
 * away meanwhile. */
vta_status vtac_temporary_file(const char *kind, char path[VTAC_TEMPORARY_PATH], vta_diag *diag);
vta_status vtac_temporary_folder(const char *kind, char path[VTAC_TEMPORARY_PATH], vta_diag *diag);

/* A device, a pipe, or a link to one: it is written to, as /dev/null is; nothing is renamed to its name. */
bool vtac_is_special(const char *path);

#endif
