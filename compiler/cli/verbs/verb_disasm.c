/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac disasm: a program, or raw instructions, as text that assembles back to the same bits; the accelerator
 * programs of a compiled model, with their layers as comments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "vta/artifact.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/model.h"
#include "vta/str.h"

static const cli_option options[] = {
    {"-o", "FILE", CLI_OUT, "where the text goes (default: standard output)"},
    {"--raw", NULL, CLI_FLAG, "PROGRAM is instructions alone, 16 bytes each"},
    {"--config", "NAME|FILE", CLI_CONFIG, "configuration of raw instructions (default: pynq)"},
};

/* ---- models */

static bool is_model(const cli_args *args)
{
    char magic[4] = {0};
    FILE *file = cli_flag(args, "--raw") ? NULL : fopen(args->operands[0], "rb");
    const bool elf =
        file != NULL && fread(magic, sizeof magic, 1, file) == 1 && memcmp(magic, "\177ELF", 4) == 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    return elf;
}

/* The text of one region; each ".tag N" says whose the instructions behind it are. */
static void comment_region(vta_str *out, const char *text, const vta_artifact_region *region)
{
    for (const char *line = text; *line != '\0';) {
        const size_t size = strcspn(line, "\n");
        unsigned long tag = 0;
        vta_str_append(out, line, size);
        if (strncmp(line, ".tag ", 5) == 0) {
            tag = strtoul(line + 5, NULL, 10);
        }
        if (tag > 0 && tag <= region->layer_count) {
            const vta_artifact_layer *layer = &region->layers[tag - 1];
            vta_str_printf(out, " ; '%s' (%s)%s%s", layer->name, layer->op,
                           layer->schedule[0] != '\0' ? ": " : "", layer->schedule);
        }
        vta_str_put(out, "\n");
        line += size + (line[size] == '\n');
    }
}

static vta_status disassemble_region(const vta_model *model, uint32_t step, const char *name, vta_str *out,
                                     vta_diag *diag)
{
    const vta_artifact_region *region = vta_model_region(model, step);
    vta_program program;
    char *text = NULL;
    VTA_TRY(vta_program_read(region->program, (size_t)region->program_bytes, name, &program, diag));
    const vta_status status = vta_disassemble(&program, &text, diag);
    vta_program_free(&program);
    VTA_TRY(status);
    vta_str_printf(out, "; step '%s': %u layers\n", name, region->layer_count);
    comment_region(out, text, region);
    free(text);
    return VTA_OK;
}

static vta_status disassemble_model(const char *path, char **text, vta_diag *diag)
{
    vta_model *model = NULL;
    vta_str out = {0};
    uint32_t count;
    VTA_TRY(vta_model_load(path, NULL, &model, diag));
    const vta_step_profile *steps = vta_model_steps(model, &count);
    vta_status status = VTA_OK;
    for (uint32_t i = 0; i < count && status == VTA_OK; i++) {
        if (vta_model_region(model, i) != NULL) {
            status = disassemble_region(model, i, steps[i].name, &out, diag);
        }
    }
    vta_model_destroy(model);
    if (status == VTA_OK && out.size == 0) {
        status = vta_fail(diag, VTA_INVALID,
                          "%s: nothing in it runs on the accelerator; compile the model with '--target vta'",
                          path);
    }
    *text = status == VTA_OK ? vta_str_take(&out) : NULL;
    vta_str_free(&out);
    return status != VTA_OK || *text != NULL ? status : vta_no_memory(diag);
}

/* ---- programs */

static vta_status disassemble_program(const cli_args *args, char **text, vta_diag *diag)
{
    vta_program program;
    VTA_TRY(cli_program(args, args->operands[0], &program, diag));
    const vta_status status = vta_disassemble(&program, text, diag);
    vta_program_free(&program);
    return status;
}

static int run_disasm(const cli_args *args)
{
    const char *path = cli_value(args, "-o");
    char *text = NULL;
    vta_diag diag = {0};
    vta_status status = is_model(args) ? disassemble_model(args->operands[0], &text, &diag)
                                       : disassemble_program(args, &text, &diag);
    if (status == VTA_OK && path != NULL) {
        status = vta_file_write(path, text, strlen(text), &diag);
    } else if (status == VTA_OK) {
        cli_put(text);
    }
    free(text);
    return status == VTA_OK ? cli_done(args) : cli_fail(args, &diag);
}

const cli_verb cli_verb_disasm = {
    .name = "disasm",
    .operands = "PROGRAM|MODEL.so",
    .summary = "print a program as text that assembles back to the same bits",
    .more = "  vtac disasm prog.bin\n"
            "  vtac disasm --raw stream.bin --config ultra96\n"
            "  vtac disasm model.so                          # layers as comments\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 1,
    .max = 1,
    .run = run_disasm,
};
