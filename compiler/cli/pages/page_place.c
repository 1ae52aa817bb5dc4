/* SPDX-License-Identifier: Apache-2.0
 *
 * Drawing a graph in layers: each node one below the lowest of what it reads; within a layer in the order of
 * the middle of what they read, from the top down and, to straighten long edges, from the bottom up. Items
 * are the nodes in order, then the graph's inputs, then its outputs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

enum { SWEEPS = 6 };

typedef struct edge {
    uint32_t from, to; /* items */
} edge;

typedef struct drawing {
    const vtac_graph *graph;
    cli_place *places;
    uint32_t item_count, layer_count;
    edge *edges;
    size_t edge_count;
    uint32_t *sorted; /* items by layer, then rank */
    uint32_t *begin;  /* of each layer in `sorted` */
    double *key;      /* what to sort a layer by */
} drawing;

/* The item that makes each value; UINT32_MAX: a constant. */
static uint32_t *item_of_values(const vtac_graph *g)
{
    uint32_t *maker = malloc(((size_t)g->value_count + 1) * sizeof *maker);
    if (maker == NULL) {
        return NULL;
    }
    memset(maker, 0xff, ((size_t)g->value_count + 1) * sizeof *maker);
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        for (uint32_t k = 0; k < node->output_count; k++) {
            maker[node->outputs[k]] = i;
        }
    }
    for (uint32_t i = 0; i < g->input_count; i++) {
        maker[g->inputs[i]] = g->order_count + i;
    }
    return maker;
}

static void add_edge(drawing *d, const uint32_t *maker, vtac_value_id value, uint32_t to)
{
    if (maker[value] != UINT32_MAX) {
        d->edges[d->edge_count++] = (edge){maker[value], to};
    }
}

static bool find_edges(drawing *d)
{
    const vtac_graph *g = d->graph;
    uint32_t *maker = item_of_values(g);
    size_t max = g->output_count + 1;
    for (uint32_t i = 0; i < g->order_count; i++) {
        max += g->nodes[g->order[i]].input_count;
    }
    d->edges = malloc(max * sizeof *d->edges);
    for (uint32_t i = 0; maker != NULL && d->edges != NULL && i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        for (uint32_t k = 0; k < node->input_count; k++) {
            add_edge(d, maker, node->inputs[k], i);
        }
    }
    for (uint32_t i = 0; maker != NULL && d->edges != NULL && i < g->output_count; i++) {
        add_edge(d, maker, g->outputs[i], g->order_count + g->input_count + i);
    }
    free(maker);
    return maker != NULL && d->edges != NULL;
}

/* Edges are in execution order of what they lead to, so that one pass does. */
static void find_layers(drawing *d)
{
    for (size_t i = 0; i < d->edge_count; i++) {
        const uint32_t above = d->places[d->edges[i].from].layer + 1;
        cli_place *to = &d->places[d->edges[i].to];
        to->layer = above > to->layer ? above : to->layer;
    }
    /* inputs stand right above their first user */
    for (uint32_t i = 0; i < d->graph->input_count; i++) {
        const uint32_t item = d->graph->order_count + i;
        uint32_t min = UINT32_MAX;
        for (size_t e = 0; e < d->edge_count; e++) {
            if (d->edges[e].from == item && d->places[d->edges[e].to].layer < min) {
                min = d->places[d->edges[e].to].layer;
            }
        }
        d->places[item].layer = min == UINT32_MAX || min == 0 ? 0 : min - 1;
    }
    for (uint32_t i = 0; i < d->item_count; i++) {
        d->layer_count = d->places[i].layer >= d->layer_count ? d->places[i].layer + 1 : d->layer_count;
    }
}

/* Items sorted by layer, in their order. */
static bool sort_layers(drawing *d)
{
    d->begin = calloc((size_t)d->layer_count + 2, sizeof *d->begin);
    d->sorted = malloc(((size_t)d->item_count + 1) * sizeof *d->sorted);
    d->key = malloc(((size_t)d->item_count + 1) * sizeof *d->key);
    if (d->begin == NULL || d->sorted == NULL || d->key == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < d->item_count; i++) {
        d->begin[d->places[i].layer + 1]++;
    }
    for (uint32_t l = 0; l < d->layer_count; l++) {
        d->begin[l + 1] += d->begin[l];
    }
    uint32_t *next = calloc((size_t)d->layer_count + 1, sizeof *next);
    if (next == NULL) {
        return false;
    }
    memcpy(next, d->begin, d->layer_count * sizeof *next);
    for (uint32_t i = 0; i < d->item_count; i++) {
        d->sorted[next[d->places[i].layer]++] = i;
    }
    free(next);
    return true;
}

static void rank_layers(drawing *d)
{
    for (uint32_t l = 0; l < d->layer_count; l++) {
        const uint32_t count = d->begin[l + 1] - d->begin[l];
        for (uint32_t k = 0; k < count; k++) {
            cli_place *place = &d->places[d->sorted[d->begin[l] + k]];
            place->rank = k;
            place->x = ((double)k - ((double)count - 1) / 2) * CLI_RANK_STEP;
        }
    }
}

/* Sorts each layer by the mean place of its neighbours above (or below); stable, so that ties keep their
 * order. */
static bool sort_by_neighbours(drawing *d, bool down)
{
    uint32_t *degree = calloc((size_t)d->item_count + 1, sizeof *degree);
    if (degree == NULL) {
        return false;
    }
    memset(d->key, 0, d->item_count * sizeof *d->key);
    for (size_t e = 0; e < d->edge_count; e++) {
        const uint32_t of = down ? d->edges[e].to : d->edges[e].from;
        d->key[of] += d->places[down ? d->edges[e].from : d->edges[e].to].x;
        degree[of]++;
    }
    for (uint32_t i = 0; i < d->item_count; i++) {
        d->key[i] = degree[i] > 0 ? d->key[i] / degree[i] : d->places[i].x;
    }
    for (uint32_t l = 0; l < d->layer_count; l++) {
        for (uint32_t i = d->begin[l] + 1; i < d->begin[l + 1]; i++) { /* insertion: layers are short */
            const uint32_t item = d->sorted[i];
            uint32_t at = i;
            for (; at > d->begin[l] && d->key[d->sorted[at - 1]] > d->key[item]; at--) {
                d->sorted[at] = d->sorted[at - 1];
            }
            d->sorted[at] = item;
        }
    }
    rank_layers(d);
    free(degree);
    return true;
}

/* Preferred x of an item: the middle of the items that it reads. */
static double wanted_x(const drawing *d, uint32_t item)
{
    double sum = 0.0;
    uint32_t count = 0;
    for (size_t e = 0; e < d->edge_count; e++) {
        if (d->edges[e].to == item) {
            sum += d->places[d->edges[e].from].x;
            count++;
        }
    }
    return count > 0 ? sum / count : d->places[item].x;
}

/* Moves the items of each layer to where they want to be, side by side, and the layer so that they are off by
 * nothing on the whole. */
static void align_items(drawing *d)
{
    for (uint32_t l = 0; l < d->layer_count; l++) {
        const uint32_t count = d->begin[l + 1] - d->begin[l];
        double min = -HUGE_VAL;
        double off = 0.0;
        for (uint32_t i = d->begin[l]; i < d->begin[l + 1]; i++) {
            cli_place *place = &d->places[d->sorted[i]];
            const double wanted = wanted_x(d, d->sorted[i]);
            place->x = wanted > min ? wanted : min;
            min = place->x + CLI_RANK_STEP;
            off += place->x - wanted;
        }
        for (uint32_t i = d->begin[l]; i < d->begin[l + 1]; i++) {
            d->places[d->sorted[i]].x -= off / count;
        }
    }
}

static void finish_places(drawing *d, double *width, double *height)
{
    double low = 0.0;
    double high = 0.0;
    for (uint32_t i = 0; i < d->item_count; i++) {
        low = d->places[i].x < low ? d->places[i].x : low;
        high = d->places[i].x > high ? d->places[i].x : high;
    }
    for (uint32_t i = 0; i < d->item_count; i++) {
        d->places[i].x += CLI_RANK_STEP / 2.0 - low;
        d->places[i].y = CLI_LAYER_STEP * (double)d->places[i].layer + 20;
    }
    *width = high - low + CLI_RANK_STEP;
    *height = CLI_LAYER_STEP * (double)d->layer_count + 20;
}

cli_place *cli_place_graph(const vtac_graph *graph, double *width, double *height)
{
    drawing d = {.graph = graph, .item_count = graph->order_count + graph->input_count + graph->output_count};
    d.places = calloc((size_t)d.item_count + 1, sizeof *d.places);
    bool ok = d.places != NULL && find_edges(&d);
    if (ok) {
        find_layers(&d);
        ok = sort_layers(&d);
    }
    if (ok) {
        rank_layers(&d);
        for (int i = 0; ok && i < SWEEPS; i++) {
            ok = sort_by_neighbours(&d, i % 2 == 0);
        }
        align_items(&d);
        finish_places(&d, width, height);
    }
    free(d.edges);
    free(d.begin);
    free(d.sorted);
    free(d.key);
    if (!ok) {
        free(d.places);
        return NULL;
    }
    return d.places;
}
