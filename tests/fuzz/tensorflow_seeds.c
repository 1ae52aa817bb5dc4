/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the first inputs of the TensorFlow fuzz target into a folder: for each operator that is taken three
 * GraphDefs of that operator with different inputs and all attributes that any of them has; one of these as a
 * SavedModel and as a model of TensorFlow.js, with functions; an index of variables.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 14, KINDS = 3 };

typedef struct bytes {
    uint8_t at[ROOM];
    size_t size;
} bytes;

static void put_data(bytes *b, const void *data, size_t size)
{
    if (size > ROOM - b->size) {
        (void)fprintf(stderr, "a seed of more than %d bytes\n", (int)ROOM);
        exit(1);
    }
    memcpy(b->at + b->size, data, size);
    b->size += size;
}

static void put_number(bytes *b, uint64_t value)
{
    for (; value > 127; value >>= 7) {
        put_data(b, &(uint8_t){(uint8_t)(value & 127U) | 128U}, 1);
    }
    put_data(b, &(uint8_t){(uint8_t)value}, 1);
}

static void put_int(bytes *b, unsigned field, uint64_t value)
{
    put_number(b, (uint64_t)field << 3);
    put_number(b, value);
}

static void put_message(bytes *b, unsigned field, const void *data, size_t size)
{
    put_number(b, (uint64_t)field << 3 | 2);
    put_number(b, size);
    put_data(b, data, size);
}

static void put_text(bytes *b, unsigned field, const char *text)
{
    put_message(b, field, text, strlen(text));
}

static void put_bytes(bytes *b, unsigned field, const bytes *part)
{
    put_message(b, field, part->at, part->size);
}

/* ---- attributes */

enum { LIST = 1, TEXT, INT, BOOL = 5, TYPE, SHAPE, TENSOR, FUNC = 10 };

static void put_attr(bytes *node, const char *name, const bytes *value)
{
    bytes entry = {.size = 0};
    put_text(&entry, 1, name);
    put_bytes(&entry, 2, value);
    put_bytes(node, 5, &entry);
}

static void put_int_attr(bytes *node, const char *name, unsigned field, uint64_t number)
{
    bytes value = {.size = 0};
    put_int(&value, field, number);
    put_attr(node, name, &value);
}

static void put_text_attr(bytes *node, const char *name, const char *text)
{
    bytes value = {.size = 0};
    put_text(&value, TEXT, text);
    put_attr(node, name, &value);
}

static void put_list_attr(bytes *node, const char *name, const int *numbers, size_t count)
{
    bytes list = {.size = 0};
    bytes value = {.size = 0};
    for (size_t i = 0; i < count; i++) {
        put_int(&list, INT, (uint64_t)numbers[i]);
    }
    put_bytes(&value, LIST, &list);
    put_attr(node, name, &value);
}

static void shape_of(bytes *shape, const int *dims, size_t rank)
{
    for (size_t i = 0; i < rank; i++) {
        bytes dim = {.size = 0};
        put_int(&dim, 1, (uint64_t)dims[i]);
        put_bytes(shape, 2, &dim);
    }
}

/* ---- nodes */

static void begin_node(bytes *node, const char *name, const char *op)
{
    put_text(node, 1, name);
    put_text(node, 2, op);
}

static void put_input(bytes *graph, const char *name, const int *dims, size_t rank)
{
    bytes node = {.size = 0};
    bytes shape = {.size = 0};
    bytes value = {.size = 0};
    begin_node(&node, name, "Placeholder");
    shape_of(&shape, dims, rank);
    put_bytes(&value, SHAPE, &shape);
    put_attr(&node, "shape", &value);
    put_int_attr(&node, "dtype", TYPE, 1);
    put_bytes(graph, 1, &node);
}

/* Of integers (3) or floats (1); all have the value 1. */
static void put_constant(bytes *graph, const char *name, unsigned type, const int *dims, size_t rank)
{
    bytes node = {.size = 0};
    bytes shape = {.size = 0};
    bytes tensor = {.size = 0};
    bytes value = {.size = 0};
    static const uint8_t one[] = {0, 0, 0x80, 0x3f};
    begin_node(&node, name, "Const");
    shape_of(&shape, dims, rank);
    put_int(&tensor, 1, type);
    put_bytes(&tensor, 2, &shape);
    if (type == 1) {
        put_message(&tensor, 5, one, sizeof one);
    } else {
        put_int(&tensor, 7, 1);
    }
    put_bytes(&value, TENSOR, &tensor);
    put_attr(&node, "value", &value);
    put_bytes(graph, 1, &node);
}

static void put_all_attrs(bytes *node)
{
    static const int steps[] = {1, 1, 1, 1};
    static const int windows[] = {1, 2, 2, 1};
    static const char *const ints[] = {"axis",      "num_split", "num",  "block_size", "N",
                                       "keep_dims", "T",         "DstT", "dtype"};
    bytes value = {.size = 0};
    bytes func = {.size = 0};
    put_list_attr(node, "strides", steps, 4);
    put_list_attr(node, "ksize", windows, 4);
    put_text_attr(node, "padding", "SAME");
    put_text_attr(node, "mode", "REFLECT");
    put_text_attr(node, "equation", "abcd,abcd->ab");
    for (size_t i = 0; i < sizeof ints / sizeof ints[0]; i++) {
        put_int_attr(node, ints[i], INT, 1);
    }
    put_text(&func, 1, "half");
    put_bytes(&value, FUNC, &func);
    static const char *const functions[] = {"f", "then_branch", "else_branch", "cond", "body"};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        put_attr(node, functions[i], &value);
    }
}

/* A function that gives its argument back, through a node. */
static void put_library(bytes *graph)
{
    bytes arg = {.size = 0};
    bytes out = {.size = 0};
    bytes signature = {.size = 0};
    bytes node = {.size = 0};
    bytes ret = {.size = 0};
    bytes function = {.size = 0};
    bytes library = {.size = 0};
    put_text(&arg, 1, "a");
    put_text(&out, 1, "y");
    put_text(&signature, 1, "half");
    put_bytes(&signature, 2, &arg);
    put_bytes(&signature, 3, &out);
    begin_node(&node, "n", "Neg");
    put_text(&node, 3, "a");
    put_text(&ret, 1, "y");
    put_text(&ret, 2, "n:y:0");
    put_bytes(&function, 1, &signature);
    put_bytes(&function, 3, &node);
    put_bytes(&function, 4, &ret);
    put_bytes(&library, 1, &function);
    put_bytes(graph, 2, &library);
}

/* Inputs of kind 0 are all x; 1: x, then integers; 2: x, then weights, then vectors. */
static void make_graph(bytes *graph, const char *op, unsigned inputs, int kind)
{
    static const char *const names[KINDS][2] = {{"x", "x"}, {"i", "i"}, {"w", "v"}};
    bytes node = {.size = 0};
    put_input(graph, "x", (const int[]){1, 4, 4, 2}, 4);
    put_constant(graph, "i", 3, (const int[]){1}, 1);
    put_constant(graph, "w", 1, (const int[]){3, 3, 2, 2}, 4);
    put_constant(graph, "v", 1, (const int[]){2}, 1);
    begin_node(&node, "y", op);
    for (unsigned i = 0; i < inputs; i++) {
        put_text(&node, 3, i == 0 ? "x" : names[kind][i > 1]);
    }
    put_all_attrs(&node);
    put_bytes(graph, 1, &node);
    put_library(graph);
}

/* ---- files */

static const char *folder;
static unsigned written;

static void write_seed(const char *name, const void *data, size_t size)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%03u_%s", folder, written++, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        (void)fprintf(stderr, "cannot write '%s'\n", path);
        exit(1);
    }
}

static void write_operator(const char *op, unsigned inputs)
{
    for (int kind = 0; kind < (inputs > 1 ? KINDS : 1); kind++) {
        bytes graph = {.size = 0};
        make_graph(&graph, op, inputs, kind);
        write_seed(op, graph.at, graph.size);
    }
}

static void put_end(bytes *signature, unsigned field, const char *name, const char *ref)
{
    bytes info = {.size = 0};
    bytes entry = {.size = 0};
    put_text(&info, 1, ref);
    put_text(&entry, 1, name);
    put_bytes(&entry, 2, &info);
    put_bytes(signature, field, &entry);
}

static void write_saved_model(void)
{
    bytes graph = {.size = 0};
    bytes signature = {.size = 0};
    bytes entry = {.size = 0};
    bytes meta = {.size = 0};
    bytes model = {.size = 0};
    make_graph(&graph, "PartitionedCall", 1, 0);
    put_end(&signature, 1, "in", "x:0");
    put_end(&signature, 2, "out", "y:0");
    put_text(&entry, 1, "serving_default");
    put_bytes(&entry, 2, &signature);
    put_bytes(&meta, 2, &graph);
    put_bytes(&meta, 5, &entry);
    put_int(&model, 1, 1);
    put_bytes(&model, 2, &meta);
    write_seed("saved_model.pb", model.at, model.size);
}

/* A table of one block, as it is or packed, which has a header and a variable 'v'. */
static void write_index(bool packed)
{
    static const uint8_t magic[] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};
    static const uint8_t entries[] = {0, 0,  2, 8, 1, 0, 1, 6, 'v', 8, 1, 18,
                                      0, 40, 4, 0, 0, 0, 0, 1, 0,   0, 0};
    bytes block = {.size = 0};
    bytes table = {.size = 0};
    bytes root = {.size = 0};
    bytes footer = {.size = 0};
    if (packed) {
        put_number(&block, sizeof entries);
        put_data(&block, &(uint8_t){(uint8_t)((sizeof entries - 1) << 2)}, 1);
    }
    put_data(&block, entries, sizeof entries);
    put_data(&table, block.at, block.size);
    put_data(&table, (const uint8_t[]){packed, 0, 0, 0, 0}, 5);
    put_data(&root, (const uint8_t[]){0, 1, 2, 'z', 0, (uint8_t)block.size, 0, 0, 0, 0, 1, 0, 0, 0}, 14);
    put_number(&footer, 0);
    put_number(&footer, 0);
    put_number(&footer, table.size);
    put_number(&footer, root.size);
    put_data(&table, root.at, root.size);
    put_data(&table, (const uint8_t[]){0, 0, 0, 0, 0}, 5);
    footer.size = 40;
    put_data(&footer, magic, sizeof magic);
    put_data(&table, footer.at, footer.size);
    write_seed("variables.index", table.at, table.size);
}

#define TF_HOWS
static const struct {
    const char *name;
    unsigned inputs;
} rows[] = {
#define TF_OP(name, in_min, fn, how) {#name, in_min},
#include "../../compiler/src/tensorflow/operators.def"
};

int main(int argc, char **argv)
{
    static const char json[] = "{\"format\":\"graph-model\",\"modelTopology\":{\"node\":[{\"name\":\"x\","
                               "\"op\":\"Placeholder\",\"attr\":{\"dtype\":{"
                               "\"type\":\"DT_FLOAT\"},\"shape\":{\"shape\":{\"dim\":[{\"size\":\"2\"},{"
                               "\"size\":\"-1\"}]}}}},{\"name\":\"y\",\"op\":"
                               "\"_FusedMatMul\",\"input\":[\"x\",\"x\"],\"attr\":{\"fused_ops\":{\"list\":{"
                               "\"s\":[\"Qmlhc0FkZA==\"]}},\"k\":{\"i\":\"3\"}"
                               "}}]},\"weightsManifest\":[{\"paths\":[\"w.bin\"],\"weights\":[{\"name\":"
                               "\"w\",\"shape\":[2,3],\"dtype\":\"float32\","
                               "\"quantization\":{\"dtype\":\"uint8\",\"scale\":0.1,\"min\":-1}}]}]}";
    static const char layers[] = "{\"modelTopology\":{\"class_name\":\"Sequential\",\"config\":{\"name\":"
                                 "\"n\",\"layers\":[{\"class_name\":\"Flatten\","
                                 "\"config\":{\"name\":\"f\",\"batch_input_shape\":[null,2,3]}},{\"class_"
                                 "name\":\"Activation\",\"config\":{\"name\":\"a\","
                                 "\"activation\":\"relu\"}}]}},\"weightsManifest\":[]}";
    folder = argc > 1 ? argv[1] : ".";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_operator(rows[i].name, rows[i].inputs > 0 ? rows[i].inputs : 1);
    }
    write_saved_model();
    write_index(false);
    write_index(true);
    write_seed("graph.json", json, sizeof json - 1);
    write_seed("layers.json", layers, sizeof layers - 1);
    return 0;
}
