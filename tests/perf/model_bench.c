/* SPDX-License-Identifier: Apache-2.0
 *
 * Times one compiled model: model_bench MODEL.so THREADS SECONDS prints the least and the median run, in
 * milliseconds of processor time (all threads) and of the clock. Processor time stands still while others
 * have the machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vta/model.h"

enum { MOST_RUNS = 10000, LEAST_RUNS = 5 };

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

static int measure(vta_model *m, double seconds)
{
    static double cpu[MOST_RUNS];
    static double wall[MOST_RUNS];
    vta_diag diag = {0};
    const double begin = now(CLOCK_MONOTONIC);
    int runs = 0;
    for (int i = 0; i < 2; i++) { /* the first ones meet cold caches */
        (void)vta_model_run(m, &diag);
    }
    while (runs < LEAST_RUNS || (runs < MOST_RUNS && now(CLOCK_MONOTONIC) - begin < 1e3 * seconds)) {
        const double c = now(CLOCK_PROCESS_CPUTIME_ID);
        const double w = now(CLOCK_MONOTONIC);
        if (vta_model_run(m, &diag) != VTA_OK) {
            (void)fprintf(stderr, "model_bench: %s\n", diag.text);
            return 1;
        }
        cpu[runs] = now(CLOCK_PROCESS_CPUTIME_ID) - c;
        wall[runs++] = now(CLOCK_MONOTONIC) - w;
    }
    qsort(cpu, (size_t)runs, sizeof cpu[0], ascending);
    qsort(wall, (size_t)runs, sizeof wall[0], ascending);
    (void)printf("%.4f %.4f %.4f %.4f\n", cpu[0], cpu[runs / 2], wall[0], wall[runs / 2]);
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
