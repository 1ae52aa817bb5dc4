/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels under construction: buffers, open blocks, statements.
 */
#include <stdlib.h>
#include <string.h>

#include "vta/vec.h"
#include "vtac/loop.h"

enum { SCRATCH_ALIGN = 64 };

void vtac_kernel_init(vtac_kernel *k, vta_arena *arena, const char *name)
{
    *k = (vtac_kernel){.arena = arena, .name = name, .var_count = 1, .depth = 1};
    k->open[0].tail = &k->body;
}

void vtac_kernel_free(vtac_kernel *k)
{
    free(k->buffers);
    k->buffers = NULL;
    k->buffer_count = k->buffer_room = 0;
}

vtac_buffer *vtac_kernel_buffer(vtac_kernel *k, const char *name, vtac_dtype dtype, int64_t elements,
                                vtac_buffer_space space)
{
    vtac_buffer **grown = vta_grow(k->buffers, &k->buffer_room, k->buffer_count + 1, sizeof(vtac_buffer *));
    vtac_buffer *buffer = grown == NULL ? NULL : vta_arena_alloc(k->arena, sizeof *buffer);
    k->buffers = grown != NULL ? grown : k->buffers;
    if (buffer == NULL) {
        k->failed = true;
        return NULL;
    }
    *buffer = (vtac_buffer){.name = name, .dtype = dtype, .elements = elements, .space = space};
    buffer->aligned = space != VTAC_BUFFER_ARGUMENT;
    if (space == VTAC_BUFFER_ARGUMENT) {
        buffer->number = k->argument_count++;
    } else if (space == VTAC_BUFFER_SCRATCH) {
        const uint64_t bytes = (uint64_t)elements * vtac_dtype_bytes(dtype);
        buffer->offset = k->scratch_bytes;
        k->scratch_bytes += (bytes + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
    }
    k->buffers[k->buffer_count++] = buffer;
    return buffer;
}

static vtac_stmt *append_stmt(vtac_kernel *k, vtac_stmt_kind kind)
{
    vtac_stmt *s = k->failed ? NULL : vta_arena_alloc(k->arena, sizeof *s);
    if (s == NULL) {
        k->failed = true;
        return NULL;
    }
    s->kind = kind;
    *k->open[k->depth - 1].tail = s;
    k->open[k->depth - 1].tail = &s->next;
    return s;
}

static void open_block(vtac_kernel *k, vtac_stmt *s)
{
    if (k->depth >= VTAC_MAX_NESTING) {
        k->failed = true;
        return;
    }
    k->open[k->depth++].tail = &s->body;
}

static const vtac_expr *make_variable(vtac_kernel *k, uint32_t var, vtac_dtype type)
{
    vtac_expr *e = vta_arena_alloc(k->arena, sizeof *e);
    if (e == NULL) {
        k->failed = true;
        return NULL;
    }
    e->op = VTAC_E_VAR;
    e->type = type;
    e->var = var;
    return e;
}

const vtac_expr *vtac_for(vtac_kernel *k, vtac_loop_kind kind, int64_t extent, const char *name)
{
    vtac_stmt *s = append_stmt(k, VTAC_S_FOR);
    if (s == NULL) {
        return NULL;
    }
    s->loop = kind == VTAC_LOOP_APART ? VTAC_LOOP_SERIAL : kind;
    s->apart = kind == VTAC_LOOP_APART;
    s->var = k->var_count++;
    s->name = name;
    s->extent = extent;
    open_block(k, s);
    return make_variable(k, s->var, VTAC_I64);
}

void vtac_if(vtac_kernel *k, const vtac_expr *condition)
{
    vtac_stmt *s = append_stmt(k, VTAC_S_IF);
    if (s != NULL) {
        s->value = condition;
        open_block(k, s);
    }
}

void vtac_end(vtac_kernel *k)
{
    if (!k->failed && k->depth > 1) {
        k->depth--;
    }
}

const vtac_expr *vtac_let(vtac_kernel *k, const char *name, const vtac_expr *value)
{
    if (value == NULL || value->op == VTAC_E_VAR || value->op == VTAC_E_INT || value->op == VTAC_E_FLOAT) {
        return value;
    }
    vtac_stmt *s = append_stmt(k, VTAC_S_LET);
    if (s == NULL) {
        return NULL;
    }
    s->var = k->var_count++;
    s->name = name;
    s->value = value;
    return make_variable(k, s->var, value->type);
}

void vtac_store(vtac_kernel *k, vtac_buffer *buffer, const vtac_expr *index, const vtac_expr *value)
{
    if (buffer == NULL || index == NULL || value == NULL) {
        k->failed = true;
        return;
    }
    vtac_stmt *s = append_stmt(k, VTAC_S_STORE);
    if (s != NULL) {
        buffer->written = true;
        s->buffer = buffer;
        s->index = index;
        s->value = value;
    }
}

static void ask_for(vtac_kernel *k, vtac_buffer *buffer, const vtac_expr *index, bool later)
{
    vtac_stmt *s = buffer == NULL || index == NULL ? NULL : append_stmt(k, VTAC_S_AHEAD);
    if (s == NULL) {
        k->failed = true;
        return;
    }
    s->buffer = buffer;
    s->index = index;
    s->later = later;
}

void vtac_ahead(vtac_kernel *k, vtac_buffer *buffer, const vtac_expr *index)
{
    ask_for(k, buffer, index, false);
}

void vtac_ahead_later(vtac_kernel *k, vtac_buffer *buffer, const vtac_expr *index)
{
    ask_for(k, buffer, index, true);
}

void vtac_barrier(vtac_kernel *k)
{
    (void)append_stmt(k, VTAC_S_BARRIER);
}

int64_t vtac_kernel_extent(const vtac_kernel *k)
{
    const vtac_stmt *s = k->body;
    return s != NULL && s->kind == VTAC_S_FOR && s->loop == VTAC_LOOP_PARALLEL ? s->extent : 1;
}
