/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the LLVM back end: machines, and the object that a program becomes.
 */
#ifndef VTAC_LLVM_TARGET_H
#define VTAC_LLVM_TARGET_H

#include <llvm-c/TargetMachine.h>

#include "../lower/lower.h"

/* A machine that makes code for a target; owned: LLVMDisposeTargetMachine. */
vta_status vtac_machine_create(const vtac_target *target, int level, LLVMTargetMachineRef *out,
                               vta_diag *diag);

/* Code, plan and constants of a program as one object. */
vta_status vtac_emit_object(const vtac_program *program, bool want_texts, vtac_artifact_image *out,
                            vta_diag *diag);

#endif
