/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of graphs: what is written reads back to a graph with the same text, for every model of the zoo
 * before and after the passes, for every given model at each level and after each pass, and for one graph
 * that holds every element type and every kind of attribute; the passes make of what was read back what they
 * make of the model; and what a wrong text is told. Arguments: the folder of the suite's own models, and that
 * of the shared ones, which may be missing.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "run_graph.h"
#include "temporary.h"
#include "vtac/onnx.h"
#include "vtac/zoo.h"

/* For the sake of time, models with more weights than this are left out, or tried as they are read alone. */
enum { MAX_CONSTANT_BYTES = 48 << 20, MAX_OPTIMIZED_BYTES = 8 << 20 };

static char **folders;
static int folder_count;

/* Two graphs have the same text. */
static void check_same(const vtac_graph *a, const vtac_graph *b, const char *what)
{
    char *first = vtac_graph_write(a, 16);
    char *second = vtac_graph_write(b, 16);
    assert_non_null(first);
    assert_non_null(second);
    if (strcmp(first, second) != 0) {
        size_t at = 0;
        while (first[at] == second[at]) {
            at++;
        }
        fail_msg("%s: the text changed on its way, from\n%.60s\nto\n%.60s", what, first + at, second + at);
    }
    free(first);
    free(second);
}

/* The graph from its own text; owned. */
static vtac_graph *read_back(const vtac_graph *graph, const char *what)
{
    char *text = vtac_graph_write(graph, 16);
    vtac_graph *back = NULL;
    vta_diag diag = {0};
    assert_non_null(text);
    GRAPH_CHECK(vtac_graph_parse(text, strlen(text), what, &back, &diag), diag);
    GRAPH_CHECK(vtac_graph_verify(back, &diag), diag);
    free(text);
    return back;
}

static void check_round_trip(const vtac_graph *graph, const char *what)
{
    vtac_graph *back = read_back(graph, what);
    check_same(graph, back, what);
    assert_int_equal(graph->input_count, back->input_count);
    assert_int_equal(graph->order_count, back->order_count);
    vtac_graph_destroy(back);
}

static size_t constant_bytes(const vtac_graph *graph)
{
    size_t sum = 0;
    for (vtac_value_id v = 1; v <= graph->value_count; v++) {
        sum += graph->values[v].constant != NULL ? graph->values[v].constant->bytes : 0;
    }
    return sum;
}

static void check_model(const char *path)
{
    const vtac_import_options import = {0};
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    GRAPH_CHECK(vtac_onnx_load(path, &import, &graph, &diag), diag);
    if (constant_bytes(graph) <= MAX_CONSTANT_BYTES) {
        check_round_trip(graph, path);
    }
    if (constant_bytes(graph) <= MAX_OPTIMIZED_BYTES) {
        const vtac_pass_options passes = {.level = 3, .verify = true};
        GRAPH_CHECK(vtac_run_passes(graph, &passes, &diag), diag);
        check_round_trip(graph, path);
    }
    vtac_graph_destroy(graph);
}

static vtac_graph *load(const char *path)
{
    const vtac_import_options import = {0};
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    GRAPH_CHECK(vtac_onnx_load(path, &import, &graph, &diag), diag);
    return graph;
}

/* Two graphs have the same operators; values that passes made are numbered differently in them. */
static void check_alike(const vtac_graph *a, const vtac_graph *b, const char *what)
{
    char *first = graph_ops(a);
    char *second = graph_ops(b);
    if (strcmp(first, second) != 0) {
        fail_msg("%s: read back, it becomes\n%s\ninstead of\n%s", what, second, first);
    }
    free(first);
    free(second);
}

/* A level's passes on the model, and on what was read back of it. */
static void check_level(const char *path, int level)
{
    const vtac_pass_options passes = {.level = level, .verify = true};
    vta_diag diag = {0};
    vtac_graph *graph = load(path);
    vtac_graph *back = read_back(graph, path);
    GRAPH_CHECK(vtac_run_passes(graph, &passes, &diag), diag);
    GRAPH_CHECK(vtac_run_passes(back, &passes, &diag), diag);
    check_alike(graph, back, path);
    check_round_trip(graph, path);
    vtac_graph_destroy(back);
    vtac_graph_destroy(graph);
}

/* One pass after the other, each also on what was read back of the graph before it. */
static void check_passes(const char *path)
{
    vtac_graph *graph = load(path);
    for (int pass = 0; pass < VTAC_PASS_COUNT; pass++) {
        vtac_pass_report report;
        vta_diag diag = {0};
        vtac_graph *back = read_back(graph, path);
        GRAPH_CHECK(vtac_run_pass(graph, (vtac_pass)pass, true, &report, &diag), diag);
        GRAPH_CHECK(vtac_run_pass(back, (vtac_pass)pass, true, &report, &diag), diag);
        check_alike(graph, back, vtac_pass_get((vtac_pass)pass)->name);
        check_round_trip(graph, path);
        vtac_graph_destroy(back);
    }
    vtac_graph_destroy(graph);
}

static size_t models_round_trip_of(const char *folder)
{
    char pattern[4096];
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "%s/*.onnx", folder);
    if (glob(pattern, 0, NULL, &found) != 0) {
        return 0;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        check_passes(found.gl_pathv[i]);
        for (int level = 0; level <= 3; level++) {
            check_level(found.gl_pathv[i], level);
        }
    }
    const size_t count = found.gl_pathc;
    globfree(&found);
    return count;
}

/* The first folder is of the suite's own models; the others may be missing. */
static void models_round_trip(void **state)
{
    (void)state;
    for (int i = 0; i < folder_count; i++) {
        const size_t count = models_round_trip_of(folders[i]);
        print_message("%s: %zu models\n", folders[i], count);
        assert_true(i > 0 || count > 0);
    }
}

static void zoo_round_trips(void **state)
{
    (void)state;
    char path[TEMPORARY_PATH];
    uint32_t count;
    const vtac_zoo_entry *zoo = vtac_zoo_list(&count);
    assert_true(temporary_file(path, ".onnx"));
    for (uint32_t i = 0; i < count; i++) {
        vta_diag diag = {0};
        GRAPH_CHECK(vtac_zoo_write(zoo[i].name, 1, NULL, path, &diag), diag);
        check_model(path);
    }
    (void)unlink(path);
}

static const char everything[] =
    "# a comment\n"
    "graph \"a \\\"name\\\" with \\\\ and \\x01\"\n"
    "input %x: f32[2,3]\n"
    "input %\"of two words\": i64[0]\n"
    "const %f32: f32[4] = [1.5, -0.1, inf, nan]\n"
    "const %f64: f64[2] = [0.10000000000000001, -2e-300]\n"
    "const %f16: f16[7] = [1.5, -65504, inf, 5.9604645e-08, 0.000061035156, 6.0975552e-05, 0.33325195]\n"
    "const %bf16: bf16[3] = [1.5, -3.3895314e+38, 9.1835496e-41]\n"
    "const %i8: i8[2] = [-128, 127]\n"
    "const %i16: i16[2] = [-32768, 32767]\n"
    "const %i32: i32[2] = [-2147483648, 2147483647]\n"
    "const %i64: i64[2] = [-9223372036854775808, 9223372036854775807]\n"
    "const %u8: u8[2] = [0, 255]\n"
    "const %u16: u16[2] = [0, 65535]\n"
    "const %u32: u32[2] = [0, 4294967295]\n"
    "const %u64: u64[2] = [0, -1]\n"
    "const %bool: bool[2] = [0, 1]\n"
    "const %scalar: f32[] = [7]\n"
    "const %empty: f32[2,0] = []\n"
    "const %large: i8[5] = base64 \"AAEC/v8=\"\n"
    "\n"
    "%y: f32[2,3] = Relu(%x) {i=-3, f=0.1f, big=1e+10f, s=\"t\\x0a\", is=[1, -2], fs=[0.5f, inff], "
    "ss=[\"a\", \"\"], "
    "e=[], ef=[]f, es=[]s, t=i64[2] [3, 4], \"odd name\"=1}  # \"node \\\"1\\\"\" @17\n"
    "%\"a:b\": f32[2,3] = com.microsoft.Gelu(%y)\n"
    "%p: f32[1,3] = Slice(%y, %s, %e, _, %s)\n"
    "%d: f32[2,3], %m: bool[2,3] = Dropout(%y)\n"
    "output %\"a:b\"\noutput %x\noutput %p\noutput %m\noutput %f16\noutput %large\n";

static void every_kind_of_thing_round_trips(void **state)
{
    (void)state;
    char text[4096];
    const char *at = strstr(everything, "\n%y");
    (void)snprintf(text, sizeof text, "%.*s\nconst %%s: i64[1] = [1]\nconst %%e: i64[1] = [2]%s",
                   (int)(at - everything), everything, at);
    vtac_graph *graph = graph_parse(text, 1);
    check_round_trip(graph, "everything");
    /* names and contents arrived, not only survived */
    char *written = vtac_graph_write(graph, 4);
    static const char *const parts[] = {
        "const  %i64: i64[2] = [-9223372036854775808, 9223372036854775807]\n",
        "const  %f16: f16[7] = base64 \"AD7/+wB8AQAABP8DVTU=\"\n",
        "const  %large: i8[5] = base64 \"AAEC/v8=\"\n",
        "const  %bf16: bf16[3] = [1.5, -3.38953139e+38, 9.18354962e-41]\n",
        " {i=-3, f=0.100000001f, big=1e+10f, s=\"t\\x0a\", is=[1, -2], fs=[0.5f, inff], ss=[\"a\", \"\"], "
        "e=[], "
        "ef=[]f, es=[]s, t=i64[2] [3, 4], \"odd name\"=1}  # \"node \\\"1\\\"\" @17\n",
        "%p: f32[1,3] = Slice(%y, %s, %e, _, %s)  # \"\" @0\n",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strstr(written, parts[i]) == NULL) {
            fail_msg("expected %sin\n%s", parts[i], written);
        }
    }
    free(written);
    vtac_graph_destroy(graph);
}

#define GRAPH "graph \"t\"\n"
static const struct {
    const char *text, *message;
} wrong[] = {
    {"", "t:1:1: expected graph \"NAME\": is this the text of a graph?"},
    {"graph t\n", "t:1:7: expected '\"'"},
    {"graph \"t\n", "t:1:7: the string does not end on its line"},
    {"graph \"\\q\"\n", "t:1:9: expected \\\", \\\\ or \\x and two hexadecimal digits"},
    {GRAPH, "t:2:1: the graph has no output"},
    {GRAPH "inptu %x: f32[1]\n", "t:2:1: expected input, const, output, or a node: %name: type = Op(...)"},
    {GRAPH "input x: f32[1]\n", "t:2:7: expected '%'"},
    {GRAPH "input %x f32[1]\n", "t:2:10: expected ':'"},
    {GRAPH "input %x: f33[1]\n", "t:2:11: expected a type, such as f32[1,3,224,224]"},
    {GRAPH "input %x: f32[-1]\n", "t:2:15: expected an integer from 0 to 9223372036854775807"},
    {GRAPH "input %x: f32[1,1,1,1,1,1,1,1,1]\n", "t:2:31: more than 8 dimensions"},
    {GRAPH "input %x: f32[9000000000,9000000000]\n", "t:2:11: the tensor is too large"},
    {GRAPH "input %x: f32[1] f\n", "t:2:18: expected the end of the line"},
    {GRAPH "input %x: f32[1]\ninput %x: f32[1]\n", "t:3:8: there is a 'x' already"},
    {GRAPH "const %c: i8[1] = [128]\n", "t:2:20: expected an integer from -128 to 127"},
    {GRAPH "const %c: f32[2] = [1]\n", "t:2:20: 1 elements, expected 2"},
    {GRAPH "const %c: f32[2] = [1, 2, 3]\n", "t:2:20: more than 2 elements"},
    {GRAPH "const %c: f32[1] = [x]\n", "t:2:21: expected a number"},
    {GRAPH "const %c: f32[9000000000] = [x]\n", "t:2:30: expected a number"},
    {GRAPH "const %c: i8[3] = base64 \"AAE=\"\n", "t:2:30: '=' is no base64 digit here"},
    {GRAPH "const %c: i8[3] = base64 \"AA\"\n", "t:2:27: expected 4 base64 digits for 3 bytes, found 2"},
    {GRAPH "const %c: i8[30] = sum 00112233\n", "t:2:20: a checksum does not hold the contents; print the "
                                                "graph with its constants ('vtac inspect -o FILE' does)"},
    {GRAPH "input %x: f32[1]\n%y: f32[1] = Relux(%x)\n", "t:3:14: there is no operator 'Relux'"},
    {GRAPH "input %x: f32[1]\n%y: f32[1] = Relu(%z)\n", "t:3:19: no line above defines 'z'"},
    {GRAPH "input %x: f32[1]\n%y: f32[2] = Relu(%x)\n",
     "t:3:1: 'y' is declared f32[2], but Relu gives f32[1]"},
    {GRAPH "input %x: f32[1]\n%y: f32[1] = Relu(%x, %x)\n",
     "t:3:1: node '' (Relu): 2 inputs, expected 1 to 1"},
    {GRAPH "input %x: f32[1]\n%y: f32[1] = Relu(%x) {a=[1, 2f]}\n",
     "t:3:30: the elements of a list have one kind"},
    {GRAPH "input %x: f32[1]\n%y: f32[1] = Relu(%x) {a=}\n", "t:3:26: expected a number"},
    {GRAPH "output _\n", "t:2:8: expected a value"},
};

static void wrong_texts_say_where_and_what(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        vtac_graph *graph = NULL;
        vta_diag diag = {0};
        assert_int_not_equal(vtac_graph_parse(wrong[i].text, strlen(wrong[i].text), "t", &graph, &diag),
                             VTA_OK);
        assert_null(graph);
        assert_string_equal(diag.text, wrong[i].message);
    }
}

/* Names are unique, whatever is asked for, and outputs can be given theirs. */
static void names_are_unique(void **state)
{
    (void)state;
    vtac_graph *graph = vtac_graph_create("names");
    const vtac_type type = {.dtype = VTAC_F32, .rank = 1, .dim = {1}};
    vtac_value_id ids[600];
    for (size_t i = 0; i < 600; i++) {
        static const char *const asked[] = {"x", "v7", "", NULL, "x.1"};
        assert_int_equal(vtac_add_input(graph, asked[i % 5], &type, &ids[i], NULL), VTA_OK);
        assert_int_equal(vtac_find_value(graph, graph->values[ids[i]].name), ids[i]);
    }
    assert_int_equal(vtac_rename_value(graph, ids[400], "x", NULL), VTA_OK);
    assert_int_equal(vtac_rename_value(graph, ids[401], "new", NULL), VTA_OK);
    assert_string_equal(graph->values[ids[400]].name, "x");
    assert_int_equal(vtac_find_value(graph, "new"), ids[401]);
    for (size_t i = 0; i < 600; i++) {
        assert_int_equal(vtac_find_value(graph, graph->values[ids[i]].name), ids[i]);
    }
    vtac_graph_destroy(graph);
}

int main(int argc, char **argv)
{
    folders = argv + 1;
    folder_count = argc - 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_thing_round_trips),
        cmocka_unit_test(wrong_texts_say_where_and_what),
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(models_round_trip),
        cmocka_unit_test(zoo_round_trips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
