/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the first inputs of the importer's fuzz target into a folder: small models of one node, every
 * operator of the tables with whatever inputs it takes among some shapes and types, open ones among them, and
 * some with attributes and constants of their own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../compiler/build_model.h"
#include "vta/file.h"
#include "vtac/flow.h"
#include "vtac/onnx.h"

static const char *folder;
static unsigned written;

static void write_seed(model *m, const char *name)
{
    char path[4096];
    vta_diag diag = {0};
    model_pack(m);
    (void)snprintf(path, sizeof path, "%s/%03u_%s.onnx", folder, written++, name);
    if (vta_file_write(path, m->bytes, m->size, &diag) != VTA_OK) {
        (void)fprintf(stderr, "%s\n", diag.text);
        exit(1);
    }
}

static bool imports(model *m)
{
    vtac_graph *graph = NULL;
    const vtac_import_options options = {.dynamic = true};
    model_pack(m);
    const bool ok = vtac_onnx_parse(m->bytes, m->size, "seed", NULL, &options, &graph, NULL) == VTA_OK;
    vtac_graph_destroy(graph);
    return ok;
}

enum { F32 = 1, U8 = 2, I8 = 3, I32 = 6, I64 = 7, TEXT = 8, BOOL = 9 }; /* of TensorProto.DataType */

/* `inputs` values of one type and shape through one node; written where it imports, or in any case. */
static bool try_operator(const char *op, const char *domain, uint32_t inputs, int32_t type, size_t rank,
                         const int64_t *dims, bool any)
{
    static const int64_t two[] = {2, 2};
    char names[256] = "";
    model m;
    model_init(&m, 28);
    for (uint32_t i = 0; i < inputs; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "x%u", i);
        (void)strcat(strcat(names, i > 0 ? " " : ""), name);
        APPEND(m.graph.input, m.graph.n_input, value_info(name, type, rank, dims));
    }
    Onnx__NodeProto *node = add_node(&m.graph, op, names, "y");
    node->domain = build_string(domain);
    set_int(node, "to", F32);
    set_int(node, "blocksize", 2);
    set_int(node, "num_groups", 2);
    set_ints(node, "kernel_shape", 2, two);
    set_ints(node, "pooled_shape", 2, two);
    set_ints(node, "shape", 2, two);
    set_int(node, "num_heads", 2);
    set_int(node, "q_num_heads", 2);
    set_int(node, "kv_num_heads", 2);
    add_output(&m.graph, "y");
    const bool ok = imports(&m);
    if (ok || any) {
        write_seed(&m, op);
    }
    build_free();
    return ok;
}

static const int64_t shape[] = {4, 4, 6, 6};
static const int64_t open_shape[] = {-1, -1, 6, 6}; /* any sizes */
static const int64_t open_rows[] = {-1, 6};

/* With each type and rank that it takes; whether it takes any. */
static bool try_shapes(const char *op, const char *domain, uint32_t min, uint32_t max)
{
    static const int32_t types[] = {F32, U8, BOOL, I64};
    bool done = false;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (size_t rank = 4; rank > 0 && !done; rank = rank == 4 ? 2 : rank - 1) {
            for (uint32_t inputs = min; inputs <= max && inputs < min + 3U; inputs++) {
                done = try_operator(op, domain, inputs, types[t], rank, shape, false) || done;
                (void)try_operator(op, domain, inputs, types[t], rank, rank == 2 ? open_rows : open_shape,
                                   false);
            }
        }
    }
    return done;
}

static void every_operator(void)
{
    for (int i = 0; i < VTAC_OP_COUNT; i++) {
        const vtac_op_info *op = vtac_op_get((vtac_op)i);
        (void)try_shapes(op->name, op->domain, op->in_min, op->in_max);
    }
}

/* Compositions whose inputs are not of one shape are refused: a seed to begin with all the same. */
static void every_composition(void)
{
    vtac_composition made;
    for (uint32_t i = 0; vtac_composition_get(i, &made); i++) {
        if (!try_shapes(made.name, made.domain, 0, 3) && !try_shapes(made.name, made.domain, 3, 5)) {
            (void)try_operator(made.name, made.domain, 3, F32, 3, shape, true);
            (void)try_operator(made.name, made.domain, 7, F32, 3, open_shape, true);
        }
    }
}

/* A graph of one node, for a body: inputs and outputs by name, all floats of no declared shape. */
static Onnx__GraphProto *body_of(const char *op, const char *ins, const char *outs)
{
    Onnx__GraphProto *graph = build_alloc(sizeof *graph);
    onnx__graph_proto__init(graph);
    graph->name = build_string("body");
    (void)add_node(graph, op, ins, outs);
    return graph;
}

/* Operators that instructions alone compute: those with bodies are written here, the others are made of the
 * inputs that they may take. */
static void every_instruction(void)
{
    static const int32_t types[] = {F32, BOOL, I64, TEXT};
    static const char *const bodies[] = {"If", "Loop", "Scan", "Scan", "SequenceMap"};
    for (uint32_t i = 0; vtac_flow_only_get(i).name != NULL; i++) {
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
            for (uint32_t inputs = 0; inputs < 4; inputs++) {
                (void)try_operator(vtac_flow_only_get(i).name, "", inputs, types[t], 1, open_rows, false);
            }
        }
        /* of a sequence */
        model m;
        model_init(&m, 24);
        APPEND(m.graph.input, m.graph.n_input, value_info("x", F32, 2, open_rows));
        APPEND(m.graph.input, m.graph.n_input, value_info("i", I64, 0, NULL));
        (void)add_node(&m.graph, "SequenceConstruct", "x x", "s");
        (void)add_node(&m.graph, vtac_flow_only_get(i).name, "s i", "y");
        add_output(&m.graph, "y");
        write_seed(&m, vtac_flow_only_get(i).name);
        build_free();
    }
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        const bool branches = i == 0;
        const bool old = i == 3;
        model m;
        model_init(&m, old ? 8 : 24);
        APPEND(m.graph.input, m.graph.n_input, value_info("x", F32, 2, open_rows));
        APPEND(m.graph.input, m.graph.n_input, value_info("c", BOOL, 0, NULL));
        APPEND(m.graph.input, m.graph.n_input, value_info("n", I64, 0, NULL));
        (void)add_node(&m.graph, i == 4 ? "SequenceConstruct" : "Identity", i == 4 ? "x x" : "x", "s");
        Onnx__NodeProto *node = add_node(&m.graph, bodies[i],
                                         branches ? "c"
                                         : i == 1 ? "n c s"
                                         : old    ? "_ s s"
                                         : i == 2 ? "s s"
                                                  : "s",
                                         i == 2 || i == 3 ? "y z" : "y");
        Onnx__GraphProto *body = i == 1   ? body_of("Add", "a x", "b")
                                 : i < 1  ? body_of("Neg", "x", "b")
                                 : i == 4 ? body_of("Neg", "a", "b")
                                          : body_of("Add", "a e", "b");
        if (i == 1) {
            (void)add_node(body, "Not", "go", "on");
            APPEND(body->input, body->n_input, value_info("t", I64, 0, NULL));
            APPEND(body->input, body->n_input, value_info("go", BOOL, 0, NULL));
            add_output(body, "on");
        }
        if (i > 0) {
            APPEND(body->input, body->n_input, value_info("a", F32, 0, NULL));
        }
        if (i == 2 || i == 3) {
            APPEND(body->input, body->n_input, value_info("e", F32, 0, NULL));
            add_output(body, "b");
            set_int(node, "num_scan_inputs", 1);
        }
        add_output(body, "b");
        set_graph(node, branches ? "then_branch" : "body", body);
        if (branches) {
            Onnx__GraphProto *other = body_of("Relu", "x", "o");
            add_output(other, "o");
            set_graph(node, "else_branch", other);
        }
        add_output(&m.graph, "y");
        if (!imports(&m)) {
            (void)fprintf(stderr, "seed %s %zu does not import\n", bodies[i], i);
            exit(1);
        }
        write_seed(&m, bodies[i]);
        build_free();
    }
}

typedef struct special {
    const char *op, *inputs; /* names of those below */
    int64_t ints[8];         /* constant "c" */
    size_t count;
    const char *attribute; /* integer */
    int64_t value;
} special;

/* f2, f3, f4: float inputs; c: the constant; q: uint8 [4,4,6,6]; w: int8 [4,4,3,3]; s: float scalar; z: uint8
 * scalar; y: int8 scalar; l: weights of an LSTM; o: two floats */
static void add_special(const special *s)
{
    static const int64_t dims[] = {4, 4, 6, 6};
    static const int64_t small[] = {4, 4, 3, 3};
    static const int64_t lstm[] = {1, 12, 3};
    static const int64_t pair[] = {2};
    static const struct {
        const char *name;
        int32_t type;
        size_t rank;
        const int64_t *dims;
    } inputs[] = {{"f2", F32, 2, dims}, {"f3", F32, 3, small}, {"f4", F32, 4, dims}, {"q", U8, 4, dims},
                  {"w", I8, 4, small},  {"s", F32, 0, NULL},   {"z", U8, 0, NULL},   {"y", I8, 0, NULL},
                  {"l", F32, 3, lstm},  {"o", F32, 1, pair}};
    model m;
    model_init(&m, 17);
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        APPEND(m.graph.input, m.graph.n_input,
               value_info(inputs[i].name, inputs[i].type, inputs[i].rank, inputs[i].dims));
    }
    if (s->count > 0) {
        add_ints(&m, "c", s->count, s->ints);
    }
    Onnx__NodeProto *node = add_node(&m.graph, s->op, s->inputs, "out");
    if (s->attribute != NULL) {
        set_int(node, s->attribute, s->value);
    }
    add_output(&m.graph, "out");
    if (!imports(&m)) {
        (void)fprintf(stderr, "seed %s does not import\n", s->op);
        exit(1);
    }
    write_seed(&m, s->op);
    build_free();
}

static void special_operators(void)
{
    static const special rows[] = {
        {"Conv", "f4 f4", {0}, 0, NULL, 0},
        {"QLinearConv", "q s z w s y s z", {0}, 0, NULL, 0},
        {"LSTM", "f3 l l", {0}, 0, NULL, 0},
        {"TopK", "f4 c", {3}, 1, "axis", 1},
        {"Reshape", "f4 c", {4, -1}, 2, NULL, 0},
        {"Expand", "f4 c", {2, 4, 4, 6, 6}, 5, NULL, 0},
        {"Slice", "f4 c c", {1, 5}, 2, NULL, 0},
        {"Tile", "f2 c", {2, 3}, 2, NULL, 0},
        {"Pad", "f2 c", {1, 0, 2, 1}, 4, NULL, 0},
        {"Resize", "f4 _ _ c", {4, 4, 12, 3}, 4, NULL, 0},
        {"Gather", "f4 c", {3, 0, -1}, 3, "axis", 1},
        {"ReduceSum", "f4 c", {1, -1}, 2, "keepdims", 0},
        {"Split", "f4 c", {4}, 1, "axis", 1},
        {"OneHot", "f2 c o", {5}, 1, "axis", 0},
        {"ConstantOfShape", "c", {3, 2, 1}, 3, NULL, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        add_special(&rows[i]);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: seeds FOLDER\n");
        return 2;
    }
    folder = argv[1];
    every_operator();
    every_composition();
    every_instruction();
    special_operators();
    (void)printf("%u models\n", written);
    return 0;
}
