/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalizations of planes in integers against their definition in double precision: no number is further off
 * than one unit, and 99.5 % of them are equal. Groups of one channel and of several, small and too large for
 * sums of 32 bits, with gains of either sign or 0 and biases far outside.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rng.h"
#include "seed.h"
#include "vtac/quant.h"

enum { LARGEST = 1 << 20, CHANNELS = 96, NUMBERS = 400000 };

static rng source;
static int32_t x[LARGEST], y[LARGEST];
static double real[LARGEST];
static float gain[CHANNELS], bias[CHANNELS];
static vtac_planes_channel channel[CHANNELS];

/* Channels, groups and pixels of an image. */
typedef struct shape {
    int32_t channels, groups;
    int64_t pixels;
} shape;

static const shape shapes[] = {{1, 1, 20},    {16, 16, 49},  {24, 6, 100},   {96, 1, 64},   {40, 2, 33},
                               {8, 8, 50176}, {6, 2, 20000}, {3, 3, 147456}, {2, 1, 400000}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

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

/* Planes of every kind: wide, narrow, off the middle, of two values, with one number far from the others. */
static void make_planes(const shape *s)
{
    for (int32_t c = 0; c < s->channels; c++) {
        const double middle = uniform(-60.0, 60.0);
        const double spread = c % 4 == 1 ? uniform(0.4, 3.0) : uniform(5.0, 60.0);
        const int64_t lonely = (int64_t)rng_below(&source, (uint32_t)s->pixels);
        for (int64_t i = 0; i < s->pixels; i++) {
            const double v = c % 4 == 3 && i == lonely ? 127.0 : middle + spread * normal();
            x[c * s->pixels + i] = c % 7 == 6 ? (v > middle ? 127 : -128) : clamp(rint(v), -128, 127);
        }
    }
}

static void make_channels(const shape *s, bool trained)
{
    for (int32_t c = 0; c < s->channels; c++) {
        const double sign = rng_percent(&source, 30) ? -1.0 : 1.0;
        gain[c] = trained ? (float)(uniform(0.2, 1.6) * sign) : 1.0F;
        bias[c] = trained ? (float)(0.3 * normal()) : 0.0F;
        gain[c] = trained && rng_percent(&source, 4) ? 0.0F : gain[c];
        gain[c] = trained && rng_percent(&source, 4) ? 1e-5F : gain[c];
    }
}

/* The normalized image, as reals; returns the largest. */
static double exact_norm(const vtac_planes_want *w)
{
    const int64_t each = w->channels / w->groups, n = each * w->pixels;
    double max = 0.0;
    for (int64_t g = 0; g < w->groups; g++) {
        double mean = 0.0;
        double squares = 0.0;
        for (int64_t i = g * n; i < (g + 1) * n; i++) {
            mean += x[i] * (double)w->x_scale / (double)n;
        }
        for (int64_t i = g * n; i < (g + 1) * n; i++) {
            real[i] = x[i] * (double)w->x_scale - mean;
            squares += real[i] * real[i] / (double)n;
        }
        for (int64_t i = g * n; i < (g + 1) * n; i++) {
            const int64_t c = i / w->pixels;
            real[i] = real[i] / sqrt(squares + w->epsilon) * (double)gain[c] + (double)bias[c];
            max = fmax(max, fabs(real[i]));
        }
    }
    return max;
}

typedef struct tally {
    int64_t count, off;
    int32_t worst;
} tally;

static void try_image(const shape *s, bool trained, bool clamped, tally *t)
{
    vtac_planes p;
    vtac_planes_want w = {.pixels = s->pixels,
                          .channels = s->channels,
                          .groups = s->groups,
                          .epsilon = 1e-5,
                          .gain = gain,
                          .bias = bias,
                          .x_scale = (float)exp(uniform(log(0.005), log(0.2))),
                          .y_zero = (int32_t)rng_between(&source, -10, 10),
                          .y_low = -128,
                          .y_high = 127};
    make_planes(s);
    make_channels(s, trained);
    w.y_scale = (float)(fmax(exact_norm(&w), 1e-3) / (clamped ? 360.0 : 120.0));
    assert_true(vtac_planes_of(&w, channel, &p));
    vtac_planes_norm(&p, x, y);
    for (int64_t i = 0; i < s->channels * s->pixels; i++) {
        const int32_t expected = clamp(rint(real[i] / (double)w.y_scale) + w.y_zero, -128, 127);
        const int32_t distance = abs(y[i] - expected);
        t->count++;
        t->off += distance != 0;
        t->worst = distance > t->worst ? distance : t->worst;
    }
}

static void check_shape(const shape *s, bool trained, bool clamped)
{
    tally t = {0};
    while (t.count < NUMBERS) {
        try_image(s, trained, clamped, &t);
    }
    const double equal = 100.0 * (double)(t.count - t.off) / (double)t.count;
    print_message("%d channels in %d groups, %lld pixels%s%s: %.3f %% equal, %d off at worst\n", s->channels,
                  s->groups, (long long)s->pixels, trained ? ", gains" : "", clamped ? ", clamped" : "",
                  equal, t.worst);
    assert_true(t.worst <= 1);
    assert_true(equal >= 99.5);
}

static void test_planes(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        for (int kind = 0; kind < 4; kind++) {
            check_shape(&shapes[i], kind >= 2, kind % 2 != 0);
        }
    }
}

/* Planes of one number: the bias is left, with an epsilon and without, whatever the gain. */
static void test_even_planes(void **state)
{
    (void)state;
    static const float gains[] = {1.0F, -3.0F, 0.0F, 1e-6F};
    const shape s = {4, 4, 1000};
    for (int round = 0; round < 8; round++) {
        vtac_planes p;
        vtac_planes_want w = {.pixels = s.pixels,
                              .channels = s.channels,
                              .groups = s.groups,
                              .epsilon = round % 2 == 0 ? 0.0 : 1e-5,
                              .gain = gain,
                              .bias = bias,
                              .x_scale = 0.05F,
                              .y_scale = 0.03F,
                              .y_low = -128,
                              .y_high = 127};
        for (int32_t c = 0; c < s.channels; c++) {
            gain[c] = gains[c];
            bias[c] = (float)uniform(-3.0, 3.0);
        }
        for (int64_t i = 0; i < s.channels * s.pixels; i++) {
            x[i] = round < 4 ? 127 - 36 * round : -128;
        }
        assert_true(vtac_planes_of(&w, channel, &p));
        vtac_planes_norm(&p, x, y);
        for (int64_t i = 0; i < s.channels * s.pixels; i++) {
            const double expected = rint((double)(bias[i / s.pixels] / w.y_scale));
            assert_true(fabs((double)y[i] - expected) <= 1.0);
        }
    }
}

static void test_limits(void **state)
{
    (void)state;
    static const struct {
        int64_t pixels;
        int32_t groups;
        float x_scale, y_scale;
        double epsilon;
        bool fits;
    } cases[] = {
        {16, 4, 0.1F, 0.1F, 1e-5, true},
        {VTAC_PLANES_LARGEST, 4, 0.1F, 0.1F, 1e-5, true},
        {VTAC_PLANES_LARGEST + 1, 4, 0.1F, 0.1F, 1e-5, false},
        {VTAC_PLANES_LARGEST / 2 + 1, 2, 0.1F, 0.1F, 1e-5, false},
        {16, 3, 0.1F, 0.1F, 1e-5, false},
        {0, 4, 0.1F, 0.1F, 1e-5, false},
        {16, 4, 0.0F, 0.1F, 1e-5, false},
        {16, 4, 0.1F, INFINITY, 1e-5, false},
        {16, 4, 1e-12F, 0.1F, 1e-5, false},
        {16, 4, 0.1F, 0.1F, -1.0, false},
    };
    for (int32_t c = 0; c < 4; c++) {
        gain[c] = 1.0F;
        bias[c] = 0.0F;
    }
    vtac_planes p;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const vtac_planes_want w = {.pixels = cases[i].pixels,
                                    .channels = 4,
                                    .groups = cases[i].groups,
                                    .epsilon = cases[i].epsilon,
                                    .gain = gain,
                                    .bias = bias,
                                    .x_scale = cases[i].x_scale,
                                    .y_scale = cases[i].y_scale,
                                    .y_low = -128,
                                    .y_high = 127};
        assert_int_equal(vtac_planes_of(&w, channel, &p), cases[i].fits);
        gain[3] = i % 2 == 0 ? 1.0F : -1.0F;
    }
    gain[2] = NAN;
    const vtac_planes_want bad = {.pixels = 16,
                                  .channels = 4,
                                  .groups = 4,
                                  .gain = gain,
                                  .bias = bias,
                                  .x_scale = 0.1F,
                                  .y_scale = 0.1F,
                                  .y_low = -128,
                                  .y_high = 127};
    assert_false(vtac_planes_of(&bad, channel, &p));
}

int main(void)
{
    source = rng_split(test_seed("quant_planes"), 0);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_planes), cmocka_unit_test(test_even_planes),
                                       cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
