/* SPDX-License-Identifier: Apache-2.0
 *
 * Open batches of models that are not of ONNX (batch.c).
 */
#ifndef VTAC_IMPORT_BATCH_H
#define VTAC_IMPORT_BATCH_H

#include "vtac/import.h"

/* Makes a loop over the rows of its batch of `graph`, which was loaded of `file` at a batch of one, where
 * that is asked for. A range that cannot be had is refused; where --dynamic changes nothing, a note says so.
 */
vta_status vtac_open_batch(const vtac_import_kind *kind, const vtac_model_file *file,
                           const vtac_import_options *options, vtac_graph *graph, vta_diag *diag);

/* import.c: makes the values that were asked for the outputs, and names states. */
vta_status vtac_choose_ends(vtac_graph *graph, const vtac_import_options *options, vta_diag *diag);

#endif
