/* SPDX-License-Identifier: Apache-2.0
 *
 * Every integer of every layer of quantized models: the compiled model also gives what is between its layers,
 * and each layer is worked out again in plain loops from its own inputs (plain_layer.h).
 *
 * Asserted, over all layers and cases: with the scale that vtac/quant.h settles on, all integers equal; with
 * the float32 scale as it is, at least 99.99 % of them, none off by more than 1. What is left at the outputs
 * is therefore the formula's own: where such an output differs from its reference, the reference, computed
 * in float32 between the quantizations, left the formula at a tie. Arguments: the folder of the suite's own
 * networks and that of the shared ones, which may be missing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "golden.h"
#include "plain_layer.h"
#include "run_graph.h"
#include "vtac/onnx.h"

static const double MAX_OFF = 1e-4;

/* A model whose values are all outputs, and the case that it has run. */
typedef struct opened {
    vtac_graph *graph;
    vta_model *model;
    const float *data; /* of the case */
} opened;

typedef struct tally {
    int64_t integers, off, layers;
    int32_t worst;
} tally;

static bool is_integer(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_dtype dtype = graph->values[value].type.dtype;
    return dtype == VTAC_I8 || dtype == VTAC_U8;
}

static opened open_model(const golden_model *which)
{
    char path[4096];
    opened o = {0};
    vta_diag diag = {0};
    const vtac_import_options import = {0};
    const vtac_pass_options passes = {.level = 3};
    (void)snprintf(path, sizeof path, "%s/%.63s.onnx", which->folder, which->name);
    GRAPH_CHECK(vtac_onnx_load(path, &import, &o.graph, &diag), diag);
    GRAPH_CHECK(vtac_run_passes(o.graph, &passes, &diag), diag);
    for (uint32_t i = 0; i < o.graph->order_count; i++) {
        const vtac_value_id y = o.graph->nodes[o.graph->order[i]].outputs[0];
        if (is_integer(o.graph, y) && !vtac_is_output(o.graph, y)) {
            GRAPH_CHECK(vtac_add_output(o.graph, y, &diag), diag);
        }
    }
    o.model = graph_load(o.graph, 3);
    return o;
}

static void close_model(opened *o)
{
    vta_model_destroy(o->model);
    vtac_graph_destroy(o->graph);
}

static const void *output_of(const opened *o, vtac_value_id value)
{
    for (uint32_t i = 0; i < o->graph->output_count; i++) {
        if (o->graph->outputs[i] == value) {
            return vta_model_output_data(o->model, i);
        }
    }
    return NULL;
}

static vtac_tensor input_of(void *context, const vtac_node *node, uint32_t i)
{
    const opened *o = context;
    const vtac_value *v = &o->graph->values[node->inputs[i]];
    if (v->constant != NULL) {
        return *v->constant;
    }
    const void *data = v->node == 0 ? o->data : output_of(o, node->inputs[i]);
    assert_non_null(data);
    return (vtac_tensor){
        .type = v->type,
        .data = data,
        .bytes = (size_t)vtac_type_elements(&v->type) * vtac_dtype_bytes(v->type.dtype),
    };
}

static void check_layer(opened *o, const vtac_node *node, tally *t)
{
    plain_layer want;
    if (!plain_layer_evaluate(o->graph, node, input_of, o, &want)) {
        fail_msg("%s: %s is not one of the operators here", node->name, vtac_op_get(node->op)->name);
    }
    const vtac_tensor got = {.type = o->graph->values[node->outputs[0]].type,
                             .data = output_of(o, node->outputs[0])};
    for (int64_t i = 0; i < want.count; i++) {
        const int32_t here = (int32_t)vtac_tensor_int(&got, i);
        const int32_t error = abs(here - want.formula[i]);
        if (here != want.settled[i]) {
            fail_msg("%s, element %lld: %d, the formula gives %d", node->name, (long long)i, here,
                     want.settled[i]);
        }
        t->off += error != 0;
        t->worst = error > t->worst ? error : t->worst;
    }
    t->integers += want.count;
    t->layers++;
    plain_layer_free(&want);
}

static void check_case(opened *o, const char *input, tally *t)
{
    size_t count = 0;
    vta_diag diag = {0};
    float *data = golden_load(input, &count);
    assert_non_null(data);
    o->data = data;
    GRAPH_CHECK(vta_model_set_input(o->model, 0, data, count * sizeof *data, &diag), diag);
    graph_run(o->model);
    for (uint32_t i = 0; i < o->graph->order_count; i++) {
        const vtac_node *node = &o->graph->nodes[o->graph->order[i]];
        if (is_integer(o->graph, node->outputs[0])) {
            check_layer(o, node, t);
        }
    }
    free(data);
}

static void layers_give_what_the_formula_says(void **state)
{
    (void)state;
    tally all = {0};
    for (size_t m = 0; m < golden_count; m++) {
        glob_t cases;
        tally t = {0};
        if (golden_models[m].step <= 0) {
            continue;
        }
        opened o = open_model(&golden_models[m]);
        assert_true(golden_cases(&golden_models[m], &cases));
        for (size_t i = 0; i < cases.gl_pathc; i++) {
            check_case(&o, cases.gl_pathv[i], &t);
        }
        print_message("%s: %lld layers, %lld integers, %lld off\n", golden_models[m].name,
                      (long long)t.layers, (long long)t.integers, (long long)t.off);
        assert_true(t.layers > 0);
        all.integers += t.integers;
        all.off += t.off;
        all.worst = t.worst > all.worst ? t.worst : all.worst;
        globfree(&cases);
        close_model(&o);
    }
    print_message("all: %lld of %lld integers off, by %d at most\n", (long long)all.off,
                  (long long)all.integers, all.worst);
    assert_true((double)all.off <= MAX_OFF * (double)all.integers);
    assert_true(all.worst <= 1);
}

int main(int argc, char **argv)
{
    if (!golden_find(argc, argv)) {
        (void)fprintf(stderr, "no models in %s\n", argc < 2 ? "the folder" : argv[1]);
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers_give_what_the_formula_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
