/* SPDX-License-Identifier: Apache-2.0
 *
 * A compiled model that is served to sim/soc/agent.py: over the serial line goes what the model is and, where
 * inputs lie in memory, what came of a run. A line begins with a letter; texts and tensors are bytes in
 * hexadecimal, "-" for none, numbers hexadecimal, too:
 *
 *     N name, workspace          I, O  name, type, bits, bytes, rank, sizes: an input, an output
 *     S name, operator, node, whether the accelerator does it, predicted cycles, operations: a step
 *     L name, operator, schedule, bound, step, node, joined, products, read, written, predicted: a layer
 *     R cycles: the run took so many     T cycles, the accelerator's own: a step of it
 *     C cycles, by class: a layer of it  Y bytes: an output
 *
 * At soc_inputs stands 1 where the model is to run, and from byte 64 on the inputs, each from a multiple of
 * 64 on.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../example/board.h"
#include "soc.h"
#include "vta/artifact.h"
#include "vta/baremetal.h"
#include "vta/model.h"

extern const vta_artifact vta_model_artifact; /* of the object that `vtac compile --host rv32im` wrote */
extern const uint8_t soc_inputs[];

int main(void);

enum { EACH = 64 };

/* Memory that nobody need clear before main. */
static uint8_t arena[ARENA_BYTES] __attribute__((aligned(64), section(".noinit")));

static _Noreturn void fail(const char *text)
{
    (void)printf("failed: %s\n", text);
    board_end(1);
}

/* ---- words of a line */

static void say_digit(unsigned value)
{
    static const char digits[] = "0123456789abcdef";
    (void)putchar(digits[value & 15U]);
}

static void say_bytes(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    (void)putchar(' ');
    for (size_t i = 0; i < size; i++) {
        say_digit(at[i] >> 4U);
        say_digit(at[i]);
    }
    if (size == 0) {
        (void)putchar('-');
    }
}

static void say_text(const char *text)
{
    say_bytes(text, text != NULL ? strlen(text) : 0);
}

static void say_number(uint64_t value)
{
    int shift = 60;
    (void)putchar(' ');
    for (; shift > 0 && value >> shift == 0; shift -= 4) {
    }
    for (; shift >= 0; shift -= 4) {
        say_digit((unsigned)(value >> shift));
    }
}

/* ---- the model */

static void say_tensor(char letter, const vta_tensor_info *info)
{
    (void)putchar(letter);
    say_text(info->name);
    say_number(info->dtype_code);
    say_number(info->dtype_bits);
    say_number(info->bytes);
    say_number(info->rank);
    for (uint32_t i = 0; i < info->rank; i++) {
        say_number((uint64_t)info->dim[i]);
    }
    (void)putchar('\n');
}

static void say_step(const vta_step_profile *step)
{
    (void)putchar('S');
    say_text(step->name);
    say_text(step->op);
    say_number(step->node);
    say_number(step->on_accelerator != 0);
    say_number(step->predicted);
    say_number(step->flops);
    (void)putchar('\n');
}

static void say_layer(const vta_layer_profile *layer)
{
    (void)putchar('L');
    say_text(layer->name);
    say_text(layer->op);
    say_text(layer->schedule);
    say_text(layer->bound);
    say_number(layer->step);
    say_number(layer->node);
    say_number(layer->joined != 0);
    say_number(layer->macs);
    say_number(layer->bytes_read);
    say_number(layer->bytes_written);
    say_number(layer->predicted);
    (void)putchar('\n');
}

static void describe(const vta_model *model)
{
    uint32_t count;
    (void)putchar('N');
    say_text(vta_model_name(model));
    say_number(vta_model_workspace_bytes(model));
    (void)putchar('\n');
    for (uint32_t i = 0; i < vta_model_input_count(model); i++) {
        const vta_tensor_info info = vta_model_input(model, i);
        say_tensor('I', &info);
    }
    for (uint32_t i = 0; i < vta_model_output_count(model); i++) {
        const vta_tensor_info info = vta_model_output(model, i);
        say_tensor('O', &info);
    }
    const vta_step_profile *steps = vta_model_steps(model, &count);
    for (uint32_t i = 0; i < count; i++) {
        say_step(&steps[i]);
    }
    const vta_layer_profile *layers = vta_model_layers(model, &count);
    for (uint32_t i = 0; i < count; i++) {
        say_layer(&layers[i]);
    }
}

/* ---- a run */

static void take_inputs(vta_model *model)
{
    const uint8_t *at = soc_inputs + EACH;
    vta_diag diag = {0};
    for (uint32_t i = 0; i < vta_model_input_count(model); i++) {
        const size_t bytes = vta_model_input(model, i).bytes;
        if (vta_model_set_input(model, i, at, bytes, &diag) != VTA_OK) {
            fail(diag.text);
        }
        at += (bytes + EACH - 1) / EACH * EACH;
    }
}

static void say_run(const vta_model *model, const vta_step_profile *steps, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        (void)putchar('T');
        say_number((uint64_t)(steps[i].seconds * BOARD_CLOCK_HZ + 0.5));
        say_number(steps[i].cycles);
        (void)putchar('\n');
    }
    const vta_layer_profile *layers = vta_model_layers(model, &count);
    for (uint32_t i = 0; i < count; i++) {
        (void)putchar('C');
        say_number(layers[i].cycles);
        for (size_t c = 0; c < VTA_CYCLE_CLASSES; c++) {
            say_number(layers[i].split[c]);
        }
        (void)putchar('\n');
    }
    for (uint32_t i = 0; i < vta_model_output_count(model); i++) {
        (void)putchar('Y');
        say_bytes(vta_model_output_data(model, i), vta_model_output(model, i).bytes);
        (void)putchar('\n');
    }
}

int main(void)
{
    vta_diag diag = {0};
    vta_model *model;
    const vta_step_profile *steps;
    uint32_t count;
    vta_baremetal_arena(arena, sizeof arena);
    if (vta_model_open(&vta_model_artifact, board_accelerator(), &model, &diag) != VTA_OK) {
        fail(diag.text);
    }
    if (soc_inputs[0] == 0) {
        describe(model);
        board_end(0);
    }
    take_inputs(model);
    const uint64_t begin = board_cycles();
    if (vta_model_profile(model, &steps, &count, &diag) != VTA_OK) {
        fail(diag.text);
    }
    const uint64_t took = board_cycles() - begin;
    (void)putchar('R');
    say_number(took);
    (void)putchar('\n');
    say_run(model, steps, count);
    board_end(0);
}
