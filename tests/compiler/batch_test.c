/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a batch that go their own way, and rows that meet: each operator with a rule, and its neighbour
 * that mixes rows. In a graph's text `$` is the size of the batch, and `@` three times as much.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "vta/str.h"
#include "vtac/flow.h"

typedef struct batch_case {
    const char *name;
    bool apart;
    const char *text; /* inputs, constants and nodes; y is the output */
} batch_case;

static const batch_case cases[] = {
    {"elements", true, "input %x: f32[$,8]\n%y: f32[$,8] = Relu(%x)\n"},
    {"a constant of channels", true,
     "input %x: f32[$,8]\nconst %c: f32[2,8] = [1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8]\n"
     "const %t: i64[3] = [$,1,8]\n%z: f32[$,1,8] = Reshape(%x, %t)\n"
     "%y: f32[$,2,8] = Add(%z, %c)\n"},
    {"two inputs", true, "input %x: f32[$,8]\ninput %z: f32[$,1]\n%y: f32[$,8] = Mul(%x, %z)\n"},
    {"an input without a batch", true,
     "input %x: f32[$,8]\ninput %z: f32[1,8]\n%y: f32[$,8] = Mul(%x, %z)\n"},
    {"the batch in two places", false,
     "input %x: f32[$,8]\nconst %t: i64[3] = [$,1,8]\n%z: f32[$,1,8] = Reshape(%x, %t)\n"
     "%y: f32[$,$,8] = Mul(%z, %x)\n"},
    {"the number of rows as data", false,
     "input %x: f32[$,8]\nconst %n: f32[] = [$]\n%y: f32[$,8] = Mul(%x, %n)\n"},
    {"the same for each row", true,
     "input %x: f32[$,2]\nconst %c: f32[1,2] = [3,4]\nconst %s: i64[2] = [$,2]\n"
     "%z: f32[$,2] = Expand(%c, %s)\n%y: f32[$,4] = Concat(%z, %x) {axis=1}\n"},
    {"rows side by side", false, "input %x: f32[$,8]\n%y: f32[@,8] = Concat(%x, %x, %x) {axis=0}\n"},
    {"a convolution", true,
     "input %x: f32[$,1,4,4]\nconst %w: f32[1,1,1,1] = [2]\n%y: f32[$,1,4,4] = Conv(%x, %w)\n"},
    {"rows as channels", false,
     "input %x: f32[1,$,4,4]\n%y: f32[1,$,2,2] = MaxPool(%x) {kernel_shape=[2,2], strides=[2,2]}\n"},
    {"a pool with places", false,
     "input %x: f32[$,1,4,4]\n%y: f32[$,1,2,2], %z: i64[$,1,2,2] = MaxPool(%x) {kernel_shape=[2,2], "
     "strides=[2,2]}\n"},
    {"softmax of a row", true, "input %x: f32[$,8]\n%y: f32[$,8] = Softmax(%x) {axis=-1}\n"},
    {"softmax of rows", false, "input %x: f32[$,8]\n%y: f32[$,8] = Softmax(%x) {axis=0}\n"},
    {"a sum of a row", true,
     "input %x: f32[3,$,8]\nconst %a: i64[1] = [0]\n%y: f32[$,8] = ReduceSum(%x, %a) {keepdims=0}\n"},
    {"a sum of rows", false,
     "input %x: f32[$,8]\nconst %a: i64[1] = [0]\n%z: f32[1,8] = ReduceMean(%x, %a)\n%y: f32[$,8] = Sub(%x, "
     "%z)\n"},
    {"a sum of all", false,
     "input %x: f32[$,8]\n%z: f32[] = ReduceMean(%x) {keepdims=0}\n%y: f32[$,8] = Sub(%x, %z)\n"},
    {"the largest of a row", true, "input %x: f32[$,8]\n%y: i64[$] = ArgMax(%x) {axis=1, keepdims=0}\n"},
    {"the largest of rows", false,
     "input %x: f32[$,8]\n%z: i64[1,8] = ArgMax(%x) {axis=0}\nconst %s: i64[2] = [$,8]\n%y: i64[$,8] = "
     "Expand(%z, %s)\n"},
    {"running sums of a row", true,
     "input %x: f32[$,8]\nconst %a: i64[] = [1]\n%y: f32[$,8] = CumSum(%x, %a)\n"},
    {"running sums of rows", false,
     "input %x: f32[$,8]\nconst %a: i64[] = [0]\n%y: f32[$,8] = CumSum(%x, %a)\n"},
    {"a slice of a row", true,
     "input %x: f32[$,8]\nconst %s: i64[1] = [2]\nconst %e: i64[1] = [5]\nconst %a: i64[1] = [1]\n"
     "%y: f32[$,3] = Slice(%x, %s, %e, %a)\n"},
    {"a slice of all rows", true,
     "input %x: f32[$,8]\nconst %s: i64[2] = [0,2]\nconst %e: i64[2] = [$,5]\nconst %a: i64[2] = [0,1]\n"
     "%y: f32[$,3] = Slice(%x, %s, %e, %a)\n"},
    {"rows backwards", false,
     "input %x: f32[$,8]\nconst %s: i64[1] = [-1]\nconst %e: i64[1] = [-1000]\nconst %a: i64[1] = [0]\n"
     "const %p: i64[1] = [-1]\n%y: f32[$,8] = Slice(%x, %s, %e, %a, %p)\n"},
    {"a row among zeros", true,
     "input %x: f32[$,2]\nconst %p: i64[4] = [0,1,0,1]\n%y: f32[$,4] = Pad(%x, %p)\n"},
    {"rows that move on by one", false,
     "input %x: f32[$,2]\nconst %p: i64[4] = [1,0,-1,0]\n%y: f32[$,2] = Pad(%x, %p)\n"},
    {"a table", true,
     "input %x: i64[$,2]\nconst %t: f32[3,2] = [1,2,3,4,5,6]\n%y: f32[$,2,2] = Gather(%t, %x)\n"},
    {"channels in another order", true,
     "input %x: f32[$,3]\nconst %i: i64[3] = [2,0,1]\n%y: f32[$,3] = Gather(%x, %i) {axis=1}\n"},
    {"the first row", false,
     "input %x: f32[$,3]\nconst %i: i64[1] = [0]\n%z: f32[1,3] = Gather(%x, %i)\n%y: f32[$,3] = Sub(%x, "
     "%z)\n"},
    {"rows that choose rows", false,
     "input %x: f32[$,3]\ninput %i: i64[$,3]\n%y: f32[$,3] = GatherElements(%x, %i) {axis=0}\n"},
    {"columns that a row chooses", true,
     "input %x: f32[$,3]\ninput %i: i64[$,2]\n%y: f32[$,2] = GatherElements(%x, %i) {axis=1}\n"},
    {"matrices of rows", true,
     "input %x: f32[$,2,3]\ninput %z: f32[$,3,2]\n%y: f32[$,2,2] = MatMul(%x, %z)\n"},
    {"rows of a matrix", true,
     "input %x: f32[$,3]\nconst %w: f32[3,1] = [1,2,3]\n%y: f32[$,1] = MatMul(%x, %w)\n"},
    {"each row by each", false,
     "input %x: f32[$,3]\n%t: f32[3,$] = Transpose(%x) {perm=[1,0]}\n%z: f32[$,$] = MatMul(%x, %t)\n"
     "%y: f32[$,3] = MatMul(%z, %x)\n"},
    {"sums over rows", false,
     "input %x: f32[$,3]\n%t: f32[3,$] = Transpose(%x) {perm=[1,0]}\n%z: f32[3,3] = MatMul(%t, %x)\n"
     "%y: f32[$,3] = MatMul(%x, %z)\n"},
    {"a dense layer", true,
     "input %x: f32[$,3]\nconst %w: f32[1,3] = [1,2,3]\nconst %b: f32[1] = [1]\n%y: f32[$,1] = Gemm(%x, %w, "
     "%b) {transB=1}\n"},
    {"heads beside the batch", true,
     "input %x: f32[$,6]\nconst %s: i64[2] = [@,2]\n%z: f32[@,2] = Reshape(%x, %s)\n%r: f32[@,2] = Relu(%z)\n"
     "const %t: i64[2] = [$,6]\n%y: f32[$,6] = Reshape(%r, %t)\n"},
    {"steps in front of the batch", true,
     "input %x: f32[3,$,2]\nconst %s: i64[2] = [@,2]\n%z: f32[@,2] = Reshape(%x, %s)\nconst %w: f32[2,2] = "
     "[1,2,3,4]\n"
     "%m: f32[@,2] = MatMul(%z, %w)\nconst %t: i64[3] = [3,$,2]\n%y: f32[3,$,2] = Reshape(%m, %t)\n"},
    {"steps that become rows", false,
     "input %x: f32[3,$,2]\nconst %s: i64[3] = [$,3,2]\n%y: f32[$,3,2] = Reshape(%x, %s)\n"},
    {"steps in front, heads behind", false,
     "input %x: f32[3,$,2]\ninput %h: f32[$,6]\nconst %s: i64[2] = [@,2]\n%z: f32[@,2] = Reshape(%x, %s)\n"
     "%g: f32[@,2] = Reshape(%h, %s)\n%m: f32[@,2] = Add(%z, %g)\nconst %t: i64[3] = [3,$,2]\n%y: f32[3,$,2] "
     "= Reshape(%m, %t)\n"},
    {"another axis in front", true, "input %x: f32[$,3]\n%y: f32[3,$] = Transpose(%x) {perm=[1,0]}\n"},
    {"a row twice", true, "input %x: f32[$,3]\nconst %r: i64[2] = [1,2]\n%y: f32[$,6] = Tile(%x, %r)\n"},
    {"the batch three times", false,
     "input %x: f32[$,3]\nconst %r: i64[2] = [3,1]\n%y: f32[@,3] = Tile(%x, %r)\n"},
    {"a normal row", true,
     "input %x: f32[$,2]\nconst %s: f32[2] = [1,2]\n%y: f32[$,2] = LayerNormalization(%x, %s) {axis=1}\n"},
    {"normal rows", false,
     "input %x: f32[$,2]\nconst %s: f32[1] = [1]\n%y: f32[$,2] = LayerNormalization(%x, %s) {axis=0}\n"},
    {"a scale of all rows", false,
     "input %x: f32[$,2]\n%q: u8[$,2], %s: f32[], %z: u8[] = DynamicQuantizeLinear(%x)\n"
     "%y: f32[$,2] = DequantizeLinear(%q, %s, %z)\n"},
    {"an output without rows", false, "input %x: f32[$,2]\ninput %z: f32[2]\n%y: f32[2] = Relu(%z)\n"},
    {"an input as output", false, "input %x: f32[$,2]\n%y: f32[$,2] = Abs(%x)\noutput %x\n"},
};

static vtac_graph *parse_at(const char *text, int rows)
{
    vta_str whole = {0};
    vta_diag diag = {0};
    vtac_graph *graph = NULL;
    vta_str_put(&whole, "graph \"g\"\n");
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '$' || *p == '@') {
            vta_str_printf(&whole, "%d", *p == '@' ? 3 * rows : rows);
        } else {
            vta_str_append(&whole, p, 1);
        }
    }
    vta_str_put(&whole, "output %y\n");
    assert_false(whole.failed);
    const vta_status status = vtac_graph_parse(whole.text, whole.size, "case", &graph, &diag);
    if (status != VTA_OK) {
        fail_msg("%s\n%s", diag.text, whole.text);
    }
    vta_str_free(&whole);
    return graph;
}

static void rows_meet_or_do_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vtac_graph *one = parse_at(cases[i].text, 1), *many = parse_at(cases[i].text, VTAC_MANY_ROWS);
        vta_diag diag = {0};
        int *axis = NULL;
        bool apart = false;
        assert_int_equal(vtac_rows_apart(one, many, &axis, &apart, &diag), VTA_OK);
        if (apart != cases[i].apart) {
            fail_msg("%s: rows are taken to %s", cases[i].name, apart ? "be apart" : "meet");
        }
        free(axis);
        vtac_graph_destroy(one);
        vtac_graph_destroy(many);
    }
}

/* Two sizes of a batch of which one has another network are no proof. */
static void other_networks_prove_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "input %x: f32[$,8]\n%y: f32[$,8] = Relu(%x)\n",
        "input %x: f32[$,8]\n%y: f32[$,8] = Abs(%x)\n",
        "input %x: f32[$,8]\n%z: f32[$,8] = Relu(%x)\n%y: f32[$,8] = Abs(%z)\n",
        "input %x: f32[$,8]\n%y: f32[$,8] = LeakyRelu(%x) {alpha=0.5f}\n",
        "input %x: f32[$,8]\n%y: f32[$,8] = LeakyRelu(%x) {alpha=0.25f}\n",
    };
    enum { COUNT = sizeof texts / sizeof texts[0] };
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < COUNT; k++) {
            vtac_graph *one = parse_at(texts[i], 1), *many = parse_at(texts[k], VTAC_MANY_ROWS);
            int *axis = NULL;
            bool apart = false;
            assert_int_equal(vtac_rows_apart(one, many, &axis, &apart, NULL), VTA_OK);
            assert_int_equal(apart, i == k);
            free(axis);
            vtac_graph_destroy(one);
            vtac_graph_destroy(many);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_meet_or_do_not),
        cmocka_unit_test(other_networks_prove_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
