/* SPDX-License-Identifier: Apache-2.0
 *
 * exp with a result that is the same to the bit on every machine: additions and products in a fixed order,
 * which IEEE 754 defines to the bit. It is off by at most two units of a double's last place. A file that
 * includes this one must be compiled without contraction of products and sums (-ffp-contract=off).
 */
#ifndef VTA_EXACT_EXP_H
#define VTA_EXACT_EXP_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* log(2), the sum of two parts: a whole number times the first is exact. */
static const double vta_exact_log2_high = 6.93147180369123816490e-01;
static const double vta_exact_log2_low = 1.90821492927058770002e-10;

enum { VTA_EXACT_BIAS = 1023, VTA_EXACT_MANTISSA = 52 };

static inline double vta_exact_from_bits(uint64_t bits)
{
    double out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

/* The nearest whole number, for what is far below 2^31. */
static inline int32_t vta_exact_nearest(double x)
{
    return (int32_t)(x < 0.0 ? x - 0.5 : x + 0.5);
}

/* terms[0] + terms[1] x + ... */
static inline double vta_exact_polynomial(double x, const double *terms, int count)
{
    double sum = terms[count - 1];
    for (int i = count - 1; i-- > 0;) {
        sum = sum * x + terms[i];
    }
    return sum;
}

/* x times 2^power for |power| up to twice the exponent's range, in two steps. */
static inline double vta_exact_scale(double x, int32_t power)
{
    const int32_t half = power / 2;
    return x * vta_exact_from_bits((uint64_t)(VTA_EXACT_BIAS + half) << VTA_EXACT_MANTISSA) *
           vta_exact_from_bits((uint64_t)(VTA_EXACT_BIAS + power - half) << VTA_EXACT_MANTISSA);
}

/* Not a number for one; infinite above 709.78; 0 below -745.2. */
static inline double vta_exact_exp(double x)
{
    static const double series[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                    1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                    1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
    if (x != x) {
        return x;
    }
    if (x > 710.0) {
        return HUGE_VAL;
    }
    if (x < -746.0) {
        return 0.0;
    }
    const int32_t n = vta_exact_nearest(x * 1.4426950408889634);
    const double high = x - n * vta_exact_log2_high;
    const double low = n * vta_exact_log2_low;
    const double r = high - low;
    const double tail = (high - r) - low; /* what r has lost */
    const double rest =
        tail + r * r * vta_exact_polynomial(r, series, (int)(sizeof series / sizeof series[0]));
    return vta_exact_scale(1.0 + (r + rest), n);
}

#endif
