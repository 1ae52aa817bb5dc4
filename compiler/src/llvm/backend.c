/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"

#include "place.h"
#include "target.h"

__attribute__((visibility("default"))) const void *vtac_llvm(void)
{
    static const vtac_llvm_calls calls = {VTAC_LLVM_EDITION,   vtac_llvm_find,  vtac_emit_object,
                                          vtac_emit_libraries, vtac_llvm_place, vtac_llvm_forget,
                                          vtac_emit_ptx};
    return &calls;
}
