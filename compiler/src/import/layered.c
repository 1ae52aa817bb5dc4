/* SPDX-License-Identifier: Apache-2.0 */
#include "layered.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "vta/fail.h"
#include "vta/hash.h"

vta_status vtac_layered_begin(vtac_layered *l, const char *name, const vtac_import_options *options,
                              vta_diag *diag)
{
    *l = (vtac_layered){.options = options};
    l->maker = (vtac_import_builder){
        .graph = vtac_graph_create(name), .diag = diag, .name = "", .budget = VTAC_BUILDER_NODES};
    l->maker.status = vta_allocated(l->maker.graph != NULL, diag);
    return l->maker.status;
}

/* ---- values by name */

/* The place in the table where a name is, or would be. */
static uint32_t *place_of(const vtac_layered *l, const char *name)
{
    const uint32_t places = 2 * l->room;
    uint32_t at = (uint32_t)(vta_hash_text(VTA_HASH_START, name) % places);
    while (l->table[at] != 0 && strcmp(l->values[l->table[at] - 1].name, name) != 0) {
        at = at + 1 == places ? 0 : at + 1;
    }
    return &l->table[at];
}

/* Room for twice as many values. */
static bool grow_table(vtac_layered *l)
{
    vta_arena *arena = &l->maker.graph->arena;
    const uint32_t room = l->room == 0 ? 64 : 2 * l->room;
    vtac_layered_value *values = vta_arena_array(arena, room, sizeof *values);
    uint32_t *table = vta_arena_array(arena, 2 * (size_t)room, sizeof *table);
    if (values == NULL || table == NULL) {
        vtac_make_fail(&l->maker, VTA_NOMEM, "out of memory");
        return false;
    }
    memset(table, 0, 2 * (size_t)room * sizeof *table);
    for (uint32_t i = 0; l->values != NULL && i < l->count; i++) {
        values[i] = l->values[i];
    }
    l->values = values;
    l->table = table;
    l->room = room;
    for (uint32_t i = 0; i < l->count; i++) {
        *place_of(l, values[i].name) = i + 1;
    }
    return true;
}

static vtac_layered_value *find_value(const vtac_layered *l, const char *name)
{
    const uint32_t place = l->room == 0 ? 0 : *place_of(l, name);
    return place == 0 ? NULL : &l->values[place - 1];
}

vtac_id vtac_layered_look(const vtac_layered *l, const char *name)
{
    vtac_layered_value *v = find_value(l, name);
    if (v != NULL) {
        v->used = true;
    }
    return v == NULL ? 0 : v->id;
}

vtac_id vtac_layered_get(vtac_layered *l, const char *name)
{
    const vtac_id id = vtac_layered_look(l, name);
    if (id == 0) {
        vtac_make_fail(&l->maker, VTA_INVALID, "nothing before it gives '%.80s'", name);
    }
    return id;
}

static vtac_layered_value *give(vtac_layered *l, const char *name, vtac_id id)
{
    vtac_layered_value *v = find_value(l, name);
    const bool full = l->values == NULL || l->count == l->room;
    if (l->maker.status != VTA_OK || (v == NULL && full && !grow_table(l))) {
        return NULL;
    }
    if (v == NULL) {
        const char *own = vtac_layered_text(l, name, strlen(name));
        if (l->maker.status != VTA_OK) {
            return NULL;
        }
        v = &l->values[l->count];
        v->name = own;
        *place_of(l, own) = ++l->count;
    }
    *v = (vtac_layered_value){.name = v->name, .id = id, .given = ++l->gifts};
    return v;
}

void vtac_layered_set(vtac_layered *l, const char *name, vtac_id id)
{
    vtac_layered_value *v = id == 0 ? NULL : give(l, name, id);
    if (v == NULL) {
        return;
    }
    v->may_end = true;
    const vtac_value *value = &l->maker.graph->values[id];
    if (value->node != 0 && name[0] != '\0') {
        l->maker.status = vtac_rename_value(l->maker.graph, id, v->name, l->maker.diag);
    }
}

void vtac_layered_set_constant(vtac_layered *l, const char *name, vtac_id id)
{
    if (id != 0) {
        (void)give(l, name, id);
    }
}

const char *vtac_layered_text(vtac_layered *l, const void *text, size_t size)
{
    char *own = vta_arena_string(&l->maker.graph->arena, text, size);
    if (own == NULL) {
        vtac_make_fail(&l->maker, VTA_NOMEM, "out of memory");
        return "";
    }
    for (char *at = own; at < own + size; at++) {
        *at = isprint((unsigned char)*at) != 0 ? *at : '_';
    }
    return own;
}

void vtac_layered_at(vtac_layered *l, const char *name, uint32_t number)
{
    l->maker.name = name;
    l->maker.origin = number;
}

/* ---- inputs and outputs */

static void assume_batch(const vtac_layered *l, const char *name, vtac_type *type)
{
    if (type->rank > 0 && type->dim[0] < 0) {
        type->dim[0] = 1;
        vtac_import_note(l->options,
                         "input '%.80s': its first axis, which the model leaves open, is taken as 1", name);
    }
}

vtac_id vtac_layered_input(vtac_layered *l, const char *name, const vtac_type *type)
{
    vtac_import_builder *m = &l->maker;
    vtac_type is = *type;
    vtac_id id = 0;
    const vtac_shape_option *given = vtac_import_shape(l->options, name);
    if (given != NULL && is.rank != 0 && given->rank != is.rank) {
        vtac_make_fail(m, VTA_INVALID, "--shape: input '%.80s' has %u axes, not %u", name, is.rank,
                       given->rank);
    }
    if (given != NULL) {
        is.rank = given->rank;
        memcpy(is.dim, given->dim, sizeof is.dim);
    }
    assume_batch(l, name, &is);
    bool open = is.rank == 0 && given == NULL;
    for (uint32_t a = 0; a < is.rank; a++) {
        open = open || is.dim[a] < 1;
    }
    if (open) {
        vtac_make_fail(m, VTA_INVALID,
                       "input '%.80s' has sizes that the model leaves open; give them with "
                       "--shape %.80s=1x3x224x224, as they are",
                       name, name);
    }
    if (m->status == VTA_OK) {
        m->status = vtac_add_input(m->graph, name, &is, &id, m->diag);
    }
    vtac_layered_set_constant(l, name, m->status == VTA_OK ? id : 0);
    return m->status == VTA_OK ? id : 0;
}

void vtac_layered_add_output(vtac_layered *l, const char *name, vtac_id id)
{
    vtac_import_builder *m = &l->maker;
    if (m->status == VTA_OK && (m->graph->values[id].node == 0 || vtac_is_output(m->graph, id))) {
        id = vtac_make1(m, VTAC_OP_IDENTITY, id);
    }
    const bool is_input = m->graph->values[id].node == 0 && m->graph->values[id].constant == NULL;
    if (m->status == VTA_OK && !is_input) {
        m->status = vtac_rename_value(m->graph, id, name, m->diag);
    }
    if (m->status == VTA_OK) {
        m->status = vtac_add_output(m->graph, id, m->diag);
    }
}

void vtac_layered_output(vtac_layered *l, const char *name)
{
    const vtac_id id = vtac_layered_look(l, name);
    if (id == 0) {
        vtac_make_fail(&l->maker, VTA_INVALID, "nothing gives the output '%.80s'", name);
        return;
    }
    vtac_layered_add_output(l, name, id);
}

/* The value that was given next behind that one and is an end; NULL: none. */
static const vtac_layered_value *next_end(const vtac_layered *l, uint32_t after)
{
    const vtac_layered_value *next = NULL;
    for (uint32_t i = 0; i < l->count; i++) {
        const vtac_layered_value *v = &l->values[i];
        if (v->may_end && !v->used && v->given > after && (next == NULL || v->given < next->given)) {
            next = v;
        }
    }
    return next;
}

void vtac_layered_ends(vtac_layered *l)
{
    const vtac_layered_value *v = NULL;
    for (uint32_t after = 0; l->maker.status == VTA_OK && (v = next_end(l, after)) != NULL;
         after = v->given) {
        vtac_layered_add_output(l, v->name, v->id);
    }
    (void)vtac_layered_outputs(l, "a network without an output");
}

vta_status vtac_layered_outputs(vtac_layered *l, const char *none)
{
    if (l->maker.graph->output_count == 0) {
        vtac_make_fail(&l->maker, VTA_INVALID, "%s", none);
    }
    return l->maker.status;
}

/* ---- what is not supported, and the end */

void vtac_layered_miss(vtac_layered *l, const char *op)
{
    const uint32_t room = sizeof l->missed / sizeof l->missed[0];
    for (uint32_t i = 0; i < l->missed_count && i < room; i++) {
        if (strcmp(l->missed[i], op) == 0) {
            return;
        }
    }
    if (l->missed_count < room) {
        const size_t used = strlen(l->missing);
        l->missed[l->missed_count] = op;
        (void)snprintf(l->missing + used, sizeof l->missing - used, "%s%.60s", used == 0 ? "" : ", ", op);
    }
    l->missed_count++;
}

vta_status vtac_layered_missing(vtac_layered *l, const char *what)
{
    if (l->missed_count == 0) {
        return VTA_OK;
    }
    const bool more = l->missed_count > sizeof l->missed / sizeof l->missed[0];
    return vta_fail(l->maker.diag, VTA_UNSUPPORTED, "%s that are not supported: %s%s", what, l->missing,
                    more ? ", and more" : "");
}

vta_status vtac_layered_end(vtac_layered *l, vta_status status, const char *path, vtac_graph **out)
{
    if (status == VTA_OK && l->maker.status == VTA_OK) {
        (void)vtac_remove_dead(l->maker.graph);
        *out = l->maker.graph;
        return VTA_OK;
    }
    vtac_graph_destroy(l->maker.graph);
    return vta_context(l->maker.diag, "%s", path);
}
