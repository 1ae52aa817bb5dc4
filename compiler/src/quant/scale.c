/* SPDX-License-Identifier: Apache-2.0
 *
 * Scales for exact arithmetic. ONNX Runtime multiplies in float32, which rounds the product before it is
 * rounded to an integer; a result next to the middle between two integers may then go the other way, and a
 * quantized network carries one such step on into most of its outputs. For one scale there are few sums where
 * this happens: the scale moves by some units in its last place to where the integers differ for the fewest
 * of them, small results, which are frequent, counting more.
 */
#include <math.h>
#include <stdbool.h>

#include "vtac/exact.h"
#include "vtac/quant.h"

enum { MAX_STEPS = 255, REACH = 6, MAX_CLOSE = 2 * (MAX_STEPS + 1) };
static const double max_sum = 536870912.0; /* 2^29: products of larger numbers are not exact in double */
static const double usual_steps = 32.0;    /* a result of so many steps counts 1/e as much as 0 */

/* Reference rounding of a sum v >= 0, in steps of the output: v * first, and / second where it divides. */
typedef struct scale_chain {
    float first, second;
    bool divides;
} scale_chain;

/* A sum next to a threshold, its result, and what it counts. */
typedef struct close_sum {
    double v, result, weight;
} close_sum;

static double reference_result(const scale_chain *c, double v)
{
    const float product = (float)v * c->first;
    const float quotient = c->divides ? product / c->second : product;
    return (double)rintf(quotient);
}

/* The largest v whose result is at most k, from a guess that is close. */
static double find_threshold(const scale_chain *c, double scale, double k)
{
    double v = floor((k + 0.5) / scale);
    while (v > 0.0 && reference_result(c, v) > k) {
        v -= 1.0;
    }
    while (v < max_sum && reference_result(c, v + 1.0) <= k) {
        v += 1.0;
    }
    return v;
}

/* The sums whose result a scale within REACH could change, or the float32 product has. Both functions grow
 * with v and are odd, so that the sums on both sides of each threshold tell everything. */
static int find_close(const scale_chain *c, double scale, close_sum *out)
{
    int count = 0;
    for (int k = 0; k <= MAX_STEPS && (k + 1) / scale < max_sum; k++) {
        const double exact = (k + 0.5) / scale;
        const double near = (k + 0.5 + scale) * (REACH + 3) * 0x1p-23 / scale;
        if (exact - floor(exact) > near && floor(exact) + 1.0 - exact > near) {
            continue; /* far from a sum, by more than float32's roundings */
        }
        const double below = find_threshold(c, scale, k);
        for (int side = 0; side < 2; side++) {
            const double v = below + side;
            const double off = fabs(v * scale - floor(v * scale) - 0.5);
            if (off <= v * scale * (REACH + 2) * 0x1p-23) {
                out[count++] = (close_sum){v, reference_result(c, v), vtac_exp(-k / usual_steps)};
            }
        }
    }
    return count;
}

/* Cost of a scale; the search stops counting at `max`. */
static double scale_penalty(const close_sum *sums, int count, float scale, double max)
{
    double sum = 0.0;
    for (int i = 0; i < count && sum < max; i++) {
        sum += rint(sums[i].v * (double)scale) != sums[i].result ? sums[i].weight : 0.0;
    }
    return sum;
}

static float settle_scale(float scale, const scale_chain *c)
{
    close_sum sums[MAX_CLOSE];
    if (!(scale > 0.0F) || scale > (float)MAX_STEPS) {
        return scale;
    }
    const int count = find_close(c, (double)scale, sums);
    float best = scale;
    double min = scale_penalty(sums, count, scale, (double)INFINITY);
    float nudged[2] = {scale, scale}; /* up, down */
    for (int i = 0; i < 2 * REACH && min > 0.0; i++) {
        nudged[i % 2] = nextafterf(nudged[i % 2], i % 2 == 0 ? INFINITY : 0.0F);
        const double here = scale_penalty(sums, count, nudged[i % 2], min);
        if (here < min) {
            min = here;
            best = nudged[i % 2];
        }
    }
    return best;
}

/* In float32, in this order: what ONNX Runtime's kernels compute. */
float vtac_scale_product(float a, float b, float y)
{
    const float ab = a * b;
    const scale_chain c = {.first = ab / y};
    return settle_scale(c.first, &c);
}

float vtac_scale_mean(float x, float y, int64_t count)
{
    const float all = y * (float)count;
    const scale_chain c = {.first = x / all};
    return settle_scale(c.first, &c);
}

/* DequantizeLinear, then QuantizeLinear. */
float vtac_scale_ratio(float x, float y)
{
    const scale_chain c = {.first = x, .second = y, .divides = true};
    return settle_scale(x / y, &c);
}
