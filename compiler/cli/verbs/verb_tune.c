/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac tune: a machine looks for better schedules, for kernels of the host or layers of the accelerator.
 */
#include <string.h>

#include "calib.h"
#include "passes.h"
#include "stages.h"
#include "temporary.h"
#include "tensors.h"
#include "tuning.h"
#include "vta/clock.h"
#include "vta/kernels.h"

enum { MAX_THREADS = 1024 }; /* as 'vtac bench' */

static const cli_option options[] = {
    {"--log", "FILE", CLI_FILE, "what was found, a JSON object a line (tune.jsonl)"},
    CLI_OFFLOAD_OPTIONS,
    {"--host", "NAME", CLI_TEXT, "llvm: compile for this processor (default: this one)"},
    {"--device", "URI", CLI_DEVICE, "llvm: time there (repeat), or opencl:0; vta: prove there"},
    {"--tuner", "NAME", CLI_TEXT, "xgb, ga (default), random, grid or model"},
    {"--trials", "N", CLI_TEXT, "at most so many (64; vta: 400)"},
    {"--early-stop", "N", CLI_TEXT, "end after so many in which nothing got better"},
    {"--budget", "SECONDS", CLI_TEXT, "end the search after so long"},
    {"--seed", "N", CLI_TEXT, "of what the tuner draws (1)"},
    {"--threads", "N", CLI_TEXT, "llvm: threads of the network (1)"},
    {"--repeat", "N", CLI_TEXT, "llvm: runs of a trial (10)"},
    CLI_WORK_OPTIONS_SHORT("workers (default: one for each processor)"),
    {"--html", "FILE", CLI_OUT, "a page with the curve of each kind of kernel"},
    {"--calib", "DIR|FILE", CLI_FILE, "vta: inputs to quantize a model of floats with"},
    {"--shape", "NAME=AxBxC", CLI_TEXT, "size of a dynamic input (may be repeated)"},
    CLI_MODEL_OPTIONS,
};

static int read_number(const cli_args *args, const char *option, uint64_t *value)
{
    const char *text = cli_value(args, option);
    return text == NULL || (cli_number(text, value) && *value > 0)
               ? CLI_OK
               : cli_usage(args, "%s takes a number above 0, not '%s'", option, text);
}

static int read_tuner(const cli_args *args, cli_tuning *t)
{
    const char *text = cli_value(args, "--tuner");
    t->tuner = VTAC_TUNER_GA;
    for (int i = 0; text != NULL && i < VTAC_TUNERS; i++) {
        if (strcmp(text, vtac_tuner_name((vtac_tuner)i)) == 0) {
            t->tuner = (vtac_tuner)i;
            return CLI_OK;
        }
    }
    return text == NULL ? CLI_OK
                        : cli_usage(args, "'--tuner %s': expected xgb, ga, random, grid or model", text);
}

static int read_arguments(const cli_args *args, cli_tuning *t, cli_shapes *shapes)
{
    const char *budget = cli_value(args, "--budget");
    if (cli_read_shapes(args, shapes) != CLI_OK || cli_read_offload(args, &t->offload) != CLI_OK ||
        read_tuner(args, t) != CLI_OK) {
        return CLI_USAGE;
    }
    const char *device = cli_value(args, "--device");
    const char *language = device != NULL ? vta_kernels_language(device) : NULL;
    if (t->offload.kernels != NULL &&
        (language == NULL || strncmp(t->offload.kernels, language, strlen(language)) != 0)) {
        return cli_usage(args, "kernels for %s are timed on such a device: name it with --device",
                         t->offload.kernels);
    }
    t->trials = t->offload.wanted ? 400 : 64;
    t->seed = t->threads = 1;
    t->repeat = 10;
    if (read_number(args, "--trials", &t->trials) != CLI_OK ||
        read_number(args, "--early-stop", &t->early) != CLI_OK ||
        read_number(args, "--seed", &t->seed) != CLI_OK ||
        read_number(args, "--threads", &t->threads) != CLI_OK ||
        read_number(args, "--repeat", &t->repeat) != CLI_OK || cli_read_work(args, &t->how) != CLI_OK) {
        return CLI_USAGE;
    }
    if (t->threads > MAX_THREADS) {
        return cli_usage(args, "--threads takes a number up to %d, not '%s'", MAX_THREADS,
                         cli_value(args, "--threads"));
    }
    t->is_leader = true;
    if (t->how.options.engine != VTAC_WORK_PROCESSES && !t->offload.wanted) {
        return cli_usage(args, "kernels of the host are timed on one machine, and not by %s",
                         t->how.options.engine == VTAC_WORK_MPI ? "ranks of mpirun"
                                                                : "whoever sees a folder");
    }
    return budget == NULL || cli_seconds(budget, &t->budget_s)
               ? CLI_OK
               : cli_usage(args, "--budget takes a number of seconds above 0, not '%s'", budget);
}

static vta_status tune_model(cli_tuning *t, const cli_shapes *shapes, vta_diag *diag)
{
    const char *host = cli_value(t->args, "--host");
    const vtac_pass_options passes = {.level = 3, .progress = cli_stages()};
    VTA_TRY(vtac_tuner_check(t->tuner, diag));
    VTA_TRY(cli_tuning_check_files(t, diag));
    VTA_TRY(vtac_target_find(host != NULL ? host : "host", &t->target, diag));
    VTA_TRY(cli_load_graph(t->args, t->model, shapes, &t->graph, diag));
    VTA_TRY(t->offload.wanted ? cli_quantize_float(t->args, t->graph, NULL, diag) : VTA_OK);
    VTA_TRY(vtac_run_passes(t->graph, &passes, diag));
    VTA_TRY(cli_temporary_folder("tune", t->folder, diag));
    const vta_status status = t->offload.wanted ? cli_tune_vta(t, diag) : cli_tune_host(t, diag);
    cli_temporary_remove(t->folder);
    return status;
}

static int run_tune(const cli_args *args)
{
    const char *log = cli_value(args, "--log");
    cli_tuning t = {.args = args,
                    .model = args->operands[0],
                    .log = log != NULL ? log : "tune.jsonl",
                    .history = {.item_size = sizeof(cli_trial)}};
    cli_shapes shapes;
    vta_diag diag = {0};
    if (read_arguments(args, &t, &shapes) != CLI_OK) {
        return CLI_USAGE;
    }
    t.begin = vta_now();
    cli_stages_begin();
    vta_status status = tune_model(&t, &shapes, &diag);
    if (status == VTA_OK && cli_value(args, "--html") != NULL && t.is_leader) {
        status = cli_tuning_page(&t, cli_value(args, "--html"), &diag);
    }
    vta_vec_free(&t.history);
    cli_stages_end();
    vtac_tasks_free(&t.tasks);
    vtac_graph_destroy(t.graph);
    return status == VTA_OK ? cli_done(args) : cli_fail(args, &diag);
}

const cli_verb cli_verb_tune = {
    .name = "tune",
    .operands = "MODEL.onnx [--log FILE]",
    .summary = "search better schedules for a model's kernels or layers",
    .more = "A log that is there already is gone on from.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 1,
    .max = 1,
    .run = run_tune,
};
