/* SPDX-License-Identifier: Apache-2.0
 *
 * The places of tensors in WORK. Inputs are written before the run and outputs read after it; tensors whose
 * live ranges are disjoint share memory. A store cannot overtake a load of the memory's former tensor: the
 * recording orders accesses byte by byte.
 */
#include <stdlib.h>

#include "sched.h"
#include "vta/number.h"
#include "vtac/memory.h"

enum { ALIGN = 64 };

/* True for a dense layer of one pixel with known weights. */
static bool is_dense(const vtac_vta_region *region, const vtac_vta_layer *layer)
{
    const vtac_vta_tensor *in = &region->tensors[layer->inputs[0]], *to = &region->tensors[layer->output];
    return layer->kind == VTAC_VTA_CONV && layer->weights != NULL && layer->bytes == 0 &&
           layer->groups == 1 && layer->tiles == NULL && layer->lanes + layer->narrow + layer->phases == 0 &&
           to->h * to->w == 1 && vtac_vta_window_is_point(&layer->window) && in->h * in->w == 1;
}

static bool can_be_twice(const machine *m, const vtac_vta_region *region, uint32_t tensor)
{
    const vtac_vta_tensor *t = &region->tensors[tensor];
    bool good = m->config->wgt4 == 0 && t->role == VTAC_VTA_INTERNAL && t->n == 1 && t->c <= m->block_out;
    uint32_t readers = 0;
    for (uint32_t n = 0; n < region->layer_count && good; n++) {
        const vtac_vta_layer *layer = &region->layers[n];
        for (uint32_t k = 0; k < layer->input_count && good; k++) {
            const bool reads = layer->inputs[k] == tensor;
            good = !reads || (is_dense(region, layer) && region->tensors[layer->output].c > m->block_out);
            readers += reads;
        }
        good = good && (layer->output != tensor || is_dense(region, layer));
    }
    return good && readers > 0;
}

void vtac_vta_layout_twice(const machine *m, vtac_vta_region *region)
{
    const bool pairs = m->ri == 1 && m->ro == 2 && m->batch == 1;
    for (uint32_t i = 0; i < region->tensor_count; i++) {
        region->tensors[i].twice = pairs && can_be_twice(m, region, i);
    }
}

/* The alignment of all tensors; larger where some tensors are loaded as weights or as parameters. */
static int64_t alignment_of(const machine *m, const vtac_vta_region *region)
{
    const uint32_t *bytes = m->config->elem_bytes;
    const int64_t larger = bytes[VTA_MEM_WGT] > bytes[VTA_MEM_ACC] ? bytes[VTA_MEM_WGT] : bytes[VTA_MEM_ACC];
    bool any = false;
    for (uint32_t n = 0; n < region->layer_count; n++) {
        const vtac_vta_layer *layer = &region->layers[n];
        any = any || (layer->kind == VTAC_VTA_CONV && layer->weights == NULL) ||
              layer->kind == VTAC_VTA_TRANSPOSE;
    }
    return any ? vta_ceil_div(larger, ALIGN) * ALIGN : ALIGN;
}

static void size_tensor(const machine *m, vtac_vta_tensor *t, int64_t align)
{
    if (!t->folded) {
        t->stored_c = t->c;
        t->stored_h = t->h;
        t->stored_w = t->w;
    }
    const int64_t tiles =
        vta_ceil_div(t->n, m->batch) * vta_ceil_div(t->stored_c, m->block) * t->stored_h * t->stored_w;
    t->bytes = (uint64_t)(vta_ceil_div((t->twice ? 2 : 1) * tiles * m->batch * m->block, align) * align);
}

/* The tensor that owns the memory of a tensor, which may be a slice. */
static uint32_t root_of(const decisions *decided, uint32_t tensor)
{
    while (decided->part_of[tensor] >= 0) {
        tensor = (uint32_t)decided->part_of[tensor];
    }
    return tensor;
}

static void extend_life(vtac_life *l, uint32_t layer)
{
    l->first = l->first < layer ? l->first : layer;
    l->last = l->last > layer ? l->last : layer;
}

/* Finds each tensor's live range, in layers from the one that writes it. */
static void find_lives(const vtac_vta_region *region, const decisions *decided, vtac_life *lives)
{
    for (uint32_t i = 0; i < region->tensor_count; i++) {
        const vtac_vta_tensor *t = &region->tensors[i];
        lives[i] = (vtac_life){.bytes = t->bytes, .id = i, .first = region->layer_count};
        if (t->role == VTAC_VTA_INPUT) {
            lives[i].first = 0;
        }
    }
    for (uint32_t n = 0; n < region->layer_count; n++) {
        const vtac_vta_layer *layer = &region->layers[n];
        uint32_t when = n;
        while (decided->feeds[when] >= 0) {
            when = (uint32_t)decided->feeds[when];
        }
        when = decided->sum_of[when] >= 0 ? (uint32_t)decided->sum_of[when] : when;
        for (uint32_t k = 0; k < layer->input_count; k++) {
            extend_life(&lives[root_of(decided, layer->inputs[k])], when);
        }
        extend_life(&lives[root_of(decided, layer->output)], when);
        if (layer->second != 0) {
            extend_life(&lives[root_of(decided, layer->second)], when);
        }
    }
    for (uint32_t i = 0; i < region->tensor_count; i++) {
        lives[i].last = (uint32_t)vta_min(lives[i].last + INTERLEAVE_WINDOW, region->layer_count);
        if (region->tensors[i].role == VTAC_VTA_OUTPUT || region->tensors[i].kept) {
            lives[i].last = region->layer_count;
        }
    }
}

/* Removes slices of other tensors, which have no place of their own. */
static size_t leave_parts_out(const decisions *decided, vtac_life *lives, uint32_t count)
{
    size_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (decided->part_of[lives[i].id] < 0) {
            lives[kept++] = lives[i];
        }
    }
    return kept;
}

vta_status vtac_vta_layout_tensors(const machine *m, vtac_vta_region *region, const decisions *decided,
                                   uint64_t *work_bytes, vta_diag *diag)
{
    vtac_life *lives = calloc(region->tensor_count + 1, sizeof *lives);
    if (lives == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory to lay out %u tensors", region->tensor_count);
    }
    const int64_t align = alignment_of(m, region);
    for (uint32_t i = 0; i < region->tensor_count; i++) {
        size_tensor(m, &region->tensors[i], align);
    }
    find_lives(region, decided, lives);
    const size_t count = leave_parts_out(decided, lives, region->tensor_count);
    const vta_status status = vtac_place_lives(lives, count, work_bytes, diag);
    for (size_t i = 0; i < count; i++) {
        region->tensors[lives[i].id].offset = lives[i].offset;
    }
    *work_bytes = *work_bytes > ALIGN ? *work_bytes : ALIGN;
    free(lives);
    VTA_TRY(status);
    for (uint32_t i = 0; i < region->tensor_count; i++) {
        vtac_vta_tensor *t = &region->tensors[i];
        const uint64_t plane = (uint64_t)(t->h * t->w * m->batch * m->block);
        uint64_t inside = 0;
        for (uint32_t k = i; decided->part_of[k] >= 0; k = (uint32_t)decided->part_of[k]) {
            inside += (uint64_t)decided->block[k] * plane;
        }
        t->offset = region->tensors[root_of(decided, i)].offset + inside;
    }
    return VTA_OK;
}
