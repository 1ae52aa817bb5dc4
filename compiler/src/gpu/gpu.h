/* SPDX-License-Identifier: Apache-2.0
 *
 * From the steps of a program to kernels for a GPU: axes are bound to items, a printer writes each kernel in
 * its language.
 */
#ifndef VTAC_GPU_H
#define VTAC_GPU_H

#include "../lower/lower.h"
#include "vta/kernels.h"
#include "vta/str.h"

/* A nest whose outermost loop, where it is a parallel one, is shared among the items. */
typedef struct vtac_bound {
    vtac_kernel kernel; /* a copy, whose buffers are those of the nest */
    int64_t items;      /* iterations of that loop; 1: one item does all */
} vtac_bound;

/* The nest stays as it is. */
vta_status vtac_bind(const vtac_kernel *nest, vtac_bound *out, vta_diag *diag);
void vtac_bound_free(vtac_bound *bound);

/* A language that kernels are printed in. */
typedef struct vtac_printer {
    const char *language; /* as in --target and in the artifact */
    const char *prelude;  /* goes before each kernel */
    /* Appends the kernel's parameters and body, behind its name; *needs gets VTA_KERNEL_DOUBLES and the like.
     * VTA_UNSUPPORTED: the language has no form for it, and `diag` says of what. */
    vta_status (*print)(const vtac_bound *bound, vta_str *out, uint32_t *needs, vta_diag *diag);
} vtac_printer;

extern const vtac_printer vtac_opencl_printer;
extern const char vtac_opencl_prelude[];

/* The printer of a language; NULL: there is none. */
const vtac_printer *vtac_printer_of(const char *language);

/* A printed kernel, which steps of one shape share. */
typedef struct vtac_gpu_kernel {
    const char *name; /* of the first step */
    char *source;     /* owned: vtac_gpu_free */
    uint32_t needs;
} vtac_gpu_kernel;

/* A step on the device; kernel -1: on the host, for a reason. */
typedef struct vtac_gpu_launch {
    int64_t kernel, items;
    const char *reason;
} vtac_gpu_launch;

/* The steps of a planned program as kernels. */
typedef struct vtac_gpu {
    const vtac_printer *printer;
    vta_vec kernels;           /* of vtac_gpu_kernel */
    vtac_gpu_launch *launches; /* one for each step; the program's arena has them */
} vtac_gpu;

vta_status vtac_gpu_print(const vtac_printer *printer, vtac_program *program, vtac_gpu *out, vta_diag *diag);
void vtac_gpu_free(vtac_gpu *gpu);
/* Kernels and what stays on the host, in words; owned. */
char *vtac_gpu_text(const vtac_gpu *gpu);

#endif
