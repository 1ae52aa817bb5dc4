/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers that take number by number, of one input or of several.
 */
#include <math.h>
#include <string.h>

#include "keras.h"

/* ---- pointwise layers */

vtac_keras_value vtac_keras_make_activation(vtac_keras *k, const void *how)
{
    vtac_id x;
    const char *name = how != NULL ? how : vtac_keras_text(k, "activation", "linear");
    const bool soft = strstr(name, "softmax") != NULL;
    const bool by_channel = soft || strcmp(vtac_keras_bare_class(name), "glu") == 0;
    const bool in_planes = !by_channel && vtac_keras_either(&k->in[0], &x);
    x = in_planes ? x : vtac_keras_plain(k, &k->in[0]);
    const uint32_t rank = vtac_made_type(&k->maker, x).rank;
    const int64_t axis = soft && how != NULL ? vtac_keras_axis(k, rank) : (int64_t)rank - 1;
    return vtac_keras_as(in_planes, vtac_keras_activate(k, x, name, axis));
}

vtac_keras_value vtac_keras_make_relu(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_id x;
    const bool in_planes = vtac_keras_either(&k->in[0], &x);
    const double slope = vtac_keras_float(k, "negative_slope", 0.0);
    const double max = vtac_keras_float(k, "max_value", HUGE_VAL);
    const double threshold = vtac_keras_float(k, "threshold", 0.0);
    if (threshold != 0.0 && (slope != 0.0 || threshold < 0.0)) {
        vtac_make_refuse(&k->maker, "a threshold below 0, or with a slope");
    }
    if (threshold > 0.0) {
        x = vtac_keras_with_float(k, VTAC_OP_THRESHOLDED_RELU, x, "alpha", threshold);
    }
    x = slope == 0.0 ? vtac_make1(&k->maker, VTAC_OP_RELU, x)
                     : vtac_keras_with_float(k, VTAC_OP_LEAKY_RELU, x, "alpha", slope);
    return vtac_keras_as(in_planes, isinf(max) ? x : vtac_make_clip(&k->maker, x, -HUGE_VAL, max));
}

vtac_keras_value vtac_keras_make_leaky(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_id x;
    const bool in_planes = vtac_keras_either(&k->in[0], &x);
    const double alpha = vtac_keras_float(k, "alpha", vtac_keras_float(k, "negative_slope", 0.3));
    return vtac_keras_as(in_planes, vtac_keras_with_float(k, VTAC_OP_LEAKY_RELU, x, "alpha", alpha));
}

vtac_keras_value vtac_keras_make_elu(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_id x;
    const bool in_planes = vtac_keras_either(&k->in[0], &x);
    return vtac_keras_as(
        in_planes, vtac_keras_with_float(k, VTAC_OP_ELU, x, "alpha", vtac_keras_float(k, "alpha", 1.0)));
}

vtac_keras_value vtac_keras_make_prelu(vtac_keras *k, const void *how)
{
    (void)how;
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    const uint32_t rank = vtac_made_type(&k->maker, x).rank;
    const vtac_id alpha = vtac_keras_constant(k, vtac_keras_weight(k, 0, rank - 1));
    return vtac_keras_as_plain(vtac_make2(&k->maker, VTAC_OP_PRELU, x, alpha));
}

vtac_keras_value vtac_keras_make_same(vtac_keras *k, const void *how)
{
    (void)how;
    return k->in[0];
}

/* x where it is above theta, else 0 */
vtac_keras_value vtac_keras_make_thresholded(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_id x;
    const bool in_planes = vtac_keras_either(&k->in[0], &x);
    return vtac_keras_as(in_planes, vtac_keras_with_float(k, VTAC_OP_THRESHOLDED_RELU, x, "alpha",
                                                          vtac_keras_float(k, "theta", 1.0)));
}

/* Channels times numbers of their own. */
vtac_keras_value vtac_keras_make_layer_scale(vtac_keras *k, const void *how)
{
    (void)how;
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    return vtac_keras_as_plain(
        vtac_make2(&k->maker, VTAC_OP_MUL, x, vtac_keras_constant(k, vtac_keras_weight(k, 0, 1))));
}

/* ---- several inputs */

vtac_keras_value vtac_keras_make_merge(vtac_keras *k, const void *how)
{
    const char *name = how;
    const vtac_op op = strcmp(name, "mul") == 0   ? VTAC_OP_MUL
                       : strcmp(name, "sub") == 0 ? VTAC_OP_SUB
                       : strcmp(name, "max") == 0 ? VTAC_OP_MAX
                       : strcmp(name, "min") == 0 ? VTAC_OP_MIN
                                                  : VTAC_OP_ADD;
    bool in_planes = true;
    uint32_t rank = vtac_keras_rank(k, &k->in[0]);
    for (uint32_t i = 0; i < k->in_count; i++) {
        in_planes = in_planes && k->in[i].planes != 0;
        if (vtac_keras_rank(k, &k->in[i]) != rank) {
            vtac_make_refuse(&k->maker, "inputs of different ranks");
            return vtac_keras_as_plain(0);
        }
    }
    vtac_id y = in_planes ? k->in[0].planes : vtac_keras_plain(k, &k->in[0]);
    for (uint32_t i = 1; i < k->in_count; i++) {
        y = vtac_make2(&k->maker, op, y, in_planes ? k->in[i].planes : vtac_keras_plain(k, &k->in[i]));
    }
    if (strcmp(name, "avg") == 0) {
        y = vtac_make2(&k->maker, VTAC_OP_MUL, y, vtac_keras_number(k, 1.0 / (double)k->in_count));
    }
    return vtac_keras_as(in_planes, y);
}

vtac_keras_value vtac_keras_make_concatenate(vtac_keras *k, const void *how)
{
    (void)how;
    const uint32_t rank = vtac_keras_rank(k, &k->in[0]);
    const uint32_t axis = vtac_keras_axis(k, rank);
    bool in_planes = rank >= 3;
    vtac_id parts[KERAS_MAX_INPUTS];
    for (uint32_t i = 0; i < k->in_count; i++) {
        in_planes = in_planes && k->in[i].planes != 0;
    }
    for (uint32_t i = 0; i < k->in_count; i++) {
        parts[i] = in_planes ? k->in[i].planes : vtac_keras_plain(k, &k->in[i]);
    }
    const uint32_t at = !in_planes ? axis : axis == rank - 1 ? 1 : axis == 0 ? 0 : axis + 1;
    return vtac_keras_as(in_planes,
                         k->maker.status == VTA_OK ? vtac_make_concat(&k->maker, parts, k->in_count, at) : 0);
}

/* Sums of products along one axis of each of two inputs. */
vtac_keras_value vtac_keras_make_dot(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_import_builder *m = &k->maker;
    if (k->in_count != 2) {
        vtac_make_fail(m, VTA_INVALID, "it has %u inputs and needs 2", k->in_count);
        return vtac_keras_as_plain(0);
    }
    const cJSON *axes = vtac_keras_option(k, "axes");
    vtac_id side[2];
    uint32_t rank[2];
    for (int i = 0; i < 2; i++) {
        side[i] = vtac_keras_plain(k, &k->in[i]);
        rank[i] = vtac_made_type(m, side[i]).rank;
        int64_t axis = vtac_keras_whole(cJSON_IsArray(axes) ? cJSON_GetArrayItem(axes, i) : axes);
        axis += axis < 0 ? rank[i] : 0;
        if (m->status != VTA_OK || rank[i] < 2 || rank[i] > 3 || axis < 1 || axis >= (int64_t)rank[i]) {
            vtac_make_refuse(&k->maker, "axis %lld of %u", (long long)axis, rank[i]);
            return vtac_keras_as_plain(0);
        }
        if (vtac_keras_bool(k, "normalize", false)) {
            vtac_id length = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM_SQUARE, side[i], &axis, 1, true);
            length =
                vtac_make1(m, VTAC_OP_SQRT, vtac_make2(m, VTAC_OP_MAX, length, vtac_keras_number(k, 1e-12)));
            side[i] = vtac_make2(m, VTAC_OP_DIV, side[i], length);
        }
        /* [batch][rows][k] and [batch][k][columns] */
        const int64_t *dim = vtac_made_type(m, side[i]).dim;
        if (rank[i] == 2) {
            side[i] = vtac_make_reshape(
                m, side[i], i == 0 ? (int64_t[]){dim[0], 1, dim[1]} : (int64_t[]){dim[0], dim[1], 1}, 3);
        } else if (axis == (i == 0 ? 1 : 2)) {
            side[i] = vtac_make_transpose(m, side[i], (int64_t[]){0, 2, 1}, 3);
        }
    }
    const vtac_id y = vtac_make2(m, VTAC_OP_MATMUL, side[0], side[1]);
    const int64_t *dim = vtac_made_type(m, y).dim;
    if (rank[0] == 3 && rank[1] == 3) {
        return vtac_keras_as_plain(y);
    }
    return vtac_keras_as_plain(vtac_make_reshape(m, y, (int64_t[]){dim[0], dim[1] * dim[2]}, 2));
}
