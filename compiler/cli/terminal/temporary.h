/* SPDX-License-Identifier: Apache-2.0
 *
 * Temporary files of a verb: a signal that ends the process removes them first.
 */
#ifndef VTAC_CLI_TEMPORARY_H
#define VTAC_CLI_TEMPORARY_H

#include "vtac/temporary.h"

vta_status cli_temporary_file(const char *kind, char path[VTAC_TEMPORARY_PATH], vta_diag *diag);
vta_status cli_temporary_folder(const char *kind, char path[VTAC_TEMPORARY_PATH], vta_diag *diag);

/* The path of a file in such a folder, which need not be there yet. */
vta_status cli_temporary_in(const char *folder, const char *name, char path[VTAC_TEMPORARY_PATH],
                            vta_diag *diag);

/* Removes this one; of a folder, all that is in it, whoever made it. */
void cli_temporary_remove(const char *path);

/* Removes all of them; may be called by a signal's handler. */
void cli_temporary_remove_all(void);

#endif
