/* SPDX-License-Identifier: Apache-2.0
 *
 * counted MODEL.so URI [WARM], or `counted - URI` for a program that does nothing: some runs on the device,
 * for who counts instructions (a9.py, grid_counted.py): WARM of them (3), and one that counts. A call of
 * getppid(), which nothing else makes, stands before and behind the one that counts. Prints the bytes of the
 * model's inputs and of the memory for which that run had the caches synced.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vta/model.h"
#include "vta/runtime.h"

enum { WARM = 3 };
static const double patience_s = 60;

typedef struct runner {
    vta_model *model;
    vta_device *device;
    vta_code *code;
    vta_job *job;
} runner;

static size_t synced;

/* The driver's own calls come here: a request to sync is "0x", the offset's eight digits, eight of the size
 * with the way in its low bits. */
ssize_t write(int fd, const void *bytes, size_t size)
{
    enum { REQUEST = 19, SIZE_AT = 10, LINE = 64 };
    if (size == REQUEST && memcmp(bytes, "0x", 2) == 0) {
        synced += strtoul((const char *)bytes + SIZE_AT, NULL, 16) / LINE * LINE;
    }
    return syscall(SYS_write, fd, bytes, size);
}

static size_t input_bytes(const vta_model *model)
{
    size_t sum = 0;
    for (uint32_t i = 0; model != NULL && i < vta_model_input_count(model); i++) {
        sum += vta_model_input(model, i).bytes;
    }
    return sum;
}

static vta_status open_empty(const char *uri, runner *r, vta_diag *diag)
{
    vta_stream *stream;
    VTA_TRY(vta_device_open(uri, NULL, &r->device, diag));
    VTA_TRY(vta_stream_create(vta_device_config(r->device), &stream, diag));
    const vta_status status = vta_stream_finish(stream, &r->code, diag);
    vta_stream_destroy(stream);
    VTA_TRY(status);
    return vta_job_create(r->code, r->device, &r->job, diag);
}

static vta_status open_model(const char *path, const char *uri, runner *r, vta_diag *diag)
{
    const vta_model_options options = {.device = uri, .threads = 1};
    return vta_model_load(path, &options, &r->model, diag);
}

static vta_status run(const runner *r, vta_diag *diag)
{
    vta_report report = {0};
    return r->model != NULL ? vta_model_run(r->model, diag)
                            : vta_job_run(r->job, NULL, 0, patience_s, &report, diag);
}

static vta_status run_all(const runner *r, long warm, vta_diag *diag)
{
    for (long i = 0; i < warm; i++) {
        VTA_TRY(run(r, diag));
    }
    synced = 0;
    (void)getppid();
    const vta_status status = run(r, diag);
    (void)getppid();
    (void)printf("%zu %zu\n", input_bytes(r->model), synced);
    return status;
}

int main(int argc, char **argv)
{
    vta_diag diag = {0};
    runner r = {0};
    if (argc < 3 || argc > 4) {
        return 2;
    }
    vta_status status =
        strcmp(argv[1], "-") == 0 ? open_empty(argv[2], &r, &diag) : open_model(argv[1], argv[2], &r, &diag);
    status = status == VTA_OK ? run_all(&r, argc > 3 ? strtol(argv[3], NULL, 10) : WARM, &diag) : status;
    vta_job_destroy(r.job);
    vta_code_destroy(r.code);
    vta_device_close(r.device);
    vta_model_destroy(r.model);
    if (status != VTA_OK) {
        (void)fprintf(stderr, "counted: %s\n", diag.text);
    }
    return status != VTA_OK;
}
