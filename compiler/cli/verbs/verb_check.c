/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac check: the checker's judgement of a program, without running it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "image.h"
#include "vta/check.h"
#include "vta/dram.h"

static const cli_option options[] = {
    {"--config", "NAME|FILE", CLI_CONFIG, "for a program that names none (default: pynq)"},
    {"--raw", NULL, CLI_FLAG, "PROGRAM is instructions with absolute addresses"},
    {"--insn-addr", "ADDR", CLI_TEXT, "where the instructions lie (default: anywhere)"},
    {"--mem", "FILE@ADDR", CLI_FILE, "memory that the program may use; also zero:BYTES@ADDR"},
    {"--json", NULL, CLI_FLAG, "print JSON"},
};

static vta_status alloc_memory(void *context, uint64_t at, size_t size, vta_mem *out, vta_diag *diag)
{
    out->addr = at;
    out->size = size;
    return at == 0 ? vta_dram_alloc(context, size, &out->addr, &out->host, diag)
                   : vta_dram_alloc_at(context, at, size, &out->host, diag);
}

static void print_json(const vta_program *program, const vta_violation *violation, const vta_diag *diag)
{
    cli_print("{\"ok\": %s, \"instructions\": %" PRIu32, diag->code == VTA_OK ? "true" : "false",
              program->insn_count);
    if (diag->code != VTA_OK) {
        cli_print(", \"instruction\": %" PRIu32 ", \"error\": ", violation->insn);
        cli_json_string(vta_error_text(violation->error));
        cli_print(", \"field\": ");
        cli_json_string(violation->field != NULL ? violation->field : "");
        cli_print(", \"value\": %" PRId64 ", \"bound\": %" PRId64 ", \"message\": ", violation->value,
                  violation->bound);
        cli_json_string(diag->text);
    }
    cli_print("}\n");
}

static int check_stream(const cli_args *args, const cli_image *image, const vta_program *program,
                        vta_dram *dram)
{
    const vta_bus bus = vta_dram_bus(dram);
    vta_violation violation = {0};
    vta_diag diag = {0};
    const vta_status status = vta_check(&program->config, &image->launch, &bus, &violation, &diag);
    if (status != VTA_OK && status != VTA_ILLEGAL_PROGRAM) {
        return cli_fail(args, &diag);
    }
    cli_blame(program, args->operands[0], violation.insn, &diag);
    if (cli_flag(args, "--json")) {
        print_json(program, &violation, &diag);
        const int done = cli_done(args);
        return status == VTA_OK ? done : CLI_FAILED;
    }
    if (status != VTA_OK) {
        return cli_fail(args, &diag);
    }
    cli_print("%s: ok, %" PRIu32 " instructions for '%s'\n", args->operands[0], program->insn_count,
              program->config.name);
    return cli_done(args);
}

static int check_program(const cli_args *args, const vta_program *program, vta_dram *dram)
{
    cli_image image = {.alloc = alloc_memory, .context = dram};
    vta_diag diag = {0};
    bool usage = false;
    vta_status status = cli_image_read(&image, args, program, &usage, &diag);
    if (status == VTA_OK) {
        status = cli_image_place(&image, args, program, &diag);
    }
    const int result = usage              ? cli_usage(args, "%s", diag.text)
                       : status != VTA_OK ? cli_fail(args, &diag)
                                          : check_stream(args, &image, program, dram);
    cli_image_free(&image);
    return result;
}

static int run_check(const cli_args *args)
{
    vta_program program;
    vta_dram *dram = NULL;
    vta_diag diag = {0};
    if (cli_program(args, args->operands[0], &program, &diag) != VTA_OK) {
        return cli_fail(args, &diag);
    }
    const int status =
        vta_dram_create(&dram, &diag) == VTA_OK ? check_program(args, &program, dram) : cli_fail(args, &diag);
    vta_dram_destroy(dram);
    vta_program_free(&program);
    return status;
}

const cli_verb cli_verb_check = {
    .name = "check",
    .operands = "PROGRAM",
    .summary = "prove that a program is legal, or name its first violation",
    .more = "  vtac check prog.vasm\n"
            "  vtac check --raw s.bin --mem uops.bin@0x8000 --mem zero:4096@0x10000\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 1,
    .max = 1,
    .run = run_check,
};
