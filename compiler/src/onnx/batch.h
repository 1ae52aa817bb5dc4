/* SPDX-License-Identifier: Apache-2.0
 *
 * Models whose only open size is that of a batch: each row of it goes its own way through the network, so the
 * network is compiled once, for one row, and run for each.
 */
#ifndef VTAC_ONNX_BATCH_H
#define VTAC_ONNX_BATCH_H

#include "vtac/graph.h"

struct vtac_importer;

/* True if every row of a batch goes its own way. `one` is the model imported at a batch of one, `many` at a
 * batch of `size`, a prime; *axis gets the axis of the batch in each value of the graph, -1: it has none. The
 * caller frees *axis. */
vta_status vtac_batch_rows(const vtac_graph *one, const vtac_graph *many, int64_t size, int **axis,
                           bool *apart, vta_diag *diag);

/* Imports the model as a loop over the rows of its batch. *done is false where it is no such model; the graph
 * is as it was then. */
vta_status vtac_import_batch(struct vtac_importer *im, vtac_graph **graph, bool *done, vta_diag *diag);

#endif
