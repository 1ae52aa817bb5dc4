/* SPDX-License-Identifier: Apache-2.0
 *
 * The importer: types, folded shape arithmetic, old forms, functions, If and Loop; and what bad models are
 * told. Expectations are worked out by hand from the ONNX specification.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_model.h"
#include "temporary.h"
#include "vta/file.h"
#include "vta/inside.h"
#include "vta/room.h"
#include "vtac/onnx.h"

static char notes[512];

static void take_note(void *context, const char *text)
{
    (void)context;
    (void)snprintf(notes, sizeof notes, "%s", text);
}

/* Imports; the text of the graph (free()) or, on failure, the sentence. */
static char *import_with(model *m, const vtac_shape_option *shapes, uint32_t count)
{
    model_pack(m);
    const vtac_import_options options = {.shapes = shapes, .shape_count = count, .note = take_note};
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    notes[0] = '\0';
    if (vtac_onnx_parse(m->bytes, m->size, "m.onnx", NULL, &options, &graph, &diag) != VTA_OK) {
        assert_int_not_equal(diag.code, VTA_OK);
        assert_null(graph);
        return strdup(diag.text);
    }
    const vta_status valid = vtac_graph_verify(graph, &diag);
    if (valid != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    char *text = vtac_graph_print(graph, 64);
    vtac_graph_destroy(graph);
    return text;
}

static char *import(model *m)
{
    return import_with(m, NULL, 0);
}

static void expect_in(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("expected '%s' in:\n%s", part, text);
    }
}

static const int64_t image[] = {1, 3, 8, 6};

static void test_shape_arithmetic_folds(void **state)
{
    (void)state;
    /* x -> Reshape(x, [Shape(x)[0], -1]), written the long way round */
    model m;
    model_init(&m, 13);
    add_input(&m, "x", 4, image);
    const int64_t zero = 0;
    const int64_t minus = -1;
    add_ints(&m, "zero", 1, &zero);
    add_ints(&m, "minus", 1, &minus);
    (void)add_node(&m.graph, "Shape", "x", "s");
    set_int(add_node(&m.graph, "Gather", "s zero", "n"), "axis", 0);
    set_int(add_node(&m.graph, "Concat", "n minus", "shape"), "axis", 0);
    (void)add_node(&m.graph, "Reshape", "x shape", "y");
    add_output(&m.graph, "y");
    char *text = import(&m);
    expect_in(text, "const  %shape: i64[2] = [1, -1]\n");
    expect_in(text, "%y: f32[1,144] = Reshape(%x, %shape)");
    assert_null(strstr(text, "Gather"));
    free(text);
}

/* Sizes by a factor of floats, as detectors scale pictures: floor(8 · (1 / max(8, 6)) · 20), the same of 6.
 */
static void test_float_sizes_fold(void **state)
{
    (void)state;
    model m;
    model_init(&m, 13);
    add_input(&m, "x", 4, image);
    const int64_t places[] = {2, 3};
    const int64_t twenty = 20;
    add_ints(&m, "places", 2, places);
    add_ints(&m, "twenty", 1, &twenty);
    (void)add_node(&m.graph, "Shape", "x", "s");
    set_int(add_node(&m.graph, "Gather", "s places", "n"), "axis", 0);
    set_int(add_node(&m.graph, "Cast", "n", "f"), "to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    set_int(add_node(&m.graph, "ReduceMax", "f", "most"), "keepdims", 0);
    (void)add_node(&m.graph, "Reciprocal", "most", "r");
    set_int(add_node(&m.graph, "Cast", "twenty", "t"), "to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    (void)add_node(&m.graph, "Mul", "r t", "by");
    (void)add_node(&m.graph, "Mul", "f by", "g");
    (void)add_node(&m.graph, "Floor", "g", "h");
    set_int(add_node(&m.graph, "Cast", "h", "shape"), "to", ONNX__TENSOR_PROTO__DATA_TYPE__INT64);
    (void)add_node(&m.graph, "ConstantOfShape", "shape", "y");
    add_output(&m.graph, "y");
    char *text = import(&m);
    expect_in(text, "f32[20,15]");
    assert_null(strstr(text, "Reciprocal"));
    free(text);
}

static void test_old_forms_become_new(void **state)
{
    (void)state;
    model m;
    model_init(&m, 9);
    add_input(&m, "x", 4, image);
    const int64_t starts[] = {1, 0};
    const int64_t ends[] = {-1, 100};
    const int64_t axes[] = {2, 3};
    const int64_t squeezed[] = {0};
    const int64_t pads[] = {0, 0, 1, 2, 0, 0, 0, 1};
    Onnx__NodeProto *slice = add_node(&m.graph, "Slice", "x", "a");
    set_ints(slice, "starts", 2, starts);
    set_ints(slice, "ends", 2, ends);
    set_ints(slice, "axes", 2, axes);
    Onnx__NodeProto *clip = add_node(&m.graph, "Clip", "a", "b");
    set_float(clip, "min", 0.0F);
    set_float(clip, "max", 6.0F);
    Onnx__NodeProto *pad = add_node(&m.graph, "Pad", "b", "c");
    set_ints(pad, "pads", 8, pads);
    set_float(pad, "value", 1.5F);
    set_int(add_node(&m.graph, "Softmax", "c", "d"), "axis", 2);
    set_ints(add_node(&m.graph, "Squeeze", "d", "e"), "axes", 1, squeezed);
    add_output(&m.graph, "e");
    char *text = import(&m);
    expect_in(text, "%a: f32[1,3,6,6] = Slice("); /* 8 rows from 1 to -1, all 6 columns */
    expect_in(text, "%b: f32[1,3,6,6] = Clip(%a, ");
    expect_in(text, "f32[] = [6]");
    expect_in(text, "%c: f32[1,3,7,9] = Pad(%b, ");
    expect_in(text, "f32[] = [1.5]");
    expect_in(text,
              ": f32[3,63] = Flatten(%c) {axis=2}"); /* 1*3 rows of 7*9: softmax over both axes at once */
    expect_in(text, ": f32[3,63] = Softmax(");
    expect_in(text, ": f32[1,3,7,9] = Reshape(");
    expect_in(text, "%e: f32[3,7,9] = Squeeze(");
    free(text);
}

static void test_convolution_and_pools(void **state)
{
    (void)state;
    model m;
    model_init(&m, 13);
    const int64_t wide[] = {2, 8, 13, 11};
    const int64_t weight[] = {16, 4, 3, 3};
    const int64_t two[] = {2, 2};
    const int64_t three[] = {3, 3};
    add_input(&m, "x", 4, wide);
    add_input(&m, "w", 4, weight);
    Onnx__NodeProto *conv = add_node(&m.graph, "Conv", "x w", "a");
    set_int(conv, "group", 2);
    set_ints(conv, "strides", 2, two);
    set_ints(conv, "dilations", 2, two);
    Onnx__NodeProto *pool = add_node(&m.graph, "MaxPool", "a", "b");
    set_ints(pool, "kernel_shape", 2, two);
    set_ints(pool, "strides", 2, two);
    set_int(pool, "ceil_mode", 1);
    Onnx__NodeProto *same = add_node(&m.graph, "AveragePool", "x", "c");
    set_ints(same, "kernel_shape", 2, three);
    set_ints(same, "strides", 2, two);
    Onnx__AttributeProto *mode = add_attr(same, "auto_pad", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    mode->has_s = 1;
    mode->s.data = (uint8_t *)build_string("SAME_UPPER");
    mode->s.len = 10;
    add_output(&m.graph, "b");
    add_output(&m.graph, "c");
    char *text = import(&m);
    expect_in(text, "%a: f32[2,16,5,4] = Conv(");       /* (13 - 5) / 2 + 1, (11 - 5) / 2 + 1 */
    expect_in(text, "%b: f32[2,16,3,2] = MaxPool(");    /* 5 / 2 rounded up */
    expect_in(text, "%c: f32[2,8,7,6] = AveragePool("); /* 13 / 2, 11 / 2 rounded up */
    free(text);
}

static void test_batch_is_one_unless_given(void **state)
{
    (void)state;
    const int64_t open[] = {-1, 4};
    for (int given = 0; given < 2; given++) {
        model m;
        model_init(&m, 13);
        add_input(&m, "x", 2, open);
        (void)add_node(&m.graph, "Relu", "x", "y");
        add_output(&m.graph, "y");
        const vtac_shape_option shape = {.name = "x", .rank = 2, .dim = {5, 4}};
        char *text = import_with(&m, &shape, (uint32_t)given);
        expect_in(text, given ? "%y: f32[5,4] = Relu(%x)" : "%y: f32[1,4] = Relu(%x)");
        assert_string_equal(notes, given ? "" : "input 'x': batch dimension 'N' taken as 1");
        free(text);
    }
}

static Onnx__GraphProto *branch(const char *op)
{
    Onnx__GraphProto *graph = build_alloc(sizeof *graph);
    onnx__graph_proto__init(graph);
    (void)add_node(graph, op, "x", "inner");
    add_output(graph, "inner");
    return graph;
}

static void test_if_takes_the_known_branch(void **state)
{
    (void)state;
    for (int rank = 3; rank <= 4; rank++) {
        model m;
        model_init(&m, 13);
        add_input(&m, "x", (size_t)rank, image);
        const int64_t four = 4;
        add_ints(&m, "four", 1, &four);
        (void)add_node(&m.graph, "Shape", "x", "s");
        (void)add_node(&m.graph, "Shape", "s", "rank");
        (void)add_node(&m.graph, "Equal", "rank four", "is_four");
        Onnx__NodeProto *node = add_node(&m.graph, "If", "is_four", "y");
        set_graph(node, "then_branch", branch("Relu"));
        set_graph(node, "else_branch", branch("Sigmoid"));
        add_output(&m.graph, "y");
        char *text = import(&m);
        expect_in(text, rank == 4 ? "= Relu(%x)" : "= Sigmoid(%x)");
        assert_null(strstr(text, rank == 4 ? "Sigmoid" : "Relu"));
        free(text);
    }
}

static void test_loop_unrolls(void **state)
{
    (void)state;
    model m;
    model_init(&m, 13);
    add_input(&m, "x", 4, image);
    const int64_t three = 3;
    APPEND(m.graph.initializer, m.graph.n_initializer, int_tensor("trips", 0, NULL, &three, 1));
    Onnx__GraphProto *body = build_alloc(sizeof *body);
    onnx__graph_proto__init(body);
    APPEND(body->input, body->n_input, value_info("i", 7, 0, NULL));
    APPEND(body->input, body->n_input, value_info("go", 9, 0, NULL));
    APPEND(body->input, body->n_input, value_info("v", 1, 4, image));
    (void)add_node(body, "Identity", "go", "go_on");
    (void)add_node(body, "Add", "v x", "sum");
    (void)add_node(body, "Relu", "sum", "scan");
    add_output(body, "go_on");
    add_output(body, "sum");
    add_output(body, "scan");
    Onnx__NodeProto *loop = add_node(&m.graph, "Loop", "trips _ x", "last all");
    set_graph(loop, "body", body);
    add_output(&m.graph, "last");
    add_output(&m.graph, "all");
    char *text = import(&m);
    int adds = 0;
    for (const char *p = text; (p = strstr(p, " = Add(")) != NULL; p++) {
        adds++;
    }
    assert_int_equal(adds, 3);
    expect_in(text, ": f32[3,1,3,8,6] = Concat(");
    free(text);
}

static void test_functions_are_inlined(void **state)
{
    (void)state;
    model m;
    model_init(&m, 13);
    add_input(&m, "x", 4, image);
    Onnx__FunctionProto function;
    onnx__function_proto__init(&function);
    function.name = build_string("Twice");
    function.domain = build_string("local");
    split_names("a", &function.input, &function.n_input);
    split_names("c", &function.output, &function.n_output);
    Onnx__GraphProto nodes;
    onnx__graph_proto__init(&nodes);
    Onnx__NodeProto *leaky = add_node(&nodes, "LeakyRelu", "a", "b");
    add_attr(leaky, "alpha", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT)->ref_attr_name =
        build_string("slope");
    (void)add_node(&nodes, "Add", "b b", "c");
    function.node = nodes.node;
    function.n_node = nodes.n_node;
    function.opset_import = m.opsets;
    function.n_opset_import = 1;
    Onnx__FunctionProto *functions[] = {&function};
    m.model.functions = functions;
    m.model.n_functions = 1;
    Onnx__NodeProto *call = add_node(&m.graph, "Twice", "x", "y");
    call->domain = build_string("local");
    set_float(call, "slope", 0.25F);
    add_output(&m.graph, "y");
    char *text = import(&m);
    expect_in(text, "= LeakyRelu(%x) {alpha=0.25f}");
    expect_in(text, "= Add(%b, %b)");
    assert_null(strstr(text, "Twice"));
    free(text);
}

/* ---- bad models ---- */

static void expect_error(model *m, const char *message)
{
    char *text = import(m);
    assert_string_equal(text, message);
    free(text);
}

static void test_errors(void **state)
{
    (void)state;
    model m;
    model_init(&m, 13);
    add_input(&m, "x", 4, image);
    add_node(&m.graph, "Fancy", "x", "a")->name = build_string("first");
    (void)add_node(&m.graph, "Relu", "a", "b");
    add_node(&m.graph, "Strange", "b", "y")->domain = build_string("my.domain");
    add_output(&m.graph, "y");
    expect_error(&m, "m.onnx: 2 nodes have operators that are not supported: Fancy (node 'first'), "
                     "my.domain.Strange (node 'y')");

    model_init(&m, 13);
    add_input(&m, "x", 4, image);
    (void)add_node(&m.graph, "Add", "x z", "y"); /* z comes later: a cycle through y */
    (void)add_node(&m.graph, "Relu", "y", "z");
    add_output(&m.graph, "z");
    expect_error(
        &m,
        "m.onnx: node 'y' (Add): input 'z' is defined by no earlier node; the model is cyclic, unordered or "
        "incomplete");

    model_init(&m, 13);
    add_input(&m, "x", 4, image);
    (void)add_node(&m.graph, "Relu", "x", "y");
    (void)add_node(&m.graph, "Neg", "x", "y");
    add_output(&m.graph, "y");
    expect_error(
        &m,
        "m.onnx: node 'y' (Neg): its output 'y' has the name of another value; each needs one of its own");

    model_init(&m, 13);
    add_input(&m, "x", 4, image);
    (void)add_node(&m.graph, "Relu", "x", "x");
    add_output(&m.graph, "x");
    expect_error(
        &m,
        "m.onnx: node 'x' (Relu): its output 'x' has the name of another value; each needs one of its own");

    model_init(&m, 13);
    add_input(&m, "x", 4, image);
    add_input(&m, "x", 4, image);
    (void)add_node(&m.graph, "Relu", "x", "y");
    add_output(&m.graph, "y");
    expect_error(&m, "m.onnx: two values have the name 'x'; each needs one of its own");

    model_init(&m, 13);
    const int64_t small[] = {3, 5};
    add_input(&m, "x", 4, image);
    add_input(&m, "s", 2, small);
    (void)add_node(&m.graph, "Add", "x s", "y");
    add_output(&m.graph, "y");
    expect_error(&m, "m.onnx: node 'y' (Add): f32[1,3,8,6] and f32[3,5] do not broadcast");

    model_init(&m, 13);
    const int64_t huge[] = {1, INT64_MAX / 2, 8};
    add_input(&m, "x", 3, huge);
    (void)add_node(&m.graph, "Relu", "x", "y");
    add_output(&m.graph, "y");
    expect_error(&m, "m.onnx: input 'x' is f32[1,4611686018427387903,8], which is too large");

    model_init(&m, 13);
    const int64_t open[] = {1, -1};
    add_input(&m, "x", 2, open);
    (void)add_node(&m.graph, "Relu", "x", "y");
    add_output(&m.graph, "y");
    expect_error(&m, "m.onnx: input 'x': axis 1 ('N') has no size; give it with --shape x=...");

    model_init(&m, 17); /* a scale of other places than the axes that it belongs to */
    add_input(&m, "x", 4, image);
    add_input(&m, "s", 2, small);
    (void)add_node(&m.graph, "LayerNormalization", "x s", "y");
    add_output(&m.graph, "y");
    expect_error(&m,
                 "m.onnx: node 'y' (LayerNormalization): input 1, f32[3,5], does not broadcast to input 0");

    model_init(&m, 13); /* one scale a channel, and one too few */
    const int64_t two[] = {2};
    add_input(&m, "x", 4, image);
    add_input(&m, "s", 1, two);
    (void)add_node(&m.graph, "InstanceNormalization", "x s s", "y");
    add_output(&m.graph, "y");
    expect_error(&m,
                 "m.onnx: node 'y' (InstanceNormalization): input 1 is f32[2], expected as many elements as "
                 "axis 1 of input 0");

    model_init(&m, 13); /* integers where only floats have a meaning */
    APPEND(m.graph.input, m.graph.n_input, value_info("x", 7, 4, image));
    (void)add_node(&m.graph, "Exp", "x", "y");
    add_output(&m.graph, "y");
    expect_error(&m, "m.onnx: node 'y' (Exp): input 0 is i64, expected floats");

    model_init(&m, 13); /* two types in one sum */
    add_input(&m, "x", 4, image);
    APPEND(m.graph.input, m.graph.n_input, value_info("k", 7, 4, image));
    (void)add_node(&m.graph, "Add", "x k", "y");
    add_output(&m.graph, "y");
    expect_error(&m, "m.onnx: node 'y' (Add): input 1 is i64, expected the type of input 0");

    model_init(&m, 0);
    expect_error(&m, "m.onnx: opset 0 is not one of ONNX, which begin with 1");

    model_init(&m, 13);
    const int64_t three = 3;
    const int64_t wrong[] = {4};
    add_input(&m, "x", 4, image);
    APPEND(m.graph.initializer, m.graph.n_initializer, int_tensor("w", 1, wrong, &three, 1));
    expect_error(&m, "m.onnx: tensor 'w': it holds 1 elements, expected 4");
}

static void test_external_data_stays_inside(void **state)
{
    (void)state;
    static const char *const bad[] = {"/etc/passwd", "../weights", "a/../../b", "a/.."};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        model m;
        model_init(&m, 13);
        const int64_t dims[] = {4};
        Onnx__TensorProto *tensor = int_tensor("w", 1, dims, NULL, 0);
        tensor->has_data_location = 1;
        tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
        Onnx__StringStringEntryProto *entry = build_alloc(sizeof *entry);
        onnx__string_string_entry_proto__init(entry);
        entry->key = build_string("location");
        entry->value = build_string(bad[i]);
        APPEND(tensor->external_data, tensor->n_external_data, entry);
        APPEND(m.graph.initializer, m.graph.n_initializer, tensor);
        model_pack(&m);
        vtac_graph *graph;
        vta_diag diag = {0};
        assert_int_equal(vtac_onnx_parse(m.bytes, m.size, "m.onnx", ".", NULL, &graph, &diag), VTA_INVALID);
        char message[TEMPORARY_PATH + 128];
        (void)snprintf(
            message, sizeof message,
            "m.onnx: tensor 'w': its external data '%s' lies outside the model's folder; move it there",
            bad[i]);
        assert_string_equal(diag.text, message);
    }
}

/* A model whose weight lies in another file: there, not there, too short, of another length. */
static void test_external_data(void **state)
{
    (void)state;
    static const struct {
        const char *location, *length, *message;
        size_t bytes; /* that the file has; 0: it is not there */
    } rows[] = {
        {"weights.bin", "32", NULL, 32},
        {"weights.bin", "32",
         "m.onnx: tensor 'w': cannot read its external data '%s/weights.bin'; it must lie beside the model",
         0},
        {"weights.bin", "32", "m.onnx: tensor 'w': '%s/weights.bin' ends 12 bytes before the tensor does",
         20},
        {"weights.bin", "24", "m.onnx: tensor 'w': its external data has 24 bytes, expected 32", 32},
        {"weights.bin", "x", "m.onnx: tensor 'w': external data: length 'x' is not a number", 32},
    };
    char folder[TEMPORARY_PATH];
    char path[TEMPORARY_PATH + 16];
    const int64_t contents[] = {5, 6, 7, 8};
    assert_true(temporary_folder(folder));
    (void)snprintf(path, sizeof path, "%s/weights.bin", folder);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        model m;
        model_init(&m, 13);
        const int64_t dims[] = {4};
        Onnx__TensorProto *tensor = int_tensor("w", 1, dims, NULL, 0);
        tensor->has_data_location = 1;
        tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
        const char *const entries[][2] = {{"location", rows[i].location}, {"length", rows[i].length}};
        for (size_t k = 0; k < 2; k++) {
            Onnx__StringStringEntryProto *entry = build_alloc(sizeof *entry);
            onnx__string_string_entry_proto__init(entry);
            entry->key = build_string(entries[k][0]);
            entry->value = build_string(entries[k][1]);
            APPEND(tensor->external_data, tensor->n_external_data, entry);
        }
        APPEND(m.graph.initializer, m.graph.n_initializer, tensor);
        add_output(&m.graph, "w");
        model_pack(&m);
        if (rows[i].bytes > 0) {
            assert_int_equal(vta_file_write(path, contents, rows[i].bytes, NULL), VTA_OK);
        }
        vtac_graph *graph = NULL;
        vta_diag diag = {0};
        const vta_status status = vtac_onnx_parse(m.bytes, m.size, "m.onnx", folder, NULL, &graph, &diag);
        (void)unlink(path);
        if (rows[i].message == NULL) {
            assert_int_equal(status, VTA_OK);
            assert_memory_equal(graph->values[graph->outputs[0]].constant->data, contents, sizeof contents);
            vtac_graph_destroy(graph);
            continue;
        }
        char message[TEMPORARY_PATH + 128];
        (void)snprintf(message, sizeof message, "%s", rows[i].message);
        const char *place = strstr(rows[i].message, "%s");
        if (place != NULL) {
            (void)snprintf(message, sizeof message, "%.*s%s%s", (int)(place - rows[i].message),
                           rows[i].message, folder, place + 2);
        }
        assert_string_equal(diag.text, message);
    }
    (void)rmdir(folder);
}

/* A model with one weight of `count` numbers in the file at `location`; its import, from `folder`. */
static vta_status import_external(const char *folder, const char *location, int64_t count, vtac_graph **graph,
                                  vta_diag *diag)
{
    model m;
    const int64_t dims[] = {count};
    model_init(&m, 13);
    Onnx__TensorProto *tensor = int_tensor("w", 1, dims, NULL, 0);
    tensor->has_data_location = 1;
    tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    Onnx__StringStringEntryProto *entry = build_alloc(sizeof *entry);
    onnx__string_string_entry_proto__init(entry);
    entry->key = build_string("location");
    entry->value = build_string(location);
    APPEND(tensor->external_data, tensor->n_external_data, entry);
    APPEND(m.graph.initializer, m.graph.n_initializer, tensor);
    add_output(&m.graph, "w");
    model_pack(&m);
    *graph = NULL;
    *diag = (vta_diag){0};
    return vtac_onnx_parse(m.bytes, m.size, "m.onnx", folder, NULL, graph, diag);
}

/* A weight that its model says is larger than the memory there is: refused before a byte of it is read. */
static void test_external_data_has_room(void **state)
{
    (void)state;
    char folder[TEMPORARY_PATH];
    vtac_graph *graph;
    vta_diag diag = {0};
    const uint64_t available = vta_room_available();
    assert_true(available < (uint64_t)INT64_MAX / 4);
    assert_true(temporary_folder(folder));
    assert_int_equal(
        import_external(folder, "weights.bin", (int64_t)(available / sizeof(int64_t)) * 2, &graph, &diag),
        VTA_NOMEM);
    assert_non_null(strstr(diag.text, "m.onnx: tensor 'w': "));
    assert_non_null(strstr(diag.text, " bytes of memory are needed for its external data, "));
    (void)rmdir(folder);
}

/* A model that was read from memory has no folder. */
static void test_external_data_needs_a_folder(void **state)
{
    (void)state;
    vtac_graph *graph;
    vta_diag diag = {0};
    int file = 0;
    assert_int_equal(import_external(NULL, "weights.bin", 4, &graph, &diag), VTA_INVALID);
    diag = (vta_diag){0};
    assert_int_equal(vta_inside_open(NULL, "a.bin", "its weights", &file, &diag), VTA_INVALID);
    assert_int_equal(file, -1);
    assert_string_equal(
        diag.text,
        "its weights 'a.bin' lies beside the model, which was read from memory; load it by its path");
}

static const char *in_folder(const char *folder, const char *name)
{
    static char paths[4][TEMPORARY_PATH + 32];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* External data is a regular file, and no link leads to it; a pipe without a writer must not wait for one. */
static void test_external_data_is_a_plain_file(void **state)
{
    (void)state;
    static const struct {
        const char *location, *why; /* NULL: taken */
    } rows[] = {
        {"real/w.bin", NULL},
        {"./real//w.bin", NULL},
        {"linked/w.bin", "'%s/linked/w.bin' is reached through a symbolic link"},
        {"linked/nowhere", "'%s/linked/nowhere' is reached through a symbolic link"},
        {"link.bin", "'%s/link.bin' is reached through a symbolic link"},
        {"out/passwd", "'%s/out/passwd' is reached through a symbolic link"},
        {"pipe", "'%s/pipe' is no regular file"},
        {"real", "'%s/real' is no regular file"},
        {"real/w.bin/", "'%s/real/w.bin/' is reached through"},
        {"real/none", "cannot read its external data '%s/real/none'"},
    };
    char folder[TEMPORARY_PATH];
    const int64_t contents[] = {5, 6, 7, 8};
    assert_true(temporary_folder(folder));
    assert_int_equal(mkdir(in_folder(folder, "real"), 0700), 0);
    assert_int_equal(vta_file_write(in_folder(folder, "real/w.bin"), contents, sizeof contents, NULL),
                     VTA_OK);
    assert_int_equal(symlink("real", in_folder(folder, "linked")), 0);
    assert_int_equal(symlink("real/w.bin", in_folder(folder, "link.bin")), 0);
    assert_int_equal(symlink("/etc", in_folder(folder, "out")), 0);
    assert_int_equal(mkfifo(in_folder(folder, "pipe"), 0600), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vtac_graph *graph;
        vta_diag diag;
        const vta_status status = import_external(folder, rows[i].location, 4, &graph, &diag);
        if (rows[i].why == NULL) {
            assert_int_equal(status, VTA_OK);
            assert_memory_equal(graph->values[graph->outputs[0]].constant->data, contents, sizeof contents);
            vtac_graph_destroy(graph);
            continue;
        }
        char why[TEMPORARY_PATH + 128];
        const char *place = strstr(rows[i].why, "%s");
        (void)snprintf(why, sizeof why, "%.*s%s%s", (int)(place - rows[i].why), rows[i].why, folder,
                       place + 2);
        assert_int_not_equal(status, VTA_OK);
        assert_non_null(strstr(diag.text, why));
    }
    static const char *const made[] = {"real/w.bin", "linked", "link.bin", "out", "pipe"};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        assert_int_equal(unlink(in_folder(folder, made[i])), 0);
    }
    assert_int_equal(rmdir(in_folder(folder, "real")), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* Any truncation and any flipped byte is refused with a sentence or imports into a valid graph. */
static void test_damage(void **state)
{
    (void)state;
    model m;
    model_init(&m, 13);
    add_input(&m, "x", 4, image);
    const int64_t zero = 0;
    add_ints(&m, "zero", 1, &zero);
    (void)add_node(&m.graph, "Shape", "x", "s");
    set_int(add_node(&m.graph, "Gather", "s zero", "n"), "axis", 0);
    set_graph(add_node(&m.graph, "If", "n", "y"), "then_branch", branch("Relu"));
    add_output(&m.graph, "y");
    model_pack(&m);
    uint32_t refused = 0;
    for (size_t i = 0; i < m.size * 9; i++) {
        const size_t size = i < m.size ? i : m.size;
        uint8_t *copy = malloc(size + 1);
        memcpy(copy, m.bytes, size);
        if (i >= m.size) {
            copy[(i - m.size) / 8] ^= (uint8_t)(1U << ((i - m.size) % 8));
        }
        vtac_graph *graph = NULL;
        vta_diag diag = {0};
        if (vtac_onnx_parse(copy, size, "m.onnx", NULL, NULL, &graph, &diag) != VTA_OK) {
            assert_int_equal(strncmp(diag.text, "m.onnx: ", 8), 0);
            refused++;
        } else {
            assert_int_equal(vtac_graph_verify(graph, NULL), VTA_OK);
        }
        vtac_graph_destroy(graph);
        free(copy);
    }
    assert_true(refused > m.size);
}

/* A graph in an attribute of a node in a graph … deeper than any stack should follow. */
static void test_deep_nesting_is_refused(void **state)
{
    (void)state;
    model m;
    model_init(&m, 13);
    Onnx__GraphProto *inner = branch("Relu");
    for (int i = 0; i < 60; i++) {
        Onnx__GraphProto *outer = build_alloc(sizeof *outer);
        onnx__graph_proto__init(outer);
        set_graph(add_node(outer, "If", "c", "inner"), "then_branch", inner);
        inner = outer;
    }
    set_graph(add_node(&m.graph, "If", "c", "y"), "then_branch", inner);
    expect_error(&m, "m.onnx: messages are nested deeper than 100 levels");
}

static int free_models(void **state)
{
    (void)state;
    build_free();
    return 0;
}

int main(void)
{
#define TEST(function) cmocka_unit_test_teardown(function, free_models)
    const struct CMUnitTest tests[] = {
        TEST(test_shape_arithmetic_folds),
        TEST(test_float_sizes_fold),
        TEST(test_old_forms_become_new),
        TEST(test_convolution_and_pools),
        TEST(test_batch_is_one_unless_given),
        TEST(test_if_takes_the_known_branch),
        TEST(test_loop_unrolls),
        TEST(test_functions_are_inlined),
        TEST(test_errors),
        TEST(test_external_data_stays_inside),
        TEST(test_external_data),
        TEST(test_external_data_has_room),
        TEST(test_external_data_needs_a_folder),
        TEST(test_external_data_is_a_plain_file),
        TEST(test_damage),
        TEST(test_deep_nesting_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
