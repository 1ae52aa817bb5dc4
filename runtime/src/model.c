/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled models: load, check, bind, run. The plan is in the artifact; here it is turned into pointers once,
 * so that a run is a walk over steps.
 */
#include "vta/model.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel.h"
#include "cpu.h"
#include "layers.h"
#include "library.h"
#include "model_remote.h"
#include "pool.h"
#include "vta/artifact.h"
#include "vta/clock.h"
#include "vta/room.h"

struct vta_model {
    vta_library library;
    const vta_artifact *artifact;
    vta_pool *pool;
    vta_accel *accel; /* NULL: no step needs one */
    double timeout_s;
    void *memory; /* inputs, outputs, workspace, in this order */
    uint8_t **inputs, **outputs;
    uint8_t *workspace;
    void ***buffers; /* of each step */
    void **scratch;  /* of each worker */
    void **scratch_owners;
    vta_step_profile *profile;
    vta_layers layers;
    atomic_bool stop, launching; /* a run is to end; the accelerator is at work */
    vta_model_remote *remote;    /* NULL: it runs here; else profile and layers are its own */
    _Atomic uint32_t step;       /* in work */
    _Atomic uint64_t cycles;     /* of this run's accelerator steps before it */
    uint64_t predicted;
};

/* ---- checks ---- */

static bool fits(uint64_t offset, uint64_t bytes, uint64_t size)
{
    return bytes <= size && offset <= size - bytes;
}

/* Inputs, then outputs. */
static const vta_artifact_tensor *tensor_of(const vta_artifact *a, uint32_t index)
{
    return index < a->input_count ? &a->inputs[index] : &a->outputs[index - a->input_count];
}

static vta_status check_tensor(const vta_artifact_tensor *tensor, vta_diag *diag)
{
    uint64_t bytes = (tensor->dtype_bits + 7) / 8;
    bool ok = tensor->name != NULL && tensor->rank <= VTA_ARTIFACT_MAX_RANK && bytes >= 1 && bytes <= 8;
    for (uint32_t i = 0; ok && i < tensor->rank; i++) {
        ok = tensor->dim[i] >= 0 && !__builtin_mul_overflow(bytes, (uint64_t)tensor->dim[i], &bytes);
    }
    return ok && bytes == tensor->bytes
               ? VTA_OK
               : vta_fail(diag, VTA_SYNTAX, "the description of a tensor is damaged");
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
    for (uint32_t i = 0; i < a->input_count + a->output_count; i++) {
        VTA_TRY(check_tensor(tensor_of(a, i), diag));
    }
    for (uint32_t i = 0; i < a->step_count; i++) {
        VTA_TRY(check_step(a, i, diag));
    }
    return VTA_OK;
}

/* ---- memory ---- */

/* What does not fit, stays so. */
static uint64_t aligned(uint64_t bytes)
{
    return bytes > UINT64_MAX - VTA_ARTIFACT_ALIGN
               ? UINT64_MAX
               : (bytes + VTA_ARTIFACT_ALIGN - 1) / VTA_ARTIFACT_ALIGN * VTA_ARTIFACT_ALIGN;
}

static vta_status no_memory(vta_diag *diag)
{
    return vta_fail(diag, VTA_NOMEM, "out of memory");
}

/* The sum, as large as it gets. */
static uint64_t plus(uint64_t a, uint64_t b)
{
    return a <= UINT64_MAX - b ? a + b : UINT64_MAX;
}

/* Inputs, outputs and, where it runs here, the workspace. Sizes come from a file or from another machine. */
static vta_status place_tensors(vta_model *m, vta_diag *diag)
{
    const vta_artifact *a = m->artifact;
    const uint32_t tensors = a->input_count + a->output_count;
    uint64_t total = m->remote == NULL ? aligned(a->workspace_bytes) : 0;
    void *at = NULL;
    for (uint32_t i = 0; i < tensors; i++) {
        total = plus(total, aligned(tensor_of(a, i)->bytes));
    }
    VTA_TRY(vta_room_zeros("its inputs, outputs and workspace", total, VTA_ARTIFACT_ALIGN, &m->memory, &at,
                           diag));
    m->inputs = calloc((size_t)a->input_count + 1, sizeof *m->inputs);
    m->outputs = calloc((size_t)a->output_count + 1, sizeof *m->outputs);
    if (m->inputs == NULL || m->outputs == NULL) {
        return no_memory(diag);
    }
    m->workspace = at;
    for (uint32_t i = 0; i < tensors; i++) {
        uint8_t **tensor = i < a->input_count ? &m->inputs[i] : &m->outputs[i - a->input_count];
        *tensor = m->workspace;
        m->workspace += aligned(tensor_of(a, i)->bytes);
    }
    return VTA_OK;
}

static void *resolve(const vta_model *m, const vta_artifact_buffer *buffer)
{
    union {
        const void *in;
        uint8_t *out;
    } constants = {.in = m->artifact->constants};
    switch (buffer->space) {
    case VTA_SPACE_CONSTANT: return constants.out + buffer->offset; /* kernels do not write there */
    case VTA_SPACE_INPUT: return m->inputs[buffer->index] + buffer->offset;
    case VTA_SPACE_OUTPUT: return m->outputs[buffer->index] + buffer->offset;
    case VTA_SPACE_DEVICE: return vta_accel_work(m->accel) + buffer->offset;
    default: return m->workspace + buffer->offset;
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

static vta_status bind_step(vta_model *m, uint32_t i, vta_diag *diag)
{
    const vta_artifact_step *step = &m->artifact->steps[i];
    m->buffers[i] = calloc((size_t)step->buffer_count + 1, sizeof **m->buffers);
    if (m->buffers[i] == NULL) {
        return no_memory(diag);
    }
    for (uint32_t k = 0; k < step->buffer_count; k++) {
        m->buffers[i][k] = resolve(m, &step->buffers[k]);
    }
    m->profile[i] = (vta_step_profile){.name = step->name,
                                       .op = step->op,
                                       .node = step->node,
                                       .on_accelerator = step->kind == VTA_STEP_ACCELERATOR,
                                       .predicted = predicted_cycles(step),
                                       .flops = step->flops};
    m->predicted += m->profile[i].predicted;
    return VTA_OK;
}

/* Of each worker, as much as the step that needs most. */
static vta_status place_scratch(vta_model *m, vta_diag *diag)
{
    const uint32_t workers = vta_pool_threads(m->pool);
    uint64_t bytes = VTA_ARTIFACT_ALIGN;
    for (uint32_t i = 0; i < m->artifact->step_count; i++) {
        const uint64_t wanted = aligned(m->artifact->steps[i].scratch_bytes);
        bytes = wanted > bytes ? wanted : bytes;
    }
    VTA_TRY(
        vta_room_check("its scratch", bytes <= UINT64_MAX / workers ? bytes * workers : UINT64_MAX, diag));
    for (uint32_t i = 0; i < workers; i++) {
        void *at;
        VTA_TRY(vta_room_zeros("its scratch", bytes, VTA_ARTIFACT_ALIGN, &m->scratch_owners[i], &at, diag));
        m->scratch[i] = at;
    }
    return VTA_OK;
}

static vta_status bind_steps(vta_model *m, vta_diag *diag)
{
    const uint32_t workers = vta_pool_threads(m->pool);
    m->buffers = calloc((size_t)m->artifact->step_count + 1, sizeof *m->buffers);
    m->profile = calloc((size_t)m->artifact->step_count + 1, sizeof *m->profile);
    m->scratch = calloc(workers, sizeof *m->scratch);
    m->scratch_owners = calloc(workers, sizeof *m->scratch_owners);
    if (m->buffers == NULL || m->profile == NULL || m->scratch == NULL || m->scratch_owners == NULL) {
        return no_memory(diag);
    }
    for (uint32_t i = 0; i < m->artifact->step_count; i++) {
        VTA_TRY(bind_step(m, i, diag));
    }
    return place_scratch(m, diag);
}

/* ---- the public face ---- */

static vta_status open_library(const char *path, vta_model *m, vta_diag *diag)
{
    VTA_TRY(vta_library_open(path, &m->library, diag));
    m->artifact = vta_library_symbol(&m->library, VTA_ARTIFACT_SYMBOL);
    return m->artifact != NULL ? VTA_OK
                               : vta_fail(diag, VTA_SYNTAX, "it is not a compiled model (no '%s' in it)",
                                          VTA_ARTIFACT_SYMBOL);
}

static vta_status open_accelerator(const vta_model_options *options, vta_model *m, vta_diag *diag)
{
    bool needed = false;
    for (uint32_t i = 0; i < m->artifact->step_count; i++) {
        needed = needed || m->artifact->steps[i].kind == VTA_STEP_ACCELERATOR;
    }
    m->timeout_s = options != NULL ? options->timeout_s : 0.0;
    return !needed ? VTA_OK
                   : vta_accel_open(m->artifact, options != NULL ? options->device : NULL,
                                    options != NULL ? options->progress : NULL, &m->accel, diag);
}

/* From the artifact to a model that runs. */
static vta_status open_artifact(const vta_model_options *options, vta_model *m, vta_diag *diag)
{
    VTA_TRY(check_artifact(m->artifact, diag));
    const uint32_t threads =
        options != NULL && options->threads > 0 ? options->threads : vta_pool_default_threads();
    VTA_TRY(vta_pool_create(threads, &m->pool, diag));
    VTA_TRY(open_accelerator(options, m, diag));
    VTA_TRY(vta_layers_create(m->artifact, &m->layers, diag));
    VTA_TRY(place_tensors(m, diag));
    return bind_steps(m, diag);
}

static vta_status load(const char *path, const vta_model_options *options, vta_model *m, vta_diag *diag)
{
    VTA_TRY(open_library(path, m, diag));
    return open_artifact(options, m, diag);
}

/* Its inputs and outputs are here, all else is there. */
static vta_status load_remote(const char *path, const vta_model_options *options, vta_model *m,
                              vta_diag *diag)
{
    VTA_TRY(vta_model_remote_open(path, options, &m->stop, &m->remote, diag));
    const vta_artifact *a = vta_model_remote_artifact(m->remote);
    for (uint32_t i = 0; i < a->input_count + a->output_count; i++) {
        VTA_TRY(check_tensor(tensor_of(a, i), diag));
    }
    m->artifact = a;
    m->profile = vta_model_remote_steps(m->remote);
    m->layers.rows = vta_model_remote_layers(m->remote, &m->layers.count);
    return place_tensors(m, diag);
}

vta_status vta_model_load(const char *path, const vta_model_options *options, vta_model **out, vta_diag *diag)
{
    vta_model *m = calloc(1, sizeof *m);
    *out = NULL;
    if (m == NULL) {
        return no_memory(diag);
    }
    m->library.copy = -1;
    const bool remote = options != NULL && vta_remote_is(options->device);
    const vta_status status = (remote ? load_remote : load)(path, options, m, diag);
    if (status != VTA_OK) {
        vta_model_destroy(m);
        (void)vta_context(diag, "%s", path);
        return status;
    }
    *out = m;
    return VTA_OK;
}

vta_status vta_model_open(const vta_artifact *artifact, const vta_model_options *options, vta_model **out,
                          vta_diag *diag)
{
    vta_model *m = calloc(1, sizeof *m);
    *out = NULL;
    if (m == NULL) {
        return no_memory(diag);
    }
    m->library.copy = -1;
    m->artifact = artifact;
    const vta_status status = open_artifact(options, m, diag);
    if (status != VTA_OK) {
        vta_model_destroy(m);
        return status;
    }
    *out = m;
    return VTA_OK;
}

void vta_model_destroy(vta_model *m)
{
    if (m == NULL) {
        return;
    }
    for (uint32_t i = 0; m->buffers != NULL && i < m->artifact->step_count; i++) {
        free(m->buffers[i]);
    }
    for (uint32_t i = 0; m->scratch_owners != NULL && i < vta_pool_threads(m->pool); i++) {
        free(m->scratch_owners[i]);
    }
    vta_accel_close(m->accel);
    vta_pool_destroy(m->pool);
    free(m->buffers);
    free(m->scratch);
    free(m->scratch_owners);
    if (m->remote == NULL) {
        free(m->profile);
        vta_layers_free(&m->layers);
    }
    vta_model_remote_close(m->remote);
    free(m->inputs);
    free(m->outputs);
    free(m->memory);
    vta_library_close(&m->library);
    free(m);
}

const char *vta_model_name(const vta_model *m)
{
    return m->artifact->name;
}

uint32_t vta_model_input_count(const vta_model *m)
{
    return m->artifact->input_count;
}

uint32_t vta_model_output_count(const vta_model *m)
{
    return m->artifact->output_count;
}

static vta_tensor_info describe(const vta_artifact_tensor *tensors, uint32_t count, uint32_t index)
{
    if (index >= count) {
        return (vta_tensor_info){0};
    }
    const vta_artifact_tensor *t = &tensors[index];
    return (vta_tensor_info){.name = t->name,
                             .dtype_code = (uint8_t)t->dtype_code,
                             .dtype_bits = (uint8_t)t->dtype_bits,
                             .rank = t->rank,
                             .dim = t->dim,
                             .bytes = (size_t)t->bytes};
}

vta_tensor_info vta_model_input(const vta_model *m, uint32_t index)
{
    return describe(m->artifact->inputs, m->artifact->input_count, index);
}

vta_tensor_info vta_model_output(const vta_model *m, uint32_t index)
{
    return describe(m->artifact->outputs, m->artifact->output_count, index);
}

/* DLPack knows no tensors that must not be written: what is const here is so by its owner's word. */
static vta_dl_tensor as_dlpack(const vta_tensor_info *info, void *data)
{
    union {
        const int64_t *in;
        int64_t *out;
    } shape = {.in = info->dim};
    enum { ON_CPU = 1 };
    return (vta_dl_tensor){.data = data,
                           .device = {.type = ON_CPU},
                           .ndim = (int32_t)info->rank,
                           .dtype = {info->dtype_code, info->dtype_bits, 1},
                           .shape = shape.out};
}

vta_dl_tensor vta_model_input_tensor(vta_model *m, uint32_t index)
{
    const vta_tensor_info info = vta_model_input(m, index);
    return as_dlpack(&info, vta_model_input_data(m, index));
}

vta_dl_tensor vta_model_output_tensor(vta_model *m, uint32_t index)
{
    const vta_tensor_info info = vta_model_output(m, index);
    return as_dlpack(&info, index < m->artifact->output_count ? m->outputs[index] : NULL);
}

static vta_status check_access(const char *what, uint32_t index, uint32_t count, size_t bytes,
                               size_t expected, vta_diag *diag)
{
    if (index >= count) {
        return vta_fail(diag, VTA_RANGE, "%s %u does not exist; the model has %u", what, index, count);
    }
    if (bytes != expected) {
        return vta_fail(diag, VTA_INVALID, "%s %u has %zu bytes, not %zu", what, index, expected, bytes);
    }
    return VTA_OK;
}

vta_status vta_model_set_input(vta_model *m, uint32_t index, const void *data, size_t bytes, vta_diag *diag)
{
    const vta_artifact *a = m->artifact;
    const size_t expected = index < a->input_count ? (size_t)a->inputs[index].bytes : 0;
    VTA_TRY(check_access("input", index, a->input_count, bytes, expected, diag));
    memcpy(m->inputs[index], data, bytes);
    return VTA_OK;
}

vta_status vta_model_get_output(const vta_model *m, uint32_t index, void *data, size_t bytes, vta_diag *diag)
{
    const vta_artifact *a = m->artifact;
    const size_t expected = index < a->output_count ? (size_t)a->outputs[index].bytes : 0;
    VTA_TRY(check_access("output", index, a->output_count, bytes, expected, diag));
    memcpy(data, m->outputs[index], bytes);
    return VTA_OK;
}

void *vta_model_input_data(vta_model *m, uint32_t index)
{
    return index < m->artifact->input_count ? m->inputs[index] : NULL;
}

const void *vta_model_output_data(const vta_model *m, uint32_t index)
{
    return index < m->artifact->output_count ? m->outputs[index] : NULL;
}

/* ---- running ---- */

typedef struct step_call {
    const vta_model *model;
    uint32_t step;
} step_call;

static void do_range(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    const step_call *call = context;
    const vta_model *m = call->model;
    m->artifact->steps[call->step].kernel(m->buffers[call->step], begin, end, m->scratch[worker]);
}

static vta_status launch_step(vta_model *m, uint32_t i, vta_diag *diag)
{
    vta_report report = {0};
    const vta_status status = vta_accel_run(m->accel, i, m->timeout_s, &report, diag);
    m->profile[i].cycles = report.counters.cycles;
    atomic_store(&m->step, i + 1); /* the device's cycles are not to count twice */
    atomic_fetch_add(&m->cycles, report.counters.cycles);
    if (status != VTA_OK) {
        (void)vta_context(diag, "step '%s'", m->artifact->steps[i].name);
        return status;
    }
    uint32_t insns;
    const uint64_t *account = vta_device_account(vta_accel_device(m->accel), &insns);
    vta_layers_record(&m->layers, m->artifact, i, vta_accel_code(m->accel, i), account, insns, &report);
    return VTA_OK;
}

/* Host steps cannot fail. Whoever sets `stop` looks at `launching` afterwards, and this looks at them the
 * other way round: one of the two sees the other. */
static vta_status run_step(vta_model *m, uint32_t i, vta_diag *diag)
{
    atomic_store(&m->step, i);
    const bool accelerator = m->artifact->steps[i].kind == VTA_STEP_ACCELERATOR;
    atomic_store(&m->launching, accelerator);
    if (atomic_load(&m->stop)) { /* no exchange: some processors have none of a byte */
        atomic_store(&m->stop, false);
        atomic_store(&m->launching, false);
        return vta_fail(diag, VTA_INTERRUPTED, "interrupted before step '%s'", m->artifact->steps[i].name);
    }
    if (accelerator) {
        const vta_status status = launch_step(m, i, diag);
        atomic_store(&m->launching, false);
        if (status == VTA_INTERRUPTED) {
            atomic_store(&m->stop, false);
        }
        return status;
    }
    step_call call = {m, i};
    vta_pool_run(m->pool, m->artifact->steps[i].extent, do_range, &call);
    return VTA_OK;
}

static vta_status run_remote(vta_model *m, bool profiled, vta_diag *diag)
{
    const vta_status status = vta_model_remote_run(m->remote, m->inputs, m->outputs, profiled, diag);
    atomic_store(&m->stop, false);
    return status;
}

void vta_model_interrupt(vta_model *m)
{
    atomic_store(&m->stop, true);
    if (atomic_load(&m->launching) && m->accel != NULL) {
        vta_device_interrupt(vta_accel_device(m->accel));
    }
}

vta_status vta_model_run(vta_model *m, vta_diag *diag)
{
    atomic_store(&m->cycles, 0);
    if (m->remote != NULL) {
        return run_remote(m, false, diag);
    }
    for (uint32_t i = 0; i < m->artifact->step_count; i++) {
        VTA_TRY(run_step(m, i, diag));
    }
    return VTA_OK;
}

vta_model_position vta_model_where(const vta_model *m)
{
    const uint32_t step = atomic_load(&m->step);
    const bool launched = m->accel != NULL && step < m->artifact->step_count &&
                          m->artifact->steps[step].kind == VTA_STEP_ACCELERATOR;
    return (vta_model_position){.step = step,
                                .steps = m->artifact->step_count,
                                .cycles = atomic_load(&m->cycles) +
                                          (launched ? vta_device_cycles(vta_accel_device(m->accel)) : 0),
                                .predicted = m->predicted};
}

vta_device *vta_model_device(const vta_model *m)
{
    return m->accel != NULL ? vta_accel_device(m->accel) : NULL;
}

const char *vta_model_device_uri(const vta_model *m)
{
    if (m->remote != NULL) {
        return vta_model_remote_device(m->remote);
    }
    return m->accel != NULL ? vta_device_uri(vta_accel_device(m->accel)) : "";
}

const struct vta_artifact_region *vta_model_region(const vta_model *m, uint32_t step)
{
    return step < m->artifact->step_count ? m->artifact->steps[step].region : NULL;
}

const vta_layer_profile *vta_model_layers(const vta_model *m, uint32_t *count)
{
    *count = m->layers.count;
    return m->layers.rows;
}

const vta_step_profile *vta_model_steps(const vta_model *m, uint32_t *count)
{
    *count = m->artifact->step_count;
    return m->profile;
}

uint64_t vta_model_cycles(const vta_model *m)
{
    uint64_t cycles = 0;
    for (uint32_t i = 0; i < m->artifact->step_count; i++) {
        cycles += m->profile[i].cycles;
    }
    return cycles;
}

vta_status vta_model_profile(vta_model *m, const vta_step_profile **steps, uint32_t *count, vta_diag *diag)
{
    *steps = NULL;
    *count = 0;
    atomic_store(&m->cycles, 0);
    if (m->remote != NULL) {
        VTA_TRY(run_remote(m, true, diag));
    }
    for (uint32_t i = 0; m->remote == NULL && i < m->artifact->step_count; i++) {
        const double begin = vta_now();
        VTA_TRY(run_step(m, i, diag));
        m->profile[i].seconds = vta_now() - begin;
    }
    *steps = m->profile;
    *count = m->artifact->step_count;
    return VTA_OK;
}

size_t vta_model_workspace_bytes(const vta_model *m)
{
    return (size_t)m->artifact->workspace_bytes;
}

uint32_t vta_model_threads(const vta_model *m)
{
    return m->pool != NULL ? vta_pool_threads(m->pool) : 0;
}
