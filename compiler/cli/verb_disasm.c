/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac disasm: a program, or raw instructions, as text that assembles back to the same bits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "vta/file.h"

static const cli_option options[] = {
    {"-o", "FILE", CLI_FILE, "where the text goes (default: standard output)"},
    {"--raw", NULL, CLI_FLAG, "PROGRAM is instructions alone, 16 bytes each"},
    {"--config", "NAME|FILE", CLI_CONFIG, "configuration of raw instructions (default: pynq)"},
};

static int run(const cli_args *args)
{
    const char *path = cli_value(args, "-o");
    char *text = NULL;
    vta_program program;
    vta_diag diag = {0};
    vta_status status = cli_program(args, args->operands[0], &program, &diag);
    if (status == VTA_OK) {
        status = vta_disassemble(&program, &text, &diag);
        vta_program_free(&program);
    }
    if (status == VTA_OK && path != NULL) {
        status = vta_file_write(path, text, strlen(text), &diag);
    } else if (status == VTA_OK) {
        (void)fputs(text, stdout);
    }
    free(text);
    return status == VTA_OK ? cli_done(args) : cli_fail(args, &diag);
}

const cli_verb cli_verb_disasm = {
    .name = "disasm",
    .operands = "PROGRAM",
    .summary = "print a program as text that assembles back to the same bits",
    .more = "  vtac disasm prog.bin\n"
            "  vtac disasm --raw stream.bin --config ultra96\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .least = 1,
    .most = 1,
    .run = run,
};
