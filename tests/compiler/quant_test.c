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
    for (int i = 0; i < ROUNDS; i++) {
        const float sa = any_scale(), sb = any_scale(), sy = any_scale();
        vtac_fixed_sum sum;
        assert_true(vtac_fixed_sum_of(sa, sb, sy, &sum));
        assert_true(sum.a >= 0 && sum.b >= 0 && sum.shift < 64);
        assert_true((int64_t)sum.a + sum.b < 1 << 23);
        const double a = (double)sa / (double)sy, b = (double)sb / (double)sy;
        if (a < 1e3 && b < 1e3 && a > 1e-6 && b > 1e-6) { /* 22 bits for the larger one */
            const double unit = ldexp(1.0, -(int)sum.shift);
            assert_true(fabs(sum.a * unit - a) <= 0.5 * unit && fabs(sum.b * unit - b) <= 0.5 * unit);
            assert_true(unit <= (a + b) * 0x1p-21);
        }
    }
}

static void test_scales_are_single_precision(void **state)
{
    (void)state;
    assert_true(vtac_scale_product(0.1F, 0.3F, 0.7F) == (float)((float)(0.1F * 0.3F) / 0.7F));
    assert_true(vtac_scale_ratio(0.5F, 0.25F) == 2.0F);
    assert_true(vtac_scale_mean(0.5F, 0.25F, 4) == 0.5F);
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
        cmocka_unit_test(test_scales_are_single_precision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
