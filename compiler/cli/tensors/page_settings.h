/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of classes and the way of pictures that a page of `vtac compile --host wasm32 -o PAGE.html` begins
 * with.
 */
#ifndef VTAC_CLI_PAGE_SETTINGS_H
#define VTAC_CLI_PAGE_SETTINGS_H

#include "cli.h"

/* JSON for vtac_artifact_image.page, of --classes and --preprocess; NULL where neither is there. The caller
 * frees it. */
vta_status cli_page_settings(const cli_args *args, char **out, vta_diag *diag);

#endif
