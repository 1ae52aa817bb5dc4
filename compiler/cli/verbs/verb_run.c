/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac run: compiled models on inputs from files, or made up. Each model runs once for each file of an input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cut.h"
#include "inputs.h"
#include "layers.h"
#include "outputs.h"
#include "profile.h"
#include "run_cores.h"
#include "run_generate.h"
#include "table.h"
#include "temporary.h"
#include "vta/clock.h"
#include "vta/cores.h"
#include "vta/fail.h"
#include "vta/kernels.h"
#include "watch.h"

static const cli_option options[] = {
    CLI_INPUT_OPTIONS,
    {"--output-dir", "DIR", CLI_FILE, "write each output as NAME.npy"},
    {"--top", "N", CLI_TEXT, "print the N largest values; --labels FILE has names"},
    {"--labels", "FILE", CLI_FILE, NULL},
    {"--repeat", "N", CLI_TEXT, "run N times and print the times"},
    {"--device", "URI", CLI_DEVICE, "fsim (default), tsim, …; opencl:0, cuda:0; --cores N"},
    CLI_WORK_OPTIONS_SHORT("tsim: simulate it in parts, by N workers at once"),
    {"--cores", "N", CLI_TEXT, NULL},
    {"--timeout", "SECONDS", CLI_TEXT, "give up a launch after this long"},
    {"--threads", "N", CLI_TEXT, "threads (default: VTAC_THREADS, or all cores)"},
    CLI_GENERATE_OPTIONS,
    {"--layers", NULL, CLI_FLAG, "the accelerator's layers; --steps: time of all steps"},
    {"--steps", NULL, CLI_FLAG, NULL},
    {"--profile", "FILE", CLI_OUT, "the same and more: .html, .json or trace.json (repeat)"},
    {"--json", NULL, CLI_FLAG, "print everything as JSON"},
};

typedef struct run_call {
    const cli_args *args;
    cli_inputs inputs;
    cli_outputs outputs;
    vta_model_options model;
    uint64_t repeat; /* of each input */
    bool repeats;    /* --repeat is given */
    uint64_t cores;  /* --cores; 0: as the device has */
    bool json;
    cli_profile *profile;               /* to be filled, or NULL */
    char timeline[VTAC_TEMPORARY_PATH]; /* where the device writes it; "": nowhere */
    uint32_t told;                      /* results on stdout, */
    bool opened;                        /* in a list */
    bool cuts;                          /* the run, into parts, for workers: */
    cli_work how;
    const char *device; /* as it was asked for */
    cli_cut *cut;       /* what came of it, NULL: nothing was cut */
    bool helps;         /* this process was a worker, and has nothing to tell */
} run_call;

typedef struct batch_told {
    run_call *call;
    const char *path;
    uint32_t cases;
} batch_told;

/* ---- times */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* A device that has the processor in it: what the host does takes cycles of the same clock. */
static bool has_processor(const vta_model *model)
{
    return strncmp(vta_model_device_uri(model), "soc:", 4) == 0;
}

/* Layers of a device that runs kernels are the steps, with the device's times; those of one that has the
 * processor in it are steps and layers. */
static bool wants_steps(const run_call *call, const vta_model *model)
{
    return cli_flag(call->args, "--steps") ||
           (cli_flag(call->args, "--layers") &&
            (vta_kernels_is(vta_model_device_uri(model)) || has_processor(model)));
}

/* Runs once, with a clock around each step if the steps' times are wanted. */
static vta_status run_once(const run_call *call, vta_model *model, vta_diag *diag)
{
    const vta_step_profile *steps;
    uint32_t count;
    return wants_steps(call, model) || cli_flag(call->args, "--profile")
               ? vta_model_profile(model, &steps, &count, diag)
               : vta_model_run(model, diag);
}

static vta_status time_runs(const run_call *call, vta_model *model, double *times, vta_diag *diag)
{
    vta_status status = VTA_OK;
    cli_watch *watch = cli_watch_begin(model, call->repeat);
    cli_catch_signals(cli_stop_model, model);
    for (uint64_t i = 0; i < call->repeat && status == VTA_OK; i++) {
        const double begin = vta_now();
        status = run_once(call, model, diag);
        times[i] = vta_now() - begin + (call->cut != NULL ? cli_cut_seconds(call->cut) : 0.0);
        cli_watch_run(watch);
    }
    cli_catch_signals(NULL, NULL);
    cli_watch_end(watch);
    qsort(times, call->repeat, sizeof *times, by_value);
    return status;
}

/* ---- results */

static void print_times(const run_call *call, const vta_model *model, const double *times)
{
    const uint64_t cycles = vta_model_cycles(model);
    const double median = times[call->repeat / 2];
    if (call->repeat == 1 && !call->json) {
        cli_print("one run: %.3f ms\n", 1e3 * median);
    } else {
        cli_print(call->json ? "\"runs\": %llu, \"median_ms\": %.4f, \"min_ms\": %.4f, \"max_ms\": %.4f"
                             : "%llu runs: median %.3f ms, least %.3f ms, most %.3f ms\n",
                  (unsigned long long)call->repeat, 1e3 * median, 1e3 * times[0],
                  1e3 * times[call->repeat - 1]);
    }
    if (call->json) {
        cli_print(", \"cycles\": %llu, \"wall_s\": %.6f, ", (unsigned long long)cycles, median);
    } else if (cycles > 0) {
        const char *uri = vta_model_device_uri(model);
        const char *own = call->timeline[0] != '\0' ? strstr(uri, "timeline=") : NULL; /* our addition */
        cli_print("%llu cycles on %.*s\n", (unsigned long long)cycles,
                  (int)(own != NULL ? (size_t)(own - uri) - 1 : strlen(uri)), uri);
    }
}

static double rate_of(const vta_step_profile *step)
{
    return step->seconds > 0 ? (double)step->flops / step->seconds * 1e-9 : 0.0;
}

static void fill_step(const void *context, uint32_t row, cli_cell *cells)
{
    const vta_step_profile *step = (const vta_step_profile *)context + row;
    cli_cell_print(&cells[0], "%.1f us", 1e6 * step->seconds);
    cli_cell_print(&cells[1], "%.2f GFLOP/s", rate_of(step));
    cells[2].text = step->name;
    cells[3].text = step->op;
}

static void fill_cycles(const void *context, uint32_t row, cli_cell *cells)
{
    const vta_step_profile *step = (const vta_step_profile *)context + row;
    cli_cell_print(&cells[0], "%llu cycles", (unsigned long long)step->cycles);
    cells[1].text = step->on_accelerator != 0 ? "accelerator" : "host";
    cells[2].text = step->name;
    cells[3].text = step->op;
}

static void print_steps(const vta_model *model, bool json)
{
    static const cli_column columns[] = {{"", CLI_FIGURE}, {"", CLI_FIGURE}, {"", CLI_NAME}, {"", CLI_NAME}};
    static const cli_column counted[] = {{"", CLI_FIGURE}, {"", CLI_WORD}, {"", CLI_NAME}, {"", CLI_NAME}};
    uint32_t count;
    const vta_step_profile *steps = vta_model_steps(model, &count);
    if (!json && has_processor(model)) {
        cli_table(counted, sizeof counted / sizeof counted[0], count, fill_cycles, steps);
        return;
    }
    if (!json) {
        cli_table(columns, sizeof columns / sizeof columns[0], count, fill_step, steps);
        return;
    }
    cli_print(", \"steps\": [");
    for (uint32_t i = 0; i < count; i++) {
        cli_print("%s{\"name\": ", i > 0 ? ", " : "");
        cli_json_string(steps[i].name);
        cli_print(", \"op\": ");
        cli_json_string(steps[i].op);
        cli_print(", \"us\": %.1f, \"gflops\": %.2f, \"cycles\": %llu}", 1e6 * steps[i].seconds,
                  rate_of(&steps[i]), (unsigned long long)steps[i].cycles);
    }
    cli_print("]");
}

static void print_result(run_call *call, const vta_model *model, const char *path, const char *input,
                         const double *times)
{
    if (call->json) {
        cli_put(call->told > 0 ? ",\n " : "");
        cli_print("{\"model\": ");
        cli_json_string(path);
        cli_print(", \"input\": ");
        cli_json_string(input != NULL ? input : "");
        cli_print(", ");
        if (call->inputs.nans + call->inputs.infinities > 0) {
            cli_print("\"nan_inputs\": %llu, \"infinite_inputs\": %llu, ",
                      (unsigned long long)call->inputs.nans, (unsigned long long)call->inputs.infinities);
        }
    } else if (input != NULL || call->args->operand_count > 1) {
        cli_put(call->told > 0 ? "\n" : "");
        cli_print("%s%s%s:\n", path, input != NULL ? " on " : "", input != NULL ? input : "");
    }
    print_times(call, model, times);
    cli_print_outputs(&call->outputs, model);
    if (wants_steps(call, model)) {
        print_steps(model, call->json);
    }
    if (call->cut != NULL) {
        (call->json ? cli_cut_json : cli_cut_print)(call->cut);
    }
    if (cli_flag(call->args, "--layers") && !vta_kernels_is(vta_model_device_uri(model))) {
        (call->json ? cli_layers_json : cli_layers_text)(model);
    }
    cli_print("%s", call->json ? "}" : "");
    cli_flush();
    call->told++;
}

/* ---- models and runs */

/* "model" of "some/model.so". */
static void base_name(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    (void)snprintf(out, size, "%.*s", dot != NULL && dot != base ? (int)(dot - base) : (int)strlen(base),
                   base);
}

/* In the folder itself, or where there are several results, under names that tell them apart. */
static vta_status save_output(const run_call *call, const vta_model *model, const char *path, uint32_t which,
                              uint32_t cases, vta_diag *diag)
{
    const char *folder = cli_value(call->args, "--output-dir");
    char prefix[400] = "";
    if (folder == NULL) {
        return VTA_OK;
    }
    if (call->args->operand_count > 1) {
        base_name(path, prefix, sizeof prefix - 64);
        (void)snprintf(prefix + strlen(prefix), sizeof prefix - strlen(prefix), "_");
    }
    if (cases > 1) {
        (void)snprintf(prefix + strlen(prefix), sizeof prefix - strlen(prefix), "%u_", which);
    }
    return cli_save_outputs(model, folder, prefix, diag);
}

/* Simulates the run of a model in parts, by workers. */
static vta_status cut_run(run_call *call, vta_model *model, vta_diag *diag)
{
    bool leads = true;
    if (!call->cuts || vta_model_device(model) == NULL) {
        return VTA_OK;
    }
    const vta_status status =
        cli_cut_run(call->args, &call->how, model, call->device, &call->cut, &leads, diag);
    call->helps = !leads;
    return status;
}

static vta_status run_case(run_call *call, vta_model *model, const char *path, uint32_t which, uint32_t cases,
                           vta_diag *diag)
{
    double *times = calloc(call->repeat, sizeof *times);
    if (times == NULL) {
        return vta_no_memory(diag);
    }
    vta_status status = VTA_OK;
    VTA_TRY_OUT(cli_bind_case(&call->inputs, model, which, diag));
    VTA_TRY_OUT(cut_run(call, model, diag));
    if (call->helps) {
        goto out;
    }
    VTA_TRY_OUT(time_runs(call, model, times, diag));
    VTA_TRY_OUT(save_output(call, model, path, which, cases, diag));
    if (call->profile != NULL) {
        status = cli_profile_take(model, path, call->profile, diag);
        call->profile->runs = call->repeat;
        call->profile->wall_s = times[call->repeat / 2];
    }
    if (status == VTA_OK) {
        if (call->json && call->told == 0 && (cases > 1 || call->args->operand_count > 1)) {
            call->opened = true;
            cli_print("{\"results\": [");
        }
        print_result(call, model, path, cli_case_name(&call->inputs, model, which), times);
    }
out:
    free(times);
    return status;
}

/* ---- several cores */

/* Prints and saves a picture of a batch; of one that was run again, the first. */
static vta_status report_picture(void *context, vta_model *model, uint32_t picture, uint64_t cycles,
                                 vta_diag *diag)
{
    const batch_told *told = context;
    run_call *call = told->call;
    const char *input = cli_case_name(&call->inputs, model, picture);
    if (picture >= told->cases) {
        return VTA_OK;
    }
    VTA_TRY(save_output(call, model, told->path, picture, told->cases, diag));
    if (call->json) {
        cli_print("%s{\"input\": ", picture > 0 ? ", " : "\"results\": [");
        cli_json_string(input != NULL ? input : "");
        cli_print(", ");
    } else if (told->cases > 1) {
        cli_print("\n%s%s%s: %llu cycles\n", told->path, input != NULL ? " on " : "",
                  input != NULL ? input : "", (unsigned long long)cycles);
    }
    cli_print_outputs(&call->outputs, model);
    cli_put(!call->json ? "" : picture + 1 == told->cases ? "}]" : "}");
    return VTA_OK;
}

/* Pictures side by side. Where neither files nor --repeat say how many, there is one for each core. */
static vta_status run_batch(run_call *call, vta_model *model, const char *path, uint32_t cases,
                            vta_diag *diag)
{
    const uint32_t cores = vta_device_cores(vta_model_device(model));
    const bool given = call->repeats || cases > 1;
    batch_told told = {call, path, cases};
    const cli_batch batch = {.path = path,
                             .options = &call->model,
                             .inputs = &call->inputs,
                             .cases = cases,
                             .pictures = given ? cases * (uint32_t)call->repeat : cores,
                             .json = call->json,
                             .told = report_picture,
                             .context = &told};
    if (call->json) {
        cli_put(call->told > 0 ? ",\n " : "");
        if (call->told == 0 && call->args->operand_count > 1) {
            call->opened = true;
            cli_print("{\"results\": [");
        }
        cli_print("{\"model\": ");
        cli_json_string(path);
        cli_print(", ");
    } else if (call->args->operand_count > 1) {
        cli_print("%s%s:\n", call->told > 0 ? "\n" : "", path);
    }
    const vta_status status = cli_batch_run(&batch, model, diag);
    cli_print("%s", call->json && status == VTA_OK ? "}" : "");
    cli_flush();
    call->told++;
    return status;
}

/* True for options that look at one run, of one core. */
static bool looks_at_one(const cli_args *args)
{
    return cli_flag(args, "--layers") || cli_flag(args, "--steps") || cli_flag(args, "--profile");
}

static bool is_batch(const run_call *call, const vta_model *model, uint32_t cases)
{
    const vta_device *device = vta_model_device(model);
    return device != NULL && vta_device_cores(device) > 1 && !call->cuts && !looks_at_one(call->args) &&
           (cases > 1 || call->repeat > 1 || !call->repeats);
}

/* Says that a model which was compiled for the host leaves the device alone that was asked for. */
static void note_idle_device(const run_call *call, const vta_model *model, const char *path)
{
    if (call->device != NULL && *vta_model_device_uri(model) == '\0') {
        cli_say("vtac run: '%s' was compiled for the host alone; device '%s' is not used\n", path,
                call->device);
    }
}

static vta_status run_model(run_call *call, const char *path, vta_diag *diag)
{
    vta_model *model = NULL;
    uint32_t cases = 1;
    VTA_TRY(vta_model_load(path, &call->model, &model, diag));
    note_idle_device(call, model, path);
    vta_status status = cli_count_cases(&call->inputs, model, &cases, diag);
    if (status == VTA_OK && call->profile != NULL && cases > 1) {
        status = vta_fail(diag, VTA_INVALID, "--profile takes one run, not the %u of so many inputs", cases);
    }
    if (status == VTA_OK && call->cuts && cases > 1) {
        status =
            vta_fail(diag, VTA_INVALID, "one run is cut into parts, not the %u of so many inputs", cases);
    }
    if (status == VTA_OK && is_batch(call, model, cases)) {
        status = run_batch(call, model, path, cases, diag);
        vta_model_destroy(model);
        return status;
    }
    for (uint32_t i = 0; i < cases && status == VTA_OK; i++) {
        status = run_case(call, model, path, i, cases, diag);
    }
    vta_model_destroy(model);
    cli_cut_free(call->cut);
    call->cut = NULL;
    return status;
}

/* Asks a simulator for its timeline, by a parameter in its URI. */
static vta_status ask_for_timeline(run_call *call, char *uri, size_t size, vta_diag *diag)
{
    const char *device = call->model.device;
    const size_t scheme = device != NULL ? strcspn(device, ":?") : 0;
    const bool has_one = (scheme == 4 && strncmp(device, "tsim", scheme) == 0) ||
                         (scheme == 7 && strncmp(device, "systemc", scheme) == 0);
    if (call->profile == NULL || !has_one) {
        return VTA_OK;
    }
    if (strstr(device, "timeline=") != NULL) {
        return vta_fail(diag, VTA_INVALID, "--profile has the timeline in it; leave it out of '%s'", device);
    }
    const vta_status status = cli_temporary_file("timeline", call->timeline, diag);
    if (status != VTA_OK) {
        call->timeline[0] = '\0';
        return status;
    }
    const int whole = snprintf(uri, size, "%s%ctimeline=%s", device, strchr(device, '?') != NULL ? '&' : '?',
                               call->timeline);
    if (whole < 0 || (size_t)whole >= size) {
        return vta_fail(diag, VTA_INVALID, "'%s' with a timeline is too long", device);
    }
    call->model.device = uri;
    return VTA_OK;
}

/* After the model, and with it the device, is closed: only now the timeline is complete. */
static vta_status write_profile(run_call *call, const char *device, vta_diag *diag)
{
    size_t at = 0;
    if (call->timeline[0] != '\0') {
        VTA_TRY(cli_profile_timeline(call->profile, call->timeline, diag));
        call->profile->device = device;
    }
    for (const char *path = cli_next(call->args, "--profile", &at); path != NULL;
         path = cli_next(call->args, "--profile", &at)) {
        VTA_TRY(cli_profile_write(call->profile, path, diag));
    }
    return VTA_OK;
}

static vta_status run_profiled(run_call *call, vta_diag *diag)
{
    char uri[2 * VTAC_TEMPORARY_PATH];
    cli_profile profile = {0};
    const char *device = call->model.device;
    call->profile = &profile;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(ask_for_timeline(call, uri, sizeof uri, diag));
    VTA_TRY_OUT(run_model(call, call->args->operands[0], diag));
out:
    status = status == VTA_OK && !call->helps ? write_profile(call, device, diag) : status;
    if (call->timeline[0] != '\0') {
        cli_temporary_remove(call->timeline);
    }
    call->profile = NULL;
    call->model.device = device;
    cli_profile_free(&profile);
    return status;
}

/* Lines for a person at a terminal: what the results leave out. */
static void print_hints(const run_call *call)
{
    const cli_args *args = call->args;
    if (call->json || call->told == 0 || !cli_fancy(STDERR_FILENO)) {
        return;
    }
    if (!cli_flag(args, "--input")) {
        cli_say("vtac run: inputs are made up; --input FILE gives others\n");
    }
    if (!cli_flag(args, "--top") && !cli_flag(args, "--output-dir")) {
        cli_say("vtac run: --top N prints the largest values, --output-dir DIR keeps all\n");
    }
    size_t at = 0;
    for (const char *path = cli_next(args, "--profile", &at); path != NULL;
         path = cli_next(args, "--profile", &at)) {
        cli_say("vtac run: '%s' says where the time went\n", path);
    }
}

static int run_models(run_call *call)
{
    vta_diag diag = {0};
    vta_status status = VTA_OK;
    const char *labels = cli_value(call->args, "--labels");
    if (labels != NULL) {
        status = cli_read_labels(labels, &call->outputs, &diag);
    }
    if (cli_flag(call->args, "--profile")) {
        if (status == VTA_OK) {
            status = run_profiled(call, &diag);
        }
    }
    for (size_t i = 0;
         !cli_flag(call->args, "--profile") && i < call->args->operand_count && status == VTA_OK; i++) {
        status = run_model(call, call->args->operands[i], &diag);
    }
    cli_free_outputs(&call->outputs);
    if (call->json && call->told > 0) {
        cli_print(call->opened ? "]}\n" : "\n");
    }
    if (status == VTA_OK) {
        print_hints(call);
        return cli_done(call->args);
    }
    const int failed = cli_fail(call->args, &diag);
    return status == VTA_INTERRUPTED ? CLI_INTERRUPTED : failed;
}

/* ---- the command line */

/* Output files of two models of one name would be the same. */
static int check_names(const cli_args *args)
{
    char a[256];
    char b[256];
    for (size_t i = 0; cli_flag(args, "--output-dir") && i < args->operand_count; i++) {
        base_name(args->operands[i], a, sizeof a);
        for (size_t k = i + 1; k < args->operand_count; k++) {
            base_name(args->operands[k], b, sizeof b);
            if (strcmp(a, b) == 0) {
                return cli_usage(args, "two models are called '%s': give each an --output-dir of its own", a);
            }
        }
    }
    return CLI_OK;
}

static int list_presets(const cli_args *args)
{
#define CLI_PREPROCESS(name, scale, mean, std, order, doc) cli_print("%-10s %s\n", name, doc);
#include "preprocess.def"
#undef CLI_PREPROCESS
    cli_print(
        "\nAn element is (pixel / scale - mean) / std, channel by channel, in the input's type. The short\n"
        "side is scaled, bilinearly, to the input's over crop (0.875: 256 for 224), and the middle cut\n"
        "out; a picture of exactly the input's size is taken as it is, alpha is laid over white.\n");
    return cli_done(args);
}

/* --jobs and its like: whether a run is cut, and by whom its parts are simulated. */
static int read_work(run_call *call)
{
    const cli_args *args = call->args;
    const char *device = cli_value(args, "--device");
    const bool tsim = device != NULL && strncmp(device, "tsim", 4) == 0 && strcspn(device, ":?") == 4;
    if (cli_read_work(args, &call->how) != CLI_OK) {
        return CLI_USAGE;
    }
    const bool asked = cli_value(args, "--jobs") != NULL || call->how.options.folder != NULL;
    call->cuts = tsim && (asked || call->how.options.engine == VTAC_WORK_MPI);
    call->device = device;
    if (asked && !tsim) {
        return cli_usage(args, "runs of '--device tsim' are cut into parts, those of '%s' are not",
                         device != NULL ? device : "fsim");
    }
    return call->cuts && (call->repeat > 1 || args->operand_count > 1)
               ? cli_usage(args, "one run of one model is cut into parts")
               : CLI_OK;
}

/* Asks the device for as many cores, by a parameter in its URI. */
static int ask_for_cores(run_call *call, char *uri, size_t size)
{
    const char *device = call->model.device != NULL ? call->model.device : "fsim";
    if (call->cores == 0) {
        return CLI_OK;
    }
    if (strstr(device, "cores=") != NULL) {
        return cli_usage(call->args, "'%s' and --cores both say how many", device);
    }
    if (call->cores > 1 && (looks_at_one(call->args) || call->cuts)) {
        return cli_usage(call->args, "--layers, --steps, --profile and --jobs look at a run of one core");
    }
    const int whole = snprintf(uri, size, "%s%ccores=%u", device, strchr(device, '?') != NULL ? '&' : '?',
                               (uint32_t)call->cores);
    if (whole < 0 || (size_t)whole >= size) {
        return cli_usage(call->args, "'%s' with --cores is too long", device);
    }
    call->model.device = uri;
    return CLI_OK;
}

static int run_run(const cli_args *args)
{
    const char *how = cli_value(args, "--preprocess");
    if (how != NULL && strcmp(how, "list") == 0) {
        return list_presets(args);
    }
    if (args->operand_count == 0) {
        return cli_usage(args, "expected MODEL.so");
    }
    run_call call = {.args = args, .json = cli_flag(args, "--json")};
    enum { NUMBERS = 4 };
    char uri[2 * VTAC_TEMPORARY_PATH];
    uint64_t numbers[NUMBERS] = {1, cli_flag(args, "--labels") ? 5 : 0, 0, 0};
    static const char *const names[NUMBERS] = {"--repeat", "--top", "--threads", "--cores"};
    for (int i = 0; i < NUMBERS; i++) {
        const char *text = cli_value(args, names[i]);
        if (text != NULL &&
            (!cli_number(text, &numbers[i]) || numbers[i] > 1000000 || (i != 1 && numbers[i] == 0))) {
            return cli_usage(args, "%s takes a number up to 1000000, not '%s'", names[i], text);
        }
    }
    const char *timeout = cli_value(args, "--timeout");
    if (timeout != NULL && !cli_seconds(timeout, &call.model.timeout_s)) {
        return cli_usage(args, "--timeout takes seconds, not '%s'", timeout);
    }
    size_t at = 0;
    for (const char *path = cli_next(args, "--profile", &at); path != NULL;
         path = cli_next(args, "--profile", &at)) {
        if (!cli_profile_knows(path) || args->operand_count > 1) {
            return cli_usage(args, "--profile takes one model and a file .html, .json or trace.json");
        }
    }
    if (cli_read_inputs(args, &call.inputs) != CLI_OK || check_names(args) != CLI_OK ||
        cli_check_generate(args) != CLI_OK) {
        return CLI_USAGE;
    }
    call.repeat = numbers[0];
    call.repeats = cli_value(args, "--repeat") != NULL;
    call.cores = numbers[3];
    if (read_work(&call) != CLI_OK) {
        return CLI_USAGE;
    }
    call.outputs.top = numbers[1];
    call.outputs.json = call.json;
    call.model.threads = (uint32_t)numbers[2];
    call.model.device = cli_value(args, "--device");
    call.model.progress = cli_progress();
    if (ask_for_cores(&call, uri, sizeof uri) != CLI_OK) {
        return CLI_USAGE;
    }
    cli_die_tidily();
    return cli_flag(args, "--generate") ? cli_generate(args, &call.model) : run_models(&call);
}

const cli_verb cli_verb_run = {
    .name = "run",
    .operands = "MODEL.so ...",
    .summary = "run compiled models",
    .more = "Several files for one input make as many runs. Pictures are made to fit. HOW:\n  "
#define CLI_PREPROCESS(name, scale, mean, std, order, doc) " " name
#include "preprocess.def"
#undef CLI_PREPROCESS
            "\nand then, or alone, mean=,std=,scale=,crop=,order=rgb|bgr,layout=nchw|nhwc\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 0,
    .max = 64,
    .run = run_run,
};
