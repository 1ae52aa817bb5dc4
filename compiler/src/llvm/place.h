/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VTAC_LLVM_PLACE_H
#define VTAC_LLVM_PLACE_H

#include "backend.h"

/* See vtac_llvm_calls. */
vta_status vtac_llvm_place(const vtac_artifact_image *image, struct LLVMOrcOpaqueLLJIT **jit,
                           const vta_artifact **artifact, vta_diag *diag);
void vtac_llvm_forget(struct LLVMOrcOpaqueLLJIT *jit);

#endif
