/* SPDX-License-Identifier: Apache-2.0
 *
 * Random graphs give the same integers with the accelerator as on the host alone: two implementations that
 * share nothing but vtac/quant.h. Each is run twice, with different inputs; half of the graphs show their
 * inner values, too. One that fails is made smaller and written as an ONNX model.
 *
 *     random_graphs DEVICE CONFIG COUNT [SEED [WITHOUT]]     WITHOUT: steps left out, as printed on failure
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphs.h"
#include "seed.h"
#include "vtac/onnx.h"

typedef struct totals {
    uint64_t graphs, regions, layers, elements, failures;
} totals;

typedef struct trial {
    graph_seed seed;
    graph_way way;
    char fault[1200]; /* what went wrong; empty: nothing */
} trial;

static bool fails(trial *t, const char *what, const char *why)
{
    (void)snprintf(t->fault, sizeof t->fault, "%s: %s", what, why);
    return false;
}

static bool same_outputs(trial *t, vta_model *a, vta_model *b, totals *sum)
{
    for (uint32_t i = 0; i < vta_model_output_count(a); i++) {
        const vta_tensor_info info = vta_model_output(a, i);
        const uint8_t *x = vta_model_output_data(a, i);
        const uint8_t *y = vta_model_output_data(b, i);
        sum->elements += info.bytes;
        for (size_t k = 0; k < info.bytes; k++) {
            if (x[k] != y[k]) {
                (void)snprintf(t->fault, sizeof t->fault, "output '%s', element %zu: accelerator %d, host %d",
                               info.name, k, x[k], y[k]);
                return false;
            }
        }
    }
    return true;
}

static bool run_twice(trial *t, vta_model *a, vta_model *b, totals *sum)
{
    vta_diag diag = {0};
    for (uint64_t run = 0; run < 2; run++) {
        graph_fill(a, t->seed.number + run);
        graph_fill(b, t->seed.number + run);
        if (vta_model_run(a, &diag) != VTA_OK || vta_model_run(b, &diag) != VTA_OK) {
            return fails(t, "it does not run", diag.text);
        }
        if (!same_outputs(t, a, b, sum)) {
            return false;
        }
    }
    return true;
}

static bool try_graph(trial *t, totals *sum)
{
    vta_diag diag = {0};
    vtac_graph *graphs[2] = {NULL, NULL};
    graph_model models[2] = {{0}, {0}};
    const graph_way host = {.level = t->way.level};
    bool good = true;
    for (int i = 0; i < 2 && good; i++) {
        good = graph_random(&t->seed, &graphs[i], &diag) == VTA_OK || fails(t, "no graph", diag.text);
        good = good && (graph_compile(graphs[i], i == 0 ? &t->way : &host, &models[i], &diag) == VTA_OK ||
                        fails(t, "it does not compile", diag.text));
    }
    good = good && run_twice(t, models[0].model, models[1].model, sum);
    sum->graphs++;
    sum->regions += models[0].regions;
    sum->layers += models[0].layers;
    graph_model_free(&models[0]);
    graph_model_free(&models[1]);
    return good;
}

/* Leaves out every step without which it still fails. */
static void shrink(trial *t)
{
    for (bool again = true; again;) {
        again = false;
        for (uint32_t step = GRAPH_STEPS; step-- > 0;) {
            trial smaller = *t;
            totals unused = {0};
            smaller.seed.without |= 1U << step;
            if (smaller.seed.without != t->seed.without && !try_graph(&smaller, &unused)) {
                *t = smaller;
                again = true;
            }
        }
    }
}

static void report(const trial *t, const char *config)
{
    vtac_graph *graph;
    vta_diag diag = {0};
    char path[64];
    (void)snprintf(path, sizeof path, "random-%" PRIu64 ".onnx", t->seed.number);
    const bool written = graph_random(&t->seed, &graph, &diag) == VTA_OK &&
                         vtac_onnx_write(graph, "random_graphs", path, &diag) == VTA_OK;
    (void)printf("FAIL %s\n  -O%d; again: random_graphs '%s' %s 1 %" PRIu64 " %" PRIu32 "; model: %s\n",
                 t->fault, t->way.level, t->way.device, config, t->seed.number, t->seed.without,
                 written ? path : diag.text);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        (void)fprintf(stderr, "usage: %s DEVICE CONFIG COUNT [SEED [WITHOUT]]\n", argv[0]);
        return 2;
    }
    char name[64];
    vta_config config;
    vta_diag diag = {0};
    totals sum = {0};
    if (vta_config_load(argv[2], &config, &diag) != VTA_OK) {
        (void)fprintf(stderr, "%s\n", diag.text);
        return 2;
    }
    (void)snprintf(name, sizeof name, "random_graphs_%s", config.name);
    const uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 0) : test_seed(name);
    const uint32_t without = argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 0) : 0;
    const uint64_t count = strtoull(argv[3], NULL, 0);
    for (uint64_t i = seed; i < seed + count; i++) {
        trial t = {.seed = {i, without}, /* the level follows from the number: one graph can be repeated */
                   .way = {.device = argv[1], .config = &config, .level = (int)(i % 4)}};
        if (!try_graph(&t, &sum)) {
            sum.failures++;
            shrink(&t);
            report(&t, argv[2]);
        }
    }
    (void)printf("%" PRIu64 " graphs from %" PRIu64 " on, %" PRIu64 " regions of %" PRIu64 " layers, %" PRIu64
                 " integers compared, %" PRIu64 " failures\n",
                 sum.graphs, seed, sum.regions, sum.layers, sum.elements, sum.failures);
    return sum.failures > 0 || (sum.layers == 0 && count > 4);
}
