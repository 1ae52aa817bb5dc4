/* SPDX-License-Identifier: Apache-2.0
 *
 * FNV-1a, the hash of tables, of checksums in files and of keys that are printed. A hash begins with
 * VTA_HASH_START (VTA_HASH32_START for 32 bits) and takes in one piece after the other. Files and printed
 * keys hold these numbers: what a function computes must not change.
 */
#ifndef VTA_HASH_H
#define VTA_HASH_H

#include <stddef.h>
#include <stdint.h>

#define VTA_HASH_START   UINT64_C(0xcbf29ce484222325)
#define VTA_HASH32_START UINT32_C(0x811c9dc5)

/* Takes in one word at once: a byte for FNV-1a as published, a wider word where speed counts more. */
static inline uint64_t vta_hash_word(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * UINT64_C(0x100000001b3);
}

static inline uint64_t vta_hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *at = (const uint8_t *)bytes;
    for (size_t i = 0; i < size; i++) {
        hash = vta_hash_word(hash, at[i]);
    }
    return hash;
}

/* The characters of a text without the 0 at its end. */
static inline uint64_t vta_hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++) {
        hash = vta_hash_word(hash, (uint8_t)*text);
    }
    return hash;
}

/* The four bytes of a number, the lowest first. */
static inline uint64_t vta_hash_u32(uint64_t hash, uint32_t number)
{
    for (int byte = 0; byte < 4; byte++) {
        hash = vta_hash_word(hash, number >> (8 * byte) & 0xff);
    }
    return hash;
}

static inline uint32_t vta_hash32_bytes(uint32_t hash, const void *bytes, size_t size)
{
    const uint8_t *at = (const uint8_t *)bytes;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ at[i]) * UINT32_C(0x01000193);
    }
    return hash;
}

#endif
