/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights that stay on chip: what a run need not load again behind a run of the same code. Not for programs:
 * models do so by themselves.
 */
#ifndef VTA_AGAIN_H
#define VTA_AGAIN_H

#include "vta/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The instructions of another run of `code`, `out`, which has room for as many: LOADs of what the run before
 * left on chip are empty, *kept of them. The bytes of the buffers in `constants`, a bit each, are the same in
 * both runs. */
vta_status vta_code_again(const vta_code *code, uint32_t constants, vta_word *out, uint32_t *kept,
                          vta_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
