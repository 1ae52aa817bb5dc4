/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac run on an accelerator of several cores: the pictures of a batch side by side, each on a core that is
 * free.
 */
#ifndef VTAC_CLI_RUN_CORES_H
#define VTAC_CLI_RUN_CORES_H

#include "inputs.h"
#include "outputs.h"

typedef struct cli_batch {
    const char *path; /* of the model */
    const vta_model_options *options;
    cli_inputs *inputs;
    uint32_t cases, pictures; /* picture I is case I % cases */
    bool json;
    /* Gives the caller the model with the inputs and outputs of a picture, when all are done, in order. */
    vta_status (*told)(void *context, vta_model *model, uint32_t picture, uint64_t cycles, vta_diag *diag);
    void *context;
} cli_batch;

/* Runs all pictures on the cores of `model`'s device, and as many as one core gets on one core alone; then
 * prints cycles and scaling, in JSON members that end with a comma. */
vta_status cli_batch_run(const cli_batch *batch, vta_model *model, vta_diag *diag);

#endif
