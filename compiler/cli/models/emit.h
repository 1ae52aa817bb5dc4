/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts behind a compiled model: --emit ir,plan,ll,asm,loops,dot:DIR.
 */
#ifndef VTAC_CLI_EMIT_H
#define VTAC_CLI_EMIT_H

#include "cli.h"
#include "vtac/codegen.h"

/* Checks the words of --emit, if given: known texts and a folder. CLI_OK, or CLI_USAGE with
 * the message written. */
int cli_read_emit(const cli_args *args);

/* Writes what --emit asks for as DIR/model.NAME. */
vta_status cli_emit(const cli_args *args, const vtac_graph *graph, const vtac_artifact_image *image,
                    vta_diag *diag);

/* Prints the lines of a text that names nodes. */
void cli_print_lines(const char *text);

#endif
