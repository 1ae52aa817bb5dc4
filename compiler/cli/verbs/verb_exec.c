/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac exec: one program on one device, its results compared, counted and written out.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec.h"
#include "vta/check.h"
#include "vta/clock.h"
#include "vta/file.h"

static const cli_option options[] = {
    {"--device", "URI", CLI_DEVICE, "where to run it (default: fsim); see 'vtac devices'"},
    {"--config", "NAME|FILE", CLI_CONFIG, "for a program that names none (default: pynq)"},
    {"--timeout", "SECONDS", CLI_TEXT, "give up after this time (default: never)"},
    {"--json", NULL, CLI_FLAG, "print the report as JSON"},
    {"--mem", "FILE@ADDR", CLI_FILE, "fill memory before; also FILE@SYMBOL, zero:BYTES@ADDR"},
    {"--dump", "WHAT=FILE", CLI_FILE, "write memory after; WHAT is ADDR:BYTES or SYMBOL"},
    {"--show", "SYMBOL", CLI_TEXT, "print a symbol after the run, as an .expect"},
    {"--no-check", NULL, CLI_FLAG, "skip the checker, which else comes before the run"},
    {"--raw", NULL, CLI_FLAG, "PROGRAM is instructions with absolute addresses"},
    {"--insn-addr", "ADDR", CLI_TEXT, "with --raw: where they lie (default: anywhere)"},
};

/* ---- the device */

static vta_status open_device(const cli_args *args, const vta_program *program, vta_device **device,
                              vta_diag *diag)
{
    const char *uri = cli_value(args, "--device");
    const bool any = cli_flag(args, "--raw") && cli_value(args, "--config") == NULL;
    cli_die_tidily();
    return vta_device_open_progress(uri != NULL ? uri : "fsim", any ? NULL : &program->config, cli_progress(),
                                    device, diag);
}

static vta_status alloc_memory(void *context, uint64_t at, size_t size, vta_mem *out, vta_diag *diag)
{
    return at == 0 ? vta_device_alloc(context, size, out, diag)
                   : vta_device_alloc_at(context, at, size, out, diag);
}

/* Every block through `sync`, which flushes or invalidates. */
static void sync_all(vta_device *device, const cli_image *image,
                     void (*sync)(vta_device *device, const vta_mem *mem, size_t offset, size_t size))
{
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        sync(device, &image->segments[i], 0, image->segments[i].size);
    }
    for (size_t i = 0; i < image->block_count; i++) {
        sync(device, &image->blocks[i], 0, image->blocks[i].size);
    }
    sync(device, &image->code, 0, image->code.size);
}

/* ---- one run */

static vta_status check_program(vta_device *device, const cli_image *image, const vta_program *program,
                                const char *path, vta_diag *diag)
{
    const vta_bus bus = vta_device_bus(device);
    vta_violation violation = {0};
    const vta_status status = vta_check(vta_device_config(device), &image->launch, &bus, &violation, diag);
    if (status == VTA_ILLEGAL_PROGRAM) {
        cli_blame(program, path, violation.insn, diag);
    }
    return status;
}

static vta_status run_image(const cli_args *args, vta_device *device, const cli_image *image,
                            const vta_program *program, cli_result *result, vta_diag *diag)
{
    double timeout = 0;
    if (cli_value(args, "--timeout") != NULL) {
        (void)cli_seconds(cli_value(args, "--timeout"), &timeout);
    }
    if (!cli_flag(args, "--no-check") && !cli_flag(args, "--raw")) {
        VTA_TRY(check_program(device, image, program, result->path, diag));
    }
    sync_all(device, image, vta_device_flush);
    const double start = vta_now();
    cli_catch_signals(cli_stop_device, device);
    vta_status status = vta_device_submit(device, &image->launch, diag);
    if (status == VTA_OK) {
        status = vta_device_wait(device, timeout, &result->report, diag);
    }
    cli_catch_signals(NULL, NULL);
    result->seconds = vta_now() - start;
    if (status != VTA_OK) {
        if (result->report.error != VTA_ERROR_NONE) {
            cli_blame(program, result->path, result->report.insn, diag);
        }
        return status;
    }
    sync_all(device, image, vta_device_invalidate);
    VTA_TRY(vta_device_trouble(device, diag));
    return cli_compare(result, image, program, diag);
}

static vta_status write_dumps(const cli_image *image, vta_diag *diag)
{
    for (size_t i = 0; i < image->output_count; i++) {
        const cli_output *output = &image->outputs[i];
        const size_t size = output->symbol != NULL ? (size_t)output->symbol->size : output->size;
        const uint8_t *from = output->symbol != NULL ? cli_image_symbol(image, output->symbol)
                                                     : cli_image_at(image, output->addr, output->size);
        VTA_TRY(vta_file_write(output->file, from, size, diag));
    }
    return VTA_OK;
}

/* The symbol's contents in the assembler's words: the end of a program that holds nothing else. */
static vta_status show_symbol(const cli_image *image, const vta_program *program, const char *name,
                              vta_diag *diag)
{
    const vta_symbol *symbol = vta_program_symbol(program, name);
    if (symbol == NULL) {
        return vta_fail(diag, VTA_INVALID, "'--show %s': the program has no such symbol", name);
    }
    vta_symbol only = *symbol;
    only.data = NULL;
    only.expect = cli_image_symbol(image, symbol);
    const vta_program part = {.config = program->config, .symbols = &only, .symbol_count = 1};
    char *text = NULL;
    VTA_TRY(vta_disassemble(&part, &text, diag));
    const char *expect = strstr(text, "\n.expect");
    cli_put(expect != NULL ? expect + 1 : text);
    free(text);
    return VTA_OK;
}

static int report_result(const cli_args *args, const cli_image *image, const vta_program *program,
                         const cli_result *result)
{
    vta_diag diag = {0};
    size_t at = 0;
    vta_status status = write_dumps(image, &diag);
    for (const char *name = cli_next(args, "--show", &at); name != NULL && status == VTA_OK;
         name = cli_next(args, "--show", &at)) {
        status = show_symbol(image, program, name, &diag);
    }
    if (status != VTA_OK) {
        return cli_fail(args, &diag);
    }
    if (cli_flag(args, "--json")) {
        cli_report_json(result, program);
    } else {
        cli_report_text(result, program);
    }
    const int done = cli_done(args);
    return result->mismatches > 0 ? CLI_FAILED : done;
}

static int execute_program(const cli_args *args, vta_device *device, cli_image *image,
                           const vta_program *program)
{
    cli_result result = {.path = args->operands[0], .device = vta_device_uri(device)};
    vta_diag diag = {0};
    image->alloc = alloc_memory;
    image->context = device;
    vta_status status = cli_image_place(image, args, program, &diag);
    if (status == VTA_OK) {
        status = run_image(args, device, image, program, &result, &diag);
    }
    int code = CLI_FAILED;
    if (status == VTA_OK) {
        code = report_result(args, image, program, &result);
    } else {
        (void)cli_fail(args, &diag);
        code = status == VTA_INTERRUPTED ? CLI_INTERRUPTED : CLI_FAILED;
    }
    free(result.matches);
    return code;
}

static int with_program(const cli_args *args, vta_program *program)
{
    cli_image image = {0};
    vta_device *device = NULL;
    vta_diag diag = {0};
    bool usage = false;
    int code = CLI_OK;
    if (cli_image_read(&image, args, program, &usage, &diag) != VTA_OK) {
        code = usage ? cli_usage(args, "%s", diag.text) : cli_fail(args, &diag);
    } else if (open_device(args, program, &device, &diag) != VTA_OK) {
        code = cli_fail(args, &diag);
    } else {
        if (cli_flag(args, "--raw")) {
            program->config = *vta_device_config(device);
        }
        code = execute_program(args, device, &image, program);
    }
    vta_device_close(device);
    cli_image_free(&image);
    return code;
}

static int run_exec(const cli_args *args)
{
    vta_program program;
    vta_diag diag = {0};
    double seconds = 0;
    const char *timeout = cli_value(args, "--timeout");
    if (timeout != NULL && !cli_seconds(timeout, &seconds)) {
        return cli_usage(args, "'--timeout %s': expected a number of seconds above 0", timeout);
    }
    if (cli_flag(args, "--insn-addr") && !cli_flag(args, "--raw")) {
        return cli_usage(args, "'--insn-addr' goes with '--raw'");
    }
    if (cli_program(args, args->operands[0], &program, &diag) != VTA_OK) {
        return cli_fail(args, &diag);
    }
    const int code = with_program(args, &program);
    vta_program_free(&program);
    return code;
}

const cli_verb cli_verb_exec = {
    .name = "exec",
    .operands = "PROGRAM",
    .summary = "run a program on a device, compare its results, count its work",
    .more = "PROGRAM is assembler text, a file of 'vtac asm', or with --raw 16-byte\n"
            "instructions of any VTA tool chain, with micro-ops and data from --mem at\n"
            "their physical addresses. --mem, --dump and --show may be repeated.\n\n"
            "  vtac exec matmul.vasm --device fsim\n"
            "  vtac exec --raw s.bin --insn-addr 0x1000 --mem dram.bin@0x100000 \\\n"
            "      --dump 0x180000:4096=out.bin\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 1,
    .max = 1,
    .run = run_exec,
};
