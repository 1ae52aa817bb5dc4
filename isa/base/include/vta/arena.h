/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that lives and dies together: one arena per job, allocated piece by piece, freed at once.
 * An all-zero arena is empty and valid. All memory is zero-filled and aligned for any type.
 */
#ifndef VTA_ARENA_H
#define VTA_ARENA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vta_arena {
    struct vta_arena_block *head;
} vta_arena;

/* `size` bytes, valid until the arena is freed; NULL without memory. A size of 0 gives a valid pointer. */
void *vta_arena_alloc(vta_arena *arena, size_t size);

/* `count` items of `size` bytes each; NULL without memory or where the product does not fit. */
void *vta_arena_array(vta_arena *arena, size_t count, size_t size);

/* A terminated copy of the first `size` bytes of text. */
char *vta_arena_string(vta_arena *arena, const char *text, size_t size);

/* Frees everything; the arena is empty afterwards and can be used again. */
void vta_arena_free(vta_arena *arena);

#ifdef __cplusplus
}
#endif
#endif
