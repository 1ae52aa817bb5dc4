/* SPDX-License-Identifier: Apache-2.0
 *
 * From a graph to a shared object: lower each operator to loop nests, plan the memory, emit code for a
 * target, link. vtac_compile gives the object and the texts; vtac_link makes the file that the runtime loads.
 */
#ifndef VTAC_CODEGEN_H
#define VTAC_CODEGEN_H

#include "vtac/graph.h"
#include "vtac/progress.h"

/* Processor that kernels are compiled for. It alone decides the code: the compiling machine has no influence,
 * except where the name is "host". */
typedef struct vtac_target {
    char name[64], triple[128], cpu[64];
    char features[4096];
    char required[256];    /* CPU features that the loader must find */
    uint32_t vector_bytes; /* of a vector register */
    uint32_t vector_count; /* vector registers */
    bool takes_halves;     /* of the longest vectors, one after the other: shorter ones do as much */
    bool has_vnni;         /* dot products of four u8 with four i8 */
    bool has_signed_dot;   /* of four i8 with four i8 */
    bool has_tiles;        /* registers of 16 times 64 bytes, and products of such */
    bool dots_by_pairs;    /* has_vnni, for nests that a GPU runs, too; the processor does them by pairs */
    bool has_pairs;        /* neither, but of two i16 with two i16 */
    bool has_long;         /* none, but an i32 and the product of two i16 */
    bool has_fma;
    bool has_half;     /* f16 to f32 and back, as an instruction */
    bool has_rounding; /* to whole numbers, as an instruction */
    bool has_division; /* of vectors, where there are vectors */
    bool has_neon;     /* ARM's vectors, of 32 bits and of 64 */
    bool has_floats;   /* as instructions: without, each operation is a call */
    bool is_scalar;    /* no vectors: bytes are moved one by one */
    bool is_bare;      /* no operating system: what comes of it is an object, for the program's own link */
    bool is_wasm;      /* what comes of it is a WebAssembly module, with the runtime and fsim in it */
} vtac_target;

/* The named ones: "host", which has no triple here, and the rows of targets.def. */
typedef struct vtac_target_row {
    const char *name, *triple, *cpu, *features;
    double speed; /* of a core, a PYNQ's is 1 */
    const char *doc;
} vtac_target_row;
const vtac_target_row *vtac_targets(size_t *count);
/* The processor beside the accelerator of a configuration, by its TARGET: the board's where that is a row's
 * name, a PYNQ's for what is on no board. */
const char *vtac_board_host(const char *board);
/* The speed of a host by its name or by LLVM's words; 1 for what has no row, and for NULL. */
double vtac_host_speed(const char *host);

/* Cycles for a byte of an input that a host writes out for the accelerator, where it has no vectors and no
 * system (its clock is taken for the accelerator's); 0 for all others, whose times are small beside it. */
double vtac_host_fold_cost(const char *host);

/* Finds a target by name, or by "TRIPLE,cpu=NAME,features=+A,-B" in LLVM's words. NULL:
 * the default, x86-64-v3. */
vta_status vtac_target_find(const char *name, vtac_target *out, vta_diag *diag);

typedef struct vtac_compile_options {
    int level; /* 0: nothing fused, quick code; 1 to 3 */
    const vtac_target *target;
    const struct vtac_partition *partition; /* vtac/partition.h; NULL: all on the host */
    bool row_major;                         /* no value lies in blocks of channels: alter-layout is off */
    bool apart;                             /* every node has a kernel of its own: fuse is off */
    const struct vtac_schedules *schedules; /* vtac/schedules.h; NULL: the standard ones */
    bool once;                              /* it runs once: LLVM takes no time over the code */
    bool want_texts;                        /* fill the texts below */
    const char *kernels;           /* "opencl", "cuda:sm_80": the steps as kernels of it, too; NULL: no */
    const vtac_progress *progress; /* NULL: silent */
    bool kernels_always;           /* also where a kernel takes longer than the host */
} vtac_compile_options;

typedef struct vtac_artifact_image {
    uint8_t *object; /* relocatable: ELF, or WebAssembly's; owned */
    size_t object_bytes;
    uint8_t
        *helpers; /* what the processor lacks, as an object of functions; owned; NULL: the code calls none */
    size_t helpers_bytes;
    /* Names that the code may call there, NULL behind the last; NULL: none of them. Not owned. */
    const char *const *libc, *const *libm;
    char *plan, *loops, *ll, *assembly; /* owned; NULL unless they were asked for */
    char *kernels;                      /* the same, and NULL where there are none */
    char *kernels_left;                 /* of steps that are none, a line each with the reason; else NULL */
    char *kernels_plan;                 /* of each step, a line: its kernel, or why it has none; else NULL */
    uint32_t launch_count;              /* steps that are kernels for a GPU, too */
    uint64_t workspace_bytes, constant_bytes;
    uint32_t step_count;
    uint32_t state_count;  /* vtac/states.h */
    bool is_bare, is_wasm; /* of the target */
    const char *page;      /* JSON that a page begins with: classes, preprocess; not owned; NULL: nothing */
} vtac_artifact_image;

vta_status vtac_compile(const vtac_graph *graph, const vtac_compile_options *options,
                        vtac_artifact_image *out, vta_diag *diag);
void vtac_artifact_image_free(vtac_artifact_image *image);

/* The language of kernels that a target like "cuda:sm_80" names; NULL: none. */
const char *vtac_kernels_language(const char *target);

/* Links the object into a shared object with lld, or writes it as it is for a target without an operating
 * system: the same bytes for the same input; the file appears whole or not at all. */
vta_status vtac_link(const vtac_artifact_image *image, const char *path, vta_diag *diag);
/* True where a model for WebAssembly becomes a page under this name. */
bool vtac_is_page(const char *path);

/* Limits of an operator's lowering ("": none); NULL if the operator has no lowering. */
const char *vtac_op_limits(vtac_op op);

/* The types of its first input, in words, as the row of the table has them. */
const char *vtac_op_types(vtac_op op);

/* True if each output element depends only on the operands' elements at the same place. */
bool vtac_is_pointwise(vtac_op op);

#endif
