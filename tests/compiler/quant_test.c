/* SPDX-License-Identifier: Apache-2.0
 *
 * Fixed-point factors against the same numbers in 80-bit and 128-bit arithmetic, at random and at the edges.
 */
#include "vtac/quant.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rng.h"

enum { ROUNDS = 200000 };

static rng source;

static float any_scale(void)
{
    return ldexpf(1.0F + (float)(rng_next(&source) >> 41) * 0x1p-23F, (int)(rng_next(&source) % 60) - 45);
}

/* round_half_even(v * scale) from its definition: the nearest integers on both sides, compared. */
static int64_t reference(int64_t v, float scale)
{
    int exponent = 0;
    const int64_t mantissa = (int64_t)ldexp(frexp((double)scale, &exponent), 24); /* a float has no more */
    const int64_t product = mantissa * v; /* times 2^(exponent - 24) */
    const int down = 24 - exponent;
    if (down > 62) {
        return 0; /* |product| is below 2^60 */
    }
    if (down <= 0) {
        return product * (INT64_C(1) << -down);
    }
    const int64_t one = INT64_C(1) << down;
    const int64_t below = product / one - (product % one < 0);
    const int64_t rest = product - below * one;
    const int64_t half = one / 2;
    return below + (rest > half || (rest == half && (below & 1) != 0));
}

static void test_floats_are_exact(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        const float scale = any_scale();
        vtac_fixed fixed;
        assert_true(vtac_fixed_of(scale, &fixed));
        assert_true(fixed.mult < 1U << 24 && fixed.shift < 64);
        if (scale >= 0x1p-40F) {
            assert_true(ldexp((double)fixed.mult, -(int)fixed.shift) == (double)scale);
        }
        const int64_t v = (int64_t)(rng_next(&source) >> (30 + rng_next(&source) % 30)) - (1 << 20);
        const int64_t full = reference(v, scale);
        const int32_t expected = (int32_t)(full < -120 ? -120 : full > 100 ? 100 : full);
        assert_int_equal(vtac_fixed_apply(v, fixed, 0, -120, 100), expected);
        const int64_t moved = full + 7 < -128 ? -128 : full + 7 > 127 ? 127 : full + 7;
        assert_int_equal(vtac_fixed_apply(v, fixed, 7, -128, 127), moved);
    }
}

static void test_ties_go_to_even(void **state)
{
    (void)state;
    vtac_fixed half;
    assert_true(vtac_fixed_of(0.5F, &half));
    static const int expected[] = {-2, -2, -2, -1, 0, 0, 0, 1, 2, 2, 2}; /* -2.5, -2, -1.5, ... 2.5 */
    for (int v = -5; v <= 5; v++) {
        assert_int_equal(vtac_fixed_apply(v, half, 0, -128, 127), expected[v + 5]);
    }
}

static void test_limits(void **state)
{
    (void)state;
    vtac_fixed fixed;
    assert_true(vtac_fixed_of(0.0F, &fixed) && fixed.mult == 0);
    assert_true(vtac_fixed_of(0x1p-126F, &fixed));
    assert_int_equal(vtac_fixed_apply(INT64_C(1) << 32, fixed, 3, -128, 127), 3);
    assert_true(vtac_fixed_of(nextafterf(0x1p24F, 0.0F), &fixed));
    assert_false(vtac_fixed_of(0x1p24F, &fixed));
    assert_false(vtac_fixed_of(-1.0F, &fixed));
    assert_false(vtac_fixed_of(NAN, &fixed));
    assert_false(vtac_fixed_of(INFINITY, &fixed));
    vtac_fixed_sum sum;
    assert_false(vtac_fixed_sum_of(0.0F, 1.0F, 1.0F, &sum));
    assert_false(vtac_fixed_sum_of(1.0F, NAN, 1.0F, &sum));
    assert_false(vtac_fixed_sum_of(1.0F, 1.0F, -1.0F, &sum));
}

static void test_sums(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS / 100; i++) {
        const float sa = any_scale(), sb = any_scale(), sy = any_scale();
        vtac_fixed_sum sum;
        assert_true(vtac_fixed_sum_of(sa, sb, sy, &sum));
        assert_true(sum.a >= 0 && sum.b >= 0 && sum.shift < 64);
        assert_true((int64_t)sum.a + sum.b < 1 << 23);
        const double a = (double)sa / (double)sy;
        const double b = (double)sb / (double)sy;
        if (a < 1e3 && b < 1e3 && a > 1e-6 &&
            b > 1e-6) { /* 22 bits for the larger one, but for a few units */
            const double unit = ldexp(1.0, -(int)sum.shift);
            assert_true(fabs(sum.a * unit - a) <= 6.5 * unit && fabs(sum.b * unit - b) <= 6.5 * unit);
            assert_true(unit <= (a + b) * 0x1p-21);
        }
    }
}

/* Every result with the smaller bias is that with the large one; what fits stays. */
static void test_biases_fit(void **state)
{
    (void)state;
    int moved = 0;
    for (int i = 0; i < 20000; i++) {
        const int64_t size = INT64_C(1) << rng_below(&source, 20), limit = INT32_MAX - 128 * size;
        const vtac_bias_room room = {-size, size + rng_below(&source, 7), -limit, limit};
        const int64_t large = (int64_t)(rng_next(&source) >> 33) << rng_below(&source, 8);
        const int64_t bias = rng_percent(&source, 50) ? large : -large;
        vtac_fixed scale;
        int32_t fit;
        assert_true(vtac_fixed_of(
            ldexpf(1.0F + (float)rng_below(&source, 1000) / 1000.0F, -(int)rng_below(&source, 40)), &scale));
        const bool there = bias + room.min >= room.low && bias + room.max <= room.high;
        if (!vtac_bias_fit(bias, &room, scale, 3, -128, 127, &fit)) {
            assert_false(there);
            continue;
        }
        assert_true(!there || fit == bias);
        assert_true(fit + room.min >= room.low && fit + room.max <= room.high);
        moved += fit != bias;
        for (int k = 0; k < 20; k++) {
            const int64_t sum =
                k < 2 ? (k == 0 ? room.min : room.max) : rng_between(&source, room.min, room.max);
            assert_int_equal(vtac_fixed_apply(bias + sum, scale, 3, -128, 127),
                             vtac_fixed_apply(fit + sum, scale, 3, -128, 127));
        }
    }
    assert_true(moved > 1000);
}

/* Counts the sums around the middles between two results that exact arithmetic gives another integer for. */
static int differences(float scale, float plain)
{
    int count = 0;
    for (int k = 0; k < 64; k++) {
        const double middle = floor((k + 0.5) / (double)plain);
        for (int side = -1; side < 3; side++) {
            const float product = (float)(middle + side) * plain;
            count += rint((middle + side) * (double)scale) != (double)rintf(product);
        }
    }
    return count;
}

/* Next to the quotient in float32, and more often equal to float32 arithmetic than it. */
static void test_scales_follow_single_precision(void **state)
{
    (void)state;
    int settled = 0;
    int plain = 0;
    for (int i = 0; i < ROUNDS / 10; i++) {
        const float a = any_scale();
        const float product = a * 0.37F;
        const float scale = product / 0.011F;
        const float got = vtac_scale_product(a, 0.37F, 0.011F);
        assert_true(fabsf(got - scale) <= 8.0F * scale * 0x1p-23F);
        if (scale > 0x1p-12F && scale < 1.0F) { /* below, too many sums are close */
            settled += differences(got, scale);
            plain += differences(scale, scale);
        }
    }
    print_message("sums whose integer differs from float32's: %d, with the quotient itself %d\n", settled,
                  plain);
    assert_true(plain > 0 && 2 * settled < plain);
    assert_true(vtac_scale_product(0.5F, 0.5F, 4.0F) == 0.0625F);
    assert_true(vtac_scale_ratio(0.5F, 0.25F) == 2.0F);
    assert_true(vtac_scale_mean(0.5F, 0.25F, 4) == 0.5F);
}

static float chain(int a, int b, float sa, float sb, float sy)
{
    const float x = (float)a * sa;
    const float y = (float)b * sb;
    const float both = x + y;
    const float quotient = both / sy;
    return rintf(quotient);
}

/* An addition gives what float32 gives for nearly all pairs of 8-bit numbers, and is never off by more
 * than 1. */
static void test_sums_follow_single_precision(void **state)
{
    (void)state;
    int64_t pairs = 0;
    int64_t wrong = 0;
    for (int i = 0; i < 20; i++) {
        const float sa = any_scale();
        const float sb = sa * (0.25F + (float)(rng_next(&source) >> 41) * 0x1p-23F);
        const float sy = sa * (0.5F + (float)(rng_next(&source) >> 41) * 0x1p-23F);
        vtac_fixed_sum sum;
        assert_true(vtac_fixed_sum_of(sa, sb, sy, &sum));
        const double unit = ldexp(1.0, -(int)sum.shift);
        for (int a = -255; a <= 255; a++) {
            for (int b = -255; b <= 255; b++) {
                const double off =
                    rint((double)(a * sum.a + b * sum.b) * unit) - (double)chain(a, b, sa, sb, sy);
                assert_true(fabs(off) <= 1.0);
                wrong += off != 0.0;
                pairs++;
            }
        }
    }
    print_message("%lld of %lld pairs differ\n", (long long)wrong, (long long)pairs);
    assert_true(wrong * 10000 < pairs);
}

/* TensorFlow Lite's factor and roundings by division, after its description (../shared/models/front-ends.md).
 */
static int64_t described(int64_t v, double real)
{
    int exponent;
    int64_t mantissa = (int64_t)floor(frexp(real, &exponent) * 0x1p31 + 0.5);
    if (mantissa == INT64_C(1) << 31) {
        mantissa /= 2;
        exponent++;
    }
    for (; exponent > 0; exponent--) {
        v *= 2;
    }
    const int64_t p = (int64_t)floorl(((long double)v * (long double)mantissa + 0x1p30L) / 0x1p31L);
    const int64_t unit = INT64_C(1) << -exponent;
    return p < 0 ? -((-p + unit / 2) / unit) : (p + unit / 2) / unit;
}

static int64_t within(int64_t q)
{
    return q < -128 ? -128 : q > 127 ? 127 : q;
}

/* All 65,536 results of a sum, whatever way it was brought into. */
static void test_tflite_sums(void **state)
{
    (void)state;
    int ways[3] = {0};
    for (int i = 0; i < 40; i++) {
        const float scale[] = {any_scale(), any_scale(), any_scale()};
        const float ratio = scale[0] / scale[1];
        const float fair[] = {scale[0], ratio > 1e-3F && ratio < 1e3F ? scale[1] : scale[0] * 0.7F,
                              scale[0] * (1.0F + (float)(rng_next(&source) >> 41) * 0x1p-23F)};
        const int32_t zero[] = {(int32_t)(rng_next(&source) >> 56) - 128,
                                (int32_t)(rng_next(&source) >> 56) - 128,
                                (int32_t)(rng_next(&source) >> 56) - 128};
        vtac_tfl_sum_fit fit;
        assert_true(vtac_tfl_sum_fit_of(fair, zero, &fit));
        ways[fit.corrected >= 0 ? 2 : fit.rounding == VTA_ROUND_UP]++;
        const double twice = 2.0 * (double)fmaxf(fair[0], fair[1]);
        int64_t term[2][256];
        for (int k = 0; k < 2; k++) {
            for (int q = -128; q < 128; q++) {
                term[k][q + 128] = described((int64_t)(q - zero[k]) * (1 << 20), (double)fair[k] / twice);
            }
        }
        for (int a = -128; a < 128; a++) {
            for (int b = -128; b < 128; b++) {
                const int64_t want = within(
                    described(term[0][a + 128] + term[1][b + 128], twice / (0x1p20 * (double)fair[2])) +
                    zero[2]);
                int64_t v = (int64_t)(a - zero[0]) * fit.a + (int64_t)(b - zero[1]) * fit.b + fit.bias;
                assert_true(v > INT32_MIN && v < INT32_MAX);
                v += fit.corrected < 0 ? 0 : fit.table[128 + (fit.corrected == 0 ? a : b)];
                assert_int_equal(within(vtac_requant_round(v, fit.scale, fit.rounding) + zero[2]), want);
            }
        }
    }
    print_message("sums: %d as they are, %d with a bias, %d with a table\n", ways[0], ways[1], ways[2]);
    assert_true(ways[0] > 0 && ways[1] > 0);
}

typedef struct division {
    int64_t count;
    double factor;
} division;

static int32_t mean_of(const void *context, int64_t v)
{
    const division *d = context;
    const int64_t sum = d->factor == 1.0 ? v : described(v, d->factor);
    return (int32_t)within((sum < 0 ? sum - d->count / 2 : sum + d->count / 2) / d->count);
}

/* Means of any number of elements, on every sum: without a factor before the division, with one and no sum
 * below 0 (after a RELU), with one and all sums. The last has no fit for some even numbers. */
static void test_tflite_means(void **state)
{
    (void)state;
    int found[3] = {0};
    for (int64_t count = 1; count <= 130; count++) {
        for (int k = 0; k < 3; k++) {
            const division d = {count, k == 0 ? 1.0 : 0.5 + (double)(rng_next(&source) >> 12) * 0x1p-52};
            const vtac_steps steps = {.fn = mean_of,
                                      .context = &d,
                                      .first = k == 1 ? 0 : -255 * count,
                                      .last = 255 * count,
                                      .low = -128,
                                      .high = 127,
                                      .slope = d.factor / (double)count};
            vtac_steps_fit fit;
            const bool fits = vtac_steps_fit_of(&steps, &fit);
            assert_true(k != 0 ||
                        (fit.rounding == VTA_ROUND_UP && fit.times == 1)); /* alike for all divisors */
            assert_true(fits || (k == 2 && count % 2 == 0) || (k == 1 && count <= 4));
            found[k] += fits;
            for (int64_t v = steps.first; fits && v <= steps.last; v++) {
                assert_int_equal(
                    within(vtac_requant_round(v * fit.times + fit.bias, fit.scale, fit.rounding)),
                    mean_of(&d, v));
            }
        }
    }
    print_message("means: %d, %d, %d of 130\n", found[0], found[1], found[2]);
}

int main(void)
{
    const char *given = getenv("VTAC_SEED");
    const uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : 1;
    printf("seed %llu\n", (unsigned long long)seed);
    source = rng_split(seed, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats_are_exact),
        cmocka_unit_test(test_ties_go_to_even),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_biases_fit),
        cmocka_unit_test(test_scales_follow_single_precision),
        cmocka_unit_test(test_sums_follow_single_precision),
        cmocka_unit_test(test_tflite_sums),
        cmocka_unit_test(test_tflite_means),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
