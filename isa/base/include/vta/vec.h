/* SPDX-License-Identifier: Apache-2.0
 *
 * Growable arrays. `vta_grow` serves a typed pointer that its owner keeps; `vta_vec` carries its own
 * bookkeeping.
 */
#ifndef VTA_VEC_H
#define VTA_VEC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Like realloc for an array: room for at least `needed` items of `item_size` bytes, grown geometrically, with
 * *capacity updated. Returns the array, or NULL (and leaves the old one as it is) without memory or on
 * overflow. */
void *vta_grow(void *items, size_t *capacity, size_t needed, size_t item_size);

/* An array of items of one size. Start with {.item_size = sizeof(item)}; free with vta_vec_free. */
typedef struct vta_vec {
    void *items;
    size_t count, capacity, item_size;
} vta_vec;

/* Adds `count` zero-filled items; returns the first, valid until the next change, or NULL without memory. */
void *vta_vec_add(vta_vec *vec, size_t count);

/* Adds a copy of one item. Returns NULL without memory. */
void *vta_vec_push(vta_vec *vec, const void *item);

/* Item `index`, which must be below the count. */
void *vta_vec_at(const vta_vec *vec, size_t index);

/* Frees the items; the vector is empty afterwards and can be used again. */
void vta_vec_free(vta_vec *vec);

#ifdef __cplusplus
}
#endif
#endif
