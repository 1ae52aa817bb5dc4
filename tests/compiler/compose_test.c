/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of composed operators: every name in those of the library stands for something, a fault has its
 * place, damaged texts are refused without harm, and sizes come out the same whether they are known or only
 * the run knows them. It fails when an operator of a text is renamed, when lines are counted wrong, or when
 * the arithmetic on open sizes differs from that on numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compose/syntax.h"
#include "seed.h"
#include "vta/str.h"
#include "vtac/onnx.h"

/* ---- the library's texts */

static bool is_known(const char *domain, const char *name)
{
    vtac_composition made;
    bool found = vtac_op_find(domain, name) != VTAC_OP_COUNT;
    for (uint32_t i = 0; !found && vtac_composition_get(i, &made); i++) {
        found = strcmp(made.name, name) == 0 && strcmp(made.domain, domain) == 0;
    }
    return found;
}

static void test_library(void **state)
{
    vta_diag diag = {0};
    (void)state;
    const vta_status status = vtac_template_check(vtac_template_rows, is_known, &diag);
    assert_string_equal(diag.text, "");
    assert_int_equal(status, VTA_OK);
}

/* ---- faults */

static void check_fault(const char *text, const char *fault)
{
    vta_diag diag = {0};
    const vtac_template_row rows[] = {{.domain = "", .name = "T", .file = "t.txt", .line = 10, .text = text},
                                      {.name = NULL}};
    assert_int_equal(vtac_template_check(rows, is_known, &diag), VTA_INVALID);
    assert_string_equal(diag.text, fault);
}

static void test_faults(void **state)
{
    (void)state;
    check_fault("operator T(x) = Relu(x;", "t.txt:10:23: expected ')' before ';'");
    check_fault("operator T(x) -> y {\n    y = x\n}", "t.txt:12:1: expected ';' before '}'");
    check_fault("operator T(x) -> y {\n  y = 1 + ;\n}", "t.txt:11:11: expected a value before ';'");
    check_fault("operator T(x) -> y {\n  # nothing\n  y = Relu(z);\n}",
                "t.txt:12:12: nothing has the name 'z'");
    check_fault("operator T(x) -> y {\n  y = Reluu(x);\n}", "t.txt:11:7: there is no operator 'Reluu'");
    check_fault("operator T(x) -> y {\n  y = relu(x);\n}", "t.txt:11:7: there is no function 'relu'");
    check_fault("operator T(x) -> y, z {\n  y = Relu(x);\n}", "t.txt:10:21: nothing has the name 'z'");
    check_fault("operator T(x; a = \"b) = x;", "t.txt:10:19: the text has no end");
    check_fault("operator T(x) = x; x", "t.txt:10:20: expected the end of 'T' before 'x'");
    check_fault("operator T(x) = 99999999999999999999;",
                "t.txt:10:17: the number 99999999999999999999 is too large");
}

/* Texts of which a few characters are other ones: refused or not, but read to an end. */
static void test_damage(void **state)
{
    rng r = rng_split(test_seed("compose_texts"), 0);
    (void)state;
    for (const vtac_template_row *row = vtac_template_rows; row->name != NULL; row++) {
        char text[4096];
        const size_t size = strlen(row->text);
        for (uint32_t i = 0; i < 20 && size < sizeof text; i++) {
            static const char put[] = "(){}[];,.=?:\"#a0 \n";
            vta_arena arena = {0};
            vta_diag diag = {0};
            const vtac_template *out;
            vtac_template_row damaged = *row;
            memcpy(text, row->text, size + 1);
            for (uint32_t k = 0; k < 1 + i % 3; k++) {
                text[rng_next(&r) % size] = put[rng_next(&r) % (sizeof put - 1)];
            }
            text[i % 4 == 0 ? rng_next(&r) % size : size] = '\0';
            damaged.text = text;
            const vta_status status = vtac_template_parse(&damaged, &arena, &out, &diag);
            assert_true(status == VTA_OK || (status == VTA_INVALID && strncmp(diag.text, row->file, 5) == 0));
            vta_arena_free(&arena);
        }
    }
}

/* ---- sizes: values are lists of integers, and Reshape keeps the shape that it was given */

enum { MAX_VALUES = 256, MAX_PARTS = 8 };

typedef struct list {
    int64_t at[MAX_PARTS];
    uint32_t count;
} list;

typedef struct lab {
    list values[MAX_VALUES]; /* 1 is the input, whose list is its shape */
    uint32_t count;
    bool open;
    list shape;
} lab;

static vta_status lab_attr(void *context, const char *name, vtac_attr *out, bool *found, vta_diag *diag)
{
    (void)context;
    (void)name;
    (void)out;
    (void)diag;
    *found = false;
    return VTA_OK;
}

static vtac_dtype lab_dtype(void *context, vtac_handle value)
{
    (void)context;
    return value == 1 ? VTAC_F32 : VTAC_I64;
}

static int lab_rank(void *context, vtac_handle value)
{
    const lab *l = context;
    return value != 1 ? 1 : l->open ? -1 : (int)l->values[1].count;
}

static int64_t lab_dim(void *context, vtac_handle value, uint32_t axis)
{
    const lab *l = context;
    return l->open || value != 1 ? -1 : l->values[1].at[axis];
}

static bool lab_whole(void *context, vtac_handle value, int64_t *out)
{
    (void)context;
    (void)value;
    (void)out;
    return false;
}

static vta_status lab_ints(void *context, const int64_t *values, uint32_t count, vtac_handle *out)
{
    lab *l = context;
    assert_true(l->count < MAX_VALUES && count <= MAX_PARTS);
    l->values[l->count].count = count;
    memcpy(l->values[l->count].at, values, count * sizeof *values);
    *out = l->count++;
    return VTA_OK;
}

static vta_status lab_number(void *context, vtac_dtype dtype, double value, vtac_handle *out)
{
    const int64_t whole = (int64_t)value;
    (void)dtype;
    return lab_ints(context, &whole, 1, out);
}

static int64_t compute(const char *name, int64_t a, int64_t b)
{
    return strcmp(name, "Add") == 0   ? a + b
           : strcmp(name, "Sub") == 0 ? a - b
           : strcmp(name, "Mul") == 0 ? a * b
           : strcmp(name, "Div") == 0 ? a / b
                                      : a % b;
}

static vta_status lab_node(void *context, const vtac_template_node *node, vtac_handle *out)
{
    lab *l = context;
    const list a = l->values[node->inputs[0]];
    const list b = node->input_count > 1 ? l->values[node->inputs[1]] : a;
    list y = {.count = 1};
    if (strcmp(node->name, "Shape") == 0) {
        y = a;
    } else if (strcmp(node->name, "Reshape") == 0) {
        l->shape = b;
        y = a;
    } else if (strcmp(node->name, "Slice") == 0) {
        y.at[0] = a.at[b.at[0] < 0 ? b.at[0] + (int64_t)a.count : b.at[0]];
    } else if (strcmp(node->name, "Concat") == 0) {
        y.count = 0;
        for (uint32_t i = 0; i < node->input_count; i++) {
            const list *part = &l->values[node->inputs[i]];
            assert_true(y.count + part->count <= MAX_PARTS);
            memcpy(y.at + y.count, part->at, part->count * sizeof y.at[0]);
            y.count += part->count;
        }
    } else {
        assert_true(l->open); /* known sizes are computed */
        y.at[0] = compute(node->name, a.at[0], b.at[0]);
    }
    return lab_ints(context, y.at, y.count, out);
}

static int64_t append_leaf(rng *r, const int64_t *dims, bool literal, vta_str *text)
{
    const uint32_t axis = (uint32_t)(rng_next(r) % 3);
    const int64_t number = 1 + (int64_t)(rng_next(r) % 5);
    const bool from_behind = axis == 2 && rng_next(r) % 2 == 0;
    if (literal || rng_next(r) % 3 == 0) {
        vta_str_printf(text, "%lld", (long long)number);
        return number;
    }
    vta_str_printf(text, "dim(x, %d)", from_behind ? -1 : (int)axis);
    return dims[axis];
}

/* A random expression of sizes, and its number; divisors are literals, dividends not below 0. */
static int64_t append_expression(rng *r, const int64_t *dims, uint32_t depth, vta_str *text)
{
    static const char marks[] = "+-*/%";
    static const char *const names[] = {"Add", "Sub", "Mul", "Div", "Mod"};
    if (depth == 0 || rng_next(r) % 4 == 0) {
        return append_leaf(r, dims, false, text);
    }
    vta_str_printf(text, "(");
    const int64_t a = append_expression(r, dims, depth - 1, text);
    const size_t which = rng_next(r) % (a >= 0 ? 5 : 3);
    vta_str_printf(text, " %c ", marks[which]);
    const int64_t b =
        which < 3 ? append_expression(r, dims, depth - 1, text) : append_leaf(r, dims, true, text);
    vta_str_printf(text, ")");
    return compute(names[which], a, b);
}

static void work_text(const vtac_template_row *row, const list *shape, bool open, list *out)
{
    lab l = {.count = 2, .open = open};
    const vtac_handle input = 1;
    vtac_handle made[1];
    vta_diag diag = {0};
    l.values[1] = *shape;
    const vtac_template_target target = {.context = &l,
                                         .diag = &diag,
                                         .open = open,
                                         .inputs = &input,
                                         .input_count = 1,
                                         .output_count = 1,
                                         .attr = lab_attr,
                                         .dtype = lab_dtype,
                                         .rank = lab_rank,
                                         .dim = lab_dim,
                                         .whole = lab_whole,
                                         .number = lab_number,
                                         .ints = lab_ints,
                                         .node = lab_node};
    assert_int_equal(vtac_template_make(row, &target, made, 1), VTA_OK);
    assert_string_equal(diag.text, "");
    *out = l.shape;
}

static void test_sizes(void **state)
{
    rng r = rng_split(test_seed("compose_texts"), 1);
    (void)state;
    for (uint32_t i = 0; i < 500; i++) {
        vta_str text = {0};
        list expected = {.count = 3};
        list shape = {.count = 3};
        list known;
        list open;
        for (uint32_t k = 0; k < 3; k++) {
            shape.at[k] = 1 + (int64_t)(rng_next(&r) % 9);
        }
        vta_str_printf(&text, "operator T(x) = Reshape(x, [");
        for (uint32_t k = 0; k < 3; k++) {
            expected.at[k] = append_expression(&r, shape.at, 3, &text);
            vta_str_printf(&text, "%s", k < 2 ? ", " : "]);");
        }
        const vtac_template_row row = {
            .domain = "", .name = "T", .file = "t.txt", .line = 1, .text = text.text};
        work_text(&row, &shape, false, &known);
        work_text(&row, &shape, true, &open);
        assert_memory_equal(known.at, expected.at, sizeof expected.at[0] * 3);
        assert_memory_equal(open.at, expected.at, sizeof expected.at[0] * 3);
        vta_str_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_library), cmocka_unit_test(test_faults),
                                       cmocka_unit_test(test_damage), cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
