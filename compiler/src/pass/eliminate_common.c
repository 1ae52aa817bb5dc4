/* SPDX-License-Identifier: Apache-2.0
 *
 * eliminate-common: nodes of one operator with the same operands and attributes are one node, constants of
 * one type with the same contents are one constant. In execution order, so that equal cones fall together in
 * one go.
 */
#include <stdlib.h>
#include <string.h>

#include "rewrite.h"
#include "vta/fail.h"
#include "vta/hash.h"

/* A hash table of nodes or values seen so far; `room` is a power of two, more than twice as large. */
typedef struct seen {
    uint32_t *ids;
    size_t room;
} seen;

static vta_status make_table(seen *table, uint32_t count, vta_diag *diag)
{
    table->room = 64;
    while (table->room <= 2 * (size_t)count) {
        table->room *= 2;
    }
    table->ids = calloc(table->room, sizeof *table->ids);
    return vta_allocated(table->ids != NULL, diag);
}

static uint64_t mix_hash(uint64_t hash, const void *bytes, size_t size)
{
    hash = vta_hash_bytes(hash, bytes, size);
    return hash ^ hash >> 29;
}

/* ---- constants */

static bool same_constant(const vtac_graph *graph, vtac_value_id a, vtac_value_id b)
{
    return vtac_same_tensor(graph->values[a].constant, graph->values[b].constant);
}

/* Large constants are told apart by their first bytes and length: equal ones are compared in full. */
static uint64_t hash_constant(const vtac_tensor *tensor)
{
    enum { MAX_HASHED = 4096 };
    const uint64_t hash = mix_hash(tensor->bytes, &tensor->type.dtype, sizeof tensor->type.dtype);
    return mix_hash(hash, tensor->data, tensor->bytes < MAX_HASHED ? tensor->bytes : MAX_HASHED);
}

static vta_status merge_constants(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    seen table;
    VTA_TRY(make_table(&table, graph->value_count, diag));
    for (vtac_value_id v = 1; v <= graph->value_count; v++) {
        if (graph->values[v].constant == NULL || graph->values[v].dead) {
            continue;
        }
        size_t at = (size_t)hash_constant(graph->values[v].constant) & (table.room - 1);
        while (table.ids[at] != 0 && !same_constant(graph, table.ids[at], v)) {
            at = (at + 1) & (table.room - 1);
        }
        if (table.ids[at] == 0) {
            table.ids[at] = v;
        } else if (!vtac_is_output(graph, v)) {
            vtac_replace_uses(graph, v, table.ids[at]);
            graph->values[v].dead = true;
            (*changes)++;
        }
    }
    free(table.ids);
    return VTA_OK;
}

/* ---- nodes */

static bool same_node(const vtac_node *a, const vtac_node *b)
{
    return vtac_same_form(a, b) && memcmp(a->inputs, b->inputs, a->input_count * sizeof *a->inputs) == 0;
}

static bool can_merge(const vtac_graph *graph, const vtac_node *old, const vtac_node *new)
{
    for (uint32_t i = 0; i < old->output_count; i++) {
        if (!vtac_can_replace(graph, old->outputs[i], new->outputs[i])) {
            return false;
        }
    }
    return true;
}

static void merge_node(vtac_graph *graph, vtac_node_id old, vtac_node_id new)
{
    const vtac_node *from = &graph->nodes[old];
    for (uint32_t i = 0; i < from->output_count; i++) {
        const vtac_value_id to = graph->nodes[new].outputs[i];
        if (vtac_is_output(graph, from->outputs[i])) {
            vtac_swap_names(graph, from->outputs[i], to);
        }
        vtac_replace_uses(graph, from->outputs[i], to);
    }
}

static vta_status merge_nodes(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    seen table;
    VTA_TRY(make_table(&table, graph->order_count, diag));
    for (uint32_t i = 0; i < graph->order_count; i++) {
        const vtac_node_id id = graph->order[i];
        const vtac_node *node = &graph->nodes[id];
        const uint64_t hash =
            mix_hash((uint64_t)node->op, node->inputs, node->input_count * sizeof *node->inputs);
        size_t at = (size_t)hash & (table.room - 1);
        while (table.ids[at] != 0 && !same_node(&graph->nodes[table.ids[at]], node)) {
            at = (at + 1) & (table.room - 1);
        }
        if (table.ids[at] == 0) {
            table.ids[at] = id;
        } else if (can_merge(graph, node, &graph->nodes[table.ids[at]])) {
            merge_node(graph, id, table.ids[at]);
            (*changes)++;
        }
    }
    free(table.ids);
    (void)vtac_remove_dead(graph);
    return VTA_OK;
}

vtac_pass_fn vtac_pass_eliminate_common;

vta_status vtac_pass_eliminate_common(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    *changes = 0;
    (void)vtac_remove_dead(graph);
    VTA_TRY(merge_constants(graph, changes, diag));
    return merge_nodes(graph, changes, diag);
}
