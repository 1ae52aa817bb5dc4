/* SPDX-License-Identifier: Apache-2.0
 *
 * States of models (vtac/states.h): an output that is an input of the next run. It fails when a pair is
 * missed, made up, or ordered otherwise than the inputs, when the table in the artifact is not that of the
 * compiler, when a value carried by the table is not the right one, and when a wrong pair of names is taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "run_graph.h"
#include "vtac/load.h"
#include "vtac/states.h"

enum { FORMS = 6, MAX_STATES = 6, ELEMENTS = 5, RUNS = 4 };

static const char *const forms[FORMS][2] = {
    {"past_key_values.%u.key", "present.%u.key"},
    {"past_%u", "present_%u"},
    {"cell%u_in", "cell%u_out"},
    {"gru%u", "new_gru%u"},
    {"lstm%u_0", "lstm%u_n"},
    {"memory%u", "memory%un"},
};

/* A graph with states in a random order of inputs, and in another of outputs. */
typedef struct made_graph {
    vta_str text;
    uint32_t count, data; /* how many states; where the input that is no state stands */
    uint32_t form[MAX_STATES];
    uint32_t output_of[MAX_STATES]; /* of each state in the order of inputs */
    uint32_t number[MAX_STATES];    /* of each state in the order of inputs */
} made_graph;

static void shuffle(uint32_t *items, uint32_t count, rng *r)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t other = (uint32_t)rng_between(r, i, count - 1);
        const uint32_t kept = items[i];
        items[i] = items[other];
        items[other] = kept;
    }
}

static void put_name(vta_str *out, uint32_t form, int end, uint32_t number)
{
    char name[64];
    char *at = name;
    for (const char *p = forms[form][end]; *p != '\0'; p++) {
        if (p[0] == '%' && p[1] == 'u') {
            at += snprintf(at, 16, "%u", number);
            p++;
        } else {
            *at++ = *p;
        }
    }
    *at = '\0';
    vta_str_put(out, name);
}

/* Each new state is half of the old one, and the data, and the state's number. */
static made_graph make_graph(rng *r)
{
    made_graph g = {.count = (uint32_t)rng_between(r, 1, MAX_STATES)};
    uint32_t outputs[MAX_STATES];
    for (uint32_t i = 0; i < g.count; i++) {
        g.number[i] = outputs[i] = i;
        g.form[i] = (uint32_t)rng_between(r, 0, FORMS - 1);
    }
    shuffle(g.number, g.count, r);
    shuffle(outputs, g.count, r);
    g.data = (uint32_t)rng_between(r, 0, g.count);
    vta_str_put(&g.text, "graph \"g\"\n");
    for (uint32_t i = 0; i <= g.count; i++) {
        vta_str_put(&g.text, i == g.data ? "input %pixels: f32[5]\n" : "");
        if (i < g.count) {
            vta_str_put(&g.text, "input %");
            put_name(&g.text, g.form[g.number[i]], 0, g.number[i]);
            vta_str_put(&g.text, ": f32[5]\n");
        }
    }
    vta_str_put(&g.text, "const %half: f32[1] = [0.5]\n");
    for (uint32_t s = 0; s < g.count; s++) {
        vta_str_printf(&g.text, "const %%add%u: f32[1] = [%u]\n%%h%u: f32[5] = Mul(%%", s, s, s);
        put_name(&g.text, g.form[s], 0, s);
        vta_str_printf(&g.text, ", %%half)\n%%d%u: f32[5] = Add(%%h%u, %%pixels)\n%%", s, s);
        put_name(&g.text, g.form[s], 1, s);
        vta_str_printf(&g.text, ": f32[5] = Add(%%d%u, %%add%u)\n", s, s);
    }
    vta_str_put(&g.text, "%answer: f32[5] = Neg(%pixels)\noutput %answer\n");
    for (uint32_t o = 0; o < g.count; o++) {
        vta_str_put(&g.text, "output %");
        put_name(&g.text, g.form[outputs[o]], 1, outputs[o]);
        vta_str_put(&g.text, "\n");
        for (uint32_t i = 0; i < g.count; i++) {
            g.output_of[i] = g.number[i] == outputs[o] ? o + 1 : g.output_of[i];
        }
    }
    return g;
}

static void carry_states(vta_model *model, const made_graph *g, rng *r)
{
    float expected[MAX_STATES][ELEMENTS] = {{0}};
    uint32_t count;
    const vta_state *states = vta_model_states(model, &count);
    for (int run = 0; run < RUNS; run++) {
        float *data = vta_model_input_data(model, g->data);
        for (int k = 0; k < ELEMENTS; k++) {
            data[k] = (float)rng_between(r, 0, 64);
        }
        graph_run(model);
        for (uint32_t i = 0; i < count; i++) {
            const float *got = vta_model_output_data(model, states[i].output);
            for (int k = 0; k < ELEMENTS; k++) {
                expected[i][k] = expected[i][k] * 0.5F + data[k] + (float)g->number[i];
                assert_true(got[k] == expected[i][k]);
            }
            memcpy(vta_model_input_data(model, states[i].input), got, sizeof expected[i]);
        }
    }
}

static void states_are_found_and_carried(void **state)
{
    (void)state;
    rng r = {test_seed("states")};
    for (int turn = 0; turn < 12; turn++) {
        made_graph g = make_graph(&r);
        vtac_graph *graph = graph_parse(g.text.text, 1);
        vta_model *model = graph_load(graph, (int)rng_between(&r, 0, 3));
        uint32_t count;
        const vta_state *states = vta_model_states(model, &count);
        assert_int_equal(count, g.count);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(states[i].input, i < g.data ? i : i + 1);
            assert_int_equal(states[i].output, g.output_of[i]);
        }
        carry_states(model, &g, &r);
        vta_model_destroy(model);
        vtac_graph_destroy(graph);
        vta_str_free(&g.text);
    }
}

static void check_count(const char *text, uint32_t expected)
{
    vta_state *states;
    uint32_t count;
    vta_diag diag = {0};
    vtac_graph *graph = graph_parse(text, 1);
    GRAPH_CHECK(vtac_find_states(graph, &states, &count, &diag), diag);
    assert_int_equal(count, expected);
    assert_int_equal(states == NULL, expected == 0);
    free(states);
    vta_model *model = graph_load(graph, 1);
    (void)vta_model_states(model, &count);
    assert_int_equal(count, expected);
    vta_model_destroy(model);
    vtac_graph_destroy(graph);
}

static void pairs_of_other_types_are_none(void **state)
{
    (void)state;
    check_count(
        "graph \"g\"\ninput %x: f32[2]\ninput %past_k: f32[2]\n%present_k: f32[2] = Add(%past_k, %x)\n"
        "output %present_k\n",
        1);
    check_count("graph \"g\"\ninput %x: f32[1]\ninput %past_k: f32[1]\n"
                "%present_k: f32[2] = Concat(%past_k, %x) {axis=0}\noutput %present_k\n",
                0);
    check_count("graph \"g\"\ninput %x: f32[2]\ninput %past_k: f32[2]\n"
                "%present_k: i32[2] = Cast(%past_k) {to=\"i32\"}\n%y: f32[2] = Neg(%x)\noutput %y\noutput "
                "%present_k\n",
                0);
    check_count("graph \"g\"\ninput %h_in: f32[2]\n%h_out: f32[2] = Neg(%h_in)\noutput %h_out\n", 0);
    check_count("graph \"g\"\ninput %x: f32[2]\ninput %state1: f32[2]\n%other1: f32[2] = Add(%x, %state1)\n"
                "output %other1\n",
                0);
}

static void named_states_are_taken_or_refused(void **state)
{
    (void)state;
    static const char text[] =
        "graph \"g\"\ninput %x: f32[3]\ninput %a: f32[3]\ninput %past_b: f32[3]\n"
        "%c: f32[3] = Add(%a, %x)\n%present_b: f32[3] = Add(%past_b, %x)\n"
        "%n: i32[3] = Cast(%x) {to=\"i32\"}\noutput %present_b\noutput %c\noutput %n\n";
    static const struct {
        vtac_state_name names[2];
        uint32_t count, found;
        const char *says; /* NULL: it is taken */
    } cases[] = {
        {{{"a", "c"}}, 1, 2, NULL},
        {{{"past_b", "c"}}, 1, 1, NULL},
        {{{"past_b", "c"}, {"a", "present_b"}}, 2, 2, NULL},
        {{{"z", "c"}}, 1, 0, "the model has no input 'z'"},
        {{{"a", "x"}}, 1, 0, "the model has no output 'x'"},
        {{{"a", "n"}}, 1, 0, "different types or shapes"},
        {{{"a", "c"}, {"x", "c"}}, 2, 0, "another state already"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vta_diag diag = {0};
        vtac_graph *graph = graph_parse(text, 1);
        const vta_status status = vtac_name_states(graph, cases[i].names, cases[i].count, &diag);
        if (cases[i].says != NULL) {
            assert_int_not_equal(status, VTA_OK);
            assert_non_null(strstr(diag.text, cases[i].says));
        } else {
            vta_state *states;
            uint32_t count;
            GRAPH_CHECK(status, diag);
            GRAPH_CHECK(vtac_find_states(graph, &states, &count, &diag), diag);
            assert_int_equal(count, cases[i].found);
            free(states);
        }
        vtac_graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_found_and_carried),
        cmocka_unit_test(pairs_of_other_types_are_none),
        cmocka_unit_test(named_states_are_taken_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
