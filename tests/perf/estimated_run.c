/* SPDX-License-Identifier: Apache-2.0
 *
 * estimated_run MODEL.so OUTPUTS: one run with a clock around each step, for estimated.py. A call of
 * getppid() stands before it. The inputs are the same at each call; their numbers are multiples of 1/128,
 * between -1 and 1. Prints the names of the steps, in their order, and writes the outputs, which are floats,
 * to a file, one behind the other.
 */
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "vta/model.h"

static void fill(vta_model *model)
{
    uint32_t state = 1;
    for (uint32_t i = 0; i < vta_model_input_count(model); i++) {
        const vta_tensor_info info = vta_model_input(model, i);
        float *data = vta_model_input_tensor(model, i).data;
        for (size_t k = 0; k < info.bytes / sizeof *data; k++) {
            state = state * 1664525U + 1013904223U;
            data[k] = (float)(state >> 24) / 128.0F - 1.0F;
        }
    }
}

static vta_status write_outputs(vta_model *model, const char *path, vta_diag *diag)
{
    FILE *out = fopen(path, "wb");
    bool good = out != NULL;
    for (uint32_t i = 0; good && i < vta_model_output_count(model); i++) {
        const size_t bytes = vta_model_output(model, i).bytes;
        good = fwrite(vta_model_output_tensor(model, i).data, 1, bytes, out) == bytes;
    }
    good = out != NULL && fclose(out) == 0 && good;
    return good ? VTA_OK : vta_fail(diag, VTA_IO, "cannot write '%s'", path);
}

static vta_status run(const char *path, const char *outputs, vta_model **model, vta_diag *diag)
{
    const vta_model_options options = {.threads = 1};
    const vta_step_profile *steps;
    uint32_t count;
    VTA_TRY(vta_model_load(path, &options, model, diag));
    fill(*model);
    (void)getppid();
    VTA_TRY(vta_model_profile(*model, &steps, &count, diag));
    for (uint32_t i = 0; i < count; i++) {
        (void)printf("%s\n", steps[i].name);
    }
    return write_outputs(*model, outputs, diag);
}

int main(int argc, char **argv)
{
    vta_diag diag = {0};
    vta_model *model = NULL;
    if (argc != 3) {
        return 2;
    }
    const vta_status status = run(argv[1], argv[2], &model, &diag);
    vta_model_destroy(model);
    if (status != VTA_OK) {
        (void)fprintf(stderr, "estimated_run: %s\n", diag.text);
    }
    return status != VTA_OK;
}
