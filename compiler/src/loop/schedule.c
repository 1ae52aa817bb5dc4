/* SPDX-License-Identifier: Apache-2.0
 *
 * Rewrites of loop nests that keep their meaning: parts of loops, vectors, and what need not be computed
 * again.
 */
#include <inttypes.h>
#include <string.h>

#include "schedule.h"
#include "vta/fail.h"

enum { MAX_LANES = 64 };

vtac_stmt *vtac_find_loop(vtac_stmt *s, uint32_t var)
{
    for (; s != NULL; s = s->next) {
        if (s->kind == VTAC_S_FOR && s->var == var) {
            return s;
        }
        vtac_stmt *inside =
            s->kind == VTAC_S_FOR || s->kind == VTAC_S_IF ? vtac_find_loop(s->body, var) : NULL;
        if (inside != NULL) {
            return inside;
        }
    }
    return NULL;
}

vta_status vtac_need_loop(vtac_kernel *k, uint32_t var, vtac_stmt **out, vta_diag *diag)
{
    *out = vtac_find_loop(k->body, var);
    return *out != NULL ? VTA_OK : vta_fail(diag, VTA_INVALID, "there is no loop v%u", var);
}

/* `e` with every use of `var` replaced. */
static const vtac_expr *substitute_var(vtac_kernel *k, const vtac_expr *e, uint32_t var, const vtac_expr *by)
{
    if (e == NULL || !vtac_expr_uses(e, var)) {
        return e;
    }
    if (e->op == VTAC_E_VAR) {
        return by;
    }
    vtac_expr *copy = vta_arena_alloc(k->arena, sizeof *copy);
    if (copy == NULL) {
        k->failed = true;
        return e;
    }
    *copy = *e;
    for (int i = 0; i < 3; i++) {
        copy->in[i] = substitute_var(k, e->in[i], var, by);
    }
    return copy;
}

void vtac_substitute_block(vtac_kernel *k, vtac_stmt *s, uint32_t var, const vtac_expr *by)
{
    for (; s != NULL; s = s->next) {
        s->index = substitute_var(k, s->index, var, by);
        s->value = substitute_var(k, s->value, var, by);
        if (s->kind == VTAC_S_FOR || s->kind == VTAC_S_IF) {
            vtac_substitute_block(k, s->body, var, by);
        }
    }
}

const vtac_expr *vtac_variable_of(vtac_kernel *k, uint32_t var)
{
    vtac_expr *e = vta_arena_alloc(k->arena, sizeof *e);
    if (e == NULL) {
        k->failed = true;
        return NULL;
    }
    *e = (vtac_expr){.op = VTAC_E_VAR, .type = VTAC_I64, .var = var};
    return e;
}

vta_status vtac_loop_split(vtac_kernel *k, uint32_t var, int64_t factor, uint32_t *inner, vta_diag *diag)
{
    vtac_stmt *loop;
    VTA_TRY(vtac_need_loop(k, var, &loop, diag));
    if (factor < 1 || loop->loop == VTAC_LOOP_VECTOR) {
        return vta_fail(diag, VTA_INVALID, "v%u cannot be split by %" PRId64, var, factor);
    }
    vtac_stmt *in = vta_arena_alloc(k->arena, sizeof *in);
    vtac_stmt *guard = vta_arena_alloc(k->arena, sizeof *guard);
    if (in == NULL || guard == NULL) {
        return vta_no_memory(diag);
    }
    *inner = k->var_count++;
    const vtac_expr *whole =
        vtac_i_add(k, vtac_i_mulc(k, vtac_variable_of(k, var), factor), vtac_variable_of(k, *inner));
    vtac_substitute_block(k, loop->body, var, whole);
    *in = (vtac_stmt){.kind = VTAC_S_FOR, .var = *inner, .name = loop->name, .extent = factor};
    in->body = loop->body;
    if (loop->extent % factor != 0) { /* the last round does less */
        *guard = (vtac_stmt){.kind = VTAC_S_IF, .body = loop->body};
        guard->value = vtac_e2(k, VTAC_E_LT, whole, vtac_e_index(k, loop->extent));
        in->body = guard;
    }
    loop->body = in;
    loop->extent = (loop->extent + factor - 1) / factor;
    return vta_allocated(!k->failed, diag);
}

/* True if loads from written buffers read only the place that is stored to: then the order of iterations
 * does not matter. */
static bool reads_own_place(const vtac_expr *e, const vtac_stmt *store)
{
    if (e == NULL) {
        return true;
    }
    if (e->op == VTAC_E_QUAD && e->buffer->written) {
        return false;
    }
    if (e->op == VTAC_E_LOAD && e->buffer->written &&
        !(store != NULL && e->buffer == store->buffer && e->in[0] == store->index)) {
        return false;
    }
    return reads_own_place(e->in[0], store) && reads_own_place(e->in[1], store) &&
           reads_own_place(e->in[2], store);
}

/* Every store in the block goes to another place in each iteration of `var`, and nothing is read that another
 * iteration writes. */
static bool is_independent(const vtac_stmt *s, uint32_t var)
{
    for (; s != NULL; s = s->next) {
        if (s->kind == VTAC_S_STORE && s->buffer->space == VTAC_BUFFER_ARGUMENT) {
            int64_t stride = 0;
            if (!vtac_expr_stride(s->index, var, &stride) || stride == 0 || !reads_own_place(s->value, s)) {
                return false;
            }
        }
        if (s->body != NULL && !is_independent(s->body, var)) {
            return false;
        }
    }
    return true;
}

static bool has_loop(const vtac_stmt *s)
{
    for (; s != NULL; s = s->next) {
        if ((s->kind == VTAC_S_FOR && s->loop != VTAC_LOOP_UNROLL) ||
            (s->body != NULL && has_loop(s->body))) {
            return true;
        }
    }
    return false;
}

static bool has_lane_condition(const vtac_stmt *s, uint32_t var)
{
    for (; s != NULL; s = s->next) {
        if ((s->kind == VTAC_S_IF && vtac_expr_uses(s->value, var)) ||
            (s->body != NULL && has_lane_condition(s->body, var))) {
            return true;
        }
    }
    return false;
}

vta_status vtac_loop_vectorize(vtac_kernel *k, uint32_t var, vta_diag *diag)
{
    vtac_stmt *loop;
    VTA_TRY(vtac_need_loop(k, var, &loop, diag));
    if (loop->extent > MAX_LANES || (loop->extent & (loop->extent - 1)) != 0) {
        return vta_fail(diag, VTA_INVALID, "v%u has %" PRId64 " iterations, not a power of two up to %d", var,
                        loop->extent, MAX_LANES);
    }
    if (has_loop(loop->body) || has_lane_condition(loop->body, var)) {
        return vta_fail(diag, VTA_INVALID, "v%u holds a loop or a condition on its lanes", var);
    }
    if (!is_independent(loop->body, var)) {
        return vta_fail(diag, VTA_INVALID, "the iterations of v%u depend on each other", var);
    }
    loop->loop = VTAC_LOOP_VECTOR;
    return VTA_OK;
}

/* Every innermost loop of the block; `found` counts them. */
static void each_innermost(vtac_stmt *s, uint32_t *vars, size_t room, size_t *found)
{
    for (; s != NULL; s = s->next) {
        if (s->kind == VTAC_S_FOR && s->loop != VTAC_LOOP_VECTOR && !has_loop(s->body)) {
            if (*found < room) {
                vars[*found] = s->var;
            }
            ++*found;
        } else if (s->body != NULL) {
            each_innermost(s->body, vars, room, found);
        }
    }
}

vtac_stmt *vtac_copy_block(vtac_kernel *k, const vtac_stmt *s)
{
    vtac_stmt *first = NULL;
    vtac_stmt **tail = &first;
    for (; s != NULL; s = s->next) {
        vtac_stmt *own = vta_arena_alloc(k->arena, sizeof *own);
        if (own == NULL) {
            k->failed = true;
            return NULL;
        }
        *own = *s;
        own->next = NULL;
        own->body = s->body == NULL ? NULL : vtac_copy_block(k, s->body);
        *tail = own;
        tail = &own->next;
    }
    return first;
}

/* `count` iterations from `lanes` times the outer variable on, as vectors, in the rounds where `op` holds. */
static vtac_stmt *vector_round(vtac_kernel *k, const vtac_stmt *loop, vtac_stmt *body, int64_t lanes,
                               int64_t count, vtac_expr_op op)
{
    vtac_stmt *guard = vta_arena_alloc(k->arena, sizeof *guard);
    vtac_stmt *in = vta_arena_alloc(k->arena, sizeof *in);
    if (guard == NULL || in == NULL || body == NULL) {
        k->failed = true;
        return NULL;
    }
    const uint32_t lane = k->var_count++;
    const vtac_expr *round = vtac_variable_of(k, loop->var);
    const vtac_expr *whole = vtac_i_add(k, vtac_i_mulc(k, round, lanes), vtac_variable_of(k, lane));
    vtac_substitute_block(k, body, loop->var, whole);
    *in = (vtac_stmt){.kind = VTAC_S_FOR, .var = lane, .name = "lane", .extent = count, .body = body};
    in->loop = count > 1 ? VTAC_LOOP_VECTOR : VTAC_LOOP_UNROLL;
    *guard = (vtac_stmt){.kind = VTAC_S_IF, .body = in};
    guard->value = vtac_e2(k, op, round, vtac_e_index(k, loop->extent / lanes));
    return guard;
}

/* The last vector of a loop has fewer lanes than the others. */
static void vectorize_with_rest(vtac_kernel *k, vtac_stmt *loop, int64_t lanes)
{
    vtac_stmt *again = vtac_copy_block(k, loop->body);
    vtac_stmt *whole = vector_round(k, loop, loop->body, lanes, lanes, VTAC_E_LT);
    vtac_stmt *rest = vector_round(k, loop, again, lanes, loop->extent % lanes, VTAC_E_EQ);
    if (k->failed) {
        return;
    }
    whole->next = rest;
    loop->body = whole;
    loop->extent = (loop->extent + lanes - 1) / lanes;
}

void vtac_kernel_vectorize(vtac_kernel *k, int64_t lanes)
{
    uint32_t vars[8] = {0};
    size_t count = 0;
    each_innermost(k->body, vars, sizeof vars / sizeof vars[0], &count);
    for (size_t i = 0; i < count && i < sizeof vars / sizeof vars[0] && lanes > 1; i++) {
        vtac_stmt *loop = vtac_find_loop(k->body, vars[i]);
        uint32_t inner = 0;
        if (!is_independent(loop->body, vars[i]) || has_lane_condition(loop->body, vars[i]) ||
            loop->loop == VTAC_LOOP_UNROLL || loop->extent < lanes) {
            continue;
        }
        if (loop->extent % lanes != 0) {
            vectorize_with_rest(k, loop, lanes);
        } else if (vtac_loop_split(k, vars[i], lanes, &inner, NULL) == VTA_OK) {
            (void)vtac_loop_vectorize(k, inner, NULL);
        }
    }
}

/* ---- hoisting */

static bool reads_written(const vtac_expr *e)
{
    return e != NULL && ((e->buffer != NULL && e->buffer->written) || reads_written(e->in[0]) ||
                         reads_written(e->in[1]) || reads_written(e->in[2]));
}

/* True if a value depends neither on the loop's variable nor on names that the body gives
 * before this statement. */
static bool stands_still(const vtac_stmt *loop, const vtac_stmt *let)
{
    bool still = !reads_written(let->value) && !vtac_expr_uses(let->value, loop->var);
    for (const vtac_stmt *s = loop->body; still && s != let; s = s->next) {
        still = s->kind != VTAC_S_LET || !vtac_expr_uses(let->value, s->var);
    }
    return still;
}

/* The list that `at` points to, inside loops first. */
static void hoist_values(vtac_stmt **at)
{
    for (; *at != NULL; at = &(*at)->next) {
        vtac_stmt *loop = *at;
        if (loop->kind == VTAC_S_FOR || loop->kind == VTAC_S_IF) {
            hoist_values(&loop->body);
        }
        vtac_stmt **in = &loop->body;
        while (loop->kind == VTAC_S_FOR && loop->loop == VTAC_LOOP_SERIAL && *in != NULL) {
            vtac_stmt *s = *in;
            if (s->kind == VTAC_S_LET && stands_still(loop, s)) {
                *in = s->next;
                s->next = loop;
                *at = s;
                at = &s->next;
            } else {
                in = &s->next;
            }
        }
    }
}

void vtac_kernel_hoist(vtac_kernel *k)
{
    if (!k->failed) {
        hoist_values(&k->body);
    }
}
