/* SPDX-License-Identifier: Apache-2.0
 *
 * Growable arrays: capacities grow by half, every product is checked.
 */
#include "vta/vec.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *vta_grow(void *items, size_t *capacity, size_t needed, size_t item_size)
{
    assert(item_size > 0);
    if (items != NULL && needed <= *capacity) {
        return items;
    }
    const size_t limit = PTRDIFF_MAX / item_size;
    if (needed > limit) {
        return NULL;
    }
    size_t room = *capacity > limit - *capacity / 2 ? limit : *capacity + *capacity / 2;
    if (room < needed) {
        room = needed;
    }
    if (room < 8 && limit >= 8) {
        room = 8;
    }
    void *grown = realloc(items, room * item_size);
    if (grown != NULL) {
        *capacity = room;
    }
    return grown;
}

void *vta_vec_add(vta_vec *vec, size_t count)
{
    if (count > SIZE_MAX - vec->count) {
        return NULL;
    }
    void *items = vta_grow(vec->items, &vec->capacity, vec->count + count, vec->item_size);
    if (items == NULL) {
        return NULL;
    }
    vec->items = items;
    unsigned char *first = (unsigned char *)items + vec->count * vec->item_size;
    memset(first, 0, count * vec->item_size);
    vec->count += count;
    return first;
}

void *vta_vec_push(vta_vec *vec, const void *item)
{
    void *items = vta_grow(vec->items, &vec->capacity, vec->count + 1, vec->item_size);
    if (items == NULL) {
        return NULL;
    }
    vec->items = items;
    return memcpy((unsigned char *)items + vec->count++ * vec->item_size, item, vec->item_size);
}

void *vta_vec_at(const vta_vec *vec, size_t index)
{
    assert(index < vec->count);
    return (unsigned char *)vec->items + index * vec->item_size;
}

void vta_vec_free(vta_vec *vec)
{
    free(vec->items);
    vec->items = NULL;
    vec->count = vec->capacity = 0;
}
