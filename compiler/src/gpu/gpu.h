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

/* A nest in one of two forms. Shared out freely: the outermost loop, where it is a parallel one, is shared
 * among any number of items. In groups: a GROUP loop holds an ITEM loop (vtac/loop.h), and as many groups
 * and items as these have iterations run it. */
typedef struct vtac_bound {
    vtac_kernel kernel; /* a copy, whose buffers are those of the nest */
    int64_t items;      /* iterations of the outermost loop; 1: one item does all. In groups: all items */
    int64_t group;      /* items of a group; 0: any number */
    uint64_t held;      /* bit i: argument i is a constant */
} vtac_bound;

/* Bounds of a nest's binding, each from above: the binding takes what the nest allows below
 * it. */
typedef struct vtac_bind_schedule {
    int64_t items; /* shared out freely: with fewer, the next loop is made part of the outermost one */
    int64_t lanes; /* in groups: neighbouring items that share a vector; a longer one is several for each */
    int64_t group; /* items of a group */
    int64_t tile;  /* bytes that a tile has in local memory; 0: nothing is brought there */
} vtac_bind_schedule;
extern const vtac_bind_schedule vtac_bind_standard;

/* The nest stays as it is. `groups`: in groups, where the nest allows that. */
vta_status vtac_bind(const vtac_kernel *nest, bool groups, const vtac_bind_schedule *how, vtac_bound *out,
                     vta_diag *diag);
/* The schedules that there are, the standard one first; returns how many. */
uint32_t vtac_bind_schedules(bool groups, const vtac_bind_schedule **out);
/* Binds the nest of a step by the schedule that the program's tuner or records name, if any do. */
vta_status vtac_bind_step(vtac_program *program, const vtac_step *step, bool groups, vtac_bound *out,
                          vta_diag *diag);
void vtac_bound_free(vtac_bound *bound);

/* A kernel as PTX, behind its name, for a processor like "sm_70"; see `print` below. LLVM's module has it
 * (../llvm/backend.h). */
typedef vta_status vtac_ptx_fn(const vtac_bound *bound, const char *processor, vta_str *out, uint32_t *needs,
                               vta_diag *diag);

typedef struct vtac_print_options {
    const char *detail; /* what follows the language's name and a colon, as in cuda:sm_80; else "" */
    bool groups;        /* nests are bound in groups; vtac_gpu_print sets it */
    bool always;        /* every step that has a kernel runs on the device, whether that pays or not */
    vtac_ptx_fn *ptx;
} vtac_print_options;

/* Costs of leaving the device within a run: waiting for it, and moving bytes. */
typedef struct vtac_gpu_transfer {
    double wait_s, bytes_per_s;
} vtac_gpu_transfer;

/* Seconds that a step takes, roughly (price.c): on the device, on the host, for what moves then. */
typedef struct vtac_gpu_price {
    double device_s, host_s, transfer_s;
} vtac_gpu_price;
vtac_gpu_price vtac_gpu_price_of(const vtac_kernel *nest, const vtac_bound *bound,
                                 const vtac_gpu_transfer *transfer);
/* True if the host is faster by much. */
bool vtac_gpu_price_stays(const vtac_gpu_price *price);

/* A language that kernels are printed in. */
typedef struct vtac_printer {
    const char *language;       /* as in --target and in the artifact */
    const char *head;           /* goes before a kernel's name */
    bool of_browsers;           /* runs beside WebAssembly, and nowhere else */
    bool stores_words;          /* and no less: where a nest stores narrower elements, it keeps its vectors */
    bool has_halves;            /* in groups, weights that are halves are read as such */
    vtac_gpu_transfer transfer; /* of devices in groups */
    bool has_dots;              /* its devices have products of four bytes at once: nests are made of such */
    /* True if the devices want groups, whose neighbouring items are at neighbouring places. */
    bool (*wants_groups)(const vtac_print_options *options);
    /* Checks the detail and appends what goes before the kernels. */
    vta_status (*begin)(const vtac_print_options *options, vta_str *prelude, vta_diag *diag);
    /* Appends the kernel's parameters and body, behind its name; *needs gets VTA_KERNEL_DOUBLES and the like.
     * VTA_UNSUPPORTED: the language has no form for it, and `diag` says of what. */
    vta_status (*print)(const vtac_bound *bound, const vtac_print_options *options, vta_str *out,
                        uint32_t *needs, vta_diag *diag);
} vtac_printer;

extern const vtac_printer vtac_opencl_printer, vtac_ptx_printer, vtac_wgsl_printer;
extern const char vtac_opencl_prelude[];

/* The printer of a target like "opencl" or "cuda:sm_80", and the place of what follows the colon (or ""),
 * where `detail` is not NULL. NULL: there is none. */
const vtac_printer *vtac_printer_of(const char *target, const char **detail);

/* A printed kernel, which steps of one shape share. */
typedef struct vtac_gpu_kernel {
    const char *name; /* of the first step */
    char *source;     /* owned: vtac_gpu_free */
    uint32_t needs;
} vtac_gpu_kernel;

/* A step on the device; kernel -1: on the host, for a reason. */
typedef struct vtac_gpu_launch {
    int64_t kernel, items, group; /* items, group: as of vtac_bound */
    const char *reason;
} vtac_gpu_launch;

/* The steps of a planned program as kernels. */
typedef struct vtac_gpu {
    const vtac_printer *printer;
    vtac_print_options options;
    char *prelude;             /* owned, like the kernels: vtac_gpu_free */
    vta_vec kernels;           /* of vtac_gpu_kernel */
    vtac_gpu_launch *launches; /* one for each step; the program's arena has them */
} vtac_gpu;

vta_status vtac_gpu_print(const vtac_printer *printer, const vtac_print_options *options,
                          vtac_program *program, vtac_gpu *out, vta_diag *diag);
void vtac_gpu_free(vtac_gpu *gpu);
/* Kernels and what stays on the host, in words; owned. */
char *vtac_gpu_text(const vtac_gpu *gpu);

#endif
