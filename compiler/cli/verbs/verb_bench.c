/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac bench MODEL is cli_bench_model.c, vtac bench launch cli_bench_launch.c. vtac bench hw: what the
 * hardware reaches, beside what is asked of it. Each figure is the median of three programs that were built
 * through the runtime's calls, and whose results agree with fsim.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "offload.h"
#include "tensors.h"
#include "vta/fail.h"

static const cli_option options[] = {
    {"--device", "URI", CLI_DEVICE, "the device (hw: tsim; else fsim)"},
    {"--json", NULL, CLI_FLAG, "print JSON"},
    CLI_OFFLOAD_OPTIONS,
    {"--host", "NAME", CLI_TEXT, "model: compile for this processor (default: this one)"},
    {"-O", "N", CLI_TEXT, "model: how much to optimize, 0 to 3 (default)"},
    {"--shape", "NAME=AxBxC", CLI_TEXT, "model: size of a dynamic input (may be repeated)"},
    CLI_CONTEXT_HIDDEN,
    CLI_MODEL_OPTIONS,
    {"--threads", "N", CLI_TEXT, "model: threads (default: VTAC_THREADS, or all cores)"},
    {"--repeat", "N", CLI_TEXT, "model: runs (default: a second's worth)"},
    {"--layers", NULL, CLI_FLAG, "model: each step, too; marks those slow for their kind"},
    {"--pipeline", NULL, CLI_FLAG, "model: images a second, in turn and overlapped"},
    {"--slower", "F", CLI_TEXT, "launch, pipeline: of a processor F times as slow (1)"},
    {"--input", "[NAME=]FILE", CLI_FILE, "pipeline: a picture or tensor (may be repeated)"},
    {"--row", "KEY", CLI_TEXT, "hw: measure this row only; may be repeated"},
    {"--counters", NULL, CLI_FLAG, "hw: the counters of each row's last program, too"},
    {"--verbose", NULL, CLI_FLAG, "hw: tell each program as it runs"},
    {"--timeout", "S", CLI_TEXT, "hw: give up on a program after S seconds (600)"},
};

static const char *const words[] = {"hw", "launch"};

enum { REQUIRED_MCYCLES = 2 };
static const char speed_key[] = "mcycles_per_s";

static bool at_most(const cli_bench_row *row)
{
    return row->measure == BENCH_CYCLES_EACH;
}

static bool reaches_peak(const cli_bench_row *row, double value)
{
    return at_most(row) ? value <= row->required : value >= row->required;
}

static bool wants_row(const cli_args *args, const char *key)
{
    size_t at = 0;
    const char *row = cli_next(args, "--row", &at);
    if (row == NULL) {
        return true;
    }
    for (; row != NULL; row = cli_next(args, "--row", &at)) {
        if (strcmp(row, key) == 0) {
            return true;
        }
    }
    return false;
}

static void print_counters(const vta_counters *c)
{
    const double all = c->cycles > 0 ? (double)c->cycles : 1;
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"fetch: queue full", c->fetch_full}, {"fetch: memory", c->fetch_mem},
        {"load: busy", c->load_busy},         {"load: token", c->load_token},
        {"load: memory", c->load_mem},        {"compute: busy", c->compute_busy},
        {"compute: token", c->compute_token}, {"compute: memory", c->compute_mem},
        {"gemm steps", c->gemm_steps},        {"depthwise steps", c->depthwise_steps},
        {"alu steps", c->alu_steps},          {"requantize steps", c->requant_steps},
        {"store: busy", c->store_busy},       {"store: token", c->store_token},
        {"store: memory", c->store_mem},
    };
    cli_print("    %" PRIu64 " cycles:", c->cycles);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cli_put(i == 0 ? "" : i % 5 == 0 ? ",\n   " : ",");
        cli_print(" %s %.1f%%", rows[i].name, 100 * (double)rows[i].value / all);
    }
    cli_print("\n");
}

static void print_row(const cli_args *args, const char *key, double value, double required, bool good,
                      bool evaluated, const char *what)
{
    if (cli_flag(args, "--json")) {
        cli_print(",\n  \"%s\": %.4g", key, value);
    } else if (evaluated) {
        cli_print("%-21s %8.4g %9.4g  %-5s  %s\n", key, value, required, good ? "ok" : "BELOW", what);
    } else {
        cli_print("%-21s %8.4g %9s  %-5s  %s\n", key, value, "", "", what);
    }
}

static void print_head(const cli_args *args, const cli_bench_devices *devices)
{
    const vta_config *config = vta_device_config(devices->device);
    if (cli_flag(args, "--json")) {
        cli_print("{\n  \"device\": ");
        cli_json_string(vta_device_uri(devices->device));
        cli_print(",\n  \"config\": ");
        cli_json_string(config->name);
    } else {
        cli_print("%s: configuration %s, %u MAC a cycle\n%-21s %8s %9s\n", vta_device_uri(devices->device),
                  config->name, config->batch * config->block_in * config->block_out, "", "measured",
                  "required");
    }
}

/* For scale, where Icarus is installed: nothing is asked of it. */
static vta_status measure_icarus(const cli_args *args, const cli_bench_devices *devices, vta_diag *diag)
{
    static const char key[] = "icarus_mcycles_per_s";
    cli_bench_result result;
    if (!wants_row(args, key)) {
        return VTA_OK;
    }
    vta_diag own = {0};
    const vta_status status = cli_bench_run_icarus(devices, &result, &own);
    if (status == VTA_NO_DEVICE) {
        cli_say("vtac bench: no figure for Icarus: %s\n", own.text);
        return VTA_OK;
    }
    if (status != VTA_OK) {
        return vta_fail(diag, status, "%s", own.text);
    }
    print_row(args, key, result.value, 0, true, false, "the same RTL under Icarus, a short matrix multiply");
    return VTA_OK;
}

static vta_status measure_rows(const cli_args *args, const cli_bench_devices *devices, bool *below,
                               vta_diag *diag)
{
    const bool pynq = strcmp(vta_device_config(devices->device)->name, "pynq") == 0;
    for (uint32_t i = 0; i < cli_bench_row_count; i++) {
        const cli_bench_row *row = &cli_bench_rows[i];
        cli_bench_result result;
        const bool speed_wanted = i == BENCH_SPEED_ROW && wants_row(args, speed_key);
        if (!wants_row(args, row->key) && !speed_wanted) {
            continue;
        }
        VTA_TRY(cli_bench_run_row(devices, row, &result, diag));
        const bool evaluated = pynq && row->required > 0, good = reaches_peak(row, result.value);
        *below = *below || (evaluated && !good);
        print_row(args, row->key, result.value, row->required, good, evaluated, row->what);
        if (cli_flag(args, "--counters") && !cli_flag(args, "--json")) {
            cli_print("    programs: %.4g %.4g %.4g\n", result.values[0], result.values[1], result.values[2]);
            print_counters(&result.counters);
        }
        if (speed_wanted && result.seconds > 0) {
            const double speed = 1e-6 * (double)result.cycles / result.seconds;
            const bool fast = speed >= REQUIRED_MCYCLES;
            *below = *below || (pynq && !fast);
            print_row(args, speed_key, speed, REQUIRED_MCYCLES, fast, pynq,
                      "million cycles simulated a second, on that program, of CPU time");
        }
    }
    return VTA_OK;
}

static vta_status open_devices(const cli_args *args, cli_bench_devices *devices, vta_diag *diag)
{
    const char *uri = cli_value(args, "--device");
    char reference[64];
    vta_config config;
    bool given = false;
    VTA_TRY(cli_config(args, &config, &given, diag));
    VTA_TRY(vta_device_open(uri != NULL ? uri : "tsim", given ? &config : NULL, &devices->device, diag));
    (void)snprintf(reference, sizeof reference, "fsim:%s", vta_device_config(devices->device)->name);
    return vta_device_open(reference, vta_device_config(devices->device), &devices->reference, diag);
}

static vta_status measure_all(const cli_args *args, cli_bench_devices *devices, bool *below, vta_diag *diag)
{
    VTA_TRY(measure_rows(args, devices, below, diag));
    return measure_icarus(args, devices, diag);
}

static int run_bench(const cli_args *args)
{
    cli_die_tidily();
    if (strcmp(args->operands[0], "launch") == 0) {
        return cli_bench_launch(args);
    }
    if (strcmp(args->operands[0], "hw") != 0) {
        return cli_bench_model(args);
    }
    cli_bench_devices devices = {.timeout_s = 600, .progress = cli_flag(args, "--verbose")};
    const char *timeout = cli_value(args, "--timeout");
    vta_diag diag = {0};
    bool below = false;
    if (timeout != NULL && !cli_seconds(timeout, &devices.timeout_s)) {
        return cli_usage(args, "'%s' is not a number of seconds", timeout);
    }
    vta_status status = open_devices(args, &devices, &diag);
    if (status == VTA_OK) {
        print_head(args, &devices);
        status = measure_all(args, &devices, &below, &diag);
        cli_put(cli_flag(args, "--json") ? "\n}\n" : "");
    }
    vta_device_close(devices.device);
    vta_device_close(devices.reference);
    if (status != VTA_OK) {
        return cli_fail(args, &diag);
    }
    const int done = cli_done(args);
    return done != CLI_OK ? done : below ? CLI_FAILED : CLI_OK;
}

const cli_verb cli_verb_bench = {
    .name = "bench",
    .operands = "hw | launch | MODEL | MODEL.so",
    .summary = "measure the hardware cycle by cycle, or how long a model takes",
    .more = "hw: exit status 1 where 'pynq' misses a figure. launch: an empty program's.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .words = words,
    .word_count = sizeof words / sizeof words[0],
    .min = 1,
    .max = 1,
    .run = run_bench,
};
