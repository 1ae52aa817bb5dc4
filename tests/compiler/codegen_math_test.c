/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementary functions against the C library's 80-bit ones: the largest error in units in the last place,
 * over random arguments and the edges, is at most the one stated here. One compiled model holds all functions
 * of an element type.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "run_graph.h"

enum { COUNT = 20000, ROUNDS = 10 };

typedef long double reference_fn(long double x);

static long double sigmoid(long double x)
{
    return 1.0L / (1.0L + expl(-x));
}

static long double softplus(long double x)
{
    return fmaxl(x, 0.0L) + log1pl(expl(-fabsl(x)));
}

static long double elu(long double x)
{
    return x < 0.0L ? expm1l(x) : x;
}

static long double gelu(long double x)
{
    return 0.5L * x * erfcl(-x / sqrtl(2.0L));
}

static long double mish(long double x)
{
    return x * tanhl(softplus(x));
}

static long double power(long double x)
{
    return powl(x, 2.75L);
}

/* Arguments between low and high; the most error in units in the last place of a float and of a double.
 * Doubles below `floor` count in units of that: where a function is a difference of larger numbers (Gelu), or
 * its argument is reduced (Sin), a result next to 0 has the error of a larger one. */
static const struct {
    const char *op;
    reference_fn *reference;
    double low, high, f32_ulp, f64_ulp, floor;
} functions[] = {
    {"Exp", expl, -80, 80, 2, 2, 0},          {"Log", logl, 1e-6, 1e6, 1, 2, 0},
    {"Sin", sinl, -1000, 1000, 1, 4, 1e-3},   {"Cos", cosl, -1000, 1000, 1, 4, 1e-3},
    {"Tan", tanl, -1.5, 1.5, 1, 5, 0},        {"Asin", asinl, -1, 1, 1, 6, 0},
    {"Acos", acosl, -1, 1, 1, 6, 0},          {"Atan", atanl, -100, 100, 1, 4, 0},
    {"Sinh", sinhl, -20, 20, 1, 4, 0},        {"Cosh", coshl, -20, 20, 1, 4, 0},
    {"Tanh", tanhl, -10, 10, 4, 5, 0},        {"Asinh", asinhl, -100, 100, 1, 6, 0},
    {"Acosh", acoshl, 1, 100, 1, 6, 0},       {"Atanh", atanhl, -0.999, 0.999, 1, 6, 0},
    {"Erf", erfl, -6, 6, 2.5, 4, 0},          {"Sigmoid", sigmoid, -50, 50, 4, 5, 0},
    {"Softplus", softplus, -50, 50, 1, 6, 0}, {"Elu", elu, -50, 5, 1, 3, 0},
    {"Gelu", gelu, -5, 5, 10, 4, 1},          {"Mish", mish, -20, 20, 1, 10, 0},
    {"Pow", power, 1e-3, 1e3, 1, 40, 0},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* The distance of got from the exact value in units in the last place of a type with so many mantissa bits,
 * at that value. */
static double ulps(double got, long double exact, int bits, double floor)
{
    int exponent = 0;
    (void)frexpl(fmaxl(fabsl(exact), (long double)floor), &exponent);
    const int min = bits == 24 ? -125 : -1021; /* of normal numbers */
    const long double unit = ldexpl(1.0L, (exponent < min ? min : exponent) - bits);
    return (double)(fabsl((long double)got - exact) / unit);
}

static vta_model *compile(const char *type)
{
    vta_str text = {0};
    vta_str_printf(&text, "graph \"math\"\nconst %%e: %s[] = [2.75]\n", type);
    for (int i = 0; i < FUNCTIONS; i++) {
        vta_str_printf(&text, "input %%x%d: %s[%d]\n", i, type, COUNT);
    }
    for (int i = 0; i < FUNCTIONS; i++) {
        vta_str_printf(&text, "%%y%d: %s[%d] = %s(%%x%d%s)\n", i, type, COUNT, functions[i].op, i,
                       functions[i].reference == power ? ", %e" : "");
    }
    for (int i = 0; i < FUNCTIONS; i++) {
        vta_str_printf(&text, "output %%y%d\n", i);
    }
    vtac_graph *graph = graph_parse(text.text, 1);
    vta_model *model = graph_load(graph, 3);
    vtac_graph_destroy(graph);
    vta_str_free(&text);
    return model;
}

static double input_at(vta_model *model, uint32_t which, size_t i, bool wide)
{
    const void *data = vta_model_input_data(model, which);
    return wide ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static void fill(vta_model *model, uint32_t which, rng *r, bool wide)
{
    void *data = vta_model_input_data(model, which);
    const double low = functions[which].low;
    const double high = functions[which].high;
    for (size_t i = 0; i < COUNT; i++) {
        const double place = (double)(rng_next(r) >> 11) * 0x1p-53;
        double x = low + (high - low) * place;
        if (i % 4 == 1 && low <= 0) { /* as often near 0 as far from it */
            x = ldexp(x / (high - low), -(int)(rng_next(r) % 40));
        }
        x = i == 0 ? low : i == 1 ? high : x;
        if (wide) {
            ((double *)data)[i] = x;
        } else {
            ((float *)data)[i] = (float)x;
        }
    }
}

static void check_type(const char *type, bool wide)
{
    const uint64_t seed = test_seed(wide ? "codegen_math_f64" : "codegen_math_f32");
    rng r = {seed};
    vta_model *model = compile(type);
    double worst[FUNCTIONS] = {0};
    double where[FUNCTIONS] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t f = 0; f < FUNCTIONS; f++) {
            fill(model, f, &r, wide);
        }
        graph_run(model);
        for (uint32_t f = 0; f < FUNCTIONS; f++) {
            for (size_t i = 0; i < COUNT; i++) {
                const double x = input_at(model, f, i, wide);
                const void *data = vta_model_output_data(model, f);
                const double y = wide ? ((const double *)data)[i] : (double)((const float *)data)[i];
                const double error = ulps(y, functions[f].reference((long double)x), wide ? 53 : 24,
                                          wide ? functions[f].floor : 0.0);
                if (!(error <= worst[f])) {
                    worst[f] = error;
                    where[f] = x;
                }
            }
        }
    }
    bool good = true;
    for (uint32_t f = 0; f < FUNCTIONS; f++) {
        const double max = wide ? functions[f].f64_ulp : functions[f].f32_ulp;
        print_message("%s %-8s %.2f ulp at %.9g (at most %g)\n", type, functions[f].op, worst[f], where[f],
                      max);
        good = good && worst[f] <= max;
    }
    assert_true(good);
    vta_model_destroy(model);
}

static void floats_are_as_close_as_stated(void **state)
{
    (void)state;
    check_type("f32", false);
}

static void doubles_are_as_close_as_stated(void **state)
{
    (void)state;
    check_type("f64", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_as_close_as_stated),
        cmocka_unit_test(doubles_are_as_close_as_stated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
