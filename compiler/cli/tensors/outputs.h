/* SPDX-License-Identifier: Apache-2.0
 *
 * What a model has made: printed, its largest values with their names, written to files.
 */
#ifndef VTAC_CLI_OUTPUTS_H
#define VTAC_CLI_OUTPUTS_H

#include "cli.h"
#include "vta/lines.h"
#include "vta/model.h"

typedef struct cli_outputs {
    uint64_t top;     /* print the largest so many */
    vta_lines labels; /* owned: the name of each class; no line without --labels */
    bool json;
} cli_outputs;

/* A name a line, by index. */
vta_status cli_read_labels(const char *path, cli_outputs *out, vta_diag *diag);
void cli_free_outputs(cli_outputs *outputs);

/* All outputs of the last run; with JSON the member "outputs", without a comma in front. */
void cli_print_outputs(const cli_outputs *how, const vta_model *model);

/* Each as FOLDER/PREFIXNAME.npy; the folder is made. */
vta_status cli_save_outputs(const vta_model *model, const char *folder, const char *prefix, vta_diag *diag);

#endif
