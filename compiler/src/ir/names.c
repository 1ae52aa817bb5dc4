/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash table from names to values; open addressing, never more than half full.
 */
#include "names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vta/hash.h"

static size_t hash_name(const char *name)
{
    const uint64_t hash = vta_hash_text(VTA_HASH_START, name);
    return (size_t)(hash ^ (hash >> 32));
}

/* The place of a name, or the free one where it belongs. */
static size_t place_of(const vtac_graph *graph, const char *name)
{
    size_t at = hash_name(name) & (graph->name_room - 1);
    while (graph->names[at] != 0 && strcmp(graph->values[graph->names[at]].name, name) != 0) {
        at = (at + 1) & (graph->name_room - 1);
    }
    return at;
}

vtac_value_id vtac_find_value(const vtac_graph *graph, const char *name)
{
    return graph->name_room == 0 ? 0 : graph->names[place_of(graph, name)];
}

static void rebuild_names(vtac_graph *graph)
{
    memset(graph->names, 0, graph->name_room * sizeof *graph->names);
    for (vtac_value_id v = 1; v <= graph->value_count; v++) {
        graph->names[place_of(graph, graph->values[v].name)] = v;
    }
}

static vta_status make_room(vtac_graph *graph, vta_diag *diag)
{
    if (2 * ((size_t)graph->value_count + 2) <= graph->name_room) {
        return VTA_OK;
    }
    const size_t room = graph->name_room == 0 ? 64 : 2 * graph->name_room;
    vtac_value_id *names = malloc(room * sizeof *names);
    if (names == NULL) {
        return vta_no_memory(diag);
    }
    free(graph->names);
    graph->names = names;
    graph->name_room = room;
    rebuild_names(graph);
    return VTA_OK;
}

vta_status vtac_name_value(vtac_graph *graph, vtac_value_id id, const char *name, vta_diag *diag)
{
    char made_up[16];
    VTA_TRY(make_room(graph, diag));
    if (name == NULL || name[0] == '\0') {
        (void)snprintf(made_up, sizeof made_up, "v%u", id);
        name = made_up;
    }
    const size_t size = strlen(name);
    char *unique = vta_arena_string(&graph->arena, name, size);
    for (uint32_t i = 0; unique != NULL && vtac_find_value(graph, unique) != 0; i++) {
        unique = i > 0 ? unique : vta_arena_alloc(&graph->arena, size + 24);
        if (unique != NULL) {
            (void)snprintf(unique, size + 24, "%s.%u", name, id + i);
        }
    }
    if (unique == NULL) {
        return vta_no_memory(diag);
    }
    graph->values[id].name = unique;
    graph->names[place_of(graph, unique)] = id;
    return VTA_OK;
}

void vtac_swap_names(vtac_graph *graph, vtac_value_id a, vtac_value_id b)
{
    vtac_value *x = &graph->values[a];
    vtac_value *y = &graph->values[b];
    const size_t at_x = place_of(graph, x->name);
    const size_t at_y = place_of(graph, y->name);
    const char *name = x->name;
    const bool nameless = x->nameless;
    x->name = y->name;
    x->nameless = y->nameless;
    y->name = name;
    y->nameless = nameless;
    graph->names[at_x] = b;
    graph->names[at_y] = a;
}

vta_status vtac_rename_value(vtac_graph *graph, vtac_value_id value, const char *name, vta_diag *diag)
{
    const vtac_value_id owner = vtac_find_value(graph, name);
    if (owner != 0) {
        vtac_swap_names(graph, owner, value);
        return VTA_OK;
    }
    const char *kept = vta_arena_string(&graph->arena, name, strlen(name));
    if (kept == NULL) {
        return vta_no_memory(diag);
    }
    graph->values[value].name = kept;
    graph->values[value].nameless = false;
    rebuild_names(graph);
    return VTA_OK;
}
