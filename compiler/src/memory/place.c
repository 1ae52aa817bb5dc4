/* SPDX-License-Identifier: Apache-2.0
 *
 * Places lives in one memory. See vtac/memory.h.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vta/vec.h"
#include "vtac/memory.h"

/* The lives placed so far. Time is cut into stretches of STRETCH moments: a life is listed in each stretch
 * that it touches, or among the long ones if it touches more than FEW. */
enum { STRETCH = 64, FEW = 4 };
typedef struct placed {
    vta_vec
        *in; /* of size_t: numbers of lives by rising offset, by stretch; the last list has the long ones */
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

/* The first life of a stretch that begins behind this offset. */
static size_t first_behind(const vtac_life *lives, const vta_vec *in, uint64_t offset)
{
    const size_t *numbers = in->items;
    size_t low = 0;
    for (size_t high = in->count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        if (lives[numbers[middle]].offset > offset) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static vta_status insert_life(vta_vec *in, const vtac_life *lives, size_t number, vta_diag *diag)
{
    const size_t at = first_behind(lives, in, lives[number].offset);
    if (vta_vec_push(in, &number) == NULL) {
        return vta_no_memory(diag);
    }
    size_t *numbers = in->items;
    memmove(numbers + at + 1, numbers + at, (in->count - 1 - at) * sizeof *numbers);
    numbers[at] = number;
    return VTA_OK;
}

static vta_status note_life(placed *all, const vtac_life *lives, size_t number, vta_diag *diag)
{
    const uint32_t first = lives[number].first / STRETCH;
    const uint32_t last = lives[number].last / STRETCH;
    if (last - first >= FEW) {
        return insert_life(&all->in[all->stretches], lives, number, diag);
    }
    for (uint32_t i = first; i <= last; i++) {
        VTA_TRY(insert_life(&all->in[i], lives, number, diag));
    }
    return VTA_OK;
}

/* The lowest offset from this one on at which a life overlaps none of a list. Lives beyond its end cannot
 * overlap at any later offset that this list yields. */
static uint64_t lowest_in_list(const vtac_life *lives, const vtac_life *life, const vta_vec *in,
                               uint64_t offset)
{
    const size_t *numbers = in->items;
    for (size_t i = 0; i < in->count; i++) {
        const vtac_life *other = &lives[numbers[i]];
        if (other->offset >= offset + life->bytes) {
            break;
        }
        if (other->first <= life->last && life->first <= other->last &&
            offset < other->offset + other->bytes) {
            offset = other->offset + other->bytes;
        }
    }
    return offset;
}

/* The lowest offset at which a life overlaps no placed life. Every move is forced, so their order
 * does not matter. */
static uint64_t lowest_offset(const vtac_life *lives, const vtac_life *life, const placed *all)
{
    uint64_t offset = 0;
    uint64_t last;
    do {
        last = offset;
        offset = lowest_in_list(lives, life, &all->in[all->stretches], offset);
        for (uint32_t k = life->first / STRETCH; k <= life->last / STRETCH; k++) {
            offset = lowest_in_list(lives, life, &all->in[k], offset);
        }
    } while (offset != last);
    return offset;
}

static vta_status place_all(vtac_life *lives, size_t count, placed *all, uint64_t *bytes, vta_diag *diag)
{
    for (size_t i = 0; i < count; i++) {
        vtac_life *life = &lives[i];
        life->offset = lowest_offset(lives, life, all);
        VTA_TRY(note_life(all, lives, i, diag));
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
    all.in = calloc(all.stretches + 1, sizeof *all.in);
    if (all.in == NULL) {
        return vta_no_memory(diag);
    }
    for (size_t i = 0; i <= all.stretches; i++) {
        all.in[i] = (vta_vec){.item_size = sizeof(size_t)};
    }
    if (count > 0) {
        qsort(lives, count, sizeof *lives, larger_first);
    }
    const vta_status status = place_all(lives, count, &all, bytes, diag);
    for (size_t i = 0; i <= all.stretches; i++) {
        vta_vec_free(&all.in[i]);
    }
    free(all.in);
    return status;
}
