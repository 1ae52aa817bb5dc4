/* SPDX-License-Identifier: Apache-2.0
 *
 * The two halves of fold-constants: rules (fold_constants.c), and running what they leave (fold_run.c).
 */
#ifndef VTAC_PASS_FOLD_RUN_H
#define VTAC_PASS_FOLD_RUN_H

#include "vtac/graph.h"

/* Compiles and runs all nodes that depend on constants alone; constants take the place of their results. */
vta_status vtac_fold_by_running(vtac_graph *graph, uint32_t *changes, vta_diag *diag);

/* True if a result of `out` bytes may replace operands of `in` bytes: folding should not fill an
 * artifact with zeros. */
bool vtac_fold_is_worth(size_t in, size_t out);

#endif
