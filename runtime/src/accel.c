/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything about a launch that can be done once is done when the model is loaded; a run is cache
 * maintenance, a start and a wait.
 */
#include "accel.h"

#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "vta/fail.h"

enum { CONSTANTS, WORK, BUFFERS }; /* of every region's program */

typedef struct launch {
    vta_code *code; /* NULL: a host step */
    vta_job *job;
    uint64_t addrs[BUFFERS];
} launch;

struct vta_accel {
    const vta_artifact *artifact;
    vta_device *device;
    bool shared; /* somebody else's */
    vta_mem constants, work;
    launch *launches; /* by step */
};

/* ---- checks */

static bool inside(uint64_t offset, uint64_t bytes, uint64_t size)
{
    return bytes <= size && offset <= size - bytes && offset % VTA_BASE_ALIGN == 0;
}

static vta_status damaged(const vta_artifact_step *step, vta_diag *diag)
{
    return vta_fail(diag, VTA_SYNTAX, "the accelerator program of step '%s' is damaged", step->name);
}

vta_status vta_accel_check_step(const vta_artifact *a, const vta_artifact_step *step, vta_diag *diag)
{
    const vta_artifact_region *r = step->region;
    const bool good = r != NULL && r->program != NULL && a->config_json != NULL &&
                      inside(r->constant_offset, r->constant_bytes, a->device_constant_bytes) &&
                      inside(r->work_offset, r->work_bytes, a->device_work_bytes) &&
                      r->input_count <= step->buffer_count && (r->layer_count == 0 || r->layers != NULL);
    for (uint32_t i = 0; good && i < step->buffer_count; i++) {
        if (step->buffers[i].space != VTA_SPACE_DEVICE) {
            return vta_fail(diag, VTA_SYNTAX, "buffer %u of step '%s' is not in device memory", i,
                            step->name);
        }
    }
    return good ? VTA_OK : damaged(step, diag);
}

/* ---- setting up */

vta_code_taker *vta_accel_taker;

static vta_status read_code(const vta_artifact_step *step, launch *out, vta_diag *diag)
{
    vta_program program;
    VTA_TRY(vta_program_read(step->region->program, (size_t)step->region->program_bytes, step->name, &program,
                             diag));
    const vta_status status = vta_code_from_program(&program, &out->code, diag);
    vta_program_free(&program);
    VTA_TRY(status);
    vta_code_info info;
    vta_code_describe(out->code, &info);
    const uint64_t room[BUFFERS] = {step->region->constant_bytes, step->region->work_bytes};
    for (uint32_t i = 0; i < info.buffer_count; i++) {
        vta_buffer_info buffer;
        VTA_TRY(vta_code_buffer(out->code, (vta_buffer){i}, &buffer, diag));
        if (info.buffer_count != BUFFERS || buffer.size > room[i]) {
            return damaged(step, diag);
        }
    }
    return VTA_OK;
}

static vta_status prepare(vta_accel *accel, uint32_t i, vta_diag *diag)
{
    const vta_artifact_step *step = &accel->artifact->steps[i];
    launch *l = &accel->launches[i];
    if (step->kind != VTA_STEP_ACCELERATOR) {
        return VTA_OK;
    }
    VTA_TRY(vta_accel_taker != NULL ? vta_accel_taker(step, vta_device_config(accel->device), &l->code, diag)
                                    : read_code(step, l, diag));
    l->addrs[CONSTANTS] = accel->constants.addr + step->region->constant_offset;
    l->addrs[WORK] = accel->work.addr + step->region->work_offset;
    VTA_TRY(vta_job_create(l->code, accel->device, &l->job, diag));
    return vta_accel_taker != NULL ? VTA_OK : vta_job_keep(l->job, UINT32_C(1) << CONSTANTS, diag);
}

/* At least a byte, so that an address exists. */
static vta_status allocate(vta_accel *accel, uint64_t bytes, vta_mem *out, vta_diag *diag)
{
    const size_t size = bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX; /* which no device has */
    return vta_device_alloc(accel->device, size > 0 ? size : VTA_BASE_ALIGN, out, diag);
}

static vta_status open_device(vta_accel *accel, const vta_model_options *options, vta_diag *diag)
{
    const vta_artifact *a = accel->artifact;
    vta_config config;
    VTA_TRY(vta_config_parse(a->config_json, "its accelerator configuration", &config, diag));
    if (config.hash != a->config_hash) {
        return vta_fail(diag, VTA_SYNTAX, "its accelerator configuration is damaged (checksum differs)");
    }
    accel->device = options->shared;
    accel->shared = options->shared != NULL;
    return accel->shared ? VTA_OK
                         : vta_device_open_progress(options->device != NULL ? options->device : "fsim",
                                                    &config, options->progress, &accel->device, diag);
}

static vta_status place(vta_accel *accel, vta_diag *diag)
{
    const vta_artifact *a = accel->artifact;
    VTA_TRY(allocate(accel, a->device_constant_bytes, &accel->constants, diag));
    VTA_TRY(allocate(accel, a->device_work_bytes, &accel->work, diag));
    if (a->device_constant_bytes > 0) {
        memcpy(accel->constants.host, a->device_constants, (size_t)a->device_constant_bytes);
    }
    vta_device_flush(accel->device, &accel->constants, 0, accel->constants.size);
    vta_device_flush(accel->device, &accel->work, 0, accel->work.size);
    for (uint32_t i = 0; i < a->step_count; i++) {
        VTA_TRY(prepare(accel, i, diag));
    }
    return VTA_OK;
}

static vta_status set_up(vta_accel *accel, const vta_model_options *options, vta_diag *diag)
{
    VTA_TRY(open_device(accel, options, diag));
    VTA_TRY(vta_device_take(accel->device, options->priority, diag));
    const vta_status status = place(accel, diag);
    vta_device_give(accel->device);
    return status;
}

vta_status vta_accel_open(const vta_artifact *artifact, const vta_model_options *options, vta_accel **out,
                          vta_diag *diag)
{
    *out = NULL;
    vta_accel *accel = calloc(1, sizeof *accel);
    launch *launches = calloc((size_t)artifact->step_count + 1, sizeof *launches);
    if (accel == NULL || launches == NULL) {
        free(accel);
        free(launches);
        return vta_no_memory(diag);
    }
    accel->artifact = artifact;
    accel->launches = launches;
    const vta_status status = set_up(accel, options, diag);
    if (status != VTA_OK) {
        vta_accel_close(accel);
        return status;
    }
    *out = accel;
    return VTA_OK;
}

void vta_accel_close(vta_accel *accel)
{
    if (accel == NULL) {
        return;
    }
    if (accel->device != NULL) {
        (void)vta_device_take(accel->device, 0, NULL);
    }
    for (uint32_t i = 0; i < accel->artifact->step_count; i++) {
        vta_job_destroy(accel->launches[i].job);
        vta_code_destroy(accel->launches[i].code);
    }
    if (accel->device != NULL) {
        vta_device_free(accel->device, &accel->constants);
        vta_device_free(accel->device, &accel->work);
        vta_device_give(accel->device);
    }
    if (!accel->shared) {
        vta_device_close(accel->device);
    }
    free(accel->launches);
    free(accel);
}

/* ---- running */

vta_device *vta_accel_device(const vta_accel *accel)
{
    return accel->device;
}

uint8_t *vta_accel_work(const vta_accel *accel)
{
    return accel->work.host;
}

const vta_code *vta_accel_code(const vta_accel *accel, uint32_t step)
{
    return accel->launches[step].code;
}

vta_status vta_accel_run(vta_accel *accel, uint32_t i, double timeout_s, vta_report *report, vta_diag *diag)
{
    const vta_artifact_step *step = &accel->artifact->steps[i];
    const launch *l = &accel->launches[i];
    for (uint32_t k = 0; k < step->region->input_count; k++) {
        const vta_artifact_buffer *in = &step->buffers[k];
        vta_device_flush(accel->device, &accel->work, (size_t)in->offset, (size_t)in->bytes);
    }
    VTA_TRY(vta_job_run(l->job, l->addrs, BUFFERS, timeout_s, report, diag));
    for (uint32_t k = step->region->input_count; k < step->buffer_count; k++) {
        const vta_artifact_buffer *out = &step->buffers[k];
        vta_device_invalidate(accel->device, &accel->work, (size_t)out->offset, (size_t)out->bytes);
    }
    return VTA_OK;
}
