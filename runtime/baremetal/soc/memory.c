/* SPDX-License-Identifier: Apache-2.0
 *
 * memset and memcpy by words: picolibc's go byte by byte, and a program of ours spends most of its time
 * there.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { WORD = sizeof(uint32_t), BYTE_BITS = 8 };

/* Without this the compiler makes a call of the function itself out of each loop. */
#define BY_HAND __attribute__((optimize("no-tree-loop-distribute-patterns")))

static BY_HAND size_t to_boundary(const void *at, size_t bytes)
{
    const size_t rest = -(uintptr_t)at % WORD;
    return rest < bytes ? rest : bytes;
}

BY_HAND void *memset(void *to, int value, size_t bytes)
{
    uint8_t *at = to;
    for (size_t head = to_boundary(at, bytes); head > 0; head--, bytes--) {
        *at++ = (uint8_t)value;
    }
    const uint32_t word = 0x01010101U * (uint8_t)value;
    for (; bytes >= WORD; bytes -= WORD, at += WORD) {
        *(uint32_t *)(void *)at = word;
    }
    for (; bytes > 0; bytes--) {
        *at++ = (uint8_t)value;
    }
    return to;
}

/* Whole words to an aligned place from one that is not: each out of the two that it lies in, and of those no
 * byte beyond a word with bytes of the source is read. */
static BY_HAND void copy_across(uint32_t *to, const uint8_t *from, size_t words)
{
    const unsigned shift = (unsigned)((uintptr_t)from % WORD) * BYTE_BITS;
    const uint32_t *source = (const uint32_t *)(const void *)(from - (uintptr_t)from % WORD);
    uint32_t lower = *source++;
    for (size_t i = 0; i < words; i++) {
        const uint32_t upper = *source++;
        to[i] = lower >> shift | upper << (WORD * BYTE_BITS - shift);
        lower = upper;
    }
}

BY_HAND void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    uint8_t *at = to;
    const uint8_t *source = from;
    for (size_t head = to_boundary(at, bytes); head > 0; head--, bytes--) {
        *at++ = *source++;
    }
    const size_t words = bytes / WORD;
    if ((uintptr_t)source % WORD == 0) {
        for (size_t i = 0; i < words; i++) {
            ((uint32_t *)(void *)at)[i] = ((const uint32_t *)(const void *)source)[i];
        }
    } else if (words > 0) {
        copy_across((uint32_t *)(void *)at, source, words);
    }
    for (size_t i = words * WORD; i < bytes; i++) {
        at[i] = source[i];
    }
    return to;
}
