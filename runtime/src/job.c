/* SPDX-License-Identifier: Apache-2.0
 *
 * Code on a device. What does not change from run to run is copied once; a run writes eight bases.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "vta/again.h"
#include "vta/keep.h"

struct vta_job {
    const vta_code *code;
    vta_device *device;
    vta_mem insns, uops;
    vta_mem again; /* the instructions of a run behind another one; size 0: there are none */
    vta_mem own[VTA_STREAM_BUFFERS]; /* size 0: not asked for */
    bool owned[VTA_STREAM_BUFFERS];  /* bound to `own` by the run in progress */
};

static vta_status upload(vta_device *device, const void *data, size_t size, vta_mem *mem, vta_diag *diag)
{
    VTA_TRY(vta_device_alloc(device, size, mem, diag));
    memcpy(mem->host, data, size);
    vta_device_flush(device, mem, 0, size);
    return VTA_OK;
}

static vta_status place(vta_job *job, vta_diag *diag)
{
    const vta_code *code = job->code;
    const vta_config *have = vta_device_config(job->device);
    if (have->hash != code->info.config.hash) {
        char fields[512];
        (void)vta_config_diff(&code->info.config, have, fields, sizeof fields);
        return vta_fail(
            diag, VTA_CONFIG_MISMATCH,
            "the code was recorded for configuration '%s', but device '%s' differs in %s; record it for '%s'",
            code->info.config.name, vta_device_uri(job->device), fields, have->name);
    }
    VTA_TRY(upload(job->device, code->insns, code->info.insn_count * sizeof *code->insns, &job->insns, diag));
    if (code->info.uop_count > 0) {
        VTA_TRY(upload(job->device, code->uops, code->info.uop_count * sizeof *code->uops, &job->uops, diag));
    }
    return VTA_OK;
}

vta_status vta_job_create(const vta_code *code, vta_device *device, vta_job **out, vta_diag *diag)
{
    *out = NULL;
    vta_job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for a job");
    }
    job->code = code;
    job->device = device;
    const vta_status status = place(job, diag);
    if (status != VTA_OK) {
        vta_job_destroy(job);
        return status;
    }
    *out = job;
    return VTA_OK;
}

vta_status vta_job_keep(vta_job *job, uint32_t constants, vta_diag *diag)
{
    const size_t size = job->code->info.insn_count * sizeof(vta_word);
    vta_word *insns = malloc(size);
    uint32_t kept = 0;
    vta_status status =
        insns != NULL ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory for a job's second program");
    if (status == VTA_OK) {
        status = vta_code_again(job->code, constants, insns, &kept, diag);
    }
    if (status == VTA_OK && kept > 0) {
        status = upload(job->device, insns, size, &job->again, diag);
    }
    free(insns);
    return status;
}

void vta_job_destroy(vta_job *job)
{
    if (job != NULL) {
        vta_device_free(job->device, &job->insns);
        vta_device_free(job->device, &job->uops);
        vta_device_free(job->device, &job->again);
        for (uint32_t i = 0; i < VTA_STREAM_BUFFERS; i++) {
            vta_device_free(job->device, &job->own[i]);
        }
        free(job);
    }
}

static vta_status check_addr(const vta_job *job, uint32_t index, const uint64_t *addrs, vta_diag *diag)
{
    const struct code_buffer *buffer = &job->code->buffers[index];
    const uint64_t addr = addrs[index];
    const vta_bus bus = vta_device_bus(job->device);
    if (addr % VTA_BASE_ALIGN != 0) {
        return vta_fail(diag, VTA_INVALID, "buffer '%s': address 0x%" PRIx64 " is not a multiple of %d",
                        buffer->name, addr, VTA_BASE_ALIGN);
    }
    if (bus.map(bus.context, addr, buffer->size) == NULL) {
        return vta_fail(diag, VTA_RANGE,
                        "buffer '%s': %" PRIu64 " bytes at address 0x%" PRIx64
                        " are not in the memory of device '%s'",
                        buffer->name, buffer->size, addr, vta_device_uri(job->device));
    }
    for (uint32_t i = 0; i < index; i++) {
        const struct code_buffer *other = &job->code->buffers[i];
        const bool apart = addr >= addrs[i] + other->size || addrs[i] >= addr + buffer->size;
        if (!apart && (buffer->stored || other->stored)) {
            return vta_fail(
                diag, VTA_INVALID,
                "buffers '%s' and '%s' overlap, and the code stores to one; bind them to different memory",
                other->name, buffer->name);
        }
    }
    return VTA_OK;
}

vta_status vta_job_memory(vta_job *job, vta_buffer buffer, void **host, vta_diag *diag)
{
    vta_buffer_info info;
    *host = NULL;
    VTA_TRY(vta_code_buffer(job->code, buffer, &info, diag));
    vta_mem *own = &job->own[buffer.index];
    if (own->host == NULL) {
        if (info.size > SIZE_MAX) {
            return vta_fail(diag, VTA_NOMEM, "buffer '%s' of %" PRIu64 " bytes is too large", info.name,
                            info.size);
        }
        VTA_TRY(vta_device_alloc(job->device, (size_t)info.size, own, diag));
    }
    *host = own->host;
    return VTA_OK;
}

/* Binds buffer `index` to its address in a run; addr 0: to the job's own memory. */
static vta_status bind_one(vta_job *job, uint32_t index, uint64_t addr, uint64_t *bound, vta_diag *diag)
{
    void *host;
    job->owned[index] = addr == 0;
    if (addr != 0) {
        bound[index] = addr;
        return check_addr(job, index, bound, diag);
    }
    VTA_TRY(vta_job_memory(job, (vta_buffer){index}, &host, diag));
    bound[index] = job->own[index].addr;
    /* Bytes that the device loads must have left the caches. Bytes that the device stores may not leave the
     * caches later: a line that the host wrote would fall over the results. */
    if (job->code->buffers[index].loaded || job->code->buffers[index].stored) {
        vta_device_flush(job->device, &job->own[index], 0, job->own[index].size);
    }
    return check_addr(job, index, bound, diag);
}

vta_status vta_job_start(vta_job *job, const uint64_t *addrs, uint32_t count, vta_diag *diag)
{
    vta_launch launch = {.insn_addr = job->insns.addr, .insn_count = job->code->info.insn_count};
    const uint32_t buffers = job->code->info.buffer_count;
    if (count != (addrs != NULL ? buffers : 0)) {
        return vta_fail(diag, VTA_INVALID,
                        "%" PRIu32 " addresses given, but the code has %" PRIu32 " buffers", count, buffers);
    }
    for (uint32_t i = 0; i < buffers; i++) {
        VTA_TRY(bind_one(job, i, addrs != NULL ? addrs[i] : 0, launch.base, diag));
    }
    launch.base[UOP_SEGMENT] = job->uops.addr;
    return vta_device_submit_again(job->device, &launch, job->again.addr, diag);
}

vta_status vta_job_wait(vta_job *job, double timeout_s, vta_report *report, vta_diag *diag)
{
    VTA_TRY(vta_device_wait(job->device, timeout_s, report, diag));
    for (uint32_t i = 0; i < job->code->info.buffer_count; i++) {
        if (job->owned[i] && job->code->buffers[i].stored) {
            vta_device_invalidate(job->device, &job->own[i], 0, job->own[i].size);
        }
    }
    return vta_device_trouble(job->device, diag);
}

vta_status vta_job_run(vta_job *job, const uint64_t *addrs, uint32_t count, double timeout_s,
                       vta_report *report, vta_diag *diag)
{
    VTA_TRY(vta_job_start(job, addrs, count, diag));
    return vta_job_wait(job, timeout_s, report, diag);
}
