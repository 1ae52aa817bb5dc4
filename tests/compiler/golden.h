/* SPDX-License-Identifier: Apache-2.0
 *
 * Models with their reference outputs, and what may differ from these: the networks of the suite's own
 * (tests/own), and the shared ones where they are.
 */
#ifndef VTAC_TEST_GOLDEN_H
#define VTAC_TEST_GOLDEN_H

#include <glob.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vta/file.h"

/* Error allowed: of a float model relative to the reference's range; of a quantized one a step of the output.
 * The references of published models in QDQ form were computed in float32 between the quantizations, so that
 * a number within a rounding error of two integers' middle may fall to the other side. */
typedef struct golden_model {
    char name[64];
    double relative, step;
    const char *folder;
} golden_model;

/* Models of the shared folder, which has no list of limits. */
static const golden_model golden_shared[] = {
    {"mlperf_ic_resnet8_fp32", 1e-4, 0, NULL},
    {"mlperf_ic_resnet8_int8_qdq", 0, 1.0 / 256, NULL},
    {"mlperf_kws_dscnn_fp32", 1e-4, 0, NULL},
    {"mlperf_kws_dscnn_int8_qdq", 0, 1.0 / 256, NULL},
    {"resnet20_cifar10_fp32_bn", 1e-4, 0, NULL},
    {"squeezenet1.1_fp32_from_fp16", 1e-4, 0, NULL},
    {"mobilenetv2-12_dequant_fp32", 1e-4, 0, NULL},
    {"mobilenetv2-12-int8", 0, 0.16014385, NULL},
    {"coral_tf2_mobilenet_v2_1.0_224_int8pc_qdq", 0, 1.0 / 256, NULL},
};
enum { GOLDEN_SHARED = sizeof golden_shared / sizeof golden_shared[0], GOLDEN_MAX = 64 };

static golden_model golden_models[GOLDEN_MAX];
static size_t golden_count;

/* Adds the models of a folder whose golden/limits.txt lists them; false: it has no such file. */
static inline bool golden_listed(const char *folder)
{
    char path[4096];
    golden_model m = {.folder = folder};
    (void)snprintf(path, sizeof path, "%s/golden/limits.txt", folder);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    while (golden_count < GOLDEN_MAX && fscanf(file, "%63s %lf %lf", m.name, &m.relative, &m.step) == 3) {
        golden_models[golden_count++] = m;
    }
    (void)fclose(file);
    return true;
}

/* The models of the suite's own folder, and those of the shared one where that is there. False: none. */
static inline bool golden_find(int argc, char **argv)
{
    const bool own = argc > 1 && golden_listed(argv[1]);
    for (size_t i = 0; argc > 2 && access(argv[2], R_OK) == 0 && i < GOLDEN_SHARED; i++) {
        golden_models[golden_count] = golden_shared[i];
        golden_models[golden_count++].folder = argv[2];
    }
    return own;
}

/* The floats of a .npy file; owned. NULL: not such a file. */
static inline float *golden_load(const char *path, size_t *count)
{
    uint8_t *bytes;
    size_t size;
    if (vta_file_read(path, (size_t)1 << 28, &bytes, &size, NULL) != VTA_OK) {
        return NULL;
    }
    const size_t start = 10 + (size_t)bytes[8] + 256 * (size_t)bytes[9];
    if (start > size || strstr((const char *)bytes + 10, "'<f4'") == NULL) {
        free(bytes);
        return NULL;
    }
    *count = (size - start) / sizeof(float);
    memmove(bytes, bytes + start, size - start);
    return (float *)(void *)bytes;
}

/* The inputs of a model's cases. */
static inline bool golden_cases(const golden_model *which, glob_t *found)
{
    char pattern[4096];
    (void)snprintf(pattern, sizeof pattern, "%s/golden/%.63s/*_in.npy", which->folder, which->name);
    return glob(pattern, 0, NULL, found) == 0;
}

/* The reference output of a case; owned. */
static inline float *golden_output(const char *input, size_t *count)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%.*s_out0.npy", (int)(strlen(input) - strlen("_in.npy")), input);
    return golden_load(path, count);
}

/* The difference of two outputs. */
typedef struct golden_difference {
    double worst, range;
    size_t off, count;
    bool same_top;
} golden_difference;

static inline golden_difference golden_compare(const float *got, const float *expected, size_t count)
{
    golden_difference d = {.count = count};
    size_t top = 0;
    size_t top_got = 0;
    float low = expected[0];
    float high = expected[0];
    for (size_t i = 0; i < count; i++) {
        const double error = fabs((double)got[i] - (double)expected[i]);
        d.worst = !(error <= d.worst) ? error : d.worst; /* NaN counts */
        d.off += !(error <= 0.0);
        low = expected[i] < low ? expected[i] : low;
        high = expected[i] > high ? expected[i] : high;
        top = expected[i] > expected[top] ? i : top;
        top_got = got[i] > got[top_got] ? i : top_got;
    }
    d.range = (double)high - (double)low;
    d.same_top = top == top_got;
    return d;
}

#endif
