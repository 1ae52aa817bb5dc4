/* SPDX-License-Identifier: Apache-2.0
 *
 * Random graphs give the same integers with the accelerator as on the host alone: two implementations that
 * share nothing but vtac/quant.h. Each is run twice, with different inputs.
 *
 *     test_random_graphs DEVICE CONFIG COUNT [SEED]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphs.h"
#include "seed.h"

typedef struct totals {
    uint64_t graphs, regions, layers, elements, failures;
} totals;

static bool fails(uint64_t seed, const char *what, const vta_diag *diag)
{
    (void)printf("seed %" PRIu64 ": %s: %s\n", seed, what, diag->text);
    return false;
}

static bool same_outputs(uint64_t seed, vta_model *a, vta_model *b, totals *t)
{
    for (uint32_t i = 0; i < vta_model_output_count(a); i++) {
        const vta_tensor_info info = vta_model_output(a, i);
        const uint8_t *x = vta_model_output_data(a, i);
        const uint8_t *y = vta_model_output_data(b, i);
        t->elements += info.bytes;
        for (size_t k = 0; k < info.bytes; k++) {
            if (x[k] != y[k]) {
                (void)printf("seed %" PRIu64 ": output '%s', element %zu: accelerator %d, host %d\n", seed,
                             info.name, k, x[k], y[k]);
                return false;
            }
        }
    }
    return true;
}

static bool run_twice(uint64_t seed, vta_model *a, vta_model *b, totals *t)
{
    vta_diag diag = {0};
    for (uint64_t run = 0; run < 2; run++) {
        graph_fill(a, seed + run);
        graph_fill(b, seed + run);
        if (vta_model_run(a, &diag) != VTA_OK || vta_model_run(b, &diag) != VTA_OK) {
            return fails(seed, "it does not run", &diag);
        }
        if (!same_outputs(seed, a, b, t)) {
            return false;
        }
    }
    return true;
}

static bool try_graph(uint64_t seed, const graph_way *way, totals *t)
{
    vta_diag diag = {0};
    vtac_graph *graphs[2] = {NULL, NULL};
    graph_model models[2] = {{0}, {0}};
    const graph_way host = {.level = way->level};
    bool good = true;
    for (int i = 0; i < 2 && good; i++) {
        good = graph_random(seed, &graphs[i], &diag) == VTA_OK || fails(seed, "no graph", &diag);
        good = good && (graph_compile(graphs[i], i == 0 ? way : &host, &models[i], &diag) == VTA_OK ||
                        fails(seed, "it does not compile", &diag));
    }
    good = good && run_twice(seed, models[0].model, models[1].model, t);
    t->graphs++;
    t->regions += models[0].regions;
    t->layers += models[0].layers;
    t->failures += !good;
    graph_model_free(&models[0]);
    graph_model_free(&models[1]);
    return good;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        (void)fprintf(stderr, "usage: %s DEVICE CONFIG COUNT [SEED]\n", argv[0]);
        return 2;
    }
    char name[64];
    vta_config config;
    vta_diag diag = {0};
    totals t = {0};
    if (vta_config_load(argv[2], &config, &diag) != VTA_OK) {
        (void)fprintf(stderr, "%s\n", diag.text);
        return 2;
    }
    (void)snprintf(name, sizeof name, "random_graphs_%s", config.name);
    const uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 0) : test_seed(name);
    const long count = strtol(argv[3], NULL, 0);
    for (long i = 0; i < count; i++) {
        const graph_way way = {.device = argv[1], .config = &config, .level = (int)(i % 4)};
        (void)try_graph(seed + (uint64_t)i, &way, &t);
    }
    (void)printf("%" PRIu64 " graphs, %" PRIu64 " regions of %" PRIu64 " layers, %" PRIu64
                 " integers compared, %" PRIu64 " failures\n",
                 t.graphs, t.regions, t.layers, t.elements, t.failures);
    return t.failures > 0 || t.layers == 0;
}
