/* SPDX-License-Identifier: Apache-2.0
 *
 * Archives of arrays (.npz) as NumPy writes them, their members stored.
 */
#ifndef VTAC_CLI_ARCHIVE_H
#define VTAC_CLI_ARCHIVE_H

#include "cli.h"
#include "vta/model.h"

/* Writes what a model's inputs hold, an array for each, by its name: what --calib and --input take. */
vta_status cli_save_inputs(vta_model *model, const char *path, vta_diag *diag);

#endif
