/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps of a model as kernels for a device that compiles them itself, a GPU most of all: the sources in the
 * artifact, and the module libvta_gpu.so that runs them. The structure lies behind vta_artifact and its
 * states where VTA_ARTIFACT_KERNELS is among the bits of `abi`. Each step has a host kernel, too: the same
 * file runs without such a device.
 */
#ifndef VTA_KERNELS_H
#define VTA_KERNELS_H

#include <stdbool.h>

#include "vta/artifact.h"
#include "vta/model.h"

#define VTA_KERNELS_MAGIC UINT64_C(0x314c4e524b415456) /* "VTAKRNL1" */
enum {
    VTA_KERNELS_ABI = 2,
    VTA_KERNELS_EDITION = 2, /* of the module's calls */
    VTA_KERNEL_DOUBLES = 1,  /* `needs`: the device has double precision */
    VTA_KERNEL_MAX_BUFFERS = 48
};

/* A kernel "kN", N its place in the table. Its parameters are, for each buffer of a step in turn, the memory
 * and the bytes from its start, then the scratch memory of all items and the bytes of each. Any number of
 * items may run it, and what is to be done is shared among them; or as many as the launch says, in groups. */
typedef struct vta_artifact_kernel {
    const char *name; /* of the first step that uses it, for messages */
    const char *source;
    uint32_t needs, reserved;
} vta_artifact_kernel;

/* A step on such a device. */
typedef struct vta_artifact_launch {
    int64_t kernel;      /* its place in the table; below 0: the step stays on the host */
    uint64_t items;      /* that have something to do */
    uint64_t group;      /* of so many items, as many groups as make up `items`; 0: any number of either */
    const char *reason;  /* why it stays; "" where it does not */
    const char *written; /* for each of its buffers 'w' where it is written, else 'r' */
} vta_artifact_launch;

typedef struct vta_artifact_kernels {
    uint64_t magic;       /* VTA_KERNELS_MAGIC */
    uint32_t abi, size;   /* VTA_KERNELS_ABI; of this structure */
    const char *language; /* "opencl", "cuda", "webgpu" */
    const char *prelude;  /* goes before each kernel */
    uint32_t kernel_count, step_count;
    const vta_artifact_kernel *kernels;
    const vta_artifact_launch *launches;
} vta_artifact_kernels;

/* A device that is there. */
typedef struct vta_kernels_device {
    char uri[32], name[128], driver[128];
    uint64_t bytes; /* of memory */
    uint32_t units;
    bool has_doubles;
} vta_kernels_device;

/* Places of a run's tensors; the workspace has a copy on the device. */
typedef struct vta_kernels_places {
    uint8_t *const *inputs, *const *outputs;
    uint8_t *workspace;
    bool timed;
} vta_kernels_places;

typedef struct vta_kernels vta_kernels;

/* The calls of the module, whose one name is VTA_KERNELS_SYMBOL, a function that gives them. */
#define VTA_KERNELS_SYMBOL "vta_gpu"
typedef struct vta_kernels_calls {
    int edition;

    /* Builds the kernels and brings the constants to the device. */
    vta_status (*open)(const vta_artifact *artifact, const void *constants, const char *uri,
                       vta_kernels **out, vta_diag *diag);
    void (*close)(vta_kernels *kernels);
    const char *(*uri)(const vta_kernels *kernels);

    /* A run, or a segment of one: begin, then its steps in order. `step` queues step i, or gets what it
     * reads to the host and leaves it to the caller, who calls `after` when it is done. `finish` waits; the
     * outputs are in their places then, and the seconds of timed steps are added to theirs. */
    void (*begin)(vta_kernels *kernels, const vta_kernels_places *places);
    vta_status (*step)(vta_kernels *kernels, uint32_t i, bool *queued, vta_diag *diag);
    vta_status (*after)(vta_kernels *kernels, uint32_t i, vta_diag *diag);
    vta_status (*finish)(vta_kernels *kernels, vta_step_profile *steps, vta_diag *diag);

    /* Fills in up to `room` devices of all kinds, or of the kind that a URI names. VTA_UNSUPPORTED: that
     * one's driver is not there. */
    vta_status (*list)(const char *uri, vta_kernels_device *out, uint32_t room, uint32_t *count,
                       vta_diag *diag);
} vta_kernels_calls;

#ifdef VTA_NO_RTL_SIMULATORS /* a board, a browser: no such device, and no code for one */
enum { VTA_HAS_KERNELS = 0 };
static inline const char *vta_kernels_language(const char *uri)
{
    (void)uri;
    return NULL;
}
static inline bool vta_kernels_is(const char *uri)
{
    (void)uri;
    return false;
}
static inline vta_status vta_kernels_get(const vta_kernels_calls **calls, vta_diag *diag)
{
    (void)diag;
    *calls = NULL;
    return VTA_UNSUPPORTED;
}
#else
enum { VTA_HAS_KERNELS = 1 };
/* The language of a device that runs kernels, by its URI: "cuda" for cuda:0; NULL: it is another one. */
const char *vta_kernels_language(const char *uri);
/* True where a device URI names one that runs kernels. */
bool vta_kernels_is(const char *uri);
/* The module, loaded by the first who asks. */
vta_status vta_kernels_get(const vta_kernels_calls **calls, vta_diag *diag);
#endif
/* A shared object from where it is built or installed with the caller's library or program: from `folder`,
 * seen from the caller's own, its neighbours, or where the system looks. As dlopen. */
void *vta_open_beside(const char *name, const char *folder, int mode);
/* The table of an artifact; NULL: it has none, or one that is damaged. It lies at a multiple of 8 bytes. */
static inline const vta_artifact_kernels *vta_kernels_of(const vta_artifact *artifact)
{
    const vta_state *states = (const vta_state *)(const void *)(artifact + 1);
    const uintptr_t end = ((uintptr_t)(states + artifact->state_count) + 7) & ~(uintptr_t)7;
    const vta_artifact_kernels *table = (const vta_artifact_kernels *)end;
    return (artifact->abi & VTA_ARTIFACT_KERNELS) != 0 && table->magic == VTA_KERNELS_MAGIC &&
                   table->abi == VTA_KERNELS_ABI && table->size == sizeof *table &&
                   table->step_count == artifact->step_count
               ? table
               : NULL;
}

#endif
