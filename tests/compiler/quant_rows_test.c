/* SPDX-License-Identifier: Apache-2.0
 *
 * Softmax and normalizations of rows in integers against their definitions in double precision: no number is
 * further off than one unit, and 99.5 % of them are equal.
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

enum { ROWS = 24, LONGEST = VTAC_ROW_LONGEST, NUMBERS = 60000 };

static rng source;
static int32_t x[ROWS][LONGEST], y[LONGEST], mask[LONGEST], expected[LONGEST];
static double real[ROWS][LONGEST];
static float gain[LONGEST], bias[LONGEST];
static vtac_norm_column columns[LONGEST];

static const int32_t lengths[] = {16, 64, 197, 768, 2048, 8192};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static double uniform(double low, double high)
{
    return low + (high - low) * (double)(rng_next(&source) >> 11) * 0x1p-53;
}

/* About normal: twelve uniform numbers. */
static double normal(void)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++) {
        sum += uniform(0.0, 1.0);
    }
    return sum;
}

static int32_t clamp(double v, int32_t low, int32_t high)
{
    return v < low ? low : v > high ? high : (int32_t)v;
}

/* Rows of every kind: wide, narrow and off the middle, with one number far from the others, of few values. */
static void make_rows(int32_t n)
{
    for (int r = 0; r < ROWS; r++) {
        const double middle = uniform(-60.0, 60.0);
        const double spread = r % 4 == 1 ? uniform(0.4, 3.0) : uniform(5.0, 60.0);
        const uint32_t lonely = rng_below(&source, (uint32_t)n);
        for (int32_t i = 0; i < n; i++) {
            const double v = r % 4 == 3 && i == (int32_t)lonely ? 127.0 : middle + spread * normal();
            x[r][i] = clamp(rint(v), -128, 127);
        }
    }
}

typedef struct tally {
    int64_t count, off;
    int32_t worst;
} tally;

static void compare(tally *t, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const int32_t distance = abs(y[i] - expected[i]);
        t->count++;
        t->off += distance != 0;
        t->worst = distance > t->worst ? distance : t->worst;
    }
}

static void assert_close(const tally *t, const char *what, int32_t n)
{
    const double equal = 100.0 * (double)(t->count - t->off) / (double)t->count;
    print_message("%-32s %5d numbers: %.3f %% equal, %d off at worst\n", what, n, equal, t->worst);
    assert_true(t->worst <= 1);
    assert_true(equal >= 99.5);
}

/* Blocks of rows that are tried: some NUMBERS, and many rows, as numbers of a row that are alike are off
 * alike. */
static int blocks_of(int32_t n)
{
    return 15 + NUMBERS / (ROWS * n);
}

/* ---- softmax */

typedef struct softmax_case {
    const char *name;
    float y_scale;
    int32_t zero, low, high;
    bool masked;
} softmax_case;

/* Row r of scores as it should be. */
static void exact_softmax(const softmax_case *c, int r, float x_scale, int32_t n)
{
    double max = -(double)INFINITY;
    double sum = 0.0;
    for (int32_t i = 0; i < n; i++) {
        real[0][i] = mask[i] == 0 ? (double)x[r][i] * (double)x_scale : -(double)INFINITY;
        max = fmax(max, real[0][i]);
    }
    for (int32_t i = 0; i < n; i++) {
        sum += real[0][i] = exp(real[0][i] - max);
    }
    for (int32_t i = 0; i < n; i++) {
        expected[i] = clamp(rint(real[0][i] / sum / (double)c->y_scale) + c->zero, c->low, c->high);
    }
}

static void try_softmax(const softmax_case *c, int32_t n, tally *t)
{
    make_rows(n);
    for (int r = 0; r < ROWS; r++) {
        const float x_scale = (float)exp(uniform(log(0.002), log(0.4)));
        const vtac_softmax_want want = {n, x_scale, c->y_scale, c->zero, c->low, c->high, false, 0};
        vtac_softmax p;
        assert_true(vtac_softmax_of(&want, &p));
        for (int32_t i = 0; i < n; i++) {
            mask[i] = c->masked && i > 0 && rng_percent(&source, 40) ? VTAC_ROW_MASKED : 0;
        }
        exact_softmax(c, r, x_scale, n);
        vtac_row_softmax(&p, x[r], c->masked ? mask : NULL, y);
        compare(t, n);
    }
}

static void check_softmax(const softmax_case *c, int32_t n)
{
    tally t = {0};
    for (int b = 0; b < blocks_of(n); b++) {
        try_softmax(c, n, &t);
    }
    assert_close(&t, c->name, n);
}

static void test_softmax(void **state)
{
    (void)state;
    const softmax_case cases[] = {
        {"softmax, 1/256", 1.0F / 256, -128, -128, 127, false},
        {"softmax, 1/256, masked", 1.0F / 256, -128, -128, 127, true},
        {"softmax, uint8 of 1/255", 1.0F / 255, 0, 0, 255, false},
        {"softmax, 1/90, masked", 1.0F / 90, -100, -128, 127, true},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int i = 0; i < LENGTHS; i++) {
            check_softmax(&cases[c], lengths[i]);
        }
    }
}

/* A mask takes part in neither the maximum nor the sum; a row that is masked as a whole is as without it. */
static void test_masks(void **state)
{
    (void)state;
    const vtac_softmax_want want = {4, 0.1F, 1.0F / 256, -128, -128, 127, false, 0};
    vtac_softmax p;
    assert_true(vtac_softmax_of(&want, &p));
    const int32_t scores[] = {127, -128, -127, 100};
    const int32_t some[] = {VTAC_ROW_MASKED, 0, 0, VTAC_ROW_MASKED};
    const int32_t all[] = {VTAC_ROW_MASKED, VTAC_ROW_MASKED, VTAC_ROW_MASKED, VTAC_ROW_MASKED};
    int32_t plain[4];
    vtac_row_softmax(&p, scores, some, y);
    assert_int_equal(y[0], -128);
    assert_int_equal(y[1], (int32_t)rint(256.0 / (1.0 + exp(0.1))) - 128);
    assert_int_equal(y[2], (int32_t)rint(256.0 / (1.0 + exp(-0.1))) - 128);
    assert_int_equal(y[3], -128);
    vtac_row_softmax(&p, scores, NULL, plain);
    vtac_row_softmax(&p, scores, all, y);
    assert_memory_equal(plain, y, sizeof plain);
}

static void test_softmax_limits(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        float x_scale, y_scale;
        bool fits;
    } cases[] = {
        {16, 0.1F, 0.01F, true},   {LONGEST, 0.1F, 0.01F, true}, {LONGEST + 1, 0.1F, 0.01F, false},
        {0, 0.1F, 0.01F, false},   {16, 0.0F, 0.01F, false},     {16, INFINITY, 0.01F, false},
        {16, 0.1F, NAN, false},    {16, 0.1F, 1e-20F, false},    {16, 0.1F, 1e20F, false},
        {16, 1e-7F, 0.01F, false}, /* a mask would not hide */
    };
    vtac_softmax p;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const vtac_softmax_want want = {cases[i].n, cases[i].x_scale, cases[i].y_scale, 0, -128, 127, false,
                                        0};
        assert_int_equal(vtac_softmax_of(&want, &p), cases[i].fits);
    }
}

/* The largest sum, and a sum of many that are nothing by themselves. */
static void test_softmax_sums(void **state)
{
    (void)state;
    const vtac_softmax_want want = {LONGEST, 0.1F, 1.0F / LONGEST / 100, 0, -128, 127, false, 0};
    const vtac_softmax_want lonely = {LONGEST, 0.05F, 1.0F / 256, 0, 0, 255, false, 0};
    vtac_softmax p;
    assert_true(vtac_softmax_of(&want, &p));
    for (int32_t i = 0; i < LONGEST; i++) {
        x[0][i] = 127;
    }
    vtac_row_softmax(&p, x[0], NULL, y);
    assert_int_equal(y[LONGEST - 1], 100);
    for (int32_t i = 1; i < LONGEST; i++) {
        x[0][i] = -128;
    }
    assert_true(vtac_softmax_of(&lonely, &p));
    vtac_row_softmax(&p, x[0], NULL, y);
    assert_int_equal(y[0], (int32_t)rint(256.0 / (1.0 + (LONGEST - 1) * exp(-255 * 0.05))));
    assert_int_equal(y[1], 0);
}

/* ---- rows that are divided by the sum of their sizes */

static void try_shares(const softmax_case *c, int32_t n, tally *t)
{
    make_rows(n);
    for (int r = 0; r < ROWS; r++) {
        const int32_t x_zero = r % 2 == 0 ? INT8_MIN : (int32_t)rng_between(&source, -60, 60);
        const vtac_softmax_want want = {.n = n,
                                        .x_scale = (float)exp(uniform(log(0.002), log(0.4))),
                                        .y_scale = c->y_scale,
                                        .y_zero = c->zero,
                                        .y_low = c->low,
                                        .y_high = c->high,
                                        .linear = true,
                                        .x_zero = x_zero};
        vtac_softmax p;
        double sum = 0.0;
        assert_true(vtac_softmax_of(&want, &p));
        for (int32_t i = 0; i < n; i++) {
            sum += fabs((double)(x[r][i] - x_zero));
        }
        for (int32_t i = 0; i < n; i++) {
            const double share = sum > 0.0 ? (x[r][i] - x_zero) / sum : 0.0;
            expected[i] = clamp(rint(share / (double)c->y_scale) + c->zero, c->low, c->high);
        }
        vtac_row_softmax(&p, x[r], NULL, y);
        compare(t, n);
    }
}

static void test_shares(void **state)
{
    (void)state;
    const softmax_case cases[] = {
        {"shares, 1/256", 1.0F / 256, -128, -128, 127, false},
        {"shares, 1/128 of both signs", 1.0F / 128, 0, -128, 127, false},
        {"shares, uint8 of 1/255", 1.0F / 255, 0, 0, 255, false},
        {"shares, 1/3000", 1.0F / 3000, -100, -128, 127, false},
        {"shares, 2^-14", 1.0F / 16384, -128, -128, 127, false},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int i = 0; i < LENGTHS; i++) {
            tally t = {0};
            for (int b = 0; b < blocks_of(lengths[i]); b++) {
                try_shares(&cases[c], lengths[i], &t);
            }
            assert_close(&t, cases[c].name, lengths[i]);
        }
    }
}

/* A row of zeros, one that has a single number, and the largest sum; scales that fit and those that do not.
 */
static void test_share_limits(void **state)
{
    (void)state;
    vtac_softmax_want want = {LONGEST, 0.1F, 1.0F / LONGEST / 100, 0, -128, 127, true, -128};
    vtac_softmax p;
    assert_true(vtac_softmax_of(&want, &p));
    for (int32_t i = 0; i < LONGEST; i++) {
        x[0][i] = 127;
        x[1][i] = x[2][i] = -128;
    }
    x[2][5] = -127;
    vtac_row_softmax(&p, x[0], NULL, y);
    assert_int_equal(y[LONGEST - 1], 100);
    vtac_row_softmax(&p, x[1], NULL, y);
    assert_int_equal(y[LONGEST - 1], 0);
    want.y_scale = 1.0F / 64;
    assert_true(vtac_softmax_of(&want, &p));
    vtac_row_softmax(&p, x[2], NULL, y);
    assert_int_equal(y[5], 64);
    assert_int_equal(y[6], 0);
    static const struct {
        int64_t n;
        float y_scale;
        bool fits;
    } cases[] = {{1, 1.0F / 256, true}, {0, 0.1F, false},    {LONGEST + 1, 0.1F, false},
                 {16, 1e-8F, true},     {16, 1e-12F, false}, {16, 1e20F, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        want.n = cases[i].n;
        want.y_scale = cases[i].y_scale;
        assert_int_equal(vtac_softmax_of(&want, &p), cases[i].fits);
    }
}

/* ---- normalizations */

static void make_columns(int32_t n, bool trained)
{
    for (int32_t i = 0; i < n; i++) {
        gain[i] = trained ? (float)(uniform(0.2, 1.6) * (rng_percent(&source, 30) ? -1.0 : 1.0)) : 1.0F;
        bias[i] = trained ? (float)(0.3 * normal()) : 0.0F;
        gain[i] = trained && rng_percent(&source, 2) ? 0.0F : gain[i];
    }
}

/* The normalized rows, as reals; returns the largest. */
static double exact_norm(const vtac_norm_want *w)
{
    double max = 0.0;
    for (int r = 0; r < ROWS; r++) {
        double mean = 0.0;
        double squares = 0.0;
        for (int32_t i = 0; i < w->n; i++) {
            real[r][i] = (x[r][i] - w->x_zero) * (double)w->x_scale;
            mean += w->centered ? real[r][i] / w->n : 0.0;
        }
        for (int32_t i = 0; i < w->n; i++) {
            real[r][i] -= mean;
            squares += real[r][i] * real[r][i] / w->n;
        }
        for (int32_t i = 0; i < w->n; i++) {
            real[r][i] = real[r][i] / sqrt(squares + w->epsilon) * (double)gain[i] + (double)bias[i];
            max = fmax(max, fabs(real[r][i]));
        }
    }
    return max;
}

static void try_rows_of(const vtac_norm_want *w, tally *t)
{
    vtac_norm p;
    assert_true(vtac_norm_of(w, columns, &p));
    for (int r = 0; r < ROWS; r++) {
        for (int32_t i = 0; i < w->n; i++) {
            const double v = rint(real[r][i] / (double)w->y_scale) + w->y_zero;
            expected[i] = clamp(v, w->y_low, w->y_high);
        }
        vtac_row_norm(&p, x[r], y);
        compare(t, w->n);
    }
}

/* `clamped`: as many units as y has, three times. */
static void try_norm(int32_t n, bool centered, bool trained, bool clamped, tally *t)
{
    vtac_norm_want w = {.n = n,
                        .centered = centered,
                        .epsilon = 1e-5,
                        .gain = gain,
                        .bias = trained ? bias : NULL,
                        .x_scale = (float)exp(uniform(log(0.005), log(0.2))),
                        .x_zero = (int32_t)rng_between(&source, -40, 40),
                        .y_zero = (int32_t)rng_between(&source, -10, 10),
                        .y_low = -128,
                        .y_high = 127};
    make_rows(n);
    make_columns(n, trained);
    w.y_scale = (float)(exact_norm(&w) / (clamped ? 360.0 : 120.0));
    try_rows_of(&w, t);
}

static void check_norm(int32_t n, bool centered, bool trained, bool clamped)
{
    char name[64];
    tally t = {0};
    (void)snprintf(name, sizeof name, "%s%s%s", centered ? "layer" : "RMS", trained ? ", gains" : "",
                   clamped ? ", clamped" : "");
    for (int b = 0; b < blocks_of(n); b++) {
        try_norm(n, centered, trained, clamped, &t);
    }
    assert_close(&t, name, n);
}

static void test_norms(void **state)
{
    (void)state;
    for (int i = 0; i < LENGTHS; i++) {
        for (int kind = 0; kind < 8; kind++) {
            check_norm(lengths[i], kind < 4, kind % 4 >= 2, kind % 2 != 0);
        }
    }
}

/* Rows of one number, and of the two that are farthest from each other. */
static void try_even_rows(vtac_norm_want *w, tally *t)
{
    make_columns(w->n, true);
    for (int32_t c = 0; c < ROWS * w->n; c++) {
        const int r = c / w->n;
        x[r][c % w->n] = r % 3 == 0 ? 127 : r % 3 == 1 ? -128 : c % 2 == 0 ? 127 : -128;
    }
    (void)exact_norm(w);
    for (int32_t c = 0; w->centered && c < ROWS * w->n; c++) { /* 0 / 0 */
        real[c / w->n][c % w->n] = c / w->n % 3 != 2 ? (double)bias[c % w->n] : real[c / w->n][c % w->n];
    }
    try_rows_of(w, t);
}

/* Without an epsilon, where the variance is 0; and where the sums are as large as they can be. */
static void test_even_rows(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * LENGTHS; i++) {
        tally t = {0};
        vtac_norm_want w = {.n = lengths[i / 2],
                            .centered = i % 2 == 0,
                            .epsilon = i % 2 == 0 ? 0.0 : 1e-6,
                            .gain = gain,
                            .bias = bias,
                            .x_scale = 0.05F,
                            .x_zero = i % 2 == 0 ? 5 : -128,
                            .y_scale = 0.03F,
                            .y_low = -128,
                            .y_high = 127};
        for (int b = 0; b < blocks_of(w.n); b++) {
            try_even_rows(&w, &t);
        }
        assert_close(&t, w.centered ? "layer, even rows" : "RMS, even rows", w.n);
    }
}

static void test_norm_limits(void **state)
{
    (void)state;
    vtac_norm p;
    vtac_norm_want w = {
        .n = 16, .epsilon = 1e-5, .x_scale = 0.1F, .y_scale = 0.1F, .y_low = -128, .y_high = 127};
    assert_true(vtac_norm_of(&w, columns, &p));
    w.n = LONGEST + 1;
    assert_false(vtac_norm_of(&w, columns, &p));
    w.n = 16;
    w.x_scale = 1e-12F;
    assert_false(vtac_norm_of(&w, columns, &p));
    w.x_scale = 0.1F;
    w.epsilon = -1.0;
    assert_false(vtac_norm_of(&w, columns, &p));
    w.epsilon = 0.0;
    for (int32_t i = 0; i < w.n; i++) {
        gain[i] = i == 3 ? NAN : 1.0F;
    }
    w.gain = gain;
    assert_false(vtac_norm_of(&w, columns, &p));
}

int main(void)
{
    const char *given = getenv("VTAC_SEED");
    const uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : 1;
    printf("seed %llu\n", (unsigned long long)seed);
    source = rng_split(seed, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax),        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_softmax_limits), cmocka_unit_test(test_softmax_sums),
        cmocka_unit_test(test_shares),         cmocka_unit_test(test_share_limits),
        cmocka_unit_test(test_norms),          cmocka_unit_test(test_even_rows),
        cmocka_unit_test(test_norm_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
