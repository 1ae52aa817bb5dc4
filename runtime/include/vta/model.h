/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled models from C: load one, bind tensors, run it, ask where the time went.
 *
 *     vta_model *model;
 *     vta_model_load("model.so", NULL, &model, &diag);
 *     vta_model_set_input(model, 0, pixels, sizeof pixels, &diag);
 *     vta_model_run(model, &diag);
 *     vta_model_get_output(model, 0, scores, sizeof scores, &diag);
 *     vta_model_destroy(model);
 *
 * One model is used by one thread at a time; different models, of one file, too, freely, and on one shared
 * device. After a fork the child may go on with a model whose device is fsim, tsim or none, as with a copy.
 * No other thread may be in vta_model_load, vta_model_open or vta_model_destroy while the process forks: the
 * child would inherit a lock that nobody in it can release.
 */
#ifndef VTA_MODEL_H
#define VTA_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "vta/driver.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct vta_model vta_model;

/* Set `size` to sizeof the structure, so that later releases know what they were given; 0 stands for that of
 * release 1.0. All that is 0 is the default. */
typedef struct vta_model_options {
    size_t size;
    uint32_t threads;             /* 0: VTAC_THREADS, or all cores */
    const char *device;           /* URI for accelerator steps; NULL: "fsim". A simulator takes the model's
                                     configuration. Another machine (ssh:) runs the whole model */
    const vta_progress *progress; /* while a simulator is built; NULL: silent */
    double timeout_s;             /* for each launch; 0: none */
    vta_device *shared;           /* an open device for the accelerator steps, which other models and threads
                                     use, too, in turn (vta_device_take); it must outlive the model.
                                     NULL: the model opens `device` */
    int32_t priority;             /* of its launches on a shared device; higher ones go first */
} vta_model_options;

/* A tensor in terms that DLPack's DLTensor has: row-major, aligned to 64 bytes, on the host. */
typedef struct vta_tensor_info {
    const char *name;               /* borrowed from the model */
    uint8_t dtype_code, dtype_bits; /* DLPack: 0 int, 1 uint, 2 float, 3 parcel (vta/flow.h), 4 bfloat, 6
                                       bool */
    uint32_t rank;
    const int64_t *dim;
    size_t bytes;
} vta_tensor_info;

/* Puts the seal of vta/artifact.h behind what is in a file; whoever writes an artifact does this last. */
vta_status vta_artifact_seal_file(const char *path, vta_diag *diag);

/* The hash by which whole files of models are known to one another. */
uint64_t vta_artifact_hash(const void *data, size_t size);

/* Loads a compiled model; one that is damaged, of another ABI, or for another CPU is refused with the reason.
 * Its constants are copied into huge pages where they are many and the system has such pages, unless
 * VTA_HUGE_PAGES is 0 in the environment. */
vta_status vta_model_load(const char *path, const vta_model_options *options, vta_model **out,
                          vta_diag *diag);

/* A model whose object is linked into the program: `extern const vta_artifact vta_model_artifact`
 * (vta/artifact.h). It is the caller's and must outlive the model. */
struct vta_artifact;
vta_status vta_model_open(const struct vta_artifact *artifact, const vta_model_options *options,
                          vta_model **out, vta_diag *diag);
void vta_model_destroy(vta_model *model);

const char *vta_model_name(const vta_model *model);
uint32_t vta_model_input_count(const vta_model *model);
uint32_t vta_model_output_count(const vta_model *model);

/* The description of an input or output; all zero beyond the last. */
vta_tensor_info vta_model_input(const vta_model *model, uint32_t index);
vta_tensor_info vta_model_output(const vta_model *model, uint32_t index);

/* A state of the model: the output's value is to be the input's at the next run (a cache of keys, what a
 * recurrent layer carries). Their types are the same, and so are their shapes, but for sizes that the model
 * leaves open. Borrowed from the model; none of a model that runs on another machine. */
typedef struct vta_state {
    uint32_t input, output;
} vta_state;
const vta_state *vta_model_states(const vta_model *model, uint32_t *count);

/* Tells which models have states that fit one another: models with the same number have the same weights and
 * steps; with the same *target (may be NULL) they are for the same configuration of the accelerator, or both
 * for none. */
uint64_t vta_model_identity(const vta_model *model, uint64_t *target);

/* The same memory as a tensor of DLPack 0.6 and later: this structure is its DLTensor, member by member, and
 * may be cast to it. Row-major, on the host; `shape` is borrowed from the model. data is NULL beyond the
 * last. */
typedef struct vta_dl_tensor {
    void *data;
    struct {
        int32_t type, id; /* 1 (CPU), 0 */
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; /* strides NULL: row-major without gaps */
    uint64_t byte_offset;
} vta_dl_tensor;
vta_dl_tensor vta_model_input_tensor(vta_model *model, uint32_t index);
vta_dl_tensor vta_model_output_tensor(vta_model *model, uint32_t index);

/* Gives an input another size, where the model was compiled for more than one (vtac compile --dynamic, or a
 * size that is left open): its description, its memory and what is in it are new then. Of an output whose
 * size only the run decides, the description and the place are those of the last run; before the first such
 * sizes are 0, and a place that was bound for it is not used. */
vta_status vta_model_set_input_shape(vta_model *model, uint32_t index, const int64_t *dim, uint32_t rank,
                                     vta_diag *diag);

/* Copies. `bytes` must be what the description says. */
vta_status vta_model_set_input(vta_model *model, uint32_t index, const void *data, size_t bytes,
                               vta_diag *diag);
vta_status vta_model_get_output(const vta_model *model, uint32_t index, void *data, size_t bytes,
                                vta_diag *diag);

/* The model's own memory for it: write the input, read the output, without a copy. */
void *vta_model_input_data(vta_model *model, uint32_t index);
const void *vta_model_output_data(const vta_model *model, uint32_t index);

/* The caller's memory for it, from now on, without a copy: runs read and write there. It must begin at a
 * multiple of the element's size and stay until another is bound, or the model is destroyed; `data` NULL: the
 * model's own again. vta_model_set_input binds the model's own, too. */
vta_status vta_model_bind_input(vta_model *model, uint32_t index, const void *data, size_t bytes,
                                vta_diag *diag);
vta_status vta_model_bind_output(vta_model *model, uint32_t index, void *data, size_t bytes, vta_diag *diag);

/* The same for a tensor of DLPack on the host, whose type and shape must be the model's, without gaps. */
vta_status vta_model_bind_input_tensor(vta_model *model, uint32_t index, const vta_dl_tensor *tensor,
                                       vta_diag *diag);
vta_status vta_model_bind_output_tensor(vta_model *model, uint32_t index, const vta_dl_tensor *tensor,
                                        vta_diag *diag);

/* One inference; returns when it is over. */
vta_status vta_model_run(vta_model *model, vta_diag *diag);

/* The same, begun: returns at once. Until the wait for it, nothing else may be done with the model but what
 * is said to be safe from every thread. Two models of one file on one shared device overlap: what one
 * computes on the host, with what the other has on the accelerator. */
vta_status vta_model_start(vta_model *model, vta_diag *diag);

/* Waits until it is over, and returns its status. VTA_TIMEOUT, without a sentence: not within timeout_s, it
 * goes on (0 looks, below 0 waits for ever). VTA_INVALID: nothing was started. */
vta_status vta_model_wait(vta_model *model, double timeout_s, vta_diag *diag);

/* Makes what was started end soon, with VTA_INTERRUPTED unless it was over before; it is still to be waited
 * for. Ends no other run. Safe from every thread. */
void vta_model_cancel(vta_model *model);

/* A file descriptor for poll, select and event loops: readable from the end of what was started until the
 * wait for it. The model's own, neither to be read nor closed. Below 0: there is none, and `diag` says why.
 */
int vta_model_descriptor(vta_model *model, vta_diag *diag);

/* Progress of the run in progress, to be shown: safe from every thread. */
typedef struct vta_model_position {
    uint32_t step, steps;       /* the one in work, of how many */
    uint64_t cycles, predicted; /* of the accelerator: so far, as its device tells; of the whole run */
} vta_model_position;
vta_model_position vta_model_where(const vta_model *model);

/* Makes the run that another thread is in, or the next one, end soon with VTA_INTERRUPTED; the accelerator is
 * idle then. Each call ends one run. Safe from every thread, and from a signal handler. */
void vta_model_interrupt(vta_model *model);

/* Forgets interruptions that came too late to end a run. */
void vta_model_forget_stops(vta_model *model);

/* The device of the accelerator steps; NULL: all runs on the host, or on another machine. The model's own. */
vta_device *vta_model_device(const vta_model *model);

/* The same as a URI, that of another machine, too; "": all runs on the host. */
const char *vta_model_device_uri(const vta_model *model);

/* Time and cycles of one step in the last profiled run. */
typedef struct vta_step_profile {
    const char *name, *op;
    uint32_t node;
    int on_accelerator;
    double seconds;
    uint64_t cycles;    /* of the accelerator, where the device has a clock */
    uint64_t predicted; /* by the compiler; 0: a host step */
    uint64_t flops;
} vta_step_profile;

/* The profile of the last run: cycles after every run, seconds after profiled runs alone. Borrowed. */
const vta_step_profile *vta_model_steps(const vta_model *model, uint32_t *count);

/* The cycles of all of them: 0 where nothing runs on the accelerator, or its device has no clock. */
uint64_t vta_model_cycles(const vta_model *model);

/* A layer of an accelerator step: what the compiler planned and, where the device tells (tsim, systemc),
 * where the cycles of the last run went. The last one of each step, without an operator, has what belongs to
 * no layer: the cycles of all sum to the step's. */
typedef struct vta_layer_profile {
    const char *name, *op;
    const char *schedule, *bound; /* how it was cut into pieces, what bounds it */
    uint32_t step, node;
    int joined; /* computed with another layer */
    uint64_t macs, bytes_read, bytes_written;
    uint64_t predicted;                /* cycles */
    uint64_t cycles;                   /* measured; 0: not known */
    uint64_t split[VTA_CYCLE_CLASSES]; /* of `cycles` */
} vta_layer_profile;
const vta_layer_profile *vta_model_layers(const vta_model *model, uint32_t *count);

/* The accelerator program of a step, for tools (vta/artifact.h); NULL: a host step, or none. The model's. */
struct vta_artifact_region;
const struct vta_artifact_region *vta_model_region(const vta_model *model, uint32_t step);

/* Runs with a clock around each step; `steps` is borrowed until the next run. */
vta_status vta_model_profile(vta_model *model, const vta_step_profile **steps, uint32_t *count,
                             vta_diag *diag);

/* Reads a picture that is among a model's inputs as the bytes of a file (ONNX's ImageDecoder): rows of red,
 * green and blue bytes, from malloc, which the model frees. What fails is said in `diag`. */
typedef vta_status vta_picture_reader(void *context, const uint8_t *bytes, size_t size, uint32_t *width,
                                      uint32_t *height, uint8_t **rgb, vta_diag *diag);

/* Sets the reader of such pictures for this process, before models run. NULL, as at first: none, since the
 * runtime has no reader of its own, and a model that needs one ends with a line that says so. */
void vta_model_read_pictures(vta_picture_reader *reader, void *context);

/* Seconds that the host kernels of one run would take on the processor beside which the accelerator was to
 * pay (`vtac compile --target vta --host`), as the compiler estimates them: what a simulated accelerator's
 * cycles are to be added to. 0, and `*processor` NULL: not known, as where the model was not compiled for the
 * accelerator or runs on another machine. `*processor` is the model's, "pynq" for one; the pointer may be
 * NULL. */
double vta_model_host_estimate(const vta_model *model, const char **processor);

size_t vta_model_workspace_bytes(const vta_model *model);

/* Of the host kernels; 0 where they run on another machine. */
uint32_t vta_model_threads(const vta_model *model);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
