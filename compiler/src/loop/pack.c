/* SPDX-License-Identifier: Apache-2.0
 *
 * The schedule primitive that copies: what a loop's body reads from a buffer goes to the thread's scratch
 * memory first, in the order in which the body uses it.
 */
#include <string.h>

#include "schedule.h"

enum { MOST_PACKED = 1 << 20 };

/* The loops between the packed one and the place that reads, and what is read there. */
typedef struct reading {
    const vtac_buffer *buffer;
    vtac_stmt *path[VTAC_MOST_NESTING];
    uint32_t depth;
    vtac_stmt *statement;
    const vtac_expr *load, *index;
    uint32_t loads;      /* different ones */
    bool is_conditional; /* somewhere under an `if` */
} reading;

static void look_at(reading *r, const vtac_expr *e)
{
    if (e == NULL) {
        return;
    }
    if (e->op == VTAC_E_LOAD && e->buffer == r->buffer && e != r->load) {
        r->load = e;
        r->index = e->in[0];
        r->loads++;
    }
    for (int i = 0; i < 3; i++) {
        look_at(r, e->in[i]);
    }
}

/* Fills `path` with the loops around the first statement that reads. */
static void look_into(reading *r, vtac_stmt *s, uint32_t depth, bool is_conditional)
{
    for (; s != NULL; s = s->next) {
        const uint32_t before = r->loads;
        look_at(r, s->value);
        look_at(r, s->index);
        if (r->loads > before && before == 0) {
            r->statement = s;
            r->depth = depth;
            r->is_conditional = is_conditional || s->kind == VTAC_S_IF;
        }
        if (s->kind == VTAC_S_FOR && depth < VTAC_MOST_NESTING) {
            if (r->statement == NULL) {
                r->path[depth] = s;
            }
            look_into(r, s->body, depth + 1, is_conditional);
        } else if (s->kind == VTAC_S_IF) {
            look_into(r, s->body, depth, true);
        }
    }
}

/* Whether the index moves with something that exists inside the loop alone, other than the loops of the path.
 */
static bool uses_names(const vtac_expr *e, const vtac_stmt *s)
{
    for (; s != NULL; s = s->next) {
        if ((s->kind == VTAC_S_LET && vtac_expr_uses(e, s->var)) ||
            (s->body != NULL && uses_names(e, s->body))) {
            return true;
        }
    }
    return false;
}

/* `e` with the load replaced. */
static const vtac_expr *exchange(vtac_kernel *k, const vtac_expr *e, const vtac_expr *load,
                                 const vtac_expr *by)
{
    if (e == NULL || e == load) {
        return e == NULL ? NULL : by;
    }
    vtac_expr *copy = vta_arena_alloc(k->arena, sizeof *copy);
    if (copy == NULL) {
        k->failed = true;
        return e;
    }
    *copy = *e;
    for (int i = 0; i < 3; i++) {
        copy->in[i] = exchange(k, e->in[i], load, by);
    }
    return copy;
}

static vtac_stmt *statement(vtac_kernel *k, vtac_stmt value)
{
    vtac_stmt *s = vta_arena_alloc(k->arena, sizeof *s);
    if (s == NULL) {
        k->failed = true;
        return NULL;
    }
    *s = value;
    return s;
}

/* The loops that copy, around one store; `used` are those of the path that the index moves with. */
static vtac_stmt *copying(vtac_kernel *k, const reading *r, vtac_stmt *const *used, uint32_t count,
                          vtac_buffer *packed)
{
    const vtac_expr *from = r->index;
    const vtac_expr *to = vtac_e_index(k, 0);
    uint32_t vars[VTAC_MOST_NESTING];
    for (uint32_t i = 0; i < count; i++) {
        vars[i] = k->var_count++;
        const vtac_expr *var = vtac_loop_variable(k, vars[i]);
        from = vtac_substitute(k, from, used[i]->var, var);
        to = vtac_i_add(k, vtac_i_mulc(k, to, used[i]->extent), var);
    }
    vtac_stmt *s = statement(k, (vtac_stmt){.kind = VTAC_S_STORE,
                                            .buffer = packed,
                                            .index = to,
                                            .value = vtac_e_load(k, r->buffer, from)});
    for (uint32_t i = count; i-- > 0;) {
        s = statement(k, (vtac_stmt){.kind = VTAC_S_FOR,
                                     .var = vars[i],
                                     .name = used[i]->name,
                                     .extent = used[i]->extent,
                                     .body = s});
    }
    return s;
}

static vta_status check(const vtac_stmt *loop, const reading *r, vta_diag *diag)
{
    if (r->loads != 1 || r->statement == NULL) {
        return vta_fail(diag, VTA_INVALID, "v%u reads '%s' at %u places, not one", loop->var, r->buffer->name,
                        r->loads);
    }
    if (r->buffer->written || r->is_conditional || uses_names(r->index, loop->body)) {
        return vta_fail(diag, VTA_INVALID, "what v%u reads from '%s' is not known before it runs", loop->var,
                        r->buffer->name);
    }
    return VTA_OK;
}

vta_status vtac_loop_pack(vtac_kernel *k, uint32_t var, const vtac_buffer *buffer, vta_diag *diag)
{
    vtac_stmt *loop = vtac_find_loop(k->body, var);
    reading r = {.buffer = buffer};
    vtac_stmt *used[VTAC_MOST_NESTING];
    uint32_t count = 0;
    int64_t elements = 1;
    if (loop == NULL) {
        return vta_fail(diag, VTA_INVALID, "there is no loop v%u", var);
    }
    look_into(&r, loop->body, 0, false);
    VTA_TRY(check(loop, &r, diag));
    const vtac_expr *place = vtac_e_index(k, 0);
    for (uint32_t i = 0; i < r.depth; i++) {
        if (vtac_expr_uses(r.index, r.path[i]->var)) {
            used[count++] = r.path[i];
            elements = elements > MOST_PACKED ? elements : elements * r.path[i]->extent;
            place = vtac_i_add(k, vtac_i_mulc(k, place, r.path[i]->extent),
                               vtac_loop_variable(k, r.path[i]->var));
        }
    }
    if (elements > MOST_PACKED) {
        return vta_fail(diag, VTA_INVALID, "v%u reads more than %d elements of '%s'", var, MOST_PACKED,
                        buffer->name);
    }
    vtac_buffer *packed = vtac_kernel_buffer(k, "packed", buffer->dtype, elements, VTAC_BUFFER_SCRATCH);
    vtac_stmt *first = packed == NULL ? NULL : copying(k, &r, used, count, packed);
    if (first == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory");
    }
    const vtac_expr *load = vtac_e_load(k, packed, place);
    vtac_stmt *reader = r.statement;
    if (reader != NULL) {
        reader->value = exchange(k, reader->value, r.load, load);
        reader->index = exchange(k, reader->index, r.load, load);
    }
    packed->written = true;
    first->next = loop->body;
    loop->body = first;
    return k->failed ? vta_fail(diag, VTA_NOMEM, "out of memory") : VTA_OK;
}
