/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers that ALU operation 7 makes of one lane (ISA.md, section 7): for the simulator, and for a
 * compiler that computes what the accelerator will.
 */
#ifndef VTA_ROWS_H
#define VTA_ROWS_H

#include <stdint.h>

/* mult * 2^-shift is about the reciprocal; mult has 16 bits with the highest one set. */
typedef struct vta_reciprocal {
    uint32_t mult, shift;
} vta_reciprocal;

/* About 2^16 * 2^(s / 4096); s above 0 counts as 0. */
static inline int32_t vta_row_exp2(int32_t s)
{
    enum { FRACTION = 12, LOW = 6 };
    static const uint16_t high[] = {
#define VTA_EXP2(n, hi, lo) [n] = (hi),
#include "vta/exp2.def"
#undef VTA_EXP2
    };
    static const uint16_t low[] = {
#define VTA_EXP2(n, hi, lo) [n] = (lo),
#include "vta/exp2.def"
#undef VTA_EXP2
    };
    const int32_t v = s < 0 ? s : 0;
    const uint32_t f = (uint32_t)v & ((1U << FRACTION) - 1);
    const uint32_t places = 14U + (uint32_t) - (v >> FRACTION);
    const uint32_t shift = places < 63 ? places : 63;
    const uint64_t product = (uint64_t)high[f >> LOW] * low[f & ((1U << LOW) - 1)];
    const uint64_t below_half = (UINT64_C(1) << (shift - 1)) - 1;
    return (int32_t)((product + below_half + (product >> shift & 1)) >> shift);
}

/* The zeros above the highest bit of a number from 1 on. */
static inline uint32_t vta_row_leading_zeros(uint32_t value)
{
    uint32_t count = 0;
    while ((value << count >> 31) == 0) {
        count++;
    }
    return count;
}

/* The square root with its exponent: bits 15:0 m, bits 29:24 h, about m / 2^h. */
static inline uint32_t vta_row_root(int32_t number)
{
    const uint32_t v = number > 0 ? (uint32_t)number : 1;
    const uint32_t half = vta_row_leading_zeros(v) / 2;
    uint32_t m = 0; /* the largest one with m^2 <= v * 2^(2 half) */
    for (uint32_t bit = 1U << 15; bit != 0; bit >>= 1) {
        const uint64_t more = m | bit;
        m = more * more <= v << 2 * half ? (uint32_t)more : m;
    }
    return m | half << 24;
}

/* The reciprocal of w, which has 18 bits with the highest one set, less its power of two. */
static inline uint32_t vta_row_quotient(uint32_t w)
{
    return (uint32_t)(((UINT64_C(1) << 33) - 1) / w);
}

static inline vta_reciprocal vta_row_recip(int32_t number)
{
    const uint32_t v = number > 0 ? (uint32_t)number : 1;
    const uint32_t k = vta_row_leading_zeros(v);
    return (vta_reciprocal){vta_row_quotient(v << k >> 14), 47 - k};
}

/* 1 / the root that vta_row_root has made. */
static inline vta_reciprocal vta_row_recip_root(uint32_t root)
{
    const uint32_t m = (root & 0xffff) | 0x8000;
    const uint32_t h = root >> 24 & 63;
    return (vta_reciprocal){vta_row_quotient(4 * m), h < 31 ? 31 - h : 0};
}

#endif
