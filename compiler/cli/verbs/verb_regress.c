/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac regress: a suite of models on configurations and devices, for a build server.
 */
/* NOLINTNEXTLINE: the name that POSIX gives to who wants nftw */
#define _XOPEN_SOURCE 700
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "regress.h"
#include "table.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vtac/power.h"
#include "vtac/temporary.h"
#include "workers.h"
#include "writable.h"

static const cli_option options[] = {
    {"--baseline", "FILE", CLI_FILE, "cycles of an earlier run, to hold these against"},
    {"--update", NULL, CLI_FLAG, "write the cycles of this run into the baseline"},
    CLI_WORK_OPTIONS_SHORT("workers (default: one for each processor)"),
    {"--junit", "FILE", CLI_OUT, "results for a build server"},
    {"--html", "FILE", CLI_OUT, "results as a page"},
    {"--history", "FILE", CLI_FILE, "append this run's cycles; the page draws them"},
    {"--label", "TEXT", CLI_TEXT, "what this run is called there: a commit, a date"},
    {"--json", NULL, CLI_FLAG, "print JSON"},
};

enum { MAX_HISTORY = 1 << 28 };

/* ---- what is printed */

static void print_case(void *context, const cli_regress_case *c, uint32_t finished)
{
    const cli_regress_suite *s = context;
    char key[1024];
    cli_regress_key(c, key, sizeof key);
    cli_say("%" PRIu32 "/%" PRIu32 " %s: %s\n", finished, s->case_count, key, cli_regress_word(c->outcome));
}

/* The energy of the board that a case's configuration is for, with the spread of its measurements. */
static void fill_energy(const cli_regress_case *c, cli_cell *cell)
{
    vta_config config;
    vtac_board_power power;
    if (c->cycles == 0 || vta_config_load(c->config, &config, NULL) != VTA_OK) {
        return;
    }
    const double joules = vtac_board_joules(&config, c->cycles, &power);
    if (power.count > 0) {
        cli_cell_print(cell, "%.3g ± %.2g", 1e3 * joules, 1e3 * joules * power.error);
    }
}

static void fill_row(const void *context, uint32_t row, cli_cell *cells)
{
    const cli_regress_case *c = &((const cli_regress_suite *)context)->cases[row];
    cells[0].text = c->model->name;
    cells[1].text = c->config;
    cells[2].text = c->device;
    cells[3].text = cli_regress_word(c->outcome);
    if (c->cycles > 0) {
        cli_cell_print(&cells[4], "%" PRIu64, c->cycles);
    }
    if (c->cycles > 0 && c->baseline > 0) {
        cli_cell_print(&cells[5], "%+.2f%%", c->change);
    }
    fill_energy(c, &cells[6]);
    cells[7].text = c->why;
}

static uint32_t count_bad(const cli_regress_suite *s)
{
    uint32_t bad = 0;
    for (uint32_t i = 0; i < s->case_count; i++) {
        bad += s->cases[i].outcome != REGRESS_PASSED;
    }
    return bad;
}

static void print_text(const cli_regress_suite *s)
{
    static const cli_column columns[] = {
        {"model", CLI_NAME},    {"config", CLI_NAME},   {"device", CLI_NAME},     {"outcome", CLI_WORD},
        {"cycles", CLI_FIGURE}, {"change", CLI_FIGURE}, {"board mJ", CLI_FIGURE}, {"", CLI_SENTENCE},
    };
    cli_table(columns, sizeof columns / sizeof columns[0], s->case_count, fill_row, s);
    const uint32_t bad = count_bad(s);
    cli_print("%" PRIu32 " passed, %" PRIu32 " failed\n", s->case_count - bad, bad);
}

static void print_json(const cli_regress_suite *s)
{
    cli_print("{\"cases\": [");
    for (uint32_t i = 0; i < s->case_count; i++) {
        const cli_regress_case *c = &s->cases[i];
        cli_print("%s{\"model\": ", i > 0 ? ", " : "");
        cli_json_string(c->model->name);
        cli_print(", \"config\": ");
        cli_json_string(c->config);
        cli_print(", \"device\": ");
        cli_json_string(c->device);
        cli_print(", \"outcome\": \"%s\", \"cycles\": %" PRIu64 ", \"baseline\": %" PRIu64
                  ", \"seconds\": %.3f, \"why\": ",
                  cli_regress_word(c->outcome), c->cycles, c->baseline, c->seconds);
        cli_json_string(c->why);
        cli_print("}");
    }
    cli_print("], \"failed\": %" PRIu32 "}\n", count_bad(s));
}

/* ---- files */

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

/* A command that was ended may still be at a last file of its own. */
static void remove_folder(const char *path)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    for (int tries = 0; tries < 100 && nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0; tries++) {
        (void)nanosleep(&pause, NULL);
    }
}

static vta_status write_page(const cli_args *args, const cli_regress_suite *s, vta_diag *diag)
{
    const char *path = cli_value(args, "--history");
    uint8_t *bytes = NULL;
    size_t size = 0;
    if (path != NULL) {
        VTA_TRY(vta_file_read(path, MAX_HISTORY, &bytes, &size, diag));
    }
    char *text = strndup(bytes != NULL ? (const char *)bytes : "", size);
    const vta_status status =
        text != NULL ? cli_regress_page(cli_value(args, "--html"), s, text, diag) : vta_no_memory(diag);
    free(text);
    free(bytes);
    return status;
}

/* A baseline takes only what is right: wrong outputs have no cycles worth keeping. */
static vta_status write_baseline(const cli_args *args, const cli_regress_suite *s, vta_diag *diag)
{
    for (uint32_t i = 0; i < s->case_count; i++) {
        if (s->cases[i].outcome != REGRESS_PASSED && s->cases[i].outcome != REGRESS_SLOWER) {
            return vta_fail(diag, VTA_INVALID,
                            "the baseline stays as it is: not every case has run as it should");
        }
    }
    return cli_regress_baseline_write(cli_value(args, "--baseline"), s, diag);
}

static vta_status write_files(const cli_args *args, const cli_regress_suite *s, vta_diag *diag)
{
    const char *label = cli_value(args, "--label");
    if (cli_value(args, "--junit") != NULL) {
        VTA_TRY(cli_regress_junit(cli_value(args, "--junit"), s, diag));
    }
    if (cli_value(args, "--history") != NULL) {
        VTA_TRY(cli_regress_history(cli_value(args, "--history"), s, label != NULL ? label : "", diag));
    }
    if (cli_value(args, "--html") != NULL) {
        VTA_TRY(write_page(args, s, diag));
    }
    return cli_flag(args, "--update") ? write_baseline(args, s, diag) : VTA_OK;
}

/* ---- the verb */

static vta_status read_files(const cli_args *args, cli_regress_suite *s, vta_diag *diag)
{
    const char *baseline = cli_value(args, "--baseline");
    const char *history = cli_value(args, "--history");
    VTA_TRY(cli_regress_suite_read(args->operands[0], s, diag));
    VTA_TRY(history != NULL ? cli_can_append(history, diag) : VTA_OK);
    VTA_TRY(cli_flag(args, "--update") ? cli_can_write(baseline, diag) : VTA_OK);
    if (baseline == NULL || (cli_flag(args, "--update") && access(baseline, F_OK) != 0)) { /* it is made */
        return VTA_OK;
    }
    return cli_regress_baseline_read(baseline, s, cli_flag(args, "--update"), diag);
}

static volatile sig_atomic_t
    stopped; /* by a signal before the work stands, or behind it: the folder goes first */

static void note_interrupt(void *nothing)
{
    (void)nothing;
    stopped = 1;
}

/* The pieces, in the folder. *leads: false in a worker, whose work is over. */
static vta_status go_in(cli_regress_run *run, const cli_args *args, const cli_work *how, bool *leads,
                        vta_diag *diag)
{
    char key[96];
    vtac_work *work = NULL;
    (void)snprintf(key, sizeof key, "vtac %s regress %016" PRIx64 "\n", vta_version(),
                   how->options.engine == VTAC_WORK_FOLDER ? cli_regress_hash(run->suite) : 0);
    vta_status status = cli_open_work(args, how, key, cli_regress_piece, run, &work, diag);
    *leads = work != NULL;
    if (status == VTA_OK && work != NULL) {
        if (stopped != 0) {
            vtac_work_stop(work);
        }
        status = cli_regress_go(run, work, diag);
        cli_close_work(work);
    }
    return status;
}

static vta_status run_suite(const cli_args *args, const cli_work *how, cli_regress_suite *s, bool *leads,
                            vta_diag *diag)
{
    char program[4096];
    char folder[VTAC_TEMPORARY_PATH];
    const ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    if (size < 0) {
        return vta_fail(diag, VTA_IO, "cannot tell where this program is (/proc/self/exe)");
    }
    program[size] = '\0';
    stopped = 0;
    cli_catch_signals(note_interrupt, NULL);
    vta_status status = vtac_temporary_folder("regress", folder, diag);
    if (status == VTA_OK) {
        cli_regress_run run = {.suite = s,
                               .program = program,
                               .work = folder,
                               .done = cli_flag(args, "--json") ? NULL : print_case,
                               .context = s};
        status = go_in(&run, args, how, leads, diag);
        cli_catch_signals(note_interrupt, NULL);
        remove_folder(folder);
    }
    cli_catch_signals(NULL, NULL);
    return status == VTA_OK && stopped != 0 ? vta_fail(diag, VTA_INTERRUPTED, "interrupted") : status;
}

static int report_suite(const cli_args *args, const cli_regress_suite *s)
{
    vta_diag diag = {0};
    (cli_flag(args, "--json") ? print_json : print_text)(s);
    if (write_files(args, s, &diag) != VTA_OK) {
        return cli_fail(args, &diag);
    }
    const int code = cli_done(args);
    return code == CLI_OK && count_bad(s) > 0 ? CLI_FAILED : code;
}

static int run_regress(const cli_args *args)
{
    cli_work how;
    cli_regress_suite suite;
    vta_diag diag = {0};
    bool leads = true;
    if (cli_read_work(args, &how) != CLI_OK) {
        return CLI_USAGE;
    }
    if (cli_flag(args, "--update") && cli_value(args, "--baseline") == NULL) {
        return cli_usage(args, "'--update' writes the file that '--baseline FILE' names");
    }
    vta_status status = read_files(args, &suite, &diag);
    if (status == VTA_OK) {
        status = run_suite(args, &how, &suite, &leads, &diag);
    }
    const int code = status != VTA_OK ? cli_fail(args, &diag) : leads ? report_suite(args, &suite) : CLI_OK;
    cli_regress_suite_free(&suite);
    return code;
}

const cli_verb cli_verb_regress = {
    .name = "regress",
    .operands = "SUITE.json",
    .summary = "models on configurations and devices, for a build server",
    .more = "The suite, with paths that begin at its folder:\n\n"
            "  {\"models\": [{\"zoo\": \"tiny_kws\", \"int8\": true},\n"
            "              {\"name\": \"mine\", \"file\": \"mine.onnx\", \"quantize\": true}],\n"
            "   \"configs\": [\"tiny\", \"pynq\"], \"devices\": [\"fsim\", \"tsim\"],\n"
            "   \"seeds\": [1, 2], \"tolerance\": 0.5, \"timeout\": 1800}\n\n"
            "Each model is compiled and run on each; its outputs must be the host's, or the\n"
            "files in \"data\": [{\"inputs\": [...], \"outputs\": [...]}] within \"rtol\", \"atol\".\n"
            "Cycles may be \"tolerance\" percent, a model's own or the suite's, above the\n"
            "baseline. Exit status 1: not all passed.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 1,
    .max = 1,
    .run = run_regress,
    .alone = true,
};
