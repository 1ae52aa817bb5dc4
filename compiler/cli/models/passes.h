/* SPDX-License-Identifier: Apache-2.0
 *
 * What verbs that run passes share: their options, and what they print about passes.
 */
#ifndef VTAC_CLI_PASSES_H
#define VTAC_CLI_PASSES_H

#include "tensors.h"
#include "vtac/pass.h"

/* Rows for a verb's table of options. */
#define CLI_PASS_OPTIONS                                                                                     \
    {"-O", "N", CLI_TEXT, "0 to 3: how much to optimize (default 3)"},                                       \
        {"--disable-pass", "NAME", CLI_TEXT, "leave a pass out (may be repeated)"},                          \
        {"--time-passes", NULL, CLI_FLAG, "tell what each pass did; --list-passes: list them"},              \
    {                                                                                                        \
        "--list-passes", NULL, CLI_FLAG, NULL                                                                \
    }

/* The options above but for --list-passes. CLI_OK, or CLI_USAGE with the message written. */
int cli_read_passes(const cli_args *args, vtac_pass_options *out);

/* A model: ONNX, or the text of a graph where the name ends in .ir. What importing assumes is told on stderr.
 */
vta_status cli_load_graph(const cli_args *args, const char *path, const cli_shapes *shapes, vtac_graph **out,
                          vta_diag *diag);

/* The same, without a word about what importing assumes. */
vta_status cli_load_graph_again(const char *path, const cli_shapes *shapes, vtac_graph **out, vta_diag *diag);

/* The table of passes on stdout, as JSON with --json. */
int cli_list_passes(const cli_args *args);

#endif
