/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac run: a compiled model on inputs from files, or filled.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "layers.h"
#include "tensors.h"

static const cli_option options[] = {
    {"--input", "[NAME=]FILE", CLI_FILE, "an input, .npy or .pb (may be repeated)"},
    {"--fill", "HOW", CLI_TEXT, "other inputs: zeros, ones, random (default)"},
    {"--seed", "N", CLI_TEXT, "seed of random inputs (default 1)"},
    {"--output-dir", "DIR", CLI_FILE, "write each output as NAME.npy"},
    {"--top", "N", CLI_TEXT, "print the N largest values of each output"},
    {"--repeat", "N", CLI_TEXT, "run N times and print the times"},
    {"--device", "URI", CLI_DEVICE, "the accelerator: fsim (default), tsim, systemc, …"},
    {"--timeout", "SECONDS", CLI_TEXT, "give up a launch after this long"},
    {"--threads", "N", CLI_TEXT, "threads (default: VTAC_THREADS, or all cores)"},
    {"--layers", NULL, CLI_FLAG, "the accelerator's layers: predicted, measured, why"},
    {"--profile", NULL, CLI_FLAG, "print where the time went, step by step"},
    {"--json", NULL, CLI_FLAG, "print everything as JSON"},
};

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- inputs
 * ----------------------------------------------------------------------------------------------------------
 */

static vta_status give(vta_model *model, uint32_t i, const char *path, vta_arena *arena, vta_diag *diag)
{
    const vta_tensor_info info = vta_model_input(model, i);
    vtac_tensor tensor;
    char wanted[160];
    char given[160];
    VTA_TRY(cli_read_tensor(path, arena, &tensor, diag));
    const vtac_tensor own = cli_as_tensor(&info, NULL);
    if (tensor.type.dtype != own.type.dtype || tensor.bytes != info.bytes) {
        return vta_fail(diag, VTA_INVALID, "%s: it is %s, input '%s' needs %s", path,
                        vtac_type_text(&tensor.type, given, sizeof given), info.name,
                        vtac_type_text(&own.type, wanted, sizeof wanted));
    }
    return vta_model_set_input(model, i, tensor.data, tensor.bytes, diag);
}

static vta_status given_input(vta_model *model, const char *text, bool *taken, uint32_t count, vta_diag *diag)
{
    const char *equals = strchr(text, '=');
    uint32_t which = count;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = vta_model_input(model, i).name;
        if (equals == NULL ? which == count && !taken[i]
                           : strlen(name) == (size_t)(equals - text) &&
                                 strncmp(name, text, (size_t)(equals - text)) == 0) {
            which = i;
        }
    }
    if (which == count) {
        return vta_fail(diag, VTA_INVALID, "'%s' names no input of the model, whose first is '%s'", text,
                        count > 0 ? vta_model_input(model, 0).name : "");
    }
    taken[which] = true;
    vta_arena arena = {0};
    const vta_status status = give(model, which, equals == NULL ? text : equals + 1, &arena, diag);
    vta_arena_free(&arena);
    return status;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Floats in -1 … 1, integers over their range, bools 0 or 1. */
static void fill(vta_model *model, uint32_t i, const char *how, uint64_t *state)
{
    const vta_tensor_info info = vta_model_input(model, i);
    const vtac_dtype dtype = cli_dtype(&info);
    uint8_t *data = vta_model_input_data(model, i);
    const size_t size = vtac_dtype_bytes(dtype);
    for (size_t at = 0; at + size <= info.bytes; at += size) {
        const uint64_t bits = how[0] == 'r' ? next_random(state) : how[0] == 'o';
        const double unit = how[0] == 'r' ? (double)(bits >> 11) * 0x1p-52 - 1.0 : (double)bits;
        const float narrow = (float)unit;
        uint32_t word;
        memcpy(&word, &narrow, sizeof word);
        const uint16_t brain = (uint16_t)(word >> 16);
        const uint16_t half = how[0] == 'r' ? (uint16_t)(0x3000 + (bits & 0x87ff)) : bits != 0 ? 0x3c00 : 0;
        const uint8_t bit = bits & 1;
        const void *from = dtype == VTAC_F32    ? (const void *)&narrow
                           : dtype == VTAC_F64  ? (const void *)&unit
                           : dtype == VTAC_BF16 ? (const void *)&brain
                           : dtype == VTAC_F16  ? (const void *)&half
                           : dtype == VTAC_BOOL ? (const void *)&bit
                                                : (const void *)&bits;
        memcpy(data + at, from, size);
    }
}

static vta_status bind_inputs(const cli_args *args, vta_model *model, vta_diag *diag)
{
    const uint32_t count = vta_model_input_count(model);
    bool *taken = calloc((size_t)count + 1, sizeof *taken);
    if (taken == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory");
    }
    vta_status status = VTA_OK;
    size_t at = 0;
    for (const char *text = cli_next(args, "--input", &at); text != NULL && status == VTA_OK;
         text = cli_next(args, "--input", &at)) {
        status = given_input(model, text, taken, count, diag);
    }
    const char *how = cli_value(args, "--fill");
    const char *seed_text = cli_value(args, "--seed");
    uint64_t seed = 1;
    if (seed_text != NULL && !cli_number(seed_text, &seed)) {
        status = vta_fail(diag, VTA_INVALID, "--seed takes a number, not '%s'", seed_text);
    }
    seed = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (uint32_t i = 0; i < count && status == VTA_OK; i++) {
        if (!taken[i]) {
            fill(model, i, how == NULL ? "random" : how, &seed);
        }
    }
    free(taken);
    return status;
}

/* ---- results
 * ---------------------------------------------------------------------------------------------------------
 */

static void print_top(const vtac_tensor *t, const char *name, uint64_t top, bool json)
{
    const int64_t elements = vtac_type_elements(&t->type);
    (void)printf(json ? ", \"top\": [" : "%s:\n", name);
    double limit = HUGE_VAL;
    int64_t last = -1;
    for (uint64_t n = 0; n < top && (int64_t)n < elements; n++) {
        int64_t best = -1;
        for (int64_t i = 0; i < elements; i++) {
            const double v = vtac_tensor_float(t, i);
            const bool later = v < limit || (v == limit && i > last);
            if (later && (best < 0 || v > vtac_tensor_float(t, best))) {
                best = i;
            }
        }
        if (best < 0) {
            break;
        }
        limit = vtac_tensor_float(t, best);
        last = best;
        (void)printf(json ? "%s{\"index\": %lld, \"value\": %.9g}" : "%s  %6lld  %.6g\n",
                     json && n > 0 ? ", " : "", (long long)best, limit);
    }
    (void)printf("%s", json ? "]" : "");
}

static vta_status save(const char *folder, const vta_tensor_info *info, const void *data, vta_diag *diag)
{
    char path[4200];
    char name[256];
    (void)snprintf(name, sizeof name, "%s", info->name);
    for (char *p = name; *p != '\0'; p++) {
        if (*p == '/' || *p == ':') {
            *p = '_';
        }
    }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return vta_fail(diag, VTA_IO, "%s: %s", folder, strerror(errno));
    }
    (void)snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    return cli_write_npy(path, info, data, diag);
}

static void print_output(const vta_tensor_info *info, const vtac_tensor *t, uint64_t top, bool json)
{
    char type[160];
    (void)vtac_type_text(&t->type, type, sizeof type);
    if (json) {
        (void)printf("{\"name\": ");
        cli_json_string(info->name);
        (void)printf(", \"type\": \"%s\"", type);
    } else {
        (void)printf("output '%s': %s\n", info->name, type);
    }
    if (top > 0) {
        print_top(t, info->name, top, json);
    }
    (void)printf("%s", json ? "}" : "");
}

static vta_status print_outputs(const cli_args *args, const vta_model *model, uint64_t top, bool json,
                                vta_diag *diag)
{
    const char *folder = cli_value(args, "--output-dir");
    (void)printf("%s", json ? ", \"outputs\": [" : "");
    for (uint32_t i = 0; i < vta_model_output_count(model); i++) {
        const vta_tensor_info info = vta_model_output(model, i);
        const vtac_tensor t = cli_as_tensor(&info, vta_model_output_data(model, i));
        (void)printf("%s", json && i > 0 ? ", " : "");
        print_output(&info, &t, top, json);
        if (folder != NULL) {
            VTA_TRY(save(folder, &info, t.data, diag));
        }
    }
    (void)printf("%s", json ? "]" : "");
    return VTA_OK;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Of one run on the accelerator; 0 where nothing runs there or the device has no clock. */
static uint64_t count_cycles(const vta_model *model)
{
    uint32_t count;
    uint64_t cycles = 0;
    const vta_step_profile *steps = vta_model_steps(model, &count);
    for (uint32_t i = 0; i < count; i++) {
        cycles += steps[i].cycles;
    }
    return cycles;
}

static vta_status time_runs(vta_model *model, uint64_t repeat, bool json, vta_diag *diag)
{
    double *times = calloc(repeat, sizeof *times);
    vta_status status = VTA_OK;
    if (times == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory");
    }
    for (uint64_t i = 0; i < repeat && status == VTA_OK; i++) {
        const double begin = now();
        status = vta_model_run(model, diag);
        times[i] = now() - begin;
    }
    if (status == VTA_OK) {
        qsort(times, repeat, sizeof *times, by_value);
        (void)printf(json ? "\"runs\": %llu, \"median_ms\": %.4f, \"min_ms\": %.4f, \"max_ms\": %.4f"
                          : "%llu runs: median %.3f ms, least %.3f ms, most %.3f ms\n",
                     (unsigned long long)repeat, 1e3 * times[repeat / 2], 1e3 * times[0],
                     1e3 * times[repeat - 1]);
        const uint64_t cycles = count_cycles(model);
        if (json) {
            (void)printf(", \"cycles\": %llu, \"wall_s\": %.6f", (unsigned long long)cycles,
                         times[repeat / 2]);
        } else if (cycles > 0) {
            (void)printf("%llu cycles on %s\n", (unsigned long long)cycles,
                         vta_model_device_uri(model));
        }
    }
    free(times);
    return status;
}

static vta_status print_profile(vta_model *model, bool json, vta_diag *diag)
{
    const vta_step_profile *steps;
    uint32_t count;
    VTA_TRY(vta_model_profile(model, &steps, &count, diag));
    (void)printf("%s", json ? ", \"steps\": [" : "");
    for (uint32_t i = 0; i < count; i++) {
        const double rate = steps[i].seconds > 0 ? (double)steps[i].flops / steps[i].seconds * 1e-9 : 0.0;
        if (json) {
            (void)printf("%s{\"name\": ", i > 0 ? ", " : "");
            cli_json_string(steps[i].name);
            (void)printf(", \"op\": \"%s\", \"us\": %.1f, \"gflops\": %.2f}", steps[i].op,
                         1e6 * steps[i].seconds, rate);
        } else {
            (void)printf("%9.1f us %8.2f GFLOP/s  %s (%s)\n", 1e6 * steps[i].seconds, rate, steps[i].name,
                         steps[i].op);
        }
    }
    (void)printf("%s", json ? "]" : "");
    return VTA_OK;
}

static int run_model(const cli_args *args, vta_model *model, uint64_t repeat, uint64_t top)
{
    const bool json = cli_flag(args, "--json");
    vta_diag diag = {0};
    vta_status status = bind_inputs(args, model, &diag);
    (void)printf("%s", json && status == VTA_OK ? "{" : "");
    status = status == VTA_OK ? time_runs(model, repeat, json, &diag) : status;
    status = status == VTA_OK ? print_outputs(args, model, top, json, &diag) : status;
    if (status == VTA_OK && cli_flag(args, "--profile")) {
        status = print_profile(model, json, &diag);
    }
    if (status == VTA_OK && cli_flag(args, "--layers")) {
        (json ? cli_layers_json : cli_layers_text)(model);
    }
    (void)printf("%s", json && status == VTA_OK ? "}\n" : "");
    return status == VTA_OK ? cli_done(args) : cli_fail(args, &diag);
}

static void print_progress(void *context, const char *line)
{
    (void)context;
    (void)fprintf(stderr, "%s\n", line);
}

static int run(const cli_args *args)
{
    uint64_t numbers[3] = {1, 0, 0};
    static const char *const names[] = {"--repeat", "--top", "--threads"};
    for (int i = 0; i < 3; i++) {
        const char *text = cli_value(args, names[i]);
        if (text != NULL &&
            (!cli_number(text, &numbers[i]) || numbers[i] > 1000000 || (i != 1 && numbers[i] == 0))) {
            return cli_usage(args, "%s takes a number up to 1000000, not '%s'", names[i], text);
        }
    }
    const char *how = cli_value(args, "--fill");
    if (how != NULL && strcmp(how, "zeros") != 0 && strcmp(how, "ones") != 0 && strcmp(how, "random") != 0) {
        return cli_usage(args, "--fill takes zeros, ones or random, not '%s'", how);
    }
    const vta_progress progress = {print_progress, NULL};
    vta_model_options model_options = {.threads = (uint32_t)numbers[2],
                                       .device = cli_value(args, "--device"),
                                       .progress = cli_fancy(STDERR_FILENO) ? &progress : NULL};
    const char *timeout = cli_value(args, "--timeout");
    if (timeout != NULL && !cli_seconds(timeout, &model_options.timeout_s)) {
        return cli_usage(args, "--timeout takes seconds, not '%s'", timeout);
    }
    vta_model *model = NULL;
    vta_diag diag = {0};
    if (vta_model_load(args->operands[0], &model_options, &model, &diag) != VTA_OK) {
        return cli_fail(args, &diag);
    }
    const int status = run_model(args, model, numbers[0], numbers[1]);
    vta_model_destroy(model);
    return status;
}

const cli_verb cli_verb_run = {
    .name = "run",
    .operands = "MODEL.so",
    .summary = "run a compiled model",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .least = 1,
    .most = 1,
    .run = run,
};
