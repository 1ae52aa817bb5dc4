/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEMO_EXPORT_H
#define DEMO_EXPORT_H

#include "net.h"

/* The network as an ONNX file of floats for one picture, normalization folded into the weights. */
vta_status demo_net_export(const net *n, const char *path, vta_diag *diag);

#endif
