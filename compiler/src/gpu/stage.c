/* SPDX-License-Identifier: Apache-2.0
 *
 * Local memory: elements that all items of a work group read in the same rounds, as the weights of a
 * convolution, are brought there once, each item a few of them, and read from there.
 *
 * Such a tile is what the innermost serial loop reads of one buffer, and the loops around it, as long as it
 * stays in one piece and small. A barrier stands before the loops, when the tile is there, and behind them,
 * before the next one comes.
 */
#include <stdlib.h>

#include "../loop/schedule.h"
#include "bind.h"
#include "vta/fail.h"

enum {
    MAX_LEVELS = 6,
    MAX_ATOMS = 8,
    TILES = 2, /* of a kernel have room */
    MIN_ROUNDS = 4,
    WIDE = 4
};

/* The loops whose reads make up a tile, from the outermost to the innermost. */
typedef struct stage_levels {
    vtac_stmt *loops[MAX_LEVELS];
    uint32_t count;
} stage_levels;

/* An index as a sum: of a constant, of the lane, of multiples of the loops' variables, of other values. */
typedef struct stage_place {
    int64_t constant, lane, steps[MAX_LEVELS];
    struct {
        const vtac_expr *value;
        int64_t times;
    } atoms[MAX_ATOMS];
    uint32_t atom_count;
} stage_place;

typedef struct stager {
    vtac_kernel *k;
    const vtac_group_lanes *lanes;
    stage_levels levels;
    uint64_t bytes; /* of local memory so far */
} stager;

/* ---- values */

/* The statement that names a variable, in a block or deeper; NULL: there is none. */
static const vtac_stmt *naming_of(const vtac_stmt *s, uint32_t var)
{
    const vtac_stmt *found = NULL;
    for (; s != NULL && found == NULL; s = s->next) {
        found = s->kind == VTAC_S_LET && s->var == var ? s : s->body != NULL ? naming_of(s->body, var) : NULL;
    }
    return found;
}

/* True if all items of a group have the same value, apart from their lane. */
static bool is_uniform(const stager *t, const vtac_expr *e)
{
    if (e == NULL || e->op == VTAC_E_INT) {
        return true;
    }
    if (e->op == VTAC_E_DIV && e->in[0]->op == VTAC_E_VAR && e->in[0]->var == t->lanes->outer &&
        e->in[1]->op == VTAC_E_INT && e->in[1]->i % t->lanes->rounds == 0) {
        return true;
    }
    if (e->op == VTAC_E_VAR) {
        const vtac_stmt *named = naming_of(t->k->body, e->var);
        return e->var != t->lanes->item && e->var != t->lanes->outer && e->var != t->lanes->lane &&
               (named == NULL || is_uniform(t, named->value));
    }
    return e->buffer == NULL && is_uniform(t, e->in[0]) && is_uniform(t, e->in[1]) && is_uniform(t, e->in[2]);
}

static bool is_same(const vtac_expr *a, const vtac_expr *b)
{
    if (a == b || a == NULL || b == NULL) {
        return a == b;
    }
    return a->op == b->op && a->type == b->type && a->var == b->var && a->buffer == b->buffer &&
           (a->op != VTAC_E_INT || a->i == b->i) && a->op != VTAC_E_FLOAT && is_same(a->in[0], b->in[0]) &&
           is_same(a->in[1], b->in[1]) && is_same(a->in[2], b->in[2]);
}

/* True if a value depends on what the loops of the tile have inside. */
static bool is_inside(const stager *t, const vtac_expr *e)
{
    if (e == NULL) {
        return false;
    }
    vtac_stmt *body = t->levels.loops[0]->body;
    bool inside =
        e->op == VTAC_E_VAR && (naming_of(body, e->var) != NULL || vtac_find_loop(body, e->var) != NULL);
    for (uint32_t i = 0; i < t->levels.count; i++) {
        inside = inside || (e->op == VTAC_E_VAR && e->var == t->levels.loops[i]->var);
    }
    return inside || is_inside(t, e->in[0]) || is_inside(t, e->in[1]) || is_inside(t, e->in[2]);
}

static bool add_atom(const stager *t, const vtac_expr *e, int64_t times, stage_place *p)
{
    uint32_t at = 0;
    while (at < p->atom_count && !is_same(p->atoms[at].value, e)) {
        at++;
    }
    if (at == MAX_ATOMS || is_inside(t, e) || !is_uniform(t, e)) {
        return false;
    }
    p->atom_count = at == p->atom_count ? at + 1 : p->atom_count;
    p->atoms[at].value = e;
    p->atoms[at].times += times;
    return true;
}

static bool take_apart(const stager *t, const vtac_expr *e, int64_t times, stage_place *p);

static bool take_variable(const stager *t, const vtac_expr *e, int64_t times, stage_place *p)
{
    if (e->var == t->lanes->lane) {
        p->lane += times;
        return true;
    }
    for (uint32_t i = 0; i < t->levels.count; i++) {
        if (e->var == t->levels.loops[i]->var) {
            p->steps[i] += times;
            return true;
        }
    }
    const vtac_stmt *named = naming_of(t->levels.loops[0]->body, e->var);
    return named != NULL ? take_apart(t, named->value, times, p) : add_atom(t, e, times, p);
}

static bool take_apart(const stager *t, const vtac_expr *e, int64_t times, stage_place *p)
{
    if (e->op == VTAC_E_INT) {
        p->constant += times * e->i;
        return true;
    }
    if (e->op == VTAC_E_VAR) {
        return take_variable(t, e, times, p);
    }
    if (e->op == VTAC_E_ADD || e->op == VTAC_E_SUB) {
        return take_apart(t, e->in[0], times, p) &&
               take_apart(t, e->in[1], e->op == VTAC_E_ADD ? times : -times, p);
    }
    return e->op == VTAC_E_MUL && e->in[1]->op == VTAC_E_INT ? take_apart(t, e->in[0], times * e->in[1]->i, p)
                                                             : add_atom(t, e, times, p);
}

/* ---- tiles */

typedef struct stage_tile {
    const vtac_buffer *from;
    stage_place start; /* its constant: of the first element */
    int64_t elements;
    bool found, broken; /* broken: the buffer is read in another way, too */
    vtac_buffer *shared;
} stage_tile;

/* True if two reads of a buffer differ by a constant alone. */
static bool runs_along(const stager *t, const stage_place *a, const stage_place *b)
{
    bool along = a->lane == b->lane && a->atom_count == b->atom_count;
    for (uint32_t i = 0; i < t->levels.count; i++) {
        along = along && a->steps[i] == b->steps[i];
    }
    for (uint32_t i = 0; along && i < a->atom_count; i++) {
        uint32_t at = 0;
        while (at < b->atom_count && !is_same(a->atoms[i].value, b->atoms[at].value)) {
            at++;
        }
        along = at < b->atom_count && a->atoms[i].times == b->atoms[at].times;
    }
    return along;
}

/* Notes a read of a buffer; `last`: the constant of the read that is farthest on. */
static void note_read(const stager *t, const vtac_expr *e, stage_tile *tile, int64_t *last)
{
    stage_place p = {0};
    if (e->op != VTAC_E_LOAD || !take_apart(t, e->in[0], 1, &p) || p.lane != 1 ||
        (tile->found && !runs_along(t, &p, &tile->start))) {
        tile->broken = true;
        return;
    }
    const int64_t first =
        tile->found && tile->start.constant < p.constant ? tile->start.constant : p.constant;
    *last = tile->found && *last > p.constant ? *last : p.constant;
    tile->start = p;
    tile->start.constant = first;
    tile->found = true;
}

static void note_reads(const stager *t, const vtac_expr *e, stage_tile *tile, int64_t *last)
{
    if (e == NULL) {
        return;
    }
    if (e->buffer == tile->from) {
        note_read(t, e, tile, last);
    }
    for (int i = 0; i < 3; i++) {
        note_reads(t, e->in[i], tile, last);
    }
}

static void note_block(const stager *t, const vtac_stmt *s, stage_tile *tile, int64_t *last)
{
    for (; s != NULL; s = s->next) {
        note_reads(t, s->value, tile, last);
        note_reads(t, s->index, tile, last);
        note_block(t, s->body, tile, last);
    }
}

/* The tile of a buffer under the loops; false: it is none, or not in one piece. */
static bool find_tile(const stager *t, const vtac_buffer *from, stage_tile *tile)
{
    int64_t last = 0;
    *tile = (stage_tile){.from = from};
    note_block(t, t->levels.loops[0]->body, tile, &last);
    if (!tile->found || tile->broken) {
        return false;
    }
    const uint32_t inner = t->levels.count - 1;
    const int64_t width = tile->start.steps[inner];
    tile->elements = width * t->levels.loops[inner]->extent;
    bool whole = width > 0 && last - tile->start.constant + t->lanes->lanes <= width;
    for (uint32_t i = inner; whole && i-- > 0;) {
        whole = tile->start.steps[i] == tile->elements;
        tile->elements *= t->levels.loops[i]->extent;
    }
    return whole && (uint64_t)tile->elements * vtac_dtype_bytes(from->dtype) <= (uint64_t)t->lanes->tile;
}

/* ---- the change */

static const vtac_expr *tile_index(const stager *t, const stage_tile *tile, const stage_place *p)
{
    vtac_kernel *k = t->k;
    const vtac_expr *at = vtac_e_index(k, p->constant - tile->start.constant);
    for (uint32_t i = 0; i < t->levels.count; i++) {
        at = vtac_i_add(k, at, vtac_i_mulc(k, vtac_variable_of(k, t->levels.loops[i]->var), p->steps[i]));
    }
    return vtac_i_add(k, at, vtac_variable_of(k, t->lanes->lane));
}

static const vtac_expr *read_tile(const stager *t, const stage_tile *tile, const vtac_expr *e)
{
    if (e == NULL || e->op == VTAC_E_INT || e->op == VTAC_E_VAR || e->op == VTAC_E_FLOAT) {
        return e;
    }
    if (e->buffer == tile->from) {
        stage_place p = {0};
        (void)take_apart(t, e->in[0], 1, &p);
        return vtac_e_load(t->k, tile->shared, tile_index(t, tile, &p));
    }
    vtac_expr *copy = vta_arena_alloc(t->k->arena, sizeof *copy);
    if (copy == NULL) {
        t->k->failed = true;
        return e;
    }
    *copy = *e;
    for (int i = 0; i < 3; i++) {
        copy->in[i] = read_tile(t, tile, e->in[i]);
    }
    return copy;
}

static void read_tile_in(const stager *t, const stage_tile *tile, vtac_stmt *s)
{
    for (; s != NULL; s = s->next) {
        s->value = read_tile(t, tile, s->value);
        s->index = read_tile(t, tile, s->index);
        read_tile_in(t, tile, s->body);
    }
}

static vtac_stmt *make_stmt(const stager *t, const vtac_stmt *as)
{
    vtac_stmt *s = vta_arena_alloc(t->k->arena, sizeof *s);
    if (s == NULL) {
        t->k->failed = true;
        return NULL;
    }
    *s = *as;
    return s;
}

/* "for round { at = round * items + item; if at < parts { shared[at…] = from[start + at…] } }", a few
 * neighbours at once. */
static vtac_stmt *copy_of(const stager *t, const stage_tile *tile)
{
    vtac_kernel *k = t->k;
    const int64_t wide = tile->elements % WIDE == 0 ? WIDE : 1;
    const int64_t parts = tile->elements / wide;
    const int64_t items = t->lanes->rounds * t->lanes->lanes;
    const vtac_stmt rounds = {
        .kind = VTAC_S_FOR, .var = k->var_count++, .name = "round", .extent = (parts + items - 1) / items};
    const vtac_stmt vector = {
        .kind = VTAC_S_FOR, .loop = VTAC_LOOP_VECTOR, .var = k->var_count++, .name = "part", .extent = wide};
    const vtac_expr *part = vtac_i_add(k, vtac_i_mulc(k, vtac_variable_of(k, rounds.var), items),
                                       vtac_variable_of(k, t->lanes->item));
    const vtac_expr *at = vtac_i_add(k, vtac_i_mulc(k, part, wide), vtac_variable_of(k, vector.var));
    const vtac_expr *from = vtac_i_addc(k, at, tile->start.constant);
    for (uint32_t i = 0; i < tile->start.atom_count; i++) {
        from = vtac_i_add(k, vtac_i_mulc(k, tile->start.atoms[i].value, tile->start.atoms[i].times), from);
    }
    const vtac_stmt store = {
        .kind = VTAC_S_STORE, .buffer = tile->shared, .index = at, .value = vtac_e_load(k, tile->from, from)};
    const vtac_stmt guard = {.kind = VTAC_S_IF, .value = vtac_e2(k, VTAC_E_LT, part, vtac_e_index(k, parts))};
    vtac_stmt *all[] = {make_stmt(t, &rounds), make_stmt(t, &guard), make_stmt(t, &vector),
                        make_stmt(t, &store)};
    for (int i = 0; !k->failed && i < 3; i++) {
        all[i]->body = all[i + 1];
    }
    return k->failed ? NULL : all[0];
}

/* The outermost loop of the tile between the copy and barriers. */
static void put_tile(stager *t, const stage_tile *tile)
{
    vtac_stmt *loop = t->levels.loops[0];
    const vtac_stmt barrier = {.kind = VTAC_S_BARRIER};
    vtac_stmt *copy = copy_of(t, tile);
    vtac_stmt *before = make_stmt(t, &barrier);
    vtac_stmt *behind = make_stmt(t, &barrier);
    vtac_stmt *again = make_stmt(t, loop);
    if (t->k->failed) {
        return;
    }
    read_tile_in(t, tile, again->body);
    behind->next = loop->next;
    again->next = behind;
    before->next = again;
    *loop = *copy;
    loop->next = before;
}

/* Takes the tile of the innermost loop, or of as many of the loops around it as it stays small in. */
static bool stage_buffer(stager *t, const vtac_buffer *from)
{
    stage_tile tile;
    const stage_levels all = t->levels;
    bool found = false;
    for (uint32_t first = 0; first < all.count && !found; first++) {
        t->levels.count = all.count - first;
        for (uint32_t i = first; i < all.count; i++) {
            t->levels.loops[i - first] = all.loops[i];
        }
        found = find_tile(t, from, &tile);
    }
    const uint64_t bytes = found ? (uint64_t)tile.elements * vtac_dtype_bytes(from->dtype) : 0;
    if (found && t->bytes + bytes <= TILES * (uint64_t)t->lanes->tile) {
        t->bytes += bytes;
        tile.shared = vtac_kernel_buffer(t->k, "tile", from->dtype, tile.elements, VTAC_BUFFER_SHARED);
        if (tile.shared != NULL) {
            tile.shared->written = true;
            put_tile(t, &tile);
        }
        return true;
    }
    t->levels = all;
    return false;
}

static bool is_serial(const vtac_stmt *s)
{
    return s->kind == VTAC_S_FOR && (s->loop == VTAC_LOOP_SERIAL || s->loop == VTAC_LOOP_ROLLED);
}

static bool has_serial(const vtac_stmt *s)
{
    for (; s != NULL; s = s->next) {
        if (is_serial(s) || (s->body != NULL && has_serial(s->body))) {
            return true;
        }
    }
    return false;
}

static void stage_loop(stager *t)
{
    const size_t count = t->k->buffer_count;
    const vtac_stmt *inner = t->levels.loops[t->levels.count - 1];
    for (size_t i = 0; i < count && inner->extent > 1; i++) {
        const vtac_buffer *b = t->k->buffers[i];
        if (b->space == VTAC_BUFFER_ARGUMENT && !b->written && stage_buffer(t, b)) {
            return; /* the loops are others now */
        }
    }
}

/* Serial loops under no condition, outermost first; the innermost ones read tiles. */
static void stage_block(stager *t, vtac_stmt *s)
{
    vtac_stmt *next = NULL;
    for (; s != NULL && !t->k->failed; s = next) {
        next = s->next;
        const uint32_t count = t->levels.count;
        const stage_levels was = t->levels;
        if (!is_serial(s) || count == MAX_LEVELS) {
            continue;
        }
        t->levels.loops[t->levels.count++] = s;
        if (has_serial(s->body)) {
            stage_block(t, s->body);
        } else {
            stage_loop(t);
        }
        t->levels = was;
    }
}

vta_status vtac_stage_tiles(vtac_bound *bound, const vtac_group_lanes *lanes, vta_diag *diag)
{
    vtac_kernel *k = &bound->kernel;
    stager t = {.k = k, .lanes = lanes};
    if (lanes->rounds >= MIN_ROUNDS && lanes->tile > 0) {
        stage_block(&t, k->body->body->body);
    }
    return vta_allocated(!k->failed, diag);
}
