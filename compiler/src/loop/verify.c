/* SPDX-License-Identifier: Apache-2.0
 *
 * What every loop nest must satisfy before it is lowered. A failure is a bug of a lowering or a schedule.
 */
#include <inttypes.h>
#include <string.h>

#include "vta/fail.h"
#include "vtac/loop.h"

typedef struct checker {
    const vtac_kernel *kernel;
    bool *defined;   /* by variable */
    uint32_t vector; /* the enclosing vector loop's variable, or 0 */
    bool in_item;    /* in an ITEM loop, and under no condition there */
    vta_diag *diag;
} checker;

static vta_status check_expr(const checker *c, const vtac_expr *e);

static vta_status check_index(const checker *c, const vtac_buffer *buffer, const vtac_expr *index)
{
    VTA_TRY(check_expr(c, index));
    return index->type == VTAC_I64 ? VTA_OK
                                   : vta_fail(c->diag, VTA_INVALID, "an index of '%s' is %s", buffer->name,
                                              vtac_dtype_name(index->type));
}

static vta_status check_access(const checker *c, const vtac_buffer *buffer, const vtac_expr *index)
{
    VTA_TRY(check_index(c, buffer, index));
    if (index->op == VTAC_E_INT && (index->i < 0 || index->i >= buffer->elements)) {
        return vta_fail(c->diag, VTA_RANGE, "'%s[%" PRId64 "]' is outside its %" PRId64 " elements",
                        buffer->name, index->i, buffer->elements);
    }
    return VTA_OK;
}

static vta_status check_expr(const checker *c, const vtac_expr *e)
{
    if (e->op == VTAC_E_VAR && !c->defined[e->var]) {
        return vta_fail(c->diag, VTA_INVALID, "v%u is used where it is not defined", e->var);
    }
    if (e->op == VTAC_E_QUAD && vtac_dtype_bytes(e->buffer->dtype) != 1) {
        return vta_fail(c->diag, VTA_INVALID, "'%s' holds %s, not bytes", e->buffer->name,
                        vtac_dtype_name(e->buffer->dtype));
    }
    if (e->op == VTAC_E_LOAD || e->op == VTAC_E_QUAD) {
        return check_access(c, e->buffer, e->in[0]);
    }
    for (int i = 0; i < 3 && e->in[i] != NULL; i++) {
        VTA_TRY(check_expr(c, e->in[i]));
    }
    const bool select = e->op == VTAC_E_SELECT;
    const vtac_expr *first = select ? e->in[1] : e->in[0];
    const vtac_expr *second = select ? e->in[2] : e->in[1];
    if (first != NULL && second != NULL && first->type != second->type) {
        return vta_fail(c->diag, VTA_INVALID, "an operation on %s and %s", vtac_dtype_name(first->type),
                        vtac_dtype_name(second->type));
    }
    if (select && (e->in[0] == NULL || e->in[0]->type != VTAC_BOOL)) {
        return vta_fail(c->diag, VTA_INVALID, "a condition is not bool");
    }
    return VTA_OK;
}

static vta_status check_block(checker *c, const vtac_stmt *s, int depth);

/* Loops that are shared out stand outside all others; an item loop is all that a group loop holds. */
static vta_status check_place(const checker *c, const vtac_stmt *s, int depth)
{
    const vtac_stmt *outer = c->kernel->body;
    if ((s->loop == VTAC_LOOP_PARALLEL || s->loop == VTAC_LOOP_GROUP) &&
        (depth > 0 || s != outer || s->next != NULL)) {
        return vta_fail(c->diag, VTA_INVALID, "%s loop v%u is not the outermost",
                        s->loop == VTAC_LOOP_GROUP ? "group" : "parallel", s->var);
    }
    if (s->loop == VTAC_LOOP_ITEM &&
        (depth != 1 || outer->loop != VTAC_LOOP_GROUP || s != outer->body || s->next != NULL)) {
        return vta_fail(c->diag, VTA_INVALID, "item loop v%u is not all of a group loop", s->var);
    }
    return VTA_OK;
}

static vta_status check_for(checker *c, const vtac_stmt *s, int depth)
{
    VTA_TRY(check_place(c, s, depth));
    if (c->vector != 0 && s->loop != VTAC_LOOP_UNROLL) {
        return vta_fail(c->diag, VTA_INVALID, "loop v%u stands in vector loop v%u", s->var, c->vector);
    }
    const uint32_t outer = c->vector;
    c->vector = s->loop == VTAC_LOOP_VECTOR && s->extent > 1 ? s->var : outer; /* one lane is no vector */
    c->defined[s->var] = true;
    c->in_item = c->in_item || s->loop == VTAC_LOOP_ITEM;
    const vta_status status = check_block(c, s->body, depth + 1);
    c->defined[s->var] = false;
    c->vector = outer;
    return status;
}

static vta_status check_store(checker *c, const vtac_stmt *s)
{
    VTA_TRY(check_expr(c, s->value));
    VTA_TRY(check_access(c, s->buffer, s->index));
    if (s->value->type != vtac_compute_type(s->buffer->dtype)) {
        return vta_fail(c->diag, VTA_INVALID, "%s is stored to '%s', which holds %s",
                        vtac_dtype_name(s->value->type), s->buffer->name, vtac_dtype_name(s->buffer->dtype));
    }
    int64_t stride;
    if (c->vector != 0 && vtac_expr_stride(s->index, c->vector, &stride) && stride == 0) {
        return vta_fail(c->diag, VTA_INVALID, "all lanes of v%u store to one place of '%s'", c->vector,
                        s->buffer->name);
    }
    return VTA_OK;
}

static vta_status check_if(checker *c, const vtac_stmt *s, int depth)
{
    VTA_TRY(check_expr(c, s->value));
    if (s->value->type != VTAC_BOOL || (c->vector != 0 && vtac_expr_uses(s->value, c->vector))) {
        return vta_fail(c->diag, VTA_INVALID, "a condition is not one bool for all lanes");
    }
    const bool was = c->in_item;
    c->in_item = false;
    const vta_status status = check_block(c, s->body, depth + 1);
    c->in_item = was;
    return status;
}

static vta_status check_statement(checker *c, const vtac_stmt *s, int depth)
{
    switch (s->kind) {
    case VTAC_S_FOR: return check_for(c, s, depth);
    case VTAC_S_IF: return check_if(c, s, depth);
    case VTAC_S_LET: {
        const vta_status status = check_expr(c, s->value);
        c->defined[s->var] = true;
        return status;
    }
    case VTAC_S_STORE: return check_store(c, s);
    case VTAC_S_AHEAD: return check_index(c, s->buffer, s->index);
    case VTAC_S_BARRIER:
        return c->in_item && c->vector == 0
                   ? VTA_OK
                   : vta_fail(c->diag, VTA_INVALID, "a barrier that not all items of a group reach");
    }
    return VTA_OK;
}

static vta_status check_block(checker *c, const vtac_stmt *s, int depth)
{
    for (; s != NULL; s = s->next) {
        VTA_TRY(check_statement(c, s, depth));
    }
    return VTA_OK;
}

vta_status vtac_kernel_verify(const vtac_kernel *k, vta_diag *diag)
{
    if (k->failed) {
        return vta_no_memory(diag);
    }
    if (k->depth != 1) {
        return vta_fail(diag, VTA_INVALID, "%u blocks are open", k->depth - 1);
    }
    checker c = {.kernel = k, .diag = diag, .defined = vta_arena_alloc(k->arena, k->var_count)};
    if (c.defined == NULL) {
        return vta_no_memory(diag);
    }
    return check_block(&c, k->body, 0);
}
