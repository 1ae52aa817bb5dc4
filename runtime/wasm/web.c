/* SPDX-License-Identifier: Apache-2.0
 *
 * What a compiled model exports as a WebAssembly module: vta.mjs says the same as objects. One model, the one
 * that is linked in. What is returned as an address stays until the next call of the same function.
 */
#include <stdlib.h>
#include <string.h>

#include "vta/artifact.h"
#include "vta/file.h"
#include "vta/kernels.h"
#include "vta/model.h"

#define EXPORT(name) __attribute__((export_name(#name), visibility("default")))

extern const vta_artifact vta_model_artifact;

static vta_model *model;
static uint8_t *workspace; /* of steps that stay on the host between kernels */
static vta_diag diag;

/* The sentence of the last status that was not 0. */
EXPORT(vta_web_error) const char *vta_web_error(void);
const char *vta_web_error(void)
{
    return diag.text;
}

EXPORT(vta_web_status) const char *vta_web_status(int status);
const char *vta_web_status(int status)
{
    return vta_status_text((vta_status)status);
}

EXPORT(vta_web_version) const char *vta_web_version(void);
const char *vta_web_version(void)
{
    return vta_version();
}

EXPORT(vta_web_take) void *vta_web_take(size_t bytes);
void *vta_web_take(size_t bytes)
{
    return malloc(bytes);
}

EXPORT(vta_web_give) void vta_web_give(void *memory);
void vta_web_give(void *memory)
{
    free(memory);
}

static int result(vta_status status)
{
    if (status != VTA_OK && diag.code == VTA_OK) {
        (void)vta_fail(&diag, status, "%s", vta_status_text(status));
    }
    return (int)status;
}

EXPORT(vta_web_open) int vta_web_open(const char *device);
int vta_web_open(const char *device)
{
    const vta_model_options options = {.size = sizeof options, .device = device};
    diag = (vta_diag){0};
    return result(vta_model_open(&vta_model_artifact, &options, &model, &diag));
}

EXPORT(vta_web_close) void vta_web_close(void);
void vta_web_close(void)
{
    vta_model_destroy(model);
    model = NULL;
    free(workspace);
    workspace = NULL;
}

EXPORT(vta_web_name) const char *vta_web_name(void);
const char *vta_web_name(void)
{
    return vta_model_name(model);
}

EXPORT(vta_web_device) const char *vta_web_device(void);
const char *vta_web_device(void)
{
    return vta_model_device_uri(model);
}

EXPORT(vta_web_count) uint32_t vta_web_count(int outputs);
uint32_t vta_web_count(int outputs)
{
    return outputs ? vta_model_output_count(model) : vta_model_input_count(model);
}

/* Words of 32 bits: name, DLPack's code, bits, bytes, where it lies, rank, dimensions. */
EXPORT(vta_web_tensor) const uint32_t *vta_web_tensor(int outputs, uint32_t index);
const uint32_t *vta_web_tensor(int outputs, uint32_t index)
{
    static uint32_t words[6 + VTA_ARTIFACT_MAX_RANK];
    const vta_tensor_info info = outputs ? vta_model_output(model, index) : vta_model_input(model, index);
    const void *data = outputs ? vta_model_output_data(model, index) : vta_model_input_data(model, index);
    const uint32_t head[] = {(uint32_t)(uintptr_t)info.name, info.dtype_code,           info.dtype_bits,
                             (uint32_t)info.bytes,           (uint32_t)(uintptr_t)data, info.rank};
    memcpy(words, head, sizeof head);
    for (uint32_t i = 0; i < info.rank; i++) {
        words[6 + i] = (uint32_t)info.dim[i];
    }
    return words;
}

EXPORT(vta_web_run) int vta_web_run(int profiled);
int vta_web_run(int profiled)
{
    const vta_step_profile *steps;
    uint32_t count;
    diag = (vta_diag){0};
    return result(profiled ? vta_model_profile(model, &steps, &count, &diag) : vta_model_run(model, &diag));
}

/* ---- states, which the next run takes from where the last one put them */

EXPORT(vta_web_states) uint32_t vta_web_states(void);
uint32_t vta_web_states(void)
{
    uint32_t count;
    (void)vta_model_states(model, &count);
    return count;
}

/* Words of 32 bits: an input, an output. */
EXPORT(vta_web_state) const uint32_t *vta_web_state(uint32_t index);
const uint32_t *vta_web_state(uint32_t index)
{
    uint32_t count;
    return &vta_model_states(model, &count)[index].input;
}

/* The output of a state becomes its input's memory. */
EXPORT(vta_web_join) int vta_web_join(uint32_t index);
int vta_web_join(uint32_t index)
{
    uint32_t count;
    const vta_state *state = &vta_model_states(model, &count)[index];
    const vta_tensor_info info = vta_model_input(model, state->input);
    diag = (vta_diag){0};
    return result(vta_model_bind_output(model, state->output, vta_model_input_data(model, state->input),
                                        info.bytes, &diag));
}

EXPORT(vta_web_steps) uint32_t vta_web_steps(void);
uint32_t vta_web_steps(void)
{
    uint32_t count;
    (void)vta_model_steps(model, &count);
    return count;
}

/* Numbers of 64 bits: name, operator, whether on the accelerator, seconds, cycles, predicted, flops. */
EXPORT(vta_web_step) const double *vta_web_step(uint32_t index);
const double *vta_web_step(uint32_t index)
{
    static double row[7];
    uint32_t count;
    const vta_step_profile *step = &vta_model_steps(model, &count)[index];
    const double numbers[] = {
        (double)(uintptr_t)step->name, (double)(uintptr_t)step->op, step->on_accelerator, step->seconds,
        (double)step->cycles,          (double)step->predicted,     (double)step->flops};
    memcpy(row, numbers, sizeof row);
    return row;
}

/* ---- kernels for the browser's GPU, which vta.mjs launches. Rows of words of 32 bits. */

/* Language, prelude, kernels, steps, where the constants are and their bytes, bytes of the workspace; NULL:
 * the model has no kernels. */
EXPORT(vta_web_kernels) const uint32_t *vta_web_kernels(void);
const uint32_t *vta_web_kernels(void)
{
    static uint32_t words[7];
    const vta_artifact *a = &vta_model_artifact;
    const vta_artifact_kernels *table = vta_kernels_of(a);
    if (table == NULL) {
        return NULL;
    }
    const uint32_t row[] = {(uint32_t)(uintptr_t)table->language,
                            (uint32_t)(uintptr_t)table->prelude,
                            table->kernel_count,
                            table->step_count,
                            (uint32_t)(uintptr_t)a->constants,
                            (uint32_t)a->constant_bytes,
                            (uint32_t)a->workspace_bytes};
    memcpy(words, row, sizeof row);
    return words;
}

/* Name and text of a kernel. */
EXPORT(vta_web_kernel) const uint32_t *vta_web_kernel(uint32_t index);
const uint32_t *vta_web_kernel(uint32_t index)
{
    static uint32_t words[2];
    const vta_artifact_kernel *kernel = &vta_kernels_of(&vta_model_artifact)->kernels[index];
    words[0] = (uint32_t)(uintptr_t)kernel->name;
    words[1] = (uint32_t)(uintptr_t)kernel->source;
    return words;
}

/* Kernel (all bits set: none), items, reason, what is written, bytes of an item's scratch memory, buffers,
 * items of a group (0: any number); of each buffer: space, index, offset, bytes. */
EXPORT(vta_web_launch) const uint32_t *vta_web_launch(uint32_t step);
const uint32_t *vta_web_launch(uint32_t step)
{
    static uint32_t words[7 + 4 * VTA_KERNEL_MAX_BUFFERS];
    const vta_artifact_step *s = &vta_model_artifact.steps[step];
    const vta_artifact_launch *launch = &vta_kernels_of(&vta_model_artifact)->launches[step];
    const uint32_t count = s->buffer_count <= VTA_KERNEL_MAX_BUFFERS ? s->buffer_count : 0;
    const uint32_t head[] = {(uint32_t)launch->kernel,
                             (uint32_t)launch->items,
                             (uint32_t)(uintptr_t)launch->reason,
                             (uint32_t)(uintptr_t)launch->written,
                             (uint32_t)s->scratch_bytes,
                             s->buffer_count,
                             (uint32_t)launch->group};
    memcpy(words, head, sizeof head);
    for (uint32_t i = 0; i < count; i++) {
        const vta_artifact_buffer *b = &s->buffers[i];
        const uint32_t row[] = {b->space, b->index, (uint32_t)b->offset, (uint32_t)b->bytes};
        memcpy(&words[7 + 4 * i], row, sizeof row);
    }
    return words;
}

/* The host's address of a buffer of a step; NULL: out of memory. */
EXPORT(vta_web_place) void *vta_web_place(uint32_t step, uint32_t buffer);
void *vta_web_place(uint32_t step, uint32_t buffer)
{
    const vta_artifact *a = &vta_model_artifact;
    const vta_artifact_buffer *b = &a->steps[step].buffers[buffer];
    union {
        const void *in;
        uint8_t *out;
    } start = {.in = NULL};
    switch (b->space) {
    case VTA_SPACE_CONSTANT: start.in = a->constants; break; /* kernels do not write there */
    case VTA_SPACE_INPUT: start.in = vta_model_input_data(model, b->index); break;
    case VTA_SPACE_OUTPUT: start.in = vta_model_output_data(model, b->index); break;
    default:
        if (workspace == NULL) {
            workspace = aligned_alloc(VTA_ARTIFACT_ALIGN, (size_t)a->workspace_bytes + VTA_ARTIFACT_ALIGN);
        }
        start.out = workspace;
        break;
    }
    return start.in != NULL ? start.out + b->offset : NULL;
}

/* Runs one step on the host, on the buffers where vta_web_place has them. */
EXPORT(vta_web_step_here) int vta_web_step_here(uint32_t step);
int vta_web_step_here(uint32_t step)
{
    const vta_artifact_step *s = &vta_model_artifact.steps[step];
    void **buffers = calloc((size_t)s->buffer_count + 1, sizeof *buffers);
    void *scratch = aligned_alloc(VTA_ARTIFACT_ALIGN, (size_t)s->scratch_bytes + VTA_ARTIFACT_ALIGN);
    bool there = buffers != NULL && scratch != NULL && s->kernel != NULL;
    diag = (vta_diag){0};
    for (uint32_t i = 0; there && i < s->buffer_count; i++) {
        buffers[i] = vta_web_place(step, i);
        there = buffers[i] != NULL;
    }
    if (there) {
        s->kernel(buffers, 0, s->extent, scratch);
    }
    free(buffers);
    free(scratch);
    return result(there ? VTA_OK : VTA_NOMEM);
}

/* There are no files to read or write: a configuration is one of those that the library ships. */
vta_status vta_file_read(const char *path, size_t limit, uint8_t **bytes, size_t *size, vta_diag *why)
{
    (void)limit;
    *bytes = NULL;
    *size = 0;
    return vta_fail(why, VTA_UNSUPPORTED, "cannot open '%s': a WebAssembly module has no files", path);
}

vta_status vta_file_write(const char *path, const void *bytes, size_t size, vta_diag *why)
{
    (void)bytes;
    (void)size;
    return vta_fail(why, VTA_UNSUPPORTED, "cannot write '%s': a WebAssembly module has no files", path);
}
