/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions on rows, from the formulas of ISA.md §7: tables rounded from powers of two as they are asked
 * for, roots by bisection, everything in plain integers.
 */
#include "interp_rows.h"

#include <math.h>

/* round(2^15 · 2^(n / parts)); none of the 128 that are asked for lies near a half. */
static int64_t rounded_power(int64_t n, int64_t parts)
{
    return (int64_t)floorl(ldexpl(powl(2.0L, (long double)n / (long double)parts), 15) + 0.5L);
}

static int64_t power(int64_t exponent)
{
    int64_t value = 1;
    for (int64_t i = 0; i < exponent; i++) {
        value *= 2;
    }
    return value;
}

static int64_t exp2_of(int64_t s)
{
    static int64_t high[64], low[64];
    for (int64_t n = 0; high[63] == 0 && n < 64; n++) {
        high[n] = rounded_power(n, 64);
        low[n] = rounded_power(n, 4096);
    }
    int64_t whole = 0; /* i of the text, and s becomes f */
    for (s = s > 0 ? 0 : s; s < 0 && whole < 60; s += 4096) {
        whole++;
    }
    if (s < 0) {
        return 0; /* the product is below 2^33 */
    }
    const int64_t product = high[s / 64] * low[s % 64];
    const int64_t one = power(14 + whole < 62 ? 14 + whole : 62);
    const int64_t quotient = product / one;
    const int64_t twice = 2 * (product % one);
    return quotient + (twice > one || (twice == one && quotient % 2 == 1) ? 1 : 0);
}

static int64_t floor_root(int64_t value)
{
    int64_t below = 0;
    int64_t above = 65536;
    while (above - below > 1) {
        const int64_t middle = (below + above) / 2;
        if (middle * middle <= value) {
            below = middle;
        } else {
            above = middle;
        }
    }
    return below;
}

static int64_t root_of(int64_t v)
{
    int64_t k = 0;
    while (v * power(k + 2) < power(32)) {
        k += 2;
    }
    return floor_root(v * power(k)) + k / 2 * power(24);
}

static int64_t reciprocal(int64_t w, int64_t shift, int64_t form, int64_t places)
{
    const int64_t q = (power(33) - 1) / w;
    const int64_t left = shift > places ? shift - places : 0;
    return form == 0 ? q + left * power(24) : form == 1 ? q : left;
}

static int64_t recip_of(int64_t v, int64_t form, int64_t places)
{
    int64_t k = 31;
    for (int64_t half = v / 2; half > 0; half /= 2) {
        k--;
    }
    return reciprocal(v * power(k) / power(14), 47 - k, form, places);
}

static int64_t recip_root_of(int64_t word, int64_t form, int64_t places)
{
    const int64_t bits = word < 0 ? word + power(32) : word;
    const int64_t m = bits % power(15) + power(15);
    const int64_t h = bits / power(24) % 64;
    return reciprocal(4 * m, h > 31 ? 0 : 31 - h, form, places);
}

int64_t interp_row_lane(int64_t imm, const int64_t *x, const int64_t *s, int64_t lane, int64_t lanes)
{
    const int64_t function = imm % 8, form = imm / 8 % 4, places = imm / 32;
    const int64_t y = function < 4 ? s[(lane + power(places)) % lanes] : 0;
    const int64_t first = s[0] < 1 ? 1 : s[0];
    switch (function) {
    case 0: return x[lane] < y ? x[lane] : y;
    case 1: return x[lane] > y ? x[lane] : y;
    case 2: {
        const int64_t sum = (x[lane] + y + power(33)) % power(32);
        return sum < power(31) ? sum : sum - power(32);
    }
    case 3: return y;
    case 4: return exp2_of(s[lane]);
    case 5: return root_of(first);
    case 6: return recip_of(first, form, places);
    default: return recip_root_of(s[0], form, places);
    }
}
