/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac bench MODEL: how long a model takes, whole and step by step. A model that is not compiled yet is, for
 * this machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "bench_model.h"
#include "calib.h"
#include "inputs.h"
#include "layers.h"
#include "passes.h"
#include "place.h"
#include "stages.h"
#include "table.h"
#include "temporary.h"
#include "vta/clock.h"
#include "vta/fail.h"
#include "vta/kernels.h"
#include "watch.h"

enum { MIN_RUNS = 5, MAX_RUNS = 10000, WARM_RUNS = 2 };
static const double enough_s = 1.0; /* of measuring, where --repeat does not say */

typedef struct measure {
    double median, min, max;
    double spread; /* the middle half's width, of the median */
} measure;

typedef struct model_bench {
    const cli_args *args;
    vta_model *model;
    uint64_t runs, capacity;
    uint32_t step_count;
    double *whole;  /* of each run */
    double *steps;  /* of each run, of each step */
    double *device; /* of each run, by the clock of a device that runs kernels; NULL: there is none */
    double slower;  /* --pipeline: the board's processor */
    double *parts;  /* of each step: its speed, of the best of its kind */
} model_bench;

/* ---- the model */

static bool is_compiled(const char *path)
{
    const size_t size = strlen(path);
    return size > 3 && strcmp(path + size - 3, ".so") == 0;
}

static vta_status compile_to(const cli_args *args, const cli_offload *offload, const cli_shapes *shapes,
                             int level, const char *path, vta_diag *diag)
{
    const char *host = cli_value(args, "--host");
    vtac_graph *graph = NULL;
    VTA_TRY(cli_load_graph(args, args->operands[0], shapes, &graph, diag));
    vta_status status = offload->wanted ? cli_quantize_float(args, graph, NULL, diag) : VTA_OK;
    if (status == VTA_OK) {
        status = cli_compile_graph(graph, host != NULL ? host : "host", level, offload, path, diag);
    }
    vtac_graph_destroy(graph);
    return status == VTA_OK ? VTA_OK : vta_context(diag, "%s", args->operands[0]);
}

/* Use of a compiled model; its file may be temporary. */
typedef vta_status use_model(model_bench *b, const vta_model_options *options, const char *path,
                             vta_diag *diag);

static vta_status with_model(model_bench *b, const cli_offload *offload, const cli_shapes *shapes, int level,
                             const vta_model_options *options, use_model *use, vta_diag *diag)
{
    const cli_args *args = b->args;
    char path[VTAC_TEMPORARY_PATH];
    if (is_compiled(args->operands[0])) {
        return use(b, options, args->operands[0], diag);
    }
    VTA_TRY(cli_temporary_file("bench", path, diag));
    cli_stages_begin();
    vta_status status = compile_to(args, offload, shapes, level, path, diag);
    cli_stages_end();
    if (status == VTA_OK) {
        status = use(b, options, path, diag);
    }
    cli_temporary_remove(path);
    return status;
}

/* ---- measuring */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts the times. */
static measure measure_of(double *times, uint64_t count)
{
    qsort(times, count, sizeof *times, by_value);
    const double median = times[count / 2];
    const double half = times[count - 1 - count / 4] - times[count / 4];
    return (measure){median, times[0], times[count - 1], median > 0.0 ? half / median : 0.0};
}

/* The clock around each step costs little, but something: the whole is measured without. */
static vta_status run_both(model_bench *b, vta_diag *diag)
{
    const vta_step_profile *steps;
    uint32_t count;
    const double begin = vta_now();
    VTA_TRY(vta_model_run(b->model, diag));
    b->whole[b->runs] = vta_now() - begin;
    if (b->steps != NULL || b->device != NULL) {
        VTA_TRY(vta_model_profile(b->model, &steps, &count, diag));
        for (uint32_t i = 0; i < count && b->steps != NULL; i++) {
            b->steps[(size_t)i * b->capacity + b->runs] = steps[i].seconds;
        }
        for (uint32_t i = 0; i < count && b->device != NULL; i++) {
            b->device[b->runs] += steps[i].seconds;
        }
    }
    b->runs++;
    return VTA_OK;
}

static vta_status measure_all(model_bench *b, bool counted, vta_diag *diag)
{
    cli_watch *watch = cli_watch_begin(b->model, b->capacity);
    cli_catch_signals(cli_stop_model, b->model);
    vta_status status = VTA_OK;
    for (int i = 0; i < WARM_RUNS && status == VTA_OK && !counted; i++) {
        status = vta_model_run(b->model, diag);
    }
    const double begin = vta_now();
    while (status == VTA_OK && b->runs < b->capacity &&
           (counted || b->runs < MIN_RUNS || vta_now() - begin < enough_s)) {
        status = run_both(b, diag);
        cli_watch_run(watch);
    }
    cli_catch_signals(NULL, NULL);
    cli_watch_end(watch);
    return status;
}

/* ---- results */

static double rate_of(uint64_t flops, double seconds)
{
    return seconds > 0.0 ? 1e-9 * (double)flops / seconds : 0.0;
}

/* Floating-point operations of a step on the host. Operations of the accelerator are counted with its layers.
 */
static uint64_t step_flops(const vta_model *model, uint32_t step, const vta_step_profile *s)
{
    uint32_t count;
    uint64_t flops = s->flops;
    const vta_layer_profile *layers = vta_model_layers(model, &count);
    for (uint32_t i = 0; i < count && s->on_accelerator && s->flops == 0; i++) {
        flops += layers[i].step == step ? 2 * layers[i].macs : 0;
    }
    return flops;
}

/* Measurement of step i over all runs. */
static measure step_measure(const model_bench *b, uint32_t i, double *rate)
{
    uint32_t count;
    const vta_step_profile *s = &vta_model_steps(b->model, &count)[i];
    const measure m = measure_of(b->steps + (size_t)i * b->capacity, b->runs);
    *rate = rate_of(step_flops(b->model, i, s), m.median);
    return m;
}

/* Steps of one kind do the same work: those of an operator, depthwise convolutions apart from others. */
static bool is_depthwise(const char *name)
{
    const char *at = strstr(name, ".depthwise");
    return at != NULL && strchr("+", at[strlen(".depthwise")]) != NULL;
}

static bool same_kind(const vta_step_profile *a, const vta_step_profile *b)
{
    return strcmp(a->op, b->op) == 0 && is_depthwise(a->name) == is_depthwise(b->name) &&
           a->on_accelerator == b->on_accelerator;
}

/* Length of the layer's name in a step's name, without the kind and without fused operators. */
static size_t layer_name(const char *name)
{
    const char *depthwise = strstr(name, ".depthwise");
    const size_t size = strcspn(name, "+");
    return depthwise != NULL && (size_t)(depthwise - name) < size ? (size_t)(depthwise - name) : size;
}

/* True if a step without products prepares or finishes the work of `main`: a kernel is not fast if other
 * steps transpose its operands first. */
static bool belongs_to(const vta_step_profile *step, const vta_step_profile *main)
{
    const size_t size = layer_name(main->name);
    return step->flops == 0 && strcmp(step->op, main->op) == 0 &&
           strncmp(step->name, main->name, size) == 0 && step->name[size] == '.';
}

/* Rate of step i over its own time and that of the steps that belong to it. The minimum of all runs counts,
 * since medians of a busy machine measure the other work. */
static double layer_rate(const model_bench *b, uint32_t i, double *seconds)
{
    uint32_t count;
    double rate;
    const vta_step_profile *steps = vta_model_steps(b->model, &count);
    const uint64_t flops = step_flops(b->model, i, &steps[i]);
    *seconds = step_measure(b, i, &rate).min;
    for (uint32_t k = 0; k < count && steps[i].flops > 0; k++) {
        *seconds += k != i && belongs_to(&steps[k], &steps[i]) ? step_measure(b, k, &rate).min : 0.0;
    }
    return rate_of(flops, *seconds);
}

static const double worth_telling = 0.01; /* of the whole time: shorter steps are made of overhead */

/* Estimates for each step, with the steps that belong to it, its share of the best rate of its kind. The
 * share is 1 for steps without others of their kind, steps that only move numbers and steps that take next
 * to no time. */
static vta_status estimate_steps(model_bench *b, vta_diag *diag)
{
    uint32_t count;
    const vta_step_profile *steps = vta_model_steps(b->model, &count);
    double whole = 0.0;
    double *rates = calloc((size_t)count + 1, sizeof *rates);
    b->parts = calloc((size_t)count + 1, sizeof *b->parts);
    if (rates == NULL || b->parts == NULL) {
        free(rates);
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < count; i++) {
        whole += step_measure(b, i, &rates[i]).min;
    }
    for (uint32_t i = 0; i < count; i++) {
        double seconds;
        const double rate = layer_rate(b, i, &seconds);
        rates[i] = seconds >= worth_telling * whole ? rate : 0.0;
    }
    for (uint32_t i = 0; i < count; i++) {
        double best = rates[i];
        for (uint32_t k = 0; k < count && rates[i] > 0.0; k++) {
            best = rates[k] > best && same_kind(&steps[i], &steps[k]) ? rates[k] : best;
        }
        b->parts[i] = rates[i] > 0.0 ? rates[i] / best : 1.0;
    }
    free(rates);
    return VTA_OK;
}

static bool is_slow(const model_bench *b, uint32_t i)
{
    return b->parts[i] < 0.5;
}

static void fill_step(const void *context, uint32_t row, cli_cell *cells)
{
    const model_bench *b = context;
    uint32_t count;
    double rate;
    const measure m = step_measure(b, row, &rate);
    cli_cell_print(&cells[0], "%.1f us", 1e6 * m.median);
    cli_cell_print(&cells[1], "%.1f %%", 100 * m.median / measure_of(b->whole, b->runs).median);
    cli_cell_print(&cells[2], "%.2f GFLOP/s", rate);
    cli_cell_print(&cells[3], "+-%.1f %%", 50 * m.spread);
    cells[4].text = vta_model_steps(b->model, &count)[row].name;
    cells[5].text = vta_model_steps(b->model, &count)[row].op;
    if (is_slow(b, row)) {
        cli_cell_print(&cells[6], "slow: %.0f %%", 100 * b->parts[row]);
    } else {
        cells[6].text = "";
    }
}

static void json_step(const model_bench *b, uint32_t i)
{
    uint32_t count;
    const vta_step_profile *s = &vta_model_steps(b->model, &count)[i];
    double rate;
    const measure m = step_measure(b, i, &rate);
    cli_put(i > 0 ? ",\n " : "");
    cli_print("{\"name\": ");
    cli_json_string(s->name);
    cli_print(", \"op\": ");
    cli_json_string(s->op);
    cli_print(", \"median_us\": %.3f, \"least_us\": %.3f, \"spread\": %.4f, \"gflops\": %.3f, "
              "\"cycles\": %llu, \"slow\": %s}",
              1e6 * m.median, 1e6 * m.min, m.spread, rate, (unsigned long long)s->cycles,
              is_slow(b, i) ? "true" : "false");
}

static uint64_t flops_of(const model_bench *b)
{
    uint32_t count;
    uint64_t flops = 0;
    const vta_step_profile *steps = vta_model_steps(b->model, &count);
    for (uint32_t i = 0; i < count; i++) {
        flops += step_flops(b->model, i, &steps[i]);
    }
    return flops;
}

static void print_json(const model_bench *b)
{
    const measure m = measure_of(b->whole, b->runs);
    const uint64_t flops = flops_of(b);
    cli_print("{\"model\": ");
    cli_json_string(b->args->operands[0]);
    cli_print(", \"device\": ");
    cli_json_string(vta_model_device_uri(b->model));
    cli_print(", \"threads\": %u, \"runs\": %llu, \"median_ms\": %.5f, \"least_ms\": %.5f, "
              "\"most_ms\": %.5f, \"spread\": %.4f, \"flops\": %llu, \"gflops\": %.3f, "
              "\"cycles\": %llu",
              vta_model_threads(b->model), (unsigned long long)b->runs, 1e3 * m.median, 1e3 * m.min,
              1e3 * m.max, m.spread, (unsigned long long)flops, rate_of(flops, m.median),
              (unsigned long long)vta_model_cycles(b->model));
    if (b->device != NULL) {
        const measure there = measure_of(b->device, b->runs);
        cli_print(", \"device_median_ms\": %.5f, \"device_least_ms\": %.5f", 1e3 * there.median,
                  1e3 * there.min);
    }
    if (b->steps != NULL) {
        cli_print(", \"steps\": [");
        for (uint32_t i = 0; i < b->step_count; i++) {
            json_step(b, i);
        }
        cli_print("]");
        cli_layers_json(b->model);
    }
    cli_print("}\n");
}

/* Explains the word "slow", if any step has it. */
static void explain_slow(const model_bench *b)
{
    for (uint32_t i = 0; i < b->step_count; i++) {
        if (is_slow(b, i)) {
            cli_sentence(0, "slow: with the steps that prepare and finish it, the share of the speed that "
                            "the best step of its kind reaches here");
            return;
        }
    }
}

static void print_text(const model_bench *b)
{
    static const cli_column columns[] = {{"", CLI_FIGURE}, {"", CLI_FIGURE}, {"", CLI_FIGURE},
                                         {"", CLI_FIGURE}, {"", CLI_NAME},   {"", CLI_NAME},
                                         {"", CLI_WORD}};
    const measure m = measure_of(b->whole, b->runs);
    const uint64_t cycles = vta_model_cycles(b->model);
    cli_sentence(0, "%s: median %.3f ms +-%.1f %%, least %.3f ms, most %.3f ms of %llu runs, %.2f GFLOP/s",
                 b->args->operands[0], 1e3 * m.median, 50 * m.spread, 1e3 * m.min, 1e3 * m.max,
                 (unsigned long long)b->runs, rate_of(flops_of(b), m.median));
    if (b->device != NULL) {
        const measure there = measure_of(b->device, b->runs);
        cli_print("%s: median %.3f ms +-%.1f %%, least %.3f ms, the steps by its own clock\n",
                  vta_model_device_uri(b->model), 1e3 * there.median, 50 * there.spread, 1e3 * there.min);
    }
    if (cycles > 0) {
        cli_print("%llu cycles on %s\n", (unsigned long long)cycles, vta_model_device_uri(b->model));
    }
    if (b->steps != NULL) {
        cli_table(columns, sizeof columns / sizeof columns[0], b->step_count, fill_step, b);
        explain_slow(b);
        cli_layers_text(b->model);
    }
}

static vta_status time_model(model_bench *b, uint64_t repeat, vta_diag *diag)
{
    cli_inputs inputs;
    if (cli_read_inputs(b->args, &inputs) != CLI_OK) {
        return VTA_INVALID;
    }
    VTA_TRY(cli_bind_case(&inputs, b->model, 0, diag));
    (void)vta_model_steps(b->model, &b->step_count);
    b->capacity = repeat > 0 ? repeat : MAX_RUNS;
    b->whole = calloc(b->capacity, sizeof *b->whole);
    if (cli_flag(b->args, "--layers")) {
        b->steps = calloc(b->capacity * ((size_t)b->step_count + 1), sizeof *b->steps);
    }
    const bool has_clock = vta_kernels_is(vta_model_device_uri(b->model));
    b->device = has_clock ? calloc(b->capacity, sizeof *b->device) : NULL;
    if (b->whole == NULL || (has_clock && b->device == NULL) ||
        (cli_flag(b->args, "--layers") && b->steps == NULL)) {
        return vta_no_memory(diag);
    }
    VTA_TRY(measure_all(b, repeat > 0, diag));
    VTA_TRY(b->steps != NULL ? estimate_steps(b, diag) : VTA_OK);
    (cli_flag(b->args, "--json") ? print_json : print_text)(b);
    return VTA_OK;
}

static vta_status load_model(model_bench *b, const vta_model_options *options, const char *path,
                             vta_diag *diag)
{
    return vta_model_load(path, options, &b->model, diag);
}

static vta_status time_overlapped(model_bench *b, const vta_model_options *options, const char *path,
                                  vta_diag *diag)
{
    return cli_bench_pipeline(b->args, options, path, b->capacity, b->slower, diag);
}

int cli_bench_model(const cli_args *args)
{
    cli_offload offload;
    cli_shapes shapes;
    uint64_t numbers[3] = {0, 0, 3};
    static const char *const names[] = {"--repeat", "--threads", "-O"};
    static const uint64_t limits[] = {MAX_RUNS, 1024, 3};
    for (int i = 0; i < 3; i++) {
        const char *text = cli_value(args, names[i]);
        if (text != NULL &&
            (!cli_number(text, &numbers[i]) || numbers[i] > limits[i] || (i < 2 && numbers[i] == 0))) {
            return cli_usage(args, "%s takes a number up to %llu, not '%s'", names[i],
                             (unsigned long long)limits[i], text);
        }
    }
    if (cli_read_offload(args, &offload) != CLI_OK || cli_read_shapes(args, &shapes) != CLI_OK) {
        return CLI_USAGE;
    }
    const bool pipelined = cli_flag(args, "--pipeline");
    const char *slower = cli_value(args, "--slower");
    const char *device = cli_value(args, "--device");
    const vta_model_options options = {.threads = (uint32_t)numbers[1],
                                       .device = device == NULL && pipelined ? "tsim" : device,
                                       .progress = cli_progress()};
    model_bench b = {.args = args, .capacity = pipelined ? numbers[0] : 0, .slower = 1};
    vta_diag diag = {0};
    if (slower != NULL && (!cli_seconds(slower, &b.slower) || b.slower <= 0)) {
        return cli_usage(args, "--slower takes a number above 0, not '%s'", slower);
    }
    vta_status status = with_model(&b, &offload, &shapes, (int)numbers[2], &options,
                                   pipelined ? time_overlapped : load_model, &diag);
    status = status == VTA_OK && !pipelined ? time_model(&b, numbers[0], &diag) : status;
    vta_model_destroy(b.model);
    free(b.whole);
    free(b.steps);
    free(b.device);
    free(b.parts);
    if (status == VTA_OK) {
        return cli_done(args);
    }
    const int failed = cli_fail(args, &diag);
    return status == VTA_INTERRUPTED ? CLI_INTERRUPTED : failed;
}
