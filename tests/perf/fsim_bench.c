/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast fsim is: GEMM beside the int8 peak of the same core in the same run, and a network's worth of
 * convolutions.
 *
 *   fsim_bench [--json] [--kernel NAME] [--check]
 *
 * --check ends with status 1 unless every result is right and, in an optimized build without sanitizers, GEMM
 * at 'pynq' reaches a quarter of the peak.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "conv.h"
#include "fsim_internal.h"
#include "peak.h"

#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__) || !defined(NDEBUG)
#    define TIMED 0
#else
#    define TIMED 1
#endif

/* The convolutions of ResNet-18, the first one folded to 1x1; `count` equal ones in a row. */
static const struct {
    conv_layer layer;
    uint32_t count;
} network[] = {
    {{160, 64, 112, 1, 1}, 1}, {{64, 64, 56, 3, 1}, 4},   {{64, 128, 28, 3, 2}, 1},
    {{64, 128, 28, 1, 2}, 1},  {{128, 128, 28, 3, 1}, 3}, {{128, 256, 14, 3, 2}, 1},
    {{128, 256, 14, 1, 2}, 1}, {{256, 256, 14, 3, 1}, 3}, {{256, 512, 7, 3, 2}, 1},
    {{256, 512, 7, 1, 2}, 1},  {{512, 512, 7, 3, 1}, 3},
};
enum { LAYERS = sizeof network / sizeof network[0] };

typedef struct options {
    bool json, check;
    const char *kernel;
} options;

/* Of this thread, which does all the work: what else runs on the machine does not count. */
static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Multiplications a second, at best, of one run each. */
typedef struct rates {
    double gemm, peak;
} rates;

static double peak_rate(const char *kernel, uint64_t loops)
{
    const double begin = now();
    const double macs = peak_run(kernel, loops);
    return macs / (now() - begin);
}

static vta_status run(vta_fsim *fsim, const conv_program *p, double *seconds, vta_diag *diag)
{
    const vta_launch launch = conv_launch(p);
    vta_report report;
    const double begin = now();
    VTA_TRY(vta_fsim_run(fsim, &launch, &report, diag));
    *seconds = now() - begin;
    if (report.error != VTA_ERROR_NONE) {
        return vta_fail(diag, VTA_ILLEGAL_PROGRAM, "instruction %u: %s", report.insn,
                        vta_error_text(report.error));
    }
    return VTA_OK;
}

/* A simulator and its memory. */
typedef struct bench {
    vta_config config;
    vta_dram *dram;
    vta_fsim *fsim;
} bench;

static vta_status open_bench(const char *config, const char *kernel, bench *b, vta_diag *diag)
{
    VTA_TRY(vta_config_load(config, &b->config, diag));
    VTA_TRY(vta_dram_create(&b->dram, diag));
    const vta_bus bus = vta_dram_bus(b->dram);
    return vta_fsim_create_kernel(&b->config, &bus, false, kernel, &b->fsim, diag);
}

static void close_bench(bench *b)
{
    vta_fsim_destroy(b->fsim);
    vta_dram_destroy(b->dram);
}

/* The largest 3x3 layer of a few that needs one tile only. */
static vta_status build_gemm(const bench *b, conv_program *p, vta_diag *diag)
{
    static const uint32_t sizes[] = {14, 8, 4, 2};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (uint32_t tiles = 4; tiles >= 1; tiles--) {
            const conv_layer layer = {tiles * b->config.block_in, b->config.block_out, sizes[s], 3, 1};
            const uint32_t width = layer.size + 2;
            if (tiles * width * width <= b->config.depth[VTA_MEM_INP] &&
                layer.size * layer.size + 2 <= b->config.depth[VTA_MEM_ACC] &&
                tiles * 9 <= b->config.depth[VTA_MEM_WGT] && tiles * 9 < b->config.depth[VTA_MEM_UOP]) {
                return conv_build(&b->config, b->dram, &layer, TIMED ? 200 : 2, 1, p, diag);
            }
        }
    }
    return vta_fail(diag, VTA_UNSUPPORTED, "configuration '%s' is too small to measure", b->config.name);
}

/* Rates of GEMM and of the peak, measured in turn, the best of each. */
static vta_status measure_gemm(const bench *b, rates *best, vta_diag *diag)
{
    conv_program p;
    VTA_TRY(build_gemm(b, &p, diag));
    *best = (rates){0};
    vta_status status = VTA_OK;
    for (int round = 0; round < (TIMED ? 9 : 1) && status == VTA_OK; round++) {
        double seconds = 0;
        status = run(b->fsim, &p, &seconds, diag);
        const double gemm = p.macs / seconds;
        const double peak = peak_rate(vta_fsim_kernel(b->fsim), TIMED ? 2000000 : 1000);
        best->gemm = gemm > best->gemm ? gemm : best->gemm;
        best->peak = peak > best->peak ? peak : best->peak;
    }
    conv_free(&p, b->dram);
    return status;
}

/* Result of the network run. */
typedef struct network_time {
    double seconds, macs;
    size_t wrong;
} network_time;

/* Runs the layers one after the other, twice; the second time counts. Only small layers are recomputed where
 * time is short. */
static vta_status measure_network(const bench *b, bool check, network_time *total, vta_diag *diag)
{
    *total = (network_time){0};
    for (size_t i = 0; i < LAYERS; i++) {
        const conv_layer *layer = &network[i].layer;
        if (!TIMED && layer->in * layer->size > 2048) {
            continue;
        }
        conv_program p;
        VTA_TRY(conv_build(&b->config, b->dram, layer, 1, i + 1, &p, diag));
        double seconds = 0;
        for (uint32_t n = 0; n <= network[i].count; n++) {
            VTA_TRY(run(b->fsim, &p, &seconds, diag));
            total->seconds += n > 0 ? seconds : 0;
            total->macs += n > 0 ? p.macs : 0;
        }
        if (check && layer->in * layer->size <= 4096) {
            total->wrong += conv_wrong(&p);
        }
        conv_free(&p, b->dram);
    }
    return VTA_OK;
}

static void print_rates(const options *o, const char *config, const char *kernel, const rates *r, bool first)
{
    if (o->json) {
        printf("%s\n    {\"config\": \"%s\", \"kernel\": \"%s\", \"gemm_gmacs\": %.2f, \"peak_gmacs\": %.2f, "
               "\"ratio\": %.3f}",
               first ? "" : ",", config, kernel, r->gemm / 1e9, r->peak / 1e9, r->gemm / r->peak);
    } else {
        printf("%-9s %-12s %8.1f %8.1f %7.2f\n", config, kernel, r->gemm / 1e9, r->peak / 1e9,
               r->gemm / r->peak);
    }
}

static vta_status measure(const options *o, bool *good, vta_diag *diag)
{
    static const char *const configs[] = {"pynq", "tiny", "ultra96", "wide"};
    printf(o->json ? "{\n  \"gemm\": [" : "config    kernel       GMAC/s     peak   ratio\n");
    network_time net = {0};
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        bench b;
        rates r;
        VTA_TRY(open_bench(configs[i], o->kernel, &b, diag));
        VTA_TRY(measure_gemm(&b, &r, diag));
        print_rates(o, configs[i], vta_fsim_kernel(b.fsim), &r, i == 0);
        if (i == 0) {
            VTA_TRY(measure_network(&b, o->check, &net, diag));
            *good = net.wrong == 0 && (!TIMED || r.gemm >= 0.25 * r.peak);
        }
        close_bench(&b);
    }
    printf(o->json
               ? "\n  ],\n  \"network\": {\"config\": \"pynq\", \"gmac\": %.3f, \"seconds\": %.4f, "
                 "\"gmacs\": %.2f}\n}\n"
               : "network at pynq: %.2f GMAC in %.3f s, %.1f GMAC/s, loads, requantize and stores included\n",
           net.macs / 1e9, net.seconds, net.macs / net.seconds / 1e9);
    if (net.wrong > 0) {
        (void)fprintf(stderr, "fsim_bench: %zu wrong bytes\n", net.wrong);
    }
    return VTA_OK;
}

int main(int argc, char **argv)
{
    options o = {0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            o.json = true;
        } else if (strcmp(argv[i], "--check") == 0) {
            o.check = true;
        } else if (strcmp(argv[i], "--kernel") == 0 && i + 1 < argc) {
            o.kernel = argv[++i];
        } else {
            (void)fprintf(stderr, "usage: fsim_bench [--json] [--kernel NAME] [--check]\n");
            return 2;
        }
    }
    vta_diag diag = {0};
    bool good = false;
    if (measure(&o, &good, &diag) != VTA_OK) {
        (void)fprintf(stderr, "fsim_bench: %s\n", diag.text);
        return 1;
    }
    if (o.check && !TIMED) {
        printf("not an optimized build: results checked, speed not\n");
    }
    return o.check && !good ? 1 : 0;
}
