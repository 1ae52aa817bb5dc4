/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes as items: the lanes of a nest's vectors become neighbouring items of a work group, as a GPU wants
 * them. Neighbours then read and write neighbouring places, and an element of a local buffer that each lane
 * has of its own becomes a register of its item. What the nest does once for all lanes, each of them does.
 *
 * A nest is left as it is where lanes meet: in a local buffer that is read across lanes, in scratch memory,
 * in an argument that is read and written.
 */
#include <stdlib.h>

#include "../loop/schedule.h"
#include "bind.h"
#include "vta/fail.h"

enum { MIN_LANES = 4, GROUP = 64, MIN_GROUP = 32 };

/* Use that lanes make of a local buffer. */
typedef enum lane_use { UNUSED, SPLIT, COPIED, MIXED } lane_use;

typedef struct lane_binder {
    vtac_kernel *k;
    int64_t lanes;
    const vtac_expr *lane; /* of the item */
    lane_use *uses;        /* by place of the buffer */
    vtac_buffer **own;     /* SPLIT: the item's part of it */
    bool *differs;         /* by variable: a named value that is not the same in all lanes */
    bool refused;
} lane_binder;

static size_t place_of(const vtac_kernel *k, const vtac_buffer *buffer)
{
    size_t at = 0;
    while (k->buffers[at] != buffer) {
        at++;
    }
    return at;
}

/* ---- which lanes there are */

static bool is_vector(const vtac_stmt *s)
{
    return s->kind == VTAC_S_FOR && s->loop == VTAC_LOOP_VECTOR && s->extent > 1;
}

static int64_t longest_vector(const vtac_stmt *s)
{
    int64_t longest = 1;
    for (; s != NULL; s = s->next) {
        const int64_t own = is_vector(s) ? s->extent : s->body != NULL ? longest_vector(s->body) : 1;
        longest = own > longest ? own : longest;
    }
    return longest;
}

/* Vectors that the lanes of the nest can take: parts of them, or a few of them after each other. */
static bool vectors_fit(const vtac_stmt *s, int64_t lanes)
{
    bool fit = true;
    for (; s != NULL; s = s->next) {
        const bool own = !is_vector(s) || s->extent < lanes || s->extent % lanes == 0;
        fit = fit && own && (s->body == NULL || vectors_fit(s->body, lanes));
    }
    return fit;
}

/* ---- whether lanes are apart */

/* True if an index is the lane variable and multiples of the number of lanes. */
static bool is_whole(const vtac_expr *e, uint32_t var, int64_t lanes)
{
    if (e->op == VTAC_E_INT) {
        return e->i % lanes == 0;
    }
    if (e->op == VTAC_E_ADD) {
        return is_whole(e->in[0], var, lanes) && is_whole(e->in[1], var, lanes);
    }
    return e->op == VTAC_E_MUL ? e->in[1]->op == VTAC_E_INT && e->in[1]->i % lanes == 0
                               : e->op == VTAC_E_VAR && e->var == var;
}

/* True if an expression is not the same in all lanes. */
static bool differs(const lane_binder *l, const vtac_expr *e, const vtac_stmt *vector)
{
    return e != NULL &&
           ((e->op == VTAC_E_VAR && (l->differs[e->var] || e->var == vector->var)) ||
            differs(l, e->in[0], vector) || differs(l, e->in[1], vector) || differs(l, e->in[2], vector));
}

/* Notes how a local buffer is used at a place; `vector`: the loop around, or NULL. */
static void note_use(lane_binder *l, const vtac_buffer *buffer, const vtac_expr *index,
                     const vtac_stmt *vector)
{
    int64_t stride = 0;
    lane_use *use = &l->uses[place_of(l->k, buffer)];
    lane_use own = COPIED;
    if (vector != NULL && differs(l, index, vector)) {
        const bool whole = vtac_expr_stride(index, vector->var, &stride) && stride == 1 &&
                           is_whole(index, vector->var, l->lanes);
        own = whole ? SPLIT : MIXED;
    }
    *use = *use == UNUSED || *use == own ? own : MIXED;
}

static void check_reads(lane_binder *l, const vtac_expr *e, const vtac_stmt *vector, const vtac_stmt *store)
{
    if (e == NULL) {
        return;
    }
    if (e->buffer != NULL && e->buffer->space == VTAC_BUFFER_LOCAL) {
        note_use(l, e->buffer, e->in[0], vector);
    } else if (e->buffer != NULL && e->buffer->written) {
        const bool own =
            store != NULL && e->op == VTAC_E_LOAD && e->buffer == store->buffer && e->in[0] == store->index;
        l->refused = l->refused || !own;
    }
    for (int i = 0; i < 3; i++) {
        check_reads(l, e->in[i], vector, store);
    }
}

static void check_block(lane_binder *l, const vtac_stmt *s, const vtac_stmt *vector)
{
    for (; s != NULL; s = s->next) {
        check_reads(l, s->index, vector, NULL);
        check_reads(l, s->value, vector, s->kind == VTAC_S_STORE ? s : NULL);
        if (s->kind == VTAC_S_STORE && s->buffer->space == VTAC_BUFFER_LOCAL) {
            note_use(l, s->buffer, s->index, vector);
        }
        if (s->kind == VTAC_S_LET && vector != NULL) {
            l->differs[s->var] = differs(l, s->value, vector);
        }
        l->refused = l->refused || (s->buffer != NULL && s->buffer->space == VTAC_BUFFER_SCRATCH);
        if (s->body != NULL) {
            check_block(l, s->body, is_vector(s) ? s : vector);
        }
    }
}

static bool lanes_are_apart(lane_binder *l)
{
    check_block(l, l->k->body, NULL);
    for (size_t i = 0; i < l->k->buffer_count; i++) {
        l->refused = l->refused || l->uses[i] == MIXED;
    }
    return !l->refused;
}

/* ---- the change */

/* The item's part of a split buffer. */
static vtac_buffer *part_of(lane_binder *l, const vtac_buffer *buffer)
{
    const size_t at = place_of(l->k, buffer);
    if (l->own[at] == NULL) {
        vtac_buffer *part = vta_arena_alloc(l->k->arena, sizeof *part);
        if (part == NULL) {
            l->k->failed = true;
            return NULL;
        }
        *part = *buffer;
        part->elements = (buffer->elements + l->lanes - 1) / l->lanes;
        l->own[at] = part;
    }
    return l->own[at];
}

/* A place in a split buffer as a place in the item's part. `round`: of a vector that takes several. */
static const vtac_expr *slot_of(const lane_binder *l, const vtac_expr *e, uint32_t var,
                                const vtac_expr *round)
{
    if (e->op == VTAC_E_INT) {
        return vtac_e_index(l->k, e->i / l->lanes);
    }
    if (e->op == VTAC_E_ADD) {
        return vtac_i_add(l->k, slot_of(l, e->in[0], var, round), slot_of(l, e->in[1], var, round));
    }
    if (e->op == VTAC_E_MUL) {
        return vtac_i_mulc(l->k, e->in[0], e->in[1]->i / l->lanes);
    }
    return round != NULL ? round : vtac_e_index(l->k, 0);
}

typedef struct lane_change {
    uint32_t var;           /* of the vector loop */
    const vtac_expr *by;    /* what the variable becomes */
    const vtac_expr *round; /* of a vector that takes several; else NULL */
} lane_change;

static bool is_split(const lane_binder *l, const vtac_buffer *buffer)
{
    return buffer != NULL && buffer->space == VTAC_BUFFER_LOCAL && l->uses[place_of(l->k, buffer)] == SPLIT;
}

static const vtac_expr *change_expr(lane_binder *l, const vtac_expr *e, const lane_change *c)
{
    if (e == NULL || (e->op == VTAC_E_VAR && e->var == c->var)) {
        return e == NULL ? NULL : c->by;
    }
    if (e->op == VTAC_E_VAR || e->op == VTAC_E_INT || e->op == VTAC_E_FLOAT) {
        return e;
    }
    vtac_expr *copy = vta_arena_alloc(l->k->arena, sizeof *copy);
    if (copy == NULL) {
        l->k->failed = true;
        return e;
    }
    *copy = *e;
    if (is_split(l, e->buffer)) {
        copy->buffer = part_of(l, e->buffer);
        copy->in[0] = slot_of(l, e->in[0], c->var, c->round);
        return copy;
    }
    for (int i = 0; i < 3; i++) {
        copy->in[i] = change_expr(l, e->in[i], c);
    }
    return copy;
}

static void change_body(lane_binder *l, vtac_stmt *s, const lane_change *c)
{
    for (; s != NULL; s = s->next) {
        s->value = change_expr(l, s->value, c);
        if (is_split(l, s->buffer)) {
            s->index = slot_of(l, s->index, c->var, c->round);
            s->buffer = part_of(l, s->buffer);
        } else {
            s->index = change_expr(l, s->index, c);
        }
        change_body(l, s->body, c);
    }
}

/* A vector of all lanes is done once; a longer one in several rounds, a shorter one by some of the lanes. */
static void change_vector(lane_binder *l, vtac_stmt *s)
{
    lane_change c = {.var = s->var, .by = l->lane};
    if (s->extent > l->lanes) {
        c.round = vtac_variable_of(l->k, s->var);
        c.by = vtac_i_add(l->k, vtac_i_mulc(l->k, c.round, l->lanes), l->lane);
    }
    change_body(l, s->body, &c);
    if (s->extent < l->lanes) {
        s->kind = VTAC_S_IF;
        s->value = vtac_e2(l->k, VTAC_E_LT, l->lane, vtac_e_index(l->k, s->extent));
        return;
    }
    s->loop = VTAC_LOOP_UNROLL;
    s->extent /= l->lanes;
}

/* A store that all lanes would do is the first one's. */
static void keep_first(lane_binder *l, vtac_stmt *s)
{
    vtac_stmt *store = vta_arena_alloc(l->k->arena, sizeof *store);
    if (store == NULL) {
        l->k->failed = true;
        return;
    }
    *store = *s;
    store->next = NULL;
    *s = (vtac_stmt){.kind = VTAC_S_IF, .body = store, .next = s->next};
    s->value = vtac_e2(l->k, VTAC_E_EQ, l->lane, vtac_e_index(l->k, 0));
}

static void change_block(lane_binder *l, vtac_stmt *s)
{
    for (; s != NULL; s = s->next) {
        if (is_vector(s)) {
            change_vector(l, s);
        } else if (s->kind == VTAC_S_STORE && s->buffer->space == VTAC_BUFFER_ARGUMENT) {
            keep_first(l, s);
        } else if (s->body != NULL) {
            change_block(l, s->body);
        }
    }
}

static vtac_stmt *make_stmt(vtac_kernel *k, const vtac_stmt *as)
{
    vtac_stmt *s = vta_arena_alloc(k->arena, sizeof *s);
    if (s == NULL) {
        k->failed = true;
        return NULL;
    }
    *s = *as;
    return s;
}

/* "group for g { item for i { lane = i % lanes; outer = g * rounds + i / lanes; body } }" in place of the
 * outermost loop. */
static void wrap_body(lane_binder *l, vtac_stmt *outer, int64_t rounds, const vtac_stmt *lane, uint32_t item)
{
    vtac_kernel *k = l->k;
    const uint32_t group = k->var_count++;
    const vtac_expr *whole = vtac_i_add(k, vtac_i_mulc(k, vtac_variable_of(k, group), rounds),
                                        vtac_i_divc(k, vtac_variable_of(k, item), l->lanes));
    const vtac_stmt named = {.kind = VTAC_S_LET, .var = outer->var, .name = outer->name, .value = whole};
    const vtac_stmt guard = {.kind = VTAC_S_IF, .body = outer->body};
    const vtac_stmt items = {.kind = VTAC_S_FOR, .loop = VTAC_LOOP_ITEM, .var = item, .name = "item"};
    vtac_stmt *first = make_stmt(k, lane);
    vtac_stmt *second = make_stmt(k, &named);
    vtac_stmt *third = make_stmt(k, &guard);
    vtac_stmt *inner = make_stmt(k, &items);
    if (k->failed) {
        return;
    }
    const vtac_expr *end = vtac_e_index(k, outer->extent);
    third->value = vtac_e2(k, VTAC_E_LT, vtac_variable_of(k, outer->var), end);
    first->next = second;
    second->next = outer->extent % rounds == 0 ? outer->body : third;
    inner->extent = rounds * l->lanes;
    inner->body = first;
    *outer = (vtac_stmt){.kind = VTAC_S_FOR,
                         .loop = VTAC_LOOP_GROUP,
                         .var = group,
                         .name = "group",
                         .extent = (outer->extent + rounds - 1) / rounds,
                         .body = inner};
}

/* ---- rounds of a group */

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The common divisor of the number and of all by which the loop's variable is divided. */
static int64_t divisor_in(const vtac_expr *e, uint32_t var, int64_t number)
{
    if (e == NULL) {
        return number;
    }
    if (e->op == VTAC_E_DIV && e->in[0]->op == VTAC_E_VAR && e->in[0]->var == var &&
        e->in[1]->op == VTAC_E_INT) {
        return common_divisor(number, e->in[1]->i);
    }
    for (int i = 0; i < 3; i++) {
        number = divisor_in(e->in[i], var, number);
    }
    return number;
}

static int64_t divisor_of(const vtac_stmt *s, uint32_t var, int64_t number)
{
    for (; s != NULL; s = s->next) {
        number = divisor_in(s->index, var, divisor_in(s->value, var, number));
        number = s->body != NULL ? divisor_of(s->body, var, number) : number;
    }
    return number;
}

/* Iterations of the outermost loop in a group: as many as read the same weights, so that these can be shared,
 * where the group is then of a size that suits a GPU. */
static int64_t rounds_of(const lane_binder *l, const vtac_stmt *outer, int64_t group)
{
    const int64_t common = divisor_of(outer->body, outer->var, outer->extent);
    const int64_t wanted = (group < GROUP ? group : GROUP) / l->lanes;
    const int64_t max = wanted > 0 ? wanted : 1;
    for (int64_t rounds = group / l->lanes; rounds * l->lanes >= MIN_GROUP && rounds > 1; rounds--) {
        if (common % rounds == 0) {
            return rounds;
        }
    }
    return outer->extent < max ? outer->extent : max;
}

static vtac_group_lanes bind_lanes(lane_binder *l, const vtac_bind_schedule *how, vtac_bound *bound)
{
    vtac_kernel *k = l->k;
    vtac_stmt *outer = k->body;
    const uint32_t item = k->var_count++;
    const uint32_t lane = k->var_count++;
    const vtac_stmt named = {
        .kind = VTAC_S_LET,
        .var = lane,
        .name = "lane",
        .value = vtac_i_remc(k, vtac_variable_of(k, item), l->lanes),
    };
    const vtac_group_lanes lanes = {l->lanes, rounds_of(l, outer, how->group), item, outer->var, lane,
                                    how->tile};
    l->lane = vtac_variable_of(k, lane);
    change_block(l, outer->body);
    wrap_body(l, outer, lanes.rounds, &named, item);
    for (size_t i = 0; i < k->buffer_count; i++) {
        k->buffers[i] = l->own[i] != NULL ? l->own[i] : k->buffers[i];
    }
    if (!k->failed) {
        bound->group = lanes.rounds * l->lanes;
        bound->items = outer->extent * bound->group;
    }
    return lanes;
}

vta_status vtac_bind_lanes(vtac_bound *bound, const vtac_bind_schedule *how, vta_diag *diag)
{
    vtac_kernel *k = &bound->kernel;
    const int64_t longest = longest_vector(k->body);
    lane_binder l = {.k = k, .lanes = longest < how->lanes ? longest : how->lanes};
    if (longest < MIN_LANES || k->has_tiles || !vectors_fit(k->body, l.lanes)) {
        return VTA_OK;
    }
    l.uses = vta_arena_array(k->arena, k->buffer_count + 1, sizeof *l.uses);
    l.own = vta_arena_array(k->arena, k->buffer_count + 1, sizeof *l.own);
    l.differs = vta_arena_array(k->arena, k->var_count + 1, sizeof *l.differs);
    if (l.uses == NULL || l.own == NULL || l.differs == NULL) {
        return vta_no_memory(diag);
    }
    if (lanes_are_apart(&l)) {
        const vtac_group_lanes lanes = bind_lanes(&l, how, bound);
        VTA_TRY(vta_allocated(!k->failed, diag));
        return vtac_stage_tiles(bound, &lanes, diag);
    }
    return vta_allocated(!k->failed, diag);
}
