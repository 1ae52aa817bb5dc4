/* SPDX-License-Identifier: Apache-2.0
 *
 * What runs a model: this machine, or another one. model.c holds what all of them share, the description and
 * the tensors; an engine runs one inference on them.
 */
#ifndef VTA_ENGINE_H
#define VTA_ENGINE_H

#include "vta/artifact.h"
#include "vta/model.h"
#include "vta/stop.h"

typedef struct vta_engine_ops {
    void (*close)(void *self);

    /* One inference, from the inputs to the outputs. `stop` is looked at several times a second; what it ends
     * returns VTA_INTERRUPTED with one of its requests taken. */
    vta_status (*run)(void *self, bool profiled, vta_diag *diag);

    /* The tensors are where `inputs` and `outputs` say, from now on (optional: run looks there). */
    void (*bind)(void *self);

    /* Gives input i another size (optional: it has its own for ever). */
    vta_status (*shape)(void *self, uint32_t i, uint32_t rank, const int64_t *dim, vta_diag *diag);

    /* Optional, as the functions of model.h. */
    vta_model_position (*where)(const void *self);
    vta_device *(*device)(const void *self);
    uint32_t (*threads)(const void *self);

    const char *(*device_uri)(const void *self);
} vta_engine_ops;

/* An engine and the model that it serves. */
typedef struct vta_engine {
    vta_stop stop; /* the model's: runs that are to end */

    /* Set by the model, before the first bind. */
    uint8_t **inputs, **outputs;
    uint8_t *workspace;

    /* Set by the engine when it opens. */
    const vta_engine_ops *ops;
    void *self;
    const vta_artifact *artifact;    /* name, tensors, steps */
    const vta_state *states;         /* the artifact's */
    const vta_artifact_board *board; /* the file's; NULL: it has none */
    uint64_t workspace_bytes;        /* that the model is to give it here */
    uint8_t *held;                   /* device memory, where inputs are that stay there; NULL: elsewhere */
    vta_step_profile *steps;         /* rows that a run fills in */
    vta_layer_profile *layers;
    uint32_t layer_count;
} vta_engine;

/* On this machine: a file, or an artifact that the program holds. What a failure leaves, `ops->close` frees,
 * where it is set. */
vta_status vta_here_load(const char *path, const vta_model_options *options, vta_engine *engine,
                         vta_diag *diag);
vta_status vta_here_open(const vta_artifact *artifact, const vta_model_options *options, vta_engine *engine,
                         vta_diag *diag);

/* On the machine of options->device, through its vtac-agent. */
vta_status vta_there_load(const char *path, const vta_model_options *options, vta_engine *engine,
                          vta_diag *diag);

/* Checks a description as every engine does before it uses one. */
vta_status vta_engine_check_tensors(const vta_artifact *artifact, vta_diag *diag);

/* Bytes of memory that a tensor of `bytes` bytes takes; UINT64_MAX where 64 bits do not hold them. */
uint64_t vta_engine_aligned(uint64_t bytes);

/* A run by a thread that waits for it, made when the first is started. *async NULL: none yet. As the
 * functions of model.h. */
typedef struct vta_async vta_async;
vta_status vta_async_start(vta_async **async, vta_engine *engine, vta_diag *diag);
vta_status vta_async_wait(vta_async *async, double timeout_s, vta_diag *diag);
void vta_async_cancel(vta_async *async);
bool vta_async_busy(vta_async *async);
int vta_async_descriptor(vta_async **async, vta_engine *engine, vta_diag *diag);
void vta_async_close(vta_async *async);

#endif
