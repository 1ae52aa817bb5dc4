/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of assets/, and runtime/wasm/family.css, which the build writes into the program (embed.py).
 */
#ifndef VTAC_CLI_ASSETS_H
#define VTAC_CLI_ASSETS_H

typedef struct cli_asset {
    const char *file;         /* "family.css" */
    const char *const *lines; /* up to a NULL */
} cli_asset;

extern const cli_asset cli_assets[];

#endif
