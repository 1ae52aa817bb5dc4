/* SPDX-License-Identifier: Apache-2.0 */
#include "vtac/exact.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "vta/exact_exp.h"

/* A quarter turn, the sum of its parts: a whole number times a part but the last is exact. */
static const double quarter_parts[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};

static uint64_t to_bits(double x)
{
    uint64_t out;
    memcpy(&out, &x, sizeof out);
    return out;
}

double vtac_exp(double x)
{
    return vta_exact_exp(x);
}

double vtac_log(double x)
{
    static const double series[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                                    2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
    if (x != x || x == HUGE_VAL) {
        return x;
    }
    if (x <= 0.0) {
        return x == 0.0 ? -HUGE_VAL : vta_exact_from_bits(UINT64_C(0x7ff8000000000000));
    }
    const int32_t tiny = x < 0x1p-1022 ? 54 : 0;
    const uint64_t bits = to_bits(tiny != 0 ? x * 0x1p54 : x);
    int32_t power = (int32_t)(bits >> VTA_EXACT_MANTISSA) - VTA_EXACT_BIAS - tiny;
    double m = vta_exact_from_bits((bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000));
    if (m > 1.4142135623730951) {
        m *= 0.5;
        power++;
    }
    /* log(1 + f) = f - f²/2 + s (f²/2 + the series in s²), where s = f / (2 + f) */
    const double f = m - 1.0;
    const double s = f / (2.0 + f);
    const double square = s * s;
    const double half = 0.5 * f * f;
    const double rest =
        s * (half + square * vta_exact_polynomial(square, series, (int)(sizeof series / sizeof series[0])));
    return power * vta_exact_log2_high - ((half - (rest + power * vta_exact_log2_low)) - f);
}

/* The sine `quarters` quarter turns on. */
static double sine_of_quarters(double x, int32_t quarters)
{
    static const double odd[] = {-1.0 / 6,
                                 1.0 / 120,
                                 -1.0 / 5040,
                                 1.0 / 362880,
                                 -1.0 / 39916800,
                                 1.0 / 6227020800.0,
                                 -1.0 / 1307674368000.0,
                                 1.0 / 355687428096000.0};
    static const double even[] = {1.0 / 24,
                                  -1.0 / 720,
                                  1.0 / 40320,
                                  -1.0 / 3628800,
                                  1.0 / 479001600,
                                  -1.0 / 87178291200.0,
                                  1.0 / 20922789888000.0,
                                  -1.0 / 6402373705728000.0};
    if (!(x >= -1e6 && x <= 1e6)) {
        return vta_exact_from_bits(UINT64_C(0x7ff8000000000000));
    }
    const int32_t n = vta_exact_nearest(x * 0.63661977236758134);
    const double first = x - n * quarter_parts[0];
    const double second = n * quarter_parts[1];
    const double near = first - second;
    const double third = n * quarter_parts[2] - ((first - near) - second);
    const double r = near - third;
    const double tail = (near - r) - third;
    const double square = r * r;
    const uint32_t place = (uint32_t)(n + quarters) & 3;
    double y;
    if (place % 2 == 0) {
        y = r + (tail * (1.0 - 0.5 * square) + r * square * vta_exact_polynomial(square, odd, 8));
    } else {
        const double half = 0.5 * square;
        const double max = 1.0 - half;
        y = max +
            (((1.0 - max) - half) + (square * square * vta_exact_polynomial(square, even, 8) - r * tail));
    }
    return place < 2 ? y : -y;
}

double vtac_sin(double x)
{
    return x == 0.0 ? x : sine_of_quarters(x, 0);
}

double vtac_cos(double x)
{
    return sine_of_quarters(x, 1);
}
