/* SPDX-License-Identifier: Apache-2.0
 *
 * Times one compiled model: model_bench MODEL.so THREADS SECONDS prints the least and the median run, in
 * milliseconds of processor time (all threads) and of the clock. Processor time stands still while others
 * have the machine. Runs of less than BATCH_MS are timed some at a time: what one takes of both clocks is a
 * few times what reading them takes, and the system's correction of processor time comes in steps of
 * microseconds.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vta/model.h"

enum { MAX_SAMPLES = 10000, MIN_SAMPLES = 5, MAX_BATCH = 1000 };
#define BATCH_MS 0.25

static double now(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Numbers between -1 and 1, or any bytes. */
static void fill(vta_model *m)
{
    for (uint32_t i = 0; i < vta_model_input_count(m); i++) {
        const vta_tensor_info info = vta_model_input(m, i);
        uint8_t *data = vta_model_input_data(m, i);
        uint32_t state = 1;
        for (size_t k = 0; k < info.bytes; k += 4) {
            state = state * 1664525U + 1013904223U;
            const float number = (float)(int32_t)state * 0x1p-31F;
            const bool is_float = info.dtype_code == 2 && info.dtype_bits == 32;
            const size_t size = info.bytes - k < 4 ? info.bytes - k : 4;
            memcpy(data + k, is_float ? (const void *)&number : (const void *)&state, size);
        }
    }
}

static bool run_some(vta_model *m, int count, vta_diag *diag)
{
    for (int i = 0; i < count; i++) {
        if (vta_model_run(m, diag) != VTA_OK) {
            (void)fprintf(stderr, "model_bench: %s\n", diag->text);
            return false;
        }
    }
    return true;
}

/* The number of runs that are timed together. */
static int batch_of(double ms)
{
    const double batch = BATCH_MS / (ms > 1e-6 ? ms : 1e-6);
    return batch < 1.0 ? 1 : batch > MAX_BATCH ? MAX_BATCH : (int)batch;
}

static int measure(vta_model *m, double seconds)
{
    static double cpu[MAX_SAMPLES];
    static double wall[MAX_SAMPLES];
    vta_diag diag = {0};
    if (!run_some(m, 2, &diag)) { /* the first ones meet cold caches */
        return 1;
    }
    const double begin = now(CLOCK_MONOTONIC);
    if (!run_some(m, 1, &diag)) {
        return 1;
    }
    const int batch = batch_of(now(CLOCK_MONOTONIC) - begin);
    int count = 0;
    while (count < MIN_SAMPLES || (count < MAX_SAMPLES && now(CLOCK_MONOTONIC) - begin < 1e3 * seconds)) {
        const double c = now(CLOCK_PROCESS_CPUTIME_ID);
        const double w = now(CLOCK_MONOTONIC);
        if (!run_some(m, batch, &diag)) {
            return 1;
        }
        cpu[count] = (now(CLOCK_PROCESS_CPUTIME_ID) - c) / batch;
        wall[count++] = (now(CLOCK_MONOTONIC) - w) / batch;
    }
    qsort(cpu, (size_t)count, sizeof cpu[0], ascending);
    qsort(wall, (size_t)count, sizeof wall[0], ascending);
    (void)printf("%.5f %.5f %.5f %.5f\n", cpu[0], cpu[count / 2], wall[0], wall[count / 2]);
    return 0;
}

int main(int argc, char **argv)
{
    vta_diag diag = {0};
    vta_model *m = NULL;
    if (argc != 4) {
        (void)fprintf(stderr, "usage: model_bench MODEL.so THREADS SECONDS\n");
        return 2;
    }
    const vta_model_options options = {.threads = (uint32_t)strtoul(argv[2], NULL, 10)};
    if (vta_model_load(argv[1], &options, &m, &diag) != VTA_OK) {
        (void)fprintf(stderr, "model_bench: %s\n", diag.text);
        return 1;
    }
    fill(m);
    const int status = measure(m, strtod(argv[3], NULL));
    vta_model_destroy(m);
    return status;
}
