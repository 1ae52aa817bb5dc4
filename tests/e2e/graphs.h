/* SPDX-License-Identifier: Apache-2.0
 *
 * Random quantized graphs, drawn from a seed, and models compiled from them.
 */
#ifndef VTA_TEST_GRAPHS_H
#define VTA_TEST_GRAPHS_H

#include "rng.h"
#include "vta/model.h"
#include "vtac/partition.h"

/* A graph by its number, the steps of its growth (one bit each) that are left out, and how large its input
 * may be. */
enum { GRAPH_STEPS = 8, GRAPH_ROOM = 40 };
typedef struct graph_seed {
    uint64_t number;
    uint32_t without;
    uint32_t room; /* channels, rows, columns of the input at most; 0: GRAPH_ROOM */
    bool planted;  /* a compiler's bug, for tests of the shrinker: the upper limit of each Clip is halfway to
                      the lower */
} graph_seed;

/* A valid graph of quantized operators on small images; *out is owned. The same seed gives the same graph. */
vta_status graph_random(const graph_seed *seed, vtac_graph **out, vta_diag *diag);

/* A way to run a graph. */
typedef struct graph_way {
    const char *device;       /* NULL: all on the host */
    const vta_config *config; /* of the device */
    int level;
    bool pays; /* only what pays goes to the device; otherwise all that can */
} graph_way;

typedef struct graph_model {
    vtac_graph *graph;
    vta_model *model;
    uint32_t regions, layers; /* on the accelerator */
    uint64_t macs;
} graph_model;

/* Compiles what `graph` is and loads it; the graph becomes the model's. */
vta_status graph_compile(vtac_graph *graph, const graph_way *way, graph_model *out, vta_diag *diag);
void graph_model_free(graph_model *m);

/* Fills all inputs of a model from a seed: integers of all values, floats of many sizes. */
void graph_fill(vta_model *model, uint64_t seed);

#endif
