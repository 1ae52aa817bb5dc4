/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of this build, best first.
 */
#include "kernel.h"

/* A processor with NEON has it always: nothing behind it would be taken. The others are asked at run time. */
extern const fsim_kernel vta_fsim_avx512, vta_fsim_avx2, vta_fsim_neon, vta_fsim_portable;

const fsim_kernel *const vta_fsim_kernels[] = {
#if defined(__x86_64__)
    &vta_fsim_avx512,
    &vta_fsim_avx2,
#endif
#if defined(__ARM_NEON)
    &vta_fsim_neon,
#else
    &vta_fsim_portable,
#endif
    NULL,
};
