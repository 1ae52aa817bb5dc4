/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory plan: lifetimes from the steps, outputs written over inputs that end there, and the rest placed
 * by when it lives.
 */
#include "lower.h"
#include "vta/artifact.h"
#include "vta/fail.h"
#include "vta/number.h"
#include "vtac/memory.h"

static vtac_storage *storage_at(const vtac_program *p, vtac_storage_id id)
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
            vtac_storage *s = storage_at(p, step->args[k].storage);
            s->first = s->used ? s->first : i;
            s->last = i;
            s->used = true;
            if (s->kept) {
                s->first = 0;
                s->last = (uint32_t)p->steps.count; /* when no step runs */
            }
        }
        for (size_t k = 0; k < step->kernel.buffer_count; k++) {
            const vtac_buffer *buffer = step->kernel.buffers[k];
            if (buffer->space == VTAC_BUFFER_ARGUMENT) {
                step->args[buffer->number].written = buffer->written;
            }
        }
    }
}

static vtac_storage_id merged_storage(const vtac_program *p, vtac_storage_id id)
{
    while (storage_at(p, id)->merged != 0) {
        id = storage_at(p, id)->merged;
    }
    return id;
}

static void merge_in_place(vtac_program *p, uint32_t i)
{
    const vtac_step *step = step_at(p, i);
    for (size_t out = 0; out < step->arg_count; out++) {
        vtac_storage *to = storage_at(p, step->args[out].storage);
        if (!step->args[out].written || to->kind != VTAC_STORAGE_WORKSPACE || to->first != i) {
            continue;
        }
        for (size_t in = 0; in < step->arg_count; in++) {
            const vtac_storage_id id = merged_storage(p, step->args[in].storage);
            vtac_storage *from = storage_at(p, id);
            if (step->args[in].in_place && !step->args[in].written && from->kind == VTAC_STORAGE_WORKSPACE &&
                from->last == i && from->bytes >= to->bytes && to->merged == 0 &&
                id != step->args[out].storage) {
                to->merged = id;
                from->last = to->last;
            }
        }
    }
}

static vta_status place_workspace(vtac_program *p, vta_diag *diag)
{
    vtac_life *lives = vta_arena_array(&p->arena, p->storages.count, sizeof *lives);
    size_t count = 0;
    if (lives == NULL) {
        return vta_no_memory(diag);
    }
    for (vtac_storage_id id = 1; id < p->storages.count; id++) {
        const vtac_storage *s = storage_at(p, id);
        if (s->kind == VTAC_STORAGE_WORKSPACE && s->used) {
            p->unshared_bytes += vta_round_up_u(s->bytes, VTA_ARTIFACT_ALIGN);
            if (s->merged == 0) {
                lives[count++] =
                    (vtac_life){vta_round_up_u(s->bytes, VTA_ARTIFACT_ALIGN), id, s->first, s->last, 0};
            }
        }
    }
    VTA_TRY(vtac_place_lives(lives, count, &p->workspace_bytes, diag));
    for (size_t i = 0; i < count; i++) {
        storage_at(p, lives[i].id)->offset = lives[i].offset;
    }
    return VTA_OK;
}

vta_status vtac_plan(vtac_program *p, vta_diag *diag)
{
    find_lifetimes(p);
    for (uint32_t i = 0; i < p->steps.count; i++) {
        merge_in_place(p, i);
    }
    VTA_TRY(place_workspace(p, diag));
    for (vtac_storage_id id = 1; id < p->storages.count; id++) {
        vtac_storage *s = storage_at(p, id);
        if (s->merged != 0) {
            s->offset = storage_at(p, merged_storage(p, id))->offset;
        } else if (s->kind == VTAC_STORAGE_CONSTANT && s->used) {
            s->offset = p->constant_bytes;
            p->constant_bytes += vta_round_up_u(s->bytes, VTA_ARTIFACT_ALIGN);
        }
    }
    return VTA_OK;
}
