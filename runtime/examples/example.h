/* SPDX-License-Identifier: Apache-2.0
 *
 * What the examples share: open the device, record for its configuration, place the code there, run it, tell
 * the outcome.
 */
#ifndef VTA_EXAMPLE_H
#define VTA_EXAMPLE_H

#include <stdio.h>

#include "vta/runtime.h"

typedef vta_status example_record(const vta_config *config, vta_code **code, vta_diag *diag);

/* Gets the buffers, filled with bytes of all kinds; runs, and counts results and wrong ones. */
typedef struct example_result {
    size_t results, wrong;
} example_result;
typedef vta_status example_run(vta_job *job, const vta_config *config, void *const *host,
                               example_result *result, vta_diag *diag);

static vta_status example_fill(vta_job *job, const vta_code *code, void **host, vta_diag *diag)
{
    vta_code_info info;
    vta_buffer_info buffer;
    vta_code_describe(code, &info);
    static uint8_t none; /* where a buffer is not declared */
    for (uint32_t i = 0; i < VTA_STREAM_BUFFERS; i++) {
        host[i] = &none;
    }
    for (uint32_t i = 0; i < info.buffer_count; i++) {
        VTA_TRY(vta_code_buffer(code, (vta_buffer){i}, &buffer, diag));
        VTA_TRY(vta_job_memory(job, (vta_buffer){i}, &host[i], diag));
        for (uint32_t k = 0; k < buffer.size; k++) {
            ((uint8_t *)host[i])[k] = (uint8_t)(k * (37 + 22 * i) + k / 11);
        }
    }
    return VTA_OK;
}

static int example_main(int argc, char **argv, example_record *record, example_run *run)
{
    vta_diag diag = {0};
    vta_device *device = NULL;
    vta_code *code = NULL;
    vta_job *job = NULL;
    void *host[VTA_STREAM_BUFFERS] = {0};
    example_result result = {0};
    if (vta_device_open(argc > 1 ? argv[1] : "fsim", NULL, &device, &diag) == VTA_OK &&
        record(vta_device_config(device), &code, &diag) == VTA_OK &&
        vta_job_create(code, device, &job, &diag) == VTA_OK &&
        example_fill(job, code, host, &diag) == VTA_OK &&
        run(job, vta_device_config(device), host, &result, &diag) == VTA_OK) {
        (void)printf("%s: %zu results, %zu wrong\n", argv[0], result.results, result.wrong);
    } else {
        (void)fprintf(stderr, "%s: %s\n", argv[0], diag.text);
    }
    vta_job_destroy(job);
    vta_code_destroy(code);
    vta_device_close(device);
    return diag.code != VTA_OK || result.wrong > 0 || result.results == 0;
}

#endif
