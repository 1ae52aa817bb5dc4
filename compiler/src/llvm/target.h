/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the LLVM back end: machines, and the objects that a program becomes.
 */
#ifndef VTAC_LLVM_TARGET_H
#define VTAC_LLVM_TARGET_H

#include <llvm-c/TargetMachine.h>

#include "../gpu/gpu.h"
#include "../lower/lower.h"

/* The level of code that runs once: it is made as quickly as can be. */
enum { VTAC_LEVEL_ONCE = -1 };

/* A machine that makes code for a target; owned: LLVMDisposeTargetMachine. */
vta_status vtac_machine_create(const vtac_target *target, int level, LLVMTargetMachineRef *out,
                               vta_diag *diag);

/* Fills in what follows from triple, cpu and features: what the loader must find, and the shape of vectors.
 */
vta_status vtac_target_learn(vtac_target *target, vta_diag *diag);

/* See vtac_target_find. */
vta_status vtac_llvm_find(const char *name, vtac_target *out, vta_diag *diag);

/* True if the triple is of this architecture, by LLVM's name of it. */
bool vtac_target_is(const vtac_target *target, const char *arch);

/* Code, plan and constants of a program as one object. */
vta_status vtac_emit_object(const vtac_program *program, bool want_texts, vtac_artifact_image *out,
                            vta_diag *diag);

/* Prints a bound nest as a kernel of PTX: see vtac_ptx_fn. */
vta_status vtac_emit_ptx(const vtac_bound *bound, const char *processor, vta_str *out, uint32_t *needs,
                         vta_diag *diag);

/* Adds the libraries that the link of an object needs: see vtac_artifact_image. */
vta_status vtac_emit_libraries(const vtac_target *target, vtac_artifact_image *image, vta_diag *diag);

/* A module as an object (or as assembly); *bytes owned, with a 0 behind it. */
vta_status vtac_emit_module(LLVMTargetMachineRef machine, LLVMModuleRef module, LLVMCodeGenFileType kind,
                            uint8_t **bytes, size_t *size, vta_diag *diag);

#endif
