/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a bench program on a device and on fsim with the same data, and trusts no figure of a program whose
 * bytes differ.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "cli.h"

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Random bytes; "params" gets biases and scales that spread sums of products over int8. */
void cli_bench_fill(const vta_config *config, const char *name, uint8_t *bytes, uint64_t size)
{
    uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);
    if (strcmp(name, "params") != 0) {
        for (uint64_t i = 0; i < size; i++) {
            bytes[i] = (uint8_t)(next_random(&seed) >> 32);
        }
        return;
    }
    const uint64_t lanes = (uint64_t)config->batch * config->block_out;
    for (uint64_t i = 0; i < size / sizeof(int32_t); i++) {
        const uint32_t random = (uint32_t)(next_random(&seed) >> 32);
        const bool is_scale = i / lanes % 2 != 0;
        const int32_t value = is_scale ? vta_requant_scale(0x800000 + random % 0x7fffff, 36)
                                       : (int32_t)(random % 20000) - 10000;
        memcpy(bytes + i * sizeof value, &value, sizeof value);
    }
}

static double cpu_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct placed {
    vta_job *job;
    void *host[VTA_STREAM_BUFFERS];
} placed;

/* Puts the code on a device, fills what it reads, runs it. */
static vta_status run_on(const vta_code *code, vta_device *device, double timeout_s, placed *p,
                         vta_report *report, vta_diag *diag)
{
    vta_code_info info;
    vta_code_describe(code, &info);
    VTA_TRY(vta_job_create(code, device, &p->job, diag));
    for (uint32_t i = 0; i < info.buffer_count; i++) {
        vta_buffer_info buffer;
        VTA_TRY(vta_code_buffer(code, (vta_buffer){i}, &buffer, diag));
        VTA_TRY(vta_job_memory(p->job, (vta_buffer){i}, &p->host[i], diag));
        if (buffer.loaded) {
            cli_bench_fill(&info.config, buffer.name, p->host[i], buffer.size);
        }
    }
    cli_catch_signals(cli_stop_device, device);
    const vta_status status = vta_job_run(p->job, NULL, 0, timeout_s, report, diag);
    cli_catch_signals(NULL, NULL);
    return status;
}

static vta_status compare_placed(const vta_code *code, const placed *a, const placed *b, vta_diag *diag)
{
    vta_code_info info;
    vta_code_describe(code, &info);
    for (uint32_t i = 0; i < info.buffer_count; i++) {
        vta_buffer_info buffer;
        VTA_TRY(vta_code_buffer(code, (vta_buffer){i}, &buffer, diag));
        const uint8_t *x = a->host[i], *y = b->host[i];
        for (uint64_t at = 0; at < buffer.size; at++) {
            if (x[at] != y[at]) {
                return vta_fail(diag, VTA_PROTOCOL,
                                "byte %" PRIu64 " of buffer '%s' is 0x%02x on the device and 0x%02x on fsim",
                                at, buffer.name, x[at], y[at]);
            }
        }
    }
    return VTA_OK;
}

/* Both runs of one program; `work` is what it does, the cycles are in out->counters. */
static vta_status run_code(const cli_bench_devices *devices, const vta_code *code, cli_bench_result *out,
                           vta_diag *diag)
{
    placed a = {0}, b = {0};
    vta_report report = {0};
    const double begin = cpu_seconds();
    vta_status status = run_on(code, devices->device, devices->timeout_s, &a, &report, diag);
    out->seconds += cpu_seconds() - begin;
    out->cycles += report.counters.cycles;
    out->counters = report.counters;
    if (status == VTA_OK && report.counters.cycles == 0) {
        status = vta_fail(diag, VTA_UNSUPPORTED, "'%s' counts no cycles; 'tsim' does",
                          vta_device_uri(devices->device));
    }
    if (status == VTA_OK) {
        status = run_on(code, devices->reference, devices->timeout_s, &b, NULL, diag);
    }
    if (status == VTA_OK) {
        status = compare_placed(code, &a, &b, diag);
    }
    vta_job_destroy(a.job);
    vta_job_destroy(b.job);
    return status;
}

static vta_status run_variant(const cli_bench_devices *devices, const cli_bench_row *row, uint32_t variant,
                              uint32_t length, uint64_t *work, cli_bench_result *out, vta_diag *diag)
{
    const vta_config *config = vta_device_config(devices->device);
    vta_stream *stream = NULL;
    vta_code *code = NULL;
    VTA_TRY(vta_stream_create(config, &stream, diag));
    *work = row->record(stream, config, variant, length);
    vta_status status = vta_stream_finish(stream, &code, diag);
    vta_stream_destroy(stream);
    if (status == VTA_OK) {
        status = run_code(devices, code, out, diag);
    }
    vta_code_destroy(code);
    if (status == VTA_OK && devices->progress) {
        cli_say("%s, variant %u, length %u: %" PRIu64 " cycles\n", row->key, variant, length,
                out->counters.cycles);
    }
    return status;
}

static bool is_difference(cli_bench_measure measure)
{
    return measure == BENCH_TILES || measure == BENCH_BUS_SHARE || measure == BENCH_CYCLES_EACH;
}

static double per_cycle(const vta_config *config, cli_bench_measure measure, uint64_t work, uint64_t cycles)
{
    const uint32_t bus = 1U << (config->log_bus_width - 3);
    const uint32_t bandwidth = config->mem_bandwidth < bus ? config->mem_bandwidth : bus;
    const double rate = (double)work / (double)(cycles > 0 ? cycles : 1);
    switch (measure) {
    case BENCH_MAC_SHARE: return rate / ((double)config->batch * config->block_in * config->block_out);
    case BENCH_BUS_SHARE: return rate / bandwidth;
    case BENCH_CYCLES_EACH: return 1 / rate;
    case BENCH_MAC:
    case BENCH_TILES: break;
    }
    return rate;
}

static int order_ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

vta_status cli_bench_run_row(const cli_bench_devices *devices, const cli_bench_row *row,
                             cli_bench_result *out, vta_diag *diag)
{
    const vta_config *config = vta_device_config(devices->device);
    double sorted[BENCH_VARIANTS];
    *out = (cli_bench_result){0};
    for (uint32_t variant = 0; variant < BENCH_VARIANTS; variant++) {
        uint64_t work = 0, cycles = 0, less = 0;
        vta_status status = VTA_OK;
        if (is_difference(row->measure)) {
            status = run_variant(devices, row, variant, 1, &less, out, diag);
            cycles = out->counters.cycles;
        }
        if (status == VTA_OK) {
            status =
                run_variant(devices, row, variant, is_difference(row->measure) ? 2 : 1, &work, out, diag);
        }
        if (status != VTA_OK) {
            return vta_context(diag, "bench '%s', variant %u", row->key, variant);
        }
        out->values[variant] = per_cycle(config, row->measure, work - less, out->counters.cycles - cycles);
    }
    memcpy(sorted, out->values, sizeof sorted);
    qsort(sorted, BENCH_VARIANTS, sizeof *sorted, order_ascending);
    out->value = sorted[BENCH_VARIANTS / 2];
    return VTA_OK;
}

/* The sum that icarus_tb.v prints. */
static uint32_t sum_of_results(const vta_code *code, const placed *p)
{
    vta_code_info info;
    uint32_t sum = 0;
    vta_code_describe(code, &info);
    for (uint32_t i = 0; i < info.buffer_count; i++) {
        vta_buffer_info buffer;
        if (vta_code_buffer(code, (vta_buffer){i}, &buffer, NULL) == VTA_OK &&
            strcmp(buffer.name, "y") == 0) {
            for (uint64_t at = 0; at < buffer.size; at++) {
                sum = sum * 31 + ((const uint8_t *)p->host[i])[at];
            }
        }
    }
    return sum;
}

vta_status cli_bench_run_icarus(const cli_bench_devices *devices, cli_bench_result *out, vta_diag *diag)
{
    vta_stream *stream = NULL;
    vta_code *code = NULL;
    placed p = {0};
    *out = (cli_bench_result){0};
    VTA_TRY(vta_stream_create(vta_device_config(devices->device), &stream, diag));
    (void)cli_bench_record_short(stream, vta_device_config(devices->device));
    vta_status status = vta_stream_finish(stream, &code, diag);
    vta_stream_destroy(stream);
    if (status == VTA_OK) {
        status = run_on(code, devices->reference, devices->timeout_s, &p, NULL, diag);
    }
    if (status == VTA_OK) {
        status = cli_bench_icarus(code, sum_of_results(code, &p), out, diag);
    }
    vta_job_destroy(p.job);
    vta_code_destroy(code);
    return status;
}
