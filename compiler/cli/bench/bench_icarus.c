/* SPDX-License-Identifier: Apache-2.0
 *
 * A short program under Icarus, on the same RTL, for scale: sim/tsim/icarus_tb.v runs it from an image of
 * memory and prints a sum of its results, which must be fsim's.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "temporary.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/rtlbuild.h"
#include "vta/str.h"

extern char **environ;

enum { PAGE = 4096, LOG_MEMORY = 20, ARGS = 48, OUTPUT_LIMIT = 1 << 20 };

enum {
#define VTA_REG(name, offset, access, doc) REG_##name = (offset),
#include "vta/regs.def"
};

/* Memory image of a program, and the places of its parts. */
typedef struct image {
    vta_str bytes, regs; /* for $readmemh */
    uint32_t reg_count;
    uint64_t base[VTA_SEGMENTS], result, result_bytes;
} image;

static void put_bytes(image *im, uint64_t addr, const void *bytes, uint64_t size)
{
    vta_str_printf(&im->bytes, "@%" PRIx64 "\n", addr);
    for (uint64_t i = 0; i < size; i++) {
        vta_str_printf(&im->bytes, "%02x%c", ((const uint8_t *)bytes)[i], i % 32 == 31 ? '\n' : ' ');
    }
    vta_str_put(&im->bytes, "\n");
}

static void put_reg(image *im, uint32_t offset, uint32_t value)
{
    vta_str_printf(&im->regs, "%08x%08x\n", (unsigned)offset, (unsigned)value);
    im->reg_count++;
}

static vta_status lay_out(image *im, const vta_config *config, const vta_program *program, vta_diag *diag)
{
    const uint64_t insn_bytes = (uint64_t)program->insn_count * VTA_INSN_BYTES;
    uint64_t at = PAGE;
    put_bytes(im, at, program->insns, insn_bytes);
    put_reg(im, REG_INSN_ADDR_LO, (uint32_t)at);
    put_reg(im, REG_INSN_COUNT, program->insn_count);
    put_reg(im, REG_IRQ_ENABLE, 1);
    at += (insn_bytes + PAGE - 1) / PAGE * PAGE;
    for (uint32_t segment = 0; segment < VTA_SEGMENTS; segment++) {
        im->base[segment] = at;
        put_reg(im, REG_BASE0_LO + 8 * segment, (uint32_t)at);
        at += (vta_program_segment_size(program, segment) + PAGE - 1) / PAGE * PAGE;
    }
    if (at > UINT64_C(1) << LOG_MEMORY) {
        return vta_fail(diag, VTA_RANGE, "the program needs %" PRIu64 " bytes, more than the bench has", at);
    }
    for (uint32_t i = 0; i < program->symbol_count; i++) {
        const vta_symbol *symbol = &program->symbols[i];
        uint8_t *own = symbol->data == NULL ? calloc(1, symbol->size + 1) : NULL;
        if (symbol->data == NULL && own == NULL) {
            return vta_no_memory(diag);
        }
        if (own != NULL) {
            cli_bench_fill(config, symbol->name, own, symbol->size);
        }
        put_bytes(im, im->base[symbol->segment] + symbol->offset, own != NULL ? own : symbol->data,
                  symbol->size);
        if (strcmp(symbol->name, "y") == 0) {
            im->result = im->base[symbol->segment] + symbol->offset;
            im->result_bytes = symbol->size;
        }
        free(own);
    }
    put_reg(im, REG_CONTROL, 1);
    return im->bytes.failed || im->regs.failed ? vta_no_memory(diag) : VTA_OK;
}

/* ---- running tools */

typedef struct bench_command {
    const char *args[ARGS];
    char text[ARGS][PAGE + 64];
    uint32_t count;
} bench_command;

__attribute__((format(printf, 2, 3))) static void add_argument(bench_command *c, const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    if (c->count + 1 < ARGS) {
        (void)vsnprintf(c->text[c->count], sizeof c->text[c->count], fmt, list);
        c->args[c->count] = c->text[c->count];
        c->count++;
    }
    va_end(list);
}

static vta_status run_tool(bench_command *c, const char *output, vta_diag *diag)
{
    posix_spawn_file_actions_t actions;
    char *argv[ARGS];
    pid_t pid = 0;
    int result = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        argv[i] = c->text[i];
    }
    argv[c->count] = NULL;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return vta_no_memory(diag);
    }
    (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC,
                                           0666);
    (void)posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    const int error = posix_spawnp(&pid, c->text[0], &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        return vta_fail(diag, VTA_NO_DEVICE, "cannot run '%s': %s; install the Debian package 'iverilog'",
                        argv[0], strerror(error));
    }
    while (waitpid(pid, &result, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(result) || WEXITSTATUS(result) != 0) {
        uint8_t *said = NULL;
        size_t size = 0;
        (void)vta_file_read(output, OUTPUT_LIMIT, &said, &size, NULL);
        vta_status status =
            vta_fail(diag, VTA_IO, "'%s' failed: %.400s", argv[0], said != NULL ? (char *)said : "");
        free(said);
        return status;
    }
    return VTA_OK;
}

static void add_parameters(bench_command *words, const vta_config *c, const image *im)
{
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
#define VTA_RTL_PARAM(name, value) {name, value},
#include "vta/rtl_params.def"
#undef VTA_RTL_PARAM
        {"LOG_MEMORY", LOG_MEMORY},
        {"REGS", im->reg_count},
        {"RESULT", im->result},
        {"RESULT_BYTES", im->result_bytes},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        add_argument(words, "-Picarus_tb.%s=%" PRIu64, rows[i].name, rows[i].value);
    }
}

static vta_status compile_bench(const vta_config *config, const image *im, const char *folder, vta_diag *diag)
{
    static const char *const folders[] = {"lib", "mem", "compute"};
    vta_rtl_sources *from = calloc(1, sizeof *from);
    bench_command *c = calloc(1, sizeof *c);
    char output[PAGE + 8];
    vta_status status = from != NULL && c != NULL ? vta_rtlsim_sources(from, diag) : vta_no_memory(diag);
    if (status == VTA_OK) {
        add_argument(c, "iverilog");
        add_argument(c, "-g2005");
        add_argument(c, "-I%s", from->headers);
        add_argument(c, "-I%s/include", from->hw);
        for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
            add_argument(c, "-y%s/rtl/%s", from->hw, folders[i]);
        }
        add_parameters(c, config, im);
        add_argument(c, "-sicarus_tb");
        add_argument(c, "-o%s/bench", folder);
        add_argument(c, "%s/sim/tsim/icarus_tb.v", from->root);
        (void)snprintf(output, sizeof output, "%s/log", folder);
        status = run_tool(c, output, diag);
    }
    free(from);
    free(c);
    return status;
}

static double children_seconds(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_CHILDREN, &usage);
    return (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
}

/* The line "cycles N sum N" among what the bench said. */
static bool read_result(const char *said, uint64_t *cycles, uint32_t *sum)
{
    static const char first[] = "cycles ", second[] = " sum ";
    const char *line = strstr(said, first);
    char *end = NULL;
    if (line == NULL) {
        return false;
    }
    line += sizeof first - 1;
    *cycles = strtoull(line, &end, 10);
    if (end == line || strncmp(end, second, sizeof second - 1) != 0) {
        return false;
    }
    line = end + sizeof second - 1;
    *sum = (uint32_t)strtoul(line, &end, 10);
    return end != line;
}

/* Runs the compiled bench; what it printed. */
static vta_status run_bench(const char *folder, uint64_t *cycles, uint32_t *sum, double *seconds,
                            vta_diag *diag)
{
    bench_command *c = calloc(1, sizeof *c);
    char output[PAGE + 8];
    uint8_t *said = NULL;
    size_t size = 0;
    if (c == NULL) {
        return vta_no_memory(diag);
    }
    (void)snprintf(output, sizeof output, "%s/log", folder);
    add_argument(c, "vvp");
    add_argument(c, "-N");
    add_argument(c, "%s/bench", folder);
    add_argument(c, "+image=%s/image", folder);
    add_argument(c, "+regs=%s/regs", folder);
    const double begin = children_seconds();
    vta_status status = run_tool(c, output, diag);
    *seconds = children_seconds() - begin;
    if (status == VTA_OK) {
        status = vta_file_read(output, OUTPUT_LIMIT, &said, &size, diag);
    }
    if (status == VTA_OK && !read_result((const char *)said, cycles, sum)) {
        status = vta_fail(diag, VTA_PROTOCOL, "the bench under Icarus printed no result");
    }
    free(said);
    free(c);
    return status;
}

/* The folder's files: two for the bench, the bench itself, and what it says. */
static vta_status name_files(const char *folder, char *image_file, char *regs_file, vta_diag *diag)
{
    char other[VTAC_TEMPORARY_PATH];
    VTA_TRY(cli_temporary_in(folder, "image", image_file, diag));
    VTA_TRY(cli_temporary_in(folder, "regs", regs_file, diag));
    VTA_TRY(cli_temporary_in(folder, "bench", other, diag));
    return cli_temporary_in(folder, "log", other, diag);
}

static vta_status run_image(const vta_config *config, const image *im, uint32_t expected,
                            cli_bench_result *out, vta_diag *diag)
{
    char folder[VTAC_TEMPORARY_PATH], image_file[VTAC_TEMPORARY_PATH], regs_file[VTAC_TEMPORARY_PATH];
    uint32_t sum = 0;
    VTA_TRY(cli_temporary_folder("bench", folder, diag));
    vta_status status = VTA_OK;
    VTA_TRY_OUT(name_files(folder, image_file, regs_file, diag));
    VTA_TRY_OUT(vta_file_write(image_file, im->bytes.text, im->bytes.size, diag));
    VTA_TRY_OUT(vta_file_write(regs_file, im->regs.text, im->regs.size, diag));
    VTA_TRY_OUT(compile_bench(config, im, folder, diag));
    VTA_TRY_OUT(run_bench(folder, &out->cycles, &sum, &out->seconds, diag));
out:
    if (status == VTA_OK && sum != expected) {
        status = vta_fail(diag, VTA_PROTOCOL, "the results under Icarus are not fsim's");
    }
    cli_temporary_remove(folder);
    return status;
}

vta_status cli_bench_icarus(const vta_code *code, uint32_t expected, cli_bench_result *out, vta_diag *diag)
{
    vta_code_info info;
    vta_program program = {0};
    image im = {0};
    vta_code_describe(code, &info);
    VTA_TRY(vta_code_program(code, &program, diag));
    vta_status status = VTA_OK;
    VTA_TRY_OUT(lay_out(&im, &info.config, &program, diag));
    VTA_TRY_OUT(run_image(&info.config, &im, expected, out, diag));
out:
    vta_str_free(&im.bytes);
    vta_str_free(&im.regs);
    vta_program_free(&program);
    out->value = out->seconds > 0 ? 1e-6 * (double)out->cycles / out->seconds : 0;
    return status;
}
