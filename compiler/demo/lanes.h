/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums in a fixed order that a processor's vectors can do at once: of a long sum, term i belongs to lane
 * i mod LANES; the lanes are added at the end, the first to the third, the second to the fourth, and the two.
 * So the result is the same to the bit, whatever the vectors' length.
 */
#ifndef DEMO_LANES_H
#define DEMO_LANES_H

#include <stddef.h>
#include <string.h>

enum { LANES = 4 };

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef double pair __attribute__((vector_size(2 * sizeof(double))));

/* Four lanes in doubles: lanes 0 and 1, 2 and 3. */
typedef struct wide_lanes {
    pair first, second;
} wide_lanes;

static inline lanes lanes_load(const float *from)
{
    lanes out;
    memcpy(&out, from, sizeof out);
    return out;
}

static inline void lanes_store(float *to, lanes value)
{
    memcpy(to, &value, sizeof value);
}

/* The first `count` of them, and zeros. */
static inline lanes lanes_load_some(const float *from, size_t count)
{
    if (count >= LANES) {
        return lanes_load(from);
    }
    lanes out = {0};
    memcpy(&out, from, count * sizeof *from);
    return out;
}

static inline float lanes_sum(lanes sum)
{
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

static inline wide_lanes lanes_widen(lanes value)
{
    return (wide_lanes){{(double)value[0], (double)value[1]}, {(double)value[2], (double)value[3]}};
}

static inline wide_lanes wide_lanes_add(wide_lanes a, wide_lanes b)
{
    return (wide_lanes){a.first + b.first, a.second + b.second};
}

static inline wide_lanes wide_lanes_square(wide_lanes a)
{
    return (wide_lanes){a.first * a.first, a.second * a.second};
}

static inline double wide_lanes_sum(wide_lanes sum)
{
    const pair both = sum.first + sum.second;
    return both[0] + both[1];
}

#endif
