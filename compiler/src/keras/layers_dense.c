/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense layers, embeddings and normalizations.
 */
#include <math.h>
#include <string.h>

#include "keras.h"

/* ---- dense */

/* Weights of bytes, weight `at` what each output is divided by; rows are quantized by their largest number.
 */
static vtac_id dense_of_bytes(vtac_keras *k, vtac_id x, uint32_t rank, uint32_t at)
{
    vtac_import_builder *m = &k->maker;
    const int64_t axis = (int64_t)rank - 1;
    vtac_id scale = vtac_make_reduce(m, VTAC_OP_REDUCE_MAX, vtac_make1(m, VTAC_OP_ABS, x), &axis, 1, true);
    scale = vtac_make2(m, VTAC_OP_DIV, vtac_keras_number(k, 127.0),
                       vtac_make2(m, VTAC_OP_ADD, scale, vtac_keras_number(k, 1e-7)));
    vtac_id q = vtac_make1(m, VTAC_OP_ROUND, vtac_make2(m, VTAC_OP_MUL, x, scale));
    q = vtac_make_clip(m, q, -127.0, 127.0);
    const vtac_id sum = vtac_make2(m, VTAC_OP_MATMUL, q, vtac_keras_constant(k, vtac_keras_weight(k, 0, 2)));
    const vtac_id both =
        vtac_make2(m, VTAC_OP_MUL, scale, vtac_keras_constant(k, vtac_keras_weight(k, at, 1)));
    return vtac_make2(m, VTAC_OP_DIV, sum, both);
}

vtac_keras_value vtac_keras_make_dense(vtac_keras *k, const void *how)
{
    (void)how;
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    const uint32_t rank = vtac_made_type(&k->maker, x).rank;
    const bool has_bias = vtac_keras_bool(k, "use_bias", true);
    vtac_id y = vtac_keras_quantized(k) ? dense_of_bytes(k, x, rank, has_bias ? 2 : 1)
                                        : vtac_make2(&k->maker, VTAC_OP_MATMUL, x,
                                                     vtac_keras_constant(k, vtac_keras_weight(k, 0, 2)));
    if (has_bias) {
        y = vtac_make2(&k->maker, VTAC_OP_ADD, y, vtac_keras_bias(k, 1));
    }
    return vtac_keras_as_plain(vtac_keras_activated(k, y, (int64_t)rank - 1));
}

vtac_keras_value vtac_keras_make_embedding(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_import_builder *m = &k->maker;
    const vtac_id places = vtac_make_cast(m, vtac_keras_plain(k, &k->in[0]), VTAC_I64);
    vtac_keras_value y = vtac_keras_as_plain(
        vtac_make2(m, VTAC_OP_GATHER, vtac_keras_constant(k, vtac_keras_weight(k, 0, 2)), places));
    if (vtac_keras_quantized(k)) {
        const vtac_tensor *scale = vtac_keras_weight(k, 1, 1);
        const int64_t dims[] = {scale == NULL ? 0 : scale->type.dim[0], 1};
        const vtac_id column = vtac_make_reshape(m, vtac_keras_constant(k, scale), dims, 2);
        y.plain = vtac_make2(m, VTAC_OP_DIV, y.plain, vtac_make2(m, VTAC_OP_GATHER, column, places));
    }
    if (vtac_keras_bool(k, "mask_zero", false)) {
        y.mask = vtac_make2(m, VTAC_OP_GREATER, places, vtac_make_number(m, VTAC_I64, 0.0));
    }
    return y;
}

/* Products by an equation; the bias has as many axes as the equation's result has from its first one on. */
vtac_keras_value vtac_keras_make_einsum_dense(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_import_builder *m = &k->maker;
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    const vtac_attr equation = vtac_attr_of_string("equation", vtac_keras_text(k, "equation", ""));
    const vtac_tensor *w = vtac_keras_weight(k, 0, k->weight_count > 0 ? k->weights[0].type.rank : 0);
    vtac_id y = vtac_make(m, VTAC_OP_EINSUM, (vtac_id[]){x, vtac_keras_constant(k, w)}, 2, &equation, 1);
    if (vtac_keras_option(k, "bias_axes") != NULL) {
        const vtac_tensor *b = vtac_keras_weight(k, 1, k->weight_count > 1 ? k->weights[1].type.rank : 0);
        y = vtac_make2(m, VTAC_OP_ADD, y, vtac_keras_constant(k, b));
    }
    return vtac_keras_as_plain(vtac_keras_activated(k, y, (int64_t)vtac_made_type(m, y).rank - 1));
}

/* Divided by the root of the mean of squares, times a weight. */
vtac_keras_value vtac_keras_make_rms_norm(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_import_builder *m = &k->maker;
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    const uint32_t rank = vtac_made_type(m, x).rank;
    const int64_t axis[] = {vtac_keras_axis(k, rank)};
    if (axis[0] + 1 != (int64_t)rank) {
        vtac_make_refuse(&k->maker, "an axis that is not the last");
        return vtac_keras_as_plain(0);
    }
    vtac_id root = vtac_make_reduce(m, VTAC_OP_REDUCE_MEAN, vtac_make2(m, VTAC_OP_MUL, x, x), axis, 1, true);
    root = vtac_make2(m, VTAC_OP_ADD, root, vtac_keras_number(k, vtac_keras_float(k, "epsilon", 1e-6)));
    const vtac_id y = vtac_make2(m, VTAC_OP_DIV, x, vtac_make1(m, VTAC_OP_SQRT, root));
    return vtac_keras_as_plain(
        vtac_make2(m, VTAC_OP_MUL, y, vtac_keras_constant(k, vtac_keras_weight(k, 0, 1))));
}

/* ---- normalization */

/* A vector that lies along one axis of the value. */
static vtac_id vector_along(vtac_keras *k, const float *v, int64_t count, uint32_t axis, uint32_t rank)
{
    int64_t dims[VTAC_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = i == axis ? count : 1;
    }
    return vtac_make_reshape(&k->maker, vtac_make_floats(&k->maker, v, count), dims + axis, rank - axis);
}

vtac_keras_value vtac_keras_make_batch_norm(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_id x;
    const bool in_planes = vtac_keras_either(&k->in[0], &x);
    const uint32_t rank = vtac_keras_rank(k, &k->in[0]);
    const uint32_t axis = vtac_keras_axis(k, rank);
    uint32_t next = 0;
    const bool scaled = vtac_keras_bool(k, "scale", true);
    const bool centered = vtac_keras_bool(k, "center", true);
    const float *gamma = scaled ? vtac_keras_weight(k, next++, 1)->data : NULL;
    const float *beta = centered ? vtac_keras_weight(k, next++, 1)->data : NULL;
    const vtac_tensor *mean = vtac_keras_weight(k, next++, 1);
    const vtac_tensor *variance = vtac_keras_weight(k, next++, 1);
    const int64_t count = mean->type.rank == 1 ? mean->type.dim[0] : 0;
    for (uint32_t i = 0; i < next && i < k->weight_count; i++) {
        if (k->weights[i].type.dim[0] != count) {
            vtac_make_fail(&k->maker, VTA_INVALID, "its weights have different sizes");
        }
    }
    float *factor = vtac_make_room(&k->maker, count, sizeof *factor);
    float *offset = vtac_make_room(&k->maker, count, sizeof *offset);
    if (factor == NULL || offset == NULL) {
        return vtac_keras_as_plain(0);
    }
    const double epsilon = vtac_keras_float(k, "epsilon", 1e-3);
    for (int64_t i = 0; i < count; i++) {
        const double f = (gamma == NULL ? 1.0 : (double)gamma[i]) /
                         sqrt((double)((const float *)variance->data)[i] + epsilon);
        factor[i] = (float)f;
        offset[i] =
            (float)((beta == NULL ? 0.0 : (double)beta[i]) - (double)((const float *)mean->data)[i] * f);
    }
    const uint32_t at = !in_planes ? axis : axis == rank - 1 ? 1 : axis == 0 ? 0 : axis + 1;
    x = vtac_make2(&k->maker, VTAC_OP_MUL, x, vector_along(k, factor, count, at, rank));
    return vtac_keras_as(in_planes,
                         vtac_make2(&k->maker, VTAC_OP_ADD, x, vector_along(k, offset, count, at, rank)));
}

/* Numbers, or NULL, that lie along one axis: times or added. */
static vtac_id with_vector(vtac_keras *k, vtac_op op, vtac_id x, uint32_t weight, uint32_t axis,
                           uint32_t rank)
{
    const vtac_tensor *t = vtac_keras_weight(k, weight, 1);
    return k->maker.status == VTA_OK
               ? vtac_make2(&k->maker, op, x, vector_along(k, t->data, t->type.dim[0], axis, rank))
               : 0;
}

vtac_keras_value vtac_keras_make_group_norm(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_import_builder *m = &k->maker;
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    const vtac_type type = vtac_made_type(m, x);
    const uint32_t axis = vtac_keras_axis(k, type.rank);
    const int64_t channels = type.dim[axis];
    int64_t groups =
        vtac_keras_option(k, "groups") == NULL ? 32 : vtac_keras_whole(vtac_keras_option(k, "groups"));
    groups = groups == -1 ? channels : groups;
    if (m->status != VTA_OK || axis + 1 != type.rank || type.rank < 2 || groups < 1 ||
        channels % groups != 0 || vtac_type_elements(&type) < 1) {
        vtac_make_refuse(&k->maker, "%lld groups of %lld channels on axis %u of %u; the last is taken",
                         (long long)groups, (long long)channels, axis, type.rank);
        return vtac_keras_as_plain(0);
    }
    /* [batch][places][groups][each]: mean and variance over places and each */
    const int64_t places = vtac_type_elements(&type) / (type.dim[0] * channels);
    const int64_t over[] = {1, 3};
    vtac_id y = vtac_make_reshape(m, x, (int64_t[]){type.dim[0], places, groups, channels / groups}, 4);
    y = vtac_make2(m, VTAC_OP_SUB, y, vtac_make_reduce(m, VTAC_OP_REDUCE_MEAN, y, over, 2, true));
    vtac_id spread =
        vtac_make_reduce(m, VTAC_OP_REDUCE_MEAN, vtac_make2(m, VTAC_OP_MUL, y, y), over, 2, true);
    spread = vtac_make2(m, VTAC_OP_ADD, spread, vtac_keras_number(k, vtac_keras_float(k, "epsilon", 1e-3)));
    y = vtac_make2(m, VTAC_OP_DIV, y, vtac_make1(m, VTAC_OP_SQRT, spread));
    y = vtac_make_reshape(m, y, type.dim, type.rank);
    uint32_t next = 0;
    y = vtac_keras_bool(k, "scale", true) ? with_vector(k, VTAC_OP_MUL, y, next++, axis, type.rank) : y;
    y = vtac_keras_bool(k, "center", true) ? with_vector(k, VTAC_OP_ADD, y, next, axis, type.rank) : y;
    return vtac_keras_as_plain(y);
}

/* Divided by its length along an axis. */
vtac_keras_value vtac_keras_make_unit_norm(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_import_builder *m = &k->maker;
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    const int64_t axis[] = {vtac_keras_axis(k, vtac_made_type(m, x).rank)};
    vtac_id length = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM_SQUARE, x, axis, 1, true);
    length = vtac_make1(m, VTAC_OP_SQRT, vtac_make2(m, VTAC_OP_MAX, length, vtac_keras_number(k, 1e-12)));
    return vtac_keras_as_plain(vtac_make2(m, VTAC_OP_DIV, x, length));
}

/* A list of numbers of an option, nested or not; how many, 0: it is none. */
static uint32_t numbers_of(const cJSON *item, float *out, uint32_t max)
{
    uint32_t used = 0;
    if (cJSON_IsObject(item)) { /* an array of NumPy */
        item = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(item, "config"), "value");
    }
    if (cJSON_IsNumber(item) && max > 0) {
        out[0] = (float)item->valuedouble;
        return 1;
    }
    const cJSON *one = NULL;
    if (cJSON_IsArray(item)) {
        cJSON_ArrayForEach(one, item)
        {
            used += numbers_of(one, out + used, max - used);
        }
    }
    return used;
}

enum { MAX_NUMBERS = 4096 };

/* The option's numbers, one or one for each channel, along the last axis. */
static vtac_id channel_numbers(vtac_keras *k, const char *name, double otherwise, uint32_t rank,
                               int64_t channels)
{
    static const float none[1] = {0.0F};
    float *room = vtac_make_room(&k->maker, MAX_NUMBERS, sizeof *room);
    const cJSON *item = vtac_keras_option(k, name);
    if (room == NULL || item == NULL) {
        return vtac_keras_number(k, otherwise);
    }
    const uint32_t count = numbers_of(item, room, MAX_NUMBERS);
    if (count != 1 && count != channels) {
        vtac_make_refuse(&k->maker, "'%s' of %u numbers for %lld channels", name, count, (long long)channels);
        return vector_along(k, none, 1, 0, 1);
    }
    return count == 1 ? vtac_keras_number(k, (double)room[0]) : vector_along(k, room, count, rank - 1, rank);
}

vtac_keras_value vtac_keras_make_rescaling(vtac_keras *k, const void *how)
{
    (void)how;
    const vtac_id x = vtac_make_cast(&k->maker, vtac_keras_plain(k, &k->in[0]), VTAC_F32);
    const vtac_type type = vtac_made_type(&k->maker, x);
    const int64_t channels = type.rank == 0 ? 1 : type.dim[type.rank - 1];
    const vtac_id scale = channel_numbers(k, "scale", 1.0, type.rank, channels);
    const vtac_id offset = channel_numbers(k, "offset", 0.0, type.rank, channels);
    return vtac_keras_as_plain(
        vtac_make2(&k->maker, VTAC_OP_ADD, vtac_make2(&k->maker, VTAC_OP_MUL, x, scale), offset));
}

/* (x - mean) / sqrt(variance), which the configuration or the weights have; or back */
vtac_keras_value vtac_keras_make_normalization(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_import_builder *m = &k->maker;
    const vtac_id x = vtac_make_cast(m, vtac_keras_plain(k, &k->in[0]), VTAC_F32);
    const vtac_type type = vtac_made_type(m, x);
    const int64_t channels = type.rank == 0 ? 1 : type.dim[type.rank - 1];
    const bool given = vtac_keras_option(k, "mean") != NULL;
    vtac_id mean = 0;
    vtac_id variance = 0;
    if (given) {
        mean = channel_numbers(k, "mean", 0.0, type.rank, channels);
        variance = channel_numbers(k, "variance", 1.0, type.rank, channels);
    } else if (k->weight_count >= 2) {
        const bool scalar = vtac_type_elements(&k->weights[0].type) == 1;
        if (!scalar && vtac_keras_axis(k, type.rank) + 1 != type.rank) {
            vtac_make_refuse(&k->maker, "an axis that is not the last");
        }
        for (int i = 0; i < 2; i++) {
            const int64_t count = vtac_type_elements(&k->weights[i].type);
            if (count != 1 && count != channels) {
                vtac_make_fail(m, VTA_INVALID, "%lld numbers for %lld channels", (long long)count,
                               (long long)channels);
                return vtac_keras_as_plain(0);
            }
            *(i == 0 ? &mean : &variance) = vector_along(
                k, k->weights[i].data, count, count == 1 ? 0 : type.rank - 1, count == 1 ? 1 : type.rank);
        }
    } else {
        vtac_make_refuse(&k->maker, "it has neither weights nor a mean");
        return vtac_keras_as_plain(0);
    }
    const vtac_id root =
        vtac_make2(m, VTAC_OP_MAX, vtac_make1(m, VTAC_OP_SQRT, variance), vtac_keras_number(k, 1e-7));
    if (vtac_keras_bool(k, "invert", false)) {
        return vtac_keras_as_plain(vtac_make2(m, VTAC_OP_ADD, vtac_make2(m, VTAC_OP_MUL, x, root), mean));
    }
    return vtac_keras_as_plain(vtac_make2(m, VTAC_OP_DIV, vtac_make2(m, VTAC_OP_SUB, x, mean), root));
}

vtac_keras_value vtac_keras_make_layer_norm(vtac_keras *k, const void *how)
{
    (void)how;
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    const uint32_t rank = vtac_made_type(&k->maker, x).rank;
    const uint32_t axis = vtac_keras_axis(k, rank);
    if (axis + 1 != rank) {
        vtac_make_refuse(&k->maker, "an axis that is not the last");
        return vtac_keras_as_plain(0);
    }
    uint32_t next = 0;
    const int64_t size = vtac_made_type(&k->maker, x).dim[axis];
    float *ones = vtac_make_room(&k->maker, size, sizeof *ones);
    for (int64_t i = 0; ones != NULL && i < size; i++) {
        ones[i] = 1.0F;
    }
    const vtac_id gamma = vtac_keras_bool(k, "scale", true)
                              ? vtac_keras_constant(k, vtac_keras_weight(k, next++, 1))
                              : vtac_make_floats(&k->maker, ones, ones == NULL ? 0 : size);
    const vtac_id beta =
        vtac_keras_bool(k, "center", true) ? vtac_keras_constant(k, vtac_keras_weight(k, next++, 1)) : 0;
    const vtac_attr attrs[] = {vtac_attr_of_int("axis", axis),
                               vtac_attr_of_float("epsilon", vtac_keras_float(k, "epsilon", 1e-3))};
    const vtac_id in[] = {x, gamma, beta};
    return vtac_keras_as_plain(vtac_make(&k->maker, VTAC_OP_LAYER_NORMALIZATION, in, 3, attrs, 2));
}
