/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac board: a virtual board for as long as it runs.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "board.h"
#include "cli.h"
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
};

static const cli_option options[] = {
    {"--dir", "DIR", CLI_FILE, "where its files are made; the device is uio:DIR"},
    {"--config", "NAME|FILE", CLI_CONFIG, "the configuration it is built with (default: pynq)"},
    {"--memory", "MIB", CLI_TEXT, "contiguous memory, in MiB (default 64)"},
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

static void ready(void)
{
    (void)printf("board '%s' is ready: --device uio:%s\n", device_config, device_dir);
    (void)fflush(stdout);
}

static void print_progress(void *context, const char *line)
{
    (void)context;
    (void)fprintf(stderr, "%s\n", line);
}

static int read_fault(const cli_args *args, board_options *out)
{
    const char *text = cli_value(args, "--fault");
    const char *at = text != NULL ? strchr(text, '@') : NULL;
    if (at != NULL && (!cli_number(at + 1, &out->fault_run) || out->fault_run == 0)) {
        return cli_usage(args, "'--fault %s': expected the number of a run, from 1, after '@'", text);
    }
    const size_t size = text == NULL ? 0 : at != NULL ? (size_t)(at - text) : strlen(text);
    for (int i = 0; text != NULL && i < BOARD_FAULTS; i++) {
        if (strlen(faults[i].name) == size && strncmp(faults[i].name, text, size) == 0) {
            out->fault = (board_fault)i;
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

static int read_options(const cli_args *args, board_options *out)
{
    enum { MOST_MIB = 1024 };
    const char *memory = cli_value(args, "--memory");
    uint64_t mib = 64;
    out->dir = cli_value(args, "--dir");
    out->coherent = cli_flag(args, "--coherent");
    if (out->dir == NULL || *out->dir == '\0') {
        return cli_usage(args, "'--dir DIR' says where its files are made");
    }
    if (memory != NULL && (!cli_number(memory, &mib) || mib == 0 || mib > MOST_MIB)) {
        return cli_usage(args, "'--memory %s': expected MiB from 1 to %d", memory, MOST_MIB);
    }
    out->memory = mib << 20;
    return read_fault(args, out);
}

static int run(const cli_args *args)
{
    board_options o = {0};
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
    const vta_status status =
        board_serve(&o, &stop, ready, cli_fancy(STDERR_FILENO) ? &progress : NULL, &diag);
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
            "Faults: bus, hang, stuck, dead, hash, irq; '--fault hang@2' hits the second\n"
            "run alone.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .run = run,
};
