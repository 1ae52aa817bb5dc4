/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic on integers that every module needs: minimum, maximum, division and rounding upwards, sums that
 * saturate. Functions that end in _u take unsigned numbers.
 */
#ifndef VTA_NUMBER_H
#define VTA_NUMBER_H

#include <stdint.h>

static inline int64_t vta_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t vta_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t vta_min_u(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t vta_max_u(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The number of the range `low` to `high` that is nearest to `value`. */
static inline int64_t vta_clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* a / b rounded upwards, for a of at least 0 and b above 0; a + b must not overflow. */
static inline int64_t vta_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline uint64_t vta_ceil_div_u(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* The smallest multiple of `unit` that is not below `a`; the same limits as vta_ceil_div. */
static inline int64_t vta_round_up(int64_t a, int64_t unit)
{
    return vta_ceil_div(a, unit) * unit;
}

static inline uint64_t vta_round_up_u(uint64_t a, uint64_t unit)
{
    return vta_ceil_div_u(a, unit) * unit;
}

/* The sum; UINT64_MAX where the sum is larger. */
static inline uint64_t vta_add_saturated(uint64_t a, uint64_t b)
{
    return a <= UINT64_MAX - b ? a + b : UINT64_MAX;
}

/* The largest exponent of 2 whose power is at most n; 0 for n below 1. */
static inline int vta_log2(int64_t n)
{
    int log = 0;
    for (; n > 1; n /= 2) {
        log++;
    }
    return log;
}

#endif
