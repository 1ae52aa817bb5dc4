/* SPDX-License-Identifier: Apache-2.0
 *
 * Models on a device that runs kernels. Constants are there from the start, the workspace has a copy there,
 * and all between the inputs and the outputs stays there. A step of the host in between gets what it reads in
 * the host's workspace, and what it writes is brought back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "vta/fail.h"

enum { MIN_BYTES = 64, MAX_SCRATCH = 1 << 26 };

struct vta_kernels {
    const vta_gpu_ops *ops;
    void *self;
    const vta_artifact *artifact;
    const vta_artifact_kernels *table;
    char uri[32];
    char *kept; /* operators whose steps stay on the host, with commas between; NULL: none; owned */
    void *workspace, *constants, *scratch;
    void **inputs, **outputs;
    bool *input_is_there, *output_is_there; /* the device has it, in this run */
    bool *is_queued;                        /* by step, in this run or segment */
    bool *stays;                            /* by step: on the host */
    uint64_t scratch_bytes;
    vta_kernels_places places;
};

static const vta_gpu_ops *const kinds[] = {&vta_gpu_opencl, &vta_gpu_cuda};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* ---- opening ---- */

/* "opencl", "opencl:2", "opencl:2?host=Conv,Softmax". */
static vta_status parse_uri(vta_kernels *k, const char *uri, uint32_t *number, vta_diag *diag)
{
    static const char option[] = "?host=";
    size_t at = 0;
    *number = 0;
    for (size_t i = 0; i < KINDS; i++) {
        const size_t length = strlen(kinds[i]->scheme);
        if (strncmp(uri, kinds[i]->scheme, length) == 0) {
            k->ops = kinds[i];
            at = length;
        }
    }
    const size_t digits = uri[at] == ':' ? strspn(uri + at + 1, "0123456789") : 0;
    bool good = at > 0 && (uri[at] != ':' || (digits > 0 && digits <= 3));
    if (good && digits > 0) {
        *number = (uint32_t)strtoul(uri + at + 1, NULL, 10);
        at += digits + 1;
    }
    if (good && strncmp(uri + at, option, sizeof option - 1) == 0) {
        k->kept = strdup(uri + at + sizeof option - 1);
        return vta_allocated(k->kept != NULL, diag);
    }
    good = good && uri[at] == '\0';
    return good ? VTA_OK
                : vta_fail(diag, VTA_INVALID,
                           "device '%s': expected opencl or opencl:NUMBER (or cuda), with ?host=OPERATOR,... "
                           "where steps "
                           "are to stay on the host",
                           uri);
}

static vta_status allocate(vta_kernels *k, uint64_t bytes, void **memory, vta_diag *diag)
{
    return k->ops->allocate(k->self, bytes > MIN_BYTES ? bytes : MIN_BYTES, memory, diag);
}

static vta_status allocate_ends(vta_kernels *k, const vta_artifact_tensor *tensors, uint32_t count,
                                void **memory, vta_diag *diag)
{
    for (uint32_t i = 0; i < count; i++) {
        VTA_TRY(allocate(k, tensors[i].bytes, &memory[i], diag));
    }
    return VTA_OK;
}

static bool is_kept(const vta_kernels *k, const char *op)
{
    for (const char *at = k->kept; at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, ",");
        if (strlen(op) == length && strncmp(at, op, length) == 0) {
            return true;
        }
        at += length + (at[length] == ',');
    }
    return false;
}

/* Steps that touch what the accelerator works in, and those whose kernel asks for more than there is, stay.
 */
static void choose_steps(vta_kernels *k)
{
    vta_kernels_device device = {0};
    k->ops->describe(k->self, &device);
    for (uint32_t i = 0; i < k->table->step_count; i++) {
        const vta_artifact_step *step = &k->artifact->steps[i];
        const int64_t kernel = k->table->launches[i].kernel;
        const bool known = kernel >= 0 && kernel < k->table->kernel_count;
        k->stays[i] = !known || is_kept(k, step->op) || step->buffer_count > VTA_KERNEL_MAX_BUFFERS ||
                      ((k->table->kernels[kernel].needs & VTA_KERNEL_DOUBLES) != 0 && !device.has_doubles);
        for (uint32_t b = 0; b < step->buffer_count; b++) {
            k->stays[i] = k->stays[i] || step->buffers[b].space == VTA_SPACE_DEVICE;
        }
    }
}

static uint64_t scratch_of(const vta_artifact_step *step)
{
    return (step->scratch_bytes + VTA_ARTIFACT_ALIGN - 1) / VTA_ARTIFACT_ALIGN * VTA_ARTIFACT_ALIGN;
}

/* Scratch memory for as many items as fit into a bound. */
static void size_scratch(vta_kernels *k)
{
    for (uint32_t i = 0; i < k->table->step_count; i++) {
        const uint64_t each = k->stays[i] ? 0 : scratch_of(&k->artifact->steps[i]);
        const uint64_t items = each > 0 ? (MAX_SCRATCH + each - 1) / each : 0;
        const uint64_t wanted = items < k->table->launches[i].items ? items : k->table->launches[i].items;
        k->scratch_bytes = each * wanted > k->scratch_bytes ? each * wanted : k->scratch_bytes;
    }
}

/* The workspace begins as zeros: states are read before they are written. */
static vta_status clear_workspace(vta_kernels *k, vta_diag *diag)
{
    const uint64_t bytes = k->artifact->workspace_bytes;
    const vta_gpu_place all = {k->workspace, 0};
    void *zeros = calloc(1, bytes + 1);
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vta_allocated(zeros != NULL, diag));
    VTA_TRY_OUT(bytes > 0 ? k->ops->write(k->self, &all, zeros, bytes, diag) : VTA_OK);
    status = k->ops->wait(k->self, diag);
out:
    free(zeros);
    return status;
}

static vta_status fill_device(vta_kernels *k, const void *constants, vta_diag *diag)
{
    const vta_artifact *a = k->artifact;
    const vta_gpu_place place = {k->constants, 0};
    VTA_TRY(allocate_ends(k, a->inputs, a->input_count, k->inputs, diag));
    VTA_TRY(allocate_ends(k, a->outputs, a->output_count, k->outputs, diag));
    VTA_TRY(allocate(k, k->scratch_bytes, &k->scratch, diag));
    VTA_TRY(clear_workspace(k, diag));
    return a->constant_bytes > 0 ? k->ops->write(k->self, &place, constants, a->constant_bytes, diag)
                                 : VTA_OK;
}

static vta_status make_lists(vta_kernels *k, vta_diag *diag)
{
    const vta_artifact *a = k->artifact;
    k->inputs = calloc((size_t)a->input_count + 1, sizeof *k->inputs);
    k->outputs = calloc((size_t)a->output_count + 1, sizeof *k->outputs);
    k->input_is_there = calloc((size_t)a->input_count + 1, sizeof *k->input_is_there);
    k->output_is_there = calloc((size_t)a->output_count + 1, sizeof *k->output_is_there);
    k->is_queued = calloc((size_t)a->step_count + 1, sizeof *k->is_queued);
    k->stays = calloc((size_t)a->step_count + 1, sizeof *k->stays);
    return vta_allocated(k->inputs != NULL && k->outputs != NULL && k->input_is_there != NULL &&
                             k->output_is_there != NULL && k->is_queued != NULL && k->stays != NULL,
                         diag);
}

static vta_status open_device(vta_kernels *k, const void *constants, const char *uri, vta_diag *diag)
{
    uint32_t number;
    VTA_TRY(parse_uri(k, uri, &number, diag));
    (void)snprintf(k->uri, sizeof k->uri, "%s:%u", k->ops->scheme, number);
    if (k->table == NULL || strcmp(k->table->language, k->ops->language) != 0) {
        return vta_fail(diag, VTA_UNSUPPORTED, "it has no kernels for '%s'; compile it with '--target %s'",
                        uri, k->ops->language);
    }
    VTA_TRY(make_lists(k, diag));
    VTA_TRY(k->ops->open(number, k->artifact->step_count, &k->self, diag));
    choose_steps(k);
    size_scratch(k);
    VTA_TRY(allocate(k, k->artifact->workspace_bytes, &k->workspace, diag));
    VTA_TRY(allocate(k, k->artifact->constant_bytes, &k->constants, diag));
    VTA_TRY(fill_device(k, constants, diag));
    VTA_TRY(k->ops->build(k->self, k->table, diag));
    return k->ops->wait(k->self, diag);
}

static void release_all(vta_kernels *k, void **memory, uint32_t count)
{
    for (uint32_t i = 0; memory != NULL && i < count; i++) {
        if (memory[i] != NULL) {
            k->ops->release(k->self, memory[i]);
        }
    }
}

static void run_close(vta_kernels *k)
{
    if (k->self != NULL) {
        (void)k->ops->wait(k->self, NULL); /* copies that were queued may use the memory */
        release_all(k, k->inputs, k->artifact->input_count);
        release_all(k, k->outputs, k->artifact->output_count);
        release_all(k, (void *[]){k->workspace, k->constants, k->scratch}, 3);
        k->ops->close(k->self);
    }
    free(k->kept);
    free(k->inputs);
    free(k->outputs);
    free(k->input_is_there);
    free(k->output_is_there);
    free(k->is_queued);
    free(k->stays);
    free(k);
}

static vta_status run_open(const vta_artifact *artifact, const void *constants, const char *uri,
                           vta_kernels **out, vta_diag *diag)
{
    *out = NULL;
    vta_kernels *k = calloc(1, sizeof *k);
    if (k == NULL) {
        return vta_no_memory(diag);
    }
    k->artifact = artifact;
    k->table = vta_kernels_of(artifact);
    const vta_status status = open_device(k, constants, uri, diag);
    if (status != VTA_OK) {
        run_close(k);
        return status;
    }
    *out = k;
    return VTA_OK;
}

static const char *run_uri(const vta_kernels *k)
{
    return k->uri;
}

/* ---- a run ---- */

static void run_begin(vta_kernels *k, const vta_kernels_places *places)
{
    k->places = *places;
    memset(k->input_is_there, 0, k->artifact->input_count);
    memset(k->output_is_there, 0, k->artifact->output_count);
    memset(k->is_queued, 0, k->artifact->step_count);
}

/* Place of a buffer on the device. An input is brought there by the first step that reads it. */
static vta_status place_buffer(vta_kernels *k, const vta_artifact_buffer *b, vta_gpu_place *out,
                               vta_diag *diag)
{
    const vta_gpu_place start = {b->space == VTA_SPACE_INPUT ? k->inputs[b->index] : NULL, 0};
    *out = (vta_gpu_place){k->workspace, b->offset};
    if (b->space == VTA_SPACE_CONSTANT) {
        out->memory = k->constants;
    } else if (b->space == VTA_SPACE_OUTPUT) {
        out->memory = k->outputs[b->index];
    } else if (b->space == VTA_SPACE_INPUT) {
        out->memory = start.memory;
        if (!k->input_is_there[b->index]) {
            k->input_is_there[b->index] = true;
            return k->ops->write(k->self, &start, k->places.inputs[b->index],
                                 k->artifact->inputs[b->index].bytes, diag);
        }
    }
    return VTA_OK;
}

static vta_status launch_step(vta_kernels *k, uint32_t i, vta_diag *diag)
{
    const vta_artifact_step *step = &k->artifact->steps[i];
    vta_gpu_place places[VTA_KERNEL_MAX_BUFFERS];
    for (uint32_t b = 0; b < step->buffer_count; b++) {
        VTA_TRY(place_buffer(k, &step->buffers[b], &places[b], diag));
        if (step->buffers[b].space == VTA_SPACE_OUTPUT) {
            k->output_is_there[step->buffers[b].index] = true;
        }
    }
    const vta_gpu_launch launch = {.kernel = (uint32_t)k->table->launches[i].kernel,
                                   .place_count = step->buffer_count,
                                   .places = places,
                                   .items = k->table->launches[i].items,
                                   .group = k->table->launches[i].group,
                                   .scratch = k->scratch,
                                   .scratch_bytes = scratch_of(step),
                                   .scratch_room = k->scratch_bytes,
                                   .timer = i,
                                   .timed = k->places.timed};
    k->is_queued[i] = true;
    return k->ops->launch(k->self, &launch, diag);
}

/* The host's address of a buffer that the device has, too; NULL: it has not. */
static uint8_t *host_place(const vta_kernels *k, const vta_artifact_buffer *b)
{
    return b->space == VTA_SPACE_WORKSPACE ? k->places.workspace + b->offset
           : b->space == VTA_SPACE_OUTPUT  ? k->places.outputs[b->index] + b->offset
                                           : NULL;
}

/* Brings all buffers to the host, those that are written, too: a step may write a part of one. */
static vta_status fetch_buffers(vta_kernels *k, uint32_t i, vta_diag *diag)
{
    const vta_artifact_step *step = &k->artifact->steps[i];
    for (uint32_t b = 0; b < step->buffer_count; b++) {
        const vta_artifact_buffer *buffer = &step->buffers[b];
        uint8_t *to = host_place(k, buffer);
        const bool stale = buffer->space == VTA_SPACE_OUTPUT && !k->output_is_there[buffer->index];
        vta_gpu_place from;
        if (to != NULL && !stale && buffer->bytes > 0) {
            VTA_TRY(place_buffer(k, buffer, &from, diag));
            VTA_TRY(k->ops->read(k->self, &from, to, buffer->bytes, diag));
        }
    }
    return k->ops->wait(k->self, diag);
}

static vta_status run_step(vta_kernels *k, uint32_t i, bool *queued, vta_diag *diag)
{
    *queued = !k->stays[i];
    const vta_status status = k->stays[i] ? fetch_buffers(k, i, diag) : launch_step(k, i, diag);
    return status == VTA_OK ? VTA_OK : (vta_context(diag, "step '%s'", k->artifact->steps[i].name), status);
}

static vta_status run_after(vta_kernels *k, uint32_t i, vta_diag *diag)
{
    const vta_artifact_step *step = &k->artifact->steps[i];
    const char *written = k->table->launches[i].written;
    for (uint32_t b = 0; b < step->buffer_count && written[b] != '\0'; b++) {
        const vta_artifact_buffer *buffer = &step->buffers[b];
        const uint8_t *from = host_place(k, buffer);
        vta_gpu_place to;
        if (from != NULL && written[b] == 'w' && buffer->bytes > 0) {
            VTA_TRY(place_buffer(k, buffer, &to, diag));
            VTA_TRY(k->ops->write(k->self, &to, from, buffer->bytes, diag));
        }
    }
    return VTA_OK;
}

static vta_status run_finish(vta_kernels *k, vta_step_profile *steps, vta_diag *diag)
{
    vta_status status = VTA_OK;
    for (uint32_t i = 0; i < k->artifact->output_count && status == VTA_OK; i++) {
        const vta_gpu_place from = {k->outputs[i], 0};
        if (k->output_is_there[i]) {
            status = k->ops->read(k->self, &from, k->places.outputs[i], k->artifact->outputs[i].bytes, diag);
        }
    }
    const vta_status waited = k->ops->wait(k->self, status == VTA_OK ? diag : NULL);
    for (uint32_t i = 0; i < k->artifact->step_count && k->places.timed; i++) {
        steps[i].seconds += k->is_queued[i] ? k->ops->seconds(k->self, i) : 0.0;
    }
    return status != VTA_OK ? status : waited;
}

/* Devices of one kind, or of all; a kind whose driver is not there has none, and says why where it alone was
 * asked for. */
static vta_status run_list(const char *uri, vta_kernels_device *out, uint32_t room, uint32_t *count,
                           vta_diag *diag)
{
    *count = 0;
    for (size_t i = 0; i < KINDS; i++) {
        uint32_t found = 0;
        if (uri != NULL && strncmp(uri, kinds[i]->scheme, strlen(kinds[i]->scheme)) != 0) {
            continue;
        }
        const vta_status status =
            kinds[i]->list(out + *count, room - *count, &found, uri != NULL ? diag : NULL);
        if (uri != NULL) {
            VTA_TRY(status);
        }
        *count += found;
    }
    return VTA_OK;
}

/* ---- launches */

vta_gpu_shape vta_gpu_shape_of(const vta_gpu_launch *launch, uint64_t group, uint64_t busy)
{
    const uint64_t room =
        launch->scratch_bytes > 0 ? launch->scratch_room / launch->scratch_bytes : UINT64_MAX;
    uint64_t items = launch->items < busy ? launch->items : busy;
    if (launch->group > 0) {
        return (vta_gpu_shape){launch->items, launch->group};
    }
    group = group < room ? group : room;
    group = group > 0 ? group : 1;
    items = items > room ? room / group * group : (items + group - 1) / group * group;
    return (vta_gpu_shape){items > 0 ? items : group, group};
}

const vta_kernels_calls *vta_gpu(void)
{
    static const vta_kernels_calls calls = {.edition = VTA_KERNELS_EDITION,
                                            .open = run_open,
                                            .close = run_close,
                                            .uri = run_uri,
                                            .begin = run_begin,
                                            .step = run_step,
                                            .after = run_after,
                                            .finish = run_finish,
                                            .list = run_list};
    return &calls;
}
