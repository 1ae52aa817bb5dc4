/* SPDX-License-Identifier: Apache-2.0
 *
 * Factors of quantized additions. The reference is float32: dequantize both, add, quantize. Where its result
 * lies next to the middle between two integers, integer factors may go the other way; of the factors around
 * the quotients those are taken that do so for the fewest pairs of numbers, small ones, which are frequent,
 * counting more.
 */
#include <math.h>
#include <stdlib.h>

#include "vtac/exact.h"
#include "vtac/quant.h"

enum { SHIFT_MAX = 63, SUM_BITS = 23, MAX = 255, REACH = 6, MAX_PAIRS = 4096 };

/* Two numbers less their zero points, whose sum is nearly half-way; the reference goes up from `step`, or
 * not. */
typedef struct sum_pair {
    int16_t a, b, result;
    float weight;
} sum_pair;

typedef struct pairs {
    sum_pair item[MAX_PAIRS];
    int count;
} pairs;

static bool is_scale(float s)
{
    return s > 0.0F && isfinite(s);
}

static float reference_sum(int a, int b, float sa, float sb, float sy)
{
    const float x = (float)a * sa;
    const float y = (float)b * sb;
    const float sum = x + y;
    const float quotient = sum / sy;
    return rintf(quotient);
}

/* Fills a row with the distances of a·x + b·y from the middle between two integers, for each b from -MAX on.
 * Adding and subtracting `shift` rounds to an integer without a call, so that vectors compute a row: |sums|
 * stay below 2^51. */
static void fill_row(double ax, double y, double row[2 * MAX + 1])
{
    const double shift = 0x1.8p52;
    for (int i = 0; i <= 2 * MAX; i++) {
        const double t = ax + (i - MAX) * y;
        row[i] = 0.5 - fabs(t - ((t + shift) - shift));
    }
}

/* The pairs that factors within REACH of the best could decide either way: both functions are odd, so that
 * half of them will do. */
static void find_pairs(float sa, float sb, float sy, double window, pairs *out)
{
    const double x = (double)sa / (double)sy;
    const double y = (double)sb / (double)sy;
    double row[2 * MAX + 1];
    out->count = 0;
    for (int a = 0; a <= MAX; a++) {
        fill_row(a * x, y, row);
        for (int b = -MAX; b <= MAX; b++) {
            if (row[b + MAX] < window && fabs(a * x + b * y) < MAX + 1.0 && out->count < MAX_PAIRS) {
                out->item[out->count++] =
                    (sum_pair){(int16_t)a, (int16_t)b, (int16_t)reference_sum(a, b, sa, sb, sy),
                               (float)vtac_exp(-(a + abs(b)) / 64.0)};
            }
        }
    }
}

/* Cost of factors; the search stops counting at `max`. */
static double factor_penalty(const pairs *p, double a, double b, double unit, double max)
{
    double sum = 0.0;
    for (int i = 0; i < p->count && sum < max; i++) {
        const double v =
            (p->item[i].a * a + p->item[i].b * b) * unit; /* exact: below 2^31, and a power of two */
        if (rint(v) != p->item[i].result) {
            sum += (double)p->item[i].weight;
        }
    }
    return sum;
}

static void search_factors(const pairs *p, vtac_fixed_sum *out)
{
    const double unit = ldexp(1.0, -(int)out->shift);
    const int32_t first_a = out->a;
    const int32_t first_b = out->b;
    double min = factor_penalty(p, first_a, first_b, unit, (double)INFINITY);
    for (int i = -REACH; i <= REACH && min > 0.0; i++) {
        for (int j = -REACH; j <= REACH && min > 0.0; j++) {
            const int32_t a = first_a + i;
            const int32_t b = first_b + j;
            if (a < 0 || b < 0 || a + b >= 1 << SUM_BITS) {
                continue;
            }
            const double here = factor_penalty(p, a, b, unit, min);
            if (here < min) {
                min = here;
                out->a = a;
                out->b = b;
            }
        }
    }
}

bool vtac_fixed_sum_of(float sa, float sb, float sy, vtac_fixed_sum *out)
{
    *out = (vtac_fixed_sum){0};
    if (!is_scale(sa) || !is_scale(sb) || !is_scale(sy)) {
        return false;
    }
    /* Larger ratios saturate any output as these do. */
    const double max = (double)(1 << (SUM_BITS - 2));
    const double a = fmin((double)sa / (double)sy, max);
    const double b = fmin((double)sb / (double)sy, max);
    int shift = SHIFT_MAX;
    while (shift > 0 && rint(ldexp(a, shift)) + rint(ldexp(b, shift)) >= (double)(1 << SUM_BITS)) {
        shift--;
    }
    *out = (vtac_fixed_sum){
        .a = (int32_t)rint(ldexp(a, shift)), .b = (int32_t)rint(ldexp(b, shift)), .shift = (uint32_t)shift};
    pairs p;
    find_pairs(sa, sb, sy, ldexp(2.0 * MAX * (REACH + 1), -shift), &p);
    search_factors(&p, out);
    return true;
}
