/* SPDX-License-Identifier: Apache-2.0
 *
 * Models that run in this process as soon as they are compiled, without a linker and a file. The compiler
 * runs such for itself: constants that it computes, tables of functions, ranges of values.
 */
#ifndef VTAC_LOAD_H
#define VTAC_LOAD_H

#include <stdbool.h>

#include "vta/model.h"
#include "vtac/codegen.h"

typedef struct vtac_loaded {
    vta_model *model;
    struct LLVMOrcOpaqueLLJIT *code; /* of the model, until it is unloaded */
} vtac_loaded;

/* True if the image was compiled for this kind of machine with an operating system. */
bool vtac_can_load(const vtac_artifact_image *image);

/* Makes an image of this machine ready to run. NULL for `options`: the model's defaults. */
vta_status vtac_load(const vtac_artifact_image *image, const vta_model_options *options, vtac_loaded *out,
                     vta_diag *diag);

/* A graph that is run while another one is compiled: compiled at optimization `level` for the least processor
 * of this machine's kind, so that the numbers are the same wherever they are made; one thread. */
vta_status vtac_load_graph(const vtac_graph *graph, int level, vtac_loaded *out, vta_diag *diag);

/* Does nothing with what was not loaded, {0}. */
void vtac_unload(vtac_loaded *loaded);

#endif
