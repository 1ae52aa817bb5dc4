/* SPDX-License-Identifier: Apache-2.0
 *
 * A model as a file.
 */
#ifndef VTAC_ONNX_SAVE_H
#define VTAC_ONNX_SAVE_H

#include "onnx.pb-c.h"
#include "vta/status.h"

/* Serializes a model; the file appears whole or not at all. */
vta_status vtac_onnx_save(const Onnx__ModelProto *model, const char *path, vta_diag *diag);

#endif
