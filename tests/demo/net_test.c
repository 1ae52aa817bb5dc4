/* SPDX-License-Identifier: Apache-2.0
 *
 * The trainer: products against plain loops, slopes against differences of the loss in doubles, and pictures
 * learnt by heart.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "double_net.h"
#include "draw.h"
#include "gemm.h"
#include "net.h"
#include "seed.h"

static float number(rng *r)
{
    return (float)rng_between(r, -100, 100) / 64.0F;
}

/* ---- products */

enum { MAX = 40 };

static void fill(rng *r, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = number(r);
    }
}

static void check_product(rng *r)
{
    float a[MAX * MAX];
    float b[MAX * MAX];
    float c[MAX * MAX];
    float before[MAX * MAX];
    const uint32_t m = (uint32_t)rng_between(r, 1, MAX);
    const uint32_t n = (uint32_t)rng_between(r, 1, MAX);
    const uint32_t k = (uint32_t)rng_between(r, 1, MAX);
    const int add = rng_percent(r, 50);
    fill(r, a, MAX * MAX);
    fill(r, b, MAX * MAX);
    fill(r, c, MAX * MAX);
    memcpy(before, c, sizeof c);
    demo_gemm(m, n, k, (matrix){a, MAX}, (matrix){b, MAX}, (matrix){c, MAX}, add);
    for (uint32_t i = 0; i < MAX; i++) {
        for (uint32_t j = 0; j < MAX; j++) {
            const bool inside = i < m && j < n;
            double sum = !inside || add ? (double)before[i * MAX + j] : 0.0;
            for (uint32_t at = 0; inside && at < k; at++) {
                sum += (double)a[i * MAX + at] * (double)b[at * MAX + j];
            }
            assert_true(fabs(sum - (double)c[i * MAX + j]) < 1e-3);
        }
    }
    demo_transpose(m, n, (matrix){before, MAX}, (matrix){c, MAX});
    for (uint32_t i = 0; i < m; i++) {
        for (uint32_t j = 0; j < n; j++) {
            assert_true(c[j * MAX + i] == before[i * MAX + j]);
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
        demo_draw_picture(seed, b, &p);
        demo_picture_floats(&p, floats);
        classes[b] = p.which;
        for (uint32_t c = 0; c < PICTURE_CHANNELS; c++) {
            memcpy(demo_net_input(n) + (size_t)(c * n->batch + b) * PICTURE_PIXELS,
                   floats + c * PICTURE_PIXELS, PICTURE_PIXELS * sizeof *floats);
        }
    }
}

/* Of the differences between the losses on both sides: the step squared times a third derivative, and what
 * doubles leave of a loss over a step, are below 1e-8 both. */
static const double step = 1e-5;
static const double of_differences = 1e-8;

/* Of the network: its longest sums have a term for each place of the batch, and float32 rounds each of them;
 * of the vector's length. */
static double of_float32(const net *n)
{
    return (double)n->batch * PICTURE_PIXELS * (double)(FLT_EPSILON / 2.0F);
}

static double slope_seen(double_net *d, size_t place, uint32_t layer, const uint32_t *classes)
{
    const double kept = d->parameters[place];
    d->parameters[place] = kept + step;
    const double above = double_net_loss(d, layer, classes);
    d->parameters[place] = kept - step;
    const double below = double_net_loss(d, layer, classes);
    d->parameters[place] = kept;
    return (above - below) / (2.0 * step);
}

/* Squares of the slopes of a layer's parameters, and of how far the net is off. */
typedef struct slope_sums {
    double error, size;
} slope_sums;

/* Adds some elements of a parameter: their slopes by differences of the loss, against those of the net. */
static void add_parameter(double_net *d, rng *r, const float *parameter, size_t count, uint32_t layer,
                          const uint32_t *classes, slope_sums *sums)
{
    enum { TRIES = 6 };
    for (int i = 0; i < TRIES; i++) {
        const float *at = parameter + rng_below(r, (uint32_t)count);
        const double said = (double)*demo_net_slope(d->n, at);
        const double seen = slope_seen(d, (size_t)(at - d->n->parameters), layer, classes);
        sums->error += (seen - said) * (seen - said);
        sums->size += seen * seen;
    }
    (void)double_net_loss(d, layer, classes); /* the values are those of the parameters again */
}

/* Compares a layer's slopes as one vector: the difference is as small beside them as the arithmetic allows.
 * The bias alone may say little, as a normalization further down takes most of it away. Returns the ratio. */
static double check_layer(double_net *d, rng *r, const net_layer *l, uint32_t layer, const uint32_t *classes)
{
    slope_sums sums = {0};
    add_parameter(d, r, l->weight, (size_t)(l->bias - l->weight), layer, classes, &sums);
    add_parameter(d, r, l->bias, l->channels, layer, classes, &sums);
    if (l->gain != NULL) {
        add_parameter(d, r, l->gain, l->channels, layer, classes, &sums);
    }
    if (sqrt(sums.error) > of_float32(d->n) * sqrt(sums.size) + of_differences) {
        fail_msg("layer %u: slopes are off by %g of %g", layer, sqrt(sums.error), sqrt(sums.size));
    }
    return sqrt(sums.error / sums.size);
}

static void check_slopes(net_form form)
{
    enum { BATCH = 4 };
    const uint64_t seed = test_seed("demo_slopes");
    rng r = rng_split(seed, 0);
    uint32_t classes[BATCH];
    uint32_t right = 0;
    double worst = 0.0;
    vta_diag diag = {0};
    net n;
    double_net d;
    assert_int_equal(demo_net_create(form, BATCH, seed, &n, &diag), VTA_OK);
    show(&n, seed, classes);
    (void)demo_net_learn(&n, classes, 0.0F, &right);
    double_net_start(&n, &d);
    (void)double_net_loss(&d, 1, classes);
    for (uint32_t i = 1; i < n.count; i++) {
        const net_layer *l = &n.layers[i];
        if (l->weight != NULL) {
            worst = fmax(worst, check_layer(&d, &r, l, i, classes));
        }
    }
    (void)printf("slopes: off by %.2g of their length at most, %.2g allowed\n", worst, of_float32(&n));
    double_net_free(&d);
    demo_net_free(&n);
}

static void slopes_are_those_of_the_loss(void **state)
{
    (void)state;
    check_slopes(NET_CONVOLUTIONS);
}

static void slopes_of_attention_are_those_of_the_loss(void **state)
{
    (void)state;
    check_slopes(NET_VISION);
}

/* ---- learning */

static void learn_by_heart(net_form form)
{
    enum { BATCH = 20, STEPS = 60 };
    const uint64_t seed = test_seed("demo_heart");
    for (uint64_t round = 0; round < 2; round++) { /* again, with other pictures and weights */
        uint32_t classes[BATCH];
        uint32_t right = 0;
        vta_diag diag = {0};
        net n;
        assert_int_equal(demo_net_create(form, BATCH, seed + round, &n, &diag), VTA_OK);
        show(&n, seed + round, classes);
        const float first = demo_net_learn(&n, classes, 0.01F, &right);
        float last = first;
        for (int i = 0; i < STEPS; i++) {
            right = 0;
            last = demo_net_learn(&n, classes, 0.01F, &right);
        }
        (void)printf("loss %.3f, then %.3f with %u of %d right\n", (double)first, (double)last, right, BATCH);
        assert_true(first > 1.5F);
        assert_true(last < 0.2F * first);
        assert_true(right >= BATCH * 9 / 10);
        demo_net_free(&n);
    }
}

static void a_few_pictures_are_learnt_by_heart(void **state)
{
    (void)state;
    learn_by_heart(NET_CONVOLUTIONS);
}

static void the_transformer_learns_them_too(void **state)
{
    (void)state;
    learn_by_heart(NET_VISION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_those_of_plain_loops),
                                       cmocka_unit_test(slopes_are_those_of_the_loss),
                                       cmocka_unit_test(slopes_of_attention_are_those_of_the_loss),
                                       cmocka_unit_test(the_transformer_learns_them_too),
                                       cmocka_unit_test(a_few_pictures_are_learnt_by_heart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
