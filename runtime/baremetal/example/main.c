/* SPDX-License-Identifier: Apache-2.0
 *
 * A compiled model in a program without an operating system. It runs on two inputs and says what came out:
 * "output RUN HEX". INPUTS is a C file with `const uint8_t inputs[2][INPUT_BYTES]`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "inputs.h"
#include "vta/artifact.h"
#include "vta/baremetal.h"
#include "vta/model.h"

extern const vta_artifact vta_model_artifact; /* of the object that `vtac compile --host cortex-m7` wrote */

int main(void);

static uint8_t arena[ARENA_BYTES] __attribute__((aligned(64)));

static _Noreturn void fail(const vta_diag *diag)
{
    board_say("failed: ");
    board_say(diag->text);
    board_say("\n");
    board_end(1);
}

static void say_bytes(const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        const char text[] = {digits[bytes[i] >> 4], digits[bytes[i] & 15], '\0'};
        board_say(text);
    }
    board_say("\n");
}

/* More than there is gives an error, not a crash. */
static void try_exhaustion(void)
{
    if (malloc(2 * sizeof arena) != NULL) {
        board_say("failed: the arena has no end\n");
        board_end(1);
    }
}

int main(void)
{
    vta_diag diag = {0};
    vta_model *model;
    char text[80];
    vta_baremetal_arena(arena, sizeof arena);
    try_exhaustion();
    if (vta_model_open(&vta_model_artifact, board_accelerator(), &model, &diag) != VTA_OK) {
        fail(&diag);
    }
    for (int run = 0; run < 2; run++) {
        if (vta_model_set_input(model, 0, inputs[run], sizeof inputs[run], &diag) != VTA_OK ||
            vta_model_run(model, &diag) != VTA_OK) {
            fail(&diag);
        }
        const vta_tensor_info info = vta_model_output(model, 0);
        (void)snprintf(text, sizeof text, "output %d ", run + 1);
        board_say(text);
        say_bytes(vta_model_output_data(model, 0), info.bytes);
    }
    vta_model_destroy(model);
    (void)snprintf(text, sizeof text, "arena %lu of %lu bytes\n", (unsigned long)vta_baremetal_arena_used(),
                   (unsigned long)sizeof arena);
    board_say(text);
    board_end(0);
}
