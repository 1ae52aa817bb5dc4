/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the binding of nests.
 */
#ifndef VTAC_GPU_BIND_H
#define VTAC_GPU_BIND_H

#include "gpu.h"

/* Makes groups of a nest that is shared out freely, its lanes neighbouring items; the nest stays as it is
 * where that is not legal. */
vta_status vtac_bind_lanes(vtac_bound *bound, vta_diag *diag);

#endif
