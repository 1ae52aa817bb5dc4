/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph compiled and made ready to run, for the verbs that run a model at once.
 */
#ifndef VTAC_CLI_PLACE_H
#define VTAC_CLI_PLACE_H

#include "offload.h"
#include "vta/model.h"
#include "vtac/load.h"

/* Optimizes a graph and compiles it. */
vta_status cli_compile_image(vtac_graph *graph, const char *host, int level, const cli_offload *offload,
                             vtac_artifact_image *out, vta_diag *diag);

/* A compiled model to be run at once: placed in this process, or, where it is for another machine, linked
 * into a file and sent there. vtac_unload ends both. */
vta_status cli_place_image(const vtac_artifact_image *image, const vta_model_options *options,
                           vtac_loaded *out, vta_diag *diag);

/* Optimizes a graph and compiles it into `path`. */
vta_status cli_compile_graph(vtac_graph *graph, const char *host, int level, const cli_offload *offload,
                             const char *path, vta_diag *diag);

#endif
