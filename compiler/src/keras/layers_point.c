/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers that take number by number, of one input or of several.
 */
#include <math.h>
#include <string.h>

#include "keras.h"

/* ---- pointwise layers */

keras_value keras_make_activation(keras *k, const void *how)
{
    vtac_id x;
    const char *name = how != NULL ? how : keras_text(k, "activation", "linear");
    const bool soft = strstr(name, "softmax") != NULL;
    const bool by_channel = soft || strcmp(keras_bare_class(name), "glu") == 0;
    const bool in_planes = !by_channel && keras_either(&k->in[0], &x);
    x = in_planes ? x : keras_plain(k, &k->in[0]);
    const uint32_t rank = vtac_made_type(&k->maker, x)->rank;
    const int64_t axis = soft && how != NULL ? keras_axis(k, rank) : (int64_t)rank - 1;
    return keras_as(in_planes, keras_activate(k, x, name, axis));
}

keras_value keras_make_relu(keras *k, const void *how)
{
    (void)how;
    vtac_id x;
    const bool in_planes = keras_either(&k->in[0], &x);
    const double slope = keras_float(k, "negative_slope", 0.0);
    const double most = keras_float(k, "max_value", HUGE_VAL);
    const double threshold = keras_float(k, "threshold", 0.0);
    if (threshold != 0.0 && (slope != 0.0 || threshold < 0.0)) {
        keras_refuse(k, "a threshold below 0, or with a slope");
    }
    if (threshold > 0.0) {
        x = keras_with_float(k, VTAC_OP_THRESHOLDED_RELU, x, "alpha", threshold);
    }
    x = slope == 0.0 ? vtac_make1(&k->maker, VTAC_OP_RELU, x)
                     : keras_with_float(k, VTAC_OP_LEAKY_RELU, x, "alpha", slope);
    return keras_as(in_planes, isinf(most) ? x : vtac_make_clip(&k->maker, x, -HUGE_VAL, most));
}

keras_value keras_make_leaky(keras *k, const void *how)
{
    (void)how;
    vtac_id x;
    const bool in_planes = keras_either(&k->in[0], &x);
    const double alpha = keras_float(k, "alpha", keras_float(k, "negative_slope", 0.3));
    return keras_as(in_planes, keras_with_float(k, VTAC_OP_LEAKY_RELU, x, "alpha", alpha));
}

keras_value keras_make_elu(keras *k, const void *how)
{
    (void)how;
    vtac_id x;
    const bool in_planes = keras_either(&k->in[0], &x);
    return keras_as(in_planes, keras_with_float(k, VTAC_OP_ELU, x, "alpha", keras_float(k, "alpha", 1.0)));
}

keras_value keras_make_prelu(keras *k, const void *how)
{
    (void)how;
    const vtac_id x = keras_plain(k, &k->in[0]);
    const uint32_t rank = vtac_made_type(&k->maker, x)->rank;
    const vtac_id alpha = keras_constant(k, keras_weight(k, 0, rank - 1));
    return keras_as_plain(vtac_make2(&k->maker, VTAC_OP_PRELU, x, alpha));
}

keras_value keras_make_same(keras *k, const void *how)
{
    (void)how;
    return k->in[0];
}

/* x where it is above theta, else 0 */
keras_value keras_make_thresholded(keras *k, const void *how)
{
    (void)how;
    vtac_id x;
    const bool in_planes = keras_either(&k->in[0], &x);
    return keras_as(in_planes,
                    keras_with_float(k, VTAC_OP_THRESHOLDED_RELU, x, "alpha", keras_float(k, "theta", 1.0)));
}

/* Channels times numbers of their own. */
keras_value keras_make_layer_scale(keras *k, const void *how)
{
    (void)how;
    const vtac_id x = keras_plain(k, &k->in[0]);
    return keras_as_plain(vtac_make2(&k->maker, VTAC_OP_MUL, x, keras_constant(k, keras_weight(k, 0, 1))));
}

/* ---- several inputs */

keras_value keras_make_merge(keras *k, const void *how)
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
            return keras_as_plain(0);
        }
    }
    vtac_id y = in_planes ? k->in[0].planes : keras_plain(k, &k->in[0]);
    for (uint32_t i = 1; i < k->in_count; i++) {
        y = vtac_make2(&k->maker, op, y, in_planes ? k->in[i].planes : keras_plain(k, &k->in[i]));
    }
    if (strcmp(name, "avg") == 0) {
        y = vtac_make2(&k->maker, VTAC_OP_MUL, y, keras_number(k, 1.0 / (double)k->in_count));
    }
    return keras_as(in_planes, y);
}

keras_value keras_make_concatenate(keras *k, const void *how)
{
    (void)how;
    const uint32_t rank = keras_rank(k, &k->in[0]);
    const uint32_t axis = keras_axis(k, rank);
    bool in_planes = rank >= 3;
    vtac_id parts[KERAS_MOST_INPUTS];
    for (uint32_t i = 0; i < k->in_count; i++) {
        in_planes = in_planes && k->in[i].planes != 0;
    }
    for (uint32_t i = 0; i < k->in_count; i++) {
        parts[i] = in_planes ? k->in[i].planes : keras_plain(k, &k->in[i]);
    }
    const uint32_t at = !in_planes ? axis : axis == rank - 1 ? 1 : axis == 0 ? 0 : axis + 1;
    return keras_as(in_planes,
                    k->maker.status == VTA_OK ? vtac_make_concat(&k->maker, parts, k->in_count, at) : 0);
}

/* Sums of products along one axis of each of two inputs. */
keras_value keras_make_dot(keras *k, const void *how)
{
    (void)how;
    vtac_builder *m = &k->maker;
    if (k->in_count != 2) {
        vtac_make_fail(m, VTA_INVALID, "it has %u inputs and needs 2", k->in_count);
        return keras_as_plain(0);
    }
    const cJSON *axes = keras_option(k, "axes");
    vtac_id side[2];
    uint32_t rank[2];
    for (int i = 0; i < 2; i++) {
        side[i] = keras_plain(k, &k->in[i]);
        rank[i] = vtac_made_type(m, side[i])->rank;
        int64_t axis = keras_whole(cJSON_IsArray(axes) ? cJSON_GetArrayItem(axes, i) : axes);
        axis += axis < 0 ? rank[i] : 0;
        if (m->status != VTA_OK || rank[i] < 2 || rank[i] > 3 || axis < 1 || axis >= (int64_t)rank[i]) {
            keras_refuse(k, "axis %lld of %u", (long long)axis, rank[i]);
            return keras_as_plain(0);
        }
        if (keras_bool(k, "normalize", false)) {
            vtac_id length = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM_SQUARE, side[i], &axis, 1, true);
            length = vtac_make1(m, VTAC_OP_SQRT, vtac_make2(m, VTAC_OP_MAX, length, keras_number(k, 1e-12)));
            side[i] = vtac_make2(m, VTAC_OP_DIV, side[i], length);
        }
        /* [batch][rows][k] and [batch][k][columns] */
        const int64_t *dim = vtac_made_type(m, side[i])->dim;
        if (rank[i] == 2) {
            side[i] = vtac_make_reshape(
                m, side[i], i == 0 ? (int64_t[]){dim[0], 1, dim[1]} : (int64_t[]){dim[0], dim[1], 1}, 3);
        } else if (axis == (i == 0 ? 1 : 2)) {
            side[i] = vtac_make_transpose(m, side[i], (int64_t[]){0, 2, 1}, 3);
        }
    }
    const vtac_id y = vtac_make2(m, VTAC_OP_MATMUL, side[0], side[1]);
    const int64_t *dim = vtac_made_type(m, y)->dim;
    if (rank[0] == 3 && rank[1] == 3) {
        return keras_as_plain(y);
    }
    return keras_as_plain(vtac_make_reshape(m, y, (int64_t[]){dim[0], dim[1] * dim[2]}, 2));
}
