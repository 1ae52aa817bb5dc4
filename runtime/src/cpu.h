/* SPDX-License-Identifier: Apache-2.0
 *
 * What this processor can do.
 */
#ifndef VTA_CPU_H
#define VTA_CPU_H

#include "vta/status.h"

/* VTA_OK where the machine has each of the features, "avx512f,avx512vnni" by LLVM's names. One that is not in
 * vta/cpu_features.def counts as absent, so that a new one is never ignored. */
vta_status vta_cpu_check(const char *required, vta_diag *diag);

#endif
