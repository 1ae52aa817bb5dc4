/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows as the frameworks lay them: against each framework's own sentence, written down once more in its
 * terms or counted window by window, and against the sizes that the graph infers.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "import/window.h"
#include "seed.h"

typedef struct axis_case {
    int64_t size, kernel, stride, dilation, pad;
} axis_case;

static axis_case draw(rng *r)
{
    axis_case c = {.size = 1 + (int64_t)(rng_next(r) % 20),
                   .kernel = 1 + (int64_t)(rng_next(r) % 6),
                   .stride = 1 + (int64_t)(rng_next(r) % 5),
                   .dilation = 1 + (int64_t)(rng_next(r) % 3)};
    c.pad = (int64_t)(rng_next(r) % (uint64_t)c.kernel);
    return c;
}

/* Caffe's layer: sizes in float, rounded up; the last window must begin in the image or the padding before
 * it. */
static int64_t caffe_count(const axis_case *c)
{
    int64_t count = (int64_t)ceilf((float)(c->size + 2 * c->pad - c->kernel) / (float)c->stride) + 1;
    if ((count - 1) * c->stride >= c->size + c->pad) {
        count--;
    }
    return count;
}

/* Places at which a whole window begins, one by one. */
static int64_t whole_windows(const axis_case *c, int64_t before, int64_t after)
{
    int64_t count = 0;
    for (int64_t at = -before; at + (c->kernel - 1) * c->dilation < c->size + after; at += c->stride) {
        count++;
    }
    return count;
}

static void counts_are_those_of_the_frameworks(void **state)
{
    (void)state;
    rng r = rng_split(test_seed("window"), 0);
    for (int i = 0; i < 20000; i++) {
        axis_case c = draw(&r);
        assert_int_equal(
            vtac_window_count(VTAC_WINDOW_FLOOR, c.size, c.kernel, c.stride, c.dilation, c.pad, c.pad),
            whole_windows(&c, c.pad, c.pad));
        c.dilation = 1;
        const int64_t count =
            vtac_window_count(VTAC_WINDOW_CEIL, c.size, c.kernel, c.stride, 1, c.pad, c.pad);
        const int64_t should = caffe_count(&c);
        assert_int_equal(count < 1 ? 0 : count, should < 1 ? 0 : should);
    }
}

static void same_pads_are_the_fewest(void **state)
{
    (void)state;
    rng r = rng_split(test_seed("window"), 1);
    for (int i = 0; i < 20000; i++) {
        const axis_case c = draw(&r);
        int64_t upper[2];
        int64_t lower[2];
        vtac_pad_same(c.size, c.kernel, c.stride, c.dilation, true, &upper[0], &upper[1]);
        vtac_pad_same(c.size, c.kernel, c.stride, c.dilation, false, &lower[0], &lower[1]);
        const int64_t count = (int64_t)ceil((double)c.size / (double)c.stride);
        const int64_t total = upper[0] + upper[1];
        assert_int_equal(upper[0], lower[1]);
        assert_int_equal(upper[1], lower[0]);
        assert_true(upper[1] - upper[0] == 0 || upper[1] - upper[0] == 1);
        assert_true(whole_windows(&c, 0, total) >= count);
        assert_true(total == 0 || whole_windows(&c, 0, total - 1) == count - 1);
    }
}

/* A pool of the rule over a random input: the graph infers as many windows as the rule counts. */
static void check_pool(rng *r, vtac_window_rule rule)
{
    vta_diag diag = {0};
    vtac_graph *graph = vtac_graph_create("windows");
    vtac_import_builder m = {.graph = graph, .diag = &diag, .name = "pool", .budget = VTAC_BUILDER_NODES};
    const axis_case c[2] = {draw(r), draw(r)};
    vtac_id x = 0;
    assert_int_equal(
        vtac_add_input(graph, "x", &(vtac_type){VTAC_F32, 4, {1, 2, c[0].size, c[1].size}}, &x, &diag),
        VTA_OK);
    vtac_import_window w = {.axes = 2};
    bool fits = true;
    for (uint32_t a = 0; a < 2; a++) {
        w.kernel[a] = c[a].kernel;
        w.stride[a] = c[a].stride;
        w.dilation[a] = 1;
        w.pads[a] = w.pads[a + 2] = c[a].pad;
        const int64_t count =
            vtac_window_count(rule, c[a].size, c[a].kernel, c[a].stride, 1, c[a].pad, c[a].pad);
        const bool outside = count > 1 && (count - 1) * c[a].stride >= c[a].size + c[a].pad;
        fits = fits && count > 0 && !(rule == VTAC_WINDOW_CEIL_ALL && outside);
    }
    assert_int_equal(vtac_lay_window(&m, x, rule, &w), fits);
    if (fits) {
        const vtac_id y = vtac_make_pool(&m, VTAC_OP_AVERAGE_POOL, x, &w, true);
        assert_int_equal(m.status, VTA_OK);
        for (uint32_t a = 0; a < 2; a++) {
            assert_int_equal(
                vtac_made_type(&m, y).dim[a + 2],
                vtac_window_count(rule, c[a].size, c[a].kernel, c[a].stride, 1, c[a].pad, c[a].pad));
        }
    }
    vtac_graph_destroy(graph);
}

static void graphs_have_as_many_windows(void **state)
{
    (void)state;
    rng r = rng_split(test_seed("window"), 2);
    for (int i = 0; i < 3000; i++) {
        check_pool(&r, (vtac_window_rule)(i % (VTAC_WINDOW_SAME_LOWER + 1)));
    }
}

static void bad_windows_are_refused(void **state)
{
    (void)state;
    static const vtac_import_window bad[] = {
        {.axes = 1, .kernel = {0}, .stride = {1}, .dilation = {1}},
        {.axes = 1, .kernel = {1}, .stride = {0}, .dilation = {1}},
        {.axes = 1, .kernel = {1}, .stride = {1}, .dilation = {-1}},
        {.axes = 1, .kernel = {1}, .stride = {1}, .dilation = {1}, .pads = {-1}},
        {.axes = 1, .kernel = {9}, .stride = {1}, .dilation = {1}, .pads = {1, 1}},
        {.axes = 1, .kernel = {INT64_C(1) << 40}, .stride = {1}, .dilation = {1}},
        {.axes = 2, .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        vta_diag diag = {0};
        vtac_graph *graph = vtac_graph_create("windows");
        vtac_import_builder m = {.graph = graph, .diag = &diag, .name = "pool", .budget = 10};
        vtac_import_window w = bad[i];
        vtac_id x = 0;
        assert_int_equal(vtac_add_input(graph, "x", &(vtac_type){VTAC_F32, 3, {1, 2, 4}}, &x, &diag), VTA_OK);
        assert_false(vtac_lay_window(&m, x, VTAC_WINDOW_FLOOR, &w));
        assert_int_equal(m.status, VTA_INVALID);
        vtac_graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_the_frameworks), cmocka_unit_test(same_pads_are_the_fewest),
        cmocka_unit_test(graphs_have_as_many_windows), cmocka_unit_test(bad_windows_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
