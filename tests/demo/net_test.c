/* SPDX-License-Identifier: Apache-2.0
 *
 * The trainer: products against plain loops, slopes against differences of the loss, and pictures learnt by
 * heart.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "draw.h"
#include "gemm.h"
#include "net.h"
#include "seed.h"

static float number(rng *r)
{
    return (float)rng_between(r, -100, 100) / 64.0F;
}

/* ---- products */

enum { MOST = 40 };

static void fill(rng *r, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = number(r);
    }
}

static void check_product(rng *r)
{
    float a[MOST * MOST];
    float b[MOST * MOST];
    float c[MOST * MOST];
    float before[MOST * MOST];
    const uint32_t m = (uint32_t)rng_between(r, 1, MOST);
    const uint32_t n = (uint32_t)rng_between(r, 1, MOST);
    const uint32_t k = (uint32_t)rng_between(r, 1, MOST);
    const int add = rng_percent(r, 50);
    fill(r, a, MOST * MOST);
    fill(r, b, MOST * MOST);
    fill(r, c, MOST * MOST);
    memcpy(before, c, sizeof c);
    gemm(m, n, k, (matrix){a, MOST}, (matrix){b, MOST}, (matrix){c, MOST}, add);
    for (uint32_t i = 0; i < MOST; i++) {
        for (uint32_t j = 0; j < MOST; j++) {
            const bool inside = i < m && j < n;
            double sum = !inside || add ? (double)before[i * MOST + j] : 0.0;
            for (uint32_t at = 0; inside && at < k; at++) {
                sum += (double)a[i * MOST + at] * (double)b[at * MOST + j];
            }
            assert_true(fabs(sum - (double)c[i * MOST + j]) < 1e-3);
        }
    }
    transpose(m, n, (matrix){before, MOST}, (matrix){c, MOST});
    for (uint32_t i = 0; i < m; i++) {
        for (uint32_t j = 0; j < n; j++) {
            assert_true(c[j * MOST + i] == before[i * MOST + j]);
        }
    }
}

static void products_are_those_of_plain_loops(void **state)
{
    (void)state;
    rng r = rng_split(test_seed("demo_gemm"), 0);
    for (int i = 0; i < 300; i++) {
        check_product(&r);
    }
}

/* ---- slopes */

static void show(net *n, uint64_t seed, uint32_t *classes)
{
    float floats[PICTURE_CHANNELS * PICTURE_PIXELS];
    picture p;
    for (uint32_t b = 0; b < n->batch; b++) {
        draw_picture(seed, b, &p);
        picture_floats(&p, floats);
        classes[b] = p.which;
        for (uint32_t c = 0; c < PICTURE_CHANNELS; c++) {
            memcpy(net_input(n) + (size_t)(c * n->batch + b) * PICTURE_PIXELS, floats + c * PICTURE_PIXELS,
                   PICTURE_PIXELS * sizeof *floats);
        }
    }
}

/* The loss below, at and above the element's value. */
typedef struct three_losses {
    double below, at, above;
} three_losses;

static const float step = 1e-3F;

static three_losses losses_around(net *n, float *at, const uint32_t *classes)
{
    uint32_t right = 0;
    three_losses l;
    const float kept = *at;
    *at = kept + step;
    l.above = (double)net_learn(n, classes, 0.0F, &right);
    *at = kept - step;
    l.below = (double)net_learn(n, classes, 0.0F, &right);
    *at = kept;
    l.at = (double)net_learn(n, classes, 0.0F, &right);
    return l;
}

/* Whether the loss has no kink of ReLU there that matters: it rises on both sides alike. */
static bool is_smooth(three_losses l)
{
    const double up = (l.above - l.at) / (double)step;
    const double down = (l.at - l.below) / (double)step;
    return fabs(up - down) <= 0.1 * fmax(fabs(up), fabs(down)) + 1e-3;
}

/* What some elements of a parameter do to the loss, measured where it is smooth, against what the net says:
 * the difference of the two, as vectors, is small beside them. */
static void check_parameter(net *n, rng *r, float *parameter, size_t count, const uint32_t *classes)
{
    enum { TRIES = 12, MOST_DRAWS = 200 };
    double error = 0.0;
    double size = 0.0;
    int tries = 0;
    for (int i = 0; i < MOST_DRAWS && tries < TRIES; i++) {
        float *at = parameter + rng_below(r, (uint32_t)count);
        const three_losses l = losses_around(n, at, classes);
        if (!is_smooth(l)) {
            continue;
        }
        const double said = (double)*net_slope(n, at);
        const double seen = (l.above - l.below) / (2.0 * (double)step);
        error += (seen - said) * (seen - said);
        size += said * said;
        tries++;
    }
    assert_int_equal(tries, TRIES);
    if (sqrt(error) > 0.15 * sqrt(size) + 2e-3) {
        fail_msg("slopes are off by %g of %g", sqrt(error), sqrt(size));
    }
}

static void slopes_are_those_of_the_loss(void **state)
{
    (void)state;
    enum { BATCH = 4 };
    const uint64_t seed = test_seed("demo_slopes");
    rng r = rng_split(seed, 0);
    uint32_t classes[BATCH];
    vta_diag diag = {0};
    net n;
    assert_int_equal(net_create(BATCH, seed, &n, &diag), VTA_OK);
    show(&n, seed, classes);
    for (uint32_t i = 1; i < n.count; i++) {
        net_layer *l = &n.layers[i];
        if (l->weight != NULL) {
            check_parameter(&n, &r, l->weight, (size_t)(l->bias - l->weight), classes);
            check_parameter(&n, &r, l->bias, l->channels, classes);
        }
        if (l->gain != NULL) {
            check_parameter(&n, &r, l->gain, l->channels, classes);
        }
    }
    net_free(&n);
}

/* ---- learning */

static void a_few_pictures_are_learnt_by_heart(void **state)
{
    (void)state;
    enum { BATCH = 20, STEPS = 60 };
    const uint64_t seed = test_seed("demo_heart");
    for (uint64_t round = 0; round < 2; round++) { /* again, with other pictures and weights */
        uint32_t classes[BATCH];
        uint32_t right = 0;
        vta_diag diag = {0};
        net n;
        assert_int_equal(net_create(BATCH, seed + round, &n, &diag), VTA_OK);
        show(&n, seed + round, classes);
        const float first = net_learn(&n, classes, 0.01F, &right);
        float last = first;
        for (int i = 0; i < STEPS; i++) {
            right = 0;
            last = net_learn(&n, classes, 0.01F, &right);
        }
        (void)printf("loss %.3f, then %.3f with %u of %d right\n", (double)first, (double)last, right, BATCH);
        assert_true(first > 1.5F);
        assert_true(last < 0.2F * first);
        assert_true(right >= BATCH * 9 / 10);
        net_free(&n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_those_of_plain_loops),
                                       cmocka_unit_test(slopes_are_those_of_the_loss),
                                       cmocka_unit_test(a_few_pictures_are_learnt_by_heart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
