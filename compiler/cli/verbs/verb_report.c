/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac report: the pages that other verbs write of a model, in one folder, with links from one to the next.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "html.h"
#include "self.h"
#include "temporary.h"
#include "tensors.h"
#include "ticker.h"
#include "vta/fail.h"
#include "vta/file.h"

enum { PATH = 4096 };

static const cli_option options[] = {
    {"-o", "DIR", CLI_FILE, "the folder; begin at its index.html (default: report)"},
    {"--config", "NAME|FILE", CLI_CONFIG, "the accelerator's configuration (default pynq)"},
    {"--device", "URI", CLI_TEXT, "where it runs for its profile (default tsim)"},
    {"--trials", "N", CLI_TEXT, "schedules that are tried (default 100; 0: no such page)"},
    {"--limit", "N", CLI_TEXT, "configurations that are looked at (default 400; 0: none)"},
    {"--calib", "DIR|FILE", CLI_FILE, "inputs to quantize a model of floats with"},
    {"--shape", "NAME=AxBxC", CLI_TEXT, "size of a dynamic input (may be repeated)"},
    CLI_MODEL_OPTIONS,
};

typedef struct page_report {
    const cli_args *args;
    const char *folder, *config, *device;
    char trials[24], limit[24];
    char model[PATH];              /* in 8 bits */
    char log[VTAC_TEMPORARY_PATH]; /* what a verb printed last */
    bool made;         /* the model in 8 bits is ours: it is read without the options of the first */
    _Atomic size_t at; /* the page that is being made */
    cli_ticker *progress;
} page_report;

/* The pages in the order of their links. */
typedef struct report_page {
    const char *name, *file, *words;
} report_page;
static const report_page pages[] = {{"graph", "graph.html", "drawn as compiled"},
                                    {"profile", "profile.html", "where the cycles go"},
                                    {"tune", "tune.html", "its schedules"},
                                    {"explore", "explore/front.html", "other hardware"}};
enum { GRAPH, PROFILE, TUNE, EXPLORE, PAGES };

/* The line of progress: which page, and since when the report is being made. */
static void describe_page(void *context, double seconds, char *text, size_t size)
{
    const page_report *r = context;
    char duration[16];
    const size_t at = r->at;
    if (seconds >= CLI_PATIENCE_S && at < PAGES) {
        (void)snprintf(text, size, "vtac report: %s, %s: for %s", pages[at].name, pages[at].words,
                       cli_duration(seconds, duration, sizeof duration));
    }
}

static bool is_asked(const page_report *r, size_t page)
{
    return (page != TUNE || strcmp(r->trials, "0") != 0) && (page != EXPLORE || strcmp(r->limit, "0") != 0);
}

static const char *in_folder(const page_report *r, const char *name, char path[PATH])
{
    (void)snprintf(path, PATH, "%s/%s", r->folder, name);
    return path;
}

/* Runs a verb on the model; `words` are `count`, and there is room for more. */
static vta_status ask(const page_report *r, const char *words[CLI_MAX_SELF_WORDS], size_t count,
                      vta_diag *diag)
{
    words[count] = NULL;
    if (!r->made) {
        VTA_TRY(cli_words_of_model(r->args, words, count, diag));
    }
    return cli_run_self(words, r->log, 0, diag);
}

/* A model of integers stays as it is. */
static vta_status make_integers(page_report *r, vta_diag *diag)
{
    char path[PATH];
    const char *words[CLI_MAX_SELF_WORDS] = {"vtac", "quantize", r->model, "-o",
                                             in_folder(r, "int8.onnx", path)};
    vta_diag own = {0};
    const vta_status status = ask(r, words, 5, &own);
    if (status == VTA_OK) {
        (void)snprintf(r->model, sizeof r->model, "%s", path);
        r->made = true;
    } else if (strstr(own.text, "nothing to quantize") == NULL) {
        return vta_fail(diag, status, "%s", own.text);
    }
    return VTA_OK;
}

static vta_status make_page(page_report *r, size_t page, vta_diag *diag)
{
    char path[PATH];
    char model[PATH];
    char records[PATH];
    in_folder(r, pages[page].file, path);
    in_folder(r, "model.so", model);
    if (page == GRAPH) {
        const char *words[CLI_MAX_SELF_WORDS] = {"vtac", "inspect",  r->model, "--html",
                                                 path,   "--config", r->config};
        return ask(r, words, 7, diag);
    }
    if (page == PROFILE) {
        const char *words[CLI_MAX_SELF_WORDS] = {"vtac", "compile", r->model,   "--target", "vta",
                                                 "-o",   model,     "--config", r->config,  "--force"};
        const char *run[] = {"vtac", "run", model, "--device", r->device, "--profile", path, NULL};
        VTA_TRY(ask(r, words, 10, diag));
        return cli_run_self(run, r->log, 0, diag);
    }
    if (page == TUNE) {
        const char *words[CLI_MAX_SELF_WORDS] = {"vtac",
                                                 "tune",
                                                 r->model,
                                                 "--target",
                                                 "vta",
                                                 "--config",
                                                 r->config,
                                                 "--trials",
                                                 r->trials,
                                                 "--log",
                                                 in_folder(r, "tune.jsonl", records),
                                                 "--html",
                                                 path};
        return ask(r, words, 13, diag);
    }
    const char *words[CLI_MAX_SELF_WORDS] = {"vtac",     "explore", "--models", r->model,
                                             "--limit",  r->limit,  "-o",       in_folder(r, "explore", path),
                                             "--search", "10"};
    return ask(r, words, 10, diag);
}

/* The page with the links; what it shows is one of the others. */
static vta_status write_index(const page_report *r, vta_diag *diag)
{
    vta_str out = {0};
    char path[PATH];
    cli_put_page_head(&out, "report", r->args->operands[0]);
    cli_put_asset(&out, "report.html");
    vta_str_put(&out, "<script type=\"application/json\" id=\"data\">\n{\"model\": ");
    cli_put_json(&out, r->args->operands[0]);
    vta_str_put(&out, ", \"pages\": [");
    for (size_t i = 0; i < PAGES; i++) {
        if (is_asked(r, i)) {
            vta_str_printf(&out, "%s{\"name\": \"%s\", \"file\": \"%s\", \"words\": \"%s\"}",
                           i > 0 ? ", " : "", pages[i].name, pages[i].file, pages[i].words);
        }
    }
    vta_str_put(&out, "]}\n</script>\n");
    cli_put_page_script(&out, "report");
    const vta_status status =
        out.failed ? vta_no_memory(diag)
                   : vta_file_write(in_folder(r, "index.html", path), out.text, out.size, diag);
    vta_str_free(&out);
    return status;
}

/* A page that is there is told at once. */
static void print_page(const page_report *r, const char *file, const char *words)
{
    cli_ticker_hide(r->progress);
    cli_print("%s/%s: %s\n", r->folder, file, words);
    cli_flush();
}

static vta_status make_pages(page_report *r, vta_diag *diag)
{
    VTA_TRY(make_integers(r, diag));
    if (r->made) {
        print_page(r, "int8.onnx", "the model in 8 bits");
    }
    for (size_t i = 0; i < PAGES; i++) {
        if (is_asked(r, i)) {
            r->at = i;
            VTA_TRY(make_page(r, i, diag));
            print_page(r, pages[i].file, pages[i].words);
        }
    }
    return write_index(r, diag);
}

static vta_status make_report(page_report *r, vta_diag *diag)
{
    if (access(r->model, R_OK) != 0) { /* before anything is told or made */
        return vta_fail(diag, VTA_IO, "cannot open '%s': %s", r->model, strerror(errno));
    }
    VTA_TRY(vta_folder_make(r->folder, 0777, diag));
    VTA_TRY(cli_temporary_file("report", r->log, diag)); /* a signal ends the other verbs, too */
    if (!cli_here()->guest) {
        cli_say("vtac report: %s: pages go to '%s'; the profile and other hardware may take minutes\n",
                r->args->operands[0], r->folder);
        r->progress = cli_ticker_begin_anywhere(describe_page, r);
    }
    const vta_status status = make_pages(r, diag);
    cli_ticker_end(r->progress);
    r->progress = NULL;
    cli_temporary_remove(r->log);
    VTA_TRY(status);
    print_page(r, "index.html", "all of them");
    return VTA_OK;
}

/* A number of an option, as text for another verb. */
static int read_count(const cli_args *args, const char *option, unsigned standard, char text[24])
{
    enum { MAXIMUM = 1000000 };
    uint64_t count = standard;
    const char *given = cli_value(args, option);
    if (given != NULL && (!cli_number(given, &count) || count > MAXIMUM)) {
        return cli_usage(args, "%s takes a number to %d, not '%s'", option, MAXIMUM, given);
    }
    (void)snprintf(text, 24, "%llu", (unsigned long long)count);
    return CLI_OK;
}

static int run_report(const cli_args *args)
{
    const char *folder = cli_value(args, "-o");
    const char *config = cli_value(args, "--config");
    const char *device = cli_value(args, "--device");
    char own[64];
    vta_config hardware;
    bool given;
    vta_diag diag = {0};
    page_report r = {.args = args,
                     .folder = folder != NULL ? folder : "report",
                     .config = config != NULL ? config : "pynq"};
    if (cli_config(args, &hardware, &given, &diag) != VTA_OK) {
        return cli_usage(args, "%s", diag.text);
    }
    if (read_count(args, "--trials", 100, r.trials) != CLI_OK ||
        read_count(args, "--limit", 400, r.limit) != CLI_OK) {
        return CLI_USAGE;
    }
    (void)snprintf(own, sizeof own, "tsim:%.40s", r.config);
    r.device = device != NULL ? device : own;
    if ((size_t)snprintf(r.model, sizeof r.model, "%s", args->operands[0]) >= sizeof r.model ||
        strlen(r.folder) > PATH / 2) {
        return cli_usage(args, "a path is too long");
    }
    return make_report(&r, &diag) == VTA_OK ? cli_done(args) : cli_fail(args, &diag);
}

const cli_verb cli_verb_report = {
    .name = "report",
    .operands = "MODEL [-o DIR]",
    .summary = "all pages of a model in a folder, with links",
    .more = "The graph as compiled, its profile, its schedules, other hardware: what\n"
            "inspect, run, tune and explore write, with one page that leads to each. A\n"
            "model of floats is quantized first.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 1,
    .max = 1,
    .run = run_report,
};
