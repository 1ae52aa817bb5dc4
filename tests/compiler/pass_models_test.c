/* SPDX-License-Identifier: Apache-2.0
 *
 * Models at every level, and at the highest with each pass left out alone: results within what the reference
 * outputs allow, and for quantized models the same integers whatever the level (without fold-qdq their
 * arithmetic is another one: float32 between the quantizations). Graphs that come out the same are compiled
 * once, those without a pass by the least that LLVM does for loops. Each case runs twice with another one
 * between. Arguments: the folder of the suite's own networks and that of the shared ones, which may be
 * missing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "golden.h"
#include "run_graph.h"
#include "vtac/onnx.h"

enum { LEVELS = 4, CONFIGURATIONS = LEVELS + VTAC_PASS_COUNT, MAX_CASES = 16 };

/* The results of a model's runs. */
typedef struct results {
    char *graphs[CONFIGURATIONS]; /* as text, with the compiler's level in front */
    size_t graph_count;
    float *first[MAX_CASES]; /* outputs at level 0 */
    size_t off, elements;    /* of all cases, against the reference */
} results;

static const char *configuration_name(size_t c)
{
    static char text[80];
    if (c < LEVELS) {
        (void)snprintf(text, sizeof text, "-O%zu", c);
    } else {
        (void)snprintf(text, sizeof text, "without %s", vtac_pass_get((vtac_pass)(c - LEVELS))->name);
    }
    return text;
}

static vtac_graph *optimized(const golden_model *which, size_t c)
{
    char path[4096];
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    const vtac_import_options import = {0};
    vtac_pass_options passes = {.level = c < LEVELS ? (int)c : LEVELS - 1, .verify = true};
    if (c >= LEVELS) {
        passes.disabled[c - LEVELS] = true;
    }
    (void)snprintf(path, sizeof path, "%s/%.63s.onnx", which->folder, which->name);
    if (vtac_onnx_load(path, &import, &graph, &diag) != VTA_OK ||
        vtac_run_passes(graph, &passes, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    return graph;
}

/* True if this graph at this level has been run. */
static bool is_known(results *r, const vtac_graph *graph, int level)
{
    char *text = vtac_graph_print(graph, 16);
    assert_non_null(text);
    char *keyed = malloc(strlen(text) + 2);
    assert_non_null(keyed);
    (void)sprintf(keyed, "%d%s", level, text);
    free(text);
    for (size_t i = 0; i < r->graph_count; i++) {
        if (strcmp(r->graphs[i], keyed) == 0) {
            free(keyed);
            return true;
        }
    }
    r->graphs[r->graph_count++] = keyed;
    return false;
}

static void run_case(vta_model *model, const golden_model *which, size_t c, const char *input, size_t n,
                     results *r)
{
    size_t in_count = 0;
    size_t count = 0;
    vta_diag diag = {0};
    float *data = golden_load(input, &in_count);
    float *expected = golden_output(input, &count);
    assert_non_null(data);
    assert_non_null(expected);
    if (vta_model_set_input(model, 0, data, in_count * sizeof *data, &diag) != VTA_OK ||
        vta_model_run(model, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    const float *got = vta_model_output_data(model, 0);
    const golden_difference d = golden_compare(got, expected, count);
    /* Without fold-qdq a sum is one of float32 in another order than the reference's, and a logit may be off
     * by one. That moves a probability p by p (1 - p) of the logit's step: up to four steps of the output. */
    const double steps = c == LEVELS + VTAC_PASS_FOLD_QDQ ? 4.001 : 1.001;
    const double max = which->step > 0 ? which->step * steps : which->relative * d.range;
    if (!d.same_top || !(d.worst <= max)) {
        fail_msg("%s %s, %s: worst %g of %g, %zu of %zu differ, top %s", which->name, configuration_name(c),
                 strrchr(input, '/') + 1, d.worst, d.range, d.off, d.count, d.same_top ? "same" : "differs");
    }
    r->off += d.off;
    r->elements += count;
    if (which->step > 0 && c != LEVELS + VTAC_PASS_FOLD_QDQ) {
        if (r->first[n] == NULL) {
            r->first[n] = malloc(count * sizeof *got);
            assert_non_null(r->first[n]);
            memcpy(r->first[n], got, count * sizeof *got);
        }
        assert_memory_equal(r->first[n], got, count * sizeof *got);
    }
    free(expected);
    free(data);
}

static void run_configuration(const golden_model *which, size_t c, const glob_t *cases, results *r)
{
    const int level = c < LEVELS ? (int)c : LEVELS - 1;
    vtac_graph *graph = optimized(which, c);
    if (is_known(r, graph, level)) {
        vtac_graph_destroy(graph);
        return;
    }
    vta_model *model = graph_load(graph, c < LEVELS ? level : 1);
    r->off = r->elements = 0;
    for (size_t i = 0; i <= cases->gl_pathc; i++) {
        const size_t n = i % cases->gl_pathc;
        run_case(model, which, c, cases->gl_pathv[n], n, r);
    }
    print_message("%s %s: %zu of %zu differ\n", which->name, configuration_name(c), r->off, r->elements);
    vta_model_destroy(model);
    vtac_graph_destroy(graph);
}

static void levels_and_passes_keep_results(void **state)
{
    (void)state;
    for (size_t m = 0; m < golden_count; m++) {
        glob_t cases;
        results r = {0};
        assert_true(golden_cases(&golden_models[m], &cases));
        assert_true(cases.gl_pathc <= MAX_CASES);
        for (size_t c = 0; c < CONFIGURATIONS; c++) {
            run_configuration(&golden_models[m], c, &cases, &r);
        }
        for (size_t i = 0; i < r.graph_count; i++) {
            free(r.graphs[i]);
        }
        for (size_t i = 0; i < MAX_CASES; i++) {
            free(r.first[i]);
        }
        globfree(&cases);
    }
}

int main(int argc, char **argv)
{
    if (!golden_find(argc, argv)) {
        (void)fprintf(stderr, "no models in %s\n", argc < 2 ? "the folder" : argv[1]);
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(levels_and_passes_keep_results)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
