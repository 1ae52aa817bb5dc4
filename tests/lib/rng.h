/* SPDX-License-Identifier: Apache-2.0
 *
 * A small random generator (splitmix64) for tests: the same seed gives the same numbers on every machine.
 */
#ifndef VTA_TEST_RNG_H
#define VTA_TEST_RNG_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rng {
    uint64_t state;
} rng;

static inline uint64_t rng_next(rng *r)
{
    uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A number below `bound`; 0 when bound is 0. */
static inline uint32_t rng_below(rng *r, uint32_t bound)
{
    return (uint32_t)(((rng_next(r) >> 32) * bound) >> 32);
}

/* A number in low ... high, both included. */
static inline int64_t rng_between(rng *r, int64_t low, int64_t high)
{
    return low + (int64_t)(rng_next(r) % (uint64_t)(high - low + 1));
}

static inline bool rng_percent(rng *r, uint32_t percent)
{
    return rng_below(r, 100) < percent;
}

/* An independent generator for part `part` of the work seeded by `seed`. */
static inline rng rng_split(uint64_t seed, uint64_t part)
{
    rng r = {seed ^ (part * UINT64_C(0xd1342543de82ef95) + 1)};
    r.state = rng_next(&r);
    return r;
}

#endif
