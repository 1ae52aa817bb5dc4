/* SPDX-License-Identifier: Apache-2.0
 *
 * Temporary files: below $TMPDIR, or /tmp.
 */
#ifndef VTAC_TEMPORARY_H
#define VTAC_TEMPORARY_H

#include "vta/model.h"
#include "vtac/codegen.h"

enum { VTAC_TEMPORARY_PATH = 4096 };

/* Makes an empty one, 'vtac-KIND-' and six letters. Whoever makes it removes it; vta/hold.h keeps signals
 * away meanwhile. */
vta_status vtac_temporary_file(const char *kind, char path[VTAC_TEMPORARY_PATH], vta_diag *diag);
vta_status vtac_temporary_folder(const char *kind, char path[VTAC_TEMPORARY_PATH], vta_diag *diag);

/* What was compiled for this machine, ready to run on its processor; no file of it stays. */
vta_status vtac_load(const vtac_artifact_image *image, const vta_model_options *options, vta_model **out,
                     vta_diag *diag);

/* A graph that is run while another one is compiled: compiled at optimization `level` for the least processor
 * of this machine's kind, so that the numbers are the same wherever they are made; one thread. */
vta_status vtac_load_graph(const vtac_graph *graph, int level, vta_model **out, vta_diag *diag);

#endif
