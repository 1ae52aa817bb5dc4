/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of layers, the two forms of values, activations.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../compose/graph.h"
#include "keras.h"

/* ---- options */

const cJSON *vtac_keras_option(const vtac_keras *k, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(k->config, name);
    return cJSON_IsNull(item) ? NULL : item;
}

int64_t vtac_keras_whole(const cJSON *item)
{
    const double value = cJSON_IsNumber(item)   ? item->valuedouble
                         : cJSON_IsString(item) ? strtod(item->valuestring, NULL)
                         : cJSON_IsTrue(item)   ? 1.0
                                                : 0.0;
    return value >= -1e9 && value <= 1e9 ? (int64_t)value : 0;
}

int64_t vtac_keras_int(vtac_keras *k, const char *name, int64_t otherwise)
{
    const cJSON *item = vtac_keras_option(k, name);
    return cJSON_IsNumber(item) ? vtac_keras_whole(item) : otherwise;
}

double vtac_keras_float(vtac_keras *k, const char *name, double otherwise)
{
    const cJSON *item = vtac_keras_option(k, name);
    if (cJSON_IsObject(item)) { /* an array of NumPy, as Keras writes it */
        item = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(item, "config"), "value");
    }
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

bool vtac_keras_bool(vtac_keras *k, const char *name, bool otherwise)
{
    const cJSON *item = vtac_keras_option(k, name);
    return cJSON_IsBool(item) ? cJSON_IsTrue(item) : otherwise;
}

const char *vtac_keras_text(vtac_keras *k, const char *name, const char *otherwise)
{
    const cJSON *item = vtac_keras_option(k, name);
    if (cJSON_IsObject(item)) { /* a function or layer by its class */
        const cJSON *inner = cJSON_GetObjectItemCaseSensitive(item, "config");
        item = cJSON_IsString(inner) ? inner : cJSON_GetObjectItemCaseSensitive(item, "class_name");
    }
    return cJSON_IsString(item) ? item->valuestring : otherwise;
}

void vtac_keras_ints(vtac_keras *k, const char *name, int64_t otherwise, int64_t *out, uint32_t count)
{
    const cJSON *item = vtac_keras_option(k, name);
    for (uint32_t i = 0; i < count; i++) {
        const cJSON *one = cJSON_IsArray(item) ? cJSON_GetArrayItem(item, (int)i) : item;
        out[i] = one == NULL ? otherwise : vtac_keras_whole(one);
        if (cJSON_IsArray(item) && cJSON_GetArraySize(item) != (int)count) {
            vtac_make_fail(&k->maker, VTA_INVALID, "'%s' needs %u numbers", name, count);
        }
        if (one != NULL && (out[i] < 0 || out[i] > 1 << 20)) {
            vtac_make_fail(&k->maker, VTA_INVALID, "'%s' of %lld", name, (long long)out[i]);
        }
    }
}

/* The policy's mode, "int8" or another; NULL: numbers are as they are. */
static const char *quantization_of(const vtac_keras *k)
{
    const cJSON *policy = vtac_keras_option(k, "dtype");
    if (cJSON_IsObject(policy)) {
        const cJSON *mode =
            cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(policy, "config"), "mode");
        return cJSON_IsString(mode) ? mode->valuestring : NULL;
    }
    const char *from = cJSON_IsString(policy) ? strstr(policy->valuestring, "_from_") : NULL;
    return from != NULL ? policy->valuestring : NULL;
}

bool vtac_keras_quantized(const vtac_keras *k)
{
    return quantization_of(k) != NULL;
}

void vtac_keras_check_quantization(vtac_keras *k, const char *class)
{
    const char *mode = quantization_of(k);
    if (mode != NULL &&
        (strncmp(mode, "int8", 4) != 0 || (strcmp(class, "Dense") != 0 && strcmp(class, "Embedding") != 0))) {
        vtac_make_refuse(&k->maker, "a quantized %.40s of '%.40s'; Dense and Embedding of int8 are taken",
                         class, mode);
    }
}

/* ---- values */

static void axis_orders(uint32_t rank, int64_t *to_planes, int64_t *to_plain)
{
    to_planes[0] = to_plain[0] = 0;
    to_planes[1] = (int64_t)rank - 1;
    to_plain[rank - 1] = 1;
    for (uint32_t i = 2; i < rank; i++) {
        to_planes[i] = i - 1;
        to_plain[i - 1] = i;
    }
}

uint32_t vtac_keras_rank(vtac_keras *k, const vtac_keras_value *v)
{
    return vtac_made_type(&k->maker, v->plain != 0 ? v->plain : v->planes).rank;
}

static bool order_axes(vtac_keras *k, const vtac_keras_value *v, int64_t *to_planes, int64_t *to_plain)
{
    const uint32_t rank = vtac_keras_rank(k, v);
    if (k->maker.status != VTA_OK || rank < 3) {
        vtac_make_fail(&k->maker, VTA_INVALID, "the input has %u axes", rank);
        return false;
    }
    axis_orders(rank, to_planes, to_plain);
    return true;
}

vtac_id vtac_keras_plain(vtac_keras *k, vtac_keras_value *v)
{
    int64_t to_planes[VTAC_MAX_RANK];
    int64_t to_plain[VTAC_MAX_RANK];
    if (v->plain == 0 && order_axes(k, v, to_planes, to_plain)) {
        v->plain = vtac_make_transpose(&k->maker, v->planes, to_plain, vtac_keras_rank(k, v));
    }
    return v->plain;
}

vtac_id vtac_keras_planes(vtac_keras *k, vtac_keras_value *v)
{
    int64_t to_planes[VTAC_MAX_RANK];
    int64_t to_plain[VTAC_MAX_RANK];
    if (v->planes == 0 && order_axes(k, v, to_planes, to_plain)) {
        v->planes = vtac_make_transpose(&k->maker, v->plain, to_planes, vtac_keras_rank(k, v));
    }
    return v->planes;
}

const vtac_tensor *vtac_keras_weight(vtac_keras *k, uint32_t i, uint32_t rank)
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

vtac_id vtac_keras_constant(vtac_keras *k, const vtac_tensor *t)
{
    return k->maker.status == VTA_OK ? vtac_make_borrowed(&k->maker, &t->type, t->data) : 0;
}

vtac_keras_value vtac_keras_as_plain(vtac_id id)
{
    return (vtac_keras_value){.plain = id};
}

vtac_keras_value vtac_keras_as_planes(vtac_id id)
{
    return (vtac_keras_value){.planes = id};
}

/* The form that is there; true: planes. */
bool vtac_keras_either(const vtac_keras_value *v, vtac_id *id)
{
    *id = v->plain != 0 ? v->plain : v->planes;
    return v->plain == 0;
}

vtac_keras_value vtac_keras_as(bool in_planes, vtac_id id)
{
    return in_planes ? vtac_keras_as_planes(id) : vtac_keras_as_plain(id);
}

/* ---- operands of functions */

bool vtac_keras_is_numbers(const cJSON *item)
{
    const cJSON *one;
    bool numbers = cJSON_IsArray(item) && item->child != NULL;
    cJSON_ArrayForEach(one, item)
    {
        numbers = numbers && (cJSON_IsNumber(one) || vtac_keras_is_numbers(one));
    }
    return numbers;
}

/* The numbers of lists in lists, which must be alike, from `at` on; whether they are. */
static bool gather_numbers(const cJSON *item, const vtac_type *type, uint32_t axis, float **at)
{
    if (axis == type->rank) {
        *(*at)++ = cJSON_IsNumber(item) ? (float)item->valuedouble : cJSON_IsTrue(item) ? 1.0F : 0.0F;
        return cJSON_IsNumber(item) || cJSON_IsBool(item);
    }
    bool alike = cJSON_IsArray(item) && cJSON_GetArraySize(item) == type->dim[axis];
    const cJSON *one;
    cJSON_ArrayForEach(one, item)
    {
        alike = alike && gather_numbers(one, type, axis + 1, at);
    }
    return alike;
}

static vtac_id array_of(vtac_keras *k, const cJSON *item)
{
    vtac_import_builder *m = &k->maker;
    vtac_type type = {.dtype = VTAC_F32};
    for (const cJSON *one = item; cJSON_IsArray(one) && type.rank < VTAC_MAX_RANK; one = one->child) {
        type.dim[type.rank++] = cJSON_GetArraySize(one);
    }
    const int64_t count = vtac_type_elements(&type);
    enum { MAX_NUMBERS = 1 << 24 };
    float *room = count < 0 || count > MAX_NUMBERS ? NULL : vtac_make_room(m, count + 1, sizeof *room);
    float *at = room;
    if (room == NULL || !gather_numbers(item, &type, 0, &at)) {
        vtac_make_fail(m, VTA_INVALID, "an array in its call that is not numbers in lists of one length");
        return 0;
    }
    return vtac_make_borrowed(m, &type, room);
}

vtac_id vtac_keras_operand_value(vtac_keras *k, uint32_t i, bool in_planes)
{
    if (i >= k->operand_count) {
        vtac_make_fail(&k->maker, VTA_INVALID, "it is called with %u values", k->operand_count);
        return 0;
    }
    const vtac_keras_operand *o = &k->operands[i];
    if (!o->is_tensor) {
        return o->list != NULL ? array_of(k, o->list) : vtac_keras_number(k, o->number);
    }
    return in_planes ? vtac_keras_planes(k, &k->in[o->in]) : vtac_keras_plain(k, &k->in[o->in]);
}

/* ---- activations */

vtac_id vtac_keras_number(vtac_keras *k, double value)
{
    return vtac_make_number(&k->maker, VTAC_F32, value);
}

vtac_id vtac_keras_with_float(vtac_keras *k, vtac_op op, vtac_id x, const char *name, double value)
{
    const vtac_attr attr = vtac_attr_of_float(name, value);
    return vtac_make(&k->maker, op, &x, 1, &attr, 1);
}

vtac_id vtac_keras_activate(vtac_keras *k, vtac_id x, const char *name, int64_t axis)
{
    vtac_import_builder *m = &k->maker;
    name = vtac_keras_bare_class(name);
    bool found;
    const vtac_id y = vtac_compose_named(m, "keras", name[0] == '\0' ? "linear" : name, x, &found);
    if (found) {
        return y;
    }
    if (strcmp(name, "leaky_relu") == 0) {
        return vtac_keras_with_float(k, VTAC_OP_LEAKY_RELU, x, "alpha", k->version3 ? 0.2 : 0.3);
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
    if (strcmp(name, "glu") == 0) { /* one half of the channels is the other's gate */
        const vtac_type type = vtac_made_type(m, x);
        const uint32_t at = (uint32_t)(axis < 0 ? axis + (int64_t)type.rank : axis);
        const int64_t half = m->status == VTA_OK && at < type.rank ? type.dim[at] / 2 : 0;
        if (half < 1 || type.dim[at] % 2 != 0) {
            vtac_make_refuse(&k->maker, "the activation 'glu' of an odd number of channels");
            return 0;
        }
        return vtac_make2(m, VTAC_OP_MUL, vtac_make_slice(m, x, at, 0, half),
                          vtac_make1(m, VTAC_OP_SIGMOID, vtac_make_slice(m, x, at, half, 2 * half)));
    }
    vtac_make_refuse(&k->maker, "the activation '%.60s' is not supported", name);
    return 0;
}

/* The layer's own activation, channels on `axis`. */
vtac_id vtac_keras_activated(vtac_keras *k, vtac_id x, int64_t axis)
{
    const cJSON *item = vtac_keras_option(k, "activation");
    const cJSON *class = cJSON_GetObjectItemCaseSensitive(item, "class_name");
    const cJSON *config = cJSON_GetObjectItemCaseSensitive(item, "config");
    const char *name = cJSON_IsString(class) ? vtac_keras_bare_class(class->valuestring) : "";
    static const char *const layers[] = {"ReLU", "LeakyReLU", "ELU", "ThresholdedReLU", "Activation"};
    for (size_t i = 0; cJSON_IsObject(config) && i < sizeof layers / sizeof layers[0]; i++) {
        if (strcmp(name, layers[i]) == 0) { /* a layer with options of its own */
            const cJSON *outer = k->config;
            const vtac_keras_value in = k->in[0];
            k->config = config;
            k->in[0] = vtac_keras_as_plain(x);
            const vtac_keras_layer *layer = vtac_keras_layer_find(name);
            const vtac_keras_value y = layer->make(k, layer->how);
            k->config = outer;
            k->in[0] = in;
            return y.plain;
        }
    }
    if (strcmp(name, "Softmax") == 0) {
        return vtac_keras_activate(k, x, "softmax", axis);
    }
    return vtac_keras_activate(k, x, vtac_keras_text(k, "activation", "linear"), axis);
}

/* The one axis that an option names, as 0 … rank - 1. */
uint32_t vtac_keras_axis(vtac_keras *k, uint32_t rank)
{
    const cJSON *item = vtac_keras_option(k, "axis");
    if (cJSON_IsArray(item) && cJSON_GetArraySize(item) == 1) {
        item = cJSON_GetArrayItem(item, 0);
    }
    int64_t axis = item == NULL ? -1 : cJSON_IsNumber(item) ? vtac_keras_whole(item) : VTAC_MAX_RANK;
    axis = axis < 0 ? axis + rank : axis;
    if (axis < 0 || axis >= (int64_t)rank) {
        vtac_make_refuse(&k->maker, "an axis of its own, of %u, is needed", rank);
        return 0;
    }
    return (uint32_t)axis;
}

vtac_id vtac_keras_bias(vtac_keras *k, uint32_t i)
{
    return vtac_keras_bool(k, "use_bias", true) ? vtac_keras_constant(k, vtac_keras_weight(k, i, 1)) : 0;
}
