/* SPDX-License-Identifier: Apache-2.0
 *
 * PlaneNorm, compiled, against the function of vtac/quant.h that defines it: every integer is equal, for
 * images, lines and volumes, groups of one channel and of several, int8 and uint8, fast code and plain.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rng.h"
#include "run_graph.h"
#include "vtac/rows.h"

enum { IMAGES = 2, LARGEST = 200000 };

static uint64_t seed;

static const struct {
    int channels, groups;
    const char *plane;
    int pixels;
} cases[] = {{3, 3, "7,9", 63},   {8, 2, "5,5", 25},     {12, 1, "33", 33},        {6, 6, "1,1", 1},
             {4, 2, "3,4,5", 60}, {16, 4, "20,19", 380}, {1, 1, "300,301", 90300}, {5, 5, "8", 8}};

static double between(rng *r, double low, double high)
{
    return low + (high - low) * (double)(rng_next(r) >> 11) * 0x1p-53;
}

static void check_image(const vtac_graph *graph, vta_model *model, int image, size_t each, bool is_signed)
{
    static int32_t x[LARGEST];
    vta_arena arena = {0};
    vtac_planes p;
    const vtac_node *node = &graph->nodes[graph->order[graph->order_count - 1]];
    const uint8_t *data = (uint8_t *)vta_model_input_data(model, 0) + (size_t)image * each;
    assert_true(vtac_planes_of_node(graph, node, &arena, &p));
    for (size_t i = 0; i < each; i++) {
        x[i] = is_signed ? (int8_t)data[i] : data[i] + INT8_MIN;
    }
    vtac_planes_norm(&p, x, x);
    for (size_t i = 0; i < each; i++) {
        const double is = graph_output(model, 0, (size_t)image * each + i);
        if (is != (double)x[i]) {
            fail_msg("image %d, number %zu: %g, not %d", image, i, is, x[i]);
        }
    }
    vta_arena_free(&arena);
}

static void check_graph(const char *text, size_t each, bool is_signed)
{
    for (int level = 0; level <= 3; level += 3) {
        vtac_graph *graph = graph_parse(text, seed);
        vta_model *model = graph_load(graph, level);
        graph_fill(model, seed + each, 0.0, 0.0);
        graph_run(model);
        for (int i = 0; i < IMAGES; i++) {
            check_image(graph, model, i, each, is_signed);
        }
        vta_model_destroy(model);
        vtac_graph_destroy(graph);
    }
}

static void test_planes(void **state)
{
    (void)state;
    rng r = rng_split(seed, 1);
    for (size_t k = 0; k < 2 * sizeof cases / sizeof cases[0]; k++) {
        const char *dtype = k % 2 == 0 ? "i8" : "u8", *plane = cases[k / 2].plane;
        const int c = cases[k / 2].channels, base = k % 2 == 0 ? 0 : 128;
        vta_str text = {0};
        vta_str_printf(&text, "graph \"g\"\ninput %%x: %s[%d,%d,%s]\n", dtype, IMAGES, c, plane);
        vta_str_printf(&text, "const %%sx: f32[] = [%.9g]\nconst %%zx: %s[] = [%d]\n",
                       (double)(float)between(&r, 0.004, 0.2), dtype, base + (int)rng_between(&r, -30, 30));
        vta_str_printf(&text, "const %%sy: f32[] = [%.9g]\nconst %%zy: %s[] = [%d]\n",
                       (double)(float)between(&r, 0.01, 0.05), dtype, base + (int)rng_between(&r, -20, 20));
        vta_str_printf(&text, "random %%g: f32[%d] -150 150\nrandom %%b: f32[%d] -80 80\n", c, c);
        vta_str_printf(&text, "%%y: %s[%d,%d,%s] = vtac.PlaneNorm(%%x, %%sx, %%zx, %%sy, %%zy, %%g, %%b) ",
                       dtype, IMAGES, c, plane);
        vta_str_printf(&text, "{groups=%d, epsilon=1e-05f}\noutput %%y\n", cases[k / 2].groups);
        check_graph(text.text, (size_t)(c * cases[k / 2].pixels), dtype[0] == 'i');
        vta_str_free(&text);
    }
}

int main(void)
{
    seed = test_seed("codegen_integer_planes");
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_planes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
