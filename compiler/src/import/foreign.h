/* SPDX-License-Identifier: Apache-2.0
 *
 * Models of kinds that are known and not read (vtac/foreign.def): the message names the kind and the way out.
 */
#ifndef VTAC_IMPORT_FOREIGN_H
#define VTAC_IMPORT_FOREIGN_H

#include "vtac/import.h"

/* VTA_UNSUPPORTED, with the message, where the file or the folder is of such a kind; else VTA_OK. */
vta_status vtac_refuse_foreign_file(const vtac_model_file *file, vta_diag *diag);
vta_status vtac_refuse_foreign_folder(const char *path, vta_diag *diag);

/* True where a file is an object of JSON with two members of those names. */
bool vtac_json_has(const vtac_model_file *file, const char *a, const char *b);

#endif
