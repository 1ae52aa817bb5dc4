/* SPDX-License-Identifier: Apache-2.0
 *
 * A compiled classifier on the machine of hw/soc. Over the serial line it says for two inputs what came out,
 * as bytes and as a class, and where the cycles went: of each step those of the machine's clock and, in the
 * accelerator, of its own counter. INPUTS is a C file with `const uint8_t inputs[2][INPUT_BYTES]`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../example/board.h"
#include "inputs.h"
#include "soc.h"
#include "vta/artifact.h"
#include "vta/baremetal.h"
#include "vta/model.h"

extern const vta_artifact vta_model_artifact; /* of the object that `vtac compile --host rv32im` wrote */

int main(void);

/* Memory that nobody need clear before main. */
static uint8_t arena[ARENA_BYTES] __attribute__((aligned(64), section(".noinit")));

static _Noreturn void fail(const vta_diag *diag)
{
    (void)printf("failed: %s\n", diag->text);
    board_end(1);
}

static void say_bytes(const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        (void)putchar(digits[bytes[i] >> 4]);
        (void)putchar(digits[bytes[i] & 15]);
    }
    (void)putchar('\n');
}

/* A number that is larger where element `at` of the tensor is. */
static int64_t rank_of(const vta_tensor_info *info, const uint8_t *data, size_t at)
{
    enum { INT, UINT, FLOAT, BYTE = 8, WORD = 32 };
    int32_t word = 0;
    if (info->dtype_bits == BYTE) {
        return info->dtype_code == UINT ? data[at] : (int8_t)data[at];
    }
    memcpy(&word, data + at * sizeof word, sizeof word);
    /* Floats are ordered as integers are, those below 0 backwards. */
    return info->dtype_code == FLOAT && word < 0 ? -(int64_t)(word & INT32_MAX) : word;
}

static size_t class_of(const vta_tensor_info *info, const uint8_t *data)
{
    const size_t count = info->bytes * 8 / info->dtype_bits;
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = rank_of(info, data, i) > rank_of(info, data, best) ? i : best;
    }
    return best;
}

static void say_steps(const vta_step_profile *steps, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t cycles = (uint32_t)(steps[i].seconds * BOARD_CLOCK_HZ);
        if (steps[i].on_accelerator != 0) {
            (void)printf("  %-11s %9" PRIu32 " cycles, %" PRIu32 " of them its own: %s\n", "accelerator",
                         cycles, (uint32_t)steps[i].cycles, steps[i].name);
        } else {
            (void)printf("  %-11s %9" PRIu32 " cycles: %s\n", "host", cycles, steps[i].name);
        }
    }
}

static void classify(vta_model *model, int run)
{
    vta_diag diag = {0};
    const vta_step_profile *steps;
    uint32_t count;
    const uint64_t begin = board_cycles();
    if (vta_model_set_input(model, 0, inputs[run], sizeof inputs[run], &diag) != VTA_OK ||
        vta_model_profile(model, &steps, &count, &diag) != VTA_OK) {
        fail(&diag);
    }
    const uint32_t took = (uint32_t)(board_cycles() - begin);
    const vta_tensor_info info = vta_model_output(model, 0);
    const uint8_t *data = vta_model_output_data(model, 0);
    (void)printf("output %d ", run + 1);
    say_bytes(data, info.bytes);
    (void)printf("input %d: class %" PRIu32 ", %" PRIu32 " cycles\n", run + 1,
                 (uint32_t)class_of(&info, data), took);
    say_steps(steps, count);
}

int main(void)
{
    vta_diag diag = {0};
    vta_model *model;
    vta_baremetal_arena(arena, sizeof arena);
    const vta_model_options *accelerator = board_accelerator();
    if (vta_model_open(&vta_model_artifact, accelerator, &model, &diag) != VTA_OK) {
        fail(&diag);
    }
    (void)printf("%s: ready after %" PRIu32 " cycles\n", vta_model_name(model), (uint32_t)board_cycles());
    for (int run = 0; run < 2; run++) {
        classify(model, run);
    }
    vta_model_destroy(model);
    (void)printf("arena %" PRIu32 " of %" PRIu32 " bytes\n", (uint32_t)vta_baremetal_arena_used(),
                 (uint32_t)sizeof arena);
    board_end(0);
}
