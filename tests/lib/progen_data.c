/* SPDX-License-Identifier: Apache-2.0
 *
 * The contents of a program's memory: bytes of many magnitudes, and parameters that make REQUANT meet ties,
 * both clips and everything between.
 */
#include <string.h>

#include "progen_internal.h"

enum { CHUNK = 64 };

static void put32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        p[i] = (uint8_t)(value >> (8 * i));
    }
}

static uint32_t extreme_word(rng *r)
{
    static const uint32_t some[] = {0,          1,          0xffffffff, 0x7fffffff, 0x80000000,
                                    0x80000001, 0x7ffffffe, 0x0000007f, 0x00000080, 0xffffff80,
                                    0xffffff7f, 0x00008000, 0x00007fff, 0xffff8000, 31,
                                    32,         33,         0xffffffe1, 0xffffffe0, 0xffffffdf};
    return some[rng_below(r, sizeof some / sizeof some[0])];
}

static uint32_t any_magnitude(rng *r)
{
    return (uint32_t)((int32_t)(uint32_t)rng_next(r) >> rng_below(r, 32));
}

static void fill_words(rng *r, uint8_t *p, uint64_t size, uint32_t (*word)(rng *r))
{
    for (uint64_t i = 0; i + 4 <= size; i += 4) {
        put32(p + i, word(r));
    }
}

static uint32_t small_word(rng *r)
{
    return (uint32_t)rng_between(r, -300, 300);
}

static uint32_t extreme_bytes(rng *r)
{
    static const uint8_t some[] = {0x80, 0x7f, 0x00, 0xff, 0x01, 0x81};
    uint32_t word = 0;
    for (int i = 0; i < 4; i++) {
        word = word << 8 | some[rng_below(r, sizeof some)];
    }
    return word;
}

static uint32_t any_word(rng *r)
{
    return (uint32_t)rng_next(r);
}

static void fill_data(rng *r, uint8_t *p, uint64_t size)
{
    static uint32_t (*const words[])(rng *) = {any_word,   any_word,      any_word,     small_word,
                                               small_word, any_magnitude, extreme_word, extreme_bytes};
    for (uint64_t at = 0; at < size; at += CHUNK) {
        fill_words(r, p + at, size - at < CHUNK ? size - at : CHUNK, words[rng_below(r, 8)]);
    }
}

static uint32_t bias_word(rng *r)
{
    return rng_percent(r, 50) ? small_word(r) : rng_percent(r, 50) ? any_magnitude(r) : extreme_word(r);
}

/* Powers of two and small shifts give ties; large multipliers and odd shifts everything else. */
static uint32_t scale_word(rng *r)
{
    static const uint32_t mults[] = {0, 1, 2, 3, 0xffffff, 0x800000, 0x7fffff, 0xc00000};
    static const uint32_t shifts[] = {0, 1, 2, 23, 24, 31, 32, 33, 62, 63};
    const uint32_t kind = rng_below(r, 10);
    uint32_t mult = rng_below(r, 1U << 24);
    uint32_t amount = rng_below(r, 64);
    if (kind < 4) { /* as a quantized network has them: 2^23 … 2^24, shifted back to a byte */
        mult |= 1U << 23;
        amount = 23 + rng_below(r, 16);
    } else if (kind < 7) {
        const uint32_t log = rng_below(r, 24);
        mult = 1U << log;
        amount = log + rng_below(r, 5);
    } else if (kind < 9) {
        mult = mults[rng_below(r, sizeof mults / sizeof mults[0])];
        amount = shifts[rng_below(r, sizeof shifts / sizeof shifts[0])];
    }
    return mult | amount << 24 | rng_below(r, 4) << 30;
}

static void fill_parameters(const vta_config *config, rng *r, uint8_t *p, uint64_t size)
{
    const uint64_t entry = config->elem_bytes[VTA_MEM_ACC];
    for (uint64_t at = 0; at + 2 * entry <= size; at += 2 * entry) {
        fill_words(r, p + at, entry, bias_word);
        fill_words(r, p + at + entry, entry, scale_word);
    }
}

void progen_fill(const progen_program *program, uint64_t data_seed, uint8_t *arena)
{
    rng random = rng_split(data_seed, 7);
    fill_words(&random, arena, program->arena_size, any_word);
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        const progen_segment *segment = &program->segments[i];
        uint8_t *p = arena + segment->offset;
        if (segment->style == PROGEN_DATA) {
            fill_data(&random, p, segment->size);
        } else if (segment->style == PROGEN_PARAMS) {
            fill_parameters(&program->config, &random, p, segment->size);
        } else if (segment->style == PROGEN_UOPS) {
            for (uint64_t w = 0; w < segment->size / VTA_UOP_BYTES; w++) {
                put32(p + VTA_UOP_BYTES * w, program->uops[w]);
            }
        }
    }
}
