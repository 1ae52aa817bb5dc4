/* SPDX-License-Identifier: Apache-2.0
 *
 * Places for lives. See vtac/memory.h.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "vta/vec.h"
#include "vtac/memory.h"

/* What is placed, by the stretches of time in which it lives: most live in one or two of them. */
enum { STRETCH = 64 };
typedef struct placed {
    vta_vec *in; /* of size_t, a life's number, for each stretch */
    size_t stretches;
} placed;

static int larger_first(const void *a, const void *b)
{
    const vtac_life *x = a;
    const vtac_life *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

static vta_status note(placed *all, const vtac_life *life, size_t number, vta_diag *diag)
{
    for (uint32_t i = life->first / STRETCH; i <= life->last / STRETCH; i++) {
        if (vta_vec_push(&all->in[i], &number) == NULL) {
            return vta_fail(diag, VTA_NOMEM, "out of memory");
        }
    }
    return VTA_OK;
}

/* The lowest offset at which a life meets none of the placed ones that live when it does. Each move is
 * forced, so that their order does not matter. */
static uint64_t lowest(const vtac_life *lives, const vtac_life *life, const placed *all)
{
    uint64_t offset = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t k = life->first / STRETCH; k <= life->last / STRETCH; k++) {
            const size_t *numbers = all->in[k].items;
            for (size_t i = 0; i < all->in[k].count; i++) {
                const vtac_life *other = &lives[numbers[i]];
                const bool together = other->first <= life->last && life->first <= other->last;
                if (together && offset < other->offset + other->bytes &&
                    other->offset < offset + life->bytes) {
                    offset = other->offset + other->bytes;
                    moved = true;
                }
            }
        }
    }
    return offset;
}

static vta_status place(vtac_life *lives, size_t count, placed *all, uint64_t *bytes, vta_diag *diag)
{
    for (size_t i = 0; i < count; i++) {
        vtac_life *life = &lives[i];
        life->offset = lowest(lives, life, all);
        VTA_TRY(note(all, life, i, diag));
        *bytes = life->offset + life->bytes > *bytes ? life->offset + life->bytes : *bytes;
    }
    return VTA_OK;
}

vta_status vtac_place_lives(vtac_life *lives, size_t count, uint64_t *bytes, vta_diag *diag)
{
    placed all = {.stretches = 1};
    *bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t stretches = (size_t)lives[i].last / STRETCH + 1;
        all.stretches = stretches > all.stretches ? stretches : all.stretches;
    }
    all.in = calloc(all.stretches, sizeof *all.in);
    if (all.in == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < all.stretches; i++) {
        all.in[i] = (vta_vec){.item_size = sizeof(size_t)};
    }
    if (count > 0) {
        qsort(lives, count, sizeof *lives, larger_first);
    }
    const vta_status status = place(lives, count, &all, bytes, diag);
    for (size_t i = 0; i < all.stretches; i++) {
        vta_vec_free(&all.in[i]);
    }
    free(all.in);
    return status;
}
