/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac bench launch: what one run costs the host, from the driver's call to its return, around a program that
 * does nothing. The time is that of this thread: what a simulator does in it counts, what a virtual board
 * does in its own process, or a board beside its processor, does not.
 * A virtual board takes a command when its process comes to it, a board at once: looking whether it has is
 * not counted either.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"
#include "vta/clock.h"
#include "vta/fail.h"
#include "vta/runtime.h"
#include "vta/uio.h"

enum { WARM = 10, LAUNCHES = 400 };
static const double patience_s = 60;

typedef struct launches {
    double work[LAUNCHES], passed[LAUNCHES]; /* seconds of this thread, and on the clock */
    uint64_t cycles;
} launches;

static double thread_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - vta_uio_waited();
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static vta_status launch_all(vta_job *job, launches *out, vta_diag *diag)
{
    for (int i = -WARM; i < LAUNCHES; i++) {
        vta_report report = {0};
        const double begin = vta_now();
        const double work = thread_seconds();
        VTA_TRY(vta_job_run(job, NULL, 0, patience_s, &report, diag));
        if (i >= 0) {
            out->work[i] = thread_seconds() - work;
            out->passed[i] = vta_now() - begin;
            out->cycles = report.counters.cycles;
        }
    }
    qsort(out->work, LAUNCHES, sizeof *out->work, by_value);
    qsort(out->passed, LAUNCHES, sizeof *out->passed, by_value);
    return VTA_OK;
}

static vta_status finish_empty(const vta_config *config, vta_code **code, vta_diag *diag)
{
    vta_stream *stream;
    VTA_TRY(vta_stream_create(config, &stream, diag));
    const vta_status status = vta_stream_finish(stream, code, diag);
    vta_stream_destroy(stream);
    return status;
}

static vta_status measure_launches(vta_device *device, launches *out, vta_diag *diag)
{
    vta_code *code = NULL;
    vta_job *job = NULL;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(finish_empty(vta_device_config(device), &code, diag));
    VTA_TRY_OUT(vta_job_create(code, device, &job, diag));
    VTA_TRY_OUT(launch_all(job, out, diag));
out:
    vta_job_destroy(job);
    vta_code_destroy(code);
    return status;
}

static void print_launches(const cli_args *args, const char *uri, const launches *l, double slower)
{
    const double scale = 1e6 * slower;
    const double median = scale * l->work[LAUNCHES / 2];
    if (cli_flag(args, "--json")) {
        cli_print("{\"device\": ");
        cli_json_string(uri);
        cli_print(", \"launches\": %d, \"slower\": %g, \"host_us\": %.3f, \"host_least_us\": %.3f, "
                  "\"host_most_us\": %.3f, \"passed_us\": %.3f, \"cycles\": %" PRIu64
                  ", \"simulated_here\": %s}\n",
                  LAUNCHES, slower, median, scale * l->work[0], scale * l->work[LAUNCHES - 1],
                  1e6 * l->passed[LAUNCHES / 2], l->cycles, vta_uio_is(uri) ? "false" : "true");
        return;
    }
    cli_print("%s: a launch costs the host %.1f us (median of %d; least %.1f, most %.1f)", uri, median,
              LAUNCHES, scale * l->work[0], scale * l->work[LAUNCHES - 1]);
    cli_print(", %.1f us pass; %" PRIu64 " cycles\n", 1e6 * l->passed[LAUNCHES / 2], l->cycles);
    if (!vta_uio_is(uri)) {
        cli_print("the simulator's own work is in it; a board, or 'vtac board' and --device uio:DIR, "
                  "shows the driver's "
                  "alone\n");
    }
}

int cli_bench_launch(const cli_args *args)
{
    const char *uri = cli_value(args, "--device");
    const char *text = cli_value(args, "--slower");
    double slower = 1;
    vta_diag diag = {0};
    vta_config config;
    bool given = false;
    vta_device *device = NULL;
    if (text != NULL && (!cli_seconds(text, &slower) || slower <= 0)) {
        return cli_usage(args, "--slower takes a number above 0, not '%s'", text);
    }
    launches *l = calloc(1, sizeof *l);
    vta_status status = VTA_OK;
    VTA_TRY_OUT(l != NULL ? cli_config(args, &config, &given, &diag) : vta_no_memory(&diag));
    VTA_TRY_OUT(vta_device_open_progress(uri != NULL ? uri : "fsim", given ? &config : NULL, cli_progress(),
                                         &device, &diag));
out:
    if (status == VTA_OK) {
        cli_catch_signals(cli_stop_device, device);
        status = measure_launches(device, l, &diag);
        cli_catch_signals(NULL, NULL);
    }
    if (status == VTA_OK) {
        print_launches(args, vta_device_uri(device), l, slower);
    }
    vta_device_close(device);
    free(l);
    return status == VTA_OK ? cli_done(args) : cli_fail(args, &diag);
}
