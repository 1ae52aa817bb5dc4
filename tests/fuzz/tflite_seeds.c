/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the first inputs of the TensorFlow Lite fuzz target into a folder: for each operator that is taken,
 * a model of it over floats and one over bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 14, MOST_INPUTS = 48, FLOATS = 0, INTS = 2, BYTES = 9, SLOT = 8 };

typedef struct file {
    unsigned char bytes[ROOM];
    size_t size;
} file;

static void put(file *f, size_t at, unsigned long long value, unsigned width)
{
    for (unsigned i = 0; i < width && at + i < ROOM; i++) {
        f->bytes[at + i] = (unsigned char)(value >> 8 * i);
    }
}

static size_t take(file *f, size_t size)
{
    const size_t at = f->size;
    if (size > ROOM - at) {
        (void)fprintf(stderr, "a seed of more than %d bytes\n", (int)ROOM);
        exit(1);
    }
    f->size += (size + 7) / 8 * 8;
    return at;
}

/* A table of up to `fields` fields, each of which has a slot of eight bytes: behind its list of fields. */
static size_t table(file *f, unsigned fields)
{
    const size_t list = take(f, 4 + 2 * (size_t)fields);
    const size_t at = take(f, 4 + SLOT * (size_t)fields);
    put(f, list, 4 + 2 * fields, 2);
    put(f, list + 2, 4 + SLOT * fields, 2);
    put(f, at, at - list, 4);
    return at;
}

static size_t field(file *f, size_t t, unsigned n)
{
    const size_t list = t - (f->bytes[t] | (size_t)f->bytes[t + 1] << 8);
    put(f, list + 4 + 2 * (size_t)n, 4 + SLOT * n, 2);
    return t + 4 + SLOT * (size_t)n;
}

static void number(file *f, size_t t, unsigned n, unsigned long long value, unsigned width)
{
    put(f, field(f, t, n), value, width);
}

static void refer(file *f, size_t from, size_t to)
{
    put(f, from, to - from, 4);
}

/* A vector of `count` elements, zero so far; the place of its first. */
static size_t vector(file *f, size_t t, unsigned n, unsigned count, unsigned width)
{
    const size_t from = field(f, t, n);
    const size_t at = take(f, 4 + (size_t)count * width);
    refer(f, from, at);
    put(f, at, count, 4);
    return at + 4;
}

static void floats(file *f, size_t at, float value)
{
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    put(f, at, bits, 4);
}

/* [1][4][4][2], or of rank 1 and known. */
static void tensor(file *f, size_t t, unsigned type, int known)
{
    const unsigned rank = known ? 1 : 4;
    const size_t shape = vector(f, t, 0, rank, 4);
    for (unsigned i = 0; i < rank; i++) {
        put(f, shape + 4 * (size_t)i, known || i == 3 ? 2 : i == 0 ? 1 : 4, 4);
    }
    number(f, t, 1, type, 1);
    number(f, t, 2, known ? 1 : 0, 4);
    if (type == BYTES) {
        const size_t from = field(f, t, 4);
        const size_t q = table(f, 7);
        refer(f, from, q);
        floats(f, vector(f, q, 2, 1, 4), 0.05F);
        put(f, vector(f, q, 3, 1, 8), 3, 8);
    }
}

static void make(file *f, int code, unsigned inputs, unsigned type)
{
    memset(f, 0, sizeof *f);
    (void)take(f, 8);
    memcpy(f->bytes + 4, "TFL3", 4);
    const size_t root = table(f, 8);
    refer(f, 0, root);
    number(f, root, 0, 3, 4);
    const size_t codes = vector(f, root, 1, 1, 4);
    const size_t c = table(f, 4);
    refer(f, codes, c);
    number(f, c, 3, (unsigned)code, 4);
    const size_t graphs = vector(f, root, 2, 1, 4);
    const size_t graph = table(f, 5);
    refer(f, graphs, graph);
    const size_t tensors = vector(f, graph, 0, inputs + 1, 4);
    for (unsigned i = 0; i <= inputs; i++) {
        const size_t t = table(f, 8);
        refer(f, tensors + 4 * (size_t)i, t);
        tensor(f, t, i > 0 && i < inputs && i % 2 == 1 ? INTS : type, i > 0 && i < inputs && i % 2 == 1);
    }
    (void)vector(f, graph, 1, 1, 4);
    put(f, vector(f, graph, 2, 1, 4), inputs, 4);
    const size_t ops = vector(f, graph, 3, 1, 4);
    const size_t op = table(f, 9);
    refer(f, ops, op);
    number(f, op, 0, 0, 4);
    const size_t ins = vector(f, op, 1, inputs, 4);
    for (unsigned i = 0; i < inputs; i++) {
        put(f, ins + 4 * (size_t)i, i, 4);
    }
    put(f, vector(f, op, 2, 1, 4), inputs, 4);
    number(f, op, 3, 1, 1);
    const size_t from = field(f, op, 4);
    const size_t options = table(f, 8);
    refer(f, from, options);
    for (unsigned n = 0; n < 8; n++) {
        number(f, options, n, 1, 4);
    }
    const size_t buffers = vector(f, root, 4, 2, 4);
    refer(f, buffers, table(f, 1));
    const size_t contents = table(f, 1);
    refer(f, buffers + 4, contents);
    const size_t two = vector(f, contents, 0, 8, 1);
    put(f, two, 1, 4);
    put(f, two + 4, 2, 4);
}

int main(int argc, char **argv)
{
    static const struct {
        int code;
        unsigned inputs;
        const char *name;
    } rows[] = {
#define TFL_OP(code, name, least, fn, how) {code, least, #name},
#define TFL_CUSTOM(name, least, fn)
#include "../../compiler/src/tflite/operators.def"
    };
    static file f;
    for (size_t i = 0; argc == 2 && i < sizeof rows / sizeof rows[0]; i++) {
        for (unsigned k = 0; k < 2; k++) {
            char path[4096];
            const unsigned inputs = rows[i].inputs == 0 ? 1 : rows[i].inputs;
            make(&f, rows[i].code, inputs < MOST_INPUTS ? inputs : MOST_INPUTS, k == 0 ? FLOATS : BYTES);
            (void)snprintf(path, sizeof path, "%s/%s_%s", argv[1], rows[i].name, k == 0 ? "floats" : "bytes");
            FILE *out = fopen(path, "wb");
            if (out == NULL || fwrite(f.bytes, 1, f.size, out) != f.size || fclose(out) != 0) {
                (void)fprintf(stderr, "cannot write %s\n", path);
                return 1;
            }
        }
    }
    return argc == 2 ? 0 : 2;
}
