/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory runs out at each allocation in turn, the library's and those of what it calls: every call fails with
 * a sentence or does what it should, nothing crashes, nothing is lost, and the next attempt works. Arguments:
 * DEVICE MODEL
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vta/model.h>
#include <vta/runtime.h>

/* ---- an allocator that fails when it is told to */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *memory);

static atomic_long countdown; /* 0: no failure; n: the n-th allocation from now fails */
static atomic_long failures, live;
static bool all_after; /* those that follow, too */

static bool fails(void)
{
    long left = atomic_load(&countdown);
    if (left == 0) {
        return false;
    }
    if (left > 1) {
        return atomic_fetch_sub(&countdown, 1) == 1;
    }
    if (!all_after) {
        atomic_store(&countdown, 0);
    }
    atomic_fetch_add(&failures, 1);
    errno = ENOMEM;
    return true;
}

static void *counted(void *memory)
{
    atomic_fetch_add(&live, memory != NULL);
    return memory;
}

void *malloc(size_t size)
{
    return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *memory, size_t size)
{
    if (fails()) {
        return NULL;
    }
    return memory == NULL ? counted(__libc_malloc(size)) : __libc_realloc(memory, size);
}

void *memalign(size_t align, size_t size)
{
    return fails() ? NULL : counted(__libc_memalign(align, size));
}

void *aligned_alloc(size_t align, size_t size)
{
    return memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    *out = memalign(align, size);
    return *out != NULL ? 0 : ENOMEM;
}

void free(void *memory)
{
    atomic_fetch_sub(&live, memory != NULL);
    __libc_free(memory);
}

/* ---- what is attempted */

enum { MAX_OUTPUT = 4096, LANES = 64 };

static void die(const char *what, const vta_diag *diag, long number)
{
    (void)fprintf(stderr, "starve: allocation %ld: %s (%s)\n", number, what, diag->text);
    _Exit(1);
}

/* A failure says why. */
static bool good(vta_status status, const vta_diag *diag, long number)
{
    if (status != VTA_OK && (diag->code != status || diag->text[0] == '\0')) {
        die("a failure without a sentence", diag, number);
    }
    return status == VTA_OK;
}

static bool run_model(vta_model *model, long number, unsigned char *out)
{
    vta_diag diag = {0};
    float *x = vta_model_input_data(model, 0);
    const size_t bytes = vta_model_output(model, 0).bytes;
    for (size_t i = 0; i < vta_model_input(model, 0).bytes / sizeof *x; i++) {
        x[i] = (float)(i * 7 % 31) / 31;
    }
    const vta_step_profile *steps;
    uint32_t count;
    return good(vta_model_run(model, &diag), &diag, number) &&
           good(vta_model_profile(model, &steps, &count, &diag), &diag, number) &&
           good(vta_model_start(model, &diag), &diag, number) &&
           good(vta_model_wait(model, -1, &diag), &diag, number) &&
           good(vta_model_get_output(model, 0, out, bytes, &diag), &diag, number);
}

/* y = max(x, 0), recorded and run. */
static bool run_stream(const char *uri, long number, unsigned char *out)
{
    vta_diag diag = {0};
    vta_device *device = (vta_device *)&diag;
    vta_stream *s = NULL;
    vta_code *code = NULL;
    vta_job *job = NULL;
    void *x = NULL, *y = NULL;
    bool whole = good(vta_device_open(uri, NULL, &device, &diag), &diag, number);
    if (!whole) {
        return device == NULL ? false : (die("*out is not NULL", &diag, number), false);
    }
    const vta_config *c = vta_device_config(device);
    whole = good(vta_stream_create(c, &s, &diag), &diag, number);
    if (whole) {
        const uint64_t bytes = (uint64_t)c->elem_bytes[VTA_MEM_OUT] * LANES;
        const vta_buffer a = vta_stream_buffer(s, "x", bytes), b = vta_stream_buffer(s, "y", bytes);
        const vta_kernel tile = vta_stream_kernel(s, &(vta_uop){0}, 1);
        vta_stream_load2d(s,
                          &(vta_load2d){.memory = VTA_MEM_ACC8, .buffer = a, .y_size = 1, .x_size = LANES});
        vta_stream_alu(s, &(vta_alu){.kernel = tile,
                                     .op = VTA_ALU_MAX,
                                     .use_imm = true,
                                     .iter_out = 1,
                                     .iter_in = LANES,
                                     .dst_in = 1,
                                     .src_in = 1});
        vta_stream_store2d(s, &(vta_store2d){.buffer = b, .y_size = 1, .x_size = LANES});
        whole = good(vta_stream_finish(s, &code, &diag), &diag, number) &&
                good(vta_job_create(code, device, &job, &diag), &diag, number) &&
                good(vta_job_memory(job, a, &x, &diag), &diag, number) &&
                good(vta_job_memory(job, b, &y, &diag), &diag, number);
        for (size_t i = 0; whole && i < LANES; i++) {
            ((signed char *)x)[i] = (signed char)(i - LANES / 2);
        }
        whole = whole && good(vta_job_run(job, NULL, 0, 0, NULL, &diag), &diag, number);
        if (whole) {
            memcpy(out, y, LANES);
        }
    }
    vta_job_destroy(job);
    vta_code_destroy(code);
    vta_stream_destroy(s);
    vta_device_close(device);
    return whole;
}

/* True if all of it succeeded. */
static bool attempt(const char *uri, const char *path, long number, unsigned char *out)
{
    vta_diag diag = {0};
    vta_model *model = (vta_model *)&diag;
    const vta_model_options options = {.size = sizeof options, .device = uri, .threads = 2};
    if (!good(vta_model_load(path, &options, &model, &diag), &diag, number)) {
        return model == NULL ? false : (die("*out is not NULL", &diag, number), false);
    }
    const bool whole = run_model(model, number, out);
    vta_model_destroy(model);
    return whole && run_stream(strncmp(uri, "pipe:", 5) == 0 ? "fsim" : uri, number, out + MAX_OUTPUT / 2);
}

static void starve(const char *uri, const char *path, const unsigned char *want, long step)
{
    unsigned char out[MAX_OUTPUT];
    const vta_diag none = {0};
    long number = 1, failed = 0, lost = 0;
    for (bool reached = true; reached; number += step) {
        const long before = atomic_load(&live);
        memset(out, 0, sizeof out);
        atomic_store(&failures, 0);
        atomic_store(&countdown, number);
        const bool whole = attempt(uri, path, number, out);
        atomic_store(&countdown, 0);
        reached = atomic_load(&failures) > 0;
        failed += !whole;
        lost += atomic_load(&live) - before;
        if (whole ? memcmp(out, want, sizeof out) != 0 : !reached) {
            die(whole ? "another result" : "a failure where nothing was missing", &none, number);
        }
    }
    (void)printf("starve: %s, %s: %ld allocations, %ld attempts failed, %ld blocks kept\n", uri,
                 all_after ? "none from then on" : "one missing", number - 1, failed, lost);
    (void)fflush(stdout);
    if (failed < 20 ||
        lost > 16) { /* the loader and the threads of the C library keep a few for themselves */
        die("too few failures, or memory lost", &none, 0);
    }
}

int main(int argc, char **argv)
{
    unsigned char want[MAX_OUTPUT] = {0}, again[MAX_OUTPUT] = {0};
    const vta_diag none = {0};
    if (argc != 4) {
        return 2;
    }
    for (int i = 0; i < 2; i++) {
        if (!attempt(argv[1], argv[2], 0, i == 0 ? want : again)) {
            die("it does not work at all", &none, 0);
        }
    }
    if (memcmp(want, again, sizeof want) != 0) {
        die("two results", &none, 0);
    }
    for (int i = 0; i < 2; i++) {
        all_after = i > 0;
        starve(argv[1], argv[2], want, atol(argv[3]));
    }
    return 0;
}
