/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled models, wherever they run: their description, their tensors, and what is asked of the engine
 * (vta/engine.h) that runs them.
 */
#include "vta/model.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pages.h"
#include "vta/artifact.h"
#include "vta/engine.h"
#include "vta/fail.h"
#include "vta/hash.h"
#include "vta/log.h"
#include "vta/number.h"
#include "vta/remote.h"
#include "vta/room.h"

struct vta_model {
    vta_engine engine;
    vta_pages pages;  /* inputs, outputs, workspace, in this order, or */
    void *memory;     /* the same in ordinary memory */
    uint8_t **own;    /* where the tensors are in it: inputs, then outputs */
    uint8_t **bound;  /* where they are now: there, or in memory of the caller */
    void **grown;     /* memory of inputs that were given another size */
    vta_async *async; /* NULL: nothing was started yet */
};

/* ---- tensors ---- */

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

vta_status vta_engine_check_tensors(const vta_artifact *a, vta_diag *diag)
{
    for (uint32_t i = 0; i < a->input_count + a->output_count; i++) {
        VTA_TRY(check_tensor(tensor_of(a, i), diag));
    }
    return VTA_OK;
}

uint64_t vta_engine_aligned(uint64_t bytes)
{
    return bytes > UINT64_MAX - VTA_ARTIFACT_ALIGN ? UINT64_MAX : vta_round_up_u(bytes, VTA_ARTIFACT_ALIGN);
}

/* Inputs, outputs and the engine's workspace. Sizes come from a file or from another machine. */
static vta_status place_tensors(vta_model *m, vta_diag *diag)
{
    const vta_artifact *a = m->engine.artifact;
    const uint32_t tensors = a->input_count + a->output_count;
    uint64_t total = vta_engine_aligned(m->engine.workspace_bytes);
    void *at = NULL;
    for (uint32_t i = 0; i < tensors; i++) {
        total = vta_add_saturated(total, vta_engine_aligned(tensor_of(a, i)->bytes));
    }
    if (vta_pages_take(total, &m->pages)) {
        at = m->pages.at;
    } else {
        VTA_TRY(vta_room_zeros("its inputs, outputs and workspace", total, VTA_ARTIFACT_ALIGN, &m->memory,
                               &at, diag));
    }
    m->own = calloc((size_t)tensors + 1, sizeof *m->own);
    m->bound = calloc((size_t)tensors + 1, sizeof *m->bound);
    m->grown = calloc((size_t)tensors + 1, sizeof *m->grown);
    if (m->own == NULL || m->bound == NULL || m->grown == NULL) {
        return vta_no_memory(diag);
    }
    m->engine.workspace = at;
    for (uint32_t i = 0; i < tensors; i++) {
        m->own[i] = m->bound[i] = m->engine.workspace;
        m->engine.workspace += vta_engine_aligned(tensor_of(a, i)->bytes);
    }
    for (uint32_t i = 0; i < a->step_count && m->engine.held != NULL; i++) {
        const vta_artifact_buffer *from = a->steps[i].buffers; /* an input that stays in device memory */
        if (a->steps[i].kind == VTA_STEP_STATE && from->space == VTA_SPACE_INPUT) {
            m->own[from->index] = m->bound[from->index] = m->engine.held + from[1].offset;
        }
    }
    m->engine.inputs = m->bound;
    m->engine.outputs = m->bound + a->input_count;
    return VTA_OK;
}

static void bind(vta_model *m)
{
    if (m->engine.ops->bind != NULL) {
        m->engine.ops->bind(m->engine.self);
    }
}

/* ---- opening ---- */

/* As this release has them. A program may have been compiled with an older header, which ends sooner, or with
 * a newer one, of which no more may be used than there is here. */
static vta_status read_options(const vta_model_options *given, vta_model_options *out, vta_diag *diag)
{
    enum { FIRST_RELEASE = sizeof(vta_model_options) }; /* 1.0 */
    *out = (vta_model_options){0};
    if (given == NULL) {
        return VTA_OK;
    }
    const size_t size = given->size != 0 ? given->size : FIRST_RELEASE;
    bool good = size >= FIRST_RELEASE && size <= 4096;
    for (size_t i = sizeof *out; good && i < size; i++) {
        good = ((const char *)given)[i] == 0;
    }
    if (!good) {
        return vta_fail(
            diag, VTA_UNSUPPORTED,
            "vta_model_options of %zu bytes say what release %s (%zu bytes) does not know; set its "
            "'size' to sizeof, or use a newer library",
            size, vta_version(), sizeof *out);
    }
    memcpy(out, given, size < sizeof *out ? size : sizeof *out);
    out->size = sizeof *out;
    return VTA_OK;
}

typedef vta_status open_engine(const void *from, const vta_model_options *options, vta_engine *engine,
                               vta_diag *diag);

static vta_status open_file(const void *path, const vta_model_options *options, vta_engine *engine,
                            vta_diag *diag)
{
    const bool elsewhere = options->shared == NULL && vta_remote_is(options->device);
    const vta_status status = (elsewhere ? vta_there_load : vta_here_load)(path, options, engine, diag);
    if (status != VTA_OK) {
        (void)vta_context(diag, "%s", (const char *)path);
    }
    return status;
}

static vta_status open_object(const void *artifact, const vta_model_options *options, vta_engine *engine,
                              vta_diag *diag)
{
    return vta_here_open(artifact, options, engine, diag);
}

static vta_status fill_model(vta_model *m, open_engine *open, const void *from,
                             const vta_model_options *options, vta_diag *diag)
{
    vta_model_options known;
    VTA_TRY(read_options(options, &known, diag));
    VTA_TRY(open(from, &known, &m->engine, diag));
    return place_tensors(m, diag);
}

static vta_status open_model(open_engine *open, const void *from, const vta_model_options *options,
                             vta_model **out, vta_diag *diag)
{
    *out = NULL;
    vta_model *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return vta_no_memory(diag);
    }
    const vta_status status = fill_model(m, open, from, options, diag);
    if (status != VTA_OK) {
        vta_model_destroy(m);
        return status;
    }
    bind(m);
    vta_log(VTA_LOG_INFO, "model '%s' is loaded, %u steps, device '%s'", vta_model_name(m),
            m->engine.artifact->step_count, vta_model_device_uri(m));
    *out = m;
    return VTA_OK;
}

vta_status vta_model_load(const char *path, const vta_model_options *options, vta_model **out, vta_diag *diag)
{
    return open_model(open_file, path, options, out, diag);
}

vta_status vta_model_open(const vta_artifact *artifact, const vta_model_options *options, vta_model **out,
                          vta_diag *diag)
{
    return open_model(open_object, artifact, options, out, diag);
}

void vta_model_destroy(vta_model *m)
{
    if (m == NULL) {
        return;
    }
    vta_async_close(m->async);
    for (uint32_t i = 0; m->grown != NULL && i < m->engine.artifact->input_count; i++) {
        free(m->grown[i]);
    }
    if (m->engine.ops != NULL) {
        m->engine.ops->close(m->engine.self);
    }
    free(m->grown);
    free(m->own);
    free(m->bound);
    free(m->memory);
    vta_pages_give(&m->pages);
    free(m);
}

/* ---- what it is ---- */

const char *vta_model_name(const vta_model *m)
{
    return m->engine.artifact->name;
}

uint64_t vta_model_identity(const vta_model *m, uint64_t *target)
{
    const vta_artifact *a = m->engine.artifact;
    uint64_t hash = vta_hash_word(VTA_HASH_START, a->constant_hash);
    hash = vta_hash_word(hash, a->device_constant_hash);
    for (uint32_t i = 0; i < a->input_count + a->output_count; i++) {
        hash = vta_hash_text(hash, tensor_of(a, i)->name);
        hash = vta_hash_word(hash, tensor_of(a, i)->dtype_code * 1000 + tensor_of(a, i)->dtype_bits);
    }
    for (uint32_t i = 0; i < a->step_count; i++) {
        hash = vta_hash_text(hash, a->steps[i].name == NULL ? "" : a->steps[i].name);
    }
    if (target != NULL) {
        *target = a->config_json == NULL ? 0 : a->config_hash;
    }
    return hash;
}

uint32_t vta_model_input_count(const vta_model *m)
{
    return m->engine.artifact->input_count;
}

uint32_t vta_model_output_count(const vta_model *m)
{
    return m->engine.artifact->output_count;
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
    return describe(m->engine.artifact->inputs, m->engine.artifact->input_count, index);
}

vta_tensor_info vta_model_output(const vta_model *m, uint32_t index)
{
    return describe(m->engine.artifact->outputs, m->engine.artifact->output_count, index);
}

const vta_state *vta_model_states(const vta_model *m, uint32_t *count)
{
    *count = m->engine.artifact->state_count;
    return m->engine.states;
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
    return as_dlpack(&info, index < m->engine.artifact->output_count ? m->engine.outputs[index] : NULL);
}

/* ---- its tensors' memory ---- */

/* Refuses what would disturb a run that was started. */
static vta_status idle(const vta_model *m, vta_diag *diag)
{
    return vta_async_busy(m->async)
               ? vta_fail(diag, VTA_BUSY, "a run of this model was started; wait for it first")
               : VTA_OK;
}

/* The number of a tensor among inputs and outputs, checked. */
static vta_status find_tensor(const vta_model *m, bool input, uint32_t index, size_t bytes, uint32_t *number,
                              vta_diag *diag)
{
    const vta_artifact *a = m->engine.artifact;
    const uint32_t count = input ? a->input_count : a->output_count;
    const char *what = input ? "input" : "output";
    *number = input ? index : a->input_count + index;
    VTA_TRY(idle(m, diag));
    if (index >= count) {
        return vta_fail(diag, VTA_RANGE, "%s %u does not exist; the model has %u", what, index, count);
    }
    const size_t expected = (size_t)tensor_of(a, *number)->bytes;
    if (bytes != expected) {
        return vta_fail(diag, VTA_INVALID, "%s %u has %zu bytes, not %zu", what, index, expected, bytes);
    }
    return VTA_OK;
}

vta_status vta_model_set_input(vta_model *m, uint32_t index, const void *data, size_t bytes, vta_diag *diag)
{
    uint32_t number;
    VTA_TRY(find_tensor(m, true, index, bytes, &number, diag));
    if (m->bound[number] != m->own[number]) { /* what was bound is only read, and no longer wanted */
        m->bound[number] = m->own[number];
        bind(m);
    }
    memcpy(m->own[number], data, bytes);
    return VTA_OK;
}

vta_status vta_model_get_output(const vta_model *m, uint32_t index, void *data, size_t bytes, vta_diag *diag)
{
    uint32_t number;
    VTA_TRY(find_tensor(m, false, index, bytes, &number, diag));
    memcpy(data, m->bound[number], bytes);
    return VTA_OK;
}

void *vta_model_input_data(vta_model *m, uint32_t index)
{
    return index < m->engine.artifact->input_count ? m->engine.inputs[index] : NULL;
}

const void *vta_model_output_data(const vta_model *m, uint32_t index)
{
    return index < m->engine.artifact->output_count ? m->engine.outputs[index] : NULL;
}

/* Kernels want elements where elements may be, no more. What is bound as an input is only read. */
static vta_status bind_tensor(vta_model *m, bool input, uint32_t index, const void *data, size_t bytes,
                              vta_diag *diag)
{
    union {
        const void *in;
        uint8_t *out;
    } memory = {.in = data};
    uint32_t number;
    const vta_tensor_info info = input ? vta_model_input(m, index) : vta_model_output(m, index);
    VTA_TRY(find_tensor(m, input, index, data != NULL ? bytes : info.bytes, &number, diag));
    const size_t element = info.dtype_bits > 8 ? info.dtype_bits / 8U : 1;
    if ((uintptr_t)data % element != 0) {
        return vta_fail(diag, VTA_INVALID,
                        "the memory for %s %u does not begin at a multiple of its elements' %zu bytes",
                        input ? "input" : "output", index, element);
    }
    m->bound[number] = data != NULL ? memory.out : m->own[number];
    bind(m);
    return VTA_OK;
}

vta_status vta_model_bind_input(vta_model *m, uint32_t index, const void *data, size_t bytes, vta_diag *diag)
{
    return bind_tensor(m, true, index, data, bytes, diag);
}

vta_status vta_model_bind_output(vta_model *m, uint32_t index, void *data, size_t bytes, vta_diag *diag)
{
    return bind_tensor(m, false, index, data, bytes, diag);
}

vta_status vta_model_set_input_shape(vta_model *m, uint32_t index, const int64_t *dim, uint32_t rank,
                                     vta_diag *diag)
{
    const vta_tensor_info info = vta_model_input(m, index);
    bool same = info.name != NULL && info.rank == rank;
    for (uint32_t i = 0; same && i < rank; i++) {
        same = info.dim[i] == dim[i];
    }
    if (info.name == NULL) {
        return vta_fail(diag, VTA_RANGE, "input %u does not exist; the model has %u", index,
                        vta_model_input_count(m));
    }
    if (same) {
        return VTA_OK;
    }
    VTA_TRY(idle(m, diag));
    if (m->engine.ops->shape == NULL) {
        return vta_fail(diag, VTA_INVALID, "input '%s' has one size, for which the model was compiled",
                        info.name);
    }
    VTA_TRY(m->engine.ops->shape(m->engine.self, index, rank, dim, diag));
    void *owner;
    void *at;
    VTA_TRY(
        vta_room_zeros("an input", vta_model_input(m, index).bytes, VTA_ARTIFACT_ALIGN, &owner, &at, diag));
    free(m->grown[index]);
    m->grown[index] = owner;
    m->own[index] = m->bound[index] = at;
    bind(m);
    return VTA_OK;
}

static bool same_shape(const vta_dl_tensor *t, const vta_tensor_info *info)
{
    int64_t step = 1;
    bool same = t->ndim == (int32_t)info->rank;
    for (uint32_t i = info->rank; same && i-- > 0;) {
        same =
            t->shape[i] == info->dim[i] && (t->strides == NULL || t->strides[i] == step || info->dim[i] <= 1);
        step *= info->dim[i];
    }
    return same;
}

static vta_status bind_dlpack(vta_model *m, bool input, uint32_t index, const vta_dl_tensor *t,
                              vta_diag *diag)
{
    enum { ON_CPU = 1 };
    const vta_tensor_info info = input ? vta_model_input(m, index) : vta_model_output(m, index);
    const bool there = info.name != NULL;
    if (there && t->device.type != ON_CPU) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "the tensor for %s %u is on a device of DLPack type %d; only 1, the CPU",
                        input ? "input" : "output", index, (int)t->device.type);
    }
    const bool same =
        t->dtype.code == info.dtype_code && t->dtype.bits == info.dtype_bits && t->dtype.lanes == 1;
    if (there && !(same && same_shape(t, &info))) {
        return vta_fail(
            diag, VTA_INVALID,
            "the tensor for %s %u has another type or shape than the model, or gaps between its rows",
            input ? "input" : "output", index);
    }
    return bind_tensor(m, input, index, (const char *)t->data + t->byte_offset, info.bytes, diag);
}

vta_status vta_model_bind_input_tensor(vta_model *m, uint32_t index, const vta_dl_tensor *tensor,
                                       vta_diag *diag)
{
    return bind_dlpack(m, true, index, tensor, diag);
}

vta_status vta_model_bind_output_tensor(vta_model *m, uint32_t index, const vta_dl_tensor *tensor,
                                        vta_diag *diag)
{
    return bind_dlpack(m, false, index, tensor, diag);
}

/* ---- running ---- */

static vta_status run(vta_model *m, bool profiled, vta_diag *diag)
{
    VTA_TRY(idle(m, diag));
    return m->engine.ops->run(m->engine.self, profiled, diag);
}

vta_status vta_model_run(vta_model *m, vta_diag *diag)
{
    return run(m, false, diag);
}

vta_status vta_model_profile(vta_model *m, const vta_step_profile **steps, uint32_t *count, vta_diag *diag)
{
    *steps = NULL;
    *count = 0;
    VTA_TRY(run(m, true, diag));
    *steps = m->engine.steps;
    *count = m->engine.artifact->step_count;
    return VTA_OK;
}

vta_status vta_model_start(vta_model *m, vta_diag *diag)
{
    return vta_async_start(&m->async, &m->engine, diag);
}

vta_status vta_model_wait(vta_model *m, double timeout_s, vta_diag *diag)
{
    return vta_async_wait(m->async, timeout_s, diag);
}

void vta_model_cancel(vta_model *m)
{
    vta_async_cancel(m->async);
}

int vta_model_descriptor(vta_model *m, vta_diag *diag)
{
    return vta_async_descriptor(&m->async, &m->engine, diag);
}

void vta_model_interrupt(vta_model *m)
{
    vta_stop_ask(&m->engine.stop);
}

void vta_model_forget_stops(vta_model *m)
{
    vta_stop_forget(&m->engine.stop);
}

/* ---- what a run left ---- */

vta_model_position vta_model_where(const vta_model *m)
{
    return m->engine.ops->where != NULL ? m->engine.ops->where(m->engine.self)
                                        : (vta_model_position){.steps = m->engine.artifact->step_count};
}

vta_device *vta_model_device(const vta_model *m)
{
    return m->engine.ops->device != NULL ? m->engine.ops->device(m->engine.self) : NULL;
}

const char *vta_model_device_uri(const vta_model *m)
{
    return m->engine.ops->device_uri(m->engine.self);
}

const struct vta_artifact_region *vta_model_region(const vta_model *m, uint32_t step)
{
    return step < m->engine.artifact->step_count ? m->engine.artifact->steps[step].region : NULL;
}

const vta_layer_profile *vta_model_layers(const vta_model *m, uint32_t *count)
{
    *count = m->engine.layer_count;
    return m->engine.layers;
}

const vta_step_profile *vta_model_steps(const vta_model *m, uint32_t *count)
{
    *count = m->engine.artifact->step_count;
    return m->engine.steps;
}

uint64_t vta_model_cycles(const vta_model *m)
{
    uint64_t cycles = 0;
    for (uint32_t i = 0; i < m->engine.artifact->step_count; i++) {
        cycles += m->engine.steps[i].cycles;
    }
    return cycles;
}

double vta_model_host_estimate(const vta_model *m, const char **processor)
{
    static const double a_second = 1e12;
    const vta_artifact_board *board = m->engine.board;
    if (processor != NULL) {
        *processor = board != NULL ? board->processor : NULL;
    }
    return board != NULL ? (double)board->host_ps / a_second : 0.0;
}

size_t vta_model_workspace_bytes(const vta_model *m)
{
    return (size_t)m->engine.artifact->workspace_bytes;
}

uint32_t vta_model_threads(const vta_model *m)
{
    return m->engine.ops->threads != NULL ? m->engine.ops->threads(m->engine.self) : 0;
}
