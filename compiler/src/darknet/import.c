/* SPDX-License-Identifier: Apache-2.0
 *
 * Darknet: a .cfg and a file of weights to a graph of floats. A layer is a row of `layers`. Batch
 * normalization becomes part of its layer's weights, with an epsilon of 1e-6 under the root. The outputs are
 * what goes into each layer of boxes ([yolo], [region], [detection]), or else the last layer's; a layer's
 * value is called by its number, counted from 0 after [net], and its type.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../import/maker.h"
#include "cfg.h"
#include "vta/file.h"

enum { MOST_SIZE = 1 << 16, MOST_FROM = 64, MOST_WEIGHTS = 0x7fffffff };

typedef struct darknet {
    vtac_builder maker;
    const cfg_section *section;
    const cfg_section *layers; /* of the cfg, behind [net] */
    uint32_t count, number;    /* layers; the one that is imported */
    vtac_id *values;           /* by layer */
    const uint8_t *weights;
    size_t size, at; /* of the weights, in bytes */
    bool turned;     /* dense weights are given transposed */
} darknet;

/* ---- options */

static int64_t option(darknet *d, const char *name, int64_t otherwise, int64_t least, int64_t most)
{
    int64_t value = otherwise;
    if (d->maker.status == VTA_OK) {
        d->maker.status = cfg_int(d->section, name, otherwise, least, most, &value, d->maker.diag);
    }
    return d->maker.status == VTA_OK ? value : least; /* something that can be reckoned with */
}

/* ---- weights */

static float *take(darknet *d, int64_t count)
{
    if (d->maker.status != VTA_OK) {
        return NULL;
    }
    if (count < 0 || (uint64_t)count > (d->size - d->at) / sizeof(float)) {
        vtac_make_fail(&d->maker, VTA_INVALID,
                       "it wants %lld weights more, the file of weights has %zu behind byte %zu",
                       (long long)count, (d->size - d->at) / sizeof(float), d->at);
        return NULL;
    }
    float *room = vtac_make_room(&d->maker, count, sizeof *room);
    if (room != NULL && count > 0) {
        memcpy(room, d->weights + d->at, (size_t)count * sizeof *room);
        d->at += (size_t)count * sizeof *room;
    }
    return room;
}

/* Normalization by the moving mean and variance: a factor and an offset for each output. */
typedef struct batch_norm {
    float *scale, *mean, *variance;
} batch_norm;

static batch_norm take_norm(darknet *d, int64_t outputs)
{
    batch_norm n = {.scale = take(d, outputs)};
    n.mean = take(d, outputs);
    n.variance = take(d, outputs);
    return n;
}

/* weights[outputs][each] and bias[outputs] take the normalization in. */
static void apply_norm(const batch_norm *n, float *weights, float *bias, int64_t outputs, int64_t each)
{
    for (int64_t i = 0; i < outputs; i++) {
        const double factor = (double)n->scale[i] / sqrt((double)n->variance[i] + 1e-6);
        bias[i] = (float)((double)bias[i] - (double)n->mean[i] * factor);
        for (int64_t k = 0; k < each; k++) {
            weights[i * each + k] = (float)((double)weights[i * each + k] * factor);
        }
    }
}

/* ---- activations */

static vtac_id mish(vtac_builder *m, vtac_id x)
{
    return vtac_make1(m, VTAC_OP_MISH, x);
}

static vtac_id swish(vtac_builder *m, vtac_id x)
{
    return vtac_make2(m, VTAC_OP_MUL, x, vtac_make1(m, VTAC_OP_SIGMOID, x));
}

static vtac_id leaky(vtac_builder *m, vtac_id x, double alpha)
{
    const vtac_attr attr = vtac_attr_of_float("alpha", alpha);
    return vtac_make(m, VTAC_OP_LEAKY_RELU, &x, 1, &attr, 1);
}

static vtac_id activate(darknet *d, vtac_id x, const char *otherwise)
{
    vtac_builder *m = &d->maker;
    const char *given = cfg_text(d->section, "activation");
    const char *name = given == NULL ? otherwise : given;
    static const struct {
        const char *name;
        vtac_op op;
    } plain[] = {{"relu", VTAC_OP_RELU}, {"logistic", VTAC_OP_SIGMOID}, {"tanh", VTAC_OP_TANH},
                 {"elu", VTAC_OP_ELU},   {"selu", VTAC_OP_SELU},        {"gelu", VTAC_OP_GELU}};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(name, plain[i].name) == 0) {
            return vtac_make1(m, plain[i].op, x);
        }
    }
    if (strcmp(name, "linear") == 0) {
        return x;
    }
    if (strcmp(name, "leaky") == 0) {
        return leaky(m, x, 0.1);
    }
    if (strcmp(name, "relie") == 0) {
        return leaky(m, x, 0.01);
    }
    if (strcmp(name, "mish") == 0) {
        return mish(m, x);
    }
    if (strcmp(name, "swish") == 0) {
        return swish(m, x);
    }
    if (strcmp(name, "relu6") == 0) {
        return vtac_make_clip(m, x, 0.0, 6.0);
    }
    if (strcmp(name, "hardtan") == 0) {
        return vtac_make_clip(m, x, -1.0, 1.0);
    }
    if (strcmp(name, "ramp") == 0) {
        const vtac_id tenth = vtac_make2(m, VTAC_OP_MUL, x, vtac_make_number(m, VTAC_F32, 0.1));
        return vtac_make2(m, VTAC_OP_ADD, vtac_make1(m, VTAC_OP_RELU, x), tenth);
    }
    if (strcmp(name, "loggy") == 0) {
        const vtac_id s =
            vtac_make2(m, VTAC_OP_MUL, vtac_make1(m, VTAC_OP_SIGMOID, x), vtac_make_number(m, VTAC_F32, 2.0));
        return vtac_make2(m, VTAC_OP_SUB, s, vtac_make_number(m, VTAC_F32, 1.0));
    }
    vtac_make_fail(m, VTA_UNSUPPORTED, "the activation '%.40s' is not supported", name);
    return 0;
}

/* ---- layers: each gets the value of the one before */

typedef vtac_id layer_fn(darknet *d, vtac_id x);

static const int64_t *dims_of(darknet *d, vtac_id x, uint32_t rank)
{
    static const int64_t none[VTAC_MAX_RANK] = {1, 1, 1, 1};
    const vtac_type *type = vtac_made_type(&d->maker, x);
    if (d->maker.status == VTA_OK && type->rank != rank) {
        vtac_make_fail(&d->maker, VTA_INVALID, "the layer before has %u axes, it needs %u", type->rank, rank);
    }
    return d->maker.status == VTA_OK ? type->dim : none;
}

static vtac_id convolutional(darknet *d, vtac_id x)
{
    vtac_builder *m = &d->maker;
    const int64_t channels = dims_of(d, x, 4)[1];
    const int64_t filters = option(d, "filters", 1, 1, MOST_SIZE);
    const int64_t size = option(d, "size", 1, 1, MOST_SIZE);
    const int64_t stride = option(d, "stride", 1, 1, MOST_SIZE);
    const int64_t groups = option(d, "groups", 1, 1, MOST_SIZE);
    const int64_t spread = size == 1 ? 1 : option(d, "dilation", 1, 1, MOST_SIZE);
    const int64_t strides[] = {option(d, "stride_y", stride, 1, MOST_SIZE),
                               option(d, "stride_x", stride, 1, MOST_SIZE)};
    const int64_t pad = option(d, "pad", 0, 0, 1) != 0 ? size / 2 : option(d, "padding", 0, 0, MOST_SIZE);
    const bool normal = option(d, "batch_normalize", 0, 0, 1) != 0;
    if (m->status != VTA_OK || channels % groups != 0 || filters % groups != 0) {
        vtac_make_fail(m, VTA_INVALID, "%lld channels and %lld filters in %lld groups", (long long)channels,
                       (long long)filters, (long long)groups);
        return 0;
    }
    for (int i = 0; i < 5; i++) {
        static const char *const others[] = {"binary", "xnor", "share_index", "antialiasing", "deform"};
        if (option(d, others[i], 0, 0, 1 << 20) != 0) {
            vtac_make_fail(m, VTA_UNSUPPORTED, "'%s' is not supported", others[i]);
        }
    }
    const int64_t each = channels / groups * size * size;
    float *bias = take(d, filters);
    const batch_norm norm = normal ? take_norm(d, filters) : (batch_norm){.scale = NULL};
    float *weights = take(d, filters * each);
    if (m->status != VTA_OK) {
        return 0;
    }
    if (normal) {
        apply_norm(&norm, weights, bias, filters, each);
    }
    const vtac_type type = {VTAC_F32, 4, {filters, channels / groups, size, size}};
    const vtac_type vector = {VTAC_F32, 1, {filters}};
    const int64_t edge = pad * spread;
    const int64_t pads[] = {edge, edge, edge, edge};
    const int64_t dilations[] = {spread, spread};
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", strides, 2), vtac_attr_of_ints("pads", pads, 4),
                               vtac_attr_of_ints("dilations", dilations, 2),
                               vtac_attr_of_int("group", groups)};
    const vtac_id in[] = {x, vtac_make_borrowed(m, &type, weights), vtac_make_borrowed(m, &vector, bias)};
    return activate(d, vtac_make(m, VTAC_OP_CONV, in, 3, attrs, 4), "logistic");
}

static vtac_id flattened(darknet *d, vtac_id x)
{
    const vtac_type *type = vtac_made_type(&d->maker, x);
    const int64_t batch = type->rank > 0 ? type->dim[0] : 1;
    const int64_t count = vtac_type_elements(type);
    return vtac_make_reshape(&d->maker, x, (int64_t[]){batch, batch > 0 ? count / batch : 0}, 2);
}

static vtac_id connected(darknet *d, vtac_id x)
{
    vtac_builder *m = &d->maker;
    x = flattened(d, x);
    const int64_t inputs = dims_of(d, x, 2)[1];
    const int64_t outputs = option(d, "output", 1, 1, 1 << 24);
    const bool normal = option(d, "batch_normalize", 0, 0, 1) != 0;
    if (m->status != VTA_OK || inputs > (1 << 30) / outputs) {
        vtac_make_fail(m, VTA_RANGE, "%lld inputs to %lld outputs", (long long)inputs, (long long)outputs);
        return 0;
    }
    float *bias = take(d, outputs);
    float *weights = take(d, outputs * inputs);
    const batch_norm norm = normal ? take_norm(d, outputs) : (batch_norm){.scale = NULL};
    float *rows = d->turned ? vtac_make_room(m, outputs * inputs, sizeof *rows) : weights;
    if (m->status != VTA_OK) {
        return 0;
    }
    for (int64_t i = 0; d->turned && i < outputs * inputs; i++) {
        rows[i] = weights[i % inputs * outputs + i / inputs];
    }
    if (normal) {
        apply_norm(&norm, rows, bias, outputs, inputs);
    }
    const vtac_type type = {VTAC_F32, 2, {outputs, inputs}};
    const vtac_type vector = {VTAC_F32, 1, {outputs}};
    const vtac_attr turned = vtac_attr_of_int("transB", 1);
    const vtac_id in[] = {x, vtac_make_borrowed(m, &type, rows), vtac_make_borrowed(m, &vector, bias)};
    return activate(d, vtac_make(m, VTAC_OP_GEMM, in, 3, &turned, 1), "logistic");
}

static vtac_id pooled(darknet *d, vtac_id x, vtac_op op)
{
    const int64_t stride = option(d, "stride", 1, 1, MOST_SIZE);
    const int64_t size = option(d, "size", stride, 1, MOST_SIZE);
    const int64_t padding = option(d, "padding", size - 1, 0, MOST_SIZE);
    const int64_t strides[] = {option(d, "stride_y", stride, 1, MOST_SIZE),
                               option(d, "stride_x", stride, 1, MOST_SIZE)};
    const int64_t kernel[] = {size, size};
    const int64_t before = padding / 2;
    const int64_t pads[] = {before, before, padding - before, padding - before};
    (void)dims_of(d, x, 4);
    if (option(d, "maxpool_depth", 0, 0, 1) != 0 || option(d, "antialiasing", 0, 0, 1) != 0) {
        vtac_make_fail(&d->maker, VTA_UNSUPPORTED, "a pool over channels, or with a filter");
    }
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", strides, 2), vtac_attr_of_ints("pads", pads, 4),
                               vtac_attr_of_ints("kernel_shape", kernel, 2)};
    return vtac_make(&d->maker, op, &x, 1, attrs, 3);
}

static vtac_id maxpool(darknet *d, vtac_id x)
{
    return pooled(d, x, VTAC_OP_MAX_POOL);
}

static vtac_id local_avgpool(darknet *d, vtac_id x)
{
    return pooled(d, x, VTAC_OP_AVERAGE_POOL);
}

static vtac_id avgpool(darknet *d, vtac_id x)
{
    (void)dims_of(d, x, 4);
    return vtac_make1(&d->maker, VTAC_OP_GLOBAL_AVERAGE_POOL, x);
}

/* An earlier layer: counted from here where it is negative. */
static vtac_id earlier(darknet *d, int64_t number)
{
    const int64_t at = number < 0 ? (int64_t)d->number + number : number;
    if (at < 0 || at >= (int64_t)d->number || d->values[at] == 0) {
        vtac_make_fail(&d->maker, VTA_INVALID, "layer %lld is none before it", (long long)number);
        return 0;
    }
    return d->values[at];
}

static size_t from_layers(darknet *d, const char *name, int64_t *from)
{
    size_t count = 0;
    if (d->maker.status == VTA_OK) {
        d->maker.status = cfg_ints(d->section, name, from, MOST_FROM, &count, d->maker.diag);
    }
    if (d->maker.status == VTA_OK && count == 0) {
        vtac_make_fail(&d->maker, VTA_INVALID, "it has no '%s'", name);
    }
    return d->maker.status == VTA_OK ? count : 0;
}

static vtac_id route(darknet *d, vtac_id x)
{
    (void)x;
    int64_t from[MOST_FROM];
    vtac_id parts[MOST_FROM];
    const size_t count = from_layers(d, "layers", from);
    const int64_t groups = option(d, "groups", 1, 1, MOST_SIZE);
    const int64_t group = option(d, "group_id", 0, 0, MOST_SIZE);
    for (size_t i = 0; i < count; i++) {
        parts[i] = earlier(d, from[i]);
        const int64_t channels = dims_of(d, parts[i], vtac_made_type(&d->maker, parts[i])->rank)[1];
        if (groups > 1 && (channels % groups != 0 || group >= groups)) {
            vtac_make_fail(&d->maker, VTA_INVALID, "group %lld of %lld in %lld channels", (long long)group,
                           (long long)groups, (long long)channels);
        }
        if (groups > 1 && d->maker.status == VTA_OK) {
            const int64_t each = channels / groups;
            parts[i] = vtac_make_slice(&d->maker, parts[i], 1, group * each, (group + 1) * each);
        }
    }
    return d->maker.status == VTA_OK ? vtac_make_concat(&d->maker, parts, (uint32_t)count, 1) : 0;
}

/* y with the channels of x: some are left out, or zeros added. */
static vtac_id fit_channels(darknet *d, vtac_id y, int64_t channels)
{
    const int64_t own = dims_of(d, y, 4)[1];
    if (own > channels) {
        return vtac_make_slice(&d->maker, y, 1, 0, channels);
    }
    const int64_t pads[] = {0, 0, 0, 0, 0, channels - own, 0, 0};
    return own == channels ? y : vtac_make2(&d->maker, VTAC_OP_PAD, y, vtac_make_ints(&d->maker, pads, 8));
}

static vtac_id shortcut(darknet *d, vtac_id x)
{
    int64_t from[MOST_FROM];
    const size_t count = from_layers(d, "from", from);
    const char *weighted = cfg_text(d->section, "weights_type");
    if (weighted != NULL && strcmp(weighted, "none") != 0) {
        vtac_make_fail(&d->maker, VTA_UNSUPPORTED, "weights_type '%.40s' is not supported", weighted);
    }
    for (size_t i = 0; i < count; i++) {
        x = vtac_make2(&d->maker, VTAC_OP_ADD, x, fit_channels(d, earlier(d, from[i]), dims_of(d, x, 4)[1]));
    }
    return activate(d, x, "linear");
}

static vtac_id upsample(darknet *d, vtac_id x)
{
    vtac_builder *m = &d->maker;
    const int64_t stride = option(d, "stride", 2, 1, 256);
    const int64_t *dim = dims_of(d, x, 4);
    const int64_t sizes[] = {dim[0], dim[1], dim[2] * stride, dim[3] * stride};
    const char *scale = cfg_text(d->section, "scale");
    const vtac_attr attrs[] = {vtac_attr_of_string("mode", "nearest"),
                               vtac_attr_of_string("nearest_mode", "floor"),
                               vtac_attr_of_string("coordinate_transformation_mode", "asymmetric")};
    const vtac_id in[] = {x, 0, 0, vtac_make_ints(m, sizes, 4)};
    x = vtac_make(m, VTAC_OP_RESIZE, in, 4, attrs, 3);
    return scale == NULL || strtod(scale, NULL) == 1.0
               ? x
               : vtac_make2(m, VTAC_OP_MUL, x, vtac_make_number(m, VTAC_F32, strtod(scale, NULL)));
}

/* Rows and columns into channels, over planes that are read as if they were larger and fewer. */
static vtac_id reorg(darknet *d, vtac_id x)
{
    vtac_builder *m = &d->maker;
    const int64_t s = option(d, "stride", 1, 1, 256);
    const int64_t *dim = dims_of(d, x, 4);
    const int64_t n = dim[0];
    const int64_t c = dim[1];
    const int64_t h = dim[2];
    const int64_t w = dim[3];
    if (option(d, "reverse", 0, 0, 1) != 0 || c % (s * s) != 0 || h % s != 0 || w % s != 0) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "%lld channels of %lld x %lld by %lld, or in reverse",
                       (long long)c, (long long)h, (long long)w, (long long)s);
        return 0;
    }
    x = vtac_make_reshape(m, x, (int64_t[]){n, c / (s * s), h, s, w, s}, 6);
    x = vtac_make_transpose(m, x, (int64_t[]){0, 3, 5, 1, 2, 4}, 6);
    return vtac_make_reshape(m, x, (int64_t[]){n, c * s * s, h / s, w / s}, 4);
}

/* Squeeze and excite: planes times one number each; spatial attention: number by number. */
static vtac_id scaled_by(darknet *d, vtac_id x)
{
    int64_t from[MOST_FROM];
    if (from_layers(d, "from", from) != 1 || option(d, "scale_wh", 0, 0, 1) != 0) {
        vtac_make_fail(&d->maker, VTA_UNSUPPORTED, "one layer 'from', and no 'scale_wh'");
        return 0;
    }
    return activate(d, vtac_make2(&d->maker, VTAC_OP_MUL, x, earlier(d, from[0])), "linear");
}

static vtac_id same(darknet *d, vtac_id x)
{
    (void)d;
    return x;
}

static vtac_id activation(darknet *d, vtac_id x)
{
    return activate(d, x, "linear");
}

static vtac_id softmax(darknet *d, vtac_id x)
{
    vtac_builder *m = &d->maker;
    const int64_t groups = option(d, "groups", 1, 1, MOST_SIZE);
    x = flattened(d, x);
    const int64_t *dim = dims_of(d, x, 2);
    const int64_t shape[] = {dim[0], groups, dim[1] / groups};
    const int64_t whole[] = {dim[0], dim[1]};
    const vtac_attr axis = vtac_attr_of_int("axis", -1);
    if (cfg_text(d->section, "tree") != NULL || dim[1] % groups != 0) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "a tree of classes, or %lld in %lld groups", (long long)dim[1],
                       (long long)groups);
        return 0;
    }
    x = vtac_make_reshape(m, x, shape, 3);
    x = vtac_make(m, VTAC_OP_SOFTMAX, &x, 1, &axis, 1);
    return vtac_make_reshape(m, x, whole, 2);
}

/* The middle of the picture; its values from 0…1 to -1…1 unless told otherwise. */
static vtac_id crop(darknet *d, vtac_id x)
{
    vtac_builder *m = &d->maker;
    const int64_t *dim = dims_of(d, x, 4);
    const int64_t size[] = {option(d, "crop_height", 1, 1, dim[2]), option(d, "crop_width", 1, 1, dim[3])};
    const int64_t begin[] = {(dim[2] - size[0]) / 2, (dim[3] - size[1]) / 2};
    x = vtac_make_slice(m, x, 2, begin[0], begin[0] + size[0]);
    x = vtac_make_slice(m, x, 3, begin[1], begin[1] + size[1]);
    if (option(d, "noadjust", 0, 0, 1) != 0) {
        return x;
    }
    x = vtac_make2(m, VTAC_OP_MUL, x, vtac_make_number(m, VTAC_F32, 2.0));
    return vtac_make2(m, VTAC_OP_SUB, x, vtac_make_number(m, VTAC_F32, 1.0));
}

static const struct layer {
    const char *type;
    layer_fn *make;
    bool boxes; /* what goes in is an output of the network */
} layers[] = {
    {"convolutional", convolutional, false},
    {"conv", convolutional, false},
    {"connected", connected, false},
    {"conn", connected, false},
    {"maxpool", maxpool, false},
    {"max", maxpool, false},
    {"local_avgpool", local_avgpool, false},
    {"avgpool", avgpool, false},
    {"avg", avgpool, false},
    {"route", route, false},
    {"shortcut", shortcut, false},
    {"upsample", upsample, false},
    {"reorg", reorg, false},
    {"reorg3d", reorg, false},
    {"scale_channels", scaled_by, false},
    {"sam", scaled_by, false},
    {"dropout", same, false},
    {"cost", same, false},
    {"empty", same, false},
    {"silence", same, false},
    {"activation", activation, false},
    {"softmax", softmax, false},
    {"soft", softmax, false},
    {"crop", crop, false},
    {"yolo", same, true},
    {"Gaussian_yolo", same, true},
    {"region", same, true},
    {"detection", same, true},
};

static const struct layer *layer_of(const char *type)
{
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        if (strcmp(layers[i].type, type) == 0) {
            return &layers[i];
        }
    }
    return NULL;
}

/* ---- the network */

static vta_status check_layers(const darknet *d, vta_diag *diag)
{
    char list[512] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < d->count && used < sizeof list - 64; i++) {
        if (layer_of(d->layers[i].type) == NULL) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s[%.24s] (line %u)",
                                     used == 0 ? "" : ", ", d->layers[i].type, d->layers[i].line);
        }
    }
    return used == 0 ? VTA_OK : vta_fail(diag, VTA_UNSUPPORTED, "layers that are not supported: %s", list);
}

static vta_status read_header(darknet *d, vta_diag *diag)
{
    int32_t head[3];
    if (d->size < sizeof head) {
        return vta_fail(diag, VTA_INVALID, "the file of weights has %zu bytes, no room for its head",
                        d->size);
    }
    memcpy(head, d->weights, sizeof head);
    const int64_t version = (int64_t)head[0] * 10 + head[1];
    d->turned = head[0] > 1000 || head[1] > 1000;
    d->at = sizeof head + (version >= 2 && head[0] < 1000 && head[1] < 1000 ? 8 : 4);
    return d->at <= d->size ? VTA_OK
                            : vta_fail(diag, VTA_INVALID,
                                       "the file of weights has %zu bytes, no room for its head", d->size);
}

static vta_status add_input(darknet *d, const cfg_section *net, const vtac_import_options *options,
                            vtac_id *x, vta_diag *diag)
{
    vtac_type type = {VTAC_F32, 4, {1}};
    VTA_TRY(cfg_int(net, "channels", 3, 1, MOST_SIZE, &type.dim[1], diag));
    VTA_TRY(cfg_int(net, "height", 0, 1, MOST_SIZE, &type.dim[2], diag));
    VTA_TRY(cfg_int(net, "width", 0, 1, MOST_SIZE, &type.dim[3], diag));
    for (uint32_t i = 0; options != NULL && i < options->shape_count; i++) {
        const vtac_shape_option *s = &options->shapes[i];
        if (strcmp(s->name, "data") != 0 || s->rank != 4 || s->dim[1] != type.dim[1]) {
            return vta_fail(diag, VTA_INVALID, "--shape: the input is 'data', 1x%lldx%lldx%lld in the cfg",
                            (long long)type.dim[1], (long long)type.dim[2], (long long)type.dim[3]);
        }
        memcpy(type.dim, s->dim, sizeof type.dim);
    }
    return vtac_add_input(d->maker.graph, "data", &type, x, diag);
}

/* Values are called after the layers that make them; what a layer passes on keeps its name. */
static vta_status name_value(darknet *d, vtac_id id, const char *name, vta_diag *diag)
{
    const vtac_value *v = &d->maker.graph->values[id];
    return v->node != 0 && v->nameless ? vtac_rename_value(d->maker.graph, id, name, diag) : VTA_OK;
}

static vta_status add_output(darknet *d, vtac_id id, vta_diag *diag)
{
    if (d->maker.graph->values[id].node == 0 || vtac_is_output(d->maker.graph, id)) {
        id = vtac_make1(&d->maker, VTAC_OP_IDENTITY, id);
    }
    return d->maker.status == VTA_OK ? vtac_add_output(d->maker.graph, id, diag) : d->maker.status;
}

static vta_status import_layers(darknet *d, vtac_id x, vta_diag *diag)
{
    bool boxes = false;
    for (uint32_t i = 0; i < d->count; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%u_%.40s", i, d->layers[i].type);
        d->section = &d->layers[i];
        d->number = d->maker.origin = i;
        d->maker.name = vta_arena_string(&d->maker.graph->arena, name, strlen(name));
        const struct layer *layer = layer_of(d->section->type);
        x = layer->make(d, x);
        if (d->maker.status != VTA_OK || x == 0 || d->maker.name == NULL) {
            return vta_context(diag, "layer %u, [%s] at line %u", i, d->section->type, d->section->line);
        }
        VTA_TRY(name_value(d, x, name, diag));
        d->values[i] = x;
        if (layer->boxes) {
            VTA_TRY(add_output(d, x, diag));
            boxes = true;
        }
    }
    return boxes ? VTA_OK : add_output(d, x, diag);
}

static vta_status import_network(darknet *d, const cfg_file *cfg, const vtac_import_options *options,
                                 vta_diag *diag)
{
    if (cfg->count < 2) {
        return vta_fail(diag, VTA_INVALID, "a network without layers");
    }
    d->layers = cfg->sections + 1;
    d->count = (uint32_t)cfg->count - 1;
    d->values = vta_arena_array(&d->maker.graph->arena, d->count, sizeof *d->values);
    if (d->values == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory");
    }
    memset(d->values, 0, d->count * sizeof *d->values);
    vtac_id x;
    VTA_TRY(check_layers(d, diag));
    VTA_TRY(read_header(d, diag));
    VTA_TRY(add_input(d, &cfg->sections[0], options, &x, diag));
    VTA_TRY(import_layers(d, x, diag));
    if (d->at != d->size && options != NULL && options->note != NULL) {
        char text[160];
        (void)snprintf(text, sizeof text, "the file of weights has %zu bytes more than the cfg's layers take",
                       d->size - d->at);
        options->note(options->context, text);
    }
    return VTA_OK;
}

/* model.weights beside model.cfg. */
static vta_status beside(const vtac_model_file *file, char *path, size_t size, vta_diag *diag)
{
    const size_t length = strlen(file->path);
    const bool named = length > 4 && strcmp(file->path + length - 4, ".cfg") == 0;
    const int used = snprintf(path, size, "%.*s.weights", (int)(named ? length - 4 : length), file->path);
    return used > 0 && (size_t)used < size ? VTA_OK : vta_fail(diag, VTA_INVALID, "its path is too long");
}

vta_status vtac_darknet_parse(const vtac_model_file *file, const uint8_t *weights, size_t size,
                              const vtac_import_options *options, vtac_graph **out, vta_diag *diag)
{
    cfg_file cfg = {.count = 0};
    vtac_graph *graph = vtac_graph_create("darknet");
    darknet d = {.weights = weights, .size = size};
    d.maker = (vtac_builder){.graph = graph, .diag = diag, .name = "", .budget = VTAC_BUILDER_NODES};
    vta_status status = graph == NULL ? vta_fail(diag, VTA_NOMEM, "out of memory")
                                      : cfg_parse(file, &graph->arena, &cfg, diag);
    status = status == VTA_OK ? import_network(&d, &cfg, options, diag) : status;
    cfg_free(&cfg);
    if (status != VTA_OK) {
        vtac_graph_destroy(graph);
        (void)vta_context(diag, "%s", file->path);
        return status;
    }
    (void)vtac_remove_dead(graph);
    *out = graph;
    return VTA_OK;
}

/* The first section of a cfg is [net] or [network], behind comments. */
bool vtac_recognize_darknet(const vtac_model_file *file)
{
    const char *at = (const char *)file->bytes;
    const char *end = at + file->size;
    while (at < end &&
           (*at == '#' || *at == ';' || *at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
        const char *stop = *at == '#' || *at == ';' ? memchr(at, '\n', (size_t)(end - at)) : at;
        at = stop == NULL ? end : stop + 1;
    }
    return (end - at >= 5 && memcmp(at, "[net]", 5) == 0) ||
           (end - at >= 9 && memcmp(at, "[network]", 9) == 0);
}

vta_status vtac_load_darknet(const vtac_model_file *file, const vtac_import_options *options,
                             vtac_graph **out, vta_diag *diag)
{
    char path[4096];
    const char *given = options != NULL ? options->weights : NULL;
    uint8_t *bytes = NULL;
    size_t size = 0;
    vta_status status = VTA_OK;
    if (file->folder == NULL && given == NULL) {
        return vta_fail(diag, VTA_INVALID, "%s: a cfg without its weights", file->path);
    }
    status = given == NULL ? beside(file, path, sizeof path, diag) : VTA_OK;
    status = status == VTA_OK ? vta_file_read(given != NULL ? given : path, MOST_WEIGHTS, &bytes, &size, diag)
                              : status;
    if (status != VTA_OK) {
        return given != NULL ? status
                             : vta_context(diag, "%s: its weights (or give them with --weights)", file->path);
    }
    status = vtac_darknet_parse(file, bytes, size, options, out, diag);
    free(bytes);
    return status;
}
