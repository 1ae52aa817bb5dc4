/* SPDX-License-Identifier: Apache-2.0
 *
 * The cut: from the nodes that the accelerator takes to nodes that can leave the host program's graph
 * together.
 */
#include <stdlib.h>
#include <string.h>

#include "plug.h"
#include "vta/fail.h"

#define NOBODY UINT32_MAX

typedef struct graph_cut {
    const vtac_plug_graph *graph;
    int32_t *regions;
    uint32_t *producer;  /* by value: the node that makes it, or NOBODY */
    bool *is_constant;   /* by node: all that it reads is constant */
    bool *below, *above; /* by node: reads a result of the region, is read by the region; by way of others */
} graph_cut;

static uint32_t producer_of(const graph_cut *c, uint32_t value)
{
    return value < c->graph->value_count ? c->producer[value] : NOBODY;
}

static bool is_constant_value(const graph_cut *c, uint32_t value)
{
    if (value >= c->graph->value_count || c->graph->constant[value]) {
        return true;
    }
    return c->producer[value] != NOBODY && c->is_constant[c->producer[value]];
}

static void find_producers(graph_cut *c)
{
    for (uint32_t v = 0; v < c->graph->value_count; v++) {
        c->producer[v] = NOBODY;
    }
    for (uint32_t i = 0; i < c->graph->node_count; i++) {
        const vtac_plug_node *node = &c->graph->nodes[i];
        c->is_constant[i] = true;
        for (uint32_t k = 0; k < node->input_count; k++) {
            c->is_constant[i] = c->is_constant[i] && is_constant_value(c, node->inputs[k]);
        }
        for (uint32_t k = 0; k < node->output_count; k++) {
            if (node->outputs[k] < c->graph->value_count) {
                c->producer[node->outputs[k]] = i;
            }
        }
    }
}

/* ---- one region */

/* Takes a node of the host into the region; false where it is of a region already. */
static bool take_node(graph_cut *c, uint32_t node, int32_t region)
{
    const bool fresh = c->regions[node] == VTAC_PLUG_STAYS;
    c->regions[node] = fresh ? region : c->regions[node];
    return fresh;
}

/* Takes along what a node reads: DequantizeLinear, and what is made of constants alone. */
static bool take_before(graph_cut *c, uint32_t i, int32_t region)
{
    const vtac_plug_node *node = &c->graph->nodes[i];
    bool grown = false;
    for (uint32_t k = 0; k < node->input_count; k++) {
        const uint32_t from = producer_of(c, node->inputs[k]);
        const bool goes =
            from != NOBODY && (c->is_constant[from] || (c->graph->nodes[from].kind == VTAC_PLUG_DEQUANTIZE &&
                                                        node->kind != VTAC_PLUG_DEQUANTIZE));
        grown = (goes && take_node(c, from, region)) || grown;
    }
    return grown;
}

static bool reads_region(const graph_cut *c, uint32_t i, int32_t region)
{
    const vtac_plug_node *node = &c->graph->nodes[i];
    for (uint32_t k = 0; k < node->input_count; k++) {
        const uint32_t from = producer_of(c, node->inputs[k]);
        if (from != NOBODY && c->regions[from] == region &&
            c->graph->nodes[from].kind != VTAC_PLUG_QUANTIZE) {
            return true;
        }
    }
    return false;
}

static bool leads_to_quantize(const graph_cut *c, uint32_t i);

/* True if some node that reads a value of node i quantizes it, or passes it on to one that does. */
static bool is_quantized_behind(const graph_cut *c, uint32_t i)
{
    for (uint32_t next = i + 1; next < c->graph->node_count; next++) {
        const vtac_plug_node *node = &c->graph->nodes[next];
        if (node->input_count > 0 && producer_of(c, node->inputs[0]) == i && leads_to_quantize(c, next)) {
            return true;
        }
    }
    return false;
}

static bool leads_to_quantize(const graph_cut *c, uint32_t i) /* NOLINT(misc-no-recursion): forward only */
{
    const vtac_plug_node_kind kind = c->graph->nodes[i].kind;
    return kind == VTAC_PLUG_QUANTIZE || (kind == VTAC_PLUG_PASSING && is_quantized_behind(c, i));
}

/* Takes node i along where it quantizes what the region makes, or leads there. */
static bool take_behind(graph_cut *c, uint32_t i, int32_t region)
{
    return c->regions[i] == VTAC_PLUG_STAYS && reads_region(c, i, region) && leads_to_quantize(c, i) &&
           take_node(c, i, region);
}

static void find_between(graph_cut *c, int32_t region)
{
    const uint32_t count = c->graph->node_count;
    memset(c->below, 0, count);
    memset(c->above, 0, count);
    for (uint32_t i = 0; i < count; i++) {
        const vtac_plug_node *node = &c->graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count; k++) {
            const uint32_t from = producer_of(c, node->inputs[k]);
            c->below[i] = c->below[i] || (from != NOBODY && (c->below[from] || c->regions[from] == region));
        }
    }
    for (uint32_t i = count; i-- > 0;) {
        const vtac_plug_node *node = &c->graph->nodes[i];
        const bool reached = c->above[i] || c->regions[i] == region;
        for (uint32_t k = 0; reached && k < node->input_count; k++) {
            const uint32_t from = producer_of(c, node->inputs[k]);
            if (from != NOBODY) {
                c->above[from] = true;
            }
        }
    }
}

/* Takes nodes between two of the region; false where another region has one of them. */
static bool take_between(graph_cut *c, int32_t region, bool *grown)
{
    find_between(c, region);
    for (uint32_t i = 0; i < c->graph->node_count; i++) {
        if (!c->below[i] || !c->above[i] || c->regions[i] == region) {
            continue;
        }
        if (!take_node(c, i, region)) {
            return false;
        }
        *grown = true;
    }
    return true;
}

static bool complete_region(graph_cut *c, int32_t region)
{
    for (bool grown = true; grown;) {
        grown = false;
        if (!take_between(c, region, &grown)) {
            return false;
        }
        for (uint32_t i = c->graph->node_count; i-- > 0;) {
            grown = (c->regions[i] == region && take_before(c, i, region)) || grown;
        }
        for (uint32_t i = 0; i < c->graph->node_count; i++) {
            grown = take_behind(c, i, region) || grown;
        }
    }
    return true;
}

/* ---- all regions */

/* True if node i may run now: regions whose nodes wait for others are looked at as one node by their count.
 */
static bool is_ready(const graph_cut *c, const bool *done, uint32_t i)
{
    const vtac_plug_node *node = &c->graph->nodes[i];
    for (uint32_t k = 0; k < node->input_count; k++) {
        const uint32_t from = producer_of(c, node->inputs[k]);
        const bool inside =
            from != NOBODY && c->regions[i] != VTAC_PLUG_STAYS && c->regions[from] == c->regions[i];
        if (from != NOBODY && !done[from] && !inside) {
            return false;
        }
    }
    return true;
}

static bool is_region_ready(const graph_cut *c, const bool *done, int32_t region)
{
    for (uint32_t i = 0; i < c->graph->node_count; i++) {
        if (c->regions[i] == region && !is_ready(c, done, i)) {
            return false;
        }
    }
    return true;
}

/* Runs node i, and with it its whole region, once nothing is missing. */
static bool run_node(const graph_cut *c, bool *done, uint32_t i)
{
    const int32_t region = c->regions[i];
    if (done[i] || (region == VTAC_PLUG_STAYS ? !is_ready(c, done, i) : !is_region_ready(c, done, region))) {
        return false;
    }
    for (uint32_t k = 0; region != VTAC_PLUG_STAYS && k < c->graph->node_count; k++) {
        done[k] = done[k] || c->regions[k] == region;
    }
    done[i] = true;
    return true;
}

/* True if the graph has an order once each region is one node. `done` is scratch. */
static bool has_order(const graph_cut *c, bool *done)
{
    memset(done, 0, c->graph->node_count);
    uint32_t left = c->graph->node_count;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < c->graph->node_count; i++) {
            moved = run_node(c, done, i) || moved;
        }
    }
    for (uint32_t i = 0; i < c->graph->node_count; i++) {
        left -= done[i];
    }
    return left == 0;
}

static void give_up(graph_cut *c, int32_t region)
{
    for (uint32_t i = 0; i < c->graph->node_count; i++) {
        c->regions[i] = c->regions[i] == region ? VTAC_PLUG_STAYS : c->regions[i];
    }
}

static void cut_regions(graph_cut *c)
{
    int32_t count = 0;
    find_producers(c);
    for (uint32_t i = 0; i < c->graph->node_count; i++) {
        count = c->regions[i] >= count ? c->regions[i] + 1 : count;
    }
    for (int32_t region = 0; region < count; region++) {
        if (!complete_region(c, region)) {
            give_up(c, region);
        }
    }
    for (int32_t region = count; region-- > 0 && !has_order(c, c->below);) {
        give_up(c, region);
    }
}

vta_status vtac_plug_cut(const vtac_plug_graph *graph, int32_t *regions, vta_diag *diag)
{
    graph_cut c = {.graph = graph};
    c.regions = regions;
    c.producer = calloc((size_t)graph->value_count + 1, sizeof *c.producer);
    c.is_constant = calloc((size_t)graph->node_count + 1, sizeof *c.is_constant);
    c.below = calloc((size_t)graph->node_count + 1, sizeof *c.below);
    c.above = calloc((size_t)graph->node_count + 1, sizeof *c.above);
    const bool room = c.producer != NULL && c.is_constant != NULL && c.below != NULL && c.above != NULL;
    if (room) {
        cut_regions(&c);
    }
    free(c.producer);
    free(c.is_constant);
    free(c.below);
    free(c.above);
    return vta_allocated(room, diag);
}

/* ---- borders */

/* By value, for one region. */
typedef struct value_marks {
    bool inside, read_inside, read_outside, listed;
} value_marks;

static void mark_values(const vtac_plug_graph *graph, const int32_t *regions, int32_t region,
                        value_marks *marks)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const vtac_plug_node *node = &graph->nodes[i];
        const bool own = regions[i] == region;
        for (uint32_t k = 0; k < node->input_count; k++) {
            if (node->inputs[k] < graph->value_count) {
                marks[node->inputs[k]].read_inside |= own;
                marks[node->inputs[k]].read_outside |= !own;
            }
        }
        for (uint32_t k = 0; own && k < node->output_count; k++) {
            if (node->outputs[k] < graph->value_count) {
                marks[node->outputs[k]].inside = true;
            }
        }
    }
}

static void list_value(value_marks *mark, uint32_t value, bool crosses, uint32_t *list, uint32_t *count)
{
    if (crosses && !mark->listed) {
        mark->listed = true;
        list[(*count)++] = value;
    }
}

static void list_border(const vtac_plug_graph *graph, const int32_t *regions, int32_t region,
                        value_marks *marks, vtac_plug_border *out)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const vtac_plug_node *node = &graph->nodes[i];
        for (uint32_t k = 0; regions[i] == region && k < node->input_count; k++) {
            const uint32_t v = node->inputs[k];
            if (v < graph->value_count) {
                list_value(&marks[v], v, !graph->constant[v] && !marks[v].inside, out->inputs,
                           &out->input_count);
            }
        }
        for (uint32_t k = 0; regions[i] == region && k < node->output_count; k++) {
            const uint32_t v = node->outputs[k];
            if (v < graph->value_count) {
                list_value(&marks[v], v, graph->kept[v] || marks[v].read_outside, out->outputs,
                           &out->output_count);
            }
        }
    }
}

vta_status vtac_plug_border_find(const vtac_plug_graph *graph, const int32_t *regions, int32_t region,
                                 vtac_plug_border *out, vta_diag *diag)
{
    value_marks *marks = calloc((size_t)graph->value_count + 1, sizeof *marks);
    *out = (vtac_plug_border){.inputs = calloc((size_t)graph->value_count + 1, sizeof *out->inputs),
                              .outputs = calloc((size_t)graph->value_count + 1, sizeof *out->outputs)};
    const bool room = marks != NULL && out->inputs != NULL && out->outputs != NULL;
    if (room) {
        mark_values(graph, regions, region, marks);
        list_border(graph, regions, region, marks, out);
    } else {
        vtac_plug_border_free(out);
    }
    free(marks);
    return vta_allocated(room, diag);
}

void vtac_plug_border_free(vtac_plug_border *border)
{
    free(border->inputs);
    free(border->outputs);
    *border = (vtac_plug_border){0};
}
