/* SPDX-License-Identifier: Apache-2.0
 *
 * RowSoftmax and RowNorm, compiled, against the functions of vtac/quant.h that define them: every integer is
 * equal, for rows that fill vectors and rows that do not, with and without the tail of a long row, int8 and
 * uint8, with masks that broadcast, fast code and plain.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rng.h"
#include "run_graph.h"
#include "vtac/rows.h"

enum { ROWS = 6, LONGEST = 1200 };

static uint64_t seed;
static const int extents[] = {1, 3, 8, 16, 50, 197, 256, 257, 768, 1200};

/* The numbers of a row of 8 bits, as int8 has them. */
static void read_row(vta_model *model, int row, int extent, bool is_signed, int32_t *x)
{
    const uint8_t *data = (uint8_t *)vta_model_input_data(model, 0) + (size_t)row * (size_t)extent;
    for (int i = 0; i < extent; i++) {
        x[i] = is_signed ? (int8_t)data[i] : data[i] + INT8_MIN;
    }
}

/* `fn` makes y of row r from x. */
typedef void expect_fn(const vtac_graph *graph, const vtac_node *node, int r, const int32_t *x, int32_t *y);

static void check_graph(const char *text, int extent, bool is_signed, expect_fn *fn)
{
    static int32_t x[LONGEST], y[LONGEST];
    for (int level = 0; level <= 3; level += 3) {
        vtac_graph *graph = graph_parse(text, seed);
        vta_model *model = graph_load(graph, level);
        const vtac_node *node = &graph->nodes[graph->order[graph->order_count - 1]];
        graph_fill(model, seed + (uint64_t)extent, 0.0, 0.0);
        for (int r = 0; r < ROWS / 2; r++) { /* rows of few numbers */
            uint8_t *data = (uint8_t *)vta_model_input_data(model, 0) + (size_t)r * (size_t)extent;
            for (int i = 0; i < extent; i++) {
                data[i] = (uint8_t)(r == 0 ? 100 + (i == 1) : data[i] % (2 + 5 * (unsigned)r) + 100);
            }
        }
        graph_run(model);
        for (int r = 0; r < ROWS; r++) {
            read_row(model, r, extent, is_signed, x);
            fn(graph, node, r, x, y);
            for (int i = 0; i < extent; i++) {
                const double is = graph_output(model, 0, (size_t)(r * extent + i));
                if (is != (double)y[i]) {
                    fail_msg("row %d of %d numbers, number %d: %g, not %d\n%.200s", r, extent, i, is, y[i],
                             text);
                }
            }
        }
        vta_model_destroy(model);
        vtac_graph_destroy(graph);
    }
}

static double between(rng *r, double low, double high)
{
    return low + (high - low) * (double)(rng_next(r) >> 11) * 0x1p-53;
}

/* Scales and zero points. */
static void put_params(vta_str *out, rng *r, const char *dtype, double y_scale)
{
    const long base = dtype[0] == 'i' ? 0 : 128;
    vta_str_printf(out, "const %%sx: f32[] = [%.9g]\nconst %%zx: %s[] = [%ld]\n",
                   (double)(float)between(r, 0.004, 0.2), dtype, base + (long)rng_between(r, -30, 30));
    vta_str_printf(out, "const %%sy: f32[] = [%.9g]\nconst %%zy: %s[] = [%ld]\n", (double)(float)y_scale,
                   dtype, base + (long)rng_between(r, -20, 20));
}

static void expect_softmax(const vtac_graph *graph, const vtac_node *node, int r, const int32_t *x,
                           int32_t *y)
{
    static int32_t mask[LONGEST];
    vtac_softmax p;
    assert_true(vtac_softmax_of_node(graph, node, &p));
    const vtac_tensor *masks = vtac_in_constant(graph, node, 5);
    const int64_t count = masks == NULL ? 0 : vtac_type_elements(&masks->type);
    for (int32_t i = 0; masks != NULL && i < p.n; i++) {
        const int64_t at = count == 1 ? 0 : count == p.n ? i : (int64_t)r * p.n + i;
        mask[i] = vtac_tensor_int(masks, at) != 0 ? VTAC_ROW_MASKED : 0;
    }
    vtac_row_softmax(&p, x, masks == NULL ? NULL : mask, y);
}

static void test_softmax(void **state)
{
    (void)state;
    rng r = rng_split(seed, 1);
    for (size_t e = 0; e < sizeof extents / sizeof extents[0]; e++) {
        for (int kind = 0; kind < 6; kind++) { /* the last two: shares of sums */
            const char *dtype = e % 2 == 0 ? "i8" : "u8", *how = kind >= 4 ? " {linear=1}" : "";
            const int n = extents[e];
            vta_str text = {0};
            vta_str_printf(&text, "graph \"g\"\ninput %%x: %s[2,3,%d]\n", dtype, n);
            put_params(&text, &r, dtype, kind % 2 == 0 ? 1.0 / 256 : between(&r, 0.001, 0.02));
            if (kind == 2) {
                vta_str_printf(&text, "random %%m: bool[%d] 0 1\n", n);
            } else if (kind == 3) {
                vta_str_printf(&text, "random %%m: bool[2,3,%d] 0 1\n", n);
            }
            vta_str_printf(&text,
                           "%%y: %s[2,3,%d] = vtac.RowSoftmax(%%x, %%sx, %%zx, %%sy, %%zy%s)%s\noutput %%y\n",
                           dtype, n, kind == 2 || kind == 3 ? ", %m" : "", how);
            check_graph(text.text, n, dtype[0] == 'i', expect_softmax);
            vta_str_free(&text);
        }
    }
}

static void expect_norm(const vtac_graph *graph, const vtac_node *node, int r, const int32_t *x, int32_t *y)
{
    vta_arena arena = {0};
    vtac_norm p;
    (void)r;
    assert_true(vtac_norm_of_node(graph, node, &arena, &p));
    vtac_row_norm(&p, x, y);
    vta_arena_free(&arena);
}

static void test_norm(void **state)
{
    (void)state;
    rng r = rng_split(seed, 2);
    for (size_t e = 0; e < sizeof extents / sizeof extents[0]; e++) {
        for (int kind = 0; kind < 4; kind++) {
            const char *dtype = e % 2 == 0 ? "i8" : "u8";
            const int n = extents[e];
            vta_str text = {0};
            vta_str_printf(&text, "graph \"g\"\ninput %%x: %s[6,%d]\n", dtype, n);
            put_params(&text, &r, dtype, between(&r, 0.01, 0.05));
            vta_str_printf(&text, "random %%g: f32[%d] %d 150\nrandom %%b: f32[%d] -80 80\n", n,
                           kind % 2 == 0 ? 20 : -150, n);
            vta_str_printf(&text, "%%y: %s[6,%d] = vtac.RowNorm(%%x, %%sx, %%zx, %%sy, %%zy, %%g%s) ", dtype,
                           n, kind == 1 || kind == 2 ? ", %b" : "");
            vta_str_printf(&text, "{centered=%d, epsilon=1e-05f}\noutput %%y\n", kind < 2);
            check_graph(text.text, n, dtype[0] == 'i', expect_norm);
            vta_str_free(&text);
        }
    }
}

int main(void)
{
    seed = test_seed("codegen_integer_rows");
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_softmax), cmocka_unit_test(test_norm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
