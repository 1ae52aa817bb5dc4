/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory plan: lifetimes from the steps, outputs written over inputs that end there, and the rest placed
 * largest first at the lowest address that is free for as long as it lives.
 */
#include <stdlib.h>

#include "lower.h"
#include "vta/artifact.h"

static vtac_storage *storage(const vtac_program *p, vtac_storage_id id)
{
    return vta_vec_at(&p->storages, id);
}

static vtac_step *step_at(const vtac_program *p, size_t i)
{
    return *(vtac_step **)vta_vec_at(&p->steps, i);
}

static void find_lifetimes(vtac_program *p)
{
    for (uint32_t i = 0; i < p->steps.count; i++) {
        const vtac_step *step = step_at(p, i);
        for (size_t k = 0; k < step->arg_count; k++) {
            vtac_storage *s = storage(p, step->args[k].storage);
            s->first = s->used ? s->first : i;
            s->last = i;
            s->used = true;
        }
        for (size_t k = 0; k < step->kernel.buffer_count; k++) {
            const vtac_buffer *buffer = step->kernel.buffers[k];
            if (buffer->space == VTAC_BUFFER_ARGUMENT) {
                step->args[buffer->number].written = buffer->written;
            }
        }
    }
}

static vtac_storage_id merged(const vtac_program *p, vtac_storage_id id)
{
    while (storage(p, id)->merged != 0) {
        id = storage(p, id)->merged;
    }
    return id;
}

static void merge_in_place(vtac_program *p, uint32_t i)
{
    const vtac_step *step = step_at(p, i);
    for (size_t out = 0; out < step->arg_count; out++) {
        vtac_storage *to = storage(p, step->args[out].storage);
        if (!step->args[out].written || to->kind != VTAC_STORAGE_WORKSPACE || to->first != i) {
            continue;
        }
        for (size_t in = 0; in < step->arg_count; in++) {
            const vtac_storage_id id = merged(p, step->args[in].storage);
            vtac_storage *from = storage(p, id);
            if (step->args[in].in_place && !step->args[in].written && from->kind == VTAC_STORAGE_WORKSPACE &&
                from->last == i && from->bytes >= to->bytes && to->merged == 0 &&
                id != step->args[out].storage) {
                to->merged = id;
                from->last = to->last;
            }
        }
    }
}

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + VTA_ARTIFACT_ALIGN - 1) / VTA_ARTIFACT_ALIGN * VTA_ARTIFACT_ALIGN;
}

typedef struct by_size {
    uint64_t bytes;
    vtac_storage_id id;
} by_size;

static int larger_first(const void *a, const void *b)
{
    const by_size *x = a;
    const by_size *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

/* What is placed, by the stretches of steps in which it lives: most live in one or two of them. */
enum { STRETCH = 64 };
typedef struct placed {
    vta_vec *in; /* of vtac_storage_id, for each stretch */
    size_t stretches;
} placed;

static vta_status note_placed(placed *all, const vtac_storage *s, vtac_storage_id id, vta_diag *diag)
{
    for (uint32_t i = s->first / STRETCH; i <= s->last / STRETCH; i++) {
        if (vta_vec_push(&all->in[i], &id) == NULL) {
            return vta_fail(diag, VTA_NOMEM, "out of memory");
        }
    }
    return VTA_OK;
}

/* The lowest offset at which `s` meets none of the placed ones that live when it does. Each move is forced,
 * so that their order does not matter. */
static uint64_t lowest(const vtac_program *p, const vtac_storage *s, const placed *all)
{
    uint64_t offset = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t k = s->first / STRETCH; k <= s->last / STRETCH; k++) {
            const vtac_storage_id *ids = all->in[k].items;
            for (size_t i = 0; i < all->in[k].count; i++) {
                const vtac_storage *other = storage(p, ids[i]);
                const bool together = other->first <= s->last && s->first <= other->last;
                if (together && offset < other->offset + aligned(other->bytes) &&
                    other->offset < offset + aligned(s->bytes)) {
                    offset = other->offset + aligned(other->bytes);
                    moved = true;
                }
            }
        }
    }
    return offset;
}

static vta_status place_all(vtac_program *p, const by_size *order, size_t count, placed *all, vta_diag *diag)
{
    for (size_t i = 0; i < count; i++) {
        vtac_storage *s = storage(p, order[i].id);
        s->offset = lowest(p, s, all);
        VTA_TRY(note_placed(all, s, order[i].id, diag));
        const uint64_t end = s->offset + aligned(s->bytes);
        p->workspace_bytes = end > p->workspace_bytes ? end : p->workspace_bytes;
    }
    return VTA_OK;
}

static vta_status place_workspace(vtac_program *p, vta_diag *diag)
{
    by_size *order = vta_arena_array(&p->arena, p->storages.count, sizeof *order);
    placed all = {.stretches = p->steps.count / STRETCH + 1};
    size_t count = 0;
    all.in = vta_arena_array(&p->arena, all.stretches, sizeof *all.in);
    if (order == NULL || all.in == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < all.stretches; i++) {
        all.in[i] = (vta_vec){.item_size = sizeof(vtac_storage_id)};
    }
    for (vtac_storage_id id = 1; id < p->storages.count; id++) {
        const vtac_storage *s = storage(p, id);
        if (s->kind == VTAC_STORAGE_WORKSPACE && s->used) {
            p->unshared_bytes += aligned(s->bytes);
            if (s->merged == 0) {
                order[count++] = (by_size){s->bytes, id};
            }
        }
    }
    qsort(order, count, sizeof *order, larger_first);
    const vta_status status = place_all(p, order, count, &all, diag);
    for (size_t i = 0; i < all.stretches; i++) {
        vta_vec_free(&all.in[i]);
    }
    return status;
}

vta_status vtac_plan(vtac_program *p, vta_diag *diag)
{
    find_lifetimes(p);
    for (uint32_t i = 0; i < p->steps.count; i++) {
        merge_in_place(p, i);
    }
    VTA_TRY(place_workspace(p, diag));
    for (vtac_storage_id id = 1; id < p->storages.count; id++) {
        vtac_storage *s = storage(p, id);
        if (s->merged != 0) {
            s->offset = storage(p, merged(p, id))->offset;
        } else if (s->kind == VTAC_STORAGE_CONSTANT && s->used) {
            s->offset = p->constant_bytes;
            p->constant_bytes += aligned(s->bytes);
        }
    }
    return VTA_OK;
}
