/* SPDX-License-Identifier: Apache-2.0
 *
 * The shared models with their reference outputs, and what may differ from these.
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

#include "vta/file.h"

/* Error allowed: of a float model relative to the reference's range; of a quantized one a step of the output.
 * The references of models in QDQ form were computed in float32 between the quantizations, so that a number
 * within a rounding error of two integers' middle may fall to the other side. */
typedef struct golden_model {
    const char *name;
    double relative, step;
} golden_model;

static const golden_model golden_models[] = {
    {"mlperf_ic_resnet8_fp32", 1e-4, 0},
    {"mlperf_ic_resnet8_int8_qdq", 0, 1.0 / 256},
    {"mlperf_kws_dscnn_fp32", 1e-4, 0},
    {"mlperf_kws_dscnn_int8_qdq", 0, 1.0 / 256},
    {"resnet20_cifar10_fp32_bn", 1e-4, 0},
    {"squeezenet1.1_fp32_from_fp16", 1e-4, 0},
    {"mobilenetv2-12_dequant_fp32", 1e-4, 0},
    {"mobilenetv2-12-int8", 0, 0.16014385},
    {"coral_tf2_mobilenet_v2_1.0_224_int8pc_qdq", 0, 1.0 / 256},
};
enum { GOLDEN_MODELS = sizeof golden_models / sizeof golden_models[0] };

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
static inline bool golden_cases(const char *folder, const char *model, glob_t *found)
{
    char pattern[4096];
    (void)snprintf(pattern, sizeof pattern, "%s/golden/%s/*_in.npy", folder, model);
    return glob(pattern, 0, NULL, found) == 0;
}

/* The reference output of a case; owned. */
static inline float *golden_output(const char *input, size_t *count)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%.*s_out0.npy", (int)(strlen(input) - strlen("_in.npy")), input);
    return golden_load(path, count);
}

/* How two outputs differ. */
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
