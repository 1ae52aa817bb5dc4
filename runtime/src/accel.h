/* SPDX-License-Identifier: Apache-2.0
 *
 * A model's accelerator: the device, its memory, and the programs of the model's accelerator steps on it.
 */
#ifndef VTA_ACCEL_H
#define VTA_ACCEL_H

#include "vta/artifact.h"
#include "vta/model.h"
#include "vta/runtime.h"

typedef struct vta_accel vta_accel;

/* Checks that a step's region lies inside the artifact's device memory and is consistent in itself. */
vta_status vta_accel_check_step(const vta_artifact *artifact, const vta_artifact_step *step, vta_diag *diag);

/* Opens the device ("fsim" where the options name none) or takes the shared one, copies constants and
 * programs to it. */
vta_status vta_accel_open(const vta_artifact *artifact, const vta_model_options *options, vta_accel **out,
                          vta_diag *diag);
void vta_accel_close(vta_accel *accel);

/* Takes the program of a step for `config` unchecked (vta_baremetal_trust); NULL: programs are checked. */
typedef vta_status vta_code_taker(const vta_artifact_step *step, const vta_config *config, vta_code **out,
                                  vta_diag *diag);
extern vta_code_taker *vta_accel_taker;

vta_device *vta_accel_device(const vta_accel *accel);

/* The accelerator's working memory, as the host sees it. */
uint8_t *vta_accel_work(const vta_accel *accel);

const vta_code *vta_accel_code(const vta_accel *accel, uint32_t step);

/* One launch of step `i`, from what host kernels wrote to what they may read. */
vta_status vta_accel_run(vta_accel *accel, uint32_t i, double timeout_s, vta_report *report, vta_diag *diag);

#endif
