/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac asm: text to a container, or with --raw to the instructions alone.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "vta/file.h"

static const cli_option options[] = {
    {"-o", "FILE", CLI_OUT, "where the program goes"},
    {"--config", "NAME|FILE", CLI_CONFIG, "for a text that has no .config (default: pynq)"},
    {"--binary", NULL, CLI_FLAG, "write the instructions alone, as 'exec --raw' takes"},
};

static vta_status write_binary(const vta_program *program, const char *path, vta_diag *diag)
{
    const size_t size = (size_t)program->insn_count * VTA_INSN_BYTES;
    uint8_t *bytes = malloc(size + 1);
    if (bytes == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory for '%s'", path);
    }
    for (size_t i = 0; i < size; i++) {
        const uint64_t half = program->insns[i / VTA_INSN_BYTES].w[i % VTA_INSN_BYTES / 8];
        bytes[i] = (uint8_t)(half >> (8 * (i % 8)));
    }
    const vta_status status = vta_file_write(path, bytes, size, diag);
    free(bytes);
    return status;
}

static vta_status write_container(const vta_program *program, const char *path, vta_diag *diag)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    VTA_TRY(vta_program_write(program, &bytes, &size, diag));
    const vta_status status = vta_file_write(path, bytes, size, diag);
    free(bytes);
    return status;
}

static int run_asm(const cli_args *args)
{
    const char *path = cli_value(args, "-o");
    vta_program program;
    vta_diag diag = {0};
    if (path == NULL) {
        return cli_usage(args, "expected '-o FILE'");
    }
    vta_status status = cli_program(args, args->operands[0], &program, &diag);
    if (status == VTA_OK) {
        const bool binary = cli_flag(args, "--binary");
        status = binary ? write_binary(&program, path, &diag) : write_container(&program, path, &diag);
        vta_program_free(&program);
    }
    return status == VTA_OK ? CLI_OK : cli_fail(args, &diag);
}

const cli_verb cli_verb_asm = {
    .name = "asm",
    .operands = "FILE",
    .summary = "assemble a text (isa/ASM.md) into a program file",
    .more = "  vtac asm prog.vasm -o prog.bin\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 1,
    .max = 1,
    .run = run_asm,
};
