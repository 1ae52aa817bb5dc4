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

#include "darknet.h"
#include "vta/file.h"

enum { MOST_FROM = 64 };

/* ---- options */

int64_t dk_option(darknet *d, const char *name, int64_t otherwise, int64_t least, int64_t most)
{
    int64_t value = otherwise;
    if (d->maker.status == VTA_OK) {
        d->maker.status = cfg_int(d->section, name, otherwise, least, most, &value, d->maker.diag);
    }
    return d->maker.status == VTA_OK ? value : least; /* something that can be reckoned with */
}

/* ---- weights */

float *dk_take(darknet *d, int64_t count)
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

dk_norm dk_take_norm(darknet *d, int64_t outputs)
{
    dk_norm n = {.scale = dk_take(d, outputs)};
    n.mean = dk_take(d, outputs);
    n.variance = dk_take(d, outputs);
    return n;
}

/* weights[outputs][each] and bias[outputs] take the normalization in. */
void dk_apply_norm(const dk_norm *n, float *weights, float *bias, int64_t outputs, int64_t each)
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

vtac_id dk_number(vtac_builder *m, double value)
{
    return vtac_make_number(m, VTAC_F32, value);
}

/* Positive numbers, or powers of e, in proportion to their sum over the channels. */
static vtac_id share_of_channels(vtac_builder *m, vtac_id x, bool powers, bool from_most)
{
    const int64_t channels[] = {1};
    if (from_most) {
        x = vtac_make2(m, VTAC_OP_SUB, x, vtac_make_reduce(m, VTAC_OP_REDUCE_MAX, x, channels, 1, true));
    }
    x = vtac_make1(m, powers ? VTAC_OP_EXP : VTAC_OP_RELU, x);
    const vtac_id sum = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, x, channels, 1, true);
    return vtac_make2(m, VTAC_OP_DIV, x, vtac_make2(m, VTAC_OP_ADD, sum, dk_number(m, 1e-4)));
}

/* Straight pieces: slope `outer` below `low` and above `high`, `inner` between them. */
static vtac_id pieces(vtac_builder *m, vtac_id x, double low, double high, double inner, double outer,
                      double at)
{
    const vtac_id middle = vtac_make_clip(m, x, low, high);
    const vtac_id rest = vtac_make2(m, VTAC_OP_SUB, x, middle);
    const vtac_id y = vtac_make2(m, VTAC_OP_ADD, vtac_make2(m, VTAC_OP_MUL, middle, dk_number(m, inner)),
                                 vtac_make2(m, VTAC_OP_MUL, rest, dk_number(m, outer)));
    return vtac_make2(m, VTAC_OP_ADD, y, dk_number(m, at));
}

/* Half of the whole part, and on odd steps what is left as well. */
static vtac_id stairs(vtac_builder *m, vtac_id x)
{
    const vtac_id whole = vtac_make1(m, VTAC_OP_FLOOR, x);
    const vtac_id half = vtac_make1(m, VTAC_OP_FLOOR, vtac_make2(m, VTAC_OP_MUL, x, dk_number(m, 0.5)));
    const vtac_id odd =
        vtac_make2(m, VTAC_OP_SUB, whole, vtac_make2(m, VTAC_OP_MUL, half, dk_number(m, 2.0)));
    const vtac_id rest = vtac_make2(m, VTAC_OP_MUL, odd, vtac_make2(m, VTAC_OP_SUB, x, whole));
    return vtac_make2(m, VTAC_OP_ADD, half, rest);
}

static vtac_id hard_mish(vtac_builder *m, vtac_id x)
{
    const vtac_id middle = vtac_make_clip(m, x, -2.0, 0.0);
    const vtac_id square =
        vtac_make2(m, VTAC_OP_MUL, vtac_make2(m, VTAC_OP_MUL, middle, middle), dk_number(m, 0.5));
    return vtac_make2(m, VTAC_OP_ADD, vtac_make1(m, VTAC_OP_RELU, x),
                      vtac_make2(m, VTAC_OP_ADD, square, middle));
}

vtac_id dk_activate(darknet *d, vtac_id x, const char *otherwise)
{
    vtac_builder *m = &d->maker;
    const char *given = cfg_text(d->section, "activation");
    const char *name = given == NULL ? otherwise : given;
    static const struct {
        const char *name;
        vtac_op op;
    } plain[] = {{"relu", VTAC_OP_RELU},
                 {"logistic", VTAC_OP_SIGMOID},
                 {"tanh", VTAC_OP_TANH},
                 {"elu", VTAC_OP_ELU},
                 {"selu", VTAC_OP_SELU}};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(name, plain[i].name) == 0) {
            return vtac_make1(m, plain[i].op, x);
        }
    }
    if (strcmp(name, "linear") == 0) {
        return x;
    }
    if (strcmp(name, "stair") == 0) {
        return stairs(m, x);
    }
    if (strcmp(name, "leaky") == 0 || strcmp(name, "revleaky") == 0) {
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
    if (strcmp(name, "gelu") == 0) {
        const vtac_attr tanh_form = vtac_attr_of_string("approximate", "tanh");
        return vtac_make(m, VTAC_OP_GELU, &x, 1, &tanh_form, 1);
    }
    if (strcmp(name, "hard_mish") == 0) {
        return hard_mish(m, x);
    }
    if (strcmp(name, "lhtan") == 0) {
        return pieces(m, x, 0.0, 1.0, 1.0, 0.001, 0.0);
    }
    if (strcmp(name, "plse") == 0) {
        return pieces(m, x, -4.0, 4.0, 0.125, 0.01, 0.5);
    }
    if (strncmp(name, "normalize_channels", 18) == 0) {
        const bool powers = strstr(name, "softmax") != NULL;
        return share_of_channels(m, x, powers, powers && strstr(name, "maxval") != NULL);
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

const int64_t *dk_dims(darknet *d, vtac_id x, uint32_t rank)
{
    static const int64_t none[VTAC_MAX_RANK] = {1, 1, 1, 1};
    const vtac_type *type = vtac_made_type(&d->maker, x);
    if (d->maker.status == VTA_OK && type->rank != rank) {
        vtac_make_fail(&d->maker, VTA_INVALID, "the layer before has %u axes, it needs %u", type->rank, rank);
    }
    return d->maker.status == VTA_OK ? type->dim : none;
}

/* Each weight becomes its filter's mean size, with its own sign; 0 counts as less. */
static void keep_signs(float *weights, int64_t filters, int64_t each)
{
    for (int64_t f = 0; f < filters; f++) {
        double sum = 0.0;
        for (int64_t i = 0; i < each; i++) {
            sum += fabs((double)weights[f * each + i]);
        }
        const float mean = (float)(sum / (double)each);
        for (int64_t i = 0; i < each; i++) {
            weights[f * each + i] = weights[f * each + i] > 0.0F ? mean : -mean;
        }
    }
}

vtac_id dk_conv(darknet *d, vtac_id x, const dk_window *w)
{
    vtac_builder *m = &d->maker;
    const int64_t channels = dk_dims(d, x, 4)[1];
    if (m->status != VTA_OK || channels % w->groups != 0 || w->filters % w->groups != 0) {
        vtac_make_fail(m, VTA_INVALID, "%lld channels and %lld filters in %lld groups", (long long)channels,
                       (long long)w->filters, (long long)w->groups);
        return 0;
    }
    const int64_t each = channels / w->groups * w->size * w->size;
    float *bias = dk_take(d, w->filters);
    const dk_norm norm = w->normal ? dk_take_norm(d, w->filters) : (dk_norm){.scale = NULL};
    float *given = dk_take(d, w->filters * each);
    float *weights = w->flipped ? vtac_make_room(m, w->filters * each, sizeof *weights) : given;
    if (m->status != VTA_OK) {
        return 0;
    }
    for (int64_t i = 0; w->flipped && i < w->filters * each; i++) {
        weights[i] = given[i % each * w->filters + i / each];
    }
    if (w->signs) {
        keep_signs(weights, w->filters, each);
    }
    if (w->normal) {
        dk_apply_norm(&norm, weights, bias, w->filters, each);
    }
    const vtac_type type = {VTAC_F32, 4, {w->filters, channels / w->groups, w->size, w->size}};
    const vtac_type vector = {VTAC_F32, 1, {w->filters}};
    const int64_t edge = w->pad * w->spread;
    const int64_t pads[] = {edge, edge, edge, edge};
    const int64_t dilations[] = {w->spread, w->spread};
    const vtac_attr attrs[] = {
        vtac_attr_of_ints("strides", w->strides, 2), vtac_attr_of_ints("pads", pads, 4),
        vtac_attr_of_ints("dilations", dilations, 2), vtac_attr_of_int("group", w->groups)};
    const vtac_id in[] = {x, vtac_make_borrowed(m, &type, weights), vtac_make_borrowed(m, &vector, bias)};
    return vtac_make(m, VTAC_OP_CONV, in, 3, attrs, 4);
}

/* Every so manieth place, after a filter that blurs: 3 x 3, or the mean of 2 x 2. */
static vtac_id blurred(darknet *d, vtac_id x, const int64_t *strides, bool small)
{
    vtac_builder *m = &d->maker;
    const int64_t channels = dk_dims(d, x, 4)[1];
    const int64_t size = small ? 2 : 3;
    static const float large[] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
    float *weights = vtac_make_room(m, channels * size * size, sizeof *weights);
    for (int64_t i = 0; weights != NULL && i < channels * size * size; i++) {
        weights[i] = small ? 0.25F : large[i % 9] / 16.0F;
    }
    const vtac_type type = {VTAC_F32, 4, {channels, 1, size, size}};
    const int64_t edge = small ? 0 : 1;
    const int64_t pads[] = {edge, edge, edge, edge};
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", strides, 2), vtac_attr_of_ints("pads", pads, 4),
                               vtac_attr_of_int("group", channels)};
    const vtac_id in[] = {x, weights == NULL ? 0 : vtac_make_borrowed(m, &type, weights)};
    return vtac_make(m, VTAC_OP_CONV, in, 2, attrs, 3);
}

/* The weights of an earlier layer: the file has none for this one. */
static vtac_id shared_conv(darknet *d, vtac_id x, const dk_window *w, int64_t with)
{
    const int64_t at = with < 0 ? (int64_t)d->number + with : with;
    if (at < 0 || at >= (int64_t)d->number) {
        vtac_make_fail(&d->maker, VTA_INVALID, "'share_index' %lld is no layer before it", (long long)with);
        return 0;
    }
    const uint32_t owner = d->owners[d->number] = d->owners[at];
    const size_t here = d->at;
    d->at = d->begins[owner];
    x = dk_conv(d, x, w);
    if (d->maker.status == VTA_OK && d->at != d->begins[owner + 1]) {
        vtac_make_fail(&d->maker, VTA_INVALID, "it takes %zu bytes of weights, layer %u has %zu",
                       d->at - d->begins[owner], owner, d->begins[owner + 1] - d->begins[owner]);
    }
    d->at = here;
    return x;
}

static vtac_id convolutional(darknet *d, vtac_id x)
{
    const int64_t size = dk_option(d, "size", 1, 1, MOST_SIZE);
    const int64_t stride = dk_option(d, "stride", 1, 1, MOST_SIZE);
    const int64_t strides[] = {dk_option(d, "stride_y", stride, 1, MOST_SIZE),
                               dk_option(d, "stride_x", stride, 1, MOST_SIZE)};
    const int64_t blur = dk_option(d, "antialiasing", 0, 0, 2);
    enum { NOT_SHARED = -1000000000 };
    const int64_t shared = dk_option(d, "share_index", NOT_SHARED, NOT_SHARED, 1 << 20);
    const bool signs = dk_option(d, "xnor", 0, 0, 1) != 0;
    if (dk_option(d, "deform", 0, 0, 1 << 20) != 0) {
        vtac_make_fail(&d->maker, VTA_UNSUPPORTED, "'deform' is not supported");
    }
    const dk_window w = {.filters = dk_option(d, "filters", 1, 1, MOST_SIZE),
                         .size = size,
                         .strides = {blur != 0 ? 1 : strides[0], blur != 0 ? 1 : strides[1]},
                         .pad = dk_option(d, "pad", 0, 0, 1) != 0 ? size / 2
                                                                  : dk_option(d, "padding", 0, 0, MOST_SIZE),
                         .spread = size == 1 ? 1 : dk_option(d, "dilation", 1, 1, MOST_SIZE),
                         .groups = dk_option(d, "groups", 1, 1, MOST_SIZE),
                         .normal = dk_option(d, "batch_normalize", 0, 0, 2) != 0,
                         .flipped = dk_option(d, "flipped", 0, 0, 1) != 0,
                         .signs = signs || dk_option(d, "binary", 0, 0, 1) != 0};
    if (signs) { /* the input counts by its sign, too */
        const vtac_id above = vtac_make2(&d->maker, VTAC_OP_GREATER, x, dk_number(&d->maker, 0.0));
        x = vtac_make3(&d->maker, VTAC_OP_WHERE, above, dk_number(&d->maker, 1.0),
                       dk_number(&d->maker, -1.0));
    }
    if (d->maker.status == VTA_OK) {
        x = shared == NOT_SHARED ? dk_conv(d, x, &w) : shared_conv(d, x, &w, shared);
    }
    x = d->maker.status == VTA_OK ? dk_activate(d, x, "logistic") : 0;
    return blur != 0 ? blurred(d, x, strides, blur == 2) : x;
}

/* Weights [channels][filters][size][size]. */
static vtac_id deconvolutional(darknet *d, vtac_id x)
{
    vtac_builder *m = &d->maker;
    const int64_t channels = dk_dims(d, x, 4)[1];
    const int64_t filters = dk_option(d, "filters", 1, 1, MOST_SIZE);
    const int64_t size = dk_option(d, "size", 1, 1, MOST_SIZE);
    const int64_t stride = dk_option(d, "stride", 1, 1, MOST_SIZE);
    const int64_t pad =
        dk_option(d, "pad", 0, 0, 1) != 0 ? size / 2 : dk_option(d, "padding", 0, 0, MOST_SIZE);
    const bool normal = dk_option(d, "batch_normalize", 0, 0, 1) != 0;
    float *bias = dk_take(d, filters);
    const dk_norm norm = normal ? dk_take_norm(d, filters) : (dk_norm){.scale = NULL};
    float *weights = dk_take(d, channels * filters * size * size);
    if (m->status != VTA_OK) {
        return 0;
    }
    for (int64_t i = 0; normal && i < channels * filters; i++) {
        const double factor =
            (double)norm.scale[i % filters] / sqrt((double)norm.variance[i % filters] + 1e-6);
        for (int64_t k = 0; k < size * size; k++) {
            weights[i * size * size + k] = (float)((double)weights[i * size * size + k] * factor);
        }
    }
    if (normal) {
        dk_apply_norm(&norm, NULL, bias, filters, 0);
    }
    const vtac_type type = {VTAC_F32, 4, {channels, filters, size, size}};
    const vtac_type vector = {VTAC_F32, 1, {filters}};
    const int64_t strides[] = {stride, stride};
    const int64_t pads[] = {pad, pad, pad, pad};
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", strides, 2), vtac_attr_of_ints("pads", pads, 4)};
    const vtac_id in[] = {x, vtac_make_borrowed(m, &type, weights), vtac_make_borrowed(m, &vector, bias)};
    return dk_activate(d, vtac_make(m, VTAC_OP_CONV_TRANSPOSE, in, 3, attrs, 2), "logistic");
}

/* x [batch][channels][h][w] cut into windows: [places][batch][channels * size * size]. */
static vtac_id windows_of(darknet *d, vtac_id x, int64_t size, int64_t stride, const int64_t *out)
{
    vtac_builder *m = &d->maker;
    const vtac_type type = *vtac_made_type(m, x);
    vtac_id taps[256];
    for (int64_t i = 0; i < size * size; i++) {
        const int64_t begin[] = {i / size, i % size};
        const int64_t end[] = {begin[0] + (out[0] - 1) * stride + 1, begin[1] + (out[1] - 1) * stride + 1};
        const int64_t axes[] = {2, 3};
        const int64_t step[] = {stride, stride};
        const vtac_id in[] = {x, vtac_make_ints(m, begin, 2), vtac_make_ints(m, end, 2),
                              vtac_make_ints(m, axes, 2), vtac_make_ints(m, step, 2)};
        taps[i] = vtac_make_reshape(m, vtac_make(m, VTAC_OP_SLICE, in, 5, NULL, 0),
                                    (int64_t[]){type.dim[0], type.dim[1], 1, out[0] * out[1]}, 4);
    }
    x = vtac_make_concat(m, taps, (uint32_t)(size * size), 2);
    x = vtac_make_transpose(m, x, (int64_t[]){3, 0, 1, 2}, 4);
    return vtac_make_reshape(m, x, (int64_t[]){out[0] * out[1], type.dim[0], type.dim[1] * size * size}, 3);
}

/* A convolution with filters of its own at each place, and a bias. */
static vtac_id local(darknet *d, vtac_id x)
{
    vtac_builder *m = &d->maker;
    const int64_t *dim = dk_dims(d, x, 4);
    const int64_t filters = dk_option(d, "filters", 1, 1, MOST_SIZE);
    const int64_t size = dk_option(d, "size", 1, 1, 15);
    const int64_t stride = dk_option(d, "stride", 1, 1, MOST_SIZE);
    const int64_t pad = dk_option(d, "pad", 0, 0, 1); /* the border itself, whatever the size */
    const int64_t batch = dim[0];
    const int64_t each = dim[1] * size * size;
    int64_t out[2];
    for (int a = 0; a < 2; a++) {
        out[a] = (dim[2 + a] - (pad != 0 ? 1 : size)) / stride + 1;
        if (dim[2 + a] + 2 * pad < (out[a] - 1) * stride + size || dim[2 + a] + 2 * pad < size) {
            vtac_make_fail(m, VTA_UNSUPPORTED, "windows of %lld with a border of %lld on %lld places",
                           (long long)size, (long long)pad, (long long)dim[2 + a]);
        }
    }
    const int64_t places = out[0] * out[1];
    float *bias = m->status == VTA_OK ? dk_take(d, filters * places) : NULL;
    float *weights = m->status == VTA_OK && each <= MOST_WEIGHTS / (filters * places)
                         ? dk_take(d, places * filters * each)
                         : NULL;
    if (weights == NULL || bias == NULL) {
        vtac_make_fail(m, VTA_RANGE, "%lld filters of %lld at %lld places", (long long)filters,
                       (long long)each, (long long)places);
        return 0;
    }
    const int64_t pads[] = {0, 0, pad, pad, 0, 0, pad, pad};
    x = pad == 0 ? x : vtac_make2(m, VTAC_OP_PAD, x, vtac_make_ints(m, pads, 8));
    x = windows_of(d, x, size, stride, out);
    const vtac_type type = {VTAC_F32, 3, {places, filters, each}};
    const vtac_id turned =
        vtac_make_transpose(m, vtac_make_borrowed(m, &type, weights), (int64_t[]){0, 2, 1}, 3);
    vtac_id y = vtac_make_transpose(m, vtac_make2(m, VTAC_OP_MATMUL, x, turned), (int64_t[]){1, 2, 0}, 3);
    y = vtac_make_reshape(m, y, (int64_t[]){batch, filters, out[0], out[1]}, 4);
    const vtac_type along = {VTAC_F32, 3, {filters, out[0], out[1]}};
    return dk_activate(d, vtac_make2(m, VTAC_OP_ADD, y, vtac_make_borrowed(m, &along, bias)), "logistic");
}

vtac_id dk_flattened(darknet *d, vtac_id x)
{
    const vtac_type *type = vtac_made_type(&d->maker, x);
    const int64_t batch = type->rank > 0 ? type->dim[0] : 1;
    const int64_t count = vtac_type_elements(type);
    return vtac_make_reshape(&d->maker, x, (int64_t[]){batch, batch > 0 ? count / batch : 0}, 2);
}

vtac_id dk_dense(darknet *d, vtac_id x, int64_t outputs, bool normal)
{
    vtac_builder *m = &d->maker;
    x = dk_flattened(d, x);
    const int64_t inputs = dk_dims(d, x, 2)[1];
    if (m->status != VTA_OK || inputs > (1 << 30) / outputs) {
        vtac_make_fail(m, VTA_RANGE, "%lld inputs to %lld outputs", (long long)inputs, (long long)outputs);
        return 0;
    }
    float *bias = dk_take(d, outputs);
    float *weights = dk_take(d, outputs * inputs);
    const dk_norm norm = normal ? dk_take_norm(d, outputs) : (dk_norm){.scale = NULL};
    float *rows = d->turned ? vtac_make_room(m, outputs * inputs, sizeof *rows) : weights;
    if (m->status != VTA_OK) {
        return 0;
    }
    for (int64_t i = 0; d->turned && i < outputs * inputs; i++) {
        rows[i] = weights[i % inputs * outputs + i / inputs];
    }
    if (normal) {
        dk_apply_norm(&norm, rows, bias, outputs, inputs);
    }
    const vtac_type type = {VTAC_F32, 2, {outputs, inputs}};
    const vtac_type vector = {VTAC_F32, 1, {outputs}};
    const vtac_attr turned = vtac_attr_of_int("transB", 1);
    const vtac_id in[] = {x, vtac_make_borrowed(m, &type, rows), vtac_make_borrowed(m, &vector, bias)};
    return vtac_make(m, VTAC_OP_GEMM, in, 3, &turned, 1);
}

static vtac_id connected(darknet *d, vtac_id x)
{
    const int64_t outputs = dk_option(d, "output", 1, 1, 1 << 24);
    const bool normal = dk_option(d, "batch_normalize", 0, 0, 2) != 0;
    return dk_activate(d, dk_dense(d, x, outputs, normal), "logistic");
}

static vtac_id pooled(darknet *d, vtac_id x, vtac_op op)
{
    const int64_t stride = dk_option(d, "stride", 1, 1, MOST_SIZE);
    const int64_t size = dk_option(d, "size", stride, 1, MOST_SIZE);
    const int64_t padding = dk_option(d, "padding", size - 1, 0, MOST_SIZE);
    const int64_t strides[] = {dk_option(d, "stride_y", stride, 1, MOST_SIZE),
                               dk_option(d, "stride_x", stride, 1, MOST_SIZE)};
    const int64_t kernel[] = {size, size};
    const int64_t before = padding / 2;
    const int64_t pads[] = {before, before, padding - before, padding - before};
    (void)dk_dims(d, x, 4);
    const int64_t blur = dk_option(d, "antialiasing", 0, 0, 2);
    const int64_t ones[] = {1, 1};
    if (dk_option(d, "avgpool_depth", 0, 0, 1) != 0) {
        vtac_make_fail(&d->maker, VTA_UNSUPPORTED, "means over channels");
    }
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", blur != 0 ? ones : strides, 2),
                               vtac_attr_of_ints("pads", pads, 4),
                               vtac_attr_of_ints("kernel_shape", kernel, 2)};
    x = vtac_make(&d->maker, op, &x, 1, attrs, 3);
    return blur != 0 ? blurred(d, x, strides, blur == 2) : x;
}

/* The most of every so manieth channel. */
static vtac_id most_of_channels(darknet *d, vtac_id x)
{
    vtac_builder *m = &d->maker;
    const int64_t *dim = dk_dims(d, x, 4);
    const int64_t out = dk_option(d, "out_channels", 1, 1, MOST_SIZE);
    const int64_t axis[] = {1};
    if (m->status != VTA_OK || dim[1] % out != 0) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "%lld channels from %lld", (long long)out, (long long)dim[1]);
        return 0;
    }
    x = vtac_make_reshape(m, x, (int64_t[]){dim[0], dim[1] / out, out, dim[2], dim[3]}, 5);
    return vtac_make_reduce(m, VTAC_OP_REDUCE_MAX, x, axis, 1, false);
}

static vtac_id maxpool(darknet *d, vtac_id x)
{
    if (dk_option(d, "maxpool_depth", 0, 0, 1) != 0) {
        return most_of_channels(d, x);
    }
    return pooled(d, x, VTAC_OP_MAX_POOL);
}

static vtac_id local_avgpool(darknet *d, vtac_id x)
{
    return pooled(d, x, VTAC_OP_AVERAGE_POOL);
}

static vtac_id avgpool(darknet *d, vtac_id x)
{
    (void)dk_dims(d, x, 4);
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
    const int64_t groups = dk_option(d, "groups", 1, 1, MOST_SIZE);
    const int64_t group = dk_option(d, "group_id", 0, 0, MOST_SIZE);
    for (size_t i = 0; i < count; i++) {
        parts[i] = earlier(d, from[i]);
        const int64_t channels = dk_dims(d, parts[i], vtac_made_type(&d->maker, parts[i])->rank)[1];
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
    const int64_t own = dk_dims(d, y, 4)[1];
    if (own > channels) {
        return vtac_make_slice(&d->maker, y, 1, 0, channels);
    }
    const int64_t pads[] = {0, 0, 0, 0, 0, channels - own, 0, 0};
    return own == channels ? y : vtac_make2(&d->maker, VTAC_OP_PAD, y, vtac_make_ints(&d->maker, pads, 8));
}

/* Every so manieth row and column of a larger layer. */
static vtac_id fit_places(darknet *d, vtac_id y, const int64_t *to)
{
    vtac_builder *m = &d->maker;
    const int64_t *dim = dk_dims(d, y, 4);
    const int64_t step = to[2] > 0 ? dim[2] / to[2] : 1;
    if (dim[2] == to[2] && dim[3] == to[3]) {
        return y;
    }
    if (m->status != VTA_OK || step < 2 || to[3] < 1 || dim[3] / to[3] != step) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "planes of %lld x %lld added to %lld x %lld", (long long)dim[2],
                       (long long)dim[3], (long long)to[2], (long long)to[3]);
        return 0;
    }
    const int64_t zeros[] = {0, 0};
    const int64_t end[] = {to[2] * step, to[3] * step};
    const int64_t axes[] = {2, 3};
    const int64_t steps[] = {step, step};
    const vtac_id in[] = {y, vtac_make_ints(m, zeros, 2), vtac_make_ints(m, end, 2),
                          vtac_make_ints(m, axes, 2), vtac_make_ints(m, steps, 2)};
    return vtac_make(m, VTAC_OP_SLICE, in, 5, NULL, 0);
}

/* The weights of the layers that a shortcut joins, one for each or one for each channel, in proportion. */
static const float *shares(darknet *d, size_t layers, int64_t channels, int64_t *each)
{
    const char *type = cfg_text(d->section, "weights_type");
    const char *norm = cfg_text(d->section, "weights_normalization");
    const bool powers = norm != NULL && strcmp(norm, "softmax") == 0;
    const bool positive = norm != NULL && (strcmp(norm, "relu") == 0 || strcmp(norm, "avg_relu") == 0);
    *each = type != NULL && strcmp(type, "per_channel") == 0 ? channels : 1;
    if ((*each == 1 && strcmp(type, "per_feature") != 0 && strcmp(type, "per_layer") != 0) ||
        (norm != NULL && !powers && !positive && strcmp(norm, "none") != 0)) {
        vtac_make_fail(&d->maker, VTA_UNSUPPORTED, "weights_type '%.40s', weights_normalization '%.40s'",
                       type, norm == NULL ? "none" : norm);
        return NULL;
    }
    float *w = dk_take(d, (int64_t)layers * *each);
    for (int64_t c = 0; w != NULL && (powers || positive) && c < *each; c++) {
        float most = -HUGE_VALF;
        float sum = 1e-4F;
        for (size_t i = 0; i < layers; i++) {
            most = fmaxf(most, w[(int64_t)i * *each + c]);
        }
        for (size_t i = 0; i < layers; i++) {
            float *one = &w[(int64_t)i * *each + c];
            *one = powers ? expf(*one - most) : fmaxf(*one, 1e-3F);
            sum += *one;
        }
        for (size_t i = 0; i < layers; i++) {
            w[(int64_t)i * *each + c] /= sum;
        }
    }
    return w;
}

static vtac_id shortcut(darknet *d, vtac_id x)
{
    vtac_builder *m = &d->maker;
    int64_t from[MOST_FROM];
    const size_t count = from_layers(d, "from", from);
    const char *weighted = cfg_text(d->section, "weights_type");
    const bool has_weights = weighted != NULL && strcmp(weighted, "none") != 0;
    vtac_type type = {VTAC_F32, 4, {0}};
    memcpy(type.dim, dk_dims(d, x, 4), 4 * sizeof *type.dim);
    int64_t each = 0;
    const float *w = has_weights && m->status == VTA_OK ? shares(d, count + 1, type.dim[1], &each) : NULL;
    vtac_id y = 0;
    for (size_t i = 0; i <= count && m->status == VTA_OK; i++) {
        vtac_id part = i == 0 ? x : fit_places(d, earlier(d, from[i - 1]), type.dim);
        part = i == 0 ? part : fit_channels(d, part, type.dim[1]);
        const double factor = cfg_float(d->section, i == 0 ? "alpha" : "beta", 1.0);
        if (factor != 1.0) {
            part = vtac_make2(m, VTAC_OP_MUL, part, dk_number(m, factor));
        }
        if (w != NULL) {
            const vtac_type row = {VTAC_F32, 3, {each, 1, 1}};
            part = vtac_make2(m, VTAC_OP_MUL, part, vtac_make_constant(m, &row, w + (int64_t)i * each));
        }
        y = i == 0 ? part : vtac_make2(m, VTAC_OP_ADD, y, part);
    }
    return dk_activate(d, y, "linear");
}

static vtac_id upsample(darknet *d, vtac_id x)
{
    vtac_builder *m = &d->maker;
    const int64_t stride = dk_option(d, "stride", 2, 1, 256);
    const int64_t *dim = dk_dims(d, x, 4);
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

/* Channels into rows and columns. */
static vtac_id reorg_back(darknet *d, vtac_id x, int64_t s)
{
    vtac_builder *m = &d->maker;
    const int64_t *dim = dk_dims(d, x, 4);
    const int64_t n = dim[0];
    const int64_t c = dim[1] / (s * s);
    const int64_t h = dim[2];
    const int64_t w = dim[3];
    if (m->status != VTA_OK || dim[1] % (s * s) != 0) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "%lld channels by %lld in reverse", (long long)dim[1],
                       (long long)s);
        return 0;
    }
    x = vtac_make_reshape(m, x, (int64_t[]){n, s, s, c, h, w}, 6);
    x = vtac_make_transpose(m, x, (int64_t[]){0, 3, 4, 1, 5, 2}, 6);
    return vtac_make_reshape(m, x, (int64_t[]){n, c, h * s, w * s}, 4);
}

/* Rows and columns into channels; [reorg] reads the planes as if they were larger and fewer. */
static vtac_id reorg(darknet *d, vtac_id x)
{
    vtac_builder *m = &d->maker;
    const int64_t s = dk_option(d, "stride", 1, 1, 256);
    const int64_t *dim = dk_dims(d, x, 4);
    const int64_t n = dim[0];
    const int64_t c = dim[1];
    const int64_t h = dim[2];
    const int64_t w = dim[3];
    const bool plain = strcmp(d->section->type, "reorg3d") == 0;
    if (dk_option(d, "reverse", 0, 0, 1) != 0 && !plain) {
        return reorg_back(d, x, s);
    }
    if (dk_option(d, "reverse", 0, 0, 1) != 0 || (!plain && c % (s * s) != 0) || h % s != 0 || w % s != 0) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "%lld channels of %lld x %lld by %lld, or in reverse",
                       (long long)c, (long long)h, (long long)w, (long long)s);
        return 0;
    }
    const int64_t large[] = {n, c / (s * s), h, s, w, s};
    const int64_t own[] = {n, c, h / s, s, w / s, s};
    x = vtac_make_reshape(m, x, plain ? own : large, 6);
    x = vtac_make_transpose(m, x, (int64_t[]){0, 3, 5, 1, 2, 4}, 6);
    return vtac_make_reshape(m, x, (int64_t[]){n, c * s * s, h / s, w / s}, 4);
}

/* Squeeze and excite: planes times one number each; spatial attention: number by number. */
static vtac_id scaled_by(darknet *d, vtac_id x)
{
    int64_t from[MOST_FROM];
    if (from_layers(d, "from", from) != 1) { /* with scale_wh, a plane for all channels: its shape tells */
        vtac_make_fail(&d->maker, VTA_UNSUPPORTED, "more than one layer 'from'");
        return 0;
    }
    return dk_activate(d, vtac_make2(&d->maker, VTAC_OP_MUL, x, earlier(d, from[0])), "linear");
}

static vtac_id same(darknet *d, vtac_id x)
{
    (void)d;
    return x;
}

static vtac_id activation(darknet *d, vtac_id x)
{
    return dk_activate(d, x, "linear");
}

static vtac_id softmax(darknet *d, vtac_id x)
{
    vtac_builder *m = &d->maker;
    const int64_t groups = dk_option(d, "groups", 1, 1, MOST_SIZE);
    const char *warmth = cfg_text(d->section, "temperature");
    if (warmth != NULL && strtod(warmth, NULL) > 0.0 && strtod(warmth, NULL) != 1.0) {
        x = vtac_make2(m, VTAC_OP_MUL, x, dk_number(m, 1.0 / strtod(warmth, NULL)));
    }
    if (dk_option(d, "spatial", 0, 0, 1) != 0) { /* over the channels at each place */
        const vtac_attr channels = vtac_attr_of_int("axis", 1);
        return vtac_make(m, VTAC_OP_SOFTMAX, &x, 1, &channels, 1);
    }
    x = dk_flattened(d, x);
    const int64_t *dim = dk_dims(d, x, 2);
    const int64_t shape[] = {dim[0], groups, dim[1] / groups};
    const int64_t whole[] = {dim[0], dim[1]};
    const vtac_attr axis = vtac_attr_of_int("axis", -1);
    if (cfg_text(d->section, "tree") != NULL) {
        return dk_tree(d, x, cfg_text(d->section, "tree"));
    }
    if (dim[1] % groups != 0) {
        vtac_make_fail(m, VTA_INVALID, "%lld classes in %lld groups", (long long)dim[1], (long long)groups);
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
    const int64_t *dim = dk_dims(d, x, 4);
    const int64_t size[] = {dk_option(d, "crop_height", 1, 1, dim[2]),
                            dk_option(d, "crop_width", 1, 1, dim[3])};
    const int64_t begin[] = {(dim[2] - size[0]) / 2, (dim[3] - size[1]) / 2};
    x = vtac_make_slice(m, x, 2, begin[0], begin[0] + size[0]);
    x = vtac_make_slice(m, x, 3, begin[1], begin[1] + size[1]);
    if (dk_option(d, "noadjust", 0, 0, 1) != 0) {
        return x;
    }
    x = vtac_make2(m, VTAC_OP_MUL, x, vtac_make_number(m, VTAC_F32, 2.0));
    return vtac_make2(m, VTAC_OP_SUB, x, vtac_make_number(m, VTAC_F32, 1.0));
}

static const struct layer {
    const char *type;
    dk_layer_fn *make;
    bool boxes; /* what goes in is an output of the network */
} layers[] = {
    {"convolutional", convolutional, false},
    {"conv", convolutional, false},
    {"connected", connected, false},
    {"conn", connected, false},
    {"deconvolutional", deconvolutional, false},
    {"deconv", deconvolutional, false},
    {"local", local, false},
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
    {"rnn", dk_rnn, false},
    {"gru", dk_gru, false},
    {"lstm", dk_lstm, false},
    {"crnn", dk_crnn, false},
    {"batchnorm", dk_batchnorm, false},
    {"normalization", dk_lrn, false},
    {"lrn", dk_lrn, false},
    {"l2norm", dk_l2norm, false},
    {"logistic", dk_logistic, false},
    {"logxent", dk_logistic, false},
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
    if (cfg_text(net, "height") == NULL && cfg_text(net, "width") == NULL &&
        cfg_text(net, "inputs") != NULL) {
        type.rank = 2;
        VTA_TRY(cfg_int(net, "inputs", 0, 1, 1 << 24, &type.dim[1], diag));
        return vtac_add_input(d->maker.graph, "data", &type, x, diag);
    }
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
        d->begins[i] = d->at;
        d->owners[i] = i;
        x = layer->make(d, x);
        d->begins[i + 1] = d->at;
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
    if (!boxes) {
        VTA_TRY(add_output(d, x, diag));
    }
    for (uint32_t i = 0; i < d->state_count; i++) {
        VTA_TRY(add_output(d, d->states[i], diag));
    }
    d->maker.graph->state_count = d->state_count;
    return VTA_OK;
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
    d->begins = vta_arena_array(&d->maker.graph->arena, (size_t)d->count + 1, sizeof *d->begins);
    d->owners = vta_arena_array(&d->maker.graph->arena, d->count, sizeof *d->owners);
    if (d->values == NULL || d->begins == NULL || d->owners == NULL) {
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
    darknet d = {.weights = weights,
                 .size = size,
                 .folder = file->folder,
                 .keeps_states = options != NULL && options->states};
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
