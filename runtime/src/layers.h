/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers of a model's accelerator steps: as planned, and as a run took them.
 */
#ifndef VTA_LAYERS_H
#define VTA_LAYERS_H

#include "vta/artifact.h"
#include "vta/model.h"
#include "vta/runtime.h"

typedef struct vta_layers {
    vta_layer_profile *rows; /* of each accelerator step: its layers, then one for what belongs to none */
    uint32_t count;
    uint32_t *first; /* by step */
} vta_layers;

vta_status vta_layers_create(const vta_artifact *artifact, vta_layers *out, vta_diag *diag);
void vta_layers_free(vta_layers *layers);

/* Records the cycles of a launch of `step`. `account` is vta_device_account's; NULL: not known. */
void vta_layers_record(vta_layers *layers, const vta_artifact *artifact, uint32_t step, const vta_code *code,
                       const uint64_t *account, uint32_t insn_count, const vta_report *report);

#endif
