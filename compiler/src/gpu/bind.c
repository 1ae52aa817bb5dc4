/* SPDX-License-Identifier: Apache-2.0
 *
 * Binding: the outermost loop of a nest is shared among work items.
 */
#include <stdlib.h>
#include <string.h>

#include "../loop/schedule.h"
#include "bind.h"
#include "vta/fail.h"

static vta_status copy_nest(const vtac_kernel *nest, vtac_kernel *out, vta_diag *diag)
{
    *out = *nest;
    out->buffers = malloc((nest->buffer_count + 1) * sizeof *out->buffers);
    if (out->buffers == NULL) {
        return vta_no_memory(diag);
    }
    out->buffer_room = nest->buffer_count + 1;
    memcpy(out->buffers, nest->buffers, nest->buffer_count * sizeof *out->buffers);
    out->body = vtac_copy_block(out, nest->body);
    return vta_allocated(!out->failed, diag);
}

static bool is_only_loop(const vtac_stmt *s)
{
    return s != NULL && s->kind == VTAC_S_FOR && s->next == NULL;
}

static bool reads_written(const vtac_expr *e)
{
    return e != NULL && ((e->buffer != NULL && e->buffer->written) || reads_written(e->in[0]) ||
                         reads_written(e->in[1]) || reads_written(e->in[2]));
}

/* The loop that a body ends with, if its rounds are apart and only values are named before it. */
static vtac_stmt *last_apart(vtac_stmt *body, vtac_stmt **before)
{
    *before = NULL;
    vtac_stmt *s = body;
    for (; s != NULL && s->kind == VTAC_S_LET && !reads_written(s->value); s = s->next) {
        *before = s;
    }
    return is_only_loop(s) && s->apart && s->loop == VTAC_LOOP_SERIAL ? s : NULL;
}

/* Makes a loop whose rounds are apart part of the loop around it; the values that were named between the two
 * are named in each round. False: there is no such loop. */
static bool take_apart(vtac_kernel *k, vtac_stmt *loop)
{
    vtac_stmt *before;
    vtac_stmt *in = last_apart(loop->body, &before);
    if (in == NULL) {
        return false;
    }
    if (before != NULL) {
        before->next = in->body;
        in->body = loop->body;
    }
    const vtac_expr *whole = vtac_variable_of(k, loop->var);
    vtac_substitute_block(k, in->body, loop->var, vtac_i_divc(k, whole, in->extent));
    vtac_substitute_block(k, in->body, in->var, vtac_i_remc(k, whole, in->extent));
    loop->extent *= in->extent;
    loop->body = in->body;
    return true;
}

/* A loop of one round around all, so that a nest that one item does has lanes that several can do. */
static void wrap_body(vtac_kernel *k)
{
    vtac_stmt *loop = vta_arena_alloc(k->arena, sizeof *loop);
    if (loop == NULL) {
        k->failed = true;
        return;
    }
    *loop = (vtac_stmt){.kind = VTAC_S_FOR,
                        .loop = VTAC_LOOP_PARALLEL,
                        .var = k->var_count++,
                        .name = "all",
                        .extent = 1,
                        .body = k->body};
    k->body = loop;
}

/* Makes the outermost loop a parallel one, if it is none and may be. */
static bool is_shared_out(vtac_kernel *k, vtac_stmt *loop, bool groups)
{
    if (!is_only_loop(loop)) {
        return false;
    }
    if (groups && loop->apart && loop->loop == VTAC_LOOP_SERIAL) {
        loop->loop = VTAC_LOOP_PARALLEL;
    }
    return loop->loop == VTAC_LOOP_PARALLEL || vtac_loop_parallel(k, loop->var, NULL) == VTA_OK;
}

vta_status vtac_bind(const vtac_kernel *nest, bool groups, const vtac_bind_schedule *how, vtac_bound *out,
                     vta_diag *diag)
{
    vtac_kernel *k = &out->kernel;
    *out = (vtac_bound){.items = 1};
    VTA_TRY(copy_nest(nest, k, diag));
    if (!is_shared_out(k, k->body, groups)) {
        if (groups) {
            wrap_body(k);
        }
        return groups && !k->failed ? vtac_bind_lanes(out, how, diag) : vta_allocated(!k->failed, diag);
    }
    vtac_stmt *loop = k->body;
    while (groups && take_apart(k, loop)) {
    }
    while (loop->extent < how->items && is_only_loop(loop->body) &&
           vtac_loop_fuse(k, loop->var, loop->body->var, NULL) == VTA_OK) {
    }
    out->items = loop->extent;
    VTA_TRY(vta_allocated(!k->failed, diag));
    return groups ? vtac_bind_lanes(out, how, diag) : VTA_OK;
}

void vtac_bound_free(vtac_bound *bound)
{
    vtac_kernel_free(&bound->kernel);
}
