/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoders with caches of a fixed size (--context) against the same model over the whole text at once, with
 * an empty past. It fails when a token is written to a wrong place, when a query sees what lies behind its
 * own place in the cache, when positions are those of another token, and when the cache cannot be one buffer
 * for both its ends. Sizes, tokens and what lies in the unused part of the cache are random.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "run_graph.h"
#include "vtac/onnx.h"
#include "vtac/quantize.h"
#include "vtac/states.h"
#include "vtac/zoo.h"

enum { MAX_TEXT = 24, TURNS = 4 };

typedef struct decoder_case {
    vtac_zoo_sizes sizes;
    int64_t room, step, length; /* of the cache, of a run, of the text; the last a multiple of the step */
    int64_t text[MAX_TEXT];
    char path[TEMPORARY_PATH];
} decoder_case;

static decoder_case make_case(rng *r)
{
    decoder_case c = {.sizes = {.cache = true}};
    vta_diag diag = {0};
    c.sizes.layers = (int64_t)rng_between(r, 1, 2);
    c.sizes.cached = (int64_t)rng_between(r, 1, 2);
    c.sizes.heads = c.sizes.cached * (int64_t)rng_between(r, 1, 3);
    c.sizes.width = c.sizes.heads * 2 * (int64_t)rng_between(r, 2, 5);
    c.sizes.words = (int64_t)rng_between(r, 9, 40);
    c.step = (int64_t)rng_between(r, 1, 3);
    c.length = c.step * (int64_t)rng_between(r, 2, MAX_TEXT / 3);
    c.room = c.length + (int64_t)rng_between(r, 0, 9);
    for (int64_t i = 0; i < c.length; i++) {
        c.text[i] = (int64_t)rng_between(r, 0, c.sizes.words - 1);
    }
    assert_true(temporary_file(c.path, ".onnx"));
    GRAPH_CHECK(vtac_zoo_write("llama", rng_next(r), &c.sizes, c.path, &diag), diag);
    return c;
}

static vtac_shape_option shape_of(const char *name, uint32_t rank, const int64_t *dim)
{
    vtac_shape_option option = {.name = name, .rank = rank};
    memcpy(option.dim, dim, rank * sizeof *dim);
    return option;
}

/* The whole text with an empty past. */
static vta_model *load_whole(const decoder_case *c)
{
    const int64_t row[] = {1, c->length};
    const int64_t past[] = {1, c->sizes.cached, 0, c->sizes.width / c->sizes.heads};
    static const char *const rows[] = {"input_ids", "attention_mask", "position_ids"};
    vtac_shape_option shapes[8];
    char names[4][64];
    uint32_t count = 0;
    vtac_graph *graph;
    vta_diag diag = {0};
    for (; count < 3; count++) {
        shapes[count] = shape_of(rows[count], 2, row);
    }
    for (int64_t i = 0; i < 2 * c->sizes.layers; i++) {
        (void)snprintf(names[i], sizeof names[i], "past_key_values.%d.%s", (int)(i / 2),
                       i % 2 == 0 ? "key" : "value");
        shapes[count++] = shape_of(names[i], 4, past);
    }
    const vtac_import_options options = {.shapes = shapes, .shape_count = count};
    GRAPH_CHECK(vtac_onnx_load(c->path, &options, &graph, &diag), diag);
    vta_model *model = graph_load(graph, 3);
    vtac_graph_destroy(graph);
    return model;
}

/* The graph as a file, and read again. */
static vtac_graph *by_file(vtac_graph *graph)
{
    char path[TEMPORARY_PATH];
    vtac_graph *again;
    vta_diag diag = {0};
    assert_true(temporary_file(path, ".onnx"));
    GRAPH_CHECK(vtac_onnx_write(graph, "test", path, &diag), diag);
    GRAPH_CHECK(vtac_onnx_load(path, &(vtac_import_options){.shapes = NULL}, &again, &diag), diag);
    vtac_graph_destroy(graph);
    (void)unlink(path);
    return again;
}

/* The model in 8 bits, its caches, too; at level 0 as it is in a file. */
static vta_model *load_narrow(const decoder_case *c, int level)
{
    const vtac_import_options options = {.cache_tokens = c->room, .new_tokens = c->step};
    const vtac_quantize_options how = VTAC_QUANTIZE_DEFAULTS;
    vtac_graph *graph;
    vta_diag diag = {0};
    GRAPH_CHECK(vtac_onnx_load(c->path, &options, &graph, &diag), diag);
    GRAPH_CHECK(vtac_quantize(graph, NULL, &how, NULL, &diag), diag);
    GRAPH_CHECK(vtac_graph_verify(graph, &diag), diag);
    graph = level == 0 ? by_file(graph) : graph;
    GRAPH_CHECK(vtac_run_passes(graph, &(vtac_pass_options){.level = level, .verify = true}, &diag), diag);
    vta_model *model = graph_load(graph, level);
    vtac_graph_destroy(graph);
    return model;
}

static vta_model *load_bounded(const decoder_case *c, int level)
{
    const vtac_import_options options = {.cache_tokens = c->room, .new_tokens = c->step};
    vtac_graph *graph;
    vta_diag diag = {0};
    GRAPH_CHECK(vtac_onnx_load(c->path, &options, &graph, &diag), diag);
    GRAPH_CHECK(vtac_run_passes(graph, &(vtac_pass_options){.level = level, .verify = true}, &diag), diag);
    vta_model *model = graph_load(graph, level);
    vtac_graph_destroy(graph);
    return model;
}

static void *input_named(vta_model *model, const char *name)
{
    for (uint32_t i = 0; i < vta_model_input_count(model); i++) {
        if (strcmp(vta_model_input(model, i).name, name) == 0) {
            return vta_model_input_data(model, i);
        }
    }
    fail_msg("no input '%s'", name);
    return NULL;
}

static const float *run_whole(vta_model *model, const decoder_case *c)
{
    int64_t *ids = input_named(model, "input_ids");
    int64_t *mask = input_named(model, "attention_mask");
    int64_t *places = input_named(model, "position_ids");
    for (int64_t i = 0; i < c->length; i++) {
        ids[i] = c->text[i];
        mask[i] = 1;
        places[i] = i;
    }
    graph_run(model);
    return vta_model_output_data(model, 0);
}

/* Makes each cache one buffer with something in it, or copies between two. */
static void start_states(vta_model *model, bool shared, rng *r)
{
    uint32_t count;
    vta_diag diag = {0};
    const vta_state *states = vta_model_states(model, &count);
    for (uint32_t i = 0; i < count; i++) {
        float *past = vta_model_input_data(model, states[i].input);
        const size_t bytes = vta_model_input(model, states[i].input).bytes;
        for (size_t k = 0; k < bytes / sizeof *past; k++) {
            past[k] = (float)rng_between(r, 0, 200) - 100.0F;
        }
        if (shared) {
            GRAPH_CHECK(vta_model_bind_output(model, states[i].output, past, bytes, &diag), diag);
        }
    }
}

static void carry_states(vta_model *model)
{
    uint32_t count;
    const vta_state *states = vta_model_states(model, &count);
    for (uint32_t i = 0; i < count; i++) {
        void *past = vta_model_input_data(model, states[i].input);
        const void *present = vta_model_output_data(model, states[i].output);
        if (past != present) {
            memcpy(past, present, vta_model_input(model, states[i].input).bytes);
        }
    }
}

static void compare_rows(const decoder_case *c, const float *got, const float *expected)
{
    for (int64_t i = 0; i < c->step * c->sizes.words; i++) {
        const double off = fabs((double)got[i] - (double)expected[i]);
        assert_true(off <= 2e-4 * (1.0 + fabs((double)expected[i])));
    }
}

static void steps_give_what_the_whole_text_gives(void **state)
{
    (void)state;
    rng r = {test_seed("context")};
    for (int turn = 0; turn < TURNS; turn++) {
        decoder_case c = make_case(&r);
        vta_model *whole = load_whole(&c);
        vta_model *bounded = load_bounded(&c, (int)rng_between(&r, 0, 3));
        const float *expected = run_whole(whole, &c);
        uint32_t count;
        (void)vta_model_states(bounded, &count);
        assert_int_equal(count, 2 * c.sizes.layers);
        start_states(bounded, turn % 2 == 0, &r);
        int64_t *position = input_named(bounded, "position");
        for (*position = 0; *position < c.length; *position += c.step) {
            memcpy(input_named(bounded, "input_ids"), &c.text[*position], (size_t)c.step * sizeof c.text[0]);
            graph_run(bounded);
            compare_rows(&c, vta_model_output_data(bounded, 0), &expected[*position * c.sizes.words]);
            carry_states(bounded);
        }
        vta_model_destroy(whole);
        vta_model_destroy(bounded);
        (void)unlink(c.path);
    }
}

static void give_tokens(vta_model *model, const decoder_case *c, int64_t position)
{
    *(int64_t *)input_named(model, "position") = position;
    memcpy(input_named(model, "input_ids"), &c->text[position], (size_t)c->step * sizeof c->text[0]);
    graph_run(model);
}

/* Sums of products of what two models give: of both, of each with itself. */
static void add_products(const float *a, const float *b, int64_t count, double *sums)
{
    for (int64_t i = 0; i < count; i++) {
        sums[0] += (double)a[i] * (double)b[i];
        sums[1] += (double)a[i] * (double)a[i];
        sums[2] += (double)b[i] * (double)b[i];
    }
}

static void caches_of_8_bits_give_nearly_the_same(void **state)
{
    (void)state;
    rng r = {test_seed("context in 8 bits")};
    for (int turn = 0; turn < 2; turn++) {
        decoder_case c = make_case(&r);
        vta_model *real = load_bounded(&c, 3);
        vta_model *narrow = load_narrow(&c, 3);
        vta_model *plain = load_narrow(&c, 0);
        double sums[3] = {0.0};
        uint32_t count;
        const vta_state *states = vta_model_states(narrow, &count);
        assert_int_equal(count, 2 * c.sizes.layers);
        for (uint32_t i = 0; i < count; i++) {
            const vta_tensor_info past = vta_model_input(narrow, states[i].input);
            vta_diag diag = {0};
            assert_int_equal(past.dtype_code, 0);
            assert_int_equal(past.dtype_bits, 8);
            GRAPH_CHECK(vta_model_bind_output(narrow, states[i].output,
                                              vta_model_input_data(narrow, states[i].input), past.bytes,
                                              &diag),
                        diag);
        }
        for (int64_t at = 0; at < c.length; at += c.step) {
            give_tokens(real, &c, at);
            give_tokens(narrow, &c, at);
            give_tokens(plain, &c, at);
            const float *got = vta_model_output_data(narrow, 0);
            add_products(vta_model_output_data(real, 0), got, c.step * c.sizes.words, sums);
            assert_memory_equal(got, vta_model_output_data(plain, 0),
                                (size_t)(c.step * c.sizes.words) * sizeof *got);
            carry_states(real);
            carry_states(plain);
        }
        print_message("correlation with floats %.4f\n", sums[0] / sqrt(sums[1] * sums[2]));
        assert_true(sums[0] > 0.95 * sqrt(sums[1] * sums[2]));
        vta_model_destroy(real);
        vta_model_destroy(narrow);
        vta_model_destroy(plain);
        (void)unlink(c.path);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    rng r = {test_seed("context refusals")};
    decoder_case c = make_case(&r);
    char other[TEMPORARY_PATH];
    assert_true(temporary_file(other, ".onnx"));
    vta_diag diag = {0};
    GRAPH_CHECK(vtac_zoo_write("tiny_ad", 1, NULL, other, &diag), diag);
    const struct {
        const char *path;
        int64_t room, step;
        const char *says;
    } cases[] = {
        {c.path, 4, 4, "more than the 4 new tokens"},
        {c.path, 1 << 21, 1, "up to"},
        {other, 16, 1, "is a cache of open size"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vtac_graph *graph;
        const vtac_import_options options = {.cache_tokens = cases[i].room, .new_tokens = cases[i].step};
        diag = (vta_diag){0};
        assert_int_not_equal(vtac_onnx_load(cases[i].path, &options, &graph, &diag), VTA_OK);
        assert_null(graph);
        assert_non_null(strstr(diag.text, cases[i].says));
    }
    (void)unlink(c.path);
    (void)unlink(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_give_what_the_whole_text_gives),
        cmocka_unit_test(caches_of_8_bits_give_nearly_the_same),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
