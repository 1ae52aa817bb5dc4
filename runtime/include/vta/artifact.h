/* SPDX-License-Identifier: Apache-2.0
 *
 * What a compiled model is inside its shared object: one constant structure under the symbol
 * `vta_model_artifact`, written by the compiler, read by the model loader. Offsets instead of pointers
 * wherever a pointer would need a relocation.
 *
 * A model runs as a list of steps. A step is a host kernel, called for a range of its parallel loop, or one
 * launch of the accelerator. Every buffer a step touches is an offset into one of five spaces; the plan has
 * already decided which buffers share memory. Device memory is two blocks: constants, written once, and what
 * the accelerator works in, where host kernels put its inputs and find its outputs.
 */
#ifndef VTA_ARTIFACT_H
#define VTA_ARTIFACT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    VTA_ARTIFACT_ABI = 3,
    VTA_ARTIFACT_FLOW_ABI = 4,      /* of a model with instructions */
    VTA_ARTIFACT_KERNELS = 1 << 16, /* added: kernels for a GPU (vta/kernels.h) are there, too */
    VTA_ARTIFACT_MAX_RANK = 8,
    VTA_ARTIFACT_ALIGN = 64 /* of every buffer */
};
#define VTA_ARTIFACT_MAGIC  UINT64_C(0x314c444d43415456) /* "VTACMDL1" */
#define VTA_ARTIFACT_SYMBOL "vta_model_artifact"

/* The memory that a buffer lives in. INPUT and OUTPUT: `index` is the tensor's number and `offset` counts
 * from its start.
 */
typedef enum vta_space {
    VTA_SPACE_WORKSPACE,
    VTA_SPACE_CONSTANT,
    VTA_SPACE_INPUT,
    VTA_SPACE_OUTPUT,
    VTA_SPACE_DEVICE /* what the accelerator works in */
} vta_space;

typedef struct vta_artifact_buffer {
    uint32_t space, index;
    uint64_t offset, bytes;
} vta_artifact_buffer;

/* Element types as DLPack has them: code 0 int, 1 uint, 2 float, 4 bfloat, 6 bool; bits. */
typedef struct vta_artifact_tensor {
    const char *name;
    uint32_t dtype_code, dtype_bits;
    uint32_t rank;
    int64_t dim[VTA_ARTIFACT_MAX_RANK];
    uint64_t bytes;
} vta_artifact_tensor;

/* A host kernel: does the iterations begin … end-1 of its parallel loop. `buffers` are the step's, in order;
 * `scratch` is this thread's own memory, of the step's scratch_bytes. */
typedef void vta_host_kernel(void *const *buffers, int64_t begin, int64_t end, void *scratch);

/* A layer of an accelerator program, as the compiler planned it. Instructions that belong to layer i of a
 * region carry the tag i + 1. */
typedef struct vta_artifact_layer {
    const char *name, *op; /* of the ONNX node, as a step's */
    const char *schedule;  /* "rows 14 of 56, weights stay" */
    const char *bound;     /* what bounds it: "array", "load", … */
    uint32_t node;
    uint32_t joined; /* 1 + the layer that it is computed with, or 0 */
    uint64_t macs;
    uint64_t cycles;                  /* predicted; the layers' sum is the region's */
    uint64_t array, alu, load, store; /* cycles that each unit would need by itself */
    uint64_t bytes_read, bytes_written;
} vta_artifact_layer;

/* An accelerator program: its buffers are "constants" and "work", parts of the two blocks of device memory.
 */
typedef struct vta_artifact_region {
    const void *program; /* a program container (isa/program.h) */
    uint64_t program_bytes;
    uint64_t constant_offset, constant_bytes;
    uint64_t work_offset, work_bytes;
    uint32_t input_count; /* the step's first buffers are read, the others written */
    uint32_t layer_count;
    const vta_artifact_layer *layers;
} vta_artifact_region;

/* STATE: a host kernel that copies its first buffer to its second one: a state of the model to device memory,
 * or from there. It is left out where both are one place; the input's own memory is that place. */
typedef enum vta_step_kind { VTA_STEP_HOST, VTA_STEP_ACCELERATOR, VTA_STEP_STATE } vta_step_kind;

typedef struct vta_artifact_step {
    uint32_t kind;
    uint32_t node;    /* of the ONNX model, for profiles */
    const char *name; /* "conv1", or "conv1+bn1+relu1" where nodes were fused */
    const char *op;   /* "Conv" */
    vta_host_kernel *kernel;
    int64_t extent; /* iterations of the parallel loop; 1: serial */
    uint32_t buffer_count;
    const vta_artifact_buffer *buffers;
    uint64_t scratch_bytes;
    uint64_t flops;                    /* multiplications and additions, for reports */
    const vta_artifact_region *region; /* ACCELERATOR */
} vta_artifact_step;

typedef struct vta_artifact {
    uint64_t magic; /* VTA_ARTIFACT_MAGIC */
    uint32_t abi;   /* VTA_ARTIFACT_ABI, VTA_ARTIFACT_FLOW_ABI */
    uint32_t size;  /* of this structure */
    const char *name;
    const char *triple, *cpu, *features; /* that the kernels were compiled for */
    const char *required;                /* CPU features that the loader must find, "avx512f,avx512vnni" */
    const char *config_json;             /* accelerator configuration, or NULL */
    uint64_t config_hash;
    uint32_t input_count, output_count, step_count;
    uint32_t state_count; /* vta_state (vta/model.h): so many follow behind this structure */
    const vta_artifact_tensor *inputs, *outputs;
    const vta_artifact_step *steps;
    const void *constants;
    uint64_t constant_bytes;
    uint64_t constant_hash; /* FNV-1a over the constants */
    uint64_t workspace_bytes;
    const void *device_constants;
    uint64_t device_constant_bytes, device_constant_hash, device_work_bytes;
    const int64_t *flow; /* instructions (vta/flow.h), where the model has control flow or sizes that are
                            known only at run time: inputs, outputs and steps are those of its static parts.
                            NULL: the steps are run in turn */
    uint64_t flow_bytes;
} vta_artifact;

/* Beside it in the file, where the compiler weighed the accelerator against the processor of a board: what
 * the host kernels of one run would take there. */
#define VTA_ARTIFACT_BOARD_SYMBOL "vta_model_board"
typedef struct vta_artifact_board {
    uint32_t size;         /* of this structure */
    uint32_t reserved;     /* 0 */
    uint64_t host_ps;      /* picoseconds, estimated */
    const char *processor; /* as `--host` names it: "pynq" */
} vta_artifact_board;

/* The last bytes of the file: the loader refuses one whose other bytes do not have this hash, before anything
 * of it is mapped or run. */
#define VTA_ARTIFACT_SEAL_MAGIC UINT64_C(0x314c414553415456) /* "VTASEAL1" */
typedef struct vta_artifact_seal {
    uint64_t magic, hash;
} vta_artifact_seal;

#ifdef __cplusplus
}
#endif
#endif
