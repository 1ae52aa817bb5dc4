/* SPDX-License-Identifier: Apache-2.0
 *
 * The large constants of an artifact, past LLVM: reserved as a section of the module, filled in the object.
 */
#ifndef VTAC_LLVM_WEIGHTS_H
#define VTAC_LLVM_WEIGHTS_H

#include <llvm-c/Types.h>

#include "../lower/lower.h"

/* The constants of a program's host or device memory, at `to`. */
typedef void vtac_constants_fn(const vtac_program *program, uint8_t *to);
vtac_constants_fn vtac_host_constants;
vtac_constants_fn vtac_device_constants;

/* A read-only global of so many bytes in a section of its own, ".rodata.NAME". */
LLVMValueRef vtac_reserve_section(LLVMModuleRef module, const char *section, uint64_t size,
                                  unsigned alignment);

/* Puts the constants in their section of an object in memory. */
vta_status vtac_fill_section(const vtac_program *program, const char *section, uint64_t size,
                             vtac_constants_fn *constants, uint8_t *object, size_t object_bytes,
                             vta_diag *diag);

#endif
