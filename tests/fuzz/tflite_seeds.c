/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the first inputs of the TensorFlow Lite fuzz target into a folder: for each operator that is taken,
 * a model of it over floats and one over bytes; for each custom one, a model with shapes and options that
 * fit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROOM = 1 << 14,
    MAX_INPUTS = 48,
    MAX_OUTPUTS = 4,
    FLOATS = 0,
    INTS = 2,
    BYTES = 9,
    SLOT = 8,
    MAP = 9,
    CUSTOM = 32
};

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

/* The parts of a model: an operator, and of each of its tensors the type and the digits of its shape. */
typedef struct recipe {
    int code;
    const char *custom; /* CUSTOM's name */
    unsigned inputs, outputs;
    unsigned words; /* options are a row of so many words, or else a map */
    struct {
        unsigned type;
        int known; /* has a buffer of two words */
        const char *shape;
    } tensors[MAX_INPUTS + MAX_OUTPUTS];
} recipe;

static void quantization(file *f, size_t t)
{
    const size_t from = field(f, t, 4);
    const size_t q = table(f, 7);
    refer(f, from, q);
    floats(f, vector(f, q, 2, 1, 4), 0.05F);
    put(f, vector(f, q, 3, 1, 8), 3, 8);
}

static void tensors(file *f, size_t graph, const recipe *r)
{
    const size_t all = vector(f, graph, 0, r->inputs + r->outputs, 4);
    for (unsigned i = 0; i < r->inputs + r->outputs; i++) {
        const size_t t = table(f, 8);
        const char *shape = r->tensors[i].shape;
        refer(f, all + 4 * (size_t)i, t);
        const size_t dims = vector(f, t, 0, (unsigned)strlen(shape), 4);
        for (unsigned d = 0; shape[d] != '\0'; d++) {
            put(f, dims + 4 * (size_t)d, (unsigned)(shape[d] - '0'), 4);
        }
        number(f, t, 1, r->tensors[i].type, 1);
        number(f, t, 2, r->tensors[i].known ? 1 : 0, 4);
        if (r->tensors[i].type == BYTES) {
            quantization(f, t);
        }
    }
}

/* Makes tensors that no buffer holds the graph's inputs. */
static void open_inputs(file *f, size_t graph, const recipe *r)
{
    unsigned count = 0;
    for (unsigned i = 0; i < r->inputs; i++) {
        count += r->tensors[i].known ? 0 : 1;
    }
    const size_t at = vector(f, graph, 1, count, 4);
    count = 0;
    for (unsigned i = 0; i < r->inputs; i++) {
        if (!r->tensors[i].known) {
            put(f, at + 4 * (size_t)count++, i, 4);
        }
    }
}

static void text(file *f, size_t t, unsigned n, const char *value)
{
    const unsigned count = (unsigned)strlen(value);
    memcpy(f->bytes + vector(f, t, n, count + 1, 1), value, count);
}

static void code_of(file *f, size_t root, const recipe *r)
{
    const size_t codes = vector(f, root, 1, 1, 4);
    const size_t c = table(f, 4);
    refer(f, codes, c);
    number(f, c, 2, 2, 4); /* the version that MediaPipe's operators have */
    number(f, c, 3, (unsigned)r->code, 4);
    if (r->custom != NULL) {
        text(f, c, 1, r->custom);
    }
}

/* A map of every name that a custom operator asks for, each 1 and of eight bytes, but for a list of two
 * numbers. */
static unsigned map(unsigned char *out)
{
    static const struct {
        const char *name;
        unsigned value;
    } pairs[] = {{"dct_coefficient_count", 1},
                 {"detections_per_class", 1},
                 {"filterbank_channel_count", 2},
                 {"h_scale", 1},
                 {"left_rotation_idx", 0},
                 {"lower_frequency_limit", 20},
                 {"magnitude_squared", 1},
                 {"max_classes_per_detection", 1},
                 {"max_detections", 2},
                 {"nms_iou_threshold", 1},
                 {"nms_score_threshold", 1},
                 {"num_classes", 1},
                 {"output_height", 2},
                 {"output_width", 2},
                 {"right_rotation_idx", 1},
                 {"scale_x", 1},
                 {"scale_y", 1},
                 {"stride", 1},
                 {"subset_idxs", 0},
                 {"target_rotation_radians", 1},
                 {"upper_frequency_limit", 4000},
                 {"use_regular_nms", 1},
                 {"w_scale", 1},
                 {"window_size", 2},
                 {"x_scale", 1},
                 {"y_scale", 1}};
    enum { COUNT = sizeof pairs / sizeof pairs[0], LIST = 18, NUMBER = 1 << 2 | 3, NUMBERS = 11 << 2 | 3 };
    static file f;
    size_t places[COUNT];
    memset(&f, 0, sizeof f);
    for (unsigned i = 0; i < COUNT; i++) {
        places[i] = take(&f, strlen(pairs[i].name) + 1);
        memcpy(f.bytes + places[i], pairs[i].name, strlen(pairs[i].name));
    }
    const size_t list = take(&f, 24);
    put(&f, list, 2, 8);
    put(&f, list + 16, 1, 8);
    const size_t keys = take(&f, 8 + SLOT * (size_t)COUNT) + 8;
    put(&f, keys - 8, COUNT, 8);
    const size_t head = take(&f, 24 + SLOT * (size_t)COUNT + COUNT);
    const size_t values = head + 24;
    put(&f, head, head - keys, 8);
    put(&f, head + 8, 8, 8);
    put(&f, head + 16, COUNT, 8);
    for (unsigned i = 0; i < COUNT; i++) {
        const size_t value = values + SLOT * (size_t)i;
        put(&f, keys + SLOT * (size_t)i, keys + SLOT * (size_t)i - places[i], 8);
        put(&f, value, i == LIST ? value - list - 8 : pairs[i].value, 8);
        f.bytes[values + SLOT * (size_t)COUNT + i] = i == LIST ? NUMBERS : NUMBER;
    }
    const size_t end = values + SLOT * (size_t)COUNT + COUNT;
    put(&f, end, end - values, 2); /* the root: how far back the map is, its type, its width */
    f.bytes[end + 2] = MAP << 2 | 3;
    f.bytes[end + 3] = 2;
    memcpy(out, f.bytes, end + 4);
    return (unsigned)(end + 4);
}

static void options_of(file *f, size_t op, const recipe *r)
{
    static unsigned char bytes[ROOM];
    if (r->custom == NULL) {
        number(f, op, 3, 1, 1);
        const size_t from = field(f, op, 4);
        const size_t options = table(f, 8);
        refer(f, from, options);
        for (unsigned n = 0; n < 8; n++) {
            number(f, options, n, 1, 4);
        }
        return;
    }
    for (unsigned i = 0; i < r->words; i++) {
        bytes[4 * i] = 1;
        bytes[4 * i + 1] = bytes[4 * i + 2] = bytes[4 * i + 3] = 0;
    }
    const unsigned size = r->words > 0 ? 4 * r->words : map(bytes);
    memcpy(f->bytes + vector(f, op, 5, size, 1), bytes, size);
}

/* Inputs are tensors 0 and up, outputs those behind them. */
static void make(file *f, const recipe *r)
{
    memset(f, 0, sizeof *f);
    (void)take(f, 8);
    memcpy(f->bytes + 4, "TFL3", 4);
    const size_t root = table(f, 8);
    refer(f, 0, root);
    number(f, root, 0, 3, 4);
    code_of(f, root, r);
    const size_t graphs = vector(f, root, 2, 1, 4);
    const size_t graph = table(f, 5);
    refer(f, graphs, graph);
    tensors(f, graph, r);
    open_inputs(f, graph, r);
    const size_t ops = vector(f, graph, 3, 1, 4);
    const size_t op = table(f, 9);
    refer(f, ops, op);
    number(f, op, 0, 0, 4);
    const size_t ins = vector(f, op, 1, r->inputs, 4);
    for (unsigned i = 0; i < r->inputs; i++) {
        put(f, ins + 4 * (size_t)i, i, 4);
    }
    const size_t results[] = {vector(f, graph, 2, r->outputs, 4), vector(f, op, 2, r->outputs, 4)};
    for (unsigned i = 0; i < 2 * r->outputs; i++) {
        put(f, results[i % 2] + 4 * (size_t)(i / 2), r->inputs + i / 2, 4);
    }
    options_of(f, op, r);
    const size_t buffers = vector(f, root, 4, 2, 4);
    refer(f, buffers, table(f, 1));
    const size_t contents = table(f, 1);
    refer(f, buffers + 4, contents);
    const size_t two = vector(f, contents, 0, 8, 1);
    put(f, two, 1, 4);
    put(f, two + 4, 2, 4);
}

/* Every second input is two known numbers. */
static recipe plain(int code, unsigned inputs, unsigned type)
{
    recipe r = {.code = code, .inputs = inputs == 0 ? 1 : inputs, .outputs = 1};
    for (unsigned i = 0; i <= r.inputs; i++) {
        const int known = i < r.inputs && i % 2 == 1;
        r.tensors[i].type = known ? INTS : type;
        r.tensors[i].known = known;
        r.tensors[i].shape = known ? "2" : "1442";
    }
    return r;
}

/* The inputs of custom operators; one that has no row here gets a picture and a map. */
static const struct fitting {
    const char *name;
    unsigned outputs, words;
    const char *shapes[3];
} fittings[] = {
    {"AudioSpectrogram", 1, 0, {"92"}},
    {"Convolution2DTransposeBias", 1, 3, {"1442", "2222", "2"}},
    {"Landmarks2TransformMatrix", 1, 0, {"153"}},
    {"MaxPoolingWithArgmax2D", 2, 6, {"1442"}},
    {"MaxUnpooling2D", 1, 6, {"1442", "1442"}},
    {"Mfcc", 1, 0, {"125", "1"}},
    {"TFLite_Detection_PostProcess", 4, 0, {"134", "131", "34"}},
    {"TransformLandmarks", 1, 0, {"153", "144"}},
    {"TransformTensorBilinear", 1, 0, {"1442", "144"}},
};

static recipe custom(const char *name)
{
    recipe r = {.code = CUSTOM, .custom = name, .outputs = 1};
    for (size_t i = 0; i < sizeof fittings / sizeof fittings[0]; i++) {
        if (strcmp(fittings[i].name, name) != 0) {
            continue;
        }
        r.outputs = fittings[i].outputs;
        r.words = fittings[i].words;
        for (; r.inputs < 3 && fittings[i].shapes[r.inputs] != NULL; r.inputs++) {
            const char *shape = fittings[i].shapes[r.inputs];
            r.tensors[r.inputs].type = strcmp(shape, "1") == 0 ? INTS : FLOATS;
            r.tensors[r.inputs].shape = shape;
        }
    }
    r.inputs = r.inputs == 0 ? 1 : r.inputs;
    for (unsigned i = 0; i < r.inputs + r.outputs; i++) {
        r.tensors[i].shape = r.tensors[i].shape == NULL ? "1442" : r.tensors[i].shape;
    }
    return r;
}

static int save(const char *folder, const char *name, const char *form, const recipe *r)
{
    static file f;
    char path[4096];
    make(&f, r);
    (void)snprintf(path, sizeof path, "%s/%s_%s", folder, name, form);
    FILE *out = fopen(path, "wb");
    if (out == NULL || fwrite(f.bytes, 1, f.size, out) != f.size || fclose(out) != 0) {
        (void)fprintf(stderr, "cannot write %s\n", path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        int code;
        unsigned inputs;
        const char *name;
    } rows[] = {
#define TFL_OP(code, name, min, fn, how) {code, min, #name},
#define TFL_CUSTOM(name, min, fn)        {CUSTOM, min, name},
#include "../../compiler/src/tflite/operators.def"
    };
    int failed = argc != 2;
    for (size_t i = 0; failed == 0 && i < sizeof rows / sizeof rows[0]; i++) {
        for (unsigned k = 0; failed == 0 && k < 2; k++) {
            const unsigned inputs = rows[i].inputs < MAX_INPUTS ? rows[i].inputs : MAX_INPUTS;
            const recipe r = rows[i].code == CUSTOM ? custom(rows[i].name)
                                                    : plain(rows[i].code, inputs, k == 0 ? FLOATS : BYTES);
            failed = save(argv[1], rows[i].name, k == 0 ? "floats" : "bytes", &r);
            k += rows[i].code == CUSTOM;
        }
    }
    return failed;
}
