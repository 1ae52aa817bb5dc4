/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers of Keras: a table, and what each makes.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "keras.h"

void keras_refuse(keras *k, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    vtac_make_fail(&k->maker, VTA_UNSUPPORTED, "%s", text);
}

/* ---- options */

static const cJSON *option(const keras *k, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(k->config, name);
    return cJSON_IsNull(item) ? NULL : item;
}

static int64_t whole(const cJSON *item)
{
    const double value = cJSON_IsNumber(item) ? item->valuedouble : cJSON_IsTrue(item) ? 1.0 : 0.0;
    return value >= -1e9 && value <= 1e9 ? (int64_t)value : 0;
}

int64_t keras_int(keras *k, const char *name, int64_t otherwise)
{
    const cJSON *item = option(k, name);
    return cJSON_IsNumber(item) ? whole(item) : otherwise;
}

double keras_float(keras *k, const char *name, double otherwise)
{
    const cJSON *item = option(k, name);
    if (cJSON_IsObject(item)) { /* an array of NumPy, as Keras writes it */
        item = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(item, "config"), "value");
    }
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

bool keras_bool(keras *k, const char *name, bool otherwise)
{
    const cJSON *item = option(k, name);
    return cJSON_IsBool(item) ? cJSON_IsTrue(item) : otherwise;
}

const char *keras_text(keras *k, const char *name, const char *otherwise)
{
    const cJSON *item = option(k, name);
    if (cJSON_IsObject(item)) { /* a function or layer by its class */
        const cJSON *inner = cJSON_GetObjectItemCaseSensitive(item, "config");
        item = cJSON_IsString(inner) ? inner : cJSON_GetObjectItemCaseSensitive(item, "class_name");
    }
    return cJSON_IsString(item) ? item->valuestring : otherwise;
}

void keras_ints(keras *k, const char *name, int64_t otherwise, int64_t *out, uint32_t count)
{
    const cJSON *item = option(k, name);
    for (uint32_t i = 0; i < count; i++) {
        const cJSON *one = cJSON_IsArray(item) ? cJSON_GetArrayItem(item, (int)i) : item;
        out[i] = one == NULL ? otherwise : whole(one);
        if (cJSON_IsArray(item) && cJSON_GetArraySize(item) != (int)count) {
            vtac_make_fail(&k->maker, VTA_INVALID, "'%s' needs %u numbers", name, count);
        }
        if (one != NULL && (out[i] < 0 || out[i] > 1 << 20)) {
            vtac_make_fail(&k->maker, VTA_INVALID, "'%s' of %lld", name, (long long)out[i]);
        }
    }
}

/* ---- values */

static void orders(uint32_t rank, int64_t *to_planes, int64_t *to_plain)
{
    to_planes[0] = to_plain[0] = 0;
    to_planes[1] = (int64_t)rank - 1;
    to_plain[rank - 1] = 1;
    for (uint32_t i = 2; i < rank; i++) {
        to_planes[i] = i - 1;
        to_plain[i - 1] = i;
    }
}

uint32_t keras_rank(keras *k, const keras_value *v)
{
    return vtac_made_type(&k->maker, v->plain != 0 ? v->plain : v->planes)->rank;
}

static bool ordered(keras *k, const keras_value *v, int64_t *to_planes, int64_t *to_plain)
{
    const uint32_t rank = keras_rank(k, v);
    if (k->maker.status != VTA_OK || rank < 3) {
        vtac_make_fail(&k->maker, VTA_INVALID, "the input has %u axes", rank);
        return false;
    }
    orders(rank, to_planes, to_plain);
    return true;
}

vtac_id keras_plain(keras *k, keras_value *v)
{
    int64_t to_planes[VTAC_MAX_RANK];
    int64_t to_plain[VTAC_MAX_RANK];
    if (v->plain == 0 && ordered(k, v, to_planes, to_plain)) {
        v->plain = vtac_make_transpose(&k->maker, v->planes, to_plain, keras_rank(k, v));
    }
    return v->plain;
}

vtac_id keras_planes(keras *k, keras_value *v)
{
    int64_t to_planes[VTAC_MAX_RANK];
    int64_t to_plain[VTAC_MAX_RANK];
    if (v->planes == 0 && ordered(k, v, to_planes, to_plain)) {
        v->planes = vtac_make_transpose(&k->maker, v->plain, to_planes, keras_rank(k, v));
    }
    return v->planes;
}

const vtac_tensor *keras_weight(keras *k, uint32_t i, uint32_t rank)
{
    static const vtac_tensor none = {.bytes = 0};
    if (i >= k->weight_count) {
        vtac_make_fail(&k->maker, VTA_INVALID, "it has %u weights, expected more", k->weight_count);
        return &none;
    }
    if (k->weights[i].type.rank != rank) {
        vtac_make_fail(&k->maker, VTA_INVALID, "weight %u has %u axes, expected %u", i,
                       k->weights[i].type.rank, rank);
        return &none;
    }
    return &k->weights[i];
}

vtac_id keras_constant(keras *k, const vtac_tensor *t)
{
    return k->maker.status == VTA_OK ? vtac_make_borrowed(&k->maker, &t->type, t->data) : 0;
}

static keras_value plain(vtac_id id)
{
    return (keras_value){.plain = id};
}

static keras_value planes(vtac_id id)
{
    return (keras_value){.planes = id};
}

/* The form that is there; true: planes. */
static bool either(const keras_value *v, vtac_id *id)
{
    *id = v->plain != 0 ? v->plain : v->planes;
    return v->plain == 0;
}

static keras_value as(bool in_planes, vtac_id id)
{
    return in_planes ? planes(id) : plain(id);
}

/* ---- activations */

static vtac_id number(keras *k, double value)
{
    return vtac_make_number(&k->maker, VTAC_F32, value);
}

static vtac_id with_float(keras *k, vtac_op op, vtac_id x, const char *name, double value)
{
    const vtac_attr attr = vtac_attr_of_float(name, value);
    return vtac_make(&k->maker, op, &x, 1, &attr, 1);
}

vtac_id keras_activate(keras *k, vtac_id x, const char *name, int64_t axis)
{
    vtac_builder *m = &k->maker;
    static const struct {
        const char *name;
        vtac_op op;
    } simple[] = {{"relu", VTAC_OP_RELU},
                  {"tanh", VTAC_OP_TANH},
                  {"sigmoid", VTAC_OP_SIGMOID},
                  {"elu", VTAC_OP_ELU},
                  {"selu", VTAC_OP_SELU},
                  {"softplus", VTAC_OP_SOFTPLUS},
                  {"softsign", VTAC_OP_SOFTSIGN},
                  {"exponential", VTAC_OP_EXP},
                  {"gelu", VTAC_OP_GELU},
                  {"mish", VTAC_OP_MISH},
                  {"hard_swish", VTAC_OP_HARD_SWISH},
                  {"hard_silu", VTAC_OP_HARD_SWISH}};
    for (size_t i = 0; i < sizeof simple / sizeof simple[0]; i++) {
        if (strcmp(name, simple[i].name) == 0) {
            return vtac_make1(m, simple[i].op, x);
        }
    }
    if (strcmp(name, "linear") == 0 || name[0] == '\0') {
        return x;
    }
    if (strcmp(name, "relu6") == 0) {
        return vtac_make_clip(m, x, 0.0, 6.0);
    }
    if (strcmp(name, "swish") == 0 || strcmp(name, "silu") == 0) {
        return vtac_make2(m, VTAC_OP_MUL, x, vtac_make1(m, VTAC_OP_SIGMOID, x));
    }
    if (strcmp(name, "leaky_relu") == 0) {
        return with_float(k, VTAC_OP_LEAKY_RELU, x, "alpha", k->version3 ? 0.2 : 0.3);
    }
    if (strcmp(name, "hard_sigmoid") == 0) { /* Keras 3: relu6(x + 3) / 6 */
        const vtac_attr attrs[] = {vtac_attr_of_float("alpha", k->version3 ? 1.0 / 6.0 : 0.2),
                                   vtac_attr_of_float("beta", 0.5)};
        return vtac_make(m, VTAC_OP_HARD_SIGMOID, &x, 1, attrs, 2);
    }
    if (strcmp(name, "softmax") == 0 || strcmp(name, "log_softmax") == 0) {
        const vtac_attr attr = vtac_attr_of_int("axis", axis);
        return vtac_make(m, name[0] == 's' ? VTAC_OP_SOFTMAX : VTAC_OP_LOG_SOFTMAX, &x, 1, &attr, 1);
    }
    keras_refuse(k, "the activation '%.60s' is not supported", name);
    return 0;
}

/* The layer's own activation, channels on `axis`. */
static vtac_id activated(keras *k, vtac_id x, int64_t axis)
{
    return keras_activate(k, x, keras_text(k, "activation", "linear"), axis);
}

/* ---- convolutions: 1 or 2 spatial axes */

typedef struct window {
    uint32_t axes;
    int64_t kernel[2], stride[2], dilation[2], pads[4];
    bool same, causal, valid;
} window;

/* The input's spatial sizes; false after a failure. */
static bool window_of(keras *k, keras_value *v, uint32_t axes, const char *kernel, window *w)
{
    const vtac_type *type = vtac_made_type(&k->maker, keras_planes(k, v));
    const char *padding = keras_text(k, "padding", "valid");
    *w = (window){
        .axes = axes, .same = strcmp(padding, "same") == 0, .causal = strcmp(padding, "causal") == 0};
    keras_ints(k, kernel, 2, w->kernel, axes);
    int64_t stride[2] = {1, 1};
    const bool pool = strcmp(kernel, "pool_size") == 0;
    for (uint32_t a = 0; a < axes; a++) {
        stride[a] = pool ? w->kernel[a] : 1;
    }
    memcpy(w->stride, stride, sizeof stride);
    if (option(k, "strides") != NULL) {
        keras_ints(k, "strides", 1, w->stride, axes);
    }
    keras_ints(k, "dilation_rate", 1, w->dilation, axes);
    if (strcmp(keras_text(k, "data_format", "channels_last"), "channels_last") != 0) {
        keras_refuse(k, "channels first");
    }
    if (k->maker.status == VTA_OK && type->rank != axes + 2) {
        vtac_make_fail(&k->maker, VTA_INVALID, "the input has %u axes, expected %u", type->rank, axes + 2);
    }
    for (uint32_t a = 0; a < axes && k->maker.status == VTA_OK; a++) {
        if (w->kernel[a] < 1 || w->stride[a] < 1 || w->dilation[a] < 1) {
            vtac_make_fail(&k->maker, VTA_INVALID, "a window of %lld, stride %lld, dilation %lld",
                           (long long)w->kernel[a], (long long)w->stride[a], (long long)w->dilation[a]);
            break;
        }
        const int64_t size = type->dim[a + 2];
        const int64_t reach = (w->kernel[a] - 1) * w->dilation[a];
        int64_t total = ((size + w->stride[a] - 1) / w->stride[a] - 1) * w->stride[a] + reach + 1 - size;
        total = w->same && total > 0 ? total : 0;
        w->pads[a] = w->causal ? reach : total / 2;
        w->pads[a + axes] = w->causal ? 0 : total - total / 2;
    }
    w->valid = k->maker.status == VTA_OK;
    return w->valid;
}

static uint32_t window_attrs(const window *w, int64_t groups, vtac_attr *attrs)
{
    attrs[0] = vtac_attr_of_ints("strides", w->stride, w->axes);
    attrs[1] = vtac_attr_of_ints("dilations", w->dilation, w->axes);
    attrs[2] = vtac_attr_of_ints("pads", w->pads, 2 * (size_t)w->axes);
    attrs[3] = vtac_attr_of_int("group", groups);
    return 4;
}

/* Weights [spatial...][a][b] with the last two in front, as `order` says. */
static vtac_id kernel_first(keras *k, const vtac_tensor *t, uint32_t axes, bool swapped)
{
    int64_t order[VTAC_MAX_RANK] = {swapped ? axes : axes + 1, swapped ? axes + 1 : axes};
    for (uint32_t a = 0; a < axes; a++) {
        order[a + 2] = a;
    }
    return vtac_make_transpose(&k->maker, keras_constant(k, t), order, axes + 2);
}

static vtac_id convolve(keras *k, vtac_id x, vtac_id w, vtac_id bias, const window *shape, int64_t groups)
{
    vtac_attr attrs[4];
    const uint32_t count = window_attrs(shape, groups, attrs);
    const vtac_id in[] = {x, w, bias};
    return vtac_make(&k->maker, VTAC_OP_CONV, in, 3, attrs, count);
}

static vtac_id bias_at(keras *k, uint32_t i)
{
    return keras_bool(k, "use_bias", true) ? keras_constant(k, keras_weight(k, i, 1)) : 0;
}

static keras_value conv(keras *k, const void *how)
{
    window w;
    const uint32_t axes = *(const char *)how == '1' ? 1 : 2;
    if (!window_of(k, &k->in[0], axes, "kernel_size", &w)) {
        return plain(0);
    }
    const vtac_id weight = kernel_first(k, keras_weight(k, 0, axes + 2), axes, false);
    const vtac_id y = convolve(k, k->in[0].planes, weight, bias_at(k, 1), &w, keras_int(k, "groups", 1));
    return planes(activated(k, y, 1));
}

/* [h][w][channels][multiplier] as [channels * multiplier][1][h][w] */
static vtac_id depthwise_weight(keras *k, const vtac_tensor *t, uint32_t axes)
{
    vtac_id w = kernel_first(k, t, axes, true);
    const vtac_type *type = vtac_made_type(&k->maker, w);
    const int64_t dims[] = {type->dim[0] * type->dim[1], 1, type->dim[2], type->dim[3]};
    return vtac_make_reshape(&k->maker, w, dims, axes + 2);
}

static keras_value depthwise(keras *k, const void *how)
{
    window w;
    const uint32_t axes = *(const char *)how == '1' ? 1 : 2;
    if (!window_of(k, &k->in[0], axes, "kernel_size", &w)) {
        return plain(0);
    }
    const vtac_tensor *t = keras_weight(k, 0, axes + 2);
    const vtac_id y =
        convolve(k, k->in[0].planes, depthwise_weight(k, t, axes), bias_at(k, 1), &w, t->type.dim[axes]);
    return planes(activated(k, y, 1));
}

static keras_value separable(keras *k, const void *how)
{
    window w;
    const uint32_t axes = *(const char *)how == '1' ? 1 : 2;
    if (!window_of(k, &k->in[0], axes, "kernel_size", &w)) {
        return plain(0);
    }
    const vtac_tensor *t = keras_weight(k, 0, axes + 2);
    const window one = {.axes = axes, .stride = {1, 1}, .dilation = {1, 1}};
    const vtac_id x = convolve(k, k->in[0].planes, depthwise_weight(k, t, axes), 0, &w, t->type.dim[axes]);
    const vtac_id point = kernel_first(k, keras_weight(k, 1, axes + 2), axes, false);
    return planes(activated(k, convolve(k, x, point, bias_at(k, 2), &one, 1), 1));
}

/* Weights [h][w][outputs][inputs]. */
static keras_value conv_transpose(keras *k, const void *how)
{
    window w;
    const uint32_t axes = *(const char *)how == '1' ? 1 : 2;
    if (!window_of(k, &k->in[0], axes, "kernel_size", &w)) {
        return plain(0);
    }
    int64_t more[2];
    for (uint32_t a = 0; a < axes; a++) {
        const int64_t reach = (w.kernel[a] - 1) * w.dilation[a] + 1;
        const int64_t cut = w.same ? reach - w.stride[a] : 0; /* same: input * stride comes out */
        w.pads[a] = cut > 0 ? cut / 2 : 0;
        w.pads[a + axes] = cut > 0 ? cut - cut / 2 : 0;
        more[a] = w.same ? (cut < 0 ? -cut : 0) : reach < w.stride[a] ? w.stride[a] - reach : 0;
    }
    if (option(k, "output_padding") != NULL) {
        keras_refuse(k, "'output_padding'");
        return plain(0);
    }
    vtac_attr attrs[5];
    uint32_t count = window_attrs(&w, 1, attrs);
    attrs[count++] = vtac_attr_of_ints("output_padding", more, axes);
    const vtac_id weight = kernel_first(k, keras_weight(k, 0, axes + 2), axes, false);
    const vtac_id in[] = {k->in[0].planes, weight, bias_at(k, 1)};
    return planes(activated(k, vtac_make(&k->maker, VTAC_OP_CONV_TRANSPOSE, in, 3, attrs, count), 1));
}

static keras_value pool(keras *k, const void *how)
{
    const char *kind = how; /* "max1", "max2", "avg1", "avg2" */
    const uint32_t axes = kind[3] == '1' ? 1 : 2;
    window w;
    if (!window_of(k, &k->in[0], axes, "pool_size", &w)) {
        return plain(0);
    }
    const vtac_attr attrs[] = {vtac_attr_of_ints("strides", w.stride, axes),
                               vtac_attr_of_ints("pads", w.pads, 2 * (size_t)axes),
                               vtac_attr_of_ints("kernel_shape", w.kernel, axes)};
    const vtac_op op = kind[0] == 'm' ? VTAC_OP_MAX_POOL : VTAC_OP_AVERAGE_POOL;
    return planes(vtac_make(&k->maker, op, &k->in[0].planes, 1, attrs, 3));
}

static keras_value global_pool(keras *k, const void *how)
{
    const bool keep = keras_bool(k, "keepdims", false);
    vtac_id x;
    const bool in_planes = either(&k->in[0], &x);
    const uint32_t rank = keras_rank(k, &k->in[0]);
    int64_t axes[VTAC_MAX_RANK];
    if (rank < 3) {
        vtac_make_fail(&k->maker, VTA_INVALID, "the input has %u axes", rank);
        return plain(0);
    }
    for (uint32_t i = 0; i + 2 < rank; i++) {
        axes[i] = in_planes ? i + 2 : i + 1;
    }
    const vtac_op op = *(const char *)how == 'm' ? VTAC_OP_REDUCE_MAX : VTAC_OP_REDUCE_MEAN;
    const vtac_id y = vtac_make_reduce(&k->maker, op, x, axes, rank - 2, keep);
    return as(in_planes && keep, y);
}

/* ---- dense */

static keras_value dense(keras *k, const void *how)
{
    (void)how;
    const vtac_id x = keras_plain(k, &k->in[0]);
    const uint32_t rank = vtac_made_type(&k->maker, x)->rank;
    vtac_id y = vtac_make2(&k->maker, VTAC_OP_MATMUL, x, keras_constant(k, keras_weight(k, 0, 2)));
    if (keras_bool(k, "use_bias", true)) {
        y = vtac_make2(&k->maker, VTAC_OP_ADD, y, bias_at(k, 1));
    }
    return plain(activated(k, y, (int64_t)rank - 1));
}

static keras_value embedding(keras *k, const void *how)
{
    (void)how;
    const vtac_id places = vtac_make_cast(&k->maker, keras_plain(k, &k->in[0]), VTAC_I64);
    return plain(vtac_make2(&k->maker, VTAC_OP_GATHER, keras_constant(k, keras_weight(k, 0, 2)), places));
}

/* ---- normalization */

/* A vector that lies along one axis of the value. */
static vtac_id along(keras *k, const float *v, int64_t count, uint32_t axis, uint32_t rank)
{
    int64_t dims[VTAC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = i == axis ? count : 1;
    }
    return vtac_make_reshape(&k->maker, vtac_make_floats(&k->maker, v, count), dims + axis, rank - axis);
}

/* The one axis that an option names, as 0 … rank - 1. */
static uint32_t axis_option(keras *k, uint32_t rank)
{
    const cJSON *item = option(k, "axis");
    if (cJSON_IsArray(item) && cJSON_GetArraySize(item) == 1) {
        item = cJSON_GetArrayItem(item, 0);
    }
    int64_t axis = item == NULL ? -1 : cJSON_IsNumber(item) ? whole(item) : VTAC_MAX_RANK;
    axis = axis < 0 ? axis + rank : axis;
    if (axis < 0 || axis >= (int64_t)rank) {
        keras_refuse(k, "an axis of its own, of %u, is needed", rank);
        return 0;
    }
    return (uint32_t)axis;
}

static keras_value batch_norm(keras *k, const void *how)
{
    (void)how;
    vtac_id x;
    const bool in_planes = either(&k->in[0], &x);
    const uint32_t rank = keras_rank(k, &k->in[0]);
    const uint32_t axis = axis_option(k, rank);
    uint32_t next = 0;
    const bool scaled = keras_bool(k, "scale", true);
    const bool centered = keras_bool(k, "center", true);
    const float *gamma = scaled ? keras_weight(k, next++, 1)->data : NULL;
    const float *beta = centered ? keras_weight(k, next++, 1)->data : NULL;
    const vtac_tensor *mean = keras_weight(k, next++, 1);
    const vtac_tensor *variance = keras_weight(k, next++, 1);
    const int64_t count = mean->type.rank == 1 ? mean->type.dim[0] : 0;
    for (uint32_t i = 0; i < next && i < k->weight_count; i++) {
        if (k->weights[i].type.dim[0] != count) {
            vtac_make_fail(&k->maker, VTA_INVALID, "its weights have different sizes");
        }
    }
    float *factor = vtac_make_room(&k->maker, count, sizeof *factor);
    float *offset = vtac_make_room(&k->maker, count, sizeof *offset);
    if (factor == NULL || offset == NULL) {
        return plain(0);
    }
    const double epsilon = keras_float(k, "epsilon", 1e-3);
    for (int64_t i = 0; i < count; i++) {
        const double f = (gamma == NULL ? 1.0 : (double)gamma[i]) /
                         sqrt((double)((const float *)variance->data)[i] + epsilon);
        factor[i] = (float)f;
        offset[i] =
            (float)((beta == NULL ? 0.0 : (double)beta[i]) - (double)((const float *)mean->data)[i] * f);
    }
    const uint32_t at = !in_planes ? axis : axis == rank - 1 ? 1 : axis == 0 ? 0 : axis + 1;
    x = vtac_make2(&k->maker, VTAC_OP_MUL, x, along(k, factor, count, at, rank));
    return as(in_planes, vtac_make2(&k->maker, VTAC_OP_ADD, x, along(k, offset, count, at, rank)));
}

static keras_value layer_norm(keras *k, const void *how)
{
    (void)how;
    const vtac_id x = keras_plain(k, &k->in[0]);
    const uint32_t rank = vtac_made_type(&k->maker, x)->rank;
    const uint32_t axis = axis_option(k, rank);
    if (axis + 1 != rank) {
        keras_refuse(k, "an axis that is not the last");
        return plain(0);
    }
    uint32_t next = 0;
    const int64_t size = vtac_made_type(&k->maker, x)->dim[axis];
    float *ones = vtac_make_room(&k->maker, size, sizeof *ones);
    for (int64_t i = 0; ones != NULL && i < size; i++) {
        ones[i] = 1.0F;
    }
    const vtac_id gamma = keras_bool(k, "scale", true)
                              ? keras_constant(k, keras_weight(k, next++, 1))
                              : vtac_make_floats(&k->maker, ones, ones == NULL ? 0 : size);
    const vtac_id beta = keras_bool(k, "center", true) ? keras_constant(k, keras_weight(k, next++, 1)) : 0;
    const vtac_attr attrs[] = {vtac_attr_of_int("axis", axis),
                               vtac_attr_of_float("epsilon", keras_float(k, "epsilon", 1e-3))};
    const vtac_id in[] = {x, gamma, beta};
    return plain(vtac_make(&k->maker, VTAC_OP_LAYER_NORMALIZATION, in, 3, attrs, 2));
}

/* ---- pointwise layers */

static keras_value activation(keras *k, const void *how)
{
    vtac_id x;
    const char *name = how != NULL ? how : keras_text(k, "activation", "linear");
    const bool soft = strstr(name, "softmax") != NULL;
    const bool in_planes = !soft && either(&k->in[0], &x);
    x = in_planes ? x : keras_plain(k, &k->in[0]);
    const uint32_t rank = vtac_made_type(&k->maker, x)->rank;
    const int64_t axis = soft && how != NULL ? axis_option(k, rank) : (int64_t)rank - 1;
    return as(in_planes, keras_activate(k, x, name, axis));
}

static keras_value relu(keras *k, const void *how)
{
    (void)how;
    vtac_id x;
    const bool in_planes = either(&k->in[0], &x);
    const double slope = keras_float(k, "negative_slope", 0.0);
    const double most = keras_float(k, "max_value", HUGE_VAL);
    if (keras_float(k, "threshold", 0.0) != 0.0) {
        keras_refuse(k, "a threshold");
    }
    x = slope == 0.0 ? vtac_make1(&k->maker, VTAC_OP_RELU, x)
                     : with_float(k, VTAC_OP_LEAKY_RELU, x, "alpha", slope);
    return as(in_planes, isinf(most) ? x : vtac_make_clip(&k->maker, x, -HUGE_VAL, most));
}

static keras_value leaky(keras *k, const void *how)
{
    (void)how;
    vtac_id x;
    const bool in_planes = either(&k->in[0], &x);
    const double alpha = keras_float(k, "alpha", keras_float(k, "negative_slope", 0.3));
    return as(in_planes, with_float(k, VTAC_OP_LEAKY_RELU, x, "alpha", alpha));
}

static keras_value elu(keras *k, const void *how)
{
    (void)how;
    vtac_id x;
    const bool in_planes = either(&k->in[0], &x);
    return as(in_planes, with_float(k, VTAC_OP_ELU, x, "alpha", keras_float(k, "alpha", 1.0)));
}

static keras_value prelu(keras *k, const void *how)
{
    (void)how;
    const vtac_id x = keras_plain(k, &k->in[0]);
    const uint32_t rank = vtac_made_type(&k->maker, x)->rank;
    const vtac_id alpha = keras_constant(k, keras_weight(k, 0, rank - 1));
    return plain(vtac_make2(&k->maker, VTAC_OP_PRELU, x, alpha));
}

static keras_value same(keras *k, const void *how)
{
    (void)how;
    return k->in[0];
}

static keras_value rescaling(keras *k, const void *how)
{
    (void)how;
    vtac_id x;
    const bool in_planes = either(&k->in[0], &x);
    if (cJSON_IsArray(option(k, "scale")) || cJSON_IsArray(option(k, "offset"))) {
        keras_refuse(k, "scales for each channel");
    }
    x = vtac_make_cast(&k->maker, x, VTAC_F32);
    x = vtac_make2(&k->maker, VTAC_OP_MUL, x, number(k, keras_float(k, "scale", 1.0)));
    const double offset = keras_float(k, "offset", 0.0);
    return as(in_planes, offset == 0.0 ? x : vtac_make2(&k->maker, VTAC_OP_ADD, x, number(k, offset)));
}

/* ---- several inputs */

static keras_value merge(keras *k, const void *how)
{
    const char *name = how;
    const vtac_op op = strcmp(name, "mul") == 0   ? VTAC_OP_MUL
                       : strcmp(name, "sub") == 0 ? VTAC_OP_SUB
                       : strcmp(name, "max") == 0 ? VTAC_OP_MAX
                       : strcmp(name, "min") == 0 ? VTAC_OP_MIN
                                                  : VTAC_OP_ADD;
    bool in_planes = true;
    uint32_t rank = keras_rank(k, &k->in[0]);
    for (uint32_t i = 0; i < k->in_count; i++) {
        in_planes = in_planes && k->in[i].planes != 0;
        if (keras_rank(k, &k->in[i]) != rank) {
            keras_refuse(k, "inputs of different ranks");
            return plain(0);
        }
    }
    vtac_id y = in_planes ? k->in[0].planes : keras_plain(k, &k->in[0]);
    for (uint32_t i = 1; i < k->in_count; i++) {
        y = vtac_make2(&k->maker, op, y, in_planes ? k->in[i].planes : keras_plain(k, &k->in[i]));
    }
    if (strcmp(name, "avg") == 0) {
        y = vtac_make2(&k->maker, VTAC_OP_MUL, y, number(k, 1.0 / (double)k->in_count));
    }
    return as(in_planes, y);
}

static keras_value concatenate(keras *k, const void *how)
{
    (void)how;
    const uint32_t rank = keras_rank(k, &k->in[0]);
    const uint32_t axis = axis_option(k, rank);
    bool in_planes = rank >= 3;
    vtac_id parts[KERAS_MOST_INPUTS];
    for (uint32_t i = 0; i < k->in_count; i++) {
        in_planes = in_planes && k->in[i].planes != 0;
    }
    for (uint32_t i = 0; i < k->in_count; i++) {
        parts[i] = in_planes ? k->in[i].planes : keras_plain(k, &k->in[i]);
    }
    const uint32_t at = !in_planes ? axis : axis == rank - 1 ? 1 : axis == 0 ? 0 : axis + 1;
    return as(in_planes, k->maker.status == VTA_OK ? vtac_make_concat(&k->maker, parts, k->in_count, at) : 0);
}

/* ---- shapes */

static keras_value flatten(keras *k, const void *how)
{
    (void)how;
    const vtac_id x = keras_plain(k, &k->in[0]);
    const vtac_type *type = vtac_made_type(&k->maker, x);
    const int64_t batch = type->rank > 0 ? type->dim[0] : 1;
    const int64_t dims[] = {batch, batch > 0 ? vtac_type_elements(type) / batch : 0};
    return plain(vtac_make_reshape(&k->maker, x, dims, 2));
}

static keras_value reshape(keras *k, const void *how)
{
    (void)how;
    const vtac_id x = keras_plain(k, &k->in[0]);
    const vtac_type *type = vtac_made_type(&k->maker, x);
    const cJSON *target = option(k, "target_shape");
    const int count = cJSON_GetArraySize(target);
    int64_t dims[VTAC_MAX_RANK] = {type->dim[0]};
    int64_t known = dims[0];
    int open = -1;
    if (count >= VTAC_MAX_RANK || type->rank == 0) {
        keras_refuse(k, "a shape of %d axes", count + 1);
        return plain(0);
    }
    for (int i = 0; i < count; i++) {
        dims[i + 1] = whole(cJSON_GetArrayItem(target, i));
        open = dims[i + 1] == -1 ? i + 1 : open;
        if (dims[i + 1] != -1 && (dims[i + 1] < 1 || known > INT64_MAX / dims[i + 1])) {
            vtac_make_fail(&k->maker, VTA_INVALID, "a target shape with %lld", (long long)dims[i + 1]);
            return plain(0);
        }
        known *= dims[i + 1] == -1 ? 1 : dims[i + 1];
    }
    if (open > 0 && known > 0) {
        dims[open] = vtac_type_elements(type) / known;
    }
    return plain(vtac_make_reshape(&k->maker, x, dims, (uint32_t)count + 1));
}

static keras_value permute(keras *k, const void *how)
{
    (void)how;
    const vtac_id x = keras_plain(k, &k->in[0]);
    const uint32_t rank = vtac_made_type(&k->maker, x)->rank;
    int64_t order[VTAC_MAX_RANK] = {0};
    if (rank < 2) {
        keras_refuse(k, "an input of %u axes", rank);
        return plain(0);
    }
    keras_ints(k, "dims", 1, order + 1, rank - 1);
    return plain(vtac_make_transpose(&k->maker, x, order, rank));
}

static keras_value repeat_vector(keras *k, const void *how)
{
    (void)how;
    const vtac_id x = keras_plain(k, &k->in[0]);
    const vtac_type type = *vtac_made_type(&k->maker, x);
    const int64_t times[] = {1, keras_int(k, "n", 1), 1};
    const vtac_id y = vtac_make_reshape(&k->maker, x, (int64_t[]){type.dim[0], 1, type.dim[1]}, 3);
    return plain(vtac_make2(&k->maker, VTAC_OP_TILE, y, vtac_make_ints(&k->maker, times, 3)));
}

/* [[top, bottom], [left, right]], [rows, columns] or a number; of one axis [left, right] or a number */
static void edges(keras *k, const char *name, uint32_t axes, int64_t *before, int64_t *after)
{
    const cJSON *item = option(k, name);
    for (uint32_t a = 0; a < axes; a++) {
        const cJSON *one = cJSON_IsArray(item) && axes > 1 ? cJSON_GetArrayItem(item, (int)a) : item;
        before[a] = whole(cJSON_IsArray(one) ? cJSON_GetArrayItem(one, 0) : one);
        after[a] = whole(cJSON_IsArray(one) ? cJSON_GetArrayItem(one, 1) : one);
        if (item == NULL) {
            before[a] = after[a] = 1;
        }
        if (before[a] < 0 || after[a] < 0) {
            vtac_make_fail(&k->maker, VTA_INVALID, "'%s' below 0", name);
        }
    }
}

static keras_value zero_padding(keras *k, const void *how)
{
    const uint32_t axes = *(const char *)how == '1' ? 1 : 2;
    int64_t before[2];
    int64_t after[2];
    edges(k, "padding", axes, before, after);
    const vtac_id x = keras_planes(k, &k->in[0]);
    int64_t pads[8] = {0};
    for (uint32_t a = 0; a < axes; a++) {
        pads[a + 2] = before[a];
        pads[a + 2 + axes + 2] = after[a];
    }
    return planes(vtac_make2(&k->maker, VTAC_OP_PAD, x, vtac_make_ints(&k->maker, pads, 2 * (axes + 2))));
}

static keras_value cropping(keras *k, const void *how)
{
    const uint32_t axes = *(const char *)how == '1' ? 1 : 2;
    int64_t before[2];
    int64_t after[2];
    edges(k, "cropping", axes, before, after);
    vtac_id x = keras_planes(k, &k->in[0]);
    for (uint32_t a = 0; a < axes && k->maker.status == VTA_OK; a++) {
        x = vtac_make_slice(&k->maker, x, a + 2, before[a],
                            vtac_made_type(&k->maker, x)->dim[a + 2] - after[a]);
    }
    return planes(x);
}

static keras_value upsampling(keras *k, const void *how)
{
    const uint32_t axes = *(const char *)how == '1' ? 1 : 2;
    int64_t size[2] = {2, 2};
    keras_ints(k, "size", 2, size, axes);
    const vtac_id x = keras_planes(k, &k->in[0]);
    const vtac_type *type = vtac_made_type(&k->maker, x);
    int64_t to[VTAC_MAX_RANK];
    memcpy(to, type->dim, sizeof to);
    for (uint32_t a = 0; a < axes; a++) {
        to[a + 2] *= size[a];
    }
    const char *mode = keras_text(k, "interpolation", "nearest");
    const bool near = strcmp(mode, "nearest") == 0;
    if (!near && strcmp(mode, "bilinear") != 0) {
        keras_refuse(k, "interpolation '%.40s'", mode);
    }
    const vtac_attr attrs[] = {
        vtac_attr_of_string("mode", near ? "nearest" : "linear"),
        vtac_attr_of_string("nearest_mode", "floor"),
        vtac_attr_of_string("coordinate_transformation_mode", near ? "asymmetric" : "half_pixel")};
    const vtac_id in[] = {x, 0, 0, vtac_make_ints(&k->maker, to, axes + 2)};
    return planes(vtac_make(&k->maker, VTAC_OP_RESIZE, in, 4, attrs, 3));
}

/* ---- recurrent layers: Keras's gates in ONNX's order */

typedef struct cell {
    vtac_op op;
    uint32_t gates, order[4]; /* place of each of ONNX's gates among Keras's */
} cell;

static bool cell_of(const char *name, cell *out)
{
    static const struct {
        const char *name;
        cell cell;
    } cells[] = {{"LSTM", {VTAC_OP_LSTM, 4, {0, 3, 1, 2}}}, /* i o f c of i f c o */
                 {"GRU", {VTAC_OP_GRU, 3, {0, 1, 2}}},
                 {"SimpleRNN", {VTAC_OP_RNN, 1, {0}}}};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        if (strcmp(name, cells[i].name) == 0) {
            *out = cells[i].cell;
            return true;
        }
    }
    return false;
}

/* [rows][gates * units] as [gates * units][rows] with the gates in order; [gates * units] where rows is 0. */
static void turn(float *to, const float *from, const cell *c, int64_t rows, int64_t units)
{
    const int64_t width = (int64_t)c->gates * units;
    for (uint32_t g = 0; g < c->gates; g++) {
        for (int64_t u = 0; u < units; u++) {
            for (int64_t r = 0; r < (rows == 0 ? 1 : rows); r++) {
                const int64_t column = (int64_t)c->order[g] * units + u;
                to[((int64_t)g * units + u) * (rows == 0 ? 1 : rows) + r] = from[r * width + column];
            }
        }
    }
}

static const char *onnx_activation(keras *k, const char *name)
{
    static const char *const pairs[][2] = {{"tanh", "Tanh"},         {"sigmoid", "Sigmoid"},
                                           {"relu", "Relu"},         {"hard_sigmoid", "HardSigmoid"},
                                           {"linear", "Affine"},     {"softsign", "Softsign"},
                                           {"softplus", "Softplus"}, {"elu", "Elu"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (strcmp(name, pairs[i][0]) == 0) {
            return pairs[i][1];
        }
    }
    keras_refuse(k, "the activation '%.60s' of a cell", name);
    return "Tanh";
}

/* One direction over x [steps][batch][inputs]: all states [steps][batch][units] and the last [batch][units].
 */
static void run_cell(keras *k, const char *name, vtac_id x, uint32_t first, bool backwards, vtac_id *all,
                     vtac_id *last)
{
    vtac_builder *m = &k->maker;
    cell c;
    *all = *last = 0;
    if (!cell_of(name, &c)) {
        keras_refuse(k, "a cell of class '%.60s'", name);
        return;
    }
    const vtac_tensor *kernel = keras_weight(k, first, 2);
    const vtac_tensor *recurrent = keras_weight(k, first + 1, 2);
    const bool biased = keras_bool(k, "use_bias", true);
    const bool after = c.op == VTAC_OP_GRU && keras_bool(k, "reset_after", true);
    const vtac_tensor *bias = biased ? keras_weight(k, first + 2, after ? 2 : 1) : NULL;
    if (m->status != VTA_OK) {
        return;
    }
    const int64_t inputs = kernel->type.dim[0];
    const int64_t units = recurrent->type.dim[0];
    const int64_t width = (int64_t)c.gates * units;
    if (kernel->type.dim[1] != width || recurrent->type.dim[1] != width ||
        (biased && bias->type.dim[after ? 1 : 0] != width) || (biased && after && bias->type.dim[0] != 2)) {
        vtac_make_fail(m, VTA_INVALID, "its weights do not fit %lld units", (long long)units);
        return;
    }
    float *w = vtac_make_room(m, width * inputs, sizeof *w);
    float *r = vtac_make_room(m, width * units, sizeof *r);
    float *b = vtac_make_room(m, 2 * width, sizeof *b);
    if (w == NULL || r == NULL || b == NULL) {
        return;
    }
    turn(w, kernel->data, &c, inputs, units);
    turn(r, recurrent->data, &c, units, units);
    if (biased) {
        turn(b, bias->data, &c, 0, units);
    }
    if (biased && after) {
        turn(b + width, (const float *)bias->data + width, &c, 0, units);
    }
    const char *gate = onnx_activation(k, keras_text(k, "recurrent_activation", "sigmoid"));
    const char *own = onnx_activation(k, keras_text(k, "activation", "tanh"));
    const char *three[] = {gate, own, own};
    const char *one[] = {own};
    const double alpha[] = {k->version3 ? 1.0 / 6.0 : 0.2};
    const double beta[] = {0.5};
    vtac_attr attrs[7];
    uint32_t count = 0;
    attrs[count++] = vtac_attr_of_int("hidden_size", units);
    attrs[count++] = vtac_attr_of_string("direction", backwards ? "reverse" : "forward");
    attrs[count++] = (vtac_attr){.name = "activations",
                                 .kind = VTAC_ATTR_STRINGS,
                                 .count = c.op == VTAC_OP_RNN   ? 1
                                          : c.op == VTAC_OP_GRU ? 2
                                                                : 3,
                                 .strings = c.op == VTAC_OP_RNN ? one : three};
    if (strcmp(gate, "HardSigmoid") == 0) {
        attrs[count++] =
            (vtac_attr){.name = "activation_alpha", .kind = VTAC_ATTR_FLOATS, .count = 1, .floats = alpha};
        attrs[count++] =
            (vtac_attr){.name = "activation_beta", .kind = VTAC_ATTR_FLOATS, .count = 1, .floats = beta};
    }
    if (strcmp(own, "Affine") == 0 || strcmp(own, "Elu") == 0 || strcmp(own, "HardSigmoid") == 0) {
        keras_refuse(k, "the activation of a cell, with parameters");
    }
    if (c.op == VTAC_OP_GRU) {
        attrs[count++] = vtac_attr_of_int("linear_before_reset", after);
    }
    const vtac_id in[] = {x, vtac_make_borrowed(m, &(vtac_type){VTAC_F32, 3, {1, width, inputs}}, w),
                          vtac_make_borrowed(m, &(vtac_type){VTAC_F32, 3, {1, width, units}}, r),
                          vtac_make_borrowed(m, &(vtac_type){VTAC_F32, 2, {1, 2 * width}}, b)};
    vtac_id out[2];
    vtac_make_many(m, c.op, in, 4, attrs, count, out, 2);
    const vtac_type *type = vtac_made_type(m, x);
    const int64_t steps = type->dim[0];
    const int64_t batch = type->dim[1];
    *all = vtac_make_reshape(m, out[0], (int64_t[]){steps, batch, units}, 3);
    *last = vtac_make_reshape(m, out[1], (int64_t[]){batch, units}, 2);
}

static vtac_id steps_first(keras *k, vtac_id x)
{
    return vtac_make_transpose(&k->maker, x, (int64_t[]){1, 0, 2}, 3);
}

keras_value keras_recurrent(keras *k, const void *how)
{
    vtac_id all;
    vtac_id last;
    const vtac_id x = steps_first(k, keras_plain(k, &k->in[0]));
    if (keras_bool(k, "return_state", false) || keras_bool(k, "stateful", false) || k->in_count > 1 ||
        keras_bool(k, "time_major", false)) {
        keras_refuse(k, "states in or out, or steps on axis 0");
        return plain(0);
    }
    const bool backwards = keras_bool(k, "go_backwards", false);
    run_cell(k, how, x, 0, backwards, &all, &last);
    if (!keras_bool(k, "return_sequences", false)) {
        return plain(last);
    }
    if (backwards) {
        keras_refuse(k, "backwards, with all states");
        return plain(0);
    }
    return plain(steps_first(k, all));
}

keras_value keras_bidirectional(keras *k, const void *how)
{
    (void)how;
    const cJSON *whole_config = k->config;
    const cJSON *layer = cJSON_GetObjectItemCaseSensitive(whole_config, "layer");
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(layer, "class_name");
    const char *mode = keras_text(k, "merge_mode", "concat");
    vtac_id all[2];
    vtac_id last[2];
    const vtac_id x = steps_first(k, keras_plain(k, &k->in[0]));
    k->config = cJSON_GetObjectItemCaseSensitive(layer, "config");
    const bool sequences = keras_bool(k, "return_sequences", false);
    const char *name = cJSON_IsString(kind) ? kind->valuestring : "";
    for (uint32_t i = 0; i < 2; i++) {
        run_cell(k, name, x, i * k->weight_count / 2, i == 1, &all[i], &last[i]);
    }
    k->config = whole_config;
    vtac_id *pair = sequences ? all : last;
    vtac_id y;
    if (strcmp(mode, "concat") == 0) {
        y = vtac_make_concat(&k->maker, pair, 2, sequences ? 2 : 1);
    } else {
        y = vtac_make2(&k->maker, strcmp(mode, "mul") == 0 ? VTAC_OP_MUL : VTAC_OP_ADD, pair[0], pair[1]);
        y = strcmp(mode, "ave") == 0 ? vtac_make2(&k->maker, VTAC_OP_MUL, y, number(k, 0.5)) : y;
    }
    return plain(sequences ? steps_first(k, y) : y);
}

/* ---- the table */

static const keras_layer table[] = {
    {"Conv1D", conv, "1"},
    {"Conv2D", conv, "2"},
    {"DepthwiseConv1D", depthwise, "1"},
    {"DepthwiseConv2D", depthwise, "2"},
    {"SeparableConv1D", separable, "1"},
    {"SeparableConv2D", separable, "2"},
    {"Conv1DTranspose", conv_transpose, "1"},
    {"Conv2DTranspose", conv_transpose, "2"},
    {"MaxPooling1D", pool, "max1"},
    {"MaxPooling2D", pool, "max2"},
    {"AveragePooling1D", pool, "avg1"},
    {"AveragePooling2D", pool, "avg2"},
    {"GlobalMaxPooling1D", global_pool, "max"},
    {"GlobalMaxPooling2D", global_pool, "max"},
    {"GlobalAveragePooling1D", global_pool, "avg"},
    {"GlobalAveragePooling2D", global_pool, "avg"},
    {"Dense", dense, NULL},
    {"Embedding", embedding, NULL},
    {"BatchNormalization", batch_norm, NULL},
    {"SyncBatchNormalization", batch_norm, NULL},
    {"LayerNormalization", layer_norm, NULL},
    {"Activation", activation, NULL},
    {"Softmax", activation, "softmax"},
    {"ReLU", relu, NULL},
    {"LeakyReLU", leaky, NULL},
    {"ELU", elu, NULL},
    {"PReLU", prelu, NULL},
    {"Dropout", same, NULL},
    {"SpatialDropout1D", same, NULL},
    {"SpatialDropout2D", same, NULL},
    {"GaussianNoise", same, NULL},
    {"GaussianDropout", same, NULL},
    {"AlphaDropout", same, NULL},
    {"ActivityRegularization", same, NULL},
    {"Identity", same, NULL},
    {"InputLayer", same, NULL},
    {"Rescaling", rescaling, NULL},
    {"Add", merge, "add"},
    {"Subtract", merge, "sub"},
    {"Multiply", merge, "mul"},
    {"Average", merge, "avg"},
    {"Maximum", merge, "max"},
    {"Minimum", merge, "min"},
    {"Concatenate", concatenate, NULL},
    {"Flatten", flatten, NULL},
    {"Reshape", reshape, NULL},
    {"Permute", permute, NULL},
    {"RepeatVector", repeat_vector, NULL},
    {"ZeroPadding1D", zero_padding, "1"},
    {"ZeroPadding2D", zero_padding, "2"},
    {"Cropping1D", cropping, "1"},
    {"Cropping2D", cropping, "2"},
    {"UpSampling1D", upsampling, "1"},
    {"UpSampling2D", upsampling, "2"},
    {"LSTM", keras_recurrent, "LSTM"},
    {"GRU", keras_recurrent, "GRU"},
    {"SimpleRNN", keras_recurrent, "SimpleRNN"},
    {"Bidirectional", keras_bidirectional, NULL},
};

const keras_layer *keras_layer_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i];
        }
    }
    return NULL;
}
