/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes that stay float, by their names.
 */
#include "kept.h"

#include <string.h>

#include "plan.h"
#include "vta/fail.h"
#include "vta/str.h"

static bool is_named(const vtac_graph *g, const vtac_node *node, const char *name)
{
    bool named = node->name != NULL && strcmp(node->name, name) == 0;
    for (uint32_t i = 0; i < node->output_count; i++) {
        const char *result = node->outputs[i] == 0 ? NULL : g->values[node->outputs[i]].name;
        named = named || (result != NULL && strcmp(result, name) == 0);
    }
    return named;
}

static vta_status no_such_node(const vtac_graph *g, const char *name, vta_arena *arena, vta_diag *diag)
{
    const char **names = vta_arena_array(arena, (size_t)g->order_count + 1, sizeof *names);
    for (uint32_t i = 0; names != NULL && i < g->order_count; i++) {
        const char *own = g->nodes[g->order[i]].name;
        names[i] = own == NULL ? "" : own;
    }
    const char *near = names == NULL ? NULL : vta_nearest(name, names, g->order_count);
    return near != NULL
               ? vta_fail(diag, VTA_INVALID, "no node is named '%s'; did you mean '%s'?", name, near)
               : vta_fail(diag, VTA_INVALID,
                          "no node is named '%s', nor a result of one; vtac inspect shows them", name);
}

vta_status vtac_quant_find_named(const vtac_graph *graph, const char *const *names, uint32_t count,
                                 vta_arena *arena, const bool **out, vta_diag *diag)
{
    bool *kept = vta_arena_array(arena, (size_t)graph->node_count + 1, sizeof *kept);
    if (kept == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t n = 0; n < count; n++) {
        bool found = false;
        for (uint32_t i = 0; i < graph->order_count; i++) {
            const bool is = is_named(graph, &graph->nodes[graph->order[i]], names[n]);
            kept[graph->order[i]] = kept[graph->order[i]] || is;
            found = found || is;
        }
        if (!found) {
            return no_such_node(graph, names[n], arena, diag);
        }
    }
    *out = kept;
    return VTA_OK;
}

static bool reads_any(const vtac_graph *g, const bool *nodes, const vtac_node *node)
{
    bool reads = false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        reads = reads || nodes[g->values[node->inputs[i]].node];
    }
    return reads;
}

/* Clamps and moves hand a result on as it is: their readers count, too. */
static bool hands_on(const vtac_node *node)
{
    return vtac_quant_role_of(node->op) == QUANT_CLAMP || vtac_quant_moves(node);
}

vta_status vtac_quant_find_kept(const vtac_graph *g, const vtac_quantize_options *how, vta_arena *arena,
                                const bool **out, vta_diag *diag)
{
    const bool *kept = NULL;
    VTA_TRY(vtac_quant_find_named(g, how->keep_float, how->keep_count, arena, &kept, diag));
    *out = kept;
    if (!how->keep_readers || kept == NULL) {
        return VTA_OK;
    }
    const size_t room = (size_t)g->node_count + 1;
    bool *all = vta_arena_array(arena, room, sizeof *all);
    bool *sources = vta_arena_array(arena, room, sizeof *sources);
    if (all == NULL || sources == NULL) {
        return vta_no_memory(diag);
    }
    memcpy(all, kept, room * sizeof *all);
    memcpy(sources, kept, room * sizeof *sources);
    for (uint32_t i = 0; i < g->order_count; i++) {
        const vtac_node_id id = g->order[i];
        const bool reads = reads_any(g, sources, &g->nodes[id]);
        all[id] = all[id] || reads;
        sources[id] = sources[id] || (reads && hands_on(&g->nodes[id]));
    }
    *out = all;
    return VTA_OK;
}
