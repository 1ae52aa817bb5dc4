/* SPDX-License-Identifier: Apache-2.0
 *
 * A model that runs on another machine, through its vtac-agent. Here are its description and, in model.c, its
 * inputs and outputs; a run takes the ones there and brings the others back.
 */
#ifndef VTA_MODEL_REMOTE_H
#define VTA_MODEL_REMOTE_H

#include "layers.h"
#include "vta/artifact.h"
#include "vta/remote.h"

typedef struct vta_model_remote vta_model_remote;

/* Sends the file, unless it is there already, and opens it there. `stop`: becomes true when a run is to end.
 */
vta_status vta_model_remote_open(const char *path, const vta_model_options *options, const atomic_bool *stop,
                                 vta_model_remote **out, vta_diag *diag);
void vta_model_remote_close(vta_model_remote *m);

/* The model as an artifact: name, tensors, number of steps, sizes; it has no kernels. */
const vta_artifact *vta_model_remote_artifact(const vta_model_remote *m);

/* Rows that a run fills in; the remote model's. */
vta_step_profile *vta_model_remote_steps(const vta_model_remote *m);
vta_layer_profile *vta_model_remote_layers(const vta_model_remote *m, uint32_t *count);

/* The device as it was given, "" where the model needs none. */
const char *vta_model_remote_device(const vta_model_remote *m);

vta_status vta_model_remote_run(vta_model_remote *m, uint8_t *const *inputs, uint8_t *const *outputs,
                                bool profiled, vta_diag *diag);

#endif
