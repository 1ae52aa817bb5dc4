/* SPDX-License-Identifier: Apache-2.0 */
#include "fixed.h"

#include <stdbool.h>

static int16_t saturate_16(int32_t v)
{
    return (int16_t)(v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v);
}

/* As a 16-bit machine adds: what overflows wraps. */
static int16_t wrap_16(int32_t v)
{
    return (int16_t)(uint16_t)(uint32_t)v;
}

/* a * b as fractions, rounded. */
static int16_t multiply_16(int16_t a, int16_t b)
{
    if (a == INT16_MIN && b == INT16_MIN) {
        return INT16_MAX;
    }
    const int32_t both = (int32_t)a * b;
    return (int16_t)((both + (both >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15));
}

/* v * 2^by: saturating to the left, rounding halves away from zero to the right. */
static int16_t scale_16(int16_t v, int by)
{
    if (by >= 0) {
        return by > 15 ? (int16_t)(v < 0   ? INT16_MIN
                                   : v > 0 ? INT16_MAX
                                           : 0)
                       : saturate_16((int32_t)v * (1 << by));
    }
    const int32_t mask = (1 << -by) - 1;
    const int32_t rest = v & mask;
    return (int16_t)((v >> -by) + (rest > (mask >> 1) + (v < 0 ? 1 : 0) ? 1 : 0));
}

/* The upper half of a constant of 32 bits. */
static int16_t constant_16(int32_t v)
{
    return saturate_16((int32_t)(((int64_t)v + (1 << 15)) >> 16));
}

/* exp(a), -1/4 <= a < 0 */
static int16_t exp_of_quarter(int16_t a)
{
    const int16_t x = wrap_16(a + (1 << 12)); /* about -1/8 */
    const int16_t x2 = multiply_16(x, x);
    const int16_t x3 = multiply_16(x2, x);
    const int16_t x4 = multiply_16(x2, x2);
    const int16_t high = wrap_16(multiply_16(wrap_16(scale_16(x4, -2) + x3), constant_16(715827883)) + x2);
    const int16_t center = constant_16(1895147668); /* exp(-1/8) */
    return saturate_16(center + multiply_16(center, wrap_16(x + scale_16(high, -1))));
}

/* exp(a), a <= 0 with `whole` bits before its point */
static int16_t exp_of_negative(int16_t a, int whole)
{
    /* exp(-2^k) for k from -2 on */
    static const int32_t powers[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    const int fraction = 15 - whole;
    const int32_t quarter = 1 << (fraction - 2);
    const int16_t part = wrap_16((a & (quarter - 1)) - quarter);
    const int32_t rest = wrap_16(part - a);
    int16_t y = exp_of_quarter(scale_16(part, whole));
    for (int k = -2; k < 5; k++) {
        if (whole > k && (rest & (1 << (fraction + k))) != 0) {
            y = multiply_16(y, constant_16(powers[k + 2]));
        }
    }
    if (whole > 5 && a < -(1 << (20 - whole))) {
        y = 0;
    }
    return a == 0 ? INT16_MAX : y;
}

/* 1 / (1 + a), or (1 - a) / (1 + a); 0 <= a < 1 */
static int16_t quotient_16(int16_t a, bool difference)
{
    const int16_t half = (int16_t)(((int32_t)a + INT16_MAX + 1) / 2);
    int16_t x = wrap_16(constant_16(1515870810) + multiply_16(half, constant_16(-1010580540)));
    for (int i = 0; i < 3; i++) {
        const int16_t rest = wrap_16((1 << 13) - multiply_16(half, x));
        x = wrap_16(x + scale_16(multiply_16(x, rest), 2));
    }
    return difference ? scale_16(wrap_16(x - (1 << 13)), 2) : scale_16(x, 1);
}

int16_t vtac_tflite_fixed_logistic(int16_t x, int whole)
{
    if (x == 0) {
        return 1 << 14;
    }
    const int16_t size = x > 0 ? x : wrap_16(-(int32_t)x);
    const int16_t y = quotient_16(exp_of_negative(wrap_16(-(int32_t)size), whole), false);
    return x > 0 ? y : wrap_16(INT16_MAX - y);
}

int16_t vtac_tflite_fixed_tanh(int16_t x, int whole)
{
    const int16_t low = x < 0 ? x : wrap_16(-(int32_t)x);
    const int16_t y = x == 0 ? 0 : quotient_16(exp_of_negative(low, whole + 1), true);
    return x < 0 ? wrap_16(-(int32_t)y) : y;
}
