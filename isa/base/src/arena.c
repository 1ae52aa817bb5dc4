/* SPDX-License-Identifier: Apache-2.0
 *
 * The arena: a list of blocks, the newest first; each allocation is cut from the newest or gets a block of
 * its own.
 */
#include "vta/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = _Alignof(max_align_t), BLOCK_SIZE = 64 * 1024 };

struct vta_arena_block {
    struct vta_arena_block *next;
    size_t used, size;
    _Alignas(max_align_t) unsigned char bytes[];
};

static struct vta_arena_block *add_block(vta_arena *arena, size_t size)
{
    if (size > PTRDIFF_MAX - sizeof(struct vta_arena_block)) {
        return NULL;
    }
    struct vta_arena_block *block = calloc(1, sizeof *block + size);
    if (block == NULL) {
        return NULL;
    }
    block->size = size;
    block->next = arena->head;
    arena->head = block;
    return block;
}

void *vta_arena_alloc(vta_arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGN) {
        return NULL;
    }
    const size_t padded = (size + ALIGN - 1) / ALIGN * ALIGN;
    struct vta_arena_block *block = arena->head;
    if (block == NULL || padded > block->size - block->used) {
        block = add_block(arena, padded > BLOCK_SIZE ? padded : BLOCK_SIZE);
        if (block == NULL) {
            return NULL;
        }
    }
    void *result = block->bytes + block->used;
    block->used += padded;
    return result;
}

void *vta_arena_array(vta_arena *arena, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) {
        return NULL;
    }
    return vta_arena_alloc(arena, count * size);
}

char *vta_arena_string(vta_arena *arena, const char *text, size_t size)
{
    char *copy = size == SIZE_MAX ? NULL : vta_arena_alloc(arena, size + 1);
    if (copy != NULL && size > 0) {
        memcpy(copy, text, size);
    }
    return copy;
}

void vta_arena_free(vta_arena *arena)
{
    struct vta_arena_block *block = arena->head;
    while (block != NULL) {
        struct vta_arena_block *next = block->next;
        free(block);
        block = next;
    }
    arena->head = NULL;
}
