/* SPDX-License-Identifier: Apache-2.0
 *
 * The device fsim where there are no threads: a run is over before submit returns.
 */
#include <stdlib.h>

#include "backend.h"
#include "vta/dram.h"
#include "vta/fsim.h"

typedef struct fsim_options {
    bool strict;
} fsim_options;

static const vta_option options[] = {
    {"strict", VTA_OPTION_BOOL, offsetof(fsim_options, strict), 1,
     "1: trap reads of unwritten entries, and deadlock"},
};

typedef struct fsim_device {
    vta_dram *dram;
    vta_fsim *fsim;
    vta_report report;
} fsim_device;

static vta_status fsim_submit(void *self, const vta_launch *launch, vta_diag *diag)
{
    fsim_device *device = self;
    device->report = (vta_report){0};
    return vta_fsim_run(device->fsim, launch, &device->report, diag);
}

static vta_status fsim_wait(void *self, double timeout_s, vta_report *report, vta_diag *diag)
{
    const fsim_device *device = self;
    (void)timeout_s;
    (void)diag;
    *report = device->report;
    return VTA_OK;
}

static vta_status fsim_reset(void *self, vta_diag *diag)
{
    (void)self;
    (void)diag;
    return VTA_OK;
}

static vta_status fsim_alloc(void *self, uint64_t at, size_t size, vta_mem *out, vta_diag *diag)
{
    return vta_simulated_alloc(((fsim_device *)self)->dram, at, size, out, diag);
}

static void fsim_free(void *self, const vta_mem *mem)
{
    vta_dram_free(((fsim_device *)self)->dram, mem->addr);
}

static vta_bus fsim_bus(void *self)
{
    return vta_dram_bus(((fsim_device *)self)->dram);
}

static void fsim_close(void *self)
{
    fsim_device *device = self;
    vta_fsim_destroy(device->fsim);
    vta_dram_destroy(device->dram);
    free(device);
}

static const vta_backend_ops ops = {
    .close = fsim_close,
    .alloc = fsim_alloc,
    .free = fsim_free,
    .bus = fsim_bus,
    .submit = fsim_submit,
    .wait = fsim_wait,
    .reset = fsim_reset,
};

static vta_status start_parts(fsim_device *device, const vta_opening *opening, vta_diag *diag)
{
    const fsim_options *set = opening->options;
    VTA_TRY(vta_dram_create(&device->dram, diag));
    const vta_bus bus = vta_dram_bus(device->dram);
    return vta_fsim_create(&opening->config, &bus, set->strict, &device->fsim, diag);
}

static vta_status open_fsim(vta_opening *opening, vta_diag *diag)
{
    VTA_TRY(vta_place_config(opening, &opening->config, diag));
    fsim_device *device = calloc(1, sizeof *device);
    if (device == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for device '%s'", opening->scheme);
    }
    const vta_status status = start_parts(device, opening, diag);
    if (status != VTA_OK) {
        fsim_close(device);
        return status;
    }
    opening->ops = &ops;
    opening->self = device;
    return VTA_OK;
}

const vta_backend_kind vta_fsim_kind = {
    .simulator = true,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(fsim_options),
    .open = open_fsim,
};
