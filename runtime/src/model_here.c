/* SPDX-License-Identifier: Apache-2.0
 *
 * A model on this machine: its object is loaded and checked, its plan turned into pointers once, so that a
 * run is a walk over steps.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel.h"
#include "cpu.h"
#include "layers.h"
#include "library.h"
#include "pool.h"
#include "vta/clock.h"
#include "vta/engine.h"
#include "vta/log.h"
#include "vta/room.h"

typedef struct here {
    vta_engine *engine;
    vta_library library;
    const vta_artifact *artifact;
    vta_pool *pool;
    vta_accel *accel; /* NULL: no step needs one */
    double timeout_s;
    int32_t priority;
    void ***buffers; /* of each step */
    void **scratch;  /* of each worker */
    void **scratch_owners;
    vta_step_profile *profile;
    vta_layers layers;
    _Atomic uint32_t step;   /* in work */
    _Atomic uint64_t cycles; /* of this run's accelerator steps before it */
    uint64_t predicted;
} here;

/* ---- checks ---- */

static bool fits(uint64_t offset, uint64_t bytes, uint64_t size)
{
    return bytes <= size && offset <= size - bytes;
}

static vta_status check_buffer(const vta_artifact *a, const vta_artifact_buffer *buffer, vta_diag *diag)
{
    bool ok = false;
    switch (buffer->space) {
    case VTA_SPACE_WORKSPACE: ok = fits(buffer->offset, buffer->bytes, a->workspace_bytes); break;
    case VTA_SPACE_CONSTANT: ok = fits(buffer->offset, buffer->bytes, a->constant_bytes); break;
    case VTA_SPACE_INPUT:
        ok = buffer->index < a->input_count &&
             fits(buffer->offset, buffer->bytes, a->inputs[buffer->index].bytes);
        break;
    case VTA_SPACE_OUTPUT:
        ok = buffer->index < a->output_count &&
             fits(buffer->offset, buffer->bytes, a->outputs[buffer->index].bytes);
        break;
    case VTA_SPACE_DEVICE: ok = fits(buffer->offset, buffer->bytes, a->device_work_bytes); break;
    default: break;
    }
    return ok ? VTA_OK : vta_fail(diag, VTA_SYNTAX, "a buffer of its plan lies outside its memory");
}

static uint64_t hash_bytes(const uint8_t *bytes, uint64_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint64_t i = 0; i < size; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Step i, and what it reads and writes. */
static vta_status check_step(const vta_artifact *a, uint32_t i, vta_diag *diag)
{
    const vta_artifact_step *step = &a->steps[i];
    if (step->kind == VTA_STEP_ACCELERATOR) {
        VTA_TRY(vta_accel_check_step(a, step, diag));
    } else if (step->kind != VTA_STEP_HOST || step->kernel == NULL) {
        return vta_fail(diag, VTA_UNSUPPORTED, "step %u is of kind %u, which this runtime does not run", i,
                        step->kind);
    }
    for (uint32_t k = 0; k < step->buffer_count; k++) {
        VTA_TRY(check_buffer(a, &step->buffers[k], diag));
    }
    return VTA_OK;
}

static vta_status check_artifact(const vta_artifact *a, vta_diag *diag)
{
    if (a == NULL || a->magic != VTA_ARTIFACT_MAGIC) {
        return vta_fail(diag, VTA_SYNTAX, "it is not a compiled model");
    }
    if (a->abi != VTA_ARTIFACT_ABI || a->size != sizeof *a) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "it was compiled for model format %u, this runtime reads %d; compile it again",
                        a->abi, VTA_ARTIFACT_ABI);
    }
    VTA_TRY(vta_cpu_check(a->required, diag));
    if (hash_bytes(a->constants, a->constant_bytes) != a->constant_hash) {
        return vta_fail(diag, VTA_SYNTAX, "its constants are damaged (checksum differs)");
    }
    if (hash_bytes(a->device_constants, a->device_constant_bytes) != a->device_constant_hash) {
        return vta_fail(diag, VTA_SYNTAX, "its accelerator's constants are damaged (checksum differs)");
    }
    VTA_TRY(vta_engine_check_tensors(a, diag));
    for (uint32_t i = 0; i < a->step_count; i++) {
        VTA_TRY(check_step(a, i, diag));
    }
    return VTA_OK;
}

/* ---- memory ---- */

static vta_status no_memory(vta_diag *diag)
{
    return vta_fail(diag, VTA_NOMEM, "out of memory");
}

static void *resolve(const here *h, const vta_artifact_buffer *buffer)
{
    union {
        const void *in;
        uint8_t *out;
    } constants = {.in = h->artifact->constants};
    switch (buffer->space) {
    case VTA_SPACE_CONSTANT: return constants.out + buffer->offset; /* kernels do not write there */
    case VTA_SPACE_INPUT: return h->engine->inputs[buffer->index] + buffer->offset;
    case VTA_SPACE_OUTPUT: return h->engine->outputs[buffer->index] + buffer->offset;
    case VTA_SPACE_DEVICE: return vta_accel_work(h->accel) + buffer->offset;
    default: return h->engine->workspace + buffer->offset;
    }
}

static uint64_t predicted_cycles(const vta_artifact_step *step)
{
    uint64_t cycles = 0;
    for (uint32_t i = 0; step->region != NULL && i < step->region->layer_count; i++) {
        cycles += step->region->layers[i].cycles;
    }
    return cycles;
}

static vta_status prepare_step(here *h, uint32_t i, vta_diag *diag)
{
    const vta_artifact_step *step = &h->artifact->steps[i];
    h->buffers[i] = calloc((size_t)step->buffer_count + 1, sizeof **h->buffers);
    if (h->buffers[i] == NULL) {
        return no_memory(diag);
    }
    h->profile[i] = (vta_step_profile){.name = step->name,
                                       .op = step->op,
                                       .node = step->node,
                                       .on_accelerator = step->kind == VTA_STEP_ACCELERATOR,
                                       .predicted = predicted_cycles(step),
                                       .flops = step->flops};
    h->predicted += h->profile[i].predicted;
    return VTA_OK;
}

/* Of each worker, as much as the step that needs most. */
static vta_status place_scratch(here *h, vta_diag *diag)
{
    const uint32_t workers = vta_pool_threads(h->pool);
    uint64_t bytes = VTA_ARTIFACT_ALIGN;
    for (uint32_t i = 0; i < h->artifact->step_count; i++) {
        const uint64_t wanted = vta_engine_aligned(h->artifact->steps[i].scratch_bytes);
        bytes = wanted > bytes ? wanted : bytes;
    }
    VTA_TRY(
        vta_room_check("its scratch", bytes <= UINT64_MAX / workers ? bytes * workers : UINT64_MAX, diag));
    for (uint32_t i = 0; i < workers; i++) {
        void *at;
        VTA_TRY(vta_room_zeros("its scratch", bytes, VTA_ARTIFACT_ALIGN, &h->scratch_owners[i], &at, diag));
        h->scratch[i] = at;
    }
    return VTA_OK;
}

static vta_status prepare_steps(here *h, vta_diag *diag)
{
    const uint32_t workers = vta_pool_threads(h->pool);
    h->buffers = calloc((size_t)h->artifact->step_count + 1, sizeof *h->buffers);
    h->profile = calloc((size_t)h->artifact->step_count + 1, sizeof *h->profile);
    h->scratch = calloc(workers, sizeof *h->scratch);
    h->scratch_owners = calloc(workers, sizeof *h->scratch_owners);
    if (h->buffers == NULL || h->profile == NULL || h->scratch == NULL || h->scratch_owners == NULL) {
        return no_memory(diag);
    }
    for (uint32_t i = 0; i < h->artifact->step_count; i++) {
        VTA_TRY(prepare_step(h, i, diag));
    }
    return place_scratch(h, diag);
}

/* The addresses of all buffers, since tensors may have moved. */
static void here_bind(void *self)
{
    here *h = self;
    for (uint32_t i = 0; i < h->artifact->step_count; i++) {
        const vta_artifact_step *step = &h->artifact->steps[i];
        for (uint32_t k = 0; k < step->buffer_count; k++) {
            h->buffers[i][k] = resolve(h, &step->buffers[k]);
        }
    }
}

/* ---- running ---- */

typedef struct step_call {
    const here *here;
    uint32_t step;
} step_call;

static void do_range(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    const step_call *call = context;
    const here *h = call->here;
    h->artifact->steps[call->step].kernel(h->buffers[call->step], begin, end, h->scratch[worker]);
}

/* With the device taken: its account of the run is there until the next one. */
static vta_status run_launch(here *h, uint32_t i, vta_diag *diag)
{
    vta_report report = {0};
    vta_device *device = vta_accel_device(h->accel);
    vta_device_stop_also(device, &h->engine->stop);
    const vta_status status = vta_accel_run(h->accel, i, h->timeout_s, &report, diag);
    vta_device_stop_also(device, NULL);
    h->profile[i].cycles = report.counters.cycles;
    atomic_store(&h->step, i + 1); /* the device's cycles are not to count twice */
    atomic_fetch_add(&h->cycles, report.counters.cycles);
    if (status == VTA_OK) {
        uint32_t insns;
        const uint64_t *account = vta_device_account(device, &insns);
        vta_layers_record(&h->layers, h->artifact, i, vta_accel_code(h->accel, i), account, insns, &report);
    }
    return status;
}

static vta_status launch_step(here *h, uint32_t i, vta_diag *diag)
{
    vta_device *device = vta_accel_device(h->accel);
    vta_status status = vta_device_take_unless(device, h->priority, &h->engine->stop, diag);
    if (status == VTA_OK) {
        status = run_launch(h, i, diag);
        vta_device_give(device);
    }
    if (status == VTA_INTERRUPTED) {
        (void)vta_stop_take(&h->engine->stop);
    }
    if (status != VTA_OK) {
        (void)vta_context(diag, "step '%s'", h->artifact->steps[i].name);
    }
    return status;
}

/* Host steps cannot fail. */
static vta_status run_step(here *h, uint32_t i, vta_diag *diag)
{
    atomic_store(&h->step, i);
    if (vta_stop_take(&h->engine->stop)) {
        return vta_fail(diag, VTA_INTERRUPTED, "interrupted before step '%s'", h->artifact->steps[i].name);
    }
    if (h->artifact->steps[i].kind == VTA_STEP_ACCELERATOR) {
        return launch_step(h, i, diag);
    }
    step_call call = {h, i};
    vta_pool_run(h->pool, h->artifact->steps[i].extent, do_range, &call);
    return VTA_OK;
}

static vta_status here_run(void *self, bool profiled, vta_diag *diag)
{
    here *h = self;
    atomic_store(&h->cycles, 0);
    for (uint32_t i = 0; i < h->artifact->step_count; i++) {
        const double begin = profiled ? vta_now() : 0;
        VTA_TRY(run_step(h, i, diag));
        if (profiled) {
            h->profile[i].seconds = vta_now() - begin;
        }
    }
    return VTA_OK;
}

static vta_model_position here_where(const void *self)
{
    const here *h = self;
    const uint32_t step = atomic_load(&h->step);
    const bool launched = h->accel != NULL && step < h->artifact->step_count &&
                          h->artifact->steps[step].kind == VTA_STEP_ACCELERATOR;
    return (vta_model_position){.step = step,
                                .steps = h->artifact->step_count,
                                .cycles = atomic_load(&h->cycles) +
                                          (launched ? vta_device_cycles(vta_accel_device(h->accel)) : 0),
                                .predicted = h->predicted};
}

static vta_device *here_device(const void *self)
{
    const here *h = self;
    return h->accel != NULL ? vta_accel_device(h->accel) : NULL;
}

static const char *here_device_uri(const void *self)
{
    const here *h = self;
    return h->accel != NULL ? vta_device_uri(vta_accel_device(h->accel)) : "";
}

static uint32_t here_threads(const void *self)
{
    return vta_pool_threads(((const here *)self)->pool);
}

static void here_close(void *self)
{
    here *h = self;
    for (uint32_t i = 0; h->buffers != NULL && i < h->artifact->step_count; i++) {
        free(h->buffers[i]);
    }
    for (uint32_t i = 0; h->scratch_owners != NULL && i < vta_pool_threads(h->pool); i++) {
        free(h->scratch_owners[i]);
    }
    vta_accel_close(h->accel);
    vta_pool_destroy(h->pool);
    free(h->buffers);
    free(h->scratch);
    free(h->scratch_owners);
    free(h->profile);
    vta_layers_free(&h->layers);
    vta_library_close(&h->library);
    free(h);
}

static const vta_engine_ops ops = {
    .close = here_close,
    .run = here_run,
    .bind = here_bind,
    .where = here_where,
    .device = here_device,
    .threads = here_threads,
    .device_uri = here_device_uri,
};

/* ---- opening ---- */

static vta_status open_accelerator(const vta_model_options *options, here *h, vta_diag *diag)
{
    bool needed = false;
    for (uint32_t i = 0; i < h->artifact->step_count; i++) {
        needed = needed || h->artifact->steps[i].kind == VTA_STEP_ACCELERATOR;
    }
    h->timeout_s = options->timeout_s;
    h->priority = options->priority;
    return needed ? vta_accel_open(h->artifact, options, &h->accel, diag) : VTA_OK;
}

/* From the artifact to a model that runs. */
static vta_status open_parts(const vta_model_options *options, here *h, vta_diag *diag)
{
    VTA_TRY(check_artifact(h->artifact, diag));
    VTA_TRY(vta_pool_create(options->threads > 0 ? options->threads : vta_pool_default_threads(), &h->pool,
                            diag));
    VTA_TRY(open_accelerator(options, h, diag));
    VTA_TRY(vta_layers_create(h->artifact, &h->layers, diag));
    return prepare_steps(h, diag);
}

static here *create(vta_engine *engine)
{
    here *h = calloc(1, sizeof *h);
    if (h != NULL) {
        h->library.copy = -1;
        h->engine = engine;
        engine->ops = &ops;
        engine->self = h;
    }
    return h;
}

static vta_status open_artifact(const vta_artifact *artifact, const vta_model_options *options, here *h,
                                vta_diag *diag)
{
    h->artifact = artifact;
    VTA_TRY(open_parts(options, h, diag));
    vta_engine *engine = h->engine;
    engine->artifact = artifact;
    engine->workspace_bytes = artifact->workspace_bytes;
    engine->steps = h->profile;
    engine->layers = h->layers.rows;
    engine->layer_count = h->layers.count;
    return VTA_OK;
}

vta_status vta_here_open(const vta_artifact *artifact, const vta_model_options *options, vta_engine *engine,
                         vta_diag *diag)
{
    here *h = create(engine);
    return h != NULL ? open_artifact(artifact, options, h, diag) : no_memory(diag);
}

vta_status vta_here_load(const char *path, const vta_model_options *options, vta_engine *engine,
                         vta_diag *diag)
{
    here *h = create(engine);
    if (h == NULL) {
        return no_memory(diag);
    }
    VTA_TRY(vta_library_open(path, &h->library, diag));
    const vta_artifact *artifact = vta_library_symbol(&h->library, VTA_ARTIFACT_SYMBOL);
    return artifact != NULL ? open_artifact(artifact, options, h, diag)
                            : vta_fail(diag, VTA_SYNTAX, "it is not a compiled model (no '%s' in it)",
                                       VTA_ARTIFACT_SYMBOL);
}
