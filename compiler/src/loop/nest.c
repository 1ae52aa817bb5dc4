/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules of finished nests: loops change places, are blocked, unrolled, joined, run in parallel. Each
 * keeps the result to the bit, so what is asked of two iterations is more than that they may be added up in
 * any order:
 *
 * - Elements of arguments that are stored to: iterations of the two loops that differ in the one on whose
 * variable the place depends store to different places, and what is read of such a buffer is that very place.
 * Then all that happens to one element happens in the order of the other loop, as before.
 * - Memory of the thread's own (locals, scratch): whatever an iteration reads there, it has written itself.
 * That is so where nothing outside the loops touches the buffer, no place in it depends on the loops'
 * variables, and no condition decides what is done: then each iteration does there what the first one does,
 * before which nothing was written.
 */
#include <inttypes.h>
#include <string.h>

#include "schedule.h"
#include "vta/fail.h"

enum {
    MAX_COPIES = 64,
    MAX_CHAIN = 12,
    MAX_INNER = 16,
    MAX_STATEMENTS = 256,
    MAX_GROWN = 1024,
    MAX_TOGETHER = 16,
    MAX_SWAPS = 3
};

/* ---- what is in a nest */

static uint32_t count_statements(const vtac_stmt *s)
{
    uint32_t count = 0;
    for (; s != NULL; s = s->next) {
        count += 1 + (s->body != NULL ? count_statements(s->body) : 0);
    }
    return count;
}

static bool expr_touches(const vtac_expr *e, const vtac_buffer *buffer)
{
    return e != NULL && (e->buffer == buffer || expr_touches(e->in[0], buffer) ||
                         expr_touches(e->in[1], buffer) || expr_touches(e->in[2], buffer));
}

/* True if a block outside `except` reads or writes a buffer. */
static bool touches_buffer(const vtac_stmt *s, const vtac_buffer *buffer, const vtac_stmt *except)
{
    for (; s != NULL; s = s->next) {
        if (s != except &&
            (s->buffer == buffer || expr_touches(s->index, buffer) || expr_touches(s->value, buffer) ||
             (s->body != NULL && touches_buffer(s->body, buffer, except)))) {
            return true;
        }
    }
    return false;
}

/* ---- the thread's own memory */

typedef struct rounds {
    const vtac_kernel *k;
    const vtac_stmt *loop; /* that holds both */
    uint32_t var[2];       /* of the loops; the second may be the first again */
} rounds;

/* Value that a block names with this variable; NULL: the variable is a loop's, or named outside. */
static const vtac_expr *named_value(const vtac_stmt *s, uint32_t var)
{
    const vtac_expr *found = NULL;
    for (; s != NULL && found == NULL; s = s->next) {
        found = s->kind == VTAC_S_LET && s->var == var ? s->value
                : s->body != NULL                      ? named_value(s->body, var)
                                                       : NULL;
    }
    return found;
}

/* True if a place is the same in all rounds: it depends on neither variable and on nothing in memory. */
static bool is_same_in_all(const rounds *r, const vtac_expr *e)
{
    if (e == NULL) {
        return true;
    }
    if (e->buffer != NULL || (e->op == VTAC_E_VAR && (e->var == r->var[0] || e->var == r->var[1]))) {
        return false;
    }
    const vtac_expr *value = e->op == VTAC_E_VAR ? named_value(r->loop->body, e->var) : NULL;
    return is_same_in_all(r, value) && is_same_in_all(r, e->in[0]) && is_same_in_all(r, e->in[1]) &&
           is_same_in_all(r, e->in[2]);
}

/* True if a place in the thread's own memory is the same in all rounds and nothing outside the
 * rounds touches it. */
static bool is_kept(const rounds *r, const vtac_buffer *buffer, const vtac_expr *at)
{
    return is_same_in_all(r, at) && !touches_buffer(r->k->body, buffer, r->loop);
}

/* True if the places in own memory that an expression reads are the same in all rounds. */
static bool own_loads_are_same(const rounds *r, const vtac_expr *e)
{
    if (e == NULL) {
        return true;
    }
    const bool own = e->buffer != NULL && e->buffer->space != VTAC_BUFFER_ARGUMENT;
    if (own && !is_kept(r, e->buffer, e->in[0])) {
        return false;
    }
    return own_loads_are_same(r, e->in[0]) && own_loads_are_same(r, e->in[1]) &&
           own_loads_are_same(r, e->in[2]);
}

static bool has_own(const vtac_stmt *s)
{
    for (; s != NULL; s = s->next) {
        if ((s->kind == VTAC_S_STORE && s->buffer->space != VTAC_BUFFER_ARGUMENT) ||
            (s->body != NULL && has_own(s->body))) {
            return true;
        }
    }
    return false;
}

static bool keeps_its_own(const rounds *r, const vtac_stmt *s)
{
    for (; s != NULL; s = s->next) {
        const bool own_store = s->kind == VTAC_S_STORE && s->buffer->space != VTAC_BUFFER_ARGUMENT;
        if (s->kind == VTAC_S_IF || (own_store && !is_kept(r, s->buffer, s->index)) ||
            !own_loads_are_same(r, s->value) || !own_loads_are_same(r, s->index) ||
            (s->body != NULL && !keeps_its_own(r, s->body))) {
            return false;
        }
    }
    return true;
}

/* ---- arguments */

/* The loops between the two and a store, which move its place, too. */
typedef struct inner_loops {
    uint32_t var[MAX_INNER];
    int64_t extent[MAX_INNER];
    uint32_t count;
} inner_loops;

static int64_t magnitude_of(int64_t x)
{
    return x < 0 ? -x : x;
}

/* True if a value may change with a variable. */
static bool depends_on(const rounds *r, const vtac_expr *e, uint32_t var)
{
    if (e == NULL) {
        return false;
    }
    const vtac_expr *value = e->op == VTAC_E_VAR ? named_value(r->loop->body, e->var) : NULL;
    return (e->buffer != NULL && e->buffer->written) || (e->op == VTAC_E_VAR && e->var == var) ||
           depends_on(r, value, var) || depends_on(r, e->in[0], var) || depends_on(r, e->in[1], var) ||
           depends_on(r, e->in[2], var);
}

/* Stride of an expression, as vtac_expr_stride, through the values that the loops' body names. */
static bool stride_of(const rounds *r, const vtac_expr *e, uint32_t var, int64_t *stride)
{
    int64_t a = 0;
    int64_t b = 0;
    *stride = 0;
    if (!depends_on(r, e, var)) {
        return true;
    }
    if (e->op == VTAC_E_VAR) {
        *stride = 1;
        return e->var == var || stride_of(r, named_value(r->loop->body, e->var), var, stride);
    }
    if ((e->op != VTAC_E_ADD && e->op != VTAC_E_SUB && e->op != VTAC_E_MUL) ||
        !stride_of(r, e->in[0], var, &a) || !stride_of(r, e->in[1], var, &b)) {
        return false;
    }
    if (e->op == VTAC_E_MUL) {
        *stride = e->in[1]->op == VTAC_E_INT ? a * e->in[1]->i : 0;
        return e->in[1]->op == VTAC_E_INT;
    }
    *stride = e->op == VTAC_E_ADD ? a + b : a - b;
    return true;
}

/* True if the variables with a stride other than 0 reach each place once: each stride exceeds the reach of
 * all smaller ones. */
static bool are_apart(const int64_t *strides, const int64_t *extents, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        int64_t reach = 0;
        for (uint32_t j = 0; j < count; j++) {
            if (j != i && strides[i] != 0 &&
                (magnitude_of(strides[j]) < magnitude_of(strides[i]) ||
                 (strides[j] == strides[i] && j < i))) {
                reach += magnitude_of(strides[j]) * (extents[j] - 1);
            }
        }
        if (strides[i] != 0 && reach >= magnitude_of(strides[i])) {
            return false;
        }
    }
    return true;
}

/* All that is read of what is written is the place of this store. */
static bool reads_own_place(const vtac_expr *e, const vtac_stmt *store)
{
    if (e == NULL) {
        return true;
    }
    const bool other = e->buffer != NULL && e->buffer->written && e->buffer->space == VTAC_BUFFER_ARGUMENT;
    if (other &&
        (e->op != VTAC_E_LOAD || store == NULL || e->buffer != store->buffer || e->in[0] != store->index)) {
        return false;
    }
    return reads_own_place(e->in[0], store) && reads_own_place(e->in[1], store) &&
           reads_own_place(e->in[2], store);
}

static uint32_t stores_to(const vtac_stmt *s, const vtac_buffer *buffer)
{
    uint32_t count = 0;
    for (; s != NULL; s = s->next) {
        count += s->kind == VTAC_S_STORE && s->buffer == buffer;
        count += s->body != NULL ? stores_to(s->body, buffer) : 0;
    }
    return count;
}

/* True if a store writes a place of its own for each value of the first loop, and for each pair of values
 * where the second loop moves the store. The buffer has no other store, or two could meet. */
static bool is_apart(const rounds *r, const vtac_stmt *store, const int64_t extents[2], const inner_loops *in)
{
    int64_t strides[MAX_INNER + 2] = {0};
    int64_t all[MAX_INNER + 2];
    uint32_t count = 0;
    const uint32_t outside = r->var[0] == r->var[1] ? 1 : 2;
    for (uint32_t i = 0; i < outside + in->count; i++) {
        const uint32_t var = i < outside ? r->var[i] : in->var[i - outside];
        if (!stride_of(r, store->index, var, &strides[count])) {
            return false;
        }
        all[count++] = i < outside ? extents[i] : in->extent[i - outside];
    }
    const bool moved = strides[0] != 0 || (outside > 1 && strides[1] != 0);
    return moved && are_apart(strides, all, count) && stores_to(r->loop->body, store->buffer) == 1 &&
           reads_own_place(store->value, store);
}

static bool stores_are_apart(const rounds *r, const vtac_stmt *s, const int64_t extents[2], inner_loops *in)
{
    for (; s != NULL; s = s->next) {
        const bool loop = s->kind == VTAC_S_FOR && s->var != r->var[1];
        if (loop && in->count == MAX_INNER) {
            return false;
        }
        if (loop) {
            in->var[in->count] = s->var;
            in->extent[in->count++] = s->extent;
        }
        const bool argument = s->kind == VTAC_S_STORE && s->buffer->space == VTAC_BUFFER_ARGUMENT;
        if ((argument && !is_apart(r, s, extents, in)) || (!argument && !reads_own_place(s->value, NULL)) ||
            !reads_own_place(s->index, NULL) ||
            (s->body != NULL && !stores_are_apart(r, s->body, extents, in))) {
            return false;
        }
        in->count -= loop;
    }
    return true;
}

/* True if the rounds of the first loop, and of the second one where it is another, may run in any order. */
static bool is_free(const vtac_kernel *k, const vtac_stmt *loop, uint32_t second, const int64_t extents[2])
{
    const rounds r = {.k = k, .loop = loop, .var = {loop->var, second}};
    inner_loops in = {0};
    return stores_are_apart(&r, loop->body, extents, &in) &&
           (!has_own(loop->body) || keeps_its_own(&r, loop->body));
}

/* ---- primitives */

static vta_status need_pair(vtac_kernel *k, uint32_t outer, uint32_t inner, vtac_stmt **out, vtac_stmt **in,
                            vta_diag *diag)
{
    VTA_TRY(vtac_need_loop(k, outer, out, diag));
    *in = (*out)->body;
    if (*in == NULL || (*in)->kind != VTAC_S_FOR || (*in)->var != inner || (*in)->next != NULL) {
        return vta_fail(diag, VTA_INVALID, "v%u holds more than v%u, or not that", outer, inner);
    }
    return VTA_OK;
}

vta_status vtac_loop_reorder(vtac_kernel *k, uint32_t outer, uint32_t inner, vta_diag *diag)
{
    vtac_stmt *out;
    vtac_stmt *in;
    VTA_TRY(need_pair(k, outer, inner, &out, &in, diag));
    const int64_t extents[] = {out->extent, in->extent};
    if (out->loop != VTAC_LOOP_SERIAL || in->loop != VTAC_LOOP_SERIAL || !is_free(k, out, inner, extents)) {
        return vta_fail(diag, VTA_INVALID, "the order of v%u and v%u matters", outer, inner);
    }
    const vtac_stmt was = *out;
    out->var = in->var;
    out->name = in->name;
    out->extent = in->extent;
    out->apart = in->apart;
    in->apart = was.apart;
    in->var = was.var;
    in->name = was.name;
    in->extent = was.extent;
    return VTA_OK;
}

vta_status vtac_loop_fuse(vtac_kernel *k, uint32_t outer, uint32_t inner, vta_diag *diag)
{
    vtac_stmt *out;
    vtac_stmt *in;
    VTA_TRY(need_pair(k, outer, inner, &out, &in, diag));
    const bool kinds =
        in->loop == VTAC_LOOP_SERIAL && (out->loop == VTAC_LOOP_SERIAL || out->loop == VTAC_LOOP_PARALLEL);
    const int64_t extents[] = {in->extent, in->extent};
    if (!kinds || (out->loop == VTAC_LOOP_PARALLEL && !is_free(k, in, in->var, extents))) {
        return vta_fail(diag, VTA_INVALID, "v%u and v%u run in different ways", outer, inner);
    }
    const vtac_expr *whole = vtac_variable_of(k, outer);
    const vtac_expr *high = vtac_i_divc(k, whole, in->extent);
    vtac_substitute_block(k, in->body, outer, high);
    vtac_substitute_block(k, in->body, inner, vtac_i_remc(k, whole, in->extent));
    out->extent *= in->extent;
    out->apart = out->apart && in->apart;
    out->body = in->body;
    return vta_allocated(!k->failed, diag);
}

vta_status vtac_loop_unroll(vtac_kernel *k, uint32_t var, vta_diag *diag)
{
    vtac_stmt *loop;
    VTA_TRY(vtac_need_loop(k, var, &loop, diag));
    if (loop->extent > MAX_COPIES || loop->loop != VTAC_LOOP_SERIAL) {
        return vta_fail(diag, VTA_INVALID, "v%u has %" PRId64 " iterations or is not serial", var,
                        loop->extent);
    }
    loop->loop = VTAC_LOOP_UNROLL;
    return VTA_OK;
}

vta_status vtac_loop_parallel(vtac_kernel *k, uint32_t var, vta_diag *diag)
{
    vtac_stmt *loop;
    VTA_TRY(vtac_need_loop(k, var, &loop, diag));
    if (loop != k->body || loop->next != NULL || loop->loop != VTAC_LOOP_SERIAL) {
        return vta_fail(diag, VTA_INVALID, "v%u is not the outermost serial loop", var);
    }
    const int64_t extents[] = {loop->extent, loop->extent};
    if (!is_free(k, loop, var, extents)) {
        return vta_fail(diag, VTA_INVALID, "the iterations of v%u depend on each other", var);
    }
    loop->loop = VTAC_LOOP_PARALLEL;
    return VTA_OK;
}

/* ---- whole nests */

typedef struct loop_chain {
    vtac_stmt *loops[MAX_CHAIN]; /* the outermost first; none of vectors, none unrolled */
    uint32_t count;
    double work; /* of what the last one holds */
} loop_chain;

/* Statements that are done in each round, not in loops within. */
static uint32_t count_leaves(const vtac_stmt *s)
{
    uint32_t count = 0;
    for (; s != NULL; s = s->next) {
        count += s->kind != VTAC_S_FOR && s->kind != VTAC_S_IF ? 1
                 : s->kind == VTAC_S_IF                        ? count_leaves(s->body)
                                                               : 0;
    }
    return count;
}

static void follow_chain(vtac_stmt *s, const loop_chain *from, double times, loop_chain *best)
{
    for (; s != NULL; s = s->next) {
        loop_chain own = *from;
        const bool counts =
            s->kind == VTAC_S_FOR &&
            (s->loop == VTAC_LOOP_SERIAL || s->loop == VTAC_LOOP_PARALLEL || s->loop == VTAC_LOOP_ROLLED);
        const double rounds_of = s->kind == VTAC_S_FOR ? times * (double)s->extent : times;
        if (counts && own.count < MAX_CHAIN) {
            own.loops[own.count++] = s;
        }
        own.work = rounds_of * (double)count_leaves(s->body);
        if (own.count > 0 && own.work > best->work) {
            *best = own;
        }
        if (s->body != NULL) {
            follow_chain(s->body, &own, rounds_of, best);
        }
    }
}

static loop_chain chain_of(vtac_stmt *body)
{
    const loop_chain none = {0};
    loop_chain best = {0};
    follow_chain(body, &none, 1.0, &best);
    return best;
}

static bool is_pair(const loop_chain *c, uint32_t at)
{
    return at + 1 < c->count && c->loops[at]->body == c->loops[at + 1] && c->loops[at + 1]->next == NULL;
}

static vta_status swap_loops(vtac_kernel *k, const loop_chain *c, int64_t which, vta_diag *diag)
{
    for (uint32_t i = 0; i + 1 < c->count; i++) {
        const bool serial = is_pair(c, i) && c->loops[i]->loop == VTAC_LOOP_SERIAL;
        if (serial && --which == 0) {
            return vtac_loop_reorder(k, c->loops[i]->var, c->loops[i + 1]->var, diag);
        }
    }
    return vta_fail(diag, VTA_INVALID, "there is no such pair of loops");
}

/* `count` rounds of a loop become a loop of their own within it; all of them are the loop itself. */
static vta_status split_loop(vtac_kernel *k, const vtac_stmt *loop, int64_t count, uint32_t *inner,
                             vta_diag *diag)
{
    *inner = loop->var;
    if (loop->loop == VTAC_LOOP_ROLLED || loop->extent % count != 0) {
        return vta_fail(diag, VTA_INVALID, "v%u cannot be cut into %" PRId64, loop->var, count);
    }
    return count < loop->extent ? vtac_loop_split(k, loop->var, count, inner, diag) : VTA_OK;
}

static vta_status block_loop(vtac_kernel *k, const loop_chain *c, int64_t count, vta_diag *diag)
{
    uint32_t inner = 0;
    if (c->count < 2 || !is_pair(c, c->count - 2)) {
        return vta_fail(diag, VTA_INVALID, "the last loop is not alone in another");
    }
    const uint32_t last = c->loops[c->count - 1]->var;
    VTA_TRY(split_loop(k, c->loops[c->count - 2], count, &inner, diag));
    VTA_TRY(vtac_loop_reorder(k, inner, last, diag));
    return vtac_loop_unroll(k, inner, diag);
}

vta_status vtac_nest_apply(vtac_kernel *k, const vtac_nest_schedule *s, vta_diag *diag)
{
    uint32_t inner = 0;
    loop_chain c = chain_of(k->body);
    if (c.count == 0) {
        return vta_fail(diag, VTA_INVALID, "there is no loop");
    }
    if (s->swap > 0) {
        VTA_TRY(swap_loops(k, &c, s->swap, diag));
    }
    if (s->blocked > 1) {
        VTA_TRY(block_loop(k, &c, s->blocked, diag));
        c = chain_of(k->body);
    }
    if (s->unrolled > 1) {
        VTA_TRY(split_loop(k, c.loops[c.count - 1], s->unrolled, &inner, diag));
        VTA_TRY(vtac_loop_unroll(k, inner, diag));
    }
    c = chain_of(k->body);
    VTA_TRY(s->parallel ? vtac_loop_parallel(k, c.loops[0]->var, diag) : VTA_OK);
    if (s->fused && c.count < 2) {
        return vta_fail(diag, VTA_INVALID, "there are no two loops");
    }
    return s->fused ? vtac_loop_fuse(k, c.loops[0]->var, c.loops[1]->var, diag) : VTA_OK;
}

/* True if a schedule is legal, tried on a copy of the kernel. */
static bool is_legal(const vtac_kernel *k, const vtac_nest_schedule *s)
{
    vta_arena arena = {0};
    vtac_kernel copy = *k;
    copy.arena = &arena;
    copy.body = vtac_copy_block(&copy, k->body);
    const bool legal = !copy.failed && vtac_nest_apply(&copy, s, NULL) == VTA_OK && !copy.failed &&
                       vtac_kernel_verify(&copy, NULL) == VTA_OK;
    vta_arena_free(&arena);
    return legal;
}

uint32_t vtac_nest_schedules(const vtac_kernel *k, vtac_nest_schedule *out, uint32_t room)
{
    const uint32_t statements = count_statements(k->body);
    const loop_chain c = chain_of(k->body);
    uint32_t count = 0;
    out[count++] = (vtac_nest_schedule){.blocked = 1, .unrolled = 1};
    if (k->has_tiles || statements > MAX_STATEMENTS || c.count == 0) {
        return count;
    }
    const int64_t last = c.loops[c.count - 1]->extent;
    const int64_t parts[] = {1, 2, 4, 8, last};
    const bool odd = last > 2 && last < MAX_TOGETHER && last != 4 && last != 8;
    for (int64_t n = 1; n < (int64_t)4 * 5 * (MAX_SWAPS + 1); n++) {
        const vtac_nest_schedule s = {.swap = n / 20, .blocked = parts[n / 5 % 4], .unrolled = parts[n % 5]};
        const int64_t copies = s.blocked * s.unrolled;
        if (count < room && (n % 5 < 4 || odd) && copies <= MAX_TOGETHER &&
            copies * statements <= MAX_GROWN && is_legal(k, &s)) {
            out[count++] = s;
        }
    }
    for (int n = 0; n < 3; n++) { /* loops that are joined, run in parallel, both */
        const vtac_nest_schedule s = {.blocked = 1, .unrolled = 1, .fused = n != 1, .parallel = n != 0};
        if (count < room && is_legal(k, &s)) {
            out[count++] = s;
        }
    }
    return count;
}

uint32_t vtac_nest_extents(const vtac_kernel *k, int64_t *extents, uint32_t room)
{
    const loop_chain c = chain_of(k->body);
    const uint32_t count = c.count < room ? c.count : room;
    for (uint32_t i = 0; i < count; i++) {
        extents[i] = c.loops[i]->extent;
    }
    return count;
}
