/* SPDX-License-Identifier: Apache-2.0
 *
 * The functional simulator: the instruction set as fast C, exact, without a clock.
 */
#ifndef VTA_FSIM_H
#define VTA_FSIM_H

#include "vta/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vta_fsim vta_fsim;

/* `strict` also traps what only the checker would refuse: reads of unwritten entries, deadlock. */
vta_status vta_fsim_create(const vta_config *config, const vta_bus *bus, bool strict, vta_fsim **out,
                           vta_diag *diag);
void vta_fsim_destroy(vta_fsim *fsim);

/* Runs to the end. VTA_OK with report->error set when the program failed; another status when it could not be
 * run. */
vta_status vta_fsim_run(vta_fsim *fsim, const vta_launch *launch, vta_report *report, vta_diag *diag);

/* Copies the contents of a scratchpad after a run, laid out as for a LOAD: depth times elem_bytes bytes. */
void vta_fsim_scratchpad(const vta_fsim *fsim, vta_memory memory, void *out);

/* Asks the run that another thread is in to stop soon; it then ends with VTA_INTERRUPTED. A request that
 * comes before the run has begun is lost: repeat it until the run has ended. */
void vta_fsim_interrupt(vta_fsim *fsim);

/* Name of the inner loops that were chosen for this CPU: "avx512-vnni", "avx2", "neon", "portable". */
const char *vta_fsim_kernel(const vta_fsim *fsim);

#ifdef __cplusplus
}
#endif
#endif
