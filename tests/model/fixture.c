/* SPDX-License-Identifier: Apache-2.0
 *
 * A compiled model of two steps, written by hand: hidden[i] = x[i] * 3 + table[i], then y = hidden reversed.
 * Each build of this file but GOOD has one thing wrong; OTHER is another model, which multiplies by 4, and
 * LARGE has a table of 5 MiB and 12 bytes, with the same two numbers at its begin, middle and end, and
 * as much more workspace.
 */
#include <stddef.h>

#include "vta/artifact.h"

#ifndef FIXTURE_GOOD
#    define FIXTURE_GOOD 0
#endif
#ifndef FIXTURE_MAGIC
#    define FIXTURE_MAGIC 0
#endif
#ifndef FIXTURE_ABI
#    define FIXTURE_ABI 0
#endif
#ifndef FIXTURE_CPU
#    define FIXTURE_CPU 0
#endif
#ifndef FIXTURE_CONSTANTS
#    define FIXTURE_CONSTANTS 0
#endif
#ifndef FIXTURE_BUFFER
#    define FIXTURE_BUFFER 0
#endif
#ifndef FIXTURE_TENSOR
#    define FIXTURE_TENSOR 0
#endif
#ifndef FIXTURE_OTHER
#    define FIXTURE_OTHER 0
#endif
#ifndef FIXTURE_KIND
#    define FIXTURE_KIND 0
#endif
#ifndef FIXTURE_REGION
#    define FIXTURE_REGION 0
#endif
#ifndef FIXTURE_SPACE
#    define FIXTURE_SPACE 0
#endif
#ifndef FIXTURE_DEVICE
#    define FIXTURE_DEVICE 0
#endif
#ifndef FIXTURE_CONFIG
#    define FIXTURE_CONFIG 0
#endif
#ifndef FIXTURE_LARGE
#    define FIXTURE_LARGE 0
#endif

enum { N = 1000, FACTOR = 3 + FIXTURE_OTHER };

#if FIXTURE_LARGE
enum { TABLE = (5 << 18) + 3, MIDDLE = TABLE / 2, END = TABLE - 2, WORKSPACE = 5 << 20 };
#    define TABLE_HASH UINT64_C(0x5a96acfadbe22be4) /* FNV-1a of it */
static const int32_t table[TABLE] = {[0] = 1, [MIDDLE] = 1, [END] = 1};
#else
enum { MIDDLE = 0, END = 0, WORKSPACE = 0 };
#    define TABLE_HASH UINT64_C(0x89cd31291d2aefa4) /* FNV-1a of 1, 0, 0, 0, 0, 0, 0, 0 */
static const unsigned char table[8] = {1, 0, 0, 0, FIXTURE_CONSTANTS, 0, 0, 0}; /* two int32: 1, 0 */
#endif

static void scale(void *const *buffers, int64_t begin, int64_t end, void *scratch)
{
    const int32_t *x = buffers[0];
    const int32_t *add = buffers[1];
    int32_t *hidden = buffers[2];
    int32_t *own = scratch;
    for (int64_t i = begin; i < end; i++) {
        own[0] = x[i] * FACTOR;
        hidden[i] = own[0] + add[(i % 3 == 0 ? 0 : i % 3 == 1 ? MIDDLE : END) + i % 2];
    }
}

static void reverse(void *const *buffers, int64_t begin, int64_t end, void *scratch)
{
    (void)scratch;
    const int32_t *hidden = buffers[0];
    int32_t *y = buffers[1];
    for (int64_t i = begin; i < end; i++) {
        y[i] = hidden[N - 1 - i];
    }
}

static const vta_artifact_tensor input = {"x", 0, 32, 1, {N}, 4 * N + FIXTURE_TENSOR};
static const vta_artifact_tensor output = {"y", 0, 32, 2, {1, N}, 4 * N};
static const vta_artifact_buffer scale_buffers[] = {{VTA_SPACE_INPUT, 0, 0, 4 * N},
                                                    {VTA_SPACE_CONSTANT, 0, 0, sizeof table},
                                                    {VTA_SPACE_WORKSPACE, 0, 64 * FIXTURE_BUFFER, 4 * N}};
static const vta_artifact_buffer reverse_buffers[] = {{VTA_SPACE_WORKSPACE, 0, 0, 4 * N},
                                                      {VTA_SPACE_OUTPUT, 0, 0, 4 * N}};
#if FIXTURE_REGION || FIXTURE_SPACE || FIXTURE_CONFIG
static const vta_artifact_region region = {.program = FIXTURE_REGION ? NULL : "no program"};
#endif
static const vta_artifact_step steps[] = {
    {VTA_STEP_HOST, 1, "scale", "Mul", scale, N, 3, scale_buffers, 64, 2 * N, NULL},
#if FIXTURE_REGION || FIXTURE_SPACE || FIXTURE_CONFIG
    {VTA_STEP_ACCELERATOR, 2, "reverse", "Slice", reverse, 0, 2 - 2 * FIXTURE_CONFIG, reverse_buffers, 0, 0,
     &region},
#else
    {VTA_STEP_HOST + 7 * FIXTURE_KIND, 2, "reverse", "Slice", reverse, N, 2, reverse_buffers, 0, 0, NULL},
#endif
};

extern const vta_artifact vta_model_artifact;
const vta_artifact vta_model_artifact = {
    .magic = VTA_ARTIFACT_MAGIC ^ FIXTURE_MAGIC,
    .abi = VTA_ARTIFACT_ABI + FIXTURE_ABI,
    .size = sizeof(vta_artifact),
    .name = "fixture",
    .triple = "any",
    .cpu = "any",
    .features = "",
    .required = FIXTURE_CPU ? "no-such-feature" : "",
    .input_count = 1,
    .output_count = 1,
    .step_count = 2,
    .inputs = &input,
    .outputs = &output,
    .steps = steps,
    .constants = table,
    .constant_bytes = sizeof table,
    .constant_hash = TABLE_HASH,
    .workspace_bytes = 4 * N + WORKSPACE,
    .device_constant_hash = UINT64_C(0xcbf29ce484222325) + FIXTURE_DEVICE, /* of nothing */
    .config_json = FIXTURE_REGION || FIXTURE_SPACE || FIXTURE_CONFIG ? "{}" : NULL,
    .config_hash = 0,
};
