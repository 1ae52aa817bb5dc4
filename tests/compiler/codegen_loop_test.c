/* SPDX-License-Identifier: Apache-2.0
 *
 * Loop nests: what the builder makes, what schedules change and refuse, and what the verifier
 * catches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vtac/loop.h"

typedef struct lab {
    vta_arena arena;
    vtac_kernel k;
    vtac_buffer *x, *y;
} lab;

static void lab_start(lab *t)
{
    *t = (lab){0};
    vtac_kernel_init(&t->k, &t->arena, "t");
    t->x = vtac_kernel_buffer(&t->k, "x", VTAC_F32, 60, VTAC_BUFFER_ARGUMENT);
    t->y = vtac_kernel_buffer(&t->k, "y", VTAC_F32, 60, VTAC_BUFFER_ARGUMENT);
}

static void lab_end(lab *t)
{
    vtac_kernel_free(&t->k);
    vta_arena_free(&t->arena);
}

/* y[i * 6 + j] = x[i * 6 + j] + 1, as variables 1 and 2 */
static void add_one(lab *t)
{
    vtac_kernel *k = &t->k;
    const vtac_expr *i = vtac_for(k, VTAC_LOOP_SERIAL, 10, "i");
    const vtac_expr *j = vtac_for(k, VTAC_LOOP_SERIAL, 6, "j");
    const vtac_expr *at = vtac_i_add(k, vtac_i_mulc(k, i, 6), j);
    vtac_store(k, t->y, at, vtac_e2(k, VTAC_E_ADD, vtac_e_load(k, t->x, at), vtac_e_float(k, VTAC_F32, 1.0)));
    vtac_end(k);
    vtac_end(k);
}

/* y[0] = y[0] + x[i] */
static void sum_up(lab *t)
{
    vtac_kernel *k = &t->k;
    const vtac_expr *zero = vtac_e_index(k, 0);
    const vtac_expr *i = vtac_for(k, VTAC_LOOP_SERIAL, 32, "i");
    vtac_store(k, t->y, zero, vtac_e2(k, VTAC_E_ADD, vtac_e_load(k, t->y, zero), vtac_e_load(k, t->x, i)));
    vtac_end(k);
}

static void expect_text(const lab *t, const char *body)
{
    vta_str text = {0};
    assert_int_equal(vtac_kernel_verify(&t->k, NULL), VTA_OK);
    vtac_kernel_print(&t->k, &text);
    const char *start = strstr(text.text, "y: f32[60]\n");
    assert_non_null(start);
    assert_string_equal(start + strlen("y: f32[60]\n"), body);
    vta_str_free(&text);
}

static void splits_evenly_and_with_a_guard(void **state)
{
    (void)state;
    lab t;
    uint32_t inner;
    lab_start(&t);
    add_one(&t);
    assert_int_equal(vtac_loop_split(&t.k, 2, 3, &inner, NULL), VTA_OK);
    assert_int_equal(vtac_loop_split(&t.k, 1, 4, &inner, NULL), VTA_OK);
    expect_text(&t, "  for v1 < 3 { # i\n"
                    "    for v4 < 4 { # i\n"
                    "      if (((v1 * 4) + v4) < 10) {\n"
                    "        for v2 < 2 { # j\n"
                    "          for v3 < 3 { # j\n"
                    "            y[((((v1 * 4) + v4) * 6) + ((v2 * 3) + v3))] = "
                    "(x[((((v1 * 4) + v4) * 6) + ((v2 * 3) + v3))] + 1)\n"
                    "          }\n        }\n      }\n    }\n  }\n}\n");
    lab_end(&t);
}

static void makes_vectors(void **state)
{
    (void)state;
    lab t;
    uint32_t inner;
    lab_start(&t);
    add_one(&t);
    assert_int_equal(vtac_loop_split(&t.k, 2, 2, &inner, NULL), VTA_OK);
    assert_int_equal(vtac_loop_vectorize(&t.k, inner, NULL), VTA_OK);
    expect_text(&t, "  for v1 < 10 { # i\n"
                    "    for v2 < 3 { # j\n"
                    "      vector for v3 < 2 { # j\n"
                    "        y[((v1 * 6) + ((v2 * 2) + v3))] = (x[((v1 * 6) + ((v2 * 2) + v3))] + 1)\n"
                    "      }\n    }\n  }\n}\n");
    lab_end(&t);
}

/* The last vector has what is left. */
static void makes_a_shorter_last_vector(void **state)
{
    (void)state;
    lab t;
    lab_start(&t);
    add_one(&t);
    vtac_kernel_vectorize(&t.k, 4);
    expect_text(&t, "  for v1 < 10 { # i\n"
                    "    for v2 < 2 { # j\n"
                    "      if (v2 < 1) {\n"
                    "        vector for v3 < 4 { # lane\n"
                    "          y[((v1 * 6) + ((v2 * 4) + v3))] = (x[((v1 * 6) + ((v2 * 4) + v3))] + 1)\n"
                    "        }\n      }\n"
                    "      if (v2 == 1) {\n"
                    "        vector for v4 < 2 { # lane\n"
                    "          y[((v1 * 6) + ((v2 * 4) + v4))] = (x[((v1 * 6) + ((v2 * 4) + v4))] + 1)\n"
                    "        }\n      }\n    }\n  }\n}\n");
    lab_end(&t);
}

/* Fails where a value leaves a loop that it depends on, through a name or through memory that the kernel
 * writes, or stays in one that it does not. */
static void hoists_what_stands_still(void **state)
{
    (void)state;
    lab t;
    lab_start(&t);
    vtac_kernel *k = &t.k; /* rows of x in another order, which x itself tells; then what y has */
    const vtac_expr *j = vtac_for(k, VTAC_LOOP_PARALLEL, 6, "j");
    const vtac_expr *g = vtac_for(k, VTAC_LOOP_SERIAL, 2, "g");
    const vtac_expr *i = vtac_for(k, VTAC_LOOP_SERIAL, 5, "i");
    const vtac_expr *row = vtac_let(k, "row", vtac_e_cast(k, VTAC_I64, vtac_e_load(k, t.x, g)));
    const vtac_expr *half = vtac_let(k, "half", vtac_i_mulc(k, vtac_i_addc(k, row, 1), 2));
    const vtac_expr *own = vtac_let(k, "own", vtac_i_add(k, half, i));
    const vtac_expr *first = vtac_let(k, "first", vtac_e_load(k, t.y, g));
    const vtac_expr *place = vtac_let(k, "place", vtac_i_mulc(k, vtac_i_addc(k, j, 1), 3));
    vtac_store(k, t.y, vtac_i_add(k, place, i), vtac_e2(k, VTAC_E_ADD, first, vtac_e_load(k, t.x, own)));
    vtac_end(k);
    vtac_end(k);
    vtac_end(k);
    vtac_kernel_hoist(k);
    vta_str text = {0};
    assert_int_equal(vtac_kernel_verify(k, NULL), VTA_OK);
    vtac_kernel_print(k, &text);
    assert_non_null(strstr(text.text, "  parallel for v1 < 6 { # j\n"
                                      "    v8 = ((v1 + 1) * 3) # place\n"
                                      "    for v2 < 2 { # g\n"
                                      "      v4 = cast.i64(x[v2]) # row\n"
                                      "      v5 = ((v4 + 1) * 2) # half\n"
                                      "      for v3 < 5 { # i\n"
                                      "        v6 = (v5 + v3) # own\n"
                                      "        v7 = y[v2] # first\n"
                                      "        y[(v8 + v3)] = (v7 + x[v6])\n"));
    vta_str_free(&text);
    lab_end(&t);
}

/* A prefetch is no use of the element: it may lie behind the last one. */
static void asks_for_what_comes_soon_and_later(void **state)
{
    (void)state;
    lab t;
    lab_start(&t);
    const vtac_expr *i = vtac_for(&t.k, VTAC_LOOP_SERIAL, 10, "i");
    vtac_ahead(&t.k, t.x, vtac_i_addc(&t.k, i, 16));
    vtac_ahead_later(&t.k, t.x, vtac_i_addc(&t.k, i, 60));
    vtac_store(&t.k, t.y, i, vtac_e_load(&t.k, t.x, i));
    vtac_end(&t.k);
    expect_text(&t, "  for v1 < 10 { # i\n"
                    "    ahead x[(v1 + 16)]\n"
                    "    later x[(v1 + 60)]\n"
                    "    y[v1] = x[v1]\n"
                    "  }\n"
                    "}\n");
    lab_end(&t);
}

static void refuses_what_would_change_the_meaning(void **state)
{
    (void)state;
    lab t;
    vta_diag diag = {0};
    lab_start(&t);
    sum_up(&t);
    assert_int_equal(vtac_loop_vectorize(&t.k, 1, &diag), VTA_INVALID);
    assert_string_equal(diag.text, "the iterations of v1 depend on each other");
    assert_int_equal(vtac_loop_split(&t.k, 9, 2, NULL, NULL), VTA_INVALID);
    lab_end(&t);
    lab_start(&t);
    add_one(&t);
    assert_int_equal(vtac_loop_vectorize(&t.k, 2, NULL), VTA_INVALID); /* 6 lanes */
    assert_int_equal(vtac_loop_vectorize(&t.k, 1, NULL), VTA_INVALID);
    lab_end(&t);
}

static void the_verifier_catches_broken_nests(void **state)
{
    (void)state;
    lab t;
    vta_diag diag = {0};
    lab_start(&t);
    vtac_store(&t.k, t.y, vtac_e_index(&t.k, 60), vtac_e_float(&t.k, VTAC_F32, 0.0));
    assert_int_equal(vtac_kernel_verify(&t.k, &diag), VTA_RANGE);
    assert_string_equal(diag.text, "'y[60]' is outside its 60 elements");
    lab_end(&t);
    lab_start(&t);
    const vtac_expr *i = vtac_for(&t.k, VTAC_LOOP_SERIAL, 4, "i");
    vtac_end(&t.k);
    vtac_store(&t.k, t.y, i, vtac_e_float(&t.k, VTAC_F32, 0.0)); /* i is gone */
    assert_int_equal(vtac_kernel_verify(&t.k, NULL), VTA_INVALID);
    lab_end(&t);
    lab_start(&t);
    vtac_store(&t.k, t.y, vtac_e_index(&t.k, 0), vtac_e_index(&t.k, 0)); /* i64 into f32 */
    assert_int_equal(vtac_kernel_verify(&t.k, NULL), VTA_INVALID);
    lab_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_evenly_and_with_a_guard),
        cmocka_unit_test(makes_vectors),
        cmocka_unit_test(makes_a_shorter_last_vector),
        cmocka_unit_test(hoists_what_stands_still),
        cmocka_unit_test(asks_for_what_comes_soon_and_later),
        cmocka_unit_test(refuses_what_would_change_the_meaning),
        cmocka_unit_test(the_verifier_catches_broken_nests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
