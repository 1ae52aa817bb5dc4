/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that round alike everywhere: against those of the C library in long double, at random places
 * and at the ends of their ranges, and against the bits that another machine made.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "seed.h"
#include "vta/hash.h"
#include "vtac/exact.h"

typedef struct function {
    const char *name;
    double (*ours)(double x);
    long double (*exact)(long double x);
    double low, high;
    double floor; /* errors below it do not count */
} function;

static const function functions[] = {
    {"exp", vtac_exp, expl, -744.0, 709.7, 0x1p-1074},
    {"exp", vtac_exp, expl, -2.0, 2.0, 0.0},
    {"log", vtac_log, logl, 0.0, 4.0, 0.0},
    {"log", vtac_log, logl, 0.0, 1e300, 0.0},
    {"sin", vtac_sin, sinl, -10.0, 10.0, 1e-18},
    {"sin", vtac_sin, sinl, -1e6, 1e6, 1e-18},
    {"cos", vtac_cos, cosl, -10.0, 10.0, 1e-18},
    {"cos", vtac_cos, cosl, -1e6, 1e6, 1e-18},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* The distance of `is` from `should`, in units of the last place. */
static double units_off(double is, long double should, double floor)
{
    const double near = fabs((double)should);
    const double unit = fmax(nextafter(near, HUGE_VAL) - near, 0x1p-1074);
    const double off = (double)fabsl((long double)is - should);
    return off <= floor ? 0.0 : off / unit;
}

static double any(rng *r, double low, double high)
{
    return low + (high - low) * ((double)(rng_next(r) >> 11) * 0x1p-53);
}

static void near_those_of_long_doubles(void **state)
{
    (void)state;
    rng r = rng_split(test_seed("exact"), 0);
    for (size_t i = 0; i < FUNCTIONS; i++) {
        const function *f = &functions[i];
        double worst = 0.0;
        for (int k = 0; k < 100000; k++) {
            const double x = any(&r, f->low, f->high);
            const double off = units_off(f->ours(x), f->exact((long double)x), f->floor);
            worst = fmax(worst, off);
            if (!(off <= 2.0)) {
                fail_msg("%s(%a) is off by %g units", f->name, x, off);
            }
        }
        (void)printf("%s on %g to %g: off by %.3f units at most, 2 allowed\n", f->name, f->low, f->high,
                     worst);
    }
}

static void the_ends_are_right(void **state)
{
    (void)state;
    assert_true(vtac_exp(0.0) == 1.0);
    assert_true(vtac_exp(-1000.0) == 0.0 && vtac_exp(-HUGE_VAL) == 0.0);
    assert_true(vtac_exp(710.5) == HUGE_VAL && vtac_exp(HUGE_VAL) == HUGE_VAL);
    assert_true(vtac_exp(-745.0) == 0x1p-1074);
    assert_true(isnan(vtac_exp((double)NAN)));
    assert_true(vtac_log(1.0) == 0.0);
    assert_true(vtac_log(0.0) == -HUGE_VAL && vtac_log(HUGE_VAL) == HUGE_VAL);
    assert_true(isnan(vtac_log(-1.0)) && isnan(vtac_log((double)NAN)));
    assert_true(units_off(vtac_log(0x1p-1074), logl(0x1p-1074L), 0.0) <= 2.0);
    assert_true(vtac_sin(0.0) == 0.0 && vtac_cos(0.0) == 1.0 && signbit(vtac_sin(-0.0)));
    assert_true(isnan(vtac_sin(1e7)) && isnan(vtac_cos(HUGE_VAL)) && isnan(vtac_sin((double)NAN)));
    for (int i = 1; i < 1000; i++) { /* multiples of a quarter turn */
        const double x = i * 1.5707963267948966;
        assert_true(units_off(vtac_sin(x), sinl((long double)x), 1e-18) <= 2.0);
        assert_true(units_off(vtac_cos(x), cosl((long double)x), 1e-18) <= 2.0);
    }
}

/* One number over the bits of many results. */
static uint64_t bits_of_all(void)
{
    uint64_t hash = VTA_HASH_START;
    rng r = rng_split(1, 0);
    for (size_t i = 0; i < FUNCTIONS; i++) {
        for (int k = 0; k < 20000; k++) {
            const double y = functions[i].ours(any(&r, functions[i].low, functions[i].high));
            uint64_t bits;
            memcpy(&bits, &y, sizeof bits);
            hash = vta_hash_word(hash, bits);
        }
    }
    return hash;
}

static void the_bits_are_those_of_any_machine(void **state)
{
    (void)state;
    const uint64_t bits = bits_of_all();
    (void)printf("the bits of %d results: %016" PRIx64 "\n", FUNCTIONS * 20000, bits);
    assert_true(bits == UINT64_C(0x9f6813a6b2154bc9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(near_those_of_long_doubles),
                                       cmocka_unit_test(the_ends_are_right),
                                       cmocka_unit_test(the_bits_are_those_of_any_machine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
