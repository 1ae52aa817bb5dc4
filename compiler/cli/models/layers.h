/* SPDX-License-Identifier: Apache-2.0
 *
 * The accelerator's layers after a run: prediction beside measurement, and where every cycle went.
 */
#ifndef VTAC_CLI_LAYERS_H
#define VTAC_CLI_LAYERS_H

#include "vta/model.h"

void cli_layers_text(const vta_model *model);
/* Prints the layers as a member of a JSON object: ', "layers": [...]'. */
void cli_layers_json(const vta_model *model);

#endif
