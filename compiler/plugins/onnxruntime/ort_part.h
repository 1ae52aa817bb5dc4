/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of the host's graph, which the host runs as one node. Where sizes are open, it is compiled for those
 * of each run, once: a form of it for each.
 */
#ifndef VTAC_ORT_PART_H
#define VTAC_ORT_PART_H

#include "ort.h"

typedef struct vtac_ort_part vtac_ort_part;

/* Compiles and loads the part, for sizes of 1 where they are open. */
vta_status vtac_ort_part_load(vtac_plug *plug, const vtac_ort_graph *graph, const int32_t *regions,
                              int32_t region, vtac_ort_part **out, vta_diag *diag);

/* NULL is allowed. */
void vtac_ort_part_free(vtac_ort_part *part);

/* Names of the host's values. */
char *const *vtac_ort_part_inputs(const vtac_ort_part *part, uint32_t *count);
char *const *vtac_ort_part_outputs(const vtac_ort_part *part, uint32_t *count);

/* Runs the part; `inputs` and `outputs` are the numbers, in the node, of the part's inputs and outputs. Safe
 * from every thread. */
vta_status vtac_ort_part_run(vtac_ort_part *part, OrtKernelContext *context, const uint32_t *inputs,
                             const uint32_t *outputs, vta_diag *diag);

#endif
