/* SPDX-License-Identifier: Apache-2.0
 *
 * memset and memcpy by words: picolibc's go byte by byte, and a program of ours spends most of its time
 * there.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { WORD = sizeof(uint32_t) };

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

BY_HAND void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    uint8_t *at = to;
    const uint8_t *source = from;
    if ((uintptr_t)at % WORD == (uintptr_t)source % WORD) {
        for (size_t head = to_boundary(at, bytes); head > 0; head--, bytes--) {
            *at++ = *source++;
        }
        for (; bytes >= WORD; bytes -= WORD, at += WORD, source += WORD) {
            *(uint32_t *)(void *)at = *(const uint32_t *)(const void *)source;
        }
    }
    for (; bytes > 0; bytes--) {
        *at++ = *source++;
    }
    return to;
}
