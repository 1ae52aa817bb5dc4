/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VTAC_CODEGEN_LLVM_H
#define VTAC_CODEGEN_LLVM_H

#include "../llvm/backend.h"

/* LLVM's calls, loaded by the first who asks. */
vta_status vtac_llvm_get(const vtac_llvm_calls **calls, vta_diag *diag);

#endif
