/* SPDX-License-Identifier: Apache-2.0
 *
 * What the module libvtac_llvm.so does for the rest of the compiler (../module/module.h): the one door to
 * LLVM.
 */
#ifndef VTAC_LLVM_BACKEND_H
#define VTAC_LLVM_BACKEND_H

#include "../gpu/gpu.h"
#include "../lower/lower.h"
#include "vta/artifact.h"

enum { VTAC_LLVM_EDITION = 3 };

struct LLVMOrcOpaqueLLJIT;

typedef struct vtac_llvm_calls {
    int edition;

    /* See vtac_target_find. */
    vta_status (*find)(const char *name, vtac_target *out, vta_diag *diag);

    /* Code, plan and constants of a program as one object. */
    vta_status (*emit)(const vtac_program *program, bool want_texts, vtac_artifact_image *out,
                       vta_diag *diag);

    /* Adds the libraries that the link of an object needs: see vtac_artifact_image. */
    vta_status (*add_libraries)(const vtac_target *target, vtac_artifact_image *image, vta_diag *diag);

    /* An object in this process's memory; *jit owns it, also where this fails; NULL: nothing. */
    vta_status (*place)(const vtac_artifact_image *image, struct LLVMOrcOpaqueLLJIT **jit,
                        const vta_artifact **artifact, vta_diag *diag);
    void (*forget)(struct LLVMOrcOpaqueLLJIT *jit);

    /* A kernel as PTX (../gpu/gpu.h). */
    vtac_ptx_fn *ptx;
} vtac_llvm_calls;

/* The module's one name. */
const void *vtac_llvm(void);

#endif
