/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac board: a virtual board for as long as it runs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board.h"
#include "cli.h"
#include "vta/regs.h"
#include "vta/str.h"

static const struct fault_row {
    const char *name;
    const char *doc;
} faults[BOARD_FAULTS] = {
    [BOARD_GOOD] = {"none", "all is well"},
    [BOARD_BUS] = {"bus", "memory answers with errors"},
    [BOARD_HANG] = {"hang", "a run does not advance"},
    [BOARD_STUCK] = {"stuck", "the same, and a reset does not help"},
    [BOARD_DEAD] = {"dead", "nothing is loaded"},
    [BOARD_HASH] = {"hash", "hardware of another release"},
    [BOARD_IRQ] = {"irq", "no interrupt comes"},
    [BOARD_CLOCK] = {"clock", "too fast a clock: runs hang, but not at half of it"},
};

static const cli_option options[] = {
    {"--dir", "DIR", CLI_FILE, "where its files are made; the device is uio:DIR"},
    {"--config", "NAME|FILE", CLI_CONFIG, "the configuration it is built with (default: pynq)"},
    {"--memory", "MIB", CLI_TEXT, "contiguous memory, in MiB (default 64)"},
    {"--window", "KIB", CLI_TEXT, "how much of it the accelerator may reach (default: all)"},
    {"--address", "ADDRESS", CLI_TEXT, "where the accelerator finds it (default 0x20000000)"},
    {"--plain", NULL, CLI_FLAG, "as a kernel without u-dma-buf: memory is a map of uio0"},
    {"--coherent", NULL, CLI_FLAG, "the accelerator sees the processor's caches"},
    {"--fault", "NAME[@RUN]", CLI_TEXT, "what is wrong with it, always or in one run"},
};

static volatile sig_atomic_t stop;
static const char *device_dir;
static const char *device_config;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

static void print_ready(void)
{
    cli_print("board '%s' is ready: --device uio:%s\n", device_config, device_dir);
    cli_flush();
}

static void print_progress(void *context, const char *line)
{
    (void)context;
    cli_say("%s\n", line);
}

static int read_fault(const cli_args *args, cli_board_options *out)
{
    const char *text = cli_value(args, "--fault");
    const char *at = text != NULL ? strchr(text, '@') : NULL;
    if (at != NULL && (!cli_number(at + 1, &out->fault_run) || out->fault_run == 0)) {
        return cli_usage(args, "'--fault %s': expected the number of a run, from 1, after '@'", text);
    }
    const size_t size = text == NULL ? 0 : at != NULL ? (size_t)(at - text) : strlen(text);
    for (int i = 0; text != NULL && i < BOARD_FAULTS; i++) {
        if (strlen(faults[i].name) == size && strncmp(faults[i].name, text, size) == 0) {
            out->fault = (cli_board_fault)i;
            return CLI_OK;
        }
    }
    if (text == NULL) {
        return CLI_OK;
    }
    vta_str list = {0};
    for (int i = 0; i < BOARD_FAULTS; i++) {
        vta_str_printf(&list, "%s%s (%s)", i > 0 ? ", " : "", faults[i].name, faults[i].doc);
    }
    const int code = cli_usage(args, "'--fault %s': known are %s", text, list.text != NULL ? list.text : "");
    vta_str_free(&list);
    return code;
}

static bool read_address(const char *text, uint64_t *out)
{
    char *end = NULL;
    *out = 0x20000000;
    if (text == NULL) {
        return true;
    }
    errno = 0;
    *out = *text >= '0' && *text <= '9' ? strtoull(text, &end, 0) : 0;
    return end != NULL && *end == '\0' && errno == 0 && *out % VTA_REG_PAGE_BYTES == 0 && *out >> 40 == 0;
}

static int read_options(const cli_args *args, cli_board_options *out)
{
    enum { MAX_MIB = 1024 };
    const char *memory = cli_value(args, "--memory");
    const char *window = cli_value(args, "--window");
    uint64_t mib = 64;
    uint64_t kib;
    out->dir = cli_value(args, "--dir");
    out->plain = cli_flag(args, "--plain");
    out->coherent = out->plain || cli_flag(args, "--coherent");
    if (out->dir == NULL || *out->dir == '\0') {
        return cli_usage(args, "'--dir DIR' says where its files are made");
    }
    if (memory != NULL && (!cli_number(memory, &mib) || mib == 0 || mib > MAX_MIB)) {
        return cli_usage(args, "'--memory %s': expected MiB from 1 to %d", memory, MAX_MIB);
    }
    out->memory = mib << 20;
    kib = mib << 10;
    if (window != NULL && (!cli_number(window, &kib) || kib % 4 != 0 || kib > mib << 10)) {
        return cli_usage(args, "'--window %s': expected a multiple of 4 KiB, at most the memory's %d", window,
                         (int)(mib << 10));
    }
    out->window = kib << 10;
    if (!read_address(cli_value(args, "--address"), &out->addr)) {
        return cli_usage(args, "'--address %s': expected a multiple of 4,096 below 2^40, decimal or 0x…",
                         cli_value(args, "--address"));
    }
    return read_fault(args, out);
}

static int run_board(const cli_args *args)
{
    cli_board_options o = {0};
    vta_diag diag = {0};
    bool given;
    if (read_options(args, &o) != CLI_OK) {
        return CLI_USAGE;
    }
    if (cli_config(args, &o.config, &given, &diag) != VTA_OK) {
        return cli_fail(args, &diag);
    }
    const struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
    device_dir = o.dir;
    device_config = o.config.name;
    const vta_progress progress = {.line = print_progress};
    const vta_status status = cli_board_serve(&o, &stop, print_ready, &progress, &diag);
    return status == VTA_OK ? cli_done(args) : cli_fail(args, &diag);
}

const cli_verb cli_verb_board = {
    .name = "board",
    .operands = "",
    .summary = "serve a virtual board: the RTL behind a board's files",
    .more = "It serves until Ctrl-C. In another terminal the driver of real boards uses it:\n\n"
            "  vtac board --dir /tmp/b --config tiny\n"
            "  vtac run model.so --device uio:/tmp/b\n"
            "  vtac doctor --device uio:/tmp/b\n\n"
            "A configuration of several cores has as many register pages, on one memory.\n\n"
            "Faults: bus, hang, stuck, dead, hash, irq, clock; '--fault hang@2' hits the\n"
            "second run alone.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .run = run_board,
    .alone = true,
};
