/* SPDX-License-Identifier: Apache-2.0
 *
 * Random graphs give the same integers with the accelerator as on the host alone: two implementations that
 * share nothing but vtac/quant.h; and on the host the same ones without optimizations. Each is run twice,
 * with different inputs; half of the graphs show their inner values, too. One that fails is made smaller and
 * written as an ONNX model.
 *
 *     random_graphs [--planted] DEVICE CONFIG COUNT [SEED [WITHOUT [ROOM]]]
 *
 * WITHOUT and ROOM are steps that are left out and the size of the input, as printed on failure. `--planted`
 * is the test of all this: the accelerator's graphs have a bug, which must be found and made small.
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
    graph_seed seed; /* of the accelerator's graph */
    graph_way way;
    char fault[1200]; /* what went wrong; empty: nothing */
} trial;

static bool fails(trial *t, const char *what, const char *why)
{
    (void)snprintf(t->fault, sizeof t->fault, "%s: %s", what, why);
    return false;
}

static bool same_outputs(trial *t, const char *who, vta_model *a, vta_model *b, totals *sum)
{
    for (uint32_t i = 0; i < vta_model_output_count(a); i++) {
        const vta_tensor_info info = vta_model_output(a, i);
        const uint8_t *x = vta_model_output_data(a, i);
        const uint8_t *y = vta_model_output_data(b, i);
        sum->elements += info.bytes;
        for (size_t k = 0; k < info.bytes; k++) {
            if (x[k] != y[k]) {
                (void)snprintf(t->fault, sizeof t->fault, "output '%s', element %zu: %s %d, host %d",
                               info.name, k, who, x[k], y[k]);
                return false;
            }
        }
    }
    return true;
}

/* The same graph in three ways, of which the host's is the measure. */
enum { ACCELERATOR, HOST, PLAIN_HOST, WAYS };

static bool run_twice(trial *t, const graph_model *models, totals *sum)
{
    vta_diag diag = {0};
    for (uint64_t run = 0; run < 2; run++) {
        for (int i = 0; i < WAYS; i++) {
            graph_fill(models[i].model, t->seed.number + run);
            if (vta_model_run(models[i].model, &diag) != VTA_OK) {
                return fails(t, "it does not run", diag.text);
            }
        }
        if (!same_outputs(t, "accelerator", models[ACCELERATOR].model, models[HOST].model, sum) ||
            !same_outputs(t, "host at -O0", models[PLAIN_HOST].model, models[HOST].model, sum)) {
            return false;
        }
    }
    return true;
}

static bool try_graph(trial *t, totals *sum)
{
    vta_diag diag = {0};
    graph_model models[WAYS] = {{0}, {0}, {0}};
    const graph_way ways[WAYS] = {t->way, {.level = t->way.level}, {.level = 0}};
    bool good = true;
    for (int i = 0; i < WAYS && good; i++) {
        vtac_graph *graph = NULL;
        graph_seed seed = t->seed;
        seed.planted = t->seed.planted && i == ACCELERATOR;
        good = graph_random(&seed, &graph, &diag) == VTA_OK || fails(t, "no graph", diag.text);
        good = good && (graph_compile(graph, &ways[i], &models[i], &diag) == VTA_OK ||
                        fails(t, "it does not compile", diag.text));
    }
    good = good && run_twice(t, models, sum);
    sum->graphs++;
    sum->regions += models[ACCELERATOR].regions;
    sum->layers += models[ACCELERATOR].layers;
    for (int i = 0; i < WAYS; i++) {
        graph_model_free(&models[i]);
    }
    return good;
}

/* Takes a smaller trial in the place of `t` where that fails, too. */
static bool take_smaller(trial *t, uint32_t without, uint32_t room)
{
    trial smaller = *t;
    totals unused = {0};
    smaller.seed.without = without;
    smaller.seed.room = room;
    if (try_graph(&smaller, &unused)) {
        return false;
    }
    *t = smaller;
    return true;
}

/* Leaves out every step without which it still fails, and takes the smallest input with which it does. */
static void shrink(trial *t)
{
    for (bool again = true; again;) {
        again = false;
        for (uint32_t step = GRAPH_STEPS; step-- > 0;) {
            const uint32_t without = t->seed.without | 1U << step;
            again = (without != t->seed.without && take_smaller(t, without, t->seed.room)) || again;
        }
        bool smaller = false;
        const uint32_t room = t->seed.room > 0 ? t->seed.room : GRAPH_ROOM;
        for (uint32_t other = 1; other < room && !smaller; other *= 2) {
            smaller = take_smaller(t, t->seed.without, other);
        }
        again = again || smaller;
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
    (void)printf("FAIL %s\n  -O%d; again: random_graphs '%s' %s 1 %" PRIu64 " %" PRIu32 " %" PRIu32
                 "; model: %s\n",
                 t->fault, t->way.level, t->way.device, config, t->seed.number, t->seed.without, t->seed.room,
                 written ? path : diag.text);
}

/* ---- the planted bug */

/* Nodes of an operator in the graph of a seed. */
static uint32_t count_nodes(const graph_seed *seed, vtac_op op, uint32_t *all)
{
    vtac_graph *graph = NULL;
    uint32_t count = 0;
    *all = 0;
    if (graph_random(seed, &graph, NULL) == VTA_OK) {
        for (vtac_node_id id = 1; id <= graph->node_count; id++) {
            count += graph->nodes[id].op == op;
            ++*all;
        }
        vtac_graph_destroy(graph);
    }
    return count;
}

/* The bug was found in a graph of at most three nodes, one of them the cause, and no step is there that it
 * can do without. */
static bool is_minimal(const trial *t)
{
    uint32_t all;
    const uint32_t causes = count_nodes(&t->seed, VTAC_OP_CLIP, &all);
    bool minimal = causes >= 1 && all <= 3;
    for (uint32_t step = 0; step < GRAPH_STEPS; step++) {
        trial other = *t;
        totals unused = {0};
        other.seed.without |= 1U << step;
        minimal = minimal && (other.seed.without == t->seed.without || try_graph(&other, &unused));
    }
    (void)printf("seed %" PRIu64 ": %s; nodes left: %u, without %" PRIu32 ", room %" PRIu32 "\n",
                 t->seed.number, t->fault, all, t->seed.without, t->seed.room);
    return minimal;
}

/* Looks at graphs with the bug's operator, of so many seeds at most, until two show the bug: each must become
 * small. */
static int find_planted(const graph_way *way, uint64_t seed, uint64_t count)
{
    uint32_t found = 0;
    totals sum = {0};
    for (uint64_t i = seed; i < seed + count && found < 2; i++) {
        uint32_t all;
        trial t = {.seed = {.number = i, .planted = true}, .way = *way};
        t.way.level = (int)(i % 4);
        if (count_nodes(&t.seed, VTAC_OP_CLIP, &all) == 0 || all < 5 || try_graph(&t, &sum)) {
            continue;
        }
        shrink(&t);
        if (!is_minimal(&t)) {
            (void)printf("that is not as small as it can be\n");
            return 1;
        }
        found++;
    }
    (void)printf("the planted bug was found %" PRIu32 " times in at most %" PRIu64 " graphs\n", found, count);
    return found == 2 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const bool planted = argc > 1 && strcmp(argv[1], "--planted") == 0;
    argv += planted;
    argc -= planted;
    if (argc < 4) {
        (void)fprintf(stderr, "usage: %s [--planted] DEVICE CONFIG COUNT [SEED [WITHOUT [ROOM]]]\n",
                      argv[-planted]);
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
    const uint32_t room = argc > 6 ? (uint32_t)strtoul(argv[6], NULL, 0) : 0;
    const uint64_t count = strtoull(argv[3], NULL, 0);
    const graph_way way = {.device = argv[1], .config = &config};
    if (planted) {
        return find_planted(&way, seed, count);
    }
    for (uint64_t i = seed; i < seed + count; i++) {
        trial t = {.seed = {i, without, room, false}, .way = way};
        t.way.level = (int)(i % 4); /* follows from the number: one graph can be repeated */
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
