/* SPDX-License-Identifier: Apache-2.0
 *
 * Where tensors lie in WORK. Inputs are written before the run and outputs read after it; what lives between
 * two layers shares memory with what does not live then. That a store may overtake a load of the memory's
 * former tenant is no danger: the recording orders accesses byte by byte.
 */
#include <stdlib.h>

#include "sched.h"

enum { ALIGN = 64 };

typedef struct life {
    uint64_t bytes;
    uint32_t tensor, first, last; /* layers; first: that writes it */
} life;

/* Of all tensors, where some are loaded as weights or as parameters. */
static int64_t alignment_of(const machine *m, const vtac_vta_region *region)
{
    const uint32_t *bytes = m->config->elem_bytes;
    const int64_t larger = bytes[VTA_MEM_WGT] > bytes[VTA_MEM_ACC] ? bytes[VTA_MEM_WGT] : bytes[VTA_MEM_ACC];
    bool any = false;
    for (uint32_t n = 0; n < region->layer_count; n++) {
        const vtac_vta_layer *layer = &region->layers[n];
        any = any || (layer->kind == VTAC_VTA_CONV && layer->weights == NULL);
    }
    return any ? ceil_div(larger, ALIGN) * ALIGN : ALIGN;
}

static void store_plainly(const machine *m, vtac_vta_tensor *t, int64_t align)
{
    if (!t->folded) {
        t->stored_c = t->c;
        t->stored_h = t->h;
        t->stored_w = t->w;
    }
    const int64_t tiles =
        ceil_div(t->n, m->batch) * ceil_div(t->stored_c, m->block) * t->stored_h * t->stored_w;
    t->bytes = (uint64_t)(ceil_div(tiles * m->batch * m->block, align) * align);
}

/* The tensor whose memory it is. */
static uint32_t root_of(const decisions *decided, uint32_t tensor)
{
    while (decided->part_of[tensor] >= 0) {
        tensor = (uint32_t)decided->part_of[tensor];
    }
    return tensor;
}

static void touch(life *l, uint32_t layer)
{
    l->first = l->first < layer ? l->first : layer;
    l->last = l->last > layer ? l->last : layer;
}

static void find_lives(const vtac_vta_region *region, const decisions *decided, life *lives)
{
    for (uint32_t i = 0; i < region->tensor_count; i++) {
        const vtac_vta_tensor *t = &region->tensors[i];
        lives[i] = (life){.bytes = t->bytes, .tensor = i, .first = region->layer_count};
        if (t->role == VTAC_VTA_INPUT) {
            lives[i].first = 0;
        }
    }
    for (uint32_t n = 0; n < region->layer_count; n++) {
        const vtac_vta_layer *layer = &region->layers[n];
        const uint32_t when = decided->sum_of[n] >= 0 ? (uint32_t)decided->sum_of[n] : n;
        for (uint32_t k = 0; k < layer->input_count; k++) {
            touch(&lives[root_of(decided, layer->inputs[k])], when);
        }
        touch(&lives[root_of(decided, layer->output)], when);
    }
    for (uint32_t i = 0; i < region->tensor_count; i++) {
        lives[i].last = (uint32_t)least(lives[i].last + WEAVE_WINDOW, region->layer_count);
        if (region->tensors[i].role == VTAC_VTA_OUTPUT) {
            lives[i].last = region->layer_count;
        }
    }
}

static int larger_first(const void *a, const void *b)
{
    const life *x = a;
    const life *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

/* The lowest place that is free for as long as lives[count] lasts. */
static uint64_t lowest(const vtac_vta_region *region, const decisions *decided, const life *lives,
                       uint32_t count)
{
    const life *me = &lives[count];
    uint64_t offset = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t other = region->tensors[lives[i].tensor].offset;
            const bool apart = decided->part_of[lives[i].tensor] < 0;
            const bool together = apart && lives[i].first <= me->last && me->first <= lives[i].last;
            if (together && offset < other + lives[i].bytes && other < offset + me->bytes) {
                offset = other + lives[i].bytes;
                moved = true;
            }
        }
    }
    return offset;
}

vta_status layout_tensors(const machine *m, vtac_vta_region *region, const decisions *decided,
                          uint64_t *work_bytes, vta_diag *diag)
{
    life *lives = calloc(region->tensor_count + 1, sizeof *lives);
    if (lives == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory to lay out %u tensors", region->tensor_count);
    }
    const int64_t align = alignment_of(m, region);
    for (uint32_t i = 0; i < region->tensor_count; i++) {
        store_plainly(m, &region->tensors[i], align);
    }
    find_lives(region, decided, lives);
    qsort(lives, region->tensor_count, sizeof *lives, larger_first);
    *work_bytes = ALIGN;
    for (uint32_t i = 0; i < region->tensor_count; i++) {
        vtac_vta_tensor *t = &region->tensors[lives[i].tensor];
        t->offset = decided->part_of[lives[i].tensor] < 0 ? lowest(region, decided, lives, i) : 0;
        *work_bytes = t->offset + t->bytes > *work_bytes ? t->offset + t->bytes : *work_bytes;
    }
    free(lives);
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
