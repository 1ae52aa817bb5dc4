/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of a model as a newer opset writes them.
 */
#ifndef VTAC_ONNX_UPLIFT_H
#define VTAC_ONNX_UPLIFT_H

#include "writer.h"

/* Nodes written for opset `from`, in the form of opset `to`: copies, in the writer's memory. NULL: a node has
 * no such form, or the writer has failed. */
Onnx__NodeProto **vtac_uplift_nodes(vtac_onnx_writer *w, Onnx__NodeProto *const *nodes, size_t count,
                                    int64_t from, int64_t to, size_t *made);

#endif
